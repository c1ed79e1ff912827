import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.datasets import make_classification

from robell import ELMClassifier, RVFLClassifier
from robell._core.ridge.calibrate import (
    PRIOR,
    calibrated_probability,
    fit_calibration,
    half_widths,
    newton_step,
)


def one_hot(labels, n_classes):
    return np.eye(n_classes)[labels]


def smoothed_targets(T, weight):
    """(n + 1)/(n + 2) for a row's own class of n rows, the rest shared by the others."""
    found = np.empty_like(T)
    for row, own in zip(found, T.argmax(axis=1)):
        n = weight[T[:, own] == 1].sum()
        row[:] = (1 - (n + 1) / (n + 2)) / (len(row) - 1)
        row[own] = (n + 1) / (n + 2)
    return found


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_fit_is_the_minimum_that_a_general_optimiser_finds(rng, n_classes):
    scores = rng.normal(size=(300, n_classes))
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    T, weight = one_hot(labels, n_classes), rng.uniform(0.5, 2, 300)
    slope, offsets = fit_calibration(scores, T, weight)

    def loss(theta):
        log_p = log_softmax(np.exp(theta[0]) * scores + np.r_[0, theta[1:]], axis=1)
        prior = 0.5 * PRIOR.precision * (theta[0] - PRIOR.log_slope) ** 2
        return -weight @ (smoothed_targets(T, weight) * log_p).sum(axis=1) + prior

    best = minimize(loss, np.zeros(n_classes), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(np.log(slope), best.x[0], atol=1e-5)
    np.testing.assert_allclose(offsets - offsets[0], np.r_[0, best.x[1:]], atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_newton_step_is_that_of_a_loop_over_rows(rng, n_classes, sign):
    n, ridge, theta = 40, 1e-6, rng.normal(size=n_classes)
    S = sign * rng.exponential(size=(n_classes - 1, n))
    P = np.exp(S + theta[1:, None])
    P /= 1.0 + P.sum(axis=0)
    targets, weight = rng.dirichlet(np.ones(n_classes), n).T[1:], rng.uniform(0.5, 2.0, n)
    gradient, hessian = np.zeros(n_classes), np.zeros((n_classes, n_classes))
    for s, p, t, w in zip(S.T, P.T, targets.T, weight):
        J = np.vstack([s, np.eye(n_classes - 1)])  # of the log-odds, in theta
        gradient += w * J @ (p - t)
        hessian += w * J @ (np.diag(p) - np.outer(p, p)) @ J.T
    hessian += np.diag([max(gradient[0], 0.0) + PRIOR.precision] + [ridge] * (n_classes - 1))
    gradient[0] += PRIOR.precision * (theta[0] - PRIOR.log_slope)
    expected = np.linalg.solve(hessian, gradient)
    step, gain = newton_step(theta, S, P, targets, weight, PRIOR, ridge)
    np.testing.assert_allclose(step, expected, rtol=1e-10)
    assert gain == pytest.approx(gradient @ expected / 2.0, rel=1e-10)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 1], [0, 0, 0, 0, 1]])
def test_of_few_rows_the_prior_decides_a_standard_deviation_being_a_factor_of_e2(sign, labels):
    """A slope of 2 is believed in beforehand: log a has mean log 2 and standard deviation 2."""
    y = np.array(labels)
    scores = np.column_stack([np.zeros(5), sign * 4.0 * (y - 0.5) + [0.1, -0.1, 0.2, 0.0, -0.3]])
    T, weight = one_hot(y, 2), np.ones(5)
    slope, offsets = fit_calibration(scores, T, weight)

    def loss(theta):
        log_p = log_softmax(np.exp(theta[0]) * scores + np.r_[0, theta[1]], axis=1)
        prior = 0.5 * ((theta[0] - np.log(2.0)) / 2.0) ** 2
        return -(smoothed_targets(T, weight) * log_p).sum() + prior

    best = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-8})
    assert abs(best.x[0] - np.log(2.0)) > 0.1  # the rows have a say
    np.testing.assert_allclose(np.log(slope), best.x[0], atol=1e-5)
    np.testing.assert_allclose(offsets[1] - offsets[0], best.x[1], atol=1e-5)


def test_recovers_the_truth_from_many_rows(rng):
    d = rng.normal(size=50_000)
    y = (rng.uniform(size=len(d)) < expit(3 * d - 1)).astype(int)
    scores = np.column_stack([np.zeros_like(d), d])
    slope, offsets = fit_calibration(scores, one_hot(y, 2), np.ones(len(d)))
    assert slope == pytest.approx(3, rel=0.05)
    assert offsets[1] - offsets[0] == pytest.approx(-1, abs=0.05)


@given(seed=st.integers(0, 50), n=st.integers(2, 40), sign=st.sampled_from([-1, 0, 1, 1e6]))
def test_slope_stays_positive_and_finite(seed, n, sign):
    """Scores that say nothing, the opposite, or everything."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    scores = np.column_stack([np.zeros(n), sign * (2.0 * y - 1) + 0.01 * rng.normal(size=n)])
    slope, offsets = fit_calibration(scores, one_hot(y, 2), np.ones(n))
    assert 0 < slope < np.inf
    assert np.isfinite(offsets).all()


@given(slope=st.floats(0.01, 50), seed=st.integers(0, 1000), n_classes=st.integers(2, 4))
def test_the_largest_score_is_the_likeliest_class(slope, seed, n_classes):
    rng = np.random.default_rng(seed)
    scores, offsets = rng.normal(size=(30, n_classes)), 3 * rng.normal(size=n_classes)
    P = calibrated_probability(scores, slope, offsets)
    np.testing.assert_array_equal(P.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_two_class_probability_increases_strictly_with_the_score():
    d = np.linspace(-2, 2, 2001)
    for offset in (-3.0, 0.0, 3.0):
        P = calibrated_probability(
            np.column_stack([np.zeros_like(d), d]), 4.0, np.array([-offset, offset])
        )[:, 1]
        assert (np.diff(P) > 0).all()


def test_weights_are_multiplicities(rng):
    scores = rng.normal(size=(50, 3))
    T = one_hot(rng.integers(0, 3, 50), 3)
    weight = rng.integers(1, 4, 50)
    slope, offsets = fit_calibration(scores, T, weight.astype(float))
    again, offsets_again = fit_calibration(
        np.repeat(scores, weight, axis=0), np.repeat(T, weight, axis=0), np.ones(weight.sum())
    )
    assert slope == pytest.approx(again, rel=1e-9)
    np.testing.assert_allclose(offsets, offsets_again, atol=1e-9)


@pytest.mark.parametrize("estimator", [RVFLClassifier, ELMClassifier])
def test_probabilities_of_unseen_rows_are_calibrated(estimator):
    X, y = make_classification(
        6000, 20, n_informative=10, weights=[0.9], class_sep=0.7, random_state=0
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = estimator(random_state=0).fit(X[:3000], y[:3000])
    p = model.predict_proba(X[3000:])[:, 1]
    bins = np.minimum((p * 15).astype(int), 14)
    gaps = [abs((p - y[3000:])[bins == b].sum()) / len(p) for b in range(15) if (bins == b).any()]
    assert sum(gaps) < 0.05


def test_probabilities_and_predictions_agree(imbalanced):
    X, y = imbalanced
    for weight in (None, "balanced", "ratio"):
        model = RVFLClassifier(class_weight=weight, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_reach_the_residual_of_the_rank_asked_for(rng, coverage):
    residuals, weight = rng.exponential(size=(19, 2)), rng.integers(1, 4, 19).astype(float)
    n = int(weight.sum())
    rank = int(np.ceil(coverage * (n + 1) * (1.0 - 1e-9)))
    for k, half in enumerate(half_widths(residuals, weight, coverage)):
        assert half == np.sort(np.repeat(residuals[:, k], weight.astype(int)))[rank - 1]


def test_intervals_of_few_rows_are_refused_and_of_just_enough_are_the_largest_residual():
    residuals = np.arange(1.0, 10.0)[:, None]
    np.testing.assert_array_equal(half_widths(residuals, np.ones(9), 0.9), [9.0])
    with pytest.raises(ValueError, match=r"needs more rows: 8 training rows allow for 0\.8889"):
        half_widths(residuals[:8], np.ones(8), 0.9)
    for coverage in (0.0, 1.0, "much"):
        with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
            half_widths(residuals, np.ones(9), coverage)
