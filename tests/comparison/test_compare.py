"""A comparison of one's own models on one's own tables: what is read, run, kept and reported."""

import csv
import importlib
import json
import linecache
import os
import re
import subprocess
import sys
import threading
import time
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import Browser, find_chromium
from latex import assert_tables_compile
from own_models import NotFinite, Odd, blobs, make_bayes, make_tuned
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import robell
from robell._tools.files import FileError
from robell.cli.main import main
from robell.comparison.compare import _whole_classes, compare
from robell.comparison.evaluate import plan_own_jobs, run_own_job
from robell.comparison.identity import _sources
from robell.comparison.jobs import class_scores, repeated_split, six_metrics
from robell.comparison.scores import METRICS, chance_scores
from robell.comparison.store import StudyError, read_records
from robell.comparison.study_page import not_computed, write_report
from robell.comparison.user_models import NAMES, make, read_models
from robell.comparison.user_tables import read_all
from robell.noise import flip_uniformly
from robell.studies import study_in
from robell.studies.label_noise.models import EVERY_MODEL

pytestmark = pytest.mark.usefixtures("jobs_here")
ROOT = Path(__file__).parents[2]


def numbers(folder):
    """What a comparison found, without times."""
    return {
        key: json.dumps([record["status"], record["outcome"], record["seeds"]])
        for key, record in read_records(folder).items()
    }


def answers(data, models, protocol="holdout", levels=(0,), repeats=1, **reading):
    """What the jobs of a comparison give, in this process."""
    tables, _ = read_all(data, **reading)
    specs = read_models(models, protocol)
    jobs = plan_own_jobs(tables, specs, protocol, levels, repeats)
    return [run_own_job(job, tables[job.dataset], specs=specs) for job in jobs]


# -- tables --------------------------------------------------------------------------------


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        blobs(folder).to_csv(tmp_path / folder / "same.csv", index=False)
    blobs("x").to_csv(tmp_path / "other.csv", index=False)
    blobs("x").to_csv(tmp_path / "other.txt", index=False)
    paths = [*sorted(tmp_path.glob("*/*.csv")), tmp_path / "other.csv", tmp_path / "other.csv"]
    tables, unavailable = read_all(paths, "label")
    assert list(tables) == ["one/same.csv", "two/same.csv", "other"]
    assert not unavailable
    both = read_all(tmp_path, "label")[0]  # a folder stands for its files
    assert [name.rpartition("/")[2] for name in both] == ["other.csv", "other.txt"]


def test_a_file_a_frame_and_arrays_give_the_same_rows(tmp_path):
    frame = blobs("x").drop(columns="town")
    frame.to_csv(tmp_path / "x.csv", index=False)
    X, y = frame.drop(columns="label"), frame["label"]
    data = {"file": tmp_path / "x.csv", "frame": frame, "pair": (X, y)}
    data["arrays"] = (X.to_numpy(), y.to_numpy())
    tables, _ = read_all(data, "label")
    for name in ("frame", "pair"):
        np.testing.assert_array_equal(tables[name].X, tables["file"].X)
        assert tables[name].digest == tables["file"].digest
    np.testing.assert_array_equal(tables["arrays"].X, X.to_numpy())  # as they are
    for rows in tables.values():
        np.testing.assert_array_equal(rows.labels[rows.y], y)
        assert rows.labels.tolist() == ["no", "yes"]  # the smaller class is 1


def test_tables_of_names_that_read_alike_are_both_compared():
    one, other = blobs("a"), blobs("bb", counts=(30, 20))
    tables, unavailable = read_all({1: one, "1": other}, "label")
    assert {name: len(rows.y) for name, rows in tables.items()} == {"1": 60, "1 (2)": 50}
    assert not unavailable
    with pytest.raises(StudyError, match="there is no table to compare models on"):
        compare({}, ["rvfl"])


def test_a_table_without_a_name_takes_none_that_a_file_has(tmp_path):
    blobs("a").to_csv(tmp_path / "table 1.csv", index=False)
    tables, _ = read_all([tmp_path / "table 1.csv", blobs("bb", counts=(30, 20))], "label")
    assert {name: len(rows.y) for name, rows in tables.items()} == {
        "table 1": 60,
        "table 1 (2)": 50,
    }


def test_parquet_is_read(tmp_path):
    pytest.importorskip("pyarrow")
    blobs("x").to_parquet(tmp_path / "x.parquet")
    assert read_all(tmp_path / "x.parquet", "label")[0]["x"].X.shape == (60, 4)


def test_pairs_may_be_sparse_or_have_labels_in_a_column():
    X, y = np.eye(40)[:, :5] + np.arange(40)[:, None] % 2, np.arange(40) % 2
    given = {"plain": (X, y), "column": (X, y[:, None]), "sparse": (csr_matrix(X), y)}
    tables = read_all(given)[0]
    assert len({rows.digest for rows in tables.values()}) == 1
    assert list(tables) == list(given)


def test_labels_that_are_missing_in_any_of_the_ways_of_pandas_are_left_out():
    X = np.eye(60)[:, :5] + np.arange(60)[:, None] % 2
    for y in (
        pd.Series(["a", "b", None] * 20, dtype="string"),
        pd.Series([True, False, None] * 20, dtype="boolean"),
        pd.Series([1, 2, pd.NA] * 20, dtype=object),
        [1.5, np.nan, 2.5] * 20,
    ):
        (rows,) = read_all({"t": (X, y)})[0].values()
        assert np.bincount(rows.y).tolist() == [20, 20]
        assert rows.about["note"] == "20 rows without a label left out"


def test_text_in_another_encoding_is_read_when_that_is_said(tmp_path):
    frame = blobs("x").replace({"Oslo": "Malmö"})
    frame.to_csv(tmp_path / "x.csv", index=False, encoding="utf-16", sep="|")
    assert "give encoding utf-16" in read_all(tmp_path / "x.csv", "label")[1]["x"]
    path = tmp_path / "x.csv"
    assert read_all(path, "label", encoding="utf-16", delimiter="|")[0]["x"].X.shape == (60, 4)


def test_models_of_ones_own_see_the_labels_as_given():
    frame = blobs("x", (20, 40))
    frame["label"] = frame["label"].map({"no": 7, "yes": 3})
    rows = read_all(frame, "label")[0]["table 1"]
    assert sorted(rows.labels.tolist()) == [3, 7]
    assert rows.labels[1] == 7  # the smaller class
    weighted = LogisticRegression(class_weight={7: 100.0, 3: 0.01})
    (answer,) = answers(frame, [weighted], target="label")
    assert answer["outcome"]["metrics"]["balanced_accuracy"] == pytest.approx(0.5, abs=0.05)


def test_text_dates_and_gaps_are_taken_as_they_come():
    frame = blobs("x")
    frame["day"] = pd.date_range("2024-01-01", periods=len(frame))
    frame.loc[::7, "x0"] = np.nan
    frame["same"] = 1
    frame["copy"] = frame["label"]
    rows = read_all(frame, "label")[0]["table 1"]
    assert np.isfinite(rows.X).all()
    assert rows.X.shape[1] == 6  # x0, where it is missing, x1, x2, town, day
    assert "'same'" in rows.about["note"]
    assert "'copy' (repeats the target)" in rows.about["note"]
    without = read_all(frame, "label", drop=["day", "copy"])[0]["table 1"]
    assert without.X.shape[1] == 5


def test_thousands_of_columns_are_no_trouble():
    wide = blobs("x", d=3000)
    (answer,) = answers(wide, ["logistic"], target="label")
    assert answer["outcome"]["metrics"]["accuracy"] > 0.9


BAD = {
    "no target": (lambda: blobs("x").drop(columns="label"), "there is no column 'label'"),
    "one class": (lambda: blobs("x").assign(label="no"), "is constant"),
    "continuous": (lambda: blobs("x").assign(label=np.linspace(0, 1, 60)), "looks continuous"),
    "names": (
        lambda: blobs("x").assign(label=[f"n{k}" for k in range(60)]),
        "these are not classes",
    ),
    "few rows": (lambda: blobs("x")[:20], "only 20 rows"),
    "no rows": (lambda: blobs("x")[:0], "there is no row"),
    "constant columns": (lambda: blobs("x").assign(town=1)[["town", "label"]], "no column is left"),
    "lengths": (lambda: (np.zeros((50, 2)), np.arange(60) % 2), "X has 50 rows, y has 60"),
    "few labels": (lambda: (np.zeros((60, 2)), np.arange(4) % 2), "X has 60 rows, y has 4"),
    "text": (lambda: (np.full((60, 2), "a"), np.arange(60) % 2), "X must hold numbers"),
}


@pytest.mark.parametrize(("make_table", "why"), BAD.values(), ids=BAD)
def test_a_table_that_cannot_be_used_is_named_and_the_others_go_on(make_table, why):
    tables, unavailable = read_all({"bad": make_table(), "good": blobs("x")}, "label")
    assert list(tables) == ["good"]
    assert unavailable["bad"].startswith("bad: ") or "frame" in unavailable["bad"]
    assert why in unavailable["bad"]
    assert "\n" not in unavailable["bad"]


def test_of_a_large_frame_and_its_labels_the_same_rows_are_drawn(monkeypatch):
    """Labels beside a frame of more than 200,000 rows were looked up in the sample of its rows."""
    monkeypatch.setattr("robell.tables.read.MAX_CELLS", 2_000)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=1_500), "b": rng.normal(size=1_500)})
    y = np.where(frame["a"] > 0, "high", "low")
    tables, _ = read_all({"pair": (frame, y), "frame": frame.assign(y=y)}, "y")
    pair, whole = tables["pair"], tables["frame"]
    assert len(pair.y) == 1_000
    assert pair.about["note"] == whole.about["note"] == "a random sample of 1,000 of 1,500 rows"
    np.testing.assert_array_equal(pair.labels[pair.y], whole.labels[whole.y])
    np.testing.assert_array_equal(pair.X, whole.X)
    of_high = pair.labels[pair.y] == "high"
    assert pair.X[of_high, 0].min() > pair.X[~of_high, 0].max()


def test_files_that_cannot_be_used(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,label\n")
    blobs("x").to_csv(tmp_path / "good.csv", index=False)
    paths = [tmp_path / name for name in ("empty.csv", "header.csv", "gone.csv", "good.csv")]
    tables, unavailable = read_all(paths, "label")
    assert list(tables) == ["good"]
    assert [why.partition(": ")[2] for why in unavailable.values()] == [
        "the file is empty",
        "there is a header and no row below it",
        "there is no such file",
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"drop": ["twon"]}, FileError, r"no table has a column 'twon'.*did you mean 'town'"),
        ({"drop": ["label"]}, FileError, "is the target"),
        (
            {"protocol": "paprika"},
            StudyError,
            "protocol must be one of paper, repeated, nested, holdout",
        ),
        ({"noise": [120]}, StudyError, "noise must be whole percents"),
        ({"noise": []}, StudyError, "noise must be whole percents"),
        ({"repeats": 0}, StudyError, "repeats must be a whole number"),
        ({"time_limit": 0}, StudyError, "time_limit must be more than 0"),
        ({"models": []}, StudyError, "there is no model"),
        ({"models": ["rvlf"]}, StudyError, "there is no model 'rvlf'; did you mean 'rvfl'"),
        ({"models": [3]}, StudyError, "a model must be a name, an estimator"),
        ({"models": [("rvfl", {"C": [1]})]}, StudyError, "a model must be a name, an estimator"),
        ({"models": ["nowhere:make"]}, StudyError, "'nowhere:make' cannot be imported"),
        ({"models": ["own_models:nothing"]}, StudyError, "cannot be imported"),
        ({"target": None}, StudyError, "give target"),
        ({"data": []}, StudyError, "there is no table"),
        ({"target": "lable"}, StudyError, "^x: there is no column 'lable'; did you mean 'label'"),
        ({"models": [LogisticRegression(C=threading.Lock())]}, StudyError, "cannot be sent"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(tmp_path, arguments, error, why):
    arguments = {"data": {"x": blobs("x")}, "target": "label", "models": ["rvfl"]} | arguments
    with pytest.raises(error, match=why):
        compare(arguments.pop("data"), **arguments, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


# -- models --------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["repeated", "paper"])
def test_every_name_makes_a_model_for_three_classes(protocol):
    packages = {name: EVERY_MODEL[name].package for name in NAMES if name in EVERY_MODEL}
    missing = {name for name, package in packages.items() if package and not find_spec(package)}
    for name in missing:
        with pytest.raises(ImportError, match=f"this needs {packages[name]}, which is not"):
            read_models([name], protocol)
    specs = read_models([name for name in NAMES if name not in missing], protocol)
    assert {*specs, *missing} == {*NAMES}
    y = np.arange(30) % 3
    for spec in specs.values():
        estimator, grid = make(spec, protocol, 0, y)
        assert hasattr(estimator, "fit")
        assert (grid is not None) == ("tuned over the paper's grid" in spec.about)


def test_models_are_named_by_what_they_are():
    scaled = make_pipeline(StandardScaler(), GaussianNB())
    given = [scaled, GaussianNB(), make_bayes, lambda seed: GaussianNB(), "own_models:make_tuned"]
    found = read_models([*given, (DecisionTreeClassifier, {"max_depth": [1]}), "rvfl"], "repeated")
    assert list(found) == [
        "GaussianNB",
        "GaussianNB (2)",
        "make_bayes",
        "model",
        "make_tuned",
        "DecisionTreeClassifier",
        "rvfl",
    ]
    assert list(read_models({"mine": make_bayes}, "repeated")) == ["mine"]
    (spec,) = read_models({"Model": make_bayes}, "repeated").values()
    assert spec.label == "Model (2)"  # "Model" heads the column of models


def test_identity_changes_with_the_model_and_with_nothing_else():
    def identity(model):
        (spec,) = read_models({"m": model}, "repeated").values()
        return spec.identity

    def factory(C):
        return lambda seed: LogisticRegression(C=C)

    def forest(depth):
        return make_pipeline(StandardScaler(), RandomForestClassifier(max_depth=depth))

    assert identity(forest(3)) == identity(forest(3))
    assert identity(forest(3)) != identity(forest(4))
    assert identity(factory(1)) == identity(factory(1))
    assert identity(factory(1)) != identity(factory(2))
    assert identity((forest(3), {"C": [1]})) != identity((forest(3), {"C": [2]}))
    assert identity(make_bayes) != identity(make_tuned)

    def recursive(seed):
        return GaussianNB() if seed else recursive(1)

    assert identity(recursive) == identity(recursive)


def test_seeds_that_were_left_open_come_from_the_names():
    spec = read_models({"m": RandomForestClassifier()}, "repeated")["m"]
    assert make(spec, "repeated", 5, None)[0].random_state == 5
    spec = read_models({"m": RandomForestClassifier(random_state=1)}, "repeated")["m"]
    assert make(spec, "repeated", 5, None)[0].random_state == 1


def of_seed(number, C=1.0):
    return LogisticRegression(C=C, random_state=number)


@pytest.mark.parametrize(
    ("maker", "expected"),
    [
        (of_seed, (5, 1.0)),
        (partial(of_seed, C=3.0), (5, 3.0)),
        (partial(of_seed, 1), (1, 1.0)),
        (partial(of_seed, number=1), (1, 1.0)),
        (lambda C=2.0: LogisticRegression(C=C), (5, 2.0)),
        (lambda C=2.0, seed=0: LogisticRegression(C=C, random_state=seed), (5, 2.0)),
        (lambda C=2.0, *, random_state: LogisticRegression(C=C, random_state=random_state),
         (5, 2.0)),
        (partial(lambda C, seed: LogisticRegression(C=C, random_state=seed), 2.0, seed=1),
         (1, 2.0)),
        (lambda *given: LogisticRegression(random_state=given[0]), (5, 1.0)),
        (lambda: LogisticRegression(), (5, 1.0)),
    ],
)  # fmt: skip
def test_a_function_gets_the_seed_and_keeps_its_other_arguments(maker, expected):
    spec = read_models({"m": maker}, "repeated")["m"]
    model, _ = make(spec, "repeated", 5, None)
    assert (model.random_state, model.C) == expected


# -- code that changes ---------------------------------------------------------------------

LIBRARY = {
    "variant.py": """
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from base import Base
import numpy as np

class Variant(Base):
    def __init__(self, place=0):
        self.place = place

class Shift(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self
    def transform(self, X):
        return X + 1
""",
    "base.py": """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

class Base(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        from tools.deep import CLASS  # only when it is needed
        self.classes_ = np.unique(y)
        self.answer_ = self.classes_[CLASS]
        return self
    def predict(self, X):
        return np.full(len(X), self.answer_)
""",
    "tools/__init__.py": "",
    "tools/deep.py": "from .deeper import CLASS\n",
    "tools/deeper.py": "CLASS = 0\n",
    "tools/unused.py": "",
    "make.py": """
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import make_pipeline
from variant import Shift, Variant

plain = Variant()
nested = BaggingClassifier(make_pipeline(Shift(), Variant()), n_estimators=1)

def factory(seed):
    return Variant()
""",
}
MODELS = ["make:plain", "make:nested", "make:factory", "variant:Variant"]
ASK = f"""
from robell.comparison.user_models import read_models
for spec in read_models({MODELS}, "repeated").values():
    print(spec.identity)
"""


@pytest.fixture
def library(tmp_path):
    """A folder of a user's own modules."""
    for name, text in LIBRARY.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def fresh(folder, *command):
    """What a new process prints in a folder."""
    where = {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        [sys.executable, *command], cwd=folder, env=os.environ | where, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    return found.stdout


def forget(folder):
    """Let the modules of a folder be read again, as a new process would."""
    for name, module in list(sys.modules.items()):
        if folder in Path(getattr(module, "__file__", None) or "/").parents:
            del sys.modules[name]
    importlib.invalidate_caches()
    linecache.clearcache()


@pytest.fixture
def known_library(library, monkeypatch):
    """The folder of a user's own modules, which this process can import; no bytecode is kept."""
    monkeypatch.chdir(library)
    monkeypatch.syspath_prepend(library)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield library
    forget(library)


def test_identity_changes_with_every_module_of_the_users_that_a_model_runs(known_library):
    library = known_library

    def identities():
        forget(library)
        return [spec.identity for spec in read_models(MODELS, "repeated").values()]

    before = identities()
    assert len(set(before)) == 4
    assert fresh(library, "-c", ASK).split() == before  # of every process
    for name in ("variant.py", "base.py", "tools/__init__.py", "tools/deep.py", "tools/deeper.py"):
        with (library / name).open("a") as file:
            file.write("MORE = 1\n")
        changed = identities()
        assert all(old != new for old, new in zip(before, changed)), name
        before = changed
    (library / "tools" / "unused.py").write_text("MORE = 1\n")
    with (library / "base.py").open("a") as file:
        file.write("\n# a comment\n")
    assert identities() == before  # neither of them is run
    (library / "make.py").write_text(LIBRARY["make.py"].replace("n_estimators=1", "n_estimators=2"))
    after = identities()  # the class was imported from another module; the other three are made
    assert [old == new for old, new in zip(before, after)] == [True, False, False, True]


SCRIPT = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

RATE = 3

def helper(x):
    return x + RATE

class Base(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        return self

class Mine(Base):
    limit = 5
    def predict(self, X):
        return helper(X)
    @property
    def more(self):
        return 7
    @staticmethod
    def other():
        return 11

class Plain:
    def __init__(self, size):
        self.size = size
    def fit(self, X, y):
        return self
    def predict(self, X):
        return X

models = {"m": Mine(), "f": None, "p": Plain(13)}
models["f"] = lambda seed: Mine()
models["r"] = Mine(), {"a": [np.random.RandomState(17)]}
"""


@pytest.mark.parametrize("is_file", [True, False])
def test_identity_changes_with_what_is_defined_in_a_script_or_interpreter(tmp_path, is_file):
    def identities(text):
        path, main = tmp_path / "script.py", {"__name__": "__main__"}
        path.write_text(text)
        linecache.clearcache()
        exec(compile(text, path if is_file else "<stdin>", "exec"), main)
        return [spec.identity for spec in read_models(main["models"], "repeated").values()]

    before = identities(SCRIPT)
    assert identities(SCRIPT + "\nprint()") == before  # the rest is no part of the models
    assert identities("\n\n" + SCRIPT) == before
    expected = {"RATE = 3": "mfr", "x + RATE": "mfr", "limit = 5": "mfr", "return 7": "mfr"}
    expected |= {"return 11": "mfr", "Plain(13)": "p", "return X\n": "p", "State(17)]": "r"}
    for old, names in expected.items():
        new = old.replace("3", "4").replace("+", "-").replace("5", "6").replace("7", "8")
        new = new.replace("11", "12").replace("return X\n", "return X + 0\n")
        assert new != old
        changed = identities(SCRIPT.replace(old, new))
        assert "".join(n for n, a, b in zip("mfpr", before, changed) if a != b) == names, old


def test_code_of_installed_packages_is_not_read():
    modules = {"sklearn.pipeline", "json", "robell.models.rvfl", "own_models", "sys", "nowhere"}
    assert [name for name, _ in _sources(modules)] == ["own_models"]


def test_code_edited_between_two_runs_runs_again_and_the_rest_is_said_to_be_kept(
    known_library, capsys
):
    library = known_library
    blobs("a").to_csv(library / "a.csv", index=False)
    command = ["compare", "a.csv", "--target", "label", "--repeats", "2"]
    command += ["--jobs", "1", "--models", "make:factory", "forest", "--out"]

    def run(folder):
        forget(library)
        assert main([*command, folder]) == 0
        return capsys.readouterr().out

    first = run("out")
    assert "kept" not in first + (library / "out" / "index.html").read_text()
    again = fresh(library, "-m", "robell", *command, "out")  # another process keeps them too
    assert "4 of 4 results kept from an earlier run\n" in again
    (library / "tools" / "deeper.py").write_text("CLASS = -1\n")
    changed = run("out")
    assert "2 of 4 results kept from an earlier run\n" in changed
    page = (library / "out" / "index.html").read_text()
    assert "2 of 4 results kept from an earlier run" in page

    def accuracy(folder):
        lines = (library / folder / "tables" / "every_score.csv").read_text().splitlines()
        return [line for line in lines if "factory" in line]

    run("new")
    assert accuracy("out") == accuracy("new") != []


# -- jobs ----------------------------------------------------------------------------------


def test_a_grid_is_searched_on_the_training_rows():
    grid = {"max_depth": [1, 5]}
    pair = (DecisionTreeClassifier(random_state=0), grid)
    found = answers(blobs("x"), [pair, "own_models:make_tuned"], target="label")
    assert found[0]["outcome"]["chosen"]["max_depth"] in ("1", "5")
    assert found[1]["outcome"]["chosen"]["C"] in ("0.01", "1.0")


def test_noise_flips_training_labels_only_and_adds_to_itself():
    low, high = answers(blobs("x"), [DummyClassifier()], levels=(10, 40), target="label")
    assert (low["outcome"]["n_flipped"], high["outcome"]["n_flipped"]) == (4, 17)
    assert low["outcome"]["test_counts"] == high["outcome"]["test_counts"] == [12, 6]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Odd("raise"), "it does not like this table"),
        (Odd("nan"), "it predicts NaN for 18 rows"),
        (Odd("unseen"), "labels that it has not seen in training: 'neither'"),
        (Odd("short"), r"predictions of shape \(17,\) for 18 rows"),
        (NotFinite(), "not all finite"),
        ((lambda seed: 3), "it makes int, which is no classifier"),
    ],
)
def test_a_model_that_misbehaves_is_a_failure_with_a_reason(model, why):
    (answer,) = answers(blobs("x"), [model], target="label")
    assert answer["status"] == "failed"
    assert re.search(why, answer["error"])
    assert answer["outcome"]["test_counts"] == [12, 6]


def test_six_metrics_of_several_classes_are_means_over_classes():
    truth = np.array([0, 0, 0, 1, 1, 2])
    predicted = np.array([0, 0, 1, 1, 1, 2])
    scores = np.eye(3)[predicted]
    found = six_metrics(truth, predicted, scores)
    assert found["accuracy"] == accuracy_score(truth, predicted)
    assert found["balanced_accuracy"] == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert found["g_mean"] == pytest.approx((2 / 3) ** (1 / 3))
    assert found["f1"] == pytest.approx((0.8 + 0.8 + 1) / 3)
    assert found["roc_auc"] == pytest.approx((5 / 6 + 7 / 8 + 1) / 3)
    largest = six_metrics(truth, np.zeros(6, int), np.zeros((6, 3)))
    assert largest == pytest.approx(chance_scores([3, 2, 1]))


def test_rows_are_ranked_by_probabilities_where_there_are_more_than_two_classes():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    np.testing.assert_array_equal(class_scores(model, X, (0, 1, 2)), model.predict_proba(X))
    two = LogisticRegression(max_iter=1000).fit(X, y == 2)
    scores = class_scores(two, X, (False, True))
    np.testing.assert_array_equal(scores, two.decision_function(X))


def test_scores_of_a_class_the_model_does_not_know_are_alike():
    model = GaussianNB().fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "c", "c"])
    scores = class_scores(model, np.array([[0.5], [5.5]]), np.array(["a", "b", "c"]))
    assert scores[0, 0] > scores[1, 0]
    assert scores[0, 1] == scores[1, 1]
    predictor = Odd().fit(None, np.array(["a", "b"]))
    indicator = class_scores(
        predictor, np.zeros((2, 1)), np.array(["a", "b"]), np.array(["a", "b"])
    )
    np.testing.assert_array_equal(indicator, [0, 1])


def test_of_two_classes_that_a_model_knows_each_is_ranked_where_there_is_a_third():
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    model = LogisticRegression().fit(X, ["a", "a", "c", "c"])
    scores = class_scores(model, X, np.array(["a", "b", "c"]))
    np.testing.assert_array_equal(scores[:, 2], model.decision_function(X))
    np.testing.assert_array_equal(scores[:, 0], -model.decision_function(X))
    np.testing.assert_array_equal(scores[:, 1], 0)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_scores_of_pairs_of_classes_are_no_scores_of_classes(n_classes):
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 20)
    X = random.normal(size=(len(y), 2)) + y[:, None]
    pairs = SVC(decision_function_shape="ovo")
    for model in (
        pairs.fit(X, y),
        make_pipeline(StandardScaler(), pairs).fit(X, y),
        GridSearchCV(pairs, {"C": [1.0]}).fit(X, y),
    ):
        predicted = model.predict(X)
        scores = class_scores(model, X, range(n_classes), predicted)
        if n_classes > 2:
            np.testing.assert_array_equal(scores, np.eye(n_classes)[predicted])
        else:
            np.testing.assert_array_equal(scores, model.decision_function(X))


def test_columns_of_a_model_that_names_no_classes_are_in_sorted_order():
    class Nameless:
        def decision_function(self, X):
            return X[:, 0]

    X = np.array([[1.0], [-2.0]])
    classes = np.array(["yes", "no"])
    np.testing.assert_array_equal(class_scores(Nameless(), X, classes), [-1, 2])
    Nameless.predict_proba = lambda self, X: np.column_stack([1 - X[:, 0], X[:, 0]])
    del Nameless.decision_function
    np.testing.assert_array_equal(class_scores(Nameless(), X, classes), [0, 3])


@pytest.mark.parametrize("names", [("no", "yes"), ("yes", "no")])
def test_rows_are_ranked_by_a_decision_function_whatever_the_classes_are_called(names):
    table = blobs("a", shift=0.7)
    table["label"] = np.array(names)[(table["label"] == "yes").astype(int)]
    (answer,) = answers({"a": table}, [LogisticRegression()], target="label")
    (rows,) = read_all({"a": table}, "label")[0].values()
    assert rows.labels.tolist() == list(names)  # the smaller class is the second here
    train, test = repeated_split(rows.y, "a", 0)
    model = LogisticRegression().fit(rows.X[train], rows.y[train])
    scores = model.decision_function(rows.X[test])
    found = answer["outcome"]["metrics"]
    assert found["roc_auc"] == pytest.approx(roc_auc_score(rows.y[test], scores))
    expected = average_precision_score(rows.y[test], scores)
    assert found["average_precision"] == pytest.approx(expected)


# -- whole comparisons ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    tables = {"a": blobs("a"), "bb": blobs("bb", shift=0.6), "ccc": blobs("ccc", (20, 15, 12))}
    tables["bad"] = blobs("x").drop(columns="label")
    models = ["rvfl", make_pipeline(StandardScaler(), GaussianNB()), Odd("raise")]
    models += [lambda seed: LogisticRegression(random_state=seed)]
    return compare(
        tables,
        models,
        target="label",
        noise=(20, 0),
        repeats=2,
        n_jobs=2,
        out=tmp_path_factory.mktemp("out"),
        command="robell compare <these>",
    )


def test_means_have_their_spread_over_splits_in_latex_too(found):
    folder = found.report.parent / "tables"
    records = [r for r in read_records(found.report.parent).values() if r["status"] == "done"]
    scores = [
        r["outcome"]["metrics"]["g_mean"]
        for r in records
        if (r["job"]["dataset"], r["job"]["model"], r["job"]["level"]) == ("bb", "rvfl", 20)
    ]
    latex = (folder / "sets_g_mean_symmetric_20.tex").read_text()
    assert f"{np.mean(scores):.3f} $\\pm$ {np.std(scores, ddof=1):.3f}" in latex
    assert "standard deviation over 2 splits" in latex


def test_every_score_is_one_of_a_split(found):
    lines = (found.report.parent / "tables" / "every_score.csv").read_text().splitlines()
    assert lines[0].startswith("dataset,kind,level,split,model,status,accuracy")
    assert len(lines) == 1 + len(read_records(found.report.parent))
    means = (found.report.parent / "tables" / "mean_scores.csv").read_text().splitlines()
    assert means[0].startswith("dataset,kind,level,model,n_splits,accuracy,accuracy sd")
    assert len(means) == 1 + 2 * 3 * 4


def test_a_model_that_its_function_tunes_is_called_tuned(tmp_path):
    search = make_pipeline(StandardScaler(), GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2))
    models = {"pair": "own_models:make_tuned", "search": search, "plain": GaussianNB()}
    made = compare(blobs("x"), models, target="label", repeats=1, out=tmp_path / "out")
    with (made.report.parent / "tables" / "models.csv").open(newline="") as file:
        said = {row["Model"]: row["Made"] for row in csv.DictReader(file)}
    tuned = "tuned over its grid"
    assert said == {"pair": tuned, "search": tuned, "plain": "as given"}


def test_failures_are_counted_scored_as_chance_and_the_rest_goes_on(found):
    assert (found.summary.done, found.summary.failed) == (36, 12)
    assert list(found.unavailable) == ["bad"]
    assert found.results.failures_by_model() == {
        "rvfl": 0,
        "GaussianNB": 0,
        "Odd": 12,
        "model": 0,
    }
    clean, noisy = found.results.complete_cells()
    assert (clean.level, noisy.level) == (0, 20)
    assert clean.datasets == ("a", "bb", "ccc")
    odd = clean.models.index("Odd")
    assert clean.values["balanced_accuracy"][:, odd] == pytest.approx([0.5, 0.5, 1 / 3])
    assert clean.ranks("roc_auc")[odd] == 4
    methods = (found.report.parent / "methods.tex").read_text()
    assert "12 jobs failed (12 of Odd) and count with the scores of a model that always" in methods


def test_the_headline_names_models_ranks_and_failures(found):
    assert "1 = best" in found.headline
    assert "RVFL" in found.headline
    assert "Odd: 12 jobs failed, scored as chance" in found.headline


def test_the_page_has_all_parts_and_says_what_is_missing(found):
    text = found.report.read_text(encoding="utf-8")
    for part in ("Labels as given", "20 % of the labels made wrong", "Statistical tests"):
        assert part in text
    assert "12 jobs failed and are scored as chance" in text
    assert "there is no column &#x27;label&#x27;" in text
    assert "robell compare &lt;these&gt;" in text
    assert "it does not like this table" in text
    assert "with fewer than six, Wilcoxon" in text
    assert "1 = best" in text
    assert "printed" not in text.replace("as printed", "")
    folder = found.report.parent
    stems = ["clean", "symmetric_20", "tests", "fit_time", "tables", "models", "failed"]
    stems += ["against_accuracy_clean", "pairs_roc_auc_symmetric_20", "sets_g_mean_clean"]
    for stem in stems:
        for suffix in ("csv", "md", "tex"):
            assert (folder / "tables" / f"{stem}.{suffix}").stat().st_size > 40
    for stem in ("critical_difference_accuracy_clean", "curves_symmetric"):
        assert (folder / "figures" / f"{stem}.png").exists()
    assert "failed: comparison/repeated/a" in (folder / "progress.log").read_text()


@pytest.mark.skipif(find_chromium() is None, reason="needs Chromium (set CHROMIUM to its path)")
def test_the_page_in_a_browser(found):
    with Browser(find_chromium()) as browser:
        browser.open(found.report, width=390, scheme="dark")
        browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert browser.run("document.documentElement.scrollWidth") <= 390
        assert browser.messages == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


def test_the_tables_can_be_set_with_pdflatex(found, tmp_path):
    assert_tables_compile(found.report.parent / "tables", tmp_path)


def test_the_report_is_written_again_from_the_records_alone(found):
    before = found.report.read_text(encoding="utf-8")
    study = study_in(found.report.parent)
    assert study.name == "comparison"
    assert write_report(study, found.report.parent)[0] == found.report
    assert found.report.read_text(encoding="utf-8") == before


def test_a_model_or_table_that_changes_runs_again_and_only_the_new_one_counts(tmp_path):
    tables = {name: blobs(name) for name in ("a", "bb")}

    def go(C, tables=tables, **more):
        models = {"mine": LogisticRegression(C=C), "bayes": GaussianNB()}
        return compare(tables, models, target="label", repeats=1, out=tmp_path, **more)

    assert go(1.0).summary.done == 4
    changed = go(0.001, tables | {"a": blobs("a", seed=1)})
    assert (changed.summary.done, changed.summary.stored) == (3, 1)
    assert len(changed.results.records) == 4
    fewer = go(0.001, {"a": blobs("a", seed=1)}, protocol="holdout")
    assert fewer.results.datasets == ("a",)
    assert fewer.results.protocol == "holdout"


def test_rows_that_were_measured_before_others_of_their_name_count_again_when_asked_for(tmp_path):
    def go(seed):
        found = compare(
            {"a": blobs("a", seed=seed)}, "rvfl", target="label", repeats=2, out=tmp_path
        )
        cell = found.results.cell("clean", 0)
        return found.summary.done, {name: of.tolist() for name, of in cell.values.items()}

    first, other, again = go(0), go(1), go(0)
    assert (first[0], other[0], again[0]) == (2, 2, 0)
    assert first[1] != other[1]
    assert again[1] == first[1]
    records = read_records(tmp_path).values()
    assert len({record["job"]["digest"] for record in records}) == 2


def test_a_model_that_had_its_name_alone_before_is_told_from_another_of_that_name(tmp_path):
    class RVFL(GaussianNB):
        pass

    options = {"target": "label", "repeats": 1, "out": tmp_path}
    compare({"a": blobs("a")}, ["rvfl"], **options)
    found = compare({"a": blobs("a")}, [RVFL(), "rvfl"], **options)
    assert found.summary.stored == 1
    assert found.results.cell("clean", 0).labels == ("RVFL", "RVFL (2)")


@pytest.mark.parametrize("module", ["random", "numpy.random"])
def test_models_without_a_seed_of_their_own_give_the_same_numbers_in_any_order(module):
    class Chance(GaussianNB):
        def predict(self, X):
            return self.classes_[[int(2 * import_module(module).random()) for _ in X]]

    def metrics(models):
        found = answers({"a": blobs("a")}, models, target="label", repeats=3, protocol="repeated")
        return [answer["outcome"]["metrics"] for answer in found]

    alone = metrics([Chance()])
    assert alone == metrics([make_bayes, Chance()])[1::2]
    assert alone[0] != alone[1]


def test_equal_winners_are_all_named_on_the_page(tmp_path):
    models = {"one": GaussianNB(), "same": make_bayes, "none": DummyClassifier()}
    found = compare({"a": blobs("a")}, models, target="label", repeats=2, out=tmp_path)
    page = found.report.read_text(encoding="utf-8")
    assert page.count("one, same; Balanced accuracy, clean") == 2  # best mean, best average rank


@pytest.mark.usefixtures("jobs_in_processes")
def test_a_model_that_hangs_or_dies_is_ended_and_the_rest_goes_on(tmp_path):
    models = {"stuck": Odd("hang"), "deadly": Odd("die"), "bayes": GaussianNB()}
    found = compare(
        {"a": blobs("a")}, models, target="label", repeats=1, time_limit=3, out=tmp_path
    )
    assert {record["job"]["model"]: record["error"] for record in found.results.failed} == {
        "stuck": "it took longer than the time limit of 3 s",
        "deadly": "its process died 2 times (out of memory?)",
    }
    assert found.summary.done == 1
    cell = found.results.cell("clean", 0)
    assert cell.values["accuracy"][0, :2] == pytest.approx(40 / 60)


def test_one_model_or_one_table_says_what_cannot_be_computed(tmp_path):
    found = compare(blobs("x"), "rvfl", target="label", protocol="holdout", out=tmp_path)
    assert "One model alone" in found.report.read_text(encoding="utf-8")

    assert "One table alone" in next(not_computed(1, 2))
    assert "Two models" in next(not_computed(2, 2))


def test_the_papers_protocol_leaves_out_tables_it_would_split_badly():
    order = np.random.RandomState(0).permutation(60)  # the paper's
    y = np.zeros(60, int)
    y[order[:10]] = 1  # all among the training rows
    X = np.random.default_rng(0).normal(size=(60, 2))
    tables, _ = read_all({"bad": (X, y), "good": (X, np.arange(60) % 2)})
    kept, lost = _whole_classes(tables)
    assert list(kept) == ["good"]
    assert "use the protocol repeated or holdout" in lost["bad"]


def test_killed_and_started_again_it_comes_to_the_same_numbers(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, str(ROOT / "tests" / "own_script.py"), str(out)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(command, env=environment)
    records, deadline = out / "records.jsonl", time.monotonic() + 120
    while not (records.exists() and records.read_bytes().count(b"\n") >= 5):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 5 <= len(read_records(out)) < 24
    subprocess.run(command, env=environment, check=True)
    tables = {name: blobs(name) for name in ("a", "bb")}
    models = {"mine": GaussianNB(), "function": GaussianNB()}  # the same in less time
    whole = tmp_path / "whole"  # in this process
    assert compare(tables, models, target="label", repeats=6, out=whole).summary.done == 24

    def scores(folder):
        return sorted((key.rpartition("/")[0], value) for key, value in numbers(folder).items())

    assert scores(out) == scores(whole)


def test_the_public_name_is_this():
    assert robell.compare is compare
    assert set(METRICS) == set(chance_scores([2, 1]))


def test_a_folder_of_somebody_else_is_refused_before_any_table_is_read(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("dear")
    (tmp_path / "file").touch()
    for out, why in (("letters", "holds other files and no earlier results"), ("file", "a file")):
        with pytest.raises(StudyError, match=why):
            compare("nowhere.csv", ["rvfl"], target="y", out=tmp_path / out)
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["dear.txt"]


def test_what_a_choice_on_the_test_rows_would_add_is_told_beside_the_honest_score(tmp_path):
    X, y = load_iris(return_X_y=True)
    grid = {"C": [0.001, 0.1, 1.0]}
    data, models = {"iris": (X, y)}, ["elm", (SVC(random_state=0), grid)]
    found = compare(data, models, protocol="nested", repeats=2, noise=20, out=tmp_path)
    records = found.results.done
    assert len(records) == 4
    for record in records:
        told, honest = record["outcome"]["on_test_rows"], record["outcome"]["metrics"]["accuracy"]
        assert told["chosen"] == pytest.approx(honest, abs=1e-12)
        assert told["best"] >= told["chosen"]
        if record["job"]["model"] == "SVC":  # each candidate by hand
            train, test = repeated_split(y, "iris", record["job"]["seed"])
            noisy, _ = flip_uniformly(y[train], 0.2, record["seeds"]["noise"])
            scores = [
                SVC(C=C, random_state=0).fit(X[train], noisy).score(X[test], y[test])
                for C in grid["C"]
            ]
            assert told["best"] == pytest.approx(max(scores))
    page = found.report.read_text(encoding="utf-8")
    assert "If tuned on the test rows" in page
    assert "RVFLwoDL by C, activation, n_hidden; SVC by C" in page


@pytest.mark.parametrize("labels", [("01", "1", "2"), ("1e0", "1", "7"), ("8", "9", "10")])
def test_labels_that_are_one_number_are_classes_of_their_own(tmp_path, labels):
    codes = np.arange(90) % 3
    frame = pd.DataFrame({"a": codes + np.linspace(0, 1, 90), "y": np.array(labels)[codes]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    tables, _ = read_all(tmp_path / "t.csv", "y")
    found = [str(label) for label in tables["t"].labels[tables["t"].y]]
    assert found == frame["y"].tolist()
