"""A threshold for given costs, precision, recall or budget, from what a fit already knows."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from robell._core.array import to_host
from robell._core.labels.cuts import (
    cheapest_point,
    point_of_budget,
    point_of_precision,
    point_of_recall,
)

POINT_OF = {
    "precision": point_of_precision,
    "recall": point_of_recall,
    "budget": point_of_budget,
}


class ThresholdChoice:
    """What a classifier of two classes with ``operating_points_`` offers."""

    def choose_threshold(
        self, *, cost_fn=None, cost_fp=None, precision=None, recall=None, budget=None
    ):
        """Set ``threshold_`` for given costs, precision, recall or budget, without new rows.

        The second class is the one looked for. What every cut would give is known from left-out
        scores, with wrong labels counted as what they probably are (``operating_points_``).

        Parameters
        ----------
        cost_fn, cost_fp : float, default=None
            What a missed row of ``classes_[1]`` costs, and a false alarm. The cut with the
            smallest expected cost is taken.
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
        wanted = {"precision": precision, "recall": recall, "budget": budget}
        asked = {name: value for name, value in wanted.items() if value is not None}
        costs = (cost_fn is not None) + (cost_fp is not None)
        if len(asked) + (costs > 0) != 1 or costs == 1:
            raise ValueError("give cost_fn and cost_fp, or one of precision, recall and budget")
        _require_positive(asked or {"cost_fn": cost_fn, "cost_fp": cost_fp}, bounded=bool(asked))
        points = to_host(self.operating_points_)
        if costs:
            place = cheapest_point(points, float(self.class_prior_[1]), cost_fn, cost_fp)
        else:
            ((name, value),) = asked.items()
            place = POINT_OF[name](points, value)
        self.threshold_ = float(points[place, 0])
        return self


def _require_positive(values, bounded):
    """Raise where a number is not positive and finite, or above 1 where it must not be."""
    for name, value in values.items():
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not (number and 0 < value < np.inf and (value <= 1 or not bounded)):
            where = "in (0, 1]" if bounded else "positive and finite"
            raise ValueError(f"{name} must be a number, {where}; got {value!r}")
