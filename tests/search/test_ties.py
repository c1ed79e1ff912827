"""Scores that are equal, or nearly so: ranks and choices are still those of GridSearchCV."""

import numpy as np
import pytest
from searches import assert_same, both, table
from sklearn.base import clone
from sklearn.metrics import hinge_loss, make_scorer

from robell import (
    ComplexRVFLClassifier,
    ELMClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
)
from robell.metrics import g_mean_score
from robell.search.scorers import RowScorer


def last_of_the_best(results):
    return int(np.flatnonzero(results["rank_test_score"] == 1)[-1])


@pytest.mark.parametrize(
    ("scoring", "n_classes"),
    [("roc_auc", 2), ("average_precision", 2), (make_scorer(g_mean_score), 3)],
)
@pytest.mark.parametrize("refit", [False, last_of_the_best], ids=["no refit", "callable"])
def test_ranks_of_tied_candidates(scoring, n_classes, refit):
    """Few rows and many candidates: most mean scores occur several times."""
    X, y = table(n_classes, n_rows=40)
    grid = {"C": [1e-5, 1e-4, 1e-3, 1.0, 1.0, 1e5], "n_hidden": [3, 9, 9, 30]}
    theirs, ours = both(
        RVFLClassifier(random_state=0, calibrate=False),
        grid,
        X,
        y,
        cv=3,
        scoring=scoring,
        refit=refit,
    )
    assert len(set(theirs.cv_results_["mean_test_score"])) < 20
    assert_same(theirs, ours)
    assert ours.n_shared_ > 30


def test_ties_of_rows_with_both_classes_are_left_to_single_fits():
    """Equal rows may get scores that differ by rounding, and AUC depends on that."""
    X, y = table(n_rows=60)
    X = np.round(X[:, :2])
    theirs, ours = both(
        ELMClassifier(5, "hardlim", random_state=0, calibrate=False),
        {"C": [0.1, 1.0, 10.0], "n_hidden": [2, 5]},
        X,
        y,
        cv=3,
        scoring=["roc_auc", "average_precision"],
        refit="roc_auc",
    )
    assert_same(theirs, ours)
    assert set(ours.not_shared_) == {"a score within rounding of another one decides"}


@pytest.mark.parametrize("seed", [17, 19, 24, 25])
def test_a_small_network_that_says_nothing_beside_a_large_one_that_does(seed):
    """Either sign of the first node has as many rows of both classes: its weight is rounding."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), rng.permutation(np.arange(40) % 2)
    theirs, ours = both(
        ELMClassifier(activation="sign", random_state=0, calibrate=False),
        {"C": [1e-3, 0.37, 10.0], "n_hidden": [1, 2, 40]},
        X,
        y,
        cv=2,
        scoring="roc_auc",
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ > 0


@pytest.mark.parametrize("estimator", [RVFLClassifier, ELMClassifier, RoBellRVFLClassifier])
def test_rows_that_are_not_scaled(rng, estimator):
    X, y = table(n_rows=70)
    X = X * [1.0, 1e4, 10.0, 1e3, 1.0, 1e-3] + 500.0
    theirs, ours = both(
        estimator(activation="hardlim", random_state=0, calibrate=False),
        {"C": [1e-5, 0.1, 1.0, 1e3, 1e5], "n_hidden": [3, 23, 60]},
        X,
        y,
        cv=3,
        scoring={"auc": "roc_auc", "right": "accuracy"},
        refit="auc",
    )
    assert_same(theirs, ours)


def test_scores_without_an_exact_value_are_fitted_again_where_they_tie():
    X, y = table()
    hinge = make_scorer(hinge_loss, response_method="decision_function", greater_is_better=False)
    theirs, ours = both(
        RVFLClassifier(random_state=0),
        {"C": [1.0, 0.1, 1.0], "n_hidden": [3, 9]},
        X,
        y,
        cv=3,
        scoring=hinge,
    )
    assert_same(theirs, ours, tolerance=1e-12)
    assert ours.not_shared_ == {"the mean score is another's within rounding": 12}
    assert ours.n_shared_ == 6


@pytest.mark.parametrize("activation", ["hardlim", "radbas", "relu"])
@pytest.mark.parametrize(
    "estimator", [RVFLClassifier, ELMClassifier, ComplexRVFLClassifier, RoBellRVFLClassifier]
)
def test_few_distinct_values_and_hardly_any_penalty(rng, estimator, activation):
    """The systems are nearly singular, and a single fit rounds differently."""
    X = np.round(rng.normal(size=(120, 2)))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0.3).astype(int)
    theirs, ours = both(
        estimator(activation=activation, random_state=0, calibrate=False),
        {"C": [1e3, 1e5, 1e7, 1e8, 1e9, 1e10], "n_hidden": [23, 63, 143, 203]},
        X,
        y,
        cv=3,
    )
    assert_same(theirs, ours)


@pytest.mark.parametrize("scale", [1.0, 1e3])
@pytest.mark.parametrize("estimator", [RVFLClassifier, ELMClassifier, ComplexRVFLClassifier])
def test_the_error_allowed_for_is_larger_than_the_real_one(monkeypatch, estimator, scale):
    """Scores of shared solutions differ from single fits' by less than half of what is allowed."""
    X, y = table(n_rows=90)
    X = X * [scale, 1.0, 1.0, scale, 1.0, 1.0]
    shared, errors = [], []

    def note(self, scores, error):
        shared.append(scores.copy())
        errors.append(np.broadcast_to(error, scores.shape).copy())
        return np.zeros(scores.shape[1], bool)

    monkeypatch.setattr(RowScorer, "doubtful", note)
    grid = {"C": [1e-5, 1.0, 1e5], "n_hidden": [3, 20, 80]}
    rows = np.arange(60), np.arange(60, 90)
    for activation in ("sin", "hardlim"):
        model = estimator(activation=activation, calibrate=False, random_state=0)
        # Of labels, rows far from every threshold would be passed over.
        settings = {"cv": [rows], "refit": False, "scoring": "roc_auc"}
        search = RVFLGridSearchCV(model, grid, **settings).fit(X, y)
        assert search.n_shared_ == 9
        for k, params in enumerate(search.cv_results_["params"]):
            single = clone(model).set_params(**params).fit(X[rows[0]], y[rows[0]])
            difference = np.abs(single.decision_function(X[rows[1]]) - shared[-1][:, k])
            assert (difference <= 0.5 * errors[-1][:, k]).all()
