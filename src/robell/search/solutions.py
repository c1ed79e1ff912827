"""Output weights of the candidates of a group in one fold, some settings of the rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from robell._core.array import beside, in_double_precision, is_short_of_memory, is_tensor
from robell._core.layers.features import (
    RowBlocks,
    apply_activation,
    design_matrix,
    hidden_output,
    rows_per_block,
)
from robell._core.ridge.lapack import add_gram, aligned
from robell._core.ridge.loo import decompose, keeps_digits, left_out_residuals
from robell._core.ridge.solve import Blocks, InBlocks, mean_of_columns, normal_equations
from robell._core.ridge.sweep import (
    NestedRidge,
    WeightedGram,
    digits_left,
    graph_ridge,
    solve_prefixes,
    with_targets,
)
from robell._core.ridge.sweep_torch import BATCH_ELEMENTS, TorchSweep
from robell._core.ridge.twins import left_out_together
from robell.models._estimator import BaseRVFLRegressor, FamilyMember
from robell.models.privileged import STUDENT, RVFLPlusClassifier
from robell.models.robell import WeighedByKernel
from robell.search.groups import Group, NotShared

# A design matrix of up to this many numbers is kept for all row weights; a larger one is made anew
# for each, a block at a time. Features of all rows, of all groups together, are kept up to it too.
KEEP_ELEMENTS = 1 << 25
LARGEST_RATIO = 1e6  # of the columns' norms, for which systems with a further penalty are shared


@contextmanager
def run_by_fit_too():
    """Leave candidates to scikit-learn where code raises that every single fit runs as well.

    That code may be the caller's: fit will raise the same again, and ``error_score`` decides.
    """
    try:
        yield
    except NotShared:
        raise
    except Exception as error:
        if is_short_of_memory(error):  # of a device, which single fits would not use
            raise
        if isinstance(error, AttributeError) and error.name == "C":  # see fold.py
            raise NotShared(f"{type(error.obj).__name__} reads C in its slots") from error
        raise NotShared(f"fit raises {type(error).__name__}") from error


def kept(design):
    """Return a design that is held in memory if it is small enough."""
    shape = design.n_rows, design.n_columns, design.dtype
    if design.n_rows * design.n_columns <= KEEP_ELEMENTS:
        return RowBlocks(design.whole().__getitem__, *shape)

    def make_rows(rows):
        with run_by_fit_too():
            return design._make_rows(rows)

    return RowBlocks(make_rows, *shape)


def reach(X):
    """Return how large the sums before the activation may be, in units of standardised rows."""
    return max(1.0, float(np.abs(X).sum(axis=1).max()) / 16.0)


# -- output weights ------------------------------------------------------------------------------


class Systems(NamedTuple):
    """What is solved for a group of candidates in one fold."""

    model: Any  # the largest network
    prepared: Any  # its checked rows
    design: RowBlocks
    T: np.ndarray
    group: Group
    widths: np.ndarray  # columns of the design that each nested network has
    statistics: dict  # of the rows, kept for other groups
    device: Any  # a torch device, or None for NumPy and LAPACK
    step: int  # how many settings to solve at a time
    whole: Whole | None  # the features of all rows of the table, where folds have them in common


class Solved(NamedTuple):
    """Output weights of some settings, deduplicated by their row weights."""

    # (P, distinct, C, nested, K), or a tensor, (designs, P, distinct, C, nested, K)
    beta: Any
    # (designs * distinct, C, nested): the smallest pivot, 0 where unsolved
    trust: np.ndarray
    places: Any  # of the settings in the group
    member: np.ndarray  # which of the distinct ones each setting of every design is
    n_rows: int = 0  # of positive weight under every setting, at least


def solve(systems: Systems) -> Iterator[Solved | None]:
    """Yield the output weights of a group of candidates; None where a device works on them."""
    model = systems.model
    if has_privileged(systems):
        return _solve_privileged(systems)
    if model._blocks() is not None:
        return _solve_views(systems)
    if model._penalty_parameter is not None:
        return _solve_penalties(systems)
    if getattr(model, "combine", "concat") != "concat":
        return _solve_layers(systems)
    is_regressor = isinstance(model, BaseRVFLRegressor)
    return _solve_centred(systems) if is_regressor else _solve_nested(systems)


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


def _only_weights(systems):
    """Return the weight of every row where settings do not change it."""
    (total,) = total_weights(systems.model, systems.prepared, [{}], systems.statistics)
    return total


def _weights_of_settings(systems):
    """Return the weight of every row for each setting, which groups may have in common."""
    group, statistics = systems.group, systems.statistics
    settings, totals = statistics.get(("weights", group.rows_key), (None, None))
    if group.rows_key is None or settings != group.settings:
        weights = total_weights(systems.model, systems.prepared, group.settings, statistics)
        totals = np.stack(list(weights))
        statistics["weights", group.rows_key] = group.settings, totals
    return totals


def _solve_nested(systems):
    """Yield β for every setting of the row weights."""
    penalties = 1.0 / (systems.group.C * systems.model._C_factor)
    return _sweep(systems, _weights_of_settings(systems), penalties)


# -- several groups at once on a device ----------------------------------------------------------


def draws_one_layer(model, group):
    """Say whether features depend on a row and a layer alone that every fit draws alike."""
    return (
        type(model)._features is FamilyMember._features
        and group.rows_key is not None  # a slot is not this package's own
        and model.random_state is not None
        and not callable(model.activation)
    )


def stackable(task, model, group, T):
    """Return how many groups that differ in the activation alone are solved at once."""
    if (
        task.device is None
        or isinstance(model, BaseRVFLRegressor)
        or not draws_one_layer(model, group)
        or model._penalty_parameter is not None
        or task.needs("probabilities")
    ):
        return 1
    P = model._n_columns()
    return max(1, BATCH_ELEMENTS // max(P * P * len(group.C), len(T) * P))


def stacked_design(model, groups, device, X):
    """Return the designs of networks that differ in the activation alone, stacked on a device."""
    import torch

    X = torch.as_tensor(in_double_precision(X), device=device)
    U, b = beside(model.hidden_weights_, X), beside(model.hidden_bias_, X)
    Z = torch.addmm(b, X, U)
    designs = []
    for group in groups:
        H = apply_activation(group.others.get("activation", model.activation), Z.clone())
        designs.append(design_matrix(X, H, model._direct_link, model.output_bias))
    M = torch.stack(designs)
    return RowBlocks(lambda rows: M[:, rows], M.shape[1], M.shape[2], tensors=True)


def weigh_on_device(systems):
    """Find the row weights of all settings before they are asked for, where a device helps."""
    model, group = systems.model, systems.group
    if isinstance(model, WeighedByKernel) and model._penalty_parameter is None:
        if group.rows_key is not None:
            rows = systems.prepared.rows
            model._compare_on(systems.device, rows, group.settings, systems.statistics)
        _weights_of_settings(systems)


def _solve_centred(systems):
    """Yield β of a regressor, whose constant is free: t̄ - m̄β of the ridge without means."""
    design, total = systems.design, _only_weights(systems)
    mean = sum(total[rows] @ M for rows, M in design)[1:] / total.sum()
    target_mean = mean_of_columns(systems.T, total)
    behind = design.changed(lambda M: M[:, 1:] - mean, design.n_columns - 1)
    centred = systems._replace(
        design=kept(behind), T=systems.T - target_mean, widths=systems.widths - 1
    )
    for solved in _sweep(centred, total[None], 1.0 / systems.group.C):
        if solved is not None:
            beta = _on_host(solved.beta)
            constant = target_mean - np.tensordot(mean, beta, axes=1)
            yield solved._replace(beta=np.concatenate([constant[None], beta]))


def _on_host(beta):
    """Return the output weights of one design as an array."""
    return beta[0].cpu().numpy() if is_tensor(beta) else beta


def _solve_layers(systems):
    """Yield β of networks by depth: the mean over the layers, each with a ridge of its own."""
    model, design, depths = systems.model, systems.design, systems.group.nested
    if model.combine == "vote":
        raise NotShared("votes of layers are counted in every fit")
    n_shared, n_hidden = model._n_shared(), int(model.n_hidden)
    one_layer = np.array([systems.widths.min() - (depths.min() - 1) * model._columns_per_node])
    solve_one = _solve_centred if isinstance(model, BaseRVFLRegressor) else _solve_nested
    found, trust = [], []
    for layer in range(int(depths.max())):

        def make_rows(rows, layer=layer):
            return model._of_layer(design._make_rows(rows), layer)

        of_layer = RowBlocks(make_rows, design.n_rows, n_shared + n_hidden)
        here = solve_one(systems._replace(design=kept(of_layer), widths=one_layer))
        (solved,) = (some for some in here if some is not None)
        found.append(_on_host(solved.beta)[:, 0, :, 0])
        trust.append(solved.trust[0, :, 0])
    _, n_penalties, K = found[0].shape
    beta = np.zeros((n_shared + len(found) * n_hidden, n_penalties, len(depths), K))
    for j, depth in enumerate(depths):
        beta[:n_shared, :, j] = sum(one[:n_shared] for one in found[:depth]) / depth
        for layer in range(depth):
            start = n_shared + layer * n_hidden
            beta[start : start + n_hidden, :, j] = found[layer][n_shared:] / depth
    pivots = np.stack([np.min(trust[:depth], axis=0) for depth in depths], axis=1)
    yield Solved(beta[:, None], pivots[None], np.array([0]), np.array([0]))


def _solve_views(systems):
    """Yield β of several views, for every coupling of these."""
    model = systems.model
    if systems.device is not None:
        raise NotImplementedError("views are solved on the host: use device='cpu'")
    if model._penalty_parameter is not None:
        raise NotShared("views with a graph are solved one by one")

    ends = [view.stop for view in model._blocks().columns]

    def equations(G, R, order, setting):
        blocks = model._blocks()._replace(coupling=float(setting.get("coupling", model.coupling)))
        view = np.searchsorted(ends, order, side="right")
        coupled = np.where(view[:, None] == view, G, blocks.coupling * G)
        return coupled, blocks.pull * R, systems.design, blocks

    return _solve_side_by_side(systems, systems.design, ends, equations)


def has_privileged(systems):
    """Say whether rows have columns behind their own that only training rows have."""
    return isinstance(systems.model, RVFLPlusClassifier) and (
        systems.prepared.rows.X.shape[1] > systems.model.n_features_in_
    )


def _solve_privileged(systems):
    """Yield the output weights of the rows' own columns m for every γ, of the design [m, z/√γ]."""
    model, n_own = systems.model, systems.model._n_columns()
    if systems.device is not None:
        raise NotShared("privileged columns are solved on the host, where device='cpu'")
    if model.privileged_penalty == "loo":
        raise NotShared("privileged_penalty='loo' is chosen in every fit")
    X = systems.prepared.rows.X
    design = model._joint(X, 1.0)
    blocks = Blocks((slice(0, n_own), slice(n_own, design.n_columns)), 1.0, STUDENT)
    scale = np.ones(design.n_columns)

    def equations(G, R, order, setting):
        penalty = float(setting.get("privileged_penalty", model.privileged_penalty))
        scale[n_own:] = 1.0 / np.sqrt(penalty)
        of_order = scale[order]
        scaled = G * of_order[:, None] * of_order, R * of_order[:, None]
        return *scaled, model._joint(X, penalty), blocks

    # Where their number of nodes is not given, it is that of the rows' own.
    ends = [n_own] if model.privileged_hidden is not None else [n_own, design.n_columns]
    return _solve_side_by_side(systems, design, ends, equations, n_own)


def _solve_side_by_side(systems, design, ends, equations, n_scored=None):
    """Yield β for every setting of a design that has nodes in several places, up to each of ends.

    With the j-th nodes of all places side by side, behind the other columns, fewer nodes are the
    first columns of more. ``equations`` returns a setting's system, given MᵀWM and MᵀWT of columns
    in that order, its design and its blocks; the output weights of the first ``n_scored`` columns
    are asked for.
    """
    total, T, n_nodes = _only_weights(systems), systems.T, int(systems.model.n_hidden)
    nodes = np.arange(n_nodes)[:, None] + np.subtract(ends, n_nodes)
    order = np.concatenate([np.setdiff1d(np.arange(design.n_columns), nodes), nodes.ravel()])
    widths = design.n_columns - len(ends) * (n_nodes - systems.group.nested)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        try:
            G, R = normal_equations(design, T, total)
        except ValueError as error:  # as every single fit will say
            raise NotShared("the hidden layer or the inputs overflow") from error
        G, R, squares = G[np.ix_(order, order)], R[order], total @ np.square(T).sum(axis=1)
        for place, setting in enumerate(systems.group.settings):
            own_G, own_R, own_design, blocks = equations(G, R, order, setting)

            def missed(theta, own_design=own_design, blocks=blocks):
                several = InBlocks(own_design, np.tile(T, (1, theta.shape[1])), total, blocks)
                beta = np.empty((len(theta), several.T.shape[1]))
                beta[order] = theta.reshape(beta.shape)
                return several.residual_products(beta, total)[order].reshape(theta.shape)

            found, trust = solve_prefixes(own_G, own_R, 1.0 / systems.group.C, widths, missed)
            signal = np.abs(own_R).max(axis=1)
            trust = trust * digits_left(signal, np.diagonal(own_G), squares)[widths - 1]
            theta = np.empty_like(found)
            theta[order] = found
            # How far these may be off is known beside the size of all output weights.
            beta, size = theta[:n_scored], np.square(theta).sum(axis=0)
            share = np.square(beta).sum(axis=0) / np.where(size > 0.0, size, 1.0)
            trust *= np.sqrt(np.where(size > 0.0, share, 1.0).min(axis=-1))
            yield Solved(beta[:, None], trust[None], np.array([place]), np.array([0]))


def _solve_penalties(systems):
    """Yield β for every weight of the penalty."""
    model, group, design, T = systems.model, systems.group, systems.design, systems.T
    total, name = _only_weights(systems), model._penalty_parameter
    weights = np.array([s.get(name, getattr(model, name)) for s in group.settings], dtype=float)
    shape = (len(weights), len(group.C), len(systems.widths))
    beta, trust = np.zeros((design.n_columns, *shape, T.shape[1])), np.zeros(shape)
    all_columns = design.whole()
    for j, width in enumerate(systems.widths):
        M, basis = all_columns[:, :width], None  # of a network with fewer nodes
        norms = np.linalg.norm(M, axis=0)
        if norms.max() > LARGEST_RATIO * norms[norms > 0.0].min(initial=np.inf):
            raise NotShared("columns on such different scales are solved one by one with a penalty")
        if len(M) < width:
            basis = np.linalg.svd(M, full_matrices=False)[2].T
            M = M @ basis
        term = model._penalty_term(M, systems.prepared.rows)
        if systems.device is None:
            found, trust[:, :, j] = graph_ridge(M, T, total, term, group.C, weights)
        else:
            sweep = TorchSweep(M, T, systems.device)
            found, trust[:, :, j] = sweep.solve_graph(total, term, group.C, weights)
        found = np.moveaxis(found, 0, 1)
        beta[:width, :, :, j] = found if basis is None else np.tensordot(basis, found, axes=1)
    places = np.arange(len(weights))
    yield Solved(beta, trust, places, places)


def _sweep(systems, totals, penalties):
    """Yield β of nested networks for row weights, a row of ``totals`` a setting."""
    # Equal weights are solved once. By their bytes: sorting rows takes tens of times longer.
    seen: dict[bytes, int] = {}
    member = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in totals])
    distinct = totals[np.unique(member, return_index=True)[1]]
    design, T, widths, whole = systems.design, systems.T, systems.widths, systems.whole
    if whole is not None and (totals == 1.0).all() and widths.max() <= design.n_rows:
        found = whole.solve(T, penalties, widths)
        if found is not None:
            beta, trust = found
            yield Solved(beta[:, None], trust[None], np.arange(len(totals)), member, len(T))
            return
    gram, step = None, systems.step
    if systems.device is not None:
        on_device = TorchSweep(design.whole(), T, systems.device)
        if not on_device.M.isfinite().all():
            raise NotShared("the hidden layer or the inputs overflow")
        step, n_designs = on_device.batch(len(penalties), len(widths)), len(on_device.M)
    else:
        nested = NestedRidge(design, T, penalties, widths)
        P, *shape = nested.shape
        if design.n_rows * design.n_columns <= KEEP_ELEMENTS:
            gram = WeightedGram(design.whole(), T, distinct, nested.first)
    for start in range(0, len(distinct), step):
        weights = distinct[start : start + step]
        places = np.flatnonzero((member >= start) & (member < start + step))
        n_rows, of_places = int((weights > 0.0).sum(axis=1).min()), member[places] - start
        if systems.device is not None:
            finish = on_device.start(weights, penalties, widths)
            yield None
            beta, trust = finish()
            of_designs = np.arange(n_designs)[:, None] * len(weights) + of_places
            beta = beta.unflatten(0, (n_designs, len(weights))).movedim(1, 2)
            yield Solved(beta, trust, places, of_designs.ravel(), n_rows)
            continue
        # In LAPACK's order: every column of the scores' product is contiguous.
        n = len(weights)
        beta = np.zeros((P, n * int(np.prod(shape))), nested.dtype, order="F")
        beta, trust = beta.reshape((P, n, *shape)), np.empty((n, *shape[:2]))
        for k, w in enumerate(weights):
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                if gram is None:
                    products = with_targets(*normal_equations(design, T, w))
                else:
                    products = gram.lower(start + k)
                if not np.isfinite(np.diagonal(products)[:P]).all():
                    raise NotShared("the hidden layer or the inputs overflow")
                _, trust[k] = nested.solve(products, w, beta[:, k])
        yield Solved(beta, trust, places, of_places, n_rows)


# -- folds whose features are the same in each: fold Gram = full Gram - held-out Gram
#
# The columns of a row depend on the row and on the drawn layer alone where no step of a pipeline
# comes before. With equal weights the Gram matrix of a fold is then that of all rows less that of
# the rows held out, MᵀM - M_vᵀM_v, which for k folds takes two passes over the rows instead of
# k - 1 (Engstrøm and Jensen, Journal of Chemometrics, 2025, doi 10.1002/cem.70008; their package is
# cvmatrix). Where folds hold out every row once, MᵀM is the sum of all M_vᵀM_v: one pass.

# A column keeps at least this share of its squares: below it, what is left of a difference of sums
# has lost digits, and the sums are taken over the rows of the fold.
LEFT = 0.25


class AllRows:
    """The features of all rows that folds have in common, given the targets of some rows.

    Rows stand in ``order``: where folds hold out every row once, the rows of a fold stand together,
    and the sums over each of these parts are known.
    """

    def __init__(self, model, layer, X, y, T, train, tests):
        # The targets of all rows: those of rows with the same label, or 0.
        y, labels = np.asarray(y), model.classes_
        codes = np.minimum(np.searchsorted(labels, y), len(labels) - 1)
        of_label = np.zeros((len(labels), T.shape[1]))
        of_label[codes[train]] = T
        T = np.where((labels[codes] == y)[:, None], of_label[codes], 0.0)
        n_rows, n_columns = len(y), model._n_columns()
        order, ends = np.arange(n_rows), [n_rows]
        of_folds = np.concatenate([np.asarray(test) for test in tests])
        if of_folds.dtype.kind == "i" and np.array_equal(np.sort(of_folds), order):
            order, ends = of_folds, np.cumsum([len(test) for test in tests]).tolist()
        if len(ends) * n_columns > n_rows:
            ends = [n_rows]  # the sums of so many parts would take more memory than the features
        self.layer, self.order = layer, order
        self.place = np.empty_like(order)  # where each row stands
        self.place[order] = np.arange(n_rows)
        X, self.T = in_double_precision(model._validate_new(X)[order]), T[order]
        self.M = M = np.empty((n_rows, n_columns))
        self.reach = 0.0  # how large the sums before the activation may be
        # MᵀM, its lower triangle, and MᵀT of parts of the rows, by their first and their end
        self.parts = {}
        step = rows_per_block(2 * n_columns)
        for first, last in pairwise([0, *ends]):
            R = np.zeros((n_columns, T.shape[1]))
            for start in range(first, last, step):
                rows = slice(start, min(start + step, last))
                H = hidden_output(X[rows], layer[0], layer[1], model.activation)
                block = design_matrix(
                    X[rows], H, model._direct_link, model.output_bias, out=M[rows]
                )
                with np.errstate(over="ignore", invalid="ignore"):  # sums are looked at as a whole
                    R += block.T @ self.T[rows]
                self.reach = max(self.reach, reach(X[rows]))
            self.parts[first, last] = _gram(M[first:last]), R
        self.G, self.R = (
            sum(sums, np.zeros(())) for sums in zip(*self.parts.values(), strict=True)
        )


class Whole:
    """The features of all rows as one fold sees them: some to be fitted to, the others held out."""

    def __init__(self, all_rows, train, test):
        self.all, self.rows = all_rows, all_rows.place[train]
        first = int(all_rows.place[test[0]]) if len(test) else 0
        together = slice(first, first + len(test))
        stand_together = np.array_equal(all_rows.order[together], test)
        self.held_out = together if stand_together else all_rows.place[test]
        M, rows = all_rows.M, self.rows
        self.test = M[self.held_out]
        self.design = RowBlocks(lambda some: M[rows[some]], len(rows), M.shape[1])

    def solve(self, T, penalties, widths):
        """Return β of (P, penalties, widths, K) and the pivots, or None where digits are lost."""
        M, everyone, rows = self.all.M, self.all.T, self.held_out
        if not np.array_equal(everyone[self.rows], T):
            return None  # some class has no row to be fitted to
        held_out = self.all.parts.get((rows.start, rows.stop)) if isinstance(rows, slice) else None
        if held_out is None:
            held_out = _gram(self.test), self.test.T @ everyone[rows]
        G, R = self.all.G - held_out[0], self.all.R - held_out[1]
        if not (np.diagonal(G) >= LEFT * np.diagonal(self.all.G)).all():
            return None
        design = self.design
        if isinstance(rows, slice):
            design, T = _without(M, rows), np.delete(everyone, rows, axis=0)
        systems = NestedRidge(design, T, penalties, widths)
        return systems.solve(with_targets(G, R), np.ones(len(T)))


def whole_table(task, model, prepared, T, group, number):
    """Return the features of all rows, or None where folds do not have them in common."""
    train, test = task.splits[number]
    if (
        isinstance(model, BaseRVFLRegressor)  # targets are brought to mean 0 in every fold
        or task.device is not None
        or (isinstance(task.base, Pipeline) and len(task.base.steps) > 1)
        or not draws_one_layer(model, group)
        or type(model)._fit_rows is not FamilyMember._fit_rows
        or len(prepared.T) != len(train)
    ):
        return None
    is_known = np.zeros(len(task.X), bool)
    is_known[train] = is_known[test] = True
    # Every row once: a bootstrap has some twice, and is as long.
    parted = len(train) + len(test) == len(is_known) and is_known.all()
    if not parted or len(test) > len(train):
        return None
    layer = (model.hidden_weights_, model.hidden_bias_)
    made, key = task.all_rows, int(group.candidate.flat[0])
    if key not in made:
        size = len(task.X) * model._n_columns()
        if size + sum(some.M.size for some in made.values()) > KEEP_ELEMENTS:
            return None
        tests = [held_out for _, held_out in task.splits]
        made[key] = AllRows(model, layer, task.X, task.y, T, train, tests)
    found = made[key]
    same = all(np.array_equal(*pair) for pair in zip(found.layer, layer, strict=True))
    if not same or not np.isfinite(np.diagonal(found.G)).all():
        return None
    return Whole(found, train, test)


def _without(M, hole):
    """Return the design of all rows but some that stand together, in their order."""
    size = hole.stop - hole.start

    def rows(some):
        if some.stop <= hole.start:
            return M[some]
        after = slice(max(some.start + size, hole.stop), some.stop + size)
        if some.start >= hole.start:
            return M[after]
        return np.concatenate([M[some.start : hole.start], M[after]])

    return RowBlocks(rows, len(M) - size, M.shape[1])


def _gram(M):
    """Return the lower triangle of MᵀM."""
    G = aligned((M.shape[1],) * 2, M.dtype)
    add_gram(M, G)()
    return G


# -- probabilities: leave-one-out scores of all penalties at once, then a slope ------------------

# The share of the largest eigenvalue that the smallest must have, both with the penalty added, so
# that log losses are those of single fits to 1e-9: of 130 random tables, against 50 digits,
# left-out scores erred by at most 3e-10 from there on.
LEAST_SHARE = 1e-7
# The largest penalty, beside the largest eigenvalue: beyond it scores are tiny beside the targets
# whose differences they are taken from.
LARGEST_PENALTY = 1e5


class Calibrations:
    """Slope and offsets of every penalty and network of a group, as a single fit finds them."""

    def __init__(self, systems):
        model = systems.model
        if not model.calibrate:
            raise NotShared("there are no probabilities without calibrate=True")
        if not model._leaves_out() or model._penalty_parameter is not None:
            raise NotShared(f"{type(model).__name__} is not calibrated on left-out rows so")
        if model._blocks() is not None:
            raise NotShared("probabilities of several views")
        if has_privileged(systems):
            raise NotShared("probabilities of a model with privileged columns")
        if getattr(model, "combine", "concat") != "concat":
            raise NotShared("probabilities of layers that have a ridge each")
        self.systems = systems
        self.penalties = 1.0 / (systems.group.C * model._C_factor)
        X = systems.prepared.rows.X
        self.twins = left_out_together(*systems.prepared.rows)
        self.M = model._design(X if self.twins is None else X[self.twins.first]).whole()
        if len(self.M) < int(systems.widths.max()):
            raise NotShared("probabilities of networks with more columns than rows")

    def of(self, solved):
        """Return (slope, offsets) of every distinct setting, penalty and width, in that order.

        None for those whose left-out scores have too few digits.
        """
        model, prepared, widths = self.systems.model, self.systems.prepared, self.systems.widths
        # Of equal weights those of one setting are enough.
        _, first = np.unique(solved.member, return_index=True)
        settings = [self.systems.group.settings[place] for place in solved.places[first]]
        weights = total_weights(model, prepared, settings, self.systems.statistics)
        found = np.empty((len(settings), len(self.penalties), len(widths)), dtype=object)
        for k, total in enumerate(weights):
            T, weight = prepared.T, total
            if self.twins is not None:
                weight, T = self.twins.merge(total, T)
            for j, width in enumerate(widths.tolist()):
                design = RowBlocks(self.M[:, :width].__getitem__, len(self.M), width, self.M.dtype)
                with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                    spectrum = decompose(*normal_equations(design, T, weight))
                    sure = keeps_digits(spectrum, self.penalties, LEAST_SHARE)
                    sure &= self.penalties <= LARGEST_PENALTY * spectrum.values.max()
                    places = np.flatnonzero(sure)
                    residuals = left_out_residuals(
                        design, T, weight, spectrum, self.penalties[places]
                    )
                    left_out = np.empty((len(places), len(self.M), T.shape[1]))
                    for rows, residual in residuals:
                        left_out[:, rows] = np.moveaxis(T[rows, None, :] - residual, 1, 0)
                for i, scores in zip(places, left_out, strict=True):
                    of_rows = scores if self.twins is None else scores[self.twins.group]
                    found[k, i, j] = model._calibration(
                        prepared.samples, prepared.T, total, of_rows
                    )
        return found.ravel().tolist()
