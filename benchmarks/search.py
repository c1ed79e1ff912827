"""RoBell's whole paper grid by RVFLGridSearchCV, against GridSearchCV and against bare LAPACK.

One process, one BLAS thread. GridSearchCV's total is estimated from random candidates of the same
grid in the same run, once with the estimator as it is by default and once with calibrate=False
(a search for accuracy needs no probabilities, and the exact search never computes them), and their
scores are compared. The Cholesky factorisations the search cannot do without are
timed by themselves on one of its own Gram matrices.
"""

import argparse
import time
import tracemalloc
from pathlib import Path

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


def estimator(calibrate=True):
    model = RoBellRVFLClassifier(calibrate=calibrate, random_state=0)
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


def run_search(X, y, grid, device="cpu"):
    return RVFLGridSearchCV(estimator(), grid, cv=CV, refit=False, device=device).fit(X, y)


def run_literal(X, y, candidates, calibrate):
    grid = [{name: [value] for name, value in candidate.items()} for candidate in candidates]
    return GridSearchCV(estimator(calibrate), grid, cv=CV, refit=False).fit(X, y)


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


def paper_sets(data_dir):
    """Yield name and training part, by the recovered split, of every CSV file with a target."""
    for path in sorted(Path(data_dir).glob("*.csv")):
        with path.open(encoding="utf-8") as file:
            names = file.readline().strip().split(",")
        if names[-1] != "target":
            continue
        values = np.loadtxt(path, delimiter=",", skiprows=1)
        order = np.random.RandomState(0).permutation(len(values))
        train = values[order[: int(len(values) * (1 - 0.30))]]
        yield path.stem, train[:, :-1], train[:, -1].astype(int)


def run_paper_sets(data_dir, device):
    grid = whole_grid()
    total = 0.0
    print(f"\nRoBell's whole grid on the training part of every set, device {device}")
    print(f"{'set':36}{'rows':>6}{'features':>10}{'seconds':>9}{'best accuracy':>15}")
    for name, X, y in paper_sets(data_dir):
        search, wall = seconds(lambda X=X, y=y: run_search(X, y, grid, device))
        total += wall
        best = search.best_score_
        print(f"{name:36}{X.shape[0]:6}{X.shape[1]:10}{wall:9.2f}{best:15.4f}", flush=True)
    print(f"{'all':36}{'':16}{total:9.1f}   (goal on an H200: at most 60)")


def run_on_device(device):
    import torch

    X, y = table()
    grid = whole_grid()
    print(f"device {device}: {torch.cuda.get_device_name(device)}, PyTorch {torch.__version__}")
    run_search(X, y, whole_grid(["sin"]), device)  # warm up
    runs = [seconds(lambda: run_search(X, y, grid, device)) for _ in range(3)]
    wall = np.median([run[1] for run in runs])
    print(f"{X.shape[0]} x {X.shape[1]}, the whole grid: {wall:.2f} s   (goal: at most 3)")
    host = run_search(X, y, whole_grid(["sigmoid", "relu"]))
    there = run_search(X, y, whole_grid(["sigmoid", "relu"]), device)
    names = [f"split{k}_test_score" for k in range(5)]
    differ = sum(int((host.cv_results_[n] != there.cv_results_[n]).sum()) for n in names)
    print(f"scores that differ from the host's: {differ} of {5 * len(host.cv_results_['params'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="candidates of GridSearchCV")
    parser.add_argument("--device", default="cpu", help="cpu (default) or a CUDA device")
    parser.add_argument("--data-dir", help="a folder of the paper's sets as CSV files")
    arguments = parser.parse_args()
    if arguments.device == "cpu":
        compare_on_host(arguments.sample)
    else:
        run_on_device(arguments.device)
    if arguments.data_dir:
        run_paper_sets(arguments.data_dir, arguments.device)


def compare_on_host(n_sample):
    X, y = table()
    grid = whole_grid()
    candidates = list(ParameterGrid(grid))
    chosen = np.random.default_rng(0).choice(len(candidates), n_sample, replace=False)
    n_factors = 5 * len(candidates) // 11  # all n_hidden share one
    with threadpool_limits(1, "blas"):
        run_search(X, y, whole_grid(["sin"]))  # warm up
        bare, walls = [bare_factorisations(X, 1000)], []
        for _ in range(3):
            search, wall = seconds(lambda: run_search(X, y, grid))
            walls.append(wall)
            bare.append(bare_factorisations(X, 1000))
        search_time = np.median(walls)
        sample = [candidates[k] for k in chosen]
        literal, default_time = seconds(lambda: run_literal(X, y, sample, True))
        _, lean_time = seconds(lambda: run_literal(X, y, sample, False))
        total, lean = (t / n_sample * len(candidates) for t in (default_time, lean_time))
        floor = np.median(bare) * n_factors
        names = [f"split{k}_test_score" for k in range(5)]
        ours = np.stack([search.cv_results_[name][chosen] for name in names])
        theirs = np.stack([literal.cv_results_[name] for name in names])
        print(f"{len(candidates)} candidates x 5 folds, {X.shape[0]} x {X.shape[1]}, one core")
        print(f"  GridSearchCV, from {n_sample} candidates   {total:10.0f} s")
        print(f"  the same with calibrate=False      {lean:10.0f} s")
        print(f"  {n_factors} dpotrf by themselves      {floor:10.1f} s")
        print(f"  RVFLGridSearchCV                   {search_time:10.1f} s")
        print(f"  times faster                       {total / search_time:10.0f}   (goal: 300)")
        print(f"  times faster than calibrate=False  {lean / search_time:10.0f}")
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
