"""``fit_table``: honest measures, thresholds kept, reasons that add up, and odd tables."""

import json
import re
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from robell import (
    NoiseRobustRVFLClassifier,
    RVFLClassifier,
    ThresholdClassifier,
    audit,
    fit_table,
)
from robell._tools.files import FileError
from robell.decisions.page import (
    as_json,
    cautions,
    costs_line,
    fit_page,
    in_rows,
    lines,
    write_report,
)
from robell.files import describe_drift, model_info
from robell.models._contributions import contributions, log_odds
from robell.tables import read
from robell.tables.read import read_table


@parametrize_with_checks(
    [
        ThresholdClassifier(),
        ThresholdClassifier(NoiseRobustRVFLClassifier(10, random_state=0), slope=0.7),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_scores_are_above_zero_just_where_the_second_class_is_predicted(positive):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    for inner in (RVFLClassifier(5, random_state=0), NoiseRobustRVFLClassifier(5, random_state=0)):
        model = ThresholdClassifier(inner, positive=positive).fit(X, y)
        P = model.predict_proba(X)[:, int(positive == "yes")]
        for threshold in (0.0, float(P[0]), float(P[1]), 0.5, float(P.max()), 1.0):
            model.threshold_ = threshold
            second = model.predict(X) == "yes"
            np.testing.assert_array_equal(model.decision_function(X) > 0, second)
            np.testing.assert_array_equal(second == (positive == "yes"), threshold <= P)


def frauds(n=900, seed=0, signal=1.5):
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.15
    return pd.DataFrame(
        {
            "case_id": np.arange(n),
            "amount": [f"{v:,.2f}" for v in np.exp(rng.normal(5 + signal * fraud))],
            "country": rng.choice(["DE", "FR", "NG", ""], n),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(50 - 8 * signal * fraud, 10)),
            "paid": rng.choice(["31.12.2024", "01.02.2025"], n),
            "fraud": np.where(fraud, "yes", "no"),
        }
    )


SMALL = NoiseRobustRVFLClassifier(15, random_state=0)


@pytest.fixture(scope="module")
def result():
    return fit_table(frauds(), "fraud", estimator=SMALL)


def test_what_is_promised_holds_for_new_rows(result):
    decision = result.assessment.decision
    new = frauds(6000, seed=1)
    p = result.model.predict_proba(new.drop(columns="fraud"))[:, 1]
    positive, flagged = (
        new["fraud"] == "yes",
        result.model.predict(new.drop(columns="fraud")) == "yes",
    )
    np.testing.assert_array_equal(flagged, p >= decision.threshold)
    assert decision.positive == "yes"
    assert decision.precision.low < positive[flagged].mean() < decision.precision.high + 0.05
    assert decision.recall.low - 0.05 < flagged[positive].mean() < decision.recall.high + 0.05
    assert abs(p.mean() - positive.mean()) < 0.04  # calibrated on the whole


def test_pure_noise_is_called_that():
    table = frauds(500, signal=0.0)
    found = fit_table(table, "fraud", estimator=SMALL)
    area = found.assessment.decision.roc_area
    assert area.low < 0.5 < area.high + 0.03
    with pytest.raises(ValueError, match=r"no threshold has a precision of 0\.99"):
        fit_table(table, "fraud", estimator=SMALL, precision=0.99)
    if area.low <= 0.5:
        assert any("better than chance" in text for text in cautions(found))


def test_columns_that_matter_are_named_first(result):
    names = [one.name for one in result.assessment.importances]
    assert set(names[:2]) == {"amount", "age"}
    assert "case_id" not in names
    assert result.encoder.notes_[0].kind == "left out"


def of_pairs(X):
    """Return a sum of terms of one column and of two."""
    return X[:, 0] ** 3 + np.exp(X[:, 1]) * X[:, 2] - np.abs(X[:, 3] - X[:, 4]) + X[:, 0] * X[:, 4]


def test_reasons_are_the_mean_over_all_orders_of_columns():
    """Shapley's sum itself, over every order of four columns, the slow way."""
    rng = np.random.default_rng(0)
    x, typical, groups = rng.normal(size=5), rng.normal(size=5), [[0], [1, 3], [2], [4]]
    expected, orders = np.zeros(4), list(permutations(range(4)))
    for order in orders:
        row = typical.copy()
        for j in order:
            before = of_pairs(row[None])[0]
            row[groups[j]] = x[groups[j]]
            expected[j] += (of_pairs(row[None])[0] - before) / len(orders)
    phi = contributions(of_pairs, x[None], typical, groups)[0]
    np.testing.assert_allclose(phi, expected, atol=1e-12)
    whole = of_pairs(x[None]) - of_pairs(typical[None])
    np.testing.assert_allclose(phi.sum(), whole[0], atol=1e-12)


def test_reasons_of_a_model_nearly_add_up(result):
    table = frauds(200, seed=2).drop(columns="fraud")
    encoder, model = result.model[0], result.model[1]
    X, groups = encoder.transform(table), list(encoder.groups_.values())
    score = log_odds(model, 1)
    phi = contributions(score, X, encoder.centre_, groups)
    whole = score(X) - score(encoder.centre_[None])[0]
    assert np.abs(phi.sum(axis=1) - whole).mean() < 0.25 * np.abs(whole).mean()
    assert np.corrcoef(phi.sum(axis=1), whole)[0, 1] > 0.95
    same = np.tile(encoder.centre_, (3, 1))
    np.testing.assert_allclose(contributions(score, same, encoder.centre_, groups), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("aim", "measure", "least", "most"),
    [
        ({"recall": 0.9}, "recall", 0.82, 1.0),
        ({"precision": 0.7}, "precision", 0.55, 1.0),
        ({"budget": 0.1}, "flagged", 0.07, 0.13),
    ],
)
def test_an_aim_is_met_on_rows_that_had_no_say(aim, measure, least, most):
    found = fit_table(frauds(), "fraud", estimator=SMALL, **aim).assessment.decision
    assert least <= getattr(found, measure).value <= most


def test_costs_set_the_threshold(result):
    dear = fit_table(frauds(), "fraud", estimator=SMALL, cost_fn=20, cost_fp=1)
    assert 0 < dear.assessment.decision.threshold < result.assessment.decision.threshold
    assert dear.assessment.decision.recall.value > result.assessment.decision.recall.value


def test_costs_are_said_in_money_for_a_thousand_rows():
    found = fit_table(frauds(), "fraud", estimator=SMALL, cost_fn=500, cost_fp=20)
    decision = found.assessment.decision
    costs, flagged, hits = decision.costs, decision.flagged.value, decision.found.value
    paid = 1000 * (500 * (decision.share - hits) + 20 * (flagged - hits))
    assert costs.chosen.value == pytest.approx(paid)
    assert costs.chosen.low <= costs.chosen.value <= costs.chosen.high
    positives = (frauds()["fraud"] == "yes").mean()
    assert costs.flag_none == pytest.approx(500_000 * positives)
    assert costs.flag_all == pytest.approx(20_000 * (1 - positives))
    said = costs_line(decision)
    for value in (costs.chosen.value, costs.flag_all, costs.flag_none):
        assert f"{value:,.0f}" in said
    assert said in lines(found)
    assert said.split("(")[0] in fit_page(found)
    assert fit_table(frauds(), "fraud", estimator=SMALL).assessment.decision.costs is None


def test_where_the_model_is_dearer_than_no_model_it_is_said():
    found = fit_table(frauds(500, signal=0.0), "fraud", estimator=SMALL, cost_fn=1, cost_fp=1)
    costs = found.assessment.decision.costs
    is_dearer = min(costs.flag_all, costs.flag_none) < costs.chosen.value
    assert ("cheaper than the model" in costs_line(found.assessment.decision)) == is_dearer


@pytest.mark.parametrize(
    "aim", [{"recall": 0.99}, {"cost_fn": 1000, "cost_fp": 1}, {"budget": 0.9}]
)
def test_what_was_asked_for_is_not_scolded(aim):
    found = fit_table(frauds(signal=0.5), "fraud", estimator=SMALL, **aim)
    assert found.assessment.decision.flagged.value > 0.5
    assert not any("alarms" in text for text in cautions(found))


def test_the_first_screen_needs_no_course(result):
    first = " ".join(lines(result))
    for word in ("average precision", "area", "ROC", "log-odds", "calibrat"):
        assert word not in first
    assert "of 100 are" in first
    page = fit_page(result)
    for name in ("average precision", "area under this curve"):  # explained, and further down
        assert name not in page.partition("Thresholds and probabilities</h2>")[0]
        assert name in page


def test_both_axes_of_every_curve_have_a_name(result):
    page = fit_page(result)
    for name in (
        "found of all positives (recall)",
        "right of all flagged (precision)",
        "negatives flagged (false alarms)",
        "mean probability of a group",
        "share of positives in the group",
        "fall of the average precision",
    ):
        assert f">{name}</text>" in page


def two_heaps(n, seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    table = pd.DataFrame(rng.normal(np.where(truth, 1.3, -1.3)[:, None], 1.0, (n, 3)))
    return table.rename(columns=str), truth


def test_probable_labels_count_where_asked():
    table, truth = two_heaps(1200, 0)
    flipped = np.random.default_rng(0).random(len(table)) < 0.2
    noisy = table.assign(kind=np.where(flipped ^ truth, "yes", "no"))
    given = fit_table(noisy, "kind", positive="yes", estimator=SMALL)
    assert any("labels look wrong" in text for text in cautions(given))
    corrected = fit_table(noisy, "kind", positive="yes", estimator=SMALL, labels="corrected")
    new, truth = two_heaps(3000, 1)
    errors = [
        np.mean((found.model.predict_proba(new)[:, 1] - truth) ** 2) for found in (corrected, given)
    ]
    assert errors[0] < 0.7 * errors[1]
    assert corrected.corrected
    assert given.suspects > 100
    measured = corrected.assessment.decision
    assert measured.precision.value > given.assessment.decision.precision.value + 0.1


def test_other_models_are_calibrated_and_thresholded_too():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), RVFLClassifier(20, random_state=0))
    found = fit_table(frauds(), "fraud", estimator=model)
    assert found.assessment.decision.roc_area.value > 0.8
    assert found.assessment.decision.calibration_error < 0.08
    assert lines(found)[0].startswith("Fitted to 900 rows, 4 columns")
    assert lines(found)[0].endswith("model: RVFLClassifier")


def test_several_classes(tmp_path):
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 600)
    table = pd.DataFrame(
        {"a": rng.normal(k), "b": rng.normal(-k), "kind": np.array(list("xyz"))[k]}
    )
    found = fit_table(table, "kind", estimator=SMALL)
    assert found.assessment.decision is None
    assert [one.name for one in found.assessment.scores] == ["x", "y", "z"]
    assert np.sum(found.assessment.confusion) == 600
    assert "predicted right" in in_rows(found)
    assert "</html>" in fit_page(found)
    found.save(tmp_path / "m.skops")
    assert model_info(tmp_path / "m.skops")["threshold"] is None
    assert "Predicts the likeliest class." in (tmp_path / "m-card.md").read_text()
    with pytest.raises(ValueError, match="a threshold is for two classes"):
        fit_table(table, "kind", estimator=SMALL, recall=0.9)


def test_page_and_json_say_the_same(result, tmp_path):
    write_report(result, tmp_path / "a.html", tmp_path / "a.json", command="robell fit <x>")
    page = (tmp_path / "a.html").read_text()
    found = json.loads((tmp_path / "a.json").read_text())
    assert found == json.loads(json.dumps(as_json(result, "robell fit <x>")))
    assert found["in_rows"].split("&")[0].split("'")[0] in page.replace("&#x27;", "'")
    assert "robell fit &lt;x&gt;" in page
    for name in ("Precision and recall", "ROC curve", "Calibration", "Columns that matter"):
        assert f">{name}</title>" in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fraud": np.arange(900) % 5}, "holds 5 different numbers"),
        ({"fraud": np.arange(900) / 7}, "looks continuous"),
        ({"fraud": "yes"}, "is constant"),
        ({"fraud": None}, "holds no label"),
    ],
)
def test_targets_that_are_no_two_classes(change, message):
    with pytest.raises(ValueError, match=message):
        fit_table(frauds().assign(**change), "fraud", estimator=SMALL)


def test_numbers_are_classes_where_that_is_said():
    found = fit_table(
        frauds().assign(fraud=np.arange(900) % 3), "fraud", estimator=SMALL, classes=True
    )
    assert found.classes.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "names", [("10+", "9"), ("0,5", "2"), ("10.5", "9.5"), ("0,5", "1,5", "2"), ("10", "9", "none")]
)
def test_how_labels_are_spelt_changes_no_number(names):
    # Sorted as numbers, these would stand in another order than the classifier has them.
    rng = np.random.default_rng(3)
    y = rng.choice(len(names), 400, p=[0.7, *[0.3 / (len(names) - 1)] * (len(names) - 1)])
    table = pd.DataFrame({"a": rng.normal(2.0 * y), "b": rng.normal(size=400)})
    plain, spelt = (
        fit_table(
            table.assign(y=np.array(list(labels), object)[y]), "y", estimator=SMALL, classes=True
        )
        for labels in ("klm"[: len(names)], names)
    )
    assert spelt.class_sizes == plain.class_sizes == tuple(np.bincount(y))
    assert spelt.classes.tolist() == list(names)
    assert (spelt.suspects, spelt.trust) == (plain.suspects, plain.trust)
    assert spelt.assessment.confusion == plain.assessment.confusion
    np.testing.assert_array_equal(spelt.noise_matrix, plain.noise_matrix)
    np.testing.assert_allclose(
        spelt.model.predict_proba(table), plain.model.predict_proba(table), rtol=0, atol=1e-12
    )
    meant = dict(zip("klm", names, strict=False))
    said = [meant[label] for label in plain.model.predict(table).tolist()]
    assert spelt.model.predict(table).tolist() == said


def test_numbers_that_an_audit_takes_as_measured_are_no_classes_for_a_fit():
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, 600).astype(str).astype(object)
    age[::75] = "n.s."
    table = pd.DataFrame({"a": rng.normal(size=600), "age": age})
    assert audit(table, "age")._kind == "numbers"
    with pytest.raises(FileError, match="if they are classes, say so"):
        fit_table(table, "age", estimator=SMALL)


def test_odd_columns_and_labels():
    table = frauds().assign(
        lists=[[k] for k in range(900)],
        nothing=np.nan,
        levels=[f"level {k}" for k in np.random.default_rng(0).integers(0, 10_000, 900)],
        when=pd.date_range("2024-01-01", periods=900, freq="h", tz="Europe/Berlin"),
        verdict=frauds()["fraud"],
    )
    table.loc[:40, "fraud"] = table["fraud"][:41].str.upper()
    found = fit_table(table, "fraud", estimator=SMALL)
    assert found.classes.tolist() == ["no", "yes"]
    assert any("taken as" in note for note in found.notes)
    left_out = {note.name for note in found.encoder.notes_ if note.kind == "left out"}
    assert {"case_id", "lists", "nothing", "verdict"} <= left_out


def test_a_table_larger_than_the_sample_is_read_again(tmp_path, monkeypatch):
    frauds(700).to_csv(tmp_path / "a.csv", index=False)
    frauds(500, seed=1).to_csv(tmp_path / "b.csv", index=False)
    whole = fit_table([tmp_path / "a.csv", tmp_path / "b.csv"], "fraud", estimator=SMALL)
    assert (whole.n_rows, whole.n_fitted) == (1200, 1200)
    monkeypatch.setattr("robell.decisions.data.MAX_ROWS", 400)
    again = fit_table([tmp_path / "a.csv", tmp_path / "b.csv"], "fraud", estimator=SMALL)
    assert (again.n_rows, again.n_fitted) == (1200, 1200)
    assert any("random sample of 400" in note for note in again.notes)
    small = fit_table(tmp_path / "a.csv", "fraud", estimator=SMALL, memory=8 * 7 * 8 * 500)
    assert small.n_fitted < 700
    assert any("need more memory" in note for note in small.notes)


def test_a_frame_larger_than_is_read_at_once_is_fitted_whole_as_its_file_is(tmp_path, monkeypatch):
    """A frame of more than ten million cells raised an error that named no mistake of the user."""
    monkeypatch.setattr("robell.tables.read.MAX_CELLS", 6_000)
    rows = frauds(1_500)
    rows.index = np.random.default_rng(0).permutation(len(rows)) * 1.5  # looked up by place alone
    rows.to_csv(tmp_path / "t.csv", index=False)
    framed, filed = (fit_table(t, "fraud", estimator=SMALL) for t in (rows, tmp_path / "t.csv"))
    assert framed.n_fitted == filed.n_fitted == 1_500
    assert any("learnt from a random sample of" in note for note in framed.notes)
    np.testing.assert_array_equal(framed.training.X, filed.training.X)
    np.testing.assert_array_equal(framed.training.codes, filed.training.codes)


def test_the_class_looked_for_may_be_spelt_as_its_rows_are():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pd.DataFrame({"x": x, "y": (x > 0.3).astype(float)})

    def positive(y, name, **how):
        found = fit_table(table.assign(y=y), "y", positive=name, estimator=SMALL, **how)
        return found.assessment.decision.positive

    assert positive(table["y"], 1.0) == positive(table["y"], "1.00") == "1"
    words = np.where(x > 0.3, "Yes", "no").astype(object)
    words[x > 1.5] = "yes"
    assert positive(words, "yes") == positive(words, " YES ") == "Yes"
    kept = np.where(x > 0.3, "yes", "Yes")
    assert positive(kept, "yes", keep_spelling=True) == "yes"
    with pytest.raises(ValueError, match="there is no class 'YES'; there are 'Yes' and 'yes'"):
        positive(kept, "YES", keep_spelling=True)
    with pytest.raises(TypeError, match="columns are named by texts: give '0' instead of 0"):
        fit_table(table, 0)


@pytest.mark.parametrize("how", [{"cost_fn": 50, "cost_fp": 4}, {"recall": 0.7}, {"budget": 0.2}])
def test_the_classes_and_the_decision_tell_the_same_precision_and_recall(how):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = np.where(x[:, 0] + 0.7 * rng.normal(size=300) > 0.6, "10+", "9")
    table = pd.DataFrame(x, columns=list("abc")).assign(y=y)
    found = fit_table(table, "y", positive="10+", estimator=SMALL, **how).assessment
    decision, (of_class, other) = found.decision, found.scores
    assert (of_class.name, other.name) == ("10+", "9")
    assert of_class.recall == pytest.approx(decision.recall.value)
    assert of_class.precision == pytest.approx(decision.precision.value)
    (right, missed), (alarms, passed) = found.confusion
    assert (right + alarms) / 300 == pytest.approx(decision.flagged.value)
    assert right / 300 == pytest.approx(decision.found.value)
    assert found.accuracy.value == pytest.approx((right + passed) / 300)
    if decision.costs is not None:
        cost = 1000 * (50 * missed + 4 * alarms) / 300
        assert decision.costs.chosen.value == pytest.approx(cost)


def test_no_interval_of_a_share_ends_above_one():
    x = np.random.default_rng(0).normal(size=(200, 3)).round(2)
    table = pd.DataFrame(x, columns=list("abc")).assign(y=np.where(x[:, 0] > 0, "a", "b"))
    decision = fit_table(table, "y", precision=1.0).assessment.decision
    assert decision.precision.high == 1.0


@pytest.mark.parametrize("keep_spelling", [False, True])
def test_labels_that_the_sample_has_not_seen_spelt_so_are_fitted(
    tmp_path, monkeypatch, keep_spelling
):
    table = frauds(1200)
    odd = {
        "yes": ["Yes", "YES", "yEs", "yeS", "y es", "ye s", "Y es", "YE s"],
        "no": ["No", "NO", "nO", "n o", "N o", "n O", "N O", "n  o"],
    }
    rare = np.random.default_rng(0).choice(1200, 40, replace=False)
    labels = table["fraud"].to_numpy(object).copy()
    for k, place in enumerate(rare[:24]):
        labels[place] = odd[labels[place]][k % 8]
    labels[rare[24:36]] = ""
    labels[rare[36:]] = "other"
    table.assign(fraud=labels).to_csv(tmp_path / "a.csv", index=False)
    how = {"estimator": SMALL, "keep_spelling": keep_spelling}
    whole = fit_table(tmp_path / "a.csv", "fraud", **how)
    monkeypatch.setattr("robell.decisions.data.MAX_ROWS", 200)
    again = fit_table(tmp_path / "a.csv", "fraud", **how)
    assert again.class_sizes == whole.class_sizes
    assert again.n_fitted == (1160 if keep_spelling else 1184)
    assert "12 rows without a label left out" in again.notes
    assert any("'other' (4)" in note for note in again.notes)
    assert any("'Yes'" in note for note in again.notes) or not keep_spelling


def test_a_label_of_a_number_is_known_however_it_is_spelt(tmp_path, monkeypatch):
    table = frauds(600)
    labels = np.where(table["fraud"] == "yes", "1", "0").astype(object)
    labels[np.flatnonzero(labels == "1")[:3]] = "1.00"
    table.assign(fraud=labels).to_csv(tmp_path / "a.csv", index=False)
    sizes = fit_table(tmp_path / "a.csv", "fraud", estimator=SMALL).class_sizes
    monkeypatch.setattr("robell.decisions.data.MAX_ROWS", 60)
    again = fit_table(tmp_path / "a.csv", "fraud", estimator=SMALL)
    assert again.class_sizes == sizes
    assert again.classes.tolist() == [0, 1]


def test_whole_labels_are_predicted_as_whole_numbers_from_a_file_and_from_a_frame(tmp_path):
    x = np.random.default_rng(0).normal(size=120)
    frame = pd.DataFrame({"x": x, "y": np.where(x > 0, 2.0, 1.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, frame.astype({"y": str}), tmp_path / "t.csv"):
        found = fit_table(source, "y", positive="1.0")
        assert found.classes.tolist() == [1, 2]
        assert found.classes.dtype.kind == "i"
        assert found.assessment.decision.positive == "1"
        assert (found.model.predict(frame[["x"]]) == frame["y"]).mean() > 0.9
    halves = fit_table(frame.assign(y=frame["y"] / 4), "y")  # are no whole numbers
    assert halves.classes.tolist() == ["0.25", "0.5"]


@pytest.mark.parametrize("huge", [[1e308, -1e308], [1e308, 1.7e308], [1.7e308, 1.0, 2.0]])
def test_numbers_near_the_largest_are_fitted_saved_and_told_from_others(tmp_path, huge):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.resize(huge, 120), "z": rng.normal(size=120)})
    frame["y"] = np.where(rng.random(120) < 0.4, "p", "q")
    result = fit_table(frame, "y", estimator=RVFLClassifier(n_hidden=5, random_state=0))
    result.save(tmp_path / "m.skops")
    info = model_info(tmp_path / "m.skops")
    assert info["columns"][0]["size"] == np.median(np.abs(frame["x"]) / 4) * 4
    assert describe_drift(info, frame.drop(columns="y")).lines == []


def test_a_column_that_matters_by_nothing_is_no_negative_zero(result):
    none = replace(result.assessment.importances[-1], name="nothing", drop=-1e-5)
    found = replace(result.assessment, importances=(result.assessment.importances[0], none))
    page = fit_page(replace(result, assessment=found))
    assert "nothing: 0.000" in page
    assert not re.search(r"[-\u2212]0\.0+\b", page.partition("</style>")[2])


@pytest.mark.parametrize(
    "names", [[" a", "b ", "c"], [0, 1, 2], [1.5, "b", ""], [("u", 1), 2, "c"]]
)
def test_a_model_takes_the_frame_it_was_fitted_to_whatever_its_columns_are_called(tmp_path, names):
    X = np.random.default_rng(0).normal(size=(120, 3))
    frame = pd.DataFrame(X, columns=pd.Index(names, tupleize_cols=False))
    result = fit_table(frame.assign(kind=np.where(X[:, 0] > 0, "p", "q")), "kind", estimator=SMALL)
    expected = result.model[1].predict_proba(result.training.X)
    np.testing.assert_array_equal(result.model.predict_proba(frame), expected)
    result.save(tmp_path / "m.skops")
    assert describe_drift(model_info(tmp_path / "m.skops"), frame).lines == []
    frame.to_csv(tmp_path / "t.csv", index=False)
    file = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(
        result.encoder._transform_columns(file.columns), result.training.X
    )
    with pytest.raises(ValueError, match="names"):
        result.model.predict(frame[names[::-1]])


def test_a_frame_of_many_cells_is_fitted_whole_as_far_as_memory_allows(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "MAX_CELLS", 4_000)  # a file of so many cells is sampled
    X = np.random.default_rng(0).normal(size=(1_500, 4)).round(2)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=np.where(X[:, 0] > 0, "p", "q"))
    whole = fit_table(frame, "y", estimator=SMALL)
    assert (whole.n_rows, whole.n_fitted) == (1_500, 1_500)
    assert not any("memory" in note for note in whole.notes)
    monkeypatch.undo()
    whole = fit_table(frame, "y", estimator=SMALL)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, tmp_path / "t.csv"):
        part = fit_table(source, "y", estimator=SMALL, memory=8 * 7 * 4 * 600)
        assert part.n_fitted == 600
        assert "1,500 rows need more memory than was given: a random sample of 600 was fitted" in (
            part.notes
        )
        assert {tuple(row) for row in part.training.X} < {tuple(row) for row in whole.training.X}
