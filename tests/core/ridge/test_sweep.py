"""Nested solutions of a grid: every penalty and width against a solve of its own."""

import numpy as np
import pytest

from robell._core.layers.features import RowBlocks
from robell._core.ridge.sweep import (
    NestedRidge,
    WeightedGram,
    digits_left,
    solve_prefixes,
    with_targets,
)

PENALTIES = np.array([1e2, 1e-3, 1.0, 1e-6])


def a_design(M):
    return RowBlocks(lambda rows: M[rows], *M.shape, dtype=M.dtype.type)


def a_table(rng, shape, n_targets, is_complex=False):
    M = rng.normal(size=shape) + (1j * rng.normal(size=shape) if is_complex else 0.0)
    return M, rng.normal(size=(len(M), n_targets)), rng.uniform(0.2, 3.0, len(M))


def by_least_squares(M, T, w, penalty):
    """Solve through the rows [√w M; √λ I], which never squares the condition."""
    root = np.sqrt(w)[:, None]
    stacked = np.vstack([root * M, np.sqrt(penalty) * np.eye(M.shape[1])])
    targets = np.vstack([root * T, np.zeros((M.shape[1], T.shape[1]))])
    return np.linalg.lstsq(stacked, targets, rcond=None)[0]


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("n_varying", [0, 4, 30])
def test_products_of_all_row_weights_are_the_sums_written_out(rng, is_complex, n_varying):
    M, T, w = a_table(rng, (30, 7), 2, is_complex)
    weights = np.tile(w, (3, 1))
    weights[:, :n_varying] = rng.uniform(0.2, 3.0, (3, n_varying))
    gram, MT = WeightedGram(M, T, weights), np.hstack([M, T])
    for k, w in enumerate(weights):
        expected = MT.conj().T @ (w[:, None] * MT)
        np.testing.assert_allclose(np.tril(gram.lower(k)[:9, :9]), np.tril(expected), atol=1e-13)
        G, R = M.conj().T @ (w[:, None] * M), M.conj().T @ (w[:, None] * T)
        beside = np.tril(with_targets(G, R)[:9, :7])
        np.testing.assert_allclose(beside, np.tril(expected)[:, :7], atol=1e-13)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize(
    ("shape", "widths"),
    [
        ((90, 70), [70, 3, 65, 20]),  # several blocks of a substitution
        ((700, 20), [5, 20]),
        ((12, 40), [40, 4, 30, 12]),  # wider than the rows: one factor, or a system each
        ((40, 41), [41, 41, 7]),
        ((150, 400), [400, 10]),
    ],
)
def test_every_penalty_and_width_is_its_own_solution(rng, shape, widths, n_targets, is_complex):
    M, T, first = a_table(rng, shape, n_targets, is_complex)
    nested = NestedRidge(a_design(M), T, PENALTIES, np.array(widths))
    for w in (first, rng.uniform(0.2, 3.0, len(M))):  # the second time in the same memory
        every = nested.solve(WeightedGram(M, T, w[None]).lower(0), w)
        every = [found.copy() for found in every]
        beta, pivot = nested.solve(WeightedGram(M, T, w[None], nested.first).lower(0), w)
        for found, expected in zip((beta, pivot), every, strict=True):  # of the products needed
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * abs(expected).max())
        assert beta.shape == (shape[1], len(PENALTIES), len(widths), n_targets)
        for i, penalty in enumerate(PENALTIES):
            for j, width in enumerate(widths):
                expected = by_least_squares(M[:, :width], T, w, penalty)
                size = abs(expected).max()
                assert pivot[i, j] > 0
                np.testing.assert_allclose(beta[:width, i, j], expected, atol=1e-8 * size)
                assert not beta[width:, i, j].any()


def test_the_trust_is_the_smallest_pivot_of_the_largest_network(rng):
    M, T, w = a_table(rng, (60, 20), 1)
    M[:, 7] += 3.0 * M[:, 2]
    G = M.T @ (w[:, None] * M)
    products = with_targets(G, M.T @ (w[:, None] * T))
    _, pivot = NestedRidge(a_design(M), T, PENALTIES, np.array([20, 5])).solve(products, w)
    for penalty, of_widths in zip(PENALTIES, pivot, strict=True):
        system = G + penalty * np.eye(20)
        pivots = np.diagonal(np.linalg.cholesky(system)) ** 2 / np.diagonal(system)
        np.testing.assert_allclose(of_widths, pivots.min(), rtol=1e-9)


@pytest.mark.parametrize("shape", [(300, 12), (60, 12), (9, 12)])
def test_ill_conditioned_networks_are_refined_and_singular_ones_left_alone(rng, shape):
    M, T, w = a_table(rng, shape, 1)
    M[:, 5] = M[:, 4] + 1e-4 * M[:, 5]
    penalties, widths = np.array([1.0, 2e-8, 1e-30]), np.array([12, 6])
    M[:, 11] = M[:, 10]  # a copy
    nested = NestedRidge(a_design(M), T, penalties, widths)
    beta, pivot = nested.solve(WeightedGram(M, T, w[None]).lower(0), w)
    for i in (0, 1):
        for j, width in enumerate(widths):
            if pivot[i, j] > 0:
                expected = by_least_squares(M[:, :width], T, w, penalties[i])
                size = abs(expected).max()
                np.testing.assert_allclose(beta[:width, i, j], expected, atol=3e-8 * size)
    assert (pivot[0] > 0).all()
    assert pivot[1, 1] > 0
    if len(M) > 12:
        assert pivot[2, 0] == 0
        assert not beta[:, 2, 0].any()


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("shape", [(200, 130), (1200, 130), (9, 30)])
def test_refined_solutions_have_all_their_digits(rng, shape, n_targets):
    """Two columns, or two rows of wide networks, equal to 1e-4: a factor alone loses 1e-8."""
    M, T, w = a_table(rng, shape, n_targets)
    if shape[0] > shape[1]:
        M[:, 35] = M[:, 34] + 1e-4 * M[:, 35]
    else:
        M[8] = M[7] + 1e-4 * M[8]
    widths, penalties = np.array([shape[1], shape[1] // 3, shape[1] // 2]), np.array([1e-11, 1e-12])
    nested = NestedRidge(a_design(M), T, penalties, widths)
    beta, pivot = nested.solve(WeightedGram(M, T, w[None]).lower(0), w)
    assert (pivot[:, 0] > 0).all()
    assert pivot[:, 0].max() < 1e-6
    for i, penalty in enumerate(penalties):
        for j, width in enumerate(widths):
            expected = by_least_squares(M[:, :width], T, w, penalty)
            size = abs(expected).max()
            np.testing.assert_allclose(beta[:width, i, j], expected, atol=1e-10 * size)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_refined_leading_blocks_have_all_their_digits(rng, n_targets):
    M, T, w = a_table(rng, (60, 12), n_targets)
    M[:, 5] = M[:, 4] + 1e-4 * M[:, 5]
    root = np.sqrt(w)[:, None]
    M, T, widths = root * M, root * T, np.array([12, 3, 8])

    def missed(theta):
        return np.einsum("np,nsk->psk", M, T[:, None] - np.einsum("np,psk->nsk", M, theta))

    theta, least = solve_prefixes(M.T @ M, M.T @ T, np.array([1e-11]), widths, missed)
    assert 0 < least[0, 0] < 1e-7
    for j, width in enumerate(widths):
        expected = by_least_squares(M[:, :width], T, np.ones(60), 1e-11)
        np.testing.assert_allclose(theta[:width, 0, j], expected, atol=1e-10 * abs(expected).max())


def test_digits_left_fall_where_sums_over_the_classes_cancel():
    share = np.array([1.0, 0.01, 0.005, 1e-7, 0.9e-8, 0.0])
    expected = [1.0, 1.0, 0.5, 1e-5, 0.0, 0.0]
    diagonal, squares = np.full((6, 1), 4.0), np.full(6, 9.0)  # six settings, one column
    np.testing.assert_allclose(digits_left(6.0 * share[:, None], diagonal, squares)[:, 0], expected)
    assert digits_left(np.zeros(1), np.zeros(1), 0.0) == 0.0


@pytest.mark.parametrize("n_targets", [1, 3])
def test_leading_blocks_are_solved_up_to_the_one_that_fails(rng, n_targets):
    M, T, _ = a_table(rng, (50, 12), n_targets)
    M[:, 8] = M[:, 3]
    G, R = M.T @ M, M.T @ T
    penalties, widths = np.array([1.0, 1e-20]), np.array([12, 3, 8])

    def missed(theta):
        return np.einsum("np,nsk->psk", M, T[:, None] - np.einsum("np,psk->nsk", M, theta))

    theta, least = solve_prefixes(G, R, penalties, widths, missed)
    for i, penalty in enumerate(penalties):
        for j, width in enumerate(widths):
            if penalty == 1e-20 and width > 8:
                assert least[i, j] == 0
                assert not theta[:, i, j].any()
                continue
            system = G[:width, :width] + penalty * np.eye(width)
            expected = np.linalg.solve(system, R[:width])
            np.testing.assert_allclose(theta[:width, i, j], expected, rtol=1e-9, atol=1e-12)
            assert not theta[width:, i, j].any()
            pivots = np.diagonal(np.linalg.cholesky(system)) ** 2 / np.diagonal(system)
            assert least[i, j] == pytest.approx(pivots.min())
