"""One fold of a search: what candidates share is made once, solved, and scored."""

from __future__ import annotations

import time
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from robell._core.array import EPS, beside, is_tensor, namespace, row_squares, times_few_columns
from robell._core.layers.features import RowBlocks
from robell._core.ridge.sweep_torch import own_stream
from robell._core.ridge.twins import find_twins, left_out_together
from robell._tools.pipelines import last_step
from robell.models._estimator import BaseRVFLRegressor, FamilyMember
from robell.models._validation import draw_seed
from robell.search import private
from robell.search.groups import NotShared, Unshared
from robell.search.scorers import RowScorer, TargetScorer
from robell.search.solutions import (
    Calibrations,
    Solved,
    Systems,
    kept,
    reach,
    run_by_fit_too,
    solve,
    stackable,
    stacked_design,
    weigh_on_device,
    whole_table,
)

SCORE_ELEMENTS = 1 << 22  # scores computed at a time
DEVICE_ELEMENTS = 1 << 27  # the same on a device
BATCH_SCORES = 1 << 17  # so many, which stay in the cache, are worth the calls they take
# How far output weights may be from those of a single fit, relative to their size: ROUNDING over
# the smallest pivot, and where both are refined at most REFINED, or the square. A single fit with
# more columns than rows, or by singular values, is no better below WEAK_PIVOT. Measured on 1,500
# random tables (columns on very different scales, repeated, shifted and rounded, C up to 1e11): at
# most half of that, except where all rows are alike.
ROUNDING = 50 * EPS
REFINED, WEAK_PIVOT = 2e-8, 5e-8
# Below this pivot, leave-one-out scores have too few digits for probabilities.
TRUSTED_PIVOT = 1e-5


class Found(NamedTuple):
    """Scores of some candidates on one fold."""

    candidates: np.ndarray
    test: dict  # name -> values
    train: dict | None
    fit_time: float = 0.0  # of one candidate
    score_time: float = 0.0


class FoldTask(NamedTuple):
    """What every fold needs to know."""

    base: BaseEstimator
    X: Any
    y: Any
    plan: dict
    fit_params: dict
    score_params: dict
    with_train: bool
    device: Any  # a torch device, or None for NumPy and LAPACK
    splits: list  # the rows that each fold is fitted to, and those that it holds out
    all_rows: dict  # features of all rows, by group, where folds have them in common
    behind: dict  # the fold behind whose first steps candidates are fitted one by one, by number

    def run(self, numbers, groups):
        """Yield the number of a fold with what is found for some candidates, or why they are left.

        On a device, groups that differ in the activation alone are one.
        """
        together: dict[Any, list] = {}
        for place, group in enumerate(groups):
            alone = self.device is None or group.rows_key is None
            together.setdefault(place if alone else (group.stage, group.rows_key), []).append(group)
        before: Any = ()
        beside_others = None if self.device is None else own_stream(self.device)
        for number in numbers:
            fold: Any = None
            for some in together.values():
                try:
                    if fold is None or fold.stage != some[0].stage:
                        fold = _Fold(self, number, some[0])
                except NotShared as reason:
                    for group in some:
                        yield number, Unshared(group.candidate.ravel(), str(reason))
                    continue
                steps: Any = fold.sweep(some)
                if beside_others is not None:
                    self.behind[number] = fold
                    with beside_others():  # rows are made ready while the device works on others
                        ready = list(_until_waiting(steps))
                    yield from ready
                    yield from filter(None, before)
                    yield from _until_waiting(steps)  # its systems are on their way
                    before, steps = steps, ()
                yield from filter(None, steps)
        yield from filter(None, before)

    def fit_one(self, number, group, parameters):
        """Return the record of one candidate of a group; None where a fit or a scorer fails."""
        try:
            fold = self.behind.get(number)
            if fold is None or fold.stage != group.stage:
                self.behind.clear()
                fold = self.behind[number] = _Fold(self, number, group)
            return fold.fit_one(group, parameters)
        except Exception:  # scikit-learn meets it again, and follows error_score
            return None

    def needs(self, kind):
        """Say whether some scorer's value depends on this."""
        return any(plan.depends_on == kind for plan in self.plan.values())


def _until_waiting(steps):
    """Return what is found up to the next place to wait, where None stands."""
    return iter(partial(next, steps, None), None)


def run_fold(task, numbers, groups):
    """Return all that is found for some groups in some folds."""
    return list(task.run(numbers, groups))


class _Fold:
    """Training and test rows of one fold behind the pipeline's first steps."""

    def __init__(self, task, number, group):
        self.task, self.stage, self.number = task, group.stage, number
        train, test = task.splits[number]
        start = time.perf_counter()
        with run_by_fit_too():
            model = clone(task.base)
            if group.before:
                model.set_params(**clone(group.before, safe=False))
            X, y = private._safe_split(model, task.X, task.y, train)
            X_train = X
            X_test, y_test = private._safe_split(model, task.X, task.y, test, train)
            if isinstance(model, Pipeline) and len(model.steps) > 1:
                first, given = model[:-1], X
                X = first.fit_transform(X, y)
                X_test = first.transform(X_test)
                # Scored rows are transformed again: that may be rounded otherwise than in the fit.
                if task.with_train:
                    X_train = first.transform(given)
        y = np.asarray(y)
        params = private._check_method_params(task.X, params=task.fit_params, indices=train)
        # With sample weights and privileged columns, where the last step is given them.
        self.given = X, y
        self.params = {name.rpartition("__")[2]: value for name, value in params.items()}
        parts = [(X_test, np.asarray(y_test), test), (X_train, y, train)]
        self.scored = [
            (X, y, private._check_method_params(task.X, params=task.score_params, indices=rows))
            for X, y, rows in parts[: 1 + task.with_train]
        ]
        self.last = last_step(model)
        self.statistics = {}  # of the kernel, shared by all groups
        self.of_single_fits = {}  # the same as a single fit finds them: a device rounds otherwise
        self.prepared, self.checked = {}, {}  # checked rows, by what they depend on
        self.found_twins = {}
        self.setup_time = time.perf_counter() - start

    def sweep(self, groups):
        """Yield the fold's number and what is found, some settings of the weights at a time.

        None is yielded where all is ready for the solutions, and where these are on their way.
        Several groups differ in the activation alone.
        """
        start = time.perf_counter()
        task, group = self.task, groups[0]
        numbers, largest = np.stack([one.candidate for one in groups]), int(group.nested.max())
        try:
            with run_by_fit_too():
                model, prepared, T = self._largest_network(group, largest)
                X = prepared.rows.X
                at_once = stackable(task, model, group, T)
                if at_once < len(groups):
                    for k in range(0, len(groups), at_once):
                        yield from self.sweep(groups[k : k + at_once])
                    return

                def make_design(X):
                    if len(groups) == 1:
                        return kept(model._design(X))
                    return stacked_design(model, groups, task.device, X)

                whole = whole_table(task, model, prepared, T, group, self.number)
                design = make_design(X) if whole is None else whole.design
            widths = design.n_columns - model._columns_per_node * (largest - group.nested)
            centre = None
            if isinstance(model, BaseRVFLRegressor):
                centre = sum(M.sum(axis=0) for _, M in design) / design.n_rows
            tables: list[_ScoredTable] = []
            most = 1  # rows to be scored
            for rows in self.scored:
                M = whole.test if whole is not None and not tables else None
                of_rows = self, model, group, make_design, centre, rows, M, not tables
                tables.append(_ScoredTable(*of_rows))
                most = max(most, tables[-1].rows.n_rows)
            each = group.candidate[0].size
            step = max(1, BATCH_SCORES // (most * each * T.shape[1]))
            systems = Systems(
                model, prepared, design, T, group, widths, self.statistics, task.device, step, whole
            )
            calibrations = None
            if task.needs("probabilities"):
                calibrations = Calibrations(systems)
            noise = _noise(model, X, tables, whole)
            if task.device is not None:
                weigh_on_device(systems)
            elapsed = (self.setup_time + time.perf_counter() - start) / numbers.size
            self.setup_time = 0.0
            yield None
            start = time.perf_counter()
            for solved in solve(systems):
                if solved is None:
                    yield None
                    continue
                fitted = time.perf_counter()
                here = numbers[:, solved.places].reshape(-1, each)
                calibrated = None if calibrations is None else calibrations.of(solved)
                error = noise * _relative_error(solved, X, widths)
                found = _score_solved(solved, here, error, tables, calibrated)
                spent = (time.perf_counter() - fitted) / here.size
                fit_time = elapsed + (fitted - start) / here.size
                for some in found:
                    if isinstance(some, Found):
                        some = some._replace(fit_time=fit_time, score_time=spent)
                    yield self.number, some
                start = time.perf_counter()
        except NotShared as reason:
            if len(groups) == 1:
                yield self.number, Unshared(numbers.ravel(), str(reason))
                return
            for one in groups:  # what concerns one activation leaves the others alone
                yield from self.sweep([one])

    def fit_one(self, group, parameters):
        """Return the record of one candidate: what the fold knows is not done again."""
        plan, start = self.task.plan, time.perf_counter()
        base = self.task.base
        prefix = f"{base.steps[-1][0]}__" if isinstance(base, Pipeline) else ""
        own = {n.removeprefix(prefix): v for n, v in parameters.items() if n.startswith(prefix)}
        model = clone(self.last).set_params(**clone(own, safe=False))
        calibrated = self.task.needs("probabilities")
        if group.rows_key is None or type(model).fit is not FamilyMember.fit:
            model.fit(*self.given, **self.params)
        else:
            prepared = self._prepare(model, group.rows_key)
            if model._penalty_parameter is None:
                setting = {name: getattr(model, name) for name in model._weight_parameters}
                (importance,) = model._importances(prepared, [setting], self.of_single_fits)
            else:
                importance = model._fit_weights(prepared)
            # Not calibrated where nobody asks for it, and no rows are merged for it.
            if (
                not calibrated
                and model._leaves_out()
                and self.twins(group.rows_key, prepared.rows) is None
            ):
                model.calibrate = False
            model._fit_weighted(prepared, importance)
        fitted = time.perf_counter()
        found = []
        for X, y, params in self.scored:
            if calibrated or params or isinstance(model, BaseRVFLRegressor):
                found.append(
                    {n: private._score(model, X, y, one.scorer, params) for n, one in plan.items()}
                )
            else:
                scores = model._scores(X)
                scores = scores if len(model.classes_) == 2 else scores[:, None]
                values = RowScorer(plan, model.classes_, X, y, params).values(scores, None)
                found.append({name: value[0] for name, value in values.items()})
        record = {"fit_error": None, "fit_time": fitted - start, "test_scores": found[0]}
        record |= {"train_scores": found[1]} if found[1:] else {}
        return record | {"score_time": time.perf_counter() - fitted}

    def _prepare(self, model, key):
        """Return the rows of a network, checked once where equal, and draw its layer."""
        if key is None:
            prepared = model._prepare(*self.given, **self.params)
        else:
            if key not in self.prepared:
                prepared = model._prepare(*self.given, **self.params)
                self.prepared[key] = prepared, dict(vars(model))
            prepared, learnt = self.prepared[key]
            vars(model).update(learnt | vars(model))
        model._fit_features(prepared.rows, draw_seed(model.random_state))
        return prepared

    def _largest_network(self, group, largest):
        """Return a group's largest network, its rows and targets."""
        model, key = clone(self.last), group.rows_key
        others = clone(group.others, safe=False)
        model.set_params(**(others | {model._nested_parameter: largest}))
        if key is None:
            del model.C  # which varies: a slot that asks for it cannot be shared
        prepared = self._prepare(model, key)
        X, T = prepared.rows.X, prepared.T
        if model._leaves_out():
            twins = self.twins(key, prepared.rows)
            if twins is not None and (X[twins.first][twins.group] != X).any():
                raise NotShared("rows that are equal up to rounding are merged in every fit")
        if is_tensor(T):
            raise NotShared("tensors are fitted where they are")
        if not isinstance(model, BaseRVFLRegressor) and len(model.classes_) == 2:
            # One column is enough: the ±1 solution is the difference of the one-hot ones.
            T = T[:, 1:] - T[:, :1]
        return model, prepared, T

    def twins(self, key, rows):
        """Return which rows are left out together, found once for groups with the same ones."""
        if key is None or key not in self.found_twins:
            self.found_twins[key] = left_out_together(*rows)
        return self.found_twins[key]


# -- how far rounding may have changed output weights ---------------------------------------------


def _noise(model, X, tables, whole):
    """Return how much larger than usual the rounding of sums may be."""
    # Features of one network and of a larger one differ by the rounding of their products, and sums
    # over more rows by more; differences of sums by twice that. That of columns is larger once they
    # have a deviation of 1.
    noise = max(1.0, np.sqrt(len(X)) / 10.0)
    if whole is not None:
        noise = 2.0 * noise * whole.all.reach
    else:
        noise *= max(map(reach, [X, *(table.X for table in tables)]))
    if getattr(model, "normalize", False):
        spread, largest = X.std(axis=0), np.abs(X).max(axis=0)
        varies = spread > 0.0
        noise *= max(1.0, float((largest[varies] / spread[varies]).max(initial=0.0)) / 8.0)
    return noise


def _relative_error(solved, X, widths):
    """Return how far output weights may be from those of a single fit, relative to their size."""
    pivot, is_tall = solved.trust, np.zeros(len(widths), bool)
    if solved.n_rows >= len(X) and (pivot < WEAK_PIVOT).any():
        # Whether a single fit has as many different rows as columns. They are looked for among the
        # first, four times as many as columns.
        some = X[: 4 * int(widths.max())]
        twins = find_twins(some)
        is_tall = widths <= len(some if twins is None else twins.first)
    plain = ROUNDING / np.maximum(pivot, EPS)
    wide = np.where(pivot < WEAK_PIVOT, plain, REFINED)
    return np.minimum(plain, np.where(is_tall, np.maximum(REFINED, plain * plain), wide))


# -- scores ------------------------------------------------------------------------------------


def _score_solved(solved, here, error, tables, calibrations):
    """Return the scores of candidates that are certain, and why the others' are not known.

    ``here`` are the candidates' numbers, a row a setting and design; ``error`` is as solved.trust.
    """
    n_distinct, each = len(solved.trust), here.shape[1]
    beta, errors, some = solved.beta, error.ravel(), calibrations
    columns = beta.reshape(*beta.shape[:-4], -1, beta.shape[-1])
    is_solved = solved.trust.ravel() > (0.0 if calibrations is None else TRUSTED_PIVOT)
    if calibrations is not None:
        is_solved &= [calibration is not None for calibration in calibrations]
    # A device scores all of them: choosing would take longer.
    scored = is_solved if isinstance(columns, np.ndarray) else np.ones_like(is_solved)
    is_certain, scores = is_solved.copy(), []
    if is_solved.any():
        if not scored.all():
            columns, errors = columns[:, scored], errors[scored]
            some = calibrations and list(compress(calibrations, scored))
        try:
            for table in tables:
                values, doubtful = table.score(columns, errors, some)
                scores.append(values)
                is_certain[scored] &= ~doubtful
        except NotShared as reason:
            if n_distinct == 1:
                return [Unshared(here.ravel(), str(reason))]
            if n_distinct > beta.shape[-4]:  # of several designs
                raise
            parts = []
            for k in range(n_distinct):  # what concerns one setting leaves the others alone
                mine, only = solved.member == k, slice(k, k + 1)
                one = Solved(
                    beta[..., only, :, :, :], solved.trust[only], None, np.zeros(mine.sum(), int)
                )
                some = calibrations and calibrations[k * each : (k + 1) * each]
                parts += _score_solved(one, here[mine], error[only], tables, some)
            return parts
    found: list[Found | Unshared] = []
    of = (solved.member[:, None] * each + np.arange(each)).ravel()  # the distinct one each is
    numbers, certain, doubtful = here.ravel(), is_certain[of], (is_solved & ~is_certain)[of]
    if not is_solved.all():
        unsolved = numbers[~is_solved[of]]
        found.append(Unshared(unsolved, "the system is singular to working precision"))
    if doubtful.any():
        found.append(Unshared(numbers[doubtful], "a score within rounding of another one decides"))
    if certain.any():
        place = (np.cumsum(scored) - 1)[of[certain]]
        test, *train = ({name: value[place] for name, value in one.items()} for one in scores)
        found.append(Found(numbers[certain], test, train[0] if train else None))
    return found


class _ScoredTable:
    """Rows to be scored for many output weights at once."""

    # ``centre`` is the mean row of a regressor's design: a free constant takes the means off, so
    # that errors of output weights count times a row's distance from it.
    def __init__(self, fold, model, group, make_design, centre, rows, M, are_ranked):
        X, y, params = rows
        self.centre, plan = centre, fold.task.plan
        with run_by_fit_too():
            if M is None:
                # Checked once for groups with the same rows, which the fold keeps.
                key = group.rows_key, id(X)
                if group.rows_key is None or key not in fold.checked:
                    fold.checked[key] = model._validate_new(X)
                self.X = fold.checked[key]
                self.rows = make_design(self.X)
            else:
                self.rows = RowBlocks(M.__getitem__, *M.shape)
            sizes, lost = [], []
            for _, M in self.rows:  # a large design is made a block at a time
                sizes.append(_row_norms(M if centre is None else M - centre))
                if centre is not None:
                    lost.append(_row_norms(M))
        self.scorer: RowScorer | TargetScorer
        if centre is None:
            self.scorer = RowScorer(plan, model.classes_, X, y, params)
        else:
            self.scorer = TargetScorer(plan, X, y, params, are_ranked)
        self.size = sizes[0] if len(sizes) == 1 else namespace(sizes[0]).concatenate(sizes, -1)
        # What columns far from zero, and the sums before the activation, are rounded to.
        self.lost = None
        if centre is not None:
            self.lost = 4.0 * EPS * (np.concatenate(lost) + 16.0 * reach(self.X))

    def score(self, columns, error, calibrations):
        """Return name -> values for some output weights, and which of them are doubtful.

        Output weights are (P, candidates, K), or (designs, P, candidates, K) on a device, whose
        candidates follow each other design by design.
        """
        n_rows, (*designs, _, n, K) = max(1, self.rows.n_rows), columns.shape
        parts = []
        if designs:
            step = max(1, DEVICE_ELEMENTS // (n_rows * n * K))
            for start in range(0, len(columns), step):
                block = columns[start : start + step]
                of_block = slice(start * n, (start + len(block)) * n)
                some = calibrations and calibrations[of_block]
                parts.append(self._score_some(block, error[of_block], some, start))
        else:
            step = max(1, SCORE_ELEMENTS // (n_rows * K))
            for start in range(0, n, step):
                some = calibrations and calibrations[start : start + step]
                block = columns[:, start : start + step]
                parts.append(self._score_some(block, error[start : start + step], some))
        values = {name: np.concatenate([part[name] for part, _ in parts]) for name in parts[0][0]}
        return values, np.concatenate([doubtful for _, doubtful in parts])

    def _score_some(self, columns, error, calibrations, first=0):
        """Do what ``score`` does, at once; ``first`` is the place of the first design."""
        xp, flat = namespace(columns), columns.reshape(*columns.shape[:-2], -1)
        size, of_some = beside(self.size, columns), slice(first, first + len(columns))
        some: Any = slice(None)
        products = []
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for _, M in self.rows:
                M = beside(M, columns)
                M = M[of_some] if M.ndim == 3 else M
                products.append(times_few_columns(M, flat).real)
            scores = products[0] if len(products) == 1 else xp.concatenate(products, -2)
            total = scores.ravel() @ scores.ravel()
            # The sum of squares is quick, and finite most often.
            if not np.isfinite(float(total)) and not bool(xp.isfinite(scores).all()):
                raise NotShared("the scores overflow")
            sized = columns if self.centre is None else columns[1:]  # without the constant
            squares = xp.einsum("...pck,...pck->...ck", sized, sized.conj()).real
            sizes = xp.sqrt(xp.amax(squares, -1))
            scores = scores.reshape(*scores.shape[:-1], *columns.shape[-2:])
            of_scores = sizes * beside(error, columns).reshape(sizes.shape)
            if self.scorer.of_labels and scores.ndim == 3 and scores.shape[2] == 1:
                # Few candidates have a score so near to 0 in any row.
                nearest = abs(scores[:, :, 0]).min(axis=0)
                some = np.flatnonzero(~(nearest >= size.max() * of_scores))
                of_scores = of_scores[some]
            size = size[of_some] if size.ndim == 2 else size
            of_scores = size[..., None] * of_scores[..., None, :]
            if self.lost is not None:
                of_scores += beside(self.lost, columns)[:, None] * sizes
        if scores.ndim == 4:  # candidates of all designs beside each other
            scores, of_scores = scores.movedim(0, 1).flatten(1, 2), of_scores.movedim(0, 1)
            of_scores = of_scores.flatten(1, 2)
        if scores.shape[2] == 1:
            scores = scores[:, :, 0]
        doubtful = np.zeros(scores.shape[1], bool)
        doubtful[some] = self.scorer.doubtful(scores[:, some], of_scores)
        return self.scorer.values(scores, calibrations), doubtful


def _row_norms(M):
    """Return |m_i| of every row, without underflow."""
    if not is_tensor(M):  # asking a device would take longer
        squares = row_squares(M)
        if squares.min(initial=1.0) > 1e-200 and squares.max(initial=1.0) < 1e300:
            return np.sqrt(squares)
    xp = namespace(M)
    largest = xp.amax(abs(M), -1)
    with np.errstate(invalid="ignore"):  # where a row is not finite, nor is anything made of it
        scaled = M / xp.where(largest > 0.0, largest, 1.0)[..., None]
        return largest * xp.linalg.norm(scaled, axis=-1)
