"""Finding flipped labels: find_label_issues against cleanlab; needs robell[robustness].

    python benchmarks/label_issues.py
    python benchmarks/label_issues.py --noise 0.1 --seeds 10 --sets pima vowel0
    python benchmarks/label_issues.py --noise 0.1 --seeds 10 --made

Of all rows of each of the robustness study's sets a share is flipped, classes alike
(`flip_uniformly`); nothing is held out, since what is looked for are rows of the table itself.
Cleanlab is given five-fold cross-validated probabilities of a scaled logistic regression, of a
random forest of 100 trees and of LightGBM with its defaults. Ranking: average precision of the
flipped rows by the quality of the label (cleanlab: `get_label_quality_scores`, self-confidence, its
default). Issues: precision and recall of the rows each calls wrong (cleanlab:
`filter.find_label_issues`, default filter). Where nothing is called wrong, precision counts as 0.
CPU seconds of the whole way from the table to the issues, all taken in turn in one process with one
thread.
"""

import argparse
import os
import sys
import time
import warnings
from types import SimpleNamespace

import numpy as np
import sklearn
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from robell import find_label_issues
from robell._tools.optional import require
from robell.comparison.study import gather
from robell.noise import flip_uniformly
from robell.studies.label_noise.jobs import SETS

FOLDS = 5
OURS = "find_label_issues"
METRICS = ("avg. precision", "precision", "recall", "CPU s")
NAME_WIDTH = 30


def by_robell(X, y, seed):
    """Return the quality of every label and which rows are called wrong."""
    issues = find_label_issues(X, y, random_state=seed)
    called = np.zeros(len(y), bool)
    called[issues.index] = True
    return issues.sample_quality, called


def by_cleanlab(classifier, X, y, seed):
    """Do the same with cleanlab and cross-validated probabilities of a classifier."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Noise may leave a class with fewer rows than folds; the peers do what they can.
        warnings.filterwarnings("ignore", message="The least populated class")
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        P = cross_val_predict(classifier, X, y, cv=folds, method="predict_proba", n_jobs=1)
    quality = require("cleanlab.rank", "robustness").get_label_quality_scores(y, P)
    called = require("cleanlab.filter", "robustness").find_label_issues(y, P, n_jobs=1)
    return quality, called


def by_logistic(X, y, seed):
    return by_cleanlab(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), X, y, seed
    )


def by_forest(X, y, seed):
    return by_cleanlab(RandomForestClassifier(100, n_jobs=1, random_state=seed), X, y, seed)


def by_boosting(X, y, seed):
    booster = require("lightgbm", "robustness").LGBMClassifier(
        n_jobs=1, random_state=seed, verbose=-1
    )
    return by_cleanlab(booster, X, y, seed)


CONTESTANTS = {
    OURS: by_robell,
    "cleanlab, logistic regression": by_logistic,
    "cleanlab, random forest": by_forest,
    "cleanlab, LightGBM": by_boosting,
}


def measure(find, X, y, flipped, seed):
    """Return the values of METRICS."""
    start = time.process_time()
    quality, called = find(X, y, seed)
    seconds = time.process_time() - start
    hits = (called & flipped).sum()
    return [
        average_precision_score(flipped, -quality),
        hits / max(called.sum(), 1),
        hits / flipped.sum(),
        seconds,
    ]


def progress(text=""):
    if sys.stderr.isatty():
        print(f"\r{text:70}" + ("" if text else "\r"), end="", file=sys.stderr, flush=True)


def measure_all(tables, seeds, noise):
    """Return an array of (contestants, sets, seeds, metrics)."""
    found = np.empty((len(CONTESTANTS), len(tables), len(seeds), len(METRICS)))
    for s, (name, rows) in enumerate(tables.items()):
        for k, seed in enumerate(seeds):
            noisy, flipped = flip_uniformly(rows.y, noise, seed)
            if not flipped.any():
                sys.exit(f"--noise {noise:g} flips no row of {name}")
            for c, (contestant, find) in enumerate(CONTESTANTS.items()):
                progress(f"{name}, seed {seed}: {contestant}")
                found[c, s, k] = measure(find, rows.X, noisy, flipped, seed)
    progress()
    return found


def report(found, tables, seeds, noise):
    of_set = found.mean(axis=2)  # (contestants, sets, metrics)
    n_sets = len(tables)
    print(f"{n_sets} sets, seeds {seeds}, {noise:.0%} of all rows flipped: means over the sets")
    print(f"{'':{NAME_WIDTH}}" + "".join(f"{metric:>16}" for metric in METRICS))
    for name, values in zip(CONTESTANTS, of_set, strict=True):
        means = values.mean(axis=0)
        print(f"{name:{NAME_WIDTH}}" + "".join(f"{mean:>16.3f}" for mean in means))
    print()
    for c, name in list(enumerate(CONTESTANTS))[1:]:
        gain = of_set[0, :, 0] - of_set[c, :, 0]
        ratio = np.median(found[c, :, :, -1] / found[0, :, :, -1])
        total = found[c, :, :, -1].sum() / found[0, :, :, -1].sum()
        error = gain.std(ddof=1) / np.sqrt(n_sets) if n_sets > 1 else np.nan
        print(
            f"against {name}: average precision {gain.mean():+.3f} (standard error {error:.3f}), "
            f"better on {(gain > 0).sum()} of {n_sets} sets;\n"
            f"    it takes {ratio:.1f} times our CPU time (median), {total:.1f} times in all"
        )


def show_sets(found, tables):
    """Print every set's mean average precision."""
    print(f"{'average precision':38}" + "".join(f"{name[:20]:>22}" for name in CONTESTANTS))
    for s, name in enumerate(tables):
        values = found[:, s, :, 0].mean(axis=1)
        print(f"{name:38}" + "".join(f"{value:>22.3f}" for value in values))
    print()


def made():
    """Return tables whose classes are a few clumps each, far from one another."""
    how = {"n_informative": 8, "n_redundant": 4, "class_sep": 1.2, "flip_y": 0, "random_state": 0}
    tables = {}
    for k in (2, 5):
        X, y = make_classification(5000, 20, n_classes=k, **how)
        tables[f"made, {k} classes"] = SimpleNamespace(X=X, y=y)
    return tables


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12])
    parser.add_argument("--noise", type=float, default=0.2, help="share flipped (default 0.2)")
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument(
        "--made",
        action="store_true",
        help="tables of 5,000 x 20 by make_classification, of 2 and 5 classes, instead of the sets",
    )
    parser.add_argument("--by-set", action="store_true", help="also print every set")
    arguments = parser.parse_args()
    if not 0 < arguments.noise < 1:
        parser.error("--noise must be between 0 and 1")
    version = require("cleanlab", "robustness").__version__
    tables, unavailable = made(), {}
    if not arguments.made:
        tables, unavailable = gather(arguments.sets, download=False)
    for name, reason in unavailable.items():
        print(f"without {name}: {reason}")
    if not tables:
        sys.exit("none of the sets is here")
    print(
        f"one thread of {os.cpu_count()} cores; NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}, cleanlab {version}\n"
    )
    with threadpool_limits(1):
        first = next(iter(tables.values()))
        for find in CONTESTANTS.values():
            find(first.X, first.y, 0)  # load and warm everything
        found = measure_all(tables, arguments.seeds, arguments.noise)
    if arguments.by_set:
        show_sets(found, tables)
    report(found, tables, arguments.seeds, arguments.noise)
    print("goal: mean average precision above both, at least 5 times as fast as with the forest")


if __name__ == "__main__":
    main()
