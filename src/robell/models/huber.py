"""R2VFL: rows weighted by Huber's weight of their distance to the class centre."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.membership.equations import class_medians, distances_to_medians, huber_weights
from robell.models._estimator import BaseRVFLClassifier, Capabilities, LeftOutInFolds
from robell.models.robell import KERNEL_CONSTRAINTS, WeighedByKernel


class HuberRVFLClassifier(WeighedByKernel, LeftOutInFolds):
    """R2VFL: an RVFL network whose rows count less the further they are from their class.

    The ridge regression weighs row i by Huber's weight of its distance d to the centre of its class
    in a Gaussian kernel's space (1 up to a threshold τ, τ / d beyond) times the share of its class
    in its neighbourhood, and by the class cost.

    No row vanishes, and both classes are treated alike: it does nothing about imbalance by itself.
    With ``class_weight="balanced"`` it does.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`; ``"loo"`` by the errors of rows in
        folds (see ``calibrate``).
    kernel_width : float or "scale", default="scale"
        Width ξ of the kernel exp(-d²/ξ²), as in :class:`RoBellRVFLClassifier`.
    threshold : float or "median", default="median"
        Distance τ up to which rows keep their weight, at most √2. ``"median"`` is the median
        distance of each class: half of its rows keep theirs.
    center : {"mean", "median"}, default="mean"
        Centre of a class: its mean in the kernel's space (R2VFL-A), or the image of its
        feature-wise median there (R2VFL-M).
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Class cost that multiplies the weights, as in :class:`RVFLClassifier`.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``: on ten folds (five beyond 2,000
        distinct rows), whose weights are made without them, since weights know labels.
    n_jobs : int or None, default=None
        Number of threads that compare rows, as in :class:`RoBellRVFLClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer.

    Attributes
    ----------
    membership_ : ndarray of shape (n_samples,)
        Huber's weight times the class probability of every training row, in (0, 1]; 0 for rows of
        weight zero.
    distance_ : ndarray of shape (n_samples,)
        Distance to the centre of the class; NaN for rows of weight zero.
    class_probability_ : ndarray of shape (n_samples,)
        Share of the row's class in its neighbourhood; NaN for rows of weight zero.
    threshold_ : ndarray of shape (n_classes,)
        The threshold of each class.
    kernel_width_ : float
        The kernel width used.
    classes_, hidden_weights_, hidden_bias_, coef_, intercept_, C_, solver_, calibration_slope_, \
calibration_offsets_, n_features_in_, feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    RoBellRVFLClassifier : Memberships in which the minority always weighs 1.

    Notes
    -----
    Our reading: only the abstract and a review were at hand. The weight enters to the first power;
    neighbours are those of RoBell, within the largest radius of all classes; a median does not
    exist in the kernel's space, so that of the columns of X is taken there. The paper tunes τ.
    Where more than half of a class is one and the same row, its median distance is 0, and all of
    the class keeps the weight 1. Time grows with the square of the number of rows.

    References
    ----------
    A. Kumari, M. Akhtar, P. N. Suganthan, M. Tanveer, "R2VFL: A robust random vector functional
    link network with Huber-weighted framework", arXiv 2504.21069 (2025).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from robell import HuberRVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HuberRVFLClassifier(class_weight="balanced", random_state=0).fit(scale(X), y)
    >>> bool(model.membership_.min() > 0)
    True
    """

    class_probability_: NDArray[Any]
    distance_: NDArray[Any]
    membership_: NDArray[Any]
    threshold_: NDArray[Any]

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        **KERNEL_CONSTRAINTS,
        "threshold": [Interval(Real, 0, None, closed="neither"), StrOptions({"median"})],
        "center": [StrOptions({"mean", "median"})],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        kernel_width: float | str = "scale",
        threshold: float | str = "median",
        center: str = "mean",
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.kernel_width = kernel_width
        self.threshold = threshold
        self.center = center
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state

    _capabilities = Capabilities(exact_search=True, weighs_by_membership=True)
    _weight_parameters = ("kernel_width", "threshold", "center")

    def _weights_of(self, rows, statistics, width, setting):
        X, labels, multiplicity = rows
        n_classes = len(self.classes_)
        distance = statistics.radius
        if setting["center"] == "median":
            distance = distances_to_medians(X, labels, n_classes, multiplicity, width)
        if setting["threshold"] == "median":
            threshold = class_medians(distance, labels, n_classes, multiplicity)
        else:
            threshold = np.full(n_classes, float(setting["threshold"]))
        probability = statistics.class_probability
        weight = huber_weights(distance, threshold[labels]) * probability
        return weight, (weight, probability, distance, threshold)

    def _remember_weights(self, prepared, found):
        weight, probability, distance, self.threshold_ = found
        self.membership_ = prepared.in_order_given(weight, 0.0)
        self.distance_ = prepared.in_order_given(distance, np.nan)
        self.class_probability_ = prepared.in_order_given(probability, np.nan)
