"""Models to compare with, ours among them, as ``peers.toml`` describes them.

Packages are imported when a model is made, so that a worker loads only what its jobs need.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from robell._tools.files import read_resource
from robell._tools.optional import require

GFDL_NODES = 100


class PlainLeastSquaresRVFL(ClassifierMixin, BaseEstimator):
    """RVFL as in the package gfdl, with its defaults: a layer of 100 nodes without an activation.

    This is linear regression; what the random layer adds is an intercept.
    """

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
        # The first and second derivative of the loss by p.
        r, q, rest, bounded = self.r, self.q, 1 - p, self._bounded(p)
        first = -r * rest ** (r - 1) * bounded - rest**r * p ** (q - 1)
        second = (
            r * (r - 1) * rest ** (r - 2) * bounded
            + 2 * r * rest ** (r - 1) * p ** (q - 1)
            + (1 - q) * rest**r * p ** (q - 2)
        )
        return first * slope, np.maximum(second * slope**2 + first * bend, LEAST_CURVATURE)

    def _bounded(self, p):
        return -np.expm1(self.q * np.log(p)) / self.q if self.q else -np.log(p)


def _inside(p):
    """Return probabilities that are neither 0 nor 1, where derivatives have poles."""
    return np.clip(p, 1e-14, 1 - 1e-14)


# -- the models, as peers.toml describes them


EXTRA = "robustness"
N_HIDDEN = 203
SMOTE_NEIGHBORS = 5


@dataclass(frozen=True)
class Model:
    """One model; ``peers.toml`` says what the fields mean."""

    label: str
    short: str
    make: Callable  # (seed, training labels) -> an estimator with its scaler, if it needs one
    seconds: float
    package: str | None = None
    revision: str = ""
    several_revision: str = ""
    extra: str = EXTRA
    slow: bool = False
    several: bool = True  # whether it is also measured on several classes
    studied: bool = True  # whether the study of wrong labels measures it
    optional: bool = False  # whether a study goes on without it where it is not installed
    weights: bool = False  # whether it needs pretrained weights


def estimator(seed, y=None, *, cls, extra=EXTRA, scaled=False, seed_name="random_state", **options):
    """Return an estimator of ``module:class``, behind a scaler where it needs one."""
    module, _, name = cls.partition(":")
    made = getattr(require(module, extra), name)(**options, **{seed_name: seed})
    return make_pipeline(StandardScaler(), made) if scaled else made


plain_logistic = partial(
    estimator, cls="sklearn.linear_model:LogisticRegression", scaled=True, max_iter=1000
)


def smote_logistic(seed, y):
    """Return logistic regression behind SMOTE, with fewer neighbours where a class is small."""
    neighbors = min(SMOTE_NEIGHBORS, np.unique(y, return_counts=True)[1].min() - 1)
    if neighbors < 1:
        raise ValueError("SMOTE needs two rows of the smaller class; there is one")
    sampler = require("imblearn.over_sampling", EXTRA).SMOTE(
        k_neighbors=int(neighbors), random_state=seed
    )
    scaler, logistic = (step for _, step in plain_logistic(seed).steps)
    return require("imblearn.pipeline", EXTRA).make_pipeline(scaler, sampler, logistic)


def clean_learning(seed, y, base):
    """Return cleanlab's classifier around another model."""
    # One process: it would start one for every core otherwise.
    return require("cleanlab.classification", EXTRA).CleanLearning(
        MODELS[base].make(seed, y), seed=seed, find_label_issues_kwargs={"n_jobs": 1}
    )


def robust_focal(seed, y):
    """Return XGBoost with the loss above."""
    return require("xgboost", "peers").XGBClassifier(
        objective=RobustFocalLoss(), base_score=0.5, n_jobs=1, random_state=seed
    )


MAKERS: dict[str, Callable] = {
    f.__name__: f for f in (smote_logistic, clean_learning, robust_focal)
}


def _model(make, label, short=None, options=None, scaled=False, seed="random_state", **more):
    """Return the model of one entry of peers.toml."""
    options = options or {}
    if ":" in make:
        extra = more.get("extra", EXTRA)
        options |= {"cls": make, "extra": extra, "scaled": scaled, "seed_name": seed}
    function: Callable = estimator if ":" in make else MAKERS[make]
    return Model(label, short or label, partial(function, **options), **more)


MODELS = {
    name: _model(**entry)
    for name, entry in tomllib.loads(read_resource("robell.comparison", "peers.toml")).items()
}
# Known peers that fit, asked by name, makes robust; weights of their classes are left to it.
BASES = ("logistic", "svc", "forest", "hist_gradient", "lightgbm", "xgboost", "catboost")
OURS = "noise_robust"
TIME_REFERENCE = "lightgbm"
OF_SEVERAL = "/several classes"  # what stands behind a model whose revision differs there
REVISIONS = {name: model.revision for name, model in MODELS.items() if model.revision} | {
    name + OF_SEVERAL: model.several_revision
    for name, model in MODELS.items()
    if model.several_revision
}
USUAL = tuple(name for name, model in MODELS.items() if model.studied and not model.slow)
SLOW = tuple(name for name, model in MODELS.items() if model.studied and model.slow)


def revision_of(revisions, model, several, default=""):
    """Return the revision of a model on tables of two classes, or of several."""
    plain = revisions.get(model, default)
    return revisions.get(model + OF_SEVERAL, plain) if several else plain


def require_packages(models):
    """Import the optional packages that some models need; return their versions."""
    found = {}
    for model in models:
        if model.package:
            module = require(model.package, model.extra)
            found[model.package] = getattr(module, "__version__", "") or version(model.package)
        if model.weights:
            _require_weights(model)
    return found


@cache
def _require_weights(model):
    """Fit a pretrained model to eight rows: only its package knows whether the weights are here."""
    X, y = np.arange(16.0).reshape(8, 2), np.arange(8) % 2
    try:
        model.make(0, y).fit(X, y)
    except Exception as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise ImportError(
            f"{model.label} needs pretrained weights, which are not on this machine and could not "
            f"be fetched: {why}"
        ) from error
