"""The files of a fit: the page with its pictures, what a person needs to decide, and the JSON."""

from __future__ import annotations

import json
from pathlib import Path

from robell import __version__
from robell._tools.files import write_together
from robell._tools.pipelines import innermost
from robell._tools.text import in_cell, literal, percent, quoted
from robell.decisions.summary import (
    as_json,
    cautions,
    in_rows,
    interval,
    suspects_line,
)
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

SIZE = 300  # of the square in which curves are drawn
LEFT, TOP, BELOW = 52, 12, 44
ENDS = (0.04, 0.08, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the axes of a calibration curve
WIDTH = 460
MOST_DRAWN = 15
MOST_CONFUSED = 12  # classes of which a table of mistakes is shown


def report_paths(model, prefix=None):
    """Return the paths of page and JSON: beside the model, or with a prefix of one's own."""
    if prefix is None:
        model = Path(model)
        prefix = model.with_name(model.name.removesuffix(".skops") + "-fit")
    prefix = Path(prefix)
    return prefix.with_name(prefix.name + ".html"), prefix.with_name(prefix.name + ".json")


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
    blocks = [Paragraph(f"**{literal(in_rows(result))}**")]
    blocks.append(Facts(tuple(_facts(found, decision))))
    if decision is not None:
        blocks.append(
            Callout(
                "note",
                f"A row is called {quoted(decision.positive)} where its probability is at least "
                f"**{decision.threshold:.4g}**: {literal(str(decision.rule))}. The threshold is "
                f"part "
                "of the model; `robell predict` applies it. Another is chosen with `--cost-fn` and "
                "`--cost-fp`, `--precision`, `--recall` or `--budget`.",
            )
        )
    blocks += [Callout("caution", literal(text)) for text in cautions(result)]
    blocks.append(Paragraph(f"**Labels.** {literal(suspects_line(result, source))}"))
    return Section("decision", "What it means for a decision", tuple(blocks))


def _facts(found, decision):
    held = f"on {found.n_held_out:,} rows, each by a model that had not seen it"
    if decision is None:
        yield "accuracy", f"{found.accuracy.value:.3f}", _range(found.accuracy)
        yield (
            "balanced accuracy",
            f"{found.balanced_accuracy.value:.3f}",
            _range(found.balanced_accuracy),
        )
        yield "held-out rows", f"{found.n_held_out:,}", held
        return
    yield (
        "of the flagged are right (precision)",
        _share(decision.precision),
        _range(decision.precision, 100),
    )
    yield (
        "of the positives are found (recall)",
        _share(decision.recall),
        _range(decision.recall, 100),
    )
    yield "of all rows are flagged", _share(decision.flagged), _range(decision.flagged, 100)
    yield (
        "average precision",
        f"{decision.average_precision.value:.3f}",
        (f"{_range(decision.average_precision)}; guessing: {decision.share:.3f}"),
    )
    yield "area under the ROC curve", f"{decision.roc_area.value:.3f}", _range(decision.roc_area)
    yield "held-out rows", f"{found.n_held_out:,}", "each predicted by a model that had not seen it"


def _share(measured):
    return f"{100 * measured.value:.1f} %"


def _range(measured, times=1):
    form, unit = ("{:.1f}", " %") if times == 100 else ("{:.3f}", "")
    low, high = form.format(times * measured.low), form.format(times * measured.high)
    return f"{low} to {high}{unit} for 95 of 100 such tables"


def _curves(result):
    decision = result.assessment.decision
    recall, precision, false = decision.point
    labels = "probable labels" if result.corrected else "the labels as given"
    other = (
        f"Counted by probable labels, precision is {decision.probable[0]:.3f} and recall "
        f"{decision.probable[1]:.3f}: each row counts by the probability that it is positive, "
        f"given "
        "its columns and its label. Where labels are wrong, that is nearer the truth; where the "
        "model is wrong about them, it flatters the model."
    )
    blocks = (
        FigureBlock(
            precision_recall(decision),
            f"Precision over recall; the dot is the chosen threshold ({percent(precision)} of the "
            f"flagged are right, {percent(recall)} of the positives found), the dashed line is "
            f"guessing.",
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
            f"dashed line probabilities mean what they say; the mean distance is "
            f"{decision.calibration_error:.3f}.",
            "Calibration curve of ten groups of rows",
        ),
        Paragraph(f"All of this is measured by {labels}. {other}"),
    )
    return Section("curves", "Thresholds and probabilities", blocks)


def _classes(result):
    found = result.assessment
    rows = tuple(
        (in_cell(one.name), one.rows, one.separation, one.precision, one.recall)
        for one in found.scores
    )
    columns = ("Class", "Held-out rows", "Area under the ROC curve", "Precision", "Recall")
    table = Table("classes", "How each class is told from the others", columns, rows, digits=3)
    blocks = [
        TableBlock(table),
        Paragraph(
            f"Accuracy is {interval(found.accuracy)}, the mean of the recalls "
            f"{interval(found.balanced_accuracy)}."
        ),
    ]
    if len(found.scores) <= MOST_CONFUSED:
        names = [in_cell(one.name) for one in found.scores]
        blocks.append(
            TableBlock(
                Table(
                    "mistakes",
                    "Held-out rows by label and prediction",
                    ("Labelled", *(f"predicted {name}" for name in names)),
                    tuple((name, *row) for name, row in zip(names, found.confusion, strict=True)),
                )
            )
        )
    return Section("classes", "Classes and mistakes", tuple(blocks))


def _columns(result):
    found = result.assessment
    what = "average precision" if found.decision is not None else "mean area under the ROC curves"
    text = (
        f"The values of one column at a time are shuffled among held-out rows: the bars show by "
        f"how "
        f"much the {what}, {found.importance_score:.3f}, falls. Columns that say the same can "
        f"stand "
        "in for each other, and then neither matters by itself."
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
    blocks = [TableBlock(Table("read", "How the columns were read", names, rows))]
    if result.notes:
        blocks.insert(0, Bullets(tuple(literal(note) for note in result.notes)))
    return Section("table", "How the table was read", tuple(blocks))


def _method(result, command):
    found = result.assessment
    text = (
        f"The rows were dealt out to {found.n_folds} parts, equal rows to the same one, and each "
        f"part "
        "was predicted by a model fitted to the others. Probabilities are calibrated, and "
        "thresholds "
        "chosen for the measures above, by the other parts too; so no row had a say in how it was "
        "predicted or flagged. Intervals come from 200 samples of the held-out rows, drawn with "
        "replacement. Then the model was fitted to all rows."
    )
    blocks = [Paragraph(text)]
    if command:
        blocks.append(Code(command))
    return Section("method", "How this was measured", tuple(blocks))


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
