"""A small part of ``make fuzz`` in every run of the tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from odd_commands import draw_file_job, draw_option_job
from odd_inputs import draw_call
from targets import TARGETS, Broken

HERE = Path(__file__).parents[1] / "fuzz"
RECORD = b'\0{"key": "7", "status": "done"}\n'

# Kinds of failure that are known and not mended yet. Each must still occur: a kind that no longer
# does is taken off this list, until it is empty.
KNOWN = set()


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("fuzz") / "counts.json"
    sizes = [
        "--calls",
        "600",
        "--files",
        "60",
        "--options",
        "40",
        "--kills",
        "0",
        "--clusters",
        "1",
    ]
    line = [sys.executable, str(HERE / "fuzz.py"), *sizes, "--limit", "60", "--json", str(out)]
    run = subprocess.run(line, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return json.loads(out.read_text(encoding="utf-8"))


def test_odd_inputs_get_an_answer_or_one_line(small_run):
    found = {f"{what}: {kind}": line for what, kind, _, line, _ in small_run["failures"]}
    new = {kind: line for kind, line in found.items() if kind not in KNOWN}
    assert not new, "\n".join(f"{kind}\n    {line}" for kind, line in new.items())
    mended = KNOWN - set(found)
    assert not mended, f"mended, take off the list: {sorted(mended)}"


def test_most_of_what_is_tried_reaches_the_mathematics(small_run):
    calls = small_run["outcomes"]["calls"]
    assert sum(calls.values()) == 600
    assert calls["answer"] > 150
    assert small_run["outcomes"]["files"]["answer"] > 10
    assert small_run["outcomes"]["options"]["answer"] > 5


@pytest.mark.parametrize("draw", [draw_call, draw_file_job, draw_option_job])
def test_an_input_is_built_again_from_its_seed(draw):
    assert [draw(seed) for seed in range(40)] == [draw(seed) for seed in range(40)]
    assert len({draw(seed).reproduction() for seed in range(40)}) > 30
    hash(draw(0))


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_of_the_corpora_again(name):
    inputs = sorted((HERE / "corpus" / name).iterdir())
    assert len(inputs) >= 4
    for one in inputs:
        TARGETS[name](one.read_bytes())


@pytest.mark.parametrize(
    ("name", "broken", "data"),
    [
        ("robell.report.tables.html.escape", lambda text: text, b"<b>"),
        ("robell.tables.numerals._parse", lambda digits, way: 1.0, b"\x001,234\n1.5"),
        ("robell.tables.dates._hour", lambda hour, half: 7, b"2024-01-31 12:30"),
        ("robell.comparison.store._checked", lambda line: line.replace(b"7", b"8"), RECORD),
    ],
)
def test_the_targets_notice_what_is_broken(monkeypatch, name, broken, data):
    monkeypatch.setattr(name, broken)
    target = {"report": "escape", "numerals": "numerals", "dates": "dates", "store": "records"}
    (which,) = [kind for part, kind in target.items() if part in name]
    with pytest.raises(Broken):
        TARGETS[which](data)
