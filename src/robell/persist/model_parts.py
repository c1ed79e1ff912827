"""Parts of model files that are looked at after loading: indices, splines, versions, descriptions.

What compiled code trusts without looking, such as the indices of a sparse matrix, is checked
before it is used.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import BSpline
from scipy.sparse import issparse
from sklearn.tree._tree import Tree

from robell import __version__
from robell.persist.model_info import PACKAGES, versions

MOST_PARTS = 1_000_000
KINDS = ("number", "date", "category", "text", "left out", "unknown")


class ModelVersionWarning(UserWarning):
    """A model file was saved with other versions of the packages than are installed.

    Examples
    --------
    >>> import warnings
    >>> from robell.files import ModelVersionWarning
    >>> with warnings.catch_warnings():  # in a service that pins its versions: refuse such files
    ...     warnings.simplefilter("error", ModelVersionWarning)
    """


def other_versions(info):
    """Say which versions a file was saved with, where they are others than those here; else ""."""
    here = versions() | {"robell": __version__}
    saved = dict(info["versions"]) | {"robell": info["robell"]}
    names = ("robell", *PACKAGES[:3])
    other = [name for name in names if name in saved and saved[name] != here[name]]
    if not other:
        return ""
    return "; ".join(f"{name} {saved[name]}, here is {here[name]}" for name in other)


def check_parts(model):
    """Raise a ValueError where a part of a loaded model would lead compiled code astray."""
    seen, left = set(), [model]
    while left:
        part = left.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | bool | None):
            continue
        seen.add(id(part))
        if len(seen) > MOST_PARTS:
            raise ValueError("too many parts")
        if issparse(part):
            part.check_format(full_check=True)
        elif isinstance(part, Tree):
            _check_tree(part)
        elif isinstance(part, BSpline):
            BSpline(part.t, part.c, part.k, extrapolate=part.extrapolate)
        elif isinstance(part, dict):
            left.extend(part.values())
        elif isinstance(part, list | tuple | set):
            left.extend(part)
        elif isinstance(part, np.ndarray):
            if part.dtype == object:
                left.extend(part.ravel().tolist())
        elif hasattr(part, "__dict__"):
            left.extend(vars(part).values())


def _check_tree(tree):
    """Raise where a decision tree leads to nodes or columns that are not there, or in a circle."""
    own = np.arange(tree.node_count)
    inner = tree.children_left != -1
    for children in (tree.children_left[inner], tree.children_right[inner]):
        if not ((children > own[inner]) & (children < tree.node_count)).all():
            raise ValueError("a tree that leads nowhere")
    columns = tree.feature[inner]
    if not ((columns >= 0) & (columns < tree.n_features)).all() or not tree.node_count:
        raise ValueError("a tree that leads nowhere")


def checked_info(info):
    """Return what a file says about its model; raise a ValueError where it makes no sense."""
    if not isinstance(info, dict) or not isinstance(info.get("versions"), dict):
        raise ValueError("no description of a model")
    texts = [info.get("robell"), info.get("saved"), *info["versions"].values()]
    lists = [info.get("classes"), info.get("columns"), info.get("model")]
    if not all(isinstance(text, str) and len(text) < 200 for text in texts):
        raise ValueError("no description of a model")
    if not all(isinstance(one, list) for one in lists):
        raise ValueError("no description of a model")
    for column in info["columns"]:
        _check_column(column)
    return info


def _check_column(column):
    """Raise where the description of a column would not be one of ours."""
    fits = isinstance(column, dict) and isinstance(column.get("name"), str)
    fits = fits and column.get("kind") in KINDS and _is_share(column.get("missing", 0.0))
    if fits and "edges" in column:
        edges, shares = column["edges"], column.get("shares")
        fits = all(map(_is_number, [*edges, column.get("median"), column.get("size")]))
        fits = fits and edges == sorted(set(edges))
        fits = fits and 0 < len(edges) < 1_000 and len(shares) == len(edges) + 2
        fits = fits and all(map(_is_share, shares)) and isinstance(column.get("how"), str)
    elif fits and column["kind"] in ("number", "date"):
        fits = isinstance(column.get("how"), str)
    elif fits and column["kind"] in ("category", "text"):
        levels = column.get("levels")
        fits = isinstance(levels, dict) and len(levels) < 1_000
        fits = fits and all(map(_is_share, levels.values()))
    if not fits:
        raise ValueError("no description of a column")


def _is_number(value):
    return isinstance(value, float | int) and math.isfinite(value)


def _is_share(value):
    return _is_number(value) and 0 <= value <= 1
