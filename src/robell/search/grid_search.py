"""The exact grid search: scikit-learn's own answer for a fraction of the work."""

from __future__ import annotations

import inspect
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn import __version__ as sklearn_version
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed  # workers get scikit-learn's settings

from robell._core.ridge.sweep_torch import require_device
from robell._tools.pipelines import last_step
from robell._tools.progress import Progress
from robell._tools.threads import limit_threads
from robell.models._estimator import BaseRVFLRegressor
from robell.models._validation import one_line_errors
from robell.search import private
from robell.search.fold import FoldTask, run_fold
from robell.search.groups import NotShared, Unshared, group_candidates
from robell.search.scorers import plan_scores

# Up to this many rows, one BLAS thread is faster than two: matrices are small, and many.
SMALL_ROWS = 20_000
PARTS_A_WORKER = 4  # of the work, where several share it
# Seconds for which this process fits what is left: others take as long to start.
ALONE_SECONDS = 1.0
TIE = 1e-9  # scores that depend on more than labels and order are known to this, relatively


class RVFLGridSearchCV(GridSearchCV):
    """Exhaustive search over a grid, with :class:`~sklearn.model_selection.GridSearchCV`'s results.

    A drop-in: the same constructor, attributes, candidate order, scores, ranks and refit. For the
    estimators of this package, bare or as the last step of a ``Pipeline``, candidates that differ
    in ``C``, ``n_hidden``, and what row weights (RoBell's ``kernel_width`` and ``rho``) or a
    penalty (``graph_weight``) depend on share their work exactly: the paper's grid of 66,550
    candidates takes seconds. Accuracy, balanced accuracy, G-mean, F1, ROC AUC and average precision
    are computed for many candidates at once, for regressors R² and the mean squared, root mean
    squared and absolute errors; any other scorer works too.

    What cannot be shared is fitted one by one by scikit-learn; ``not_shared_`` says why. A subclass
    that overrides more than slots, or a pipeline that is not scikit-learn's own, is announced by a
    warning.

    Parameters
    ----------
    estimator : estimator object
        As in ``GridSearchCV``: an estimator of this package, a pipeline that ends in one, or any
        other (for which this is ``GridSearchCV``).
    param_grid : dict or list of dict
        Parameter names and the values to try. See :func:`paper_grid`.
    scoring, refit, cv, pre_dispatch, error_score, return_train_score : see GridSearchCV
        As in ``GridSearchCV``.
    n_jobs : int, default=None
        Threads over folds and activations for what is shared, each with one BLAS thread; processes
        for what is fitted one by one. Another backend is chosen with ``joblib.parallel_config``.
    verbose : int, default=0
        As in ``GridSearchCV``. A progress bar is shown on terminals whatever it is.
    device : {"cpu", "cuda", "cuda:N"}, default="cpu"
        Where the factorisations run: in LAPACK, or in batches on a CUDA device through PyTorch
        (extra ``gpu``), in double precision either way. A device that is not there is an error.

    Attributes
    ----------
    n_shared_ : int
        How many of the candidate-fold scores came from shared factorisations; the others were
        fitted one by one.
    not_shared_ : dict of str -> int
        Why the others were fitted one by one: reason -> number of candidate-fold scores.
    cv_results_ : dict of numpy (masked) ndarrays
        As in ``GridSearchCV``; fit and score times are a candidate's share of the work done
        together.
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, \
multimetric_, classes_, n_features_in_, feature_names_in_ : see GridSearchCV
        As in ``GridSearchCV``.

    See Also
    --------
    paper_grid : The ranges of the paper.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from robell import RVFLClassifier, RVFLGridSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RVFLClassifier(random_state=0))
    >>> grid = {"rvflclassifier__C": [0.01, 1, 100], "rvflclassifier__n_hidden": [3, 23, 43]}
    >>> search = RVFLGridSearchCV(model, grid, cv=5).fit(X, y)
    >>> bool(search.best_score_ > 0.95)
    True
    """

    cv_results_: dict[str, Any]
    n_splits_: int

    _parameter_constraints = {**GridSearchCV._parameter_constraints, "device": [str]}

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[..., Any] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        device: str = "cpu",
    ) -> None:
        super().__init__(
            estimator=estimator,
            param_grid=param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.device = device

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Self:
        """Run fit with all sets of parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Class labels, or targets of a regressor.
        **params : dict of str -> object
            Parameters for the estimator's ``fit``, the scorer and the splitter, as in
            ``GridSearchCV``.

        Returns
        -------
        self : object
            The fitted search.
        """
        if getattr(self, "_skl_callbacks", None):
            raise ValueError("RVFLGridSearchCV does not support callbacks; use GridSearchCV")
        device = None if self.device == "cpu" else require_device(self.device)
        if device is not None and effective_n_jobs(self.n_jobs) != 1:
            raise ValueError(f"device={self.device!r} takes n_jobs=1; got {self.n_jobs}")
        if changed := private.first_changed():  # the whole search is scikit-learn's
            reason = f"scikit-learn {sklearn_version} has no {changed} as this search knows it"
            warnings.warn(f"RVFLGridSearchCV fits candidates one by one: {reason}", stacklevel=3)
            super().fit(X, y, **params)
            self.n_shared_ = 0
            self.not_shared_ = {reason: len(self.cv_results_["params"]) * self.n_splits_}
            return self
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        params = private._check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        if y is None and is_classifier(self.estimator):
            raise ValueError("a search for a classifier needs y, the class labels")
        with one_line_errors(self, X):
            splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, **routed.splitter.split))
        self.n_splits_ = splitter.get_n_splits(X, y, **routed.splitter.split)
        if len(splits) != self.n_splits_:
            raise ValueError(
                f"cv.split and cv.get_n_splits return inconsistent results. "
                f"Expected {self.n_splits_} splits, got {len(splits)}"
            )
        candidates = list(ParameterGrid(self.param_grid))
        if not candidates or not splits:
            raise ValueError(
                "No fits were performed. Was the CV iterator empty? Were there no candidates?"
            )
        if self.verbose > 0:
            print(
                f"Fitting {len(splits)} folds for each of {len(candidates)} candidates, "
                f"totalling {len(candidates) * len(splits)} fits"
            )
        # Which candidates share work, and why the others do not.
        several = isinstance(scorers, private._MultimetricScorer)
        table = _ResultTable(len(candidates), len(splits), self.return_train_score)
        base, fit_params = clone(self.estimator), routed.estimator.fit
        plan: dict[str, Any] = {}
        groups: list[Any] = []
        try:
            of_targets = isinstance(last_step(base), BaseRVFLRegressor)
            if np.ndim(y) not in ((1, 2) if of_targets else (1,)):
                raise NotShared("y is not one column of labels")
            plan = plan_scores(scorers, routed.scorer.score, of_targets)
            groups, unshared = group_candidates(base, self.param_grid, fit_params)
        except NotShared as reason:
            plan, unshared = {}, [Unshared(slice(None), str(reason))]
        surprises = set()
        for some in unshared:
            table.reason[some.candidates] = some.reason
            if some.surprising:
                surprises.add(some.reason)
        if surprises:
            reasons = "; ".join(sorted(surprises))
            warnings.warn(f"RVFLGridSearchCV fits candidates one by one: {reasons}", stacklevel=3)
        given = base, X, y, plan, fit_params, routed.scorer.score, self.return_train_score
        task = FoldTask(*given, device, splits, {}, {})
        # The shared work, and single fits of what is left.
        with Progress(table.missing.size, "search") as progress:
            for split, found in self._run_shared(task, groups, splits):
                if isinstance(found, Unshared):
                    table.reason[found.candidates, split] = found.reason
                else:
                    table.store(split, found)
                    progress.advance(len(found.candidates))
            # Scores known within rounding may tie with others, also with such as were fitted just
            # now: these are fitted one by one too, until no tie is left.
            smooth = [n for n in plan if plan[n].depends_on in ("values", "probabilities")]
            slow: list[dict[str, Any]] = []
            while True:
                table.leave_ties(smooth)
                missing = np.argwhere(table.missing.T)[:, ::-1].tolist()  # fold by fold
                if not missing:
                    break
                records = self._run_one_by_one(
                    task, candidates, splits, missing, groups, scorers, progress
                )
                if not plan and callable(self.scoring):
                    private._insert_error_scores(records, self.error_score)
                for (candidate, split), record in zip(missing, records, strict=True):
                    table.store_record(candidate, split, record)
                slow += records
        self.n_shared_ = int((~table.fitted).sum())
        # Reason -> number of scores that it concerns.
        self.not_shared_ = dict(Counter(table.reason[table.fitted].tolist()))
        if slow:
            done = [{"fit_error": None}] * self.n_shared_
            private._warn_or_raise_about_fit_failures(done + slow, self.error_score)
        results, self.multimetric_ = table.results(candidates, self.param_grid), several
        if not plan and callable(self.scoring) and isinstance(slow[0]["test_scores"], dict):
            self._check_refit_for_multimetric(slow[0]["test_scores"])
            self.multimetric_, refit_metric = True, self.refit
        # Choose, refit and store as GridSearchCV does.
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = results["params"][self.best_index_]
        if self.refit:
            best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            start = time.time()
            best.fit(X, *([] if y is None else [y]), **fit_params)
            self.refit_time_ = time.time() - start
            self.best_estimator_ = best
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_
        self.scorer_ = scorers._scorers if several else scorers
        self.cv_results_ = results
        return self

    def _run_shared(self, task, groups, splits):
        """Yield what each fold finds, or leaves to be fitted one by one, as it is found."""
        n_jobs = effective_n_jobs(self.n_jobs)
        if n_jobs == 1 or not groups:
            with limit_threads(1 if sum(map(len, splits[0])) <= SMALL_ROWS else None):
                yield from task.run(range(len(splits)), groups)
            return
        # Some parts for every worker, so that none waits long for the last one.
        parts = min(len(groups), -(-PARTS_A_WORKER * n_jobs // len(splits)))
        how = {"prefer": "threads", "pre_dispatch": self.pre_dispatch}
        with limit_threads(1):
            for found in Parallel(self.n_jobs, return_as="generator_unordered", **how)(
                delayed(run_fold)(task, [split], groups[part::parts])
                for split, part in product(range(len(splits)), range(parts))
            ):
                yield from found

    def _run_one_by_one(self, task, candidates, splits, missing, groups, scorers, progress):
        """Fit and score what is missing here for a while, and then in workers."""
        settings = {
            "scorer": scorers,
            "fit_params": task.fit_params,
            "score_params": task.score_params,
            "return_train_score": self.return_train_score,
            "return_n_test_samples": True,
            "return_times": True,
            "return_parameters": False,
            "error_score": self.error_score,
            "verbose": self.verbose,
        }
        if "caller" in inspect.signature(private._fit_and_score).parameters:
            settings["caller"] = self
        fits = (
            partial(
                private._fit_and_score,
                clone(task.base),
                task.X,
                task.y,
                train=splits[s][0],
                test=splits[s][1],
                parameters=candidates[c],
                split_progress=(s, len(splits)),
                candidate_progress=(c, len(candidates)),
                **settings,
            )
            for c, s in missing
        )
        records: list[dict[str, Any]] = []
        start = time.perf_counter()
        alone = np.inf if effective_n_jobs(self.n_jobs) == 1 else ALONE_SECONDS
        group_of = np.full(len(candidates), -1)
        for number, group in enumerate(groups):
            group_of[group.candidate] = number
        while len(records) < len(missing) and time.perf_counter() - start < alone:
            (c, s), fit = missing[len(records)], next(fits)
            group = groups[group_of[c]] if group_of[c] >= 0 else None
            found = None if group is None else task.fit_one(s, group, candidates[c])
            records.append(fit() if found is None else found)
            progress.advance()
        if len(records) < len(missing):
            parallel = Parallel(self.n_jobs, pre_dispatch=self.pre_dispatch, return_as="generator")
            for record in parallel(delayed(fit)() for fit in fits):
                records.append(record)
                progress.advance()
        return records


class _ResultTable:
    """Scores and times of every candidate and fold, and cv_results_ made from them."""

    def __init__(self, n_candidates, n_splits, with_train):
        self.shape = (n_candidates, n_splits)
        self.missing = np.ones(self.shape, bool)
        self.fitted = np.zeros(self.shape, bool)  # one by one, by scikit-learn
        self.reason = np.full(self.shape, "", dtype=object)  # why a score is not shared
        # By split: sums over these are quick, and need no certain order.
        times = np.zeros((2, n_splits, n_candidates))
        self.times = dict(zip(("fit_time", "score_time"), times, strict=True))
        # Of "test" or "train" and a metric's name, which is "score" for a single one.
        self.scores: dict[tuple[str, str], np.ndarray] = defaultdict(
            partial(np.full, self.shape, np.nan)
        )
        self.with_train = with_train

    def store(self, split, found):
        """Take in what a fold found for some candidates."""
        for kind, values in (("test", found.test), ("train", found.train or {})):
            for name, value in values.items():
                self.scores[kind, name][found.candidates, split] = value
        self.times["fit_time"][split, found.candidates] = found.fit_time
        self.times["score_time"][split, found.candidates] = found.score_time
        self.missing[found.candidates, split] = False

    def leave_ties(self, names):
        """Leave candidates to scikit-learn whose mean is another's within rounding."""
        is_whole = np.all(~self.missing, axis=1)
        for name in names:
            means = np.where(is_whole, self.scores["test", name].mean(axis=1), np.nan)
            order = np.argsort(means)  # NaN last, which is near nothing
            near = np.diff(means[order]) <= TIE * np.abs(means[order][1:])
            tied = np.zeros(self.shape, bool)
            tied[order[1:][near]] = tied[order[:-1][near]] = True
            tied &= ~self.fitted & is_whole[:, None]
            self.reason[tied] = "the mean score is another's within rounding"
            self.missing |= tied

    def store_record(self, candidate, split, record):
        """Take in the record of a single fit."""
        self.missing[candidate, split], self.fitted[candidate, split] = False, True
        for kind in ("test", "train")[: 1 + self.with_train]:
            values = record[f"{kind}_scores"]
            values = values if isinstance(values, dict) else {"score": values}
            for name, value in values.items():
                self.scores[kind, name][candidate, split] = value
        for name, values in self.times.items():
            values[split, candidate] = record[name]

    def results(self, candidates, param_grid):
        """Return cv_results_, in scikit-learn's order and types."""
        results: dict[str, Any] = {}
        for name, values in self.times.items():
            results[f"mean_{name}"] = values.mean(axis=0)
            results[f"std_{name}"] = values.std(axis=0)
        if isinstance(param_grid, Mapping):
            # Every column repeats its short list of values, so its types are found on that.
            names = sorted(param_grid)
            shape = [len(param_grid[name]) for name in names]
            places = np.indices(shape).reshape(len(shape), len(candidates))
            for name, place in zip(names, places, strict=True):
                of_values = [{name: value} for value in param_grid[name]]
                ((key, column),) = private._yield_masked_array_for_each_param(of_values)
                results[key] = column[place]
        else:
            results |= private._yield_masked_array_for_each_param(candidates)
        results["params"] = candidates
        # Of each metric the test scores, then the training scores.
        metrics = dict.fromkeys(name for _, name in self.scores)
        for metric, kind in product(metrics, ("test", "train")[: 1 + self.with_train]):
            name, values = f"{kind}_{metric}", self.scores[kind, metric]
            for k, column in enumerate(values.T):
                results[f"split{k}_{name}"] = column
            means = np.average(values, axis=1)
            if not np.isfinite(means).all():
                warnings.warn(
                    f"One or more of the {kind} scores are non-finite: {means}",
                    category=UserWarning,
                    stacklevel=2,
                )
            results[f"mean_{name}"] = means
            results[f"std_{name}"] = np.sqrt(np.average((values - means[:, None]) ** 2, axis=1))
            if kind == "test":
                # Failed candidates count as tied with the worst.
                worst = 0.0 if np.isnan(means).all() else np.nanmin(means) - 1
                ranked = rankdata(-np.where(np.isnan(means), worst, means), method="min")
                results[f"rank_{name}"] = ranked.astype(np.int32, copy=False)
        return results
