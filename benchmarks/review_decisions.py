"""Labels corrected per decision: a review that judges again, against orders that stay as they are.

A share of the labels of each table is wrong, drawn at random (of several classes, to any other). A
reviewer who is never wrong decides on the rows in the order of each contestant:

    review    `robell review`: the rows left are judged again after every decision
    audit     the order of the audit, as it was at first
    cleanlab  `get_label_quality_scores` with LightGBM's probabilities, five folds

Printed: the mean number of labels corrected after 50, 100 and 200 decisions, and by how much the
first is ahead, with its standard error over the tables. What is chosen was chosen on --choosing.

Needs robell[robustness].

python benchmarks/review_decisions.py [--choosing] [--seeds N] [--tables N]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from robell._tools.optional import require
from robell.labels.judge import judge_labels
from robell.labels.reviewed import JudgedAgain
from robell.studies.label_noise.jobs import GROUPS, study_tables

DECISIONS, SHARES, LEAST_ROWS = (50, 100, 200), (0.1, 0.2), 500
CONTESTANTS = "review", "audit", "cleanlab"


def by_review(again, right):
    """Return the rows in the order in which a review asks about them."""
    asked = []
    while len(asked) < max(DECISIONS):
        row = int(again.order()[0][0])
        again.decide(row, int(right[row]))
        asked.append(row)
    return asked


def by_cleanlab(X, y, seed):
    """Return the rows in cleanlab's order."""
    classifier = require("lightgbm", "robustness").LGBMClassifier(
        verbose=-1, n_jobs=1, random_state=seed
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    P = cross_val_predict(classifier, X, y, cv=folds, method="predict_proba")
    quality = require("cleanlab.rank", "robustness").get_label_quality_scores(y, P)
    return np.argsort(quality, kind="stable")


def measure(X, right, share, seed):
    """Return the labels corrected by each contestant, and the review's seconds a decision."""
    rng = np.random.default_rng(seed)
    n_classes = int(right.max()) + 1
    is_wrong = rng.random(len(right)) < share
    y = np.where(is_wrong, (right + rng.integers(1, n_classes, len(right))) % n_classes, right)
    judgement = judge_labels(X, y, random_state=seed)
    start = time.process_time()
    again = JudgedAgain(np.clip(X, -3.0, 3.0), y, judgement.probability, seed)
    asked = by_review(again, right)
    seconds = (time.process_time() - start) / len(asked)
    orders = asked, np.argsort(judgement.quality, kind="stable"), by_cleanlab(X, y, seed)
    wrong = y != right
    return [[int(wrong[order[:b]].sum()) for b in DECISIONS] for order in orders], seconds


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--choosing", action="store_true", help="the tables it was chosen on")
    parser.add_argument("--seeds", type=int, default=2, help="wrong labels drawn (default 2)")
    parser.add_argument("--tables", type=int, default=10, help="of them all (default 10)")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    names = GROUPS["choosing" if options.choosing else "reporting"]
    tables = study_tables(names, download=False)[0]
    large = [name for name, rows in tables.items() if len(rows.y) >= LEAST_ROWS]
    places = np.linspace(0, len(large) - 1, options.tables).round().astype(int)
    chosen = [large[place] for place in places]  # evenly from the list, before anything is known
    with threadpool_limits(1):
        for share in SHARES:
            found, times = np.zeros((len(chosen), len(CONTESTANTS), len(DECISIONS))), []
            for at, name in enumerate(chosen):
                X = tables[name].X[:, tables[name].X.std(axis=0) > 0]
                X = (X - X.mean(axis=0)) / X.std(axis=0)
                right = np.unique(tables[name].y, return_inverse=True)[1]
                for seed in range(options.seeds):
                    corrected, seconds = measure(X, right, share, seed)
                    found[at] += np.array(corrected) / options.seeds
                    times.append(seconds)
                print(f"  {name}: {found[at].tolist()}", flush=True)
            print(f"{share:.0%} wrong, {len(chosen)} tables, {options.seeds} draws each")
            for name, means in zip(CONTESTANTS, found.mean(axis=0), strict=True):
                print(f"{name:10}" + "".join(f"{mean:9.1f}" for mean in means))
            for c, name in list(enumerate(CONTESTANTS))[1:]:
                gain = found[:, 0] - found[:, c]
                error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
                ahead = [
                    f"{g:+.1f} ± {e:.1f}" for g, e in zip(gain.mean(axis=0), error, strict=True)
                ]
                won = [f"{(g > 0).sum()}:{(g < 0).sum()}" for g in gain.T]
                print(f"review less {name}: {', '.join(ahead)}; tables ahead and behind {won}")
            print(f"{1000 * np.mean(times):.1f} ms of processor time a decision\n", flush=True)


if __name__ == "__main__":
    main()
