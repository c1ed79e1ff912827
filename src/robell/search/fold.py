"""One fold of a search: shared features, Gram matrices and factorisations, then scores.

A group of candidates has one design matrix, of its largest network; one Gram matrix for each
setting of the row weights; and one factorisation for each C.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params
from threadpoolctl import threadpool_limits

from robell._core.balls.graphs import graph_term
from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import normal_equations, solve_ridge
from robell._core.ridge.sweep import WeightedGram, graph_ridge, nested_ridge
from robell._core.ridge.sweep_torch import TorchSweep
from robell.models._own import first_foreign
from robell.search.groups import SLOTS, NotShared, Unshared, has_graph, last_step
from robell.search.scorers import score_columns

# A design matrix of up to this many numbers is kept for all row weights; a larger one is made anew
# for each, a block at a time.
KEEP_ELEMENTS = 1 << 25
SCORE_ELEMENTS = 1 << 22  # scores computed at a time


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
    device: object = None  # a torch device, or None for NumPy and LAPACK
    only: np.ndarray | None = None  # which candidates to score, all by default

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
        largest = int(group.n_hidden.max())
        with run_by_fit_too():
            model = clone(self.last).set_params(**clone(group.others, safe=False))
            model.set_params(n_hidden=largest)
            if first_foreign(model, SLOTS):
                del model.C  # which varies: a slot that asks for it cannot be shared
            prepared = model._prepare(self.X, self.y, self.sample_weight)
            design = _kept(model._design(prepared.rows.X))
        # Two classes need one column: the ±1 solution is the difference of the one-hot ones.
        T = prepared.T if len(model.classes_) > 2 else prepared.T[:, 1:] - prepared.T[:, :1]
        widths = design.n_columns - model._columns_per_node * (largest - group.n_hidden)
        scored = [(self.X_test, self.y_test, self.test_params)]
        if self.task.with_train:
            scored.append((self.X, self.y, self.train_params))
        scorers = [_RowScorer(self.task.plan, model, *rows) for rows in scored]
        solutions = _graph_solutions if has_graph(model) else _nested_solutions
        elapsed = (self.setup_time + time.perf_counter() - start) / len(group.settings)
        self.setup_time = 0.0
        sweep = solutions(
            model, prepared, design, T, group, widths, self.statistics, self.task.device
        )
        for place in range(len(group.settings)):
            start = time.perf_counter()
            beta = next(sweep)
            fitted = time.perf_counter()
            here = group.candidate[place].ravel()
            columns = beta.reshape(len(beta), len(here), -1)
            if self.task.only is not None:
                wanted = self.task.only[here]
                here, columns = here[wanted], columns[:, wanted]
                if len(here) == 0:
                    continue
            try:
                values = [scorer.score(columns) for scorer in scorers]
            except NotShared as reason:
                yield Unshared(here, str(reason))
                continue
            fit_time, score_time = elapsed + fitted - start, time.perf_counter() - fitted
            train = values[1] if self.task.with_train else None
            yield Found(here, values[0], train, fit_time / len(here), score_time / len(here))


def _kept(design):
    """Return a design that is held in memory if it is small enough."""
    if design.n_rows * design.n_columns <= KEEP_ELEMENTS:
        M = design.whole()
        return RowBlocks(lambda rows: M[rows], design.n_rows, design.n_columns, design.dtype)

    def make_rows(rows):
        with run_by_fit_too():
            return design._make_rows(rows)

    return RowBlocks(make_rows, design.n_rows, design.n_columns, design.dtype)


def _nested_solutions(model, prepared, design, T, group, widths, statistics, device):
    """Yield β of (P, C, n_hidden, K) for every setting of the row weights."""
    C = group.C * model._C_factor
    totals = _total_weights(model, prepared, group.settings, statistics)
    sweep = _on_host if device is None else _on_device
    for total, (beta, solved) in sweep(design, T, totals, 1.0 / C, widths, device):
        for i, j in np.argwhere(~solved):
            narrow = _prefix(design, int(widths[j]))
            beta[: widths[j], i, j] = solve_ridge(narrow, T, C[i], total).beta
        yield beta


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
            yield total, nested_ridge(design, G, R, T, total, penalties, widths)


def _on_device(design, T, totals, penalties, widths, device):
    M = design.whole()
    if not np.isfinite(M).all():
        raise NotShared("the hidden layer or the inputs overflow")
    sweep = TorchSweep(M, T, device)
    while batch := list(islice(totals, sweep.batch(len(penalties)))):
        yield from zip(batch, sweep.solve(np.stack(batch), penalties, widths), strict=True)


def _graph_solutions(model, prepared, design, T, group, widths, statistics, device):
    """Yield β of (P, C, n_hidden, K) for every graph weight."""
    if device is not None:
        raise NotImplementedError("graph terms are solved on the host: use device='cpu'")
    rows = prepared.rows
    (total,) = _total_weights(model, prepared, [{}], statistics)
    weights = [setting.get("graph_weight", model.graph_weight) for setting in group.settings]
    weights = np.array(weights, dtype=float)
    beta = np.zeros((len(weights), design.n_columns, len(group.C), len(widths), T.shape[1]))
    for j, width in enumerate(widths):
        narrow = _prefix(design, int(width))
        beta[:, :width, :, j] = _graph_grid(
            narrow, rows.labels, model.graph, T, total, group.C, weights
        )
    yield from beta


def _graph_grid(design, labels, graph, T, total, C, weights):
    """Return β of (graph weights, P, C, K) for one network."""
    M = design.whole()
    basis = None
    if design.n_rows < design.n_columns:
        basis = np.linalg.svd(M, full_matrices=False)[2].T
        M = M @ basis
    term = graph_term(M, labels, graph)
    beta, solved = graph_ridge(M, T, total, term, C, weights)
    if basis is not None:
        beta = np.einsum("pr,arck->apck", basis, beta)
    if not solved.all():
        term = graph_term(design.whole(), labels, graph) if basis is not None else term
    for a, c in np.argwhere(~solved):
        further = weights[a] * term
        beta[a, :, c] = solve_ridge(design, T, C[c], total, further_penalty=further).beta
    return beta


def _prefix(design, width):
    """Return the first columns of a design: that of a network with fewer nodes."""
    return RowBlocks(
        lambda rows: design._make_rows(rows)[:, :width], design.n_rows, width, design.dtype
    )


class _RowScorer:
    """Scores given rows by the scorers of a plan, for many output weights at once."""

    def __init__(self, plan, model, X, y, params):
        self.plan, self.classes, self.X, self.y = plan, model.classes_, X, y
        self.params = params
        with run_by_fit_too():
            rows = model._validate_new(X)
            n_columns = model._n_columns()
            self.rows = _kept(
                RowBlocks(
                    lambda block: model._features(rows[block]), len(rows), n_columns, model._dtype
                )
            )

    def score(self, columns):
        """Return name -> values for output weights (P, candidates, K)."""
        step = max(1, SCORE_ELEMENTS // (max(1, self.rows.n_rows) * columns.shape[2]))
        parts = []
        for start in range(0, columns.shape[1], step):
            block = columns[:, start : start + step]
            scores = np.empty((self.rows.n_rows, *block.shape[1:]))
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                for rows, M in self.rows:
                    product = M @ block.reshape(len(block), -1)
                    scores[rows] = product.real.reshape(-1, *block.shape[1:])
            if not np.isfinite(scores).all():
                raise NotShared("the scores overflow")
            if scores.shape[2] == 1:
                scores = scores[:, :, 0]
            parts.append(
                score_columns(self.plan, self.classes, scores, self.X, self.y, self.params)
            )
        return {name: np.concatenate([part[name] for part in parts]) for name in self.plan}
