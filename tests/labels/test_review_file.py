"""The table a reviewer fills in: the suspects with their own cells, written as the table is."""

import csv

import numpy as np
import pandas as pd
import pytest

from robell import apply_review, audit
from robell._tools.files import FileError
from robell.cli.main import main
from robell.labels.audit.result import is_audit_file
from robell.labels.review.server import ReviewDesk

COLUMNS = ["claim_no", "amount", "clerk", "decision", "fraud"]


@pytest.fixture
def claims():
    """Claims whose label follows the amount, one in twelve wrong; two columns called as ours."""
    rng = np.random.default_rng(5)
    n = 240
    amount = np.where(np.arange(n) % 2, 900.0, 100.0) + np.round(rng.normal(0, 40, n), 1)
    label = np.where(amount > 500, "für", "gegen")
    wrong = rng.choice(n, 20, replace=False)
    label[wrong] = np.where(label[wrong] == "für", "gegen", "für")
    clerk = rng.choice(["Müller", "Öz", "Jürgens"], n)
    number = [f"C-{k:05d}" for k in rng.permutation(n)]
    values = (number, amount, clerk, rng.choice(["a", "b"], n), label)
    return pd.DataFrame(dict(zip(COLUMNS, values, strict=True))), wrong


def read(path, delimiter=",", encoding="utf-8"):
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def test_suspects_alone_with_their_own_cells_identifiers_first(claims, tmp_path):
    frame, _ = claims
    path = tmp_path / "claims.csv"
    frame.to_csv(path, index=False)
    result = audit(path, "fraud", out=tmp_path)
    header, *rows = read(result.csv)
    assert 0 < len(rows) == result.suspect.sum() < len(frame)
    assert header[:6] == ["row", "line", "claim_no", "given", "suggested", "decision"]
    assert header[-5:] == ["amount", "clerk", "decision (table)", "target", "fingerprint"]
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        own = frame.iloc[int(cells["row"]) - 1]
        for name, column in {"claim_no": "claim_no", "decision (table)": "decision"}.items():
            assert cells[name] == own[column]
        assert float(cells["amount"]) == own["amount"]
        assert cells["decision"] == ""
    all_rows = audit(path, "fraud", out=tmp_path, all_rows=True)
    assert len(read(all_rows.csv)) == len(frame) + 1


def test_the_option_and_where_it_does_not_belong(claims, tmp_path, capsys):
    path = tmp_path / "claims.csv"
    claims[0].to_csv(path, index=False)
    out = ["--out", str(tmp_path), "--quiet"]
    assert main(["audit", str(path), "--target", "fraud", "--all-rows", *out]) == 0
    assert len(read(tmp_path / "claims-audit.csv")) == len(claims[0]) + 1
    assert main(["audit", str(path), "--annotators", "clerk", "fraud", "--all-rows", *out]) != 0
    assert "--all-rows goes with --target" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "latin-1"), ("\t", "utf-16"), (";", "utf-8-sig")]
)
def test_the_separator_and_the_encoding_of_the_table(claims, tmp_path, delimiter, encoding):
    frame, _ = claims
    path = tmp_path / "claims.csv"
    frame.to_csv(path, index=False, sep=delimiter, encoding=encoding)
    given = "utf-8" if encoding == "utf-8-sig" else encoding
    result = audit(path, "fraud", out=tmp_path, encoding=given)
    header, *rows = read(result.csv, delimiter, encoding)
    assert {row[header.index("given")] for row in rows} == {"für", "gegen"}
    assert is_audit_file(result.csv)
    place = header.index("decision")
    for row in rows:
        row[place] = "change"
    with result.csv.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    applied = apply_review(path, result.csv, tmp_path / "clean.csv", encoding=given)
    assert applied.changed == len(rows)


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "cp1252"), (",", "cp1252"), ("\t", "utf-16"), (";", "utf-8")]
)
def test_a_review_that_a_spreadsheet_has_saved_otherwise_is_read(
    claims, tmp_path, delimiter, encoding
):
    frame, _ = claims
    path = tmp_path / "claims.csv"
    frame.to_csv(path, index=False)
    result = audit(path, "fraud", out=tmp_path)
    header, *rows = read(result.csv)
    for row in rows:
        row[header.index("decision")] = "change"
    saved = tmp_path / "saved.csv"
    with saved.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    applied = apply_review(path, saved, tmp_path / "clean.csv")
    assert applied.changed == len(rows) > 0
    clean = pd.read_csv(applied.out)
    changed = clean["fraud"] != frame["fraud"]
    assert sorted(np.flatnonzero(changed) + 1) == sorted(result.row[result.suspect])
    again = audit(applied.out, "fraud", reviewed=applied.log)
    assert again.reviewed.sum() == len(rows)


@pytest.mark.parametrize("name", ["=fraud", "@fraud", "fraud\n(yes or no)"])
def test_a_target_whose_name_a_file_cannot_hold_as_it_is(claims, tmp_path, name):
    frame, _ = claims
    path, saved = tmp_path / "claims.csv", tmp_path / "claims-decisions.csv"
    frame.rename(columns={"fraud": name}).to_csv(path, index=False)
    result = audit(path, name, out=tmp_path)
    header, *rows = read(result.csv)
    for row in rows:
        row[header.index("decision")] = "change"
        row[header.index("target")] = " ".join(row[header.index("target")].split())  # as the page
    with saved.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    assert audit(path, name, reviewed=saved).n_corrected == 0
    applied = apply_review(path, saved, tmp_path / "clean.csv")
    assert applied.changed == len(rows) > 0
    again = audit(applied.out, name, reviewed=applied.log)
    assert (again.reviewed.sum(), again.n_corrected) == (len(rows), len(rows))
    assert "\n=" not in applied.log.read_text()
    assert ",=" not in applied.log.read_text()
    desk = ReviewDesk(result, saved)
    assert desk.n_decided == len(rows)
    with pytest.raises(FileError, match="is a review of the column"):
        audit(path, "decision", reviewed=saved, kind="classes")


def test_two_reviews_that_disagree_are_refused_and_later_ones_are_not(claims, tmp_path):
    source, done = tmp_path / "claims.csv", tmp_path / "clean.csv"
    claims[0].to_csv(source, index=False)
    table = audit(source, "fraud").to_frame()
    paths = [tmp_path / f"{name}.csv" for name in ("ann", "bob", "cyd")]
    for path, word in zip(paths, ["change", "keep", "change"], strict=True):
        table.loc[0, "decision"] = word
        table.to_csv(path, index=False)
    row = table["row"][0]
    with pytest.raises(FileError) as raised:
        audit(source, "fraud", reviewed=paths[:2])
    message = f"ann.csv and {paths[1]} disagree about row {row:,}: change to '"
    assert message in str(raised.value)
    assert str(raised.value).endswith("and keep; take one of them out")
    audit(source, "fraud", reviewed=paths[::2])  # the same twice
    # A review of the corrected table that changes the label back is no contradiction.
    apply_review(source, paths[0], done)
    again = audit(done, "fraud").to_frame()
    again.loc[again["row"] == row, ["suggested", "decision"]] = table["given"][0], "change"
    again.to_csv(paths[2], index=False)
    audit(done, "fraud", reviewed=[paths[0], paths[2]])
