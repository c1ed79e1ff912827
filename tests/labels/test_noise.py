import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell.noise import (
    flip_from_class,
    flip_in_group,
    flip_labels,
    flip_near_boundary,
    flip_uniformly,
)

COUNTS = st.lists(st.integers(1, 60), min_size=2, max_size=4)
SEEDS = st.integers(0, 2**32 - 1)


def labels(counts):
    return np.repeat(np.arange(len(counts)), counts)


def rows(y, seed=0):
    """Two columns, classes side by side, the second a thousand times larger than the first."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(len(y), 2)) + 2.0 * np.asarray(y)[:, None]
    return X * [1.0, 1000.0]


def nearest_distance(X, y):
    """The literal twin: all distances of the scaled rows, one after the other."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.array(
        [min(np.linalg.norm(a - b) for b, d in zip(scaled, y) if d != c) for a, c in zip(scaled, y)]
    )


# -- the same share of every class ---------------------------------------------------------


@given(counts=COUNTS, fraction=st.floats(0, 1), seed=SEEDS)
def test_every_class_loses_its_share_and_nothing_else_changes(counts, fraction, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    noisy, flipped = flip_labels(y, fraction, seed)
    np.testing.assert_array_equal(noisy != y, flipped)
    total = int(round(fraction * len(y), 9))
    for c, count in enumerate(counts):
        assert flipped[y == c].sum() == total * count // len(y)
    again, _ = flip_labels(y, fraction, seed)
    np.testing.assert_array_equal(noisy, again)


def test_products_just_below_an_integer_are_not_cut_to_the_one_before():
    y = np.repeat([0, 1], [50, 50])
    assert 0.29 * 100 < 29
    assert flip_labels(y, 0.29, 0)[1].sum() == 28  # 14 of each class
    assert flip_labels(np.repeat([0, 1], [100, 100]), 0.29, 0)[1].sum() == 58


# -- all rows alike ------------------------------------------------------------------------


@given(counts=COUNTS, fraction=st.floats(0, 1), seed=SEEDS)
def test_uniform_flips_are_so_many_and_all_wrong(counts, fraction, seed):
    y = labels(counts)
    noisy, flipped = flip_uniformly(y, fraction, seed)
    np.testing.assert_array_equal(noisy != y, flipped)
    assert flipped.sum() == round(round(fraction * len(y), 9))
    assert set(noisy) <= set(y)
    np.testing.assert_array_equal(noisy, flip_uniformly(y, fraction, seed)[0])


@given(
    counts=COUNTS,
    fractions=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
    seed=SEEDS,
)
def test_a_larger_fraction_only_adds_wrong_labels(counts, fractions, seed):
    y = labels(counts)
    X = rows(y)
    makers = [
        lambda fraction: flip_uniformly(y, fraction, seed),
        lambda fraction: flip_from_class(y, 0, fraction, seed),
        lambda fraction: flip_near_boundary(X, y, fraction, seed),
    ]
    for make in makers:
        (few, some), (many, more) = (make(fraction) for fraction in fractions)
        assert (some <= more).all()
        np.testing.assert_array_equal(few[some], many[some])


def test_uniform_flips_reach_classes_by_their_size_and_go_everywhere_alike():
    y = labels([900, 90, 10])
    flips = np.zeros(3)
    went = np.zeros((3, 3))
    for seed in range(400):
        noisy, flipped = flip_uniformly(y, 0.2, seed)
        flips += np.bincount(y[flipped], minlength=3)
        np.add.at(went, (y[flipped], noisy[flipped]), 1)
    # 80,000 flips in all; hypergeometric counts, four standard deviations of each class
    np.testing.assert_allclose(flips, [72000, 7200, 800], rtol=0, atol=4 * np.sqrt(7200))
    np.testing.assert_allclose(went[0, 1] / went[0].sum(), 0.5, atol=0.01)
    assert not np.diag(went).any()


# -- one class -----------------------------------------------------------------------------


@given(counts=COUNTS, fraction=st.floats(0, 1), seed=SEEDS, data=st.data())
def test_only_rows_of_the_class_are_flipped(counts, fraction, seed, data):
    y = labels(counts)
    source = data.draw(st.integers(0, len(counts) - 1))
    noisy, flipped = flip_from_class(y, source, fraction, seed)
    np.testing.assert_array_equal(noisy != y, flipped)
    assert not flipped[y != source].any()
    assert flipped.sum() == round(round(fraction * counts[source], 9))
    target = (source + 1) % len(counts)
    noisy, flipped = flip_from_class(y, source, fraction, seed, to=target)
    assert (noisy[flipped] == target).all()


def test_classes_may_be_text():
    y = np.repeat(["fraud", "fine"], [10, 90])
    noisy, flipped = flip_from_class(y, "fraud", 0.3, 0)
    assert (noisy == "fraud").sum() == 7
    assert flipped.sum() == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": 5}, "no class 5 in y"),
        ({"label": 1, "to": 7}, "no class 7 in y"),
        ({"label": 1, "to": 1}, "it is their class"),
    ],
)
def test_classes_that_are_none(arguments, message):
    with pytest.raises(ValueError, match=message):
        flip_from_class([0, 1, 1], fraction=0.5, **arguments)


# -- near the boundary ---------------------------------------------------------------------


@given(counts=COUNTS, fraction=st.floats(0, 1), seed=SEEDS)
def test_boundary_flips_are_so_many_and_take_the_label_of_the_nearest(counts, fraction, seed):
    y = labels(counts)
    X = rows(y)
    noisy, flipped = flip_near_boundary(X, y, fraction, seed)
    np.testing.assert_array_equal(noisy != y, flipped)
    assert flipped.sum() == round(round(fraction * len(y), 9))
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    for i in np.flatnonzero(flipped)[:10]:
        others = np.flatnonzero(y != y[i])
        distance = np.linalg.norm(scaled[others] - scaled[i], axis=1)
        near = others[distance <= distance.min() + 1e-12]
        assert noisy[i] in y[near]


def test_boundary_flips_fall_with_the_rank_as_documented():
    y = labels([60, 20])
    X = rows(y)
    rank = np.argsort(np.argsort(nearest_distance(X, y)))
    share = np.exp(-4 * rank / len(y))
    share /= share.sum()
    first = np.zeros(len(y))
    for seed in range(1500):  # one row of eighty: the draw itself
        first += flip_near_boundary(X, y, 1 / 80, seed)[1]
    expected = 1500 * share
    deviation = np.sqrt(expected * (1 - share))
    assert (np.abs(first - expected) < 4.5 * deviation).all()
    many = np.mean([flip_near_boundary(X, y, 0.2, seed)[1] for seed in range(150)], axis=0)
    quarters = [many[(rank >= low) & (rank < low + 20)].mean() for low in (0, 20, 40, 60)]
    assert quarters == sorted(quarters, reverse=True)
    assert quarters[0] > 5 * quarters[3]


def test_the_scale_of_a_column_does_not_matter_and_constant_ones_neither():
    y = labels([30, 10])
    X = rows(y)
    noisy, _ = flip_near_boundary(X, y, 0.3, 0)
    wider = np.column_stack([X * [8.0, 0.25] + [4.0, -2.0], np.full(len(y), 7.0)])
    np.testing.assert_array_equal(noisy, flip_near_boundary(wider, y, 0.3, 0)[0])


def test_rows_that_are_all_equal_are_alike():
    y = labels([30, 10])
    times = np.zeros(40)
    for seed in range(1000):
        times += flip_near_boundary(np.ones((40, 2)), y, 0.25, seed)[1]
    assert np.abs(times - 250).max() < 4.5 * np.sqrt(1000 * 0.25 * 0.75)


def test_rows_and_labels_must_belong_together():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        flip_near_boundary(np.zeros((3, 1)), [0, 1], 0.5)
    with pytest.raises(ValueError, match="NaN"):
        flip_near_boundary([[np.nan], [1.0]], [0, 1], 0.5)


# -- all of them ---------------------------------------------------------------------------

MAKERS = {
    "flip_labels": flip_labels,
    "flip_uniformly": flip_uniformly,
    "flip_from_class": lambda y, *rest: flip_from_class(y, np.asarray(y)[0], *rest),
    "flip_near_boundary": lambda y, *rest: flip_near_boundary(rows(y), y, *rest),
}


@pytest.mark.parametrize("flip", MAKERS.values(), ids=MAKERS)
def test_which_rows_depends_on_the_seed(flip):
    y = np.repeat([0, 1], [50, 50])
    assert (flip(y, 0.2, 0)[0] != flip(y, 0.2, 1)[0]).any()
    np.testing.assert_array_equal(y, np.repeat([0, 1], [50, 50]))


@pytest.mark.parametrize("flip", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("fraction", [-0.1, 1.1, "a", None, True, float("nan")])
def test_fractions_that_are_none(flip, fraction):
    with pytest.raises(ValueError, match="fraction must be"):
        flip([0, 1], fraction)


@pytest.mark.parametrize("flip", MAKERS.values(), ids=MAKERS)
def test_one_class(flip):
    with pytest.raises(ValueError, match="one class"):
        flip([1, 1, 1], 0.5)


# -- other boundaries, and groups ----------------------------------------------------------


@pytest.mark.parametrize("by", ["logistic", "forest"])
def test_flips_at_a_models_boundary_are_near_it_and_take_the_class_beyond_it(by):
    random = np.random.default_rng(0)
    x = random.uniform(-3, 3, 900)
    X = np.column_stack([x, random.normal(size=900)])
    y = np.digitize(x + 0.3 * random.normal(size=900), [-1, 1])
    noisy, flipped = flip_near_boundary(X, y, 0.2, 0, by=by)
    np.testing.assert_array_equal(noisy != y, flipped)
    assert flipped.sum() == 180
    distance = np.minimum(abs(x + 1), abs(x - 1))
    assert distance[flipped].mean() < 0.7 * distance[~flipped].mean()
    # at the left boundary classes 0 and 1 change places, at the right one 1 and 2
    left, right = flipped & (abs(x + 1) < 0.5), flipped & (abs(x - 1) < 0.5)
    assert (noisy[left] == 1 - y[left]).mean() > 0.9
    assert (noisy[right] == 3 - y[right]).mean() > 0.9
    less = flip_near_boundary(X, y, 0.1, 0, by=by)[1]
    assert (less <= flipped).all()
    np.testing.assert_array_equal(flip_near_boundary(X, y, 0.2, 0, by=by)[0], noisy)


def test_a_logistic_boundary_is_that_of_a_literal_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    y = labels([60, 60])
    X = rows(y)
    model = LogisticRegression(max_iter=1000).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    distance = abs(model.decision_function((X - X.mean(axis=0)) / X.std(axis=0)))
    order = np.argsort(np.argsort(distance)) / len(y)
    counts = sum(flip_near_boundary(X, y, 0.2, seed, by="logistic")[1] for seed in range(60))
    nearest, farthest = counts[order < 0.25].mean(), counts[order > 0.75].mean()
    assert nearest > 4 * farthest


def test_classes_far_apart_have_rows_that_are_equally_far():
    y = labels([50, 50])
    X = np.column_stack([np.r_[np.linspace(0, 1, 50), np.linspace(1e6, 2e6, 50)], np.ones(100)])
    noisy, flipped = flip_near_boundary(X**3, y, 0.3, 0, by="logistic")
    assert flipped.sum() == 30
    assert (noisy != y).sum() == 30


def test_other_boundaries_are_refused_by_name():
    with pytest.raises(ValueError, match=r"by must be one of 'neighbour', 'logistic', 'forest'"):
        flip_near_boundary(np.eye(4), [0, 0, 1, 1], 0.5, by="tree")


@given(counts=COUNTS, fraction=st.floats(0, 1), seed=SEEDS)
def test_only_rows_of_the_group_are_flipped(counts, fraction, seed):
    y = labels(counts)
    groups = np.random.default_rng(seed).integers(0, 3, len(y))
    groups[0] = 2
    noisy, flipped = flip_in_group(y, groups, 2, fraction, seed)
    np.testing.assert_array_equal(noisy != y, flipped)
    assert not flipped[groups != 2].any()
    size = (groups == 2).sum()
    assert abs(flipped.sum() - fraction * size) <= 0.5 + 1e-6
    less = flip_in_group(y, groups, 2, fraction / 2, seed)[1]
    assert (less <= flipped).all()


def test_groups_go_to_all_other_classes_alike():
    y, groups = labels([3000, 3000, 3000]), np.zeros(9000)
    noisy, flipped = flip_in_group(y, groups, 0, 0.5, 0)
    for c in range(3):
        went = np.bincount(noisy[flipped & (y == c)], minlength=3)
        assert went[c] == 0
        others = np.delete(went, c)
        assert abs(np.diff(others)[0]) < 5 * np.sqrt(others.sum())


def test_a_group_that_is_not_there():
    with pytest.raises(ValueError, match="no group 'east'"):
        flip_in_group([0, 1], ["west", "west"], "east", 0.5)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        flip_in_group([0, 1], ["west"], "west", 0.5)
