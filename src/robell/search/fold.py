"""One fold of a search: shared features, Gram matrices and factorisations, then scores.

A group of candidates has one design matrix, of its largest network; one Gram matrix for each
setting of the row weights; and one factorisation for each C.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import compress
from typing import NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from robell._core.array import EPS, beside, is_tensor, namespace, row_squares, times_few_columns
from robell._core.layers.features import RowBlocks
from robell._core.ridge.twins import find_twins
from robell._tools.pipelines import last_step
from robell.models._estimator import BaseRVFLRegressor
from robell.models._validation import draw_seed
from robell.search.calibrations import Calibrations
from robell.search.groups import NotShared, Unshared
from robell.search.scorers import RowScorer
from robell.search.solutions import (
    Solved,
    Where,
    kept,
    reach,
    run_by_fit_too,
    solutions_of,
    total_weights,
)
from robell.search.targets import TargetScorer
from robell.search.whole import whole_table

SCORE_ELEMENTS = 1 << 22  # scores computed at a time
BATCH_SCORES = 1 << 17  # so many, which stay in the cache, are worth the calls they take
# How far output weights may be from those of a single fit, relative to their size: ROUNDING over
# the smallest pivot, and where both are refined at most REFINED, or the square. A single fit with
# more columns than rows, or by singular values, is no better below WEAK_PIVOT. Measured on 1,500
# random tables (columns on very different scales, repeated, shifted and rounded, C up to 1e11): at
# most half of that, but for one whose rows are all alike.
ROUNDING = 50 * EPS
REFINED, WEAK_PIVOT = 2e-8, 5e-8
# Below this pivot, leave-one-out scores have too few digits for probabilities.
TRUSTED_PIVOT = 1e-5


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
    device: object  # a torch device, or None for NumPy and LAPACK
    features: object  # of all rows, by group, where folds have them in common

    def run(self, split, groups):
        """Yield what is found for each group and setting of one fold, and what is left."""
        every = self._steps(split, groups)
        if self.device is None:
            for steps in every:
                yield from _without_waiting(steps)
            return
        before = iter(())
        for steps in every:
            yield from _until_waiting(steps)  # its rows are ready, while the device works on others
            yield from _without_waiting(before)
            yield from _until_waiting(steps)  # its systems are on their way
            before = steps
        yield from _without_waiting(before)

    def _steps(self, split, groups):
        """Yield the steps of each group: what is found, and None where one could wait."""
        fold = None

        def run_one(group):
            nonlocal fold
            try:
                if fold is None or fold.stage != group.stage:
                    fold = _Fold(self, *split, group)
                yield from fold.sweep(group)
            except NotShared as reason:
                yield Unshared(group.candidate.ravel(), str(reason))

        return map(run_one, groups)


def _until_waiting(steps):
    """Yield what is found up to the next place to wait."""
    for found in steps:
        if found is None:
            return
        yield found


def _without_waiting(steps):
    """Yield all that is found."""
    return (found for found in steps if found is not None)


def run_fold(task, index, split, groups, config):
    """Run some groups of one fold under scikit-learn's settings, which threads do not inherit."""
    with config_context(**config):
        return index, list(task.run(split, groups))


class _Fold:
    """Training and test rows of one fold behind the pipeline's first steps."""

    def __init__(self, task, train, test, group):
        self.task, self.stage, self.rows = task, group.stage, (train, test)
        start = time.perf_counter()
        with run_by_fit_too():
            model = clone(task.base)
            if group.before:
                model.set_params(**clone(group.before, safe=False))
            X, y = _safe_split(model, task.X, task.y, train)
            X_train = X
            X_test, y_test = _safe_split(model, task.X, task.y, test, train)
            if isinstance(model, Pipeline) and len(model.steps) > 1:
                first, given = model[:-1], X
                X = first.fit_transform(X, y)
                X_test = first.transform(X_test)
                # Scored rows are transformed again: that may be rounded otherwise than in the fit.
                if task.with_train:
                    X_train = first.transform(given)
        params = _check_method_params(task.X, params=task.fit_params, indices=train)
        self.sample_weight = next(iter(params.values()), None)
        self.train_params, self.test_params = (
            _check_method_params(task.X, params=task.score_params, indices=rows)
            for rows in (train, test)
        )
        self.X, self.y, self.X_test, self.y_test = X, np.asarray(y), X_test, np.asarray(y_test)
        self.X_train = X_train  # as it is scored, where that is asked for
        self.last = last_step(model)
        self.statistics = {}  # of the kernel, shared by all groups
        self.prepared, self.checked = {}, {}  # checked rows, by what they depend on
        self.near_twins = {}  # whether these rows are nearly equal, some of them
        self.setup_time = time.perf_counter() - start

    def sweep(self, group):
        """Yield the scores of a group's candidates, some settings of the row weights at a time.

        None is yielded where all is ready for the solutions, and where these are on their way.
        """
        start = time.perf_counter()
        largest = int(group.nested.max())
        with run_by_fit_too():
            model, prepared, T = self._largest_network(group, largest)
            whole = whole_table(self.task, model, prepared, T, group, *self.rows)
            design = kept(model._design(prepared.rows.X)) if whole is None else whole.design()
        widths = design.n_columns - model._columns_per_node * (largest - group.nested)
        tables = self._tables(model, whole, group, design)
        calibrate = self._calibrated(model, prepared, group, widths)
        each = group.candidate[0].size
        n_scored = max(1, *(table.rows.n_rows for table in tables))
        step = max(1, BATCH_SCORES // (n_scored * each * T.shape[1]))
        where = Where(self.statistics, self.task.device, step, whole)
        sweep = solutions_of(model)(model, prepared, design, T, group, widths, where)
        noise = _noise(prepared.rows.X, tables, whole)
        if getattr(model, "normalize", False):
            noise *= _magnified(prepared.rows.X)
        elapsed = (self.setup_time + time.perf_counter() - start) / group.candidate.size
        self.setup_time = 0.0
        yield None
        start = time.perf_counter()
        for solved in sweep:
            if solved is None:
                yield None
                continue
            fitted = time.perf_counter()
            here = group.candidate[solved.places].reshape(len(solved.places), each)
            found_by, least = calibrate(solved)
            is_tall = _is_tall(solved, prepared.rows.X, widths)
            found = _score_solved(solved, here, is_tall, noise, tables, found_by, least)
            spent = (time.perf_counter() - fitted) / here.size
            fit_time = elapsed + (fitted - start) / here.size
            for some in found:
                if isinstance(some, Found):
                    some = some._replace(fit_time=fit_time, score_time=spent)
                yield some
            start = time.perf_counter()

    def _largest_network(self, group, largest):
        """Return a group's largest network, its checked rows and their targets."""
        model = clone(self.last)
        largest_network = {model._nested_parameter: largest}
        model.set_params(**(clone(group.others, safe=False) | largest_network))
        prepared = self._prepare(model, group)
        self._require_no_near_twins(model, prepared.rows.X, group)
        T = prepared.T
        if is_tensor(T):
            raise NotShared("tensors are fitted where they are")
        if not isinstance(model, BaseRVFLRegressor) and len(model.classes_) == 2:
            # One column is enough: the ±1 solution is the difference of the one-hot ones.
            T = T[:, 1:] - T[:, :1]
        return model, prepared, T

    def _require_no_near_twins(self, model, X, group):
        """Refuse rows that a fit which leaves rows out merges although they are not quite equal."""
        if not model._leaves_out():
            return
        key = group.rows_key
        if key is None or key not in self.near_twins:
            twins = find_twins(X)
            near = twins is not None and bool((X[twins.first][twins.group] != X).any())
            self.near_twins[key] = near
        if self.near_twins[key]:
            raise NotShared("rows that are equal up to rounding are merged in every fit")

    def _prepare(self, model, group):
        """Let a model check its rows, once for groups with the same ones, and make its layer."""
        rows = (self.X, self.y, self.sample_weight)
        if group.rows_key is None:
            del model.C  # which varies: a slot that asks for it cannot be shared
            return model._prepare(*rows)
        if group.rows_key not in self.prepared:
            before = set(vars(model))
            prepared = model._prepare_rows(*rows)
            learnt = {name: value for name, value in vars(model).items() if name not in before}
            self.prepared[group.rows_key] = prepared, learnt
        prepared, learnt = self.prepared[group.rows_key]
        vars(model).update(learnt)
        model._fit_features(prepared.rows, draw_seed(model.random_state))
        return prepared

    def _tables(self, model, whole, group, design):
        """Return the rows to be scored: of the test part, then of the training part if asked.

        ``design`` is that of the rows to be fitted to.
        """
        test = None if whole is None else whole.test
        scored = [(self.X_test, self.y_test, self.test_params, test)]
        if self.task.with_train:
            scored.append((self.X_train, self.y, self.train_params))
        check, centre = partial(self._check_new, model, group), None
        if isinstance(model, BaseRVFLRegressor):
            centre = sum(M.sum(axis=0) for _, M in design) / design.n_rows
        tables = [_ScoredTable(self.task.plan, model, check, centre, *rows) for rows in scored]
        for of_training in tables[1:]:
            of_training.scorer.are_ranked = False
        return tables

    def _check_new(self, model, group, X):
        """Let a model check rows to be scored, once for groups with the same ones."""
        key = group.rows_key, id(X)  # the fold keeps X
        if group.rows_key is None or key not in self.checked:
            self.checked[key] = model._validate_new(X)
        return self.checked[key]

    def _calibrated(self, model, prepared, group, widths):
        """Return what gives the calibrations of settings, and the pivot they can be trusted from.

        None, and any pivot, where no scorer asks for probabilities.
        """
        if all(plan.depends_on != "probabilities" for plan in self.task.plan.values()):
            return lambda solved: (None, 0.0)
        found = Calibrations(model, prepared, 1.0 / (group.C * model._C_factor), widths)

        def under(solved):
            # Of equal weights those of one setting are enough.
            _, first = np.unique(solved.member, return_index=True)
            settings = [group.settings[place] for place in solved.places[first]]
            totals = total_weights(model, prepared, settings, self.statistics)
            return [one for total in totals for one in found.under(total)], TRUSTED_PIVOT

        return under


def _noise(X, tables, whole):
    """Return how much larger than usual the rounding of sums may be.

    Features of one network and of a larger one differ by the rounding of their products, and sums
    over more rows by more; differences of sums by twice that.
    """
    largest = max(1.0, np.sqrt(len(X)) / 10.0)
    if whole is not None:
        return 2.0 * largest * whole.all.reach
    return largest * max(reach(rows) for rows in (X, *(table.X for table in tables)))


def _magnified(X):
    """Return how much larger the rounding of columns is once they have a deviation of 1."""
    spread, largest = X.std(axis=0), np.abs(X).max(axis=0)
    varies = spread > 0.0
    return max(1.0, float((largest[varies] / spread[varies]).max(initial=0.0)) / 8.0)


def _relative_error(pivot, is_tall):
    """Return how far output weights may be from those of a single fit, relative to their size."""
    plain = ROUNDING / np.maximum(pivot, EPS)
    wide = np.where(pivot < WEAK_PIVOT, plain, REFINED)
    return np.minimum(plain, np.where(is_tall, np.maximum(REFINED, plain * plain), wide))


def _is_tall(solved, X, widths):
    """Say of each width whether a single fit has as many different rows; False where it is all one.

    They are looked for among the first, four times as many as columns.
    """
    if solved.n_rows < len(X) or not (solved.trust < WEAK_PIVOT).any():
        return np.zeros(len(widths), bool)
    some = X[: 4 * int(widths.max())]
    twins = find_twins(some)
    return widths <= len(some if twins is None else twins.first)


def _score_solved(solved, here, is_tall, noise, tables, calibrations, least):
    """Return the scores of candidates that are certain, and why the others' are not known.

    ``here`` are the candidates' numbers, a row a setting; ``is_tall`` says of each width whether a
    single fit has as many rows as columns; ``least`` is the pivot from which
    ``calibrations``, one a distinct candidate, can be trusted.
    """
    P, n, *_, K = solved.beta.shape
    trust, columns = solved.trust.ravel(), solved.beta.reshape(P, -1, K)
    error = _relative_error(solved.trust, is_tall).ravel() * noise
    is_solved, each = trust > least, here.shape[1]
    if calibrations is not None:
        is_solved &= [calibration is not None for calibration in calibrations]
    try:
        verdict = _score(columns, error, is_solved, tables, calibrations)
    except NotShared as reason:
        if n == 1:
            return [Unshared(here.ravel(), str(reason))]
        found = []
        for k in range(n):  # what concerns one setting leaves the others alone
            mine = solved.member == k
            one = Solved(
                solved.beta[:, k : k + 1],
                solved.trust[k : k + 1],
                solved.places[mine],
                np.zeros(mine.sum(), np.intp),
            )
            some = calibrations and calibrations[k * each : (k + 1) * each]
            found += _score_solved(one, here[mine], is_tall, noise, tables, some, least)
        return found
    return _report(verdict, here, solved.member)


class _Verdict(NamedTuple):
    """What is known of candidates whose row weights are distinct."""

    is_solved: np.ndarray
    is_doubtful: np.ndarray
    values: list  # of every table, name -> values, of those that are solved and not in doubt


def _score(columns, error, is_solved, tables, calibrations):
    """Score the candidates that are solved."""
    if not is_solved.any():
        return _Verdict(is_solved, np.zeros(len(is_solved), bool), [])
    if not is_solved.all():
        columns, error = columns[:, beside(is_solved, columns)], error[is_solved]
        if calibrations is not None:
            calibrations = list(compress(calibrations, is_solved))
    found = [table.score(columns, error, calibrations) for table in tables]
    is_doubtful = np.zeros(len(is_solved), bool)
    is_doubtful[is_solved] = np.any([doubts for _, doubts in found], axis=0)
    certain = ~is_doubtful[is_solved]
    kept_values = [{name: v[certain] for name, v in values.items()} for values, _ in found]
    return _Verdict(is_solved, is_doubtful, kept_values)


def _report(verdict, here, member):
    """Return what is known of candidates, given what is known of the distinct ones."""
    each = here.shape[1]
    of = (member[:, None] * each + np.arange(each)).ravel()  # which of the distinct ones each is
    here, found = here.ravel(), []
    is_solved, is_doubtful = verdict.is_solved[of], verdict.is_doubtful[of]
    if not is_solved.all():
        found.append(Unshared(here[~is_solved], "the system is singular to working precision"))
    if is_doubtful.any():
        found.append(Unshared(here[is_doubtful], "a score within rounding of another one decides"))
    certain = is_solved & ~is_doubtful
    if certain.any():
        row = np.cumsum(verdict.is_solved & ~verdict.is_doubtful) - 1
        row = row[of[certain]]
        scores = [{name: v[row] for name, v in values.items()} for values in verdict.values]
        found.append(Found(here[certain], scores[0], scores[1] if scores[1:] else None, 0.0, 0.0))
    return found


class _ScoredTable:
    """Rows to be scored for many output weights at once.

    ``centre`` is the mean row of a regressor's design, None for classifiers: a free constant takes
    the means off, so that errors of output weights count times a row's distance from it.
    """

    def __init__(self, plan, model, check, centre, X, y, params, M=None):
        self.centre = centre
        scorer = TargetScorer if isinstance(model, BaseRVFLRegressor) else RowScorer
        self.scorer = scorer(plan, model, X, y, params)
        with run_by_fit_too():
            if M is None:
                self.X = check(X)
                self.rows = kept(model._design(self.X))
            else:
                self.rows = RowBlocks(lambda some: M[some], *M.shape)
            norms = [_row_norms(M if centre is None else M - centre) for _, M in self.rows]
            self.size, self.lost = np.concatenate(norms), None
            if centre is not None:
                # What columns far from zero, and the sums before the activation, are rounded to.
                of_rows = np.concatenate([_row_norms(M) for _, M in self.rows])
                self.lost = 4.0 * EPS * (of_rows + 16.0 * reach(self.X))

    def score(self, columns, error, calibrations):
        """Return name -> values for output weights (P, candidates, K), and which are doubtful.

        ``error`` is that of the output weights relative to their size, one a candidate.
        """
        step = max(1, SCORE_ELEMENTS // (max(1, self.rows.n_rows) * columns.shape[2]))
        xp, error, size = namespace(columns), beside(error, columns), beside(self.size, columns)
        parts, doubts = [], []
        for start in range(0, columns.shape[1], step):
            block = columns[:, start : start + step]
            scores = self._scores(block)
            sized = block if self.centre is None else block[1:]  # without the constant
            squares = xp.einsum("pck,pck->ck", sized, sized.conj()).real
            sizes = xp.sqrt(xp.amax(squares, 1))
            of_scores = size[:, None] * (sizes * error[start : start + step])
            if self.lost is not None:
                of_scores += beside(self.lost, columns)[:, None] * sizes
            if scores.shape[2] == 1:
                scores = scores[:, :, 0]
            doubts.append(self.scorer.doubtful(scores, of_scores))
            some = calibrations and calibrations[start : start + step]
            parts.append(self.scorer.values(scores, some))
        values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return values, np.concatenate(doubts)

    def _scores(self, block):
        """Return the scores of every row, (n, candidates, K), where the output weights are."""
        flat = block.reshape(len(block), -1)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            parts = [times_few_columns(beside(M, block), flat).real for _, M in self.rows]
            xp = namespace(block)
            scores = parts[0] if len(parts) == 1 else xp.concatenate(parts)
            total = scores.ravel() @ scores.ravel()
        # The sum of squares is quick, and finite most often.
        if not np.isfinite(float(total)) and not bool(xp.isfinite(scores).all()):
            raise NotShared("the scores overflow")
        return scores.reshape(-1, *block.shape[1:])


def _row_norms(M):
    """Return |m_i| of every row, without underflow."""
    squares = row_squares(M)
    if squares.min(initial=1.0) > 1e-200 and squares.max(initial=1.0) < 1e300:
        return np.sqrt(squares)
    largest = np.abs(M).max(axis=1)
    return largest * np.linalg.norm(M / np.where(largest > 0.0, largest, 1.0)[:, None], axis=1)
