"""The sections of the page of an audit of numbers that show the evidence."""

from __future__ import annotations

import numpy as np

from robell._tools.text import in_cell, literal, number_text, percent, quoted
from robell.labels.audit.common import beside_table, number_of, reasons_first, where_is
from robell.labels.audit.figures import MOST_DOTS
from robell.labels.audit.findings import near_view, nearest, value_text
from robell.labels.audit.numeric_figures import predicted_beside_given
from robell.labels.audit.reasons import reasons_text, rows_alike, trusted_numbers, usual_text
from robell.report.page import Details, FigureBlock, Paragraph, Section, TableBlock
from robell.report.tables import Table

SHOWN_VALUES = 10  # columns of a suspect row
OVERVIEW = 25  # rows of the table above them


def suspects_section(result, top):
    """Show the most suspect rows, each beside similar ones."""
    places = [place for place in result.order if result.suspect[place]][:top]
    if not places:
        return None
    evidence = result.evidence
    examples, view = trusted_numbers(evidence.judgement), near_view(evidence.matrix)
    n_suspects = int(result.suspect.sum())
    shown = (
        "All of them" if len(places) == n_suspects else f"The {len(places):,} least likely numbers"
    )
    blocks = [
        Paragraph(
            f"{shown}, the least likely first; all rows are in the CSV file. What was predicted "
            "from the other columns stands beside the number given, with the range that holds the "
            "right number nine times in ten. Open a row to compare it with rows that have about "
            "the same number, and with the three most similar rows whose numbers are trusted."
        ),
        TableBlock(_overview(result, places[:OVERVIEW])),
    ]
    blocks += [_beside(result, place, nearest(view, place, examples)) for place in places]
    return Section("suspects", "Rows to check", tuple(blocks))


def shown_number(value):
    """Return a number of the page with four significant digits at the most."""
    return number_text(float(f"{value:.4g}"))


def _range(result, place):
    return f"{shown_number(result.lower[place])} to {shown_number(result.upper[place])}"


def _overview(result, places):
    """Return the table of suspects."""
    rows = tuple(
        (
            number_of(result, place),
            in_cell(result.evidence.cells[place], 24),
            shown_number(result.suggested[place]),
            _range(result, place),
            percent(float(result.quality[place])),
            in_cell(reasons_text(result, place), 300) or "no single column",
        )
        for place in places
    )
    where = "Row" if result.line is None else "Line"
    return Table(
        "suspect-numbers",
        "Suspect numbers and what was predicted instead",
        (where, "Given", "Predicted", "Likely range", "Chance of being right", "Why"),
        rows,
    )


def _beside(result, place, similar):
    """Return a table, closed at first, of one suspect row beside its neighbours."""
    evidence, where = result.evidence, where_is(result, place)
    given = in_cell(evidence.cells[place], 24)
    alike = rows_alike(evidence, place)
    columns = ["Column", f"This row ({where})", f"Usual where it is about {given}"]
    columns += [f"Similar: {where_is(result, other)}" for other in similar]
    rows = [
        (
            in_cell(result.target),
            given,
            None,
            *(in_cell(evidence.cells[other], 24) for other in similar),
        )
    ]
    used = reasons_first(result, place, evidence.used)
    for column in used[:SHOWN_VALUES]:
        values = [in_cell(value_text(column, other)) or None for other in (place, *similar)]
        rows.append((in_cell(column.name), values[0], _usual(column, place, alike), *values[1:]))
    table = beside_table(result, place, columns, rows, len(used) - SHOWN_VALUES)
    why = reasons_text(result, place)
    summary = (
        f"{where.capitalize()}: {literal(given)} given, {shown_number(result.suggested[place])} "
        f"predicted ({_range(result, place)})"
    )
    blocks = [Paragraph(literal(f"{why[0].upper()}{why[1:]}."))] if why else []
    return Details(summary, (*blocks, TableBlock(table)))


def _usual(column, place, alike):
    """Say what is usual in a column among rows with about the same number."""
    values = column.values[alike]
    if not column.is_number:
        return f"{percent(float(np.mean(values == column.values[place])))} have this value"
    values = values[np.isfinite(values)]
    if not len(values):
        return "no value"
    return usual_text(column, *np.percentile(values, [25, 75], method="lower"))


def picture_section(result):
    """Show what was predicted beside what is given; nothing where nothing can be predicted."""
    if result.trust == "none":
        return None
    svg, drawn = predicted_beside_given(result)
    caption = (
        "Each dot is a row: across, the number given; up, the number predicted without looking at "
        "it. On the line both are the same."
    )
    if result.suspect.any():
        caption += (
            " Suspect rows are far from the line; those beyond the picture stand at its edge."
        )
    if np.isfinite(result.evidence.judgement.measure.small):
        caption += " Both scales are drawn by factors, since errors grow with the numbers."
    if drawn < len(result.row):
        caption += (
            f" {drawn:,} of {len(result.row):,} rows, chosen at random, are shown (at most "
            f"{MOST_DOTS:,})."
        )
    alt = "Predicted numbers against given ones, suspect rows marked with crosses"
    return Section("picture", "Predicted and given", (FigureBlock(svg, caption, alt),))


def noise_section(result):
    """Say how many numbers are wrong by estimate, and how far off right ones usually are."""
    if result.trust == "none" or (result.trust == "weak" and not result.suspect.any()):
        return None
    n = len(result.row)
    wrong = round(result.noise_rate * n)
    share = f"{wrong:,} of {n:,} numbers ({percent(result.noise_rate)})"
    if not wrong:
        text = f"By estimate, no number of {quoted(result.target)} or hardly any is wrong."
    else:
        perhaps = "By estimate, about" if result.trust == "good" else "Perhaps"
        text = (
            f"{perhaps} {share} are wrong. The number of suspect rows may differ: some wrong "
            "numbers cannot be located, and some suspects are right."
        )
    off = np.abs(result.given - result.suggested)[~result.suspect]
    half, most = np.percentile(off, [50, 90])
    usual = (
        f"Of the rows that are not suspect, half are within {shown_number(half)} of what was "
        f"predicted, and nine in ten within {shown_number(most)}."
    )
    return Section("noise", "How many numbers are wrong", (Paragraph(text), Paragraph(usual)))
