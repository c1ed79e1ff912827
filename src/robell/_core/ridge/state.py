"""What a model has to remember of rows it will not see again: small, exact and mergeable.

The ridge regression needs of the rows i of class c only

    W_c = Σ_i w_i,    μ_c = Σ_i w_i m_i / W_c,    S_c = Σ_i w_i (m_i - μ_c)ᵀ(m_i - μ_c),

because with class costs l_c and one-hot targets its normal equations (Eq. 26) are

    (S + Σ_c l_c W_c μ_cᵀμ_c + I/C) β = [l_1 W_1 μ_1ᵀ ... l_K W_K μ_Kᵀ],     S = Σ_c l_c S_c.

Products about the means keep the digits that products of the rows themselves would lose in columns
far from zero. Where the sum of both still is ill-conditioned, it is not formed: the equations are
also those of P + K rows, S½ with the targets 0 and √(l_c W_c) μ_c with the targets √(l_c W_c) e_c,
which are solved by their singular values, as ``fit`` solves such systems.

Means and scatters are pooled whatever the order or partition; costs and C enter at the end.
Leave-one-out scores, f_-i = (f_i - h_i t_i)/(1 - h_i) with h_i = w_i m_i(G + I/C)⁻¹m_iᵀ, need
the row itself besides: they are taken of a sample of rows, the reservoir.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from robell._core.array import EPS, Array, Labels, add_to_diagonal, one_hot
from robell._core.layers.features import RowBlocks, rows_per_block
from robell._core.membership.frozen import (
    ClassMeans,
    FrozenMembership,
    Landmarks,
    freeze_rows,
    frozen_membership,
    same_frozen,
)
from robell._core.membership.samples import (
    Keys,
    Reservoir,
    add_rows,
    empty_reservoir,
    find_rows,
    merge_reservoirs,
    row_keys,
    settle,
)
from robell._core.ridge.loo import Centre, Spectrum, squared_errors
from robell._core.ridge.solve import (
    REFINE_BELOW,
    SINGULAR_BELOW,
    Blocks,
    SPDFactor,
    factor_spd,
    require_finite,
    spread_of_targets,
    stacked,
    system_of,
)

Features = Callable[[Array], Array]  # from rows to rows of the design matrix

MOST_ROWS = 1e5  # whose number says which singular values are rounding
ROUNDING = 1e-9  # by which a radius may exceed the frozen largest one without meaning anything


@dataclass(frozen=True)
class State:
    """All that is remembered of the rows seen."""

    sizes: Array  # (K,), n_c, counted with multiplicity
    weight: Array  # (K,), W_c without class costs
    mean: Array  # (K, P), μ_c
    scatter: Array  # (K, P, P), S_c without class costs
    reservoir: Reservoir | None  # a sample of each class's rows; all rows while warming up
    frozen: FrozenMembership | None  # what row weights are read off
    warming_up: bool  # whether rows only gather, because their weights cannot be known yet
    later: Array  # (K,), multiplicity of the rows seen since the freeze
    beyond: Array  # (K,), of those among them whose radius exceeds the frozen largest one
    largest_radius: Array  # (K,), of all rows weighted so far


def empty(
    n_classes: int, n_columns: int, reservoir: Reservoir | None = None, warming_up: bool = False
) -> State:
    """Return the state before any row; an empty reservoir where a sample is to be kept."""
    sizes, weight, later, beyond, largest_radius = np.zeros((5, n_classes))
    mean, scatter = np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_columns, n_columns))
    kept = (reservoir, None, warming_up)
    return State(sizes, weight, mean, scatter, *kept, later, beyond, largest_radius)


def update(
    state: State,
    X: Array,
    labels: Labels,
    weight: Array,
    features: Features,
    keys: Keys | None = None,
) -> State:
    """Return the state after more rows of positive weight."""
    if not len(X):
        return state
    n_classes = len(state.sizes)
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
        largest = state.largest_radius.copy()
        np.maximum.at(largest, labels, found.radius)
        # What lies beyond the frozen radii is counted.
        beyond = found.radius > state.frozen.r_max[labels] * (1.0 + ROUNDING)
        state = replace(
            state,
            later=state.later + np.bincount(labels, weight, n_classes),
            beyond=state.beyond + np.bincount(labels, weight * beyond, n_classes),
            largest_radius=largest,
        )
    moments = Moments(state.weight.copy(), state.mean.copy(), state.scatter.copy())
    add_moments(moments, features, X, labels, total)
    return replace(state, sizes=sizes, reservoir=reservoir, **moments._asdict())


class Moments(NamedTuple):
    """Weight, mean and scatter of the rows of every class."""

    weight: Array
    mean: Array
    scatter: Array

    def pool(self, c: int, weight: float, mean: Array) -> Array:
        """Add weight and mean of more rows of class c, in place, and return the row a."""
        # S = S_a + S_b + aᵀa,     a = √(W_a W_b/(W_a + W_b)) (μ_b - μ_a)
        share = weight / (self.weight[c] + weight)
        apart = mean - self.mean[c]
        row = np.sqrt(share * self.weight[c]) * apart
        self.mean[c] += share * apart
        self.weight[c] += weight
        return np.asarray(row)

    def require_finite(self) -> None:
        """Raise where products of the rows overflow, as those of all rows would in ``fit``."""
        with np.errstate(over="ignore", invalid="ignore"):
            # A number that overflows anywhere does so on the diagonal.
            require_finite(np.einsum("cii->", self.scatter))
            require_finite(self.weight @ np.square(self.mean))


def add_moments(
    moments: Moments, features: Features, X: Array, labels: Labels, weight: Array
) -> None:
    """Pool the moments of more rows in place, features made a block of rows at a time."""
    n_classes, n_columns = moments.mean.shape
    order = np.argsort(labels, kind="stable")  # so that a class's features stand together
    X, labels, weight = X[order], labels[order], weight[order]
    all_ones = bool(np.all(weight == 1.0))
    step = rows_per_block(n_columns)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for start in range(0, len(X), step):
            block = slice(start, start + step)
            M, w = features(X[block]), weight[block]
            ends = np.searchsorted(labels[block], np.arange(n_classes + 1))
            for c in np.flatnonzero(np.diff(ends)).tolist():
                rows = slice(ends[c], ends[c + 1])
                total, first = float(w[rows].sum()), M[rows.start]
                stack = np.empty((rows.stop - rows.start + 1, n_columns))
                # Less the first row, so that a constant column has no scatter at all.
                apart = np.subtract(M[rows], first, out=stack[:-1])
                shift = w[rows] @ apart / total
                apart -= shift
                if not all_ones:
                    apart *= np.sqrt(w[rows])[:, None]
                stack[-1] = moments.pool(c, total, first + shift)
                moments.scatter[c] += stack.T @ stack
    moments.require_finite()


def merge(a: State, b: State, features: Features) -> State:
    """Return the state of both; rows of a warm-up are weighted by what the other has frozen."""
    if a.mean.shape != b.mean.shape:
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
    moments = Moments(a.weight.copy(), a.mean.copy(), a.scatter.copy())
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for c in np.flatnonzero(b.weight).tolist():
            row = moments.pool(c, b.weight[c], b.mean[c])
            moments.scatter[c] += b.scatter[c] + np.outer(row, row)
    moments.require_finite()
    return replace(
        a,
        sizes=a.sizes + b.sizes,
        **moments._asdict(),
        reservoir=reservoir,
        later=a.later + b.later,
        beyond=a.beyond + b.beyond,
        largest_radius=np.maximum(a.largest_radius, b.largest_radius),
    )


def rows_before_freeze(
    state: State, X: Array, labels: Labels, enough: int, of_each_class: int, at_most: int
) -> int | None:
    """Return how many more of these rows the warm-up takes; None when it takes them all."""
    # It ends at a place of the stream that no cutting into batches changes.
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
    """Freeze what weights depend on, and weight the rows so far; width None is the data's scale."""
    assert state.reservoir is not None
    waiting = settle(state.reservoir)
    frozen = freeze_rows(waiting, kernel_width, rho, n_landmarks, capacity)
    n_classes, n_features = len(state.sizes), waiting.rows.shape[1]
    reservoir = empty_reservoir(n_classes, n_features, waiting.seed, capacity)
    begun = replace(empty(n_classes, state.mean.shape[1], reservoir), frozen=frozen)
    weighted = update(begun, waiting.rows, waiting.labels, waiting.weight, features)
    # The rows of the freeze itself say nothing of drift.
    return replace(weighted, later=begun.later, beyond=begun.beyond)


@dataclass(frozen=True)
class GramSolution:
    """Output weights, how they were found, and the factor leverages come from."""

    beta: Array
    method: str  # "gram", or "eigen" where the rows that stand for the sums were solved
    # Its condition is that of the scatter: how far the rounding of sums may move the solution.
    factor: SPDFactor
    weight_factor: float  # what row weights were multiplied by
    # What was added to the diagonal, (P, 1) where not the same everywhere; or the matrix added.
    penalty: float | Array
    worst: int  # the column that the rounding of sums concerns most
    shift: Array | None = None  # taken off rows of the design before weights and factor apply

    def shrinkage(self) -> Array:
        """Return the gradient of the penalty at the output weights."""
        if isinstance(self.penalty, np.ndarray) and self.penalty.shape[1] > 1:
            return np.asarray(self.penalty @ self.beta)
        return np.asarray(self.penalty * self.beta)


def summed_equations(state: State, class_cost: Array | None) -> tuple[Array, Array]:
    """Return Σ_c l_c MᵀWM and [l_1 W_1 μ_1ᵀ ... l_K W_K μ_Kᵀ]."""
    weight = state.weight if class_cost is None else class_cost * state.weight
    R = state.mean.T * weight
    return summed_scatter(state, class_cost) + R @ state.mean, R


def summed_scatter(state: State, class_cost: Array | None) -> Array:
    """Return S = Σ_c l_c S_c."""
    if class_cost is None:
        return np.asarray(state.scatter.sum(axis=0))
    return np.asarray(np.tensordot(class_cost, state.scatter, axes=1))


def root_of(S: Array, floor: bool = False) -> Array:
    """Return rows A with AᵀA = S, from the eigenvalues that S has numerically at unit diagonal."""
    scale = np.sqrt(np.diagonal(S))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, Q = np.linalg.eigh(S / scale[:, None] / scale)
    lost = len(S) * EPS * values[-1]
    values = np.where(values > lost, values, lost if floor else 0.0)
    return np.asarray((Q * np.sqrt(values)).T * scale)


def standing_rows(
    S: Array, mean: Array, weight: Array, blocks: Blocks | None, floor: bool = False
) -> tuple[Array, Array]:
    """Return P + K rows and targets with the normal equations of all rows seen."""
    root, none = np.sqrt(weight), np.zeros((len(S), len(weight)))
    M = np.vstack([root_of(S, floor), root[:, None] * mean])
    T = np.vstack([none, np.diag(root)])
    return (M, T) if blocks is None else stacked(M, T, np.ones(len(M)), blocks)


def solve(
    state: State,
    C: float,
    class_cost: Array | None = None,
    blocks: Blocks | None = None,
    further_penalty: Array | None = None,
) -> GramSolution:
    """Solve the ridge regression of all rows seen from what is remembered of them."""
    factor_of_weights = min(C, 1.0)  # for C < 1 the system is multiplied by C: 1/C may overflow
    penalty = 1.0 / max(C, 1.0)
    weight = factor_of_weights * (1.0 if class_cost is None else class_cost) * state.weight
    S, R = factor_of_weights * summed_scatter(state, class_cost), state.mean.T * weight
    if further_penalty is not None:
        S += penalty * further_penalty
    G = S + R @ state.mean
    if blocks is not None:
        G, R = blocks.coupled(G), blocks.pull * R

    def rows(floor: bool) -> tuple[Array, Array]:
        return standing_rows(S, state.mean, weight, blocks, floor)

    known = S if blocks is None else blocks.coupled(S.copy())
    solved = _solve_sums(G, R, known, penalty, rows, float(state.sizes.sum()), REFINE_BELOW)
    return GramSolution(*solved[:3], factor_of_weights, penalty, solved[3])


def _solve_sums(
    G: Array,
    R: Array,
    S: Array,
    penalty: float,
    rows: Callable[[bool], tuple[Array, Array]],
    n_rows: float,
    least_rcond: float,
) -> tuple[Array, str, SPDFactor, int]:
    """Return β with (G + λI)β = R, how it was found, a factor, and the worst column."""
    # The condition stated is that of S, the part of G known up to rounding of its diagonal d²: the
    # solution moves by about ε Σ_j d_j² G⁻¹_jj, of which the worst column has the largest part.
    # Where that is everything, what rounding may have taken from S is given back to it: means that
    # differ where nothing is known of the scatter would decide alone.
    add_to_diagonal(G, penalty)
    factor = factor_spd(G)
    if factor is not None and factor.rcond >= least_rcond:
        worst = int((np.diagonal(S) * factor.inverse_diagonal()).argmax())
        return np.asarray(factor.solve(R)), "gram", factor, worst
    M, T = rows(False)
    if factor is not None:
        beta = factor.solve(M.T @ T, lambda beta: M.T @ (T - M @ beta) - penalty * beta)
        rcond, worst = _condition(S, factor.inverse_diagonal())
        if rcond >= SINGULAR_BELOW:
            return np.asarray(beta), "gram", replace(factor, rcond=rcond), worst
    beta, factor, inverse = _over_singular_values(M, T, penalty, n_rows)
    rcond, worst = _condition(S, inverse)
    if rcond < SINGULAR_BELOW:
        beta, factor, _ = _over_singular_values(*rows(True), penalty, n_rows)
    return beta, "eigen", replace(factor, rcond=rcond), worst


def _over_singular_values(
    M: Array, T: Array, penalty: float, n_rows: float
) -> tuple[Array, SPDFactor, Array]:
    """Return β and a factor over the singular values M has numerically, and the diagonal of G⁻¹."""
    left, s, right = np.linalg.svd(M, full_matrices=False)
    kept = s > max(*M.shape, min(n_rows, MOST_ROWS)) * EPS * s[0]
    square = np.where(kept, np.square(s), 0.0) + penalty
    inverse = np.square(right).T @ (1.0 / square)
    left, s, right, square = left[:, kept], s[kept], right[kept], square[kept]
    beta = right.T @ ((s / square)[:, None] * (left.T @ T))
    return beta, SPDFactor(right / np.sqrt(square)[:, None], 0.0), inverse


def _condition(S: Array, inverse: Array) -> tuple[float, int]:
    """Return a bound on the condition of S against G⁻¹, of which a diagonal is given; see above."""
    scale = np.sqrt(np.diagonal(S))
    parts, scale = np.diagonal(S) * inverse, np.where(scale > 0.0, scale, 1.0)
    size = float(np.abs(S / scale[:, None] / scale).sum(axis=0).max() * parts.sum())
    return 1.0 / max(size, 1.0), int(parts.argmax())


def left_out_scores(
    solution: GramSolution,
    features: Features,
    X: Array,
    T: Array,
    weight: Array,
    blocks: Blocks | None = None,
) -> Array:
    """Return left-out scores of rows; ``weight`` is w_i times class cost and multiplicity."""
    w = weight * solution.weight_factor
    rows = sample_design(features, X, len(solution.beta), solution.shift)
    system = system_of(rows, T, w, blocks)
    return np.asarray(system.left_out_scores(solution.factor, solution.beta, w)[0])


def left_out_errors(
    state: State,
    class_cost: Array | None,
    candidates: Array,
    features: Features,
    sample: tuple[Array, Array, Array, Array],
    blocks: Blocks | None = None,
) -> Array:
    """Return the left-out error under each C of a sample: X, T, weight, how often rows count."""
    X, T, weight, counted = sample
    S, cost = summed_scatter(state, class_cost), 1.0 if class_cost is None else class_cost
    M, targets = standing_rows(S, state.mean, cost * state.weight, blocks)
    with np.errstate(over="ignore"):
        penalties = 1.0 / candidates
    system = system_of(sample_design(features, X, state.mean.shape[1]), T, weight, blocks)
    return system.errors(_spectrum_of(M, targets), weight, counted, penalties)


def _spectrum_of(M: Array, T: Array) -> Spectrum:
    """Return the spectrum of MᵀM from rows M: singular values keep more digits than products."""
    left, s, right = np.linalg.svd(M, full_matrices=False)
    return Spectrum(np.square(s), right.T, s[:, None] * (left.T @ T))


def sample_design(
    features: Features, X: Array, n_columns: int, shift: Array | None = None
) -> RowBlocks:
    """Return the design matrix of some rows, a shift taken off its rows."""
    return RowBlocks(
        lambda rows: features(X[rows]) if shift is None else features(X[rows]) - shift,
        len(X),
        n_columns,
    )


# -- targets that are numbers ----------------------------------------------------------

# A regressor's constant is free, so its equations need of all rows only the weight W, the means μ
# and t̄, and the scatter about them:
#
#     (S + I/C) β = S_t,   S = Σ_i w_i (m_i - μ)ᵀ(m_i - μ),   S_t = Σ_i w_i (m_i - μ)ᵀ(t_i - t̄),
#
# and b = t̄ - μβ: the :class:`State` of a single class of rows [m_i t_i]. Its reservoir holds rows
# [x_i t_i], drawn by the key of x_i: copies of a row of whatever targets are kept together, and so
# can be left out together.


def update_targets(
    state: State, X: Array, T: Array, weight: Array, features: Features, keys: Keys | None = None
) -> State:
    """Return the state after more rows of positive weight; arguments as those of ``update``."""
    if keys is None and state.reservoir is not None:
        keys = row_keys(X, state.reservoir.seed)
    n = X.shape[1]

    def with_targets(rows: Array) -> Array:
        return np.hstack([features(rows[:, :n])[:, 1:], rows[:, n:]])

    return update(state, np.hstack([X, T]), np.zeros(len(X), np.intp), weight, with_targets, keys)


def solve_targets(state: State, n_targets: int, C: float) -> GramSolution:
    """Solve the ridge regression of all rows seen from what is remembered, about their means."""
    factor_of_weights = min(C, 1.0)  # for C < 1 the system is multiplied by C: 1/C may overflow
    scatter, mean = state.scatter[0] * factor_of_weights, state.mean[0]
    P = len(mean) - n_targets
    S, penalty = scatter[:P, :P], 1.0 / max(C, 1.0)

    def rows(floor: bool) -> tuple[Array, Array]:
        A = root_of(scatter, floor)
        return A[:, :P], A[:, P:]

    beta, method, factor, worst = _solve_sums(
        S.copy(), scatter[:P, P:], S, penalty, rows, float(state.sizes[0]), 0.0
    )
    F = np.zeros((len(factor.inverse_lower) + 1, P + 1))
    F[0, 0] = 1.0 / np.sqrt(state.weight[0] * factor_of_weights)
    F[1:, 1:] = factor.inverse_lower
    return GramSolution(
        np.vstack([mean[P:], beta]),
        method,
        SPDFactor(F, factor.rcond),
        factor_of_weights,
        np.append(0.0, np.full(P, penalty))[:, None],
        worst + 1,
        shift=np.append(0.0, mean[:P]),
    )


def left_out_errors_of_targets(
    state: State, candidates: Array, features: Features, sample: tuple[Array, Array, Array, Array]
) -> Array:
    """Return the same of numbers, each target in units of its spread in the sample."""
    X, T, weight, counted = sample
    P = len(state.mean[0]) - T.shape[1]
    mean, S = state.mean[0], state.scatter[0]
    rows, spread = root_of(S), spread_of_targets(T, counted)
    centre = Centre(np.zeros(P), mean[P:] / spread, state.weight[0])
    spectrum = _spectrum_of(rows[:, :P], rows[:, P:] / spread)._replace(centre=centre)
    design = RowBlocks(lambda rows: features(X[rows])[:, 1:] - mean[:P], len(X), P)
    with np.errstate(over="ignore"):
        penalties = 1.0 / candidates
    return squared_errors(design, T / spread, weight, counted, spectrum, penalties)


# -- drift, and files ------------------------------------------------------------------


def drift_p_values(state: State) -> Array:
    """Return, for each class, how likely as many radii beyond the frozen largest one are."""
    # If the n rows of the freeze and the N later ones come in random order from one source, k or
    # more of the later ones exceed all of the former just when the k largest of all are later:
    #
    #     P = [N! / (N - k)!] / [(N + n)! / (N + n - k)!]
    if state.frozen is None:
        return np.ones(len(state.sizes))
    n, N, k = state.frozen.sizes, state.later, state.beyond
    log_p = gammaln(N + 1) - gammaln(N - k + 1) - gammaln(N + n + 1) + gammaln(N + n - k + 1)
    return np.where(n > 0, np.exp(np.minimum(log_p, 0.0)), 1.0)


class OtherSums(ValueError):
    """What a model remembers was written by a copy of the package that took other sums."""


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
        if plain["kind"] == "State" and "gram" in parts:
            raise OtherSums(
                "the model remembers sums of its rows as an earlier copy of robell took them, and "
                "not about their means: fit it and save it again"
            )
        return _KINDS[plain["kind"]](**parts)
    return tuple(map(from_plain, plain)) if isinstance(plain, list) else plain
