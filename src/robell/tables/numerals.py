"""Numbers as people write them: with thousands set apart, a decimal comma or a percent sign."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np

from robell._tools.text import NUMBER

_COMMA_NUMBER = re.compile(r"[+-]?(?:\d+,?\d*|,\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
# 12,345.6 and 12 345.6; 12.345,6 and 12 345,6. Spaces may be of the kinds that do not break.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([,\u0020\u00a0\u202f])\d{3}(?:\1\d{3})*(?:\.\d*)?")
_DOT_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([.\u0020\u00a0\u202f])\d{3}(?:\1\d{3})*(?:,\d*)?")
_APART = re.compile(r"[\u0020\u00a0\u202f]")
_PERCENT = re.compile(r"(.*?)\s*%", re.DOTALL)

DECIMAL_COMMA = "number with a decimal comma"
COMMA_THOUSANDS = "number with its thousands set apart"
DOT_THOUSANDS = "number with its thousands set apart and a decimal comma"


_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", re.ASCII)


def plain_number(text):
    """Return the exact number a text spells in the plainest way, else None.

    Texts such as 007, 1e3, +1, 1_0 or digits of other scripts are rather names than numbers.
    """
    return Decimal(text) if _PLAIN.fullmatch(text) and text != "-0" else None


def number(cell):
    """Return the number that a cell spells, infinity included, or None."""
    if NUMBER.fullmatch(cell):
        return float(cell)
    return float(cell) if _INFINITE.fullmatch(cell) else None


def _comma_number(cell):
    return float(cell.replace(",", ".")) if _COMMA_NUMBER.fullmatch(cell) else number(cell)


def _comma_thousands(cell):
    if _THOUSANDS.fullmatch(cell):
        return float(_APART.sub("", cell).replace(",", ""))
    return number(cell)


def _dot_thousands(cell):
    if _DOT_THOUSANDS.fullmatch(cell):
        return float(_APART.sub("", cell).replace(".", "").replace(",", "."))
    # 1.5 beside 1.234,5 would be a number of the other kind
    return float(cell.replace(",", ".")) if _COMMA_NUMBER.fullmatch(cell) else None


_READINGS = {
    DECIMAL_COMMA: _comma_number,
    COMMA_THOUSANDS: _comma_thousands,
    DOT_THOUSANDS: _dot_thousands,
}
# What 1,234 means depends on the file: where semicolons separate the cells commas are usually
# decimal, where tabs or bars do they usually are not. A whole column is read in one way, so that
# one 1,5 or 1,234,567 decides; where commas separate the cells, 1,5 is not a number.
_ORDER = {
    ",": (COMMA_THOUSANDS,),
    ";": (DECIMAL_COMMA, COMMA_THOUSANDS, DOT_THOUSANDS),
}
_OTHER_ORDER = (COMMA_THOUSANDS, DECIMAL_COMMA, DOT_THOUSANDS)


_PLAIN_SIGNS = re.compile(r"[0-9+\-.eE]*", re.ASCII)


def plain_floats(cells):
    """Return the numbers of cells that are all written in the usual way, None if one is not.

    It does what :func:`read_numbers` does with them, many times as fast.
    """
    if not _PLAIN_SIGNS.fullmatch("".join(cells)):
        return None
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None


def floats_written(cells, how):
    """Return the numbers of cells written in a known way, NaN for those that are no numbers."""
    found = plain_floats(cells) if how == "number" else None
    if found is not None:
        return found
    percents = "percentage" in how
    parse = _READINGS.get(how.replace("percentage", "number", 1), number)
    table = {}
    for cell in set(cells):
        share = _PERCENT.fullmatch(cell) if percents else None
        value = parse(share[1] if share else cell)
        table[cell] = np.nan if value is None else value
    return np.array([table[cell] for cell in cells], np.float64)


def read_numbers(cells, delimiter=","):
    """Return cell -> number and the way it is written ("number", "percentage", ...).

    All cells must be written in the same way; if they are not, None and "". The delimiter of the
    file decides between two readings of a comma.
    """
    cells = set(cells)
    shares = {cell: share[1] for cell in cells if (share := _PERCENT.fullmatch(cell))}
    if cells and len(shares) == len(cells):
        table, how = _read_plain(set(shares.values()), delimiter)
        if table is None:
            return None, ""
        name = how.replace("number", "percentage", 1)
        return {cell: table[share] for cell, share in shares.items()}, name
    return _read_plain(cells, delimiter)


def _read_plain(cells, delimiter):
    order = _ORDER.get(delimiter, _OTHER_ORDER)
    for how, parse in (("number", number), *((how, _READINGS[how]) for how in order)):
        table = {cell: parse(cell) for cell in cells}
        if None not in table.values():
            return table, how
    return None, ""


def spells_number(cell, delimiter=","):
    """Say whether a cell spells a number in any of the ways a file of this kind may use."""
    return read_numbers([cell], delimiter)[0] is not None
