"""Why a row is suspect: the columns that speak against its label, in words.

A suspect is compared with trusted rows that carry the same label, or about the same number. Column
by column, its value is replaced by theirs and theirs by its own (``models/_contributions.py``), and
what that does to the model's score says how much the column speaks against the label. Here is also
which rows are trusted and alike, and how their values are shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell._tools.text import number_text, percent, shortened
from robell.models._contributions import contributions, log_ratio
from robell.report.tables import MINUS

MOST_SUSPECTS = 100  # that are explained, the least likely labels first
MOST_COLUMNS = 60  # that are looked at: those in which suspects differ most from their like
MOST_REASONS = 3
LEAST_PART = 0.1  # of all that speaks against a label, from which on a column is named
ALIKE, LEAST_ALIKE = 0.05, 10  # share of the trusted rows whose numbers are nearest, and how many
RARE = 0.2  # share of rows with the same label, below which a level is rare among them
LONG = 1e4  # from here on thousands are set apart
SHOWN = 30  # characters of a name or a value
NEIGHBOURS = 3
LONG_NUMBER = 10  # characters; longer numbers are shown rounded
FAR = 3.0  # standard deviations; larger distances count as this one


@dataclass(frozen=True)
class Reason:
    """One column that speaks against the label of a row.

    Attributes
    ----------
    column, value : str
        Its name, and what stands there in the row.
    weight : float
        By how much it moves the score away from the label: of classes in log-odds, of numbers in
        their spreads.
    text : str
        The same in words.
    """

    column: str
    value: str
    weight: float
    text: str


def usual_text(column, low, high):
    """Return the range that is usual in a column; years and other short numbers without commas."""
    ends = [low] if low == high else [low, high]
    if column.kind == "date":
        return " to ".join(date_text(end) for end in ends)
    texts = [number_text(end) for end in ends]
    return " to ".join(
        text.replace(",", "") if abs(end) < LONG else text
        for text, end in zip(texts, ends, strict=True)
    )


def reasons_of_classes(evidence, places):
    """Return the reasons of suspects at some places of a classification, a tuple for each."""
    judgement, codes = evidence.judgement, evidence.codes
    if judgement.model is None:
        return {}
    examples = trusted(judgement, codes)
    found = {}
    pairs = {(int(codes[place]), int(judgement.suggested[place])) for place in places}
    for given, suggested in sorted(pairs):
        score = log_ratio(judgement.model, suggested, given)
        alike = np.flatnonzero(examples & (codes == given))
        some = [
            place
            for place in places
            if (codes[place], judgement.suggested[place]) == (given, suggested)
        ]
        label = f"'{shortened(evidence.target.classes[given], SHOWN)}'"
        typical = np.repeat(evidence.matrix[alike].mean(axis=0)[None], len(some), axis=0)
        weights = _weights(evidence, score, some, typical)
        for place, of_row in zip(some, weights, strict=True):
            found[int(place)] = _named(evidence.used, place, of_row, alike, label)
    return found


def reasons_of_numbers(evidence, places):
    """Return the reasons of suspects at some places of a column of numbers, a tuple for each.

    Each is compared with trusted rows whose numbers are nearest to its own.
    """
    judgement, name = evidence.judgement, shortened(evidence.name, SHOWN)
    found = {}
    for place in places:
        alike = rows_alike(evidence, place)
        way = np.sign(judgement.predicted[place] - judgement.given[place])
        typical = evidence.matrix[alike].mean(axis=0)[None]
        (of_row,) = _weights(
            evidence, lambda X, way=way: way * judgement.model(X)[0], [place], typical
        )
        beyond = _beyond(evidence, place)
        found[int(place)] = (*beyond, *_named(evidence.used, place, of_row, alike, f"this {name}"))
    return found


def _beyond(evidence, place):
    """Return the reason that no trusted number is as large, or as small, if that is so."""
    judgement = evidence.judgement
    known = judgement.given[trusted_numbers(judgement)]
    given, low, high = judgement.given[place], known.min(), known.max()
    if low <= given <= high:
        return ()
    is_above = given > high
    end = f"at most {number_text(high)}" if is_above else f"at least {number_text(low)}"
    label = f"{shortened(evidence.name, SHOWN)} {shortened(evidence.given[place], SHOWN)}"
    text = f"{label} is {'above' if is_above else 'below'} every trusted number ({end})"
    ends = judgement.measure.forth(np.array([given, high if is_above else low]))
    weight = float(np.abs(ends[0] - ends[1]))
    return (Reason(evidence.name, str(evidence.given[place]), weight, text),)


def trusted_numbers(judgement):
    """Return which rows may serve as examples: not suspect, the better half."""
    return ~judgement.suspect & (judgement.quality >= np.median(judgement.quality))


def rows_alike(evidence, place):
    """Return the places of trusted rows with about the number of this row."""
    judgement = evidence.judgement
    z = judgement.measure.forth(judgement.given)
    examples = np.flatnonzero(trusted_numbers(judgement))
    examples = examples[examples != place]
    count = max(LEAST_ALIKE, round(ALIKE * len(examples)))
    return examples[np.argsort(np.abs(z[examples] - z[place]), kind="stable")[:count]]


def _weights(evidence, score, places, typical):
    """Return how much each column speaks against the labels, (n, columns); 0 for those not seen."""
    ends = np.cumsum([column.matrix.shape[1] for column in evidence.used])
    rows, groups = evidence.matrix[places], np.split(np.arange(ends[-1]), ends[:-1])
    apart = np.square(rows - typical)
    differs = np.array([apart[:, of_column].sum() for of_column in groups])
    chosen = np.sort(np.argsort(-differs, kind="stable")[:MOST_COLUMNS])
    weights = np.zeros((len(places), len(groups)))
    weights[:, chosen] = contributions(score, rows, typical, [groups[k] for k in chosen])
    return weights


def _named(used, place, weights, alike, label):
    """Return the columns that speak most against a label, in words."""
    against = np.maximum(weights, 0.0)
    order = np.argsort(-against, kind="stable")[:MOST_REASONS]
    chosen = [k for k in order if against[k] > LEAST_PART * against.sum()]
    return tuple(
        Reason(
            used[k].name,
            value_text(used[k], place),
            float(weights[k]),
            in_words(used[k], place, alike, label),
        )
        for k in chosen
    )


def in_words(column, place, alike, label):
    """Say how the value of a row differs from those of rows with the same label."""
    name, value = shortened(column.name, SHOWN), shortened(value_text(column, place), SHOWN)
    if not value:
        return f"{name} is missing, which speaks against {label}"
    if not column.is_number:
        share = float(np.mean(column.values[alike] == column.values[place]))
        if share < RARE:
            of_rows = f"{percent(share) if share else 'none'} of the trusted rows"
            return f"{name} {value} is rare for {label} ({of_rows})"
        return f"{name} {value} speaks against {label}"
    known = column.values[alike]
    known = known[np.isfinite(known)]
    if not len(known):
        return f"{name} {value} speaks against {label}, where it is missing"
    low, high = np.percentile(known, [25, 75], method="lower")
    number, is_date = float(column.values[place]), column.kind == "date"
    usual = usual_text(column, low, high)
    if low <= number <= high:
        return f"{name} {value} speaks against {label}, together with other columns"
    more, less = ("late", "early") if is_date else ("high", "low")
    return f"{name} {value} is {more if number > high else less} for {label} (usual {usual})"


def reasons_text(result, place):
    """Return the reasons of one row as one line, "" where it has none."""
    return "; ".join(reason.text for reason in result.reasons.get(int(result.row[place]), ()))


def near_view(X):
    """Return the rows for neighbours and the map: numbers cut off at three standard deviations.

    Two rows with different levels of a category are as far apart in it as two typical rows are
    in a number: the squared distance is 2 in either.
    """
    return np.clip(X, -FAR, FAR)


def trusted(judgement, codes):
    """Return which rows may serve as examples: not suspect, in the better half of their class."""
    quality = judgement.quality
    middle = np.array([np.median(quality[codes == k]) for k in range(len(judgement.classes))])
    return ~judgement.suspect & (quality >= middle[codes])


def nearest(view, place, among):
    """Return the places of the nearest trusted rows, the nearest first."""
    candidates = np.flatnonzero(among)
    candidates = candidates[candidates != place]
    squared = np.zeros(len(candidates))
    for start in range(0, len(candidates), 1 << 14):
        part = slice(start, start + (1 << 14))
        squared[part] = ((view[candidates[part]] - view[place]) ** 2).sum(axis=1)
    order = np.argsort(squared, kind="stable")[:NEIGHBOURS]
    return candidates[order]


def value_text(column, place):
    """Return a cell as it is in the file; of a number six digits at most, and a true minus."""
    cell, value = column.cells[place] or "", column.values[place]
    if column.kind != "number" or not np.isfinite(value):
        return cell
    text = f"{value:.6g}" if len(cell) > LONG_NUMBER else cell
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def date_text(days):
    """Return the day, given as days since 1970, that no line is broken in."""
    day = str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(days)), "D"))
    return day.replace("-", "\u2011")  # hyphens at which no line is broken
