"""Every way of solving a ridge, and of leaving a row out of it, against 80 digits.

Conditions to 1e16, columns on scales to 1 : 1e12, columns and targets 1e8 away from zero.
Scores are compared: the output weights of columns that are nearly equal mean little alone.
"""

import numpy as np
import pytest
from mpmath import mp

from robell._core.layers.features import RowBlocks
from robell._core.ridge.loo import fit_centred_ridge
from robell._core.ridge.solve import (
    Blocks,
    InBlocks,
    System,
    WithConstant,
    left_out_errors,
    solve_kernels,
)
from robell._core.ridge.state import empty, solve, update

CONDITIONS = [1.0, 1e8, 1e16]
CS = [1e-5, 1.0, 1e5]


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(80):
        yield


def exact(values):
    return mp.matrix(np.asarray(values).tolist())


def as_floats(values, dtype=float):
    return np.array(values.tolist(), dtype=dtype)


def diagonal(values):
    return mp.diag([mp.mpf(float(value)) for value in values])


def solution(M, T, w, C, Q=None, free=0):
    """(M'WM + (I + Q)/C)b = M'WT; the first ``free`` columns have no penalty."""
    penalty = mp.eye(M.cols) + (mp.zeros(M.cols) if Q is None else Q)
    for k in range(free):
        penalty[k, k] = 0
    weighted = M.H * diagonal(w)
    return solved(weighted * M + penalty / mp.mpf(C), weighted * T)


def solved(G, R):
    found = mp.zeros(G.rows, R.cols)
    for k in range(R.cols):
        found[:, k] = mp.lu_solve(G, R[:, k])
    return found


def rows_without(values, i):
    return mp.matrix([values[k, :].tolist()[0] for k in range(values.rows) if k != i])


def scores_and_left_out(M, T, w, C, **options):
    """Scores by the model of all rows, and of each by the model of all others."""
    M, T = exact(M), exact(T)
    left_out = mp.zeros(T.rows, T.cols)
    for i in range(M.rows):
        some = rows_without(M, i), rows_without(T, i), np.delete(w, i)
        left_out[i, :] = M[i, :] * solution(*some, C, **options)
    return M * solution(M, T, w, C, **options), left_out


def design_of(M):
    return RowBlocks(lambda rows: M[rows], *M.shape, M.dtype.type)


def rows_of(rng, shape, condition, is_complex=False):
    """Rows whose singular values fall evenly from 1 to 1/condition, and what stands beside them."""
    n, P = shape

    def basis(size):
        Z = rng.normal(size=(size, size))
        Z = Z + 1j * rng.normal(size=Z.shape) if is_complex else Z
        return np.linalg.qr(Z)[0][:, : min(shape)]

    s = np.geomspace(1.0, 1.0 / condition, min(shape))
    T = np.eye(2)[np.arange(n) % 2] + 0.1 * rng.normal(size=(n, 2))
    return 3.0 * (basis(n) * s) @ basis(P).conj().T, T, rng.uniform(0.2, 3.0, n)


def require_close(found, expected, T):
    """Within 1e-9 of the largest target: what the least condition that is not refined leaves."""
    expected = np.array([[mp.re(v) for v in row] for row in expected.tolist()], float)
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(T).max()


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("shape", [(9, 4), (4, 9)], ids=["primal", "dual"])
def test_a_plain_ridge(rng, shape, condition, is_complex):
    M, T, w = rows_of(rng, shape, condition, is_complex)
    for C in CS:
        found = System(design_of(M), T, w).solve(C, True)
        scores, left_out = scores_and_left_out(M, T, w, C)
        assert found.method == ("primal" if shape[0] > shape[1] else "dual")
        require_close((M @ found.beta).real, scores, T)
        require_close(found.loo_scores, left_out, T)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", [(9, 4), (4, 9)], ids=["tall", "wide"])
def test_without_a_penalty(rng, shape, is_complex):
    """Least squares of full rank, by singular values or Cholesky; of wide systems the smallest."""
    for condition in (1.0, 1e3, 1e6):
        M, T, w = rows_of(rng, shape, condition, is_complex)
        found = System(design_of(M), T, w).solve(np.inf)
        exact_M, exact_T = exact(M), exact(T)
        if shape[0] > shape[1]:
            weighted = exact_M.H * diagonal(w)
            beta = solved(weighted * exact_M, weighted * exact_T)
        else:  # the smallest of the solutions that fit every row
            beta = exact_M.H * solved(exact_M * exact_M.H, exact_T)
        require_close((M @ found.beta).real, exact_M * beta, T)
        size = np.abs(found.beta).max()
        assert np.abs(found.beta - as_floats(beta, found.beta.dtype)).max() <= 1e-9 * size


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", [(12, 4), (4, 8)], ids=["primal", "dual"])
def test_columns_on_scales_to_1e12(rng, shape, is_complex):
    M, T, w = rows_of(rng, shape, 10.0, is_complex)
    M = M * np.resize([1e-6, 1e-2, 1.0, 1e6], shape[1])
    for C in CS:
        found = System(design_of(M), T, w).solve(C, True)
        scores, left_out = scores_and_left_out(M, T, w, C)
        require_close((M @ found.beta).real, scores, T)
        require_close(found.loo_scores, left_out, T)


def test_columns_on_scales_to_1e12_with_a_free_constant(rng):
    M, T, w = rows_of(rng, (12, 4), 10.0)
    M = np.column_stack([np.ones(12), M * [1e-6, 1e-2, 1.0, 1e6]])
    for C in CS:
        scores, left_out = scores_and_left_out(M, T, w, C, free=1)
        found = WithConstant(design_of(M), T, w).solve(C, True)
        require_close(M[:, 1:] @ found.beta[1:] + found.beta[0], scores, T)
        require_close(found.loo_scores, left_out, T)


def test_the_smallest_left_out_error_is_found_among_penalties(rng):
    M, T, w = rows_of(rng, (12, 4), 1e6)
    C = np.array([1e-3, 1.0, 1e3])
    errors = left_out_errors(System(design_of(M), T, w), C)
    for error, c in zip(errors, C):
        _, left_out = scores_and_left_out(M, T, w, c)
        assert error == pytest.approx(w @ np.square(T - as_floats(left_out)).sum(1), rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("condition", [1.0, 1e8])
@pytest.mark.parametrize("shape", [(10, 4), (5, 9)], ids=["primal", "dual"])
def test_a_free_constant(rng, shape, condition, offset):
    """Rows and targets far from zero lose the digits that the offset takes, and no more."""
    M, T, w = rows_of(rng, shape, condition)
    M, T = np.column_stack([np.ones(len(M)), M + offset]), T + offset
    for C in CS:
        scores, left_out = scores_and_left_out(M, T, w, C, free=1)
        found = WithConstant(design_of(M), T, w).solve(C, True)
        require_close(found.loo_scores, left_out, T)
        require_close(M[:, 1:] @ found.beta[1:] + found.beta[0], scores, T)
        centred = fit_centred_ridge(design_of(M[:, 1:]), T - offset, w, np.array([1.0 / C]))
        if offset == 0.0 and C <= 1.0:  # beyond, a row decides its own score
            require_close(centred.loo_scores, left_out, T)


@pytest.mark.parametrize("penalty", [0.0, 1e-5], ids=["least norm", "penalty"])
def test_a_singular_system_with_a_free_constant_leaves_rows_out(rng, penalty):
    """Columns that repeat: the left-out scores are those of the columns that do not."""
    M, T, w = rows_of(rng, (9, 3), 10.0)
    ones = np.ones((len(M), 1))
    C = np.inf if penalty == 0.0 else 1.0 / penalty
    twice = WithConstant(design_of(np.hstack([ones, M, M])), T, w).solve(C, True)
    # With the columns twice, each pair has the penalty of one that is √2 as large
    expected = scores_and_left_out(np.hstack([ones, 2.0**0.5 * M]), T, w, C, free=1)[1]
    assert twice.method == ("svd" if penalty == 0.0 else "primal")
    require_close(twice.loo_scores, expected, T)


@pytest.mark.parametrize("coupling", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(8, 6), (4, 10)], ids=["tall", "wide"])
def test_blocks_of_columns(rng, shape, coupling):
    M, T, w = rows_of(rng, shape, 1e6)
    P, views = shape[1], (slice(0, 3), slice(3, shape[1]))
    E = np.eye(2) + coupling * (1.0 - np.eye(2))
    of_column = np.repeat(np.arange(2), [3, P - 3])
    coupled = exact(E[np.ix_(of_column, of_column)])

    def solution_in_blocks(M, T, w, C):
        weighted = M.T * diagonal(w)
        G = weighted * M
        G = mp.matrix([[G[i, j] * coupled[i, j] for j in range(P)] for i in range(P)])
        pull = (1 + mp.mpf(coupling)) / 2  # a row of E times the targets, over the views
        return solved(G + mp.eye(P) / mp.mpf(C), pull * (weighted * T))

    for C in CS:
        found = InBlocks(design_of(M), T, w, Blocks(views, coupling, np.ones(2))).solve(C, True)
        exact_M, exact_T = exact(M), exact(T)
        theta = solution_in_blocks(exact_M, exact_T, w, C)
        require_close(M @ found.beta, exact_M * theta, T)
        for i in (0, len(M) - 1):
            rest = rows_without(exact_M, i), rows_without(exact_T, i), np.delete(w, i)
            expected = exact_M[i, :] * solution_in_blocks(*rest, C)
            require_close(found.loo_scores[i : i + 1], expected, T)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_kernels(rng, condition):
    Z, T, w = rows_of(rng, (7, 7), condition)
    student, teacher = Z @ Z.T, np.exp(-np.square(Z[:, None, 0] - Z[None, :, 1]))
    joint = student + teacher @ teacher.T
    Omega, J, targets = exact(student), exact(joint), exact(T)
    for C in CS:
        found = solve_kernels(student, joint.copy(), T, C, w)
        ridge = diagonal(1.0 / w) / mp.mpf(C)
        require_close(student @ found.beta, Omega * solved(J + ridge, targets), T)
        for i in (0, 6):
            rest = [k for k in range(7) if k != i]
            some = exact(joint[np.ix_(rest, rest)]) + diagonal(1.0 / w[rest]) / mp.mpf(C)
            dual = solved(some, rows_without(targets, i))
            require_close(found.loo_scores[i : i + 1], exact(student[i, rest][None]) * dual, T)


def test_a_penalty_that_is_not_symmetric(rng):
    M, T, w = rows_of(rng, (9, 4), 1e4)
    Q = rng.normal(size=(4, 4))
    for C in CS:
        found = System(design_of(M), T, w, Q).solve(C, True)
        scores, left_out = scores_and_left_out(M, T, w, C, Q=exact(Q))
        assert found.method == "lu"
        require_close(M @ found.beta, scores, T)
        require_close(found.loo_scores, left_out, T)


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
def test_sums_of_rows_gone_by(rng, condition):
    M, _, w = rows_of(rng, (12, 4), condition)
    labels = np.arange(12) % 2
    state = empty(2, 4)
    for some in (slice(0, 5), slice(5, 12)):
        state = update(state, M[some], labels[some], w[some], lambda X: X)
    T = np.eye(2)[labels]
    for C in CS:
        found = solve(state, C)
        require_close(M @ found.beta, scores_and_left_out(M, T, w, C)[0], T)


def test_wide_ill_conditioned_systems_with_a_constant_keep_their_digits(rng):
    """A plain solve of the dual system would lose 3e-7 of the output weights."""
    left, right = (np.linalg.qr(rng.normal(size=(n, 9)))[0] for n in (9, 30))
    M = (left * np.logspace(0, -5.8, 9)) @ right.T + rng.normal(size=30)
    T, w, M = rng.normal(size=(9, 2)), rng.uniform(0.5, 2.0, 9), np.hstack([np.ones((9, 1)), M])
    expected = as_floats(solution(exact(M), exact(T), w, 1e13, free=1))[1:]
    found = WithConstant(design_of(M), T, w).solve(1e13, True)
    np.testing.assert_allclose(found.beta[1:], expected, atol=1e-10 * abs(expected).max())
    left_out = as_floats(scores_and_left_out(M, T, w, 1e13, free=1)[1])
    np.testing.assert_allclose(found.loo_scores, left_out, atol=2e-6 * abs(left_out).max())
