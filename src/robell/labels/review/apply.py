"""A review applied to its table: labels changed, rows dropped, and a log of it written."""

from __future__ import annotations

import csv
import os
import tempfile
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from robell._tools.files import FileError, check_output, copy_pipe, write_together
from robell._tools.text import said, spreadsheet_plain, spreadsheet_safe, writable
from robell.labels.review.review import (
    CHANGE,
    DROP,
    KEEP,
    LOG_START,
    Spellings,
    beside,
    digest_of,
    in_letters,
    is_log,
    log_path,
    read_review,
    read_reviews,
    row_prints,
    same_label,
)
from robell.labels.review.sources import open_source, require_same_kind
from robell.tables.numerals import spells_number
from robell.tables.target import holds_numbers


@dataclass(frozen=True)
class AppliedReview:
    """What a review did to a table.

    Attributes
    ----------
    out, log : Path
        The table as reviewed, and the list of all decisions that went into it.
    kept, changed, dropped : int
        How many rows were decided upon in each way.
    undecided : int
        Rows of the review without a decision; they stay as they are.
    was_applied : bool
        Whether the table held all of this already, so that nothing had to be done.

    Examples
    --------
    >>> from pathlib import Path
    >>> from robell import AppliedReview
    >>> done = AppliedReview(Path("clean.csv"), Path("clean-review.csv"), 7, 3, 0, 90, False)
    >>> done.kept + done.changed + done.dropped
    10
    """

    out: Path
    log: Path
    kept: int
    changed: int
    dropped: int
    undecided: int
    was_applied: bool


def apply_review(
    table: str | os.PathLike[str],
    reviewed: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    replace: bool = True,
) -> AppliedReview:
    r"""Apply the decisions of a reviewed audit to the table that was audited.

    Every row of the review must be found in the table as it was audited; a table that has changed
    since is refused, and nothing is written. Lines of a text file that no decision changes are
    copied as they are. Applying a review again, also to its own result, changes nothing more.

    Parameters
    ----------
    table : path-like
        The audited table: CSV, also gzipped, or Parquet.
    reviewed : path-like
        The table of its audit, ``NAME-audit.csv``, with ``keep``, ``change`` or ``drop`` in the
        column ``decision``. A label is changed to the one in ``suggested``, which a reviewer may
        replace by another label of the table. Rows without a decision stay as they are.
    out : path-like
        The file to write; the log of all decisions is written beside it.
    encoding, delimiter : str
        Of a text file, as :func:`audit` takes them.
    replace : bool, default=True
        Whether to replace a file that is not an earlier result of a review.

    Returns
    -------
    applied : AppliedReview
        What was done.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from robell import apply_review, audit
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = [f"{k % 7 + 9 * (k % 2)},{'fern' if k % 2 else 'moss'}" for k in range(80)]
    >>> table = folder / "plants.csv"
    >>> _ = table.write_text("\n".join(["height,plant", *rows, "12,moss"]) + "\n")
    >>> frame = audit(table, "plant").to_frame()
    >>> frame.loc[0, ["suggested", "decision"]] = "fern", "change"
    >>> frame.to_csv(folder / "reviewed.csv", index=False)
    >>> applied = apply_review(table, folder / "reviewed.csv", folder / "clean.csv")
    >>> applied.changed, applied.out.read_text().splitlines()[-1]
    (1, '12,fern')
    """
    table, reviewed, out = Path(table), Path(reviewed), Path(out)
    log = log_path(out)
    for path, is_ours in ((out, _is_result), (log, is_log)):
        check_output(path, [table, reviewed], None if replace else is_ours)
    if table.is_fifo():
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_pipe(table, Path(folder) / table.name)
            return apply_review(copy, reviewed, out, encoding=encoding, delimiter=delimiter)
    review = read_review(reviewed, "cp1252" if encoding == "utf-8" else encoding)
    if not review.made:
        raise FileError(
            f"{reviewed}: holds no decision; write keep, change or drop into the column 'decision'"
        )
    source = open_source(table, review.target, encoding, delimiter)
    require_same_kind(source, out)
    matched = _match(source, review)
    target = source.names[source.target]
    earlier = read_reviews(beside(table, target), target)
    _write(source, target, _all_decisions(review, earlier, matched), matched, out, log)
    counts = {word: sum(one.word == word for one in review.made) for word in (KEEP, CHANGE, DROP)}
    return AppliedReview(
        out,
        log,
        counts[KEEP],
        counts[CHANGE],
        counts[DROP],
        len(review.decisions) - len(review.made),
        matched.was_applied,
    )


class _Matched(NamedTuple):
    """Labels to write and rows to leave out, by place; of each place its row as it was audited."""

    labels: dict[int, str]
    dropped: frozenset[int]
    was_applied: bool
    rows: Sequence[int]
    prints: list[int]
    given: list[str]


def _match(source, review):
    """Find the rows of a review in the table, before it was applied or after; raise if neither."""
    place = source.target
    prints, given = [], []
    for print_, cell in row_prints(source.names, place, source.cells()):
        prints.append(print_)
        given.append(cell or "")
    spellings, delimiter = Spellings(given), getattr(source, "delimiter", ",")
    numeric = delimiter if holds_numbers(given, None, delimiter) else None
    labels = {}
    for one in review.made:
        if one.word == CHANGE:  # a measured number may be any
            plain = spreadsheet_plain(one.label)
            is_new = numeric and not spellings.find(one.label) and spells_number(plain, numeric)
            where = f"{review.path}: line {one.line:,}"
            labels[one.row] = plain if is_new else spellings.spelt(one.label, where)
    dropped = [one for one in review.made if one.word == DROP]
    problem = _problem(source, review.decisions, prints, [])
    if _is_same(review.table, prints, []) and not problem:  # labels already changed stay
        new = {}
        for one in review.decisions:
            at = one.row - 1
            if one.word == CHANGE and given[at] == labels[one.row]:
                continue
            if not same_label(one.given, given[at]):
                raise FileError(
                    f"{source.path}: has changed since the audit: {source.where(at)} is labelled "
                    f"{said(given[at], 30)}, and was {said(one.given, 30)}"
                )
            if one.word == CHANGE:
                new[at] = labels[one.row]
        out = frozenset(one.row - 1 for one in dropped)
        was_applied = not new and not out and bool(labels)
        return _Matched(new, out, was_applied, range(1, len(prints) + 1), prints, given)
    if dropped and _is_same(review.table, prints, dropped):
        gone = [one.row for one in dropped]
        stay = [one for one in review.decisions if one.word != DROP]
        problem = _problem(source, stay, prints, gone)
        for one in [] if problem else stay:
            at = _place(one.row, gone)
            label = labels.get(one.row, one.given)
            if not same_label(label, given[at]):
                is_not = f"labelled {said(given[at], 30)}, not {said(label, 30)}"
                problem = problem or f"{source.where(at)} is {is_not}"
        if not problem:
            left = sorted(set(range(1, len(prints) + len(gone) + 1)) - set(gone))
            return _Matched({}, frozenset(), True, left, prints, given)
    rest = "rows that are not in the review were changed, added or removed"
    raise FileError(f"{source.path}: has changed since the audit: {problem or rest}")


def _place(row, gone):
    """Return the place from 0 on of a row of the audited table, rows of these numbers dropped."""
    return row - 1 - bisect_left(gone, row)


def _is_same(whole, prints, dropped):
    """Say whether a table is the audited one, without the rows that were dropped."""
    if whole.startswith("n") and whole[1:].isdigit():  # a sample was audited
        return len(prints) + len(dropped) == int(whole[1:])
    return in_letters(sum(prints) + sum(one.print for one in dropped)) == whole


def _problem(source, decisions, prints, gone):
    """Return what is wrong with the first row that is not where the review has it, or ""."""
    for one in decisions:
        at = _place(one.row, gone)
        if at >= len(prints):
            return f"there is no row {one.row:,} any more"
        if prints[at] != one.print:
            return f"{source.where(at)} is not the row that was reviewed"
    return ""


def _all_decisions(review, earlier, matched):
    """Return the decisions of a review and of earlier ones, each from the very first label."""
    places = earlier.places(matched.prints, matched.given, range(1, len(matched.rows) + 1))
    before = {
        matched.rows[at]: one
        for one, at in zip(earlier.decided, places, strict=True)
        if at is not None
    }
    decisions = []
    for one in review.made:
        known = before.pop(one.row, None)
        # The label that an earlier review left, or, where this one is applied again, that of both.
        if known and any(same_label(known.label, text) for text in (one.given, one.label) if text):
            same = one.label is not None and same_label(one.label, known.given)
            word = DROP if one.word == DROP else KEEP if same else CHANGE
            one = replace(one, given=known.given, word=word)
        decisions.append(one)
    decisions += [replace(one, row=row) for row, one in before.items()]
    return sorted(decisions, key=lambda one: one.row)


def _write(source, target, decisions, matched, out, log):
    """Write the table, and its log: all decisions as CSV, with a fingerprint of what they made."""
    digest, column = [], spreadsheet_safe(writable(target))

    def write_table(path):
        source.write(path, matched.labels, matched.dropped, out)
        digest.append(digest_of(path) if path.is_file() else "none")

    def write_log(path):
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(LOG_START.split(","))
            for one in decisions:
                label = "" if one.label is None else one.label
                prints = f"{digest[0]}-{in_letters(one.print)}"
                writer.writerow([one.row, column, one.given, one.word, label, prints])

    write_together({out: write_table, log: write_log})


def _is_result(path):
    """Say whether a file is what a review has written, unchanged since: its log knows its bytes."""
    log = log_path(path)
    if not log.is_file() or not is_log(log):
        return False
    with log.open(encoding="utf-8", errors="replace", newline="") as file, suppress(csv.Error):
        first = [*islice(csv.reader(file), 1, 2), [""]][0]  # a label may be of several lines
        return bool(first) and first[-1].startswith(f"{digest_of(path)}-")
    return False
