"""Count candidate-fold scores in which RVFLGridSearchCV and single fits differ, on a large grid.

A prediction whose score lies within rounding of the threshold could fall on either side; the
search fits such candidates one by one, and this says how often. Takes some minutes: every candidate
is fitted to every fold (without GridSearchCV's dispatching, which takes longer than the fits).
"""

import argparse

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from robell import RoBellRVFLClassifier, RVFLGridSearchCV, paper_grid


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--widths", type=int, default=4, help="how many kernel widths")
    parser.add_argument("--activations", type=int, default=10, help="how many activations")
    arguments = parser.parse_args()
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
