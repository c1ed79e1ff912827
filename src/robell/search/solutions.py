"""Output weights of the candidates of a group in one fold, some settings of the rows at a time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from robell._core.array import to_host
from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import normal_equations
from robell._core.ridge.sweep import (
    NestedRidge,
    WeightedGram,
    digits_left,
    graph_ridge,
    solve_penalties,
    with_targets,
)
from robell._core.ridge.sweep_torch import TorchSweep
from robell.models._estimator import BaseRVFLRegressor
from robell.search.groups import NotShared
from robell.search.targets import with_constant, without_means


def view_solutions(model, total, design, T, group):
    """Yield β of (P, C, 1, K), and how far to trust it, for every coupling of the views."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        try:
            G, R = normal_equations(design, T, total)
        except ValueError as error:  # as every single fit will say
            raise NotShared("the hidden layer or the inputs overflow") from error
        squares = total @ np.square(T).sum(axis=1)
        left = digits_left(np.abs(R).max(), np.diagonal(G).max(), squares)
        for setting in group.settings:
            blocks = model._blocks()._replace(coupling=float(setting["coupling"]))
            found = blocks.coupled(G.copy()), blocks.pull * R
            theta, trust = solve_penalties(*found, 1.0 / group.C)
            yield theta[:, :, None, :], left * trust[:, None]


# -- deep networks in a search: a ridge for each layer, and means over the first of them


def layer_design(model, design, layer):
    """Return the columns [1 x h_l] of one layer of a design of all layers."""
    width = model._n_shared() + int(model.n_hidden)
    return RowBlocks(
        lambda rows: model._of_layer(design._make_rows(rows), layer), design.n_rows, width
    )


def mean_of_layers(found, depths, n_shared):
    """Return β on the columns of all layers, (P, C, depths, K), given each layer's (P_l, C, K).

    That of a depth is the mean over its layers, and zero for the nodes of deeper ones.
    """
    width = len(found[0]) - n_shared
    n_columns = n_shared + len(found) * width
    beta = np.zeros((n_columns, found[0].shape[1], len(depths), found[0].shape[2]))
    for j, depth in enumerate(depths):
        beta[:n_shared, :, j] = sum(one[:n_shared] for one in found[:depth]) / depth
        for layer in range(depth):
            start = n_shared + layer * width
            beta[start : start + width, :, j] = found[layer][n_shared:] / depth
    return beta


# -- output weights of a group of candidates in one fold


# A design matrix of up to this many numbers is kept for all row weights; a larger one is made anew
# for each, a block at a time.
KEEP_ELEMENTS = 1 << 25
LARGEST_RATIO = 1e6  # of the columns' norms, for which systems with a further penalty are shared


class Solved(NamedTuple):
    """Output weights of some settings, those of equal row weights once."""

    beta: object  # (P, distinct, C, nested, K), an array or a tensor
    trust: np.ndarray  # (distinct, C, nested): the smallest pivot, 0 where unsolved
    places: np.ndarray  # of the settings in the group
    member: np.ndarray  # which of the distinct ones each setting is
    n_rows: int = 0  # of positive weight under every setting, at least


def reach(X):
    """Return how large the sums before the activation may be, in units of standardised rows."""
    return max(1.0, float(np.abs(X).sum(axis=1).max()) / 16.0)


def solved_one(place, beta, trust):
    """Return what was solved for a single setting."""
    return Solved(beta[:, None], trust[None], np.array([place]), np.array([0]))


@contextmanager
def run_by_fit_too():
    """Leave candidates to scikit-learn where code raises that every single fit runs as well.

    That is the code of steps, activations and slots, which may be the caller's and raise anything:
    fit will raise it again, and ``error_score`` decides. What only the search runs is not so
    guarded: its errors are its own.
    """
    try:
        yield
    except NotShared:
        raise
    except Exception as error:
        if isinstance(error, AttributeError) and error.name == "C":  # see fold.py
            raise NotShared(f"{type(error.obj).__name__} reads C in its slots") from error
        raise NotShared(f"fit raises {type(error).__name__}") from error


def kept(design):
    """Return a design that is held in memory if it is small enough."""
    if design.n_rows * design.n_columns <= KEEP_ELEMENTS:
        M = design.whole()
        return RowBlocks(lambda rows: M[rows], design.n_rows, design.n_columns, design.dtype)

    def make_rows(rows):
        with run_by_fit_too():
            return design._make_rows(rows)

    return RowBlocks(make_rows, design.n_rows, design.n_columns, design.dtype)


class Where(NamedTuple):
    """What solutions need besides the rows."""

    statistics: dict  # of the rows, kept for other groups
    device: object  # a torch device, or None for NumPy and LAPACK
    step: int  # how many settings to solve at a time
    whole: object = None  # the features of all rows of the table, where folds have them in common


def solutions_of(model):
    """Return what finds the output weights of a group of candidates of a model.

    It is given model, prepared rows, design, targets, group, widths and where, and yields what is
    solved; None where a device works on it, and others could.
    """
    if model._blocks() is not None:
        return _view_solutions
    if model._penalty_parameter is not None:
        return _penalty_solutions
    if getattr(model, "combine", "concat") != "concat":
        return _layer_solutions
    return _centred_solutions if isinstance(model, BaseRVFLRegressor) else _nested_solutions


def _view_solutions(model, prepared, design, T, group, widths, where):
    """Yield β of several views, for every coupling."""
    if where.device is not None:
        raise NotImplementedError("views are solved on the host: use device='cpu'")
    if model._penalty_parameter is not None:
        raise NotShared("views with a graph are solved one by one")
    (total,) = total_weights(model, prepared, [{}], where.statistics)
    for place, found in enumerate(view_solutions(model, total, design, T, group)):
        yield solved_one(place, *found)


def _centred_solutions(model, prepared, design, T, group, widths, where):
    """Yield β of a regressor, whose constant is free, as ``_nested_solutions`` does."""
    (total,) = total_weights(model, prepared, [{}], where.statistics)
    behind, T, *means = without_means(design, T, total)
    sweep = _on_host if where.device is None else _on_device
    for solved in sweep(kept(behind), T, total[None], 1.0 / group.C, widths - 1, where):
        if solved is not None:
            beta = to_host(solved.beta)
            yield solved._replace(beta=with_constant(beta, *means))


def _layer_solutions(model, prepared, design, T, group, widths, where):
    """Yield β of networks whose layers have a ridge each, depths being the nested parameter."""
    if model.combine == "vote":
        raise NotShared("votes of layers are counted in every fit")
    one_layer = np.array([widths.min() - (group.nested.min() - 1) * model._columns_per_node])
    solutions = _centred_solutions if isinstance(model, BaseRVFLRegressor) else _nested_solutions
    found, trust = [], []
    for layer in range(int(group.nested.max())):
        of_layer = kept(layer_design(model, design, layer))
        found_here = solutions(model, prepared, of_layer, T, group, one_layer, where)
        (solved,) = (some for some in found_here if some is not None)
        found.append(to_host(solved.beta)[:, 0, :, 0])
        trust.append(solved.trust[0, :, 0])
    yield solved_one(
        0,
        mean_of_layers(found, group.nested, model._n_shared()),
        np.stack([np.min(trust[:depth], axis=0) for depth in group.nested], axis=1),
    )


def _nested_solutions(model, prepared, design, T, group, widths, where):
    """Yield β for every setting of the row weights."""
    totals = _all_weights(model, prepared, group, where.statistics)
    sweep = _on_host if where.device is None else _on_device
    return sweep(design, T, totals, 1.0 / (group.C * model._C_factor), widths, where)


def _all_weights(model, prepared, group, statistics):
    """Return the weights of every setting, a row each, once for groups that have them in common."""
    known = statistics.get(("weights", group.rows_key), (None, None))
    if group.rows_key is not None and known[0] == group.settings:
        return known[1]
    totals = np.stack(list(total_weights(model, prepared, group.settings, statistics)))
    statistics["weights", group.rows_key] = group.settings, totals
    return totals


def total_weights(model, prepared, settings, statistics):
    """Yield the weight of every row for each setting: its multiplicity times its importance."""
    multiplicity = prepared.rows.multiplicity
    if settings[0]:
        importances = model._importances(prepared, settings, statistics)
    else:
        importances = (model._fit_weights(prepared) for _ in settings)
    for _ in settings:
        with run_by_fit_too():
            importance = next(importances)
        yield multiplicity if importance is None else multiplicity * importance


def _distinct(totals):
    """Return the distinct rows of some weights, and which of them each row is.

    Narrow kernels see no neighbours, and wide ones see all, so settings often weigh alike.
    """
    seen = {}
    member = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in totals])
    first = np.unique(member, return_index=True)[1]
    return totals[first], member


def _fewest_rows(weights):
    """Return how many rows have a positive weight, where these are fewest."""
    return int((weights > 0.0).sum(axis=1).min())


def _batches(n_distinct, member, step):
    """Yield slices of the distinct weights, with the settings of each and their members."""
    for start in range(0, n_distinct, step):
        places = np.flatnonzero((member >= start) & (member < start + step))
        yield slice(start, min(start + step, n_distinct)), places, member[places] - start


def _on_host(design, T, totals, penalties, widths, where):
    distinct, member = _distinct(totals)
    if where.whole is not None and (totals == 1.0).all() and widths.max() <= design.n_rows:
        found = where.whole.solve(T, penalties, widths)
        if found is not None:
            beta, trust = found
            yield Solved(beta[:, None], trust[None], np.arange(len(totals)), member, len(T))
            return
    small = design.n_rows * design.n_columns <= KEEP_ELEMENTS
    gram = WeightedGram(design.whole(), T, distinct) if small else None
    systems = NestedRidge(design, T, penalties, widths)
    P, *shape = systems.shape
    for some, places, of in _batches(len(distinct), member, where.step):
        n = some.stop - some.start
        # In LAPACK's order: every column of the scores' product is contiguous.
        beta = np.zeros((P, n * int(np.prod(shape))), systems.dtype, order="F")
        beta, trust = beta.reshape((P, n, *shape)), np.empty((n, *shape[:2]))
        for k, w in enumerate(distinct[some]):
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                if gram is None:
                    products = with_targets(*normal_equations(design, T, w))
                else:
                    products = gram.lower(some.start + k)
                if not np.isfinite(np.diagonal(products)[:P]).all():
                    raise NotShared("the hidden layer or the inputs overflow")
                trust[k] = systems.solve(products, w, beta[:, k]).pivot
        yield Solved(beta, trust, places, of, _fewest_rows(distinct[some]))


def _on_device(design, T, totals, penalties, widths, where):
    M = design.whole()
    if not np.isfinite(M).all():
        raise NotShared("the hidden layer or the inputs overflow")
    distinct, member = _distinct(totals)
    sweep = TorchSweep(M, T, where.device)
    for some, places, of in _batches(len(distinct), member, sweep.batch(len(penalties))):
        finish = sweep.start(distinct[some], penalties, widths)
        yield None
        beta, pivot = finish()
        yield Solved(beta.movedim(0, 1), pivot, places, of, _fewest_rows(distinct[some]))


def _penalty_solutions(model, prepared, design, T, group, widths, where):
    """Yield β for every weight of the penalty."""
    (total,) = total_weights(model, prepared, [{}], where.statistics)
    name = model._penalty_parameter
    weights = [setting.get(name, getattr(model, name)) for setting in group.settings]
    weights = np.array(weights, dtype=float)
    shape = (len(weights), len(group.C), len(widths))
    beta, trust = np.zeros((design.n_columns, *shape, T.shape[1])), np.zeros(shape)
    for j, width in enumerate(widths):
        M, basis = _prefix(design, int(width)).whole(), None
        norms = np.linalg.norm(M, axis=0)
        if norms.max() > LARGEST_RATIO * norms[norms > 0.0].min(initial=np.inf):
            raise NotShared("columns on such different scales are solved one by one with a penalty")
        if len(M) < width:
            basis = np.linalg.svd(M, full_matrices=False)[2].T
            M = M @ basis
        term = model._penalty_term(M, prepared.rows)
        if where.device is None:
            found, trust[:, :, j] = graph_ridge(M, T, total, term, group.C, weights)
        else:
            sweep = TorchSweep(M, T, where.device)
            found, trust[:, :, j] = sweep.solve_graph(total, term, group.C, weights)
        found = np.moveaxis(found, 0, 1)
        beta[:width, :, :, j] = found if basis is None else np.tensordot(basis, found, axes=1)
    places = np.arange(len(weights))
    yield Solved(beta, trust, places, places)


def _prefix(design, width):
    """Return the first columns of a design: that of a network with fewer nodes."""
    return RowBlocks(
        lambda rows: design._make_rows(rows)[:, :width], design.n_rows, width, design.dtype
    )
