"""Which candidates of a grid share work.

Candidates that differ only in ``C``, ``n_hidden`` and what the row weights (or the graph term)
depend on form a group: in every fold they have one design matrix in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from robell.models._base import BaseRVFLClassifier

SHAREABLE = ("C", "n_hidden", "kernel_width", "rho", "graph_weight")


class NotShared(Exception):
    """Some candidates cannot share their work; the message is the reason."""


class Unshared(NamedTuple):
    """Candidates to be fitted one by one, and why."""

    candidates: np.ndarray
    reason: str


class Group(NamedTuple):
    """Candidates that share a design matrix."""

    stage: tuple  # places of those values in the grid: groups of one stage share first steps
    before: dict  # parameters of the pipeline's other steps
    others: dict  # parameters of the estimator that are looped over
    settings: list  # what the row weights or the graph term depend on, as dicts
    C: np.ndarray
    n_hidden: np.ndarray
    candidate: np.ndarray  # (settings, C, n_hidden), the candidates' numbers


def last_step(estimator):
    """Return a pipeline's last step, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def group_candidates(base, param_grid, fit_params):
    """Return the groups of a grid's candidates, and those that are in none.

    Candidates are numbered as ``ParameterGrid`` lists them: within each dict of the grid, the
    product of its values in the order of the names, the last name's values changing fastest.
    """
    prefix = f"{base.steps[-1][0]}__" if isinstance(base, Pipeline) else ""
    if set(fit_params) - {f"{prefix}sample_weight"}:
        raise NotShared("fit is given more than sample_weight of the last step")
    if getattr(base, "transform_input", None):
        raise NotShared("the pipeline transforms what fit is given")
    groups, unshared, offset = [], [], 0
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    for number, grid in enumerate(grids):
        names = sorted(grid)
        shape = tuple(len(grid[name]) for name in names)
        index = offset + np.arange(int(np.prod(shape))).reshape(shape)
        offset += index.size
        looped = [k for k, name in enumerate(names) if not _is_shareable(name, prefix)]
        shared = [k for k in range(len(names)) if k not in looped]
        index = index.transpose(looped + shared)
        values = {names[k].removeprefix(prefix): list(grid[names[k]]) for k in shared}
        for place in np.ndindex(index.shape[: len(looped)]):
            fixed = {names[k]: grid[names[k]][v] for k, v in zip(looped, place, strict=True)}
            # Compared by place, not by value: 1 and 1.0 are equal, and may mean different things.
            first = [v for k, v in zip(looped, place, strict=True) if _is_before(names[k], prefix)]
            try:
                group, refused = _make_group(base, prefix, fixed, values, index[place])
            except NotShared as reason:
                unshared.append(Unshared(index[place].ravel(), str(reason)))
                continue
            groups.append(group._replace(stage=(number, *first)))
            unshared += refused
    return groups, unshared


def _is_shareable(name, prefix):
    return name.startswith(prefix) and name.removeprefix(prefix) in SHAREABLE


def _is_before(name, prefix):
    return bool(prefix) and not name.startswith(prefix)


def _make_group(base, prefix, fixed, values, index):
    """Return the group of some fixed parameters and the product of shareable values."""
    try:
        last = last_step(clone(base).set_params(**clone(fixed, safe=False)))
    except (ValueError, AttributeError):
        raise NotShared("the estimator has no such parameters") from None
    if not isinstance(last, BaseRVFLClassifier):
        raise NotShared(f"{type(last).__name__} is not a network of this package")
    own = ("graph_weight",) if getattr(last, "graph", None) else last._weight_parameters
    order = (*own, "C", "n_hidden")
    if set(values) - set(order):
        raise NotShared("the estimator has no such parameters")
    names = list(values)
    for name in order:
        if name not in names:
            names.append(name)
            values = values | {name: [getattr(last, name)]}
            index = index[..., None]
    index = index.transpose([names.index(name) for name in order])
    kept, unshared = [], []
    for d, name in enumerate(order):
        reasons = [_why_not(last, name, value) for value in values[name]]
        kept.append([k for k, reason in enumerate(reasons) if reason is None])
        unshared += [
            Unshared(index.take(k, axis=d).ravel(), reason)
            for k, reason in enumerate(reasons)
            if reason is not None
        ]
    if not all(kept):
        raise NotShared(unshared[0].reason)
    index = index[np.ix_(*kept)]
    chosen = {name: [values[name][k] for k in kept[d]] for d, name in enumerate(order)}
    settings = [
        dict(zip(own, setting, strict=True)) for setting in product(*(chosen[n] for n in own))
    ]
    before = {n: v for n, v in fixed.items() if _is_before(n, prefix)}
    others = {n.removeprefix(prefix): v for n, v in fixed.items() if n not in before}
    C, n_hidden = np.array(chosen["C"], dtype=float), np.array(chosen["n_hidden"], dtype=int)
    candidate = index.reshape(len(settings), len(C), len(n_hidden))
    return Group((), before, others, settings, C, n_hidden, candidate), unshared


def _why_not(last, name, value):
    """Return why a value of a shareable parameter cannot be shared, or None."""
    try:
        clone(last).set_params(**{name: value})._validate_params()
    except ValueError:
        return "fit refuses the parameters"
    return "C='loo' is chosen in every fit" if name == "C" and value == "loo" else None
