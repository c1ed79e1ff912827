"""The robustness report: means and ranks as a literal twin has them, nothing silently dropped."""

import csv
import json

import numpy as np
import pytest
from browser import Browser, find_chromium
from hypothesis import given
from hypothesis import strategies as st
from latex import assert_tables_compile

from robell.comparison.peers import MODELS, OURS, TIME_REFERENCE, USUAL
from robell.comparison.scores import METRICS, scores_of
from robell.comparison.store import Store
from robell.comparison.study_page import (
    cell_table,
    dataset_table,
    every_score,
    mean_scores,
    significance_table,
    time_table,
    write_report,
)
from robell.report.plots import COLOURS, _looks, curve_panels, named_curves
from robell.report.tables import Table
from robell.studies.label_noise.jobs import REPORTING, SETS, STUDY, NoiseJob
from robell.studies.label_noise.models import EVERY_MODEL
from robell.studies.label_noise.page import (
    ORDER,
    OUR_LABEL,
    NoiseResults,
    detection_tables,
    detections,
    headline,
    is_tuned,
    lead_over,
    margin_details,
    margin_tables,
    margins,
    probability_table,
)

PEERS = ["svc", "forest", "lightgbm"]
NAMES = ["yeast4", "glass0", "ecoli1", "pima", "vowel0"]  # the last two are reporting tables
CELLS = [("clean", 0), ("symmetric", 20), ("symmetric", 40), ("boundary", 20)]


def record(dataset, kind, level, seed, model, scores, *, revision=None, digest="d", seconds=0.01):
    if revision is None:
        revision = "1" if model == OURS else ""
    job = NoiseJob(dataset, digest, kind, level, seed, model, revision)
    fields = {name: getattr(job, name) for name in NoiseJob.__dataclass_fields__}
    outcome = {"n_train": 70, "n_test": 30, "test_counts": [24, 6], "warnings": []}
    outcome["n_flipped"] = 70 * level // 100
    if model == OURS and level:
        outcome["suspects"] = {"n": 9, "average_precision": 0.5 + level / 1000, "missed": 0.4}
    done = {"status": "done", "seconds": {"fit_cpu": seconds, "total": 2 * seconds}}
    outcome["metrics"] = scores
    if model != "svc":
        outcome["probabilities"] = {"log_loss": 0.3, "calibration_error": 0.1, "brier": 0.2}
    if scores is None:
        done = {"status": "failed", "error": "it <b>broke</b>", "trace": "", "seconds": {}}
        del outcome["metrics"]
    return {
        "key": job.key,
        "job": fields,
        "outcome": outcome,
        "data": {
            "source": "test",
            "n_rows": 100,
            "n_minority": 20,
            "note": "",
            "n_features": 60 if dataset == "pima" else 4,
            "class_counts": [80, 20],
        },
        "versions": {"robell": "x"},
        "packages": {"lightgbm": "y"} if model == "lightgbm" else {},
        **done,
    }


def random_scores(random):
    """Scores on a coarse grid, so that some are tied."""
    return {metric: int(random.integers(8, 20)) / 20 for metric in METRICS}


def make_records(models=(OURS, *PEERS), names=NAMES, cells=CELLS, seeds=(10, 11), seed=0):
    random = np.random.default_rng(seed)
    return [
        record(name, kind, level, s, model, random_scores(random), seconds=0.001 * (k + 1))
        for kind, level in cells
        for s in seeds
        for name in names
        for k, model in enumerate(models)
    ]


@pytest.fixture(scope="module")
def records():
    found = make_records()
    found[3] = record("yeast4", "clean", 0, 10, "lightgbm", None)
    return found


@pytest.fixture(scope="module")
def results(records):
    return NoiseResults(records)


def test_every_score_is_there_and_means_are_called_means(records, results):
    table = every_score([results])
    assert len(table.rows) == len(records)
    cell = results.cell("symmetric", 20)
    for name, model in (("pima", "forest"), ("yeast4", OURS)):
        values = [
            row[table.columns.index("f1")]
            for row in table.rows
            if (row[0], row[1], row[2], row[4]) == (name, "symmetric", 20, model)
        ]
        assert len(values) == 2
        means = {row[:4]: row for row in mean_scores([cell]).rows}
        found = means[name, "symmetric", 20, model]
        shown = found[mean_scores([cell]).columns.index("f1")]
        assert shown.mean == pytest.approx(np.mean(values))
        assert shown.deviation == pytest.approx(np.std(values, ddof=1))
    failed = [row for row in table.rows if row[5] == "failed"]
    assert [(row[0], row[4]) for row in failed] == [("yeast4", "lightgbm")]


# -- literal twins -------------------------------------------------------------------------


def twin(records, kind, level, metric):
    """Mean over seeds of every set and model, one loop inside the other."""
    values = {}
    for entry in records:
        job = entry["job"]
        if (job["kind"], job["level"]) == (kind, level):
            scores = entry["outcome"].get("metrics") or scores_of(entry)
            values.setdefault((job["dataset"], job["model"]), []).append(scores[metric])
    return {place: sum(found) / len(found) for place, found in values.items()}


def twin_rank(row, own):
    """1, and one for each that is better, and a half for each other that is equal."""
    better = sum(value > row[own] + 1e-9 for value in row)
    equal = sum(abs(value - row[own]) <= 1e-9 for value in row) - 1
    return 1 + better + equal / 2


@pytest.mark.parametrize("place", CELLS)
@pytest.mark.parametrize("metric", METRICS)
def test_means_and_ranks_are_those_of_a_literal_twin(records, results, place, metric):
    cell = results.cell(*place)
    values = twin(records, *place, metric)
    assert cell.models == (OURS, *PEERS)
    assert set(cell.datasets) == set(NAMES)
    rows = [[values[name, m] for m in cell.models] for name in cell.datasets]
    for j in range(len(cell.models)):
        assert cell.means(metric)[j] == pytest.approx(np.mean([row[j] for row in rows]))
        assert cell.ranks(metric)[j] == pytest.approx(np.mean([twin_rank(r, j) for r in rows]))


def test_ours_is_held_against_the_best_peer_of_each_cell(records, results):
    found = margins([results.cell(*place) for place in results.cells])
    assert len(found) == len(CELLS) * len(METRICS)
    for margin in found:
        values = twin(records, margin.kind, margin.level, margin.metric)
        mean = {m: np.mean([values[n, m] for n in NAMES]) for m in (OURS, *PEERS)}
        best = max(mean[m] for m in PEERS)
        assert margin.mean == pytest.approx(mean[OURS])
        assert margin.peer_mean == pytest.approx(best) == pytest.approx(mean[margin.peer])
        assert margin.difference == pytest.approx(mean[OURS] - best)
        assert margin.place == 1 + sum(mean[m] > mean[OURS] + 1e-9 for m in PEERS)
        assert (margin.place == 1) == (margin.difference > -1e-9)
    wide, places = margin_tables(found)
    assert [row[0] for row in wide.rows] == [
        "clean",
        "symmetric 20 %",
        "symmetric 40 %",
        "boundary 20 %",
    ]
    assert wide.rows[1][2] == str(found[6])
    assert places.rows[0][2] == f"{found[0].place} / {found[0].rank_place}"
    assert len(margin_details(found).rows) == len(found)


def test_a_margin_says_how_sure_it_is(records, results):
    cell = results.cell("symmetric", 20)
    for margin in margins([cell]):
        own, peer = cell.models.index(OURS), cell.models.index(margin.peer)
        gap = [row[own] - row[peer] for row in cell.values[margin.metric]]
        mean = sum(gap) / len(gap)
        variance = sum((g - mean) ** 2 for g in gap) / (len(gap) - 1)
        assert margin.error == pytest.approx((variance / len(gap)) ** 0.5)
        assert margin.n_below == sum(g < -0.05 for g in gap)
        within = abs(margin.difference) <= margin.error
        assert (margin.verdict == "level") == within
        assert margin.verdict in (["level"] if within else ["ahead" if mean > 0 else "behind"])
        assert f"{abs(mean):.3f} ± {margin.error:.3f} (" in str(margin)


def test_tuned_peers_are_beside_ours_where_they_ran_and_nowhere_else():
    tuned = ["tuned_svc", "cut_logistic"]
    found = make_records([OURS, "svc"]) + make_records(
        tuned, names=NAMES[:3], cells=CELLS[:2], seeds=(10,)
    )
    results = NoiseResults(found)
    assert results.two_classes().models == (OURS, "svc")
    part = results.tuned()
    assert set(part.models) == {OURS, "svc", *tuned}
    assert part.cells == tuple(CELLS[:2])
    cell = part.cell(*CELLS[1])
    assert set(cell.datasets) == set(NAMES[:3])
    assert cell.n_seeds == (1, 1, 1)
    assert {margin.peer for margin in margins([cell], is_tuned)} <= set(tuned)
    others = margins([cell], lambda model: not is_tuned(model))
    assert {margin.peer for margin in others} == {"svc"}
    assert all(margin.place <= 2 for margin in others)


def test_several_classes_are_apart():
    found = make_records()
    for entry in found:
        if entry["job"]["dataset"] == "glass0":
            entry["data"]["class_counts"] = [50, 30, 20]
    results = NoiseResults(found)
    assert set(results.two_classes().datasets) == set(NAMES) - {"glass0"}
    assert results.several_classes().datasets == ("glass0",)


def test_probabilities_are_compared_where_all_that_give_some_have_run(results):
    table = probability_table(results, "calibration_error")
    assert {row[0] for row in table.rows} == {MODELS[m].label for m in (OURS, "forest", "lightgbm")}
    assert table.rows[0][1:] == pytest.approx((0.1,) * 4)
    assert table.best_cells()
    assert probability_table(NoiseResults([]), "brier") is None


@given(
    missing=st.sets(st.integers(0, 39), max_size=30),
    failed=st.sets(st.integers(0, 39), max_size=10),
)
def test_means_are_over_what_all_models_have_run(missing, failed):
    whole = make_records(cells=CELLS[:1])  # 40 records
    for k in failed:
        job = whole[k]["job"]
        whole[k] = record(job["dataset"], "clean", 0, job["seed"], job["model"], None)
    kept = [entry for k, entry in enumerate(whole) if k not in missing]
    cell = NoiseResults(kept).cell("clean", 0)
    found = {}
    for entry in kept:
        job = entry["job"]
        found.setdefault((job["dataset"], job["seed"]), set()).add(job["model"])
    models = {entry["job"]["model"] for entry in kept}
    complete = {place for place, here in found.items() if here == models}
    assert set(cell.datasets) == {name for name, _ in complete}
    assert set(cell.left_out) == {name for name, _ in found} - set(cell.datasets)
    used = [e for e in kept if (e["job"]["dataset"], e["job"]["seed"]) in complete]
    for metric in ("f1", "average_precision"):
        values = twin(used, "clean", 0, metric)
        for i, name in enumerate(cell.datasets):
            for j, model in enumerate(cell.models):
                assert cell.values[metric][i, j] == pytest.approx(values[name, model])


# -- what counts ---------------------------------------------------------------------------


def test_a_failed_job_is_scored_as_chance_and_listed(results):
    (failure,) = results.failed
    assert failure["job"]["model"] == "lightgbm"
    cell = results.cell("clean", 0)
    i, j = cell.datasets.index("yeast4"), cell.models.index("lightgbm")
    job = failure["job"] | {"seed": 11}
    (second,) = [r["outcome"]["metrics"] for r in results.records if r["job"] == job]
    chance = {"accuracy": 0.8, "balanced_accuracy": 0.5, "g_mean": 0.0}
    chance |= {"f1": 0.0, "roc_auc": 0.5, "average_precision": 0.2}
    for metric, value in chance.items():
        assert cell.values[metric][i, j] == pytest.approx((value + second[metric]) / 2)


def test_one_revision_counts_and_the_last_run_says_which():
    low, high = (dict.fromkeys(METRICS, value) for value in (0.2, 0.8))
    found = [
        record("pima", "clean", 0, 10, OURS, low, revision="1"),
        record("pima", "clean", 0, 10, OURS, high, revision="2"),
    ]
    assert NoiseResults(found).cell("clean", 0).means("f1") == [0.8]
    assert NoiseResults(found, revisions={OURS: "1"}).cell("clean", 0).means("f1") == [0.2]
    assert NoiseResults(found, revisions={OURS: "3"}).cells == ()


def test_tables_of_several_classes_have_a_revision_of_their_own():
    low, high = (dict.fromkeys(METRICS, value) for value in (0.2, 0.8))
    found = [record("pima", "clean", 0, 10, OURS, low, revision="3")]
    for revision, scores in (("3", low), ("4", high)):
        several = record("vowel", "clean", 0, 10, OURS, scores, revision=revision)
        several["data"] = several["data"] | {"class_counts": [40, 40, 20]}
        found.append(several)
    asked = {OURS: "3", f"{OURS}/several classes": "4"}
    for results in (NoiseResults(found), NoiseResults(found, revisions=asked)):
        assert results.revisions == asked
        assert results.two_classes().cell("clean", 0).means("f1") == [0.2]
        assert results.several_classes().cell("clean", 0).means("f1") == [0.8]


def test_other_seeds_and_older_rows_of_a_set_do_not_count():
    low, high = (dict.fromkeys(METRICS, value) for value in (0.2, 0.8))
    found = [
        record("pima", "clean", 0, 10, "svc", low, digest="old"),
        record("pima", "clean", 0, 10, "svc", high, digest="new"),
        record("pima", "clean", 0, 99, "svc", low, digest="new"),
    ]
    assert NoiseResults(found, seeds=[10]).cell("clean", 0).means("f1") == [0.8]
    assert NoiseResults(found).seeds == (10, 99)


def test_sets_and_models_are_in_the_order_of_the_study(results):
    assert results.datasets == tuple(name for name in ORDER if name in NAMES)
    assert results.models == tuple(model for model in MODELS if model in (OURS, *PEERS))
    assert results.cells == tuple(CELLS)
    assert results.levels("symmetric") == (0, 20, 40)


# -- tables --------------------------------------------------------------------------------


def test_the_best_of_every_column_is_marked(results):
    table = cell_table(results.cell("symmetric", 20))
    values = np.array([row[1:] for row in table.rows]).round(3)
    bold = table.best_cells()
    for column in range(6):
        best = values[:, column].max()
        marked = {row for row, place in bold if place == column + 1}
        assert marked == set(np.flatnonzero(values[:, column] == best))
    ranks = np.array([row[7:] for row in table.rows]).round(2)
    for column in range(6):
        marked = {row for row, place in bold if place == column + 7}
        assert marked == set(np.flatnonzero(ranks[:, column] == ranks[:, column].min()))


def test_missing_cells_are_never_the_best():
    rows = (("a", None), ("b", 0.5), ("c", float("nan")))
    table = Table("t", "T", ("Model", "F1"), rows, column_best=(None, "max"))
    assert table.best_cells() == {(1, 1)}
    assert Table("t", "T", ("Model", "F1"), (), column_best=(None, "max")).best_cells() == set()


def test_times_are_compared_over_the_jobs_all_models_have_finished(results):
    table = time_table(results, TIME_REFERENCE)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows[MODELS[OURS].label][0] == pytest.approx(1.0)  # milliseconds
    assert rows[MODELS["lightgbm"].label][3] == 1.0
    assert rows[MODELS[OURS].label][3] == pytest.approx(1 / 4)
    assert "39 jobs" in table.caption  # one of 40 failed for one model
    assert time_table(NoiseResults([]), TIME_REFERENCE) is None


def test_without_the_reference_there_is_no_ratio():
    table = time_table(NoiseResults(make_records(["svc", "forest"])), TIME_REFERENCE)
    assert [row[4] for row in table.rows] == [None, None]


def judged(name, level, seed, model, scores):
    """A record of a peer that looks for wrong labels."""
    entry = record(name, "symmetric", level, seed, model, None)
    entry["status"] = "done"
    entry["outcome"]["detection"] = {
        score: {"average_precision": ap, "missed": 1 - ap} for score, ap in scores.items()
    }
    return entry


def test_wrong_labels_found_over_what_all_judges_have_seen():
    found = make_records([OURS, "svc"], cells=CELLS[:3])
    found += [
        judged(
            name,
            20,
            10,
            "cleanlab_forest",
            {"self_confidence": 0.3 + k / 10, "normalized_margin": 0.2},
        )
        for k, name in enumerate(NAMES[:3])
    ]
    found += [judged(name, 20, 10, "aum_softmax", {"area_under_margin": 0.1}) for name in NAMES[:3]]
    (one,) = [d for d in detections(NoiseResults(found)) if len(d.models) > 1]
    assert one.values["precision"].shape == (3, 4)
    lead, which = lead_over(one, ["cleanlab_forest"])
    gaps = [0.52 - 0.3, 0.52 - 0.4, 0.52 - 0.5]
    assert lead == f"+{np.mean(gaps):.3f} ± {np.std(gaps, ddof=1) / np.sqrt(3):.3f}"
    assert "self-confidence" in which
    assert lead_over(one, ["aum_softmax"]) == ("+0.420 ± 0.000", EVERY_MODEL["aum_softmax"].label)
    assert lead_over(one, ["aum_boosting"]) is None
    precision, missed, leads = detection_tables(detections(NoiseResults(found)))
    rows = {row[0]: row[1:] for row in precision.rows}
    assert rows[OUR_LABEL] == pytest.approx((0.52,))
    assert rows[EVERY_MODEL["aum_softmax"].label] == pytest.approx((0.1,))
    assert rows["(a random order)"] == pytest.approx((0.2,))
    assert {row[0]: row[1:] for row in missed.rows}[OUR_LABEL] == pytest.approx((0.4,))
    assert [row[:3] for row in leads.rows] == [
        ("symmetric 20 %", "all", "+0.120 ± 0.058"),
        ("symmetric 20 %", "cleanlab", "+0.120 ± 0.058"),
    ]
    assert detection_tables(detections(NoiseResults(make_records(PEERS)))) == []


def test_tests_name_whom_our_model_differs_from():
    names = SETS[:20]
    random = np.random.default_rng(0)
    found = []
    for name in names:
        for model, level in ((OURS, 0.9), ("svc", 0.89), ("forest", 0.5), ("rvfl", 0.3)):
            value = level + random.normal() * 0.03
            scores = dict.fromkeys(METRICS, value)
            found.append(record(name, "symmetric", 20, 10, model, scores))
    rows = significance_table([NoiseResults(found).cell("symmetric", 20)], OURS, OUR_LABEL).rows
    assert len(rows) == 6
    assert rows[0][2:4] == (20, 4)
    assert rows[0][6] < 1e-6
    # the critical difference of four models on twenty sets: 2.569 sqrt(4 * 5 / (6 * 20))
    assert rows[0][7] == pytest.approx(1.0488, abs=1e-4)
    assert rows[0][8] == f"{MODELS['forest'].label}; {MODELS['rvfl'].label}"
    assert rows[0][9] == "none"
    few = NoiseResults(found[:2]).cell("symmetric", 20)
    assert significance_table([few], OURS, OUR_LABEL).rows == ()


def test_every_score_and_every_set(results):
    cells = [results.cell(*place) for place in results.cells]
    assert len(mean_scores(cells).rows) == 4 * 5 * 4
    table = dataset_table(cells[1], "roc_auc")
    assert [row[0] for row in table.rows] == [*cells[1].datasets, "Mean", "Average rank"]
    fresh = cells[1].on(REPORTING)
    assert fresh.datasets == ("pima", "vowel0")
    kept = [cells[1].datasets.index(name) for name in fresh.datasets]
    np.testing.assert_array_equal(fresh.values["f1"], cells[1].values["f1"][kept])


# -- figures -------------------------------------------------------------------------------


def test_no_two_models_look_alike():
    order = list(MODELS)
    assert len({_looks(model, order) for model in order}) == len(MODELS)
    # the first eight are as they always were
    assert [_looks(model, order)[0] for model in order[:8]] == list(COLOURS)


def test_the_curves_have_a_panel_a_metric_and_a_line_a_model():
    values = {name: {m: [0.9, 0.7, float("nan")] for m in ("a", "b", "c")} for name in "xyzw"}
    figure = curve_panels([0, 20, 40], values, "level", emphasised="b")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == list("xyzw")
    for axes in shown:
        widths = [line.get_linewidth() for line in axes.lines]
        assert widths.index(max(widths)) == 1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "c"]


def test_ours_and_the_three_best_are_named_at_their_lines_and_the_rest_are_grey():
    lines = {m: [0.9 - k / 10, 0.8 - k / 10, 0.7 - k / 10] for k, m in enumerate("abcdef")}
    figure = named_curves([0, 20, 40], {"x": lines, "y": lines}, "level", own="f")
    for axes in [axes for axes in figure.axes if axes.get_visible()]:
        assert {text.get_text() for text in axes.texts} == {"a", "b", "c", "f"}
        widths = [line.get_linewidth() for line in axes.lines]
        (thick,) = [line for line in axes.lines if line.get_linewidth() == max(widths)]
        np.testing.assert_allclose(thick.get_ydata(), lines["f"])
        grey = [line for line in axes.lines if line.get_color() == "#8A8A8A"]
        assert len(grey) == 2
        heights = sorted(text.get_position()[1] for text in axes.texts)
        assert np.diff(heights).min() > 0.03


# -- the page ------------------------------------------------------------------------------


def write_study(folder, records, **run):
    with Store(folder, "robustness") as store:
        for entry in records:
            store.append(entry)
    run = {"command": "robell robustness <all>", "workers": 2, "unavailable": {}} | run
    (folder / "run.json").write_text(json.dumps(run))
    return write_report(STUDY, folder)[0]


@pytest.fixture(scope="module")
def report(records, tmp_path_factory):
    models = list(MODELS)
    more = make_records(models, NAMES, [*CELLS, ("asymmetric", 40)])
    more[3] = record("yeast4", "clean", 0, 10, models[3], None)
    more[4]["outcome"]["warnings"] = ["ConvergenceWarning: <script>alert(1)</script>"]
    unavailable = {"car-good": "car-good is not here"}
    summary = {"done": 5, "seconds": 2.0}
    folder = tmp_path_factory.mktemp("study")
    return write_study(folder, more, unavailable=unavailable, summary=summary)


def test_everything_is_also_there_as_files(report):
    folder = report.parent
    stems = ["margins", "places", "clean", "symmetric_20", "asymmetric_40", "boundary_20", "tests"]
    stems += ["reporting_margins", "reporting_symmetric_40", "fit_time", "found_precision"]
    stems += ["wide_margins", "calibration_error", "log_loss", "brier", "failed", "sets"]
    for stem in [*stems, "sets_roc_auc_clean", "sets_balanced_accuracy_symmetric_40"]:
        for suffix in ("csv", "tex", "md"):
            assert (folder / "tables" / f"{stem}.{suffix}").stat().st_size > 50, stem
    figures = ["curves_symmetric", "critical_difference_roc_auc_clean"]
    for kind in ("symmetric_20", "symmetric_40", "asymmetric_40", "boundary_20"):
        figures += [f"critical_difference_{m}_{kind}" for m in ("balanced_accuracy", "roc_auc")]
    for stem in figures:
        for suffix in ("png", "svg"):
            assert (folder / "figures" / f"{stem}.{suffix}").stat().st_size > 1000, stem
    with (folder / "tables" / "mean_scores.csv").open(newline="") as file:
        assert len(list(csv.reader(file))) == 1 + 5 * 5 * len(USUAL)


def test_the_tables_can_be_set_with_pdflatex(report, tmp_path):
    assert_tables_compile(report.parent / "tables", tmp_path)


def test_the_page_says_what_failed_and_what_is_missing(report):
    text = report.read_text(encoding="utf-8")
    assert "1 jobs failed" not in text
    assert "1 job failed and is scored as chance" in text
    assert "it &lt;b&gt;broke&lt;/b&gt;" in text
    assert "car-good is not here" in text
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert" not in text
    assert "robell robustness &lt;all&gt;" in text
    assert "lightgbm y" in text


def test_the_summary_can_be_pasted(report):
    text = (report.parent / "summary.md").read_text(encoding="utf-8")
    for title in (
        "less the best peer",
        "Place of",
        "reporting sets",
        "CPU milliseconds",
        "Friedman",
    ):
        assert title in text, title
    # five noises each of all tables, the wide ones and the reporting ones
    assert text.count("means and average ranks") == 15
    assert "Scored as a model that always predicts the largest class" in text
    assert "**" in text.split("Symmetric 40 %")[1].split("\n\n")[2]  # the best are marked


def test_no_word_of_the_page_depends_on_chance(tmp_path):
    few = make_records(cells=CELLS[:2])
    pages = [
        write_study(tmp_path / str(k), order)  # in which jobs finished
        for k, order in enumerate((few, few[::-1]))
    ]
    for name in ("index.html", "summary.md"):
        first, second = ((page.parent / name).read_text(encoding="utf-8") for page in pages)
        assert first == second


def test_unfinished_cells_are_said(tmp_path):
    found = make_records(cells=CELLS[:1])
    missing = [e for e in found if (e["job"]["dataset"], e["job"]["model"]) != ("pima", "svc")]
    text = write_study(tmp_path, missing).read_text(encoding="utf-8")
    assert "have not run on all sets yet. In 1 of 1 noises" in text
    assert "<code>pima</code>" in text


@pytest.mark.parametrize("models", [[OURS], ["svc"], ["svc", "forest"], [OURS, "svc"]])
def test_few_models_are_enough_for_a_report(tmp_path, models):
    path = write_study(tmp_path, make_records(models, NAMES[:1], CELLS[:2], [10]))
    assert path.stat().st_size > 10_000
    text = headline(NoiseResults(make_records(models, NAMES[:1], CELLS[:2], [10])))
    assert MODELS[models[0]].label in text
    assert "mean over 1 set (" in text


def test_clean_labels_alone_are_enough(tmp_path):
    found = make_records(cells=CELLS[:1])
    assert "clean" in headline(NoiseResults(found))
    assert write_study(tmp_path, found).exists()


@pytest.mark.skipif(find_chromium() is None, reason="needs Chromium (set CHROMIUM to its path)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_in_a_browser(report, width, scheme):
    with Browser(find_chromium()) as browser:
        browser.open(report, width=width, scheme=scheme)
        assert browser.run("document.documentElement.scrollWidth") <= width
        browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert browser.run("document.documentElement.scrollWidth") <= width
        cells = "document.querySelector('#clean table').tBodies[0].rows"
        for pressed, reverse in ((1, False), (2, True)):
            browser.click("#clean thead th:nth-child(3) button")
            order = browser.run(f"[...{cells}].map(r => parseFloat(r.cells[2].innerText))")
            assert order == sorted(order, reverse=reverse), pressed
        assert browser.messages == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
