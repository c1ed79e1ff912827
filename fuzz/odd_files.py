"""Odd tables, model files and study folders for the commands, each built again from its name.

A recipe writes files into an empty folder; a :class:`Job` is a recipe with the command line that
is run there. What the commands may do with them is judged in ``odd_commands.py``.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import zipfile
from dataclasses import dataclass

N_ROWS = 60


@dataclass(frozen=True)
class Job:
    """A command line in a folder that a recipe has filled."""

    seed: int
    recipe: str
    arguments: tuple[str, ...]
    then_predict: bool = False

    def reproduction(self):
        """Return a line that says what is odd, and how to run it again."""
        line = " ".join(a if len(a) < 60 else a[:57] + "..." for a in self.arguments)
        return f"{self.recipe}: robell {line}   [python fuzz/fuzz.py --job {self.seed}]"


# -- tables of text --------------------------------------------------------------------


def table(labels=("no", "yes"), cells=None, names=("a", "b", "c", "y"), n_rows=N_ROWS, sep=","):
    """Return a table as text: three columns of numbers that tell the labels, and the labels."""
    r = random.Random(0)
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=sep, lineterminator="\n")
    writer.writerow(names)
    for k in range(n_rows):
        place = k % len(labels)
        row = [f"{r.gauss(4.0 * place, 1.0):.3f}" for _ in range(3)]
        if cells is not None:
            row[1] = cells(k, row[1])
        writer.writerow([*row, labels[place]])
    return lines.getvalue()


def _now_and_then(cell, every=9):
    return lambda k, plain: cell if k % every == 3 else plain


CELLS = {
    "-": _now_and_then("-"), "n.a.": _now_and_then("n.a."), "#N/A": _now_and_then("#N/A"),
    "a dot": _now_and_then("."), "unknown": _now_and_then("unknown"),
    "empty": _now_and_then(""), "1e999": _now_and_then("1e999"), "inf": _now_and_then("inf"),
    "NaN": _now_and_then("NaN"), "0x10": _now_and_then("0x10"), "1_0": _now_and_then("1_0"),
    "Arabic digits": _now_and_then("١٢"), "full-width digits": _now_and_then("１２"),
    "decimal commas": lambda k, plain: plain.replace(".", ","),
    "percent": lambda k, plain: plain + " %", "a formula": _now_and_then("=cmd|' /C calc'!A0"),
    "escape sequences": _now_and_then("\x1b[2J"), "quotes": _now_and_then('he said "no"'),
    "newlines": _now_and_then("two\nlines"), "one long cell": _now_and_then("x" * 200_000, 61),
    "long cells": _now_and_then("x" * 20_000), "1e308": _now_and_then("1e308"),
    "5e-324": _now_and_then("5e-324"), "16-digit codes": lambda k, plain: str(4 * 10**15 + 7 * k),
    "20-digit codes": lambda k, plain: str(4 * 10**19 + 7 * k),
    "400 digits": _now_and_then("9" * 400), "constant": lambda k, plain: "7",
    "dates": lambda k, plain: f"2020-01-{k % 28 + 1:02d}",
    "dates of year 0": lambda k, plain: f"0000-01-{k % 28 + 1:02d}",
    "leading zeros": lambda k, plain: f"{k:05d}", "booleans": lambda k, plain: str(k % 3 == 0),
}  # fmt: skip
LABELS = {
    "leading zeros": ("01234", "98765"), "leading zeros that merge": ("01", "1"),
    "exponents": ("1e3", "5"), "exponents that merge": ("1e3", "1000"),
    "underscores": ("1_0", "10"), "Arabic digit": ("١", "1"), "signs": ("+1", "1"),
    "1 and 1.0": ("1", "1.0", "2"), "spaces": ("a", "a "), "case": ("a", "A"),
    "whole numbers": ("3", "4"), "negative": ("-1", "1"), "decimals": ("0.5", "1.5"),
    "beyond 2**53": (str(2**53), str(2**53 + 1)), "beyond 2**63": (str(2**63), str(2**63 + 1)),
    "40 digits": ("1" * 40, "1" * 39 + "2"), "booleans": ("true", "false"),
    "True and true": ("True", "true"), "infinite": ("inf", "-inf"), "nan": ("nan", "yes"),
    "NA": ("NA", "yes"), "a blank": (" ", "yes"), "a formula": ("=cmd|' /C calc'!A0", "-2+3"),
    "escape sequences": ("\x1b[31mred", "plain"), "umlauts": ("ü", "u\u0308"),
    "right to left": ("\u202etxt", "abc"), "long": ("a" * 20_000, "b" * 20_000),
    "newlines": ("two\nlines", "one"), "quotes": ('"', "'"), "one class": ("yes",),
    "script": ("<script>alert(1)</script>", "ok"), "dates": ("2020-01-01", "2020-01-02"),
    "hex": ("0x10", "16"), "all different": tuple(f"label {k}" for k in range(N_ROWS)),
}  # fmt: skip


def _wide(n_columns):
    names = ",".join(f"c{k}" for k in range(n_columns))
    rows = [",".join(["1"] * n_columns) + f",{k % 2}" for k in range(3)]
    return "\n".join([names + ",y", *rows]) + "\n"


def _cut(data, share):
    return data[: int(len(data) * share)]


TEXTS = {
    "UTF-8 with a mark": table().encode("utf-8-sig"),
    "UTF-16": table(("ü", "a")).encode("utf-16"),
    "UTF-16 without a mark": table().encode("utf-16-le"),
    "UTF-32": table().encode("utf-32"),
    "cp1252": table(("für", "nein")).encode("cp1252"),
    "cp1252 header": table(names=("größe", "b", "c", "y")).encode("cp1252"),
    "NUL bytes": table().replace(".", "\0").encode(),
    "a NUL label": table(("a\0", "b")).encode(),
    "random bytes": random.Random(1).randbytes(5000),
    "empty": b"", "one newline": b"\n", "spaces": b"   \n  \n", "a mark alone": b"\xef\xbb\xbf",
    "header alone": b"a,b,c,y\n", "header without newline": b"a,b,c,y",
    "one row": b"a,b,c,y\n1,2,3,no\n", "no header": table().split("\n", 1)[1].encode(),
    "names twice": table(names=("a", "a", "c", "y")).encode(),
    "target twice": table(names=("a", "b", "y", "y")).encode(),
    "empty names": table(names=("", "", "c", "y")).encode(),
    "a name of 100,000": table(names=("a" * 100_000, "b", "c", "y")).encode(),
    "odd names": table(names=("=cmd|x", "<b>", "\x1b[31m", "y")).encode(),
    "numbers as names": table(names=("1", "2", "3", "y")).encode(),
    "5,000 columns": _wide(5_000).encode(), "40,000 columns": _wide(40_000).encode(),
    "semicolons": table(sep=";").encode(), "tabs": table(sep="\t").encode(),
    "carriage returns": table().replace("\n", "\r").encode(),
    "two line ends": table().replace("\n", "\r\n", 30).encode(),
    "blank lines": table().replace("\n", "\n\n").encode(),
    "an open quote": table().encode() + b'"1,2,3,no\n' * 40,
    "quotes inside": table().encode() + b'1"2,3,4,no\n',
    "too many cells": table().encode() + b"1,2,3,4,no\n",
    "too few cells": table().encode() + b"1,2\n",
    "trailing commas": table().replace("\n", ",\n").encode(),
    "target alone": b"y\n" + b"a\nb\n" * 40,
    "no newline at the end": table().rstrip().encode(),
    "not UTF-8 labels": table(("xx", "b")).encode().replace(b"xx", b"\xff\xfe"),
}  # fmt: skip
PACKED = {
    "gzip": gzip.compress(table().encode(), mtime=0),
    "gzip cut": _cut(gzip.compress(table().encode(), mtime=0), 0.6),
    "gzip of nothing": gzip.compress(b"", mtime=0),
    "gzip with a flipped byte": bytes(
        b ^ (k == 40) for k, b in enumerate(gzip.compress(table().encode(), mtime=0))
    ),
    "not gzip": table().encode(),
    "gzip of 50 MB of zeros": gzip.compress(b"0" * 50_000_000, mtime=0),
}


# -- Parquet ---------------------------------------------------------------------------


def _parquet(folder, change=None, **columns):
    import pyarrow
    from pyarrow import parquet

    r = random.Random(0)
    data = {
        name: [r.gauss(4.0 * (k % 2), 1.0) for k in range(N_ROWS)] for name in ("a", "b", "c")
    } | {"y": [k % 2 for k in range(N_ROWS)]}
    made = pyarrow.table({**data, **columns})
    parquet.write_table(made if change is None else change(made), folder / "data.parquet")


def _column(name, kind, value):
    def build(folder):
        import pyarrow

        values = [value(k) for k in range(N_ROWS)]
        _parquet(folder, **{name: pyarrow.array(values, kind(pyarrow))})

    return build


def _far_dates(k):
    return (253_402_300_800 + 86_400 * (k % 2)) * 10**6  # the year 10000 in microseconds


PARQUET = {
    "lists": _column("b", lambda pa: pa.list_(pa.int64()), lambda k: [k, k]),
    "structs": _column("b", lambda pa: pa.struct({"u": pa.int64()}), lambda k: {"u": k}),
    "list labels": _column("y", lambda pa: pa.list_(pa.int64()), lambda k: [k % 2]),
    "struct labels": _column("y", lambda pa: pa.struct({"u": pa.int64()}), lambda k: {"u": k % 2}),
    "map labels": _column(
        "y", lambda pa: pa.map_(pa.string(), pa.int64()), lambda k: [("u", k % 2)]
    ),
    "far dates": _column("b", lambda pa: pa.timestamp("us"), _far_dates),
    "far date labels": _column("y", lambda pa: pa.timestamp("us"), _far_dates),
    "dates with a zone": _column("b", lambda pa: pa.timestamp("us", "UTC"), lambda k: k),
    "date labels": _column("y", lambda pa: pa.date32(), lambda k: k % 2),
    "times": _column("b", lambda pa: pa.time64("us"), lambda k: k),
    "durations": _column("b", lambda pa: pa.duration("us"), lambda k: k),
    "far durations": _column("b", lambda pa: pa.duration("s"), lambda k: 2**62),
    "decimals": _column("b", lambda pa: pa.decimal128(38, 2), lambda k: k),
    "decimal labels": _column("y", lambda pa: pa.decimal128(5, 2), lambda k: k % 2),
    "labels of 2**63": _column("y", lambda pa: pa.uint64(), lambda k: 2**63 + k % 2),
    "labels beyond 2**53": _column("y", lambda pa: pa.int64(), lambda k: 2**53 + k % 2),
    "float labels": _column("y", lambda pa: pa.float64(), lambda k: float(k % 2)),
    "NaN labels": _column(
        "y", lambda pa: pa.float64(), lambda k: float("nan") if k == 3 else float(k % 2)
    ),
    "null labels": _column("y", lambda pa: pa.int64(), lambda k: None if k == 3 else k % 2),
    "only null labels": _column("y", lambda pa: pa.null(), lambda k: None),
    "binary labels": _column("y", lambda pa: pa.binary(), lambda k: [b"\xff", b"a"][k % 2]),
    "boolean labels": _column("y", lambda pa: pa.bool_(), lambda k: k % 2 == 0),
    "long labels": _column("y", lambda pa: pa.string(), lambda k: "ab"[k % 2] * 20_000),
    "texts as labels": _column("y", lambda pa: pa.string(), lambda k: ["01", "1"][k % 2]),
    "formulas as labels": _column("y", lambda pa: pa.string(), lambda k: ["=1+1", "@x"][k % 2]),
    "dictionaries": _column(
        "y", lambda pa: pa.dictionary(pa.int8(), pa.string()), lambda k: ["no", "yes"][k % 2]
    ),
    "half floats": _column("b", lambda pa: pa.float16(), lambda k: float(k)),
    "NaN": _column("b", lambda pa: pa.float64(), lambda k: float("nan") if k == 3 else k),
    "nothing but nulls": _column("b", lambda pa: pa.null(), lambda k: None),
    "texts": _column("b", lambda pa: pa.string(), lambda k: f"t{k % 4}"),
    "big numbers": _column("b", lambda pa: pa.uint64(), lambda k: 2**64 - 1 - k),
    "no row": lambda folder: _parquet(folder, lambda made: made.slice(0, 0)),
    "no column": lambda folder: _parquet(folder, lambda made: made.select([])),
    "names twice": lambda folder: _parquet(
        folder, lambda made: made.rename_columns(["a", "a", "c", "y"])
    ),
}


def _damaged_parquet(change):
    def build(folder):
        _parquet(folder)
        path = folder / "data.parquet"
        path.write_bytes(change(path.read_bytes()))

    return build


PARQUET |= {
    "cut": _damaged_parquet(lambda data: _cut(data, 0.7)),
    "cut at 4 bytes": _damaged_parquet(lambda data: data[:4]),
    "not Parquet": _damaged_parquet(lambda data: b"PAR1" + bytes(100) + b"PAR1"),
    "a flipped byte in the rows": _damaged_parquet(
        lambda data: bytes(b ^ (255 * (k == 200)) for k, b in enumerate(data))
    ),
    "flipped bytes in the schema": _damaged_parquet(
        lambda data: bytes(
            b ^ (9 * (k > len(data) - 300 and k % 50 == 0)) for k, b in enumerate(data)
        )
    ),
}  # fmt: skip


# -- special files ---------------------------------------------------------------------


def _pipe(folder):
    os.mkfifo(folder / "data.csv")


def _link_to_nothing(folder):
    (folder / "data.csv").symlink_to("nowhere.csv")


def _link_to_itself(folder):
    (folder / "data.csv").symlink_to("data.csv")


SPECIAL = {
    "a pipe nobody writes to": _pipe,
    "a link to nothing": _link_to_nothing,
    "a link to itself": _link_to_itself,
    "a folder": lambda folder: (folder / "data.csv").mkdir(),
    "a device": lambda folder: (folder / "data.csv").symlink_to("/dev/null"),
    "an endless device": lambda folder: (folder / "data.csv").symlink_to("/dev/zero"),
}


# -- model files -----------------------------------------------------------------------


def _repacked(data, change, leave=()):
    """Return a zip with its members changed: change(name, bytes) gives the new bytes."""
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(found, "w") as new:
        for name in old.namelist():
            if name not in leave:
                new.writestr(name, change(name, old.read(name)), zipfile.ZIP_DEFLATED)
    return found.getvalue()


def _array(change):
    def build(data):
        import numpy as np

        def other(name, member):
            if not name.endswith(".npy"):
                return member
            kept = io.BytesIO()
            with np.errstate(all="ignore"):
                np.save(kept, change(np.load(io.BytesIO(member))), allow_pickle=False)
            return kept.getvalue()

        return _repacked(data, other)

    return build


def _schema(old, new):
    return lambda data: _repacked(
        data, lambda name, member: member.replace(old, new) if name == "schema.json" else member
    )


def _flipped(place):
    return lambda data: bytes(b ^ (k == int(place * len(data))) for k, b in enumerate(data))


MODELS = {
    "as it was": lambda data: data,
    "cut to half": lambda data: _cut(data, 0.5),
    "cut at the end": lambda data: data[:-1],
    "empty": lambda data: b"",
    "more behind it": lambda data: data + b"x" * 100,
    "no zip": lambda data: b"PK\3\4" + bytes(500),
    "an empty zip": lambda data: _repacked(
        data, None, zipfile.ZipFile(io.BytesIO(data)).namelist()
    ),
    "no schema": lambda data: _repacked(data, lambda name, member: member, ("schema.json",)),
    "arrays of one number": _array(lambda array: array.ravel()[:1]),
    "arrays without rows": _array(lambda array: array.reshape(-1)[:0]),
    "arrays of NaN": _array(
        lambda array: array * float("nan") if array.dtype.kind == "f" else array
    ),
    "arrays of infinity": _array(
        lambda array: array * float("inf") if array.dtype.kind == "f" else array
    ),
    "arrays of integers": _array(
        lambda array: array.astype("i1", casting="unsafe") if array.dtype.kind == "f" else array
    ),
    "arrays of texts": _array(lambda array: array.astype("U3")),
    "arrays turned": _array(lambda array: array.T),
    "arrays of more dimensions": _array(lambda array: array[None]),
    "another class": _schema(b'"RVFLClassifier"', b'"GridSearchCV"'),
    "another module": _schema(b'"robell.models.rvfl"', b'"os"'),
    "another activation": _schema(b"sigmoid", b"no such"),
    "no fitted attribute": _schema(b'"coef_"', b'"coef_x"'),
    "no steps": _schema(b'"steps"', b'"stops"'),
}  # fmt: skip
MODELS |= {
    "a schema of another shape": lambda data: _repacked(
        data, lambda name, member: b"[1, 2]" if name == "schema.json" else member
    ),
    "a deep schema": lambda data: _repacked(
        data, lambda name, member: b"[" * 100_000 if name == "schema.json" else member
    ),
    "unpacks to 600 MB": lambda data: _repacked(
        data, lambda name, member: member + bytes(600_000_000) if name.endswith(".npy") else member
    ),
}
MODELS |= {f"a bit flipped at {place:.2f}": _flipped(place) for place in
           (0.01, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.9, 0.95, 0.99)}  # fmt: skip


# -- study folders ---------------------------------------------------------------------


def _line(change, which=0):
    def build(folder):
        path = folder / "records.jsonl"
        lines = path.read_bytes().split(b"\n")
        lines[which] = change(lines[which])
        path.write_bytes(b"\n".join(lines))

    return build


def _record(change):
    def other(line):
        record = json.loads(line)
        return json.dumps(change(record)).encode()

    return _line(other)


def _file(name, data):
    return lambda folder: (folder / name).write_bytes(data)


STUDIES = {
    "as it was": lambda folder: None,
    "a blank line": _line(lambda line: line + b"\n"),
    "blank lines at the end": _line(lambda line: b"\n\n", -1),
    "half a line at the end": _line(lambda line: b'{"key": "x', -1),
    "a flipped bit": _line(lambda line: bytes(b ^ (k == 30) for k, b in enumerate(line))),
    "a flipped bit in a number": _line(lambda line: line.replace(b'"tp": ', b'"tp":-', 1)),
    "not UTF-8": _line(lambda line: b"\xff" + line),
    "a list": _line(lambda line: b"[1, 2]"),
    "a number": _line(lambda line: b"7"),
    "a key that is a number": _record(lambda record: record | {"key": 3}),
    "a key that is a list": _record(lambda record: record | {"key": [1]}),
    "no job": _record(lambda record: {k: v for k, v in record.items() if k != "job"}),
    "a job that is a list": _record(lambda record: record | {"job": [1]}),
    "no outcome": _record(lambda record: {k: v for k, v in record.items() if k != "outcome"}),
    "an outcome that is a text": _record(lambda record: record | {"outcome": "good"}),
    "an outcome of NaN": _record(lambda record: record | {"outcome": {"a": float("nan")}}),
    "no status": _record(lambda record: {k: v for k, v in record.items() if k != "status"}),
    "a status that is a number": _record(lambda record: record | {"status": 5}),
    "failed": _record(lambda record: record | {"status": "failed", "error": "<b>\n\x1b[31m"}),
    "a job of an unknown set": _record(
        lambda record: record | {"job": record["job"] | {"dataset": "no such"}}
    ),
    "a job of an unknown model": _record(
        lambda record: record | {"job": record["job"] | {"model": "<script>"}}
    ),
    "no record": _file("records.jsonl", b""),
    "run.json is a list": _file("run.json", b"[1, 2]"),
    "run.json is empty": _file("run.json", b""),
    "run.json lacks all": _file("run.json", b"{}"),
    "run.json is no UTF-8": _file("run.json", b"\xff\xfe"),
    "study.json is a list": _file("study.json", b"[1, 2]"),
    "study.json is empty": _file("study.json", b""),
    "study.json of another study": _file("study.json", b'{"study": "other"}'),
    "a deep record": _line(lambda line: b"[" * 100_000),
}
