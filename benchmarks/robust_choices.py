"""What was tried for NoiseRobustRVFLClassifier, each change alone, on the sets it was chosen on.

None of these sets is one of the 34 of ``robell robustness``, and the seeds are others too. Sets
that are not here (some need a data directory) are left out and named. Prints one line a variant:
means over sets, seeds and noise levels, and over the levels one by one.
"""

from __future__ import annotations

import argparse
import os
import warnings
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from sklearn import datasets as bundled
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import robell.models.noise_robust as module
from robell import NoiseRobustRVFLClassifier
from robell._core.labels import noise as label_noise
from robell.datasets import DatasetUnavailable, load
from robell.noise import flip_uniformly

SETS = [
    "abalone-17_vs_7-8-9-10",
    "car-vgood",
    "ecoli-0-1-4-7_vs_2-3-5-6",
    "ecoli-0-1-4-7_vs_5-6",
    "ecoli-0-3-4-7_vs_5-6",
    "ecoli-0_vs_1",
    "glass-0-1-5_vs_2",
    "glass4",
    "iris0",
    "kddcup-guess_passwd_vs_satan",
    "kr-vs-k-one_vs_fifteen",
    "new-thyroid2",
    "poker-8-9_vs_5",
    "shuttle-2_vs_5",
    "winequality-red-8_vs_6",
    "winequality-white-3_vs_7",
    "yeast-0-2-5-6_vs_3-7-8-9",
    "yeast-0-3-5-9_vs_7-8",
    "yeast-0-5-6-7-9_vs_4",
    "yeast-1-2-8-9_vs_7",
    "yeast-1_vs_7",
    "yeast-2_vs_8",
    "yeast6",
    "cleve",
    "cmc",
    "congressional_voting",
    "conn_bench_sonar_mines_rocks",
    "heart_hungarian",
    "heart-stat",
    "ionosphere",
    "oocytes_merluccius_nucleus_4d",
    "monk1",
    "monk3",
    "echocardiogram",
    "page-blocks0",
]
BUNDLED = {  # set -> class that is the minority
    "breast_cancer": 0,
    "wine 0": 0,
    "wine 2": 2,
    "digits 3": 3,
    "digits 8": 8,
}
LEVELS = (0, 5, 10, 20, 30, 40)
MOST_ROWS = 3500


def table(name):
    if name in BUNDLED:
        X, y = getattr(bundled, f"load_{name.split()[0]}")(return_X_y=True)
        return X, (y == BUNDLED[name]).astype(int)
    found = load(name, os.environ.get("ROBELL_DATA_DIR"), download=False)
    chosen = np.random.default_rng(0).permutation(len(found.y))[:MOST_ROWS]
    y = found.y[chosen]
    return found.X[chosen], (y == np.argmin(np.bincount(y))).astype(int)


class Reweighted(NoiseRobustRVFLClassifier):
    """Rows weighted by their quality, or dropped, instead of targets replaced."""

    power = 1.0
    drop = False

    def _fit_rounds(self, rows):
        layers, quality = module._fit_layers, np.ones(len(rows.X))

        def weighted(designs, targets, multiplicity):
            given = np.zeros_like(targets)
            given[np.arange(len(given)), rows.labels] = 1.0
            if np.array_equal(targets, given):
                return layers(designs, given, multiplicity)
            quality[:] = targets[np.arange(len(given)), rows.labels]
            weight = np.where(quality < 0.5, 1e-3, 1.0) if self.drop else quality**self.power
            return layers(designs, given, np.maximum(weight, 1e-3))

        with patch.object(module, "_fit_layers", weighted):
            return super()._fit_rounds(rows)


class WeightedByQuality(Reweighted):
    """Weights are the probability that the label is right."""

    power = 1.0


class WeightedBySquaredQuality(Reweighted):
    """Weights are its square."""

    power = 2.0


class WithoutSuspects(Reweighted):
    """Suspects keep next to no weight."""

    drop = True


class LargerPenalty(NoiseRobustRVFLClassifier):
    """The penalty one step beyond that of the smallest error."""

    def _fit_rounds(self, rows):
        fit = module.fit_centred_ridge

        def one_step_more(design, T, w, share, penalties):
            place = fit(design, T, w, share, penalties).place
            return fit(design, T, w, share, penalties[min(place + 1, len(penalties) - 1), None])

        with patch.object(module, "fit_centred_ridge", one_step_more):
            return super()._fit_rounds(rows)


def balanced_shares(scores, Z, weight):
    """Predict where the class is likelier than its share: s = 0 of the balanced fit."""
    return np.bincount(scores.argmax(axis=1), weight, scores.shape[1]) / weight.sum()


def free_matrix(scores, labels, weight, rate):
    """Noise rates by maximum likelihood, with slope and offsets, instead of by anchors."""
    n_classes = scores.shape[1]
    N = np.full((n_classes, n_classes), 0.1 / (n_classes - 1))
    np.fill_diagonal(N, 0.9)
    for _ in range(10):
        link = label_noise.fit_link(scores, labels, weight, N)
        Z = label_noise.posterior(link.probability(scores), labels, N)
        counts = np.stack([Z[labels == c].sum(axis=0) for c in range(n_classes)], axis=1)
        N = (counts + 1.0) / (counts + 1.0).sum(axis=1, keepdims=True)
    return N


def own_rates(trust):
    """Believe the rates of smaller classes by a fixed part instead of by what anchors show."""

    def matrix(scores, labels, weight, rate):
        N = label_noise.noise_matrix(scores, labels, weight, rate)
        counts = np.bincount(labels, weight, len(N))
        margin = label_noise.margins(scores)
        for c in np.flatnonzero(counts < counts.max()):
            sizes = np.array(label_noise.OWN_SHARES) * counts[c]
            own = label_noise.anchor_rate(margin[:, c], labels != c, weight, sizes, 0.45)
            N[c] = max(rate, rate + trust * (own - rate)) / (len(N) - 1)
            N[c, c] = 1.0 - N[c, [k for k in range(len(N)) if k != c]].sum()
        return N

    return (module, "noise_matrix", matrix)


# name -> (estimator, what is replaced)
VARIANTS = {
    "as it is": (NoiseRobustRVFLClassifier(), []),
    "no cleaning": (NoiseRobustRVFLClassifier(n_rounds=0), []),
    "two rounds": (NoiseRobustRVFLClassifier(n_rounds=2), []),
    "three rounds": (NoiseRobustRVFLClassifier(n_rounds=3), []),
    "weights = quality": (WeightedByQuality(), []),
    "weights = quality squared": (WeightedBySquaredQuality(), []),
    "suspects dropped": (WithoutSuspects(), []),
    "cleaned in full at any rate": (
        NoiseRobustRVFLClassifier(),
        [(module, "FULL_CLEANING_RATE", 1e-9)],
    ),
    "noise rates by likelihood": (
        NoiseRobustRVFLClassifier(),
        [(module, "noise_matrix", free_matrix)],
    ),
    "one noise rate for all classes": (NoiseRobustRVFLClassifier(), [own_rates(0.0)]),
    "own rates believed in full": (NoiseRobustRVFLClassifier(), [own_rates(1.0)]),
    "groups of anchors from 5 % on": (
        NoiseRobustRVFLClassifier(),
        [(label_noise, "ANCHOR_SHARES", (0.05, 0.1, *label_noise.ANCHOR_SHARES))],
    ),
    "threshold of the balanced fit": (
        NoiseRobustRVFLClassifier(),
        [(module, "nearest_centroid_shares", balanced_shares), (module, "PRIOR_SHARE", 0.0)],
    ),
    "threshold: centroids alone": (NoiseRobustRVFLClassifier(), [(module, "PRIOR_SHARE", 0.0)]),
    "threshold: half the class shares": (
        NoiseRobustRVFLClassifier(),
        [(module, "PRIOR_SHARE", 0.5)],
    ),
    "dense nodes": (
        NoiseRobustRVFLClassifier(),
        [(module, "INPUTS_PER_NODE", 10**6), (module, "WEIGHT_SCALE", 2.0)],
    ),
    "one input a node": (NoiseRobustRVFLClassifier(), [(module, "INPUTS_PER_NODE", 1)]),
    "three inputs a node": (NoiseRobustRVFLClassifier(), [(module, "INPUTS_PER_NODE", 3)]),
    "input weights halved": (NoiseRobustRVFLClassifier(), [(module, "WEIGHT_SCALE", 2.0)]),
    "input weights doubled": (NoiseRobustRVFLClassifier(), [(module, "WEIGHT_SCALE", 8.0)]),
    "four sigmoid layers": (
        NoiseRobustRVFLClassifier(),
        [(module, "ACTIVATIONS", ("sigmoid",) * 4)],
    ),
    "one relu layer of 400": (
        NoiseRobustRVFLClassifier(n_hidden=400),
        [(module, "ACTIVATIONS", ("relu",))],
    ),
    "50 nodes a layer": (NoiseRobustRVFLClassifier(n_hidden=50), []),
    "200 nodes a layer": (NoiseRobustRVFLClassifier(n_hidden=200), []),
    "one penalty step more": (LargerPenalty(), []),
}


def scores_of(name, seed, level, variants, rows):
    X, y = rows
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        train, test, given, truth = train_test_split(
            X, y, test_size=0.3, stratify=y, random_state=seed
        )
        noisy, flipped = flip_uniformly(given, level / 100, seed)
        found = []
        for label in variants:
            model, replaced = VARIANTS[label]
            with ExitStack() as stack:
                for where, what, value in replaced:
                    stack.enter_context(patch.object(where, what, value))
                model = model.set_params(random_state=seed).fit(train, noisy)
                score, predicted = model.decision_function(test), model.predict(test)
            hit = predicted[truth == 1].mean()
            spared = 1 - predicted[truth == 0].mean()
            f1 = 2 * (predicted * truth).sum() / max(predicted.sum() + truth.sum(), 1)
            found.append(
                [
                    (hit + spared) / 2,
                    np.sqrt(hit * spared),
                    f1,
                    roc_auc_score(truth, score),
                    average_precision_score(truth, score),
                    average_precision_score(flipped, -model.sample_quality_) if level else np.nan,
                ]
            )
    return level, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    options = parser.parse_args()
    tables, missing = {}, []
    for name in [*SETS, *BUNDLED]:
        try:
            tables[name] = table(name)
        except DatasetUnavailable:
            missing.append(name)
    print(f"{len(tables)} sets; not here: {', '.join(missing) or 'none'}")
    found = Parallel(options.jobs)(
        delayed(scores_of)(name, seed, level, options.variants, rows)
        for name, rows in tables.items()
        for seed in range(100, 100 + options.seeds)
        for level in LEVELS
    )
    levels = np.array([level for level, _ in found])
    values = np.array([scores for _, scores in found])
    by_level = np.stack(
        [
            np.nanmean(values[levels == level], axis=0)
            if level
            else values[levels == level].mean(axis=0)
            for level in LEVELS
        ]
    )
    print(
        "| variant | balanced accuracy | G-mean | F1 | ROC AUC | average precision | flips found |"
    )
    print("|---|---|---|---|---|---|---|")
    for k, label in enumerate(options.variants):
        cells = " | ".join(f"{v:.4f}" for v in np.nanmean(by_level[:, k], axis=0))
        print(f"| {label} | {cells} |")
    for m, metric in enumerate(
        ("balanced accuracy", "G-mean", "F1", "ROC AUC", "average precision")
    ):
        print(f"{metric} at {', '.join(map(str, LEVELS))} %")
        for k, label in enumerate(options.variants):
            print(f"  {label:34s}", " ".join(f"{v:.3f}" for v in by_level[:, k, m]))


if __name__ == "__main__":
    main()
