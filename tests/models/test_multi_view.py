"""Several views: the released block system, its two limits, leave-one-out, selectors, bad input."""

from functools import reduce

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import LinAlgWarning
from searches import assert_same, both
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import MultiViewRVFLClassifier, RVFLClassifier, paper_grid
from robell._core.balls.graphs import graph_term
from robell._core.ridge.calibrate import fit_calibration
from robell._core.ridge.twins import fold_shares
from robell.models import multi_view as module
from robell.models._estimator import PAPER_C
from robell.scale.out_of_core import OutOfCoreFit

TWO = [slice(0, 2), slice(2, 5)]
THREE = [[0, 1], [1, 2, 3], [4]]  # overlapping
MODEL = MultiViewRVFLClassifier(6, views=TWO, random_state=0)


def table(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    noise = 0.4 * rng.normal(size=n_rows)
    return X, np.digitize(X[:, 0] + X[:, 3] ** 2 + noise, [0.3, 1.5])


def one_hot(y):
    return (y[:, None] == np.unique(y)).astype(float)


def designs(model, X):
    """The design matrix of every view, written out."""
    found = []
    layers = zip(model.view_columns_, model.hidden_weights_, model.hidden_bias_, strict=True)
    for columns, U, b in layers:
        H = 1 / (1 + np.exp(-(X[:, columns] @ U + b)))
        parts = [np.ones((len(X), 1))] * model.output_bias + [X[:, columns], H]
        found.append(np.hstack(parts))
    return found


def class_scores(model, X):
    return model._features(X) @ model._output_weights()


# -- formulas --------------------------------------------------------------------------


@pytest.mark.parametrize("coupling", [0.0, 0.35, 1.0])
def test_two_views_are_the_released_block_system(coupling):
    """[[I + c M_aᵀM_a, ρM_aᵀM_b], [ρM_bᵀM_a, I + c M_bᵀM_b]] β = (c + ρ)[M_aᵀT, M_bᵀT], ρ = κC."""
    X, y = table()
    C = 1.7
    model = clone(MODEL).set_params(C=C, coupling=coupling).fit(X, y)
    A, B = designs(model, X)
    rho, T = coupling * C, one_hot(y)
    # The release has c_1|e_a|² + c_2|e_b|² + 2ρ e_a e_b: with κ the squares weigh C altogether.
    system = np.block(
        [
            [np.eye(A.shape[1]) + C * A.T @ A, rho * A.T @ B],
            [rho * B.T @ A, np.eye(B.shape[1]) + C * B.T @ B],
        ]
    )
    beta = np.linalg.solve(system, (C + rho) * np.vstack([A.T @ T, B.T @ T]))
    np.testing.assert_allclose(2.0 * model.coef_, beta, atol=1e-9)
    np.testing.assert_allclose(class_scores(model, X), np.hstack([A, B]) @ beta / 2, atol=1e-9)


@pytest.mark.parametrize("output_bias", [False, True])
@pytest.mark.parametrize("n_rows", [60, 14], ids=["tall", "wide"])
@pytest.mark.parametrize("coupling", [0.0, 0.6, 1.0])
def test_three_views_minimise_the_objective(n_rows, coupling, output_bias):
    X, y = table(n_rows)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, n_rows)
    settings = {"views": THREE, "coupling": coupling, "C": 3.0, "output_bias": output_bias}
    model = clone(MODEL).set_params(**settings).fit(X, y, weight)
    M, T = designs(model, X), one_hot(y)
    rows, targets = [], []
    widths = [one.shape[1] for one in M]
    for v, one in enumerate(M):
        padded = [one if u == v else np.zeros((n_rows, w)) for u, w in enumerate(widths)]
        rows.append(np.sqrt(weight * (1 - coupling))[:, None] * np.hstack(padded))
        targets.append(np.sqrt(weight * (1 - coupling))[:, None] * T)
    rows.append(np.sqrt(weight * coupling)[:, None] * np.hstack(M))
    targets.append(np.sqrt(weight * coupling)[:, None] * 3.0 * T)
    J = np.vstack([*rows, np.eye(sum(widths)) / np.sqrt(3.0)])
    U = np.vstack([*targets, np.zeros((sum(widths), T.shape[1]))])
    beta = np.linalg.lstsq(J, U, rcond=None)[0]
    np.testing.assert_allclose(class_scores(model, X), np.hstack(M) @ beta / 3, atol=1e-9)


def test_without_coupling_views_are_networks_of_their_own():
    X, y = table()
    model = clone(MODEL).set_params(coupling=0.0, C=5.0).fit(X, y)
    alone = []
    for M in designs(model, X):
        alone.append(M @ np.linalg.solve(M.T @ M + np.eye(M.shape[1]) / 5.0, M.T @ one_hot(y)))
    np.testing.assert_allclose(class_scores(model, X), sum(alone) / 2, atol=1e-9)
    first = RVFLClassifier(6, C=5.0, random_state=0).fit(X[:, :2], y)  # the same random layer
    np.testing.assert_allclose(alone[0], class_scores(first, X[:, :2]), atol=1e-9)


def test_with_full_coupling_they_are_one_network():
    X, y = table()
    model = clone(MODEL).set_params(coupling=1.0, C=5.0).fit(X, y)
    M = np.hstack(designs(model, X))
    beta = np.linalg.solve(M.T @ M + np.eye(M.shape[1]) / 5.0, M.T @ one_hot(y))
    np.testing.assert_allclose(model.coef_, beta, atol=1e-9)


@pytest.mark.parametrize("C", [2.0, "loo", np.inf])
@pytest.mark.parametrize("output_bias", [False, True])
def test_one_view_is_rvfl(C, output_bias):
    X, y = table()
    settings = {"C": C, "output_bias": output_bias, "random_state": 0}
    plain = RVFLClassifier(6, **settings).fit(X, y)
    for views in (None, [slice(None)], [[0, 1, 2, 3, 4]]):
        for coupling in (0.0, 0.5):
            found = MultiViewRVFLClassifier(6, views=views, coupling=coupling, **settings).fit(X, y)
            np.testing.assert_array_equal(found.coef_, plain.coef_)
            np.testing.assert_array_equal(found.intercept_, plain.intercept_)
            np.testing.assert_array_equal(found.predict_proba(X), plain.predict_proba(X))


def test_the_order_of_views_matters_only_to_their_random_layers(monkeypatch):
    X, y = table()

    def by_width(n_features, n_hidden, bias_scale, seed, place):
        rng = np.random.default_rng(n_features)
        return rng.normal(size=(n_features, n_hidden)), rng.uniform(size=n_hidden)

    monkeypatch.setattr(module, "draw_random_layer", by_width)
    forth = clone(MODEL).fit(X, y)
    back = clone(MODEL).set_params(views=TWO[::-1]).fit(X, y)
    np.testing.assert_allclose(back.predict_proba(X), forth.predict_proba(X), atol=1e-9)


def test_layers_of_views_are_their_own_and_nested():
    X, y = table()
    same = clone(MODEL).set_params(views=[slice(None), slice(None)]).fit(X, y)
    assert not np.allclose(same.hidden_weights_[0], same.hidden_weights_[1])
    large = clone(same).set_params(n_hidden=11).fit(X, y)
    for v in range(2):
        np.testing.assert_array_equal(large.hidden_weights_[v][:, :6], same.hidden_weights_[v])
        np.testing.assert_array_equal(large.hidden_bias_[v][:6], same.hidden_bias_[v])


def test_a_view_of_constants_is_harmless():
    X, y = table()
    X[:, :2] = 3.0
    model = clone(MODEL).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


# -- graphs ----------------------------------------------------------------------------


@pytest.mark.parametrize("graph", ["lda", "lfda"])
@pytest.mark.parametrize("coupling", [0.0, 0.4])
def test_graphs_stand_on_the_diagonal_of_the_released_system(coupling, graph):
    X, y = table()
    C, theta = 0.8, 0.02
    settings = {"coupling": coupling, "graph": graph, "graph_weight": theta, "C": C}
    model = clone(MODEL).set_params(**settings).fit(X, y)
    (A, B), T, rho = designs(model, X), one_hot(y), coupling * C
    ones = np.ones(len(y))
    S = [theta * graph_term(M, y, graph, ones) + np.eye(M.shape[1]) for M in (A, B)]
    system = np.block([[S[0] + C * A.T @ A, rho * A.T @ B], [rho * B.T @ A, S[1] + C * B.T @ B]])
    beta = np.linalg.solve(system, (C + rho) * np.vstack([A.T @ T, B.T @ T]))
    np.testing.assert_allclose(2.0 * model.coef_, beta, rtol=1e-7, atol=1e-9)
    assert model.solver_ == "lu"
    plain = clone(model).set_params(graph=None).fit(X, y)
    none = clone(model).set_params(graph_weight=0.0).fit(X, y)
    np.testing.assert_allclose(none.coef_, plain.coef_, atol=1e-9)


@pytest.mark.parametrize("graph", ["lda", "lfda"])
@pytest.mark.parametrize("C", [0.8, np.inf])
def test_graphs_count_rows_by_their_weight(graph, C):
    X, y = table()
    count = np.random.default_rng(2).integers(0, 4, len(y))
    model = clone(MODEL).set_params(graph=graph, graph_weight=0.1, C=C)
    weighted = clone(model).fit(X, y, count)
    repeated = clone(model).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_a_graph_has_seen_the_label_left_out():
    X, y = table()
    with pytest.raises(ValueError, match="C='loo' does not go with a graph"):
        clone(MODEL).set_params(graph="lda", C="loo").fit(X, y)


def test_with_a_graph_probabilities_come_from_models_without_the_rows_fold(monkeypatch):
    X, y = table()
    seen = {}

    def spy(scores, T, weight):
        seen["scores"] = scores
        return fit_calibration(scores, T, weight)

    monkeypatch.setattr("robell.models._estimator.fit_calibration", spy)
    model = clone(MODEL).set_params(graph="lda", graph_weight=0.1)
    clone(model).fit(X, y)
    fold = fold_shares(X, y, np.ones(len(y))).argmax(1)
    for k in range(fold.max() + 1):
        refit = clone(model).set_params(calibrate=False).fit(X[fold != k], y[fold != k])
        expected = class_scores(refit, X[fold == k])
        np.testing.assert_allclose(seen["scores"][fold == k], expected, atol=1e-9)


# -- leave-one-out ---------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("n_rows", [40, 14], ids=["tall", "wide"])
@pytest.mark.parametrize("views", [TWO, THREE], ids=["two", "three"])
def test_probabilities_come_from_exact_left_out_scores(views, n_rows, C, monkeypatch):
    X, y = table(n_rows)
    seen = {}

    def spy(scores, T, weight):
        seen["scores"] = scores
        return fit_calibration(scores, T, weight)

    monkeypatch.setattr("robell.models._estimator.fit_calibration", spy)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, n_rows)
    model = clone(MODEL).set_params(views=views, C=C, output_bias=True)
    clone(model).fit(X, y, weight)
    found = seen["scores"]
    for i in range(n_rows):
        rest = np.arange(n_rows) != i
        refit = clone(model).set_params(calibrate=False).fit(X[rest], y[rest], weight[rest])
        np.testing.assert_allclose(found[i], class_scores(refit, X[i : i + 1])[0], atol=1e-10)


@pytest.mark.parametrize("n_rows", [26, 14], ids=["tall", "wide"])
def test_c_is_that_of_the_smallest_left_out_error(n_rows):
    X, y = table(n_rows)
    model = clone(MODEL).set_params(calibrate=False)
    errors = []
    for C in PAPER_C.tolist():
        error = 0.0
        for i in range(n_rows):
            rest = np.arange(n_rows) != i
            refit = clone(model).set_params(C=C).fit(X[rest], y[rest])
            error += np.square(class_scores(refit, X[i : i + 1])[0] - one_hot(y)[i]).sum()
        errors.append(error)
    chosen = clone(model).set_params(C="loo").fit(X, y)
    assert PAPER_C[int(np.argmin(errors))] == chosen.C_


@pytest.mark.parametrize("C", [2.0, "loo", np.inf])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weights_are_repetitions(class_weight, C):
    X, y = table()
    count = np.random.default_rng(2).integers(0, 4, len(y))
    model = clone(MODEL).set_params(class_weight=class_weight, C=C)
    weighted = clone(model).fit(X, y, count)
    repeated = clone(model).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)


def test_columns_lost_beside_a_large_one_are_warned_of():
    X, y = table()
    X = X * np.r_[1e20, np.ones(X.shape[1] - 1)]
    model = clone(MODEL).set_params(n_hidden=20, activation="relu", calibrate=False)
    with pytest.warns(LinAlgWarning, match="a column or hidden node of a view reaches .e"):
        model.fit(X, y)


# -- selectors -------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_selectors_are_those_of_column_transformer(frame):
    X, y = table()
    expected = clone(MODEL).fit(X, y)
    named = pytest.importorskip(frame).DataFrame(dict(zip("abcde", X.T, strict=True)))
    selectors = [
        [["a", "b"], ["c", "d", "e"]],
        [slice("a", "b"), slice("c", None)],
        [slice(None, "b"), slice(2, None)],
        [[0, 1], [2, -2, -1]],
        [np.array([0, 1]), pd.Index([2, 3, 4])],
        [[True, True, False, False, False], np.arange(5) > 1],
        (lambda X: [0, 1], lambda X: [name for name in X.columns if name > "b"]),
    ]
    for views in selectors:
        found = clone(MODEL).set_params(views=views).fit(named, y)
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        np.testing.assert_array_equal(found.predict_proba(named), expected.predict_proba(X))
    one_column = clone(MODEL).set_params(views=["a", slice("b", "e"), 2]).fit(named, y)
    assert [len(columns) for columns in one_column.view_columns_] == [1, 4, 1]


def test_selectors_by_type():
    X, y = table()
    named = pd.DataFrame(X, columns=list("abcde")).astype({"a": "float32", "b": "float32"})
    views = [make_column_selector(dtype_include=kind) for kind in ("float32", "float64")]
    model = clone(MODEL).set_params(views=views).fit(named, y)
    assert [columns.tolist() for columns in model.view_columns_] == [[0, 1], [2, 3, 4]]


GRID = {"coupling": [0.0, 0.5, 1.0], "C": [1e-3, 0.1, 1e5], "n_hidden": [4, 9]}


@pytest.mark.parametrize(
    ("views", "n_classes", "settings"),
    [
        (TWO, 2, {}),
        (THREE, 3, {"output_bias": True, "class_weight": "balanced"}),
        (None, 2, {"output_bias": True}),
    ],
    ids=["two", "three", "one"],
)
def test_a_search_over_coupling_and_c_shares_its_work(views, n_classes, settings):
    X, y = table(90)
    y = np.minimum(y, n_classes - 1)
    model = clone(MODEL).set_params(views=views, **settings)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    theirs, ours = both(model, GRID, X, y, cv=3, params={"sample_weight": weight})
    assert_same(theirs, ours)
    assert ours.n_shared_ > 0.7 * 54


def test_a_search_that_cannot_share_says_why():
    X, y = table(90)
    scoring = {"scoring": "neg_log_loss", "cv": 3}
    for settings, more in (({"graph": "lda"}, {"cv": 3}), ({}, scoring)):
        theirs, ours = both(clone(MODEL).set_params(**settings), {"C": [0.1, 10.0]}, X, y, **more)
        assert_same(theirs, ours)
        assert ours.n_shared_ == 0
        (reason,) = ours.not_shared_
        assert "views" in reason


def test_pipelines_and_searches():
    X, y = table()
    named = pd.DataFrame(X, columns=list("abcde"))
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        clone(MODEL).set_params(views=[["a", "b"], ["c", "d", "e"]]),
    )
    grid = {f"multiviewrvflclassifier__{name}": values for name, values in GRID.items()}
    theirs, ours = both(pipeline, grid, named, y, cv=3)
    assert_same(theirs, ours)
    assert ours.n_shared_ > 0


def test_ranges_to_search():
    grid = paper_grid("multiview")
    assert len(ParameterGrid(grid)) == 6050
    for key, values in grid.items():
        clone(MODEL).set_params(**{key: values[-1]})._validate_params()


def test_views_are_saved_with_the_model(tmp_path):
    pytest.importorskip("skops")
    from robell.files import load_model, save_model

    X, y = table()
    model = clone(MODEL).set_params(views=[slice(0, 3), [2, 3, 4]], output_bias=True).fit(X, y)
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.fit(X, y).coef_, model.coef_)


# -- rows in parts ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"coupling": 0.0, "class_weight": "balanced"},
        {"coupling": 1.0, "views": THREE, "output_bias": True},
        {"C": "loo", "views": THREE},
        {"C": 1e4, "output_bias": True},
    ],
    ids=str,
)
def test_streams_and_passes_give_the_model_of_all_rows(settings):
    X, y = table(200)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    model = clone(MODEL).set_params(**settings)
    expected = clone(model).fit(X, y, weight)
    streamed, job = clone(model), OutOfCoreFit(model)
    parts = [slice(start, start + 37) for start in range(0, 200, 37)]
    for part in parts:
        streamed.partial_fit(X[part], y[part], [0, 1, 2], weight[part])
    for step in job.passes():
        step.finish(reduce(step.reduce, (step.map(X[p], y[p], weight[p]) for p in parts)))
    for found in (streamed, job.estimator()):
        assert found.C_ == expected.C_
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-7)


def test_sums_alone_give_the_model_of_all_rows(monkeypatch):
    """Where more rows were seen than are kept, and the equations want refining."""
    monkeypatch.setattr("robell.models._partial_fit.RESERVOIR", 20)
    X, y = table(300)
    X[:, 1] = X[:, 0] + 1e-6 * X[:, 1]
    model = clone(MODEL).set_params(C=1e5, views=[slice(0, 3), slice(2, 5)])
    job = OutOfCoreFit(model)
    parts = [slice(start, start + 50) for start in range(0, 300, 50)]
    names = []
    for step in job.passes():
        names.append(step.name)
        step.finish(reduce(step.reduce, (step.map(X[p], y[p]) for p in parts)))
    assert "residuals" in names
    expected = clone(model).fit(X, y)
    scores = job.estimator().decision_function(X)
    np.testing.assert_allclose(scores, expected.decision_function(X), atol=1e-8)


def test_streams_merge_and_their_coupling_may_change():
    X, y = table(120)
    here, there = (
        clone(MODEL).partial_fit(X[half], y[half], [0, 1, 2])
        for half in (slice(0, 50), slice(50, 120))
    )
    expected = clone(MODEL).fit(X, y)
    np.testing.assert_allclose(here.merge(there).coef_, expected.coef_, atol=1e-9)
    here.set_params(coupling=1.0).partial_fit(X[:1], y[:1], sample_weight=[0])
    expected.set_params(coupling=1.0).fit(X, y)
    np.testing.assert_allclose(here.coef_, expected.coef_, atol=1e-9)
    here.set_params(views=THREE)
    with pytest.raises(ValueError, match="views was changed from"):
        here.partial_fit(X, y)


def test_what_needs_the_whole_table_is_refused_in_parts():
    X, y = table()
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as error:
        clone(MODEL).set_params(graph="lda").partial_fit(X, y, [0, 1, 2])
    assert "a graph is made of all rows at once" in str(error.value.__cause__)
    with pytest.raises(TypeError, match="MultiViewRVFLClassifier without a graph"):
        OutOfCoreFit(clone(MODEL).set_params(graph="lda"))
    with pytest.raises(ValueError, match=r"views\[0\] is a function of the table"):
        clone(MODEL).set_params(views=[lambda X: [0]]).partial_fit(X, y, [0, 1, 2])
    named = pd.DataFrame(X, columns=list("abcde"))
    views = [np.array(["a", "b"]), ["c", "d", "e"]]
    by_name = clone(MODEL).set_params(views=views)
    for _ in range(2):
        by_name.partial_fit(named, y, [0, 1, 2])
    assert by_name.score(named, y) > 0.5


def test_files_are_fitted_in_passes(tmp_path):
    pytest.importorskip("pyarrow")
    from robell.files import fit_files

    X, y = table(120)
    pd.DataFrame(X, columns=list("abcde")).assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    for settings in ({}, {"graph": "lda"}):  # with a graph in memory
        model = clone(MODEL).set_params(**settings)
        found = fit_files(clone(model), [tmp_path / "t.csv"], "y")
        expected = clone(model).fit(X, y)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)


# -- bad input -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("views", "match"),
    [
        ([], "views is empty: give one selector of columns at least"),
        ([[0, 1], []], r"views\[1\] is empty: \[\] is no column of X \(n_features=5\)"),
        ([slice(None), slice(7, 9)], r"views\[1\] is empty: slice\(7, 9, None\)"),
        ([[False] * 5, slice(None)], r"views\[0\] is empty"),
        ([[0, 1], [3]], "columns 2, 4 are in no view: add them to one, or leave them out of X"),
        ([[0, 1], [2, 3, 5]], r"views\[1\] asks for column 5; X has 5"),
        ([[0, -6], slice(None)], r"views\[0\] asks for column -6; X has 5"),
        ([[True, False], slice(None)], r"views\[0\] is a mask of 2 columns; X has 5"),
        ([[0, 1.5], slice(None)], r"views\[0\] must be a slice, a mask.*got 1.5"),
        ([["a"], slice(None)], r"views\[0\] asks for column 'a' by its name, and X has no names"),
        ([None, slice(None)], r"views\[0\] must be a slice, a mask"),
        ("ab", "'views' parameter"),
    ],
)
def test_views_that_cannot_be_used_are_refused_in_one_line(views, match):
    X, y = table()
    with pytest.raises(ValueError, match=match) as error:
        clone(MODEL).set_params(views=views).fit(X, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("views", "match"),
    [
        ([["height"], slice(None)], r"views\[0\] asks for column 'height', which X does not have"),
        ([["wieght"], slice(None)], r"'wieght', which X does not have; did you mean 'weight'\?"),
        ([slice("weight", "hight"), slice(None)], "column 'hight', which X does not have"),
        ([["weight"], ["b", "c"]], "columns 'd', 'e' are in no view"),
    ],
)
def test_names_that_x_does_not_have_are_refused_in_one_line(views, match):
    X, y = table()
    named = pd.DataFrame(X, columns=["weight", "b", "c", "d", "e"])
    with pytest.raises(ValueError, match=match) as error:
        clone(MODEL).set_params(views=views).fit(named, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("C", [5e-324, 1e300, np.inf, "loo"])
def test_values_at_the_edges_give_finite_answers(C):
    X, y = table(30)
    few = np.repeat(np.arange(3), 10)
    for rows in (X, X[few], 0.0 * X):
        for n_hidden in (2, 40):
            model = clone(MODEL).set_params(C=C, n_hidden=n_hidden).fit(rows, y)
            assert np.isfinite(model.predict_proba(rows)).all()


@pytest.mark.parametrize("graph", [None, "lda", "lfda"])
def test_rows_too_large_are_refused_in_one_line(graph):
    X, y = table()
    with pytest.raises(ValueError, match=r"overflow|too large") as error:
        clone(MODEL).set_params(graph=graph).fit(1e160 * X, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("coupling", [-0.1, 1.1, np.nan])
def test_a_coupling_beyond_one_is_refused(coupling):
    """Beyond it the objective has no minimum."""
    with pytest.raises(ValueError, match="'coupling' parameter"):
        clone(MODEL).set_params(coupling=coupling).fit(*table())
