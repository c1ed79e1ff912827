"""Statistics of several models over several datasets: ranks, Friedman, Nemenyi, sign, Wilcoxon.

Every function takes an array of scores with one row per dataset and one column per model, larger
being better, and raises on missing values; ``complete_rows`` leaves out the rows that have any.
The recommendations followed are those of J. Demsar, *Statistical comparisons of classifiers over
multiple data sets*, Journal of Machine Learning Research 7 (2006) 1-30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

SIGN_FORMULAS = ("half_root", "printed")


def _matrix(scores):
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(f"scores must have two dimensions, datasets and models; got {scores.ndim}")
    return scores


def _checked(scores, min_datasets=1, min_models=2):
    """Return the scores as a finite float matrix, large enough for the test at hand."""
    scores = _matrix(scores)
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite: leave out rows with complete_rows(scores)")
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


def complete_rows(scores):
    """Leave out the datasets on which some model has no score.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_models)
        NaN marks a missing score.

    Returns
    -------
    complete : ndarray of shape (n_kept, n_models)
        The rows without NaN.
    kept : ndarray of bool of shape (n_datasets,)
        Which rows these are.

    Examples
    --------
    >>> from robell.studies.engine.statistics import complete_rows
    >>> complete_rows([[90.0, 80.0], [70.0, float("nan")]])
    (array([[90., 80.]]), array([ True, False]))
    """
    scores = _matrix(scores)
    kept = ~np.isnan(scores).any(axis=1)
    return scores[kept], kept


def rank_rows(scores, decimals=None):
    """Rank the models on each dataset, 1 for the best, equal scores sharing their mean rank.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_models)
        Larger is better.
    decimals : int, default=None
        Round to so many decimals first, so that scores which differ less are tied.

    Returns
    -------
    ranks : ndarray of shape (n_datasets, n_models)
        Mid-ranks.

    Examples
    --------
    >>> from robell.studies.engine.statistics import rank_rows
    >>> rank_rows([[90.0, 80.0, 90.0]])
    array([[1.5, 3. , 1.5]])
    """
    return stats.rankdata(-_rounded(_checked(scores), decimals), axis=1)


def average_ranks(scores, decimals=None):
    """Average the models' ranks over the datasets.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_models)
        Larger is better.
    decimals : int, default=None
        Round to so many decimals first, so that scores which differ less are tied.

    Returns
    -------
    ranks : ndarray of shape (n_models,)
        Between 1, best everywhere, and n_models.

    Examples
    --------
    >>> from robell.studies.engine.statistics import average_ranks
    >>> average_ranks([[90.0, 80.0, 70.0], [60.0, 80.0, 70.0]])
    array([2. , 1.5, 2.5])
    """
    return rank_rows(scores, decimals).mean(axis=0)


@dataclass(frozen=True)
class Friedman:
    """What ``friedman`` found; its docstring names the fields."""

    n_datasets: int
    n_models: int
    average_ranks: np.ndarray
    alpha: float
    chi2: float
    p: float
    f: float
    f_p: float
    chi2_ties: float
    p_ties: float
    f_ties: float
    f_ties_p: float
    chi2_critical: float
    f_critical: float


def friedman(scores, alpha=0.05, decimals=None):
    """Test whether all models have the same average rank.

    The chi-squared statistic of Friedman and the F statistic of Iman and Davenport, each as the
    textbooks print them and with the correction for ties. The correction makes both larger
    wherever scores are tied; ``scipy.stats.friedmanchisquare`` always applies it.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_models)
        Larger is better; at least two datasets and three models.
    alpha : float, default=0.05
        Level of the critical values.
    decimals : int, default=None
        Round to so many decimals first, so that scores which differ less are tied.

    Returns
    -------
    result : Friedman
        ``chi2``, ``p`` and ``f``, ``f_p`` without, ``chi2_ties``, ``p_ties`` and ``f_ties``,
        ``f_ties_p`` with the correction; ``chi2_critical`` and ``f_critical`` at ``alpha``; also
        ``n_datasets``, ``n_models``, ``average_ranks``, ``alpha``. F is infinite, with p = 0,
        where all datasets rank the models alike. Where every model is tied with every other on
        every dataset, chi2 and f are 0, and the corrected statistics are undefined and NaN.

    Examples
    --------
    >>> from robell.studies.engine.statistics import friedman
    >>> result = friedman([[90, 80, 70], [60, 50, 50], [75, 80, 70], [90, 85, 80]])
    >>> round(result.chi2, 4), round(result.chi2_ties, 4)
    (5.375, 5.7333)
    """
    scores = _checked(scores, min_datasets=2, min_models=3)
    alpha = _checked_alpha(alpha)
    n, k = scores.shape
    ranks = rank_rows(scores, decimals)
    # Sums of ranks are multiples of 1/2, so these are exact, and so is a denominator of zero.
    spread = 12 * float(((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum())
    largest = n * n * k * (k * k - 1)
    largest_tied = largest - n * _tie_term(ranks)
    chi2, p, f, f_p = _friedman_statistics(spread, largest, n, k)
    chi2_ties, p_ties, f_ties, f_ties_p = _friedman_statistics(spread, largest_tied, n, k)
    return Friedman(
        n_datasets=n,
        n_models=k,
        average_ranks=ranks.mean(axis=0),
        alpha=alpha,
        chi2=chi2,
        p=p,
        f=f,
        f_p=f_p,
        chi2_ties=chi2_ties,
        p_ties=p_ties,
        f_ties=f_ties,
        f_ties_p=f_ties_p,
        chi2_critical=float(stats.chi2.isf(alpha, k - 1)),
        f_critical=float(stats.f.isf(alpha, k - 1, (n - 1) * (k - 1))),
    )


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
    """What ``nemenyi`` found; its docstring names the fields."""

    average_ranks: np.ndarray
    alpha: float
    critical_difference: float
    p_values: np.ndarray
    cliques: tuple[tuple[int, ...], ...]


def nemenyi(scores, alpha=0.05, decimals=None):
    """Compare all pairs of models by the difference of their average ranks.

    Two models differ at level alpha, over all pairs together, where their average ranks differ
    by the critical difference q sqrt(k(k + 1) / 6n), q being the quantile of the studentized
    range of k models with infinite degrees of freedom, divided by sqrt(2).

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_models)
        Larger is better; at least two datasets and two models.
    alpha : float, default=0.05
        Level of the critical difference.
    decimals : int, default=None
        Round to so many decimals first, so that scores which differ less are tied.

    Returns
    -------
    result : Nemenyi
        ``average_ranks``, ``alpha``, ``critical_difference``; ``p_values`` of shape (n_models,
        n_models), 1 on the diagonal; ``cliques``, the largest groups of at least two models of
        which no two differ, as column numbers from the best rank to the worst.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.studies.engine.statistics import nemenyi
    >>> scores = np.tile([90.0, 80.0, 70.0], (10, 1))
    >>> result = nemenyi(scores)
    >>> round(result.critical_difference, 3)
    1.048
    >>> result.cliques
    ((0, 1), (1, 2))
    """
    scores = _checked(scores, min_datasets=2)
    alpha = _checked_alpha(alpha)
    n, k = scores.shape
    ranks = average_ranks(scores, decimals)
    unit = math.sqrt(k * (k + 1) / (12 * n))  # a difference of ranks in the range's own unit
    quantile = float(stats.studentized_range.isf(alpha, k, np.inf))
    critical_difference = quantile * unit
    p_values = np.ones((k, k))
    upper = np.triu_indices(k, 1)
    gaps = np.abs(ranks[upper[0]] - ranks[upper[1]])
    p_values[upper] = np.clip(stats.studentized_range.sf(gaps / unit, k, np.inf), 0.0, 1.0)
    p_values.T[upper] = p_values[upper]
    return Nemenyi(
        average_ranks=ranks,
        alpha=alpha,
        critical_difference=critical_difference,
        p_values=p_values,
        cliques=_cliques(ranks, critical_difference),
    )


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
    """Count on how many datasets each model is better than, equal to, worse than each other.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_models)
        Larger is better.
    decimals : int, default=None
        Round to so many decimals first, so that scores which differ less are tied.

    Returns
    -------
    counts : ndarray of int of shape (n_models, n_models, 3)
        Wins, ties and losses of the row's model against the column's.

    Examples
    --------
    >>> from robell.studies.engine.statistics import win_tie_loss
    >>> win_tie_loss([[90.0, 80.0], [70.0, 70.0], [60.0, 50.0]])[0, 1]
    array([2, 1, 0])
    """
    scores = _rounded(_checked(scores), decimals)
    sign = np.sign(scores[:, :, None] - scores[:, None, :])
    return np.stack([(sign == value).sum(axis=0) for value in (1, 0, -1)], axis=-1)


@dataclass(frozen=True)
class SignTest:
    """What ``sign_test`` found; its docstring names the fields."""

    wins: int
    losses: int
    n_datasets: int
    threshold: float
    significant: bool
    p: float
    p_without_ties: float


def sign_threshold(n_datasets, formula="half_root"):
    """Return how many wins of n_datasets make a difference significant at 5 %.

    Parameters
    ----------
    n_datasets : int
        Number of datasets.
    formula : {"half_root", "printed"}, default="half_root"
        n/2 + 1.96 sqrt(n)/2, the normal approximation of the binomial distribution, or
        n/2 + 1.96 sqrt(n/2), which the paper prints and which asks for too many (erratum E32).

    Returns
    -------
    threshold : float
        Not rounded; a whole number of wins must reach it.

    Examples
    --------
    >>> from robell.studies.engine.statistics import sign_threshold
    >>> round(sign_threshold(26), 3), round(sign_threshold(26, "printed"), 3)
    (17.997, 20.067)
    """
    if formula not in SIGN_FORMULAS:
        raise ValueError(f"formula must be one of {SIGN_FORMULAS}; got {formula!r}")
    deviation = math.sqrt(n_datasets) / 2 if formula == "half_root" else math.sqrt(n_datasets / 2)
    return n_datasets / 2 + 1.96 * deviation


def sign_test(wins, ties, losses, formula="half_root"):
    """Test whether one model wins more often than the other.

    Ties are shared evenly, one being left out where their number is odd: the paper's rule and
    Demsar's.

    Parameters
    ----------
    wins, ties, losses : int
        On how many datasets the first model is better than, equal to, worse than the second.
    formula : {"half_root", "printed"}, default="half_root"
        Which threshold, see ``sign_threshold``.

    Returns
    -------
    result : SignTest
        ``wins``, ``losses`` and ``n_datasets`` after sharing the ties; the ``threshold``;
        ``significant``, whether wins or losses reach it; ``p``, the exact two-sided binomial
        probability of these wins, and ``p_without_ties``, that of the wins with all ties left out.
        Both are 1 where nothing is left to compare, and the difference is then not significant.

    Examples
    --------
    >>> from robell.studies.engine.statistics import sign_test
    >>> result = sign_test(17, 3, 6)
    >>> result.wins, result.n_datasets, result.significant
    (18, 25, True)
    """
    counts = [int(count) for count in (wins, ties, losses)]
    if min(counts) < 0 or sum(counts) == 0 or counts != [wins, ties, losses]:
        raise ValueError(
            f"wins, ties and losses must be whole numbers, not negative and not all 0; "
            f"got {wins}, {ties}, {losses}"
        )
    wins, ties, losses = counts
    shared_wins, shared_losses = wins + ties // 2, losses + ties // 2
    n_datasets = shared_wins + shared_losses
    threshold = sign_threshold(n_datasets, formula)
    return SignTest(
        wins=shared_wins,
        losses=shared_losses,
        n_datasets=n_datasets,
        threshold=threshold,
        significant=n_datasets > 0 and max(shared_wins, shared_losses) >= threshold,
        p=_binomial_p(shared_wins, n_datasets),
        p_without_ties=_binomial_p(wins, wins + losses),
    )


def _binomial_p(wins, n_datasets):
    return float(stats.binomtest(wins, n_datasets).pvalue) if n_datasets else 1.0


@dataclass(frozen=True)
class WilcoxonHolm:
    """What ``wilcoxon_holm`` found; its docstring names the fields."""

    reference: int
    median_difference: np.ndarray
    p_values: np.ndarray
    p_holm: np.ndarray


def wilcoxon_holm(scores, reference, decimals=10):
    """Compare one model with each other by signed ranks, the p-values corrected by Holm's method.

    Two-sided Wilcoxon tests by ``scipy.stats.wilcoxon``, with zero differences taking part in the
    ranking (Pratt). A pair of models that is equal on every dataset has p = 1.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_models)
        Larger is better.
    reference : int
        Column of the model to compare with the others.
    decimals : int, default=10
        Differences are rounded to so many decimals, lest rounding errors decide ranks.

    Returns
    -------
    result : WilcoxonHolm
        ``reference``; for each model ``median_difference`` (reference minus model), ``p_values``
        and ``p_holm``. The reference's own p-values are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.studies.engine.statistics import wilcoxon_holm
    >>> ahead, level = np.arange(1.0, 11.0), np.zeros(10)
    >>> result = wilcoxon_holm(np.column_stack([ahead, level, ahead]), reference=0)
    >>> result.p_holm.round(4)
    array([   nan, 0.0039, 1.    ])
    """
    scores = _checked(scores)
    n_models = scores.shape[1]
    if reference not in range(n_models):
        raise ValueError(f"reference must be a column from 0 to {n_models - 1}; got {reference}")
    differences = np.round(scores[:, [reference]] - scores, decimals)
    p_values = np.array([_wilcoxon_p(column) for column in differences.T])
    others = np.arange(n_models) != reference
    p_values[~others] = np.nan
    p_holm = p_values.copy()
    p_holm[others] = holm(p_values[others])
    return WilcoxonHolm(int(reference), np.median(differences, axis=0), p_values, p_holm)


def _wilcoxon_p(differences):
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences, zero_method="pratt").pvalue)


def holm(p_values):
    """Adjust p-values for their number by Holm's step-down method.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        One per hypothesis.

    Returns
    -------
    adjusted : ndarray of shape (n_tests,)
        Reject those below alpha: no true hypothesis among them, with probability 1 - alpha.

    Examples
    --------
    >>> from robell.studies.engine.statistics import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(len(p_values), 0, -1) * p_values[order]
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
