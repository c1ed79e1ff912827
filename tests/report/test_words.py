"""The words of a page: values are filled in, columns of the results stand where they belong."""

import pytest

from robell.report import page as page_module
from robell.report.page import Paragraph, Words

FILE = """
[texts]
one = "{n} of {whole:.1f} rows"
many = ["first {n}", "second"]

[tables.scores]
name = "scores_{n}"
title = "Scores of {n}"
columns = ["Set", "*", "Mean"]
digits = [0, 3, 1]
column_best = ["", "max", ""]
best_columns = ["*"]
footer_best = ["max", "min"]

[figures.curve]
caption = "Of {n}"
alt = "A curve"

[sections.both]
title = "Both"
text = "Before {n}"
closing = "After"

[flats.texts]
one = "{n} of {whole:.1f} flats"
thing = "flat"

[flats.sections.things]
title = "Every {thing}, {n} times"
"""


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setattr(page_module, "read_resource", lambda package, name: FILE)
    return Words("anything")


def test_values_are_filled_in_and_a_missing_one_is_an_error(page):
    assert page.text("one", n=3, whole=7) == "3 of 7.0 rows"
    assert page.text("many", n=1) == ["first 1", "second"]
    assert page.figure("curve", n=2) == ("Of 2", "A curve")
    with pytest.raises(KeyError, match="whole"):
        page.text("one", n=3)


def test_the_columns_of_the_results_stand_where_the_file_leaves_room(page):
    rows = [("a", 0.1, 0.25, 0.2), ("b", 0.3, 0.1, 0.2)]
    table = page.table("scores", rows, ["x", "y"], [("all", 0.2, 0.2, 0.2)], n=5)
    assert (table.name, table.title) == ("scores_5", "Scores of 5")
    assert table.columns == ("Set", "x", "y", "Mean")
    assert table.digits == (0, 3, 3, 1)
    assert table.column_best == (None, "max", "max", None)
    assert table.best_columns == ("x", "y")
    assert (table.footer, table.footer_best) == (1, ("max",))
    assert table.best_cells() >= {(1, 1), (0, 2)}


def test_a_section_has_its_paragraphs_around_its_blocks(page):
    block = Paragraph("between")
    section = page.section("both", block, n=4)
    assert (section.id, section.title) == ("both", "Both")
    assert [one.text for one in section.blocks] == ["Before 4", "between", "After"]


def test_of_a_kind_its_own_words_stand_beside_those_of_all_or_in_their_place(monkeypatch):
    monkeypatch.setattr(page_module, "read_resource", lambda package, name: FILE)
    flats = Words("anything", "flats")
    assert flats.text("one", n=3, whole=7) == "3 of 7.0 flats"
    assert flats.text("many", n=1) == ["first 1", "second"]
    with pytest.raises(KeyError, match="thing"):
        Words("anything").text("thing")


def test_a_text_may_be_named_in_another_entry_and_is_never_taken_for_a_format(page, monkeypatch):
    monkeypatch.setattr(page_module, "read_resource", lambda package, name: FILE)
    assert Words("anything", "flats").section("things", n=2).title == "Every flat, 2 times"
    assert page.text("one", n="{whole} {0}", whole=7) == "{whole} {0} of 7.0 rows"
