"""The target column: whether it holds classes or numbers, and which rows have a usable label."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import composed, counted, did_you_mean, said
from robell.tables.columns import missing_cells, numbers_of
from robell.tables.numerals import number, plain_number, read_numbers, unit_of
from robell.tables.raw import Column

LEAST_ROWS = 30
LEAST_OF_CLASS = 5
MOST_CLASSES = 200
LONGEST_LABEL = 1_000  # characters
FEW_VALUES = 20  # distinct whole numbers that are classes in a table of any size
FEW_FRACTIONS = 10  # the same for numbers with decimals
ROWS_A_VALUE = 20  # rows for each distinct whole number beyond those, if they are classes
KINDS = ("auto", "classes", "numbers")
LEAST_VALUES = 3  # different numbers; two are classes
MOST_EQUAL = 0.5  # share of the rows that may have one and the same number


@dataclass(frozen=True)
class Labels:
    """Labels of the rows that can be used, and what became of the other rows.

    `kept` are the places of these rows in the table, `codes` their classes as places in
    `classes`. `unlabelled` counts rows without a label by what stands there, `set_aside` the rows
    of classes that are too small. `alike` are the pairs of :func:`one_spelling`.
    """

    classes: tuple[str, ...]
    codes: np.ndarray
    kept: np.ndarray
    unlabelled: Counter
    set_aside: dict[str, int]
    alike: tuple[tuple[str, str], ...]


def find_column(table, name):
    """Return the place of a column; raise, suggesting near names, where there is none."""
    names = table.names
    if np.ndim(name):
        raise TypeError(f"a column of the table is given by its name, got {type(name).__name__}")
    if not isinstance(name, str):
        raise TypeError(f"columns are named by texts: give {str(name)!r} instead of {name!r}")
    if name in names:
        return names.index(name)
    text = f"{table.name}: there is no column {said(name)}"
    if near := did_you_mean(name, names, quote=said):
        raise FileError(text + near)
    shown = ", ".join(said(known, 30) for known in names[:8])
    more = f" and {len(names) - 8:,} more" if len(names) > 8 else ""
    if all(number(known) is not None for known in names):
        more += "; the first line must name the columns"
    raise FileError(f"{text}; its columns are {shown}{more}")


def read_labels(table, place, *, keep_spelling=False):
    """Return the Labels of a column."""
    column = table.columns[place]
    where = f"{table.name}: column {said(column.name)}"
    gone = missing_cells(column)
    unlabelled = Counter(cell or "" for cell in column.without(~gone))
    cells = column.without(gone)
    if not cells:
        raise FileError(f"{where} holds no label")
    if max(map(len, cells)) > LONGEST_LABEL:
        raise FileError(
            f"{where} holds texts of more than {LONGEST_LABEL:,} characters, which are no labels"
        )
    cells, alike = one_spelling(cells, keep=keep_spelling)
    counts = Counter(cells)
    classes = classes_of(where, counts)
    place_of = {label: code for code, label in enumerate(classes)}
    codes = np.array([place_of.get(label, -1) for label in cells], np.intp)
    usable = codes >= 0
    if usable.sum() < LEAST_ROWS:
        raise FileError(
            f"{where}: only {counted(int(usable.sum()), 'row')} can be used; at least "
            f"{LEAST_ROWS} are needed"
        )
    small = sorted(set(counts) - set(classes), key=_by_size)
    set_aside = {label: counts[label] for label in small}
    kept = np.flatnonzero(~gone)[usable]
    return Labels(classes, codes[usable], kept, unlabelled, set_aside, alike)


def _by_size(label):
    """Return a key that sorts numbers by size, before texts."""
    value = number(label)
    return (value is None, value or 0.0, label)


def one_spelling(cells, *, keep=False):
    """Return labels, equal numbers spelt as the commonest of them, and pairs of look-alikes.

    These differ only in capitals, spaces or how accents are encoded: the second is taken as the
    first, which is commoner, unless all spellings are to be kept.
    """
    spelling: dict[Decimal, str] = {}  # 1 and 1.0 are one class
    meant = {}
    for cell, _ in Counter(cells).most_common():
        value = plain_number(cell)
        meant[cell] = cell if value is None else spelling.setdefault(value, cell)
    counts = Counter(map(meant.__getitem__, cells))
    first: dict[str, str] = {}
    alike = {}
    for label in sorted(counts, key=lambda label: (-counts[label], label)):
        known = first.setdefault(letters_of(label), label)
        if known != label:
            alike[label] = known
    for cell, label in meant.items():
        meant[cell] = label if keep else alike.get(label, label)
    return list(map(meant.__getitem__, cells)), tuple(zip(alike.values(), alike, strict=True))


def letters_of(label):
    """Return what labels have in common that differ only in capitals, spaces or coded accents."""
    return composed("".join(label.casefold().split()))


class KnownLabels(dict):
    """The code of each cell of a target column; of a spelling not seen yet, that of its class.

    A cell that is of no class has the code -1.
    """

    def __init__(self, cells, codes, *, keep_spelling=False):
        super().__init__(zip(cells, codes, strict=True))
        self._shared = letters_of if not keep_spelling else str
        self._classes = {self._key(cell): code for cell, code in self.items()}

    def _key(self, cell):
        value = plain_number(cell)
        return self._shared(cell) if value is None else value

    def __missing__(self, cell):
        self[cell] = code = -1 if cell is None else self._classes.get(self._key(cell), -1)
        return code


def classes_of(where, counts, what="rows"):
    """Return the classes, each in enough rows, in order; raise if the values do not look so."""
    n_rows, sizes = sum(counts.values()), np.array(list(counts.values()))
    if len(counts) == 1:
        label = said(next(iter(counts)))
        raise FileError(f"{where} is constant: every row has the label {label}; two are needed")
    values, _ = read_numbers(counts)
    if values is not None and len(counts) > _most_classes(list(values.values()), n_rows):
        raise FileError(
            f"{where} looks continuous ({len(counts):,} distinct values); classes are needed, "
            "such as 'high' above a limit and 'low' below it"
        )
    if sizes[sizes < LEAST_OF_CLASS].sum() > n_rows / 2:
        raise FileError(
            f"{where} has {len(counts):,} distinct values in {n_rows:,} rows, most of them in "
            f"fewer than {LEAST_OF_CLASS}: these are not classes"
        )
    classes = tuple(sorted((c for c in counts if counts[c] >= LEAST_OF_CLASS), key=_by_size))
    if len(classes) < 2:
        raise FileError(
            f"{where} has {counted(len(classes), 'class', 'classes')} of at least "
            f"{LEAST_OF_CLASS} {what}; two are needed"
        )
    if len(classes) > MOST_CLASSES:
        raise FileError(f"{where} has {len(counts):,} classes; at most {MOST_CLASSES} can be used")
    return classes


def _most_classes(values, n_rows):
    """Return how many different numbers may be classes: more where all of them are whole."""
    values = np.asarray(values, float)
    if (np.isfinite(values) & (values == np.round(values))).all():
        return min(MOST_CLASSES, max(FEW_VALUES, n_rows // ROWS_A_VALUE))
    return FEW_FRACTIONS


# -- numbers ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NumberTarget:
    """The numbers of the rows that can be used, and what became of the other rows.

    `kept` are the places of these rows in the table, `values` their numbers, `how` the way they
    are written. `unlabelled` counts rows without a usable number by what stands there.
    """

    values: np.ndarray
    kept: np.ndarray
    unlabelled: Counter
    how: str

    @property
    def n_distinct(self):
        """How many different numbers there are."""
        return len(np.unique(self.values))

    @property
    def most_classes(self):
        """How many different numbers there may be at most where they are said to be classes."""
        return _most_classes(np.unique(self.values), len(self.values))


def holds_numbers(cells, kind=None, delimiter=","):
    """Say whether the cells of a target column are measured numbers rather than classes.

    Numbers are classes where there are few: up to twenty different whole ones, or ten others.
    Whole numbers beyond that are classes only where they are codes without a gap, 0, 1, 2, ... or
    1, 2, 3, ..., each in many rows.
    """
    column = Column("", cells, kind)
    values, how, _ = numbers_of(column.without(missing_cells(column)), delimiter, kind)
    if values is None or how.startswith(("date", "time")):
        return False
    values = values[np.isfinite(values)]
    distinct = np.unique(values)
    n, most = len(distinct), _most_classes(distinct, len(values))
    if n > most or n <= FEW_VALUES:
        return n > most
    return not (distinct[0] in (0, 1) and np.ptp(distinct) == n - 1)


def read_number_target(table, place):
    """Return the numbers of a column; infinite ones and a few odd cells count as missing."""
    column = table.columns[place]
    where = f"{table.name}: column {said(column.name)}"
    gone = missing_cells(column)
    found, how, _ = numbers_of(column.without(gone), table.delimiter, column.kind)
    if found is None:
        raise FileError(f"{where} holds texts: numbers are needed to be judged as numbers")
    if how.startswith(("date", "time")):
        raise FileError(f"{where} holds dates: neither classes nor numbers that can be judged")
    values = np.full(len(gone), np.nan)
    values[~gone] = found
    usable = np.isfinite(values)
    unlabelled = Counter(cell or "" for cell in column.without(usable))
    values = values[usable]
    if problem := problem_of(values, np.ones(len(values)), LEAST_ROWS):
        raise FileError(f"{where} {problem}")
    return NumberTarget(values, np.flatnonzero(usable), unlabelled, how)


def problem_of(values, weight, least_rows):
    """Say why numbers, each counted ``weight`` times, cannot be judged; "" where they can."""
    n_rows = int((weight > 0).sum())
    if n_rows < least_rows:
        return f"has {counted(n_rows, 'usable row')}; at least {least_rows} are needed"
    with np.errstate(over="ignore"):
        if not np.isfinite(np.ptp(values)):
            return "holds numbers too far apart to be compared"
    distinct, place = np.unique(values[weight > 0], return_inverse=True)
    shares = np.bincount(place.reshape(-1), weight[weight > 0]) / weight.sum()
    common = f"{distinct[shares.argmax()]:.6g}"
    if len(distinct) == 1:
        return f"is constant: every row has {common}"
    if len(distinct) < LEAST_VALUES:
        return "holds two different numbers: these are classes"
    if shares.max() > MOST_EQUAL:
        return (
            f"is {common} in {shares.max():.0%} of the rows: with one number in more than half of "
            "them, make it a class (this number or another), and judge the other rows by themselves"
        )
    return ""


def written(value, how="number", digits=4):
    """Return a number as a column writes its numbers, with so many significant digits."""
    text = f"{value:.{digits}g}"
    if "e" in text:
        text = f"{float(text):.0f}" if abs(value) >= 1 and abs(value) < 1e15 else text
    if "decimal comma" in how:
        text = text.replace(".", ",")
    return f"{text} {unit_of(how)}".rstrip()


def dropped_columns(table, drop):
    """Return the names of the columns to leave out; raise where there is no such column."""
    drop = tuple(dict.fromkeys((drop,) if isinstance(drop, str) else drop))
    known = {column.name for column in table.columns}
    for name in drop:
        if name not in known:
            find_column(table, name)  # raises, and names what is near
    return drop
