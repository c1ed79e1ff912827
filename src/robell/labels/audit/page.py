"""The page of an audit of any kind: the same sections in the same order, each in the kind's words.

Its first screen needs no knowledge of machine learning. What differs between the kinds, their
results say themselves: see :class:`robell.labels.audit.result.Audit`.
"""

from __future__ import annotations

import platform
import re

import numpy as np
import scipy
import sklearn

from robell import __version__
from robell._tools.text import (
    NAME,
    counted,
    in_cell,
    literal,
    percent,
    quoted,
    said,
    shortened,
    unique,
    visible,
)
from robell.report.page import (
    Bullets,
    Callout,
    Code,
    Details,
    Facts,
    Paragraph,
    Section,
    TableBlock,
    render,
)
from robell.report.tables import Table

TRUST = {"good": "Good", "fair": "Fair", "weak": "Weak", "none": "Not at all"}
SHOWN_LINES = 8


def audit_page(result, *, top, csv_name, command=""):
    """Return the whole HTML page, with the ``top`` most suspect rows and a link to the CSV file."""
    words = result._words
    found = (
        Paragraph(f"**{literal(result._headline())}**"),
        Facts(tuple(result._facts())),
        *result._findings(),
        Paragraph("**What to do next**"),
        Bullets(tuple(result._next_steps(top, csv_name))),
        *(Callout("caution", text) for text in result._warnings()),
        *(Callout("note", text) for text in result._left_out()),
    )
    sections = [Section("found", "What was found", found), *result._sections(top)]
    if result.columns:
        cells = ((in_cell(n.name), n.kind, n.missing, n.done) for n in result.columns)
        heads = ("Column", "Used as", "Missing", "What was done")
        table = TableBlock(Table("columns", words["columns"], heads, tuple(cells)))
        text = Paragraph(literal(result._columns_words()))
        sections.append(Section("columns", "Columns", (text, table)))
    used = counted(len(result._used), "column")
    limits = tuple(item.format(used=used) for item in words["limits"])
    sections.append(Section("limits", "What this cannot tell", (Bullets(limits),)))
    made_by = (
        f"robell {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn "
        f"{sklearn.__version__}, Python {platform.python_version()}; random state {result._seed}."
    )
    how = [Code(visible(command))] if command else []
    sections.append(Section("how", "How it was made", (*how, *result._how(), Paragraph(made_by))))
    sections.append(_names_section(result._names()))
    title = f"{words['title']} {shortened(result.name)}"
    shown = [section for section in sections if section is not None]
    return render(title, result._subtitle(), shown, footer=f"robell {__version__}")


def _names_section(names):
    """List in full the names that the page has shortened."""
    long = [name for name in dict.fromkeys(names) if len(visible(name)) > NAME]
    if not long:
        return None
    details = [
        Details(
            f"{quoted(name, 40)}: {counted(len(name), 'character')}",
            (Code(visible(name)),),
        )
        for name in long
    ]
    text = "Names and labels that are shortened above, in full. Cells are in full in your file."
    return Section("names", "Long names", (Paragraph(literal(text)), *details))


def how_many(result, things, wrong):
    """Say how many rows are suspect.

    ``wrong`` continues three sentences: rows that may be wrong, one that probably is, and several.
    """
    n, n_suspects = len(result.row), int(result.suspect.sum())
    if result.trust == "none":
        target = said(result.target)
        return f"The columns say too little about {target}: no row can be called suspect."
    if not n_suspects:
        if result.trust == "good":
            return f"None of the {n:,} {things} checked looks wrong."
        return (
            f"Of {n:,} {things}, none stands out as wrong, but the columns are not clear enough to "
            "be sure."
        )
    perhaps, one, several = wrong
    share = percent(n_suspects / n)
    if result.trust != "good":
        return f"Of {n:,} rows, {n_suspects:,} ({share}) {perhaps}."
    if n_suspects == 1:
        return f"Of {n:,} rows, one {one}."
    return f"Of {n:,} rows, {n_suspects:,} ({share}) {several}."


def really_wrong(result):
    """Return the estimated number of suspects that are wrong, at least one if there are any."""
    n_suspects = int(result.suspect.sum())
    return min(n_suspects, max(1, round(result.expected_wrong))) if n_suspects else 0


def facts_of(result):
    """Yield the numbers of the first screen."""
    n, n_suspects = len(result.row), int(result.suspect.sum())
    chance = "drawn at random, " if result.evidence.is_sample else ""
    in_file = f"{chance}of {result.n_rows:,} in the file"
    yield "rows checked", f"{n:,}", "all rows of the file" if result.n_rows == n else in_file
    if result.trust == "none":
        yield "rows to check by hand", "cannot tell", ""
    else:
        yield "rows to check by hand", f"{n_suspects:,}", f"{percent(n_suspects / n)} of the rows"
    if n_suspects == 1:
        yield "chance that it is really wrong", percent(result.expected_wrong), "by estimate"
    elif n_suspects:
        about = f"about {really_wrong(result):,}"
        yield "of these really wrong", about, "by estimate; the others are unusual but right"
    yield "how far to trust this", TRUST[result.trust], result._how_good()


def link_to(name):
    """Return a link to a file beside the page, where its name is plain enough for an address."""
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII):
        return f"[{literal(name)}]({name})"
    return quoted(name)


def steps_without_trust(result, table, remedy):
    """Yield what to do where the columns say too little."""
    yield f"Is {quoted(result.target)} the right column, and is what it depends on in the file?"
    yield f"{remedy}, and repeat the audit."
    yield f"{table} lists the rows without any judgement."


def steps_to_suspects(result, top, table, things, similar):
    """Yield where the suspects are listed, and which of them the page shows."""
    where = "`row`" if result.line is None else "`line`"
    yield (
        f"Open {table} and start at the top: the {things} least likely to be right come "
        f"first, and {where} says where each row stands in your file."
    )
    if top:
        shown = f"The first {top}" if top < result.suspect.sum() else "All of them"
        yield f"Check them by hand. [{shown}](#suspects) are shown below, beside {similar}."


def sample_and_leaks(result):
    """Yield that only a sample was looked at, and which columns repeat the target."""
    evidence = result.evidence
    if evidence.is_sample:
        yield (
            f"The file has {result.n_rows:,} rows; a random sample of {evidence.n_read:,} was "
            "looked at. The other rows were not."
        )
    for leak in evidence.leaks:
        text = (
            f"Column {quoted(leak.name)} repeats {quoted(result.target)} in "
            f"{100 * leak.agreement:.4g} % of the rows and was left out: with it, every label "
            "would look right."
        )
        if len(leak.exceptions):
            where = "row" if result.line is None else "line"
            where += "s" if len(leak.exceptions) > 1 else ""
            exceptions = places(result, leak.exceptions)
            text = f"{text} The two differ in {where} {exceptions}: look there first."
        yield text


def not_judged(result, thing, usable):
    """Yield which rows were not judged again, and which could not be."""
    if result.reviewed.any():
        were = "was" if result.reviewed.sum() == 1 else "were"
        yield (
            f"{counted(int(result.reviewed.sum()), 'row')} {were} reviewed before: the {thing} "
            "that somebody decided upon is taken as right."
        )
    if result.n_unlabelled:
        common = result.evidence.target.unlabelled.most_common(3)
        kinds = ", ".join(quoted(cell, 20) if cell else "empty" for cell, _ in common)
        were = "was" if result.n_unlabelled == 1 else "were"
        yield f"{counted(result.n_unlabelled, 'row')} without {usable} ({kinds}) {were} left out."


def number_of(result, place):
    """Return the line of a row in a text file, otherwise its number."""
    return int(result.row[place] if result.line is None else result.line[place])


def where_is(result, place):
    """Say where a row stands: a number to look for in a file, so without commas."""
    return f"{'row' if result.line is None else 'line'} {number_of(result, place)}"


def places(result, group):
    """Return the numbers of some rows, or of their lines, the first few of them."""
    shown = ", ".join(f"{number_of(result, place)}" for place in group[:SHOWN_LINES])
    more = len(group) - SHOWN_LINES
    return f"{shown} and {more:,} more" if more > 0 else shown


def reasons_first(result, place, columns):
    """Return columns of a row, or their values, those that speak most against it first."""
    named = [reason.column for reason in result.reasons.get(int(result.row[place]), ())]
    rank = {name: k for k, name in enumerate(named)}
    return sorted(columns, key=lambda one: rank.get(one.name, len(rank)))


def beside_table(result, place, columns, rows, n_left):
    """Return the table of a suspect row and the rows most like it."""
    return Table(
        f"row-{result.row[place]}",
        f"{where_is(result, place).capitalize()} and the rows most like it",
        tuple(unique(columns)),
        tuple(rows),
        note=f"{counted(n_left, 'further column')} not shown." if n_left > 0 else "",
    )


def drawn_words(drawn, n_rows, most):
    """Say that a picture shows only some of the rows, "" where it shows all."""
    if drawn == n_rows:
        return ""
    return f" {drawn:,} of {n_rows:,} rows, chosen at random, are shown (at most {most:,})."
