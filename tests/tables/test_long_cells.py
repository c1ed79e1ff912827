"""Reading a cell takes time in proportion to its length: 100,000 blanks took minutes once."""

import time
from collections import Counter

import numpy as np
import pytest

from robell.tables.columns import prepare_column
from robell.tables.dates import read_date, read_time
from robell.tables.numerals import number_like, read_numbers, split
from robell.tables.raw import Column

LONG = 100_000
READERS = [
    split,
    lambda cell: read_numbers([cell]),
    lambda cell: number_like(Counter([cell])),
    lambda cell: read_date(cell, "year-month-day"),
    lambda cell: read_date(cell, "day, name of the month, year"),
    read_time,
]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("+", "x"), ("", "x"), ("1", "!"), ("$", "x"), ("12 EUR", "!"), ("1.000", "!"),
        ("2024-01-01", "x"), ("2024-01-01 12:30", "x"), ("1 Jan 2024 12:30 pm", "x"),
        ("12", "!"), ("12:30", "!"), ("ca.", "x"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("filling", [" ", "\u00a0", "0", ".", "1.", "1,", "'"])
def test_long_cells_cost_no_more_than_their_length(start, filling, end):
    cell = start + filling * (LONG // len(filling)) + end
    begin = time.process_time()
    for read in READERS:
        read(cell)
    assert time.process_time() - begin < 4  # of a square of it, a hundred


def test_a_column_of_blanks_within_cells_is_prepared_quickly():
    cells = [f"2024-01-01 12:30{' ' * LONG}{k}" for k in range(20)]
    begin = time.process_time()
    prepare_column(Column("x", cells), np.arange(1, 21))
    assert time.process_time() - begin < 10
