"""Whether the search's systems could be factored in single precision and refined in double.

    python benchmarks/mixed_precision.py

One system of RoBell's paper grid: 222 columns, eleven nested networks that share the factor. One
BLAS thread, microseconds of CPU time, the least of many repeats; the ways take turns. The
refinement corrects the output weights of every network by its residual, taken in double precision
from the Gram matrix; the error is that of the largest network, against the factor in double.
"""

import time

import numpy as np
from scipy.linalg import blas, lapack
from threadpoolctl import threadpool_limits

widths = 19 + np.arange(3, 204, 20)  # constant, 18 inputs, and the nodes
BLOCK = 64
DOUBLE = lapack.dpotrf, blas.dtrsm, blas.dgemm
SINGLE = lapack.spotrf, blas.strsm, blas.sgemm


def make_system(penalty, n_rows=474):
    rng = np.random.default_rng(0)
    M = rng.normal(size=(n_rows, widths.max()))
    M[:, 19:] = np.tanh(M[:, :19] @ rng.normal(size=(19, 203)))
    target = np.sign(M[:, 1] + rng.normal(size=n_rows))
    n = -(-widths.max() // 8) * 8  # filled up to a multiple of eight, as in the search
    G = np.asfortranarray(np.eye(n))
    G[: widths.max(), : widths.max()] = M.T @ M
    r = np.zeros(n)
    r[: widths.max()] = M.T @ target
    G.flat[:: n + 1] += penalty
    return G, r


def substitute(L, B, routines, transposed):
    """Replace B by L^-1 B or L^-T B, in blocks of rows, columns behind their widths left out."""
    _, trsm, gemm = routines
    n = len(L)
    starts = range(0, n, BLOCK)
    for low in starts[::-1] if transposed else starts:
        high = min(low + BLOCK, n)
        some = int((widths <= low).sum())
        here = B[low:high, some:]
        if transposed and high < n:
            part = int((widths <= high).sum())
            if part < B.shape[1]:
                B[low:high, part:] -= gemm(1.0, L[high:, low:high], B[high:, part:], trans_a=1)
        elif low and not transposed:
            here -= gemm(1.0, L[low:high, :low], B[:low, some:])
        B[low:high, some:] = trsm(1.0, L[low:high, low:high], here, lower=1, trans_a=transposed)
    return B


def solve(G, r, inside, routines, n_steps=0):
    """Return the output weights of all networks, corrected so often."""
    potrf, trsm, _ = routines
    work = G.astype(np.float32) if routines is SINGLE else G.copy(order="F")
    L, failed = potrf(work, lower=1, clean=0, overwrite_a=1)
    assert not failed
    z = trsm(1.0, L, r.astype(L.dtype)[:, None], lower=1)
    beta = substitute(L, np.asfortranarray(inside * z, L.dtype), routines, True).astype(float)
    for _ in range(n_steps):
        residual = blas.dgemm(-1.0, G, beta)
        residual += r[:, None]
        residual *= inside
        step = np.asfortranarray(residual, np.float32)
        substitute(L, step, routines, False)
        step *= inside.astype(np.float32)
        beta += substitute(L, step, routines, True)
    return beta


def least(calls, repeats=40, each=25):
    """Return the least microseconds of every call, taking turns."""
    spent = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(each):
                call()
            spent[name].append((time.process_time() - start) / each * 1e6)
    return {name: min(values) for name, values in spent.items()}


def main():
    G, r = make_system(1.0)
    inside = np.asfortranarray((np.arange(len(G))[:, None] < widths).astype(float))
    beta = solve(G, r, inside, DOUBLE)
    half = np.asfortranarray(G, np.float32)
    L32 = np.asfortranarray(np.linalg.cholesky(G), np.float32)
    L64 = np.asfortranarray(np.linalg.cholesky(G))
    block32, block64 = np.asfortranarray(beta, np.float32), np.asfortranarray(beta)
    parts = {
        "factor in double": lambda: lapack.dpotrf(G, lower=1, clean=0),
        "factor in single": lambda: lapack.spotrf(half, lower=1, clean=0),
        "convert to single": lambda: G.astype(np.float32),
        "back substitution, double": lambda: substitute(L64, block64.copy("F"), DOUBLE, True),
        "back substitution, single": lambda: substitute(L32, block32.copy("F"), SINGLE, True),
        "residuals of all networks, double": lambda: blas.dgemm(-1.0, G, beta),
    }
    whole = {
        "double": lambda: solve(G, r, inside, DOUBLE),
        "single": lambda: solve(G, r, inside, SINGLE),
        "single, corrected once": lambda: solve(G, r, inside, SINGLE, 1),
        "single, corrected twice": lambda: solve(G, r, inside, SINGLE, 2),
    }
    for name, value in least(parts).items():
        print(f"  {name:36}{value:8.0f} us")
    print()
    for name, value in least(whole).items():
        print(f"  {name:36}{value:8.0f} us")
    print("\n  largest error beside the largest output weight, by penalty")
    for penalty in (1e-5, 1e-2, 1.0, 1e3):
        G, r = make_system(penalty)
        exact = solve(G, r, inside, DOUBLE)
        errors = [np.abs(solve(G, r, inside, SINGLE, n) - exact).max() for n in (0, 1, 2)]
        said = "".join(f"{error / np.abs(exact).max():10.0e}" for error in errors)
        print(f"  {penalty:8g}  corrected 0, 1, 2 times{said}")


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main()
