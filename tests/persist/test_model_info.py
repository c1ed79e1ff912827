"""Model files of whole pipelines, what they say about their model, their card, and drift."""

import json
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import FeatureAgglomeration, KMeans
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, SparsePCA
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectFromModel, SelectKBest, chi2
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import SparseRandomProjection

pytest.importorskip("skops")

import skops.io

from robell import NoiseRobustRVFLClassifier, RVFLClassifier, RVFLRegressor, TableEncoder
from robell.files import (
    FileError,
    ModelVersionWarning,
    describe_drift,
    load_model,
    model_info,
    save_model,
)
from robell.persist.model_files import check_parts

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(80, 4))) + 0.1
Y = np.where(X[:, 0] > 0.7, "yes", "no")
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    town=RNG.choice(["Oslo", "Rome", "Kyiv"], 80),
    day=pd.date_range("2024-01-01", periods=80).strftime("%d.%m.%Y"),
)
FRAME.loc[3, "a"] = np.nan
FRAME.loc[5, "town"] = None
NUMBERS = list("abcd")


def classifier():
    return RVFLClassifier(n_hidden=5, random_state=0)


TRANSFORMERS = [
    SimpleImputer(add_indicator=True),
    KNNImputer(),
    IterativeImputer(max_iter=2, random_state=0),
    RobustScaler(),
    QuantileTransformer(n_quantiles=20),
    PowerTransformer(),
    SplineTransformer(),
    FunctionTransformer(np.log1p),
    PCA(2),
    SparsePCA(2, random_state=0),
    Nystroem(n_components=5, random_state=0),
    SelectKBest(chi2, k=2),
    SelectFromModel(LogisticRegression()),
    SparseRandomProjection(2, dense_output=True, random_state=0),
    FeatureAgglomeration(2),
    KMeans(3, n_init=1, random_state=0),
    RandomTreesEmbedding(3, max_depth=3, sparse_output=False, random_state=0),
    FeatureUnion([("a", PCA(2)), ("b", StandardScaler())]),
]
FRAMES = [
    TableEncoder(),
    ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
            ("c", OneHotEncoder(sparse_output=False), ["town"]),
        ]
    ),
    ColumnTransformer(
        [
            ("n", SimpleImputer(), make_column_selector(dtype_include=float)),
            ("c", make_pipeline(OrdinalEncoder(), SimpleImputer()), ["town"]),
        ]
    ),
    ColumnTransformer([("t", TargetEncoder(), ["town", "day"])]),
]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda one: type(one).__name__)
def test_pipelines_of_scikit_learns_transformers_come_back(transformer, tmp_path):
    model = make_pipeline(transformer, classifier()).fit(X, Y)
    save_model(model, tmp_path / "m.skops", X=X, y=Y)
    again = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("place", range(len(FRAMES)))
def test_pipelines_of_frames_come_back(place, tmp_path):
    model = make_pipeline(FRAMES[place], classifier()).fit(FRAME, Y)
    save_model(model, tmp_path / "m.skops", X=FRAME, y=Y)
    again = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    assert [one["name"] for one in model_info(tmp_path / "m.skops")["columns"]] == list(FRAME)


def test_what_a_file_cannot_hold_is_said_in_one_line(tmp_path):
    from sklearn.cluster import Birch
    from sklearn.manifold import Isomap

    for transformer, name in ((Isomap(n_components=2), "KDTree"), (Birch(n_clusters=2), "Birch")):
        model = make_pipeline(transformer, classifier()).fit(X, Y)
        with pytest.raises(ValueError, match=name) as caught:
            save_model(model, tmp_path / "m.skops")
        assert "\n" not in str(caught.value)
        assert list(tmp_path.iterdir()) == []


def test_trees_that_lead_astray_are_refused():
    embedding = RandomTreesEmbedding(2, max_depth=3, random_state=0).fit(X)
    check_parts(embedding)
    tree = embedding.estimators_[0].tree_
    state = tree.__getstate__()
    state = state | {"nodes": state["nodes"].copy()}  # not a view of the tree itself
    for field, value in (("left_child", 0), ("right_child", 10_000), ("feature", 99)):
        nodes = state["nodes"].copy()
        nodes[field][0] = value
        tree.__setstate__(state | {"nodes": nodes})
        with pytest.raises(ValueError, match=r"a tree (that leads nowhere|of other columns)"):
            check_parts(embedding)
    tree.__setstate__(state)
    check_parts(embedding)


# -- what a file says ------------------------------------------------------------------------


def test_a_file_says_what_its_model_was_made_of(tmp_path):
    noisy = make_pipeline(TableEncoder(), NoiseRobustRVFLClassifier(n_hidden=10, random_state=0))
    noisy.fit(FRAME, Y)
    save_model(noisy, tmp_path / "m.skops", X=FRAME, y=Y, about={"purpose": "*tests*"})
    info = model_info(tmp_path / "m.skops")
    assert info["model"] == ["TableEncoder", "NoiseRobustRVFLClassifier"]
    assert info["classes"] == ["no", "yes"]
    assert info["class_counts"] == [int((Y == "no").sum()), int((Y == "yes").sum())]
    assert info["noise_rate"] == noisy[-1].noise_rate_
    assert info["threshold"] == {"value": noisy[-1].threshold_, "positive": "yes"}
    assert info["versions"]["numpy"] == np.__version__
    kinds = {one["name"]: one["kind"] for one in info["columns"]}
    assert kinds == dict.fromkeys(NUMBERS, "number") | {"town": "category", "day": "date"}
    a = info["columns"][0]
    assert (a["edges"][0], a["edges"][-1]) == (FRAME["a"].min(), FRAME["a"].max())
    assert a["missing"] == 1 / 80
    np.testing.assert_allclose(sum(a["shares"]), 1)
    card = (tmp_path / "m-card.md").read_text()
    for text in ("TableEncoder → NoiseRobust", "\\*tests\\*", "2024-01-01 to", "| Oslo", "| yes"):
        assert text.replace("| Oslo", "Oslo (") in card
    # The same columns have the same fingerprint, whatever their values.
    again = make_pipeline(TableEncoder(), classifier()).fit(FRAME[::-1], Y[::-1])
    save_model(again, tmp_path / "n.skops", X=FRAME[::-1], y=Y[::-1])
    other = model_info(tmp_path / "n.skops")["columns_fingerprint"]
    assert other == info["columns_fingerprint"]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"X": FRAME[["b", "a", "c"]]}, "the columns that the model was fitted to"),
        ({"X": FRAME[["a", "b"]]}, "the columns that the model was fitted to"),
        ({"X": X}, "the columns that the model was fitted to"),
        ({"X": X[:, :3], "y": Y[:50]}, "X has 80 rows, y has 50"),
        ({"y": Y == "yes"}, "the label (True|False), which is none of the model's classes"),
    ],
    ids=["order", "fewer", "more", "rows", "labels"],
)
def test_another_table_than_that_of_the_model_is_refused(tmp_path, given, match):
    model = RVFLClassifier(n_hidden=5, random_state=0).fit(FRAME[["a", "b", "c"]].fillna(0), Y)
    with pytest.raises(ValueError, match=match):
        save_model(model, tmp_path / "m.skops", **given)
    assert not (tmp_path / "m.skops").exists()
    save_model(model, tmp_path / "m.skops", X=X[:, :3], y=Y)  # columns by place
    info = model_info(tmp_path / "m.skops")
    assert [column["name"] for column in info["columns"]] == ["a", "b", "c"]
    assert describe_drift(info, FRAME[["a", "b", "c"]]).missing == ()


@pytest.mark.parametrize("given", [FRAME[["a"]], FRAME.to_numpy()], ids=["fewer", "no names"])
def test_a_table_without_columns_that_an_encoder_reads_is_refused(tmp_path, given):
    """The card said that the model had been fitted to the columns given."""
    model = make_pipeline(TableEncoder(), RVFLClassifier(n_hidden=5, random_state=0)).fit(FRAME, Y)
    with pytest.raises(ValueError, match="the columns that the model was fitted to"):
        save_model(model, tmp_path / "m.skops", X=given)
    save_model(model, tmp_path / "m.skops", X=FRAME.assign(more=1))


def test_a_regressor_says_that_it_predicts_a_number(tmp_path):
    model = RVFLRegressor(n_hidden=5, random_state=0).fit(X, X[:, 0])
    save_model(model, tmp_path / "m.skops", X=X, y=X[:, 0])
    info = model_info(tmp_path / "m.skops")
    assert (info["classes"], info["class_counts"], info["n_rows"]) == ([], None, 80)
    assert "Predicts a number." in (tmp_path / "m-card.md").read_text()
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").predict(X), model.predict(X))


def test_a_threshold_is_part_of_the_description(tmp_path):
    model = classifier().fit(X, Y)
    model.threshold_, model.positive_ = 0.25, model.classes_[1]
    save_model(model, tmp_path / "m.skops")
    assert model_info(tmp_path / "m.skops")["threshold"] == {"value": 0.25, "positive": "yes"}
    assert "where its probability is at least 0.25" in (tmp_path / "m-card.md").read_text()


def rewritten(path, change):
    """Change what a file says about its model."""
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    parts["robell.json"] = change(json.loads(parts["robell.json"]))
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in parts.items():
            packed.writestr(name, data if isinstance(data, bytes) else json.dumps(data))


def test_other_versions_are_told_when_a_model_is_loaded(tmp_path):
    path = tmp_path / "m.skops"
    save_model(classifier().fit(X, Y), path)
    rewritten(path, lambda info: info | {"robell": "0.0.9"})
    with pytest.warns(ModelVersionWarning, match=r"saved with robell 0\.0\.9, here is"):
        load_model(path)
    versions = {"scikit-learn": "1.0", "numpy": np.__version__}
    rewritten(path, lambda info: info | {"versions": versions})
    with pytest.warns(ModelVersionWarning, match=r"scikit-learn 1\.0, here is"):
        load_model(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda info: [],
        lambda info: info | {"versions": 3},
        lambda info: info | {"versions": {"numpy": "9" * 10_000}},
        lambda info: info | {"columns": [{"name": 3}]},
        lambda info: info | {"columns": [{"name": "a", "kind": "number", "how": "number"}]},
        lambda info: info | {"columns": [{"name": "a", "kind": "number", "edges": [2, 1]}]},
        lambda info: info | {"columns": [{"name": "a", "kind": "category", "levels": {"b": 7}}]},
        lambda info: b"\xff\xfe{",
        lambda info: b"[" * 100_000,
    ],
)
def test_a_description_that_makes_no_sense_is_one_line(tmp_path, change):
    path = tmp_path / "m.skops"
    save_model(classifier().fit(X, Y), path)
    rewritten(path, change)
    for read in (model_info, load_model):
        with pytest.raises(FileError, match="not a model file") as caught:
            read(path)
        assert "\n" not in str(caught.value)


def test_files_of_others_and_halves_of_files_are_one_line(tmp_path):
    path = tmp_path / "m.skops"
    skops.io.dump(LogisticRegression().fit(X, Y), path)
    with pytest.raises(FileError, match="LogisticRegression is none of robell's models"):
        load_model(path)
    assert model_info(path) == {}
    save_model(classifier().fit(X, Y), path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:size])
        for read in (model_info, load_model):
            with pytest.raises(FileError, match=r"not a model file"):
                read(path)
    pd.to_pickle({"a": 1}, path)
    with pytest.raises(FileError, match="not a model file"):
        load_model(path)


def test_a_card_without_the_training_table_says_nothing_of_its_gaps(tmp_path):
    frame = pd.DataFrame({"a": [0.0, 1.0, np.nan, 3.0] * 6, "b": range(24)})
    model = make_pipeline(TableEncoder(), RVFLClassifier(random_state=0))
    path = tmp_path / "m.skops"
    save_model(model.fit(frame, np.arange(24) % 2), path)
    card = (tmp_path / "m-card.md").read_text(encoding="utf-8")
    assert "| a | unknown |  |  |" in card
    assert "0 %" not in card


def test_model_and_card_come_together(tmp_path, monkeypatch):
    path = tmp_path / "m.skops"
    save_model(classifier().fit(X, Y), path)
    before = path.read_bytes(), (tmp_path / "m-card.md").read_bytes()
    (tmp_path / "m-card.md").chmod(0o444)
    with pytest.raises(FileError, match="read-only"):
        save_model(RVFLClassifier(n_hidden=6).fit(X, Y), path)
    assert (path.read_bytes(), (tmp_path / "m-card.md").read_bytes()) == before


# -- drift -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("drift") / "m.skops"
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(10, 1, (2000, 3)), columns=["a", "b", "c"])
    frame["town"] = rng.choice(["Oslo", "Rome", "Kyiv"], 2000, p=[0.6, 0.3, 0.1])
    frame["few"] = rng.integers(0, 2, 2000)
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, 2000), "D")
    y = frame["a"] > 10
    model = make_pipeline(TableEncoder(), classifier()).fit(frame, y)
    save_model(model, path, X=frame, y=y)
    return model_info(path), frame


@pytest.mark.parametrize("n", [1, 20, 50, 200, 2000])
@pytest.mark.parametrize("seed", range(5))
def test_rows_like_those_of_the_training_have_not_moved(trained, n, seed):
    info, frame = trained
    assert describe_drift(info, frame.sample(n, random_state=seed)).lines == []


def test_every_kind_of_change_is_named(trained):
    info, frame = trained
    new = frame.sample(500, random_state=0).drop(columns="few").assign(extra=1)
    new["a"] *= 1000
    new["b"] += 2
    new["c"] = "unknown"
    new["town"] = "Kyiv"
    new["day"] = "2031-05-05"
    drift = describe_drift(info, new[["town", *(c for c in new if c != "town")]])
    assert drift.missing == ("few",)
    assert drift.extra == ("extra",)
    assert drift.reordered
    assert [one.name for one in drift.other_kind] == ["c"]
    assert {one.name for one in drift.far_outside} == {"a", "day"}
    assert {one.name for one in drift.moved} == {"b", "town"}
    text = "\n".join(drift.lines)
    for words in (
        "column 'a' lies far outside its training range (6.",
        "times the usual size; another unit?",
        "column 'c' held numbers in training; here 100 % of the cells are none",
        "'Kyiv' in 100 % of the rows",
        "median 11.9, 10 before",
    ):
        assert words in text


def test_drift_is_the_same_in_parts_and_from_any_source(trained, tmp_path):
    from robell.tables.drift import DriftMeter
    from robell.tables.read import columns_of, read_table

    info, frame = trained
    moved = frame.assign(b=frame["b"] + 2, town="Rome").astype({"day": str})
    moved.to_csv(tmp_path / "t.csv", index=False)
    whole = describe_drift(info, moved)
    assert {one.name for one in whole.moved} == {"b", "town"}
    sources = [pl.from_pandas(moved), read_table(tmp_path / "t.csv")]
    for source in sources:
        found = describe_drift(info, source)
        assert [(o.name, round(o.index, 9)) for o in found.moved] == [
            (o.name, round(o.index, 9)) for o in whole.moved
        ]
    meter = DriftMeter(info["columns"])
    for start in range(0, 2000, 300):
        meter.add(columns_of(moved.iloc[start : start + 300]))
    found = meter.result()
    assert found.n_rows == 2000
    np.testing.assert_allclose([o.index for o in found.moved], [o.index for o in whole.moved])


def test_missing_columns_are_named_with_what_may_be_meant():
    from robell.tables.drift import missing_columns

    assert missing_columns(["a", "town"], ["town", "a", "b"]) == ""
    found = missing_columns(["amount", "town", *"uvwxyz"], ["Amount", "b"])
    assert found == "'amount' (did you mean 'Amount'?), 'town', 'u', 'v', 'w', ..."


def test_missing_cells_and_empty_tables(trained):
    info, frame = trained
    gone = describe_drift(info, frame.assign(a=np.nan))
    assert [one.name for one in gone.moved] == ["a"]
    assert "100 % of the cells are missing, 0 % were" in gone.lines[0]
    assert describe_drift(info, frame.iloc[:0]).lines == []
    assert describe_drift({}, frame).moved == ()


def test_drift_reads_a_column_as_the_encoder_of_the_model_does(tmp_path):
    """Decimal commas, words that are levels, signs that stand for no number: learnt in the fit."""
    from robell import fit_table

    rng = np.random.default_rng(0)
    n = 300
    price = rng.normal(10, 2, n)
    cells = [f"{v:.1f}".replace(".", ",") if k % 10 else "-" for k, v in enumerate(price)]
    town = np.where(rng.random(n) < 0.5, "NA", "Rome")
    labels = np.where(price > 10, "b", "a")
    small = NoiseRobustRVFLClassifier(n_hidden=5, random_state=0)
    written = pd.DataFrame({"price": cells, "town": town, "y": labels})
    written.to_csv(tmp_path / "t.csv", sep=";", index=False)
    fit_table(tmp_path / "t.csv", "y", estimator=small).save(tmp_path / "a.skops")
    described = model_info(tmp_path / "a.skops")["columns"][0]
    assert described["kind"] == "number"
    assert described["missing"] == pytest.approx(0.1)
    assert described["median"] == pytest.approx(10, abs=0.5)
    # The fit took NA as a level: texts, which declare nothing, do not make it missing.
    typed = pd.DataFrame({"price": price, "town": pd.Categorical(town)})
    fit_table(typed.assign(y=labels), "y", estimator=small).save(tmp_path / "b.skops")
    info = model_info(tmp_path / "b.skops")
    assert info["columns"][1]["levels"].keys() == {"NA", "Rome"}
    assert describe_drift(info, typed.assign(town=town)).lines == []
