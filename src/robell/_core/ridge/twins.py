"""Equal rows are one row: merged before the ridge is solved, so that copies are left out together.

Rows with the same features m contribute Σ_i w_i |mβ - t_i|² = w |mβ - t|² + const, where
w = Σ_i w_i and t = Σ_i w_i t_i / w. The merged system has the same solution, and leaving out its
one row leaves out all copies: no row is scored by a model that has seen its twin. The squared
errors differ by the same constant under every penalty, so the same penalty is chosen. Folds keep
copies together too: a row's fold depends on what the row is, not on where it stands.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robell._core.array import (
    Array,
    Labels,
    beside,
    in_double_precision,
    namespace,
    sum_by_group,
    to_host,
    typical_distance,
)
from robell._core.membership.samples import row_keys
from robell._tools.threads import NO_THREADS, Threads

# Rows are equal where no column differs by more than this share of its typical distance, or beyond
# the 14 digits that survive being written with 15, as spreadsheets do.
SAME_SHARE = 1e-9
ROUNDING = 1e-14
# Models of four fifths of a small table are worse than that of all rows; of a large one they are
# not, and comparing its rows takes long.
FOLDS, FOLDS_OF_MANY, MANY = 10, 5, 2_000


class Twins(NamedTuple):
    """Which rows are equal."""

    first: Any  # place of the first row of each group, in the order of the rows
    group: Any  # the group of every row
    parts: Any = None  # of a group in equal parts: how many, and the place of the first, of each

    def merge(self, weight: Any, T: Any) -> tuple[Any, Any]:
        """Return w and t of the merged rows."""
        n_groups = len(self.first)
        total = sum_by_group(weight, self.group, n_groups)
        sums = sum_by_group(weight[:, None] * T, self.group, n_groups)
        some = namespace(total).where(total > 0, total, 1.0)  # rows of weight 0 have no target
        if self.parts is None:
            return total, sums / some[:, None]
        n_parts, whole = (beside(values, total) for values in self.parts)
        return total[whole] / n_parts, (sums / some[:, None])[whole]

    def in_parts(self, weight: Array, codes: Labels) -> Twins:
        """Return the groups, those of different observations in parts to be left out one by one.

        Equal rows under several labels, of these codes, are no copies of one record. Without all of
        them a score would be told by other rows alone, in a table of few kinds of rows by the wrong
        ones. A group has a part for each row under another label than its commonest or, where
        hardly any rows differ, for each row; at least one, and at most as many as there are folds.
        """
        group, n_groups = to_host(self.group), len(self.first)
        n_rows: Array = np.bincount(group, weight, n_groups).astype(np.float64)
        if n_groups > FOLDS:
            pair, of_pair = np.unique(group * (codes.max() + 1) + codes, return_inverse=True)
            commonest = np.zeros(n_groups)
            np.maximum.at(
                commonest, pair // (codes.max() + 1), np.bincount(of_pair.ravel(), weight)
            )
            n_rows = n_rows - commonest
        n_parts = np.clip(np.floor(n_rows + SAME_SHARE), 1, FOLDS).astype(np.intp)
        if (n_parts == 1).all():
            return self
        begin, of_part = np.cumsum(n_parts) - n_parts, np.arange(n_groups).repeat(n_parts)
        return Twins(
            self.first[beside(of_part, self.first)],
            beside(begin, self.group)[self.group],
            (n_parts[of_part], begin[of_part]),
        )


def find_twins(X: Any) -> Twins | None:
    """Return which rows of X are equal, or equal up to rounding; None where all rows differ."""
    xp = namespace(X)
    if "complex" in str(X.dtype):
        X = np.hstack([X.real, X.imag])
    low, high = xp.amin(X, 0), xp.amax(X, 0)
    # Halves first: the range of a column may be larger than the largest number.
    spread = high / 2 - low / 2
    near = xp.maximum(2 * SAME_SHARE * spread, ROUNDING * xp.maximum(abs(low), abs(high)))
    scale = xp.where(spread > 0, spread, xp.ones_like(spread))
    # Rows are sorted by one projection of their columns, and neighbours in that order compared.
    # Divided by less than the smallest normal number, a share would be infinite.
    divisor = xp.clip(in_double_precision(scale), float(np.finfo(np.float64).tiny), None)
    share = beside(np.random.default_rng(0).uniform(1.0, 2.0, X.shape[1]), X) / divisor
    key = xp.zeros_like(share[:1]).repeat(len(X))
    for j in range(X.shape[1]):  # a column at a time: no second table
        key += share[j] * (in_double_precision(X[:, j]) / 2 - low[j] / 2)
    order = xp.argsort(key)
    gap = key[order[1:]] - key[order[:-1]]
    widest = float((near / scale).sum()) * 4 + ROUNDING * 4 * X.shape[1]
    close = xp.where(gap <= widest)[0]
    half = X[order[close]] / 2
    apart, rounding = abs(half - X[order[close + 1]] / 2), ROUNDING * abs(half)
    # No column's own limit, which takes two medians, is larger than ``near``.
    for j in to_host(xp.where(((apart > rounding) & (apart <= near)).any(0))[0]).tolist():
        near[j] = SAME_SHARE * typical_distance(X[:, j] / 2)
    alike = ((apart <= rounding) | (apart <= near)).all(1)
    if not alike.any():
        return None
    same = np.zeros(len(X) - 1, bool)
    same[to_host(close)] = to_host(alike)
    # Groups are rows that follow each other in the order, numbered by their first rows.
    places, run = to_host(order), np.concatenate([[0], np.cumsum(~same)])
    first = np.full(run[-1] + 1, len(X))
    np.minimum.at(first, run, places)
    group = np.empty(len(X), np.intp)
    group[places] = np.argsort(np.argsort(first))[run]
    return Twins(beside(np.sort(first), X), beside(group, X))


def distinct_rows(X: Any, threads: Threads = NO_THREADS) -> Twins:
    """Return the groups of equal rows in an order that does not depend on how rows were given."""
    order_of_all = threads.start(_own_order, X)
    twins = find_twins(X)
    if twins is None:
        first = group = np.arange(len(X))
        order = order_of_all()
    else:
        first, group = to_host(twins.first), to_host(twins.group)
        order = _own_order(X[twins.first])
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return Twins(first[order], rank[group])


def _own_order(X: Any) -> Any:
    """Return an order of the rows that depends on their values alone, on the host."""
    direction = beside(np.random.default_rng(1).uniform(1.0, 2.0, X.shape[1]), X)
    return np.argsort(to_host(X @ direction), kind="stable")


def deal_out(X: Array, labels: Labels, multiplicity: Array) -> Labels:
    """Return the fold of every row, classes spread evenly; fewer folds where fewer rows differ."""
    # Dealt out in the order of a hash of their numbers, class by class, so that neither the order
    # of the rows, nor how often each occurs, nor the names of the classes change anything.
    twins = find_twins(X)
    group = np.arange(len(X)) if twins is None else np.asarray(twins.group)
    first = group if twins is None else np.asarray(twins.first)
    counts = np.zeros((len(first), int(labels.max()) + 1))
    np.add.at(counts, (group, labels), multiplicity)
    keys = row_keys(X[first], 0)
    by_rows = np.argsort(keys @ counts)  # equal counts go to the first class in this order
    label = by_rows[counts[:, by_rows].argmax(axis=1)]
    smallest = np.full(counts.shape[1], keys.max())
    np.minimum.at(smallest, label, keys)
    order = np.lexsort((keys, smallest[label]))
    fold = np.empty(len(first), np.intp)
    fold[order] = np.arange(len(first)) % (FOLDS if len(first) <= MANY else FOLDS_OF_MANY)
    return fold[group]
