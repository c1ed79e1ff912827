"""RoBell's whole paper grid by RVFLGridSearchCV, against GridSearchCV and against bare LAPACK.

One process, one BLAS thread. GridSearchCV's total is estimated from random candidates of the same
grid in the same run (its estimators without calibration, which a search for accuracy does not
need), and their scores are compared. The Cholesky factorisations the search cannot do without are
timed by themselves on one of its own Gram matrices.
"""

import argparse
import time
import tracemalloc

import numpy as np
from scipy.linalg import lapack
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from threadpoolctl import threadpool_limits

from robell import RoBellRVFLClassifier, RVFLGridSearchCV, paper_grid

CV = StratifiedKFold(5, shuffle=True, random_state=0)


def table(n_rows=592, n_features=18, seed=0):
    """Make a table of the size of the paper's vehicle sets, 3:1, overlapping."""
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=max(2, n_features // 2),
        weights=[0.74],
        flip_y=0.05,
        random_state=seed,
    )
    return scale(X), y


def estimator():
    model = RoBellRVFLClassifier(calibrate=False, random_state=0)
    return make_pipeline(StandardScaler(), model)


def whole_grid(activations=None):
    grid = paper_grid("robell", prefix="robellrvflclassifier__")
    if activations:
        grid["robellrvflclassifier__activation"] = activations
    return grid


def seconds(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def run_search(X, y, grid):
    return RVFLGridSearchCV(estimator(), grid, cv=CV, refit=False).fit(X, y)


def run_literal(X, y, candidates):
    grid = [{name: [value] for name, value in candidate.items()} for candidate in candidates]
    return GridSearchCV(estimator(), grid, cv=CV, refit=False).fit(X, y)


def bare_factorisations(X, n_times):
    """Time dpotrf of one Gram matrix of the largest network, a fresh copy each."""
    n_rows = len(X) * 4 // 5
    n_columns = X.shape[1] + 203
    M = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    G = np.asfortranarray(M.T @ M + np.eye(n_columns))
    start = time.perf_counter()
    for _ in range(n_times):
        lapack.dpotrf(G, lower=1, clean=0, overwrite_a=0)
    return (time.perf_counter() - start) / n_times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="candidates of GridSearchCV")
    arguments = parser.parse_args()
    X, y = table()
    grid = whole_grid()
    candidates = list(ParameterGrid(grid))
    chosen = np.random.default_rng(0).choice(len(candidates), arguments.sample, replace=False)
    n_factors = 5 * len(candidates) // 11  # all n_hidden share one
    with threadpool_limits(1, "blas"):
        run_search(X, y, whole_grid(["sin"]))  # warm up
        bare = [bare_factorisations(X, 500)]
        search, search_time = seconds(lambda: run_search(X, y, grid))
        bare.append(bare_factorisations(X, 500))
        literal, literal_time = seconds(lambda: run_literal(X, y, [candidates[k] for k in chosen]))
        bare.append(bare_factorisations(X, 500))
        total = literal_time / arguments.sample * len(candidates)
        floor = np.median(bare) * n_factors
        names = [f"split{k}_test_score" for k in range(5)]
        ours = np.stack([search.cv_results_[name][chosen] for name in names])
        theirs = np.stack([literal.cv_results_[name] for name in names])
        print(f"{len(candidates)} candidates x 5 folds, {X.shape[0]} x {X.shape[1]}, one core")
        print(f"  GridSearchCV, from {arguments.sample} candidates   {total:10.0f} s")
        print(f"  {n_factors} dpotrf by themselves      {floor:10.1f} s")
        print(f"  RVFLGridSearchCV                   {search_time:10.1f} s")
        print(
            f"  times faster                       {total / search_time:10.0f}   (asked for: 300)"
        )
        print(f"  times the factorisations           {search_time / floor:10.2f}   (at most 2)")
        print(
            f"  scores that differ                 {int((ours != theirs).sum()):10} of {ours.size}"
        )

        tracemalloc.start()
        run_search(X, y, whole_grid(["sigmoid", "relu"]))
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"  peak memory, two activations       {peak:10.0f} MB  (at most 500)")

        print("\ngrowth, one activation (6,655 candidates)")
        for shape in ((300, 18), (600, 18), (1200, 18), (2400, 18), (600, 9), (600, 36), (600, 72)):
            data = table(*shape)
            _, wall = seconds(lambda data=data: run_search(*data, whole_grid(["sigmoid"])))
            print(f"  {shape[0]:5} rows x {shape[1]:2} features {wall:8.2f} s")


if __name__ == "__main__":
    main()
