"""The part of a grid search in which candidates share work: grouping, one fold, scoring.

Candidates that differ only in ``C``, ``n_hidden`` and what the row weights (or the graph term)
depend on form a group. For one fold, a group has one design matrix, of its largest network; one
Gram matrix for each setting of the row weights; and one factorisation for each C.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import islice, product
from typing import NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    roc_auc_score,
)
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from robell._core.balls.graphs import graph_term
from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import normal_equations, solve_ridge
from robell._core.ridge.sweep import WeightedGram, graph_ridge, nested_ridge
from robell._core.ridge.sweep_torch import TorchSweep
from robell.metrics import g_mean_score
from robell.models._base import BaseRVFLClassifier
from robell.search.metrics import METRICS, TWO_CLASS

# A design matrix of up to this many numbers is kept for all row weights; a larger one is made anew
# for each, a block at a time.
KEEP_ELEMENTS = 1 << 25
SCORE_ELEMENTS = 1 << 22  # scores computed at a time

SCORE_FUNCTIONS = {
    accuracy_score: "accuracy",
    balanced_accuracy_score: "balanced_accuracy",
    g_mean_score: "g_mean",
    f1_score: "f1",
    roc_auc_score: "roc_auc",
    average_precision_score: "average_precision",
}


# -- scorers ---------------------------------------------------------------------------


class ScoredRows(ClassifierMixin, BaseEstimator):
    """A fitted model as a scorer sees it: its answers for the rows in question are known."""

    def __init__(self, classes, scores):
        self.classes_, self.scores_ = classes, scores

    def __sklearn_is_fitted__(self):
        return True

    def decision_function(self, X):
        """Return the scores."""
        return self.scores_

    def predict(self, X):
        """Return the class of the largest score."""
        if self.scores_.ndim == 1:
            return self.classes_[(self.scores_ > 0).astype(int)]
        return self.classes_[self.scores_.argmax(axis=1)]


def plan_scores(scorers, score_params):
    """Return name -> (scorer, metric for many candidates at once, or None to ask the scorer).

    None altogether where a scorer wants more than predictions or scores: probabilities, the
    estimator itself, or metadata that must be routed among several scorers.
    """
    routed = get_config()["enable_metadata_routing"]
    if score_params and routed and isinstance(scorers, _MultimetricScorer):
        return None
    named = scorers._scorers if isinstance(scorers, _MultimetricScorer) else {"score": scorers}
    plan = {}
    for name, scorer in named.items():
        if isinstance(scorer, _PassthroughScorer):  # the estimator's own score
            plan[name] = (get_scorer("accuracy"), "accuracy")
            continue
        if not isinstance(scorer, _BaseScorer):
            return None
        response = scorer._response_method
        first = response if isinstance(response, str) else response[0]
        if first not in ("predict", "decision_function"):
            return None
        plan[name] = (scorer, _metric_of(scorer))
    return plan


def _metric_of(scorer):
    metric = SCORE_FUNCTIONS.get(scorer._score_func)
    usual = [{}, {"average": "binary"}] if metric == "f1" else [{}]
    return metric if scorer._kwargs in usual and scorer._sign == 1 else None


def score_columns(plan, classes, scores, X, y, params):
    """Return name -> one value a column of ``scores``; None where a scorer refuses.

    ``scores`` is (n, candidates) for two classes, (n, candidates, classes) for more; ``params``
    are the scorers' own, such as weights of the rows.
    """
    codes = np.searchsorted(classes, y).clip(0, len(classes) - 1)
    codes = np.where(classes[codes] == y, codes, -1)
    both = len(classes) == 2 and np.array_equal(np.unique(codes), [0, 1])
    values = {}
    for name, (scorer, metric) in plan.items():
        # The scorers' pos_label is 1, except that ROC AUC takes the second class.
        usable = metric not in TWO_CLASS or (both and (metric == "roc_auc" or classes[1] == 1))
        if metric is not None and usable and not params:
            values[name] = METRICS[metric](codes, scores)
            continue
        try:
            values[name] = np.array(
                [
                    scorer(ScoredRows(classes, scores[:, k]), X, y, **params)
                    for k in range(scores.shape[1])
                ]
            )
        except Exception:  # scikit-learn will meet it again, and follow error_score
            return None
    return values


# -- candidates ------------------------------------------------------------------------


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
    """Return the groups of a grid's candidates; those in none must be fitted one by one.

    Candidates are numbered as ``ParameterGrid`` lists them: within each dict of the grid, the
    product of its values in the order of the names, the last name's values changing fastest.
    """
    prefix = f"{base.steps[-1][0]}__" if isinstance(base, Pipeline) else ""
    if set(fit_params) - {f"{prefix}sample_weight"} or getattr(base, "transform_input", None):
        return []
    groups, offset = [], 0
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
            stage = (number, *first)
            group = _make_group(base, prefix, stage, fixed, values, index[place])
            groups += [] if group is None else [group]
    return groups


SHAREABLE = ("C", "n_hidden", "kernel_width", "rho", "graph_weight")


def _is_shareable(name, prefix):
    return name.startswith(prefix) and name.removeprefix(prefix) in SHAREABLE


def _is_before(name, prefix):
    return bool(prefix) and not name.startswith(prefix)


def _make_group(base, prefix, stage, fixed, values, index):
    """Return the group of some fixed parameters and the product of shareable values, or None."""
    try:
        last = last_step(clone(base).set_params(**clone(fixed, safe=False)))
    except (ValueError, AttributeError):
        return None
    if not isinstance(last, BaseRVFLClassifier):
        return None
    own = ("graph_weight",) if getattr(last, "graph", None) else last._weight_parameters
    order = (*own, "C", "n_hidden")
    if set(values) - set(order):
        return None  # a parameter the model does not have: fit will say so
    names = list(values)
    for name in order:
        if name not in names:
            names.append(name)
            values = values | {name: [getattr(last, name)]}
            index = index[..., None]
    index = index.transpose([names.index(name) for name in order])
    kept = [_usable(last, name, values[name]) for name in order]
    if not all(kept):
        return None
    index = index[np.ix_(*kept)]
    chosen = {name: [values[name][k] for k in kept[d]] for d, name in enumerate(order)}
    settings = [
        dict(zip(own, setting, strict=True)) for setting in product(*(chosen[n] for n in own))
    ]
    before = {n: v for n, v in fixed.items() if _is_before(n, prefix)}
    return Group(
        stage,
        before,
        {n.removeprefix(prefix): v for n, v in fixed.items() if n not in before},
        settings,
        np.array(chosen["C"], dtype=float),
        np.array(chosen["n_hidden"], dtype=int),
        index.reshape(len(settings), len(chosen["C"]), len(chosen["n_hidden"])),
    )


def _usable(last, name, values):
    """Return the places of the values that fit accepts and that can be shared."""
    places = []
    for k, value in enumerate(values):
        try:
            clone(last).set_params(**{name: value})._validate_params()
        except ValueError:
            continue
        if not (name == "C" and value == "loo"):
            places.append(k)
    return places


# -- one fold --------------------------------------------------------------------------


class Found(NamedTuple):
    """Scores of some candidates on one fold."""

    candidates: np.ndarray
    test: dict  # name -> values
    train: dict | None
    fit_time: float  # of one candidate
    score_time: float


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
        """Yield what is found for each group and setting of one fold.

        A group that fails, for whatever reason, is passed over: scikit-learn will fit its
        candidates, meet the failure again, and follow ``error_score``. Only a device that fails
        is an error at once: its work must not move to the host unsaid.
        """
        train, test = split
        fold = None
        for group in groups:
            try:
                if fold is None or fold.stage != group.stage:
                    fold = _Fold(self, train, test, group)
                yield from fold.sweep(group)
            except Exception as error:
                if self.device is not None and isinstance(error, RuntimeError):
                    raise


def run_fold(task, index, split, groups):
    """Run one fold in a process of its own, with one BLAS thread."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        return index, list(task.run(split, groups))


class _Fold:
    """Training and test rows of one fold behind the pipeline's first steps."""

    def __init__(self, task, train, test, group):
        self.task, self.stage, before = task, group.stage, group.before
        start = time.perf_counter()
        model = clone(task.base)
        if before:
            model.set_params(**clone(before, safe=False))
        X, y = _safe_split(model, task.X, task.y, train)
        X_test, y_test = _safe_split(model, task.X, task.y, test, train)
        params = _check_method_params(task.X, params=task.fit_params, indices=train)
        self.sample_weight = next(iter(params.values()), None)
        self.train_params, self.test_params = (
            _check_method_params(task.X, params=task.score_params, indices=rows)
            for rows in (train, test)
        )
        if isinstance(model, Pipeline) and len(model.steps) > 1:
            first = model[:-1]
            X = first.fit_transform(X, y)
            X_test = first.transform(X_test)
        self.X, self.y, self.X_test, self.y_test = X, np.asarray(y), X_test, np.asarray(y_test)
        self.last = last_step(model)
        self.statistics = {}  # of the kernel, shared by all groups
        self.setup_time = time.perf_counter() - start

    def sweep(self, group):
        """Yield the scores of a group's candidates, one setting of the row weights at a time."""
        start = time.perf_counter()
        model = clone(self.last).set_params(**clone(group.others, safe=False))
        largest = int(group.n_hidden.max())
        model.set_params(n_hidden=largest)
        prepared = model._prepare(self.X, self.y, self.sample_weight)
        design = _kept(model._design(prepared.rows))
        # Two classes need one column: the ±1 solution is the difference of the one-hot ones.
        T = prepared.T if len(model.classes_) > 2 else prepared.T[:, 1:] - prepared.T[:, :1]
        widths = design.n_columns - model._columns_per_node * (largest - group.n_hidden)
        scorers = [_RowScorer(self.task.plan, model, self.X_test, self.y_test, self.test_params)]
        if self.task.with_train:
            train = (self.X, self.y, self.train_params)
            scorers.append(_RowScorer(self.task.plan, model, *train))
        solutions = _graph_solutions if getattr(model, "graph", None) else _nested_solutions
        elapsed = self.setup_time + time.perf_counter() - start
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
            values = [scorer.score(columns) for scorer in scorers]
            if any(value is None for value in values):
                continue
            n = len(here)
            yield Found(
                here,
                values[0],
                values[1] if self.task.with_train else None,
                (elapsed / len(group.settings) + fitted - start) / n,
                (time.perf_counter() - fitted) / n,
            )


def _kept(design):
    """Return a design that is held in memory if it is small enough."""
    if design.n_rows * design.n_columns > KEEP_ELEMENTS:
        return design
    M = design.whole()
    return RowBlocks(lambda rows: M[rows], design.n_rows, design.n_columns, design.dtype)


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
    multiplicity = prepared.rows.multiplicity
    for importance in model._importances(prepared, settings, statistics):
        yield multiplicity if importance is None else multiplicity * importance


def _on_host(design, T, totals, penalties, widths, device):
    totals = np.stack(list(totals))
    kept = design.n_rows * design.n_columns <= KEEP_ELEMENTS
    gram = WeightedGram(design.whole(), T, totals) if kept else None
    for k, total in enumerate(totals):
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            G, R = normal_equations(design, T, total) if gram is None else gram.lower(k)
            if not np.isfinite(np.diagonal(G)).all():
                normal_equations(design, T, total)  # raises the line that fit would
            yield total, nested_ridge(design, G, R, T, total, penalties, widths)


def _on_device(design, T, totals, penalties, widths, device):
    M = design.whole()
    if not np.isfinite(M).all():
        normal_equations(design, T, None)  # raises the error that the host's path does
    sweep = TorchSweep(M, T, device)
    while batch := list(islice(totals, sweep.batch(len(penalties)))):
        yield from zip(batch, sweep.solve(np.stack(batch), penalties, widths), strict=True)


def _graph_solutions(model, prepared, design, T, group, widths, statistics, device):
    """Yield β of (P, C, n_hidden, K) for every graph weight."""
    if device is not None:  # NotImplementedError is a RuntimeError: it is not passed over
        raise NotImplementedError("graph terms are solved on the host: use device='cpu'")
    rows = prepared.rows
    importance = model._fit_weights(prepared)
    total = rows.multiplicity if importance is None else rows.multiplicity * importance
    weights = np.array([float(setting["graph_weight"]) for setting in group.settings])
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
        rows = model._validate_new(X)
        small = len(rows) * model._n_columns() <= KEEP_ELEMENTS
        M = model._features(rows) if small else None
        self.rows = RowBlocks(
            (lambda block: M[block]) if small else (lambda block: model._features(rows[block])),
            len(rows),
            model._n_columns(),
            model._dtype,
        )

    def score(self, columns):
        """Return name -> values for output weights (P, candidates, K), or None."""
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
                return None
            if scores.shape[2] == 1:
                scores = scores[:, :, 0]
            values = score_columns(self.plan, self.classes, scores, self.X, self.y, self.params)
            if values is None:
                return None
            parts.append(values)
        return {name: np.concatenate([part[name] for part in parts]) for name in self.plan}
