"""Labels compared: between the groups that a column names, and with those of an earlier table."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from robell._core.labels.noise import areas
from robell._tools.files import FileError
from robell._tools.text import (
    composed,
    counted,
    in_cell,
    literal,
    number_text,
    percent,
    quoted,
    said,
)
from robell.labels import drift as of_drift
from robell.labels.audit.figures import group_rates
from robell.labels.drift import LabelDrift, compare_labels, number_regions
from robell.labels.groups import LEVEL, MISSING_GROUP
from robell.report.page import Bullets, Callout, FigureBlock, Paragraph, TableBlock
from robell.tables.columns import missing_cells, numbers_of, other_spellings, spellings_said
from robell.tables.dates import TIME, read_dates
from robell.tables.leaks import find_leak, prepare_columns
from robell.tables.numerals import unit_of
from robell.tables.raw import Column, RawTable
from robell.tables.target import find_column, one_spelling, read_labels

MOST_DATES = 24  # different dates of one column; more are taken together by month
MOST_MONTHS = 60  # the same by year
ROWS_A_GROUP = 2  # in the mean, at the least
SHOWN_GROUPS = 15
NAMED = 5  # groups in sentences
TWICE, LEAST_APART = 2.0, 0.02  # the table's share, and more: such a group is not excluded
MOST_COMPARED = 20_000  # rows of each table; of more, a random sample
GIVES_AWAY = 0.99  # area under the ROC curve from which on a column by itself shows the table
SHOWN_CHANGES = 12  # in the table of the page
NAMED_CHANGES = 4  # in sentences
MOST_LEVELS = 5  # of a category, as regions


def read_group_column(table, place):
    """Return the sorted groups, the place of each row's group, and what was done, in words."""
    column = table.columns[place]
    gone = missing_cells(column)
    # 1 and 1.0 are one group, and so are spellings of one level of a category.
    present = [composed(cell) for cell in one_spelling(column.without(gone), keep=True)[0]]
    spelt = {} if column.kind == "text" else other_spellings(Counter(present))
    present = [spelt.get(cell, cell) for cell in present]
    where = f"{table.name}: column {said(column.name)}"
    if column.kind == "other":
        raise FileError(f"{where} holds lists or other structures, which are no groups")
    named, done = _periods(present)
    cells = np.full(len(gone), MISSING_GROUP, dtype=object)
    cells[~gone] = [named.get(cell, cell) for cell in present]
    names, places = np.unique(cells.astype(str), return_inverse=True)
    if len(names) < 2:
        raise FileError(f"{where} holds one group only, {said(names[0])}; two are needed")
    if len(names) > len(cells) / ROWS_A_GROUP:
        raise FileError(
            f"{where} has {len(names):,} different values in {len(cells):,} rows: groups need rows "
            "in common"
        )
    return names, places.reshape(-1), done + spellings_said(spelt)


def _periods(cells):
    """Return the month or year of each date, and what was done; nothing for few or other cells."""
    distinct = set(cells)
    table = read_dates(distinct)[0] if len(distinct) > MOST_DATES else None
    if table is None:
        return {}, "names the groups of rows: labels are not judged by it"
    days = np.array([int(day // 1) for day in table.values()]).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    unit = "years" if len(np.unique(months)) > MOST_MONTHS else "months"
    periods = days.astype("datetime64[Y]") if unit == "years" else months
    found = dict(zip(table, periods.astype(str).tolist(), strict=True))
    return found, f"names the groups of rows, taken together as {unit}: labels are not judged by it"


def group_words(result):
    """Yield sentences on the groups that differ, those with the most wrong labels first."""
    groups = result.groups
    order = [g for g in np.argsort(-groups.noise_rate, kind="stable") if groups.differs[g]]
    for g in order[:NAMED]:
        rates = {"rate": groups.noise_rate[g], "low": groups.low[g], "high": groups.high[g]}
        shown = {name: percent(float(rate)) for name, rate in rates.items()}
        than = "more" if groups.noise_rate[g] > result.noise_rate else "fewer"
        group = quoted(str(groups.group[g]), 30)
        yield result._say("group_differs", group=group, than=than, **shown)
    if len(order) > NAMED:
        yield f"{counted(len(order) - NAMED, 'further group')} that differ"


def group_verdict(result, quote=quoted):
    """Say in one sentence whether the groups differ."""
    groups, whole, key = result.groups, result.noise_rate, "groups_alike"
    n, worst = int(groups.differs.sum()), int(groups.at_most.argmax())
    high = float(groups.at_most[worst])
    if result.trust == "none":
        key = "groups_unknown"
    elif n:
        key = "groups_differ"
    elif high >= max(TWICE * whole, whole + LEAST_APART):
        key = "groups_unsure"
    rates = {"low": float(groups.low[worst]), "high": high, "whole": whole}
    return result._say(
        key,
        column=quote(result.group_column),
        worst=quote(str(groups.group[worst]), 30),
        n=n,
        all=len(groups),
        differ="differs" if n == 1 else "differ",
        **{name: percent(rate) for name, rate in rates.items()},
    )


def group_line(result):
    """Say the same for a terminal, with the worst of the groups."""
    groups, line = result.groups, group_verdict(result, said)
    if result.trust == "none" or not groups.differs.any():
        return line
    worst = max(groups.differs.nonzero()[0], key=lambda g: groups.noise_rate[g])
    name, rate = said(str(groups.group[worst]), 30), percent(float(groups.noise_rate[worst]))
    return line + result._say("groups_most", name=name, rate=rate)


def groups_section(result):
    """Show how often labels are wrong in each group, and which groups differ."""
    words, verdict = result._words, group_verdict(result)
    if result.trust == "none":
        return words.section("groups", verdict=verdict)
    differing = tuple(group_words(result))
    blocks: list[Any] = [Bullets(differing)] if differing else []
    groups = result.groups  # those that differ most, the worst first
    chosen = np.lexsort((-groups.n_rows, groups.p_value))[:SHOWN_GROUPS]
    chosen = chosen[np.argsort(-groups.noise_rate[chosen], kind="stable")]
    svg = group_rates(groups, chosen, result.noise_rate)
    most = f" The {len(chosen)} groups that differ most." if len(chosen) < len(groups) else ""
    caption = words.figure("groups", share=percent(result.noise_rate), more=most)
    rows = [
        (
            in_cell(str(groups.group[g])),
            groups.n_rows[g],
            groups.n_suspects[g],
            *(100 * share[g] for share in (groups.noise_rate, groups.low, groups.high)),
            "yes" if groups.differs[g] else "no",
            groups.p_value[g],
        )
        for g in np.argsort(-groups.noise_rate, kind="stable")
    ]
    table = words.table("groups", rows, name=in_cell(result.group_column))
    column = quoted(result.group_column)
    how = result._say("how_groups", tables=round(1 / LEVEL), column=column)
    blocks += [FigureBlock(svg, *caption), TableBlock(table), Paragraph(how)]
    return words.section("groups", *blocks, verdict=f"**{verdict}**")


def groups_summary(result):
    """Return what was found about the groups, as plain values for JSON."""
    groups = result.groups
    if result.trust == "none":
        return None
    names = "noise_rate", "low", "high", "at_most", "p_value", "differs"
    values = {"rows": groups.n_rows, "suspects": groups.n_suspects}
    values |= {name: getattr(groups, name) for name in names}
    of_group = {
        str(group): {name: each[g].item() for name, each in values.items()}
        for g, group in enumerate(groups.group)
    }
    return {"column": result.group_column, "groups": of_group}


@dataclass(frozen=True, eq=False)
class Against:
    """The comparison with an earlier table; `telling` columns, which show the table, left out."""

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
    pooled = _pooled(old, new, shared, target)
    labels = read_labels(pooled, shared.index(target))
    is_new = np.repeat([False, True], [len(old.rows), len(new.rows)])[labels.kept]
    for n, table in (((~is_new).sum(), old), (is_new.sum(), new)):
        if n < of_drift.LEAST_ROWS:
            raise FileError(
                f"{table.name}: only {counted(int(n), 'labelled row')} can be compared; "
                f"{of_drift.LEAST_ROWS} are needed"
            )
    table = pooled.take(labels.kept)
    features = [c for c in table.columns if c.name not in {*left_out, target}]
    leak_of = partial(find_leak, codes=labels.codes, n_classes=len(labels.classes))
    used = prepare_columns(table, features, leak_of, budget)[0] if features else ()
    telling = tuple(column.name for column in used if _gives_away(column, is_new))
    used = [column for column in used if column.name not in telling]
    if not used:
        raise FileError(f"{new.name}: has no column in common with {old.name} to compare labels by")
    matrix = np.column_stack([column.matrix for column in used])
    classes = np.array(labels.classes, dtype=object)
    regions = [region for column in used for region in _regions(column)]
    drift = compare_labels(matrix, labels.codes, classes, is_new, regions, random_state)
    sides = labels.codes[~is_new], labels.codes[is_new]
    only = [
        tuple(labels.classes[k] for k in np.setdiff1d(one, other))
        for one, other in (sides, sides[::-1])
    ]
    one_sided = tuple(sorted((names_old ^ names_new) - set(left_out)))
    return Against(old.name, drift, telling, one_sided, *only)


def _sampled(table, rng):
    n_rows = len(table.rows)
    few = n_rows <= MOST_COMPARED
    return table if few else table.take(np.sort(rng.choice(n_rows, MOST_COMPARED, replace=False)))


def _pooled(old, new, names, target):
    """Return the shared columns of both tables, the old rows first."""
    columns = []
    for name in names:
        first, second = (table.columns[find_column(table, name)] for table in (old, new))
        kind = first.kind if first.kind == second.kind else None
        cells = [*first.cells, *second.cells]
        if name != target:
            cells = _spelt_alike((first, old.delimiter), (second, new.delimiter)) or cells
        columns.append(Column(name, cells, kind))
    n = len(old.rows) + len(new.rows)
    # Numbered anew: the same running number in both tables must not look like a column's order.
    return RawTable(new.name, tuple(columns), np.arange(n) + 1, None, n, new.how, new.delimiter)


def _spelt_alike(*columns):
    """Return cells in one spelling where each table writes dates or numbers in its own, or None."""
    numbers, ways = [], []
    for column, delimiter in columns:
        missing = missing_cells(column)
        values, how, _ = numbers_of(column.without(missing), delimiter, column.kind)
        if values is None:
            return None
        numbers.append(np.full(len(missing), np.nan))
        numbers[-1][~missing] = values
        ways.append(how)
    things = {(how.startswith("date"), how == TIME, unit_of(how)) for how in ways}
    if len(set(ways)) == 1 or len(things) > 1:
        return None
    write = _date_of if ways[0].startswith("date") else repr
    together = np.concatenate(numbers).tolist()
    return [write(value) if np.isfinite(value) else None for value in together]


def _date_of(days):
    """Return the date, with its time of day, that is so many days after 1970 began."""
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(days=days)).isoformat()


def _gives_away(column, is_new):
    """Say whether a column by itself shows which table a row is from, as a date does."""
    if not column.is_number:
        counts = np.zeros((len(column.levels), 2))
        np.add.at(counts, (column.values, is_new.astype(int)), 1.0)
        return counts.max(axis=1).sum() >= GIVES_AWAY * len(is_new)
    known = np.isfinite(column.values)
    if known.mean() < 0.5 or len(np.unique(is_new[known])) < 2:
        return False
    _, area = areas(column.values[known], is_new[known])
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


def in_words(result, one):
    """Say what has changed in one region."""
    low, high = sorted((abs(one.low), abs(one.high)))
    shares = {"change": abs(one.change), "low": low if one.low * one.high > 0 else 0.0}
    shown = {
        name: f"{100 * share:.0f}" if share >= 0.01 or not share else "fewer than 1"
        for name, share in {**shares, "high": high}.items()
    }
    where = "Of 100 rows" if one.where == "all rows" else f"{one.where}: of 100 such rows"
    shown |= {"more": "more" if one.change > 0 else "fewer", "label": said(one.label, 30)}
    return result._say("region_changed", where=where, **shown)


def against_verdict(result, quote=said):
    """Say in one or two sentences whether the labelling has changed."""
    drift = result.against.drift
    key = {None: "change_unknown", True: "changed", False: "unchanged"}[drift.changed]
    share = percent(drift.detectable)
    return result._say(key, name=quote(result.against.name), share=share)


def against_section(result):
    """Show whether labels are given differently than in the earlier table."""
    against, drift = result.against, result.against.drift
    blocks: list[Any] = []
    for key in ("only_new", "only_old", "telling", "one_sided"):
        if names := getattr(against, key):
            shown = ", ".join(quoted(name, 30) for name in names[:5])
            blocks.append(Callout("caution", result._say(key, names=shown)))
    if drift.changed:
        changes = drift.regions[:NAMED_CHANGES]
        blocks.append(Bullets(tuple(literal(in_words(result, one)) for one in changes)))
    if drift.changed is not None:
        columns = drift.change, drift.low, drift.high, drift.class_p_value
        each = zip(drift.classes, *columns, strict=True)
        every = [("all rows", str(name), *values) for name, *values in each]
        every += [one[:6] for one in drift.regions if one.where != "all rows"]
        rows = [
            (in_cell(where, 60), in_cell(name, 30), *(100 * value for value in values), p)
            for where, name, *values, p in every[:SHOWN_CHANGES]
        ]
        blocks.append(TableBlock(result._words.table("against", rows)))
    return result._words.section(
        "against",
        *blocks,
        verdict=against_verdict(result, quoted),
        old=f"{drift.n_old:,}",
        new=f"{drift.n_new:,}",
        tables=round(1 / of_drift.LEVEL),
        overlap=percent(drift.overlap),
    )


def against_summary(against):
    """Return the comparison as plain values for JSON."""
    drift = against.drift
    names = "changed", "p_value", "detectable", "overlap"
    return {
        "table": against.name,
        **{name: getattr(drift, name) for name in names},
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
