"""The first hour of a new user: raw tables with known truth, read and judged as they are."""

import contextlib
import io

import numpy as np
import pandas as pd
import pytest
import raw_tables

from robell import TableEncoder, audit_annotators
from robell.cli import main

READ_AS = {
    "number": {"number"},
    "date": {"date"},
    "time": {"time", "date", "number"},
    "category": {"category"},
    "text": {"text"},
    "many": {"category", "text"},
    "identifier": {"left out"},
    "constant": {"left out"},
}


def frame_of(text):
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def features(table, text):
    return frame_of(text)[list(table.kinds)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", raw_tables.TABLES)
def test_every_column_is_of_its_type(name, seed):
    table = raw_tables.TABLES[name](seed)
    encoder = TableEncoder().fit(features(table, table.text))
    read = {note.name: note.kind for note in encoder.notes_}
    wrong = [column for column, kind in table.kinds.items() if read[column] not in READ_AS[kind]]
    assert not wrong, {column: read[column] for column in wrong}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", raw_tables.TABLES)
def test_numbers_and_dates_are_those_of_the_plain_spelling(name, seed):
    table = raw_tables.TABLES[name](seed)
    alike = [c for c, kind in table.kinds.items() if kind in ("number", "date", "time")]
    raw, plain = (
        TableEncoder().fit_transform(features(table, text)[alike])
        for text in (table.text, table.plain)
    )
    np.testing.assert_allclose(raw, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_every_leak_is_named_on_the_first_screen_with_what_leaves_it_out(tmp_path, seed):
    table = raw_tables.claims_with_leak(seed)
    path = tmp_path / "claims.csv"
    path.write_text(table.text, encoding="utf-8")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        assert main(["audit", str(path), "--target", "fraud", "--out", f"{tmp_path}/"]) == 0
    lines = [line for line in said.getvalue().splitlines() if table.leaks[0] in line]
    assert any("--ignore" in line or "repeats" in line for line in lines), said.getvalue()
    assert "Trust: good" not in said.getvalue()


def test_wrong_labels_of_annotators_are_counted(tmp_path):
    table = raw_tables.annotated(1)
    path = tmp_path / "photos.csv"
    path.write_text(table.text, encoding="utf-8")
    consensus = audit_annotators(path, table.annotators).consensus
    assert (1 - consensus.given_quality).sum() == pytest.approx(table.wrong.sum(), rel=0.15)
    worst = consensus.annotator[consensus.annotator_quality.argmin()]
    assert worst == "dan"
