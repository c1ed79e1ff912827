"""A sample of rows for a person to check blind, drawn by the audit and read back with the answers.

The sheet shows the cells of each row, but neither its label nor what the audit thinks of it, and
has the rows in random order: whoever checks writes the right label of each, and the given one is
compared afterwards. How the sample was drawn stands in a file of its own, beside the sheet.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robell import __version__
from robell._core.labels.sampling import (
    Interval,
    cut_strata,
    domain_strata,
    draw_rows,
    interval_of_share,
    interval_of_total,
)
from robell._tools.files import FileError, write_together
from robell._tools.optional import require
from robell._tools.text import counted, said, text_print
from robell.labels.audit.compared import read_group_column
from robell.labels.audit.result import (
    as_csv,
    as_json,
    in_encoding,
    numbered,
    own_cells,
    require_whole,
    result_paths,
)
from robell.labels.audit.run import audit
from robell.labels.certificate import Certificate, Part
from robell.labels.review.review import (
    Spellings,
    encoding_of,
    fingerprints,
    folded,
    labels_print,
    read_print,
    row_number,
)
from robell.tables.numerals import floats_written
from robell.tables.raw import RawTable
from robell.tables.read import MAX_CELLS, MAX_ROWS, Budget, read_table
from robell.tables.target import find_column, read_labels, read_number_target

ANSWER, UNTOLD, OTHER = "true", "?", "other"
NEEDED = ("row", ANSWER, "sample", "fingerprint")
ROWS, FEWEST_ROWS = 200, 20
# How much of the rows is shared out evenly, whatever the audit says of each, by its trust
EVENNESS = {"good": 0.1, "fair": 0.1, "weak": 0.3, "none": 1.0}
NOT_COVERED, STRATA = "-", "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Plan:
    """How a sample was drawn, which is all that is needed to read it back.

    `strata` has a letter for every row of the table, "-" for rows without a label; `listed` are
    those of suspects. `table` and `labels` are fingerprints.
    """

    name: str
    target: str
    kind: str
    table: str
    labels: str
    strata: str
    listed: str
    rows: tuple[int, ...]
    group: str | None
    tolerance: str | None
    random_state: int
    drawn: str
    robell: str

    @property
    def id(self) -> str:
        """The name of the sample, by which its sheet knows it: made of everything else."""
        return text_print(json.dumps(asdict(self), sort_keys=True))

    def as_json(self) -> str:
        """Return the file of the plan."""
        return as_json({"sample": self.id, **asdict(self)})


class Expected(NamedTuple):
    """The share of wrong labels to expect, and the rows of an equally good simple sample."""

    rows: int
    low: float
    high: float
    random_rows: int


@dataclass(frozen=True, eq=False)
class CheckSample:
    """Rows to be checked by a person, for a certificate of how many labels of a table are wrong.

    Attributes
    ----------
    name, target : str
        The table, and its column of labels.
    row : array of shape (n,)
        The rows to check, counted from 1, in random order.
    expected : tuple of Expected
        The interval to expect of this sample, by the audit's estimate, and of half and twice as
        many rows: each has `rows`, `low`, `high` and `random_rows`, how many rows a simple random
        sample would take for the same width.
    csv, json : Path or None
        The sheet and the plan that were written.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import certify
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat(["ham", "spam"], 150)
    >>> size = rng.normal(np.repeat([0.0, 5.0], 150))
    >>> frame = pd.DataFrame({"size": size, "links": rng.normal(size), "label": kind})
    >>> sample = certify(frame, "label", rows=40)
    >>> sheet = sample.to_frame()
    >>> sheet["true"] = kind[sheet["row"] - 1]  # what a person would write
    >>> certificate = sample.certificate(sheet)
    >>> certificate.n_checked, certificate.n_found, certificate.share.low
    (40, 0, 0.0)
    """

    name: str
    target: str
    row: np.ndarray
    expected: tuple[Expected, ...]
    plan: Plan = field(repr=False)
    table: RawTable = field(repr=False)
    hidden: frozenset[str] = field(repr=False)
    csv: Path | None = None
    json: Path | None = None

    def _sheet(self):
        """Return the columns of the sheet, the answers empty."""
        table, places = self.table, self.row - 1
        columns = numbered(table.rows, table.lines, places)
        columns[ANSWER] = np.full(len(self.row), "", object)
        taken = {*columns, "sample", "fingerprint"}
        columns |= dict(own for _, own in own_cells(table, places, self.hidden, taken))
        columns["sample"] = np.full(len(self.row), self.plan.id, object)
        columns["fingerprint"] = fingerprints(table, find_column(table, self.target))[places]
        return columns

    def to_frame(self) -> Any:
        """Return the sheet as a pandas frame, its column ``true`` empty, to be filled in.

        Returns
        -------
        frame : pandas.DataFrame
            The columns ``row``, ``line`` of a text file, ``true``, the columns of the table without
            its labels and without columns that repeat them, ``sample`` and ``fingerprint``.
        """
        return require("pandas", "files").DataFrame(self._sheet())

    def write(self, out: str | os.PathLike[str] | None = None, *, replace: bool = False) -> Any:
        """Write the sheet, ``<name>-sample.csv``, and ``<name>-sample.json``, or neither.

        Parameters
        ----------
        out : path-like, default=None
            A folder, or the beginning of the files' names; the current folder when None.
        replace : bool, default=False
            Whether to replace files that are there: an earlier sheet may have been filled in.

        Returns
        -------
        sample : CheckSample
            The same with `csv` and `json`.
        """
        sheet, plan = sample_paths(out, self.name, replace)
        text = as_csv(self._sheet(), self.table.delimiter)
        write_together({sheet: in_encoding(text, self.table.encoding), plan: self.plan.as_json()})
        return dataclasses.replace(self, csv=sheet, json=plan)

    def lines(self) -> list[str]:
        """Return how many rows to check, and how wide the interval will be by the estimate."""
        one, *others = self.expected
        more = "; ".join(f"with {other.rows:,} rows {_points(other)}" for other in others)
        return [
            f"{one.rows:,} rows to check: write the right label of each into the column "
            f"{said(ANSWER)}, ? where it cannot be told",
            f"the interval for the share of wrong labels will be about {_points(one)} wide"
            + (f" ({more})" if more else "")
            + ", if the audit estimates well",
            f"a simple random sample would take about {one.random_rows:,} rows for the same width",
        ]

    def certificate(self, checked: Any) -> Certificate:
        """Return what the answers say about the labels of the table.

        Parameters
        ----------
        checked : path-like, data frame, or an iterable of them
            The sheet filled in, or several that were filled in by several people.

        Returns
        -------
        certificate : Certificate
            The share of wrong labels, with its interval.
        """
        return _certificate(self.plan, self.table, checked)


def certify(
    data: Any,
    target: str,
    *,
    checked: Any = None,
    rows: int = ROWS,
    width: float | None = None,
    kind: str = "auto",
    group: str | None = None,
    tolerance: float | str | None = None,
    drop: Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
    max_rows: int = MAX_ROWS,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    reviewed: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    random_state: int = 0,
    memory_limit: int | str | None = None,
) -> CheckSample | Certificate:
    r"""Draw rows for a person to check, and estimate from the answers how many labels are wrong.

    The rows are cut into strata by the quality of their labels, as :func:`audit` judges it. More
    are drawn where a wrong label is likely, and every class and group gets its share. The interval
    for the share of wrong labels follows from how rows were drawn, not from the audit.

    Parameters
    ----------
    data, target, kind, drop, max_rows, encoding, delimiter, reviewed, random_state, memory_limit
        As :func:`audit` takes them. All rows of the table must be read.
    checked : path-like, data frame, or an iterable of them, default=None
        The sheet of a sample that was drawn before, filled in: its column ``true`` has the right
        label of each row, ``?`` where it cannot be told, or ``other`` where no label of the table
        is right. The plan of the sample, ``<name>-sample.json``, must stand beside it. By default
        a sample is drawn.
    rows : int, default=200
        How many rows to check.
    width : float, default=None
        Instead of ``rows``, how wide the interval may be, such as 0.04: as many rows are drawn as
        that takes by the audit's estimate.
    group : str, default=None
        A column that names the supplier, month or site of each row, for shares by group.
    tolerance : float or str, default=None
        Of a target of numbers, the difference from which on a number is wrong, such as 0.5, or
        ``"5%"`` of the right one.
    out : path-like, default=None
        Where to write the sample, or the certificate; by default nothing is written.

    Returns
    -------
    result : CheckSample or Certificate
        The sample; with ``checked``, the certificate.

    Raises
    ------
    FileError
        A ValueError of one line that says why the table or the answers cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, pandas as pd
    >>> from pathlib import Path
    >>> from robell import certify
    >>> folder = Path(tempfile.mkdtemp())
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat(["ham", "spam"], 150)
    >>> size = rng.normal(np.repeat([0.0, 5.0], 150))
    >>> frame = pd.DataFrame({"size": size, "links": rng.normal(size), "label": kind})
    >>> frame.to_csv(folder / "mails.csv", index=False)
    >>> sample = certify(folder / "mails.csv", "label", rows=60, out=folder)
    >>> sheet = pd.read_csv(sample.csv)
    >>> sheet["true"] = kind[sheet["row"] - 1]  # what a person would write
    >>> sheet.to_csv(sample.csv, index=False)
    >>> certificate = certify(folder / "mails.csv", "label", checked=sample.csv)
    >>> print(certificate.headline())  # doctest: +ELLIPSIS
    At most ... % of the 300 labels are wrong, with 95 % confidence.
    """
    require_whole("rows", rows, FEWEST_ROWS)
    if width is not None and not 0.0 < width < 1.0:
        raise ValueError(f"width must be a share between 0 and 1, got {width!r}")
    text: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "max_rows": max_rows}
    table = read_table(data, target, budget=Budget(memory_limit), seed=random_state, **text)
    find_column(table, target)
    if len(table.rows) < table.n_rows:
        why = f"{table.name}: a certificate is for all of its {table.n_rows:,} rows"
        if max_rows >= table.n_rows:
            raise FileError(f"{why}, and at most {MAX_CELLS:,} cells can be read")
        raise FileError(f"{why}: give", parameter="max_rows", value=str(table.n_rows))
    if checked is not None:
        result = _certificate(_find_plan(_each(checked)), table, checked, target)
        return result if out is None else result.write(out)
    found = audit(
        data, target, kind=kind, drop=drop, reviewed=reviewed, random_state=random_state,
        memory_limit=memory_limit, **text,
    )  # fmt: skip
    if (found._kind == "numbers") != (tolerance is not None):
        say = (
            f"{said(target)} holds numbers: say from which difference on one is wrong, give"
            if tolerance is None
            else f"{said(target)} holds classes, which are right or wrong: give no"
        )
        value = "5%" if tolerance is None else ""
        raise FileError(f"{table.name}: {say}", parameter="tolerance", value=value)
    if tolerance is not None:
        _read_tolerance(tolerance)
    if found.evidence.is_sample or len(found.row) < FEWEST_ROWS:
        what = "too large" if found.evidence.is_sample else "too small"
        raise FileError(f"{table.name}: is {what} for a sample to be drawn from all of its rows")
    sample = _draw(found, table, rows, width, group, tolerance, random_state)
    return sample if out is None else sample.write(out)


def _points(expected):
    """Return the width of an interval to expect."""
    return f"{100 * (expected.high - expected.low):.1f} %"


def sample_paths(out, name, replace=False):
    """Return the paths of the sheet and of the plan; files that are there stay, unless asked."""
    paths = result_paths(out, name, "sample", ("csv", "json"))
    for path in paths:
        if path.exists() and not replace:
            raise FileError(
                f"{path}: is there already, perhaps filled in; give another name, or "
                "--force (in Python replace=True)"
            )
    return paths


# -- drawing ---------------------------------------------------------------------------


def _draw(found, table, rows, width, group, tolerance, random_state):
    """Draw the sample of an audited table."""
    doubt, evenness = 1.0 - found.quality, EVENNESS[found.trust]
    n_covered = len(doubt)
    promised = float(doubt.mean())
    # The audit's estimate of the share that is wrong, for what is to be expected
    calm = np.clip(doubt * (found.noise_rate / promised if promised else 1.0), 0.0, 1.0)

    def expect(n):
        return _expected(doubt, calm, found.suspect, n, evenness)

    if width is not None:
        rows = _fewest(expect, width, FEWEST_ROWS, n_covered)
    rows = min(rows, n_covered)
    stratum, counts = cut_strata(doubt, found.suspect, rows, evenness)
    blocks = [found.evidence.codes] if found._kind == "classes" else []
    if group is not None:
        places = find_column(found.evidence.table, group)
        if group == found.target:
            raise FileError(f"{said(group)} is the target: it cannot name groups too")
        blocks.append(read_group_column(found.evidence.table, places)[1])
    block = np.zeros(n_covered, int)
    for codes in blocks:
        block = block * (int(codes.max()) + 1) + codes
    drawn = draw_rows(stratum, counts, block, np.random.default_rng(random_state))
    letters = np.full(table.n_rows, NOT_COVERED, dtype="U1")
    letters[found.row - 1] = np.array(list(STRATA))[stratum]
    listed = sorted({STRATA[h] for h in np.unique(stratum[found.suspect])})
    plan = Plan(
        name=table.name,
        target=found.target,
        kind=found._kind,
        table=found.fingerprint[0].partition("-")[0],
        labels=labels_print(table.columns[find_column(table, found.target)]),
        strata="".join(letters.tolist()),
        listed="".join(listed),
        rows=tuple(found.row[drawn].tolist()),
        group=group,
        tolerance=None if tolerance is None else str(tolerance),
        random_state=random_state,
        drawn=_today(),
        robell=__version__,
    )
    sizes = sorted({rows, max(FEWEST_ROWS, rows // 2), min(2 * rows, n_covered)})
    expected = tuple(expect(n) for n in sorted(sizes, key=lambda n: n != rows))
    hidden = frozenset({found.target, *found.leaks})
    return CheckSample(table.name, found.target, np.array(plan.rows), expected, plan, table, hidden)


def _expected(doubt, calm, listed, n_rows, evenness):
    """Return the interval to expect of so many rows, were the estimate of every row right."""
    stratum, counts = cut_strata(doubt, listed, n_rows, evenness)
    sizes = np.bincount(stratum).astype(float)
    found = interval_of_total(
        sizes, counts.astype(float), counts * np.bincount(stratum, calm) / sizes
    )
    n, share = len(doubt), float(calm.mean())

    def at_random(rows):
        return interval_of_total(*np.array([[n], [rows], [rows * share]], np.float64))

    simple = _fewest(at_random, found.high - found.low, n_rows // 8, n)
    return Expected(int(counts.sum()), found.low / n, found.high / n, simple)


def _fewest(interval_of, width, least, most):
    """Return the fewest rows, within bounds, whose interval is not wider than a width."""

    def is_enough(rows):
        found = interval_of(rows)
        return found.high - found.low <= width

    return least + bisect_left(range(least, most), True, key=is_enough)


# -- reading back ----------------------------------------------------------------------


def _each(checked):
    """Return the sheets given, one or several."""
    is_one = isinstance(checked, str | os.PathLike) or hasattr(checked, "columns")
    return [checked] if is_one else list(checked)


def _find_plan(sheets):
    """Return the plan of a sheet: of the samples beside it, the one that it names."""
    paths = [Path(one) for one in sheets if isinstance(one, str | os.PathLike)]
    if not paths:
        raise FileError(
            "checked: give the path of the sheet, or ask the CheckSample that was drawn"
        )
    sheet = _read_sheet(paths[0])
    name = next(iter(sheet.columns[find_column(sheet, "sample")].cells), None) or ""
    spoilt = None
    for path in sorted(paths[0].parent.glob("*-sample.json")):
        try:
            plan = read_plan(path)
        except FileError as error:  # perhaps of another table
            spoilt = spoilt or error
            continue
        if plan.id == name:
            return plan
    if spoilt:
        raise spoilt
    raise FileError(
        f"{paths[0]}: the plan of its sample is missing: put the file NAME-sample.json that was "
        "written with the sheet beside it"
    )


def read_plan(path):
    """Read the plan of a sample; raise where it is none, or was changed."""
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        name = values.pop("sample")
        plan = Plan(**values | {"rows": tuple(values["rows"])})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FileError(f"{path}: is no plan of a sample") from error
    if plan.id != name:
        raise FileError(f"{path}: was changed since the sample was drawn")
    return plan


def _read_sheet(source):
    """Read a sheet, filled in or not, as a table."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not path.is_file():
            raise FileError(f"{path}: there is no such file")
        is_csv = path.name.lower().endswith((".csv", ".tsv", ".txt"))
        encoding = encoding_of(path, "cp1252") if is_csv else "utf-8"
        sheet = read_table(path, "fingerprint", encoding=encoding)
    else:
        sheet = read_table(source)
    names = {column.name for column in sheet.columns}
    for name in NEEDED:
        if name not in names:
            raise FileError(
                f"{sheet.name}: there is no column {said(name)}; a sheet to check is "
                "NAME-sample.csv with its column 'true' filled in, all its columns kept"
            )
    return sheet


def _certificate(plan, table, checked, target=None):
    """Return the certificate of a table by the answers of its sheets."""
    if target not in (None, plan.target):
        raise FileError(
            f"{table.name}: the sample was drawn for the column {said(plan.target)}, not for "
            f"{said(target)}"
        )
    place = find_column(table, plan.target)
    prints = fingerprints(table, place)
    texts = _answers(plan, table, prints, _each(checked))
    problem = ""
    if table.n_rows != len(plan.strata):
        problem = f"it has {counted(table.n_rows, 'row')}, and had {len(plan.strata):,}"
    elif prints[0].partition("-")[0] != plan.table:
        problem = "cells of rows that are not in the sample are different"
    elif labels_print(table.columns[place]) != plan.labels:
        problem = "its labels are different, or its rows stand in another order"
    if problem:
        raise FileError(
            f"{table.name}: has changed since the sample was drawn: {problem}; draw a new sample"
        )
    letters = np.array(list(plan.strata))
    covered = np.flatnonzero(letters != NOT_COVERED)
    _, stratum = np.unique(letters[covered], return_inverse=True)
    at = np.searchsorted(covered, np.array(plan.rows) - 1)
    audited = table.take(covered)
    told, wrong, right, given, classes = _compared(plan, audited, at, texts)
    listed, everywhere = np.isin(letters[covered], list(plan.listed)), np.ones(len(covered), bool)

    def sums(wrong: Any, inside: Any = everywhere) -> tuple[Any, Any, Any]:
        return domain_strata(stratum, at, wrong, inside)

    # Rows that could not be told count as right for the lower end and as wrong for the upper: of
    # how many are wrong in a part of the table, and of the share of these that the list holds.
    def total(inside, wrong):
        low = high = interval_of_total(*sums(wrong, inside))
        if not told.all():
            high = interval_of_total(*sums(wrong | ~told, inside))
        return _between(low, high, float(inside.sum()))

    def part(name, inside, wrong):
        n, drawn = int(inside.sum()), inside[at]
        share = Interval(*(value / n for value in total(inside, wrong)))
        return Part(name, n, int(drawn.sum()), int((drawn & wrong).sum()), share)

    recall = None
    on_list: Any = np.bincount(stratum, listed) > 0
    if on_list.any() and wrong.any():
        ends = wrong | (~told & ~listed[at]), wrong | (~told & listed[at])
        low, high = (interval_of_share(*sums(one), on_list) for one in ends)
        recall = _between(low, high)
    if plan.kind == "numbers":
        ways = [part(name, everywhere, right == name) for name in ("too small", "too large")]
        ways = [one for one in ways if one.found]
    else:
        pairs = sorted(set(zip(given[at][wrong].tolist(), right[wrong].tolist(), strict=True)))
        ways = [
            part(f"{b}, labelled {a}", given == a, wrong & (given[at] == a) & (right == b))
            for a, b in pairs
        ]
        ways.sort(key=lambda one: -one.share.about * one.rows)
    groups: list[Part] = []
    if plan.group is not None:
        names, group, _ = read_group_column(audited, find_column(audited, plan.group))
        groups = [part(str(name), group == g, wrong) for g, name in enumerate(names)]
    whole = total(everywhere, wrong)
    as_planned = ("target", "kind", "group", "tolerance", "random_state", "drawn")
    return Certificate(
        **{name: getattr(plan, name) for name in as_planned},
        name=table.name,
        n_rows=table.n_rows,
        n_covered=len(covered),
        n_checked=len(at),
        n_untold=int((~told).sum()),
        n_found=int(wrong.sum()),
        wrong=whole,
        share=Interval(*(value / len(covered) for value in whole)),
        n_suspects=int(listed.sum()),
        recall=recall,
        by_class=tuple(part(str(name), given == name, wrong) for name in classes),
        by_direction=tuple(ways),
        by_group=tuple(groups),
        fingerprint=f"{plan.table}-{plan.labels}",
        sample=plan.id,
        dated=_today(),
    )


def _between(lower, upper, most=np.inf):
    """Return the interval from the lower end of one to the upper end of another, at the most."""
    about = 0.5 * (lower.about + upper.about)
    return Interval(*(min(value, most) for value in (about, lower.low, upper.high)))


def _answers(plan, table, prints, sheets):
    """Return the answer to every row of the sample, and where; raise where one is missing."""
    place_of = {row: k for k, row in enumerate(plan.rows)}
    answers: dict[int, tuple[str, str]] = {}
    first_empty, where = "", ""
    for source in sheets:
        sheet, seen = _read_sheet(source), set()
        cells = {name: sheet.columns[find_column(sheet, name)].cells for name in NEEDED}
        for k in range(len(sheet.rows)):
            row_cell, answer, sample, print_ = (cells[name][k] or "" for name in NEEDED)
            where = f"{sheet.name}: {sheet.where(k)}"
            if sample != plan.id:
                raise FileError(f"{where}: belongs to another sample, {said(sample, 20)}")
            row = row_number(row_cell, where)
            if row not in place_of:
                raise FileError(f"{where}: row {row:,} is not in the sample")
            if row in seen:
                raise FileError(f"{where}: row {row:,} stands there twice")
            seen.add(row)
            own = read_print(print_, where)[1]
            if row > len(prints) or own != read_print(prints[row - 1], where)[1]:
                raise FileError(
                    f"{table.name}: row {row:,} is not the row that was drawn ({where}): the table "
                    "has changed, or this is the sheet of another one; draw a new sample"
                )
            if not answer:
                first_empty = first_empty or where
                continue
            earlier, there = answers.setdefault(row, (answer, where))
            if folded(earlier) != folded(answer):
                raise FileError(
                    f"{where}: row {row:,} is {said(answer, 30)}, and {said(earlier, 30)} in "
                    f"{there}: agree on one"
                )
    missing = [row for row in plan.rows if row not in answers]
    if missing:
        n = counted(len(missing), "row")
        has = "has" if len(missing) == 1 else "have"
        first = first_empty or f"row {min(missing):,}, which is in no sheet"
        raise FileError(
            f"{n} of {len(plan.rows):,} {has} no answer yet (the first: {first}): a certificate "
            "needs all of them; write ? where the right label cannot be told"
        )
    return [answers[row] for row in plan.rows]


def _compared(plan, audited, at, texts):
    """Return which rows were told, which are wrong, their right labels, all labels, the classes."""
    told = np.array([folded(text) != UNTOLD for text, _ in texts])
    place = find_column(audited, plan.target)
    if plan.kind == "numbers":
        target = read_number_target(audited, place)
        answers = floats_written([text for text, _ in texts], target.how)
        for value, (text, where), is_told in zip(answers, texts, told, strict=True):
            if is_told and not np.isfinite(value):
                raise FileError(
                    f"{where}: {said(text, 30)} is not written as the numbers in "
                    f"{said(plan.target)}"
                )
        limit, is_relative = _read_tolerance(plan.tolerance)
        off = np.where(told, target.values[at] - answers, 0.0)
        wrong = told & (np.abs(off) > (limit * np.abs(answers) if is_relative else limit))
        too = np.where(off > 0, "too large", "too small")
        right = np.where(wrong, too, "").astype(object)
        return told, wrong, right, np.full(len(audited.rows), "", object), ()
    labels = read_labels(audited, place)
    given = np.array(labels.classes, object)[labels.codes]
    spellings = Spellings(given.tolist())
    right = given[at].copy()
    for k, (text, where) in enumerate(texts):
        if told[k]:
            is_other = folded(text) == OTHER and spellings.find(text) is None
            hint = "; write other where none of its labels is right"
            right[k] = OTHER if is_other else spellings.spelt(text, where, hint)
    return told, right != given[at], right, given, tuple(labels.classes)


def _read_tolerance(tolerance):
    """Return the tolerance as a number, and whether it is a share of the right number."""
    text = str(tolerance).strip()
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0.0 <= value < np.inf:
        raise FileError(
            f"tolerance must be a number such as 0.5, or a share such as 5%; got {said(text, 20)}"
        )
    is_share = text.endswith("%")
    return (value / 100.0 if is_share else value), is_share


def _today():
    return datetime.datetime.now(datetime.UTC).date().isoformat()
