"""A sample of the rows of each class that does not depend on their order or partition.

Every row has a key, a seeded hash of its numbers alone (before any scaling), and a class keeps the
distinct rows with the smallest keys. Keys are as good as random, so those rows are a uniform sample
of the class's distinct rows. Copies of a row have the same key and are kept as one row with the
sum of their weights; that sum is exact, because a row among the smallest of all is among the
smallest of every part that holds it, and so was never dropped. For the same reason

    reservoir(A ∪ B) = reservoir(reservoir(A) ∪ reservoir(B)),

whatever A and B: reservoirs can be made anywhere, in any order, and merged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Keys = NDArray[np.uint64]
Chunk = tuple[Array, Labels, Array, Keys]

HASH_STREAM = 0x7265736572766F69  # sets the hash's random numbers apart from the layer's
UNBOUNDED = 1 << 62  # the capacity of a reservoir that keeps every distinct row
# Rows that may enter are set aside and sorted in together: sorting at every batch of a long stream
# would cost more than its Gram matrix.
CHUNKS_SET_ASIDE = 64
ROWS_SET_ASIDE = 4096


@dataclass(frozen=True)
class Reservoir:
    """Rows of the smallest keys of each class, with their multiplicities."""

    rows: Array  # (R, B)
    labels: Labels  # (R,), sorted
    weight: Array  # (R,), multiplicity of each row among all rows seen
    keys: Keys  # (R,), sorted within each class
    dropped: NDArray[np.bool_]  # (K,), whether a class had more distinct rows than are kept
    seed: int  # which the keys depend on
    capacity: int  # distinct rows that a class may keep
    set_aside: tuple[Chunk, ...] = ()  # not yet sorted in; empty after settle

    @property
    def complete(self) -> bool:
        """Whether every row ever seen is here."""
        return not bool(self.dropped.any())

    def class_ranges(self) -> list[tuple[int, int]]:
        """Return where the rows of each class begin and end."""
        ends = np.searchsorted(self.labels, np.arange(len(self.dropped) + 1)).tolist()
        return list(pairwise(ends))


def empty_reservoir(n_classes: int, n_features: int, seed: int, capacity: int) -> Reservoir:
    """Return a reservoir without rows."""
    return Reservoir(
        np.empty((0, n_features)),
        np.empty(0, np.intp),
        np.empty(0),
        np.empty(0, np.uint64),
        np.zeros(n_classes, bool),
        seed,
        capacity,
    )


# Of the hash of a row: numbers are folded and stirred, and the sum of them is stirred by the
# finisher of splitmix64: keys ^= keys >> shift, then keys *= factor.
FOLD = 0x9E3779B97F4A7C15
FOLD_SHIFTS = 32, 29
STIRS = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 0)


@lru_cache(maxsize=16)
def column_multipliers(seed: int, n_features: int) -> Keys:
    generator = np.random.default_rng(np.random.SeedSequence([seed, HASH_STREAM]))
    odd = generator.integers(0, 1 << 63, size=n_features, dtype=np.uint64, endpoint=False)
    return (odd << np.uint64(1)) | np.uint64(1)


def row_keys(X: Array, seed: int) -> Keys:
    """Return the key of every row: a 64-bit hash of its numbers' bits.

    Each number's bits are stirred, multiplied by an odd number of its column and summed modulo
    2⁶⁴; splitmix64's finisher stirs the sum.
    """
    bits = (np.ascontiguousarray(X) + 0.0).view(np.uint64)  # + 0.0: the two zeros are one number
    # Short numbers (1.0, 2.5) end in dozens of zero bits, which a product would keep: fold first.
    bits ^= bits >> np.uint64(FOLD_SHIFTS[0])
    bits *= np.uint64(FOLD)
    bits ^= bits >> np.uint64(FOLD_SHIFTS[1])
    keys = np.einsum("ij,j->i", bits, column_multipliers(seed, X.shape[1]))
    for shift, factor in STIRS:
        keys ^= keys >> np.uint64(shift)
        if factor:
            keys *= np.uint64(factor)
    return np.asarray(keys)


def add_rows(
    reservoir: Reservoir, X: Array, labels: Labels, weight: Array, keys: Keys | None = None
) -> Reservoir:
    """Return the reservoir after it has seen more rows, their weights positive."""
    if keys is None:
        keys = row_keys(X, reservoir.seed)
    enters = keys <= _largest_keys(reservoir)[labels]
    dropped = reservoir.dropped
    if not enters.all():
        dropped = dropped.copy()
        dropped[labels[~enters]] = True
    set_aside = reservoir.set_aside
    if enters.any():
        set_aside = (*set_aside, (X[enters], labels[enters], weight[enters], keys[enters]))
    more = replace(reservoir, dropped=dropped, set_aside=set_aside)
    waiting = sum(len(chunk[1]) for chunk in set_aside)
    full = len(set_aside) >= CHUNKS_SET_ASIDE or waiting >= ROWS_SET_ASIDE
    return settle(more) if full else more


def merge_reservoirs(a: Reservoir, b: Reservoir) -> Reservoir:
    """Return the reservoir of the rows of both; the capacity is the smaller one."""
    if a.seed != b.seed:
        raise ValueError("reservoirs of different seeds cannot be merged")
    a, b = settle(a), settle(b)
    other = (b.rows, b.labels, b.weight, b.keys)
    both = replace(
        a,
        dropped=a.dropped | b.dropped,
        capacity=min(a.capacity, b.capacity),
        set_aside=(other,),
    )
    return settle(both)


def settle(reservoir: Reservoir) -> Reservoir:
    """Sort in the rows set aside: add up copies, keep each class's smallest keys."""
    if not reservoir.set_aside:
        return reservoir
    kept = (reservoir.rows, reservoir.labels, reservoir.weight, reservoir.keys)
    rows, labels, weight, keys = (
        np.concatenate(parts) for parts in zip(kept, *reservoir.set_aside, strict=True)
    )
    order, first = _distinct(rows, labels, keys)
    weight = np.add.reduceat(weight[order], np.flatnonzero(first)) if len(order) else weight
    order = order[first]
    sorted_in = replace(
        reservoir,
        rows=rows[order],
        labels=labels[order],
        weight=weight,
        keys=keys[order],
        set_aside=(),
    )
    return _cut_to_capacity(sorted_in)


def lower_capacity(reservoir: Reservoir, capacity: int) -> Reservoir:
    """Return a reservoir whose classes keep at most this many distinct rows from now on."""
    reservoir = settle(reservoir)
    if capacity >= reservoir.capacity:
        return reservoir
    return _cut_to_capacity(replace(reservoir, capacity=capacity))


def _cut_to_capacity(reservoir: Reservoir) -> Reservoir:
    labels = reservoir.labels
    # The rank of a row within its class: how far it stands from the class's first row.
    rank = np.arange(len(labels)) - np.searchsorted(labels, labels)
    keep = rank < reservoir.capacity
    if keep.all():
        return reservoir
    dropped = reservoir.dropped.copy()
    dropped[labels[~keep]] = True
    return replace(
        reservoir,
        rows=reservoir.rows[keep],
        labels=labels[keep],
        weight=reservoir.weight[keep],
        keys=reservoir.keys[keep],
        dropped=dropped,
    )


def _distinct(rows: Array, labels: Labels, keys: Keys) -> tuple[Labels, NDArray[np.bool_]]:
    """Return an order by class, key and content, and which rows in it are not copies."""
    order = np.lexsort((keys, labels))
    same = _same_key(labels, keys, order)
    before, after = order[:-1][same], order[1:][same]
    if same.any() and not np.array_equal(rows[before], rows[after]):
        # Different rows of equal keys: as good as never, but then content decides.
        order = np.lexsort((*rows.T[::-1], keys, labels))
        same = _same_key(labels, keys, order)
        same &= (rows[order[:-1]] == rows[order[1:]]).all(axis=1)
    first = np.ones(len(order), bool)
    first[1:] = ~same
    return order, first


def _same_key(labels: Labels, keys: Keys, order: Labels) -> NDArray[np.bool_]:
    labels, keys = labels[order], keys[order]
    return np.asarray((labels[1:] == labels[:-1]) & (keys[1:] == keys[:-1]))


def _largest_keys(reservoir: Reservoir) -> Keys:
    """Return the largest key that may still enter each class."""
    n_classes = len(reservoir.dropped)
    largest = np.full(n_classes, np.iinfo(np.uint64).max)
    sizes = np.bincount(reservoir.labels, minlength=n_classes)
    last = np.cumsum(sizes) - 1
    full = sizes >= reservoir.capacity
    largest[full] = reservoir.keys[last[full]]
    return largest


def find_rows(reservoir: Reservoir, X: Array, labels: Labels, keys: Keys) -> Labels:
    """Return the place of each row of X in a settled reservoir, -1 where it is not there."""
    places = np.full(len(X), -1, np.intp)
    for c in np.unique(labels):
        start, stop = np.searchsorted(reservoir.labels, [c, c + 1])
        if start == stop:
            continue
        mine = np.flatnonzero(labels == c)
        at = start + np.searchsorted(reservoir.keys[start:stop], keys[mine])
        # Different rows of one key stand side by side; one of them may be the row looked for.
        open_ = np.ones(len(mine), bool)
        while True:
            open_ &= at < stop
            open_[open_] = reservoir.keys[at[open_]] == keys[mine[open_]]
            if not open_.any():
                break
            tried = np.flatnonzero(open_)
            equal = (reservoir.rows[at[tried]] == X[mine[tried]]).all(axis=1)
            places[mine[tried[equal]]] = at[tried[equal]]
            open_[tried[equal]] = False
            at[tried[~equal]] += 1
    return places
