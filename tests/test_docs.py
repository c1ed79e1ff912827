"""Documentation that can fail the build: the pages name what exists, and the examples run."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import commands
import numpy as np
import pytest
from outputs import PAGES, outputs

import robell
import robell._core

ROOT = Path(__file__).parents[1]
EQUATIONS = (ROOT / "docs" / "paper" / "equations.md").read_text(encoding="utf-8")


def table_rows(page, heading):
    """Cells of every body row of the first table under a heading."""
    section = page.split(f"## {heading}")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[2:]]


def numbers(text):
    """Equation numbers in "Eqs. 1-2", "Eq. 7", "Eqs. 11 and 13 to 25"."""
    found = set()
    for first, last in re.findall(r"(\d+)(?:(?:-| to )(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def core_functions():
    for module_info in pkgutil.walk_packages(robell._core.__path__, "robell._core."):
        if module_info.name.endswith("_triton"):  # needs Triton, and holds no formula of its own
            continue
        module = importlib.import_module(module_info.name)
        for name, member in inspect.getmembers(module, inspect.isfunction):
            if member.__module__ == module.__name__ and not name.startswith("_"):
                yield f"{module.__name__}.{name}", member


def resolve(dotted):
    module, name = dotted.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def test_every_function_named_exists():
    names = set(re.findall(r"`(robell\._core\.[\w.]+)`", EQUATIONS))
    assert len(names) > 10
    for name in names:
        assert callable(resolve(name)), name


def test_constants_of_the_noise_robust_classifier_are_those_of_the_code():
    page = (ROOT / "docs" / "robustness_method.md").read_text(encoding="utf-8")
    rows = table_rows(page, "Constants")
    assert len(rows) >= 30
    for _, value, name in rows:
        constant = np.atleast_1d(resolve("robell." + name.strip("`")))
        assert [float(part) for part in value.split(", ")] == pytest.approx(constant), name


def test_every_test_named_exists():
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", EQUATIONS))
    assert len(named) > 25
    for file, test in named:
        assert re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), (
            file,
            test,
        )


def test_every_equation_is_placed():
    placed = set()
    for equation, *_ in table_rows(EQUATIONS, "Equations"):
        if equation.startswith("Eq"):
            placed |= numbers(equation)
    for sentence in re.findall(r"^Eqs\. [^(]*|^Eqs\. .*", EQUATIONS, re.M):
        placed |= numbers(sentence)
    assert set(range(1, 30)) <= placed


def test_functions_cite_the_equations_they_are_listed_under():
    listed = {}
    for equation, _, function, _ in table_rows(EQUATIONS, "Equations"):
        if function.startswith("`") and equation.startswith("Eq"):
            listed.setdefault(function.strip("`"), set()).update(numbers(equation))
    cited = {
        name: numbers(match[1])
        for name, function in core_functions()
        if (match := re.search(r"\(Eqs?\. ([^,;)]*)", inspect.getdoc(function).splitlines()[0]))
    }
    assert listed == cited


def test_every_erratum_the_code_mentions_has_an_entry():
    page = (ROOT / "docs" / "paper" / "errata.md").read_text(encoding="utf-8")
    decided = set(re.findall(r"^### (E\d+)\. ", page, re.M))
    mentioned = set()
    for path in (ROOT / "src").rglob("*.py"):
        for text in re.findall(r"errat(?:um|a) ([E\d, and]+)", path.read_text(encoding="utf-8")):
            mentioned |= set(re.findall(r"E\d+", text))
    assert mentioned
    assert mentioned <= decided


def test_every_public_name_has_a_docstring_with_an_example_and_a_changelog_line():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for name in set(robell.__all__) - {"__version__"}:
        doc = inspect.getdoc(getattr(robell, name))
        assert "Examples\n--------\n>>>" in doc, name
        assert f"`{name}`" in changelog, name
    assert f"## {robell.__version__}" in changelog


def test_every_parameter_and_fitted_attribute_is_documented(imbalanced):
    X, y = imbalanced
    for name in [name for name in robell.__all__ if name.endswith(("Classifier", "Regressor"))]:
        estimator = getattr(robell, name)
        parameters, attributes = inspect.getdoc(estimator).split("Attributes\n-----")
        known = inspect.signature(estimator).parameters
        given = {"random_state": 0} if "random_state" in known else {}
        if name == "NoiseRobustClassifier":  # the one that needs another
            given["estimator"] = robell.RVFLClassifier(random_state=0)
        if name == "NoiseRobustRegressor":
            given["estimator"] = robell.RVFLRegressor(random_state=0)
        model = estimator(**given).fit(X, y if name.endswith("Classifier") else X[:, 0])
        for parameter in model.get_params(deep=False):
            assert re.search(rf"^{parameter} : ", parameters, re.M), (name, parameter)
        for attribute in vars(model):
            if attribute.endswith("_") and not attribute.startswith("_"):
                named = rf"^(\w+, )*{attribute}(, \w+)* : "
                assert re.search(named, attributes, re.M), (name, attribute)


def words_and_numbers(text):
    """What a block prints, apart: the words in their order, and the numbers between them."""
    number = r"(?<![\w.])[+-]?\d[\d,]*\.?\d*(?:e[+-]\d+)?"
    values = [float(value.replace(",", "")) for value in re.findall(number, text)]
    return re.sub(number, "#", text).split(), values


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_examples_run_and_print_what_stands_below_them(page, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "page", None)  # taken back afterwards
    for output in outputs(page, tmp_path):
        assert output.on_page is not None, f"run docs/outputs.py --write: {output.printed}"
        printed, on_page = words_and_numbers(output.printed), words_and_numbers(output.on_page)
        assert printed[0] == on_page[0]
        # Other versions and processors round otherwise, in the last digit that is shown.
        np.testing.assert_allclose(printed[1], on_page[1], rtol=0.02, atol=0.011)


@pytest.mark.parametrize(
    "lesson", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem
)
def test_lessons_have_a_heading_a_picture_and_words(lesson):
    """The gallery's build runs them (``make docs``); what it shows of each is checked here."""
    text = lesson.read_text(encoding="utf-8")
    heading, line, *words = ast.get_docstring(ast.parse(text)).splitlines()
    assert len(heading) == len(line)
    assert set(line) == {"="}
    assert len(" ".join(words)) > 100
    assert text.count("plt.show()") == 1
    assert "# %%" in text
    assert "robell" in text


def test_every_lesson_is_in_a_section_of_the_gallery_and_its_picture_is_described():
    """Add a new one to docs/lessons.toml, with what is seen on its picture."""
    sections = tomllib.loads((ROOT / "docs" / "lessons.toml").read_text("utf-8"))["section"]
    assert all(len(section["blurb"]) > 20 for section in sections)
    seen = {name: text for section in sections for name, text in section["lessons"].items()}
    assert set(seen) == {path.stem for path in (ROOT / "examples").glob("plot_*.py")}
    assert min(map(len, seen.values())) > 40


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_terms_of_the_pages_are_in_the_glossary():
    terms = set(re.findall(r"^(\w[\w -]*)\n  \S", GLOSSARY, re.M))
    assert {"anchor", "suspect", "quality", "recovered split", "stand-in", "print"} <= terms
    assert sorted(terms, key=str.lower) == re.findall(r"^(\w[\w -]*)\n  \S", GLOSSARY, re.M)
    for page in (ROOT / "docs").rglob("*.md"):
        for term in re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", page.read_text("utf-8")):
            assert term in terms, (page.name, term)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_landing_chart_shows_the_table_of_the_study(scheme):
    """After a change of the table: ``python docs/draw.py chart``."""
    page = (ROOT / "docs" / "robustness.md").read_text(encoding="utf-8")
    table = page.split("**Balanced accuracy** (mean rank")[1].split("\n\n")[1]
    chart = (ROOT / "docs" / "images" / f"landing_chart_{scheme}.svg").read_text(encoding="utf-8")
    shown = re.search(r"<dc:description>(.*?)</dc:description>", chart, re.S)[1]
    for name, *cells in (line.strip("| ").split(" | ") for line in table.splitlines()[2:]):
        means = [float(re.search(r"\.\d+", cell)[0]) for cell in cells]
        assert f"'{name}': {means}" in shown, name


def test_the_reference_of_commands_is_that_of_the_parsers():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == commands.reference(), "run docs/commands.py --write"


def test_every_page_is_in_the_menu():
    """A page that no table of contents names would be found by nobody."""
    docs = ROOT / "docs"
    named = {"index"}
    for page in docs.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.S):
            for entry in re.findall(r"^(?:[^:`<\n]+<)?([\w./]+)>?$", block, re.M):
                found = (page.parent / entry).resolve().relative_to(docs.resolve())
                named.add(found.as_posix())
    pages = {path.relative_to(docs).with_suffix("").as_posix() for path in docs.rglob("*.md")}
    assert pages <= named
    assert {name for name in named if not (docs / f"{name}.md").exists()} <= {
        "api/index",
        "gallery/index",
    }


# -- measured figures ------------------------------------------------------------------

MEASURED = re.compile(r"\d (?:s|ms|MB|GB|GiB|seconds|CPU-seconds)\b")
STUDIES = r"\brobell (?:reproduce|robustness|audit)\b"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name)
def test_measured_figures_name_what_printed_them(page):
    text = page.read_text(encoding="utf-8")
    scripts = set(re.findall(r"benchmarks/(\w+\.py)", text))
    assert all((ROOT / "benchmarks" / name).exists() for name in scripts)
    if MEASURED.search(text):
        assert scripts or re.search(STUDIES, text)


def test_the_comparison_runs_and_prints_its_tables():
    result = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "comparison.py"), "--seeds", "1"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("RoBell, scale") == 4
    assert result.stderr == ""
