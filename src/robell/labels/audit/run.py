"""The audit of any kind: a file or a data frame in, every label judged, and a report written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import said
from robell._tools.threads import calm_blas
from robell.labels.audit.annotators import (
    AnnotatorAudit,
    judge_annotators,
    read_one_a_line,
    read_side_by_side,
)
from robell.labels.audit.classes import AuditResult
from robell.labels.audit.compared import compare_with, read_group_column
from robell.labels.audit.numbers import NumberAuditResult
from robell.labels.audit.reasons import MOST_SUSPECTS
from robell.labels.audit.result import Evidence, output_paths, require_whole
from robell.labels.review.review import fingerprints, labels_print, read_reviews
from robell.labels.trust import estimate_wrong
from robell.tables.columns import ColumnNote, in_short, missing_cells
from robell.tables.leaks import prepare_columns
from robell.tables.read import MAX_ROWS, Budget, read_table
from robell.tables.target import KINDS, LEAST_ROWS, dropped_columns, find_column, holds_numbers

SEEDS = 1 << 32  # as many as scikit-learn knows
PREPARED_CELLS = 40_000_000  # rows x columns of numbers


@calm_blas
def audit(
    data: Any,
    target: str,
    *,
    out: str | os.PathLike[str] | None = None,
    kind: str = "auto",
    drop: Iterable[str] = (),
    group: str | None = None,
    against: Any = None,
    top: int | None = None,
    all_rows: bool = False,
    max_rows: int = MAX_ROWS,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    reviewed: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    random_state: int = 0,
    memory_limit: int | str | None = None,
) -> AuditResult | NumberAuditResult:
    r"""Find the rows of a table whose labels, classes or numbers, are probably wrong.

    Columns are turned into numbers: medians for missing numbers, one column for each level of a
    category, identifiers and constants left out; the result says what was done to each. Labels are
    judged as by :func:`find_label_issues`, numbers as by :func:`find_target_issues`. Then rows are
    hidden and predicted, to find out how far the judgement can be trusted.

    Parameters
    ----------
    data : path-like or data frame
        CSV, also gzipped, Parquet, or a frame of pandas or polars.
    target : str
        The column of labels.
    out : path-like, default=None
        Where to write report and table, as :meth:`AuditResult.write` takes it; by default
        nothing is written.
    kind : {"auto", "classes", "numbers"}, default="auto"
        What the target holds. By default numbers are classes where few differ, or where they are
        codes 0, 1, 2, ... without a gap, each in many rows. The report says which it was.
    drop : iterable of str, default=()
        Columns not to judge by.
    group : str, default=None
        A column that names the supplier, month or site of each row; many dates are taken by month.
        Labels are judged by the noise rate of their group, not by this column as such; the result
        says which groups differ by more than chance.
    against : path-like or data frame, default=None
        An earlier table with the same columns and labels: the result says whether labels are given
        differently now, among rows of the same values.
    top : int, default=None
        How many suspect rows the report asks about; all of them by default, 5,000 at most.
    all_rows : bool, default=False
        Whether the table that is written lists all rows rather than the suspects alone.
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
        How much more memory the audit may take, in bytes or as ``"2GiB"``: a table that would take
        more, by estimate, is refused. No limit by default.

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
    how = {"encoding": encoding, "delimiter": delimiter, "max_rows": max_rows}
    table, budget = _read_first(data, target, out, random_state, memory_limit, how)
    place = find_column(table, target)
    review = read_reviews(reviewed, target)
    left_out = dropped_columns(table, drop)
    if target in left_out:
        raise FileError(f"{said(target)} is the target: it cannot be dropped")
    group_place = None if group is None else find_column(table, group)
    group_name = "" if group is None else table.columns[group_place].name
    if group_place == place:
        raise FileError(f"{said(group)} is the target: it cannot name groups too")
    column = table.columns[place]
    numeric = kind == "numbers"
    if kind == "auto":
        numeric = holds_numbers(column.cells, column.kind, table.delimiter)
    if numeric and (group is not None or against is not None):
        what = "groups" if group is not None else "tables"
        raise FileError(f"{said(target)} holds numbers: {what} are compared for classes only")
    of_kind: Any = NumberAuditResult if numeric else AuditResult

    # The columns as numbers; of too many cells, once columns are spread out, a random part
    part, grouping = table, None
    while True:
        labels, codes, given, leak_of, tells, scores = of_kind._read(part, place)
        audited = part.take(labels.kept)
        notes = tuple(ColumnNote(one, "left out", 0, "left out, as asked") for one in left_out)
        features = [
            c for c in audited.columns if c.name not in {*left_out, column.name, group_name}
        ]
        if group_place is not None:
            names, place_of_row, done = read_group_column(audited, group_place)
            gone = int(missing_cells(audited.columns[group_place]).sum())
            notes += (ColumnNote(group_name, "group", gone, done),)
            grouping = group_name, names, place_of_row
        used, of_columns, leaks = prepare_columns(audited, features, leak_of, budget)
        notes = of_columns + notes
        if not notes:
            raise FileError(f"{table.name}: there is no column besides the target to judge by")
        if not used:
            raise FileError(f"{table.name}: no column is left to judge by: {in_short(notes)}")
        n_rows, n_columns = len(audited.rows), sum(one.matrix.shape[1] for one in used)
        most = PREPARED_CELLS // n_columns
        if n_rows <= most:
            break
        chosen = np.random.default_rng(random_state).choice(len(part.rows), most, replace=False)
        part = part.take(np.sort(chosen))
    # About how many bytes the judgement takes, as measured: columns, copies of them and scores;
    # Gram matrices; blocks and the page.
    cells = n_rows * (5 * n_columns + scores) + 24 * n_columns**2
    budget.require(table.name, 8 * cells + (100 << 20))
    matrix = np.column_stack([one.matrix for one in used])

    prints = fingerprints(table, place)[np.searchsorted(table.rows, audited.rows)]
    giveaways = tuple(filter(None, map(tells, used)))
    evidence = Evidence(
        name=column.name,
        labels=labels_print(part.columns[place]),
        table=audited,
        used=used,
        matrix=matrix,
        target=labels,
        given=given,
        codes=codes,
        leaks=leaks,
        giveaways=giveaways,
        n_read=len(part.rows),
        is_sample=len(part.rows) < table.n_rows,
        random_state=random_state,
        asked_for=kind != "auto",
    )
    decided = review.settles(prints, given, audited.rows)
    evidence, of_this_kind = of_kind._judged(evidence, decided, grouping)
    judgement, trust = evidence.judgement, evidence.trust
    among_suspects, everywhere = estimate_wrong(judgement, trust.worth)
    result = of_kind(
        name=table.name,
        target=column.name,
        n_rows=table.n_rows,
        row=audited.rows,
        line=audited.lines,
        leaks=tuple(leak.name for leak in leaks),
        leak_suspects=tuple(one.name for one in giveaways),
        columns=notes,
        p_value=trust.p_value,
        trust=trust.word,
        quality=judgement.quality,
        suspect=judgement.suspect,
        expected_wrong=among_suspects.about,
        expected_wrong_range=among_suspects[1:],
        noise_rate=everywhere.about / n_rows,
        noise_rate_range=(everywhere.low / n_rows, everywhere.high / n_rows),
        n_unlabelled=sum(labels.unlabelled.values()),
        reviewed=evidence.reviewed.settled,
        fingerprint=prints,
        evidence=evidence,
        **of_this_kind,
    )
    if len(suspects := result._suspects[:MOST_SUSPECTS]):
        found = of_kind._reasons_of(evidence, suspects)
        result = replace(result, reasons={int(result.row[at]): found[at] for at in found})
    if against is not None:
        earlier = read_table(against, target, budget=budget, seed=random_state, **how)
        unused = {*left_out, result.group_column}
        compared = compare_with(earlier, table, target, unused, random_state, budget)
        result = replace(result, against=compared)
    return result if out is None else result.write(out, top=top, all_rows=all_rows)


@calm_blas
def audit_annotators(
    data: Any,
    annotators: Iterable[str] | None = None,
    *,
    long_form: Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    drop: Iterable[str] = (),
    top: int = 25,
    max_rows: int = MAX_ROWS,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    random_state: int = 0,
    memory_limit: int | str | None = None,
) -> AnnotatorAudit:
    r"""Find the likeliest class of every row of a table that several annotators have labelled.

    The other columns are turned into numbers as :func:`audit` does it, and have their say about
    every row; labels and annotators are judged as :func:`find_consensus` does it.

    Parameters
    ----------
    data, drop, encoding, delimiter, random_state, memory_limit
        As :func:`audit` takes them.
    annotators : iterable of str, default=None
        A column of labels for each annotator; missing labels are empty cells.
    long_form : tuple of three str, default=None
        Instead, where each line is one label: the columns of row, annotator and label. Other
        columns describe the row and must be the same in all its lines, or are left out.
    out : path-like, default=None
        Where to write page and table; by default nothing is written.
    top : int, default=25
        How many rows the lists of the page show.
    max_rows : int, default=200000
        Of a larger table, a random sample of so many rows; in the long form it is refused.

    Returns
    -------
    result : AnnotatorAudit
        The consensus of every row, and what each annotator is worth.

    Raises
    ------
    FileError
        A ValueError of one line that says why the table cannot be used.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import audit_annotators
    >>> rng = np.random.default_rng(0)
    >>> size = rng.normal(np.repeat([0.0, 4.0], 60))
    >>> truth = np.repeat(["small", "large"], 60)
    >>> frame = pd.DataFrame({"size": size, "ann": truth, "bob": truth, "cyd": truth[::-1]})
    >>> result = audit_annotators(frame, ["ann", "bob", "cyd"])
    >>> bool((result.consensus.label == truth).all())
    True
    >>> result.consensus.annotator_quality.round(1).tolist()[:2]
    [1.0, 1.0]
    """
    if (annotators is None) == (long_form is None):
        raise ValueError("give the columns of the annotators, or long_form, one of the two")
    given = [annotators] if isinstance(annotators, str) else annotators or long_form or ()
    names = list(given)  # of the columns that hold labels, and whose
    hint = names[-1 if annotators is None else 0] if names else None
    how = {"encoding": encoding, "delimiter": delimiter, "max_rows": max_rows}
    table, budget = _read_first(data, hint, out, random_state, memory_limit, how)
    left_out = dropped_columns(table, drop)
    for name in left_out:
        if name in names:
            raise FileError(f"{said(name)} holds labels to be compared: it cannot be dropped")
    if annotators is not None:
        crowd = read_side_by_side(table, names)
    elif len(names) != 3:
        raise ValueError("long_form names three columns: row, annotator and label")
    elif len(table.rows) < table.n_rows:
        raise FileError(
            f"{table.name}: has {table.n_rows:,} lines, of which a sample would tear rows "
            "apart: give",
            parameter="max_rows",
            value=str(table.n_rows),
        )
    else:
        crowd = read_one_a_line(table, *names)
    result = judge_annotators(table, crowd, left_out, random_state, budget)
    return result if out is None else result.write(out, top=top)


def _read_first(data, hint, out, random_state, memory_limit, how):
    """Check what was asked for, and return the table, and the budget of what follows."""
    require_whole("max_rows", how["max_rows"], LEAST_ROWS)
    require_whole("random_state", random_state, 0, SEEDS - 1)
    if out is not None:  # fails before the work, not after it
        name = Path(data).name if isinstance(data, str | os.PathLike) else "table"
        output_paths(out, name, source=data)
    budget = Budget(memory_limit)
    return read_table(data, hint, budget=budget, seed=random_state, **how), budget
