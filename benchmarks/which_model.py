"""The family of robell against scikit-learn's own random features + ridge; for docs/which_model.md.

Real tables that ship with scikit-learn: the three imbalanced binary sets of ``comparison.py``, with
right labels and with a fifth of the *training* labels flipped, and wine and digits with all their
classes. Stratified 70:30 splits, standardised in the pipeline. Nothing is tuned: every model has
100 random features or nodes, C = 1 or alpha = 1, and defaults beyond that; the kernel of
``RBFSampler`` and ``Nystroem`` has gamma = 1 / n_features. Means over datasets and splits.

Times are of fit + predict, of all models in turn in one process; medians are printed. One more
set, drawn at random and large, is used for times alone. Last come properties that need no
statistics: each is measured as the largest difference between two ways to the same answer.
"""

import argparse
import os
import sys
import time
import warnings

import numpy as np
import sklearn
from comparison import datasets as binary_datasets
from comparison import thinned
from fit_predict import expected_calibration_error
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from robell import (
    ComplexRVFLClassifier,
    ELMClassifier,
    GranularBallRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
)

N_NODES = 100
NOISE = (0.0, 0.2)
METRICS = ("accuracy", "balanced acc.", "ROC AUC", "log loss")
SMALLER_IS_BETTER = ("log loss", "ECE")
REFERENCE = "Nystroem + ridge"
NAME_WIDTH = 31


def contestants(n_features, seed):
    """Return the models by name, each with its scaler."""
    robell = {"n_hidden": N_NODES, "C": 1.0, "random_state": seed}
    kernel = {"gamma": 1.0 / n_features, "n_components": N_NODES, "random_state": seed}
    steps = {
        "RVFL": [RVFLClassifier(**robell)],
        "RVFL, balanced": [RVFLClassifier(**robell, class_weight="balanced")],
        "ELM": [ELMClassifier(**robell)],
        "RoBell": [RoBellRVFLClassifier(**robell)],
        "neuro-fuzzy": [NeuroFuzzyRVFLClassifier(**robell)],
        "complex": [ComplexRVFLClassifier(**robell)],
        "complex, augmented": [ComplexRVFLClassifier(**robell, augmented=True)],
        "granular ball": [GranularBallRVFLClassifier(**robell)],
        "granular ball, lfda": [GranularBallRVFLClassifier(**robell, graph="lfda")],
        "RBFSampler + ridge": [RBFSampler(**kernel), RidgeClassifier()],
        "RBFSampler + ridge, balanced": [
            RBFSampler(**kernel),
            RidgeClassifier(class_weight="balanced"),
        ],
        "Nystroem + ridge": [Nystroem(**kernel), RidgeClassifier()],
        "Nystroem + ridge, balanced": [
            Nystroem(**kernel),
            RidgeClassifier(class_weight="balanced"),
        ],
        "inputs, Nystroem + ridge": [
            make_union(FunctionTransformer(), Nystroem(**kernel)),
            RidgeClassifier(),
        ],
        "Nystroem + ridge, calibrated": [
            CalibratedClassifierCV(make_pipeline(Nystroem(**kernel), RidgeClassifier()), cv=5)
        ],
        "ridge": [RidgeClassifier()],
        "logistic regression": [LogisticRegression()],
    }
    return {name: make_pipeline(StandardScaler(), *last) for name, last in steps.items()}


def multiclass_datasets():
    yield "wine, 3 classes", *load_wine(return_X_y=True)
    yield "digits, 10 classes", *load_digits(return_X_y=True)


def problems(n_seeds):
    """Yield (group, dataset, seed, training rows and labels, test rows and labels)."""
    for k, (name, X_all, y_all) in enumerate(binary_datasets(), start=1):
        for seed in range(n_seeds):
            rng = np.random.default_rng([k, seed])
            X, y = thinned(X_all, y_all, rng)
            X, X_test, y, y_test = train_test_split(
                X, y, test_size=0.3, stratify=y, random_state=seed
            )
            for noise in NOISE:
                flipped = rng.choice(len(y), round(noise * len(y)), replace=False)
                noisy = y.copy()
                noisy[flipped] = 1 - noisy[flipped]
                group = f"binary, {noise:.0%} of the training labels flipped"
                yield group, name, seed, X, noisy, X_test, y_test
    for name, X_all, y_all in multiclass_datasets():
        for seed in range(n_seeds):
            X, X_test, y, y_test = train_test_split(
                X_all, y_all, test_size=0.3, stratify=y_all, random_state=seed
            )
            yield name, name, seed, X, y, X_test, y_test


def area_under_roc(y, scores):
    """Return the ROC AUC; for more than two classes the mean of one against the rest."""
    if scores.ndim == 1:
        return roc_auc_score(y, scores)
    return np.mean([roc_auc_score(y == k, scores[:, k]) for k in range(scores.shape[1])])


def evaluate(model, X, y):
    """Return the metrics, and (probability, whether it came true) pairs or None."""
    predicted = model.predict(X)
    probability = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    else:
        scores = probability[:, 1] if probability.shape[1] == 2 else probability
    values = [
        (predicted == y).mean(),
        balanced_accuracy_score(y, predicted),
        area_under_roc(y, scores),
        np.nan if probability is None else log_loss(y, probability),
    ]
    if probability is None:
        return values, None
    if probability.shape[1] == 2:
        return values, (probability[:, 1], y)
    return values, (probability.max(axis=1), probability.argmax(axis=1) == y)


def progress(text=""):
    if sys.stderr.isatty():
        print(f"\r{text:70}" + ("" if text else "\r"), end="", file=sys.stderr, flush=True)


def fit_and_time(model, X, y, X_test):
    """Return the fitted model and the seconds of fit + predict."""
    with warnings.catch_warnings():
        # The folds of the calibrated pipeline may hold fewer rows than components.
        warnings.filterwarnings("ignore", message="n_components > n_samples")
        start = time.perf_counter()
        model.fit(X, y).predict(X_test)
        return model, time.perf_counter() - start


class Results:
    """What was measured, by group of datasets, dataset and model."""

    def __init__(self):
        self.values = {}  # [group][model][dataset] -> list of metrics, a split each
        self.seconds = {}  # [dataset][model] -> list, clean labels only
        self.probabilities = {}  # [group][model][dataset] -> list of pairs
        self.balls = {}  # [group][dataset] -> list of (rows, balls used)

    def record(self, group, dataset, name, model, seconds, X, X_test, y_test):
        values, pairs = evaluate(model, X_test, y_test)
        self.of(self.values, group, name, dataset).append(values)
        if pairs is not None:
            self.of(self.probabilities, group, name, dataset).append(pairs)
        if "flipped" not in group or f"{0:.0%}" in group:
            self.seconds.setdefault(dataset, {}).setdefault(name, []).append(seconds)
        if name == "granular ball":
            used = int(model[-1].balls_.used.sum())
            self.balls.setdefault(group, {}).setdefault(dataset, []).append((len(X), used))

    @staticmethod
    def of(table, group, name, dataset):
        return table.setdefault(group, {}).setdefault(name, {}).setdefault(dataset, [])

    def means(self, group):
        """Return metrics by model: means over splits and datasets, the ECE pooled over splits."""
        rows = {}
        for name, by_dataset in self.values[group].items():
            rows[name] = [*np.mean([np.mean(v, axis=0) for v in by_dataset.values()], axis=0)]
            pooled = [
                expected_calibration_error(*(np.concatenate(part) for part in zip(*v, strict=True)))
                for v in self.probabilities[group].get(name, {}).values()
            ]
            rows[name].append(np.mean(pooled) if pooled else np.nan)
        return rows


def run(n_seeds):
    results = Results()
    for group, dataset, seed, X, y, X_test, y_test in problems(n_seeds):
        progress(f"{group}: {dataset}, split {seed + 1}")
        for name, model in contestants(X.shape[1], seed).items():
            model, seconds = fit_and_time(model, X, y, X_test)
            results.record(group, dataset, name, model, seconds, X, X_test, y_test)
    progress()
    return results


def run_large(n_rows, n_features, n_rounds):
    """Return the seconds of fit + predict by model on a set drawn at random."""
    X, y = make_classification(
        n_rows, n_features, n_informative=10, weights=[0.9], flip_y=0.05, random_state=0
    )
    models = contestants(n_features, 0)
    models["RVFL, calibrate=False"] = clone(models["RVFL"]).set_params(
        rvflclassifier__calibrate=False
    )
    seconds = {name: [] for name in models}
    for k in range(n_rounds):
        progress(f"times, round {k + 1}")
        for name, model in models.items():
            seconds[name].append(fit_and_time(model, X, y, X)[1])
    progress()
    return seconds


def print_scores(results, group):
    names = (*METRICS, "ECE")
    rows = results.means(group)
    table = np.array(list(rows.values())).round(3)
    best = [
        np.nanmin(column) if name in SMALLER_IS_BETTER else np.nanmax(column)
        for name, column in zip(names, table.T, strict=True)
    ]
    print(f"\n{group}")
    print(f"{'':{NAME_WIDTH}}" + "".join(f"{name:>14}" for name in names))
    for name, values in zip(rows, table, strict=True):
        cells = (
            "- " if np.isnan(value) else f"{value:.3f}{'*' if value == top else ' '}"
            for value, top in zip(values, best, strict=True)
        )
        print(f"{name:{NAME_WIDTH}}" + "".join(f"{cell:>14}" for cell in cells))


def print_differences(results, metric):
    """Print how far each model is from the reference on the same splits."""
    column = METRICS.index(metric)
    groups = list(results.values)
    short = [group.replace(" of the training labels", "") for group in groups]
    print(f"\n{metric} less that of {REFERENCE!r}, same splits: mean, standard error")
    print(f"{'':{NAME_WIDTH}}" + "".join(f"{name:>22}" for name in short))
    for name in results.values[groups[0]]:
        if name == REFERENCE:
            continue
        cells = []
        for group in groups:
            by_model = results.values[group]
            parts = [
                np.array(by_model[name][dataset])[:, column]
                - np.array(by_model[REFERENCE][dataset])[:, column]
                for dataset in by_model[name]
            ]
            # Splits of one dataset vary around their own mean; datasets are not a sample.
            errors = [p.var(ddof=1) / len(p) if len(p) > 1 else np.nan for p in parts]
            error = np.sqrt(np.sum(errors)) / len(parts)
            cells.append(f"{np.mean([p.mean() for p in parts]):+.3f} ({error:.3f})")
        print(f"{name:{NAME_WIDTH}}" + "".join(f"{cell:>22}" for cell in cells))


def print_times(results, large, large_name):
    datasets = [*results.seconds, large_name]
    seconds = {**results.seconds, large_name: large}
    print("\nfit + predict, milliseconds, medians")
    print(f"{'':{NAME_WIDTH}}" + "".join(f"{name.split(',')[0]:>15}" for name in datasets))
    details = (",".join(name.split(",")[1:]).strip() for name in datasets)
    print(f"{'':{NAME_WIDTH}}" + "".join(f"{detail:>15}" for detail in details))
    for name in large:
        cells = (
            f"{1000 * np.median(seconds[d][name]):.1f}" if name in seconds[d] else "-"
            for d in datasets
        )
        print(f"{name:{NAME_WIDTH}}" + "".join(f"{cell:>15}" for cell in cells))


def print_balls(results):
    print("\ntraining rows -> granular balls the network is fitted to, means over splits")
    for group, by_dataset in results.balls.items():
        for dataset, counts in by_dataset.items():
            rows, balls = np.mean(counts, axis=0)
            where = dataset if dataset == group else f"{dataset}; {group.split(', ')[1]}"
            print(f"  {where:64}{rows:6.0f} -> {balls:4.0f}")


def standardised_wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), (y == 2).astype(int)


def hidden_layer(model, X):
    return 1.0 / (1.0 + np.exp(-(X @ model.hidden_weights_ + model.hidden_bias_)))


def print_same_recipe():
    """Compare an ELM with ridge on the outputs of its hidden layer."""
    X, y = standardised_wine()
    elm = ELMClassifier(N_NODES, random_state=0).fit(X, y)
    ridge = RidgeClassifier(fit_intercept=False).fit(hidden_layer(elm, X), y)
    gap = np.abs(ridge.decision_function(hidden_layer(elm, X)) - elm.decision_function(X)).max()
    print("\nELM against RidgeClassifier(fit_intercept=False) on its hidden outputs")
    print(f"  largest difference of the scores: {gap:.1e}")


def outputs(model, X):
    """Return probabilities where there are any, else scores."""
    given = model.predict_proba if hasattr(model, "predict_proba") else model.decision_function
    return given(X)


def print_multiplicity():
    """Fit to rows with weights 1 to 3, and to the same rows repeated and shuffled."""
    X, y = standardised_wine()
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, len(X))
    repeated = rng.permutation(np.repeat(np.arange(len(X)), weight))
    print("\nweights 1 to 3 against rows repeated: largest difference of probabilities (of scores,")
    print("where there are none), scaled beforehand")
    for name, pipeline in contestants(X.shape[1], 0).items():
        model = pipeline[1:]
        weights = {f"{model.steps[-1][0]}__sample_weight": weight}
        weighted = outputs(clone(model).fit(X, y, **weights), X)
        twin = outputs(clone(model).fit(X[repeated], y[repeated]), X)
        print(f"  {name:{NAME_WIDTH}}{np.abs(weighted - twin).max():10.1e}")


def print_nesting():
    """Compare the first features of a large random layer with those of a small one."""
    X, y = standardised_wine()
    few, many = N_NODES // 2, N_NODES
    rvfl = [RVFLClassifier(n, random_state=0).fit(X, y).hidden_weights_ for n in (few, many)]
    samplers = {
        name: [
            kind(n_components=n, gamma=0.1, random_state=0).fit_transform(X) for n in (few, many)
        ]
        for name, kind in (("RBFSampler", RBFSampler), ("Nystroem", Nystroem))
    }
    # RBFSampler scales its features by the root of their number
    samplers["RBFSampler"] = [F * np.sqrt(F.shape[1]) for F in samplers["RBFSampler"]]
    print(f"\nfirst {few} random features of {many} against {few}: largest difference")
    for name, (small, large) in {"RVFL": rvfl, **samplers}.items():
        print(f"  {name:{NAME_WIDTH}}{np.abs(large[:, :few] - small).max():10.1e}")


def print_singular():
    """Solve a numerically singular system: 300 smooth nodes on two inputs, hardly penalised."""
    X, y = standardised_wine()
    X, target = X[:, :2], 2.0 * y - 1.0
    print("\n300 nodes on two inputs: largest error of the scores, against least squares of the")
    print("stacked system")
    print(f"{'':{NAME_WIDTH}}" + "".join(f"{f'C = {C:.0e}':>14}" for C in (1e6, 1e10, 1e14)))
    rows = {}
    for C in (1e6, 1e10, 1e14):
        rvfl = RVFLClassifier(300, C=C, random_state=0).fit(X, y)
        M = np.hstack([X, hidden_layer(rvfl, X)])
        stacked = np.vstack([M, np.eye(M.shape[1]) / np.sqrt(C)])
        right = np.concatenate([target, np.zeros(M.shape[1])])
        reference = M @ np.linalg.lstsq(stacked, right, rcond=0.0)[0]
        rows.setdefault("RVFL", []).append(rvfl.decision_function(X) - reference)
        for solver in ("auto", "svd"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ridge = RidgeClassifier(alpha=1.0 / C, fit_intercept=False, solver=solver)
                error = ridge.fit(M, y).decision_function(M) - reference
            rows.setdefault(f"RidgeClassifier, solver={solver!r}", []).append(error)
    for name, errors in rows.items():
        print(f"{name:{NAME_WIDTH}}" + "".join(f"{np.abs(e).max():14.1e}" for e in errors))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="splits a dataset (default 10)")
    n_seeds = parser.parse_args().seeds
    if n_seeds < 1:
        parser.error("--seeds must be at least 1")
    print(
        f"{n_seeds} splits a dataset, {N_NODES} random features or nodes, nothing tuned; "
        f"{os.cpu_count()} cores, NumPy {np.__version__}, scikit-learn {sklearn.__version__}"
    )
    results = run(n_seeds)
    for group in results.values:
        print_scores(results, group)
    print("\n* best of its column. ECE: expected calibration error, 15 bins, splits pooled. -: no")
    print("predict_proba. Balanced models and RoBell give probabilities of reweighted classes.")
    for metric in ("accuracy", "balanced acc."):
        print_differences(results, metric)
    n_rows, n_features = 10_000, 30
    large = run_large(n_rows, n_features, n_rounds=5)
    print_times(results, large, f"random,{n_rows} x {n_features}")
    print_balls(results)
    print_same_recipe()
    print_multiplicity()
    print_nesting()
    print_singular()


if __name__ == "__main__":
    main()
