"""Several processes that write to one name: a reader finds one whole result, never parts of two."""

import subprocess
import sys
import time

from robell.cli.main import main

WRITER = """
import sys
from pathlib import Path
from robell._tools.files import write_atomically

sign, path, n_times = sys.argv[1:]
for _ in range(int(n_times)):
    write_atomically(path, sign * 300_000)
"""


def test_a_reader_sees_one_whole_file_while_two_write(tmp_path):
    path = tmp_path / "out.txt"
    lines = [[sys.executable, "-c", WRITER, sign, str(path), "60"] for sign in "ab"]
    writers = [subprocess.Popen(line) for line in lines]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            text = path.read_text(encoding="utf-8")
            assert text in ("a" * 300_000, "b" * 300_000)
            seen.add(text[0])
        time.sleep(0.001)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen
    assert [one.name for one in tmp_path.iterdir()] == ["out.txt"]


def test_two_predictions_to_one_file_are_one_of_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, labels in {"t": "ny", "u": "yn"}.items():
        rows = [f"{k % 7 + 9 * (k % 2)},{k % 5},{labels[k % 2]}" for k in range(80)]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["a,b,y", *rows]) + "\n", encoding="utf-8")
        fit = ["fit", f"{name}.csv", "--target", "y", "--out", f"{name}.skops", "--quiet"]
        assert main(fit) == 0
        predict = ["predict", f"{name}.skops", "t.csv", "--out", f"{name}-p.csv", "--quiet"]
        assert main(predict) == 0
    capsys.readouterr()
    expected = [(tmp_path / f"{name}-p.csv").read_bytes() for name in "tu"]
    assert expected[0] != expected[1]
    before = {one.name for one in tmp_path.iterdir()}
    runs = []
    for name in "tu":
        line = ["predict", f"{name}.skops", "t.csv", "--out", "both.csv", "--quiet", "--force"]
        runs.append(subprocess.Popen([sys.executable, "-m", "robell", *line]))
    assert [run.wait() for run in runs] == [0, 0]
    assert (tmp_path / "both.csv").read_bytes() in expected
    assert {one.name for one in tmp_path.iterdir()} == before | {"both.csv"}
