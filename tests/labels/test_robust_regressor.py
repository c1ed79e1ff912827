"""Any regressor made robust: fitted to targets moved into the intervals of right ones."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from robell import NoiseRobustClassifier, NoiseRobustRegressor, TableEncoder
from robell.labels.judge import judge_numbers
from robell.labels.robust import _halves
from robell.models._validation import draw_seed


@pytest.fixture(scope="module")
def table():
    """Return training rows with 15 % wrong targets, which, and test rows with right ones."""
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(y), 50, replace=False)
    y[wrong] *= rng.choice([0.1, 10.0], 50)
    return X, y, wrong, X_test, y_test


@pytest.mark.filterwarnings("ignore:y :UserWarning")  # some checks have fewer than twenty rows
@parametrize_with_checks([NoiseRobustRegressor(Ridge(), random_state=0)])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "base",
    [
        make_pipeline(StandardScaler(), Ridge()),
        RandomForestRegressor(30, random_state=0),
        KNeighborsRegressor(),
    ],
    ids=lambda base: type(base[-1] if hasattr(base, "steps") else base).__name__,
)
def test_it_bears_wrong_numbers_better_than_the_regressor_alone(table, base):
    X, y, wrong, X_test, y_test = table
    robust = NoiseRobustRegressor(base, random_state=0).fit(X, y)
    error, alone = (
        mean_squared_error(y_test, model.predict(X_test))
        for model in (robust, clone(base).fit(X, y))
    )
    assert error < 0.6 * alone
    assert error < 1.1 * mean_squared_error(y_test, np.full(len(y_test), y_test.mean()))
    right = np.setdiff1d(np.arange(len(y)), wrong)
    assert robust.sample_quality_[wrong].mean() < robust.sample_quality_[right].mean() - 0.3


@pytest.mark.parametrize("expected", [False, True])
def test_it_is_the_regressor_fitted_to_targets_that_two_judges_doubt_moved(table, expected):
    X, y, *_ = table
    if expected:  # a line, which this regressor predicts exactly
        y = X @ np.arange(10.0) + 1e-3 * np.random.default_rng(0).normal(size=len(X))
    robust = NoiseRobustRegressor(Ridge(1e-9), random_state=0).fit(X, y)
    judged = judge_numbers(X, y, np.ones(len(y)), 0)
    low, high = judged.intervals(0.8).T
    moved = np.where(y < low, low, np.where(y > high, high, y))
    halves = _halves(X, np.zeros(len(y), int), np.arange(len(y)), 1, draw_seed(0))
    assert sorted(np.concatenate(halves)) == list(range(len(y)))
    stays = []
    for seen, unseen in (halves, halves[::-1]):
        model = Ridge(1e-9).fit(X[seen], y[seen])
        for row in unseen:
            if abs(y[row] - model.predict(X[[row]])[0]) < abs(y[row] - moved[row]) / 2:
                stays.append(row)
    enough = len(stays) >= 0.1 * np.sum(moved != y)
    assert enough == expected
    if enough:
        moved[stays] = y[stays]
    np.testing.assert_array_equal(robust.targets_, moved)
    np.testing.assert_array_equal(robust.predict(X), Ridge(1e-9).fit(X, moved).predict(X))
    np.testing.assert_array_equal(robust.sample_quality_, judged.quality)
    assert robust.n_suspects_ == judged.suspect.sum()
    assert robust.noise_rate_ == judged.noise_rate


def test_a_group_that_the_regressor_predicts_and_the_judge_does_not_stays():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(450, 6))
    y = 0.2 * X[:, 0] + 0.05 * rng.normal(size=450)
    group = (X[:, 3] > 0.9) & (X[:, 4] < 0.4)
    y[group] += 12.0
    forest = RandomForestRegressor(50, random_state=0)
    robust = NoiseRobustRegressor(forest, random_state=0).fit(X, y)
    high = judge_numbers(X, y, np.ones(len(y)), 0).intervals(0.8)[:, 1]
    assert (high[group] < 11.0).mean() > 0.4
    assert (robust.targets_[group] == y[group]).mean() > 0.75
    wrong = rng.choice(np.flatnonzero(~group), 40, replace=False)
    y[wrong] += 12.0
    robust.fit(X, y)
    assert (robust.targets_[wrong] < 3.0).mean() > 0.8


def test_units_of_the_target_do_not_matter(table):
    X, y, *_ = table
    metres, miles = (
        NoiseRobustRegressor(Ridge(), random_state=0).fit(X, unit * y).predict(X) / unit
        for unit in (1.0, 1609.344)
    )
    np.testing.assert_allclose(metres, miles, rtol=1e-6)


def test_weights_are_repetitions(table):
    X, y, *_ = table
    X, y = X[:120], y[:120]
    weight = np.arange(120) % 3
    for base in (Ridge(), make_pipeline(StandardScaler(with_std=False, with_mean=False), Ridge())):
        weighted = NoiseRobustRegressor(base, random_state=0).fit(X, y, sample_weight=weight)
        repeated = clone(weighted).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7)
        np.testing.assert_allclose(np.repeat(weighted.targets_, weight), repeated.targets_)
    np.testing.assert_array_equal(weighted.targets_[weight == 0], y[weight == 0])
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        NoiseRobustRegressor(KNeighborsRegressor()).fit(X, y, sample_weight=weight)


def test_rows_of_weight_zero_teach_the_encoder_nothing(table):
    X, y, *_ = table
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["town"] = np.random.default_rng(1).choice(["Oslo", "Rome", None], len(y))
    weight = np.ones(len(y))
    weight[:40] = 0.0
    frame.loc[:39, "a"] = 1e6
    frame.loc[:39, "town"] = "Paris"
    model = NoiseRobustRegressor(make_pipeline(TableEncoder(), Ridge()), random_state=0)
    found = clone(model).fit(frame, y, sample_weight=weight)
    without = clone(model).fit(frame[40:], y[40:])
    np.testing.assert_allclose(found.targets_[40:], without.targets_, rtol=1e-12)
    labels = np.where(y > 150, "high", "low")
    base = make_pipeline(TableEncoder(), LogisticRegression())
    classifier = NoiseRobustClassifier(base, random_state=0)
    found = clone(classifier).fit(frame, labels, sample_weight=weight)
    without = clone(classifier).fit(frame[40:], labels[40:])
    np.testing.assert_allclose(found.sample_quality_[40:], without.sample_quality_, rtol=1e-9)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(frame[:-1], y)


def test_raw_frames_with_gaps_and_words_are_judged(table):
    X, y, wrong, *_ = table
    frame = pd.DataFrame({"bmi": X[:, 2], "sex": np.where(X[:, 1] > 0, "m", "f"), "s5": X[:, 8]})
    frame.loc[::9, "bmi"] = np.nan
    model = NoiseRobustRegressor(make_pipeline(TableEncoder(), Ridge()), random_state=0)
    model.fit(frame, y)
    assert model.feature_names_in_.tolist() == ["bmi", "sex", "s5"]
    assert model.sample_quality_[wrong].mean() < model.sample_quality_.mean() - 0.2
    assert np.isfinite(model.predict(frame)).all()


@pytest.mark.parametrize("n", [80, 200])
def test_a_column_of_words_does_not_blind_the_judge(n):
    """In a frame with words, different numbers in every row were taken for copies of the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=n)
    wrong = np.arange(0, n, 10)
    y[wrong] += 4.0
    frame = pd.DataFrame(X, columns=list("abc")).assign(word=np.where(X[:, 0] > 0, "high", "low"))
    model = make_pipeline(TableEncoder(), Ridge())
    model = NoiseRobustRegressor(model, random_state=0).fit(frame, y)
    assert model.sample_quality_[wrong].mean() < 0.3 < np.median(model.sample_quality_)


def test_targets_that_cannot_be_judged_are_fitted_to_as_they_are(table):
    X, y, *_ = table
    for rows, targets, reason in [
        (X[:15], y[:15], "15 usable rows"),
        (X, np.where(np.arange(len(y)) % 3, 7.0, y), "7 in 6"),
    ]:
        with pytest.warns(UserWarning, match=reason):
            model = NoiseRobustRegressor(Ridge()).fit(rows, targets)
        np.testing.assert_array_equal(model.predict(X), Ridge().fit(rows, targets).predict(X))
        assert model.n_suspects_ == model.noise_rate_ == 0


def test_parameters_of_fit_and_searches_reach_the_estimator(table):
    X, y, *_ = table

    class Needs(Ridge):
        def fit(self, X, y, sample_weight=None, marks=None):
            assert len(marks) == len(X)
            return super().fit(X, y, sample_weight)

    marks, weight = X[:, 0], np.minimum(np.arange(len(y)), 1)
    robust = NoiseRobustRegressor(Needs(), random_state=0)
    robust.fit(X, y, sample_weight=weight, marks=marks)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = NoiseRobustRegressor(Needs().set_fit_request(marks=True), random_state=0)
        asked.fit(X, y, marks=marks)
        with pytest.raises(TypeError, match="other"):
            asked.fit(X, y, other=marks)
    search = GridSearchCV(
        NoiseRobustRegressor(Ridge(), random_state=0), {"estimator__alpha": [0.1, 10.0]}, cv=2
    ).fit(X, y)
    assert search.best_estimator_.estimator_.alpha in (0.1, 10.0)


def test_refusals_are_one_line(table):
    X, y, *_ = table
    for rows, targets, message in [
        (X, np.where(np.arange(len(y)) == 3, np.nan, y), "y is nan in row 3"),
        (X, np.array(["a"] * len(y)), "y must hold numbers"),
        (X, np.column_stack([y, y]), "1d array"),
        (X[:50], y, "inconsistent numbers"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            NoiseRobustRegressor(Ridge()).fit(rows, targets)
        assert "\n" not in str(caught.value)
