"""The estimator shell, for arrays and tensors alike: check, fill the slots, solve; predict.

A model of the family is one weighted ridge regression on a design matrix,

    β = argmin ½|β|² + ½ tr(βᵀQβ) + C/2 Σ_i w_i |m_i β - t_i|²,

and a subclass fills the slots it differs in:

    rows          ``_fit_rows``                      the samples, or what stands for them
    features m_i  ``_fit_features``, ``_features``,  drawn or fitted once; the same at fit and
                  ``_n_columns``                     predict, a block of rows at a time
    weights w_i   ``_fit_weights``, ``_importances`` class costs, memberships
    penalty Q     ``_fit_penalty``                   None, or a graph's matrix

Tensors stay on their device: products are taken there, and only the system of the output weights
and a few numbers a row come to the host.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from robell._core.array import (
    beside,
    in_double_precision,
    is_tensor,
    namespace,
    one_hot,
    to_host,
)
from robell._core.layers.activations import ACTIVATIONS
from robell._core.layers.features import (
    RowBlocks,
    design_matrix,
    draw_random_layer,
    hidden_output,
)
from robell._core.membership.equations import class_cost, class_sizes
from robell._core.ridge.calibrate import calibrated_probability, fit_calibration
from robell._core.ridge.loo import choose_C
from robell._core.ridge.solve import solve_ridge
from robell._core.ridge.twins import find_twins
from robell.models._capabilities import Capabilities
from robell.models._validation import (
    ARRAY_CHECKS,
    LARGEST_WEIGHT,
    TrainingRows,
    check_labels_of_tensor,
    check_tensor,
    check_training,
    draw_seed,
    one_line_errors,
    require_floats,
    uses_device,
)

PAPER_C = np.array([10.0**k for k in range(-5, 6)])  # the range C="loo" chooses from


def _calibrates(estimator):
    """Say whether predict_proba exists, or raise the reason why it does not."""
    if not estimator.calibrate:
        raise AttributeError("predict_proba needs calibrate=True at fit")
    return True


class Prepared(NamedTuple):
    """A fit up to its row weights and its C."""

    samples: TrainingRows  # those of positive weight
    rows: TrainingRows  # what the ridge is fitted to
    T: np.ndarray  # one-hot targets of the rows
    present: np.ndarray  # places of the samples among the rows given to fit
    n_given: int

    def in_order_given(self, values, absent):
        """Return values of the samples in the order of the rows given; ``absent`` for the rest."""
        found = np.full(self.n_given, absent)
        found[self.present] = values
        return beside(found, self.samples.X)


class FamilyClassifier(ClassifierMixin, BaseEstimator):
    """The root of every classifier of the family: what it can do, and its gate."""

    _capabilities = Capabilities()

    # -- the gate ---------------------------------------------------------------------

    def _validate_params(self):
        """Check the parameters."""
        super()._validate_params()
        require_floats(self.get_params(deep=False))

    def _check_training(self, X, y, sample_weight=None):
        """Check what fit was given."""
        check = self._validate_tensor if self._takes_tensor(X) else self._validate_training
        return check_training(type(self).__name__, X, y, sample_weight, check)

    def _validate_training(self, X, y):
        """Return X and y as arrays the mathematics may trust."""
        return validate_data(self, X, y, **ARRAY_CHECKS)

    def _validate_tensor(self, X, y):
        """Return X as a tensor the mathematics may trust, y as an array."""
        X = check_tensor(self, X, reset=True)
        return X, check_labels_of_tensor(y, len(X))

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

    # -- predict ----------------------------------------------------------------------

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


class BaseRVFLClassifier(FamilyClassifier):
    """The networks of one random layer and one ridge regression; not for direct use."""

    _capabilities = Capabilities(exact_search=True)

    _parameter_constraints = {
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS)), callable],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"loo"})],
        "output_bias": ["boolean"],
        "bias_scale": [Interval(Real, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced", "ratio"}), dict, None],
        "calibrate": ["boolean"],
        "random_state": ["random_state"],
    }

    _direct_link = True  # whether [x] is among the features
    _dtype = np.float64  # of the design matrix
    _C_factor = 1.0  # what C is multiplied by in the ridge
    _columns_per_node = 1  # columns that one more hidden node adds to the design matrix
    _weight_parameters = ()  # parameters that only the row weights depend on

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
        self.__dict__.pop("_stream", None)  # what partial_fit remembers: fit starts anew
        return self._fit_prepared(self._prepare(X, y, sample_weight))

    def _prepare(self, X, y, sample_weight=None):
        """Validate, and fit all that does not depend on C or on row weights."""
        given = self._check_training(X, y, sample_weight)
        samples, on_device = given.rows(), is_tensor(given.X)
        if on_device and callable(self.activation):
            raise ValueError("on a device, activation must be one of the ten by name")
        self.classes_ = (
            beside(given.classes, given.X) if on_device and is_tensor(y) else given.classes
        )
        self._remember_device(samples.X)
        rows = self._fit_rows(samples)
        self._fit_features(rows, draw_seed(self.random_state))
        T = one_hot(rows.labels, len(self.classes_))
        return Prepared(samples, rows, T, given.present, len(given.X))

    def _fit_prepared(self, prepared):
        return self._fit_weighted(prepared, self._fit_weights(prepared))

    def _fit_weighted(self, prepared, importance):
        """Solve, given the importance of every row, and calibrate."""
        samples, rows, T, *_ = prepared
        total = rows.multiplicity if importance is None else rows.multiplicity * importance
        design = self._design(rows.X)
        further_penalty = self._fit_penalty(design, rows)
        leave_out = self.calibrate and self._capabilities.calibrates_left_out
        # Copies of a row must be left out with it; a graph between the rows needs each of them.
        merges = further_penalty is None and (leave_out or self.C == "loo")
        twins = find_twins(rows.X) if merges else None
        weights, targets = total, T
        if twins is not None:
            design = self._design(rows.X[twins.first])
            weights, targets = twins.merge(total, T)
        elif importance is None and bool((rows.multiplicity == 1.0).all()):
            weights = None
        self.C_ = self.C
        if self.C == "loo":
            candidates = self._C_factor * PAPER_C
            self.C_ = float(
                PAPER_C[choose_C(design, targets, candidates, weights, further_penalty)]
            )
        solution = solve_ridge(
            design, targets, float(self.C_) * self._C_factor, weights, leave_out, further_penalty
        )
        n_bias = int(self.output_bias)
        self.coef_ = solution.beta[n_bias:]
        self.intercept_ = solution.beta[:n_bias].sum(axis=0)
        self.solver_ = solution.method
        if self.calibrate:
            scores = solution.loo_scores
            self.calibration_slope_, self.calibration_offsets_ = self._calibration(
                samples, T, total, scores if twins is None else scores[twins.group]
            )
        return self

    def _design(self, X):
        """Return the design matrix of some rows, a block at a time."""
        return RowBlocks(
            lambda block: self._features(X[block]),
            len(X),
            self._n_columns(),
            self._dtype,
            tensors=is_tensor(X),
        )

    # -- slots -------------------------------------------------------------------------

    def _fit_rows(self, rows):
        """Return what the ridge is fitted to: the samples given (slot: rows)."""
        return rows

    def _fit_features(self, rows, seed):
        """Draw the random layer (slot: features)."""
        U, b = draw_random_layer(rows.X.shape[1], int(self.n_hidden), float(self.bias_scale), seed)
        self.hidden_weights_, self.hidden_bias_ = beside(U, rows.X), beside(b, rows.X)

    def _features(self, X):
        """Make rows of the design matrix [1 x h] (slot: features)."""
        X = in_double_precision(X)
        H = hidden_output(X, self.hidden_weights_, self.hidden_bias_, self.activation)
        return design_matrix(X, H, self._direct_link, self.output_bias)

    def _n_columns(self):
        """Return the width of the design matrix (slot: features)."""
        return int(self.output_bias) + self._direct_link * self.n_features_in_ + int(self.n_hidden)

    def _fit_penalty(self, design, rows):
        """Return the matrix added to the identity in the penalty, or None (slot: penalty)."""
        return

    def _calibration(self, samples, T, total, loo_scores):
        """Return slope and offsets of the probabilities."""
        # Under the weights of fit, with the total count of the rows given: the threshold of
        # predict is where those weights put it, and probabilities must agree.
        seen = total * (samples.multiplicity.sum() / total.sum())
        slope, offsets = fit_calibration(to_host(loo_scores), to_host(T), to_host(seen))
        return slope, beside(offsets, T)

    def _fit_weights(self, prepared):
        """Return the importance of every training row, or None for ones (slot: weights)."""
        rows = prepared.rows
        cost = self._class_cost(rows.labels, rows.multiplicity)
        return None if cost is None else beside(cost, rows.X)[rows.labels]

    def _importances(self, prepared, settings, statistics):
        """Yield the importance of every training row for each of several settings.

        A setting holds values of the parameters that ``_fit_weights`` reads: none here.
        ``statistics`` keeps what may be used again for the same rows.
        """
        for _ in settings:
            yield self._fit_weights(prepared)

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
        if self.class_weight == "ratio":
            cost[seen] = class_cost(sizes[seen])
        else:
            cost[seen] = sizes.sum() / (seen.sum() * sizes[seen])
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
        """Score validated rows, a block at a time; the second class less the first if asked."""
        xp, beta = namespace(X), self.coef_
        if self.output_bias:
            beta = xp.vstack([self.intercept_[None, :], beta])
        if difference:
            beta = beta[:, 1:] - beta[:, :1]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return xp.concatenate([(M @ beta).real for _, M in self._design(X)])

    @available_if(_calibrates)
    def predict_proba(self, X):
        """Return class probabilities, calibrated on leave-one-out scores.

        The predicted class is always the likeliest. Without class costs or memberships,
        probabilities estimate how often each class occurs among rows with such scores. With them
        the calibration weighs each row's leave-one-out score by the row's cost, so that the
        probabilities are those of a population so weighted, not frequencies in the data. Giving
        the costs as ``sample_weight`` gives the same scores but other probabilities, the further
        away the larger the weights (0.15 has been seen): there a weight is a number of copies, of
        which one is left out at a time; here it is the whole row.

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
