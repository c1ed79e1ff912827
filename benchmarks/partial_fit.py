"""Cost of a stream against one fit of the same rows, in CPU time, runs interleaved.

A thousand batches of 1,000 x 20 rows, 90:10, go through ``partial_fit`` and once, all together,
through ``fit``; the models are compared as well. RoBell, whose exact fit grows with the square of
the rows, is compared with itself in passes over the same batches.
"""

import argparse
import functools
import time

import numpy as np
from sklearn.base import clone

from robell import ELMClassifier, RoBellRVFLClassifier, RVFLClassifier
from robell.scale.out_of_core import OutOfCoreFit

BATCH = 1_000


def rows(n_batches, n_features=20, seed=0):
    rng = np.random.default_rng(seed)
    n = n_batches * BATCH
    y = (rng.random(n) < 0.1).astype(int)
    centers = rng.normal(size=(8, n_features))
    X = rng.normal(size=(n, n_features))
    X += centers[rng.integers(0, 4, n) + 4 * y]
    return X, y


def batches(X, y):
    for start in range(0, len(X), BATCH):
        yield X[start : start + BATCH], y[start : start + BATCH]


def by_fit(model, X, y):
    return clone(model).fit(X, y).coef_


def by_stream(model, X, y):
    model = clone(model)
    for X_part, y_part in batches(X, y):
        model.partial_fit(X_part, y_part, classes=[0, 1])
    return model.coef_


def by_passes(model, X, y):
    fit = OutOfCoreFit(model, [0, 1], X.shape[1])
    for step in fit.passes():
        step.finish(functools.reduce(step.reduce, (step.map(*part) for part in batches(X, y))))
    return fit.estimator().coef_


def race(ways, model, X, y, rounds):
    """Return CPU seconds of every way in every round, and the coefficients."""
    seconds, found = {way: [] for way in ways}, {}
    for _ in range(rounds):
        for way in ways:
            start = time.process_time()
            found[way] = way(model, X, y)
            seconds[way].append(time.process_time() - start)
    return seconds, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    X, y = rows(arguments.batches)
    print(
        f"{arguments.batches:,} batches of {BATCH:,} x {X.shape[1]}, CPU seconds, "
        f"medians of {arguments.rounds} interleaved rounds"
    )
    print(f"{'':34}{'fit':>8}{'stream':>9}{'passes':>9}{'stream/fit':>12}{'difference':>12}")
    for name, model in {
        "RVFLClassifier(calibrate=False)": RVFLClassifier(calibrate=False, random_state=0),
        "RVFLClassifier()": RVFLClassifier(random_state=0),
        "ELMClassifier()": ELMClassifier(random_state=0),
    }.items():
        seconds, found = race((by_fit, by_stream, by_passes), model, X, y, arguments.rounds)
        ratio = np.median(np.divide(seconds[by_stream], seconds[by_fit]))
        size = np.abs(found[by_fit]).max()
        difference = np.abs(found[by_stream] - found[by_fit]).max() / size
        times = [np.median(seconds[way]) for way in (by_fit, by_stream, by_passes)]
        print(
            f"{name:34}{times[0]:8.2f}{times[1]:9.2f}{times[2]:9.2f}{ratio:12.2f}{difference:12.0e}"
        )
    print("goal: stream/fit at most 1.5\n")
    if not hasattr(RoBellRVFLClassifier, "partial_fit"):
        return
    model = RoBellRVFLClassifier(kernel_width="scale", random_state=0)
    seconds, _ = race((by_stream, by_passes), model, X, y, 1)
    million = 1e6 / len(X)
    print(
        f"RoBell, CPU seconds a million rows: stream {million * seconds[by_stream][0]:.1f}, "
        f"four passes {million * seconds[by_passes][0]:.1f}"
    )


if __name__ == "__main__":
    main()
