"""Check a built site: ``python docs/check.py build/site``; ``make docs`` does it after building.

Links within the site and their anchors, words for images, every public name, the weight of the
landing page, the time of each lesson, and the menu of ``llms.txt``. With Chromium and axe-core
(``--axe`` and the path of its ``axe.min.js``; found by itself where axe-core-python or npm's
axe-core is installed) six kinds of pages are checked for accessibility: two widths, both themes.
"""

import argparse
import gzip
import importlib
import importlib.util
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))
LANDING_LIMIT = 300_000  # bytes, of everything the page makes a browser fetch, compressed
LESSON_LIMIT = 20.0  # seconds
PAGES = {
    "landing": "index.html",
    "guide": "guide/audit.html",
    "gallery": "gallery/index.html",
    "lesson": "gallery/plot_find_wrong_labels.html",
    "API": "api/generated/robell.NoiseRobustRVFLClassifier.html",
    "changelog": "changelog.html",
}
ROOMS = ["files", "dask", "export", "metrics", "noise", "plots", "datasets"]
MODULES = ["robell", *(f"robell.{room}" for room in ROOMS)]


class Page(HTMLParser):
    """Links, anchors and images of one page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.unnamed = [], set(), 0
        self.assets = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Note what a tag points to."""
        found = dict(attributes)
        self.anchors |= {found.get("id"), found.get("name")} - {None}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "img":
            self.unnamed += "alt" not in found
        source = found.get("src") if tag in ("img", "script") else None
        if tag == "link" and found.get("rel") in ("stylesheet", "preload"):
            source = found.get("href")
        if source:
            self.assets.append(source)


def check_links(site):
    """Yield every link that leads nowhere within the site, and images without words."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site)
        if page.unnamed:
            yield f"{where}: {page.unnamed} images without alt"
        yield from (f"{where}: fetches {asset}" for asset in page.assets if "//" in asset)
        for link in page.links + page.assets:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                yield f"{where}: no such file: {link}"
            elif parts.fragment and target.suffix == ".html":
                known = pages.get(target) or pages.get(path)
                if unquote(parts.fragment) not in known.anchors:
                    yield f"{where}: no such anchor: {link}"


def check_names(site):
    """Yield public names without a page of their own."""
    for module in MODULES:
        names = importlib.import_module(module).__all__
        for name in set(names) - {"__version__"}:
            page = site / "api" / "generated" / f"{module}.{name}.html"
            if not page.exists():
                yield f"no page for {module}.{name}"
            elif "&gt;&gt;&gt;" not in page.read_text(encoding="utf-8"):
                yield f"no example on the page of {module}.{name}"


def weigh_landing(site):
    """Return the bytes a browser fetches for the landing page, compressed as a server would.

    What style sheets ask for counts where Chromium is there to tell; otherwise what the page names.
    """
    from browser import Browser, find_chromium

    page = site / "index.html"
    chromium = find_chromium()
    if chromium:
        with Browser(chromium) as browser:
            browser.open(page, 1280, 900)
            browser.run("window.scrollTo(0, document.body.scrollHeight)")
            sources = [unquote(urlsplit(url).path) for url in browser.requests]
    else:
        sources = [page, *(urlsplit(source).path for source in Page(page).assets)]
    paths = {(site / source).resolve() for source in sources if str(source) not in ("", "/")}
    sizes = {}
    for path in filter(Path.is_file, paths):
        content = path.read_bytes()
        packed = path.suffix in (".png", ".woff2")
        sizes[path.name] = len(content) if packed else len(gzip.compress(content))
    return sum(sizes.values()), sizes


def check_lessons(docs):
    """Yield lessons that took too long, by what the gallery wrote down."""
    for cost in sorted(docs.glob("gallery/*.cost.json")):
        taken = json.loads(cost.read_text(encoding="utf-8"))["time"]
        if taken > LESSON_LIMIT:
            yield f"lesson {cost.name} took {taken:.0f} s, at most {LESSON_LIMIT:.0f}"


def check_menu(site):
    """Yield lines of llms.txt that lead nowhere."""
    for link in re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8")):
        if not (site / link).exists():
            yield f"llms.txt: no such page: {link}"


def find_axe():
    """Return axe-core's script, from a package of Python or of npm, or None."""
    places = [DOCS.parent / "node_modules" / "axe-core" / "axe.min.js"]
    package = importlib.util.find_spec("axe_core_python")
    if package and package.submodule_search_locations:
        places += Path(package.submodule_search_locations[0]).rglob("axe.min.js")
    return next((place for place in places if place.exists()), None)


def check_access(site, axe):
    """Yield serious and critical violations that axe-core finds; None where it cannot be run."""
    from browser import Browser, find_chromium

    chromium = find_chromium()
    if not (axe and chromium):
        print("accessibility not checked: axe-core or Chromium is missing")
        return
    script = axe.read_text(encoding="utf-8")
    with Browser(chromium) as browser:
        for kind, name in PAGES.items():
            for width in (390, 1280):
                for scheme in ("light", "dark"):
                    browser.open(site / name, width, 900, scheme)
                    for fault in run_axe(browser, script):
                        yield f"{kind}, {width} px, {scheme}: {fault}"
                    wide = browser.run("document.documentElement.scrollWidth")
                    if wide > width:
                        yield f"{kind}, {width} px, {scheme}: the page is {wide} px wide"


def run_axe(browser, script):
    """Return what axe-core finds serious or critical on the open page, once it stands still."""
    browser.run(script + ";0")
    still = "Promise.allSettled(document.getAnimations().map(one => one.finished))"
    still = f"Promise.race([{still}, new Promise(done => setTimeout(done, 2000))])"
    asked = "axe.run().then(r => window.found = r.violations, e => window.found = [])"
    browser.call("Runtime.evaluate", expression=f"{still}.then(() => {asked})", awaitPromise=True)
    found = json.loads(browser.run("JSON.stringify(window.found)"))
    return [
        f"{v['id']} ({v['impact']}): {v['nodes'][0]['html'][:110]} ... {len(v['nodes'])} times"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


def main():
    """Print what is wrong, and say by the exit code whether anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--axe", type=Path, default=find_axe())
    options = parser.parse_args()
    site = options.site.resolve()
    faults = [*check_links(site), *check_names(site), *check_lessons(DOCS), *check_menu(site)]
    weight, parts = weigh_landing(site)
    print(f"landing page: {weight / 1000:.0f} KB compressed, {parts}")
    if weight > LANDING_LIMIT:
        faults.append(f"the landing page weighs {weight} bytes, at most {LANDING_LIMIT}")
    faults += check_access(site, options.axe)
    print(*faults, f"{len(faults)} faults", sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
