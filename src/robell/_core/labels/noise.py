"""How many labels are wrong, and which, estimated from leave-one-out scores.

Each row has a given label y; its true class z is not known. The label depends on the true class
alone, by the matrix N_zy = P(y | z), and the true class on the scores s of the row:

    P(z | s) = exp(a s_z + b_z) / Σ_k exp(a s_k + b_k),       P(z | s, y) ∝ P(z | s) N_zy.

N is estimated from anchors, the rows whose scores leave the least doubt about their class. Slope
and offsets are then fitted by expectation maximisation with N fixed, because a likelihood that may
choose N as well takes hard rows for wrong ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from robell._core.ridge.calibrate import SlopePrior, contrasts, log_odds, newton_step

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Sizes of the groups of anchors looked at: of all rows for the common rate, of the rows that carry
# a label for that label's own.
ANCHOR_SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
OWN_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
LARGE_GROUP = 0.75
FEWEST_ANCHORS = 5.0
LARGEST_RATE = 0.47  # beyond one half, right and wrong labels would change places
LARGEST_OWN_RATE = 0.45
# A class is never left with less than this part of the rows that carry its label.
SMALLEST_REMAINDER = 0.1

PRIOR = SlopePrior(log_slope=1.5, precision=1.0)
LOG_SLOPES = -3.0, 5.0  # the least and the largest
EM_STEPS = 25
EM_TOLERANCE = 1e-3


class Link(NamedTuple):
    """P(z | s): one slope, and an offset a class."""

    slope: float
    offsets: Array

    def probability(self, scores: Array) -> Array:
        """Return P(z | s) for every row."""
        return np.asarray(softmax(self.slope * scores + self.offsets, axis=1))


def margins(scores: Array) -> Array:
    """Return by how much each class leads the best of the others, (A, K)."""
    order = np.sort(scores, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    return np.asarray(scores - np.where(scores == best, second, best))


def anchor_rate(
    margin: Array, wrong: Array, weight: Array, sizes: Array, largest: float = LARGEST_RATE
) -> float:
    """Return the smallest share of other labels among the most certain rows of a class.

    Of each group of rows with the largest margins the share of other labels is taken, with half a
    standard error added, since small groups have few by luck more often; the smallest of these
    counts, ``largest`` at the most.
    """
    order = np.lexsort((wrong, -margin))
    rows = np.concatenate([[0.0], np.cumsum(weight[order])])
    others = np.concatenate([[0.0], np.cumsum(weight[order] * wrong[order])])
    size = np.minimum(np.maximum(sizes, FEWEST_ANCHORS), rows[-1])
    rate = np.interp(size, rows, others) / size
    # never less than the error of a share seen as one half of one row in `size`
    error = np.sqrt(np.maximum(rate * (1.0 - rate), 0.25 / size) / size)
    return min(float((rate + 0.5 * error).min()), largest)


def common_rate(scores: Array, labels: Labels, weight: Array) -> float:
    """Return the rate at which labels of any class go wrong: the smallest of the classes' own.

    The rows of a large class are many and mostly certain, so that its rate is known well; that of
    a small class is not, and hard rows look like wrong ones. The rate is bounded so that every
    class keeps a part φ of the rows that carry its label: with a share p of them, a true share
    (p - r')/(1 - Kr') ≥ φp needs r' = r/(K-1) ≤ p(1-φ)/(1-φKp), and nothing where φKp ≥ 1.
    """
    n_classes = scores.shape[1]
    margin = margins(scores)
    sizes = np.array(ANCHOR_SHARES) * weight.sum()
    rates = [anchor_rate(margin[:, c], labels != c, weight, sizes) for c in range(n_classes)]
    share = np.bincount(labels, weight, n_classes) / weight.sum()
    missing = 1.0 - SMALLEST_REMAINDER * n_classes * share
    bounded = missing > 0  # not a class that has most of the rows of more than ten
    room = share[bounded] * (1.0 - SMALLEST_REMAINDER) / missing[bounded]
    return float(min(*rates, room.min() * (n_classes - 1)))


def noise_matrix(scores: Array, labels: Labels, weight: Array, rate: float) -> Array:
    """Return N: the common rate r for every class, raised for small classes that are noisier.

    Among the rows most certainly of class c, a share o_c carries another label. Wrong labels are as
    frequent among the most certain rows as among many (o_c ≈ m_c, the share in a large group);
    where classes merely overlap, other labels are rare among the most certain rows (o_c < m_c). So
    a class smaller than the largest has the rate r + min(1, o_c / m_c) (o_c - r), or r if larger.
    """
    n_classes = scores.shape[1]
    margin = margins(scores)
    counts = np.bincount(labels, weight, n_classes)
    rates = np.full(n_classes, rate)
    for c in np.flatnonzero(counts < counts.max()):
        sizes = np.array(OWN_SHARES) * counts[c]
        own = anchor_rate(margin[:, c], labels != c, weight, sizes, LARGEST_OWN_RATE)
        large = np.array([LARGE_GROUP * counts[c]])
        among_many = anchor_rate(margin[:, c], labels != c, weight, large, 1.0)
        trust = min(1.0, own / among_many)
        rates[c] = max(rate, rate + trust * (own - rate))
    return even_noise(rates)


def even_noise(rates: Array) -> Array:
    """Return N_zy = P(y | z): wrong at the class's rate, all other classes equally likely then."""
    n_classes = len(rates)
    N = np.repeat(rates[:, None] / (n_classes - 1), n_classes, axis=1)
    np.fill_diagonal(N, 1.0 - rates)
    return N


def joint_matrix(probability: Array, labels: Labels, multiplicity: Array, n_classes: int) -> Array:
    """Return J_zy = Σ_i m_i P(z | s_i, y_i) [y_i = y]: rows of true class z with label y."""
    rows = multiplicity[:, None] * probability
    return np.stack([rows[labels == y].sum(axis=0) for y in range(n_classes)], axis=1)


def noise_rates(joint: Array) -> Array:
    """Return N_zy = J_zy / Σ_y J_zy, the share of the rows of true class z that have label y."""
    total = np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(joint / total)


def wrong_share(joint: Array) -> float:
    """Return 1 - Σ_z J_zz / Σ_zy J_zy, the share of all rows whose label is wrong."""
    return float(1.0 - np.trace(joint) / joint.sum())


def posterior(prior: Array, labels: Labels, N: Array) -> Array:
    """Return P(z | s, y) from P(z | s) and the given labels."""
    return _posterior(prior.T, N[:, labels]).T


def _posterior(prior: Array, likelihood: Array) -> Array:
    joint = prior * likelihood
    joint /= np.maximum(joint.sum(axis=0), 1e-300)
    return joint


def fit_link(
    scores: Array, labels: Labels, weight: Array, N: Array, start: Link | None = None
) -> Link:
    """Fit slope and offsets by expectation maximisation, one Newton step in each round.

    Maximises Σ_i w_i log Σ_z P(z | s_i) N_zy_i, with a prior on log a that keeps a positive.
    """
    # Sums over a few classes are sums of long vectors in this order, which is fast.
    contrast, likelihood = np.ascontiguousarray(contrasts(scores)), N[:, labels]
    theta = np.concatenate([[PRIOR.log_slope], np.zeros(len(contrast))])
    if start is not None:
        theta = np.concatenate([[np.log(start.slope)], start.offsets[1:] - start.offsets[0]])
    # Where one row weighs more than 1e16 others the rounding of their sum is more than 1e-6.
    ridge = max(1e-6, 1e-12 * float(weight.sum()))
    for _ in range(EM_STEPS):
        P = softmax(np.vstack([np.zeros(len(labels)), log_odds(theta, contrast)]), axis=0)
        target = _posterior(P, likelihood)
        step, _ = newton_step(theta, contrast, P[1:], target[1:], weight, PRIOR, ridge)
        step = np.clip(step, -1.0, 1.0)
        theta = theta - step
        theta[0] = np.clip(theta[0], *LOG_SLOPES)
        if np.abs(step).max() < EM_TOLERANCE:
            break
    return Link(float(np.exp(theta[0])), np.concatenate([[0.0], theta[1:]]))


def nearest_centroid_shares(scores: Array, Z: Array, weight: Array) -> Array:
    """Return the share of the rows nearest, by their scores, to the mean of each class.

    Class means are of the scores weighted by Z = P(z | s, y): of the true classes, as far as known.
    """
    counts = np.maximum(weight @ Z, 1e-12)
    means = (Z * weight[:, None]).T @ scores / counts[:, None]
    nearest = (scores @ means.T - 0.5 * np.square(means).sum(axis=1)).argmax(axis=1)
    return np.asarray(np.bincount(nearest, weight, scores.shape[1]) / weight.sum())


def offsets_for_shares(scores: Array, weight: Array, shares: Array) -> Array:
    """Return offsets o such that argmax_k s_k + o_k is class k for these shares of the rows.

    Two classes: o from the quantile of the difference of the scores. More: the offsets of classes
    predicted too often are lowered, of the others raised, by less and less.
    """
    n_classes = scores.shape[1]
    offsets = np.zeros(n_classes)
    if n_classes == 2:
        offsets[1] = -_upper_quantile(scores[:, 1] - scores[:, 0], weight, float(shares[1]))
        return offsets
    spread = float(np.sqrt(np.average(np.square(margins(scores)).mean(axis=1), weights=weight)))
    best, smallest = offsets.copy(), np.inf
    for step in range(100):
        chosen = (scores + offsets).argmax(axis=1)
        found = np.bincount(chosen, weight, n_classes) / weight.sum()
        miss = float(np.abs(found - shares).sum())
        if miss < smallest:
            best, smallest = offsets.copy(), miss
        offsets += spread / (4.0 + 0.2 * step) * np.log((shares + 0.01) / (found + 0.01))
    return np.asarray(best - best[0])


def _upper_quantile(values: Array, weight: Array, share: float) -> float:
    """Return a threshold that this share of the weight lies above, between two values."""
    ordered = -np.sort(-values)
    above = np.cumsum(weight[np.argsort(-values, kind="stable")])
    place = int(np.searchsorted(above, share * above[-1] * (1.0 + 1e-12), side="right"))
    place = min(place, len(values) - 1)
    # Copies of a row stay on one side.
    tie = 1e-9 * (ordered[0] - ordered[-1])
    while place > 0 and ordered[place - 1] - ordered[place] <= tie:
        place -= 1
    return float(ordered[0] if place == 0 else 0.5 * (ordered[place - 1] + ordered[place]))
