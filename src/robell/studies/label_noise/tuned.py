"""Peers as a careful user would use them: tuned, or with their threshold tuned.

Both are chosen by balanced accuracy in inner stratified folds of the training rows, whose labels
are the noisy ones: nobody has others. Spaces follow the public ones of TabArena and TabRepo
(forest: columns, rows and leaves; LightGBM: rate, leaves, shares of columns and rows, penalty) as
far as scikit-learn's interface has them; every space also has the choice of balanced classes.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone

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


def searched(estimator, space, seed, y):
    """Return a random search of a model over its space."""
    from sklearn.model_selection import RandomizedSearchCV

    return RandomizedSearchCV(
        estimator,
        space,
        n_iter=N_CANDIDATES,
        scoring="balanced_accuracy",
        cv=_folds(SEARCH_FOLDS, seed, y),
        random_state=seed,
        error_score="raise",
        n_jobs=1,
    )


def with_tuned_cut(estimator, seed, y):
    """Return a model whose threshold is the best of those tried in inner folds."""
    from sklearn.model_selection import TunedThresholdClassifierCV

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
    from sklearn.model_selection import StratifiedKFold

    smallest = int(np.unique(y, return_counts=True)[1].min())
    if smallest < 2:
        raise ValueError("inner folds need two rows of every class; of one there is a single row")
    return StratifiedKFold(min(most, smallest), shuffle=True, random_state=seed)
