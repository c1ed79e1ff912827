"""Kill studies at a random moment, let the same command go on, and compare the numbers."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from odd_calls import Verdict
from odd_commands import STUDY_OPTIONS
from odd_files import table

import robell

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
STUDIES = tuple(sorted(STUDY_OPTIONS))  # a new study joins by its entry in STUDY_OPTIONS


def _start(study, out):
    line = [sys.executable, "-m", "robell", study, *STUDY_OPTIONS[study]]
    line += ["--jobs", "2", "--quiet", "--out", str(out)]
    good = Path(out).parent / "good.csv"  # what "compare" reads
    good.write_text(table(), encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(Path(robell.__file__).parents[1])}
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(line, cwd=good.parent, env=env, start_new_session=True, **streams)


def numbers_of(out):
    """Return the outcome of every record, and every table, of a finished study."""
    lines = (out / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    found = {record["key"]: (record["status"], record.get("outcome")) for record in records}
    tables = {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted((out / "tables").glob("*.csv"))
        if "time" not in path.name and "every_score" not in path.name
    }
    return found, tables


class Kills:
    """Studies that were never killed, to compare with; made when first asked for."""

    def __init__(self, limit):
        self.limit = limit
        self._whole = {}

    def _whole_run(self, study):
        if study not in self._whole:
            with tempfile.TemporaryDirectory() as folder:
                start = time.monotonic()
                process = _start(study, Path(folder) / "out")
                _, err = process.communicate(timeout=30 * self.limit)
                if process.returncode != 0:
                    raise RuntimeError(f"{study} does not even run undisturbed: {err}")
                found = numbers_of(Path(folder) / "out")
            self._whole[study] = (found, time.monotonic() - start)
        return self._whole[study]

    def judge(self, seed):
        """Kill one study once or twice, finish it, and compare."""
        r = random.Random(seed)
        study = STUDIES[seed % len(STUDIES)]
        whole, seconds = self._whole_run(study)
        folder = Path(tempfile.mkdtemp(prefix="robell-kill-"))
        try:
            for _ in range(r.choice((1, 1, 2))):
                wrong = self._kill(study, folder / "out", r.random() * seconds, r.choice(SIGNALS))
                if wrong is not None:
                    return wrong
            process = _start(study, folder / "out")
            _, err = process.communicate(timeout=30 * self.limit)
            if process.returncode != 0:
                return Verdict("failure", f"{study}: does not go on after a kill", err[-300:])
            if numbers_of(folder / "out") != whole:
                return Verdict("failure", f"{study}: other numbers after a kill", f"seed {seed}")
            left = [path.name for path in folder.rglob(".*")]
            if left:
                return Verdict("failure", f"{study}: temporary files are left", left[0])
        finally:
            shutil.rmtree(folder)
        return Verdict("answer")

    def _kill(self, study, out, seconds, which):
        process = _start(study, out)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, which)
        _, err = process.communicate(timeout=3 * self.limit)
        if "Traceback" in err:
            last = err.strip().splitlines()[-1]
            return Verdict("failure", f"{study}: a traceback when killed, {last[:60]}", err[-300:])
        return None
