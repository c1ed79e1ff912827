"""The column of labels: classes in order, and one line that says why there are none."""

import numpy as np
import pandas as pd
import pytest

from robell._tools.files import FileError
from robell.labels.review.review import Spellings, same_label
from robell.tables.read import read_table
from robell.tables.target import find_column, one_spelling, read_labels


def test_labels_that_are_numbers_stand_in_their_order():
    cells = [str(k % 12) for k in range(240)]
    table = read_table(pd.DataFrame({"y": cells}), "y")
    assert read_labels(table, 0).classes == tuple(map(str, range(12)))


def test_equal_numbers_are_one_class_and_small_classes_are_set_aside():
    cells = ["1", "0", "1.0", "1", "0"] * 8 + ["2", None, None]
    labels = read_labels(read_table(pd.DataFrame({"y": cells + ["0"] * 4})), 0)
    assert labels.classes == ("0", "1")
    assert labels.set_aside == {"2": 1}
    assert labels.codes.tolist() == [1, 0, 1, 1, 0] * 8 + [0] * 4
    assert labels.kept.tolist() == [*range(40), *range(43, 47)]


def test_equal_numbers_are_one_class_beside_texts_too():
    # As a review knows labels again: 1 and 1.0 are equal, 01 is a name.
    cells = ["1", "1.0", "1", "unknown", "01", "0,5"] * 8
    labels = read_labels(read_table(pd.DataFrame({"y": cells})), 0)
    assert labels.classes == ("01", "1", "0,5", "unknown")
    assert labels.codes.tolist() == [1, 1, 1, 3, 0, 2] * 8


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([str(k / 7) for k in range(60)], "looks continuous"),
        (["a"] * 60, "is constant"),
        (["a"] * 10 + ["b"] * 10, "only 20 rows can be used; at least 30"),
        ([f"name {k % 201}" for k in range(2010)], "201 classes; at most 200"),
        ([None] * 40, "holds no label"),
    ],
)
def test_what_holds_no_classes_is_refused_in_words_for_any_reader(cells, message):
    with pytest.raises(FileError, match=message) as error:
        read_labels(read_table(pd.DataFrame({"y": cells})), 0)
    assert "audit" not in str(error.value)


def test_near_names_of_columns_are_suggested():
    table = read_table(pd.DataFrame({"colour": ["red"], "y": ["a"]}))
    assert find_column(table, "y") == 1
    with pytest.raises(FileError, match="no column 'Color'; did you mean 'colour'"):
        find_column(table, "Color")
    with pytest.raises(TypeError, match="given by its name, got ndarray"):
        find_column(table, np.array(["a"]))


def test_labels_of_two_encodings_of_an_accent_are_one_class():
    composed, apart = "caf\u00e9", "cafe\u0301"
    cells, alike = one_spelling([composed] * 3 + [apart] * 2 + ["bar"])
    assert cells == [composed] * 5 + ["bar"]
    assert alike == ((composed, apart),)
    assert same_label(apart, composed)
    assert Spellings([composed]).find(apart) == composed
    kept, alike = one_spelling([composed] * 3 + [apart] * 2, keep=True)
    assert kept == [composed] * 3 + [apart] * 2
    assert alike == ((composed, apart),)
