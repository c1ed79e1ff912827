"""Statistics of several models over several datasets: ranks, Friedman, Nemenyi, sign, Wilcoxon.

Every function takes an array of scores with one row per dataset and one column per model, larger
being better, and raises on missing values. ``decimals`` rounds scores first, so that those which
differ less are tied. The recommendations followed are those of J. Demsar, *Statistical comparisons
of classifiers over multiple data sets*, Journal of Machine Learning Research 7 (2006) 1-30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy import stats

SIGN_FORMULAS = ("half_root", "printed")


def _checked(scores, min_datasets=1, min_models=2):
    """Return the scores as a finite float matrix, large enough for the test at hand."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(f"scores must have two dimensions, datasets and models; got {scores.ndim}")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite: leave out datasets on which a model has no score")
    n_datasets, n_models = scores.shape
    if n_datasets < min_datasets or n_models < min_models:
        raise ValueError(
            f"this needs at least {min_datasets} datasets and {min_models} models; "
            f"got {n_datasets} and {n_models}"
        )
    return scores


def _checked_alpha(alpha):
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1; got {alpha}")
    return alpha


def _rounded(scores, decimals):
    return scores if decimals is None else np.round(scores, decimals)


def rank_rows(scores, decimals=None):
    """Rank the models on each dataset, 1 for the best, equal scores sharing their mean rank."""
    return stats.rankdata(-_rounded(_checked(scores), decimals), axis=1)


def average_ranks(scores, decimals=None):
    """Average the models' ranks over the datasets: from 1, best everywhere, to n_models."""
    return rank_rows(scores, decimals).mean(axis=0)


@dataclass(frozen=True)
class Friedman:
    """Friedman's chi-squared and Iman and Davenport's F, each without and with ties corrected."""

    n_datasets: int
    n_models: int
    average_ranks: np.ndarray
    chi2: float
    p: float
    f: float
    f_p: float
    chi2_ties: float
    p_ties: float
    f_ties: float
    f_ties_p: float
    f_critical: float  # at level alpha


def friedman(scores, alpha=0.05, decimals=None):
    """Test whether all models have the same average rank.

    Correcting for ties makes both statistics larger wherever scores are tied, and
    ``scipy.stats.friedmanchisquare`` always does. F is infinite, with p = 0, where all datasets
    rank the models alike. Where every model is tied with every other on every dataset, chi2 and f
    are 0, and the corrected statistics are undefined and NaN.
    """
    scores = _checked(scores, min_datasets=2, min_models=3)
    alpha = _checked_alpha(alpha)
    n, k = scores.shape
    ranks = rank_rows(scores, decimals)
    # Sums of ranks are multiples of 1/2, so these are exact, and so is a denominator of zero.
    spread = 12 * float(((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum())
    largest = n * n * k * (k * k - 1)
    largest_tied = largest - n * _tie_term(ranks)
    plain = _friedman_statistics(spread, largest, n, k)
    tied = _friedman_statistics(spread, largest_tied, n, k)
    critical = float(stats.f.isf(alpha, k - 1, (n - 1) * (k - 1)))
    return Friedman(*(n, k, ranks.mean(axis=0), *plain, *tied, critical))


def _tie_term(ranks):
    """Return the sum of t^3 - t over all groups of t tied models of a dataset."""
    sizes = [np.unique(row, return_counts=True)[1] for row in ranks]
    return int(sum((size**3 - size).sum() for size in sizes))


def _friedman_statistics(spread, largest, n, k):
    """Return chi2, p, F, p from 12 times the spread of the rank sums and its largest value.

    chi2 = n(k - 1) spread / largest and F = (n - 1) chi2 / (n(k - 1) - chi2), multiplied out.
    """
    if largest == 0:
        return math.nan, math.nan, math.nan, math.nan
    chi2 = n * (k - 1) * spread / largest
    f = math.inf if spread == largest else (n - 1) * spread / (largest - spread)
    return (
        chi2,
        float(stats.chi2.sf(chi2, k - 1)),
        f,
        float(stats.f.sf(f, k - 1, (n - 1) * (k - 1))),
    )


@dataclass(frozen=True)
class Nemenyi:
    """Average ranks, and the difference of two of them that is significant over all pairs.

    ``cliques`` are the largest groups of at least two models of which no two differ, as column
    numbers from the best rank to the worst.
    """

    average_ranks: np.ndarray
    n_datasets: int
    critical_difference: float
    cliques: tuple[tuple[int, ...], ...]

    @cached_property
    def p_values(self):
        """The probability of each difference, of shape (n_models, n_models), 1 on the diagonal."""
        k = len(self.average_ranks)
        p_values = np.ones((k, k))
        upper = np.triu_indices(k, 1)
        gaps = np.abs(self.average_ranks[upper[0]] - self.average_ranks[upper[1]])
        quantiles = gaps / _range_unit(self.n_datasets, k)
        p_values[upper] = np.clip(stats.studentized_range.sf(quantiles, k, np.inf), 0.0, 1.0)
        p_values.T[upper] = p_values[upper]
        return p_values

    def differing(self, own):
        """Return the columns that a model is significantly better than, and those it is worse."""
        gaps = self.average_ranks - self.average_ranks[own]
        better = np.flatnonzero(gaps >= self.critical_difference)
        return better.tolist(), np.flatnonzero(-gaps >= self.critical_difference).tolist()


def nemenyi(scores, alpha=0.05, decimals=None):
    """Compare all pairs of models by the difference of their average ranks.

    Two models differ at level alpha, over all pairs together, where their average ranks differ
    by the critical difference q sqrt(k(k + 1) / 6n), q being the quantile of the studentized
    range of k models with infinite degrees of freedom, divided by sqrt(2).
    """
    scores = _checked(scores, min_datasets=2)
    n, k = scores.shape
    ranks = average_ranks(scores, decimals)
    difference = _range_quantile(_checked_alpha(alpha), k) * _range_unit(n, k)
    return Nemenyi(ranks, n, difference, _cliques(ranks, difference))


@cache
def _range_quantile(alpha, k):
    return float(stats.studentized_range.isf(alpha, k, np.inf))


def _range_unit(n, k):
    """Return what the studentized range measures differences of average ranks in."""
    return math.sqrt(k * (k + 1) / (12 * n))


def _cliques(ranks, critical_difference):
    """Return the maximal runs of models, by rank, whose ends lie within the difference."""
    order = np.argsort(ranks, kind="stable")
    cliques, reached = [], 0
    for start in range(len(order)):
        within = ranks[order] - ranks[order[start]] < critical_difference
        end = int(np.flatnonzero(within)[-1]) + 1
        if end > max(reached, start + 1):
            cliques.append(tuple(int(column) for column in order[start:end]))
            reached = end
    return tuple(cliques)


def win_tie_loss(scores, decimals=None):
    """Count wins, ties and losses of each model against each: shape (n_models, n_models, 3)."""
    scores = _rounded(_checked(scores), decimals)
    sign = np.sign(scores[:, :, None] - scores[:, None, :])
    return np.stack([(sign == value).sum(axis=0) for value in (1, 0, -1)], axis=-1)


def sign_threshold(n_datasets, formula="half_root"):
    """Return how many wins of n_datasets, not rounded, make a difference significant at 5 %.

    "half_root" is n/2 + 1.96 sqrt(n)/2, the normal approximation of the binomial distribution;
    "printed" is n/2 + 1.96 sqrt(n/2), which the paper prints and which asks for too many
    (erratum E32).
    """
    if formula not in SIGN_FORMULAS:
        raise ValueError(f"formula must be one of {SIGN_FORMULAS}; got {formula!r}")
    deviation = math.sqrt(n_datasets) / 2 if formula == "half_root" else math.sqrt(n_datasets / 2)
    return n_datasets / 2 + 1.96 * deviation


@dataclass(frozen=True)
class SignTest:
    """Wins and losses after sharing the ties, the threshold, and the exact two-sided p-value."""

    wins: int
    losses: int
    n_datasets: int
    threshold: float
    significant: bool
    p: float


def sign_test(wins, ties, losses):
    """Test whether one model wins more often than the other.

    Ties are shared evenly, one being left out where their number is odd: the paper's rule and
    Demsar's. Where nothing is left to compare, p is 1.
    """
    counts = [int(count) for count in (wins, ties, losses)]
    if min(counts) < 0 or sum(counts) == 0 or counts != [wins, ties, losses]:
        raise ValueError(
            f"wins, ties and losses must be whole numbers, not negative and not all 0; "
            f"got {wins}, {ties}, {losses}"
        )
    wins, ties, losses = counts
    wins, losses = wins + ties // 2, losses + ties // 2
    n = wins + losses
    threshold = sign_threshold(n)
    p = float(stats.binomtest(wins, n).pvalue) if n else 1.0
    return SignTest(wins, losses, n, threshold, n > 0 and max(wins, losses) >= threshold, p)


def wilcoxon_p_values(scores, reference, decimals=10):
    """Return the p-values of two-sided Wilcoxon tests of one model against each other.

    Zero differences take part in the ranking (Pratt), and differences are rounded, lest rounding
    errors decide ranks. The p-value is 1 where two models are equal on every dataset, and NaN for
    the reference itself.
    """
    scores = _checked(scores)
    n_models = scores.shape[1]
    if reference not in range(n_models):
        raise ValueError(f"reference must be a column from 0 to {n_models - 1}; got {reference}")
    differences = np.round(scores[:, [reference]] - scores, decimals)
    p_values = np.array([_wilcoxon_p(column) for column in differences.T])
    p_values[reference] = np.nan
    return p_values


def _wilcoxon_p(differences):
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences, zero_method="pratt").pvalue)


def holm(p_values):
    """Adjust p-values for their number by Holm's step-down method; NaN stays NaN.

    Rejecting those below alpha rejects no true hypothesis, with probability 1 - alpha.
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p_values, kind="stable")[: np.isfinite(p_values).sum()]
    steps = np.arange(len(order), 0, -1) * p_values[order]
    adjusted = np.full_like(p_values, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
