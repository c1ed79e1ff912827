"""Regressors: time against plain NumPy and other packages, R², coverage of intervals, depth.

Times are CPU seconds of one BLAS thread, runs interleaved in one process, medians compared. The
yardstick is an RVFL regressor in twenty lines of NumPy. gfdl (Python 3.12) and graforvfl are timed
where they can be imported, with their own defaults (a pseudo-inverse) and with the same ridge; run
the script in an environment that has them, with robell on the path.
"""

import argparse
import importlib
import platform
import time
import warnings
from importlib.metadata import version

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_sparse_uncorrelated,
)
from sklearn.metrics import r2_score
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from robell import DeepRVFLClassifier, DeepRVFLRegressor, ELMRegressor, RVFLRegressor

N_HIDDEN = 100


class PlainRVFL:
    """The yardstick."""

    def __init__(self, n_hidden=N_HIDDEN, C=1.0, seed=0):
        self.n_hidden, self.C, self.seed = n_hidden, C, seed

    def features(self, X):
        H = 1 / (1 + np.exp(-(X @ self.U + self.b)))
        return np.hstack([X, H])

    def fit(self, X, y):
        rng = np.random.default_rng(self.seed)
        self.U = rng.uniform(-1, 1, (X.shape[1], self.n_hidden))
        self.b = rng.uniform(0, 0.1, self.n_hidden)
        M = self.features(X)
        self.mean, self.target_mean = M.mean(axis=0), y.mean(axis=0)
        M -= self.mean
        G = M.T @ M
        G.flat[:: len(G) + 1] += 1 / self.C
        self.beta = np.linalg.solve(G, M.T @ (y - self.target_mean))
        return self

    def predict(self, X):
        return (self.features(X) - self.mean) @ self.beta + self.target_mean


def others():
    """Return what other packages have, by name: with their defaults, and with the same ridge."""
    found = {}
    for package in ("gfdl", "graforvfl"):
        try:
            importlib.import_module(package)
        except ImportError:
            print(f"{package} is not installed here")
    if importlib.util.find_spec("gfdl"):
        from gfdl.model import GFDLRegressor

        common = {"hidden_layer_sizes": (N_HIDDEN,), "activation": "sigmoid", "seed": 0}
        found["gfdl, its defaults"] = GFDLRegressor(**common)
        found["gfdl, ridge"] = GFDLRegressor(**common, reg_alpha=1.0)
    if importlib.util.find_spec("graforvfl"):
        from graforvfl import RvflRegressor

        common = {"size_hidden": N_HIDDEN, "act_name": "sigmoid", "seed": 0}
        common["weight_initializer"] = "random_uniform"
        found["graforvfl, its defaults"] = RvflRegressor(**common)
        found["graforvfl, ridge"] = RvflRegressor(**common, reg_alpha=1.0)
    return found


def cpu_seconds(run):
    start = time.process_time()
    run()
    return time.process_time() - start


def medians(runs, repeats):
    """Return the median CPU seconds of several functions, interleaved."""
    times = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            times[name].append(cpu_seconds(run))
    return {name: float(np.median(values)) for name, values in times.items()}


def fit_and_predict(model, X, y):
    return lambda: model.fit(X, y).predict(X)


def measure_time(repeats):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 50))
    y = X[:, 0] * X[:, 1] + X @ rng.normal(size=50) + rng.normal(size=20_000)
    common = {"n_hidden": N_HIDDEN, "random_state": 0}
    models = {
        "plain NumPy": PlainRVFL(),
        "RVFLRegressor": RVFLRegressor(**common),
        "RVFLRegressor, intervals": RVFLRegressor(**common, intervals=True),
        'RVFLRegressor, C="loo"': RVFLRegressor(**common, C="loo"),
        "ELMRegressor": ELMRegressor(**common),
        **others(),
    }
    found = medians({name: fit_and_predict(m, X, y) for name, m in models.items()}, repeats)
    print(
        f"\nfit + predict, 20,000 x 50, {N_HIDDEN} nodes: CPU seconds, times plain NumPy, ", end=""
    )
    print("times RVFLRegressor")
    for name, seconds in found.items():
        against = seconds / found["plain NumPy"], seconds / found["RVFLRegressor"]
        print(f"  {name:28s} {seconds:8.3f} {against[0]:8.2f} {against[1]:8.2f}")


def measure_depth(repeats):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 50))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    kinds = {
        "classifier, mean": (DeepRVFLClassifier, {}),
        "classifier, vote": (DeepRVFLClassifier, {"combine": "vote"}),
        "regressor, mean, intervals": (DeepRVFLRegressor, {"intervals": True}),
        "regressor, mean": (DeepRVFLRegressor, {}),
        "classifier, concat": (DeepRVFLClassifier, {"combine": "concat"}),
    }
    runs = {
        (name, depth): fit_and_predict(kind(N_HIDDEN, depth, random_state=0, **more), X, y)
        for name, (kind, more) in kinds.items()
        for depth in (1, 5)
    }
    found = medians(runs, repeats)
    print(f"\nfit + predict, 20,000 x 50, layers of {N_HIDDEN}: one, five, ratio")
    for name in kinds:
        one, five = found[name, 1], found[name, 5]
        print(f"  {name:28s} {one:8.3f} {five:8.3f} {five / one:8.2f}")


def tables():
    """Return ten tables: five of scikit-learn's, a column of each the target, and five made."""
    cancer, wine, iris = (load().data for load in (load_breast_cancer, load_wine, load_iris))
    digits = load_digits().data
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(600, 6))
    uneven = Z[:, 0] + Z[:, 1] ** 2 + (0.2 + np.abs(Z[:, 2])) * rng.standard_t(4, 600)
    return {
        "diabetes": load_diabetes(return_X_y=True),
        "wine, alcohol": (wine[:, 1:], wine[:, 0]),
        "breast cancer, smoothness": (np.delete(cancer, 4, axis=1), cancer[:, 4]),
        "iris, petal width": (iris[:, :3], iris[:, 3]),
        "digits, ink of the lower half": (digits[:, :32], digits[:, 32:].sum(axis=1)),
        "friedman 1": make_friedman1(500, noise=1.0, random_state=0),
        "friedman 2": make_friedman2(500, noise=100.0, random_state=0),
        "friedman 3": make_friedman3(500, noise=0.1, random_state=0),
        "sparse uncorrelated": make_sparse_uncorrelated(500, 10, random_state=0),
        "uneven, heavy tails": (Z, uneven),
    }


def splits_of(X, y, n_splits):
    for train, test in ShuffleSplit(n_splits, test_size=0.3, random_state=0).split(X):
        scaler = StandardScaler().fit(X[train])
        yield scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def measure_r2(n_splits):
    """Print R² of equal settings on the first five tables."""
    models = {"RVFLRegressor": RVFLRegressor(N_HIDDEN, random_state=0), "plain NumPy": PlainRVFL()}
    models |= others()
    print(f"\nR² on {n_splits} splits 70:30, {N_HIDDEN} sigmoid nodes, C=1: means")
    print(" " * 34 + "".join(f"{name:>26s}" for name in models))
    for name, (X, y) in list(tables().items())[:5]:
        scores = {model: [] for model in models}
        for train, targets, test, truth in splits_of(X, y, n_splits):
            for model, estimator in models.items():
                # Other packages fit no constant: their targets are centred for them.
                mean = targets.mean()
                fitted = estimator.fit(train, targets - mean)
                scores[model].append(r2_score(truth - mean, np.ravel(fitted.predict(test))))
        print(f"  {name:32s}" + "".join(f"{np.mean(s):26.3f}" for s in scores.values()))


def measure_intervals(n_splits, coverage):
    print(f"\nintervals of {coverage:.0%}, {n_splits} splits 70:30, {N_HIDDEN} nodes, C='loo':")
    print(f"  {'':32s}{'rows':>6s}{'covered':>9s}{'s.e.':>7s}{'width/sd':>10s}{'R2':>7s}")
    every = []
    for name, (X, y) in tables().items():
        covered, width, score = [], [], []
        for k, (train, targets, test, truth) in enumerate(splits_of(X, y, n_splits)):
            model = RVFLRegressor(N_HIDDEN, C="loo", intervals=True, random_state=k)
            low, high = model.fit(train, targets).predict_interval(test, coverage).T
            covered.append(((truth >= low) & (truth <= high)).mean())
            width.append((high - low).mean() / y.std())
            score.append(model.score(test, truth))
        error = np.std(covered) / np.sqrt(n_splits)
        every.append(np.mean(covered))
        print(f"  {name:32s}{len(y):6d}{every[-1]:9.3f}{error:7.3f}", end="")
        print(f"{np.mean(width):10.2f}{np.mean(score):7.2f}")
    print(f"  mean {np.mean(every):.3f}, from {min(every):.3f} to {max(every):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--only", choices=["time", "depth", "r2", "intervals"], nargs="+")
    options = parser.parse_args()
    wanted = options.only or ["time", "depth", "r2", "intervals"]
    warnings.simplefilter("ignore")
    packages = ["numpy", "scikit-learn"]
    packages += [name for name in ("gfdl", "graforvfl") if importlib.util.find_spec(name)]
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    print(f"Python {platform.python_version()}, {versions}")
    with threadpool_limits(1):
        if "time" in wanted:
            measure_time(options.repeats)
        if "depth" in wanted:
            measure_depth(options.repeats)
        if "r2" in wanted:
            measure_r2(options.splits)
        if "intervals" in wanted:
            measure_intervals(options.splits, options.coverage)


if __name__ == "__main__":
    main()
