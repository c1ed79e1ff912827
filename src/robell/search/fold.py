"""One fold of a search: shared features, Gram matrices and factorisations, then scores.

A group of candidates has one design matrix, of its largest network; one Gram matrix for each
setting of the row weights; and one factorisation for each C.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from itertools import compress, islice
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params
from threadpoolctl import threadpool_limits

from robell._core.array import is_tensor
from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import EPS, normal_equations
from robell._core.ridge.sweep import WeightedGram, graph_ridge, nested_ridge
from robell._core.ridge.sweep_torch import TorchSweep
from robell.models._family import FamilyRegressor
from robell.models._own import first_foreign
from robell.search.calibrations import Calibrations
from robell.search.groups import SLOTS, NotShared, Unshared, last_step
from robell.search.layers import layer_design, mean_of_layers
from robell.search.scorers import RowScorer
from robell.search.targets import TargetScorer, with_constant, without_means
from robell.search.views import view_solutions

# A design matrix of up to this many numbers is kept for all row weights; a larger one is made anew
# for each, a block at a time.
KEEP_ELEMENTS = 1 << 25
SCORE_ELEMENTS = 1 << 22  # scores computed at a time
# How far output weights may be from those of a single fit, relative to their size: ROUNDING over
# the smallest pivot, at most REFINED. Measured on a hundred rows: 1/7 of one, 1/30 of the other.
ROUNDING = 50 * EPS
REFINED = 1e-8
# Below this pivot, leave-one-out scores have too few digits for probabilities.
TRUSTED_PIVOT = 1e-5


class Found(NamedTuple):
    """Scores of some candidates on one fold."""

    candidates: np.ndarray
    test: dict  # name -> values
    train: dict | None
    fit_time: float  # of one candidate
    score_time: float


@contextmanager
def run_by_fit_too():
    """Leave candidates to scikit-learn where code raises that every single fit runs as well.

    That is the code of steps, activations and slots, which may be the caller's and raise anything:
    fit will raise it again, and ``error_score`` decides. What only the search runs is not so
    guarded: its errors are its own.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, AttributeError) and error.name == "C":  # see _Fold.sweep
            raise NotShared(f"{type(error.obj).__name__} reads C in its slots") from error
        raise NotShared(f"fit raises {type(error).__name__}") from error


class FoldTask(NamedTuple):
    """What every fold needs to know."""

    base: BaseEstimator
    X: object
    y: object
    plan: dict
    fit_params: dict
    score_params: dict
    with_train: bool
    device: object  # a torch device, or None for NumPy and LAPACK

    def run(self, split, groups):
        """Yield what is found for each group and setting of one fold, and what is left."""
        fold = None
        for group in groups:
            try:
                if fold is None or fold.stage != group.stage:
                    fold = _Fold(self, *split, group)
                yield from fold.sweep(group)
            except NotShared as reason:
                yield Unshared(group.candidate.ravel(), str(reason))


def run_fold(task, index, split, groups):
    """Run one fold in a process of its own, with one BLAS thread."""
    with threadpool_limits(1, "blas"):
        return index, list(task.run(split, groups))


class _Fold:
    """Training and test rows of one fold behind the pipeline's first steps."""

    def __init__(self, task, train, test, group):
        self.task, self.stage = task, group.stage
        start = time.perf_counter()
        with run_by_fit_too():
            model = clone(task.base)
            if group.before:
                model.set_params(**clone(group.before, safe=False))
            X, y = _safe_split(model, task.X, task.y, train)
            X_test, y_test = _safe_split(model, task.X, task.y, test, train)
            if isinstance(model, Pipeline) and len(model.steps) > 1:
                first = model[:-1]
                X = first.fit_transform(X, y)
                X_test = first.transform(X_test)
        params = _check_method_params(task.X, params=task.fit_params, indices=train)
        self.sample_weight = next(iter(params.values()), None)
        self.train_params, self.test_params = (
            _check_method_params(task.X, params=task.score_params, indices=rows)
            for rows in (train, test)
        )
        self.X, self.y, self.X_test, self.y_test = X, np.asarray(y), X_test, np.asarray(y_test)
        self.last = last_step(model)
        self.statistics = {}  # of the kernel, shared by all groups
        self.setup_time = time.perf_counter() - start

    def sweep(self, group):
        """Yield the scores of a group's candidates, one setting of the row weights at a time."""
        start = time.perf_counter()
        largest = int(group.nested.max())
        with run_by_fit_too():
            model = clone(self.last).set_params(**clone(group.others, safe=False))
            model.set_params(**{model._nested_parameter: largest})
            if first_foreign(model, SLOTS):
                del model.C  # which varies: a slot that asks for it cannot be shared
            prepared = model._prepare(self.X, self.y, self.sample_weight)
            design = _kept(model._design(prepared.rows.X))
        if is_tensor(prepared.T):
            raise NotShared("tensors are fitted where they are")
        T = prepared.T
        if not isinstance(model, FamilyRegressor) and len(model.classes_) == 2:
            # One column is enough: the ±1 solution is the difference of the one-hot ones.
            T = T[:, 1:] - T[:, :1]
        widths = design.n_columns - model._columns_per_node * (largest - group.nested)
        scored = [(self.X_test, self.y_test, self.test_params)]
        if self.task.with_train:
            scored.append((self.X, self.y, self.train_params))
        tables = [_ScoredTable(self.task.plan, model, *rows) for rows in scored]
        calibrate = self._calibrated(model, prepared, group, widths)
        solutions = _solutions_of(model)
        elapsed = (self.setup_time + time.perf_counter() - start) / len(group.settings)
        self.setup_time = 0.0
        sweep = solutions(
            model, prepared, design, T, group, widths, self.statistics, self.task.device
        )
        # Features of one network and of a larger one differ by the rounding of their products, and
        # sums over more rows by more.
        noise = max(_reach(prepared.rows.X), *(table.reach for table in tables))
        noise *= max(1.0, np.sqrt(design.n_rows) / 10.0)
        for place in range(len(group.settings)):
            start = time.perf_counter()
            beta, trust = next(sweep)
            fitted = time.perf_counter()
            error = np.minimum(ROUNDING / np.maximum(trust.ravel(), EPS), REFINED) * noise
            here = group.candidate[place].ravel()
            columns = beta.reshape(len(beta), len(here), -1)
            found_by, least = calibrate(group.settings[place])
            for found in _score(here, columns, error, trust.ravel() > least, tables, found_by):
                if isinstance(found, Found):
                    spent = time.perf_counter() - fitted
                    fit_time = (elapsed + fitted - start) / len(here)
                    found = found._replace(fit_time=fit_time, score_time=spent / len(here))
                yield found

    def _calibrated(self, model, prepared, group, widths):
        """Return what gives the calibrations of a setting, and the pivot they can be trusted from.

        None, and any pivot, where no scorer asks for probabilities.
        """
        if all(plan.depends_on != "probabilities" for plan in self.task.plan.values()):
            return lambda setting: (None, 0.0)
        found = Calibrations(model, prepared, 1.0 / (group.C * model._C_factor), widths)

        def under(setting):
            (total,) = _total_weights(model, prepared, [setting], self.statistics)
            return found.under(total), TRUSTED_PIVOT

        return under


def _reach(X):
    """Return how large the sums before the activation may be, in units of standardised rows."""
    return max(1.0, float(np.abs(X).sum(axis=1).max()) / 16.0)


def _score(here, columns, error, is_solved, tables, calibrations):
    """Yield the scores of candidates that are certain, and why the others' are not known."""
    if not is_solved.all():
        yield Unshared(here[~is_solved], "the system is singular to working precision")
        here, columns, error = here[is_solved], columns[:, is_solved], error[is_solved]
        if calibrations is not None:
            calibrations = list(compress(calibrations, is_solved))
    if not len(here):
        return
    try:
        values, doubts = zip(
            *(table.score(columns, error, calibrations) for table in tables), strict=True
        )
    except NotShared as reason:
        yield Unshared(here, str(reason))
        return
    doubtful = np.any(doubts, axis=0)
    if doubtful.any():
        yield Unshared(here[doubtful], "a score within rounding of another one decides")
    if not doubtful.all():
        kept = [{name: value[~doubtful] for name, value in some.items()} for some in values]
        yield Found(here[~doubtful], kept[0], kept[1] if len(kept) > 1 else None, 0.0, 0.0)


def _kept(design):
    """Return a design that is held in memory if it is small enough."""
    if design.n_rows * design.n_columns <= KEEP_ELEMENTS:
        M = design.whole()
        return RowBlocks(lambda rows: M[rows], design.n_rows, design.n_columns, design.dtype)

    def make_rows(rows):
        with run_by_fit_too():
            return design._make_rows(rows)

    return RowBlocks(make_rows, design.n_rows, design.n_columns, design.dtype)


def _solutions_of(model):
    """Return what finds the output weights of a group of candidates of a model."""
    if model._blocks() is not None:
        return _view_solutions
    if model._penalty_parameter is not None:
        return _penalty_solutions
    if getattr(model, "combine", "concat") != "concat":
        return _layer_solutions
    return _centred_solutions if isinstance(model, FamilyRegressor) else _nested_solutions


def _view_solutions(model, prepared, design, T, group, widths, statistics, device):
    """Yield β of several views, and how far to trust it, for every coupling."""
    if device is not None:
        raise NotImplementedError("views are solved on the host: use device='cpu'")
    if model._penalty_parameter is not None:
        raise NotShared("views with a graph are solved one by one")
    (total,) = _total_weights(model, prepared, [{}], statistics)
    yield from view_solutions(model, total, design, T, group)


def _centred_solutions(model, prepared, design, T, group, widths, statistics, device):
    """Yield β of a regressor, whose constant is free, as ``_nested_solutions`` does."""
    (total,) = _total_weights(model, prepared, [{}], statistics)
    behind, T, *means = without_means(design, T, total)
    sweep = _on_host if device is None else _on_device
    totals = iter([total])
    for beta, trust in sweep(_kept(behind), T, totals, 1.0 / group.C, widths - 1, device):
        yield with_constant(beta, *means), trust


def _layer_solutions(model, prepared, design, T, group, widths, statistics, device):
    """Yield β of networks whose layers have a ridge each, depths being the nested parameter."""
    if model.combine == "vote":
        raise NotShared("votes of layers are counted in every fit")
    one_layer = np.array([widths.min() - (group.nested.min() - 1) * model._columns_per_node])
    solutions = _centred_solutions if isinstance(model, FamilyRegressor) else _nested_solutions
    found, trust = [], []
    for layer in range(int(group.nested.max())):
        of_layer = _kept(layer_design(model, design, layer))
        ((beta, pivot),) = solutions(
            model, prepared, of_layer, T, group, one_layer, statistics, device
        )
        found.append(beta[:, :, 0])
        trust.append(pivot[:, 0])
    yield (
        mean_of_layers(found, group.nested, model._n_shared()),
        np.stack([np.min(trust[:depth], axis=0) for depth in group.nested], axis=1),
    )


def _nested_solutions(model, prepared, design, T, group, widths, statistics, device):
    """Yield β of (P, C, nested, K), and how far to trust it, for every setting of the weights."""
    totals = _total_weights(model, prepared, group.settings, statistics)
    sweep = _on_host if device is None else _on_device
    return sweep(design, T, totals, 1.0 / (group.C * model._C_factor), widths, device)


def _total_weights(model, prepared, settings, statistics):
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


def _on_host(design, T, totals, penalties, widths, device):
    totals = np.stack(list(totals))
    kept = design.n_rows * design.n_columns <= KEEP_ELEMENTS
    gram = WeightedGram(design.whole(), T, totals) if kept else None
    for k, total in enumerate(totals):
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            G, R = normal_equations(design, T, total) if gram is None else gram.lower(k)
            if not np.isfinite(np.diagonal(G)).all():
                raise NotShared("the hidden layer or the inputs overflow")
            yield nested_ridge(design, G, R, T, total, penalties, widths)


def _on_device(design, T, totals, penalties, widths, device):
    M = design.whole()
    if not np.isfinite(M).all():
        raise NotShared("the hidden layer or the inputs overflow")
    sweep = TorchSweep(M, T, device)
    while batch := list(islice(totals, sweep.batch(len(penalties)))):
        yield from sweep.solve(np.stack(batch), penalties, widths)


def _penalty_solutions(model, prepared, design, T, group, widths, statistics, device):
    """Yield β of (P, C, nested, K), and how far to trust it, for every weight of the penalty."""
    if device is not None:
        raise NotImplementedError("penalties of models are solved on the host: use device='cpu'")
    (total,) = _total_weights(model, prepared, [{}], statistics)
    name = model._penalty_parameter
    weights = [setting.get(name, getattr(model, name)) for setting in group.settings]
    weights = np.array(weights, dtype=float)
    shape = (len(weights), len(group.C), len(widths))
    beta, trust = np.zeros((shape[0], design.n_columns, *shape[1:], T.shape[1])), np.zeros(shape)
    for j, width in enumerate(widths):
        M, basis = _prefix(design, int(width)).whole(), None
        if len(M) < width:
            basis = np.linalg.svd(M, full_matrices=False)[2].T
            M = M @ basis
        term = model._penalty_term(M, prepared.rows)
        found, trust[:, :, j] = graph_ridge(M, T, total, term, group.C, weights)
        beta[:, :width, :, j] = found if basis is None else np.einsum("pr,arck->apck", basis, found)
    yield from zip(beta, trust, strict=True)


def _prefix(design, width):
    """Return the first columns of a design: that of a network with fewer nodes."""
    return RowBlocks(
        lambda rows: design._make_rows(rows)[:, :width], design.n_rows, width, design.dtype
    )


class _ScoredTable:
    """Rows to be scored for many output weights at once."""

    def __init__(self, plan, model, X, y, params):
        scorer = TargetScorer if isinstance(model, FamilyRegressor) else RowScorer
        self.scorer = scorer(plan, model, X, y, params)
        with run_by_fit_too():
            rows = model._validate_new(X)
            self.rows = _kept(model._design(rows))
            self.size = np.concatenate([_row_norms(M) for _, M in self.rows])
        self.reach = _reach(rows)

    def score(self, columns, error, calibrations):
        """Return name -> values for output weights (P, candidates, K), and which are doubtful.

        ``error`` is that of the output weights relative to their size, one a candidate.
        """
        n = self.rows.n_rows
        step = max(1, SCORE_ELEMENTS // (max(1, n) * columns.shape[2]))
        parts, doubts = [], []
        for start in range(0, columns.shape[1], step):
            block = columns[:, start : start + step]
            scores = np.empty((n, *block.shape[1:]))
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                for rows, M in self.rows:
                    product = M @ block.reshape(len(block), -1)
                    scores[rows] = product.real.reshape(-1, *block.shape[1:])
            if not np.isfinite(scores).all():
                raise NotShared("the scores overflow")
            norms = np.linalg.norm(block, axis=0).max(axis=1) * error[start : start + step]
            if scores.shape[2] == 1:
                scores = scores[:, :, 0]
            doubts.append(self.scorer.doubtful(scores, self.size[:, None] * norms))
            some = calibrations and calibrations[start : start + step]
            parts.append(self.scorer.values(scores, some))
        values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return values, np.concatenate(doubts)


def _row_norms(M):
    """Return |m_i| of every row, without underflow."""
    largest = np.abs(M).max(axis=1)
    return largest * np.linalg.norm(M / np.where(largest > 0.0, largest, 1.0)[:, None], axis=1)
