"""Documentation that can fail the build: the pages name what exists, and the examples run."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

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
    for name in [name for name in robell.__all__ if name.endswith("Classifier")]:
        estimator = getattr(robell, name)
        parameters, attributes = inspect.getdoc(estimator).split("Attributes\n-----")
        seed = {"random_state": 0} if "random_state" in estimator().get_params() else {}
        model = estimator(**seed).fit(*imbalanced)
        for parameter in model.get_params():
            assert re.search(rf"^{parameter} : ", parameters, re.M), (name, parameter)
        for attribute in vars(model):
            if attribute.endswith("_") and not attribute.startswith("_"):
                assert re.search(rf"^{attribute} : ", attributes, re.M), (name, attribute)


PAGES = [
    "README.md",
    "docs/guide/search.md",
    "docs/guide/streaming.md",
    "docs/guide/big_data.md",
    "docs/guide/audit.md",
    "docs/guide/compare.md",
    "docs/robustness.md",
    "docs/guide/labels.md",
    "docs/guide/variants.md",
]


def python_blocks(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.S)


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_examples_run(page, monkeypatch):
    blocks = python_blocks(page)
    assert blocks
    module = ModuleType("page")  # where what a page defines can be pickled from
    monkeypatch.setitem(sys.modules, "page", module)
    for block in blocks:
        exec(compile(block, page, "exec"), vars(module))


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("[0-9]*.py")), ids=lambda p: p.name
)
def test_examples_run(example, tmp_path):
    picture = tmp_path / "picture.png"
    result = subprocess.run(
        [sys.executable, str(example), "--out", str(picture)],
        capture_output=True,
        text=True,
        env={"MPLBACKEND": "Agg", "PATH": "", "MPLCONFIGDIR": str(tmp_path)},
    )
    assert result.returncode == 0, result.stderr
    assert picture.stat().st_size > 10_000


# -- measured figures ------------------------------------------------------------------

MEASURED = re.compile(r"\d (?:s|ms|MB|GB|GiB|seconds|CPU-seconds)\b")
STUDIES = r"\brobell (?:reproduce|robustness|audit)\b"


def printed_blocks(text):
    """Return the blocks of a page that name no language and are no command lines."""
    blocks, fenced = [], re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    for language, block in fenced:
        if not language and not re.match(r"(robell|pip|make|python) ", block):
            blocks.append(block)
    return blocks


def words(text):
    return set(re.findall(r"[A-Za-z_]{4,}", text))


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name)
def test_measured_figures_name_what_printed_them(page):
    text = page.read_text(encoding="utf-8")
    scripts = set(re.findall(r"benchmarks/(\w+\.py)", text))
    sources = [(ROOT / "benchmarks" / name).read_text(encoding="utf-8") for name in scripts]
    if MEASURED.search(text):
        assert scripts or re.search(STUDIES, text)
    if not scripts:
        return
    for block in printed_blocks(text):
        # A script's output is made of the script's words, sets' names aside: no other program's.
        shown = words(block)
        shares = [len(shown & words(source)) / len(shown) for source in sources]
        assert max(shares) > 0.6, block[:200]


def test_the_comparison_runs_and_prints_its_tables():
    result = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "comparison.py"), "--seeds", "1"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("RoBell, scale") == 4
    assert result.stderr == ""
