"""A table as it was read: cells of text, and where each row stands in its file."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._core.array import is_no_value
from robell._tools.files import FileError
from robell._tools.text import NAME, said, visible


class Column:
    """Cells of one column, as text; a cell is None where the source has no value.

    `kind` is what the source says the column holds ("number", "text", "date" or "other"), or
    None where it does not say, as in CSV files. `values` are the numbers of a source that holds
    numbers, NaN where there is none. `array`, of Arrow or NumPy, is what the source holds: its
    cells become Python's texts when somebody asks for them.
    """

    def __init__(
        self,
        name: str,
        cells: list | None = None,
        kind: str | None = None,
        values: NDArray[np.float64] | None = None,
        array: Any = None,
    ) -> None:
        self.name, self.kind, self.values, self.array = name, kind, values, array
        self._cells = cells

    def __len__(self) -> int:
        for one in (self._cells, self.values, self.array):
            if one is not None:
                return len(one)
        return 0

    @property
    def cells(self) -> list:
        """The cells as text; equal texts of a file are one object."""
        if self._cells is None:
            source = self.values if self.array is None else self.array
            self._cells, self.array = [] if source is None else array_cells(source), None
        return self._cells

    def without(self, missing: NDArray[np.bool_]) -> list:
        """Return the cells that are not missing."""
        if not missing.any():
            return self.cells
        return list(compress(self.cells, (~missing).tolist()))

    def take(self, places: NDArray[np.intp]) -> Column:
        """Return the cells at these places."""
        values = None if self.values is None else self.values[places]
        array = None if self.array is None else self.array.take(places)
        cells = None if self._cells is None else [self._cells[place] for place in places]
        return Column(self.name, cells, self.kind, values, array)


@dataclass(frozen=True)
class RawTable:
    """Rows as they were read: their numbers from 1 on, and the lines they begin at in a text file.

    `n_rows` counts the rows of the source, of which `rows` may be a sample. `delimiter` and
    `encoding` are those of a text file.
    """

    name: str
    columns: tuple[Column, ...]
    rows: NDArray[np.intp]
    lines: NDArray[np.intp] | None
    n_rows: int
    how: str
    delimiter: str = ","
    encoding: str = "utf-8"

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(map(attrgetter("name"), self.columns))

    def take(self, places: NDArray[np.intp]) -> RawTable:
        """Return the table of the rows at these places."""
        if np.array_equal(places, np.arange(len(self.rows))):
            return self
        columns = tuple(column.take(places) for column in self.columns)
        lines = None if self.lines is None else self.lines[places]
        return replace(self, columns=columns, rows=self.rows[places], lines=lines)

    def where(self, place: int) -> str:
        """Say where a row stands in its source, such as "line 12"."""
        if self.lines is None:
            return f"row {self.rows[place]:,}"
        return f"line {self.lines[place]:,}"


def require_names(where: Any, names: Iterable[str]) -> list[str]:
    """Return the names of the columns, unnamed ones numbered; raise where a name occurs twice."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        name = name.strip() or f"column {place}"
        if name in seen:
            raise FileError(
                f"{where}: two columns are called {said(name)} (columns {seen[name]} and {place})"
            )
        seen[name] = place
    return list(seen)


def one_line(error: object) -> str:
    """Return the text of an error as one line; it may quote bytes of a damaged file."""
    return visible(" ".join(str(error).split())) or type(error).__name__


# -- values of typed sources as cells --------------------------------------------------


def typed_column(name: str, values: Sequence[Any], is_category: bool = False) -> Column:
    """Return the column of some values as text, with the kind that they have in common."""
    cells, kinds = [], set()
    for value in values:
        kind, text = cell_of(value)
        cells.append(text)
        if kind:
            kinds.add(kind)
    if "other" in kinds:
        return Column(name, cells, "other")
    if is_category:
        return Column(name, cells, "text")
    if "cell" in kinds:
        return Column(name, cells, None)
    return Column(name, cells, kinds.pop() if len(kinds) == 1 else "text")


def cell_of(value: Any) -> tuple[str | None, str | None]:
    """Return the kind and the text of one value; None twice where it is missing."""
    if is_no_value(value):
        return None, None
    if isinstance(value, str):
        return "cell", value.strip()
    if isinstance(value, bool | np.bool_):
        return "cell", str(bool(value))
    if isinstance(value, Decimal) and value.is_finite():  # exactly, as many digits as it has
        text = f"{value:f}"
        return "number", text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, numbers.Number) and not isinstance(value, complex):
        found: Any = value  # a whole one without a decimal point
        is_whole = isinstance(value, numbers.Integral)
        return "number", str(int(found)) if is_whole else repr(float(found)).removesuffix(".0")
    if isinstance(value, datetime.date):  # a datetime is one too; midnight is the day, as in files
        return "date", value.isoformat().removesuffix("T00:00:00")
    if isinstance(value, datetime.timedelta):
        return "number", repr(value.total_seconds())
    if isinstance(value, datetime.time):
        return "cell", value.isoformat()
    # One thing, such as a period or an interval, is its text, as in a file; a list is none.
    return "other" if hasattr(value, "__iter__") else "cell", str(value)[: 4 * NAME]


def arrow_column(name: str, array: Any) -> Column:
    """Return a column of a file, without blanks around its texts."""
    import pyarrow
    from pyarrow import compute, types

    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
    if types.is_integer(array.type) or types.is_floating(array.type):
        with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
            values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        return Column(name, None, "number", values, array)
    if types.is_string(array.type):
        return Column(name, array=compute.utf8_trim_whitespace(array))
    return typed_column(name, arrow_values(array), types.is_dictionary(array.type))


def arrow_values(array: Any) -> list:
    """Return the values of an Arrow array; times that Python cannot hold as text or as counts."""
    from pyarrow import types

    try:
        if types.is_dictionary(array.type) and types.is_temporal(array.type.value_type):
            array = array.dictionary_decode()
        if getattr(array.type, "unit", "") == "ns":
            return _of_nanoseconds(array)
        return array.to_pylist()
    except (OverflowError, ValueError, LookupError):  # the year 10000, nanoseconds, or a zone
        import pyarrow

        if types.is_dictionary(array.type):
            return arrow_values(array.dictionary_decode())
        if types.is_timestamp(array.type) and array.type.tz not in (None, "UTC"):
            return arrow_values(array.cast(pyarrow.timestamp(array.type.unit, "UTC")))
        try:
            return array.cast(pyarrow.string()).to_pylist()
        except pyarrow.ArrowInvalid:
            return array.cast(pyarrow.int64()).cast(pyarrow.string()).to_pylist()


class _Moment(datetime.datetime):
    """A time with nanoseconds, which are written as pandas writes them."""

    nanosecond = 0

    def isoformat(self, sep: str = "T", timespec: str = "microseconds") -> str:
        text = super().isoformat(sep, timespec)
        end = len("2026-01-31T12:00:00.000000")
        return f"{text[:end]}{self.nanosecond:03d}{text[end:]}"


def _of_nanoseconds(array: Any) -> list:
    """Return times, which PyArrow gives otherwise with pandas and without: the same in both."""
    import pyarrow
    from pyarrow import types

    counts = array.cast(pyarrow.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    micro, rest = np.divmod(counts, 1000)
    whole = pyarrow.array(micro, mask=array.is_null().to_numpy(zero_copy_only=False))
    if not types.is_timestamp(array.type):
        make = pyarrow.duration if types.is_duration(array.type) else pyarrow.time64
        return whole.cast(make("us")).to_pylist()
    values = whole.cast(pyarrow.timestamp("us", array.type.tz)).to_pylist()
    for place in np.flatnonzero(rest):
        moment = values[place]
        values[place] = _Moment.combine(moment.date(), moment.timetz())
        values[place].nanosecond = int(rest[place])
    return values


def array_cells(array: Any) -> list:
    """Return the values of an array as stripped text, equal ones as one object."""
    if isinstance(array, np.ndarray):
        return [cell_of(value)[1] for value in array.tolist()]
    from pyarrow import compute, types

    if not types.is_string(array.type):
        return [cell_of(value)[1] for value in arrow_values(array)]
    array = compute.utf8_trim_whitespace(array)
    if not has_many_equal(array):
        return array.to_pylist()
    encoded = array.dictionary_encode()
    texts = np.array([*encoded.dictionary.to_pylist(), None], object)
    return texts[encoded.indices.fill_null(len(texts) - 1)].tolist()


def has_many_equal(array: Any) -> bool:
    """Say whether at least half of the first cells of an array are repeated."""
    beginning = array.slice(0, 1000)
    return 2 * len(beginning.unique()) < len(beginning)
