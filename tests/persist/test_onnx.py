"""ONNX graphs say what the models say: the same labels, and probabilities to the last digits."""

import functools
import json
import sys
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import robell
from robell._core.layers.features import ACTIVATIONS
from robell.cli import main
from robell.export import to_onnx
from robell.files import load_model, save_model
from robell.models import CLASSIFIERS, REGRESSORS
from robell.persist.onnx.nodes import NotConvertible
from robell.tables.columns import MISSING_WORDS

pytest.importorskip("skl2onnx")
ort = pytest.importorskip("onnxruntime")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 5))
NEW = RNG.normal(scale=1.5, size=(60, 5))
LABELS = {
    "two": np.where(X[:, 0] + X[:, 1] ** 2 > 1, "yes", "no"),
    "three": np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.7, 0.7]) + 5,
    "truth": X[:, 0] > 0.3,
    "floats": np.where(X[:, 0] > 0.3, 2.0, -1.0),
}


def run(model, inputs):
    """Run the graph of a model in onnxruntime, with everything it does to graphs."""
    session = ort.InferenceSession(to_onnx(model).SerializeToString())
    return session.run(None, inputs if isinstance(inputs, dict) else {"X": inputs})


def assert_same(model, rows, inputs=None, tolerance=1e-12):
    label, probability = run(model, rows if inputs is None else inputs)
    np.testing.assert_array_equal(label, model.predict(rows))
    np.testing.assert_allclose(probability, model.predict_proba(rows), rtol=0, atol=tolerance)
    assert probability.dtype == np.float64


def estimator(name, **parameters):
    model = getattr(robell, name)(**parameters)
    known = model.get_params()
    small = {"n_hidden": 12, "random_state": 0}
    return model.set_params(**{key: value for key, value in small.items() if key in known})


@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize("name", sorted(CLASSIFIERS))
def test_every_network_of_the_family(name, labels):
    model = make_pipeline(StandardScaler(), estimator(name)).fit(X, LABELS[labels])
    assert_same(model, NEW)


@pytest.mark.parametrize("name", sorted(REGRESSORS))
@pytest.mark.parametrize("n_targets", [1, 2])
def test_every_regressor(name, n_targets):
    y = X[:, :n_targets] + X[:, 3:4] ** 2
    model = estimator(name).fit(X, y if n_targets > 1 else y[:, 0])
    (found,) = run(model, NEW)
    np.testing.assert_allclose(found.reshape(model.predict(NEW).shape), model.predict(NEW))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation):
    for bias in (False, True):
        model = robell.RVFLClassifier(12, activation, output_bias=bias, random_state=0)
        assert_same(model.fit(X, LABELS["three"]), NEW)


@pytest.mark.parametrize("labels", LABELS)
def test_labels_of_every_kind(labels):
    model = robell.ELMClassifier(12, random_state=0).fit(X, LABELS[labels])
    assert_same(model, NEW)


FOREST = RandomForestClassifier(15, random_state=0)


@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize(
    "inside",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
        FOREST,
        GaussianNB(),
    ],
    ids=repr,
)
def test_classifiers_of_others_made_robust(inside, labels):
    """Forests of skl2onnx give probabilities in single precision: ties may be broken otherwise."""
    is_forest = inside is FOREST
    tolerance = 1e-6 if is_forest else 1e-12
    model = robell.NoiseRobustClassifier(inside, random_state=0)
    model = make_pipeline(StandardScaler(), model).fit(X, LABELS[labels])
    scores = model.decision_function(NEW)
    best = np.sort(np.c_[scores * 0.0, scores] if labels == "two" else scores, axis=1)
    rows = NEW[best[:, -1] - best[:, -2] > 1e-6] if is_forest else NEW
    assert len(rows) > 50
    assert_same(model, rows, tolerance=tolerance)
    assert len(np.unique(model.predict(rows))) == len(model.classes_)
    robust = model[-1]
    around = robell.ThresholdClassifier(robust, slope=1.3)._keep(robust)
    assert_same(around, rows, tolerance=tolerance)
    if labels == "two":
        robust.threshold_ = 0.9
        assert_same(model, rows, tolerance=tolerance)


@pytest.mark.parametrize("scaled", [False, True])
def test_a_forest_sends_rows_on_a_threshold_the_way_it_does_itself(scaled):
    """Thresholds lie between numbers of single precision, and .3 is one of .2 and .4."""
    rows = RNG.normal(size=(900, 4)).round(1)
    inside = make_pipeline(StandardScaler(), FOREST) if scaled else FOREST
    y = np.where(rows[:300, 0] + rows[:300, 1] > 0, "yes", "no")
    model = robell.NoiseRobustClassifier(inside, random_state=0).fit(rows[:300], y)
    probability = run(model, rows)[1]
    np.testing.assert_allclose(probability, model.predict_proba(rows), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "inside", [RidgeClassifier(), LinearDiscriminantAnalysis(), DecisionTreeClassifier()], ids=repr
)
def test_classifiers_whose_graphs_would_be_wrong_are_refused(inside):
    model = robell.NoiseRobustClassifier(inside, random_state=0).fit(X, LABELS["two"])
    name = type(inside).__name__
    with pytest.raises(NotConvertible, match=f"^{name} in NoiseRobustClassifier has no ONNX form"):
        to_onnx(model)


def test_a_table_fitted_by_logistic_regression():
    frame = pd.DataFrame(X, columns=list("abcde")).assign(word=np.where(X[:, 1] > 0, "u", "v"))
    model = robell.fit_table(frame.assign(y=LABELS["two"]), "y", model="logistic").model
    inputs = {name: X[:, [k]] for k, name in enumerate("abcde")}
    inputs["word"] = frame[["word"]].to_numpy(str)
    assert_same(model, frame, inputs)


@pytest.mark.parametrize("inside", [LogisticRegression(), GaussianNB()], ids=repr)
@pytest.mark.parametrize("labels", ["two", "three"])
def test_a_table_encoder_within_a_robust_classifier(inside, labels):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(word=np.where(X[:, 1] > 0, "u", "v"))
    frame.loc[::7, "b"] = np.nan
    within = make_pipeline(robell.TableEncoder(), StandardScaler(), inside)
    model = robell.NoiseRobustClassifier(within, random_state=0).fit(frame, LABELS[labels])
    inputs = {name: frame[[name]].to_numpy(float) for name in "abcde"}
    inputs["word"] = frame[["word"]].to_numpy(str)
    assert_same(model, frame, inputs)
    if labels == "two":
        model.threshold_ = 0.9
        assert_same(model, frame, inputs)
    word = ColumnTransformer([("words", OneHotEncoder(), ["word"])], remainder="passthrough")
    model.set_params(estimator=make_pipeline(word, inside))
    frame["b"] = X[:, 1]
    assert_same(model.fit(frame, LABELS[labels]), frame, inputs | {"b": X[:, [1]]})
    model.set_params(estimator=make_pipeline(robell.TableEncoder(), inside)).fit(X, LABELS[labels])
    assert_same(model, NEW)


def test_probabilities_near_a_tie_are_shrunk_alike():
    model = robell.RVFLClassifier(12, random_state=0).fit(X, LABELS["three"])
    model.calibration_offsets_ = np.array([-3.0, 1.0, 2.0])  # would overtake most rows
    assert_same(model, NEW)
    shrunk = model.predict_proba(NEW).argmax(axis=1)
    assert (model.classes_[shrunk] == model.predict(NEW)).all()


def test_without_probabilities_there_are_scores():
    model = robell.RVFLClassifier(12, calibrate=False, random_state=0).fit(X, LABELS["three"])
    label, scores = run(model, NEW)
    np.testing.assert_allclose(scores, model.decision_function(NEW))
    np.testing.assert_array_equal(label, model.predict(NEW))


@pytest.mark.parametrize("encoding", ["phase", "cartesian", "circular", "pair"])
@pytest.mark.parametrize("augmented", [False, True])
def test_complex_layers_in_real_arithmetic(encoding, augmented):
    options = {"encoding": encoding, "augmented": augmented, "output_bias": augmented}
    model = robell.ComplexRVFLClassifier(12, random_state=0, **options)
    assert_same(model.fit(X, LABELS["two"]), NEW)


@pytest.mark.parametrize("combine", ["mean", "vote", "concat"])
@pytest.mark.parametrize("labels", ["two", "three"])
def test_deep_networks(combine, labels):
    model = robell.DeepRVFLClassifier(12, combine=combine, output_bias=True, random_state=0)
    assert_same(model.fit(X, LABELS[labels]), NEW)


@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize("probability", ["frequency", "balanced"])
def test_the_classifier_for_wrong_labels_and_its_thresholds(labels, probability):
    model = robell.NoiseRobustRVFLClassifier(20, probability=probability, random_state=0)
    assert_same(model.fit(X, LABELS[labels]), NEW)
    wrapped = robell.ThresholdClassifier(model, threshold=0.3, slope=1.5).fit(X, LABELS[labels])
    assert_same(wrapped, NEW)
    if labels == "two":
        before = model.predict(NEW)
        assert_same(model.choose_threshold(recall=0.99), NEW)
        assert (model.predict(NEW) != before).any()


def test_the_kernel_of_the_classifier_for_wrong_labels_sees_some_columns():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(200, 8)), np.arange(200) % 2
    rows[:, 5] += 3 * y
    model = robell.NoiseRobustRVFLClassifier(12, random_state=0).fit(rows, y)
    assert 5 in model.kernel_columns_
    assert len(model.kernel_columns_) < 8
    assert_same(model, rng.normal(size=(60, 8)))


def test_streams_end_in_the_same_graph():
    model = robell.RVFLClassifier(12, random_state=0)
    for rows in np.array_split(np.arange(150), 3):
        model.partial_fit(X[rows], LABELS["two"][rows], classes=["no", "yes"])
    assert_same(model, NEW)


# -- tables ----------------------------------------------------------------------------------


def raw_table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame.insert(1, "town", rng.choice(["Oslo", "Rome", "Kyiv"], n))
    frame["paid"] = rng.choice(["yes", "no"], n)
    frame["when"] = rng.uniform(19_000, 20_000, n).round(3)
    frame.loc[rng.random(n) < 0.2, "b"] = np.nan
    frame.loc[rng.random(n) < 0.1, "town"] = None
    return frame


def inputs_of(frame, names):
    feed = {}
    for name in names:
        column = frame[name]
        is_text = column.dtype.kind not in "fi"
        feed[name] = (column.fillna("") if is_text else column).to_numpy()[:, None]
        feed[name] = feed[name].astype(object if is_text else np.float64)
    return feed


def test_the_table_encoder_of_numbers_dates_and_categories():
    frame, new = raw_table(), raw_table(60, 1)
    new.loc[0, "town"], new.loc[1, "paid"] = "Bonn", "perhaps"  # levels it has not seen
    new.loc[2, "a"] = np.inf
    as_dates = [
        one.assign(when=pd.to_datetime(one["when"], unit="D").dt.round("s")) for one in (frame, new)
    ]
    y = np.where(frame["a"] > 0, "x", "y")
    model = make_pipeline(robell.TableEncoder(), robell.RVFLClassifier(12, random_state=0))
    model.fit(as_dates[0].assign(constant=1), y)
    assert {note.kind for note in model[0].notes_} == {"number", "date", "category", "left out"}
    days = (as_dates[1]["when"] - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    feed = inputs_of(new.assign(when=days), ["a", "town", "b", "c", "paid", "when"])
    assert_same(model, as_dates[1].assign(constant=1), feed)


BLANKS = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
WORDS = ["Oslo", "Rome", "New York", "a.b", "C\\E+(|", "Zürich", "日本", "oslo", "OSLO", "Bonn"]
WORDS += ["", *MISSING_WORDS, "na", "-", "0", "007", "1.0", "True", "true", "(other)", "(missing)"]
SIGNS = st.sampled_from([*BLANKS, "\u200b", "\ufeff", "\x00", "é", "x", "\\", "["])
CELLS = st.one_of(
    st.tuples(st.text(SIGNS, max_size=2), st.sampled_from(WORDS), st.text(SIGNS, max_size=2)),
    st.tuples(st.text(max_size=6)),
).map("".join)


@functools.cache
def encoded_model(towns, paid, is_declared=False):
    """A model of two columns of texts and one of numbers, and the session of its graph."""
    frame = pd.DataFrame({"town": list(towns) * 12, "a": np.arange(12.0 * len(towns)) ** 2 % 7})
    frame["paid"] = [paid[k % len(paid)] for k in range(len(frame))]
    if is_declared:
        frame = frame.astype({"town": "category", "paid": "category"})
    y = (frame["a"] + frame["town"].astype(str).str.len()) % 2 > 0.9
    model = make_pipeline(robell.TableEncoder(), robell.RVFLClassifier(12, random_state=0))
    model.fit(frame, y)
    assert [plan["kind"] for plan in model[0].plans_] == ["category", "number", "category"]
    return model, ort.InferenceSession(to_onnx(model).SerializeToString())


TOWNS = ("Oslo", "Rome", "New York", "a.b", "C\\E+(|", "Zürich", "日本", "0", "(other)")


@pytest.mark.parametrize("is_declared", [False, True])
@pytest.mark.parametrize(
    ("towns", "paid"),
    [
        (TOWNS, ("yes", "no")),  # no missing cells in the fit
        ((*TOWNS, " Oslo", "Rome\t", "", "NA"), ("yes", None)),
        (("NA", "None", "Oslo"), ("yes", "no", "?")),
    ],
)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30))
def test_any_cell_of_a_category_is_taken_alike(towns, paid, is_declared, cells):
    model, session = encoded_model(towns, paid, is_declared)
    new = pd.DataFrame(cells, columns=["town", "paid"], dtype=object)
    new.insert(1, "a", 1.5)
    found = session.run(None, inputs_of(new, ["town", "a", "paid"]))[1]
    np.testing.assert_allclose(found, model.predict_proba(new), rtol=0, atol=1e-12)
    if "\x00" not in "".join(map("".join, cells)):  # which categories of pandas take as ""
        declared = new.astype({"town": "category", "paid": "category"})
        np.testing.assert_allclose(found, model.predict_proba(declared), rtol=0, atol=1e-12)


def test_spaces_around_a_category_change_nothing():
    model, session = encoded_model(TOWNS, ("yes", "no"))
    cells = ["Oslo", *(blank + "Oslo" for blank in BLANKS), *("Oslo" + blank for blank in BLANKS)]
    new = pd.DataFrame({"town": cells, "a": 1.0, "paid": "yes"})
    found = session.run(None, inputs_of(new, ["town", "a", "paid"]))[1]
    assert len(BLANKS) > 20
    assert (found == found[0]).all()
    assert (model.predict_proba(new)[:1] == model.predict_proba(new)).all()


@given(st.lists(st.one_of(st.floats(), st.none(), st.integers()), min_size=1, max_size=20))
def test_any_number_is_taken_alike_as_text_and_as_a_number(numbers):
    model, session = encoded_model(TOWNS, ("yes", "no"))
    texts = ["NA" if value is None else f" {value!r}\t" for value in numbers]
    new = pd.DataFrame({"town": "Oslo", "a": pd.Series(texts, dtype=object), "paid": "no"})
    values = np.array([np.nan if value is None else float(value) for value in numbers])
    found = session.run(None, inputs_of(new.assign(a=values), ["town", "a", "paid"]))[1]
    np.testing.assert_allclose(found, model.predict_proba(new), rtol=0, atol=1e-12)


@given(st.lists(st.datetimes(), min_size=1, max_size=20), st.booleans())
def test_any_date_is_taken_alike_as_text_and_as_days(moments, is_gone):
    frame = pd.DataFrame({"when": [f"{d:02d}.{m:02d}.2024 {h:02d}:30" for d, m, h in DAYS]})
    model = make_pipeline(robell.TableEncoder(), robell.ELMClassifier(12, random_state=0))
    model.fit(frame, np.arange(len(frame)) % 3 == 0)
    assert model[0].plans_[0]["circle"]
    texts = [f" {d:%d.%m.}{d.year:04d} {d:%H:%M:%S}.{d.microsecond:06d}\xa0" for d in moments]
    days = [(d - datetime(1970, 1, 1)) / timedelta(days=1) for d in moments]
    new = pd.DataFrame({"when": [*texts, "NA" if is_gone else "no date"]})
    found = run(model, {"when": np.array([*days, np.nan])[:, None]})[1]
    np.testing.assert_allclose(found, model.predict_proba(new), rtol=0, atol=1e-8)


DAYS = [(d, m, h) for d in (1, 15, 28) for m in (1, 5, 9, 12) for h in (0, 7, 19)]


def test_times_of_day_in_hours_and_spellings_of_a_level():
    rng = np.random.default_rng(0)
    hours, minutes = rng.integers(0, 24, 120), rng.integers(0, 60, 120)
    times = [f"{h}:{m:02}" for h, m in zip(hours, minutes, strict=True)]
    frame = pd.DataFrame({"hour": times, "kind": rng.choice(["auto", "AUTO", "aut.", "ship"], 120)})
    model = make_pipeline(robell.TableEncoder(), robell.RVFLClassifier(12, random_state=0))
    model.fit(frame, hours > 11)
    assert [plan["kind"] for plan in model[0].plans_] == ["number", "category"]
    feed = inputs_of(frame.assign(hour=hours + minutes / 60), ["hour", "kind"])
    assert_same(model, frame, feed)
    same = frame.replace({"AUTO": "auto", "aut.": "auto"})
    np.testing.assert_array_equal(model.predict_proba(same), model.predict_proba(frame))


def test_an_array_of_texts_has_one_input_a_column():
    rows = np.empty((90, 3), object)
    rows[:, 0], rows[:, 1] = np.arange(90) % 7 + 0.5, np.array(["a", "b", "c"])[np.arange(90) % 3]
    rows[:, 2] = 1
    model = make_pipeline(robell.TableEncoder(), robell.ELMClassifier(12, random_state=0))
    model.fit(rows, np.arange(90) % 2)
    feed = {"x0": rows[:, :1].astype(float), "x1": rows[:, 1:2]}
    assert_same(model, rows, feed)


def test_an_array_of_which_one_column_is_used():
    rows = np.ones((90, 3))
    rows[:, 1] = np.arange(90) % 7
    model = make_pipeline(robell.TableEncoder(), robell.ELMClassifier(12, random_state=0))
    assert_same(model.fit(rows, np.arange(90) % 2), rows)


def test_an_older_operator_set_is_refused_for_categories():
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    model = encoded_model(TOWNS, ("yes", "no"))[0]
    kinds = {"town": StringTensorType, "a": DoubleTensorType, "paid": StringTensorType}
    types = [(name, kind([None, 1])) for name, kind in kinds.items()]
    with pytest.raises(NotConvertible, match=r"RegexFullMatch .* operator set 18 .* needs 20"):
        skl2onnx.convert_sklearn(model, initial_types=types, target_opset=18)


def test_long_tails_are_drawn_in_alike():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"pay": np.exp(rng.normal(0, 3, 300)), "a": rng.normal(size=300)})
    model = make_pipeline(robell.TableEncoder(), robell.RVFLClassifier(12, random_state=0))
    model.fit(frame, frame["a"] > 0)
    assert model[0].plans_[0]["tails"] is not None
    pay = [0.0, 1e-9, -3.0, 1e5, 1e80, -1e120, 1e308, np.nan, float(model[0].plans_[0]["median"])]
    new = pd.DataFrame({"pay": pay, "a": np.linspace(-1, 1, len(pay))})
    assert_same(model, new, inputs_of(new, ["pay", "a"]), 1e-11)


@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize("slope", [None, 3.0])
def test_a_threshold_on_calibrated_probabilities(labels, slope):
    inner = robell.RVFLClassifier(12, random_state=0)
    y = LABELS[labels]
    offsets = None if slope is None else np.linspace(0.5, -0.5, len(np.unique(y)))
    options = {"slope": slope, "offsets": offsets}
    for positive in (None, np.unique(y)[0]) if labels == "two" else (None,):
        model = robell.ThresholdClassifier(inner, threshold=0.2, positive=positive, **options)
        assert_same(model.fit(X, y), NEW)
        assert (model.predict(NEW) != inner.fit(X, y).predict(NEW)).any() or labels == "three"


def test_what_robell_fit_writes_can_be_exported(tmp_path, capsys):
    raw_table(400).assign(label=lambda one: np.where(one["a"] > 0.5, "yes", "no")).to_csv(
        tmp_path / "t.csv", index=False
    )
    model = [
        "fit",
        str(tmp_path / "t.csv"),
        "--target",
        "label",
        "--out",
        str(tmp_path / "m.skops"),
    ]
    assert main([*model, "--recall", "0.9"]) == 0
    assert main(["export", str(tmp_path / "m.skops"), "--onnx", str(tmp_path / "m.onnx")]) == 0
    new = raw_table(50, 3)
    session = ort.InferenceSession(str(tmp_path / "m.onnx"))
    found = session.run(None, inputs_of(new, [one.name for one in session.get_inputs()]))
    fitted = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(found[0], fitted.predict(new))
    np.testing.assert_allclose(found[1], fitted.predict_proba(new), rtol=0, atol=1e-12)


def test_the_table_encoder_of_an_array():
    rows = X.copy()
    rows[::7, 1] = np.nan
    model = make_pipeline(robell.TableEncoder(), robell.ELMClassifier(12, random_state=0))
    assert_same(model.fit(rows, LABELS["two"]), NEW)


MERCHANTS = ("Café Straße", "CAFÉ STRASSE", "Shop 24/7", "shop_24", "bolt&nut Ltd.", "x")
WORDS = ["late", "paid", "glass", "water", "İstanbul", "ǆ", "Ⅷ", "five5", "12", "007"]
WORDS += ["red-blue", "don't", "ﬁre", "\u0345", "ß", "straße"]


@functools.cache
def worded_model():
    """A model of a column of merchants, some of them often and spelt otherwise, and of remarks."""
    rng = np.random.default_rng(0)
    frame = raw_table(600)[["a", "b"]]
    often = [*MERCHANTS, *(f"{w} {k}" for k, w in enumerate(WORDS * 3))]
    frame["merchant"] = rng.choice(often, 600, p=rng.dirichlet(np.full(len(often), 0.5)))
    frame["merchant"] = np.where(
        rng.random(600) < 0.3, [f"Shop {k}" for k in range(600)], frame["merchant"]
    )
    frame["remark"] = [" ".join([*rng.choice(WORDS, 3), str(k)]) for k in range(600)]
    frame.loc[::9, "remark"] = None
    y = (frame["a"] > 0) ^ frame["merchant"].str.startswith("Shop")
    model = make_pipeline(robell.TableEncoder(), robell.RVFLClassifier(12, random_state=0))
    model.fit(frame, np.where(y, "yes", "no"))
    assert {"merchant", "remark"} <= {p["name"] for p in model[0].plans_ if "words" in p}
    return model, ort.InferenceSession(to_onnx(model).SerializeToString()), frame


def test_words_and_texts_of_many_kinds_have_a_graph():
    model, session, frame = worded_model()
    found = session.run(None, inputs_of(frame, ["a", "b", "merchant", "remark"]))
    np.testing.assert_array_equal(found[0], model.predict(frame))
    np.testing.assert_allclose(found[1], model.predict_proba(frame), rtol=0, atol=1e-12)


TEXTS = st.lists(st.sampled_from([*WORDS, *MERCHANTS]) | st.text(max_size=6), max_size=5)
JOINTS = st.sampled_from([" ", "", "_", "-", "\n", "2", "é"])


@given(st.lists(st.tuples(TEXTS, JOINTS, st.booleans()), min_size=1, max_size=20))
def test_any_text_is_taken_alike(texts):
    model, session, _ = worded_model()
    cells = [joint.join(parts).replace("\x00", "") for parts, joint, _ in texts]
    cells = [c.upper() if is_loud else c for c, (_, _, is_loud) in zip(cells, texts, strict=True)]
    cells = [cell.strip() for cell in cells]
    new = pd.DataFrame({"a": 0.5, "b": 1.0, "merchant": cells, "remark": cells[::-1]}, dtype=object)
    new = new.astype({"a": float, "b": float})
    found = session.run(None, inputs_of(new, ["a", "b", "merchant", "remark"]))[1]
    np.testing.assert_allclose(found, model.predict_proba(new), rtol=0, atol=1e-12)


def test_columns_may_be_held_at_their_usual_values():
    model, _, frame = worded_model()
    graph = to_onnx(model, without=["merchant", "b"])
    session = ort.InferenceSession(graph.SerializeToString())
    assert [one.name for one in session.get_inputs()] == ["a", "remark"]
    encoder, places = model[0], []
    for name in ("merchant", "b"):
        places += list(encoder.groups_[name])
    encoded = encoder.transform(frame)
    encoded[:, places] = encoder.centre_[places]
    found = session.run(None, inputs_of(frame, ["a", "remark"]))[1]
    np.testing.assert_allclose(found, model[1].predict_proba(encoded), rtol=0, atol=1e-12)
    with pytest.raises(NotConvertible, match=r"reads no column 'merchnt'.*did you mean 'merchant'"):
        to_onnx(model, without="merchnt")
    with pytest.raises(NotConvertible, match="no column is left"):
        to_onnx(model, without=["a", "b", "merchant", "remark"])


def test_texts_that_are_known_by_their_digests_are_named_and_may_be_left_out(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("robell.tables.columns.MOST_KEPT", 0)
    _, _, frame = worded_model()
    model = make_pipeline(robell.TableEncoder(), robell.ELMClassifier(5, random_state=0))
    model.fit(frame, LABELS["two"][np.arange(600) % 150])
    with pytest.raises(NotConvertible, match=r"column 'merchant': .*without=\['merchant'\]$"):
        to_onnx(model)
    save_model(model, tmp_path / "m.skops")
    arguments = ["export", str(tmp_path / "m.skops"), "--onnx", str(tmp_path / "m.onnx")]
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert err.endswith("held at their usual values: --without merchant\n")
    assert err.count("\n") == 1
    assert not (tmp_path / "m.onnx").exists()
    assert main([*arguments, "--without", "merchant"]) == 0
    assert "so that predictions differ from the model's: 'merchant'" in capsys.readouterr().err
    session = ort.InferenceSession(str(tmp_path / "m.onnx"))
    assert [one.name for one in session.get_inputs()] == ["a", "b", "remark"]


def test_the_metadata_say_what_the_graph_is_and_how_it_is_fed(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = raw_table(300).assign(day=rng.choice(["31.12.2024", "01.02.2025", "03.03.2025"], 300))
    frame["label"] = np.where(frame["a"] > 0.5, "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, graph = str(tmp_path / "m.skops"), str(tmp_path / "m.onnx")
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "label", "--out", model]) == 0
    assert main(["export", model, "--onnx", graph]) == 0
    session = ort.InferenceSession(graph)
    written = session.get_modelmeta().custom_metadata_map
    found = {key: json.loads(value) for key, value in written.items()}
    assert found["robell.version"] == robell.__version__
    assert found["robell.target"] == "label"
    assert found["robell.classes"] == ["no", "yes"]
    threshold = load_model(model)[1].threshold_
    assert found["robell.threshold"] == {"value": threshold, "positive": "yes"}
    assert list(found["robell.inputs"]) == [one.name for one in session.get_inputs()]
    assert "days since 1970" in found["robell.inputs"]["day"]
    assert found["robell.inputs"]["a"].startswith("a number")
    assert found["robell.inputs"]["town"].startswith("text")
    plain = to_onnx(robell.RVFLClassifier(5, random_state=0).fit(X, LABELS["three"]))
    found = {one.key: json.loads(one.value) for one in plain.metadata_props}
    assert found["robell.classes"] == [5, 6, 7]
    assert found["robell.threshold"] is None
    assert found["robell.inputs"] == {"X": "rows of 5 numbers of double precision"}


def test_transformers_of_scikit_learn_before_the_network():
    frame, new = raw_table(), raw_table(60, 1)
    frame, new = frame.fillna({"town": "Rome"}), new.fillna({"town": "Rome"})
    columns = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
            ("c", OneHotEncoder(sparse_output=False), ["town", "paid"]),
        ]
    )
    model = make_pipeline(columns, robell.RVFLClassifier(12, random_state=0))
    model.fit(frame, LABELS["two"])
    assert_same(model, new, inputs_of(new, ["a", "b", "town", "paid"]))
    rows = X.copy()
    rows[::7, 1] = np.nan
    steps = [SimpleImputer(strategy="median"), PCA(3), robell.ELMClassifier(12, random_state=0)]
    assert_same(make_pipeline(*steps).fit(rows, LABELS["three"]), NEW)


# -- what cannot be converted ------------------------------------------------------------------


def sine(Z):
    return np.sin(Z)


class Cubes(robell.BaseRVFLClassifier):
    def _fit_features(self, rows, seed):
        pass

    def _features(self, X):
        return X**3

    def _n_columns(self):
        return self.n_features_in_


@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_mean=False)], ids=str)
def test_a_threshold_around_a_pipeline(scaler):
    inner = make_pipeline(scaler, estimator("RVFLClassifier"))
    model = robell.ThresholdClassifier(inner, threshold=0.3, slope=1.5)
    assert_same(model.fit(3.0 * X + 1.0, LABELS["two"]), 3.0 * NEW + 1.0)
    refused = robell.ThresholdClassifier(make_pipeline(PCA(2), estimator("RVFLClassifier")))
    with pytest.raises(NotConvertible, match="PCA behind a threshold has no ONNX form"):
        to_onnx(refused.set_params(slope=1.5).fit(X, LABELS["two"]))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (robell.RVFLClassifier(5, sine), "the activation sine has no ONNX form"),
        (robell.ComplexRVFLClassifier(5, "complex_tanh"), "the activation complex_tanh has no"),
        (Cubes(), "Cubes has a _features of its own|Unable to find a shape calculator"),
        (make_pipeline(SplineTransformer(), robell.ELMClassifier(5)), "SplineTransformer"),
        (
            make_pipeline(SimpleImputer(add_indicator=True), robell.ELMClassifier(5)),
            "SimpleImputer has an ONNX form for numbers and NaN alone",
        ),
    ],
)
def test_a_part_without_a_form_is_named_in_one_line(model, message):
    rows = X.copy()
    if "SimpleImputer" in str(model):
        rows[0, 0] = np.nan
    with pytest.raises(NotConvertible, match=message) as caught:
        to_onnx(model.fit(rows, LABELS["two"]))
    assert "\n" not in str(caught.value)


def test_the_command_writes_a_graph_or_nothing(tmp_path, capsys):
    model = make_pipeline(StandardScaler(), robell.RVFLClassifier(12, random_state=0))
    save_model(model.fit(X, LABELS["two"]), tmp_path / "m.skops")
    out = tmp_path / "m.onnx"
    arguments = ["export", str(tmp_path / "m.skops"), "--onnx"]
    assert main([*arguments, str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(out)
    label, probability = ort.InferenceSession(str(out)).run(None, {"X": NEW})
    np.testing.assert_array_equal(label, model.predict(NEW))
    np.testing.assert_allclose(probability, model.predict_proba(NEW))
    assert main([*arguments, str(out)]) == 0  # an earlier graph
    (tmp_path / "mine.onnx").write_text("mine")
    there = sorted(tmp_path.iterdir())
    for bad in ("mine.onnx", "m.skops", "none/m.onnx"):
        assert main([*arguments, str(tmp_path / bad)]) == 1
    save_model(
        make_pipeline(SplineTransformer(), model[1]).fit(X, LABELS["two"]), tmp_path / "m.skops"
    )
    assert main([*arguments, str(tmp_path / "new.onnx")]) == 1
    assert capsys.readouterr().err.count("\n") == 4
    assert sorted(tmp_path.iterdir()) == there


def test_the_metadata_name_the_inputs_as_the_graph_does_and_their_columns():
    """They named ``a b`` where the graph has ``a_b``, the name that they gave to another input."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a b", "a_b", "size"])
    pipeline = make_pipeline(robell.TableEncoder(), robell.RVFLClassifier(5, random_state=0))
    model = pipeline.fit(frame, frame["a b"] > 0)
    graph = to_onnx(model)
    found = {one.key: json.loads(one.value) for one in graph.metadata_props}["robell.inputs"]
    session = ort.InferenceSession(graph.SerializeToString())
    assert list(found) == [one.name for one in session.get_inputs()] == ["a_b", "a_b1", "size"]
    assert [how.partition(":")[0] for how in found.values()][:2] == ["column 'a b'", "column 'a_b'"]
    assert found["size"].startswith("a number")
    cells = zip(found, frame.to_numpy().T, strict=True)
    labels = session.run(None, {name: column[:, None] for name, column in cells})[0]
    np.testing.assert_array_equal(labels, model.predict(frame))
