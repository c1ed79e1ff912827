"""How the cost of a search grows: CPU seconds and memory by rows, columns, nodes and the rest.

    python benchmarks/search_growth.py

One BLAS thread. Each of the seven sizes is doubled twice while the others stay; the exponent is the
slope of the seconds over the size, both in logarithms: over both doublings, and over the last.
Memory is the most that Python's allocations held at a time during the search.
"""

import argparse
import time
import tracemalloc

import numpy as np
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from robell import RoBellRVFLClassifier, RVFLGridSearchCV

BASE = {
    "rows": 1500,
    "columns": 50,
    "nodes": 200,
    "classes": 2,
    "penalties": 11,
    "settings of row weights": 10,
    "folds": 5,
}


def table(n_rows, n_columns, n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, n_columns)), rng.integers(0, n_classes, n_rows)
    X[:, 0] += y  # something to be found
    return X, y


def search(rows, columns, nodes, classes, penalties, settings, folds):
    """Search one activation, two numbers of nodes, and as many penalties and kernel widths."""
    X, y = table(rows, columns, classes)
    grid = {
        "C": np.logspace(-2, 2, penalties).tolist(),
        "kernel_width": np.linspace(2.0, 9.0, settings).tolist(),
        "n_hidden": [nodes // 2, nodes],
    }
    cv = StratifiedKFold(folds, shuffle=True, random_state=0)
    model = RoBellRVFLClassifier(random_state=0)
    return RVFLGridSearchCV(model, grid, cv=cv, refit=False).fit(X, y)


def measure(sizes, rounds):
    """Return CPU seconds, their median, and mebibytes at the most."""
    arguments = list(sizes.values())
    search(*arguments)
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        search(*arguments)
        seconds.append(time.process_time() - start)
    tracemalloc.start()
    search(*arguments)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return np.median(seconds), peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print("from " + ", ".join(f"{size} {name}" for name, size in BASE.items()))
    print(f"{'':26}{'seconds at 1, 2, 4 times':>28}{'exponent':>18}{'MiB':>18}")
    with threadpool_limits(1, "blas"):
        for name, size in BASE.items():
            found = [measure(BASE | {name: size * factor}, rounds) for factor in (1, 2, 4)]
            first, second, third = (seconds for seconds, _ in found)
            spent = "".join(f"{seconds:9.2f}" for seconds, _ in found)
            slopes = f"{np.log2(third / first) / 2:8.1f}{np.log2(third / second):8.1f}"
            memory = "".join(f"{peak:6.0f}" for _, peak in found)
            print(f"{name:26}{spent:>28}{slopes:>18}{memory:>18}", flush=True)


if __name__ == "__main__":
    main()
