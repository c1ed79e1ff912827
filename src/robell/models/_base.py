"""The root of the networks that classify: one-hot targets, costs of classes, probabilities."""

from __future__ import annotations

from copy import copy

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from robell._core.array import beside, is_tensor, one_hot, to_host
from robell._core.membership.equations import CLASS_COSTS, class_sizes
from robell._core.ridge.calibrate import (
    calibrated_probability,
    even_within_classes,
    fit_calibration,
)
from robell._core.ridge.twins import deal_out
from robell.models._family import (
    FamilyClassifier,
    of_both_classes,
    require_finite_scores,
)
from robell.models._shell import Prepared, RidgeShell
from robell.models._validation import LARGEST_WEIGHT, TrainingRows


def one_hot_rows(X, labels, weight, n_classes):
    """Return rows as a fit's slots want them, all of them present."""
    rows = TrainingRows(X, labels, weight)
    return Prepared(rows, rows, one_hot(labels, n_classes), np.arange(len(X)), len(X))


def _calibrates(estimator):
    """Say whether predict_proba exists, or raise the reason why it does not."""
    if not estimator.calibrate:
        raise AttributeError("predict_proba needs calibrate=True at fit")
    return True


class BaseRVFLClassifier(RidgeShell, FamilyClassifier):
    """The networks of one random layer and one ridge regression, to write a variant from.

    By itself it is a plain RVFL network. A subclass fills the slots it differs in: ``_fit_rows``,
    ``_fit_features`` with ``_features`` and ``_n_columns``, ``_fit_weights``, ``_fit_penalty``.
    Checks, weights, calibration, ``C="loo"`` and the search are this class's. What each slot is
    given and what it must keep to: ``docs/guide/variants.md``.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors; smaller values regularise more; ``"loo"`` chooses it by
        leave-one-out error; ``np.inf`` is the least squares solution of smallest norm.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class, as in :class:`RVFLClassifier`.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    hidden_weights_ : ndarray of shape (n_features_in_, n_hidden)
        Weights of the hidden layer.
    hidden_bias_ : ndarray of shape (n_hidden,)
        Biases of the hidden layer.
    coef_ : ndarray of shape (n_columns, n_classes)
        Output weights, without the constant's.
    C_ : float
        The C used.
    intercept_ : ndarray of shape (n_classes,)
        Output bias; zeros unless ``output_bias``.
    solver_ : {"primal", "dual", "svd"}
        How the system was solved, as in :class:`RVFLClassifier`.
    calibration_slope_ : float
        Slope of the map from scores to log-probabilities; only with ``calibrate``.
    calibration_offsets_ : ndarray of shape (n_classes,)
        Its offsets; only with ``calibrate``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from robell import BaseRVFLClassifier
    >>> class SquaresClassifier(BaseRVFLClassifier):
    ...     def _fit_features(self, rows, seed):
    ...         pass
    ...
    ...     def _features(self, X):
    ...         return np.hstack([X, X**2])
    ...
    ...     def _n_columns(self):
    ...         return 2 * self.n_features_in_
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SquaresClassifier()).fit(X, y)
    >>> bool(model.predict_proba(X)[:, 1].mean() > 0.5)
    True
    """

    _parameter_constraints = {
        **RidgeShell._parameter_constraints,
        "output_bias": ["boolean"],
        "class_weight": [StrOptions(set(CLASS_COSTS)), dict, None],
        "calibrate": ["boolean"],
    }

    def __init__(
        self,
        n_hidden=103,
        activation="sigmoid",
        C=1.0,
        *,
        output_bias=False,
        bias_scale=0.1,
        class_weight=None,
        calibrate=True,
        random_state=None,
    ):
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    # -- fit --------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the output weights in closed form.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, best standardised (a ``StandardScaler`` before this step).
        y : array-like of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row: weight 2 is the row given twice, weight 0 its absence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _remember_outcome(self, given, y):
        on_device = is_tensor(given.X) and is_tensor(y)
        self.classes_ = beside(given.classes, given.X) if on_device else given.classes

    def _targets(self, rows):
        return one_hot(rows.labels, len(self.classes_))

    def _leaves_out(self):
        return self.calibrate and self._capabilities.calibrates_left_out

    def _use_left_out(self, prepared, total, scores):
        if self.calibrate:
            if scores is None and self._capabilities.calibrates_left_out:
                scores = self._scores_of_folds(prepared)
            self.calibration_slope_, self.calibration_offsets_ = self._calibration(
                prepared.samples, prepared.T, total, scores
            )

    def _calibration(self, samples, T, total, loo_scores):
        """Return slope and offsets of the probabilities."""
        T, weight = self._counted(samples, T, total)
        slope, offsets = fit_calibration(loo_scores, T, weight)
        return slope, beside(offsets, T)

    def _counted(self, samples, T, total):
        """Return the targets of the samples, and how much each counts in the probabilities."""
        return T, even_within_classes(total, T, samples.multiplicity)

    def _scores_of_folds(self, prepared):
        """Return the scores of the samples by models fitted, weights and all, without their fold.

        For models that no row can be left out of in closed form.
        """
        X = prepared.samples.X
        scores = np.zeros((len(X), len(self.classes_)))
        for held, fitted in self._folds(prepared):
            found = copy(self)._fit_ridge(*fitted, False)
            scores[held] = self._linear_scores(X[held], found.beta)
        return scores

    def _folds(self, prepared):
        """Yield each fold's samples, and X, T, weights and penalty made of all other samples."""
        samples, setting = prepared.samples, {n: getattr(self, n) for n in self._weight_parameters}
        fold = deal_out(*samples)
        for k in range(fold.max() + 1):
            held, kept = fold == k, fold != k
            if not kept.any():
                return  # all rows are equal: none can be scored by others
            part = TrainingRows(*(values[kept] for values in samples))
            seen, labels = np.unique(part.labels, return_inverse=True)  # a class may be missing
            twin = self._of_classes(seen)
            rows = twin._fit_rows(part._replace(labels=labels))
            (importance,) = twin._importances(one_hot_rows(*rows, len(seen)), [setting], {})
            rows = rows._replace(labels=seen[rows.labels])
            penalty = self._fit_penalty(self._design(rows.X), rows)
            total = rows.multiplicity * (1.0 if importance is None else importance)
            some, T = total > 0.0, one_hot(rows.labels, len(self.classes_))
            if some.any():
                yield held, (rows.X[some], T[some], total[some], penalty)

    def _of_classes(self, seen):
        """Return a copy of the model that knows the classes at some places only."""
        twin = clone(self)
        vars(twin).update({k: v for k, v in vars(self).items() if k != "_stream"})
        twin.classes_ = self.classes_[seen]
        if isinstance(self.class_weight, dict):
            self._class_cost_from_dict()  # raises for labels that are no class at all
            known = set(twin.classes_.tolist())
            twin.class_weight = {c: w for c, w in self.class_weight.items() if c in known}
        return twin

    def _fit_weights(self, prepared):
        """Return the importance of every training row, or None for ones (slot: weights)."""
        rows = prepared.rows
        cost = self._class_cost(rows.labels, rows.multiplicity)
        return None if cost is None else beside(cost, rows.X)[rows.labels]

    def _class_cost(self, labels, multiplicity):
        if self.class_weight is None:
            return None
        sizes = class_sizes(to_host(labels), len(self.classes_), to_host(multiplicity))
        return self._class_cost_of(sizes)

    def _class_cost_of(self, sizes):
        """Return the cost of classes of these sizes, or None for ones; 1 for a class of size 0."""
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, dict):
            return self._class_cost_from_dict()
        cost, seen = np.ones(len(sizes)), sizes > 0
        cost[seen] = CLASS_COSTS[self.class_weight](sizes[seen])
        return cost

    def _class_cost_from_dict(self):
        labels = self.classes_.tolist()
        unknown = [label for label in self.class_weight if label not in set(labels)]
        # A class that a fold of the data has no row of may be named, as in scikit-learn; where
        # other classes are not named, it is rather a mistake.
        if unknown and not set(labels) <= set(self.class_weight):
            raise ValueError(
                f"class_weight names {unknown[0]!r}, which is not a class of y; "
                f"the classes are {labels}"
            )
        try:
            cost = np.array([float(self.class_weight.get(label, 1.0)) for label in labels])
        except (TypeError, ValueError, OverflowError):
            cost = np.array([np.nan])
        if not ((cost >= 1.0 / LARGEST_WEIGHT) & (cost <= LARGEST_WEIGHT)).all():
            raise ValueError(
                f"class_weight must hold finite positive numbers; got {self.class_weight}"
            )
        return cost

    # -- predict ----------------------------------------------------------------------

    def _scores(self, X):
        scores = self._class_scores(self._check_new(X), difference=len(self.classes_) == 2)
        require_finite_scores(scores)
        return scores

    def _class_scores(self, X, difference=False):
        """Score validated rows; the second class less the first if asked."""
        beta = self._output_weights()
        return self._linear_scores(X, beta[:, 1:] - beta[:, :1] if difference else beta)

    @available_if(_calibrates)
    def predict_proba(self, X):
        """Return class probabilities, calibrated on leave-one-out scores.

        The predicted class is always the likeliest. Without class costs or memberships,
        probabilities estimate how often each class occurs among rows with such scores. With them
        the probabilities are those of a population in which each class has the total weight that
        it has in the fit, not frequencies in the data; rows of one class count alike. Costs
        given as ``sample_weight`` give the same scores and probabilities within 0.03 in what was
        tried: weights also say how many rows there are, which costs do not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        scores = self._scores(X)
        if not hasattr(self, "calibration_slope_"):
            raise AttributeError("predict_proba needs calibrate=True at fit")
        found = calibrated_probability(
            to_host(of_both_classes(scores)),
            self.calibration_slope_,
            to_host(self.calibration_offsets_),
        )
        return beside(found, scores)
