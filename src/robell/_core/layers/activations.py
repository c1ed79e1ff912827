"""The ten activations of the paper's Table S.III, in its order, plus any callable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Activation = Callable[[Array], Array]

SELU_LAMBDA = 1.0507009873554805
SELU_ALPHA = 1.6732632423543772
LEAKY_SLOPE = 0.1  # the lab's code divides by ten; the paper gives no slope (erratum E26)


def selu(Z: Array) -> Array:
    """Return λz for z > 0 and λα(eᶻ - 1) elsewhere."""
    # The exponent is clipped at 0: the branch not taken must not overflow.
    return SELU_LAMBDA * np.where(Z > 0, Z, SELU_ALPHA * np.expm1(np.minimum(Z, 0.0)))


def relu(Z: Array) -> Array:
    """Return max(0, z)."""
    return np.maximum(Z, 0.0)


def sigmoid(Z: Array) -> Array:
    """Return 1 / (1 + e⁻ᶻ)."""
    with np.errstate(over="ignore"):  # e⁻ᶻ = inf gives the right limit, 0
        out = np.exp(-Z)
    out += 1.0
    return np.reciprocal(out, out=out)


def sin(Z: Array) -> Array:
    """Return sin z."""
    return np.sin(Z)


def hardlim(Z: Array) -> Array:
    """Return 1 where z >= 0, else 0 (hardlim(0) = 1, erratum E26)."""
    return (Z >= 0).astype(np.float64)


def tribas(Z: Array) -> Array:
    """Return max(1 - |z|, 0)."""
    return np.maximum(1.0 - np.abs(Z), 0.0)


def radbas(Z: Array) -> Array:
    """Return exp(-z²)."""
    with np.errstate(over="ignore"):  # z² = inf gives the right limit, 0
        return np.exp(-np.square(Z))


def sign(Z: Array) -> Array:
    """Return -1, 0 or 1."""
    return np.sign(Z)


def leaky_relu(Z: Array) -> Array:
    """Return z for z >= 0 and z/10 elsewhere (erratum E26)."""
    return np.maximum(Z, LEAKY_SLOPE * Z)


def tansig(Z: Array) -> Array:
    """Return tanh z."""
    return np.tanh(Z)


ACTIVATIONS: dict[str, Activation] = {
    function.__name__: function
    for function in (
        selu,
        relu,
        sigmoid,
        sin,
        hardlim,
        tribas,
        radbas,
        sign,
        leaky_relu,
        tansig,
    )
}


def apply_activation(activation: str | Activation, Z: Array) -> Array:
    """Apply one of the ten by name, or a callable, to the pre-activations ``Z``.

    A callable must return finite or infinite floats in an array of the shape of ``Z``; it gets a
    copy, so writing into its argument harms nothing.
    """
    if not callable(activation):
        return ACTIVATIONS[activation](Z)
    H = np.asarray(activation(Z.copy()))
    if H.shape != Z.shape or H.dtype.kind not in "fiub":
        raise ValueError(
            f"activation must return real numbers of the shape of its input {Z.shape}; "
            f"got dtype {H.dtype} and shape {H.shape}"
        )
    return H.astype(np.float64, copy=False)
