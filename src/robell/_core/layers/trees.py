"""Trees that see the targets, many and small, with scores of rows they were not grown on.

Every tree is grown on a random half of the rows. On each level a few splits, columns and places
to cut them, are drawn without looking at the targets; the split that is best for all nodes of the
level together is kept:

    gain = Σ_nodes |Σ_right w (t - t̄)|²/(W_right + 1) + the same of the left.

The value of a node is its mean target, shrunk towards the value of the node above it:

    v_node = v_above + (Σ w (t - t̄) - W v_above)/(W + λ).

The score of a row is the mean over the trees that were not grown on it, and λ is the one with the
smallest squared error of these scores: where labels are noise, trees say next to nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.intp]

N_TREES = 40
DEPTH = 6
SPLITS_DRAWN = 12  # on every level of a tree
MOST_ROWS = 2048  # that a tree is grown on
SHRINKAGES = (1.0, 4.0, 16.0, 64.0)  # λ, in rows
MOST_DIRECTIONS = 3  # of the targets that a level looks at: random ones where classes are more
SAME_SHARE = 1e-9  # of a column's range: values nearer to each other are not cut apart
SMALLEST_RANGE = 1e-3  # of a standardised column that is not constant up to rounding
MOST_NUMBERS = 1 << 22  # that growing takes at a time
NO_SPLIT = float(np.finfo(np.float64).max)  # a threshold that no value passes


class Splits(NamedTuple):
    """x[column] > threshold, of every level of every tree."""

    columns: Places  # (T, D)
    thresholds: Array  # (T, D)

    def of(self, trees: slice) -> Splits:
        """Return the splits of some of the trees."""
        return Splits(self.columns[trees], self.thresholds[trees])


class Forest(NamedTuple):
    """The trees: their splits, the values of their leaves, and the mean target."""

    splits: Splits
    values: Array  # (T, 2^D, K)
    mean: Array  # (K,)
    shrinkage: float


class Cuts(NamedTuple):
    """Where columns can be cut: their values in order, and where runs of equal ones begin."""

    values: Array  # (n, B)
    starts: Places  # (n, B)
    first: Places  # of each column the first place above its smallest value; 0 for a constant


def find_cuts(X: Array) -> Cuts:
    """Return where the columns of X can be cut."""
    values = np.sort(X, axis=0)
    spread = values[-1] - values[0]
    step = (np.diff(values, axis=0) > SAME_SHARE * spread) & (spread > SMALLEST_RANGE)
    starts = np.zeros(values.shape, np.intp)
    starts[1:] = np.where(step, np.arange(1, len(values))[:, None], 0)
    first = np.where(step.any(axis=0), step.argmax(axis=0) + 1, 0) if len(step) else starts[0]
    return Cuts(values, np.maximum.accumulate(starts, axis=0), first)


def draw_splits(cuts: Cuts, shape: tuple[int, ...], rng: np.random.Generator) -> Splits:
    """Draw columns, and of each a place between two values, likelier where more rows lie.

    Constant columns are never drawn; of a table without any other nothing is split.
    """
    usable = np.flatnonzero(cuts.first)
    if not len(usable):
        return Splits(np.zeros(shape, np.intp), np.full(shape, NO_SPLIT))
    column = usable[rng.integers(0, len(usable), shape)]
    place = (rng.random(shape) * len(cuts.values)).astype(np.intp)
    start = np.maximum(cuts.starts[place, column], cuts.first[column])
    middle = 0.5 * cuts.values[start, column] + 0.5 * cuts.values[start - 1, column]
    return Splits(column, middle)


def leaves_of(X: Array, splits: Splits) -> Places:
    """Return the leaf that every row reaches in every tree, (T, n)."""
    leaf = np.zeros((len(splits.columns), len(X)), np.intp)
    by_column = np.ascontiguousarray(X.T)
    for column, threshold in zip(splits.columns.T, splits.thresholds.T, strict=True):
        leaf *= 2
        leaf += by_column[column] > threshold[:, None]
    return leaf


def forest_scores(X: Array, forest: Forest) -> Array:
    """Return the mean over the trees for every row, (n, K)."""
    n_trees, n_leaves, n_targets = forest.values.shape
    place = leaves_of(X, forest.splits) + n_leaves * np.arange(n_trees)[:, None]
    flat = forest.values.reshape(-1, n_targets)
    total = np.zeros((len(X), n_targets))
    for of_tree in place:
        total += flat[of_tree]
    return np.asarray(total / n_trees + forest.mean)


def grow_forest(X: Array, targets: Array, weight: Array, seed: int) -> tuple[Forest, Array]:
    """Grow the trees; return them and the scores of the rows, each by the trees without it.

    X are rows that all differ, in an order of their own: with the same seed the same rows are
    drawn, however they were given.
    """
    rng = np.random.default_rng(seed)
    n, n_targets = targets.shape
    size = min(MOST_ROWS, max(1, n // 2))
    bags = np.stack([rng.choice(n, size, replace=False, shuffle=False) for _ in range(N_TREES)])
    looked_at = rng.choice(n, min(n, 2 * MOST_ROWS), replace=False, shuffle=False)
    cuts = find_cuts(X[looked_at])
    drawn = draw_splits(cuts, (N_TREES, DEPTH, SPLITS_DRAWN), rng)
    directions = rng.standard_normal((N_TREES, DEPTH, n_targets, MOST_DIRECTIONS))
    if n_targets <= MOST_DIRECTIONS:
        directions = np.broadcast_to(np.eye(n_targets), (N_TREES, DEPTH, n_targets, n_targets))
    relative = weight / weight.mean()
    mean = relative @ targets / n
    rows = np.hstack([relative[:, None], relative[:, None] * (targets - mean)])
    step = max(1, MOST_NUMBERS // (size * SPLITS_DRAWN * (1 + directions.shape[3])))
    grown = [
        _grow(X, rows, bags[some], drawn.of(some), directions[some])
        for some in (slice(start, start + step) for start in range(0, N_TREES, step))
    ]
    splits = Splits(
        np.concatenate([found.columns for found, _ in grown]),
        np.concatenate([found.thresholds for found, _ in grown]),
    )
    sums = [np.concatenate(level) for level in zip(*(level for _, level in grown), strict=True)]
    values, scores, shrinkage = _shrink(X, rows, bags, splits, sums)
    return Forest(splits, values, mean, shrinkage), scores + mean


def _grow(
    X: Array, rows: Array, bags: Places, drawn: Splits, directions: Array
) -> tuple[Splits, list[Array]]:
    """Grow some trees; return their splits, and the sums [W, Σ w (t - t̄)] of nodes by level."""
    trees = np.arange(len(bags))
    kept = Splits(np.zeros((len(bags), DEPTH), np.intp), np.full((len(bags), DEPTH), NO_SPLIT))
    node, sums = np.zeros(bags.shape, np.intp), []
    in_bag = rows[bags].reshape(bags.size, -1)  # (t m, 1 + K)
    first_cell = X.shape[1] * bags
    for level in range(DEPTH + 1):
        n_nodes = len(bags) << level
        place = (node + (trees << level)[:, None]).ravel()
        ones, ends = np.ones(bags.size), np.arange(bags.size + 1)
        members = sp.csc_array((ones, place, ends), shape=(n_nodes, bags.size))
        sums.append((members @ in_bag).reshape(len(bags), 1 << level, -1))
        if level == DEPTH:
            break
        column, threshold = drawn.columns[:, level], drawn.thresholds[:, level]
        cells = first_cell[:, :, None] + column[:, None, :]  # of X in one row: the fastest way
        right = X.ravel().take(cells) > threshold[:, None, :]  # (t, m, splits)
        seen = rows[bags, 1:] @ directions[:, level]  # (t, m, directions)
        seen = np.concatenate([rows[bags, :1], seen], axis=2)
        sides = (seen[:, :, :, None] * right[:, :, None, :]).reshape(bags.size, -1)
        of_right = (members @ sides).reshape(n_nodes, seen.shape[2], -1)
        total = (members @ seen.reshape(bags.size, -1))[:, :, None]
        gain = _explained(of_right) + _explained(total - of_right)
        gain = gain.reshape(len(bags), -1, gain.shape[1]).sum(axis=1)
        # The first of those that are equal up to rounding: often splits divide the rows alike.
        best = (gain >= gain.max(axis=1, keepdims=True) * (1.0 - SAME_SHARE)).argmax(axis=1)
        kept.columns[:, level] = column[trees, best]
        kept.thresholds[:, level] = threshold[trees, best]
        node = 2 * node + right[trees, :, best]
    return kept, sums


def _explained(sums: Array) -> Array:
    """Return |Σ w (t - t̄)|²/(W + 1) of sums (nodes, 1 + directions, splits)."""
    return np.asarray(np.square(sums[:, 1:]).sum(axis=1) / (sums[:, 0] + 1.0))


def _shrink(
    X: Array, rows: Array, bags: Places, splits: Splits, sums: list[Array]
) -> tuple[Array, Array, float]:
    """Return the leaves' values, and the left-out scores, under the best of the shrinkages."""
    n_trees, n_leaves, width = sums[-1].shape
    place = leaves_of(X, splits) + n_leaves * np.arange(n_trees)[:, None]
    left_out = np.ones(place.shape, bool)
    left_out[np.arange(n_trees)[:, None], bags] = False
    seen_by = np.maximum(left_out.sum(axis=0), 1)[:, None]  # no tree without it: score t̄
    weight, target = rows[:, 0], rows[:, 1:] / rows[:, :1]
    smallest = np.inf
    for shrinkage in SHRINKAGES:
        value = np.zeros((n_trees, 1, width - 1))
        for level in sums[1:]:
            above = np.repeat(value, 2, axis=1)
            total, sums_of_node = level[:, :, :1], level[:, :, 1:]
            value = above + (sums_of_node - total * above) / (total + shrinkage)
        flat, scores = value.reshape(-1, width - 1), np.zeros(target.shape)
        for of_tree, counted in zip(place, left_out, strict=True):
            scores += flat[of_tree] * counted[:, None]
        scores /= seen_by
        error = float(weight @ np.square(target - scores).sum(axis=1))
        if error < smallest:
            smallest, best = error, (value, scores, shrinkage)
    return best
