"""The page of an audit of several annotators, in plain words."""

from __future__ import annotations

import numpy as np

from robell import __version__
from robell._tools.text import (
    counted,
    in_cell,
    isolated,
    literal,
    percent,
    quoted,
    said,
    shortened,
    visible,
)
from robell.labels.audit.common import versions, where_is
from robell.labels.audit.figures import annotator_bars, class_bars
from robell.report.page import (
    Bullets,
    Callout,
    Code,
    Facts,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    render,
)
from robell.report.tables import Table

FEW_LABELS = 20  # of an annotator, below which little is known about them
LITTLE_OVERLAP = 0.05  # share of labelled rows with two labels or more
NEAR_CHANCE = 0.1  # above 1 / K; whoever is below may as well guess
OFTEN = 0.05  # share of a class that is taken for another, from which on it is worth saying
MOST_BARS = 20


def headline(result):
    """Return the result in one or two sentences of plain text."""
    found = result.consensus
    rows = int((result.votes > 0).sum())
    labels = f"{counted(len(found.annotator), 'annotator')} gave {len(found.given_label):,} labels"
    best, worst = found.annotator_quality.argmax(), found.annotator_quality.argmin()
    if overlap(result) < LITTLE_OVERLAP and not result.used:
        return f"{labels} to {rows:,} rows, too few of them twice to tell who is right."
    return (
        f"{labels} to {rows:,} rows; the consensus is {percent(sureness(result))} sure in the "
        f"mean. {said(str(found.annotator[best]), 30)} is right most often "
        f"({percent(float(found.annotator_quality[best]))}), "
        f"{said(str(found.annotator[worst]), 30)} least often "
        f"({percent(float(found.annotator_quality[worst]))})."
    )


def sureness(result):
    """Return the mean quality of the consensus, over the rows that have one."""
    return float(result.consensus.quality[result.known].mean())


def overlap(result):
    """Return the share of labelled rows that two annotators or more have labelled."""
    return float((result.votes > 1).sum() / max((result.votes > 0).sum(), 1))


def crowd_page(result, *, top, csv_name, command=""):
    """Return the whole HTML page."""
    sections = [
        _first_screen(result, csv_name),
        _annotators(result),
        _label_next(result, top),
        _doubtful(result, top),
        _classes(result),
        _columns(result),
        _limits(result),
        _how(result, command),
    ]
    found = result.consensus
    subtitle = (
        f"{counted(len(result.row), 'row')}, {counted(len(found.annotator), 'annotator')}, "
        f"{counted(len(found.classes), 'class', 'classes')}. Who is right?"
    )
    title = f"Annotators of {shortened(result.name)}"
    shown = [section for section in sections if section is not None]
    return render(title, subtitle, shown, footer=f"robell {__version__}")


def _first_screen(result, csv_name):
    found, n = result.consensus, len(result.row)
    labelled = int((result.votes > 0).sum())
    where = (
        f"of {result.n_rows:,} in the file" if result.key is None else f"in {result.n_rows:,} lines"
    )
    facts = [
        ("rows with labels", f"{labelled:,}", where),
        ("labels a row", f"{len(found.given_label) / max(labelled, 1):.1f}", "in the mean"),
        ("sureness of the consensus", percent(sureness(result)), "in the mean of the rows"),
        ("rows that are unsure", f"{int(result.unsure.sum()):,}", "less than 80 % sure"),
    ]
    steps = [
        f"{quoted(csv_name)} holds the consensus of each row, the least sure first, with its "
        "probability: use it as the label, and the probability as a weight.",
        "Have the rows under [what to label next](#next) labelled, by those named there.",
        "Talk to annotators who often take one class for another: see [annotators](#annotators).",
    ]
    blocks = [Paragraph(f"**{literal(headline(result))}**"), Facts(tuple(facts))]
    blocks += [Callout("caution", text) for text in cautions(result)]
    blocks += [Paragraph("**What to do next**"), Bullets(tuple(steps))]
    if labelled < n:
        what = "their consensus comes from the columns alone" if result.used else "they have none"
        blocks.append(Callout("note", f"{counted(n - labelled, 'row')} without a label: {what}."))
    if result.set_aside:
        names = ", ".join(f"{quoted(k, 20)} ({v})" for k, v in list(result.set_aside.items())[:5])
        blocks.append(
            Callout("note", f"Labels given fewer than five times were left out: {names}.")
        )
    return Section("found", "What was found", tuple(blocks))


def cautions(result):
    """Yield what a reader must know before trusting the consensus."""
    found, little = result.consensus, overlap(result) < LITTLE_OVERLAP
    if little and not result.used:
        yield (
            f"Only {percent(overlap(result))} of the rows were labelled twice, and there are no "
            "other columns: who is right cannot be told. The labels are given back as they are."
        )
    elif little:
        yield (
            f"Only {percent(overlap(result))} of the rows were labelled twice: annotators are "
            "compared by the columns alone. One who errs as the columns mislead looks right."
        )
    few = [
        str(name) for name, n in zip(found.annotator, found.n_labels, strict=True) if n < FEW_LABELS
    ]
    if few:
        names = ", ".join(quoted(name, 20) for name in few[:5])
        more = f" and {len(few) - 5} more" if len(few) > 5 else ""
        yield (
            f"Fewer than {FEW_LABELS} labels each: {names}{more}. Little is known of them; they "
            "are taken for average annotators."
        )
    for name in result.leaks[:3]:
        yield f"Column {quoted(name)} repeats the labels and was left out."
    if result.n_read < result.n_rows:
        yield f"A random sample of {result.n_read:,} of {result.n_rows:,} rows was read."


def _annotators(result):
    found = result.consensus
    order = np.argsort(-found.annotator_quality, kind="stable")
    wrong = np.bincount(
        found.given_annotator[found.given_quality < 0.5], minlength=len(found.annotator)
    )
    rows = tuple(
        (
            in_cell(str(found.annotator[j])),
            100 * float(found.annotator_quality[j]),
            int(found.n_labels[j]),
            int(wrong[j]),
            verdict(result, j),
            confusion_words(found, j) or None,
        )
        for j in order
    )
    columns = "Annotator", "Right, %", "Labels", "Doubtful", "Verdict", "Most often confused"
    table = Table(
        "annotators", "What each annotator is worth", columns, rows, digits=(0, 0, 0, 0, 0, 0)
    )
    shown = order[:MOST_BARS]
    svg = annotator_bars(
        [str(found.annotator[j]) for j in shown],
        found.annotator_quality[shown],
        found.n_labels[shown],
        1.0 / len(found.classes),
    )
    caption = (
        "Estimated share of right labels, were each annotator to label all rows. Dashed: guessing."
    )
    if len(shown) < len(order):
        caption += f" The {len(shown)} best of {len(order):,}."
    figure = FigureBlock(svg, caption, "Bars: the share of right labels of each annotator")
    return Section("annotators", "Annotators", (figure, TableBlock(table)))


def verdict(result, j):
    """Say in a word or two how far to trust an annotator."""
    found = result.consensus
    quality = float(found.annotator_quality[j])
    if found.n_labels[j] < FEW_LABELS:
        return "too few labels"
    if quality < 1.0 / len(found.classes) + NEAR_CHANCE:
        return "hardly better than guessing"
    middle = float(np.median(found.annotator_quality))
    error = np.sqrt(quality * (1.0 - quality) / found.n_labels[j])
    if quality > middle + 2.0 * error:
        return "better than most"
    return "worse than most" if quality < middle - 2.0 * error else "like most"


def confusion_words(found, j):
    """Say what an annotator most often takes for something else, "" where nothing is often."""
    wrong = found.confusion[j].copy()
    np.fill_diagonal(wrong, 0.0)
    z, given = np.unravel_index(wrong.argmax(), wrong.shape)
    if wrong[z, given] < OFTEN or found.n_labels[j] < FEW_LABELS:
        return ""
    return (
        f"{_name(found.classes[z])} labelled {_name(found.classes[given])} "
        f"({round(100 * wrong[z, given])} of 100)"
    )


def _name(label):
    return isolated(in_cell(str(label), 24))


def place(result, r):
    """Say what a row is called, or where it stands."""
    if result.key is not None:
        return in_cell(result.key[r], 30)
    return where_is(result, r)


def _label_next(result, top):
    found = result.consensus
    row, annotator, gain = found.next_labels(top)
    if not len(row) or gain[0] <= 0:
        return None
    rows = tuple(
        (
            place(result, r),
            in_cell(str(who)),
            _name(found.label[r]),
            100 * float(found.quality[r]),
            100 * float(worth),
            int(result.votes[r]),
        )
        for r, who, worth in zip(row, annotator, gain, strict=True)
    )
    columns = "Row", "Ask", "Consensus now", "Sure, %", "Surer by", "Labels"
    table = Table(
        "next", "What to label next, and by whom", columns, rows, digits=(0, 0, 0, 0, 1, 0)
    )
    text = (
        "One more label is worth most here: the row is unsure, and the annotator named is the one "
        "whose answer is expected to make it surer by the most, among those who have not labelled "
        "it yet. All rows are in the CSV file."
    )
    return Section("next", "What to label next", (Paragraph(text), TableBlock(table)))


def _doubtful(result, top):
    found = result.consensus
    order = np.argsort(found.given_quality, kind="stable")
    order = order[found.given_quality[order] < 0.5]
    if not len(order):
        return None
    rows = tuple(
        (
            place(result, int(found.given_row[k])),
            in_cell(str(found.annotator[found.given_annotator[k]])),
            _name(found.given_label[k]),
            _name(found.label[found.given_row[k]]),
            100 * float(found.given_quality[k]),
        )
        for k in order[:top]
    )
    columns = "Row", "Annotator", "Label given", "Consensus", "Chance of being right, %"
    table = Table("doubtful", "The least likely labels", columns, rows, digits=(0, 0, 0, 0, 1))
    text = (
        f"{len(order):,} of {counted(len(found.given_label), 'label')} are more likely wrong than "
        "right, given the other labels of the row, its values, and who gave them."
    )
    return Section("doubtful", "Doubtful labels", (Paragraph(text), TableBlock(table)))


def _classes(result):
    found = result.consensus
    given = np.array([(found.given_label == name).sum() for name in found.classes])
    share = found.probability[result.known].sum(axis=0)
    chosen = np.sort(np.argsort(-given, kind="stable")[:MOST_BARS])
    scale = given.sum() / max(share.sum(), 1.0)
    svg = class_bars(
        [str(found.classes[k]) for k in chosen], share[chosen].round().astype(int), None
    )
    caption = f"Rows by their consensus; a row has {scale:.1f} labels in the mean."
    return Section(
        "classes", "Classes", (FigureBlock(svg, caption, "Bars: the rows of each class"),)
    )


def _columns(result):
    if not result.columns:
        return None
    rows = tuple((in_cell(n.name), n.kind, n.missing, n.done) for n in result.columns)
    columns = "Column", "Used as", "Missing", "What was done"
    table = Table("columns", "What was done to each other column", columns, rows)
    text = f"{len(result.used)} of {counted(len(rows), 'column')} had a say about the classes."
    return Section("columns", "Columns", (Paragraph(text), TableBlock(table)))


def _limits(result):
    items = (
        "**Copies.** Annotators who copy from each other, or talk, look better than they are.",
        "**Mistakes all make.** Where most annotators take one class for another, the consensus "
        "does too.",
        "**Hard rows.** Annotators are taken to err by the class alone. Real ones err more often "
        "on hard rows, so that sureness is a little too high there.",
    )
    return Section("limits", "What this cannot tell", (Bullets(items),))


def _how(result, command):
    blocks = [Code(visible(command))] if command else []
    say = (
        "A classifier that had not seen the row, fitted to the classes found so far, has a say "
        "about every row too."
        if result.used
        else "There were no other columns, so that labels alone were compared."
    )
    blocks.append(
        Paragraph(
            f"The table was read as {result.how}. How often each annotator takes one class for "
            "another and the true classes were estimated in turn (the model of Dawid and Skene, "
            f"annotators with few labels drawn to the mean of all). {say}"
        )
    )
    blocks.append(Paragraph(versions(result.random_state)))
    return Section("how", "How it was made", tuple(blocks))
