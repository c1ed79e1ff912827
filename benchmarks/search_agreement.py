"""Count candidate-fold scores in which RVFLGridSearchCV and single fits differ, on a large grid.

A prediction whose score lies within rounding of the threshold could fall on either side; the
search fits such candidates one by one, and this says how often. Takes some minutes: every candidate
is fitted to every fold (without GridSearchCV's dispatching, which takes longer than the fits).

``--random 500`` compares so many small searches with GridSearchCV instead, drawn by
``fuzz/random_searches.py``: penalties in any order, columns of any kind, every model and scorer.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from robell import RoBellRVFLClassifier, RVFLGridSearchCV, paper_grid

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
from random_searches import differences, draw_case, run_both


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


def compare_random(first, n_searches, jobs):
    """Compare random searches with GridSearchCV's; print each that differs, and counts of all."""
    seeds = range(first, first + n_searches)
    tasks = (delayed(compare_some)(seeds[k : k + 50]) for k in range(0, n_searches, 50))
    shared = alone = refused = 0
    different, reasons = [], Counter()
    for part in Parallel(jobs, return_as="generator")(tasks):
        shared, refused = shared + part.shared, refused + part.refused
        reasons.update(part.reasons)
        for seed, what in part.different:
            different.append(seed)
            print(f"search {seed}: {'; '.join(what)[:300]}", flush=True)
    alone = sum(reasons.values())
    print(f"{n_searches} searches, {shared + alone} scores, {alone} of them fitted one by one")
    print(f"refused by both: {refused}; searches that differ: {len(different)}")
    for reason, count in reasons.most_common():
        print(f"{count:9}  {reason}")


class Compared(NamedTuple):
    """What some searches gave."""

    shared: int
    refused: int
    reasons: Counter
    different: list


def compare_some(seeds):
    """Compare the searches of some seeds."""
    shared, refused, reasons, different = 0, 0, Counter(), []
    with threadpool_limits(1, "blas"):
        for seed in seeds:
            case = draw_case(seed)
            theirs, ours = run_both(case)
            if ours[0] is None:
                refused += 1
            else:
                shared += ours[0].n_shared_
                reasons.update(ours[0].not_shared_)
            if what := differences(case, theirs, ours):
                different.append((seed, what))
    return Compared(shared, refused, reasons, different)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--widths", type=int, default=4, help="how many kernel widths")
    parser.add_argument("--activations", type=int, default=10, help="how many activations")
    parser.add_argument("--random", type=int, help="compare so many random searches instead")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    arguments = parser.parse_args()
    if arguments.random:
        compare_random(arguments.first, arguments.random, arguments.jobs)
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
