"""Left-out scores against literal refits, and probabilities of new rows, on overlapping tables."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from scipy.special import logit
from searches import assert_same, both
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from robell import (
    BaseRVFLClassifier,
    GranularBallRVFLClassifier,
    HuberRVFLClassifier,
    IntuitionisticFuzzyRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
)
from robell._core.ridge.calibrate import even_within_classes, fit_calibration
from robell._core.ridge.twins import FOLDS, FOLDS_OF_MANY, MANY, fold_shares
from robell.models._estimator import PAPER_C, scores_of_folds

FOLDED = {
    "scores": partial(IntuitionisticFuzzyRVFLClassifier, random_state=0),
    "graph": partial(
        IntuitionisticFuzzyRVFLClassifier,
        score_power=1,
        class_weight="ratio",
        graph="lda",
        random_state=0,
    ),
    "huber": partial(HuberRVFLClassifier, random_state=0),
    "balls": partial(GranularBallRVFLClassifier, random_state=0),
}
WEIGHED = {
    **FOLDED,
    "rvfl": partial(RVFLClassifier, random_state=0),
    "robell": partial(RoBellRVFLClassifier, kernel_width="scale", random_state=0),
}
# A class of which all rows score 0 in a fold gets ones, and says so.
QUIET = pytest.mark.filterwarnings("ignore:all rows of class:UserWarning")


def overlapping(seed, sizes=(90, 60)):
    """Two Gaussians 1.5 apart in one of five columns: the best area under the curve is .86."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], sizes)
    X = rng.normal(size=(len(y), 5))
    X[:, 0] += 1.5 * y
    return X, y


def calibration_scores(model, X, y, monkeypatch):
    """Return the scores that probabilities are fitted to, the second class's less the first's."""
    seen = []

    def spy(scores, T, weight):
        seen.append(scores[:, 1] - scores[:, 0])
        return fit_calibration(scores, T, weight)

    monkeypatch.setattr("robell.models._estimator.fit_calibration", spy)
    clone(model).fit(X, y)
    return seen[-1]


@QUIET
@pytest.mark.parametrize("name", WEIGHED)
def test_calibration_sees_scores_as_good_as_refits_not_better(name, monkeypatch):
    """Held fixed, weights and balls knew the label: .022 (IFRVFL), .010 (Huber) too good."""
    gaps = []
    for seed in range(4):
        X, y = overlapping(seed)
        found = calibration_scores(WEIGHED[name](), X, y, monkeypatch)
        refitted = np.empty(len(y))
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            model = WEIGHED[name](calibrate=False).fit(X[rest], y[rest])
            refitted[i] = model.decision_function(X[i : i + 1])[0]
        gaps.append(roc_auc_score(y, found) - roc_auc_score(y, refitted))
    # What four refits of few balls are worth differs by chance.
    assert abs(np.mean(gaps)) < (0.02 if name == "balls" else 0.005)


@QUIET
@pytest.mark.parametrize("name", WEIGHED)
def test_probabilities_of_new_rows_are_as_steep_as_they_should_be(name):
    """Under weights that knew the labels, log-odds were up to three times too large."""
    slopes = []
    X_new, y_new = overlapping(1000, (6000, 4000))
    for seed in range(10):
        model = WEIGHED[name]().fit(*overlapping(seed))
        odds = logit(np.clip(model.predict_proba(X_new)[:, 1], 1e-12, 1 - 1e-12))
        slopes.append(LogisticRegression(C=np.inf).fit(odds[:, None], y_new).coef_[0, 0])
    assert 0.85 < np.mean(slopes) < 1.2


@QUIET
@pytest.mark.parametrize("name", ["scores", "huber", "balls"])
@pytest.mark.parametrize("n_hidden", [4, 60], ids=["tall", "wide"])
def test_C_has_the_smallest_error_of_rows_in_folds_of_their_own(name, n_hidden):
    X, y = overlapping(0, (40, 20))
    T, fold = np.eye(2)[y], fold_shares(X, y, np.ones(60)).argmax(1)
    estimator = partial(FOLDED[name], n_hidden, calibrate=False)
    model = estimator(C="loo").fit(X, y)
    weight = np.ones(60)  # within a class rows count alike, classes as in the fit
    if name != "balls":
        found = model._fit_weights(model._prepare(X, y))
        weight = np.array([found[y == c].mean() for c in (0, 1)])[y]
    errors = np.zeros(len(PAPER_C))
    for place, C in enumerate(PAPER_C):
        for k in range(fold.max() + 1):
            rest = fold != k
            refit = estimator(C=C).fit(X[rest], y[rest])
            misses = np.square(T[~rest] - refit._class_scores(X[~rest])).sum(axis=1)
            errors[place] += weight[~rest] @ misses
    assert PAPER_C[errors.argmin()] == model.C_
    assert model.C == "loo"
    np.testing.assert_array_equal(model.coef_, estimator(C=model.C_).fit(X, y).coef_)
    with_probabilities = estimator(C="loo", calibrate=True).fit(X, y)
    expected = estimator(C=model.C_, calibrate=True).fit(X, y)
    np.testing.assert_array_equal(with_probabilities.predict_proba(X), expected.predict_proba(X))
    assert "_folds" not in vars(with_probabilities)


@QUIET
@pytest.mark.parametrize("name", FOLDED)
def test_a_class_that_a_fold_has_all_rows_of(name):
    X, y = overlapping(0, (40, 20))
    y[7] = 2
    cost = {0: 1.0, 1: 2.0, 2: 3.0}
    model = FOLDED[name](class_weight=cost).fit(X, y)
    prepared = clone(model)._prepare(X, y)
    scores = scores_of_folds(model, prepared)
    rest = fold_shares(X, y, np.ones(60)).argmax(1) != fold_shares(X, y, np.ones(60)).argmax(1)[7]
    refit = FOLDED[name](class_weight={0: 1.0, 1: 2.0}, calibrate=False).fit(X[rest], y[rest])
    np.testing.assert_allclose(scores[7, :2], refit._class_scores(X[7:8])[0], atol=1e-9)
    assert scores[7, 2] == 0


@QUIET
@pytest.mark.parametrize(
    ("name", "C"),
    [
        ("scores", [0.1, "loo"]),
        ("huber", [0.1, "loo"]),
        ("balls", [0.1, "loo"]),
        ("graph", [0.1, 10.0]),
    ],
    ids=["scores", "huber", "balls", "graph"],
)
def test_the_search_is_grid_search_for_probabilities_too(name, C):
    X, y = overlapping(0, (50, 30))
    grid = {"C": C, "n_hidden": [4, 20]}
    if name != "balls":
        grid["kernel_width"] = [1.0, "scale"]
    theirs, ours = both(
        FOLDED[name](),
        grid,
        X,
        y,
        cv=3,
        scoring=["neg_log_loss", "neg_brier_score", "accuracy"],
        refit="neg_log_loss",
    )
    assert_same(theirs, ours, 1e-12)
    assert any("not calibrated on left-out rows" in reason for reason in ours.not_shared_)


def test_rows_of_a_class_count_alike_and_classes_as_they_weigh(rng):
    labels, count = rng.integers(0, 3, 40), rng.integers(1, 4, 40).astype(float)
    T, total = np.eye(4)[labels], count * rng.random(40)  # no row of the fourth class
    found = even_within_classes(total, T, count)
    np.testing.assert_allclose(found.sum(), count.sum())
    np.testing.assert_allclose((found @ T) / found.sum(), (total @ T) / total.sum())
    for c in range(3):
        assert np.ptp((found / count)[labels == c]) < 1e-12


def test_small_tables_have_more_folds(rng):
    X, y = rng.normal(size=(MANY + 1, 2)), rng.integers(0, 2, MANY + 1)
    assert fold_shares(X[1:], y[1:], np.ones(MANY)).argmax(1).max() + 1 == FOLDS
    assert fold_shares(X, y, np.ones(MANY + 1)).argmax(1).max() + 1 == FOLDS_OF_MANY
    again = fold_shares(np.tile(X[1:], (2, 1)), np.tile(y[1:], 2), np.ones(2 * MANY)).argmax(1)
    assert again.max() + 1 == FOLDS
    np.testing.assert_array_equal(
        fold_shares(X, 1 - y, np.ones(len(y))).argmax(1),
        fold_shares(X, y, np.ones(len(y))).argmax(1),
    )
    # Copies of a row with as many labels of one class as of another belong to neither by its name.
    twice, labels = np.vstack([X[:40], X[:40]]), np.r_[np.arange(40) % 3, (np.arange(40) + 1) % 3]
    for renamed in permutations(range(3)):
        np.testing.assert_array_equal(
            fold_shares(twice, np.array(renamed)[labels], np.ones(80)).argmax(1),
            fold_shares(twice, labels, np.ones(80)).argmax(1),
        )


class ShareOfOwnClass(BaseRVFLClassifier):
    """Weighs a row by the share of its class among its five nearest rows, itself included."""

    def _leaves_out(self):
        return False

    def _fit_weights(self, prepared):
        X, labels, _ = prepared.rows
        near = np.argsort(np.square(X[:, None] - X).sum(axis=2), axis=1)[:, :5]
        self.share_ = (labels[near] == labels[:, None]).mean(axis=1)
        return self.share_


def test_a_variant_whose_weights_know_labels_can_ask_for_folds(monkeypatch):
    X, y = overlapping(0, (40, 20))
    model = ShareOfOwnClass(9, random_state=0)
    found = calibration_scores(model, X, y, monkeypatch)
    fold = fold_shares(X, y, np.ones(60)).argmax(1)
    for k in range(10):
        refit = clone(model).set_params(calibrate=False).fit(X[fold != k], y[fold != k])
        np.testing.assert_allclose(found[fold == k], refit.decision_function(X[fold == k]))
    assert len(clone(model).fit(X, y).share_) == 60  # of all rows, not of a fold
