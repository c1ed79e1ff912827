"""Drift looks at what the model sees: numbers as people write them are numbers there too."""

import numpy as np
import pandas as pd
import pytest

from robell import NoiseRobustRVFLClassifier, fit_table
from robell.cli import main
from robell.files import describe_drift, model_info

SWAPPED = str.maketrans(",.", ".,")


def euros(values):
    return [f"€ {value:,.2f}".translate(SWAPPED) for value in values]


def percents(values):
    return [f"{value:.0f} %" for value in values]


def rows(seed, n=400, factor=1.0, share=None):
    """Return a table of the European spelling and its labels; a share of all rows, if given."""
    rng = np.random.default_rng(seed)
    amount, part = np.exp(rng.normal(6, 1, n)), rng.integers(5, 95, n)
    y = np.where(amount * np.exp(rng.normal(0, 0.5, n)) > 400, "yes", "no")
    share = part if share is None else np.full(n, share)
    hour = [f"{h}:{m:02}" for h, m in zip(rng.integers(0, 24, n), rng.integers(0, 60, n))]
    frame = pd.DataFrame({"amount": euros(factor * amount), "share": percents(share)})
    return frame.assign(hour=hour, town=rng.choice(["Oslo", "Oslo", "OSLO", "Rome"], n), y=y)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drift")
    rows(0).to_csv(folder / "t.csv", index=False)
    small = NoiseRobustRVFLClassifier(n_hidden=5, random_state=0)
    fit_table(folder / "t.csv", "y", estimator=small).save(folder / "m.skops")
    return folder / "m.skops"


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({"factor": 100.0}, "amount", "another unit?"),
        ({"share": 1}, "share", "median 1, "),
    ],
)
def test_another_unit_in_the_european_spelling_is_said(model, change, column, words):
    info = model_info(model)
    assert describe_drift(info, rows(1).drop(columns="y")).lines == []
    drift = describe_drift(info, rows(1, **change).drop(columns="y"))
    assert drift.has_moved
    (line,) = drift.lines
    assert f"column '{column}'" in line
    assert words in line


def test_another_spelling_of_the_numbers_is_said(model):
    new = rows(1).drop(columns="y")
    american = new.assign(amount=[cell.translate(SWAPPED) for cell in new["amount"]])
    (found,) = describe_drift(model_info(model), american).other_kind
    assert found.name == "amount"
    assert "held numbers in training" in found.how
    plain = new.assign(amount=[str(float(f"{k + 1}e2")) for k in range(len(new))])
    assert describe_drift(model_info(model), plain).has_moved


def test_spellings_of_a_level_are_no_drift(model):
    new = rows(1).drop(columns="y")
    for one in ("Oslo", "OSLO"):
        spelt = new.assign(town=new["town"].where(new["town"] == "Rome", one))
        assert describe_drift(model_info(model), spelt).lines == []
    (line,) = describe_drift(model_info(model), new.assign(town="Rome")).lines
    assert "'Oslo' in 0 % of the rows, 7" in line or "'Rome' in 100 % of the rows, 2" in line


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (100.0, 6)])
def test_predictions_may_fail_on_drift(model, tmp_path, capsys, factor, status):
    rows(2, factor=factor).drop(columns="y").to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "p.csv"
    command = ["predict", str(model), str(tmp_path / "new.csv"), "--out", str(out), "--force"]
    assert main([*command, "--fail-on-drift"]) == status
    assert ("another unit?" in capsys.readouterr().err) == bool(status)
    assert len(out.read_text().splitlines()) == 401  # the predictions are written all the same
    assert main(command) == 0


def test_a_model_of_plain_numbers_cannot_tell(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(y=np.arange(60) % 2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = str(tmp_path / "m.skops")
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "y", "--plain", "--out", model]) == 0
    new, out = str(tmp_path / "t.csv"), str(tmp_path / "p.csv")
    assert main(["predict", model, new, "--out", out, "--fail-on-drift"]) == 1
    assert "fitted to plain numbers" in capsys.readouterr().err


def test_dates_that_are_written_otherwise_than_in_training_are_said(tmp_path, capsys):
    days = pd.date_range("2023-01-15", periods=200, freq="5D")
    y = np.where(np.arange(200) < 100, "old", "new")
    for name, way in (("t", "%Y-%m-%d"), ("same", "%d.%m.%Y"), ("other", "%m/%d/%Y")):
        frame = pd.DataFrame({"on": days.strftime(way), "x": np.arange(200) % 7, "y": y})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    model = str(tmp_path / "m.skops")
    small = NoiseRobustRVFLClassifier(n_hidden=5, random_state=0)
    fit_table(tmp_path / "t.csv", "y", estimator=small).save(model)
    for name in ("t", "same", "other"):
        out = tmp_path / f"{name}-out.csv"
        assert main(["predict", model, str(tmp_path / f"{name}.csv"), "--out", str(out)]) == 0
    answers = [(tmp_path / f"{name}-out.csv").read_text() for name in ("t", "same")]
    assert answers[0] == answers[1]
    said = capsys.readouterr().err
    assert said.count("held dates (year-month-day) in training; here 100 % of the cells") == 1


def test_every_row_of_a_long_table_counts_alike_for_drift(model, tmp_path, capsys):
    """The last part of a file is short: its rows must not count more than those of the others."""
    new = pd.concat([rows(seed, 11_000).drop(columns="y") for seed in (1, 2, 3)])
    new.iloc[-230:, 0] = None
    assert describe_drift(model_info(model), new).lines == []
    new.to_csv(tmp_path / "n.csv", index=False)
    args = ["predict", str(model), str(tmp_path / "n.csv"), "--out", str(tmp_path / "o.csv")]
    assert main([*args, "--fail-on-drift"]) == 0
    assert "missing" not in capsys.readouterr().err
