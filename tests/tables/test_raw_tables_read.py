"""The five raw tables, read as people write them and plainly: the same columns."""

import numpy as np
import pytest
import raw_tables

from robell.tables.columns import prepare_column
from robell.tables.read import read_table

READ_AS = {"number": "number", "date": "date", "time": "number", "category": "category"}


@pytest.mark.parametrize("name", raw_tables.TABLES)
@pytest.mark.parametrize("seed", range(4))
def test_a_table_written_both_ways_gives_the_same_columns(tmp_path, name, seed):
    raw = raw_tables.TABLES[name](seed, 400)
    tables = []
    for way, text in (("raw", raw.text), ("plain", raw.plain)):
        path = tmp_path / f"{way}.csv"
        path.write_text(text)
        tables.append(read_table(path, raw.target))
    n_compared = 0
    for written, plain in zip(tables[0].columns, tables[1].columns, strict=True):
        kind = raw.kinds.get(written.name)
        if kind not in READ_AS:
            continue
        used, note = prepare_column(written, tables[0].rows, delimiter=tables[0].delimiter)
        assert note.kind == READ_AS[kind], (note, written.cells[:5])
        if kind != "category":
            expected, _ = prepare_column(plain, tables[1].rows, delimiter=tables[1].delimiter)
            np.testing.assert_allclose(used.matrix, expected.matrix, rtol=1e-9, atol=1e-9)
            n_compared += 1
    assert n_compared >= 5
