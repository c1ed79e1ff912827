"""The random layer and the design matrix, made one block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._core.array import namespace
from robell._core.layers.activations import Activation, apply_activation

Array = NDArray[np.float64]

# Blocks of about this many numbers stay in the second-level cache between the activation and the
# Gram matrix, and bound the memory of fit and predict whatever the number of rows.
BLOCK_ELEMENTS = 1 << 17
TENSOR_BLOCK_ELEMENTS = 1 << 24  # of tensors: a device wants more to do at a time

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
    """Return the generator of one of the named streams of a seed, or of a later one of that name.

    ``place`` counts layers that have the same name; each has a stream of its own.
    """
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
    """Draw U ~ Uniform[low, 1] of shape (B, D) and b ~ bias_scale * Uniform[0, 1] of shape (D,).

    Layers are nested: node j's weights and bias do not depend on ``n_hidden``, because weights are
    drawn node by node and biases come from a stream of their own. The paper leaves the range of
    the bias open (erratum E20). ``part`` is "imaginary " for the second part of a complex layer,
    "privileged " for privileged columns; ``place`` counts views.
    """
    of_weights = random_stream(seed, f"{part}weights", place)
    weights = of_weights.uniform(low, 1.0, size=(n_hidden, n_features))
    bias = random_stream(seed, f"{part}bias", place).uniform(0.0, 1.0, size=n_hidden)
    return np.ascontiguousarray(weights.T), bias_scale * bias


def draw_sparse_layer(
    n_features: int, n_hidden: int, n_inputs: int, scale: float, seed: int
) -> tuple[Array, Array]:
    """Draw U of shape (B, D), ``n_inputs`` entries a column not zero, and b of shape (D,).

    Entries are Uniform[-1, 1] times scale/√n_inputs, biases Uniform[-1, 1]. Layers are nested, as
    those of :func:`draw_random_layer`.
    """
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
    """Stack M = [1 X H], the constant and the direct links only where asked for (Eq. 12).

    Hidden nodes stand last, so the design of a smaller network is a prefix of a larger one's.
    Arrays are stacked in ``out`` if it is given.
    """
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
    """A tall matrix of arrays or tensors that exists one block of rows at a time.

    ``make_rows`` maps a slice of rows to those rows. Iterating yields ``(rows, block)``; iterating
    again makes the blocks again, except that a matrix of a single block is made once and kept, and
    with ``keep`` all blocks are.
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
        self._only_block: Any = None
        self._kept: dict[int, Any] | None = {} if keep else None

    def __iter__(self) -> Iterator[tuple[slice, Any]]:
        for rows in self._slices():
            yield rows, self._block(rows)

    def map(self, function: Callable[[slice, Any], Any]) -> Iterator[Any]:
        """Yield function(rows, block) of every block, in their order."""
        return (function(rows, block) for rows, block in self)

    def _slices(self) -> list[slice]:
        starts = range(0, self.n_rows, self._step)
        return [slice(start, min(start + self._step, self.n_rows)) for start in starts]

    def _block(self, rows: slice) -> Any:
        if self.n_rows <= self._step:
            return self.whole()
        if self._kept is None:
            return self._make_rows(rows)
        if rows.start not in self._kept:
            self._kept[rows.start] = self._make_rows(rows)
        return self._kept[rows.start]

    def whole(self) -> Any:
        """Return the whole matrix."""
        if self._only_block is None:
            self._only_block = self._make_rows(slice(0, self.n_rows))
        return self._only_block


def rows_per_block(n_columns: int, tensors: bool = False) -> int:
    """Return how many rows of ``n_columns`` numbers make one block."""
    elements = TENSOR_BLOCK_ELEMENTS if tensors else BLOCK_ELEMENTS
    return max(64, elements // max(1, n_columns))
