"""Model files from anybody: what they would take is known first, what does not fit is refused."""

import io
import json
import re
import tracemalloc
import zipfile
from contextlib import contextmanager
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import AdditiveChi2Sampler, PolynomialCountSketch
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

pytest.importorskip("skops")

import robell
from robell import (
    ComplexRVFLClassifier,
    NoiseRobustClassifier,
    NoiseRobustRVFLClassifier,
    RVFLClassifier,
    TableEncoder,
    ThresholdClassifier,
)
from robell._tools.threads import n_cores
from robell.files import FileError, ModelVersionWarning, load_model, model_info, save_model
from robell.models import CLASSIFIERS, REGRESSORS
from robell.persist import model_files
from robell.persist.model_files import SIZES


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    save_model(
        RVFLClassifier(n_hidden=5, output_bias=True, random_state=0).fit(X, X[:, 0] > 0),
        tmp_path / "m.skops",
    )
    return tmp_path / "m.skops"


def changed(path, change):
    """Write a model file again, its parts changed by a function of their names and bytes."""
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in parts.items():
            packed.writestr(name, change(name, data))


def changed_schema(path, change):
    """Write a model file again, the attributes of its model changed in place."""

    def apply(name, data):
        if name != "schema.json":
            return data
        schema = json.loads(data)
        change(schema["content"]["content"])
        return json.dumps(schema)

    changed(path, apply)


def changed_array(path, attribute, array):
    """Write a model file again with another array in it."""
    names = []
    changed_schema(path, lambda state: names.append(state[attribute]["file"]))
    data = io.BytesIO()
    np.save(data, array)
    changed(path, lambda name, old: data.getvalue() if name == names[0] else old)


def refused_cheaply(path, match, memory="200MiB", most=60 << 20):
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=match):
            load_model(path, memory)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def test_a_file_that_unpacks_to_too_much_is_refused_unread(model):
    with zipfile.ZipFile(model, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("more.npy", bytes(120 << 20))
    assert model.stat().st_size < 1 << 20
    refused_cheaply(model, "unpacks to 120 MiB", most=4 << 20)


def test_an_array_that_is_asked_for_many_times_is_counted_as_often(model):
    data = io.BytesIO()
    np.save(data, np.zeros((2 << 20) // 8))

    def apply(state):
        state["more"] = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
        state["more"] |= {
            "__id__": 1,
            "content": [state["coef_"] | {"__id__": k} for k in range(99)],
        }
        names.append(state["coef_"]["file"])

    names = []
    changed_schema(model, apply)
    changed(model, lambda name, old: data.getvalue() if name == names[0] else old)
    refused_cheaply(model, "unpacks to 200 MiB", most=8 << 20)


def test_a_long_description_is_counted_as_the_objects_it_makes(model):
    changed(model, lambda name, old: b"[%s[]]" % (b"[]," * (3 << 20)) if "json" in name else old)
    refused_cheaply(model, "unpacks to 288 MiB", most=4 << 20)


@pytest.mark.parametrize(
    "header",
    [{"shape": (1 << 40,)}, {"shape": (1 << 60, 1 << 60)}, {"descr": "<U0", "shape": (1 << 40,)}],
)
def test_arrays_that_claim_another_shape_are_refused(model, header):
    data = io.BytesIO()
    full = {"descr": "<f8", "fortran_order": False, "shape": (3,)} | header
    np.lib.format.write_array_header_1_0(data, full)
    names = []
    changed_schema(model, lambda state: names.append(state["coef_"]["file"]))
    changed(model, lambda name, old: data.getvalue() + bytes(24) if name == names[0] else old)
    refused_cheaply(model, "not a model file")


@pytest.mark.parametrize("attribute", ["coef_", "hidden_weights_", "hidden_bias_", "intercept_",
                                       "calibration_offsets_"])  # fmt: skip
@pytest.mark.parametrize("array", [
    np.full(3, np.nan), np.zeros((7, 2, 2)), np.array(["a", "b"]), np.array([1j, 2j, 3j]),
    np.empty(0), np.zeros(3, "V8"), np.array(["2020-01-01"], "M8[D]"),
])  # fmt: skip
def test_a_part_that_does_not_fit_is_one_line(model, attribute, array):
    changed_array(model, attribute, array)
    with pytest.raises(FileError, match=r"m\.skops: (not a model file|damaged)") as caught:
        load_model(model)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("attribute", ["coef_", "hidden_weights_", "calibration_offsets_"])
def test_a_part_of_the_right_shape_without_numbers_is_damage(model, attribute):
    array = np.full_like(getattr(load_model(model), attribute), np.nan)
    changed_array(model, attribute, array)
    with pytest.raises(FileError, match=r"damaged|not a model file"):
        load_model(model)


def test_a_number_of_features_beyond_the_memory(model):
    changed_schema(model, lambda state: state["n_features_in_"].update(content=str(10**9)))
    refused_cheaply(model, "unpacks to")


def test_sums_of_an_earlier_copy_are_refused_in_one_line(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = RVFLClassifier(n_hidden=5, random_state=0).partial_fit(X, X[:, 0] > 0, [False, True])
    save_model(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").predict(X), model.predict(X))

    def rename(name, data):  # the names that its fields had
        return data.replace(b'"scatter"', b'"gram"') if name == "schema.json" else data

    changed(tmp_path / "m.skops", rename)
    with pytest.raises(FileError, match=r"m.skops: the model remembers sums .* save it again"):
        load_model(tmp_path / "m.skops")


def test_every_kind_of_model_still_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) + 1e6
    for kind in (RVFLClassifier, NoiseRobustRVFLClassifier):
        fitted = kind(n_hidden=5, random_state=0).fit(X, X[:, 0] > 1e6)
        save_model(fitted, tmp_path / "m.skops")
        again = load_model(tmp_path / "m.skops", "64MiB")
        assert (again.predict(X) == fitted.predict(X)).all()


# -- archives within the file, steps that make many columns, names that nobody would give --------


def packed_sparse(**arrays):
    """Return the bytes of a sparse matrix as SciPy saves it, its parts deflated."""
    matrix = {"format": np.array(b"csr"), "shape": np.array([1, 3]), "data": np.ones(1)}
    matrix |= {"indices": np.zeros(1, np.int32), "indptr": np.array([0, 1], np.int32)} | arrays
    data = io.BytesIO()
    np.savez_compressed(data, **matrix)
    return data.getvalue()


def with_another_part(path, name, data, loader, kind):
    """Write a model file again with one attribute read from a file of this name."""
    node = {"__class__": "csr_matrix", "__module__": "scipy.sparse._csr", "__loader__": loader}
    changed_schema(path, lambda s: s.update(hidden_bias_=node | {"file": name, "type": kind}))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, data)


@pytest.mark.parametrize("name", ["more.npz", "more", "more.npy"])
def test_a_sparse_matrix_is_an_archive_and_measured_as_one(model, name):
    bomb = packed_sparse(data=np.zeros(120 << 17), indices=np.zeros(120 << 17, np.int32))
    assert len(bomb) < 1 << 20
    with_another_part(model, name, bomb, "SparseMatrixNode", "scipy")
    refused_cheaply(model, "unpacks to 180 MiB", most=8 << 20)


def test_an_array_in_an_archive_that_claims_another_shape_is_refused(model):
    header, data = io.BytesIO(), io.BytesIO()
    full = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(header, full)
    with zipfile.ZipFile(data, "w") as inner:
        inner.writestr("data.npy", header.getvalue() + bytes(24))
    with_another_part(model, "more.npz", data.getvalue(), "SparseMatrixNode", "scipy")
    refused_cheaply(model, r"not a model file \(ValueError\)")


def test_an_archive_within_an_archive_within_an_archive_is_not_followed(model):
    data = b""
    for _ in range(40):
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("data.npy", data)
        data = inner.getvalue()
    with_another_part(model, "more.npz", data, "SparseMatrixNode", "scipy")
    refused_cheaply(model, "not a model file", most=8 << 20)


def test_an_array_under_another_name_is_looked_at_too(model):
    data = io.BytesIO()
    full = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(data, full)
    node = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
    changed_schema(model, lambda s: s.update(hidden_bias_=node | {"file": "more", "type": "numpy"}))
    with zipfile.ZipFile(model, "a") as packed:
        packed.writestr("more", data.getvalue() + bytes(24))
    refused_cheaply(model, r"not a model file \(ValueError\)")


def changed_parts(path, change):
    """Write a model file again, the objects of its schema changed in place by their names."""

    def visit(part, name=None):
        if isinstance(part, dict):
            change(part, name)
            for key, one in part.items():
                visit(one, key)
        elif isinstance(part, list):
            for one in part:
                visit(one)

    def apply(member, data):
        if member != "schema.json":
            return data
        schema = json.loads(data)
        visit(schema)
        return json.dumps(schema)

    changed(path, apply)


def changed_class(path, name, change):
    """Write a model file again, the objects of a class within it changed in place."""
    changed_parts(path, lambda part, _: part.get("__class__") == name and change(part))


def set_number(name, number):
    def change(part):
        attributes = part["content"]["content"]
        plain = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
        attributes[name] = plain | {"content": json.dumps(number), "is_json": True}

    return change


@pytest.mark.parametrize(
    ("step", "name", "number"),
    [
        (PolynomialFeatures(2), "degree", 700),
        (PolynomialFeatures(2, interaction_only=True), "n_features_in_", 10**5),
        (AdditiveChi2Sampler(), "sample_steps", 10**8),
        (PolynomialCountSketch(), "n_components", 10**8),
        (SplineTransformer(), "n_features_out_", 10**8),
        (StandardScaler(), "n_features_in_", 10**8),
    ],
)
def test_a_step_that_makes_too_many_columns_is_refused_before_it_runs(tmp_path, step, name, number):
    X = np.random.default_rng(0).random((60, 3))
    fitted = make_pipeline(clone(step), RVFLClassifier(n_hidden=5, random_state=0))
    path = tmp_path / "m.skops"
    save_model(fitted.fit(X, X[:, 0] > 0.5), path)
    load_model(path)
    changed_class(path, type(step).__name__, set_number(name, number))
    refused_cheaply(path, "unpacks to")


def raw_model(path):
    rng = np.random.default_rng(0)
    town = rng.choice(["Kyiv", "Lima", "Rome"], 90)
    table = pd.DataFrame({"amount": rng.normal(size=90), "town": town})
    table.iloc[::7, 0] = np.nan
    fitted = make_pipeline(TableEncoder(), RVFLClassifier(n_hidden=5, random_state=0))
    save_model(fitted.fit(table, rng.random(90) < 0.5), path, X=table)
    return table


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"Kyiv"', "[1, 2]"),
        ('"Kyiv"', "7"),
        ('"amount"', "false"),
        ('"town"', '"amount"'),
        ('"category"', '"number"'),
        ("0", '"nought"'),
        ("1", "1e9"),
        (None, "NaN"),
    ],
)
def test_an_encoder_that_does_not_read_tables_is_refused(tmp_path, old, new):
    path = tmp_path / "m.skops"
    table = raw_model(path)
    load_model(path).predict(table)
    hits = []

    def change(part, name):
        if part.get("is_json") and (part["content"] == old if old else name == "deviation"):
            part["content"] = new
            hits.append(name)

    changed_parts(path, change)
    assert hits
    with pytest.raises(FileError, match=r"m\.skops: (not a model file|damaged)"):
        load_model(path)


@pytest.mark.parametrize("name", ["n_jobs", "_other_params"])
@pytest.mark.parametrize("number", [300, -300, "many"])
def test_a_part_starts_no_more_threads_than_there_are_cores(tmp_path, name, number):
    LGBMClassifier = pytest.importorskip("lightgbm").LGBMClassifier
    X = np.random.default_rng(0).random((120, 3))
    base = LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1)
    path = tmp_path / "m.skops"
    save_model(NoiseRobustClassifier(base, random_state=0).fit(X, X[:, 0] > 0.5), path)
    forged = number if name == "n_jobs" else {"nthread": number}
    changed_class(path, "LGBMClassifier", set_number(name, forged))
    if isinstance(number, str):
        refused_cheaply(path, r"not a model file \(ValueError\)")
        return
    again = load_model(path)
    options = vars(again.estimator_)
    found = options["n_jobs"] if name == "n_jobs" else options["_other_params"]["nthread"]
    assert found == n_cores()
    again.predict(X)


@pytest.mark.parametrize("name", ["A" * 2_000_000, "x\ny", "x\x1b[2Jy", "x\u202ey"])
def test_a_forged_type_name_is_shown_cut_and_visible(model, name):
    changed_class(model, "RVFLClassifier", lambda part: part.update(__class__=name))
    with pytest.raises(FileError, match="types that are not trusted") as caught:
        load_model(model)
    text = str(caught.value)
    assert len(text) < 300 + len(str(model))
    assert text.isprintable()


def test_forged_versions_are_shown_visibly(model):
    def apply(name, data):
        if name != "robell.json":
            return data
        info = json.loads(data)
        info["versions"]["numpy"] = "1\n\x1b[2J"
        return json.dumps(info)

    changed(model, apply)
    with pytest.warns(ModelVersionWarning, match="numpy") as caught:
        load_model(model)
    assert str(caught[0].message).isprintable()


# -- sizes that do not go together, and the number of threads ------------------------------------


def shorter_and_longer(value):
    """Yield an array with one entry less, and with one more, along each axis; of a list each."""
    if isinstance(value, list):
        for k, one in enumerate(value):
            for other in shorter_and_longer(one):
                yield [*value[:k], other, *value[k + 1 :]]
        return
    for axis in range(value.ndim):
        last = value.take([-1], axis)
        yield value.take(range(value.shape[axis] - 1), axis)
        yield np.concatenate([value, last], axis)


OPTIONS = {  # that a model needs, or that make it keep further arrays
    "ComplexRVFLClassifier": [{"encoding": how} for how in ("pair", "phase", "circular")],
    "DeepRVFLClassifier": [{"combine": "mean"}, {"combine": "vote"}],
    "HuberRVFLClassifier": [{}, {"center": "median"}],
    "MultiViewRVFLClassifier": [{"views": [[0, 1], [2]]}],
    "RVFLClassifier": [{"output_bias": True}],
    "RVFLRegressor": [{"intervals": True}],
}
MODELS = [(name, kw) for name in CLASSIFIERS | REGRESSORS for kw in OPTIONS.get(name, [{}])]
# Of any length: which columns a kernel sees, and what is told to users and never computed with.
FREE = {"kernel_columns_", "C_", "member_weights_", "operating_points_"}
ROWS = np.random.default_rng(0).normal(size=(90, 3))


def fitted_to_few_rows(name, options, n_classes=3):
    """Return a model of each kind, fitted."""
    X = ROWS
    y = np.digitize(X[:, 0], [-0.5, 0.5][: n_classes - 1]) if name in CLASSIFIERS else X[:, :2]
    model = getattr(robell, name)(**options)
    small = {"n_hidden": 5, "random_state": 0}
    model.set_params(**{key: small[key] for key in small.keys() & model.get_params().keys()})
    privileged = {"privileged": X[:, :2]} if "Plus" in name else {}
    return model.fit(X, y, **privileged)


def arrays_of(fitted):
    """Yield names and values of what a fit has set that is an array, or a list of arrays."""
    given = {*fitted.get_params(), "classes_", "feature_names_in_"}
    for name, value in vars(fitted).items():
        several = value if isinstance(value, list | tuple) else [value]
        if name not in given and any(isinstance(one, np.ndarray) and one.ndim for one in several):
            yield name, value


@pytest.mark.parametrize(("name", "options"), MODELS)
def test_every_fitted_array_has_a_declared_size(name, options):
    """A forged file could otherwise hold an array of any size in its place."""
    assert {array for array, _ in arrays_of(fitted_to_few_rows(name, options))} <= SIZES.keys()


@pytest.mark.parametrize(
    "around", [ThresholdClassifier(robell.RVFLClassifier()), NoiseRobustClassifier(GaussianNB())]
)
def test_every_array_of_a_model_around_another_has_a_declared_size(around):
    fitted = around.fit(ROWS, ROWS[:, 0] > 0)
    assert {array for array, _ in arrays_of(fitted)} <= SIZES.keys() | FREE


@pytest.mark.parametrize(
    ("name", "options", "n_classes"),
    [
        *((*one, 3) for one in MODELS),
        *((f"{one}RVFLClassifier", {}, 2) for one in ("", "NoiseRobust")),
    ],
)
def test_an_array_that_is_longer_or_shorter_than_its_like_is_refused_or_unread(
    tmp_path, name, options, n_classes
):
    fitted = fitted_to_few_rows(name, options, n_classes)
    save_model(fitted, tmp_path / "m.skops")
    load_model(tmp_path / "m.skops")
    forged = [
        (array, others)
        for array, value in arrays_of(fitted)
        if array not in FREE
        for others in shorter_and_longer(value)
    ]
    assert len(forged) >= 6
    expected = fitted.predict(ROWS)
    for array, other in forged:
        with monkeypatched(fitted, array, other):
            save_model(fitted, tmp_path / "m.skops")
        try:
            answer = load_model(tmp_path / "m.skops").predict(ROWS)
        except FileError as error:
            assert re.search(r"m\.skops: (not a model file|damaged)", str(error))  # noqa: PT017
        else:  # predictions do not read it
            np.testing.assert_array_equal(answer, expected)


@contextmanager
def monkeypatched(one, name, value):
    """Give an attribute another value for a while."""
    was = getattr(one, name)
    setattr(one, name, value)
    yield
    setattr(one, name, was)


def test_offsets_of_a_threshold_are_one_a_class(tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 3))
    fitted = ThresholdClassifier(slope=1.0, offsets=np.zeros(2)).fit(X, X[:, 0] > 0)
    for offsets in (np.zeros(1), np.zeros(3)):
        fitted.offsets = offsets
        save_model(fitted, tmp_path / "m.skops")
        with pytest.raises(FileError, match="not a model file"):
            load_model(tmp_path / "m.skops")


@pytest.mark.parametrize("n_jobs", [8, -8, None, -1])
def test_a_model_that_is_loaded_keeps_its_number_of_threads(tmp_path, n_jobs, monkeypatch):
    LGBMClassifier = pytest.importorskip("lightgbm").LGBMClassifier
    monkeypatch.setattr(model_files, "n_cores", lambda: 2)
    X = np.random.default_rng(0).random((120, 3))
    around = NoiseRobustClassifier(LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1))
    around.fit(X, X[:, 0] > 0.5)
    own = NoiseRobustRVFLClassifier(n_hidden=5, random_state=0).fit(X, X[:, 0] > 0.5)
    for fitted, part in ((around, around.estimator_), (around, around.estimator), (own, own)):
        part.n_jobs = n_jobs
        save_model(fitted, tmp_path / "m.skops")
        again = load_model(tmp_path / "m.skops")
        for name in ("n_jobs",) if fitted is own else ("estimator.n_jobs", "estimator_.n_jobs"):
            assert attrgetter(name)(again) == attrgetter(name)(fitted)
    own.n_jobs = 300  # which it starts in a fit alone
    save_model(own, tmp_path / "m.skops")
    assert load_model(tmp_path / "m.skops").n_jobs == 300


def test_the_trial_prediction_of_a_file_uses_one_thread_of_blas(model, monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    seen = []
    predict = RVFLClassifier.predict

    def watched(self, X):
        seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return predict(self, X)

    monkeypatch.setattr(RVFLClassifier, "predict", watched)
    with threadpool_limits(2, "blas"):
        load_model(model)
    assert set(seen) == {1}


@pytest.mark.parametrize("name", ["m.txt", "m", "m.csv", "m.skops.bak"])
def test_a_model_is_known_by_what_its_file_holds_not_by_its_name(tmp_path, name):
    X = np.random.default_rng(0).normal(size=(60, 2))
    fitted = RVFLClassifier(n_hidden=5, random_state=0).fit(X, X[:, 0] > 0)
    save_model(fitted, tmp_path / name)
    assert np.array_equal(load_model(tmp_path / name).predict(X), fitted.predict(X))
    assert model_info(tmp_path / name)["n_features"] == 2


def test_numbers_given_as_a_list_come_back(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    chosen = NoiseRobustRVFLClassifier(5, random_state=0).fit(X, y)
    chosen.thresholds_ = [0.2, 0.3, 0.5]
    offsets = ThresholdClassifier(RVFLClassifier(5, random_state=0), slope=2.0, offsets=[0, 1, 2])
    for model in (chosen, offsets.fit(X, y)):
        save_model(model, tmp_path / "m.skops")
        again = load_model(tmp_path / "m.skops")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_model_fitted_anew_is_saved_without_what_an_earlier_fit_left(tmp_path):
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc")), np.arange(60) % 3
    for model, later in (
        (RVFLClassifier(5, random_state=0), {"calibrate": False}),
        (ComplexRVFLClassifier(5, encoding="circular", random_state=0), {"encoding": "phase"}),
        (ThresholdClassifier(RVFLClassifier(5, random_state=0)), {}),
    ):
        rows, labels = X.to_numpy()[:, :2], y % 2
        model.fit(X, y).set_params(**later).fit(rows, labels)
        save_model(model, tmp_path / "m.skops")
        again = load_model(tmp_path / "m.skops")
        assert vars(again).keys() == vars(clone(model).fit(rows, labels)).keys()
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
