"""The picture of an audit of numbers: what was predicted beside what is given."""

from __future__ import annotations

import numpy as np

from robell._tools.text import number_text
from robell.labels.audit.figures import thinned
from robell.report.picture import ALARM, CALM, MUTED, RULE, Picture, label

WIDTH, LEFT, TOP, BELOW = 460, 66, 56, 46
SIDE = WIDTH - LEFT - 8
OUTER = 0.5  # percent of the right numbers at either end that may stand at the edge
MARGIN = 0.06
TICKS = 5
APART = 56  # pixels between the numbers of the lower axis


def predicted_beside_given(result):
    """Draw every row as a dot, suspects as crosses; return the picture, and how many are drawn."""
    evidence = result.evidence
    measure = evidence.judgement.measure
    chosen = thinned(result.suspect, evidence.random_state)
    across = measure.forth(result.given[chosen])
    up, suspect = measure.forth(result.suggested[chosen]), result.suspect[chosen]
    low, high = _range(across[~suspect] if (~suspect).any() else across, up)
    about = f"{len(chosen):,} rows, {int(suspect.sum()):,} of them suspect and crossed"
    size = (WIDTH, TOP + SIDE + BELOW)
    picture = Picture("audit-predicted", *size, "Predicted and given numbers", about)
    unit = np.clip((np.column_stack([across, up]) - low) / (high - low), 0.0, 1.0)
    spots = np.array([LEFT, TOP + SIDE]) + unit * [SIDE, -SIDE]
    _axes(picture, measure, low, high, result.target)
    picture.dots(spots[~suspect], CALM, "circle", 2.4, 0.5)
    picture.dots(spots[suspect], ALARM, "cross", 4.2, 1.0)
    picture.dots([(LEFT + 6, 12)], CALM, "circle", 4.0, 1.0)
    picture.text(LEFT + 18, 17, "a row")
    if suspect.any():
        picture.dots([(LEFT + 86, 12)], ALARM, "cross", 5.0, 1.0)
        picture.text(LEFT + 98, 17, "suspect row", weight="600")
    return picture.svg(), len(chosen)


def _range(right, predicted):
    """Return the ends of both axes: of the right numbers, and of all predictions."""
    low, high = np.percentile(right, [OUTER, 100 - OUTER])
    low, high = min(low, predicted.min()), max(high, predicted.max())
    margin = MARGIN * (high - low) or 1.0
    return low - margin, high + margin


def _axes(picture, measure, low, high, target):
    """Draw the frame, the line on which predictions are right, and a few numbers at both axes."""
    picture.bar(LEFT, TOP, SIDE, SIDE, "none", RULE)
    picture.line(LEFT, TOP + SIDE, LEFT + SIDE, TOP, MUTED)
    last = -np.inf
    for value in _ticks(measure, low, high):
        at = float((measure.forth(np.array([value]))[0] - low) / (high - low))
        text = number_text(value)
        picture.line(LEFT - 4, TOP + SIDE * (1 - at), LEFT, TOP + SIDE * (1 - at), MUTED)
        picture.text(LEFT - 8, TOP + SIDE * (1 - at) + 4, text, "end", fill=MUTED)
        picture.line(LEFT + SIDE * at, TOP + SIDE, LEFT + SIDE * at, TOP + SIDE + 4, MUTED)
        if SIDE * at - last >= APART:
            picture.text(LEFT + SIDE * at, TOP + SIDE + 18, text, "middle", fill=MUTED)
            last = SIDE * at
    picture.text(LEFT + SIDE / 2, TOP + SIDE + 39, f"{label(target, 24)} as given", "middle")
    picture.text(LEFT, TOP - 10, f"{label(target, 24)} as predicted from the other columns")


def _ticks(measure, low, high):
    """Return a few numbers of few digits, about evenly far apart in the picture."""
    wanted = measure.back(np.linspace(low, high, TICKS + 2)[1:-1])
    for digits in range(1, 7):
        found = sorted({float(f"{value:.{digits}g}") for value in wanted})
        if len(found) == TICKS:
            break
    ends = measure.back(np.array([low, high]))
    return [value for value in found if ends[0] <= value <= ends[1]]
