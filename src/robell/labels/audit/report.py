"""The page of an audit; its first screen needs no knowledge of machine learning."""

from __future__ import annotations

import platform
import re
import tomllib
from importlib import resources

import numpy as np
import scipy
import sklearn

from robell import __version__
from robell.labels.audit import sections
from robell.labels.audit.against import against_section, against_verdict
from robell.labels.audit.groups import groups_section, verdict
from robell.labels.audit.summary import directions, hardest_hit, noise_words
from robell.labels.trust import CLEAR, LEAST_SEPARATION, MOST_COLUMNS_A_ROW
from robell.report.page import (
    Bullets,
    Callout,
    Code,
    Details,
    Facts,
    Paragraph,
    Section,
    TableBlock,
    literal,
    render,
)
from robell.report.tables import Table
from robell.report.text import NAME, counted, in_cell, percent, quoted, said, shortened, visible
from robell.tables.numerals import number
from robell.tables.target import LEAST_OF_CLASS

SHOWN_WAYS = 4  # kinds of mistakes on the first screen
TRUST = {"good": "Good", "fair": "Fair", "weak": "Weak", "none": "Not at all"}
WORDS = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text("utf-8"))


def headline(result):
    """Return the result in one sentence of plain text, or two where one class is hit hardest."""
    hit = hardest_hit(result)
    return f"{noise_words(result, hit, said)}. {_how_many(result)}" if hit else _how_many(result)


def _how_many(result):
    """Say how many rows are suspect."""
    n, n_suspects = len(result.row), int(result.suspect.sum())
    if result.trust == "none":
        target = said(result.target)
        return f"The columns say too little about {target}: no row can be called suspect."
    if not n_suspects:
        if result.trust == "good":
            return f"None of the {n:,} labels checked looks wrong."
        return (
            f"Of {n:,} labels, none stands out as wrong, but the columns are not clear enough to "
            "be sure."
        )
    share = percent(n_suspects / n)
    if result.trust != "good":
        return f"Of {n:,} rows, {n_suspects:,} ({share}) may carry the wrong label."
    if n_suspects == 1:
        return f"Of {n:,} rows, one probably carries the wrong label."
    return f"Of {n:,} rows, {n_suspects:,} ({share}) look as if they carry the wrong label."


def share_predicted(result):
    """Say in plain words what the trust was measured by."""
    misfits = result.evidence.trust.misfits
    share = round(100 * (1 - misfits))
    share = min(share, 99) if misfits else share
    return f"with the label hidden, the other columns predicted it for {share} of 100 rows"


def really_wrong(result):
    """Return the estimated number of suspects that are wrong, at least one if there are any."""
    n_suspects = int(result.suspect.sum())
    return min(n_suspects, max(1, round(result.expected_wrong))) if n_suspects else 0


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
        sections.columns_section(result),
        limits_section(result),
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


def facts_of(result, how_good):
    """Yield the numbers of the first screen; ``how_good`` says what the trust rests on."""
    n, n_suspects = len(result.row), int(result.suspect.sum())
    yield "rows checked", f"{n:,}", rows_hint(result)
    if result.trust == "none":
        yield "rows to check by hand", "cannot tell", ""
    else:
        yield "rows to check by hand", f"{n_suspects:,}", f"{percent(n_suspects / n)} of the rows"
    if n_suspects == 1:
        yield "chance that it is really wrong", percent(result.expected_wrong), "by estimate"
    elif n_suspects:
        about = f"about {really_wrong(result):,}"
        yield "of these really wrong", about, "by estimate; the others are unusual but right"
    yield "how far to trust this", TRUST[result.trust], how_good


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


def rows_hint(result):
    """Say which of the file's rows were checked."""
    if result.n_rows == len(result.row):
        return "all rows of the file"
    chance = "drawn at random, " if result.evidence.is_sample else ""
    return f"{chance}of {result.n_rows:,} in the file"


def link_to(name):
    """Return a link to a file beside the page, where its name is plain enough for an address."""
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII):
        return f"[{literal(name)}]({name})"
    return quoted(name)


def _next_steps(result, top, table):
    n_suspects = int(result.suspect.sum())
    if result.trust == "none":
        yield f"Is {quoted(result.target)} the right column, and is what it depends on in the file?"
        remedy = "Add columns that have to do with it, or label some rows again"
        if _has_too_many_columns(result):
            remedy = "Leave out columns that have nothing to do with it, or add rows"
        yield f"{remedy}, and repeat the audit."
        yield f"{table} lists the rows without any judgement."
        return
    if not n_suspects:
        if result.trust == "good":
            yield f"Nothing needs to be done. {table} lists all rows, the least certain first."
        else:
            yield (
                f"If you can, look at the first rows of {table} by hand: the labels least likely "
                "to be right come first."
            )
            yield "More rows, or columns that have more to do with the label, would help."
        return
    where = "`row`" if result.line is None else "`line`"
    yield (
        f"Open {table} and start at the top: the labels least likely to be right come "
        f"first, and {where} says where each row stands in your file."
    )
    if top:
        shown = f"The first {top}" if top < n_suspects else "All of them"
        yield (
            f"Check them by hand. [{shown}](#suspects) are shown below, beside similar rows whose "
            "labels are trusted."
        )
    yield (
        "Write `keep`, `change` or `drop` into the column `decision`, and change a label only "
        "where you see that it is wrong: a row can be unusual and right. `robell apply` then "
        "makes the corrected table, and the next audit knows what was reviewed."
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
    if result.reviewed.any():
        were = "was" if result.reviewed.sum() == 1 else "were"
        yield (
            f"{counted(int(result.reviewed.sum()), 'row')} {were} reviewed before: the label that "
            "somebody decided upon is taken as right."
        )
    if result.n_unlabelled:
        words = result.evidence.labels.unlabelled.most_common(3)
        kinds = ", ".join(quoted(cell, 20) if cell else "empty" for cell, _ in words)
        were = "was" if result.n_unlabelled == 1 else "were"
        yield f"{counted(result.n_unlabelled, 'row')} without a label ({kinds}) {were} left out."
    if result.set_aside:
        yield _set_aside(result)


def leak_words(result, leak):
    """Say that a column repeats the target, and where it does not."""
    text = (
        f"Column {quoted(leak.name)} repeats {quoted(result.target)} in "
        f"{100 * leak.agreement:.4g} % of the rows and was left out: with it, every label would "
        "look right."
    )
    if not len(leak.exceptions):
        return text
    where = "row" if result.line is None else "line"
    where += "s" if len(leak.exceptions) > 1 else ""
    exceptions = sections.places(result, leak.exceptions)
    return f"{text} The two differ in {where} {exceptions}: look there first."


def _set_aside(result):
    names = ", ".join(f"{quoted(label)} ({n})" for label, n in list(result.set_aside.items())[:8])
    more = len(result.set_aside) - 8
    names += f" and {more:,} more" if more > 0 else ""
    n_rows = sum(result.set_aside.values())
    return (
        f"Classes of fewer than {LEAST_OF_CLASS} rows cannot be judged; "
        f"{counted(n_rows, 'row')} {'was' if n_rows == 1 else 'were'} set aside: {names}."
    )


def limits_section(result):
    """Say what an audit of this kind cannot find out."""
    used = counted(len(result.evidence.used), "column")
    items = tuple(item.format(used=used) for item in WORDS["limits"]["items"])
    return Section("limits", "What this cannot tell", (Bullets(items),))


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


def versions(random_state):
    """Say what the numbers were computed with."""
    return (
        f"robell {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn "
        f"{sklearn.__version__}, Python {platform.python_version()}; random state {random_state}."
    )


def names_section(result, labels=()):
    """List in full the names that the page has shortened."""
    names = [result.name, result.target, *labels]
    names += [note.name for note in result.columns]
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
