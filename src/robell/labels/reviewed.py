"""Labels judged after a review, which has settled some of them and says how they were before.

A judge of the corrected table alone, in which the conspicuous mistakes are gone, takes all other
labels for right. So N_zy = P(y | z) is estimated from the labels as they were given first, by the
probabilities of the classifier that was fitted to the labels as they are now. Then the review has
its say. Of the rows looked at, o_zy were of class z and labelled y, where e_zy were expected, and

    N_zy <- f_zy N_zy,      o_zy - e_zy(f) = κ (f_zy - 1)       for z ≠ y,

which maximises the likelihood of what was found under a gamma prior of κ rows on f_zy. Of numbers,
the odds of p_i that one is wrong have such a factor,

    p_i(f) = f p_i / (1 - p_i + f p_i),      o - Σ p_i(f) = κ (f - 1),

where o of the numbers looked at were wrong. The page of a review corrects by it what it expects of
the next rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from robell._core.labels.link import posterior
from robell._core.labels.noise import LARGEST_RATE
from robell.labels.judge import Judgement, NumberJudgement, judge_predictions, recalibrated
from robell.labels.review.review import folded

CLASS_PRIOR_ROWS = 20.0  # κ: the estimate before a review counts as much as so many rows
STEPS, TOLERANCE = 300, 1e-7
PRIOR_ROWS = 5.0  # κ of numbers
LARGEST_FACTOR = 1e6


class Reviewed(NamedTuple):
    """What a review says of rows.

    `settled` are those whose label, as it stands now, somebody has found right; `first` are the
    labels before any review: places among the classes, or numbers. `corrected` are the settled rows
    that had another label.
    """

    settled: np.ndarray
    first: np.ndarray
    corrected: np.ndarray

    @classmethod
    def none(cls, first):
        """Return what it is to have no review of rows with these labels."""
        return cls(np.zeros(len(first), bool), first, np.zeros(len(first), bool))

    def at(self, rows):
        """Return what it says of some rows."""
        return Reviewed(*(part[rows] for part in self))


def reviewed_classes(settled, first, classes, codes):
    """Return what a review says of rows, from their codes now and their labels before, as text."""
    code_of = {folded(name): k for k, name in enumerate(classes)}
    before, corrected = np.array(codes), np.zeros(len(codes), bool)
    for at in np.flatnonzero(settled):
        text = folded(first[at])
        corrected[at] = text != folded(classes[codes[at]])
        if corrected[at]:
            before[at] = code_of.get(text, codes[at])
    return Reviewed(settled, before, corrected)


def judge_reviewed(judgement: Judgement, codes: np.ndarray, reviewed: Reviewed) -> Judgement:
    """Judge classes of which a review has settled some: those are right, and never suspect."""
    settled, first, _ = reviewed
    P, N = recalibrated(judgement.without_label(codes), first)
    classes, model = judgement.classes, judgement.model
    N = _as_found(N, P[settled], first[settled], codes[settled])
    Z = posterior(P, codes, N)
    Z[settled] = np.eye(len(classes))[codes[settled]]
    return Judgement.of_posterior(classes, Z, codes, N, model)


def _as_found(N, P, given, right):
    """Return N_zy after a look at rows with P(z | s), of which the right classes are known."""
    off = ~np.eye(len(N), dtype=bool)
    found = np.zeros_like(N)
    np.add.at(found, (right, given), 1.0)
    factor = np.ones_like(N)
    for _ in range(STEPS):
        expected = np.zeros_like(N)
        np.add.at(expected.T, given, posterior(P, given, _times(N, factor)))
        # Half of the way, on a logarithmic scale, to where both sides of the equation are equal.
        step = np.sqrt((found + CLASS_PRIOR_ROWS) / (expected + CLASS_PRIOR_ROWS * factor))[off]
        factor[off] *= step
        if np.abs(step - 1.0).max() < TOLERANCE:
            break
    return _times(N, factor)


def _times(N, factor):
    """Return N, its wrong labels multiplied by a factor, LARGEST_RATE of a class at most."""
    wrong = np.where(np.eye(len(N), dtype=bool), 0.0, factor * N)
    wrong *= np.minimum(1.0, LARGEST_RATE / np.maximum(wrong.sum(axis=1, keepdims=True), 1e-300))
    return wrong + np.diag(1.0 - wrong.sum(axis=1))


def judge_reviewed_numbers(judgement: NumberJudgement, reviewed: Reviewed) -> NumberJudgement:
    """Judge numbers of which a review has settled some: those are right, and never suspect."""
    settled, first, corrected = reviewed
    before = judge_predictions(first, judgement.predicted, judgement.weight)
    wrong = 1.0 - before.quality
    factor = odds_factor(wrong[settled], int(corrected.sum()), PRIOR_ROWS)
    quality = np.where(settled, 1.0, 1.0 - with_odds(wrong, factor))
    return replace(judgement, quality=quality, suspect=quality < 0.5)


def with_odds(doubt, factor):
    """Return probabilities with their odds multiplied by a factor."""
    return factor * doubt / (1.0 + (factor - 1.0) * doubt)


def odds_factor(doubt, n_wrong, prior_rows):
    """Return the factor f of the odds of rows decided upon, of which so many were wrong."""

    def excess(factor):
        return float(n_wrong - with_odds(doubt, factor).sum() - prior_rows * (factor - 1.0))

    least = 1.0 / LARGEST_FACTOR  # for reviews that kept what is certainly wrong
    return least if excess(least) <= 0 else float(brentq(excess, least, LARGEST_FACTOR))
