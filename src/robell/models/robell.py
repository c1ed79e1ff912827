"""RoBell-RVFL: rows weighted by class cost and PW-GB membership; and that membership by itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from robell._core.array import beside, in_double_precision, is_tensor, to_host
from robell._core.membership.approximate import (
    approximable,
    approximate_statistics,
    pairs_to_sample,
)
from robell._core.membership.equations import kernel_statistics, pw_gbell, scale_kernel_width
from robell._core.membership.pairs import Workers, pairs_to_compare
from robell._core.membership.pairs_torch import engine_of, statistics_on_device
from robell._core.membership.pairs_torch import kernel_statistics as statistics_of_tensors
from robell._tools.progress import Progress
from robell._tools.threads import one_blas_thread, threads_for
from robell.models._estimator import (
    BaseRVFLClassifier,
    Capabilities,
    bypassed_in_parts,
    called_by_search,
)
from robell.models._partial_fit import StreamingMixin
from robell.models._validation import JOBS, draw_seed, level_of_user, uses_device

KERNEL_CONSTRAINTS = {
    "kernel_width": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale"})],
    "n_jobs": JOBS,
}
_MEMBERSHIP_CONSTRAINTS = {
    **KERNEL_CONSTRAINTS,
    "rho": [Interval(Real, 0, None, closed="neither")],
    "membership": [StrOptions({"exact", "approximate", "auto"})],
}

AUTO_EXACT_ROWS = 100_000  # up to which membership="auto" compares all pairs

# A row's bound says little from here on, and a quarter of such rows is worth a warning.
VAGUE_ERROR, VAGUE_SHARE = 0.25, 0.25


def resolve_kernel_width(kernel_width, X, multiplicity):
    """Return the kernel width as a number, ``"scale"`` being that of the rows."""
    if kernel_width == "scale":
        return scale_kernel_width(in_double_precision(X), multiplicity)
    return float(kernel_width)


def membership_method(membership, rows, n_classes):
    """Return "exact" or "approximate": how such rows are compared where ``membership`` is asked."""
    if is_tensor(rows.X):
        if membership == "approximate":
            raise ValueError("membership='approximate' runs on the host; on a device it is 'exact'")
        return "exact"
    if membership == "exact" or (membership == "auto" and len(rows.X) <= AUTO_EXACT_ROWS):
        return "exact"
    return "approximate" if approximable(rows.labels, n_classes) else "exact"


class WeighedByKernel(BaseRVFLClassifier):
    """Adds row weights made of the statistics of all pairs of rows; not for direct use."""

    kernel_width: float | str
    kernel_width_: float
    n_jobs: int | None

    _comparison_seed = 0  # of the rows sampled, where rows are

    @called_by_search
    @bypassed_in_parts
    def _weights_of(self, rows, statistics, width, setting):
        """Return the row weights of a setting, and all that it makes of the rows."""
        raise NotImplementedError

    @bypassed_in_parts
    def _remember_weights(self, prepared, found):
        """Set the fitted attributes of the training rows."""
        raise NotImplementedError

    def _fit_weights(self, prepared):
        setting = {name: getattr(self, name) for name in self._weight_parameters}
        ((weight, found, width),) = self._weighed(prepared.rows, [setting], {})
        self.kernel_width_ = width
        self._remember_weights(prepared, found)
        cost, weight = super()._fit_weights(prepared), beside(weight, prepared.rows.X)
        return weight if cost is None else cost * weight

    def _importances(self, prepared, settings, statistics):
        cost = super()._fit_weights(prepared)
        for weight, *_ in self._weighed(prepared.rows, settings, statistics):
            yield weight if cost is None else cost * weight

    @called_by_search
    @bypassed_in_parts
    def _weighed(self, rows, settings, statistics):
        """Yield each setting's weights, all it makes of the rows, and the width: compared once."""
        X, labels, multiplicity = rows
        n_classes, seed = len(self.classes_), self._comparison_seed
        exact = membership_method(getattr(self, "membership", "exact"), rows, n_classes) == "exact"
        for setting in settings:
            width = resolve_kernel_width(setting["kernel_width"], X, multiplicity)
            # Exact statistics depend on the rows alone, so every search over them may share them.
            key = width if exact else (width, seed)
            compared = X, labels, n_classes, width
            if key not in statistics and is_tensor(X):
                statistics[key] = statistics_of_tensors(*compared, multiplicity)
            elif key not in statistics:
                if exact:
                    pairs = pairs_to_compare(np.bincount(labels))
                else:
                    pairs = pairs_to_sample(labels, n_classes)
                with Progress(pairs, "memberships") as progress:
                    workers = Workers(threads_for(self.n_jobs), one_blas_thread, progress.advance)
                    if exact:
                        statistics[key] = kernel_statistics(*compared, multiplicity, workers)
                    else:  # a stream apart from those of the layer, which have keys of one number
                        stream = np.random.SeedSequence(seed, spawn_key=tuple(b"membership"))
                        rng = np.random.default_rng(stream)
                        statistics[key] = approximate_statistics(
                            *compared, multiplicity, rng, workers=workers
                        )
            weights = ("row weights", key, *setting.values())
            if weights not in statistics:
                statistics[weights] = self._weights_of(rows, statistics[key], width, setting)
            yield *statistics[weights], width

    def _compare_on(self, device, rows, settings, statistics):
        """Find the statistics of all settings on a device, where only rounding differs there."""
        n_classes = len(self.classes_)
        method = membership_method(getattr(self, "membership", "exact"), rows, n_classes)
        if method == "exact":
            X, labels, weight = rows
            widths = {resolve_kernel_width(one["kernel_width"], X, weight) for one in settings}
            new = sorted(widths - statistics.keys())
            statistics |= statistics_on_device(X, labels, n_classes, new, weight, device)


class RoBellRVFLClassifier(StreamingMixin, WeighedByKernel):
    """RoBell-RVFL: a robust generalized-bell RVFL network for imbalanced data.

    An RVFL network whose ridge regression weighs row i by its class cost (the size of the
    smallest class over that of its own) times its probability-weighted generalized-bell
    membership: 1 for rows of the smallest class; for all others a bell of the distance to the
    class mean in a Gaussian kernel's space, times the share of the row's class in its
    neighbourhood.

    The equations are the paper's; where its print is ambiguous or contradicts itself, the
    decisions are listed in ``docs/paper/errata.md``. Despite the name, the weighting is not robust
    to label noise that reaches the minority class; see ``docs/guide/robell.md``.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, the paper's γ, as in :class:`RVFLClassifier`.
    kernel_width : float or "scale", default=1.0
        Width ξ of the kernel exp(-d²/ξ²). ``"scale"`` is sqrt(n_features * X.var()), which is
        sqrt(n_features) on standardised data.
    rho : float, default=1.0
        Width and steepness of the bell, in units of the class's largest radius.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"ratio", "balanced", "golden", "complement"}, dict or None, default="ratio"
        Class cost that multiplies the memberships; ``"ratio"`` (n_min / n_c) is the paper's.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``.
    membership : {"exact", "approximate", "auto"}, default="exact"
        ``"exact"`` compares all pairs of rows. ``"approximate"`` takes time linear in the rows:
        class means through landmarks, neighbours counted among sampled rows;
        ``membership_error_`` says how far off each membership may be. Where no class has more
        than 4,096 rows it is exact too. ``"auto"`` is approximate beyond 100,000 rows.
    n_jobs : int or None, default=None
        Number of threads that compare rows, as in joblib: None means 1 outside a
        ``joblib.parallel_config`` context, -1 all cores. Results do not depend on it, to the bit.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer, and, in a stream of its own, of the samples of approximate
        memberships.

    Attributes
    ----------
    membership_ : ndarray of shape (n_samples,)
        PW-GB membership of every training row, in (0, 1]; 0 for rows of weight zero.
    membership_error_ : ndarray of shape (n_samples,)
        Bound of the difference from the exact membership, 0 where that was computed. The bounds of
        all rows hold together with a confidence of 99 %.
    membership_method_ : {"exact", "approximate"}
        How memberships were computed.
    class_probability_ : ndarray of shape (n_samples,)
        Share of the row's class in its neighbourhood; NaN for rows of weight zero.
    radius_ : ndarray of shape (n_samples,)
        Distance to the class mean in the kernel's space; NaN for rows of weight zero.
    kernel_width_ : float
        The kernel width used.
    coef_, intercept_ : ndarray of shape (n_features_in_ + n_hidden, n_classes) and (n_classes,)
        Output weights, the paper's V; the constant's are zeros unless ``output_bias``.
    drift_ : dict
        After ``partial_fit``, once memberships are frozen: how unlikely later rows would be if
        they were as the earlier ones; see ``docs/guide/streaming_method.md``.
    engine_ : {"triton", "torch"}
        What compared pairs of rows; only when fitted to tensors.
    classes_, hidden_weights_, hidden_bias_, C_, solver_, calibration_slope_, \
calibration_offsets_, device_, dtype_, n_features_in_, feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    pw_gbell_membership : The memberships alone, as weights for any estimator.

    Notes
    -----
    Time grows with the square of the number of rows (all pairs are compared twice), memory
    linearly; with ``membership="approximate"`` both grow linearly. A row of weight k counts as k
    rows; approximate memberships of weighted and of repeated rows agree within their bounds only.
    For more than two classes, which the paper does not define, the same formulas hold with the
    smallest class as the minority and every other as a majority.

    The minority is counted in each fit, by total ``sample_weight``: weights that state importance
    rather than counts can make another class the minority. Of classes of equal size the one whose
    label sorts first counts as the smallest, so renaming the labels of a balanced table can change
    predictions: on standardised iris, turning the order of the names round changes 13 of 150.

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

    class_probability_: NDArray[Any]
    membership_: NDArray[Any]
    membership_error_: NDArray[Any]
    membership_method_: str
    radius_: NDArray[Any]

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        **_MEMBERSHIP_CONSTRAINTS,
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        kernel_width: float | str = 1.0,
        rho: float = 1.0,
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = "ratio",
        calibrate: bool = True,
        membership: str = "exact",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.kernel_width = kernel_width
        self.rho = rho
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.membership = membership
        self.n_jobs = n_jobs
        self.random_state = random_state

    _weight_parameters = ("kernel_width", "rho")
    _capabilities = Capabilities(
        streams=True, passes=True, tensors=True, exact_search=True, weighs_by_membership=True
    )

    def _fit_features(self, rows, seed):
        super()._fit_features(rows, seed)
        self._comparison_seed = seed

    def _weights_of(self, rows, statistics, width, setting):
        found = pw_gbell(statistics, to_host(rows.labels), float(setting["rho"]))
        return found.membership, (found, statistics.minority)

    def _remember_weights(self, prepared, found):
        rows, (found, minority) = prepared.rows, found
        self.membership_method_ = membership_method(self.membership, rows, len(self.classes_))
        if is_tensor(rows.X):
            self.engine_ = engine_of(rows.X)
        error = found.error
        if error is None:
            error = np.zeros(len(rows.labels))
        elif (vague := (error[rows.labels != minority] > VAGUE_ERROR).mean()) > VAGUE_SHARE:
            warnings.warn(
                f"the approximate memberships of {vague:.0%} of the rows outside the smallest "
                f"class are uncertain by more than {VAGUE_ERROR}: few of the sampled rows lie "
                "within their neighbourhoods; a larger kernel_width or membership='exact' helps",
                RuntimeWarning,
                stacklevel=level_of_user(),
            )
        self.membership_ = prepared.in_order_given(found.membership, 0.0)
        self.membership_error_ = prepared.in_order_given(error, 0.0)
        self.class_probability_ = prepared.in_order_given(found.class_probability, np.nan)
        self.radius_ = prepared.in_order_given(found.radius, np.nan)


# Fits memberships alone; messages name the function that was called.
_Membership = type("pw_gbell_membership", (RoBellRVFLClassifier,), {})


@validate_params(
    _MEMBERSHIP_CONSTRAINTS
    | {
        "X": "no_validation",  # checked with y, in one line
        "y": "no_validation",
        "random_state": ["random_state"],
        "return_error": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def pw_gbell_membership(
    X: ArrayLike,
    y: ArrayLike,
    kernel_width: float | str = 1.0,
    rho: float = 1.0,
    sample_weight: ArrayLike | None = None,
    *,
    membership: str = "exact",
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    return_error: bool = False,
) -> Any:
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
    membership : {"exact", "approximate", "auto"}, default="exact"
        Whether all pairs of rows are compared, or, in time linear in the rows, samples of them;
        as in :class:`RoBellRVFLClassifier`.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of approximate memberships.
    return_error : bool, default=False
        Whether to return the bounds of the memberships' errors too.

    Returns
    -------
    membership : ndarray of shape (n_samples,)
        Values in (0, 1]; 0 for rows of weight zero.
    error : ndarray of shape (n_samples,)
        Bounds of the differences from the exact memberships, which hold together with a
        confidence of 99 %; zeros where all pairs were compared. Only with ``return_error``.

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
    if uses_device(X):
        raise TypeError(
            "pw_gbell_membership takes arrays: give X.cpu(), or fit RoBellRVFLClassifier to the "
            "tensors and take its membership_"
        )
    model = _Membership(kernel_width=kernel_width, rho=rho, membership=membership, n_jobs=n_jobs)
    model._validate_params()
    prepared = model._prepare(X, y, sample_weight)
    if membership != "exact":  # exact memberships draw nothing, and leave a RandomState as it is
        model._comparison_seed = draw_seed(random_state)
    model._fit_weights(prepared)
    return (model.membership_, model.membership_error_) if return_error else model.membership_
