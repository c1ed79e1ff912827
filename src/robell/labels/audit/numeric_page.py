"""The page of an audit of numbers; its first screen needs no knowledge of machine learning."""

from __future__ import annotations

import tomllib
from importlib import resources

from robell import __version__
from robell._tools.text import counted, literal, percent, quoted, said, shortened, visible
from robell.labels.audit.common import (
    checked_words,
    columns_section,
    facts_of,
    how_many,
    limits_section,
    link_to,
    names_section,
    not_judged,
    sample_and_leaks,
    steps_to_suspects,
    steps_without_trust,
    trust_words,
    versions,
)
from robell.labels.audit.numeric_sections import (
    noise_section,
    picture_section,
    shown_number,
    suspects_section,
)
from robell.labels.trust_numbers import MOST_COLUMNS_A_ROW
from robell.report.page import Bullets, Callout, Code, Facts, Paragraph, Section, render

WORDS = tomllib.loads(
    resources.files(__package__).joinpath("numeric_words.toml").read_text("utf-8")
)


def number_headline(result):
    """Return the result in one sentence of plain text."""
    target = said(result.target)
    wrong = (
        f"may have a wrong {target}",
        f"probably has a wrong {target}",
        f"look as if their {target} were wrong",
    )
    return how_many(result, "numbers", wrong)


def how_near(result):
    """Say in plain words what the trust was measured by."""
    trust = result.evidence.trust
    return (
        "with the number hidden, the other columns predicted it to within "
        f"{shown_number(trust.usual_error)} for half of the rows; without them it would be "
        f"{shown_number(trust.without)}"
    )


def taken_as_numbers(result, *, quote=said, option="--kind classes"):
    """Say that the target was taken as numbers, and how to say otherwise; "" if that was said."""
    if result.evidence.asked_for:
        return ""
    n_distinct = result.evidence.target.n_distinct
    return (
        f"{quote(result.target)} holds {n_distinct:,} different numbers, taken as measured; if "
        f"they are codes of classes, say so with {option}"
    )


def terminal_lines(result):
    """Return what was found in a few lines."""
    kind = taken_as_numbers(result)
    checked = checked_words(result) + (f"; {kind}" if kind else "")
    return [number_headline(result), checked, trust_words(result, how_near(result))]


def number_page(result, *, top, csv_name, command=""):
    """Return the whole HTML page, with the ``top`` most suspect rows and a link to the CSV file."""
    made = [
        _first_screen(result, top, csv_name),
        suspects_section(result, top),
        picture_section(result),
        noise_section(result),
        columns_section(result),
        limits_section(result, WORDS["limits"]["items"]),
        _how_section(result, command),
        names_section(result),
    ]
    subtitle = (
        f"Are the numbers in column {quoted(result.target)} right? "
        f"{counted(len(result.row), 'row')}."
    )
    title = f"Number audit of {shortened(result.name)}"
    shown = [section for section in made if section is not None]
    return render(title, subtitle, shown, footer=f"robell {__version__}")


def _first_screen(result, top, csv_name):
    """Say what was found, what to do about it, and how far to trust it."""
    blocks = [
        Paragraph(f"**{literal(number_headline(result))}**"),
        Facts(tuple(facts_of(result, how_near(result)))),
        Callout("note" if result.trust in ("good", "fair") else "caution", _meaning(result)),
    ]
    if kind := taken_as_numbers(
        result, quote=quoted, option='`--kind classes` (in Python `kind="classes"`)'
    ):
        blocks.append(Callout("note", f"{kind}."))
    blocks.append(Paragraph("**What to do next**"))
    blocks.append(Bullets(tuple(_next_steps(result, top, link_to(csv_name)))))
    blocks += [Callout("caution", text) for text in _warnings(result)]
    left_out = not_judged(result, result.evidence.target.unlabelled, "number", "a usable number")
    blocks += [Callout("note", text) for text in left_out]
    return Section("found", "What was found", tuple(blocks))


def _meaning(result):
    """Return what the word for the trust means for this table."""
    has_suspects = bool(result.suspect.any())
    return WORDS["meaning" if has_suspects else "meaning_without_suspects"][result.trust]


def _next_steps(result, top, table):
    if result.trust == "none":
        remedy = "Add columns that have to do with it"
        yield from steps_without_trust(result, table, remedy)
    elif result.suspect.any():
        yield from steps_to_suspects(result, top, table, "numbers", "similar rows")
        yield (
            "Write `keep`, `change` or `drop` into the column `decision`. Before a `change`, put "
            "the right number into the column `suggested`: what stands there is a prediction, no "
            "measurement. `robell apply` then makes the corrected table, and the next audit knows "
            "what was reviewed."
        )
    else:
        yield f"{table} lists all rows, the least certain first."


def _warnings(result):
    """Yield what a reader must know before trusting the numbers."""
    yield from sample_and_leaks(result)
    n_rows, n_columns = result.evidence.matrix.shape
    if n_columns > MOST_COLUMNS_A_ROW * n_rows:
        yield (
            f"The table has {counted(n_columns, 'column')} of numbers, categories spread out, for "
            f"only {counted(n_rows, 'row')}: numbers can look right or wrong by chance. Leave out "
            f"columns that have nothing to do with {quoted(result.target)} (`--ignore`, in Python "
            "`drop=`), or add rows."
        )


def _how_section(result, command):
    """Say how the numbers were computed, and how to get them again."""
    evidence = result.evidence
    blocks = [Code(visible(command))] if command else []
    text = (
        f"The table was read as {evidence.table.how}. Its columns were turned into numbers as "
        "listed [above](#columns). The number of every row was predicted by five small models "
        "fitted to the other rows, in closed form; rows that looked wrong counted less in a second "
        f"fit. The predictions explain {percent(max(0.0, result.explained))} of the squared "
        "differences between right numbers. How far right numbers usually are from their "
        "prediction was estimated too, row by row and with heavy tails, and so was the share of "
        "wrong ones. A row is suspect where its number is more probably wrong than right; ranges "
        "hold the right number nine times in ten."
    )
    return Section(
        "how",
        "How it was made",
        (*blocks, Paragraph(text), Paragraph(versions(evidence.random_state))),
    )
