"""How far a judgement of classes or numbers can be trusted, from rows that were left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from robell._core.labels.noise import LEVEL, signal
from robell.labels.unseen import predict_unseen

# For two balanced classes that the columns tell apart perfectly, a share e of wrong labels lowers
# the area under the ROC curve, measured by the labels given, to about 1/2 + (1 - 2e)/2: .57 means
# that 43 % are wrong. Below, and within three standard errors of chance, one can only guess.
LEAST_SEPARATION = 0.57
STANDARD_ERRORS = 3.0
MOST_SUSPECTS = 0.45  # share of the rows; where more would be suspect, nobody is
# Trust is good where few rows are hard to predict, and wrong labels explain most misfits.
CLEAR, RATHER_CLEAR = 0.9, 0.87
EXPLAINED = 0.4
GOOD_SEPARATION = 0.7
MOST_COLUMNS_A_ROW = 0.5  # with more columns, labels look right or wrong by chance
COLUMNS_TO_GUESS_BY = 2.0  # a row; with more, where trust were weak, half the suspects are right
FEW_MISFITS = 0.05  # share of the rows; with more, "no label is wrong" is not certain
# How many labels were wrong over how many their probabilities promised, by trust: the estimate, and
# what 90 % of the tables with known mistakes lay between (``benchmarks/wrong_estimates.py``). First
# among the suspects, then in the whole table. Where classes overlap, hard rows count as wrong in
# part; mistakes of numbers that are smaller than the usual error do not show.
WORTH = {
    "good": ((1.04, 0.9, 1.3), (1.0, 0.85, 1.4)),
    "fair": ((1.0, 0.8, 1.3), (1.0, 0.5, 1.8)),
    "weak": ((0.8, 0.2, 1.15), (0.8, 0.15, 1.3)),
    "none": ((0.0, 0.0, 0.0), (0.8, 0.0, 2.0)),
}
NUMBER_WORTH = {
    "good": ((0.96, 0.8, 1.2), (0.87, 0.6, 1.8)),
    "fair": ((0.88, 0.6, 1.3), (1.0, 0.35, 4.0)),
    "weak": ((0.9, 0.5, 1.2), (1.0, 0.3, 8.0)),
    "none": ((0.0, 0.0, 0.0), (1.0, 0.0, 8.0)),
}
# The same after a review, of the rows that nobody has looked at. What was found in the others has
# corrected the probabilities of classes; wrong numbers that do not show are fewer than promised.
REVIEWED_WORTH = {
    "good": ((1.0, 0.7, 1.25), (1.0, 0.5, 1.7)),
    "fair": ((1.0, 0.6, 1.25), (1.0, 0.5, 1.7)),
    "weak": ((0.8, 0.2, 1.15), (1.0, 0.3, 1.5)),
    "none": ((0.0, 0.0, 0.0), (1.0, 0.0, 2.0)),
}
REVIEWED_NUMBER_WORTH = {
    "good": ((0.9, 0.6, 1.25), (0.7, 0.2, 1.8)),
    "fair": ((0.7, 0.2, 1.2), (0.8, 0.1, 4.0)),
    "weak": ((0.8, 0.2, 1.2), (0.8, 0.1, 8.0)),
    "none": ((0.0, 0.0, 0.0), (0.8, 0.0, 8.0)),
}
BY_LUCK = 1.645  # standard deviations of a count that 90 % lie within
MOST_SUSPECT_NUMBERS = 0.3  # share of the rows
CLOSE, RATHER_CLOSE = 0.8, 0.5  # share of the differences between numbers that is predicted
LEAST_EXPLAINED = 0.1  # below it, one can only guess
BY_CHANCE = 2.0  # over the square root of the rows: as much may be predicted of chance alone


@dataclass(frozen=True)
class Trust:
    """How far to trust a judgement, in a word; `worth` are the factors of its estimates."""

    word: str
    p_value: float
    worth: tuple

    def suspects_of(self, judgement, **as_given):
        """Return the judgement; where nothing can be trusted, without any suspect."""
        if self.word != "none":
            return judgement
        return replace(judgement, suspect=np.zeros_like(judgement.suspect), **as_given)


@dataclass(frozen=True)
class LabelTrust(Trust):
    """Trust in classes.

    `separations` has, class by class, the area under the ROC curve on hidden rows, `separation` is
    their mean. `misfits` is the share of rows with another label than predicted, `clarity` the
    estimated share of rows whose true class was predicted.
    """

    separation: float
    separations: np.ndarray
    misfits: float
    clarity: float

    def scaled(self, noise_matrix):
        """Return a matrix of noise, its wrong labels times the factor of the whole table."""
        right = np.eye(len(noise_matrix))
        return right + self.worth[1][0] * (noise_matrix - right)


def measure_trust(judgement, X, codes, random_state, is_reviewed=False, unseen=None, told=False):
    """Say how far a judgement can be trusted, by hidden rows; not well where a column tells it."""
    n_classes, suspect = len(judgement.classes), judgement.suspect
    unseen = unseen or predict_unseen(X, codes, n_classes, random_state)
    clarity = clarity_of(unseen.misfits, judgement.noise_rate, n_classes)
    separation = float(unseen.separations.mean())
    beyond_chance = (separation - 0.5) / float(unseen.errors.mean())
    n_rows, n_columns = X.shape
    misfits = unseen.misfits
    is_explained = misfits <= FEW_MISFITS
    if suspect.any():
        is_explained = judgement.noise_rate >= EXPLAINED * misfits and separation >= GOOD_SEPARATION
    is_known = beyond_chance >= STANDARD_ERRORS and separation >= LEAST_SEPARATION
    if not is_known or suspect.mean() > MOST_SUSPECTS:
        word = "none"
    elif clarity >= CLEAR and is_explained and n_columns <= MOST_COLUMNS_A_ROW * n_rows:
        word = "fair" if told else "good"
    elif clarity >= RATHER_CLEAR:
        word = "fair"
    else:
        word = "weak" if n_columns <= COLUMNS_TO_GUESS_BY * n_rows else "none"
    worth = (REVIEWED_WORTH if is_reviewed else WORTH)[word]
    of_rows = separation, unseen.separations, misfits, clarity
    return LabelTrust(word, signal(beyond_chance), worth, *of_rows)


class Estimate(NamedTuple):
    """How many labels are wrong, and an interval that holds this number nine times in ten."""

    about: float
    low: float
    high: float


def estimate_wrong(judgement, worth):
    """Return how many labels are wrong among the suspects, and among all rows, by estimate."""
    # It is the sum of their probabilities times the factors ``worth``; luck adds √Σ p(1 - p).
    doubt, found = 1.0 - judgement.quality, []
    for p, (about, low, high) in zip((doubt[judgement.suspect], doubt), worth, strict=True):
        n, promised = len(p), float(p.sum())
        by_luck = BY_LUCK * float(np.sqrt((p * (1 - p)).sum()))
        low, high = min(low * promised, n) - by_luck, min(high * promised, n) + by_luck
        found.append(Estimate(min(about * promised, n), max(low, 0.0), min(high, n)))
    return found


def clarity_of(misfits, rate, n_classes):
    """Return the share of rows whose true class is predicted, from the share of misfits."""
    # With a share h of hard rows and a rate r of wrong labels, spread evenly over the K - 1 others,
    # labels agree with the prediction for (1 - h)(1 - r) + h r / (K - 1) of the rows.
    rate = min(rate, 0.9 * (n_classes - 1) / n_classes)
    by_luck = rate / (n_classes - 1)
    return float(np.clip((1.0 - misfits - by_luck) / (1.0 - rate - by_luck), 0.0, 1.0))


@dataclass(frozen=True)
class NumberTrust(Trust):
    """Trust in numbers.

    `explained` is the share of their squared differences that was predicted, `usual_error` the
    median error, `without` that of the median as the prediction.
    """

    explained: float
    usual_error: float
    without: float


def measure_number_trust(judgement, shape, is_reviewed=False, told=False):
    """Say how far a judgement can be trusted that was made of a matrix of this shape."""
    n_rows, n_columns = shape
    explained, suspect = judgement.explained, judgement.suspect
    off = np.abs(judgement.given - judgement.predicted)
    without = np.abs(judgement.given - np.median(judgement.given))
    by_chance = max(LEAST_EXPLAINED, BY_CHANCE / np.sqrt(n_rows))
    ranks = np.column_stack([rankdata(judgement.predicted), rankdata(judgement.given)])
    alike = np.corrcoef(ranks.T)[0, 1] if np.ptp(ranks, axis=0).all() else 0.0
    p_value = signal(alike * np.sqrt(n_rows - 1.0))
    if p_value >= LEVEL or explained < by_chance or suspect.mean() > MOST_SUSPECT_NUMBERS:
        word = "none"
    elif explained >= CLOSE and n_columns <= MOST_COLUMNS_A_ROW * n_rows:
        word = "fair" if told else "good"
    else:
        word = "fair" if explained >= RATHER_CLOSE else "weak"
    errors = float(np.median(off)), float(np.median(without))
    worth = (REVIEWED_NUMBER_WORTH if is_reviewed else NUMBER_WORTH)[word]
    return NumberTrust(word, p_value, worth, explained, *errors)
