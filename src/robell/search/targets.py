"""Regressors in a search: solutions with a free constant, and scores of many candidates at once."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import (
    d2_absolute_error_score,
    d2_pinball_score,
    explained_variance_score,
    get_scorer,
    max_error,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_pinball_loss,
    mean_squared_error,
    median_absolute_error,
    r2_score,
    root_mean_squared_error,
)
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer

from robell._core.array import EPS, to_host
from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import mean_of_targets
from robell.search.groups import NotShared

# A small error of the predictions is a small error of these. The first ones compare with the
# spread of the targets, and jump where that is zero.
RELATIVE = (r2_score, explained_variance_score, d2_absolute_error_score, d2_pinball_score)
SMOOTH = (
    *RELATIVE,
    max_error,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_pinball_loss,
    mean_squared_error,
    median_absolute_error,
    root_mean_squared_error,
)

# Bounds on errors of predictions, in units of the targets' spread, from which scores of random
# searches began to differ from GridSearchCV's in their ninth digit; and the same of the targets'
# own rounding, which is no bound but the error itself.
NOTICED = 5e-9
TARGET_DIGITS = 1e-3


def plan_target_scores(scorers, make_plan):
    """Return name -> plan; all values are known within rounding."""
    named = scorers._scorers if isinstance(scorers, _MultimetricScorer) else {"score": scorers}
    plan = {}
    for name, scorer in named.items():
        if isinstance(scorer, _PassthroughScorer):  # the estimator's own score
            scorer = get_scorer("r2")
        if not isinstance(scorer, _BaseScorer):
            raise NotShared("a scorer is a function of the fitted estimator")
        if scorer._score_func not in SMOOTH:
            raise NotShared("a scorer may jump where predictions change by rounding")
        metric = METRICS.get(scorer._score_func) if not scorer._kwargs else None
        plan[name] = make_plan(scorer, metric, "values")
    return plan


# -- many candidates at once -------------------------------------------------------------


def mean_square(y, predicted):
    """Return the mean squared error of every candidate and target."""
    return np.square(y[:, None, :] - predicted).mean(axis=0)


def mean_absolute(y, predicted):
    """Return the mean absolute error of every candidate and target."""
    return np.abs(y[:, None, :] - predicted).mean(axis=0)


def root_mean_square(y, predicted):
    """Return the root of the mean squared error of every candidate and target."""
    return np.sqrt(mean_square(y, predicted))


def r_squared(y, predicted):
    """Return the share of the variance that every candidate explains of every target."""
    total = np.square(y - y.mean(axis=0)).mean(axis=0)
    return 1.0 - mean_square(y, predicted) / total


METRICS = {
    r2_score: r_squared,
    mean_squared_error: mean_square,
    root_mean_squared_error: root_mean_square,
    mean_absolute_error: mean_absolute,
}


class ScoredTargets(RegressorMixin, BaseEstimator):
    """A fitted regressor as a scorer sees it: its predictions for the rows in question."""

    def __init__(self, predicted):
        self.predicted_ = predicted

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        """Return the predictions."""
        return self.predicted_


class TargetScorer:
    """Scores given rows by the scorers of a plan, for many candidates at once."""

    are_ranked = True  # whether candidates are ranked by these scores

    def __init__(self, plan, model, X, y, params):
        self.plan, self.X, self.y, self.params = plan, X, y, params
        self.targets = np.asarray(y, np.float64).reshape(len(y), -1)
        relative = any(scorer._score_func in RELATIVE for scorer, *_ in plan.values())
        if relative and (len(y) < 2 or (np.ptp(self.targets, axis=0) == 0.0).any()):
            raise NotShared("the targets of some rows to score are constant")

    def doubtful(self, scores, error):
        """Say for which candidates errors of the predictions could change a value noticeably.

        That is where an error exceeds ``NOTICED`` of the targets' spread; of scores that
        candidates are ranked by, also of the typical distance between targets and predictions.
        """
        columns = to_host(scores).reshape(*scores.shape[:2], -1)
        with np.errstate(over="ignore", invalid="ignore"):
            unit = np.broadcast_to(self.targets.std(axis=0), columns.shape[1:])
            if self.are_ranked:
                missed = np.sqrt(np.square(self.targets[:, None, :] - columns).mean(axis=0))
                unit = np.minimum(missed, unit)
            unit = unit.min(axis=1)
            lost = EPS * np.abs(self.targets).max()  # what the targets themselves are rounded to
            largest = error.max(initial=0.0, axis=0) + lost / TARGET_DIGITS
            return ~(largest <= NOTICED * unit)

    def values(self, scores, calibrations):
        """Return name -> one value a column of ``scores``, (n, candidates) or with targets last."""
        values, scores = {}, to_host(scores)
        columns = scores.reshape(*scores.shape[:2], -1)
        for name, (scorer, metric, _) in self.plan.items():
            if metric is not None and not self.params:
                values[name] = scorer._sign * metric(self.targets, columns).mean(axis=1)
                continue
            try:
                values[name] = np.array(
                    [
                        scorer(ScoredTargets(scores[:, k]), self.X, self.y, **self.params)
                        for k in range(scores.shape[1])
                    ]
                )
            except Exception as error:  # the caller's code: scikit-learn follows error_score
                raise NotShared(f"a scorer raises {type(error).__name__}") from error
        return values


# -- solutions ---------------------------------------------------------------------------


def without_means(design, T, total):
    """Return design and targets with their weighted means off, the constant's column gone.

    The ridge of these has the output weights of the ridge with a free constant, which
    :func:`with_constant` then adds.
    """
    mean = sum(total[rows] @ M for rows, M in design)[1:] / total.sum()
    target_mean = mean_of_targets(T, total)
    behind = RowBlocks(
        lambda rows: design._make_rows(rows)[:, 1:] - mean, design.n_rows, design.n_columns - 1
    )
    return behind, T - target_mean, mean, target_mean


def with_constant(beta, mean, target_mean):
    """Return (1 + P, ...) output weights, the constant's first, given (P, ..., K)."""
    constant = target_mean - np.tensordot(mean, beta, axes=1)
    return np.concatenate([constant[None], beta])
