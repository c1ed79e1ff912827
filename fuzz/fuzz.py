"""Try odd inputs on the estimators, files, options and studies, and count what came of them.

    make fuzz                              everything, about an hour on two cores
    python fuzz/fuzz.py --calls 300 --files 40 --options 30 --kills 0 --clusters 0
    python fuzz/fuzz.py --call 17         one call again, with its traceback
    python fuzz/fuzz.py --job 17          one odd file again; --option, --kill, --cluster likewise

Ends with status 1 where there was a failure. Calls run in processes of their own, a batch each, so
that one that hangs or runs out of memory is named and the others go on.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import resource
import select
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

from odd_calls import Verdict, judge_call
from odd_clusters import fault_of, judge_cluster
from odd_commands import (
    MEMORY,
    draw_file_job,
    draw_option_job,
    judge_job,
    make_bases,
    wait_for,
)
from odd_inputs import draw_call
from odd_kills import STUDIES, Kills

import robell

BATCH = 500  # calls of one process


class Tally:
    """Counts of outcomes, and the first reproduction of each kind of failure."""

    def __init__(self):
        self.outcomes = {}
        self.failures = {}

    def add(self, what, verdict, reproduction):
        """Count one case."""
        self.outcomes.setdefault(what, Counter())[verdict.outcome] += 1
        if verdict.outcome != "failure":
            return
        key = (what, verdict.kind)
        if key not in self.failures:
            self.failures[key] = [0, reproduction, verdict.detail]
            print(f"new kind of failure: {what}: {verdict.kind}\n    {reproduction}\n"
                  f"    {verdict.detail}", flush=True)  # fmt: skip
        self.failures[key][0] += 1

    def show(self, seconds):
        """Print the counts."""
        print(f"\n{'':10}{'tried':>8}{'answers':>9}{'refusals':>10}{'failures':>10}")
        for what, found in self.outcomes.items():
            cells = [sum(found.values()), found["answer"], found["refusal"], found["failure"]]
            print(f"{what:10}{cells[0]:8,}{cells[1]:9,}{cells[2]:10,}{cells[3]:10,}")
        print(f"{len(self.failures)} kinds of failure, {seconds:.0f} s")
        for (what, kind), (count, reproduction, _) in sorted(self.failures.items()):
            print(f"{count:6} x {what}: {kind}\n         {reproduction}")

    def as_json(self):
        """Return all that was counted as plain data."""
        kinds = [[what, kind, *found] for (what, kind), found in sorted(self.failures.items())]
        return {"outcomes": self.outcomes, "failures": kinds}


# -- calls, in batches -----------------------------------------------------------------


def run_calls(first, count, limit, tally):
    """Judge calls in forked processes, a batch each."""
    seed, end = first, first + count
    while seed < end:
        seed = _run_batch(seed, min(seed + BATCH, end), limit, tally)


def _run_batch(seed, end, limit, tally):
    """Judge the calls of one process; return the seed to go on with."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _be_the_batch(seed, end, writing)
    os.close(writing)
    with os.fdopen(reading, "r", encoding="utf-8") as answers:
        while seed < end:
            ready, _, _ = select.select([answers], [], [], 3 * limit)
            line = answers.readline() if ready else ""
            if not line:
                break
            seed += 1
            found = json.loads(line)
            tally.add("calls", Verdict(**found["verdict"]), found["reproduction"])
            if found["seconds"] > limit:
                tally.add("calls", Verdict("failure", "hang"), found["reproduction"])
    if seed < end:  # the process died or hung at this call
        code, hung = wait_for(child, 0)
        kind = "hang" if hung else f"the process died with status {code}"
        tally.add("calls", Verdict("failure", kind), draw_call(seed).reproduction())
        return seed + 1
    wait_for(child, limit)
    return seed


def _be_the_batch(seed, end, writing):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(writing, "w", encoding="utf-8", buffering=1) as answers:
        for place in range(seed, end):
            call, start = draw_call(place), time.process_time()
            verdict = judge_call(call)
            seconds = time.process_time() - start
            line = {"verdict": asdict(verdict), "reproduction": call.reproduction()}
            answers.write(json.dumps(line | {"seconds": seconds}) + "\n")
    os._exit(0)


# -- commands --------------------------------------------------------------------------


def run_jobs(what, draw, first, count, limit, tally):
    """Judge commands on odd files or with odd options, each in its own process."""
    with tempfile.TemporaryDirectory(prefix="robell-fuzz-") as folder:
        bases = Path(folder)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                make_bases(bases)
                status = 0
            finally:
                os._exit(status)
        if wait_for(child, 10 * limit)[0] != 0:
            raise RuntimeError("the model and the study that jobs start from could not be made")
        for seed in range(first, first + count):
            job = draw(seed)
            reproduction = job.reproduction()
            if what == "options":
                reproduction = reproduction.replace("--job", "--option")
            tally.add(what, judge_job(job, bases, limit), reproduction)


def run_kills(first, count, limit, tally):
    """Kill studies and let them go on."""
    kills = Kills(limit)
    for seed in range(first, first + count):
        reproduction = f"{STUDIES[seed % len(STUDIES)]}   [python fuzz/fuzz.py --kill {seed}]"
        tally.add("kills", kills.judge(seed), reproduction)


def run_clusters(first, count, tally):
    """Kill workers and schedulers under fits on Dask."""
    for seed in range(first, first + count):
        reproduction = f"{fault_of(seed)}   [python fuzz/fuzz.py --cluster {seed}]"
        tally.add("clusters", judge_cluster(seed), reproduction)


# -- the script ------------------------------------------------------------------------


def _options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    counts = {"calls": 10_000, "files": 600, "options": 200, "kills": 100, "clusters": 50}
    for name, default in counts.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default:,}")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument(
        "--limit", type=int, default=20, help="processor seconds a case may take (default 20)"
    )
    parser.add_argument("--json", type=Path, help="write the counts to this file too")
    for name in ("call", "job", "option", "kill", "cluster"):
        parser.add_argument(f"--{name}", type=int, metavar="SEED", help="one case alone")
    return parser.parse_args()


def _alone(options, tally):
    """Run the one case asked for; return whether there was one."""
    limit = options.limit
    if options.call is not None:
        print(draw_call(options.call))
        run_calls(options.call, 1, limit, tally)
    elif options.job is not None:
        run_jobs("files", draw_file_job, options.job, 1, limit, tally)
    elif options.option is not None:
        run_jobs("options", draw_option_job, options.option, 1, limit, tally)
    elif options.kill is not None:
        run_kills(options.kill, 1, limit, tally)
    elif options.cluster is not None:
        run_clusters(options.cluster, 1, tally)
    return bool(tally.outcomes)


def _import_all():
    """Import what commands import when they run: forked processes start with all of it."""
    for name in ("pyarrow.parquet", "pyarrow.csv", "pandas", "skops.io", "matplotlib.figure"):
        importlib.import_module(name)
    for found in pkgutil.walk_packages(robell.__path__, "robell."):
        if not found.name.endswith(("_triton", "__main__")):
            importlib.import_module(found.name)


def main():
    """Run what the options say."""
    options, tally, start = _options(), Tally(), time.monotonic()
    _import_all()

    if not _alone(options, tally):
        first, limit = options.first, options.limit
        run_calls(first, options.calls, limit, tally)
        if options.files:
            run_jobs("files", draw_file_job, first, options.files, limit, tally)
        if options.options:
            run_jobs("options", draw_option_job, first, options.options, limit, tally)
        run_kills(first, options.kills, limit, tally)
        run_clusters(first, options.clusters, tally)
    tally.show(time.monotonic() - start)
    if options.json:
        options.json.write_text(json.dumps(tally.as_json(), indent=1), encoding="utf-8")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
