"""The audit of several annotators' labels: a table in, the consensus and its page out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robell._core.labels.annotators import Votes
from robell._tools.files import FileError
from robell._tools.text import said
from robell.labels.annotators import consensus_of
from robell.labels.audit.output import name_of, output_paths, require_whole
from robell.labels.audit.prepare import dropped_columns, prepare_columns
from robell.labels.crowd.read import read_one_a_line, read_side_by_side
from robell.labels.crowd.result import AnnotatorAudit
from robell.labels.votes import ReadVotes
from robell.tables.budget import Budget
from robell.tables.columns import ColumnNote
from robell.tables.leaks import find_leak
from robell.tables.read import read_table
from robell.tables.sample import MAX_ROWS
from robell.tables.target import LEAST_ROWS

SEEDS = 1 << 32
MOST_COMPARED = 20  # annotators whose labels a column must not repeat


def audit_annotators(
    data,
    annotators=None,
    *,
    long_form=None,
    out=None,
    drop=(),
    top=25,
    max_rows=MAX_ROWS,
    encoding="utf-8",
    delimiter=None,
    random_state=0,
    memory_limit=None,
):
    r"""Find the likeliest class of every row of a table that several annotators have labelled.

    The other columns are turned into numbers as :func:`audit` does it, and have their say about
    every row; labels and annotators are judged as :func:`find_consensus` does it.

    Parameters
    ----------
    data : path-like or data frame
        CSV, also gzipped, Parquet (extra ``files``), or a frame of pandas or polars.
    annotators : iterable of str, default=None
        A column of labels for each annotator; missing labels are empty cells.
    long_form : tuple of three str, default=None
        Instead, where each line is one label: the columns of row, annotator and label. Other
        columns describe the row and must be the same in all its lines, or are left out.
    out : path-like, default=None
        Where to write page and table; by default nothing is written.
    drop : iterable of str, default=()
        Columns that are to have no say.
    top : int, default=25
        How many rows the lists of the page show.
    max_rows : int, default=200000
        Of a larger table, a random sample of so many rows; in the long form it is refused.
    encoding : str, default="utf-8"
        Encoding of a text file.
    delimiter : str, default=None
        The sign between the cells of a text file; found from its first lines when None.
    random_state : int, default=0
        Seed of the classifier's layers.
    memory_limit : int or str, default=None
        As for :func:`audit`.

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
    require_whole("max_rows", max_rows, LEAST_ROWS)
    require_whole("random_state", random_state, 0, SEEDS - 1)
    if (annotators is None) == (long_form is None):
        raise ValueError("give the columns of the annotators, or long_form, one of the two")
    if out is not None:
        output_paths(out, name_of(data), source=data)
    budget = Budget(memory_limit)
    how = {"encoding": encoding, "delimiter": delimiter, "budget": budget}
    if annotators is not None:
        annotators = [annotators] if isinstance(annotators, str) else list(annotators)
    hint = annotators[0] if annotators else (long_form or [None])[-1]
    table = read_table(data, hint, **how, max_rows=max_rows, seed=random_state)
    drop = dropped_columns(table, drop)
    for name in drop:
        if name in (annotators or long_form):
            raise FileError(f"{said(name)} holds labels to be compared: it cannot be dropped")
    crowd = _read(table, annotators, long_form)
    result = _audit(table, crowd, drop, random_state, budget)
    return result if out is None else result.write(out, top=top)


def _read(table, annotators, long_form):
    if annotators is not None:
        return read_side_by_side(table, annotators)
    if len(long_form) != 3:
        raise ValueError("long_form names three columns: row, annotator and label")
    if len(table.rows) < table.n_rows:
        raise FileError(
            f"{table.name}: has {table.n_rows:,} lines, of which a sample would tear rows apart: "
            "give",
            parameter="max_rows",
            value=str(table.n_rows),
        )
    return read_one_a_line(table, *long_form)


def _audit(table, crowd, drop, random_state, budget):
    features = [column for column in crowd.table.columns if column.name not in drop]
    used, notes, leaks = (), (), ()
    if features:
        judges = [(slice(None), _majority(crowd)), *_largest(crowd)]

        def leak_of(prepared):
            """Return how a column repeats the majority's labels, or those of one annotator."""
            for rows, codes in judges:
                part = replace(prepared, values=prepared.values[rows])
                if leak := find_leak(part, codes, len(crowd.classes)):
                    return leak
            return None

        used, notes, leaks = prepare_columns(crowd.table, features, leak_of, budget)
    notes += crowd.notes
    notes += tuple(ColumnNote(name, "left out", 0, "left out, as asked") for name in drop)
    X = np.column_stack([column.matrix for column in used]) if used else None
    sizes = len(crowd.table.rows), len(crowd.annotators), len(crowd.classes)
    votes = Votes(crowd.row, crowd.annotator, crowd.label, *sizes)
    classes, names = np.array(crowd.classes, object), np.array(crowd.annotators, object)
    read = ReadVotes(votes, classes, np.arange(sizes[0]), names, X)
    consensus = consensus_of(read, random_state)
    return AnnotatorAudit(
        name=table.name,
        consensus=consensus,
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


def _largest(crowd):
    """Yield rows and labels of the annotators with most labels, if they know every class."""
    counts = np.bincount(crowd.annotator, minlength=len(crowd.annotators))
    for j in np.argsort(-counts, kind="stable")[:MOST_COMPARED]:
        own = crowd.annotator == j
        codes = crowd.label[own]
        if counts[j] >= LEAST_ROWS and len(np.unique(codes)) == len(crowd.classes):
            yield crowd.row[own], codes


def _majority(crowd):
    """Return the label most annotators gave each row, the commonest for rows without any."""
    n_classes = len(crowd.classes)
    counts = np.zeros((len(crowd.table.rows), n_classes))
    np.add.at(counts, (crowd.row, crowd.label), 1.0)
    counts += 1e-3 * counts.mean(axis=0)
    return counts.argmax(axis=1)
