"""Suspects to Label Studio's and Argilla's JSON, and decisions from there: a round trip."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from robell import (
    apply_review,
    audit,
    check_labels,
    to_argilla,
    to_label_studio,
    write_review,
)
from robell._tools.files import FileError

RNG = np.random.default_rng(0)
RIGHT = RNG.permutation(np.repeat(["ham", "spam"], 150)).astype(object)
MEANS = np.where(RIGHT == "spam", 5.0, 0.0)
FRAME = pd.DataFrame({"size": RNG.normal(MEANS).round(3), "links": RNG.normal(MEANS).round(3)})
IS_WRONG = np.arange(300) % 12 == 3
FRAME["label"] = np.where(IS_WRONG, np.where(RIGHT == "ham", "spam", "ham"), RIGHT)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Return the path of a table, and its audit."""
    path = tmp_path_factory.mktemp("audited") / "mails.csv"
    FRAME.to_csv(path, index=False)
    return path, audit(path, "label")


def _answered(entries, kind, answers):
    for entry, answer in zip(entries, answers, strict=True):
        if answer is None:
            continue
        if kind == "argilla":
            entry["responses"] = {"label": [{"value": answer, "user_id": "ann"}]}
        else:
            chosen = {"from_name": "label", "to_name": "row", "type": "choices"}
            chosen["value"] = {"choices": [answer]}
            entry["annotations"] = [{"result": [chosen], "was_cancelled": False}]
    return entries


@pytest.mark.parametrize("kind", ["label studio", "argilla"])
def test_a_round_trip(audited, tmp_path, kind):
    path, result = audited
    entries = (to_argilla if kind == "argilla" else to_label_studio)(result)
    assert len(entries) == result.suspect.sum() >= 4
    keys = [entry.get("data", entry.get("metadata")) for entry in entries]
    answers = [RIGHT[key["row"] - 1] for key in keys]
    answers[-1] = None
    file = tmp_path / "export.json"
    file.write_text(json.dumps(_answered(json.loads(json.dumps(entries)), kind, answers)))
    review = write_review(file, tmp_path / "reviewed.csv")
    done = apply_review(path, review, tmp_path / "clean.csv")
    assert done.undecided == 1
    clean = pd.read_csv(tmp_path / "clean.csv")["label"].to_numpy()
    for key in keys[:-1]:
        assert clean[key["row"] - 1] == RIGHT[key["row"] - 1]
    with pytest.raises(FileError, match="is there already"):
        write_review(file, review)


@pytest.mark.parametrize(("given", "answer"), [("2.0", "2"), ("Ham", "ham ")])
def test_the_given_label_in_another_spelling_keeps_the_row(audited, tmp_path, given, answer):
    entry = to_argilla(audited[1])[0]
    entry["metadata"]["given"] = given
    review = write_review(_answered([entry], "argilla", [answer]), tmp_path / "reviewed.csv")
    assert pd.read_csv(review)["decision"].tolist() == ["keep"]


def test_a_frame_is_no_review_yet_and_none_is_no_review(audited):
    with pytest.raises(FileError, match="write_review makes one of a frame"):
        audit(FRAME, "label", reviewed=audited[1].to_frame())
    assert not audit(FRAME, "label", reviewed=None).reviewed.any()


def test_no_decision_of_a_large_frame_is_lost(audited, tmp_path, monkeypatch):
    """Of a frame of more than ten million cells a sample of the decisions was written."""
    frame = audited[1].to_frame()
    frame = pd.concat([frame.assign(decision="keep")] * 20).reset_index(drop=True)
    frame["row"] = np.arange(len(frame)) + 1
    monkeypatch.setattr("robell.tables.read.MAX_CELLS", 7 * len(frame))
    assert frame.shape[1] > 7
    written = write_review(frame, tmp_path / "r.csv").read_text(encoding="utf-8")
    assert len(written.splitlines()) == len(frame) + 1


def test_a_row_is_dropped_and_people_must_agree(audited, tmp_path):
    path, result = audited
    records = _answered(to_argilla(result), "argilla", ["drop"] * int(result.suspect.sum()))
    done = apply_review(path, write_review(records, tmp_path / "r.csv"), tmp_path / "clean.csv")
    assert done.dropped == result.suspect.sum()
    records[0]["responses"]["label"].append({"value": "ham", "user_id": "bob"})
    with pytest.raises(FileError, match="was answered 'drop' and 'ham': agree"):
        write_review(records, tmp_path / "s.csv")
    assert not (tmp_path / "s.csv").exists()


def test_what_nobody_has_submitted_is_no_answer_and_two_choices_are_not_one(audited, tmp_path):
    path, result = audited
    records = to_argilla(result)
    given = records[0]["metadata"]["given"]
    no_answers = [
        {"value": None, "user_id": "ann"},
        {"value": "ham", "user_id": "ann", "status": "draft"},
        {"value": "spam", "user_id": "bob", "status": "discarded"},
    ]
    for record in records:
        record["responses"] = {"label": no_answers}
    records[0]["responses"] = {"label": [*no_answers, {"value": given, "status": "submitted"}]}
    done = apply_review(path, write_review(records, tmp_path / "r.csv"), tmp_path / "clean.csv")
    assert (done.kept, done.changed, done.undecided) == (1, 0, len(records) - 1)
    tasks = to_label_studio(result)
    both = {"from_name": "label", "value": {"choices": ["ham", "spam"]}}
    tasks[0]["annotations"] = [{"result": [both]}]
    with pytest.raises(FileError, match="was answered 'ham' and 'spam': agree on one"):
        write_review(tasks, tmp_path / "s.csv")


@pytest.mark.parametrize("library", [lambda frame: frame, pl.from_pandas])
def test_a_frame_is_a_review(audited, tmp_path, library):
    path, result = audited
    frame = result.to_frame()[["row", "given", "suggested", "decision", "target", "fingerprint"]]
    frame["decision"] = np.where(result.suspect[result.order], "change", "")
    done = apply_review(path, write_review(library(frame), tmp_path / "r.csv"), tmp_path / "c.csv")
    assert done.changed == result.suspect.sum()


def test_a_frame_of_any_types_is_a_review_and_one_read_from_the_audit_s_file_too(tmp_path):
    path = tmp_path / "mails.csv"
    FRAME.assign(label=FRAME["label"].map({"ham": "=1+1", "spam": "-"})).to_csv(path, index=False)
    result = audit(path, "label", out=tmp_path)
    frame = result.to_frame()
    frame["decision"] = np.where(frame["suspect"], "change", None)
    read = pd.read_csv(result.csv, dtype_backend="pyarrow").assign(decision="change")
    n_suspects = int(result.suspect.sum())
    for one in (frame, frame.convert_dtypes(), read, pl.from_pandas(frame), pl.from_pandas(read)):
        review = write_review(one, tmp_path / "reviewed.csv", replace=True)
        done = apply_review(path, review, tmp_path / "clean.csv")
        assert (done.changed, done.kept, done.dropped) == (n_suspects, 0, 0)
        assert set(pd.read_csv(done.out)["label"]) == {"=1+1", "-"}


@pytest.mark.parametrize("export", [to_label_studio, to_argilla])
def test_a_label_that_would_drop_rows_is_refused(export):
    frame = FRAME.assign(label=FRAME["label"].replace("spam", "drop"))
    with pytest.raises(FileError, match="has a label 'drop', by which these tools leave a row out"):
        export(audit(frame, "label"))


@pytest.mark.parametrize(
    ("decisions", "problem"),
    [
        ([], "holds no list of tasks or records"),
        ([{"data": {"text": "x"}}], "entry 1: is no task or record of an audit"),
        (pd.DataFrame({"row": [1]}), "the frame has no column 'target'"),
    ],
)
def test_what_is_no_decision(tmp_path, decisions, problem):
    with pytest.raises(FileError, match=problem):
        write_review(decisions, tmp_path / "r.csv")


def test_nonsense_names_the_entry(audited, tmp_path):
    tasks = to_label_studio(audited[1])
    tasks[0]["annotations"] = [{"result": [{"from_name": "label", "value": {}}]}]
    with pytest.raises(FileError, match="entry 1: its answer is not written as a choice is"):
        write_review(tasks, tmp_path / "r.csv")
    tasks = to_label_studio(audited[1])
    tasks[0]["data"]["fingerprint"] = "nonsense"
    with pytest.raises(FileError, match="is no fingerprint of an audit"):
        write_review(tasks, tmp_path / "r.csv")
    assert not (tmp_path / "r.csv").exists()


def test_a_check_of_a_report():
    X, y = FRAME[["size", "links"]].to_numpy(), FRAME["label"].to_numpy()
    assert check_labels(SimpleNamespace(X_train=X, y_train=RIGHT)) is None
    assert "of 300 training labels" in check_labels(SimpleNamespace(X_train=X, y_train=y))
    with pytest.raises(ValueError, match="X_train and y_train are needed"):
        check_labels(SimpleNamespace(X_train=None))


def test_records_of_equal_rows_have_ids_of_their_own():
    """Argilla keeps one record of an id: of equal suspects only the last was asked about."""
    frame = pd.concat([FRAME, FRAME[IS_WRONG]], ignore_index=True)
    records = to_argilla(audit(frame, "label"))
    assert len({record["metadata"]["fingerprint"] for record in records}) < len(records)
    assert len({record["id"] for record in records}) == len(records)
