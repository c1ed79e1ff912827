"""What the scorers of a search ask for, and their values for many candidates at once.

Two classes: ``scores`` (n, m) are decision values, positive for class 1. More: (n, m, K). ``codes``
(n,) are the true classes' places in the model's classes, -1 for a class it never saw. Metrics of
classes equal scikit-learn's to the last bit, for ties must stay ties: that needs its own order of
operations, not only its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config, metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from robell._core.array import EPS, Array, Labels, Mask, beside, namespace, to_host
from robell._core.ridge.calibrate import calibrated_probability
from robell.metrics import g_mean_score
from robell.models._estimator import of_both_classes
from robell.search import private
from robell.search.groups import NotShared

# -- metrics of classes --------------------------------------------------------------------


def doubtful_labels(scores: Any, error: Any) -> Mask:
    """Say for which candidates errors of this size, (n, m), could change a prediction."""
    xp = namespace(scores)
    if scores.ndim == 2:
        found = (abs(scores) < error).any(0)
    else:
        first = xp.amax(scores, 2)
        # The second largest: the largest where the first is set aside, once.
        place = scores.argmax(2)[..., None] == beside(np.arange(scores.shape[2]), scores)
        second = xp.amax(xp.where(place, -xp.inf, scores), 2)
        found = (first - second < 2.0 * error).any(0)
    return np.asarray(to_host(found))


def doubtful_order(scores: Any, error: Any, counts: Callable[[Labels], Mask]) -> Mask:
    """Say for which candidates errors of this size, (n, m), could change an order that counts.

    ``counts`` says of the rows in descending order, (n, m), which neighbours' order does. Rows
    hang together where the interval of one reaches that of another. Where it does not count which
    of two comes first, it may be that they are not equal: sums over thresholds have one more term
    then, and another last digit.
    """
    scores, error = to_host(scores), to_host(error)
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    error = np.take_along_axis(np.broadcast_to(error, scores.shape), order, axis=0)
    lower = np.minimum.accumulate(ranked - error, axis=0)[:-1]
    upper = np.maximum.accumulate((ranked + error)[::-1], axis=0)[::-1][1:]
    decides = counts(order) | (ranked[1:] != ranked[:-1])
    return np.asarray(((upper > lower) & decides).any(axis=0))


def hits(codes: Labels, scores: Any) -> tuple[Array, Array]:
    """Return how many rows of every class of ``codes`` are right, (classes, m), and its size.

    The class with the first of the largest scores is predicted.
    """
    xp = namespace(scores)
    classes, place, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    true = beside(codes, scores)[:, None]
    right = (scores > 0) == (true == 1) if scores.ndim == 2 else scores.argmax(2) == true
    one_hot = (place == np.arange(len(classes))[:, None]) & (codes >= 0)
    counts = beside(one_hot.astype(np.float64), scores) @ xp.asarray(right, dtype=xp.float64)
    return to_host(counts), sizes.astype(np.float64)


def recalls(codes: Labels, scores: Any) -> Array:
    """Return the recall of every class of ``codes``, one column each."""
    counts, sizes = hits(codes, scores)
    return np.ascontiguousarray((counts / sizes[:, None]).T)


def accuracy(codes: Labels, scores: Any) -> Array:
    """Return the share of right predictions."""
    return np.asarray(hits(codes, scores)[0].sum(axis=0) / len(codes))


def balanced_accuracy(codes: Labels, scores: Any) -> Array:
    """Return the mean recall of the classes."""
    return np.asarray(recalls(codes, scores).mean(axis=1))


def g_mean(codes: Labels, scores: Any) -> Array:
    """Return the geometric mean of the recalls."""
    found = recalls(codes, scores)
    products, place = np.unique(np.prod(found, axis=1), return_inverse=True)
    # One by one: the power of an array may differ from the power of a number in the last bit.
    roots = [float(product ** (1.0 / found.shape[1])) for product in products]
    return np.array(roots)[place]


def f1(codes: Labels, scores: Any) -> Array:
    """Return 2 TP/(2 TP + FP + FN) of class 1, 0 where undefined."""
    (true_negative, true_positive), (zeros, ones) = hits(codes, scores)
    positive = true_positive + (zeros - true_negative)
    return np.asarray(2.0 * true_positive / np.maximum(positive + ones, 1.0))


def roc_auc(codes: Labels, scores: Any) -> Array:
    """Return the area under the ROC curve, by trapezoids between its corners."""
    areas = np.empty(scores.shape[1])
    for k, (true, false) in enumerate(_counts_at_thresholds(codes, scores)):
        if len(true) > 2:
            corner = (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0)
            corner = np.concatenate([[True], corner, [True]])
            true, false = true[corner], false[corner]
        y = np.concatenate([[0.0], true]) / true[-1]
        x = np.concatenate([[0.0], false]) / false[-1]
        areas[k] = (np.diff(x) * (y[1:] + y[:-1]) / 2.0).sum()
    return areas


def average_precision(codes: Labels, scores: Any) -> Array:
    """Return the precision at every threshold, averaged over the steps of the recall."""
    values = np.empty(scores.shape[1])
    for k, (true, false) in enumerate(_counts_at_thresholds(codes, scores)):
        precision = (true / (true + false))[::-1]
        recall = np.concatenate([(true / true[-1])[::-1], [0.0]])
        values[k] = max(0.0, -(np.diff(recall) * precision).sum())
    return values


def _counts_at_thresholds(codes, scores):
    """Yield, for every column, how many rows of class 1 and class 0 reach each distinct score."""
    scores = to_host(scores)
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    hits = np.cumsum((codes == 1)[order], axis=0, dtype=np.float64)
    is_last = np.ones(scores.shape, bool)
    is_last[:-1] = ranked[1:] != ranked[:-1]
    for k in range(scores.shape[1]):
        ends = np.flatnonzero(is_last[:, k])
        true = hits[ends, k]
        yield true, ends + 1.0 - true


METRICS: dict[Callable[..., Any], Callable[[Labels, Any], Array]] = {
    metrics.accuracy_score: accuracy,
    metrics.balanced_accuracy_score: balanced_accuracy,
    g_mean_score: g_mean,
    metrics.f1_score: f1,
    metrics.roc_auc_score: roc_auc,
    metrics.average_precision_score: average_precision,
}
# Which need two classes, both present, to mean anything.
TWO_CLASS = (f1, roc_auc, average_precision)
# Of probabilities; a small error of these is a small error of the value.
OF_PROBABILITIES = (metrics.log_loss, metrics.brier_score_loss)


# -- metrics of targets ----------------------------------------------------------------------


def mean_square(y, predicted):
    """Return the mean squared error of every candidate and target."""
    return np.square(y[:, None, :] - predicted).mean(axis=0)


TARGET_METRICS = {
    metrics.r2_score: lambda y, f: 1.0 - mean_square(y, f) / y.var(axis=0),
    metrics.mean_squared_error: mean_square,
    metrics.root_mean_squared_error: lambda y, f: np.sqrt(mean_square(y, f)),
    metrics.mean_absolute_error: lambda y, f: np.abs(y[:, None, :] - f).mean(axis=0),
}
# A small error of the predictions is a small error of these. The first ones compare with the
# spread of the targets, and jump where that is zero.
RELATIVE = (
    metrics.r2_score,
    metrics.explained_variance_score,
    metrics.d2_absolute_error_score,
    metrics.d2_pinball_score,
)
SMOOTH = (
    *RELATIVE,
    metrics.max_error,
    metrics.mean_absolute_error,
    metrics.mean_absolute_percentage_error,
    metrics.mean_pinball_loss,
    metrics.mean_squared_error,
    metrics.median_absolute_error,
    metrics.root_mean_squared_error,
)


# -- what scorers ask for ----------------------------------------------------------------------


class Plan(NamedTuple):
    """How one scorer's values are found."""

    scorer: Any
    metric: Callable[..., Array] | None  # of many candidates at once; None: the scorer is called
    # "labels" or "order": the value depends on these alone, and then it is exact. "values": on
    # the scores themselves, "probabilities" on them and on what they are calibrated by, which are
    # known within rounding.
    depends_on: str


def plan_scores(scorers, score_params, of_targets):
    """Return name -> plan; ``of_targets`` where numbers are predicted."""
    several = isinstance(scorers, private._MultimetricScorer)
    if score_params and several and get_config()["enable_metadata_routing"]:
        raise NotShared("metadata is routed among several scorers")
    plans = {}
    for name, scorer in (scorers._scorers if several else {"score": scorers}).items():
        if isinstance(scorer, private._PassthroughScorer):  # the estimator's own score
            scorer = metrics.get_scorer("r2" if of_targets else "accuracy")
        if type(scorer) is not type(metrics.get_scorer("accuracy")):
            raise NotShared("a scorer is a function of the fitted estimator")
        response, function = scorer._response_method, scorer._score_func
        first = response if isinstance(response, str) else response[0]
        if of_targets:  # all values are known within rounding
            if function not in SMOOTH:
                raise NotShared("a scorer may jump where predictions change by rounding")
            metric = None if scorer._kwargs else TARGET_METRICS.get(function)
            plans[name] = Plan(scorer, metric, "values")
        elif first == "predict_proba" and function in OF_PROBABILITIES:
            plans[name] = Plan(scorer, None, "probabilities")
        elif first not in ("predict", "decision_function"):
            raise NotShared("a scorer asks for more of the probabilities than their logarithms")
        else:
            metric = METRICS.get(function)
            usual = [{}, {"average": "binary"}] if metric is f1 else [{}]
            is_usual = scorer._kwargs in usual and scorer._sign == 1
            ranks = function in (metrics.roc_auc_score, metrics.average_precision_score)
            depends_on = "labels" if first == "predict" else "order" if ranks else "values"
            plans[name] = Plan(scorer, metric if is_usual else None, depends_on)
    return plans


# -- rows to be scored -------------------------------------------------------------------------

# Bounds on errors of scores, beside the range of the scores, from which values that depend on more
# than labels and order began to differ from GridSearchCV's in their ninth digit.
NOTICED = {"values": 1e-8, "probabilities": 1e-7}
# Bounds on errors of predicted numbers, in units of the targets' spread, from which scores of
# random searches began to differ from GridSearchCV's in their ninth digit; and the same of the
# targets' own rounding, which is no bound but the error itself.
NOTICED_OF_TARGETS = 5e-9
TARGET_DIGITS = 1e-3


class ScoredRows(ClassifierMixin, BaseEstimator):
    """A fitted classifier as a scorer sees it: its answers for the rows in question are known."""

    def __init__(self, classes, scores, calibration=None):
        self.classes_, self.scores_, self.calibration = classes, scores, calibration

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


class ScoredTargets(RegressorMixin, BaseEstimator):
    """A fitted regressor as a scorer sees it: its predictions for the rows in question."""

    def __init__(self, predicted):
        self.predicted_ = predicted

    def predict(self, X):
        """Return the predictions."""
        return self.predicted_


class RowScorer:
    """Scores given rows by the scorers of a plan, for many candidates at once."""

    def __init__(self, plan, classes, X, y, params):
        self.plan, self.classes, self.X, self.y, self.params = plan, classes, X, y, params
        try:
            codes = np.searchsorted(classes, y).clip(0, len(classes) - 1)
            self.codes = np.where(classes[codes] == y, codes, -1)
            if (self.codes < 0).any():
                check_classification_targets(y)
        except (TypeError, ValueError) as error:  # as every scorer will say
            raise NotShared("some rows to score have no valid label") from error
        self.both = len(classes) == 2 and np.array_equal(np.unique(self.codes), [0, 1])
        self.of_labels = all(one.depends_on == "labels" for one in plan.values())

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
        asked = {plan.metric for plan in self.plan.values() if plan.depends_on != "labels"}
        if self.both and asked == {roc_auc}:
            return above != below
        if self.both and asked <= {roc_auc, average_precision}:
            return (above == 1) | (below == 1)
        return np.ones(above.shape, bool)

    def values(self, scores, calibrations):
        """Return name -> one value a column of ``scores``, calibrated where scorers ask for it."""
        values = {}
        for name, (scorer, metric, _) in self.plan.items():
            # The scorers' pos_label is 1, except that ROC AUC takes the second class.
            positive = metric is roc_auc or self.classes[-1] == 1
            usable = metric not in TWO_CLASS or (self.both and positive)
            if metric is not None and usable and not self.params:
                values[name] = metric(self.codes, scores)
                continue
            scores = to_host(scores)
            models = (
                ScoredRows(self.classes, scores[:, k], calibrations and calibrations[k])
                for k in range(scores.shape[1])
            )
            values[name] = _called(scorer, models, self)
        return values


class TargetScorer:
    """Scores given rows of a regressor, as :class:`RowScorer` does those of a classifier."""

    of_labels = False

    def __init__(self, plan, X, y, params, are_ranked):
        self.plan, self.X, self.y, self.params = plan, X, y, params
        self.are_ranked = are_ranked
        self.targets = np.asarray(y, np.float64).reshape(len(y), -1)
        relative = any(scorer._score_func in RELATIVE for scorer, *_ in plan.values())
        if relative and (len(y) < 2 or (np.ptp(self.targets, axis=0) == 0.0).any()):
            raise NotShared("the targets of some rows to score are constant")

    def doubtful(self, scores, error):
        """Say for which candidates errors of the predictions could change a value noticeably.

        That is where an error exceeds ``NOTICED_OF_TARGETS`` of the targets' spread; of scores
        that candidates are ranked by, also of the typical distance between targets and predictions.
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
            return ~(largest <= NOTICED_OF_TARGETS * unit)

    def values(self, scores, calibrations):
        """Return name -> one value a column of ``scores``, (n, candidates) or with targets last."""
        values, scores = {}, to_host(scores)
        columns = scores.reshape(*scores.shape[:2], -1)
        for name, (scorer, metric, _) in self.plan.items():
            if metric is not None and not self.params:
                values[name] = scorer._sign * metric(self.targets, columns).mean(axis=1)
            else:
                models = (ScoredTargets(scores[:, k]) for k in range(scores.shape[1]))
                values[name] = _called(scorer, models, self)
        return values


def _called(scorer: Any, models: Iterable[Any], rows: Any) -> Array:
    """Return a scorer's values, numbers all of them, called for one model after another."""
    try:
        return np.array(
            [private._score(model, rows.X, rows.y, scorer, rows.params) for model in models]
        )
    except Exception as error:  # the caller's code: scikit-learn follows error_score
        raise NotShared(f"a scorer raises {type(error).__name__}") from error
