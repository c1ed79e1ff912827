"""Count candidate-fold scores in which RVFLGridSearchCV and GridSearchCV differ, on a large grid.

A prediction whose score lies within rounding of the threshold may fall on either side; this says
how often. Takes some minutes: GridSearchCV fits every candidate.
"""

import argparse

from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.preprocessing import scale

from robell import RoBellRVFLClassifier, RVFLGridSearchCV, paper_grid


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--widths", type=int, default=5, help="how many kernel widths")
    arguments = parser.parse_args()
    X, y = make_classification(
        arguments.rows, 6, n_informative=4, weights=[0.75], flip_y=0.1, random_state=0
    )
    grid = paper_grid("robell")
    grid["kernel_width"] = grid["kernel_width"][:: 11 // arguments.widths][: arguments.widths]
    estimator = RoBellRVFLClassifier(calibrate=False, random_state=0)
    settings = {"cv": StratifiedKFold(5, shuffle=True, random_state=0), "refit": False}
    ours = RVFLGridSearchCV(estimator, grid, **settings).fit(scale(X), y)
    theirs = GridSearchCV(estimator, grid, n_jobs=arguments.jobs, **settings).fit(scale(X), y)
    names = [f"split{k}_test_score" for k in range(5)]
    differ = sum(int((ours.cv_results_[n] != theirs.cv_results_[n]).sum()) for n in names)
    print(f"{len(ParameterGrid(grid))} candidates x 5 folds, {arguments.rows} x 6")
    print(f"scores that differ: {differ} of {5 * len(theirs.cv_results_['params'])}")
    print(f"same best parameters: {ours.best_params_ == theirs.best_params_}")


if __name__ == "__main__":
    main()
