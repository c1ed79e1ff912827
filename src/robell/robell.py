"""RoBell-RVFL: rows weighted by class cost and PW-GB membership; and that membership by itself."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from robell._base import ARRAY_CHECKS, BaseRVFLClassifier
from robell._core.membership import kernel_statistics, pw_gbell, scale_kernel_width
from robell._validation import check_multiplicity, one_line_errors

_MEMBERSHIP_CONSTRAINTS = {
    "kernel_width": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale"})],
    "rho": [Interval(Real, 0, None, closed="neither")],
}


def _resolve_kernel_width(kernel_width, X, multiplicity):
    if kernel_width == "scale":
        return scale_kernel_width(X, multiplicity)
    return float(kernel_width)


class RoBellRVFLClassifier(BaseRVFLClassifier):
    """RoBell-RVFL: a robust generalized-bell RVFL network for imbalanced data.

    An RVFL network whose ridge regression weighs row i by its class cost (the size of the
    smallest class over that of its own) times its probability-weighted generalized-bell
    membership: 1 for rows of the smallest class; for all others a bell of the distance to the
    class mean in a Gaussian kernel's space, times the share of the row's class in its
    neighbourhood.

    The equations are the paper's; where its print is ambiguous or contradicts itself, the
    decisions are listed in ``docs/equations.md``. Despite the name, the weighting is not robust
    to label noise that reaches the minority class; see the README.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, the paper's γ; smaller values regularise more.
        ``"loo"`` takes the value from 1e-5 to 1e5, in powers of ten, with the smallest weighted
        squared leave-one-out error, found in closed form.
    kernel_width : float or "scale", default=1.0
        Width ξ of the kernel exp(-d²/ξ²). ``"scale"`` is sqrt(n_features * X.var()), which is
        sqrt(n_features) on standardised data.
    rho : float, default=1.0
        Width and steepness of the bell, in units of the class's largest radius.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"ratio", "balanced"}, dict or None, default="ratio"
        Class cost that multiplies the memberships; ``"ratio"`` (n_min / n_c) is the paper's.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer.

    Attributes
    ----------
    membership_ : ndarray of shape (n_samples,)
        PW-GB membership of every training row, in (0, 1]; 0 for rows of weight zero.
    class_probability_ : ndarray of shape (n_samples,)
        Share of the row's class in its neighbourhood; NaN for rows of weight zero.
    radius_ : ndarray of shape (n_samples,)
        Distance to the class mean in the kernel's space; NaN for rows of weight zero.
    kernel_width_ : float
        The kernel width used.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    hidden_weights_ : ndarray of shape (n_features_in_, n_hidden)
        Weights of the hidden layer.
    hidden_bias_ : ndarray of shape (n_hidden,)
        Biases of the hidden layer.
    coef_ : ndarray of shape (n_features_in_ + n_hidden, n_classes)
        Output weights, the paper's V.
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

    See Also
    --------
    pw_gbell_membership : The memberships alone, as weights for any estimator.

    Notes
    -----
    Time grows with the square of the number of rows (all pairs are compared twice), memory only
    linearly. For more than two classes, which the paper does not define, the same formulas hold
    with the smallest class as the minority and every other as a majority.

    References
    ----------
    A. Rahaman, A. Quadir, M. Tanveer, "RoBell-RVFL: A Robust Generalized Bell Random Vector
    Functional Link Network", arXiv 2608.16965 (2026).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from robell import RoBellRVFLClassifier
    >>> X, y = make_classification(n_samples=300, weights=[0.9], random_state=0)
    >>> model = RoBellRVFLClassifier(kernel_width="scale", random_state=0).fit(X, y)
    >>> bool((model.membership_[y == 1] == 1).all())
    True
    >>> bool(model.membership_[y == 0].max() < 1)
    True
    """

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        **_MEMBERSHIP_CONSTRAINTS,
    }

    def __init__(
        self,
        n_hidden=103,
        activation="sigmoid",
        C=1.0,
        *,
        kernel_width=1.0,
        rho=1.0,
        output_bias=False,
        bias_scale=0.1,
        class_weight="ratio",
        calibrate=True,
        random_state=None,
    ):
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.kernel_width = kernel_width
        self.rho = rho
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    _weight_parameters = ("kernel_width", "rho")

    def _fit_weights(self, prepared):
        setting = {"kernel_width": self.kernel_width, "rho": self.rho}
        ((found, width),) = self._memberships(prepared.rows, [setting], {})
        self.kernel_width_ = width
        for name, values, absent in (
            ("membership_", found.membership, 0.0),
            ("class_probability_", found.class_probability, np.nan),
            ("radius_", found.radius, np.nan),
        ):
            in_order_given = np.full(prepared.n_given, absent)
            in_order_given[prepared.present] = values
            setattr(self, name, in_order_given)
        return self._with_cost(prepared, found.membership)

    def _with_cost(self, prepared, membership):
        cost = super()._fit_weights(prepared)
        return membership if cost is None else cost * membership

    def _memberships(self, rows, settings, statistics):
        """Yield memberships and kernel width of each setting, pairs compared once a width."""
        for setting in settings:
            width = _resolve_kernel_width(setting["kernel_width"], rows.X, rows.multiplicity)
            if width not in statistics:
                statistics[width] = kernel_statistics(
                    rows.X, rows.labels, len(self.classes_), width, rows.multiplicity
                )
            found = statistics[width]
            yield pw_gbell(found, rows.labels, float(setting["rho"])), width

    def _importances(self, prepared, settings, statistics):
        for found, _ in self._memberships(prepared.rows, settings, statistics):
            yield self._with_cost(prepared, found.membership)


@validate_params(
    {"X": ["array-like"], "y": ["array-like"], **_MEMBERSHIP_CONSTRAINTS},
    prefer_skip_nested_validation=True,
)
def pw_gbell_membership(X, y, kernel_width=1.0, rho=1.0, sample_weight=None):
    """Compute the probability-weighted generalized-bell membership of every row.

    Rows of the smallest class get 1; every other row a bell of its distance to its class mean in
    a Gaussian kernel's space, times the share of its class in its neighbourhood. Use it as
    ``sample_weight`` of any estimator.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, best standardised: the kernel is isotropic.
    y : array-like of shape (n_samples,)
        Class labels of any kind, at least two classes.
    kernel_width : float or "scale", default=1.0
        Width ξ of the kernel exp(-d²/ξ²); ``"scale"`` is sqrt(n_features * X.var()).
    rho : float, default=1.0
        Width and steepness of the bell, in units of the class's largest radius.
    sample_weight : array-like of shape (n_samples,), default=None
        Multiplicity of each row; weight 0 means absent.

    Returns
    -------
    membership : ndarray of shape (n_samples,)
        Values in (0, 1]; 0 for rows of weight zero.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from robell import pw_gbell_membership
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [2.0], [1.9], [2.1]])
    >>> y = np.array(["ok", "ok", "ok", "ok", "ok", "fraud", "fraud"])
    >>> pw_gbell_membership(X, y).round(2)
    array([0.93, 0.95, 0.95, 0.94, 0.17, 1.  , 1.  ])
    >>> model = LogisticRegression().fit(X, y, sample_weight=pw_gbell_membership(X, y))
    """
    with one_line_errors(pw_gbell_membership, X):
        X, y = check_X_y(X, y, **ARRAY_CHECKS)
    check_classification_targets(y)
    multiplicity = check_multiplicity(sample_weight, len(X))
    present = multiplicity > 0
    classes = np.unique(y[present])
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; it has one class, {classes[0]!r}")
    labels = np.searchsorted(classes, y[present])
    width = _resolve_kernel_width(kernel_width, X[present], multiplicity[present])
    membership = np.zeros(len(X))
    statistics = kernel_statistics(X[present], labels, len(classes), width, multiplicity[present])
    membership[present] = pw_gbell(statistics, labels, float(rho)).membership
    return membership
