"""What commands write and where: nothing of others is replaced, nothing half-written stays."""

import csv
import gzip
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("skops")

from odd_files import table

import robell
from robell.cli import main
from robell.files import FileError, load_model

FIT = ("--target", "y", "--param", "n_hidden=5", "--plain", "--quiet")


@pytest.fixture(autouse=True)
def own_signals():
    """Let signals do what they usually do, here and in commands, also under ``nohup``."""
    usual = dict.fromkeys((signal.SIGTERM, signal.SIGHUP), signal.SIG_DFL)
    usual[signal.SIGINT] = signal.default_int_handler
    earlier = {which: signal.signal(which, handler) for which, handler in usual.items()}
    yield
    for which, handler in earlier.items():
        signal.signal(which, handler)


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


@pytest.mark.parametrize("which", ["-audit.csv", "-audit.html"])
def test_a_full_disk_names_the_file_that_did_not_fit(capsys, here, monkeypatch, which):
    write = Path.write_text

    def full(path, text, **how):
        if which in path.name:
            raise OSError(28, "No space left on device")
        return write(path, text, **how)

    monkeypatch.setattr(Path, "write_text", full)
    err = refused(capsys, "audit", "good.csv", "--target", "y", "--quiet")
    assert f"good{which}: cannot be written: no space is left" in err
    assert [path.name for path in here.iterdir()] == ["good.csv"]


def writing_commands(out):
    """Return the three commands that write files; of an audit, the beginning of the names."""
    yield "fit", "good.csv", "more.csv", *FIT, "--out", out
    yield "predict", "model.skops", "good.csv", "more.csv", "--out", out, "--quiet"


@pytest.fixture
def inputs(model, here):
    (here / "more.csv").write_text(table(), encoding="utf-8")
    (here / "folder").mkdir()
    (here / "folder" / "part.csv").write_text(table(), encoding="utf-8")
    return {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}


@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
@pytest.mark.parametrize("name", ["good.csv", "more.csv", "model.skops"])
def test_an_output_is_never_an_input(capsys, here, inputs, name, link):
    out = here / name
    if link is not None:
        out = here / "link.csv"
        getattr(out, link)(here / name)
    for command in writing_commands(str(out)):
        if command[0] == "predict" or name != "model.skops":
            for force in ((), ("--force",)):
                assert "is one of the files that are read" in refused(capsys, *command, *force)
    assert {path: path.read_bytes() for path in inputs} == inputs


def test_an_output_is_no_file_of_an_input_folder(capsys, here, inputs):
    for command in (
        ("fit", "folder", *FIT, "--out", "folder/part.csv", "--force"),
        ("predict", "model.skops", "folder/*.csv", "--out", "folder/part.csv", "--force"),
    ):
        assert "is one of the files that are read" in refused(capsys, *command)
    assert {path: path.read_bytes() for path in inputs} == inputs


@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
def test_an_audit_never_replaces_its_table(capsys, here, link):
    source = here / "good.csv"
    out = here / "x-audit.csv"
    source.rename(out) if link is None else getattr(out, link)(source)
    read = out if link is None else source
    before = read.read_bytes()
    err = refused(capsys, "audit", str(read), "--target", "y", "--out", "x", "--force")
    assert "is one of the files that are read" in err
    assert read.read_bytes() == before
    assert not (here / "x-audit.html").exists()


def test_pipes_and_devices_are_not_replaced(capsys, here, inputs, null_device):
    os.mkfifo(here / "pipe")
    os.mkfifo(here / "x-audit.csv")
    for command in writing_commands("pipe"):
        assert "is a device or a pipe" in refused(capsys, *command, "--force")
    audit = ("audit", "good.csv", "--target", "y", "--out", "x", "--force")
    assert "is a device or a pipe" in refused(capsys, *audit)
    assert (here / "pipe").is_fifo()
    assert (here / "x-audit.csv").is_fifo()
    for command in writing_commands(null_device):
        assert main(list(command)) == 0
    assert Path(null_device).is_char_device()


def test_links_stay_and_permissions_too(here, inputs):
    results = here / "results"
    results.mkdir()
    for name, command in zip(("m", "p"), writing_commands("link.csv"), strict=True):
        link, target = here / "link.csv", results / f"{name}.csv"
        link.unlink(missing_ok=True)
        link.symlink_to(target)  # which is not there yet
        assert main(list(command)) == 0
        target.chmod(0o640)
        assert main(list(command)) == 0
        assert link.is_symlink()
        assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in results.iterdir()) == ["m.csv", "p.csv"]


def test_a_read_only_file_is_not_replaced_by_force_nor_from_python(capsys, here, inputs):
    from robell.files import predict_files, save_model

    kept = here / "kept.csv"
    kept.write_text("mine")
    kept.chmod(0o444)
    for command in writing_commands("kept.csv"):
        assert "is read-only" in refused(capsys, *command, "--force")
    model = load_model("model.skops")
    with pytest.raises(FileError, match="is read-only"):
        save_model(model, kept)
    with pytest.raises(FileError, match="is read-only"):
        predict_files(model, "good.csv", kept)
    assert kept.read_text() == "mine"


def test_a_users_table_is_no_earlier_audit(capsys, here):
    (here / "mine-audit.csv").write_text("row,height\n1,2\n")
    command = ["audit", "good.csv", "--target", "y", "--out", "mine", "--quiet"]
    assert "was not written by this command" in refused(capsys, *command)
    assert main([*command, "--force"]) == 0


STUDIES = [
    ["compare", "good.csv", "--target", "y", "--models", "rvfl", "--repeats", "2"],
    ["reproduce", "table1", "--datasets", "monk1", "--models", "rvfl"],
    ["robustness", "--datasets", "monk1", "--models", "logistic", "--seeds", "1"],
]


@pytest.mark.parametrize("command", STUDIES, ids=lambda command: command[0])
def test_a_study_is_written_to_a_folder_of_its_own(capsys, here, command):
    command = [*command, "--jobs", "1", "--quiet", "--out"]
    assert "is a file" in refused(capsys, *command, "good.csv")
    assert "the folder holds other files" in refused(capsys, *command, ".")
    assert [path.name for path in here.iterdir()] == ["good.csv"]


def test_a_study_goes_on_in_its_own_folder(here):
    (here / "new").mkdir()
    (here / "new" / ".hidden").touch()
    for _ in range(2):
        assert main([*STUDIES[0], "--jobs", "1", "--quiet", "--out", "new"]) == 0


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


def test_predictions_that_begin_with_an_apostrophe_stay_apart(here):
    labels = ("=1+1", "'=1+1", "''=1+1")
    (here / "t.csv").write_text(table(labels), encoding="utf-8")
    main(["fit", "t.csv", *FIT, "--out", "m.skops"])
    main(["predict", "m.skops", "t.csv", "--out", "p.csv", "--quiet"])
    with (here / "p.csv").open(encoding="utf-8", newline="") as file:
        predicted = {row[0] for row in list(csv.reader(file))[1:]}
    assert {text.removeprefix("'") for text in predicted} == set(labels)


def test_labels_reach_the_terminal_without_escape_sequences(capsys, here):
    (here / "t.csv").write_text(table(("\x1b[31mred", "plain")), encoding="utf-8")
    assert main(["fit", "t.csv", *FIT[:-1], "--out", "m.skops"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    (here / "t.csv").write_text(table(cells=lambda k, plain: "\x1b[2J"), encoding="utf-8")
    assert "\x1b" not in refused(capsys, "fit", "t.csv", *FIT, "--out", "m.skops")


# -- streams and signals ---------------------------------------------------------------


def command(*arguments, **variables):
    line = [sys.executable, "-m", "robell", *arguments]
    env = os.environ | {"PYTHONPATH": str(Path(robell.__file__).parents[1])} | variables
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_output_that_the_encoding_cannot_hold(here, encoding):
    (here / "t.csv").write_text(table(("日本", "ok")), encoding="utf-8")
    options = (*FIT[:-1], "--out", "m.skops")
    fit = command("fit", "t.csv", *options, PYTHONIOENCODING=encoding)
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


@pytest.mark.parametrize(
    ("arguments", "when"),
    [
        (("fit", "good.csv", *FIT, "--out", "m.skops"), "os.replace"),
        (("predict", "model.skops", "good.csv", "--out", "p.csv", "--quiet"), "os.fsync"),
        (("audit", "good.csv", "--target", "y", "--quiet"), "os.fsync"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_of_writing(capsys, model, monkeypatch, arguments, when, which):
    before = sorted(path.name for path in model.parent.iterdir())
    monkeypatch.setattr(when, lambda *_: signal.raise_signal(which))
    assert main(list(arguments)) == 130
    assert capsys.readouterr().err == "robell: stopped; nothing was written\n"
    assert sorted(path.name for path in model.parent.iterdir()) == before


LATE = """
import dataclasses, importlib, os, signal, sys

module = importlib.import_module("robell.cli.main")

def stop(*_):
    raise KeyboardInterrupt

if sys.argv.pop(1) == "second":  # while the first one is being answered
    module.COMMANDS["datasets"] = dataclasses.replace(module.COMMANDS["datasets"], run=stop)
    module.say = lambda text: os.kill(os.getpid(), {number})
sys.argv[1:] = ["datasets", "monk1"]
status = module.main()
os.kill(os.getpid(), {number})
sys.exit(status)
"""


@pytest.mark.parametrize(("when", "status"), [("late", 0), ("second", 130)])
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_after_the_work_changes_no_status(which, when, status):
    script = LATE.format(number=int(which))
    env = os.environ | {"PYTHONPATH": str(Path(robell.__file__).parents[1])}
    line = [sys.executable, "-c", script, when]
    found = subprocess.run(line, env=env, capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (status, b"")


def test_a_signal_within_code_made_from_text_ends_as_any_other(here):
    # As the imports of named tuples and of SciPy's distributions make it; Python remembers such an
    # interrupt, and ends a module by the signal.
    (here / "stopped.py").write_text("""
import dataclasses, importlib, sys

module = importlib.import_module("robell.cli.main")

def stop(*_):
    exec("import os, signal; os.kill(os.getpid(), signal.SIGTERM); all(range(1, 1000))")

module.COMMANDS["datasets"] = dataclasses.replace(module.COMMANDS["datasets"], run=stop)
sys.argv[1:] = ["datasets", "monk1"]
sys.exit(module.main())
""")
    env = os.environ | {"PYTHONPATH": str(Path(robell.__file__).parents[1])}
    line = [sys.executable, "-m", "stopped"]
    found = subprocess.run(line, env=env, cwd=here, capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (130, b"robell: stopped; nothing was written\n")


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_streams_do_no_harm(here, closed):
    (here / "t.csv").write_text(table([f"kind {k}" for k in range(60)]), encoding="utf-8")
    line = f'"$0" -m robell fit t.csv {" ".join(FIT[:-1])} --out m.skops {closed}'
    assert shell(line).returncode == 0
    assert load_model("m.skops").n_features_in_ == 3


def test_output_that_cannot_be_written_is_an_error(here):
    found = shell('"$0" -m robell datasets >/dev/full')
    assert (found.returncode, found.stderr) == (1, b"robell: output: No space left on device\n")


def shell(line):
    env = os.environ | {"PYTHONPATH": str(Path(robell.__file__).parents[1])}
    run = ["bash", "-c", line, sys.executable]
    return subprocess.run(run, env=env, capture_output=True, check=False)


@pytest.mark.parametrize("module", ["robell.cli.audit", "numpy", "sklearn"])
def test_an_interruption_of_an_import_is_no_traceback(here, module):
    script = f"""
import sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
sys.argv = ["robell", "audit", "good.csv", "--target", "y"]
from robell.cli import main
sys.exit(main())
"""
    env = os.environ | {"PYTHONPATH": str(Path(robell.__file__).parents[1])}
    line = [sys.executable, "-c", script]
    found = subprocess.run(line, env=env, capture_output=True, check=False)
    assert found.returncode == 130
    assert found.stderr in (b"", b"robell: stopped; nothing was written\n")


def piped(data):
    """Return what a shell writes for <(command): the name of a pipe that the data come through."""
    reading, writing = os.pipe()

    def write():
        with os.fdopen(writing, "wb") as file:
            file.write(data)

    threading.Thread(target=write).start()
    return f"/dev/fd/{reading}"


def test_pipes_are_read_once(here, model, tmp_path_factory, monkeypatch):
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    data = (here / "good.csv").read_bytes()
    assert main(["fit", piped(data), *FIT, "--out", "piped.skops"]) == 0
    rows, file = piped(gzip.compress(data)), piped((here / "piped.skops").read_bytes())
    assert main(["predict", file, rows, "--out", "piped.csv", "--quiet"]) == 0
    assert main(["predict", "model.skops", "good.csv", "--out", "plain.csv", "--quiet"]) == 0
    assert (here / "piped.csv").read_bytes() == (here / "plain.csv").read_bytes()
    assert main(["audit", piped(data), "--target", "y", "--out", "piped", "--quiet"]) == 0
    assert (here / "piped-audit.html").is_file()
    assert not list(temporary.iterdir())


def test_what_comes_through_a_pipe_is_named_as_given(capsys, here):
    rows = piped(b"a,y\n1,no\nx,yes\n")
    assert f"{rows}: column 'a' is not numeric" in refused(
        capsys, "fit", rows, *FIT, "--out", "m.skops"
    )
    (here / "zero.csv").symlink_to("/dev/zero")
    assert "is a device" in refused(capsys, "fit", "zero.csv", *FIT, "--out", "m.skops")


def test_exit_codes_are_documented(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    for status in ("0", "1", "2", "3", "130"):
        assert f"\n  {status:4} " in text
        assert f"\n| {status} |" in page


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
