"""The models of the study, each a record with how to make it, untuned and with one thread.

Packages are imported when a model is made, so that a worker loads only what its jobs need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from robell._core.tools.optional import require

EXTRA = "robustness"
N_HIDDEN = 203
SMOTE_NEIGHBORS = 5


@dataclass(frozen=True)
class Model:
    """One model of the study."""

    label: str
    short: str  # the label in figures, where there is little room
    make: Callable  # (seed, training labels) -> an estimator with its scaler, if it needs one
    seconds: float  # CPU seconds of one job at 600 rows
    package: str | None = None  # the optional package it needs
    revision: str = ""  # raised when the model changes: its jobs run again, its peers' do not


def _scaled(estimator):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), estimator)


def _logistic(seed, y):
    from sklearn.linear_model import LogisticRegression

    return _scaled(LogisticRegression(class_weight="balanced", max_iter=1000, random_state=seed))


def _svc(seed, y):
    from sklearn.svm import SVC

    return _scaled(SVC(class_weight="balanced", random_state=seed))


def _forest(seed, y):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=1, random_state=seed)


def _balanced_forest(seed, y):
    # The three are its defaults; left out, older versions warn that they will be.
    return require("imblearn.ensemble", EXTRA).BalancedRandomForestClassifier(
        sampling_strategy="all", replacement=True, bootstrap=False, n_jobs=1, random_state=seed
    )


def _easy_ensemble(seed, y):
    return require("imblearn.ensemble", EXTRA).EasyEnsembleClassifier(n_jobs=1, random_state=seed)


def _lightgbm(seed, y, class_weight=None):
    return require("lightgbm", EXTRA).LGBMClassifier(
        class_weight=class_weight, n_jobs=1, verbose=-1, random_state=seed
    )


def _hist_gradient(seed, y):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(class_weight="balanced", random_state=seed)


def _smote_logistic(seed, y):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    smallest = np.unique(y, return_counts=True)[1].min()
    neighbors = min(SMOTE_NEIGHBORS, smallest - 1)
    if neighbors < 1:
        raise ValueError("SMOTE needs two rows of the smaller class; there is one")
    sampler = require("imblearn.over_sampling", EXTRA).SMOTE(
        k_neighbors=int(neighbors), random_state=seed
    )
    return require("imblearn.pipeline", EXTRA).make_pipeline(
        StandardScaler(), sampler, LogisticRegression(max_iter=1000, random_state=seed)
    )


def _clean_learning(seed, y):
    # One process: it would start one for every core otherwise.
    return require("cleanlab.classification", EXTRA).CleanLearning(
        _logistic(seed, y), seed=seed, find_label_issues_kwargs={"n_jobs": 1}
    )


def _rvfl(seed, y, class_weight=None):
    from robell.models.rvfl import RVFLClassifier

    return _scaled(
        RVFLClassifier(
            N_HIDDEN, C="loo", output_bias=True, class_weight=class_weight, random_state=seed
        )
    )


def _robell(seed, y):
    from robell.models.robell import RoBellRVFLClassifier

    # "scale" is the square root of the number of features, on standardised columns.
    return _scaled(
        RoBellRVFLClassifier(N_HIDDEN, C="loo", kernel_width="scale", rho=1.0, random_state=seed)
    )


def _noise_robust(seed, y):
    from robell.models.noise_robust import NoiseRobustRVFLClassifier

    return NoiseRobustRVFLClassifier(random_state=seed)


_LIGHTGBM_BALANCED = partial(_lightgbm, class_weight="balanced")
_RVFL_BALANCED = partial(_rvfl, class_weight="balanced")
# In the order they are shown.
MODELS = {
    "noise_robust": Model("NoiseRobustRVFL", "NoiseRobustRVFL", _noise_robust, 0.15, revision="1"),
    "logistic": Model("Logistic regression, balanced", "Logistic, bal.", _logistic, 0.03),
    "svc": Model("RBF-SVC, balanced", "SVC, bal.", _svc, 0.03),
    "forest": Model("Random forest", "Forest", _forest, 0.25),
    "balanced_forest": Model(
        "Balanced random forest", "Balanced forest", _balanced_forest, 0.4, "imblearn"
    ),
    "easy_ensemble": Model("EasyEnsemble", "EasyEnsemble", _easy_ensemble, 1.2, "imblearn"),
    "lightgbm": Model("LightGBM", "LightGBM", _lightgbm, 0.1, "lightgbm"),
    "lightgbm_balanced": Model(
        "LightGBM, balanced", "LightGBM, bal.", _LIGHTGBM_BALANCED, 0.1, "lightgbm"
    ),
    "hist_gradient": Model(
        "Histogram gradient boosting, balanced", "HistGB, bal.", _hist_gradient, 0.3
    ),
    "smote_logistic": Model(
        "SMOTE + logistic regression", "SMOTE + logistic", _smote_logistic, 0.03, "imblearn"
    ),
    "clean_learning": Model(
        "CleanLearning (logistic)", "CleanLearning", _clean_learning, 0.1, "cleanlab"
    ),
    "rvfl": Model("RVFL", "RVFL", _rvfl, 0.05),
    "rvfl_balanced": Model("RVFL, balanced", "RVFL, bal.", _RVFL_BALANCED, 0.05),
    "robell": Model("RoBell-RVFL as printed", "RoBell as printed", _robell, 0.08),
}
OURS = "noise_robust"
TIME_REFERENCE = "lightgbm"
REVISIONS = {name: model.revision for name, model in MODELS.items() if model.revision}


def build(model, seed, y):
    """Return a model of the study, not fitted yet, for the training labels it will see."""
    return MODELS[model].make(seed, np.asarray(y))


def require_packages(models):
    """Import every optional package that some models need; return their versions."""
    packages = dict.fromkeys(MODELS[model].package for model in models)
    return {name: require(name, EXTRA).__version__ for name in packages if name}
