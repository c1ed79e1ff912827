"""The audit of a target of numbers: judged, written, reviewed, and refused in one line."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

from robell import NumberAuditResult, apply_review, audit, find_target_issues
from robell.cli.main import main
from robell.tables.columns import prepare_column
from robell.tables.leaks import find_number_leak
from robell.tables.raw import Column
from robell.tables.target import holds_numbers, written

WRONG = [12, 40, 77, 101]


def flats(n=120, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.uniform(30, 150, n).round(1)
    district = rng.choice(["old", "north", "south"], n)
    price = 2000 * size * np.where(district == "old", 1.4, 1.0) * np.exp(rng.normal(0, 0.05, n))
    frame = pd.DataFrame({"size": size, "district": district, "price": price.round()})
    frame.loc[WRONG[:2], "price"] *= 10
    frame.loc[WRONG[2:], "price"] = (frame.loc[WRONG[2:], "price"] / 10).round()
    return frame


@pytest.fixture(scope="module")
def result():
    return audit(flats(), "price")


def test_wrong_numbers_are_suspect_with_value_range_and_reasons(result):
    assert isinstance(result, NumberAuditResult)
    right = 2000 * flats()["size"] * np.where(flats()["district"] == "old", 1.4, 1.0)
    assert set(result.row[result.order[:4]] - 1) == set(WRONG)
    assert result.suspect[WRONG].all()
    assert result.suspect.sum() <= 8
    assert (abs(result.suggested[WRONG] / right[WRONG] - 1) < 0.25).all()
    assert ((result.lower < right) & (right < result.upper)).mean() > 0.85
    assert result.trust == "good"
    assert 0.02 < result.noise_rate < 0.1
    for place in WRONG:
        texts = [reason.text for reason in result.reasons[place + 1]]
        assert any("this price" in text or "every trusted number" in text for text in texts)
    slipped = " ".join(reason.text for reason in result.reasons[WRONG[2] + 1])
    assert re.search(r"size [\d.]+ is high for the lowest trusted price \(usual ", slipped)


def test_the_audit_and_the_function_agree_on_numeric_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=100)
    y[5] += 4
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    found = audit(frame, "y")
    matrix = found.evidence.matrix
    issues = find_target_issues(matrix, y, random_state=0)
    np.testing.assert_allclose(found.quality, issues.sample_quality)
    np.testing.assert_allclose(found.lower, issues.interval[:, 0])


def test_page_table_and_summary_say_the_same(result, tmp_path):
    done = result.write(tmp_path / "flats")
    page = done.html.read_text(encoding="utf-8")
    for text in (
        "Are the numbers in column 'price' right?",
        "look as if their 'price' were wrong.",
        "different numbers, taken as measured",
        "Predicted and given",
        "Likely range",
        "with the number hidden",
    ):
        assert text.replace("'", "&#x27;") in page or text in page
    with done.csv.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["row"]) - 1 for row in rows[:4]] == list(result.order[:4])
    assert rows[0]["suspect"] == "yes"
    assert float(rows[0]["lower"]) < float(rows[0]["suggested"]) < float(rows[0]["upper"])
    assert rows[0]["reasons"]
    found = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert found["kind"] == "numbers"
    assert found["suspect_numbers"][0]["row"] == int(rows[0]["row"])
    columns = list(result.to_frame().columns)
    assert columns == [name for name in rows[0] if name in columns]
    assert set(rows[0]) - set(columns) <= {used.name for used in result.columns}
    assert "NumberAuditResult" in repr(result)


def test_a_review_is_applied_and_known_in_the_next_audit(tmp_path):
    table = tmp_path / "flats.csv"
    flats().to_csv(table, index=False, sep=";", decimal=",")
    result = audit(table, "price", out=tmp_path / "flats")
    frame = result.to_frame()
    frame.loc[0, "decision"] = "change"
    frame.loc[1, "decision"] = "keep"
    review = tmp_path / "review.csv"
    frame.to_csv(review, index=False)
    out = tmp_path / "clean.csv"
    applied = apply_review(table, review, out)
    assert (applied.changed, applied.kept) == (1, 1)
    clean = pd.read_csv(out, sep=";", decimal=",")
    row = int(frame["row"][0]) - 1
    assert clean["price"][row] == pytest.approx(result.suggested[row], rel=1e-3)
    again = audit(out, "price", reviewed=[applied.log])
    assert again.reviewed.sum() == 2
    assert not again.suspect[again.reviewed].any()


def test_parquet_takes_numbers_that_no_row_has(tmp_path):
    pytest.importorskip("pyarrow")
    table = tmp_path / "flats.parquet"
    flats().to_parquet(table)
    frame = audit(table, "price").to_frame()
    frame.loc[0, "decision"] = "change"
    frame.loc[0, "suggested"] = "123456.5"
    frame.to_csv(tmp_path / "review.csv", index=False)
    apply_review(table, tmp_path / "review.csv", tmp_path / "clean.parquet")
    assert pd.read_parquet(tmp_path / "clean.parquet")["price"][frame["row"][0] - 1] == 123456.5


@pytest.mark.parametrize(
    ("cells", "numeric"),
    [
        ([f"{k % 10}" for k in range(500)], False),  # digits
        ([f"{k % 26}" for k in range(2000)], False),  # letters, coded without a gap
        ([f"{k % 26 + 1}" for k in range(2000)], False),
        ([f"{18 + k % 60}" for k in range(5000)], True),  # ages
        ([f"{100 * (k % 40)}" for k in range(5000)], True),  # prices
        ([f"{k % 400}" for k in range(5000)], True),  # more codes than classes may be
        ([f"{k / 7:.3f}" for k in range(90)], True),
        ([f"{k % 5 / 2}" for k in range(90)], False),  # grades 0, 0.5, ...
        (["yes", "no"] * 40, False),
        ([f"2024-01-{k % 28 + 1:02}" for k in range(90)], False),
        ([f"{k},{k % 10}" for k in range(90)], True),  # a decimal comma, between semicolons
        ([*[f"{k}.5" for k in range(90)], "n.a.", "inf", ""], True),
    ],
)
def test_numbers_are_told_from_classes(cells, numeric):
    assert holds_numbers(cells, None, ";") is numeric


def test_the_kind_can_be_said(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "u": rng.normal(size=300), "stars": np.digitize(x, [-1, 0, 1])})
    assert not isinstance(audit(frame, "stars"), NumberAuditResult)
    page = audit(frame, "stars", out=tmp_path / "stars").html.read_text(encoding="utf-8")
    assert "4 different numbers in" in page
    assert "kind numbers" in page
    as_numbers = audit(frame, "stars", kind="numbers")
    assert isinstance(as_numbers, NumberAuditResult)
    assert "taken as measured" not in as_numbers.write(tmp_path / "n").html.read_text("utf-8")
    with pytest.raises(ValueError, match="looks continuous"):
        audit(frame, "x", kind="classes")
    with pytest.raises(ValueError, match="kind must be one of auto, classes, numbers"):
        audit(frame, "x", kind="digits")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.full(60, 4.5), "is constant: every row has 4.5"),
        (np.where(np.arange(60) < 40, 0.0, np.arange(60) / 7), "is 0 in 67% of the rows"),
        (np.arange(60) % 2 + 0.5, "two different numbers: these are classes"),
        ([f"2024-01-{k % 28 + 1:02}" for k in range(60)], "holds dates"),
        (["a", "b", "c"] * 20, "holds texts"),
        (
            np.where(np.arange(60) < 45, np.inf, np.arange(60) / 7),
            "has 15 usable rows; at least 30",
        ),
    ],
)
def test_targets_that_cannot_be_judged_are_refused_in_one_line(target, message):
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60), "y": target})
    with pytest.raises(ValueError, match=message) as error:
        audit(frame, "y", kind="numbers")
    assert "\n" not in str(error.value)


def test_rows_without_a_number_are_set_aside_and_named(tmp_path):
    table = flats().astype({"price": object})
    table.loc[0, "price"], table.loc[1, "price"], table.loc[2, "price"] = "n.a.", "", "inf"
    table.to_csv(tmp_path / "t.csv", index=False)
    result = audit(tmp_path / "t.csv", "price", out=tmp_path / "t")
    assert result.n_unlabelled == 3
    assert len(result.row) == 117
    assert "3 rows without a usable number" in result.html.read_text(encoding="utf-8")


def test_nothing_is_suspect_where_the_columns_say_nothing(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=150), "y": rng.normal(size=150)})
    frame.loc[3, "y"] = 90.0
    result = audit(frame, "y", out=tmp_path / "y")
    assert result.trust == "none"
    assert not result.suspect.any()
    assert "no row can be called suspect" in result.html.read_text(encoding="utf-8")
    assert set(result.to_frame()["suspect"]) == {"cannot tell"}


def test_copies_of_the_target_are_left_out():
    frame = flats(300)
    frame["price_in_thousands"] = frame["price"] / 1000 + 3
    frame.loc[5, "price_in_thousands"] = 1.0
    result = audit(frame, "price")
    assert result.leaks == ("price_in_thousands",)
    assert result.evidence.leaks[0].exceptions.tolist() == [5]
    size = Column("size", [str(v) for v in frame["size"]])
    used, _ = prepare_column(size, np.arange(300))
    assert find_number_leak(used, frame["price"].to_numpy()) is None


def test_numbers_are_written_as_the_column_writes_them():
    assert written(1234.567, "number") == "1235"
    assert written(0.0123456, "number") == "0.01235"
    assert written(12.5, "number with a decimal comma") == "12,5"
    assert written(12.5, "percentage") == "12.5 %"
    assert written(1234567.0, "number") == "1235000"


def test_the_command_audits_numbers_and_is_a_gate(tmp_path, capsys):
    table = tmp_path / "flats.csv"
    flats().to_csv(table, index=False)
    status = main(
        ["audit", str(table), "--target", "price", "--json", str(tmp_path / "f.json"),
         "--fail-above", "1%"]
    )  # fmt: skip
    out = capsys.readouterr().out
    assert status == 4
    assert "look as if their 'price' were wrong." in out
    assert "taken as measured; if they are codes of classes, say so with --kind classes" in out
    assert "--kind classes (for at most 20 different ones)" in out
    assert json.loads((tmp_path / "f.json").read_text())["passed"] is False


def test_the_kind_goes_with_one_target(tmp_path, capsys):
    table = tmp_path / "flats.csv"
    flats().to_csv(table, index=False)
    command = ["audit", str(table), "--annotators", "size", "price", "--kind", "numbers"]
    assert main(command) == 1
    assert "--kind goes with --target" in capsys.readouterr().err


def test_a_target_with_a_currency_is_read_corrected_and_read_again(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300))
    price = np.round(np.exp(7 + a + 0.5 * b + rng.normal(0, 0.05, 300)), 2)
    price[17] *= 30
    cells = [f"€ {value:,.2f}".translate(str.maketrans(",.", ".,")) for value in price]
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": a, "b": b, "price": cells}).to_csv(path, index=False)
    result = audit(path, "price", out=tmp_path)
    assert isinstance(result, NumberAuditResult)
    assert result.suspect[result.row == 18].all()
    rows = list(csv.DictReader(result.csv.read_text(encoding="utf-8").splitlines()))
    (found,) = [row for row in rows if row["row"] == "18"]
    assert found["suggested"].endswith(" EUR")
    for row in rows:
        row["decision"] = "change" if row is found else ""
    with (tmp_path / "r.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    done = apply_review(path, tmp_path / "r.csv", tmp_path / "clean.csv")
    assert done.changed == 1
    again = audit(done.out, "price")
    assert len(again.row) == 300  # the number that was changed is read as the others are


@pytest.mark.parametrize("written", ["{:.2f}", "{:.2f} EUR", "{:.2f} kg"])
def test_amounts_below_zero_with_a_decimal_comma_stay_numbers_in_a_review(tmp_path, written):
    frame = flats()
    price = frame["price"] - frame["price"].median()
    frame["price"] = [written.format(one).replace(".", ",") for one in price]
    path = tmp_path / "flats.csv"
    frame.to_csv(path, index=False, sep=";")
    result = audit(path, "price", out=tmp_path)
    with result.csv.open(newline="") as file:
        header, *rows = csv.reader(file, delimiter=";")
    given, decision = (header.index(name) for name in ("given", "decision"))
    assert any(row[given].startswith("'-") for row in rows)
    for row in rows:
        row[decision] = "change"
    with (tmp_path / "reviewed.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows([header, *rows])
    applied = apply_review(path, tmp_path / "reviewed.csv", tmp_path / "clean.csv")
    assert applied.changed == len(rows)
    assert "'" not in applied.out.read_text()
    again = audit(applied.out, "price", reviewed=applied.log)
    assert again.n_corrected == len(rows)


def test_this_folder_is_no_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["audit", ".", "--target", "y"]) == 1
    assert "is a folder" in capsys.readouterr().err
