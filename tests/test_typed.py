"""The public API is typed: stubs that say what the code says, and a user's program that passes."""

from pathlib import Path

import pytest
from typed_stubs import MODULES, PACKAGE, stub

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
NoiseRobustRVFLClassifier().predict_probability([[0.0]])
"""


@pytest.mark.parametrize("name", MODULES)
def test_the_stubs_say_what_the_code_says(name):
    written = (PACKAGE / f"{name}.pyi").read_text(encoding="utf-8")
    assert written == stub(name), "write the stubs again: python tests/typed_stubs.py"


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
