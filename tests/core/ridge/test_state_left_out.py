"""Rows left out of summed equations, for classes and numbers: against refits without each row."""

import numpy as np
import pytest

from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import Blocks, InBlocks
from robell._core.ridge.solve import left_out_errors as errors_of_rows
from robell._core.ridge.state import (
    empty,
    left_out_errors,
    left_out_errors_of_targets,
    left_out_scores,
    solve,
    solve_targets,
    update,
    update_targets,
)

C_TRIED = np.array([1e-3, 1.0, 1e3])


def ridge(M, T, w, C, free=0):
    """Solve the normal equations, the first columns without penalty."""
    penalty = np.full(M.shape[1], 1.0 / C)
    penalty[:free] = 0.0
    return np.linalg.solve(M.T @ (w[:, None] * M) + np.diag(penalty), M.T @ (w[:, None] * T))


def refitted(M, T, w, C, free=0):
    """Return the score of every row by a model fitted without it."""
    rest = (np.arange(len(M)) != i for i in range(len(M)))
    return np.array(
        [m @ ridge(M[kept], T[kept], w[kept], C, free) for m, kept in zip(M, rest, strict=True)]
    )


@pytest.mark.parametrize("n_targets", [1, 2])
def test_numbers_are_left_out_as_refits_say(rng, n_targets):
    X, w = rng.normal([5.0, -2.0, 30.0], 1.0, (25, 3)), rng.uniform(0.3, 2.0, 25)
    T = rng.normal(7.0, 3.0, (25, n_targets)) + X[:, :1]

    def features(rows):
        return np.hstack([np.ones((len(rows), 1)), rows])

    state = update_targets(empty(1, 3 + n_targets), X, T, w, features)
    counted, errors = rng.integers(1, 4, 25).astype(float), []
    mean = counted @ T / counted.sum()
    spread = np.sqrt(counted @ np.square(T - mean) / counted.sum())
    for C in C_TRIED:
        solution = solve_targets(state, n_targets, C)
        M = features(X)
        scores = (M - solution.shift) @ solution.beta
        np.testing.assert_allclose(scores, M @ ridge(M, T, w, C, free=1), rtol=1e-9)
        expected = refitted(M, T, w, C, free=1)
        found = left_out_scores(solution, features, X, T, w)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        errors.append(float(counted @ np.square((T - expected) / spread).sum(axis=1)))
    sample = (X, T, w, counted)
    found = left_out_errors_of_targets(state, C_TRIED, features, sample)
    np.testing.assert_allclose(found, errors, rtol=1e-9)


@pytest.mark.parametrize("cost", [None, np.array([0.3, 2.0])])
def test_classes_are_left_out_as_refits_say(rng, cost):
    X, w, labels = rng.normal(size=(25, 4)), rng.uniform(0.3, 2.0, 25), rng.integers(0, 2, 25)
    T, state = np.eye(2)[labels], update(empty(2, 4), X, labels, w, np.array)
    weight = w if cost is None else w * cost[labels]
    counted, errors = rng.integers(1, 4, 25).astype(float), []
    for C in C_TRIED:
        expected = refitted(X, T, weight, C)
        found = left_out_scores(solve(state, C, cost), np.array, X, T, weight)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        errors.append(float(counted @ np.square(T - expected).sum(axis=1)))
    found = left_out_errors(state, cost, C_TRIED, np.array, (X, T, weight, counted))
    np.testing.assert_allclose(found, errors, rtol=1e-9)


@pytest.mark.parametrize("coupling", [0.0, 0.6, 1.0])
def test_columns_in_blocks_are_left_out_as_from_the_rows_themselves(rng, coupling):
    X, w, labels = rng.normal(size=(25, 5)), rng.uniform(0.3, 2.0, 25), rng.integers(0, 2, 25)
    blocks = Blocks((slice(0, 2), slice(2, 5)), coupling, np.array([1.0, 0.5]))
    T, state = np.eye(2)[labels], update(empty(2, 5), X, labels, w, np.array)
    system = InBlocks(RowBlocks(lambda rows: X[rows], *X.shape), T, w, blocks)
    for C in C_TRIED:
        solution, expected = solve(state, C, blocks=blocks), system.solve(C, True)
        np.testing.assert_allclose(solution.beta, expected.beta, rtol=1e-9, atol=1e-12)
        found = left_out_scores(solution, np.array, X, T, w, blocks)
        np.testing.assert_allclose(found, expected.loo_scores, rtol=1e-9, atol=1e-12)
    sample = (X, T, w, w)
    found = left_out_errors(state, None, C_TRIED, np.array, sample, blocks)
    np.testing.assert_allclose(found, errors_of_rows(system, C_TRIED), rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_columns_that_are_copies_give_the_scores_of_one_of_them(rng, scale):
    """Hardly a penalty: the sums are singular, and the rows that stand for them are solved."""
    X, w, labels = rng.normal(size=(30, 5)), rng.uniform(0.3, 2.0, 30), rng.integers(0, 2, 30)
    X[:, 3:] = X[:, :2]
    X *= scale
    T, root = np.eye(2)[labels], np.sqrt(w)[:, None]
    found = solve(update(empty(2, 5), X, labels, w, np.array), 1e15)
    assert found.method == "eigen"
    assert found.worst in (0, 1, 3, 4)
    expected = np.linalg.pinv(root * X, rcond=1e-10) @ (root * T)
    np.testing.assert_allclose(X @ found.beta, X @ expected, rtol=1e-6, atol=1e-9)
    without = [
        X[i] @ np.linalg.pinv((root * X)[np.arange(30) != i], rcond=1e-10)
        @ (root * T)[np.arange(30) != i]
        for i in range(30)
    ]  # fmt: skip
    scores = left_out_scores(found, np.array, X, T, w)
    np.testing.assert_allclose(scores, without, rtol=1e-6, atol=1e-9)
