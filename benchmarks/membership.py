"""Time and memory of exact memberships of some rows of 20 columns, in a process of its own."""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n_rows, n_features, n_jobs):
    from robell import pw_gbell_membership

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = (np.arange(n_rows) % 10 == 0).astype(int)
    pw_gbell_membership(X[:600], y[:600], kernel_width="scale")  # load and warm everything
    before = peak_megabytes()
    start, start_cpu = time.perf_counter(), time.process_time()
    pw_gbell_membership(X, y, kernel_width="scale", n_jobs=n_jobs)
    wall, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(n_rows, peak_megabytes() - before, X.nbytes / 2**20, wall, cpu)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[5000, 10_000, 20_000])
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.rows[0], arguments.features, arguments.jobs)
        return
    print(f"{'rows':>8}{'data, MB':>10}{'above it, MB':>14}{'wall, s':>9}{'CPU, s':>9}")
    for n_rows in arguments.rows:
        command = [sys.executable, __file__, "--measure", "--rows", str(n_rows)]
        command += ["--features", str(arguments.features), "--jobs", str(arguments.jobs)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows, above, data, wall, cpu = output.split()
        print(
            f"{rows:>8}{float(data):10.1f}{float(above):14.1f}{float(wall):9.2f}{float(cpu):9.2f}"
        )
    print("goal: at most 200 MB above the data at 20,000 x 20")


if __name__ == "__main__":
    main()
