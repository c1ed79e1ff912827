"""Count candidate-fold scores in which RVFLGridSearchCV and single fits differ, on a large grid.

A prediction whose score lies within rounding of the threshold could fall on either side; the
search fits such candidates one by one, and this says how often. Takes some minutes: every candidate
is fitted to every fold (without GridSearchCV's dispatching, which takes longer than the fits).

``--random 500`` compares so many small searches with GridSearchCV instead, on tables that make
rounding matter: few distinct values, columns on very different scales, C up to 1e12.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from robell import (
    ComplexRVFLClassifier,
    ELMClassifier,
    IntuitionisticFuzzyRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
    paper_grid,
)

MODELS = [
    RVFLClassifier,
    ELMClassifier,
    RoBellRVFLClassifier,
    ComplexRVFLClassifier,
    IntuitionisticFuzzyRVFLClassifier,
]
ACTIVATIONS = ["sigmoid", "relu", "sin", "hardlim", "radbas"]
SCORERS = ["accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision"]


def fit_each(estimator, candidates, X, y, splits):
    """Return the accuracy of every candidate and fold, by fitting each."""
    with threadpool_limits(1, "blas"):
        return [
            [
                clone(estimator).set_params(**c).fit(X[train], y[train]).score(X[test], y[test])
                for train, test in splits
            ]
            for c in candidates
        ]


def random_table(rng):
    """Return rows and labels that make rounding matter."""
    n, p = int(rng.integers(40, 200)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, p))
    if rng.random() < 0.6:
        X = np.round(X, int(rng.integers(0, 2)))
    else:
        X = X * 10.0 ** rng.integers(-2, 3, p) + 10.0 * rng.integers(0, 3)
    return X, (scale(X[:, 0]) + rng.normal(size=n) > 0.4).astype(int)


def compare_random(n_searches):
    """Count the scores of random searches that differ, by more than the last digit and by that."""
    warnings.simplefilter("ignore")  # of classes whose rows all weigh nothing
    rng = np.random.default_rng(0)
    n_scores = alone = 0
    differ = {name: [0, 0] for name in SCORERS}
    for _ in range(n_searches):
        X, y = random_table(rng)
        grid = {
            "C": (10.0 ** rng.choice(np.arange(-5, 13), 4, replace=False)).tolist(),
            "n_hidden": [23, 63, 143, 203],
            "activation": [str(rng.choice(ACTIVATIONS))],
        }
        model = rng.choice(MODELS)(random_state=int(rng.integers(99)), calibrate=False)
        scorer = str(rng.choice(SCORERS))
        arguments = {"cv": 2, "refit": False, "scoring": scorer}
        theirs = GridSearchCV(model, grid, **arguments).fit(X, y).cv_results_
        search = RVFLGridSearchCV(model, grid, **arguments).fit(X, y)
        alone += sum(search.not_shared_.values())
        for name in ("split0_test_score", "split1_test_score"):
            gap = np.abs(theirs[name] - search.cv_results_[name])
            n_scores += len(gap)
            differ[scorer][0] += int((gap > 1e-15).sum())
            differ[scorer][1] += int(((gap > 0.0) & (gap <= 1e-15)).sum())
    print(f"{n_searches} searches, {n_scores} scores, {alone} of them fitted one by one")
    print(f"{'scores that differ':22}{'really':>8}{'in the last digit':>20}")
    for name, (really, last) in differ.items():
        print(f"{name:22}{really:8}{last:20}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--widths", type=int, default=4, help="how many kernel widths")
    parser.add_argument("--activations", type=int, default=10, help="how many activations")
    parser.add_argument("--random", type=int, help="compare so many random searches instead")
    arguments = parser.parse_args()
    if arguments.random:
        with threadpool_limits(1, "blas"):
            compare_random(arguments.random)
        return
    X, y = make_classification(
        arguments.rows, 6, n_informative=4, weights=[0.75], flip_y=0.1, random_state=0
    )
    grid = paper_grid("robell")
    grid["kernel_width"] = grid["kernel_width"][:: 11 // arguments.widths][: arguments.widths]
    grid["activation"] = grid["activation"][: arguments.activations]
    estimator = RoBellRVFLClassifier(calibrate=False, random_state=0)
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    X = scale(X)
    search = RVFLGridSearchCV(estimator, grid, cv=splits, refit=False).fit(X, y)
    candidates = list(ParameterGrid(grid))
    parts = Parallel(arguments.jobs)(
        delayed(fit_each)(estimator, candidates[k : k + 200], X, y, splits)
        for k in range(0, len(candidates), 200)
    )
    single = np.concatenate(parts)
    shared = np.column_stack([search.cv_results_[f"split{k}_test_score"] for k in range(5)])
    print(f"{len(candidates)} candidates x 5 folds, {arguments.rows} x 6")
    print(f"scores that differ: {int((single != shared).sum())} of {single.size}")
    print(f"scores fitted one by one: {search.not_shared_}")
    print(f"same best candidate: {single.mean(axis=1).argmax() == search.best_index_}")


if __name__ == "__main__":
    main()
