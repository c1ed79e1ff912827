import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import ridge_by_hand
from sklearn.linear_model import Ridge

from robell._core.balls.graphs import graph_term
from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import (
    REFINE_BELOW,
    System,
    WithConstant,
    factor_spd,
    invert_lower,
    normal_equations,
    solve_ridge,
)
from robell._core.ridge.sweep import graph_ridge

PENALTIES = [10.0**k for k in range(-5, 6)]


def blocks(M, step=None):
    """M as row blocks; with ``step``, in blocks that small."""
    if step is None:
        return RowBlocks(lambda rows: M[rows], *M.shape)

    class Small(RowBlocks):
        def __iter__(self):
            for start in range(0, len(M), step):
                yield slice(start, min(start + step, len(M))), M[start : start + step]

    return Small(lambda rows: M[rows], *M.shape)


def problem(rng, n_rows, n_columns, n_targets=2):
    M = rng.normal(size=(n_rows, n_columns))
    T = np.eye(n_targets)[rng.integers(0, n_targets, n_rows)]
    return M, T, rng.uniform(0.05, 2.0, n_rows)


@pytest.mark.parametrize("C", PENALTIES)
@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (12, 12)])
def test_equals_the_normal_equations_in_exact_arithmetic(rng, shape, C):
    M, T, w = problem(rng, *shape)
    solution = solve_ridge(blocks(M), T, C, w)
    expected = ridge_by_hand(M, T, w, C)
    assert solution.method == ("dual" if shape[0] < shape[1] else "primal")
    assert np.abs(solution.beta - expected).max() <= 1e-11 * np.abs(expected).max()


def test_equals_scikit_learns_ridge(rng):
    M, T, w = problem(rng, 80, 12, 3)
    ridge = Ridge(alpha=1 / 7.0, fit_intercept=False, solver="svd").fit(M, T, sample_weight=w)
    np.testing.assert_allclose(solve_ridge(blocks(M), T, 7.0, w).beta, ridge.coef_.T, rtol=1e-10)


@pytest.mark.parametrize("C", [1e-5, 1.0, 1e5])
def test_primal_equals_dual(rng, C):
    """A wide problem padded with rows of weight almost nothing becomes a tall one."""
    M, T, w = problem(rng, 15, 25)
    padded = np.vstack([M, rng.normal(size=(20, 25))])
    tall = solve_ridge(
        blocks(padded), np.vstack([T, np.zeros((20, 2))]), C, np.r_[w, np.full(20, 1e-300)]
    )
    wide = solve_ridge(blocks(M), T, C, w)
    assert (tall.method, wide.method) == ("primal", "dual")
    assert np.abs(tall.beta - wide.beta).max() <= 1e-9 * np.abs(wide.beta).max()


@given(factor=st.floats(1e-3, 1e3), C=st.sampled_from(PENALTIES))
def test_scaling_all_weights_is_scaling_C(factor, C):
    M, T, w = problem(np.random.default_rng(1), 20, 6)
    np.testing.assert_allclose(
        solve_ridge(blocks(M), T, C, factor * w).beta,
        solve_ridge(blocks(M), T, factor * C, w).beta,
        rtol=1e-9,
    )


@pytest.mark.parametrize("step", [1, 7, 64])
def test_the_blocks_do_not_change_the_answer(rng, step):
    M, T, w = problem(rng, 100, 9)
    whole, parts = (solve_ridge(b, T, 3.0, w, True) for b in (blocks(M), blocks(M, step)))
    np.testing.assert_allclose(parts.beta, whole.beta, rtol=1e-10)
    np.testing.assert_allclose(parts.loo_scores, whole.loo_scores, rtol=1e-9)


def test_a_C_a_little_above_one_is_no_other_than_its_neighbours(rng):
    M, T, w = problem(rng, 30, 8)
    for C in (0.8, 1.0, 1.2, 1.4, 1.6):
        expected = np.linalg.solve(M.T * w @ M + np.eye(8) / C, M.T * w @ T)
        np.testing.assert_allclose(solve_ridge(blocks(M), T, C, w).beta, expected, rtol=1e-10)


def test_rows_are_left_out_where_that_is_asked_for(rng):
    M, T, w = problem(rng, 30, 8)
    assert System(blocks(M), T, w).solve(2.0).loo_scores is None
    assert System(blocks(M), T, w).solve(2.0, True).loo_scores is not None


def test_no_weights_is_weights_of_one(rng):
    M, T, _ = problem(rng, 40, 9)
    np.testing.assert_allclose(
        solve_ridge(blocks(M), T, 3.0).beta, solve_ridge(blocks(M), T, 3.0, np.ones(40)).beta
    )


# -- limits --------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_large_C_gives_the_pseudo_inverse(rng, shape):
    M, T, _ = problem(rng, *shape)
    beta = solve_ridge(blocks(M), T, 1e12).beta
    np.testing.assert_allclose(beta, np.linalg.pinv(M) @ T, rtol=1e-6, atol=1e-9)


def test_small_C_gives_the_scaled_correlation(rng):
    M, T, w = problem(rng, 30, 8)
    for C in (1e-12, 1e-300):
        np.testing.assert_allclose(
            solve_ridge(blocks(M), T, C, w).beta / C, M.T @ (w[:, None] * T), rtol=1e-8
        )


def test_a_known_solution():
    """One column of ones, C = 1: the mean shrunk by n/(n + 1)."""
    beta = solve_ridge(blocks(np.ones((9, 1))), np.arange(9.0)[:, None], 1.0).beta
    assert beta[0, 0] == pytest.approx(36 / 10)


# -- singular systems ----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
@pytest.mark.parametrize("C", [1e15, 1e300])
def test_a_singular_system_has_the_pseudo_inverse_solution(rng, shape, C):
    """Repeated rows and columns: no Cholesky factor, one defined answer."""
    M, T, _ = problem(rng, *shape)
    M[:, 6:12] = M[:, :6]
    M[6:12] = M[:6]
    solution = solve_ridge(blocks(M), T, C, leave_out=True)
    assert solution.method == "svd"
    np.testing.assert_allclose(solution.beta, np.linalg.pinv(M, rcond=1e-13) @ T, atol=1e-9)
    assert np.isfinite(solution.loo_scores).all()


def test_zero_columns_get_zero_weight(rng):
    M, T, _ = problem(rng, 30, 6)
    M[:, 2] = 0.0
    for C in (1.0, 1e300):
        beta = solve_ridge(blocks(M), T, C).beta
        np.testing.assert_allclose(beta[2], 0.0, atol=1e-12)
        assert np.isfinite(beta).all()


def test_a_matrix_of_zeros_has_the_solution_zero():
    for shape in ((6, 3), (3, 6)):
        solution = solve_ridge(blocks(np.zeros(shape)), np.eye(shape[0]), 1e300)
        np.testing.assert_array_equal(solution.beta, 0.0)


def test_badly_scaled_columns_are_no_reason_to_leave_cholesky(rng):
    M, T, w = problem(rng, 60, 6)
    scale = 10.0 ** np.arange(-6, 6, 2)
    solution = solve_ridge(blocks(M * scale), T, 1e5, w)
    assert solution.method == "primal"
    expected = ridge_by_hand(M * scale, T, w, 1e5)
    np.testing.assert_allclose(solution.beta, expected, rtol=1e-9)


def test_ill_conditioned_systems_are_refined(rng):
    """Columns equal to 1e-5: the scaled Gram matrix has a condition near 1e11."""
    M, T, w = problem(rng, 60, 6)
    M[:, 3:] = M[:, :3] + 1e-5 * M[:, 3:]
    G, _ = normal_equations(blocks(M), T, w)
    G.flat[::7] += 1e-9
    assert factor_spd(G).rcond < REFINE_BELOW
    solution = solve_ridge(blocks(M), T, 1e9, w)
    assert solution.method == "primal"
    expected = ridge_by_hand(M, T, w, 1e9)
    assert np.abs(solution.beta - expected).max() <= 1e-9 * np.abs(expected).max()


def test_wide_ill_conditioned_systems_with_a_constant_stay_dual_where_targets_allow(rng):
    """Targets along the large directions only: what little they say of the others is refined."""
    left = np.linalg.qr(np.c_[np.ones(9), rng.normal(size=(9, 8))])[0][:, 1:]
    right = np.linalg.qr(rng.normal(size=(30, 8)))[0]
    s = np.array([3.0, 2.0, 1.0, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5])
    M = np.c_[np.ones(9), (left * s) @ right.T]
    T = left[:, :3] @ rng.normal(size=(3, 2)) + 4.0
    found = WithConstant(blocks(M), T).solve(1e11)
    assert found.method == "dual"
    expected = (right * (s / (s**2 + 1e-11))) @ (left.T @ T)
    np.testing.assert_allclose(found.beta[1:], expected, atol=1e-9 * abs(expected).max())
    np.testing.assert_allclose(found.beta[0], 4.0, rtol=1e-9)


def test_overflow_is_an_error_that_says_what_to_do(rng):
    for shape in ((30, 6), (6, 30)):
        M, T, _ = problem(rng, *shape)
        with pytest.raises(ValueError, match="scale X first"):
            solve_ridge(blocks(M * 1e200), T, 1.0)


# -- leave-one-out -------------------------------------------------------------------


def brute_force(M, T, w, C):
    scores = np.empty_like(T)
    for i in range(len(M)):
        without = w.copy()
        keep = np.arange(len(M)) != i
        G = (M[keep].T * without[keep]) @ M[keep] + np.eye(M.shape[1]) / C
        beta = np.linalg.solve(G, M[keep].T @ (without[keep, None] * T[keep]))
        scores[i] = M[i] @ beta
    return scores


@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (12, 12)])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_leave_one_out_equals_refitting_without_each_row(rng, shape, C):
    M, T, w = problem(rng, *shape, 3)
    found = solve_ridge(blocks(M), T, C, w, True).loo_scores
    np.testing.assert_allclose(found, brute_force(M, T, w, C), rtol=1e-7, atol=1e-9)


def test_leave_one_out_of_a_singular_system(rng):
    """Through singular values: again what refitting gives."""
    M, T, w = problem(rng, 40, 6)
    M[:, 3:] = M[:, :3]
    solution = solve_ridge(blocks(M), T, 1e16, w, True)
    assert solution.method == "svd"
    expected = np.empty_like(T)
    for i in range(40):
        keep = np.arange(40) != i
        root = np.sqrt(w[keep])[:, None]
        expected[i] = M[i] @ np.linalg.pinv(M[keep] * root, rcond=1e-10) @ (root * T[keep])
    np.testing.assert_allclose(solution.loo_scores, expected, atol=1e-9)


def test_leave_one_out_identity():
    """f_-i = (f_i - h_i t_i)/(1 - h_i): two rows [1] with C = 1 have f = h = 1/3."""
    solution = solve_ridge(blocks(np.ones((2, 1))), np.array([[1.0], [0.0]]), 1.0, None, True)
    np.testing.assert_allclose(solution.beta, [[1 / 3]])
    np.testing.assert_allclose(solution.loo_scores, [[0.0], [0.5]], atol=1e-15)


# -- pieces --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 64, 65, 200])
def test_triangular_inverse(rng, n):
    L = np.tril(rng.normal(size=(n, n))) / n + np.eye(n)
    np.testing.assert_allclose(invert_lower(L) @ L, np.eye(n), atol=1e-10)
    np.testing.assert_array_equal(np.triu(invert_lower(L), 1), 0.0)


def test_factor_gives_solution_leverage_and_inverse_diagonal(rng):
    M = rng.normal(size=(150, 90))
    G = M.T @ M + np.eye(90)
    inverse = np.linalg.inv(G)
    factor = factor_spd(G)
    np.testing.assert_allclose(factor.solve(np.eye(90)), inverse, atol=1e-12)
    np.testing.assert_allclose(factor.leverage(M), np.einsum("ij,jk,ik->i", M, inverse, M))
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(inverse))


def test_factor_refuses_what_is_not_positive_definite():
    assert factor_spd(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    assert factor_spd(np.zeros((2, 2))) is None
    assert factor_spd(np.array([[1.0, 1.0], [1.0, 1.0]])) is None


@pytest.mark.parametrize("shape", [(40, 12), (15, 60)])
@pytest.mark.parametrize("graph", ["lda", "lfda", "mda"])
def test_graph_ridge_in_the_rows_own_basis_is_the_system_solved_for_each_candidate(
    rng, shape, graph
):
    M = rng.normal(size=shape)
    labels = np.arange(shape[0]) % 2
    T = np.eye(2)[labels]
    w = rng.uniform(0.5, 2.0, shape[0])
    C, weights = np.array([1e-5, 1.0, 1e5]), np.array([0.0, 1e-3, 1e5])
    basis = np.linalg.svd(M, full_matrices=False)[2].T
    rotated = M @ basis
    term = graph_term(rotated, labels, graph, np.ones(len(M)))
    found, rcond = graph_ridge(rotated, T, w, term, C, weights)
    assert rcond.all()
    term = graph_term(M, labels, graph, np.ones(len(M)))
    for a, weight in enumerate(weights):
        for c, value in enumerate(C):
            literal = solve_ridge(blocks(M), T, value, w, further_penalty=weight * term).beta
            # S is known to about 1e-12 of its size (up to 1e5 here), and α multiplies that
            tolerance = max(1e-8, 1e-9 * weight) * np.abs(literal).max()
            np.testing.assert_allclose(basis @ found[a, :, c], literal, rtol=0, atol=tolerance)


def test_graph_ridge_leaves_what_is_singular_to_the_solver_of_one_candidate():
    M = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    T = np.eye(2)[[0, 1, 0]]
    _, rcond = graph_ridge(M, T, np.ones(3), np.zeros((2, 2)), np.array([1.0, 1e18]), np.zeros(1))
    assert (rcond > 0).tolist() == [[True, False]]
