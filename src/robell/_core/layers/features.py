"""The random layer and the design matrix, made one block of rows at a time; activations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from robell._core.array import EPS, Array, is_tensor, namespace

# Blocks of about this many numbers stay in the second-level cache between the activation and the
# Gram matrix, and bound the memory of fit and predict whatever the number of rows.
BLOCK_ELEMENTS = 1 << 17
TENSOR_BLOCK_ELEMENTS = 1 << 24  # of tensors: a device wants more to do at a time
# Of designs that are gone through again: all blocks are kept where that is quicker than to make
# them again, which for arrays is while they stay in the cache.
KEPT_ELEMENTS, KEPT_TENSOR_ELEMENTS = 1 << 20, 1 << 28

# Everything random comes from one seed through streams of its own, so that no draw depends on how
# many numbers another one took.
STREAMS = (
    "weights",
    "bias",
    "imaginary weights",
    "imaginary bias",
    "rules",
    "centers",
    "encoding",
    "inputs",
    "privileged weights",
    "privileged bias",
)


def random_stream(seed: int, name: str, place: int = 0) -> np.random.Generator:
    """Return the generator of a named stream of a seed; ``place`` counts layers of that name."""
    key = (STREAMS.index(name), place) if place else (STREAMS.index(name),)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def draw_random_layer(
    n_features: int,
    n_hidden: int,
    bias_scale: float,
    seed: int,
    *,
    low: float = -1.0,
    part: str = "",
    place: int = 0,
) -> tuple[Array, Array]:
    """Draw U ~ Uniform[low, 1], (B, D), and b ~ bias_scale * Uniform[0, 1], (D,)."""
    # Layers are nested: node j does not depend on ``n_hidden``, because weights are drawn node by
    # node and biases come from a stream of their own. The paper leaves the range of the bias open
    # (erratum E20).
    of_weights = random_stream(seed, f"{part}weights", place)
    weights = of_weights.uniform(low, 1.0, size=(n_hidden, n_features))
    bias = random_stream(seed, f"{part}bias", place).uniform(0.0, 1.0, size=n_hidden)
    return np.ascontiguousarray(weights.T), bias_scale * bias


def draw_sparse_layer(
    n_features: int, n_hidden: int, n_inputs: int, scale: float, seed: int
) -> tuple[Array, Array]:
    """Draw U of shape (B, D), ``n_inputs`` entries a column not zero, and b of shape (D,)."""
    n_inputs = min(n_inputs, n_features)
    weights, bias = draw_random_layer(n_features, n_hidden, 1.0, seed)
    lots = random_stream(seed, "inputs").random((n_hidden, n_features))
    drawn = lots <= np.sort(lots, axis=1)[:, n_inputs - 1 : n_inputs]
    return weights * drawn.T * (scale / np.sqrt(n_inputs)), 2.0 * bias - 1.0


def hidden_output(X: Any, U: Any, b: Any, activation: str | Activation) -> Any:
    """Compute H = φ(XU + 1b), the hidden layer's output (supplement S.I, first equation)."""
    Z = X @ U
    Z += b
    return apply_activation(activation, Z)


def design_matrix(
    X: Any, H: Any, direct_link: bool, output_bias: bool, out: Array | None = None
) -> Any:
    """Stack M = [1 X H], the constant and the direct links only where asked for (Eq. 12)."""
    xp = namespace(H)
    blocks = [H]
    if direct_link:
        blocks.insert(0, X)
    if output_bias:
        blocks.insert(0, xp.ones_like(H[:, :1]))
    if out is not None:
        return np.concatenate(blocks, axis=1, out=out)
    return xp.hstack(blocks) if len(blocks) > 1 else H


class RowBlocks:
    """A tall matrix, made one block of rows at a time; small ones, or with ``keep`` all, stay.

    ``make_rows`` maps a slice of rows to those rows. Iterating yields ``(rows, block)``.
    """

    def __init__(
        self,
        make_rows: Callable[[slice], Any],
        n_rows: int,
        n_columns: int,
        dtype: type = np.float64,
        keep: bool = False,
        tensors: bool = False,
    ) -> None:
        self._make_rows = make_rows
        self.n_rows = n_rows
        self.n_columns = n_columns
        self.dtype = dtype
        self.tensors = tensors
        self._step = rows_per_block(n_columns, tensors) * (2 if dtype == np.float32 else 1)
        self.is_small = n_rows * n_columns <= (KEPT_TENSOR_ELEMENTS if tensors else KEPT_ELEMENTS)
        self.keep = keep or n_rows <= self._step
        self._kept: dict[tuple[int, int], Any] = {}

    def __iter__(self) -> Iterator[tuple[slice, Any]]:
        for start in range(0, self.n_rows, self._step):
            ends = start, min(start + self._step, self.n_rows)
            block = self._kept[ends] if ends in self._kept else self._make_rows(slice(*ends))
            if self.keep:
                self._kept[ends] = block
            yield slice(*ends), block

    def changed(self, change: Callable[[Any], Any], n_columns: int) -> RowBlocks:
        """Return the matrix whose blocks of rows are these, changed."""
        shape = self.n_rows, n_columns
        return RowBlocks(lambda rows: change(self._make_rows(rows)), *shape, tensors=self.tensors)

    def whole(self) -> Any:
        """Return the whole matrix."""
        ends = 0, self.n_rows
        if ends not in self._kept:
            self._kept[ends] = self._make_rows(slice(*ends))
        return self._kept[ends]


def rows_per_block(n_columns: int, tensors: bool = False) -> int:
    """Return how many rows of ``n_columns`` numbers make one block."""
    elements = TENSOR_BLOCK_ELEMENTS if tensors else BLOCK_ELEMENTS
    return max(64, elements // max(1, n_columns))


# -- activations: the ten of the paper's Table S.III, in its order ----------------------------

Activation = Callable[[Any], Any]  # of arrays and of tensors alike

SELU_LAMBDA = 1.0507009873554805
SELU_ALPHA = 1.6732632423543772
LEAKY_SLOPE = 0.1  # the lab's code divides by ten; the paper gives no slope (erratum E26)


def selu(Z: Any) -> Any:
    """Return λz for z > 0 and λα(eᶻ - 1) elsewhere."""
    xp = namespace(Z)
    # The exponent is clipped at 0: the branch not taken must not overflow.
    return SELU_LAMBDA * xp.where(Z > 0, Z, SELU_ALPHA * xp.expm1(xp.clip(Z, None, 0.0)))


def relu(Z: Any) -> Any:
    """Return max(0, z)."""
    return namespace(Z).clip(Z, 0.0, None)


def sigmoid(Z: Any) -> Any:
    """Return 1 / (1 + e⁻ᶻ)."""
    if is_tensor(Z):
        return Z.sigmoid()
    out = -Z
    with np.errstate(over="ignore"):  # e⁻ᶻ = inf gives the right limit, 0
        np.exp(out, out=out)
    out += 1.0
    return np.reciprocal(out, out=out)


def sin(Z: Any) -> Any:
    """Return sin z."""
    return namespace(Z).sin(Z)


@cache
def _tan_is_faster() -> bool:
    """Say whether NumPy has vector code for tangents in double precision: for sines it has none."""
    introspect = getattr(np.lib, "introspect", None)  # from NumPy 2.1 on
    if introspect is None:
        return False
    found = introspect.opt_func_info(func_name="^tan$").get("tan", {}).get("dd", {})
    return found.get("current") in ("X86_V4", "AVX512_SKX")


def sine_in_place(Z: Any) -> Any:
    """Write sin z over Z, as 2t/(1 + t²), t = tan(z/2), where that is faster (right to 4e-16)."""
    xp = namespace(Z)
    if xp is not np or Z.dtype != np.float64 or not _tan_is_faster():
        return xp.sin(Z, out=Z)
    Z *= 0.5
    np.tan(Z, out=Z)
    divisor = np.square(Z)
    divisor += 1.0
    Z /= divisor
    Z += Z
    return Z


def hardlim(Z: Any) -> Any:
    """Return 1 where z >= 0, else 0 (hardlim(0) = 1, erratum E26)."""
    return namespace(Z).asarray(Z >= 0, dtype=Z.dtype)


def tribas(Z: Any) -> Any:
    """Return max(1 - |z|, 0)."""
    return relu(1.0 - abs(Z))


def radbas(Z: Any) -> Any:
    """Return exp(-z²)."""
    xp = namespace(Z)
    with np.errstate(over="ignore"):  # z² = inf gives the right limit, 0
        return xp.exp(-xp.square(Z))


def sign(Z: Any) -> Any:
    """Return -1, 0 or 1."""
    return namespace(Z).sign(Z)


def leaky_relu(Z: Any) -> Any:
    """Return z for z >= 0 and z/10 elsewhere (erratum E26)."""
    return namespace(Z).maximum(Z, LEAKY_SLOPE * Z)


def tansig(Z: Any) -> Any:
    """Return tanh z."""
    return namespace(Z).tanh(Z)


ACTIVATIONS: dict[str, Activation] = {
    function.__name__: function
    for function in (selu, relu, sigmoid, sin, hardlim, tribas, radbas, sign, leaky_relu, tansig)
}


def apply_activation(activation: str | Activation, Z: Any) -> Any:
    """Apply one of the ten by name, or a callable, to the pre-activations ``Z``."""
    if not callable(activation):
        return ACTIVATIONS[activation](Z)
    return call_activation(activation, Z, "real numbers", "fiub")


def call_activation(activation: Activation, Z: Any, what: str, kinds: str) -> Any:
    """Apply the user's function to a copy of ``Z``, and check that it returns what it must."""
    H = np.asarray(activation(Z.copy()))
    if H.shape != Z.shape or H.dtype.kind not in kinds:
        raise ValueError(
            f"activation must return {what} of the shape of its input {Z.shape}; "
            f"got dtype {H.dtype} and shape {H.shape}"
        )
    return H.astype(Z.dtype, copy=False)


# -- columns brought to one scale -------------------------------------------------------------


def column_scales(X: Any, multiplicity: Any) -> tuple[Any, Any]:
    """Return mean and deviation of every column; a scale that keeps a constant one near 0."""
    # Divided by the largest value first: squares of 1e200 would overflow.
    xp = namespace(X)
    largest = xp.clip(xp.amax(abs(X), 0), float(np.finfo(np.float64).tiny), None)
    total = multiplicity.sum()
    shares = X / largest
    mean = multiplicity @ shares / total
    shares -= mean
    deviation = xp.sqrt(multiplicity @ xp.square(shares, out=shares) / total)
    constant = deviation <= 10 * EPS * abs(mean)
    means = mean * largest
    # Of a constant such as 1e200 the rounding of its mean alone would be a large number.
    rounding = EPS**0.5 * abs(means)
    return means, xp.where(constant, xp.clip(rounding, 1.0, None), deviation * largest)
