import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_variants import (
    granular_balls_by_scanning,
    graph_scores_exact,
    graph_term_dense,
    two_means_of_one_ball,
)
from scipy.linalg import LinAlgWarning
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs
from sklearn.preprocessing import scale

from robell import GranularBallRVFLClassifier, RVFLClassifier
from robell._core.balls import graphs as graph
from robell._core.balls.granular import (
    describe_balls,
    distinct_rows,
    grow_balls,
    keep_balls,
    two_means,
)


def noisy_blobs(seed, n_rows=300, n_features=3, n_classes=2, flipped=0.1):
    X, y = make_blobs(n_rows, n_features, centers=n_classes + 1, cluster_std=1.5, random_state=seed)
    y = y % n_classes
    rng = np.random.default_rng(seed)
    rows = rng.choice(n_rows, int(flipped * n_rows), replace=False)
    y[rows] = (y[rows] + 1) % n_classes
    return X, y


def partition(ball):
    return {frozenset(np.flatnonzero(ball == k)) for k in range(ball.max() + 1)}


# -- splitting -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("purity", [0.7, 0.925, 1.0])
def test_generations_give_the_balls_of_the_released_scan(seed, purity):
    X, y = noisy_blobs(seed, n_classes=2 + seed % 2)
    ball = grow_balls(X, y, y.max() + 1, np.ones(len(X)), purity)
    expected = granular_balls_by_scanning(X, y, purity)
    assert partition(ball) == {frozenset(members) for members in expected}


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_balls_of_a_standardised_table_do_not_depend_on_the_order_of_its_rows(rng, load):
    """All its columns have the same variance: rounding decided which one was cut first."""
    X, y = load(return_X_y=True)
    expected = GranularBallRVFLClassifier(random_state=0).fit(scale(X), y)
    for _ in range(5):
        order = rng.permutation(len(X))
        found = GranularBallRVFLClassifier(random_state=0).fit(scale(X[order]), y[order])
        assert len(found.balls_["size"]) == len(expected.balls_["size"])
        np.testing.assert_allclose(
            found.decision_function(scale(X)), expected.decision_function(scale(X)), atol=1e-9
        )


def test_rows_as_near_to_one_centre_as_to_the_other_stay_where_rounding_would_move_them(rng):
    X = rng.integers(1, 5, (300, 6)).astype(float)
    y = ((X[:, 0] == X[:, 1]) | (X[:, 4] == 1)).astype(int)
    expected = GranularBallRVFLClassifier(random_state=0).fit(scale(X), y)
    order = rng.permutation(len(X))
    found = GranularBallRVFLClassifier(random_state=0).fit(scale(X[order]), y[order])
    assert len(found.balls_["size"]) == len(expected.balls_["size"])


def test_two_means_equals_scikit_learns_from_the_same_start(rng):
    X = np.vstack([rng.normal(0, 1, (80, 4)), rng.normal(2, 1, (50, 4))])
    axis = X.var(axis=0).argmax()
    start = X[:, axis] > X[:, axis].mean()
    kmeans = KMeans(
        2, init=np.stack([X[~start].mean(axis=0), X[start].mean(axis=0)]), n_init=1, tol=0
    ).fit(X)
    side = two_means(X, np.ones(len(X)), np.zeros(len(X), np.intp))
    np.testing.assert_array_equal(side, kmeans.labels_ == 1)
    np.testing.assert_array_equal(side, two_means_of_one_ball(X))


def test_all_balls_of_a_generation_are_cut_as_if_alone(rng):
    sizes = [2, 3, 40, 2, 100, 7]
    X = np.vstack([rng.normal(k, 1, (n, 3)) for k, n in enumerate(sizes)])
    ball = np.repeat(np.arange(len(sizes)), sizes)
    side = two_means(X, np.ones(len(X)), ball)
    for k in range(len(sizes)):
        np.testing.assert_array_equal(side[ball == k], two_means_of_one_ball(X[ball == k]))


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(2, 60),
    n_classes=st.integers(2, 4),
    purity=st.sampled_from([0.5, 0.8, 0.925, 1.0]),
    digits=st.sampled_from([0, 1, 8]),
)
def test_final_balls_are_pure_or_single_and_hold_every_row_once(
    seed, n_rows, n_classes, purity, digits
):
    """With digits = 0, rows repeat with conflicting labels: those balls end as single pairs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2)).round(digits)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows)]
    X = np.vstack([X[:1].repeat(n_classes, axis=0), X])
    weight = rng.integers(1, 4, len(X)).astype(float)
    X, y, weight = distinct_rows(X, y, weight)
    ball = grow_balls(X, y, n_classes, weight, purity)
    balls = describe_balls(X, y, n_classes, weight, ball)
    assert ((balls.purity >= purity) | (np.bincount(ball) == 1)).all()
    assert balls.size.sum() == weight.sum()
    np.testing.assert_array_equal(np.unique(ball), np.arange(len(balls.size)))
    np.testing.assert_allclose(balls.class_counts.sum(axis=1), balls.size)


def test_a_low_purity_gives_one_ball(rng):
    X, y = noisy_blobs(0)
    assert grow_balls(X, y, 2, np.ones(len(X)), 1e-9).max() == 0


def test_describe(rng):
    X, y = noisy_blobs(1)
    weight = rng.integers(1, 4, len(X)).astype(float)
    ball = grow_balls(X, y, 2, weight, 0.9)
    balls = describe_balls(X, y, 2, weight, ball)
    for k in range(ball.max() + 1):
        inside = ball == k
        center = np.average(X[inside], axis=0, weights=weight[inside])
        np.testing.assert_allclose(balls.center[k], center, atol=1e-12)
        distance = np.linalg.norm(X[inside] - center, axis=1)
        assert balls.radius[k] == pytest.approx(np.average(distance, weights=weight[inside]))
        counts = np.bincount(y[inside], weights=weight[inside], minlength=2)
        assert balls.label[k] == counts.argmax()
        assert balls.purity[k] == pytest.approx(counts.max() / counts.sum())
        assert balls.size[k] == weight[inside].sum()


def test_rows_that_differ_in_the_last_digit_are_split_too():
    X = np.array([[1.0], [np.nextafter(1.0, 2)], [1.0], [np.nextafter(1.0, 2)]]) * 1e5 / 3
    ball = grow_balls(*distinct_rows(X, np.array([0, 1, 0, 1]), np.ones(4))[:2], 2, np.ones(2), 1.0)
    assert sorted(ball) == [0, 1]


# -- deletion and the guard ------------------------------------------------------------


def test_small_balls_go_but_no_class_does():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [9.0]])
    y = np.array([0, 0, 0, 1, 1])
    ball = np.array([0, 0, 0, 1, 2])
    balls = describe_balls(X, y, 2, np.ones(5), ball)
    np.testing.assert_array_equal(keep_balls(balls, 2, np.array([2.0, 2.0])), [1, 1, 1])
    np.testing.assert_array_equal(keep_balls(balls, 2, np.array([2.0, 1.0])), [1, 1, 1])
    balls = describe_balls(X, y, 2, np.array([1, 1, 1, 1, 1.5]), ball)
    np.testing.assert_array_equal(keep_balls(balls, 2, np.array([2.0, 2.0])), [1, 0, 1])


def test_a_class_without_a_ball_gets_one():
    X = np.r_[np.zeros(10), 0.1, 0.2][:, None]
    y = np.r_[np.zeros(10, int), 1, 1]
    model = GranularBallRVFLClassifier(purity=0.5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.unique(model.balls_["label"][model.balls_["used"]]), [0, 1])
    np.testing.assert_allclose(model.balls_["center"][-1], 0.15)


# -- the estimator ---------------------------------------------------------------------


def test_it_is_rvfl_on_the_balls(imbalanced):
    X, y = imbalanced
    model = GranularBallRVFLClassifier(30, C=2.0, output_bias=True, random_state=0).fit(X, y)
    used = model.balls_["used"]
    assert 2 < used.sum() < len(used)
    rvfl = RVFLClassifier(30, C=2.0, output_bias=True, random_state=0)
    rvfl.fit(model.balls_["center"][used], model.balls_["label"][used])
    np.testing.assert_allclose(model.coef_, rvfl.coef_)
    np.testing.assert_array_equal(model.predict(X), rvfl.predict(X))


def test_pure_singles_are_plain_rvfl(rng):
    """Alternating labels on a line leave nothing but single rows."""
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    model = GranularBallRVFLClassifier(5, purity=1.0, min_ball_size=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.balls_["size"], 1.0)
    np.testing.assert_allclose(model.coef_, RVFLClassifier(5, random_state=0).fit(X, y).coef_)


def test_balls_carry_labels_as_given_and_sizes_of_all_rows():
    X, y = noisy_blobs(3)
    names = np.array(["no", "yes"])[y]
    balls = GranularBallRVFLClassifier(random_state=0).fit(X, names).balls_
    assert set(balls["label"]) == {"no", "yes"}
    assert balls["size"].sum() == len(X)
    assert (balls["radius"] >= 0).all()
    assert (balls["size"][balls["used"]] >= 2).all()
    assert balls["center"].shape == (len(balls["size"]), 3)


def test_balls_do_not_depend_on_order_or_seed(rng):
    X, y = noisy_blobs(4)
    order = rng.permutation(len(X))
    first = GranularBallRVFLClassifier(random_state=0).fit(X, y).balls_
    second = GranularBallRVFLClassifier(random_state=1).fit(X[order], y[order]).balls_
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_class_weights_keep_small_balls_of_the_heavier_class(imbalanced):
    X, y = imbalanced
    plain = GranularBallRVFLClassifier(random_state=0).fit(X, y).balls_
    balanced = GranularBallRVFLClassifier(class_weight="balanced", random_state=0).fit(X, y).balls_
    small = plain["size"] < 2
    assert not plain["used"][small].any()
    np.testing.assert_array_equal(balanced["used"], plain["used"] | (small & (plain["label"] == 1)))


@pytest.mark.parametrize("weight", ["balanced", "ratio", {0: 2.0, 1: 5.0}])
def test_class_weights_weigh_balls(imbalanced, weight):
    X, y = imbalanced
    model = GranularBallRVFLClassifier(class_weight=weight, random_state=0).fit(X, y)
    used = model.balls_["used"]
    rvfl = RVFLClassifier(class_weight=weight, random_state=0)
    rvfl.fit(model.balls_["center"][used], model.balls_["label"][used])
    np.testing.assert_allclose(model.coef_, rvfl.coef_)


def test_balls_outvote_flipped_labels():
    """Two far clusters, one label in ten wrong: every used ball has its cluster's label."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-5, 1, (200, 2)), rng.normal(5, 1, (200, 2))])
    truth = np.repeat([0, 1], 200)
    y = truth.copy()
    y[rng.choice(400, 20, replace=False)] ^= 1
    balls = GranularBallRVFLClassifier(random_state=0).fit(X, y).balls_
    right = (balls["center"][:, 0] > 0).astype(int) == balls["label"]
    assert right[balls["used"]].all()


# -- graph embedding -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["lda", "lfda", "mda"])
@pytest.mark.parametrize("tile_pairs", [1, 300, 1 << 20])
def test_graph_term_equals_the_dense_matrices(rng, monkeypatch, kind, tile_pairs):
    monkeypatch.setattr(graph, "TILE_PAIRS", tile_pairs)
    M = np.hstack([np.ones((40, 1)), rng.normal(size=(40, 6))])
    y = rng.integers(0, 3, 40)
    expected = graph_term_dense(M, y, kind)
    np.testing.assert_allclose(
        graph.graph_term(M, y, kind, np.ones(len(M))),
        expected,
        rtol=1e-7,
        atol=1e-7 * np.abs(expected).max(),
    )


def test_graph_with_a_class_smaller_than_the_neighbourhood(rng):
    M, y = rng.normal(size=(12, 3)), np.r_[np.zeros(10, int), 1, 1]
    expected = graph_term_dense(M, y, "mda")
    np.testing.assert_allclose(graph.graph_term(M, y, "mda", np.ones(len(M))), expected, rtol=1e-8)


@pytest.mark.parametrize("kind", ["lda", "lfda", "mda"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_coefficients_with_a_graph(imbalanced, kind, C):
    X, y = imbalanced
    model = GranularBallRVFLClassifier(
        9, C=C, graph=kind, graph_weight=0.3, output_bias=True, random_state=0
    ).fit(X, y)
    assert model.solver_ == "lu"
    used = model.balls_["used"]
    M = model._features(model.balls_["center"][used])
    T = np.eye(2)[model.balls_["label"][used]]
    S = graph_term_dense(M, model.balls_["label"][used], kind)
    system = np.eye(M.shape[1]) / C + M.T @ M + 0.3 / C * S
    expected = np.linalg.solve(system, M.T @ T)
    found = np.vstack([model.intercept_, model.coef_])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def odd_tables():
    """Tables of equal rows, of columns that are constant, doubled, far off or of other scales."""
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(45, 2))
    return {
        "equal rows": Z[rng.integers(0, 15, 45)],
        "whole numbers": np.round(Z),
        "a grid": rng.integers(0, 3, (45, 2)).astype(float),
        "zeros and ones": rng.integers(0, 2, (45, 4)).astype(float),
        "constant": np.hstack([np.round(Z), np.full((45, 1), 0.1)]),
        "doubled": np.hstack([Z, Z]),
        "1 : 1e8": Z * [1.0, 1e8],
        "1e6 off": Z + np.array([1e6, 0.0]),
    }


@pytest.mark.parametrize("activation", ["sigmoid", "relu", "sign"])
@pytest.mark.parametrize("kind", ["lda", "lfda", "mda"])
@pytest.mark.parametrize("columns", odd_tables())
def test_scores_with_a_graph_are_those_of_the_formula(columns, kind, activation):
    pytest.importorskip("mpmath")
    X, rng = odd_tables()[columns], np.random.default_rng(5)
    y = rng.integers(0, 3, 45)
    model = GranularBallRVFLClassifier(
        4, activation, graph=kind, min_ball_size=1, calibrate=False, random_state=0
    )
    if (columns, activation) == ("1 : 1e8", "relu"):  # double precision does not hold the equations
        with pytest.warns(LinAlgWarning, match="singular to working precision"):
            model.fit(X, y)
        return
    model.fit(X, y)
    used = model.balls_["used"]
    M, label = model._features(model.balls_["center"][used]), model.balls_["label"][used]
    expected = graph_scores_exact(M, label, kind, 1.0, 1.0)
    error = np.abs(M @ model.coef_ - expected).max()
    # A column far off leaves fewer digits in the formula's own equations.
    assert error <= (1e-5 if columns == "1e6 off" else 1e-9) * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["lda", "lfda", "mda"])
@pytest.mark.parametrize("n_hidden", [5, 150])
def test_no_graph_weight_is_no_graph(imbalanced, kind, n_hidden):
    X, y = imbalanced
    plain = GranularBallRVFLClassifier(n_hidden, random_state=0).fit(X, y)
    weightless = GranularBallRVFLClassifier(
        n_hidden, graph=kind, graph_weight=0.0, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(weightless.coef_, plain.coef_, atol=1e-9)
    np.testing.assert_allclose(weightless.predict_proba(X), plain.predict_proba(X), atol=1e-7)
    weighted = GranularBallRVFLClassifier(n_hidden, graph=kind, random_state=0).fit(X, y)
    assert np.abs(weighted.coef_ - plain.coef_).max() > 1e-3


def test_leave_one_out_with_a_penalty_that_is_not_symmetric(rng):
    from robell._core.layers.features import RowBlocks
    from robell._core.ridge.solve import solve_ridge

    M, T = rng.normal(size=(25, 6)), np.eye(2)[rng.integers(0, 2, 25)]
    w, Q = rng.uniform(0.5, 2, 25), rng.uniform(0, 0.3, (6, 6))
    blocks = RowBlocks(lambda rows: M[rows], *M.shape)
    for C in (0.1, 10.0):
        found = solve_ridge(blocks, T, C, w, True, Q)
        for i in range(25):
            keep = np.arange(25) != i
            system = (M[keep].T * w[keep]) @ M[keep] + (np.eye(6) + Q) / C
            beta = np.linalg.solve(system, (M[keep].T * w[keep]) @ T[keep])
            np.testing.assert_allclose(found.loo_scores[i], M[i] @ beta, rtol=1e-8)


def test_a_singular_system_with_a_graph_is_solved_and_reported(rng):
    from robell._core.layers.features import RowBlocks
    from robell._core.ridge.solve import solve_ridge

    M = rng.normal(size=(20, 4))
    M = np.hstack([M, M])
    T = np.eye(2)[rng.integers(0, 2, 20)]
    blocks = RowBlocks(lambda rows: M[rows], *M.shape)
    solution = solve_ridge(blocks, T, 1e300, None, True, np.zeros((8, 8)))
    assert solution.method == "svd"
    np.testing.assert_allclose(solution.beta, np.linalg.pinv(M) @ T, atol=1e-8)
