"""Time of fit + predict against plain NumPy, and calibration, on 20,000 x 50 rows, 90:10.

The yardstick is an RVFL in thirty lines of NumPy, without validation, weights or calibration, in
two versions: its Cholesky solve from SciPy, as one would write it, and from NumPy, which keeps
everything in one BLAS thread pool. Runs are interleaved in one process; medians are compared.
"""

import argparse
import time

import numpy as np
import scipy.linalg
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score

from robell import (
    ComplexRVFLClassifier,
    DeepRVFLClassifier,
    ELMClassifier,
    GranularBallRVFLClassifier,
    HuberRVFLClassifier,
    IntuitionisticFuzzyRVFLClassifier,
    MultiViewRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLPlusClassifier,
    VarianceRVFLClassifier,
)
from robell.metrics import expected_calibration_error


class PlainRVFL:
    """The yardstick."""

    def __init__(self, n_hidden, C=1.0, seed=0, solve="scipy"):
        self.n_hidden, self.C, self.seed, self.solve = n_hidden, C, seed, solve

    def features(self, X):
        H = 1 / (1 + np.exp(-(X @ self.U + self.b)))
        return np.hstack([X, H])

    def fit(self, X, y):
        rng = np.random.default_rng(self.seed)
        self.U = rng.uniform(-1, 1, (X.shape[1], self.n_hidden))
        self.b = rng.uniform(0, 0.1, self.n_hidden)
        M, T = self.features(X), np.eye(2)[y]
        G = M.T @ M
        G.flat[:: len(G) + 1] += 1 / self.C
        if self.solve == "scipy":
            self.V = scipy.linalg.cho_solve(scipy.linalg.cho_factor(G), M.T @ T)
        else:
            L = np.linalg.cholesky(G)
            self.V = np.linalg.solve(L.T, np.linalg.solve(L, M.T @ T))
        return self

    def predict(self, X):
        return (self.features(X) @ self.V).argmax(axis=1)


def the_eight():
    """Return the paper's models, 200 nodes each."""
    common = {"n_hidden": 200, "random_state": 0}
    return {
        "RVFL": RVFLClassifier(**common),
        "RVFLwoDL (ELM)": ELMClassifier(**common),
        "NF-RVFL": NeuroFuzzyRVFLClassifier(**common),
        "C-RVFL": ComplexRVFLClassifier(**common),
        "AC-RVFL": ComplexRVFLClassifier(augmented=True, **common),
        "GB-RVFL": GranularBallRVFLClassifier(**common),
        "GE-GB-RVFL": GranularBallRVFLClassifier(graph="lfda", **common),
        "RoBell-RVFL": RoBellRVFLClassifier(kernel_width="scale", **common),
    }


def the_relatives():
    """Return the other members, 200 nodes each; KRVFL+ takes at most 20,000 rows and minutes."""
    common = {"n_hidden": 200, "random_state": 0}
    graph = {"score_power": 1, "class_weight": "ratio", "graph": "lda"}
    return {
        "IFRVFL": IntuitionisticFuzzyRVFLClassifier(**common),
        "GE-IFRVFL-CIL": IntuitionisticFuzzyRVFLClassifier(**graph, **common),
        "R2VFL-A": HuberRVFLClassifier(**common),
        "R2VFL-M": HuberRVFLClassifier(center="median", **common),
        "Class-Var-RVFL": VarianceRVFLClassifier(**common),
        "Total-Var-RVFL": VarianceRVFLClassifier(variance="total", **common),
        "RVFL+, 10 privileged columns": RVFLPlusClassifier(**common),
        "MvRVFL, two views": MultiViewRVFLClassifier(views=[slice(0, 25), slice(25, 50)], **common),
        "edRVFL, 3 layers": DeepRVFLClassifier(**common),
        "dRVFL, 3 layers": DeepRVFLClassifier(combine="concat", **common),
        "NoiseRobustRVFL": NoiseRobustRVFLClassifier(random_state=0),
        "RVFL, C=inf": RVFLClassifier(C=np.inf, **common),
    }


def race(contestants, X, y, rounds):
    """Return median wall and CPU seconds of fit + predict, rounds interleaved."""
    wall = {name: [] for name in contestants}
    cpu = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, model in contestants.items():
            told = {"privileged": X[:, :10]} if "privileged" in name else {}
            start, start_cpu = time.perf_counter(), time.process_time()
            model.fit(X, y, **told).predict(X)
            wall[name].append(time.perf_counter() - start)
            cpu[name].append(time.process_time() - start_cpu)
    return {name: (np.median(wall[name]), np.median(cpu[name])) for name in contestants}


def print_race(times, yardstick):
    print(f"{'':34}{'wall, s':>9}{'CPU, s':>9}{'x faster plain':>16}")
    for name, (wall, cpu) in times.items():
        print(f"{name:34}{wall:9.3f}{cpu:9.3f}{wall / yardstick:16.2f}")


def print_cpu(times, yardstick):
    """Print CPU seconds, which other programs on the machine hardly change."""
    print(f"{'':34}{'CPU, s':>9}{'x plain':>9}")
    for name, (_, cpu) in times.items():
        print(f"{name:34}{cpu:9.3f}{cpu / yardstick:9.2f}")


def race_relatives(plain, X, y):
    """Time the relatives beside the yardstick and two of the eight."""
    eight = the_eight()
    beside = plain | {name: eight[name] for name in ("RVFL", "RoBell-RVFL")}
    times = race(beside | the_relatives(), X, y, 3)
    print("\nthe relatives, calibrated, 20,000 x 50, medians of 3 interleaved rounds")
    print_cpu(times, times["plain NumPy, NumPy's Cholesky"][1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--relatives", action="store_true", help="the relatives alone")
    options = parser.parse_args()
    rounds = options.rounds
    X, y = make_classification(
        40_000, 50, n_informative=15, weights=[0.9], flip_y=0.05, random_state=0
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X, X_test, y, y_test = X[:20_000], X[20_000:], y[:20_000], y[20_000:]

    plain = {"plain NumPy, NumPy's Cholesky": PlainRVFL(200, solve="numpy")}
    if options.relatives:
        race_relatives(plain, X, y)
        return
    contestants = {
        "plain NumPy, SciPy's Cholesky": PlainRVFL(200),
        "plain NumPy, NumPy's Cholesky": PlainRVFL(200, solve="numpy"),
        "RVFLClassifier(calibrate=False)": RVFLClassifier(200, calibrate=False, random_state=0),
        "RVFLClassifier()": RVFLClassifier(200, random_state=0),
        "ELMClassifier()": ELMClassifier(200, random_state=0),
    }
    times = race(contestants, X, y, rounds)
    yardstick = min(times[name][0] for name in list(contestants)[:2])
    print(f"fit + predict, 20,000 x 50, 200 nodes, medians of {rounds} interleaved rounds")
    print_race(times, yardstick)
    print("goal: at most 1.2 without calibration, 2.2 with it\n")

    models = the_eight()
    few = max(3, rounds // 5)
    times = race(plain | models, X, y, few)
    print(f"every model, calibrated, medians of {few} interleaved rounds")
    print_race(times, times["plain NumPy, NumPy's Cholesky"][0])

    race_relatives(plain, X, y)

    print("\n20,000 unseen rows  expected calibration error   balanced accuracy")
    for name, model in models.items():
        error = expected_calibration_error(y_test, model.predict_proba(X_test), n_bins=15)
        accuracy = balanced_accuracy_score(y_test, model.predict(X_test))
        print(f"{name:20}{error:26.3f}{accuracy:20.3f}")
    print("goal: at most 0.05 for RVFL and ELM. RoBell's probabilities are those of its class")
    print("costs, under which the classes weigh about the same: they are no frequencies.")


if __name__ == "__main__":
    main()
