"""The audit as a gate: its exit status, its summary, and folders that cannot be written to."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from robell.cli import main
from robell.tables.read import read_table

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two classes, 10 of 100 labels wrong; and one that no column explains."""
    folder = tmp_path_factory.mktemp("gate")
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 300)
    flip = rng.random(300) < 0.1
    frame = pd.DataFrame(
        {
            "size": (rng.normal(size=300) + 4 * true).round(4),
            "weight": (rng.normal(size=300) - 4 * true).round(4),
            "label": np.array(["no", "yes"])[np.where(flip, 1 - true, true)],
            "chance": rng.integers(0, 2, 300),
        }
    )
    frame.to_csv(folder / "t.csv", index=False)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("limit", "status"), [("5%", 4), ("0.05", 4), ("20 %", 0), (".2", 0), ("0", 4), ("100%", 0)]
)
def test_the_exit_status_says_whether_too_many_labels_are_suspect(here, capsys, limit, status):
    before = set(here.iterdir())
    arguments = ["audit", "t.csv", "--target", "label", "--ignore", "chance"]
    assert main([*arguments, "--fail-above", limit, "--json", "-"]) == status
    out, said = capsys.readouterr()
    found = json.loads(out)
    assert found["passed"] == (status == 0)
    assert found["exit_status"] == status
    assert found["suspects"] == len(found["suspect_rows"])
    assert found["suspect_share"] == found["suspects"] / found["rows_checked"]
    assert sum(way["suspects"] for way in found["mistakes"]) == found["suspects"]
    assert sum(one["suspects"] for one in found["classes"].values()) == found["suspects"]
    assert ("Passed" if status == 0 else "Failed") in said
    assert f"{100 * found['suspect_share']:.1f} % of the labels checked are suspect" in said
    assert set(here.iterdir()) == before


def test_where_nothing_can_be_told_the_gate_does_not_pass(here, capsys):
    arguments = ["audit", "t.csv", "--target", "chance", "--fail-above", "50%"]
    assert main(arguments) == 5
    assert "too little to tell" in capsys.readouterr().out


def test_page_table_and_summary_are_written_together_where_out_says(here, tmp_path, capsys):
    arguments = ["audit", "t.csv", "--target", "label", "--json", str(tmp_path / "f.json")]
    assert main(arguments) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["f.json"]
    assert capsys.readouterr().out.splitlines()[-1] == str(tmp_path / "f.json")
    assert json.loads((tmp_path / "f.json").read_text())["fail_above"] is None
    assert main([*arguments, "--out", f"{tmp_path}/"]) == 0  # an earlier summary is replaced
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"f.json", "t-audit.html", "t-audit.csv"}
    for bad in ("t.csv", str(tmp_path), str(tmp_path / "none" / "f.json")):
        assert main([*arguments[:-1], bad]) == 1
    (tmp_path / "mine.json").write_text("{}")
    assert main([*arguments[:-1], str(tmp_path / "mine.json")]) == 1
    assert (tmp_path / "mine.json").read_text() == "{}"


@pytest.mark.parametrize("limit", ["5", "101%", "-1%", "a few", "", "1e-2", "nan"])
def test_a_limit_that_is_no_share_is_wrong_usage(here, capsys, limit):
    with pytest.raises(SystemExit, match="2"):
        main(["audit", "t.csv", "--target", "label", f"--fail-above={limit}"])
    assert "is no share" in capsys.readouterr().err


def test_the_hook_runs_in_a_checkout_that_cannot_be_written_to(here, tmp_path):
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entry = next(line.split(":")[1] for line in hooks.splitlines() if "entry:" in line)
    program, command = shlex.split(entry)
    assert (program, command) == ("robell", "audit")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "t.csv").write_bytes((here / "t.csv").read_bytes())
    checkout.chmod(0o555)
    code = (
        "import builtins, os, sys\n"
        "real = builtins.open\n"
        "def guarded(path, mode='r', *rest, **options):\n"
        "    if set(mode) & set('wax+') and 'checkout' in str(path):\n"
        "        raise PermissionError(13, 'read-only', str(path))\n"
        "    return real(path, mode, *rest, **options)\n"
        "builtins.open = guarded\n"
        "from robell.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    arguments = [command, "t.csv", "--target", "label", "--ignore", "chance", "--fail-above", "5%"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=checkout,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (4, "")
    assert [path.name for path in checkout.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_an_audit_starts_without_pandas_and_finds_the_same(tmp_path, kind):
    X = np.random.default_rng(0).normal(size=(60, 2)).round(3)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.where(X[:, 0] > 0, "yes", "no")})
    if kind == "parquet":  # PyArrow reads nanoseconds in one way with pandas, in another without
        nanoseconds = np.arange(60) * 86_400_000_000_001
        frame["at"] = pd.to_datetime(nanoseconds, utc=True).tz_convert("Europe/Berlin")
        frame["for"] = pd.to_timedelta(nanoseconds)
    table = tmp_path / f"t.{kind}"
    write = {"csv": frame.to_csv, "parquet": frame.to_parquet, "xlsx": frame.to_excel}[kind]
    write(table, index=False)
    code = (
        "import sys\nfrom robell.cli.main import main\n"
        "status = main()\nassert not status, status\nassert 'pandas' not in sys.modules\n"
        "import pandas\nassert pandas.DataFrame is not None"
    )
    out = ["--out", str(tmp_path) + "/", "--quiet", "--all-rows"]
    arguments = ["audit", str(table), "--target", "y", *out, "--json"]
    command = [sys.executable, "-c", code, *arguments, str(tmp_path / "alone.json")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (listed,) = tmp_path.glob("t-audit.*[vx]")
    rows = list(read_table(listed).columns)
    assert main([*arguments, str(tmp_path / "beside.json")]) == 0
    assert [one.cells for one in rows] == [one.cells for one in read_table(listed).columns]
    alone, beside = ((tmp_path / f"{name}.json").read_text() for name in ("alone", "beside"))
    assert alone == beside
