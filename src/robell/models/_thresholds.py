"""A threshold from costs, a precision, a recall, a budget or the best F1: chosen here for all."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from robell._core.array import beside, is_tensor, namespace, softmax_of_rows, to_host
from robell._core.labels.cuts import MOST_POINTS, operating_points

SAME = 1e-12  # by how much of themselves equal values may differ by rounding
TOP_DIGITS = 1e-13  # by which log-odds that are equal may differ by rounding, beside their size
LARGEST_THRESHOLD = 1.0 - 1e-15  # whose odds are known
NO_ODDS = 700.0  # at a threshold that every row reaches, or none


@dataclass(frozen=True)
class Rule:
    """How a threshold is chosen: the kind, and the number or the two costs that it needs."""

    kind: str = "f1"
    value: Any = None  # a float, or None
    cost_fn: Any = None
    cost_fp: Any = None

    def __str__(self):
        share = f"{100 * self.value:g} %" if self.value else ""
        return {
            "f1": "the best balance of alarms that are right and positives that are found (F1); "
            "name your own aim to get another",
            "cost": "the smallest cost on held-out rows, where a miss costs "
            f"{self.cost_fn or 0:g} and a false alarm {self.cost_fp or 0:g}",
            "precision": f"the most positives found with at least {share} of the flagged positive",
            "recall": f"the fewest rows to check that find at least {share} of the positives",
            "budget": f"the rows with the largest probabilities, {share} of all",
        }[self.kind]

    def point(self, points):
        """Return which of the operating points the rule asks for."""
        # A point has threshold, share of rows flagged, recall and precision; the first one flags
        # nothing. With prior pi, share s and recall r the cost of a row is cost_fn pi (1 - r) +
        # cost_fp (s - pi r), and F1 is 2 pi r / (s + pi). Of equal points, the one that flags least
        # is taken.
        _, share, recall, precision = points.T
        prior = precision[-1]  # of the point that flags all rows
        hits = prior * recall
        if self.kind == "cost":
            cost = self.cost_fn * (prior - hits) + self.cost_fp * (share - hits)
            return int(np.argmax(cost <= cost.min() * (1.0 + SAME) + 1e-300))
        if self.kind == "f1":
            f1 = 2.0 * hits / np.maximum(share + prior, 1e-300)
            return int(np.argmax(f1 >= f1.max() * (1.0 - SAME)))
        if self.kind == "recall":
            return int(np.argmax(recall >= self.value * (1.0 - SAME)))
        if self.kind == "budget":
            return int(np.flatnonzero(share <= self.value * (1.0 + SAME))[-1])
        precise = np.flatnonzero(precision >= self.value * (1.0 - SAME))
        return int(precise[np.argmax(recall[precise])])


def rule_of(
    cost_fn=None, cost_fp=None, precision=None, recall=None, budget=None, *, spelled=str
):  # fmt: skip
    """Return the Rule that is asked for: the best F1 where nothing is."""
    costs, shares = (
        {name: value for name, value in wanted.items() if value is not None}
        for wanted in (
            {"cost_fn": cost_fn, "cost_fp": cost_fp},
            {"precision": precision, "recall": recall, "budget": budget},
        )
    )
    if len(shares) + bool(costs) > 1:
        raise ValueError(how_to_choose(spelled))
    if len(costs) == 1:
        (given,) = costs
        other = "cost_fp" if given == "cost_fn" else "cost_fn"
        raise ValueError(f"{spelled(given)} needs {spelled(other)} too; both in the same money")
    for name, value in (costs | shares).items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not (is_number and 0 < value < np.inf and (value <= 1 or name in costs)):
            where = "positive and finite" if costs else "in (0, 1]"
            raise ValueError(f"{spelled(name)} must be a number, {where}, got {value!r}")
    if costs:
        return Rule("cost", None, float(cost_fn), float(cost_fp))
    for kind, value in shares.items():
        return Rule(kind, float(value))
    return Rule()


def how_to_choose(spelled=str):
    """Say what a threshold may be chosen by."""
    cost_fn, cost_fp, precision, recall, budget = map(
        spelled, ("cost_fn", "cost_fp", "precision", "recall", "budget")
    )
    return f"give {cost_fn} and {cost_fp}, or one of {precision}, {recall} and {budget}"


def odds_at(threshold):
    """Return the log-odds at a threshold; beyond those of any row where all or none reach it."""
    if not 0.0 < threshold <= 1.0:
        return float(np.copysign(NO_ODDS, threshold - 0.5))
    return float(logit(min(threshold, LARGEST_THRESHOLD)))


def on_its_side(differences, is_second):
    """Return differences of scores, above 0 where the second class is predicted, else below."""
    xp, tiny = namespace(differences), float(np.finfo(np.float64).tiny)
    above, below = xp.clip(differences, tiny, None), xp.clip(differences, None, -tiny)
    return xp.where(is_second, above, below)


class ThresholdChoice:
    """A classifier that predicts by ``threshold_``, of more than two classes ``thresholds_``.

    What inherits it says the log-probabilities of rows, up to a constant of each row.
    """

    classes_: NDArray[Any]
    threshold_: float
    thresholds_: NDArray[Any]
    operating_points_: NDArray[Any]

    def _log_probability(self, X: Any) -> Any:
        raise NotImplementedError

    def _set_thresholds(self, thresholds, unseen=None):
        """Keep the thresholds of the classes in place of those of an earlier fit.

        ``unseen`` are for two classes the probability of the second of rows that the model has not
        seen, how probably they are truly of it, and their weights.
        """
        for name in ("threshold_", "thresholds_", "operating_points_"):
            self.__dict__.pop(name, None)
        if len(self.classes_) > 2:
            self.thresholds_ = thresholds
            return
        self.threshold_ = float(thresholds[1])
        if unseen is not None:
            probability, positive, weight = unseen
            self.operating_points_ = operating_points(probability, positive, weight, MOST_POINTS)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return by how much the log-odds of the classes exceed those of the thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the log-odds of the second less those of ``threshold_``, above 0 just
            where the second is predicted; otherwise one score a class, the log-probability less
            that of its threshold, of which the largest is predicted.
        """
        logits = self._log_probability(X)
        if len(self.classes_) > 2:
            xp = namespace(logits)
            scores = logits - beside(np.log(to_host(self.thresholds_)), logits)
            largest = xp.amax(scores, 1)[:, None]  # others within rounding are made equal to it
            rounding = TOP_DIGITS * xp.clip(abs(largest), 1.0, 1e300)
            return xp.where(scores >= largest - rounding, largest, scores)
        reached = softmax_of_rows(logits)[:, 1] >= self.threshold_
        return on_its_side(logits[:, 1] - logits[:, 0] - odds_at(self.threshold_), reached)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probabilities of the classes.

        By default they are frequencies: of the rows given .3, three in ten should be of the class,
        if the classes are as frequent there as the model estimates they truly are in the training
        rows. With ``probability="balanced"`` the predicted class is always the likeliest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return softmax_of_rows(self._log_probability(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class whose probability reaches its threshold.

        Two classes: ``classes_[1]`` where its probability is at least ``threshold_``. More: the
        class with the largest probability divided by its entry of ``thresholds_``, the first of
        equal ones. That is the class of ``decision_function``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        scores = self.decision_function(X)
        best = scores.argmax(1) if scores.ndim == 2 else namespace(scores).where(scores > 0, 1, 0)
        return self.classes_[best if is_tensor(self.classes_) else to_host(best)]

    def choose_threshold(
        self,
        *,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        precision: float | None = None,
        recall: float | None = None,
        budget: float | None = None,
    ) -> Self:
        """Set ``threshold_`` for given costs, precision, recall or budget, without new rows.

        The second class is the one looked for. What every cut would give is known from left-out
        scores, with wrong labels counted as what they probably are (``operating_points_``).

        Parameters
        ----------
        cost_fn, cost_fp : float, default=None
            What a missed row of ``classes_[1]`` costs, and a false alarm, in the same money. The
            cut with the smallest expected cost is taken.
        precision : float, default=None
            The least share of the rows predicted ``classes_[1]`` that should be. The lowest such
            cut is taken; where there is none, nothing is predicted.
        recall : float, default=None
            The least share of the rows of ``classes_[1]`` that should be found. The highest such
            cut is taken.
        budget : float, default=None
            The largest share of all rows that may be predicted ``classes_[1]``.

        Returns
        -------
        self : object
            The estimator, whose ``predict`` now cuts there.
        """
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise ValueError("choose_threshold is for two classes; of more, set thresholds_")
        if not hasattr(self, "operating_points_"):
            raise ValueError("choose_threshold needs calibrate=True and ten rows of each class")
        rule = rule_of(cost_fn, cost_fp, precision, recall, budget)
        if rule.kind == "f1":
            raise ValueError(how_to_choose())
        points = to_host(self.operating_points_)
        self.threshold_ = float(points[rule.point(points), 0])
        return self
