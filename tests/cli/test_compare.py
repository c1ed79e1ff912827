"""The command ``robell compare``: from CSV files to a page, one line for whatever is wrong."""

import pytest
from own_models import blobs

from robell.cli import main

pytestmark = pytest.mark.usefixtures("jobs_here")


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "bb"):
        blobs(name).to_csv(tmp_path / f"{name}.csv", index=False)
    return ["a.csv", "bb.csv"]


def test_from_csv_files_and_a_module_of_ones_own_to_a_page(capsys, tables, tmp_path):
    (tmp_path / "my_own_module.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\n\ndef make(seed):\n    return GaussianNB()\n"
    )
    (tmp_path / "empty.csv").write_text("")
    status, out, err = run(
        capsys, "compare", *tables, "empty.csv", "--target", "label", "--jobs", 1,
        "--models", "my_own_module:make", "rvfl", "--protocol", "holdout", "--ignore", "town",
        "--noise", 0, 20, "--out", "out",
    )  # fmt: skip
    assert err == "robell: left out: empty.csv: the file is empty\n"
    assert status == 3  # done, except for a table
    assert "make" in out
    assert out.endswith("out/index.html\n")
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "robell compare a.csv bb.csv" in page
    (tmp_path / "out" / "index.html").unlink()
    assert run(capsys, "report", "out")[0] == 0
    assert (tmp_path / "out" / "index.html").read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--target names the column of labels; a table of scores is one file"),
        (["--target", "lable"], "did you mean 'label'"),
        (["--target", "label", "--models", "robel"], "did you mean 'robell'"),
        (["--target", "label", "--models", "no_module:make"], "cannot be imported"),
        (["--target", "label", "--ignore", "twon"], "did you mean 'town'"),
        (["--target", "label", "--time-limit", "0"], "more than 0 seconds"),
    ],
)
def test_one_line_for_what_is_wrong(capsys, tables, arguments, message):
    status, out, err = run(capsys, "compare", *tables, *arguments, "--out", "out")
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert err.startswith("robell: ")


@pytest.mark.parametrize(
    "arguments", [["--target", "y", "--noise", "150"], ["--target", "y", "--protocol", "x"]]
)
def test_wrong_usage(capsys, tables, arguments):
    with pytest.raises(SystemExit) as error:
        run(capsys, "compare", *tables, *arguments)
    assert error.value.code == 2
