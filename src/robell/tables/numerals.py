"""Numbers as people write them: thousands set apart, decimal commas, currencies, units, percents.

A column is read in one way: all its numbers are spelt alike and are of one unit. What that is, is
kept as words, such as "number with its thousands set apart, in EUR".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robell._tools.text import NUMBER

_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", re.ASCII)
_PLAIN_SIGNS = re.compile(r"[0-9+\-.eE]*", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)


def plain_number(text: str) -> Decimal | None:
    """Return the exact number a text spells; None for what may be a name: 007, 1e3 or +1."""
    return Decimal(text) if _PLAIN.fullmatch(text) and text != "-0" else None


def number(cell: str) -> float | None:
    """Return the number that a cell spells, infinity included, or None."""
    if NUMBER.fullmatch(cell):
        return float(cell)
    return float(cell) if _INFINITE.fullmatch(cell) else None


def plain_floats(cells: list[str]) -> NDArray[np.float64] | None:
    """Return the numbers of cells that are all written in the usual way, quickly; else None."""
    if not _PLAIN_SIGNS.fullmatch("".join(cells)):
        return None
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None


# -- the parts of a cell: sign, digits, and a currency or another unit ------------------

_CODES = (
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KES|"
    "KRW|MAD|MXN|MYR|NGN|NOK|NZD|PEN|PHP|PLN|RON|RSD|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_SIGNS = "€$£¥₹₽₩₺₪₴₫฿₦₱₲₡₵₸₼₾"
_CALLED = {"$": "USD", "us$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "rs": "INR"}
_CALLED |= {"fr": "CHF", "sfr": "CHF", "zł": "PLN", "kč": "CZK", "ft": "HUF", "r$": "BRL"}
_CALLED |= {"₽": "RUB", "₩": "KRW", "₺": "TRY", "₪": "ILS", "₴": "UAH", "₫": "VND", "฿": "THB"}
_CALLED |= {code.casefold(): code for code in _CODES.split("|")}
_CURRENCIES = {*_CALLED.values(), *_SIGNS}
_DOTTED = _CURRENCIES - {"USD", "GBP"}  # of these, 1.234 is a thousand

_MINUS = "\u2212\u2013\ufe63\uff0d-"
_SPACE = " \u00a0\u202f\u2009\u2007"
_MONEY = rf"[A-Z]{{0,2}}[{_SIGNS}]|(?:{_CODES}|S?Fr\.?|Rs\.?|[Kk]r\.?)(?![a-z])"
_UNIT = rf"[^\W\d_][^\d\s,;:()%]{{0,11}}[23]?|[°{_SIGNS}][^\d\s,;:()%]{{0,5}}|[%\u2030]"
# Possessive repeats keep the time linear, however many blanks there are.
_CELL = re.compile(
    rf"(?P<open>\()?(?P<sign>[+{_MINUS}]?)[{_SPACE}]*+(?P<before>{_MONEY})?[{_SPACE}]*+"
    rf"(?P<inner>[+{_MINUS}]?)"
    rf"(?P<digits>[.,]?[0-9](?:[0-9.,'\u2019{_SPACE}]*[0-9.,])?(?:[eE][+-]?[0-9]+)?)"
    rf"[{_SPACE}]*(?P<after>(?:{_UNIT})(?:[{_SPACE}][^\W\d_][^\d\s,;:()%]{{0,11}})?)?(?P<close>\))?"
)


class Parts(NamedTuple):
    """A cell that may spell a number: sign, digits, unit or "", and the unit as written."""

    is_negative: bool
    digits: str
    unit: str = ""
    written: str = ""


def split(cell: str) -> Parts | None:
    """Return the parts of a cell, None if it spells no number; (5) is negative."""
    found = _CELL.fullmatch(cell)
    if found is None:
        return Parts(cell[0] == "-", cell.lstrip("+-")) if _INFINITE.fullmatch(cell) else None
    before, after = found["before"] or "", found["after"] or ""
    n_signs = sum(bool(found[name]) for name in ("open", "sign", "inner"))
    if bool(found["open"]) != bool(found["close"]) or n_signs > 1:
        return None
    if before and after:
        return None
    is_negative = bool(found["open"]) or (found["sign"] or found["inner"] or "+") in _MINUS
    unit = _unit(before or after)
    return Parts(is_negative, found["digits"], unit, unit if before else after)


def _unit(text: str) -> str:
    """Return what a unit is called, whatever its capitals; currencies by their codes."""
    key = text.casefold().rstrip(".")
    return _CALLED.get(key, key)


# -- ways to spell the digits ------------------------------------------------------------

DECIMAL_COMMA = "number with a decimal comma"
COMMA_THOUSANDS = "number with its thousands set apart"
DOT_THOUSANDS = "number with its thousands set apart and a decimal comma"

_COMMA_NUMBER = re.compile(r"(?:[0-9]+,?[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?")
# 12,345.6 and 12 345.6 and 12'345.6; 12.345,6 and 12 345,6 and 12'345,6
_GROUPS = r"[1-9][0-9]{{0,2}}([{sign}'\u2019{space}])[0-9]{{3}}(?:\1[0-9]{{3}})*"
_THOUSANDS = re.compile(_GROUPS.format(sign=",", space=_SPACE) + r"(?:\.[0-9]*)?")
_DOT_GROUPS = re.compile(_GROUPS.format(sign=".", space=_SPACE) + r"(?:,[0-9]*)?")
_APART = re.compile(f"['\u2019{_SPACE}]")
_WHOLE_BY_DOTS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})*")


def _parse(digits: str, way: str) -> float | None:
    """Return the number that digits spell in one way, or None."""
    if way == COMMA_THOUSANDS and _THOUSANDS.fullmatch(digits):
        return float(_APART.sub("", digits).replace(",", ""))
    if way == DOT_THOUSANDS and _DOT_GROUPS.fullmatch(digits):
        return float(_APART.sub("", digits).replace(".", "").replace(",", "."))
    if way in (DECIMAL_COMMA, DOT_THOUSANDS) and _COMMA_NUMBER.fullmatch(digits):
        return float(digits.replace(",", "."))
    # 1.5 beside 1.234,5 would be a number of the other kind
    return None if way == DOT_THOUSANDS else number(digits)


# What 1,234 means depends on the file: where semicolons separate the cells commas are usually
# decimal, elsewhere they usually are not. A whole column is read in one way, so that one 1,5 or
# 1,234,567 decides.
_ORDER = "number", COMMA_THOUSANDS, DECIMAL_COMMA, DOT_THOUSANDS
_ORDER_BETWEEN_SEMICOLONS = "number", DECIMAL_COMMA, COMMA_THOUSANDS, DOT_THOUSANDS


# -- a column ----------------------------------------------------------------------------


def read_numbers(cells: Iterable[str], delimiter: str = ",") -> tuple[dict | None, str]:
    """Return cell -> number and the one way all cells are written in; else None and ""."""
    counts = Counter(cells)
    table, how = read_most(counts, delimiter)
    return (table, how) if table and len(table) == len(counts) else (None, "")


def read_most(counts: Counter[str], delimiter: str = ",") -> tuple[dict[str, float], str]:
    """Return cell -> number for most of the cells, and how these are written; {} if none is one.

    Of all units the commonest counts; a currency may be left out in some cells, another unit not.
    Of all ways to spell, the first that suits all cells of the unit, or else most of them.
    """
    parts, units = {}, Counter[str]()
    for cell in counts:
        if found := split(cell):
            parts[cell] = found
            units[found.unit] += counts[cell]
    money = [unit for unit in units if unit in _CURRENCIES]
    if len(money) == 1:
        units[money[0]] += units.pop("", 0)
    if not units:
        return {}, ""
    unit = units.most_common(1)[0][0]
    of_unit = {unit, ""} if unit in _CURRENCIES else {unit}
    parts = {cell: found for cell, found in parts.items() if found.unit in of_unit}
    order: tuple[str, ...] = _ORDER_BETWEEN_SEMICOLONS if delimiter == ";" else _ORDER
    if unit in _DOTTED:
        digits = [found.digits for found in parts.values()]
        if "." in "".join(digits) and all(map(_WHOLE_BY_DOTS.fullmatch, digits)):
            order = (DOT_THOUSANDS,)
    best: dict[str, float] = {}
    most, way = 0, ""
    for spelling in order:
        table = _values(parts, spelling)
        n_read = sum(counts[cell] for cell in table)
        if n_read > most:
            best, most, way = table, n_read, spelling
        if len(table) == len(parts):
            break
    written: Counter[str] = Counter()
    for cell in best:
        written[parts[cell].written] += counts[cell]
    written.pop("", None)
    shown = unit if unit in _CURRENCIES or not written else written.most_common(1)[0][0]
    if shown == "%":
        return best, way.replace("number", "percentage", 1)
    return best, f"{way}, in {shown}" if shown else way


def _values(parts: dict[str, Parts], way: str) -> dict[str, float]:
    """Return cell -> number for the cells whose digits are spelt in one way."""
    table = {}
    for cell, (is_negative, digits, *_) in parts.items():
        value = _parse(digits, way)
        if value is not None:
            table[cell] = -value if is_negative else value
    return table


def unit_of(how: str) -> str:
    """Return the unit of numbers that are written in a known way, "" for none."""
    way, _, unit = how.partition(", in ")
    return "%" if "percentage" in way else unit


def floats_written(cells: list[str], how: str) -> NDArray[np.float64]:
    """Return the numbers of cells written in a known way, the unit optional; NaN for others."""
    plain = plain_floats(cells) if how == "number" else None
    if plain is not None:
        return plain
    way = how.partition(", in ")[0].replace("percentage", "number", 1)
    units = {"", _unit(unit_of(how))}
    parts = {cell: found for cell in set(cells) if (found := split(cell)) and found.unit in units}
    table = _values(parts, way)
    return np.array([table.get(cell, np.nan) for cell in cells], np.float64)


_ABOUT = re.compile(r"(?:ca\.?|approx\.?|about|[<>~\u2248\u2264\u2265]=?)\s*", re.IGNORECASE)


def number_like(cells: Counter[str]) -> tuple[float, list[str]]:
    """Return the share of cells that look like numbers, and three, as different as can be."""
    alike: list[str] = []
    shown: dict[tuple, str] = {}
    for cell, _ in cells.most_common():
        found = split(_ABOUT.sub("", cell, count=1))
        if found is None or " " in found.unit:  # 12 Mill Street
            continue
        if any(_parse(found.digits, way) is not None for way in _ORDER):
            alike.append(cell)
            way = _ABOUT.match(cell) is None, found.unit, "," in found.digits, "." in found.digits
            shown.setdefault(way, cell)
    share = sum(cells[cell] for cell in alike) / max(1, cells.total())
    return share, list(dict.fromkeys([*shown.values(), *alike]))[:3]


def spells_number(cell: str, delimiter: str = ",") -> bool:
    """Say whether a cell spells a number in any of the ways a file of this kind may use."""
    return read_numbers([cell], delimiter)[0] is not None
