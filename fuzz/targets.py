"""What is fuzzed: functions of any bytes that raise where a promise of the package is broken.

Each may refuse its bytes by the errors that the package promises, in one line. Any other exception
is a finding, and so is ``Broken``: an answer that its slow, literal twin does not give. They need
nothing but the package, so that inputs once found are tried again in every run of the tests;
``guided.py`` lets coverage choose the bytes.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import html
import io
import json
import os
import re
import tempfile
import unicodedata
import warnings
import zipfile
import zlib
from collections import Counter
from contextlib import suppress
from decimal import Decimal
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from robell._tools import text as shown
    from robell._tools.files import FileError
    from robell._tools.text import writable
    from robell.comparison.store import CHECK, StudyError, parse_records
    from robell.files import load_model, model_info, save_model
    from robell.labels.review.apply import apply_review
    from robell.labels.review.review import WORDS, fingerprints, read_review
    from robell.report import page as pages
    from robell.report import tables
    from robell.report.tables import escape_html, escape_latex, escape_markdown
    from robell.tables import dates, numerals
    from robell.tables.columns import prepare_column
    from robell.tables.read import read_table, table_parts
    from robell.tables.read_csv import records_of

MEMORY = "64MB"  # that a model file may take
LONGEST = 4096  # bytes of an input


class Broken(AssertionError):
    """A promise that does not hold."""


def require(holds, promise, *values):
    """Raise where a promise does not hold."""
    if not holds:
        raise Broken(f"{promise}: {', '.join(ascii(value)[:300] for value in values)}")


def answer(call, *errors):
    """Return what a call answers, or None where it refuses in one line, without control signs."""
    try:
        return call()
    except errors as error:
        signs = [sign for sign in str(error) if unicodedata.category(sign) in ("Cc", "Zl", "Zp")]
        require(not signs, "an error is one line of visible signs", str(error))
        require(0 < len(str(error)) < 2000, "an error is short", str(error))
        return None


@cache
def folder():
    """Return a folder for the files of this process, in memory where there is such a disk."""
    shared = Path("/dev/shm")
    kept = tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None)
    _kept.append(kept)
    return Path(kept.name)


_kept: list = []  # folders, gone with the process


def text_of(data):
    """Return any bytes as text; what is no UTF-8 becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def same_cells(found, expected):
    """Say whether cells are the same texts, blanks around them apart."""
    return [str(cell).strip() for cell in found] == [str(cell).strip() for cell in expected]


def prepare(table):
    """Prepare some columns of a table for models: whatever they hold, numbers come out."""
    for column in table.columns[:6]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            used, note = prepare_column(column, table.rows, delimiter=table.delimiter)
        require("\n" not in note.done, "a note is one line", note.done)
        if used is not None:
            require(len(used.matrix) == len(table.rows), "a row each", used.matrix.shape)
            require(np.isfinite(used.matrix).all(), "models get finite numbers", column.cells)


# -- tables ----------------------------------------------------------------------------

ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8", "latin-1", "utf-16", "cp1252", "utf-8-sig")
DELIMITERS = (None, None, None, ",", ";", "\t", "|", " ")


def read_csv(data):
    """Check that Arrow reads a text file as the csv module does, in one piece as in parts."""
    how, body = (data or b"\0")[0], data[1:]
    encoding, delimiter = ENCODINGS[how & 7], DELIMITERS[how >> 3 & 7]
    path = folder() / "table.csv"
    path.write_bytes(gzip.compress(body, 1, mtime=0) if how & 64 else body)
    options = {"encoding": encoding, "delimiter": delimiter}
    table = answer(lambda: read_table(path, None, **options), FileError)
    if table is None:
        return
    found = records_of(path, encoding, table.delimiter)
    header, *rows = [(row.line, row.cells) for row in found]
    require(len(header[1]) == len(table.columns), "columns as csv has them", header)
    require(table.lines.tolist() == [line for line, _ in rows], "lines as csv has them", rows)
    for place, column in enumerate(table.columns):
        expected = [cells[place] for _, cells in rows]
        require(same_cells(column.cells, expected), "cells as csv", column.cells, expected)
    parts = list(table_parts(path, **options, n_rows=3))
    for place, column in enumerate(table.columns):
        in_parts = [cell for part in parts for cell in part.columns[place].cells]
        require(in_parts == column.cells, "parts as the whole", in_parts, column.cells)
    prepare(table)


def read_parquet(data):
    """Check that Parquet, damaged or of odd columns, is read with its own numbers or refused."""
    import pyarrow
    import pyarrow.parquet

    how, body = (data or b"\0")[0], data[1:]
    path = folder() / "table.parquet"
    if how & 1:
        table = odd_columns(body)
        if table is None:
            return
        try:
            pyarrow.parquet.write_table(table, path)
        except (pyarrow.ArrowException, OSError):  # a type that Parquet does not have
            return
    else:
        path.write_bytes(body)
    found = answer(lambda: read_table(path), FileError)
    if found is None:
        return
    expected = pyarrow.parquet.read_table(path)
    for column, array in zip(found.columns, expected.columns, strict=True):
        require(len(column.cells) == expected.num_rows, "a cell each", column.name)
        if pyarrow.types.is_integer(array.type):
            theirs = [None if value is None else str(value) for value in array.to_pylist()]
            require(column.cells == theirs, "whole numbers as they are", column.cells, theirs)
    prepare(found)


def odd_columns(body):
    """Return an Arrow table whose types and values are what the bytes say; None for no rows."""
    import pyarrow as pa

    units = ("s", "ms", "us", "ns")
    kinds = [
        *(pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64(), pa.float16()),
        *(pa.float32(), pa.float64(), pa.bool_(), pa.date32(), pa.date64(), pa.binary(4)),
        *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
        *(pa.timestamp(unit) for unit in units),
        *(pa.timestamp(unit, "UTC") for unit in units),
        pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ms", "+25:00"),
        *(pa.duration(unit) for unit in units),
        pa.decimal128(38, 2), pa.decimal128(20, -3), pa.decimal256(76, 10),
    ]  # fmt: skip
    n_columns, n_rows = 1 + (body[:1] or b"\0")[0] % 3, 1 + (body[1:2] or b"\0")[0] % 9
    arrays, body = [], body[2:]
    for _ in range(n_columns):
        kind, body = kinds[(body[:1] or b"\0")[0] % len(kinds)], body[1:]
        size = (kind.bit_width * n_rows + 7) // 8
        values, body = body[:size].ljust(size, b"\0"), body[size:]
        mask, body = body[:2].ljust(2, b"\xff"), body[2:]
        array = pa.Array.from_buffers(kind, n_rows, [pa.py_buffer(mask), pa.py_buffer(values)])
        arrays.append(array.dictionary_encode() if mask[1:] == b"\x7f" else array)
    return pa.table(arrays, [f"column {k}" for k in range(n_columns)])


# -- reviews ---------------------------------------------------------------------------

PLANTS = "height,plant\n" + "".join(
    f"{k % 7 + 9 * (k % 2)}.{k},{('moss', 'fern')[k % 2]}\n" for k in range(12)
)


@cache
def audited():
    """Return the path of a table and the text of a review of it, one row decided."""
    path = folder() / "plants.csv"
    path.write_text(PLANTS, encoding="utf-8")
    prints = fingerprints(read_table(path, "plant"), 1)
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["row", "target", "given", "suggested", "decision", "fingerprint"])
    for k, mark in enumerate(prints):
        given, other = ("moss", "fern") if k % 2 == 0 else ("fern", "moss")
        writer.writerow([k + 1, "plant", given, other, ("change", "drop", "keep", "")[k % 4], mark])
    return path, lines.getvalue()


def read_reviews(data):
    """Check that a review is applied to its table: rows decided upon change, and no others."""
    path, out = folder() / "review.csv", folder() / "clean.csv"
    table, _ = audited()
    path.write_bytes(data)
    review = answer(lambda: read_review(path), FileError)
    if review is None:
        return
    require(all(one.word in ("", *WORDS) for one in review.decisions), "known words", review)
    rows = [one.row for one in review.decisions]
    require(rows == sorted(set(rows)) and rows[0] > 0, "each row once, in order", rows)
    for name in (out, folder() / "clean-review.csv"):
        name.unlink(missing_ok=True)
    applied = answer(lambda: apply_review(table, path, out), FileError)
    if applied is None:
        require(not out.exists(), "a refusal writes nothing", review)
        return
    before, after = (one.read_text("utf-8").splitlines(True) for one in (table, out))
    words = {one.row: one.word for one in review.decisions}
    kept = [k for k in range(1, len(before)) if words.get(k) != "drop"]
    require(len(after) == 1 + len(kept) and after[0] == before[0], "rows that stay", words, after)
    for place, row in enumerate(kept, 1):
        same = after[place] == before[row]
        require(same or words.get(row) == "change", "untouched rows stay", words, after[place])
        height = before[row].partition(",")[0]
        require(after[place].partition(",")[0] == height, "only labels change", after[place])
        require(after[place].rstrip("\n").rpartition(",")[2] in ("moss", "fern"), "labels", after)
    first = out.read_bytes()
    again = answer(lambda: apply_review(out, path, out.with_name("again.csv")), FileError)
    if again is not None:
        require(again.out.read_bytes() == first, "applied twice is applied once", words)


# -- model files -----------------------------------------------------------------------


@cache
def model_parts():
    """Return the parts of small model files, by the name of their zip member."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler
    from sklearn.random_projection import SparseRandomProjection

    import robell

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(24, 2)), np.arange(24) % 3])
    y = np.arange(24) % 2
    models = [
        robell.RVFLClassifier(3, random_state=0),
        make_pipeline(StandardScaler(), robell.ELMClassifier(3, random_state=0)),
        make_pipeline(PolynomialFeatures(2), robell.RVFLClassifier(2, random_state=0)),
        make_pipeline(SparseRandomProjection(2, density=0.5), robell.RVFLClassifier(2)),
    ]
    found = []
    for model in models:
        path = folder() / "base.skops"
        save_model(model.fit(X, y), path, X=X, y=y)
        with zipfile.ZipFile(path) as packed:
            found.append({name: packed.read(name) for name in packed.namelist()})
    return found


def edited(body):
    """Return a model file with edits to its parts, as the bytes say: their zip stays whole."""
    parts = model_parts()
    parts = dict(parts[(body[:1] or b"\0")[0] % len(parts)])
    body = body[1:]
    while len(body) >= 5:
        which, high, low, kind, size = body[:5]
        new, body = body[5 : 5 + size % 32], body[5 + size % 32 :]
        name = sorted(parts)[which % len(parts)]
        old = parts[name]
        place = (high << 8 | low) % (len(old) + 1)
        if kind % 4 == 0:  # over what is there
            parts[name] = old[:place] + new + old[place + len(new) :]
        elif kind % 4 == 1:  # between
            parts[name] = old[:place] + new + old[place:]
        elif kind % 4 == 2:  # instead of a number or name of the description
            words = list(re.finditer(rb'"(?:[^"\\]|\\.)*"|\d+', old))
            if words:
                word = words[place % len(words)]
                parts[name] = old[: word.start()] + new + old[word.end() :]
        else:  # the part of another name
            parts[name] = parts[sorted(parts)[size % len(parts)]]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, part in parts.items():
            packed.writestr(name, part)
    return file.getvalue()


def read_model(data):
    """Check that a model file is refused, or becomes a model that answers for rows."""
    how, body = (data or b"\0")[0], data[1:]
    path = folder() / "model.skops"
    path.write_bytes(edited(body) if how & 1 else body)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer(lambda: model_info(path), FileError)
        model = answer(lambda: load_model(path, MEMORY), FileError)
        if model is not None:
            labels = answer(lambda: model.predict(np.zeros((2, model.n_features_in_))), ValueError)
            require(labels is None or len(labels) == 2, "a label for each row", labels)


# -- records of studies ----------------------------------------------------------------


def read_records(data):
    """Check that a damaged record is refused, and that all others are read."""
    how, body = (data or b"\0")[0], data[1:]
    if how & 1:  # bodies with the right checksum, so that their shape is looked at
        lines = [line[:-1] + CHECK + b'"%08x"}' % zlib.crc32(line) for line in body.split(b"\n")]
        body = b"\n".join(lines) + b"\n"
    records = answer(lambda: parse_records("records.jsonl", body), StudyError)
    whole = [line for line in body.split(b"\n")[:-1] if line.strip()]
    if records is None:
        return
    expected = {}
    for line in whole:
        record = json.loads(line)
        check = record.pop("check", None)
        if CHECK in line:
            start = line.rindex(CHECK)
            right = f"{zlib.crc32(line[:start] + b'}'):08x}"
            require(check == right, "a record with its own checksum", line)
        require(record["status"] in ("done", "failed"), "a status", record)
        for name in ("job", "outcome", "data", "seconds"):
            require(isinstance(record.get(name, {}), dict), "parts are members", record)
        expected[record["key"]] = record
    require(set(records) == set(expected), "all records", records)
    for key, record in records.items():
        record = {name: value for name, value in record.items() if name != "check"}
        require(repr(record) == repr(expected[key]), "the newest record of a key", record)


# -- text made fit to be shown ---------------------------------------------------------

FORMULA_SIGNS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"


def show_text(data):
    """Check that text of others is escaped in HTML, LaTeX, Markdown, CSV and on a terminal."""
    text = text_of(data)
    as_html = escape_html(text)
    require(not set("<>\"'") & set(as_html), "no bare signs of HTML", as_html)
    require(html.unescape(as_html) == writable(text), "HTML reads as the text", as_html)
    as_html.encode("utf-8")
    _check_markdown(escape_markdown(text))
    _check_latex(escape_latex(text))
    visible = shown.visible(text)
    for sign in visible:
        kind = unicodedata.category(sign)
        joins = sign in "\u200c\u200d"
        require(joins or kind not in ("Cc", "Cf", "Cs", "Zl", "Zp"), "all is visible", visible)
    require(len(shown.shortened(text)) <= shown.NAME, "long text is cut", text)
    require(len(shown.said(text)) <= shown.NAME + 4, "a name in an error is short", text)
    cell = shown.in_cell(text)
    require(not _is_formula(cell), "a cell of a page is no formula", cell)
    safe = shown.spreadsheet_safe(text)
    require(not _is_formula(safe), "a cell of a file is no formula", safe)
    back = safe[1:] if _is_formula(safe.lstrip("'")) else safe
    require(back == text, "the apostrophe can be taken off", text, safe)
    require(_parsed(pages._inline(shown.literal(text))).text == writable(text), "literal", text)
    found = _parsed(pages._inline(text))
    require(set(found.tags) <= {"strong", "code", "a"}, "small markup alone", found.tags)


def _is_formula(text):
    """Say whether a spreadsheet computes the text; a plain number is no formula."""
    if not text or text[0] not in FORMULA_SIGNS:
        return False
    return slow_number(text) is None


def _check_markdown(text):
    """Require a cell of a Markdown table in one line, without bare signs of the markup."""
    require("\n" not in text and "\r" not in text and "<" not in text, "one line", text)
    escaped = False
    for sign in text:
        require(escaped or sign not in "|`*[]$", "no bare sign of Markdown", text)
        escaped = sign == "\\" and not escaped


def _check_latex(text):
    """Require text in LaTeX in ASCII, with whole braces and formulas, without bare signs."""
    require(text.isascii() and text.isprintable(), "LaTeX in plain signs", text)
    depth = dollars = place = 0
    while place < len(text):
        sign = text[place]
        if sign == "\\":
            require(place + 1 < len(text), "a command has a name", text)
            place += 1
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
            require(depth >= 0, "braces that were opened", text)
        elif sign == "$":
            dollars += 1
        else:
            formula = dollars % 2 == 1
            require(sign not in "#%&~" and (formula or sign not in "^_"), "no bare sign", text)
        place += 1
    require(depth == 0 and dollars % 2 == 0, "braces and formulas end", text)


class _Page(HTMLParser):
    """What a browser would find in a page: its elements, their attributes, and its text."""

    EMPTY = {"meta", "link", "br", "wbr"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open = Counter(), [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        require(self.open and self.open.pop() == tag, "elements end in their order", tag)

    def handle_data(self, data):
        self.text += data


def _parsed(source):
    """Return the elements and the text of some HTML; all elements must end."""
    found = _Page()
    found.feed(source)
    found.close()
    require(not found.open, "all elements end", found.open)
    for name, value in found.attributes:
        require(not name.startswith("on") and name != "style", "no attribute runs", name, value)
        if name in ("href", "src"):
            plain = value.startswith(("#", "data:,", "data:text/csv", "http://", "https://"))
            relative = re.fullmatch(r"[\w.-][\w./#-]*", value, re.ASCII)
            require(plain or relative, "addresses do no harm", value)
    return found


@cache
def _elements_of_a_page():
    texts = ["a", "b", "1", "c"]
    return set(_parsed(_page_of(texts)).tags)


def _page_of(texts):
    """Return a page with every kind of block of text, and tables in all forms."""
    first, second, third, last = (texts * 4)[:4]
    rows = ((first, second, 1.5), (third, last, None), (second, first, -2.0))
    table = tables.Table("t", first, ("set", f"{second} ", "x"), rows, last, note=third)
    for line in tables.to_markdown(table).splitlines():
        require("<script" not in line.lower(), "Markdown without elements", line)
    tables.to_latex(table).encode("ascii")
    for row in csv.reader(io.StringIO(tables.to_csv(table))):
        require(not any(map(_is_formula, row)), "no formula in a CSV", row)
    blocks = (
        pages.Paragraph(first), pages.Bullets((second, third)), pages.TableBlock(table),
        pages.Facts(((first, second, third),)), pages.Code(last),
        pages.Details(first, (pages.Callout("note", second),)),
        pages.Paragraph(f"[{first}]({second}) **{third}** `{last}`"),
    )  # fmt: skip
    return pages.render(first, second, [pages.Section("s", third, blocks)], last)


def write_page(data):
    """Check that a page has the elements it always has, whatever texts stand in it."""
    texts = [text_of(part) for part in data.split(b"\0")[:4]]
    found = _parsed(_page_of(texts))
    more = set(found.tags) - _elements_of_a_page() - {"strong", "code", "a", "br", "wbr"}
    require(not more, "no element from a text", more)
    counts = [found.tags[name] for name in ("script", "style", "title", "html", "body")]
    require(counts == [1, 1, 1, 1, 1], "one script and one style", counts)
    ids = [value for name, value in found.attributes if name == "id"]
    require(len(ids) == len(set(ids)), "ids differ", ids)
    require(writable(texts[0]) in found.text or not texts[0], "the text stands there", texts[0])


# -- numbers ---------------------------------------------------------------------------


def slow_number(text):
    """Return the number that a text spells in the usual way, sign by sign, or None."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    head, mark, exponent = rest.replace("E", "e").partition("e")
    if mark:
        exponent = exponent[1:] if exponent[:1] in ("+", "-") else exponent
        if not _is_digits(exponent):
            return None
    whole, _, part = head.partition(".")
    if not (_is_digits(whole) or (whole == "" and part)) or (part and not _is_digits(part)):
        return None
    return float(text)


def _is_digits(text):
    return bool(text) and all(sign in "0123456789" for sign in text)


def slow_spelling(digits, way):
    """Return the number that digits spell in a way, in words, or None."""
    comma = way in (numerals.DECIMAL_COMMA, numerals.DOT_THOUSANDS)
    point, other = (",", ".") if comma else (".", ",")
    if way in (numerals.COMMA_THOUSANDS, numerals.DOT_THOUSANDS):
        whole, _, part = digits.partition(point)
        apart = {sign for sign in whole if not _is_digits(sign)}
        if len(apart) == 1 and apart <= set(other + "'\u2019 \u00a0\u202f\u2009\u2007"):
            groups = whole.split(*apart)
            fits = all(_is_digits(group) and len(group) == 3 for group in groups[1:])
            first = groups[0]
            fits = fits and _is_digits(first) and len(first) <= 3 and first[0] != "0"
            if fits and (not part or _is_digits(part)):
                return float("".join(groups) + "." + part)
    if comma and "." not in digits and digits[:1] not in ("+", "-"):
        swapped = digits.replace(",", ".")
        if slow_number(swapped) is not None and digits.count(",") <= 1:
            return slow_number(swapped)
    if way == numerals.DOT_THOUSANDS:
        return None
    if (digits[1:] if digits[:1] in ("+", "-") else digits).lower() in ("inf", "infinity"):
        return float(digits)
    return slow_number(digits)


def read_numerals(data):
    """Check that numbers are read as sign by sign, and new rows as the column was."""
    how, text = (data or b"\0")[0], text_of(data[1:])
    cells = [cell.strip() for cell in text.split("\n") if cell.strip()][:20]
    delimiter = ",;\t|"[how & 3]
    for cell in cells:
        require(numerals.number(cell) == slow_spelling(cell, "number"), "a plain number", cell)
        exact = numerals.plain_number(cell)
        if exact is not None:
            require(exact == Decimal(cell) and float(exact) == slow_number(cell), "exact", cell)
    numerals.number_like(Counter(cells))
    table, how = numerals.read_most(Counter(cells), delimiter)
    if not table:
        return
    way = how.partition(", in ")[0].replace("percentage", "number", 1)
    require(set(table) <= set(cells), "cells of the column alone", table)
    every = numerals.read_numbers(cells, delimiter)
    require((every == (table, how)) == (set(table) == set(cells)), "all cells or none", every)
    for cell, value in table.items():
        sign, digits, *_ = numerals.split(cell)
        expected = slow_spelling(digits, way)
        require(expected is not None, "a number in this way", cell, way)
        require(value == (-expected if sign else expected), "the number spelt", cell, value, way)
    again = numerals.floats_written(list(table), how)
    require(again.tolist() == list(table.values()), "new rows alike", table, how)


# -- dates -----------------------------------------------------------------------------

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
FORMATS = {
    "year-month-day": ("%Y-%m-%d", "%Y/%m/%d", "%Y-%m/%d", "%Y/%m-%d"),
    "day.month.year": ("%d.%m.%Y", "%d.%m.%y"),
    "month/day/year": ("%m/%d/%Y", "%m/%d/%y"),
    "day/month/year": ("%d/%m/%Y", "%d/%m/%y"),
    "day-month-year": ("%d-%m-%Y", "%d-%m-%y"),
}


def slow_date(cell, way):
    """Return the days since 1970 of a date and time without a name of a month or a zone."""
    day, clock = cell, ""
    for place, sign in enumerate(cell):
        if sign in "T ,":
            day, clock = cell[:place], cell[place:].lstrip("T ,")
            break
    for form in FORMATS[way]:
        with suppress(ValueError):
            moment = datetime.datetime.strptime(day, form).replace(tzinfo=datetime.UTC)
            seconds = slow_clock(clock) if clock else 0.0
            return None if seconds is None else ((moment - EPOCH).total_seconds() + seconds) / 86400
    return None


def slow_clock(text):
    """Return the seconds since midnight of a time such as 12:30:05.5 pm, or None."""
    low = text.lower()
    half = low[-2:] if low.endswith(("am", "pm")) else ""
    parts = low.removesuffix(half).strip().split(":")
    if len(parts) not in (2, 3):
        return None
    second, _, fraction = (parts[2] if len(parts) == 3 else "0").replace(",", ".").partition(".")
    hour, minute = int(parts[0]), int(parts[1])
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half == "pm")
    if hour > 23 or minute > 59 or int(second) > 59:
        return None
    return 3600 * hour + 60 * minute + int(second) + float(f"0.{fraction or 0}")


def read_dates(data):
    """Check that dates are those of the calendar, and new rows are read as the column was."""
    cells = [cell.strip() for cell in text_of(data).split("\n") if cell.strip()][:12]
    for cell in cells:
        hours = dates.read_time(cell)
        require(hours is None or 0 <= hours < 24, "a time of a day", cell, hours)
        for way in dates._WAYS:
            found = dates.read_date(cell, way)
            if found is None:
                continue
            year = EPOCH + datetime.timedelta(days=found)
            require(1 <= year.year <= 9999, "a year of the calendar", cell, found)
            *_, zone, sign, _, _ = dates._PATTERNS[way].fullmatch(cell).groups()
            if way in FORMATS and not zone and not sign:
                expected = slow_date(cell, way)
                near = expected is not None and abs(found - expected) < 1e-9
                require(near, "the day of the calendar", cell, way, found, expected)
    for read in (dates.read_dates, lambda cells: (dates.read_times(cells), "time")):
        table, way = read(cells)
        if table is not None:
            require(set(table) == set(cells), "every cell", cells)
            if way != "time":
                again = {cell: dates.read_date(cell, way) for cell in table}
                require(again == table, "new rows alike", table, way)


TARGETS = {
    "csv": read_csv,
    "parquet": read_parquet,
    "reviews": read_reviews,
    "models": read_model,
    "records": read_records,
    "escape": show_text,
    "pages": write_page,
    "numerals": read_numerals,
    "dates": read_dates,
}
