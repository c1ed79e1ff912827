"""Fingerprints of rows and of tables, by which a review finds its rows again or is refused.

The fingerprint of a row is made of the names of the columns and all its cells except the label.
That of a table is the sum of those of its rows: it does not depend on labels, and dropping rows
subtracts theirs, so that a table to which a review was applied can be recognised.
"""

from __future__ import annotations

import hashlib

import numpy as np

from robell._tools.files import FileError

MODULUS = 1 << 64
# Letters alone: a spreadsheet takes digits, or digits around an e, for a number.
_TO_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_FROM_LETTERS = str.maketrans("abcdefghijklmnop", "0123456789abcdef")
_APART, _NONE = "\x1f", "\x00"


class RowPrinter:
    """Fingerprints of the rows of one table, whose label stands at a place that is left out."""

    def __init__(self, names, target):
        self._target = target
        self._start = hashlib.blake2b(_APART.join(names).encode("utf-8", "replace"), digest_size=8)

    def __call__(self, cells):
        """Return the fingerprint of a row, a whole number of 64 bits."""
        texts = [_NONE if cell is None else cell for cell in cells]
        del texts[self._target]
        digest = self._start.copy()
        digest.update(_APART.join(texts).encode("utf-8", "replace"))
        return int.from_bytes(digest.digest(), "big")


def fingerprints(table, target):
    """Return the fingerprint of every row that was read, as text, with that of its table before it.

    Of a table of which only a sample was read, the number of rows stands for the table.
    """
    print_row = RowPrinter([column.name for column in table.columns], target)
    rows = [print_row(cells) for cells in zip(*(c.cells for c in table.columns), strict=True)]
    whole = in_letters(sum(rows)) if len(rows) == table.n_rows else f"n{table.n_rows}"
    return np.array([f"{whole}-{in_letters(row)}" for row in rows], dtype=object)


def in_letters(value):
    """Return a number of 64 bits as 16 letters."""
    return f"{value % MODULUS:016x}".translate(_TO_LETTERS)


def read_print(text, where):
    """Return the two parts of a fingerprint: that of the table as text, that of the row."""
    whole, _, row = text.partition("-")
    if len(row) != 16 or not set(row) <= set("abcdefghijklmnop") or not whole:
        raise FileError(f"{where}: {text[:40]!r} is no fingerprint of an audit")
    return whole, int(row.translate(_FROM_LETTERS), 16)


def digest_of(path):
    """Return the fingerprint of a file's bytes, in letters."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8))
    return digest.hexdigest().translate(_TO_LETTERS)
