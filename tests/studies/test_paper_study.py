"""The paper's study: splits, plan, jobs and results; nothing that depends on the order of jobs."""

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from robell.comparison.execute import execute
from robell.comparison.family import MODELS
from robell.comparison.jobs import Rows, folds, paper_split, repeated_split, seed_of
from robell.comparison.store import Store, StudyError, read_records
from robell.metrics import g_mean_score, sensitivity_score, specificity_score
from robell.studies.paper.jobs import STUDY, Cell, Job, plan_jobs, run_job
from robell.studies.paper.page import Results, all_scores, scores_of
from robell.studies.paper.printed import MODELS as PRINTED
from robell.studies.paper.printed import NOISE_DATASETS, NOISE_LEVELS, printed_cells


def table(name="example", n=60, seed=0, positive=1):
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n - n // 3, n // 3])
    X = random.normal(size=(n, 2)) + y[:, None]
    order = random.permutation(n)
    return Rows(name, X[order], y[order], positive, f"digest{seed}", {"source": "test"})


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
    jobs = plan_jobs(tables, "all", MODELS, ["paper", "repeated"], 10)
    count = {}
    for job in jobs:
        count[job.study, job.protocol] = count.get((job.study, job.protocol), 0) + 1
    assert count == {
        ("table1", "paper"): 6 * 8,
        ("table1", "repeated"): 6 * len(MODELS) * 10,  # the relatives too
        ("noise", "paper"): 5 * 3 * len(NOISE_LEVELS),
        ("noise", "repeated"): 5 * 3 * len(NOISE_LEVELS) * 10,
        ("probe", "paper"): 6,
        ("sensitivity", "paper"): 3 * 3,
    }
    assert len({job.key for job in jobs}) == len(jobs)


def test_relatives_run_over_repeated_splits_alone():
    tables = {"cmc": table("cmc")}
    relatives = [model for model in MODELS if model not in PRINTED]
    assert {"ifrvfl", "geifrvfl", "r2vfl", "classvar", "totalvar"} <= set(relatives)
    jobs = plan_jobs(tables, "table1", MODELS, ["paper", "repeated"], 1)
    assert {job.model for job in jobs if job.protocol == "paper"} == set(PRINTED)
    assert {job.model for job in jobs if job.protocol == "repeated"} == set(MODELS)
    with pytest.raises(StudyError, match="prints nothing of: protocol repeated"):
        plan_jobs(tables, "table1", relatives, ["paper"])
    assert np.isnan(printed_cells(["cmc"], ["rvfl", "ifrvfl"])).tolist() == [[False, True]]


def test_the_clean_cells_of_the_noise_are_those_of_table_one():
    tables = {name: table(name) for name in NOISE_DATASETS}
    whole = plan_jobs(tables, "table1", MODELS, ["paper"])
    noise = plan_jobs(tables, "noise", MODELS, ["paper"])
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
    search = cell._search()
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
        told = selected["on_test_rows"]
        assert 100 * told["chosen"] == pytest.approx(scores[metric])
        assert told["best"] >= told["chosen"]
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


# -- killed and resumed ----------------------------------------------------------------------


def test_what_a_killed_run_left_is_gone_on_with_to_the_same_numbers(tmp_path):
    """The engine's own tests kill processes; here real jobs go through workers and the store."""
    tables = {"one": table("one")}
    jobs = plan_jobs(tables, "table1", ["elm"], ["repeated"], 3)
    with Store(tmp_path, STUDY.name) as store:
        assert execute(STUDY, jobs[:2], tables, store).done == 2
        alone = store.records | {jobs[2].key: run_job(jobs[2], tables["one"])}
    records = tmp_path / "records.jsonl"
    first, second = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(first + second[: len(second) // 2])
    with Store(tmp_path, STUDY.name) as store:
        summary = execute(STUDY, jobs[::-1], tables, store, n_workers=2)
        assert (summary.done, summary.failed, summary.stored) == (2, 0, 1)
    assert set(alone) == {job.key for job in jobs}
    for key, record in read_records(tmp_path).items():
        for part in ("outcome", "seeds"):
            assert json.dumps(record[part]) == json.dumps(alone[key][part])
        assert record["job"]["dataset"] in tables
        assert record["seconds"]["search"] <= record["seconds"]["total"]


def test_a_part_that_has_nothing_to_do_says_what_it_needs():
    with pytest.raises(StudyError, match="nothing to do: probe needs"):
        plan_jobs({"other": table("other")}, "probe", ["robell"], ["paper"])


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


def test_models_are_held_against_each_other_on_the_same_splits():
    records = [record("cmc", "rvfl", 2 * k, repeat=k, protocol="repeated") for k in range(4)]
    records += [record("cmc", "elm", k, repeat=k, protocol="repeated") for k in (1, 3)]
    records += [record("haberman", "rvfl", 7, repeat=2, protocol="repeated")]
    cells = Results(records).scores("table1", "repeated", "accuracy", "accuracy")
    assert cells.n.tolist() == [[2, 2], [1, 0]]
    assert cells.mean[0].tolist() == [70, 60]  # of splits 1 and 3
    assert np.isnan(cells.mean[1, 1])


def test_a_cell_that_was_tuned_by_one_metric_and_by_two_counts_once():
    both = []
    for metrics in (["accuracy"], ["accuracy", "g_mean"]):
        for repeat, tp in enumerate([2, 4, 9]):
            entry = record("cmc", "rvfl", tp, repeat=repeat, protocol="repeated")
            entry["job"]["tuned_by"] = metrics
            both.append(entry | {"key": f"{entry['key']}/{metrics}"})
    found, once = Results(both), Results(both[:3])
    cells, expected = (
        r.scores("table1", "repeated", "accuracy", "accuracy") for r in (found, once)
    )
    assert cells.n.tolist() == expected.n.tolist() == [[3]]
    assert cells.sd[0, 0] == pytest.approx(expected.sd[0, 0])
    assert all_scores(found, "repeated", "accuracy") == all_scores(once, "repeated", "accuracy")


def test_one_table_never_mixes_two_versions_of_a_set():
    old = [record("cmc", "rvfl", 1, digest="old"), record("cmc", "elm", 1, digest="old")]
    new = [record("cmc", "rvfl", 9, digest="new"), record("haberman", "elm", 9)]
    results = Results([*old, *new])
    cells = results.scores("table1", "paper", "accuracy", "accuracy")
    assert cells.datasets == ("cmc", "haberman")
    assert cells.models == ("rvfl", "elm")
    np.testing.assert_array_equal(np.isfinite(cells.mean), [[True, False], [False, True]])
    assert cells.mean[0, 0] == 95
