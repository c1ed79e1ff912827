"""Which columns say anything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, rankdata

from robell import NoiseRobustRVFLClassifier
from robell._core.array import one_hot
from robell._core.ensemble import screen
from robell._core.ensemble.screen import FALSE_DISCOVERIES, LEVEL, SMALLEST_VARIANCE
from robell.noise import flip_uniformly

seeds = st.integers(0, 2**32 - 1)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def telling(X, y, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return screen.telling_columns(standardised(X), weight, one_hot(y, int(y.max()) + 1)).tolist()


def twin_columns(X, y, weight):
    """The same, a column, a class and a pair at a time; weights are whole: rows that are copied."""
    X, y = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    distinct = np.repeat(np.arange(len(weight)), weight)
    n, (_, B), labels = len(X), X.shape, np.unique(y)
    ranks = np.empty((n, B))
    for j in range(B):
        of_rows = rankdata(X[np.unique(distinct, return_index=True)[1], j])[distinct]
        ranks[:, j] = (of_rows - of_rows.mean()) / of_rows.std()

    def of_classes(values):  # n times the share of the variance between the classes
        sums = [(values[y == c] - values.mean()).sum() for c in labels]
        return sum(s**2 / (y == c).sum() for s, c in zip(sums, labels))

    d = len(labels) - 1
    said, freedom = np.zeros(B), np.full(B, d)
    for j in range(B):
        r = ranks[:, j]
        square = r**2 - 1 - r * (r * (r**2 - 1)).mean()
        said[j] = of_classes(r)
        if square.std() > 1e-4:
            said[j] += of_classes(square / square.std())
            freedom[j] += d
    p = chi2.sf(said, freedom)
    passed = [q for k, q in enumerate(np.sort(p), start=1) if q <= FALSE_DISCOVERIES * k / B]
    kept = {j for j in range(B) if passed and p[j] <= max(passed)}
    for j in range(B):
        for k in set(range(B)) - {j}:
            product = ranks[:, j] * ranks[:, k]
            pair = of_classes(product) / max(product.var(), SMALLEST_VARIANCE)
            if chi2.sf(pair, d) < LEVEL / (B * (B - 1) / 2):
                kept |= {j, k}
    by_labels, alike = bool(kept), set()
    for j in range(B):
        for k in set(range(B)) - {j}:
            product = ranks[:, j] * ranks[:, k]
            if chi2.sf(n * product.mean() ** 2, 1) < LEVEL / (B * (B - 1) / 2):
                alike |= {j, k}
    kept |= alike
    if not by_labels:
        return sorted(alike) or list(range(B))
    rest = set(range(B)) - kept
    while rest and sum(said[j] - freedom[j] for j in rest) > 0:
        rest -= {max(rest, key=lambda j: said[j] - freedom[j])}
    return sorted(set(range(B)) - rest)


@given(seeds, st.integers(20, 80), st.integers(2, 6), st.integers(2, 4))
def test_the_columns_are_those_of_a_literal_twin(seed, n_rows, n_columns, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) @ rng.choice([0.0, 1.0], (n_columns, n_columns))
    X[:, 0] = rng.integers(0, 3, n_rows)
    X += 0.1 * rng.normal(size=X.shape) * (np.arange(n_columns) > 0)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]
    X[:, 1] += rng.normal() * y
    weight = rng.integers(1, 4, n_rows)
    assert telling(X, y, weight.astype(float)) == twin_columns(X, y, weight)


def beside_noise(X, n_noise, rng):
    return np.hstack([X, rng.normal(size=(len(X), n_noise))])


def test_columns_of_noise_go_and_those_that_tell_classes_stay():
    kept, found_both = [], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = np.arange(300) % 2
        X = beside_noise(rng.normal(size=(300, 2)) + y[:, None], 20, rng)
        found = telling(X, flip_uniformly(y, 0.2, seed)[0])
        assert found[0] == 0
        found_both += found[1] == 1
        kept.append(len(found) - 2)
    assert found_both >= 39
    # Expected of 20: about .2 by the labels, a tenth of what they find, .2 by another column, and
    # the first of the others in half of all tables.
    assert np.mean(kept) < 2.0


def test_columns_that_tell_classes_only_together_stay():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    third = 0.7 * rng.normal(size=(400, 1)) + y[:, None]
    found = telling(beside_noise(np.hstack([X, third]), 10, rng), y)
    assert found[:3] == [0, 1, 2]
    assert len(found) < 6  # of the noise some may stay by chance


def test_a_column_whose_middle_is_one_class_stays():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    X[:, 1] += y
    found = telling(beside_noise(X, 10, rng), y)
    assert found[:2] == [0, 1]
    assert len(found) < 5


def test_columns_that_say_something_about_each_other_alone_stay():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int)
    X[:, 2] += X[:, 1]
    found = telling(beside_noise(X, 10, rng), y)
    assert found[:3] == [0, 1, 2]
    assert len(found) < 6


def test_where_no_column_says_anything_all_stay():
    rng = np.random.default_rng(0)
    found = [telling(rng.normal(size=(100, 3)), np.arange(100) % 2) for _ in range(50)]
    assert found.count([0, 1, 2]) > 40  # in others chance says something
    X = standardised(rng.normal(size=(20, 3)))
    of_one = screen.telling_columns(X, np.ones(20), np.ones((20, 1)))
    assert of_one.tolist() == [0, 1, 2]
    constant = screen.telling_columns(np.zeros((20, 3)), np.ones(20), one_hot(np.arange(20) % 2, 2))
    assert constant.tolist() == [0, 1, 2]


def test_tables_too_wide_for_all_pairs_keep_every_column(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = beside_noise(rng.normal(size=(200, 1)) + 2 * y[:, None], 9, rng)
    assert telling(X, y)[0] == 0
    assert len(telling(X, y)) < 5
    monkeypatch.setattr(screen, "MOST_PAIRS", 99)
    assert telling(X, y) == list(range(10))


def test_of_many_rows_every_kth_is_looked_at(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 5)), np.arange(3000) // 2 % 2
    X[1::2, 0] += 2 * y[1::2]
    monkeypatch.setattr(screen, "MOST_RANKED", 3000)
    assert telling(X, y)[0] == 0
    assert len(telling(X, y)) < 4
    monkeypatch.setattr(screen, "MOST_RANKED", 1500)
    assert telling(X, y) == list(range(5))  # nothing is seen in the rows 0, 2, 4 and so on


@pytest.fixture(scope="module")
def noisy():
    """A class that two columns of 22 tell, a fifth of the labels wrong."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = beside_noise(rng.normal(size=(400, 2)) + 1.5 * y[:, None], 20, rng)
    return X, flip_uniformly(y, 0.2, 0)[0]


def test_the_kernel_sees_no_column_of_noise(noisy):
    X, y = noisy
    model = NoiseRobustRVFLClassifier(random_state=0).fit(X, y)
    assert model.kernel_columns_[:2].tolist() == [0, 1]
    assert len(model.kernel_columns_) < 5
    assert model.kernel_width_ == len(model.kernel_columns_)
    for name in ("coef_", "leaf_values_"):  # what is left are the scores of the kernel
        getattr(model, name)[...] = 0.0
    left_out = np.setdiff1d(np.arange(22), model.kernel_columns_)
    moved = X.copy()
    moved[:, left_out] += 1.0
    np.testing.assert_array_equal(model.predict_proba(moved), model.predict_proba(X))
    moved[:, 0] += 1.0
    assert (model.predict_proba(moved) != model.predict_proba(X)).all()


def test_weights_and_order_of_the_rows_choose_as_repetitions_do(noisy):
    X, y = noisy
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    order = np.random.default_rng(2).permutation(weight.sum())
    weighted = NoiseRobustRVFLClassifier(random_state=0).fit(X, y, weight)
    rows = np.repeat(np.arange(len(X)), weight)[order]
    repeated = NoiseRobustRVFLClassifier(random_state=0).fit(X[rows], y[rows])
    assert weighted.kernel_columns_.tolist() == repeated.kernel_columns_.tolist()
    assert len(weighted.kernel_columns_) < X.shape[1]
