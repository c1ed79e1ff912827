"""The page of an audit of any kind: the same sections in the same order, each in the kind's words.

Its first screen needs no knowledge of machine learning. What differs between the kinds, their
results say themselves: see :class:`robell.labels.audit.result.Audit`.
"""

from __future__ import annotations

import platform

import numpy as np
import scipy
import sklearn

from robell import __version__
from robell._tools.text import (
    NAME,
    counted,
    in_cell,
    isolated,
    literal,
    quoted,
    shortened,
    visible,
)
from robell.labels.audit.reasons import reasons_text
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
from robell.tables.columns import MISSING_WORDS

SHOWN_LINES = 8


def audit_page(result, *, top, csv_path, command=""):
    """Return the whole HTML page, with the ``top`` most suspect rows and a link to the CSV file."""
    words, evidence = result._words, getattr(result, "evidence", result)
    n_used, seed = len(evidence.used), evidence.random_state
    found = (
        Paragraph(f"**{literal(result._headline())}**"),
        Facts(tuple(result._facts())),
        *result._findings(),
        Paragraph("**What to do next**"),
        Bullets(tuple(result._next_steps(top, csv_path))),
        *(Callout("caution", text) for text in result._warnings()),
        *(Callout("note", text) for text in result._left_out()),
    )
    sections = [Section("found", "What was found", found), *result._sections(top, csv_path)]
    if result.columns:
        cells = ((in_cell(n.name), n.kind, n.missing, n.done) for n in result.columns)
        heads = ("Column", "Used as", "Missing", "What was done")
        table = TableBlock(Table("columns", words["columns"], heads, tuple(cells)))
        text = result._say(
            "columns_used",
            used=n_used,
            all=counted(len(result.columns), "column"),
            were="was" if n_used == 1 else "were",
            missing=f"{', '.join(MISSING_WORDS[:-1])} and {MISSING_WORDS[-1]}",
            where=" in columns that are not text" if result.line is None else "",
        )
        sections.append(Section("columns", "Columns", (Paragraph(literal(text)), table)))
    used = counted(n_used, "column")
    limits = tuple(item.format(used=used) for item in words["limits"])
    sections.append(Section("limits", "What this cannot tell", (Bullets(limits),)))
    made_by = (
        f"robell {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn "
        f"{sklearn.__version__}, Python {platform.python_version()}; random state {seed}."
    )
    how = [Code(visible(command))] if command else []
    sections.append(Section("how", "How it was made", (*how, *result._how(), Paragraph(made_by))))
    long = [name for name in dict.fromkeys(result._names()) if len(visible(name)) > NAME]
    if long:
        text = "Names and labels that are shortened above, in full. Cells are in full in your file."
        in_full = [
            Details(
                f"{quoted(name, 40)}: {counted(len(name), 'character')}", (Code(visible(name)),)
            )
            for name in long
        ]
        names = Section("names", "Long names", (Paragraph(literal(text)), *in_full))
        sections.append(names)
    title = f"{words['title']} {shortened(result.name)}"
    shown = [section for section in sections if section is not None]
    return render(title, result._subtitle(), shown, footer=f"robell {__version__}")


def where_is(result, place):
    """Say what a row is called, or where it stands: a number to look for, so without commas."""
    key = getattr(result, "key", None)
    return f"{result._where} {result._number[place]}" if key is None else in_cell(key[place], 30)


def first_of(names, most=5, more="more"):
    """Return the first of some names, and how many there are beyond."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} {more}" if rest > 0 else "")


def piece(text):
    """Return text, shortened, for a part of a cell."""
    return isolated(in_cell(str(text), 24))


def places(result, group):
    """Return the numbers of some rows, or of their lines, the first few of them."""
    return first_of([str(number) for number in result._number[group]], SHOWN_LINES)


def suspects_table(result, parts, shown):
    """Return the first suspects as a plain table, for paper and for browsers without scripts."""
    likely = ["Likely range"] if len(parts.likely) else []
    heads = [result._where.capitalize(), "Given", "Suggested", *likely]
    rows = tuple(
        (
            int(result._number[place]),
            in_cell(parts.given[place], 24),
            in_cell(parts.suggested[place], 24),
            *([parts.likely[place]] if likely else []),
            100 * float(result.quality[place]),
            in_cell(reasons_text(result, place), 300) or "no single column",
        )
        for place in shown
    )
    heads += ["Chance of being right, %", "Why"]
    return Table("suspects", "The least likely first", tuple(heads), rows, digits=1)


def drawn_words(drawn, n_rows, most):
    """Say that a picture shows only some of the rows, "" where it shows all."""
    few = f" {drawn:,} of {n_rows:,} rows, chosen at random, are shown (at most {most:,})."
    return "" if drawn == n_rows else few
