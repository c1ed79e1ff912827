"""IFRVFL and GE-IFRVFL-CIL: rows weighted by intuitionistic fuzzy scores, with or without graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.membership.equations import intuitionistic_scores, without_empty_classes
from robell.models._estimator import BaseRVFLClassifier, Capabilities, LeftOutInFolds
from robell.models._validation import level_of_user
from robell.models.robell import KERNEL_CONSTRAINTS, WeighedByKernel


class IntuitionisticFuzzyRVFLClassifier(WeighedByKernel, LeftOutInFolds):
    """IFRVFL, and GE-IFRVFL-CIL with a ``graph``: rows weighted by intuitionistic fuzzy scores.

    A row's membership μ falls with its distance to the class mean in a Gaussian kernel's space, its
    non-membership ν is (1 - μ) times the share of other classes among its neighbours. The score is
    μ where no neighbour is of another class, 0 where μ <= ν, and (1 - ν) / (2 - μ - ν) otherwise.
    The ridge regression weighs a row by a power of its score times its class cost.

    **The score erases minorities.** A minority row among the majority has mostly foreign
    neighbours: of two Gaussians with ten majority rows for each minority row, 60 to 97 % of the
    minority and at most 10 % of the majority scored 0. A class of which all rows score 0 gets ones
    instead, with a warning; ``score_`` keeps the zeros. The model is here to compare with, not to
    be recommended (``docs/guide/family.md``).

    GE-IFRVFL-CIL is ``IntuitionisticFuzzyRVFLClassifier(score_power=1, class_weight="ratio",
    graph="lda")``.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`; ``"loo"`` by the errors of rows in
        folds (see ``calibrate``), and not with a ``graph``.
    kernel_width : float or "scale", default="scale"
        Width ξ of the kernel exp(-d²/ξ²), as in :class:`RoBellRVFLClassifier`.
    score_power : float, default=2
        Power of the score in the ridge regression. 2, for IFRVFL, is our reading: the authors'
        broad-learning twin squares. GE-IFRVFL-CIL has 1.
    graph : {"lda", "lfda"} or None, default=None
        Graph embedding of the samples, as in :class:`GranularBallRVFLClassifier`.
    graph_weight : float, default=0.001
        Weight of the graph term against the size of the output weights.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Class cost that multiplies the scores' powers, as in :class:`RVFLClassifier`;
        GE-IFRVFL-CIL has ``"ratio"``.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``: on ten folds (five beyond 2,000
        distinct rows), whose scores and graph are made without them. Leave-one-out scores would
        be too good: the weights of a row's neighbours know its label.
    n_jobs : int or None, default=None
        Number of threads that compare rows, as in :class:`RoBellRVFLClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer.

    Attributes
    ----------
    score_ : ndarray of shape (n_samples,)
        Intuitionistic fuzzy score of every training row, in [0, 1]; 0 for rows of weight zero.
    foreign_share_ : ndarray of shape (n_samples,)
        Share of other classes in the row's neighbourhood; NaN for rows of weight zero.
    radius_ : ndarray of shape (n_samples,)
        Distance to the class mean in the kernel's space; NaN for rows of weight zero.
    kernel_width_ : float
        The kernel width used.
    solver_ : {"primal", "dual", "svd", "lu"}
        How the system was solved, as in :class:`RVFLClassifier`; with a graph by LU.
    classes_, hidden_weights_, hidden_bias_, coef_, intercept_, C_, calibration_slope_, \
calibration_offsets_, n_features_in_, feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    RoBellRVFLClassifier : Memberships in which the minority always weighs 1.
    HuberRVFLClassifier : Weights that never vanish.

    Notes
    -----
    Decisions where releases differ: a neighbour is at most the largest radius away (<=); the
    constant 10⁻⁴ beside the largest radius is kept; every row uses its own membership (a release
    takes the first row's for all); weights enter both sides of the system (one release weighs only
    one). More than two classes, which the papers do not define: the share of all other classes.
    Time grows with the square of the number of rows. One foreign neighbour may *raise* a score:
    scores are not monotone in the share of other classes.

    References
    ----------
    A. K. Malik, M. A. Ganaie, M. Tanveer, P. N. Suganthan, "Alzheimer's disease diagnosis via
    intuitionistic fuzzy random vector functional link network", IEEE Transactions on
    Computational Social Systems 11 (2024). M. A. Ganaie, M. Sajid, A. K. Malik, M. Tanveer,
    "Graph embedded intuitionistic fuzzy random vector functional link neural network for class
    imbalance learning", IEEE Transactions on Neural Networks and Learning Systems 35 (2024).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from robell import IntuitionisticFuzzyRVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = IntuitionisticFuzzyRVFLClassifier(random_state=0).fit(scale(X), y)
    >>> bool((model.score_[y == 0] == 0).mean() > (model.score_[y == 1] == 0).mean())
    True
    """

    foreign_share_: NDArray[Any]
    radius_: NDArray[Any]
    score_: NDArray[Any]

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        **KERNEL_CONSTRAINTS,
        "score_power": [Interval(Real, 0, 10, closed="right")],
        "graph": [StrOptions({"lda", "lfda"}), None],
        "graph_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        kernel_width: float | str = "scale",
        score_power: float = 2,
        graph: str | None = None,
        graph_weight: float = 1e-3,
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
        self.score_power = score_power
        self.graph = graph
        self.graph_weight = graph_weight
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state

    _capabilities = Capabilities(exact_search=True, weighs_by_membership=True)
    _weight_parameters = ("kernel_width", "score_power")
    _of_fold = False  # whether this copy weighs the rows without a fold

    def _weights_of(self, rows, statistics, width, setting):
        score = intuitionistic_scores(statistics, rows.labels)
        used, erased = without_empty_classes(score, rows.labels)
        if len(erased) and not self._of_fold:
            which = ", ".join(map(repr, self.classes_[erased].tolist()))
            warnings.warn(
                f"all rows of class {which} have the intuitionistic fuzzy score 0: they weigh 1 "
                "instead, or the class would not be learnt",
                UserWarning,
                stacklevel=level_of_user(),
            )
        return used ** float(setting["score_power"]), (score, statistics)

    def _remember_weights(self, prepared, found):
        score, statistics = found
        self.score_ = prepared.in_order_given(score, 0.0)
        self.foreign_share_ = prepared.in_order_given(statistics.foreign_share, np.nan)
        self.radius_ = prepared.in_order_given(statistics.radius, np.nan)
