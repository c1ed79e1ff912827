"""A fit of one Parquet file larger than memory allows: time and memory by model and rows.

    python benchmarks/files_fit.py --rows 10000000

The file (20 columns in double precision, as in ``dask_fit.py``) is made here in parts and removed
at the end. ``fit_files`` runs in a process of its own with ``memory_limit="512MiB"``, which counts
what the fit takes in addition to Python and its libraries. CPU seconds are those of all threads.
"""

import argparse
import multiprocessing
import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from dask_fit import MODELS, N_FEATURES, NAMES
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

PART = 200_000  # rows written at a time


def write_file(path, n_rows):
    """Write rows of a mixture of eight Gaussians, 10 % of the minority."""
    import pyarrow
    from pyarrow import parquet

    centres = np.random.default_rng(7).normal(scale=2.0, size=(8, N_FEATURES))
    fields = [(name, pyarrow.float64()) for name in NAMES] + [("y", pyarrow.int64())]
    plain = {"use_dictionary": False, "compression": "none"}  # random digits do not compress
    with parquet.ParquetWriter(path, pyarrow.schema(fields), **plain) as writer:
        for number, start in enumerate(range(0, n_rows, PART)):
            rng, n = np.random.default_rng([7, number]), min(PART, n_rows - start)
            y = (rng.random(n) < 0.1).astype(int)
            X = rng.normal(size=(n, N_FEATURES)) + centres[rng.integers(0, 4, n) + 4 * y]
            writer.write_table(pyarrow.table([*X.T, y], names=[*NAMES, "y"]))


def measure(name, path, results):
    """Fit in this process, and say what it took."""
    from robell.files import fit_files

    model = make_pipeline(StandardScaler(), MODELS[name])
    wall, cpu = time.perf_counter(), time.process_time()
    fit_files(model, path, "y", memory_limit="512MiB")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results.put((time.perf_counter() - wall, time.process_time() - cpu, peak))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=["RVFL"])
    parser.add_argument("--folder", type=Path, help="where to put the file (default: temporary)")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="robell-files-", dir=options.folder))
    try:
        path = folder / "table.parquet"
        write_file(path, options.rows)
        print(f"{options.rows:,} x {N_FEATURES} rows, {path.stat().st_size / 1e9:.2f} GB")
        context = multiprocessing.get_context("spawn")
        for name in options.models:
            results = context.Queue()
            process = context.Process(target=measure, args=(name, path, results))
            process.start()
            wall, cpu, peak = results.get()
            process.join()
            print(f"{name:8}{wall:8.1f} s{cpu:8.1f} CPU-s{peak:8.0f} MiB largest process")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("goal: RVFL, 10,000,000 rows: at most 60 s on two cores, 1 GiB")


if __name__ == "__main__":
    main()
