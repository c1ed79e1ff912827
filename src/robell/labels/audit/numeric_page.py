"""The page of an audit of numbers; its first screen needs no knowledge of machine learning."""

from __future__ import annotations

import tomllib
from importlib import resources

from robell import __version__
from robell.labels.audit.numeric_sections import (
    noise_section,
    picture_section,
    shown_number,
    suspects_section,
)
from robell.labels.audit.report import (
    TRUST,
    facts_of,
    leak_words,
    link_to,
    names_section,
    really_wrong,
    versions,
)
from robell.labels.audit.sections import columns_section
from robell.labels.trust_numbers import MOST_COLUMNS_A_ROW
from robell.report.page import (
    Bullets,
    Callout,
    Code,
    Facts,
    Paragraph,
    Section,
    literal,
    render,
)
from robell.report.text import counted, percent, quoted, said, shortened, visible

WORDS = tomllib.loads(
    resources.files(__package__).joinpath("numeric_words.toml").read_text("utf-8")
)


def number_headline(result):
    """Return the result in one sentence of plain text."""
    n, n_suspects, target = len(result.row), int(result.suspect.sum()), said(result.target)
    if result.trust == "none":
        return f"The columns say too little about {target}: no row can be called suspect."
    if not n_suspects:
        if result.trust == "good":
            return f"None of the {n:,} numbers checked looks wrong."
        return (
            f"Of {n:,} numbers, none stands out as wrong, but the columns are not clear enough to "
            "be sure."
        )
    share = percent(n_suspects / n)
    if result.trust != "good":
        return f"Of {n:,} rows, {n_suspects:,} ({share}) may have a wrong {target}."
    if n_suspects == 1:
        return f"Of {n:,} rows, one probably has a wrong {target}."
    return f"Of {n:,} rows, {n_suspects:,} ({share}) look as if their {target} were wrong."


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
    left_out = result.n_rows - len(result.row)
    checked = f"{len(result.row):,} rows checked" + (f", {left_out:,} not" if left_out else "")
    if result.reviewed.any():
        checked += f" ({counted(int(result.reviewed.sum()), 'row')} were reviewed before)"
    lines = [number_headline(result), checked]
    if kind := taken_as_numbers(result):
        lines[-1] += f"; {kind}"
    n_suspects = int(result.suspect.sum())
    expected = (
        f"; about {really_wrong(result):,} of the {n_suspects:,} are really wrong by estimate"
        if n_suspects > 1
        else ""
    )
    lines.append(f"Trust: {TRUST[result.trust].lower()} ({how_near(result)}){expected}")
    return lines


def number_page(result, *, top, csv_name, command=""):
    """Return the whole HTML page, with the ``top`` most suspect rows and a link to the CSV file."""
    made = [
        _first_screen(result, top, csv_name),
        suspects_section(result, top),
        picture_section(result),
        noise_section(result),
        columns_section(result),
        _limits_section(result),
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
    blocks += [Callout("note", text) for text in _left_out(result)]
    return Section("found", "What was found", tuple(blocks))


def _meaning(result):
    """Return what the word for the trust means for this table."""
    has_suspects = bool(result.suspect.any())
    return WORDS["meaning" if has_suspects else "meaning_without_suspects"][result.trust]


def _next_steps(result, top, table):
    n_suspects = int(result.suspect.sum())
    if result.trust == "none":
        yield f"Is {quoted(result.target)} the right column, and is what it depends on in the file?"
        yield "Add columns that have to do with it, and repeat the audit."
        yield f"{table} lists the rows without any judgement."
        return
    if not n_suspects:
        yield f"{table} lists all rows, the least certain first."
        return
    where = "`row`" if result.line is None else "`line`"
    yield (
        f"Open {table} and start at the top: the numbers least likely to be right come first, and "
        f"{where} says where each row stands in your file."
    )
    if top:
        shown = f"The first {top}" if top < n_suspects else "All of them"
        yield f"Check them by hand. [{shown}](#suspects) are shown below, beside similar rows."
    yield (
        "Write `keep`, `change` or `drop` into the column `decision`. Before a `change`, put the "
        "right number into the column `suggested`: what stands there is a prediction, no "
        "measurement. `robell apply` then makes the corrected table, and the next audit knows what "
        "was reviewed."
    )


def _warnings(result):
    """Yield what a reader must know before trusting the numbers."""
    evidence = result.evidence
    if evidence.is_sample:
        yield (
            f"The file has {result.n_rows:,} rows; a random sample of {evidence.n_read:,} was "
            "looked at. The other rows were not."
        )
    for leak in evidence.leaks:
        yield leak_words(result, leak)
    n_rows, n_columns = evidence.matrix.shape
    if n_columns > MOST_COLUMNS_A_ROW * n_rows:
        yield (
            f"The table has {counted(n_columns, 'column')} of numbers, categories spread out, for "
            f"only {counted(n_rows, 'row')}: numbers can look right or wrong by chance. Leave out "
            f"columns that have nothing to do with {quoted(result.target)} (`--ignore`, in Python "
            "`drop=`), or add rows."
        )


def _left_out(result):
    """Yield which rows were not judged, or not again."""
    if result.reviewed.any():
        were = "was" if result.reviewed.sum() == 1 else "were"
        yield (
            f"{counted(int(result.reviewed.sum()), 'row')} {were} reviewed before: the number that "
            "somebody decided upon is taken as right."
        )
    if result.n_unlabelled:
        words = result.evidence.target.unlabelled.most_common(3)
        kinds = ", ".join(quoted(cell, 20) if cell else "empty" for cell, _ in words)
        were = "was" if result.n_unlabelled == 1 else "were"
        yield (
            f"{counted(result.n_unlabelled, 'row')} without a usable number ({kinds}) {were} left "
            "out."
        )


def _limits_section(result):
    """Say what an audit of this kind cannot find out."""
    used = counted(len(result.evidence.used), "column")
    items = tuple(item.format(used=used) for item in WORDS["limits"]["items"])
    return Section("limits", "What this cannot tell", (Bullets(items),))


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
