"""The audit's report: hostile text stays text, and in a browser it looks as it should."""

import csv
import io
import re
import shlex
import time
from html import unescape
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from browser import Browser, find_chromium

from robell._tools.text import looks_like_formula
from robell.cli import main
from robell.labels.audit import audit
from robell.labels.audit.cards import unpacked
from robell.labels.audit.classes import project, told_apart
from robell.labels.audit.figures import (
    KINDS,
    MOST_DOTS,
    class_bars,
    class_map,
    quality_histograms,
)
from robell.labels.audit.reasons import nearest, trusted
from robell.report.page import FigureBlock

SCRIPT = "<script>document.title = 'ran'</script>"
BREAK_OUT = "</script></style></title>]]>--><img src=x onerror=\"document.title='ran'\">"
LABELS = [
    SCRIPT + "\u202eשלום مرحبا",
    '=HYPERLINK("http://x","y")' + "z" * 900,
    "\"'><svg onload=alert(1)> " + "W" * 60,
]
COLUMNS = [
    BREAK_OUT,
    "x" * 10_000,
    "long words " * 500,
    "مرحبا \u202e\u2066 שלום \u200b zero",
    "👩‍👩‍👧‍👦 z\u0311\u0312\u0313\u0314\u0315\u0316\u0317a",
    "**bold** `code` [l](javascript:alert(1))",
]
CELLS = [
    [SCRIPT, "=1+1|' /C calc'!A0", "y" * 5_000],
    ["\u202eevil", "\u2067x\u2069\u2069", "שלום עולם"],
    ["\a bell", "line\nbreak\ttab", "@SUM(A1)"],
]


def hostile_csv(folder, n=240, seed=1):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 3, n)
    path = folder / "<b>hostile' \u202e.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, LABELS[0]])
        for k in range(n):
            given_ = true[k] if rng.random() > 0.1 else rng.integers(0, 3)
            told = true[k] if rng.random() < 0.7 else 0
            texts = [CELLS[0][told], *(rng.choice(cells) for cells in CELLS[1:])]
            values = [rng.normal(2.0 * true[k]), rng.normal(-true[k])]
            writer.writerow(
                [
                    values[0],
                    texts[0],
                    values[1],
                    texts[1],
                    texts[2],
                    -rng.integers(5),
                    LABELS[given_],
                ]
            )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def hostile(folder):
    return audit(hostile_csv(folder), LABELS[0], out=folder)


@pytest.fixture(scope="module")
def plain(folder):
    """Three classes of flowers, 8 % of the labels wrong."""
    rng = np.random.default_rng(5)
    true = rng.choice(3, 400, p=[0.6, 0.3, 0.1])
    flip = rng.random(400) < 0.08
    codes = np.where(flip, (true + rng.integers(1, 3, 400)) % 3, true)
    frame = pd.DataFrame(
        {
            "length": (rng.normal(size=400) + 3 * true).round(2),
            "petals": rng.poisson(3 + 4 * true),
            "colour": np.where(rng.random(400) < 0.7, np.array(["r", "g", "b"])[true], "w"),
            "day": np.datetime64("2024-01-01") + rng.integers(0, 300, 400).astype("m8[D]"),
            "kind": np.array(["aster", "daisy", "lily"])[codes],
        }
    )
    frame.loc[::9, "petals"] = np.nan
    path = folder / "flowers.csv"
    frame.to_csv(path, index=False)
    return audit(path, "kind", out=folder)


@pytest.fixture(scope="module")
def random_labels(folder):
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["p", "q"], 200)
    path = folder / "chance.csv"
    frame.to_csv(path, index=False)
    return audit(path, "kind", out=folder)


# -- findings ------------------------------------------------------------------------------------


def test_neighbours_are_the_nearest_trusted_rows_and_not_the_row_itself(plain):
    evidence = plain.evidence
    among = trusted(evidence.judgement, evidence.codes)
    assert not (among & plain.suspect).any()
    X = evidence.matrix
    places = np.flatnonzero(plain.suspect)[:5]
    for place, found in zip(places, nearest(X, places, among), strict=True):
        distance = np.linalg.norm(X - X[place], axis=1)
        distance[~among] = np.inf
        distance[place] = np.inf
        np.testing.assert_array_equal(np.sort(distance[found]), np.sort(distance)[:3])


def test_the_map_keeps_distances_of_a_plane_and_says_so(rng):
    plane = rng.normal(size=(50, 2)) * [3, 1]
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    found, share = project(plane @ turn[:2] + 7.0)
    assert share == pytest.approx(1)
    here = np.linalg.norm(found[:, None] - found, axis=-1)
    there = np.linalg.norm(plane[:, None] - plane, axis=-1)
    np.testing.assert_allclose(here, there, atol=1e-9)
    assert project(rng.normal(size=(9, 1)))[0].shape == (9, 2)


# -- pictures ------------------------------------------------------------------------------------


def texts_of(svg):
    return [e.text for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")]


def test_pictures_are_accepted_by_the_page_and_say_what_they_show(rng):
    names = [*LABELS, "d", "e", "f", "g", "h"]
    codes = rng.integers(0, 8, 5000)
    suspect = rng.random(5000) < 0.1
    quality = rng.random(5000)
    quality[:2] = [0, 1]
    dots, drawn = class_map(names, codes, rng.normal(size=(5000, 2)), suspect, 0)
    bars = class_bars(names, np.bincount(codes), np.bincount(codes) + 0.4)
    histograms, shown = quality_histograms(names, codes, quality, suspect)
    assert drawn == MOST_DOTS
    assert shown == list(range(8))
    for svg in (dots, bars, histograms):
        FigureBlock(svg, "", "")
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img"
        tags = {child.tag.rpartition("}")[2]: child for child in root}
        named = " ".join(tags[tag].get("id") for tag in ("title", "desc"))
        assert root.get("aria-labelledby") == named
        assert tags["title"].text
        assert tags["desc"].text
        assert max(len(text) for text in texts_of(svg)) < 60
    assert "other classes" in texts_of(dots)
    assert sum(text.endswith("rows") for text in texts_of(bars)) == 8


def test_every_row_of_a_small_table_is_a_mark_and_every_suspect_a_cross(rng):
    codes = np.repeat([0, 1, 2], 20)
    suspect = np.zeros(60, bool)
    suspect[[3, 33]] = True
    svg, drawn = class_map(["a", "b", "c"], codes, rng.normal(size=(60, 2)), suspect, 0)
    assert drawn == 60
    paths = [e for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("path")]
    marks = {}
    for path in paths:  # the legend's single marks included
        colour = path.get("fill") if path.get("fill") != "none" else path.get("stroke")
        marks[colour] = marks.get(colour, 0) + path.get("d").count("M")
    assert marks == {KINDS[0][0]: 20, KINDS[1][0]: 20, KINDS[2][0]: 21, "var(--down)": 3}


def test_histograms_hold_every_row(rng):
    codes = np.repeat([0, 1], 30)
    quality = np.concatenate([np.full(30, 0.97), np.full(20, 0.51), np.full(10, 0.02)])
    svg, _ = quality_histograms(["a", "b"], codes, quality, quality < 0.5)
    assert [text for text in texts_of(svg) if "tallest" in text] == [
        "tallest bar: 30 rows", "tallest bar: 20 rows",
    ]  # fmt: skip
    bars = [e for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("rect")]
    assert [bar.get("fill") for bar in bars] == ["var(--up)", "var(--down)", "var(--up)"]
    heights = [float(bar.get("height")) for bar in bars]
    np.testing.assert_allclose(heights, [74, 37, 74])


# -- the page ------------------------------------------------------------------------------------


def test_the_first_screen_says_what_to_do(plain):
    page = plain.html.read_text()
    first = page[page.index('id="found"') : page.index('id="suspects"')]
    n = plain.suspect.sum()
    assert f"Of 400 rows, {n} (" in first
    assert f'<dd class="value" dir="auto">{n}</dd>' in first
    assert '<a href="flowers-audit.csv">flowers-audit.csv</a>' in first
    assert "What to do next" in first
    assert "the labels least likely to be right come first" in first


def test_chances_of_suspects_are_numbers_by_which_a_table_is_sorted(plain):
    """ "1 %" stood before "less than 1 %" where the least likely were asked for first."""
    page = plain.html.read_text()
    table = page[page.index('id="table-suspects"') :]
    table = table[: table.index("</table>")]
    assert '<th scope="col" class="n" dir="auto">Chance of being right, %</th>' in table
    rows = re.findall(r"<tr><th.*?</tr>", table[table.index("<tbody>") :])
    chances = [float(re.findall(r'data-sort="([\d.e-]+)"', row)[1]) for row in rows]
    np.testing.assert_allclose(chances, 100 * np.sort(plain.quality[plain.suspect])[: len(rows)])


def test_every_section_is_there_and_links_lead_somewhere(plain):
    page = plain.html.read_text()
    ids = re.findall(r'<section id="([\w-]+)"', page)
    assert ids == [
        "found", "suspects", "noise", "classes", "quality", "map", "contradictions", "columns",
        "limits", "how",
    ]  # fmt: skip
    for target in re.findall(r'href="#([\w-]+)"', page):
        assert f'id="{target}"' in page
    assert page.count("<details>") == 1  # the suspects as a table


@pytest.fixture(scope="module")
def frauds(folder):
    """One row in 15 is a fraud, and a quarter of the frauds are labelled "no"."""
    rng = np.random.default_rng(2)
    true = rng.random(1500) < 1 / 15
    X = rng.normal(size=(1500, 10))
    X[:, :4] += np.where(true, 3.0, 0.0)[:, None]
    frame = pd.DataFrame(X.round(3), columns=[f"v{k}" for k in range(10)])
    frame["fraud"] = np.where(true & (rng.random(1500) > 0.25), "yes", "no")
    path = folder / "frauds.csv"
    frame.to_csv(path, index=False)
    return audit(path, "fraud", out=folder)


def test_the_first_sentence_says_which_class_is_hit(frauds):
    page = frauds.html.read_text()
    first = page[page.index('id="found"') : page.index('id="suspects"')]
    share = re.search(
        r"<strong>About (\d+) of 100 rows that are really &#x27;yes&#x27; are labelled "
        r"&#x27;no&#x27;\. Of 1,500 rows",
        first,
    )
    true, label = frauds.classes.index("yes"), frauds.classes.index("no")
    assert int(share[1]) == round(100 * frauds.noise_matrix[true, label])
    assert int(share[1]) > 200 * frauds.suspect.mean()  # of the class, not of the table
    n = int(((frauds.given == "no") & frauds.suspect).sum())
    assert f"<li>{n} rows labelled &#x27;no&#x27; are probably &#x27;yes&#x27;</li>" in first
    assert frauds._headline().startswith(f"About {share[1]} of 100 rows that are really 'yes'")


def test_no_class_is_named_where_all_are_hit_alike():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 400)
    given_ = np.where(rng.random(400) < 0.1, 1 - true, true)
    frame = pd.DataFrame(rng.normal(size=(400, 2)) + 4 * true[:, None], columns=["a", "b"])
    result = audit(frame.assign(kind=given_), "kind")
    assert result.suspect.sum() > 20
    assert result._headline().startswith("Of 400 rows, ")


def test_every_suspect_has_a_card_and_the_first_a_line(plain):
    page = plain.html.read_text()
    cards = unpacked(re.search('review-data">([^<]*)<', page)[1])
    shown = plain.order[plain.suspect[plain.order]]
    assert cards["row"] == plain.row[shown].tolist()
    assert cards["number"][: len(shown)] == plain.line[shown].tolist()
    for name, labels in (("given", plain.given), ("suggested_written", plain.suggested)):
        texts = [cards[name]["texts"][k] for k in cards[name]["codes"]]
        assert texts[: len(shown)] == labels[shown].tolist()
    section = page[page.index('id="suspects"') : page.index('id="noise"')]
    lines = [int(line) for line in re.findall(r'<tr><th scope="row"[^>]*>(\d+)<', section)]
    assert lines == plain.line[shown][:25].tolist()


@pytest.mark.parametrize(
    "name", ["my plants.csv.gz", "plants.parquet", "plants.xlsx", "plants.txt"]
)
def test_the_page_names_the_command_that_applies_what_it_saves(tmp_path, capsys, monkeypatch, name):
    """A blank in the name, Parquet, workbooks and other encodings made it one that fails."""
    rows = pd.DataFrame({"height": [k % 7 + 9 * (k % 2) for k in range(80)]})
    rows["plant"] = np.where((rows.index % 2 == 1) ^ (rows.index == 41), "fougère", "moss")
    path = tmp_path / name
    if path.suffix == ".parquet":
        rows.to_parquet(path)
    elif path.suffix == ".xlsx":
        rows.to_excel(path, index=False)
    else:
        rows.to_csv(path, index=False, encoding="latin-1")
    is_text = path.suffix in (".gz", ".txt")
    result = audit(path, "plant", encoding="latin-1" if is_text else "utf-8", out=tmp_path)
    cards = unpacked(re.search('review-data">([^<]*)<', result.html.read_text())[1])
    robell, *command = shlex.split(" saved.csv ".join(cards["apply"]))
    assert robell == "robell"
    monkeypatch.chdir(tmp_path)
    result.to_frame().assign(decision="keep").to_csv("saved.csv", index=False)
    assert main(command) == 0
    assert "80 kept" in capsys.readouterr().out


def test_the_map_is_left_out_where_it_is_a_blob(plain, random_labels, rng):
    assert 'id="map"' in plain.html.read_text()
    page = random_labels.html.read_text()
    assert 'id="map"' not in page
    assert "#map" not in page
    codes = rng.integers(0, 2, 600)
    assert abs(told_apart(rng.normal(size=(600, 2)), codes, 0) - 0.5) < 0.06
    assert told_apart(rng.normal(size=(600, 2)) + 8 * codes[:, None], codes, 0) > 0.99
    rare = np.arange(600) < 12
    assert told_apart(rng.normal(size=(600, 2)) + 8 * rare[:, None], rare.astype(int), 0) > 0.99


def test_noise_in_words_agrees_with_the_matrix(plain):
    page = plain.html.read_text()
    said = re.findall(
        r"About (\d+) of 100 rows that are really &#x27;(\w+)&#x27; (?:is|are) labelled "
        r"&#x27;(\w+)&#x27;",
        page,
    )
    assert said
    for share, true, label in said:
        i, j = plain.classes.index(true), plain.classes.index(label)
        assert int(share) == round(100 * plain.noise_matrix[i, j])


def test_the_csv_of_hostile_labels_holds_no_formula(hostile):
    text = hostile.csv.read_text(encoding="utf-8")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == (int(hostile.suspect.sum()) or len(hostile.row)) + 1
    for cell in (cell for row in rows for cell in row):
        assert not looks_like_formula(cell)
    place = rows[0].index("given")
    shown = {row[place] for row in rows[1:]}
    assert shown <= {"'" + LABELS[1], *LABELS}


def test_links_of_tables_hold_no_formula(hostile):
    links = re.findall(r'href="data:text/csv;charset=utf-8,([^"]*)"', hostile.html.read_text())
    assert len(links) > 3
    for link in links:
        for row in csv.reader(unquote(unescape(link)).splitlines()):
            assert not any(looks_like_formula(cell) for cell in row)


def test_no_direction_is_turned_and_long_names_are_there_in_full(hostile):
    page = hostile.html.read_text(encoding="utf-8")
    assert not re.search("[\u202a-\u202e\u2066\u2067\u061c\u200e\u200f]", page)
    assert page.count("\u2068") == page.count("\u2069")
    assert page.count("x" * 10_000) == 1
    assert page.count("z" * 900) == 1
    assert len(page) < 600_000


@pytest.fixture(scope="module")
def chromium():
    executable = find_chromium()
    if executable is None:
        pytest.skip("needs Chromium: install it, or name it in CHROMIUM")
    with Browser(executable) as browser:
        yield browser


SIZES = [(390, 844), (1280, 900)]


@pytest.mark.parametrize("which", ["hostile", "plain", "random_labels"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_overflows_runs_complains_or_is_fetched(chromium, request, which, size, scheme):
    result = request.getfixturevalue(which)
    chromium.open(result.html, *size, scheme)
    chromium.run("for (const d of document.querySelectorAll('details')) d.open = true")
    assert chromium.run("[document.documentElement.scrollWidth, innerWidth]") == [size[0]] * 2
    beyond = chromium.run(
        "[...document.querySelectorAll('main *, nav *, header *, footer *')].filter((e) =>"
        "!e.closest('.scroll, .canvas, pre, .sr, nav li') &&"
        "e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert beyond == []
    assert chromium.messages == []
    assert chromium.requests == [result.html.as_uri()]
    assert chromium.run("document.title").startswith("Label audit of ")
    assert chromium.run("document.querySelectorAll('img, main script, iframe').length") == 0


@pytest.mark.parametrize("which", ["hostile", "plain"])
def test_cells_and_captions_do_not_run_into_each_other(chromium, request, which):
    chromium.open(request.getfixturevalue(which).html, 1280, 900)
    chromium.run("for (const d of document.querySelectorAll('details')) d.open = true")
    sticking_out = chromium.run(
        "[...document.querySelectorAll('td, th')].filter((cell) => {"
        "const range = document.createRange(); range.selectNodeContents(cell);"
        "const box = cell.getBoundingClientRect(), text = range.getBoundingClientRect();"
        "return text.width > 0 && !cell.querySelector('button')"
        " && (text.right > box.right + 1 || text.left < box.left - 1);"
        "}).map((cell) => cell.textContent.slice(0, 80))"
    )
    assert sticking_out == []
    overlaps = chromium.run(
        "[...document.querySelectorAll('.canvas svg')].flatMap((svg) => {"
        "const boxes = [...svg.querySelectorAll('text')].map((t) => [t.textContent, "
        "t.getBoundingClientRect()]); const found = [];"
        "boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {"
        "if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 &&"
        " q.top < p.bottom - 3) found.push(`${a} | ${b}`); })); return found; })"
    )
    assert overlaps == []
    outside = chromium.run(
        "[...document.querySelectorAll('.canvas svg text')].filter((t) => {"
        "const box = t.getBoundingClientRect(), svg = t.ownerSVGElement.getBoundingClientRect();"
        "return box.right > svg.right + 1 || box.left < svg.left - 1"
        " || box.bottom > svg.bottom + 2;"
        "}).map((t) => t.textContent)"
    )
    assert outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_follow_the_theme_and_can_be_seen(chromium, plain, scheme):
    chromium.open(plain.html, 1280, 900, scheme)
    pairs = chromium.run(
        "(() => { const luminance = (c) => { const v = c.match(/[\\d.]+/g).slice(0, 3)"
        ".map((x) => x / 255).map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);"
        "return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };"
        "const paper = luminance(getComputedStyle(document.body).backgroundColor);"
        "return [...document.querySelectorAll('.canvas path, .canvas text, .canvas rect')]"
        ".map((e) => { const s = getComputedStyle(e);"
        "const colour = s.fill === 'none' ? s.stroke : s.fill;"
        "const ink = luminance(colour); return [e.tagName, e.getAttribute('stroke'),"
        "(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)]; }); })()"
    )
    assert len(pairs) > 30
    for tag, stroke, ratio in pairs:
        if stroke != "var(--rule)":  # the frame, which says nothing
            assert ratio > (4.5 if tag == "text" else 3.0), (tag, ratio)


@pytest.mark.parametrize("which", ["plain", "random_labels", "hostile"])
def test_on_a_phone_the_contents_leave_room_for_the_finding(chromium, request, which):
    chromium.open(request.getfixturevalue(which).html, 390, 844)
    contents, facts = chromium.run(
        "[document.querySelector('nav').getBoundingClientRect().height,"
        " document.querySelector('#found .facts').getBoundingClientRect().top]"
    )
    assert contents < 60
    assert facts < 844 * (0.9 if which == "hostile" else 0.6)  # long names take lines
    last = chromium.run(
        "(() => { const a = [...document.querySelectorAll('nav a')].at(-1);"
        "a.focus(); const box = a.getBoundingClientRect(); return [box.left, box.right]; })()"
    )
    assert 0 <= last[0] < last[1] <= 390.5  # the line is pushed along with the focus


def test_what_is_wider_than_a_phone_says_so_until_its_end_is_seen(chromium, plain):
    chromium.open(plain.html, 390, 844)
    chromium.run("document.querySelector('details').open = true")
    box = "document.querySelector('details .scroll')"
    figure = f"{box}.closest('figure')"
    state = f"[{figure}.classList.contains('wide'), {box}.classList.contains('more')]"
    time.sleep(0.2)
    assert chromium.run(f"{box}.scrollWidth > {box}.clientWidth + 4")
    assert chromium.run(state) == [True, True]
    cue = f"getComputedStyle({figure}, '::before').content"
    assert "more to the side" in chromium.run(cue)
    chromium.run(f"{box}.scrollLeft = 10000")
    time.sleep(0.2)
    assert chromium.run(state) == [True, False]
    chromium.open(plain.html, 1280, 900)
    chromium.run("document.querySelector('details').open = true")
    time.sleep(0.2)
    assert chromium.run(state) == [False, False]


def test_remarks_are_written_in_ink(chromium, plain):
    chromium.open(plain.html, 1280, 900)
    colours = chromium.run(
        "[document.querySelector('.callout p'), document.body]"
        ".map((e) => getComputedStyle(e).color)"
    )
    assert colours[0] == colours[1]


def test_the_first_screen_fits_the_window(chromium, plain, random_labels):
    for result in (plain, random_labels):
        chromium.open(result.html, 1280, 900)
        sentence, steps = chromium.run(
            "[document.querySelector('#found strong'), document.querySelector('#found ul')]"
            ".map((e) => e.getBoundingClientRect().bottom)"
        )
        assert sentence < 300
        assert steps < 900
