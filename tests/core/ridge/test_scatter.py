"""The penalty on the scatter of scores: digits of its root, and its limits."""

import mpmath
import numpy as np
import pytest

from robell._core.layers.features import RowBlocks
from robell._core.ridge.scatter import (
    LeftOut,
    Penalty,
    Scatter,
    scatter_of_moments,
    whitening,
)


def a_penalty(matrix, weight):
    return Penalty(weight, Scatter(matrix, np.zeros((1, len(matrix))), np.ones(1)), np.ones((1, 1)))


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e4])
def test_columns_of_other_scales_cost_no_digits(rng, weight):
    A = rng.normal(size=(30, 5)) * [1.0, 1e7, 1e-6, 1e3, 1e10]
    S = A.T @ A / 30
    with mpmath.workdps(60):
        inverse = mpmath.inverse(mpmath.eye(5) + weight * mpmath.matrix(S.tolist()))
        expected = np.array(inverse.tolist(), dtype=float)
    R = whitening(a_penalty(S, weight))
    size = np.sqrt(np.diagonal(expected))
    np.testing.assert_allclose((R @ R.T) / np.outer(size, size), expected / np.outer(size, size),
                               atol=1e-9)  # fmt: skip


def test_a_penalty_beyond_all_numbers_leaves_the_columns_without_scatter():
    R = whitening(a_penalty(np.diag([1e20, 0.0]), 1e300))
    np.testing.assert_allclose(R @ R.T, np.diag([0.0, 1.0]))


@pytest.mark.parametrize("total", [False, True])
def test_the_scatter_of_moments_is_that_of_the_rows(rng, total):
    X, label, w = rng.normal(size=(40, 3)), rng.integers(0, 2, 40), rng.integers(1, 4, 40)
    sizes = np.array([w[label == c].sum() for c in (0, 1)], float)
    means = np.array([np.average(X[label == c], axis=0, weights=w[label == c]) for c in (0, 1)])
    apart = X - means[label]
    scatter = np.array([(apart[label == c].T * w[label == c]) @ apart[label == c] for c in (0, 1)])
    found = scatter_of_moments(sizes, means, scatter, total)
    if total:
        apart = X - np.average(X, axis=0, weights=w)
        expected = (apart.T * w) @ apart / w.sum()
    else:
        expected = (scatter / sizes[:, None, None]).sum(axis=0)
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.sizes, [w.sum()] if total else sizes)
    empty = scatter_of_moments(np.array([3.0, 0.0]), means, scatter * [[[1.0]], [[0.0]]], False)
    np.testing.assert_allclose(empty.matrix, scatter[0] / 3.0)


def test_classes_of_less_than_one_row_have_a_scatter_as_others_do(rng):
    """Weights may be shares: what is divided by is their sum, however small."""
    scatter = np.array([np.diag(rng.uniform(1.0, 2.0, 3)) for _ in range(2)])
    found = scatter_of_moments(np.array([0.25, 0.5]), np.zeros((2, 3)), scatter, False)
    np.testing.assert_allclose(found.matrix, scatter[0] / 0.25 + scatter[1] / 0.5)


@pytest.mark.parametrize("C", [0.3, 1.2, 40.0])
def test_left_out_scores_are_refits_where_one_column_is_much_larger(rng, C):
    """Eigenvalues lose the small ones beside it; a Cholesky factor keeps them."""
    M, T, w = rng.normal(size=(20, 4)), rng.normal(size=(20, 2)), rng.uniform(0.5, 2.0, 20)
    M[:, 2] *= 1e6
    A = rng.normal(size=(6, 4))
    S = A.T @ A
    S[2], S[:, 2] = 0.0, 0.0
    penalty = Penalty(0.7, Scatter(S, np.zeros((1, 4)), np.ones(1)), np.zeros((20, 1)))
    R, design = whitening(penalty), RowBlocks(lambda rows: M[rows], *M.shape)
    left_out = LeftOut(design.changed(lambda M: M @ R, len(R)), T, w, penalty, R)
    assert left_out.basis(C)[0]  # keeps its digits, as the refits below say
    found = left_out.scores(C)
    scale = np.array([1.0, 1.0, 1e-6, 1.0])  # refits in columns of one size
    Z, P = M * scale, (np.eye(4) + 0.7 * S) * np.outer(scale, scale)
    for i in range(20):
        rest = np.arange(20) != i
        G = P + C * (Z[rest].T * w[rest]) @ Z[rest]
        beta = np.linalg.solve(G, C * (Z[rest].T * w[rest]) @ T[rest])
        np.testing.assert_allclose(found[i], Z[i] @ beta, rtol=1e-7, atol=1e-9)
