"""What every estimator owes its users: labels, frames, weights, files, clear errors."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import robell
from robell import (
    ComplexRVFLClassifier,
    ELMClassifier,
    GranularBallRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    pw_gbell_membership,
)

# The paper's eight models by the names of its tables
FAMILY = {
    "RVFL": RVFLClassifier,
    "RVFLwoDL": ELMClassifier,
    "NF-RVFL": NeuroFuzzyRVFLClassifier,
    "C-RVFL": ComplexRVFLClassifier,
    "AC-RVFL": partial(ComplexRVFLClassifier, augmented=True),
    "GB-RVFL": GranularBallRVFLClassifier,
    "GE-GB-RVFL": partial(GranularBallRVFLClassifier, graph="lfda"),
    "RoBell-RVFL": RoBellRVFLClassifier,
}
ESTIMATORS = list(FAMILY.values())
everyone = pytest.mark.parametrize("estimator", ESTIMATORS, ids=list(FAMILY))


def one_line(error):
    message = str(error.value)
    assert "\n" not in message
    return message


# -- labels and classes --------------------------------------------------------------


@everyone
@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [False, True],
        [-1, 1],
        [2.0, 7.0],
        np.array(["ja", "nein"], dtype=object),
    ],
    ids=str,
)
def test_labels_of_any_kind(imbalanced, estimator, labels):
    X, y = imbalanced
    reference = estimator(random_state=0).fit(X, y)
    model = estimator(random_state=0).fit(X, np.asarray(labels)[y])
    np.testing.assert_array_equal(model.classes_, np.asarray(labels))
    np.testing.assert_array_equal(model.predict(X), np.asarray(labels)[reference.predict(X)])
    np.testing.assert_array_equal(model.coef_, reference.coef_)


@everyone
def test_multiclass(estimator):
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), estimator(random_state=0))
    predicted = cross_val_predict(model, X, y, cv=5)
    assert (predicted == y).mean() > 0.9
    model.fit(X, y)
    assert model.decision_function(X).shape == (178, 3)
    assert model.predict_proba(X).shape == (178, 3)


# -- frames --------------------------------------------------------------------------


@everyone
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_give_what_arrays_give_and_keep_their_names(imbalanced, estimator, frame):
    X, y = imbalanced
    names = ["age", "height", "weight", "pulse", "dose"]
    table = frame(dict(zip(names, X.T)))
    model = estimator(random_state=0).fit(table, y)
    reference = estimator(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    np.testing.assert_array_equal(model.feature_names_in_, names)
    np.testing.assert_array_equal(model.predict(table), reference.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(
            table.rename({"age": "years"})
            if frame is pl.DataFrame
            else table.rename(columns={"age": "years"})
        )


def test_memberships_of_frames(imbalanced):
    X, y = imbalanced
    expected = pw_gbell_membership(X, y)
    np.testing.assert_array_equal(pw_gbell_membership(pd.DataFrame(X), pd.Series(y)), expected)
    columns = [f"f{i}" for i in range(5)]
    table = pl.DataFrame(X, schema=columns)
    np.testing.assert_array_equal(pw_gbell_membership(table, pl.Series(y)), expected)


# -- reproducibility and files -------------------------------------------------------


@everyone
def test_same_seed_same_model(imbalanced, estimator):
    X, y = imbalanced
    first, second = (estimator(random_state=4).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    other = estimator(random_state=5).fit(X, y)
    assert not np.array_equal(first.hidden_weights_, other.hidden_weights_)


@everyone
def test_pickle_and_skops_round_trips(imbalanced, estimator):
    X, y = imbalanced
    model = estimator(random_state=0).fit(X, y)
    for restored in (
        pickle.loads(pickle.dumps(model)),
        # Nothing but our own class has to be trusted: no functions are stored.
        skops.io.loads(
            skops.io.dumps(model), trusted=[f"{type(model).__module__}.{type(model).__name__}"]
        ),
    ):
        np.testing.assert_array_equal(restored.predict_proba(X), model.predict_proba(X))


@everyone
def test_clone_and_grid_search(imbalanced, estimator):
    X, y = imbalanced
    search = GridSearchCV(
        clone(estimator(random_state=0)), {"C": [0.1, 10.0], "n_hidden": [3, 23]}, cv=3
    ).fit(X, y)
    assert search.best_params_.keys() == {"C", "n_hidden"}


# -- weights -------------------------------------------------------------------------


@everyone
@given(seed=st.integers(0, 1000), n_hidden=st.sampled_from([3, 60]), n_classes=st.integers(2, 3))
def test_sample_weights_are_multiplicities(estimator, seed, n_hidden, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3)).round(1)
    y = np.arange(30) % n_classes
    X[:, 0] += y
    weight = rng.integers(0, 4, 30)
    weight[:n_classes] += 1
    weighted = estimator(n_hidden, random_state=0).fit(X, y, sample_weight=weight)
    repeated = estimator(n_hidden, random_state=0).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    scale = np.abs(repeated.coef_).max()
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8 * scale)
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6, atol=1e-8
    )


rows_are_samples = pytest.mark.parametrize(
    "estimator",
    [estimator for name, estimator in FAMILY.items() if "GB" not in name],
    ids=[name for name in FAMILY if "GB" not in name],
)


@rows_are_samples
def test_balanced_class_weight_is_the_usual_formula(imbalanced, estimator):
    X, y = imbalanced
    balanced = estimator(class_weight="balanced", random_state=0).fit(X, y)
    by_hand = estimator(class_weight={0: 200 / 360, 1: 200 / 40}, random_state=0).fit(X, y)
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_)


@rows_are_samples
def test_ratio_class_weight_is_the_papers_cost(imbalanced, estimator):
    X, y = imbalanced
    ratio = estimator(class_weight="ratio", random_state=0).fit(X, y)
    by_hand = estimator(class_weight={0: 20 / 180}, random_state=0).fit(X, y)
    np.testing.assert_allclose(ratio.coef_, by_hand.coef_)


# -- no calibration ------------------------------------------------------------------


@everyone
def test_without_calibration_there_is_no_predict_proba(imbalanced, estimator):
    X, y = imbalanced
    model = estimator(calibrate=False, random_state=0).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "calibration_slope_")
    np.testing.assert_array_equal(model.predict(X), estimator(random_state=0).fit(X, y).predict(X))
    model.calibrate = True
    with pytest.raises(AttributeError, match="calibrate=True at fit"):
        model.predict_proba(X)
    model.fit(X, y + X[:, 0].round().astype(int) % 2)  # calibrated, and fitted anew without
    model.set_params(calibrate=False).fit(X, y)
    assert not hasattr(model, "calibration_slope_")
    model.calibrate = True
    with pytest.raises(AttributeError, match="calibrate=True at fit"):
        model.predict_proba(X)


# -- awkward but valid data ----------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the equations with the graph term are singular")
@everyone
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(2, 40),
    n_features=st.integers(1, 5),
    scale=st.sampled_from([1e-8, 1.0, 1e4, 1e8]),
    C=st.sampled_from([1e-5, 1.0, 1e5]),
    activation=st.sampled_from(["sigmoid", "relu", "sign", "radbas"]),
    kind=st.sampled_from(["normal", "duplicates", "constant column", "constant"]),
)
def test_any_finite_table_gives_finite_answers(
    estimator, seed, n_rows, n_features, scale, C, activation, kind
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    if kind == "duplicates":
        X = X[rng.integers(0, max(1, n_rows // 3), n_rows)]
    elif kind == "constant column":
        X[:, 0] = 3.0
    elif kind == "constant":
        X[:] = 1 / 3
    X *= scale
    y = np.r_[0, 1, rng.integers(0, 2, n_rows - 2)]
    model = estimator(5, activation, C, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    predicted = np.searchsorted(model.classes_, model.predict(X))
    # Scores that differ in their last digit may tie as probabilities.
    np.testing.assert_allclose(P[np.arange(n_rows), predicted], P.max(axis=1), rtol=1e-14)


@everyone
def test_a_class_with_one_row(estimator, rng):
    X = rng.normal(size=(20, 2))
    y = np.r_[1, np.zeros(19, int)]
    X[0] += 10
    model = estimator(random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.predict(X[:1]) == [1]


@rows_are_samples
def test_more_columns_than_rows_uses_the_dual(estimator, rng):
    X, y = rng.normal(size=(20, 50)), np.arange(20) % 2
    assert estimator(200, random_state=0).fit(X, y).solver_ == "dual"


@everyone
def test_float32_and_integer_tables(estimator, rng):
    X = rng.integers(-5, 5, (60, 3))
    y = (X[:, 0] > 0).astype(int)
    reference = estimator(random_state=0).fit(X.astype(np.float64), y)
    for dtype in (np.float32, np.int64, np.int8):
        model = estimator(random_state=0).fit(X.astype(dtype), y)
        np.testing.assert_array_equal(model.coef_, reference.coef_)
        assert model.coef_.dtype == reference.coef_.dtype


# -- bad input: one line that names the parameter and what it accepts ----------------


@everyone
@pytest.mark.parametrize(
    ("parameter", "value", "accepted"),
    [
        ("C", 0, "(0.0, inf]"),
        ("C", -1.0, "(0.0, inf]"),
        ("C", float("nan"), "(0.0, inf]"),
        ("n_hidden", 0, "[1, inf)"),
        ("n_hidden", 2.5, "int"),
        ("activation", "softmax", "'sigmoid'"),
        ("bias_scale", -0.1, "[0.0, inf)"),
        ("class_weight", "heavy", "'balanced'"),
        ("calibrate", "yes", "bool"),
        ("random_state", "seed", "RandomState"),
    ],
)
def test_bad_parameters(imbalanced, estimator, parameter, value, accepted):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter") as error:
        estimator(**{parameter: value}).fit(*imbalanced)
    assert accepted in one_line(error)


@pytest.mark.parametrize("value", [0, -1.0, "wide"])
@pytest.mark.parametrize("parameter", ["kernel_width", "rho"])
def test_bad_membership_parameters(imbalanced, parameter, value):
    for call in (
        RoBellRVFLClassifier(**{parameter: value}).fit,
        lambda X, y: pw_gbell_membership(X, y, **{parameter: value}),
    ):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter") as error:
            call(*imbalanced)
        assert "(0.0, inf)" in one_line(error)


@everyone
def test_class_weight_may_name_a_class_that_a_fold_lacks(imbalanced, estimator):
    X, y = imbalanced
    named = estimator(class_weight={0: 0.5, 1: 2.0, 7: 9.0}, random_state=0).fit(X, y)
    plain = estimator(class_weight={0: 0.5, 1: 2.0}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(X), plain.decision_function(X))


@everyone
def test_bad_class_weight_dict(imbalanced, estimator):
    X, y = imbalanced
    for weight, message in (
        ({0: 1, 5: 2}, "class_weight names 5, which is not a class of y"),
        ({0: -1.0}, "class_weight must hold finite positive numbers"),
        ({0: np.nan}, "class_weight must hold finite positive numbers"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            estimator(class_weight=weight).fit(X, y)
        one_line(error)


def fits(X, y):
    """Every way in: the three estimators and the membership function."""
    return [lambda X=X, y=y, e=e: e().fit(X, y) for e in ESTIMATORS] + [
        lambda: pw_gbell_membership(X, y)
    ]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_or_infinite_values(imbalanced, bad):
    X, y = imbalanced
    X = X.copy()
    X[17, 3] = bad
    for fit in fits(X, y) + fits(pd.DataFrame(X, columns=list("abcde")), y):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)") as error:
            fit()
        message = one_line(error)
        assert "row 17" in message
        assert "column 3" in message or "column 'd'" in message


def test_missing_values_at_predict(imbalanced):
    X, y = imbalanced
    model = RVFLClassifier(random_state=0).fit(X, y)
    bad = X.copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN") as error:
        model.predict(bad)
    one_line(error)


def test_text_in_a_numeric_column(imbalanced):
    X, y = imbalanced
    table = pd.DataFrame(X, columns=list("abcde")).astype({"c": object})
    table.loc[4, "c"] = "Paris"
    for fit in fits(table, y):
        with pytest.raises(ValueError, match="X must be numeric") as error:
            fit()
        assert "column 'c', row 4" in one_line(error)


def test_one_class_only(imbalanced):
    X, _ = imbalanced
    for fit in fits(X, np.full(len(X), "ok")):
        with pytest.raises(ValueError, match="at least two classes") as error:
            fit()
        assert "'ok'" in one_line(error)


def test_continuous_labels(imbalanced):
    X, _ = imbalanced
    for fit in fits(X, X[:, 0]):
        with pytest.raises(ValueError, match="continuous"):
            fit()


@everyone
def test_wrong_number_of_features_at_predict(imbalanced, estimator):
    X, y = imbalanced
    model = estimator(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 5") as error:
        model.predict(X[:, :4])
    one_line(error)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(200), "must not be negative"),
        (np.zeros(200), "all are zero"),
        (np.full(200, np.nan), "must be finite"),
        (np.ones(199), r"must have shape \(200,\)"),
        (np.ones((200, 1)), r"must have shape \(200,\)"),
        (np.full(200, "heavy"), "must be numeric"),
    ],
    ids=["negative", "zero", "nan", "short", "2-D", "text"],
)
def test_bad_sample_weights(imbalanced, weight, message):
    X, y = imbalanced
    calls = [lambda e=e: e().fit(X, y, sample_weight=weight) for e in ESTIMATORS]
    for call in [*calls, lambda: pw_gbell_membership(X, y, sample_weight=weight)]:
        with pytest.raises(ValueError, match=f"sample_weight {message}|{message}") as error:
            call()
        assert one_line(error).startswith("sample_weight")


@everyone
def test_only_one_class_with_weight(imbalanced, estimator):
    X, y = imbalanced
    with pytest.raises(ValueError, match="at least two classes"):
        estimator().fit(X, y, sample_weight=(y == 0).astype(float))


@everyone
def test_values_that_overflow(imbalanced, estimator):
    X, y = imbalanced
    message = "too large|overflow"
    bounded = (ELMClassifier, ComplexRVFLClassifier)  # features of huge inputs are fine
    if isinstance(estimator(), bounded):
        assert np.isfinite(estimator(random_state=0).fit(X * 1e200, y).coef_).all()
        return
    with pytest.raises(ValueError, match=message) as error:
        estimator(random_state=0).fit(X * 1e200, y)
    one_line(error)
    model = estimator(activation="relu", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict(np.full((1, 5), 1.7e308))


@everyone
def test_an_activation_that_returns_nonsense(imbalanced, estimator):
    for activation, message in (
        (lambda z: z.sum(axis=1), "activation must return"),
        (lambda z: np.full_like(z, np.nan), "overflow"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            estimator(activation=activation).fit(*imbalanced)
        one_line(error)


def test_nothing_warns_in_ordinary_use(imbalanced):
    X, y = imbalanced
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in ESTIMATORS:
            estimator(random_state=0).fit(X, y).predict_proba(X)


@pytest.mark.parametrize(
    ("column", "row"),
    [
        (np.array([None, "north", "south"], object), 1),
        (pd.Categorical(["north", "south", "north"]), 0),
        (pd.array(["north", None, "south"], dtype="string"), 0),
        (pd.date_range("2024-01-01", periods=3), 0),
    ],
)
def test_frames_of_text_or_dates_are_sent_to_the_encoder(column, row):
    frame = pd.DataFrame({"size": np.arange(36.0), "town": pd.Series(column).repeat(12).to_numpy()})
    y = np.repeat([0, 1], 18)
    for use in (
        RVFLClassifier().fit,
        robell.NoiseRobustRVFLClassifier().fit,
        robell.find_label_issues,
        lambda X, y: robell.RVFLRegressor().fit(X, y + 0.5 * np.arange(36)),
    ):
        with pytest.raises(ValueError, match="TableEncoder") as error:
            use(frame, y)
        assert f"(column 'town', row {12 * row})" in str(error.value)
        assert "\n" not in str(error.value)
    encoded = robell.TableEncoder().fit_transform(frame, y)
    RVFLClassifier(random_state=0).fit(encoded, y)
