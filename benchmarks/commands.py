"""CPU seconds of commands in processes of their own, the start of Python included.

    python benchmarks/commands.py

`robell audit` of 1,500 x 8, 20,000 x 12 and 2,000 x 2 with 200 classes, `robell fit` of 1,500 x 8
and 20,000 x 12 with its report, and `robell predict` of 200,000 rows with the second model, with
probabilities and with reasons; beside them the import of scikit-learn and of skops alone, without
which no model is fitted and none is saved.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def write_table(path, n_rows, n_columns, seed):
    """Write numbers of four decimals, a category, a town, and labels of which 5 % are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns - 2))
    score = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n_rows)
    label = (score > 0.7) ^ (rng.random(n_rows) < 0.05)
    columns = {f"x{k}": np.char.mod("%.4f", X[:, k]) for k in range(n_columns - 2)}
    columns |= {"colour": rng.choice(["red", "green", "blue", "a longer level"], n_rows)}
    columns |= {"town": np.char.mod("town %d", rng.integers(0, 40, n_rows))}
    columns |= {"y": np.where(label, "yes", "no")}
    with path.open("w") as file:
        file.write(",".join(columns) + "\n")
        file.writelines(",".join(row) + "\n" for row in zip(*columns.values(), strict=True))


def write_many_classes(path, n_rows, n_classes):
    """Write two columns of numbers around a centre for each of many classes."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, n_classes, n_rows)
    X = rng.normal(scale=10, size=(n_classes, 2))[label] + rng.normal(size=(n_rows, 2))
    lines = (f"{a:.4f},{b:.4f},c{k}" for (a, b), k in zip(X, label, strict=True))
    path.write_text("\n".join(["a,b,y", *lines]) + "\n")


def cpu_seconds(*arguments):
    """Return the CPU seconds of a process of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *map(str, arguments)]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(command, check=True, capture_output=True, env=alone)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        small, large, new, many = (
            folder / f"{name}.csv" for name in ("small", "large", "new", "many")
        )
        write_table(small, 1_500, 8, 0)
        write_table(large, 20_000, 12, 0)
        write_table(new, 200_000, 12, 1)
        write_many_classes(many, 2_000, 200)
        model, out = folder / "m.skops", folder / "p.csv"
        fit, predict = ["-m", "robell", "fit"], ["-m", "robell", "predict", model, new]
        audit = ["-m", "robell", "audit", "--target", "y", "--out", folder]
        ways = {
            "import scikit-learn": ["-c", "import sklearn.base, sklearn.pipeline"],
            "import scikit-learn and skops": ["-c", "import sklearn.base, skops.io"],
            "audit 1,500 x 8": [*audit, small],
            "audit 20,000 x 12": [*audit, large],
            "audit 2,000 x 2, 200 classes": [*audit, many],
            "fit 1,500 x 8": [*fit, small, "--target", "y", "--out", model],
            "fit 20,000 x 12": [*fit, large, "--target", "y", "--out", model],
            "predict 200,000 rows": [*predict, "--proba", "--out", out],
            "the same, --explain 3": [*predict, "--explain", 3, "--out", out],
        }
        for name, arguments in ways.items():
            seconds = [cpu_seconds(*arguments) for _ in range(repeats)]
            print(f"{name:32}{np.median(seconds):8.2f} s", flush=True)


if __name__ == "__main__":
    main()
