"""The exact grid search: scikit-learn's own answer for a fraction of the work.

Candidates that differ only in ``C``, ``n_hidden`` and the parameters of the row weights share a
fold's features, Gram matrices and factorisations (:mod:`robell._core.ridge.sweep`); everything
else is looped over. Whatever cannot be shared (another kind of estimator, a scoring function of
the fitted one, a candidate that fails) is fitted one by one by scikit-learn itself, so any search
works, and says how many and why.
"""

from __future__ import annotations

import inspect
import time
import warnings

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn import get_config
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.model_selection._validation import (
    _fit_and_score,
    _insert_error_scores,
    _warn_or_raise_about_fit_failures,
)
from sklearn.utils import indexable
from sklearn.utils.validation import _check_method_params, _num_samples

from robell._core.ridge.sweep_torch import require_device
from robell._tools.pipelines import last_step
from robell._tools.progress import Progress
from robell._tools.threads import limit_blas
from robell.models._estimator import BaseRVFLRegressor
from robell.models._validation import one_line_errors
from robell.search.fold import FoldTask, run_fold
from robell.search.groups import (
    NotShared,
    Unshared,
    group_candidates,
    list_candidates,
)
from robell.search.result_table import ResultTable
from robell.search.scorers import plan_scores
from robell.search.whole import FoldFeatures

# Up to this many rows, one BLAS thread is faster than two: matrices are small, and many.
SMALL_ROWS = 20_000
PARTS_A_WORKER = 4  # of the work, where several share it
# Seconds for which this process fits what is left: others take as long to start.
ALONE_SECONDS = 1.0


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
    scoring : str, callable, list, tuple or dict, default=None
        As in ``GridSearchCV``.
    n_jobs : int, default=None
        Threads over folds and activations for what is shared, each with one BLAS thread; processes
        for what is fitted one by one. Another backend is chosen with ``joblib.parallel_config``.
    refit : bool, str or callable, default=True
        As in ``GridSearchCV``.
    cv : int, cross-validation generator or iterable, default=None
        As in ``GridSearchCV``.
    verbose : int, default=0
        As in ``GridSearchCV``. A progress bar is shown on terminals whatever it is.
    pre_dispatch : int or str, default="2*n_jobs"
        As in ``GridSearchCV``.
    error_score : "raise" or numeric, default=np.nan
        As in ``GridSearchCV``.
    return_train_score : bool, default=False
        As in ``GridSearchCV``.
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

    _parameter_constraints = {**GridSearchCV._parameter_constraints, "device": [str]}

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        error_score=np.nan,
        return_train_score=False,
        device="cpu",
    ):
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
    def fit(self, X, y=None, **params):
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
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
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
        candidates = list_candidates(ParameterGrid(self.param_grid))
        if not candidates or not splits:
            raise ValueError(
                "No fits were performed. Was the CV iterator empty? Were there no candidates?"
            )
        if self.verbose > 0:
            print(
                f"Fitting {len(splits)} folds for each of {len(candidates)} candidates, "
                f"totalling {len(candidates) * len(splits)} fits"
            )
        table = ResultTable(len(candidates), len(splits), self.return_train_score)
        slow = self._evaluate(X, y, candidates, splits, scorers, routed, table, device)
        if slow is not None:  # nothing was shared: scikit-learn's own formatting
            if callable(self.scoring):
                _insert_error_scores(slow, self.error_score)
            results = self._format_results(candidates, len(splits), slow)
            first = slow[0]["test_scores"]
        else:
            results = table.results(candidates, self.param_grid)
            first = table.first()
        return self._finish(X, y, first, results, scorers, refit_metric, routed)

    def _evaluate(self, X, y, candidates, splits, scorers, routed, table, device):
        """Fill in the table; or return scikit-learn's records, where all is fitted one by one."""
        base = clone(self.estimator)
        plan, groups = self._plan(base, y, scorers, routed, table)
        params = (routed.estimator.fit, routed.scorer.score)
        shared = FoldFeatures(splits)
        task = FoldTask(base, X, y, plan, *params, self.return_train_score, device, shared)
        with Progress(table.missing.size, "search") as progress:
            for split, found in self._run_shared(task, groups, splits):
                if isinstance(found, Unshared):
                    table.leave(split, found)
                else:
                    table.store(split, found)
                    progress.advance(len(found.candidates))
            # Scores known within rounding may tie with others, also with such as were fitted just
            # now: these are fitted one by one too, until no tie is left.
            smooth = [n for n in plan if plan[n].depends_on in ("values", "probabilities")]
            slow = []
            while True:
                table.leave_ties(smooth)
                missing = np.argwhere(table.missing).tolist()
                if not missing:
                    break
                found = self._run_one_by_one(
                    X, y, base, candidates, splits, missing, scorers, routed, progress
                )
                slow += found
                if len(missing) == table.missing.size:
                    table.fitted[:] = True
                    break
                for (candidate, split), record in zip(missing, found, strict=True):
                    table.store_record(candidate, split, record)
        self.n_shared_ = int((~table.fitted).sum())
        self.not_shared_ = table.not_shared()
        if any(record["fit_error"] is not None for record in slow):
            done = [{"fit_error": None}] * self.n_shared_
            _warn_or_raise_about_fit_failures(done + slow, self.error_score)
        return slow if table.missing.any() else None

    def _plan(self, base, y, scorers, routed, table):
        """Return the scorers' plan and the groups of candidates; the table learns what is left."""
        try:
            of_targets = isinstance(last_step(base), BaseRVFLRegressor)
            if np.ndim(y) not in ((1, 2) if of_targets else (1,)):
                raise NotShared("y is not one column of labels")
            plan = plan_scores(scorers, routed.scorer.score, of_targets)
            groups, unshared = group_candidates(base, self.param_grid, routed.estimator.fit)
        except NotShared as reason:
            everything = Unshared(slice(None), str(reason))
            plan, groups, unshared = {}, [], [everything]
        for some in unshared:
            table.leave(slice(None), some)
        surprises = sorted({some.reason for some in unshared if some.surprising})
        if surprises:
            warnings.warn(
                f"RVFLGridSearchCV fits candidates one by one: {'; '.join(surprises)}",
                stacklevel=5,
            )
        return plan, groups

    def _run_shared(self, task, groups, splits):
        """Yield what each fold finds, or leaves to be fitted one by one, as it is found."""
        n_jobs = effective_n_jobs(self.n_jobs)
        if n_jobs == 1 or not groups:
            with limit_blas(1 if _num_samples(task.X) <= SMALL_ROWS else None):
                for split, rows in enumerate(splits):
                    for found in task.run(rows, groups):
                        yield split, found
            return
        # Some parts for every worker, so that none waits long for the last one.
        parts = min(len(groups), -(-PARTS_A_WORKER * n_jobs // len(splits)))
        parallel = Parallel(
            self.n_jobs,
            prefer="threads",
            pre_dispatch=self.pre_dispatch,
            return_as="generator_unordered",
        )
        config = get_config()
        with limit_blas(1):
            for split, all_found in parallel(
                delayed(run_fold)(task, split, rows, groups[part::parts], config)
                for split, rows in enumerate(splits)
                for part in range(parts)
            ):
                for found in all_found:
                    yield split, found

    def _run_one_by_one(self, X, y, base, candidates, splits, missing, scorers, routed, progress):
        """Let scikit-learn fit and score what is missing; return its records."""
        settings = {
            "scorer": scorers,
            "fit_params": routed.estimator.fit,
            "score_params": routed.scorer.score,
            "return_train_score": self.return_train_score,
            "return_n_test_samples": True,
            "return_times": True,
            "return_parameters": False,
            "error_score": self.error_score,
            "verbose": self.verbose,
        }
        if "caller" in inspect.signature(_fit_and_score).parameters:
            settings["caller"] = self
        tasks = (
            delayed(_fit_and_score)(
                clone(base),
                X,
                y,
                train=splits[s][0],
                test=splits[s][1],
                parameters=candidates[c],
                split_progress=(s, len(splits)),
                candidate_progress=(c, len(candidates)),
                **settings,
            )
            for c, s in missing
        )
        finished = []
        few = ALONE_SECONDS if len(missing) < len(candidates) * len(splits) else 0.0
        for record in self._run_tasks(tasks, len(missing), few):
            finished.append(record)
            progress.advance()
        return finished

    def _run_tasks(self, tasks, n_tasks, few):
        """Yield what tasks return, in order: here for a few seconds, and then by workers."""
        start, alone = time.perf_counter(), 0
        while alone < n_tasks and time.perf_counter() - start < few:
            function, arguments, named = next(tasks)
            yield function(*arguments, **named)
            alone += 1
        if alone < n_tasks:
            parallel = Parallel(self.n_jobs, pre_dispatch=self.pre_dispatch, return_as="generator")
            yield from parallel(tasks)

    def _finish(self, X, y, first, results, scorers, refit_metric, routed):
        """Choose, refit and store as GridSearchCV does."""
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first)
            refit_metric = self.refit
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = results["params"][self.best_index_]
        if self.refit:
            self.best_estimator_ = clone(self.estimator).set_params(
                **clone(self.best_params_, safe=False)
            )
            start = time.time()
            if y is None:
                self.best_estimator_.fit(X, **routed.estimator.fit)
            else:
                self.best_estimator_.fit(X, y, **routed.estimator.fit)
            self.refit_time_ = time.time() - start
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers
        self.cv_results_ = results
        return self
