"""The audit: a file or a data frame in, every label judged, and a report written."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from robell._core.tools.files import FileError
from robell.labels.audit.findings import contradictions
from robell.labels.audit.output import output_paths
from robell.labels.audit.reasons import with_reasons
from robell.labels.audit.result import AuditResult, Evidence, require_whole
from robell.labels.audit.reviewed import read_reviewed, with_review
from robell.labels.judge import judge_labels
from robell.labels.review.fingerprint import fingerprints
from robell.labels.trust import measure_trust
from robell.report.text import counted, said
from robell.tables.budget import Budget
from robell.tables.columns import ColumnNote, prepare_column
from robell.tables.leaks import find_leak
from robell.tables.read import read_table
from robell.tables.sample import MAX_ROWS
from robell.tables.target import LEAST_ROWS, find_column, read_labels

MOST_COLUMNS = 2_000  # of numbers, categories spread out
SEEDS = 1 << 32  # as many as scikit-learn knows
PREPARED_CELLS = 40_000_000  # rows x columns of numbers


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
    reviewed=(),
    random_state=0,
    memory_limit=None,
):
    r"""Find the rows of a table whose labels are probably wrong.

    Columns are turned into numbers in the usual way: medians for missing numbers, one column for
    each level of a category, identifiers and constants left out; the result says what was done to
    each. Then every label is judged as :func:`find_label_issues` does it, and rows are hidden and
    predicted to find out how far the judgement can be trusted.

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
        How many suspect rows the report shows.
    max_rows : int, default=200000
        Of a larger table, a random sample of so many rows is audited; of one with more than ten
        million cells, fewer.
    encoding : str, default="utf-8"
        Encoding of a text file.
    delimiter : str, default=None
        The sign between the cells of a text file; found from its first lines when None.
    reviewed : path-like or iterable of path-like, default=()
        Earlier reviews of rows of this table, as :func:`apply_review` takes and writes them:
        labels that were decided upon are taken as right, and are never suspect again.
    random_state : int, default=0
        Seed of the random layers, folds and samples: the same number gives the same result.
    memory_limit : int or str, default=None
        How much the audit may take in addition to what the process holds already, as bytes or as
        ``"2GiB"``: a table that would take more, by estimate, is refused. By default there is no
        limit.

    Returns
    -------
    result : AuditResult
        Every label judged, and how far to trust it.

    Raises
    ------
    FileError
        A ValueError of one line that says why the table cannot be audited.

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
    require_whole("max_rows", max_rows, LEAST_ROWS)
    require_whole("random_state", random_state, 0, SEEDS - 1)
    if out is not None:
        output_paths(out, _name_of(data), source=data)  # fails before the work, not after it
    budget = Budget(memory_limit)
    how = {"encoding": encoding, "delimiter": delimiter, "budget": budget}
    table = read_table(data, target, **how, max_rows=max_rows, seed=random_state)
    place = find_column(table, target)
    decided = read_reviewed(reviewed, target)
    result = _audit(table, place, _dropped(table, drop, target), random_state, budget)
    prints = fingerprints(table, place)[np.searchsorted(table.rows, result.row)]
    result = with_reasons(with_review(replace(result, fingerprint=prints), decided))
    return result if out is None else result.write(out, top=top)


def _dropped(table, drop, target):
    """Return the names of the columns to leave out; raise where there is no such column."""
    drop = tuple(dict.fromkeys((drop,) if isinstance(drop, str) else drop))
    known = {column.name for column in table.columns}
    for name in drop:
        if name not in known:
            find_column(table, name)  # raises, and names what is near
        if name == target:
            raise FileError(f"{said(target)} is the target: it cannot be dropped")
    return drop


def _name_of(data):
    return Path(data).name if isinstance(data, str | os.PathLike) else "table"


def _audit(table, place, drop, random_state, budget):
    labels = read_labels(table, place)
    audited = table.take(labels.kept)
    left_out = {*drop, audited.columns[place].name}
    features = [column for column in audited.columns if column.name not in left_out]
    used, notes, leaks = _prepare(audited, features, labels, budget)
    notes += tuple(ColumnNote(name, "left out", 0, "left out, as asked") for name in drop)
    if not used:
        raise FileError(_nothing_left(table.name, notes))
    n_columns = sum(column.matrix.shape[1] for column in used)
    most = PREPARED_CELLS // n_columns
    if len(audited.rows) > most:  # the same again with fewer rows
        chosen = np.random.default_rng(random_state).choice(len(table.rows), most, replace=False)
        return _audit(table.take(np.sort(chosen)), place, drop, random_state, budget)
    budget.require(table.name, _judging(len(audited.rows), n_columns, len(labels.classes)))
    matrix = np.column_stack([column.matrix for column in used])
    judgement, trust = _judge(matrix, labels.codes, random_state)
    evidence = Evidence(
        table=audited,
        used=used,
        matrix=matrix,
        labels=labels,
        judgement=judgement,
        trust=trust,
        leaks=leaks,
        conflicts=contradictions(used, labels.codes),
        n_read=len(table.rows),
        random_state=random_state,
    )
    return _result(table, table.columns[place].name, evidence, notes)


def _judging(n_rows, n_columns, n_classes):
    """Return about how many bytes the columns and their judgement take, as measured."""
    cells = 5 * n_rows * n_columns + 30 * n_rows * n_classes  # columns, copies of them, and scores
    return 8 * (cells + 24 * n_columns**2) + (100 << 20)  # Gram matrices; blocks and the page


def _judge(matrix, codes, random_state):
    """Judge the labels; where the judgement cannot be trusted at all, suspect nobody."""
    judgement = judge_labels(matrix, codes, random_state=random_state)
    trust = measure_trust(judgement, matrix, codes, random_state)
    if trust.word == "none":
        judgement = replace(judgement, suggested=codes, suspect=np.zeros(len(codes), bool))
    return judgement, trust


def _prepare(table, features, labels, budget):
    """Return the columns to judge by, notes on all, and the columns that repeat the target."""
    used, notes, leaks, n_columns = [], [], [], 0
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
            n_columns += prepared.matrix.shape[1]
            budget.require(table.name, 8 * len(table.rows) * n_columns)
        if n_columns > MOST_COLUMNS:  # before the rest of a wide table is prepared for nothing
            raise FileError(
                f"{table.name}: its {counted(len(features), 'column')} come to more than "
                f"{MOST_COLUMNS:,} once categories are spread out, which is all that the audit "
                "takes: leave some out with",
                parameter="drop",
            )
    return tuple(used), tuple(notes), tuple(leaks)


def _nothing_left(name, notes):
    if not notes:
        return f"{name}: there is no column besides the target to judge by"
    reasons = "; ".join(f"{said(note.name, 30)} {note.done}" for note in notes[:3])
    more = f"; and {len(notes) - 3:,} more" if len(notes) > 3 else ""
    return f"{name}: no column is left to judge by: {reasons}{more}"


def _result(table, target, evidence, notes):
    judgement, trust, labels = evidence.judgement, evidence.trust, evidence.labels
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
        expected_wrong=trust.expected_wrong,
        separation=trust.separation,
        trust=trust.word,
        contradictions=tuple(rows[group] for group in evidence.conflicts),
        leaks=tuple(leak.name for leak in evidence.leaks),
        set_aside=labels.set_aside,
        n_unlabelled=sum(labels.unlabelled.values()),
        columns=notes,
        reviewed=np.zeros(len(rows), bool),
        fingerprint=np.full(len(rows), "", object),
        evidence=evidence,
    )
