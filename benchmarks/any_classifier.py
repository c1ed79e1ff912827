"""NoiseRobustClassifier around three classifiers, beside each alone and in CleanLearning.

    python benchmarks/any_classifier.py                    the reporting tables, three splits
    python benchmarks/any_classifier.py --tables choosing --splits 1

Prints means over tables of the balanced accuracy on right test labels, with 0, 20 and 40 % of the
training labels wrong, our lead with its standard error over tables, and the CPU time of fits. What
is finished is kept in ``--records`` and not computed again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from robell import NoiseRobustClassifier, NoiseRobustRVFLClassifier
from robell._tools.optional import require
from robell.noise import flip_uniformly
from robell.studies.label_noise.jobs import CHOOSING, REPORTING, study_tables

LEVELS = (0, 20, 40)
WAYS = ("plain", "CleanLearning", "robust")


def make(base, seed, class_weight="balanced"):
    """Return one of the three classifiers; ours and cleanlab's weigh rows themselves."""
    if base == "LightGBM":
        return LGBMClassifier(class_weight=class_weight, random_state=seed, n_jobs=1, verbose=-1)
    if base == "forest":
        return RandomForestClassifier(class_weight=class_weight, random_state=seed, n_jobs=1)
    return make_pipeline(
        StandardScaler(), LogisticRegression(class_weight=class_weight, max_iter=1000)
    )


def fit(way, base, X, y, seed):
    """Return a fitted classifier."""
    if way == "plain":
        return make(base, seed).fit(X, y)
    if way == "robust":
        return NoiseRobustClassifier(make(base, seed, None), random_state=seed).fit(X, y)
    cleaner = require("cleanlab.classification", "robustness").CleanLearning(
        make(base, seed), seed=seed, find_label_issues_kwargs={"n_jobs": 1}
    )
    return cleaner.fit(X, y)


def measure(X, y, level, split):
    """Return balanced accuracy and CPU seconds of every way and base on one split."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)
    noisy = flip_uniformly(y, level / 100, split)[0] if level else y
    start = time.process_time()
    NoiseRobustRVFLClassifier(random_state=split).fit(X, noisy)
    found = {"judge": [float("nan"), time.process_time() - start]}
    for base in ("LightGBM", "forest", "logistic"):
        for way in WAYS:
            start = time.process_time()
            try:
                model = fit(way, base, X, noisy, split)
            except ValueError:  # cleanlab may leave a class without rows
                found[f"{base} {way}"] = [0.5, time.process_time() - start]
                continue
            seconds = time.process_time() - start
            score = balanced_accuracy_score(y_test, model.predict(X_test))
            found[f"{base} {way}"] = [float(score), seconds]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", choices=["reporting", "choosing"], default="reporting")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--records", type=Path, default=Path("results/any_classifier.jsonl"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = REPORTING if options.tables == "reporting" else CHOOSING
    tables, missing = study_tables(names, os.environ.get("ROBELL_DATA_DIR"), download=False)
    print(f"{len(tables)} tables; not to be had: {', '.join(missing) or 'none'}")
    options.records.parent.mkdir(parents=True, exist_ok=True)
    done = {}
    if options.records.exists():
        for line in options.records.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            done[record["table"], record["level"], record["split"]] = record["found"]
    with threadpool_limits(1), options.records.open("a", encoding="utf-8") as records:
        for split in range(options.splits):
            for name, rows in tables.items():
                for level in LEVELS:
                    if (name, level, split) not in done:
                        found = measure(rows.X, rows.y, level, split)
                        done[name, level, split] = found
                        record = {"table": name, "level": level, "split": split, "found": found}
                        print(json.dumps(record), file=records, flush=True)
    show(done, [name for name in names if name in tables], options.splits)


def show(done, names, splits):
    """Print means over tables, leads and fit times."""
    print(f"{'':28}" + "".join(f"{level:>14} %" for level in LEVELS) + "   fit / plain")
    for base in ("LightGBM", "forest", "logistic"):
        means = {}
        for way in WAYS:
            key = f"{base} {way}"
            means[way] = np.array(
                [
                    [np.mean([done[n, level, s][key][0] for s in range(splits)]) for n in names]
                    for level in LEVELS
                ]
            )
            ratio = np.median(
                [
                    (done[n, level, s][key][1] - (way == "robust") * done[n, level, s]["judge"][1])
                    / done[n, level, s][f"{base} plain"][1]
                    for n in names
                    for level in LEVELS
                    for s in range(splits)
                ]
            )
            row = "".join(f"{value:16.3f}" for value in means[way].mean(axis=1))
            print(f"{key:28}{row}   {ratio:.2f}{' + judge' if way == 'robust' else ''}")
        for other in ("plain", "CleanLearning"):
            lead = means["robust"] - means[other]
            error = lead.std(axis=1, ddof=1) / np.sqrt(len(names))
            row = "".join(
                f"{f'{m:+.3f} ({e:.3f})':>16}"
                for m, e in zip(lead.mean(axis=1), error, strict=True)
            )
            print(f"{f'  robust - {other}':28}{row}")


if __name__ == "__main__":
    main()
