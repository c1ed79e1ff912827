"""Where to cut the scores of two classes, and what every cut is expected to give.

By default the second class is predicted for a share of the rows: mostly that of the rows nearest
to its mean score (means weighted by P(z | s, y)), in part its estimated share. Only ranks of
scores enter the cut, so that it does not depend on the scale of any member's scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PRIOR_SHARE = 0.25  # weight of the estimated class shares in how often a class is predicted
CLEAN_PRIOR_SHARE = 0.4  # the same where no label is wrong
SAME = 1e-12  # by how much of themselves equal mean scores may differ
AWAY = 1e-6  # from equal scores of all rows: scored again, they may differ by rounding
MOST_POINTS = 1000  # of the operating curve


def predicted_share(scores: Array, Z: Array, weight: Array, cleaning: float) -> float:
    """Return for which share of the rows the second class is to be predicted.

    ``cleaning`` goes from 0 for clean labels to 1.
    """
    prior = float(weight @ Z[:, 1] / weight.sum())
    part = CLEAN_PRIOR_SHARE + cleaning * (PRIOR_SHARE - CLEAN_PRIOR_SHARE)
    return (1.0 - part) * nearest_share(scores, Z, weight) + part * prior


def nearest_share(scores: Array, Z: Array, weight: Array) -> float:
    """Return the share of the rows nearer to the mean score of the second class than the first's.

    Class means are weighted by Z = P(z | s, y): of the true classes, as far as known.
    """
    counts = np.maximum(weight @ Z, 1e-12)
    low, high = (Z * weight[:, None]).T @ scores[:, 1] / counts
    if abs(high - low) <= SAME * max(abs(high), abs(low), 1e-300):
        return float(counts[1] / counts.sum())  # no row is nearer to either
    middle = 0.5 * (low + high)
    nearer = (scores[:, 1] - middle) * (high - low) > 0
    return float(weight @ nearer / weight.sum())


def cut_for_share(values: Array, weight: Array, share: float) -> float:
    """Return a threshold that this share of the weight lies above, between two values.

    Of the largest ones, where they are equal, all or none lie above it: what comes nearer.
    """
    order = np.argsort(-values, kind="stable")
    ordered, above = values[order], np.cumsum(weight[order])
    place = int(np.searchsorted(above, share * above[-1] * (1.0 + 1e-12), side="right"))
    place = min(place, len(values) - 1)
    # Copies of a row stay on one side.
    tie = 1e-9 * (ordered[0] - ordered[-1])
    while place > 0 and ordered[place - 1] - ordered[place] <= tie:
        place -= 1
    if place > 0:
        return float(0.5 * (ordered[place - 1] + ordered[place]))
    end = int((ordered >= ordered[0] - tie).sum())
    largest, missed = float(ordered[0]), share * above[-1]
    away = AWAY * max(1.0, abs(largest))
    if end < len(values):
        away = 0.5 * float(largest - ordered[end])
    return largest - away if abs(above[end - 1] - missed) < missed else largest + away


def operating_points(probability: Array, Z: Array, weight: Array) -> Array:
    """Return what cuts give: rows of threshold, predicted share, recall and precision.

    The second class is predicted where its probability is at least the threshold. Truth is
    counted by Z = P(z | s, y), so that wrong labels count as what they probably are. Thresholds
    fall from one that no row reaches to 0.
    """
    order = np.argsort(-probability, kind="stable")
    P, total = probability[order], weight.sum()
    last = np.append(np.flatnonzero(P[:-1] > P[1:]), len(P) - 1)
    if len(last) > MOST_POINTS:
        last = last[np.unique(np.linspace(0, len(last) - 1, MOST_POINTS).astype(np.intp))]
    predicted = np.cumsum(weight[order])[last]
    hits = np.cumsum((weight * Z[:, 1])[order])[last]
    below = np.append(P[np.minimum(last[:-1] + 1, len(P) - 1)], 0.0)
    points = np.empty((len(last) + 1, 4))
    points[0] = 0.5 * (1.0 + P[0]) if P[0] < 1 else np.inf, 0.0, 0.0, 1.0
    points[1:, 0] = np.where(np.arange(len(last)) < len(last) - 1, 0.5 * (P[last] + below), 0.0)
    points[1:, 1] = predicted / total
    points[1:, 2] = hits / max(float(hits[-1]), 1e-300)
    points[1:, 3] = hits / predicted
    return points


def cheapest_point(points: Array, prior: float, cost_fn: float, cost_fp: float) -> int:
    """Return the place of the cut with the smallest expected cost, the higher of equal ones."""
    _, share, recall, _ = points.T
    hits = prior * recall
    return int(np.argmin(cost_fn * (prior - hits) + cost_fp * (share - hits)))


def point_of_precision(points: Array, precision: float) -> int:
    """Return the place of the cut that finds most of those with at least this precision."""
    good = points[:, 3] >= precision
    return int(np.flatnonzero(good)[-1])  # the first point predicts nothing, and is good


def point_of_recall(points: Array, recall: float) -> int:
    """Return the place of the highest cut with at least this recall."""
    return int(np.argmax(points[:, 2] >= recall * (1.0 - 1e-12)))


def point_of_budget(points: Array, share: float) -> int:
    """Return the place of the lowest cut that predicts at most this share of the rows."""
    return int(np.flatnonzero(points[:, 1] <= share * (1.0 + 1e-12))[-1])
