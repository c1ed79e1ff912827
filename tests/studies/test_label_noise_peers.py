"""Peers that are written here: a loss from its formula, least squares, judges of labels, cuts."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import average_precision_score

from robell.comparison import peers
from robell.comparison.peers import (
    LEAST_CURVATURE,
    MODELS,
    Model,
    PlainLeastSquaresRVFL,
    RobustFocalLoss,
)
from robell.noise import flip_uniformly
from robell.studies.label_noise import models as detectors
from robell.studies.label_noise.jobs import found_flips, probability_scores
from robell.studies.label_noise.models import DETECTORS, TUNED, build, require_packages


def blobs(n=120, n_classes=2, seed=0):
    """Overlapping classes in three columns."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = random.normal(scale=2.0, size=(n_classes, 3))
    return random.normal(size=(n, 3)) + centres[y], y


# -- the robust focal loss -----------------------------------------------------------------


def literal_loss(p, r, q):
    return (1 - p) ** r * ((1 - p**q) / q if q else -np.log(p))


@pytest.mark.parametrize("r", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("q", [0.0, 0.3, 0.5])
def test_two_classes_have_the_derivatives_of_the_formula(r, q):
    loss, h = RobustFocalLoss(r, q), 1e-4
    z = np.linspace(-4, 4, 33)
    for label in (0, 1):
        y = np.full(len(z), label)
        values = [literal_loss(expit((2 * label - 1) * (z + d)), r, q) for d in (-h, 0, h)]
        np.testing.assert_allclose(values[1], loss.value(expit((2 * label - 1) * z)), rtol=1e-12)
        gradient, curvature = loss(y, z)
        np.testing.assert_allclose(gradient, (values[2] - values[0]) / (2 * h), atol=1e-6)
        second = (values[2] - 2 * values[1] + values[0]) / h**2
        np.testing.assert_allclose(curvature, np.maximum(second, LEAST_CURVATURE), atol=1e-5)


@pytest.mark.parametrize(("r", "q"), [(0.0, 0.0), (0.5, 0.3), (1.0, 0.5), (2.0, 0.0)])
def test_several_classes_have_the_derivatives_of_the_formula(r, q):
    loss, h = RobustFocalLoss(r, q), 1e-4
    random = np.random.default_rng(0)
    Z, y = random.normal(size=(20, 4)), random.integers(0, 4, 20)
    gradient, curvature = loss(y, Z)
    rows = np.arange(20)
    for k in range(4):
        step = np.zeros(4)
        step[k] = h
        values = [
            literal_loss(softmax(Z + d * step, axis=1)[rows, y], r, q) for d in (-1.0, 0.0, 1.0)
        ]
        np.testing.assert_allclose(gradient[:, k], (values[2] - values[0]) / (2 * h), atol=1e-6)
        second = (values[2] - 2 * values[1] + values[0]) / h**2
        np.testing.assert_allclose(curvature[:, k], np.maximum(second, LEAST_CURVATURE), atol=1e-5)


def test_without_parameters_it_is_log_loss_and_q_bounds_what_one_row_can_pull():
    z = np.linspace(-30, 30, 7)
    gradient, _ = RobustFocalLoss(0.0, 0.0)(np.ones(7), z)
    np.testing.assert_allclose(gradient, expit(z) - 1, atol=1e-8)
    robust, _ = RobustFocalLoss(0.0, 0.5)(np.ones(7), z)
    assert abs(gradient[0]) > 0.99  # a row that is surely wrong pulls with full force
    assert abs(robust[0]) < 1e-4  # and is let go


def test_sure_rows_have_finite_derivatives_in_single_precision_too():
    for scores in (np.array([-200.0, -20.0, 20.0, 200.0]), np.array([[200.0, -200.0, 0.0]] * 4)):
        for label in (0, 1):
            found = RobustFocalLoss()(np.full(4, label), scores.astype(np.float32))
            assert np.isfinite(found).all()


def test_xgboost_is_trained_by_it():
    pytest.importorskip("xgboost")
    for n_classes in (2, 3):
        X, y = blobs(200, n_classes)
        model = build("robust_focal", 0, y).fit(X, y)
        assert model.score(X, y) > 0.9
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-6)


# -- least squares as in gfdl --------------------------------------------------------------


def test_without_an_activation_it_is_least_squares_with_an_intercept():
    X, y = blobs(80, 3)
    model = PlainLeastSquaresRVFL(0).fit(X, y)
    A = np.column_stack([np.ones(len(X)), X])
    outputs = A @ np.linalg.lstsq(A, np.eye(3)[y], rcond=None)[0]
    np.testing.assert_allclose(model.predict_proba(X), softmax(outputs, axis=1), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), outputs.argmax(axis=1))


# -- peers that are networks, and pretrained ones ---------------------------------------------


@pytest.mark.filterwarnings("default")  # of their packages
@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.optional])
def test_networks_learn_what_can_be_learnt(name):
    pytest.importorskip(MODELS[name].package, reason=f"the extra {MODELS[name].extra}")
    try:
        require_packages([name])
    except ImportError as error:  # weights that are not on this machine
        pytest.skip(str(error))
    for n_classes in (2, 3):
        X, y = blobs(120, n_classes)
        X += 3.0 * np.eye(3)[y]
        model = build(name, 0, y).fit(X, y)
        assert np.mean(np.ravel(model.predict(X)) == y) > 0.75  # by chance 0.5 and 0.33
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-5)


class WithoutWeights:
    def fit(self, X, y):
        raise OSError("no such host\nand many more lines")


def test_missing_weights_are_said_in_one_line():
    model = Model("Big", "Big", lambda seed, y: WithoutWeights(), 1.0, weights=True)
    with pytest.raises(ImportError, match=r"Big needs pretrained weights.*fetched: no such host$"):
        peers.require_packages([model])


# -- tuned peers ---------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["tuned_logistic", "cut_logistic", "cut_svc"])
def test_tuning_is_by_balanced_accuracy_in_stratified_folds_of_the_labels_given(model):
    X, y = blobs(90)
    keep = (y == 0) | (np.arange(len(y)) % 3 == 0)
    X, y = X[keep], y[keep]
    search = build(model, 3, y)
    assert search.scoring == "balanced_accuracy"
    assert search.cv.shuffle
    fitted = search.fit(X, y)
    assert fitted.score(X, y) > 0.6
    if model.startswith("tuned"):
        assert len(fitted.cv_results_["params"]) >= 12
        best = fitted.cv_results_["mean_test_score"].max()
        assert fitted.best_score_ == best


def test_clean_learning_says_its_classes_so_that_its_cut_can_be_tuned():
    pytest.importorskip("cleanlab")
    X, y = blobs(90)
    fitted = build("cut_clean_learning", 0, y).fit(X, y)
    assert fitted.score(X, y) > 0.7
    np.testing.assert_array_equal(fitted.classes_, [0, 1])


def test_folds_are_no_more_than_the_smallest_class_has_rows():
    assert build("cut_logistic", 0, np.repeat([0, 1], [40, 3])).cv.get_n_splits() == 3
    with pytest.raises(ValueError, match="two rows of every class"):
        build("tuned_svc", 0, np.repeat([0, 1], [40, 1]))


def test_every_quick_peer_has_a_tuned_cut():
    assert {name for name in TUNED if name.startswith("tuned_")} == {
        "tuned_logistic",
        "tuned_svc",
        "tuned_forest",
        "tuned_lightgbm",
    }
    assert {"cut_forest", "cut_robust_focal", "cut_rvfl_gfdl"} <= set(TUNED)


# -- judges of labels ----------------------------------------------------------------------


def test_the_margin_of_a_label_is_its_score_less_the_next_best():
    scores = np.array([[1.0, 4.0, 2.0], [3.0, 0.0, -1.0]])
    np.testing.assert_array_equal(detectors.margin_of_label(scores, np.array([1, 2])), [2.0, -4.0])


def test_areas_under_margins_are_means_over_epochs_of_a_literal_loop():
    X, y = blobs(70, 3)
    found = detectors.by_softmax_margins(X, y, 5)[detectors.AREA]
    scaled = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / X.std(axis=0)])
    W = np.zeros((4, 3))
    random = np.random.default_rng(5)
    margins = np.zeros((detectors.EPOCHS, len(y)))
    for epoch in range(detectors.EPOCHS):
        order = random.permutation(len(y))
        for start in range(0, len(y), detectors.BATCH):
            rows = order[start : start + detectors.BATCH]
            step = detectors.PENALTY * W
            for i in rows:
                p = np.exp(scaled[i] @ W)
                p /= p.sum()
                p[y[i]] -= 1
                step = step + np.outer(scaled[i], p) / len(rows)
            W = W - detectors.RATE * step
        for i in range(len(y)):
            z = scaled[i] @ W
            margins[epoch, i] = z[y[i]] - max(z[k] for k in range(3) if k != y[i])
    np.testing.assert_allclose(found, margins.mean(axis=0), atol=1e-10)


@pytest.mark.parametrize("judge", DETECTORS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_judge_finds_most_flips(judge, n_classes):
    if DETECTORS[judge].package:
        pytest.importorskip(DETECTORS[judge].package)
    X, y = blobs(150, n_classes, seed=1)
    X += 3.0 * np.eye(3)[y]
    noisy, flipped = flip_uniformly(y, 0.1, 0)
    for quality in DETECTORS[judge].make(X, noisy, 0).values():
        assert average_precision_score(flipped, -quality) > 0.5


def test_misses_are_counted_at_a_budget_of_as_many_rows_as_are_wrong():
    flipped = np.array([True, False, True, False, False])
    quality = np.array([0.1, 0.2, 0.3, 0.9, 0.8])
    found = found_flips(flipped, quality)
    assert found["missed"] == 0.5
    assert found["average_precision"] == pytest.approx((1 + 2 / 3) / 2)
    assert found_flips(np.zeros(5, bool), quality)["missed"] is None


# -- probabilities -------------------------------------------------------------------------


def test_probabilities_that_are_frequencies_have_no_calibration_error():
    truth = np.array([1, 0, 0, 0, 0] * 20)
    P = np.column_stack([np.full(100, 0.8), np.full(100, 0.2)])
    found = probability_scores(truth, P, [0, 1], 2)
    assert found["calibration_error"] == pytest.approx(0, abs=1e-12)
    assert found["brier"] == pytest.approx(0.2 * 0.8)
    assert found["log_loss"] == pytest.approx(-(0.2 * np.log(0.2) + 0.8 * np.log(0.8)))
    off = probability_scores(truth, P[:, ::-1], [0, 1], 2)
    assert off["calibration_error"] == pytest.approx(0.6)


def test_calibration_error_is_that_of_a_literal_loop_and_unknown_classes_count_as_impossible():
    random = np.random.default_rng(0)
    P = random.dirichlet([1, 1, 1], 200)
    truth = random.integers(0, 3, 200)
    total = 0.0
    for low in np.arange(10) / 10:
        rows = [
            i
            for i in range(200)
            if low <= P[i].max() < low + 0.1 or (low == 0.9 and P[i].max() == 1)
        ]
        if rows:
            confidence = np.mean([P[i].max() for i in rows])
            right = np.mean([P[i].argmax() == truth[i] for i in rows])
            total += len(rows) / 200 * abs(confidence - right)
    found = probability_scores(truth, P, [0, 1, 2], 3)
    assert found["calibration_error"] == pytest.approx(total)
    one_unknown = probability_scores(np.array([0, 2]), np.array([[0.5, 0.5]] * 2), [0, 1], 3)
    assert one_unknown["log_loss"] > 10
