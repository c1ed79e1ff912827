"""Columns that repeat the target, which no model may learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

COPIES = 0.995  # share of the rows from which on a column counts as a copy of the target
COPIES_A_CLASS = 0.95  # the same within each class


@dataclass(frozen=True)
class Leak:
    """A column that repeats the target, and the places of the rows where it differs."""

    name: str
    agreement: float
    exceptions: np.ndarray


def find_leak(used, codes, n_classes):
    """Return a Leak if the column has one level for each class and repeats the target, or None."""
    if used.is_number:
        levels, values = np.unique(used.values, return_inverse=True)  # NaN counts as one level
        values, n_levels = values.reshape(-1), len(levels)
    else:
        values, n_levels = used.values, len(used.levels)
    if n_levels > n_classes + 1:
        return None
    table = np.zeros((n_levels, n_classes), int)
    np.add.at(table, (values, codes), 1)
    meant = table.argmax(axis=1)
    if len(np.unique(meant)) < n_classes:
        return None
    agrees = meant[values] == codes
    by_class = np.bincount(codes, agrees) / np.bincount(codes)
    if agrees.mean() < COPIES or by_class.min() < COPIES_A_CLASS:
        return None
    return Leak(used.name, float(agrees.mean()), np.flatnonzero(~agrees))
