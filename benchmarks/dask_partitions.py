"""The same rows in 60 and in 1,000 Dask partitions: CPU seconds of a fit, and their ratio.

    python benchmarks/dask_partitions.py

Dask's scheduler in this process, one task after the other, so that CPU seconds count all there is:
reading, mapping, reducing, and what Dask itself does.
"""

import time

import dask
import dask.array as da
import numpy as np
from dask_fit import MODELS
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import robell.dask

N_ROWS, N_FEATURES = 200_000, 10


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    y = (X[:, 0] + rng.normal(size=N_ROWS) > 1).astype(int)
    print(f"{N_ROWS:,} x {N_FEATURES} rows{'':8}60 parts  1,000 parts    ratio")
    for name, model in MODELS.items():
        pipeline, found = make_pipeline(StandardScaler(), model), []
        for n_parts in (60, 1000):
            step = -(-N_ROWS // n_parts)
            rows = da.from_array(X, chunks=(step, -1)), da.from_array(y, chunks=step)
            with dask.config.set(scheduler="sync"):
                robell.dask.fit(pipeline, rows[0][:8000], rows[1][:8000])  # loads everything
                start = time.process_time()
                robell.dask.fit(pipeline, *rows)
            found.append(time.process_time() - start)
        print(f"{name:24}{found[0]:10.2f} s{found[1]:11.2f} s{found[1] / found[0]:9.2f}")
    print("goal: at most 3")


if __name__ == "__main__":
    main()
