"""The noise-robust classifier on many rows: what is drawn of them, and what that changes."""

from contextlib import nullcontext

import numpy as np
import pytest
from streams import batches, in_passes

from robell import NoiseRobustRVFLClassifier
from robell._core.ensemble import members, trees
from robell._core.layers import features
from robell._core.layers.features import RowBlocks
from robell._core.membership.samples import draw_keyed, row_keys, sample_of
from robell._core.ridge import loo
from robell._tools.threads import threads_of
from robell.models import noise_robust as judgement
from robell.models import noise_robust as module
from robell.noise import flip_uniformly


def rows_of(rng, n_rows=900, n_classes=2):
    """Classes of very different sizes, one label in ten wrong, some rows twice."""
    y = np.minimum(rng.geometric(0.7, n_rows) - 1, n_classes - 1)
    X = rng.normal(size=(n_rows, 4)) + 2.5 * np.eye(n_classes, 4)[y]
    y = flip_uniformly(y, 0.1, 0)[0]
    X[-30:], y[-30:] = X[:30], y[:30]
    return X, y


def network():
    return NoiseRobustRVFLClassifier(8, random_state=0)


@pytest.fixture
def few(monkeypatch):
    """Limits that a small table is beyond."""
    monkeypatch.setattr(module, "MOST_SAMPLED", 400)
    monkeypatch.setattr(judgement, "MOST_EXACT", 200)
    monkeypatch.setattr(judgement, "MOST_JUDGED", 150)
    monkeypatch.setattr(loo, "MOST_EXACT", 200)
    monkeypatch.setattr(members, "MOST_EXACT", 200)
    monkeypatch.setattr(trees, "MOST_COMPARED", 200)
    monkeypatch.setattr(trees, "ROWS_COMPARED", 100)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("budget", [20, 150, 500, 5000])
def test_rows_drawn_are_those_of_a_row_sample(rng, n_classes, budget):
    X, y = rows_of(rng, n_classes=n_classes)
    weight = rng.integers(1, 3, len(y)).astype(float)
    found = draw_keyed(X, y, weight, n_classes, 5, budget)
    sample = sample_of(X, y, weight, row_keys(X, 5), n_classes, 5, budget)
    if sample.complete:
        assert found is None
        return
    drawn = {(int(c), *row) for c, row in zip(y[found.places], X[found.places])}
    reservoir = sample.reservoir
    assert drawn == {(int(c), *row) for c, row in zip(reservoir.labels, reservoir.rows)}
    assert (np.diff(found.places) > 0).all()
    of_rows = {}  # copies of a row share what the sample gives to one
    for c, row, w in zip(y[found.places], X[found.places], found.weight):
        of_rows[(int(c), *row)] = of_rows.get((int(c), *row), 0.0) + w
    for c, row, w in zip(reservoir.labels, reservoir.rows, sample.row_weights()):
        assert of_rows[(int(c), *row)] == pytest.approx(w)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_in_memory_and_in_passes_the_same_rows_are_fitted_to(rng, few, n_classes):
    X, y = rows_of(rng, n_classes=n_classes)
    expected = in_passes(network(), list(batches(X, y, (100, 33))), sample_rows=400)
    found = network().fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-8)
    assert found.n_samples_fitted_ == expected.n_samples_fitted_
    assert found.n_samples_seen_ == len(y)
    assert not hasattr(found.fit(X[:150], y[:150]), "n_samples_seen_")


@pytest.mark.parametrize("limit", [400, 10_000])
def test_weight_two_is_the_row_twice_and_order_is_nothing(rng, few, monkeypatch, limit):
    monkeypatch.setattr(module, "MOST_SAMPLED", limit)
    X, y = rows_of(rng)
    weight = rng.integers(0, 3, len(y))
    expected = network().fit(X, y, weight.astype(float))
    places = rng.permutation(np.repeat(np.arange(len(y)), weight))
    found = network().fit(X[places], y[places])
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-7)
    quality = expected.sample_quality_[places]
    np.testing.assert_allclose(found.sample_quality_, quality, atol=1e-7)
    assert found.noise_rate_ == pytest.approx(expected.noise_rate_, abs=1e-7)
    assert found.n_suspects_ == (weight * (expected.label_probability_.argmax(1) != y)).sum()


def test_many_copies_of_few_rows_are_few_rows(rng, few):
    X, y = rows_of(rng, 150)
    expected = network().fit(X, y, np.full(len(y), 4.0))
    found = network().fit(np.tile(X, (4, 1)), np.tile(y, 4))
    assert not hasattr(found, "n_samples_seen_")
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-7)


def test_attributes_of_all_rows_agree(rng, few):
    X, y = rows_of(rng, n_classes=3)
    model = network().fit(X, y)
    Z = model.label_probability_
    np.testing.assert_allclose(Z.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.sample_quality_, Z[np.arange(len(y)), y])
    np.testing.assert_allclose(model.class_prior_, Z.mean(axis=0))
    assert model.noise_rate_ == pytest.approx(1 - model.sample_quality_.mean(), abs=1e-12)
    assert model.noise_rate_ == pytest.approx(0.1, abs=0.06)


def test_a_copy_under_another_label_is_judged_by_a_model_without_it(rng, few):
    """Of two equal rows one is drawn, the other not: both have the left-out scores of one."""
    X, y = rows_of(rng)
    model = network()
    X[:300], y[300:600] = X[300:600], 1 - y[:300]
    drawn = draw_keyed(X, y, np.ones(len(y)), 2, module.draw_seed(0), 400)
    inside = np.isin(np.arange(len(y)), drawn.places)
    split = np.flatnonzero(inside[:300] != inside[300:600])
    assert len(split) > 5
    model.fit(X, y)
    # Equal scores: the odds of the classes differ by the labels alone, by the same factor.
    odds = np.log(model.label_probability_[:, 1] / model.label_probability_[:, 0])
    gap = (odds[:300] - odds[300:600]) * np.where(y[:300] == 1, 1.0, -1.0)
    np.testing.assert_allclose(gap[split], np.median(gap), rtol=1e-6)


@pytest.mark.parametrize("n_projections", [15, 5000])
@pytest.mark.parametrize("basis", [None, "given"])
def test_small_leverages_are_estimated_and_large_ones_computed(
    rng, monkeypatch, basis, n_projections
):
    M = rng.normal(size=(3000, 12))
    M[7] *= 1e3  # a row that decides its own score, nearly
    T, w = rng.normal(size=(3000, 2)) + np.tanh(M[:, :2]), rng.uniform(0.5, 3, 3000)
    w[:50] = 80.0
    basis = None if basis is None else np.linalg.qr(rng.normal(size=(12, 12)))[0][:, :9] * 50
    design = RowBlocks(lambda rows: M[rows], *M.shape)
    penalties = 10.0 ** np.arange(-3.0, 3.0)
    exact = loo.fit_centred_ridge(design, T, w, penalties, basis)
    monkeypatch.setattr(loo, "MOST_EXACT", 100)
    monkeypatch.setattr(loo, "PROJECTIONS", n_projections)
    found = loo.fit_centred_ridge(design, T, w, penalties[exact.place : exact.place + 1], basis)
    np.testing.assert_allclose(found.beta, exact.beta, atol=1e-12)
    # (t - f)/(1 - h) = t - left-out score
    residual = T - M @ exact.beta - exact.intercept
    leverage, estimate = (1 - (residual / (T - r.loo_scores))[:, 0] for r in (exact, found))
    large = leverage > 0.1  # of those below LARGE_LEVERAGE none is so large
    assert large.sum() > 5
    np.testing.assert_allclose(found.loo_scores[large], exact.loo_scores[large], atol=1e-9)
    small = ~large & (estimate < loo.LARGE_LEVERAGE)
    assert small.sum() > 2000
    ratio = estimate[small] / leverage[small]
    assert ratio.mean() == pytest.approx(1, abs=0.03)
    assert ratio.std() <= 1.1 * (2 / n_projections) ** 0.5  # less: signs have no tails


def test_columns_in_single_precision_change_next_to_nothing(rng, monkeypatch):
    """Also of a kernel: its whitening magnifies rounding by 1e3, so that G is in double there."""
    monkeypatch.setattr(loo, "MOST_EXACT", 100)
    M, w = rng.uniform(size=(4000, 30)), rng.uniform(0.5, 3, 4000)
    T = np.sin(3 * M[:, :1]) + rng.normal(size=(4000, 1))
    whitening = np.linalg.qr(rng.normal(size=(30, 30)))[0] * np.logspace(0, 3, 30)
    penalties = 4000 * members.PENALTIES
    for basis in (None, whitening):
        double, single = (
            loo.fit_centred_ridge(
                RowBlocks(lambda rows, M=A: M[rows], *M.shape), T, w, penalties, basis
            )
            for A in (M, M.astype(np.float32))
        )
        assert single.place == double.place
        assert single.loo_scores.dtype == np.float64
        np.testing.assert_allclose(single.beta, double.beta, atol=1e-4 * abs(double.beta).max())
        np.testing.assert_allclose(single.loo_scores, double.loo_scores, atol=1e-4)
        far = M.copy()
        far[5] *= 1e4  # a row whose leverage is 1 up to about 1e-6
        double, single = (
            loo.fit_centred_ridge(
                RowBlocks(lambda rows, M=A: M[rows], *M.shape), T, w, penalties[4:5], basis
            )
            for A in (far, far.astype(np.float32))
        )
        np.testing.assert_allclose(single.loo_scores, double.loo_scores, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("signal", [0.1, 1.0])
def test_penalties_of_many_rows_are_chosen_as_leaving_out_chooses(rng, monkeypatch, signal):
    """Generalised cross-validation: the same or the next penalty, at next to no cost in error."""
    M, w = rng.normal(size=(600, 30)), rng.uniform(0.5, 3, 600)
    T = signal * np.tanh(M[:, :2] + M[:, 2:4]) + rng.normal(size=(600, 2))
    design = RowBlocks(lambda rows: M[rows], *M.shape)
    penalties = 10.0 ** np.arange(-2.0, 6.0)
    exact = loo.fit_centred_ridge(design, T, w, penalties)
    monkeypatch.setattr(loo, "MOST_EXACT", 100)
    found = loo.fit_centred_ridge(design, T, w, penalties)
    assert abs(found.place - exact.place) <= 1
    errors = [w @ ((T - ridge.loo_scores) ** 2).sum(axis=1) for ridge in (exact, found)]
    assert errors[1] < 1.01 * errors[0]
    # literally: residuals of the fit, each divided by the mean complement at its weight
    spectrum = loo._eigenbasis(design, T, w)
    errors = loo._mean_leverage_errors(design, T, w, spectrum, penalties)
    for penalty, error in zip(penalties, errors):
        ones = np.column_stack([np.ones(600), M])
        system = ones.T @ (w[:, None] * ones) + penalty * np.diag(np.r_[0.0, np.ones(30)])
        hat = ones @ np.linalg.solve(system, ones.T * w)
        complement = 1 - w * np.trace(hat) / w.sum()
        residual = (T - hat @ T) / complement[:, None]
        assert error == pytest.approx(w @ (residual**2).sum(axis=1))
    # of the small part that leverages add, some rows stand for all
    monkeypatch.setattr(loo, "ROWS_COMPARED", 150)
    some = loo._mean_leverage_errors(design, T, w, spectrum, penalties)
    assert not np.allclose(some, errors, rtol=1e-9)
    np.testing.assert_allclose(some, errors, rtol=0.02)
    monkeypatch.setattr(loo, "LARGE_LEVERAGE", 1e-9)  # all are large
    some = loo._mean_leverage_errors(design, T, w, spectrum, penalties)
    np.testing.assert_allclose(some, errors, rtol=1e-12)


@pytest.mark.parametrize("limit", [400, 10_000])
def test_threads_change_nothing(rng, few, monkeypatch, limit):
    monkeypatch.setattr(module, "MOST_SAMPLED", limit)
    monkeypatch.setattr(features, "BLOCK_ELEMENTS", 1 << 11)  # many blocks
    X, y = rows_of(rng, n_classes=3)
    models = [
        NoiseRobustRVFLClassifier(8, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (None, 1, 3, -1)
    ]
    for found in models[1:]:
        np.testing.assert_allclose(found.predict_proba(X), models[0].predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(found.sample_quality_, models[0].sample_quality_, atol=1e-9)


def test_what_goes_wrong_in_a_thread_is_raised_here(rng):
    with threads_of(2, nullcontext) as threads:
        found = threads.map(lambda k: 1 / (3 - k), range(100))
        assert [next(found) for _ in range(3)] == [1 / 3, 1 / 2, 1.0]
        with pytest.raises(ZeroDivisionError):
            next(found)
        with np.errstate(divide="ignore"):  # what is asked of NumPy here holds there
            assert list(threads.map(lambda k: np.float64(1) / k, [0.0, 2.0])) == [np.inf, 0.5]
        ratio = threads.start(lambda a, b: a / b, 1, 4), threads.start(lambda a, b: a / b, 1, 0)
        assert ratio[0]() == 0.25
        with pytest.raises(ZeroDivisionError):
            ratio[1]()


def test_estimated_leverages_do_not_depend_on_the_signs_of_eigenvectors(rng, monkeypatch):
    monkeypatch.setattr(loo, "MOST_EXACT", 100)
    M, T = rng.normal(size=(500, 8)), rng.normal(size=(500, 1))
    design = RowBlocks(lambda rows: M[rows], *M.shape)
    expected = loo.fit_centred_ridge(design, T, np.ones(500), np.ones(1))
    decompose, signs = loo.decompose, rng.choice([-1.0, 1.0], 8)
    monkeypatch.setattr(
        loo,
        "decompose",
        lambda G, R: loo.Spectrum(
            decompose(G, R).values,
            decompose(G, R).Q * signs,
            decompose(G, R).coordinates * signs[:, None],
        ),
    )
    found = loo.fit_centred_ridge(design, T, np.ones(500), np.ones(1))
    np.testing.assert_allclose(found.loo_scores, expected.loo_scores, atol=1e-12)
