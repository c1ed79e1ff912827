"""Labels compared: suppliers, months or sites that label worse than others; two tables of one kind.

A label disagrees with the columns where it is not the likeliest class ẑ of P(z | s). How often
that is to be expected of a row is known from the row itself,

    v_i = 1 - Σ_z P(z | s_i) N_zẑ,

so rows are compared with rows that are as hard: in strata s of equally many rows, by v. If labels
go wrong equally often everywhere, the number of disagreements d_g of a group is, given the strata,
a sum of hypergeometric numbers, of mean Σ_s n_gs D_s / n_s: the test of Cochran, Mantel and
Haenszel, here with the exact distribution where groups are small. Disagreements grow with the rate
of wrong labels r by

    dE[d]/dr = Σ_i P(ẑ | s_i) - (1 - P(ẑ | s_i)) / (K - 1),

which turns what a group has too many into a difference of its rate from the whole's. Differences
have a normal prior of mean 0, whose spread τ is not known: with even odds it is 0, otherwise
anything on a grid. Groups of few rows, and all groups where they hardly differ, are therefore drawn
to the whole.

Of two tables, d_i is 1 in the new one. Were labels given in the same way in both, y and d would be
independent given the columns x. With what models say that have not seen row i,

    R_ik = [y_i = k] - P(y = k | x_i),        S_i = d_i - P(d = 1 | x_i),

sums over rows, all or those of a region g of the columns, are standard normal once standardised:

    T_gk = Σ_{i∈g} R_ik S_i / sqrt(Σ_{i∈g} (R_ik S_i - mean)²).

This is the generalised covariance measure (Shah and Peters, 2020; with weights Scheidegger,
Hörrmann and Bühlmann, 2022). The errors of the two models multiply, so that neither needs to be
exact: other rows in the new table (another mix of x) are not taken for other labels. By how much
class k is more frequent in the new table among rows of the same values is, in the mean of rows that
both tables have,

    θ_gk = Σ_{i∈g} R_ik S_i / Σ_{i∈g} S_i².

p-values are corrected for being many by the distribution of the largest |T| of a family, normal
numbers with the correlations of the products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy  # scipy.stats, which takes long, is imported where it is used
from numpy.typing import ArrayLike
from scipy.special import ndtri, softmax

from robell._core.array import Array, Mask, Places

STRATA = 10
FEWEST_IN_STRATUM = 20
SPREADS = np.geomspace(0.01, 0.5, 15)  # of the rates of groups
LEAST_SLOPE = 0.1
LARGEST_GROUP_RATE = 0.9
EXACT_VARIANCE = 25.0  # of the number of disagreements; up to here its distribution is exact
INTERVAL = float(ndtri(0.95))  # of 90 %


class GroupRates(NamedTuple):
    """How each group's rate of wrong labels differs from the whole's, (G,) each."""

    change: Array  # of the rate, drawn to 0
    error: Array  # its standard error
    p_value: Array  # of no difference, each group by itself
    seen: Array  # the change as it was seen, not drawn to 0
    seen_error: Array  # its standard error


class Table(NamedTuple):
    """Rows and disagreements of every group in every stratum, (G, S) each."""

    rows: Array
    odd: Array


def factors_of(N: Array, shares: Array, change: Array) -> Array:
    """Return how many times as frequent wrong labels become if the mean rate changes so."""
    # No class is wrong in more than nine of ten rows then, and none is never wrong.
    wrong = 1.0 - np.diag(N)
    rate = max(float(shares @ wrong), 1e-12)
    largest = LARGEST_GROUP_RATE / max(float(wrong.max()), 1e-12)
    return np.asarray(np.minimum(np.maximum(rate + change, 0.02 * rate) / rate, largest))


def posterior_by_row(P: Array, labels: Places, N: Array, factor: Array) -> Array:
    """Return P(z | s, y) with the wrong labels of N multiplied by a factor, row by row."""
    # A row of class z then has the label y ≠ z with probability c N_zy, and the label z with
    # probability 1 - c (1 - N_zz).
    likelihood = factor[:, None] * N.T[labels]
    rows = np.arange(len(labels))
    likelihood[rows, labels] = 1.0 - factor * (1.0 - np.diag(N))[labels]
    joint = P * likelihood
    return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))


def fit_groups(P: Array, labels: Places, N: Array, group: Places) -> GroupRates:
    """Compare groups with the whole, from P(z | s), the labels and the common noise matrix."""
    n_groups, n_classes = int(group.max()) + 1, P.shape[1]
    best = P.argmax(axis=1)
    sure = P.max(axis=1)
    expected = 1.0 - np.einsum("iz,zi->i", P, N[:, best])
    table = count_disagreements(best != labels, expected, group, n_groups)
    n = table.rows.sum(axis=1)
    excess, variance = excess_of(table)
    gained = sure - (1.0 - sure) / (n_classes - 1)
    slope = np.maximum(np.bincount(group, gained, n_groups), LEAST_SLOPE * n)
    seen, seen_error = excess / slope, np.sqrt(np.maximum(variance, 1e-12)) / slope
    change, error = _shrink(seen, seen_error)
    p_value = np.array([p_value_of(table, g, excess[g], variance[g]) for g in range(n_groups)])
    return GroupRates(change, error, p_value, seen, seen_error)


def count_disagreements(odd: Mask, hardness: Array, group: Places, n: int) -> Table:
    """Count rows and disagreements by group and stratum of equally hard rows."""
    n_strata = int(np.clip(len(odd) // FEWEST_IN_STRATUM, 1, STRATA))
    edges = np.quantile(hardness, np.arange(1, n_strata) / n_strata)
    place = group * n_strata + np.searchsorted(edges, hardness, side="right")
    rows = np.bincount(place, minlength=n * n_strata).reshape(n, n_strata)
    found = np.bincount(place[odd], minlength=n * n_strata).reshape(n, n_strata)
    return Table(rows.astype(np.float64), found.astype(np.float64))


def excess_of(table: Table) -> tuple[Array, Array]:
    """Return how many disagreements each group has too many, and their variance by chance."""
    n, D = table.rows.sum(axis=0), table.odd.sum(axis=0)
    size = np.maximum(n, 1.0)
    excess = (table.odd - table.rows * D / size).sum(axis=1)
    spread = D * (n - D) / (size**2 * np.maximum(n - 1.0, 1.0))
    return excess, (table.rows * (n - table.rows) * spread).sum(axis=1)


def p_value_of(table: Table, g: int, excess: float, variance: float) -> float:
    """Return the two-sided p-value of one group's excess: exact, or normal for large groups."""
    if variance <= 0.0:
        return 1.0
    if variance > EXACT_VARIANCE:
        return float(2.0 * scipy.stats.norm.sf(abs(excess) / np.sqrt(variance)))
    chances = np.ones(1)
    totals = table.rows.sum(axis=0), table.odd.sum(axis=0)
    for rows, n, D in zip(table.rows[g], *totals, strict=True):
        if rows and D:
            possible = scipy.stats.hypergeom.pmf(np.arange(min(rows, D) + 1.0), n, D, rows)
            chances = np.convolve(chances, possible)
    found = int(table.odd[g].sum())
    tails = chances[: found + 1].sum(), chances[found:].sum()
    return float(min(1.0, 2.0 * min(tails)))


def _shrink(difference: Array, error: Array) -> tuple[Array, Array]:
    """Return posterior means of the differences, averaged over their spread, and their errors."""
    spreads = np.concatenate([[0.0], SPREADS])[:, None]
    total = np.square(spreads) + np.square(error)
    # What one group has too many the others have too few: G groups are G - 1 observations.
    fit = scipy.stats.norm.logpdf(difference, scale=np.sqrt(total)).mean(axis=1) * (
        len(difference) - 1
    )
    prior = np.concatenate([[0.5], np.full(len(SPREADS), 0.5 / len(SPREADS))])
    weight = softmax(fit + np.log(prior))
    kept = np.square(spreads) / total  # of each difference, were the spread known
    mean = weight @ (kept * difference)
    slab = softmax(fit[1:])
    off = np.square(kept[1:] * difference - mean) + kept[1:] * np.square(error)
    return mean, np.sqrt(slab @ off)


def holm(p_values: ArrayLike) -> Array:
    """Return p-values corrected for being many, by Holm's step-down method; NaN stays NaN."""
    p_value = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p_value, kind="stable")[: np.isfinite(p_value).sum()]
    left = np.arange(len(order), 0, -1)
    corrected = np.full(len(p_value), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(p_value[order] * left), 1.0)
    return corrected


DRAWS = 20_000  # of the largest of correlated normal numbers


class Changes(NamedTuple):
    """Estimated changes θ of some sums, their standard errors, T, and corrected p-values."""

    change: Array
    error: Array
    statistic: Array
    p_value: Array


def products(R: Array, S: Array, regions: Mask) -> tuple[Array, Array]:
    """Return R_ik S_i within each region, (A, G K), and Σ S² of each of these columns."""
    RS = R * S[:, None]
    columns = np.concatenate([RS * region[:, None] for region in regions], axis=1)
    sizes = np.array([float(np.square(S[region]).sum()) for region in regions])
    return columns, np.repeat(sizes, R.shape[1])


def judge_changes(columns: Array, sizes: Array, rng: np.random.Generator) -> Changes:
    """Test all sums of products as one family."""
    n = len(columns)
    total = columns.sum(axis=0)
    centred = columns - total / n
    spread = np.sqrt(np.maximum(np.square(centred).sum(axis=0), 1e-300))
    statistic = np.where(spread > 1e-9, total / spread, 0.0)
    correlation = (centred / spread).T @ (centred / spread)
    p_value = _of_largest(np.abs(statistic), correlation, rng)
    size = np.maximum(sizes, 1e-12)
    return Changes(total / size, spread / size, statistic, p_value)


def _of_largest(statistic: Array, correlation: Array, rng: np.random.Generator) -> Array:
    """Return P(max |T| ≥ t) for every t: drawn, and bounded by Bonferroni's far out."""
    values, vectors = np.linalg.eigh(correlation)
    half = vectors * np.sqrt(np.maximum(values, 0.0))
    largest = np.abs(rng.standard_normal((DRAWS, len(half))) @ half.T).max(axis=1)
    drawn = (1.0 + (largest[:, None] >= statistic).sum(axis=0)) / (1.0 + DRAWS)
    single = 2.0 * scipy.stats.norm.sf(statistic)
    return np.asarray(np.clip(np.minimum(drawn, len(statistic) * single), single, 1.0))
