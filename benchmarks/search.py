"""RoBell's whole paper grid by RVFLGridSearchCV, against GridSearchCV and against bare LAPACK.

    python benchmarks/search.py                       one core, CPU seconds, medians
    python benchmarks/search.py --workers 2           wall time alone, of two threads and processes
    python benchmarks/search.py --data-dir FOLDER     the paper's sets as well
    python benchmarks/search.py --device cuda --data-dir FOLDER

One BLAS thread. GridSearchCV's total is estimated from random candidates of the same grid in the
same run, once with the estimator as it is by default and once with calibrate=False (a search for
accuracy needs no probabilities, and the exact search never computes them), and their scores are
compared. The Cholesky factorisations of all systems are timed by themselves on one Gram matrix of
their size; settings of equal row weights have equal systems, so those that differ are fewer.
"""

import argparse
import time
import tracemalloc
from pathlib import Path

import numpy as np
from joblib import parallel_config
from scipy.linalg import lapack
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from threadpoolctl import threadpool_limits

from robell import RoBellRVFLClassifier, RVFLGridSearchCV, paper_grid
from robell.search import solutions

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


def seconds(function, clock=time.perf_counter):
    start = clock()
    result = function()
    return result, clock() - start


def run_search(X, y, grid, device="cpu", n_jobs=None):
    model = estimator()
    search = RVFLGridSearchCV(model, grid, cv=CV, refit=False, device=device, n_jobs=n_jobs)
    return search.fit(X, y)


def run_literal(X, y, candidates, calibrate):
    grid = [{name: [value] for name, value in candidate.items()} for candidate in candidates]
    return GridSearchCV(estimator(calibrate), grid, cv=CV, refit=False).fit(X, y)


def bare_factorisations(X, n_times):
    """Time dpotrf of one Gram matrix of the largest network, a fresh copy each."""
    n_rows = len(X) * 4 // 5
    n_columns = X.shape[1] + 203
    M = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    G = np.asfortranarray(M.T @ M + np.eye(n_columns))
    start = time.process_time()
    for _ in range(n_times):
        lapack.dpotrf(G, lower=1, clean=0, overwrite_a=0)
    return (time.process_time() - start) / n_times


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
    print(f"{'all':36}{'':16}{total:9.1f}   (goal on an H200: at most 5)")


def run_on_device(device):
    import torch

    X, y = table()
    grid = whole_grid()
    print(f"device {device}: {torch.cuda.get_device_name(device)}, PyTorch {torch.__version__}")
    run_search(X, y, whole_grid(["sin"]), device)  # warm up
    runs = [seconds(lambda: run_search(X, y, grid, device)) for _ in range(3)]
    wall = np.median([run[1] for run in runs])
    print(f"{X.shape[0]} x {X.shape[1]}, the whole grid: {wall:.2f} s   (goal: at most 0.25)")
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
    parser.add_argument("--workers", type=int, help="wall time alone, and of so many workers")
    arguments = parser.parse_args()
    if arguments.workers:
        compare_workers(arguments.workers)
    elif arguments.device == "cpu":
        compare_on_host(arguments.sample)
    else:
        run_on_device(arguments.device)
    if arguments.data_dir:
        run_paper_sets(arguments.data_dir, arguments.device)


def compare_workers(n_workers):
    X, y = table()
    grid = whole_grid()

    def run(n_jobs, backend):
        with parallel_config(backend=backend):
            return seconds(lambda: run_search(X, y, grid, n_jobs=n_jobs))[1]

    kinds = {"alone": (1, "threading"), "threads": (n_workers, "threading")}
    kinds["processes"] = (n_workers, "loky")
    run_search(X, y, whole_grid(["sin"]))  # warm up
    first = run(*kinds["processes"])
    spent = {name: [] for name in kinds}
    for _ in range(3):
        for name, kind in kinds.items():
            spent[name].append(run(*kind))
    alone = np.median(spent["alone"])
    print(f"the whole grid, wall time, medians of three; {n_workers} workers")
    for name in kinds:
        wall = np.median(spent[name])
        print(f"  {name:12}{wall:6.2f} s   gain {alone / wall:.2f}   (goal for two: 1.8)")
    print(f"  the first time, when processes start: {first:.2f} s")


def distinct_systems(X, y):
    """Return how many of the settings of row weights differ, in the mean over the folds."""
    counts = []
    sweep = solutions._sweep

    def counted(systems, totals, penalties):
        counts.append(len({row.tobytes() for row in totals}) / len(totals))
        return sweep(systems, totals, penalties)

    solutions._sweep = counted
    run_search(X, y, whole_grid(["sin"]))
    solutions._sweep = sweep
    return np.mean(counts)


def compare_on_host(n_sample):
    X, y = table()
    grid = whole_grid()
    candidates = list(ParameterGrid(grid))
    chosen = np.random.default_rng(0).choice(len(candidates), n_sample, replace=False)
    n_factors = 5 * len(candidates) // 11  # all n_hidden share one
    clock = time.process_time
    with threadpool_limits(1, "blas"):
        share = distinct_systems(X, y)  # warms up, too
        bare, spent = [bare_factorisations(X, 1000)], []
        for _ in range(3):
            search, cpu = seconds(lambda: run_search(X, y, grid), clock)
            spent.append(cpu)
            bare.append(bare_factorisations(X, 1000))
        search_time = np.median(spent)
        sample = [candidates[k] for k in chosen]
        literal, default_time = seconds(lambda: run_literal(X, y, sample, True), clock)
        _, lean_time = seconds(lambda: run_literal(X, y, sample, False), clock)
    total, lean = (t / n_sample * len(candidates) for t in (default_time, lean_time))
    floor = np.median(bare) * n_factors
    names = [f"split{k}_test_score" for k in range(5)]
    ours = np.stack([search.cv_results_[name][chosen] for name in names])
    theirs = np.stack([literal.cv_results_[name] for name in names])
    print(
        f"{len(candidates)} candidates x 5 folds, {X.shape[0]} x {X.shape[1]}, one core, CPU time"
    )
    print(f"  GridSearchCV, from {n_sample} candidates   {total:10.0f} s")
    print(f"  the same with calibrate=False      {lean:10.0f} s")
    print(f"  {n_factors} dpotrf by themselves      {floor:10.1f} s")
    print(f"  of which differ                    {floor * share:10.1f} s")
    print(f"  RVFLGridSearchCV                   {search_time:10.1f} s")
    print(f"  times faster                       {total / search_time:10.0f}   (goal: 400)")
    print(f"  times faster than calibrate=False  {lean / search_time:10.0f}")
    print(f"  times the factorisations           {search_time / floor:10.2f}   (at most 1.5)")
    print(f"  times those that differ            {search_time / floor / share:10.2f}")
    print(f"  scores that differ                 {int((ours != theirs).sum()):10} of {ours.size}")
    tracemalloc.start()
    run_search(X, y, whole_grid(["sigmoid", "relu"]))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(f"  peak memory, two activations       {peak:10.0f} MB  (at most 500)")


if __name__ == "__main__":
    main()
