"""Plan, store and execution: nothing lost, nothing half-written, nothing that depends on order."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from robell.metrics import g_mean_score, sensitivity_score, specificity_score
from robell.studies.engine import execute as engine
from robell.studies.engine.execute import execute
from robell.studies.engine.store import FORMAT, Store, StudyError, read_records, versions
from robell.studies.paper.jobs import Cell, run_job
from robell.studies.paper.plan import Job, Rows, plan_jobs
from robell.studies.paper.printed import MODELS, NOISE_DATASETS, NOISE_LEVELS
from robell.studies.paper.protocols import folds, paper_split, repeated_split, seed_of
from robell.studies.paper.results import Results, scores_of


def table(name="example", n=60, seed=0, positive=1):
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n - n // 3, n // 3])
    X = random.normal(size=(n, 2)) + y[:, None]
    order = random.permutation(n)
    return Rows(name, X[order], y[order], positive, f"digest{seed}", {"source": "test"})


def numbers(store):
    """What a study found, without times."""
    return {
        key: json.dumps([record["outcome"], record["seeds"]])
        for key, record in store.records.items()
    }


# -- protocols -----------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "n_test"), [(690, 208), (306, 92), (100, 30), (131, 40)])
def test_the_recovered_split_has_the_printed_sizes(n, n_test):
    train, test = paper_split(n)
    assert len(test) == n_test
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
    np.random.seed(0)  # noqa: NPY002 - the recipe as it was published
    published = np.random.permutation(n)[: int(n * (1 - 0.30))]  # noqa: NPY002
    np.testing.assert_array_equal(train, published)


def test_repeated_splits_are_stratified_and_named():
    y = np.repeat([0, 1], [90, 10])
    train, test = repeated_split(y, "a", 0)
    assert (len(test), y[test].sum()) == (30, 3)
    np.testing.assert_array_equal(train, repeated_split(y, "a", 0)[0])
    for other in (("a", 1), ("b", 0)):
        assert (np.sort(train) != np.sort(repeated_split(y, *other)[0])).any()


def test_folds_are_those_of_the_set_not_of_the_model():
    y = np.repeat([0, 1], [30, 10])
    first, again = (list(folds("paper", "a", 0).split(y, y)) for _ in range(2))
    for (_, one), (_, two) in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert seed_of("paper", "a", 0, "folds") != seed_of("paper", "b", 0, "folds")


# -- the plan ------------------------------------------------------------------------------


def test_the_whole_plan_of_the_papers_sets():
    tables = {name: table(name) for name in ("cmc", *NOISE_DATASETS)}
    jobs = plan_jobs(
        ["table1", "probe", "noise", "sensitivity"], tables, MODELS, ["paper", "repeated"], 10
    )
    count = {}
    for job in jobs:
        count[job.study, job.protocol] = count.get((job.study, job.protocol), 0) + 1
    assert count == {
        ("table1", "paper"): 6 * 8,
        ("table1", "repeated"): 6 * 8 * 10,
        ("noise", "paper"): 5 * 3 * len(NOISE_LEVELS),
        ("noise", "repeated"): 5 * 3 * len(NOISE_LEVELS) * 10,
        ("probe", "paper"): 6,
        ("sensitivity", "paper"): 3,
    }
    assert len({job.key for job in jobs}) == len(jobs)


def test_the_clean_cells_of_the_noise_are_those_of_table_one():
    tables = {name: table(name) for name in NOISE_DATASETS}
    whole = plan_jobs(["table1"], tables, MODELS, ["paper"], 1)
    noise = plan_jobs(["noise"], tables, MODELS, ["paper"], 1)
    assert {job for job in noise if job.study == "table1"} <= set(whole)


def test_jobs_are_frozen_and_every_field_is_in_the_key():
    job = Job("table1", "paper", "a", "rvfl", "digest")
    with pytest.raises(FrozenInstanceError):
        job.repeat = 1
    changes = {
        "study": "noise",
        "protocol": "repeated",
        "dataset": "b",
        "model": "elm",
        "digest": "other",
        "repeat": 1,
        "noise": 5,
        "tuned_by": ("g_mean",),
    }
    keys = {replace(job, **{name: value}).key for name, value in changes.items()}
    assert len(keys | {job.key}) == len(changes) + 1


# -- one job -------------------------------------------------------------------------------


def test_the_first_best_candidate_is_fitted_to_the_training_rows_and_counted_on_the_others():
    rows = table(n=90, positive=0)
    job = Job("table1", "repeated", "example", "rvfl", rows.digest, 3, 0, ("accuracy", "g_mean"))
    found = run_job(job, rows)["outcome"]
    cell = Cell(job, rows)
    search = cell._search(("accuracy", "g_mean"))
    for metric in ("accuracy", "g_mean"):
        means = search.cv_results_[f"mean_test_{metric}"]
        best = int(np.argmax(means >= means.max()))
        selected = found["selected"][metric]
        assert selected["cv_score"] == means[best]
        chosen = search.cv_results_["params"][best]
        assert {f"model__{k}": v for k, v in selected["parameters"].items()} == chosen
        model = search.estimator.set_params(**chosen).fit(rows.X[cell.train], rows.y[cell.train])
        predicted, truth = model.predict(rows.X[cell.test]), rows.y[cell.test]
        scores = scores_of(selected["confusion"])
        assert scores["accuracy"] == pytest.approx(100 * (predicted == truth).mean())
        positive = {"pos_label": 0}
        sensitivity = 100 * sensitivity_score(truth, predicted, **positive)
        assert scores["sensitivity"] == pytest.approx(sensitivity)
        specificity = 100 * specificity_score(truth, predicted, **positive)
        assert scores["specificity"] == pytest.approx(specificity)
        assert scores["g_mean"] == pytest.approx(100 * g_mean_score(truth, predicted))


def test_noise_is_in_the_training_labels_only_and_the_same_for_all_models():
    rows = table(n=100)
    job = Job("noise", "paper", "example", "rvfl", rows.digest, noise=20)
    noisy, clean = Cell(job, rows), Cell(replace(job, noise=0), rows)
    assert (noisy.y_train != clean.y_train).sum() == 13  # 20 % of 47 and of 23, rounded down
    other = Cell(replace(job, model="gb"), rows)
    np.testing.assert_array_equal(noisy.y_train, other.y_train)
    np.testing.assert_array_equal(noisy.test, clean.test)


def test_undefined_metrics_are_zero():
    assert scores_of({"tp": 0, "fn": 5, "fp": 0, "tn": 5}) == {
        "accuracy": 50.0, "sensitivity": 0.0, "specificity": 100.0, "precision": 0.0,
        "f_measure": 0.0, "g_mean": 0.0,
    }  # fmt: skip


def test_too_few_rows_of_a_class():
    rows = table(n=12)
    with pytest.raises(ValueError, match="training rows; 5 folds need 5"):
        run_job(Job("table1", "paper", "example", "rvfl", rows.digest), rows)


# -- the store -----------------------------------------------------------------------------


def test_half_a_line_is_cut_off_and_the_rest_is_kept(tmp_path):
    with Store(tmp_path) as store:
        for key in ("a", "b"):
            store.append({"key": key, "status": "done", "value": "ö"})
    path = tmp_path / "records.jsonl"
    whole = path.read_bytes()
    line = whole.splitlines(keepends=True)[1]
    for cut in range(len(line)):
        path.write_bytes(whole + line[:cut])
        assert list(read_records(tmp_path)) == ["a", "b"]
        with Store(tmp_path) as store:
            assert store.is_done("a")
            assert store.is_done("b")
        assert path.read_bytes() == whole


def test_a_record_that_is_none_is_named(tmp_path):
    with Store(tmp_path) as store:
        store.append({"key": "a", "status": "done"})
    with (tmp_path / "records.jsonl").open("a") as file:
        file.write("nonsense\n")
    for opener in (Store, read_records):
        with pytest.raises(StudyError, match=r"records.jsonl, line 2: not a record"):
            opener(tmp_path)


def test_two_writers(tmp_path):
    with Store(tmp_path), pytest.raises(StudyError, match="another process is writing"):
        Store(tmp_path)
    Store(tmp_path).close()


@pytest.mark.parametrize(
    "stamp", [{"format": FORMAT, "robell": "0.0.1"}, {"format": 0, "robell": "x"}, [], "text"]
)
def test_a_directory_of_another_version(tmp_path, stamp):
    (tmp_path / "study.json").write_text(json.dumps(stamp))
    with pytest.raises(StudyError, match="use another --out"):
        Store(tmp_path)
    assert not (tmp_path / "records.jsonl").exists()


def test_records_without_a_stamp(tmp_path):
    (tmp_path / "records.jsonl").write_text("")
    with pytest.raises(StudyError, match=r"no study\.json"):
        Store(tmp_path)


def test_a_file_in_place_of_the_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="cannot be written"):
        Store(tmp_path / "file")


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    write = os.write
    with Store(tmp_path) as store:
        store.append({"key": "a", "status": "done"})

        def half(file, data):
            if len(data) <= 8:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(file, data[: len(data) // 2])

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(
            StudyError, match="no space is left; the 1 finished jobs in it are safe"
        ):
            store.append({"key": "b", "status": "done"})
        monkeypatch.undo()
        store.append({"key": "c", "status": "done"})
    assert list(read_records(tmp_path)) == ["a", "c"]


# -- execution -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    tables = {name: table(name, seed=k) for k, name in enumerate(("one", "two"))}
    jobs = plan_jobs(["table1"], tables, ["rvfl", "elm"], ["paper", "repeated"], 2)
    return jobs, tables


@pytest.fixture(scope="module")
def finished(study, tmp_path_factory):
    jobs, tables = study
    with Store(tmp_path_factory.mktemp("finished")) as store:
        summary = execute(jobs, tables, store, n_workers=2)
        assert (summary.done, summary.failed, summary.stored) == (len(jobs), 0, 0)
        return numbers(store)


def test_neither_order_nor_number_of_processes_matters(study, finished, tmp_path):
    jobs, tables = study
    with Store(tmp_path) as store:
        execute(jobs[::-1], tables, store, n_workers=1)
        assert numbers(store) == finished


def test_what_is_stored_is_not_done_again(study, tmp_path):
    jobs, tables = study
    with Store(tmp_path) as store:
        assert execute(jobs[:2], tables, store).done == 2
        summary = execute(jobs[:3], tables, store)
        assert (summary.done, summary.stored) == (1, 2)
    record = read_records(tmp_path)[jobs[0].key]
    assert record["versions"] == versions()
    assert record["job"]["dataset"] == "one"
    assert record["data"] == {"source": "test"}
    assert record["seconds"]["search"] <= record["seconds"]["total"]


def test_a_job_that_fails_is_recorded_and_tried_again(tmp_path):
    tables = {"small": table("small", n=12)}
    jobs = plan_jobs(["table1"], tables, ["rvfl"], ["paper"], 1)
    for _ in range(2):
        with Store(tmp_path) as store:
            summary = execute(jobs, tables, store)
            assert (summary.done, summary.failed, summary.stored) == (0, 1, 0)
    (failure,) = Results(read_records(tmp_path).values()).failed
    assert "5 folds need 5" in failure["error"]


def test_a_process_that_dies_is_replaced_and_its_job_tried_again(study, finished, tmp_path):
    jobs, tables = study
    killed = []
    give = engine._Worker.give

    def give_and_kill_once(worker, job, *rest):
        give(worker, job, *rest)
        if job not in killed and len(killed) < 2:
            killed.append(job)
            os.kill(worker.process.pid, signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch, Store(tmp_path) as store:
        patch.setattr(engine._Worker, "give", give_and_kill_once)
        summary = execute(jobs, tables, store, n_workers=2)
        assert (summary.done, summary.failed) == (len(jobs), 0)
        assert numbers(store) == finished
    assert len(killed) == 2


def test_a_job_that_always_kills_its_process_fails_and_the_others_finish(study, tmp_path):
    jobs, tables = study
    give = engine._Worker.give

    def give_and_kill(worker, job, *rest):
        give(worker, job, *rest)
        if job == jobs[0]:
            os.kill(worker.process.pid, signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch, Store(tmp_path) as store:
        patch.setattr(engine._Worker, "give", give_and_kill)
        summary = execute(jobs[:3], tables, store, n_workers=1)
        assert (summary.done, summary.failed) == (2, 1)
        assert "process died 2 times" in store.records[jobs[0].key]["error"]


RUN = """
import sys
sys.path[:0] = {path!r}
from test_study_engine import table
from robell.studies.engine.execute import execute
from robell.studies.paper.plan import plan_jobs
from robell.studies.engine.store import Store
if __name__ == "__main__":
    tables = {{name: table(name, seed=k) for k, name in enumerate(("one", "two"))}}
    jobs = plan_jobs(["table1"], tables, ["rvfl", "elm"], ["paper", "repeated"], 2)
    with Store(sys.argv[1]) as store:
        execute(jobs, tables, store, n_workers=2)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_killed_at_any_moment_it_goes_on_to_the_same_numbers(study, finished, tmp_path):
    jobs, tables = study
    script = tmp_path / "run.py"
    script.write_text(RUN.format(path=[os.path.dirname(__file__)]))
    out = tmp_path / "out"
    for n_before in (1, 4):
        process = subprocess.Popen([sys.executable, str(script), str(out)])
        deadline = time.monotonic() + 120
        records = out / "records.jsonl"
        while not (records.exists() and records.read_bytes().count(b"\n") >= n_before):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        children = _children(process.pid)
        process.kill()
        process.wait()
        _wait_until_gone(children)
        assert n_before <= len(read_records(out)) <= len(jobs)
    with Store(out) as store:
        execute(jobs, tables, store, n_workers=1)
        assert numbers(store) == finished


def _children(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def _wait_until_gone(pids):
    deadline = time.monotonic() + 20
    while any(_is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.05)


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -- results -------------------------------------------------------------------------------


def record(dataset, model, tp, *, digest="d", repeat=0, protocol="paper", status="done"):
    job = Job("table1", protocol, dataset, model, digest, repeat)
    confusion = {"tp": tp, "fn": 10 - tp, "fp": 0, "tn": 10}
    selected = {"accuracy": {"confusion": confusion, "parameters": {}, "cv_score": 0.5}}
    fields = {name: getattr(job, name) for name in Job.__dataclass_fields__}
    return {
        "key": job.key,
        "job": json.loads(json.dumps(fields)),
        "status": status,
        "outcome": {"selected": selected},
    }


def test_means_over_repeats():
    records = [
        record("cmc", "rvfl", tp, repeat=k, protocol="repeated") for k, tp in enumerate([0, 10, 5])
    ]
    cells = Results(records).scores("table1", "repeated", "accuracy", "accuracy")
    assert (cells.datasets, cells.models, cells.n.tolist()) == (("cmc",), ("rvfl",), [[3]])
    assert cells.mean[0, 0] == pytest.approx(75)
    assert cells.sd[0, 0] == pytest.approx(25)


def test_one_table_never_mixes_two_versions_of_a_set():
    old = [record("cmc", "rvfl", 1, digest="old"), record("cmc", "elm", 1, digest="old")]
    new = [record("cmc", "rvfl", 9, digest="new"), record("haberman", "elm", 9)]
    results = Results([*old, *new])
    cells = results.scores("table1", "paper", "accuracy", "accuracy")
    assert cells.datasets == ("cmc", "haberman")
    assert cells.models == ("rvfl", "elm")
    np.testing.assert_array_equal(np.isfinite(cells.mean), [[True, False], [False, True]])
    assert cells.mean[0, 0] == 95
