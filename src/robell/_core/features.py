"""The random layer and the design matrix, made one block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from robell._core.activations import Activation, apply_activation

Array = NDArray[np.float64]

# Blocks of about this many numbers stay in the second-level cache between the activation and the
# Gram matrix, and bound the memory of fit and predict whatever the number of rows.
BLOCK_ELEMENTS = 1 << 17


def draw_random_layer(
    n_features: int, n_hidden: int, bias_scale: float, seed: int
) -> tuple[Array, Array]:
    """Draw U ~ Uniform[-1, 1] of shape (B, D) and b ~ bias_scale * Uniform[0, 1] of shape (D,).

    Layers are nested: node j's weights and bias do not depend on ``n_hidden``, because weights are
    drawn node by node and biases come from a stream of their own. The paper leaves the range of
    the bias open (erratum E20).
    """
    weights_seed, bias_seed = np.random.SeedSequence(seed).spawn(2)
    U = np.random.default_rng(weights_seed).uniform(-1.0, 1.0, size=(n_hidden, n_features)).T
    b = bias_scale * np.random.default_rng(bias_seed).uniform(0.0, 1.0, size=n_hidden)
    return np.ascontiguousarray(U), b


def hidden_output(X: Array, U: Array, b: Array, activation: str | Activation) -> Array:
    """Compute H = φ(XU + 1b), the hidden layer's output (supplement S.I, first equation)."""
    Z = X @ U
    Z += b
    return apply_activation(activation, Z)


def design_matrix(X: Array, H: Array, direct_link: bool, output_bias: bool) -> Array:
    """Stack M = [1 X H], the constant and the direct links only where asked for (Eq. 12).

    Hidden nodes stand last, so the design of a smaller network is a prefix of a larger one's.
    """
    blocks = [H]
    if direct_link:
        blocks.insert(0, X)
    if output_bias:
        blocks.insert(0, np.ones((len(H), 1)))
    return np.hstack(blocks) if len(blocks) > 1 else H


class RowBlocks:
    """A tall matrix that exists one block of rows at a time.

    Iterating yields ``(rows, block)``; iterating again makes the blocks again, except that a
    matrix of a single block is made once and kept.

    Parameters
    ----------
    make_rows : callable
        Given a slice of rows, returns those rows as an array of shape (n, n_columns).
    n_rows, n_columns : int
        Shape of the whole matrix.
    """

    def __init__(self, make_rows: Callable[[slice], Array], n_rows: int, n_columns: int) -> None:
        self._make_rows = make_rows
        self.n_rows = n_rows
        self.n_columns = n_columns
        self._only_block: Array | None = None

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        step = rows_per_block(self.n_columns)
        if self.n_rows <= step:
            yield slice(0, self.n_rows), self.whole()
            return
        for start in range(0, self.n_rows, step):
            rows = slice(start, min(start + step, self.n_rows))
            yield rows, self._make_rows(rows)

    def whole(self) -> Array:
        """Return the whole matrix."""
        if self._only_block is None:
            self._only_block = self._make_rows(slice(0, self.n_rows))
        return self._only_block


def rows_per_block(n_columns: int) -> int:
    """Return how many rows of ``n_columns`` numbers make one block."""
    return max(64, BLOCK_ELEMENTS // max(1, n_columns))
