"""Trees that see the targets, many and small, with scores of rows they were not grown on.

Every tree is grown on a random half of the rows. On each level a few splits, columns and places
to cut them, are drawn without looking at the targets; the split that is best for all nodes of the
level together is kept:

    gain = Σ_nodes |Σ_right w (t - t̄)|²/(W_right + 1) + the same of the left.

The value of a node is its mean target, shrunk towards the value of the node above it:

    v_node = v_above + (Σ w (t - t̄) - W v_above)/(W + λ).

The score of a row is the mean over the trees that were not grown on it, and λ is the one with the
smallest squared error of these scores: where labels are noise, trees say next to nothing.

Rows may be tensors: what is random is drawn on the host, and trees are grown where the rows are.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from robell._core.array import (
    MANY_COLUMNS,
    Array,
    Places,
    beside,
    empty_beside,
    is_tensor,
    namespace,
    sum_by_group,
    to_host,
    typical_distance,
)

N_TREES = 40
DEPTH = 6
SPLITS_DRAWN = 12  # on every level of a tree; four are counted together
MOST_ROWS = 2048  # that a tree is grown on
SHRINKAGES = (1.0, 4.0, 16.0, 64.0)  # λ, in rows
MOST_DIRECTIONS = 3  # of the targets that a level looks at: random ones where classes are more
SAME_SHARE = 1e-9  # of a column's typical distance: values nearer to each other are not cut apart
SMALLEST_RANGE = 1e-3  # of a standardised column that is not constant up to rounding
MOST_NUMBERS = 450_000  # that growing takes at a time: they stay in cache
MOST_NUMBERS_OF_TENSORS = 1 << 25
LEVELS_SUMMED = 2  # whose sums are products of matrices; of tensors those of all levels are
# What counts on the right of four splits, of rows on the same sides of them; what counts at all.
SIDES: Array = np.hstack([np.arange(16)[:, None] >> np.arange(4) & 1, np.ones((16, 1))])
FEW_ROWS = 1024  # of arrays: all trees are asked at once, which costs copies
ROWS_AT_ONCE = 1 << 14  # whose leaves are found: their columns stay in cache
MOST_COMPARED = 50_000  # rows whose errors all choose the shrinkage; beyond, every k-th of them,
ROWS_COMPARED = 25_000  # k the largest that leaves so many
NO_SPLIT = float(np.finfo(np.float64).max)  # a threshold that no value passes


class Splits(NamedTuple):
    """x[column] > threshold, of every level of every tree."""

    columns: Any  # (T, D)
    thresholds: Any  # (T, D)


class Forest(NamedTuple):
    """The trees: their splits, the values of their leaves, and the mean target."""

    splits: Splits
    values: Any  # (T, 2^D, K)
    mean: Any  # (K,)
    shrinkage: float


class Planted(NamedTuple):
    """What trees are grown from, drawn without looking at targets."""

    bags: Any  # (T, m): the rows of each tree, in order
    drawn: Splits  # (T, D, splits)
    right: Any  # (T, D, splits, m): which rows of the bag lie to the right of the split
    in_bag: Any  # (T, n): 2^D where the tree is grown on the row, otherwise 0
    rng: np.random.Generator  # of the directions of the targets, which may be many or few


class Cuts(NamedTuple):
    """Where columns can be cut: their values in order, and where runs of equal ones begin."""

    values: Array  # (n, B)
    starts: Places  # (n, B)
    first: Places  # of each column the first place above its smallest value; 0 for a constant


def find_cuts(X: Array) -> Cuts:
    """Return where the columns of X can be cut."""
    values = np.sort(X, axis=0)
    spread, gaps = values[-1] - values[0], np.diff(values, axis=0)
    near = SAME_SHARE * spread  # no column's own limit, which takes two medians, is larger
    for j in np.flatnonzero(((gaps > 0) & (gaps <= near)).any(axis=0)):
        near[j] = SAME_SHARE * typical_distance(values[:, j])
    step = (gaps > near) & (spread > SMALLEST_RANGE)
    starts = np.zeros(values.shape, np.intp)
    starts[1:] = np.where(step, np.arange(1, len(values))[:, None], 0)
    first = np.where(step.any(axis=0), step.argmax(axis=0) + 1, 0) if len(step) else starts[0]
    return Cuts(values, np.maximum.accumulate(starts, axis=0), first)


def draw_splits(cuts: Cuts, shape: tuple[int, ...], rng: np.random.Generator) -> Splits:
    """Draw columns, none constant, and places between two values, likelier where more rows lie."""
    usable = np.flatnonzero(cuts.first)
    if not len(usable):
        return Splits(np.zeros(shape, np.intp), np.full(shape, NO_SPLIT))
    column = usable[rng.integers(0, len(usable), shape)]
    place = (rng.random(shape) * len(cuts.values)).astype(np.intp)
    start = np.maximum(cuts.starts[place, column], cuts.first[column])
    middle = 0.5 * cuts.values[start, column] + 0.5 * cuts.values[start - 1, column]
    return Splits(column, middle)


def leaves_of(X: Any, splits: Splits) -> Any:
    """Return the leaf that every row reaches in every tree, (T, n), in bytes."""
    by_column = columns_of(X)
    leaf = beside(np.zeros((len(splits.columns), len(X)), np.uint8), X)
    for of_level in zip(splits.columns.T, splits.thresholds.T, strict=True):
        leaf += leaf
        leaf += _right_of(by_column, *of_level).view(namespace(X).uint8)
    return leaf


def columns_of(X: Any) -> Any:
    """Return the columns of X, each in one piece of memory: (..., B, n) of (..., n, B)."""
    columns = X.swapaxes(-1, -2)
    return columns.contiguous() if is_tensor(X) else np.ascontiguousarray(columns)


def _right_of(by_column: Any, columns: Any, thresholds: Any) -> Any:
    """Return which rows lie to the right of splits (...), (..., n)."""
    if is_tensor(by_column) or by_column.shape[1] <= FEW_ROWS:
        return by_column[columns] > thresholds[..., None]
    right = np.empty((columns.size, by_column.shape[1]), bool)  # without copies of whole columns
    pairs = zip(columns.ravel().tolist(), thresholds.ravel().tolist(), strict=True)
    for (column, threshold), of_split in zip(pairs, right, strict=True):
        np.greater(by_column[column], threshold, out=of_split)
    return right.reshape(*columns.shape, -1)


def _sum_of_leaves(values: Any, leaf: Any) -> Any:
    """Return the sum over the trees of the values (T, 2^D, K) at the leaves (T, n), (n, K)."""
    xp, (n_trees, n_leaves, n_targets) = namespace(values), values.shape
    if is_tensor(values):
        first = n_leaves * beside(np.arange(n_trees), leaf)[:, None]
        place = xp.asarray(leaf, dtype=xp.int64) + first
        return values.reshape(-1, n_targets)[place].sum(0)
    if leaf.shape[1] <= FEW_ROWS or n_targets >= MANY_COLUMNS:
        place = leaf.T + n_leaves * np.arange(n_trees)  # in the order of the trees
        ends = n_trees * np.arange(leaf.shape[1] + 1)
        shape = leaf.shape[1], n_trees * n_leaves
        reached = csr_array((np.ones(place.size), place.ravel(), ends), shape=shape)
        return reached @ values.reshape(-1, n_targets)
    total = np.zeros((n_targets, leaf.shape[1]))
    by_target = np.ascontiguousarray(values.transpose(2, 0, 1))
    for t, place in enumerate(leaf):
        place = place.astype(np.intp)
        for k in range(n_targets):
            total[k] += by_target[k, t].take(place)
    return total.T


def forest_scores(X: Any, forest: Forest) -> Any:
    """Return the mean over the trees for every row, (n, K)."""
    total = _sum_of_leaves(forest.values, leaves_of(X, forest.splits))
    return total / len(forest.values) + forest.mean


def plant_forest(X: Any, seed: int) -> Planted:
    """Draw what trees are grown from, for distinct rows in an order of their own."""
    xp, rng, n = namespace(X), np.random.default_rng(seed), len(X)
    size = min(MOST_ROWS, max(1, n // 2))
    bags = np.stack([rng.choice(n, size, replace=False, shuffle=False) for _ in range(N_TREES)])
    bags.sort(axis=1)  # cells are then read in the order of memory
    looked_at = rng.choice(n, min(n, 2 * MOST_ROWS), replace=False, shuffle=False)
    cuts = find_cuts(to_host(X[beside(looked_at, X)]))
    drawn = draw_splits(cuts, (N_TREES, DEPTH, SPLITS_DRAWN), rng)
    drawn = Splits(*(beside(part, X) for part in drawn))
    bags = beside(bags, X)
    right = [
        _right_of(columns_of(X[bag]), *of_tree) for bag, *of_tree in zip(bags, *drawn, strict=True)
    ]
    in_bag = beside(np.zeros((N_TREES, n), np.uint8), X)
    in_bag[beside(np.arange(N_TREES), X)[:, None], bags] = 1 << DEPTH
    return Planted(bags, drawn, xp.stack(right), in_bag, rng)


def grow_forest(X: Any, targets: Any, weight: Any, planted: Planted) -> tuple[Forest, Any]:
    """Grow the trees; return them and the scores of the rows, each by the trees without it."""
    xp, (n, n_targets), bags = namespace(X), targets.shape, planted.bags
    directions, size = None, bags.shape[1]
    if n_targets > MOST_DIRECTIONS:
        shape = N_TREES, DEPTH, n_targets, MOST_DIRECTIONS
        directions = beside(deepcopy(planted.rng).standard_normal(shape), X)
    relative = weight / weight.mean()
    mean = relative @ targets / n
    rows = xp.hstack([relative[:, None], relative[:, None] * (targets - mean)])
    numbers = MOST_NUMBERS_OF_TENSORS if is_tensor(X) else MOST_NUMBERS
    step = max(1, numbers // (size << DEPTH))
    grown = [
        _grow(rows, planted, directions, slice(start, start + step))
        for start in range(0, N_TREES, step)
    ]
    columns, thresholds, sums = map(xp.concatenate, zip(*grown, strict=True))
    splits = Splits(columns, thresholds)
    values = _leaf_values(sums, beside(np.array(SHRINKAGES), X))  # (T, 2^D, shrinkages, K)
    # The shrinkage with the smallest error, of many rows that of every k-th.
    every = n // ROWS_COMPARED if n > MOST_COMPARED else 1
    some, in_bag = rows[::every], planted.in_bag
    compared = _left_out(X[::every], splits, in_bag[:, ::every], values)
    off = (some[:, 1:] / some[:, :1])[:, None] - compared
    best = int(to_host(some[:, 0] @ xp.square(off).sum(2)).argmin())
    scores = compared[:, best]
    if every > 1:
        scores = _left_out(X, splits, in_bag, values[:, :, best : best + 1])[:, 0]
    return Forest(splits, values[:, :, best], mean, SHRINKAGES[best]), scores + mean


def _grow(rows: Any, planted: Planted, directions: Any, some: slice) -> tuple[Any, Any, Any]:
    """Grow some trees; return their splits, and the sums [W, Σ w (t - t̄)] of their leaves."""
    xp, tensors = namespace(rows), is_tensor(rows)
    bags, right_of_levels = planted.bags[some], planted.right[some]
    drawn_columns, drawn_thresholds = planted.drawn.columns[some], planted.drawn.thresholds[some]
    trees, kept = beside(np.arange(len(bags)), rows)[:, None], []
    in_bag = rows[bags]  # (t, m, 1 + K)
    along = [columns_of(in_bag)] * DEPTH if directions is None else _along(in_bag, directions[some])
    node = beside(np.zeros(bags.shape, np.uint8), rows)  # (t, m)
    for level, seen in enumerate(along):
        right = right_of_levels[:, level]  # (t, splits, m)
        summed = _summed if tensors or level < LEVELS_SUMMED else _counted
        of_all, of_right = summed(seen, node, 1 << level, right)
        gain = (_explained(of_right) + _explained(of_all - of_right)).sum(1)
        # The first of those that are equal up to rounding: often splits divide the rows alike.
        good = gain >= xp.amax(gain, 1)[:, None] * (1.0 - SAME_SHARE)
        best = good.view(xp.uint8).argmax(1)[:, None]
        kept.append((drawn_columns[trees, level, best], drawn_thresholds[trees, level, best]))
        node = 2 * node + right[trees, best][:, 0]
    columns, thresholds = (xp.concatenate(parts, 1) for parts in zip(*kept, strict=True))
    leaf = (trees << DEPTH) + node
    sums = sum_by_group(in_bag.reshape(-1, in_bag.shape[2]), leaf.reshape(-1), len(bags) << DEPTH)
    return columns, thresholds, sums.reshape(len(bags), 1 << DEPTH, -1)


def _along(in_bag: Any, directions: Any) -> list[Any]:
    """Return weights, and targets along the directions of a level, (t, 1 + directions, m) each."""
    xp, (n_trees, _, n_targets, n_directions) = namespace(in_bag), directions.shape
    of_levels = directions.swapaxes(1, 2).reshape(n_trees, n_targets, -1)
    along = in_bag[..., 1:] @ of_levels  # of all levels at once
    return [
        columns_of(xp.concatenate([in_bag[..., :1], along[..., k : k + n_directions]], 2))
        for k in range(0, along.shape[2], n_directions)
    ]


def _summed(seen: Any, node: Any, n_nodes: int, right: Any) -> tuple[Any, Any]:
    """Return the sums over all rows, and right of every split, by products: quick for few nodes."""
    n_trees, kinds, size = seen.shape
    xp, of_nodes = namespace(node), beside(np.arange(n_nodes, dtype=np.uint8), node)
    is_there = xp.asarray(node[:, None, :] == of_nodes[:, None], dtype=xp.float64)
    at_node = (seen[:, :, None] * is_there[:, None]).reshape(n_trees, -1, size)
    chosen = empty_beside((n_trees, right.shape[1] + 1, size), seen)
    chosen[:, :-1], chosen[:, -1] = right, 1.0
    sums = (at_node @ chosen.swapaxes(1, 2)).reshape(n_trees, kinds, n_nodes, -1)
    return sums[..., -1:], sums[..., :-1]


def _counted(seen: Array, node: Any, n_nodes: int, right: Any) -> tuple[Array, Array]:
    """Return the same sums of arrays, from those of the rows on the same sides of four splits."""
    (n_trees, kinds, size), (n_sides, n_sums) = seen.shape, SIDES.shape
    of_fours = right.view(np.uint8).reshape(n_trees, -1, 4, size)
    sides = (of_fours << np.arange(4, dtype=np.uint8)[:, None]).sum(2, dtype=np.uint8)
    first = n_sides * (n_nodes * np.arange(n_trees)[:, None] + node)
    columns = seen.swapaxes(0, 1).reshape(kinds, -1)
    sums = np.empty((sides.shape[1], kinds, n_trees * n_nodes, n_sums))
    for of_four, found in zip(sides.swapaxes(0, 1), sums, strict=True):
        place = (first + of_four).ravel()
        for column, of_kind in zip(columns, found, strict=True):  # one small array at a time
            counted = np.bincount(place, column, len(of_kind) * n_sides)
            np.matmul(counted.reshape(-1, n_sides), SIDES, out=of_kind)
    sums = sums.reshape(-1, kinds, n_trees, n_nodes, n_sums).transpose(2, 1, 3, 0, 4)
    return sums[..., :1, -1], sums[..., :-1].reshape(n_trees, kinds, n_nodes, -1)


def _explained(sums: Any) -> Any:
    """Return |Σ w (t - t̄)|²/(W + 1) of sums whose second axis is [W, directions]."""
    return (sums[:, 1:] ** 2).sum(1) / (sums[:, 0] + 1.0)


def _left_out(X: Any, splits: Splits, in_bag: Any, values: Any) -> Any:
    """Return the mean of values (T, 2^D, L, K) over the trees not grown on the row, (n, L, K)."""
    xp, n_rows, (n_trees, n_leaves, *shape) = namespace(X), len(X), values.shape
    # Leaves are looked up once for all L; a tree that has seen the row adds 0, a leaf's value.
    values = values.reshape(n_trees, n_leaves, -1)
    values = xp.concatenate([values, xp.zeros_like(values[:, :1])], 1)
    step, totals = n_rows if is_tensor(X) else ROWS_AT_ONCE, []
    for start in range(0, n_rows, step):
        some = slice(start, start + step)
        leaf = xp.maximum(leaves_of(X[some], splits), in_bag[:, some])
        totals.append(_sum_of_leaves(values, leaf))
    # no tree without the row: score t̄
    n_left = xp.clip((in_bag == 0).sum(0), 1, None)[:, None]
    return (xp.concatenate(totals) / n_left).reshape(n_rows, *shape)


def _leaf_values(sums: Any, shrinkages: Any) -> Any:
    """Return the values of the leaves, (T, 2^D, shrinkages, K), each shrunk to the one above."""
    levels = [sums]
    while levels[0].shape[1] > 2:
        below = levels[0]
        levels.insert(0, below[:, ::2] + below[:, 1::2])
    value = namespace(sums).zeros_like(levels[0][:, :1, None, 1:])
    for level in levels:
        above = value.repeat(2, 1) if not is_tensor(value) else value.repeat_interleave(2, 1)
        total, sums_of_node = level[:, :, None, :1], level[:, :, None, 1:]
        value = above + (sums_of_node - total * above) / (total + shrinkages[:, None])
    return value
