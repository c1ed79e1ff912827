"""How far a judgement of numbers can be trusted, from predictions made without the row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_SUSPECTS = 0.3  # share of the rows; where more would be suspect, nobody is
CLEAR, RATHER_CLEAR = 0.8, 0.5  # share of the differences between numbers that is predicted
LEAST_EXPLAINED = 0.1  # below it, one can only guess
BY_CHANCE = 2.0  # over the square root of the rows: as much may be predicted of chance alone
MOST_COLUMNS_A_ROW = 0.5
# The share of suspects that were wrong over the share that their probabilities promised, measured
# on tables with known mistakes, those of ``benchmarks/wrong_numbers.py --choosing`` among them.
WORTH = {"good": 0.9, "fair": 0.85, "weak": 0.75, "none": 0.0}


@dataclass(frozen=True)
class NumberTrust:
    """How far to trust a judgement: the word for it, and what it was measured by.

    `explained` is the share of the squared differences between right numbers that was predicted,
    `usual_error` the median distance of a prediction from the number given, `without` the same
    where every row is predicted by the median of all, and `expected_wrong` the estimated number of
    suspects that are really wrong.
    """

    word: str
    explained: float
    usual_error: float
    without: float
    expected_wrong: float


def measure_number_trust(judgement, shape):
    """Say how far a judgement can be trusted that was made of a matrix of this shape."""
    n_rows, n_columns = shape
    explained, suspect = judgement.explained, judgement.suspect
    off = np.abs(judgement.given - judgement.predicted)
    without = np.abs(judgement.given - np.median(judgement.given))
    by_chance = max(LEAST_EXPLAINED, BY_CHANCE / np.sqrt(n_rows))
    if explained < by_chance or suspect.mean() > MOST_SUSPECTS:
        word = "none"
    elif explained >= CLEAR and n_columns <= MOST_COLUMNS_A_ROW * n_rows:
        word = "good"
    else:
        word = "fair" if explained >= RATHER_CLEAR else "weak"
    wrong = expected_wrong(word, judgement)
    return NumberTrust(word, explained, float(np.median(off)), float(np.median(without)), wrong)


def expected_wrong(word, judgement):
    """Return the estimated number of suspects that are really wrong."""
    return WORTH[word] * float((1.0 - judgement.quality[judgement.suspect]).sum())
