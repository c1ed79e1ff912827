"""The review in the page of an audit, measured in a headless Chromium.

python benchmarks/review_page.py runs      20 times 300 decisions by keys, reloaded half way, some
                                           undone, saved and applied: does an oracle's table come?
python benchmarks/review_page.py large     a page of 5,000 suspects: its size, how long until the
                                           first card, and how long a decision takes
python benchmarks/review_page.py axe FILE  what axe-core (its axe.min.js) finds on pages of classes
                                           and numbers, in both themes, on a screen and on a phone

Needs Chromium, by its usual names or by CHROMIUM. Times are wall clock, of this machine.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import Browser, find_chromium
from reviewer import READY, expected_table, review_by_keys

from robell.labels.audit import audit
from robell.labels.review import apply_review

RUNS, STEPS, DECISIONS = 20, 300, 40


def table(path, n, n_columns, n_classes, share, seed):
    """Write a table whose classes lie apart, with this share of wrong labels."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, n_classes, n)
    is_wrong = rng.random(n) < share
    codes = np.where(is_wrong, (true + rng.integers(1, n_classes, n)) % n_classes, true)
    X = rng.normal(size=(n, n_columns))
    X[np.arange(n), true] += 5.0
    frame = pd.DataFrame(X.round(4), columns=[f"v{k}" for k in range(n_columns)])
    frame.insert(0, "id", [f"R-{k:06d}" for k in range(n)])
    frame["label"] = np.array(["ash", "birch", "cedar", "dogwood"])[codes]
    frame.to_csv(path, index=False)
    return path


def runs(browser, folder):
    """Let a reviewer and an oracle decide, and compare the tables."""
    equal = 0
    for seed in range(RUNS):
        home = folder / f"run{seed}"
        home.mkdir()
        path = table(home / "trees.csv", 2600, 4, 3, 0.125, seed)
        result = audit(path, "label", out=home)
        rng = np.random.default_rng(seed)
        oracle, saved = review_by_keys(browser, result, rng, STEPS, home)
        done = apply_review(path, saved, home / "clean.csv")
        is_equal = done.out.read_text().splitlines() == expected_table(path, result, oracle)
        equal += is_equal
        print(
            f"run {seed}: {int(result.suspect.sum())} suspects, {done.changed} changed, "
            f"{done.dropped} dropped, {done.kept} kept: {'equal' if is_equal else 'DIFFERENT'}",
            flush=True,
        )
    print(f"{equal} of {RUNS} tables equal the oracle's")


def large(browser, folder):
    """Measure a page of 5,000 suspects of a table of 20 columns."""
    path = table(folder / "large.csv", 30_000, 18, 4, 0.19, 0)
    result = audit(path, "label", out=folder)
    print(f"{int(result.suspect.sum())} suspects, {result.html.stat().st_size / 1e6:.2f} MB")
    browser.open(result.html)
    browser.wait(READY, 30)
    shown = browser.run(
        "performance.getEntriesByType('mark').find((one) => one.name === 'first card').startTime"
    )
    print(f"{browser.run('document.querySelector(`.review`).desk.made.length')} cards; first card "
          f"{shown:.0f} ms after the page was asked for")  # fmt: skip
    times = browser.run(
        "(() => { const times = []; const card = document.querySelector('.card');"
        f"for (let k = 0; k < {DECISIONS}; k += 1) {{ const start = performance.now();"
        "card.dispatchEvent(new KeyboardEvent('keydown', {key: 'kc'[k % 2], bubbles: true}));"
        "document.body.offsetHeight; times.push(performance.now() - start); } return times; })()"
    )
    print(f"a decision, with layout: {np.median(times):.1f} ms, at most {max(times):.1f} ms")
    scrolls = browser.run(
        "(() => { const times = []; const list = document.querySelector('.queue');"
        "for (let k = 0; k < 60; k += 1) { const start = performance.now();"
        "list.scrollTop = k * 3000; list.dispatchEvent(new Event('scroll'));"
        "document.body.offsetHeight; times.push(performance.now() - start); } return times; })()"
    )
    print(f"a scroll by 68 lines, with layout: {np.median(scrolls):.1f} ms, at most "
          f"{max(scrolls):.1f} ms")  # fmt: skip


def axe(browser, folder, script):
    """Print what axe-core finds, by how serious it is."""
    table(folder / "trees.csv", 600, 4, 3, 0.1, 0)
    rng = np.random.default_rng(0)
    size, rooms = rng.uniform(30, 150, 400).round(), rng.integers(1, 6, 400)
    price = (2000 * size + 9000 * rooms + rng.normal(0, 9000, 400)).round()
    price[::20] *= 3
    frame = pd.DataFrame({"size": size, "rooms": rooms, "price": price})
    frame.to_csv(folder / "flats.csv", index=False)
    for name, target in (("trees", "label"), ("flats", "price")):
        page = audit(folder / f"{name}.csv", target, out=folder).html
        for size_ in ((1280, 900), (390, 844)):
            for scheme in ("light", "dark"):
                browser.open(page, *size_, scheme)
                browser.wait(READY)
                browser.run(f"{script};0")
                browser.run("axe.run().then((found) => { window.found = found.violations; });0")
                browser.wait("Boolean(window.found)", 60)
                found = browser.run("found.map((one) => [one.impact, one.id, one.nodes.length])")
                print(f"{name}, {size_[0]} px, {scheme}: {json.dumps(found)}")


def main(wanted, *more):
    """Measure what is asked for."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Browser(find_chromium()) as browser:
        if wanted == "axe":
            axe(browser, Path(folder), Path(*more).read_text(encoding="utf-8"))
        else:
            {"runs": runs, "large": large}[wanted](browser, Path(folder))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
