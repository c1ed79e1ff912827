"""What the scorers of a search ask for, and their values for many candidates at once."""

from __future__ import annotations

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    roc_auc_score,
)
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer

from robell.metrics import g_mean_score
from robell.search.groups import NotShared
from robell.search.metrics import METRICS, TWO_CLASS

SCORE_FUNCTIONS = {
    accuracy_score: "accuracy",
    balanced_accuracy_score: "balanced_accuracy",
    g_mean_score: "g_mean",
    f1_score: "f1",
    roc_auc_score: "roc_auc",
    average_precision_score: "average_precision",
}


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
    """Return name -> (scorer, metric for many candidates at once, or None to ask the scorer)."""
    routed = get_config()["enable_metadata_routing"]
    if score_params and routed and isinstance(scorers, _MultimetricScorer):
        raise NotShared("metadata is routed among several scorers")
    named = scorers._scorers if isinstance(scorers, _MultimetricScorer) else {"score": scorers}
    plan = {}
    for name, scorer in named.items():
        if isinstance(scorer, _PassthroughScorer):  # the estimator's own score
            plan[name] = (get_scorer("accuracy"), "accuracy")
            continue
        if not isinstance(scorer, _BaseScorer):
            raise NotShared("a scorer is a function of the fitted estimator")
        response = scorer._response_method
        first = response if isinstance(response, str) else response[0]
        if first not in ("predict", "decision_function"):
            raise NotShared("a scorer asks for probabilities")
        plan[name] = (scorer, _metric_of(scorer))
    return plan


def _metric_of(scorer):
    metric = SCORE_FUNCTIONS.get(scorer._score_func)
    usual = [{}, {"average": "binary"}] if metric == "f1" else [{}]
    return metric if scorer._kwargs in usual and scorer._sign == 1 else None


def score_columns(plan, classes, scores, X, y, params):
    """Return name -> one value a column of ``scores``.

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
        models = [ScoredRows(classes, scores[:, k]) for k in range(scores.shape[1])]
        try:
            values[name] = np.array([scorer(model, X, y, **params) for model in models])
        except Exception as error:  # the caller's code: scikit-learn follows error_score
            raise NotShared(f"a scorer raises {type(error).__name__}") from error
    return values
