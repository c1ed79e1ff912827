"""Which candidates of a grid share work.

Candidates that differ only in ``C``, ``n_hidden`` (of deep networks ``n_layers``) and what the row
weights (or the graph term) depend on form a group: in every fold they have one design matrix in
common. Only what is this package's own is replaced by a shortcut: of a variant that fills slots,
the slots are called and only C is shared; one that overrides more, one of a deep network, and what
stands in another kind of pipeline, is fitted one by one. Which methods are which is marked where
they are defined (``called_by_search`` and ``bypassed_by_search`` of ``models/_estimator.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from robell._tools.pipelines import last_step
from robell.models._estimator import FamilyMember, first_foreign
from robell.models.privileged import PrivilegedMixin

SHAREABLE = {"C", "n_hidden", "n_layers", "kernel_width", "rho", "graph_weight", "variance_weight"}
SHAREABLE |= {"score_power", "threshold", "center", "coupling", "privileged_penalty"}

# Beyond these, products of scores or penalties may underflow or overflow: single fits take care.
SMALLEST_C, LARGEST_C = 1e-100, 1e100


class NotShared(Exception):
    """Some candidates cannot share their work; the message is the reason."""


class Overridden(NotShared):
    """A network of the family would be shared, were it or its pipeline not changed."""


class Unshared(NamedTuple):
    """Candidates to be fitted one by one, and why."""

    candidates: Any  # an index of them
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
    candidates: list[dict[str, Any]] = []
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
    own = {"sample_weight"}
    if isinstance(last_step(base), PrivilegedMixin):
        own.add("privileged")
    if set(fit_params) - {f"{prefix}{name}" for name in own}:
        raise NotShared(f"fit is given more than {' and '.join(sorted(own))} of the last step")
    if getattr(base, "transform_input", None):
        raise NotShared("the pipeline transforms what fit is given")
    groups, unshared, offset = [], [], 0
    valid: set[tuple] = set()  # values of shareable parameters that were found to be valid
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    for number, grid in enumerate(grids):
        names = sorted(grid)
        shape = [len(grid[name]) for name in names]
        index = offset + np.arange(int(np.prod(shape))).reshape(shape)
        offset += index.size
        shared = [n for n in names if n.startswith(prefix) and n[len(prefix) :] in SHAREABLE]
        looped = [name for name in names if name not in shared]
        index = index.transpose([names.index(name) for name in looped + shared])
        values = {name.removeprefix(prefix): list(grid[name]) for name in shared}
        for place in np.ndindex(index.shape[: len(looped)]):
            chosen = dict(zip(looped, place, strict=True))
            fixed = {name: grid[name][k] for name, k in chosen.items()}
            # Compared by place, not by value: 1 and 1.0 are equal, and may mean different things.
            before = [k for name, k in chosen.items() if not name.startswith(prefix)]
            found, left = _make_groups(base, prefix, fixed, values, index[place], valid)
            groups += [group._replace(stage=(number, *before)) for group in found]
            unshared += left
    return groups, unshared


def _make_groups(base, prefix, fixed, values, index, valid):
    """Return the groups of some fixed parameters and the product of shareable values, and the rest.

    A value that this model cannot share becomes a fixed one.
    """
    try:
        last = _family_member(base, fixed)
        own, key = ["C"], None
        slot = first_foreign(last, "called_by_search")
        if slot and hasattr(last, "combine"):  # fit goes round slots: it makes layers one by one
            raise Overridden(f"{type(last).__name__} has a {slot} of its own")
        if not slot:
            penalty = last._penalty_parameter
            own = [*(last._weight_parameters if penalty is None else [penalty]), "C"]
            own.append(last._nested_parameter)
            # By identity, not by value: 1 and 1.0 are equal, and may mean different things.
            # Features alone depend on the activation.
            key = tuple(
                (name, id(value))
                for name, value in fixed.items()
                if name.startswith(prefix) and name != f"{prefix}activation"
            )
        fixable = [name for name in values if name not in own]
        if not fixable:
            return _make_group(last, prefix, fixed, values, index, own, key, valid)
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
    if not isinstance(last, FamilyMember):
        raise NotShared(f"{type(last).__name__} is not a network of this package")
    if not last._capabilities.exact_search:
        raise NotShared(f"candidates of {type(last).__name__} share no work")
    if isinstance(base, Pipeline) and type(base) is not Pipeline:
        where = type(base).__module__.partition(".")[0]
        raise Overridden(f"the pipeline is {where}'s, not scikit-learn's own")
    if method := first_foreign(last, "bypassed_by_search"):
        raise Overridden(f"{type(last).__name__} has a {method} of its own")
    return last


def _make_group(last, prefix, fixed, values, index, shared, rows_key, valid):
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
    kept: list[list[int]] = []
    unshared = []
    # Parameters are checked one by one: what was valid beside others is so beside these.
    known = valid if _is_valid(last) else set()
    for d, name in enumerate(order):
        kept.append([])
        for k, value in enumerate(values[name]):
            reason = _why_not(last, name, value, known)
            if reason is None:
                kept[d].append(k)
            else:
                unshared.append(Unshared(index.take(k, axis=d).ravel(), reason))
    if not all(kept):
        raise NotShared(unshared[0].reason)
    index = index[np.ix_(*kept)]
    chosen = [[values[name][k] for k in kept[d]] for d, name in enumerate(order)]
    settings = [dict(zip(own, setting, strict=True)) for setting in product(*chosen[:-2])]
    C, sizes = np.array(chosen[-2], dtype=float), np.array(chosen[-1], dtype=int)
    before = {name: value for name, value in fixed.items() if not name.startswith(prefix)}
    others = {name.removeprefix(prefix): v for name, v in fixed.items() if name not in before}
    candidate = index.reshape(len(settings), len(C), len(sizes))
    return [Group((), before, others, settings, C, sizes, candidate, rows_key)], unshared


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
    if name == "privileged_penalty" and value == "loo":
        return "privileged_penalty='loo' is chosen in every fit"
    if name == "C" and value == np.inf:
        return "C=inf is solved by singular values"
    if name == "C" and not SMALLEST_C <= value <= LARGEST_C:
        return "C is so small or large that squares of scores or of 1/C underflow"
    return None
