"""Granular balls: a table split by 2-means until every ball is pure enough.

The released algorithm scans a list of balls; an impure one is split in two, one half staying in
its place and the other going to the end of the list. Whether and how a ball is split depends on
that ball alone, so here all balls of one generation are split at once: a generation costs a few
passes over the rows that are still in impure balls, whatever the number of balls.

Two-means starts from the ball's axis of largest variance, cut at the mean, and then follows
Lloyd's iterations to their end. The start is deterministic (the release's is unseeded), and does
not depend on the order of rows or on how often a row is repeated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from robell._core.array import Array, Labels, Mask

LLOYD_STEPS = 300
ROUNDING = 1e-9  # variances, and distances to two centres, that differ by less are equal


class Balls(NamedTuple):
    """One entry a ball."""

    center: Array  # (n_balls, B), mean of its rows
    radius: Array  # mean distance of its rows to the centre
    label: Labels  # its most frequent class; of equally frequent ones the first
    purity: Array  # that class's share
    size: Array  # number of rows, counted with multiplicity
    class_counts: Array  # (n_balls, K)


def distinct_rows(X: Array, labels: Labels, weight: Array) -> tuple[Array, Labels, Array]:
    """Merge equal (row, label) pairs in sorted order: balls depend on the table alone."""
    pairs, place = np.unique(
        np.column_stack([X, labels.astype(np.float64)]), axis=0, return_inverse=True
    )
    merged = np.asarray(np.bincount(place.ravel(), weights=weight), np.float64)
    return np.ascontiguousarray(pairs[:, :-1]), pairs[:, -1].astype(np.intp), merged


def grow_balls(X: Array, labels: Labels, n_classes: int, weight: Array, purity: float) -> Labels:
    """Split until every ball has at least this purity; return each row's ball, counted from 0."""
    X = X - X.mean(axis=0)
    ball_of_row = np.empty(len(X), np.intp)
    n_done = 0
    rows = np.arange(len(X))  # the rows of unfinished balls, ball after ball
    ball = np.zeros(len(X), np.intp)
    while len(rows):
        counts = _class_counts(ball, labels[rows], n_classes, weight[rows])
        size = counts.sum(axis=1)
        done = (counts.max(axis=1) >= purity * size) | (np.bincount(ball) == 1)
        finished = done[ball]
        ball_of_row[rows[finished]] = n_done + (np.cumsum(done) - 1)[ball[finished]]
        n_done += int(done.sum())
        rows, ball = rows[~finished], (np.cumsum(~done) - 1)[ball[~finished]]
        if len(rows):
            side = two_means(X[rows], weight[rows], ball)
            ball = 2 * ball + side
            order = np.argsort(ball, kind="stable")
            rows, ball = rows[order], ball[order]
    return ball_of_row


def two_means(X: Array, weight: Array, ball: Labels) -> Mask:
    """Cut every ball in two non-empty parts; say which rows are above. ``ball`` is sorted."""
    # Lloyd's iterations for all balls at once, exactly, passing over rows that stay for certain. A
    # row is in the upper part when its margin x·d - t is positive, d being the difference of the
    # two centres. Since d and t moved by δd and δt, the margin moved by at most |x||δd| + |δt|;
    # rows whose last margin was larger are passed over (as in Hamerly's k-means).
    side = _first_cut(X, weight, ball)
    total, rows_in = np.bincount(ball, weights=weight), np.bincount(ball)
    n_balls, n_rows = len(total), len(X)
    # Around the ball's mean: the sum over the lower part is minus that over the upper one.
    X = X - (_sums(X, weight, ball) / total[:, None])[ball]
    length = np.sqrt(np.einsum("ij,ij->i", X, X))
    above, rows_above = np.bincount(ball, weights=weight * side), np.bincount(ball, weights=side)
    sum_above = _sums(X, weight * side, ball)

    direction, threshold = np.zeros_like(sum_above), np.zeros(n_balls)
    moved_d, moved_t = np.zeros(n_balls), np.zeros(n_balls)  # path lengths of d and t
    # Where they were when a row's margin was measured; -1: at first every row is.
    seen_d, seen_t, margin = np.full(n_rows, -1.0), np.zeros(n_rows), np.zeros(n_rows)
    moving, rows = np.ones(n_balls, bool), np.arange(n_rows)
    for _ in range(LLOYD_STEPS):
        # The mean of either part is its centre.
        high, low = sum_above / above[:, None], -sum_above / (total - above)[:, None]
        moved_d += np.linalg.norm(high - low - direction, axis=1)
        direction, before = high - low, threshold
        threshold = 0.5 * np.einsum("ij,ij->i", direction, high + low)
        moved_t += np.abs(threshold - before)

        # The margins of rows that may have changed sides; the last factor covers rounding.
        slack = length[rows] * (moved_d[ball[rows]] - seen_d[rows])
        slack += moved_t[ball[rows]] - seen_t[rows]
        near = rows[(np.abs(margin[rows]) <= slack * (1 + 1e-9)) | (seen_d[rows] < 0)]
        along = np.einsum("ij,ij->i", X[near], direction[ball[near]])
        of_near = along - threshold[ball[near]]
        rounding = ROUNDING * length[near] * np.linalg.norm(direction, axis=1)[ball[near]]
        margin[near] = np.where(abs(of_near) <= rounding, 0.0, of_near)
        seen_d[near], seen_t[near] = moved_d[ball[near]], moved_t[ball[near]]

        # Rows move to the part of the nearer centre.
        changed = near[(margin[near] > 0) != side[near]]
        sign, of_changed = np.where(side[changed], -1.0, 1.0), ball[changed]
        n_above = rows_above + np.bincount(of_changed, weights=sign, minlength=n_balls)
        vanishing = (n_above == 0) | (n_above == rows_in)  # by rounding only: keep the cut
        stay = ~vanishing[of_changed]
        changed, sign, of_changed = changed[stay], sign[stay], of_changed[stay]
        if not len(changed):
            break
        side[changed] = ~side[changed]
        sign *= weight[changed]
        above += np.bincount(of_changed, weights=sign, minlength=n_balls)
        rows_above = np.where(vanishing, rows_above, n_above)
        sum_above += _sums(X[changed], sign, of_changed, n_balls)
        still = np.zeros(n_balls, bool)
        still[of_changed] = True
        if still.sum() < moving.sum():
            moving, rows = still, rows[still[ball[rows]]]
    return side


def describe_balls(X: Array, labels: Labels, n_classes: int, weight: Array, ball: Labels) -> Balls:
    """Summarise every ball."""
    order = np.argsort(ball, kind="stable")
    X, labels, weight, ball = X[order], labels[order], weight[order], ball[order]
    counts = _class_counts(ball, labels, n_classes, weight)
    size = counts.sum(axis=1)
    # Sums are taken around one row of each ball: a ball of equal rows has them as its centre.
    anchor = X[np.searchsorted(ball, np.arange(ball[-1] + 1))]
    center = anchor + _sums(X - anchor[ball], weight, ball) / size[:, None]
    distance = np.linalg.norm(X - center[ball], axis=1)
    radius = np.bincount(ball, weights=weight * distance) / size
    label = counts.argmax(axis=1)
    return Balls(center, radius, label, counts.max(axis=1) / size, size, counts)


def keep_balls(balls: Balls, n_classes: int, min_size: Array) -> Mask:
    """Say which balls have the ``min_size`` of their class; of a class of none the largest stay."""
    keep = balls.size >= min_size[balls.label]
    for c in range(n_classes):
        of_class = balls.label == c
        if of_class.any() and not keep[of_class].any():
            keep |= of_class & (balls.size == balls.size[of_class].max())
    return np.asarray(keep)


def _sums(X: Array, weight: Array, ball: Labels, n_balls: int | None = None) -> Array:
    """Weighted sum of the rows of each ball, as one sparse matrix product."""
    n_balls = int(ball[-1]) + 1 if n_balls is None else n_balls
    starts = np.searchsorted(ball, np.arange(n_balls + 1))
    return np.asarray(csr_array((weight, np.arange(len(X)), starts), (n_balls, len(X))) @ X)


def _class_counts(ball: Labels, labels: Labels, n_classes: int, weight: Array) -> Array:
    n_balls = int(ball.max()) + 1
    counts = np.bincount(ball * n_classes + labels, weight, minlength=n_balls * n_classes)
    return np.asarray(counts.reshape(n_balls, n_classes), np.float64)


def _first_cut(X: Array, weight: Array, ball: Labels) -> Mask:
    """Cut every ball at the mean of its axis of largest variance, the first of equal ones."""
    total = np.bincount(ball, weights=weight)
    mean = _sums(X, weight, ball) / total[:, None]
    variance = _sums(np.square(X - mean[ball]), weight, ball)
    axis = (variance >= variance.max(axis=1)[:, None] * (1.0 - ROUNDING)).argmax(axis=1)
    along = X[np.arange(len(X)), axis[ball]]
    spread = np.sqrt(variance.max(axis=1) / total)
    side = along > (mean[np.arange(len(mean)), axis] + ROUNDING * spread)[ball]
    # Where rounding or equal rows leave a part empty: the largest values against the others,
    # or, all rows being equal, the first row against the others.
    high = np.bincount(ball, weights=side)
    for k in np.flatnonzero((high == 0) | (high == np.bincount(ball))):
        members = slice(*np.searchsorted(ball, [k, k + 1]))
        spread = np.ptp(X[members], axis=0)
        values = X[members, spread.argmax()]
        side[members] = values == values.max()
        if spread.max() == 0:
            side[members] = np.arange(len(values)) > 0
    return np.asarray(side)
