import numpy as np
import pytest

from robell import RVFLClassifier
from robell._core.array import one_hot
from robell._core.layers.features import (
    RowBlocks,
    design_matrix,
    draw_random_layer,
    hidden_output,
    rows_per_block,
)


@pytest.mark.parametrize("n_features", [1, 7])
def test_a_smaller_layer_is_the_prefix_of_a_larger_one(n_features):
    U, b = draw_random_layer(n_features, 203, 0.1, seed=3)
    for n_hidden in (1, 3, 43, 202):
        U_small, b_small = draw_random_layer(n_features, n_hidden, 0.1, seed=3)
        np.testing.assert_array_equal(U_small, U[:, :n_hidden])
        np.testing.assert_array_equal(b_small, b[:n_hidden])


@pytest.mark.parametrize("random_state", [0, 7, np.random.RandomState(5)])
def test_nesting_holds_through_the_estimator(imbalanced, random_state):
    X, y = imbalanced
    state = random_state if isinstance(random_state, int) else random_state.get_state()

    def fitted(n_hidden):
        rs = state
        if not isinstance(state, int):
            rs = np.random.RandomState()
            rs.set_state(state)
        return RVFLClassifier(n_hidden, random_state=rs).fit(X, y)

    small, large = fitted(43), fitted(203)
    np.testing.assert_array_equal(small.hidden_weights_, large.hidden_weights_[:, :43])
    np.testing.assert_array_equal(small.hidden_bias_, large.hidden_bias_[:43])


def test_weights_and_biases_come_from_independent_streams():
    """One seed for both would make the biases (scaled) equal to weights."""
    for seed in range(5):
        U, b = draw_random_layer(1, 5000, 1.0, seed)
        assert abs(np.corrcoef(U[0], b)[0, 1]) < 0.05
        assert not np.isin(b, (U + 1) / 2).any()


def test_ranges_of_weights_and_biases():
    U, b = draw_random_layer(20, 2000, 0.1, seed=0)
    assert -1 <= U.min() < -0.999
    assert 0.999 < U.max() <= 1
    assert 0 <= b.min() < 1e-3
    assert 0.099 < b.max() <= 0.1
    assert abs(U.mean()) < 0.01
    np.testing.assert_array_equal(draw_random_layer(20, 5, 0.0, seed=0)[1], 0.0)


def test_different_seeds_differ():
    assert not np.array_equal(
        draw_random_layer(4, 5, 0.1, 0)[0], draw_random_layer(4, 5, 0.1, 1)[0]
    )


@pytest.mark.parametrize("direct_link", [True, False])
@pytest.mark.parametrize("output_bias", [True, False])
def test_design_matrix_is_constant_inputs_nodes(rng, direct_link, output_bias):
    X, U, b = rng.normal(size=(6, 3)), rng.normal(size=(3, 4)), rng.normal(size=4)
    H = hidden_output(X, U, b, "tansig")
    np.testing.assert_allclose(H, np.tanh(X @ U + b))
    M = design_matrix(X, H, direct_link, output_bias)
    columns = ([np.ones((6, 1))] if output_bias else []) + ([X] if direct_link else []) + [H]
    np.testing.assert_array_equal(M, np.hstack(columns))


def test_blocks_cover_every_row_once_and_make_the_same_matrix(rng):
    n_columns = 40
    n_rows = 3 * rows_per_block(n_columns) + 17
    matrix = rng.normal(size=(n_rows, n_columns))
    blocks = RowBlocks(lambda rows: matrix[rows], n_rows, n_columns)
    assert len(list(blocks)) == 4
    np.testing.assert_array_equal(np.vstack([block for _, block in blocks]), matrix)
    np.testing.assert_array_equal(blocks.whole(), matrix)


def test_a_single_block_is_made_once():
    calls = []

    def make(rows):
        calls.append(rows)
        return np.zeros((5, 2))

    blocks = RowBlocks(make, 5, 2)
    list(blocks)
    list(blocks)
    blocks.whole()
    assert len(calls) == 1


def test_one_hot_targets_and_their_labels():
    labels = np.array([2, 0, 2, 1])
    T = one_hot(labels, 4)
    np.testing.assert_array_equal(T, np.eye(4)[labels])
    assert T.dtype == np.float64
