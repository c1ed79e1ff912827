"""Text from anywhere made fit to be shown: nothing invisible, nothing endless, no formula."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell._tools.text import (
    FORMULA,
    in_cell,
    isolated,
    looks_like_formula,
    number_text,
    percent,
    quoted,
    shortened,
    spreadsheet_safe,
    unique,
    visible,
)

anything = st.text(max_size=80)


@given(text=anything)
def test_nothing_invisible_is_left(text):
    shown = visible(text)
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    for place, character in enumerate(shown):
        if unicodedata.category(character) in hidden:
            assert character in "\u200c\u200d"
            assert not shown[place - 1].isascii()
            assert not shown[place + 1].isascii()


@given(text=anything, limit=st.integers(8, 40))
def test_shortened_text_is_short_and_starts_alike(text, limit):
    shown = shortened(text, limit)
    assert len(shown) <= limit
    whole = visible(text)
    if shown != whole:
        assert shown.endswith("…")
        assert len(whole) > limit or len(text) > limit


def test_look_alikes_can_be_told_apart():
    assert visible("fraud\u200b") == "fraud⟨U+200B⟩"
    assert visible("\u202eabc") == "⟨U+202E⟩abc"
    assert visible("a\ud800") == "a⟨U+D800⟩"
    family = "👩‍👩‍👧‍👦"
    assert visible(family) == family
    assert visible("می\u200cخواهم") == "می\u200cخواهم"
    assert visible("e" + "\u0301" * 50) == "e" + "\u0301" * 4
    assert isolated("abc") == "abc"
    assert isolated("שלום") == "\u2068שלום\u2069"
    assert quoted("a*b`[x](y)") == r"'a\*b\`\[x\](y)'"


@given(text=st.one_of(anything, st.builds(str.__add__, st.sampled_from(FORMULA), anything)))
def test_no_cell_is_a_formula(text):
    safe = spreadsheet_safe(text)
    assert safe.endswith(text)
    assert not safe.startswith(FORMULA) or re.fullmatch(r"[+-][\d.eE+-]+", safe)
    assert not looks_like_formula(safe)
    assert not looks_like_formula(in_cell(text))


@pytest.mark.parametrize("number", ["-1.5", "+3", "-.5e-7", "12"])
def test_numbers_stay_numbers(number):
    assert spreadsheet_safe(number) == number == in_cell(number)


@given(names=st.lists(st.sampled_from(["a", "b", "a (2)", "a (3)"]), max_size=8))
def test_unique_names(names):
    result = unique(names)
    assert len(set(result)) == len(names)
    assert all(new.startswith(old) for new, old in zip(result, names))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (12, "12"), (1234567, "1,234,567"), (3.14159, "3.14"), (0.5, "0.5"),
     (-1234.567, "−1,235"), (0.012345, "0.012"), (1e-9, "1e-09"), (1e300, "1e+300"), (72.0, "72")],
)  # fmt: skip
def test_numbers_in_words(value, text):
    assert number_text(value) == text


def test_percent_is_never_zero_or_all_unless_it_is():
    assert [percent(p) for p in (0, 0.001, 0.06, 0.999, 1)] == [
        "0 %", "less than 1 %", "6 %", "more than 99 %", "100 %",
    ]  # fmt: skip
