"""The audit against an earlier table: labels compared among rows of the same values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from robell._tools.files import FileError
from robell._tools.text import counted, in_cell, literal, number_text, percent, quoted, said
from robell.labels.audit.prepare import prepare_columns
from robell.labels.drift import (
    LEAST_ROWS,
    LEVEL,
    LabelDrift,
    compare_labels,
    number_regions,
)
from robell.report.page import Bullets, Callout, Paragraph, Section, TableBlock
from robell.report.tables import Table
from robell.tables.leaks import find_leak
from robell.tables.raw import Column, RawTable
from robell.tables.target import find_column, read_labels

MOST_COMPARED = 20_000  # rows of each table; of more, a random sample
GIVES_AWAY = 0.99  # area under the ROC curve from which on a column by itself shows the table
SHOWN = 12  # changes in the table of the page
NAMED = 4  # and in sentences
MOST_LEVELS = 5  # of a category, as regions


@dataclass(frozen=True, eq=False)
class Against:
    """What came out of the comparison with an earlier table of this name.

    `telling` are columns that show by themselves which table a row is from, and were left out;
    `one_sided` are columns that only one of the tables has, `only_old` and `only_new` labels.
    """

    name: str
    drift: LabelDrift
    telling: tuple[str, ...]
    one_sided: tuple[str, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]


def compare_with(old, new, target, left_out, random_state, budget):
    """Compare the labels of two raw tables by the columns they have in common."""
    rng = np.random.default_rng(random_state)
    old, new = (_sampled(table, rng) for table in (old, new))
    find_column(old, target)
    names_old = {column.name for column in old.columns}
    names_new = {column.name for column in new.columns}
    shared = [column.name for column in new.columns if column.name in names_old]
    pooled = _pooled(old, new, shared)
    labels = read_labels(pooled, shared.index(target))
    is_new = np.repeat([False, True], [len(old.rows), len(new.rows)])[labels.kept]
    for flag, table in ((False, old), (True, new)):
        if (is_new == flag).sum() < LEAST_ROWS:
            raise FileError(
                f"{table.name}: only {counted(int((is_new == flag).sum()), 'labelled row')} can be "
                f"compared; {LEAST_ROWS} are needed"
            )
    table = pooled.take(labels.kept)
    features = [c for c in table.columns if c.name not in {*left_out, target}]

    def leak_of(prepared):
        return find_leak(prepared, labels.codes, len(labels.classes))

    used = prepare_columns(table, features, leak_of, budget)[0] if features else ()
    telling = tuple(column.name for column in used if _gives_away(column, is_new))
    used = [column for column in used if column.name not in telling]
    if not used:
        raise FileError(f"{new.name}: has no column in common with {old.name} to compare labels by")
    matrix = np.column_stack([column.matrix for column in used])
    classes = np.array(labels.classes, dtype=object)
    regions = [region for column in used for region in _regions(column)]
    drift = compare_labels(matrix, labels.codes, classes, is_new, regions, random_state)
    seen = [set(labels.codes[is_new == flag].tolist()) for flag in (False, True)]
    sides = (seen[0] - seen[1], seen[1] - seen[0])
    only = [tuple(labels.classes[k] for k in sorted(side)) for side in sides]
    one_sided = tuple(sorted((names_old ^ names_new) - set(left_out)))
    return Against(old.name, drift, telling, one_sided, *only)


def _sampled(table, rng):
    if len(table.rows) <= MOST_COMPARED:
        return table
    return table.take(np.sort(rng.choice(len(table.rows), MOST_COMPARED, replace=False)))


def _pooled(old, new, names):
    """Return the shared columns of both tables, the old rows first."""
    columns = []
    for name in names:
        first, second = (table.columns[find_column(table, name)] for table in (old, new))
        kind = first.kind if first.kind == second.kind else None
        columns.append(Column(name, [*first.cells, *second.cells], kind))
    n = len(old.rows) + len(new.rows)
    # Numbered anew: the same running number in both tables must not look like a column's order.
    return RawTable(new.name, tuple(columns), np.arange(n) + 1, None, n, new.how, new.delimiter)


def _gives_away(column, is_new):
    """Say whether a column by itself shows which table a row is from, as a date does."""
    if not column.is_number:
        counts = np.zeros((len(column.levels), 2))
        np.add.at(counts, (column.values, is_new.astype(int)), 1.0)
        return counts.max(axis=1).sum() >= GIVES_AWAY * len(is_new)
    known = np.isfinite(column.values)
    if known.mean() < 0.5 or len(np.unique(is_new[known])) < 2:
        return False
    area = roc_auc_score(is_new[known], column.values[known])
    return max(area, 1.0 - area) >= GIVES_AWAY


def _regions(column):
    """Return regions of one column in words: its commonest levels, or small and large numbers."""
    if column.kind == "number":
        return number_regions(said(column.name, 30), column.values, number_text)
    if column.is_number:  # dates
        return []
    counts = np.bincount(column.values[column.values >= 0], minlength=len(column.levels))
    chosen = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    return [
        (f"{said(column.name, 30)} = {said(column.levels[k], 30)}", column.values == k)
        for k in chosen
    ]


def in_words(one):
    """Say what has changed in one region."""
    more = "more" if one.change > 0 else "fewer"
    low, high = sorted((abs(one.low), abs(one.high)))
    low = low if one.low * one.high > 0 else 0.0
    where = "Of 100 rows" if one.where == "all rows" else f"{one.where}: of 100 such rows"
    return (
        f"{where}, about {_whole(abs(one.change))} {more} than before carry the label "
        f"{said(one.label, 30)} ({_whole(low)} to {_whole(high)})"
    )


def _whole(share):
    return f"{100 * share:.0f}" if share >= 0.01 or not share else "fewer than 1"


def against_verdict(against, quote=said):
    """Say in one or two sentences whether the labelling has changed."""
    drift, name = against.drift, quote(against.name)
    if drift.changed is None:
        return (
            f"Whether labels are given as in {name} cannot be told: nearly every row shows by its "
            "values which table it is from."
        )
    if drift.changed:
        return (
            f"Labels are given differently than in {name}: rows of the same values carry other "
            "labels, by more than chance."
        )
    return (
        f"No change of the labels against {name} is seen, among rows of the same values; a change "
        f"in {percent(drift.detectable)} of the rows would be found every other time."
    )


def against_section(against):
    """Show whether labels are given differently than in the earlier table."""
    drift = against.drift
    blocks = [Paragraph(f"**{against_verdict(against, quoted)}**")]
    blocks += [Callout("caution", text) for text in against_cautions(against)]
    if drift.changed:
        blocks.append(Bullets(tuple(literal(in_words(one)) for one in drift.regions[:NAMED])))
    if drift.changed is not None:
        blocks.append(TableBlock(_table(drift)))
    blocks.append(Paragraph(_how(against)))
    return Section("against", "Compared with the earlier table", tuple(blocks))


def against_cautions(against):
    """Yield what a reader must know about the comparison."""
    for what, names in (
        ("the new table", against.only_new),
        ("the earlier table", against.only_old),
    ):
        if names:
            shown = ", ".join(quoted(name, 30) for name in names[:5])
            yield f"Labels that occur in {what} only: {shown}."
    if against.telling:
        shown = ", ".join(quoted(name, 30) for name in against.telling[:5])
        yield (
            f"Left out of the comparison, since they show by themselves which table a row is from: "
            f"{shown}."
        )
    if against.one_sided:
        shown = ", ".join(quoted(name, 30) for name in against.one_sided[:5])
        yield f"Columns that only one of the tables has: {shown}."


def _table(drift):
    """Return every class in all rows, then the regions that changed."""
    every = [
        ("all rows", str(name), *(100 * float(v) for v in values), float(p))
        for name, *values, p in zip(
            drift.classes, drift.change, drift.low, drift.high, drift.class_p_value, strict=True
        )
    ]
    regions = [
        (one.where, one.label, 100 * one.change, 100 * one.low, 100 * one.high, one.p_value)
        for one in drift.regions
        if one.where != "all rows"
    ]
    rows = tuple((in_cell(r[0], 60), in_cell(r[1], 30), *r[2:]) for r in (every + regions)[:SHOWN])
    columns = "Rows", "Label", "Change, of 100", "from", "to", "p-value"
    title = "By how much each label is more frequent than before, among rows of the same values"
    return Table("against", title, columns, rows, digits=(0, 0, 1, 1, 1, ".2g"))


def _how(against):
    drift = against.drift
    return (
        f"{drift.n_old:,} earlier rows and {drift.n_new:,} of this table were compared: rows of "
        "the same values with each other, so that another mix of rows is not taken for other "
        "labels (the generalised covariance measure of Shah and Peters, from models that had not "
        "seen the row). Classes, and regions of the columns, were tested together: if nothing had "
        f"changed, one comparison in {round(1 / LEVEL)} would say that it has. What labels depend "
        "on and is not in the columns can change too, and looks the same. How far the tables have "
        f"rows alike: {percent(drift.overlap)}, where 100 % means that no row shows its table."
    )


def against_summary(against):
    """Return the comparison as plain values for JSON."""
    drift = against.drift
    return {
        "table": against.name,
        "changed": drift.changed,
        "p_value": drift.p_value,
        "detectable": drift.detectable,
        "overlap": drift.overlap,
        "rows_before": drift.n_old,
        "rows_now": drift.n_new,
        "labels": {
            str(name): {"change": float(change), "low": float(low), "high": float(high)}
            for name, change, low, high in zip(
                drift.classes, drift.change, drift.low, drift.high, strict=True
            )
        },
        "where": [one._asdict() for one in drift.regions],
        "columns_left_out": list(against.telling),
    }
