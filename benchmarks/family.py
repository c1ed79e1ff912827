"""Time of fit + predict of the paper's relatives on 20,000 x 50 rows, against RVFL.

Ten further columns are privileged where a model takes them, and the columns are two views of 25.
Kernels of all pairs are timed on fewer rows. Runs are interleaved in one process; medians are
compared.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import make_classification

from robell import (
    HuberRVFLClassifier,
    IntuitionisticFuzzyRVFLClassifier,
    KernelRVFLPlusClassifier,
    MultiViewRVFLClassifier,
    RVFLClassifier,
    RVFLPlusClassifier,
    VarianceRVFLClassifier,
)

VIEWS = [slice(0, 25), slice(25, 50)]
FEW = 2000  # rows of kernels


def members():
    """Return every member with 200 nodes, and whether it takes privileged columns."""
    common = {"n_hidden": 200, "random_state": 0}
    return {
        "RVFL": (RVFLClassifier(**common), False),
        "RVFL, 410 nodes": (RVFLClassifier(410, random_state=0), False),
        "RVFL+": (RVFLPlusClassifier(**common), True),
        "RVFL+, calibrate=False": (RVFLPlusClassifier(calibrate=False, **common), True),
        'RVFL+, C="loo"': (RVFLPlusClassifier(C="loo", **common), True),
        "MvRVFL, two views": (MultiViewRVFLClassifier(views=VIEWS, **common), False),
        'MvRVFL, C="loo"': (MultiViewRVFLClassifier(views=VIEWS, C="loo", **common), False),
        "GRVFL-MV, LDA": (MultiViewRVFLClassifier(views=VIEWS, graph="lda", **common), False),
        "Class-Var-RVFL": (VarianceRVFLClassifier(**common), False),
        "IFRVFL": (IntuitionisticFuzzyRVFLClassifier(**common), False),
        "R2VFL": (HuberRVFLClassifier(**common), False),
        f"KRVFL+, {FEW:,} rows": (KernelRVFLPlusClassifier(), True),
    }


def spent(model, X, y, privileged):
    """Return wall and CPU seconds of fit + predict."""
    more = {} if privileged is None else {"privileged": privileged}
    start, start_cpu = time.perf_counter(), time.process_time()
    model.fit(X, y, **more).predict(X)
    return time.perf_counter() - start, time.process_time() - start_cpu


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
            n = FEW if "rows" in name else len(X)
            times[name].append(spent(model, X[:n], y[:n], Z[:n] if is_plus else None))
    medians = {name: np.median(found, axis=0) for name, found in times.items()}
    print(f"fit + predict, 20,000 x 50, 200 nodes, medians of {rounds} interleaved rounds")
    print(f"{'':28}{'wall, s':>9}{'CPU, s':>9}{'x RVFL, CPU':>13}")
    for name, (wall, cpu) in medians.items():
        print(f"{name:28}{wall:9.3f}{cpu:9.3f}{cpu / medians['RVFL'][1]:13.2f}")


if __name__ == "__main__":
    main()
