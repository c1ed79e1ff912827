"""The page of a fit: what a person needs to decide, first in rows, then in curves and tables."""

from __future__ import annotations

from robell import __version__
from robell._tools.pipelines import innermost
from robell._tools.text import in_cell, literal, percent, quoted
from robell.decisions.figures import calibration, columns_that_matter, precision_recall, roc
from robell.decisions.summary import (
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
from robell.report.tables import Table

MOST_CONFUSED = 12  # classes of which a table of mistakes is shown


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
