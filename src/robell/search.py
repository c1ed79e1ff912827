"""The exact grid search: scikit-learn's own answer for a fraction of the work.

Candidates that differ only in ``C``, ``n_hidden`` and the parameters of the row weights share a
fold's features, Gram matrices and factorisations (:mod:`robell._core.sweep`); everything else is
looped over. Whatever cannot be shared (another kind of estimator, a scorer of probabilities, a
candidate that fails) is fitted one by one by scikit-learn itself, so any search works.
"""

from __future__ import annotations

import inspect
import time

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
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
from threadpoolctl import threadpool_limits

from robell._base import PAPER_C
from robell._core.activations import ACTIVATIONS
from robell._progress import Progress
from robell._shared_folds import FoldTask, group_candidates, plan_scores, run_fold

# Up to this many rows, one BLAS thread is faster than two: matrices are small, and many.
SMALL_ROWS = 20_000


class RVFLGridSearchCV(GridSearchCV):
    """Exhaustive search over a grid, with :class:`~sklearn.model_selection.GridSearchCV`'s results.

    A drop-in: the same constructor, attributes, candidate order, scores and refit. For the
    estimators of this package, bare or as the last step of a ``Pipeline``, candidates that differ
    in ``C``, ``n_hidden``, and RoBell's ``kernel_width`` and ``rho`` share their work exactly: the
    paper's grid of 66,550 candidates takes seconds. Accuracy, balanced accuracy, G-mean, F1, ROC
    AUC and average precision are computed for many candidates at once; any other scorer works too.

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
        Processes over folds, and over activations beyond. Each uses one BLAS thread.
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

    Attributes
    ----------
    n_shared_ : int
        How many of the candidate-fold scores came from shared factorisations; the others were
        fitted one by one.
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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Run fit with all sets of parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,), default=None
            Class labels.
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
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
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
        out = self._evaluate(X, y, candidates, splits, scorers, routed)
        _warn_or_raise_about_fit_failures(out, self.error_score)
        if callable(self.scoring):
            _insert_error_scores(out, self.error_score)
        results = self._format_results(candidates, len(splits), out)
        return self._finish(X, y, out, results, scorers, refit_metric, routed)

    def _evaluate(self, X, y, candidates, splits, scorers, routed):
        """Return scikit-learn's record of every candidate and fold, candidates first."""
        out = np.full((len(candidates), len(splits)), None, dtype=object)
        base = clone(self.estimator)
        plan = plan_scores(scorers, routed.scorer.score) if y is not None else None
        groups = [] if plan is None else group_candidates(base, candidates, routed.estimator.fit)
        multimetric = isinstance(scorers, _MultimetricScorer)
        task = FoldTask(base, X, y, plan, routed.estimator.fit, self.return_train_score)
        with Progress(out.size, "search") as progress:
            for split, found in self._run_shared(task, groups, splits, progress):
                _store(out, split, found, multimetric, len(splits[split][1]))
            self.n_shared_ = sum(record is not None for record in out.flat)
            self._run_one_by_one(X, y, base, candidates, splits, scorers, routed, out, progress)
        return list(out.flat)

    def _run_shared(self, task, groups, splits, progress):
        """Yield what each fold finds, as it is found."""
        if effective_n_jobs(self.n_jobs) == 1 or not groups:
            limit = 1 if _num_samples(task.X) <= SMALL_ROWS else None
            with threadpool_limits(limit, "blas"):
                for split, rows in enumerate(splits):
                    for found in task.run(rows, groups):
                        progress.advance(len(found.candidates))
                        yield split, found
            return
        parallel = Parallel(
            self.n_jobs, pre_dispatch=self.pre_dispatch, return_as="generator_unordered"
        )
        parts = max(1, -(-effective_n_jobs(self.n_jobs) // len(splits)))
        for split, all_found in parallel(
            delayed(run_fold)(task, split, rows, groups[part::parts])
            for split, rows in enumerate(splits)
            for part in range(min(parts, len(groups)))
        ):
            for found in all_found:
                progress.advance(len(found.candidates))
                yield split, found

    def _run_one_by_one(self, X, y, base, candidates, splits, scorers, routed, out, progress):
        """Let scikit-learn fit and score what is still missing."""
        missing = [(c, s) for c, s in np.ndindex(out.shape) if out[c, s] is None]
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
        parallel = Parallel(self.n_jobs, pre_dispatch=self.pre_dispatch, return_as="generator")
        records = parallel(
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
        for place, record in zip(missing, records, strict=True):
            out[place] = record
            progress.advance()

    def _finish(self, X, y, out, results, scorers, refit_metric, routed):
        """Choose, refit and store as GridSearchCV does."""
        first = out[0]["test_scores"]
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
            self.best_estimator_ = clone(clone(self.estimator)).set_params(
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


def _store(out, split, found, multimetric, n_test):
    """Write what one fold found as the records scikit-learn's formatting reads."""
    names = list(found.test)
    columns = [found.test[name].tolist() for name in names]
    train = [found.train[name].tolist() for name in names] if found.train else None

    def pack(values, k):
        if multimetric:
            return {name: column[k] for name, column in zip(names, values, strict=True)}
        return values[0][k]

    for k, candidate in enumerate(found.candidates.tolist()):
        record = {
            "fit_error": None,
            "test_scores": pack(columns, k),
            "n_test_samples": n_test,
            "fit_time": found.fit_time,
            "score_time": found.score_time,
        }
        if train is not None:
            record["train_scores"] = pack(train, k)
        out[candidate, split] = record


def paper_grid(model, prefix=""):
    """Return the paper's ranges for one of its models, as a ``param_grid``.

    Parameters
    ----------
    model : {"rvfl", "elm", "robell", "nf", "crvfl", "acrvfl", "gb", "gegb"}
        Which model. The ranges of the last two, which the paper does not give, are stated here:
        purities 1 - 0.015k for k = 0..5, and graph weights 10^-5..10^5.
    prefix : str, default=""
        Put before every name: ``"rvflclassifier__"`` for a step of a pipeline.

    Returns
    -------
    grid : dict of str -> list
        For :class:`RVFLGridSearchCV` or scikit-learn's ``GridSearchCV``.

    Examples
    --------
    >>> from sklearn.model_selection import ParameterGrid
    >>> from robell import paper_grid
    >>> len(ParameterGrid(paper_grid("robell")))
    66550
    """
    powers_of_ten = PAPER_C.tolist()
    more = {
        "rvfl": {},
        "elm": {},
        "robell": {
            "kernel_width": (2.0 ** np.arange(-5, 6)).tolist(),
            "rho": [0.5, 0.625, 0.75, 0.875, 1.0],
        },
        "nf": {"n_rules": list(range(5, 51, 5))},
        "crvfl": {"augmented": [False]},
        "acrvfl": {"augmented": [True]},
        "gb": {"graph": [None], "purity": [1 - 0.015 * k for k in range(6)]},
        "gegb": {
            "graph": ["lfda"],
            "graph_weight": powers_of_ten,
            "purity": [1 - 0.015 * k for k in range(6)],
        },
    }
    if model not in more:
        raise ValueError(f"model must be one of {', '.join(more)}; got {model!r}")
    grid = {
        "C": powers_of_ten,
        "n_hidden": list(range(3, 204, 20)),
        "activation": list(ACTIVATIONS),
        **more[model],
    }
    return {f"{prefix}{name}": values for name, values in grid.items()}
