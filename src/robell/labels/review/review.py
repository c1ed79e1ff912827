"""A review: what a person has decided about rows of a table, asked by audits, fits and ``apply``.

A review knows its rows by their fingerprints. That of a row is made of the names of the columns
and all its cells except the label. That of a table is the sum of those of its rows: it does not
depend on labels, and dropping rows subtracts theirs, so that a table to which a review was applied
can be recognised.
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import (
    TO_LETTERS,
    did_you_mean,
    said,
    spreadsheet_plain,
    spreadsheet_safe,
    text_print,
    writable,
)
from robell.labels.review.sources import PARQUET, SheetSource, TextSource, same_column
from robell.tables.excel import EXCEL, is_excel
from robell.tables.numerals import plain_number
from robell.tables.read import MARKS
from robell.tables.target import letters_of

KEEP, CHANGE, DROP = "keep", "change", "drop"
WORDS = (KEEP, CHANGE, DROP)
NEEDED = ("row", "target", "given", "decision", "fingerprint")
LOG_START = "row,target,given,decision,label,fingerprint"
MODULUS = 1 << 64
_FROM_LETTERS = str.maketrans("abcdefghijklmnop", "0123456789abcdef")
_APART, _NONE = "\x1f", "\x00"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a row, if anything; `label` is None where it is to be dropped."""

    row: int
    line: int
    given: str
    word: str
    label: str | None
    print: int
    note: str


@dataclass(frozen=True)
class Review:
    """The decisions about rows of a table; of several files `path` is None and `table` ""."""

    path: Path | None
    target: str
    table: str
    decisions: tuple[Decision, ...]

    @property
    def made(self):
        """The decisions about rows that were looked at."""
        return [decision for decision in self.decisions if decision.word]

    @cached_property
    def decided(self):
        """The decisions for a label."""
        return [one for one in self.made if one.label is not None]

    def places(self, prints, cells, rows):
        """Return for each decision for a label the place of its row, None where it is not found.

        Of equal rows it is the one whose number, among ``rows``, the decision has, rows that were
        dropped since counted or not; in a table of another order the next one with the label.
        """
        gone = sorted(one.row for one in self.made if one.label is None)
        place_of, ways = {row: at for at, row in enumerate(rows)}, []
        for dropped in ([], gone):
            found = [place_of.get(one.row - bisect_left(dropped, one.row)) for one in self.decided]
            n_labels = 0
            for k, one in enumerate(self.decided):
                if found[k] is not None and prints[found[k]] != one.print:
                    found[k] = None
                n_labels += found[k] is not None and same_label(one.label, cells[found[k]])
            ways.append((len(found) - found.count(None), n_labels, found))
        places = max(ways, key=itemgetter(0, 1))[2]
        if None in places:
            free, taken = defaultdict(list), {*places}
            for at in range(len(prints) - 1, -1, -1):
                if at not in taken:
                    free[prints[at], folded(spreadsheet_plain(cells[at]))].append(at)
            for k, one in enumerate(self.decided):
                equal = free.get((one.print, folded(spreadsheet_plain(one.label))))
                places[k] = equal.pop() if places[k] is None and equal else places[k]
        return places

    def settles(self, prints, given, rows):
        """Return which rows have the label decided upon for them, and what was theirs before."""
        settled, first = np.zeros(len(given), bool), np.array(given, dtype=object)
        if not self.decisions:
            return settled, first
        places = self.places([read_print(text, "")[1] for text in prints], given, rows)
        for one, at in zip(self.decided, places, strict=True):
            if at is not None and not settled[at] and same_label(one.label, given[at]):
                settled[at], first[at] = True, one.given
        return settled, first


def read_reviews(paths, target):
    """Read earlier reviews of a column of labels, one path or several, as one review."""
    if hasattr(paths, "columns"):
        raise FileError("reviewed: give the file of a review; write_review makes one of a frame")
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    decisions: list[Decision] = []
    decided: dict[tuple[int, int, str], tuple[Decision, Path]] = {}
    for path in map(Path, () if paths is None else paths):
        review = read_review(path)
        if not same_column(review.target, target):
            raise FileError(
                f"{path}: is a review of the column {said(review.target)}, not of {said(target)}"
            )
        decisions += review.decisions
        for one in review.made:
            # A later review of a label that an earlier one has changed is no contradiction.
            place = one.row, one.print, folded(one.given)
            other, earlier = decided.setdefault(place, (one, path))
            labels = {
                label if label is None else folded(label) for label in (one.label, other.label)
            }
            if len(labels) > 1:
                first, then = (
                    f"change to {said(made.label, 30)}" if made.word == CHANGE else made.word
                    for made in (other, one)
                )
                raise FileError(
                    f"{earlier} and {path} disagree about row {one.row:,}: {first}, and {then}; "
                    "take one of them out"
                )
    return Review(None, target, "", tuple(decisions))


def stem_of(name):
    """Return the name of a table's file without what says how it is written."""
    for suffix in (".gz", ".csv", ".tsv", ".txt", *PARQUET, *EXCEL):
        name = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    return name


def log_path(out):
    """Return where the log of a reviewed table stands: beside it, ``NAME-review.csv``."""
    return Path(out).with_name(f"{stem_of(Path(out).name)}-review.csv")


def is_log(path):
    """Say whether a file looks like the log of a review."""
    return begins_with(path, LOG_START)


def begins_with(path, text):
    """Say whether a file begins with a text of plain letters and signs."""
    with open(path, "rb") as file:
        return file.read(len(text)) == text.encode()


def beside(data, target):
    """Return the log of the review of this target that a table came from, if it is beside it."""
    if Path(data).is_dir():
        return []  # it is refused where it is read
    log = log_path(data)
    is_ours = log.is_file() and is_log(log) and same_column(read_review(log).target, target)
    return [log] if is_ours else []


def read_review(path, encoding="cp1252"):
    """Read an audit's table with its decisions, or a log; ``encoding`` where it is not UTF-8."""
    path = Path(path)
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    if not path.is_file():
        raise FileError(f"{path}: is a folder, a pipe or a device, not a file")
    table: TextSource | SheetSource
    if is_excel(path):
        table = SheetSource(path)
    else:
        table = TextSource(path, "fingerprint", encoding_of(path, encoding))
    for name in NEEDED:
        if name not in table.names:
            raise FileError(
                f"{path}: there is no column {name!r}; a review is the table of an audit "
                "(NAME-audit.csv) with its decisions filled in, all its columns kept"
            )
    decisions, seen, common = [], set(), set()
    for at in table.rows():
        cells = dict(zip(table.names, map(str.strip, at.cells), strict=False))
        where = f"{path}: line {at.line:,}"
        whole, print_ = read_print(cells["fingerprint"], where)
        common.add((cells["target"], whole))
        row, given, word = (
            row_number(cells["row"], where),
            cells["given"],
            cells["decision"].casefold(),
        )
        if word not in ("", *WORDS):
            near = did_you_mean(word, WORDS, cutoff=0.4) or ""
            raise FileError(
                f"{where}: the decision {said(word, 30)} is none of keep, change and drop{near}"
            )
        label = None if word == DROP else given
        if word == CHANGE:
            label = cells.get("label", cells.get("suggested", ""))
            if not label or label == given:
                raise FileError(
                    f"{where}: the label is to be changed, and no other one is suggested; write it "
                    "into the column 'suggested', or keep the row"
                )
        if row in seen:
            raise FileError(f"{where}: row {row:,} stands there twice")
        seen.add(row)
        note = cells.get("note", "")
        decisions.append(Decision(row, at.line, given, word, label, print_, note))
    if len(common) != 1:
        what = "holds rows of several audits" if common else "holds no row"
        raise FileError(f"{path}: {what}")
    target, whole = common.pop()
    return Review(path, target, whole, tuple(sorted(decisions, key=lambda one: one.row)))


def encoding_of(path, otherwise):
    """Return the encoding of a text file: UTF-16 or 32 by its mark, UTF-8, or another one."""
    content = path.read_bytes()
    for mark, name in MARKS.items():  # that of UTF-32 begins as that of UTF-16 does
        if content.startswith(mark):
            return name
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "utf-8" if content.startswith(b"\x1f\x8b") else otherwise  # packed, or not
    return "utf-8"


def row_number(cell, where):
    """Return the number of a row, as a spreadsheet may have written it."""
    number = cell.replace(",", "")
    if not (number.isascii() and number.isdigit() and 0 < len(number) < 16 and int(number)):
        raise FileError(f"{where}: {said(cell, 20)} is not the number of a row")
    return int(number)


class Spellings:
    """The labels of a table, found by what a review, perhaps saved by a spreadsheet, calls them."""

    def __init__(self, cells):
        self._exact: dict[str, str] = {}
        self._folded: dict[str | float, str] = {}
        common = [cell for cell, _ in Counter(cells).most_common() if cell]
        # As the table of an audit writes it, and as a data frame holds it.
        for shown in (lambda cell: spreadsheet_safe(writable(cell)).strip(), str):
            for cell in common:
                self._exact.setdefault(shown(cell), cell)
                self._folded.setdefault(folded(shown(cell)), cell)

    def find(self, text):
        """Return how the table spells a label, the commonest way; None if it has no such label."""
        return self._exact.get(text) or self._folded.get(folded(text))

    def spelt(self, text, where, hint=""):
        """Return how the table spells a label; raise where it has no such label."""
        found = self.find(text)
        if found is None:
            near = did_you_mean(text, list(self._exact), quote=said)
            raise FileError(f"{where}: the table has no label {said(text, 30)}{near}{hint}")
        return found


def folded(label):
    """Return what equal labels have in common: their number, or their letters."""
    label = label.strip()
    value = plain_number(label)
    if value is None and re.fullmatch(r"[+-]?\d+,\d+", label):  # as a spreadsheet may save it
        value = plain_number(label.replace(",", "."))
    return value if value is not None else letters_of(label)


def same_label(text, cell):
    """Say whether a review means the label of a cell: capitals, blanks, 1 and 1.0 are one."""
    safe = spreadsheet_safe(writable(cell))
    return text in (cell, safe) or folded(text) in (folded(cell), folded(safe))


def row_prints(names, target, rows):
    """Yield the fingerprint of each row, a whole number of 64 bits, and the cell of its label."""
    start = hashlib.blake2b(_APART.join(names).encode("utf-8", "replace"), digest_size=8)
    for cells in rows:
        texts = [_NONE if cell is None else cell for cell in cells]
        label, digest = cells[target], start.copy()
        del texts[target]
        digest.update(_APART.join(texts).encode("utf-8", "replace"))
        yield int.from_bytes(digest.digest(), "big"), label


def fingerprints(table, target):
    """Return the fingerprint of every row, that of its table (of a sample, its size) before it."""
    cells = zip(*(column.cells for column in table.columns), strict=True)
    rows = [print_ for print_, _ in row_prints(table.names, target, cells)]
    whole = in_letters(sum(rows)) if len(rows) == table.n_rows else f"n{table.n_rows}"
    return np.array([f"{whole}-{in_letters(row)}" for row in rows], dtype=object)


def labels_print(column):
    """Return the fingerprint of a column of labels, in their order."""
    return text_print("\x1f".join(cell or "\x00" for cell in column.cells))


def in_letters(value):
    """Return a number of 64 bits as 16 letters."""
    return f"{value % MODULUS:016x}".translate(TO_LETTERS)


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
    return digest.hexdigest().translate(TO_LETTERS)
