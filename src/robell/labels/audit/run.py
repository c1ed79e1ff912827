"""From a file or a frame to judged labels."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from robell._core.tools.files import FileError, write_atomically
from robell.labels.audit.findings import Leak, contradictions, find_leak
from robell.labels.audit.output import output_paths, table_csv
from robell.labels.audit.report import report_page
from robell.labels.judge import Judgement, judge
from robell.report.text import said
from robell.tables.columns import ColumnNote, Used, prepare_column
from robell.tables.read import MAX_ROWS, RawTable, read_table
from robell.tables.target import LEAST_ROWS, Labels, find_column, read_labels

MOST_COLUMNS = 2_000  # of the table of numbers
PREPARED_CELLS = 40_000_000  # rows x columns of it


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the report shows beside the result itself."""

    table: RawTable
    used: tuple[Used, ...]
    matrix: np.ndarray
    codes: np.ndarray
    judgement: Judgement
    labels: Labels
    leaks: tuple[Leak, ...]
    conflicts: tuple[np.ndarray, ...]
    n_read: int
    random_state: int

    @property
    def is_sample(self):
        """Whether the source has more rows than were looked at."""
        return self.n_read < self.table.n_rows


@dataclass(frozen=True, eq=False)
class AuditResult:
    """Labels judged, row by row.

    Attributes
    ----------
    name : str
        The file's name, ``"table"`` for a data frame.
    target : str
        The column of labels.
    classes : tuple of str
        The labels that were judged.
    n_rows : int
        Rows of the file.
    row : array of shape (n,)
        The audited rows, counted from 1; ``row - 1`` is the place in a data frame.
    line : array of shape (n,) or None
        The line of a text file at which each begins.
    given, suggested : arrays of str of shape (n,)
        The label each row has, and the likeliest one.
    quality : array of shape (n,)
        The probability that the given label is right.
    probability : array of shape (n, n_classes)
        The probability of each class, the given label taken into account.
    suspect : array of bool of shape (n,)
        Rows whose likeliest label is not the given one; none where `trust` is ``"none"``.
    noise_matrix : array of shape (n_classes, n_classes)
        ``[i, j]``: the share of rows of true class i that are labelled j, as estimated.
    noise_rate : float
        The share of wrong labels, as estimated: the mean of ``1 - quality``.
    expected_wrong : float
        How many of the suspects are really wrong, as estimated. Where the classes overlap, less
        than their qualities promise.
    separation : float
        How well the columns tell the given labels of unseen rows apart: the area under the ROC
        curve, each class against the others, their mean. 0.5 is chance.
    trust : {"good", "fair", "weak", "none"}
        How far the suspects can be trusted, or that there are none; ``"none"``: no row can be
        called suspect.
    contradictions : tuple of arrays
        Groups of rows, by number, that agree in every used column and differ in the label.
    leaks : tuple of str
        Columns that repeat the target, and were left out for that.
    set_aside : dict of str to int
        Classes of fewer than five rows, which are not judged, and their sizes.
    n_unlabelled : int
        Rows without a label.
    columns : tuple of ColumnNote
        What was done to each column.
    html, csv : Path or None
        The files that were written.
    evidence : Evidence
        What the report is made of.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import audit
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat(["ham", "spam"], 100)
    >>> size = rng.normal(np.repeat([0.0, 5.0], 100))
    >>> frame = pd.DataFrame({"size": size, "links": rng.normal(size), "label": kind})
    >>> frame.loc[7, "label"] = "spam"
    >>> result = audit(frame, "label")
    >>> int(result.row[result.quality.argmin()])
    8
    """

    name: str
    target: str
    classes: tuple[str, ...]
    n_rows: int
    row: np.ndarray
    line: np.ndarray | None
    given: np.ndarray
    suggested: np.ndarray
    quality: np.ndarray
    probability: np.ndarray
    suspect: np.ndarray
    noise_matrix: np.ndarray
    noise_rate: float
    expected_wrong: float
    separation: float
    trust: str
    contradictions: tuple[np.ndarray, ...]
    leaks: tuple[str, ...]
    set_aside: dict[str, int]
    n_unlabelled: int
    columns: tuple[ColumnNote, ...]
    html: Path | None = None
    csv: Path | None = None
    evidence: Evidence | None = field(default=None, repr=False)

    @property
    def order(self):
        """Places of the rows, the least probable labels first; of the file where none is known."""
        if self.trust == "none":
            return np.arange(len(self.row))
        return np.lexsort((self.row, self.quality))

    def write(self, out=None, *, top=25, command=""):
        """Write the report and the table, each whole or not at all.

        Parameters
        ----------
        out : path-like, default=None
            A folder, or the beginning of the files' names; the current folder when None.
        top : int, default=25
            Suspect rows the report shows.
        command : str, default=""
            What the report says it was made by.

        Returns
        -------
        result : AuditResult
            The same with `html` and `csv`: ``<name>-audit.html`` and ``<name>-audit.csv``.
        """
        if isinstance(top, bool) or not isinstance(top, int) or top < 0:
            raise ValueError(f"top must be a whole number from 0 on, got {top!r}")
        html, csv = output_paths(out, self.name)
        page = report_page(self, top=top, csv_name=csv.name, command=command)
        write_atomically(csv, table_csv(self))
        write_atomically(html, page)
        return replace(self, html=html, csv=csv)


def audit(
    data,
    target,
    *,
    out=None,
    drop=(),
    top=25,
    max_rows=MAX_ROWS,
    encoding="utf-8",
    delimiter=None,
    random_state=0,
):
    r"""Find the rows of a table whose labels are probably wrong.

    Columns are made numbers in the ordinary way, and :class:`AuditResult` says how: medians for
    missing numbers, one column a level for categories, identifiers and constants left out. Then
    :class:`robell.models.noise_robust.NoiseRobustRVFLClassifier` judges every label by the others.

    Parameters
    ----------
    data : path-like or data frame
        CSV, also gzipped, Parquet (extra ``files``), or a frame of pandas or polars.
    target : str
        The column of labels.
    out : path-like, default=None
        Where to write report and table, as :meth:`AuditResult.write` takes it; by default
        nothing is written.
    drop : iterable of str, default=()
        Columns not to judge by.
    top : int, default=25
        Suspect rows the report shows.
    max_rows : int, default=200000
        Of a larger table, a random sample of so many rows is audited; of one with more than ten
        million cells, fewer.
    encoding : str, default="utf-8"
        Of a text file.
    delimiter : str, default=None
        The sign that sets cells of a text file apart; found out when None.
    random_state : int, default=0
        Of the random layers, folds and samples. The same number gives the same result.

    Returns
    -------
    result : AuditResult
        Labels judged, row by row.

    Raises
    ------
    FileError
        A ValueError of one line, where the table cannot be audited.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from robell import audit
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "plants.csv"
    ...     rows = [f"{k % 7 + 9 * (k % 2)};{'fern' if k % 2 else 'moss'}" for k in range(80)]
    ...     _ = path.write_text("\n".join(["height;plant", *rows, "12;moss"]))
    ...     result = audit(path, "plant")
    >>> int(result.line[result.order[0]])
    82
    """
    _require_rows(max_rows)
    if out is not None:
        output_paths(out, _name_of(data), source=data)  # found out before the work, not after it
    table = read_table(
        data,
        target,
        encoding=encoding,
        delimiter=delimiter,
        max_rows=max_rows,
        seed=random_state,
    )
    result = _audit(table, find_column(table, target), _dropped(table, drop, target), random_state)
    return result if out is None else result.write(out, top=top)


def _require_rows(max_rows):
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < LEAST_ROWS:
        raise ValueError(f"max_rows must be a whole number from {LEAST_ROWS} on, got {max_rows!r}")


def _dropped(table, drop, target):
    """Return the names of columns to leave out, each of which there must be."""
    drop = (drop,) if isinstance(drop, str) else tuple(drop)
    for name in drop:
        if find_column(table, name) == find_column(table, target):
            raise FileError(f"{said(target)} is the target: it cannot be dropped")
    return tuple(dict.fromkeys(drop))


def _name_of(data):
    return Path(data).name if isinstance(data, str | os.PathLike) else "table"


def _audit(table, place, drop, random_state):
    labels = read_labels(table, place)
    audited = table.take(labels.kept)
    features = [
        column
        for column in audited.columns
        if column.name not in drop and column is not audited.columns[place]
    ]
    used, notes, leaks = _prepare(audited, features, labels)
    notes += tuple(ColumnNote(name, "left out", 0, "left out, as asked") for name in drop)
    if not used:
        raise FileError(_nothing_left(table.name, notes))
    n_columns = sum(column.matrix.shape[1] for column in used)
    if n_columns > MOST_COLUMNS:
        raise FileError(
            f"{table.name}: {n_columns:,} columns once categories are spread out; the audit takes "
            f"{MOST_COLUMNS:,}: leave some out with --ignore"
        )
    most = PREPARED_CELLS // n_columns
    if len(audited.rows) > most:  # the same again with fewer rows
        chosen = np.random.default_rng(random_state).choice(len(table.rows), most, replace=False)
        return _audit(table.take(np.sort(chosen)), place, drop, random_state)
    matrix = np.column_stack([column.matrix for column in used])
    judgement = judge(matrix, labels.codes, len(labels.classes), random_state)
    conflicts = contradictions(used, labels.codes)
    evidence = Evidence(
        table=audited,
        used=used,
        matrix=matrix,
        codes=labels.codes,
        judgement=judgement,
        labels=labels,
        leaks=leaks,
        conflicts=conflicts,
        n_read=len(table.rows),
        random_state=random_state,
    )
    return _result(table, table.columns[place].name, evidence, notes)


def _prepare(table, features, labels):
    """Return the columns to judge by, notes on all, and the columns that repeat the target."""
    used, notes, leaks = [], [], []
    for column in features:
        prepared, note = prepare_column(column, table.rows, delimiter=table.delimiter)
        leak = prepared and find_leak(prepared, labels.codes, len(labels.classes))
        if leak:
            leaks.append(leak)
            why = f"left out: repeats the target in {100 * leak.agreement:.4g} % of the rows"
            prepared, note = None, replace(note, kind="left out", done=why)
        notes.append(note)
        if prepared is not None:
            used.append(prepared)
    return tuple(used), tuple(notes), tuple(leaks)


def _nothing_left(name, notes):
    if not notes:
        return f"{name}: there is no column but the target to judge by"
    reasons = "; ".join(f"{said(note.name, 30)} {note.done}" for note in notes[:3])
    more = f"; and {len(notes) - 3:,} more" if len(notes) > 3 else ""
    return f"{name}: no column is left to judge by: {reasons}{more}"


def _result(table, target, evidence, notes):
    judgement, labels = evidence.judgement, evidence.labels
    names = np.array(labels.classes, dtype=object)
    rows = evidence.table.rows
    return AuditResult(
        name=table.name,
        target=target,
        classes=labels.classes,
        n_rows=table.n_rows,
        row=rows,
        line=evidence.table.lines,
        given=names[labels.codes],
        suggested=names[judgement.suggested],
        quality=judgement.quality,
        probability=judgement.probability,
        suspect=judgement.suspect,
        noise_matrix=judgement.noise_matrix,
        noise_rate=judgement.noise_rate,
        expected_wrong=judgement.expected_wrong,
        separation=judgement.separation,
        trust=judgement.trust,
        contradictions=tuple(rows[group] for group in evidence.conflicts),
        leaks=tuple(leak.name for leak in evidence.leaks),
        set_aside=labels.set_aside,
        n_unlabelled=sum(labels.unlabelled.values()),
        columns=notes,
        evidence=evidence,
    )
