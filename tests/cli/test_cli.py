"""The command: results to standard output, everything else to standard error, one line an error."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robell import __version__
from robell.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBELL_OFFLINE", "1")
    monkeypatch.setenv("ROBELL_CACHE", str(tmp_path / "cache"))


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def small(folder, *more):
    return "reproduce", "table1", "--datasets", "crossplane150", "--models", *more, "--out", folder


def test_reproduce_prints_a_table_and_the_path_of_the_report(capsys, tmp_path):
    status, out, err = run(capsys, *small(tmp_path / "out", "rvfl", "elm"), "--jobs", 2)
    assert status == 0
    assert err == ""
    *table, path = out.strip().splitlines()
    assert Path(path) == tmp_path / "out" / "report.html"
    assert Path(path).exists()
    assert any(
        re.match(r"crossplane150 \(stand-in\) +\d+\.\d\d +\d+\.\d\d$", line) for line in table
    )
    # again: nothing is left to do, the same is said
    assert run(capsys, *small(tmp_path / "out", "rvfl", "elm")) == (0, out, "")
    assert run(capsys, "report", tmp_path / "out") == (0, out, "")


def test_quiet_prints_the_path_alone(capsys, tmp_path):
    status, out, err = run(capsys, *small(tmp_path / "out", "elm"), "--quiet")
    assert (status, out, err) == (0, f"{tmp_path / 'out' / 'report.html'}\n", "")


def test_what_is_not_there_is_left_out_and_said(capsys, tmp_path):
    status, out, err = run(
        capsys, "reproduce", "table1", "--datasets", "crossplane150", "echocardiogram",
        "--models", "elm", "--out", tmp_path,
    )  # fmt: skip
    assert status == 0
    assert "crossplane150" in out
    assert re.match(r"robell: left out: echocardiogram is not available offline: .*\n$", err)
    page = (tmp_path / "report.html").read_text()
    assert "echocardiogram is not available offline" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "habermann"], "did you mean 'haberman'"),
        (["--datasets", "monk1", "--models", "robel"], "no model 'robel'; did you mean 'robell'"),
        (["--datasets", "monk1", "--tune-by", "acuracy"], "no metric 'acuracy'"),
        (["--datasets", "monk1", "--data-dir", "nowhere"], "nowhere"),
        (["--datasets", "oocytes_merluccius_nucleus_4d"], "none of the sets asked for is here"),
        (["--datasets", "monk1", "--device", "tpu"], "device"),
    ],
)
def test_one_line_for_what_is_wrong(capsys, tmp_path, arguments, message):
    status, out, err = run(capsys, "reproduce", "table1", *arguments, "--out", tmp_path / "out")
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert err.startswith("robell: ")


def test_a_malformed_file_is_named_with_its_line(capsys, tmp_path):
    (tmp_path / "haberman.csv").write_text("a,target\n1,0\nx,1\n")
    status, _, err = run(
        capsys, "reproduce", "table1", "--datasets", "haberman", "--data-dir", tmp_path,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert status == 1
    assert re.search(r"haberman\.csv, line 3: 'x'", err)
    (tmp_path / "haberman.csv").write_text("a,target\n1,0\n2,0\n")
    status, _, err = run(
        capsys, "reproduce", "table1", "--datasets", "haberman", "--data-dir", tmp_path,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert status == 1
    assert "class" in err


def test_an_output_directory_of_another_version(capsys, tmp_path):
    (tmp_path / "study.json").write_text(json.dumps({"format": 1, "robell": "0.0.0"}))
    status, _, err = run(capsys, *small(tmp_path, "elm"))
    assert status == 1
    assert "written by robell 0.0.0" in err
    status, _, err = run(capsys, "report", tmp_path)
    assert status == 1
    assert "holds no study" in err


def test_jobs_that_fail_are_told_and_change_the_exit_status(capsys, tmp_path, monkeypatch):
    header = "a,target\n"
    rows = "".join(f"{k},{int(k < 4)}\n" for k in range(40))
    (tmp_path / "haberman.csv").write_text(header + rows)
    status, out, err = run(
        capsys, "reproduce", "table1", "--datasets", "haberman", "crossplane150", "--models", "elm",
        "--data-dir", tmp_path, "--out", tmp_path / "out",
    )  # fmt: skip
    assert status == 3
    assert "5 folds need 5" in err
    assert "crossplane150" in out


@pytest.mark.parametrize("arguments", [[], ["reproduce", "nothing"], ["reproduce", "--jobs", "0"]])
def test_wrong_usage(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: robell" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["reproduce", "datasets", "report"])
def test_help_has_examples(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"  robell {command}" in capsys.readouterr().out


def test_the_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"robell {__version__}\n"


def test_datasets_are_listed_with_where_they_come_from(capsys, tmp_path):
    status, out, _ = run(capsys, "datasets")
    assert status == 0
    assert len(out.splitlines()) == 27
    assert re.search(r"^monk1 +556 +6 +278  generated$", out, re.M)
    assert re.search(r"^oocytes\S+ +1022 +41 +337  not available offline: ", out, re.M)
    (tmp_path / "cmc.csv").write_text("")
    _, out, _ = run(capsys, "datasets", "cmc", "--data-dir", tmp_path)
    assert out.splitlines()[1].endswith("data directory")
    _, out, _ = run(capsys, "datasets", "keel")
    assert len(out.splitlines()) == 101


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_interrupted_it_says_so_keeps_what_had_finished_and_goes_on(capsys, tmp_path):
    arguments = small(tmp_path / "out", "elm", "rvfl", "robell")
    command = [sys.executable, "-m", "robell.cli", *map(str, arguments), "--jobs", "1"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, SIGINT is ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    records = tmp_path / "out" / "records.jsonl"
    time.sleep(0.5)
    deadline = time.monotonic() + 120
    while not records.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert err.count("\n") == 1
    assert "the same command goes on from there" in err
    finished = records.read_bytes()
    status, out, _ = run(capsys, *small(tmp_path / "out", "elm", "rvfl"))
    assert status == 0
    assert records.read_bytes().startswith(finished)


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    command = f"{sys.executable} -m robell.cli datasets | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env=os.environ
    )
    assert done.stderr == ""
    assert done.stdout.startswith("name")
