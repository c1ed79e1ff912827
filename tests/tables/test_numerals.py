"""Numbers as people write them: read where there is one reading, else said to be categories."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell.tables.columns import prepare_column
from robell.tables.numerals import floats_written, number, read_numbers, spells_number, unit_of
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
        ["12,34,567"],
        ["1,5", "1,234,567"],
        ["12 34"],
        ["1,234 567"],
        ["12 %", "0.12"],
        ["%"],
        ["12 %%"],
        ["٣,٣٣٣"],
        ["12 kg", "500 g"],
        ["12 kg", "13"],
        ["$5", "€5"],
        ["$5 kg"],
        ["--5"],
        ["(5"],
        ["(-5)"],
        ["5 kg3x"],
        ["A5"],
    ],
)
def test_what_is_no_number(cells):
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


# -- any order, any spelling, gaps -------------------------------------------------------

SWAPPED = str.maketrans(",.", ".,")
GROUPS = {
    "US": lambda value: f"{value:,.2f}",
    "European": lambda value: f"{value:,.2f}".translate(SWAPPED),
    "Swiss": lambda value: f"{value:,.2f}".replace(",", "'"),
    "French": lambda value: f"{value:,.2f}".translate(SWAPPED).replace(".", "\u202f"),
    "plain": lambda value: f"{value:.2f}",
    "decimal comma": lambda value: f"{value:.2f}".replace(".", ","),
}
MARKS = ["$ {}", "${}", "€ {}", "{} EUR", "{}€", "CHF {}", "{} kg", "{}kg", "{} m²", "{} %", "{}"]
amounts = st.lists(
    st.floats(-1e7, 1e7, allow_nan=False).map(lambda value: round(value, 2) + 0.0),
    min_size=2,
    max_size=30,
)


@given(
    values=amounts,
    group=st.sampled_from(sorted(GROUPS)),
    mark=st.sampled_from(MARKS),
    minus=st.sampled_from("-−–"),
    delimiter=st.sampled_from(",;\t|"),
    seed=st.randoms(use_true_random=False),
)
def test_any_spelling_in_any_order_is_read_back(values, group, mark, minus, delimiter, seed):
    def written(value):
        return mark.format(GROUPS[group](value)).replace("-", minus)

    cells = [written(value) for value in values]
    expected = dict(zip(cells, values, strict=True))
    seed.shuffle(cells)
    table, how = read_numbers(cells, delimiter)
    assert table == expected
    assert (unit_of(how) == "") == (mark == "{}")
    np.testing.assert_array_equal(floats_written(cells, how), [expected[cell] for cell in cells])


@given(values=amounts, group=st.sampled_from(sorted(GROUPS)), drop=st.randoms())
def test_a_currency_may_be_left_out_and_stand_on_either_side(values, group, drop):
    signs = ["€ {}", "{} EUR", "{} €", "EUR {}", "{}"]
    cells = [drop.choice(signs).format(GROUPS[group](value)) for value in values]
    table, _ = read_numbers(cells, ";")
    assert [table[cell] for cell in cells] == values


def test_a_unit_may_be_called_percentage():
    cells = ["5 percentage", "7 percentage"]
    table, how = read_numbers(cells)
    assert floats_written(cells, how).tolist() == [table[cell] for cell in cells] == [5, 7]
