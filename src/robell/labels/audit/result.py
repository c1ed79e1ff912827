"""What an audit of any kind has: counts, suspects, trust, a page, files; and how these are written.

The page has the same sections in the same order for all kinds, each in the kind's words. Its first
screen needs no knowledge of machine learning.
"""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy
import sklearn

from robell import __version__
from robell._core.labels.noise import LEVEL
from robell._tools.files import FileError, check_output, write_together
from robell._tools.optional import require
from robell._tools.text import (
    NAME,
    counted,
    in_cell,
    isolated,
    literal,
    percent,
    quoted,
    said,
    shortened,
    spreadsheet_safe,
    visible,
    writable,
)
from robell.labels.audit.cards import MOST_CARDS, packed, review_of
from robell.labels.audit.reasons import Reason
from robell.labels.review.review import KEEP, begins_with, stem_of
from robell.labels.trust import MOST_COLUMNS_A_ROW
from robell.report.page import (
    Bullets,
    Callout,
    Code,
    Details,
    Facts,
    Paragraph,
    Review,
    TableBlock,
    Words,
    render,
)
from robell.tables.columns import MISSING_WORDS, ColumnNote, Used, advice_on, left_out_of
from robell.tables.excel import EXCEL, is_excel, sheet_table, write_sheet
from robell.tables.leaks import Giveaway, Leak
from robell.tables.raw import RawTable

CROWD = b"row,consensus,", b"row,line,consensus,", b"row,key,consensus,", b"row,line,key,consensus,"
LISTED = 25  # rows of a list of the page
SHOWN_LINES = 8
FAR = 3.0  # standard deviations; larger distances count as this one


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the page is made of: the table, its columns as numbers, and what was found.

    `target` is what was read in the column `name`, `given` the cells of its rows, `codes` their
    places among the classes, `labels` the fingerprint of the whole column. The last three are there
    once it is judged.
    """

    name: str
    labels: str
    table: RawTable
    used: tuple[Used, ...]
    matrix: np.ndarray
    target: Any
    given: np.ndarray
    codes: Any
    leaks: tuple[Leak, ...]
    giveaways: tuple[Giveaway, ...]
    n_read: int
    is_sample: bool
    random_state: int
    asked_for: bool
    judgement: Any = None
    trust: Any = None
    reviewed: Any = None

    @property
    def view(self) -> np.ndarray:
        """The rows for neighbours and the map: numbers cut off at three standard deviations."""
        # Two rows with different levels of a category are as far apart in it as two typical rows
        # are in a number: the squared distance is 2 in either.
        return np.clip(self.matrix, -FAR, FAR)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Audit:
    """What every kind of audit is: rows of a table judged, written as a page and a table.

    A kind has the fixed sentences of its page, `_words`, the columns of its ``_table``, and a
    ``summary``. For a terminal it has ``_headline``, ``_terminal_lines`` and ``_remarks``, and for
    the page ``_subtitle``, the blocks of the first screen, ``_found``, further ``_sections``,
    ``_how`` it was made, and ``_names`` that may have to be shown in full.
    """

    _kind: ClassVar[str]
    _words: ClassVar[Words]
    _most: ClassVar[int] = LISTED  # rows that the page shows where nobody says how many
    _headline: ClassVar[Callable[..., Any]]
    _table: ClassVar[Callable[..., Any]]
    _subtitle: ClassVar[Callable[..., Any]]
    _found: ClassVar[Callable[..., Any]]
    _sections: ClassVar[Callable[..., Any]]
    _how: ClassVar[Callable[..., Any]]
    _names: ClassVar[Callable[..., Any]]
    name: str
    n_rows: int
    row: np.ndarray
    line: np.ndarray | None
    leaks: tuple[str, ...]
    columns: tuple[ColumnNote, ...]
    html: Path | None = None
    csv: Path | None = None

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
        page = self._page(top, csv_path, command)
        try:
            html.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{html.parent}: cannot be made: {error.strerror}") from error
        columns, delimiter, encoding = self._file_table(all_rows)
        table: Callable[[Path], Any]
        if csv_path.name.endswith(EXCEL):
            table = partial(write_sheet, name="audit", rows=sheet_of(columns))
        else:
            table = in_encoding(as_csv(columns, delimiter), encoding)
        write_together({csv_path: table, html: page, **(also or {})})
        return replace(self, html=html, csv=csv_path)

    def _file_table(self, all_rows: bool) -> tuple[dict[str, np.ndarray], str, str]:
        """Return the columns of the table that is written, its delimiter and its encoding."""
        return self._table(as_text=True), ",", "utf-8"

    @property
    def _where(self) -> str:
        """What the numbers of the rows count: lines of a text file, otherwise rows."""
        return "row" if self.line is None else "line"

    @property
    def _number(self) -> np.ndarray:
        """The line of each row in a text file, otherwise its number."""
        return self.row if self.line is None else self.line

    def _say(self, key: str, **values: Any) -> Any:
        """Return one of the fixed sentences with values in it."""
        return self._words.text(key, **values)

    def _page(self, top: int, csv_path: Path, command: str) -> str:
        """Return the whole HTML page, with the ``top`` most suspect rows, linked to the table."""
        words = self._words
        evidence: Any = getattr(self, "evidence", self)
        n_used = len(evidence.used)
        headline = Paragraph(f"**{literal(self._headline())}**")
        sections = [words.section("found", headline, *self._found(top, csv_path))]
        sections += filter(None, self._sections(top, csv_path))
        if self.columns:
            rows = [(in_cell(n.name), n.kind, n.missing, n.done) for n in self.columns]
            about = {
                "used": n_used,
                "all": counted(len(self.columns), "column"),
                "were": "was" if n_used == 1 else "were",
                "missing": f"{', '.join(MISSING_WORDS[:-1])} and {MISSING_WORDS[-1]}",
                "where": " in columns that are not text" if self.line is None else "",
            }
            table = TableBlock(words.table("columns", rows))
            sections.append(words.section("columns", table, **about))
        limits = Bullets(tuple(words.text("limits", used=counted(n_used, "column"))))
        made_by = (
            f"robell {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, "
            f"scikit-learn {sklearn.__version__}, Python {platform.python_version()}; random state "
            f"{evidence.random_state}."
        )
        made = [Code(visible(command))] if command else []
        sections += [
            words.section("limits", limits),
            words.section("how", *made, *self._how(), Paragraph(made_by)),
        ]
        in_full = [
            Details(
                f"{quoted(name, 40)}: {counted(len(name), 'character')}", (Code(visible(name)),)
            )
            for name in dict.fromkeys(self._names())
            if len(visible(name)) > NAME
        ]
        if in_full:
            sections.append(words.section("names", *in_full))
        title = words.text("title", name=shortened(self.name))
        return render(title, self._subtitle(), sections, footer=f"robell {__version__}")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JudgedAudit(Audit):
    """What audits of classes and of numbers do alike: every row has a quality, and may be suspect.

    ``run.py`` asks a kind for its ``_read``, ``_judged`` and ``_reasons_of``; for what it says, a
    kind has ``_how_good`` the trust is, ``_kind_words`` on how the target was taken, blocks of its
    `_own` on the first screen by where they stand there, and ``_card_parts``.
    """

    _most: ClassVar[int] = MOST_CARDS
    _how_good: ClassVar[Callable[..., Any]]
    _kind_words: ClassVar[Callable[..., Any]]
    _own: ClassVar[Callable[..., Any]]
    _card_parts: ClassVar[Callable[..., Any]]
    _summary_parts: ClassVar[Callable[..., Any]]
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

    def _say(self, key: str, **values: Any) -> Any:
        """Return one of the fixed sentences; each may name the target."""
        return super()._say(key, **({"target": quoted(self.target)} | values))

    @property
    def n_corrected(self) -> int:
        """How many labels reviews have changed, of the rows audited."""
        return int(self.evidence.reviewed.corrected.sum())

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

    # -- the table

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
        columns["reasons"] = np.full(len(self.row), "", object)
        for row, reasons in self.reasons.items():
            text = "; ".join(reason.text for reason in reasons)
            columns["reasons"][np.searchsorted(self.row, row)] = text
        columns["reasons"] = columns["reasons"][order]
        columns["target"] = np.full(n, self.target, object)
        columns["fingerprint"] = self.fingerprint[order]
        return columns

    def _file_table(self, all_rows):
        """Return the suspects with their cells, identifiers first, as the table is written."""
        columns, order, table = self._table(as_text=True), self.order, self.evidence.table
        if self.suspect.any() and not all_rows:
            listed = self.suspect[order]
            order = order[listed]
            for name, values in columns.items():
                columns[name] = values[listed]
        keys = self._keys()
        identifiers: dict[str, np.ndarray] = {}
        others: dict[str, np.ndarray] = {}
        for column, (name, cells) in own_cells(table, order, {self.target}, {*columns, "label"}):
            (identifiers if column.name in keys else others)[name] = cells
        where = {name: columns.pop(name) for name in ("row", "line") if name in columns}
        proof = {name: columns.pop(name) for name in ("target", "fingerprint")}
        return where | identifiers | columns | others | proof, table.delimiter, table.encoding

    def _keys(self):
        """Return the names of the identifiers: columns left out whose cells are all different."""
        left_out = {note.name for note in self.columns if note.kind == "left out"}
        some = [column for column in self.evidence.table.columns if column.name in left_out]
        return {column.name for column in some if len(set(column.cells)) == len(column)}

    # -- sentences

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

    @property
    def _has_estimates(self):
        """Whether to show estimates: "no label is wrong" means nothing where trust is weak."""
        is_known = bool(self.suspect.any()) or (self.trust == "weak" and self.reviewed.any())
        return self.trust in ("good", "fair") or is_known

    @property
    def _has_too_many_columns(self):
        """Whether the table has more columns than its rows can bear."""
        n_rows, n_columns = self.evidence.matrix.shape
        return n_columns > MOST_COLUMNS_A_ROW * n_rows

    def _headline(self):
        """Say in one sentence of plain text how many rows are suspect."""
        n, n_suspects = len(self.row), int(self.suspect.sum())
        key = "headline_one" if n_suspects == 1 else "headline_several"
        if self.trust == "none":
            key = "headline_none"
        elif not n_suspects:
            key = "headline_unsure_of_leak" if self.leak_suspects else "headline_unsure"
            key = "headline_right" if self.trust == "good" else key
        elif self.trust != "good":
            key = "headline_perhaps"
        leak = said(self.leak_suspects[0]) if self.leak_suspects else ""
        words = {"n": n, "found": n_suspects, "share": percent(n_suspects / n), "leak": leak}
        return self._say(key, target=said(self.target), **words)

    def _signal(self, quote=said):
        """Say whether the columns say anything about the target, by a test."""
        p = "p < 0.0001" if self.p_value < 1e-4 else f"p = {self.p_value:.2g}"
        key = "signal" if self.p_value < LEVEL else "no_signal"
        return self._say(key, target=quote(self.target), p=p)

    def _share_wrong(self):
        """Say how many labels are wrong by estimate, whether their rows are suspect or not."""
        wrong, interval = self._still_wrong()
        if not wrong:
            sure = "" if self.trust == "good" else self._say("not_certain")
            return self._say("none_wrong") + sure
        share = {"wrong": wrong, "n": len(self.row), "share": percent(self.noise_rate)}
        about = self._say("about_wrong", interval=interval, **share)
        return self._say("share_wrong", about=about)[self.trust] + self._say("located")

    def _after_review(self):
        """Say what reviews have corrected, and how much is still wrong."""
        thing, corrected = self._say("thing"), self.n_corrected
        n_reviewed, n_others = int(self.reviewed.sum()), int((~self.reviewed).sum())
        changed = {"changed": counted(corrected, thing), "kept": n_reviewed - corrected}
        text = self._say("reviews", **changed)
        if self.trust == "none" or not n_others:
            return text
        wrong, interval = self._still_wrong()
        others = counted(n_others, thing)
        return text + self._say("reviews_left", others=others, wrong=wrong, interval=interval)

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
        further = [self._after_review()] if self.reviewed.any() else []
        further += self._compared_lines()
        cautions = [f"Caution: {one.caution(self.target)}" for one in self.evidence.giveaways]
        checked += f"; {kind}" if kind else ""
        return [self._signal(), self._headline(), *cautions, *further, checked, trust]

    def _compared_lines(self):
        """Return what the terminal says of groups and of an earlier table."""
        return []

    def _remarks(self):
        """Yield which columns the labels were not judged by, and why."""
        for name in self.leaks:
            yield f"column {said(name)} repeats the target, and was left out"
        others = [note for note in self.columns if note.name not in self.leaks]
        yield from left_out_of([note for note in others if note.done.startswith("left out: ")])
        yield from advice_on(self.columns)

    # -- the page

    @property
    def _question(self):
        """The question that a page answers."""
        return self._say("question")

    def _subtitle(self):
        """Ask the question, and say what was looked at."""
        classes = getattr(self, "classes", ())
        sizes = counted(len(self.row), "row")
        sizes += f", {counted(len(classes), 'class', 'classes')}" if classes else ""
        return f"{self._question} {sizes}. {self._signal(quoted)}"

    def _names(self):
        """Return the names that stand on the page, perhaps shortened."""
        labels = *getattr(self, "classes", ()), *getattr(self, "set_aside", ())
        return [*labels, self.name, self.target, *(note.name for note in self.columns)]

    def _found(self, top, csv_path):
        """Yield the first screen: numbers, how far to trust them, what to do, what to know."""
        evidence, own = self.evidence, self._own()
        n, n_suspects, n_reviewed = len(self.row), int(self.suspect.sum()), self.reviewed.sum()
        chance = "drawn at random, " if evidence.is_sample else ""
        in_file = f"{chance}of {self.n_rows:,} in the file"
        to_check = f"{n_suspects:,}", f"{percent(n_suspects / n)} of the rows"
        to_check = ("cannot tell", "") if self.trust == "none" else to_check
        facts = [
            ("rows checked", f"{n:,}", "all rows of the file" if self.n_rows == n else in_file),
            ("rows to check by hand", *to_check),
        ]
        if n_suspects == 1:
            chance = percent(self.expected_wrong)
            facts.append(("chance that it is really wrong", chance, "by estimate"))
        elif n_suspects:
            others = f"by estimate ({self._range_wrong}); others are unusual but right"
            facts.append(("of these really wrong", self._about_wrong, others))
        facts.append(("how far to trust this", self.trust.capitalize(), self._how_good()))
        yield Facts(tuple(facts))

        yield from own["first"]
        for one in evidence.giveaways:
            yield Callout("caution", literal(one.caution(self.target)))
        if n_reviewed:
            yield Callout("finding", f"{self._after_review()}.")
        if self.leak_suspects and self.trust == "fair":
            yield Callout("note", self._say("leak"))
        else:
            kind = "note" if self.trust in ("good", "fair") else "caution"
            yield Callout(kind, self._meaning())
        yield from own["compared"]

        yield Paragraph("**What to do next**")
        yield Bullets(tuple(self._next_steps(top, csv_path)))

        if evidence.is_sample:
            yield Callout("caution", self._say("sampled", rows=self.n_rows, read=evidence.n_read))
        for leak in evidence.leaks:
            text = self._say("repeats", column=quoted(leak.name), share=100 * leak.agreement)
            if len(leak.exceptions):
                where = self._where + "s" * (len(leak.exceptions) > 1)
                text += self._say("repeats_not", where=where, rows=places(self, leak.exceptions))
            yield Callout("caution", text)
        if self._has_too_many_columns:
            n_rows, n_columns = evidence.matrix.shape
            columns, rows = counted(n_columns, "column"), counted(n_rows, "row")
            yield Callout("caution", self._say("too_many_columns", columns=columns, rows=rows))
        yield from own["labels"]
        if n_reviewed:
            rows = counted(int(n_reviewed), "row was", "rows were")
            yield Callout("note", self._say("reviewed", rows=rows))
        if self.n_unlabelled:
            common = evidence.target.unlabelled.most_common(3)
            kinds = ", ".join(quoted(cell, 20) if cell else "empty" for cell, _ in common)
            were = "was" if self.n_unlabelled == 1 else "were"
            rows = counted(self.n_unlabelled, "row")
            yield Callout("note", self._say("unlabelled", rows=rows, kinds=kinds, were=were))
        yield from own["set_aside"]

    def _meaning(self):
        """Say what the word for the trust means for the suspects, or for there being none."""
        which = "meaning" if self.suspect.any() else "meaning_without_suspects"
        return self._say(which)[self.trust]

    def _next_steps(self, top, csv_path):
        """Yield what to do about it."""
        name = csv_path.name
        table = quoted(name)
        if re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII):  # plain enough for an address
            table = f"[{literal(name)}]({name})"
        if self.leak_suspects:
            options = literal(shlex.join(["--ignore", *self.leak_suspects]))
            yield self._say("ask_of_leak", leak=quoted(self.leak_suspects[0]), options=options)
        if self.trust == "none":
            key = "remedy_too_many_columns" if self._has_too_many_columns else "remedy"
            yield from self._say("cannot_tell", remedy=self._say(key), table=table)
        elif self.suspect.any():
            if top:
                shown = f"the first {top:,} rows" if top < self.suspect.sum() else "the rows"
                yield self._say("decide_here", shown=shown)
            yield from self._say("decide_in_table", table=table, where=self._where)
        else:
            some_left = self.reviewed.any() and self._still_wrong()[0] > 0
            is_done = self.trust == "good" and not some_left
            steps = self._say("none_suspect_good" if is_done else "none_suspect", table=table)
            yield from steps[:1] if self.leak_suspects else steps

    def _suspects_section(self, top, csv_path):
        """Show the suspects one after the other, each to decide upon beside similar rows."""
        if not self.suspect.any() or not top:
            return None
        shown = self._suspects[:top]
        parts = self._card_parts()
        review = review_of(self, parts, shown, csv_path)
        words, first = self._words, shown[:LISTED]
        n_shown, n_suspects = review["cards"], int(self.suspect.sum())
        some = f"The {n_shown:,} least likely {words.text('thing')}s"
        some = f"All {n_shown:,} suspects" if n_shown == n_suspects > 1 else some
        some = "The one suspect" if n_suspects == 1 else some
        rows = []  # of a plain table of the first ones, for paper and browsers without scripts
        for at in first:
            likely = [parts.likely[at]] if len(parts.likely) else []
            texts = in_cell(parts.given[at], 24), in_cell(parts.suggested[at], 24), *likely
            reasons = "; ".join(one.text for one in self.reasons.get(int(self.row[at]), ()))
            why = in_cell(reasons, 300) or "no single column"
            rows.append((int(self._number[at]), *texts, 100 * float(self.quality[at]), why))
        table = words.table("suspects", rows, where=self._where.capitalize())
        listed = f"The first {len(first)} as a table" if len(first) < n_shown else "As a table"
        return words.section(
            "suspects",
            Review(packed(review), visible(csv_path.name)),
            Details(listed, (TableBlock(table),)),
            some=some,
        )


def first_of(names, most=5, more="more"):
    """Return the first of some names, and how many there are beyond."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} {more}" if rest > 0 else "")


def piece(text):
    """Return text, shortened, for a part of a cell."""
    return isolated(in_cell(str(text), 24))


def places(result, group):
    """Return the numbers of some rows, or of their lines, the first few of them."""
    return first_of(list(map(str, result._number[group])), SHOWN_LINES)


def range_words(about, ends):
    """Return an interval of whole numbers in words, an estimate in it."""
    low, high = map(round, ends)
    return f"{min(low, about):,} to {max(high, about):,}"


def output_paths(out, name, source=None, is_ours=None):
    """Return the paths of an audit's page and of its table; a workbook is reviewed in one."""
    table = "xlsx" if name.lower().endswith(EXCEL) else "csv"
    return result_paths(out, name, "audit", ("html", table), source, is_ours)


def result_paths(out, name, what, kinds, source=None, is_ours=None):
    """Return the paths of results, ``NAME-what.kind``, none of which may replace the source."""
    # ``out`` is a folder, where the files are called after ``name``, or the beginning of their
    # names. Given ``is_ours``, only files that it knows are replaced.
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
        if all(map(Path.exists, paths)) and paths[0].samefile(paths[-1]) and paths[1:]:
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
    writer.writerow(map(safe, columns))
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
            cells.append(np.where(column, "yes", "no").tolist())
        elif column.dtype.kind == "f":
            cells.append(list(map(number, column.tolist())))
        elif column.dtype == object:
            cells.append(list(map(text, column)))
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
