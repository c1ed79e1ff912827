"""Five small models of different kinds, fitted to the same targets; their weighted mean.

    relu, sin   ridge on [x h], h a sparse random layer: each node looks at two columns
    kernel      ridge on radial functions around some of the rows, in columns that say something
    trees       small trees that see the targets (``layers/trees.py``)
    linear      ridge on x

Their errors differ, so that their mean errs less than any of them. All give the score that a row
would have had if it had been left out. Rows are distinct and in an order of their own
(``distinct_rows``); a ridge sees them only through sums over rows. Rows may be tensors; members
are then fitted where they are.

A layer of radial functions around some of the rows, whitened: the Nystrom approximation.

With landmarks l_1..l_m, and distances in B columns that vary (``ensemble/screen.py`` says which),

    k(x, l) = exp(-|x - l|²/B),      K = [k(l_a, l_b)] = QΛQᵀ,      h(x) = k(x, l) QΛ^(-½),

so that h(x)·h(x') is the best approximation of k(x, x') by the landmarks, and a ridge regression
on h is a kernel ridge regression.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from robell._core.array import (
    Array,
    Mask,
    Places,
    beside,
    is_tensor,
    namespace,
    row_squares,
    to_host,
)
from robell._core.ensemble.trees import (
    SMALLEST_RANGE,
    Forest,
    forest_scores,
    grow_forest,
    plant_forest,
)
from robell._core.labels.link import class_shares
from robell._core.layers.features import RowBlocks, draw_sparse_layer, rows_per_block, sine_in_place
from robell._core.ridge.loo import MOST_EXACT, CentredRidge, fit_centred_ridge
from robell._core.ridge.twins import Twins
from robell._tools.threads import NO_THREADS, Threads

ACTIVATIONS = ("relu", "sin")
KERNEL, TREES = 2, 4  # places of designs, and of what has none
INPUTS_PER_NODE = 2  # of a table's columns few act together: such nodes beat dense ones
WEIGHT_SCALE = 4.0
BITS = 40  # of weights and targets
N_LANDMARKS = 200
PENALTIES: Array = 10.0 ** np.arange(-6.0, 3.0)  # times the number of rows
# relu, sin, kernel, trees, linear. Weights from left-out errors were no better than these.
WEIGHTS = np.array([1.0, 1.0, 2.0, 2.0, 1.0])
ROWS_SCORED = 1 << 13  # at a time
KEPT_NUMBERS = 100_000_000  # columns made, 800 MB, are kept between rounds up to here


class Drawn(NamedTuple):
    """What is drawn without looking at labels."""

    hidden_weights: Any  # (B, 2 D)
    hidden_bias: Any  # (2 D,)
    kernel: KernelLayer
    trees: Any  # Planted; None where rows are only scored

    def hidden(self, X: Any, k: int) -> Any:
        """Return the output of the sparse layer k."""
        size = len(self.hidden_bias) // len(ACTIVATIONS)
        nodes = slice(k * size, (k + 1) * size)
        Z = X @ self.hidden_weights[:, nodes]
        Z += self.hidden_bias[nodes]
        return sine_in_place(Z) if ACTIVATIONS[k] == "sin" else namespace(Z).clip(Z, 0.0, None)


class Ensemble(NamedTuple):
    """The members on some rows, not yet fitted: all that does not depend on targets."""

    X: Any  # distinct standardised rows, in an order of their own
    distinct: Twins  # which of all rows they are
    drawn: Drawn
    designs: list[RowBlocks]  # columns of the four ridges


class Members(NamedTuple):
    """The members, fitted, and the left-out scores of each, (5, n, K)."""

    ridges: list[CentredRidge]  # relu, sin, kernel, linear
    forest: Forest
    scores: Any

    def mean_scores(self, weights: Array) -> Any:
        """Return the left-out scores of the weighted mean."""
        return namespace(self.scores).tensordot(beside(weights, self.scores), self.scores, 1)


class Network(NamedTuple):
    """The weighted mean of the members as one model: all that is needed to score rows."""

    coef: Any  # (B + 2 D, K)
    intercept: Any  # (K,)
    landmark_weights: Any  # (m, K)
    forest: Forest  # its values and mean already weighted


def draw_members(
    X: Any, distinct: Twins, n_hidden: int, seed: int, columns: Places | None = None
) -> Ensemble:
    """Draw all that is drawn, without looking at labels; the kernel sees some columns, or all."""
    *of_layers, of_kernel, of_trees = np.random.SeedSequence(seed).generate_state(
        len(ACTIVATIONS) + 2
    )
    n_columns, inputs = X.shape[1], (INPUTS_PER_NODE, WEIGHT_SCALE)
    layers = [draw_sparse_layer(n_columns, n_hidden, *inputs, child) for child in of_layers]
    weights = np.hstack([weights for weights, _ in layers])
    weights[~varying_columns(X)] = 0.0  # a constant teaches nothing
    drawn = Drawn(
        beside(weights, X),
        beside(np.concatenate([bias for _, bias in layers]), X),
        fit_kernel_layer(X, N_LANDMARKS, int(of_kernel), columns),
        plant_forest(X, int(of_trees)),
    )
    return Ensemble(X, distinct, drawn, designs_of(X, drawn))


def designs_of(X: Any, drawn: Drawn) -> list[RowBlocks]:
    """Return the columns of the four ridges; of many rows, arrays, in single precision."""
    tensors, n_columns = is_tensor(X), X.shape[1]
    n_nodes = len(drawn.hidden_bias) // len(ACTIVATIONS)
    single = len(X) > MOST_EXACT and not tensors
    inputs, layers = X, drawn
    if single:
        inputs, U, b = (a.astype(np.float32) for a in (X, *drawn[:2]))
        layers = drawn._replace(hidden_weights=U, hidden_bias=b)

    def with_inputs(k: int, rows: slice) -> Any:
        return namespace(X).hstack([inputs[rows], layers.hidden(inputs[rows], k)])

    def of_kernel(rows: slice) -> Any:
        found = drawn.kernel.outputs(X[rows])
        return found.astype(np.float32) if single else found

    made: list[tuple[Callable[[slice], Any], int]] = [
        (partial(with_inputs, 0), n_columns + n_nodes),
        (partial(with_inputs, 1), n_columns + n_nodes),
        (of_kernel, len(drawn.kernel.landmarks)),
    ]
    keep = len(X) * sum(n for _, n in made) <= KEPT_NUMBERS
    dtype = np.float32 if single else np.float64
    designs = [
        RowBlocks(make, len(X), width, dtype, keep=keep, tensors=tensors) for make, width in made
    ]
    linear = RowBlocks(lambda rows: X[rows], len(X), n_columns, tensors=tensors)
    return [*designs, linear]


def fit_members(
    ensemble: Ensemble, targets: Any, weight: Any, total: float, threads: Threads = NO_THREADS
) -> Members:
    """Fit every member to the same targets, soft or not; ``total`` is the number of rows given."""
    X, _, drawn, designs = ensemble

    def fit(k: int) -> Any:
        if k == TREES:
            return grow_forest(X, targets, weight, drawn.trees)
        basis = drawn.kernel.whitening if k == KERNEL else None
        return fit_centred_ridge(designs[k], targets, weight, PENALTIES * total, basis)

    # Whole members for each thread: those that share the blocks of one wait for Python's lock, and
    # for each other. The longest first: the kernel takes as long as all others.
    relu, sin, linear = 0, 1, 3
    order = KERNEL, TREES, relu, sin, linear
    found = dict(zip(order, threads.map(fit, order), strict=True))
    forest, of_trees = found.pop(TREES)
    ridges = [found[k] for k in sorted(found)]
    *nonlinear, of_linear = (ridge.loo_scores for ridge in ridges)
    return Members(ridges, forest, namespace(X).stack([*nonlinear, of_trees, of_linear]))


def fit_with_equal_classes(
    ensemble: Ensemble,
    multiplicity: Array,
    targets: Array,
    member_weights: Array,
    threads: Threads = NO_THREADS,
) -> tuple[Members, Array]:
    """Fit every member, classes weighted equally; return them and left-out scores of all rows."""
    X, distinct, *_ = ensemble
    total, n_classes = float(multiplicity.sum()), targets.shape[1]
    weights, targets = _with_equal_classes(distinct, multiplicity, targets)
    # The scores of two classes add up to one: one of them is enough.
    first = 1 if n_classes == 2 else 0
    targets, weights = beside(targets[:, first:], X), beside(weights, X)
    members = fit_members(ensemble, targets, weights, total, threads)
    scores = to_host(members.mean_scores(member_weights))[distinct.group]
    return members, both_classes(scores, first, 1.0)


def _with_equal_classes(
    distinct: Twins, multiplicity: Array, targets: Array
) -> tuple[Array, Array]:
    """Return weights and targets of the distinct rows, all classes of the same total weight.

    Their last bits, which the order of sums decides, are taken off: rows that nearly decide their
    own score would magnify them, and a row repeated would not be a weight.
    """
    share = targets.shape[1] * class_shares(targets, multiplicity)
    weights, merged = distinct.merge(multiplicity * (targets @ (1.0 / share)), targets)
    return _first_bits(weights), _first_bits(merged)


def _first_bits(values: Array) -> Array:
    """Return numbers rounded to their first ``BITS`` bits."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, BITS)), exponent - BITS))


def moves_of_constant(distinct: Twins, multiplicity: Array, targets: Array) -> Array:
    """Return by how much the mean target of all classes moves when a row is left out, (n, K).

    It is w_i (t̄ - t_i)/(W - w_i): away from the row's own target. Where columns say nothing the
    left-out scores are little else, and rank the labels worse than by chance.
    """
    w, t = _with_equal_classes(distinct, multiplicity, targets)
    total = w.sum()
    rest = np.maximum(total - w, np.finfo(np.float64).eps * total)  # none beside the only row
    moves = (w / rest)[:, None] * (w @ t / total - t)
    return np.asarray(moves[distinct.group])


def both_classes(values: Any, is_half: int | bool, total: float) -> Any:
    """Return the values of both classes, which add up to ``total``, from the second's."""
    return namespace(values).concatenate([total - values, values], -1) if is_half else values


def as_network(members: Members, drawn: Drawn, weights: Array) -> Network:
    """Return the weighted mean of the members as one model."""
    n_columns = len(drawn.hidden_weights)
    relu, sin, kernel, linear = members.ridges
    of_relu, of_sin, of_kernel, of_trees, of_linear = weights.tolist()
    inputs = of_relu * relu.beta[:n_columns] + of_sin * sin.beta[:n_columns]
    inputs = inputs + of_linear * linear.beta
    nodes = [of_relu * relu.beta[n_columns:], of_sin * sin.beta[n_columns:]]
    intercept = of_relu * relu.intercept + of_sin * sin.intercept + of_kernel * kernel.intercept
    forest = members.forest
    return Network(
        namespace(inputs).vstack([inputs, *nodes]),
        intercept + of_linear * linear.intercept,
        of_kernel * kernel.beta,
        forest._replace(values=of_trees * forest.values, mean=of_trees * forest.mean),
    )


def network_scores(X: Any, drawn: Drawn, network: Network) -> Any:
    """Score standardised rows; about ``ROWS_SCORED`` at a time are best."""
    scores = forest_scores(X, network.forest) + network.intercept
    n_columns, n_nodes = X.shape[1], len(drawn.hidden_bias) // len(ACTIVATIONS)
    # Columns are made for fewer rows than trees are asked for: they must stay in cache.
    step = rows_per_block(max(n_columns, n_nodes, len(network.landmark_weights)), is_tensor(X))
    starts = n_columns + n_nodes * np.arange(len(ACTIVATIONS) + 1)
    for rows in (slice(start, start + step) for start in range(0, len(X), step)):
        x = X[rows]
        scores[rows] += x @ network.coef[:n_columns]
        for k, (first, last) in enumerate(pairwise(starts.tolist())):
            scores[rows] += drawn.hidden(x, k) @ network.coef[first:last]
        scores[rows] += drawn.kernel.outputs(x) @ network.landmark_weights
    return scores


# -- the kernel layer -------------------------------------------------------------------------

SMALLEST_EIGENVALUE = 1e-6  # of the largest: directions below it are rounding


class KernelLayer(NamedTuple):
    """Landmarks (m, B), their whitening QΛ^(-½) (m, r), the width, and the columns looked at."""

    landmarks: Any
    whitening: Any
    width: float
    columns: Any

    def outputs(self, X: Any) -> Any:
        """Return k(x, l) of rows X and the landmarks, (n, m)."""
        landmarks = self.landmarks
        if len(self.columns) < X.shape[1]:
            X, landmarks = X[:, self.columns], landmarks[:, self.columns]
        return radial(X, landmarks, self.width)


def fit_kernel_layer(
    X: Any, n_landmarks: int, seed: int, columns: Places | None = None
) -> KernelLayer:
    """Make the layer from distinct standardised rows; distances are of some columns, or of all.

    Constant columns are left out, unless all are.
    """
    drawn = np.random.default_rng(seed).permutation(len(X))[:n_landmarks]
    landmarks = X[beside(np.sort(drawn), X)]
    columns = np.arange(X.shape[1]) if columns is None else columns
    varies = varying_columns(X)[columns]
    used = beside(columns[varies] if varies.any() else columns, X)
    layer = KernelLayer(landmarks, None, max(1.0, float(varies.sum())), used)
    values, Q = np.linalg.eigh(to_host(layer.outputs(landmarks)))
    kept = values > SMALLEST_EIGENVALUE * values[-1]
    return layer._replace(whitening=beside(Q[:, kept] / np.sqrt(values[kept]), X))


def varying_columns(X: Any) -> Mask:
    """Say which columns of standardised rows are not constant up to rounding, on the host."""
    xp = namespace(X)
    return np.asarray(to_host(xp.amax(X, 0) - xp.amin(X, 0) > SMALLEST_RANGE))


def radial(X: Any, landmarks: Any, width: float) -> Any:
    """Return exp(-|x - l|²/width), (n, m)."""
    xp = namespace(X)
    # One product gives the exponents: 2 x·l - |x|² - |l|² = [x |x|² 1]·[2l -1 -|l|²].
    of_rows = xp.hstack([X, row_squares(X)[:, None], xp.ones_like(X[:, :1])])
    squares = row_squares(landmarks)[:, None]
    of_landmarks = xp.hstack([2.0 * landmarks, -xp.ones_like(squares), -squares])
    exponent = of_rows @ (of_landmarks.T / width)
    xp.clip(exponent, None, 0.0, out=exponent)
    return xp.exp(exponent, out=exponent)
