"""RVFL+ and KRVFL+: networks that learn with columns which will be missing at prediction."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.layers.features import RowBlocks, column_scales, draw_random_layer, hidden_output
from robell._core.membership.pairs import require_squares, squared_distances
from robell._core.ridge.solve import (
    Blocks,
    InBlocks,
    RidgeSolution,
    kernel_left_out_errors,
    left_out_errors,
    solve_kernels,
)
from robell.models._estimator import PAPER_C, BaseRVFLClassifier, Capabilities
from robell.models._validation import ARRAY_CHECKS, draw_seed, one_line_errors
from robell.models.robell import resolve_kernel_width

PENALTIES = np.array([10.0**k for k in range(-2, 6)])  # what privileged_penalty="loo" chooses from
KERNEL_ROWS = 20_000  # a kernel of all pairs of more rows takes gigabytes, and hours
SMALLEST_WIDTH = 1e-150  # whose square is a number; beyond, all kernel values are 0 or 1
STUDENT = np.array([1.0, 0.0])  # of the inputs' block and the privileged one, the first predicts


class PrivilegedMixin(BaseRVFLClassifier):
    """Adds ``privileged`` to ``fit``; not for direct use."""

    privileged_penalty: float | str
    privileged_mean_: NDArray[Any]
    privileged_penalty_: float
    privileged_scale_: NDArray[Any]

    __metadata_request__fit = {"privileged": True}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        privileged: ArrayLike | None = None,
    ) -> Self:
        """Fit the output weights in closed form.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, best standardised (a ``StandardScaler`` before this step).
        y : array-like of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row: weight 2 is the row given twice, weight 0 its absence.
        privileged : array-like of shape (n_samples, n_privileged), default=None
            Columns known of the training rows only, without missing values. They are
            standardised here, since a pipeline's scaler does not see them. Searches and
            cross-validation cut them into folds with the rows, and pipelines pass them on as
            ``step__privileged``; with metadata routing they are requested by default. Without
            them the model is fitted to X alone.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        for name in list(vars(self)):
            if name.startswith("privileged_") and name[-1] == "_":
                delattr(self, name)
        prepared = self._prepare(X, y, sample_weight, privileged)
        self._fit_features(prepared.rows, draw_seed(self.random_state))
        return self._fit_weighted(prepared, self._fit_weights(prepared))

    def _prepare(self, X, y, sample_weight=None, privileged=None):
        """Validate; privileged columns, standardised, stand behind the rows' own."""
        prepared = super()._prepare(X, y, sample_weight)
        if privileged is None:
            return prepared
        rows, name = prepared.rows, type(self).__name__
        n_rows, n_dimensions = prepared.n_given, np.ndim(privileged)
        if n_dimensions != 2:
            raise ValueError(
                "privileged must be a table, one row for every row of X and a column a feature; "
                f"got {n_dimensions} dimension(s)"
            )
        if len(privileged) != n_rows:
            raise ValueError(
                f"privileged must have one row for every row of X, {n_rows}; got {len(privileged)}"
            )
        with one_line_errors(name, privileged, "privileged"):
            checks = {"input_name": "privileged", "ensure_min_features": 0}
            Z = check_array(privileged, **checks, **ARRAY_CHECKS)
        Z = Z if len(Z) == len(rows.X) else Z[prepared.present]
        self.privileged_mean_, self.privileged_scale_ = column_scales(Z, rows.multiplicity)
        with np.errstate(over="ignore"):
            Z = (Z - self.privileged_mean_) / self.privileged_scale_
        return prepared._replace(rows=rows._replace(X=np.hstack([rows.X, Z])))

    def _split(self, X):
        """Return the rows' own columns, and the privileged ones behind them."""
        return X[:, : self.n_features_in_], X[:, self.n_features_in_ :]

    def _leaves_out(self):
        return super()._leaves_out() or self.privileged_penalty == "loo"

    def _choose(self, errors_of, has_privileged=True):
        """Set C_ and privileged_penalty_; of equal errors the larger, then the smaller C."""
        candidates = PAPER_C if self.C == "loo" else np.array([float(self.C)])
        penalties = [float("inf")]
        if has_privileged:
            is_chosen = self.privileged_penalty == "loo"
            penalties = PENALTIES.tolist() if is_chosen else [float(self.privileged_penalty)]
        place = (0, 0)
        if len(penalties) * len(candidates) > 1:
            errors = np.array([errors_of(penalty, candidates) for penalty in penalties])
            errors = np.where(np.isfinite(errors), errors, np.inf)
            place = min(np.ndindex(errors.shape), key=lambda at: (errors[at], -at[0], at[1]))
        self.C_ = float(candidates[place[1]])
        if has_privileged:
            self.privileged_penalty_ = penalties[place[0]]


class RVFLPlusClassifier(PrivilegedMixin, BaseRVFLClassifier):
    """RVFL+: an RVFL network whose training errors are explained by privileged columns.

    Some columns are known of the training rows only: results that come later, notes of an
    expert, a costly measurement. A second random layer on them stands beside the network in the
    fit, takes over the errors it can explain, and is thrown away; prediction needs X alone.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes of both layers, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`; ``"loo"`` by the leave-one-out errors
        of the model that predicts, without privileged columns.
    privileged_penalty : float or "loo", default=1000.0
        Penalty of the privileged layer, the paper's gamma. The larger, the less it explains: for
        large values the model is :class:`RVFLClassifier`, for small ones little is left to learn.
        ``"loo"`` chooses from 1e-2 to 1e5, in powers of ten, as ``C`` is chosen.
    privileged_hidden : int or None, default=None
        Number of hidden nodes on the privileged columns; None for ``n_hidden``.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class, as in :class:`RVFLClassifier`.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``, from the leave-one-out scores of
        the model that predicts.
    random_state : int, RandomState instance or None, default=None
        Seed of both layers.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_ + n_hidden, n_classes)
        Output weights that predict: those of the inputs, then of the nodes.
    privileged_coef_ : ndarray of shape (n_privileged + privileged_hidden, n_classes)
        Output weights of the privileged layer; this and the next, only if fitted with it.
    privileged_weights_, privileged_bias_ : ndarray
        The privileged layer.
    privileged_mean_, privileged_scale_ : ndarray of shape (n_privileged,)
        What privileged columns were standardised by.
    privileged_penalty_ : float
        The penalty used.
    intercept_ : ndarray of shape (n_classes,)
        Output bias; zeros unless ``output_bias``.
    classes_, hidden_weights_, hidden_bias_, C_, solver_, calibration_slope_, \
calibration_offsets_, n_features_in_, feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    KernelRVFLPlusClassifier : The same with kernels in place of random layers.

    Notes
    -----
    One ridge regression on the design [m, z/√γ], of which the second block is thrown away. A
    further term of the release shifts the scores of all classes alike, so it is left out.

    Do not expect much: in simulations it helped only where the privileged columns explain label
    noise that does not depend on X (accuracy .640 to .644). Copies or cleaner versions of X did
    not help: what is learned are effects *given* the privileged columns, which then are missing.

    References
    ----------
    P.-B. Zhang, Z.-X. Yang, "A new learning paradigm for random vector functional-link network:
    RVFL+", Neural Networks 122 (2020) 94-105, arXiv 1708.08282.

    Examples
    --------
    >>> import numpy as np
    >>> from robell import RVFLPlusClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, later = rng.normal(size=(200, 3)), rng.normal(size=(200, 1))
    >>> y = (X[:, 0] + later[:, 0] > 0).astype(int)
    >>> model = RVFLPlusClassifier(privileged_penalty=1.0, random_state=0)
    >>> model = model.fit(X, y, privileged=later)
    >>> model.predict(X[:2]).shape
    (2,)
    >>> model.privileged_coef_.shape
    (104, 2)
    """

    privileged_bias_: NDArray[Any]
    privileged_coef_: NDArray[Any]
    privileged_weights_: NDArray[Any]

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        "privileged_penalty": [Interval(Real, 0, None, closed="neither"), StrOptions({"loo"})],
        "privileged_hidden": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        privileged_penalty: float | str = 1000.0,
        privileged_hidden: int | None = None,
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.privileged_penalty = privileged_penalty
        self.privileged_hidden = privileged_hidden
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    _weight_parameters = ("privileged_penalty",)  # of the rows [m, z/√γ] that a sample has

    def _fit_features(self, rows, seed):
        X, Z = self._split(rows.X)
        super()._fit_features(rows._replace(X=X), seed)
        if Z.shape[1]:
            n_hidden = self.privileged_hidden or self.n_hidden
            layer = (Z.shape[1], int(n_hidden), float(self.bias_scale), seed)
            drawn = draw_random_layer(*layer, part="privileged ")
            self.privileged_weights_, self.privileged_bias_ = drawn

    def _features(self, X):
        """Make rows of the design matrix [1 x h], of the rows' own columns."""
        return super()._features(X[:, : self.n_features_in_])

    def _fit_ridge(self, X, T, weights, further_penalty, leave_out):
        """Solve the ridge on [m, z/√γ]."""
        width = self._n_columns()
        extra = X.shape[1] - self.n_features_in_
        if not extra:
            return super()._fit_ridge(X, T, weights, further_penalty, leave_out)
        columns = (slice(0, width), slice(width, width + extra + len(self.privileged_bias_)))
        blocks = Blocks(columns, 1.0, STUDENT)

        def system(penalty):
            return InBlocks(self._joint(X, penalty), T, weights, blocks)

        self._choose(lambda penalty, candidates: left_out_errors(system(penalty), candidates))
        found = system(self.privileged_penalty_).solve(self.C_, leave_out)
        self.privileged_coef_ = found.beta[width:] / np.sqrt(self.privileged_penalty_)
        return RidgeSolution(found.beta[:width], found.method, found.loo_scores)

    def _joint(self, X, penalty):
        """Return the design matrix [m, z/√γ] of rows with privileged columns, in blocks."""
        (own, Z), scale = self._split(X), 1.0 / np.sqrt(penalty)

        def make_rows(rows):
            layer = (self.privileged_weights_, self.privileged_bias_, self.activation)
            H = hidden_output(Z[rows], *layer)
            return np.hstack([self._features(own[rows]), scale * Z[rows], scale * H])

        width = self._n_columns() + Z.shape[1] + len(self.privileged_bias_)
        return RowBlocks(make_rows, len(X), width)


class KernelRVFLPlusClassifier(PrivilegedMixin, BaseRVFLClassifier):
    """KRVFL+: RVFL+ with kernels in place of the random layers.

    The kernel of two rows is their product, for the direct links, plus a Gaussian one. All pairs of
    rows are held, six times over: a second for 2,000 rows; about 11 minutes and 19 GB for 20,000,
    the most it takes.

    Parameters
    ----------
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLPlusClassifier`.
    kernel_width : float or "scale", default="scale"
        ξ of the Gaussian exp(-d²/ξ²) of both kernels; ``"scale"`` is √(n_features Var X), which
        is √n_features of standardised data, each table by its own.
    privileged_penalty : float or "loo", default=1000.0
        Penalty of the privileged kernel, as in :class:`RVFLPlusClassifier`.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class, as in :class:`RVFLClassifier`.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``, from the leave-one-out scores of
        the model that predicts.

    Attributes
    ----------
    training_rows_ : ndarray of shape (n_rows, n_features_in_)
        The rows that new ones are compared with; equal ones may be merged. The model holds them.
    coef_ : ndarray of shape (n_rows, n_classes)
        What each of them counts for.
    kernel_width_ : float
        The ξ used for X.
    privileged_kernel_width_ : float
        The ξ used for privileged columns; this and the next, only if fitted with them.
    privileged_mean_, privileged_scale_ : ndarray of shape (n_privileged,)
        What privileged columns were standardised by.
    privileged_penalty_ : float
        The penalty used.
    intercept_ : ndarray of shape (n_classes,)
        Zeros.
    solver_ : {"dual", "svd"}
        How the system was solved: by Cholesky, or by its eigenvalues where it was singular.
    classes_, C_, calibration_slope_, calibration_offsets_, n_features_in_, feature_names_in_ : \
see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    RVFLPlusClassifier : The same with random layers, for any number of rows.

    Notes
    -----
    The releases offer six kernels and two widths; this is the Gaussian one. Nothing is random.

    References
    ----------
    P.-B. Zhang, Z.-X. Yang, "A new learning paradigm for random vector functional-link network:
    RVFL+", Neural Networks 122 (2020) 94-105, arXiv 1708.08282.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from robell import KernelRVFLPlusClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> model = KernelRVFLPlusClassifier().fit(X[:, :8], y, privileged=X[:, 8:])
    >>> model.score(X[:, :8], y) > 0.9
    True
    """

    kernel_width_: float
    privileged_kernel_width_: float
    training_rows_: NDArray[Any]

    _parameter_constraints = {
        name: BaseRVFLClassifier._parameter_constraints[name]
        for name in ("C", "class_weight", "calibrate")
    } | {
        "kernel_width": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale"})],
        "privileged_penalty": RVFLPlusClassifier._parameter_constraints["privileged_penalty"],
    }

    def __init__(
        self,
        C: float | str = 1.0,
        *,
        kernel_width: float | str = "scale",
        privileged_penalty: float | str = 1000.0,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
    ) -> None:
        self.C = C
        self.kernel_width = kernel_width
        self.privileged_penalty = privileged_penalty
        self.class_weight = class_weight
        self.calibrate = calibrate

    _capabilities = Capabilities()
    # A kernel has no constant and draws nothing.
    output_bias = False
    random_state = 0

    def _fit_rows(self, rows):
        if len(rows.X) > KERNEL_ROWS:
            raise ValueError(
                f"KernelRVFLPlusClassifier holds all pairs of rows, of at most {KERNEL_ROWS:,}; "
                f"X has {len(rows.X):,}: give a sample, or take RVFLPlusClassifier"
            )
        return rows

    def _fit_features(self, rows, seed):
        X, Z = self._split(rows.X)
        require_squares(rows.X)
        self.training_rows_ = X  # all of them, until equal ones are merged
        self.kernel_width_ = resolve_kernel_width(self.kernel_width, X, rows.multiplicity)
        if Z.shape[1]:
            width = resolve_kernel_width(self.kernel_width, Z, rows.multiplicity)
            self.privileged_kernel_width_ = width

    def _features(self, X):
        """Return the kernel of rows and the training rows, xx'ᵀ + exp(-|x - x'|²/ξ²)."""
        return _linear_and_gaussian(X, self.training_rows_, self.kernel_width_)

    def _n_columns(self):
        return len(self.training_rows_)

    def _fit_ridge(self, X, T, weights, further_penalty, leave_out):
        """Solve the ridge on Gram matrices."""
        own, Z = self._split(X)
        self.training_rows_ = np.array(own, order="C")  # a copy: the caller may change X later
        student, has_privileged = self._features(self.training_rows_), Z.shape[1] > 0
        teacher: Any = None
        if has_privileged:
            teacher = _linear_and_gaussian(Z, Z, self.privileged_kernel_width_)

        def errors(penalty, candidates):
            joint = student + teacher / penalty if has_privileged else student.copy()
            return kernel_left_out_errors(student, joint, T, 1.0 / candidates, weights)

        self._choose(errors, has_privileged)
        joint = student.copy()
        if has_privileged:  # in place: every matrix of pairs counts
            joint, teacher = teacher, None
            joint /= self.privileged_penalty_
            joint += student
        return solve_kernels(student, joint, T, self.C_, weights, leave_out)


def _linear_and_gaussian(X, Y, width):
    """Return xyᵀ + exp(-|x - y|²/ξ²) of all pairs of rows."""
    shift = Y.mean(axis=0)  # distances stay, and rounding shrinks with the norms
    K = squared_distances(X - shift, Y - shift)
    with np.errstate(over="ignore", under="ignore"):
        K /= -(min(max(width, SMALLEST_WIDTH), 1.0 / SMALLEST_WIDTH) ** 2)
        np.exp(K, out=K)
        K += X @ Y.T
    return K
