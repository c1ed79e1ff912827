"""An RVFL network as the package gfdl makes it by default, written from its documentation.

One hidden layer of 100 nodes whose weights and biases are uniform in [0, 1), without an activation
(the identity is that package's default); direct links; least squares of one-hot labels by the
pseudo-inverse, without a penalty; probabilities are the softmax of the outputs. With the identity
this is linear regression; what the random layer adds is an intercept.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

N_HIDDEN = 100


class PlainLeastSquaresRVFL(ClassifierMixin, BaseEstimator):
    """The network described above."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        """Draw the layer and solve for the output weights."""
        X, y = validate_data(self, X, y)
        self.classes_, place = np.unique(y, return_inverse=True)
        random = np.random.default_rng(self.random_state)
        self.weights_ = random.uniform(size=(X.shape[1], N_HIDDEN))
        self.biases_ = random.uniform(size=N_HIDDEN)
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
