"""Columns of text as numbers: imputed, standardised, spread out, or left out with the reason."""

import unicodedata
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from robell.tables.columns import apply_plan, learn_column, prepare_column
from robell.tables.encoder import TableEncoder
from robell.tables.raw import Column
from robell.tables.read import columns_of, read_table, table_parts


def prepared(cells, name="x", kind=None, **options):
    return prepare_column(Column(name, cells, kind), np.arange(1, len(cells) + 1), **options)


def test_numbers_are_imputed_by_the_median_and_standardised():
    used, note = prepared(["1", "2", "3", "10", "NA", "?"] * 5)
    assert used.matrix.shape == (30, 2)  # the value, and where it was missing
    np.testing.assert_allclose(used.matrix.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(used.matrix.std(axis=0), 1)
    values = np.array([1, 2, 3, 10, 2.5, 2.5] * 5)
    np.testing.assert_allclose(used.matrix[:, 0], (values - values.mean()) / values.std())
    assert (note.kind, note.missing) == ("number", 10)
    assert "median, 2.5" in note.done
    assert "one more column" in note.done


@pytest.mark.parametrize("size", [1e-300, 1e-5, 1e12, 1e300])
def test_numbers_of_any_size_are_standardised_alike(size):
    values = [-1.0, 0.5, 1.25] * 10
    used, _ = prepared([repr(size * value) for value in values])
    expected, _ = prepared([repr(value) for value in values])
    np.testing.assert_allclose(used.matrix, expected.matrix, rtol=1e-9)


def test_the_largest_numbers_have_a_median():
    used, _ = prepared(["1e308", "1.5e308", "NA", "-1.7e308"] * 10)
    assert np.isfinite(used.matrix).all()


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e999"])
def test_infinite_numbers_count_as_missing_and_are_counted(cell):
    used, note = prepared(["1", "2", "4", cell] * 10)
    assert np.isfinite(used.matrix).all()
    assert note.missing == 10
    assert "10 infinite values taken as missing" in note.done


def test_categories_rare_levels_missing_cells_and_pairs():
    cells = ["a"] * 500 + ["b"] * 480 + ["c"] * 9 + ["", "NA"] * 5 + ["d"]
    used, note = prepared(cells)
    assert used.levels == ("a", "b", "(other)", "(missing)")
    np.testing.assert_array_equal(used.matrix.sum(axis=1), 1)
    np.testing.assert_array_equal(used.matrix.sum(axis=0), [500, 480, 10, 10])
    assert "the 2 rarest taken together" in note.done
    assert prepared(["a", "b"] * 10)[0].matrix.shape == (20, 1)
    many, note = prepared([f"level {k % 30}" for k in range(900)])
    assert many.matrix.shape == (900, 21)
    assert "10 rarest" in note.done


def test_dates_become_days():
    cells = ["2020-01-01", "2020-01-02", "2020-01-02T12:00:00", "2020-01-03 00:00:00Z", ""] * 4
    used, note = prepared(cells)
    assert note.kind == "date"
    np.testing.assert_array_equal(used.values[:4] - used.values[0], [0, 1, 1.5, 2])
    assert prepared(["2020-01-01", "2020-13-45"] * 9)[1].kind == "category"


@pytest.mark.parametrize(
    ("cells", "name", "words"),
    [
        (["7"] * 40, "x", "the same value, '7'"),
        (["", "NA"] * 20, "x", "no value"),
        ([f"word {k}" for k in range(40)], "x", "identifier or free text"),
        ([str(k) for k in range(17, 57)], "amount", "identifier"),
        ([str(k * k) for k in range(40)], "CustomerId", "identifier"),
        ([f"words {k // 2}" for k in range(1000)], "x", "none of which is in 1 % of the rows"),
        (["inf", "-inf"] * 20, "x", "no finite value"),
    ],
)
def test_columns_that_say_nothing_are_left_out_with_the_reason(cells, name, words):
    used, note = prepared(cells, name)
    assert used is None
    assert note.kind == "left out"
    assert words in note.done


@pytest.mark.parametrize("name", ["humidity", "video", "width", "amount"])
def test_different_numbers_are_no_identifier_without_a_name_that_says_so(name):
    assert prepared([str(k * k) for k in range(40)], name)[0] is not None


def test_mixed_cells_are_a_category_and_examples_are_given():
    used, note = prepared(["1", "2"] * 30 + ["unknown"] * 20)
    assert used.kind == "category"
    assert "mixed: 60 cells of numbers, 20 are not ('unknown')" in note.done


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_decimal_comma_is_read_in_any_file(delimiter):
    used, _ = prepared(["1,5", "2,25", "-3", ",5"] * 8, delimiter=delimiter)
    np.testing.assert_array_equal(used.values[:4], [1.5, 2.25, -3, 0.5])


def test_words_of_typed_columns_are_not_missing():
    assert prepared(["NA", "DE"] * 20, kind="text")[1].missing == 0
    assert prepared(["NA", "DE"] * 20)[1].missing == 20


@pytest.mark.parametrize("mark", ["-", "n.a.", "#N/A", ".", "#NAME?", "#NUM!", "#NULL!"])
def test_usual_marks_for_missing_do_not_cost_a_column_of_numbers(mark):
    used, note = prepared([mark, "1.5", "2.5", "4"] * 10)
    plain, _ = prepared(["", "1.5", "2.5", "4"] * 10)
    np.testing.assert_array_equal(used.matrix, plain.matrix)
    assert (note.kind, note.missing) == ("number", 10)
    assert f"10 cells taken as missing ('{mark}')" in note.done


def test_few_odd_cells_among_numbers_are_named_and_missing():
    cells = [str(k % 7) for k in range(100)]
    cells[3], cells[50] = "see note", "12 approx"
    used, note = prepared(cells)
    assert (used.kind, note.missing) == ("number", 2)
    assert "2 cells taken as missing ('see note', '12 approx')" in note.done


def test_many_odd_cells_make_no_numbers():
    used, _ = prepared(["a", "1", "2", "b"] * 10)
    assert used.kind == "category"


@pytest.mark.parametrize("base", [4 * 10**15, 10**17])
def test_codes_of_many_digits_are_numbers_apart(base):
    used, _ = prepared([str(base + 64 * (k % 5)) for k in range(30)])
    expected, _ = prepared([str(64 * (k % 5)) for k in range(30)])
    np.testing.assert_allclose(used.matrix, expected.matrix, rtol=1e-9)


def test_codes_that_no_number_can_tell_apart_are_left_out():
    used, note = prepared([str(10**25 + k % 5) for k in range(30)])
    assert used is None
    assert note.kind == "left out"


def test_rounding_is_no_difference():
    used, note = prepared(["0.3", "0.30000000000000004"] * 10)
    assert used is None
    assert "differ by less" in note.done


# -- numbers, times and categories as people write them ----------------------------------


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["$1,234.50", "$12", "-$3"], [1234.5, 12, -3]),
        (["\u20ac 1.803,28", "\u20ac 12,5"], [1803.28, 12.5]),
        (["1.803,28 EUR", "12,5 EUR", "7,25 \u20ac"], [1803.28, 12.5, 7.25]),
        (["\u20ac 1.803", "\u20ac 567"], [1803, 567]),
        (["CHF 1'234.50", "CHF 7"], [1234.5, 7]),
        (["12 kg", "13.5 kg", "1 kg"], [12, 13.5, 1]),
        (["-3 \u00b0C", "20 \u00b0C"], [-3, 20]),
        (["\u22120.35", "0.5"], [-0.35, 0.5]),
        (["(1,234.50)", "3.25"], [-1234.5, 3.25]),
        (["14:30", "00:15", "9:00"], [14.5, 0.25, 9]),
        (["2:30 pm", "12 am", "11 a.m."], [14.5, 0, 11]),
    ],
)
def test_numbers_as_people_write_them(cells, values):
    used, note = prepared([*cells, "", "n/a"] * 12, name="amount")
    assert note.kind == "number"
    np.testing.assert_allclose(used.values[: len(values)], values)
    assert np.isnan(used.values[len(values) : len(values) + 2]).all()


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["31.12.24", "01.01.25"], [20088, 20089]),
        (["12/31/24", "01/01/25"], [20088, 20089]),
        (["31.12.99", "31.12.68"], [10956, 36159]),
        (["31-12-24", "1-1-2025"], [20088, 20089]),
    ],
)
def test_years_of_two_digits(cells, days):
    used, note = prepared([*cells, ""] * 12)
    assert note.kind == "date"
    np.testing.assert_array_equal(used.values[:2], days)


def test_times_of_day_stand_on_a_circle():
    used, note = prepared([f"{k % 24}:{k % 60:02}" for k in range(500)], "hour")
    assert "two more columns hold the time of day on a circle" in note.done
    angle = 2 * np.pi * used.values / 24
    np.testing.assert_allclose(used.matrix[:, 1:], np.c_[np.sin(angle), np.cos(angle)])


def test_numbers_are_no_times_of_day():
    """Of a file, a frame, or seconds of a time span: what the fit read as times has a colon."""
    plan, _ = learn_column(Column("x", [f"{k % 24}:{k % 60:02}" for k in range(90)]), np.arange(90))
    spans = pd.Series([pd.NaT, *pd.to_timedelta([90, 5400], unit="s")], dtype=object)
    for new in (["", "2.5", "14"], [np.nan, 2.5, 14.0], [None, Decimal(2), Decimal(14)], spans):
        used = apply_plan(plan, columns_of(pd.DataFrame({"x": new}))[0])
        assert np.isnan(used.values).all()
        assert used.unknown == 2


def test_a_few_odd_cells_cost_no_column_of_dates():
    cells = [f"{1 + k % 28:02}.03.24" for k in range(100)]
    cells[3] = "unknown"
    _, note = prepared(cells)
    assert (note.kind, note.missing) == ("date", 1)
    assert "1 cell taken as missing ('unknown')" in note.done


def test_dates_that_can_mean_one_day_only_may_be_written_side_by_side():
    days = [date(2024, 1, 1) + timedelta(days=5 * k) for k in range(100)]
    ways = "%Y-%m-%d", "%d.%m.%Y", "%d %b %Y"
    used, note = prepared([day.strftime(ways[k % 3]) for k, day in enumerate(days)])
    plain, _ = prepared([day.isoformat() for day in days])
    np.testing.assert_array_equal(used.values, plain.values)
    assert "date, year-month-day and day.month.year and day, name of the month, year" in note.done
    for way in ways:  # new rows too, however the fit's were written
        new = Column("x", [day.strftime(way) for day in days])
        for plan in (learn_column(used.column, np.arange(100))[0], *_plans_of_one_way(days)):
            np.testing.assert_array_equal(apply_plan(plan, new).values, plain.values)


def _plans_of_one_way(days):
    """Yield how columns are read whose dates are written in one way."""
    for way in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y"):
        yield learn_column(Column("x", [day.strftime(way) for day in days]), np.arange(100))[0]


@pytest.mark.parametrize("cell", ["2024-02-30", "0000-00-00", "12/31/2024", "5", "24:61"])
def test_a_cell_that_is_no_date_or_no_time_costs_no_column(cell):
    cells = [f"2024-01-{1 + k % 28:02}" for k in range(99)]
    used, note = prepared([*cells, cell])
    assert (note.kind, note.missing) == ("date", 1)
    assert f"1 cell taken as missing ('{cell}')" in note.done
    np.testing.assert_array_equal(used.values[:99], prepared([*cells, ""])[0].values[:99])
    _, note = prepared([*(f"{k % 24}:{k % 60:02}" for k in range(99)), cell])
    assert (note.kind, note.missing) == ("number", 1)
    assert "time of day" in note.done


@pytest.mark.parametrize("second", ["%d/%m/%Y", "%d.%m.%Y", "%H:%M"])
def test_dates_written_in_ways_that_do_not_go_together_are_said(second):
    days = [datetime(2024, 1, 31, 5) + timedelta(days=31 * k) for k in range(60)]
    cells = [day.strftime(second if k % 2 else "%m/%d/%Y") for k, day in enumerate(days)]
    _, note = prepared(cells)
    assert note.kind != "date"
    assert "looks like dates and is not read so" in note.advice
    assert "write it in one way" in note.advice


@pytest.mark.parametrize(
    "cells",
    [
        [f"{k} kg" if k % 2 else f"{k}00 g" for k in range(1, 90)],
        [f"${k}.5" if k % 2 else f"\u20ac{k},5" for k in range(1, 90)],
        [f"{k} %" if k % 2 else f"0.{k:02}" for k in range(1, 90)],
        [f"<{k}" if k % 3 else f"{k}.5" for k in range(1, 90)],
    ],
)
def test_what_looks_like_numbers_and_is_not_read_so_is_said_with_three_cells(cells):
    _, note = prepared(cells * 2)
    assert note.kind != "number"
    assert len(set(note.number_like)) == 3
    assert set(note.number_like) <= set(cells)
    assert "looks like numbers and is not read so" in note.advice
    assert all(repr(cell) in note.advice for cell in note.number_like)


@pytest.mark.parametrize(
    "cells",
    [
        [f"{k} Mill Street" if k % 2 else f"{k} Oak Avenue {k}" for k in range(1, 90)],
        [f"C-{k:05}" for k in range(90)],
        ["500 g", "1 kg", "2 kg"] * 30,
        [f"10.0.{k}.{k}" for k in range(90)],
        [f"level {k % 40}" for k in range(90)],
    ],
)
def test_words_and_codes_do_not_look_like_numbers(cells):
    assert prepared(cells)[1].advice == ""


def test_spellings_of_a_level_are_one_level():
    cells = ["auto"] * 60 + ["AUTO"] * 5 + ["Auto"] * 4 + ["aut."] * 3 + ["lorry"] * 40 + ["A"] * 9
    used, note = prepared(cells)
    assert used.levels == ("auto", "lorry", "A")
    np.testing.assert_array_equal(used.matrix.sum(axis=0), [72, 40, 9])
    assert "'AUTO' as 'auto', 'Auto' as 'auto', 'aut.' as 'auto'" in note.done


def test_an_abbreviation_of_two_levels_is_none_of_them():
    cells = ["motor"] * 30 + ["motel"] * 30 + ["mot."] * 10 + ["a"] * 20 + ["A"] * 20
    assert prepared(cells)[0].levels == ("motor", "motel", "a", "A", "mot.")


def test_declared_categories_are_levels_as_they_are():
    used, _ = prepared(["auto"] * 60 + ["AUTO"] * 50, kind="text")
    assert used.levels == ("auto", "AUTO")


@pytest.mark.parametrize("package", ["pandas", "polars", "arrow"])
def test_words_among_declared_categories_are_levels_in_frames_and_parquet_files(tmp_path, package):
    cells = ["NA", "red", "null", "None", "blue", None] * 20
    frame = pd.DataFrame({"c": pd.Categorical(cells)})
    frame.to_parquet(tmp_path / "t.parquet")
    if package == "polars":
        polars = pytest.importorskip("polars")
        frame = polars.DataFrame({"c": cells}).with_columns(
            polars.col("c").cast(polars.Categorical)
        )
        frame.write_parquet(tmp_path / "t.parquet")
    if package == "arrow":
        frame = pd.read_parquet(tmp_path / "t.parquet", dtype_backend="pyarrow")
    found = [read_table(source).columns[0] for source in (frame, tmp_path / "t.parquet")]
    parts = [part.columns[0] for part in table_parts(tmp_path / "t.parquet", n_rows=50)]
    for column in found:
        plan, note = learn_column(column, np.arange(1, 121))
        assert sorted(plan["levels"]) == sorted(["NA", "red", "null", "None", "blue", "(missing)"])
        assert note.missing == 20
        whole = apply_plan(plan, column).matrix
        np.testing.assert_array_equal(whole, apply_plan(plan, found[0]).matrix)
        in_parts = [apply_plan(plan, part).matrix for part in parts]
        np.testing.assert_array_equal(whole, np.vstack(in_parts))
    pd.DataFrame({"c": cells}).to_csv(tmp_path / "t.csv", index=False)  # which declares nothing
    assert learn_column(read_table(tmp_path / "t.csv").columns[0], np.arange(120))[1].missing == 80


def test_booleans_and_accents_are_known_however_new_rows_write_them():
    n = 40
    paid = ["true", "false", "true"] * n
    town = ["Orl\u00e9ans", "Orle\u0301ans", "Metz"] * n
    written = {"paid": paid, "town": town, "\u00e9": ["\u00e9", "e\u0301", "a"] * n}
    encoder = TableEncoder().fit(pd.DataFrame(written))
    assert encoder.get_feature_names_out().tolist() == [
        "paid=false", "town=Metz", "\u00e9=a",
    ]  # fmt: skip
    numbers = encoder.transform(pd.DataFrame(written))
    typed = pd.DataFrame(written | {"paid": [cell == "true" for cell in paid]})
    assert np.array_equal(encoder.transform(typed), numbers)
    shouted = pd.DataFrame(written | {"paid": [cell.upper() for cell in paid]})
    assert np.array_equal(encoder.transform(shouted), numbers)
    back = TableEncoder().fit(typed)
    assert np.array_equal(back.transform(typed), back.transform(pd.DataFrame(written)))
    one_form = pd.DataFrame(written | {"town": [unicodedata.normalize("NFC", t) for t in town]})
    apart = one_form.assign(town=[unicodedata.normalize("NFD", t) for t in town])
    known = TableEncoder().fit(one_form)
    assert np.array_equal(known.transform(apart), known.transform(one_form))


def test_a_category_with_both_spellings_keeps_them_apart_where_the_source_declares_it():
    both = pd.DataFrame({"k": pd.Categorical(["true", "True", "no"] * 20)})
    encoder = TableEncoder().fit(both)
    assert encoder.get_feature_names_out().tolist() == ["k=true", "k=True", "k=no"]
    assert (encoder.transform(both).sum(axis=1) == 1).all()
