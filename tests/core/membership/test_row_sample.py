"""The sample of a table of any size: what it holds does not depend on order or partition."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robell._core.membership.samples import (
    UNBOUNDED,
    add_rows,
    as_count,
    draw_keyed,
    empty_reservoir,
    level,
    merge_samples,
    ordered_keys,
    row_keys,
    sample_of,
    settle,
)

SEED = 5


def literal_sample(X, labels, weight, n_classes, budget):
    """Keep rows one by one, as the rule says: {(class, row): multiplicity}, smallest keys first."""
    keys = row_keys(X, SEED)
    found = [{} for _ in range(n_classes)]
    for row, c, w, key in zip(X, labels, weight, keys):
        place = (int(key), tuple(row))
        found[c][place] = found[c].get(place, 0.0) + w
    high = max(len(rows) for rows in found)
    while sum(min(len(rows), high) for rows in found) > budget:
        high -= 1
    return {
        (c, place[1]): found[c][place]
        for c in range(n_classes)
        for place in sorted(found[c])[:high]
    }


def rows_with_copies(rng, n_rows, n_classes):
    X = np.round(rng.normal(size=(n_rows, 2)), 1)
    labels = rng.choice(n_classes, n_rows, p=np.array([0.8, 0.15, 0.05])[:n_classes])
    return X, labels, rng.integers(1, 4, n_rows).astype(float)


def of(X, labels, weight, budget):
    return sample_of(X, labels, weight, row_keys(X, SEED), 3, SEED, budget)


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.integers(3, 150), st.integers(1, 12))
def test_any_order_and_partition_gives_the_literal_sample(seed, budget, n_parts):
    rng = np.random.default_rng(seed)
    rows = rows_with_copies(rng, 120, 3)
    order = rng.permutation(120)
    cuts = np.sort(rng.integers(0, 121, n_parts - 1))
    parts = [of(*(a[places] for a in rows), budget) for places in np.split(order, cuts)]
    while len(parts) > 1:  # merged in any grouping
        k = int(rng.integers(1, len(parts)))
        parts[k - 1 : k + 1] = [merge_samples(parts[k - 1], parts[k])]
    found, whole = parts[0], of(*rows, budget)
    kept = found.reservoir
    pairs = [(c, tuple(row)) for c, row in zip(kept.labels.tolist(), kept.rows)]
    expected = literal_sample(*rows, 3, budget)
    assert pairs == list(expected)
    np.testing.assert_array_equal(kept.weight, list(expected.values()))
    np.testing.assert_array_equal(kept.rows, whole.reservoir.rows)
    np.testing.assert_array_equal(found.row_weights(), whole.row_weights())
    np.testing.assert_array_equal(found.sizes, np.bincount(rows[1], rows[2], 3))
    assert found.complete == (len(expected) == len(literal_sample(*rows, 3, 10**9)))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(0, 200))
def test_the_level_is_the_largest_that_the_budget_allows(counts, budget):
    found = level(np.array(counts), budget)
    if found == UNBOUNDED:
        assert sum(counts) <= budget
    else:
        assert sum(min(n, found) for n in counts) <= budget
        assert sum(min(n, found + 1) for n in counts) > budget


def test_weights_give_the_classes_the_shares_of_all_rows(rng):
    X, labels, weight = rows_with_copies(rng, 900, 3)
    parts = [of(X[i::7], labels[i::7], weight[i::7], 60) for i in range(7)]
    sample = functools.reduce(merge_samples, parts)
    assert not sample.complete
    assert len(sample.reservoir.rows) in (58, 59, 60)  # the same number of each class
    shares = np.bincount(sample.reservoir.labels, sample.row_weights())
    assert shares.sum() == pytest.approx(sample.reservoir.weight.sum(), rel=1e-13)
    np.testing.assert_allclose(
        shares / shares.sum(), np.bincount(labels, weight) / weight.sum(), rtol=1e-13
    )


def test_rows_that_all_fit_keep_their_weights(rng):
    X, labels, weight = rows_with_copies(rng, 50, 3)
    sample = of(X, labels, weight, 50)
    assert sample.complete
    np.testing.assert_array_equal(sample.row_weights(), sample.reservoir.weight)
    assert sample.row_weights().sum() == weight.sum()


def test_keys_are_those_of_every_copy_of_the_package():
    """A saved model knows its rows by their keys, and meets them again under another version."""
    found = row_keys(np.array([[1.0, -2.5], [0.1, 3e8]]), 11)
    assert found.tolist() == [9033946566384926786, 11512707928282302093]
    assert row_keys(np.array([[7.0]]), 0).tolist() == [14926125640044879719]


def test_keys_in_signed_integers_keep_their_order(rng):
    X = rng.normal(size=(40_000, 2))  # two blocks
    found, keys = ordered_keys(X, SEED), row_keys(X, SEED)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(np.argsort(found), np.argsort(keys))


@pytest.mark.parametrize("budget", [30, 119, 120, 500])
def test_rows_drawn_from_a_table_are_those_of_its_sample(rng, budget):
    X, labels, weight = rows_with_copies(rng, 120, 3)
    sample = of(X, labels, weight, budget)
    drawn = draw_keyed(X, labels, weight, 3, SEED, budget)
    if sample.complete:
        assert drawn is None
        return
    kept = {(c, *row) for c, row in zip(sample.reservoir.labels, sample.reservoir.rows)}
    mine = [i for i in range(120) if (labels[i], *X[i]) in kept]
    np.testing.assert_array_equal(drawn.places, mine)
    expected = np.bincount(sample.reservoir.labels, sample.row_weights())
    found = np.bincount(labels[drawn.places], drawn.weight)
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum())
    assert draw_keyed(X, labels, weight, 3, SEED, budget, most=120) is None


def test_copies_of_the_last_row_of_a_full_reservoir_are_counted(rng):
    X, labels = rng.normal(size=(30, 2)), np.zeros(30, int)
    full = settle(add_rows(empty_reservoir(1, 2, SEED, 5), X, labels, np.ones(30)))
    again = settle(add_rows(full, full.rows, full.labels, np.arange(1.0, 6.0)))
    np.testing.assert_array_equal(again.weight, np.arange(2.0, 7.0))
    np.testing.assert_array_equal(again.rows, full.rows)


def test_counts_are_whole_numbers_where_weights_are():
    assert (as_count(12.0), type(as_count(12.0))) == (12, int)
    assert as_count(2.5) == 2.5
