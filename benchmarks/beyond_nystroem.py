"""What robell gives over random features and a linear model of scikit-learn, in figures.

The 25 two-class tables that the robustness study reports, split 70:30 and spoiled as there: clean
labels, and 20 and 40 % of the training labels wrong. Every model but NoiseRobustRVFLClassifier is
tuned the same small way: 15 candidates, three stratified folds of the noisy training labels,
balanced accuracy. All random layers have 100 features or nodes. Nothing of robell was ever chosen
on these tables.

    python benchmarks/beyond_nystroem.py --out FILE [--splits 2] [--tables pima haberman]

Results are appended to FILE, one line of JSON a fit, and a run goes on where another one stopped.
Times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from robell import (
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
)
from robell.metrics import expected_calibration_error
from robell.studies.label_noise.jobs import REPORTING, Split, study_tables

LEVELS = (0, 20, 40)
FIRST_SEED = 10  # as in the study
N_FEATURES = 100
WIDTHS = (0.25, 1.0, 4.0)  # of a kernel, times 1 / (number of columns)
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)  # C; ridge's alpha is 1 / C
# A row of 100 sigmoid nodes has a squared length of 35, one of Nystroem's or RBFSampler's of 1: the
# same five steps, moved by the two powers of ten next to that.
NETWORK_PENALTIES = (0.0001, 0.001, 0.01, 0.1, 1.0)
OURS = "NoiseRobustRVFL, untuned"


def kernel_pipeline(sampler, model, inputs=False):
    """Return scaled columns, an approximate kernel (perhaps with the inputs beside it), a model."""
    layer = make_union(FunctionTransformer(), sampler) if inputs else sampler
    return Pipeline([("scale", StandardScaler()), ("layer", layer), ("model", model)])


def kernel_grid(n_columns, inputs=False, ridge=False):
    """Return 15 candidates: five penalties, three widths of the kernel."""
    place = "layer__nystroem__gamma" if inputs else "layer__gamma"
    penalty = {"model__alpha": [1 / c for c in PENALTIES]} if ridge else {"model__C": PENALTIES}
    return {place: [width / n_columns for width in WIDTHS], **penalty}


def network_grid(**others):
    grid = {"C": NETWORK_PENALTIES, **others}
    return {f"model__{name}": list(values) for name, values in grid.items()}


def models(n_columns, seed):
    """Return name: (estimator, grid, whether it is one of robell's that shares a search's work)."""
    nystroem = Nystroem(n_components=N_FEATURES, random_state=seed)
    fourier = RBFSampler(n_components=N_FEATURES, random_state=seed)
    ridge = RidgeClassifier(class_weight="balanced")
    logistic = LogisticRegression(max_iter=1000)
    balanced = LogisticRegression(max_iter=1000, class_weight="balanced")
    network = {"n_hidden": N_FEATURES, "random_state": seed}
    activations = {"activation": ("sigmoid", "relu", "sin")}
    plain, even = RVFLClassifier(**network), RVFLClassifier(**network, class_weight="balanced")
    robell = RoBellRVFLClassifier(**network)

    def ours(model):
        return Pipeline([("scale", StandardScaler()), ("model", model)])

    return {
        "Logistic regression, balanced": (
            ours(balanced),
            {"model__C": np.logspace(-3, 3, 15)},
            False,
        ),
        "Nystroem + ridge, balanced": (
            kernel_pipeline(nystroem, ridge),
            kernel_grid(n_columns, ridge=True),
            False,
        ),
        "inputs, Nystroem + ridge, balanced": (
            kernel_pipeline(nystroem, ridge, inputs=True),
            kernel_grid(n_columns, inputs=True, ridge=True),
            False,
        ),
        "Nystroem + logistic": (kernel_pipeline(nystroem, logistic), kernel_grid(n_columns), False),
        "Nystroem + logistic, balanced": (
            kernel_pipeline(nystroem, balanced),
            kernel_grid(n_columns),
            False,
        ),
        "RBFSampler + ridge, balanced": (
            kernel_pipeline(fourier, ridge),
            kernel_grid(n_columns, ridge=True),
            False,
        ),
        "RBFSampler + logistic, balanced": (
            kernel_pipeline(fourier, balanced),
            kernel_grid(n_columns),
            False,
        ),
        "RVFL": (ours(plain), network_grid(**activations), True),
        "RVFL, balanced": (ours(even), network_grid(**activations), True),
        "RoBell": (ours(robell), network_grid(kernel_width=("scale", 1.0, 4.0)), True),
        OURS: (NoiseRobustRVFLClassifier(random_state=seed), None, False),
    }


def with_probabilities(model):
    """Return a model with ``predict_proba``: ridge is calibrated on five folds, as usual."""
    if hasattr(model, "predict_proba"):
        return model
    return CalibratedClassifierCV(model, ensemble=False, cv=5)


def tuned(estimator, grid, shares_work, split, seed):
    """Return the best candidate by balanced accuracy on folds of the noisy training labels."""
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    options = {"scoring": "balanced_accuracy", "cv": folds, "refit": False}
    search = (RVFLGridSearchCV if shares_work else GridSearchCV)(estimator, grid, **options)
    return estimator.set_params(**search.fit(split.X_train, split.y_train).best_params_)


def measure(estimator, grid, shares_work, split, seed):
    """Return scores on right test labels, CPU seconds of the tuning and of the fit that follows."""
    start = time.process_time()
    if grid is not None:
        estimator = tuned(estimator, grid, shares_work, split, seed)
    chosen = time.process_time()
    model = estimator.fit(split.X_train, split.y_train)
    predicted = model.predict(split.X_test)
    if model is not (source := with_probabilities(model)):
        source.fit(split.X_train, split.y_train)
    fitted = time.process_time()
    P = source.predict_proba(split.X_test)
    # Ranked by its own scores: a calibration on noisy folds may turn them round.
    ranked = P[:, 1] if model is source else model.decision_function(split.X_test)
    return {
        "balanced": balanced_accuracy_score(split.y_test, predicted),
        "auc": roc_auc_score(split.y_test, ranked),
        "calibration": expected_calibration_error(split.y_test, P, labels=[0, 1]),
        "tune_s": chosen - start,
        "fit_s": fitted - chosen,
    }


def run(tables, n_splits, out):
    """Measure what the file does not hold yet: all tables of a split, then the next split."""
    done = {tuple(record["key"]) for record in read(out)}
    for seed in range(FIRST_SEED, FIRST_SEED + n_splits):
        for name, rows in tables.items():
            for level in LEVELS:
                kind = "symmetric" if level else "clean"
                split = Split(
                    SimpleNamespace(dataset=name, seed=seed, kind=kind, level=level), rows
                )
                for model, (estimator, grid, shared) in models(rows.X.shape[1], seed).items():
                    key = (name, seed, level, model)
                    if key in done:
                        continue
                    record = {"key": key, **measure(estimator, grid, shared, split, seed)}
                    with out.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps(record) + "\n")


def read(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def report(records):
    """Print a table a level: means over tables, and how far each model is behind ours."""
    values = {}
    for record in records:
        table, _, level, model = record["key"]
        scores = [record[name] for name in ("balanced", "auc", "calibration", "tune_s", "fit_s")]
        values.setdefault((level, model), {}).setdefault(table, []).append(scores)
    names = list(dict.fromkeys(model for _, model in values))
    for level in LEVELS:
        means = {m: {t: np.mean(v, axis=0) for t, v in values[level, m].items()} for m in names}
        tables = sorted(set.intersection(*(set(found) for found in means.values())))
        print(f"\n{level} % of the training labels wrong, {len(tables)} tables")
        print(f"{'':36}{'balanced acc.':>14}{'ours less it':>16}", end="")
        print(f"{'ROC AUC':>10}{'ours less it':>16}{'cal. error':>12}{'tune s':>8}{'fit ms':>8}")
        ours = np.array([means[OURS][table] for table in tables])
        for model in names:
            own = np.array([means[model][table] for table in tables])
            lead = (ours - own).mean(axis=0), (ours - own).std(axis=0, ddof=1) / len(tables) ** 0.5
            leads = [f"{lead[0][i]:+.3f} ± {lead[1][i]:.3f}" for i in (0, 1)]
            if model == OURS:
                leads = ["", ""]
            mean, times = own.mean(axis=0), np.median(own[:, 3:], axis=0)
            print(f"{model:36}{mean[0]:14.3f}{leads[0]:>16}{mean[1]:10.3f}{leads[1]:>16}", end="")
            print(f"{mean[2]:12.3f}{times[0]:8.2f}{1e3 * times[1]:8.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("beyond_nystroem.jsonl"))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--tables", nargs="+", default=REPORTING)
    parser.add_argument("--report", action="store_true", help="print what the file holds, run none")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if not options.report:
        tables, missing = study_tables(options.tables, download=False)
        if missing:
            raise SystemExit(f"not to be had offline: {', '.join(missing)}")
        smallest_first = dict(sorted(tables.items(), key=lambda table: table[1].X.size))
        with threadpool_limits(1):
            run(smallest_first, options.splits, options.out)
    last = FIRST_SEED + options.splits
    report([record for record in read(options.out) if record["key"][1] < last])


if __name__ == "__main__":
    main()
