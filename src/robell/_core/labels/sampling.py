r"""How many labels of a table are wrong, from a stratified sample of rows that were checked.

Stratum h has N_h rows, of which n_h were drawn at random and checked, and x_h found wrong. The
number of wrong labels W = Σ W_h is estimated without bias, whatever made the strata, by

    T = Σ N_h x_h / n_h,        x_h ~ Hypergeometric(N_h, W_h, n_h).

An interval for W holds the totals that the sample does not speak against: those W for which
neither P(T ≤ t) nor P(T ≥ t) is below α/2, half of P(T = t) counted (mid-p). The distribution of T
is computed, not taken for a normal one, which fails where a stratum has few wrong labels or none.
It depends on how W is made up of the W_h; these are the likeliest that add up to W,

    n'_h (p̂_h / p_h - (1 - p̂_h) / (1 - p_h)) = λ N_h,      p_h = W_h / N_h,  p̂_h = x_h / n_h,

where n'_h = n_h (N_h - 1)/(N_h - n_h), since rows are drawn without putting any back. Every λ gives
a W, a larger λ a smaller one, and the ends of the interval are found along λ. Shares of a total,
such as that of the wrong labels that a list holds, are tested as contrasts Σ a_h W_h = 0.

The strata are cut and the rows shared out by p_i, an estimate of how probably each label is wrong:
a good one makes the interval short, and a bad one cannot make it wrong. Of n rows in all a stratum
gets its share of Σ s_i, where

    s_i = √(p̃_i (1 - p̃_i)),      p̃_i = (n p_i + κ) / (n + 2κ).

This is Neyman's allocation for an estimate that is off by κ rows in n. Without κ the rows that are
surely right would hardly be checked, and their stratum's "none of ten was wrong" would be all that
the upper end of the interval stands on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln

from robell._core.array import Array, Mask

CONFIDENCE = 0.95
GRID = 1024  # places of T
LAST = 1.0 - 1e-7  # of v in [0, 1), λ = ± v / (1 - v)
A_BIT = 0.01  # of a row, by which searches may be off
# With equal sums of s; each may be cut once more, by the list. Of fewer rows the spread within a
# stratum is not known: with two rows each 95 % intervals held 90 %, with ten 94 to 95 %.
N_STRATA, ROWS_A_STRATUM = 8, 10
PRIOR_WRONG = 1.5  # κ
LEAST_CHECKED = 3  # rows of a stratum, if it has as many


class Interval(NamedTuple):
    """An estimate, and the ends of its interval."""

    about: float
    low: float
    high: float


def interval_of_total(
    sizes: Array, checked: Array, wrong: Array, confidence: float = CONFIDENCE
) -> Interval:
    """Return the estimated number of wrong rows, and an interval that holds it."""
    ones = np.ones(len(sizes))
    test = _Test(sizes, checked, wrong, ones)
    least, most = float(test.least.sum()), float(test.most.sum())
    level = 0.5 * (1.0 - confidence)
    ends = []
    for sign, side, end in ((1.0, 1, least), (-1.0, 0, most)):

        def excess(v: float, sign: float = sign, side: int = side) -> float:
            return test.tails(test.likeliest(sign * v / (1.0 - v)))[side] - level

        if excess(LAST) > 0:
            ends.append(end)
            continue
        v = brentq(excess, 0.0, LAST, xtol=1e-6, rtol=1e-5) if excess(0.0) > 0 else 0.0
        ends.append(float(test.likeliest(sign * v / (1.0 - v)).sum()))
    # Whole numbers of rows that are not excluded
    low, high = np.ceil(ends[0] - A_BIT) + 0.0, np.floor(ends[1] + A_BIT)
    return Interval(test.t, min(float(low), test.t), max(float(high), test.t))


def interval_of_share(
    sizes: Array, checked: Array, wrong: Array, listed: Array, confidence: float = CONFIDENCE
) -> Interval:
    """Return which share of the wrong rows the ``listed`` strata hold, and its interval."""
    # A share r is tested as (1 - r) Σ_listed W_h - r Σ_others W_h = 0. Where no row was found
    # wrong, any share is possible.
    level, is_listed = 0.5 * (1.0 - confidence), np.asarray(listed, bool)
    estimates = sizes * wrong / checked
    total = float(estimates.sum())
    if total == 0:
        return Interval(float("nan"), 0.0, 1.0)
    about = float(estimates[is_listed].sum()) / total

    def p_value(share: float) -> float:
        test = _Test(sizes, checked, wrong, np.where(is_listed, 1.0 - share, -share))
        rows = test.where_zero()
        return 0.0 if rows is None else min(test.tails(rows))

    ends = []
    for end in (0.0, 1.0):
        inside, outside = about, end
        if abs(inside - outside) < 1e-9 or p_value(abs(end - 1e-6)) > level:
            ends.append(end)
            continue
        while abs(outside - inside) > 5e-4:
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if p_value(middle) > level else (inside, middle)
        ends.append(inside)
    return Interval(about, ends[0], ends[1])


def cut_strata(
    doubt: Array, listed: Mask, n_rows: int, evenness: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every row's stratum by its doubt p, and how many of each to check, about n in all."""
    # ``evenness`` mixes s with its mean: with 1 the rows are shared out evenly, whatever p is.
    p = (n_rows * doubt + PRIOR_WRONG) / (n_rows + 2.0 * PRIOR_WRONG)
    s = np.sqrt(p * (1.0 - p))
    s = (1.0 - evenness) * s + evenness * s.mean()
    order = np.argsort(doubt, kind="stable")
    n_parts = int(np.clip(n_rows // ROWS_A_STRATUM, 1, N_STRATA))
    part = np.empty(len(doubt), int)
    part[order] = np.minimum(n_parts * np.cumsum(s[order]) / s.sum() - 1e-9, n_parts - 1)
    _, stratum = np.unique(2 * part + listed, return_inverse=True)
    sizes = np.bincount(stratum)
    return stratum, _share_out(sizes, np.bincount(stratum, s).astype(float), n_rows)


def _share_out(sizes: NDArray[np.int64], s: Array, n_rows: int) -> NDArray[np.int64]:
    """Return how many rows of each stratum to check: a share of n by s, within its bounds."""
    least, n_rows = np.minimum(sizes, LEAST_CHECKED), min(n_rows, int(sizes.sum()))
    if least.sum() >= n_rows:
        return least

    def shares(log_scale: float) -> Array:
        return np.asarray(np.clip(np.exp(log_scale) * s, least, sizes))

    low, high = np.log(1e-9 / s.max()), np.log(sizes.max() / s.min())
    exact = shares(brentq(lambda scale: shares(scale).sum() - n_rows, low, high))
    counts = np.floor(exact + 1e-6).astype(int)
    for at in np.argsort(counts - exact, kind="stable")[: n_rows - counts.sum()]:
        counts[at] += 1
    return np.asarray(np.minimum(counts, sizes))


def draw_rows(
    stratum: NDArray[np.int64],
    counts: NDArray[np.int64],
    block: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return rows drawn from each stratum in random order, blocks by their share of each."""
    # Every row of a stratum has the same chance: of its rows, ordered by block and at random
    # within, every k-th is drawn, from a random start on.
    chosen = []
    for h, count in enumerate(counts):
        rows = rng.permutation(np.flatnonzero(stratum == h))
        rows = rows[np.argsort(block[rows], kind="stable")]
        step = len(rows) / count
        chosen.append(rows[np.floor(step * (np.arange(count) + rng.random())).astype(int)])
    return rng.permutation(np.concatenate(chosen))


def domain_strata(
    stratum: NDArray[np.int64], checked: NDArray[np.int64], wrong: Mask, inside: Mask
) -> tuple[Array, Array, Array]:
    """Return sizes, rows checked and wrong rows of the strata, for the rows ``inside`` a part."""
    # Where a row of the part or more had to be among those drawn from a stratum, these are a sample
    # of the part; elsewhere the part's wrong rows are counted among all rows of the stratum.
    n_strata = int(stratum.max()) + 1
    sizes = np.bincount(stratum, minlength=n_strata)
    own = np.bincount(stratum[inside], minlength=n_strata)
    drawn = np.bincount(stratum[checked], minlength=n_strata)
    is_own = inside[checked]
    own_drawn = np.bincount(stratum[checked[is_own]], minlength=n_strata)
    own_wrong = np.bincount(stratum[checked[is_own & wrong]], minlength=n_strata)
    by_itself = (own_drawn > 0) & (drawn * own >= sizes)
    used = own > 0
    return (
        np.where(by_itself, own, sizes)[used].astype(float),
        np.where(by_itself, own_drawn, drawn)[used].astype(float),
        own_wrong[used].astype(float),
    )


class _Test:
    """The test of Σ a_h W_h, by what was found in a sample."""

    def __init__(self, sizes: Array, checked: Array, wrong: Array, weights: Array) -> None:
        self.sizes, self.checked, self.wrong, self.weights = (
            np.asarray(values, np.float64) for values in (sizes, checked, wrong, weights)
        )
        self.t = float((self.weights * self.sizes * self.wrong / self.checked).sum())
        self.least, self.most = self.wrong, self.sizes - self.checked + self.wrong
        left = self.sizes - self.checked
        with np.errstate(divide="ignore", invalid="ignore"):
            self._n = np.where(left > 0, self.checked * (self.sizes - 1) / left, np.inf)  # n'
        # λ in units in which 1 is where the first stratum leaves its estimate behind
        slopes = np.abs(self.weights) * self.sizes / self._n
        self._unit = float(slopes.max()) or 1.0
        self._hyper = [_Hypergeometric(*pair) for pair in zip(sizes, checked, strict=True)]

    def likeliest(self, slope: float) -> Array:
        """Return the likeliest W_h for λ, of which ``slope`` is so many units."""
        share = self.wrong / self.checked
        b = slope / self._unit * self.weights * self.sizes / self._n
        root = np.sqrt(np.maximum((1.0 + b) ** 2 - 4.0 * b * share, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.where(1.0 + b > 0, 2.0 * share / (1.0 + b + root), (1.0 + b - root) / (2.0 * b))
        p = np.where(np.isfinite(p), p, share)
        return np.asarray(np.clip(self.sizes * p, self.least, self.most))

    def where_zero(self) -> Array | None:
        """Return the likeliest W_h with Σ a_h W_h = 0, None if there are none."""

        def excess(v: float) -> float:
            return float(self.weights @ self.likeliest(v / (1.0 - abs(v))))

        low, high = excess(-LAST), excess(LAST)  # a larger λ, a smaller sum
        if low < -A_BIT or high > A_BIT:
            return None
        if low <= 0 or high >= 0:
            v = -LAST if low <= 0 else LAST
        else:
            v = brentq(excess, -LAST, LAST, xtol=1e-9)
        return self.likeliest(v / (1.0 - abs(v)))

    def tails(self, wrong_rows: Array) -> tuple[float, float]:
        """Return P(T ≤ t) and P(T ≥ t) for these W_h, half of P(T = t) counted in each."""
        # The probabilities stand on a grid, each shared by its two neighbours there, so that T
        # keeps its mean; their convolution is a product of Fourier transforms.
        steps = self.weights * self.sizes / self.checked
        span = steps * self.checked
        first = float(np.minimum(span, 0.0).sum())
        width = (float(np.maximum(span, 0.0).sum()) - first) / (GRID - len(span) - 2) or 1.0
        transform: NDArray[np.complex128] = np.ones(GRID // 2 + 1, np.complex128)
        for step, one, rows in zip(steps, self._hyper, wrong_rows, strict=True):
            probability = one.probabilities(float(rows))
            place = np.abs(step) * np.arange(len(probability)) / width
            if step < 0:
                probability = probability[::-1]
            at = np.floor(place + 1e-9).astype(int)
            part = np.clip(place - at, 0.0, 1.0)
            on_grid = np.bincount(at, probability * (1.0 - part), GRID)
            on_grid += np.bincount(at + 1, probability * part, GRID)
            transform *= np.fft.rfft(on_grid)
        distribution = np.fft.irfft(transform, GRID)
        off = np.arange(GRID) - (self.t - first) / width
        equal = 0.5 * float(distribution[np.abs(off) < 1.5].sum())
        below, above = float(distribution[off <= -1.5].sum()), float(distribution[off >= 1.5].sum())
        return below + equal, above + equal


class _Hypergeometric:
    """How many wrong rows a sample of a stratum has, by how many the stratum has."""

    def __init__(self, size: float, checked: float) -> None:
        self._size, self._x = float(size), np.arange(int(checked) + 1.0)
        self._rest = float(checked) - self._x
        self._log = gammaln(self._x + 1.0) + gammaln(self._rest + 1.0)
        self._log += gammaln(size + 1.0) - gammaln(checked + 1.0) - gammaln(size - checked + 1.0)

    def probabilities(self, wrong: float) -> Array:
        """Return the probability of x = 0, 1, ...; between two whole numbers, of both in part."""
        whole = np.floor(wrong + 1e-9)
        part = max(wrong - whole, 0.0)
        found = self._at(whole)
        return found if part < 1e-9 else (1.0 - part) * found + part * self._at(whole + 1.0)

    def _at(self, wrong: float) -> Array:
        right = self._size - wrong
        is_possible = (self._x <= wrong) & (self._rest <= right)
        x, rest = np.minimum(self._x, wrong), np.minimum(self._rest, right)
        log = gammaln(wrong + 1.0) + gammaln(right + 1.0) - self._log
        log = log - gammaln(wrong - x + 1.0) - gammaln(right - rest + 1.0)
        return np.where(is_possible, np.exp(log), 0.0)
