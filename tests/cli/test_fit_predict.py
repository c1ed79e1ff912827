"""``robell fit`` and ``robell predict``: every model, clear errors, and no input destroyed."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("pyarrow")
pytest.importorskip("skops")

from robell import ELMClassifier, NoiseRobustRVFLClassifier, RVFLClassifier
from robell.cli import main
from robell.files import load_model, save_model

FEATURES = ["a", "b", "c", "d"]


@pytest.fixture
def frame(rng):
    X = rng.normal(size=(3000, 4)) * [1.0, 20.0, 0.1, 3.0] + [0.0, 500.0, 2.0, -1.0]
    y = (X[:, 0] + (X[:, 1] - 500) / 20 + rng.normal(size=3000) > 1.2).astype(int)
    return pd.DataFrame(X, columns=FEATURES).assign(y=y)


@pytest.fixture
def table(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_fit_and_predict(capsys, frame, table, tmp_path):
    model, card, out = tmp_path / "m.skops", tmp_path / "m-card.md", tmp_path / "p.csv"
    status, printed, err = run(
        capsys, "fit", table, "--target", "y", "--out", model,
        "--param", "C=10", "--param", "n_hidden=30", "--param", "activation=tansig", "--plain",
    )  # fmt: skip
    sizes = frame["y"].value_counts()
    line = f"RVFLClassifier of 3,000 rows, 4 features; rows of each class: 0: {sizes[0]:,}, 1: "
    assert (status, err) == (0, "")
    assert printed == f"{line}{sizes[1]:,}; labels read as numbers\n{model}\n{card}\n"
    expected = make_pipeline(
        StandardScaler(), RVFLClassifier(30, "tansig", 10, random_state=0)
    ).fit(frame[FEATURES], frame["y"])
    status, printed, err = run(capsys, "predict", model, table, "--out", out)
    assert (status, printed) == (0, f"3,000 rows predicted\n{out}\n")
    assert err == "robell: columns the model does not know are ignored: y\n"
    assert (pd.read_csv(out)["prediction"] == expected.predict(frame[FEATURES])).all()
    assert run(capsys, "predict", model, table, "--out", out, "--proba", "--quiet") == (
        0,
        f"{out}\n",
        "",
    )
    assert pd.read_csv(out).shape == (3000, 3)
    assert run(
        capsys, "fit", table, "--target", "y", "--out", model, "--model", "elm", "--seed", 3,
        "--no-scale", "--quiet", "--memory", "1GiB", "--plain",
    ) == (0, f"{model}\n{card}\n", "")  # fmt: skip
    assert isinstance(load_model(model), ELMClassifier)
    assert load_model(model).random_state == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "z"], "there is no column 'z'"),
        (["--param", "n_hiden=3"], "there is no parameter 'n_hiden'; did you mean 'n_hidden'"),
        (["--model", "rvfl", "--param", "C=-1"], "'C' parameter of RVFLClassifier must be"),
        (["--memory", "1MiB"], "the program alone takes"),
        (["--out", "nowhere/model.skops"], "there is no folder nowhere"),
        (["--out", "."], "is a folder"),
    ],
)
def test_one_line_for_what_is_wrong(capsys, table, tmp_path, arguments, message):
    given = ["fit", table, "--target", "y", "--out", tmp_path / "m.skops", *arguments]
    status, out, err = run(capsys, *given)
    assert (status, out) == (1, "")
    assert err.startswith("robell: ")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv"]


@pytest.mark.parametrize("wrong", [["--memory", "much"], ["--param", "C"], ["--model", "svm"]])
def test_wrong_usage(capsys, wrong):
    with pytest.raises(SystemExit) as caught:
        run(capsys, "fit", "t.csv", "--target", "y", "--out", "m.skops", *wrong)
    assert caught.value.code == 2


def test_an_interruption_writes_nothing(capsys, table, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("robell.decisions.run.fit_table", interrupted)
    assert run(capsys, "fit", table, "--target", "y", "--out", tmp_path / "m.skops") == (
        130,
        "",
        "robell: stopped; nothing was written\n",
    )
    assert not (tmp_path / "m.skops").exists()


# -- what is fitted in memory ----------------------------------------------------------


def test_where_all_rows_fit_in_memory_it_is_fitted_there(capsys, frame, table, tmp_path):
    model = tmp_path / "m.skops"
    status, out, err = run(
        capsys, "fit", table, "--target", "y", "--out", model, "--model", "noise_robust",
        "--param", "n_hidden=10", "--plain",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert out.startswith("NoiseRobustRVFLClassifier of 3,000 rows, 4 features; ")
    found = load_model(model)
    expected = NoiseRobustRVFLClassifier(10, random_state=0).fit(frame[FEATURES], frame["y"])
    np.testing.assert_allclose(
        found.predict_proba(frame[FEATURES]), expected.predict_proba(frame[FEATURES]), rtol=1e-9
    )
    np.testing.assert_allclose(found.sample_quality_, expected.sample_quality_, rtol=1e-9)


def test_a_table_too_large_for_a_fit_in_memory_is_refused(capsys, table, tmp_path, monkeypatch):
    monkeypatch.setattr("robell.cli.fit.memory_left", lambda limit: 60 << 20)
    arguments = ["fit", table, "--target", "y", "--out", tmp_path / "m.skops", "--plain", "--model"]
    status, out, err = run(capsys, *arguments, "gb")
    assert (status, out) == (1, "")
    assert "GranularBallRVFLClassifier takes all rows at once, not in passes: 3,000 rows" in err
    assert "60 MiB" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "m.skops").exists()


# -- outputs ---------------------------------------------------------------------------


@pytest.fixture
def model(frame, tmp_path):
    save_model(RVFLClassifier(5, random_state=0).fit(frame[FEATURES], frame["y"]), tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "folder"])
def test_no_output_replaces_an_input(capsys, model, table, tmp_path, link):
    aliases = {"same": table, "symbolic": tmp_path / "s.csv", "hard": tmp_path / "h.csv"}
    aliases["folder"] = tmp_path / "sub" / ".." / "t.csv"
    (tmp_path / "sub").mkdir()
    aliases["symbolic"].symlink_to(table)
    os.link(table, aliases["hard"])
    before = table.read_bytes(), model.read_bytes()
    for arguments in (
        ["fit", table, "--target", "y", "--out", aliases[link]],
        ["predict", model, table, "--out", aliases[link]],
        ["predict", model, table, "--out", model],
    ):
        status, out, err = run(capsys, *arguments)
        assert (status, out) == (1, "")
        assert "is one of the files that are read" in err
    assert (table.read_bytes(), model.read_bytes()) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX pipes")
def test_no_output_replaces_a_pipe_or_the_null_device(capsys, model, table, tmp_path, null_device):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "null.csv").symlink_to(null_device)
    null = os.stat(null_device)
    for arguments in (["fit", table, "--target", "y"], ["predict", model, table]):
        status, _, err = run(capsys, *arguments, "--out", tmp_path / "pipe.csv")
        assert status == 1
        assert "is a device or a pipe" in err
        for out in (null_device, tmp_path / "null.csv"):
            assert run(capsys, *arguments, "--out", out, "--quiet") == (0, f"{out}\n", "")
    assert os.path.exists(tmp_path / "pipe.csv")
    assert os.stat(null_device).st_rdev == null.st_rdev
