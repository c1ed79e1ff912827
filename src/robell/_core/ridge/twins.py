"""Equal rows are merged before the ridge is solved, so that copies are left out together.

Rows with the same features m contribute Σ_i w_i |mβ - t_i|² = w |mβ - t|² + const, where
w = Σ_i w_i and t = Σ_i w_i t_i / w. The merged system has the same solution, and leaving out its
one row leaves out all copies: no row is scored by a model that has seen its twin. The squared
errors differ by the same constant under every penalty, so the same penalty is chosen. Folds keep
copies together too: a row's fold depends on what the row is, not on where it stands. Equal rows
under several labels or targets are no copies: they are divided (:meth:`Twins.in_parts`).
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


class Parts(NamedTuple):
    """The rows of a merged system, each a part of a group of equal rows."""

    n_parts: Labels  # into how many parts the rows of this one are divided
    whole: Labels  # the first of these
    equal: Labels  # the first part of all rows equal to these
    own: Array  # how much of the target is of its own rows; the rest is the mean of all equal ones


class Twins(NamedTuple):
    """Which rows are equal, and which of them are left out together."""

    first: Any  # place of the first row of each group, in the order of the rows
    group: Any  # the group of every row; of a group in parts the first of them
    parts: Parts | None = None

    def merge(self, weight: Any, T: Any) -> tuple[Any, Any]:
        """Return w and t of the merged rows."""
        total, sums = self._sums(self.group, weight, weight[:, None] * T)
        if self.parts is None:
            return total, _mean(total, sums)
        n_parts, whole, equal, own = (beside(values, total) for values in self.parts)
        mean = _mean(*self._sums(equal, total, sums))[equal]
        off = own[:, None] * (_mean(total, sums)[whole] - mean)
        off -= _mean(*self._sums(equal, total, total[:, None] * off))[equal]
        return total[whole] / n_parts, mean + off

    def _sums(self, group: Any, *values: Any) -> tuple[Any, ...]:
        """Return the sums of values over groups."""
        return tuple(sum_by_group(some, group, len(self.first)) for some in values)

    def in_parts(self, weight: Array, codes: Labels, by_label: bool = False) -> Twins:
        """Return the groups, those of different observations in parts to be left out one by one.

        Equal rows under several labels, of these codes, are no copies of one record. Without all of
        them a score would be told by other rows alone, in a table of few kinds of rows by the wrong
        ones. A group has a part for each row under another label than its commonest or, where
        hardly any rows differ, for each row; at least one, and at most as many as there are folds.

        Parts have the mean target of the group. ``by_label`` divides the rows of each label by
        themselves, into parts of s rows with the target that s of the n rows have on average if one
        of them is of this label: (n - s)/(s (n - 1)) of it is the label's, the rest the mean. So a
        part of a single row is that row.
        """
        group, n_groups, n_codes = to_host(self.group), len(self.first), int(codes.max()) + 1
        n_rows: Array = np.bincount(group, weight, n_groups).astype(np.float64)
        different = n_rows
        if n_groups > FOLDS:
            pair, of_pair = np.unique(group * n_codes + codes, return_inverse=True)
            commonest = np.zeros(n_groups)
            np.maximum.at(commonest, pair // n_codes, np.bincount(of_pair.ravel(), weight))
            different = n_rows - commonest
        n_parts = np.clip(np.floor(different + SAME_SHARE), 1, FOLDS)
        divided = n_parts > 1
        if not divided.any():
            return self
        alike, of_row = np.unique(
            group * n_codes + np.where(by_label & divided[group], codes, 0), return_inverse=True
        )
        kind, of_row = alike // n_codes, of_row.ravel()
        n, n_alike = n_rows[kind], np.bincount(of_row, weight)
        share = n_alike / np.where(n > 0, n, 1.0)
        count = np.floor(n_parts[kind] * share + 0.5 + SAME_SHARE).clip(1).astype(np.intp)
        own = np.zeros(len(kind))
        if by_label:
            size = n_alike / count
            np.divide(n - size, size * (n - 1), out=own, where=divided[kind])
        begin, of_part = np.cumsum(count) - count, np.arange(len(alike)).repeat(count)
        equal = begin[np.searchsorted(kind, kind)]
        return Twins(
            self.first[beside(kind[of_part], self.first)],
            beside(begin[of_row], self.group),
            Parts(*(values[of_part] for values in (count, begin, equal, own.clip(None, 1.0)))),
        )


def _mean(total: Any, sums: Any) -> Any:
    """Return sums over their total weight; rows of weight 0 have no target."""
    return sums / namespace(total).where(total > 0, total, 1.0)[:, None]


def left_out_together(X: Any, outcome: Any, multiplicity: Any) -> Twins | None:
    """Return which rows of these labels or targets are left out together; None where none are."""
    twins = find_twins(X)
    if twins is None:
        if len(X) > FOLDS or bool((multiplicity < 2 - SAME_SHARE).all()):
            return None
        each = beside(np.arange(len(X)), X)  # where hardly any rows differ weights may be divided
        twins = Twins(each, each)
    codes = to_host(outcome)
    if codes.ndim > 1:
        codes = np.unique(row_keys(codes, 0), return_inverse=True)[1].ravel()
    return twins.in_parts(to_host(multiplicity), codes, by_label=True)


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


def fold_shares(X: Array, labels: Labels, multiplicity: Array) -> Array:
    """Return how much of every row each fold holds, classes spread evenly: equal ones are in one.

    Rows that are left out in parts are in the folds of these. There are fewer folds where fewer
    rows differ.
    """
    # Dealt out in the order of a hash of their numbers, class by class, so that neither the order
    # of the rows, nor how often each occurs, nor the names of the classes change anything.
    each = np.arange(len(X))
    twins = left_out_together(X, labels, multiplicity) or Twins(each, each)
    first, group, parts = np.asarray(twins.first), np.asarray(twins.group), twins.parts
    counts = np.zeros((len(first), int(labels.max()) + 1))
    np.add.at(counts, (group, labels), multiplicity)
    keys = row_keys(X[first], 0)
    by_rows = np.argsort(keys @ counts)  # equal counts go to the first class in this order
    label = by_rows[counts[:, by_rows].argmax(axis=1)]
    if parts is not None:
        label = label[parts.whole]
    smallest = np.full(counts.shape[1], keys.max())
    np.minimum.at(smallest, label, keys)
    order = np.lexsort((keys, np.argsort(by_rows)[label], smallest[label]))
    n_folds = min(len(first), FOLDS if len(first) <= MANY else FOLDS_OF_MANY)
    shares: Array = np.empty((len(first), n_folds))
    shares[order] = np.eye(n_folds)[np.arange(len(first)) % n_folds]
    if parts is not None:
        shares = sum_by_group(shares, parts.whole, len(first)) / parts.n_parts[:, None]
        # Rounded: a row of which rounding alone is left would be a class of no weight.
        shares = twins.merge(multiplicity, shares[group])[1].clip(0.0).round(12)
        shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(shares[group])
