"""Where scores of two classes are cut: counted row by row, weights as copies, what is asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell._core.labels.cuts import (
    MOST_POINTS,
    cut_for_share,
    nearest_share,
    operating_points,
    predicted_share,
)
from robell.models._thresholds import Rule

seeds = st.integers(0, 2**32 - 1)


def draw(seed, n_rows):
    """Return scores of both classes, label probabilities, and copies of every row."""
    rng = np.random.default_rng(seed)
    second = rng.random(n_rows)
    z = np.clip(second + 0.3 * rng.normal(size=n_rows), 0.01, 0.99)
    copies = rng.integers(1, 4, n_rows).astype(float)
    return np.column_stack([1 - second, second]), np.column_stack([1 - z, z]), copies


@given(seeds, st.integers(2, 50))
def test_nearest_share_is_counted_row_by_row(seed, n_rows):
    scores, Z, weight = draw(seed, n_rows)
    means = [np.average(scores, axis=0, weights=weight * Z[:, c]) for c in (0, 1)]
    distance = [np.linalg.norm(scores - mean, axis=1) for mean in means]
    nearer = distance[1] < distance[0]
    assert nearest_share(scores, Z, weight) == pytest.approx(weight @ nearer / weight.sum())


@given(seeds, st.integers(2, 50), st.floats(0, 1))
def test_the_share_predicted_is_between_nearest_and_prior(seed, n_rows, cleaning):
    scores, Z, weight = draw(seed, n_rows)
    ends = sorted([nearest_share(scores, Z, weight), weight @ Z[:, 1] / weight.sum()])
    assert ends[0] - 1e-12 <= predicted_share(scores, Z, weight, cleaning) <= ends[1] + 1e-12


@given(seeds, st.integers(2, 60), st.floats(0, 1))
def test_as_many_rows_lie_above_a_cut_as_asked_but_for_one(seed, n_rows, share):
    scores, _, weight = draw(seed, n_rows)
    cut = cut_for_share(scores[:, 1], weight, share)
    above = weight @ (scores[:, 1] > cut) / weight.sum()
    assert abs(share - above) <= weight.max() / weight.sum() + 1e-9


@given(seeds, st.floats(0, 1), st.integers(2, 20))
def test_copies_of_a_row_stay_on_one_side(seed, share, n_distinct):
    rng = np.random.default_rng(seed)
    values, copies = rng.normal(size=n_distinct), rng.integers(1, 5, n_distinct)
    weighted = cut_for_share(values, copies.astype(float), share)
    repeated = cut_for_share(values.repeat(copies), np.ones(copies.sum()), share)
    assert weighted == pytest.approx(repeated, abs=1e-12)


@given(st.floats(-1e3, 1e3), st.floats(0, 1), st.integers(1, 9))
def test_equal_scores_are_all_above_a_cut_or_all_below(value, share, n_rows):
    cut = cut_for_share(np.full(n_rows, value), np.ones(n_rows), share)
    assert (value > cut) == (share > 0.5)
    assert abs(value - cut) >= 1e-7
    # Of the largest of several, those or none: what comes nearer to the share asked for
    values = np.append(np.full(n_rows, value), value - 1.0)
    cut = cut_for_share(values, np.ones(n_rows + 1), share)
    above = (values > cut).mean()
    if share < n_rows / (n_rows + 1):
        assert abs(above - share) <= min(share, n_rows / (n_rows + 1) - share) + 1e-9


def test_no_row_is_nearer_to_either_of_equal_means():
    scores, Z = np.full((10, 2), 0.5), np.tile([0.3, 0.7], (10, 1))
    assert nearest_share(scores, Z, np.ones(10)) == pytest.approx(0.7)


@given(seeds, st.integers(2, 40), st.booleans())
def test_operating_points_are_what_cutting_there_gives(seed, n_rows, ties):
    scores, Z, weight = draw(seed, n_rows)
    P = np.round(scores[:, 1], 1) if ties else scores[:, 1]
    points = operating_points(P, Z[:, 1], weight)
    assert len(points) == len(np.unique(P)) + 1
    assert (np.diff(points[:, 0]) < 0).all()
    for threshold, share, recall, precision in points:
        chosen = threshold <= P
        hits = weight[chosen] @ Z[chosen, 1]
        assert share == pytest.approx(weight[chosen].sum() / weight.sum())
        assert recall == pytest.approx(hits / (weight @ Z[:, 1]))
        assert precision == pytest.approx(hits / weight[chosen].sum() if chosen.any() else 1.0)
    assert points[0, 1] == 0
    assert points[-1, 1] == pytest.approx(1.0)


def test_many_rows_give_points_enough():
    scores, Z, weight = draw(0, 5000)
    points = operating_points(scores[:, 1], Z[:, 1], weight, MOST_POINTS)
    assert len(points) == MOST_POINTS + 1
    for threshold, share, _, _ in points[:: MOST_POINTS // 7]:
        assert share == pytest.approx(weight @ (scores[:, 1] >= threshold) / weight.sum())


@given(seeds, st.integers(2, 40), st.floats(0.01, 1), st.floats(0.1, 50))
def test_points_asked_for_are_the_best_of_all(seed, n_rows, wanted, cost):
    scores, Z, weight = draw(seed, n_rows)
    points = operating_points(scores[:, 1], Z[:, 1], weight)
    _, share, recall, precision = points.T
    prior = weight @ Z[:, 1] / weight.sum()
    costs = [cost * prior * (1 - r) + (s - prior * r) for s, r in zip(share, recall)]
    assert costs[Rule("cost", None, cost, 1.0).point(points)] == pytest.approx(min(costs))
    place = Rule("precision", wanted).point(points)
    enough = wanted * (1 - 1e-12)
    assert precision[place] >= enough
    assert recall[place] == max(recall[precision >= enough])
    place = Rule("recall", wanted).point(points)
    assert recall[place] >= wanted - 1e-9
    assert share[place] == min(share[recall >= enough])
    place = Rule("budget", wanted).point(points)
    assert share[place] <= wanted + 1e-9
    assert share[place] == max(share[share <= wanted * (1 + 1e-12)])


@given(seeds, st.integers(2, 50), st.sampled_from([1e-12, 1e-6, 1e9]))
def test_the_nearest_share_does_not_depend_on_the_scale_of_scores(seed, n_rows, scale):
    scores, Z, weight = draw(seed, n_rows)
    expected = nearest_share(scores, Z, weight)
    assert nearest_share(scale * scores, Z, weight) == pytest.approx(expected)


def test_the_classes_shares_count_two_fifths_where_labels_are_clean_and_a_quarter_where_not():
    scores, Z, weight = draw(3, 40)
    nearest, prior = nearest_share(scores, Z, weight), weight @ Z[:, 1] / weight.sum()
    assert abs(nearest - prior) > 1e-3
    for cleaning, part in ((0.0, 0.4), (1.0, 0.25), (0.5, 0.325)):
        expected = (1.0 - part) * nearest + part * prior
        assert predicted_share(scores, Z, weight, cleaning) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_of_all_rows_or_none_all_but_one_may_lie_above_a_cut(share):
    values = np.array([0.1, 0.5, 0.7, 0.2])
    above = (values > cut_for_share(values, np.ones(4), share)).sum()
    assert abs(above - 4 * share) <= 1
