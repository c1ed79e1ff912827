"""The audit of several annotators: labels read, consensus found, and what its page says about it.

Labels stand in columns side by side, or one a line.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from robell import __version__
from robell._core.labels.annotators import Votes, count_votes
from robell._tools.files import FileError
from robell._tools.text import counted, in_cell, percent, quoted, said, unique, writable
from robell.labels.annotators import LITTLE_OVERLAP, Consensus, ReadVotes, consensus_of, overlap
from robell.labels.audit.figures import annotator_bars, class_bars
from robell.labels.audit.result import Audit, first_of, numbered, piece
from robell.labels.issues import ranked
from robell.report.page import Bullets, Callout, Facts, FigureBlock, Paragraph, TableBlock, Words
from robell.tables.columns import ColumnNote, missing_cells
from robell.tables.leaks import find_leak, prepare_columns
from robell.tables.raw import RawTable
from robell.tables.target import LEAST_ROWS, classes_of, find_column, one_spelling

UNSURE = 0.8  # quality of a consensus below which its row is called unsure
FEW_LABELS = 20  # of an annotator, below which little is known about them
NEAR_CHANCE = 0.1  # above 1 / K; whoever is below may as well guess
OFTEN = 0.05  # share of a class that is taken for another, from which on it is worth saying
MOST_BARS = 20
MOST_ANNOTATORS = 2_000
MOST_COMPARED = 20  # annotators whose labels a column must not repeat


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AnnotatorAudit(Audit):
    """The consensus of several annotators on the rows of a table, and what each is worth.

    Attributes
    ----------
    name : str
        The file's name (``"table"`` for a data frame).
    consensus : Consensus
        Classes, qualities and annotators; its rows are positions in ``row``.
    row : array of shape (n,)
        The rows of the table, counted from 1; in the long form the first line of each.
    line : array of shape (n,) or None
        The line of a text file at which each begins.
    key : tuple of str or None
        In the long form, what the rows are called.
    n_rows, n_read : int
        Rows of the file, and how many were read.
    set_aside : dict of str to int
        Labels given fewer than five times, which were not used.
    columns : tuple of ColumnNote
        What was done to each other column.
    leaks : tuple of str
        Columns that repeat the majority's labels and were therefore left out.
    used : tuple of str
        Columns that were used.
    how : str
        How the table was read.
    random_state : int
        Seed of the classifier's layers.
    html, csv : Path or None
        The files that were written.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import audit_annotators
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(["no", "yes"], 40)
    >>> frame = pd.DataFrame({"x": rng.normal(truth == "yes", 0.1), "a": truth, "b": truth})
    >>> frame.loc[3, "b"] = "yes"
    >>> audit_annotators(frame, ["a", "b"]).to_frame()["row"].tolist()[0]
    4
    """

    _kind: ClassVar[str] = "annotators"
    _words: ClassVar[Words] = Words("robell.labels.audit", _kind)
    consensus: Consensus
    key: tuple[str, ...] | None
    n_read: int
    set_aside: dict[str, int]
    used: tuple[str, ...]
    how: str
    random_state: int

    @property
    def votes(self):
        """How many labels each row was given."""
        return np.bincount(self.consensus.given_row, minlength=len(self.row))

    @property
    def _n_labelled(self):
        """How many rows were given a label."""
        return int((self.votes > 0).sum())

    @property
    def _sureness(self):
        """The mean quality of the consensus, over the rows that have one."""
        return float(self.consensus.quality[self.known].mean())

    @property
    def known(self):
        """Rows with a consensus: those with a label, or all where columns are used."""
        return (self.votes > 0) | bool(self.used)

    @property
    def unsure(self):
        """Rows whose consensus is less sure than four in five."""
        return self.known & (self.consensus.quality < UNSURE)

    def _table(self, *, as_text=False):
        """Return the columns of the CSV file, which is the same as text; the least sure first."""
        found, known = self.consensus, self.known
        order = np.lexsort((self.row, found.quality))
        ask, gain = np.full(len(order), "", dtype=object), np.full(len(order), np.nan)
        row, annotator, worth = found.next_labels(len(order))
        ask[row], gain[row] = annotator, worth
        columns = numbered(self.row, self.line, order)
        if self.key is not None:
            columns["key"] = np.array(self.key, dtype=object)[order]
        columns["consensus"] = np.where(known, found.label, "").astype(object)[order]
        columns["quality"] = np.where(known, found.quality, np.nan)[order]
        columns["labels"] = self.votes[order]
        for k, name in enumerate(unique([f"probability of {writable(c)}" for c in found.classes])):
            columns[name] = np.where(known, found.probability[:, k], np.nan)[order]
        columns["ask next"], columns["gain"] = ask[order], gain[order]
        return columns

    def summary(self) -> dict[str, Any]:
        """Return what was found in few numbers: a dictionary that can be written as JSON.

        Returns
        -------
        found : dict
            Rows and labels, what each annotator is worth, and which rows to label next, by whom.
        """
        found = self.consensus
        row, annotator, gain = found.next_labels(100)
        label, known = found.label[self.known], self.known
        return {
            "audit": self.name,
            "rows": self.n_rows,
            "rows_with_labels": self._n_labelled,
            "labels": len(found.given_label),
            "labels_set_aside": self.set_aside,
            "classes": {str(name): int((label == name).sum()) for name in found.classes},
            "mean_quality": float(found.quality[known].mean()),
            "unsure_rows": self.row[self.unsure].tolist(),
            "annotators": {
                str(found.annotator[j]): {
                    "labels": int(found.n_labels[j]),
                    "quality": float(found.annotator_quality[j]),
                    "confusion": found.confusion[j].tolist(),
                }
                for j in np.argsort(-found.annotator_quality, kind="stable")
            },
            "label_next": [
                {"row": int(self.row[r]), "annotator": str(a), "gain": float(g)}
                for r, a, g in zip(row, annotator, gain, strict=True)
            ],
            "columns_used": list(self.used),
            "random_state": self.random_state,
            "robell": __version__,
        }

    def _headline(self):
        """Return the result in one or two sentences of plain text."""
        found = self.consensus
        sizes = {"who": counted(len(found.annotator), "annotator"), "rows": self._n_labelled}
        sizes |= {"labels": len(found.given_label), "sure": percent(self._sureness)}
        if overlap(self.consensus.given_row) < LITTLE_OVERLAP and not self.used:
            return self._say("headline_unknown", **sizes)
        start = self._say("headline", **sizes)
        # Those whose shares read alike are named together: who of them is better cannot be seen.
        shares = [percent(float(quality)) for quality in found.annotator_quality]
        best, worst = (shares[place] for place in np.argsort(found.annotator_quality)[[-1, 0]])
        if best == worst:
            return start + self._say("equally_good", best=best)
        ends = []
        for share in (best, worst):
            of_share = (n for n, s in zip(found.annotator, shares, strict=True) if s == share)
            names = [said(str(name), 30) for name in of_share]
            both = " and ".join(names) if len(names) == 2 else first_of(names, 3)
            ends.append((both, len(names)))
        (first, n_best), (last, _) = ends
        shown = {"first": f"{first} {'is' if n_best == 1 else 'are'}", "last": last}
        return start + self._say("best_and_worst", best=best, worst=worst, **shown)

    def _terminal_lines(self):
        """Return what was found in a few lines."""
        unsure = counted(int(self.unsure.sum()), "row")
        ask = f"{unsure} less than 80 % sure; the table says whom to ask next"
        return [self._headline(), ask]

    def _remarks(self):
        """Yield what a reader must know before trusting the consensus."""
        found, share = self.consensus, overlap(self.consensus.given_row)
        if share < LITTLE_OVERLAP:
            key = "little_overlap" if self.used else "cannot_compare"
            yield self._say(key, overlap=percent(share))
        few = found.annotator[found.n_labels < FEW_LABELS]
        if len(few):
            names = first_of([quoted(str(name), 20) for name in few])
            yield self._say("few_labels", few=FEW_LABELS, names=names)
        for name in self.leaks[:3]:
            yield self._say("repeats", column=quoted(name))
        if self.n_read < self.n_rows:
            yield self._say("sampled", read=self.n_read, rows=self.n_rows)

    def _subtitle(self):
        found, rows = self.consensus, counted(len(self.row), "row")
        who, classes = counted(len(found.annotator), "annotator"), len(found.classes)
        return self._say("subtitle", rows=rows, who=who, of=counted(classes, "class", "classes"))

    def _found(self, top, csv_path):
        """Yield the first screen: numbers, what to know of them, what to do, what was left out."""
        labelled, n_given = self._n_labelled, len(self.consensus.given_label)
        lines = f"in {self.n_rows:,} lines"
        where = f"of {self.n_rows:,} in the file" if self.key is None else lines
        sure, unsure = percent(self._sureness), f"{int(self.unsure.sum()):,}"
        yield Facts(
            (
                ("rows with labels", f"{labelled:,}", where),
                ("labels a row", f"{n_given / max(labelled, 1):.1f}", "in the mean"),
                ("mean confidence of the consensus", sure, "over all rows"),
                ("rows that are unsure", unsure, "less than 80 % sure"),
            )
        )
        for text in self._remarks():
            yield Callout("caution", text)
        yield Paragraph("**What to do next**")
        yield Bullets(tuple(self._say("steps", table=quoted(csv_path.name))))
        if n_without := len(self.row) - labelled:
            key = "unlabelled" if self.used else "unlabelled_alone"
            yield Callout("note", self._say(key, rows=counted(n_without, "row")))
        if self.set_aside:
            some = list(self.set_aside.items())[:5]
            names = ", ".join(f"{quoted(label, 20)} ({n})" for label, n in some)
            yield Callout("note", self._say("set_aside", names=names))

    def _sections(self, top, csv_path):
        """Return the sections that show the evidence, None for those that have nothing to show."""
        return [
            annotators_section(self),
            next_section(self, top),
            doubtful_section(self, top),
            classes_section(self),
        ]

    def _how(self):
        """Say how the consensus was computed."""
        say = self._say("with_columns" if self.used else "without_columns")
        return (Paragraph(self._say("how", how=self.how, say=say)),)

    def _names(self):
        return ()


def judge_annotators(table, crowd, drop, random_state, budget):
    """Find the consensus of a crowd's labels, by what the columns but those dropped say too."""
    votes, n_classes = crowd.read.votes, crowd.read.votes.n_classes
    # No column may repeat what most annotators say, or, where they know every class, one of those
    # with most labels. Rows without a label count as the commonest class.
    counts = count_votes(votes)
    judges: list[Any] = [(slice(None), (counts + 1e-3 * counts.mean(axis=0)).argmax(axis=1))]
    given = np.bincount(votes.annotator, minlength=votes.n_annotators)
    for j in np.argsort(-given, kind="stable")[:MOST_COMPARED]:
        own = votes.annotator == j
        if given[j] >= LEAST_ROWS and len(np.unique(votes.label[own])) == n_classes:
            judges.append((votes.row[own], votes.label[own]))

    def leak_of(prepared):
        for rows, codes in judges:
            part = replace(prepared, values=prepared.values[rows])
            if leak := find_leak(part, codes, n_classes):
                return leak
        return None

    features = [column for column in crowd.table.columns if column.name not in drop]
    used, notes, leaks = prepare_columns(crowd.table, features, leak_of, budget)
    notes += crowd.notes
    notes += tuple(ColumnNote(name, "left out", 0, "left out, as asked") for name in drop)
    X = np.column_stack([column.matrix for column in used]) if used else None
    return AnnotatorAudit(
        name=table.name,
        consensus=consensus_of(crowd.read._replace(X=X), random_state),
        row=crowd.table.rows,
        line=crowd.table.lines,
        key=crowd.keys,
        n_rows=table.n_rows,
        n_read=len(table.rows),
        set_aside=crowd.set_aside,
        columns=notes,
        leaks=tuple(leak.name for leak in leaks),
        used=tuple(column.name for column in used),
        how=table.how,
        random_state=random_state,
    )


def annotators_section(result):
    """Show what each annotator is worth."""
    found = result.consensus
    order = np.argsort(-found.annotator_quality, kind="stable")
    doubted = found.given_annotator[found.given_quality < 0.5]
    wrong = np.bincount(doubted, minlength=len(found.annotator))
    middle, rows = float(np.median(found.annotator_quality)), []
    for j in order:
        quality, n_labels = float(found.annotator_quality[j]), int(found.n_labels[j])
        error = 2.0 * np.sqrt(quality * (1.0 - quality) / n_labels) if n_labels else 0.0
        verdict, confused = "like most", None
        if n_labels < FEW_LABELS:
            verdict = "too few labels"
        elif quality < 1.0 / len(found.classes) + NEAR_CHANCE:
            verdict = "hardly better than guessing"
        elif abs(quality - middle) > error:
            verdict = f"{'better' if quality > middle else 'worse'} than most"
        often = found.confusion[j] * (1.0 - np.eye(len(found.classes)))
        z, given = np.unravel_index(often.argmax(), often.shape)
        if often[z, given] >= OFTEN and n_labels >= FEW_LABELS:
            confused = (
                f"{piece(found.classes[z])} labelled {piece(found.classes[given])} "
                f"({round(100 * often[z, given])} of 100)"
            )
        name = in_cell(str(found.annotator[j]))
        rows.append((name, 100 * quality, n_labels, int(wrong[j]), verdict, confused))
    table = result._words.table("annotators", rows)
    shown = order[:MOST_BARS]
    svg = annotator_bars(
        [str(found.annotator[j]) for j in shown],
        found.annotator_quality[shown],
        found.n_labels[shown],
        1.0 / len(found.classes),
    )
    more = f" The {len(shown)} best of {len(order):,}." if len(shown) < len(order) else ""
    figure = FigureBlock(svg, *result._words.figure("annotators", more=more))
    return result._words.section("annotators", figure, TableBlock(table))


def _where(result, place):
    """Say what a row is called, or where it stands: a number to look for, so without commas."""
    if result.key is not None:
        return in_cell(result.key[place], 30)
    return f"{result._where} {result._number[place]}"


def next_section(result, top):
    """Show which rows to label next, and by whom."""
    found = result.consensus
    row, annotator, gain = found.next_labels(top)
    if not len(row) or gain[0] <= 0:
        return None
    votes, rows = result.votes, []
    for r, who, worth in zip(row, annotator, gain, strict=True):
        first = _where(result, r), in_cell(str(who)), piece(found.label[r])
        rows.append((*first, 100 * found.quality[r], 100 * worth, votes[r]))
    return result._words.section("next", TableBlock(result._words.table("next", rows)))


def doubtful_section(result, top):
    """Show the labels that are more likely wrong than right."""
    found = result.consensus
    order = ranked(found.given_quality < 0.5, found.given_quality)
    if not len(order):
        return None
    rows = []
    for k in order[:top]:
        row, who = found.given_row[k], found.annotator[found.given_annotator[k]]
        labels = piece(found.given_label[k]), piece(found.label[row])
        quality = 100 * found.given_quality[k]
        rows.append((_where(result, row), in_cell(str(who)), *labels, quality))
    sizes = {"doubtful": f"{len(order):,}", "all": counted(len(found.given_label), "label")}
    table = TableBlock(result._words.table("doubtful", rows))
    return result._words.section("doubtful", table, **sizes)


def classes_section(result):
    """Show how many rows each class has."""
    found = result.consensus
    given = np.array([(found.given_label == name).sum() for name in found.classes])
    share = found.probability[result.known].sum(axis=0)
    chosen = np.sort(np.argsort(-given, kind="stable")[:MOST_BARS])
    scale = given.sum() / max(share.sum(), 1.0)
    names = [str(found.classes[k]) for k in chosen]
    svg = class_bars(names, share[chosen].round().astype(int), None)
    figure = FigureBlock(svg, *result._words.figure("classes", scale=scale))
    return result._words.section("classes", figure)


class Crowd(NamedTuple):
    """Rows, what they are called in the long form, and the labels that annotators gave them."""

    table: RawTable
    keys: tuple[str, ...] | None
    read: ReadVotes
    set_aside: dict[str, int]
    notes: tuple[ColumnNote, ...]


def read_side_by_side(table, names):
    """Read a table with a column of labels for each annotator."""
    names = tuple(dict.fromkeys((names,) if isinstance(names, str) else names))
    if len(names) < 2:
        raise FileError("labels of at least two annotators are needed: name their columns")
    columns = [table.columns[find_column(table, name)] for name in names]
    present = [np.flatnonzero(~missing_cells(column)) for column in columns]
    for column, rows in zip(columns, present, strict=True):
        if not len(rows):
            raise FileError(f"{table.name}: column {said(column.name)} holds no label")
    each = zip(columns, present, strict=True)
    cells = [column.cells[row] for column, rows in each for row in rows]
    who = np.repeat(np.arange(len(names)), [len(rows) for rows in present])
    others = tuple(column for column in table.columns if column.name not in set(names))
    rest = replace(table, columns=others)
    return _crowd(rest, None, names, (np.concatenate(present), who, cells), ())


def read_one_a_line(table, row, annotator, label):
    """Read a table of a label a line; columns that differ between lines of a row are left out."""
    places = [find_column(table, name) for name in (row, annotator, label)]
    if len(set(places)) < 3:
        raise FileError("row, annotator and label must be three different columns")
    key, who, given = (table.columns[place] for place in places)
    usable = ~(missing_cells(key) | missing_cells(who) | missing_cells(given))
    if not usable.any():
        raise FileError(f"{table.name}: no line has a row, an annotator and a label")
    lines = np.flatnonzero(usable)
    keys, first, of_row = _codes([key.cells[k] for k in lines])
    names, _, of_annotator = _codes([who.cells[k] for k in lines])
    cells = [given.cells[k] for k in lines]
    kept = _once(table, lines, of_row, of_annotator, cells, keys, names)
    cells = [cells[k] for k in kept]
    own, notes = [], []
    for column in (column for k, column in enumerate(table.columns) if k not in places):
        of_line = [column.cells[k] for k in lines]
        differs = (keys[row] for k, row in enumerate(of_row) if of_line[k] != of_line[first[row]])
        if (row := next(differs, None)) is not None:
            why = f"left out: differs between lines of the same row, such as {said(row, 30)}"
            notes.append(ColumnNote(column.name, "left out", 0, why))
        else:
            own.append(column)
    rows = replace(table, columns=tuple(own)).take(lines[first])
    found = of_row[kept], of_annotator[kept], cells
    return _crowd(rows, keys, names, found, tuple(notes))


def _codes(cells):
    """Return the different cells in the order in which they come, where first, and all places."""
    place = {cell: k for k, cell in enumerate(dict.fromkeys(cells))}
    codes = np.array([place[cell] for cell in cells])
    return tuple(place), np.unique(codes, return_index=True)[1], codes


def _once(table, lines, of_row, of_annotator, cells, keys, names):
    """Return the entries without repeats; two labels of one annotator for a row are an error."""
    seen: dict[tuple[int, int], int] = {}
    kept = []
    for k, pair in enumerate(zip(of_row.tolist(), of_annotator.tolist(), strict=True)):
        before = seen.setdefault(pair, k)
        if before == k:
            kept.append(k)
        elif cells[before] != cells[k]:
            raise FileError(
                f"{table.name}: {said(names[pair[1]], 30)} gave {said(keys[pair[0]], 30)} two "
                f"labels, {said(cells[before], 30)} ({table.where(lines[before])}) and "
                f"{said(cells[k], 30)} ({table.where(lines[k])})"
            )
    return np.array(kept)


def _crowd(table, keys, names, found, notes):
    """Turn cells into classes, and check that there are enough of everything."""
    row, who, cells = found
    if len(names) > MOST_ANNOTATORS:
        raise FileError(
            f"{table.name}: {len(names):,} annotators; at most {MOST_ANNOTATORS:,} can be compared"
        )
    cells, _ = one_spelling(cells)
    counts, where = Counter(cells), f"{table.name}: what the annotators gave"
    classes = classes_of(where, counts, "labels")
    place = {label: k for k, label in enumerate(classes)}
    small = {label: n for label, n in counts.items() if label not in place}
    usable = np.array([cell in place for cell in cells])
    codes = np.array([place[cell] for cell in cells if cell in place])
    row, who, n_rows = row[usable], who[usable], len(table.rows)
    if (n := len(np.unique(row))) < LEAST_ROWS:
        raise FileError(
            f"{table.name}: only {n:,} rows have a label; at least {LEAST_ROWS} are needed"
        )
    votes = Votes(row, who, codes, n_rows, len(names), len(classes))
    texts = np.array(classes, object), np.arange(n_rows), np.array(names, object)
    return Crowd(table, keys, ReadVotes(votes, *texts, None), small, notes)
