"""What held-out predictions are worth: areas, calibration, a threshold in rows, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from robell._core.labels.cuts import operating_points

RESAMPLES = 200
COVERED = (2.5, 97.5)  # percentiles of an interval
BINS = 10


@dataclass(frozen=True)
class Measured:
    """A value with the interval in which it would fall for 95 of 100 tables of the same kind."""

    value: float
    low: float
    high: float


def average_precision(probability, positive, weight=None):
    """Return the area under the curve of precision over recall, as sums over sorted rows.

    ``weight`` may have a row for each of several resamples, which then get a value each.
    """
    order = np.argsort(-probability, kind="stable")
    weight = np.ones(len(order)) if weight is None else np.asarray(weight, np.float64)
    weight = np.atleast_2d(weight)[:, order]
    of_class = weight * np.asarray(positive, np.float64)[order]
    last = np.append(np.diff(probability[order]) != 0, True)
    found = np.cumsum(of_class, axis=1)[:, last]
    flagged = np.cumsum(weight, axis=1)[:, last]
    step = np.diff(found, axis=1, prepend=0.0)
    total = np.maximum(found[:, -1:], 1e-300)
    values = (step / total * found / np.maximum(flagged, 1e-300)).sum(axis=1)
    return float(values[0]) if len(values) == 1 else values


def roc_area(probability, positive, weight=None):
    """Return the area under the ROC curve: how often a positive row is ranked above another."""
    order = np.argsort(probability, kind="stable")
    weight = np.ones(len(order)) if weight is None else np.asarray(weight, np.float64)
    weight = np.atleast_2d(weight)[:, order]
    positive = np.asarray(positive, np.float64)[order]
    of_class, others = weight * positive, weight * (1.0 - positive)
    first = np.insert(np.diff(probability[order]) != 0, 0, True)
    starts = np.flatnonzero(first)
    mine = np.add.reduceat(of_class, starts, axis=1)
    theirs = np.add.reduceat(others, starts, axis=1)
    below = np.cumsum(theirs, axis=1) - 0.5 * theirs
    totals = np.maximum(mine.sum(axis=1) * theirs.sum(axis=1), 1e-300)
    values = (mine * below).sum(axis=1) / totals
    return float(values[0]) if len(values) == 1 else values


def resamples(n_rows, seed):
    """Return how often each row occurs in each of many samples drawn with replacement."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(n_rows, np.full(n_rows, 1.0 / n_rows), size=RESAMPLES).astype(np.float32)


def measured(value, values):
    """Return a value with the interval of its resamples."""
    low, high = np.percentile(values, COVERED)
    return Measured(float(value), float(low), float(high))


def cross_flagged(held, probability, positive, rule, fallback):
    """Return which held-out rows are flagged by thresholds chosen without them."""
    flagged = np.zeros(len(probability), bool)
    for fold in np.unique(held.folds):
        hidden = held.folds == fold
        others = ~hidden
        points = operating_points(probability[others], positive[others], np.ones(others.sum()))
        chosen = rule.point(points)
        reached = chosen or rule.kind != "precision"
        flagged[hidden] = probability[hidden] >= (points[chosen, 0] if reached else fallback)
    return flagged


def counts_of(flagged, positive, weight=None):
    """Return flagged, found and positive, as shares of the rows; for every resample of weights."""
    weight = np.ones(len(flagged)) if weight is None else weight
    weight = np.atleast_2d(weight)
    total = weight.sum(axis=1)
    positive = np.asarray(positive, np.float64)
    return (
        weight @ flagged / total,
        weight @ (flagged * positive) / total,
        weight @ positive / total,
    )


def calibration_bins(probability, positive):
    """Return mean probability, share of positives and rows of bins of equally many rows."""
    order = np.argsort(probability, kind="stable")
    bins = [places for places in np.array_split(order, BINS) if len(places)]
    positive = np.asarray(positive, np.float64)
    return [(float(probability[b].mean()), float(positive[b].mean()), len(b)) for b in bins]


def calibration_error(bins):
    """Return the mean distance between probability and share over the bins."""
    rows = sum(n for *_, n in bins)
    return sum(abs(p - share) * n for p, share, n in bins) / rows


def separations(probability, codes):
    """Return the area under the ROC curve of each class against the others."""
    return [
        float(roc_auc_score(codes == k, probability[:, k])) for k in range(probability.shape[1])
    ]
