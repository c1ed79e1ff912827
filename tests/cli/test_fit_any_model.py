"""``robell fit --model`` with classifiers of other packages, made robust to wrong labels."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from robell import NoiseRobustClassifier, fit_table
from robell.cli import main
from robell.comparison.peers import BASES
from robell.files import load_model
from robell.noise import flip_labels

OWN = """
from sklearn.linear_model import LogisticRegression

def make(seed):
    return LogisticRegression(C=0.5)

class Own(LogisticRegression):
    pass

def broken():
    raise RuntimeError("it is broken")

def pair(seed):
    return LogisticRegression(), {"C": [1, 2]}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    late = np.where(rng.random(240) < 0.3, "yes", "no")
    size = np.round(np.exp(rng.normal(np.where(late == "yes", 2.5, 0.0))), 2)
    shop = rng.choice(["north", "south", ""], 240)
    wrong, _ = flip_labels(late, 0.15, random_state=0)
    pd.DataFrame({"size": size, "shop": shop, "late": wrong}).to_csv("t.csv", index=False)
    return tmp_path


def run(capsys, *arguments):
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


@pytest.mark.parametrize("name", ["logistic", "lightgbm"])
def test_a_known_classifier_is_made_robust_measured_saved_and_explained(capsys, here, name):
    if name == "lightgbm":
        pytest.importorskip("lightgbm")
    fit = ("fit", "t.csv", "--target", "late", "--out", "m.skops", "--model", name)
    status, out, _ = run(capsys, *fit, "--recall", "80%")
    assert status == 0
    assert out.splitlines()[0].endswith(", made robust")
    report = json.loads((here / "m-fit.json").read_text())
    assert report["model"].endswith(", made robust")
    assert report["held_out"]["decision"]["recall"]["value"] > 0.6
    model = load_model("m.skops")
    assert model[1].threshold_ == report["held_out"]["decision"]["threshold"]
    assert isinstance(model[1].estimator_, NoiseRobustClassifier)
    predict = ("predict", "m.skops", "t.csv", "--out", "p.csv", "--proba", "--explain")
    assert run(capsys, *predict)[0] == 0
    rows = pd.read_csv("p.csv")
    columns = pd.read_csv("t.csv").drop(columns="late")
    assert np.allclose(model.predict_proba(columns)[:, 1], rows["probability_yes"])
    assert rows[["reasons_for", "reasons_against"]].notna().any(axis=1).mean() > 0.9
    assert "made robust" in (here / "m-fit.html").read_text()


def test_the_users_own_classifier_and_its_parameters(capsys, here, monkeypatch):
    (here / "own_classifiers.py").write_text(OWN)
    monkeypatch.syspath_prepend(here)
    fit = ("fit", "t.csv", "--target", "late", "--out", "m.skops", "--no-report", "--quiet")
    assert run(capsys, *fit, "--model", "own_classifiers:make", "--param", "C=0.1")[0] == 0
    assert load_model("m.skops")[1].estimator_.estimator_.C == 0.1
    for wrong, text in {
        "own_classifiers:Own": "a model file cannot hold Own, because",
        "own_classifiers:broken": "no classifier can be made of 'own_classifiers:broken': it is",
        "own_classifiers:none": "model 'own_classifiers:none' cannot be imported: module",
        "own_classifiers:pair": "a model to be made robust takes no grid",
        "svc": "a model file cannot hold SVC, because",
    }.items():
        status, out, err = run(capsys, *fit, "--model", wrong, "--force")
        assert status == 1
        assert not out
        assert err.startswith(f"robell: {text}")
        assert err.count("\n") == 1


def test_a_wrong_name_is_wrong_usage_and_near_ones_are_suggested(capsys, here):
    fit = ("fit", "t.csv", "--target", "late", "--out", "m.skops", "--model", "lightgmb")
    with pytest.raises(SystemExit) as caught:
        main(fit)
    assert caught.value.code == 2
    assert "there is no model 'lightgmb'; did you mean 'lightgbm'" in capsys.readouterr().err


def test_what_cannot_be_followed_is_said_before_the_table_is_read(capsys, here):
    fit = ("fit", "missing.csv", "--target", "late", "--out", "m.skops", "--model", "logistic")
    for more, text in {
        ("--param", "D=1"): "LogisticRegression has no parameter 'D'",
        ("--no-scale",): "--no-scale is for robell's own models, not for logistic",
        ("--plain",): "--plain fits robell's own models, ",
    }.items():
        status, _, err = run(capsys, *fit, *more)
        assert status == 1
        assert err.startswith(f"robell: {text}")


def test_a_missing_package_names_its_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "xgboost", None)
    frame = pd.DataFrame({"x": np.arange(60.0), "y": ["a", "b"] * 30})
    with pytest.raises(ImportError, match=r'needs xgboost.*pip install "robell\[peers\]"'):
        fit_table(frame, "y", model="xgboost")


def test_in_python_a_name_a_classifier_and_a_function_give_the_same_model(here):
    frame = pd.read_csv("t.csv")

    def make(seed):
        return LogisticRegression()

    results = [
        fit_table(frame, "late", model=model, budget=0.2)
        for model in (LogisticRegression(), make, LogisticRegression)
    ]
    columns = frame.drop(columns="late")
    first, *others = [result.model.predict_proba(columns) for result in results]
    assert all(np.array_equal(first, other) for other in others)
    assert isinstance(results[0].model[1].estimator_, NoiseRobustClassifier)
    with pytest.raises(ValueError, match="give estimator or model, not both"):
        fit_table(frame, "late", model="logistic", estimator=LogisticRegression())
    with pytest.raises(ValueError, match=r"there is no classifier 'forst' .* mean 'forest'"):
        fit_table(frame, "late", model="forst")


def test_known_classifiers_leave_the_weights_of_classes_to_what_makes_them_robust():
    from robell._tools.pipelines import last_step
    from robell.comparison.user_models import made_robust

    for name in BASES:
        try:
            base = last_step(made_robust(name, 0).estimator)
        except ImportError:
            continue
        parameters = base.get_params()
        assert parameters.get("class_weight") is None
        assert parameters.get("auto_class_weights", "None") == "None"
        clone(base)
