"""IFRVFL and GE-IFRVFL-CIL against literal loops, the printed systems, and refits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_relatives import intuitionistic_loop, lda_term, penalised
from oracles_variants import graph_term_dense
from searches import assert_same as assert_same_search
from searches import both
from sklearn.base import clone

from robell import IntuitionisticFuzzyRVFLClassifier, RoBellRVFLClassifier, RVFLClassifier
from robell._core.balls.graphs import graph_term
from robell._core.ridge.twins import fold_shares
from robell.models._estimator import scores_of_folds

GRAPHS = {"score_power": 1, "class_weight": "ratio", "graph": "lda"}
QUIET = pytest.mark.filterwarnings("ignore:all rows of class:UserWarning")


def clouds(rng, sizes=(40, 15), n_features=3, distance=1.5):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), n_features))
    X[:, 0] += distance * y
    order = rng.permutation(len(y))
    return X[order], y[order]


# -- scores --------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(30, 12), (20, 20, 9)], ids=str)
@pytest.mark.parametrize("width", [0.3, 1.5, 20.0])
def test_scores_are_those_of_the_loop(rng, sizes, width):
    X, y = clouds(rng, sizes)
    model = IntuitionisticFuzzyRVFLClassifier(5, kernel_width=width, random_state=0).fit(X, y)
    mu, q, s = intuitionistic_loop(X, y, width)
    np.testing.assert_allclose(model.score_, s, atol=1e-9)
    np.testing.assert_allclose(model.foreign_share_, q, atol=1e-12)
    assert ((model.score_ == 0) == ((mu <= q / (1 + q)) & (q > 0))).all()
    relative = RoBellRVFLClassifier(5, kernel_width=width, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.radius_, relative.radius_)
    np.testing.assert_allclose(1 - model.foreign_share_, relative.class_probability_, atol=1e-10)


@given(seed=st.integers(0, 10_000))
def test_where_a_score_vanishes(seed):
    """Zero just where mu <= q/(1+q) and q > 0; other scores with foreign neighbours above 1/2."""
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, (15, 8), 2, distance=0.5)
    mu, q, s = intuitionistic_loop(X, y, 1.0)
    clear = np.abs(mu - q / (1 + q)) > 1e-12
    assert ((s == 0) == ((mu <= q / (1 + q)) & (q > 0)))[clear].all()
    positive = (s > 0) & (q > 0) & (mu < 1)
    assert (s[positive] > 0.5 - 1e-12).all()
    assert (s[positive] >= mu[positive] - 1e-12).all()


def test_scores_do_not_see_rotations_shifts_and_order(rng):
    X, y = clouds(rng)
    scores = IntuitionisticFuzzyRVFLClassifier(5, kernel_width=1.0).fit(X, y).score_
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    order = rng.permutation(len(y))
    moved = IntuitionisticFuzzyRVFLClassifier(5, kernel_width=1.0)
    moved.fit((X @ turn + 5.0)[order], y[order])
    np.testing.assert_allclose(moved.score_, scores[order], atol=1e-9)


def test_rows_at_their_class_mean_score_one_and_the_model_is_rvfl(rng):
    centre = rng.normal(size=(2, 3))
    y = np.repeat([0, 1], [12, 5])
    X = centre[y]
    model = IntuitionisticFuzzyRVFLClassifier(9, random_state=0).fit(X, y)
    assert (model.score_ == 1).all()
    np.testing.assert_allclose(
        model.coef_, RVFLClassifier(9, random_state=0).fit(X, y).coef_, atol=1e-12
    )


def test_narrow_kernels_give_every_row_the_same_score(rng):
    X, y = clouds(rng, (20, 20))
    model = IntuitionisticFuzzyRVFLClassifier(5, kernel_width=1e-6, random_state=0).fit(X, y)
    score = 1e-4 / (np.sqrt(1 - 1 / 20) + 1e-4)
    np.testing.assert_allclose(model.score_, score, rtol=1e-9)
    plain = RVFLClassifier(5, C=score**2, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8)


def test_scores_erase_the_minority(rng):
    """What the class's docstring says of two Gaussians, ten to one."""
    X, y = clouds(rng, (300, 30), 8, 3.0)
    model = IntuitionisticFuzzyRVFLClassifier(5, kernel_width=8**0.5).fit(X, y)
    erased = [float((model.score_[y == c] == 0).mean()) for c in (0, 1)]
    assert erased[0] < 0.1
    assert erased[1] > 0.4


def test_a_class_that_would_vanish_keeps_weights_of_one(rng):
    X, y = clouds(rng, (200, 6), 8, 0.0)
    model = IntuitionisticFuzzyRVFLClassifier(5, kernel_width=6.0, random_state=0)
    with pytest.warns(UserWarning, match="all rows of class 1 have the intuitionistic fuzzy"):
        model.fit(X, y)
    assert (model.score_[y == 1] == 0).all()
    assert (model.score_[y == 0] > 0).any()
    weight = np.where(y == 1, 1.0, model.score_) ** 2
    M = model._features(X)
    np.testing.assert_allclose(model.coef_, penalised(M, np.eye(2)[y], weight, 1.0, 0), atol=1e-9)


# -- systems -------------------------------------------------------------------------


@pytest.mark.parametrize("n_hidden", [9, 90], ids=["tall", "wide"])
@pytest.mark.parametrize("power", [1, 2])
def test_scores_enter_the_ridge_by_their_power(rng, n_hidden, power):
    X, y = clouds(rng)
    model = IntuitionisticFuzzyRVFLClassifier(
        n_hidden, C=3.0, score_power=power, output_bias=True, random_state=0
    ).fit(X, y)
    assert (model.score_ == 0).any()
    M, S = model._features(X), model.score_ ** (power / 2)
    rows = np.vstack([M * S[:, None] * np.sqrt(3.0), np.eye(M.shape[1])])
    targets = np.vstack([np.eye(2)[y] * S[:, None] * np.sqrt(3.0), np.zeros((M.shape[1], 2))])
    expected = np.linalg.lstsq(rows, targets, rcond=None)[0]
    found = np.vstack([model.intercept_, model.coef_])
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_graph_model_is_the_compact_form(rng):
    X, y = clouds(rng)
    C, weight = 7.0, 0.3
    model = IntuitionisticFuzzyRVFLClassifier(
        9, C=C, graph_weight=weight, random_state=0, **GRAPHS
    ).fit(X, y)
    M, T, s = model._features(X), np.eye(2)[y], model.score_
    S = lda_term(M, y)
    cost = np.array([15 / 40, 1.0])
    np.testing.assert_allclose(model.coef_, penalised(M, T, cost[y] * s, C, weight * S), atol=1e-9)
    F = C * cost
    rows = s * np.where(y == 0, 1 + F[0] / F[1], 1 + F[1] / F[0])
    left = (1 / F[0] + 1 / F[1]) * (np.eye(len(S)) + weight * S) + (M.T * rows) @ M
    np.testing.assert_allclose(model.coef_, np.linalg.solve(left, (M.T * rows) @ T), atol=1e-9)
    # The release weighs the rows once and the targets not at all: another model.
    released = np.linalg.solve(
        (1 / F[0] + 1 / F[1]) * (np.eye(len(S)) + weight * S) + (M.T * rows**2) @ M,
        (M.T * rows) @ T,
    )
    assert np.abs(released - model.coef_).max() > 0.01


def test_small_C_leaves_the_sums_of_weighted_rows(rng):
    X, y = clouds(rng)
    model = IntuitionisticFuzzyRVFLClassifier(
        9, C=1e-10, graph_weight=0.3, random_state=0, **GRAPHS
    ).fit(X, y)
    M, T = model._features(X), np.eye(2)[y]
    weight = np.array([15 / 40, 1.0])[y] * model.score_
    limit = np.linalg.solve(np.eye(M.shape[1]) + 0.3 * lda_term(M, y), (M.T * weight) @ T)
    np.testing.assert_allclose(model.coef_ / 1e-10, limit, rtol=1e-6, atol=1e-7)


def test_without_weight_the_graph_is_no_graph(rng):
    X, y = clouds(rng)
    plain = IntuitionisticFuzzyRVFLClassifier(9, random_state=0).fit(X, y)
    graph = IntuitionisticFuzzyRVFLClassifier(9, graph="lfda", graph_weight=0, random_state=0)
    np.testing.assert_allclose(graph.fit(X, y).coef_, plain.coef_, atol=1e-10)


@pytest.mark.parametrize("more", [{}, GRAPHS], ids=["scores", "graph"])
def test_swapped_labels_swap_predictions(rng, more):
    X, y = clouds(rng)
    one = IntuitionisticFuzzyRVFLClassifier(9, random_state=0, **more).fit(X, y)
    other = IntuitionisticFuzzyRVFLClassifier(9, random_state=0, **more).fit(X, 1 - y)
    np.testing.assert_allclose(one.coef_[:, ::-1], other.coef_, atol=1e-9)
    np.testing.assert_allclose(one.predict_proba(X)[:, ::-1], other.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("kind", ["lda", "lfda"])
def test_weights_of_graph_rows_are_copies(rng, kind):
    M, y = clouds(rng, (14, 9, 5), 6)
    count = rng.integers(1, 4, len(y))
    again = np.repeat(M, count, axis=0), np.repeat(y, count)
    expected = graph_term_dense(*again, kind)
    found = graph_term(M, y, kind, count.astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


# -- leaving out ---------------------------------------------------------------------


def test_the_rows_without_a_fold_are_no_cause_for_a_warning():
    """Some of them had no row of a class with a score, which was said of the table."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + rng.normal(size=40) > 0.8).astype(int)
    model = IntuitionisticFuzzyRVFLClassifier(n_hidden=10, random_state=0).fit(X, y)
    assert all((model.score_[y == label] > 0.0).any() for label in (0, 1))


@QUIET
@pytest.mark.parametrize("n_hidden", [6, 90], ids=["tall", "wide"])
@pytest.mark.parametrize("more", [{}, {"graph_weight": 0.5, **GRAPHS}], ids=["scores", "graph"])
def test_left_out_scores_are_refits_without_the_fold(rng, n_hidden, more):
    """Scores, class costs and graphs made again of the other rows."""
    X, y = clouds(rng, (25, 12, 4))
    model = IntuitionisticFuzzyRVFLClassifier(n_hidden, C=2.0, random_state=0, **more).fit(X, y)
    assert (model.score_ == 0).any()
    scores = scores_of_folds(model, model._prepare(X, y))
    fold = fold_shares(X, y, np.ones(len(y))).argmax(1)
    assert fold.max() == 9
    for k in range(10):
        rest = fold != k
        model.set_params(calibrate=False).fit(X[rest], y[rest])
        np.testing.assert_allclose(scores[~rest], model._class_scores(X[~rest]), atol=1e-9)


def test_folds_know_content_and_class_only(rng):
    X, y = clouds(rng, (33, 12))
    fold = fold_shares(X, y, np.ones(len(y))).argmax(1)
    order = rng.permutation(np.repeat(np.arange(len(y)), rng.integers(1, 4, len(y))))
    np.testing.assert_array_equal(
        fold_shares(X[order], y[order], np.ones(len(order))).argmax(1), fold[order]
    )
    for c in (0, 1):
        assert np.ptp(np.bincount(fold[y == c], minlength=10)) <= 1
    assert set(fold_shares(X[:3], y[:3], np.ones(3)).argmax(1)) == {0, 1, 2}


def test_a_graph_does_not_leave_rows_out_for_C():
    X, y = clouds(np.random.default_rng(0))
    with pytest.raises(ValueError, match="C='loo' does not go with a graph"):
        IntuitionisticFuzzyRVFLClassifier(C="loo", graph="lda").fit(X, y)


@QUIET
@pytest.mark.parametrize("more", [{}, GRAPHS], ids=["scores", "graph"])
def test_weights_are_copies(rng, more):
    X, y = clouds(rng, (30, 12, 9))
    count = rng.integers(0, 4, len(y))
    model = IntuitionisticFuzzyRVFLClassifier(9, random_state=0, **more)
    weighted = clone(model).fit(X, y, sample_weight=count)
    order = rng.permutation(count.sum())
    again = np.repeat(X, count, axis=0)[order], np.repeat(y, count)[order]
    repeated = clone(model).fit(*again)
    np.testing.assert_allclose(np.repeat(weighted.score_, count)[order], repeated.score_)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)


@QUIET
@pytest.mark.parametrize(
    ("more", "grid"),
    [
        ({}, {"kernel_width": [0.7, "scale"], "score_power": [1, 2], "n_hidden": [4, 60]}),
        (GRAPHS, {"kernel_width": [0.7, "scale"], "graph_weight": [0.0, 1.0], "n_hidden": [4, 60]}),
    ],
    ids=["scores", "graph"],
)
def test_the_search_shares(rng, more, grid):
    X, y = clouds(rng, (40, 20))
    model = IntuitionisticFuzzyRVFLClassifier(random_state=0, **more)
    theirs, ours = both(
        model, {"C": [0.1, 10.0], **grid}, X, y, cv=3, scoring=["accuracy", "roc_auc"],
        refit="accuracy",
    )  # fmt: skip
    assert_same_search(theirs, ours, 1e-12)
    assert ours.n_shared_ > 0.8 * 16 * 3


def test_three_classes_strings_and_probabilities(rng):
    X, y = clouds(rng, (30, 20, 15), distance=4.0)
    names = np.array(["low", "mid", "top"])[y]
    model = IntuitionisticFuzzyRVFLClassifier(graph="lda", random_state=0).fit(X, names)
    assert model.score(X, names) > 0.8
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
