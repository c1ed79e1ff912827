"""Class-Var-RVFL and Total-Var-RVFL: closed forms, what they amount to, rows left out exactly."""

from functools import reduce

import numpy as np
import pytest
from oracles_relatives import penalised, scatter_loop
from searches import assert_same as assert_same_search
from searches import both
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from robell import RVFLClassifier, VarianceRVFLClassifier
from robell._core.layers.features import RowBlocks
from robell._core.ridge.scatter import scatter_of
from robell.models._estimator import PAPER_C
from robell.scale.out_of_core import OutOfCoreFit

KINDS = ("class", "total")


def clouds(rng, sizes=(30, 14, 1), n_features=3):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), n_features))
    X[:, 0] += 1.5 * y
    order = rng.permutation(len(y))
    return X[order], y[order]


def blocks(M):
    return RowBlocks(lambda rows: M[rows], *M.shape)


def grouped(kind, y):
    return y if kind == "class" else np.zeros_like(y)


# -- closed forms ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_hidden", [6, 90], ids=["tall", "wide"])
@pytest.mark.parametrize("C", [1e-3, 4.0])
def test_primal_dual_and_stacked_forms(rng, kind, n_hidden, C):
    X, y = clouds(rng)
    model = VarianceRVFLClassifier(
        n_hidden, C=C, variance=kind, variance_weight=2.5, class_weight="balanced",
        output_bias=True, random_state=0,
    ).fit(X, y)  # fmt: skip
    M, T = model._features(X), np.eye(3)[y]
    w = (len(y) / (3 * np.bincount(y)))[y]
    group = grouped(kind, y)
    Q = 2.5 * scatter_loop(M, group)
    found = np.vstack([model.intercept_, model.coef_])
    np.testing.assert_allclose(found, penalised(M, T, w, C, Q), atol=1e-9)
    N = np.linalg.inv(np.eye(len(Q)) + Q)
    dual = N @ M.T @ np.linalg.solve(M @ N @ M.T + np.diag(1 / (C * w)), T)
    np.testing.assert_allclose(found, dual, atol=1e-9)
    sizes = np.bincount(group)[group]
    means = np.stack([M[group == g].mean(axis=0) for g in group])
    rows = [
        np.eye(len(Q)),
        (M - means) * np.sqrt(2.5 / sizes)[:, None],
        M * np.sqrt(C * w)[:, None],
    ]
    targets = np.zeros((len(Q) + 2 * len(y), 3))
    targets[-len(y) :] = T * np.sqrt(C * w)[:, None]
    stacked = np.linalg.lstsq(np.vstack(rows), targets, rcond=None)[0]
    np.testing.assert_allclose(found, stacked, atol=1e-9)


def test_no_weight_is_rvfl(rng):
    X, y = clouds(rng)
    for more in ({}, {"C": "loo"}):
        plain = RVFLClassifier(9, random_state=0, **more).fit(X, y)
        model = VarianceRVFLClassifier(9, variance_weight=0, random_state=0, **more).fit(X, y)
        assert model.C_ == plain.C_
        np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-11)
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-8)


def test_scatter_of_constants_and_shifts(rng):
    M, y = clouds(rng, (9, 7), 5)
    ones = np.ones(len(y))
    S = scatter_of(blocks(M), y, 2, ones).matrix
    np.testing.assert_allclose(S, scatter_loop(M, y), atol=1e-12)
    np.testing.assert_allclose(scatter_of(blocks(M + 7.0), y, 2, ones).matrix, S, atol=1e-12)
    constant = np.full((len(y), 4), 3.7)
    np.testing.assert_allclose(scatter_of(blocks(constant), y, 2, ones).matrix, 0.0, atol=1e-25)
    count = rng.integers(1, 4, len(y))
    again = scatter_loop(np.repeat(M, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(scatter_of(blocks(M), y, 2, count * 1.0).matrix, again, atol=1e-12)


def mirrored(rng, n=24):
    """Rows x of one class and -x of the other: with odd nodes the design has mean zero."""
    X = rng.normal(size=(n, 3)) + 0.7
    return np.vstack([X, -X]), np.repeat([0, 1], n)


ODD = {"activation": "tansig", "bias_scale": 0.0, "random_state": 0}


def test_total_variance_is_rvfl_with_another_C(rng):
    X, y = mirrored(rng)
    C, weight = 2.0, 5.0
    model = VarianceRVFLClassifier(
        9, C=C, variance="total", variance_weight=weight * len(y), **ODD
    ).fit(X, y)
    other = RVFLClassifier(9, C=C + weight, **ODD).fit(X, y)
    shrunk = C / (C + weight)
    np.testing.assert_allclose(model.coef_, shrunk * other.coef_, atol=1e-10)


def test_undivided_class_variance_of_two_classes_is_parallel_to_rvfl(rng):
    X, y = mirrored(rng)
    C, weight = 2.0, 5.0
    # Classes of equal size: divided by n_c is undivided but for a factor.
    model = VarianceRVFLClassifier(9, C=C, variance_weight=weight * len(y) / 2, **ODD).fit(X, y)
    other = RVFLClassifier(9, C=C + weight, **ODD).fit(X, y)
    a, b = (np.subtract(*m.coef_.T) for m in (model, other))
    assert 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b) < 1e-12


def test_divided_class_variance_is_a_model_of_its_own(rng):
    X, y = clouds(rng, (60, 12))
    model = VarianceRVFLClassifier(9, variance_weight=30.0, random_state=0).fit(X, y)
    a = np.subtract(*model.coef_.T)
    nearest = 1.0
    for C in 10.0 ** np.linspace(-5, 5, 41):
        b = np.subtract(*RVFLClassifier(9, C=C, random_state=0).fit(X, y).coef_.T)
        nearest = min(nearest, 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    assert nearest > 1e-3


def test_limits_of_C(rng):
    X, y = clouds(rng)
    model = VarianceRVFLClassifier(9, C=1e-9, variance_weight=3.0, random_state=0).fit(X, y)
    M, T = model._features(X), np.eye(3)[y]
    N = np.linalg.inv(np.eye(M.shape[1]) + 3.0 * scatter_loop(M, y))
    np.testing.assert_allclose(model.coef_ / 1e-9, N @ M.T @ T, rtol=1e-5, atol=1e-5)
    model = VarianceRVFLClassifier(80, C=np.inf, variance_weight=3.0, random_state=0).fit(X, y)
    M = model._features(X)
    np.testing.assert_allclose(M @ model.coef_, T, atol=1e-8)
    A = np.eye(M.shape[1]) + 3.0 * scatter_loop(M, y)
    null = np.linalg.svd(M)[2][len(y) :]
    np.testing.assert_allclose(null @ A @ model.coef_, 0.0, atol=1e-8)
    assert np.isfinite(model.predict_proba(X)).all()
    shuffled = clone(model).fit(X[::-1], y[::-1])
    np.testing.assert_allclose(shuffled.predict_proba(X), model.predict_proba(X), atol=1e-6)


# -- leaving out -----------------------------------------------------------------------


def left_out(model, X, y, sample_weight=None):
    """The leave-one-out scores a fit calibrates on."""
    found = {}
    model._use_left_out = lambda prepared, total, scores: found.update(scores=scores)
    model.fit(X, y, sample_weight)
    return found["scores"]


def refits(model, X, y, kind, weight, cost):
    """Scores by dense refits without all copies of each row; the divisors n_c stay."""
    M, T, group = model._features(X), np.eye(3)[y], grouped(kind, y)
    sizes = np.bincount(group).astype(float)
    scores = []
    for x, m in zip(X, M):
        rest = (x != X).any(axis=1)
        Q = np.zeros((M.shape[1], M.shape[1]))
        for g in set(group[rest].tolist()):
            rows = M[rest & (group == g)]
            D = rows - rows.mean(axis=0)
            Q += weight / sizes[g] * D.T @ D
        scores.append(m @ penalised(M[rest], T[rest], cost[y[rest]], model.C, Q))
    return np.array(scores)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_hidden", [5, 70], ids=["tall", "wide"])
@pytest.mark.parametrize("C", [0.05, 20.0])
def test_left_out_scores_are_refits(rng, kind, n_hidden, C):
    """Copies leave together, also with different labels; so does a class of one row."""
    X, y = clouds(rng)
    X[3] = X[4]  # equal rows, whatever their labels
    X[y == 1] = np.where(np.arange(14)[:, None] < 3, X[y == 1][0], X[y == 1])
    X[np.flatnonzero(y == 0)[5]] = X[np.flatnonzero(y == 1)[8]]
    model = VarianceRVFLClassifier(
        n_hidden, C=C, variance=kind, variance_weight=4.0, class_weight="ratio", random_state=0
    )
    scores = left_out(model, X, y)
    sizes = np.bincount(y)
    expected = refits(model, X, y, kind, 4.0, sizes.min() / sizes)
    np.testing.assert_allclose(scores, expected, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_copies_left_out_too(rng, kind):
    X, y = clouds(rng)
    count = rng.integers(0, 4, len(y))
    count[y == 2] = 2
    for C in (3.0, "loo"):
        model = VarianceRVFLClassifier(9, C=C, variance=kind, random_state=0)
        weighted = clone(model).fit(X, y, sample_weight=count)
        repeated = clone(model).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
        assert weighted.C_ == repeated.C_
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_C_is_chosen_as_refits_would(rng, kind):
    X, y = clouds(rng)
    model = VarianceRVFLClassifier(7, C="loo", variance=kind, variance_weight=10.0, random_state=0)
    model.fit(X, y)
    errors = []
    for C in PAPER_C:
        candidate = clone(model).set_params(C=C)
        candidate.fit(X, y)
        scores = refits(candidate, X, y, kind, 10.0, np.ones(3))
        errors.append(np.square(scores - np.eye(3)[y]).sum())
    assert PAPER_C[int(np.argmin(errors))] == model.C_


def test_a_scatter_that_has_seen_the_row_flatters():
    """Classes that overlap: with the scatter of all rows held fixed they seem further apart."""
    C, weight, gain = 1e4, 1e6, []
    for seed in range(5):
        X, y = clouds(np.random.default_rng(seed), (30, 30))
        model = VarianceRVFLClassifier(40, C=C, variance_weight=weight, random_state=0)
        exact = left_out(model, X, y)
        M, T = model._features(X), np.eye(2)[y]
        G = np.eye(M.shape[1]) + weight * scatter_loop(M, y) + C * M.T @ M
        H = C * M @ np.linalg.solve(G, M.T)
        fixed = T - (T - H @ T) / (1 - np.diag(H))[:, None]
        exact, fixed = (roc_auc_score(y, scores[:, 1]) for scores in (exact, fixed))
        gain.append(fixed - exact)
    assert min(gain) > 0.02


# -- search ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_search_shares(rng, kind):
    X, y = clouds(rng, (40, 20))
    grid = {"C": [0.1, 10.0], "n_hidden": [4, 60], "variance_weight": [0.0, 1.0, 100.0]}
    model = VarianceRVFLClassifier(variance=kind, random_state=0)
    theirs, ours = both(
        model, grid, X, y, cv=3, scoring=["accuracy", "neg_log_loss"], refit="accuracy"
    )
    for name in ("accuracy", "neg_log_loss"):
        key = f"mean_test_{name}"
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], atol=1e-7)
    theirs, ours = both(model, grid, X, y, cv=3, scoring="accuracy")
    assert_same_search(theirs, ours)
    assert ours.n_shared_ == 36


# -- streams and passes --------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [3.0, "loo"])
def test_streams_and_passes_end_with_the_model_of_all_rows(rng, kind, C):
    X, y = clouds(rng, (60, 25, 9))
    X[3] = X[4]
    count = rng.integers(0, 4, len(y))
    model = VarianceRVFLClassifier(
        9, C=C, variance=kind, variance_weight=20.0, class_weight="ratio", random_state=0
    )
    whole = clone(model).fit(X, y, sample_weight=count)
    stream, other = clone(model), clone(model)
    for part in np.array_split(np.arange(len(y)), 4):
        (stream if part[0] < 40 else other).partial_fit(
            X[part], y[part], classes=[0, 1, 2], sample_weight=count[part]
        )
    stream.merge(other)
    passes = OutOfCoreFit(clone(model))
    parts = [(X[i::5], y[i::5], count[i::5]) for i in range(5)]
    for step in passes.passes():
        step.finish(reduce(step.reduce, (step.map(*part) for part in parts)))
    for found in (stream, passes.estimator()):
        assert found.C_ == whole.C_
        np.testing.assert_allclose(found.coef_, whole.coef_, atol=1e-9)
        np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_passes_refine_what_is_ill_conditioned(rng, kind, monkeypatch):
    """Without a sample that holds all rows, by residuals of the rows and the whole penalty."""
    monkeypatch.setattr("robell.scale.out_of_core.REFINE_BELOW", 1.0)
    X, y = clouds(rng, (60, 25))
    model = VarianceRVFLClassifier(
        40, C=1e4, variance=kind, variance_weight=5.0, calibrate=False, random_state=0
    )
    passes = OutOfCoreFit(clone(model))
    names = []
    for step in passes.passes():
        names.append(step.name)
        step.finish(reduce(step.reduce, (step.map(X[i::3], y[i::3]) for i in range(3))))
    assert len(names) >= 4
    found, whole = passes.estimator(), clone(model).fit(X, y)
    scale = np.abs(whole.coef_).max()
    np.testing.assert_allclose(found.coef_, whole.coef_, atol=1e-9 * scale)


@pytest.mark.parametrize("C", [1e30, 1e140, 1e300])
def test_singular_systems_under_hardly_any_penalty_are_calibrated_as_without_one(rng, C):
    """Left-out scores in closed form were rounding there, or not numbers."""
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    model = VarianceRVFLClassifier(80, C=np.inf, random_state=0).fit(X, y)
    found = VarianceRVFLClassifier(80, C=C, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_C_is_chosen_for_few_rows_of_large_numbers(kind):
    """Rows that decide their own score alone, and equal ones, whose folds are refitted."""
    y = np.array([0, 1, 0, 1, 1, 0])
    model = VarianceRVFLClassifier(8, "relu", "loo", variance=kind, random_state=0)
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(6, 2))
        model.fit(1e4 * X.round(), y)
        wide = 1e8 * np.random.default_rng(seed).normal(size=(3, 3))
        found = clone(model).set_params(output_bias=True, n_hidden=5).fit(wide, y[:3])
        assert np.isfinite(found.predict_proba(wide)).all()
        if seed < 5:
            model.fit(1e2 * X, y)
            M, T = model._features(1e2 * X), np.eye(2)[y]
            errors = [left_out_error(M, T, grouped(kind, y), C) for C in PAPER_C]
            assert errors[PAPER_C.tolist().index(model.C_)] <= min(errors) * (1 + 1e-6)


def left_out_error(M, T, group, C):
    """Refit without each row, by least squares of rows stacked; the divisors stay."""
    error = 0.0
    for left_out in range(len(M)):
        kept = np.arange(len(M)) != left_out
        rows = [np.sqrt(C) * M[kept], np.eye(M.shape[1])]
        for g in np.unique(group):
            own = M[kept & (group == g)]
            rows.append((own - own.mean(axis=0)) / np.sqrt((group == g).sum()))
        stacked = np.vstack(rows)
        targets = np.zeros((len(stacked), T.shape[1]))
        targets[: kept.sum()] = np.sqrt(C) * T[kept]
        beta = np.linalg.lstsq(stacked, targets, rcond=None)[0]
        error += np.square(M[left_out] @ beta - T[left_out]).sum()
    return error
