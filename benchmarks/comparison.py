"""RoBell against RVFL and ELM on real data, made imbalanced and noisy. Run by ``make reproduce``.

Three tables that ship with scikit-learn, each with its positive class thinned to about one row in
ten; stratified 70:30 splits; a fraction of the *training* labels flipped uniformly at random, test
labels clean. Nothing is tuned: every model has its defaults, but that RoBell is also shown with
the kernel width "scale" and RVFL also with balanced classes. Means over datasets and seeds.
"""

import argparse
import sys

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import ELMClassifier, RoBellRVFLClassifier, RVFLClassifier

MODELS = {
    "RVFL": RVFLClassifier(),
    "RVFL, balanced": RVFLClassifier(class_weight="balanced"),
    "ELM": ELMClassifier(),
    "RoBell": RoBellRVFLClassifier(),
    "RoBell, scale": RoBellRVFLClassifier(kernel_width="scale"),
}
NOISE = (0.0, 0.2, 0.4)
METRICS = ("accuracy", "balanced acc.", "G-mean", "F1", "ROC AUC")


def thinned(X, y, rng, share=0.1):
    """Keep all negatives and as many positives as make ``share`` of the rows."""
    positive, negative = np.flatnonzero(y), np.flatnonzero(~y)
    n_positive = min(len(positive), round(share / (1 - share) * len(negative)))
    rows = np.concatenate([negative, rng.choice(positive, n_positive, replace=False)])
    return X[rows], y[rows].astype(int)


def datasets():
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer, malignant", X, y == 0
    X, y = load_wine(return_X_y=True)
    yield "wine, third cultivar", X, y == 2
    X, y = load_digits(return_X_y=True)
    yield "digits, eights", X, y == 8


def score(model, X, y):
    predicted = model.predict(X)
    sensitivity = recall_score(y, predicted)
    specificity = recall_score(y, predicted, pos_label=0)
    return [
        (predicted == y).mean(),
        balanced_accuracy_score(y, predicted),
        np.sqrt(sensitivity * specificity),
        f1_score(y, predicted, zero_division=0.0),
        roc_auc_score(y, model.decision_function(X)),
    ]


def run(n_seeds):
    """Return scores of shape (datasets, seeds, noise levels, models, metrics), and the names."""
    names, results = [], []
    for name, X_all, y_all in datasets():
        names.append(name)
        for seed in range(n_seeds):
            rng = np.random.default_rng([len(names), seed])
            X, y = thinned(X_all, y_all, rng)
            X, X_test, y, y_test = train_test_split(
                X, y, test_size=0.3, stratify=y, random_state=seed
            )
            for noise in NOISE:
                flipped = rng.choice(len(y), round(noise * len(y)), replace=False)
                noisy = y.copy()
                noisy[flipped] = 1 - noisy[flipped]
                for model in MODELS.values():
                    model = make_pipeline(StandardScaler(), model).set_params(
                        **{f"{type(model).__name__.lower()}__random_state": seed}
                    )
                    results.append(score(model.fit(X, noisy), X_test, y_test))
            progress = ((len(names) - 1) * n_seeds + seed + 1) / (3 * n_seeds)
            if sys.stderr.isatty():
                print(f"\r{progress:4.0%} {name:30}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return names, np.reshape(results, (len(names), n_seeds, len(NOISE), len(MODELS), -1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="splits a dataset (default 10)")
    n_seeds = parser.parse_args().seeds
    if n_seeds < 1:
        parser.error("--seeds must be at least 1")
    names, results = run(n_seeds)
    print(f"{', '.join(names)}; about 10 % positives, {n_seeds} splits each, nothing tuned.")
    means = results.mean(axis=(0, 1))
    for k, noise in enumerate(NOISE):
        print(f"\n{noise:.0%} of the training labels flipped")
        print(f"{'':16}" + "".join(f"{metric:>15}" for metric in METRICS))
        for m, model in enumerate(MODELS):
            best = means[k].max(axis=0).round(3)
            cells = (
                f"{value:.3f}{'*' if round(value, 3) == top else ' '}"
                for value, top in zip(means[k, m], best, strict=True)
            )
            print(f"{model:16}" + "".join(f"{cell:>15}" for cell in cells))
    print("\n* best of its column. Balanced accuracy from clean to noisiest labels:")
    for m, model in enumerate(MODELS):
        print(f"  {model:16}{means[0, m, 1]:.3f} -> {means[-1, m, 1]:.3f}")


if __name__ == "__main__":
    main()
