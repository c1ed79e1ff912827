"""Statistics of several models over several datasets: ranks, Friedman, Nemenyi, sign, Wilcoxon.

Scores have one row per dataset and one column per model, larger being better; ``decimals`` rounds
them first. As J. Demsar recommends, Journal of Machine Learning Research 7 (2006) 1-30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import scipy  # its parts are imported where they are used: scipy.stats takes long

from robell._core.labels.groups import holm as holm

SIGN_FORMULAS = ("half_root", "printed")
_range_quantile = cache(lambda *given: scipy.stats.studentized_range.isf(*given))  # it takes long


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
    return scipy.stats.rankdata(-_rounded(_checked(scores), decimals), axis=1)


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
    """Test whether all models have the same average rank, with and without ties corrected.

    F is infinite, with p = 0, where all datasets rank the models alike; where all models are tied
    everywhere, chi2 and f are 0 and the corrected statistics NaN.
    """
    scores = _checked(scores, min_datasets=2, min_models=3)
    alpha = _checked_alpha(alpha)
    n, k = scores.shape
    ranks = rank_rows(scores, decimals)
    # Sums of ranks are multiples of 1/2, so these are exact, and so is a denominator of zero.
    spread = 12 * float(((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum())
    largest = n * n * k * (k * k - 1)
    ties = (np.unique(row, return_counts=True)[1] for row in ranks)  # sizes of groups of ties
    largest_tied = largest - n * int(sum((size**3 - size).sum() for size in ties))
    plain = _friedman_statistics(spread, largest, n, k)
    tied = _friedman_statistics(spread, largest_tied, n, k)
    critical = float(scipy.stats.f.isf(alpha, k - 1, (n - 1) * (k - 1)))
    return Friedman(*(n, k, ranks.mean(axis=0), *plain, *tied, critical))


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
        float(scipy.stats.chi2.sf(chi2, k - 1)),
        f,
        float(scipy.stats.f.sf(f, k - 1, (n - 1) * (k - 1))),
    )


@dataclass(frozen=True)
class Nemenyi:
    """Average ranks, and the difference of two of them that is significant over all pairs.

    ``cliques`` are the largest groups of models of which no two differ, from the best rank on.
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
        p_values[upper] = np.clip(scipy.stats.studentized_range.sf(quantiles, k, np.inf), 0.0, 1.0)
        p_values.T[upper] = p_values[upper]
        return p_values

    def differing(self, own):
        """Return the columns that a model is significantly better than, and those it is worse."""
        gaps = self.average_ranks - self.average_ranks[own]
        better = np.flatnonzero(gaps >= self.critical_difference)
        return better.tolist(), np.flatnonzero(-gaps >= self.critical_difference).tolist()


def nemenyi(scores, alpha=0.05, decimals=None):
    """Compare all pairs of models by the difference of their average ranks.

    The critical difference is q sqrt(k(k + 1) / 6n), q being the quantile of the studentized range
    of k models with infinite degrees of freedom, divided by sqrt(2).
    """
    scores = _checked(scores, min_datasets=2)
    n, k = scores.shape
    ranks = average_ranks(scores, decimals)
    difference = _range_quantile(_checked_alpha(alpha), k, np.inf) * _range_unit(n, k)
    return Nemenyi(ranks, n, float(difference), _cliques(ranks, difference))


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

    "half_root" is n/2 + 1.96 sqrt(n)/2; the paper's "printed" one asks for too many (erratum E32).
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
    """Test whether one model wins more often; ties are shared evenly, an odd one being left out."""
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
    p = float(scipy.stats.binomtest(wins, n).pvalue) if n else 1.0
    return SignTest(wins, losses, n, threshold, n > 0 and max(wins, losses) >= threshold, p)


def wilcoxon_pairs(scores, decimals=10, units=1.0):
    """Return the p-values of Wilcoxon's two-sided test of all pairs of models, and by Holm's.

    Zero differences take part in the ranking (Pratt), and differences are rounded, lest rounding
    errors decide ranks. ``units`` are those that the scores of each dataset are given in.
    """
    scores = _checked(scores)
    k = scores.shape[1]
    upper = np.triu_indices(k, 1)
    differences = np.round(scores[:, upper[0]] - scores[:, upper[1]], decimals)
    differences *= np.reshape(units, (-1, 1))
    test = scipy.stats.wilcoxon
    found = [test(d, zero_method="pratt").pvalue if d.any() else 1.0 for d in differences.T]
    p_values, adjusted = np.full((k, k), np.nan), np.full((k, k), np.nan)
    p_values[upper] = p_values.T[upper] = found
    adjusted[upper] = adjusted.T[upper] = holm(np.array(found))
    return p_values, adjusted


# -- how large a difference is --------------------------------------------------------------


@dataclass(frozen=True)
class Effect:
    """The size of the difference of two models over datasets, and how sure it is.

    ``shift`` is Hodges and Lehmann's, ``low`` and ``high`` all shifts that Wilcoxon's test does not
    refuse at 5 %; ``rank_biserial`` is 1 for better on every dataset.
    """

    shift: float
    low: float
    high: float
    rank_biserial: float


def effect(differences, units=1.0, alpha=0.05):
    """Return the Effect of differences of scores, one a dataset, rounded as for Wilcoxon's test."""
    d = np.round(np.asarray(differences, dtype=np.float64), 10) * units
    n = len(d)
    walsh = np.sort((d[:, None] + d)[np.triu_indices(n)] / 2)
    out = _signed_rank_quantile(n, alpha)  # so many at either end are outside of the interval
    low, high = (walsh[out - 1], walsh[-out]) if out else (-np.inf, np.inf)
    ranks = scipy.stats.rankdata(np.abs(d))
    return Effect(
        float(np.median(walsh)), float(low), float(high), float(np.sign(d) @ ranks / ranks.sum())
    )


@cache
def _signed_rank_quantile(n, alpha):
    """Return the largest k with P(W < k) <= alpha / 2, W being Wilcoxon's statistic of n signs."""
    if n > 300:
        mean, deviation = n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return int(mean - scipy.stats.norm.isf(alpha / 2) * deviation)
    shares = np.zeros(n * (n + 1) // 2 + 1)
    shares[0] = 1.0
    for rank in range(1, n + 1):  # a rank counts, or does not, each with probability 1/2
        shares[rank:] = shares[rank:] + shares[:-rank]
        shares /= 2
    return int(np.searchsorted(np.cumsum(shares), alpha / 2 * (1 + 1e-12), side="right"))


def detectable_difference(deviation, n_datasets, power=0.5, alpha=0.05):
    """Return the mean difference that Wilcoxon's test finds with this probability.

    ``deviation`` is that of the differences over datasets, taken to be normal; the power is that of
    the t-test on 3/pi of the datasets, the test's efficiency.
    """
    if 2.0 ** (1 - n_datasets) > alpha:
        return math.inf
    n = n_datasets * 3 / math.pi
    limit = scipy.stats.t.isf(alpha / 2, n - 1)

    def missing(effect):
        return float(np.nan_to_num(scipy.stats.nct.sf(limit, n - 1, effect), nan=1.0)) - power

    return float(scipy.optimize.brentq(missing, 0.0, 10.0 + 4 * limit)) * deviation / math.sqrt(n)


# -- what is believed after the scores were seen ---------------------------------------------
# Draws of the Bayesian signed-rank test for each pair, and for all pairs of a matrix together.
DRAWS, ALL_DRAWS, FEWEST_DRAWS = 50_000, 2_250_000, 5_000
PRIOR = 0.5  # weight of one more dataset, on which two models are equal


def signed_rank_posteriors(scores, rope=0.0, units=1.0):
    """Return P(row better than column) and P(both equal), two matrices of shares of draws.

    The Bayesian signed-rank test (Benavoli et al. 2014): with weights w of the differences d drawn
    from a Dirichlet distribution (1 a dataset, ``PRIOR`` for a difference of 0), a draw is for the
    better model if the sum of w_i w_j over d_i + d_j > 2 rope is larger than that over the pairs
    within the region of practical equivalence, and that below. ``units`` are those that the scores
    of each dataset are given in.
    """
    scores = _checked(scores)
    n, k = scores.shape
    n_draws = int(max(FEWEST_DRAWS, min(DRAWS, ALL_DRAWS // max(1, k * (k - 1) // 2))))
    random = np.random.default_rng(0)  # the same draws for all pairs, and always
    weights = random.standard_gamma([PRIOR] + [1.0] * n, (n_draws, n + 1)).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    better, equal = np.full((k, k), np.nan), np.full((k, k), np.nan)
    for i in range(k):
        for j in range(i + 1, k):
            d = np.append(0.0, np.round(scores[:, i] - scores[:, j], 10) * units)
            sums = d[:, None] + d
            gaps = np.array([sums - 2 * rope, -sums - 2 * rope])
            above, below = (
                ((weights @ np.heaviside(side, 0.5).astype(np.float32)) * weights).sum(axis=1)
                for side in (np.round(gaps, 10) if rope else gaps)
            )
            within = 1 - above - below if rope else np.full_like(above, -1)
            parts = np.round(np.stack([above, within, below]), 5)  # equal up to rounding
            first = parts == parts.max(axis=0)
            shares = (first / first.sum(axis=0)).mean(axis=1)
            better[i, j], equal[i, j], better[j, i] = shares
            equal[j, i] = equal[i, j]
    return better, equal


def correlated_t(differences, test_share, rope=0.0):
    """Return P(better), P(equal) and P(worse) of one model on one dataset, from several splits.

    The Bayesian correlated t-test (Corani and Benavoli 2015): the mean difference has a Student
    distribution of n - 1 degrees of freedom around that of the n splits, with the variance

        s^2 (1/n + q / (1 - q)),

    q being the share of the rows that are tested on: splits share rows (Nadeau and Bengio).
    """
    d = np.asarray(differences, dtype=np.float64)
    mean, n = d.mean(), len(d)
    scale = math.sqrt(d.var(ddof=1) * (1 / n + test_share / (1 - test_share)))
    if scale < 1e-12 * max(1.0, abs(mean)):
        better, worse = float(mean > rope), float(mean < -rope)
        if not rope and not mean:
            better = worse = 0.5
    else:
        better = float(scipy.stats.t.sf((rope - mean) / scale, n - 1))
        worse = float(scipy.stats.t.cdf((-rope - mean) / scale, n - 1))
    return better, max(0.0, 1 - better - worse), worse
