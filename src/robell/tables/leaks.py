"""Columns that repeat the target, which no model may learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

COPIES = 0.995  # share of the rows from which on a column counts as a copy of the target
COPIES_A_CLASS = 0.95  # the same within each class
SAME_NUMBER = 1e-3  # of a column's spread: numbers nearer than this are one, rounded


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


def find_number_leak(used, values):
    """Return a Leak if a column of numbers is the target itself, moved or in another unit, or None.

    The line through the middles of the lower and the upper quarter of the target is near such a
    column, and that through the nearer half of the rows exact, also where a few numbers differ.
    """
    known = np.isfinite(used.values) if used.is_number else np.zeros(len(values), bool)
    if known.mean() < COPIES:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        agrees = _on_a_line(used.values[known], values[known])
    if agrees.mean() < COPIES:
        return None
    return Leak(used.name, float(agrees.mean()), np.flatnonzero(known)[~agrees])


def _on_a_line(column, target):
    """Return where a column is a straight function of the target, up to rounding."""
    order = np.argsort(target, kind="stable")
    low, high = np.array_split(order, 4)[0], np.array_split(order, 4)[-1]
    middles = [np.median(part[some]) for some in (low, high) for part in (target, column)]
    width = middles[2] - middles[0]
    spread = np.ptp(np.percentile(column, [5, 95]))
    if not width or not spread:
        return np.zeros(len(column), bool)
    slope = (middles[3] - middles[1]) / width
    off = np.abs(column - middles[1] - slope * (target - middles[0]))
    near = off <= np.median(off)
    x, y = (values[near] - values[near].mean() for values in (target, column))
    slope = float(x @ y) / (float(x @ x) or 1.0)
    line = column[near].mean() + slope * (target - target[near].mean())
    return np.abs(column - line) <= SAME_NUMBER * spread
