"""What the scorers of a search ask for, and their values for many candidates at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    get_scorer,
    log_loss,
    roc_auc_score,
)
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer

from robell._core.array import namespace, to_host
from robell._core.ridge.calibrate import calibrated_probability
from robell.metrics import g_mean_score
from robell.models._estimator import of_both_classes
from robell.search.groups import NotShared
from robell.search.metrics import METRICS, TWO_CLASS, doubtful_labels, doubtful_order
from robell.search.targets import plan_target_scores

SCORE_FUNCTIONS = {
    accuracy_score: "accuracy",
    balanced_accuracy_score: "balanced_accuracy",
    g_mean_score: "g_mean",
    f1_score: "f1",
    roc_auc_score: "roc_auc",
    average_precision_score: "average_precision",
}
# Of probabilities; a small error of these is a small error of the value.
SMOOTH = (log_loss, brier_score_loss)

# Bounds on errors of scores, beside the range of the scores, from which values that depend on more
# than labels and order began to differ from GridSearchCV's in their ninth digit.
NOTICED = {"values": 1e-8, "probabilities": 1e-7}


class ScoredRows(ClassifierMixin, BaseEstimator):
    """A fitted model as a scorer sees it: its answers for the rows in question are known."""

    def __init__(self, classes, scores, calibration=None):
        self.classes_, self.scores_, self.calibration = classes, scores, calibration

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

    def predict_proba(self, X):
        """Return the calibrated probabilities."""
        columns = self.scores_[:, None] if self.scores_.ndim == 1 else self.scores_
        return calibrated_probability(of_both_classes(columns), *self.calibration)


class Plan(NamedTuple):
    """How one scorer's values are found."""

    scorer: object
    metric: str | None  # computed for many candidates at once; None: the scorer is called
    # "labels" or "order": the value depends on these alone, and then it is exact. "values": on
    # the scores themselves, "probabilities" on them and on what they are calibrated by, which are
    # known within rounding.
    depends_on: str


def plan_scores(scorers, score_params, of_targets=False):
    """Return name -> plan; ``of_targets`` where numbers are predicted."""
    routed = get_config()["enable_metadata_routing"]
    if score_params and routed and isinstance(scorers, _MultimetricScorer):
        raise NotShared("metadata is routed among several scorers")
    if of_targets:
        return plan_target_scores(scorers, Plan)
    named = scorers._scorers if isinstance(scorers, _MultimetricScorer) else {"score": scorers}
    plan = {}
    for name, scorer in named.items():
        if isinstance(scorer, _PassthroughScorer):  # the estimator's own score
            plan[name] = Plan(get_scorer("accuracy"), "accuracy", "labels")
            continue
        if not isinstance(scorer, _BaseScorer):
            raise NotShared("a scorer is a function of the fitted estimator")
        response = scorer._response_method
        first = response if isinstance(response, str) else response[0]
        if first == "predict_proba" and scorer._score_func in SMOOTH:
            plan[name] = Plan(scorer, None, "probabilities")
            continue
        if first not in ("predict", "decision_function"):
            raise NotShared("a scorer asks for more of the probabilities than their logarithms")
        ranks = scorer._score_func in (roc_auc_score, average_precision_score)
        depends_on = "labels" if first == "predict" else "order" if ranks else "values"
        plan[name] = Plan(scorer, _metric_of(scorer), depends_on)
    return plan


def _metric_of(scorer):
    metric = SCORE_FUNCTIONS.get(scorer._score_func)
    usual = [{}, {"average": "binary"}] if metric == "f1" else [{}]
    return metric if scorer._kwargs in usual and scorer._sign == 1 else None


class RowScorer:
    """Scores given rows by the scorers of a plan, for many candidates at once.

    ``params`` are the scorers' own, such as weights of the rows.
    """

    def __init__(self, plan, model, X, y, params):
        classes = model.classes_
        self.plan, self.classes, self.X, self.y, self.params = plan, classes, X, y, params
        codes = np.searchsorted(classes, y).clip(0, len(classes) - 1)
        self.codes = np.where(classes[codes] == y, codes, -1)
        self.both = len(classes) == 2 and np.array_equal(np.unique(self.codes), [0, 1])

    def doubtful(self, scores, error):
        """Say for which candidates errors of the scores could change a value by more than rounding.

        ``scores`` is (n, candidates) for two classes, (n, candidates, classes) for more.
        """
        needs = {plan.depends_on for plan in self.plan.values()}
        found = np.zeros(scores.shape[1], bool)
        if needs & {"labels", "values"}:
            found |= doubtful_labels(scores, error)
        for kind, noticed in NOTICED.items():
            if kind in needs:
                xp = namespace(scores)
                size = xp.amax(scores, 0) - xp.amin(scores, 0)
                size = size if size.ndim == 1 else xp.amax(size, 1)
                found |= np.asarray(to_host((error > noticed * size).any(0)))
        if needs & {"order", "values"}:
            host = to_host(scores)
            for column in [host] if host.ndim == 2 else np.moveaxis(host, 2, 0):
                found |= doubtful_order(column, error, self._order_counts)
        return found

    def _order_counts(self, order):
        """Say whether the order of neighbours among sorted rows can change a value."""
        ranked = self.codes[order]
        above, below = ranked[:-1], ranked[1:]
        metrics = {plan.metric for plan in self.plan.values() if plan.depends_on != "labels"}
        if self.both and metrics == {"roc_auc"}:
            return above != below
        if self.both and metrics <= {"roc_auc", "average_precision"}:
            return (above == 1) | (below == 1)
        return np.ones(above.shape, bool)

    def values(self, scores, calibrations):
        """Return name -> one value a column of ``scores``, calibrated where scorers ask for it."""
        values = {}
        for name, (scorer, metric, _) in self.plan.items():
            # The scorers' pos_label is 1, except that ROC AUC takes the second class.
            positive = metric == "roc_auc" or self.classes[-1] == 1
            usable = metric not in TWO_CLASS or (self.both and positive)
            if metric is not None and usable and not self.params:
                values[name] = METRICS[metric](self.codes, scores)
                continue
            scores = to_host(scores)
            models = [
                ScoredRows(self.classes, scores[:, k], calibrations and calibrations[k])
                for k in range(scores.shape[1])
            ]
            try:
                found = [scorer(model, self.X, self.y, **self.params) for model in models]
            except Exception as error:  # the caller's code: scikit-learn follows error_score
                raise NotShared(f"a scorer raises {type(error).__name__}") from error
            values[name] = np.array(found)
        return values
