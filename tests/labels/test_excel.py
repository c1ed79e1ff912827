"""Excel workbooks: audited, reviewed in a workbook, corrected; also fitted and predicted."""

import re
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from robell import apply_review, audit, fit_table
from robell.cli.main import main


def frame():
    rng = np.random.default_rng(3)
    n = 160
    amount = np.where(np.arange(n) % 2, 900.0, 100.0) + np.round(rng.normal(0, 40, n), 1)
    label = np.where(amount > 500, "yes", "no").astype(object)
    wrong = rng.choice(n, 16, replace=False)
    label[wrong] = np.where(label[wrong] == "yes", "no", "yes")
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    note = np.where(rng.random(n) < 0.1, None, "=1+1")
    return pd.DataFrame(
        {"id": [f"K{k}" for k in range(n)], "amount": amount, "day": day, "note": note, "y": label}
    )


@pytest.fixture
def book(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "claims.xlsx"
    rows, made = frame(), openpyxl.Workbook()
    made.active.append(list(rows.columns))
    for row in rows.itertuples(index=False):
        values = [v.to_pydatetime() if isinstance(v, pd.Timestamp) else v for v in row]
        made.active.append(values)
        if values[3]:
            made.active.cell(made.active.max_row, 4).data_type = "s"
    made.create_sheet("other")["A1"] = "kept"
    made.save(path)
    return path


def test_a_workbook_is_audited_reviewed_and_corrected(book, tmp_path):
    import openpyxl

    result = audit(book, "y", out=tmp_path)
    as_frame = audit(frame(), "y")
    np.testing.assert_array_equal(result.suspect, as_frame.suspect)
    assert result.csv == tmp_path / "claims-audit.xlsx"
    review = openpyxl.load_workbook(result.csv)
    sheet = review.active
    header = [cell.value for cell in sheet[1]]
    assert header[:6] == ["row", "line", "id", "given", "suggested", "decision"]
    assert sheet.max_row == 1 + result.suspect.sum()
    at = {name: place for place, name in enumerate(header, 1)}
    assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)
    for line in range(2, sheet.max_row + 1):
        sheet.cell(line, at["decision"]).value = "change" if line > 2 else "drop"
    review.save(result.csv)
    applied = apply_review(book, result.csv, tmp_path / "clean.xlsx")
    n = int(result.suspect.sum())
    assert (applied.changed, applied.dropped) == (n - 1, 1)
    clean = openpyxl.load_workbook(applied.out)
    assert clean["other"]["A1"].value == "kept"
    assert clean.worksheets[0].max_row == 160
    assert apply_review(applied.out, result.csv, tmp_path / "again.xlsx").was_applied
    after = audit(applied.out, "y", reviewed=applied.log)
    assert after.reviewed.sum() == n - 1
    with pytest.raises(ValueError, match=r"is written as one; give \.xlsx"):
        apply_review(book, result.csv, tmp_path / "clean.csv")


def test_a_workbook_is_fitted_and_predicted(book, tmp_path):
    model, out = tmp_path / "m.skops", tmp_path / "p.csv"
    common = ["--quiet", "--force"]
    assert main(["fit", str(book), "--target", "y", "--out", str(model), *common]) == 0
    assert main(["predict", str(model), str(book), "--out", str(out), *common]) == 0
    assert len(pd.read_csv(out)) == 160
    assert fit_table(book, "y").n_fitted == 160


def test_text_options_and_damage_are_refused(book, tmp_path):
    with pytest.raises(ValueError, match="a workbook is no text: it takes no delimiter"):
        audit(book, "y", delimiter=";")
    damaged = tmp_path / "damaged.xlsx"
    damaged.write_bytes(book.read_bytes()[:3000])
    with pytest.raises(ValueError, match="is no Excel workbook, or a damaged one"):
        audit(damaged, "y")


def test_without_openpyxl_one_line_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK\x03\x04" + b"x" * 99)
    assert main(["audit", str(path), "--target", "y", "--out", str(tmp_path)]) == 1
    assert 'pip install "robell[excel]"' in capsys.readouterr().err


def test_a_corrected_sheet_holds_the_values_of_its_formulas(tmp_path):
    """They were lost, so that a review did not know its own result; dropped rows moved others."""
    openpyxl, path = pytest.importorskip("openpyxl"), tmp_path / "t.xlsx"
    made, amounts = openpyxl.Workbook(), [k % 7 + 9 * (k % 2) for k in range(120)]
    made.active.append(["amount", "twice", "y"])
    for k, amount in enumerate(amounts):
        made.active.append([amount, f"=A{k + 2}*2", "yes" if (k % 2) ^ (k in (20, 41)) else "no"])
    made.create_sheet("other").append(["=1+1"])
    made.save(path)
    name = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path) as file:
        parts = {one: file.read(one) for one in file.namelist()}
    for k, amount in enumerate(amounts):  # as Excel saves it, with the values calculated last
        cell = f"<f>A{k + 2}*2</f><v".encode()
        parts[name] = re.sub(
            re.escape(cell) + rb" ?/>|" + re.escape(cell) + rb"></v>",
            cell + f">{2 * amount}</v>".encode(),
            parts[name],
        )
    with zipfile.ZipFile(path, "w") as file:
        for one, content in parts.items():
            file.writestr(one, content)
    review = audit(path, "y").to_frame()
    review.loc[review["row"] == 21, ["suggested", "decision"]] = "no", "change"
    review.loc[review["row"] == 42, "decision"] = "drop"
    review.to_csv(tmp_path / "r.csv", index=False)
    done = apply_review(path, tmp_path / "r.csv", tmp_path / "clean.xlsx")
    clean = openpyxl.load_workbook(done.out)
    rows = list(clean.worksheets[0].values)[1:]
    right = ["yes" if k % 2 else "no" for k in range(120)]
    expected = list(zip(amounts, [2 * one for one in amounts], right, strict=True))
    assert rows == expected[:41] + expected[42:]
    assert clean["other"]["A1"].value == "=1+1"
    assert apply_review(done.out, tmp_path / "r.csv", tmp_path / "again.xlsx").was_applied
    assert audit(done.out, "y", reviewed=done.log).reviewed.sum() == 1


def test_a_workbook_with_macros_is_written_as_one(book, tmp_path):
    """Excel does not open a .xlsm without its macros that says within that it is a .xlsx."""
    path, kinds = tmp_path / "claims.xlsm", "[Content_Types].xml"
    with zipfile.ZipFile(book) as plain, zipfile.ZipFile(path, "w") as file:
        for name in plain.namelist():
            file.writestr(name, plain.read(name))
        file.writestr("xl/vbaProject.bin", b"macros")
    review = audit(book, "y").to_frame().assign(decision="keep")
    review.to_csv(tmp_path / "r.csv", index=False)
    for end in (".xlsm", ".xlsx"):
        done = apply_review(path, tmp_path / "r.csv", tmp_path / f"clean{end}")
        with zipfile.ZipFile(done.out) as file:
            assert (b"macroEnabled" in file.read(kinds)) == (end == ".xlsm")
            assert ("xl/vbaProject.bin" in file.namelist()) == (end == ".xlsm")
        assert audit(done.out, "y").n_rows == 160


def test_a_label_that_begins_as_a_formula_does_stays_a_text(tmp_path):
    """Changed to "=yes", a cell became a formula that the next audit read as no label."""
    openpyxl, path = pytest.importorskip("openpyxl"), tmp_path / "t.xlsx"
    made = openpyxl.Workbook()
    made.active.append(["amount", "y"])
    for k in range(60):
        made.active.append([k % 7 + 9 * (k % 2), "=yes" if k % 2 else "no"])
        made.active.cell(k + 2, 2).data_type = "s"
    made.save(path)
    review = audit(path, "y").to_frame()
    review.loc[review["row"] == 1, ["suggested", "decision"]] = "=yes", "change"
    review.to_csv(tmp_path / "r.csv", index=False)
    done = apply_review(path, tmp_path / "r.csv", tmp_path / "clean.xlsx")
    assert audit(done.out, "y").given[0] == "=yes"
    assert openpyxl.load_workbook(done.out).active["B2"].data_type == "s"
