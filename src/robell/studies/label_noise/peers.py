"""The models of the robustness study, untuned: each from a seed and the labels it will see.

Every one uses one thread; `execute` limits the libraries, the rest is asked for here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from robell._core.tools.optional import require
from robell.models.noise_robust import NoiseRobustRVFLClassifier
from robell.models.robell import RoBellRVFLClassifier
from robell.models.rvfl import RVFLClassifier

EXTRA = "robustness"
N_HIDDEN = 203
SMOTE_NEIGHBORS = 5


@dataclass(frozen=True)
class Peer:
    """How a model of the study is made.

    Attributes
    ----------
    build : callable
        Of a seed and the training labels; returns an estimator.
    module : str or None
        The optional package it needs.
    """

    build: object
    module: str | None = None


def _scaled(estimator):
    return make_pipeline(StandardScaler(), estimator)


def _balanced_logistic(seed):
    return _scaled(LogisticRegression(class_weight="balanced", max_iter=1000, random_state=seed))


def _logistic(seed, y):
    return _balanced_logistic(seed)


def _svc(seed, y):
    return _scaled(SVC(class_weight="balanced", random_state=seed))


def _forest(seed, y):
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


def _lightgbm_balanced(seed, y):
    return _lightgbm(seed, y, "balanced")


def _hist_gradient(seed, y):
    return HistGradientBoostingClassifier(class_weight="balanced", random_state=seed)


def _smote_logistic(seed, y):
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
        _balanced_logistic(seed), seed=seed, find_label_issues_kwargs={"n_jobs": 1}
    )


def _rvfl(seed, y, class_weight=None):
    return _scaled(
        RVFLClassifier(
            N_HIDDEN, C="loo", output_bias=True, class_weight=class_weight, random_state=seed
        )
    )


def _rvfl_balanced(seed, y):
    return _rvfl(seed, y, "balanced")


def _robell(seed, y):
    # "scale" is the square root of the number of features, on standardised columns.
    return _scaled(
        RoBellRVFLClassifier(N_HIDDEN, C="loo", kernel_width="scale", rho=1.0, random_state=seed)
    )


def _noise_robust(seed, y):
    return NoiseRobustRVFLClassifier(random_state=seed)


PEERS = {
    "noise_robust": Peer(_noise_robust),
    "logistic": Peer(_logistic),
    "svc": Peer(_svc),
    "forest": Peer(_forest),
    "balanced_forest": Peer(_balanced_forest, "imblearn"),
    "easy_ensemble": Peer(_easy_ensemble, "imblearn"),
    "lightgbm": Peer(_lightgbm, "lightgbm"),
    "lightgbm_balanced": Peer(_lightgbm_balanced, "lightgbm"),
    "hist_gradient": Peer(_hist_gradient),
    "smote_logistic": Peer(_smote_logistic, "imblearn"),
    "clean_learning": Peer(_clean_learning, "cleanlab"),
    "rvfl": Peer(_rvfl),
    "rvfl_balanced": Peer(_rvfl_balanced),
    "robell": Peer(_robell),
}


def build(model, seed, y):
    """Return a model of the study, not fitted yet.

    Parameters
    ----------
    model : str
        Its key.
    seed : int
        Its random state.
    y : array-like of shape (n_samples,)
        The training labels, for what depends on how many of a class there are.

    Returns
    -------
    estimator : estimator
        With its scaler, where it needs one.

    Examples
    --------
    >>> from robell.studies.label_noise.peers import build
    >>> build("svc", 0, [0, 0, 1])[-1].class_weight
    'balanced'
    """
    return PEERS[model].build(seed, np.asarray(y))


def require_packages(models):
    """Ask now for every optional package that some models need.

    Parameters
    ----------
    models : iterable of str
        Keys of models.

    Returns
    -------
    versions : dict of str -> str
        By package.

    Raises
    ------
    ImportError
        Naming the package and the extra that brings it.

    Examples
    --------
    >>> from robell.studies.label_noise.peers import require_packages
    >>> require_packages(["svc", "rvfl"])
    {}
    """
    modules = dict.fromkeys(PEERS[model].module for model in models)
    return {name: require(name, EXTRA).__version__ for name in modules if name}
