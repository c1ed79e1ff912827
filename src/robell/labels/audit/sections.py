"""The sections of the report that show the evidence."""

from __future__ import annotations

import numpy as np

from robell._tools.text import counted, in_cell, isolated, literal, percent, quoted, unique
from robell.labels.audit.common import beside_table, places, reasons_first, where_is
from robell.labels.audit.figures import MOST_DOTS, class_bars, class_map, quality_histograms
from robell.labels.audit.findings import (
    Usual,
    near_view,
    nearest,
    project,
    told_apart,
    trusted,
    value_text,
)
from robell.labels.audit.reasons import reasons_text
from robell.labels.audit.summary import directions, noise_words, stands_out
from robell.report.page import Bullets, Details, FigureBlock, Paragraph, Section, TableBlock
from robell.report.tables import Table

SHOWN_VALUES = 10  # columns of a suspect row
TELLING = 2  # of them in the overview
MOST_WORDS = 10  # sentences about the noise
MOST_BARS = 20
MATRIX_CLASSES = 12
SHOWN_CONFLICTS = 15
LEAST_TOLD_APART = 0.75  # area under the ROC curve; below, the map of the rows is a blob


def has_estimates(result):
    """Say whether to show estimates: "no label is wrong" means nothing where trust is weak."""
    return result.trust in ("good", "fair") or bool(result.suspect.any())


def suspects_section(result, top):
    """Show the most suspect rows, those with the same kind of mistake together, beside others."""
    evidence = result.evidence
    order = [place for place in result.order if result.suspect[place]][:top]
    if not order:
        return None
    examples = trusted(evidence.judgement, evidence.codes)
    usual = Usual(evidence.used, evidence.codes, examples, len(result.classes))
    view = near_view(evidence.matrix)
    n_suspects = int(result.suspect.sum())
    shown = "All of them" if len(order) == n_suspects else f"The {len(order):,} least likely labels"
    blocks = [
        Paragraph(
            f"{shown}, the least likely first; all rows are in the CSV file. Open a row to "
            "compare its values with what is usual for both labels (the middle half of the class), "
            "and with the three most similar rows whose labels are trusted."
        )
    ]
    for way in directions(result):
        group = [place for place in order if _is_of(result, place, way)]
        if not group:
            continue
        blocks.append(Paragraph(f"**{found_in(result, way)}**"))
        for place in group:
            telling = reasons_first(result, place, usual.telling(place, way.given, way.true))
            blocks.append(_beside(result, place, telling, nearest(view, place, examples)))
    return Section("suspects", "Rows to check", tuple(blocks))


def _is_of(result, place, way):
    """Say whether a suspect row is of one kind of mistake."""
    evidence = result.evidence
    of_label = evidence.codes[place] == way.given
    return bool(of_label and evidence.judgement.suggested[place] == way.true)


def found_in(result, way):
    """Say how many suspects there are of one kind of mistake."""
    are = "is probably" if way.suspects == 1 else "are probably"
    are = "may be" if result.trust == "weak" else are
    return (
        f"{counted(way.suspects, 'row')} labelled {quoted(result.classes[way.given], 30)} "
        f"{are} {quoted(result.classes[way.true], 30)}"
    )


def _piece(text):
    """Return text for a part of a cell."""
    return isolated(in_cell(text, 24))


def _look_at(result, place, telling):
    """Say why a row is suspect; without a model, the values that speak most for the other label."""
    if reasons := reasons_text(result, place):
        return reasons
    look_at = ", ".join(
        f"{_piece(one.name)} = {_piece(one.value) or '(missing)'}"
        for one in telling[:TELLING]
        if one.weight > 0
    )
    return f"look at {look_at}" if look_at else ""


def _beside(result, place, telling, similar):
    """Return a table, closed at first, of one suspect row beside its neighbours."""
    evidence = result.evidence
    where = where_is(result, place)
    both = (result.given[place], result.suggested[place])
    columns = ["Column", f"This row ({where})", *(f"Usual for {_piece(name)}" for name in both)]
    columns += [f"Similar: {where_is(result, other)}" for other in similar]
    labels = [result.given[place], None, None, *(result.given[other] for other in similar)]
    rows = [("Label", *(None if label is None else in_cell(label) for label in labels))]
    by_name = {column.name: column for column in evidence.used}
    for one in telling[:SHOWN_VALUES]:
        values = [value_text(by_name[one.name], other) for other in (place, *similar)]
        shown = [in_cell(value) or None for value in values]
        usual = (one.usual_given, one.usual_suggested)
        rows.append((in_cell(one.name), shown[0], *usual, *shown[1:]))
    table = beside_table(result, place, columns, rows, len(telling) - SHOWN_VALUES)
    why = literal(_look_at(result, place, telling))
    summary = (
        f"{where.capitalize()}: {percent(float(result.quality[place]))} chance of being right"
        f"{'; ' if why else ''}{why}"
    )
    return Details(summary, (TableBlock(table),))


def classes_section(result):
    """Show how many rows each class has."""
    codes = result.evidence.codes
    given = np.bincount(codes, minlength=len(result.classes))
    estimated = result.probability.sum(axis=0) if has_estimates(result) else None
    chosen = sorted(np.argsort(-given, kind="stable")[:MOST_BARS].tolist())
    svg = class_bars(
        [result.classes[k] for k in chosen],
        given[chosen],
        None if estimated is None else estimated[chosen],
    )
    small, large = int(given.argmin()), int(given.argmax())
    text = (
        f"{counted(len(given), 'class', 'classes')}; the largest, "
        f"{quoted(result.classes[large])}, has {given[large] / given[small]:.3g} times as many "
        f"rows as the smallest, {quoted(result.classes[small])}."
    )
    if given[large] == given[small]:
        text = f"{counted(len(given), 'class', 'classes')} of equally many rows."
    caption = "Filled: rows with the label."
    if estimated is not None:
        caption += " Outlined: rows that really belong to the class, as estimated."
    if len(chosen) < len(given):
        caption += f" The {MOST_BARS} largest classes."
    figure = FigureBlock(svg, caption, "Bars: the number of rows of each class")
    return Section("classes", "Classes", (Paragraph(text), figure))


def noise_section(result):
    """Say which labels are mixed up, in words and as a matrix."""
    if not has_estimates(result):
        return None
    words = _noise_words(result)
    common = Bullets(tuple(words)) if words else Paragraph("No kind of mistake stands out.")
    blocks = [Paragraph(_how_many(result)), common]
    if len(result.classes) <= MATRIX_CLASSES:
        names = [in_cell(name) for name in result.classes]
        table = Table(
            "noise",
            "Of 100 rows that really belong to a class, how many carry which label",
            tuple(unique(["Really", *(f"labelled {_piece(name)}" for name in result.classes)])),
            tuple(
                (name, *(100 * float(share) for share in row))
                for name, row in zip(names, result.noise_matrix, strict=True)
            ),
            digits=0,
        )
        blocks.append(TableBlock(table))
    return Section("noise", "Which labels are mixed up", tuple(blocks))


def _how_many(result):
    """Say how many labels are wrong by estimate, whether their rows are suspect or not."""
    n = len(result.row)
    wrong = round(result.noise_rate * n)
    if not wrong:
        sure = "" if result.trust == "good" else " This is not certain: see what was found."
        return f"By estimate, no label or hardly any is wrong.{sure}"
    share = f"{wrong:,} of {n:,} labels ({percent(result.noise_rate)})"
    apart = (
        "The number of suspect rows may differ: some wrong labels cannot be located, and some "
        "suspects are right."
    )
    if result.trust == "weak":
        return (
            f"Perhaps {share} are wrong. The classes are too much alike for a better estimate: "
            f"rows that are hard to classify partly count as wrong. {apart}"
        )
    return f"By estimate, about {share} are wrong. {apart}"


def _noise_words(result):
    """Return sentences on the most common mistakes, those in most rows first."""
    ways = [way for way in directions(result) if stands_out(way)]
    ways.sort(key=lambda way: (-way.rows, way.true, way.given))
    return [
        f"{noise_words(result, way, quoted)} (about {counted(max(1, round(way.rows)), 'row')})."
        for way in ways[:MOST_WORDS]
    ]


def quality_section(result):
    """Show the quality of the labels, class by class."""
    if not has_estimates(result):
        return None
    svg, shown = quality_histograms(
        result.classes, result.evidence.codes, result.quality, result.suspect
    )
    caption = (
        "On the right are rows whose labels are almost certainly right, on the left rows whose "
        "labels are probably wrong; suspect rows have the other colour. A class with tall bars on "
        "the right and little else is labelled well."
    )
    if len(shown) < len(result.classes):
        caption += f" The {len(shown)} largest classes."
    alt = "Histograms of the probability that a label is right, one for each class"
    return Section("quality", "How sure each label is", (FigureBlock(svg, caption, alt),))


def map_section(result):
    """Show the rows in a plane, suspects marked; nothing where the plane tells no class apart."""
    evidence = result.evidence
    plane, share = project(near_view(evidence.matrix))
    if told_apart(plane, evidence.codes, evidence.random_state) < LEAST_TOLD_APART:
        return None
    svg, drawn = class_map(
        result.classes, evidence.codes, plane, result.suspect, evidence.random_state
    )
    caption = (
        "Each dot is a row. Rows with similar values lie close together; equal rows are moved a "
        f"little apart. The plane shows {percent(share)} of the differences between the rows."
    )
    if result.suspect.any():
        caption += (
            " A wrong label looks like a cross among dots of another class; but since the plane "
            "does not show all differences, some crosses lie among dots of their own."
        )
    if drawn < len(result.row):
        caption += (
            f" {drawn:,} of {len(result.row):,} rows, chosen at random, are shown (at most "
            f"{MOST_DOTS:,})."
        )
    alt = "Map of the rows by their two principal components, suspect rows marked with crosses"
    return Section("map", "Map of the rows", (FigureBlock(svg, caption, alt),))


def contradictions_section(result):
    """Show rows that agree in every used column and differ in the label."""
    evidence = result.evidence
    groups = evidence.conflicts
    if not groups:
        text = "No two rows agree in every used column and differ in the label."
        return Section("contradictions", "Contradictions", (Paragraph(text),))
    n_rows = sum(len(group) for group in groups)
    counts = [np.bincount(evidence.codes[group]) for group in groups]
    least = sum(int(count.sum() - count.max()) for count in counts)
    text = (
        f"{n_rows:,} rows, in {counted(len(groups), 'group')}, have the same values as another row "
        "in every column that was used, but a different label. The columns cannot explain at least "
        f"{counted(least, 'of these labels', 'of these labels')}: "
        f"{'it is' if least == 1 else 'they are'} wrong, or what tells the rows apart is not in "
        "the table. With few columns this is common."
    )
    rows = []
    for number, (group, count) in enumerate(zip(groups[:SHOWN_CONFLICTS], counts, strict=False), 1):
        labels = ", ".join(
            f"{_piece(result.classes[k])} ({count[k]:,})" for k in np.flatnonzero(count)
        )
        first = ", ".join(
            f"{_piece(column.name)} = {_piece(value_text(column, group[0])) or '(missing)'}"
            for column in evidence.used[:3]
        )
        rows.append((number, labels, places(result, group), first))
    where = "Rows" if result.line is None else "Lines"
    table = Table(
        "contradictions",
        "Rows with the same values and different labels",
        ("Group", "Labels", where, "Their first values"),
        tuple(rows),
        caption=f"The {len(rows)} largest groups." if len(groups) > len(rows) else "",
    )
    return Section("contradictions", "Contradictions", (Paragraph(text), TableBlock(table)))
