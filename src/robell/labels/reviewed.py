"""Labels judged after a review, or while one goes on: some are settled, with how they were before.

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

While a review goes on, labels are judged again after every decision in closed form: nothing is
fitted anew. Left-out scores of a ridge are linear in its targets. With features A, penalty λ and
the hat matrix S = A (A'A + λI)^-1 A', which does not depend on the labels, the scores of row i
without row i are

    f_i = (Σ_j S_ij t_j - h_i t_i) / (1 - h_i),      h_i = S_ii.

The targets t_j of rows that nobody has decided upon are the probabilities of the classes by the
audit, those of the others their right class. A decision changes one row of the targets by δ, and

    f_i <- f_i + S_ij δ / (1 - h_i),      i ≠ j,

which takes O(n D) for D features. The audit's probabilities are moved by as much,

    P(z | i) ∝ P_audit(z | i) exp(a (f_iz - f_iz at first)) φ(y_i, z),

where a is the slope that makes the softmax of the first scores most like the audit's probabilities,
and φ corrects how often rows labelled y turned out to be z, as o + κ to e + κ expected.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, softmax

from robell._core.labels.link import posterior
from robell._core.labels.noise import LARGEST_RATE
from robell.labels.judge import Judgement, NumberJudgement, judge_predictions, recalibrated
from robell.labels.review.review import folded

CLASS_PRIOR_ROWS = 20.0  # κ: the estimate before a review counts as much as so many rows
STEPS, TOLERANCE = 300, 1e-7
PRIOR_ROWS = 5.0  # κ of numbers, and while a review goes on
LARGEST_FACTOR = 1e6
FEATURES = 200  # random ones, besides the columns
PENALTIES = np.logspace(-3, 4, 15)
LARGEST_SLOPE = 50.0
LEVERAGE = 0.99  # of a row that decides its own score alone


class Reviewed(NamedTuple):
    """What a review says of rows, by their labels before it: codes, or numbers.

    `settled` are those whose label somebody has found right; `corrected` had another one.
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


class JudgedAgain:
    """P(z | row) of all rows of a table while a review goes on."""

    def __init__(self, X, codes, probability, seed=0):
        self.codes, self.first = codes, np.log(np.maximum(probability, 1e-9))
        self.right: dict[int, int | None] = {}  # of the rows decided upon
        rng = np.random.default_rng(seed)
        weights = rng.normal(size=(X.shape[1], FEATURES)) / np.sqrt(X.shape[1])
        hidden = np.tanh(X @ weights + rng.uniform(-1, 1, FEATURES))
        A = np.column_stack([np.ones(len(X)), X, hidden])
        values, V = eigh(A.T @ A)
        R = A @ V
        self.target = np.array(probability, dtype=float)
        found = []
        for penalty in PENALTIES * len(X) / 1000:
            Q = R / np.sqrt(np.maximum(values, 0.0) + penalty)
            error = np.square(self._left_out(Q)[0] - self.target).mean()
            found.append((float(error), penalty))
        penalty = min(found)[1]
        self.Q = R / np.sqrt(np.maximum(values, 0.0) + penalty)
        self.score, self.leverage = self._left_out(self.Q)
        self.moved = np.zeros_like(self.score)
        self.slope = float(
            minimize_scalar(
                lambda a: -(self.target * log_softmax(a * self.score, axis=1)).sum(),
                bounds=(0.0, LARGEST_SLOPE),
                method="bounded",
            ).x
        )
        n_classes = probability.shape[1]
        self.found, self.expected = np.zeros((2, n_classes, n_classes))

    def _left_out(self, Q):
        """Return the left-out scores of the targets, and the leverages."""
        h = np.minimum(np.square(Q).sum(axis=1), LEVERAGE)
        return (Q @ (Q.T @ self.target) - h[:, None] * self.target) / (1.0 - h)[:, None], h

    def decide(self, row, right):
        """Take the right class of a row, None where the row is dropped."""
        self._count(row, -1.0)
        self.right[row] = right
        self._count(row, 1.0)
        new = np.zeros(self.target.shape[1])
        if right is not None:
            new[right] = 1.0
        self._move(row, new)

    def forget(self, row):
        """Take the decision about a row back, if there is one."""
        if row in self.right:
            self._count(row, -1.0)
            del self.right[row]
            self._move(row, softmax(self.first[row]))

    def _count(self, row, times):
        """Count what was found in a row, and what was expected, so many times."""
        right = self.right.get(row)
        if right is not None:
            self.found[self.codes[row], right] += times
            self.expected[self.codes[row]] += times * softmax(self.first[row])

    def _move(self, row, new):
        """Change the targets of a row, and by them the scores of all others."""
        reach = self.Q @ self.Q[row] / (1.0 - self.leverage)
        reach[row] = 0.0
        self.moved += np.outer(reach, new - self.target[row])
        self.target[row] = new

    def probability(self):
        """Return P(z | row) of all rows by what is known now."""
        factor = (self.found + PRIOR_ROWS) / (self.expected + PRIOR_ROWS)
        logs = self.first + self.slope * self.moved + np.log(factor)[self.codes]
        return softmax(logs, axis=1)

    def order(self):
        """Return the rows without a decision in the order in which to ask, and P(wrong) of all."""
        P = self.probability()
        doubt = 1.0 - P[np.arange(len(P)), self.codes]
        # Of those equally probable to a percent, whose answers are least certain and reach farthest
        tells = doubt * (1.0 - doubt) * self.leverage
        order = np.lexsort((-tells, -doubt.round(2)))
        is_open = np.ones(len(P), bool)
        is_open[list(self.right)] = False
        return order[is_open[order]], doubt
