"""Scores of predictions on rows whose labels may be wrong, corrected by the noise matrix.

Labels y come from true classes z by N_zy = P(y | z), whatever the prediction p was. Then the
shares of rows with prediction p and label y are

    C_py = Σ_z J_pz N_zy,      so that      J = C N⁻¹

are the shares with prediction p and true class z. Accuracy is Σ_z J_zz, the recall of class z is
J_zz / Σ_p J_pz. For two classes and scores, rows labelled y are a mixture of the true classes, with
a = P(z = 0 | y = 1) and b = P(z = 1 | y = 0), and the area under the ROC curve shrinks to

    A_y - 1/2 = (1 - a - b) (A_z - 1/2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]


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


def area_and_error(score: Array, positive: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the area under the ROC curve and its standard error (DeLong and others, 1988).

    With V_i the share of negative rows below the positive row i, and V_j the share of positive
    rows above the negative row j, the variance is var(V_i)/n₁ + var(V_j)/n₀.
    """
    n1, n0 = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(score)
    of_positive = (ranks[positive] - rankdata(score[positive])) / n0
    of_negative = 1.0 - (ranks[~positive] - rankdata(score[~positive])) / n1
    area = float(of_positive.mean())
    variance = 0.0
    for values in (of_positive, of_negative):
        # a perfect order would have no error at all: never less than one half of one pair
        spread = values.var(ddof=1) if len(values) > 1 else 0.25
        variance += max(float(spread), 0.25 / len(values) ** 2) / len(values)
    return area, float(np.sqrt(variance))
