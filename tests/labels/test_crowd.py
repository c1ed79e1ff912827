"""Tables that several annotators have labelled, side by side and one label a line."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from robell import audit_annotators, find_consensus
from robell.cli.main import main

NAMES = ["ann", "bob", "cyd"]


def crowd_frame(n=300, seed=0):
    """Two columns, three annotators right in .95, .8 and .6 of the rows, each labelling most."""
    rng = np.random.default_rng(seed)
    truth = np.array(["no", "yes"])[rng.integers(2, size=n)]
    frame = pd.DataFrame(rng.normal(0, 1, (n, 2)) + 2.0 * (truth == "yes")[:, None])
    frame.columns = ["a", "b"]
    other = np.where(truth == "no", "yes", "no")
    for name, right in zip(NAMES, (0.95, 0.8, 0.6), strict=True):
        given = np.where(rng.random(n) < right, truth, other).astype(object)
        given[rng.random(n) < 0.3] = None
        frame[name] = given
    return frame, truth


@pytest.fixture(scope="module")
def crowd():
    return crowd_frame()


@pytest.fixture
def crowd_csv(crowd, tmp_path):
    path = tmp_path / "photos.csv"
    crowd[0].to_csv(path, index=False)
    return path


def long_of(frame):
    """The same labels, one a line."""
    lines = [
        (f"p{k}", name, label, frame["a"][k])
        for k in range(len(frame))
        for name in NAMES
        if (label := frame[name][k]) is not None
    ]
    return pd.DataFrame(lines, columns=["photo", "who", "answer", "a"])


def test_the_consensus_is_mostly_right_and_annotators_are_ranked(crowd):
    frame, truth = crowd
    result = audit_annotators(frame, NAMES)
    found = result.consensus
    assert (found.label == truth).mean() > 0.92
    assert found.annotator.tolist() == NAMES
    right = [(frame[name] == truth)[frame[name].notna()].mean() for name in NAMES]
    assert found.annotator_quality == pytest.approx(right, abs=0.08)
    assert result.used == ("a", "b")
    assert len(result.row) == len(frame)
    assert result.votes.sum() == len(found.given_label) == frame[NAMES].notna().sum().sum()
    assert result.known.all()


def test_side_by_side_one_a_line_and_the_function_agree_without_columns(crowd):
    frame, _ = crowd
    labelled = frame[frame[NAMES].notna().any(axis=1)].reset_index(drop=True)
    wide = audit_annotators(labelled[NAMES], NAMES).consensus
    long = audit_annotators(long_of(labelled), long_form=("photo", "who", "answer"), drop="a")
    direct = find_consensus(labelled[NAMES])
    np.testing.assert_allclose(wide.probability, direct.probability, atol=1e-9)
    np.testing.assert_allclose(wide.probability, long.consensus.probability, atol=1e-9)
    assert long.key[:2] == ("p0", "p1")
    assert long.used == ()


def test_columns_of_the_long_form_describe_rows(crowd):
    frame, _ = crowd
    long = long_of(frame)
    assert audit_annotators(long, long_form=("photo", "who", "answer")).used == ("a",)
    long["seconds"] = np.arange(len(long)) % 7  # differs between lines of a row
    result = audit_annotators(long, long_form=("photo", "who", "answer"))
    assert result.used == ("a",)
    note = next(note for note in result.columns if note.name == "seconds")
    assert "differs between lines of the same row, such as 'p" in note.done


def test_an_annotator_with_two_labels_for_a_row_is_one_line(crowd):
    long = long_of(crowd[0])
    twice = long.iloc[[0]].copy()
    assert len(audit_annotators(pd.concat([long, twice]), long_form=("photo", "who", "answer")).row)
    twice["answer"] = "yes" if twice["answer"].item() == "no" else "no"
    with pytest.raises(ValueError, match=r"gave 'p0' two labels, '\w+' \(row 1\) and '\w+' \(row"):
        audit_annotators(pd.concat([long, twice]), long_form=("photo", "who", "answer"))


def test_an_annotator_with_one_label_is_average(crowd):
    frame = crowd[0].copy()
    frame["dan"] = None
    frame.loc[4, "dan"] = "yes"
    result = audit_annotators(frame, [*NAMES, "dan"])
    quality = result.consensus.annotator_quality
    assert quality[:3].min() < quality[3] < quality[:3].max()
    text = "\n".join(result.summary()["annotators"])
    assert "dan" in text


def test_labels_without_overlap_and_columns_tell_nothing_and_that_is_said(crowd, tmp_path, capsys):
    frame = crowd[0][NAMES].copy()
    for k in range(len(frame)):
        frame.loc[k, [name for j, name in enumerate(NAMES) if j != k % 3]] = None
    path = tmp_path / "apart.csv"
    frame.dropna(how="all").to_csv(path, index=False)
    assert main(["audit", str(path), "--annotators", *NAMES, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "too few of them twice to tell who is right" in said.out
    assert "who is right cannot be told" in said.err
    assert "who is right cannot be told" in (tmp_path / "apart-audit.html").read_text()


def test_the_command_writes_page_table_and_summary(crowd, crowd_csv, tmp_path, capsys):
    out = tmp_path / "found.json"
    arguments = ["audit", str(crowd_csv), "--annotators", *NAMES, "--json", str(out)]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert "'ann' is right most often" in capsys.readouterr().out
    found = json.loads(out.read_text())
    assert list(found["annotators"]) == NAMES
    assert len(found["label_next"]) == 100
    assert found["label_next"][0]["gain"] >= found["label_next"][-1]["gain"]
    with (tmp_path / "photos-audit.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(crowd[0])
    qualities = [float(row["quality"]) for row in rows]
    assert qualities == sorted(qualities)
    assert {row["consensus"] for row in rows} == {"no", "yes"}
    asked = {row["row"]: row["ask next"] for row in rows}
    for k in range(len(crowd[0])):  # nobody is asked twice, and whoever has labelled all is not
        if asked[str(k + 1)]:
            assert crowd[0][asked[str(k + 1)]].isna()[k]
    page = (tmp_path / "photos-audit.html").read_text()
    for section in ("annotators", "next", "doubtful", "limits"):
        assert f'id="{section}"' in page
    assert main([*arguments, "--out", str(tmp_path)]) == 0  # its own files are replaced


def test_the_long_form_as_a_command(crowd, tmp_path, capsys):
    path = tmp_path / "crowd.csv"
    long_of(crowd[0]).to_csv(path, index=False)
    arguments = ["audit", str(path), "--long-form", "photo", "who", "answer", "--json", "-"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["columns_used"] == ["a"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--annotators", "ann"], "at least two annotators are needed"),
        (["--annotators", "ann", "bbo"], "no column 'bbo'; did you mean 'bob'"),
        (["--annotators", "ann", "bob", "--group", "a"], "--group goes with --target"),
        (["--annotators", "ann", "bob", "--fail-above", "5%"], "--fail-above goes with --target"),
        (["--annotators", "a", "b"], "looks continuous"),
        (["--long-form", "ann", "ann", "bob"], "three different columns"),
    ],
)
def test_wrong_options_are_one_line(crowd_csv, capsys, arguments, message):
    assert main(["audit", str(crowd_csv), *arguments]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_column_that_repeats_an_annotator_is_left_out(crowd):
    frame, _ = crowd
    result = audit_annotators(frame.assign(final=frame["cyd"]), NAMES)
    assert result.leaks == ("final",)
    assert result.used == ("a", "b")


def test_too_little_is_refused(crowd):
    frame, _ = crowd
    with pytest.raises(ValueError, match="'ann' holds labels to be compared"):
        audit_annotators(frame, NAMES, drop=["ann"])
    with pytest.raises(ValueError, match="at least two annotators"):
        audit_annotators(frame, [])
    with pytest.raises(ValueError, match="at least 30 are needed"):
        audit_annotators(frame.head(20), NAMES)
    with pytest.raises(ValueError, match="column 'dan' holds no label"):
        audit_annotators(frame.assign(dan=None), [*NAMES, "dan"])
    with pytest.raises(ValueError, match="is constant"):
        audit_annotators(frame.assign(ann="no", bob="no"), ["ann", "bob"])
    with pytest.raises(ValueError, match="one of the two"):
        audit_annotators(frame)
