"""A chain of random layers, each fed with the inputs and the layer before it (dRVFL, edRVFL).

    a_l = [x h_{l-1}] U_l,      h_l = φ((a_l - mean_l)/deviation_l + b_l),      h_0 nothing

Means and deviations are those of the training rows, counted with multiplicity; they are folded
into the weights, U_l/deviation_l, and the biases, b_l - mean_l/deviation_l. The bias is added
after the normalisation: added before it, as some releases do, it would cancel exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from robell._core.array import (
    Array,
    beside,
    empty_beside,
    in_double_precision,
    is_tensor,
    mean_and_scatter,
    namespace,
)
from robell._core.layers.features import (
    Activation,
    apply_activation,
    draw_random_layer,
    rows_per_block,
)
from robell._core.membership.pairs import blocks_of

Layers = list[tuple[Any, Any]]  # weights and biases, normalisation folded in

KEPT_ELEMENTS = 1 << 26  # numbers of hidden outputs kept; beyond, they are made again
# A deviation below this share of what a sum may reach is the rounding of a constant one.
CONSTANT = 1e-13
BOUNDED = ("sigmoid", "sin", "hardlim", "tribas", "radbas", "sign", "tansig")  # by 1


def draw_chain(
    n_features: int, n_hidden: int, n_layers: int, bias_scale: float, seed: int
) -> list[tuple[Array, Array]]:
    """Draw U_l and b_l of every layer; fewer layers are the first of more, of the same width."""
    first = draw_random_layer(n_features, n_hidden, bias_scale, seed)
    return [first] + [
        draw_random_layer(n_features + n_hidden, n_hidden, bias_scale, seed, place=layer)
        for layer in range(1, n_layers)
    ]


def preactivation(X: Any, H: Any | None, U: Any) -> Any:
    """Return [X H]U."""
    Z = X @ U[: X.shape[1]]
    if H is not None:
        Z += H @ U[X.shape[1] :]
    return Z


def hidden_outputs(X: Any, layers: Layers, activation: str | Activation) -> Iterator[Any]:
    """Yield h_1, h_2, ... of some rows."""
    H = None
    for U, b in layers:
        Z = preactivation(X, H, U)
        Z += b
        H = apply_activation(activation, Z)
        yield H


def kept_outputs(X: Any, n_hidden: int, n_layers: int) -> list[Any] | None:
    """Return room for the hidden outputs of some rows; None where that would be too much."""
    if len(X) * n_hidden * n_layers > KEPT_ELEMENTS:
        return None
    return [empty_beside((len(X), n_hidden), X) for _ in range(n_layers)]


def row_blocks(X: Any, n_hidden: int) -> list[slice]:
    """Return blocks of rows small enough that hidden outputs of one stay in the cache."""
    return blocks_of(0, len(X), rows_per_block(X.shape[1] + 2 * n_hidden, is_tensor(X)))


def normalise(
    X: Any, weight: Any, drawn: list[tuple[Array, Array]], activation: str | Activation
) -> tuple[Layers, list[Any] | None]:
    """Return the layers, normalised by some rows, and those rows' outputs where they are kept."""
    n_hidden = drawn[0][0].shape[1]
    blocks = row_blocks(X, n_hidden)
    kept = kept_outputs(X, n_hidden, len(drawn))
    layers: Layers = []
    for layer, (U, b) in enumerate(drawn):
        U, b = beside(U, X), beside(b, X)
        moments, reach = None, _largest(X)
        for rows in blocks:
            x, H = in_double_precision(X[rows]), None
            if layer:
                *_, H = [kept[layer - 1][rows]] if kept else hidden_outputs(x, layers, activation)
                reach = max(reach, 1.0 if activation in BOUNDED else _largest(H))
            Z = preactivation(x, H, U)
            moments = _pooled(moments, (weight[rows].sum(), *mean_and_scatter(Z, weight[rows])))
            if kept:
                kept[layer][rows] = Z
        assert moments is not None
        scale = namespace(U).sqrt(moments[2] / moments[0])
        scale[scale <= CONSTANT * reach * abs(U).sum(0)] = 1.0  # constant up to rounding
        layers.append((U / scale, b - moments[1] / scale))
        for rows in blocks if kept else []:
            Z = kept[layer][rows]  # type: ignore[index]
            Z /= scale
            Z += layers[-1][1]
            kept[layer][rows] = apply_activation(activation, Z)  # type: ignore[index]
    return layers, kept


def _largest(values: Any) -> float:
    """Return the largest absolute value."""
    return max(float(values.max()), -float(values.min()))


def _pooled(a: tuple[Any, Any, Any] | None, b: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Return size, mean and scatter of the rows of both."""
    if a is None:
        return b
    total, apart = a[0] + b[0], b[1] - a[1]
    scatter = a[2] + b[2] + namespace(apart).square(apart) * (a[0] * b[0] / total)
    return total, a[1] + apart * (b[0] / total), scatter
