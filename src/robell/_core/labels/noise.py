"""How many labels are wrong, of classes or numbers, estimated from leave-one-out predictions.

N_zy = P(y | z), how often a row of class z is labelled y, comes from anchors: the rows whose
scores leave the least doubt about their class. Those of them with another label are wrong ones.

Scores of predictions on rows whose labels may be wrong, corrected by the noise matrix.

Labels y come from true classes z by N_zy = P(y | z), whatever the prediction p was. Then the
shares of rows with prediction p and label y are

    C_py = Σ_z J_pz N_zy,      so that      J = C N⁻¹

are the shares with prediction p and true class z. Accuracy is Σ_z J_zz, the recall of class z is
J_zz / Σ_p J_pz. For two classes and scores, rows labelled y are a mixture of the true classes, with
a = P(z = 0 | y = 1) and b = P(z = 1 | y = 0), and the area under the ROC curve shrinks to

    A_y - 1/2 = (1 - a - b) (A_z - 1/2).

How probable it is that a number is wrong follows from predictions that were made without its row.
The residual e of a row is its number less the prediction, s its scale beside that of other rows:

    right   e ~ σ s t_ν     σ, ν estimated: right numbers have tails as heavy as the table shows
    wrong   e ~ W t_2       W the spread of all numbers: a wrong number may stand anywhere

    P(wrong | e) = ε t_2(e/W)/W / [ε t_2(e/W)/W + (1 - ε) t_ν(e/σs)/σs]

σ and the share ε of wrong numbers are found by expectation and maximisation, ν is the one of few
with the largest likelihood. ν > 2: what lies far enough out is wrong, whatever the tails.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy.special import expit

from robell._core.array import Array, Labels, Mask, sum_by_group, to_host
from robell._core.membership.equations import weighted_median

# Sizes of the groups of anchors looked at: of all rows for the common rate, of the rows that carry
# a label for that label's own.
ANCHOR_SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
OWN_SHARES = np.array([0.1, 0.25, 0.5, 0.75])
DOUBTED_ROWS = 20.0  # C₀: a class of so many is believed half of what its anchors say
FEWEST_ANCHORS = 5.0
LARGEST_RATE = 0.47  # beyond one half, right and wrong labels would change places
LARGEST_OWN_RATE = 0.45
# A class is never left with less than this part of the rows that carry its label.
SMALLEST_REMAINDER = 0.1
LEVEL = 0.05  # of the test whether the columns know anything about the labels


def margins(scores: Array) -> Array:
    """Return by how much each class leads the best of the others, (A, K)."""
    order = np.sort(scores, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    return np.asarray(scores - np.where(scores == best, second, best))


def other_shares(margin: Array, wrong: Array, weight: Array, sizes: Array) -> tuple[Array, Array]:
    """Return the share of other labels in each group of the most certain rows, and its size."""
    order = np.argsort(-margin, kind="stable")
    # Equal margins, as of equal rows, come in as one: none of them is the more certain.
    last = np.append(np.flatnonzero(np.diff(margin[order])), len(order) - 1)
    rows = np.append(0.0, np.cumsum(weight[order])[last])
    others = np.append(0.0, np.cumsum(weight[order] * wrong[order])[last])
    size = np.minimum(np.maximum(sizes, FEWEST_ANCHORS), rows[-1])
    return np.interp(size, rows, others) / size, size


def anchor_rate(margin: Array, wrong: Array, weight: Array, sizes: Array) -> float:
    """Return the smallest share of other labels among the most certain rows of a class."""
    rate, size = other_shares(margin, wrong, weight, sizes)
    # Half a standard error is added, since small groups have few by luck more often; it is never
    # less than that of a share seen as one half of one row in `size`.
    error = np.sqrt(np.maximum(rate * (1.0 - rate), 0.25 / size) / size)
    return min(float((rate + 0.5 * error).min()), LARGEST_RATE)


def common_rate(scores: Array, labels: Labels, weight: Array) -> float:
    """Return the rate at which labels of any class go wrong.

    Of two classes the smaller of their rates: the rows of a large class are many and mostly
    certain, so that its rate is known well; that of a small class is not, and hard rows look like
    wrong ones. More classes have one rate together, among the rows most certain of any class: a
    group of so many rows would hold more than one class, and small groups are lucky too often.

    The rate is bounded so that every class keeps a part φ of the rows that carry its label: with a
    share p of them, a true share (p - r')/(1 - Kr') ≥ φp needs r' = r/(K-1) ≤ p(1-φ)/(1-φKp), and
    nothing where φKp ≥ 1.
    """
    n_classes = scores.shape[1]
    margin = margins(scores)
    sizes = np.array(ANCHOR_SHARES) * weight.sum()
    if n_classes == 2:
        rates = [anchor_rate(margin[:, c], labels != c, weight, sizes) for c in (0, 1)]
    else:
        # All rows are a group as well: no more labels are wrong than differ from the prediction.
        sizes = np.append(sizes, weight.sum())
        rates = [anchor_rate(margin.max(axis=1), labels != margin.argmax(axis=1), weight, sizes)]
    share = np.bincount(labels, weight, n_classes) / weight.sum()
    missing = 1.0 - SMALLEST_REMAINDER * n_classes * share
    bounded = missing > 0  # not a class that has most of the rows of more than ten
    room = share[bounded] * (1.0 - SMALLEST_REMAINDER) / missing[bounded]
    return float(min(*rates, room.min() * (n_classes - 1)))


def noise_matrix(scores: Array, labels: Labels, weight: Array, rate: float) -> Array:
    """Return N: the common rate r for every class, raised for small classes that are noisier.

    Among the m rows most certainly of class c, three quarters of as many as carry its label, a
    share o carries another one; among the most certain n of them a share p. Wrong labels are as
    frequent among the most certain rows as among all of these, and the rate is o; where classes
    overlap they are rarer, and it is p (p/o), p the smallest. Chance makes p < o too: with
    z = max (o - p)/sqrt(o (1 - o) (1/n - 1/m)) and t = exp(-½ max(z - 1, 0)²), a class smaller than
    the largest, whose label C rows carry, has the rate

        r + C/(C + C₀) (t o + (1 - t) p²/o - r)           or r if that is larger.
    """
    n_classes = scores.shape[1]
    margin = margins(scores)
    counts = np.bincount(labels, weight, n_classes)
    rates = np.full(n_classes, rate)
    for c in np.flatnonzero(counts < counts.max()):
        share, size = other_shares(margin[:, c], labels != c, weight, OWN_SHARES * counts[c])
        share = (share * size + 0.5) / (size + 1.0)  # half a row at least: none was seen by luck
        o, (p, n) = share[-1], (share[:-1], size[:-1])
        error = np.sqrt(o * (1.0 - o) * np.maximum(1.0 / n - 1.0 / size[-1], 1e-12))
        t = np.exp(-0.5 * max(((o - p) / error).max() - 1.0, 0.0) ** 2)
        own = min(t * o + (1.0 - t) * share.min() ** 2 / o, LARGEST_OWN_RATE)
        rates[c] = max(rate, rate + counts[c] / (counts[c] + DOUBTED_ROWS) * (own - rate))
    return even_noise(rates)


def even_noise(rates: Array) -> Array:
    """Return N_zy = P(y | z): wrong at the class's rate, all other classes equally likely then."""
    n_classes = len(rates)
    N = np.repeat(rates[:, None] / (n_classes - 1), n_classes, axis=1)
    np.fill_diagonal(N, 1.0 - rates)
    return N


def joint_matrix(probability: Any, labels: Any, multiplicity: Any, n_classes: int) -> Array:
    """Return J_zy = Σ_i m_i P(z | s_i, y_i) [y_i = y]: rows of true class z with label y."""
    return to_host(sum_by_group(multiplicity[:, None] * probability, labels, n_classes)).T


def noise_rates(joint: Array) -> Array:
    """Return N_zy = J_zy / Σ_y J_zy, the share of the rows of true class z that have label y."""
    total = np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(joint / total)


def wrong_share(joint: Array) -> float:
    """Return 1 - Σ_z J_zz / Σ_zy J_zy, the share of all rows whose label is wrong."""
    return float(1.0 - np.trace(joint) / joint.sum())


# -- scores on labels that may be wrong -------------------------------------------------------


def true_shares(C: Array, N: Array) -> Array:
    """Return J = C N⁻¹ for one table or a stack of them, (..., K, K)."""
    return np.asarray(
        np.swapaxes(np.linalg.solve(np.swapaxes(N, -1, -2), np.swapaxes(C, -1, -2)), -1, -2)
    )


def accuracy_and_recalls(J: Array) -> tuple[Array, Array]:
    """Return accuracy (...) and the recall of each class (..., K), both within [0, 1]."""
    right = np.diagonal(J, axis1=-2, axis2=-1)
    total = np.maximum(J.sum(axis=-2), np.finfo(np.float64).tiny)
    return np.clip(right.sum(axis=-1), 0.0, 1.0), np.clip(right / total, 0.0, 1.0)


def unmixed_area(area: Array, share: Array, N: Array) -> Array:
    """Return A_z from the area A_y by the labels, the share of label 1, and N."""
    p1 = (share - N[..., 0, 1]) / (N[..., 1, 1] - N[..., 0, 1])  # of the true class 1
    p1 = np.clip(p1, 1e-9, 1.0 - 1e-9)
    a = (1.0 - p1) * N[..., 0, 1] / np.maximum(share, 1e-12)
    b = p1 * N[..., 1, 0] / np.maximum(1.0 - share, 1e-12)
    kept = 1.0 - a - b
    return np.clip(0.5 + (area - 0.5) / np.where(np.abs(kept) < 1e-9, 1e-9, kept), 0.0, 1.0)


def area_and_error(score: Array, positive: Mask) -> tuple[float, float]:
    """Return the area under the ROC curve and its standard error (DeLong and others, 1988).

    With V_i the share of negative rows below the positive row i, and V_j the share of positive
    rows above the negative row j, the variance is var(V_i)/n₁ + var(V_j)/n₀.
    """
    n1, n0 = int(positive.sum()), int((~positive).sum())
    ranks = scipy.stats.rankdata(score)
    of_positive = (ranks[positive] - scipy.stats.rankdata(score[positive])) / n0
    of_negative = 1.0 - (ranks[~positive] - scipy.stats.rankdata(score[~positive])) / n1
    area = float(of_positive.mean())
    variance = 0.0
    for values in (of_positive, of_negative):
        # a perfect order would have no error at all: never less than one half of one pair
        spread = values.var(ddof=1) if len(values) > 1 else 0.25
        variance += max(float(spread), 0.25 / len(values) ** 2) / len(values)
    return area, float(np.sqrt(variance))


# -- whether scores say anything --------------------------------------------------------------


def areas(probability: Array, positive: Any, weight: Any = None) -> tuple[Any, ...]:
    """Return the areas under precision over recall and under the ROC curve.

    With f positives found among n flagged at each probability, from the largest on, and g = n - f:

        average precision = Σ Δf / f_all f / n
        area under the ROC curve = Σ Δf (g_all - g + Δg / 2) / (f_all g_all)

    Of several rows of ``weight`` two arrays come back; one row at a time stays in the cache.
    """
    order = np.argsort(-probability, kind="stable")
    last = np.append(np.diff(probability[order]) != 0, True)  # of rows of equal probability
    positive, values = np.asarray(positive, np.float64)[order], []
    rows = np.ones((1, len(order))) if weight is None else np.atleast_2d(weight)
    for row in rows:
        row = row[order].astype(np.float64)
        found, flagged = np.cumsum(row * positive)[last], np.cumsum(row)[last]
        others = flagged - found
        step, total = np.diff(found, prepend=0.0), max(found[-1], 1e-300)
        below = others[-1] - others + 0.5 * np.diff(others, prepend=0.0)
        average = (step / total * found / np.maximum(flagged, 1e-300)).sum()
        values.append((average, (step * below).sum() / max(found[-1] * others[-1], 1e-300)))
    found = np.array(values).T
    return tuple(found[:, 0].tolist()) if len(rows) == 1 else tuple(found)


def separations(
    scores: Array, labels: Labels, weight: Array | None = None, n_rows: float | None = None
) -> tuple[Array, Array]:
    """Return the area under the ROC curve of each class, and its standard error under chance.

    ``n_rows`` is how many rows the weights are worth, their sum by default.
    """
    weight = np.ones(len(labels)) if weight is None else weight
    counts = np.bincount(labels, weight, scores.shape[1])
    n = counts.sum() if n_rows is None else n_rows
    counts *= n / counts.sum()
    area = [areas(scores[:, k], labels == k, weight)[1] for k in range(scores.shape[1])]
    return np.array(area), np.sqrt((n + 1.0) / (12.0 * counts * (n - counts)))


def signal(beyond_chance: float) -> float:
    """Return the p-value of the columns knowing nothing about the labels.

    Rows left out are predicted better than by chance by so many standard errors of predictions that
    have seen no label. Two rows each had a part in the prediction of the other: what they have in
    common by chance counts twice, and the variance is twice as large.
    """
    return float(scipy.special.ndtr(-beyond_chance / np.sqrt(2.0)))


TAILS = (3.0, 5.0, 10.0, 30.0)  # ν
WRONG_TAILS = 2.0
STEPS = 60
NORMAL_MEDIAN = 0.6745  # of |e|/σ under a normal distribution
PRIOR_WRONG, PRIOR_ROWS = 1.0, 20.0  # before a look at any row: one in twenty is wrong
MOST_WRONG = 0.45
SMALLEST_SIGMA = 1e-9  # of the spread


class NumberNoise(NamedTuple):
    """The noise of right numbers, and how many are wrong."""

    sigma: float
    tails: float  # ν
    rate: float  # ε
    spread: float  # W

    def right(self, residual: Array, scale: Array) -> Array:
        """Return the probability that each number is right, small ones with all their digits."""
        log_odds = self._log_right(residual, scale) - self._log_wrong(residual)
        return np.asarray(expit(log_odds))

    def log_likelihood(self, residual: Array, scale: Array) -> Array:
        """Return the logarithm of the density of each residual."""
        return np.asarray(np.logaddexp(self._log_wrong(residual), self._log_right(residual, scale)))

    def _log_wrong(self, residual: Array) -> Array:
        density = scipy.stats.t.logpdf(residual / self.spread, WRONG_TAILS)
        return np.asarray(density - np.log(self.spread) + np.log(self.rate))

    def _log_right(self, residual: Array, scale: Array) -> Array:
        sigma = self.sigma * scale
        density = scipy.stats.t.logpdf(residual / sigma, self.tails) - np.log(sigma)
        return np.asarray(density + np.log1p(-self.rate))


def fit_number_noise(residual: Array, scale: Array, spread: float, weight: Array) -> NumberNoise:
    """Estimate the noise from residuals, each counted ``weight`` times."""
    found = [_fit_with(tails, residual, scale, spread, weight) for tails in TAILS]
    likelihoods = [float(weight @ noise.log_likelihood(residual, scale)) for noise in found]
    return found[int(np.argmax(likelihoods))]


def _fit_with(
    tails: float, residual: Array, scale: Array, spread: float, weight: Array
) -> NumberNoise:
    """Estimate σ and ε by expectation and maximisation, for tails that are known."""
    relative, total = residual / scale, float(weight.sum())
    least = SMALLEST_SIGMA * spread
    start = float(weighted_median(np.abs(relative)[:, None], weight)[0]) / NORMAL_MEDIAN
    noise = NumberNoise(max(start, least), tails, PRIOR_WRONG / PRIOR_ROWS, spread)
    for _ in range(STEPS):
        right = weight * noise.right(residual, scale)
        # A t distribution is a normal one whose variance differs by row: what is known of it.
        precision = (tails + 1.0) / (tails + np.square(relative / noise.sigma))
        variance = float(right @ (precision * np.square(relative))) / max(right.sum(), 1e-300)
        rate = (total - float(right.sum()) + PRIOR_WRONG) / (total + PRIOR_ROWS)
        noise = noise._replace(
            sigma=max(float(np.sqrt(variance)), least), rate=min(rate, MOST_WRONG)
        )
    return noise


def spread_of(values: Array, weight: Array) -> tuple[float, float]:
    """Return the median, and 1.4826 times the median distance from it: few wrong numbers or many.

    Where more than half of the numbers are equal, the mean distance stands in.
    """
    middle = float(weighted_median(values[:, None], weight)[0])
    off = np.abs(values - middle)
    spread = float(weighted_median(off[:, None], weight)[0]) / NORMAL_MEDIAN
    if not spread:
        spread = float(weight @ off / weight.sum())
    return middle, spread
