"""Prepared calls of LAPACK and BLAS against NumPy."""

import threading

import numpy as np
import pytest

from robell._core.ridge.lapack import (
    add_gram,
    aligned,
    copy_lower,
    factorise,
    solve_lower,
    subtract_product,
)


@pytest.fixture(params=[np.float64, np.complex128])
def draw(request, rng):
    def draw(*shape):
        values = aligned(shape, request.param)
        values[:] = rng.normal(size=shape)
        if request.param is np.complex128:
            values += 1j * rng.normal(size=shape)
        return values

    return draw


def test_every_call_is_the_formula_beside_it(draw):
    M, B = draw(20, 8), draw(8, 3)
    G, L = draw(8, 8), draw(8, 8)
    np.fill_diagonal(G, 1.0)  # a Gram matrix has a real diagonal
    start = G.copy()
    add_gram(np.ascontiguousarray(M.conj()), G)()
    lower = np.tril_indices(8)
    np.testing.assert_allclose(G[lower], (start + M.conj().T @ M)[lower])
    np.testing.assert_array_equal(G[np.triu_indices(8, 1)], start[np.triu_indices(8, 1)])

    G[:] = M.conj().T @ M
    copy_lower(G, L)()
    call, report = factorise(L)
    call()
    assert report.value == 0
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(G))
    L[:] = np.tril(L)
    for transposed, matrix in ((False, L), (True, L.conj().T)):
        found = B.copy(order="F")
        solve_lower(L, found, transposed)()
        np.testing.assert_allclose(matrix @ found, B)

    C = draw(5, 3)
    A = np.asfortranarray(M)[:8, :5]  # a block of a larger matrix
    expected = C - A.conj().T @ B
    subtract_product(A, B, C, transposed=True)()
    np.testing.assert_allclose(C, expected)
    expected = B - A @ C
    subtract_product(A, C, B, transposed=False)()
    np.testing.assert_allclose(B, expected)


def test_a_failed_factorisation_is_reported():
    A = aligned((4, 4), np.float64)
    A[:] = np.diag([1.0, 2.0, -1.0, 1.0])
    call, report = factorise(A)
    call()
    assert report.value == 3


def test_calls_keep_their_arguments(rng):
    matrices = [rng.normal(size=(40, 40)) for _ in range(20)]
    calls = []
    for M in matrices:
        A = aligned((40, 40), np.float64)
        A[:] = M.T @ M + np.eye(40)
        calls.append((*factorise(A), A))
    threads = [threading.Thread(target=call) for call, *_ in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for M, (_, report, A) in zip(matrices, calls, strict=True):
        assert report.value == 0
        np.testing.assert_allclose(np.tril(A), np.linalg.cholesky(M.T @ M + np.eye(40)))
