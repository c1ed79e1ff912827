"""``robell fit`` and ``robell predict`` on raw tables, as a person would use them."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

pytest.importorskip("pyarrow")
pytest.importorskip("skops")

from robell import RVFLRegressor, TableEncoder
from robell.cli import main
from robell.files import load_model, save_model


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    fraud = rng.random(600) < 0.2
    pd.DataFrame(
        {
            "case": [f"C{k:05d}" for k in range(600)],
            "amount": [f"{v:,.2f}" for v in np.exp(rng.normal(5 + 2 * fraud))],
            "day": pd.date_range("2024-01-01", periods=600).strftime("%d.%m.%Y"),
            "country": rng.choice(["DE", "FR", ""], 600),
            "fraud": np.where(fraud, "=yes", "no"),
        }
    ).to_csv("claims.csv", index=False)
    return tmp_path


def run(capsys, *arguments):
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


FIT = ("fit", "claims.csv", "--target", "fraud", "--out", "m.skops", "--param", "n_hidden=10")


def test_from_a_raw_table_to_predictions_with_reasons(capsys, here):
    status, out, err = run(capsys, *FIT, "--budget", "10%")
    assert status == 0
    assert "columns left out: 'case'" in err
    assert "Of 1,000 rows like these you would check " in out
    assert "robell audit claims.csv --target fraud" in out
    assert out.splitlines()[-4:] == ["m.skops", "m-card.md", "m-fit.html", "m-fit.json"]
    report = json.loads((here / "m-fit.json").read_text())
    model = load_model("m.skops")
    assert model[1].threshold_ == report["held_out"]["decision"]["threshold"]
    status, out, err = run(
        capsys, "predict", "m.skops", "claims.csv", "--out", "p.csv", "--proba", "--explain", "2"
    )
    assert status == 0
    assert "columns the model does not know are ignored: fraud" in err
    rows = pd.read_csv("p.csv")
    assert list(rows.columns) == [
        *("prediction", "probability_=yes", "probability_no", "threshold"),
        *("reasons_for", "reasons_against"),
    ]
    assert (rows["threshold"] == model[1].threshold_).all()
    assert f"'=yes' from a probability of {model[1].threshold_:.4g} on" in out
    flagged = rows["probability_=yes"] >= model[1].threshold_
    assert (flagged == (rows["prediction"] == "'=yes")).all()
    assert 0.05 < flagged.mean() < 0.15
    both = rows[["reasons_for", "reasons_against"]].fillna("")
    named = both.map(lambda text: len(text.split("; ")) if text else 0).sum(axis=1)
    assert (named == 2).all()
    assert both["reasons_for"][flagged].str.startswith("amount = ").mean() > 0.9
    assert both["reasons_for"][flagged].str.contains(", high (strong)", regex=False).mean() > 0.5
    columns = pd.read_csv("claims.csv").iloc[:, ::-1]  # another order, cells of another type
    columns.assign(more=1).to_parquet("other.parquet")
    assert run(capsys, "predict", "m.skops", "other.parquet", "--out", "q.csv")[0] == 0
    assert pd.read_csv("q.csv")["prediction"].equals(rows["prediction"])


def test_reasons_speak_for_and_against_what_was_predicted(capsys, here):
    """A large amount speaks for fraud: for the rows called so, and against the others."""
    assert run(capsys, *FIT, "--no-report", "--quiet")[0] == 0
    new = pd.read_csv("claims.csv").head(2).assign(country="DE", day="01.06.2024")
    new["amount"] = ["9,000.00", "20.00"]
    new.to_csv("n.csv", index=False)
    assert run(capsys, "predict", "m.skops", "n.csv", "--out", "p.csv", "--explain", "9")[0] == 0
    rows = pd.read_csv("p.csv").fillna("")
    assert rows["prediction"].tolist() == ["'=yes", "no"]
    assert "amount = 9,000.00, high (strong)" in rows["reasons_for"][0]
    assert "amount = 20.00, low" in rows["reasons_for"][1]
    assert not rows["reasons_against"].str.contains("amount").any()
    # The same large amount, where the others are called fraud by a threshold nobody reaches
    model = load_model("m.skops")
    model[1].threshold_ = 1.0
    save_model(model, "never.skops")
    arguments = ("predict", "never.skops", "n.csv", "--out", "q.csv", "--explain", "9")
    assert run(capsys, *arguments)[0] == 0
    rows = pd.read_csv("q.csv").fillna("")
    assert rows["prediction"].tolist() == ["no", "no"]
    assert "amount = 9,000.00, high (strong)" in rows["reasons_against"][0]


def test_columns_are_kept_beside_the_predictions(capsys, here):
    assert run(capsys, *FIT, "--no-report", "--quiet")[0] == 0
    claims = pd.read_csv("claims.csv", dtype=str, keep_default_na=False)
    claims["prediction"] = ["=1+1", *["mine"] * 599]
    claims.to_csv("n.csv", index=False)
    predict = ("predict", "m.skops", "n.csv", "--out", "p.csv", "--keep")
    status, _, err = run(capsys, *predict, "case", "fraud")
    assert (status, "case" in err) == (0, False)
    rows = pd.read_csv("p.csv", dtype=str, keep_default_na=False)
    assert list(rows.columns) == ["prediction", "case", "fraud"]
    assert rows["case"].equals(claims["case"])
    assert run(capsys, *predict, "--force")[0] == 0  # all of them, one under another name
    rows = pd.read_csv("p.csv", dtype=str, keep_default_na=False)
    names = list(claims.columns)
    assert list(rows.columns) == ["prediction", *names[:-1], "prediction (2)"]
    assert rows["amount"].equals(claims["amount"])
    assert rows["country"].equals(claims["country"])
    assert rows["prediction (2)"][0] == "'=1+1"  # no formula
    to_parquet = ("predict", "m.skops", "n.csv", "--out", "p.parquet", "--proba", "--keep")
    assert run(capsys, *to_parquet, "prediction")[0] == 0
    assert pd.read_parquet("p.parquet")["prediction (2)"].tolist() == claims["prediction"].tolist()
    status, _, err = run(capsys, *predict, "cse")
    assert status == 1
    assert "there is no column 'cse' (did you mean 'case'?) to be kept" in err


def test_predictions_go_through_a_pipe(capsys, here):
    assert run(capsys, *FIT, "--no-report", "--quiet")[0] == 0
    predict = ("predict", "m.skops", "claims.csv", "--proba", "--out")
    assert run(capsys, *predict, "p.csv")[0] == 0
    before = sorted(path.name for path in here.iterdir())
    status, out, err = run(capsys, *predict, "-")
    assert status == 0
    assert out == (here / "p.csv").read_text()
    assert "600 rows predicted" in err
    assert run(capsys, *predict, "-", "--quiet") == (0, out, "")
    assert sorted(path.name for path in here.iterdir()) == before


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--recall", "0.9", "--budget", "5%"], "or one of --precision, --recall and --budget"),
        (["--cost-fn", "5"], "--cost-fn needs --cost-fp too; both in the same money"),
        (["--cost-fp", "5"], "--cost-fp needs --cost-fn too; both in the same money"),
        (["--positive", "maybe"], "there is no class 'maybe'"),
        (["--ignore", "amont"], "did you mean 'amount'"),
        (["--ignore", "fraud"], "is the target"),
        (["--report", "nowhere/x"], "there is no folder nowhere"),
        (["--report", "taken"], "was not written by this command"),
        (["--plain", "--budget", "5%"], "it takes no --budget"),
        (["--plain"], "column 'case' is not numeric"),
    ],
)
def test_one_line_and_nothing_written(capsys, here, more, message):
    (here / "taken.html").write_text("mine")
    before = sorted(path.name for path in here.iterdir())
    status, out, err = run(capsys, *FIT, *more)
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == before


def test_new_rows_that_do_not_fit(capsys, here):
    assert run(capsys, *FIT, "--no-report", "--quiet") == (0, "m.skops\nm-card.md\n", "")
    new = pd.read_csv("claims.csv")
    new.drop(columns="amount").to_csv("n.csv", index=False)
    status, _, err = run(capsys, "predict", "m.skops", "n.csv", "--out", "p.csv")
    assert status == 1
    assert "there is no column 'amount', which the model needs" in err
    new.assign(amount="much", country="XX").to_csv("n.csv", index=False)
    status, _, err = run(capsys, "predict", "m.skops", "n.csv", "--out", "p.csv")
    assert status == 0
    assert "'amount' 600" in err
    assert len(pd.read_csv("p.csv")) == 600


def test_new_rows_need_no_column_that_the_fit_has_left_out(capsys, here):
    table = pd.read_csv("claims.csv", dtype=str, keep_default_na=False)
    paid = table["fraud"].map({"=yes": "refused", "no": "paid"})  # a copy of the target
    table.assign(paid=paid, currency="EUR").to_csv("claims.csv", index=False)
    status, _, err = run(capsys, *FIT)
    assert status == 0
    assert "'paid' repeats the target" in err
    predict = ("predict", "m.skops", "n.csv", "--out", "p.csv", "--proba", "--explain", "--force")
    used = ["amount", "day", "country"]
    for names in ([*table.columns], used, used[::-1]):
        table[names].to_csv("n.csv", index=False)
        status, _, err = run(capsys, *predict, "--fail-on-drift")
        assert (status, "another order" in err) == (0, names == used[::-1])
        found = pd.read_csv("p.csv")
        if names == [*table.columns]:
            whole = found
    pd.testing.assert_frame_equal(found, whole)
    table[used[1:]].to_csv("n.csv", index=False)
    assert "there is no column 'amount', which the model needs" in run(capsys, *predict)[2]


def test_an_earlier_report_is_replaced_and_another_file_is_not(capsys, here):
    assert run(capsys, *FIT, "--quiet")[0] == 0
    assert run(capsys, *FIT, "--quiet")[0] == 0
    (here / "m-fit.json").write_text("{}")
    assert run(capsys, *FIT, "--quiet")[0] == 1
    assert run(capsys, *FIT, "--quiet", "--force")[0] == 0


def test_a_plain_model_refuses_what_only_raw_ones_do(capsys, here):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    frame.assign(y=(frame["a"] > 0).astype(int)).to_csv("n.csv", index=False)
    plain = ["fit", "n.csv", "--target", "y", "--out", "n.skops", "--plain", "--quiet"]
    assert run(capsys, *plain)[0] == 0
    status, _, err = run(capsys, "predict", "n.skops", "n.csv", "--out", "p.csv", "--explain")
    assert status == 1
    assert "models of raw tables" in err


@pytest.mark.parametrize("n_targets", [1, 2])
def test_numbers_of_raw_tables_are_predicted_as_numbers(capsys, here, n_targets):
    table = pd.read_csv("claims.csv")[["amount", "day", "country"]]
    goal = np.random.default_rng(1).normal(size=(600, n_targets)).squeeze()
    model = make_pipeline(TableEncoder(), RVFLRegressor(random_state=0)).fit(table, goal)
    save_model(model, "n.skops", X=table)
    predict = ("predict", "n.skops", "claims.csv", "--out", "p.csv", "--force")
    status, out, err = run(capsys, *predict, "--keep", "case")
    assert (status, out) == (0, "600 rows predicted\np.csv\n"), err
    rows = pd.read_csv("p.csv")
    assert rows.pop("case").tolist() == [f"C{k:05d}" for k in range(600)]
    np.testing.assert_allclose(rows.to_numpy().squeeze(), model.predict(table), rtol=0, atol=1e-12)
    for option, message in (
        ("--explain", "robell: the model predicts numbers: --explain is for classes\n"),
        ("--proba", "robell: the model has no probabilities: it predicts numbers\n"),
    ):
        assert run(capsys, *predict, option) == (1, "", message)


def test_the_audit_that_a_fit_names_judges_the_same_labels(capsys, here):
    """It read the file in another encoding, or judged by columns that the fit had left out."""
    rng = np.random.default_rng(0)
    late = rng.random(200) < 0.4
    rows = pd.DataFrame({"days late": rng.normal(late, 0.8).round(2), "refund": 9.5 * late})
    rows["refund"] += rng.normal(size=200).round(2)
    rows["état"] = np.where(late ^ (rng.random(200) < 0.06), "fâché", "content")
    rows.to_csv("t.csv", index=False, encoding="latin-1", sep="\t")
    how = ["--encoding", "latin-1", "--delimiter", "tab", "--ignore", "refund", "--seed", "3"]
    fit = ["fit", "t.csv", "--target", "état", "--out", "m.skops", "--no-report"]
    assert main([*fit, *how]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "look closer" in line)
    count, command = line.partition(" ")[0], shlex.split(line.partition("look closer: ")[2])
    assert command[:2] == ["robell", "audit"]
    assert main([*command[1:], "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["suspects"] == int(count) > 0
    rows.to_csv("u.csv", index=False, encoding="latin-1", sep="\t")
    assert main(["fit", "u.csv", *fit[1:], *how, "--force"]) == 0
    assert "look closer, one file at a time\n" in capsys.readouterr().out
