"""What commands write and where: nothing of others is replaced, nothing half-written stays."""

import csv
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("skops")

from odd_files import table

import robell
from robell.cli import main
from robell.files import FileError, load_model

FIT = ("--target", "y", "--param", "n_hidden=5", "--quiet")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text(table(), encoding="utf-8")
    return tmp_path


@pytest.fixture
def model(here):
    assert main(["fit", "good.csv", *FIT, "--out", "model.skops"]) == 0
    return here / "model.skops"


def refused(capsys, *arguments):
    """Run a command that must fail; return its one line."""
    capsys.readouterr()
    assert main(list(arguments)) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


# -- files that are there --------------------------------------------------------------


def test_a_file_of_somebody_else_is_replaced_by_force_only(capsys, model, here):
    notes = here / "notes.csv"
    commands = (
        ["fit", "good.csv", *FIT, "--out", "notes.csv"],
        ["predict", "model.skops", "good.csv", "--out", "notes.csv", "--quiet"],
    )
    for command in commands:
        notes.write_text("a year of work\n")
        assert "was not written by this command" in refused(capsys, *command)
        assert notes.read_text() == "a year of work\n"
        assert main([*command, "--force"]) == 0
        assert notes.read_bytes()[:4] != b"a ye"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_an_earlier_result_is_replaced(model, name):
    for _ in range(2):
        assert main(["predict", "model.skops", "good.csv", "--out", name, "--quiet"]) == 0
        assert main(["fit", "good.csv", *FIT, "--out", "model.skops"]) == 0


def test_the_audit_replaces_earlier_audits_only(capsys, here):
    command = ["audit", "good.csv", "--target", "y", "--out", "mine", "--quiet"]
    assert main(command) == 0
    assert main(command) == 0
    (here / "mine-audit.html").write_text("<p>another page")
    assert "was not written by this command" in refused(capsys, *command)
    assert (here / "mine-audit.html").read_text() == "<p>another page"


def test_a_read_only_file_is_respected(capsys, model):
    model.chmod(0o444)
    before = model.read_bytes()
    assert "is read-only" in refused(capsys, "fit", "good.csv", *FIT, "--out", "model.skops")
    assert model.read_bytes() == before


def test_page_and_table_of_an_audit_come_together(capsys, here, monkeypatch):
    write = Path.write_text

    def full(path, text, **how):
        if text.startswith("<!DOCTYPE"):
            raise OSError(28, "No space left on device")
        return write(path, text, **how)

    monkeypatch.setattr(Path, "write_text", full)
    assert "no space" in refused(capsys, "audit", "good.csv", "--target", "y", "--quiet")
    assert [path.name for path in here.iterdir()] == ["good.csv"]


# -- labels ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [("01234", "98765"), ("01", "1"), ("1e3", "1000"), ("1_0", "10"), ("١", "1"), ("+1", "1"),
     (str(2**53), str(2**53 + 1)), (str(2**63), str(2**63 + 1)), ("1", "1.0"), ("inf", "x"),
     ("7", "8"), ("0.0", "1.0"), ("True", "true")],
)  # fmt: skip
def test_labels_come_back_as_they_were_written(here, labels):
    (here / "t.csv").write_text(table(labels), encoding="utf-8")
    assert main(["fit", "t.csv", *FIT, "--out", "m.skops"]) == 0
    assert main(["predict", "m.skops", "t.csv", "--out", "p.csv", "--quiet"]) == 0
    with (here / "p.csv").open(encoding="utf-8", newline="") as file:
        predicted = {row[0] for row in list(csv.reader(file))[1:]}
    assert predicted == set(labels)


def test_the_audit_merges_no_labels_either(here):
    from robell import audit

    for labels in ((str(2**53), str(2**53 + 1)), ("01", "1"), ("1e3", "1000")):
        (here / "t.csv").write_text(table(labels), encoding="utf-8")
        assert set(audit(here / "t.csv", "y").classes) == set(labels)
    (here / "t.csv").write_text(table(("1", "1.0", "2")), encoding="utf-8")
    assert len(audit(here / "t.csv", "y").classes) == 2


def test_predictions_hold_no_formula(here):
    (here / "t.csv").write_text(table(("=cmd|' /C calc'!A0", "ok")), encoding="utf-8")
    main(["fit", "t.csv", *FIT, "--out", "m.skops"])
    main(["predict", "m.skops", "t.csv", "--out", "p.csv", "--quiet"])
    text = (here / "p.csv").read_text(encoding="utf-8")
    assert "\"'=cmd" in text
    assert '"=cmd' not in text


def test_labels_reach_the_terminal_without_escape_sequences(capsys, here):
    (here / "t.csv").write_text(table(("\x1b[31mred", "plain")), encoding="utf-8")
    assert main(["fit", "t.csv", *FIT[:-1], "--out", "m.skops"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    (here / "t.csv").write_text(table(cells=lambda k, plain: "\x1b[2J"), encoding="utf-8")
    assert "\x1b" not in refused(capsys, "fit", "t.csv", *FIT, "--out", "m.skops")


# -- model files -----------------------------------------------------------------------


def test_a_model_file_that_unpacks_to_too_much_is_refused_unread(model):
    with zipfile.ZipFile(model, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("more.npy", bytes(100 << 20))
    assert model.stat().st_size < 1 << 20
    with pytest.raises(FileError, match="unpacks to 100 MiB"):
        load_model(model, "150MiB")


# -- streams and signals ---------------------------------------------------------------


def command(*arguments, **variables):
    line = [sys.executable, "-m", "robell.cli", *arguments]
    env = os.environ | {"PYTHONPATH": str(Path(robell.__file__).parents[1])} | variables
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def test_output_that_the_encoding_cannot_hold(here):
    (here / "t.csv").write_text(table(("日本", "ok")), encoding="utf-8")
    options = (*FIT[:-1], "--out", "m.skops")
    fit = command("fit", "t.csv", *options, PYTHONIOENCODING="cp1252")
    out, err = fit.communicate()
    assert (fit.returncode, err) == (0, b"")
    assert rb"\u65e5" in out


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_nothing_half_written(model, here, which):
    (here / "big.csv").write_text(table(n_rows=200_000), encoding="utf-8")
    before = sorted(path.name for path in here.iterdir())
    predict = command("predict", "model.skops", "big.csv", "--out", "p.csv", "--proba")
    deadline = time.monotonic() + 60
    while not list(here.glob(".p.csv.*")) and time.monotonic() < deadline:
        time.sleep(0.002)
    predict.send_signal(which)
    _, err = predict.communicate()
    if predict.returncode == 0:  # it was quicker
        before.append("p.csv")
    else:
        assert predict.returncode == 130
        assert err.endswith(b"robell: stopped; nothing was written\n")
    assert sorted(path.name for path in here.iterdir()) == sorted(before)


def test_a_warning_is_one_line(here):
    (here / "t.csv").write_text(table([f"kind {k}" for k in range(60)]), encoding="utf-8")
    fit = command("fit", "t.csv", *FIT, "--out", "m.skops")
    _, err = fit.communicate()
    assert fit.returncode == 0
    assert err
    assert all(line.startswith(b"robell: The number of") for line in err.splitlines())


def test_labels_beyond_the_signed_numbers(here):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    labels = pyarrow.array([2**63 + k % 2 for k in range(60)], pyarrow.uint64())
    rows = pyarrow.table({"a": [float(k % 2) for k in range(60)], "y": labels})
    parquet.write_table(rows, here / "t.parquet")
    assert main(["fit", "t.parquet", *FIT, "--out", "m.skops"]) == 0
    assert main(["predict", "m.skops", "t.parquet", "--out", "p.csv", "--quiet"]) == 0
    assert set((here / "p.csv").read_text().split()[1:]) == {str(2**63), str(2**63 + 1)}
