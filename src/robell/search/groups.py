"""Which candidates of a grid share work.

Candidates that differ only in ``C``, ``n_hidden`` (of deep networks ``n_layers``) and what the row
weights (or the graph term) depend on form a group: in every fold they have one design matrix in
common. Only what is this package's own is replaced by a shortcut: of a variant that fills slots,
the slots are called and only C is shared; one that overrides more, and what stands in another kind
of pipeline, is fitted one by one. Which methods are which is marked where they are defined
(``called_by_search`` and ``bypassed_by_search`` of ``models/_estimator.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from robell._tools.pipelines import last_step
from robell.models._estimator import FamilyMember, first_foreign

SHAREABLE = ("C", "n_hidden", "n_layers", "kernel_width", "rho", "graph_weight", "variance_weight")
SHAREABLE += ("score_power", "threshold", "center", "coupling")

# Beyond these, products of scores or penalties may underflow or overflow: single fits take care.
SMALLEST_C, LARGEST_C = 1e-100, 1e100


class NotShared(Exception):
    """Some candidates cannot share their work; the message is the reason."""


class Overridden(NotShared):
    """A network of the family would be shared, were it or its pipeline not changed."""


class Unshared(NamedTuple):
    """Candidates to be fitted one by one, and why."""

    candidates: np.ndarray
    reason: str
    surprising: bool = False  # whether the caller is told


class Group(NamedTuple):
    """Candidates that share a design matrix."""

    stage: tuple  # places of the next in the grid: groups of one stage share first steps
    before: dict  # parameters of the pipeline's other steps
    others: dict  # parameters of the estimator that are looped over
    settings: list  # what the row weights or the graph term depend on, as dicts
    C: np.ndarray
    nested: np.ndarray  # values of the parameter in which networks are nested, as n_hidden
    candidate: np.ndarray  # (settings, C, nested), the candidates' numbers
    # What checked rows and their weights depend on: groups of equal ones have these in common. None
    # where a slot is not this package's own.
    rows_key: tuple | None


def list_candidates(grid):
    """Return what a ``ParameterGrid`` lists, several times as quickly."""
    candidates = []
    for values in grid.param_grid:
        *names, last = sorted(values) or [None]
        if last is None:
            candidates.append({})
            continue
        for place in product(*(values[name] for name in names)):
            first = dict(zip(names, place, strict=True))
            candidates += [{**first, last: value} for value in values[last]]
    return candidates


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
    groups, unshared, offset, valid = [], [], 0, set()
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
            found, left = _make_groups(base, prefix, fixed, values, index[place], valid)
            groups += [group._replace(stage=(number, *first)) for group in found]
            unshared += left
    return groups, unshared


def _is_shareable(name, prefix):
    return name.startswith(prefix) and name.removeprefix(prefix) in SHAREABLE


def _is_before(name, prefix):
    return bool(prefix) and not name.startswith(prefix)


def _make_groups(base, prefix, fixed, values, index, valid):
    """Return the groups of some fixed parameters and the product of shareable values, and the rest.

    A value that this model cannot share becomes a fixed one. ``valid`` remembers which values were
    found to be valid.
    """
    try:
        last = _family_member(base, fixed)
        own = _shared_parameters(last)
        fixable = [name for name in values if name not in own]
        if not fixable:
            return _make_group(last, prefix, fixed, values, index, own, valid)
    except NotShared as reason:
        return [], [Unshared(index.ravel(), str(reason), isinstance(reason, Overridden))]
    name = fixable[0]
    axis = list(values).index(name)
    rest = {other: value for other, value in values.items() if other != name}
    groups, unshared = [], []
    for k, value in enumerate(values[name]):
        here = fixed | {prefix + name: value}
        found, left = _make_groups(base, prefix, here, rest, index.take(k, axis=axis), valid)
        groups += found
        unshared += left
    return groups, unshared


def _family_member(base, fixed):
    """Return the last step with some parameters set, if work of its candidates can be shared."""
    try:
        last = last_step(clone(base).set_params(**clone(fixed, safe=False)))
    except (ValueError, AttributeError):
        raise NotShared("the estimator has no such parameters") from None
    if isinstance(last, FamilyMember) and not last._capabilities.exact_search:
        raise NotShared(f"candidates of {type(last).__name__} share no work")
    if not isinstance(last, FamilyMember):
        raise NotShared(f"{type(last).__name__} is not a network of this package")
    if isinstance(base, Pipeline) and type(base) is not Pipeline:
        where = type(base).__module__.partition(".")[0]
        raise Overridden(f"the pipeline is {where}'s, not scikit-learn's own")
    if method := first_foreign(last, "bypassed_by_search"):
        raise Overridden(f"{type(last).__name__} has a {method} of its own")
    return last


def _shared_parameters(last):
    """Return the names of the parameters in which candidates of a model may differ."""
    if first_foreign(last, "called_by_search"):
        return ("C",)
    penalty = last._penalty_parameter
    own = last._weight_parameters if penalty is None else (penalty,)
    return (*own, "C", *([last._nested_parameter] if last._is_nested else []))


def _make_group(last, prefix, fixed, values, index, shared, valid):
    """Return the group of some fixed parameters and the product of shared values, and the rest."""
    nested = last._nested_parameter
    own = [name for name in shared if name not in ("C", nested)]
    order = (*own, "C", nested)
    names = list(values)
    for name in order:
        if name not in names:
            names.append(name)
            values = values | {name: [getattr(last, name)]}
            index = index[..., None]
    index = index.transpose([names.index(name) for name in order])
    kept, unshared = [], []
    # Parameters are checked one by one: what was valid beside others is so beside these.
    known = valid if _is_valid(last) else set()
    for d, name in enumerate(order):
        reasons = [_why_not(last, name, value, known) for value in values[name]]
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
    C, sizes = np.array(chosen["C"], dtype=float), np.array(chosen[nested], dtype=int)
    candidate = index.reshape(len(settings), len(C), len(sizes))
    key = None if first_foreign(last, "called_by_search") else _rows_key(others)
    return [Group((), before, others, settings, C, sizes, candidate, key)], unshared


def _rows_key(others):
    """Return a key of all parameters but those that only features depend on."""
    # By identity, not by value: 1 and 1.0 are equal, and may mean different things.
    return tuple((name, id(value)) for name, value in others.items() if name != "activation")


def _is_valid(last):
    try:
        last._validate_params()
    except ValueError:
        return False
    return True


def _why_not(last, name, value, valid):
    """Return why a value of a shareable parameter cannot be shared, or None."""
    key = (type(last), name, id(value))  # the grid holds the value as long as this is needed
    if key not in valid:
        before = getattr(last, name)
        setattr(last, name, value)
        is_valid = _is_valid(last)
        setattr(last, name, before)
        if not is_valid:
            return "fit refuses the parameters"
        valid.add(key)
    if name == "C" and value == "loo":
        return "C='loo' is chosen in every fit"
    if name == "C" and value == np.inf:
        return "C=inf is solved by singular values"
    if name == "C" and not SMALLEST_C <= value <= LARGEST_C:
        return "C is so small or large that squares of scores or of 1/C underflow"
    return None
