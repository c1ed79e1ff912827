"""Tables read: whatever holds them the same cells, rows found again by line, samples uniform."""

import csv
import io
import os
import re
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import robell.tables.read as read_module
import robell.tables.read_csv as csv_module
from robell._tools import files
from robell._tools.files import FileError
from robell.tables.columns import numbers_of
from robell.tables.read import Sample, read_table, read_tables

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@given(rows=st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=12), mark=st.booleans())
def test_any_table_is_read_back_and_lines_point_at_its_records(tmp_path_factory, rows, mark):
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([("a", "b", "y"), *rows])
    path = tmp_path_factory.mktemp("any") / "t.csv"
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + stream.getvalue().encode())
    table = read_table(path, "y")
    assert [column.name for column in table.columns] == ["a", "b", "y"]
    for place, column in enumerate(table.columns):
        assert column.cells == [row[place].strip() for row in rows]
    physical = re.split("\r\n|\r|\n", stream.getvalue())
    for line, row in zip(table.lines, rows, strict=True):
        first = re.split("\r\n|\r|\n", f'"{row[0]}'.replace('"', '""')[1:])[0]
        assert physical[line - 1].startswith(first)


def test_blank_lines_are_passed_over_and_lines_still_point_right(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,y\n\n1,"p\nq"\n\n\n2,r\n')
    table = read_table(path, "y")
    assert table.lines.tolist() == [3, 7]
    assert table.rows.tolist() == [1, 2]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    path = tmp_path / "t.csv"
    cells = [["a,b", "c;d", "e|f", "y"], *[["1,5", "2;x", "p|q", "no, yes"]] * 9]
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(cells)
    path.write_text(stream.getvalue())
    table = read_table(path, "y")
    assert [column.name for column in table.columns] == cells[0]
    assert [column.cells[0] for column in table.columns] == cells[1]


def test_the_same_rows_are_drawn_whatever_holds_the_table(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=2500), "label": rng.choice(["no", "yes"], 2500)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=900)
    monkeypatch.setattr(read_module, "ARROW_ROWS", 333)
    sources = [tmp_path / "t.csv", tmp_path / "t.parquet", frame, pl.from_pandas(frame)]
    tables = [read_table(source, "label", max_rows=300, seed=7) for source in sources]
    for table in tables:
        np.testing.assert_array_equal(table.rows, tables[0].rows)
        assert table.n_rows == 2500
        expected = frame["label"].to_numpy()[table.rows - 1].tolist()
        assert table.columns[-1].cells == expected


@given(parts=st.lists(st.integers(0, 12), max_size=12), seed=st.integers(0, 2**32))
def test_a_sample_does_not_depend_on_how_the_rows_come(parts, seed):
    whole, parted = Sample(10, seed), Sample(10, seed)
    drawn = set((whole.draw(sum(parts))).tolist())
    for part in parts:
        start = parted.seen
        assert set((parted.draw(part) + start).tolist()) <= drawn
    np.testing.assert_array_equal(whole.places, parted.places)


def test_a_sample_is_uniform_and_keeps_its_order():
    counts = np.zeros(40)
    for seed in range(2000):
        sample = Sample(10, seed)
        for _ in range(8):
            sample.draw(5)
        assert sample.seen == 40
        assert sample.places.tolist() == sorted(set(sample.places.tolist()))
        counts[sample.places] += 1
    # Each row is drawn with probability 1/4: 500 of 2000 times, five standard deviations allowed.
    assert np.abs(counts - 500).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)


@given(
    text=st.text(st.sampled_from('ab,"\n\r\0é '), max_size=40),
    encoding=st.sampled_from(["utf-8", "utf-16", "latin-1"]),
    block=st.sampled_from([64, 1 << 22]),
)
@example(text='1,"2', encoding="utf-8", block=64)
@example(text='"a"b,2\n', encoding="utf-8", block=64)
@example(text='1,a"b\n2,"x', encoding="utf-8", block=64)
@example(text='1,"a\r\n\r\n"\r\n\r\n3,4', encoding="utf-8", block=64)
@settings(max_examples=300)
def test_rows_are_those_of_the_csv_module_whatever_the_text(
    tmp_path_factory, text, encoding, block
):
    """Also with blank lines, line breaks in cells and quotation marks where none should be."""
    path = tmp_path_factory.mktemp("any") / "t.csv"
    path.write_text("x,y\n" + text, encoding=encoding, newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_module, "BLOCK", block)
        results = []
        for read in (_by_arrow, _by_csv):
            try:
                results.append(read(path, encoding))
            except FileError as error:
                results.append(str(error))
    assert results[0] == results[1]


def _by_arrow(path, encoding):
    rows = []
    header = next(csv_module.records_of(path, encoding, ","))
    for batch, lines in csv_module.text_batches(path, encoding, ",", header):
        rows += zip(lines.tolist(), *(column.to_pylist() for column in batch.columns))
    return rows


def _by_csv(path, encoding):
    _, *rows = csv_module.records_of(path, encoding, ",")
    return [(row.line, *row.cells) for row in rows]


def test_a_delimiter_of_several_bytes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a§y\n1§x\n")
    assert [column.cells for column in read_table(path, delimiter="§").columns] == [["1"], ["x"]]


def test_the_place_of_a_bad_byte_is_exact(tmp_path):
    for before in (b"", b"\xef\xbb\xbf"):
        data = before + b"a,y\n" + b"1,x\n" * 280_000 + b"2,\xff\n"
        path = tmp_path / "t.csv"
        path.write_bytes(data)
        with pytest.raises(FileError, match=rf"line 280,002 \(byte {data.index(0xFF):,}\)"):
            read_table(path, "y")


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + b"\0" * 50 + b"PAR1", b"a,y\n1,2\n"])
def test_damaged_parquet(tmp_path, content):
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"t\.parquet: "):
        read_table(path, "y")


def test_endless_lines_and_cells_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "1,x\n" * 20 + "2" * 200_000 + ",x\n")
    with pytest.raises(FileError, match="line 22 cannot be read"):
        read_table(path, "y")
    monkeypatch.setattr(csv_module, "LONGEST_LINE", 1000)
    with pytest.raises(FileError, match="line 22 has more than 1,000 characters"):
        read_table(path, "y")


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"a,y\n\xe9,x\n", "encoding='latin-1'"),
        ("a,y\n1,x\n".encode("utf-16"), "encoding='utf-16'"),
    ],
)
def test_advice_is_in_python_here_and_in_options_for_a_command(tmp_path, content, advice):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(FileError) as error:
        read_table(tmp_path / "t.csv")
    assert str(error.value).endswith(f" {advice}")
    option = "--" + advice.replace("=", " ").replace("'", "")
    assert str(error.value.in_options()).endswith(f" {option}")


# -- odd files -------------------------------------------------------------------------


def test_utf_32_is_called_by_its_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\n".encode("utf-32"))
    with pytest.raises(FileError, match="looks like UTF-32 text: give encoding='utf-32'"):
        read_table(path)
    assert read_table(path, encoding="utf-32").columns[1].cells == ["2"]


def test_a_long_cell_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1," + "x" * 200_000 + "\n")
    with pytest.raises(FileError, match="a cell has more than 131,072 characters"):
        read_table(tmp_path / "t.csv")


def test_times_beyond_the_year_9999_are_texts(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    times = pyarrow.array([253_402_300_800 * 10**6, None], pyarrow.timestamp("us"))
    parquet.write_table(pyarrow.table({"t": times}), tmp_path / "t.parquet")
    (column,) = read_table(tmp_path / "t.parquet").columns
    assert column.cells[0].startswith("10000-01-01")
    assert column.cells[1] is None


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "t.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("a,b\n1,2\n" + "3,4\n" * 50_000,))
    writer.start()
    assert read_table(path, max_rows=60_000).n_rows == 50_001
    writer.join()


def test_a_pipe_nobody_writes_to_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(FileError, match="nothing came through the pipe"):
        read_table(tmp_path / "t.csv")


def test_a_device_is_no_file():
    with pytest.raises(FileError, match="is a device"):
        read_table("/dev/zero")


@pytest.mark.parametrize("zone", ["+25:00", "Nowhere/At_all"])
@pytest.mark.parametrize("value", [0, 10**17])  # the second is in the year 25115
def test_parquet_of_a_time_zone_that_nobody_knows(tmp_path, zone, value):
    import pyarrow
    import pyarrow.parquet

    times = pyarrow.array([value, None, value + 86_400], pyarrow.int64())
    column = times.cast(pyarrow.timestamp("ms", zone))
    table = pyarrow.table({"t": column, "d": column.dictionary_encode()})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for one in read_table(tmp_path / "t.parquet").columns:
        assert one.cells[1] is None
        assert one.cells[0].startswith("1970-01-01" if value == 0 else "25115")


def test_decimals_keep_their_digits(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    digits = ["12345678901234567890.00", "12345678901234567891.50", "-0.10", "100.00"]
    values = pa.array([Decimal(text) for text in digits] + [None], pa.decimal128(30, 2))
    pq.write_table(pa.table({"claim": values}), tmp_path / "t.parquet")
    exact = ["12345678901234567890", "12345678901234567891.5", "-0.1", "100", None]
    (column,) = read_table(tmp_path / "t.parquet").columns
    assert (column.kind, column.cells) == ("number", exact)
    frame = pd.DataFrame({"claim": [*map(Decimal, digits), None]})
    assert read_table(frame).columns[0].cells == exact


def test_a_comma_that_means_another_thing_in_one_of_several_files_is_refused(tmp_path):
    """1,234 of a file with semicolons is 1.234: beside a file with commas it was taken as 1234."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    how = {"encoding": "utf-8", "delimiter": None, "max_rows": 1_000, "seed": 0}
    first.write_text("".join(["x,y\n", *(f"{k}.5,p\n" for k in range(20))]))
    second.write_text("".join(["x;y\n", *(f"{k},5;p\n" for k in range(20))]))
    joined = read_tables([first, second], "y", **how).columns[0]  # both can be told
    values = numbers_of(joined.cells, ",")[0]
    np.testing.assert_array_equal(values, [k + 0.5 for k in range(20)] * 2)
    second.write_text("".join(["x;y\n", *(f"{k},234;p\n" for k in range(1, 20))]))
    for paths in ([first, second], [second, first]):
        if paths[0] == second:
            read_tables(paths, "y", **how)  # a comma is decimal there
            continue
        with pytest.raises(FileError, match=r"b\.csv: column 'x' would mean other numbers"):
            read_tables(paths, "y", **how)


def test_a_table_of_arrow_is_refused_with_what_to_give():
    table = pa.table({"a": [1.0, 2.0], "y": ["n", "y"]})
    with pytest.raises(TypeError, match=r"a data frame of pandas or polars, .*; got Table"):
        read_table(table, "y")
    assert read_table(table.to_pandas(), "y").n_rows == 2
    named_so = table.to_pandas().rename(columns={"a": "column_names"})
    assert read_table(named_so, "y").n_rows == 2
