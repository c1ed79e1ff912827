"""Metrics of many candidates at once, and nested solutions, each against its slow twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from searches import nested_ridge
from sklearn import metrics as sk

from robell._core.layers.features import RowBlocks
from robell._core.ridge import sweep
from robell._core.ridge.solve import normal_equations, solve_ridge
from robell.metrics import g_mean_score, sensitivity_score, specificity_score
from robell.search.scorers import METRICS, doubtful_labels, doubtful_order


@given(seed=st.integers(0, 10_000), n_rows=st.integers(2, 40), levels=st.sampled_from([2, 5, 1000]))
def test_two_class_metrics_equal_scikit_learns_column_by_column(seed, n_rows, levels):
    """Few levels make many ties, and scores of exactly zero."""
    rng = np.random.default_rng(seed)
    codes = np.r_[0, 1, rng.integers(0, 2, n_rows - 2)]
    scores = (rng.integers(-levels, levels + 1, (n_rows, 6)) / levels).astype(float)
    for k in range(6):
        predicted = (scores[:, k] > 0).astype(int)
        for metric, expected in {
            sk.accuracy_score: sk.accuracy_score(codes, predicted),
            sk.balanced_accuracy_score: sk.recall_score(
                codes, predicted, average="macro", labels=[0, 1]
            ),
            g_mean_score: g_mean_score(codes, predicted),
            sk.f1_score: sk.f1_score(codes, predicted, zero_division=0.0),
            sk.roc_auc_score: sk.roc_auc_score(codes, scores[:, k]),
            sk.average_precision_score: sk.average_precision_score(codes, scores[:, k]),
        }.items():
            assert METRICS[metric](codes, scores)[k] == expected, metric  # to the last bit


@pytest.mark.parametrize("n_classes", [3, 11])
def test_multiclass_metrics(rng, n_classes):
    codes = rng.integers(0, n_classes, 150)
    scores = rng.normal(size=(150, 40, n_classes))
    scores[np.arange(150), :, codes] += 1.0
    for k in range(40):
        predicted = scores[:, k].argmax(axis=1)
        for metric, expected in {
            sk.accuracy_score: sk.accuracy_score(codes, predicted),
            sk.balanced_accuracy_score: sk.balanced_accuracy_score(codes, predicted),
            g_mean_score: g_mean_score(codes, predicted),
        }.items():
            assert METRICS[metric](codes, scores)[k] == expected, metric


def test_doubt_is_where_an_error_could_change_something():
    scores = np.array([[0.5, 0.5, 1e-9], [-0.5, 0.5, 2.0], [0.6, -0.2, -3.0]])
    np.testing.assert_array_equal(doubtful_labels(scores, np.full((3, 1), 1e-8)), [0, 0, 1])
    codes = np.array([0, 1, 1])

    def differ(order):
        return codes[order][1:] != codes[order][:-1]

    # A row that is known well stands between two that are not: their order is in doubt all the
    # same.
    between = np.array([[1.0], [0.5], [0.0]])
    error = np.array([[0.6], [0.0], [0.6]])
    for mixed in ([0, 0, 1], [1, 0, 0], [0, 1, 0]):
        codes = np.array(mixed)
        assert doubtful_order(between, error, differ).all()
    # Of one class it does not matter who is first, but whether they are equal.
    codes = np.array([1, 1, 1])
    assert doubtful_order(between, error, differ).all()
    assert not doubtful_order(np.full((3, 1), 0.5), error, differ).any()
    # Rows without any features score exactly zero: a tie, but not a doubtful one.
    codes = np.array([0, 1, 1])
    assert not doubtful_order(np.zeros((3, 1)), np.zeros((3, 1)), differ).any()
    three = np.array([[[0.1, 0.1 + 1e-9, -1.0]], [[5.0, 0.0, 0.0]]])
    np.testing.assert_array_equal(doubtful_labels(three, np.full((2, 1), 1e-8)), [True])
    np.testing.assert_array_equal(doubtful_labels(three, np.full((2, 1), 1e-11)), [False])


def test_metrics_of_the_paper():
    y, predicted = [1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 1, 1]
    assert sensitivity_score(y, predicted) == pytest.approx(3 / 4)
    assert specificity_score(y, predicted) == pytest.approx(3 / 5)
    assert g_mean_score(y, predicted) == pytest.approx(np.sqrt(3 / 4 * 3 / 5))
    assert sensitivity_score(y, predicted, pos_label=0) == pytest.approx(3 / 5)
    names = np.array(["well", "ill"])
    assert specificity_score(names[y], names[predicted], pos_label="ill") == pytest.approx(3 / 5)
    assert sensitivity_score([0, 0], [0, 1]) == 0.0
    assert g_mean_score([0, 1, 2], [0, 1, 1]) == 0.0
    assert g_mean_score([0, 0, 1, 1], [0, 0, 1, 0], sample_weight=[1, 2, 0, 0]) == 1.0
    assert g_mean_score([0, 0, 1, 1], [0, 1, 1, 0], sample_weight=[0, 0, 0, 1]) == 0.0
    weight = [2, 1, 1, 1, 1, 1, 1, 1, 3]
    assert sensitivity_score(y, predicted, sample_weight=weight) == pytest.approx(4 / 5)
    assert specificity_score(y, predicted, sample_weight=weight) == pytest.approx(3 / 7)


@pytest.mark.parametrize("n_rows", [60, 25, 8])
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("is_complex", [False, True])
def test_nested_solutions_equal_single_ones(rng, n_rows, n_targets, is_complex):
    M = rng.normal(size=(n_rows, 30))
    if is_complex:
        M = M + 1j * rng.normal(size=M.shape)
    T, w = rng.normal(size=(n_rows, n_targets)), rng.uniform(0.1, 2, n_rows)
    design = RowBlocks(lambda rows: M[rows], *M.shape, M.dtype.type)
    C, widths = np.array([1e-3, 1.0, 1e4]), np.array([30, 4, 17])
    G, R = normal_equations(design, T, w)
    beta, pivot = nested_ridge(design, G, R, T, w, 1 / C, widths)
    assert pivot.all()
    for i, j in np.ndindex(3, 3):
        k = widths[j]
        narrow = RowBlocks(lambda rows, k=k: M[rows, :k], n_rows, int(k), M.dtype.type)
        expected = solve_ridge(narrow, T, C[i], w).beta
        np.testing.assert_allclose(beta[:k, i, j], expected, rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(beta[k:, i, j], 0.0)


@pytest.mark.parametrize("dual_cost", [-(10**9), 10**9])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_wide_networks_share_a_factor_or_have_their_own(rng, monkeypatch, dual_cost, size):
    monkeypatch.setattr(sweep, "DUAL_COST", dual_cost)
    M, T = size * rng.normal(size=(25, 40)), rng.normal(size=(25, 2))
    w = rng.uniform(0.1, 2, 25)
    design = RowBlocks(lambda rows: M[rows], *M.shape)
    penalties, widths = np.array([1e2, 1e-3]), np.array([26, 40, 8, 25])
    systems = sweep.NestedRidge(design, T, penalties, widths)
    assert systems.limit == (25 if dual_cost < 0 else 40)
    G, R = normal_equations(design, T, w)
    beta, pivot = systems.solve(sweep.with_targets(G, R), w)
    assert pivot.all()
    # The smaller penalty is too small beside the larger columns for the factor of all widths.
    kinds = {type(made).__name__ for made in systems.made.values()}
    assert ("_Wide" in kinds) == (dual_cost < 0 or size > 1.0)
    for i, j in np.ndindex(2, 4):
        k = int(widths[j])
        narrow = RowBlocks(lambda rows, k=k: M[rows, :k], 25, k)
        expected = solve_ridge(narrow, T, 1 / penalties[i], w).beta
        error = np.abs(beta[:k, i, j] - expected).max()
        assert error <= 1e-9 * np.abs(expected).max()
        np.testing.assert_array_equal(beta[k:, i, j], 0.0)


def test_singular_systems_are_left_to_others(rng):
    M = rng.normal(size=(40, 5))
    M = np.hstack([M, M])
    T, w = rng.normal(size=(40, 1)), np.ones(40)
    design = RowBlocks(lambda rows: M[rows], *M.shape)
    G, R = normal_equations(design, T, w)
    _, pivot = nested_ridge(design, G, R, T, w, np.array([1.0, 1e-20]), np.array([10]))
    np.testing.assert_array_equal(pivot > 0, [[True], [False]])


def test_ill_conditioned_systems_are_refined(rng):
    M = rng.normal(size=(60, 6))
    M[:, 3:] = M[:, :3] + 1e-5 * M[:, 3:]
    T, w = rng.normal(size=(60, 2)), rng.uniform(0.5, 2, 60)
    design = RowBlocks(lambda rows: M[rows], *M.shape)
    G, R = normal_equations(design, T, w)
    beta, pivot = nested_ridge(design, G, R, T, w, np.array([1e-9]), np.array([4, 6]))
    assert pivot.all()
    for j, k in enumerate((4, 6)):
        narrow = RowBlocks(lambda rows, k=k: M[rows, :k], 60, k)
        expected = solve_ridge(narrow, T, 1e9, w).beta
        assert np.abs(beta[:k, 0, j] - expected).max() <= 1e-8 * np.abs(expected).max()
