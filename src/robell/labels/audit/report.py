"""The page of an audit; its first screen needs no knowledge of machine learning."""

from __future__ import annotations

import tomllib
from importlib import resources

import numpy as np

from robell import __version__
from robell._tools.text import counted, in_cell, literal, percent, quoted, said, shortened, visible
from robell.labels.audit import sections
from robell.labels.audit.against import against_section, against_verdict
from robell.labels.audit.common import (
    columns_section,
    facts_of,
    how_many,
    limits_section,
    link_to,
    names_section,
    not_judged,
    really_wrong,
    sample_and_leaks,
    steps_to_suspects,
    steps_without_trust,
    versions,
)
from robell.labels.audit.groups import groups_section, verdict
from robell.labels.audit.summary import directions, hardest_hit, noise_words
from robell.labels.trust import CLEAR, LEAST_SEPARATION, MOST_COLUMNS_A_ROW
from robell.report.page import Bullets, Callout, Code, Facts, Paragraph, Section, TableBlock, render
from robell.report.tables import Table
from robell.tables.numerals import number
from robell.tables.target import LEAST_OF_CLASS

SHOWN_WAYS = 4  # kinds of mistakes on the first screen
WRONG = (
    "may carry the wrong label",
    "probably carries the wrong label",
    "look as if they carry the wrong label",
)
WORDS = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text("utf-8"))


def headline(result):
    """Return the result in one sentence of plain text, or two where one class is hit hardest."""
    hit = hardest_hit(result)
    text = how_many(result, "labels", WRONG)
    return f"{noise_words(result, hit, said)}. {text}" if hit else text


def share_predicted(result):
    """Say in plain words what the trust was measured by."""
    misfits = result.evidence.trust.misfits
    share = round(100 * (1 - misfits))
    share = min(share, 99) if misfits else share
    return f"with the label hidden, the other columns predicted it for {share} of 100 rows"


def report_page(result, *, top, csv_name, command=""):
    """Return the whole HTML page, with the ``top`` most suspect rows and a link to the CSV file."""
    made = [
        first_screen(result, top, csv_name),
        sections.suspects_section(result, top),
        sections.noise_section(result),
        groups_section(result),
        against_section(result),
        sections.classes_section(result),
        sections.quality_section(result),
        sections.map_section(result),
        sections.contradictions_section(result),
        columns_section(result),
        limits_section(result, WORDS["limits"]["items"]),
        how_section(result, command),
        names_section(result, (*result.classes, *result.set_aside)),
    ]
    subtitle = (
        f"Are the labels in column {quoted(result.target)} right? "
        f"{counted(len(result.row), 'row')}, {counted(len(result.classes), 'class', 'classes')}."
    )
    title = f"Label audit of {shortened(result.name)}"
    shown = [section for section in made if section is not None]
    return render(title, subtitle, shown, footer=f"robell {__version__}")


def first_screen(result, top, csv_name):
    """Say what was found, what to do about it, and how far to trust it."""
    facts = Facts(tuple(facts_of(result, share_predicted(result))))
    blocks = [Paragraph(f"**{literal(headline(result))}**"), facts]
    if result.suspect.any():
        blocks.append(Bullets(tuple(_suspects_by_direction(result))))
    kind = "note" if result.trust in ("good", "fair") else "caution"
    blocks.append(Callout(kind, _meaning(result)))
    if result.groups is not None:
        blocks.append(Callout("finding", f"{verdict(result)} [More](#groups)"))
    if result.against is not None:
        text = against_verdict(result.against, quoted)
        blocks.append(Callout("finding", f"{text} [More](#against)"))
    blocks.append(Paragraph("**What to do next**"))
    blocks.append(Bullets(tuple(_next_steps(result, top, link_to(csv_name)))))
    blocks += [Callout("caution", text) for text in _warnings(result)]
    blocks += [Callout("note", text) for text in _left_out(result)]
    return Section("found", "What was found", tuple(blocks))


def _suspects_by_direction(result):
    """Yield which labels the suspects have, and which they probably should have."""
    ways = [way for way in directions(result) if way.suspects]
    for way in ways[:SHOWN_WAYS]:
        yield sections.found_in(result, way)
    if len(ways) > SHOWN_WAYS:
        left = sum(way.suspects for way in ways[SHOWN_WAYS:])
        yield f"{counted(left, 'row')} of {len(ways) - SHOWN_WAYS:,} further kinds"


def _meaning(result):
    """Return what the word for the trust means for this table."""
    n_suspects = int(result.suspect.sum())
    if not n_suspects:
        return WORDS["meaning_without_suspects"][result.trust]
    is_clear = result.evidence.trust.clarity >= CLEAR
    text = WORDS["meaning"]["unusual" if result.trust == "fair" and is_clear else result.trust]
    if n_suspects < 2:
        return text
    wrong = really_wrong(result)
    right = n_suspects - wrong
    if not right:
        return f"{text} Of the {n_suspects:,} rows to check, expect nearly all to be really wrong."
    return (
        f"{text} Of the {n_suspects:,} rows to check, expect about {wrong:,} to be really wrong "
        f"and about {right:,} to be right after all."
    )


def _next_steps(result, top, table):
    if result.trust == "none":
        remedy = "Add columns that have to do with it, or label some rows again"
        if _has_too_many_columns(result):
            remedy = "Leave out columns that have nothing to do with it, or add rows"
        yield from steps_without_trust(result, table, remedy)
    elif result.suspect.any():
        similar = "similar rows whose labels are trusted"
        yield from steps_to_suspects(result, top, table, "labels", similar)
        yield (
            "Write `keep`, `change` or `drop` into the column `decision`, and change a label only "
            "where you see that it is wrong: a row can be unusual and right. `robell apply` then "
            "makes the corrected table, and the next audit knows what was reviewed."
        )
    elif result.trust == "good":
        yield f"Nothing needs to be done. {table} lists all rows, the least certain first."
    else:
        yield (
            f"If you can, look at the first rows of {table} by hand: the labels least likely "
            "to be right come first."
        )
        yield "More rows, or columns that have more to do with the label, would help."


def _warnings(result):
    """Yield what a reader must know before trusting the numbers."""
    evidence = result.evidence
    yield from sample_and_leaks(result)
    for first, second in evidence.labels.alike[:3]:
        yield (
            f"The labels {quoted(first)} and {quoted(second)} differ only in capitals or spaces. "
            f"They were taken as one class, {quoted(first)}."
        )
    if _has_too_many_columns(result):
        n_rows, n_columns = evidence.matrix.shape
        yield (
            f"The table has {counted(n_columns, 'column')} of numbers, categories spread out, for "
            f"only {counted(n_rows, 'row')}. With so many, labels can look right or wrong by "
            "chance, and wrong ones are missed: leave out columns that have nothing to do with "
            f"{quoted(result.target)} (`--ignore`, in Python `drop=`), or add rows."
        )
    areas = evidence.trust.separations
    weak = [k for k in range(len(areas)) if areas[k] < LEAST_SEPARATION]
    if weak and result.trust != "none":
        names = ", ".join(quoted(result.classes[k]) for k in weak[:5])
        more = f" and {len(weak) - 5} more classes" if len(weak) > 5 else ""
        yield (
            f"The columns do not show which rows should be labelled {names}{more}: what is said "
            "about these labels is guesswork."
        )


def _has_too_many_columns(result):
    """Say whether the table has more columns than its rows can bear."""
    n_rows, n_columns = result.evidence.matrix.shape
    return n_columns > MOST_COLUMNS_A_ROW * n_rows


def _left_out(result):
    """Yield how labels were taken, and which rows were not judged, or not again."""
    if len(result.classes) > 2 and all(number(label) is not None for label in result.classes):
        yield (
            f"The {len(result.classes):,} different numbers in {quoted(result.target)} were taken "
            "as classes. If they are measured, audit with `--kind numbers` (in Python `kind="
            '"numbers"`).'
        )
    yield from not_judged(result, result.evidence.labels.unlabelled, "label", "a label")
    if result.set_aside:
        yield _set_aside(result)


def _set_aside(result):
    names = ", ".join(f"{quoted(label)} ({n})" for label, n in list(result.set_aside.items())[:8])
    more = len(result.set_aside) - 8
    names += f" and {more:,} more" if more > 0 else ""
    n_rows = sum(result.set_aside.values())
    return (
        f"Classes of fewer than {LEAST_OF_CLASS} rows cannot be judged; "
        f"{counted(n_rows, 'row')} {'was' if n_rows == 1 else 'were'} set aside: {names}."
    )


def how_section(result, command):
    """Say how the numbers were computed, and how to get them again."""
    evidence = result.evidence
    blocks = [Code(visible(command))] if command else []
    blocks.append(
        Paragraph(
            f"The table was read as {evidence.table.how}. Its columns were turned into numbers as "
            "listed [above](#columns). A classifier made for labels that may be wrong "
            "(`NoiseRobustRVFLClassifier`) then estimated how likely each label is to be right, "
            "from the row's values, its label and all other rows. A row is suspect where another "
            "label is likelier. To find out how far to trust this, the rows were hidden from the "
            "classifier, a part of them at a time, and their labels predicted: "
            f"{percent(1 - evidence.trust.misfits)} of the predictions agree with the labels "
            f"given. If no label were wrong, {percent(evidence.trust.clarity)} would, by estimate."
        )
    )
    table = Table(
        "separation",
        "How well the columns predict each label",
        ("Label", "Rows", "Area under the ROC curve"),
        tuple(
            (in_cell(name), int(n), float(area))
            for name, n, area in zip(
                result.classes,
                np.bincount(evidence.codes, minlength=len(result.classes)),
                evidence.trust.separations,
                strict=True,
            )
        ),
        caption="Measured on hidden rows: 0.5 is guessing, 1 is perfect. Wrong labels lower it.",
        digits=3,
    )
    made_by = Paragraph(versions(evidence.random_state))
    return Section("how", "How it was made", (*blocks, TableBlock(table), made_by))
