"""Networks that predict numbers, against literal formulas, refits and repeated rows."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import DeepRVFLRegressor, ELMRegressor, RVFLGridSearchCV, RVFLRegressor
from robell._core.ridge.solve import WithConstant, left_out_errors
from robell.models._estimator import PAPER_C
from robell.scale.out_of_core import OutOfCoreFit

BOTH = pytest.mark.parametrize("kind", [RVFLRegressor, ELMRegressor])


def table(n_rows=60, n_features=4, n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    Y = X @ rng.normal(size=(n_features, n_targets)) + np.sin(X[:, :1])
    Y += 0.3 * rng.normal(size=Y.shape) + [5.0, -100.0, 3.0][:n_targets]
    return X, Y[:, 0] if n_targets == 1 else Y


def literal(model, X, Y, C, w):
    """β and b as least squares of stacked rows: weighted data, then the penalty without b."""
    H = 1.0 / (1.0 + np.exp(-(X @ model.hidden_weights_ + model.hidden_bias_)))
    M = np.hstack([X, H]) if model._direct_link else H
    Z = np.hstack([np.ones((len(M), 1)), M])
    penalty = np.eye(Z.shape[1])[1:] / np.sqrt(C)
    rows = np.vstack([Z * np.sqrt(w)[:, None], penalty])
    targets = np.vstack([Y * np.sqrt(w)[:, None], np.zeros((len(penalty), Y.shape[1]))])
    return np.linalg.lstsq(rows, targets, rcond=None)[0], Z


@BOTH
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("n_hidden", [9, 80], ids=["tall", "wide"])
def test_the_literal_formula(kind, C, n_hidden):
    X, Y = table()
    w = np.random.default_rng(1).uniform(0.2, 3.0, len(X))
    model = kind(n_hidden, C=C, random_state=0).fit(X, Y, w)
    beta, Z = literal(model, X, Y, C, w)
    np.testing.assert_allclose(model.intercept_, beta[0], rtol=0, atol=1e-9 * abs(beta).max())
    np.testing.assert_allclose(model.coef_, beta[1:], rtol=0, atol=1e-9 * abs(beta).max())
    np.testing.assert_allclose(model.predict(X), Z @ beta, rtol=0, atol=1e-9 * abs(Y).max())


@BOTH
@pytest.mark.parametrize("n_hidden", [9, 80], ids=["tall", "wide"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_left_out_residuals_are_those_of_refits(kind, n_hidden, C):
    X, Y = table(40)
    w = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = kind(n_hidden, C=C, intervals=True, random_state=0)
    found = clone(model).fit(X, Y, w)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        without = clone(model).set_params(intervals=False).fit(X[rest], Y[rest], w[rest])
        expected = np.abs(Y[i] - without.predict(X[i : i + 1])[0])
        np.testing.assert_allclose(found.interval_residuals_[i], expected, rtol=0, atol=1e-10 * 100)


@pytest.mark.parametrize("n_hidden", [6, 60], ids=["tall", "wide"])
def test_loo_chooses_what_refits_choose(n_hidden):
    X, Y = table(30)
    errors = np.zeros(len(PAPER_C))
    for k, C in enumerate(PAPER_C):
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            fitted = RVFLRegressor(n_hidden, C=C, random_state=0).fit(X[rest], Y[rest])
            error = (Y[i] - fitted.predict(X[i : i + 1])[0]) / Y.std(axis=0)
            errors[k] += np.square(error).sum()
    model = RVFLRegressor(n_hidden, C="loo", random_state=0).fit(X, Y)
    assert PAPER_C[np.argmin(errors)] == model.C_
    # in units of the targets' spread: another unit chooses the same
    again = RVFLRegressor(n_hidden, C="loo", random_state=0).fit(X, Y * [1e6, 1e-3])
    assert again.C_ == model.C_


@pytest.mark.parametrize("outlier", [1.0, 1e3, 1e4])
def test_loo_chooses_what_refits_choose_where_a_row_decides_its_own_score(rng, outlier):
    X = rng.normal(size=(14, 4))
    X[:, 2] = 0.0
    X[3, 2] = outlier  # without this row nothing is known of the column
    y = X[:, 0] + rng.normal(size=14)
    errors = np.zeros(len(PAPER_C))
    for k, C in enumerate(PAPER_C):
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            fitted = RVFLRegressor(2, C=C, random_state=0).fit(X[rest], y[rest])
            errors[k] += np.square(y[i] - fitted.predict(X[i : i + 1])[0])
    model = RVFLRegressor(2, C="loo", random_state=0).fit(X, y)
    assert PAPER_C[np.argmin(errors)] == model.C_
    one_by_one = WithConstant(model._design(X), y[:, None])
    found = left_out_errors(one_by_one, PAPER_C) * y.var()
    np.testing.assert_allclose(found, errors, rtol=0.01)


@BOTH
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), n_hidden=st.sampled_from([3, 50]))
def test_weights_are_repetitions(kind, seed, n_hidden):
    rng = np.random.default_rng(seed)
    X, Y = table(25, seed=seed)
    w = rng.integers(0, 4, len(X))
    w[0] = 2
    model = kind(n_hidden, C="loo", intervals=True, random_state=0)
    weighted = clone(model).fit(X, Y, w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    assert weighted.C_ == repeated.C_
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=0, atol=1e-7)
    for coverage in (0.5, 0.8):
        np.testing.assert_allclose(
            weighted.predict_interval(X, coverage),
            repeated.predict_interval(X, coverage),
            rtol=0,
            atol=1e-6,
        )


def test_rows_equal_in_x_are_left_out_together():
    X, y = table(40, n_targets=1)
    doubled, targets = np.vstack([X, X[:5]]), np.concatenate([y, y[:5] + 1.0])
    model = RVFLRegressor(9, intervals=True, random_state=0).fit(doubled, targets)
    rest = np.arange(len(doubled)) % 40 != 2
    without = RVFLRegressor(9, random_state=0).fit(doubled[rest], targets[rest])
    expected = np.abs(targets[[2, 42]] - without.predict(X[2:3])[0])
    np.testing.assert_allclose(model.interval_residuals_[[2, 42], 0], expected, atol=1e-10)


@BOTH
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4, np.inf, "loo"])
@pytest.mark.parametrize("n_hidden", [5, 70])
def test_a_shift_of_y_shifts_predictions_and_a_constant_is_itself(kind, C, n_hidden):
    X, Y = table()
    model = kind(n_hidden, C=C, random_state=0)
    shift = np.array([1000.0, -7.0])
    plain, shifted = clone(model).fit(X, Y), clone(model).fit(X, Y + shift)
    np.testing.assert_allclose(shifted.predict(X), plain.predict(X) + shift, atol=1e-8)
    np.testing.assert_allclose(shifted.coef_, plain.coef_, atol=1e-8 * abs(plain.coef_).max())
    constant = clone(model).fit(X, np.full(len(X), 0.1))
    assert (constant.predict(X) == 0.1).all()
    assert not constant.coef_.any()


def test_several_targets_are_fitted_as_each_alone():
    X, Y = table(n_targets=3)
    together = RVFLRegressor(20, intervals=True, random_state=0).fit(X, Y)
    bounds = together.predict_interval(X, 0.8)
    assert together.predict(X).shape == (60, 3)
    assert bounds.shape == (60, 2, 3)
    for k in range(3):
        alone = RVFLRegressor(20, intervals=True, random_state=0).fit(X, Y[:, k])
        assert alone.predict(X).shape == (60,)
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-11)
        np.testing.assert_allclose(bounds[:, :, k], alone.predict_interval(X, 0.8), atol=1e-11)


def test_without_penalty_it_is_the_least_squares_solution_of_smallest_norm():
    X, y = table(30, n_targets=1)
    for n_hidden in (5, 60):
        model = RVFLRegressor(n_hidden, C=np.inf, random_state=0).fit(X, y)
        M = model._features(X)[:, 1:]
        expected = np.linalg.pinv(M - M.mean(axis=0)) @ (y - y.mean())
        np.testing.assert_allclose(
            model.coef_[:, 0], expected, atol=1e-6 * max(1, abs(expected).max())
        )


def test_ridge_of_scikit_learn_on_the_same_columns():
    X, Y = table()
    model = RVFLRegressor(20, C=3.0, random_state=0).fit(X, Y)
    M = model._features(X)[:, 1:]
    ridge = Ridge(alpha=1.0 / 3.0, solver="svd").fit(M, Y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(M), atol=1e-10)


# -- intervals ---------------------------------------------------------------------------


def test_intervals_hold_new_targets_as_often_as_they_say():
    hits = []
    for seed in range(40):
        X, y = table(150, n_targets=1, seed=seed)
        model = RVFLRegressor(15, intervals=True, random_state=seed).fit(X[:100], y[:100])
        low, high = model.predict_interval(X[100:], coverage=0.8).T
        hits.append(((y[100:] >= low) & (y[100:] <= high)).mean())
    assert 0.77 < np.mean(hits) < 0.83


def test_the_half_width_is_an_order_statistic_of_left_out_residuals():
    X, y = table(49, n_targets=1)
    model = RVFLRegressor(9, intervals=True, random_state=0).fit(X, y)
    low, high = model.predict_interval(X, coverage=0.9).T
    residuals = np.sort(model.interval_residuals_[:, 0])
    np.testing.assert_allclose((high - low) / 2, residuals[44], atol=1e-12)  # 0.9 * 50 = 45th
    np.testing.assert_allclose((high + low) / 2, model.predict(X), atol=1e-12)


@pytest.mark.parametrize("C", [1.0, "loo", np.inf])
def test_intervals_of_rows_that_are_all_equal_are_those_of_the_other_rows_targets(C):
    y = np.arange(20.0)
    model = RVFLRegressor(5, C=C, intervals=True, random_state=0).fit(np.ones((20, 2)), y)
    others = (y.sum() - y) / 19
    np.testing.assert_allclose(model.interval_residuals_[:, 0], np.abs(y - others), atol=1e-9)


@pytest.mark.parametrize("intervals", [False, True])
def test_rows_that_are_all_equal_have_the_mean_target_without_a_penalty(intervals, rng):
    y, weight = rng.normal(size=40), rng.uniform(0.0, 2.0, 40)
    model = RVFLRegressor(5, C=np.inf, intervals=intervals, random_state=0)
    model.fit(np.tile(rng.normal(size=2), (40, 1)), y, weight)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, np.average(y, weights=weight))


def test_intervals_that_cannot_be():
    X, y = table(19, n_targets=1)
    model = RVFLRegressor(5, intervals=True, random_state=0).fit(X, y)
    assert model.predict_interval(X, 0.95).shape == (19, 2)
    with pytest.raises(ValueError, match=r"0.96 needs more rows: 19 training rows allow for 0.95"):
        model.predict_interval(X, 0.96)
    for bad in (0, 1, -0.5, 90, "0.9", None):
        with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
            model.predict_interval(X, bad)
    without = RVFLRegressor(5).fit(X, y)
    assert not hasattr(without, "predict_interval")
    with pytest.raises(AttributeError, match="predict_interval"):
        without.predict_interval(X)
    with pytest.raises(AttributeError, match="needs intervals=True at fit"):
        without.set_params(intervals=True).predict_interval(X)


# -- parts -------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("C", [1e-2, 10.0, "loo"])
def test_a_stream_is_a_fit_to_all_of_its_rows(kind, n_targets, C):
    X, Y = table(90, n_targets=n_targets)
    X[80:] = X[:10]
    w = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    model = kind(12, C=C, intervals=True, random_state=0)
    whole = clone(model).fit(X, Y, w)
    here, there = clone(model), clone(model)
    for start in range(0, 90, 20):
        part = slice(start, start + 20)
        (here if start < 50 else there).partial_fit(X[part], Y[part], w[part])
    merged = pickle.loads(pickle.dumps(here)).merge(there)
    assert merged.C_ == whole.C_
    np.testing.assert_allclose(merged.predict(X), whole.predict(X), atol=1e-9 * abs(Y).max())
    np.testing.assert_allclose(
        merged.predict_interval(X), whole.predict_interval(X), atol=1e-8 * abs(Y).max()
    )


@pytest.mark.parametrize("activation", ["sigmoid", "sin"])
def test_the_penalty_of_columns_far_from_zero(activation):
    """C="loo" and the intervals depend neither on the order of the rows nor on their parts."""
    X, y = table(300, 2, n_targets=1)
    X += [1e8, 0.0]
    model = RVFLRegressor(6, activation, C="loo", intervals=True, random_state=0)
    whole, parts = clone(model).fit(X, y), clone(model)
    for rows in np.array_split(np.arange(300), 4):
        parts.partial_fit(X[rows], y[rows])
    assert parts.C_ == whole.C_
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(300)
        assert clone(model).fit(X[order], y[order]).C_ == whole.C_
    np.testing.assert_allclose(parts.predict_interval(X), whole.predict_interval(X), atol=1e-5)


def test_a_stream_refuses_other_targets_and_other_kinds():
    X, Y = table(40)
    model = RVFLRegressor(5, random_state=0).partial_fit(X, Y)
    with pytest.raises(ValueError, match="y has 1 targets, and 2 on the calls before"):
        model.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="same kind and number of targets"):
        model.merge(RVFLRegressor(5, random_state=0).partial_fit(X, Y[:, 0]))
    with pytest.raises(ValueError, match=r"intervals=True and C=.* need a sample of the rows"):
        clone(model).partial_fit(X, Y).set_params(intervals=True).partial_fit(X, Y)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.partial_fit(X, np.where(Y > 0, np.nan, Y))
    assert model._stream.state.sizes[0] == 40


@pytest.mark.parametrize("known", [True, False])
def test_passes_over_parts_are_a_fit(known):
    X, Y = table(120)
    model = make_pipeline(StandardScaler(), RVFLRegressor(9, C="loo", random_state=0))
    size = {"n_features": 4, "n_targets": 2} if known else {}
    job = OutOfCoreFit(model, **size)
    for step in job.passes():
        total = None
        for k in range(5):
            part = step.map(X[k::5], Y[k::5])
            total = part if total is None else step.reduce(total, part)
        step.finish(total)
    found = job.estimator()
    np.testing.assert_allclose(found.predict(X), model.fit(X, Y).predict(X), atol=1e-8)


def test_ill_conditioned_passes_are_refined():
    X, y = table(400, n_features=2, n_targets=1)
    X[:, 1] = X[:, 0] + 1e-5 * X[:, 1]
    model = RVFLRegressor(40, C=1e7, random_state=0)
    job = OutOfCoreFit(model, n_features=2, n_targets=1)
    for step in job.passes():
        step.finish(step.reduce(step.map(X[:200], y[:200]), step.map(X[200:], y[200:])))
    found = job.estimator().predict(X)
    np.testing.assert_allclose(found, model.fit(X, y).predict(X), rtol=0, atol=1e-5)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("targets", ["s", ["s", "t"]])
def test_files(tmp_path, suffix, targets):
    pytest.importorskip("skops")
    pytest.importorskip("pyarrow")
    from robell._tools.files import FileError
    from robell.files import fit_files, load_model, predict_files, save_model

    X, Y = table(80)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(s=Y[:, 0], t=Y[:, 1])
    names = [targets] if isinstance(targets, str) else targets
    frame = frame[[*"abcd", *names]]
    path = tmp_path / f"table.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    model = make_pipeline(StandardScaler(), RVFLRegressor(9, intervals=True, random_state=0))
    fitted = fit_files(model, path, targets)
    rows = frame[list("abcd")]
    expected = clone(model).fit(rows, frame[targets])
    np.testing.assert_allclose(fitted.predict(rows), expected.predict(rows), atol=1e-9)
    save_model(fitted, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(rows), fitted.predict(rows))
    np.testing.assert_array_equal(again[-1].predict_interval(X), fitted[-1].predict_interval(X))
    assert predict_files(again, path, tmp_path / "out.csv") == 80
    written = pd.read_csv(tmp_path / "out.csv")
    assert list(written) == (
        ["prediction"] if len(names) == 1 else ["prediction_1", "prediction_2"]
    )
    np.testing.assert_allclose(written.to_numpy(), fitted.predict(rows).reshape(80, -1), rtol=1e-12)
    with pytest.raises(ValueError, match="no probabilities: it predicts numbers"):
        predict_files(again, path, tmp_path / "out.csv", proba=True)
    with pytest.raises(FileError, match="no column 'z'"):
        fit_files(model, path, ["z"])
    with pytest.raises(FileError, match="target must name different columns"):
        fit_files(model, path, ["s", "s"])


def test_files_of_a_deep_regressor_are_fitted_in_memory_or_refused(tmp_path):
    pytest.importorskip("pyarrow")
    from robell._tools.files import FileError
    from robell.files import fit_files

    X, Y = table(80)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(s=Y[:, 0], t=Y[:, 1])
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = DeepRVFLRegressor(9, random_state=0)
    fitted = fit_files(model, tmp_path / "t.csv", ["s", "t"])
    expected = clone(model).fit(frame[list("abcd")], Y).predict(frame[list("abcd")])
    np.testing.assert_allclose(fitted.predict(frame[list("abcd")]), expected, atol=1e-9)
    with pytest.raises(FileError, match="DeepRVFLRegressor takes all rows at once"):
        fit_files(model, tmp_path / "t.csv", ["s", "t"], memory_limit="10MB")


def test_files_with_holes_in_the_target(tmp_path):
    pytest.importorskip("pyarrow")
    from robell._tools.files import FileError
    from robell.files import fit_files

    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,2\n2,\n3,4\n", encoding="ascii")
    with pytest.raises(FileError, match="row 2 has no value in column 'y'"):
        fit_files(RVFLRegressor(3), path, "y")


@pytest.mark.parametrize("n_targets", [1, 2])
def test_dask(n_targets):
    pytest.importorskip("dask.dataframe")
    import dask.array as da
    import dask.dataframe as dd

    import robell.dask

    X, Y = table(80, n_targets=n_targets)
    model = make_pipeline(StandardScaler(), RVFLRegressor(9, intervals=True, random_state=0))
    expected = clone(model).fit(X, Y).predict(X)
    lazy = da.from_array(X, chunks=(30, 2))
    fitted = robell.dask.fit(model, lazy, da.from_array(Y, chunks=30))
    np.testing.assert_allclose(fitted.predict(X), expected, atol=1e-9)
    np.testing.assert_allclose(robell.dask.predict(fitted, lazy).compute(), expected, atol=1e-9)
    names = ["s", "t"][:n_targets]
    frame = pd.DataFrame(np.column_stack([X, Y]), columns=[*"abcd", *names])
    frame = dd.from_pandas(frame, npartitions=3)
    fitted = robell.dask.fit(model, frame, names if n_targets > 1 else "s")
    found = robell.dask.predict(fitted, frame).compute()
    np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-9)


# -- search ------------------------------------------------------------------------------


def assert_same_search(model, grid, X, y, shared=True, **options):
    found = RVFLGridSearchCV(model, grid, cv=3, **options).fit(X, y)
    expected = GridSearchCV(model, grid, cv=3, **options).fit(X, y)
    assert (found.n_shared_ > 0) == shared, found.not_shared_
    assert found.best_params_ == expected.best_params_
    for name, values in expected.cv_results_.items():
        if name.startswith(("split", "mean_test", "mean_train", "rank")):
            np.testing.assert_allclose(found.cv_results_[name], values, rtol=1e-9, atol=1e-12)
    return found


@pytest.mark.parametrize(
    "scoring",
    [
        None,
        "r2",
        "neg_mean_squared_error",
        "neg_root_mean_squared_error",
        "neg_mean_absolute_error",
        "explained_variance",
        "neg_median_absolute_error",
    ],
)
@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_search_is_that_of_scikit_learn(scoring, n_targets):
    X, Y = table(60, n_targets=n_targets)
    grid = {"model__C": [1e-3, 1.0, 1e3], "model__n_hidden": [3, 20, 60]}
    model = make_pipeline(StandardScaler(), RVFLRegressor(random_state=0))
    model.steps[-1] = ("model", model.steps[-1][1])
    found = assert_same_search(model, grid, X, Y, scoring=scoring, return_train_score=True)
    assert found.not_shared_ == {}


def test_searches_that_are_not_shared_say_why():
    X, y = table(60, n_targets=1)
    grid = {"C": [0.1, 10.0], "n_hidden": [3, 9]}
    constant = np.where(np.arange(60) < 20, 1.0, y)
    model = ELMRegressor(random_state=0)
    found = assert_same_search(model, grid, X, constant)
    assert list(found.not_shared_) == ["the targets of some rows to score are constant"]
    rounded = make_scorer(lambda y, predicted: r2_score(y, np.round(predicted)))
    found = assert_same_search(model, grid, X, y, shared=False, scoring=rounded)
    assert "jump" in next(iter(found.not_shared_))


def test_a_search_passes_weights_on():
    X, y = table(60, n_targets=1)
    w = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    grid = {"C": [0.1, 10.0], "n_hidden": [3, 9]}
    found = RVFLGridSearchCV(RVFLRegressor(random_state=0), grid, cv=3).fit(X, y, sample_weight=w)
    expected = GridSearchCV(RVFLRegressor(random_state=0), grid, cv=3).fit(X, y, sample_weight=w)
    assert found.n_shared_ == 12
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], rtol=1e-9
    )


# -- bad input ---------------------------------------------------------------------------


@BOTH
def test_bad_targets_are_refused_in_one_line(kind):
    X, y = table(20, n_targets=1)
    for bad, what in ((np.nan, "NaN"), (np.inf, "infinity")):
        holed = y.copy()
        holed[7] = bad
        with pytest.raises(
            ValueError, match=rf"^Input y contains {what}.*row 7\): {kind.__name__}"
        ):
            kind(5).fit(X, holed)
    cases = {
        "could not convert|strings": np.array(["a"] * 20, object),
        "Found array with dim 3|dim 3": np.zeros((20, 2, 2)),
        "inconsistent numbers of samples": y[:-1],
        "omplex": y + 1j,
    }
    for message, targets in cases.items():
        with pytest.raises(ValueError, match=message) as error:
            kind(5).fit(X, targets)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="all are zero"):
        kind(5).fit(X, y, np.zeros(20))


@BOTH
def test_one_target_as_a_column_is_taken_as_it_is_meant(kind):
    X, y = table(20, n_targets=1)
    with pytest.warns(DataConversionWarning, match="a column of targets was given"):
        model = kind(5, random_state=0).fit(X, y[:, None])
    assert model.predict(X).shape == (20,)
    np.testing.assert_array_equal(model.predict(X), kind(5, random_state=0).fit(X, y).predict(X))


def test_one_row_predicts_its_target():
    model = RVFLRegressor(5, random_state=0).fit([[1.0, 2.0]], [3.0])
    assert model.predict([[5.0, 6.0]]) == 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert RVFLRegressor(5, C="loo").fit([[1.0, 2.0]], [3.0]).predict([[0, 0]]) == 3.0


def test_frames_of_pandas_and_polars():
    X, Y = table(30)
    expected = RVFLRegressor(5, random_state=0).fit(X, Y).predict(X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    targets = pd.DataFrame(Y, columns=["s", "t"])
    model = RVFLRegressor(5, random_state=0).fit(frame, targets)
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-12)
    assert list(model.feature_names_in_) == list("abcd")
    polars = pytest.importorskip("polars")
    model = RVFLRegressor(5, random_state=0).fit(polars.DataFrame(X), polars.DataFrame(Y))
    np.testing.assert_allclose(model.predict(polars.DataFrame(X)), expected, atol=1e-12)
