"""Granular balls of 20-dimensional rows, 10 % of the labels flipped: time, growth, memory.

The yardstick is the same splitting with one scikit-learn KMeans a split, from the same two
starting centres, so both make the same balls; it is run where it ends in reasonable time. Times
are interleaved in one process; memory is the peak of what Python and NumPy allocate.
"""

import argparse
import time
import tracemalloc

import numpy as np
from sklearn.cluster import KMeans

from robell._core.balls.granular import describe_balls, distinct_rows, grow_balls

PURITY = 0.925


def noisy_mixture(n_rows, n_features=20, seed=0):
    """Eight Gaussian clusters, two of them positive, and one label in ten wrong."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 2, (8, n_features))
    cluster = rng.integers(0, 8, n_rows)
    X = centers[cluster] + rng.normal(size=(n_rows, n_features))
    y = (cluster < 2).astype(np.intp)
    flipped = rng.choice(n_rows, n_rows // 10, replace=False)
    y[flipped] = 1 - y[flipped]
    return X, y


def balls_of_robell(X, y):
    X, y, weight = distinct_rows(X, y, np.ones(len(X)))
    return describe_balls(X, y, 2, weight, grow_balls(X, y, 2, weight, PURITY))


def balls_by_kmeans(X, y):
    """Scan as the release does, one KMeans a split; return the balls' centres."""
    balls, place = [np.arange(len(X))], 0
    while place < len(balls):
        members = balls[place]
        positive = y[members].mean()
        if max(positive, 1 - positive) >= PURITY or len(members) == 1:
            place += 1
            continue
        inside = X[members]
        axis = inside.var(axis=0).argmax()
        start = inside[:, axis] > inside[:, axis].mean()
        first = np.stack([inside[~start].mean(axis=0), inside[start].mean(axis=0)])
        side = KMeans(2, init=first, n_init=1, tol=0).fit_predict(inside).astype(bool)
        balls[place] = members[~side]
        balls.append(members[side])
    return np.stack([X[members].mean(axis=0) for members in balls])


def timed(function, *arguments):
    start, start_cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, time.perf_counter() - start, time.process_time() - start_cpu


def sorted_rows(rows):
    return rows[np.lexsort(rows.round(8).T)]


def peak_megabytes(X, y):
    tracemalloc.start()
    balls_of_robell(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--compare", type=int, nargs="+", default=[10_000, 30_000])
    arguments = parser.parse_args()

    header = ["rows", "balls", "KMeans a split, s", "robell, s", "ratio", "same balls"]
    print("".join(f"{name:>19}" for name in header))
    for n_rows in arguments.compare:
        X, y = noisy_mixture(n_rows)
        ours, theirs = [], []
        for _ in range(3):
            balls, wall, _ = timed(balls_of_robell, X, y)
            ours.append(wall)
            centers, wall, _ = timed(balls_by_kmeans, X, y)
            theirs.append(wall)
        same = len(centers) == len(balls.center) and np.allclose(
            sorted_rows(balls.center), sorted_rows(centers)
        )
        slow, fast = np.median(theirs), np.median(ours)
        print(
            f"{n_rows:19}{len(centers):19}{slow:19.2f}{fast:19.2f}{slow / fast:19.1f}{same!s:>19}"
        )
    print("goal: a ratio of at least 5\n")

    print(f"{'rows':>8}{'balls':>8}{'wall, s':>9}{'CPU, s':>9}{'data, MB':>10}{'above, MB':>11}")
    times = []
    for n_rows in arguments.rows:
        X, y = noisy_mixture(n_rows)
        runs = [timed(balls_of_robell, X, y) for _ in range(3)]
        wall, cpu = (np.median([run[k] for run in runs]) for k in (1, 2))
        times.append(cpu)
        above, data = peak_megabytes(X, y), X.nbytes / 2**20
        n_balls = len(runs[0][0].size)
        print(f"{n_rows:8}{n_balls:8}{wall:9.2f}{cpu:9.2f}{data:10.1f}{above:11.1f}")
    growth = np.polyfit(np.log(arguments.rows), np.log(times), 1)[0]
    print(f"CPU time grows as rows^{growth:.2f}")


if __name__ == "__main__":
    main()
