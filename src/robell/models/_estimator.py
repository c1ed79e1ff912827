"""The estimator: check, fill the slots, solve, predict; classes and numbers, arrays and tensors.

A model of the family is one weighted ridge regression on a design matrix,

    β = argmin ½|β|² + ½ tr(βᵀQβ) + C/2 Σ_i w_i |m_i β - t_i|²,

and a subclass fills the slots it differs in:

    rows          ``_fit_rows``                      the samples, or what stands for them
    features m_i  ``_fit_features``, ``_features``,  drawn or fitted once; the same at fit and
                  ``_n_columns``                     predict, a block of rows at a time
    weights w_i   ``_fit_weights``, ``_importances`` class costs, memberships
    penalty Q     ``_fit_penalty``                   None, or a graph's matrix
    the ridge     ``_fit_ridge``                     how β, C and left-out scores are found

What the targets t_i are is decided by a root (``BaseRVFLClassifier``, ``BaseRVFLRegressor``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache
from inspect import get_annotations, isfunction
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from robell._core.array import (
    EPS,
    beside,
    in_double_precision,
    is_tensor,
    memory_beside,
    namespace,
    one_hot,
    require_labels,
    to_host,
)
from robell._core.balls.graphs import graph_term
from robell._core.layers.features import (
    ACTIVATIONS,
    RowBlocks,
    design_matrix,
    draw_random_layer,
    hidden_output,
)
from robell._core.membership.equations import CLASS_COSTS, class_sizes
from robell._core.membership.pairs import require_squares
from robell._core.ridge.calibrate import (
    calibrated_probability,
    even_within_classes,
    fit_calibration,
    half_widths,
)
from robell._core.ridge.loo import place_of_smallest
from robell._core.ridge.solve import System, WithConstant, choose_C, require_finite
from robell._core.ridge.twins import fold_shares, left_out_together
from robell.models import _validation as gate

OF_LEFT_OUT = (
    *("calibration_slope_", "calibration_offsets_", "interval_residuals_", "interval_weights_"),
)
OF_EARLIER_FIT = (
    *("n_samples_seen_", "n_samples_fitted_", "device_", "dtype_", "engine_", "circular_"),
    *OF_LEFT_OUT,
)
PAPER_C = np.array([10.0**k for k in range(-5, 6)])  # the range C="loo" chooses from


@dataclass(frozen=True)
class Capabilities:
    """What a classifier can do beyond fitting arrays; asked for here and nowhere else."""

    streams: bool = False  # partial_fit and merge: rows that are seen once
    passes: bool = False  # fits in passes over files or over partitions on a cluster
    by_sample: bool = False  # passes keep a sample of all rows, which ``fit`` is then given
    tensors: bool = False  # fits torch tensors where they are
    exact_search: bool = False  # RVFLGridSearchCV shares its factorisations among candidates
    weighs_by_membership: bool = False  # row weights depend on all other rows
    scales_inputs: bool = False  # standardises the columns itself
    calibrates_left_out: bool = True  # probabilities come from leave-one-out scores


# -- what a shortcut may replace -----------------------------------------------------------
#
# Marks stand where a method is first defined, and a shortcut asks which of the methods that bear
# one are this package's own (``first_foreign``): an override elsewhere must be called.


def _marker(role):
    """Return what marks a method: ``@role`` on it, or ``name: Annotated[Any, role]``."""

    def mark(method):
        method._roles = {*getattr(method, "_roles", ()), role}
        return method

    return mark


# The search finds its result for many candidates at once, and does not call it: an override is
# fitted one by one.
bypassed_by_search = _marker("bypassed_by_search")
# The search calls it. Where it is overridden, networks may not be nested, and weights may depend
# on anything except C: only candidates of C share their work.
called_by_search = _marker("called_by_search")
# ``fit`` calls it, and fits of rows in parts do not, or not with all rows at hand.
bypassed_in_parts = _marker("bypassed_in_parts")


@cache
def marked(cls, role):
    """Return the names of a class and its ancestors that bear a mark."""
    names: dict[str, None] = {}
    for one in cls.__mro__:
        for name, annotation in get_annotations(one).items():
            if role in str(annotation).rstrip("]").split(", "):
                names[name] = None
        for name, value in vars(one).items():
            if role in getattr(_function_of(value), "_roles", ()):
                names[name] = None
    return tuple(names)


def require_own_fit(estimator, what, called=()):
    """Raise for a method of its own that a fit in parts does not call, except those ``called``."""
    names = marked(estimator.__class__, "bypassed_in_parts")
    if method := first_foreign(estimator, [name for name in names if name not in called]):
        raise TypeError(
            f"{type(estimator).__name__} has a {method} of its own, which {what} would not call: "
            "fit it in memory"
        )


def first_foreign(estimator, names):
    """Return the first of the named methods that is not this package's own, or None."""
    # Looked up as Python does, on the object and then on its classes in their order: a subclass
    # elsewhere, a mixin and a function put in afterwards all count. ``score`` is scikit-learn's.
    if isinstance(names, str):
        names = marked(estimator.__class__, names)
    own_mixin = ClassifierMixin if isinstance(estimator, ClassifierMixin) else RegressorMixin
    for name in names:
        if name in vars(estimator):
            return name
        owner = next((cls for cls in type(estimator).__mro__ if name in vars(cls)), None)
        if owner in (None, own_mixin):
            continue  # what nobody has, nothing can stand in for
        function = _function_of(vars(owner)[name])
        modules = [owner.__module__] + ([function.__module__] if isfunction(function) else [])
        if any(module.partition(".")[0] != "robell" for module in modules):
            return name
    return None


def _function_of(value):
    """Return the function behind a property or a method that exists under a condition."""
    return getattr(value, "fn", None) or getattr(value, "fget", None) or value


class Prepared(NamedTuple):
    """A fit up to its row weights and its C."""

    samples: Any  # those of positive weight: TrainingRows, or TargetRows of numbers
    rows: Any  # what the ridge is fitted to, likewise
    T: np.ndarray  # targets of the rows: one-hot of classes
    present: Any  # places of the samples among the rows given to fit: an array or a range
    n_given: int
    folds: Any = None  # those of ``folds_of``, where they are wanted more than once

    def in_order_given(self, values, absent):
        """Return values of the samples in the order of the rows given; ``absent`` for the rest."""
        if len(self.present) < self.n_given:
            found = np.full(self.n_given, absent)
            found[self.present] = values
            values = found
        return beside(values, self.samples.X)


class FamilyMember(BaseEstimator):
    """A model of the family, whatever its targets: its gate, the slots and the fit of the ridge."""

    n_hidden: int
    activation: str | Callable[..., Any]
    C: float | str
    output_bias: bool
    bias_scale: float
    random_state: int | np.random.RandomState | None
    C_: Any  # a float, or one for each layer or member
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    hidden_weights_: Any  # an array, or one for each layer or view
    hidden_bias_: Any
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    solver_: str
    device_: str
    dtype_: str

    _capabilities = Capabilities(exact_search=True)

    _parameter_constraints: dict[str, Any] = {
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS)), callable],
        "C": [Interval(Real, 0, np.inf, closed="right"), StrOptions({"loo"})],
        "bias_scale": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    # Whether [x] is among the features, and what C is multiplied by.
    _direct_link: Annotated[Any, called_by_search] = True
    _C_factor: Annotated[Any, called_by_search] = 1.0
    _system: Any = System  # the ridge problem: WithConstant where the constant is not penalised
    # Smaller networks have some of the columns of larger ones: in which parameter they differ, and
    # how many columns one more of it adds.
    _nested_parameter: Annotated[Any, called_by_search] = "n_hidden"
    _columns_per_node: Annotated[Any, called_by_search] = 1
    # Parameters that only the row weights depend on, and the one that multiplies the penalty.
    _weight_parameters: Annotated[Any, called_by_search] = ()
    _penalty_parameter: Annotated[Any, called_by_search] = None
    score: Annotated[Any, bypassed_by_search]  # scikit-learn's

    # What the roots decide. What rows are fitted to, from labels or numbers, a column each:
    _targets: Annotated[Any, called_by_search, bypassed_in_parts]
    # Whether leave-one-out scores are needed after the solution:
    _leaves_out: Annotated[Any, bypassed_by_search, bypassed_in_parts]
    # Take the samples' leave-one-out scores; None where they were not needed:
    _use_left_out: Annotated[Any, bypassed_by_search, bypassed_in_parts]
    # Predicted numbers, or scores of the classes; of two classes their difference:
    _scores: Annotated[Any, bypassed_by_search]

    # -- the gate ------------------------------------------------------------------------

    @classmethod
    @cache
    def _get_param_names(cls):
        """Return the names of the parameters: scikit-learn reads the signature on every call."""
        return super()._get_param_names()

    def _validate_params(self):
        """Check the parameters; a whole number may be too large to be a float, as 10**400 is."""
        super()._validate_params()
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, Integral):
                try:
                    float(value)
                except OverflowError:
                    bits = int(value).bit_length()
                    raise ValueError(
                        f"{name} must be a number that a float can hold; got one of {bits:,} bits"
                    ) from None

    @called_by_search
    @bypassed_in_parts
    def _check_training(self, X, y, sample_weight=None):
        """Check what fit was given, and set classes_, or n_outputs_ where numbers are predicted."""
        on_device, of_classes = gate.uses_device(X, self), isinstance(self, ClassifierMixin)
        if of_classes and not is_tensor(y):
            require_labels(y)
        with gate.one_line_errors(self, X, y=None if of_classes else y):
            if not on_device:
                X, y = self._validate_training(X, y)
            else:
                X = gate.check_tensor(self, X, reset=True)
                y = (gate.check_labels if of_classes else gate.check_targets)(y, X)
            if of_classes and not is_tensor(y):
                check_classification_targets(y)
        present: Any
        if sample_weight is not None:
            multiplicity = gate.check_multiplicity(to_host(sample_weight), len(X))
            counted, present = beside(multiplicity, X), np.flatnonzero(multiplicity)
        else:  # nothing is looked for, and nothing sent to a device
            multiplicity, present = np.broadcast_to(1.0, len(X)), range(len(X))
            counted = namespace(X).ones_like(X[:, 0], dtype=namespace(X).float64)
        rows: Any
        all_count, classes = len(present) == len(X), None
        if of_classes:
            classes = to_host(namespace(y).unique(y if all_count else y[present]))
            if len(classes) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs rows of at least two classes; y has one class, "
                    f"{classes.tolist()[0]!r}"
                )
            self.classes_ = beside(classes, X) if is_tensor(y) else classes
            labels = namespace(y).searchsorted(beside(classes, y), y)
            rows = gate.TrainingRows(X, beside(labels, X), counted)
        else:
            y = gate.as_columns(y)
            self.n_outputs_ = y.shape[1]
            rows = gate.TargetRows(X, beside(y, X), counted)
        if not all_count:
            rows = type(rows)(*(values[beside(present, X)] for values in rows))
        for name in OF_EARLIER_FIT:  # what is refused leaves the model where it was
            self.__dict__.pop(name, None)
        if on_device:
            self.device_, self.dtype_ = str(X.device), str(X.dtype).removeprefix("torch.")
        return gate.Given(X, y, multiplicity, present, rows, classes)

    @called_by_search
    @bypassed_in_parts
    def _validate_training(self, X, y):
        """Return X and y as arrays the mathematics may trust."""
        return validate_data(self, X, y, **gate.ARRAY_CHECKS)

    @called_by_search
    def _validate_new(self, X):
        """Return rows to predict as an array the mathematics may trust."""
        plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and len(X) > 0
        if plain and X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_"):
            # Validation takes half the time of one row, and would return such an array as it is.
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(X.sum()):  # a sum that overflows is looked at by validation
                    return np.ascontiguousarray(X)
        return validate_data(self, X, reset=False, **gate.ARRAY_CHECKS)

    @bypassed_by_search
    def _check_new(self, X):
        """Check rows to predict: they must be where the model is."""
        check_is_fitted(self)
        name, fitted_on = type(self).__name__, vars(self).get("device_")
        if gate.uses_device(X, self):
            if str(X.device) != fitted_on:
                where = fitted_on or "the host, from arrays"
                raise ValueError(f"{name} was fitted on {where}; X is on {X.device}")
        elif fitted_on is not None:
            raise ValueError(f"{name} was fitted on {fitted_on}; give X as a tensor there")
        with gate.one_line_errors(name, X):
            return self._validate_new(X) if fitted_on is None else gate.check_tensor(self, X, False)

    # -- fit --------------------------------------------------------------------------

    @bypassed_by_search
    @bypassed_in_parts
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the output weights in closed form.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, best standardised (a ``StandardScaler`` before this step).
        y : array-like of shape (n_samples,)
            Class labels of any kind; of a regressor finite numbers, also of shape (n_samples,
            n_targets).
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row: weight 2 is the row given twice, weight 0 its absence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self.__dict__.pop("_stream", None)  # what partial_fit remembers: fit starts anew
        with memory_beside(X):
            prepared = self._prepare(X, y, sample_weight)
            self._fit_features(prepared.rows, gate.draw_seed(self.random_state))
            return self._fit_weighted(prepared, self._fit_weights(prepared))

    @called_by_search
    @bypassed_in_parts
    def _prepare(self, X, y, sample_weight=None):
        """Validate, and fit what depends on the rows alone."""
        given = self._check_training(X, y, sample_weight)
        if is_tensor(given.X) and callable(self.activation):
            raise ValueError("on a device, activation must be one of the ten by name")
        rows = self._fit_rows(given.rows)
        return Prepared(given.rows, rows, self._targets(rows[1]), given.present, len(given.X))

    @bypassed_by_search
    @bypassed_in_parts
    def _fit_weighted(self, prepared, importance):
        """Solve, given the importance of every row, and use what leaving rows out tells."""
        _, rows, T, *_ = prepared
        total = rows.multiplicity if importance is None else rows.multiplicity * importance
        further_penalty = self._fit_penalty(self._design(rows.X), rows)
        leave_out = self._leaves_out()
        twins = left_out_together(*rows) if leave_out or self.C == "loo" else None
        X, weights, targets = rows.X, total, T
        if twins is not None:
            X = X[twins.first]
            weights, targets = twins.merge(total, T)
        elif importance is None and bool((rows.multiplicity == 1.0).all()):
            weights = None
        some = slice(None) if weights is None or bool((weights > 0.0).all()) else weights > 0.0
        of_some = None if weights is None else weights[some]
        solution = self._fit_ridge(X[some], targets[some], of_some, further_penalty, leave_out)
        self._set_output_weights(solution.beta)
        self.solver_, scores = solution.method, solution.loo_scores
        if scores is not None and not isinstance(some, slice):
            # Rows of weight 0 are in no fit: the model itself has left them out.
            scores = self._linear_scores(X, solution.beta)
            scores[some] = solution.loo_scores
        if scores is not None and twins is not None:
            scores = scores[twins.group]
        self._use_left_out(prepared, total, scores)
        return self

    @called_by_search
    def _design(self, X):
        """Return the design matrix of some rows, a block at a time."""
        return RowBlocks(
            lambda block: self._features(X[block]), len(X), self._n_columns(), tensors=is_tensor(X)
        )

    # -- slots -------------------------------------------------------------------------

    @called_by_search
    @bypassed_in_parts
    def _fit_rows(self, rows):
        """Return what the ridge is fitted to: the samples given (slot: rows)."""
        return rows

    @called_by_search
    @bypassed_in_parts
    def _fit_features(self, rows, seed):
        """Draw the random layer (slot: features)."""
        U, b = draw_random_layer(rows.X.shape[1], int(self.n_hidden), float(self.bias_scale), seed)
        self.hidden_weights_, self.hidden_bias_ = beside(U, rows.X), beside(b, rows.X)

    @called_by_search
    def _features(self, X):
        """Make rows of the design matrix [1 x h] (slot: features)."""
        X = in_double_precision(X)
        H = hidden_output(X, self.hidden_weights_, self.hidden_bias_, self.activation)
        return design_matrix(X, H, self._direct_link, self.output_bias)

    @called_by_search
    def _n_columns(self):
        """Return the width of the design matrix (slot: features)."""
        return int(self.output_bias) + self._direct_link * self.n_features_in_ + int(self.n_hidden)

    @called_by_search
    def _blocks(self):
        """Return how blocks of columns are fitted together, or None for one (slot: ridge)."""

    @called_by_search
    @bypassed_in_parts
    def _fit_weights(self, prepared):
        """Return the importance of every training row, or None for ones (slot: weights)."""

    @called_by_search
    @bypassed_in_parts
    def _importances(self, prepared, settings, statistics):
        """Yield rows' importances for several settings; ``statistics`` keeps what serves again."""
        for _ in settings:
            yield self._fit_weights(prepared)

    @bypassed_by_search
    @bypassed_in_parts
    def _fit_penalty(self, design, rows):
        """Return the matrix added to the identity in the penalty, or None (slot: penalty)."""

    @bypassed_by_search
    @bypassed_in_parts
    def _fit_ridge(self, X, T, weights, further_penalty, leave_out, design=None):
        """Choose C where that is asked for, and solve (slot: ridge)."""
        design = self._design(X) if design is None else design
        system, self.C_ = self._system(design, T, weights, further_penalty), self.C
        if self.C == "loo":
            self.C_ = float(PAPER_C[choose_C(system, self._C_factor * PAPER_C)])
        found = system.solve(float(self.C_) * self._C_factor, leave_out)
        if found.method == "svd":
            most = float(self.C_) * (1.0 if weights is None else float(weights.max()))
            warn_of_lost_columns(self, design, most)
        return found

    # -- predict ----------------------------------------------------------------------

    def _set_output_weights(self, beta):
        """Set coef_ and intercept_: the constant is the first column where there is one."""
        n_bias = int(self.output_bias)
        self.coef_ = beta[n_bias:]
        self.intercept_ = beta[:n_bias].sum(axis=0)

    @bypassed_by_search
    def _output_weights(self):
        """Return the output weights, the constant's first where there is one."""
        if not self.output_bias:
            return self.coef_
        return namespace(self.coef_).vstack([self.intercept_[None, :], self.coef_])

    @bypassed_by_search
    def _linear_scores(self, X, beta):
        """Return validated rows times output weights, a block at a time."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return namespace(X).concatenate([(M @ beta).real for _, M in self._design(X)])


class FamilyClassifier(ClassifierMixin, FamilyMember):
    """The root of every classifier of the family."""

    @bypassed_by_search
    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
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

    @bypassed_by_search
    def predict(self, X: ArrayLike) -> NDArray[Any]:
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

    # -- rows that come in parts --------------------------------------------------------

    def _rows_of(self, X, y, sample_weight):
        """Return the rows of positive weight, their places among the classes, their weights."""
        if not (isinstance(y, np.ndarray) and y.ndim == 1):  # the check itself takes its time
            with gate.one_line_errors(self, y):
                y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        X, y, weight = gate.present_rows(X, y, gate.weights_of_part(sample_weight, len(X)))
        classes = self.classes_
        try:
            labels = np.searchsorted(classes, y)
            np.minimum(labels, len(classes) - 1, out=labels)
            unknown = classes[labels] != y
        except TypeError:  # labels that cannot be compared with the classes
            unknown = np.ones(len(y), bool)
        if np.any(unknown):
            label = np.asarray(y).tolist()[np.argmax(unknown)]
            raise ValueError(
                f"y has the label {label!r}, which is not among the classes {classes.tolist()}"
            )
        return X, labels, weight

    def _set_outcome(self, classes):
        """Set the classes to the labels of all parts."""
        with gate.one_line_errors(self, classes):
            classes = column_or_1d(classes)
            check_classification_targets(classes)
        classes = np.unique(classes)
        if len(classes) < 2:
            has = f"one, {classes.tolist()[0]!r}" if len(classes) else "none"
            raise ValueError(f"{type(self).__name__} needs at least two classes; classes has {has}")
        self.classes_ = classes


def prepared_of(rows, T):
    """Return rows with their targets as a fit's slots want them, all of them present."""
    return Prepared(rows, rows, T, range(len(rows.X)), len(rows.X))


def exists_with(parameter, method):
    """Return what says that a method exists where a parameter is true, or raises the reason."""

    def exists(estimator):
        if not getattr(estimator, parameter):
            raise AttributeError(f"{method} needs {parameter}=True at fit")
        return True

    return exists


class BaseRVFLClassifier(FamilyClassifier):
    """Base class of networks with one random layer and one ridge regression, for variants.

    By itself it is a plain RVFL network. A subclass fills the slots it differs in: ``_fit_rows``,
    ``_fit_features`` with ``_features`` and ``_n_columns``, ``_fit_weights``, ``_fit_penalty``.
    This class provides checks, weights, calibration, ``C="loo"`` and the search. What each slot is
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
    coef_ : ndarray of shape (n_columns, n_classes)
        Output weights, without the constant's.
    intercept_ : ndarray of shape (n_classes,)
        Output bias; zeros unless ``output_bias``.
    classes_, hidden_weights_, hidden_bias_, C_, solver_, calibration_slope_, \
calibration_offsets_, n_features_in_, feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

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

    calibration_offsets_: NDArray[Any]
    calibration_slope_: float
    classes_: NDArray[Any]

    graph: str | None = None  # of a graph term in the penalty; a parameter of some models
    graph_weight: float

    _parameter_constraints = {
        **FamilyMember._parameter_constraints,
        "output_bias": ["boolean"],
        "class_weight": [StrOptions(set(CLASS_COSTS)), dict, None],
        "calibrate": ["boolean"],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    def _targets(self, outcome):
        return one_hot(outcome, len(self.classes_))

    def _leaves_out(self):
        # A graph has seen the label left out: without leave-one-out scores, folds are refitted.
        return self.calibrate and self._capabilities.calibrates_left_out and self.graph is None

    def _use_left_out(self, prepared, total, scores):
        if self.calibrate:
            if scores is None and self._capabilities.calibrates_left_out:
                scores = scores_of_folds(self, prepared)
            self.calibration_slope_, self.calibration_offsets_ = self._calibration(
                prepared.samples, prepared.T, total, scores
            )

    @bypassed_by_search
    @bypassed_in_parts
    def _calibration(self, samples, T, total, loo_scores):
        """Return slope and offsets of the probabilities."""
        weight = total
        if total is not samples.multiplicity:
            weight = even_within_classes(total, T, samples.multiplicity)
        slope, offsets = fit_calibration(loo_scores, T, weight)
        return slope, beside(offsets, T)

    def _fit_weights(self, prepared):
        if self.class_weight is None:
            return None
        _, labels, multiplicity = prepared.rows
        sizes = class_sizes(to_host(labels), len(self.classes_), to_host(multiplicity))
        return beside(self._class_cost(sizes), prepared.rows.X)[labels]

    @called_by_search
    def _class_cost(self, sizes):
        """Return the cost of classes of these sizes, or None for ones; 1 for a class of size 0."""
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, dict):
            return cost_from_dict(self.class_weight, self.classes_)
        cost, seen = np.ones(len(sizes)), sizes > 0
        cost[seen] = CLASS_COSTS[self.class_weight](sizes[seen])
        return cost

    @property
    def _penalty_parameter(self):
        return None if self.graph is None else "graph_weight"

    def _fit_penalty(self, design, rows):
        """Return the graph's matrix times its weight, or None (slot: penalty)."""
        if self.graph is None:
            return None
        if self.C == "loo":
            raise ValueError(
                "C='loo' does not go with a graph, which has seen the label of the row left out; "
                "choose C by cross-validation, for instance with RVFLGridSearchCV"
            )
        return float(self.graph_weight) * self._penalty_term(design.whole(), rows)

    @called_by_search
    def _penalty_term(self, M, rows):
        """Return the matrix that ``_penalty_parameter`` multiplies, for a design matrix."""
        require_finite(M)
        require_squares(M)
        return graph_term(M, rows.labels, str(self.graph), rows.multiplicity)

    # -- predict ----------------------------------------------------------------------

    def _scores(self, X):
        with memory_beside(X):
            scores = self._class_scores(self._check_new(X), difference=len(self.classes_) == 2)
            require_finite_scores(scores)
        return scores

    @bypassed_by_search
    def _class_scores(self, X, difference=False):
        """Score validated rows; the second class less the first if asked."""
        beta = self._output_weights()
        return self._linear_scores(X, beta[:, 1:] - beta[:, :1] if difference else beta)

    @available_if(exists_with("calibrate", "predict_proba"))
    @bypassed_by_search
    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return class probabilities, calibrated on leave-one-out scores.

        The predicted class is always the likeliest. Without class costs or memberships,
        probabilities estimate how often each class occurs among rows with such scores. With them
        they are those of a population in which each class has the total weight that it has in the
        fit, not frequencies in the data.

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
        slope, offsets = self.calibration_slope_, to_host(self.calibration_offsets_)
        found = calibrated_probability(to_host(of_both_classes(scores)), slope, offsets)
        return beside(found, scores)


def folds_of(model, prepared):
    """Yield how much of every sample a fold holds, and X, T, weights and penalty of the rest."""
    samples, setting = prepared.samples, {n: getattr(model, n) for n in model._weight_parameters}
    for held in fold_shares(*samples).T:
        kept = held < 1.0
        if not kept.any():
            return  # all rows are equal: none can be scored by others
        rest = samples._replace(multiplicity=samples.multiplicity * (1.0 - held))
        part = gate.TrainingRows(*(values[kept] for values in rest))
        seen, labels = np.unique(part.labels, return_inverse=True)  # a class may be missing
        twin = of_classes(model, seen)
        twin._of_fold = True  # what it would warn of is not the table's
        rows = twin._fit_rows(part._replace(labels=labels))
        (importance,) = twin._importances(
            prepared_of(rows, one_hot(rows.labels, len(seen))), [setting], {}
        )
        rows = rows._replace(labels=seen[rows.labels])
        penalty = model._fit_penalty(model._design(rows.X), rows)
        total = rows.multiplicity * (1.0 if importance is None else importance)
        some, T = total > 0.0, one_hot(rows.labels, len(model.classes_))
        if some.any():
            yield held, (rows.X[some], T[some], total[some], penalty)


def scores_of_folds(model, prepared):
    """Return scores of the samples by models fitted, weights and all, without their fold."""
    X, twin = prepared.samples.X, copy(model)
    twin.C = model.C_ if model.C == "loo" else model.C  # chosen on all rows, not fold by fold
    scores = np.zeros((len(X), len(model.classes_)))
    for held, fitted in prepared.folds or folds_of(model, prepared):
        found = copy(twin)._fit_ridge(*fitted, False)
        some = held > 0.0
        scores[some] += held[some, None] * model._linear_scores(X[some], found.beta)
    return scores


class BaseRVFLRegressor(RegressorMixin, FamilyMember):
    """The networks of one random layer and one ridge regression on targets that are numbers."""

    _parameter_constraints = {**FamilyMember._parameter_constraints, "intervals": ["boolean"]}

    interval_residuals_: NDArray[Any]
    interval_weights_: NDArray[Any]
    n_outputs_: int

    output_bias = True  # the free constant, first in the design; no parameter
    _system = WithConstant

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        bias_scale: float = 0.1,
        intervals: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.bias_scale = bias_scale
        self.intervals = intervals
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _validate_training(self, X, y):
        return validate_data(self, X, y, multi_output=True, y_numeric=True, **gate.ARRAY_CHECKS)

    def _targets(self, outcome):
        return outcome

    def _leaves_out(self):
        return self.intervals

    def _use_left_out(self, prepared, total, scores):
        if self.intervals:
            self.interval_residuals_ = abs(prepared.T - scores)
            self.interval_weights_ = total

    def _scores(self, X):
        with memory_beside(X):
            scores = self._linear_scores(self._check_new(X), self._output_weights())
            require_finite_scores(scores)
        return scores

    @bypassed_by_search
    def predict(self, X: ArrayLike) -> NDArray[Any]:
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

    @available_if(exists_with("intervals", "predict_interval"))
    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[Any]:
        """Return intervals that hold the targets of new rows with a given probability.

        The prediction, less and plus a quantile of the absolute leave-one-out residuals of the
        training rows, as wide everywhere. It holds new targets as often as ``coverage`` says, on
        average over rows that come from where the training rows came from.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            Between 0 and 1. Of n training rows, at most n / (n + 1) can be asked for.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2) or (n_samples, 2, n_targets)
            The lower and the upper end. Each target by itself is covered so often, not all
            together.

        References
        ----------
        R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani, "Predictive inference with the
        jackknife+", Annals of Statistics 49 (2021): this is their jackknife with the quantile of
        the jackknife+.
        """
        predicted = self._scores(X)
        if not hasattr(self, "interval_residuals_"):
            raise AttributeError("predict_interval needs intervals=True at fit")
        half = half_widths(
            to_host(self.interval_residuals_), to_host(self.interval_weights_), coverage
        )
        half = beside(half, predicted)
        bounds = namespace(predicted).stack([predicted - half, predicted + half], 1)
        return bounds[:, :, 0] if self.n_outputs_ == 1 else bounds


class LeftOutInFolds(BaseRVFLClassifier):
    """Makes a model refit folds where others leave rows out; not for direct use."""

    # For weights, or rows, made of the labels of all rows: what they are without one of them has no
    # closed form, and held fixed they know its label.

    def _leaves_out(self):
        return False

    def _fit_weighted(self, prepared, importance):
        """Solve; C is chosen by the errors of samples in folds that the fit has not seen."""
        if self.C != "loo":
            return super()._fit_weighted(prepared, importance)
        # Folds are made once, for C and for the probabilities.
        prepared, chosen = prepared._replace(folds=list(folds_of(self, prepared))), copy(self)
        rows = prepared.rows
        total = rows.multiplicity if importance is None else rows.multiplicity * importance
        T, total = self._of_samples(prepared, total)
        weight = even_within_classes(total, T, prepared.samples.multiplicity)
        errors = np.empty(len(PAPER_C))
        for k, C in enumerate(PAPER_C.tolist()):
            chosen.C = C
            misses = np.square(T - scores_of_folds(chosen, prepared)).sum(axis=1)
            errors[k] = weight @ misses
        chosen.C = float(PAPER_C[place_of_smallest(errors, 1.0 / PAPER_C)])
        self.__dict__.update(vars(chosen._fit_weighted(prepared, importance)) | {"C": "loo"})
        return self

    def _of_samples(self, prepared, total):
        """Return targets and weights of the samples, also where other rows stand for them."""
        samples = prepared.samples
        if prepared.rows is samples:
            return prepared.T, total
        T = self._targets(samples.labels)
        cost = self._class_cost(samples.multiplicity @ T)
        return T, samples.multiplicity * (1.0 if cost is None else cost[samples.labels])

    def _use_left_out(self, prepared, total, scores):
        T, total = self._of_samples(prepared, total)
        super()._use_left_out(prepared._replace(T=T), total, scores)


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


def twin_of(model):
    """Return a copy of the model without what partial_fit remembers."""
    twin = clone(model)
    vars(twin).update({name: value for name, value in vars(model).items() if name != "_stream"})
    return twin


def of_classes(model, seen):
    """Return a copy of the model that knows the classes at some places only."""
    twin = twin_of(model)
    twin.classes_ = model.classes_[seen]
    if isinstance(model.class_weight, dict):
        cost_from_dict(model.class_weight, model.classes_)  # raises for labels of no class
        known = set(twin.classes_.tolist())
        twin.class_weight = {c: w for c, w in model.class_weight.items() if c in known}
    return twin


def cost_from_dict(class_weight, classes):
    """Return the cost of every class, or raise where labels or costs make no sense."""
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in set(labels)]
    # A class that a fold of the data has no row of may be named, as in scikit-learn; where
    # other classes are not named, it is rather a mistake.
    if unknown and not set(labels) <= set(class_weight):
        raise ValueError(
            f"class_weight names {unknown[0]!r}, which is not a class of y; "
            f"the classes are {labels}"
        )
    try:
        cost = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    except (TypeError, ValueError, OverflowError):
        cost = np.array([np.nan])
    if not ((cost >= 1.0 / gate.LARGEST_WEIGHT) & (cost <= gate.LARGEST_WEIGHT)).all():
        raise ValueError(f"class_weight must hold finite positive numbers; got {class_weight}")
    return cost


def column_name(model, place):
    """Return what a column of the design is called in a message."""
    if model._blocks() is not None:
        return "a column or hidden node of a view"
    place -= int(model.output_bias)
    if model._direct_link and 0 <= place < model.n_features_in_:
        names = getattr(model, "feature_names_in_", None)
        return f"column {place if names is None else repr(str(names[place]))}"
    return "a hidden node" if place >= 0 else "the constant"


def warn_of_lost_columns(model, design, C):
    """Warn where columns are too small beside the largest one to have a singular value left."""
    norms = np.zeros(design.n_columns)
    with np.errstate(over="ignore"):
        for _, M in design:
            norms = np.maximum(norms, np.abs(to_host(M)).max(axis=0))
    least = max(design.n_rows, design.n_columns) * EPS * norms.max()
    lost = norms[(norms > 0.0) & (norms <= least)]
    largest = float(lost.max(initial=0.0))
    if not lost.size or largest * C * largest * design.n_rows <= EPS:
        return
    place = int(norms.argmax())
    warnings.warn(
        f"{column_name(model, place)} reaches {norms[place]:.0e}: smaller columns and nodes are "
        "lost to rounding beside it; scale X first, for instance with StandardScaler",
        LinAlgWarning,
        stacklevel=gate.level_of_user(),
    )
