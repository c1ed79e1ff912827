"""Displays draw the numbers they hold, in the manner of scikit-learn's."""

import inspect
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils import check_random_state

from robell import (
    NoiseRobustClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    find_label_issues,
    plots,
)
from robell.comparison.statistics import nemenyi
from robell.models._validation import draw_seed
from robell.noise import flip_labels, flip_uniformly

pyplot = pytest.importorskip("matplotlib.pyplot")
ISSUES = [
    plots.LabelQualityDisplay,
    plots.NoiseMatrixDisplay,
    plots.SuspectMapDisplay,
    plots.BudgetCurveDisplay,
]


@pytest.fixture(autouse=True)
def closed():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def table():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200], np.array(["malignant", "benign"])[y[:200]]
    noisy, wrong = flip_labels(y, 0.1, random_state=0)
    return X, noisy, wrong


@pytest.fixture(scope="module")
def issues(table):
    return find_label_issues(*table[:2], random_state=0)


@pytest.fixture(scope="module")
def model(table):
    return NoiseRobustRVFLClassifier(random_state=0).fit(*table[:2])


def test_quality_bars_are_square_roots_of_the_rows_of_each_bin(table, issues):
    _, y, _ = table
    display = plots.LabelQualityDisplay.from_issues(issues, y)
    suspect = np.isin(np.arange(len(y)), issues.index)
    bins = np.minimum((issues.sample_quality * 20).astype(int), 19)
    assert display.counts_.shape == (2, 2, 20)
    for k, c in enumerate(np.unique(y)):
        for s in (False, True):
            by_hand = np.bincount(bins[(y == c) & (suspect == s)], minlength=20)
            assert display.counts_[k, int(s)].tolist() == by_hand.tolist()
        alarm, calm = display.ax_.containers[2 * k : 2 * k + 2]
        total = display.counts_[k].sum(axis=0)
        tops = [a.get_height() + c.get_height() for a, c in zip(alarm, calm, strict=True)]
        assert tops == pytest.approx(0.8 * np.sqrt(total / total.max()))
        assert [a.get_y() for a in alarm] == [1.0 - k] * 20
        assert display.ax_.texts[k].get_text() == f"tallest bar: {total.max()} rows"


def test_a_fitted_robust_model_is_drawn_by_its_own_judgement(table, model):
    X, y, _ = table
    display = plots.LabelQualityDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.quality, model.sample_quality_)
    assert display.suspect.sum() == model.n_suspects_
    matrix = plots.NoiseMatrixDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(matrix.noise_matrix, model.noise_matrix_)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plots.LabelQualityDisplay.from_estimator(model, X[:50], y[:50])


def test_another_classifier_is_judged_on_folds(table):
    X, y, _ = table
    other = make_pipeline(StandardScaler(), LogisticRegression())
    display = plots.NoiseMatrixDisplay.from_estimator(other, X, y, random_state=0)
    folded = find_label_issues(X, y, estimator=other, random_state=0)
    np.testing.assert_array_equal(display.noise_matrix, folded.noise_matrix)


@pytest.mark.parametrize("kind", ISSUES)
def test_probabilities_and_the_list_made_of_them_give_one_picture(kind, table):
    X, y, _ = table
    P = cross_val_predict(LogisticRegression(), scale(X), y, method="predict_proba")
    axes = pyplot.figure().subplots()
    display = kind.from_predictions(y, P, X=X, ax=axes)
    assert display.ax_ is axes
    assert display.figure_ is axes.figure
    listed = kind.from_issues(find_label_issues(y=y, pred_proba=P), y, X=X)
    for name, value in vars(listed).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(display, name))


def test_cells_of_the_noise_matrix_stand_at_their_row_and_column():
    N = np.array([[0.9, 0.1, 0.0], [0.25, 0.7, 0.05], [0.0, 0.0, 1.0]])
    display = plots.NoiseMatrixDisplay(N, ["a", "b", "c"]).plot()
    np.testing.assert_array_equal(np.asarray(display.mesh_.get_array()).reshape(3, 3), N)
    shown = {text.get_position(): text.get_text() for text in display.ax_.texts}
    assert shown[(1.5, 0.5)] == "10%"
    assert shown[(0.5, 1.5)] == "25%"
    assert display.ax_.yaxis_inverted()
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["a", "b", "c"]


def test_the_map_crosses_suspect_rows_where_they_stand(table, issues):
    X, y, _ = table
    display = plots.SuspectMapDisplay.from_issues(issues, y, X=X)
    crosses = display.ax_.collections[-1]
    np.testing.assert_array_equal(crosses.get_offsets(), display.plane[np.sort(issues.index)])
    dots = sum(len(part.get_offsets()) for part in display.ax_.collections[:-1])
    assert dots == len(y) - len(issues)
    # the plane is that of the largest variance of the clipped columns
    values = np.linalg.svd(np.clip(scale(X), -3, 3) - np.clip(scale(X), -3, 3).mean(0))[1]
    np.testing.assert_allclose(np.linalg.norm(display.plane, axis=0), values[:2], rtol=1e-9)
    with pytest.raises(ValueError, match="needs the rows X"):
        plots.SuspectMapDisplay.from_issues(issues, y)


def test_the_budget_curve_counts_the_list_from_its_top(table, issues):
    _, y, wrong = table
    display = plots.BudgetCurveDisplay.from_issues(issues, y, is_wrong=wrong)
    expected, known, suspects = display.ax_.lines
    for k in (1, 5, len(issues)):
        assert known.get_ydata()[k - 1] == pytest.approx(wrong[issues.index[:k]].mean())
        assert expected.get_ydata()[k - 1] == pytest.approx(1 - issues.quality[:k].mean())
    assert known.get_ydata()[-1] == pytest.approx(wrong.mean())
    assert suspects.get_xdata()[0] == len(issues)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plots.BudgetCurveDisplay.from_issues(issues, y, is_wrong=wrong[:-1])


def test_memberships_are_the_colours_of_their_rows(table):
    X, y, _ = table
    model = make_pipeline(StandardScaler(), RoBellRVFLClassifier(kernel_width="scale")).fit(X, y)
    display = plots.MembershipDisplay.from_estimator(model, X, y, columns=(3, 1))
    for part, c in zip(display.ax_.collections, np.unique(y), strict=True):
        np.testing.assert_array_equal(part.get_array(), model[-1].membership_[y == c])
        np.testing.assert_array_equal(part.get_offsets(), X[y == c][:, [3, 1]])
    assert display.ax_.get_xlabel() == "column 3"
    assert display.colorbar_.vmax == pytest.approx(model[-1].membership_.max())
    with pytest.raises(ValueError, match="LogisticRegression has no membership_"):
        plots.MembershipDisplay.from_estimator(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="two columns are drawn; got 3"):
        plots.MembershipDisplay.from_estimator(model, X, y, columns=(0, 1, 2))
    for rows, columns in [(X[:, :1], (0, 1)), (X, (0, 99)), (X, ("a", 0))]:
        with pytest.raises(ValueError, match=r"columns .* of X cannot be drawn: ") as caught:
            plots.MembershipDisplay.from_predictions(rows, y, np.ones(len(y)), columns=columns)
        assert "\n" not in str(caught.value)


def test_the_noise_curve_is_that_of_fits_by_hand(table):
    X, y, _ = table
    display = plots.NoiseCurveDisplay.from_estimator(
        RidgeClassifier(), X, y, noise=[0.0, 0.2], n_splits=2, random_state=3
    )
    rng = check_random_state(3)
    splits = StratifiedShuffleSplit(2, test_size=0.3, random_state=rng)
    by_hand = np.empty((2, 2))
    for place, (train, test) in enumerate(splits.split(y, y)):
        seed = rng.randint(1 << 31)
        for level, share in enumerate([0.0, 0.2]):
            wrong = flip_uniformly(y[train], share, random_state=seed)[0]
            predicted = RidgeClassifier().fit(X[train], wrong).predict(X[test])
            by_hand[level, place] = balanced_accuracy_score(y[test], predicted)
    np.testing.assert_array_equal(display.scores["RidgeClassifier"], by_hand)
    line = display.lines_["RidgeClassifier"]
    assert list(line.get_xdata()) == [0.0, 20.0]
    np.testing.assert_allclose(line.get_ydata(), by_hand.mean(axis=1))
    band = display.ax_.collections[0].get_paths()[0].vertices
    error = by_hand[1].std(ddof=1) / np.sqrt(2)
    assert band[:, 1].min() == pytest.approx(by_hand[1].mean() - error)
    turned = plots.NoiseCurveDisplay(
        [0.2, 0.0], display.scores | {"RidgeClassifier": by_hand[::-1]}
    )
    line = turned.plot().lines_["RidgeClassifier"]
    assert list(line.get_xdata()) == [0.0, 20.0]
    np.testing.assert_allclose(line.get_ydata(), by_hand.mean(axis=1))
    with pytest.raises(ValueError, match="a row for each of 2 levels"):
        plots.NoiseCurveDisplay([0.0, 0.1], {"a": [[1.0]]})


def test_the_diagram_is_that_of_nemenyis_test():
    scores = np.random.default_rng(0).normal(size=(12, 4)) + np.arange(4)
    display = plots.CriticalDifferenceDisplay.from_scores(scores, names="abcd")
    test = nemenyi(scores)
    np.testing.assert_array_equal(display.average_ranks, test.average_ranks)
    written = " ".join(text.get_text() for text in display.ax_.texts)
    assert f"critical difference {test.critical_difference:.2f}" in written
    assert all(f"{rank:.2f}" in written for rank in test.average_ranks)
    losses = plots.CriticalDifferenceDisplay.from_scores(-scores, higher_is_better=False)
    np.testing.assert_array_equal(losses.average_ranks, test.average_ranks)
    assert losses.names == ["model 1", "model 2", "model 3", "model 4"]
    with pytest.raises(ValueError, match="4 models need as many names; got 2"):
        plots.CriticalDifferenceDisplay.from_scores(scores, names="ab")
    scores[:, 1] = scores[:, 0] * (1 + 1e-13)  # equal, but for rounding, in any unit
    for unit in (1.0, 1e-12):
        display = plots.CriticalDifferenceDisplay.from_scores(unit * scores)
        assert display.average_ranks[0] == display.average_ranks[1]


def test_the_budget_curve_of_one_row():
    display = plots.BudgetCurveDisplay(np.array([0.3]), 1, np.array([True])).plot()
    assert display.precision_.tolist() == [1.0]
    assert display.ax_.get_xlim() == (1, 2)


def test_rows_of_one_probability_are_one_point_of_the_calibration_curve_in_any_order():
    y = np.repeat([0, 1], [70, 30])
    p = np.where(np.arange(100) % 2, 0.2, 0.4)
    for order in (np.arange(100), np.random.default_rng(0).permutation(100)):
        display = plots.LeftOutCalibrationDisplay.from_predictions(y[order], p[order])
        assert display.predicted_ == pytest.approx([0.2, 0.4])
        assert display.observed_ == pytest.approx([0.3, 0.3])


def test_the_calibration_curve_is_the_frequency_in_each_bin():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = (rng.random(500) < p).astype(int)
    P = np.column_stack([1 - p, p])
    display = plots.LeftOutCalibrationDisplay.from_predictions(y, P, n_bins=5)
    order = np.argsort(p)
    for k in range(5):
        rows = order[100 * k : 100 * (k + 1)]
        assert display.predicted_[k] == pytest.approx(p[rows].mean())
        assert display.observed_[k] == pytest.approx(y[rows].mean())
    (bars,) = display.ax_.containers
    heights = np.array([bar.get_height() for bar in bars])
    np.testing.assert_allclose(heights / heights.sum(), np.histogram(p, 20, (0, 1))[0] / 500)
    other = plots.LeftOutCalibrationDisplay.from_predictions(y, P, pos_label=0, n_bins=5)
    np.testing.assert_allclose(other.observed_[::-1], 1 - display.observed_)
    with pytest.raises(ValueError, match="no class is called 7"):
        plots.LeftOutCalibrationDisplay.from_predictions(y, P, pos_label=7)
    of_second = plots.LeftOutCalibrationDisplay.from_predictions(y, P[:, 1], n_bins=5)
    np.testing.assert_array_equal(of_second.predicted_, display.predicted_)
    with pytest.raises(ValueError, match="n_bins must be at least 1; got 0"):
        plots.LeftOutCalibrationDisplay.from_predictions(y, P, n_bins=0)
    with pytest.raises(ValueError, match="2 classes need as many columns; got 1"):
        plots.LeftOutCalibrationDisplay.from_predictions(y, P[:, :1])
    for given, message in (
        (3 * P, "every row of pred_proba must add up to 1; row 0 adds up to 3"),
        (2 * P[:, 1], "pred_proba must hold finite numbers, none negative"),
        (np.where(P > 0.9, np.nan, P), "pred_proba must hold finite numbers, none negative"),
    ):
        with pytest.raises(ValueError, match=message):
            plots.LeftOutCalibrationDisplay.from_predictions(y, given)
    with pytest.raises(ValueError, match="classes must hold every label; it lacks 1"):
        plots.LeftOutCalibrationDisplay.from_predictions(y, P, classes=[0, 2])
    with pytest.raises(ValueError, match=r"y has no label in row 0 \(nan\)"):
        plots.LeftOutCalibrationDisplay.from_predictions(np.r_[np.nan, y[1:]], P)
    with pytest.raises(ValueError, match="must have 1 rows and a column for each of the 1") as one:
        plots.LeftOutCalibrationDisplay.from_predictions(y[:1], P[:1, 1])
    assert "\n" not in str(one.value)


@pytest.mark.parametrize("display", ISSUES)
def test_a_robust_classifier_is_drawn_by_its_own_judgement(table, display):
    X, y, _ = table
    judge = NoiseRobustRVFLClassifier(random_state=draw_seed(0)).fit(X, y)
    wrapped = NoiseRobustClassifier(LogisticRegression(max_iter=5000), random_state=0)
    model = make_pipeline(StandardScaler(with_mean=False, with_std=False), wrapped).fit(X, y)
    found, expected = (display.from_estimator(each, X, y) for each in (model, judge))
    for name, value in vars(expected).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(vars(found)[name], value)
    swapped = np.where(y == "benign", "malignant", "benign")
    for each in (model, judge):
        with pytest.raises(ValueError, match=r"y is not what .* was fitted to: row 0 had another"):
            display.from_estimator(each, X, swapped)
    weight = np.r_[0.0, np.ones(len(y) - 1)]
    strange = np.array(["unknown", *y[1:]])
    judge = NoiseRobustRVFLClassifier(random_state=0).fit(X, strange, sample_weight=weight)
    assert display.from_estimator(judge, X, strange).figure_ is not None


def test_what_cannot_be_drawn_is_refused_in_one_line(table, issues):
    X, y, wrong = table
    for given in (np.where(wrong, np.nan, 0.0), np.arange(len(y))):
        with pytest.raises(ValueError, match="is_wrong must be True or False in every row"):
            plots.BudgetCurveDisplay.from_issues(issues, y, is_wrong=given)
    trusted = np.linspace(0, 1, len(y))
    listed = plots.MembershipDisplay.from_predictions(X.tolist(), y.tolist(), trusted.tolist())
    np.testing.assert_array_equal(listed.points, X[:, :2])
    with pytest.raises(ValueError, match="membership must be a finite number in every row"):
        plots.MembershipDisplay.from_predictions(X, y, np.where(wrong, np.nan, trusted))
    single = plots.NoiseCurveDisplay.from_estimator(
        RidgeClassifier(), X, y, noise=0.2, n_splits=2, random_state=0
    )
    assert single.noise.tolist() == [0.2]


@pytest.mark.parametrize("name", plots.__all__)
def test_every_display_says_what_it_takes_and_shows_an_example(name):
    display = getattr(plots, name)
    assert ">>>" in inspect.getdoc(display)
    for method, function in inspect.getmembers(display, callable):
        if method.startswith("from_") or method == "plot":
            doc = inspect.getdoc(function)
            for parameter in set(inspect.signature(function).parameters) - {"self"}:
                assert f"{parameter} : " in doc, (name, method, parameter)


def test_a_missing_matplotlib_is_named_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'"robell\[plot\]"'):
        plots.NoiseMatrixDisplay(np.eye(2), ["a", "b"]).plot()
