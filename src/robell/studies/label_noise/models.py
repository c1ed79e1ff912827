"""The models of the study: untuned and tuned ones, and detectors of wrong labels.

Tuned ones are chosen by balanced accuracy in inner folds of the training rows, whose labels are the
noisy ones. Spaces follow the public ones of TabArena and TabRepo.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from scipy.special import softmax
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import (
    RandomizedSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
)
from sklearn.preprocessing import StandardScaler

from robell.comparison import peers
from robell.comparison.peers import EXTRA, MODELS, OURS, USUAL, Model, plain_logistic, require

N_CANDIDATES = 12
SEARCH_FOLDS = 3
CUT_FOLDS = 5
WEIGHTS = [None, "balanced"]

LOGISTIC = {
    "logisticregression__C": loguniform(1e-3, 1e3),
    "logisticregression__class_weight": WEIGHTS,
}
SVC = {
    "svc__C": loguniform(1e-2, 1e3),
    "svc__gamma": loguniform(1e-4, 1e1),
    "svc__class_weight": WEIGHTS,
}
FOREST = {
    "n_estimators": [50],
    "max_features": ["sqrt", "log2", 0.4, 0.5, 0.75, 1.0],
    "max_samples": uniform(0.5, 0.5),
    "min_samples_leaf": [1, 2, 3, 4, 5, 10, 20, 40, 80],
    "min_samples_split": randint(2, 5),
    "min_impurity_decrease": loguniform(1e-5, 1e-3),
    "class_weight": WEIGHTS,
}
LIGHTGBM = {
    "learning_rate": loguniform(5e-3, 1e-1),
    "colsample_bytree": uniform(0.4, 0.6),
    "subsample": uniform(0.7, 0.3),
    "subsample_freq": [1],
    "num_leaves": [2, 4, 8, 16, 31, 64, 128, 200],
    "min_child_samples": [1, 2, 4, 8, 16, 32, 64],
    "reg_lambda": loguniform(1e-4, 1e0),
    "extra_trees": [False, True],
    "n_estimators": [50, 100, 200],
    "class_weight": WEIGHTS,
}


def searched(make, seed, y, space):
    """Return a random search of a model over its space."""
    return RandomizedSearchCV(
        make(seed, y),
        space,
        n_iter=N_CANDIDATES,
        scoring="balanced_accuracy",
        cv=_folds(SEARCH_FOLDS, seed, y),
        random_state=seed,
        error_score="raise",
        n_jobs=1,
    )


def with_tuned_cut(make, seed, y):
    """Return a model whose threshold is the best of those tried in inner folds."""
    estimator = make(seed, y)
    if hasattr(estimator, "find_label_issues"):
        estimator = KnownClasses(estimator)
    return TunedThresholdClassifierCV(
        estimator,
        scoring="balanced_accuracy",
        cv=_folds(CUT_FOLDS, seed, y),
        random_state=seed,
        n_jobs=1,
    )


class KnownClasses(ClassifierMixin, BaseEstimator):
    """CleanLearning, which does not say which classes it knows, and says it now."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        """Fit the estimator."""
        self.classes_ = np.unique(y)
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

    def predict(self, X):
        """Return the estimator's predictions."""
        return self.estimator_.predict(X)

    def predict_proba(self, X):
        """Return the estimator's probabilities."""
        return self.estimator_.predict_proba(X)


def _folds(most, seed, y):
    """Return stratified folds, no more than the smallest class has rows."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if smallest < 2:
        raise ValueError("inner folds need two rows of every class; of one there is a single row")
    return StratifiedKFold(min(most, smallest), shuffle=True, random_state=seed)


# -- peers that look for wrong labels: cleanlab's scores, and areas under the margin
# Every one gives the rows a quality of their label, larger where it is likelier right, from the
# rows and the noisy labels alone.
#
# Cleanlab ranks by out-of-fold probabilities of a classifier, in three ways (self-confidence,
# normalised margin, confidence-weighted entropy).
#
# The area under the margin (Pleiss et al. 2020, arXiv 2001.10528): while a model is trained by
# gradients, the margin of a row at step t is the score of its given label less the largest of the
# other classes, and its area the mean over the steps,
#
#     AUM(x, y) = 1/T Σ_t [ z_y^t(x) - max_{k != y} z_k^t(x) ].
#
# Wrong labels are learned late, against the pull of rows like them, so their area is small. Two
# models: softmax regression by stochastic gradients on standardised columns, one step a row and
# epoch in batches, margins taken after each epoch; and boosting, margins of its raw scores after
# each stage.


FOLDS = 5
SCORES = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
AREA = "area_under_margin"
EPOCHS, BATCH, RATE, PENALTY = 30, 32, 0.1, 1e-3


def by_cleanlab(make, X, y, seed):
    """Return cleanlab's three qualities of every label; classes are numbered from 0."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Noise may leave a class with fewer rows than folds; the peers do what they can.
        warnings.filterwarnings("ignore", message="The least populated class")
        P = cross_val_predict(make(seed, y), X, y, cv=folds, method="predict_proba", n_jobs=1)
    rank = require("cleanlab.rank", EXTRA).get_label_quality_scores
    # It refuses to shift probabilities for its entropy score.
    return {score: rank(y, P, method=score, adjust_pred_probs=False) for score in SCORES}


def by_softmax_margins(X, y, seed):
    """Return the areas under the margins of softmax regression trained by stochastic gradients."""
    X = StandardScaler().fit_transform(X)
    X = np.column_stack([np.ones(len(X)), X])
    targets = np.eye(y.max() + 1)[y]
    W = np.zeros((X.shape[1], targets.shape[1]))
    random = np.random.default_rng(seed)
    total = np.zeros(len(y))
    for _ in range(EPOCHS):
        order = random.permutation(len(y))
        for start in range(0, len(y), BATCH):
            rows = order[start : start + BATCH]
            # The gradient of the mean log loss of these rows, and of the penalty.
            slope = X[rows].T @ (softmax(X[rows] @ W, axis=1) - targets[rows]) / len(rows)
            W -= RATE * (slope + PENALTY * W)
        total += margin_of_label(X @ W, y)
    return {AREA: total / EPOCHS}


def by_boosting_margins(X, y, seed):
    """Return the areas under the margins of the raw scores after every stage of boosting."""
    model = HistGradientBoostingClassifier(early_stopping=False, random_state=seed).fit(X, y)
    stages = []
    for scores in model.staged_decision_function(X):
        if scores.ndim == 1 or scores.shape[1] == 1:
            scores = np.column_stack([-scores.ravel(), scores.ravel()]) / 2
        stages.append(margin_of_label(scores, y))
    return {AREA: sum(stages) / len(stages)}


def margin_of_label(scores, y):
    """Return the score of every row's label less the largest of the other classes."""
    rows = np.arange(len(y))
    others = scores.copy()
    others[rows, y] = -np.inf
    return scores[rows, y] - others.max(axis=1)


# -- the models of the study of wrong labels: untuned ones, tuned ones, and detectors of labels


SPACES = {"Logistic": LOGISTIC, "SVC": SVC, "Forest": FOREST, "LightGBM": LIGHTGBM}


def _tuned(name, label, short, tune, factor):
    """Return a known model whose parameters or threshold ``tune`` chooses."""
    base = MODELS[name]
    make, seconds = partial(tune, base.make), factor * base.seconds
    return Model(label, short, make, seconds, base.package, extra=base.extra, several=False)


# Four peers tuned, and every quick peer with its threshold tuned.
TUNED = {}
for _label, _space in SPACES.items():
    _what, _search = f"{_label}, tuned", partial(searched, space=_space)
    TUNED[f"tuned_{_label.lower()}"] = _tuned(_label.lower(), _what, _what, _search, 20)
for _name in USUAL:
    if _name != OURS:
        _names = f"{MODELS[_name].label}, tuned cut", f"{MODELS[_name].short}, cut"
        TUNED[f"cut_{_name}"] = _tuned(_name, *_names, with_tuned_cut, 6)
# Peers that look for wrong labels: (rows, labels, seed) -> {name of a score: quality of labels}.
_AUM = "Area under the margin"
DETECTORS = {
    f"cleanlab_{name}": Model(
        f"cleanlab, {label}", f"cleanlab {short}", partial(by_cleanlab, make), seconds, "cleanlab"
    )
    for name, label, short, make, seconds in (
        ("logistic", "logistic regression", "logistic", plain_logistic, 0.1),
        ("forest", "random forest", "forest", MODELS["forest"].make, 1.2),
        ("lightgbm", "LightGBM", "LightGBM", MODELS["lightgbm"].make, 0.5),
    )
} | {
    "aum_softmax": Model(f"{_AUM}, softmax regression", "AUM softmax", by_softmax_margins, 0.1),
    "aum_boosting": Model(f"{_AUM}, boosting", "AUM boosting", by_boosting_margins, 0.4),
}
EVERY_MODEL = MODELS | TUNED | DETECTORS


def build(model, seed, y):
    """Return a model of the study, not fitted yet, for the training labels it will see."""
    return EVERY_MODEL[model].make(seed, np.asarray(y))


def require_packages(models):
    """Import every optional package that some models need; return their versions."""
    return peers.require_packages([EVERY_MODEL[model] for model in models])
