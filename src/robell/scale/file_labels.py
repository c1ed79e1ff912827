"""Labels in files: those of one batch encoded, and what all of them are, texts or numbers."""

from __future__ import annotations

import numpy as np

from robell._tools.files import FileError
from robell.tables.numerals import plain_number

LONGEST_LABEL = 1_000  # characters; labels are kept side by side, each as wide as the longest


def encoded(column, path, name, start):
    """Return the distinct values of a column, and each row's place among them."""
    import pyarrow

    if column.null_count:
        row = start + int(np.argmax(np.asarray(column.is_null())))
        raise FileError(f"{path}: row {row + 1} has no label in column {name!r}")
    if not pyarrow.types.is_dictionary(column.type):
        column = _simple_text(column).dictionary_encode()
    values = _simple_text(column.dictionary)
    if values.type.id in written_types():
        values = values.cast(pyarrow.string())  # as a CSV file would hold it
    values = values.to_pylist()
    if any(isinstance(value, str) and len(value) > LONGEST_LABEL for value in values):
        raise FileError(
            f"{path}: column {name!r} holds texts of more than {LONGEST_LABEL:,} characters, which "
            "are no class labels"
        )
    if any(value != value for value in values):
        raise FileError(f"{path}: column {name!r} holds NaN, which is no label")
    return values, np.asarray(column.indices)


def _simple_text(column):
    """Return texts of the kind that Arrow can encode and take from; anything else as it is."""
    import pyarrow

    return column.cast(pyarrow.string()) if str(column.type) == "string_view" else column


def written_types():
    """Return the types of labels that are taken as their text: dates, times and decimals."""
    from pyarrow import lib

    names = "DATE32 DATE64 TIMESTAMP TIME32 TIME64 DECIMAL32 DECIMAL64 DECIMAL128 DECIMAL256"
    return {getattr(lib, f"Type_{name}", None) for name in names.split()}


def _read_labels(texts):
    """Return text -> label: numbers where all are spelt plainly, otherwise the texts themselves."""
    numbers = {text: plain_number(text) for text in texts}
    if None not in numbers.values():
        if all("." not in text and abs(n) < 2**63 for text, n in numbers.items()):
            return {text: int(text) for text in texts}
        of_one_spelling = all(repr(float(text)) == text for text in texts)
        # Fractions are measured rather than labelled: as numbers they are refused as such.
        if of_one_spelling or any(n != n.to_integral_value() for n in numbers.values()):
            return {text: float(text) for text in texts}
    return {text: text for text in texts}


def typed_labels(counts, target, from_text):
    """Return raw value -> label, and how often each label occurs.

    Texts of a CSV file are numbers where all are spelt plainly, as 7 and 8 are; otherwise they
    stay as they are written, so that 01, 1 and 1.0 are three labels.
    """
    raw = list(counts)
    kinds = {type(value) for value in raw}
    if len(kinds) > 1 and kinds - {int, float}:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise FileError(f"column {target!r} is of different kinds in different files: {names}")
    labels = dict(zip(raw, raw, strict=True))
    if kinds == {str} and from_text:
        labels = _read_labels(raw)
    totals = {}
    for value, label in labels.items():
        totals[label] = totals.get(label, 0) + counts[value]
    return labels, dict(sorted(totals.items()))
