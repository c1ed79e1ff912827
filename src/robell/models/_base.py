"""The estimator shell, for arrays and tensors alike: check, fill the slots, solve; predict.

A model of the family is one weighted ridge regression on a design matrix,

    β = argmin ½|β|² + ½ tr(βᵀQβ) + C/2 Σ_i w_i |m_i β - t_i|²,

and a subclass fills the slots it differs in:

    rows          ``_fit_rows``                      the samples, or what stands for them
    features m_i  ``_fit_features``, ``_features``,  drawn or fitted once; the same at fit and
                  ``_n_columns``                     predict, a block of rows at a time
    weights w_i   ``_fit_weights``, ``_importances`` class costs, memberships
    penalty Q     ``_fit_penalty``                   None, or a graph's matrix
    the ridge     ``_fit_ridge``                     how β, C and left-out scores are found

Tensors stay on their device: products are taken there, and only the system of the output weights
and a few numbers a row come to the host.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

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
from robell.models._family import (
    FamilyClassifier,
    of_both_classes,
    require_finite_scores,
)
from robell.models._validation import (
    LARGEST_WEIGHT,
    TrainingRows,
    draw_seed,
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


class BaseRVFLClassifier(FamilyClassifier):
    """The networks of one random layer and one ridge regression, to write a variant from.

    By itself it is a plain RVFL network. A subclass fills the slots it differs in: ``_fit_rows``,
    ``_fit_features`` with ``_features`` and ``_n_columns``, ``_fit_weights``, ``_fit_penalty``.
    Checks, weights, calibration, ``C="loo"`` and the search are this class's; ``docs/variants.md``
    says what each slot is given and what it must keep to.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors; smaller values regularise more; ``"loo"`` chooses it by
        leave-one-out error.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio"}, dict or None, default=None
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
        self.__dict__.pop("_stream", None)  # what partial_fit remembers: fit starts anew
        return self._fit_prepared(self._prepare(X, y, sample_weight))

    def _prepare(self, X, y, sample_weight=None, privileged=None):
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
        if privileged is not None:
            rows = self._with_privileged(rows, privileged, given)
        self._fit_features(rows, draw_seed(self.random_state))
        T = one_hot(rows.labels, len(self.classes_))
        return Prepared(samples, rows, T, given.present, len(given.X))

    def _fit_prepared(self, prepared):
        return self._fit_weighted(prepared, self._fit_weights(prepared))

    def _fit_weighted(self, prepared, importance):
        """Solve, given the importance of every row, and calibrate."""
        samples, rows, T, *_ = prepared
        total = rows.multiplicity if importance is None else rows.multiplicity * importance
        further_penalty = self._fit_penalty(self._design(rows.X), rows)
        leave_out = self.calibrate and self._capabilities.calibrates_left_out
        # Copies of a row must be left out with it.
        twins = find_twins(rows.X) if leave_out or self.C == "loo" else None
        X, weights, targets = rows.X, total, T
        if twins is not None:
            X = X[twins.first]
            weights, targets = twins.merge(total, T)
        elif importance is None and bool((rows.multiplicity == 1.0).all()):
            weights = None
        solution = self._fit_ridge(X, targets, weights, further_penalty, leave_out)
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

    def _fit_ridge(self, X, T, weights, further_penalty, leave_out):
        """Choose C where that is asked for, and solve (slot: ridge).

        Of rows without twins; weights None for ones. With ``leave_out``, scores of left-out rows
        too.
        """
        design, self.C_ = self._design(X), self.C
        if self.C == "loo":
            candidates = self._C_factor * PAPER_C
            self.C_ = float(PAPER_C[choose_C(design, T, candidates, weights, further_penalty)])
        C = float(self.C_) * self._C_factor
        return solve_ridge(design, T, C, weights, leave_out, further_penalty)

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
        probabilities are those of a population so weighted, not frequencies in the data. Costs
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
