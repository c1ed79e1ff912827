"""Memory of tables: what is estimated is no less than what is taken, and too much is refused."""

import gc
import time
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow
import pytest

from robell._tools.files import FileError
from robell.cli import main
from robell.comparison.compare import compare
from robell.comparison.store import StudyError
from robell.labels.audit import audit
from robell.tables.read import Budget, read_table

RNG = np.random.default_rng(0)
FRAMES = {
    "numbers": pd.DataFrame(RNG.normal(size=(4000, 12))),
    "few numbers": pd.DataFrame(RNG.normal(size=(20_000, 1))),
    "categories": pd.DataFrame(RNG.choice(["red", "green", "blue"], size=(8000, 6))),
    "long texts": pd.DataFrame([["x" * 900 + str(row)] * 2 for row in range(1000)]),
    "whole numbers": pd.DataFrame(RNG.integers(0, 9, size=(5000, 8))),
}


def settled(pool):
    """Return what Arrow holds when earlier tables are gone, by whatever thread they are freed."""
    held = None
    while held != pool.bytes_allocated():
        held = pool.bytes_allocated()
        gc.collect()
        time.sleep(0.05)
    return held


def peak_of(source):
    """Read a table and all its cells; return the most memory it took, and the estimate."""
    budget, pool = Budget(), pyarrow.default_memory_pool()
    read_table(source)  # imports, and what is made once
    before = settled(pool)  # what earlier tables leave would be taken off, and freed meanwhile
    tracemalloc.start()
    try:
        table = read_table(source, budget=budget)
        arrays = pool.bytes_allocated() - before
        assert all(len(column.cells) == len(table.rows) for column in table.columns)
        peak = tracemalloc.get_traced_memory()[1] + arrays
    finally:
        tracemalloc.stop()
    return peak, budget.held


@pytest.mark.parametrize("frame", FRAMES.values(), ids=list(FRAMES))
def test_a_table_takes_no_more_than_is_estimated(tmp_path, frame):
    frame = frame.rename(columns=str)
    frame.to_csv(tmp_path / "t.csv", index=False)
    peak, estimate = peak_of(tmp_path / "t.csv")
    assert peak < estimate + (1 << 20)
    assert estimate < 3 * peak


def labelled(n=400):
    y = np.arange(n) % 2
    return pd.DataFrame(RNG.normal(size=(n, 3)) + 3 * y[:, None], columns=["a", "b", "c"]).assign(
        y=y
    )


@pytest.mark.parametrize("limit", ["20kB", "300kB", "80MB"])  # as text, as columns, to be judged
def test_an_audit_that_takes_too_much_is_refused(limit):
    frame = labelled()
    with pytest.raises(FileError, match=r"MiB: take fewer .* or allow more with memory_limit=$"):
        audit(frame, "y", memory_limit=limit)
    assert len(audit(frame, "y", memory_limit="200MB").row) == 400


@pytest.mark.parametrize("command", ["audit", "compare"])
def test_commands_refuse_it_in_one_line(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    labelled().to_csv("t.csv", index=False)
    where = {"audit": "options", "compare": "compare"}[command]
    monkeypatch.setattr(f"robell.cli.{where}.memory_left", lambda limit, _: limit - (10 << 20))
    assert main([command, "t.csv", "--target", "y", "--memory", "10500kB"]) == 1
    err = capsys.readouterr().err
    assert "the memory limit leaves 0 MiB" in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_processes_of_a_comparison_count(tmp_path):
    settings = {"target": "y", "repeats": 1, "progress": False, "memory_limit": "500MB"}
    with pytest.raises(StudyError, match=r"the tables and 3 processes need about 60\d MiB"):
        compare(labelled(), ["rvfl"], n_jobs=3, out=tmp_path / "three", **settings)
    assert not (tmp_path / "three").exists()
    assert compare(labelled(), ["rvfl"], n_jobs=1, out=tmp_path / "one", **settings).report
