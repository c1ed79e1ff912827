"""The public API is typed: a user's program passes the strictest check, mistakes are seen."""

import importlib
import inspect
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "robell"

USER = """
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import robell
from robell import NoiseRobustRVFLClassifier, TableEncoder, audit, find_label_issues, fit_table
from robell.files import fit_files, load_model, predict_files, save_model
from robell.metrics import g_mean_score
from robell.noise import flip_labels

X: NDArray[np.float64] = np.random.default_rng(0).normal(size=(100, 3))
y = (X[:, 0] > 0).astype(int)
noisy, flipped = flip_labels(y, 0.1, random_state=0)
model = NoiseRobustRVFLClassifier(random_state=0).fit(X, noisy)
probability: NDArray[np.float64] = model.predict_proba(X)
rate: float = model.noise_rate_
n: int = len(find_label_issues(X, noisy, random_state=0))
names: list[str] = TableEncoder(text_columns=5).fit(X, y).get_feature_names_out().tolist()
result = fit_table(Path("t.csv"), "y", budget=0.1)
share: float = result.noise_rate
found = audit("t.csv", "y")
word: str = found.trust
save_model(model, "m.skops")
again = load_model("m.skops")
fit_files(robell.RVFLClassifier(C="loo"), ["t.csv"], "y")
rows: int = predict_files(again, "t.csv", "out.csv")
print(n, names, share, word, probability, rate, rows, g_mean_score(y, y), robell.__version__)
"""
WRONG = """
from robell import NoiseRobustRVFLClassifier, fit_table

NoiseRobustRVFLClassifier(n_hidden="many")
fit_table("t.csv", "y", budget="much")
label: str = NoiseRobustRVFLClassifier().noise_rate_
fit_table("t.csv", "y", bugdet=0.1)
"""


MODULES = (
    "robell",
    "robell.dask",
    "robell.export",
    "robell.files",
    "robell.metrics",
    "robell.noise",
    "robell.plots",
)


def public_functions():
    """Yield the name and the function of all that users call: functions, and methods of classes."""
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield name, value
            elif inspect.isclass(value):
                for method in dir(value):
                    own = inspect.getattr_static(value, method)
                    own = getattr(own, "__func__", own)  # of class and static methods
                    is_public = method == "__init__" or not method.startswith("_")
                    is_ours = str(getattr(own, "__module__", "")).startswith("robell")
                    if is_public and is_ours and inspect.isfunction(own):
                        yield f"{name}.{method}", own


def test_all_that_users_call_is_annotated():
    missing = []
    for name, function in public_functions():
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            if parameter.name not in ("self", "cls") and parameter.annotation is parameter.empty:
                missing.append(f"{name}({parameter.name})")
        if signature.return_annotation is signature.empty:
            missing.append(f"{name} -> ?")
    assert missing == []


def test_a_program_passes_the_strictest_check_and_mistakes_are_seen(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(PACKAGE.parent))
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(Path(tmp_path) / "cache")]
    out, err, _ = api.run([*options, "user.py", "wrong.py"])
    assert err == ""
    errors = [line for line in out.splitlines() if ": error:" in line]
    assert [line.split(":")[:2] for line in errors] == [["wrong.py", str(k)] for k in (4, 5, 6, 7)]
