"""Searches as users write them: penalties in any order, columns of any scale, all scorers."""

import warnings

import numpy as np
import pytest
from random_searches import differences, draw_case, run_both
from searches import both
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_val_score

from robell import (
    ELMClassifier,
    GranularBallRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
    RVFLRegressor,
)

# One search that takes as long as thirty others, and the next seed in its place.
INSTEAD_OF = {100_176: 100_240}


@pytest.mark.parametrize("part", range(12))
def test_random_searches_of_users(part):
    for number in range(100_000 + 20 * part, 100_020 + 20 * part):
        seed = INSTEAD_OF.get(number, number)
        case = draw_case(seed, left_out=12)
        theirs, ours = run_both(case)
        found = differences(case, theirs, ours)
        assert not found, f"draw_case({seed}, left_out=12), {case.kind}: {found}"


def means(search):
    return search.cv_results_["mean_test_score"]


@pytest.mark.parametrize("C", [[1e5, 1e-3], [1e-3, 1e5], [1e5, 1e5], [1.0, 1e5, 1e-3, 1e5]])
def test_a_penalty_is_refined_with_its_own_factor(C):
    """Doubled columns of a long table: one penalty needs refinement, and is not the last one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 1))
    t = x[:, 0] + 0.1 * rng.normal(size=1000)
    model = RVFLRegressor(n_hidden=5, random_state=0)
    theirs, ours = both(model, {"C": C}, np.c_[x, x], t, cv=3)
    np.testing.assert_allclose(means(ours), means(theirs), rtol=1e-9)


@pytest.mark.parametrize("make", [RVFLClassifier, RoBellRVFLClassifier])
def test_penalties_of_a_long_table_in_descending_order(make):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 2))
    y = (X[:, 0] + rng.normal(size=1000) > 0).astype(int)
    model = make(n_hidden=20, calibrate=False, random_state=0)
    grid = {"C": [1e5, 1.0], "activation": ["radbas", "sigmoid", "relu"]}
    theirs, ours = both(model, grid, X, y, cv=3, scoring="roc_auc")
    np.testing.assert_array_equal(means(ours), means(theirs))


@pytest.mark.parametrize("ratio", [1e4, 1e6, 1e8, 1e12])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_probabilities_of_unscaled_columns(ratio, scoring):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 2))
    y = (Z[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(int)
    model = RVFLClassifier(n_hidden=10, random_state=0)
    grid = {"C": [0.001, 1.5, 1000.0]}
    theirs, ours = both(model, grid, Z * [1.0, ratio], y, scoring=scoring)
    np.testing.assert_allclose(means(ours), means(theirs), rtol=1e-9)


@pytest.mark.parametrize("make", [RVFLClassifier, ELMClassifier, GranularBallRVFLClassifier])
@pytest.mark.parametrize("scoring", ["f1", "accuracy", "roc_auc", "average_precision"])
def test_equal_rows_of_both_classes(make, scoring):
    """Nothing tells the classes apart: rounding decides, and that of a single fit counts."""
    y = np.arange(60) % 2
    for seed, value in enumerate([0.3, 3.0, 1e8]):
        model = make(n_hidden=7, calibrate=False, random_state=seed)
        grid = {"C": [0.1, 1e4, 1e-5], "n_hidden": [3, 7], "activation": ["sigmoid", "sign"]}
        theirs, ours = both(model, grid, np.full((60, 2), value), y, scoring=scoring, cv=4)
        np.testing.assert_array_equal(means(ours), means(theirs))
        assert ours.best_index_ == theirs.best_index_


@pytest.mark.parametrize("activation", ["sign", "hardlim"])
@pytest.mark.parametrize("scoring", ["f1", "neg_log_loss", "roc_auc"])
def test_saturated_nodes_and_tiny_penalties(activation, scoring):
    rng = np.random.default_rng(5)
    X = 1e3 * rng.normal(size=(80, 3))
    y = (X[:, 0] > 0).astype(int)
    grid = {"C": [1e-300, 1e300, 1e-30, 1.0], "direct_link": [False, True]}
    model = RVFLClassifier(n_hidden=6, activation=activation, random_state=0)
    theirs, ours = both(model, grid, X, y, scoring=scoring)
    np.testing.assert_allclose(means(ours), means(theirs), rtol=1e-9, atol=0)
    assert "C is so small or large" in " ".join(ours.not_shared_)


@pytest.mark.parametrize("C", [["few"], [np.nan, 1.0], ["loo", 1.0, 1e5], [None, 2.0], [-1.0, 1.0]])
def test_penalties_that_are_no_numbers_are_treated_as_grid_search_treats_them(C):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    found = []
    for kind in (GridSearchCV, RVFLGridSearchCV):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of candidates that failed
            try:
                search = kind(RVFLClassifier(n_hidden=3, random_state=0), {"C": C}, cv=2).fit(X, y)
                found.append((means(search).tolist(), search.best_index_))
            except ValueError as error:
                found.append(str(error).splitlines()[:3])
    np.testing.assert_equal(found[1], found[0])


def test_the_error_score_raise_names_the_penalty():
    X, y = np.random.default_rng(7).normal(size=(40, 2)), np.arange(40) % 2
    search = RVFLGridSearchCV(RVFLClassifier(), {"C": [1.0, np.nan]}, error_score="raise", cv=2)
    with pytest.raises(ValueError, match="'C' parameter of RVFLClassifier"):
        search.fit(X, y)


def test_nested_and_halving_searches_over_a_search():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(120, 3)) * [1.0, 1e4, 1.0]
    y = (X[:, 0] + X[:, 2] + 0.5 * rng.normal(size=120) > 0).astype(int)
    model, grid = RVFLClassifier(n_hidden=8, random_state=0), {"C": [1e4, 1e-2, 1.0]}
    nested, halving = [], []
    for kind in (GridSearchCV, RVFLGridSearchCV):
        search = kind(model, grid, cv=3, scoring="balanced_accuracy")
        nested.append(cross_val_score(search, X, y, cv=3))
        outer = {"estimator__n_hidden": [8, 2, 5], "estimator__direct_link": [False, True]}
        over = HalvingGridSearchCV(search, outer, cv=2, random_state=0, min_resources=40)
        halving.append(over.fit(X, y))
    np.testing.assert_array_equal(nested[1], nested[0])
    np.testing.assert_array_equal(means(halving[1]), means(halving[0]))
    assert halving[1].best_params_ == halving[0].best_params_
