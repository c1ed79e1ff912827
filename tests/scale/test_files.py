"""Tables and models in files: batches give what one fit gives, and what is wrong is said."""

import gzip
import io
import os
import secrets
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

pytest.importorskip("pyarrow")
pytest.importorskip("skops")

import robell.scale.batches as tables_module
import robell.scale.files as memory_module
import robell.tables.read_csv as csv_module
from robell import (
    GranularBallRVFLClassifier,
    HuberRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
)
from robell._tools.files import FileError, parse_bytes
from robell.files import fit_files, load_model, predict_files, save_model
from robell.scale.batches import Tables
from robell.scale.out_of_core import OutOfCoreFit, set_moments

FEATURES = ["a", "b", "c", "d"]


def frame_of(rng, n_rows=3000):
    X = rng.normal(size=(n_rows, 4)) * [1.0, 20.0, 0.1, 3.0] + [0.0, 500.0, 2.0, -1.0]
    y = (X[:, 0] + (X[:, 1] - 500) / 20 + rng.normal(size=n_rows) > 1.2).astype(int)
    return pd.DataFrame(X, columns=FEATURES).assign(y=y)


@pytest.fixture
def frame(rng):
    return frame_of(rng)


@pytest.fixture
def small_batches(monkeypatch):
    """So that a few thousand rows are many batches and many reads."""
    monkeypatch.setattr(memory_module, "MOST_ROWS", 257)
    monkeypatch.setattr(tables_module, "ARROW_ROWS", 100)
    monkeypatch.setattr(csv_module, "BLOCK", 1 << 13)


def write(frame, path, **options):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False, **options)
    else:
        frame.to_csv(path, index=False, **options)
    return path


def rvfl(**parameters):
    return RVFLClassifier(20, random_state=0, **parameters)


# -- fits ------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("scale", [False, True])
def test_a_fit_of_files_is_a_fit_of_their_rows(frame, tmp_path, small_batches, suffix, scale):
    model = make_pipeline(StandardScaler(), rvfl()) if scale else rvfl()
    path = write(frame, tmp_path / f"table{suffix}")
    found = fit_files(model, path, "y")
    expected = model.fit(frame[FEATURES], frame["y"])
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found.feature_names_in_, FEATURES)
    np.testing.assert_array_equal(found.classes_, [0, 1])
    scores = found.decision_function(frame[FEATURES])
    np.testing.assert_allclose(scores, expected.decision_function(frame[FEATURES]), atol=1e-8)
    if scale:
        assert not hasattr(found[-1], "feature_names_in_")
        for name in ("mean_", "var_", "scale_"):
            np.testing.assert_allclose(
                getattr(found[0], name), getattr(expected[0], name), rtol=1e-12
            )
        assert found[0].n_samples_seen_ == 3000


def test_several_files_any_order_of_columns_folders_and_patterns(frame, tmp_path, small_batches):
    whole = fit_files(rvfl(), write(frame, tmp_path / "whole.csv"), "y")
    folder = tmp_path / "parts"
    folder.mkdir()
    write(frame[:100], folder / "part-0.csv")
    write(frame[100:100], folder / "part-1.csv")
    write(frame.loc[100:1999, ["y", "d", "b", "a", "c"]], folder / "part-2.csv")
    write(frame[2000:], folder / "part-3.csv")
    (folder / "notes.txt").write_text("no table")
    (folder / "_part-4.csv").write_text("left by a writer that died")
    for paths in (folder, str(folder / "part-*.csv"), sorted(folder.glob("part-*.csv"))):
        found = fit_files(rvfl(), paths, "y")
        np.testing.assert_allclose(found.coef_, whole.coef_, atol=1e-9)


def test_robell_does_not_depend_on_batches(rng, tmp_path, monkeypatch):
    path = write(frame_of(rng, 12_000), tmp_path / "table.parquet")
    model = make_pipeline(
        StandardScaler(), RoBellRVFLClassifier(15, kernel_width="scale", random_state=0)
    )
    models = []
    for most in (65536, 1999):
        monkeypatch.setattr(memory_module, "MOST_ROWS", most)
        models.append(fit_files(model, path, "y"))
    np.testing.assert_allclose(models[0][0].scale_, models[1][0].scale_, rtol=1e-12)
    np.testing.assert_allclose(models[0][-1].coef_, models[1][-1].coef_, atol=1e-9)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["10", "9"], [9, 10]),
        (["1.5", "2"], None),
        (["yes", "no"], ["no", "yes"]),
        (["1", "x"], ["1", "x"]),
    ],
)
def test_labels_of_csv_files_are_typed_by_all_of_them(frame, tmp_path, labels, classes):
    frame["y"] = np.array(labels, dtype=object)[frame["y"]]
    path = write(frame, tmp_path / "table.csv")
    if classes is None:
        with pytest.raises(ValueError, match="continuous"):
            fit_files(rvfl(), path, "y")
        return
    assert fit_files(rvfl(), path, "y").classes_.tolist() == classes


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1], [0.0, 1.0]])
def test_labels_of_parquet_files_keep_their_type(frame, tmp_path, labels):
    frame["y"] = pd.Series(np.array(labels)[frame["y"]]).astype("category")
    for y in (frame["y"], frame["y"].astype(type(labels[0]))):
        path = write(frame.assign(y=y), tmp_path / "table.parquet")
        assert fit_files(rvfl(), path, "y").classes_.tolist() == labels


def test_columns_of_every_numeric_type(rng, tmp_path):
    frame = frame_of(rng, 300)
    frame = frame.assign(a=frame["a"] > 0, b=frame["b"].astype("int16"), c=frame["c"].astype("f4"))
    found = fit_files(rvfl(), write(frame, tmp_path / "table.parquet"), "y")
    expected = rvfl().fit(frame[FEATURES].astype(float), frame["y"])
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-8)


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.floats(-1e4, 1e4),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_scaling_in_parts_is_scikit_learns_scaling_of_all_rows(sizes, offset, seed, weighted):
    rng = np.random.default_rng(seed)
    n_rows = sum(sizes)
    X = rng.normal(size=(n_rows, 3)) * [1.0, 0.1, 0.0] + offset
    y = np.arange(n_rows) % 2
    weight = rng.integers(0, 4, n_rows).astype(float) if weighted else np.ones(n_rows)
    weight[0] = 1.0
    weight *= 1.5
    ends = np.cumsum(sizes)[:-1]
    found = []
    for parts in ([slice(None)], [slice(*p) for p in zip([0, *ends], [*ends, n_rows])]):
        step = next(OutOfCoreFit(make_pipeline(StandardScaler(), rvfl())).passes())
        total = None
        for part in reversed(parts):
            result = step.map(X[part], y[part], weight[part])
            total = result if total is None else step.reduce(total, result)
        found.append(StandardScaler())
        set_moments(found[-1], total)
    expected = StandardScaler().fit(X, sample_weight=weight)
    for scaler in found:
        np.testing.assert_allclose(scaler.mean_, expected.mean_, rtol=1e-12, atol=1e-12)
        # A variance far below the square of the mean keeps fewer digits, ours and theirs alike.
        lost = 1e-15 * np.square(offset)
        np.testing.assert_allclose(scaler.var_[:2], expected.var_[:2], rtol=1e-12, atol=lost)
        np.testing.assert_allclose(scaler.scale_[:2], expected.scale_[:2], rtol=1e-7)
        assert scaler.scale_[2] == 1.0  # a constant column is left alone
    np.testing.assert_allclose(found[0].n_samples_seen_, weight.sum(), atol=0.5)


def test_scalers_as_scikit_learn_fits_them(frame, tmp_path):
    path = write(frame, tmp_path / "table.parquet")
    scaler = StandardScaler(with_mean=False)
    nested = make_pipeline(scaler, "passthrough", StandardScaler(with_std=False), rvfl())
    found = fit_files(nested, path, "y")
    expected = nested.fit(frame[FEATURES], frame["y"])
    for step in (0, 2):
        for name, value in vars(expected[step]).items():
            if value is None or isinstance(value, bool | str):
                assert getattr(found[step], name) == value
            elif name.endswith("_") and name != "feature_names_in_":
                np.testing.assert_allclose(getattr(found[step], name), value, rtol=1e-9, atol=1e-9)
    scores = found.decision_function(frame[FEATURES])
    np.testing.assert_allclose(scores, expected.decision_function(frame[FEATURES]), atol=1e-7)
    alone = fit_files(make_pipeline(rvfl()), path, "y")
    assert [name for name, _ in alone.steps] == ["rvflclassifier"]
    framed = make_pipeline(StandardScaler().set_output(transform="pandas"), rvfl())
    fit_files(framed, path, "y").predict(frame[FEATURES])  # warns where names do not fit


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(MinMaxScaler(), RVFLClassifier()),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
)
def test_what_cannot_be_fitted_in_parts_is_refused_before_reading(tmp_path, estimator, frame):
    with pytest.raises(TypeError, match="cannot be fitted in parts"):
        fit_files(estimator, write(frame, tmp_path / "table.csv"), "y")


@pytest.mark.parametrize("kind", [GranularBallRVFLClassifier, HuberRVFLClassifier])
def test_what_takes_all_rows_at_once_is_fitted_in_memory(tmp_path, kind, frame):
    """The rows may be in several files; more of them than the limit allows are refused."""
    paths = [write(frame[:1200], tmp_path / "a.csv"), write(frame[1200:], tmp_path / "b.csv")]
    model = make_pipeline(StandardScaler(), kind(5, random_state=0))
    found = fit_files(model, paths, "y")
    expected = model.fit(frame[FEATURES], frame["y"])
    scores = found.decision_function(frame[FEATURES])
    np.testing.assert_allclose(scores, expected.decision_function(frame[FEATURES]), atol=1e-8)
    np.testing.assert_array_equal(found.feature_names_in_, FEATURES)
    with pytest.raises(FileError, match=f"{kind.__name__} takes all rows at once.*leaves 60 MiB"):
        fit_files(model, paths, "y", memory_limit="60MiB")


# -- bad files -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"bad\.csv: the file is empty"),
        ("a,y\n", r"bad\.csv: there is no row in it"),
        ("a,b,y\n1,2,0\n3,1\n", r"bad\.csv: line 3 has 2 cells, the header 3"),
        ("a,b,y\n1,2,0\n3,x,1\n", r"bad\.csv: column 'b' is not numeric: row 2 holds 'x'"),
        ("a,b,y\n1,2,0\n3,,1\n", r"bad\.csv: row 2 has no value in column 'b'"),
        ("a,b,y\n1,2,0\n3,inf,1\n", r"bad\.csv: row 2 has an infinite value in column 'b'"),
        ("a,b,y\n1,2,0\n3,4,\n", r"bad\.csv: row 2 has no label in column 'y'"),
        ("a,b,Y\n1,2,0\n3,4,1\n", r"bad\.csv: there is no column 'y'"),
        ("a;b;y\n1;2;0\n3;4;1\n", r"only 'a;b;y'; columns must be separated by commas"),
        ("y\n1\n0\n", r"bad\.csv: there is no column except the target"),
        ("a,a,y\n1,2,0\n3,4,1\n", r"bad\.csv: there are two columns 'a'"),
        ("a,y\n1,0\n3,0\n", "column 'y' holds one class only, 0"),
        ("\n\n", r"bad\.csv: the file is empty"),
        ("a,y", r"bad\.csv: there is no row in it"),
        ('a,"y\n1,0\n', r"bad\.csv: line 1 .*: a quotation mark is opened and not closed"),
        ('a,y\n1,0\n2,"1\n', r"bad\.csv: line 3 .*: a quotation mark is opened and not closed"),
    ],
)
def test_one_line_for_a_bad_csv_file(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        fit_files(rvfl(), path, "y")
    assert "\n" not in str(caught.value)


def test_near_names_of_the_target_are_suggested(frame, tmp_path):
    path = write(frame.rename(columns={"y": "target"}), tmp_path / "table.csv")
    with pytest.raises(FileError, match=r"there is no column 'targt'; did you mean 'target'\?"):
        fit_files(rvfl(), path, "targt")


def test_columns_that_differ_between_files(frame, tmp_path):
    first = write(frame, tmp_path / "a.parquet")
    less = write(frame.drop(columns="c"), tmp_path / "less.parquet")
    more = write(frame.assign(e=1.0), tmp_path / "more.parquet")
    text = write(frame.assign(b="x"), tmp_path / "text.parquet")
    with pytest.raises(FileError, match=r"less\.parquet: there is no column 'c'"):
        fit_files(rvfl(), [first, less], "y")
    with pytest.raises(FileError, match=r"more\.parquet: column 'e' is not in .*a\.parquet"):
        fit_files(rvfl(), [first, more], "y")
    with pytest.raises(FileError, match=r"text\.parquet: column 'b' is of type .*not numeric"):
        fit_files(rvfl(), [first, text], "y")
    with pytest.raises(FileError, match="different kinds in different files: int and str"):
        fit_files(rvfl(), [first, write(frame, tmp_path / "b.csv")], "y")


def test_a_missing_value_in_the_middle_is_found_where_it_is(frame, tmp_path, small_batches):
    frame.loc[1234, "c"] = np.nan
    for suffix in (".csv", ".parquet"):
        path = write(frame, tmp_path / f"table{suffix}")
        with pytest.raises(FileError, match=r"row 1235 has no value in column 'c'"):
            fit_files(rvfl(), path, "y")


def test_files_that_are_not_there_or_are_no_tables(tmp_path, frame):
    (tmp_path / "folder").mkdir()
    (tmp_path / "table.txt").write_text("a,y\n1,2\n")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing more")
    whole = write(frame, tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    for name, message in [
        ("none.csv", "there is no such file"),
        ("none-*.csv", "there is no such file"),
        ("folder", "the folder holds no .csv or .parquet file"),
        ("table.txt", "not a table"),
        ("broken.parquet", r"broken\.parquet: "),
        ("cut.parquet", r"cut\.parquet: "),
    ]:
        with pytest.raises(FileError, match=message) as caught:
            fit_files(rvfl(), tmp_path / name, "y")
        assert "\n" not in str(caught.value)
    with pytest.raises(FileError, match="no file was given"):
        fit_files(rvfl(), [], "y")


def test_a_file_that_changes_between_passes_is_noticed(frame, tmp_path):
    path = write(frame, tmp_path / "table.csv")
    tables = Tables(path, "y")
    labels, sizes = tables.labels()
    assert sizes == frame["y"].value_counts().sort_index().to_dict()
    path.write_text(path.read_text() + "1,2,3,4,0\n")
    with pytest.raises(FileError, match="changed while it was read"):
        next(tables.batches(100, labels))


def test_a_column_of_many_values_is_no_target(tmp_path, monkeypatch, frame):
    monkeypatch.setattr(tables_module, "MOST_CLASSES", 100)
    frame["y"] = np.arange(len(frame))
    with pytest.raises(FileError, match="more than 100 distinct values"):
        fit_files(rvfl(), write(frame, tmp_path / "table.parquet"), "y")


# -- memory ----------------------------------------------------------------------------


def test_parquet_that_was_read_is_not_held(tmp_path, rng):
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table(
        [*rng.normal(size=(5, 20_000)), np.arange(20_000) % 2], names=[*"abcde", "y"]
    )
    path = tmp_path / "table.parquet"
    with parquet.ParquetWriter(path, table.schema, use_dictionary=False) as writer:
        for _ in range(20):
            writer.write_table(table)
    pool, tables = pyarrow.default_memory_pool(), Tables(path, "y")
    labels, _ = tables.labels()
    before = pool.bytes_allocated()
    held = [pool.bytes_allocated() - before for _ in tables.batches(20_000, labels)]
    assert len(held) == 20
    assert max(held) < 4 * table.nbytes


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [(1024, 1024), ("2GiB", 2**31), ("500 MB", 5 * 10**8), ("1.5kib", 1536), ("7", 7), ("3g", 3e9)],
)
def test_sizes(text, n_bytes):
    assert parse_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["", "GiB", "-1", "2 GiBs", "0", "1e9", "two"])
def test_sizes_that_are_none(text):
    with pytest.raises(ValueError, match="memory must be a size"):
        parse_bytes(text)


def test_a_limit_too_small_says_what_is_needed(frame, tmp_path):
    path = write(frame, tmp_path / "table.csv")
    with pytest.raises(ValueError, match=r"limit too small: 4 features.* need .* MiB") as e:
        fit_files(rvfl(), path, "y", memory_limit="10MiB")
    needed = int(str(e.value).split("need ")[1].split()[0]) + 1
    fit_files(rvfl(), path, "y", memory_limit=f"{needed}MiB")
    with pytest.raises(ValueError, match="too small"):
        fit_files(RVFLClassifier(4000), path, "y", memory_limit=f"{needed}MiB")


# -- predictions -----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    "labels", [[0, 1], ["no", "yes"], [False, True], ['"no",\n', "ja, ü"], [1.0, 2.0]], ids=str
)
def test_predictions_of_files(frame, tmp_path, small_batches, suffix, labels):
    y = np.array(labels)[frame["y"]]
    model = make_pipeline(StandardScaler(), rvfl()).fit(frame[FEATURES], y)
    path = write(frame[["y", "d", "c", "b", "a"]], tmp_path / f"table{suffix}")
    out = tmp_path / f"out{suffix}"
    assert predict_files(model, path, out, proba=True) == len(frame)
    found = pd.read_csv(out) if suffix == ".csv" else pd.read_parquet(out)
    expected = model.predict(frame[FEATURES])
    assert found["prediction"].tolist() == expected.tolist()
    assert list(found.columns[1:]) == [f"probability_{label}" for label in labels]
    probability = model.predict_proba(frame[FEATURES])
    np.testing.assert_allclose(found.iloc[:, 1:], probability, rtol=1e-12)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_model_without_names_takes_columns_as_they_come(frame, tmp_path):
    model = rvfl(calibrate=False).fit(frame[FEATURES].to_numpy(), frame["y"])
    path = write(frame[FEATURES], tmp_path / "table.csv")
    predict_files(model, path, tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")["prediction"]
    np.testing.assert_array_equal(found, model.predict(frame[FEATURES].to_numpy()))
    with pytest.raises(FileError, match="5 columns, and the model was fitted to 4 without names"):
        predict_files(model, write(frame, tmp_path / "more.csv"), tmp_path / "out.csv")
    with pytest.raises(ValueError, match="no probabilities"):
        predict_files(model, path, tmp_path / "out.csv", proba=True)


def test_a_file_needs_no_standard_output(frame, tmp_path, monkeypatch):
    """A program without a console has none."""
    model = rvfl(calibrate=False).fit(frame[FEATURES], frame["y"])
    path = write(frame, tmp_path / "table.csv")
    monkeypatch.setattr("sys.stdout", None)
    assert predict_files(model, path, tmp_path / "out.csv") == len(frame)


def test_what_fails_half_way_leaves_the_earlier_file(frame, tmp_path, small_batches):
    model = rvfl().fit(frame[FEATURES], frame["y"])
    out = tmp_path / "out.csv"
    out.write_text("earlier")
    frame.loc[2500, "a"] = np.nan
    with pytest.raises(FileError, match="row 2501"):
        predict_files(model, write(frame, tmp_path / "table.csv"), out)
    assert out.read_text() == "earlier"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "table.csv"]
    with pytest.raises(FileError, match="there is no column 'a'"):
        predict_files(model, write(frame[["b", "c", "d"]], tmp_path / "less.csv"), out)
    with pytest.raises(FileError, match=r"written to \.csv or \.parquet"):
        predict_files(model, write(frame[:9], tmp_path / "x.csv"), tmp_path / "out.txt")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_full_disk_is_said(frame, tmp_path, monkeypatch, suffix):
    model = rvfl().fit(frame[FEATURES], frame["y"])
    path = write(frame, tmp_path / "table.csv")
    # The temporary name leads to a device that is always full.
    monkeypatch.setattr(secrets, "token_hex", lambda n: "full")
    for name, act in [
        (f"out{suffix}", lambda out: predict_files(model, path, out)),
        ("model.skops", lambda out: save_model(model, out)),
    ]:
        (tmp_path / f".{name}.full").symlink_to("/dev/full")
        with pytest.raises(FileError, match=r"cannot be written: no space is left"):
            act(tmp_path / name)
        assert not (tmp_path / name).exists()


# -- models ----------------------------------------------------------------------------


def test_models_with_functions_are_not_saved(imbalanced, tmp_path):
    model = RVFLClassifier(5, activation=unit_ramp).fit(*imbalanced)
    with pytest.raises(ValueError, match=r"unit_ramp.*use an activation by its name"):
        save_model(model, tmp_path / "model.skops")
    with pytest.raises(FileError, match="LogisticRegression is none of robell's models"):
        save_model(LogisticRegression().fit(*imbalanced), tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def unit_ramp(values):
    return np.clip(values, 0, 1)


class Trap:
    """Would run code on loading, were it loaded."""

    sprung = False

    def __setstate__(self, state):
        Trap.sprung = True


def test_files_with_other_types_are_refused_and_run_nothing(imbalanced, tmp_path):
    import skops.io

    path = tmp_path / "model.skops"
    model = RVFLClassifier(5, random_state=0).fit(*imbalanced)
    model.trap_ = Trap()
    model.trap_.content = 1
    skops.io.dump(model, path)
    with pytest.raises(FileError, match=r"refused, because .* not trusted: .*Trap"):
        load_model(path)
    del model.trap_
    for function in (os.system, eval, subprocess.run):
        model.activation = function
        skops.io.dump(model, path)
        with pytest.raises(FileError, match=f"not trusted: .*{function.__name__}"):
            load_model(path)
    assert not Trap.sprung
    skops.io.dump(LogisticRegression().fit(*imbalanced), path)
    with pytest.raises(FileError, match="LogisticRegression is none of robell's"):
        load_model(path)


def test_damaged_model_files(imbalanced, tmp_path):
    path = tmp_path / "model.skops"
    save_model(RVFLClassifier(5, random_state=0).fit(*imbalanced), path)
    data = path.read_bytes()
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("schema.json", "{}")
    for damaged in (b"", b"no zip", data[: len(data) // 2], empty.getvalue(), gzip.compress(data)):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match="not a model file"):
            load_model(path)


def test_reading_needs_no_optional_package_until_it_is_used():
    code = "import sys, robell.files, robell.cli.main; " + "".join(
        f"assert {name!r} not in sys.modules, {name!r}; "
        for name in ("skops", "dask", "distributed", "torch")  # scikit-learn may load the others
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
