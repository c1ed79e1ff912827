"""Trees and kernels of the classifier for wrong labels: slow literal twins, and known truths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robell._core.array import MANY_COLUMNS, sum_by_group
from robell._core.ensemble import trees
from robell._core.ensemble.members import fit_kernel_layer, radial
from robell._core.ensemble.trees import (
    DEPTH,
    N_TREES,
    SHRINKAGES,
    SPLITS_DRAWN,
    draw_splits,
    find_cuts,
    forest_scores,
    grow_forest,
    leaves_of,
    plant_forest,
)

seeds = st.integers(0, 2**32 - 1)


def draw(seed, n_rows, n_columns, n_targets):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] = np.round(X[:, 0])
    targets = rng.random((n_rows, n_targets)) + (X[:, :1] > 0)
    return X, targets, rng.uniform(0.5, 2.0, n_rows)


def literal_tree(X, t, w, rows, columns, thresholds, directions, shrinkage):
    """Grow one tree on some rows, a node and a row at a time; return a function of one row."""
    paths = dict.fromkeys(rows, ())
    splits = []
    for level in range(DEPTH):
        gains = []
        for column, threshold in zip(columns[level], thresholds[level]):
            gain = 0.0
            for node in set(paths.values()):
                for side in (False, True):
                    here = [
                        i for i in rows if paths[i] == node and (X[i, column] > threshold) == side
                    ]
                    total = sum((w[i] * t[i] @ directions[level] for i in here), 0.0)
                    gain += np.sum(np.square(total)) / (sum(w[i] for i in here) + 1.0)
            gains.append(gain)
        best = next(k for k, gain in enumerate(gains) if gain >= max(gains) * (1 - 1e-9))
        splits.append((columns[level][best], thresholds[level][best]))
        for i in rows:
            paths[i] += (bool(X[i, splits[-1][0]] > splits[-1][1]),)

    def value(x):
        path = tuple(bool(x[column] > threshold) for column, threshold in splits)
        found = np.zeros(t.shape[1])
        for level in range(1, DEPTH + 1):
            here = [i for i in rows if paths[i][:level] == path[:level]]
            total = sum(w[i] for i in here)
            sums = sum((w[i] * t[i] for i in here), np.zeros(t.shape[1]))
            found = found + (sums - total * found) / (total + shrinkage)
        return found

    return value


@pytest.mark.parametrize("n_targets", [1, 2, 4, 9])
def test_the_forest_is_that_of_a_literal_twin(n_targets, monkeypatch):
    monkeypatch.setattr(trees, "N_TREES", 5)
    X, targets, weight = draw(n_targets, 24, 3, n_targets)
    forest, scores = grow_forest(X, targets, weight, plant_forest(X, 7))
    # What is drawn, in the same order
    rng = np.random.default_rng(7)
    bags = [rng.choice(24, 12, replace=False, shuffle=False) for _ in range(5)]
    cuts = find_cuts(X[rng.choice(24, 24, replace=False, shuffle=False)])
    drawn = draw_splits(cuts, (5, DEPTH, SPLITS_DRAWN), rng)
    directions = rng.standard_normal((5, DEPTH, n_targets, 3))
    if n_targets <= 3:
        directions = np.broadcast_to(np.eye(n_targets), (5, DEPTH, n_targets, n_targets))
    w = weight / weight.mean()
    mean = np.average(targets, axis=0, weights=w)
    t = targets - mean
    best = None
    for shrinkage in SHRINKAGES:
        grown = [
            literal_tree(X, t, w, bag, *(part[k] for part in (*drawn, directions)), shrinkage)
            for k, bag in enumerate(bags)
        ]
        left_out = np.zeros_like(t)
        for i in range(24):
            values = [tree(X[i]) for tree, bag in zip(grown, bags) if i not in bag]
            left_out[i] = np.mean(values, axis=0) if values else 0.0
        error = w @ np.square(t - left_out).sum(axis=1)
        if best is None or error < best[0]:
            best = error, shrinkage, grown, left_out
    assert forest.shrinkage == best[1]
    np.testing.assert_allclose(scores, best[3] + mean, atol=1e-9)
    expected = [mean + np.mean([tree(x) for tree in best[2]], axis=0) for x in X]
    np.testing.assert_allclose(forest_scores(X, forest), expected, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 4), st.integers(0, 6), st.integers(1, 3))
def test_sums_of_nodes_are_those_of_a_loop_over_rows(seed, n_trees, level, kinds):
    rng = np.random.default_rng(seed)
    n_nodes, n_splits, size = 1 << level, 4 * int(rng.integers(1, 4)), int(rng.integers(1, 20))
    seen = rng.normal(size=(n_trees, kinds, size))
    node = rng.integers(0, n_nodes, (n_trees, size)).astype(np.uint8)
    right = rng.random((n_trees, n_splits, size)) < 0.5
    of_all = np.zeros((n_trees, kinds, n_nodes, 1))
    of_right = np.zeros((n_trees, kinds, n_nodes, n_splits))
    for t in range(n_trees):
        for row in range(size):
            of_all[t, :, node[t, row], 0] += seen[t, :, row]
            of_right[t, :, node[t, row], right[t, :, row]] += seen[t, :, row]
    for summed in (trees._summed, trees._counted):
        for found, expected in zip(summed(seen, node, n_nodes, right), (of_all, of_right)):
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("n_columns", [3, MANY_COLUMNS, 40])
def test_sums_by_group_and_over_trees_are_taken_in_the_order_of_a_loop(n_columns, monkeypatch):
    rng = np.random.default_rng(n_columns)
    values, group = rng.normal(size=(300, n_columns)), rng.integers(0, 20, 300)
    expected = np.zeros((21, n_columns))
    for row, g in zip(values, group):
        expected[g] += row
    assert (sum_by_group(values, group, 21) == expected).all()
    of_leaves, leaf = rng.normal(size=(7, 4, n_columns)), rng.integers(0, 4, (7, 50), np.uint8)
    summed = np.zeros((50, n_columns))
    for tree, places in zip(of_leaves, leaf):
        summed += tree[places]
    for few in (0, 50):
        monkeypatch.setattr(trees, "FEW_ROWS", few)
        assert (trees._sum_of_leaves(of_leaves, leaf) == summed).all()


def test_growing_a_few_trees_at_a_time_changes_nothing(monkeypatch):
    X, targets, weight = draw(0, 60, 4, 2)
    forest, scores = grow_forest(X, targets, weight, plant_forest(X, 0))
    monkeypatch.setattr(trees, "MOST_NUMBERS", 1)
    again, same = grow_forest(X, targets, weight, plant_forest(X, 0))
    np.testing.assert_array_equal(forest.values, again.values)
    np.testing.assert_array_equal(scores, same)


def test_the_shrinkage_of_many_rows_is_chosen_on_some_of_them(monkeypatch):
    X, targets, weight = draw(3, 400, 4, 1)
    errors, forests = [], []
    for shrinkage in SHRINKAGES:
        monkeypatch.setattr(trees, "SHRINKAGES", (shrinkage,))
        forest, scores = grow_forest(X, targets, weight, plant_forest(X, 0))
        errors.append(weight[::4] @ (targets - scores)[::4, 0] ** 2)
        forests.append((forest.values, scores))
    monkeypatch.setattr(trees, "SHRINKAGES", SHRINKAGES)
    monkeypatch.setattr(trees, "MOST_COMPARED", 300)
    monkeypatch.setattr(trees, "ROWS_COMPARED", 100)
    forest, scores = grow_forest(X, targets, weight, plant_forest(X, 0))
    best = int(np.argmin(errors))
    assert forest.shrinkage == SHRINKAGES[best]
    np.testing.assert_array_equal(forest.values, forests[best][0])
    np.testing.assert_array_equal(scores, forests[best][1])


@settings(max_examples=20)
@given(seeds, st.integers(2, 40), st.integers(1, 4))
def test_left_out_scores_have_not_seen_their_row(seed, n_rows, n_columns):
    """With splits and shrinkage the same, another target of a row leaves its own score alone."""
    X, targets, weight = draw(seed, n_rows, n_columns, 1)
    forest, scores = grow_forest(X, targets, weight, plant_forest(X, seed))
    assert np.isfinite(scores).all()
    assert forest.values.shape == (N_TREES, 1 << DEPTH, 1)
    assert (leaves_of(X, forest.splits) < 1 << DEPTH).all()
    inside = targets.min() - 1e-9, targets.max() + 1e-9
    assert (scores >= inside[0]).all()
    assert (scores <= inside[1]).all()


def test_honest_scores_of_pure_noise_say_nothing():
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(400, 5)), rng.integers(0, 2, (400, 1)).astype(float)
    forest, scores = grow_forest(X, targets, np.ones(400), plant_forest(X, 0))
    assert np.corrcoef(scores[:, 0], targets[:, 0])[0, 1] < 0.15
    assert np.corrcoef(forest_scores(X, forest)[:, 0], targets[:, 0])[0, 1] > 0.15  # it remembers
    assert forest.shrinkage == max(SHRINKAGES)


def test_a_checkerboard_is_learnt():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2))
    targets = (X[:, :1] > 0) ^ (X[:, 1:] > 0)
    _, scores = grow_forest(X, targets.astype(float), np.ones(600), plant_forest(X, 0))
    assert ((scores > 0.5) == targets).mean() > 0.85


@given(seeds, st.integers(1, 30))
def test_cuts_lie_between_two_values_of_their_column(seed, n_rows):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 3, n_rows), rng.normal(size=n_rows), np.ones(n_rows)])
    columns, thresholds = draw_splits(find_cuts(X), (40,), rng)
    varying = [c for c in (0, 1) if len(np.unique(X[:, c])) > 1]
    if not varying:
        assert (thresholds > 1e300).all()
        return
    assert set(columns) <= set(varying)
    for column, threshold in zip(columns, thresholds):
        assert X[:, column].min() < threshold < X[:, column].max()
        assert not (X[:, column] == threshold).any()


@pytest.mark.parametrize("outlier", [0.0, 1e3, 1e12])
def test_values_nearer_than_their_columns_own_limit_are_not_cut_apart(outlier):
    """The limit is a share of a median distance: an outlier does not widen it."""
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=40), 2)
    values[1::2] += rng.choice([0.0, 1e-13, 1e-9, 1e-8, 1e-3], 40)
    values[0] += outlier
    X = np.column_stack([values, rng.normal(size=80), np.arange(80) % 3])
    found = find_cuts(rng.permutation(X))
    for j, column in enumerate(np.sort(X, axis=0).T):
        off = np.abs(column - np.median(column))
        start, limit = 0, trees.SAME_SHARE * np.median(off[off > 0])
        for row, value in enumerate(column):
            if row and value - column[row - 1] > limit:
                start = row
            assert (found.values[row, j], found.starts[row, j]) == (value, start)


@given(seeds, st.integers(1, 40), st.integers(1, 5))
def test_the_whitened_kernel_is_the_kernel_of_the_landmarks(seed, n_rows, n_columns):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    landmarks, whitening, width, columns = fit_kernel_layer(X, 15, seed)
    assert columns.tolist() == list(range(n_columns))
    assert len(landmarks) == min(15, n_rows)
    assert (landmarks[:, None] == X).all(axis=2).any(axis=1).all()
    H = radial(landmarks, landmarks, width) @ whitening
    exact = [[np.exp(-np.square(a - b).sum() / width) for b in landmarks] for a in landmarks]
    np.testing.assert_allclose(H @ H.T, exact, atol=1e-4)
    assert width == (n_columns if n_rows > 1 else 1)


def test_a_table_of_constants_is_not_split_and_nothing_is_infinite():
    from robell import NoiseRobustRVFLClassifier

    model = NoiseRobustRVFLClassifier(random_state=0).fit(np.zeros((12, 3)), np.tile([0, 1], 6))
    assert np.isfinite(model.split_thresholds_).all()
    np.testing.assert_allclose(model.predict_proba(np.ones((2, 3))).sum(axis=1), 1.0)
