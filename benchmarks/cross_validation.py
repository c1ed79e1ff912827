"""Five folds of eleven penalties, 20,000 x 50, 200 nodes: the search beside what others would do.

    python benchmarks/cross_validation.py                  everything, interleaved, medians
    python benchmarks/cross_validation.py --rounds 5 --himalaya

One BLAS thread, CPU seconds. Peers that are not networks get the features made once, outside the
folds, and that time is counted once. gfdl is written out from its documentation (features, then
scikit-learn's Ridge of one-hot labels without an intercept, in every fit of a GridSearchCV).
cvmatrix gives the Gram matrix of every fold by taking off the rows held out; factorisations and
scores are then written here, in their quickest form. scikit-learn-intelex runs in a process of its
own, where it replaces Ridge. Peers that are not installed are left out.
"""

import argparse
import os
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from robell import RVFLClassifier, RVFLGridSearchCV

C = (10.0 ** np.arange(-5, 6)).tolist()
CV = StratifiedKFold(5, shuffle=True, random_state=0)
N_HIDDEN = 200


def table(n_rows=20_000, n_features=50):
    X, y = make_classification(n_rows, n_features, n_informative=20, flip_y=0.1, random_state=0)
    return scale(X), y


class RidgeNetwork(ClassifierMixin, BaseEstimator):
    """An RVFL network as gfdl fits one with a penalty."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        random = np.random.default_rng(0)
        self.weights_ = random.uniform(-1, 1, (X.shape[1], N_HIDDEN))
        self.bias_ = random.uniform(size=N_HIDDEN)
        ridge = Ridge(alpha=self.alpha, fit_intercept=False)
        self.coef_ = ridge.fit(self._design(X), np.eye(len(self.classes_))[codes]).coef_.T
        return self

    def _design(self, X):
        return np.hstack([expit(X @ self.weights_ + self.bias_), X])

    def predict(self, X):
        return self.classes_[(self._design(X) @ self.coef_).argmax(axis=1)]


def by_search(X, y):
    model = RVFLClassifier(n_hidden=N_HIDDEN, random_state=0)
    found = RVFLGridSearchCV(model, {"C": C}, cv=CV, refit=False).fit(X, y)
    return found.cv_results_["mean_test_score"]


def by_gfdl(X, y):
    grid = {"alpha": [1.0 / value for value in C]}
    return (
        GridSearchCV(RidgeNetwork(), grid, cv=CV, refit=False)
        .fit(X, y)
        .cv_results_["mean_test_score"]
    )


def features(X):
    """Return the columns that the search uses."""
    model = RVFLClassifier(n_hidden=N_HIDDEN, random_state=0, calibrate=False)
    model.fit(X[:300], np.arange(300) % 2)
    return np.hstack([X, expit(X @ model.hidden_weights_ + model.hidden_bias_)])


def by_cvmatrix(X, y):
    from cvmatrix.cvmatrix import CVMatrix

    M, T = features(X), np.where(y == 1, 1.0, -1.0)
    sums = CVMatrix(center_X=False, center_Y=False, scale_X=False, scale_Y=False, copy=False)
    sums.fit(M, T)
    scores = []
    for _, test in CV.split(X, y):
        (G, R), _ = sums.training_XTX_XTY(test)
        beta = np.empty((len(G), len(C)))
        for k, value in enumerate(C):
            system = G.copy()
            system.flat[:: len(G) + 1] += 1.0 / value
            factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
            beta[:, k] = cho_solve(factor, R[:, 0], check_finite=False)
        scores.append(((M[test] @ beta > 0) == (y[test] == 1)[:, None]).mean(axis=0))
    return np.mean(scores, axis=0)


def by_ridge_classifier_cv(X, y):
    alphas = [1.0 / value for value in C]
    RidgeClassifierCV(alphas, fit_intercept=False, cv=CV).fit(features(X), y)


def by_himalaya(X, y):
    from himalaya.ridge import RidgeCV

    T = np.where(y == 1, 1.0, -1.0)
    RidgeCV([1.0 / value for value in C], cv=CV.split(X, y)).fit(features(X), T)


def by_ridge(X, y):
    """Fit scikit-learn's Ridge in every fold and for every penalty, on features made once."""
    M, T = features(X), np.where(y == 1, 1.0, -1.0)
    grid = {"alpha": [1.0 / value for value in C]}
    GridSearchCV(Ridge(fit_intercept=False), grid, cv=list(CV.split(X, y)), refit=False).fit(M, T)


def cpu_seconds(work, *arguments):
    start = time.process_time()
    result = work(*arguments)
    return time.process_time() - start, result


def by_intelex():
    """Return the CPU seconds of ``by_ridge`` in a process where scikit-learn-intelex is at work."""
    command = [sys.executable, __file__, "--patched"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TBB_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def run_patched():
    from sklearnex import config_context, patch_sklearn

    patch_sklearn(verbose=False)
    global Ridge
    from sklearn.linear_model import Ridge

    X, y = table()
    with threadpool_limits(1), config_context():
        by_ridge(X, y)
        print(cpu_seconds(by_ridge, X, y)[0])


def arithmetic(X, y):
    """Return the seconds of the products the task needs, at the rate of a large product here."""
    n, P = len(X), X.shape[1] + N_HIDDEN
    A = np.random.default_rng(0).normal(size=(1500, 1500))
    rate = 2 * 1500**3 / min(cpu_seconds(np.matmul, A, A)[0] for _ in range(5))
    hidden = 2 * n * X.shape[1] * N_HIDDEN
    gram = n * P * P  # one triangle, every row once
    factors = 5 * len(C) * P**3 / 3
    scores = 2 * n * P * len(C)
    nodes = min(cpu_seconds(expit, np.ones((n, N_HIDDEN)))[0] for _ in range(3))
    return (hidden + gram + factors + scores) / rate + nodes, rate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--himalaya", action="store_true", help="once; it takes minutes")
    parser.add_argument("--patched", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.patched:
        return run_patched()
    X, y = table()
    peers = {"RVFLGridSearchCV": by_search, "gfdl, written out": by_gfdl}
    if find_spec("cvmatrix"):
        peers["cvmatrix"] = by_cvmatrix
    peers["RidgeClassifierCV"] = by_ridge_classifier_cv
    peers["Ridge in GridSearchCV"] = by_ridge
    with threadpool_limits(1, "blas"):
        by_search(X, y)  # warm up
        runs = [
            {name: cpu_seconds(work, X, y) for name, work in peers.items()}
            for _ in range(arguments.rounds)
        ]
        limit, rate = arithmetic(X, y)
    spent = {name: np.median([run[name][0] for run in runs]) for name in peers}
    if arguments.himalaya:
        with threadpool_limits(1, "blas"):
            spent["himalaya RidgeCV"] = cpu_seconds(by_himalaya, X, y)[0]
    if find_spec("sklearnex"):
        spent["the same, intelex"] = by_intelex()
    print(f"5 folds x {len(C)} penalties, {X.shape[0]} x {X.shape[1]}, {N_HIDDEN} nodes, one core")
    print(f"  {'arithmetic alone':24}{limit:8.3f} s   (products at {rate / 1e9:.0f} GFLOP/s)")
    for name, seconds in spent.items():
        print(f"  {name:24}{seconds:8.3f} s {seconds / spent['RVFLGridSearchCV']:8.1f} times ours")
    found = runs[-1]
    if "cvmatrix" in peers:
        gap = np.abs(found["RVFLGridSearchCV"][1] - found["cvmatrix"][1]).max()
        print(f"  largest gap of a mean accuracy between the search and cvmatrix: {gap:.1e}")
    return None


if __name__ == "__main__":
    main()
