"""Numbers as people write them: read where there is one reading, else said to be categories."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell.tables.columns import prepare_column
from robell.tables.numerals import number, read_numbers, spells_number
from robell.tables.raw import Column


def prepared(cells, delimiter=","):
    return prepare_column(Column("x", cells), np.arange(1, len(cells) + 1), delimiter=delimiter)


numbers = st.lists(
    st.floats(-1e9, 1e9, allow_nan=False).map(lambda value: round(value, 3)), min_size=1
)


@given(values=numbers, delimiter=st.sampled_from(",;\t|~"))
def test_thousands_set_apart_by_commas_are_read_back(values, delimiter):
    # Three decimals at most: 1,234.5 tells that the comma is not decimal.
    cells = [f"{value:,.4f}" for value in values]
    table, _ = read_numbers(cells, delimiter)
    assert [table[cell] for cell in cells] == values


@given(values=numbers, delimiter=st.sampled_from(";\t|~"))
def test_thousands_set_apart_by_dots_are_read_back(values, delimiter):
    swapped = str.maketrans(",.", ".,")
    cells = [f"{value:,.4f}".translate(swapped) for value in values]
    table, how = read_numbers(cells, delimiter)
    assert [table[cell] for cell in cells] == values
    assert "decimal comma" in how


@given(values=numbers, space=st.sampled_from(" \u00a0\u202f"))
def test_thousands_set_apart_by_spaces_are_read_back(values, space):
    cells = [f"{value:,.3f}".replace(",", space) for value in values]
    table, _ = read_numbers(cells)
    assert [table[cell] for cell in cells] == values


@given(values=numbers, space=st.sampled_from(["", " ", "\u00a0"]))
def test_percentages_are_read_back(values, space):
    cells = [f"{value!r}{space}%" for value in values]
    if any("e" in cell for cell in cells):
        return
    table, how = read_numbers(cells)
    assert how == "percentage"
    assert [table[cell] for cell in cells] == values


@given(text=st.text("0123456789,. %+-eE", max_size=12), delimiter=st.sampled_from(",;\t"))
def test_a_plain_number_is_never_read_otherwise(text, delimiter):
    if number(text) is not None:
        table, how = read_numbers([text], delimiter)
        assert (table, how) == ({text: float(text)}, "number")


@pytest.mark.parametrize(
    ("cells", "delimiter", "values"),
    [
        (["1,234", "567"], ",", [1234, 567]),
        (["1,234", "567"], "\t", [1234, 567]),  # thousands, for all that is known
        (["1,234", "567"], ";", [1.234, 567]),  # decimals, as between semicolons everywhere
        (["1,234", "5,5"], "\t", [1.234, 5.5]),  # one cell settles it
        (["1,234,567", "2,500"], ";", [1234567, 2500]),
        (["1.234,5", "7"], ";", [1234.5, 7]),
        (["12,345.6", "inf"], ",", [12345.6, np.inf]),
        (["-1,000 %", "3 %"], ",", [-1000, 3]),
        (["1,5 %", "2 %"], ";", [1.5, 2]),
    ],
)
def test_readings(cells, delimiter, values):
    table, _ = read_numbers(cells, delimiter)
    assert [table[cell] for cell in cells] == values


@pytest.mark.parametrize(
    "cells",
    [
        ["1,5"],
        ["12,34,567"],
        ["1,23", "1,234"],
        ["0,123"],
        ["1,2345"],
        ["12 34"],
        ["1,234 567"],
        ["12 %", "0.12"],
        ["%"],
        ["12 %%"],
        ["1,234e3"],
        ["٣,٣٣٣"],
    ],
)
def test_what_is_no_number_between_commas(cells):
    assert read_numbers(cells)[0] is None


def test_the_note_says_how_a_column_was_read():
    used, note = prepared(["1,234.5", "77", "12,000", "NA"] * 10)
    assert note.done.startswith("read as a number with its thousands set apart; ")
    np.testing.assert_array_equal(
        np.unique(used.values[~np.isnan(used.values)]), [77, 1234.5, 12e3]
    )
    used, note = prepared(["12 %", "3.5%"] * 10)
    assert note.done == "read as a percentage"
    assert set(used.values) == {12, 3.5}


def test_numbers_that_do_not_go_together_are_a_category_and_said():
    used, note = prepared(["12 %"] * 20 + ["0.12"] * 10)
    assert used.kind == "category"
    words = "mixed: numbers written in ways that do not go together, such as '12 %' and '0.12'; "
    assert note.done.startswith(words)
    assert all(spells_number(cell) for cell in ("12 %", "0.12"))
