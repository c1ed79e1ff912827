"""Ridges on blocks of columns and on kernels, against stacked least squares and refits."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import (
    Blocks,
    InBlocks,
    _solve_svd,
    left_out_errors,
    solve_kernels,
    solve_ridge,
    system_of,
)
from robell._core.ridge.solve import kernel_left_out_errors as kernel_errors

STUDENT, TWO, THREE = (1.0, 0.0), (1.0, 1.0), (1.0, 1.0, 1.0)
# rows, columns of every block, coupling, which blocks are scored
SHAPES = [
    (30, (5, 6), 1.0, STUDENT),
    (12, (9, 8), 1.0, STUDENT),
    (30, (5, 6), 0.0, TWO),
    (30, (5, 6), 1.0, TWO),
    (9, (5, 6), 1.0, TWO),
    (11, (5, 6), 1.0, TWO),  # with C = inf every row is fitted exactly
    (11, (5, 6), 1.0, STUDENT),
    (30, (5, 6, 4), 0.35, THREE),
    (8, (9, 8), 0.35, TWO),
    (8, (12, 3), 0.35, TWO),
    (9, (3, 12, 2), 0.5, THREE),
]


def as_design(M):
    return RowBlocks(lambda rows: M[rows], *M.shape)


def problem(n_rows, sizes, coupling, scored, seed=0, twin_columns=False):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(n_rows, sum(sizes)))
    if twin_columns:
        M[:, 1] = M[:, 0]
    ends = np.cumsum([0, *sizes]).tolist()
    columns = tuple(slice(*pair) for pair in pairwise(ends))
    T = np.eye(3)[rng.integers(0, 3, n_rows)]
    return M, T, rng.uniform(0.5, 2.0, n_rows), Blocks(columns, coupling, np.array(scored))


def stacked_solution(M, T, w, C, blocks):
    """The V+1 rows of every sample as the formula sheet has them, by least squares."""
    V, k = len(blocks.columns), blocks.coupling
    J, U = [], []
    for m, t, weight in zip(M, T, np.sqrt(w), strict=True):
        for c in blocks.columns:
            row = np.zeros(len(m))
            row[c] = m[c]
            J.append(weight * np.sqrt(1 - k) * row)
            U.append(weight * np.sqrt(1 - k) * t / V)
        J.append(weight * np.sqrt(k) * m)
        U.append(weight * np.sqrt(k) * t)
    J, U = np.array(J), np.array(U)
    if np.isinf(C):
        return np.linalg.pinv(J, rcond=1e-11) @ U
    J = np.vstack([J, np.eye(M.shape[1]) / np.sqrt(C)])
    return np.linalg.lstsq(J, np.vstack([U, np.zeros((M.shape[1], 3))]), rcond=None)[0]


def scores_without_each(M, T, w, C, blocks):
    found = np.empty_like(T)
    for i in range(len(M)):
        rest = np.arange(len(M)) != i
        theta = stacked_solution(M[rest], T[rest], w[rest], C, blocks)
        parts = zip(blocks.scored, blocks.columns, strict=True)
        found[i] = sum(a * M[i, c] @ theta[c] for a, c in parts)
    return found


@pytest.mark.parametrize("twin_columns", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, np.inf])
@pytest.mark.parametrize("shape", SHAPES)
def test_solution_and_left_out_scores_are_those_of_least_squares(shape, C, twin_columns):
    M, T, w, blocks = problem(*shape, twin_columns=twin_columns)
    expected = stacked_solution(M, T, w, C, blocks)
    without = scores_without_each(M, T, w, C, blocks)
    found = InBlocks(as_design(M), T, w, blocks).solve(C, True)
    system = InBlocks(as_design(M), T, w, blocks)
    by_svd = _solve_svd(system, w * min(C, 1.0), 1.0 / max(C, 1.0), True)
    for solution in (found, by_svd):
        np.testing.assert_allclose(solution.beta, expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(solution.loo_scores, without, rtol=0, atol=1e-10)
    error = left_out_errors(system, np.array([C]))
    np.testing.assert_allclose(error, w @ np.square(T - without).sum(axis=1), rtol=1e-9)


def test_a_sample_is_left_out_by_a_system_of_views_plus_one_rows():
    """The formula sheet's own form of the identity."""
    M, T, w, blocks = problem(25, (4, 3, 5), 0.6, THREE)
    C, V, k = 3.0, 3, 0.6
    theta = stacked_solution(M, T, w, C, blocks)
    G, J = np.eye(M.shape[1]), []
    for i in range(len(M)):
        rows = np.zeros((V + 1, M.shape[1]))
        for v, c in enumerate(blocks.columns):
            rows[v, c] = np.sqrt(w[i] * (1 - k)) * M[i, c]
        rows[V] = np.sqrt(w[i] * k) * M[i]
        J.append(rows)
        G += C * rows.T @ rows
    found = InBlocks(as_design(M), T, w, blocks).solve(C, True)
    for i, rows in enumerate(J):
        t = np.sqrt(w[i]) * np.outer(np.r_[np.full(V, np.sqrt(1 - k) / V), np.sqrt(k)], T[i])
        inner = np.eye(V + 1) - C * rows @ np.linalg.solve(G, rows.T)
        change = np.linalg.solve(G, rows.T) @ np.linalg.solve(inner, t - rows @ theta)
        np.testing.assert_allclose(found.loo_scores[i], M[i] @ (theta - C * change), atol=1e-12)


def test_coupling_goes_from_separate_networks_to_one():
    M, T, w, blocks = problem(40, (5, 6), 0.0, TWO)
    apart = InBlocks(as_design(M), T, w, blocks).solve(2.0, False).beta
    for c in blocks.columns:
        alone = solve_ridge(as_design(M[:, c]), T, 2.0, w).beta
        np.testing.assert_allclose(2 * apart[c], alone, atol=1e-12)
    together = InBlocks(as_design(M), T, w, blocks._replace(coupling=1.0)).solve(2.0, True)
    one = solve_ridge(as_design(M), T, 2.0, w, True)
    np.testing.assert_allclose(together.beta, one.beta, atol=1e-12)
    np.testing.assert_allclose(together.loo_scores, one.loo_scores, atol=1e-12)


def test_a_solution_leaves_the_sum_of_its_samples_residuals():
    """Σ_i w_i m_ivᵀ E(t_i/V - f_i), E one on its diagonal and κ beside it."""
    M, T, w, blocks = problem(20, (4, 3, 5), 0.6, THREE)
    theta = np.random.default_rng(5).normal(size=(12, 3))
    E = 0.4 * np.eye(3) + 0.6 * np.ones((3, 3))
    expected = np.zeros_like(theta)
    for m, t, weight in zip(M, T, w, strict=True):
        rest = E @ np.array([t / 3 - m[c] @ theta[c] for c in blocks.columns])
        for v, c in enumerate(blocks.columns):
            expected[c] += weight * np.outer(m[c], rest[v])
    found = InBlocks(as_design(M), T, w, blocks).residual_products(theta, w)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_design_is_solved_as_a_whole_or_in_its_blocks():
    M, T, w, blocks = problem(25, (4, 3), 0.6, TWO)
    whole, parts = (system_of(as_design(M), T, w, some).solve(2.0).beta for some in (None, blocks))
    np.testing.assert_allclose(whole, solve_ridge(as_design(M), T, 2.0, w).beta, rtol=1e-12)
    np.testing.assert_allclose(parts, stacked_solution(M, T, w, 2.0, blocks), atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(3, 20),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.floats(0.0, 1.0),
    st.floats(-4, 4),
    st.integers(0, 99),
)
def test_any_shape(n_rows, sizes, coupling, log_C, seed):
    M, T, w, blocks = problem(n_rows, sizes, coupling, np.ones(len(sizes)), seed)
    C = 10.0**log_C
    found = InBlocks(as_design(M), T, w, blocks).solve(C, True)
    np.testing.assert_allclose(found.beta, stacked_solution(M, T, w, C, blocks), atol=1e-7)
    np.testing.assert_allclose(found.loo_scores, scores_without_each(M, T, w, C, blocks), atol=1e-6)


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_columns_of_zeros_have_the_solution_zero(C):
    M, T, w, blocks = problem(4, (5, 6), 0.5, TWO)
    found = InBlocks(as_design(0.0 * M), T, w, blocks).solve(C, True)
    assert not found.beta.any()
    assert not found.loo_scores.any()


# -- kernels ---------------------------------------------------------------------------


def gaussian(X):
    return np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / X.shape[1])


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, np.inf])
def test_kernels_of_explicit_features_are_the_ridge_on_them(C):
    M, T, w, blocks = problem(14, (9, 8), 1.0, STUDENT)
    own, other = M[:, :9], M[:, 9:]
    found = solve_kernels(own @ own.T, own @ own.T + other @ other.T, T, C, w)
    expected = InBlocks(as_design(M), T, w, blocks).solve(C, True)
    np.testing.assert_allclose(own.T @ found.beta, expected.beta[:9], atol=1e-11)
    np.testing.assert_allclose(found.loo_scores, expected.loo_scores, atol=1e-11)


@pytest.mark.parametrize("copies", [False, True], ids=["distinct", "copies"])
@pytest.mark.parametrize("C", [0.1, 50.0, np.inf])
def test_kernels_leave_rows_out_as_refits_do(C, copies):
    rng = np.random.default_rng(1)
    X, Z, w = rng.normal(size=(18, 3)), rng.normal(size=(18, 2)), rng.uniform(0.5, 2.0, 18)
    if copies:  # of both tables, with other labels
        X[9:12], Z[9:12] = X[:3], Z[:3]
    T = np.eye(2)[rng.integers(0, 2, 18)]
    student = X @ X.T + gaussian(X)
    joint = student + (Z @ Z.T + gaussian(Z)) / 5.0

    def literal(rows):
        root = np.sqrt(w[rows])[:, None]
        K = root * joint[np.ix_(rows, rows)] * root.T
        if np.isinf(C):
            return root * (np.linalg.pinv(K, rcond=1e-12, hermitian=True) @ (root * T[rows]))
        return root * np.linalg.solve(K + np.eye(len(rows)) / C, root * T[rows])

    found = solve_kernels(student, joint.copy(), T, C, w)
    everything = np.arange(18)
    np.testing.assert_allclose(found.beta, literal(everything), rtol=1e-9, atol=1e-9)
    assert found.method == ("svd" if copies and np.isinf(C) else "dual")
    without = np.array(
        [student[i, everything != i] @ literal(everything[everything != i]) for i in everything]
    )
    np.testing.assert_allclose(found.loo_scores, without, rtol=1e-9, atol=1e-9)
    if np.isfinite(C):
        error = kernel_errors(student, joint.copy(), T, np.array([1.0 / C]), w)
        np.testing.assert_allclose(error, w @ np.square(T - without).sum(axis=1), rtol=1e-9)
