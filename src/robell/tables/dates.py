"""Dates and times as people write them: 2024-12-31, 31.12.24 23:59, 12/31/2024, 2:30 pm."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable
from functools import partial

import numpy as np

# Possessive repeats keep the time linear, however many blanks there are.
_CLOCK = r"(?:[T ,]++(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*+([AaPp][Mm])?)?"
_ZONE = r"\s*+(?:(Z|UTC|GMT)|([+-])(\d{2}):?(\d{2}))?"
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LETTERS = r"([A-Za-z]{3,9})\.?"
_YEAR = r"(\d{4}|\d{2})"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

ISO = "year-month-day"
# Each way of writing: its pattern, and which of the first three groups are year, month and day.
_WAYS = {
    ISO: (r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})", (0, 1, 2)),
    "day.month.year": (rf"(\d{{1,2}})\.(\d{{1,2}})\.{_YEAR}", (2, 1, 0)),
    "month/day/year": (rf"(\d{{1,2}})/(\d{{1,2}})/{_YEAR}", (2, 0, 1)),
    "day/month/year": (rf"(\d{{1,2}})/(\d{{1,2}})/{_YEAR}", (2, 1, 0)),
    "day-month-year": (rf"(\d{{1,2}})-(\d{{1,2}})-{_YEAR}", (2, 1, 0)),
    "day, name of the month, year": (rf"(\d{{1,2}})[ -]{_LETTERS}[ -]{_YEAR}", (2, 1, 0)),
    "name of the month, day, year": (rf"{_LETTERS} (\d{{1,2}}),? (\d{{4}})", (2, 0, 1)),
}
_PATTERNS = {
    way: re.compile(pattern + _CLOCK + _ZONE, re.ASCII) for way, (pattern, _) in _WAYS.items()
}
AMBIGUOUS = "month/day/year", "day/month/year"
# Each of these can mean one day only: in one column they may stand side by side, and new rows may
# be written in any of them. A column of another way is read in that way alone.
CLEAR = " and ".join(way for way in _WAYS if way not in (*AMBIGUOUS, "day-month-year"))


def read_dates(cells, n_odd=0):
    """Return cell -> days since 1970 (UTC) and how they are written, or None and "".

    Of the ways to write, the one that suits most cells; up to ``n_odd`` cells may be no dates.
    """
    counts = Counter(cells)
    tables = {
        way: _read_most(counts, partial(read_date, way=way), n_odd)
        for way in (CLEAR, *AMBIGUOUS, "day-month-year")
    }
    way, best = max(tables.items(), key=lambda one: len(one[1]))  # of equal ones the first
    if way == AMBIGUOUS[0] and tables[AMBIGUOUS[1]].keys() == best.keys():
        way = f"{way} (or {AMBIGUOUS[1]}: no cell tells)"
    if way == CLEAR:
        ways = CLEAR.split(" and ")
        way = " and ".join(w for w in ways if any(_PATTERNS[w].fullmatch(cell) for cell in best))
    return (best, way) if best else (None, "")


def _read_most(counts, read, n_odd):
    """Return cell -> days or hours, nothing as soon as more than so many cells are none."""
    table = {}
    for cell, n in counts.items():
        if (value := read(cell)) is not None:
            table[cell] = value
        elif (n_odd := n_odd - n) < 0:
            return {}
    return table


def date_like(counts, most=1_000):
    """Return the share of the commonest cells that are dates in any way, and one of each way."""
    some = Counter(dict(counts.most_common(most)))
    ways = {cell: [way for way in _WAYS if _read_in(cell, way) is not None] for cell in some}
    of_way = {found[0]: cell for cell, found in reversed(ways.items()) if found}
    n_dates = sum(some[cell] for cell, found in ways.items() if found)
    return n_dates / max(1, some.total()), list(of_way.values())[::-1]


def read_date(cell, way):
    """Return the days from 1970 to a date, a time without a zone taken as UTC, or None."""
    ways = way.partition(" (or ")[0].split(" and ")
    return next((day for one in ways if (day := _read_in(cell, one)) is not None), None)


def _read_in(cell, way):
    """Return the days from 1970 to a date that is written in one way, or None."""
    found = _PATTERNS[way].fullmatch(cell)
    if found is None:
        return None
    parts, order = found.groups(), _WAYS[way][1]
    year, month, day = (parts[place] for place in order)
    if not month.isdigit():
        name = month[:3].lower()
        month = _MONTHS.index(name) + 1 if name in _MONTHS else 0  # no month: refused
    year, day = int(year), int(day)
    if len(parts[order[0]]) == 2:  # 69 to 99 are of the last century, as in POSIX
        year += 1900 if year >= 69 else 2000
    hour, minute, second, fraction, half, _, sign, zone_hours, zone_minutes = parts[3:]
    try:
        moment = datetime.datetime(
            year, int(month), day, _hour(hour, half), int(minute or 0), int(second or 0),
            tzinfo=datetime.UTC,
        )  # fmt: skip
    except ValueError:
        return None
    seconds = (moment - _EPOCH) / datetime.timedelta(seconds=1) + float(f"0.{fraction or 0}")
    if sign:
        away = 3600 * int(zone_hours) + 60 * int(zone_minutes)
        seconds += away if sign == "-" else -away
    return seconds / 86400.0


def _hour(hour, half):
    """Return the hour of a day, from one of a half day where am or pm says so."""
    if hour is None:
        return 0
    if half is None:
        return int(hour)
    if not 1 <= int(hour) <= 12:
        return 24  # no hour: refused
    return int(hour) % 12 + (12 if half.lower() == "pm" else 0)


def day_text(days: float) -> str:
    """Return the day that so many days since 1970 fall on, as 2024-12-31."""
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(days)), "D"))


# -- times of day ----------------------------------------------------------------------

TIME = "time of day, in hours"
_TIME = re.compile(
    r"(\d{1,2})(?:[:h](\d{2})(?::(\d{2}(?:[.,]\d{1,9})?))?)?\s*(?:([AaPp])\.?[Mm]\.?|Uhr)?",
    re.ASCII,
)


def read_times(cells: Iterable[str], n_odd: int = 0) -> dict[str, float] | None:
    """Return cell -> hours of a day, None if more than so many cells are no times."""
    return _read_most(Counter(cells), read_time, n_odd) or None


def read_time(cell: str) -> float | None:
    """Return the hours since midnight of a time such as 14:30, 14:30:05 or 2:30 pm, or None."""
    found = _TIME.fullmatch(cell)
    if found is None or cell.isdigit():
        return None
    hour, minute, second, half = found.groups()
    hours = _hour(hour, half and f"{half}m")
    seconds = float((second or "0").replace(",", "."))
    if hours > 23 or int(minute or 0) > 59 or seconds >= 60:
        return None
    return hours + int(minute or 0) / 60 + seconds / 3600
