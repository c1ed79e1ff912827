"""Fits in passes over parts of the rows."""

import functools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from streams import (
    NETWORKS,
    RoBell,
    assert_same_model,
    batches,
    in_passes,
    make_small,
    seeds,
    two_classes,
)

import robell.models._partial_fit as streaming
import robell.scale.out_of_core as out_of_core
from robell import ELMClassifier, RoBellRVFLClassifier, RVFLClassifier, RVFLRegressor
from robell.scale.out_of_core import OutOfCoreFit


@pytest.fixture
def small(monkeypatch):
    make_small(monkeypatch)


@pytest.fixture
def many(rng):
    return two_classes(rng)


# -- fits in passes ------------------------------------------------------------------


@pytest.mark.parametrize(
    "known", [{}, {"classes": [0, 1], "n_features": 4}], ids=["found", "given"]
)
@pytest.mark.parametrize("model", NETWORKS, ids=str)
def test_a_network_fitted_in_passes_is_fit(many, rng, model, known):
    X, y = many
    weight = rng.integers(0, 4, len(y)) / 2.0
    parts = list(batches(X, y, (64, 300), weight))
    model = clone(model).set_params(random_state=1, class_weight="ratio")
    found = in_passes(model, parts, **known)
    assert_same_model(found, clone(model).fit(X, y, weight), X)
    assert type(found) is type(model)
    assert "_stream" not in vars(found)
    assert_same_model(pickle.loads(pickle.dumps(found)), found, X, 0.0)


def test_a_class_whose_rows_all_have_weight_zero_is_absent(many):
    X, y = many
    labels, weight = np.where(np.arange(len(y)) % 9 == 0, 2, y), np.ones(len(y))
    weight[labels == 2] = 0.0
    for model in (RVFLClassifier(random_state=0), RoBellRVFLClassifier(random_state=0)):
        found = in_passes(model, list(batches(X, labels, (64, 300), weight)))
        assert_same_model(found, clone(model).fit(X, labels, weight), X)
        stream = clone(model)
        for part in batches(X, labels, (200,), weight):
            stream.partial_fit(*part[:2], classes=[0, 1], sample_weight=part[2])
        assert_same_model(stream, found, X)


def test_ill_conditioned_networks_are_refined_from_the_rows(many, small):
    X, y = many
    model = ELMClassifier(120, C=1e7, random_state=0)
    fit = OutOfCoreFit(model, [0, 1], 4)
    names = []
    for step in fit.passes():
        names.append(step.name)
        step.finish(functools.reduce(step.reduce, [step.map(*p) for p in batches(X, y, (130,))]))
    assert names == ["weights", "residuals", "residuals"]
    expected = clone(model).fit(X, y).decision_function(X)
    np.testing.assert_allclose(fit.estimator().decision_function(X), expected, atol=1e-8)


@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
def test_columns_far_from_zero_in_passes_are_fit(many, activation):
    X, y = many
    X = X + np.array([1e8, 0, -1e5, 0])
    for model, targets in [
        (RVFLRegressor(20, activation, random_state=0), X[:, 0] - 1e8 + X[:, 1] ** 2),
        (RVFLClassifier(20, activation, random_state=0, calibrate=False), y),
    ]:
        found = in_passes(model, list(batches(X, targets, (130, 1, 60))))
        scores = "predict" if isinstance(model, RVFLRegressor) else "decision_function"
        expected = getattr(clone(model).fit(X, targets), scores)(X)
        assert np.abs(getattr(found, scores)(X) - expected).max() < 1e-6 * expected.std()


def test_robell_of_few_rows_in_passes_is_fit(imbalanced):
    X, y = imbalanced
    model = RoBell(12, random_state=0, kernel_width="scale")
    found = in_passes(model, list(batches(X, y, (33,))))
    assert_same_model(found, RoBellRVFLClassifier(**model.get_params()).fit(X, y), X)


@settings(max_examples=15)
@given(seed=seeds, sizes=st.lists(st.integers(15, 400), min_size=1, max_size=4))
def test_robell_in_passes_does_not_depend_on_order_or_partition(seed, sizes):
    rng = np.random.default_rng(seed)
    data = np.random.default_rng(7)
    X, y = data.normal(size=(500, 3)), data.choice(3, 500, p=[0.7, 0.2, 0.1])
    weight = data.integers(0, 3, 500).astype(float)
    model = RoBell(7, random_state=0, kernel_width="scale")
    with pytest.MonkeyPatch.context() as patch:
        for module in (streaming, out_of_core):
            patch.setattr(module, "RESERVOIR", 40)
            patch.setattr(module, "LANDMARKS", 16)
        expected = in_passes(model, [(X, y, weight)])
        order = rng.permutation(500)
        parts = list(batches(X[order], y[order], sizes, weight[order]))
        rng.shuffle(parts)
        nothing = (X[:0], y[:0], weight[:0])
        fit = OutOfCoreFit(model)
        for step in fit.passes():
            worker = pickle.loads(pickle.dumps(step))
            results = [worker.map(*part) for part in [nothing, *parts, nothing]]
            while len(results) > 1:  # a tree
                results = [
                    pickle.loads(pickle.dumps(functools.reduce(worker.reduce, results[i : i + 2])))
                    for i in range(0, len(results), 2)
                ]
            step.finish(results[0])
        found = fit.estimator()
    assert_same_model(found, expected, X, 1e-8)
    assert found.kernel_width_ == pytest.approx(expected.kernel_width_, rel=1e-12)


def test_the_rows_sampled_do_not_depend_on_the_rounding_of_a_scaler(many, small):
    """Scalers differ in their last digits with the partition; samples are keyed on raw rows."""
    X, y = many[0] * [1.0, 30.0, 0.01, 7.0] + [0.1, 1e3, 5.0, -2.0], many[1]
    model = make_pipeline(StandardScaler(), RoBell(12, random_state=0, kernel_width="scale"))
    samples, models = [], []
    for size in (700, 37, 101):
        fit = OutOfCoreFit(model)
        for step in fit.passes():
            total = functools.reduce(step.reduce, [step.map(*p) for p in batches(X, y, (size,))])
            step.finish(total)
            if step.name == "moments":
                samples.append(total.reservoir)
        models.append(fit.estimator())
    expected = StandardScaler().fit(X)
    for sample, found in zip(samples, models):
        assert not sample.complete
        np.testing.assert_array_equal(sample.keys, samples[0].keys)
        np.testing.assert_allclose(sample.rows, samples[0].rows, rtol=0, atol=1e-11)
        np.testing.assert_allclose(found[0].mean_, expected.mean_, rtol=1e-12)
        np.testing.assert_allclose(found[0].scale_, expected.scale_, rtol=1e-12)
        np.testing.assert_allclose(found[-1].coef_, models[0][-1].coef_, rtol=0, atol=1e-9)


def test_robell_in_passes_predicts_what_fit_predicts(rng, monkeypatch):
    X = np.vstack([rng.normal(0, 1, (2700, 6)), rng.normal(0.9, 1, (300, 6))])
    y = np.repeat([0, 1], [2700, 300])
    for module in (streaming, out_of_core):
        monkeypatch.setattr(module, "RESERVOIR", 1024)
        monkeypatch.setattr(module, "LANDMARKS", 256)
    model = RoBell(30, random_state=0, kernel_width="scale")
    found = in_passes(model, list(batches(X, y, (700,))), classes=[0, 1], n_features=6)
    expected = RoBellRVFLClassifier(**model.get_params()).fit(X, y)
    agree = found.predict(X) == expected.predict(X)
    assert agree.mean() > 0.99
    # Where the predicted class changes, the likeliest one does.
    difference = np.abs(found.predict_proba(X) - expected.predict_proba(X))
    assert difference[agree].max() < 0.02


def test_what_goes_wrong_in_passes_is_said(many):
    X, y = many
    model = RVFLClassifier(6, random_state=0)
    with pytest.raises(TypeError, match="cannot be fitted in parts"):
        OutOfCoreFit(StandardScaler())
    with pytest.raises(ValueError, match="'n_hidden' parameter"):
        OutOfCoreFit(RVFLClassifier(-1))
    with pytest.raises(RuntimeError, match="passes left"):
        OutOfCoreFit(model).estimator()
    with pytest.raises(RuntimeError, match="'labels' was not finished"):
        list(OutOfCoreFit(model).passes())
    with pytest.raises(ValueError, match="no row has the label"):
        in_passes(model, [(X, y)], classes=[0, 1, 2], n_features=4)
    with pytest.raises(ValueError, match="at least two classes"):
        in_passes(model, [(X, np.zeros(700))])
    with pytest.raises(ValueError, match="no row of positive weight"):
        in_passes(model, [(X, y, np.zeros(700))])
    with pytest.raises(ValueError, match="differ in their number of columns: 4 in one, 3"):
        in_passes(model, [(X, y), (X[:, :3], y)])
    with pytest.raises(ValueError, match="not among the classes"):
        in_passes(model, [(X, y + 5)], classes=[0, 1], n_features=4)
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="column 1, row 3"):
        in_passes(model, [(X, y), (bad, y)], classes=[0, 1], n_features=4)
