"""Samples of rows drawn by key, which do not depend on order or partition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robell._core.array import (
    Array,
    Labels,
    Mask,
    beside,
    in_double_precision,
    is_tensor,
    namespace,
)
from robell._core.membership.equations import class_sizes
from robell._tools.threads import NO_THREADS, Threads

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
    dropped: Mask  # (K,), whether a class had more distinct rows than are kept
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
    """Return the key of every row: a 64-bit hash of its numbers' bits."""
    # Each number's bits are stirred, multiplied by an odd number of its column and summed modulo
    # 2⁶⁴; splitmix64's finisher stirs the sum.
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
    n_classes = len(reservoir.dropped)
    largest = np.full(n_classes, np.iinfo(np.uint64).max)  # key that may still enter
    counts = np.bincount(reservoir.labels, minlength=n_classes)
    full = counts >= reservoir.capacity
    largest[full] = reservoir.keys[np.cumsum(counts)[full] - 1]
    enters = keys <= largest[labels]
    dropped = reservoir.dropped
    if not enters.all():
        dropped = dropped.copy()
        dropped[labels[~enters]] = True
    set_aside = reservoir.set_aside
    if enters.any():
        set_aside = (*set_aside, (X[enters], labels[enters], weight[enters], keys[enters]))
    more = replace(reservoir, dropped=dropped, set_aside=set_aside)
    waiting = sum(len(chunk[1]) for chunk in set_aside)
    is_much = len(set_aside) >= CHUNKS_SET_ASIDE or waiting >= ROWS_SET_ASIDE
    return settle(more) if is_much else more


def merge_reservoirs(a: Reservoir, b: Reservoir) -> Reservoir:
    """Return the reservoir of the rows of both; the capacity is the smaller one."""
    if a.seed != b.seed:
        raise ValueError("reservoirs of different seeds cannot be merged")
    a, b = settle(a), settle(b)
    dropped, capacity = a.dropped | b.dropped, min(a.capacity, b.capacity)
    other = (b.rows, b.labels, b.weight, b.keys)
    return settle(replace(a, dropped=dropped, capacity=capacity, set_aside=(other,)))


def settle(reservoir: Reservoir) -> Reservoir:
    """Sort in the rows set aside: add up copies, keep each class's smallest keys."""
    if not reservoir.set_aside:
        return reservoir
    settled = (reservoir.rows, reservoir.labels, reservoir.weight, reservoir.keys)
    chunks = zip(settled, *reservoir.set_aside, strict=True)
    rows, labels, weight, keys = map(np.concatenate, chunks)
    order, first = _distinct(rows, labels, keys)
    weight = np.add.reduceat(weight[order], np.flatnonzero(first)) if len(order) else weight
    order = order[first]
    kept: dict[str, Any] = {"rows": rows[order], "labels": labels[order], "keys": keys[order]}
    return _cut_to_capacity(replace(reservoir, **kept, weight=weight, set_aside=()))


def _cut_to_capacity(reservoir: Reservoir) -> Reservoir:
    """Return the reservoir with as many rows of each class as it may keep, those of small keys."""
    labels = reservoir.labels
    # The rank of a row within its class: how far it stands from the class's first row.
    rank = np.arange(len(labels)) - np.searchsorted(labels, labels)
    keep = rank < reservoir.capacity
    if keep.all():
        return reservoir
    dropped = reservoir.dropped.copy()
    dropped[labels[~keep]] = True
    names = ("rows", "labels", "weight", "keys")
    kept: dict[str, Any] = {name: getattr(reservoir, name)[keep] for name in names}
    return replace(reservoir, **kept, dropped=dropped)


def _distinct(rows: Array, labels: Labels, keys: Keys) -> tuple[Labels, Mask]:
    """Return an order by class, key and content, and which rows in it are not copies."""
    # Different rows of equal keys are as good as never there; then content decides.
    for columns in ((keys, labels), (*rows.T[::-1], keys, labels)):
        order = np.lexsort(columns)
        before, after = order[:-1], order[1:]
        same = (labels[before] == labels[after]) & (keys[before] == keys[after])
        equal = (rows[before[same]] == rows[after[same]]).all(axis=1)
        if equal.all():
            break
    same[same] = equal
    return order, np.append(np.ones(min(1, len(order)), bool), ~same)


def find_rows(reservoir: Reservoir, X: Array, labels: Labels, keys: Keys) -> Labels:
    """Return the place of each row of X in a settled reservoir, -1 where it is not there."""
    places = np.full(len(X), -1, np.intp)
    for c in np.unique(labels):
        start, stop = np.searchsorted(reservoir.labels, [c, c + 1])
        mine = np.flatnonzero(labels == c)
        at = start + np.searchsorted(reservoir.keys[start:stop], keys[mine])
        # Different rows of one key stand side by side; one of them may be the row looked for.
        while len(mine):
            mine, at = mine[at < stop], at[at < stop]
            same = reservoir.keys[at] == keys[mine]
            mine, at = mine[same], at[same]
            equal = (reservoir.rows[at] == X[mine]).all(axis=1)
            places[mine[equal]] = at[equal]
            mine, at = mine[~equal], at[~equal] + 1
    return places


# -- A sample of a table of any size: as many rows as a budget allows, shared out to the classes
# A class of n_c distinct rows keeps the min(n_c, L) of them with the smallest keys, where
# the level L is the largest with
#
#     Σ_c min(n_c, L) ≤ budget.
#
# Small classes are kept whole and large ones alike. More rows never raise L, so a row that is among
# the kept rows of a whole table is among those of every part that holds it, and
#
#     sample(A ∪ B) = sample(sample(A) ∪ sample(B))
#
# if the level of the union is never above those of A and B: a part forgets how many rows stood
# beyond its own level. Samples can be made anywhere, in any order, and merged.


MOST_SAMPLED = 200_000  # distinct rows of a sample that a model is fitted to


@dataclass(frozen=True)
class RowSample:
    """Rows kept of each class, and how many of each were seen."""

    sizes: Array  # (K,), multiplicities of all rows seen
    reservoir: Reservoir  # its capacity is the level, or larger while all rows are kept
    budget: int  # distinct rows that all classes together may keep

    @property
    def complete(self) -> bool:
        """Whether every row ever seen is here."""
        return self.reservoir.complete

    def kept(self) -> Array:
        """Return the multiplicities of the rows kept of each class."""
        return class_sizes(self.reservoir.labels, len(self.sizes), self.reservoir.weight)

    def row_weights(self) -> Array:
        """Return weights of the rows kept, by which classes are as frequent as among all rows."""
        # A row of class c weighs m (n_c / k_c) (Σ k / Σ n), k_c rows kept of n_c.
        weight = self.reservoir.weight
        if self.complete:
            return weight
        kept = self.kept()
        with np.errstate(invalid="ignore"):  # a class without rows
            factor = self.sizes / kept * (kept.sum() / self.sizes.sum())
        return np.asarray(weight * factor[self.reservoir.labels])


def sample_of(
    X: Array, labels: Labels, weight: Array, keys: Keys, n_classes: int, seed: int, budget: int
) -> RowSample:
    """Return the sample of some rows, their weights positive, their keys of this seed."""
    reservoir = empty_reservoir(n_classes, X.shape[1], seed, UNBOUNDED)
    reservoir = settle(add_rows(reservoir, X, labels, weight, keys))
    sizes = class_sizes(labels, n_classes, weight)
    return _within_budget(RowSample(sizes, reservoir, budget))


def merge_samples(a: RowSample, b: RowSample) -> RowSample:
    """Return the sample of the rows of both; the budget is the smaller one."""
    both = merge_reservoirs(a.reservoir, b.reservoir)
    return _within_budget(RowSample(a.sizes + b.sizes, both, min(a.budget, b.budget)))


def _within_budget(sample: RowSample) -> RowSample:
    counts = np.bincount(sample.reservoir.labels, minlength=len(sample.sizes))
    capacity = min(level(counts, sample.budget), sample.reservoir.capacity)
    kept = _cut_to_capacity(replace(sample.reservoir, capacity=capacity))
    return replace(sample, reservoir=kept)


def level(counts: NDArray[np.integer], budget: int) -> int:
    """Return the largest L with Σ_c min(counts_c, L) ≤ budget; unbounded where all may stay."""
    left, classes = int(budget), len(counts)
    for count in np.sort(counts).tolist():
        if count * classes > left:
            return left // classes
        left, classes = left - count, classes - 1
    return UNBOUNDED


def as_count(total: float) -> int | float:
    """Return how many rows weights stand for: a whole number where it is one."""
    return int(total) if float(total).is_integer() else float(total)


# -- some rows of a table in memory, arrays or tensors, drawn by their keys: a row sample's twin
# The rows are those that :mod:`robell._core.membership.samples` keeps of the same table: of each
# class the distinct rows with the smallest keys, small classes whole and large ones alike. Copies
# of a row are drawn together, and stay apart.


BLOCK_ROWS = 1 << 15
TENSOR_BLOCK_ROWS = 1 << 20
SIGN = -(1 << 63)


class KeyedRows(NamedTuple):
    """Rows drawn: their places in the table, and weights at which classes are as frequent."""

    places: Any  # (m,), in the order of the table
    weight: Any  # (m,), as ``RowSample.row_weights``
    keys: Any  # (n,), of all rows


def draw_keyed(
    X: Any,
    labels: Any,
    weight: Any,
    n_classes: int,
    seed: int,
    budget: int,
    most: int = 0,
    threads: Threads = NO_THREADS,
) -> KeyedRows | None:
    """Draw at most so many distinct rows of all classes together; None where all may stay."""
    if len(X) <= max(budget, most):
        return None
    keys = ordered_keys(X, seed, threads)
    unique = namespace(keys).unique  # in ascending order
    distinct = list(threads.map(lambda c: unique(keys[labels == c]), range(n_classes)))
    counts = np.array([len(of_class) for of_class in distinct])
    kept = np.minimum(counts, level(counts, budget))
    if (kept == counts).all() or counts.sum() <= most:
        return None
    largest = beside(
        np.array([int(d[k - 1]) for d, k in zip(distinct, kept.tolist(), strict=True)]), X
    )
    chosen = keys <= largest[labels]
    places = namespace(keys).where(chosen)[0]
    of_place, counted = labels[places], weight[places]
    of_classes = (labels == c for c in range(n_classes))
    pairs = [(float(weight[c].sum()), float(weight[c & chosen].sum())) for c in of_classes]
    sizes, drawn = np.array(pairs).T
    factor = beside(sizes / drawn * (drawn.sum() / sizes.sum()), X)
    return KeyedRows(places, counted * factor[of_place], keys)


def ordered_keys(X: Any, seed: int, threads: Threads = NO_THREADS) -> Any:
    """Return the keys of rows as signed integers, in the order of the unsigned ones."""
    if is_tensor(X):
        blocks = [_tensor_keys(block, seed) for block in X.split(TENSOR_BLOCK_ROWS)]
        return namespace(X).concatenate(blocks) ^ SIGN
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, len(X), BLOCK_ROWS)]
    keys = np.concatenate(list(threads.map(lambda rows: row_keys(X[rows], seed), blocks)))
    return (keys ^ np.uint64(1 << 63)).view(np.int64)


def _tensor_keys(X: Any, seed: int) -> Any:
    """Return what ``row_keys`` returns, in signed integers that wrap round as unsigned ones do."""
    xp = namespace(X)
    bits = (in_double_precision(X) + 0.0).contiguous().view(xp.int64)
    before, after = FOLD_SHIFTS
    bits = (bits ^ _shifted(bits, before)) * _signed(FOLD)
    bits = bits ^ _shifted(bits, after)
    keys = (bits * beside(column_multipliers(seed, X.shape[1]).view(np.int64), X)).sum(1)
    for shift, factor in STIRS:
        keys = keys ^ _shifted(keys, shift)
        keys = keys * _signed(factor) if factor else keys
    return keys


def _shifted(bits: Any, by: int) -> Any:
    """Return bits >> by, zeros moving in."""
    return (bits >> by) & ((1 << (64 - by)) - 1)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def find_keys(keys: Any, among: Any) -> tuple[Any, Any]:
    """Return which keys are among others, and the place there of each that is."""
    xp = namespace(keys)
    order = xp.argsort(among)
    ordered = among[order]
    at = xp.clip(xp.searchsorted(ordered, keys), None, len(ordered) - 1)
    found = xp.where(ordered[at] == keys)[0]
    return found, order[at[found]]
