"""What the files around the package say of it, compared with each other."""

import re
import subprocess
import tomllib
from pathlib import Path

import check_dist
import pytest

import robell

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    assert f"\nversion: {robell.__version__}\n" in text_of("CITATION.cff")
    assert f'version: "{robell.__version__}"' in text_of("conda/recipe.yaml")
    assert f"version = {{{robell.__version__}}}" in text_of("docs/cite.md")


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = text_of("conda/recipe.yaml").split("  run:\n")[1].split("\ntests:")[0]
    asked = [line.strip(" -").replace(" ", "") for line in recipe.splitlines() if line]
    assert asked == [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]


def test_the_matrix_has_every_python_that_is_declared():
    declared = [
        kind.rsplit(" ", 1)[1]
        for kind in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", kind)
    ]
    named = ", ".join(f'"{version}"' for version in declared)
    assert f"python: [{named}]" in text_of(".github/workflows/tests.yml")
    assert f"PYTHONS = [{named}]" in text_of("noxfile.py")
    low, high = re.fullmatch(r">=([\d.]+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    assert (declared[0], declared[-1]) == (low, f"3.{int(high) - 1}")


def test_workflows_and_templates_are_yaml_and_name_targets_that_exist():
    yaml = pytest.importorskip("yaml")
    files = [*(ROOT / ".github").rglob("*.yml"), ROOT / "conda/recipe.yaml", ROOT / "CITATION.cff"]
    assert len(files) >= 8
    for file in files:
        assert yaml.safe_load(file.read_text(encoding="utf-8"))
    targets = set(re.findall(r"^([\w-]+):", text_of("Makefile"), re.M))
    sessions = set(re.findall(r"^def (\w+)\(session\)", text_of("noxfile.py"), re.M))
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        text = workflow.read_text(encoding="utf-8")
        assert set(re.findall(r"run: make ([\w-]+)", text)) <= targets
        assert set(re.findall(r"nox -s (\w+)", text)) <= sessions


def test_actions_are_pinned_and_keep_no_credentials():
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        text = workflow.read_text(encoding="utf-8")
        uses = re.findall(r"uses: (.*)", text)
        assert uses
        for one in uses:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one), one
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_the_readme_is_short_and_its_figures_are_those_of_the_study():
    readme, study = text_of("README.md"), text_of("docs/robustness.md")
    assert len(readme.splitlines()) <= 120
    assert "\nmake test " in readme
    table = readme.split("## Where it leads")[1].split("\n## ")[0]
    figures = re.findall(r"[+\u2212]\.\d{3}(?: \u00b1 \.\d{3})?", table)
    assert len(figures) == 19
    for figure in figures:
        assert figure in study, figure


def test_what_the_readme_shows_runs_after_its_own_install(tmp_path):
    programs = check_dist.environment(tmp_path)
    fetch = [programs / "python", "-m", "pip", "download", "--no-deps", "--retries", "0"]
    asked = subprocess.run(
        [*fetch, "--dest", tmp_path, "hatchling"], capture_output=True, text=True
    )
    if asked.returncode:
        pytest.skip(f"no package registry can be reached: {asked.stderr.strip()[-200:]}")
    check_dist.install(programs, ROOT)
    check_dist.try_readme(programs, tmp_path)


def test_links_between_files_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            made_by_the_site = link.endswith((".rst", ".html"))
            if "://" not in link and not link.startswith("mailto:") and not made_by_the_site:
                assert (page.parent / link).exists(), (page.name, link)
