"""The lesson on three models of the field: losses from their formulas, weights from a copula."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from robell import RVFLRegressor

LESSON = Path(__file__).parents[2] / "examples" / "plot_losses_and_copula.py"


@pytest.fixture(scope="module")
def lesson():
    pytest.importorskip("matplotlib").use("Agg")
    spec = spec_from_file_location("losses_and_copula", LESSON)
    module = sys.modules[spec.name] = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.pyplot.show", lambda: None)
        spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("name", ["hawkeye", "wave"])
def test_weights_are_the_slopes_of_the_losses_over_the_residual(lesson, name):
    loss, weight = getattr(lesson, name), getattr(lesson, f"{name}_weight")
    u = np.concatenate([np.linspace(-3.9, -0.06, 50), np.linspace(0.06, 8, 50)])  # above -2 / a
    step = 1e-6
    slope = (loss(u + step) - loss(u - step)) / (2 * step)
    np.testing.assert_allclose(weight(u) * u, slope, atol=1e-8)
    assert loss(0.0) == 0
    assert loss(60.0) == pytest.approx(1.0)  # bounded
    assert (weight(np.linspace(-9, 9, 99)) >= 0).all()


def test_losses_at_numbers_by_hand(lesson):
    assert lesson.hawkeye(1.05) == pytest.approx(1 - 3 * np.exp(-2))
    assert lesson.hawkeye(0.04) == 0
    assert lesson.wave(2.0) == pytest.approx(1 - 1 / (1 + 4 * np.e))
    assert lesson.wave(-2.0) == pytest.approx(1 - 1 / (1 + 4 / np.e))


def test_reweighting_ends_where_the_gradient_of_the_penalised_loss_is_zero(lesson):
    random = np.random.default_rng(1)
    X = random.normal(size=(80, 2))
    target = X[:, 0] + random.normal(0, 0.2, 80)
    target[:8] += 3
    how = {"n_hidden": 10, "C": 1.0, "random_state": 0, "fit_intercept": False}
    known = RVFLRegressor().get_params()
    how = {name: value for name, value in how.items() if name in known}
    model = lesson.reweighted(lesson.hawkeye_weight, X, target, rounds=300, **how)
    weights = lesson.hawkeye_weight(target - model.predict(X))
    again = RVFLRegressor(**how).fit(X, target, sample_weight=weights)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)  # a fixed point
    total = sum(lesson.hawkeye(target - m.predict(X)).sum() for m in (model,))
    assert total < lesson.hawkeye(target - RVFLRegressor(**how).fit(X, target).predict(X)).sum()


def test_copula_weights_depend_on_each_other_as_the_columns_do(lesson):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    X[:, 1] = np.exp(X[:, 0] + 0.3 * random.normal(size=300))  # ranks alone count
    y = (X[:, 0] > 0).astype(int)
    model = lesson.CopulaRVFLClassifier(4000, random_state=0).fit(X, y)
    ours, theirs = spearmanr(model.hidden_weights_.T).statistic, spearmanr(X).statistic
    np.testing.assert_allclose(ours, theirs, atol=0.05)
    assert np.abs(model.hidden_weights_).max() < 1
    assert np.abs(model.hidden_weights_.mean(axis=1)).max() < 0.05
    moved = lesson.CopulaRVFLClassifier(20, random_state=0).fit(X**3 * 7 + 1, y)
    plain = lesson.CopulaRVFLClassifier(20, random_state=0).fit(X, y)
    np.testing.assert_allclose(moved.hidden_weights_, plain.hidden_weights_)


def test_a_copula_counts_rows_as_often_as_their_weight_says(lesson):
    random = np.random.default_rng(2)
    X, weight = random.normal(size=(40, 3)), random.integers(1, 4, 40)
    y = np.arange(40) % 2
    first = lesson.CopulaRVFLClassifier(15, random_state=0).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(40), weight)
    other = lesson.CopulaRVFLClassifier(15, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_allclose(first.hidden_weights_, other.hidden_weights_, atol=1e-6)
    narrow = lesson.CopulaRVFLClassifier(7, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(narrow.hidden_weights_, first.hidden_weights_[:, :7])
