import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_variants import fuzzy_c_means_loops, neurofuzzy_features

from robell import NeuroFuzzyRVFLClassifier, RVFLClassifier
from robell._core.layers.features import ACTIVATIONS
from robell.models.neurofuzzy import (
    FCM_STEPS,
    FCM_TOLERANCE,
    choose_rows,
    draw_rule_weights,
    firing_strengths,
    fuzzy_block,
    fuzzy_c_means,
)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("centers", ["kmeans", "fcm", "random"])
def test_coefficients_equal_the_literal_transcription(imbalanced, activation, centers):
    X, y = imbalanced
    model = NeuroFuzzyRVFLClassifier(
        12, activation, C=10.0, n_rules=4, centers=centers, random_state=2
    ).fit(X, y)
    M = neurofuzzy_features(
        X,
        model.centers_,
        model.rule_weights_,
        model.hidden_weights_,
        model.hidden_bias_,
        activation,
    )
    T = np.eye(2)[y]
    expected = np.linalg.solve(M.T @ M + np.eye(M.shape[1]) / 10, M.T @ T)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.coef_, expected, atol=1e-8 * scale)
    np.testing.assert_allclose(model.decision_function(X), M @ (expected[:, 1] - expected[:, 0]))


@given(
    seed=st.integers(0, 1000),
    n_features=st.integers(1, 300),
    distance=st.sampled_from([1.0, 1e3, 1e8]),
)
def test_firing_strengths_sum_to_one_also_far_away(seed, n_features, distance):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(7, n_features))
    firing = firing_strengths(distance * rng.normal(size=(20, n_features)), centers)
    assert (firing >= 0).all()
    np.testing.assert_allclose(firing.sum(axis=1), 1.0)


def test_one_rule_is_its_linear_output(rng):
    X, alpha = rng.normal(size=(10, 3)), rng.uniform(size=(3, 1))
    np.testing.assert_allclose(fuzzy_block(X, rng.normal(size=(1, 3)), alpha), X @ alpha)


def test_the_nearest_rule_fires_most(rng):
    centers = rng.normal(size=(5, 4))
    np.testing.assert_array_equal(firing_strengths(centers, centers).argmax(axis=1), range(5))


def test_kmeans_centers_are_means_of_their_own_rows(imbalanced):
    X, y = imbalanced
    model = NeuroFuzzyRVFLClassifier(n_rules=6, random_state=0).fit(X, y)
    nearest = ((X[:, None] - model.centers_) ** 2).sum(axis=2).argmin(axis=1)
    for j in range(6):
        np.testing.assert_allclose(model.centers_[j], X[nearest == j].mean(axis=0), atol=0.05)


def test_random_centers_are_distinct_training_rows(imbalanced):
    X, y = imbalanced
    centers = (
        NeuroFuzzyRVFLClassifier(n_rules=9, centers="random", random_state=0).fit(X, y).centers_
    )
    assert len(np.unique(centers, axis=0)) == 9
    assert all((c == X).all(axis=1).any() for c in centers)


def test_random_rows_are_drawn_in_proportion_to_their_weight():
    X, weight = np.arange(3.0)[:, None], np.array([1.0, 2.0, 5.0])
    drawn = np.array([choose_rows(X, weight, 1, seed)[0, 0] for seed in range(4000)])
    shares = np.bincount(drawn.astype(int), minlength=3) / 4000
    np.testing.assert_allclose(shares, weight / 8, atol=0.03)


def test_fuzzy_c_means_equals_loops(rng):
    X = np.vstack([rng.normal(0, 1, (15, 2)), rng.normal(4, 1, (15, 2))])
    weight = rng.integers(1, 4, 30).astype(float)
    start = X[[0, 3, 20]] + 0.1  # a row on a centre has weights of 1 and 0: see below
    expected = fuzzy_c_means_loops(X, weight, start, FCM_STEPS, FCM_TOLERANCE)
    np.testing.assert_allclose(fuzzy_c_means(X, weight, start), expected, rtol=1e-9)


def test_fuzzy_c_means_with_rows_on_centers():
    X = np.array([[0.0], [0.0], [1.0], [5.0], [6.0]])
    centers = fuzzy_c_means(X, np.ones(5), np.array([[0.0], [5.0]]))
    assert np.isfinite(centers).all()
    assert centers[0, 0] < 1 < 5 < centers[1, 0]


def test_rules_and_nodes_are_nested(imbalanced):
    X, y = imbalanced
    np.testing.assert_array_equal(draw_rule_weights(5, 8, 3)[:, :3], draw_rule_weights(5, 3, 3))
    small, large = (NeuroFuzzyRVFLClassifier(n, random_state=0).fit(X, y) for n in (43, 203))
    np.testing.assert_array_equal(small.hidden_weights_, large.hidden_weights_[:, :43])
    np.testing.assert_array_equal(small.hidden_bias_, large.hidden_bias_[:43])
    np.testing.assert_array_equal(small.centers_, large.centers_)


def test_weights_of_rules_and_nodes_are_not_negative(imbalanced):
    model = NeuroFuzzyRVFLClassifier(random_state=0).fit(*imbalanced)
    for weights in (model.rule_weights_, model.hidden_weights_):
        assert weights.min() >= 0
        assert 0.9 < weights.max() <= 1


def test_no_more_rules_than_distinct_rows():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]])
    for centers in ("kmeans", "fcm", "random"):
        model = NeuroFuzzyRVFLClassifier(n_rules=50, centers=centers, random_state=0)
        model.fit(X, [0, 0, 1, 1, 1])
        assert model.n_rules_ == 3
        assert model.centers_.shape == (3, 1)
        assert np.isfinite(model.predict_proba(X)).all()


def test_the_order_of_rows_does_not_matter(imbalanced, rng):
    X, y = imbalanced
    order = rng.permutation(len(X))
    for centers in ("kmeans", "fcm", "random"):
        model, shuffled = (
            NeuroFuzzyRVFLClassifier(centers=centers, random_state=0).fit(X[o], y[o])
            for o in (np.arange(len(X)), order)
        )
        np.testing.assert_allclose(model.centers_, shuffled.centers_, rtol=1e-10)
        np.testing.assert_allclose(
            model.decision_function(X), shuffled.decision_function(X), atol=1e-8
        )


def test_the_fuzzy_block_adds_to_a_network_that_is_too_small():
    """A ring around a disc: hardly any nodes, but rules that follow the shape."""
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 400), np.repeat([0.5, 2.0], 200)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * radius[:, None]
    X += 0.1 * rng.normal(size=X.shape)
    y = (radius > 1).astype(int)
    fuzzy = NeuroFuzzyRVFLClassifier(3, C=1e3, n_rules=20, random_state=0).fit(X, y)
    plain = RVFLClassifier(3, C=1e3, random_state=0).fit(X, y)
    assert fuzzy.score(X, y) > 0.95 > plain.score(X, y)
