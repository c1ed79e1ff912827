"""A CSV file read: CPU seconds and peak memory, by the reader of tables and by Python's csv.

    python benchmarks/reading.py --rows 300000

The file has 30 columns (24 of numbers, 4 categories, a date, a label). Every way to read it runs in
a process of its own; memory is what the process takes beyond Python and its libraries at the most.
"whole": all rows, cells as texts of Arrow; "cells": all rows, every cell as a text of Python;
"encoded": all rows, as columns of numbers for a model; "sample": 20,000 rows, drawn while all are
read; "parts": all rows in parts; "csv": all rows as lists of Python's csv, column by column.
"""

import argparse
import csv
import multiprocessing
import re
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import numpy as np

MANY = 10**9


def write_file(path, n_rows):
    """Write numbers of four decimals, levels, dates and labels."""
    rng = np.random.default_rng(0)
    columns = [np.char.mod("%.4f", rng.normal(size=n_rows) * 10 ** (k % 4)) for k in range(24)]
    columns += [rng.choice(["red", "green", "blue", "a longer level"], n_rows) for _ in range(4)]
    days = [str(date(2024, 1, 1) + timedelta(days=k)) for k in range(700)]
    columns += [rng.choice(days, n_rows), rng.choice(["no", "yes"], n_rows)]
    names = [*(f"x{k}" for k in range(24)), *"abcd", "day", "y"]
    with path.open("w", newline="") as file:
        csv.writer(file).writerow(names)
        file.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))


def whole(path):
    from robell.tables.read import read_table

    return read_table(path, "y", max_rows=MANY)


def cells(path):
    return [column.cells for column in whole(path).columns]


def encoded(path):
    from robell import TableEncoder

    table = whole(path)
    encoder = TableEncoder()
    encoder._fit_columns(list(table.columns), table.rows, ",", None)
    return encoder._transform_columns(list(table.columns))


def sample(path):
    from robell.tables.read import read_table

    return read_table(path, "y", max_rows=20_000)


def parts(path):
    from robell.tables.read import table_parts

    return sum(len(part.rows) for part in table_parts(path, "y"))


def by_csv(path):
    with path.open(newline="") as file:
        return [list(column) for column in zip(*csv.reader(file, strict=True), strict=True)]


WAYS = {"whole": whole, "cells": cells, "encoded": encoded, "sample": sample, "parts": parts}
WAYS["csv"] = by_csv


def measured(name, path, answers):
    """Run one way to read the file; put CPU seconds and MB into the queue."""
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401

    import robell.tables.encoder  # noqa: F401

    before, start = peak_memory(), time.process_time()
    held = WAYS[name](path)
    answers.put((time.process_time() - start, peak_memory() - before))
    del held


def peak_memory():
    """Return the most memory, in MB, that this process has had (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_file(path, options.rows)
        print(f"{options.rows:,} x 30, {path.stat().st_size / 1e6:.0f} MB")
        print("| way | CPU seconds | MB |\n|---|---|---|")
        for name in WAYS:
            answers = context.Queue()
            process = context.Process(target=measured, args=(name, path, answers))
            process.start()
            seconds, size = answers.get()
            process.join()
            print(f"| {name} | {seconds:.2f} | {size:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
