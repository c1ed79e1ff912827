"""A classifier whose probabilities are calibrated and that predicts by a threshold on them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from robell.models._thresholds import odds_at, on_its_side
from robell.models.noise_robust import NoiseRobustRVFLClassifier

# Probabilities of forests are often 0 and 1: NoiseRobustClassifier adds this before it takes their
# logarithms, which keeps the order of the rows.
ADDED = 1e-3


class ThresholdClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Another classifier with calibrated probabilities and a threshold of one's own.

    Of two classes, a row is predicted to be of the positive one where its probability is at least
    the threshold. ``robell fit`` chooses threshold, slope and offsets by predictions of held-out
    rows; this class keeps them together with the model.

    Parameters
    ----------
    estimator : classifier, default=None
        What gives the scores; ``NoiseRobustRVFLClassifier(random_state=0)`` when None.
    threshold : float, default=0.5
        The least probability at which the positive class is predicted. Of more than two classes the
        likeliest is predicted, and the threshold is not used.
    positive : label, default=None
        The class the threshold is for; the second of ``classes_`` when None.
    slope : float, default=None
        With it, probabilities are the softmax of ``slope * scores + offsets``, where scores are the
        estimator's ``decision_function``, or the logarithms of its probabilities where it has none.
        Without it, they are the estimator's own.
    offsets : array-like of shape (n_classes,), default=None
        What is added for each class; zeros when None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimator_ : classifier
        The fitted estimator.
    threshold_ : float
        The threshold in use.
    positive_ : label
        The class it is for.
    n_features_in_, feature_names_in_ : int and ndarray of shape (n_features_in_,)
        Number of columns of X, and their names where it had names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import NoiseRobustRVFLClassifier, ThresholdClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NoiseRobustRVFLClassifier(random_state=0)
    >>> careful = ThresholdClassifier(model, threshold=0.05, positive=0).fit(X, y)
    >>> bool((careful.predict(X) == 0).sum() > (model.fit(X, y).predict(X) == 0).sum())
    True
    """

    classes_: NDArray[Any]
    feature_names_in_: NDArray[Any]
    n_features_in_: int
    threshold_: float

    _parameter_constraints: dict[str, Any] = {
        "estimator": [HasMethods(["fit"]), None],  # some have ``predict`` only when they are fitted
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "positive": "no_validation",
        "slope": [Interval(Real, 0, None, closed="neither"), None],
        "offsets": ["array-like", None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        threshold: float = 0.5,
        positive: Any = None,
        slope: float | None = None,
        offsets: Any = None,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.positive = positive
        self.slope = slope
        self.offsets = offsets

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ThresholdClassifier:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row, for an estimator that takes it.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        model = NoiseRobustRVFLClassifier(random_state=0)
        model = model if self.estimator is None else clone(self.estimator)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._keep(model.fit(X, y, **weight))

    def _keep(self, fitted: Any) -> ThresholdClassifier:
        """Take a fitted estimator as one's own."""
        require_scores(fitted)
        if self.slope is None and not hasattr(fitted, "predict_proba"):
            name = type(fitted).__name__
            raise ValueError(f"{name} has no predict_proba: its scores need slope= and offsets=")
        self.estimator_ = fitted
        self.classes_ = fitted.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        self.threshold_ = float(self.threshold)
        self.positive_ = self.classes_[-1]
        if self.positive is not None:
            found = np.flatnonzero(self.classes_ == self.positive)
            if not len(found):
                raise ValueError(f"positive={self.positive!r} is none of the classes")
            self.positive_ = self.classes_[found[0]]
        if self.offsets is not None and np.shape(self.offsets) != self.classes_.shape:
            raise ValueError(
                f"offsets must be one for each of {len(self.classes_)} classes, got shape "
                f"{np.shape(self.offsets)}"
            )
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the calibrated probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self, "estimator_")
        if self.slope is None:
            return np.asarray(self.estimator_.predict_proba(X))
        return calibrated(class_scores(self.estimator_, X), self.slope, self.offsets)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scores: of two classes, above 0 where the second is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the log-odds of the second, less those at the threshold; otherwise the
            logarithms of the probabilities.
        """
        probability = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            logs = np.log(probability)
        logs = np.maximum(logs, -700.0)
        if len(self.classes_) > 2:
            return logs
        sign = 1.0 if self.positive_ == self.classes_[-1] else -1.0
        differences = logs[:, 1] - logs[:, 0] - sign * odds_at(self.threshold_)
        is_second = self.labels_for(probability) == self.classes_[-1]
        return np.asarray(on_its_side(differences, is_second))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class: of two, the positive one where its probability reaches the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Class labels.
        """
        return self.labels_for(self.predict_proba(X))

    def labels_for(self, probability: NDArray[np.float64]) -> NDArray[Any]:
        """Return the classes predicted for rows of these probabilities.

        Parameters
        ----------
        probability : ndarray of shape (n_samples, n_classes)
            What :meth:`predict_proba` gives.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self, "estimator_")
        if len(self.classes_) > 2:
            return np.asarray(self.classes_[probability.argmax(axis=1)])
        place = int(self.positive_ == self.classes_[-1])
        flagged = probability[:, place] >= self.threshold_
        return np.asarray(self.classes_[np.where(flagged, place, 1 - place)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


def require_scores(model: Any) -> None:
    """Raise where a fitted model has neither probabilities nor scores of classes."""
    if not hasattr(model, "predict_proba") and not hasattr(model, "decision_function"):
        raise ValueError(
            f"estimator must be a classifier with predict_proba or decision_function; "
            f"{type(model).__name__} has neither"
        )


def class_scores(model: Any, X: Any) -> NDArray[np.float64]:
    """Return one score a class: the decision function, or else logarithms of probabilities."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), np.float64)
        if scores.ndim == 1:
            return np.column_stack([np.zeros(len(scores)), scores])
        return scores
    return np.log(np.maximum(model.predict_proba(X), 1e-300))


def calibrated(scores: NDArray[np.float64], slope: float, offsets: Any) -> NDArray[np.float64]:
    """Return the softmax of slope * scores + offsets."""
    return np.asarray(softmax(slope * scores + (0.0 if offsets is None else offsets), axis=1))
