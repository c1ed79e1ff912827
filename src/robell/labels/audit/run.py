"""The audit: a file or a data frame in, every label judged, and a report written."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import said
from robell.labels.audit.against import compare_with
from robell.labels.audit.findings import contradictions
from robell.labels.audit.groups import read_group_column
from robell.labels.audit.numeric_run import audit_numbers, finish
from robell.labels.audit.output import name_of, output_paths, require_whole
from robell.labels.audit.prepare import (
    dropped_columns,
    dropped_notes,
    fewer_rows,
    judging_bytes,
    nothing_left,
    prepare_columns,
)
from robell.labels.audit.reasons import reasons_of_classes, with_reasons
from robell.labels.audit.result import AuditResult, Evidence, Groups
from robell.labels.audit.reviewed import read_reviewed, with_review
from robell.labels.groups import judge_by_group
from robell.labels.judge import judge_labels
from robell.labels.review.fingerprint import fingerprints
from robell.labels.trust import measure_trust
from robell.tables.budget import Budget
from robell.tables.columns import ColumnNote, missing_cells
from robell.tables.leaks import find_leak
from robell.tables.number_target import KINDS, holds_numbers
from robell.tables.read import read_table
from robell.tables.sample import MAX_ROWS
from robell.tables.target import LEAST_ROWS, find_column, read_labels

SEEDS = 1 << 32  # as many as scikit-learn knows
SCORES_A_CLASS = 30  # numbers that are held for every row while it is judged


def audit(
    data,
    target,
    *,
    out=None,
    kind="auto",
    drop=(),
    group=None,
    against=None,
    top=25,
    max_rows=MAX_ROWS,
    encoding="utf-8",
    delimiter=None,
    reviewed=(),
    random_state=0,
    memory_limit=None,
):
    r"""Find the rows of a table whose labels, classes or numbers, are probably wrong.

    Columns are turned into numbers in the usual way: medians for missing numbers, one column for
    each level of a category, identifiers and constants left out; the result says what was done to
    each. Then every label is judged as :func:`find_label_issues` does it, or every number as
    :func:`find_target_issues` does it, and rows are hidden and predicted to find out how far the
    judgement can be trusted.

    Parameters
    ----------
    data : path-like or data frame
        CSV, also gzipped, Parquet (extra ``files``), or a frame of pandas or polars.
    target : str
        The column of labels.
    out : path-like, default=None
        Where to write report and table, as :meth:`AuditResult.write` takes it; by default
        nothing is written.
    kind : {"auto", "classes", "numbers"}, default="auto"
        What the target holds. By default numbers are classes where there are few different ones,
        or codes 0, 1, 2, ... without a gap and each in many rows; others are measured numbers, and
        the report says so.
    drop : iterable of str, default=()
        Columns not to judge by.
    group : str, default=None
        A column that names the supplier, month or site of each row; many dates are taken together
        by month. Labels are judged by the rates of their own group and not by this column, and the
        result says which groups differ more than by chance.
    against : path-like or data frame, default=None
        An earlier table with the same columns and labels: the result says whether labels are given
        differently now, among rows of the same values.
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
    result : AuditResult or NumberAuditResult
        Every label judged, and how far to trust it; for a target of numbers every number.

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
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    require_whole("max_rows", max_rows, LEAST_ROWS)
    require_whole("random_state", random_state, 0, SEEDS - 1)
    if out is not None:
        output_paths(out, name_of(data), source=data)  # fails before the work, not after it
    budget = Budget(memory_limit)
    how = {"encoding": encoding, "delimiter": delimiter, "budget": budget}
    table = read_table(data, target, **how, max_rows=max_rows, seed=random_state)
    place = find_column(table, target)
    decided = read_reviewed(reviewed, target)
    asked = _Asked(dropped_columns(table, drop, target), _group_place(table, group, place))
    if _is_numeric(table, place, kind):
        if group is not None or against is not None:
            what = "groups" if group is not None else "tables"
            raise FileError(f"{said(target)} holds numbers: {what} are compared for classes only")
        result = audit_numbers(table, place, asked.drop, random_state, budget, kind == "numbers")
        result = finish(result, _prints_of(table, place, result), decided)
    else:
        result = _audit(table, place, asked, random_state, budget)
        result = with_review(replace(result, fingerprint=_prints_of(table, place, result)), decided)
        result = with_reasons(result, reasons_of_classes)
        if against is not None:
            old = read_table(against, target, **how, max_rows=max_rows, seed=random_state)
            left_out = {*asked.drop, result.group_column}
            compared = compare_with(old, table, target, left_out, random_state, budget)
            result = replace(result, against=compared)
    return result if out is None else result.write(out, top=top)


def _is_numeric(table, place, kind):
    """Say whether the target is to be judged as numbers."""
    column = table.columns[place]
    if kind == "auto":
        return holds_numbers(column.cells, column.kind, table.delimiter)
    return kind == "numbers"


def _prints_of(table, place, result):
    return fingerprints(table, place)[np.searchsorted(table.rows, result.row)]


class _Asked(NamedTuple):
    """Which columns are left out, and the place of the one that names groups, or None."""

    drop: tuple[str, ...]
    group: int | None


def _group_place(table, group, target_place):
    """Return the place of the column of groups, None without one."""
    if group is None:
        return None
    place = find_column(table, group)
    if place == target_place:
        raise FileError(f"{said(group)} is the target: it cannot name groups too")
    return place


def _audit(table, place, asked, random_state, budget):
    labels = read_labels(table, place)
    audited = table.take(labels.kept)
    left_out = {*asked.drop, audited.columns[place].name}
    grouping = None if asked.group is None else read_group_column(audited, asked.group)
    if grouping is not None:
        left_out.add(audited.columns[asked.group].name)
    features = [column for column in audited.columns if column.name not in left_out]

    def leak_of(prepared):
        return find_leak(prepared, labels.codes, len(labels.classes))

    used, notes, leaks = prepare_columns(audited, features, leak_of, budget)
    notes += dropped_notes(asked.drop)
    if grouping is not None:
        column = audited.columns[asked.group]
        gone = int(missing_cells(column).sum())
        notes += (ColumnNote(column.name, "group", gone, grouping[2]),)
    if not used:
        raise FileError(nothing_left(table.name, notes))
    n_columns = sum(column.matrix.shape[1] for column in used)
    fewer = fewer_rows(table, len(audited.rows), n_columns, random_state)
    if fewer is not None:
        return _audit(fewer, place, asked, random_state, budget)
    scores = SCORES_A_CLASS * len(labels.classes)
    budget.require(table.name, judging_bytes(len(audited.rows), n_columns, scores))
    matrix = np.column_stack([column.matrix for column in used])
    judgement, trust, noise = _judge(matrix, labels.codes, random_state, grouping)
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
        groups=noise and Groups(audited.columns[asked.group].name, grouping[1], noise),
    )
    return _result(table, table.columns[place].name, evidence, notes)


def _judge(matrix, codes, random_state, grouping=None):
    """Judge the labels, and the groups; where nothing can be trusted at all, suspect nobody."""
    judgement, noise = judge_labels(matrix, codes, random_state=random_state), None
    if grouping is not None:
        judgement, noise = judge_by_group(judgement, codes, *grouping[:2])
    trust = measure_trust(judgement, matrix, codes, random_state)
    if trust.word == "none":
        judgement = replace(judgement, suggested=codes, suspect=np.zeros(len(codes), bool))
    return judgement, trust, noise


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
        groups=evidence.groups and evidence.groups.noise,
        group_column=evidence.groups.column if evidence.groups else "",
        evidence=evidence,
    )
