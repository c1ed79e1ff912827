"""The exact search of the deep and multi-view networks and their kin, against GridSearchCV.

    python benchmarks/search_relatives.py [--sample 10] [--rows 592] [model ...]

Each model is searched over its whole paper grid, but with two activations, on a table of the size
of the paper's vehicle sets. One core, one BLAS thread, CPU seconds. GridSearchCV's total is
estimated from random candidates of the same grid in the same run, and their scores are compared.
"""

import argparse
import time

import numpy as np
from search import CV, table
from sklearn.model_selection import GridSearchCV, ParameterGrid
from threadpoolctl import threadpool_limits

import robell
from robell import RVFLGridSearchCV, paper_grid

KINDS = {
    "rvfl": "RVFLClassifier",
    "edrvfl": "DeepRVFLClassifier",
    "drvfl": "DeepRVFLClassifier",
    "multiview": "MultiViewRVFLClassifier",
    "grvfl_mv": "MultiViewRVFLClassifier",
    "rvfl_plus": "RVFLPlusClassifier",
    "classvar": "VarianceRVFLClassifier",
    "nf": "NeuroFuzzyRVFLClassifier",
    "acrvfl": "ComplexRVFLClassifier",
    "r2vfl": "HuberRVFLClassifier",
}
# One fit of the widest deep networks takes seconds: the narrowest of the grid say the same.
SMALLER = {"n_hidden": [256]}


def grid_of(name):
    grid = paper_grid(name) | {"activation": ["relu", "sigmoid"]}
    return grid | SMALLER if "n_layers" in grid else grid


def compare(name, X, y, n_sample):
    model, given = getattr(robell, KINDS[name])(random_state=0, calibrate=False), {}
    if "Plus" in KINDS[name]:
        half = X.shape[1] // 2
        X, given = X[:, :half], {"privileged": X[:, half:]}
    if name in ("multiview", "grvfl_mv"):
        half = X.shape[1] // 2
        model.set_params(views=[slice(0, half), slice(half, None)])
    grid = grid_of(name)
    candidates = list(ParameterGrid(grid))
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(candidates), min(n_sample, len(candidates)), replace=False)
    literal = [{key: [value] for key, value in candidates[c].items()} for c in chosen]
    start = time.process_time()
    one_by_one = GridSearchCV(model, literal, cv=CV, refit=False).fit(X, y, **given)
    usual = (time.process_time() - start) * len(candidates) / len(chosen)
    search = RVFLGridSearchCV(model, literal, cv=CV, refit=False).fit(X, y, **given)
    if not search.n_shared_:
        reason = next(iter(search.not_shared_))
        print(f"  {name:10}{len(candidates):8,}{usual:10.1f}   one by one: {reason}", flush=True)
        return
    start = time.process_time()
    search = RVFLGridSearchCV(model, grid, cv=CV, refit=False).fit(X, y, **given)
    ours = time.process_time() - start
    differ = sum(
        int((search.cv_results_[key][chosen] != one_by_one.cv_results_[key]).sum())
        for key in (f"split{k}_test_score" for k in range(5))
    )
    scores = 5 * len(candidates)
    print(
        f"  {name:10}{len(candidates):8,}{usual:10.1f}{ours:9.2f}{usual / ours:9.1f}"
        f"{search.n_shared_ / scores:9.0%}{differ:6} of {5 * len(chosen)}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(KINDS), metavar="model")
    parser.add_argument("--sample", type=int, default=10, help="candidates of GridSearchCV")
    parser.add_argument("--rows", type=int, default=592)
    arguments = parser.parse_args()
    X, y = table(arguments.rows)
    robell.RVFLClassifier().fit(X, y)  # warms up
    print(f"{arguments.rows} x {X.shape[1]}, five folds, one core, CPU seconds")
    print("  model     candidates  usual    ours    times   shared  scores that differ")
    for name in arguments.models:
        compare(name, X, y, arguments.sample)


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main()
