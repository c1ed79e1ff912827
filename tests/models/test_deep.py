"""Chains of random layers against a literal transcription, plain RVFL, refits and repetitions."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from robell import (
    DeepRVFLClassifier,
    DeepRVFLRegressor,
    RVFLClassifier,
    RVFLGridSearchCV,
    RVFLRegressor,
    paper_grid,
)
from robell._core.layers import deep
from robell.models._estimator import PAPER_C

CLASSIFY = ("mean", "vote", "concat")
COMBINE = pytest.mark.parametrize("combine", CLASSIFY)


def table(n_rows=70, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)) * [1.0, 3.0, 0.2, 1.0] + [0.0, 5.0, 0.0, -1.0]
    score = X[:, 0] * X[:, 3] + X[:, 1] + rng.normal(size=n_rows)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return X, y, np.column_stack([score, np.sin(X[:, 0]) + 100.0])


def sigmoid(Z):
    return 1.0 / (1.0 + np.exp(-Z))


def literal_layers(seed, X, w, n_hidden, n_layers, normalize, X_new):
    """h_l of new rows, normalised by the mean and deviation of the rows repeated w times."""
    train, new, found = np.repeat(X, w, axis=0), X_new, []
    for U, b in deep.draw_chain(X.shape[1], n_hidden, n_layers, 0.1, seed):
        Z = train @ U
        mean, deviation = Z.mean(axis=0), Z.std(axis=0)
        if not normalize:
            mean, deviation = 0.0, 1.0
        H, H_new = sigmoid((Z - mean) / deviation + b), sigmoid((new @ U - mean) / deviation + b)
        found.append((H, H_new))
        train, new = np.hstack([np.repeat(X, w, axis=0), H]), np.hstack([X_new, H_new])
    return found


def literal_ridge(M, T, C, constant):
    """Ridge on rows that are repeated; a constant, if any, stands first and is free."""
    penalty = np.eye(M.shape[1]) / C
    if constant:
        penalty[0, 0] = 0.0
    return np.linalg.solve(M.T @ M + penalty, M.T @ T)


def literal_scores(X, T, w, X_new, model, constant):
    """Scores of new rows, layer by layer and combined as the model says."""
    seed = int(np.random.RandomState(model.random_state).randint(np.iinfo(np.int32).max))
    sizes = (model.n_hidden, model.n_layers, model.normalize)
    layers = literal_layers(seed, X, w, *sizes, X_new)
    ones = [[np.ones((w.sum(), 1))], [np.ones((len(X_new), 1))]] if constant else [[], []]
    shared, shared_new = [*ones[0], np.repeat(X, w, axis=0)], [*ones[1], X_new]
    T = np.repeat(T, w, axis=0)
    if model.combine == "concat":
        beta = literal_ridge(np.hstack([*shared, *(H for H, _ in layers)]), T, model.C, constant)
        return np.hstack([*shared_new, *(H for _, H in layers)]) @ beta
    scores = [
        np.hstack([*shared_new, H_new])
        @ literal_ridge(np.hstack([*shared, H]), T, model.C, constant)
        for H, H_new in layers
    ]
    if model.combine == "vote":
        scores = [np.eye(T.shape[1])[one.argmax(axis=1)] for one in scores]
    return np.mean(scores, axis=0)


@COMBINE
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_literal_classifier(combine, normalize, n_classes):
    X, y, _ = table(n_classes=n_classes)
    w = np.random.default_rng(1).integers(1, 4, len(X))
    model = DeepRVFLClassifier(9, 3, combine=combine, normalize=normalize, random_state=5)
    new = table(seed=8)[0]
    expected = literal_scores(X, np.eye(n_classes)[y], w, new, model, constant=False)
    model.fit(X, y, sample_weight=w)
    found = model.decision_function(new)
    expected = expected[:, 1] - expected[:, 0] if n_classes == 2 else expected
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("combine", ["mean", "concat"])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_literal_regressor(combine, normalize):
    X, _, T = table()
    w = np.random.default_rng(1).integers(1, 4, len(X))
    model = DeepRVFLRegressor(9, 3, combine=combine, normalize=normalize, random_state=5)
    new = table(seed=8)[0]
    expected = literal_scores(X, T, w, new, model, constant=True)
    np.testing.assert_allclose(
        model.fit(X, T, w).predict(new), expected, rtol=0, atol=1e-9 * abs(T).max()
    )


@COMBINE
@pytest.mark.parametrize("output_bias", [False, True])
def test_one_layer_without_normalisation_is_rvfl(combine, output_bias):
    X, y, T = table()
    plain = RVFLClassifier(12, output_bias=output_bias, random_state=0).fit(X, y)
    model = DeepRVFLClassifier(
        12, 1, combine=combine, normalize=False, output_bias=output_bias, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-12)
    if combine != "vote":  # a single vote says nothing about how sure it is
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-9)
        deep_one = DeepRVFLRegressor(12, 1, combine=combine, normalize=False, random_state=0)
        plain_one = RVFLRegressor(12, random_state=0)
        np.testing.assert_allclose(
            deep_one.fit(X, T).predict(X), plain_one.fit(X, T).predict(X), atol=1e-10
        )


def test_the_mean_is_the_stacked_score():
    X, y, _ = table()
    model = DeepRVFLClassifier(9, 4, output_bias=True, random_state=0).fit(X, y)
    M = model._features(X)
    each = [model._of_layer(M, k) @ beta for k, beta in enumerate(model.layer_coef_)]
    np.testing.assert_allclose(model.decision_function(X), np.mean(each, axis=0), atol=1e-12)
    stacked = M @ np.vstack([model.intercept_[None], model.coef_])
    np.testing.assert_allclose(model.decision_function(X), stacked, atol=1e-12)


def test_a_bias_added_before_the_normalisation_would_cancel():
    rng = np.random.default_rng(0)
    Z, b = rng.normal(size=(50, 7)), rng.uniform(size=7)
    before = (Z + b - (Z + b).mean(axis=0)) / (Z + b).std(axis=0)
    np.testing.assert_allclose(before, (Z - Z.mean(axis=0)) / Z.std(axis=0), atol=1e-14)


@COMBINE
def test_fewer_layers_are_the_first_of_more(combine):
    X, y, _ = table()
    few = DeepRVFLClassifier(9, 3, combine=combine, random_state=0).fit(X, y)
    more = DeepRVFLClassifier(9, 5, combine=combine, random_state=0).fit(X, y)
    for a, b in zip(few.hidden_weights_, more.hidden_weights_, strict=False):
        np.testing.assert_array_equal(a, b)
    if combine != "concat":
        for a, b in zip(few.layer_coef_, more.layer_coef_, strict=False):
            np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_array_equal(few._features(X), more._features(X)[:, : few._n_columns()])


@pytest.mark.parametrize("combine", CLASSIFY)
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), activation=st.sampled_from(["sigmoid", "relu", "sin"]))
def test_weights_are_repetitions(combine, seed, activation):
    X, y, T = table(40, seed=seed)
    w = np.random.default_rng(seed).integers(0, 4, len(X))
    w[np.unique(y, return_index=True)[1]] = 1
    model = DeepRVFLClassifier(6, 3, activation, "loo", combine=combine, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_array_equal(weighted.C_, repeated.C_)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    if combine != "vote":
        model = DeepRVFLRegressor(6, 3, activation, combine=combine, intervals=True, random_state=0)
        weighted = clone(model).fit(X, T, sample_weight=w)
        repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(T, w, axis=0))
        np.testing.assert_allclose(
            weighted.predict_interval(X, 0.7), repeated.predict_interval(X, 0.7), atol=1e-5
        )


@pytest.mark.parametrize("n_hidden", [6, 60], ids=["tall", "wide"])
@pytest.mark.parametrize("combine", ["mean", "concat"])
def test_left_out_predictions_are_those_of_refits(combine, n_hidden):
    X, _, T = table(40)
    # Without normalisation, which leaving a row out holds fixed.
    model = DeepRVFLRegressor(n_hidden, 3, combine=combine, normalize=False, random_state=0)
    found = clone(model).set_params(intervals=True).fit(X, T).interval_residuals_
    for i in range(0, len(X), 3):
        rest = np.arange(len(X)) != i
        without = clone(model).fit(X[rest], T[rest]).predict(X[i : i + 1])[0]
        np.testing.assert_allclose(found[i], np.abs(T[i] - without), rtol=0, atol=1e-8)


def test_every_layer_has_the_C_of_its_own_left_out_errors():
    X, y, _ = table()
    model = DeepRVFLClassifier(9, 3, C="loo", random_state=0).fit(X, y)
    assert model.C_.shape == (3,)
    T = np.eye(3)[y]
    for layer, chosen in enumerate(model.C_):
        M = model._of_layer(model._features(X), layer)
        errors = []
        for C in PAPER_C:
            G = np.linalg.inv(M.T @ M + np.eye(M.shape[1]) / C)
            hat = M @ G @ M.T
            errors.append(np.square((T - hat @ T) / (1 - np.diag(hat))[:, None]).sum())
        assert PAPER_C[np.argmin(errors)] == chosen
    concat = DeepRVFLClassifier(9, 3, C="loo", combine="concat", random_state=0).fit(X, y)
    assert isinstance(concat.C_, float)


def test_votes_are_shares_and_ties_go_to_the_first_class():
    X, y, _ = table(n_classes=2)
    y = np.random.default_rng(0).permutation(y)  # labels that the layers do not agree about
    model = DeepRVFLClassifier(9, 4, combine="vote", random_state=0).fit(X, y)
    share = model.decision_function(X)
    np.testing.assert_array_equal(share * 4, np.round(share * 4))
    assert (share == 0).any()
    assert (model.predict(X)[share == 0] == 0).all()
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_rows_too_many_to_keep_give_the_same_model(monkeypatch):
    X, y, T = table()
    kept = DeepRVFLClassifier(9, 3, random_state=0).fit(X, y)
    also = DeepRVFLRegressor(9, 3, combine="concat", random_state=0).fit(X, T)
    assert "_outputs" not in vars(kept)
    monkeypatch.setattr(deep, "KEPT_ELEMENTS", 0)
    made_anew = DeepRVFLClassifier(9, 3, random_state=0).fit(X, y)
    np.testing.assert_allclose(made_anew.predict_proba(X), kept.predict_proba(X), atol=1e-10)
    again = DeepRVFLRegressor(9, 3, combine="concat", random_state=0).fit(X, T)
    np.testing.assert_allclose(again.predict(X), also.predict(X), atol=1e-9)


def test_blocks_of_rows_pool_their_moments(monkeypatch):
    X, y, _ = table(300)
    whole = DeepRVFLClassifier(9, 3, random_state=0).fit(X, y)
    monkeypatch.setattr(deep, "rows_per_block", lambda *_: 64)
    blocks = DeepRVFLClassifier(9, 3, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        blocks.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-11
    )


def test_dead_nodes_and_constant_columns():
    X, y, T = table()
    X = np.column_stack([X, np.full(len(X), 0.1)])
    for activation in ("relu", "hardlim", "sign"):
        model = DeepRVFLClassifier(9, 5, activation, random_state=0).fit(X - 100.0, y)
        assert np.isfinite(model.predict_proba(X - 100.0)).all()
    flat = np.full((30, 3), 0.1)
    model = DeepRVFLRegressor(5, 4, random_state=0).fit(flat, T[:30, 0])
    np.testing.assert_allclose(model.predict(flat), T[:30, 0].mean(), atol=1e-10)


def test_copies_pickles_and_frames():
    X, y, _ = table()
    model = DeepRVFLClassifier(9, 3, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(clone(model), "coef_")


# -- search ------------------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["mean", "concat", "vote"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_search_over_depth_is_that_of_scikit_learn(combine, n_classes):
    X, y, _ = table(n_classes=n_classes)
    grid = {"C": [1e-2, 1.0, 1e2], "n_layers": [4, 1, 2]}
    model = DeepRVFLClassifier(12, combine=combine, random_state=0)
    options = {"cv": 3, "scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy"}
    found = RVFLGridSearchCV(model, grid, **options).fit(X, y)
    expected = GridSearchCV(model, grid, **options).fit(X, y)
    assert found.best_params_ == expected.best_params_
    for name in ("mean_test_accuracy", "mean_test_neg_log_loss"):
        np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name], rtol=1e-7)
    only = RVFLGridSearchCV(model, grid, cv=3).fit(X, y)
    assert (only.n_shared_ == 27) == (combine != "vote"), only.not_shared_


@pytest.mark.parametrize("combine", ["mean", "concat"])
def test_a_regressor_s_search_over_depth(combine):
    X, _, T = table()
    grid = {"C": [1e-2, 1.0, 1e2], "n_layers": [4, 1, 2], "n_hidden": [5, 9]}
    model = DeepRVFLRegressor(combine=combine, random_state=0)
    found = RVFLGridSearchCV(model, grid, cv=3).fit(X, T)
    expected = GridSearchCV(model, grid, cv=3).fit(X, T)
    assert found.n_shared_ == 54
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], rtol=1e-9
    )


def test_the_grid_has_the_releases_ranges():
    grid = paper_grid("edrvfl")
    assert grid["n_layers"] == list(range(1, 11))
    assert grid["combine"] == ["mean"]
    assert paper_grid("drvfl")["combine"] == ["concat"]
    assert set(grid) <= set(DeepRVFLClassifier().get_params())


# -- bad input ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_layers": 0}, "'n_layers' parameter"),
        ({"n_layers": 1.5}, "'n_layers' parameter"),
        ({"combine": "sum"}, "'combine' parameter"),
        ({"normalize": "yes"}, "'normalize' parameter"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(parameters, message):
    X, y, _ = table()
    for kind in (DeepRVFLClassifier, DeepRVFLRegressor):
        with pytest.raises(ValueError, match=message):
            kind(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="'combine' parameter"):
        DeepRVFLRegressor(combine="vote").fit(X, y)


def test_rows_far_beyond_the_training_rows_are_refused():
    X, y, _ = table()
    for combine in CLASSIFY:
        model = DeepRVFLClassifier(5, 3, "relu", combine=combine, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="the scores overflow"):
            model.predict([[1.7e308, -1.7e308, 1.7e308, -1.7e308]])
