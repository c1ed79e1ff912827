"""Every classifier of the package: saved, loaded, cloned, pickled, and fitted by the command."""

import pickle
import re
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.datasets import make_classification

import robell
from robell.cli import main
from robell.cli.fit import models
from robell.models import CLASSIFIERS, REGRESSORS
from robell.models._estimator import Capabilities, FamilyClassifier

ROOT = Path(__file__).parents[2]
FAMILY = [*CLASSIFIERS]
SHORT = {"n_hidden": 7, "random_state": 0}


def short(name, **parameters):
    """Return a small member: of those parameters that it has."""
    kind = getattr(robell, name)
    has = kind().get_params()
    return kind(**{key: value for key, value in SHORT.items() if key in has}, **parameters)


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(90, 5, n_informative=4, n_redundant=0, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return pd.DataFrame(X, columns=list("abcde")), np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def fitted(table):
    return {name: short(name).fit(*table) for name in FAMILY}


def assert_same(found, expected, X):
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


def test_the_sweep_sees_every_classifier():
    public = [getattr(robell, name) for name in robell.__all__ if name != "__version__"]
    classes = [one for one in public if isinstance(one, type)]
    found = {one.__name__ for one in classes if issubclass(one, ClassifierMixin)}
    # one root of variants, and two that wrap any classifier
    wrapping = {"ThresholdClassifier", "NoiseRobustClassifier"}
    assert found == {*FAMILY, "BaseRVFLClassifier", *wrapping}
    found = {one.__name__ for one in classes if issubclass(one, RegressorMixin)}
    assert found == {*REGRESSORS, "NoiseRobustRegressor"}


@pytest.mark.parametrize("name", FAMILY)
def test_a_member_is_of_the_family(name):
    kind = getattr(robell, name)
    assert issubclass(kind, FamilyClassifier)
    assert isinstance(kind._capabilities, Capabilities)
    assert hasattr(kind, "partial_fit") == kind._capabilities.streams


@pytest.mark.parametrize("name", [*FAMILY, *REGRESSORS])
def test_a_fit_sets_plain_attributes(table, name):
    """What a fit found is read from the object itself: no class computes it when it is read."""
    model = short(name).fit(table[0], (table[1] == "yes").astype(int))
    found = [one for one in vars(model) if one.endswith("_") and not one.startswith("_")]
    assert {"C_", "n_features_in_"} <= {*found}
    assert not [one for one in found if hasattr(type(model), one)]


@pytest.mark.parametrize("name", FAMILY)
def test_a_model_comes_back_as_it_was(fitted, table, tmp_path, name):
    pytest.importorskip("skops")
    from robell.files import load_model, save_model

    save_model(fitted[name], tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    assert type(again) is type(fitted[name])
    assert again.get_params() == fitted[name].get_params()
    assert_same(again, fitted[name], table[0])
    assert_same(pickle.loads(pickle.dumps(fitted[name])), fitted[name], table[0])


def tables_of_ties(n_classes):
    """Tables whose rows are all equal, or few of them distinct."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2, (60, 2)).astype(float)
    for share in (0.1, 0.5, 0.9):
        y = (np.arange(60) >= 60 * share).astype(int) + (np.arange(60) % 4 == 0) * (n_classes - 2)
        for X in (np.ones((60, 2)), np.zeros((60, 1)), np.full((60, 1), -1e6), few):
            yield X, y


def assert_predicts_what_it_scores(model, X):
    scores = model.decision_function(X)
    place = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[place])


@pytest.mark.filterwarnings("ignore")  # what else there is to be said of such tables
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FAMILY)
def test_predictions_are_those_of_the_scores_whatever_is_equal(name, n_classes):
    has = short(name).get_params()
    layers = [{}] + [{"activation": a} for a in ("sign", "hardlim") if "activation" in has]
    new = np.random.default_rng(1).normal(size=(20, 2))
    for parameters in layers:
        for X, y in tables_of_ties(n_classes):
            w = (np.arange(60) % 3 > 0).astype(float)
            for weight in (None, w):
                try:
                    model = short(name, **parameters).fit(X, y, sample_weight=weight)
                except ValueError:  # one that has nothing to learn from equal rows, and says so
                    continue
                assert_predicts_what_it_scores(model, X)
                assert_predicts_what_it_scores(model, new[:, : X.shape[1]])


@pytest.mark.parametrize("name", FAMILY)
def test_a_clone_is_the_same_model_not_fitted(fitted, table, name):
    copy = clone(fitted[name])
    assert not hasattr(copy, "coef_")
    assert_same(copy.fit(*table), fitted[name], table[0])


@pytest.mark.parametrize("model", models())
def test_the_command_fits_and_predicts(table, tmp_path, capsys, model):
    pytest.importorskip("skops")
    from robell.files import load_model

    X, y = table
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    data, out, predicted = (str(tmp_path / name) for name in ("t.csv", "m.skops", "p.csv"))
    maker = partial(models()[model])  # of a class and of what is different about it alike
    expected = short(maker.func.__name__, **maker.keywords).fit(X, y)
    fit = ["fit", data, "--target", "y", "--out", out, "--model", model, "--plain"]
    if "n_hidden" in expected.get_params():
        fit += ["--param", "n_hidden=7"]
    assert main([*fit, "--no-scale", "--quiet"]) == 0
    found = load_model(out)
    assert type(found) is type(expected)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-7)
    assert main(["predict", out, data, "--out", predicted, "--quiet", "--proba"]) == 0
    rows = pd.read_csv(predicted)
    np.testing.assert_array_equal(rows["prediction"], found.predict(X))
    np.testing.assert_allclose(rows["probability_yes"], found.predict_proba(X)[:, 1], atol=1e-12)
    card = out.replace(".skops", "-card.md")
    assert capsys.readouterr().out.splitlines() == [out, card, predicted]


def test_the_command_knows_every_classifier():
    assert {partial(maker).func.__name__ for maker in models().values()} == set(FAMILY)


def test_the_page_says_what_each_can_do():
    """The table of the page and the declarations of the classes say the same."""
    page = (ROOT / "docs" / "guide" / "which_model.md").read_text(encoding="utf-8")
    table = page.partition("## What each class can do")[2].partition("\n## ")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("|")
    ]
    header, _, *rows = lines
    columns = [re.search(r"\((\w+)\)", cell)[1] for cell in header[1:]]
    assert set(columns) <= {field.name for field in fields(Capabilities)}
    said = {row[0].strip("`"): dict(zip(columns, row[1:], strict=True)) for row in rows}
    assert set(said) == {*FAMILY, *REGRESSORS}
    for name, cells in said.items():
        declared = getattr(robell, name)._capabilities
        for column, cell in cells.items():
            assert cell == ("yes" if getattr(declared, column) else "no"), (name, column)
