"""A review finds its rows again, changes what was decided and nothing else, or is refused."""

import contextlib
import csv
import gzip
import io

import numpy as np
import odd_files
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robell import apply_review, audit, fit_table
from robell._tools.files import FileError
from robell.cli import main
from robell.labels.review.review import fingerprints
from robell.tables.read import read_table

NAMES = ["size", "colour", "label"]
ROWS = [["1.50", "red", "no"], ["2", "", "yes"], [" 3", "a,b", "no"], ["4", "red", "yes"]]


def write_rows(path, rows=ROWS, delimiter=",", ending="\n", quoting=csv.QUOTE_MINIMAL):
    stream = io.StringIO()
    options = {"delimiter": delimiter, "lineterminator": ending, "quoting": quoting}
    csv.writer(stream, **options).writerows([NAMES, *rows])
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    return path


def write_review(path, table, decisions, target="label", suggested=None):
    """Write what an audit writes, with decisions by row, without the work of an audit."""
    raw = read_table(table, target)
    names = [column.name for column in raw.columns]
    prints = fingerprints(raw, names.index(target))
    cells = raw.columns[names.index(target)].cells
    rows = [["row", "given", "suggested", "decision", "target", "fingerprint"]]
    for row, label, print_ in zip(raw.rows, cells, prints, strict=True):
        other = (suggested or {}).get(row, "yes" if label == "no" else "no")
        rows.append([row, label, other, decisions.get(int(row), ""), target, print_])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture
def table(tmp_path):
    return write_rows(tmp_path / "table.csv")


def test_changes_drops_and_keeps_and_leaves_every_other_byte_alone(table, tmp_path):
    review = write_review(tmp_path / "r.csv", table, {1: "change", 2: "drop", 3: " KEEP "})
    done = apply_review(table, review, tmp_path / "clean.csv")
    assert (done.changed, done.dropped, done.kept, done.undecided) == (1, 1, 1, 1)
    assert not done.was_applied
    before, after = table.read_text().splitlines(), done.out.read_text().splitlines()
    assert after == [before[0], "1.50,red,yes", before[3], before[4]]
    log = list(csv.DictReader(done.log.read_text().splitlines()))
    assert [(one["row"], one["given"], one["decision"], one["label"]) for one in log] == [
        ("1", "no", "change", "yes"),
        ("2", "yes", "drop", ""),
        ("3", "no", "keep", "no"),
    ]


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_any_review_is_what_it_says_and_applying_it_again_changes_nothing(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("review")
    cell = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
    n = data.draw(st.integers(2, 8))
    rows = [
        [data.draw(cell), data.draw(cell), data.draw(st.sampled_from(["no", "yes", "=may be"]))]
        for _ in range(n)
    ]
    delimiter = data.draw(st.sampled_from([",", ";", "\t"]))
    ending = data.draw(st.sampled_from(["\n", "\r\n"]))
    table = write_rows(folder / "table.csv", rows, delimiter, ending, csv.QUOTE_ALL)
    known = sorted({row[2] for row in rows})
    decisions, suggested, expected = {}, {}, []
    for place, row in enumerate(rows, 1):
        others = [label for label in known if label != row[2]]
        word = data.draw(st.sampled_from(["", "keep", "drop", *(["change"] if others else [])]))
        decisions[place] = word
        label = data.draw(st.sampled_from(others)) if word == "change" else row[2]
        suggested[place] = label
        if word != "drop":
            expected.append([*row[:2], label])
    options = {"delimiter": delimiter}
    review = write_review(folder / "r.csv", table, decisions, suggested=suggested)
    if not any(decisions.values()):
        with pytest.raises(FileError, match="holds no decision"):
            apply_review(table, review, folder / "clean.csv", **options)
        return
    first = apply_review(table, review, folder / "clean.csv", **options)
    with first.out.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file, delimiter=delimiter))[1:] == expected
    if not expected:
        return
    again = apply_review(table, review, folder / "again.csv", **options)
    assert again.out.read_bytes() == first.out.read_bytes()
    assert again.log.read_bytes() == first.log.read_bytes()
    twice = apply_review(first.out, review, folder / "twice.csv", **options)
    assert twice.out.read_bytes() == first.out.read_bytes()
    assert twice.was_applied == bool({"change", "drop"} & set(decisions.values()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [["1.51", *rows[0][1:]], *rows[1:]], "line 2 is not the row"),
        (lambda rows: rows[::-1], "line 2 is not the row"),
        (lambda rows: rows[:3], "line 3 is labelled 'yes', not 'no'"),
        (lambda rows: rows[:2], "there is no row 3 any more"),
        (lambda rows: [*rows, ["9", "red", "no"]], "rows that are not in the review"),
        (lambda rows: [[*rows[0][:2], "yes"], *rows[1:]], "line 2 is labelled 'yes', and was 'no'"),
        (lambda rows: rows[1:], "is not the row that was reviewed"),
    ],
)
def test_a_table_that_has_changed_is_refused_and_nothing_written(
    capsys, table, tmp_path, change, message
):
    review = write_review(tmp_path / "r.csv", table, {1: "keep", 2: "change", 4: "drop"})
    write_rows(table, change(ROWS))
    there = sorted(tmp_path.iterdir())
    assert main(["apply", str(table), str(review), "--out", str(tmp_path / "clean.csv")]) == 1
    said = capsys.readouterr().err
    assert "has changed since the audit" in said
    assert message in said
    assert said.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == there


def test_rows_dropped_elsewhere_are_not_taken_for_those_of_the_review(table, tmp_path):
    review = write_review(tmp_path / "r.csv", table, {2: "drop"})
    write_rows(table, [ROWS[1], *ROWS[2:]])  # one row less, but not the one
    with pytest.raises(FileError, match="has changed since the audit"):
        apply_review(table, review, tmp_path / "clean.csv")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("change", "chnage", "the decision 'chnage' is none of keep, change and drop; did you"),
        ("no,yes,change", "no,no,change", "no other one is suggested"),
        ("no,yes,change", "no,yess,change", "the table has no label 'yess'; did you mean 'yes'"),
        ("decision", "verdict", "there is no column 'decision'"),
        ("2,yes", "1,yes", "row 1 stands there twice"),
        ("2,yes", "two,yes", "'two' is not the number of a row"),
        ("2,yes", "0,yes", "'0' is not the number of a row"),
        ("yes,,label", "yes,,other", "holds rows of several audits"),
        ("-", "", "is no fingerprint of an audit"),
    ],
)
def test_a_review_that_makes_no_sense_is_refused(table, tmp_path, old, new, message):
    review = write_review(tmp_path / "r.csv", table, {1: "change"})
    text = review.read_text()
    assert old in text
    review.write_text(text.replace(old, new, 1))
    with pytest.raises(FileError, match=message):
        apply_review(table, review, tmp_path / "clean.csv")
    assert not (tmp_path / "clean.csv").exists()


def test_truncated_and_foreign_files_are_refused_in_one_line(capsys, table, tmp_path):
    review = write_review(tmp_path / "r.csv", table, {1: "change"})
    cut = tmp_path / "cut.csv"
    cut.write_bytes(review.read_bytes()[:-30])
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes())[:-12])
    binary = tmp_path / "binary.csv"
    binary.write_bytes(bytes(range(256)))
    half = tmp_path / "half.parquet"
    half.write_bytes(b"PAR1 and no more")
    there = sorted(tmp_path.iterdir())
    pairs = [(table, one) for one in (cut, empty, binary, table, tmp_path, tmp_path / "no.csv")]
    pairs += [(one, review) for one in (empty, packed, binary, review, half, tmp_path / "no.csv")]
    for one, other in pairs:
        assert main(["apply", str(one), str(other), "--out", str(tmp_path / "clean.csv")]) == 1
        said = capsys.readouterr().err
        assert said.startswith("robell: ")
        assert said.count("\n") == 1
        assert sorted(tmp_path.iterdir()) == there


def odd_tables():
    """Yield every odd text file of the fuzz, its name and its bytes."""
    for name, data in (odd_files.TEXTS | odd_files.PACKED).items():
        yield name, data
    for name, cells in odd_files.CELLS.items():
        yield name, odd_files.table(cells=cells)
    for name, labels in odd_files.LABELS.items():
        yield name, odd_files.table(labels=labels)


def test_any_odd_file_as_table_or_review_is_one_line_or_a_result(capsys, table, tmp_path):
    review = write_review(tmp_path / "r.csv", table, {1: "change"})
    out = str(tmp_path / "clean.csv")
    n_applied = 0
    for name, data in odd_tables():
        odd = tmp_path / ("data.csv.gz" if data[:2] == b"\x1f\x8b" else "data.csv")
        odd.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "replace"))
        pairs = [(odd, review), (table, odd)]
        with contextlib.suppress(ValueError):  # its own review, where it can be read
            pairs.append((odd, write_review(tmp_path / "own.csv", odd, {2: "drop"}, target="y")))
        for one, other in pairs:
            status = main(["apply", str(one), str(other), "--out", out, "--force"])
            err = capsys.readouterr().err
            assert status == 0 or (status == 1 and err.count("\n") == 1), (name, err)
            n_applied += status == 0
    assert n_applied > 40


def test_outputs_follow_the_one_rule(capsys, table, tmp_path):
    review = write_review(tmp_path / "r.csv", table, {1: "change"})
    out = tmp_path / "clean.csv"
    arguments = ["apply", str(table), str(review), "--out"]
    assert main([*arguments, str(table)]) == 1
    assert main([*arguments, str(review)]) == 1
    assert main([*arguments, str(tmp_path / "t.parquet")]) == 1
    out.write_text("mine\n")
    assert main([*arguments, str(out)]) == 1
    assert out.read_text() == "mine\n"
    assert main([*arguments, str(out), "--force"]) == 0
    assert main([*arguments, str(out)]) == 0  # an earlier result, as its log says
    out.write_text(out.read_text() + "5,red,no\n")  # somebody went on with it
    assert main([*arguments, str(out)]) == 1
    assert "was not written by this command" in capsys.readouterr().err


def test_parquet_keeps_its_kinds_and_gzip_its_packing(table, tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2.0, np.nan, 4.0], "label": [0, 1, 0, 1]})
    frame.to_parquet(tmp_path / "t.parquet")
    decisions, new = {1: "change", 4: "drop"}, {1: "1", 4: "0"}
    review = write_review(tmp_path / "r.csv", tmp_path / "t.parquet", decisions, suggested=new)
    done = apply_review(tmp_path / "t.parquet", review, tmp_path / "clean.parquet")
    clean = pd.read_parquet(done.out)
    expected = frame.assign(label=[1, 1, 0, 1]).iloc[:3]
    pd.testing.assert_frame_equal(clean, expected)
    assert apply_review(done.out, review, tmp_path / "again.parquet").was_applied
    with pytest.raises(FileError, match=r"give \.parquet"):
        apply_review(tmp_path / "t.parquet", review, tmp_path / "clean.csv")

    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes()))
    review = write_review(tmp_path / "r2.csv", packed, {1: "change"})
    done = apply_review(packed, review, tmp_path / "clean.csv.gz")
    assert b"1.50,red,yes" in gzip.decompress(done.out.read_bytes())


def test_encodings_and_marks_are_kept(tmp_path):
    for encoding, text in (
        ("latin-1", "größe,label\n1,ja\n2,nö\n"),
        ("utf-8-sig", "a,b\n1,x\n2,y\n"),
    ):
        table = tmp_path / f"{encoding}.csv"
        table.write_bytes(text.encode(encoding))
        target = text.splitlines()[0].split(",")[1]
        options = {} if encoding == "utf-8-sig" else {"encoding": encoding}
        raw = read_table(table, target, **options)
        prints = fingerprints(raw, 1)
        labels = raw.columns[1].cells
        review = tmp_path / "r.csv"
        lines = ["row,given,suggested,decision,target,fingerprint"]
        lines += [f"1,{labels[0]},{labels[1]},change,{target},{prints[0]}"]
        review.write_text("\n".join(lines), encoding="utf-8")
        done = apply_review(table, review, tmp_path / f"{encoding}-clean.csv", **options)
        assert done.out.read_bytes() == text.replace(labels[0], labels[1]).encode(encoding)


def test_what_a_spreadsheet_does_to_a_review_does_no_harm(tmp_path):
    rows = [["1", "a", "TRUE"], ["2", "b", "false"], ["3", "c", "false"]]
    table = write_rows(tmp_path / "t.csv", rows)
    review = write_review(tmp_path / "r.csv", table, {1: "change"}, suggested={1: "FALSE"})
    text = review.read_text().replace("false", "FALSE").replace(",", ";")
    review.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    done = apply_review(table, review, tmp_path / "clean.csv")
    assert done.out.read_text().splitlines()[1] == "1,a,false"  # as the table spells it


def noisy_table(path, n=300):
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, n)
    flip = rng.random(n) < 0.1
    frame = pd.DataFrame(
        {
            "size": (rng.normal(size=n) + 4 * true).round(4),
            "weight": (rng.normal(size=n) - 4 * true).round(4),
            "label": np.array(["no", "yes"])[np.where(flip, 1 - true, true)],
        }
    )
    frame.to_csv(path, index=False)
    return flip


def test_the_whole_loop_and_the_next_audit_knows_what_was_reviewed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flip = noisy_table(tmp_path / "t.csv")
    first = audit("t.csv", "label")
    frame = first.to_frame()
    assert frame.columns[:5].tolist() == ["row", "line", "given", "suggested", "decision"]
    assert set(frame["decision"]) == {""}
    is_wrong = flip[frame["row"] - 1]
    assert is_wrong[frame["suspect"]].mean() > 0.8
    kept = ~is_wrong & (np.arange(len(frame)) < 40)
    frame.loc[is_wrong, "decision"], frame.loc[kept, "decision"] = "change", "keep"
    frame.loc[is_wrong, "suggested"] = np.where(frame["given"] == "no", "yes", "no")[is_wrong]
    frame.to_csv("reviewed.csv", index=False)
    assert main(["apply", "t.csv", "reviewed.csv", "--out", "clean.csv"]) == 0
    assert f"{flip.sum()} labels changed, 0 rows dropped, {kept.sum()} kept" in (
        capsys.readouterr().out
    )
    clean = pd.read_csv("clean.csv")
    assert (clean["label"] != pd.read_csv("t.csv")["label"]).to_numpy().tolist() == flip.tolist()

    again = audit("clean.csv", "label", reviewed="clean-review.csv")
    n_reviewed = int(flip.sum() + kept.sum())
    assert again.reviewed.sum() == n_reviewed
    assert not again.suspect[again.reviewed].any()
    assert (again.quality[again.reviewed] == 1).all()
    assert (again.to_frame().set_index("row")["decision"] == "keep").sum() == n_reviewed
    np.testing.assert_allclose(again.noise_matrix.sum(axis=1), 1)
    np.testing.assert_allclose(again.noise_rate, np.mean(1 - again.quality))
    # The command finds the log beside the table by itself.
    assert main(["audit", "clean.csv", "--target", "label"]) == 0
    assert f"{n_reviewed} rows were reviewed before" in capsys.readouterr().out
    with pytest.raises(FileError, match="is a review of the column 'label', not of 'size'"):
        audit("clean.csv", "size", reviewed="clean-review.csv")


@pytest.mark.parametrize("model", ["noise_robust", "rvfl"])
def test_a_fit_knows_the_review_that_an_audit_knows(capsys, tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    flip = noisy_table(tmp_path / "t.csv")
    frame = audit("t.csv", "label").to_frame()
    n_suspects = int(frame["suspect"].sum())
    looked = np.arange(len(frame)) < n_suspects - 8  # the suspects stand first; all but eight
    frame.loc[looked, "decision"] = np.where(flip[frame["row"] - 1], "change", "keep")[looked]
    frame.to_csv("reviewed.csv", index=False)
    assert main(["apply", "t.csv", "reviewed.csv", "--out", "t2.csv"]) == 0
    fit = ["fit", "t2.csv", "--target", "label", "--model", model, "--no-report", "--force"]
    capsys.readouterr()

    def said(*options):
        assert main([*fit, "--out", "m.skops", *options]) == 0
        return capsys.readouterr()

    again = audit("t2.csv", "label", reviewed="t2-review.csv")
    found = said()  # commands find the log beside the table by themselves
    assert f"{again.suspect.sum()} labels look wrong" in found.out
    assert f"{looked.sum()} labels reviewed before" in found.err
    assert said("--reviewed", "t2-review.csv").out == found.out
    # What was settled counts in all that is said of labels, and the model is the same.
    plain, known = (fit_table("t2.csv", "label", reviewed=r) for r in ((), "t2-review.csv"))
    np.testing.assert_allclose(known.noise_rate, again.noise_rate, rtol=1e-6)
    np.testing.assert_allclose(known.noise_matrix, again.noise_matrix, rtol=1e-6)
    scores = [r.model[-1].estimator_.decision_function(r.training.X) for r in (plain, known)]
    np.testing.assert_array_equal(*scores)
    with pytest.raises(FileError, match="is a review of the column 'label', not of 'size'"):
        fit_table("t2.csv", "size", reviewed="t2-review.csv")
    # The log is not of every target.
    assert main(["audit", "t2.csv", "--target", "size", "--json", "-"]) == 0
    assert '"rows_reviewed": 0' in capsys.readouterr().out


def test_a_fit_of_a_table_too_large_to_look_up_says_that_it_passes_over_the_review(
    tmp_path, monkeypatch
):
    noisy_table(tmp_path / "t.csv")
    frame = audit(tmp_path / "t.csv", "label").to_frame()
    frame.loc[0, "decision"] = "keep"
    frame.to_csv(tmp_path / "reviewed.csv", index=False)
    monkeypatch.setattr("robell.decisions.data.MAX_ROWS", 100)
    result = fit_table(tmp_path / "t.csv", "label", reviewed=tmp_path / "reviewed.csv")
    assert "the review was not used: the table has more than 100 rows" in result.notes


def test_a_result_prints_in_one_line(tmp_path):
    noisy_table(tmp_path / "t.csv")
    result = audit(tmp_path / "t.csv", "label")
    assert repr(result).startswith("<AuditResult of t.csv: Of 300 rows, ")
    assert len(repr(result)) < 250
    assert "\n" not in repr(result)


def test_a_sample_is_reviewed_row_by_row(tmp_path, monkeypatch):
    import robell.tables.read as sample

    monkeypatch.setattr(sample, "MAX_CELLS", 600)
    monkeypatch.setattr(sample, "LEAST_SAMPLE", 200)
    noisy_table(tmp_path / "t.csv")
    result = audit(tmp_path / "t.csv", "label")
    assert len(result.row) == 200
    frame = result.to_frame()
    frame.loc[:3, "decision"] = "drop"
    frame.to_csv(tmp_path / "r.csv", index=False)
    done = apply_review(tmp_path / "t.csv", tmp_path / "r.csv", tmp_path / "clean.csv")
    left = np.setdiff1d(np.arange(1, 301), frame["row"][:4])
    expected = pd.read_csv(tmp_path / "t.csv").iloc[left - 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_csv(done.out), expected)
    again = apply_review(done.out, tmp_path / "r.csv", tmp_path / "again.csv")
    assert again.was_applied
    with (tmp_path / "t.csv").open("a") as file:
        file.write("1,2,yes\n")
    with pytest.raises(FileError, match="has changed since the audit"):
        apply_review(tmp_path / "t.csv", tmp_path / "r.csv", tmp_path / "clean.csv")


def decisions_of(log):
    rows = csv.DictReader(log.read_text().splitlines())
    return {one["row"]: (one["given"], one["decision"], one["label"]) for one in rows}


def test_the_log_of_a_second_review_knows_the_first_and_how_labels_were_before_it(table, tmp_path):
    first = write_review(tmp_path / "r1.csv", table, {1: "change", 2: "change", 3: "keep"})
    once = apply_review(table, first, tmp_path / "once.csv")
    # Row 1 is confirmed as changed, row 2 changed back, row 4 dropped; nobody looks at row 3.
    second = write_review(tmp_path / "r2.csv", once.out, {1: "keep", 2: "change", 4: "drop"})
    twice = apply_review(once.out, second, tmp_path / "twice.csv")
    assert (twice.kept, twice.changed, twice.dropped) == (1, 1, 1)
    expected = {
        "1": ("no", "change", "yes"),
        "2": ("yes", "keep", "yes"),
        "3": ("no", "keep", "no"),
        "4": ("yes", "drop", ""),
    }
    assert decisions_of(twice.log) == expected
    again = apply_review(twice.out, second, tmp_path / "again.csv")
    assert again.was_applied
    assert decisions_of(again.log) == expected


def equal_rows(path):
    """Write forty rows of one kind, labelled no and yes in turn, and forty of another."""
    cells = [["1", "red"], ["2", "blue"]]
    rows = [[*cells[k >= 40], ("no", "yes")[k % 2]] for k in range(80)]
    return write_rows(path, rows)


def test_a_decision_about_one_of_equal_rows_says_nothing_of_the_others(tmp_path):
    """Two labels changed and one kept were 41 labels reviewed, 39 of them corrected."""
    table = equal_rows(tmp_path / "t.csv")
    decisions = {5: "change", 7: "drop", 9: "change", 13: "keep"}
    done = apply_review(
        table, write_review(tmp_path / "r.csv", table, decisions), tmp_path / "c.csv"
    )
    for judge in (audit, fit_table):
        again = judge(done.out, "label", reviewed=done.log)
        review = getattr(again, "evidence", getattr(again, "training", None)).reviewed
        assert np.flatnonzero(review.settled).tolist() == [4, 7, 11]  # one row before was dropped
        assert np.flatnonzero(review.corrected).tolist() == [4, 7]
    unchanged = audit(table, "label", reviewed=tmp_path / "r.csv")  # not applied
    assert unchanged.row[unchanged.reviewed].tolist() == [13]
    assert unchanged.n_corrected == 0
    # In another order nobody can tell which of the equal rows it was, and how many still.
    rows = [line.split(",") for line in done.out.read_text().split()[1:]]
    turned = write_rows(tmp_path / "turned.csv", rows[::-1])
    again = audit(turned, "label", reviewed=done.log)
    assert (again.reviewed.sum(), again.n_corrected) == (3, 2)


def test_the_log_of_a_second_review_tells_equal_rows_apart(tmp_path):
    table = equal_rows(tmp_path / "t.csv")
    first = write_review(tmp_path / "r1.csv", table, {1: "drop", 3: "change", 5: "keep", 7: "keep"})
    once = apply_review(table, first, tmp_path / "once.csv")
    second = write_review(tmp_path / "r2.csv", once.out, {3: "change", 9: "drop", 11: "change"})
    twice = apply_review(once.out, second, tmp_path / "twice.csv")
    assert decisions_of(twice.log) == {
        "2": ("no", "change", "yes"),
        "3": ("yes", "change", "no"),
        "4": ("no", "keep", "no"),
        "6": ("no", "keep", "no"),
        "9": ("yes", "drop", ""),
        "11": ("yes", "change", "no"),
    }
