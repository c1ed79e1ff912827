"""What is remembered of rows: reservoirs, sums, frozen memberships; each against its definition."""

import functools
import itertools
import math
import pickle
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import (
    assert_same_state,
    features_of,
    normal,
    seeds,
    some_states,
)

import robell._core.membership.samples as reservoirs
from robell._core.membership import frozen as steps
from robell._core.membership.equations import kernel_statistics, pw_gbell, scale_kernel_width
from robell._core.membership.samples import (
    UNBOUNDED,
    add_rows,
    empty_reservoir,
    find_rows,
    merge_reservoirs,
    row_keys,
    settle,
)
from robell._core.ridge.state import (
    State,
    _condition,
    _over_singular_values,
    drift_p_values,
    empty,
    end_warm_up,
    from_plain,
    merge,
    root_of,
    rows_before_freeze,
    solve,
    solve_targets,
    to_plain,
    update,
    update_targets,
)

# -- keys and reservoirs -------------------------------------------------------------


def test_keys_are_the_hash_written_out(rng):
    X = np.vstack([rng.normal(size=(20, 3)), [[1.0, 2.0, -3.0], [0.0, 0.5, 1e300]]])
    multipliers = [int(m) for m in reservoirs.column_multipliers(11, 3)]
    full = (1 << 64) - 1
    for row, key in zip(X, row_keys(X, 11)):
        h = 0
        for value, multiplier in zip(row, multipliers):
            bits = int.from_bytes(np.float64(value).tobytes(), "little")
            bits ^= bits >> 32
            bits = bits * 0x9E3779B97F4A7C15 & full
            bits ^= bits >> 29
            h = h + bits * multiplier & full
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & full
        h = (h ^ h >> 27) * 0x94D049BB133111EB & full
        assert int(key) == h ^ h >> 31


def test_keys_depend_on_content_alone(rng):
    X = rng.normal(size=(50, 4))
    keys = row_keys(X, 3)
    np.testing.assert_array_equal(row_keys(X[::-1], 3), keys[::-1])
    np.testing.assert_array_equal(row_keys(np.asfortranarray(X), 3), keys)
    assert len(np.unique(keys)) == 50
    assert not np.isin(row_keys(X, 4), keys).any()
    np.testing.assert_array_equal(row_keys(np.zeros((1, 2)), 0), row_keys(-np.zeros((1, 2)), 0))


def test_keys_of_small_integers_spread_evenly():
    rows = np.array(list(itertools.product(range(5), repeat=5)), dtype=float)
    keys = row_keys(rows, 0)
    assert len(np.unique(keys)) == len(rows) == 3125
    counts = np.histogram(keys / 2.0**64, bins=25, range=(0, 1))[0]
    chi2 = ((counts - 125.0) ** 2 / 125.0).sum()
    assert 8 < chi2 < 52  # 24 degrees of freedom: one in a thousand either way
    # ... whatever a column holds: the mean of a sample of keys is that of all rows.
    sample = rows[np.argsort(keys)[:625]]
    np.testing.assert_allclose(sample.mean(axis=0), 2.0, atol=4 * math.sqrt(2 / 625))


def reservoir_by_sorting(X, labels, weight, seed, capacity, n_classes):
    """The definition: distinct rows, weights added up, smallest keys first."""
    kept = []
    for c in range(n_classes):
        total = defaultdict(float)
        for row, w in zip(X[labels == c], weight[labels == c]):
            total[tuple(row)] += w
        ordered = sorted((int(row_keys(np.array([row]), seed)[0]), row) for row in total)
        kept += [(c, row, total[row]) for _, row in ordered[:capacity]]
    return kept


@given(seed=seeds, capacity=st.integers(1, 12), n=st.integers(1, 120), data=st.data())
def test_reservoirs_do_not_depend_on_order_or_partition(seed, capacity, n, data):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 2)).astype(float)  # nine distinct rows: many copies
    if data.draw(st.booleans()):
        X += rng.normal(size=(n, 1))
    labels, weight = rng.integers(0, 3, n), rng.integers(1, 5, n) / 2.0
    expected = reservoir_by_sorting(X, labels, weight, 5, capacity, 3)

    order = rng.permutation(n)
    cuts = np.sort(rng.integers(0, n + 1, data.draw(st.integers(0, 6))))
    parts = [
        add_rows(empty_reservoir(3, 2, 5, capacity), X[p], labels[p], weight[p])
        for p in np.split(order, cuts)
    ]
    merged = settle(functools.reduce(merge_reservoirs, rng.permuted(parts).tolist()))
    in_turn = empty_reservoir(3, 2, 5, capacity)
    for p in np.split(order, cuts):
        in_turn = add_rows(in_turn, X[p], labels[p], weight[p])
    for found in (merged, settle(in_turn)):
        assert found.labels.tolist() == [c for c, _, _ in expected]
        np.testing.assert_array_equal(found.rows, [row for _, row, _ in expected])
        np.testing.assert_allclose(found.weight, [w for *_, w in expected], rtol=1e-14)
        for c in range(3):
            distinct = len(np.unique(X[labels == c], axis=0)) if (labels == c).any() else 0
            assert found.dropped[c] == (distinct > capacity)


def test_rows_of_equal_keys_are_told_apart_by_content(rng, monkeypatch):
    X = np.array([[2.0, 0.0], [1.0, 5.0], [1.0, 3.0], [2.0, 0.0], [4.0, 4.0]])
    labels = np.array([0, 0, 0, 0, 1])
    keys = np.array([7, 7, 7, 7, 7], np.uint64)
    kept = settle(add_rows(empty_reservoir(2, 2, 0, 9), X, labels, np.ones(5), keys))
    np.testing.assert_array_equal(kept.rows, [[1, 3], [1, 5], [2, 0], [4, 4]])
    np.testing.assert_array_equal(kept.weight, [1, 1, 2, 1])
    wanted = np.array([[2.0, 0.0], [1.0, 3.0], [9.0, 9.0], [4.0, 4.0]])
    places = find_rows(kept, wanted, np.array([0, 0, 0, 1]), np.full(4, 7, np.uint64))
    np.testing.assert_array_equal(places, [2, 0, -1, 3])


def test_long_streams_are_set_aside_and_sorted_in(rng):
    """Many small batches, enough for several rounds of sorting in."""
    X, labels = rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000)
    kept = empty_reservoir(2, 2, 1, 40)
    for start in range(0, 3000, 9):
        part = slice(start, start + 9)
        kept = add_rows(kept, X[part], labels[part], np.ones(len(X[part])))
    whole = settle(add_rows(empty_reservoir(2, 2, 1, 40), X, labels, np.ones(3000)))
    assert_same_state(settle(kept), whole, 0.0)
    assert not whole.complete


@pytest.mark.parametrize("n", [5, 6, 30])
def test_a_reservoir_says_whether_it_holds_every_row(rng, n):
    X, labels = rng.normal(size=(n, 2)), np.ones(n, int)
    first = np.argsort(row_keys(X, 0))  # the rows that stay come first, the others are refused
    found = empty_reservoir(2, 2, 0, 5)
    for i in first:
        found = settle(add_rows(found, X[i : i + 1], labels[:1], np.ones(1)))
    assert found.complete == (n <= 5)
    np.testing.assert_array_equal(found.dropped, [False, n > 5])
    np.testing.assert_array_equal(found.rows, X[first[:5]])


def test_reservoirs_of_different_seeds_are_not_merged():
    with pytest.raises(ValueError, match="seeds"):
        merge_reservoirs(empty_reservoir(2, 1, 0, 5), empty_reservoir(2, 1, 1, 5))


# -- the state -----------------------------------------------------------------------


def test_means_and_scatters_are_the_sums_written_out(rng):
    X, labels = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
    weight, make = rng.uniform(0.1, 3, 400), features_of(5, 3)
    for w in (weight, np.ones(400), np.full(400, 1.5)):
        state = update(empty(4, 5), X, labels, w, make)
        for c in range(3):
            M, of_class = make(X)[labels == c], w[labels == c]
            mean = of_class @ M / of_class.sum()
            np.testing.assert_allclose(state.weight[c], of_class.sum(), rtol=1e-13)
            np.testing.assert_allclose(state.mean[c], mean, rtol=1e-12, atol=1e-13)
            scatter = (of_class[:, None] * (M - mean)).T @ (M - mean)
            np.testing.assert_allclose(state.scatter[c], scatter, rtol=1e-12, atol=1e-12)
        assert state.weight[3] == 0.0
        assert not state.scatter[3].any()


def test_rows_of_numbers_are_known_by_their_columns_alone(rng):
    X, T = rng.normal(size=(30, 2)), rng.normal(size=(30, 1))
    keys = np.sort(row_keys(X, 5))

    def features(rows):
        return np.hstack([np.ones((len(rows), 1)), rows])

    for known in (None, row_keys(X, 5)):
        state = empty(1, 3, empty_reservoir(1, 3, 5, 100))
        state = update_targets(state, X, T, np.ones(30), features, known)
        np.testing.assert_array_equal(settle(state.reservoir).keys, keys)


def test_the_largest_radius_of_every_class_is_remembered(rng):
    (state,), _ = some_states(rng, "frozen", 1)
    X, labels = 3.0 * rng.normal(size=(50, 2)), rng.integers(0, 2, 50)
    radius = steps.frozen_membership(state.frozen, X, labels).radius
    found = update(state, X, labels, np.ones(50), features_of(3, 2)).largest_radius
    for c in range(2):
        assert radius[labels == c].max() > state.largest_radius[c]
        assert found[c] == radius[labels == c].max()


def test_moments_of_groups_put_together_are_those_of_their_rows(rng):
    """Weights may add up to less than one, and a group may have no rows."""
    X, group, w = rng.normal(2.0, 1.0, (9, 3)), np.arange(9) % 3, rng.uniform(0.01, 0.1, 9)
    parts = [(w[group == g], X[group == g]) for g in range(3)]
    mean = np.array([[np.average(Z, axis=0, weights=v)] for v, Z in parts] + [np.zeros((1, 3))])
    scatter = [[v @ np.square(Z - m[0])] for (v, Z), m in zip(parts, mean, strict=False)]
    sizes = np.array([[v.sum()] for v, _ in parts] + [[0.0]])
    pooled = steps.pool_moments(sizes, mean, np.array([*scatter, np.zeros((1, 3))]))
    expected = np.average(X, axis=0, weights=w)
    np.testing.assert_allclose(pooled[0][0], expected)
    np.testing.assert_allclose(pooled[1][0], w @ np.square(X - expected))


def exact_moments(rows):
    """Mean and scatter in fractions, which round nothing."""
    table = [[Fraction(float(x)) for x in row] for row in rows]
    n, P = len(table), len(table[0])
    mean = [sum(row[j] for row in table) / n for j in range(P)]
    scatter = [
        [float(sum((r[i] - mean[i]) * (r[j] - mean[j]) for r in table)) for j in range(P)]
        for i in range(P)
    ]
    return np.array([float(m) for m in mean]), np.array(scatter)


def test_merged_states_far_from_zero_keep_their_digits(rng):
    """Three parts about different means, columns far from zero: as in exact arithmetic."""
    X = rng.normal(size=(60, 3)) + np.array([1e8, -1e6, 0.0])
    X[20:40] += [5.0, 3e3, -2.0]
    parts = [
        update(empty(1, 3), X[p], np.zeros(len(X[p]), int), np.ones(len(X[p])), np.array)
        for p in (slice(0, 1), slice(1, 40), slice(40, 60))
    ]
    mean, scatter = exact_moments(X)
    size = np.sqrt(np.outer(np.diag(scatter), np.diag(scatter)))
    for order in itertools.permutations(parts):
        found = functools.reduce(lambda a, b: merge(a, b, np.array), order)
        np.testing.assert_allclose(found.mean[0], mean, rtol=1e-15)
        # The mean of a part is itself rounded, to 1e-8 here.
        assert (np.abs(found.scatter[0] - scatter) <= 1e-7 * size).all()
    constant = np.full((9, 1), 0.1)
    found = update(empty(1, 1), constant, np.zeros(9, int), np.full(9, 1 / 3), np.array)
    assert found.scatter[0, 0, 0] == 0.0
    assert found.mean[0, 0] == 0.1


@pytest.mark.parametrize("C", [1e-3, 1.0, 50.0])
def test_the_solution_is_the_ridge_of_the_definition(rng, C):
    X, labels, make = rng.normal(size=(90, 3)), rng.integers(0, 2, 90), features_of(4, 3)
    weight, cost = rng.uniform(0.1, 3, 90), np.array([0.3, 2.0])
    state = update(empty(2, 4), X, labels, weight, make)
    M, T, W = make(X), np.eye(2)[labels], np.diag(weight * cost[labels])
    expected = np.linalg.solve(M.T @ W @ M + np.eye(4) / C, M.T @ W @ T)
    np.testing.assert_allclose(solve(state, C, cost).beta, expected, rtol=1e-11, atol=1e-13)


def test_the_gradient_of_the_penalty_is_that_of_half_its_value(rng):
    """One number for all columns, one for each, or a matrix."""
    X, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    classes = solve(update(empty(2, 3), X, labels, np.ones(40), np.array), 5.0)
    np.testing.assert_allclose(classes.shrinkage(), 0.2 * classes.beta)

    def features(rows):
        return np.hstack([np.ones((len(rows), 1)), rows])

    state = update_targets(empty(1, 4), X, X[:, :1] ** 2, np.ones(40), features)
    numbers = solve_targets(state, 1, 5.0)
    np.testing.assert_allclose(numbers.shrinkage()[1:], 0.2 * numbers.beta[1:])
    assert numbers.shrinkage()[0] == 0.0  # the constant is free
    A = rng.normal(size=(3, 3))
    found = replace(classes, penalty=A + A.T).shrinkage()
    np.testing.assert_allclose(found, (A + A.T) @ classes.beta)


def test_rows_that_stand_for_a_scatter_keep_small_columns(rng):
    A = rng.normal(size=(20, 4)) * [1.0, 1e9, 1e-9, 1e3]
    S = A.T @ A
    size, root = np.sqrt(np.outer(np.diag(S), np.diag(S))), root_of(S)
    np.testing.assert_allclose(root.T @ root / size, S / size, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_singular_values_that_are_rounding_are_left_out_whatever_the_scale(rng, scale):
    M, T = scale * rng.normal(size=(10, 3)) @ rng.normal(size=(3, 5)), rng.normal(size=(10, 2))
    beta, factor, _ = _over_singular_values(M, T, 1e-16 * scale**2, 10.0)
    np.testing.assert_allclose(beta, np.linalg.pinv(M, rcond=1e-10) @ T, rtol=1e-9)
    hat = M @ np.linalg.pinv(M, rcond=1e-10)
    np.testing.assert_allclose(factor.leverage(M), np.diag(hat), rtol=1e-9)


def test_the_condition_is_the_bound_written_out(rng):
    """1 / (‖R‖₁ Σ_j d_j² G⁻¹_jj), S = DRD of unit diagonal R; one at the most."""
    A = rng.normal(size=(9, 3)) * [1.0, 1e4, 1e-3]
    S, inverse = A.T @ A, np.array([3.0, 2e-8, 5e6])
    d = np.sqrt(np.diag(S))
    parts = [d[j] ** 2 * inverse[j] for j in range(3)]
    largest = max(sum(abs(S[i, j]) / (d[i] * d[j]) for i in range(3)) for j in range(3))
    found, worst = _condition(S, inverse)
    assert found == pytest.approx(1.0 / (largest * sum(parts)))
    assert worst == int(np.argmax(parts))
    assert _condition(np.eye(3), np.full(3, 0.01))[0] == 1.0


@given(seed=seeds, kind=st.sampled_from(["plain", "warming up", "frozen", "mixed"]))
def test_merging_is_associative_and_commutative(seed, kind):
    (a, b, c), join = some_states(np.random.default_rng(seed), kind, 3)
    left, right, swapped = join(join(a, b), c), join(a, join(b, c)), join(c, join(b, a))
    tolerance = 1e-12
    if kind == "mixed":  # rows merged before they are weighted are summed in another order
        tolerance = 1e-11
    for other in (right, swapped):
        assert_same_state(normal(left), normal(other), tolerance)


@given(seed=seeds, kind=st.sampled_from(["plain", "frozen"]), n_cuts=st.integers(0, 5))
def test_updates_in_any_order_and_partition_give_one_state(seed, kind, n_cuts):
    rng = np.random.default_rng(seed)
    make = features_of(3, 2)
    (begun,), _ = some_states(rng, kind, 1)
    X, labels, weight = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), rng.uniform(0.1, 2, 60)
    once = update(begun, X, labels, weight, make)
    cuts = np.sort(rng.integers(0, 61, n_cuts))
    piecewise = begun
    for part in np.split(rng.permutation(60), cuts):
        piecewise = update(piecewise, X[part], labels[part], weight[part], make)
    assert_same_state(normal(once), normal(piecewise))


def test_weight_two_is_the_row_twice(rng):
    make = features_of(3, 2)
    for kind in ("plain", "warming up", "frozen"):
        (begun,), _ = some_states(rng, kind, 1)
        X, labels = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
        copies = rng.integers(1, 4, 40)
        weighted = update(begun, X, labels, copies.astype(float), make)
        repeated = np.repeat(np.arange(40), copies)
        again = update(begun, X[repeated], labels[repeated], np.ones(len(repeated)), make)
        assert_same_state(normal(weighted), normal(again))


def test_states_become_plain_and_return(rng):
    for kind in ("plain", "warming up", "frozen"):
        (state,), _ = some_states(rng, kind, 1)
        plain = to_plain(state)

        def only_plain(value):
            if isinstance(value, dict):
                return all(map(only_plain, value.values()))
            if isinstance(value, list):
                return all(map(only_plain, value))
            return isinstance(value, np.ndarray | str | int | float | bool | None)

        assert only_plain(plain)
        again = from_plain(pickle.loads(pickle.dumps(plain)))
        assert isinstance(again, State)
        assert_same_state(again, normal(state), 0.0)


def test_states_whose_sums_overflow_together_are_not_merged():
    """Each of them has finite sums; those of both, as ``fit`` would make them, are none."""
    a, b = (
        update(empty(1, 2), np.array([[x, 0.0]]), np.zeros(1, int), np.ones(1), np.array)
        for x in (1.2e154, -1.2e154)
    )
    with pytest.raises(ValueError, match="overflow"):
        merge(a, b, np.array)


def test_states_of_different_freezes_or_shapes_are_not_merged(rng):
    (a,), join = some_states(rng, "frozen", 1)
    (b,), _ = some_states(rng, "frozen", 1)
    with pytest.raises(ValueError, match="different landmarks"):
        join(a, b)
    with pytest.raises(ValueError, match="different classes or networks"):
        join(empty(2, 3), empty(2, 4))


# -- memberships ---------------------------------------------------------------------


def test_moments_are_numpys(rng):
    X, labels = rng.normal(3.0, 2.0, (200, 3)), rng.integers(0, 2, 200)
    weight = rng.integers(1, 4, 200).astype(float)
    parts = [slice(0, 30), slice(30, 30), slice(30, 150), slice(150, 200)]
    found = functools.reduce(
        steps.merge_moments,
        [steps.moments_of(X[p], labels[p], weight[p], row_keys(X[p], 0), 3, 0, 50) for p in parts],
    )
    repeated = np.repeat(X, weight.astype(int), axis=0)
    of = np.repeat(labels, weight.astype(int))
    for c in range(2):
        np.testing.assert_allclose(found.mean[c], repeated[of == c].mean(axis=0), rtol=1e-13)
        expected = repeated[of == c].var(axis=0) * (of == c).sum()
        np.testing.assert_allclose(found.scatter[c], expected, rtol=1e-12)
    np.testing.assert_array_equal(found.sizes, [(of == 0).sum(), (of == 1).sum(), 0])
    np.testing.assert_allclose(steps.scale_width(found), scale_kernel_width(X, weight), rtol=1e-13)
    same = np.full((4, 2), 7.0)
    constant = steps.moments_of(same, np.zeros(4, int), np.ones(4), row_keys(same, 0), 1, 0, 9)
    assert steps.scale_width(constant) == 1.0


def four_steps(X, labels, weight, width, rho, n_landmarks, capacity, n_classes=2):
    moments = steps.moments_of(X, labels, weight, row_keys(X, 0), n_classes, 0, capacity)
    landmarks = steps.first_rows(moments, width, n_landmarks)
    sums = steps.dissimilarity_sums(landmarks, X, labels, weight)
    means = steps.class_means(landmarks, sums, moments.sizes)
    r_max = steps.largest_class_radii(means, X, labels)
    return steps.freeze(means, r_max, moments.sizes, rho, moments.reservoir)


@given(
    seed=seeds,
    width=st.sampled_from([0.3, 2.0, 30.0, 1e4]),
    rho=st.sampled_from([0.5, 1.0, 2.0]),
    copies=st.booleans(),
)
def test_memberships_of_few_rows_are_exact(seed, width, rho, copies):
    """With every row a landmark and a reference, nothing is approximate."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(70, 3))
    if copies:
        X = np.round(X)
    labels, weight = rng.choice(3, 70, p=[0.6, 0.3, 0.1]), rng.integers(1, 4, 70).astype(float)
    labels[:3] = [0, 1, 2]
    frozen = four_steps(X, labels, weight, width, rho, 70, 70, 3)
    found = steps.frozen_membership(frozen, X, labels)
    statistics = kernel_statistics(X, labels, 3, width, weight)
    expected = pw_gbell(statistics, labels, rho)
    np.testing.assert_allclose(found.radius, expected.radius, rtol=1e-6, atol=1e-7 / width)
    others = labels != statistics.minority
    assert frozen.minority == statistics.minority
    # A pair just at the edge of a neighbourhood may fall to either side of it.
    same = np.isclose(found.class_probability, expected.class_probability, rtol=1e-9)[others]
    assert same.mean() > 0.95
    agreed = np.ones(70, bool)
    agreed[others] = same
    np.testing.assert_allclose(
        found.membership[agreed], expected.membership[agreed], rtol=1e-5, atol=1e-7
    )


def shares_by_counting(frozen, X, labels):
    """class_shares, reference by reference."""
    kept, width = frozen.references, frozen.means.landmarks.width
    alpha = frozen.r_max.max()
    shares = []
    for row, c in zip(X, labels):
        within, known, copies = np.zeros(len(frozen.sizes)), np.zeros(len(frozen.sizes)), None
        for other, k, w in zip(kept.rows, kept.labels, kept.weight):
            if k == c and (other == row).all():
                copies = w
                continue
            known[k] += w
            distance2 = ((other - row) ** 2).sum()
            if math.sqrt(2 * (1 - math.exp(-distance2 / width**2))) <= alpha:
                within[k] += w
        if copies is None:
            copies = kept.weight[kept.labels == c].mean()
        estimate = [frozen.sizes[k] * within[k] / known[k] for k in range(len(known))]
        estimate[c] = copies + (frozen.sizes[c] - copies) * within[c] / known[c]
        shares.append(estimate[c] / (sum(estimate) + 1e-12))
    return np.array(shares)


def test_class_shares_are_the_counts_written_out(rng):
    X, labels = np.round(rng.normal(size=(300, 2)), 1), rng.integers(0, 3, 300)
    weight = rng.integers(1, 4, 300).astype(float)
    frozen = four_steps(X, labels, weight, 1.5, 1.0, 10, 15, 3)
    new, new_labels = np.round(rng.normal(size=(40, 2)), 1), rng.integers(0, 3, 40)
    rows, of = np.vstack([X[:60], new]), np.concatenate([labels[:60], new_labels])
    found = steps.class_shares(frozen, rows, of, row_keys(rows, 0))
    np.testing.assert_allclose(found, shares_by_counting(frozen, rows, of), rtol=1e-12)


def test_approximate_memberships_are_close(rng):
    X = np.vstack([rng.normal(0, 1, (1800, 5)), rng.normal(0.8, 1, (200, 5))])
    labels, weight = np.repeat([0, 1], [1800, 200]), np.ones(2000)
    expected = pw_gbell(kernel_statistics(X, labels, 2, 2.2, weight), labels, 1.0)
    frozen = four_steps(X, labels, weight, 2.2, 1.0, 128, 512)
    found = steps.frozen_membership(frozen, X, labels)
    assert np.abs(found.radius - expected.radius).max() < 0.01
    error = np.abs(found.membership - expected.membership)
    assert error.mean() < 0.02
    assert (found.membership[labels == 1] == 1).all()


# -- drift ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "N"), [(1, 3), (2, 4), (4, 3)])
def test_the_chance_of_drift_is_that_of_all_orders(n, N):
    """All orders of n + N ranks, the last N later: how often k or more exceed the first n."""
    (state,), _ = some_states(np.random.default_rng(0), "frozen", 1)
    counts = np.zeros(N + 1)
    for order in itertools.permutations(range(n + N)):
        counts[sum(rank > max(order[:n]) for rank in order[n:])] += 1
    for k in range(N + 1):
        changed = {
            "frozen": replace(state.frozen, sizes=np.array([n, 0.0])),
            "later": np.array([float(N), 0.0]),
            "beyond": np.array([float(k), 0.0]),
        }
        found = drift_p_values(replace(state, **changed))
        assert found[0] == pytest.approx(counts[k:].sum() / counts.sum(), rel=1e-10)
        assert found[1] == 1.0


def waits_until(waiting, X, labels, enough, of_each_class, at_most):
    """After how many of these rows a warm-up ends, counted with sets."""
    seen = [{tuple(row) for row in waiting[c]} for c in (0, 1)]
    for k, (row, label) in enumerate(zip(X, labels), 1):
        seen[label].add(tuple(row))
        total = sum(map(len, seen))
        if (total >= enough and min(map(len, seen)) >= of_each_class) or total >= at_most:
            return k
    return None


@pytest.mark.parametrize("limits", [(8, 2, 99), (8, 5, 99), (3, 9, 14), (50, 1, 99)])
def test_a_warm_up_ends_where_enough_distinct_rows_are_waiting(rng, limits):
    X = rng.integers(0, 4, (60, 2)).astype(float)  # with copies
    labels, weight = (rng.random(60) < 0.3).astype(int), rng.uniform(0.5, 2.0, 60)
    state = empty(2, 3, empty_reservoir(2, 2, 7, UNBOUNDED), warming_up=True)
    for start in range(0, 40, 5):
        rest = slice(start, None)
        waiting = [X[:start][labels[:start] == c] for c in (0, 1)]
        expected = waits_until(waiting, X[rest], labels[rest], *limits)
        assert rows_before_freeze(state, X[rest], labels[rest], *limits) == expected
        part = slice(start, start + 5)
        state = update(state, X[part], labels[part], weight[part], None)
        counted = np.bincount(labels[: start + 5], weight[: start + 5], 2)
        np.testing.assert_allclose(state.sizes, counted)
        assert not state.weight.any()  # nothing is summed before the memberships are known


def test_the_rows_of_a_freeze_say_nothing_of_drift(rng):
    make = features_of(3, 2)
    X, labels, weight = rng.normal(size=(40, 2)), np.arange(40) % 2, rng.uniform(0.5, 2.0, 40)
    state = empty(2, 3, empty_reservoir(2, 2, 7, UNBOUNDED), warming_up=True)
    state = end_warm_up(update(state, X, labels, weight, make), None, 1.0, 8, 50, make)
    np.testing.assert_allclose(state.sizes, np.bincount(labels, weight))
    assert not state.later.any()
    assert not state.beyond.any()
    far = np.array([[1e3, 0.0], [0.01, 0.02]])
    later = update(state, far, np.array([0, 0]), np.array([2.0, 3.0]), make)
    np.testing.assert_allclose(later.later, [5.0, 0.0])
    np.testing.assert_allclose(later.beyond, [2.0, 0.0])
    np.testing.assert_allclose(later.sizes - state.sizes, [5.0, 0.0])
