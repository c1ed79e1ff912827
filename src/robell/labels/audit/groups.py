"""The audit by groups: which column names them, and what the page says about each group."""

from __future__ import annotations

import datetime

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import counted, in_cell, percent, quoted, said
from robell.labels.audit.figures import group_rates
from robell.labels.groups import LEVEL, MISSING_GROUP
from robell.report.page import Bullets, FigureBlock, Paragraph, Section, TableBlock
from robell.report.tables import Table
from robell.tables.columns import missing_cells
from robell.tables.dates import read_dates

MOST_DATES = 24  # different dates of one column; more are taken together by month
MOST_MONTHS = 60  # the same by year
ROWS_A_GROUP = 2  # in the mean, at the least
SHOWN_GROUPS = 15
NAMED = 5  # groups in sentences


def read_group_column(table, place):
    """Return the sorted groups, the place of each row's group, and what was done, in words."""
    column = table.columns[place]
    gone = missing_cells(column)
    present = [cell for cell, missing in zip(column.cells, gone, strict=True) if not missing]
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
    return names, places.reshape(-1), done


def _periods(cells):
    """Return the month or year of each date, and what was done; nothing for few or other cells."""
    distinct = set(cells)
    table = read_dates(distinct)[0] if len(distinct) > MOST_DATES else None
    if table is None:
        return {}, "names the groups of rows: labels are not judged by it"
    start = datetime.date(1970, 1, 1)
    dates = {cell: start + datetime.timedelta(days=int(day // 1)) for cell, day in table.items()}
    months = {cell: f"{day:%Y-%m}" for cell, day in dates.items()}
    is_long = len(set(months.values())) > MOST_MONTHS
    found = {cell: f"{day:%Y}" for cell, day in dates.items()} if is_long else months
    unit = "years" if is_long else "months"
    return found, f"names the groups of rows, taken together as {unit}: labels are not judged by it"


def group_words(result):
    """Yield sentences on the groups that differ, those with the most wrong labels first."""
    groups = result.groups
    order = [g for g in np.argsort(-groups.noise_rate, kind="stable") if groups.differs[g]]
    for g in order[:NAMED]:
        than = "more" if groups.noise_rate[g] > result.noise_rate else "fewer"
        yield (
            f"{quoted(str(groups.group[g]), 30)}: about {percent(float(groups.noise_rate[g]))} of "
            f"the labels are wrong ({percent(float(groups.low[g]))} to "
            f"{percent(float(groups.high[g]))}), {than} than among like rows of the other groups"
        )
    if len(order) > NAMED:
        yield f"{counted(len(order) - NAMED, 'further group')} that differ"


def verdict(result, quote=quoted):
    """Say in one sentence whether the groups differ."""
    groups, name = result.groups, quote(result.group_column)
    if result.trust == "none":
        return f"Whether the groups of {name} differ cannot be told: the columns say too little."
    n = int(groups.differs.sum())
    if not n:
        return (
            f"Labels are not wrong more often in one group of {name} than in another, as far as "
            f"{counted(len(groups), 'group')} of these sizes can tell."
        )
    differ = "differs" if n == 1 else "differ"
    return (
        f"{n:,} of {len(groups):,} groups of {name} {differ} from the others in how often labels "
        "are wrong, by more than chance."
    )


def group_line(result):
    """Say the same for a terminal, with the worst of the groups."""
    groups, line = result.groups, verdict(result, said)
    if result.trust == "none" or not groups.differs.any():
        return line
    worst = max(groups.differs.nonzero()[0], key=lambda g: groups.noise_rate[g])
    name, rate = said(str(groups.group[worst]), 30), float(groups.noise_rate[worst])
    return f"{line} Most wrong among these: {name}, about {percent(rate)} wrong."


def groups_section(result):
    """Show how often labels are wrong in each group, and which groups differ."""
    title = "Groups"
    if result.trust == "none":
        return Section("groups", title, (Paragraph(verdict(result)),))
    blocks = [Paragraph(f"**{verdict(result)}**")]
    words = tuple(group_words(result))
    blocks += [Bullets(words)] if words else []
    groups = result.groups  # those that differ most, the worst first
    chosen = np.lexsort((-groups.n_rows, groups.p_value))[:SHOWN_GROUPS]
    chosen = chosen[np.argsort(-groups.noise_rate[chosen], kind="stable")]
    svg = group_rates(groups, chosen, result.noise_rate)
    caption = (
        "Dots: estimated share of wrong labels. Lines: where it lies with a probability of 90 %. "
        f"Dashed: the whole table, {percent(result.noise_rate)}. Filled dots differ from the other "
        "groups by more than chance."
    )
    if len(chosen) < len(result.groups):
        caption += f" The {len(chosen)} groups that differ most."
    blocks.append(FigureBlock(svg, caption, "Estimated share of wrong labels in each group"))
    blocks += [TableBlock(_table(result)), Paragraph(_how(result))]
    return Section("groups", title, tuple(blocks))


def _table(result):
    groups = result.groups
    rows = tuple(
        (
            in_cell(str(groups.group[g])),
            int(groups.n_rows[g]),
            int(groups.n_suspects[g]),
            100 * float(groups.noise_rate[g]),
            100 * float(groups.low[g]),
            100 * float(groups.high[g]),
            "yes" if groups.differs[g] else "no",
            float(groups.p_value[g]),
        )
        for g in np.argsort(-groups.noise_rate, kind="stable")
    )
    columns = "Group", "Rows", "Suspect", "Wrong, %", "from", "to", "Differs", "p-value"
    return Table(
        "groups",
        f"Groups of {in_cell(result.group_column)}",
        columns,
        rows,
        digits=(0, 0, 0, 1, 1, 1, 0, ".2g"),
    )


def _how(result):
    return (
        "Rows were compared with rows of other groups that are as hard to predict, so that a group "
        "of hard rows is not taken for one with wrong labels. Groups of few rows are drawn to the "
        "whole, and suspects are judged by the rates of their own group. p-values are corrected "
        f"for the number of groups: if no group differed, one table in {round(1 / LEVEL)} at most "
        f"would show one that does. {quoted(result.group_column)} itself was not used to judge "
        "labels; what else differs between groups, and is not in the columns, can look like wrong "
        "labels."
    )


def groups_summary(result):
    """Return what was found about the groups, as plain values for JSON."""
    groups = result.groups
    if result.trust == "none":
        return None
    return {
        "column": result.group_column,
        "groups": {
            str(groups.group[g]): {
                "rows": int(groups.n_rows[g]),
                "suspects": int(groups.n_suspects[g]),
                "noise_rate": float(groups.noise_rate[g]),
                "low": float(groups.low[g]),
                "high": float(groups.high[g]),
                "p_value": float(groups.p_value[g]),
                "differs": bool(groups.differs[g]),
            }
            for g in range(len(groups))
        },
    }
