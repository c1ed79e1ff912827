"""What robell and four packages near to it can do, each line tried or looked up in the package.

    python benchmarks/peer_features.py robell

Names: robell, gfdl, graforvfl, cleanlab, imblearn. Each needs its package (gfdl 0.2 needs Python
3.12, graforvfl 2.2 an older NumPy than robell), so each may run in an environment of its own.
Printed are the versions, what scikit-learn's own checks say of one classifier of the package, what
small trials gave, and whether named functions exist.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import warnings
from importlib.metadata import version

os.environ["SCIPY_ARRAY_API"] = "1"  # one of scikit-learn's checks is skipped without

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
X, UNSEEN_X, Y, UNSEEN_Y = X[:200], X[200:], Y[:200], Y[200:]


def classifier(package):
    """Return the classifier of a package that the trials are made with."""
    if package == "robell":
        return importlib.import_module("robell").RVFLClassifier(random_state=0)
    if package == "gfdl":
        options = {"hidden_layer_sizes": (100,), "activation": "relu", "reg_alpha": 1.0}
        return importlib.import_module("gfdl.model").GFDLClassifier(seed=0, **options)
    if package == "graforvfl":
        return importlib.import_module("graforvfl").RvflClassifier(100, seed=0, reg_alpha=1.0)
    if package == "cleanlab":
        learn = importlib.import_module("cleanlab.classification").CleanLearning
        return learn(LogisticRegression(max_iter=1000), seed=0)
    return importlib.import_module("imblearn.ensemble").BalancedRandomForestClassifier(
        20, random_state=0
    )


# What is looked up: module, and the name that must be in it.
LOOKED_UP = {
    "robell": [
        "robell:find_label_issues",
        "robell:find_consensus",
        "robell:find_target_issues",
        "robell:audit",
        "robell:RVFLGridSearchCV",
        "robell:NoiseRobustRVFLClassifier",
        "robell:RVFLRegressor",
        "robell:DeepRVFLClassifier",
        "robell.files:fit_files",
        "robell.files:load_model",
        "robell.dask:fit",
        "robell.export:to_onnx",
        "robell.metrics:corrected_scores",
    ],
    "gfdl": ["gfdl.model:GFDLRegressor", "gfdl.model:EnsembleGFDLClassifier"],
    "graforvfl": ["graforvfl:RvflRegressor", "graforvfl:GfoRvflCV", "graforvfl:GfoRvflTuner"],
    "cleanlab": [
        "cleanlab.filter:find_label_issues",
        "cleanlab.multiannotator:get_label_quality_multiannotator",
        "cleanlab.multiannotator:get_active_learning_scores",
        "cleanlab.regression.learn:CleanLearning",
        "cleanlab.object_detection.rank:get_label_quality_scores",
        "cleanlab.segmentation.filter:find_label_issues",
        "cleanlab.token_classification.filter:find_label_issues",
        "cleanlab.multilabel_classification.filter:find_label_issues",
        "cleanlab.outlier:OutOfDistribution",
        "cleanlab.datalab.datalab:Datalab",
    ],
    "imblearn": [
        "imblearn.over_sampling:SMOTE",
        "imblearn.over_sampling:SMOTENC",
        "imblearn.under_sampling:EditedNearestNeighbours",
        "imblearn.ensemble:EasyEnsembleClassifier",
        "imblearn.pipeline:Pipeline",
        "imblearn.metrics:geometric_mean_score",
    ],
}


def answers(model, rows):
    """Return probabilities, or scores where there are none."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows))
    return np.asarray(model.decision_function(rows))


def scikit_learn_checks(package):
    found = check_estimator(classifier(package), on_fail=None, on_skip=None)
    states = [result["status"] for result in found]
    counts = {state: states.count(state) for state in ("passed", "failed", "skipped", "xfail")}
    failed = sorted({r["check_name"] for r in found if r["status"] == "failed"})
    few = f" ({', '.join(failed)})" if 0 < len(failed) <= 3 else ""
    return ", ".join(f"{n} {state}" for state, n in counts.items() if n) + few


def sample_weight(package):
    if "sample_weight" not in inspect.signature(classifier(package).fit).parameters:
        return "not taken"
    twice = np.where(np.arange(len(X)) % 2, 2, 1)
    weighted = classifier(package).fit(X, Y, sample_weight=twice)
    repeated = classifier(package).fit(np.repeat(X, twice, axis=0), np.repeat(Y, twice))
    difference = np.abs(answers(weighted, X) - answers(repeated, X)).max()
    return f"taken; weights against repeated rows differ by {difference:.1g}"


def class_weight(package):
    return "class_weight" in inspect.signature(type(classifier(package))).parameters


def text_labels(package):
    labels = np.array(["bad", "good"])[Y]
    return set(classifier(package).fit(X, labels).predict(X).tolist()) == {"bad", "good"}


def data_frames(package):
    import pandas

    frame = pandas.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
    model = classifier(package).fit(frame, Y)
    model.predict(frame)
    return "names kept" if hasattr(model, "feature_names_in_") else "names forgotten"


def partial_fit(package):
    model = classifier(package)
    if not hasattr(model, "partial_fit"):
        return "none"
    for rows in (slice(0, 100), slice(100, 200)):
        model.partial_fit(X[rows], Y[rows], classes=np.array([0, 1]))
    difference = np.abs(answers(model, X) - answers(classifier(package).fit(X, Y), X)).max()
    return f"there; two halves against one fit differ by {difference:.1g}"


def calibration_error(package):
    """Ten bins of the probability of class 1, on rows not fitted."""
    probability = classifier(package).fit(X, Y).predict_proba(UNSEEN_X)[:, 1]
    bins = np.minimum((10 * probability).astype(int), 9)
    groups = [bins == place for place in range(10) if (bins == place).any()]
    gaps = [abs(probability[g].mean() - UNSEEN_Y[g].mean()) * g.mean() for g in groups]
    return round(float(sum(gaps)), 3)


TRIALS = (
    scikit_learn_checks,
    sample_weight,
    class_weight,
    text_labels,
    data_frames,
    partial_fit,
    calibration_error,
)


def main():
    (package,) = sys.argv[1:]
    name = "imbalanced-learn" if package == "imblearn" else package
    print(f"{name} {version(name)}, Python {sys.version.split()[0]}", end="")
    print(f", scikit-learn {version('scikit-learn')}, NumPy {np.__version__}")
    print(f"tried: {classifier(package)!r}".replace("\n", " "))
    for trial in TRIALS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = trial(package)
            except Exception as error:
                found = f"{type(error).__name__}: {str(error).splitlines()[0][:70]}"
        print(f"  {trial.__name__:22} {found}")
    for place in LOOKED_UP[package]:
        module, wanted = place.split(":")
        try:
            there = hasattr(importlib.import_module(module), wanted)
        except ImportError as error:
            there = f"not without an extra: {str(error).splitlines()[0][:60]}"
        print(f"  {place:60} {there}")


if __name__ == "__main__":
    main()
