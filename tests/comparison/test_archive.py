"""Archives of comparisons: run again to the bit, read as data, refused where they are wrong."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest
from own_models import blobs, make_bayes
from sklearn.naive_bayes import GaussianNB

from robell import compare
from robell.cli.main import main
from robell.comparison.archive import (
    EQUAL,
    NOT_RUN,
    OTHER,
    ROUNDED,
    _verdict,
    read_archive,
    run_again,
)
from robell.comparison.store import StudyError

pytestmark = pytest.mark.usefixtures("jobs_here")
COPIES = ("tables", "code")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return the archive of two tables and three models, one of them a user's."""
    folder = tmp_path_factory.mktemp("archive")
    data = folder / "data"
    data.mkdir()
    for name, seed in (("a", 0), ("b", 1)):
        blobs(name, seed=seed).to_csv(data / f"{name}.csv", index=False)
    compare(
        data,
        {"rvfl": "rvfl", "logistic": "logistic", "mine": make_bayes},
        target="label",
        protocol="holdout",
        noise=[0, 20],
        out=folder / "out",
        archive=folder / "study.zip",
        archive_copies=COPIES,
    )
    return folder / "study.zip"


def rewritten(study, folder, **changes):
    """Return a copy of an archive with other contents of some files; None leaves one out."""
    path = folder / "changed.zip"
    with zipfile.ZipFile(study) as old, zipfile.ZipFile(path, "w") as new:
        parts = {name: old.read(name) for name in old.namelist()}
        parts |= changes
        for name, content in parts.items():
            if content is not None:
                new.writestr(name, content, zipfile.ZIP_DEFLATED)
    return path


def description(study, **changes):
    return json.dumps(read_archive(study).about | changes).encode()


@pytest.mark.usefixtures("jobs_in_processes")  # other ones than those it was made in
def test_every_score_is_equal_to_the_bit_with_their_code(study, tmp_path):
    found = run_again(study, out=tmp_path, run_their_code=True)
    assert set(found.agreement.values()) == {EQUAL}
    assert len(found.agreement) == 12
    assert found.agrees
    assert found.remarks == ()
    lines = (tmp_path / "agreement.csv").read_text().splitlines()
    assert len(lines) == 13
    assert all(line.startswith("equal to the bit,") for line in lines[1:])


def test_without_it_their_models_are_left_out_and_said(study, tmp_path, capsys):
    out = str(tmp_path / "again")
    assert main(["reproduce", str(study), "--out", out, "--jobs", "1", "--quiet"]) == 3
    told = capsys.readouterr()
    assert "mine: made by code of the archive; --run-their-code runs it" in told.err
    assert "8 equal to the bit, 0 within rounding, 0 not equal, 4 not run again" in told.out


def test_no_pickle_is_opened_unless_their_code_is_run(study, tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path / "sprung").write_text, ("ran",)

    import pickle

    path = rewritten(study, tmp_path, **{"code/2.pkl": pickle.dumps(Trap())})
    run_again(path, out=tmp_path / "out")
    assert not (tmp_path / "sprung").exists()


def test_tables_are_found_by_their_fingerprints_where_no_copy_is_there(study, tmp_path):
    path = rewritten(study, tmp_path, **{"tables/0.npz": None, "tables/1.npz": None})
    with pytest.raises(StudyError, match="a: no copy is in the archive; --data-dir"):
        run_again(path, out=tmp_path / "none")
    found = run_again(path, out=tmp_path / "out", data_dir=study.parent / "data")
    assert list(found.agreement.values()).count(EQUAL) == 8
    (tmp_path / "other").mkdir()
    blobs("a", seed=7).to_csv(tmp_path / "other" / "a.csv", index=False)
    (tmp_path / "other" / "b.csv").write_text((study.parent / "data" / "b.csv").read_text())
    found = run_again(path, out=tmp_path / "out2", data_dir=tmp_path / "other")
    assert any("a: other rows than the archive's" in text for text in found.remarks)
    assert list(found.agreement.values()).count(NOT_RUN) == 8


def test_the_same_study_is_the_same_file_and_holds_its_records_alone(study, tmp_path):
    with zipfile.ZipFile(study) as archive:
        names = set(archive.namelist())
    expected = {"archive.json", "records.jsonl", "tables/0.npz", "tables/1.npz", "code/2.pkl"}
    assert expected <= names
    assert "sources/own_models.py" in names
    data = study.parent / "data"
    options = {"target": "label", "protocol": "holdout", "out": study.parent / "out"}
    for name in ("x.zip", "y.zip"):
        compare(data, ["rvfl"], archive=tmp_path / name, **options)
    assert (tmp_path / "x.zip").read_bytes() == (tmp_path / "y.zip").read_bytes()
    assert len(read_archive(tmp_path / "x.zip").records) == 2  # of twelve in the folder


def changed_record(study):
    text = read_archive(study).parts["records.jsonl"]
    return text.replace(b'"accuracy": 0.', b'"accuracy": 0.1', 1)


def with_a_score_of_text(study):
    first, *others = read_archive(study).parts["records.jsonl"].splitlines()
    record = {key: value for key, value in json.loads(first).items() if key != "check"}
    record["outcome"]["metrics"]["accuracy"] = "high"
    records = b"\n".join([json.dumps(record).encode(), *others]) + b"\n"
    about = description(study, records=hashlib.sha256(records).hexdigest())
    return {"records.jsonl": records, "archive.json": about}


def inner(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (lambda s: {"archive.json": b"{}"}, "not an archive of a comparison"),
        (lambda s: {"archive.json": b"[" * 100_000}, "not an archive of a comparison"),
        (lambda s: {"archive.json": description(s, format=2)}, "of archive format 2"),
        (lambda s: {"archive.json": description(s, models=3)}, "not an archive of a comparison"),
        (lambda s: {"archive.json": description(
            s, settings={"protocol": "holdout", "levels": [0], "repeats": 10**9})},
         "fewer records than its description asks for"),
        (lambda s: {"archive.json": description(s, versions=[1])}, "not an archive of a comp"),
        (lambda s: {"archive.json": description(s, reading={"target": 5})}, "another shape"),
        (lambda s: {"archive.json": description(s, reading={"drop": 3})}, "not an archive of"),
        (lambda s: {"archive.json": description(s, time_limit=-1)}, "another shape"),
        (lambda s: {"archive.json": description(
            s, settings={"protocol": "holdout", "levels": [200], "repeats": 1})}, "another shape"),
        (with_a_score_of_text, "a score is no number"),
        (lambda s: {"records.jsonl": changed_record(s)}, "records have been changed"),
        (lambda s: {"../outside.txt": b"x"}, "'../outside.txt', which no archive"),
        (lambda s: {"/etc/passwd": b"x"}, "which no archive of a study holds"),
        (lambda s: {"tables/0.npz": b"no table"}, "copy of 'a' cannot be read"),
        (lambda s: {"tables/0.npz": inner(X=np.array([{}]), y=[0], labels=["a"], about="{}")},
         "copy of 'a' cannot be read"),
    ],
)  # fmt: skip
def test_an_archive_that_is_wrong_is_refused_in_one_line(study, tmp_path, changes, message):
    path = rewritten(study, tmp_path, **changes(study))
    with pytest.raises(StudyError, match=message) as error:
        run_again(path, out=tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "outside.txt").exists()


def test_sizes_are_checked_before_bytes(study, tmp_path):
    path = rewritten(study, tmp_path, **{"sources/zeros.py": b"0" * 3_000_000})
    assert path.stat().st_size < 400_000
    with pytest.raises(StudyError, match="would take 3 MiB unpacked, more than the 1 MiB"):
        read_archive(path, most=1 << 20)
    (tmp_path / "half.zip").write_bytes(study.read_bytes()[:3000])
    with pytest.raises(StudyError, match="not an archive of a study, or damaged"):
        read_archive(tmp_path / "half.zip")
    with pytest.raises(StudyError, match="there is no such file"):
        read_archive(tmp_path / "none.zip")


def test_scores_are_held_against_each_other():
    def job(*values, status="done"):
        return {"status": status, "outcome": {"metrics": dict(enumerate(values))}}

    assert _verdict(job(0.5, 0.7), job(0.5, 0.7)) == EQUAL
    assert _verdict(job(0.5, 0.7), job(0.5, 0.7 + 1e-12)) == ROUNDED
    assert _verdict(job(0.5, 0.7), job(0.5, 0.71)) == OTHER
    assert _verdict(job(0.5), job(status="failed")) == OTHER
    assert _verdict(job(status="failed"), {"status": "failed"}) == EQUAL
    assert _verdict(job(0.5), None) == NOT_RUN
    assert _verdict(job(0.5, np.nan), job(0.5 + 1e-12, 0.7)) == OTHER
    assert _verdict(job("a score"), job(0.5)) == OTHER
    assert _verdict({"status": "done", "outcome": {"metrics": None}}, job(0.5)) == OTHER


def test_what_to_archive_is_checked_before_anything_runs(tmp_path):
    data, options = {"x": blobs("x")}, {"target": "label", "out": tmp_path / "out"}
    with pytest.raises(StudyError, match="tables and code; got 'rows'"):
        compare(data, ["rvfl"], archive=tmp_path / "a.zip", archive_copies=["rows"], **options)
    with pytest.raises(StudyError, match="give archive, its file"):
        compare(data, ["rvfl"], archive_copies=["tables"], **options)
    assert not (tmp_path / "out").exists()
    compare(data, [GaussianNB()], repeats=1, archive=tmp_path / "a.zip", **options)
    with pytest.raises(StudyError, match="by code that is not in the archive"):
        run_again(tmp_path / "a.zip", out=tmp_path / "again")


def test_tables_are_read_again_as_they_were(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    blobs("a").to_csv(data / "a.csv", index=False, sep="|", encoding="utf-16")
    text = {"target": "label", "encoding": "utf-16", "delimiter": "|", "protocol": "holdout"}
    compare(data, ["elm"], out=tmp_path / "out", archive=tmp_path / "a.zip", **text)
    found = run_again(tmp_path / "a.zip", out=tmp_path / "again", data_dir=data)
    assert set(found.agreement.values()) == {EQUAL}


def test_no_other_file_is_replaced_by_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
    kept = (tmp_path / "book.xlsx").read_bytes()
    with pytest.raises(StudyError, match="is there already and is no archive; give another name"):
        compare(
            {"x": blobs("x")},
            ["elm"],
            target="label",
            out=tmp_path / "out",
            archive=tmp_path / "book.xlsx",
        )
    assert (tmp_path / "book.xlsx").read_bytes() == kept
