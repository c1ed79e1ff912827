"""Equal rows are found, merged, and left out together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell import (
    ComplexRVFLClassifier,
    ELMClassifier,
    HuberRVFLClassifier,
    IntuitionisticFuzzyRVFLClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLRegressor,
    VarianceRVFLClassifier,
    find_label_issues,
)
from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import solve_ridge
from robell._core.ridge.twins import (
    FOLDS,
    distinct_rows,
    find_twins,
    fold_shares,
    left_out_together,
)


def by_loops(X):
    """Return the number of the first equal row for every row."""
    return [next(j for j, other in enumerate(X) if np.array_equal(other, row)) for row in X]


def test_equal_rows_in_single_precision_are_found_among_many(rng):
    """Sums of columns in single precision would be those of other rows as well."""
    X = rng.normal(size=(50_000, 3)).astype(np.float32)
    order = rng.permutation(100_000)
    twins = find_twins(np.vstack([X, X])[order])
    assert len(twins.first) == 50_000
    np.testing.assert_array_equal(order[twins.first][twins.group] % 50_000, order % 50_000)


def test_rows_near_in_that_order_are_compared_only_where_some_are_near(rng):
    """Many rows always have near neighbours: their columns' medians are needed for copies only."""
    X = rng.normal(size=(200_000, 2))
    assert find_twins(X) is None
    X[7] = X[100_000] + 1e-12
    assert find_twins(X).group[100_000] == 7


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e308])
def test_equal_rows_are_found_beside_a_column_of_the_smallest_or_largest_numbers(rng, size):
    X = rng.normal(size=(50, 3))
    X[:, 1] = rng.integers(-1, 2, 50) * size
    X[10] = X[5]
    assert find_twins(X).group[10] == 5
    assert len(find_twins(X).first) == 49


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 4), st.sampled_from([2, 5, 10**6])
)
def test_equal_rows_are_found_in_any_order(seed, n_rows, n_columns, n_values):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n_rows, n_columns)) * 10.0 ** rng.integers(-200, 200, n_columns)
    expected = by_loops(X)
    twins = find_twins(X)
    if len(set(expected)) == n_rows:
        assert twins is None
    else:
        np.testing.assert_array_equal(twins.first, sorted(set(expected)))
        np.testing.assert_array_equal(twins.first[twins.group], expected)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rounding_makes_no_difference_and_a_real_one_does(rng, offset):
    X = rng.normal(size=(50, 3)) + offset
    rounded = np.float64([[float(f"{value:.15g}") for value in row] for row in X])
    assert len(find_twins(np.vstack([X, rounded])).first) == 50
    assert find_twins(np.vstack([X, X + 1e-6 * np.ptp(X, axis=0)])) is None


@pytest.mark.parametrize("outlier", [1e9, 1e10, 1e12])
def test_an_outlier_does_not_make_other_rows_equal(rng, outlier):
    X = rng.integers(0, 100, (300, 1)).astype(float)
    y = (X[:, 0] > 50).astype(int)
    X[0] = outlier
    np.testing.assert_array_equal(len(find_twins(X).first), len(np.unique(X)))
    model = RVFLClassifier(30, random_state=0).fit(X, y)
    alone = RVFLClassifier(30, calibrate=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-6)
    assert NoiseRobustRVFLClassifier(random_state=0).fit(X, y).score(X, y) > 0.95


def test_long_tails_do_not_make_other_rows_equal(rng):
    X = np.exp(2.5 * rng.normal(size=(20_000, 1)))
    twins = find_twins(X)
    assert twins is None or len(twins.first) > 19_990


def test_complex_rows(rng):
    X = rng.normal(size=(20, 2)) + 1j * rng.normal(size=(20, 2))
    assert find_twins(np.vstack([X, X.conj()])) is None
    assert len(find_twins(np.vstack([X, X])).first) == 20


def test_merged_rows_are_left_out_as_refits_without_all_copies_say(rng):
    distinct = rng.normal(size=(12, 4))
    which = rng.integers(0, 12, 30)
    M, T, w = distinct[which], rng.normal(size=(30, 2)), rng.uniform(0.5, 2.0, 30)
    twins = find_twins(M)
    weight, merged = twins.merge(w, T)
    rows = M[twins.first]
    design = RowBlocks(lambda block: rows[block], *rows.shape)
    solution = solve_ridge(design, merged, 3.0, weight, True)
    whole = np.linalg.solve(M.T * w @ M + np.eye(4) / 3.0, M.T * w @ T)
    np.testing.assert_allclose(solution.beta, whole, atol=1e-12)
    for i in range(30):
        kept = which != which[i]
        A, v = M[kept], w[kept]
        beta = np.linalg.solve(A.T * v @ A + np.eye(4) / 3.0, A.T * v @ T[kept])
        np.testing.assert_allclose(solution.loo_scores[twins.group[i]], M[i] @ beta, atol=1e-10)


@pytest.mark.parametrize(
    ("n_distinct", "copies"), [(7, False), (11, False), (11, True), (43, False), (43, True)]
)
def test_folds_depend_on_what_rows_are_and_classes_are_spread_evenly(rng, n_distinct, copies):
    X, labels = rng.normal(size=(n_distinct, 2)), (np.arange(n_distinct) % 3 == 0).astype(int)
    which = np.append(np.arange(n_distinct), rng.integers(0, n_distinct, 30 * copies))
    which = rng.permutation(which)
    fold = fold_shares(X, labels, np.ones(n_distinct)).argmax(1)
    np.testing.assert_array_equal(
        fold_shares(X[which], labels[which], np.ones(len(which))).argmax(1), fold[which]
    )
    np.testing.assert_array_equal(fold_shares(X, 1 - labels, np.ones(n_distinct)).argmax(1), fold)
    for mine in (labels == 0, labels == 1, labels >= 0):
        counts = np.bincount(fold[mine], minlength=min(10, n_distinct))
        assert np.ptp(counts) <= 1


MODELS = [
    RVFLClassifier(C="loo", random_state=0),
    ELMClassifier(random_state=0),
    RoBellRVFLClassifier(kernel_width="scale", C="loo", random_state=0),
    ComplexRVFLClassifier(random_state=0),
    NoiseRobustRVFLClassifier(random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_row_twice_is_weight_two(model, imbalanced, rng):
    X, y = imbalanced
    weighted = model.fit(X, y, sample_weight=np.full(len(y), 2.0)).predict_proba(X)
    order = rng.permutation(2 * len(y))
    twice = model.fit(np.vstack([X, X])[order], np.r_[y, y][order]).predict_proba(X)
    np.testing.assert_allclose(twice, weighted, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_copies_invent_no_suspects(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + 2.0 * truth[:, None]
    y = truth if seed < 3 else np.where(rng.random(120) < 0.15, 1 - truth, truth)
    once = find_label_issues(X, y, random_state=0)
    twice = find_label_issues(np.vstack([X, X]), np.r_[y, y], random_state=0)
    assert len(twice.index) <= 2 * len(once.index)
    # Copies of a row are judged alike, whatever their order.
    np.testing.assert_array_equal(*np.split(twice.sample_quality, 2))


def test_a_stream_that_repeats_its_rows_is_calibrated_as_fit_is(imbalanced):
    X, y = imbalanced
    y = np.where(X[:, 0] > 2.0, 1 - y, y)
    stream = RVFLClassifier(random_state=0)
    for _ in range(3):
        stream.partial_fit(X, y, classes=[0, 1])
    # The same row under both labels is left out with both.
    stream.partial_fit(X[:20], 1 - y[:20])
    whole = RVFLClassifier(random_state=0).fit(
        np.vstack([X, X, X, X[:20]]), np.r_[y, y, y, 1 - y[:20]]
    )
    np.testing.assert_allclose(stream.predict_proba(X), whole.predict_proba(X), atol=1e-8)


def test_groups_under_several_labels_are_left_out_in_equal_parts(rng):
    # Twelve kinds of rows: 4 and 1, 7 and 0, ... rows of two labels, and one row 30 times.
    counts = np.array([[4, 1], [7, 0], [1, 1], [3, 2], [9, 9], [40, 30], *[[1, 0]] * 5, [15, 15]])
    kinds = rng.normal(size=(12, 2))
    X = np.repeat(kinds, counts.sum(1), axis=0)
    labels = np.concatenate([np.repeat([0, 1], pair) for pair in counts])
    order = rng.permutation(len(X))
    X, labels = X[order], labels[order]
    whole = distinct_rows(X)
    some = whole.in_parts(np.ones(len(X)), labels)
    n_parts = np.clip(counts.min(1), 1, FOLDS)
    assert len(some.first) == n_parts.sum()
    np.testing.assert_array_equal(X[some.first][some.group], X)

    # Parts weigh the same and have the targets of all; together they are the group.
    weight, targets = rng.integers(1, 4, len(X)).astype(float), rng.normal(size=(len(X), 1))
    some = whole.in_parts(np.ones(len(X)), labels)
    w, t = some.merge(weight, targets)
    W, T = whole.merge(weight, targets)
    kind = lambda rows: np.unique(rows, axis=0, return_inverse=True)[1]  # noqa: E731
    of_parts, of_all = kind(X[some.first]), kind(X[whole.first])
    np.testing.assert_allclose(np.bincount(of_parts, w)[of_all], W)
    np.testing.assert_allclose(t[:, 0], T[np.argsort(of_all)][of_parts, 0])
    for k in range(12):
        assert np.ptp(w[of_parts == k]) < 1e-12

    # A weight is a row repeated; where labels agree nothing is divided.
    rows, of_rows = np.unique(np.column_stack([X, labels]), axis=0, return_inverse=True)
    once = distinct_rows(rows[:, :2])
    repeated = np.bincount(of_rows.ravel()).astype(float)
    again = once.in_parts(repeated, rows[:, 2].astype(int))
    assert len(again.first) == len(some.first)
    assert whole.in_parts(np.ones(len(X)), np.zeros(len(X), int)) is whole


def test_of_hardly_any_kinds_of_rows_single_rows_are_left_out():
    X = np.repeat([[0.0], [1.0], [2.0]], [30, 4, 1], axis=0)
    some = distinct_rows(X).in_parts(np.ones(35), np.zeros(35, int))
    assert sorted(np.bincount(X[some.first, 0].astype(int))) == [1, 4, FOLDS]


def kinds_of_rows(rng, n_kinds=12, n_rows=90):
    """Return the kinds, which of them every row is, and labels that go with them more or less."""
    kinds = rng.normal(size=(n_kinds, 2))
    which = rng.integers(0, n_kinds, n_rows)
    return kinds, which, (rng.random(n_rows) < rng.random(n_kinds)[which]).astype(int)


def test_parts_of_the_labels_add_up_to_the_rows(rng):
    kinds, which, labels = kinds_of_rows(rng)
    weight, T = rng.uniform(0.5, 2.0, len(which)), np.eye(2)[labels]
    twins = left_out_together(kinds[which], labels, np.ones(len(which)))
    w, t = twins.merge(weight, T)
    rows = kinds[which][twins.first]
    np.testing.assert_array_equal(rows[twins.group], kinds[which])
    np.testing.assert_allclose(rows.T * w @ rows, kinds[which].T * weight @ kinds[which])
    np.testing.assert_allclose(rows.T * w @ t, kinds[which].T * weight @ T)


def test_rows_of_a_few_kinds_with_different_targets_are_left_out_one_by_one(rng):
    kinds, which, _ = kinds_of_rows(rng, 11, 60)
    X, T, w = kinds[which], rng.normal(size=(60, 2)), rng.uniform(0.5, 2.0, 60)
    twins = left_out_together(X, T, np.ones(60))
    weight, merged = twins.merge(w, T)
    rows = X[twins.first]
    design = RowBlocks(lambda block: rows[block], *rows.shape)
    found = solve_ridge(design, merged, 3.0, weight, True).loo_scores[twins.group]
    sizes = np.bincount(which)[which]
    assert sizes.min() < 3 < sizes.max()
    for i in np.flatnonzero(sizes > 2):
        kept = np.arange(60) != i
        A, v = X[kept], w[kept]
        beta = np.linalg.solve(A.T * v @ A + np.eye(2) / 3.0, A.T * v @ T[kept])
        np.testing.assert_allclose(found[i], X[i] @ beta, atol=1e-10)


@pytest.mark.parametrize("n_kinds", [2, 5, 24])
@pytest.mark.parametrize("C", [1.0, "loo"])
def test_probabilities_of_few_kinds_of_rows_are_their_shares(n_kinds, C, rng):
    _, which, _ = kinds_of_rows(rng, n_kinds, 1000)
    share = np.where(np.arange(n_kinds) % 2, 0.9, 0.15)
    y = (rng.random(1000) < share[which]).astype(int)
    X = np.eye(n_kinds)[which]  # nothing is said of a kind by the others
    P = RVFLClassifier(20, C=C, random_state=0).fit(X, y).predict_proba(np.eye(n_kinds))[:, 1]
    loss = -(share * np.log(P) + (1 - share) * np.log(1 - P)).mean()
    least = -(share * np.log(share) + (1 - share) * np.log(1 - share)).mean()
    assert loss < least + 0.03


def test_targets_of_few_kinds_of_rows_are_not_shrunk(rng):
    x = rng.integers(0, 2, 200).astype(float)[:, None]
    y = 3.0 * x[:, 0] + 0.1 * rng.normal(size=200)
    model = RVFLRegressor(C="loo", intervals=True, random_state=0).fit(x, y)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [0.0, 3.0], atol=0.05)
    assert np.ptp(model.predict_interval([[0.0]], 0.9)) < 0.5


@pytest.mark.parametrize("n_kinds", [1, 6, 15])
@pytest.mark.parametrize(
    "model",
    [
        RVFLClassifier(5, C="loo", random_state=0),
        VarianceRVFLClassifier(5, C="loo", variance="total", random_state=0),
        RoBellRVFLClassifier(5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_few_kinds_of_rows_in_any_order_weights_and_parts_are_one_table(model, n_kinds, rng):
    kinds, which, y = kinds_of_rows(rng, n_kinds)
    y[:2], X, weight = [0, 1], kinds[which], rng.integers(1, 4, 90)
    expected = model.fit(X, y, sample_weight=weight).predict_proba(kinds)
    order = rng.permutation(weight.sum())
    X, y = np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order]
    np.testing.assert_allclose(model.fit(X, y).predict_proba(kinds), expected, atol=1e-8)
    other_names = model.fit(X, np.array(["b", "a"])[y]).predict_proba(kinds)
    np.testing.assert_allclose(other_names[:, ::-1], expected, atol=1e-8)
    stream = type(model)(**model.get_params())
    for part in np.array_split(np.arange(len(y)), 3):
        stream.partial_fit(X[part], y[part], classes=[0, 1])
    np.testing.assert_allclose(stream.predict_proba(kinds), expected, atol=1e-8)


@pytest.mark.parametrize("n_kinds", [1, 6, 15])
def test_folds_share_kinds_of_rows_under_several_labels(n_kinds, rng):
    kinds, which, labels = kinds_of_rows(rng, n_kinds)
    X, weight = kinds[which], rng.integers(1, 4, 90).astype(float)
    shares = fold_shares(X, labels, weight)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.min() >= 0
    # No fold holds all rows of a kind under several labels, nor hardly any rows.
    for kind in np.unique(which):
        mine = which == kind
        if weight[mine].min() and np.bincount(labels[mine], weight[mine], 2).min() >= 2:
            assert (weight[mine] @ shares[mine] < 0.9 * weight[mine].sum()).all()
    held = weight @ shares
    assert held.max() < 0.3 * held.sum()
    # A weight is a row repeated, and classes have no names.
    times = weight.astype(int)
    again = fold_shares(np.repeat(X, times, axis=0), np.repeat(labels, times), np.ones(times.sum()))
    np.testing.assert_allclose(again, np.repeat(shares, times, axis=0), atol=1e-12)
    np.testing.assert_allclose(fold_shares(X, 1 - labels, weight), shares, atol=1e-12)


@pytest.mark.parametrize("model", [IntuitionisticFuzzyRVFLClassifier, HuberRVFLClassifier])
def test_models_of_folds_know_the_shares_of_few_kinds_of_rows(model, rng):
    x = rng.integers(0, 2, 400)
    y = (rng.random(400) < np.array([0.2, 0.8])[x]).astype(int)
    fitted = model(C="loo", random_state=0).fit(x[:, None].astype(float), y)
    np.testing.assert_allclose(fitted.predict_proba([[0.0], [1.0]])[:, 1], [0.2, 0.8], atol=0.1)


def test_copies_under_one_label_are_left_out_together(rng):
    X = rng.normal(size=(12, 2))
    y = np.arange(12) % 2
    twice = left_out_together(np.vstack([X, X]), np.r_[y, y], np.ones(24))
    assert twice.parts is None
    assert left_out_together(X, y, np.ones(12)) is None
    # Of hardly any kinds of rows a weight is divided as the rows are that it stands for.
    few = left_out_together(X[:4], y[:4], np.full(4, 2.0))
    repeated = left_out_together(np.repeat(X[:4], 2, axis=0), np.repeat(y[:4], 2), np.ones(8))
    assert len(few.first) == len(repeated.first) == 8
