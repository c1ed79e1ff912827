"""CPU-seconds of ten models of the family under nested splits, on sets at hand, one split of each.

Run: python benchmarks/nested_study.py [--data-dir DIR] [NAME ...]
By default all of the paper's sets that can be had.
"""

import argparse
import tempfile

from robell import compare
from robell.datasets import DatasetUnavailable, load, paper_names

MODELS = ["rvfl", "elm", "nf", "crvfl", "acrvfl", "gb", "robell", "ifrvfl", "r2vfl", "edrvfl"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--data-dir")
    options = parser.parse_args()
    tables = {}
    for name in options.names or paper_names():
        try:
            found = load(name, options.data_dir, download=False)
        except DatasetUnavailable:
            continue
        if not found.stand_in:
            tables[name] = (found.X, found.y)
    how = {"protocol": "nested", "repeats": 1, "out": tempfile.mkdtemp(), "progress": False}
    done = compare(tables, MODELS, **how)
    total, extra = 0.0, 0.0
    for model in MODELS:
        seconds = [r["seconds"] for r in done.results.done if r["job"]["model"] == model]
        cpu = sum(one["cpu"] for one in seconds)
        total += cpu
        extra += sum(one["on_test_rows"] for one in seconds)
        print(f"{model:8} {cpu:8.1f} CPU-seconds on {len(seconds)} sets", flush=True)
    n = len(done.results.datasets)
    print(f"{total:.0f} CPU-seconds on {n} sets, {total / n:.1f} a set and split")
    print(f"of which about {extra:.0f} s (by the clock) for what tuning on the test rows would add")


if __name__ == "__main__":
    main()
