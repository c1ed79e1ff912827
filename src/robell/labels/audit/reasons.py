"""Why a row is suspect: the columns that speak against its label, in words.

A suspect is compared with trusted rows that carry the same label, or about the same number. Column
by column, its value and theirs are swapped (``models/_contributions.py``):
what that does to the model's score says how much the column speaks against the label.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from robell._tools.text import number_text, percent, shortened
from robell.models._contributions import contributions, log_odds
from robell.report.tables import MINUS
from robell.tables.columns import OTHER
from robell.tables.dates import day_text

MOST_SUSPECTS = 100  # that are explained, the least likely labels first
MOST_COLUMNS = 60  # that are looked at: those in which suspects differ most from their like
MOST_REASONS = 3
LEAST_PART = 0.1  # of all that speaks against a label, from which on a column is named
ALIKE, LEAST_ALIKE = 0.05, 10  # share of the trusted rows whose numbers are nearest, and how many
RARE = 0.2  # share of rows with the same label, below which a value is rare among them
MORE, LEAST_MORE = 1.5, 0.01  # times, and share of the rows, by which it is commoner for another
MOST_READ = 2_000  # texts of each label whose words are counted
LONG = 1e4  # from here on thousands are set apart
SHOWN = 30  # characters of a name or a value
NEIGHBOURS = 3
MOST_NEAR = 20_000  # trusted rows among which the most similar ones are looked for
LONG_NUMBER = 10  # characters; longer numbers are shown rounded


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
        return " to ".join(day_text(end).replace("-", "\u2011") for end in ends)  # never broken
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
    examples |= ~np.isin(codes, codes[examples])  # of a label that is never trusted, all its rows
    found = {}
    pairs = {(int(codes[place]), int(judgement.suggested[place])) for place in places}
    for given, suggested in sorted(pairs):
        score = log_odds(judgement.model, suggested, given)
        some = [
            place
            for place in places
            if (codes[place], judgement.suggested[place]) == (given, suggested)
        ]
        own, other = (
            (f"'{shortened(evidence.target.classes[k], SHOWN)}'", np.flatnonzero(examples & of_k))
            for k, of_k in ((given, codes == given), (suggested, codes == suggested))
        )
        typical = np.repeat(evidence.matrix[own[1]].mean(axis=0)[None], len(some), axis=0)
        weights = _weights(evidence, score, some, typical)
        for place, of_row in zip(some, weights, strict=True):
            found[int(place)] = _named(evidence.used, place, of_row, own, other)
    return found


def reasons_of_numbers(evidence, places):
    """Return the reasons of suspect numbers at some places, a tuple for each."""
    judgement, name = evidence.judgement, shortened(evidence.name, SHOWN)
    found = {}
    known = judgement.given[trusted(judgement)]
    for place in places:
        alike, given = rows_alike(evidence, place), judgement.given[place]
        beyond: tuple[Reason, ...] = ()
        end = "highest" if given > known.max() else "lowest" if given < known.min() else ""
        if end:  # no trusted number is as high, or as low
            last = known.max() if end == "highest" else known.min()
            shown = f"{name} {shortened(evidence.given[place], SHOWN)}"
            side, most = ("above", "most") if end == "highest" else ("below", "least")
            text = f"{shown} is {side} every trusted number (at {most} {number_text(last)})"
            weight = float(np.abs(np.subtract(*judgement.measure.forth(np.array([given, last])))))
            beyond = (Reason(evidence.name, str(evidence.given[place]), weight, text),)
        own = f"the {end} trusted {name}" if end else f"this {name}", alike
        predicted = float(judgement.predicted[place])
        other = (
            f"about {number_text(float(f'{predicted:.4g}'))}",
            rows_alike(evidence, place, predicted),
        )
        way = np.sign(predicted - given)
        typical = evidence.matrix[alike].mean(axis=0)[None]
        (of_row,) = _weights(
            evidence, lambda X, way=way: way * judgement.model(X)[0], [place], typical
        )
        found[int(place)] = (*beyond, *_named(evidence.used, place, of_row, own, other))
    return found


def rows_alike(evidence, place, number=None):
    """Return the places of trusted rows with about the number of this row, or about another."""
    judgement = evidence.judgement
    z = judgement.measure.forth(judgement.given)
    at = z[place] if number is None else judgement.measure.forth(np.array([number]))[0]
    examples = np.flatnonzero(trusted(judgement))
    examples = examples[examples != place]
    count = max(LEAST_ALIKE, round(ALIKE * len(examples)))
    return examples[np.argsort(np.abs(z[examples] - at), kind="stable")[:count]]


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


def _named(used, place, weights, own, other):
    """Return the columns that speak most against a label, in words."""
    against = np.maximum(weights, 0.0)
    order = np.argsort(-against, kind="stable")[:MOST_REASONS]
    chosen = [k for k in order if against[k] > LEAST_PART * against.sum()]
    return tuple(
        Reason(
            used[k].name,
            value_text(used[k], place),
            float(weights[k]),
            in_words(used[k], place, own, other),
        )
        for k in chosen
    )


def in_words(column, place, own, other):
    """Say how a value differs from what is usual with its label, and fits another."""
    name, value = shortened(column.name, SHOWN), shortened(value_text(column, place), SHOWN)
    (label, alike), (other_label, others) = own, other
    together = f"{name} {value or '(missing)'} speaks against {label}, together with other columns"
    if value and column.is_number:
        known = [column.values[rows][np.isfinite(column.values[rows])] for rows in (alike, others)]
        if not len(known[0]):
            return f"{name} {value} speaks against {label}, where it is missing"
        low, middle, high = np.percentile(known[0], [25, 50, 75], method="lower")
        number = float(column.values[place])
        if low <= number <= high:
            return together
        usual, way = usual_text(column, low, high), 1 if number > high else -1
        if len(known[1]):
            ends = np.percentile(known[1], [25, 50, 75], method="lower")
            if way * (ends[1] - middle) <= 0:  # as unusual for the other, or more
                return together
            usual += f", {usual_text(column, ends[0], ends[2])} for {other_label}"
        words = ("late", "early") if column.kind == "date" else ("high", "low")
        return f"{name} {value} is {words[way < 0]} for {label} (usual {usual})"
    same = same_value(column, place)
    shares = [float(same[rows].mean()) if len(rows) else 0.0 for rows in (alike, others)]
    what = f"{name} {value}" if value else f"{name} is missing, which"
    if not _is_commoner(*shares) and value and column.kind == "text":
        word, shares = telling_word(column, place, alike, others)
        what = f"{name} has the word '{word}', which"
    if not _is_commoner(*shares):
        return together
    here, there = percent(shares[0]), percent(shares[1])
    if shares[0] < RARE:
        return f"{what} is rare for {label} ({here}), {there} for {other_label}"
    return f"{what} is less common for {label} ({here}) than for {other_label} ({there})"


def _is_commoner(share, other):
    """Say whether a value is so much commoner for another label that it is evidence."""
    return other >= MORE * share and other - share >= LEAST_MORE


def same_value(column, place):
    """Return which rows have the value of this row, though rare ones are taken together."""
    value = column.values[place]
    if column.is_number:
        return np.isnan(column.values) if np.isnan(value) else column.values == value
    if value >= 0 and column.levels[value] != OTHER:
        return column.values == value
    return np.array(column.cells, dtype=object) == column.cells[place]


def telling_word(column, place, alike, others):
    """Return the word of a text that another label has most in excess, and its two shares."""

    def tokens(row):
        return set(re.findall(r"\w+", (column.cells[row] or "").casefold()))

    def shares(rows):
        read = rows[:: -(-len(rows) // MOST_READ) or 1]
        counts = Counter(word for row in read for word in words & tokens(row))
        return {word: counts[word] / max(len(read), 1) for word in words}

    words = tokens(place)
    own, other = shares(alike), shares(others)
    word = max(sorted(words), key=lambda word: other[word] - own[word], default="")
    return word, [own.get(word, 0.0), other.get(word, 0.0)]


def trusted(judgement, codes=None):
    """Return which rows may be examples: not suspect, in the better half of a class, or of all."""
    quality = judgement.quality
    if codes is None:
        return ~judgement.suspect & (quality >= np.median(quality))
    middle = np.array([np.median(quality[codes == k]) for k in range(len(judgement.classes))])
    return ~judgement.suspect & (quality >= middle[codes])


def nearest(view, places, among):
    """Return the places of the trusted rows nearest to each of some rows, the nearest first."""
    candidates = np.flatnonzero(among)  # of very many every k-th, so that all are drawn on
    candidates = candidates[:: -(-len(candidates) // MOST_NEAR) or 1]
    count = min(NEIGHBOURS, len(candidates) - 1)
    found = np.empty((len(places), count), np.intp)
    step = max(1, 4_000_000 // max(1, len(candidates)))
    for start in range(0, len(places), step):
        some = places[start : start + step]
        squared = cdist(view[some], view[candidates], "sqeuclidean")
        squared[candidates == some[:, None]] = np.inf
        first = np.argpartition(squared, count, axis=1)[:, :count]
        first.sort(axis=1)  # of equally near rows the first
        order = np.argsort(np.take_along_axis(squared, first, 1), axis=1, kind="stable")
        found[start : start + step] = candidates[np.take_along_axis(first, order, 1)]
    return found


def value_text(column, place):
    """Return a cell as it is in the file; of a number six digits at most, and a true minus."""
    cell, value = column.cells[place] or "", column.values[place]
    if column.kind != "number" or not np.isfinite(value):
        return cell
    text = f"{value:.6g}" if len(cell) > LONG_NUMBER else cell
    return text.replace("-", MINUS, 1) if text.startswith("-") else text
