"""Tables: what goes in comes out, in four formats, whatever the text."""

import csv
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell._tools.text import spreadsheet_safe
from robell.report.tables import (
    Compared,
    Spread,
    Table,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
    write,
)

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quotes\" & 'apostrophes'",
    "</table>]]>",
    "a|b\\|c",
    "50 % of $x_1^2$ #{~}",
    "שלום \u202e reversed",
    "two\nlines",
    "x" * 10_000,
]


def table_of(*rows, columns=None, **options):
    columns = columns or ("set", *(f"m{i}" for i in range(1, len(rows[0]))))
    return Table("t", "Title", columns, rows, **options)


class Texts(HTMLParser):
    """The texts of the cells, row by row, and every tag that was opened."""

    def __init__(self, markup):
        super().__init__()
        self.rows, self.tags, self.open = [], [], []
        self.feed(markup)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag != "wbr":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


numbers = st.none() | st.integers() | st.floats()
texts = st.text(st.characters(exclude_categories=["Cc", "Cs"]))


@given(st.lists(st.tuples(texts, numbers, numbers), min_size=1))
def test_csv_gives_back_every_cell_exactly(rows):
    read = list(csv.reader(io.StringIO(to_csv(table_of(*rows)), newline="")))
    assert read[0] == ["set", "m1", "m2"]
    for given_row, row in zip(rows, read[1:], strict=True):
        assert row[0] == spreadsheet_safe(re.sub("[\ufffe\uffff]", "\ufffd", given_row[0]))
        for value, text in zip(given_row[1:], row[1:]):
            if value is None or value != value:
                assert text == ""
            else:
                assert type(value)(text) == value


def test_csv_splits_compared_values_into_three_columns():
    table = table_of(("a", Compared(81.24, 81.9)), ("b", 7), ("c", Compared(None, 5.0)))
    read = list(csv.reader(io.StringIO(to_csv(table))))
    assert read[0] == ["set", "m1 measured", "m1 printed", "m1 difference"]
    assert read[1:] == [
        ["a", "81.24", "81.9", "-0.66"],
        ["b", "7", "", ""],
        ["c", "", "5.0", ""],
    ]


def test_the_three_text_formats_agree_on_a_compared_cell():
    table = table_of(("a", Compared(81.2, 81.9)), digits=1)
    assert "| 81.2 (81.9, -0.7) |" in to_markdown(table)
    assert "& 81.2 (81.9, $-$0.7) \\\\" in to_latex(table)
    assert Texts(to_html(table)).rows[1] == ["a", "81.2 printed 81.9 difference \u22120.7"]


@pytest.mark.parametrize(
    ("measured", "printed", "kind", "shown"),
    [(2, 1, "up", "+1.00"), (1, 2, "down", "\u22121.00"), (1.001, 1.002, "same", "0.00")],
)
def test_differences_are_told_apart_by_sign_as_well_as_by_class(measured, printed, kind, shown):
    markup = to_html(table_of(("a", Compared(measured, printed))))
    assert f'<span class="{kind}"><span class="sr">difference </span>{shown}</span>' in markup


def test_a_mean_keeps_its_standard_deviation_in_every_format():
    one = Spread(0.95, float("nan"))
    rows = [("a", Spread(0.91234, 0.0456), 0.5), ("b", Spread(0.8, None), one)]
    table = table_of(*rows, columns=("name", "x", "y"), digits=3, best="max")
    assert "\\textbf{0.912 $\\pm$ 0.046} & 0.500" in to_latex(table)
    assert "| **0.912 ± 0.046** | 0.500 |" in to_markdown(table)
    assert "| 0.800 | **0.950** |" in to_markdown(table)
    markup = to_html(table)
    assert 'data-sort="0.91234"' in markup
    assert "<strong>0.912</strong>\u00a0<small>±\u00a00.046</small>" in markup
    assert to_csv(table).splitlines() == [
        "name,x,x sd,y,y sd",
        "a,0.91234,0.0456,0.5,",
        "b,0.8,,0.95,",
    ]


def bold_in_html(table):
    rows = re.findall("<tr>(.*?)</tr>", to_html(table))[1:]
    cells = [re.findall("<t[hd].*?</t[hd]>", row) for row in rows]
    return [[place for place, cell in enumerate(row) if "<strong>" in cell] for row in cells]


def test_best_is_bold_in_every_format_ties_included():
    rows = [("a", 1.0, 3.0, 3.001), ("b", Compared(9.0, 0.0), 2.0, None), ("c", None, None, "-")]
    rows += [("mean", 5.0, 2.5, 3.0), ("rank", 3.0, 1.0, 2.0)]
    table = table_of(*rows, best="max", footer=2, footer_best=("max", "min"))
    expected = [[2, 3], [1], [], [1], [2]]
    assert bold_in_html(table) == expected
    markdown = [line.split("|")[1:-1] for line in to_markdown(table).splitlines()[4:]]
    assert [[i for i, cell in enumerate(row) if "**" in cell] for row in markdown] == expected
    latex = [line.split("&") for line in to_latex(table).splitlines() if " & " in line][1:]
    assert [[i for i, cell in enumerate(row) if "textbf" in cell] for row in latex] == expected


def test_best_is_sought_among_the_named_columns_only():
    table = table_of(("a", 9.0, 1.0, 2.0), best="min", best_columns=("m1", "m3"))
    assert bold_in_html(table) == [[3]]


def test_numbers_are_set_by_their_columns_format_and_missing_ones_as_a_dash():
    table = table_of(
        (1, np.float64(-0.0004), 0.00001234, np.int64(3), float("nan"), float("-inf")),
        digits=(0, 2, ".2g", 4, 1, 1),
    )
    shown = Texts(to_html(table)).rows[1]
    assert shown == ["1", "0.00", "1.2e\u221205", "3", "\u2013", "\u2212\u221e"]
    assert 'data-sort="-0.0004"' in to_html(table)
    assert 'data-sort="-Infinity"' in to_html(table)
    assert "| 1 | 0.00 | 1.2e-05 | 3 | \u2013 | -inf |" in to_markdown(table)


@pytest.mark.parametrize("text", HOSTILE)
def test_html_holds_hostile_text_as_text(text):
    table = Table("t", text, ("set", text), ((text, 1.0),), caption=text, note=text)
    markup = to_html(table)
    parsed = Texts(markup)
    assert parsed.open == []
    assert parsed.rows == [["set", text], [text, "1.00"]]
    plain = Texts(to_html(Table("t", "x", ("set", "x"), (("x", 1.0),), caption="x", note="x")))
    ours = {tag for tag, _ in parsed.tags} - {"wbr", "span"}
    assert ours == {tag for tag, _ in plain.tags} - {"span"}
    link = next(attributes["href"] for tag, attributes in parsed.tags if tag == "a")
    assert link.startswith("data:text/csv;charset=utf-8,set,")
    assert not re.search(r"[<>\"\s#]", link.replace(" ", ""))


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_keeps_one_line_a_row_and_one_cell_a_column(text):
    lines = to_markdown(Table("t", "T", ("set", text), ((text, 1.0),))).splitlines()
    assert len(lines) == 5
    for line in lines[2:]:
        # An even number of backslashes before a pipe leaves it a border.
        borders = re.findall(r"(?<!\\)(?:\\\\)*\|", line)
        assert len(borders) == 3
        assert not re.search("<(?!br)", line)


def latex_to_text(source):
    """Undo the escapes, and refuse any special character that was left bare."""
    known = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^"}
    known |= {"textasciigrave": "`", "textless": "<", "textgreater": ">", "textbar": "|"}
    tokens = re.compile(
        r"\\(?P<name>[a-zA-Z]+)\{\}|\\(?P<sign>[{}$&#_%])|\{(?P<group>[\[\]*])\}|-\{\}"
        r"|(?P<plain>[^\\{}$&#_%~^\[\]*])"
    )
    text, end = "", 0
    while end < len(source):
        token = tokens.match(source, end)
        assert token, f"bare {source[end : end + 20]!r}"
        name, sign, group, plain = token.group("name", "sign", "group", "plain")
        text += known[name] if name else sign or group or plain or "-"
        end = token.end()
    return text


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_latex_escapes_every_ascii_string_reversibly(text):
    line = to_latex(Table("t", "T", ("set",), ((text,),))).splitlines()[10]
    assert line.endswith(" \\\\")
    assert latex_to_text(line.removesuffix(" \\\\")) == " ".join(text.split())
    assert "--" not in line


def test_latex_knows_accents_and_greek_and_names_what_it_cannot_set():
    text = to_latex(Table("t", "T", ("ξ ≤ ρ",), (("Demšar é Ω λ",), ("中",))))
    assert "$\\xi$ $\\leq$ $\\rho$ \\\\" in text
    assert "Dem\\v{s}ar \\'{e} $\\Omega$ $\\lambda$ \\\\" in text
    assert "{[}U+4E2D{]} \\\\" in text
    assert text.isascii()


def test_latex_sets_the_signs_of_formulas_and_prose():
    signs = "² ³ ¹ ⁻ ₀ ± × \u2212 \u2013 \u2014 ≤ ≥ ≠ ≈ ∞ √ ρ ξ γ α β χ σ Σ µ ∑ ∈ ∼ ′ … • ° ™ Ł"
    text = to_latex(Table("t", "T", ("set",), ((signs,),))).splitlines()[10]
    assert text.isascii()
    assert "U+" not in text
    expected = "$^{2}$ $^{3}$ $^{1}$ $^{-}$ $_{0}$ $\\pm$ $\\times$ $-$ -- --- $\\leq$ $\\geq$"
    assert text.startswith(expected)
    for sign in ("\\surd", "\\rho", "\\xi", "\\gamma", "\\alpha", "\\beta", "\\chi", "\\Sigma"):
        assert f" ${sign}$ " in text


def test_latex_is_a_whole_float_with_balanced_braces_and_rules():
    rows = (("[3, 1, 22]", 1.0), ("*", -2.5), ("mean", 3.0))
    text = to_latex(Table("a_b", "T", ("set", "m"), rows, caption="C & D", footer=1, note="50 %"))
    lines = text.splitlines()
    assert lines[0] == "% Needs \\usepackage{booktabs,graphicx}"
    assert lines[1] == "\\begin{table}[htbp]"
    assert lines[-1] == "\\end{table}"
    assert "\\caption{T. C \\& D}" in lines
    assert "\\begin{tabular}{lr}" in lines
    rules = [line for line in lines if "rule" in line]
    assert rules == ["\\toprule", "\\midrule", "\\midrule", "\\bottomrule"]
    bare = re.sub(r"\\[\\{}]", "", text)
    assert bare.count("{") == bare.count("}")
    # What follows a line's end or a rule would be read as its optional argument.
    assert not re.search(r"(\\\\|rule)\s*[\[*]", text)


def test_latex_splits_what_is_too_long_or_too_wide_and_loses_nothing():
    names = tuple(f"a rather long name of model {k}" for k in range(9))
    rows = tuple((f"set {k}", *(100.0 * k + j for j in range(9))) for k in range(60))
    text = to_latex(
        Table("t", "T", ("set", *names), (*rows, ("mean", *range(9))), caption="C.", footer=1)
    )
    floats = text.split("\\begin{table}")[1:]
    assert len(floats) == 6  # three groups of columns, two of rows
    assert text.count("\\label{tab:t}") == 1
    assert text.count("\\addtocounter{table}{-1}") == 5
    assert "\\caption{T. C.}" in floats[0]
    for part in floats[1:]:
        assert "\\caption{T (continued).}" in part
    for row in rows:
        for value in row[1:]:
            assert text.count(f"& {value:.2f} ") == 1
    assert [("mean &" in part) for part in floats] == [False, True] * 3
    wrapped = to_latex(Table("t", "T", ("a", "b"), (("x", "many words " * 9), ("y", "few"))))
    assert "\\begin{tabular}{lp{6cm}}" in wrapped


def test_text_columns_are_set_left_and_numbers_right():
    table = table_of(("a", 1.0, "x", None), ("b", None, 2, None))
    assert "\\begin{tabular}{lrll}" in to_latex(table)
    assert "|---|---:|---|---|" in to_markdown(table)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "../x"}, "file stem"),
        ({"columns": ("a", "a")}, "all different"),
        ({"columns": ("a",)}, "every row"),
        ({"footer": 2}, "footer must"),
        ({"digits": (1,)}, "digits must"),
        ({"best": "largest"}, "best and footer_best"),
        ({"best_columns": ("z",)}, "no column 'z'"),
        ({"footer_best": ("max",)}, "footer_best must"),
    ],
)
def test_wrong_tables_are_refused(options, message):
    good = {"name": "t", "title": "T", "columns": ("a", "b"), "rows": (("x", 1.0),)}
    with pytest.raises(ValueError, match=message):
        Table(**good | options)


@pytest.mark.parametrize("cell", [True, [1], Compared("a", 1.0), Spread([1], 0.1), object()])
def test_what_is_no_cell_is_refused(cell):
    with pytest.raises(TypeError, match=r"cell must be|only numbers"):
        table_of(("a", cell))


def test_write_makes_three_files_and_leaves_nothing_else(tmp_path):
    table = table_of(("שלום", 1.0))
    paths = write(table, tmp_path / "new" / "tables")
    assert sorted(path.name for path in paths[0].parent.iterdir()) == ["t.csv", "t.md", "t.tex"]
    assert paths[0].read_text(encoding="utf-8") == to_csv(table)
    assert paths[1].read_text(encoding="utf-8") == to_latex(table)
    assert paths[2].read_text(encoding="utf-8") == to_markdown(table)


@pytest.mark.parametrize("name", ["=1+1", "@x", "+a", "-", "'=1"])
def test_csv_holds_no_formulas(name):
    rows = list(csv.reader(io.StringIO(to_csv(Table("t", "T", ("-set", "m"), ((name, -1.5),))))))
    assert rows == [["'-set", "m"], [f"'{name}", "-1.5"]]
