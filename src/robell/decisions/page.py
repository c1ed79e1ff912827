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
from robell.report.tables import MINUS
from robell.tables.columns import advice_on, left_out_of

WORDS = html.Words("robell.decisions")
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
        return WORDS.text("in_rows_right", right=right, low=low, high=high)
    flagged, *_ = decision.flagged.texts("{:,.0f}", 1000)
    found, *_ = decision.found.texts("{:,.0f}", 1000)
    words = {"flagged": flagged, "found": found, "share": 1000 * decision.share}
    return WORDS.text("in_rows", name=said(decision.positive, 30), **words)


def of_hundred(measured):
    """Return a measured share as a number of 100, with its interval."""
    value, low, high = measured.texts("{:.0f}", 100)
    return f"{value} of 100", f"{low} to {high}"


def costs_line(decision):
    """Return what 1,000 rows would cost, in the money in which the costs were given."""
    costs, chosen = decision.costs, decision.costs.chosen
    costly = {name: getattr(chosen, name) for name in ("value", "low", "high")}
    costly |= {"flag_all": costs.flag_all, "flag_none": costs.flag_none}
    shown = {name: number_text(cost) for name, cost in costly.items()}
    text = WORDS.text("costs", name=said(decision.positive, 30), **shown)
    if min(costs.flag_all, costs.flag_none) >= chosen.value:
        return text
    cheaper = "every row" if costs.flag_all <= costs.flag_none else "none"
    return text + WORDS.text("cheaper", cheaper=cheaper)


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
            shares = {"flagged": percent(flagged), "share": percent(decision.share)}
            found.append(WORDS.text("many_false", name=said(decision.positive, 30), **shares))
    if decision is not None and decision.roc_area.low <= 0.5:
        found.append(WORDS.text("chance"))
    if result.noise_rate >= FEW_SUSPECTS and result.trust != "none" and not result.corrected:
        found.append(WORDS.text("wrong_labels", share=percent(result.noise_rate)))
    if decision is not None and decision.calibration_error > OVERCONFIDENT:
        found.append(WORDS.text("overconfident"))
    return found


def suspects_line(result, audit=None):
    """Return the line about labels that are probably wrong, with the command to look closer.

    ``audit`` is what follows ``robell audit`` there, nothing where no one audit sees all rows.
    """
    audit = [result.name, "--target", result.target] if audit is None else audit
    closer = f": {shlex.join(['robell', 'audit', *audit])}" if audit else ", one file at a time"
    if result.trust == "none":  # as the audit says
        return WORDS.text("labels_unknown", target=said(result.target))
    judged = f" of {result.n_judged:,} judged" if result.n_judged < result.n_fitted else ""
    count = counted(result.suspects, "label") if result.suspects else "No label"
    looks = "looks" if result.suspects < 2 else "look"
    wrong = round(result.noise_rate * result.n_judged)
    is_reviewed = bool(result.training.reviewed.settled.any())  # as the audit after a review says
    left = WORDS.text("labels_left", wrong=wrong) if is_reviewed and wrong else ""
    return f"{count}{judged} {looks} wrong{left}; look closer{closer}"


# -- what a terminal shows -----------------------------------------------------------------


def remarks(result):
    """Return what was left out, and what to beware of."""
    left_out = [note for note in result.encoder.notes_ if note.kind == "left out"]
    columns = [*left_out_of(left_out), *advice_on(result.encoder.notes_)]
    return [*columns, *result.notes, *cautions(result)]


def lines(result, audit=None):
    """Return what was found, in words that need no course; the page has the measures."""
    found, decision = result.assessment, result.assessment.decision
    of_class = zip(result.classes.tolist(), result.class_sizes, strict=True)
    sizes = few([f"{said(str(name), 20)} {size:,}" for name, size in of_class])
    columns = counted(len(result.encoder.plans_), "column")
    about = {"rows": result.n_fitted, "columns": columns, "sizes": sizes}
    text = [WORDS.text("fitted", model=model_name(result), **about), in_rows(result)]
    if decision is None:
        share, span = of_hundred(found.balanced_accuracy)
        text += WORDS.text("several_classes", share=share, span=span)
    else:
        shares = {"right": decision.precision, "hits": decision.recall, "pairs": decision.roc_area}
        shown = {name: of_hundred(measured) for name, measured in shares.items()}
        name = said(decision.positive, 30)
        text += WORDS.text("two_classes", name=name, decision=decision, **shown)
        text += [] if decision.costs is None else [costs_line(decision)]
    matter = [one for one in found.importances if one.drop > 2 * one.deviation and one.drop > 0]
    columns = ", ".join(said(one.name, 30) for one in matter[:SHOWN])
    return [
        *text,
        WORDS.text("held_out", rows=found.n_held_out),
        WORDS.text("matter_most", columns=columns or "none by itself"),
        suspects_line(result, audit),
    ]


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


def write_report(result, page, data, *, command="", audit=None):
    """Write page and JSON, both of them whole or neither."""
    html_text = fit_page(result, command=command, audit=audit)
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


def fit_page(result, *, command="", audit=None):
    """Return the page as HTML."""
    rows = []
    for note in result.encoder.notes_:
        rows.append((in_cell(note.name), note.kind, note.missing, in_cell(note.done, 400)))
    read: list[Any] = [html.TableBlock(WORDS.table("read", rows))]
    if result.notes:
        read.insert(0, html.Bullets(tuple(map(literal, result.notes))))
    commands = [html.Code(command)] if command else []
    sections = [
        _decision(result, audit),
        *([] if result.assessment.decision is None else [_curves(result)]),
        _classes(result),
        _columns(result),
        WORDS.section("table", *read),
        WORDS.section("method", *commands, n_folds=result.assessment.n_folds),
    ]
    about = {"target": quoted(result.target), "name": quoted(result.name), "rows": result.n_fitted}
    subtitle = WORDS.text("subtitle", model=model_name(result), **about)
    footer = WORDS.text("footer", version=__version__)
    return html.render("What the model is worth", subtitle, sections, footer)


def _decision(result, audit):
    """Return the section that says, first of all, what using the model would mean."""
    found, decision = result.assessment, result.assessment.decision
    further: list[Any] = []
    names, measured = WORDS.text("facts"), [found.accuracy, found.balanced_accuracy]
    if decision is not None:
        names = WORDS.text("facts_of_two", name=in_cell(decision.positive, 30))
        measured = [decision.precision, decision.recall, decision.flagged, decision.roc_area]
        if decision.costs is not None:
            further.append(html.Paragraph(f"**Costs.** {literal(costs_line(decision))}"))
        words = {"name": quoted(decision.positive), "rule": literal(str(decision.rule))}
        text = WORDS.text("threshold", threshold=decision.threshold, **words)
        further.append(html.Callout("note", text))
    facts = [_fact(*of) for of in zip(names, measured, strict=True)]
    held = "each predicted by a model that had not seen it"
    facts.append(("held-out rows", f"{found.n_held_out:,}", held))
    further += [html.Callout("caution", literal(text)) for text in cautions(result)]
    words = {"in_rows": in_rows(result), "labels": suspects_line(result, audit)}
    words = {name: literal(text) for name, text in words.items()}
    return WORDS.section("decision", html.Facts(tuple(facts)), *further, **words)


def _fact(name, measured):
    """Return a measured share with its name and its interval, as percentages."""
    value, low, high = measured.texts("{:.1f}", 100)
    return name, f"{value} %", f"{low} to {high} % for 95 of 100 such tables"


def _curves(result):
    """Return the section of what every threshold would give, and what probabilities mean."""
    decision = result.assessment.decision
    (recall, precision, false), share = decision.point, decision.share
    bins = np.array(decision.bins)[:, :2]  # probability and share
    most = ENDS[min(np.searchsorted(ENDS, bins.max()), len(ENDS) - 1)]
    points = np.array(decision.points)
    words = {
        "decision": decision,
        "recall": recall,
        "precision": precision,
        "false": false,
        "hits": percent(recall),
        "right": percent(precision),
        "alarms": percent(false),
        "average": interval(decision.average_precision),
        "pairs": interval(decision.roc_area),
        "bins": "; ".join(f"{p:.3f}: {share:.3f}" for p, share in bins),
        "labels": "probable labels" if result.corrected else "the labels as given",
    }
    curves: dict[str, Any] = {  # each with the line of guessing, and the points marked
        "pr": (points[:, :2], [(0, share), (1, share)], [(recall, precision)]),
        "roc": (points[:, [2, 0]], [(0, 0), (1, 1)], [(false, recall)]),
        "calibration": (bins, [(0, 0), (most, most)], bins, most),
    }
    blocks = []
    for name, drawn in curves.items():
        svg = _square(name, WORDS.text(name, **words), *drawn)
        blocks.append(html.FigureBlock(svg, *WORDS.figure(name, **words)))
    return WORDS.section("curves", *blocks, **words)


def _square(name, words, curve, guess, dots, most=1.0):
    """Draw a curve from 0 to ``most`` with named axes, guessing dashed and points marked."""
    title, about, across, up = words
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
    picture.text(LEFT + SIZE / 2, TOP + SIZE + 37, across, "middle")
    picture.text(4, 16, up)
    picture.curve(at(guess), colour=MUTED, width=1.0, dashes="4 4")
    picture.curve(at(curve))
    is_chosen = len(dots) == 1
    picture.dots(at(dots), ALARM if is_chosen else CALM, "circle", 5.0 if is_chosen else 4.0, 1.0)
    return picture.svg()


def _classes(result):
    """Return the section of how well each class is told from the others."""
    found = result.assessment
    rows, mistakes, predicted = [], [], []
    for one, confused in zip(found.scores, found.confusion, strict=True):
        name = in_cell(one.name)
        rows.append((name, one.rows, one.separation, one.precision, one.recall))
        mistakes.append((name, *confused))
        predicted.append(f"predicted {name}")
    measured = {"accuracy": found.accuracy, "recalls": found.balanced_accuracy}
    shown = {name: interval(one) for name, one in measured.items()}
    text = html.Paragraph(WORDS.text("accuracy", **shown))
    blocks: list[Any] = [html.TableBlock(WORDS.table("classes", rows)), text]
    if len(rows) <= MOST_CONFUSED:
        blocks.append(html.TableBlock(WORDS.table("mistakes", mistakes, predicted)))
    return WORDS.section("classes", *blocks)


def _columns(result):
    """Return the section with the bars of the columns: by how much each lowers the score."""
    found = result.assessment
    what = "average precision" if found.decision is not None else "mean area under the ROC curves"
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
    figure = html.FigureBlock(picture.svg(), *WORDS.figure("columns"))
    table = html.TableBlock(WORDS.table("importance", rows))
    folded = html.Details("All columns as a table", (table,))
    return WORDS.section("columns", figure, folded, what=what, score=found.importance_score)
