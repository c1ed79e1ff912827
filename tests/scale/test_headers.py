"""Headers of CSV files: read without the rows below them, and what is wrong with one is said."""

import pytest

pytest.importorskip("pyarrow")

from pyarrow import csv

import robell.scale.batches as batches
import robell.tables.read_csv as read_csv
from robell import RVFLClassifier
from robell._tools.files import FileError
from robell.files import fit_files


def test_a_header_too_long_is_called_that(tmp_path, monkeypatch):
    monkeypatch.setattr(read_csv, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"column_{'x' * 100}_{k}" for k in range(10_000)) + ",y\n1,0\n")
    with pytest.raises(FileError, match=r"wide\.csv: line 1 has more than 1,048,576 char"):
        fit_files(RVFLClassifier(), path, "y")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b'"a\nb",c\n1,2\n', ["a\nb", "c"]),
        (b'a"x,c\r1,2\r', ['a"x', "c"]),
        (b"\n\n\xef\xbb\xbfa,c\r\n1,2", ["\ufeffa", "c"]),
        (b"\xef\xbb\xbfa,c\r\n1,2", ["a", "c"]),
        (b'a,"' + b"\n" * 300 + b'"\n1,2\n', ["a", "\n" * 300]),
    ],
)
def test_a_header_alone_is_read_as_it_is_with_its_rows(tmp_path, text, names):
    path = tmp_path / "table.csv"
    path.write_bytes(text)
    tables = batches.Tables(path)
    assert tables.columns == csv.read_csv(path).column_names == names
    assert [X.tolist() for X, _ in tables.batches(5)] == [[[1.0, 2.0]]]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,y\n1,no\n2,\xe9\n".encode("latin-1"), 3),
        ("\xe9,y\n1,0\n2,1\n".encode("latin-1"), 1),
        ("a,y\n1,0\n2,1\n".encode("utf-32"), 1),
    ],
)
def test_text_of_another_encoding_is_called_that(tmp_path, text, line):
    path = tmp_path / "table.csv"
    path.write_bytes(text)
    with pytest.raises(FileError, match=rf"e\.csv: line {line} .*is not utf-8 text: write it as"):
        fit_files(RVFLClassifier(), path, "y")
