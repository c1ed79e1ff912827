"""What an audit of any kind has: counts, suspects, trust, files; and how these are written."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from robell import __version__
from robell._core.labels.noise import LEVEL
from robell._tools.files import FileError, check_output, read_resource, write_together
from robell._tools.optional import require
from robell._tools.text import (
    counted,
    literal,
    percent,
    quoted,
    said,
    spreadsheet_safe,
    visible,
    writable,
)
from robell.labels.audit.cards import MOST_CARDS, packed, review_of
from robell.labels.audit.page import audit_page, places, suspects_table
from robell.labels.audit.reasons import Reason, reasons_text
from robell.labels.groups import GroupNoise
from robell.labels.review.review import KEEP, begins_with, stem_of
from robell.labels.reviewed import Reviewed
from robell.labels.trust import MOST_COLUMNS_A_ROW
from robell.report.page import Callout, Details, Paragraph, Review, Section, TableBlock
from robell.tables.columns import ColumnNote, Used, advice_on
from robell.tables.excel import EXCEL, is_excel, sheet_table, write_sheet
from robell.tables.leaks import Giveaway, Leak
from robell.tables.raw import RawTable

CROWD = b"row,consensus,", b"row,line,consensus,", b"row,key,consensus,", b"row,line,key,consensus,"
LISTED = 25  # rows of a list of the page
WORDS = tomllib.loads(read_resource("robell.labels.audit", "words.toml"))


class Groups(NamedTuple):
    """The group of every row, as a place among the names, and how often each group is wrong."""

    column: str
    place: np.ndarray
    noise: GroupNoise


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the page is made of: the table, its columns as numbers, and what was found.

    `name` is that of the target, `target` what was read there, `given` the cells of its rows, and
    `labels` the fingerprint of the whole column; `asked_for` says whether somebody said which kind
    it is of.
    """

    name: str
    labels: str
    table: RawTable
    used: tuple[Used, ...]
    matrix: np.ndarray
    target: Any
    given: np.ndarray
    judgement: Any
    trust: Any
    leaks: tuple[Leak, ...]
    giveaways: tuple[Giveaway, ...]
    n_read: int
    random_state: int
    asked_for: bool
    reviewed: Reviewed
    groups: Groups | None = None

    @property
    def codes(self):
        """The class of every row, as a place among the classes."""
        return self.target.codes

    @property
    def is_sample(self):
        """Whether the source has more rows than were read."""
        return self.n_read < self.table.n_rows


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Audit:
    """What every kind of audit is: rows of a table judged, written as a page and a table.

    A kind has its part of ``words.toml`` by the name `_kind`, the columns of its ``_table``, and a
    ``summary``. For a terminal it has ``_headline``, ``_terminal_lines`` and ``_remarks``, and for
    the page, which :mod:`robell.labels.audit.page` puts together in this order, ``_subtitle``,
    ``_facts``, ``_findings``, ``_next_steps``, ``_warnings``, ``_left_out``, ``_sections``,
    ``_columns_words``, ``_how`` and ``_names``.
    """

    _kind: ClassVar[str]
    _most: ClassVar[int] = LISTED  # rows that the page shows where nobody says how many
    _headline: ClassVar[Callable[..., Any]]
    _table: ClassVar[Callable[..., Any]]
    name: str
    n_rows: int
    row: np.ndarray
    line: np.ndarray | None
    leaks: tuple[str, ...]
    columns: tuple[ColumnNote, ...]
    html: Path | None = None
    csv: Path | None = None
    _text: ClassVar[Any] = (",", "utf-8")  # delimiter and encoding of the table that is written

    def __repr__(self) -> str:
        """Say in one line what was found."""
        return f"<{type(self).__name__} of {self.name}: {self._headline()}>"

    def to_frame(self) -> Any:
        """Return all rows as a pandas frame, the least probable ones first.

        Returns
        -------
        frame : pandas.DataFrame
            The columns of the CSV file without the table's own: ``row``, ``line``, then ``given``,
            ``suggested`` (numbers as the table writes them), ``decision`` (empty, to be filled
            in), ``quality``, the probability of each class, of numbers ``lower`` and ``upper``,
            ``suspect``, ``reasons``, ``target`` and ``fingerprint``: written as CSV, it can be
            given to :func:`apply_review`. Of annotators ``consensus``, ``quality``, ``labels`` (how
            many), the probability of each class, ``ask next`` (whom) and ``gain``.
        """
        return require("pandas", "files").DataFrame(self._table())

    def write(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        top: int | None = None,
        command: str = "",
        also: dict[Path, str] | None = None,
        all_rows: bool = False,
    ) -> Self:
        """Write the page and the table, both of them whole or neither.

        Parameters
        ----------
        out : path-like, default=None
            A folder, or the beginning of the files' names; the current folder when None.
        top : int, default=None
            How many suspects the page asks about; all of them by default, 5,000 at most. Of
            annotators, how many rows its lists show, by default 25.
        command : str, default=""
            The command that the page says it was made by.
        also : dict of Path to str, default=None
            Further files to write, and their content.
        all_rows : bool, default=False
            Whether the table lists all rows rather than the suspects alone; where no row is
            suspect, and of annotators, it always does.

        Returns
        -------
        result : an audit of the same kind
            The same with `html` and `csv`: ``<name>-audit.html`` and ``<name>-audit.csv``.
        """
        top = self._most if top is None else top
        require_whole("top", top, 0)
        html, csv_path = output_paths(out, self.name)
        page = audit_page(self, top=top, csv_path=csv_path, command=command)
        try:
            html.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{html.parent}: cannot be made: {error.strerror}") from error
        delimiter, encoding = self._text
        columns = self._file_columns(all_rows)

        table: Callable[[Path], Any]
        if csv_path.name.endswith(EXCEL):
            table = partial(write_sheet, name="audit", rows=sheet_of(columns))
        else:
            table = in_encoding(as_csv(columns, delimiter), encoding)
        write_together({csv_path: table, html: page, **(also or {})})
        return replace(self, html=html, csv=csv_path)

    def _file_columns(self, all_rows: bool) -> dict[str, np.ndarray]:
        """Return the columns of the table that is written, by name."""
        columns: dict[str, np.ndarray] = self._table(as_text=True)
        return columns

    @property
    def _where(self) -> str:
        """What the numbers of the rows count: lines of a text file, otherwise rows."""
        return "row" if self.line is None else "line"

    @property
    def _number(self) -> np.ndarray:
        """The line of each row in a text file, otherwise its number."""
        return self.row if self.line is None else self.line

    @property
    def _words(self) -> dict[str, Any]:
        """The fixed sentences of the page."""
        return WORDS[self._kind]

    def _say(self, key: str, **values: Any) -> str:
        """Return one of them with values in it."""
        return str(self._words[key].format(**values))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JudgedAudit(Audit):
    """What audits of classes and of numbers do alike: every row has a quality, and may be suspect.

    A kind reads its target, judges it, makes its result of the evidence, takes labels that a review
    has settled as right, and finds the reasons of suspects: see ``run.py``, which asks for these in
    turn.
    """

    _most: ClassVar[int] = MOST_CARDS
    _how_good: ClassVar[Callable[..., Any]]
    _kind_words: ClassVar[Callable[..., Any]]
    _of: ClassVar[Callable[..., Any]]
    _summary_parts: ClassVar[Callable[..., Any]]
    _card_parts: ClassVar[Callable[..., Any]]
    target: str
    given: np.ndarray
    suggested: np.ndarray
    quality: np.ndarray
    suspect: np.ndarray
    noise_rate: float
    noise_rate_range: tuple[float, float]
    expected_wrong: float
    expected_wrong_range: tuple[float, float]
    p_value: float
    trust: str
    n_unlabelled: int
    reviewed: np.ndarray
    fingerprint: np.ndarray
    leak_suspects: tuple[str, ...] = ()
    reasons: dict[int, tuple[Reason, ...]] = field(default_factory=dict, repr=False)
    evidence: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Say in one line what was found."""
        return f"{super().__repr__()[:-1]} Trust: {self.trust}.>"

    @property
    def order(self) -> np.ndarray:
        """Places of the rows, the least probable ones first; in file order without any trust."""
        if self.trust == "none":
            return np.arange(len(self.row))
        return np.lexsort((self.row, self.quality))

    @property
    def _suspects(self) -> np.ndarray:
        """Places of the suspect rows, the least probable ones first."""
        return self.order[self.suspect[self.order]]

    def summary(self) -> dict[str, Any]:
        """Return what was found in few numbers: a dictionary that can be written as JSON.

        Returns
        -------
        found : dict
            Rows, of classes their sizes and the estimated kinds of mistakes, how many rows are
            suspect, the trust, and the suspect rows, the least probable ones first; of numbers each
            with its number, the suggested one and its interval.
        """
        n, n_suspects = len(self.row), int(self.suspect.sum())
        sizes, mistakes, measured, suspects = self._summary_parts()
        return {
            "audit": self.name,
            "target": self.target,
            "kind": self._kind,
            "rows": self.n_rows,
            "rows_checked": n,
            "rows_reviewed": int(self.reviewed.sum()),
            "rows_corrected": self.n_corrected,
            "rows_without_label": self.n_unlabelled,
            **sizes,
            "suspects": n_suspects,
            "suspect_share": n_suspects / n,
            "expected_wrong": self.expected_wrong,
            "expected_wrong_range": list(self.expected_wrong_range),
            "noise_rate": self.noise_rate,
            "noise_rate_range": list(self.noise_rate_range),
            **mistakes,
            "signal": self.p_value < LEVEL,
            "p_value": self.p_value,
            "trust": self.trust,
            **measured,
            "columns_that_repeat_the_target": list(self.leaks),
            "columns_that_tell_the_target": list(self.leak_suspects),
            "suspect_rows": self.row[self._suspects].tolist(),
            **suspects,
            "random_state": self.evidence.random_state,
            "robell": __version__,
        }

    def _judged_table(self, given, suggested, measured):
        """Return the columns of the table of all rows, the least probable ones first."""
        order, known = self.order, self.trust != "none"
        n = len(order)
        columns = numbered(self.row, self.line, order)
        columns["given"] = given[order]
        columns["suggested"] = suggested[order] if known else np.full(n, "", object)
        columns["decision"] = np.where(self.reviewed[order], KEEP, "").astype(object)
        for name, values in {"quality": self.quality, **measured}.items():
            columns[name] = values[order] if known else np.full(n, np.nan)
        columns["suspect"] = self.suspect[order] if known else np.full(n, "cannot tell", object)
        columns["reasons"] = np.array([reasons_text(self, place) for place in order], object)
        columns["target"] = np.full(n, self.target, object)
        columns["fingerprint"] = self.fingerprint[order]
        return columns

    @property
    def _text(self):
        """Delimiter and encoding of the file that is written: those of the table audited."""
        return self.evidence.table.delimiter, self.evidence.table.encoding

    def _file_columns(self, all_rows):
        """Return the suspects with their cells: identifiers first, others behind the reasons."""
        columns, order = self._table(as_text=True), self.order
        listed = self.suspect[order]
        if all_rows or not listed.any():
            listed = np.ones(len(order), bool)
        columns = {name: values[listed] for name, values in columns.items()}
        identifiers: dict[str, np.ndarray] = {}
        others: dict[str, np.ndarray] = {}
        table, keys = self.evidence.table, self._keys()
        shown = own_cells(table, order[listed], {self.target}, {*columns, "label"})
        for column, (name, cells) in shown:
            (identifiers if column.name in keys else others)[name] = cells
        where = {name: columns.pop(name) for name in ("row", "line") if name in columns}
        proof = {name: columns.pop(name) for name in ("target", "fingerprint")}
        return where | identifiers | columns | others | proof

    def _keys(self):
        """Return the names of the identifiers: columns left out whose cells are all different."""
        left_out = {note.name for note in self.columns if note.kind == "left out"}
        some = [column for column in self.evidence.table.columns if column.name in left_out]
        return {column.name for column in some if len(set(column.cells)) == len(column)}

    @property
    def n_corrected(self) -> int:
        """How many labels reviews have changed, of the rows audited."""
        return int(self.evidence.reviewed.corrected.sum())

    @property
    def _really_wrong(self) -> int:
        """The estimated number of suspects that are wrong, at least one if there are any."""
        n_suspects = int(self.suspect.sum())
        return min(n_suspects, max(1, round(self.expected_wrong))) if n_suspects else 0

    @property
    def _range_wrong(self) -> str:
        """The interval around it, in words."""
        return range_words(self._really_wrong, self.expected_wrong_range)

    @property
    def _about_wrong(self) -> str:
        """The number itself in words."""
        n_wrong = self._really_wrong
        return f"about {n_wrong:,}" if n_wrong < self.suspect.sum() else "nearly all"

    def _still_wrong(self) -> tuple[int, str]:
        """Return how many labels are wrong by estimate, and their range in words."""
        n = len(self.row)
        n_wrong = round(self.noise_rate * n)
        return n_wrong, range_words(n_wrong, np.multiply(self.noise_rate_range, n))

    def _signal(self, quote=said):
        """Say whether the columns say anything about the target, by a test."""
        p = "p < 0.0001" if self.p_value < 1e-4 else f"p = {self.p_value:.2g}"
        if self.p_value < LEVEL:
            return f"The columns say something about {quote(self.target)} ({p})."
        return f"There is no sign that the columns say anything about {quote(self.target)} ({p})."

    def _headline(self):
        """Say in one sentence of plain text how many rows are suspect."""
        n, n_suspects = len(self.row), int(self.suspect.sum())
        target, things = said(self.target), f"{self._words['thing']}s"
        if self.trust == "none":
            return f"The columns say too little about {target}: no row can be called suspect."
        if not n_suspects and self.trust == "good":
            return f"None of the {n:,} {things} checked looks wrong."
        if not n_suspects:
            but = "the columns are not clear enough to be sure"
            if self.leak_suspects:
                but = f"column {said(self.leak_suspects[0])} may have been made from them"
            return f"Of {n:,} {things}, none stands out as wrong, but {but}."
        perhaps, one, several = (text.replace("{target}", target) for text in self._words["wrong"])
        share = percent(n_suspects / n)
        if self.trust != "good":
            return f"Of {n:,} rows, {n_suspects:,} ({share}) {perhaps}."
        found = f"one {one}" if n_suspects == 1 else f"{n_suspects:,} ({share}) {several}"
        return f"Of {n:,} rows, {found}."

    def _facts(self):
        """Yield the numbers of the first screen."""
        n, n_suspects = len(self.row), int(self.suspect.sum())
        chance = "drawn at random, " if self.evidence.is_sample else ""
        in_file = f"{chance}of {self.n_rows:,} in the file"
        yield "rows checked", f"{n:,}", "all rows of the file" if self.n_rows == n else in_file
        if self.trust == "none":
            yield "rows to check by hand", "cannot tell", ""
        else:
            share = f"{percent(n_suspects / n)} of the rows"
            yield "rows to check by hand", f"{n_suspects:,}", share
        if n_suspects == 1:
            yield "chance that it is really wrong", percent(self.expected_wrong), "by estimate"
        elif n_suspects:
            others = f"by estimate ({self._range_wrong}); others are unusual but right"
            yield "of these really wrong", self._about_wrong, others
        yield "how far to trust this", self.trust.capitalize(), self._how_good()

    def _next_steps(self, top, csv_path):
        """Yield what to do about it."""
        words, name = self._words, csv_path.name
        table = quoted(name)
        if re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII):  # plain enough for an address
            table = f"[{literal(name)}]({name})"
        if self.leak_suspects:
            names = shlex.join(["--ignore", *self.leak_suspects])
            yield literal(
                f"Was {said(self.leak_suspects[0])} known before {said(self.target)}? If not, "
                f"repeat the audit with {names}: what stands here says little."
            )
        if self.trust == "none":
            target = quoted(self.target)
            yield f"Is {target} the right column, and is what it depends on in the file?"
            yield f"{self._remedy()}, and repeat the audit."
            yield f"{table} lists the rows without any judgement."
        elif self.suspect.any():
            if top:
                shown = f"the first {top:,} rows" if top < self.suspect.sum() else "the rows"
                yield (
                    f"[Decide on {shown}](#suspects) below: each stands beside {words['similar']}; "
                    f"the {words['thing']}s least likely to be right come first. Keep, change or "
                    "drop each, and save what you decided."
                )
            yield (
                f"Or open {table} in a spreadsheet, where the {words['thing']}s least likely to be "
                f"right come first and `{self._where}` says where each row stands in your file. "
                f"{words['decide']}"
            )
            yield words["then"]
        else:
            some_left = self.reviewed.any() and self._still_wrong()[0] > 0
            is_done = self.trust == "good" and not some_left
            steps = words["none_suspect_good" if is_done else "none_suspect"]
            for step in steps[:1] if self.leak_suspects else steps:
                yield step.replace("{table}", table)

    @property
    def _has_estimates(self):
        """Whether to show estimates: "no label is wrong" means nothing where trust is weak."""
        is_known = bool(self.suspect.any()) or (self.trust == "weak" and self.reviewed.any())
        return self.trust in ("good", "fair") or is_known

    def _share_wrong(self):
        """Say how many labels are wrong by estimate, whether their rows are suspect or not."""
        n, words = len(self.row), self._words
        wrong, interval = self._still_wrong()
        if not wrong:
            sure = "" if self.trust == "good" else words["not_certain"]
            return self._say("none_wrong", target=quoted(self.target)) + sure
        share = f"{wrong:,} of {n:,} {words['thing']}s ({percent(self.noise_rate)}), or {interval},"
        return (
            f"{words['share_wrong'][self.trust].format(share=share)} The number of suspect rows "
            f"may differ: some wrong {words['thing']}s cannot be located, and some suspects are "
            "right."
        )

    def _after_review(self):
        """Say what reviews have corrected, and how much is still wrong; "" without any review."""
        n_reviewed, thing = int(self.reviewed.sum()), self._words["thing"]
        if not n_reviewed:
            return ""
        corrected, n_others = self.n_corrected, len(self.row) - n_reviewed
        text = (
            f"Reviews have corrected {counted(corrected, thing)} and confirmed "
            f"{n_reviewed - corrected:,}"
        )
        if self.trust == "none" or not n_others:
            return text
        wrong, interval = self._still_wrong()
        return (
            f"{text}; of the other {counted(n_others, thing)}, about {wrong:,} ({interval}) are "
            "still wrong by estimate, suspect or not"
        )

    @property
    def _question(self):
        """The question that a page answers."""
        return f"Are the {self._words['thing']}s in column {quoted(self.target)} right?"

    def _subtitle(self):
        """Ask the question, and say what was looked at."""
        classes = getattr(self, "classes", ())
        sizes = [counted(len(self.row), "row")]
        sizes += [counted(len(classes), "class", "classes")] if classes else []
        return f"{self._question} {', '.join(sizes)}. {self._signal(quoted)}"

    def _findings(self):
        """Yield what gives the target away, what reviews have found, and how far to trust this."""
        for one in self.evidence.giveaways:
            yield Callout("caution", literal(one.caution(self.target)))
        if text := self._after_review():
            yield Callout("finding", f"{text}.")
        if self.leak_suspects and self.trust == "fair":
            yield Callout("note", self._words["leak"])
        else:
            yield Callout("note" if self.trust in ("good", "fair") else "caution", self._meaning())

    def _compared_lines(self):
        """Return what the terminal says of groups and of an earlier table."""
        return []

    def _names(self):
        """Return the names that stand on the page, perhaps shortened."""
        return [self.name, self.target, *(note.name for note in self.columns)]

    def _meaning(self):
        """Return what the word for the trust means."""
        return self._words["meaning" if self.suspect.any() else "meaning_without_suspects"][
            self.trust
        ]

    def _remedy(self):
        """Say what would help where the columns say too little."""
        return self._words["remedy"]

    @property
    def _has_too_many_columns(self):
        """Whether the table has more columns than its rows can bear."""
        n_rows, n_columns = self.evidence.matrix.shape
        return n_columns > MOST_COLUMNS_A_ROW * n_rows

    def _warnings(self):
        """Yield what a reader must know before trusting the judgement."""
        evidence = self.evidence
        if evidence.is_sample:
            yield (
                f"The file has {self.n_rows:,} rows; a random sample of {evidence.n_read:,} was "
                "looked at. The other rows were not."
            )
        for leak in evidence.leaks:
            text = (
                f"Column {quoted(leak.name)} repeats {quoted(self.target)} in "
                f"{100 * leak.agreement:.4g} % of the rows and was left out: with it, every label "
                "would look right."
            )
            if len(leak.exceptions):
                where = self._where + "s" * (len(leak.exceptions) > 1)
                exceptions = places(self, leak.exceptions)
                text = f"{text} The two differ in {where} {exceptions}: look there first."
            yield text
        if self._has_too_many_columns:
            n_rows, n_columns = evidence.matrix.shape
            columns, rows = counted(n_columns, "column"), counted(n_rows, "row")
            target = quoted(self.target)
            yield self._say("too_many_columns", columns=columns, rows=rows, target=target)

    def _left_out(self):
        """Yield which rows were not judged again, and which could not be."""
        if self.reviewed.any():
            were = "was" if self.reviewed.sum() == 1 else "were"
            yield (
                f"{counted(int(self.reviewed.sum()), 'row')} {were} reviewed before: the "
                f"{self._words['thing']} that somebody decided upon is taken as right."
            )
        if self.n_unlabelled:
            common = self.evidence.target.unlabelled.most_common(3)
            kinds = ", ".join(quoted(cell, 20) if cell else "empty" for cell, _ in common)
            were = "was" if self.n_unlabelled == 1 else "were"
            rows = counted(self.n_unlabelled, "row")
            yield f"{rows} without {self._words['usable']} ({kinds}) {were} left out."

    def _suspects_section(self, top, csv_path):
        """Show the suspects one after the other, each to decide upon beside similar rows."""
        if not self.suspect.any() or not top:
            return None
        shown = self._suspects[:top]
        parts = self._card_parts()
        review = review_of(self, parts, shown, csv_path)
        words, first = self._words, shown[:LISTED]
        n_shown, n_suspects = review["cards"], int(self.suspect.sum())
        some = f"The {n_shown:,} least likely {words['thing']}s"
        some = f"All {n_shown:,} suspects" if n_shown == n_suspects > 1 else some
        some = "The one suspect" if n_suspects == 1 else some
        listed = f"The first {len(first)} as a table" if len(first) < n_shown else "As a table"
        table = suspects_table(self, parts, first)
        blocks = (
            Paragraph(f"{some}, the least likely first. {words['suspects']}"),
            Review(packed(review), visible(csv_path.name)),
            Details(listed, (TableBlock(table),)),
        )
        return Section("suspects", "Rows to check", blocks)

    def _terminal_lines(self):
        """Return what was found in a few lines."""
        left_out, n_suspects = self.n_rows - len(self.row), int(self.suspect.sum())
        checked = f"{len(self.row):,} rows checked" + (f", {left_out:,} not" if left_out else "")
        if self.reviewed.any():
            checked += f" ({counted(int(self.reviewed.sum()), 'row')} were reviewed before)"
        expected = ""
        if n_suspects > 1:
            of_these = f"{self._about_wrong} of the {n_suspects:,} ({self._range_wrong})"
            expected = f"; {of_these} are really wrong by estimate"
        trust = f"Trust: {self.trust} ({self._how_good()}){expected}"
        kind = self._kind_words()
        further = [text for text in (self._after_review(), *self._compared_lines()) if text]
        cautions = [f"Caution: {one.caution(self.target)}" for one in self.evidence.giveaways]
        checked += f"; {kind}" if kind else ""
        return [self._signal(), self._headline(), *cautions, *further, checked, trust]

    def _remarks(self):
        """Yield which columns the labels were not judged by, and why."""
        for name in self.leaks:
            yield f"column {said(name)} repeats the target, and was left out"
        others = {note.name: note.done for note in self.columns if note.name not in self.leaks}
        parts = ((name, *done.partition("left out: ")) for name, done in others.items())
        why = [
            f"{said(name)} {reason}" for name, start, mark, reason in parts if mark and not start
        ]
        if why:
            more = f"; and {len(why) - 3:,} more, see the report" if len(why) > 3 else ""
            yield f"columns left out: {'; '.join(why[:3])}{more}"
        yield from advice_on(self.columns)


def range_words(about, ends):
    """Return an interval of whole numbers in words, an estimate in it."""
    low, high = map(round, ends)
    return f"{min(low, about):,} to {max(high, about):,}"


def output_paths(out, name, source=None, is_ours=None):
    """Return the paths of an audit's page and of its table; a workbook is reviewed in one."""
    table = "xlsx" if name.lower().endswith(EXCEL) else "csv"
    return result_paths(out, name, "audit", ("html", table), source, is_ours)


def result_paths(out, name, what, kinds, source=None, is_ours=None):
    """Return the paths of results, ``NAME-what.kind``, none of which may replace the source.

    ``out`` is a folder, where the files are called after ``name``, or the beginning of their names.
    Given ``is_ours``, only files that it knows are replaced.
    """
    name = stem_of(name) or "table"  # of a folder without a name, which is refused when it is read
    out = Path() if out is None else out
    is_folder = Path(out).is_dir() or str(out).endswith(("/", os.sep))
    prefix = Path(out) / name if is_folder else Path(out)
    if not prefix.parent.is_dir() and not is_folder:
        raise FileError(f"{prefix}: there is no folder {prefix.parent}")
    paths = tuple(prefix.with_name(f"{prefix.name}-{what}.{kind}") for kind in kinds)
    if prefix.parent.is_dir():
        sources = [source] if isinstance(source, str | os.PathLike) else []
        for path in paths:
            check_output(path, sources, is_ours)
        if all(path.exists() for path in paths) and paths[0].samefile(paths[-1]) and paths[1:]:
            raise FileError(f"{paths[0]}: is the same file as {paths[1]}; give another name")
    return paths


def require_whole(name, value, least, most=None):
    """Raise where a parameter is no whole number in its range."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, got {value!r}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most}, got one of {value.bit_length()} bits")


def numbered(rows, lines, places):
    """Return the numbers of some rows, and in a text file their lines, as columns by name."""
    return {"row": rows[places]} | ({} if lines is None else {"line": lines[places]})


def own_cells(table, places, hidden, taken):
    """Yield the columns of a table that are not hidden, their free names and cells in some rows."""
    taken = set(taken)
    for column in table.columns:
        if column.name in hidden:
            continue
        name = column.name
        while name in taken:
            name = f"{name} (table)"
        taken.add(name)
        cells = [cell or "" for cell in column.take(places).cells]
        yield column, (name, np.array(cells, object))


def as_csv(columns, delimiter=","):
    """Return columns by name as CSV, what a spreadsheet would take for a formula made safe."""
    stream, safe = io.StringIO(), cache(lambda text: spreadsheet_safe(writable(text)))
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow([safe(name) for name in columns])
    writer.writerows(_rows(columns, lambda value: "" if np.isnan(value) else f"{value:.6f}", safe))
    return stream.getvalue()


def in_encoding(text: str, encoding: str) -> Callable[[Path], Any]:
    """Return what writes a text; a sign of ours that the encoding lacks becomes "?"."""
    return lambda path: path.write_text(text, encoding=encoding, errors="replace", newline="")


def sheet_of(columns):
    """Yield the header and the rows of columns by name, numbers as numbers."""
    yield list(columns)
    yield from _rows(
        columns,
        lambda value: None if np.isnan(value) else round(value, 6),
        lambda text: writable(text) or None,
    )


def _rows(columns, number, text):
    """Return rows as they are written: numbers and texts as these functions make them."""
    cells = []
    for column in columns.values():
        if column.dtype == bool:
            cells.append(["yes" if value else "no" for value in column])
        elif column.dtype.kind == "f":
            cells.append([number(value) for value in column.tolist()])
        elif column.dtype == object:
            cells.append([text(value) for value in column])
        else:
            cells.append(column.tolist())
    return zip(*cells, strict=True)


def as_json(values):
    """Return a summary as JSON."""
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def is_audit_file(path):
    """Say whether a file looks like the page or the table of an earlier audit."""
    if is_excel(Path(path)):
        of_sheet = set(sheet_table(Path(path))[0])
        return {"row", "given", "suggested", "decision", "fingerprint"} <= of_sheet
    with Path(path).open("rb") as file:
        beginning = file.read(1 << 16)
    if beginning.startswith(b"<!DOCTYPE html>"):
        return b"Content-Security-Policy" in beginning[:200]
    # In any encoding and with any delimiter; between quotation marks a name may be anything.
    header = beginning.lstrip(b"\xef\xbb\xff\xfe\xbf").replace(b"\0", b"").partition(b"\n")[0]
    names = re.split(rb"[^a-z ]+", header.strip())
    is_review = {b"given", b"suggested", b"decision", b"fingerprint"} <= set(names)
    return names[0] == b"row" and (is_review or header.startswith(CROWD))


def is_summary(path):
    """Say whether a file looks like the summary of an earlier audit."""
    return begins_with(path, '{\n  "audit"')
