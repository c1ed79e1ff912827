"""C-RVFL and AC-RVFL: RVFL networks in the complex plane.

    Z = ψ(X)                                      encoding, identity for complex X
    H = g(ZW + 1b),  W = W_R + iW_I               complex random layer
    M = [Z H]                                     C-RVFL, strictly linear: score Re(Mβ)
    M_a = [M M̄]                                  AC-RVFL, widely linear

With Q = [[I, I], [iI, -iI]], M_a = [Re M, Im M] Q and QQᴴ = 2I, so the augmented ridge with weight
C is the *real* ridge on R = [Re M, Im M] with weight 2C, of half the size and in real arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import validate_data

from robell._core.array import Array
from robell._core.layers.features import (
    ACTIVATIONS,
    call_activation,
    draw_random_layer,
    random_stream,
)
from robell.models._estimator import BaseRVFLClassifier
from robell.models._validation import ARRAY_CHECKS

ComplexArray = NDArray[np.complex128]

ENCODINGS = ("phase", "cartesian", "circular", "pair")


def complex_sech(Z: ComplexArray) -> ComplexArray:
    """Return 1/cosh z = 2eʸ/(1 + e²ʸ) with y = ±z, the sign that keeps the exponentials small."""
    small = np.exp(np.where(Z.real > 0, -Z, Z))
    return np.asarray(2.0 * small / (1.0 + small * small))


FULLY_COMPLEX: dict[str, Callable[[ComplexArray], ComplexArray]] = {
    "complex_tanh": np.tanh,
    "complex_sin": np.sin,
    "complex_asinh": np.arcsinh,
    "complex_sech": complex_sech,
}


def apply_complex_activation(activation: str | Callable[..., Any], Z: ComplexArray) -> ComplexArray:
    """Apply g: one of the ten to both parts, φ(a) + iφ(b); a fully complex one; or a callable."""
    if callable(activation):
        return np.asarray(call_activation(activation, Z, "numbers", "cfiub"))
    if activation in FULLY_COMPLEX:
        with np.errstate(over="ignore", invalid="ignore"):
            return FULLY_COMPLEX[activation](Z)
    split = ACTIVATIONS[activation]
    H = np.empty_like(Z)
    H.real, H.imag = split(Z.real), split(Z.imag)
    return H


def draw_circular_constants(n_features: int, seed: int) -> ComplexArray:
    """Draw a + ib and α of sin(ax + ibx + α): a, b ~ Uniform(0, 1], α ~ Uniform[0, 2π)."""
    a, b, alpha = random_stream(seed, "encoding").uniform(size=(n_features, 3)).T
    return np.stack([(1.0 - a) + 1j * (1.0 - b), 2.0 * np.pi * alpha])


def encode(X: Array, encoding: str, low: Array, span: Array, circular: Any) -> ComplexArray:
    """Map real rows into the complex plane: ψ.

    ``low`` and ``span`` are the training minimum and range of each feature; u = (x - low) / span,
    clipped to [0, 1], and 0 for a constant feature.
    """
    if encoding == "cartesian":
        return X.astype(np.complex128)
    if encoding == "pair":
        padded = np.hstack([X, np.zeros((len(X), X.shape[1] % 2))])
        return np.asarray(padded[:, ::2] + 1j * padded[:, 1::2])
    u = np.divide(X - low, span, out=np.zeros_like(X), where=span > 0)
    np.clip(u, 0.0, 1.0, out=u)
    if encoding == "phase":
        return np.asarray(np.exp(1j * np.pi * u))
    rate, shift = circular
    return np.asarray(np.sin(u * rate + shift))


class ComplexRVFLClassifier(BaseRVFLClassifier):
    """C-RVFL, and AC-RVFL with ``augmented=True``: complex-valued RVFL networks.

    Rows, random weights and activations are complex; the output weights are fitted by complex
    ridge regression to real one-hot targets, and the real part of the output is the score. The
    augmented network also uses the conjugate of every feature (it is *widely* linear).

    **The definition is inferred.** The paper that names the two models (Liu, Zhang, Chen, Li,
    2025) was not available, and no code was found: this is the plainest combination of complex
    ELM, phase and circular encodings of real tables, and augmented complex networks.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of complex hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        One of the ten names of :class:`RVFLClassifier`, applied to the real and imaginary parts
        apart; a fully complex one, ``"complex_tanh"``, ``"complex_sin"``, ``"complex_asinh"`` or
        ``"complex_sech"``; or a callable that maps a complex array to one of its shape.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`.
    encoding : {"phase", "cartesian", "circular", "pair"}, default="phase"
        How a real table becomes complex. With u the feature scaled to [0, 1] on the training
        rows (and clipped there later): ``"phase"`` is exp(iπu), ``"circular"`` is
        sin(au + ibu + α) with random a, b, α for each feature; ``"cartesian"`` is x + 0i, and
        ``"pair"`` takes consecutive features as real and imaginary part. Complex rows are used
        as they are.
    augmented : bool, default=False
        Whether the conjugate features enter too (AC-RVFL).
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Real and imaginary parts of the hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class, as in :class:`RVFLClassifier`.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer and of the circular encoding.

    Attributes
    ----------
    complex_input_ : bool
        Whether the training rows were complex.
    feature_low_, feature_span_ : ndarray of shape (n_features_in_,)
        Smallest training value of each feature, and their range; only for real input.
    circular_ : ndarray of shape (2, n_features_in_)
        a + ib and α of each feature; only with ``encoding="circular"``.
    hidden_weights_ : ndarray of shape (n_inputs, n_hidden)
        Complex weights of the hidden layer; ``n_inputs`` is the number of encoded features.
    hidden_bias_ : ndarray of shape (n_hidden,)
        Complex biases of the hidden layer.
    coef_ : ndarray of shape (n_inputs + n_hidden, n_classes)
        Complex output weights, of the encoded features and of the nodes. When augmented, real
        ones, twice as many: of the real parts of the features, of their imaginary parts, then
        of real and imaginary part of each node.
    intercept_ : ndarray of shape (n_classes,)
        Output bias; zeros unless ``output_bias``.
    classes_, C_, solver_, calibration_slope_, calibration_offsets_, n_features_in_, \
feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    References
    ----------
    C. Liu, H. Zhang, L. Chen, F. Li, "Complex-valued random vector functional link neural
    network based on real augmented representation and its applications", Applied Soft Computing
    170 (2025) 112682. M.-B. Li, G.-B. Huang, P. Saratchandran, N. Sundararajan, "Fully complex
    extreme learning machine", Neurocomputing 68 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from robell import ComplexRVFLClassifier
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(200, 2)) + 1j * rng.normal(size=(200, 2))
    >>> y = (Z[:, 0] * Z[:, 1].conj()).imag > 0
    >>> model = ComplexRVFLClassifier(augmented=True, C=100, random_state=0).fit(Z, y)
    >>> bool(model.score(Z, y) > 0.9)
    True
    """

    circular_: NDArray[Any]
    complex_input_: bool
    feature_low_: NDArray[Any]
    feature_span_: NDArray[Any]

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        "activation": [StrOptions({*ACTIVATIONS, *FULLY_COMPLEX}), callable],
        "encoding": [StrOptions(set(ENCODINGS))],
        "augmented": ["boolean"],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        encoding: str = "phase",
        augmented: bool = False,
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.encoding = encoding
        self.augmented = augmented
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    def _design(self, X):
        design = super()._design(X)
        design.dtype = np.float64 if self.augmented else np.complex128
        return design

    def _validate_training(self, X, y):
        if _is_complex(y):
            raise ValueError("Complex data not supported in y: labels are classes")
        self.complex_input_ = _is_complex(X)
        if not self.complex_input_:
            return super()._validate_training(X, y)
        Z = _complex_array(X)
        y = column_or_1d(y, warn=True)
        check_consistent_length(Z, y)
        validate_data(self, X, skip_check_array=True)  # names and number of features
        return Z, y

    def _validate_new(self, X):
        if not _is_complex(X):
            X = super()._validate_new(X)
            return X.astype(np.complex128) if self.complex_input_ else X
        if not self.complex_input_:
            raise ValueError("Complex data not supported here: the model was fitted to real rows")
        Z = _complex_array(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return Z

    def _fit_features(self, rows, seed):
        n_inputs = n_features = rows.X.shape[1]
        if not self.complex_input_:
            self.feature_low_ = rows.X.min(axis=0)
            with np.errstate(over="ignore"):
                self.feature_span_ = rows.X.max(axis=0) - self.feature_low_
            if not np.isfinite(self.feature_span_).all():
                raise ValueError(
                    "X is too large for its range to be computed: scale it first, "
                    "for instance with StandardScaler"
                )
            if self.encoding == "circular":
                self.circular_ = draw_circular_constants(n_features, seed)
            elif self.encoding == "pair":
                n_inputs = (n_features + 1) // 2
        layer = (n_inputs, int(self.n_hidden), float(self.bias_scale), seed)
        W, b = draw_random_layer(*layer)
        W_i, b_i = draw_random_layer(*layer, part="imaginary ")
        self.hidden_weights_, self.hidden_bias_ = W + 1j * W_i, b + 1j * b_i

    def _features(self, X):
        Z = X
        if not self.complex_input_:
            circular = self.circular_ if self.encoding == "circular" else None
            Z = encode(X, self.encoding, self.feature_low_, self.feature_span_, circular)
        H = apply_complex_activation(self.activation, Z @ self.hidden_weights_ + self.hidden_bias_)
        ones = [np.ones((len(Z), 1))] if self.output_bias else []
        if not self.augmented:
            return np.hstack([*ones, Z, H])
        # [1 Re Z Im Z | Re h_1 Im h_1 | ...]: complex128 is stored as (re, im) pairs
        return np.hstack([*ones, Z.real, Z.imag, H.view(np.float64)])

    def _n_columns(self):
        n_complex = sum(self.hidden_weights_.shape)
        return int(self.output_bias) + (1 + self.augmented) * n_complex

    @property
    def _C_factor(self):
        return 2.0 if self.augmented else 1.0

    @property
    def _columns_per_node(self):
        return 2 if self.augmented else 1


def _is_complex(X):
    try:
        return np.asarray(X).dtype.kind == "c"
    except ValueError:  # a ragged list, which the ordinary check explains
        return False


def _complex_array(X):
    """Validate real and imaginary part as tables of numbers."""
    X = np.asarray(X)
    return check_array(X.real, **ARRAY_CHECKS) + 1j * check_array(X.imag, **ARRAY_CHECKS)
