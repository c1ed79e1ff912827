"""What a model has to remember of rows it will not see again: small, exact and mergeable.

The ridge regression needs of the rows of class c only

    G_c = Σ_i w_i m_iᵀm_i,    R_c = Σ_i w_i m_i,    n_c = Σ_i multiplicity_i        (i in class c),

because with class costs l_c and one-hot targets its normal equations (Eq. 26) are

    (Σ_c l_c G_c + I/C) β = [l_1 R_1ᵀ ... l_K R_Kᵀ].

Sums do not care for order or partition, so neither does the model; costs and C enter at the end.
Leave-one-out scores, f_-i = (f_i - h_i t_i)/(1 - h_i) with h_i = w_i m_i(G + I/C)⁻¹m_iᵀ, need
the row itself besides: they are taken of a sample of rows, the reservoir.

Row weights that depend on all rows (PW-GB memberships) need them fixed first: see
:mod:`robell._core.membership.frozen`. Every function here is pure, and ``merge`` is associative and
commutative up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from robell._core.array import add_to_diagonal, one_hot
from robell._core.layers.features import RowBlocks, rows_per_block
from robell._core.membership.frozen import (
    ClassMeans,
    FrozenMembership,
    Landmarks,
    class_means,
    dissimilarity_sums,
    first_rows,
    freeze,
    frozen_membership,
    largest_class_radii,
    moments_of,
    same_frozen,
    scale_width,
)
from robell._core.membership.reservoir import (
    UNBOUNDED,
    Keys,
    Reservoir,
    add_rows,
    empty_reservoir,
    find_rows,
    merge_reservoirs,
    row_keys,
    settle,
)
from robell._core.ridge import blocks as of_blocks
from robell._core.ridge.blocks import Blocks
from robell._core.ridge.loo import decompose, squared_errors
from robell._core.ridge.solve import EPS, SPDFactor, factor_spd, require_finite
from robell._core.ridge.solve import left_out_scores as scores_without_each

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Features = Callable[[Array], Array]  # from rows to rows of the design matrix

ROUNDING = 1e-9  # by which a radius may exceed the frozen largest one without meaning anything


@dataclass(frozen=True)
class State:
    """All that is remembered of the rows seen."""

    sizes: Array  # (K,), n_c, counted with multiplicity
    gram: Array  # (K, P, P), G_c without class costs
    right: Array  # (K, P), R_c without class costs
    reservoir: Reservoir | None  # a sample of each class's rows; all rows while warming up
    frozen: FrozenMembership | None  # what row weights are read off
    warming_up: bool  # whether rows only gather, because their weights cannot be known yet
    later: Array  # (K,), multiplicity of the rows seen since the freeze
    beyond: Array  # (K,), of those among them whose radius exceeds the frozen largest one
    largest_radius: Array  # (K,), of all rows weighted so far


def empty(n_classes: int, n_columns: int, reservoir: Reservoir | None = None) -> State:
    """Return the state before any row; an empty reservoir where a sample is to be kept."""
    return State(
        np.zeros(n_classes),
        np.zeros((n_classes, n_columns, n_columns)),
        np.zeros((n_classes, n_columns)),
        reservoir,
        None,
        False,
        np.zeros(n_classes),
        np.zeros(n_classes),
        np.zeros(n_classes),
    )


def empty_warm_up(n_classes: int, n_columns: int, n_features: int, seed: int) -> State:
    """Return the state before any row of a model whose row weights depend on all rows."""
    everything = empty_reservoir(n_classes, n_features, seed, UNBOUNDED)
    return replace(empty(n_classes, n_columns, everything), warming_up=True)


def update(
    state: State,
    X: Array,
    labels: Labels,
    weight: Array,
    features: Features,
    keys: Keys | None = None,
) -> State:
    """Return the state after more rows of positive weight.

    ``features`` makes rows of the design matrix of rows of X; ``keys`` are the rows' keys in the
    reservoir, where they are not those of X itself.
    """
    if not len(X):
        return state
    n_classes, n_columns = state.right.shape
    sizes = state.sizes + np.bincount(labels, weights=weight, minlength=n_classes)
    reservoir = state.reservoir
    if reservoir is not None:
        keys = row_keys(X, reservoir.seed) if keys is None else keys
        reservoir = add_rows(reservoir, X, labels, weight, keys)
    if state.warming_up:
        return replace(state, sizes=sizes, reservoir=reservoir)
    total = weight
    if state.frozen is not None:
        found = frozen_membership(state.frozen, X, labels, keys)
        total = weight * found.membership
        state = _radii_seen(state, state.frozen.r_max, found.radius, labels, weight)
    gram, right = class_grams(features, X, labels, total, n_classes, n_columns)
    gram += state.gram
    right += state.right
    return replace(state, sizes=sizes, gram=gram, right=right, reservoir=reservoir)


def _radii_seen(state: State, r_max: Array, radius: Array, labels: Labels, weight: Array) -> State:
    """Return the state after radii of more rows, what is beyond the frozen ones counted."""
    n_classes = len(state.sizes)
    largest = state.largest_radius.copy()
    np.maximum.at(largest, labels, radius)
    outside = weight * (radius > r_max[labels] * (1.0 + ROUNDING))
    return replace(
        state,
        later=state.later + np.bincount(labels, weights=weight, minlength=n_classes),
        beyond=state.beyond + np.bincount(labels, weights=outside, minlength=n_classes),
        largest_radius=largest,
    )


def class_grams(
    features: Features,
    X: Array,
    labels: Labels,
    weight: Array,
    n_classes: int,
    n_columns: int,
) -> tuple[Array, Array]:
    """Return G_c and R_c of every class, features made a block of rows at a time."""
    gram = np.zeros((n_classes, n_columns, n_columns))
    right = np.zeros((n_classes, n_columns))
    order = np.argsort(labels, kind="stable")  # so that a class's features stand together
    X, labels, root = X[order], labels[order], np.sqrt(weight[order])
    all_ones = bool(np.all(root == 1.0))
    step = rows_per_block(n_columns)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for start in range(0, len(X), step):
            block = slice(start, start + step)
            M, block_root = features(X[block]), root[block]
            if not all_ones:
                M = M * block_root[:, None]
            ends = np.searchsorted(labels[block], np.arange(n_classes + 1))
            for c in np.flatnonzero(np.diff(ends)):
                of_class = M[ends[c] : ends[c + 1]]
                right[c] += block_root[ends[c] : ends[c + 1]] @ of_class
                gram[c] += of_class.T @ of_class
    # A number that overflows anywhere does so on the diagonal.
    require_finite(np.einsum("cii->", gram))
    return gram, right


def merge(a: State, b: State, features: Features) -> State:
    """Return the state of the rows of both.

    Where one of them is still warming up and the other is not, its rows are weighted by what the
    other has frozen. Two that froze different things cannot be merged.
    """
    if a.right.shape != b.right.shape:
        raise ValueError("states of different classes or networks cannot be merged")
    if a.warming_up != b.warming_up:
        warm, ready = (a, b) if a.warming_up else (b, a)
        assert warm.reservoir is not None
        rows = settle(warm.reservoir)
        return update(ready, rows.rows, rows.labels, rows.weight, features)
    if not same_frozen(a.frozen, b.frozen):
        raise ValueError(
            "states that froze different landmarks cannot be merged: let one of them freeze, "
            "and start the others from it"
        )
    reservoir = None
    if a.reservoir is not None and b.reservoir is not None:
        reservoir = merge_reservoirs(a.reservoir, b.reservoir)
    return replace(
        a,
        sizes=a.sizes + b.sizes,
        gram=a.gram + b.gram,
        right=a.right + b.right,
        reservoir=reservoir,
        later=a.later + b.later,
        beyond=a.beyond + b.beyond,
        largest_radius=np.maximum(a.largest_radius, b.largest_radius),
    )


def rows_before_freeze(
    state: State, X: Array, labels: Labels, enough: int, of_each_class: int, at_most: int
) -> int | None:
    """Return how many more of these rows the warm-up takes; None when it takes them all.

    It ends with the row that brings the distinct rows to ``enough`` and those of every class to
    ``of_each_class``, or with the row that brings them to ``at_most``: at a place of the stream
    that no cutting into batches changes.
    """
    assert state.reservoir is not None
    waiting = settle(state.reservoir)
    n_classes = len(state.sizes)
    keys = row_keys(X, waiting.seed)
    is_new = find_rows(waiting, X, labels, keys) < 0
    _, first = np.unique(np.stack([labels.astype(np.uint64), keys]), axis=1, return_index=True)
    not_a_copy = np.zeros(len(X), bool)
    not_a_copy[first] = True
    new_of_class = one_hot(labels, n_classes) * (is_new & not_a_copy)[:, None]
    of_class = np.cumsum(new_of_class, axis=0) + np.bincount(waiting.labels, minlength=n_classes)
    distinct = of_class.sum(axis=1)
    over = (distinct >= enough) & (of_class >= of_each_class).all(axis=1)
    over |= distinct >= at_most
    return int(over.argmax()) + 1 if over.any() else None


def end_warm_up(
    state: State,
    kernel_width: float | None,
    rho: float,
    n_landmarks: int,
    capacity: int,
    features: Features,
) -> State:
    """Freeze what weights depend on, from the rows gathered so far, and weight those rows.

    ``kernel_width`` None stands for the scale of the data.
    """
    assert state.reservoir is not None
    waiting = settle(state.reservoir)
    rows = (waiting.rows, waiting.labels, waiting.weight)
    n_classes, n_columns = state.right.shape
    moments = moments_of(*rows, waiting.keys, n_classes, waiting.seed, capacity)
    width = scale_width(moments) if kernel_width is None else kernel_width
    landmarks = first_rows(moments, width, n_landmarks)
    means = class_means(landmarks, dissimilarity_sums(landmarks, *rows), moments.sizes)
    r_max = largest_class_radii(means, waiting.rows, waiting.labels)
    frozen = freeze(means, r_max, moments.sizes, rho, moments.reservoir)
    begun = empty_frozen(frozen, n_columns)
    weighted = update(begun, *rows, features)
    # The rows of the freeze itself say nothing of drift.
    return replace(weighted, later=begun.later, beyond=begun.beyond)


def empty_frozen(frozen: FrozenMembership, n_columns: int) -> State:
    """Return the state before any row is weighted by what was frozen."""
    kept = frozen.references
    reservoir = empty_reservoir(len(frozen.sizes), kept.rows.shape[1], kept.seed, kept.capacity)
    return replace(empty(len(frozen.sizes), n_columns, reservoir), frozen=frozen)


@dataclass(frozen=True)
class GramSolution:
    """Output weights, how they were found, and the factor leverages come from."""

    beta: Array
    method: str  # "gram", or "eigen" where the system was singular to working precision
    factor: SPDFactor
    weight_factor: float  # what row weights were multiplied by
    # What was added to the diagonal, (P, 1) where not the same everywhere; or the matrix added.
    penalty: float | Array

    def shrinkage(self) -> Array:
        """Return the gradient of the penalty at the output weights."""
        if isinstance(self.penalty, np.ndarray) and self.penalty.shape[1] > 1:
            return np.asarray(self.penalty @ self.beta)
        return np.asarray(self.penalty * self.beta)


def summed_equations(
    state: State, class_cost: Array | None, blocks: Blocks | None = None
) -> tuple[Array, Array]:
    """Return Σ_c l_c G_c and [l_1 R_1ᵀ ... l_K R_Kᵀ], coupled where columns are blocks."""
    if class_cost is None:
        G, R = state.gram.sum(axis=0), state.right.T.copy()
    else:
        G, R = np.tensordot(class_cost, state.gram, axes=1), state.right.T * class_cost
    return (G, R) if blocks is None else (blocks.coupled(G), blocks.pull * R)


def solve(
    state: State, C: float, class_cost: Array | None = None, blocks: Blocks | None = None
) -> GramSolution:
    """Solve the ridge regression of all rows seen from its sums.

    A system that is singular to working precision is solved over the eigenvalues it has
    numerically, as :mod:`robell._core.ridge.solve` does over singular values.
    """
    G, R = summed_equations(state, class_cost, blocks)
    factor_of_weights = min(C, 1.0)  # for C < 1 the system is multiplied by C: 1/C may overflow
    penalty = 1.0 / C if C >= 1.0 else 1.0
    G, R = G * factor_of_weights, R * factor_of_weights
    add_to_diagonal(G, penalty)
    factor, method = factor_or_eigen(G)
    return GramSolution(np.asarray(factor.solve(R)), method, factor, factor_of_weights, penalty)


def factor_or_eigen(G: Array) -> tuple[SPDFactor, str]:
    """Return a factor of G⁻¹, over the eigenvalues it has numerically where it is singular."""
    factor = factor_spd(G)
    if factor is not None:
        return factor, "gram"
    values, Q = np.linalg.eigh(G)
    kept = values > len(G) * EPS * values[-1]
    root = (Q[:, kept] / np.sqrt(values[kept])).T  # G⁻¹ = FᵀF with F = Λ^-½ Qᵀ
    return SPDFactor(root, 0.0), "eigen"


def left_out_scores(
    solution: GramSolution,
    features: Features,
    X: Array,
    T: Array,
    weight: Array,
    blocks: Blocks | None = None,
) -> Array:
    """Return the scores of rows by the model fitted without them.

    ``weight`` is w_i times class cost and multiplicity, as in the ridge regression.
    """
    w = weight * solution.weight_factor
    rows = sample_design(features, X, len(solution.beta))
    if blocks is not None:
        return of_blocks.left_out_scores(rows, T, w, blocks, solution.factor, solution.beta)
    return np.asarray(scores_without_each(solution.factor.leverage, solution.beta, rows, T, w))


def left_out_errors(
    state: State,
    class_cost: Array | None,
    candidates: Array,
    features: Features,
    sample: tuple[Array, Array, Array, Array],
    blocks: Blocks | None = None,
) -> Array:
    """Return the squared leave-one-out error of a sample of rows under each candidate C.

    ``sample`` holds X, T and weight, as in :func:`left_out_scores`, and how often each row counts.
    """
    X, T, weight, counted = sample
    G, R = summed_equations(state, class_cost, blocks)
    with np.errstate(over="ignore"):
        penalties = 1.0 / candidates
    rows, spectrum = sample_design(features, X, len(G)), decompose(G, R)
    if blocks is not None:
        return of_blocks.squared_errors(rows, T, weight, counted, spectrum, penalties, blocks)
    return squared_errors(rows, T, weight, counted, spectrum, penalties)


def sample_design(features: Features, X: Array, n_columns: int) -> RowBlocks:
    """Return the design matrix of some rows."""
    return RowBlocks(lambda rows: features(X[rows]), len(X), n_columns)


def drift_p_values(state: State) -> Array:
    """Return, for each class, how likely as many radii beyond the frozen largest one are.

    If the n rows of the freeze and the N later ones come in random order from one source, k or
    more of the later ones exceed all of the former just when the k largest of all are later:

        P = [N! / (N - k)!] / [(N + n)! / (N + n - k)!].

    Classes without rows at the freeze, or none since, have 1.
    """
    if state.frozen is None:
        return np.ones(len(state.sizes))
    n, N, k = state.frozen.sizes, state.later, state.beyond
    log_p = gammaln(N + 1) - gammaln(N - k + 1) - gammaln(N + n + 1) + gammaln(N + n - k + 1)
    return np.where(n > 0, np.exp(np.minimum(log_p, 0.0)), 1.0)


_KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (State, Reservoir, FrozenMembership, ClassMeans, Landmarks)
}


def to_plain(value: Any) -> Any:
    """Return a state as nested dicts and lists of arrays and numbers, to be written to a file."""
    if isinstance(value, Reservoir):
        value = settle(value)
    if type(value).__name__ in _KINDS:
        parts = {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
        return {"kind": type(value).__name__, **parts}
    return [to_plain(part) for part in value] if isinstance(value, tuple) else value


def from_plain(plain: Any) -> Any:
    """Return the state that :func:`to_plain` has taken apart."""
    if isinstance(plain, dict):
        parts = {name: from_plain(part) for name, part in plain.items() if name != "kind"}
        return _KINDS[plain["kind"]](**parts)
    return tuple(map(from_plain, plain)) if isinstance(plain, list) else plain
