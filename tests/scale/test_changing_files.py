"""Files that change or vanish while a fit reads them: one clear error, never half of each."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import robell.scale.batches as batches_module
import robell.tables.read_csv as csv_module
from robell import RVFLClassifier, fit_table
from robell._tools.files import FileError
from robell.files import fit_files
from robell.scale.batches import Tables

CHANGED = "table.* the file (was changed while it was read|has gone)$"


@pytest.fixture(autouse=True)
def small_reads(monkeypatch):
    monkeypatch.setattr(batches_module, "ARROW_ROWS", 100)
    monkeypatch.setattr(csv_module, "BLOCK", 1 << 12)


def write(path, n_rows=1500, seed=0, label="b"):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(np.round(rng.normal(size=(n_rows, 3)), 6), columns=list("uvw"))
    frame["y"] = np.where(frame["u"] > 0, "a", label)
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False, row_group_size=100)
    else:
        frame.to_csv(path, index=False)
    return path


def other_rows(path):
    """Other rows, of the same labels, under the same name."""
    os.replace(write(path.with_name(f"other{path.suffix}"), seed=1), path)


def other_labels(path):
    """Written over, with a label that the first look has not seen."""
    other = write(path.with_name(f"other{path.suffix}"), label="c")
    path.write_bytes(other.read_bytes())


def cut(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


CHANGES = [other_rows, other_labels, cut, os.unlink]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_in_the_middle_of_the_last_pass(tmp_path, suffix, change):
    path = write(tmp_path / f"table{suffix}")
    tables = Tables(path, "y")
    labels, _ = tables.labels()
    some = tables.batches(100, labels)
    next(some)
    change(path)
    with pytest.raises(FileError) as caught:
        for _ in some:
            pass
    assert "\n" not in str(caught.value)
    assert "table" in str(caught.value)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("when", [1, 2])
def test_a_change_between_the_passes_of_a_fit(tmp_path, monkeypatch, suffix, change, when):
    path = write(tmp_path / f"table{suffix}")
    passes, original = [], Tables.batches

    def batches(self, *arguments, **options):
        passes.append(1)
        if len(passes) == when:
            change(path)
        yield from original(self, *arguments, **options)

    monkeypatch.setattr(Tables, "batches", batches)
    monkeypatch.setattr("robell.scale.files.MOST_ROWS", 300)
    with pytest.raises(FileError, match=CHANGED) as caught:
        fit_files(make_pipeline(StandardScaler(), RVFLClassifier(8, random_state=0)), path, "y")
    assert "\n" not in str(caught.value)
    assert len(passes) == when


@pytest.mark.parametrize("change", [other_rows, other_labels, cut], ids=lambda one: one.__name__)
def test_a_change_between_the_sample_and_all_rows(tmp_path, monkeypatch, change):
    path = write(tmp_path / "table.csv")
    monkeypatch.setattr("robell.decisions.data.MAX_ROWS", 400)
    import robell.decisions.data as data_module

    original = data_module.read_tables

    def read_tables(*arguments, **options):
        found = original(*arguments, **options)
        change(path)
        return found

    monkeypatch.setattr(data_module, "read_tables", read_tables)
    with pytest.raises(FileError, match=r"table\.csv: "):
        fit_table(path, "y", model=RVFLClassifier(5, random_state=0))
