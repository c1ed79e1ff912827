"""CPU seconds of audit, fit and predict on a raw table, and of readers of raw tables.

Alone: 5,000 x 20 audited and fitted, 100,000 rows predicted. With ``--million``: 1,000,000 x 30
fitted, with its peak memory. With ``--readers``: TableEncoder beside skrub's TableVectorizer.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

WORDS = "refund order late parcel card blocked limit travel hotel night invoice open paid double"
WORDS = np.array(WORDS.split())


def transactions(n, n_numbers=10, seed=0):
    """Return a raw table of transactions, one in twenty of them a fraud."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.05
    time = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500 * 86400, n), "s")
    night = fraud & (rng.random(n) < 0.6)
    time = time.normalize() + pd.to_timedelta(
        np.where(night, rng.integers(0, 5, n), rng.integers(0, 24, n)), "h"
    )
    amount = np.exp(rng.normal(4 + 1.2 * fraud, 1.0))
    shop = np.where(fraud & (rng.random(n) < 0.3), rng.integers(0, 30, n), rng.zipf(1.3, n) % 2000)
    frame = {
        "transaction_id": [f"T{k:08d}" for k in range(n)],
        "amount": [f"{a:,.2f}" for a in amount],
        "time": time.strftime("%d.%m.%Y %H:%M"),
        "country": rng.choice(["DE", "FR", "IT", "ES", "NG", "US", ""], n),
        "merchant": [f"merchant {k}" for k in shop],
        "note": [" ".join(rng.choice(WORDS, 3)) for _ in range(n)],
        "member": rng.choice(["yes", "no"], n),
        "age": np.where(rng.random(n) < 0.15, "", rng.integers(18, 90, n).astype(str)),
        "limit": [f"{v} %" for v in rng.integers(0, 100, n)],
    }
    for k in range(n_numbers):
        frame[f"v{k}"] = np.round(rng.normal(0.8 * fraud * (k < 4), 1.0, n), 4)
    return pd.DataFrame(frame).assign(fraud=np.where(fraud, "yes", "no"))


def run(*arguments):
    """Run a command and return its CPU seconds and its peak memory in MiB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "robell", *map(str, arguments)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, after.ru_maxrss / 1024, done.stdout


def commands(folder):
    table, new = folder / "transactions.csv", folder / "new.csv"
    transactions(5_000).to_csv(table, index=False)
    transactions(100_000, seed=1).drop(columns="fraud").to_csv(new, index=False)
    model = folder / "model.skops"
    for name, arguments in (
        ("audit of 5,000 x 20", ("audit", table, "--target", "fraud", "--out", folder)),
        ("fit of 5,000 x 20, with its report", ("fit", table, "--target", "fraud", "--out", model)),
        ("predict of 100,000 rows", ("predict", model, new, "--out", folder / "p.csv")),
        (
            "the same with probabilities",
            ("predict", model, new, "--out", folder / "p.csv", "--proba"),
        ),
    ):
        seconds, memory, _ = run(*arguments)
        print(f"{name}: {seconds:.1f} CPU seconds, {memory:,.0f} MiB", flush=True)


def million(folder):
    table = folder / "million.csv"
    for part in range(10):
        rows = transactions(100_000, 20, seed=part)
        rows.to_csv(table, index=False, mode="a", header=not part)
    size = table.stat().st_size / 2**20
    seconds, memory, out = run(
        "fit", table, "--target", "fraud", "--out", folder / "m.skops", "--memory", "3GiB"
    )
    print(f"fit of 1,000,000 x 30 ({size:,.0f} MiB): {seconds:.0f} CPU seconds, {memory:,.0f} MiB")
    print(out)


def readers():
    import skrub

    from robell import TableEncoder

    for n in (5_000, 50_000):
        rows = transactions(n)
        X, new = rows.drop(columns="fraud"), transactions(n, seed=1).drop(columns="fraud")
        for name, encoder in (
            ("robell.TableEncoder", TableEncoder()),
            ("skrub.TableVectorizer", skrub.TableVectorizer()),
        ):
            start = time.process_time()
            encoder.fit(X)
            middle = time.process_time()
            numbers = encoder.transform(new)
            end = time.process_time()
            print(
                f"{n:,} rows, {name}: fit {middle - start:.2f}, transform {end - middle:.2f} "
                f"CPU seconds, {numbers.shape[1]} columns",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--readers", action="store_true")
    options = parser.parse_args()
    if options.readers:
        readers()
    else:
        with tempfile.TemporaryDirectory() as folder:
            (million if options.million else commands)(Path(folder))
