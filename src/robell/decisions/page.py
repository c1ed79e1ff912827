"""What a fit says: lines for a terminal, the page with its pictures, and the JSON."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from robell import __version__
from robell._tools.files import check_output, write_together
from robell._tools.pipelines import innermost
from robell._tools.text import counted, in_cell, literal, percent, quoted, said
from robell.report.page import (
    Bullets,
    Callout,
    Code,
    Details,
    Facts,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    render,
)
from robell.report.picture import ALARM, CALM, INK, MUTED, RULE, Picture, label
from robell.report.tables import Table

OFTEN = 3.0  # times as many predicted as labelled, from which on it is said
FEW_SUSPECTS = 0.05  # estimated share of wrong labels from which on measures are called too low
OVERCONFIDENT = 0.1  # calibration error from which on it is said
SHOWN = 5  # columns that the terminal names
SIZE = 300  # of the square in which curves are drawn
LEFT, TOP, BELOW = 52, 12, 44
ENDS = (0.04, 0.08, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the axes of a calibration curve
WIDTH = 460
MOST_DRAWN = 15
MOST_CONFUSED = 12  # classes of which a table of mistakes is shown


# -- sentences that terminal, page and JSON share ------------------------------------------


def in_rows(result):
    """Return the sentence that says what the threshold means, of 1,000 rows."""
    decision = result.assessment.decision
    if decision is None:
        accuracy = result.assessment.accuracy
        right, low, high = (round(1000 * v) for v in (accuracy.value, accuracy.low, accuracy.high))
        return (
            f"Of 1,000 rows like these, {right:,} would be predicted rightly ({low:,} to {high:,})."
        )
    shares = decision.flagged.value, decision.found.value, decision.share
    flagged, found, share = (round(1000 * value) for value in shares)
    return (
        f"Of 1,000 rows like these you would check {flagged:,} and find {found:,} of the {share:,} "
        f"that are {said(decision.positive, 30)}."
    )


def interval(measured):
    """Return a measured value with its interval."""
    return f"{measured.value:.3f} ({measured.low:.3f} to {measured.high:.3f})"


def cautions(result):
    """Return what a person must know before using the model."""
    decision, found = result.assessment.decision, []
    if decision is not None and decision.flagged.value > OFTEN * max(decision.share, 1e-9):
        flagged, by_aim = decision.flagged.value, decision.rule.kind in ("cost", "recall")
        if flagged > 0.5 or (not by_aim and decision.precision.value < 0.5 * decision.recall.value):
            found.append(
                f"At this threshold {percent(flagged)} of all rows are called "
                f"{said(decision.positive, 30)}, and {percent(decision.share)} are: most alarms "
                "are false."
            )
    if decision is not None and decision.roc_area.low <= 0.5:
        found.append("The columns do not tell the classes apart better than chance: do not use it.")
    if result.noise_rate >= FEW_SUSPECTS and not result.corrected:
        found.append(
            f"About {percent(result.noise_rate)} of the labels look wrong. Measured by such labels "
            "a good model looks worse than it is, and probabilities are those of the labels as "
            "given; with --labels corrected every row is counted by its probable label instead."
        )
    if decision is not None and decision.calibration_error > OVERCONFIDENT:
        found.append("The probabilities are off by more than 10 points in the mean.")
    return found


def suspects_line(result, source=None):
    """Return the line about labels that are probably wrong, with the command to look closer."""
    where = shlex.join([source or result.name, "--target", result.target])
    judged = f" of {result.n_judged:,} judged" if result.n_judged < result.n_fitted else ""
    count = counted(result.suspects, "label") if result.suspects else "No label"
    looks = "looks" if result.suspects < 2 else "look"
    return f"{count}{judged} {looks} wrong; look closer: robell audit {where}"


# -- what a terminal shows -----------------------------------------------------------------


def remarks(result):
    """Return what was left out, and what to beware of."""
    left_out = [note for note in result.encoder.notes_ if note.kind == "left out"]
    why = [f"{said(note.name)} {note.done.removeprefix('left out: ')}" for note in left_out[:3]]
    more = f"; and {len(left_out) - 3:,} more, see the report" if len(left_out) > 3 else ""
    columns = [f"columns left out: {'; '.join(why)}{more}"] if left_out else []
    return [*columns, *result.notes, *cautions(result)]


def lines(result, source=None):
    """Return what was found."""
    found, decision = result.assessment, result.assessment.decision
    of_class = list(zip(result.classes.tolist(), result.class_sizes, strict=True))
    sizes = ", ".join(f"{said(str(name), 20)} {size:,}" for name, size in of_class[:5])
    kind = type(innermost(result.model)).__name__
    text = [
        f"{kind} of {result.n_fitted:,} rows, {len(result.encoder.plans_)} columns; "
        f"rows of each class: {sizes}{', ...' if len(of_class) > 5 else ''}",
        in_rows(result),
    ]
    held = f"{found.n_held_out:,} held-out rows"
    if decision is None:
        text.append(
            f"On {held}: accuracy {interval(found.accuracy)}, mean recall of the classes "
            f"{interval(found.balanced_accuracy)}"
        )
    else:
        text.append(
            f"On {held}: average precision {interval(decision.average_precision)}, area under the "
            f"ROC curve {interval(decision.roc_area)}; precision {interval(decision.precision)}, "
            f"recall {interval(decision.recall)}"
        )
        text.append(f"Threshold {decision.threshold:.4g}: {decision.rule}")
    shown = [one for one in found.importances if one.drop > 2 * one.deviation and one.drop > 0]
    columns = ", ".join(f"{said(one.name, 30)} ({one.drop:.3f})" for one in shown[:SHOWN])
    text.append(f"Columns that matter most: {columns or 'none by itself'}")
    text.append(suspects_line(result, source))
    return text


# -- files ---------------------------------------------------------------------------------


def check_report_output(model, prefix=None, inputs=(), force=True):
    """Return the paths of page and JSON, beside the model or with a prefix of one's own.

    Raise where they may not be written. A model that goes to the null device has none.
    """
    model = Path(model)
    if prefix is None and model.exists() and not model.is_file():
        return ()
    start = Path(prefix or model.with_name(model.name.removesuffix(".skops") + "-fit"))
    paths = tuple(start.with_name(start.name + suffix) for suffix in (".html", ".json"))
    for path in paths:
        check_output(path, inputs, None if force else is_fit_file)
    return paths


def is_fit_file(path):
    """Say whether a file looks like a page or JSON of an earlier fit."""
    with Path(path).open("rb") as file:
        beginning = file.read(1 << 13)
    return b"<title>What the model is worth</title>" in beginning or beginning.startswith(
        b'{\n  "robell": '
    )


def write_report(result, html, data, *, command="", source=None):
    """Write page and JSON, both of them whole or neither."""
    page = fit_page(result, command=command, source=source)
    plain = json.dumps(as_json(result, command), indent=2, ensure_ascii=False, allow_nan=False)
    write_together({html: page, data: plain + "\n"})


def as_json(result, command=""):
    """Return everything that the page shows as plain values."""
    names = [str(name) for name in result.classes.tolist()]
    return {
        "robell": __version__,
        "command": command,
        "file": result.name,
        "target": result.target,
        "model": type(innermost(result.model)).__name__,
        "seed": result.seed,
        "rows": result.n_rows,
        "rows_fitted": result.n_fitted,
        "classes": dict(zip(names, result.class_sizes, strict=True)),
        "labels_counted": "corrected" if result.corrected else "given",
        "in_rows": in_rows(result),
        "cautions": cautions(result),
        "notes": list(result.notes),
        "held_out": _plain(dataclasses.asdict(result.assessment)),
        "labels": {
            "suspects": result.suspects,
            "judged": result.n_judged,
            "noise_rate": result.noise_rate,
            "noise_matrix": np.asarray(result.noise_matrix).tolist(),
        },
        "columns": [dataclasses.asdict(note) for note in result.encoder.notes_],
    }


def _plain(value):
    """Return values that JSON holds: no NaN, no tuples."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


# -- the page ------------------------------------------------------------------------------


def fit_page(result, *, command="", source=None):
    """Return the page as HTML."""
    sections = [_decision(result, source)]
    if result.assessment.decision is not None:
        sections.append(_curves(result))
    sections += [_classes(result), _columns(result), _table(result), _method(result, command)]
    kind = type(innermost(result.model)).__name__
    subtitle = (
        f"{kind} for {quoted(result.target)} in {quoted(result.name)}, fitted to "
        f"{result.n_fitted:,} rows"
    )
    footer = f"Written by robell {__version__}; nothing in this page comes from the network."
    return render("What the model is worth", subtitle, tuple(sections), footer)


def _decision(result, source):
    found, decision = result.assessment, result.assessment.decision
    blocks: list[Any] = [Paragraph(f"**{literal(in_rows(result))}**")]
    held = "each predicted by a model that had not seen it"
    if decision is None:
        facts = [
            _fact("accuracy", found.accuracy),
            _fact("balanced accuracy", found.balanced_accuracy),
        ]
        held = f"on {found.n_held_out:,} rows, each by a model that had not seen it"
    else:
        average = _fact("average precision", decision.average_precision)
        facts = [
            _fact("of the flagged are right (precision)", decision.precision, 100),
            _fact("of the positives are found (recall)", decision.recall, 100),
            _fact("of all rows are flagged", decision.flagged, 100),
            (*average[:2], f"{average[2]}; guessing: {decision.share:.3f}"),
            _fact("area under the ROC curve", decision.roc_area),
        ]
    blocks.append(Facts((*facts, ("held-out rows", f"{found.n_held_out:,}", held))))
    if decision is not None:
        blocks.append(
            Callout(
                "note",
                f"A row is called {quoted(decision.positive)} where its probability is at least "
                f"**{decision.threshold:.4g}**: {literal(str(decision.rule))}. The threshold is "
                "part of the model; `robell predict` applies it. Another is chosen with "
                "`--cost-fn` and `--cost-fp`, `--precision`, `--recall` or `--budget`.",
            )
        )
    blocks += [Callout("caution", literal(text)) for text in cautions(result)]
    blocks.append(Paragraph(f"**Labels.** {literal(suspects_line(result, source))}"))
    return Section("decision", "What it means for a decision", tuple(blocks))


def _fact(name, measured, times=1):
    """Return a measured value with its name and its interval, as a percentage where times 100."""
    form, unit = ("{:.1f}", " %") if times == 100 else ("{:.3f}", "")
    value, low, high = (
        form.format(times * v) for v in (measured.value, measured.low, measured.high)
    )
    return name, f"{value}{unit}", f"{low} to {high}{unit} for 95 of 100 such tables"


def _curves(result):
    decision = result.assessment.decision
    recall, precision, false = decision.point
    labels = "probable labels" if result.corrected else "the labels as given"
    blocks = (
        FigureBlock(
            precision_recall(decision),
            f"Precision over recall; the dot is the chosen threshold ({percent(precision)} of the "
            f"flagged are right, {percent(recall)} of the positives found), the dashed line is "
            "guessing.",
            f"Curve of precision over recall; chosen: {precision:.3f} and {recall:.3f}",
        ),
        FigureBlock(
            roc(decision),
            f"Positives found over negatives flagged; at the dot {percent(false)} of the negatives "
            "are flagged. The dashed line is guessing.",
            f"ROC curve; chosen: {recall:.3f} found at {false:.3f} false alarms",
        ),
        FigureBlock(
            calibration(decision),
            "Share of positives over the probability, for ten groups of equally many rows. On the "
            "dashed line probabilities mean what they say; the mean distance is "
            f"{decision.calibration_error:.3f}.",
            "Calibration curve of ten groups of rows",
        ),
        Paragraph(
            f"All of this is measured by {labels}. Counted by probable labels, precision is "
            f"{decision.probable[0]:.3f} and recall {decision.probable[1]:.3f}: each row counts by "
            "the probability that it is positive, given its columns and its label. Where labels "
            "are wrong, that is nearer the truth; where the model is wrong about them, it flatters "
            "the model."
        ),
    )
    return Section("curves", "Thresholds and probabilities", blocks)


def _classes(result):
    found = result.assessment
    names = [in_cell(one.name) for one in found.scores]
    rows = tuple(
        (name, one.rows, one.separation, one.precision, one.recall)
        for name, one in zip(names, found.scores, strict=True)
    )
    columns = ("Class", "Held-out rows", "Area under the ROC curve", "Precision", "Recall")
    table = Table("classes", "How each class is told from the others", columns, rows, digits=3)
    blocks: list[Any] = [
        TableBlock(table),
        Paragraph(
            f"Accuracy is {interval(found.accuracy)}, the mean of the recalls "
            f"{interval(found.balanced_accuracy)}."
        ),
    ]
    if len(names) <= MOST_CONFUSED:
        predicted = tuple(f"predicted {name}" for name in names)
        rows = tuple((name, *row) for name, row in zip(names, found.confusion, strict=True))
        title = "Held-out rows by label and prediction"
        blocks.append(TableBlock(Table("mistakes", title, ("Labelled", *predicted), rows)))
    return Section("classes", "Classes and mistakes", tuple(blocks))


def _columns(result):
    found = result.assessment
    what = "average precision" if found.decision is not None else "mean area under the ROC curves"
    text = (
        "The values of one column at a time are shuffled among held-out rows: the bars show by how "
        f"much the {what}, {found.importance_score:.3f}, falls. Columns that say the same can "
        "stand in for each other, and then neither matters by itself."
    )
    alt = "Bars of the columns that matter most"
    figure = FigureBlock(columns_that_matter(found.importances), "", alt)
    rows = tuple((in_cell(one.name), one.drop, one.deviation) for one in found.importances)
    names = ("Column", "Fall of the score", "Standard deviation of repeats")
    table = Table("importance", "All columns", names, rows, digits=4)
    folded = Details("All columns as a table", (TableBlock(table),))
    return Section("columns", "Which columns matter", (Paragraph(text), figure, folded))


def _table(result):
    rows = tuple(
        (in_cell(note.name), note.kind, note.missing, in_cell(note.done, 400))
        for note in result.encoder.notes_
    )
    names = ("Column", "Used as", "Missing cells", "What was done")
    table = TableBlock(Table("read", "How the columns were read", names, rows))
    notes = [Bullets(tuple(literal(note) for note in result.notes))] if result.notes else []
    return Section("table", "How the table was read", (*notes, table))


def _method(result, command):
    text = Paragraph(
        f"The rows were dealt out to {result.assessment.n_folds} parts, equal rows to the same "
        "one, and each part was predicted by a model fitted to the others. Probabilities are "
        "calibrated, and thresholds chosen for the measures above, by the other parts too; so no "
        "row had a say in how it was predicted or flagged. Intervals come from 200 samples of the "
        "held-out rows, drawn with replacement. Then the model was fitted to all rows."
    )
    blocks = (text, Code(command)) if command else (text,)
    return Section("method", "How this was measured", blocks)


# -- pictures: curves with the chosen point, calibration, columns that matter ------------


class _Axes:
    """A square from 0 to 1 in both directions, with names for both."""

    def __init__(self, name, title, about, across, most=1.0):
        size = (LEFT + SIZE + 20, TOP + SIZE + BELOW)
        self.picture, self.most = Picture(f"fit-{name}", *size, title, about), most
        for step in range(5):
            value = most * step / 4
            x, y = self.at(value, value)
            self.picture.line(LEFT, y, LEFT + SIZE, y, RULE)
            self.picture.text(LEFT - 6, y + 4, _tick(value), "end", fill=MUTED)
            self.picture.text(x, TOP + SIZE + 17, _tick(value), "middle", fill=MUTED)
        self.picture.text(LEFT + SIZE / 2, TOP + SIZE + 37, across, "middle")

    def at(self, x, y):
        """Return where a point of the square stands in the picture."""
        return LEFT + SIZE * x / self.most, TOP + SIZE * (1.0 - y / self.most)

    def curve(self, points, **options):
        """Draw a line through points of the square."""
        self.picture.curve([self.at(x, y) for x, y in points], **options)

    def dot(self, x, y, colour=ALARM, size=5.0):
        """Mark a point of the square."""
        self.picture.dots([self.at(x, y)], colour, "circle", size, 1.0)


def _tick(value):
    return f"{100 * value:.3g} %"


def precision_recall(decision):
    """Draw precision over recall, with the chosen point."""
    recall, precision, _ = decision.point
    about = f"At the chosen threshold precision is {precision:.2f} and recall {recall:.2f}"
    axes = _Axes("pr", "Precision and recall", about, "found of all positives (recall)")
    axes.curve([(0, decision.share), (1, decision.share)], colour=MUTED, width=1.0, dashes="4 4")
    axes.curve([(r, p) for r, p, _ in decision.points])
    axes.dot(recall, precision)
    return axes.picture.svg()


def roc(decision):
    """Draw the share of positives found over the share of false alarms, with the chosen point."""
    recall, _, false = decision.point
    about = f"At the chosen threshold {recall:.2f} are found with {false:.2f} false alarms"
    axes = _Axes("roc", "ROC curve", about, "negatives flagged (false alarms)")
    axes.curve([(0, 0), (1, 1)], colour=MUTED, width=1.0, dashes="4 4")
    axes.curve([(f, r) for r, _, f in decision.points])
    axes.dot(false, recall)
    return axes.picture.svg()


def calibration(decision):
    """Draw the share of positives over the probability, for groups of equally many rows."""
    bins = [(p, share) for p, share, _ in decision.bins]
    largest = max(max(pair) for pair in bins)
    most = next(end for end in ENDS if end >= largest or end == 1.0)
    about = "; ".join(f"{p:.3f}: {share:.3f}" for p, share in bins)
    axes = _Axes("calibration", "Calibration", about, "mean probability of a group", most)
    axes.curve([(0, 0), (most, most)], colour=MUTED, width=1.0, dashes="4 4")
    axes.curve(bins)
    for p, share in bins:
        axes.dot(p, share, CALM, 4.0)
    return axes.picture.svg()


def columns_that_matter(importances):
    """Draw by how much shuffling each column lowers the score."""
    shown = importances[:MOST_DRAWN]
    most = max(max(one.drop for one in shown), 1e-9)
    about = ", ".join(f"{label(one.name)}: {one.drop:.3f}" for one in shown)
    picture = Picture("fit-columns", WIDTH, 40 * len(shown) + 6, "Columns that matter", about)
    room = WIDTH - 90
    for place, one in enumerate(shown):
        top = 40 * place
        width = room * max(one.drop, 0.0) / most
        picture.text(0, top + 14, label(one.name), weight="600", fill=INK)
        picture.bar(0, top + 20, max(1.5, width), 12, CALM)
        error = room * one.deviation / most
        picture.line(max(width - error, 0), top + 26, min(width + error, room + 40), top + 26)
        picture.text(max(width + error, width) + 7, top + 31, f"{one.drop:.3f}", fill=MUTED)
    return picture.svg()
