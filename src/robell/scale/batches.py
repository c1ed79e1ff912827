"""Rows and labels of CSV and Parquet files, a batch at a time, however large the files are."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from robell._tools.files import FileError, copy_pipe, file_state
from robell._tools.text import did_you_mean
from robell.tables.numerals import number, plain_number
from robell.tables.raw import one_line
from robell.tables.read_csv import records_of, text_batches

LONGEST_LABEL = 1_000  # characters; labels are kept side by side, each as wide as the longest


def encoded(column, path, name, start):
    """Return the distinct values of a column, and each row's place among them."""
    import pyarrow

    if column.null_count:
        row = start + int(np.argmax(np.asarray(column.is_null())))
        raise FileError(f"{path}: row {row + 1} has no label in column {name!r}")
    if not pyarrow.types.is_dictionary(column.type):
        column = _simple_text(column).dictionary_encode()
    values = _simple_text(column.dictionary)
    if values.type.id in written_types():
        values = values.cast(pyarrow.string())  # as a CSV file would hold it
    values = values.to_pylist()
    if any(isinstance(value, str) and len(value) > LONGEST_LABEL for value in values):
        raise FileError(
            f"{path}: column {name!r} holds texts of more than {LONGEST_LABEL:,} characters, which "
            "are no class labels"
        )
    if any(value != value for value in values):
        raise FileError(f"{path}: column {name!r} holds NaN, which is no label")
    return values, np.asarray(column.indices)


def _simple_text(column):
    """Return texts of the kind that Arrow can encode and take from; anything else as it is."""
    import pyarrow

    return column.cast(pyarrow.string()) if str(column.type) == "string_view" else column


def written_types():
    """Return the types of labels that are taken as their text: dates, times and decimals."""
    from pyarrow import lib

    names = "DATE32 DATE64 TIMESTAMP TIME32 TIME64 DECIMAL32 DECIMAL64 DECIMAL128 DECIMAL256"
    return {getattr(lib, f"Type_{name}", None) for name in names.split()}


def _read_labels(texts):
    """Return text -> label: numbers where all are spelt plainly, otherwise the texts themselves."""
    numbers = {text: n for text in texts if (n := plain_number(text)) is not None}
    if len(numbers) == len(texts):
        if all("." not in text and abs(n) < 2**63 for text, n in numbers.items()):
            return {text: int(text) for text in texts}
        of_one_spelling = all(repr(float(text)) == text for text in texts)
        # Fractions are measured rather than labelled: as numbers they are refused as such.
        if of_one_spelling or any(n != n.to_integral_value() for n in numbers.values()):
            return {text: float(text) for text in texts}
    return {text: text for text in texts}


def typed_labels(counts, target, from_text):
    """Return raw value -> label, and how often each label occurs.

    Texts of a CSV file are numbers where all are spelt plainly, as 7 and 8 are; otherwise they
    stay as they are written, so that 01, 1 and 1.0 are three labels.
    """
    raw = list(counts)
    kinds = {type(value) for value in raw}
    if len(kinds) > 1 and kinds - {int, float}:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise FileError(f"column {target!r} is of different kinds in different files: {names}")
    labels = _read_labels(raw) if kinds == {str} and from_text else {value: value for value in raw}
    totals: Counter[Any] = Counter()
    for value, label in labels.items():
        totals[label] += counts[value]
    return labels, dict(sorted(totals.items()))


# -- rows of CSV and Parquet files, a batch at a time, however large the files are


SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq")
MOST_CLASSES = 10_000  # a target with more distinct values is no class label
LONGEST_ERROR = 300  # characters; Arrow quotes the whole cell
PARQUET_BUFFER = 1 << 16  # bytes of a Parquet column read at a time
ARROW_ROWS = 1 << 13  # rows of a Parquet file decoded at a time


def find_files(paths):
    """Return the files that paths, folders and patterns (data/part-*.csv) name, each once."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = []
    for path in given:
        path = Path(path)
        if path.is_dir():
            found = sorted(p for p in path.iterdir() if _is_table(p) and p.name[0] not in "._")
            if not found:
                raise FileError(f"{path}: the folder holds no .csv or .parquet file")
        elif path.is_file() or path.is_fifo():
            found = [path]
        else:
            found = sorted(Path(p) for p in glob.glob(str(path)))
            if not found:
                raise FileError(f"{path}: there is no such file")
        files.extend(found)
    if not files:
        raise FileError("no file was given")
    for path in files:
        if not _is_table(path) and not path.is_fifo():  # <(...) of a shell is called 63
            raise FileError(f"{path}: not a table; its name must end in {', '.join(SUFFIXES)}")
    return list(dict.fromkeys(files))


def _is_table(path):
    return path.name.lower().endswith(SUFFIXES)


class Tables:
    """Several files of the same columns, read as one table."""

    def __init__(self, paths, target=None, columns=None):
        self.target = target
        self.files = [_open(path) for path in find_files(paths)]
        first = self.files[0]
        if target is not None:
            for file in self.files:
                _require_columns(file, [target])
        if columns is None:
            self.columns = [name for name in first.columns if name != target]
            if not self.columns:
                raise FileError(f"{first.path}: there is no column except the target")
        else:
            self.columns = list(columns)
        known = {*self.columns, target}
        self.extra = [name for name in first.columns if name not in known]
        for file in self.files:
            _require_columns(file, self.columns)
            more = [name for name in file.columns if name not in known]
            if columns is None and more:
                raise FileError(f"{file.path}: column {more[0]!r} is not in {first.path}")
            if isinstance(file, _ParquetFile):  # of text only reading tells what it holds
                file.require_kinds(self.columns, target)

    def count(self):
        """Return the number of rows, or None where only reading them would tell."""
        counts = [file.n_rows for file in self.files]
        return None if None in counts else sum(counts)

    def labels(self):
        """Read the target alone: return its distinct values and how often each occurs."""
        counts: Counter[Any] = Counter()
        for file in self.files:
            start = 0
            for batch in file.arrow_batches([], self.target):
                values, places = encoded(batch.column(0), file.path, self.target, start)
                found = np.bincount(places, minlength=len(values)).tolist()
                for value, count in zip(values, found, strict=True):
                    counts[value] += count  # a value may be there twice, as 0.0 and -0.0 are
                start += batch.num_rows
                if len(counts) > MOST_CLASSES:
                    raise FileError(
                        f"{file.path}: column {self.target!r} has more than {MOST_CLASSES:,} "
                        "distinct values: it holds no class labels"
                    )
        if not counts:
            raise FileError(f"{self.files[0].path}: there is no row in it")
        return typed_labels(counts, self.target, all(isinstance(f, _CsvFile) for f in self.files))

    def batches(self, n_rows, labels=None):
        """Yield batches of at most ``n_rows`` rows, with y where given what ``labels`` found."""
        X, y, filled = self._buffers(n_rows, labels)
        for part, part_y in self._pieces(labels):
            at = 0
            while at < len(part):
                here = slice(at, at + n_rows - filled)
                there = slice(filled, filled + len(part[here]))
                X[there] = part[here]
                if y is not None:
                    y[there] = part_y[here]
                at, filled = at + len(part[here]), there.stop
                if filled == n_rows:
                    yield X, y
                    X, y, filled = self._buffers(n_rows, labels)
        if filled:
            yield X[:filled], None if y is None else y[:filled]

    def _buffers(self, n_rows, labels):
        kind = None if labels is None else np.array(list(labels.values())).dtype
        y = None if labels is None else np.empty(n_rows, kind)
        return np.empty((n_rows, len(self.columns))), y, 0

    def _pieces(self, labels):
        """Yield rows and labels as they come from the files."""
        for file in self.files:
            file.require_unchanged()
            start = 0
            for batch in file.arrow_batches(self.columns, None if labels is None else self.target):
                X, y = _numbers(batch, self.columns, file.path, start), None
                if labels is not None:
                    raw = batch.column(len(self.columns))
                    values, places = encoded(raw, file.path, self.target, start)
                    if not all(value in labels for value in values):
                        raise FileError(f"{file.path}: the file was changed while it was read")
                    y = np.array([labels[value] for value in values])[places]
                yield X, y
                start += batch.num_rows
            file.require_unchanged()  # nor while this pass read it, which may be the last


def _require_columns(file, names):
    known = set(file.columns)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, file.columns)
            if len(known) == 1 and isinstance(file, _CsvFile):
                hint = f", only {file.columns[0]!r}; columns must be separated by commas"
            raise FileError(f"{file.path}: there is no column {name!r}{hint}")


def _numbers(batch, columns, path, start):
    """Return columns as an array of finite numbers, or say where one is not."""
    X = np.empty((batch.num_rows, len(columns)))
    for place in range(len(columns)):
        X[:, place] = batch.column(place).to_numpy(zero_copy_only=False)  # null becomes NaN
    if not np.isfinite(X).all():
        row, place = np.argwhere(~np.isfinite(X))[0]
        what = "no value" if np.isnan(X[row, place]) else "an infinite value"
        raise FileError(
            f"{path}: row {start + row + 1} has {what} in column {columns[place]!r}: impute or "
            "drop such rows first"
        )
    return X


# -- formats ---------------------------------------------------------------------------


def _open(path):
    """Open a file; of what comes through a pipe a copy, since files are read more than once."""
    if not path.is_fifo():
        if path.exists() and not path.is_file():
            raise FileError(f"{path}: is a device, not a file")
        return _open_as(path, path)
    folder = Path(tempfile.mkdtemp(prefix="robell-"))
    try:
        file = _open_as(path, copy_table(path, folder / "table"))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(file, shutil.rmtree, folder, ignore_errors=True)
    return file


def _open_as(path, content):
    """Open what a path stands for, the file itself or a copy, as the name of that says."""
    if not content.stat().st_size:
        raise FileError(f"{path}: the file is empty")
    is_text = content.name.lower().endswith((".csv", ".csv.gz"))
    return (_CsvFile if is_text else _ParquetFile)(path, content)


def copy_table(path, copy):
    """Return a copy of what comes through a pipe; the ending of its name says what it holds."""
    copy = copy_pipe(path, copy)
    with copy.open("rb") as file:
        magic = file.read(4)
    suffix = ".csv.gz" if magic[:2] == b"\x1f\x8b" else ".csv"
    return copy.rename(f"{copy}{'.parquet' if magic == b'PAR1' else suffix}")


class _File:
    """One file: its columns, and its rows in batches; ``content`` is where they are read from."""

    n_rows: int | None = None
    _read_columns: Callable[[], list[str]]
    _batches: Callable[..., Iterator[Any]]

    def __init__(self, path, content):
        self.path, self.content = path, content
        self._seen = file_state(content)
        with self._guarded():
            self.columns = self._read_columns()
        twice = [name for name, count in Counter(self.columns).items() if count > 1]
        if twice:
            raise FileError(f"{path}: there are two columns {twice[0]!r}")

    def require_unchanged(self):
        """Raise if the file is not the one of the first look: passes must see the same rows."""
        if file_state(self.content) != self._seen:
            raise FileError(f"{self.path}: the file was changed while it was read")

    @contextmanager
    def _guarded(self):
        """Turn what may go wrong while the file is read into one line that names it."""
        import pyarrow

        try:
            yield
        except FileNotFoundError as error:
            raise FileError(f"{self.path}: the file has gone") from error
        except (pyarrow.ArrowException, OSError, EOFError, zlib.error) as error:
            raise FileError(f"{self.path}: {one_line(error)[:LONGEST_ERROR]}") from error

    def arrow_batches(self, columns, target=None):
        """Yield Arrow record batches of some columns, in their order, and of the target."""
        with self._guarded():
            yield from self._batches(columns, target)


class _CsvFile(_File):
    def _read_columns(self):
        with self._as_utf8():
            self._header = next(records_of(self.content, "utf-8", ","))
        return self._header.cells

    @contextmanager
    def _as_utf8(self):
        """Say what to do with text of another encoding; a file that came by a pipe has its name."""
        try:
            yield
        except FileError as error:
            text, parameter, _ = error.parts
            text = text.replace(str(self.content), str(self.path), 1)
            if parameter == "encoding":
                text = f"{text.partition(';')[0]}: write it as UTF-8 first"
            raise FileError(text) from error

    def _batches(self, columns, target):
        import pyarrow
        from pyarrow import compute, csv

        gone = pyarrow.array(csv.ConvertOptions().null_values)
        wanted = [*columns] if target is None else [*columns, target]
        places = [self.columns.index(name) for name in wanted]
        numbers = places[: len(columns)]
        start = 0
        with self._as_utf8():
            for batch, _ in text_batches(self.content, "utf-8", ",", self._header, places, numbers):
                arrays = [
                    self._numbers(array, name, gone, start)
                    for name, array in zip(columns, batch.columns, strict=False)
                ]
                if target is not None:
                    labels = batch.columns[-1]
                    is_gone = compute.is_in(labels, value_set=gone)
                    arrays.append(compute.if_else(is_gone, None, labels))
                yield pyarrow.record_batch(arrays, wanted)
                start += batch.num_rows

    def _numbers(self, array, name, gone, start):
        """Return texts as numbers, null for none; raise where one spells no number."""
        import pyarrow
        from pyarrow import compute

        if array.type == pyarrow.float64():
            return array
        array = compute.utf8_trim_whitespace(array)
        array = compute.if_else(compute.is_in(array, value_set=gone), None, array)
        try:
            return array.cast(pyarrow.float64())
        except pyarrow.ArrowInvalid as error:
            texts = enumerate(array.to_pylist(), start + 1)
            row, text = next((k, t) for k, t in texts if t is not None and number(t) is None)
            raise FileError(
                f"{self.path}: column {name!r} is not numeric: row {row} holds {text[:80]!r}"
            ) from error


class _ParquetFile(_File):
    def _read_columns(self):
        from pyarrow import parquet

        with parquet.ParquetFile(self.content) as file:
            self.schema, self.n_rows = file.schema_arrow, file.metadata.num_rows
        return list(self.schema.names)

    def require_kinds(self, columns, target):
        """Raise for a column that is not numeric, and a target whose cells cannot be labels."""
        from pyarrow import types

        plain = types.is_integer, types.is_floating, types.is_boolean
        for name in columns:
            kind = self.schema.field(name).type
            if not any(test(kind) for test in (*plain, types.is_decimal)):
                raise FileError(
                    f"{self.path}: column {name!r} is of type {kind}, not numeric: encode it or "
                    "leave it out"
                )
        if target is None:
            return
        kind = self.schema.field(target).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        is_text = types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"
        if not (is_text or any(test(kind) for test in plain) or kind.id in written_types()):
            raise FileError(
                f"{self.path}: column {target!r} is of type {kind}: labels must be texts, numbers, "
                "dates or truth values"
            )

    def _batches(self, columns, target):
        from pyarrow import parquet

        wanted = [*columns] if target is None else [*columns, target]
        # Read ahead, Arrow would hold all of the file that was read until the last row.
        options = {"buffer_size": PARQUET_BUFFER, "pre_buffer": False}
        with parquet.ParquetFile(self.content, **options) as file:
            for batch in file.iter_batches(ARROW_ROWS, columns=wanted, use_threads=False):
                yield batch.select(wanted)
