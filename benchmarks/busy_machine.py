"""Commands on a machine whose cores other programs keep busy, beside the same with one BLAS thread.

    python benchmarks/busy_machine.py                 medians of three
    python benchmarks/busy_machine.py --repeats 7 --idle

As many processes as there are cores count in a loop. Each command is then run as a user does, and
with OPENBLAS_NUM_THREADS=1, in turn; printed are wall times and their ratio, which is to be 1.3 at
most. Threads of BLAS wait for each other in loops of their own, so with several of them a command
took up to ten times as long. ``--idle`` keeps no core busy: what the limit costs or gains then.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

IN_PYTHON = """
import sys, pandas as pd
from robell import audit, find_label_issues, fit_table
data = pd.read_csv(sys.argv[2])
if sys.argv[1] == "find_label_issues":
    find_label_issues(data.drop(columns="y").to_numpy(), data["y"].to_numpy(), random_state=0)
else:
    {"audit": audit, "fit_table": fit_table}[sys.argv[1]](data, "y")
"""


def write_table(path, n_rows, n_columns, seed=0):
    """Write a table of numbers with two classes, a tenth of the labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    y = X[:, 0] + np.square(X[:, 1]) + 0.5 * rng.normal(size=n_rows) > 1.0
    y ^= rng.random(n_rows) < 0.1
    frame = pd.DataFrame(X.round(4), columns=[f"x{k}" for k in range(n_columns)])
    frame.assign(y=np.where(y, "yes", "no")).to_csv(path, index=False)
    return path


@contextmanager
def busy(n_processes):
    """Keep so many cores busy."""
    # They end with this process, however that ends.
    loop = [sys.executable, "-c", "import os; own = os.getppid()\nwhile os.getppid() == own: pass"]
    processes = [subprocess.Popen(loop) for _ in range(n_processes)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def seconds(command, one_thread):
    """Return the wall time of a command."""
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    if one_thread:
        environment["OPENBLAS_NUM_THREADS"] = "1"
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return time.perf_counter() - start


def commands(folder):
    """Return name -> command line; each needs what those before have written."""
    small = write_table(folder / "small.csv", 1_500, 8)
    large = write_table(folder / "large.csv", 20_000, 12)
    new = write_table(folder / "new.csv", 200_000, 12, seed=1)
    model, out = folder / "model.skops", folder / "predicted.csv"

    def robell(*arguments):
        return [sys.executable, "-m", "robell", *map(str, arguments), "--quiet"]

    def python(what, table):
        return [sys.executable, "-c", IN_PYTHON, what, str(table)]

    return {
        "robell audit, 1,500 x 8": robell("audit", small, "--target", "y", "--out", folder),
        "robell audit, 20,000 x 12": robell("audit", large, "--target", "y", "--out", folder),
        "robell fit, 20,000 x 12": robell("fit", large, "--target", "y", "--out", model, "--force"),
        "robell predict --explain 3, 200,000": robell(
            "predict", model, new, "--out", out, "--explain", "3", "--force"
        ),
        "find_label_issues, 20,000 x 12": python("find_label_issues", large),
        "audit, 20,000 x 12": python("audit", large),
        "fit_table, 20,000 x 12": python("fit_table", large),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--idle", action="store_true", help="keep no core busy")
    arguments = parser.parse_args()
    n_busy = 0 if arguments.idle else len(os.sched_getaffinity(0))
    print(f"{n_busy} processes keep cores busy; wall seconds, medians of {arguments.repeats}")
    print(f"{'':38}{'as it is':>10}{'one thread':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(Path(folder)).items():
            seconds(command, True)  # so that files are in memory
            with busy(n_busy):
                found = [
                    [seconds(command, one) for one in (False, True)]
                    for _ in range(arguments.repeats)
                ]
            plain, one = np.median(found, axis=0)
            print(f"{name:38}{plain:10.1f}{one:12.1f}{plain / one:8.2f}", flush=True)


if __name__ == "__main__":
    main()
