"""A sample of a table of any size: as many rows as a budget allows, shared out to the classes.

A class of n_c distinct rows keeps the min(n_c, L) of them with the smallest keys
(:mod:`robell._core.membership.reservoir`), where the level L is the largest with

    Σ_c min(n_c, L) ≤ budget.

Small classes are kept whole and large ones alike. More rows never raise L, so a row that is among
the kept rows of a whole table is among those of every part that holds it, and

    sample(A ∪ B) = sample(sample(A) ∪ sample(B))

if the level of the union is never above those of A and B: a part forgets how many rows stood
beyond its own level. Samples can be made anywhere, in any order, and merged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robell._core.membership.equations import class_sizes
from robell._core.membership.reservoir import (
    UNBOUNDED,
    Keys,
    Reservoir,
    add_rows,
    empty_reservoir,
    lower_capacity,
    merge_reservoirs,
    settle,
)

MOST_SAMPLED = 200_000  # distinct rows of a sample that a model is fitted to

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


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
        """Return weights of the rows kept: classes as frequent as among all rows, the sum as kept.

        A row of class c with multiplicity m weighs m (n_c / k_c) (Σ k / Σ n), of n_c rows k_c kept.
        """
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
    capacity = level(counts, sample.budget)
    return RowSample(sample.sizes, lower_capacity(sample.reservoir, capacity), sample.budget)


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
