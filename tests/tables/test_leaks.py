"""Columns that tell the target nearly by themselves are named; honest strong columns are not."""

import json

import numpy as np
import pandas as pd
import pytest
import raw_tables
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from robell import audit, fit_table
from robell.cli import main as command
from robell.tables.columns import prepare_column
from robell.tables.leaks import find_giveaway, find_number_giveaway
from robell.tables.read import read_table


def columns_of(frame):
    """Return the columns of a frame that models can use."""
    table = read_table(frame, max_rows=len(frame))
    found = (prepare_column(column, table.rows)[0] for column in table.columns)
    return [used for used in found if used is not None]


def told(frame, y):
    """Return what is said of the columns that tell the classes of y by themselves."""
    classes, codes = np.unique(y, return_inverse=True)
    shown = tuple(map(str, classes))
    found = (find_giveaway(used, codes, shown, "y") for used in columns_of(frame))
    return {one.name: one.words for one in found if one is not None}


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_honest_strong_columns_are_not_named(load):
    X, y = load(return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    assert not told(frame, y)
    for c in np.unique(y):
        assert not told(frame, y == c)


def test_a_rule_of_half_a_class_is_not_named(rng):
    """As in monk1: one value of a column says that a row is of a class, others say nothing."""
    value = rng.integers(1, 5, 400)
    y = np.where(value == 1, 1, rng.random(400) < 0.33)
    assert not told(pd.DataFrame({"a5": value}), y)


@pytest.mark.parametrize("n_classes", [2, 6])
@pytest.mark.parametrize("n", [120, 1500])
def test_planted_leaks_are_named(n_classes, n, rng):
    y = np.arange(n) % n_classes
    inside, other = y == 1, (y + rng.integers(1, n_classes, n)) % n_classes
    late = rng.random(n) < 0.97
    frame = pd.DataFrame(
        {
            "honest": rng.normal(size=n) + y,
            "who": np.where(inside & late, rng.choice(["Ann", "Bob", "Cyd"], n), None),
            "some": np.where(inside & (rng.random(n) < 0.67), "seen", None),
            "when": np.where(inside, "2024-01-05", None),
            "gone": np.where(inside, np.nan, rng.normal(size=n)),
            "paid": np.where(inside, 0.0, np.exp(rng.normal(size=n))),
            "status": np.array([f"level {k}" for k in range(n_classes)], object)[
                np.where(rng.random(n) < 0.98, y, other)
            ],
        }
    )
    found = told(frame, y)
    assert set(found) == set(frame) - {"honest"}
    assert found["who"] == "is filled in nearly only where 'y' is '1'"
    assert found["gone"] == "is missing nearly only where 'y' is '1'"
    assert found["paid"] == "is 0 nearly only where 'y' is '1'"
    assert found["status"].startswith("alone tells 'y' in ")


def test_neither_order_nor_names_of_the_classes_matter(rng):
    y = np.repeat([0, 1], [900, 100])
    paid = np.where(y == 1, 0.0, np.exp(rng.normal(size=1000)))
    order = rng.permutation(1000)
    (words,) = told(pd.DataFrame({"paid": paid}), y).values()
    (again,) = told(pd.DataFrame({"paid": paid[order]}), 1 - y[order]).values()
    assert words.replace("'1'", "'0'") == again


def test_wrong_labels_do_not_hide_a_leak(rng):
    y = np.repeat([0, 1], [400, 200])
    frame = pd.DataFrame(
        {"when": np.where(y == 1, "yes", None), "paid": np.where(y == 1, 0.0, rng.random(600))}
    )
    given = np.where(rng.random(600) < 0.08, 1 - y, y)
    assert set(told(frame, given)) == {"when", "paid"}


def test_columns_that_tell_numbers(rng):
    X, y = load_diabetes(return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]).assign(
        taxed=1.19 * y + rng.normal(size=len(y)), late=np.where(y > np.median(y), 1.5, np.nan)
    )
    found = [find_number_giveaway(used, y, "y") for used in columns_of(frame)]
    assert [one.name for one in found if one] == ["taxed", "late"]


@pytest.mark.parametrize("kind", raw_tables.KINDS_OF_LEAK)
def test_first_screens_name_a_leak_and_trust_is_never_good(kind, tmp_path, capsys):
    made = raw_tables.claims(4, 700, leak=kind)
    (leak,) = made.leaks
    path = tmp_path / "claims.csv"
    path.write_text(made.text, encoding="utf-8")
    out = ["--out", f"{tmp_path}/", "--json", str(tmp_path / "found.json")]
    command(["audit", str(path), "--target", made.target, *out])
    shown = capsys.readouterr()
    found = json.loads((tmp_path / "found.json").read_text())
    page = (tmp_path / "claims-audit.html").read_text(encoding="utf-8")
    command(["fit", str(path), "--target", made.target, "--out", str(tmp_path / "m.skops")])
    of_fit = capsys.readouterr()
    if leak in found["columns_that_repeat_the_target"]:  # left out: nothing to be done
        assert f"'{leak}' repeats the target" in shown.err
        assert f"'{leak}' repeats the target" in of_fit.err
        return
    assert found["columns_that_tell_the_target"] == [leak]
    assert found["trust"] != "good"
    assert f"--ignore {leak}" in shown.out
    assert page.index(f"--ignore {leak}") < page.index("What to do next")
    assert "would help" not in page
    assert "not clear enough" not in shown.out
    assert f"--ignore {leak}" in of_fit.out + of_fit.err
    page = (tmp_path / "m-fit.html").read_text(encoding="utf-8")
    assert f"--ignore {leak}" in page
    command(["audit", str(path), "--target", made.target, "--ignore", leak, *out])
    assert "Caution" not in capsys.readouterr().out


def test_results_name_the_columns(rng):
    y = np.repeat(["no", "yes"], 150)
    x = rng.normal(size=300) + 3.0 * (y == "yes")
    frame = pd.DataFrame({"x": x, "refund": np.where(y == "yes", x.round(1), np.nan), "y": y})
    result = audit(frame, "y")
    assert result.leak_suspects == ("refund",)
    assert result.trust != "good"
    assert audit(frame, "y", drop=["refund"]).leak_suspects == ()
    (giveaway,) = fit_table(frame, "y").training.giveaways
    assert giveaway.name == "refund"
