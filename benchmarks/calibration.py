"""Expected calibration error and log loss of every classifier of the family, as it comes.

    python benchmarks/calibration.py
    python benchmarks/calibration.py --levels 0 20 --tables pima vowel0 --seeds 2

The two-class tables that the robustness study reports, with its splits and its symmetric noise;
inputs standardised, default parameters, test labels true. Prints means over tables, and what chance
alone makes of the error: labels drawn from the probabilities themselves, 20 times.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from importlib import import_module

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from robell.comparison.scores import CLEAN
from robell.metrics import expected_calibration_error
from robell.models import CLASSIFIERS
from robell.studies.label_noise.jobs import (
    FIRST_SEED,
    REPORTING,
    NoiseJob,
    Split,
    probability_scores,
    study_tables,
)

DRAWS = 20


def classifier(name, seed):
    """Return a classifier with default parameters behind a scaler."""
    model = getattr(import_module(CLASSIFIERS[name]), name)()
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return make_pipeline(StandardScaler(), model)


def chance_error(P, rng):
    """Return the mean calibration error of labels that are drawn from the probabilities."""
    drawn = (rng.random((DRAWS, len(P))) < P).astype(int)
    return float(np.mean([expected_calibration_error(y, P, labels=[0, 1]) for y in drawn]))


def measure(name, rows, level, seed):
    """Return {classifier: [calibration error, chance, log loss]} on one split of one table."""
    kind = "symmetric" if level else CLEAN
    split = Split(NoiseJob(name, rows.digest, kind, level, seed, ""), rows)
    found, rng = {}, np.random.default_rng(seed)
    for key in CLASSIFIERS:
        model = classifier(key, seed).fit(split.X_train, split.y_train)
        P = model.predict_proba(split.X_test)
        scores = probability_scores(split.y_test, P, [0, 1], 2)
        chance = chance_error(P[:, 1], rng)
        found[key] = [scores["calibration_error"], chance, scores["log_loss"]]
    return found


def show(found, levels):
    """Print one line a classifier, the best at the highest level first."""
    titles = [f"{what} {level} %" for what in ("error", "chance", "log loss") for level in levels]
    print("| | " + " | ".join(titles) + " |")
    print("|---|" + "---|" * len(titles))
    means = {key: np.mean(list(tables.values()), axis=0) for key, tables in found.items()}
    for key, mean in sorted(means.items(), key=lambda item: item[1][-1, 0]):
        print(f"| `{key}` | " + " | ".join(f"{value:.3f}" for value in mean.T.ravel()) + " |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=REPORTING)
    parser.add_argument("--levels", nargs="+", type=int, default=[0, 20, 40])
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    tables, unavailable = study_tables(options.tables, download=False)
    for name, why in unavailable.items():
        print(f"without {name}: {why}", file=sys.stderr)
    found = defaultdict(dict)
    for name, rows in tables.items():
        splits = []
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
                splits.append([measure(name, rows, level, seed) for level in options.levels])
        for key in CLASSIFIERS:
            of_key = [[cell[key] for cell in cells] for cells in splits]
            found[key][name] = np.mean(of_key, axis=0)
        print(name, file=sys.stderr, flush=True)
    print(f"{len(tables)} tables, {options.seeds} split(s)")
    show(found, options.levels)


if __name__ == "__main__":
    main()
