"""Models to compare with, ours among them: each a record with how to make it, with one thread.

Packages are imported when a model is made, so that a worker loads only what its jobs need.

One hidden layer of 100 nodes whose weights and biases are uniform in [0, 1), without an activation
(the identity is that package's default); direct links; least squares of one-hot labels by the
pseudo-inverse, without a penalty; probabilities are the softmax of the outputs. With the identity
this is linear regression; what the random layer adds is an intercept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from robell._tools.optional import require

GFDL_NODES = 100


class PlainLeastSquaresRVFL(ClassifierMixin, BaseEstimator):
    """The network described above."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        """Draw the layer and solve for the output weights."""
        X, y = validate_data(self, X, y)
        self.classes_, place = np.unique(y, return_inverse=True)
        random = np.random.default_rng(self.random_state)
        self.weights_ = random.uniform(size=(X.shape[1], GFDL_NODES))
        self.biases_ = random.uniform(size=GFDL_NODES)
        self.coef_ = np.linalg.pinv(self._design(X)) @ np.eye(len(self.classes_))[place]
        return self

    def _design(self, X):
        return np.hstack([X @ self.weights_ + self.biases_, X])

    def predict_proba(self, X):
        """Return the softmax of the outputs."""
        check_is_fitted(self)
        return softmax(self._design(validate_data(self, X, reset=False)) @ self.coef_, axis=1)

    def predict(self, X):
        """Return the class of the largest output."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


# -- A robust focal loss for boosted trees, from its formula (arXiv 2310.05067)
# With p the probability that a model gives to the label of a row, and parameters r, q >= 0,
#
#     L(p) = (1 - p)^r (1 - p^q) / q,    -(1 - p)^r log p where q = 0.
#
# r turns to rows that are hard, as in the focal loss; q bounds the loss of a single row, as in the
# generalised cross entropy, so that a wrong label cannot pull without limit. r = q = 0 is log loss.


# The middle of the values the paper searches over: r of 0, 0.5, 1 and q of 0, 0.1, 0.3, 0.5.
R, Q = 0.5, 0.3
# The loss is not convex everywhere; trees need a positive curvature.
LEAST_CURVATURE = 1e-16


@dataclass(frozen=True)
class RobustFocalLoss:
    """Gradient and curvature of the loss by the raw score, as XGBoost asks for them."""

    r: float = R
    q: float = Q

    def value(self, p):
        """Return the loss of rows whose label has probability p."""
        return (1 - p) ** self.r * self._bounded(p)

    def __call__(self, labels, scores):
        """Return gradient and curvature: of one score a row (two classes) or of one a class."""
        # In single precision, as XGBoost has them, 1 - p would be 0 too soon.
        labels, scores = np.asarray(labels), np.asarray(scores, dtype=np.float64)
        if np.ndim(scores) == 1:
            sign = 2.0 * labels - 1.0
            p = _inside(expit(sign * scores))
            slope, bend = sign * p * (1 - p), p * (1 - p) * (1 - 2 * p)
        else:
            P = softmax(scores, axis=1)
            own = labels.astype(int)[:, None] == np.arange(P.shape[1])
            p = _inside(P[own][:, None])
            slope = p * (own - P)  # of the label's probability, by each score
            bend = p * ((own - P) ** 2 - P * (1 - P))
        first, second = self._by_probability(p)
        return first * slope, np.maximum(second * slope**2 + first * bend, LEAST_CURVATURE)

    def _by_probability(self, p):
        """Return the first and second derivative of the loss by p."""
        r, q, rest, bounded = self.r, self.q, 1 - p, self._bounded(p)
        first = -r * rest ** (r - 1) * bounded - rest**r * p ** (q - 1)
        second = (
            r * (r - 1) * rest ** (r - 2) * bounded
            + 2 * r * rest ** (r - 1) * p ** (q - 1)
            + (1 - q) * rest**r * p ** (q - 2)
        )
        return first, second

    def _bounded(self, p):
        return -np.expm1(self.q * np.log(p)) / self.q if self.q else -np.log(p)


def _inside(p):
    """Return probabilities that are neither 0 nor 1, where derivatives have poles."""
    return np.clip(p, 1e-14, 1 - 1e-14)


# -- models to compare with, ours among them: each a record with how to make it, with one thread
# Packages are imported when a model is made, so that a worker loads only what its jobs need.


EXTRA, PEERS_EXTRA = "robustness", "peers"
N_HIDDEN = 203
SMOTE_NEIGHBORS = 5


@dataclass(frozen=True)
class Model:
    """One model, untuned."""

    label: str
    short: str  # the label in figures, where there is little room
    make: Callable  # (seed, training labels) -> an estimator with its scaler, if it needs one
    seconds: float  # CPU seconds of one job at 600 rows
    package: str | None = None  # the optional package it needs
    revision: str = ""  # raised when the model changes: its jobs run again, its peers' do not
    several_revision: str = ""  # the same, where only its answers for several classes change
    extra: str = EXTRA  # which installs the package
    slow: bool = False  # too slow for all tables: measured where peers are tuned
    several: bool = True  # whether it is also measured on several classes


def _scaled(estimator):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), estimator)


def _logistic(seed, y):
    from sklearn.linear_model import LogisticRegression

    return _scaled(LogisticRegression(class_weight="balanced", max_iter=1000, random_state=seed))


def plain_logistic(seed, y):
    """Return logistic regression without class weights, behind a scaler."""
    from sklearn.linear_model import LogisticRegression

    return _scaled(LogisticRegression(max_iter=1000, random_state=seed))


def _svc(seed, y):
    from sklearn.svm import SVC

    return _scaled(SVC(class_weight="balanced", random_state=seed))


def forest(seed, y):
    """Return a random forest."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=1, random_state=seed)


def _balanced_forest(seed, y):
    # The three are its defaults; left out, older versions warn that they will be.
    return require("imblearn.ensemble", EXTRA).BalancedRandomForestClassifier(
        sampling_strategy="all", replacement=True, bootstrap=False, n_jobs=1, random_state=seed
    )


def _easy_ensemble(seed, y):
    return require("imblearn.ensemble", EXTRA).EasyEnsembleClassifier(n_jobs=1, random_state=seed)


def lightgbm(seed, y, class_weight=None):
    """Return LightGBM's classifier."""
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


def _clean_learning(seed, y, base=_logistic):
    # One process: it would start one for every core otherwise.
    return require("cleanlab.classification", EXTRA).CleanLearning(
        base(seed, y), seed=seed, find_label_issues_kwargs={"n_jobs": 1}
    )


def _robust_focal(seed, y):

    return require("xgboost", PEERS_EXTRA).XGBClassifier(
        objective=RobustFocalLoss(), base_score=0.5, n_jobs=1, random_state=seed
    )


def _catboost(seed, y):
    return require("catboost", PEERS_EXTRA).CatBoostClassifier(
        auto_class_weights="Balanced",
        thread_count=1,
        random_seed=seed,
        verbose=False,
        allow_writing_files=False,
    )


def _explainable(seed, y):
    # Four bags instead of 14: with all of them it alone would take half an hour of the study.
    return require("interpret.glassbox", PEERS_EXTRA).ExplainableBoostingClassifier(
        outer_bags=4, n_jobs=1, random_state=seed
    )


def _gfdl(seed, y):

    return _scaled(PlainLeastSquaresRVFL(random_state=seed))


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


_LIGHTGBM_BALANCED = partial(lightgbm, class_weight="balanced")
_RVFL_BALANCED = partial(_rvfl, class_weight="balanced")
_CLEAN_LIGHTGBM = partial(_clean_learning, base=lightgbm)
# In the order they are shown; none of these is tuned.
MODELS = {
    "noise_robust": Model(
        "NoiseRobustRVFL", "NoiseRobustRVFL", _noise_robust, 0.2, revision="3", several_revision="4"
    ),
    "logistic": Model("Logistic regression, balanced", "Logistic, bal.", _logistic, 0.03),
    "svc": Model("RBF-SVC, balanced", "SVC, bal.", _svc, 0.03),
    "forest": Model("Random forest", "Forest", forest, 0.25),
    "balanced_forest": Model(
        "Balanced random forest", "Balanced forest", _balanced_forest, 0.4, "imblearn"
    ),
    "easy_ensemble": Model(
        "EasyEnsemble", "EasyEnsemble", _easy_ensemble, 1.2, "imblearn", slow=True
    ),
    "lightgbm": Model("LightGBM", "LightGBM", lightgbm, 0.1, "lightgbm"),
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
    "clean_learning_lightgbm": Model(
        "CleanLearning (LightGBM)", "CleanLearn. LGBM", _CLEAN_LIGHTGBM, 0.5, "cleanlab"
    ),
    "robust_focal": Model(
        "XGBoost, robust focal loss",
        "XGB robust focal",
        _robust_focal,
        0.2,
        "xgboost",
        extra=PEERS_EXTRA,
    ),
    "catboost": Model(
        "CatBoost, balanced",
        "CatBoost, bal.",
        _catboost,
        2.0,
        "catboost",
        extra=PEERS_EXTRA,
        slow=True,
    ),
    "explainable": Model(
        "Explainable boosting",
        "Explainable boost.",
        _explainable,
        5.0,
        "interpret",
        extra=PEERS_EXTRA,
        slow=True,
    ),
    "rvfl": Model("RVFL", "RVFL", _rvfl, 0.05),
    "rvfl_balanced": Model("RVFL, balanced", "RVFL, bal.", _RVFL_BALANCED, 0.05),
    "rvfl_gfdl": Model("RVFL as in gfdl", "RVFL as in gfdl", _gfdl, 0.02),
    "robell": Model("RoBell-RVFL as printed", "RoBell as printed", _robell, 0.08),
}
OURS = "noise_robust"
TIME_REFERENCE = "lightgbm"
OF_SEVERAL = "/several classes"  # what stands behind a model whose revision differs there
REVISIONS = {name: model.revision for name, model in MODELS.items() if model.revision} | {
    name + OF_SEVERAL: model.several_revision
    for name, model in MODELS.items()
    if model.several_revision
}
USUAL = tuple(name for name, model in MODELS.items() if not model.slow)
SLOW = tuple(name for name, model in MODELS.items() if model.slow)


def revision_of(revisions, model, several, default=""):
    """Return the revision of a model on tables of two classes, or of several."""
    plain = revisions.get(model, default)
    return revisions.get(model + OF_SEVERAL, plain) if several else plain


def require_packages(models):
    """Import every optional package that some models need; return their versions."""
    needed = {model.package: model.extra for model in models}
    return {name: require(name, extra).__version__ for name, extra in needed.items() if name}
