"""C = inf: of all least squares solutions the smallest, and its rows left out, against refits."""

import numpy as np
import pytest

from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import WithConstant, missed_left_out, solve_ridge


def blocks(M):
    return RowBlocks(lambda rows: M[rows], *M.shape, M.dtype.type)


def least_norm(M, T, w, Q=None):
    """Of the least squares solutions b = b0 + Zc the one of least b'(I + Q)b, Z the null space."""
    root = np.sqrt(w)[:, None]
    solution = np.linalg.pinv(M * root) @ (T * root)
    if Q is None:
        return solution
    _, s, right = np.linalg.svd(M * root)
    null = right[(s > 1e-12 * s[0]).sum() :].T
    A = np.eye(len(Q)) + Q
    return solution - null @ np.linalg.solve(null.T @ A @ null, null.T @ A @ solution)


def problem(rng, n_rows, n_columns, rank=None):
    M = rng.normal(size=(n_rows, n_columns))
    if rank is not None:
        M = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns))
    return M, np.eye(3)[rng.integers(3, size=n_rows)], rng.uniform(0.2, 3.0, n_rows)


SHAPES = [(40, 9, None), (9, 40, None), (12, 12, None), (40, 12, 7), (12, 40, 7)]


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_the_smallest_solution_and_left_out_scores_are_refits(rng, shape, graph):
    M, T, w = problem(rng, *shape)
    Q = rng.normal(size=(M.shape[1],) * 2) * 0.1 if graph else None  # not symmetric
    found = solve_ridge(blocks(M), T, np.inf, w, True, Q)
    np.testing.assert_allclose(found.beta, least_norm(M, T, w, Q), atol=1e-10)
    for i in range(len(M)):
        keep = np.arange(len(M)) != i
        score = M[i] @ least_norm(M[keep], T[keep], w[keep], Q)
        np.testing.assert_allclose(found.loo_scores[i], score, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_free_constant_is_left_out_of_the_norm(rng, shape):
    """Left-out scores of rows that are fitted exactly are those of refits, not rounding."""
    M, T, w = problem(rng, *shape)
    M[:, 0] = 1.0

    def centred(M, T, w):
        mean, target_mean = w @ M / w.sum(), w @ T / w.sum()
        beta = least_norm(M - mean, T - target_mean, w)
        beta[0] = target_mean - mean @ beta
        return beta

    found = WithConstant(blocks(M), T, w).solve(np.inf, True)
    np.testing.assert_allclose(found.beta, centred(M, T, w), atol=1e-10)
    for i in range(len(M)):
        keep = np.arange(len(M)) != i
        score = M[i] @ centred(M[keep], T[keep], w[keep])
        np.testing.assert_allclose(found.loo_scores[i], score, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_the_limit_of_large_C(rng, shape):
    M, T, w = problem(rng, *shape)
    Q = rng.normal(size=(M.shape[1],) * 2) * 0.1
    for penalty in (None, Q):
        limit = solve_ridge(blocks(M), T, np.inf, w, False, penalty).beta
        near = solve_ridge(blocks(M), T, 1e6, w, False, penalty).beta
        np.testing.assert_allclose(limit, near, atol=1e-4)


@pytest.mark.parametrize("shape", [(30, 5), (5, 30), (30, 8)], ids=str)
def test_complex_systems_and_rows_of_their_own(rng, shape):
    M = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    M[0], M[1:, 0] = 0.0, 0.0
    M[0, 0] = 2.0  # a row that no other says anything about
    T = np.eye(2)[rng.integers(2, size=len(M))]
    found = solve_ridge(blocks(M), T, np.inf, None, True)
    np.testing.assert_allclose(found.beta, np.linalg.pinv(M) @ T, atol=1e-10)
    for i in range(len(M)):
        keep = np.arange(len(M)) != i
        score = (M[i] @ (np.linalg.pinv(M[keep]) @ T[keep])).real
        if shape[0] > shape[1] and i > 0:
            np.testing.assert_allclose(found.loo_scores[i], score, atol=1e-9)
    np.testing.assert_allclose(found.loo_scores[0], 0.0, atol=1e-9)


def test_a_matrix_of_zeros_has_the_solution_zero():
    T = np.eye(2)[[0, 1, 0]]
    found = solve_ridge(blocks(np.zeros((3, 4))), T, np.inf, None, True)
    assert not found.beta.any()
    assert not found.loo_scores.any()


def test_with_a_penalty_a_row_hardly_any_other_speaks_of_does_not_stand_alone(rng):
    """1 - h = O + D: O is 1e-11 of a row a million times as long as the others, D is λ/(s² + λ)."""
    A, t, small = rng.normal(size=(8, 3)), rng.normal(size=(8, 1)), 1e-11
    A[0] = [1e6, 0.0, 0.0]
    U = np.linalg.qr(A)[0]
    found = missed_left_out(U, small * U, t, 1.0, 8)[0, 0, 0]
    inverse = np.linalg.inv(A[1:].T @ A[1:])
    outside = 1.0 / (1.0 + A[0] @ inverse @ A[0])
    rest = outside * (t[0] - A[0] @ inverse @ A[1:].T @ t[1:])[0]
    assert 1e-13 < outside < 1e-10
    assert found == pytest.approx((rest + small * (t[0, 0] - rest)) / (outside + small), rel=1e-3)
