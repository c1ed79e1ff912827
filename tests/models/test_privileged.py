"""RVFL+ and KRVFL+: the release's formulas, the student's leave-one-out, folds, and bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import (
    KernelRVFLPlusClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
    RVFLPlusClassifier,
    paper_grid,
)
from robell._core.ridge.calibrate import fit_calibration
from robell.cli import main
from robell.models import privileged as module
from robell.models import robell as robell_module

PLUS = RVFLPlusClassifier(8, privileged_penalty=2.0, random_state=0)
KERNEL = KernelRVFLPlusClassifier(privileged_penalty=2.0)
each_model = pytest.mark.parametrize("model", [PLUS, KERNEL], ids=["random", "kernel"])


def tables(n_rows=60, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n_rows, 4)), 5.0 + 3.0 * rng.normal(size=(n_rows, 2))
    y = np.digitize(X[:, 0] + Z[:, 0] / 3.0 + 0.3 * rng.normal(size=n_rows), [1.0, 2.2])
    return X, Z, np.minimum(y, n_classes - 1)


def standardised(Z, weight=None):
    mean = np.average(Z, axis=0, weights=weight)
    deviation = np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=weight))
    return (Z - mean) / np.where(deviation > 0, deviation, 1.0)


def class_scores(model, X):
    """Scores of every class, not their difference."""
    return model._features(X) @ model._output_weights()


def both_designs(model, X, Z):
    H = 1 / (1 + np.exp(-(Z @ model.privileged_weights_ + model.privileged_bias_)))
    return model._features(X), np.hstack([Z, H])


def width_of(model, X):
    return np.sqrt(X.shape[1] * X.var())


def kernel_of(X, Y, width):
    return X @ Y.T + np.exp(-np.square(X[:, None] - Y[None]).sum(axis=2) / width**2)


# -- formulas --------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [-1, 0, 1])
@pytest.mark.parametrize("n_rows", [60, 15], ids=["tall", "wide"])
def test_rvfl_plus_is_the_released_dual(n_rows, sign):
    """β = Mᵀ(MMᵀ + M̃M̃ᵀ/γ + I/C)⁻¹(T ± (C/γ)M̃M̃ᵀ1): the last term shifts all classes alike."""
    X, Z, y = tables(n_rows)
    C, gamma = 0.7, 2.0
    model = clone(PLUS).set_params(C=C).fit(X, y, privileged=Z)
    M, other = both_designs(model, X, standardised(Z))
    T = (y[:, None] == model.classes_).astype(float)
    K = M @ M.T + other @ other.T / gamma + np.eye(n_rows) / C
    linear = sign * C / gamma * (other @ other.T @ np.ones_like(T))
    beta = M.T @ np.linalg.solve(K, T + linear)
    if sign == 0:
        np.testing.assert_allclose(model.coef_, beta, atol=1e-9)
        omega = other.T @ np.linalg.solve(K, T) / gamma
        np.testing.assert_allclose(model.privileged_coef_, omega, atol=1e-9)
    ours, theirs = M @ model.coef_, M @ beta
    np.testing.assert_allclose(ours - ours[:, :1], theirs - theirs[:, :1], atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[theirs.argmax(axis=1)])


def test_rvfl_plus_minimises_its_objective():
    X, Z, y = tables()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = clone(PLUS).set_params(C=3.0).fit(X, y, weight, privileged=Z)
    M, other = both_designs(model, X, standardised(Z, weight))
    T = (y[:, None] == model.classes_).astype(float)
    residual = weight[:, None] * (T - M @ model.coef_ - other @ model.privileged_coef_)
    np.testing.assert_allclose(model.coef_, 3.0 * M.T @ residual, atol=1e-9)
    np.testing.assert_allclose(2.0 * model.privileged_coef_, 3.0 * other.T @ residual, atol=1e-9)


@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_krvfl_plus_is_the_released_dual(sign):
    X, Z, y = tables()
    C, gamma = 0.7, 2.0
    model = clone(KERNEL).set_params(C=C).fit(X, y, privileged=Z)
    Z = standardised(Z)
    T = (y[:, None] == model.classes_).astype(float)
    omega = kernel_of(X, X, width_of(model, X))
    other = kernel_of(Z, Z, np.sqrt(2.0))
    right = T + sign * C / gamma * (other @ np.ones_like(T))
    found = np.linalg.solve(omega + other / gamma + np.eye(len(y)) / C, right)
    if sign == 0:
        np.testing.assert_allclose(model.coef_, found, atol=1e-9)
        np.testing.assert_array_equal(model.training_rows_, X)
    theirs, ours = omega @ found, class_scores(model, X)
    np.testing.assert_allclose(ours - ours[:, :1], theirs - theirs[:, :1], atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[theirs.argmax(axis=1)])


def test_krvfl_plus_with_a_kernel_that_vanishes_or_is_one_is_linear(monkeypatch):
    """Linear kernels are RVFL+ with designs [X X] and [Z Z]."""
    X, Z, y = tables()
    monkeypatch.setattr(module, "_linear_and_gaussian", lambda X, Y, width: 2.0 * X @ Y.T)
    model = clone(KERNEL).fit(X, y, privileged=Z)
    J = np.hstack([X, X, *[standardised(Z) / np.sqrt(2.0)] * 2])
    T = (y[:, None] == model.classes_).astype(float)
    beta = np.linalg.solve(J.T @ J + np.eye(12), J.T @ T)
    np.testing.assert_allclose(class_scores(model, X), J[:, :8] @ beta[:8], atol=1e-9)


@pytest.mark.parametrize("C", [0.5, 20.0, "loo", np.inf])
def test_a_large_penalty_or_no_privileged_columns_leave_rvfl(C):
    X, Z, y = tables()
    plain = RVFLClassifier(8, C=C, random_state=0).fit(X, y)
    alone = clone(PLUS).set_params(C=C).fit(X, y)
    np.testing.assert_array_equal(alone.coef_, plain.coef_)
    np.testing.assert_array_equal(alone.predict_proba(X), plain.predict_proba(X))
    if np.inf != C:  # in that limit the penalty does not count
        far = clone(PLUS).set_params(C=C, privileged_penalty=1e14).fit(X, y, privileged=Z)
        np.testing.assert_allclose(far.coef_, plain.coef_, atol=1e-9)
        np.testing.assert_allclose(far.predict_proba(X), plain.predict_proba(X), atol=1e-7)
    harmless = clone(PLUS).set_params(C=C).fit(X, y, privileged=np.full((len(y), 0), 1.0))
    np.testing.assert_array_equal(harmless.coef_, plain.coef_)


def test_a_large_penalty_leaves_kernel_ridge():
    X, Z, y = tables()
    plain, far = clone(KERNEL).fit(X, y), clone(KERNEL).set_params(privileged_penalty=1e14)
    far.fit(X, y, privileged=Z)
    np.testing.assert_allclose(far.coef_, plain.coef_, atol=1e-9)
    K = kernel_of(X, X, width_of(plain, X))
    T = (y[:, None] == plain.classes_).astype(float)
    np.testing.assert_allclose(plain.coef_, np.linalg.solve(K + np.eye(len(y)), T), atol=1e-9)
    assert not hasattr(plain, "privileged_penalty_")


@each_model
def test_constant_privileged_columns_say_next_to_nothing(model):
    """They are zeros; what remains is a constant, of hidden nodes or of the kernel."""
    X, _, y = tables()
    for constant in (0.0, 7.25, 1e200):
        with_it = clone(model).set_params(privileged_penalty=1e9)
        with_it.fit(X, y, privileged=np.full((len(y), 2), constant))
        without = clone(model).fit(X, y)
        np.testing.assert_allclose(class_scores(with_it, X), class_scores(without, X), atol=1e-6)


@each_model
def test_rows_may_come_in_any_order_but_belong_to_each_other(model):
    X, Z, y = tables()
    order = np.random.default_rng(0).permutation(len(y))
    expected = clone(model).fit(X, y, privileged=Z)
    found = clone(model).fit(X[order], y[order], privileged=Z[order])
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    mixed = clone(model).fit(X, y, privileged=Z[order])
    assert np.abs(class_scores(mixed, X) - class_scores(expected, X)).max() > 1e-3
    shifted = clone(model).fit(X, y, privileged=100.0 * Z - 3.0)  # standardised inside
    np.testing.assert_allclose(class_scores(shifted, X), class_scores(expected, X), atol=1e-9)


@each_model
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("C", [2.0, "loo"])
def test_weights_are_repetitions_of_both_tables(model, class_weight, C):
    X, Z, y = tables(40)
    count = np.random.default_rng(2).integers(0, 4, len(y))
    model = clone(model).set_params(class_weight=class_weight, C=C)
    weighted = clone(model).fit(X, y, count, privileged=Z)
    twice = [np.repeat(one, count, axis=0) for one in (X, y, Z)]
    repeated = clone(model).fit(*twice[:2], privileged=twice[2])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-9
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    uncalibrated = clone(model).set_params(calibrate=False, C=2.0)
    found = uncalibrated.fit(*twice[:2], privileged=twice[2])  # copies are not merged here
    expected = clone(uncalibrated).fit(X, y, count, privileged=Z)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-9)


# -- leave-one-out ---------------------------------------------------------------------


def scores_without_each(model, X, Z, y, monkeypatch, weight=None):
    """Refits without each row, under the standardisation and the widths of all rows."""
    weight = np.ones(len(y)) if weight is None else weight
    fitted = clone(model).fit(X, y, weight, privileged=Z)
    scales = fitted.privileged_mean_, fitted.privileged_scale_
    monkeypatch.setattr(module, "column_scales", lambda Z, multiplicity: scales)
    widths = {4: getattr(fitted, "kernel_width_", 0)}
    widths[Z.shape[1]] = getattr(fitted, "privileged_kernel_width_", 0)
    monkeypatch.setattr(
        robell_module, "scale_kernel_width", lambda X, multiplicity: widths[X.shape[1]]
    )
    found = np.empty((len(y), len(fitted.classes_)))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        refit = clone(model).fit(X[rest], y[rest], weight[rest], privileged=Z[rest])
        found[i] = class_scores(refit, X[i : i + 1])[0]
    return fitted, found


@each_model
@pytest.mark.parametrize("n_rows", [50, 16], ids=["tall", "wide"])
@pytest.mark.parametrize("C", [0.5, 100.0])
def test_probabilities_come_from_the_students_left_out_scores(model, n_rows, C, monkeypatch):
    X, Z, y = tables(n_rows, n_classes=2)
    seen = {}

    def spy(scores, T, weight):
        seen["scores"] = scores
        return fit_calibration(scores, T, weight)

    monkeypatch.setattr("robell.models._estimator.fit_calibration", spy)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, n_rows)
    model = clone(model).set_params(C=C)
    clone(model).fit(X, y, weight, privileged=Z)
    left_out = seen["scores"]
    _, expected = scores_without_each(model, X, Z, y, monkeypatch, weight)
    np.testing.assert_allclose(left_out, expected, rtol=0, atol=1e-10)


@each_model
def test_c_and_penalty_are_those_of_the_smallest_left_out_error(model, monkeypatch):
    X, Z, y = tables(30, n_classes=2)
    monkeypatch.setattr(module, "PAPER_C", np.array([0.01, 1.0, 100.0]))
    monkeypatch.setattr(module, "PENALTIES", np.array([0.1, 10.0, 1e4]))
    model = clone(model).set_params(calibrate=False)
    chosen = clone(model).set_params(C="loo", privileged_penalty="loo").fit(X, y, privileged=Z)
    errors, T = {}, (y[:, None] == [0, 1]).astype(float)
    for C in (0.01, 1.0, 100.0):
        for penalty in (0.1, 10.0, 1e4):
            here = clone(model).set_params(C=C, privileged_penalty=penalty)
            with monkeypatch.context() as patch:
                _, scores = scores_without_each(here, X, Z, y, patch)
            errors[C, penalty] = np.square(T - scores).sum()
    assert (chosen.C_, chosen.privileged_penalty_) == min(errors, key=errors.get)
    one = clone(model).set_params(C=1.0, privileged_penalty="loo").fit(X, y, privileged=Z)
    best = min((0.1, 10.0, 1e4), key=lambda penalty: errors[1.0, penalty])
    assert (one.C_, one.privileged_penalty_) == (1.0, best)


@each_model
def test_copies_are_left_out_together_when_the_penalty_is_chosen(model):
    X, Z, y = tables(40)
    model = clone(model).set_params(calibrate=False, privileged_penalty="loo")
    once = clone(model).fit(X, y, privileged=Z)
    thrice = [np.repeat(one, 3, axis=0) for one in (X, y, Z)]
    again = clone(model).set_params(C=1.0 / 3.0).fit(*thrice[:2], privileged=thrice[2])
    assert again.privileged_penalty_ == once.privileged_penalty_
    np.testing.assert_allclose(class_scores(again, X), class_scores(once, X), atol=1e-9)


# -- scikit-learn's ways ---------------------------------------------------------------


@each_model
@pytest.mark.parametrize("routing", [False, True])
def test_folds_cut_privileged_columns_with_the_rows(model, routing):
    X, Z, y = tables()
    cv = KFold(3)
    expected = [
        clone(model).fit(X[train], y[train], privileged=Z[train]).score(X[test], y[test])
        for train, test in cv.split(X)
    ]
    with config_context(enable_metadata_routing=routing):
        found = cross_validate(clone(model), X, y, cv=cv, params={"privileged": Z})
        np.testing.assert_allclose(found["test_score"], expected)
        grid = {"C": [0.1, 10.0]}
        theirs = GridSearchCV(clone(model), grid, cv=cv).fit(X, y, privileged=Z)
        ours = RVFLGridSearchCV(clone(model), grid, cv=cv).fit(X, y, privileged=Z)
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )
    shared = 6 if isinstance(model, RVFLPlusClassifier) else 0  # no work is, of kernels
    assert (ours.n_shared_, sum(ours.not_shared_.values())) == (shared, 6 - shared)
    assert ours.best_estimator_.privileged_penalty_ == 2.0


@each_model
@pytest.mark.parametrize("routing", [False, True])
def test_pipelines_pass_privileged_columns_on(model, routing):
    X, Z, y = tables()
    scaled = StandardScaler().fit_transform(X)
    expected = clone(model).fit(scaled, y, privileged=Z).predict_proba(scaled)
    pipeline = make_pipeline(StandardScaler(), clone(model))
    name = pipeline.steps[-1][0]
    with config_context(enable_metadata_routing=routing):
        given = {"privileged" if routing else f"{name}__privileged": Z}
        found = pipeline.fit(X, y, **given)
        np.testing.assert_allclose(found.predict_proba(X), expected, atol=1e-12)
        search = GridSearchCV(pipeline, {f"{name}__C": [0.1, 1.0]}, cv=3).fit(X, y, **given)
        assert hasattr(search.best_estimator_[-1], "privileged_penalty_")


def test_without_privileged_columns_the_search_shares_its_work():
    X, _, y = tables()
    grid = {"C": [0.1, 10.0], "n_hidden": [4, 8]}
    theirs, ours = (kind(PLUS, grid, cv=3).fit(X, y) for kind in (GridSearchCV, RVFLGridSearchCV))
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )
    assert ours.n_shared_ == 12


@each_model
@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_and_text_labels(model, frame):
    X, Z, y = tables()
    kind = pytest.importorskip(frame).DataFrame
    names = np.array(["low", "middle", "high"])[y]
    tables_of = [
        kind({f"{name}{k}": c for k, c in enumerate(t.T)}) for name, t in (("x", X), ("z", Z))
    ]
    model = clone(model).fit(tables_of[0], names, privileged=tables_of[1])
    expected = clone(model).fit(X, y, privileged=Z)
    order = np.searchsorted(model.classes_, ["low", "middle", "high"])
    np.testing.assert_allclose(
        model.predict_proba(tables_of[0])[:, order], expected.predict_proba(X), atol=1e-9
    )
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]


@each_model
def test_a_second_fit_forgets_the_first(model):
    X, Z, y = tables()
    again = clone(model).fit(X, y, privileged=Z).fit(X, y)
    plain = clone(model).fit(X, y)
    assert vars(again).keys() == vars(plain).keys()
    np.testing.assert_array_equal(again.coef_, plain.coef_)


@each_model
def test_the_model_does_not_change_with_the_callers_tables(model):
    X, Z, y = tables()
    fitted = clone(model).fit(X, y, privileged=Z)
    new = np.random.default_rng(5).normal(size=(9, 4))
    before = fitted.decision_function(new)
    X[:], Z[:] = 0.0, 0.0
    np.testing.assert_array_equal(fitted.decision_function(new), before)


@pytest.mark.parametrize(
    ("name", "model", "size"), [("rvfl_plus", PLUS, 9680), ("krvfl_plus", KERNEL, 968)]
)
def test_ranges_to_search(name, model, size):
    grid = paper_grid(name)
    assert len(ParameterGrid(grid)) == size
    assert grid["privileged_penalty"] == module.PENALTIES.tolist()
    for key, values in grid.items():
        clone(model).set_params(**{key: values[0]})._validate_params()


@pytest.fixture
def past(tmp_path):
    """A file with two columns that will not be known."""
    X, Z, y = tables()
    table = pd.DataFrame(np.hstack([X, Z]), columns=["a", "b", "c", "d", "cost", "days"])
    table.assign(y=np.array(["low", "mid", "high"])[y]).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv", table, np.array(["low", "mid", "high"])[y]


@each_model
@pytest.mark.parametrize("scaled", [False, True])
def test_columns_of_files_may_be_privileged(past, model, scaled):
    pytest.importorskip("pyarrow")
    from robell.files import fit_files

    path, table, y = past
    X, Z = table[["a", "b", "c", "d"]], table[["cost", "days"]]
    estimator = make_pipeline(StandardScaler(), clone(model)) if scaled else clone(model)
    found = fit_files(estimator, path, "y", privileged=["cost", "days"])
    if scaled:
        X = StandardScaler().fit_transform(X)
        found = found[-1]
    expected = clone(model).fit(X, y, privileged=Z)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-9)
    assert found.n_features_in_ == 4


def test_the_command_takes_privileged_columns(past, capsys):
    pytest.importorskip("skops")
    from robell.files import load_model

    path, table, y = past
    out, predicted = path.parent / "m.skops", path.parent / "p.csv"
    fit = ["fit", str(path), "--target", "y", "--out", str(out), "--no-scale", "--plain"]
    chosen = ["--model", "krvfl_plus", "--privileged", "cost", "--privileged", "days"]
    assert main([*fit, *chosen]) == 0
    assert "60 rows, 4 features" in capsys.readouterr().out
    expected = KernelRVFLPlusClassifier().fit(table.iloc[:, :4], y, privileged=table.iloc[:, 4:])
    np.testing.assert_allclose(load_model(out).coef_, expected.coef_, atol=1e-9)
    table.iloc[:, :4].to_csv(path, index=False)  # the others are not known any more
    assert main(["predict", str(out), str(path), "--out", str(predicted), "--quiet"]) == 0
    found = pd.read_csv(predicted)["prediction"]
    np.testing.assert_array_equal(found, expected.predict(table.iloc[:, :4]))


@pytest.mark.parametrize(
    ("model", "names", "match"),
    [
        ("rvfl_plus", ["costs"], "no column 'costs' to be privileged; did you mean 'cost'"),
        ("rvfl", ["cost"], "RVFLClassifier has no use for privileged columns"),
        ("krvfl_plus", ["a", "b", "c", "d", "cost", "days"], "all columns are privileged"),
        ("rvfl_plus", ["y"], "no column 'y' to be privileged"),
    ],
)
def test_the_command_refuses_other_columns_in_one_line(past, capsys, model, names, match):
    pytest.importorskip("skops")
    out = past[0].parent / "m.skops"
    fit = ["fit", str(past[0]), "--target", "y", "--out", str(out), "--plain", "--model", model]
    assert main([*fit, *(part for name in names for part in ("--privileged", name))]) == 1
    error = capsys.readouterr().err.strip()
    assert match in error
    assert "\n" not in error
    assert not out.exists()


# -- bad input -------------------------------------------------------------------------


def refused(call, match):
    with pytest.raises(ValueError, match=match) as error:
        call()
    assert "\n" not in str(error.value)


@each_model
def test_privileged_columns_that_cannot_be_used_are_refused_in_one_line(model):
    X, Z, y = tables()
    spoilt = Z.copy()
    spoilt[3, 1] = np.nan
    named = pd.DataFrame(spoilt, columns=["a", "later"])
    text = pd.DataFrame({"a": ["?"] * len(y)})
    for given, match in [
        (Z[:-1], "privileged must have one row for every row of X, 60; got 59"),
        (Z[:, 0], r"privileged must be a table.*got 1 dimension"),
        (3.0, r"privileged must be a table.*got 0 dimension"),
        (spoilt, r"Input privileged contains NaN \(column 1, row 3\): \w+ accepts finite"),
        (named, r"Input privileged contains NaN \(column 'later', row 3\)"),
        (text, r"privileged must be numeric \(column 'a', row 0\)"),
    ]:
        refused(lambda given=given: clone(model).fit(X, y, privileged=given), match)


@each_model
def test_privileged_columns_missing_in_one_fold_fail_that_fold_only(model):
    X, Z, y = tables()
    Z[:5] = np.nan  # of the first test fold: its training rows are complete
    settings = {"cv": KFold(12), "params": {"privileged": Z}, "error_score": np.nan}
    with pytest.warns(Warning, match="Input privileged contains NaN"):
        scores = cross_validate(clone(model), X, y, **settings)["test_score"]
    assert np.isfinite(scores[0])
    assert np.isnan(scores[1:]).all()
    with pytest.raises(ValueError, match="privileged must have one row for every row of X"):
        cross_validate(clone(model), X, y, cv=3, params={"privileged": Z[:-1]}, error_score="raise")


def test_kernels_of_too_many_rows_are_refused(monkeypatch):
    X, Z, y = tables()
    monkeypatch.setattr(module, "KERNEL_ROWS", 59)
    refused(lambda: clone(KERNEL).fit(X, y, privileged=Z), "of at most 59; X has 60: give a sample")
    assert clone(KERNEL).fit(X, y, np.r_[0, np.ones(59)], privileged=Z).score(X, y) > 0.5
    monkeypatch.undo()
    assert module.KERNEL_ROWS == 20_000


@pytest.mark.parametrize("C", [1e5, np.inf])
def test_copies_with_other_labels_are_harmless_to_kernels(C):
    X, Z, y = tables(30, n_classes=2)
    X, Z, y = np.vstack([X, X[:6]]), np.vstack([Z, Z[:6]]), np.r_[y, 1 - y[:6]]
    for calibrate in (False, True):
        model = clone(KERNEL).set_params(C=C, calibrate=calibrate).fit(X, y, privileged=Z)
        scores = model.decision_function(X)
        assert np.isfinite(scores).all()
        if np.inf == C:
            joint = scores[:30]
            np.testing.assert_allclose(joint[:6], scores[30:], atol=1e-9)


@pytest.mark.parametrize("C", [5e-324, 1e300, np.inf, "loo"])
@each_model
def test_values_at_the_edges_give_finite_answers(model, C):
    X, Z, y = tables(30)
    few = np.repeat(np.arange(3), 10)
    for rows, columns in [(X, Z), (X[few], Z[few]), (0.0 * X, Z), (X, 0.0 * Z), (X, 1e300 * Z)]:
        fitted = clone(model).set_params(C=C).fit(rows, y, privileged=columns)
        assert np.isfinite(fitted.predict_proba(rows)).all()
    for penalty in (1e-300, 1e300):
        fitted = clone(model).set_params(privileged_penalty=penalty).fit(X, y, privileged=Z)
        assert np.isfinite(fitted.predict_proba(X)).all()


@pytest.mark.parametrize("width", [5e-324, 1e-200, 1e200, 1e308])
def test_kernels_of_any_width(width):
    X, Z, y = tables(30)
    model = clone(KERNEL).set_params(kernel_width=width).fit(X, y, privileged=Z)
    constant = 0.0 if width < 1 else 1.0
    expected = X @ X.T + np.where(np.eye(30, dtype=bool), 1.0, constant)
    np.testing.assert_allclose(model._features(X), expected, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, -1.0, "best"])
def test_parameters_are_checked(value):
    X, _, y = tables()
    for model in (PLUS, KERNEL):
        refused(
            lambda model=model: clone(model).set_params(privileged_penalty=value).fit(X, y),
            "'privileged_penalty' parameter",
        )
