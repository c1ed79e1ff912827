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
from robell._tools.pipelines import steps_of
from robell._tools.text import counted, few, in_cell, literal, number_text, percent, quoted, said
from robell.report import page as html
from robell.report.picture import ALARM, CALM, INK, MUTED, RULE, Picture, label
from robell.report.tables import MINUS, Table
from robell.tables.columns import advice_on

OFTEN = 3.0  # times as many predicted as labelled, from which on it is said
FEW_SUSPECTS = 0.05  # estimated share of wrong labels from which on measures are called too low
OVERCONFIDENT = 0.1  # calibration error from which on it is said
SHOWN = 5  # columns that the terminal names
SIZE = 300  # of the square in which curves are drawn
LEFT, TOP, BELOW = 52, 34, 44
ENDS = (0.04, 0.08, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the axes of a calibration curve
WIDTH = 460
MOST_DRAWN = 15
MOST_CONFUSED = 12  # classes of which a table of mistakes is shown


# -- sentences that terminal, page and JSON share ------------------------------------------


def model_name(result):
    """Return what kind of model was fitted, and whether it was made robust to wrong labels."""
    parts = [type(part).__name__ for part in steps_of(result.model)]
    return parts[-1] + ", made robust" * ("NoiseRobustClassifier" in parts)


def in_rows(result):
    """Return the sentence that says what the threshold means, of 1,000 rows."""
    decision = result.assessment.decision
    if decision is None:
        right, low, high = result.assessment.accuracy.texts("{:,.0f}", 1000)
        return f"Of 1,000 rows like these, {right} would be predicted rightly ({low} to {high})."
    flagged, *_ = decision.flagged.texts("{:,.0f}", 1000)
    found, *_ = decision.found.texts("{:,.0f}", 1000)
    return (
        f"Of 1,000 rows like these you would check {flagged} and find {found} of the "
        f"{1000 * decision.share:,.0f} that are {said(decision.positive, 30)}."
    )


def of_hundred(measured):
    """Return a measured share as a number of 100, with its interval."""
    value, low, high = measured.texts("{:.0f}", 100)
    return f"{value} of 100", f"{low} to {high}"


def costs_line(decision):
    """Return what 1,000 rows would cost, in the money in which the costs were given."""
    costs, name = decision.costs, said(decision.positive, 30)
    chosen = costs.chosen
    value, low, high = map(number_text, (chosen.value, chosen.low, chosen.high))
    cheaper = "every row" if costs.flag_all <= costs.flag_none else "none"
    is_cheaper = min(costs.flag_all, costs.flag_none) < chosen.value
    advice = f" To call {cheaper} so would be cheaper than the model." if is_cheaper else ""
    return (
        f"1,000 rows like these would cost {value} in misses and false alarms ({low} to {high}); "
        f"{number_text(costs.flag_all)} if every row were called {name}, "
        f"{number_text(costs.flag_none)} if none were.{advice}"
    )


def interval(measured):
    """Return a measured value with its interval."""
    value, low, high = measured.texts("{:.3f}")
    return f"{value} ({low} to {high})"


def cautions(result):
    """Return what a person must know before using the model."""
    decision = result.assessment.decision
    found = []
    for giveaway in result.training.giveaways:
        found.append(giveaway.caution(result.target))
    # A threshold that somebody asked for may flag as many rows as it likes.
    if decision is not None and decision.rule.kind == "f1":
        flagged = decision.flagged.value
        is_low = decision.precision.value < 0.5 * decision.recall.value
        if flagged > OFTEN * max(decision.share, 1e-9) and (flagged > 0.5 or is_low):
            found.append(
                f"At this threshold {percent(flagged)} of all rows are called "
                f"{said(decision.positive, 30)}, and {percent(decision.share)} are: most alarms "
                "are false."
            )
    if decision is not None and decision.roc_area.low <= 0.5:
        found.append("The columns do not tell the classes apart better than chance: do not use it.")
    if result.noise_rate >= FEW_SUSPECTS and result.trust != "none" and not result.corrected:
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
    if result.trust == "none":  # as the audit says
        target = said(result.target)
        return f"Which labels look wrong cannot be told: the columns say too little about {target}"
    judged = f" of {result.n_judged:,} judged" if result.n_judged < result.n_fitted else ""
    count = counted(result.suspects, "label") if result.suspects else "No label"
    looks = "looks" if result.suspects < 2 else "look"
    wrong = round(result.noise_rate * result.n_judged)
    left = ""
    if result.training.reviewed.settled.any() and wrong:  # as the audit after a review says
        left = f"; about {wrong:,} of those that nobody has reviewed are wrong by estimate"
    return f"{count}{judged} {looks} wrong{left}; look closer: robell audit {where}"


# -- what a terminal shows -----------------------------------------------------------------


def remarks(result):
    """Return what was left out, and what to beware of."""
    left_out = [note for note in result.encoder.notes_ if note.kind == "left out"]
    why = [f"{said(note.name)} {note.done.removeprefix('left out: ')}" for note in left_out[:3]]
    more = f"; and {len(left_out) - 3:,} more, see the report" if len(left_out) > 3 else ""
    columns = [f"columns left out: {'; '.join(why)}{more}"] if left_out else []
    return [*columns, *advice_on(result.encoder.notes_), *result.notes, *cautions(result)]


def lines(result, source=None):
    """Return what was found, in words that need no course; the page has the measures."""
    found, decision = result.assessment, result.assessment.decision
    of_class = zip(result.classes.tolist(), result.class_sizes, strict=True)
    sizes = few([f"{said(str(name), 20)} {size:,}" for name, size in of_class])
    text = [
        f"Fitted to {result.n_fitted:,} rows, {len(result.encoder.plans_)} columns; rows of each "
        f"class: {sizes}; model: {model_name(result)}",
        in_rows(result),
    ]
    if decision is None:
        share, span = of_hundred(found.balanced_accuracy)
        text.append(f"Of the rows of a class, {share} are predicted rightly in the mean ({span}).")
    else:
        name = said(decision.positive, 30)
        right, span = of_hundred(decision.precision)
        hits, other = of_hundred(decision.recall)
        pairs, around = of_hundred(decision.roc_area)
        text += [
            f"Of the rows that it calls {name}, {right} are ({span}); of the rows that are "
            f"{name}, it finds {hits} ({other}).",
            f"A row that is {name} gets a larger probability than one that is not in {pairs} "
            f"pairs ({around}; guessing: 50).",
            f"A row is called {name} from a probability of {decision.threshold:.4g} on: "
            f"{decision.rule}",
            *([] if decision.costs is None else [costs_line(decision)]),
        ]
    text.append(f"Each of {found.n_held_out:,} rows was judged by a model that had not seen it.")
    shown = [one for one in found.importances if one.drop > 2 * one.deviation and one.drop > 0]
    columns = ", ".join(said(one.name, 30) for one in shown[:SHOWN])
    text.append(f"Columns that matter most: {columns or 'none by itself'}")
    text.append(suspects_line(result, source))
    return text


# -- files ---------------------------------------------------------------------------------


def check_report_output(model, prefix=None, inputs=(), force=True):
    """Return the paths of page and JSON, once they can be written; none beside the null device."""
    model = Path(model)
    if prefix is None and model.exists() and not model.is_file():
        return ()
    start = Path(prefix or model.with_name(model.name.removesuffix(".skops") + "-fit"))
    paths = start.with_name(f"{start.name}.html"), start.with_name(f"{start.name}.json")
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


def write_report(result, page, data, *, command="", source=None):
    """Write page and JSON, both of them whole or neither."""
    html_text = fit_page(result, command=command, source=source)
    plain = json.dumps(as_json(result, command), indent=2, ensure_ascii=False, allow_nan=False)
    write_together({page: html_text, data: plain + "\n"})


def as_json(result, command=""):
    """Return everything that the page shows as plain values."""
    names = map(str, result.classes.tolist())
    held_out = json.dumps(dataclasses.asdict(result.assessment))
    held_out = json.loads(held_out, parse_constant=lambda _: None)  # JSON has no NaN
    return {
        "robell": __version__,
        "command": command,
        "file": result.name,
        "target": result.target,
        "model": model_name(result),
        "seed": result.seed,
        "rows": result.n_rows,
        "rows_fitted": result.n_fitted,
        "classes": dict(zip(names, result.class_sizes, strict=True)),
        "labels_counted": "corrected" if result.corrected else "given",
        "in_rows": in_rows(result),
        "cautions": cautions(result),
        "notes": list(result.notes),
        "held_out": held_out,
        "labels": {
            "suspects": result.suspects,
            "judged": result.n_judged,
            "noise_rate": result.noise_rate,
            "noise_matrix": np.asarray(result.noise_matrix).tolist(),
            "trust": result.trust,
        },
        "columns": list(map(dataclasses.asdict, result.encoder.notes_)),
    }


# -- the page ------------------------------------------------------------------------------


def fit_page(result, *, command="", source=None):
    """Return the page as HTML."""
    sections = [_decision(result, source)]
    if result.assessment.decision is not None:
        sections.append(_curves(result))
    method = html.Paragraph(
        f"The rows were dealt out to {result.assessment.n_folds} parts, copies of a row to one, "
        "and each part was predicted by a model fitted to the others. Probabilities are "
        "calibrated, and thresholds chosen for the measures above, by the other parts too; so no "
        "row took part in its own prediction or flag. Intervals come from 200 samples of the "
        "held-out rows, drawn with replacement. Then the model was fitted to all rows."
    )
    blocks = (method, html.Code(command)) if command else (method,)
    rows = []
    for note in result.encoder.notes_:
        rows.append((in_cell(note.name), note.kind, note.missing, in_cell(note.done, 400)))
    names = ("Column", "Used as", "Missing cells", "What was done")
    table = Table("read", "How the columns were read", names, tuple(rows))
    read: list[Any] = [html.TableBlock(table)]
    if result.notes:
        read.insert(0, html.Bullets(tuple(map(literal, result.notes))))
    sections += [
        _classes(result),
        _columns(result),
        html.Section("table", "How the table was read", tuple(read)),
        html.Section("method", "How this was measured", blocks),
    ]
    kind = model_name(result)
    subtitle = (
        f"{kind} for {quoted(result.target)} in {quoted(result.name)}, fitted to "
        f"{result.n_fitted:,} rows"
    )
    footer = f"Written by robell {__version__}; nothing in this page comes from the network."
    return html.render("What the model is worth", subtitle, tuple(sections), footer)


def _decision(result, source):
    found, decision = result.assessment, result.assessment.decision
    blocks: list[Any] = [html.Paragraph(f"**{literal(in_rows(result))}**")]
    held = "each predicted by a model that had not seen it"
    if decision is None:
        facts = [
            _fact("of all rows are predicted rightly", found.accuracy),
            _fact("of the rows of a class are, in the mean over classes", found.balanced_accuracy),
        ]
    else:
        name = in_cell(decision.positive, 30)
        facts = [
            _fact(f"of the rows called {name} are {name} (precision)", decision.precision),
            _fact(f"of the rows that are {name} are found (recall)", decision.recall),
            _fact(f"of all rows are called {name}", decision.flagged),
            _fact("of pairs are ranked rightly (guessing: 50 %)", decision.roc_area),
        ]
    blocks.append(html.Facts((*facts, ("held-out rows", f"{found.n_held_out:,}", held))))
    if decision is not None:
        if decision.costs is not None:
            blocks.append(html.Paragraph(f"**Costs.** {literal(costs_line(decision))}"))
        blocks.append(
            html.Callout(
                "note",
                f"A row is called {quoted(decision.positive)} where its probability is at least "
                f"**{decision.threshold:.4g}**: {literal(str(decision.rule))}. The threshold is "
                "part of the model; `robell predict` applies it. Another is chosen with "
                "`--cost-fn` and `--cost-fp`, `--precision`, `--recall` or `--budget`.",
            )
        )
    for text in cautions(result):
        blocks.append(html.Callout("caution", literal(text)))
    blocks.append(html.Paragraph(f"**Labels.** {literal(suspects_line(result, source))}"))
    return html.Section("decision", "What it means for a decision", tuple(blocks))


def _fact(name, measured):
    """Return a measured share with its name and its interval, as percentages."""
    value, low, high = measured.texts("{:.1f}", 100)
    return name, f"{value} %", f"{low} to {high} % for 95 of 100 such tables"


def _curves(result):
    decision = result.assessment.decision
    recall, precision, false = decision.point
    labels = "probable labels" if result.corrected else "the labels as given"
    bins = np.array(decision.bins)[:, :2]  # probability and share
    most = ENDS[min(np.searchsorted(ENDS, bins.max()), len(ENDS) - 1)]
    points = np.array(decision.points)
    average = decision.average_precision
    blocks = (
        html.FigureBlock(
            _square(
                "pr",
                "Precision and recall",
                f"At the chosen threshold precision is {precision:.2f} and recall {recall:.2f}",
                ("found of all positives (recall)", "right of all flagged (precision)"),
                points[:, :2],
                [(0, decision.share), (1, decision.share)],
                [(recall, precision)],
            ),
            f"Precision over recall; the dot is the chosen threshold ({percent(precision)} of the "
            f"flagged are right, {percent(recall)} of the positives found), the dashed line is "
            f"guessing. The area under this curve is the average precision: {interval(average)}; "
            f"guessing: {decision.share:.3f}.",
            f"Curve of precision over recall; chosen: {precision:.3f} and {recall:.3f}",
        ),
        html.FigureBlock(
            _square(
                "roc",
                "ROC curve",
                f"At the chosen threshold {recall:.2f} are found with {false:.2f} false alarms",
                ("negatives flagged (false alarms)", "found of all positives (recall)"),
                points[:, [2, 0]],
                [(0, 0), (1, 1)],
                [(false, recall)],
            ),
            f"Positives found over negatives flagged; at the dot {percent(false)} of the negatives "
            "are flagged. The dashed line is guessing. The area under this curve is the share of "
            f"pairs that are ranked rightly: {interval(decision.roc_area)}.",
            f"ROC curve; chosen: {recall:.3f} found at {false:.3f} false alarms",
        ),
        html.FigureBlock(
            _square(
                "calibration",
                "Calibration",
                "; ".join(f"{p:.3f}: {share:.3f}" for p, share in bins),
                ("mean probability of a group", "share of positives in the group"),
                bins,
                [(0, 0), (most, most)],
                bins,
                most,
            ),
            "Share of positives over the probability, for ten groups of equally many rows. On the "
            "dashed line probabilities mean what they say; the mean distance is "
            f"{decision.calibration_error:.3f}.",
            "Calibration curve of ten groups of rows",
        ),
        html.Paragraph(
            f"All of this is measured by {labels}. Counted by probable labels, precision is "
            f"{decision.probable[0]:.3f} and recall {decision.probable[1]:.3f}: each row counts by "
            "the probability that it is positive, given its columns and its label. Where labels "
            "are wrong, that is nearer the truth; where the model is wrong about them, it flatters "
            "the model."
        ),
    )
    return html.Section("curves", "Thresholds and probabilities", blocks)


def _square(name, title, about, axes, curve, guess, dots, most=1.0):
    """Draw a curve from 0 to ``most`` with named axes, guessing dashed and points marked."""
    picture = Picture(f"fit-{name}", LEFT + SIZE + 20, TOP + SIZE + BELOW, title, about)

    def at(points):
        x, y = np.transpose(points)
        return np.column_stack([LEFT + SIZE * x / most, TOP + SIZE * (1.0 - y / most)]).tolist()

    for step in range(5):
        value = most * step / 4
        (x, y), tick = at([(value, value)])[0], f"{100 * value:.3g} %"
        picture.line(LEFT, y, LEFT + SIZE, y, RULE)
        picture.text(LEFT - 6, y + 4, tick, "end", fill=MUTED)
        picture.text(x, TOP + SIZE + 17, tick, "middle", fill=MUTED)
    picture.text(LEFT + SIZE / 2, TOP + SIZE + 37, axes[0], "middle")
    picture.text(4, 16, axes[1])
    picture.curve(at(guess), colour=MUTED, width=1.0, dashes="4 4")
    picture.curve(at(curve))
    is_chosen = len(dots) == 1
    picture.dots(at(dots), ALARM if is_chosen else CALM, "circle", 5.0 if is_chosen else 4.0, 1.0)
    return picture.svg()


def _classes(result):
    found = result.assessment
    rows, mistakes, predicted = [], [], []
    for one, confused in zip(found.scores, found.confusion, strict=True):
        name = in_cell(one.name)
        rows.append((name, one.rows, one.separation, one.precision, one.recall))
        mistakes.append((name, *confused))
        predicted.append(f"predicted {name}")
    columns = ("Class", "Held-out rows", "Area under the ROC curve", "Precision", "Recall")
    title = "How each class is told from the others"
    table = Table("classes", title, columns, tuple(rows), digits=3)
    blocks: list[Any] = [
        html.TableBlock(table),
        html.Paragraph(
            f"Accuracy is {interval(found.accuracy)}, the mean of the recalls "
            f"{interval(found.balanced_accuracy)}."
        ),
    ]
    if len(rows) <= MOST_CONFUSED:
        title, names = "Held-out rows by label and prediction", ("Labelled", *predicted)
        blocks.append(html.TableBlock(Table("mistakes", title, names, tuple(mistakes))))
    return html.Section("classes", "Classes and mistakes", tuple(blocks))


def _columns(result):
    """Return the section with the bars of the columns: by how much each lowers the score."""
    found = result.assessment
    what = "average precision" if found.decision is not None else "mean area under the ROC curves"
    text = (
        "The values of one column at a time are shuffled among held-out rows: the bars show by how "
        f"much the {what} falls, which is {found.importance_score:.3f} before calibration. "
        "Columns that say the same can stand in for each other, and then neither matters by itself."
    )
    rows, drawn = [], []
    for one in found.importances:
        rows.append((in_cell(one.name), one.drop, one.deviation))
        drawn.append((label(one.name), f"{one.drop:z.3f}".replace("-", MINUS)))
    drawn = drawn[:MOST_DRAWN]
    about = ", ".join(f"{name}: {fall}" for name, fall in drawn)
    picture = Picture("fit-columns", WIDTH, 40 * len(drawn) + 28, "Columns that matter", about)
    room = WIDTH - 90
    scale = room / max(rows[0][1], 1e-9)  # the first falls most
    for place, (name, fall) in enumerate(drawn):
        top, (_, drop, deviation) = 40 * place, rows[place]
        width, error = scale * max(drop, 0.0), scale * deviation
        picture.text(0, top + 14, name, weight="600", fill=INK)
        picture.bar(0, top + 20, max(1.5, width), 12, CALM)
        picture.line(max(width - error, 0), top + 26, min(width + error, room + 40), top + 26)
        picture.text(width + error + 7, top + 31, fall, fill=MUTED)
    picture.text(0, 40 * len(drawn) + 20, f"fall of the {what}", fill=MUTED)
    figure = html.FigureBlock(picture.svg(), "", "Bars of the columns that matter most")
    names = ("Column", "Fall of the score", "Standard deviation of repeats")
    table = Table("importance", "All columns", names, tuple(rows), digits=4)
    folded = html.Details("All columns as a table", (html.TableBlock(table),))
    return html.Section("columns", "Which columns matter", (html.Paragraph(text), figure, folded))
