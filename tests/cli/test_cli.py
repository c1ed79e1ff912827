"""The command: results to standard output, everything else to standard error, one line an error."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from robell import __version__
from robell.cli import main
from robell.cli.main import COMMANDS
from robell.cli.options import (
    ABOVE_LIMIT,
    CANNOT_TELL,
    DRIFTED,
    EXIT_STATUS,
    FAILED,
    INCOMPLETE,
    INTERRUPTED,
    OK,
)
from robell.cli.studies import protocols_for
from robell.comparison.jobs import paper_split

pytestmark = pytest.mark.usefixtures("jobs_here")
ROOT = Path(__file__).parents[2]
STATUSES = (OK, FAILED, 2, INCOMPLETE, ABOVE_LIMIT, CANNOT_TELL, DRIFTED, INTERRUPTED)


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBELL_OFFLINE", "1")
    monkeypatch.setenv("ROBELL_CACHE", str(tmp_path / "cache"))


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def small(folder, *models, jobs=1):
    options = ["--datasets", "crossplane150", "--jobs", jobs, "--out", folder]
    return "reproduce", "table1", *options, "--models", *models


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A study of one small set and two models, and what its run printed."""
    folder = tmp_path_factory.mktemp("study") / "out"
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("ROBELL_OFFLINE", "1")
        status = main([str(argument) for argument in small(folder, "rvfl", "elm", jobs=2)])
    return folder, (status, out.getvalue(), err.getvalue())


def test_reproduce_prints_a_table_and_the_path_of_the_report(capsys, finished):
    folder, (status, out, err) = finished
    assert status == 0
    assert err == ""
    *table, path = out.strip().splitlines()
    assert Path(path) == folder / "report.html"
    assert Path(path).exists()
    assert any(
        re.match(r"crossplane150 \(stand-in\) +\d+\.\d\d +\d+\.\d\d$", line) for line in table
    )
    # again: nothing is left to do, the same is said, and that it was kept
    kept = out.replace("\n\n", "\n\n2 of 2 results kept from an earlier run\n\n")
    assert run(capsys, *small(folder, "rvfl", "elm")) == (0, kept, "")
    assert run(capsys, "report", folder) == (0, out, "")


def test_quiet_prints_the_path_alone(capsys, finished):
    folder, _ = finished
    status, out, err = run(capsys, *small(folder, "elm"), "--quiet")
    assert (status, out, err) == (0, f"{folder / 'report.html'}\n", "")


def test_what_is_missing_or_fails_is_told(capsys, finished, tmp_path):
    """A set that cannot be had is left out; a job that fails changes the exit status."""
    folder = shutil.copytree(finished[0], tmp_path / "out")
    # A table of haberman's size, all its minority among the test rows.
    minority = set(paper_split(306)[1][:81].tolist())
    rows = "".join(f"{k},{k % 7},{k % 5},{int(k in minority)}\n" for k in range(306))
    (tmp_path / "haberman.csv").write_text("a,b,c,target\n" + rows)
    # A table of one's own that has the name of a set by chance.
    (tmp_path / "monk1.csv").write_text("a,target\n" + "".join(f"{k},{k % 2}\n" for k in range(40)))
    status, out, err = run(
        capsys, "reproduce", "table1", "--datasets", "crossplane150", "echocardiogram", "haberman",
        "monk1", "--models", "elm", "--data-dir", tmp_path, "--out", folder, "--jobs", 1,
    )  # fmt: skip
    assert status == 3
    assert "crossplane150" in out
    left_out, not_the_set, failed = err.splitlines()
    assert left_out.startswith("robell: left out: echocardiogram is not available offline: ")
    assert "is not the set monk1: it has 40 rows, 1 columns and 20 rows of class 1" in not_the_set
    assert "'robell compare' takes tables of your own" in not_the_set
    assert "5 folds need 5" in failed
    assert "echocardiogram is not available offline" in (folder / "report.html").read_text()


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


def test_models_that_the_paper_prints_nothing_of_need_repeated_splits(capsys, tmp_path):
    arguments = ("reproduce", "table1", "--models", "rvfl", "ifrvfl", "--out", tmp_path / "out")
    status, out, err = run(capsys, *arguments, "--protocol", "paper")
    assert (status, out) == (1, "")
    assert "prints nothing of ifrvfl: give --protocol repeated or both" in err
    assert protocols_for(None, ["rvfl", "ifrvfl"]) == ("paper", "repeated")
    assert protocols_for("repeated", ["rvfl", "ifrvfl"]) == ("repeated",)
    assert protocols_for(None, ["rvfl"]) == ("paper",)


@pytest.mark.parametrize("arguments", [[], ["reproduce", "nothing"], ["reproduce", "--jobs", "0"]])
def test_wrong_usage(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: robell" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "t.csv", "--target", "y", "--top", "ten"], "0 or more; got 'ten'"),
        (["compare", "t.csv", "--target", "y", "--noise", "0.2"], "from 0 to 100; got '0.2'"),
    ],
)
def test_what_is_no_whole_number_is_said_with_the_range(capsys, arguments, message):
    with pytest.raises(SystemExit):
        main(arguments)
    assert capsys.readouterr().err.endswith(f": must be a whole number, {message}\n")


def test_files_given_for_others_say_what_is_needed(capsys, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("town,day,label\nOslo,mon,a\nRome,sat,b\n")
    status, _, err = run(capsys, "compare", table)
    assert status == 1
    assert "is no number: 'mon'; if these are rows to fit models to, name their target" in err
    status, _, err = run(capsys, "predict", table, "model.skops", "--out", tmp_path / "p.csv")
    assert status == 1
    assert "t.csv: not a model file" in err
    assert "give one that robell fit or save_model has written" in err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"  robell {command}" in capsys.readouterr().out


def test_the_commands_that_most_people_need_come_first(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    names = re.findall(r"^    (\w+)", capsys.readouterr().out, re.M)
    assert names[:6] == ["audit", "review", "fit", "predict", "apply", "certify"]
    assert sorted(names) == sorted(COMMANDS)


def test_the_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"robell {__version__}\n"


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys\nfrom robell.cli import main\n"
        "try:\n    main([sys.argv[1]])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    for option in ("--help", "--version"):
        command = [sys.executable, "-c", code, option]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_a_mistake_of_the_program_is_not_explained_away(monkeypatch):
    """Only what the user can mend becomes one line; anything else keeps its traceback."""
    monkeypatch.setattr("robell.datasets.available", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["datasets", "monk1"])


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
    command = [sys.executable, "-m", "robell", *map(str, arguments)]
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
    time.sleep(0.5)
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
    command = f"{sys.executable} -m robell datasets | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env=os.environ
    )
    assert done.stderr == ""
    assert done.stdout.startswith("name")


def test_the_page_of_a_study_quotes_the_command_as_a_shell_takes_it(tmp_path):
    out = tmp_path / "two words"
    assert main([str(argument) for argument in small(out, "rvfl")]) == 0
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert f"--out '{out}'" in run["command"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_says_once_what_the_exit_status_means(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    help_text = capsys.readouterr().out
    assert help_text.endswith(EXIT_STATUS)
    assert help_text.count("exit status") == 1


def test_the_documented_exit_statuses_are_those_of_the_help():
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| (\d+) \|", text, re.MULTILINE)
    assert documented == re.findall(r"^  (\d+) ", EXIT_STATUS, re.MULTILINE)
    assert documented == [str(status) for status in STATUSES]
