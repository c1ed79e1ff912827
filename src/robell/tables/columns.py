"""Columns of text turned into numbers for a model, with a note on what was done to each.

What a column is, how its cells are read and which are missing is learnt once, and kept as its plan:
a dict of plain values, which any model file can hold.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from robell._tools.text import composed, counted, listed, number_text, percent, said
from robell.tables import numerals
from robell.tables.dates import CLEAR, TIME, date_like, read_date, read_dates, read_time, read_times
from robell.tables.raw import Column

MISSING_WORDS = "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "None", "<NA>", "NaT", "?"
_NO_TEXT, _NO_VALUE = {None, ""}, {None, "", *MISSING_WORDS}
# Between numbers these stand for none; by themselves they may be labels or categories.
_MISSING_AMONG_NUMBERS = {
    *("-", "--", "---", ".", "..", "*", "n.a.", "N.A.", "n. a.", "na", "none", "Null", "nil"),
    *("#N/A", "#NA", "#NV", "#VALUE!", "#DIV/0!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
}
FEW_ODD = 0.05  # share of cells up to which a few that are no numbers are taken as missing
NUMBER_LIKE = 0.5  # share of cells from which on a column looks like numbers
TEXT_COLUMNS = 10  # of numbers that stand for one column of words, at the most


# -- a column ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnNote:
    """What was done to one column, in words.

    `kind` is how it was used: "number", "date", "category", "text" or "left out"; `missing` counts
    the rows without a value. `number_like` are three cells of a column that looks like numbers, or
    like dates, and could not be read so.
    """

    name: str
    kind: str
    missing: int
    done: str
    number_like: tuple[str, ...] = ()

    @property
    def advice(self) -> str:
        """What to do about a column that looks like numbers or dates and was not read so, or ""."""
        if not self.number_like:
            return ""
        is_date = date_like(Counter(self.number_like))[0] > 0
        what, how = ("dates", "way") if is_date else ("numbers", "unit and one spelling")
        return (
            f"column {said(self.name)} looks like {what} and is not read so "
            f"({listed(self.number_like, 3, 20)}): write it in one {how}"
        )


def advice_on(notes: Iterable[ColumnNote]) -> list[str]:
    """Return the advice on the first three columns that there is advice on."""
    found = [note.advice for note in notes if note.number_like]
    more = [f"{len(found) - 3:,} further columns look like numbers or dates and are not read so"]
    return found[:3] + (more if len(found) > 3 else [])


def left_out_of(notes: Sequence[ColumnNote]) -> list[str]:
    """Return a line on the first three of some columns left out, and why; none where none is."""
    why = [f"{said(note.name)} {note.done.removeprefix('left out: ')}" for note in notes[:3]]
    more = f"; and {len(notes) - 3:,} more, see the report" if len(notes) > 3 else ""
    return [f"columns left out: {'; '.join(why)}{more}"] if why else []


def in_short(notes: Sequence[ColumnNote]) -> str:
    """Say what was done to the first three columns, and of how many more there are notes."""
    more = f"; and {len(notes) - 3:,} more" if len(notes) > 3 else ""
    return "; ".join(f"{said(note.name, 30)} {note.done}" for note in notes[:3]) + more


@dataclass(frozen=True)
class Used:
    """A column that models can use, turned into numbers by its plan.

    `values` are numbers, NaN where missing, or places among `levels` (-1: one that the fit has not
    seen); `matrix` holds the columns of numbers that a model gets instead. `unknown` counts cells
    that the fit would not have known: no numbers among numbers, or new levels.
    """

    plan: dict[str, Any]
    name: str
    kind: str
    column: Column
    values: np.ndarray
    levels: tuple[str, ...]
    matrix: np.ndarray
    unknown: int = 0

    @property
    def cells(self) -> list:
        """The cells as they were read."""
        return self.column.cells

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers."""
        return self.kind in ("number", "date")


def missing_cells(column, texts=None):
    """Return which cells are None or one of some texts; by default those that mean no value."""
    if column.values is not None:
        return np.isnan(column.values)
    if texts is None:  # where the source declares texts, "NA" is one
        texts = _NO_TEXT if column.kind == "text" else _NO_VALUE
    if column.array is not None:
        from pyarrow import array, compute, string

        return np.asarray(compute.is_in(column.array, value_set=array(list(texts), string())))
    return np.fromiter(map(texts.__contains__, column.cells), bool, len(column))


def _plain_numbers(column, missing):
    """Return the numbers of the cells that are there; None if not all are written plainly."""
    if column.values is not None:
        return column.values[~missing]
    if column.array is not None:
        import pyarrow

        try:
            texts = column.array.filter(pyarrow.array(~missing)) if missing.any() else column.array
            found = texts.cast(pyarrow.float64()).to_numpy(zero_copy_only=False)
        except pyarrow.ArrowInvalid:
            return None
        return found if np.isfinite(found).all() else None  # nan and inf are words
    return numerals.plain_floats(column.without(missing))


def missing_texts(plan):
    """Return the texts that are no value, wherever new rows come from."""
    return ("",) if plan.get("declared") else ("", *MISSING_WORDS)


def prepare_column(column, rows, **how):
    """Return a column as Used, None if it is left out, and a ColumnNote; see learn_column."""
    plan, note = learn_column(column, rows, **how)
    return (None if plan is None else apply_plan(plan, column)), note


def learn_column(column, rows, *, delimiter=",", text_columns=TEXT_COLUMNS):
    """Return how a column is turned into numbers, None if it is left out, and a ColumnNote.

    ``rows`` are the numbers of the rows in the file, by which columns that count them are found.
    """
    missing, is_text = missing_cells(column), column.kind == "text"
    if column.kind == "other":
        return _left_out(column, missing, "its cells are lists or other structures")
    if missing.all():
        return _left_out(column, missing, "it holds no value")
    plain = None if is_text else _plain_numbers(column, missing)
    if plain is not None and (missing.any() or (plain != plain[0]).any()):
        return learn_numbers(column, missing, rows, plain, "number")
    present = column.without(missing)
    distinct = len(set(present))
    if distinct == 1 and not missing.any():
        shown = said(present[0], 30)
        return _left_out(column, missing, f"every row has the same value, {shown}")
    values, how, strange = numbers_of(present, delimiter, column.kind)
    if values is not None:
        others, gone = set(strange), missing.copy()
        gone[~missing] = is_strange = np.array([cell in others for cell in present])
        plan, note = learn_numbers(column, gone, rows, values[~is_strange], how)
        if not strange:
            return plan, note
        count = counted(int(is_strange.sum()), "cell")
        done = f"{note.done}; {count} taken as missing ({listed(strange, 3, 20)})"
        return plan, replace(note, done=done)
    plan, note = learn_levels(column, missing, present, how, text_columns)
    if plan is not None:
        plan |= {"declared": is_text}
    if not is_text:
        counts = Counter(present)
        share, cells = date_like(counts)
        if share < NUMBER_LIKE and distinct > MOST_LEVELS:
            share, cells = numerals.number_like(counts)
        note = replace(note, number_like=tuple(cells[:3]) if share >= NUMBER_LIKE else ())
    return plan, note


def _left_out(column, missing, why):
    return None, ColumnNote(column.name, "left out", int(missing.sum()), f"left out: {why}")


def apply_plan(plan, column):
    """Turn the cells of a column into numbers in the way that was learnt from others."""
    found, unknown = read_cells(plan, column)
    levels, parts = tuple(plan.get("levels", ())), []
    if plan["kind"] in ("number", "date"):
        values = np.where(np.isinf(found), np.nan, found)
        gone = np.isnan(values)
        filled = np.where(gone, plan["median"], values)
        if plan["value"]:
            parts.append(_standardised(_drawn_in(filled, plan["tails"]), plan["value"]))
        if plan.get("missing"):
            parts.append(_standardised(gone.astype(float), plan["missing"]))
        if plan.get("circle"):
            angle = 2.0 * np.pi * (filled / plan["circle"] % 1.0)
            parts += [np.where(gone, 0.0, np.sin(angle)), np.where(gone, 0.0, np.cos(angle))]
    else:
        n_common = len(levels) - plan["has_other"] - plan["has_missing"]
        places = {level: place for place, level in enumerate(levels[:n_common])}
        other = n_common if plan["has_other"] else -1
        places[None] = n_common + plan["has_other"] if plan["has_missing"] else -1
        values = np.fromiter((places.get(text, other) for text in found), np.intp, len(found))
        if len(levels) == 2:
            # A level that the fit has not seen is between the two, as near to each as it is common.
            parts.append(np.where(values < 0, plan["second"], values == 1))
        elif len(levels) > 2:
            parts.append(values[:, None] == np.arange(len(levels)))
        if "words" in plan:
            parts.append(apply_words(plan["words"], found))
        unknown = sum(found[k] is not None for k in np.flatnonzero(values < 0))
    matrix = np.column_stack(parts).astype(np.float64, copy=False)
    return Used(plan, plan["name"], plan["kind"], column, values, levels, matrix, unknown)


def read_cells(plan, column):
    """Return cells read as the fit has learnt, and how many are no numbers among numbers."""
    gone = {None, *missing_texts(plan)}
    if plan["kind"] not in ("number", "date"):
        spelt = plan.get("spelt", {})  # a model saved before knows none
        return [None if cell in gone else spelt.get(cell, cell) for cell in column.cells], 0
    values, how = np.full(len(column), np.nan), plan["how"]
    if column.values is not None:
        if plan["kind"] == "number" and how != TIME:
            return column.values, 0
        return values, int((~np.isnan(column.values)).sum())  # numbers where the fit had dates
    missing = missing_cells(column, gone)
    if how == "number" or (column.kind == plan["kind"] == "number" and how != TIME):
        plain = _plain_numbers(column, missing)  # the usual case, and the quickest
        if plain is not None:
            values[~missing] = plain
            return values, 0
    present = column.without(missing)
    if plan["kind"] == "date" or how == TIME:
        way = how.removeprefix("date, ")
        table = {cell: read_time(cell) if way == TIME else _day(cell, way) for cell in set(present)}
        found = np.array([table[cell] for cell in present], np.float64)
    else:
        # Numbers of a typed source are written in the usual way, however the fit's were.
        found = numerals.floats_written(present, "number" if column.kind == "number" else how)
    values[~missing] = found
    unread = [present[k] for k in np.flatnonzero(np.isnan(found))]
    return values, sum(cell not in _MISSING_AMONG_NUMBERS for cell in unread)


def _day(cell, way):
    day = read_date(cell, way)
    return read_date(cell, CLEAR) if day is None else day  # as typed sources write dates


def numbers_of(present, delimiter, kind=None):
    """Read the cells of a column as numbers, times of day or dates, a few of them being none.

    Returns the numbers, NaN for a few odd cells, how they are written, and the odd cells, the
    commonest first; or None, words for cells of which only some are numbers, and an empty list.
    """
    if kind == "text":
        return None, "", []
    if (values := numerals.plain_floats(present)) is not None:
        return values, "number", []
    counts, table, n_odd = Counter(present), None, int(FEW_ODD * len(present))
    dated = Counter({cell: n for cell, n in counts.items() if any(map(str.isdigit, cell))})
    if dated:
        table, how = read_times(dated, n_odd), TIME
        if table is None:
            table, way = read_dates(dated, n_odd)
            how = f"date, {way}"
    if table is None:
        table, how = numerals.read_most(counts, delimiter)
        if not table:
            return None, "", []
    odd = Counter({cell: n for cell, n in counts.items() if cell not in table})
    unknown = sum(n for cell, n in odd.items() if cell not in _MISSING_AMONG_NUMBERS)
    if not odd or (len(table) > 1 and unknown <= FEW_ODD * len(present) and len(odd) <= len(table)):
        values = np.array([table.get(cell, np.nan) for cell in present])
        return values, how, [cell for cell, _ in odd.most_common()]
    if numerals.unit_of(how) and 2 * odd.total() > len(present):
        return None, "", []  # 12 Mill Street, 3 Oak Avenue
    odd = Counter({cell: n for cell, n in odd.items() if numerals.split(cell) is None})
    if not odd:  # 12 % and 0.12, or 12 kg and 500 g
        examples = " and ".join(said(cell, 20) for cell, _ in counts.most_common(2))
        why = f"numbers written in ways that do not go together, such as {examples}"
    else:
        commonest = ", ".join(said(cell, 20) for cell, _ in odd.most_common(3))
        n_numbers = counted(counts.total() - odd.total(), "cell")
        is_are = "is not" if odd.total() == 1 else "are not"
        why = f"{n_numbers} of numbers, {odd.total():,} {is_are} ({commonest})"
    return None, f"mixed: {why}; ", []


# -- columns that only name the rows, such as running numbers, which no model should learn from

_NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFYING = {"id", "ids", "uuid", "guid", "key", "pk", "index", "number", "no", "nr"}
DENSE_ROWS = 30  # from so many rows on, different numbers that fill their range are counted ones
DENSE = 2.5  # numbers of the range for each row


def _is_identifier(name, values, rows):
    """Say whether numbers identify rows: whole, different, and filling a range or named so."""
    n = len(values)
    if n < 2 or not np.isfinite(values).all() or (values != np.round(values)).any():
        return False
    if len(np.unique(values)) < n:
        return False
    counts_rows = len(np.unique(values - rows)) == 1
    fills_range = n >= DENSE_ROWS and np.ptp(values) < DENSE * n
    named_so = _IDENTIFYING & set(map(str.lower, _NAME_WORDS.findall(name)))
    return bool(counts_rows or fills_range or named_so)


# -- numbers and dates: gaps filled, standardised, times of day on a circle --------------

INDICATED = 0.05  # share of missing cells above which one more column says where they were
LONG_TAIL = 6.0  # standard deviations
LARGEST = 1e100  # standard deviations that a number may be away; beyond, products overflow
CIRCLE = ("sine of the time of day", "cosine of the time of day")


def learn_numbers(column, missing, rows, present, how):
    """Return the plan for numbers or dates, and a ColumnNote; no plan where they say nothing."""
    name, is_date = column.name, how.startswith("date")
    values = np.full(len(missing), np.nan)
    values[~missing] = present
    infinite = np.isinf(values)
    values[infinite] = np.nan
    gone = np.isnan(values)
    known = values[~gone]
    n_missing = int(gone.sum())
    if not is_date and _is_identifier(name, present, rows[~missing]):
        why = "looks like an identifier, a different number in each row"
        return _left_out(column, gone, why)
    if not len(known):
        return _left_out(column, gone, "it holds no finite value")
    if known.min() == known.max() and not n_missing:
        return _left_out(column, gone, "constant")
    kind = "date" if is_date else "number"
    plan = {"kind": kind, "name": name, "how": how, "median": median(known)}
    done = [f"read as a {how}{', in days' * is_date}"]
    if infinite.any():
        done.append(f"{counted(int(infinite.sum()), 'infinite value')} taken as missing")
    if n_missing:
        shown = "the middle date" if is_date else f"the median, {number_text(plan['median'])}"
        done.append(f"missing cells filled with {shown}")
    plan["tails"] = None
    largest = float(np.abs(known).max()) or 1.0
    scaled = known / largest
    deviation, farthest = float(scaled.std()), np.abs(scaled - scaled.mean()).max()
    if not is_date and farthest > LONG_TAIL * deviation and deviation >= 1e-12:
        low, high = np.percentile(scaled, [25, 75])
        width = (high - low) / 2 or float(np.abs(scaled - plan["median"] / largest).mean())
        if width * largest > 0:
            plan["tails"] = [plan["median"], width * largest]
            done.append("long tails drawn in")
    plan["value"] = _learn_scale(_drawn_in(np.where(gone, plan["median"], values), plan["tails"]))
    if n_missing > INDICATED * len(values) or known.min() == known.max():
        plan["missing"] = _learn_scale(gone.astype(float))
        if plan["missing"]:
            done.append("one more column says where they were")
    plan["range"] = [float(known.min()), float(known.max())]
    if how == TIME or (is_date and np.any(known % 1.0)):
        plan["circle"] = 24.0 if how == TIME else 1.0  # the length of a day
        done.append("two more columns hold the time of day" + " on a circle" * (how == TIME))
    plan["names"] = [name] if plan["value"] else []
    plan["names"] += [f"{name} missing"] if plan.get("missing") else []
    plan["names"] += [f"{name} {part}" for part in CIRCLE] if plan.get("circle") else []
    if not plan["names"]:
        why = "its values differ by less than numbers of their size can tell"
        return _left_out(column, gone, why)
    return plan, ColumnNote(name, kind, n_missing, "; ".join(done))


def median(known):
    """Return the median, also of numbers so large that the sum of two overflows."""
    scale = 4.0 if np.abs(known).max() > 1e300 else 1.0
    return float(np.median(known / scale)) * scale


def _drawn_in(values, tails):
    """Return asinh((v - centre) / width): nearly linear within the width, logarithmic beyond."""
    if tails is None:
        return values
    centre, width = tails
    with np.errstate(over="ignore"):
        scaled = values / width - centre / width
    return np.arcsinh(np.clip(scaled, -1e300, 1e300))


def _learn_scale(values):
    """Return what makes mean 0 and deviation 1 of values; None where all are equal."""
    shift = 0.0
    for _ in range(2):
        largest = float(np.abs(values - shift).max())
        if largest == 0:
            return None
        scaled = (values - shift) / largest  # squares of very large or small ones would overflow
        mean = float(scaled.mean())
        deviation = float(np.sqrt(np.mean((scaled - mean) ** 2)))
        if deviation > 1e-12:
            return {"shift": shift, "largest": largest, "mean": mean, "deviation": deviation}
        if shift or values.min() == 0 or not (values == np.round(values)).all():
            return None  # the differences are rounding
        shift = float(values.min())  # codes of many digits: exact in whole numbers
    return None


def _standardised(values, scale):
    """Return values as they were scaled by :func:`_learn_scale`."""
    with np.errstate(over="ignore"):
        scaled = ((values - scale["shift"]) / scale["largest"] - scale["mean"]) / scale["deviation"]
    return np.clip(scaled, -LARGEST, LARGEST)


# -- categories and texts: common levels as columns of 0 and 1, and words ----------------

MOST_LEVELS = 20
LEAST_SHARE = 0.01  # of the rows; rarer levels of a category are taken together
LEAST_COUNT = 3  # rows; the same
POOLED_SHARE = 0.1  # of the rows with a value: where more have a rare level, words are looked at
OTHER, NO_VALUE = "(other)", "(missing)"


def learn_levels(column, missing, present, odd, text_columns):
    """Return the plan for a category or a text, None if it says nothing, and a ColumnNote."""
    name, has_missing = column.name, bool(missing.any())
    counts = Counter(present)
    is_free = len(counts) == len(present) > 1  # a text of its own in each row
    spelt = {} if column.kind == "text" or is_free else other_spellings(counts)
    if spelt:
        counts = Counter(spelt.get(cell, cell) for cell in present)
    least = max(LEAST_COUNT, LEAST_SHARE * len(missing))
    common = [level for level, count in counts.most_common(MOST_LEVELS) if count >= least]
    pooled = len(counts) - len(common)
    n_other = len(present) - sum(counts[level] for level in common)
    if is_free:  # codes without spaces name the rows, whatever they are made of
        spaced = sum(any(sign.isspace() for sign in cell) for cell in present)
        has_words = 2 * spaced > len(present)
    else:
        has_words = pooled > MOST_LEVELS and n_other > POOLED_SHARE * len(present)
    words = learn_words(counts, len(missing), text_columns) if has_words else None
    levels = [*common, *([OTHER] if n_other else []), *([NO_VALUE] if has_missing else [])]
    plan = {"kind": "category", "name": name, "levels": levels, "has_other": bool(n_other)}
    others = as_others_write(common, {*present})
    plan |= {"has_missing": has_missing, "spelt": spelt | others}
    first = counts[common[0]] if common else n_other
    plan["second"] = (len(missing) - first) / len(missing) if len(levels) == 2 else 0.0
    # One column is enough for two levels.
    shown = levels[1:] if len(levels) == 2 else levels if len(levels) > 2 else []
    plan["names"] = [f"{name}={level}" for level in shown]
    told = ""
    if words is not None:
        plan |= {"kind": "text", "words": words}
        plan["names"] += [f"{name} {part}" for part in words["names"]]
        told = f"{counted(len(words['names']), 'column')} for "
        if len(words["tokens"]):
            told += f"its {counted(len(words['tokens']), 'common word')}"
            often = words["hashes"] is not None
            told += ", how often each occurs among them" if often else ""
        else:
            told += "how often each occurs"
    elif is_free:
        why = "looks like an identifier or free text, different in each row"
        return _left_out(column, missing, why)
    if not plan["names"]:
        values, share = counted(len(counts), "value"), percent(LEAST_SHARE)
        why = f"{odd}text of {values}, none of which is in {share} of the rows"
        return _left_out(column, missing, why)
    if is_free:
        done = f"read as text, different in each row: {told}"
        done += "; one more column says where it is missing" if has_missing else ""
    else:
        done = f"{odd}read as a category of {counted(len(counts), 'level')}"
        done += f"; the {pooled:,} rarest taken together" if pooled else ""
        done += f", {told}" if told else ""
        done += spellings_said(spelt)
        done += "; missing as a level of its own" if has_missing else ""
    return plan, ColumnNote(name, plan["kind"], int(missing.sum()), done)


def as_others_write(levels, known):
    """Return spelling -> level: frames hold TRUE as True, 1.0 as 1; some encode accents apart."""
    meant: dict[str, str] = {}
    for level in levels:
        forms = [unicodedata.normalize(form, level) for form in ("NFC", "NFD")]
        if level.casefold() in ("true", "false"):
            forms += [level.lower(), level.upper(), level.capitalize()]
        value = numerals.plain_number(level)
        if value is not None and value == value.to_integral_value():
            forms += [str(int(value)), f"{int(value)}.0"]
        meant |= {form: level for form in forms if form not in known and form not in meant}
    return meant


def other_spellings(counts):
    """Return spelling -> commoner level: other capitals, blanks or accents, or an abbreviation."""
    first: dict[str, str] = {}
    meant = {}
    for cell, _ in counts.most_common():
        folded = composed(" ".join(cell.casefold().split()))
        known = first.setdefault(folded, cell)
        if known != cell and (len(folded) > 1 or composed(known) == composed(cell)):
            meant[cell] = known
    for folded, cell in first.items():
        stem = folded.rstrip(".")
        if not folded.endswith(".") or len(stem) < 2:
            continue
        whole = [one for other, one in first.items() if other != folded and other.startswith(stem)]
        if len(whole) == 1 and counts[whole[0]] > counts[cell]:
            meant |= {one: whole[0] for one, of in [*meant.items(), (cell, cell)] if of == cell}
    return meant


def spellings_said(spelt):
    """Return up to three spellings with the levels they are taken as, to be added to a note."""
    cells = [f"{said(cell, 20)} as {said(level, 20)}" for cell, level in spelt.items()]
    return f"; {', '.join(cells[:3])}{', ...' if len(cells) > 3 else ''}" if cells else ""


# -- words ----------------------------------------------------------------------------
# The common words of the texts span a space of indicators, each weighted by its rarity log(n / n_w)
# and every text scaled to length one. Of that space the directions of largest variance are kept
# (latent semantic analysis): texts that share words get similar numbers. One more column says how
# often a text occurs, on a logarithmic scale. No label is looked at.

MOST_TOKENS = 300
LEAST_WORD_SHARE = 0.005  # of the rows in which a word must occur
MOST_SHARE = 0.95  # a word in more rows than that says little
MOST_COUNTED = 20_000  # texts whose frequency is kept
MOST_KEPT = 5_000  # texts that are kept themselves
MOST_READ = 400  # characters of a text that are read
ROWS_A_COLUMN = 50  # no more columns than one for so many rows
_TOKEN = re.compile(r"[^\W\d_]{2,}|\d+")


def tokens_of(text):
    """Return the words and numbers of a text, each once, in small letters."""
    return set(_TOKEN.findall(text[:MOST_READ].casefold()))


def learn_words(counts, n_rows, most):
    """Return the plan for texts, each in so many rows; None if nothing tells them apart."""
    most = max(1, min(most, n_rows // ROWS_A_COLUMN))
    every, names = np.array(list(counts.values()), float), []
    frequency: Counter[str] = Counter()
    for text, n in counts.items():
        for token in tokens_of(text):
            frequency[token] += n
    least, largest = max(LEAST_COUNT, LEAST_WORD_SHARE * n_rows), MOST_SHARE * sum(counts.values())
    kept = [(-n, token) for token, n in frequency.items() if least <= n <= largest]
    tokens = [token for _, token in sorted(kept)[:MOST_TOKENS]]
    plan: dict[str, Any] = {"tokens": np.array(tokens, dtype=str)}
    plan |= {"hashes": None, "logs": None, "axes": None}
    plan["rarity"] = np.array([np.log(n_rows / frequency[token]) for token in tokens])
    if tokens:  # the directions of largest variance, scaled to a total variance of one
        space = _indicators(plan, list(counts)).toarray()
        mean = every @ space / n_rows
        spread = (space.T @ (space * every[:, None])) / n_rows - np.outer(mean, mean)
        values, axes = np.linalg.eigh(spread)
        values, axes = values[::-1][:most], axes[:, ::-1][:, :most]
        kept = values > 1e-9 * max(values[0], 1e-300)
        axes = axes[:, kept]
        largest = np.abs(axes).argmax(axis=0)
        axes = axes * np.sign(axes[largest, np.arange(axes.shape[1])])  # one sign on every machine
        plan["axes"] = axes / np.sqrt(max(values[kept].sum(), 1e-300))
        plan["centre"] = mean @ plan["axes"]
        names = [f"words {k + 1}" for k in range(axes.shape[1])]
    if len({*every}) > 1:  # how often the commonest texts occur, by their digests
        common = [(text, n) for text, n in counts.most_common(MOST_COUNTED) if n > 1]
        digests = np.array([_digest(text) for text, _ in common], np.int64)
        order = np.argsort(digests)
        plan["hashes"] = digests[order]
        if len(common) <= MOST_KEPT:  # a graph cannot compute digests
            plan["texts"] = [common[k][0] for k in order]
        plan["logs"] = np.log2([n for _, n in common])[order]
        logs = np.log2(every)
        mean = float(every @ logs / n_rows)
        plan["often"] = [mean, float(np.sqrt(every @ (logs - mean) ** 2 / n_rows)) or 1.0]
        names.append("frequency")
    plan["names"] = names
    return plan if names else None


def _indicators(plan, texts):
    """Return which of the common words each text holds, weighted and of length one."""
    place = {token: k for k, token in enumerate(plan["tokens"].tolist())}
    found = [[place[token] for token in tokens_of(text) if token in place] for text in texts]
    lengths = [len(places) for places in found]
    columns = np.fromiter((p for places in found for p in sorted(places)), np.intp, sum(lengths))
    values = plan["rarity"][columns]
    rows = np.repeat(np.arange(len(texts)), lengths)
    norm = np.sqrt(np.bincount(rows, values**2, minlength=len(texts)))
    values = values / np.maximum(norm, 1e-300)[rows]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(texts), len(place))
    return csr_array((values, columns, starts), shape=shape)


def _digest(text):
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def apply_words(plan, cells):
    """Return the columns of numbers for the texts of some rows; zeros, the mean, where None."""
    places = {text: k for k, text in enumerate(dict.fromkeys(c for c in cells if c is not None))}
    texts = list(places)
    columns = np.zeros((len(texts) + 1, len(plan["names"])))  # the last row: missing
    n_axes = 0
    if plan["axes"] is not None:
        n_axes = plan["axes"].shape[1]
        for start in range(0, len(texts), 1 << 14):
            part = slice(start, min(start + (1 << 14), len(texts)))
            columns[part, :n_axes] = _indicators(plan, texts[part]) @ plan["axes"] - plan["centre"]
    if plan["hashes"] is not None:
        mean, deviation = plan["often"]
        digests = np.fromiter((_digest(text) for text in texts), np.int64, len(texts))
        at = np.minimum(np.searchsorted(plan["hashes"], digests), len(plan["hashes"]) - 1)
        logs = np.where(plan["hashes"][at] == digests, plan["logs"][at], 0.0)
        columns[: len(texts), n_axes] = (logs - mean) / deviation
    return columns[[places.get(cell, -1) for cell in cells]]
