"""Where to cut the scores of two classes, and what every cut is expected to give.

By default the second class is predicted for a share of the rows: mostly that of the rows nearest
to its mean score (means weighted by P(z | s, y)), in part its estimated share. Only ranks of
scores enter the cut, so that it does not depend on the scale of any member's scores.
"""

from __future__ import annotations

import numpy as np

from robell._core.array import Array

PRIOR_SHARE = 0.25  # weight of the estimated class shares in how often a class is predicted
CLEAN_PRIOR_SHARE = 0.4  # the same where no label is wrong
SAME = 1e-12  # by how much of themselves equal mean scores may differ
AWAY = 1e-6  # from equal scores of all rows: scored again, they may differ by rounding
HEAVY = 0.05  # share of the rows from which on equal ones are many
MOST_POINTS = 1000  # of the operating curve that a model keeps


def predicted_share(scores: Array, Z: Array, weight: Array, cleaning: float) -> float:
    """Return the share of rows to predict as the second class; ``cleaning`` from 0 (clean) to 1."""
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

    Of equal values all or none lie above it: none, or what comes nearer where they are the largest
    or of many rows.
    """
    order = np.argsort(-values, kind="stable")
    ordered, above = values[order], np.cumsum(weight[order])
    wanted, n = share * above[-1], len(values)
    place = min(int(np.searchsorted(above, wanted * (1.0 + 1e-12), side="right")), n - 1)
    # Copies of a row stay on one side.
    tie = 1e-9 * (ordered[0] - ordered[-1])
    begins = np.flatnonzero(np.append(True, ordered[:-1] - ordered[1:] > tie))
    run = int(np.searchsorted(begins, place, side="right")) - 1
    begin, end = int(begins[run]), int(np.append(begins, n)[run + 1])
    before, after = float(above[begin - 1]) if begin else 0.0, float(above[end - 1])
    is_heavy = begin == 0 or (end < n and after - before > HEAVY * above[-1])
    cut = end if is_heavy and after - wanted < wanted - before else begin
    if 0 < cut < n:
        return float(0.5 * (ordered[cut - 1] + ordered[cut]))
    edge = float(ordered[0] if cut == 0 else ordered[-1])
    away = AWAY * max(1.0, abs(edge))
    if cut == 0:
        return edge + (0.5 * (edge - float(ordered[end])) if end < n else away)
    return edge - away


def counts_at_cuts(
    probability: Array, positive: Array, weight: Array, most: int | None = None
) -> tuple[Array, Array, Array]:
    """Return thresholds, and how much weight each flags, and how much of that is positive.

    A row is flagged where its probability is at least the threshold. Thresholds fall from one that
    no row reaches to 0, each as far from the row above as from the row below; ``most`` thins them
    out. ``positive`` is 1 or 0, or how probably a row is positive.
    """
    order = np.argsort(-probability, kind="stable")
    P = probability[order]
    last = np.append(np.flatnonzero(P[:-1] > P[1:]), len(P) - 1)  # of rows of equal probability
    if most is not None and len(last) > most:
        last = last[np.unique(np.linspace(0, len(last) - 1, most).astype(np.intp))]
    above = 0.5 * (1.0 + P[0]) if P[0] < 1 else np.inf
    between = 0.5 * (P[last[:-1]] + P[last[:-1] + 1])
    flagged, hits = (np.append(0.0, np.cumsum(w[order])[last]) for w in (weight, weight * positive))
    return np.concatenate([[above], between, [0.0]]), flagged, hits


def operating_points(
    probability: Array, positive: Array, weight: Array, most: int | None = None
) -> Array:
    """Return threshold, flagged share, recall and precision (1 where none is flagged) of cuts."""
    thresholds, flagged, hits = counts_at_cuts(probability, positive, weight, most)
    precision = np.append(1.0, hits[1:] / flagged[1:])
    recall = hits / max(float(hits[-1]), 1e-300)
    return np.column_stack([thresholds, flagged / weight.sum(), recall, precision])
