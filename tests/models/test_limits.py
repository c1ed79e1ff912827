"""C = inf, the pseudo-inverse of the supplement's S.I, and the class weights of CSWRVFL."""

import numpy as np
import pytest
from searches import FAMILY, table
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import robell
from robell import (
    ELMClassifier,
    GranularBallRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
    paper_grid,
)
from robell._core.balls.graphs import graph_term
from robell.models import CLASSIFIERS, REGRESSORS
from robell.scale.out_of_core import OutOfCoreFit

MODELS = {name: estimator for name, (estimator, _) in FAMILY.items()}


def row_weights(model, X, y):
    """The weights of the rows of a fitted model: class costs times memberships."""
    weight = np.ones(len(y))
    if isinstance(model, RoBellRVFLClassifier):
        sizes = np.bincount(y)
        weight = model.membership_ * (sizes.min() / sizes)[y]
    return weight


@pytest.mark.parametrize("n_hidden", [4, 80], ids=["tall", "wide"])
@pytest.mark.parametrize("name", MODELS)
def test_no_penalty_is_the_pseudo_inverse(name, n_hidden):
    X, y = table(n_rows=50)
    model = MODELS[name](n_hidden, C=np.inf, output_bias=True, random_state=0).fit(X, y)
    assert np.isinf(model.C_)
    rows, labels = X, y
    if hasattr(model, "balls_"):
        used = model.balls_["used"]
        rows, labels = model.balls_["center"][used], model.balls_["label"][used]
    M = model._features(rows)
    root = np.sqrt(row_weights(model, rows, labels))[:, None]
    T = np.eye(2)[labels] * root
    expected = np.linalg.lstsq(M * root, T, rcond=None)[0]
    found = np.vstack([model.intercept_, model.coef_])
    np.testing.assert_allclose(M @ found, M @ expected, atol=1e-7)
    if name != "gegb":
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("n_hidden", [4, 80], ids=["tall", "wide"])
@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSORS])
def test_every_member_with_a_C_takes_it(name, n_hidden):
    X, y = table(n_rows=50)
    kind = getattr(robell, name)
    known = kind().get_params()
    if "C" not in known:
        assert name == "NoiseRobustRVFLClassifier"
        return
    more = {"n_hidden": n_hidden, "random_state": 0}
    model = kind(C=np.inf, **{key: value for key, value in more.items() if key in known})
    target = X @ np.arange(1.0, 7.0) if name.endswith("Regressor") else y
    model.fit(X, target)
    assert np.isfinite(model.predict(X).astype(float)).all()
    if n_hidden > len(X) and hasattr(model, "hidden_weights_") and not hasattr(model, "balls_"):
        assert model.score(X, target) > 0.8  # nothing holds it back from the training rows


def test_with_a_graph_the_smallest_is_measured_by_the_graph_too():
    X, y = table(n_rows=50)
    model = GranularBallRVFLClassifier(60, C=np.inf, graph="lda", random_state=0).fit(X, y)
    used = model.balls_["used"]
    M, labels = model._features(model.balls_["center"][used]), model.balls_["label"][used]
    Q = np.eye(M.shape[1]) + graph_term(M, labels, "lda", np.ones(len(M)))
    null = np.linalg.svd(M)[2][np.linalg.matrix_rank(M) :]
    assert len(null) > 10
    np.testing.assert_allclose(null @ Q @ model.coef_, 0.0, atol=1e-8)
    np.testing.assert_allclose(M.T @ (M @ model.coef_ - np.eye(2)[labels]), 0.0, atol=1e-8)


@pytest.mark.parametrize("n_hidden", [4, 80], ids=["tall", "wide"])
def test_no_penalty_honours_weights(rng, n_hidden):
    X, y = table(n_rows=40)
    count = rng.integers(0, 4, len(y))
    model = RVFLClassifier(n_hidden, C=np.inf, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=count)
    repeated = clone(model).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_a_search_knows_no_penalty():
    X, y = table(n_rows=60)
    grid = {name: paper_grid("rvfl")[name] for name in ("C", "activation")}
    grid = {"C": [*grid["C"][::5], np.inf], "activation": grid["activation"][:2]}
    theirs, ours = (
        search(
            RVFLClassifier(9, random_state=0),
            grid,
            cv=3,
            scoring=["accuracy", "roc_auc"],
            refit="accuracy",
        ).fit(X, y)
        for search in (GridSearchCV, RVFLGridSearchCV)
    )
    for metric in ("accuracy", "roc_auc"):
        key = f"mean_test_{metric}"
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], atol=1e-12)
    assert ours.not_shared_ == {"C=inf is solved by singular values": 6}
    assert ours.n_shared_ == 18


def test_sums_do_not_hold_it():
    X, y = table(n_rows=30)
    with pytest.raises(ValueError, match="C=inf needs all rows at once"):
        RVFLClassifier(C=np.inf).partial_fit(X, y, classes=[0, 1])
    model = ELMClassifier(5, random_state=0).partial_fit(X, y, classes=[0, 1])
    model.set_params(C=np.inf)
    with pytest.raises(ValueError, match="C=inf needs all rows at once"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="C=inf needs all rows at once"):
        OutOfCoreFit(RVFLClassifier(C=np.inf), [0, 1], X.shape[1])


# -- class weights -----------------------------------------------------------------------


def literal_cost(kind, y):
    """The tables of RVFL's weighted relatives, class by class."""
    labels, counts = np.unique(y, return_counts=True)
    A, K = len(y), len(labels)
    cost = {}
    for label, n in zip(labels.tolist(), counts.tolist(), strict=True):
        if kind == "golden":
            cost[label] = A / K * (0.618 / n if n > A / K else 1 / n)
        else:
            cost[label] = 1 - n / A
    return cost


@pytest.mark.parametrize("kind", ["golden", "complement"])
@pytest.mark.parametrize("name", MODELS)
def test_the_names_are_the_published_weights(name, kind, rng):
    X = rng.normal(size=(60, 4))
    y = np.repeat([0, 1, 2], [35, 20, 5])  # the second class is of average size
    named = MODELS[name](7, class_weight=kind, random_state=0)
    if "gb" in name:  # which counts balls
        cost = named.fit(X, y)._class_cost(np.bincount(y).astype(float))
        np.testing.assert_allclose(cost, list(literal_cost(kind, y).values()))
        return
    given = MODELS[name](7, class_weight=literal_cost(kind, y), random_state=0)
    np.testing.assert_allclose(
        named.fit(X, y).decision_function(X), given.fit(X, y).decision_function(X), atol=1e-10
    )


def test_average_sized_classes_keep_their_golden_weight():
    assert literal_cost("golden", np.repeat([0, 1, 2], [35, 20, 5])) == {
        0: pytest.approx(0.618 * 20 / 35), 1: 1.0, 2: 4.0,
    }  # fmt: skip


def test_two_classes_complement_is_balanced_with_another_C(rng):
    X, y = rng.normal(size=(80, 3)), np.repeat([0, 1], [64, 16])
    balanced = RVFLClassifier(9, C=1.0, class_weight="balanced", random_state=0).fit(X, y)
    # 1 - n_c/A = (n_0 n_1 / A) / n_c, and balanced is (A/2) / n_c
    factor = (80 / 2) / (64 * 16 / 80)
    other = RVFLClassifier(9, C=factor, class_weight="complement", random_state=0).fit(X, y)
    np.testing.assert_allclose(other.coef_, balanced.coef_, atol=1e-12)


def test_on_balanced_data_all_weights_are_equal(rng):
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    plain = RVFLClassifier(9, C=1.0, random_state=0).fit(X, y)
    for kind, factor in [("balanced", 1), ("golden", 1), ("ratio", 1), ("complement", 1.5)]:
        model = RVFLClassifier(9, C=factor, class_weight=kind, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-12)


@pytest.mark.parametrize("kind", ["golden", "complement"])
def test_streams_weigh_as_fit_does_and_start_with_one_class(kind, rng):
    X, y = rng.normal(size=(90, 3)), np.repeat(["a", "b", "c"], [60, 20, 10])
    model = RVFLClassifier(9, class_weight=kind, random_state=0)
    whole = clone(model).fit(X, y)
    model.partial_fit(X[:40], y[:40], classes=["a", "b", "c"])  # one class so far
    assert np.isfinite(model.coef_).all()
    model.partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-7)


def test_weights_by_class_are_penalties_by_class_and_the_dual_form(rng):
    """W1 of weighted ELM is "balanced" with another C; C_c = C(1 - n_c/A) are weights."""
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], [35, 20, 5])
    sizes = np.bincount(y)
    balanced = RVFLClassifier(9, C=2.0, class_weight="balanced", random_state=0).fit(X, y)
    w1 = RVFLClassifier(9, C=2.0 * 60 / 3, class_weight=dict(enumerate(1 / sizes)), random_state=0)
    np.testing.assert_allclose(w1.fit(X, y).coef_, balanced.coef_, atol=1e-11)
    model = RVFLClassifier(9, C=2.0, class_weight="complement", random_state=0).fit(X, y)
    M, T = model._features(X), np.eye(3)[y]
    C_of_class = 2.0 * (1 - sizes / 60)
    dual = M.T @ np.linalg.solve(M @ M.T + np.diag(1 / C_of_class[y]), T)
    np.testing.assert_allclose(model.coef_, dual, atol=1e-10)
