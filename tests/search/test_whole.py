"""Folds that have their features in common: made once, rows held out taken off."""

import numpy as np
import pytest
from searches import assert_same, both, table
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import ELMClassifier, RoBellRVFLClassifier, RVFLClassifier, RVFLRegressor
from robell.search import solutions

GRID = {"C": [1e-3, 1.0, 1e5], "n_hidden": [3, 20], "activation": ["relu", "sin"]}


@pytest.fixture
def solved(monkeypatch):
    """Return a list of what was made of every fold: whether rows were taken off."""
    found, solve = [], solutions.Whole.solve

    def watched(self, *arguments):
        answer = solve(self, *arguments)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(solutions.Whole, "solve", watched)
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [RVFLClassifier, ELMClassifier])
def test_rows_held_out_are_taken_off(solved, estimator, n_classes):
    theirs, ours = both(estimator(random_state=0), GRID, *table(n_classes), cv=4)
    assert_same(theirs, ours)
    assert solved == [True] * 4 * 2


@pytest.mark.parametrize(
    "cv",
    [
        KFold(3, shuffle=True, random_state=0),  # every row held out once: sums of parts
        KFold(40),  # the sums of so many parts are not kept
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),  # every row twice
        ShuffleSplit(3, test_size=0.3, random_state=0),  # some rows never
        [(np.arange(30, 120).tolist(), np.arange(30).tolist())],
        [(np.arange(119, 39, -1), np.r_[10:40, 0:10]), (np.r_[0:40, 80:120], np.arange(40, 80))],
    ],
    ids=["shuffled", "many", "repeated", "some rows", "lists", "any order"],
)
def test_folds_of_any_kind(solved, cv):
    X, y = table(3, n_rows=120)
    labels = np.array(["c", "a", "b"])[y]
    grid = {"C": [1e-3, 1.0, 1e5], "n_hidden": [3, 20]}
    theirs, ours = both(RVFLClassifier(random_state=0, output_bias=True), grid, X, labels, cv=cv)
    assert_same(theirs, ours)
    assert solved
    assert all(solved)


def test_rows_drawn_with_repeats_are_not_taken_off(solved, rng):
    X, y = table(2, n_rows=60)
    tests = np.array_split(rng.permutation(60), 3)
    others = [np.setdiff1d(np.arange(60), test) for test in tests]
    # As many as there are rows, some of them twice and others never.
    bootstraps = [(rng.choice(rest, 40), test) for rest, test in zip(others, tests, strict=True)]
    repeats = [(rest, rng.choice(test, 20)) for rest, test in zip(others, tests, strict=True)]
    for cv in (bootstraps, repeats):
        theirs, ours = both(RVFLClassifier(random_state=0), {"C": [0.1, 10.0]}, X, y, cv=cv)
        assert_same(theirs, ours)
        assert ours.n_shared_ == 6
    assert not solved


def test_a_class_that_some_fold_does_not_know(solved):
    X, y = table(2)
    y = y.copy()
    y[:15] = 2  # all held out by the first fold
    model = RVFLClassifier(n_hidden=9, random_state=0)
    theirs, ours = both(model, {"C": [0.1, 10.0]}, X, y, cv=KFold(4))
    assert_same(theirs, ours)
    assert solved == [True, False, False, False]


@pytest.mark.parametrize("hole", [slice(0, 300), slice(1000, 1700), slice(2700, 3000)])
def test_rows_around_those_held_out(rng, hole):
    M = rng.normal(size=(3000, 100))  # three blocks
    design = solutions._without(M, hole)
    found = np.concatenate([block for _, block in design])
    np.testing.assert_array_equal(found, np.delete(M, hole, axis=0))
    assert design.n_rows == len(found)


def test_a_column_that_lives_in_the_rows_held_out_is_not_a_difference(solved):
    X, y = table(2)
    X = np.hstack([X, np.zeros((len(X), 1))])
    X[: len(X) // 3, -1] = 1e3  # of the first fold: nothing is left of its squares
    theirs, ours = both(RVFLClassifier(random_state=0), GRID, X, y, cv=KFold(3))
    assert_same(theirs, ours)
    assert sorted(solved) == [False] * 2 + [True] * 4


@pytest.mark.parametrize(
    ("estimator", "cv"),
    [
        (make_pipeline(StandardScaler(), RVFLClassifier(random_state=0)), 3),
        (
            RVFLClassifier(random_state=0),
            ShuffleSplit(3, train_size=0.5, test_size=0.2, random_state=0),
        ),
        (RVFLClassifier(random_state=0, class_weight="balanced"), 3),
        (RoBellRVFLClassifier(random_state=0), 3),
        (RVFLRegressor(random_state=0), KFold(3)),
    ],
)
def test_elsewhere_every_fold_has_sums_of_its_own(solved, estimator, cv):
    X, y = table(2)
    prefix = "rvflclassifier__" if hasattr(estimator, "steps") else ""
    grid = {f"{prefix}C": [0.1, 10.0], f"{prefix}n_hidden": [3, 9]}
    if isinstance(estimator, RVFLRegressor):
        y = X[:, 0] + np.sin(X[:, 1])
    theirs, ours = both(estimator, grid, X, y, cv=cv)
    assert_same(theirs, ours, tolerance=1e-9 if isinstance(estimator, RVFLRegressor) else 0.0)
    assert not any(solved)


def test_layers_that_differ_by_fold_are_not_shared(solved):
    model = RVFLClassifier(random_state=np.random.RandomState(0))
    theirs, ours = both(model, {"C": [0.1, 10.0]}, *table(2), cv=3)
    assert_same(theirs, ours)
