"""A fit of Parquet files on a Dask LocalCluster, against the same passes in a plain loop.

The files are made here and removed at the end. The loop runs in one process on one core and reads
the same files; its CPU seconds are those of that process. The cluster has two workers of one
thread and 2 GiB each; its CPU seconds are those of its workers. Rows a second a core are rows over
CPU seconds, which a busy machine disturbs less than the clock.
"""

import argparse
import functools
import importlib
import multiprocessing
import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import robell.dask
from robell import RoBellRVFLClassifier, RVFLClassifier
from robell.scale.out_of_core import OutOfCoreFit

MODELS = {
    "RVFL": RVFLClassifier(100, random_state=0),
    "RoBell": RoBellRVFLClassifier(100, kernel_width="scale", random_state=0),
}
N_FEATURES = 20
NAMES = [f"x{j}" for j in range(N_FEATURES)]


def write_part(folder, number, n_rows):
    """Write rows of a mixture of eight Gaussians, 10 % of the minority."""
    import pandas

    rng = np.random.default_rng([7, number])
    centres = np.random.default_rng(7).normal(scale=2.0, size=(8, N_FEATURES))
    y = (rng.random(n_rows) < 0.1).astype(int)
    X = rng.normal(size=(n_rows, N_FEATURES)) + centres[rng.integers(0, 4, n_rows) + 4 * y]
    frame = pandas.DataFrame(X, columns=NAMES).assign(y=y)
    frame.to_parquet(folder / f"part-{number:05}.parquet", index=False)


def estimator(name):
    return make_pipeline(StandardScaler(), MODELS[name])


def plain_loop(name, files, results):
    """Run the passes one file after the other; in a process of its own."""
    import pandas

    import_all()
    start, cpu = time.perf_counter(), time.process_time()
    fit = OutOfCoreFit(estimator(name))
    with threadpool_limits(1):
        for step in fit.passes():
            parts = (pandas.read_parquet(file) for file in files)
            maps = (step.map(part[NAMES].to_numpy(), part["y"].to_numpy()) for part in parts)
            step.finish(functools.reduce(step.reduce, maps))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results.put(
        (time.perf_counter() - start, time.process_time() - cpu, peak, fit.estimator()[-1].coef_)
    )


def in_own_process(target, *arguments):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=target, args=(*arguments, results))
    process.start()
    found = results.get()
    process.join()
    return found


def import_all():
    for name in ("robell.dask", "dask.dataframe", "pandas", "pyarrow.parquet"):
        importlib.import_module(name)


def worker_figures(dask_worker=None):
    usage = resource.getrusage(resource.RUSAGE_SELF)
    # Bytes written to disk in all, not only those there at the end
    spilt = dask_worker.data.cumulative_metrics["disk-write", "bytes"]
    return time.process_time(), usage.ru_maxrss / 1024, spilt


def on_cluster(name, folder):
    import dask.dataframe
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(import_all)  # as the loop has before its clock starts
        rows = dask.dataframe.read_parquet(folder, filesystem="pyarrow")  # Dask's faster reader
        before = client.run(worker_figures)
        start = time.perf_counter()
        model = robell.dask.fit(estimator(name), rows, "y", client)
        wall = time.perf_counter() - start
        after = client.run(worker_figures)
        assert before.keys() == after.keys(), "a worker was killed"
    cpu = sum(after[w][0] - before[w][0] for w in after)
    return (
        wall,
        cpu,
        max(found[1] for found in after.values()),
        sum(found[2] for found in after.values()),
        model[-1].coef_,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--part-rows", type=int, default=100_000)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--folder", type=Path, help="where to put the files (default: temporary)")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="robell-dask-", dir=options.folder))
    try:
        n_parts = max(1, options.rows // options.part_rows)
        for number in range(n_parts):
            write_part(folder, number, options.part_rows)
        n_rows = n_parts * options.part_rows
        files = sorted(folder.glob("*.parquet"))
        size = sum(file.stat().st_size for file in files) / 1e9
        print(f"{n_rows:,} x {N_FEATURES} rows in {n_parts} Parquet files, {size:.2f} GB")
        print(
            f"{'':8}{'':12}{'wall s':>9}{'CPU s':>9}{'rows/s/core':>13}{'peak MB':>9}{'spilt':>7}"
        )
        for name in options.models:
            wall, cpu, peak, coef = in_own_process(plain_loop, name, files)
            loop = n_rows / cpu
            print(f"{name:8}{'plain loop':12}{wall:9.1f}{cpu:9.1f}{loop:13,.0f}{peak:9.0f}{'-':>7}")
            wall, cpu, peak, spilt, found = on_cluster(name, folder)
            rate = n_rows / cpu
            print(f"{'':8}{'2 workers':12}{wall:9.1f}{cpu:9.1f}{rate:13,.0f}{peak:9.0f}{spilt:7}")
            apart = np.abs(found - coef).max()
            print(
                f"{'':8}share of the loop's rate {rate / loop:.0%}, coefficients {apart:.0e} apart"
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
