"""What was found, in words for a terminal and as plain values for a JSON file."""

from __future__ import annotations

import dataclasses
import shlex

import numpy as np

from robell import __version__
from robell._tools.pipelines import innermost
from robell._tools.text import counted, percent, said
from robell.decisions.assess import OFTEN

FEW_SUSPECTS = 0.05  # estimated share of wrong labels from which on measures are called too low
SHOWN = 5  # columns that the terminal names
OVERCONFIDENT = 0.1  # calibration error from which on it is said


def in_rows(result):
    """Return the sentence that says what the threshold means, of 1,000 rows."""
    decision = result.assessment.decision
    if decision is None:
        accuracy = result.assessment.accuracy
        right, low, high = (round(1000 * v) for v in (accuracy.value, accuracy.low, accuracy.high))
        return (
            f"Of 1,000 rows like these, {right:,} would be predicted rightly ({low:,} to {high:,})."
        )
    flagged, found, share = (
        round(1000 * value)
        for value in (decision.flagged.value, decision.found.value, decision.share)
    )
    return (
        f"Of 1,000 rows like these you would check {flagged:,} and find {found:,} of the {share:,} "
        f"that are {said(decision.positive, 30)}."
    )


def interval(measured, form="{:.3f}"):
    """Return a measured value with its interval."""
    low, high = form.format(measured.low), form.format(measured.high)
    return f"{form.format(measured.value)} ({low} to {high})"


def cautions(result):
    """Return what a person must know before using the model."""
    decision, found = result.assessment.decision, []
    by_aim = decision is not None and decision.rule.kind in ("cost", "recall")
    if decision is not None and decision.flagged.value > OFTEN * max(decision.share, 1e-9):
        flagged = decision.flagged.value
        if flagged > 0.5 or (not by_aim and decision.precision.value < 0.5 * decision.recall.value):
            found.append(
                f"At this threshold {percent(flagged)} of all rows are called "
                f"{said(decision.positive, 30)}, and {percent(decision.share)} are: most alarms "
                f"are "
                "false."
            )
    if decision is not None and decision.roc_area.low <= 0.5:
        found.append("The columns do not tell the classes apart better than chance: do not use it.")
    if result.noise_rate >= FEW_SUSPECTS and not result.corrected:
        found.append(
            f"About {percent(result.noise_rate)} of the labels look wrong. Measured by such "
            f"labels a "
            "good model looks worse than it is, and probabilities are those of the labels as "
            "given; "
            "with --labels corrected every row is counted by its probable label instead."
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


def lines(result, source=None):
    """Return what a terminal shows."""
    found = result.assessment
    sizes = ", ".join(
        f"{said(str(name), 20)} {size:,}"
        for name, size in list(zip(result.classes.tolist(), result.class_sizes, strict=True))[:5]
    )
    more = ", ..." if len(result.classes) > 5 else ""
    kind = type(innermost(result.model)).__name__
    text = [
        f"{kind} of {result.n_fitted:,} rows, {len(result.encoder.plans_)} columns; "
        f"rows of each class: {sizes}{more}",
        in_rows(result),
    ]
    held = f"{found.n_held_out:,} held-out rows"
    decision = found.decision
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
    text.append(f"Columns that matter most: {_columns_line(found)}")
    text.append(suspects_line(result, source))
    return text


def _columns_line(found):
    shown = [one for one in found.importances if one.drop > 2 * one.deviation and one.drop > 0]
    if not shown:
        return "none by itself"
    return ", ".join(f"{said(one.name, 30)} ({one.drop:.3f})" for one in shown[:SHOWN])


def as_json(result, command=""):
    """Return everything that the page shows as plain values."""
    found = result.assessment
    return {
        "robell": __version__,
        "command": command,
        "file": result.name,
        "target": result.target,
        "model": type(innermost(result.model)).__name__,
        "seed": result.seed,
        "rows": result.n_rows,
        "rows_fitted": result.n_fitted,
        "classes": {
            str(name): size
            for name, size in zip(result.classes.tolist(), result.class_sizes, strict=True)
        },
        "labels_counted": "corrected" if result.corrected else "given",
        "in_rows": in_rows(result),
        "cautions": cautions(result),
        "notes": list(result.notes),
        "held_out": _plain(dataclasses.asdict(found)),
        "labels": {
            "suspects": result.suspects,
            "judged": result.n_judged,
            "noise_rate": result.noise_rate,
            "noise_matrix": np.asarray(result.noise_matrix).tolist(),
        },
        "columns": [dataclasses.asdict(note) for note in result.encoder.notes_],
    }


def _plain(value):
    """Return values that JSON holds: no NaN, no tuples as keys."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
