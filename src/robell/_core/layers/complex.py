"""Complex features for C-RVFL and AC-RVFL: encodings of real tables, complex random layers.

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

from robell._core.array import Array
from robell._core.layers.features import (
    ACTIVATIONS,
    call_activation,
    draw_random_layer,
    random_stream,
)

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


def draw_complex_layer(
    n_inputs: int, n_hidden: int, bias_scale: float, seed: int
) -> tuple[ComplexArray, ComplexArray]:
    """Draw W = W_R + iW_I and b = b_R + ib_I, each part as a real layer's, nested like it."""
    W, b = draw_random_layer(n_inputs, n_hidden, bias_scale, seed)
    W_i, b_i = draw_random_layer(n_inputs, n_hidden, bias_scale, seed, part="imaginary ")
    return W + 1j * W_i, b + 1j * b_i


def draw_circular_constants(n_features: int, seed: int) -> ComplexArray:
    """Draw a + ib and α of sin(ax + ibx + α): a, b ~ Uniform(0, 1], α ~ Uniform[0, 2π)."""
    a, b, alpha = random_stream(seed, "encoding").uniform(size=(n_features, 3)).T
    return np.stack([(1.0 - a) + 1j * (1.0 - b), 2.0 * np.pi * alpha])


def encode(
    X: Array, encoding: str, low: Array, span: Array, circular: ComplexArray | None
) -> ComplexArray:
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
    if circular is None:
        raise ValueError("the circular encoding needs its constants")
    rate, shift = circular
    return np.asarray(np.sin(u * rate + shift))


def real_augmented(Z: ComplexArray, H: ComplexArray, output_bias: bool) -> Array:
    """Stack R = [1 Re Z Im Z | Re h_1 Im h_1 | Re h_2 Im h_2 ...], a node's two parts together."""
    nodes = H.view(np.float64)  # complex128 is stored as (re, im) pairs
    ones = [np.ones((len(Z), 1))] if output_bias else []
    return np.hstack([*ones, Z.real, Z.imag, nodes])
