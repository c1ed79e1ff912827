"""Time of fit + predict with privileged columns and views on 20,000 x 50 rows, against RVFL.

Ten further columns are privileged, and the columns are two views of 25. Kernels of all pairs are
timed on fewer rows, with the memory they take. Runs are interleaved in one process; medians of CPU
seconds are compared.
"""

import argparse
import time
import tracemalloc

import numpy as np
from sklearn.datasets import make_classification

from robell import (
    KernelRVFLPlusClassifier,
    MultiViewRVFLClassifier,
    RVFLClassifier,
    RVFLPlusClassifier,
)

VIEWS = [slice(0, 25), slice(25, 50)]
KERNEL_ROWS = (1000, 2000, 4000)


def members():
    """Return every model with 200 nodes, and whether it takes privileged columns."""
    common = {"n_hidden": 200, "random_state": 0}
    return {
        "RVFL": (RVFLClassifier(**common), False),
        "RVFL, 410 nodes": (RVFLClassifier(410, random_state=0), False),
        "RVFL+": (RVFLPlusClassifier(**common), True),
        "RVFL+, calibrate=False": (RVFLPlusClassifier(calibrate=False, **common), True),
        'RVFL+, C="loo"': (RVFLPlusClassifier(C="loo", **common), True),
        "MvRVFL": (MultiViewRVFLClassifier(views=VIEWS, **common), False),
        'MvRVFL, C="loo"': (MultiViewRVFLClassifier(views=VIEWS, C="loo", **common), False),
        "GRVFL-MV, LDA": (MultiViewRVFLClassifier(views=VIEWS, graph="lda", **common), False),
    }


def spent(model, X, y, privileged):
    """Return CPU seconds of fit + predict."""
    more = {} if privileged is None else {"privileged": privileged}
    start = time.process_time()
    model.fit(X, y, **more).predict(X)
    return time.process_time() - start


def matrices_held(X, y, privileged):
    """Return how many matrices of all pairs of rows a fit of KRVFL+ holds at once."""
    tracemalloc.start()
    KernelRVFLPlusClassifier().fit(X, y, privileged=privileged)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * len(X) ** 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    X, y = make_classification(
        20_000, 50, n_informative=15, weights=[0.9], flip_y=0.05, random_state=0
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Z = X[:, :10] + np.random.default_rng(0).normal(size=(len(X), 10))
    times = {name: [] for name in members()}
    for _ in range(rounds):
        for name, (model, is_plus) in members().items():
            times[name].append(spent(model, X, y, Z if is_plus else None))
    print(f"fit + predict, 20,000 x 50, 200 nodes, medians of {rounds} interleaved rounds")
    print(f"{'':28}{'CPU, s':>9}{'x RVFL':>9}")
    for name, found in times.items():
        print(f"{name:28}{np.median(found):9.3f}{np.median(found) / np.median(times['RVFL']):9.2f}")
    print("\nKRVFL+, fit + predict         CPU, s   matrices of all pairs held at once")
    for n in KERNEL_ROWS:
        seconds = spent(KernelRVFLPlusClassifier(), X[:n], y[:n], Z[:n])
        print(f"{n:6,} rows{'':18}{seconds:9.3f}{matrices_held(X[:n], y[:n], Z[:n]):10.1f}")


if __name__ == "__main__":
    main()
