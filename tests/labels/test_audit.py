"""The audit: whatever the file, its rows are found again, judged, or refused in one clear line."""

import csv
import gzip
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import robell.tables.leaks as prepare_module
import robell.tables.read as read_module
from robell import find_label_issues
from robell._tools.files import FileError
from robell.cli import main
from robell.labels.audit import audit
from robell.labels.audit.cards import unpacked
from robell.labels.unseen import predict_unseen, random_folds, stratified_sample
from robell.tables.columns import MISSING_WORDS
from robell.tables.read import read_table


def flipped_frame(n=300, noise=0.1, seed=0, gap=3.0):
    """Two Gaussian classes with a category that goes with them; which labels were flipped."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    flip = rng.random(n) < noise
    colour = np.where(rng.random(n) < 0.8, np.array(["red", "blue"])[true], "green")
    label = np.array(["no", "yes"])[np.where(flip, 1 - true, true)]
    frame = pd.DataFrame(
        {
            "size": (rng.normal(size=n) + gap * true).round(4),
            "weight": (rng.normal(size=n) - gap * true).round(4),
            "noise": rng.normal(size=n).round(4),
            "colour": colour,
            "label": label,
        }
    )
    return frame, flip


@pytest.fixture(scope="module")
def flipped():
    return flipped_frame()


@pytest.fixture
def flipped_csv(tmp_path, flipped):
    path = tmp_path / "things.csv"
    flipped[0].to_csv(path, index=False)
    return path


def written(path, delimiter=",", encoding="utf-8"):
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


# -- what is found --------------------------------------------------------------------------


def test_flipped_labels_come_first_and_lines_lead_back_to_them(flipped_csv, flipped):
    frame, flip = flipped
    result = audit(flipped_csv, "label", out=flipped_csv.parent)
    rows = written(result.csv)
    first = [int(row["row"]) - 1 for row in rows[: flip.sum()]]
    assert flip[first].mean() > 0.7
    lines = flipped_csv.read_text().splitlines()
    for row in rows:
        assert lines[int(row["line"]) - 1].endswith(row["given"])
        assert frame["label"][int(row["row"]) - 1] == row["given"]
        size = frame["size"][int(row["row"]) - 1]
        assert lines[int(row["line"]) - 1].startswith(f"{size},")


def test_the_numbers_of_a_result_agree_with_each_other(flipped_csv):
    result = audit(flipped_csv, "label", out=flipped_csv.parent, all_rows=True)
    n, n_classes = len(result.row), len(result.classes)
    assert result.probability.shape == (n, n_classes)
    np.testing.assert_allclose(result.probability.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(result.noise_matrix.sum(axis=1), 1, atol=1e-9)
    given = np.array([result.classes.index(label) for label in result.given])
    np.testing.assert_allclose(result.quality, result.probability[np.arange(n), given])
    np.testing.assert_array_equal(result.suspect, result.suggested != result.given)
    rows = written(result.csv)
    assert [float(row["quality"]) for row in rows] == sorted(float(row["quality"]) for row in rows)
    assert sorted(int(row["row"]) for row in rows) == list(range(1, n + 1))
    assert sum(row["suspect"] == "yes" for row in rows) == result.suspect.sum()
    for row in rows:
        chances = [float(row[f"probability of {label}"]) for label in result.classes]
        assert sum(chances) == pytest.approx(1, abs=1e-5)
        assert float(row["quality"]) == chances[result.classes.index(row["given"])]
        assert row["suggested"] == result.classes[int(np.argmax(chances))]


def test_the_same_seed_gives_the_same_files(flipped_csv, tmp_path):
    first = audit(flipped_csv, "label", out=tmp_path / "a", random_state=3)
    second = audit(flipped_csv, "label", out=tmp_path / "b", random_state=3)
    assert first.csv.read_bytes() == second.csv.read_bytes()
    assert first.html.read_text() == second.html.read_text().replace("b-audit", "a-audit")


def test_names_of_labels_do_not_matter(flipped):
    frame, _ = flipped
    renamed = frame.assign(label=frame["label"].map({"no": "0", "yes": "<b>"}))
    np.testing.assert_array_equal(audit(frame, "label").quality, audit(renamed, "label").quality)


def test_every_kind_of_source_gives_the_same_judgement(flipped_csv, flipped, tmp_path):
    frame, _ = flipped
    frame.to_parquet(tmp_path / "t.parquet")
    with gzip.open(tmp_path / "t.csv.gz", "wb") as file:
        file.write(flipped_csv.read_bytes())
    german = frame.to_csv(index=False, sep=";", decimal=",")
    (tmp_path / "german.csv").write_text(german)
    (tmp_path / "bom.tsv").write_text("\ufeff" + frame.to_csv(index=False, sep="\t"))
    (tmp_path / "bars.txt").write_text(frame.to_csv(index=False, sep="|"), encoding="utf-16")
    expected = audit(flipped_csv, "label").quality
    sources = [frame, pl.from_pandas(frame), *(tmp_path / name for name in ("t.parquet",
               "t.csv.gz", "german.csv", "bom.tsv"))]  # fmt: skip
    for source in sources:
        np.testing.assert_allclose(audit(source, "label").quality, expected, atol=1e-9)
    utf16 = audit(tmp_path / "bars.txt", "label", encoding="utf-16")
    np.testing.assert_allclose(utf16.quality, expected, atol=1e-9)


def test_a_frame_has_rows_and_no_lines(flipped, tmp_path):
    frame, _ = flipped
    result = audit(frame.set_index(frame.index + 1000), "label", out=tmp_path)
    assert result.line is None
    assert result.html == tmp_path / "table-audit.html"
    assert "line" not in written(result.csv)[0]
    np.testing.assert_array_equal(frame["label"].to_numpy()[result.row - 1], result.given)


# -- when nothing can be said -----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [0.45, 0.5])
def test_at_half_noise_no_row_is_called_suspect(seed, noise, tmp_path):
    frame, _ = flipped_frame(600, noise, seed)
    result = audit(frame, "label", out=tmp_path)
    assert result.trust == "none"
    assert not result.suspect.any()
    page = result.html.read_text()
    assert (
        "The columns say too little about &#x27;label&#x27;: no row can be called suspect." in page
    )
    assert "carry the wrong label" not in page
    assert 'id="suspects"' not in page
    rows = written(result.csv)
    assert {row["suspect"] for row in rows} == {"cannot tell"}
    assert {row["suggested"] + row["quality"] + row["probability of yes"] for row in rows} == {""}
    assert [int(row["row"]) for row in rows] == list(range(1, 601))


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_random_labels_are_seen_through(n_classes, rng):
    frame = pd.DataFrame(rng.normal(size=(400, 6)), columns=list("abcdef"))
    frame["label"] = rng.integers(0, n_classes, 400).astype(str)
    assert audit(frame, "label").trust == "none"


def test_copies_of_rows_do_not_make_random_labels_look_learnable(rng):
    X = np.repeat(rng.normal(size=(60, 4)), 6, axis=0)
    label = np.repeat(rng.integers(0, 2, 60), 6).astype(str)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=label)
    assert audit(frame, "label").trust == "none"
    folds = random_folds(X, (label == "1").astype(int), 5, rng)
    assert all(len(set(folds[start : start + 6])) == 1 for start in range(0, 360, 6))


@pytest.mark.parametrize("n_kinds", [2, 10])
def test_rows_of_few_kinds_are_not_hidden_with_their_whole_kind(rng, n_kinds):
    """They were judged by the other kinds: no signal, and every right label was suspect."""
    kind = rng.integers(0, n_kinds, 300)
    wrong = rng.random(300) < 0.1
    label = np.where((kind % 2 == 1) ^ wrong, "yes", "no")
    result = audit(pd.DataFrame({"kind": np.array(list("abcdefghij"))[kind], "y": label}), "y")
    assert result.trust == "good"
    assert result.p_value < 0.001
    model, columns = LogisticRegression(), np.eye(n_kinds)[kind]
    issues = find_label_issues(columns, label, estimator=model, random_state=0)
    assert set(issues.index) <= set(np.flatnonzero(wrong))


def test_few_kinds_of_rows_are_in_all_folds(rng):
    """A kind hidden whole would be judged by the others alone."""
    kind = rng.integers(0, 2, 120)
    codes = (rng.random(120) < np.array([0.1, 0.9])[kind]).astype(int)
    folds = random_folds(kind[:, None], codes, 5, rng)
    assert all(set(folds[kind == k]) == set(range(5)) for k in (0, 1))
    unseen = predict_unseen(kind[:, None].astype(float), codes, 2, 0)
    assert unseen.separations.min() > 0.8
    assert unseen.misfits < 0.2


def test_a_sample_has_every_class_by_its_share_and_five_rows_at_least():
    codes = np.repeat([0, 1, 2], [900, 96, 4])
    rng = np.random.default_rng(0)
    assert list(stratified_sample(codes, 1000, rng)) == list(range(1000))
    chosen = stratified_sample(codes, 100, rng)
    assert list(chosen) == sorted(set(chosen))
    assert list(np.bincount(codes[chosen])) == [90, 10, 4]
    assert list(np.bincount(codes[stratified_sample(codes, 30, rng)])) == [27, 5, 4]


def test_separation_is_one_half_by_chance_and_one_when_classes_are_apart(rng):
    codes = np.repeat([0, 1, 2], 50)
    unseen = predict_unseen(10.0 * np.eye(3)[codes] + rng.normal(size=(150, 3)), codes, 3, 0)
    np.testing.assert_allclose(unseen.separations, 1, atol=1e-3)
    assert unseen.misfits == 0
    # The error of the area under chance is that of the Mann-Whitney statistic.
    np.testing.assert_allclose(unseen.errors, np.sqrt(151 / (12 * 50 * 100)))


def test_swapped_labels_cannot_be_told_and_the_report_says_so(tmp_path):
    frame, _ = flipped_frame(noise=0.0)
    swapped = frame.assign(label=frame["label"].map({"no": "yes", "yes": "no"}))
    result = audit(swapped, "label", out=tmp_path)
    assert result.suspect.mean() < 0.05
    assert "If two labels are swapped throughout" in result.html.read_text()


# -- what is said about columns ------------------------------------------------------------------


def test_a_copy_of_the_target_is_left_out_with_a_warning(capsys, tmp_path, flipped):
    frame, _ = flipped
    copy = frame["label"].map({"yes": "1", "no": "0"})
    copy[17] = {"1": "0", "0": "1"}[copy[17]]
    path = tmp_path / "leaking.csv"
    frame.assign(code=copy).to_csv(path, index=False)
    assert main(["audit", str(path), "--target", "label", "--out", str(tmp_path)]) == 0
    assert "column 'code' repeats the target" in capsys.readouterr().err
    page = (tmp_path / "leaking-audit.html").read_text()
    assert "repeats &#x27;label&#x27; in 99.67 % of the rows and was left out" in page
    assert "The two differ in line 19: look there first." in page
    result = audit(path, "label")
    assert result.leaks == ("code",)
    np.testing.assert_array_equal(result.quality, audit(frame, "label").quality)


def test_a_column_that_goes_with_the_target_is_no_copy(flipped):
    frame, flip = flipped
    true = np.where(flip, frame["label"].map({"yes": "no", "no": "yes"}), frame["label"])
    assert audit(frame.assign(truth=true), "label").leaks == ()


def test_contradictions_are_found_and_no_others(flipped):
    frame, _ = flipped
    twins = frame.iloc[[3, 8]].assign(label=["maybe", "maybe"])
    copies = frame.iloc[[20, 21]]
    more = pd.concat([frame, twins, copies, *[twins] * 3], ignore_index=True)
    groups = audit(more, "label").contradictions
    assert [group.tolist() for group in groups] == [
        [4, 301, 305, 307, 309],
        [9, 302, 306, 308, 310],
    ]


# -- what is said about the target ---------------------------------------------------------------


def test_rows_without_a_label_and_small_classes_are_set_aside(flipped, tmp_path):
    frame, _ = flipped
    frame = frame.copy()
    frame.loc[[5, 6, 7], "label"] = "NA"
    frame.loc[[10, 11], "label"] = "rare"
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    result = audit(path, "label", out=tmp_path)
    assert result.n_unlabelled == 3
    assert result.set_aside == {"rare": 2}
    assert len(result.row) == 295
    assert not {6, 7, 8, 11, 12} & set(result.row.tolist())
    page = result.html.read_text()
    assert "3 rows without a label (&#x27;NA&#x27;) were left out." in page
    assert "2 rows were set aside: &#x27;rare&#x27; (2)." in page


def test_equal_numbers_are_one_class_and_look_alikes_too(flipped, tmp_path):
    frame, _ = flipped
    codes = np.where(frame["label"] == "yes", "1", "0").astype(object)
    codes[:40] = [f"{code}.0" for code in codes[:40]]
    path = tmp_path / "t.csv"
    frame.assign(label=codes).to_csv(path, index=False)
    assert audit(path, "label").classes == ("0", "1")
    names = frame["label"].to_numpy(object).copy()
    names[:60] = [f" {name.upper()} " for name in names[:60]]
    result = audit(frame.assign(label=names), "label", out=tmp_path)
    assert result.classes == ("no", "yes")
    assert "differ only in capitals or spaces" in result.html.read_text()


# -- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sign", "name"), [("~", "~"), ("\t", "tab"), (" ", "space"), (";", ";")])
def test_a_delimiter_that_is_given_is_taken(capsys, tmp_path, flipped, sign, name):
    path = tmp_path / "t.csv"
    # Every cell holds commas, and more of them than there are columns: nothing could be found out.
    frame = flipped[0].assign(note="a,b,c,d,e,f")
    frame.to_csv(path, index=False, sep=sign)
    table = read_table(path, "label", delimiter=sign)
    assert [column.name for column in table.columns] == list(frame.columns)
    assert table.columns[0].cells == [str(size) for size in frame["size"]]
    options = ["--delimiter", name, "--ignore", "note", "--quiet", "--out", str(tmp_path)]
    assert main(["audit", str(path), "--target", "label", "--all-rows", *options]) == 0
    quality = sorted(float(row["quality"]) for row in written(tmp_path / "t-audit.csv", sign))
    expected = np.sort(audit(flipped[0], "label").quality)
    np.testing.assert_allclose(quality, expected, atol=1e-6)
    capsys.readouterr()


@pytest.mark.parametrize("option", [{"encoding": "latin-1"}, {"delimiter": ";"}])
def test_options_for_text_are_not_ignored_elsewhere(tmp_path, flipped, option):
    flipped[0].to_parquet(tmp_path / "t.parquet")
    for source in (flipped[0], tmp_path / "t.parquet"):
        with pytest.raises(FileError, match=f"is no text: it takes no {next(iter(option))}"):
            audit(source, "label", **option)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_of_a_large_file_a_sample_is_audited_and_said(tmp_path, suffix, monkeypatch):
    frame, _ = flipped_frame(1500)
    path = tmp_path / f"large.{suffix}"
    getattr(frame, f"to_{suffix}")(path, index=False)
    monkeypatch.setattr(read_module, "ARROW_ROWS", 350)
    result = audit(path, "label", max_rows=100, out=tmp_path)
    assert result.n_rows == 1500
    assert len(result.row) == 100
    assert result.row.max() > 1250
    np.testing.assert_array_equal(frame["label"].to_numpy()[result.row - 1], result.given)
    page = result.html.read_text()
    assert "The file has 1,500 rows; a random sample of 100 was looked at." in page
    other = read_table(path, "label", max_rows=100, seed=1)
    assert set(other.rows) != set(result.row)


def test_many_columns_mean_fewer_rows(tmp_path, monkeypatch, capsys):
    frame, _ = flipped_frame(500)
    monkeypatch.setattr(read_module, "MAX_CELLS", 1000)
    monkeypatch.setattr(read_module, "LEAST_SAMPLE", 50)
    assert len(audit(frame, "label").row) == 200
    monkeypatch.undo()
    monkeypatch.setattr("robell.labels.audit.run.PREPARED_CELLS", 600)
    result = audit(frame, "label")
    assert len(result.row) == 100
    assert result.evidence.is_sample
    monkeypatch.setattr(prepare_module, "MOST_COLUMNS", 3)
    wide = pd.concat([frame, frame[["size"] * 90].set_axis(range(90), axis=1)], axis=1)
    prepared = []
    prepare = prepare_module.prepare_column
    spied = lambda column, *a, **k: prepared.append(column.name) or prepare(column, *a, **k)  # noqa: E731
    monkeypatch.setattr(prepare_module, "prepare_column", spied)
    message = r"its 94 columns come to more than 3 once categories .* leave some out with drop=$"
    printed = []
    monkeypatch.setattr("robell.labels.audit.run.fingerprints", lambda *_: printed.append(1))
    with pytest.raises(FileError, match=message):
        audit(wide, "label")
    assert not printed  # of a hundred thousand columns this took most of the time
    monkeypatch.undo()
    monkeypatch.setattr(prepare_module, "MOST_COLUMNS", 3)
    assert prepared == ["size", "weight", "noise", "colour"]  # and none of the other ninety
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert main(["audit", str(tmp_path / "t.csv"), "--target", "label"]) == 1
    assert capsys.readouterr().err.endswith("leave some out with --ignore\n")


# -- bad input -----------------------------------------------------------------------------------

ROWS = "".join(f"{k % 7},{k * 37 % 11},{'yes' if k % 3 else 'no'}\n" for k in range(60))
GOOD = "a,b,y\n" + ROWS
BAD = {
    "missing target": (GOOD.replace("a,b,y", "a,b,Target"), "did you mean 'Target'?"),
    "no name near": (GOOD.replace("a,b,y", "a,b,z"), "its columns are 'a', 'b', 'z'"),
    "no header": (GOOD[6:].replace("0,0,no", "0,3,1", 1), "'1'; the first line must name the"),
    "constant": (GOOD.replace("yes", "no"), "'y' is constant: every row has the label 'no'"),
    "continuous": (
        "a,b,y\n" + "".join(f"{k % 7},{k % 5},{k * 0.37:.2f}\n" for k in range(60)),
        r"looks continuous \(60 distinct values\); classes are needed",
    ),
    "many numbers": (
        "a,b,y\n" + "".join(f"{k % 7},{k % 5},{k % 50}\n" for k in range(300)),
        r"looks continuous \(50 distinct values\)",
    ),
    "names": ("a,b,y\n" + "".join(f"{k % 7},{k % 5},n{k}\n" for k in range(60)), "not classes"),
    "class of one row": (
        GOOD.replace("yes", "no") + "1,2,yes\n",
        "1 class of at least 5 rows; two are needed",
    ),
    "few rows": ("a,b,y\n" + ROWS[: ROWS.index("\n") * 20], "at least 30 are needed"),
    "empty": ("", "the file is empty"),
    "blank": (" \n\n \n", "the file is empty"),
    "header only": ("a,b,y\n", "a header and no row"),
    "ragged": (GOOD + "1,2\n", r"line 62 has 2 cells, the header 3"),
    "too wide": (GOOD.replace("\n", "\n1,2,3,4\n", 1), r"line 2 has 4 cells"),
    "open quote": (GOOD + '1,"2,no\n', "line 62 .*quotation mark is opened and not closed"),
    "zero byte": (GOOD + "1,\0,no\n", "line 62 holds a zero byte"),
    "not UTF-8": (GOOD.encode() + b"1,\xe9,no\n", r"line 62 \(byte \d+\).*--encoding latin-1"),
    "UTF-16": (GOOD.encode("utf-16"), "UTF-16 text: give --encoding utf-16"),
    "Excel": (b"PK\x03\x04" + b"x" * 99, "save the table as .xlsx or as CSV"),
    "damaged gzip": (gzip.compress(GOOD.encode())[:60], "gzip file is damaged"),
    "duplicate names": (
        GOOD.replace("a,b,y", "a,a,y"),
        r"two columns are called 'a' \(columns 1 and 2\)",
    ),
    "no features": ("y\n" + "yes\nno\n" * 30, "no column besides the target"),
    "no useful feature": (
        "id,same,y\n" + "".join(f"{k},1,{'yes' if k % 3 else 'no'}\n" for k in range(60)),
        "no column is left to judge by: 'id' left out.*; 'same' left out",
    ),
    "no label": ("a,b,y\n" + "1,2,NA\n" * 40, "holds no label"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_in_one_line(capsys, tmp_path, kind):
    content, message = BAD[kind]
    path = tmp_path / "bad.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    target = "target" if kind == "missing target" else "y"
    command = ["audit", str(path), "--target", target, "--out", str(tmp_path)]
    if kind in ("continuous", "many numbers"):
        command += ["--kind", "classes"]
    status = main(command)
    out, err = capsys.readouterr()
    assert (status, out) == (1, "")
    assert err.startswith("robell: ")
    assert err.count("\n") == 1
    assert re.search(message, err), err
    assert [file.name for file in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: None, "there is no such file"),
        pytest.param(
            lambda path: path.symlink_to("/proc/self/mem"),
            "cannot be read",
            marks=pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs Linux"),
        ),
        (lambda path: path.with_suffix("").write_text(""), "there is no such file"),
    ],
)
def test_what_is_no_readable_file(capsys, tmp_path, make, message):
    path = tmp_path / "t.csv"
    make(path)
    assert main(["audit", str(path), "--target", "y", "--out", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_structures_in_cells_are_left_out(flipped, tmp_path):
    frame, _ = flipped
    frame = frame.assign(parts=[[1, 2]] * len(frame), flag=frame["colour"] == "red")
    frame.to_parquet(tmp_path / "t.parquet")
    result = audit(tmp_path / "t.parquet", "label")
    notes = {note.name: note for note in result.columns}
    assert "lists or other structures" in notes["parts"].done
    assert notes["flag"].kind == "category"


def test_what_is_no_table(flipped):
    with pytest.raises(TypeError, match="path or a data frame"):
        audit([[1, 2]], "y")
    with pytest.raises(FileError, match="no row"):
        audit(flipped[0].iloc[:0], "label")
    with pytest.raises(ValueError, match="max_rows"):
        audit(flipped[0], "label", max_rows=3)
    with pytest.raises(ValueError, match="top"):
        audit(flipped[0], "label").write(top=-1)


@pytest.mark.parametrize("name", ["hex", "no-such", "utf-7"])
def test_encodings(flipped_csv, name):
    if name == "utf-7":
        assert audit(flipped_csv, "label", encoding=name).n_rows == 300
        return
    with pytest.raises(FileError, match="there is no text encoding"):
        audit(flipped_csv, "label", encoding=name)


def test_another_encoding(tmp_path, flipped):
    path = tmp_path / "t.csv"
    text = flipped[0].to_csv(index=False).replace("yes", "naïve")
    path.write_bytes(text.encode("latin-1"))
    assert audit(path, "label", encoding="latin-1").classes == ("naïve", "no")


odd_cells = st.sampled_from(
    ["", "NA", "1", "-1e308", "1e308", "5e-324", "inf", "0", "2.50", "2020-02-30", "2020-02-29",
     "=1", "a", "b", "\u202e", "1,5", '"', "x" * 500]
)  # fmt: skip


@given(data=st.data())
def test_any_table_of_odd_cells_is_audited_or_refused(tmp_path_factory, data):
    n = data.draw(st.integers(28, 40))
    width = data.draw(st.integers(1, 4))
    pools = [data.draw(st.lists(odd_cells, min_size=1, max_size=6)) for _ in range(width)]
    pools.append(data.draw(st.lists(odd_cells, min_size=2, max_size=4)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = [[pool[rng.integers(len(pool))] for pool in pools] for _ in range(n)]
    folder = tmp_path_factory.mktemp("odd")
    with (folder / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[f"c{k}" for k in range(width)] + ["y"], *rows])
    message = ""
    try:
        result = audit(folder / "t.csv", "y", out=folder)
    except FileError as error:
        message = str(error)
    if message:
        assert "\n" not in message
        return
    assert np.isfinite(result.evidence.matrix).all()
    assert len(result.row) + result.n_unlabelled + sum(result.set_aside.values()) == n
    assert len(written(result.csv)) == len(result.row)


# -- the command ---------------------------------------------------------------------------------


def test_the_command_prints_six_lines_and_writes_two_files(capsys, flipped_csv, tmp_path):
    out = tmp_path / "reports"
    status = main(["audit", str(flipped_csv), "--target", "label", "--out", f"{out}/"])
    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert len(lines) == 6
    assert lines[0] == "The columns say something about 'label' (p < 0.0001)."
    assert re.fullmatch(
        r"Of 300 rows, \d+ \(\d+ %\) look as if they carry the wrong label\.", lines[1]
    )
    assert lines[2].startswith("300 rows checked; 2 classes: 'no' ")
    assert re.fullmatch(
        r"Trust: good \(with the label hidden, the other columns predicted it for \d+ of 100 rows"
        r"\); (about \d+|nearly all) of the \d+ \(\d+ to \d+\) are really wrong by estimate",
        lines[3],
    )
    assert lines[4:] == [str(out / "things-audit.html"), str(out / "things-audit.csv")]
    assert sorted(os.listdir(out)) == ["things-audit.csv", "things-audit.html"]


def test_a_prefix_quiet_ignored_columns_and_top(capsys, flipped_csv, tmp_path):
    status = main(
        ["audit", str(flipped_csv), "--target", "label", "--out", str(tmp_path / "july"),
         "--ignore", "noise", "colour", "--top", "2", "--seed", "4", "--quiet", "--all-rows"]
    )  # fmt: skip
    assert status == 0
    paths = [tmp_path / "july-audit.html", tmp_path / "july-audit.csv"]
    assert capsys.readouterr().out.splitlines() == [str(path) for path in paths]
    page = paths[0].read_text()
    assert unpacked(re.search('review-data">([^<]*)<', page)[1])["cards"] == 2
    assert page.count(">left out, as asked<") == 2
    assert "--ignore noise colour" in page
    expected = audit(flipped_csv, "label", drop=["noise", "colour"], random_state=4)
    quality = [float(row["quality"]) for row in written(paths[1])]
    np.testing.assert_allclose(quality, np.sort(expected.quality), atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "nowhere/at/all"], "there is no folder nowhere/at"),
        (["--ignore", "colou"], "no column 'colou'; did you mean 'colour'"),
        (["--ignore", "label"], "is the target"),
        (["--encoding", "klingon"], "no text encoding 'klingon'"),
        (["--delimiter", "ab"], "the delimiter must be one sign"),
        (["--delimiter", "x"], "the delimiter must be one sign"),
    ],
)
def test_wrong_options_are_told_in_one_line(capsys, flipped_csv, arguments, message):
    assert main(["audit", str(flipped_csv), "--target", "label", *arguments]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["--target", "y", "--top", "-1"], ["--max-rows", "3"]])
def test_wrong_usage(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(["audit", "t.csv", *arguments])
    assert stop.value.code == 2
    assert "usage: robell audit" in capsys.readouterr().err


def test_the_audited_file_is_never_replaced(capsys, tmp_path, flipped):
    path = tmp_path / "x-audit.csv"
    flipped[0].to_csv(path, index=False)
    before = path.read_bytes()
    status = main(["audit", str(path), "--target", "label", "--out", str(tmp_path / "x")])
    assert status == 1
    assert "is one of the files that are read" in capsys.readouterr().err
    with pytest.raises(FileError, match="one of the files that are read"):
        audit(path, "label", out=tmp_path / "x")
    assert path.read_bytes() == before


WITHOUT_OPTIONAL = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pandas", "matplotlib", "polars"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
from robell.cli import main
sys.exit(10 * main(["audit", "things.csv", "--target", "label", "--quiet"])
         + main(["audit", "t.parquet", "--target", "label", "--quiet"]))
"""


def test_csv_and_parquet_need_no_optional_package(flipped_csv, flipped):
    folder = flipped_csv.parent
    flipped[0].to_parquet(folder / "t.parquet")
    run = [sys.executable, "-c", WITHOUT_OPTIONAL]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "things-audit.html").exists()
    assert (folder / "t-audit.html").exists()


def test_every_word_for_missing_is_in_the_report(flipped_csv, tmp_path):
    page = audit(flipped_csv, "label", out=tmp_path).html.read_text()
    for word in set(MISSING_WORDS) - {"<NA>"}:
        assert re.search(rf"[ ,]{re.escape(word)}[,. ]", page), word
