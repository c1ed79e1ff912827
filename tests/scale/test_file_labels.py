"""Labels in Parquet files that are neither texts nor numbers: taken as written, or refused."""

import datetime
import decimal

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow
from pyarrow import csv, parquet

from robell import RVFLClassifier
from robell._tools.files import FileError
from robell.files import fit_files, predict_files
from robell.scale.batches import Tables

DAYS = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 10)]
TIMES = [datetime.datetime(2020, 1, 2, 3), datetime.datetime(2020, 1, 10, 4)]
HOURS = [datetime.time(7), datetime.time(8)]


def write(path, rng, labels, kind=None):
    places = np.arange(40) % 2
    y = pyarrow.array([labels[place] for place in places], kind)
    table = pyarrow.table({"a": rng.normal(size=40) + 9 * places, "y": y})
    parquet.write_table(table, path)
    return table


@pytest.mark.parametrize(
    ("labels", "kind", "classes"),
    [
        (DAYS, pyarrow.date32(), ["2020-01-02", "2020-01-10"]),
        (TIMES, pyarrow.timestamp("ms"), ["2020-01-02 03:00:00.000", "2020-01-10 04:00:00.000"]),
        (HOURS, pyarrow.time32("ms"), ["07:00:00.000", "08:00:00.000"]),
        ([decimal.Decimal("1.50"), decimal.Decimal("2.00")], None, ["1.50", "2.00"]),
    ],
)
def test_labels_are_as_they_are_written(rng, tmp_path, labels, kind, classes):
    table = write(tmp_path / "t.parquet", rng, labels, kind)
    model = fit_files(RVFLClassifier(5, random_state=0), tmp_path / "t.parquet", "y")
    assert model.classes_.tolist() == classes
    predict_files(model, tmp_path / "t.parquet", tmp_path / "p.csv")
    as_text = csv.ConvertOptions(column_types={"prediction": pyarrow.string()})
    written = csv.read_csv(tmp_path / "p.csv", convert_options=as_text)
    assert written["prediction"].to_pylist() == [classes[k] for k in np.arange(40) % 2]
    in_categories = table.set_column(1, "y", table["y"].dictionary_encode())
    parquet.write_table(in_categories, tmp_path / "c.parquet")
    again = fit_files(RVFLClassifier(5, random_state=0), tmp_path / "c.parquet", "y")
    assert again.classes_.tolist() == classes


def test_zeros_of_either_sign_are_one_label_and_all_counted(tmp_path):
    y = [0.0, -0.0, 1.0, -0.0, 1.0]
    parquet.write_table(pyarrow.table({"a": np.arange(5.0), "y": y}), tmp_path / "t.parquet")
    labels, sizes = Tables(tmp_path / "t.parquet", "y").labels()
    assert labels == {0.0: 0.0, 1.0: 1.0}
    assert sizes == {0.0: 3, 1.0: 2}


@pytest.mark.parametrize("labels", [[[1], [2]], [b"a", b"b"], [{"a": 1}, {"a": 2}]])
def test_what_has_no_spelling_is_refused(rng, tmp_path, labels):
    write(tmp_path / "t.parquet", rng, labels)
    with pytest.raises(FileError, match=r"labels must be texts, numbers, dates or truth values$"):
        fit_files(RVFLClassifier(5), tmp_path / "t.parquet", "y")
