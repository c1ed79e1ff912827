"""Columns that no model may learn from: they repeat the target, or tell it nearly by themselves.

The first are left out. The second may be honest ones, so that they are used, and named.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from robell._tools.files import FileError
from robell._tools.text import counted, percent, said
from robell.tables.columns import NO_VALUE, ColumnNote, prepare_column
from robell.tables.read import evenly

COPIES = 0.995  # share of the rows from which on a column counts as a copy of the target
COPIES_A_CLASS = 0.95  # the same within each class
MOST_COLUMNS = 2_000  # of numbers, categories spread out
SAME_NUMBER = 1e-3  # of a column's spread: numbers nearer than this are one, rounded


@dataclass(frozen=True)
class Leak:
    """A column that repeats the target, and the places of the rows where it differs."""

    name: str
    agreement: float
    exceptions: np.ndarray

    def left_out(self, note):
        """Return the note of the column that says why it is left out."""
        share = f"{100 * self.agreement:.4g} %"
        done = f"left out: repeats the target in {share} of the rows"
        return ColumnNote(note.name, "left out", note.missing, done)


def find_leak(used, codes, n_classes):
    """Return a Leak if the column has one level for each class and repeats the target, or None.

    Levels that stand in one row each have nothing to repeat: there are two rows a level at least.
    """
    if used.is_number:
        levels, values = np.unique(used.values, return_inverse=True)  # NaN counts as one level
        values, n_levels = values.reshape(-1), len(levels)
    else:
        values, n_levels = used.values, len(used.levels)
    if n_levels > min(n_classes + 1, len(codes) // 2):
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
    """Return a Leak if numbers are the target itself, moved or in another unit, or None."""
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
    # The line through the middles of the lower and the upper quarter of the target is near such a
    # column, and that through the nearer half of the rows exact, also where a few numbers differ.
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


# -- columns that tell the target nearly by themselves ------------------------------------------
#
# Whoever writes a column down after the label is known writes the label into it: a refund's date is
# filled in for refunds only, a payment is 0 for rejected claims only, a status is the verdict in
# other words. Rows are sorted into cells by one column alone, and a cell is told to be of the class
# that is most over-represented among its *other* rows (each row is left out of its own cell). What
# counts is the recall, in the mean of the classes, so that rare classes count as much as others.
#
# Honest columns do that too: the best column of iris alone has .96, one vote in congress .959, the
# best of breast cancer .92; missing cells never say more than .76 in the tables at hand. So few
# values must tell nearly everything, and many values, as physical measurements have them, must do
# so in hundreds of rows. ``benchmarks/leaks.py`` measures false alarms and planted leaks.

FEW_VALUES = 20  # different numbers that are cells of their own
BINS = 32  # cells of other numbers, by their size
ROWS_A_BIN = 8
LEAST_ROWS = 10  # of a class, or of the rows outside it
MOST_LOOKED_AT = 20_000  # rows, evenly spaced
MISSING_TELLS = 0.85  # recall by whether a cell is filled
ATOM_TELLS = 0.85  # by one frequent value among many numbers, such as 0
ONLY = 0.8  # share of the rows with that value which must be of the class
FEW_TELL = 0.97  # by few values, or
NEARLY, AS_GOOD_AS = 0.955, 0.98  # the first, where chance may have made it of the second
MANY_TELL, MANY_ROWS = 0.985, 100  # by many values, and rows that each class has then
# Cells filled in for one class only: how many of other classes there would be by chance, at least,
# and the share of these that there may be.
STRANGERS, ALLOWED = 10, 0.05
CHANCE = 1.64  # standard errors
NUMBER_TELLS = 0.06  # usual error by the column alone, as a share of that without it
MISSING_ORDERS = 0.95  # |2 AUC - 1| of the numbers of filled cells against those of missing ones


@dataclass(frozen=True)
class Giveaway:
    """A column that tells the target nearly by itself: its name, how in words, and how well."""

    name: str
    words: str
    recall: float

    def caution(self, target):
        """Say what a reader must know, and how to leave the column out."""
        return (
            f"Column {said(self.name)} {self.words}: if it is known only after {said(target)}, "
            f"leave it out with --ignore {shlex.quote(self.name)} (in Python drop=)."
        )


def find_giveaway(used, codes, classes, target):
    """Return a Giveaway if one column alone tells the class of nearly every row, or None."""
    some, values, missing = _looked_at(used)
    codes, n_classes, target = codes[some], len(classes), said(target)
    sizes = np.bincount(codes, minlength=n_classes)
    if (sizes < LEAST_ROWS).any() or n_classes < 2:
        return None

    def sentence(what, c):
        return f"{what} nearly only where {target} is {said(classes[c])}"

    if missing.any() and not missing.all():
        told = []
        for what, inside in (("is filled in", ~missing), ("is missing", missing)):
            c, recall = _best_class(inside, codes, sizes)
            n_hits, n_inside = int((codes[inside] == c).sum()), int(inside.sum())
            by_chance = n_inside * (1.0 - sizes[c] / len(codes))
            only = what == "is filled in" and by_chance >= STRANGERS
            only = only and n_inside - n_hits <= ALLOWED * by_chance
            if recall >= MISSING_TELLS or only:
                told.append((n_hits / n_inside, sentence(what, c), recall))
        if told:
            _, words, recall = max(told)
            return Giveaway(used.name, words, recall)
    cell, frequent, n_cells = _cells(used, values, missing)
    for number in frequent:
        inside = values == number
        c, recall = _best_class(inside, codes, sizes)
        if recall >= ATOM_TELLS and (codes[inside] == c).mean() >= ONLY:
            what = f"is {number:g}" if used.kind == "number" else "has one and the same date"
            return Giveaway(used.name, sentence(what, c), recall)
    counts = np.zeros((n_cells, n_classes))
    np.add.at(counts, (cell, codes), 1)
    others = counts[cell]
    others[np.arange(len(codes)), codes] -= 1  # the row itself is left out
    rates = (others + 1.0 / n_classes) / (sizes - np.eye(n_classes)[codes] + 1.0)
    hits = np.bincount(codes, rates.argmax(axis=1) == codes, n_classes)
    recall = float((hits / sizes).mean())
    expected = (hits + 1.0) / (sizes + 2.0)
    error = np.sqrt((expected * (1.0 - expected) / sizes).sum()) / n_classes
    by_chance = recall >= NEARLY and recall + CHANCE * error >= AS_GOOD_AS
    few = n_cells <= n_classes + 2 and (recall >= FEW_TELL or by_chance)
    if few or (recall >= MANY_TELL and sizes.min() >= MANY_ROWS):
        return Giveaway(used.name, f"alone tells {target} in {percent(recall)} of the rows", recall)
    return None


def find_number_giveaway(used, values, target):
    """Return a Giveaway if one column alone tells the numbers of a target nearly exactly, or None.

    Numbers count by their ranks. The error of a row is its distance from the middle of the rows of
    its cell, and the usual one is compared with that of the middle of all rows.
    """
    some, cells, missing = _looked_at(used)
    rank = rankdata(values[some]) / len(some)
    n_filled, n_missing, target = int((~missing).sum()), int(missing.sum()), said(target)
    if min(n_filled, n_missing) >= LEAST_ROWS:
        ranks = rankdata(rank)
        order = 2.0 * (ranks[~missing].mean() - ranks[missing].mean()) / len(ranks)
        if abs(order) >= MISSING_ORDERS:
            side = "large" if order > 0 else "small"
            words = f"is filled in nearly only where {target} is {side}"
            return Giveaway(used.name, words, 0.5 + abs(order) / 2.0)
    cell, _, n_cells = _cells(used, cells, missing)
    error = np.empty(len(rank))
    for k in range(n_cells):
        inside = np.flatnonzero(cell == k)
        error[inside] = np.abs(rank[inside] - np.median(rank[inside])) if len(inside) > 2 else 0.5
    share = float(np.median(error) / max(np.median(np.abs(rank - np.median(rank))), 1e-12))
    if share > NUMBER_TELLS or len(rank) < MANY_ROWS:
        return None
    return Giveaway(used.name, f"alone tells {target} nearly exactly", 1.0 - share)


def _looked_at(used):
    """Return the places of evenly spaced rows of a column, their values, and which are missing."""
    some = evenly(len(used.values), MOST_LOOKED_AT)
    values, levels = used.values[some], used.levels
    if used.is_number:
        return some, values, np.isnan(values)
    gone = len(levels) - 1 if levels and levels[-1] == NO_VALUE else len(levels)
    return some, values, values == gone


def _best_class(inside, codes, sizes):
    """Return the class that some rows tell best, and the recall of it and of the others."""
    hits = np.bincount(codes[inside], minlength=len(sizes))
    recalls = (hits / sizes + 1.0 - (inside.sum() - hits) / (len(codes) - sizes)) / 2.0
    c = int(recalls.argmax())
    return c, float(recalls[c])


def _cells(used, values, missing):
    """Return the cell of every row by one column, frequent values among many, and the number."""
    if not used.is_number:
        cell = values - min(0, int(values.min()))
        return cell, values[:0], int(cell.max()) + 1
    cell, known = np.zeros(len(values), np.intp), values[~missing]
    frequent = known[:0]
    levels, counts = np.unique(known, return_counts=True)
    if len(levels) <= FEW_VALUES:
        cell[~missing] = np.searchsorted(levels, known)
        n_cells = len(levels)
    else:
        frequent = levels[counts >= max(LEAST_ROWS, len(values) / 100)]
        bins = min(BINS, max(2, len(known) // ROWS_A_BIN))
        edges = np.quantile(known, np.linspace(0.0, 1.0, bins + 1)[1:-1])
        edges = np.unique(np.concatenate([edges, frequent, np.nextafter(frequent, np.inf)]))
        cell[~missing] = np.searchsorted(edges, known, side="right")
        n_cells = len(edges) + 1
    cell[missing] = n_cells
    return cell, frequent, n_cells + int(missing.any())


def prepare_columns(table, features, leak_of, budget):
    """Return the columns to judge by, notes on all, and how columns repeat the target (leaks)."""
    used, notes, leaks, n_columns = [], [], [], 0
    for column in features:
        prepared, note = prepare_column(column, table.rows, delimiter=table.delimiter)
        leak = prepared and leak_of(prepared)
        if leak:
            leaks.append(leak)
            prepared, note = None, leak.left_out(note)
        notes.append(note)
        if prepared is not None:
            used.append(prepared)
            n_columns += prepared.matrix.shape[1]
            budget.require(table.name, 8 * len(table.rows) * n_columns)
        if n_columns > MOST_COLUMNS:  # before the rest of a wide table is prepared for nothing
            raise FileError(
                f"{table.name}: its {counted(len(features), 'column')} come to more than "
                f"{MOST_COLUMNS:,} once categories are spread out, which is all that the audit "
                "takes: leave some out with",
                parameter="drop",
            )
    return tuple(used), tuple(notes), tuple(leaks)
