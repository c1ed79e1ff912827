"""Which candidates of a grid share work: those with one design matrix in common in every fold.

Only what is this package's own is replaced by a shortcut, as its methods are marked where they are
defined (``called_by_search`` and ``bypassed_by_search`` of ``models/_estimator.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, product
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


def group_candidates(base, param_grid, fit_params):
    """Return the groups of a grid's candidates, numbered as ``ParameterGrid`` lists them."""
    prefix = f"{base.steps[-1][0]}__" if isinstance(base, Pipeline) else ""
    own = ["sample_weight"]
    if isinstance(last_step(base), PrivilegedMixin):
        own.insert(0, "privileged")
    if not set(fit_params) <= {prefix + name for name in own}:
        raise NotShared(f"fit is given more than {' and '.join(own)} of the last step")
    if getattr(base, "transform_input", None):
        raise NotShared("the pipeline transforms what fit is given")
    groups, unshared, offset = [], [], 0
    # Values of shareable parameters found to be valid, held so that no other gets their id.
    valid: dict[tuple, Any] = {}
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    for number, grid in enumerate(grids):
        names = sorted(grid)
        shareable = [n for n in names if n.startswith(prefix) and n[len(prefix) :] in SHAREABLE]
        looped = [name for name in names if name not in shareable]
        values = {name.removeprefix(prefix): list(grid[name]) for name in shareable}
        shape = [len(grid[name]) for name in names]
        index = offset + np.arange(int(np.prod(shape))).reshape(shape)
        offset += index.size
        index = index.transpose([names.index(name) for name in [*looped, *shareable]])
        for place in np.ndindex(index.shape[: len(looped)]):
            fixed, stage = {}, [number]
            for name, k in zip(looped, place, strict=True):
                fixed[name] = grid[name][k]
                # Compared by place, not by value: 1 and 1.0 are equal, and may mean other things.
                if not name.startswith(prefix):
                    stage.append(k)
            found, left = _make_groups(
                base, prefix, tuple(stage), fixed, values, index[place], valid
            )
            groups += found
            unshared += left
    return groups, unshared


def _make_groups(base, prefix, stage, fixed, values, index, valid):
    """Return the groups of some fixed parameters and the product of shareable values, and the rest.

    A value that this model cannot share becomes a fixed one.
    """
    given, before, others = index, {}, {}
    for name, value in fixed.items():
        if name.startswith(prefix):
            others[name.removeprefix(prefix)] = value
        else:
            before[name] = value
    try:
        last = _family_member(base, fixed)
        own: Any = ()
        nested, shared, key = last._nested_parameter, {"C"}, None
        slot = first_foreign(last, "called_by_search")
        if slot and hasattr(last, "combine"):  # fit goes round slots: it makes layers one by one
            raise Overridden(f"{type(last).__name__} has a {slot} of its own")
        if not slot:
            penalty = last._penalty_parameter
            own = last._weight_parameters if penalty is None else (penalty,)
            shared = {*own, "C", nested}
            # By identity, not by value: 1 and 1.0 are equal, and may mean different things.
            # Features alone depend on the activation.
            key = tuple((name, id(value)) for name, value in others.items() if name != "activation")
        foreign = next((name for name in values if name not in shared), None)
        if foreign is not None:
            axis, rest, groups, left = list(values).index(foreign), dict(values), [], []
            for k, value in enumerate(rest.pop(foreign)):
                here, part = fixed | {prefix + foreign: value}, index.take(k, axis=axis)
                found, more = _make_groups(base, prefix, stage, here, rest, part, valid)
                groups += found
                left += more
            return groups, left
        order = (*own, "C", nested)
        values = dict(values)
        for name in order:
            values.setdefault(name, [getattr(last, name)])
        index = index.reshape(index.shape + (1,) * (len(values) - index.ndim))
        index = everyone = index.transpose([list(values).index(name) for name in order])
        # Parameters are checked one by one: what was valid beside others is so beside these.
        known = valid if _is_valid(last) else {}
        chosen: list[list[Any]] = []
        unshared = []
        for axis, name in enumerate(order):
            kept = np.ones(index.shape[axis], bool)
            for k, value in enumerate(values[name]):
                reason = _why_not(last, name, value, known)
                if reason is not None:
                    kept[k] = False
                    unshared.append(Unshared(everyone.take(k, axis=axis).ravel(), reason))
            chosen.append(list(compress(values[name], kept)))
            index = index.compress(kept, axis=axis)
        if not index.size:
            raise NotShared(unshared[0].reason)
        settings = []
        for setting in product(*chosen[:-2]):
            settings.append(dict(zip(own, setting, strict=True)))
        C, sizes = np.array(chosen[-2], dtype=float), np.array(chosen[-1], dtype=int)
        candidate = index.reshape(len(settings), len(C), len(sizes))
        return [Group(stage, before, others, settings, C, sizes, candidate, key)], unshared
    except NotShared as reason:
        return [], [Unshared(given.ravel(), str(reason), isinstance(reason, Overridden))]


def _family_member(base, fixed):
    """Return the last step with some parameters set, if work of its candidates can be shared."""
    try:
        model = clone(base).set_params(**clone(fixed, safe=False))
        if isinstance(base, Pipeline) and model.steps[-1][0] != base.steps[-1][0]:
            raise NotShared("the last step is called otherwise")
    except (ValueError, AttributeError):
        raise NotShared("the estimator has no such parameters") from None
    last = last_step(model)
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


def _is_valid(last):
    try:
        last._validate_params()
    except ValueError:
        return False
    return True


def _why_not(last, name, value, valid):
    """Return why a value of a shareable parameter cannot be shared, or None."""
    key = (type(last), name, id(value))
    if key not in valid:
        before = getattr(last, name)
        setattr(last, name, value)
        is_valid = _is_valid(last)
        setattr(last, name, before)
        if not is_valid:
            return "fit refuses the parameters"
        valid[key] = value
    if name == "C" and value == "loo":
        return "C='loo' is chosen in every fit"
    if name == "privileged_penalty" and value == "loo":
        return "privileged_penalty='loo' is chosen in every fit"
    if name == "C" and value == np.inf:
        return "C=inf is solved by singular values"
    if name == "C" and not SMALLEST_C <= float(value) <= LARGEST_C:  # float32 has no such bounds
        return "C is so small or large that squares of scores or of 1/C underflow"
    return None
