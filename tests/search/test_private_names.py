"""Where scikit-learn's private names are not as the search knows them, its own search runs."""

from importlib import import_module

import pytest
from searches import assert_same
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from robell import RVFLClassifier, RVFLGridSearchCV
from robell.search import private

X, Y = load_iris(return_X_y=True)
GRID = {"C": [0.1, 10.0], "n_hidden": [3, 9]}


def searched(kind):
    return kind(RVFLClassifier(random_state=0), GRID, cv=3).fit(X, Y)


def fits_one_by_one(name):
    with pytest.warns(UserWarning, match=f"one by one: scikit-learn .* has no {name} as") as caught:
        search = searched(RVFLGridSearchCV)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert search.n_shared_ == 0
    ((reason, count),) = search.not_shared_.items()
    assert name in reason
    assert count == 4 * 3
    theirs = searched(GridSearchCV)
    assert_same(search, theirs)
    assert (search.predict(X) == theirs.predict(X)).all()


def test_all_are_known_here():
    assert private.first_changed() == ""
    assert searched(RVFLGridSearchCV).n_shared_ == 12


@pytest.mark.parametrize("name", private.HOMES)
def test_a_name_that_is_gone(monkeypatch, name):
    home = import_module(private.HOMES[name])
    if name.endswith("Scorer"):  # scikit-learn's own search would not run without it
        monkeypatch.delattr(home, name)
        assert private.first_changed() == name
    else:
        monkeypatch.setitem(private.HOMES, name, "robell.search")  # which has no such name
        fits_one_by_one(name)


def test_a_module_that_is_gone(monkeypatch):
    monkeypatch.setitem(private.HOMES, "_safe_split", "sklearn.utils.no_such_module")
    fits_one_by_one("_safe_split")


@pytest.mark.parametrize("name", private.CALLS)
def test_a_name_that_takes_something_else(monkeypatch, name):
    home = import_module(private.HOMES[name])
    monkeypatch.setattr(home, name, lambda *, one: None)
    assert private.first_changed() == name


@pytest.mark.parametrize("name", private.METHODS)
def test_a_method_that_takes_something_else(monkeypatch, name):
    monkeypatch.setattr(GridSearchCV, name, lambda *, one: None)
    assert private.first_changed() == name


def test_scorers_that_hold_something_else(monkeypatch):
    monkeypatch.setattr(private, "OF_SCORERS", ("_score_func", "_no_such_thing"))
    fits_one_by_one("_no_such_thing")
