"""Imports point one way, the architecture page lists every module, and the core stays small."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "robell"

# Each may import only what stands before it.
LAYERS = ["_core", "_validation", "_progress", "metrics", "_base", "rvfl", "robell"]
LAYERS += ["neurofuzzy", "complex_valued", "granular_ball", "_shared_folds", "search"]
CORE_DEPENDENCIES = {"numpy", "scipy", "robell"}
# threadpoolctl comes with scikit-learn; torch is imported inside functions only
DEPENDENCIES = CORE_DEPENDENCIES | {"sklearn", "joblib", "threadpoolctl"}
OPTIONAL = {"torch"}


def module_name(path):
    parts = ["robell", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            yield node.module


def layer(module):
    return LAYERS.index(module.split(".")[1])


def test_imports_point_one_way():
    for path in PACKAGE.rglob("*.py"):
        module = module_name(path)
        if module == "robell":
            continue
        own = layer(module)
        for imported in imports(path):
            if not imported.startswith("robell"):
                continue
            target = layer(imported)
            same_core = target == own == 0
            assert same_core or target < own, f"{module} imports {imported}"


def test_the_core_imports_no_scikit_learn_and_nothing_optional():
    import sys

    for path in PACKAGE.rglob("*.py"):
        allowed = CORE_DEPENDENCIES if "_core" in path.parts else DEPENDENCIES
        at_top = {
            node.names[0].name
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Import)
        }
        assert not at_top & OPTIONAL, f"{path} imports an optional package at its top"
        allowed = allowed | OPTIONAL
        for imported in imports(path):
            top = imported.split(".")[0]
            assert top in allowed or top in sys.stdlib_module_names, f"{path} imports {imported}"


def test_the_architecture_page_lists_every_module():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ {6,8}(\w+\.py) ", page, re.M))
    present = {path.name for path in PACKAGE.rglob("*.py")}
    assert present == listed


def test_core_dependencies_are_scikit_learns():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}
    assert names == {"numpy", "scipy", "scikit-learn", "joblib"}


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()
