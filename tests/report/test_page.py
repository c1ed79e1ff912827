"""The page: text stays text, nothing leaves it, and in a browser it does what it offers."""

import re
import time

import pytest
from browser import Browser, find_chromium

from robell._tools.text import literal
from robell.report.page import (
    Bullets,
    Callout,
    Code,
    Details,
    Facts,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    render,
)
from robell.report.tables import Compared, Table

HOSTILE = [
    "<script>document.title = 'ran'</script>",
    "</script></style></title>]]>--><img src=x onerror=\"document.title='ran'\">",
    "\"'><svg onload=alert(1)>",
    "x" * 10_000,
    "long words " * 500,
    "\u202eright to left שלום مرحبا",
    "nul \0 bell \a lone \ud800",
    "javascript:alert(1)",
]
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="300" viewBox="0 0 900 300" '
    'class="wide"><rect id="r" width="900" height="300" fill="none" stroke="currentColor"/></svg>'
)


def markup(text):
    page = render("T", "", [Section("s", "S", (Paragraph(text),))])
    return re.search('<p dir="auto">(.*?)</p>', page, re.DOTALL)[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**bold** and `a < b`", "<strong>bold</strong> and <code>a &lt; b</code>"),
        ("[t](https://a.org/x?y=1&z)", '<a href="https://a.org/x?y=1&amp;z">t</a>'),
        (
            "[`t`](#s) **[u](a/b.csv)**",
            '<a href="#s"><code>t</code></a> <strong><a href="a/b.csv">',
        ),
        ("2 * 3 ** 4, a_b, [x] (y)", "2 * 3 ** 4, a_b, [x] (y)"),
        (r"\*\*plain\*\* \`x\`", "**plain** `x`"),
        ("**open `code", "**open `code"),
        ("`**x**`", "<code>**x**</code>"),
    ],
)
def test_the_small_markup(text, expected):
    assert markup(text).startswith(expected)


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:x",
        "data:text/html,x",
        "//evil.org",
        "/etc",
        "\\\\x",
        "vb:x",
    ],
)
def test_only_harmless_addresses_become_links(address):
    assert "<a " not in markup(f"[text]({address})")
    assert address.replace("\\\\", "\\") in markup(f"[text]({address})")


@pytest.mark.parametrize("text", ["a*b`c[d](e)\\f", "**`[x](#y)`**", "\\", "\\\\`", "***"])
def test_literal_text_comes_out_as_it_went_in(text):
    assert markup(literal(text)) == text
    assert markup(f"**{literal(text)}x**") == f"<strong>{text}x</strong>"
    assert markup(f"`{literal(text)}x`") == f"<code>{text}x</code>"


@pytest.mark.parametrize("piece", ["`", "\\", "**", "[", "[a](", "**\\", "`\\`", "[a]", "*`["])
def test_markup_takes_linear_time(piece):
    start = time.perf_counter()
    markup(piece * 20_000)
    assert time.perf_counter() - start < 5


def test_the_policy_lets_nothing_but_the_pages_own_style_and_script_in():
    page = render("T", "S", [Section("s", "S", (Paragraph("p"),))], "F")
    policy = re.search('Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy
    rest = page.replace(policy, "")  # whose own words look like addresses
    addresses = re.findall(r"""(?:src|href|url\(|import|fetch\()["'=\s]+([^"'\s)]+)""", rest)
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)


@pytest.mark.parametrize(
    ("svg", "message"),
    [
        ("<svg><script/></svg>", "element script"),
        ("<svg><style/></svg>", "element style"),
        ('<svg xmlns="http://www.w3.org/2000/svg"><foreignObject/></svg>', "foreignObject"),
        ('<svg onload="x"/>', "attribute onload"),
        ('<svg><g style="fill: red"/></svg>', "attribute style"),
        ('<svg><image href="https://a.org/x.png"/></svg>', "outside itself"),
        ("<svg>", "well-formed"),
        ("<p/>", "begin with"),
        ('<svg><rect fill="url(https://a.org/x)"/></svg>', "outside itself"),
    ],
)
def test_pictures_that_could_run_or_fetch_are_refused(svg, message):
    with pytest.raises(ValueError, match=message):
        FigureBlock(svg, "", "")


def test_wrong_pages_are_refused():
    with pytest.raises(ValueError, match="two sections"):
        render("T", "", [Section("a", "A", ()), Section("a", "B", ())])
    with pytest.raises(ValueError, match="two pictures"):
        render("T", "", [Section("a", "A", (FigureBlock(PICTURE, "", ""),) * 2)])
    with pytest.raises(ValueError, match="plain word"):
        Section('"><x', "A", ())
    with pytest.raises(ValueError, match="kind must"):
        Callout("warning", "")
    with pytest.raises(TypeError, match="not a block"):
        render("T", "", [Section("a", "A", ("text",))])


def sortable_table():
    rows = [
        ("b", 10.0, "x10", 1),
        ("a", -2.5, "x9", 1),
        ("d", None, None, 1),
        ("c", Compared(9.0, 1.0), "X2", 1),
        ("e", float("inf"), "y", 1),
        ("f", -10.0, "w", 1),  # below -2.5 as a number, above it as text
        ("g", 1e-7, "w", 1),
    ]
    rows += [(f"row {i}", 100.0 + i, "z", 2) for i in range(9)]
    rows += [("total", 0.0, "", 0)]
    return Table(
        "sorted", "To be sorted", ("name", "number", "text", "equal"), tuple(rows), footer=1
    )


def full_page():
    """Every kind of block, with every hostile text in every place."""
    blocks = []
    for place, text in enumerate(HOSTILE):
        table = Table(
            f"hostile{place}",
            text,
            ("set", text),
            ((text, 1.0), ("b", text)),
            caption=text,
            note=text,
        )
        blocks += [Paragraph(text), Callout("caution", text), Code(text), Bullets((text, text))]
        blocks += [Facts(((text, text, text), ("a", "1", ""))), Details(text, (TableBlock(table),))]
        blocks += [TableBlock(table), Paragraph(f"[{text}]({text}) **{text}** `{text}`")]
    models = [f"Model-{i}" for i in range(8)]
    wide = Table(
        "wide",
        "Wide",
        ("set", *models),
        tuple((f"a_rather_long_name_{i}", *[Compared(80.0 + i, 82.5)] * 8) for i in range(26)),
        best="max",
    )
    return render(
        HOSTILE[0],
        HOSTILE[1],
        [
            Section("first", "Sorting", (TableBlock(sortable_table()), TableBlock(wide))),
            Section("picture", "Picture", (FigureBlock(PICTURE, HOSTILE[0], HOSTILE[1]),)),
            *(Section(f"h{i}", text, ()) for i, text in enumerate(HOSTILE)),
            Section("hostile", "Hostile", tuple(blocks)),
        ],
        HOSTILE[2],
    )


@pytest.fixture(scope="module")
def page_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(full_page(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium():
    executable = find_chromium()
    if executable is None:
        pytest.skip("needs Chromium: install it, or name it in CHROMIUM")
    with Browser(executable) as browser:
        yield browser


@pytest.fixture
def browser(chromium, page_path):
    chromium.open(page_path)
    chromium.run("try { localStorage.clear() } catch {}")
    chromium.open(page_path)
    return chromium


SIZES = [(390, 844), (1280, 900)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_overflows_runs_complains_or_is_fetched(browser, page_path, size, scheme):
    browser.open(page_path, *size, scheme)
    browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
    width = browser.run("[document.documentElement.scrollWidth, innerWidth]")
    assert width == [size[0]] * 2
    beyond = browser.run(
        "[...document.querySelectorAll('main *, nav *, header *, footer *')].filter((e) =>"
        "!e.closest('.scroll, .canvas, pre, .sr, nav li') &&"
        "e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert beyond == []
    assert browser.messages == []
    assert browser.requests == [page_path.as_uri()]
    assert browser.run("document.title") == HOSTILE[0]
    label = browser.run("document.querySelector('.canvas').getAttribute('aria-label')")
    assert label == HOSTILE[1]
    assert browser.run("document.querySelectorAll('img, main script, iframe').length") == 0


def test_keys_reach_what_scrolls_sideways_and_notes_are_no_landmarks(browser, page_path):
    picture = "document.querySelector('.canvas').tabIndex"
    assert browser.run(picture) == -1  # it fits, and needs no stop of the Tab key
    browser.open(page_path, *SIZES[0])
    browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
    browser.wait(f"{picture} === 0")
    unreachable = browser.run(
        "[...document.querySelectorAll('main *')].filter((e) =>"
        "/auto|scroll/.test(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + 1 &&"
        "e.tabIndex < 0).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert unreachable == []
    assert browser.run("[...document.querySelectorAll('.callout')].map((e) => e.role)[0]") == "note"
    assert browser.run("document.querySelectorAll('aside').length") == 0


CONTRAST = """(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const background = (e) => {
    for (; e; e = e.parentElement) {
      const rgb = numbers(getComputedStyle(e).backgroundColor);
      if (rgb.length === 3 || rgb[3] === 1) return luminance(rgb);
    }
    throw new Error("no background");
  };
  const poor = [], seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || seen.has(e) || !e.checkVisibility()) continue;
    seen.add(e);
    const [a, b] = [luminance(numbers(getComputedStyle(e).color)), background(e)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([ratio, e.outerHTML.slice(0, 80)]);
  }
  return {poor, seen: seen.size};
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast(browser, page_path, scheme):
    browser.open(page_path, 1280, 900, scheme)
    result = browser.run(CONTRAST)
    assert result["poor"] == []
    assert result["seen"] > 300


def column(browser, place, part="tBodies[0]"):
    return browser.run(
        f"[...document.querySelector('#table-sorted table').{part}.rows]"
        f".map((row) => row.cells[{place}].textContent)"
    )


def header(place):
    return f"#table-sorted th:nth-child({place + 1}) button"


def orders(browser):
    return browser.run(
        "[...document.querySelectorAll('#table-sorted thead th')].map((e) => e.ariaSort)"
    )


ROWS = [f"row {i}" for i in range(9)]


def test_sorting_by_mouse_numbers_text_missing_ties_and_back(browser):
    original = ["b", "a", "d", "c", "e", "f", "g", *ROWS]
    assert column(browser, 0) == original
    browser.click(header(1))
    assert column(browser, 0) == ["f", "a", "g", "c", "b", *ROWS, "e", "d"]
    assert orders(browser) == ["none", "ascending", "none", "none"]
    browser.click(header(1))
    assert column(browser, 0) == ["e", *ROWS[::-1], "b", "c", "g", "a", "f", "d"]
    assert orders(browser) == ["none", "descending", "none", "none"]
    browser.click(header(1))
    assert column(browser, 0) == original
    assert orders(browser) == ["none"] * 4
    browser.click(header(2))
    assert column(browser, 0) == ["f", "g", "c", "a", "b", "e", *ROWS, "d"]
    browser.click(header(3))
    assert column(browser, 0) == original  # 1 in the first seven, then 2
    browser.click(header(3))
    assert column(browser, 0) == [*ROWS, "b", "a", "d", "c", "e", "f", "g"]  # ties keep their order
    assert column(browser, 0, "tFoot") == ["total"]
    assert browser.messages == []


def test_texts_that_begin_with_a_number_are_sorted_by_it(chromium, tmp_path):
    """Ranges with thousands set apart, and numbers below 0, were sorted by their digits."""
    cells = ["1,200,000 to 1,500,000", "403,100 to 472,900", "-3 kg", "\u221210 kg", "none", "98.5"]
    rows = tuple((f"row {k}", cell) for k, cell in enumerate(cells))
    page = render("T", "", [Section("a", "A", (TableBlock(Table("t", "T", ("r", "c"), rows)),))])
    (tmp_path / "t.html").write_text(page, encoding="utf-8")
    chromium.open(tmp_path / "t.html")
    chromium.click("#table-t th:nth-child(2) button")
    order = "[...document.querySelectorAll('#table-t tbody tr')].map((e) => e.cells[1].textContent)"
    assert chromium.run(order) == [cells[k] for k in (3, 2, 5, 1, 0, 4)]


@pytest.mark.parametrize("key", ["Enter", " "])
def test_sorting_by_keyboard(browser, key):
    browser.run("document.querySelector('#table-sorted .scroll').focus()")
    browser.press("Tab")
    assert browser.run("document.activeElement.textContent") == "name"
    browser.press(key)
    assert column(browser, 0) == ["a", "b", "c", "d", "e", "f", "g", *ROWS]
    browser.press("Tab")
    browser.press(key)
    assert orders(browser) == ["none", "ascending", "none", "none"]


def visible(browser):
    return browser.run(
        "[...document.querySelectorAll('#table-sorted tbody tr, #table-sorted tfoot tr')]"
        ".filter((row) => row.checkVisibility()).map((row) => row.cells[0].textContent)"
    )


def test_filter_hides_rows_says_how_many_and_outlives_sorting(browser):
    browser.click("#table-sorted .filter input")
    browser.type("ROW")
    assert visible(browser) == [*ROWS, "total"]
    status = "document.querySelector('#table-sorted [role=status]').textContent"
    assert browser.run(status) == "9 of 16 rows"
    browser.click(header(1))
    browser.click(header(1))
    assert visible(browser) == [*ROWS[::-1], "total"]
    browser.click("#table-sorted .filter input")
    browser.type(" 3")
    assert visible(browser) == ["row 3", "total"]
    browser.run("document.querySelector('#table-sorted .filter input').select()")
    browser.type("x9")
    assert visible(browser) == ["a", "total"]
    assert browser.run("document.querySelectorAll('#table-hostile0 .filter').length") == 0


def test_theme_follows_the_system_until_the_button_is_pressed(browser, page_path):
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(paper)
    browser.open(page_path, scheme="dark")
    dark = browser.run(paper)
    assert light != dark
    assert browser.run("document.querySelector('.theme').textContent") == "Light theme"
    browser.click(".theme")
    assert browser.run(paper) == light
    assert browser.run("document.querySelector('.theme').textContent") == "Dark theme"
    browser.open(page_path, scheme="dark")
    assert browser.run(paper) == light  # the choice is remembered
    browser.click(".theme")
    assert browser.run(paper) == dark
    assert browser.messages == []


def test_wide_tables_scroll_within_themselves_beside_their_first_column(browser, page_path):
    browser.open(page_path, 390, 844)
    before, after, moved = browser.run(
        "(() => { const box = document.querySelector('#table-wide .scroll');"
        "const left = (e) => e.getBoundingClientRect().left;"
        "const row = box.querySelector('tbody tr'); const start = left(row.cells[0]);"
        "const second = left(row.cells[1]); box.scrollLeft = 200;"
        "return [start, left(row.cells[0]), second - left(row.cells[1])]; })()"
    )
    assert moved == 200
    assert before == after


def test_contents_and_skip_link_lead_somewhere(browser):
    dead = browser.run(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash.slice(1))"
        ".filter((id) => !document.getElementById(id))"
    )
    assert dead == []
    ids = browser.run("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    levels = browser.run("[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => h.tagName)")
    assert levels[0] == "H1"
    assert set(levels[1:]) == {"H2"}
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "skip"
    assert browser.run("document.activeElement.getBoundingClientRect().left >= 0")


def test_the_csv_link_holds_the_whole_table(browser):
    link = "document.querySelector('#table-sorted .csv')"
    text = browser.run(f"decodeURIComponent({link}.href.split(',').slice(1).join(','))")
    lines = text.split("\n")
    assert lines[0] == "name,number measured,number printed,number difference,text,equal"
    assert lines[4] == "c,9.0,1.0,8.0,X2,1"
    assert len(lines) == 1 + 17 + 1
    assert browser.run(f"{link}.download") == "sorted.csv"


def test_printing_unfolds_details_and_shows_whole_tables(browser):
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelectorAll('details:not([open])').length") == 0
    style = "getComputedStyle(document.querySelector('#table-wide .scroll')).overflow"
    assert browser.run(style) == "visible"
    assert not browser.run("document.querySelector('nav').checkVisibility()")
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("document.querySelectorAll('details[open]').length") == 0
