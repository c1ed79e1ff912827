"""What a review in progress has left: wrong labels among the next rows, and in the whole table.

Among the next rows of the list, Σ p_i are expected to be wrong. What was found so far corrects p:
the odds of each are multiplied by a factor f > 0, which maximises the likelihood of the rows that
were decided upon under a gamma prior that counts as much as κ rows,

    p_i(f) = f p_i / (1 - p_i + f p_i),      o - Σ p_i(f) = κ (f - 1),

where o of them were wrong and the sum is over them.

How many labels of the whole table are wrong, m, cannot be told from rows that were chosen because
they look wrong. So some rows are drawn at random from those that nobody has decided upon yet. Row k
of them is wrong (z = 1) with a probability that is known once m is,

    μ_k(m) = (m - F_k) / U_k,      F_k wrong ones found, U_k rows undecided before it,

however the other rows were chosen. For any forecast q_k that is made before the row is looked at,
the products

    M_k(m) = Π q_j^z_j (1 - q_j)^(1 - z_j) / [μ_j(m)^z_j (1 - μ_j(m))^(1 - z_j)]

are a martingale that begins at 1 if m is right: the chance that it ever exceeds 1/α is at most α
(Ville). The m for which it never has are an interval, as log M is convex in m, and it holds at any
time, however often one looks. A forecast by the audit makes it short and cannot make it wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Array = NDArray[np.float64]

PRIOR_ROWS = 5.0  # κ
LARGEST_FACTOR = 1e6
FORECAST_ROWS = 4.0  # rows drawn at random that the audit's forecast counts as much as
LEAST_FORECAST = 0.005
HALVINGS = 60
AHEAD = 40


class Progress(NamedTuple):
    """How far a review is: what the next rows of its list promise, and what is left in the table.

    Of the next `ahead` rows of the list `expected` are wrong by estimate; the review is `done`
    where that is less than one. Of all rows of the table, `low` to `high` are still wrong.
    """

    ahead: int
    expected: float
    low: int
    high: int
    done: bool


def review_progress(
    doubt: Array,
    decided: NDArray[np.int64],
    wrong: NDArray[np.bool_],
    at_random: NDArray[np.bool_],
    ahead: int = AHEAD,
    confidence: float = 0.95,
) -> Progress:
    """Return how far a review is, whose list has the rows in the order of their doubt.

    ``doubt`` is P(wrong) of every row of the table before the review. ``decided`` are the places of
    the rows that somebody has decided upon, in the order of time; ``wrong`` says of each whether
    its label was wrong (and is corrected by now), ``at_random`` whether it had been drawn at random
    from all rows undecided then, such as the first of them in an order shuffled beforehand.
    """
    decided = np.asarray(decided, np.int64)
    wrong, at_random = np.asarray(wrong, bool), np.asarray(at_random, bool)
    is_left = np.ones(len(doubt), bool)
    is_left[decided] = False
    left = doubt[is_left]
    listed = np.sort(left)[::-1][:ahead]
    factor = odds_factor(doubt[decided], int(wrong.sum()), PRIOR_ROWS)
    expected = float(with_odds(listed, factor).sum())
    low, high = wrong_in_table(doubt, decided, wrong, at_random, confidence)
    found = int(wrong.sum())
    return Progress(len(listed), expected, low - found, high - found, expected < 1.0)


def with_odds(doubt: Array, factor: float) -> Array:
    """Return probabilities with their odds multiplied by a factor."""
    return np.asarray(factor * doubt / (1.0 + (factor - 1.0) * doubt))


def odds_factor(doubt: Array, n_wrong: int, prior_rows: float) -> float:
    """Return the factor f of the odds of rows decided upon, of which so many were wrong."""

    def excess(factor: float) -> float:
        return float(n_wrong - with_odds(doubt, factor).sum() - prior_rows * (factor - 1.0))

    least = 1.0 / LARGEST_FACTOR  # for reviews that kept what is certainly wrong
    return least if excess(least) <= 0 else float(brentq(excess, least, LARGEST_FACTOR))


def wrong_in_table(
    doubt: Array,
    decided: NDArray[np.int64],
    wrong: NDArray[np.bool_],
    at_random: NDArray[np.bool_],
    confidence: float = 0.95,
) -> tuple[int, int]:
    """Return the fewest and the most wrong labels, m, that the table had before the review.

    With this confidence they hold m after every decision at once.
    """
    n_rows, found = len(doubt), int(wrong.sum())
    drawn = np.flatnonzero(at_random)
    undecided = n_rows - drawn  # U_k
    found_before: Array = (np.cumsum(wrong) - wrong)[drawn]  # F_k
    doubt_left = (doubt.sum() - np.cumsum(doubt[decided]) + doubt[decided])[drawn]
    z = wrong[drawn]
    forecast = np.maximum(doubt_left / undecided, LEAST_FORECAST)
    n_before = np.arange(len(z))
    q = (FORECAST_ROWS * forecast + np.cumsum(z) - z) / (FORECAST_ROWS + n_before)
    q = np.clip(q, LEAST_FORECAST, 1.0 - LEAST_FORECAST)
    likelihood = np.where(z, q, 1.0 - q)

    def log_evidence(m: float) -> float:
        """Return the largest log M_k(m) so far."""
        mu = (m - found_before) / undecided
        mu = np.where(z, mu, 1.0 - mu)
        with np.errstate(divide="ignore"):
            ratios = np.log(likelihood) - np.log(np.maximum(mu, 0.0))
        return float(np.max(np.cumsum(ratios), initial=0.0))

    least, most = float(found), float(n_rows - (len(wrong) - found))
    limit = -float(np.log1p(-confidence))
    return _level_set(log_evidence, least, most, limit)


def _level_set(
    function: Callable[[float], float], least: float, most: float, limit: float
) -> tuple[int, int]:
    """Return the first and the last whole number where a convex function is below a limit.

    Where there is none, the one nearest to the function's least value, twice.
    """
    low, high = least, most
    for _ in range(HALVINGS):  # thirds: the least value lies between
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if function(a) <= function(b):
            high = b
        else:
            low = a
    best = 0.5 * (low + high)
    if function(best) >= limit:
        return round(best), round(best)
    ends = []
    for end in (least, most):
        inside, outside = best, end
        if function(end) < limit:
            ends.append(end)
            continue
        for _ in range(HALVINGS):
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if function(middle) < limit else (inside, middle)
        ends.append(inside)
    first, last = int(np.ceil(ends[0] - 1e-9)), int(np.floor(ends[1] + 1e-9))
    return (first, last) if first <= last else (round(best), round(best))
