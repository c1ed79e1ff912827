"""Wrong numbers in a target column: found, with suggested values, intervals and clear refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict

from robell import find_target_issues
from robell._core.labels.noise import NumberNoise, fit_number_noise
from robell.models.noise_robust import LeftOutScores


def made(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = 100 + 20 * X[:, 0] - 10 * np.abs(X[:, 1]) + rng.standard_t(5, n)
    wrong = rng.choice(n, n // 15, replace=False)
    noisy = y.copy()
    noisy[wrong] += rng.choice([-1, 1], len(wrong)) * rng.uniform(30, 80, len(wrong))
    return X, y, noisy, wrong


def test_wrong_numbers_are_found_with_a_value_near_the_right_one():
    X, y, noisy, wrong = made()
    issues = find_target_issues(X, noisy, random_state=0)
    found = np.isin(wrong, issues.index)
    assert found.mean() >= 0.9
    assert np.isin(issues.index[: len(wrong)], wrong).mean() >= 0.9
    assert np.isin(issues.index, wrong).mean() >= 0.6
    assert (np.diff(issues.quality) >= 0).all()
    assert np.abs(issues.predicted[wrong] - y[wrong]).mean() < 6
    assert abs(issues.noise_rate - len(wrong) / len(y)) < 0.05
    held = (issues.interval[:, 0] <= y) & (y <= issues.interval[:, 1])
    assert held.mean() == pytest.approx(0.9, abs=0.06)
    frame = issues.to_frame()
    assert frame["index"].tolist() == issues.index.tolist()
    assert (frame["lower"] < frame["suggested_value"]).all()
    assert f"{len(issues)} of 150 rows" in str(issues)


def test_units_and_the_place_of_zero_do_not_matter():
    X, _, noisy, _ = made(80)
    plain = find_target_issues(X, noisy, random_state=0)
    other = find_target_issues(X, 1e-6 * noisy - 4.0, random_state=0)
    np.testing.assert_allclose(other.sample_quality, plain.sample_quality, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(other.interval, 1e-6 * plain.interval - 4.0, rtol=1e-8)


def test_weight_two_is_the_row_twice_and_weight_zero_its_absence():
    X, _, noisy, _ = made(80)
    weight = np.ones(80)
    weight[:20], weight[30:40] = 2.0, 0.0
    kept = weight > 0
    weighted = find_target_issues(X, noisy, sample_weight=weight, random_state=0)
    twice = find_target_issues(
        np.vstack([X[:20], X[kept]]), np.append(noisy[:20], noisy[kept]), random_state=0
    )
    np.testing.assert_allclose(
        weighted.sample_quality[kept], twice.sample_quality[20:], rtol=1e-6, atol=1e-12
    )
    assert weighted.noise_rate == pytest.approx(twice.noise_rate)
    np.testing.assert_allclose(weighted.interval[kept], twice.interval[20:])
    assert not np.isin(weighted.index, np.flatnonzero(~kept)).any()
    assert np.isfinite(weighted.sample_quality).all()


def test_a_row_does_not_vouch_for_itself_nor_for_its_copy():
    X, _, noisy, _ = made(80)
    noisy[[3, 4]], X[4] = 900.0, X[3]
    issues = find_target_issues(X, noisy, random_state=0)
    assert {3, 4} <= set(issues.index[:3].tolist())
    members = LeftOutScores(X, np.ones(80), 0, np.arange(80))
    before, _ = members.of_numbers(noisy, np.ones(80))
    changed = noisy.copy()
    changed[10] += 500.0
    weight = np.ones(80)
    weight[10] = 1e-12  # as good as absent: the penalties chosen are those without the row
    after, _ = members.of_numbers(changed, weight)
    without, _ = members.of_numbers(noisy, weight)
    np.testing.assert_allclose(after[10], without[10], rtol=1e-6)
    assert abs(before[10] - without[10]) < np.ptp(noisy)


def test_the_model_predicts_the_rows_it_was_fitted_to():
    X, y, _, _ = made(100)
    left_out, predict = LeftOutScores(X, np.ones(100), 0, np.arange(100)).of_numbers(
        y, np.ones(100)
    )
    assert np.corrcoef(predict(X), y)[0, 1] > 0.97
    assert np.corrcoef(left_out, predict(X))[0, 1] > 0.97
    np.testing.assert_allclose(predict(X[:7]), predict(X)[:7])


def test_other_models_predictions_and_estimators_take_their_place():
    X, _, noisy, wrong = made()
    columns = np.column_stack([X, np.abs(X[:, 1])])
    predictions = cross_val_predict(Ridge(), columns, noisy)
    given = find_target_issues(y=noisy, predictions=predictions)
    np.testing.assert_array_equal(given.predicted, predictions)
    assert np.isin(wrong, given.index).mean() > 0.8
    frame = pd.DataFrame(columns, columns=list("abcd"))
    made_itself = find_target_issues(frame, noisy, estimator=Ridge(), random_state=0)
    assert np.isin(wrong, made_itself.index).mean() > 0.8


def test_the_noise_is_estimated_as_it_was_made():
    rng = np.random.default_rng(1)
    n = 4000
    scale = np.exp(0.5 * rng.normal(size=n))
    wrong = rng.random(n) < 0.08
    residual = np.where(wrong, 10 * rng.standard_t(2, n), 0.7 * scale * rng.standard_t(5, n))
    noise = fit_number_noise(residual, scale, 10.0, np.ones(n))
    assert noise.sigma == pytest.approx(0.7, rel=0.08)
    assert noise.rate == pytest.approx(0.08, abs=0.02)
    assert noise.tails in (3.0, 5.0, 10.0)
    right = noise.right(residual, scale)
    for low, high in ((0.05, 0.35), (0.35, 0.65), (0.65, 0.95)):
        inside = (right > low) & (right <= high)
        assert (~wrong[inside]).mean() == pytest.approx(right[inside].mean(), abs=0.2)


def test_probabilities_are_bayes_rule():
    noise = NumberNoise(sigma=2.0, tails=5.0, rate=0.1, spread=30.0)
    e, s = np.array([0.5, -9.0, 40.0]), np.array([1.0, 0.5, 3.0])
    wrong = 0.1 * student.pdf(e / 30, 2) / 30
    right = 0.9 * student.pdf(e / (2 * s), 5) / (2 * s)
    np.testing.assert_allclose(noise.right(e, s), right / (right + wrong))
    np.testing.assert_allclose(noise.log_likelihood(e, s), np.log(right + wrong))
    assert (np.diff(noise.right(np.array([1e3, 1e6, 1e9]), np.ones(3))) < 0).all()


X20 = np.random.default_rng(0).normal(size=(40, 2))
Y20 = X20[:, 0] + 0.1 * X20[:, 1] ** 2


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(np.arange(40) == 5, np.inf, Y20), "y is inf in row 5: targets must be finite"),
        (np.where(np.arange(40) == 5, np.nan, Y20), "y is nan in row 5"),
        (np.full(40, 7.0), "y is constant: every row has 7"),
        (np.arange(40) % 2, "two different numbers: these are classes"),
        (np.where(np.arange(40) < 25, 0.0, Y20), "y is 0 in 62% of the rows"),
        (np.array(["a", "b"] * 20), "y must hold numbers; for classes there is find_label_issues"),
        (np.array([1.5, None, *range(38)], object), "y has no label in row 1"),
        (Y20[:10], "X has 40 rows, y has 10"),
        (np.column_stack([Y20, Y20]), "one dimension"),
        (np.where(np.arange(40) % 2, 1e308, -1e308) + Y20, "too far apart|two different"),
        (None, "needs the targets y"),
    ],
)
def test_unusable_targets_are_one_clear_line(y, message):
    with pytest.raises(ValueError, match=message) as error:
        find_target_issues(X20, y)
    assert "\n" not in str(error.value)


def test_unusable_calls_are_one_clear_line():
    with pytest.raises(ValueError, match="y has 15 usable rows; at least 20 are needed"):
        find_target_issues(X20[:15], Y20[:15])
    with pytest.raises(ValueError, match="needs the rows X, or predictions"):
        find_target_issues(y=Y20)
    with pytest.raises(ValueError, match="not both"):
        find_target_issues(X20, Y20, predictions=Y20, estimator=Ridge())
    with pytest.raises(ValueError, match="needs the rows X"):
        find_target_issues(y=Y20, estimator=Ridge())
    with pytest.raises(ValueError, match="one number for each of the 40 rows"):
        find_target_issues(y=Y20, predictions=Y20[:3])
    with pytest.raises(ValueError, match="finite"):
        find_target_issues(y=Y20, predictions=np.full(40, np.nan))
    with pytest.raises(ValueError, match="sample_weight cannot be used"):
        find_target_issues(y=Y20, predictions=Y20, sample_weight=np.ones(40))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        find_target_issues(np.where(X20 > 1, np.nan, X20), Y20)
    with pytest.raises(ValueError, match="coverage"):
        find_target_issues(X20, Y20, coverage=1.5)


def test_codes_of_classes_and_seen_targets_are_asked_about():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="3 different whole numbers: if they are codes"):
        find_target_issues(X20, np.arange(40) % 3)
    y = X20[:, 0] + rng.normal(size=40)
    with pytest.warns(UserWarning, match="nearly the targets themselves"):
        find_target_issues(y=y, predictions=y)


def test_columns_that_say_nothing_explain_nothing():
    rng = np.random.default_rng(3)
    issues = find_target_issues(rng.normal(size=(200, 4)), rng.normal(size=200), random_state=0)
    assert issues.explained < 0.1
    assert len(issues) < 10
    X, y = load_diabetes(return_X_y=True)
    assert 0.4 < find_target_issues(X, y, random_state=0).explained < 0.65


@pytest.mark.parametrize("n_kinds", [2, 5, 12])
def test_numbers_of_few_kinds_of_rows_are_judged_by_their_own_kind(n_kinds):
    rng = np.random.default_rng(n_kinds)
    kind = rng.integers(0, n_kinds, 400)
    y = rng.normal(0.0, 3.0, n_kinds)[kind] + 0.3 * rng.normal(size=400)
    wrong = rng.choice(400, 12, replace=False)
    y[wrong] += rng.choice([-4.0, 4.0], 12)
    issues = find_target_issues(np.eye(n_kinds)[kind], y, random_state=0)
    assert set(wrong) <= set(issues.index)
    assert len(issues) <= 16
