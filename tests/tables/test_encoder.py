"""TableEncoder: the same numbers from a file and a frame, new rows, notes, and scikit-learn."""

import pickle
from collections import Counter
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from robell import NoiseRobustRVFLClassifier, TableEncoder
from robell.tables.columns import apply_words, learn_words
from robell.tables.dates import read_dates
from robell.tables.read import read_table

WORDS = np.array(["red", "green", "blue", "fast", "slow", "new", "used", "cheap", "large", "small"])
WORDS = np.append(WORDS, ["oak", "pine"])


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def raw_frame(n=400, seed=0):
    """Return cells as a CSV file holds them: text everywhere, in every way people write."""
    rng = np.random.default_rng(seed)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), "D")
    minute = day + pd.to_timedelta(rng.integers(0, 1440, n), "m")
    words = np.array(
        ["red", "green", "blue", "fast", "slow", "new", "used", "cheap", "large", "small"]
    )
    return pd.DataFrame(
        {
            "id": np.arange(n).astype(str),
            "amount": [f"{v:,.2f}" for v in rng.lognormal(6, 2, n)],
            "rate": [f"{v} %" for v in rng.integers(0, 100, n)],
            "age": np.where(rng.random(n) < 0.2, "NA", rng.integers(18, 90, n).astype(str)),
            "day": day.strftime("%d.%m.%Y"),
            "time": [f"{t:%Y-%m-%d %H:%M}+02:00" for t in minute],
            "paid": rng.choice(["True", "False"], n),
            "country": rng.choice(["DE", "FR", "IT", ""], n, p=[0.5, 0.3, 0.15, 0.05]),
            "shop": [f"shop {k}" for k in rng.zipf(1.5, n) % 300],
            "note": [" ".join(rng.choice(words, 3)) + f" {k}" for k in range(n)],
            "empty": "",
            "kind": "x",
        }
    )


def test_a_file_and_a_frame_give_the_same_numbers(tmp_path):
    frame = raw_frame()
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    from_file = TableEncoder()
    from_file._fit_columns(list(table.columns), table.rows, ",", None)
    numbers = from_file._transform_columns(list(table.columns))
    as_read = pd.read_csv(tmp_path / "t.csv")  # numbers as numbers, NA as NaN
    assert as_read["age"].dtype == float
    assert as_read["paid"].dtype == bool
    polars = pytest.importorskip("polars")
    frames = [frame, as_read, polars.from_pandas(frame), polars.from_pandas(as_read)]
    for one in frames:
        encoder = TableEncoder().fit(one)
        np.testing.assert_array_equal(encoder.transform(one), numbers)
        assert encoder.notes_ == from_file.notes_
        np.testing.assert_array_equal(
            from_file._transform_columns(encoder._columns(one, reset=False)), numbers
        )
    assert np.isfinite(numbers).all()


def test_every_kind_of_column_is_used_and_said():
    encoder = TableEncoder().fit(raw_frame())
    kinds = {note.name: note.kind for note in encoder.notes_}
    assert kinds == {
        "id": "left out", "amount": "number", "rate": "number", "age": "number", "day": "date",
        "time": "date", "paid": "category", "country": "category", "shop": "text", "note": "text",
        "empty": "left out", "kind": "left out",
    }  # fmt: skip
    names = encoder.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == encoder.transform(raw_frame()).shape[1]
    some = {"age missing", "country=DE", "country=(missing)", "note words 1", "shop frequency"}
    assert some <= set(names)
    said = {note.name: note.done for note in encoder.notes_}
    assert "day.month.year" in said["day"]
    assert "thousands" in said["amount"]
    assert "time of day" in said["time"]


def test_rows_are_encoded_one_by_one():
    frame = raw_frame()
    encoder = TableEncoder().fit(frame)
    together = encoder.transform(frame)
    order = np.random.default_rng(0).permutation(len(frame))
    np.testing.assert_array_equal(encoder.transform(frame.iloc[order]), together[order])
    single = np.vstack([encoder.transform(frame.iloc[[k]]) for k in range(5)])
    np.testing.assert_array_equal(single, together[:5])
    np.testing.assert_allclose(encoder.centre_, together.mean(axis=0), atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(cell=st.text(max_size=12) | st.none(), column=st.integers(0, 11))
def test_any_new_cell_becomes_finite_numbers(cell, column):
    frame = raw_frame(120)
    encoder = TableEncoder().fit(frame)
    new = frame.head(3).copy()
    new.iloc[1, column] = cell
    numbers = encoder.transform(new)
    assert np.isfinite(numbers).all()
    np.testing.assert_array_equal(numbers[[0, 2]], encoder.transform(frame.head(3))[[0, 2]])


def test_new_levels_are_other_and_odd_numbers_missing():
    frame = pd.DataFrame(
        {"a": ["x", "y"] * 50, "b": ["p"] * 50 + ["q"] * 49 + ["r"], "c": [1.5, 2] * 50}
    )
    encoder = TableEncoder().fit(frame)
    new = pd.DataFrame({"a": ["z", "y"], "b": ["s", "p"], "c": ["much", "2"]})
    numbers = encoder.transform(new)
    names = encoder.get_feature_names_out().tolist()
    assert numbers[0, names.index("a=y")] == 0.5  # as far from x as from y
    assert numbers[0, names.index("b=(other)")] == 1
    assert numbers[0, names.index("c")] == pytest.approx(0)  # the median, here the mean
    assert [used.unknown for used in encoder._used(encoder._columns(new, reset=False))] == [1, 0, 1]


@pytest.mark.parametrize("n", [20, 60, 150, 400])
def test_of_columns_beside_numbers_only_the_target_itself_is_left_out(n):
    """Cells that stand in one row each were taken for a copy of any target of that kind."""
    rng = np.random.default_rng(n)
    y = rng.normal(size=n)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "in pence": 100 * y})
    left_out = {note.name for note in TableEncoder().fit(frame, y).notes_ if "repeats" in note.done}
    assert left_out == ({"in pence"} if n >= 30 else set())
    names = np.array([f"name {k}" for k in rng.permutation(n)])
    assert TableEncoder().fit(frame, names).transform(frame).shape[1] == 3
    assert TableEncoder(leaks="keep").fit(frame, y).transform(frame).shape[1] == 3


def test_a_copy_of_the_target_is_left_out_and_said():
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 200)
    frame = pd.DataFrame({"a": rng.normal(size=200), "verdict": np.where(y == "yes", "Y", "N")})
    assert TableEncoder().fit(frame).transform(frame).shape[1] == 2
    encoder = TableEncoder().fit(frame, y)
    assert encoder.transform(frame).shape[1] == 1
    assert encoder.notes_[1].done == "left out: repeats the target in 100 % of the rows"
    assert TableEncoder(leaks="keep").fit(frame, y).transform(frame).shape[1] == 2
    with pytest.raises(ValueError, match="X has 200 rows, y has 1"):
        TableEncoder().fit(frame, np.array(1))
    with pytest.raises(ValueError, match="X has 200 rows, y has 3"):
        TableEncoder().fit(frame, y[:3])


def test_in_a_pipeline_cloned_pickled_and_with_set_output():
    frame = raw_frame()
    y = np.where(frame["country"] == "DE", "b", "a")
    y[::9] = "a"
    model = make_pipeline(TableEncoder(), NoiseRobustRVFLClassifier(10, random_state=0))
    expected = clone(model).fit(frame, y).predict(frame)
    assert (pickle.loads(pickle.dumps(model.fit(frame, y))).predict(frame) == expected).all()
    named = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert list(named.columns) == TableEncoder().fit(frame).get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


def test_a_saved_pipeline_predicts_the_same(tmp_path):
    pytest.importorskip("skops")
    from robell.files import load_model, save_model

    frame = raw_frame()
    y = np.where(frame["country"] == "DE", "b", "a")
    y[::9] = "a"
    model = make_pipeline(TableEncoder(), NoiseRobustRVFLClassifier(10, random_state=0))
    save_model(model.fit(frame, y), tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again[0].notes_ == model[0].notes_


def test_odd_columns():
    n = 300
    frame = pd.DataFrame({"lists": [[k] for k in range(n)], "none": None, "x": np.arange(n) % 7.0})
    frame["zoned"] = pd.date_range("2024-01-01", periods=n, freq="7h", tz="Europe/Berlin")
    frame["codes"] = pd.Categorical(np.arange(n) % 3)
    notes = {note.name: note for note in TableEncoder().fit(frame).notes_}
    assert "lists" in notes["lists"].done
    assert "no value" in notes["none"].done
    assert (notes["zoned"].kind, notes["codes"].kind) == ("date", "category")
    many = pd.DataFrame({"level": [f"level {k % 10_000}" for k in range(12_000)]})
    encoder = TableEncoder().fit(many)
    assert encoder.transform(many).shape[1] <= 12


def test_frames_that_cannot_be_read_are_one_line():
    encoder = TableEncoder().fit(raw_frame(40))
    for empty, what in [(raw_frame(40)[:0], "0 sample"), (raw_frame(40)[[]], "0 feature")]:
        with pytest.raises(ValueError, match=what):
            TableEncoder().fit(empty)
    twice = pd.DataFrame(np.arange(12.0).reshape(6, 2), columns=["a", "a"])
    with pytest.raises(ValueError, match="'a'"):
        TableEncoder().fit(twice)
    names = list(encoder.feature_names_in_)
    assert list(encoder.get_feature_names_out(names)) == list(encoder.get_feature_names_out())
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        encoder.get_feature_names_out(names[::-1])


def test_ids_are_found_in_any_order_and_in_part():
    ids = np.random.default_rng(0).permutation(1000)[:600]
    notes = TableEncoder().fit(pd.DataFrame({"case": ids, "x": ids % 7})).notes_
    assert [note.kind for note in notes] == ["left out", "number"]


@pytest.mark.parametrize(
    ("cells", "way", "day"),
    [
        (["31.12.2024", "1.2.2024"], "day.month.year", 20088),
        (["12/31/2024", "01/02/2024"], "month/day/year", 20088),
        (["31/12/2024", "01/02/2024"], "day/month/year", 20088),
        (["31 Dec 2024", "1-Feb-2024"], "day, name of the month, year", 20088),
        (["December 31, 2024", "Feb 1 2024"], "name of the month, day, year", 20088),
        (["2024-12-31T12:00:00Z", "2024-02-01 00:00"], "year-month-day", 20088.5),
        (["2024-12-31T12:00:00+12:00", "2024/2/1"], "year-month-day", 20088),
        (["12/31/2024 06:00 PM", "1/1/2024 12:00 am"], "month/day/year", 20088.75),
    ],
)
def test_dates_in_any_way_of_writing(cells, way, day):
    table, found = read_dates(cells)
    assert found == way
    assert table[cells[0]] == pytest.approx(day)
    assert date(1970, 1, 1) + timedelta(days=int(day)) == date(2024, 12, 31)


def test_dates_that_no_cell_tells_apart_are_said_and_no_dates_refused():
    assert "no cell tells" in read_dates(["01/02/2024"])[1]
    for cells in (["31/13/2024"], ["2024-02-30"], ["31.12.2024", "12/31/2024"], ["13:00"], []):
        assert read_dates(cells) == (None, "")


def test_words_are_the_directions_of_largest_variance():
    """The columns are those of a decomposition of all rows, made the slow way."""
    rng = np.random.default_rng(0)
    words = np.array(
        [
            "red",
            "green",
            "blue",
            "fast",
            "slow",
            "new",
            "used",
            "cheap",
            "large",
            "small",
            "oak",
            "pine",
        ]
    )
    texts = [" ".join(rng.choice(words, 3, replace=False)) for _ in range(400)]
    plan = learn_words(Counter(texts), 400, 3)
    space = np.array([[word in text.split() for word in plan["tokens"]] for text in texts], float)
    space *= np.log(400 / space.sum(axis=0))
    space /= np.linalg.norm(space, axis=1, keepdims=True)
    centred = space - space.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    expected = u[:, :3] * s[:3] / np.sqrt((s[:3] ** 2).sum() / 400)
    found = apply_words(plan, texts)[:, :3]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)


def test_a_column_that_repeats_one_of_several_targets_is_left_out():
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(200, 2))
    table = pd.DataFrame({"x": rng.normal(size=200), "again": 3.0 * targets[:, 1] + 1.0})
    encoder = TableEncoder().fit(table, targets)
    assert encoder.get_feature_names_out().tolist() == ["x"]
    assert TableEncoder().fit(table, targets[:, :1]).get_feature_names_out().tolist() == [
        *("x", "again")
    ]


def test_a_file_of_a_frame_with_declared_numbers_intervals_or_periods_is_read_as_the_frame(
    tmp_path,
):
    """A category of 1.0 was unknown to a file's new rows; intervals and periods were left out."""
    rng = np.random.default_rng(0)
    number = rng.normal(size=60)
    grade = pd.Series(np.where(number > 1, np.nan, rng.integers(1, 4, 60)))
    frame = pd.DataFrame(
        {
            "grade": grade.astype("category"),
            "since": pd.Series(pd.to_datetime(["2024-01-31", "2024-02-29"] * 30)).astype(
                "category"
            ),
            "band": pd.cut(number, 3),
            "month": pd.period_range("2024-01", periods=3, freq="M").repeat(20),
            "day": pd.period_range("2024-01-01", periods=60, freq="D"),
        }
    )
    encoder = TableEncoder().fit(frame)
    assert [note.kind for note in encoder.notes_] == ["category"] * 4 + ["date"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(
        encoder._transform_columns(list(table.columns)), encoder.transform(frame)
    )
    lists = pd.DataFrame({"a": [[1], [2]] * 9, "b": range(18)})
    assert "lists" in TableEncoder().fit(lists).notes_[0].done


def test_missing_words_are_no_values_where_a_frame_had_truth_values(tmp_path):
    """NA was a level that the fit had not seen, as in a column that is declared as categories."""
    rng = np.random.default_rng(0)
    paid = pd.Series(rng.random(60) < 0.5).astype("boolean").mask(rng.random(60) < 0.2)
    frame = pd.DataFrame({"paid": paid, "size": rng.normal(size=60)})
    encoder = TableEncoder().fit(frame)
    frame.to_csv(tmp_path / "t.csv", index=False, na_rep="NA")
    columns = list(read_table(tmp_path / "t.csv").columns)
    np.testing.assert_array_equal(encoder._transform_columns(columns), encoder.transform(frame))


def test_whole_numbers_of_128_bits_are_numbers():
    """NumPy has none, and polars refused to make an array of them."""
    pl = pytest.importorskip("polars")
    numbers = pl.Series([3, 1, 2] * 20)
    wide, usual = (pl.DataFrame({"a": numbers.cast(kind)}) for kind in (pl.Int128, pl.Int64))
    encoder = TableEncoder().fit(wide)
    np.testing.assert_array_equal(encoder.transform(wide), encoder.transform(usual))
