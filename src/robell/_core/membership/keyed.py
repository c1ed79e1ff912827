"""Some rows of a table in memory, arrays or tensors, drawn by their keys: a row sample's twin.

The rows are those that :mod:`robell._core.membership.row_sample` keeps of the same table: of each
class the distinct rows with the smallest keys, small classes whole and large ones alike. Copies of
a row are drawn together, and stay apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robell._core.array import beside, in_double_precision, is_tensor, namespace
from robell._core.membership.reservoir import (
    FOLD,
    FOLD_SHIFTS,
    STIRS,
    column_multipliers,
    row_keys,
)
from robell._core.membership.row_sample import level
from robell._tools.threads import NO_THREADS, Threads

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
    """Draw at most so many distinct rows of all classes together; None where all may stay.

    All may stay up to ``most`` rows, or the budget where that is more.
    """
    if len(X) <= max(budget, most):
        return None
    keys = ordered_keys(X, seed, threads)
    of_class = threads.map(lambda c: _distinct_sorted(keys[labels == c]), range(n_classes))
    distinct = list(of_class)
    counts = np.array([len(of_class) for of_class in distinct])
    kept = np.minimum(counts, level(counts, budget))
    if (kept == counts).all() or counts.sum() <= most:
        return None
    largest = beside(
        np.array([int(d[k - 1]) for d, k in zip(distinct, kept.tolist(), strict=True)]), X
    )
    places = namespace(keys).where(keys <= largest[labels])[0]
    of_place, counted = labels[places], weight[places]
    sizes, chosen = _sizes(weight, labels, n_classes), _sizes(counted, of_place, n_classes)
    factor = beside(sizes / chosen * (chosen.sum() / sizes.sum()), X)
    return KeyedRows(places, counted * factor[of_place], keys)


def _sizes(weight: Any, labels: Any, n_classes: int) -> Any:
    """Return the weight of every class, on the host."""
    return np.array([float(weight[labels == c].sum()) for c in range(n_classes)])


def _distinct_sorted(keys: Any) -> Any:
    ordered = sorted_values(keys)
    return ordered[:1] if len(keys) < 2 else _without_repeats(ordered)


def _without_repeats(ordered: Any) -> Any:
    xp = namespace(ordered)
    return xp.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])


def sorted_values(values: Any) -> Any:
    """Return values in ascending order."""
    return values.sort().values if is_tensor(values) else np.sort(values)


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
