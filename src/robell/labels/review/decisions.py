"""A review read: which decision stands beside which row of an audit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from robell._tools.files import FileError
from robell._tools.names import did_you_mean
from robell._tools.text import said, spreadsheet_safe
from robell.labels.review.fingerprint import read_print
from robell.labels.review.rows import TextTable
from robell.report.escape import writable
from robell.tables.numerals import plain_number

KEEP, CHANGE, DROP = "keep", "change", "drop"
WORDS = (KEEP, CHANGE, DROP)
NEEDED = ("row", "target", "given", "decision", "fingerprint")
LOG_START = "row,target,given,decision,label,fingerprint"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about one row, or that nothing was: then `word` is empty.

    `label` is the one the row shall have, None where it is to be dropped; `print` the fingerprint
    of the row, and `line` where the decision stands in the review.
    """

    row: int
    line: int
    given: str
    word: str
    label: str | None
    print: int


@dataclass(frozen=True)
class Review:
    """The decisions of a file, for the column of labels and the table they were made for."""

    path: Path
    target: str
    table: str
    decisions: tuple[Decision, ...]

    @property
    def made(self):
        """The decisions about rows that were looked at."""
        return [decision for decision in self.decisions if decision.word]


def read_review(path):
    """Read the table of an audit with its column ``decision`` filled in, or the log of a review."""
    path = Path(path)
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    if not path.is_file():
        raise FileError(f"{path}: is a folder, a pipe or a device, not a file")
    table = TextTable(path, target="fingerprint")
    for name in NEEDED:
        if name not in table.names:
            raise FileError(
                f"{path}: there is no column {name!r}; a review is the table of an audit "
                "(NAME-audit.csv) with its decisions filled in, all its columns kept"
            )
    places = {name: place for place, name in enumerate(table.names)}
    final = places["label"] if "label" in places else places.get("suggested")
    decisions, seen, common = [], {}, set()
    for row in table.rows():
        cells = [cell.strip() for cell in row.cells]
        where = f"{path}: line {row.line:,}"
        whole, print_ = read_print(cells[places["fingerprint"]], where)
        common.add((cells[places["target"]], whole))
        decision = _decision(cells, places, final, print_, row.line, where)
        if decision.row in seen:
            raise FileError(f"{where}: row {decision.row:,} stands there twice")
        seen[decision.row] = decision
        decisions.append(decision)
    if len(common) != 1:
        what = "holds rows of several audits" if common else "holds no row"
        raise FileError(f"{path}: {what}")
    target, whole = common.pop()
    return Review(path, target, whole, tuple(sorted(decisions, key=lambda one: one.row)))


def _decision(cells, places, final, print_, line, where):
    """Return what one line of a review decides."""
    number = cells[places["row"]].replace(",", "")
    if not (number.isascii() and number.isdigit() and 0 < len(number) < 16 and int(number)):
        raise FileError(f"{where}: {said(cells[places['row']], 20)} is not the number of a row")
    word, given = cells[places["decision"]].casefold(), cells[places["given"]]
    if word not in ("", *WORDS):
        near = did_you_mean(word, WORDS, cutoff=0.4) or ""
        raise FileError(
            f"{where}: the decision {said(word, 30)} is none of keep, change and drop{near}"
        )
    label = None if word == DROP else given
    if word == CHANGE:
        label = "" if final is None else cells[final]
        if not label or label == given:
            raise FileError(
                f"{where}: the label is to be changed, and no other one is suggested; write it "
                "into the column 'suggested', or keep the row"
            )
    return Decision(int(number), line, given, word, label, print_)


class Spellings:
    """The labels of a table, found by what a review, perhaps saved by a spreadsheet, calls them."""

    def __init__(self, cells):
        self._exact, self._folded = {}, {}
        common = [cell for cell, _ in Counter(cells).most_common() if cell]
        # As the table of an audit writes it, and as a data frame holds it.
        for shown in (lambda cell: spreadsheet_safe(writable(cell)).strip(), str):
            for cell in common:
                self._exact.setdefault(shown(cell), cell)
                self._folded.setdefault(folded(shown(cell)), cell)

    def find(self, text):
        """Return how the table spells a label, the commonest way; None if it has no such label."""
        return self._exact.get(text) or self._folded.get(folded(text))

    def __iter__(self):
        return iter(self._exact)


def folded(label):
    """Return what equal labels have in common: their number, or their letters."""
    value = plain_number(label.strip())
    return value if value is not None else "".join(label.casefold().split())


def same_label(text, cell):
    """Say whether a review means the label of a cell: capitals, blanks, 1 and 1.0 are one."""
    safe = spreadsheet_safe(writable(cell))
    return text in (cell, safe) or folded(text) in (folded(cell), folded(safe))
