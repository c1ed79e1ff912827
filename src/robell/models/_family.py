"""The roots of the family: what a member can do, its gate, and predict from its scores."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from robell._core.array import is_tensor, namespace, to_host
from robell.models._capabilities import Capabilities
from robell.models._parts import ClassesInParts
from robell.models._validation import (
    ARRAY_CHECKS,
    check_labels_of_tensor,
    check_targets,
    check_targets_of_tensor,
    check_tensor,
    check_training,
    one_line_errors,
    require_floats,
    uses_device,
)


class FamilyMember(BaseEstimator):
    """What classifiers and regressors of the family share: what one can do, and its gate."""

    _capabilities = Capabilities()

    @classmethod
    @cache
    def _get_param_names(cls):
        """Return the names of the parameters: scikit-learn reads the signature on every call."""
        return super()._get_param_names()

    def _validate_params(self):
        """Check the parameters."""
        super()._validate_params()
        require_floats(self.get_params(deep=False))

    def _validate_new(self, X):
        """Return rows to predict as an array the mathematics may trust."""
        return validate_data(self, X, reset=False, **ARRAY_CHECKS)

    def _check_new(self, X):
        """Check rows to predict: they must be where the model is."""
        check_is_fitted(self)
        name, fitted_on = type(self).__name__, vars(self).get("device_")
        if self._takes_tensor(X):
            if str(X.device) != fitted_on:
                where = fitted_on or "the host, from arrays"
                raise ValueError(f"{name} was fitted on {where}; X is on {X.device}")
        elif fitted_on is not None:
            raise ValueError(f"{name} was fitted on {fitted_on}; give X as a tensor there")
        with one_line_errors(name, X):
            return self._validate_new(X) if fitted_on is None else check_tensor(self, X, False)

    def _takes_parts(self):
        """Say whether the model, with its parameters, can be fitted in passes over parts."""
        return self._capabilities.passes

    def _takes_tensor(self, X):
        """Say whether X is a tensor to be used where it is; refuse it where that cannot be."""
        if not uses_device(X):
            return False
        if not self._capabilities.tensors:
            raise TypeError(f"{type(self).__name__} takes arrays, not tensors: give X.cpu()")
        return True

    def _remember_device(self, X):
        """Store where the model is fitted; forget it where that is the host."""
        for name in ("device_", "dtype_", "engine_"):
            vars(self).pop(name, None)
        if is_tensor(X):
            self.device_, self.dtype_ = str(X.device), str(X.dtype).removeprefix("torch.")


class FamilyClassifier(ClassesInParts, ClassifierMixin, FamilyMember):
    """The root of every classifier of the family."""

    def _check_training(self, X, y, sample_weight=None):
        """Check what fit was given; forget of how many rows an earlier sample was."""
        for name in ("n_samples_seen_", "n_samples_fitted_"):
            vars(self).pop(name, None)
        check = self._validate_tensor if self._takes_tensor(X) else self._validate_training
        return check_training(type(self).__name__, X, y, sample_weight, check)

    def _validate_training(self, X, y):
        """Return X and y as arrays the mathematics may trust."""
        return validate_data(self, X, y, **ARRAY_CHECKS)

    def _validate_tensor(self, X, y):
        """Return X as a tensor the mathematics may trust, y as whole numbers or an array."""
        X = check_tensor(self, X, reset=True)
        return X, check_labels_of_tensor(y, X)

    def _scores(self, X):
        """Return the scores of the classes, (n, K); for two classes their difference, (n, 1)."""
        raise NotImplementedError

    def decision_function(self, X):
        """Return the raw scores, linear in the one-hot targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the second class's score less the first's, which is the ±1
            regression's value; otherwise one score a class.
        """
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Return the class of the largest score, the first of equal ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        scores = self._scores(X)
        is_second = scores.shape[1] == 1
        best = namespace(scores).where(scores[:, 0] > 0, 1, 0) if is_second else scores.argmax(1)
        return self.classes_[best if is_tensor(self.classes_) else to_host(best)]


class FamilyRegressor(RegressorMixin, FamilyMember):
    """The root of every regressor of the family."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_training(self, X, y, sample_weight=None):
        """Check what fit was given."""
        check = self._validate_tensor if self._takes_tensor(X) else self._validate_training
        return check_targets(type(self).__name__, X, y, sample_weight, check)

    def _validate_training(self, X, y):
        """Return X and y as arrays the mathematics may trust."""
        return validate_data(self, X, y, multi_output=True, y_numeric=True, **ARRAY_CHECKS)

    def _validate_tensor(self, X, y):
        """Return X as a tensor the mathematics may trust, y as an array."""
        X = check_tensor(self, X, reset=True)
        return X, check_targets_of_tensor(y, len(X))

    def _scores(self, X):
        """Return the predictions, a column for every target."""
        raise NotImplementedError

    def predict(self, X):
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
            One column for each target, where y had several.
        """
        scores = self._scores(X)
        return scores[:, 0] if self.n_outputs_ == 1 else scores


def on_its_side(differences, is_second):
    """Return differences of scores, above 0 where the second class is predicted, else below.

    Where a probability just reaches its threshold, rounding may have put them on the other side.
    """
    xp, tiny = namespace(differences), float(np.finfo(np.float64).tiny)
    above, below = xp.clip(differences, tiny, None), xp.clip(differences, None, -tiny)
    return xp.where(is_second, above, below)


def of_both_classes(scores):
    """Return scores of every class, (n, K), where those of two may be given by their difference."""
    xp = namespace(scores)
    return xp.hstack([xp.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def require_finite_scores(scores):
    """Raise where scores are too large to be compared."""
    if not namespace(scores).isfinite(scores).all():
        raise ValueError(
            "the scores overflow: X is far larger than the training rows; "
            "scale both alike, for instance with StandardScaler"
        )
