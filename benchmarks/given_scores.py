"""How long the page of 30 models on 60 tables takes: CPU-seconds after the packages are loaded.

Run: python benchmarks/given_scores.py
"""

import tempfile
import time

import numpy as np
import pandas as pd

from robell import compare_scores


def main():
    random = np.random.default_rng(0)
    scores = random.normal(0.8, 0.05, (60, 1)) + random.normal(0, 0.03, (60, 30))
    frame = pd.DataFrame(np.clip(scores, 0, 1), columns=[f"model {k}" for k in range(30)])
    frame.insert(0, "table", [f"table {k}" for k in range(60)])
    compare_scores(frame[["table", "model 0", "model 1", "model 2"]], metric="accuracy",
                   out=tempfile.mkdtemp())  # fmt: skip
    for _ in range(3):
        start, wall = time.process_time(), time.perf_counter()
        compare_scores(frame, metric="accuracy", out=tempfile.mkdtemp())
        cpu, took = time.process_time() - start, time.perf_counter() - wall
        print(f"{cpu:.2f} CPU-seconds, {took:.2f} s")


if __name__ == "__main__":
    main()
