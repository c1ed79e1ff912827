"""The review in the page of an audit: decisions by keys, kept, saved, loaded again and applied."""

import csv
import re

import numpy as np
import pandas as pd
import pytest
from browser import Browser, find_chromium
from reviewer import READY, expected_table, review_by_keys, save

from robell.labels.audit import audit
from robell.labels.audit.cards import packed, unpacked
from robell.labels.certify import certify
from robell.labels.review import apply_review
from robell.labels.review.server import ReviewDesk
from robell.labels.reviewed import PRIOR_ROWS, odds_factor, with_odds

DESK = "document.querySelector('.review').desk"
SAID = "document.querySelector('.review .said').textContent"
HOSTILE = [
    "</template><script>document.title = 'ran'</script>",
    'two "quotes", a\nline',
    "שלום \u202eabc",
]


@pytest.fixture(scope="module")
def chromium():
    executable = find_chromium()
    if executable is None:
        pytest.skip("needs Chromium: install it, or name it in CHROMIUM")
    with Browser(executable) as browser:
        yield browser


def flowers(path, n, seed=5, names=("aster", "daisy", "lily")):
    """Three kinds of flowers, one label in eight wrong."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 3, n)
    codes = np.where(rng.random(n) < 0.125, (true + rng.integers(1, 3, n)) % 3, true)
    frame = pd.DataFrame(
        {
            "plant": [f"P-{k:05d}" for k in range(n)],
            "length": (rng.normal(size=n) + 5 * true).round(2),
            "colour": np.where(rng.random(n) < 0.7, np.array(["r", "g", "b"])[true], "w"),
            "kind": np.array(names, object)[codes],
        }
    )
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def garden(tmp_path_factory):
    folder = tmp_path_factory.mktemp("garden")
    return audit(flowers(folder / "garden.csv", 900), "kind", out=folder)


def opened(chromium, result, fresh=True, **how):
    chromium.open(result.html, **how)
    chromium.wait(READY)
    if fresh:
        chromium.run("localStorage.clear()")
        opened(chromium, result, fresh=False, **how)
        # On a busy machine a new page may see the store as it was before.
        is_left = f"Object.keys(localStorage).some(name => name.startsWith({DESK}.store.prefix))"
        return opened(chromium, result, **how) if chromium.run(is_left) else chromium
    chromium.run("document.querySelector('.card').focus()")
    return chromium


def test_decisions_by_keys_make_the_table_that_an_oracle_makes(chromium, tmp_path):
    path = flowers(tmp_path / "garden.csv", 2600)
    result = audit(path, "kind", out=tmp_path)
    assert result.suspect.sum() > 280
    oracle, saved = review_by_keys(chromium, result, np.random.default_rng(1), 300, tmp_path)
    done = apply_review(path, saved, tmp_path / "clean.csv")
    made = [one[0] for one in oracle.made if one]
    assert (done.changed, done.dropped) == (made.count("change"), made.count("drop"))
    assert done.changed > 80
    assert done.out.read_text().splitlines() == expected_table(path, result, oracle)
    assert chromium.messages == []
    assert set(chromium.requests) <= {result.html.as_uri()} | {
        url for url in chromium.requests if url.startswith("blob:")
    }


def test_a_card_shows_the_row_what_is_usual_and_similar_trusted_rows(chromium, garden):
    opened(chromium, garden)
    place = garden.order[0]
    frame = pd.read_csv(garden.html.with_name("garden.csv"))
    head, *rows = chromium.run(
        "[...document.querySelectorAll('.card tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    cells = {row[0]: row[1:] for row in rows}
    assert rows[0][:2] == ["plant", frame["plant"][place]]  # identifiers first
    assert float(cells["length"][0].replace("\u2212", "-")) == frame["length"][place]
    assert head[2:4] == [f"Usual for {name[place]}" for name in (garden.given, garden.suggested)]
    trusted = [int(re.search(r"line (\d+)", text)[1]) for text in head[4:]]
    near = np.searchsorted(garden.line, trusted)
    assert not garden.suspect[near].any()
    assert cells["plant"][3:] == frame["plant"][near].tolist()
    assert (np.abs(frame["length"][near] - frame["length"][place]) < 1).all()
    assert garden.reasons[place + 1][0].text in chromium.run(
        "document.querySelector('.card .why').textContent"
    )


def test_what_is_expected_next_is_what_a_review_in_progress_expects(chromium, garden):
    opened(chromium, garden)
    doubt = np.array(unpacked(re.search('data">([^<]*)<', garden.html.read_text())[1])["doubt"])
    words = ["keep", "keep", "change", "drop", "keep", "keep", "change", "keep"]
    for k, word in enumerate(words):
        n_wrong = sum(one != "keep" for one in words[:k])
        following = np.sort(doubt[k:])[::-1][:40]
        expected = with_odds(following, odds_factor(doubt[:k], n_wrong, PRIOR_ROWS)).sum()
        found = chromium.run(f"{DESK}.expected()")
        assert found["ahead"] == len(following)
        assert found["wrong"] == pytest.approx(expected, abs=1e-6)
        chromium.press(word[0])


def test_a_half_finished_review_is_loaded_again_and_conflicts_are_named(chromium, garden, tmp_path):
    opened(chromium, garden)
    for key in "kcds":
        chromium.press(key)
    chromium.run("document.querySelector('#review-note').focus()")
    chromium.type('seen, "twice"')
    chromium.press("Enter")
    chromium.press("k")
    saved = save(chromium, tmp_path / "garden-decisions.csv")
    with saved.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == garden.suspect.sum()
    assert [row["decision"] for row in rows[:6]] == ["keep", "change", "drop", "", "keep", ""]
    assert rows[4]["note"] == 'seen, "twice"'

    opened(chromium, garden)
    chromium.press("c")  # where the file says keep
    chromium.give_file(".review input[type=file]", saved)
    said = chromium.wait(f"/loaded/.test({SAID}) && {SAID}")
    assert (
        f"3 decisions loaded. 1 row decided otherwise on this page stay so: line {rows[0]['line']}"
        in said
    )
    words = chromium.run(f"{DESK}.made.slice(0, 6).map((one) => one?.word ?? null)")
    assert words == ["change", "change", "drop", None, "keep", None]
    assert chromium.run(f"{DESK}.made[4].note") == 'seen, "twice"'


def each(**cells):
    """Return what writes these cells into every row."""
    return lambda rows: [row | cells for row in rows]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (each(target="sort"), "line 2: this is a review of another column, sort."),
        (each(fingerprint="a" * 33), "another table, or of another version"),
        (lambda rows: [*rows[:3], rows[0]], "stands there twice"),
        (each(decision="maybe"), "the decision maybe is none of keep, change and drop"),
        (each(decision="change", suggested="rose"), "rose is no label of this table"),
        (each(given="rose"), "by now, not rose"),
        (each(row="-3"), "is not the number of a row"),
        (lambda rows: [{"row": row["row"]} for row in rows], "no column given, so this is no"),
        (lambda rows: [], "so this is no review"),
    ],
)
def test_a_spoilt_review_is_refused_in_one_line_and_nothing_is_taken(
    chromium, garden, tmp_path, spoil, message
):
    opened(chromium, garden)
    frame = pd.read_csv(garden.csv, dtype=str, keep_default_na=False)
    frame["decision"] = "keep"
    path = tmp_path / "spoilt.csv"
    spoilt = pd.DataFrame(spoil(frame.to_dict("records")))
    spoilt.to_csv(path, index=False, sep=";")
    chromium.give_file(".review input[type=file]", path)
    said = chromium.wait(f"/taken/.test({SAID}) && {SAID}")
    assert said.startswith("spoilt.csv: ")
    assert message in said
    assert said.endswith("Nothing was taken from it.")
    assert chromium.run(f"{DESK}.made.every((one) => one === null)")


def test_decisions_on_rows_that_the_page_does_not_ask_about_are_kept(chromium, garden, tmp_path):
    opened(chromium, garden)
    frame = garden.to_frame()
    frame.loc[len(frame) - 1, "decision"] = "drop"  # the likeliest label of all
    frame.to_csv(tmp_path / "all.csv", index=False)
    chromium.give_file(".review input[type=file]", tmp_path / "all.csv")
    assert "1 decision on rows that are not on this page" in chromium.wait(
        f"/loaded/.test({SAID}) && {SAID}"
    )
    assert chromium.run(f"[...{DESK}.others.values()][0].decision") == "drop"


def test_without_storage_the_page_says_so(chromium, garden):
    """A page that is opened from a mail, or in a private window, may keep nothing."""
    refused = (
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no'); }})"
    )
    script = chromium.call("Page.addScriptToEvaluateOnNewDocument", source=refused)
    opened(chromium, garden, fresh=False)
    chromium.call("Page.removeScriptToEvaluateOnNewDocument", **script)
    assert chromium.run("document.querySelector('.review .kept').textContent") == (
        "This browser keeps nothing: save the decisions before you close the page, and load them "
        "again to go on."
    )
    chromium.press("k")
    assert chromium.run(f"{DESK}.made[0].word") == "keep"
    is_warned = "!dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert chromium.run(is_warned)
    chromium.run(f"{DESK}.isSaved = true")  # or the browser asks whether to leave
    opened(chromium, garden)
    chromium.press("k")
    assert not chromium.run(is_warned)


def test_two_tabs_share_their_decisions(chromium, garden):
    opened(chromium, garden)
    chromium.press("k")
    entry = chromium.run(
        f"(() => {{ const d = {DESK}; const key = d.store.prefix + d.ids[5];"
        "const value = JSON.stringify({word: 'drop', label: null, note: '', sequence: 9,"
        " given: d.text('given_written', 5)});"
        "dispatchEvent(new StorageEvent('storage', {key, newValue: value}));"
        "return d.made[5].word; })()"
    )
    assert entry == "drop"
    assert chromium.run("document.querySelector('.counts').textContent").startswith("2 of ")


def test_labels_that_hold_script_and_signs_stay_data(chromium, tmp_path):
    path = flowers(tmp_path / "hostile.csv", 400, names=HOSTILE)
    result = audit(path, "kind", out=tmp_path)
    assert result.suspect.sum() > 10
    opened(chromium, result)
    for key in "cckd":
        chromium.press(key)
    assert chromium.run("document.title").startswith("Label audit")
    assert chromium.run("document.querySelectorAll('main script').length") == 0
    saved = save(chromium, tmp_path / "hostile-decisions.csv")
    done = apply_review(path, saved, tmp_path / "clean.csv")
    assert (done.changed, done.kept, done.dropped) == (2, 1, 1)
    before, after = (pd.read_csv(one) for one in (path, done.out))
    shown = result.order[result.suspect[result.order]]
    expected = before.copy()
    for place in shown[:2]:
        label = next(one for one in HOSTILE if one.split()[0] == result.suggested[place].split()[0])
        expected.loc[place, "kind"] = label
    expected = expected.drop(index=shown[3]).reset_index(drop=True)
    pd.testing.assert_frame_equal(after, expected)
    assert chromium.messages == []


def test_names_that_look_like_numbers_are_labels_of_their_own(chromium, tmp_path):
    path = flowers(tmp_path / "codes.csv", 400, names=("01", "1", "+1"))
    result = audit(path, "kind", out=tmp_path)
    n_suspects = int(result.suspect.sum())
    assert n_suspects > 20
    opened(chromium, result)
    for _ in range(n_suspects):
        chromium.press("c")
    words = chromium.run(f"{DESK}.made.map((one) => one?.word ?? null)")
    assert words == ["change"] * n_suspects
    saved = save(chromium, tmp_path / "codes-decisions.csv")
    opened(chromium, result)
    chromium.give_file(".review input[type=file]", saved)
    chromium.wait(f"/loaded/.test({SAID}) && {SAID}")
    shown = result.order[result.suspect[result.order]]
    labels = chromium.run(f"{DESK}.made.map((one) => one?.label ?? null)")
    assert labels == result.suggested[shown].tolist()
    again = save(chromium, tmp_path / "codes-decisions.csv")
    done = apply_review(path, again, tmp_path / "clean.csv")
    assert done.changed == n_suspects


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
def test_everything_can_be_reached_and_read(chromium, garden, size, scheme):
    opened(chromium, garden, width=size[0], height=size[1], scheme=scheme)
    unnamed = chromium.run(
        "[...document.querySelectorAll('.review button, .review input, .review select,"
        " .review [role]')].filter((e) => !e.hidden && !(e.textContent.trim() || e.ariaLabel"
        " || e.labels?.length || ['presentation', 'status'].includes(e.role)))"
        ".map((e) => e.outerHTML)"
    )
    assert unnamed == []
    small = chromium.run(
        "[...document.querySelectorAll('.review .acts button')].filter((e) =>"
        "e.getBoundingClientRect().height < 44 || e.getBoundingClientRect().width < 40)"
        ".map((e) => e.outerHTML)"
    )
    assert small == []
    bottom = chromium.run(
        "(() => { document.querySelector('.card').scrollIntoView(); const box ="
        "document.querySelector('.acts').getBoundingClientRect(); return box.bottom; })()"
    )
    assert bottom <= size[1] + 0.5  # the buttons stay in sight
    assert chromium.run("document.documentElement.scrollWidth") == size[0]


def test_the_list_makes_the_lines_in_sight_only_and_follows_the_keys(chromium, garden):
    opened(chromium, garden)
    n = int(garden.suspect.sum())
    count = "document.querySelectorAll('.queue [role=option]').length"
    assert chromium.run(count) < min(n, 40)
    chromium.run("document.querySelector('.queue').focus()")
    for _ in range(3):
        chromium.press("ArrowDown")
    selected = chromium.run(
        "document.querySelector('.queue').getAttribute('aria-activedescendant')"
    )
    assert chromium.run(f"document.getElementById('{selected}').ariaSelected") == "true"
    assert chromium.run("document.querySelector('.card .where').textContent").startswith("4 of ")


def test_numbers_are_changed_to_any_number(chromium, tmp_path):
    rng = np.random.default_rng(3)
    size = rng.uniform(30, 150, 300).round()
    price = (2000 * size + rng.normal(0, 5000, 300)).round().astype(int)
    price[::30] *= 10
    path = tmp_path / "flats.csv"
    pd.DataFrame({"size": size, "rooms": (size / 25).round(), "price": price}).to_csv(
        path, index=False
    )
    result = audit(path, "price", out=tmp_path)
    opened(chromium, result)
    chromium.press("o")
    chromium.run("document.activeElement.select()")
    chromium.type("abc")
    chromium.press("Enter")
    assert "abc is not a number" in chromium.run(SAID)
    chromium.press("o")
    chromium.run("document.activeElement.select()")
    chromium.type("123456")
    chromium.press("Enter")
    saved = save(chromium, tmp_path / "flats-decisions.csv")
    done = apply_review(path, saved, tmp_path / "clean.csv")
    assert done.changed == 1
    assert pd.read_csv(done.out)["price"][result.order[0]] == 123456


@pytest.mark.parametrize("written", ["{:,.2f} EUR", "${:,.2f}", "-{:.1f} kg", "−{:.2f}"])
def test_the_suggestion_for_a_number_is_taken_in_whatever_unit(chromium, tmp_path, written):
    rng = np.random.default_rng(3)
    size = rng.uniform(30, 150, 300).round()
    price = (2000 * size + rng.normal(0, 5000, 300)).round(1)
    price[::30] *= 10
    path = tmp_path / "flats.csv"
    cells = [written.format(one) for one in price]
    pd.DataFrame({"size": size, "rooms": (size / 25).round(), "price": cells}).to_csv(
        path, index=False
    )
    result = audit(path, "price", out=tmp_path)
    opened(chromium, result)
    for _ in range(5):
        chromium.press("c")
    saved = save(chromium, tmp_path / "flats-decisions.csv")
    done = apply_review(path, saved, tmp_path / "clean.csv")
    assert done.changed == 5
    assert audit(done.out, "price", reviewed=done.log).n_corrected == 5


def test_what_is_packed_holds_no_markup_and_comes_back():
    review = {"a": HOSTILE, "b": [1, 2.5, None], "c": "\ud800"}
    text = packed(review)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    assert unpacked(text) == review | {"c": "?"}


def test_a_certificate_beside_the_page_bounds_what_is_still_wrong(chromium, tmp_path):
    path = flowers(tmp_path / "garden.csv", 600)
    sheet = certify(path, "kind", rows=80).to_frame()
    nearest = np.clip((sheet["length"].astype(float) / 5).round().astype(int), 0, 2)
    sheet["true"] = np.array(["aster", "daisy", "lily"])[nearest]
    certificate = certify(path, "kind", rows=80).certificate(sheet).write(tmp_path)
    assert 0 < certificate.wrong.low < certificate.wrong.high

    def shown(corrected, dropped):
        low = certificate.still_wrong(corrected + dropped)[0]
        high = certificate.still_wrong(corrected)[1]
        return (
            f"Still wrong in the whole table: {low} to {high} (95 % confidence, by its certificate)"
        )

    line = "[...document.querySelectorAll('.review .head .counts')].at(-1)"
    opened(chromium, audit(path, "kind", out=tmp_path))
    assert chromium.run(f"{line}.textContent") == shown(0, 0)
    for key in "cckd":
        chromium.press(key)
    assert chromium.run(f"{line}.textContent") == shown(2, 1)
    desk = ReviewDesk(audit(path, "kind"), tmp_path / "garden-decisions.csv")
    assert desk.cards["certified"] == [certificate.wrong.low, certificate.wrong.high]
    # Of a table with other labels it says nothing.
    header, first, *rest = path.read_text().splitlines()
    other = "lily" if not first.endswith("lily") else "aster"
    path.write_text("\n".join([header, first.rpartition(",")[0] + f",{other}", *rest]))
    opened(chromium, audit(path, "kind", out=tmp_path))
    assert chromium.run(f"{line}.hidden")
