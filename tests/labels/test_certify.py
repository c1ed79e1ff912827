"""A sample drawn, checked by somebody who knows the truth, and read back as a certificate."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from robell import certify
from robell._tools.files import FileError
from robell.cli.main import main
from robell.labels.certify import read_plan

N = 400


def _table(seed=0, rate=0.08):
    rng = np.random.default_rng(seed)
    right = rng.choice(["no", "yes"], N, p=[0.7, 0.3]).astype(object)
    frame = pd.DataFrame(
        {
            "id": [f"r{k}" for k in range(N)],
            "x": rng.normal(np.where(right == "yes", 2.0, 0.0)).round(3),
            "z": rng.normal(np.where(right == "yes", 1.5, 0.0)).round(3),
            "site": rng.choice(list("abc"), N),
            "again": right,
        }
    )
    wrong = rng.random(N) < rate
    frame["label"] = np.where(wrong, np.where(right == "yes", "no", "yes"), right)
    frame["again"] = frame["label"]
    return frame, right


FRAME, RIGHT = _table()
WRONG = FRAME["label"].to_numpy() != RIGHT
SAMPLE = certify(FRAME, "label", rows=120, group="site")


def _filled(sample, right=RIGHT):
    sheet = sample.to_frame()
    sheet["true"] = right[sheet["row"].to_numpy() - 1]
    return sheet


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Return a folder with the table, its sample and the sheet filled in."""
    folder = tmp_path_factory.mktemp("drawn")
    FRAME.to_csv(folder / "t.csv", index=False)
    sample = certify(folder / "t.csv", "label", rows=120, group="site", out=folder)
    _filled(sample).to_csv(folder / "filled.csv", index=False)
    return folder


@pytest.fixture
def folder(drawn, tmp_path):
    """Return a copy of that folder, to be changed."""
    return Path(shutil.copytree(drawn, tmp_path / "drawn"))


def test_the_sheet_does_not_lead():
    sheet = SAMPLE.to_frame()
    assert list(sheet) == ["row", "true", "id", "x", "z", "site", "sample", "fingerprint"]
    assert (sheet["true"] == "").all()
    assert len(sheet) == 120
    doubt = np.argsort(np.argsort(sheet["row"]))
    assert abs(np.corrcoef(doubt, np.arange(120))[0, 1]) < 0.3
    again = certify(FRAME, "label", rows=120, group="site")
    assert again.plan == SAMPLE.plan
    other = certify(FRAME, "label", rows=120, group="site", random_state=1)
    assert set(other.row) != set(SAMPLE.row)


def test_the_certificate_holds_the_truth():
    found = SAMPLE.certificate(_filled(SAMPLE))
    assert found.wrong.low <= WRONG.sum() <= found.wrong.high
    assert found.share.high == found.wrong.high / N
    assert found.n_found == WRONG[SAMPLE.row - 1].sum()
    given, site = FRAME["label"].to_numpy(), FRAME["site"].to_numpy()
    for parts, column in ((found.by_class, given), (found.by_group, site)):
        assert sum(part.rows for part in parts) == N
        assert sum(part.checked for part in parts) == 120
        for part in parts:
            inside = column == part.name
            assert part.rows == inside.sum()
            assert part.share.low <= WRONG[inside].mean() <= part.share.high
    assert {part.name for part in found.by_direction} <= {"no, labelled yes", "yes, labelled no"}
    assert sum(part.found for part in found.by_direction) == found.n_found
    low, high = found.still_wrong(10)
    assert (low, high) == (max(0, found.wrong.low - 10), found.wrong.high - 10)


def test_the_recall_of_the_list():
    found = SAMPLE.certificate(_filled(SAMPLE))
    listed = np.isin(np.array(list(SAMPLE.plan.strata)), list(SAMPLE.plan.listed))
    assert listed.sum() == found.n_suspects
    assert found.recall.low <= WRONG[listed].sum() / WRONG.sum() <= found.recall.high


def test_rows_that_cannot_be_told_widen_the_interval():
    sheet = _filled(SAMPLE)
    whole = SAMPLE.certificate(sheet)
    sheet.loc[:4, "true"] = "?"
    sheet.loc[5, "true"] = "other"
    found = SAMPLE.certificate(sheet)
    assert found.n_untold == 5
    assert found.wrong.low <= whole.wrong.low + 20
    assert found.wrong.high > whole.wrong.high
    assert any("other" in part.name for part in found.by_direction)
    assert "could not be told" in " ".join(found.lines())


def test_a_wanted_width_takes_as_many_rows():
    wide, narrow = (certify(FRAME, "label", width=width).expected[0] for width in (0.12, 0.07))
    assert wide.rows < narrow.rows <= narrow.random_rows
    assert narrow.high - narrow.low <= 0.07
    assert wide.high - wide.low <= 0.12


def test_frames_of_polars_give_the_same():
    sample = certify(pl.from_pandas(FRAME), "label", rows=120, group="site")
    assert sample.plan == SAMPLE.plan
    sheet = pl.from_pandas(_filled(SAMPLE))
    assert sample.certificate(sheet).summary() == SAMPLE.certificate(_filled(SAMPLE)).summary()


def test_numbers_are_wrong_by_more_than_the_tolerance():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 3))
    right = (10 + x @ [3.0, 2.0, 1.0] + rng.normal(scale=0.3, size=300)).round(2)
    given, wrong = right.copy(), rng.random(300) < 0.1
    given[wrong] += np.resize([9.0, -9.0], wrong.sum())
    frame = pd.DataFrame(x, columns=list("abc")).assign(price=given.round(2))
    with pytest.raises(FileError, match="say from which difference on one is wrong"):
        certify(frame, "price")
    sample = certify(frame, "price", rows=80, tolerance=0.5)
    found = sample.certificate(_filled(sample, right + 0.3))
    assert found.wrong.low <= wrong.sum() <= found.wrong.high
    assert {part.name for part in found.by_direction} == {"too large", "too small"}
    assert found.n_found == wrong[sample.row - 1].sum()
    sheet = _filled(sample, right).astype({"true": object})
    sheet.loc[2, "true"] = "cheap"
    with pytest.raises(FileError, match="'cheap' is not written as the numbers"):
        sample.certificate(sheet)
    with pytest.raises(FileError, match="tolerance must be a number such as"):
        certify(frame, "price", tolerance="-1")


def test_the_command_draws_and_certifies(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    call = ["certify", "t.csv", "--target", "label", "--checked", "filled.csv", "--out", "july"]
    assert main(call) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        r"At most \d+\.\d % of the 400 labels are wrong, with 95 % confidence; the list of "
        r"suspects held \d+ % of them \(\d+ to \d+ %\)\.",
        lines[0],
    )
    assert lines[-2:] == ["july-certificate.html", "july-certificate.json"]
    page = (folder / "july-certificate.html").read_text(encoding="utf-8")
    found = json.loads((folder / "july-certificate.json").read_text(encoding="utf-8"))
    assert found["certificate"] == lines[0]
    for text in (found["fingerprint"], found["sample"], found["dated"], lines[0], "filled.csv"):
        assert text in page
    assert "default-src 'none'" in page
    assert main(call) == 0  # an earlier certificate is replaced
    assert main(["certify", "t.csv", "--target", "label", "--rows", "60"]) == 1
    assert "t-sample.csv: is there already" in capsys.readouterr().err
    assert main(["certify", "t.csv", "--target", "label", "--rows", "60", "--force"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("60 rows to check")
    assert "a simple random sample would take about" in printed
    assert len(read_plan(folder / "t-sample.json").rows) == 60


def _changed(folder, name, change):
    """Write the sheet or the table with some cells changed; return its path."""
    frame = pd.read_csv(folder / name, dtype=str, keep_default_na=False)
    frame = change(frame)
    frame.to_csv(folder / "changed.csv", index=False)
    return folder / "changed.csv"


def _with(column, value, row=0):
    def change(frame):
        frame.loc[row, column] = value
        return frame

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_with("true", ""), r"1 row of 120 has no answer yet \(the first: changed.csv: line 2\)"),
        (lambda frame: frame.iloc[:100], "20 rows of 120 have no answer yet"),
        (_with("true", "yse"), "the table has no label 'yse'; did you mean 'yes'"),
        (_with("row", "9999"), "row 9,999 is not in the sample"),
        (_with("row", "first"), "'first' is not the number of a row"),
        (_with("sample", "abc", 3), "line 5: belongs to another sample"),
        (_with("fingerprint", "abc"), "is no fingerprint"),
        (lambda frame: frame.iloc[[0, *range(120)]], "stands there twice"),
        (lambda frame: frame.drop(columns="true"), "there is no column 'true'"),
        (
            lambda frame: frame.assign(fingerprint=frame["fingerprint"].to_numpy()[::-1]),
            "is not the row that was drawn",
        ),
    ],
)
def test_sheets_that_cannot_be_used(folder, change, problem):
    sheet = _changed(folder, "filled.csv", change)
    with pytest.raises(FileError, match=problem) as error:
        certify(folder / "t.csv", "label", checked=sheet, out=folder)
    assert "\n" not in str(error.value)
    assert not (folder / "t-certificate.html").exists()


def test_several_sheets_must_agree(folder):
    halves = [folder / "first.csv", folder / "second.csv"]
    frame = pd.read_csv(folder / "filled.csv")
    frame.iloc[:70].to_csv(halves[0], index=False)
    frame.iloc[50:].to_csv(halves[1], index=False)
    both = certify(folder / "t.csv", "label", checked=halves)
    assert (
        both.summary()
        == certify(folder / "t.csv", "label", checked=folder / "filled.csv").summary()
    )
    frame.loc[60, "true"] = "no" if frame.loc[60, "true"] == "yes" else "yes"
    frame.iloc[50:].to_csv(halves[1], index=False)
    with pytest.raises(
        FileError, match=r"second.csv: line 12: row .* in first.csv: line 62: agree"
    ):
        certify(folder / "t.csv", "label", checked=halves)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda frame: frame.iloc[[*range(400), 399]], "it has 401 rows, and had 400"),
        (lambda frame: frame.iloc[:-1], "it has 399 rows, and had 400|row 400 is not the row"),
        (_with("label", "maybe"), "its labels are different"),
        (lambda frame: frame.assign(z=frame["z"].where(frame.index < 399, "7")), "has changed"),
        (lambda frame: frame.iloc[::-1], "is not the row that was drawn"),
    ],
)
def test_a_table_that_has_changed_gets_no_certificate(folder, change, problem):
    table = _changed(folder, "t.csv", change)
    with pytest.raises(FileError, match=problem):
        certify(table, "label", checked=folder / "filled.csv")


def test_the_plan_must_stand_beside_the_sheet_unchanged(folder):
    plan = folder / "t-sample.json"
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace('"random_state": 0', '"random_state": 1'), encoding="utf-8")
    with pytest.raises(FileError, match="was changed since the sample was drawn"):
        certify(folder / "t.csv", "label", checked=folder / "filled.csv")
    plan.write_text("[]", encoding="utf-8")
    with pytest.raises(FileError, match="is no plan of a sample"):
        certify(folder / "t.csv", "label", checked=folder / "filled.csv")
    plan.unlink()
    with pytest.raises(FileError, match="the plan of its sample is missing"):
        certify(folder / "t.csv", "label", checked=folder / "filled.csv")


def test_a_spoilt_plan_of_another_table_is_passed_over(folder):
    (folder / "a-sample.json").write_text("{}", encoding="utf-8")
    assert certify(folder / "t.csv", "label", checked=folder / "filled.csv").n_checked == 120


def test_a_table_of_too_many_cells_is_not_told_to_give_more_rows(folder, monkeypatch):
    monkeypatch.setattr("robell.tables.read.LEAST_SAMPLE", 100)
    monkeypatch.setattr("robell.tables.read.MAX_CELLS", 1_000)
    with pytest.raises(FileError, match=r"its 400 rows, and at most 10,000,000 cells can be read"):
        certify(folder / "t.csv", "label", max_rows=400)


def test_what_cannot_be_drawn(folder):
    with pytest.raises(FileError, match="for all of its 400 rows: give max_rows='400'"):
        certify(folder / "t.csv", "label", max_rows=300)
    with pytest.raises(FileError, match="holds classes, which are right or wrong"):
        certify(FRAME, "label", tolerance=1)
    with pytest.raises(ValueError, match="width must be a share"):
        certify(FRAME, "label", width=3)
    with pytest.raises(FileError, match="it cannot name groups too"):
        certify(FRAME, "label", group="label")
