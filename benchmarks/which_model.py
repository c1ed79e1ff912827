"""The family against scikit-learn's own random features + ridge; for docs/guide/which_model.md.

Real tables that ship with scikit-learn: the three imbalanced binary sets of ``comparison.py``, with
right labels and with a fifth of the *training* labels flipped, and wine and digits with all their
classes. Stratified 70:30 splits, standardised in the pipeline. Every model has 100 random features
or nodes, C = 1 or alpha = 1, and defaults beyond that; ``RBFSampler`` and ``Nystroem`` have
gamma = 1 / n_features. Nothing is tuned, except in two rows that choose their penalty on the
training rows, since features of different lengths make one penalty more or less heavy. Means over
datasets and splits.

Times are CPU times of fit + predict, of all models in turn in one process; medians are printed.
BLAS has one thread: NumPy and SciPy bring a pool each, and models taken in turn would wait for each
other's threads; so CPU time is wall time, less what other processes take. One more set, drawn at
random and large, is used for times alone. Last come properties that need no
statistics: each is measured as the largest difference between two ways to the same answer.
"""

import argparse
import os
import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
import sklearn
from comparison import datasets as binary_datasets
from comparison import thinned
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier, RidgeClassifierCV
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from robell import (
    ComplexRVFLClassifier,
    ELMClassifier,
    GranularBallRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
)
from robell.metrics import expected_calibration_error

N_NODES = 100
NOISE = (0.0, 0.2)
PENALTIES = np.logspace(-4, 2, 7)  # what the two searches choose from; C is one over it
METRICS = ("accuracy", "balanced acc.", "ROC AUC", "log loss", "confidence")
BEST = {
    "accuracy": np.nanmax,
    "balanced acc.": np.nanmax,
    "ROC AUC": np.nanmax,
    "log loss": np.nanmin,
    "ECE": np.nanmin,
}
REFERENCE = "Nystroem + ridge"
NAME_WIDTH = 30
BINS = {"labels": [False, True], "n_bins": 15}


def contestants(n_features, seed):
    """Return the models by name, each with its scaler."""
    robell = {"n_hidden": N_NODES, "C": 1.0, "random_state": seed}
    kernel = {"gamma": 1.0 / n_features, "n_components": N_NODES, "random_state": seed}
    steps = {
        "RVFL": [RVFLClassifier(**robell)],
        "RVFL, balanced": [RVFLClassifier(**robell, class_weight="balanced")],
        "RVFL, C searched": [GridSearchCV(RVFLClassifier(**robell), {"C": 1.0 / PENALTIES})],
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
        "Nystroem + RidgeClassifierCV": [Nystroem(**kernel), RidgeClassifierCV(PENALTIES)],
        "Nystroem + calibrated ridge": [
            Nystroem(**kernel),
            CalibratedClassifierCV(RidgeClassifier(), cv=5),
        ],
        "calibrated (Nystroem + ridge)": [
            CalibratedClassifierCV(make_pipeline(Nystroem(**kernel), RidgeClassifier()), cv=5)
        ],
        "ridge": [RidgeClassifier()],
        "logistic regression": [LogisticRegression()],
    }
    return {name: make_pipeline(StandardScaler(), *last) for name, last in steps.items()}


class Problem(NamedTuple):
    """One split of one dataset."""

    group: str  # results are averaged over the datasets of a group
    dataset: str
    noise: float
    seed: int
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def multiclass_datasets():
    yield "wine, 3 classes", *load_wine(return_X_y=True)
    yield "digits, 10 classes", *load_digits(return_X_y=True)


def problems(n_seeds):
    """Yield every split of every dataset, the binary ones with every share of wrong labels."""
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
                group = f"binary, {noise:.0%} flipped"
                yield Problem(group, name, noise, seed, X, noisy, X_test, y_test)
    for name, X_all, y_all in multiclass_datasets():
        for seed in range(n_seeds):
            X, X_test, y, y_test = train_test_split(
                X_all, y_all, test_size=0.3, stratify=y_all, random_state=seed
            )
            yield Problem(name, name, 0.0, seed, X, y, X_test, y_test)


def area_under_roc(y, scores):
    """Return the ROC AUC; for more than two classes the mean of one against the rest."""
    if scores.ndim == 1:
        return roc_auc_score(y, scores)
    return np.mean([roc_auc_score(y == k, scores[:, k]) for k in range(scores.shape[1])])


def evaluate(model, X, y):
    """Return the metrics, and pairs of whether it came true and the probability, or None."""
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
    ]
    if probability is None:
        return [*values, np.nan, np.nan], None
    values += [log_loss(y, probability), probability.max(axis=1).mean()]
    if probability.shape[1] == 2:
        return values, (y == 1, probability[:, 1])
    return values, (probability.argmax(axis=1) == y, probability.max(axis=1))


def progress(text=""):
    if sys.stderr.isatty():
        print(f"\r{text:70}" + ("" if text else "\r"), end="", file=sys.stderr, flush=True)


def fit_and_time(model, X, y, X_test):
    """Return the fitted model and the CPU seconds of fit + predict."""
    with warnings.catch_warnings():
        # The folds of the calibrated pipeline may hold fewer rows than components: it says so,
        # and makes fewer.
        warnings.filterwarnings("ignore", message="n_components > n_samples")
        start = time.process_time()
        model.fit(X, y).predict(X_test)
        return model, time.process_time() - start


def chosen_penalty(model):
    """Return alpha, or 1 / C, of a model that searched for it; else None."""
    if isinstance(model, GridSearchCV):
        return 1.0 / model.best_params_["C"]
    return getattr(model, "alpha_", None)


class Results:
    """What was measured: a list, an entry a split, for each group, model and dataset."""

    def __init__(self):
        self.values = {}  # metrics
        self.probabilities = {}  # (whether it came true, probability) pairs
        self.seconds = {}  # [dataset][model], right labels only
        self.balls = {}  # [dataset, noise]: (rows, balls used)
        self.penalties = {}  # [model][group]: what the searches chose

    def record(self, problem, name, model, seconds):
        values, pairs = evaluate(model, problem.X_test, problem.y_test)
        place = problem.group, name, problem.dataset
        self.of(self.values, *place).append(values)
        if pairs is not None:
            self.of(self.probabilities, *place).append(pairs)
        if problem.noise == 0:
            self.seconds.setdefault(problem.dataset, {}).setdefault(name, []).append(seconds)
        if name == "granular ball":
            counts = len(problem.X), int(model[-1].balls_["used"].sum())
            self.balls.setdefault((problem.dataset, problem.noise), []).append(counts)

        penalty = chosen_penalty(model[-1])
        if penalty is not None:
            self.penalties.setdefault(name, {}).setdefault(problem.group, []).append(penalty)

    @staticmethod
    def of(table, group, name, dataset):
        return table.setdefault(group, {}).setdefault(name, {}).setdefault(dataset, [])

    def means(self, group):
        """Return metrics by model: means over splits and datasets, the ECE pooled over splits."""
        rows = {}
        for name, by_dataset in self.values[group].items():
            rows[name] = [*np.mean([np.mean(v, axis=0) for v in by_dataset.values()], axis=0)]
            pooled = [
                expected_calibration_error(*map(np.concatenate, zip(*v, strict=True)), **BINS)
                for v in self.probabilities[group].get(name, {}).values()
            ]
            rows[name].append(np.mean(pooled) if pooled else np.nan)
        return rows


def run(n_seeds):
    results = Results()
    for problem in problems(n_seeds):
        progress(f"{problem.group}: {problem.dataset}, split {problem.seed + 1}")
        for name, model in contestants(problem.X.shape[1], problem.seed).items():
            model, seconds = fit_and_time(model, problem.X, problem.y, problem.X_test)
            results.record(problem, name, model, seconds)
    progress()
    return results


def run_large(n_rows, n_features, n_rounds):
    """Return the CPU seconds of fit + predict by model on a set drawn at random."""
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


def print_row(name, cells, width):
    print((f"{name:{NAME_WIDTH}}" + "".join(f"{cell:>{width}}" for cell in cells)).rstrip())


def print_scores(results, group):
    names = (*METRICS, "ECE")
    rows = results.means(group)
    table = np.array(list(rows.values())).round(3)
    best = [
        BEST[name](column) if name in BEST else np.nan
        for name, column in zip(names, table.T, strict=True)
    ]
    print(f"\n{group}")
    print_row("", names, 14)
    for name, values in zip(rows, table, strict=True):
        cells = (
            "- " if np.isnan(value) else f"{value:.3f}{'*' if value == top else ' '}"
            for value, top in zip(values, best, strict=True)
        )
        print_row(name, cells, 14)


def print_differences(results, metric):
    """Print how far each model is from the reference on the same splits."""
    column = METRICS.index(metric)
    groups = list(results.values)
    print(f"\n{metric} less that of {REFERENCE!r}, same splits: mean, standard error")
    print_row("", groups, 22)
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
        print_row(name, cells, 22)


def print_times(results, large, large_name):
    datasets = [*results.seconds, large_name]
    seconds = {**results.seconds, large_name: large}
    print("\nfit + predict, milliseconds of one core, medians")
    print_row("", (name.split(",")[0] for name in datasets), 15)
    details = (",".join(name.split(",")[1:]).strip() for name in datasets)
    print_row("", details, 15)
    for name in large:
        cells = (
            f"{1000 * np.median(seconds[d][name]):.1f}" if name in seconds[d] else "-"
            for d in datasets
        )
        print_row(name, cells, 15)


def print_balls(results):
    print("\ntraining rows -> granular balls the network is fitted to, means over splits")
    for (dataset, noise), counts in results.balls.items():
        rows, balls = np.mean(counts, axis=0)
        where = dataset + (f"; {noise:.0%} of the labels flipped" if noise else "")
        print(f"  {where:55}{rows:6.0f} -> {balls:4.0f}")


def print_penalties(results):
    groups = list(results.values)
    print("\npenalty chosen, alpha or 1 / C, medians")
    print_row("", groups, 22)
    for name, by_group in results.penalties.items():
        print_row(name, (f"{np.median(by_group[group]):.0e}" for group in groups), 22)


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


def print_lengths():
    """Print how long rows of random features are: the longer, the lighter a given penalty."""
    X, y = standardised_wine()
    kernel = {"gamma": 1.0 / X.shape[1], "n_components": N_NODES, "random_state": 0}
    features = {
        "hidden outputs of RVFL, ELM": hidden_layer(
            ELMClassifier(N_NODES, random_state=0).fit(X, y), X
        ),
        "RBFSampler": RBFSampler(**kernel).fit_transform(X),
        "Nystroem": Nystroem(**kernel).fit_transform(X),
    }
    print(f"\nsquared length of a row of {N_NODES} random features, mean")
    for name, F in features.items():
        print(f"  {name:{NAME_WIDTH}}{np.square(F).sum(axis=1).mean():8.2f}")


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
        if "searched" in name or "CV" in name:
            continue  # a choice, which another division into folds may change
        model = pipeline[1:]
        weights = {f"{model.steps[-1][0]}__sample_weight": weight}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that sample_weight does not reach the inner pipeline
            weighted = outputs(clone(model).fit(X, y, **weights), X)
            twin = outputs(clone(model).fit(X[repeated], y[repeated]), X)
        print(f"  {name:{NAME_WIDTH}}{np.abs(weighted - twin).max():10.1e}")


def print_nesting():
    """Compare the first features of a large random layer with those of a small one."""
    X, y = standardised_wine()
    few, many = N_NODES // 2, N_NODES
    rvfl = [RVFLClassifier(n, random_state=0).fit(X, y).hidden_weights_ for n in (few, many)]
    samplers = {
        kind.__name__: [
            kind(n_components=n, gamma=0.1, random_state=0).fit_transform(X) for n in (few, many)
        ]
        for kind in (RBFSampler, Nystroem)
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
    strengths = (1e2, 1e6, 1e10, 1e14)
    rows = {}
    for C in strengths:
        rvfl = RVFLClassifier(300, C=C, random_state=0).fit(X, y)
        M = np.hstack([X, hidden_layer(rvfl, X)])
        stacked = np.vstack([M, np.eye(M.shape[1]) / np.sqrt(C)])
        right = np.concatenate([target, np.zeros(M.shape[1])])
        reference = M @ np.linalg.lstsq(stacked, right, rcond=0.0)[0]
        error = np.abs(rvfl.decision_function(X) - reference).max()
        rows.setdefault("RVFL", []).append(f"{error:.1e} ")
        for solver in ("auto", "svd"):
            ridge = RidgeClassifier(alpha=1.0 / C, fit_intercept=False, solver=solver)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                error = np.abs(ridge.fit(M, y).decision_function(M) - reference).max()
            mark = "w" if caught else " "
            rows.setdefault(f"ridge, solver={solver!r}", []).append(f"{error:.1e}{mark}")
    print("\n300 nodes on two inputs: largest error of the scores, against least squares of the")
    print("stacked system; w: with a warning")
    print_row("", (f"C = {C:.0e} " for C in strengths), 14)
    for name, cells in rows.items():
        print_row(name, cells, 14)


def report(n_seeds):
    results = run(n_seeds)
    for group in results.values:
        print_scores(results, group)
    print("\n* best of its column. flipped: of the training labels; test labels are right.")
    print("confidence: mean probability of the likeliest class, to be held against the accuracy.")
    print("ECE: expected calibration error, 15 bins, splits pooled. -: no predict_proba.")
    print("Balanced models and RoBell give probabilities of reweighted classes.")
    for metric in ("accuracy", "balanced acc."):
        print_differences(results, metric)
    print_penalties(results)
    n_rows, n_features = 10_000, 30
    large = run_large(n_rows, n_features, n_rounds=5)
    print_times(results, large, f"random,{n_rows} x {n_features}")
    print_balls(results)
    print_same_recipe()
    print_lengths()
    print_multiplicity()
    print_nesting()
    print_singular()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="splits a dataset (default 10)")
    n_seeds = parser.parse_args().seeds
    if n_seeds < 1:
        parser.error("--seeds must be at least 1")
    print(
        f"{n_seeds} splits a dataset, {N_NODES} random features or nodes; {os.cpu_count()} cores, "
        f"one thread; NumPy {np.__version__}, scikit-learn {sklearn.__version__}"
    )
    with threadpool_limits(1):
        report(n_seeds)


if __name__ == "__main__":
    main()
