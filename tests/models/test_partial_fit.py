"""``partial_fit`` and ``merge``: what of a stream is exactly ``fit``, and what is not."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgWarning
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from streams import (
    NETWORKS,
    RoBell,
    assert_same_model,
    assert_same_state,
    batches,
    make_small,
    normal,
    seeds,
    stream,
    two_classes,
)

import robell.models._partial_fit as streaming
from robell import (
    ELMClassifier,
    MultiViewRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLRegressor,
    VarianceRVFLClassifier,
)
from robell._core.membership.samples import (
    settle,
)
from robell.models._partial_fit import DriftWarning


@pytest.fixture
def small(monkeypatch):
    make_small(monkeypatch)


@pytest.fixture
def many(rng):
    return two_classes(rng)


# -- partial_fit is fit --------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [None, "balanced", "ratio", {0: 0.25, 1: 3.0}], ids=str)
@pytest.mark.parametrize("model", NETWORKS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_stream_is_fit(many, rng, model, class_weight, weighted):
    X, y = many
    weight = rng.integers(0, 4, len(y)) / 1.5 if weighted else None
    model = clone(model).set_params(random_state=3, class_weight=class_weight)
    expected = clone(model).fit(X, y, weight)
    assert_same_model(stream(model, X, y, (1, 50, 128, 7), weight), expected, X)


@given(seed=seeds, sizes=st.lists(st.integers(1, 200), min_size=1, max_size=5))
def test_a_stream_in_any_order_and_partition_is_fit(seed, sizes):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(230, 3)), rng.choice(["a", "b", "c"], 230, p=[0.7, 0.2, 0.1])
    weight = rng.integers(0, 3, 230).astype(float)
    model = RVFLClassifier(9, class_weight="balanced", random_state=1)
    order = rng.permutation(230)
    expected = clone(model).fit(X, y, weight)
    found = stream(model, X[order], y[order], sizes, weight[order], classes=["a", "b", "c"])
    assert_same_model(found, expected, X)


def test_digits_in_ten_classes():
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    model = RVFLClassifier(60, random_state=0, class_weight="balanced")
    assert_same_model(stream(clone(model), X, y, (250,)), model.fit(X, y), X, 1e-9)


@pytest.mark.parametrize("calibrate", [False, True])
def test_the_penalty_of_leave_one_out_is_fits(many, calibrate):
    X, y = many
    model = ELMClassifier(40, C="loo", random_state=0, calibrate=calibrate, class_weight="ratio")
    expected = clone(model).fit(X, y)
    assert_same_model(stream(model, X, y), expected, X, 1e-8)


@pytest.mark.parametrize("C", [1.0, 1e9])
def test_fewer_rows_than_columns_and_rows_that_can_refine(imbalanced, C):
    """While all rows are kept, an ill-conditioned system is solved from them, as in fit."""
    X, y = imbalanced
    model = RVFLClassifier(300, C=C, random_state=0)
    assert_same_model(stream(clone(model), X, y), model.fit(X, y), X, 1e-9)


def test_rows_gone_are_missed_out_loud(imbalanced):
    X, y = imbalanced
    model = stream(RVFLClassifier(300, C=1e12, random_state=0, calibrate=False), X, y)
    with pytest.warns(LinAlgWarning, match="smaller C"):
        model.predict(X)
    assert np.isfinite(model.coef_).all()


def test_constant_columns_and_singular_systems(many):
    X, y = many
    X = np.hstack([X, np.zeros((len(X), 1)), X[:, :1]])
    model = RVFLClassifier(10, C=1e14, random_state=0, calibrate=False)
    model = stream(model, X, y)
    with pytest.warns(LinAlgWarning):
        scores = model.decision_function(X)
    assert model.solver_ == "eigen"
    expected = RVFLClassifier(10, C=1e14, random_state=0, calibrate=False).fit(X, y)
    np.testing.assert_allclose(scores, expected.decision_function(X), atol=1e-6)


def odd_columns(rng, n=600):
    """Tables whose columns are far from zero, of other scales, doubled or constant."""
    Z = rng.normal(size=(n, 2))
    constant = np.ones((n, 1))
    return Z, {
        "1e4 off": Z + np.array([1e4, 0]),
        "1e8 off": Z + np.array([1e8, 0]),
        "both off": Z + np.array([1e8, -1e6]),
        "1 : 1e8": Z * [1, 1e8],
        "1 : 1e12": Z * [1e12, 1],
        "doubled": np.hstack([Z, Z]),
        "doubled and off": np.hstack([Z, Z]) + 1e6,
        "constant": np.hstack([Z, 3 * constant]),
        "constant and large": np.hstack([Z, 1e8 * constant]),
        "hardly varies": np.hstack([Z, 1 + 1e-9 * Z[:, :1]]),
    }


ODD = [*odd_columns(np.random.default_rng(0), 2)[1]]


@pytest.mark.parametrize("columns", ODD)
@pytest.mark.parametrize("activation", ["sigmoid", "relu", "sin"])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_columns_far_from_zero_or_of_other_scales_agree_with_fit_or_warn(
    rng, columns, activation, C
):
    """In parts of any order, merged and weighted: to 5e-6 of the spread of the scores.

    Or to what ``fit`` itself is known to, by rows in another order.
    """
    Z, tables = odd_columns(rng)
    X, w = tables[columns], rng.integers(0, 3, 600).astype(float)
    y = Z[:, 0] + np.sin(Z[:, 1]) + 0.3 * rng.normal(size=600)
    labels = np.digitize(y, [-0.5, 0.8])
    settings = {"activation": activation, "C": C, "random_state": 0}
    for model, targets in [
        (RVFLRegressor(15, **settings), y),
        (RVFLClassifier(15, calibrate=False, **settings), labels),
        (RVFLClassifier(15, calibrate=False, output_bias=True, **settings), labels),
        (RVFLClassifier(15, calibrate=False, class_weight="balanced", **settings), labels),
        (VarianceRVFLClassifier(15, calibrate=False, **settings), labels),
    ]:
        scores = "predict" if isinstance(model, RVFLRegressor) else "decision_function"
        expected = getattr(clone(model).fit(X, targets, w), scores)(X)
        order = rng.permutation(600)
        again = getattr(clone(model).fit(X[order], targets[order], w[order]), scores)(X)
        here, there = clone(model), clone(model)
        classes = {} if isinstance(model, RVFLRegressor) else {"classes": [0, 1, 2]}
        for k, part in enumerate(np.split(rng.permutation(600), [1, 90, 91, 400])):
            one = here if k % 2 else there
            one.partial_fit(X[part], targets[part], sample_weight=w[part], **classes)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = getattr(here.merge(there), scores)(X)
            getattr(here, scores)(X)
        if told:  # nodes of columns 1 : 1e8 hold what sums of their products cannot
            assert (columns, activation) in {("1 : 1e8", "relu"), ("1 : 1e12", "relu")}
            assert len(told) == 1
            assert re.search(r"most of all by (column \d|a hidden node)", str(told[0].message))
            assert np.isfinite(found).all()
        else:
            own = np.abs(again - expected).max()
            assert np.abs(found - expected).max() <= 5e-6 * expected.std() + 10 * own, model


def test_the_column_that_sums_do_not_hold_is_named(rng):
    Z = rng.normal(size=(300, 2))
    X = pd.DataFrame({"a": Z[:, 0], "b": 1e9 * (Z[:, 0] + 1e-9 * Z[:, 1])})
    model = RVFLRegressor(5, C=1e9, random_state=0).partial_fit(X, Z[:, 1])
    with pytest.warns(LinAlgWarning, match="most of all by column '[ab]'"):
        model.predict(X)


def test_probabilities_of_more_rows_than_are_kept(monkeypatch):
    """The calibration of a sample is close to that of all rows, and that of all rows is fit's."""
    X, y = make_classification(6000, 8, n_informative=5, weights=[0.8], flip_y=0.1, random_state=0)
    model = RVFLClassifier(30, random_state=0)
    expected = clone(model).fit(X, y).predict_proba(X)[:, 1]
    whole = stream(clone(model), X, y, (500,))
    monkeypatch.setattr(streaming, "RESERVOIR", 400)
    sampled = stream(clone(model), X, y, (500,))
    assert not sampled._stream.state.reservoir.complete
    assert np.abs(whole.predict_proba(X)[:, 1] - expected).max() < 0.02
    assert np.abs(sampled.predict_proba(X)[:, 1] - expected).max() < 0.06
    np.testing.assert_array_equal(sampled.predict(X), whole.predict(X))


# -- calls, attributes, files --------------------------------------------------------


def test_an_outdated_solution_in_a_file_is_not_used(many):
    """Files of earlier versions keep the solution of the rows before the last ones."""
    X, y = many
    model = stream(RVFLClassifier(10, random_state=0), X, y)
    again = RVFLClassifier()
    again.__setstate__(model.__getstate__() | {"coef_": np.zeros((14, 2)), "C_": 7.0})
    assert not {"coef_", "C_"} & set(vars(again))
    assert_same_model(again, model, X)


def test_solved_only_when_asked(many, monkeypatch):
    X, y = many
    calls = []
    original = streaming.solve_seen
    monkeypatch.setattr(
        streaming, "solve_seen", lambda model, state: calls.append(1) or original(model, state)
    )
    model = stream(RVFLClassifier(10, random_state=0), X, y)
    check_is_fitted(model)
    assert not calls
    assert hasattr(model, "coef_")
    model.predict(X)
    model.predict_proba(X)
    assert model.coef_.shape == (14, 2)
    assert calls == [1]
    without = stream(RVFLClassifier(10, random_state=0, calibrate=False), X, y)
    for _ in range(3):
        assert not hasattr(without, "calibration_slope_")
    assert not hasattr(without, "predict_proba")
    assert calls == [1, 1]
    with pytest.raises(AttributeError, match="no attribute 'nothing_'"):
        _ = model.nothing_


def test_attributes_that_cannot_be_found_are_not_there(many):
    X, y = many
    model = RVFLClassifier(8, random_state=0)
    for name in ("coef_", "C_", "calibration_slope_", "kernel_width_"):
        assert not hasattr(model, name)
    model.partial_fit(X, y, [0, 1], np.zeros(700))
    with pytest.raises(AttributeError, match=r"no coef_ yet: .* no row of positive weight yet"):
        _ = model.coef_
    model.partial_fit(X, y)
    assert hasattr(model, "coef_")
    assert not hasattr(model, "kernel_width_")
    model.set_params(calibrate=False).partial_fit(X, y)
    assert not hasattr(model, "calibration_slope_")


def test_predictions_between_batches_change_nothing(many):
    X, y = many
    model = RVFLClassifier(10, random_state=0)
    for rows, labels, _ in batches(X, y, (90,)):
        model.partial_fit(rows, labels, classes=[0, 1])
        before = model.predict(X)
        model.partial_fit(rows, labels, sample_weight=np.zeros(len(rows)))
        np.testing.assert_array_equal(model.predict(X), before)
    assert_same_model(model, RVFLClassifier(10, random_state=0).fit(X, y), X)


def test_penalty_and_class_weight_may_change_on_the_way(many):
    X, y = many
    model = stream(RVFLClassifier(10, random_state=0), X[:400], y[:400])
    model.set_params(C=0.01, class_weight="balanced")
    stream(model, X[400:], y[400:])
    expected = RVFLClassifier(10, C=0.01, class_weight="balanced", random_state=0).fit(X, y)
    assert_same_model(model, expected, X)


@pytest.mark.parametrize("change", [{"n_hidden": 11}, {"activation": "sin"}, {"output_bias": True}])
def test_the_network_may_not(many, change):
    X, y = many
    model = stream(RVFLClassifier(10, random_state=0), X, y).set_params(**change)
    with pytest.raises(ValueError, match=f"{next(iter(change))} was changed"):
        model.partial_fit(X, y)


def test_nor_may_what_memberships_depend_on(many):
    X, y = many
    model = stream(RoBell(10, random_state=0), X, y).set_params(rho=2.0)
    with pytest.raises(ValueError, match="rho was changed"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("estimator", [RVFLClassifier, ELMClassifier, RoBell])
def test_files_clones_and_streams_that_go_on(many, small, estimator):
    X, y = many
    whole = stream(estimator(8, random_state=0), X, y)
    for n in (100, 500):  # before and after the freeze of memberships
        model = stream(estimator(8, random_state=0), X[:n], y[:n])
        trusted = [f"{estimator.__module__}.{estimator.__name__}"]
        for restored in (
            pickle.loads(pickle.dumps(model)),
            skops.io.loads(skops.io.dumps(model), trusted=trusted),
        ):
            np.testing.assert_array_equal(restored.predict_proba(X), model.predict_proba(X))
            assert_same_model(stream(restored, X[n:], y[n:]), whole, X)
    with pytest.raises(NotFittedError):
        clone(whole).predict(X)


def test_fit_and_partial_fit_start_anew(many):
    X, y = many
    model = stream(RVFLClassifier(8, random_state=0), X[:300], y[:300])
    assert_same_model(model.fit(X, y), RVFLClassifier(8, random_state=0).fit(X, y), X, 0.0)
    with pytest.warns(UserWarning, match="starts anew"):
        model.partial_fit(X[:50], y[:50])
    expected = RVFLClassifier(8, random_state=0).fit(X[:50], y[:50])
    assert_same_model(model, expected, X)


def test_a_state_of_random_state_is_drawn_from_once(many):
    X, y = many
    model = RVFLClassifier(8, random_state=np.random.RandomState(5))
    expected = RVFLClassifier(8, random_state=np.random.RandomState(5)).fit(X, y)
    assert_same_model(stream(model, X, y), expected, X)


def test_frames_and_pipelines(many):
    X, y = many
    table = pd.DataFrame(X, columns=list("abcd"))
    model = RVFLClassifier(8, random_state=0)
    for start in range(0, 700, 100):
        part = slice(start, start + 100)
        model.partial_fit(table[part], pd.Series(y[part]), classes=[0, 1])
    assert_same_model(model, RVFLClassifier(8, random_state=0).fit(table, y), table)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(table.rename(columns={"a": "z"}), y)
    pipeline = make_pipeline(StandardScaler(), model).fit(table, y)
    assert not hasattr(pipeline, "partial_fit")


def test_batches_of_any_kind(many):
    X, y = many[0].astype(np.float32).astype(np.float64), many[1]
    kinds = [np.asfortranarray, np.float32, np.ndarray.tolist, lambda A: A, lambda A: A[:, ::1]]
    model = RVFLClassifier(8, random_state=0)
    for k, kind in enumerate(kinds):
        part = slice(140 * k, 140 * (k + 1))
        model.partial_fit(kind(X[part]), kind(y[part]) if k == 2 else y[part], classes=[0, 1])
    assert_same_model(model, RVFLClassifier(8, random_state=0).fit(X, y), X)


# -- merge ---------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [RVFLClassifier, ELMClassifier])
def test_merged_models_are_fit(many, estimator):
    X, y = many
    parts = [
        stream(estimator(8, random_state=2, class_weight="balanced"), X[p], y[p], classes=[0, 1])
        for p in np.split(np.arange(700), [100, 101, 420])
    ]
    expected = estimator(8, random_state=2, class_weight="balanced").fit(X, y)
    first = pickle.loads(pickle.dumps(parts[0]))
    for other in parts[1:]:
        first.merge(other)
    assert_same_model(first, expected, X)
    last = parts[-1].merge(parts[0]).merge(parts[2]).merge(parts[1])
    assert_same_model(last, expected, X)


def test_models_that_cannot_be_merged(many):
    X, y = many
    model = stream(RVFLClassifier(8, random_state=2), X, y)
    for other, message in [
        (RVFLClassifier(8, random_state=2).fit(X, y), "fitted by partial_fit"),
        (stream(ELMClassifier(8, random_state=2), X, y), "same kind"),
        (stream(RVFLClassifier(8, random_state=2), X, y + 1), "same kind and classes"),
        (stream(RVFLClassifier(9, random_state=2), X, y), "same parameters"),
        (stream(RVFLClassifier(8, random_state=2), X[:, :3], y), "features"),
        (stream(RVFLClassifier(8, random_state=3), X, y), "same int"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            model.merge(other)
        assert "\n" not in str(error.value)


def test_streams_of_other_columns_cannot_be_merged(many):
    X, y = many
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    turned = table[table.columns[::-1]]
    here, there = (
        RVFLClassifier(8, random_state=2).partial_fit(rows, y, classes=[0, 1])
        for rows in (table, turned)
    )
    with pytest.raises(ValueError, match="same columns in the same order"):
        here.merge(there)
    unnamed = RVFLClassifier(8, random_state=2).partial_fit(X, y, classes=[0, 1])
    expected = RVFLClassifier(8, random_state=2).fit(table, y, np.full(700, 2.0))
    assert_same_model(here.merge(unnamed), expected, table)


def test_views_of_many_columns_cannot_be_merged_with_others(rng):
    X, y = rng.normal(size=(20, 1200)), np.arange(20) % 2
    first = np.arange(1200) != 600
    here, there = (
        MultiViewRVFLClassifier(2, views=[mask, ~mask], random_state=0, calibrate=False)
        for mask in (first, np.roll(first, 3))
    )
    here, there = (model.partial_fit(X, y, classes=[0, 1]) for model in (here, there))
    with pytest.raises(ValueError, match="same parameters"):
        here.merge(there)


# -- what cannot be used -------------------------------------------------------------


def test_rows_that_cannot_be_used_leave_the_model_as_it_was(many):
    X, y = many
    bad = X[:30].copy()
    bad[17, 2] = np.nan
    fresh = RVFLClassifier(8, random_state=0)
    model = stream(RVFLClassifier(8, random_state=0), X, y)
    reference = model.decision_function(X)
    for call, message in [
        (lambda m: m.partial_fit(bad, y[:30], classes=[0, 1]), r"column 2, row 17"),
        (lambda m: m.partial_fit(X, y + 1, classes=[0, 1]), r"label (np.int64\()?2"),
        (lambda m: m.partial_fit(X, y.astype(str), classes=[0, 1]), "label"),
        (lambda m: m.partial_fit(X, y[:5], classes=[0, 1]), "inconsistent numbers"),
        (lambda m: m.partial_fit(X, y, [0, 1], -np.ones(700)), "not be negative"),
        (lambda m: m.partial_fit(X * 1e300, y, [0, 1]), "overflow"),
        (lambda m: m.set_params(class_weight={7: 1.0}).partial_fit(X, y, [0, 1]), "names 7"),
    ]:
        for tried in (fresh, model):
            with pytest.raises(ValueError, match=message) as error:
                call(tried)
            assert "\n" not in str(error.value)
            tried.set_params(class_weight=None)
        assert not [name for name in vars(fresh) if name.endswith("_")]
        np.testing.assert_array_equal(model.decision_function(X), reference)
    with pytest.raises(ValueError, match="classes must be passed"):
        fresh.partial_fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        fresh.partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="not the same as on the last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])


@pytest.mark.parametrize("estimator", [RVFLClassifier, RoBell])
def test_absent_rows_and_classes_not_seen_yet(many, estimator):
    X, y = many
    model = estimator(8, random_state=0)
    model.partial_fit(X, y, [0, 1, 2], np.zeros(700))
    with pytest.raises(ValueError, match="no row of positive weight yet"):
        model.predict(X)
    model.partial_fit(X[y == 0][:40], y[y == 0][:40])
    assert set(model.predict(X[:10])) == {0}
    assert model.predict_proba(X).shape == (700, 3)
    assert (model.predict_proba(X).argmax(axis=1) == 0).mean() > 0.95
    model.partial_fit(X[:200], y[:200])
    assert np.isfinite(model.predict_proba(X)).all()
    # A class without rows has no say: its scores are those of a target that is never met.
    np.testing.assert_allclose(model.coef_[:, 2], 0.0, atol=1e-12)
    reference = estimator(8, random_state=0)
    reference.partial_fit(X[y == 0][:40], y[y == 0][:40], classes=[0, 1])
    reference.partial_fit(X[:200], y[:200])
    np.testing.assert_allclose(model.coef_[:, :2], reference.coef_, atol=1e-12)


def test_a_sample_must_be_kept_from_the_start(many):
    X, y = many
    model = stream(RVFLClassifier(8, random_state=0, calibrate=False), X, y)
    before = model.predict(X)
    model.set_params(calibrate=True)
    with pytest.raises(ValueError, match="before the first call"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)
    stream(model.set_params(calibrate=False), X, y).set_params(C="loo")
    with pytest.raises(ValueError, match="before the first call"):
        model.predict(X)


# -- RoBell ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting", [{}, {"kernel_width": "scale", "rho": 2.0, "C": "loo"}], ids=str
)
def test_robell_is_fit_until_it_freezes(many, small, setting):
    X, y = many
    weight = np.tile([1.0, 2.0, 0.0, 0.5], 25)
    model = RoBell(12, random_state=0, class_weight="balanced", **setting)
    expected = RoBellRVFLClassifier(12, random_state=0, class_weight="balanced", **setting)
    expected.fit(X[:100], y[:100], weight)
    model = stream(model, X[:100], y[:100], (11,), weight)
    assert_same_model(model, expected, X)
    assert model.kernel_width_ == pytest.approx(expected.kernel_width_, rel=1e-14)
    for name in ("membership_", "radius_", "class_probability_", "drift_"):
        assert not hasattr(model, name)


def test_the_freeze_does_not_depend_on_batches(many, small):
    """The same rows in the same order, cut in any way, give the same model."""
    X, y = many
    whole = stream(RoBell(12, random_state=0), X, y, (700,))
    assert not whole._stream.state.warming_up
    for sizes in ((1, 118), (50,), (119, 2)):
        found = stream(RoBell(12, random_state=0), X, y, sizes)
        assert_same_state(normal(found._stream.state), normal(whole._stream.state), 1e-10)
        assert_same_model(found, whole, X, 1e-9)


@settings(max_examples=15)
@given(seed=seeds)
def test_the_order_after_the_freeze_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(400, 3)), (rng.random(400) < 0.25).astype(int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "WARM_UP", 100)
        patch.setattr(streaming, "WARM_UP_OF_EACH_CLASS", 1)
        patch.setattr(streaming, "RESERVOIR", 50)
        patch.setattr(streaming, "LANDMARKS", 20)
        frozen = stream(RoBell(7, random_state=0, kernel_width="scale"), X[:100], y[:100])
        assert not frozen._stream.state.warming_up
        models = []
        for order in (np.arange(100, 400), rng.permutation(np.arange(100, 400))):
            model = pickle.loads(pickle.dumps(frozen))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DriftWarning)
                models.append(stream(model, X[order], y[order], (int(rng.integers(1, 150)),)))
        assert_same_model(*models, X)
        # ... and rows seen elsewhere by a model that never froze can be added.
        other = stream(RoBell(7, random_state=0, kernel_width="scale"), X[330:], y[330:], (70,))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DriftWarning)
            part = stream(pickle.loads(pickle.dumps(frozen)), X[100:330], y[100:330], (230,))
            assert_same_model(pickle.loads(pickle.dumps(part)).merge(other), models[0], X)
            assert_same_model(other.merge(part), models[0], X)


def test_a_class_that_comes_late_is_waited_for_but_not_for_ever(rng, small):
    X, y = rng.normal(size=(700, 3)), np.zeros(700, int)
    y[250:255] = 1
    model = stream(RoBell(8, random_state=0), X[:254], y[:254], classes=[0, 1])
    assert model._stream.state.warming_up
    model = stream(model, X[254:256], y[254:256])  # the fifth row of the class, then one more
    assert not model._stream.state.warming_up
    assert model._stream.state.frozen.sizes.tolist() == [250.0, 5.0]
    never = stream(RoBell(8, random_state=0), X, np.zeros(700, int), classes=[0, 1])
    assert never._stream.state.frozen.sizes.tolist() == [300.0, 0.0]
    never.partial_fit(X[:5] + 9.0, np.ones(5, int))
    assert never._stream.state.sizes.tolist() == [700.0, 5.0]
    assert set(never.predict(X[:5] + 9.0)) <= {0, 1}


def test_few_distinct_rows_never_freeze(rng, small):
    X, y = rng.integers(0, 3, (900, 3)).astype(float), (rng.random(900) < 0.2).astype(int)
    model = stream(RoBell(8, random_state=0), X, y)
    assert model._stream.state.warming_up
    assert len(model._stream.state.reservoir.rows) <= 54 + 900
    assert len(settle(model._stream.state.reservoir).rows) <= 54
    assert_same_model(model, RoBellRVFLClassifier(8, random_state=0).fit(X, y), X)


# -- drift ---------------------------------------------------------------------------


def test_drift_is_told_once_and_only_when_there_is_some(rng, small):
    X, y = rng.normal(size=(6000, 3)), (rng.random(6000) < 0.2).astype(int)
    model = stream(RoBell(8, random_state=0, kernel_width="scale"), X, y, (500,))  # no warning
    drift = model.drift_
    assert set(drift) == {"n_later", "n_beyond", "largest_radius", "frozen_radius", "p_value"}
    assert drift["n_later"].sum() == pytest.approx(6000 - model._stream.state.frozen.sizes.sum())
    assert (drift["largest_radius"] > drift["frozen_radius"]).any()  # a few, as is to be expected
    assert (drift["p_value"] > 1e-4).all()
    with pytest.warns(DriftWarning, match="later rows of class") as caught:
        stream(model, X[:1000] + 4.0, y[:1000], (100,))
    assert len(caught) == 1
    assert model.drift_["p_value"].min() < 1e-6


def test_a_new_smallest_class_is_drift(rng, small):
    X, y = rng.normal(size=(400, 3)), (rng.random(400) < 0.2).astype(int)
    model = stream(RoBell(8, random_state=0), X, y)
    with pytest.warns(DriftWarning, match="was the smallest"):
        model.partial_fit(rng.normal(size=(900, 3)) * 0.5, np.ones(900, int))


class FitsHalf(RVFLClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X[::2], y[::2])


class WeighsByNorm(RVFLClassifier):
    def _fit_weights(self, prepared):
        return 1.0 / (1.0 + np.square(prepared.rows.X).sum(axis=1))


class ReversedTargets(RoBellRVFLClassifier):
    def _targets(self, rows):
        return super()._targets(rows)[:, ::-1]


class Squared(RVFLClassifier):
    def _features(self, X):
        return super()._features(X) ** 2


@pytest.mark.parametrize(
    ("kind", "method"), [(FitsHalf, "fit"), (WeighsByNorm, "_fit_weights"),
                         (ReversedTargets, "_targets")],
)  # fmt: skip
def test_what_partial_fit_would_pass_over_is_refused(imbalanced, kind, method):
    model = kind(5, random_state=0)
    with pytest.raises(TypeError, match=f"{kind.__name__} has a {method} of its own, which"):
        model.partial_fit(*imbalanced, classes=[0, 1])
    assert not hasattr(model, "classes_")


def test_features_of_ones_own_are_used_by_partial_fit(imbalanced):
    X, y = imbalanced
    whole = Squared(5, random_state=0, calibrate=False).fit(X, y)
    parts = Squared(5, random_state=0, calibrate=False)
    for start in (0, 100):
        parts.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
