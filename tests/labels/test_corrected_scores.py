"""Scores corrected for wrong test labels, against scores by the true labels."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from robell._core.labels.noise import accuracy_and_recalls, area_and_error, unmixed_area
from robell.metrics import corrected_scores

N2 = np.array([[0.9, 0.1], [0.3, 0.7]])
N3 = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.2, 0.2, 0.6]])


def draw(rng, z, confusion):
    """Draw a label for every true class, by its row of `confusion`."""
    return (rng.random(len(z))[:, None] > confusion.cumsum(axis=1)[z, :-1]).sum(axis=1)


def test_expected_tables_are_undone_exactly():
    # 1,000 rows of each true class; predictions and labels exactly as often as expected
    prediction = np.array([[0.8, 0.2], [0.4, 0.6]])
    given, predicted = [], []
    for z in range(2):
        for p in range(2):
            for y in range(2):
                n = round(1000 * prediction[z, p] * N2[z, y])
                given += [y] * n
                predicted += [p] * n
    found = corrected_scores(given, predicted, N2)
    assert found.accuracy == pytest.approx(0.7, abs=1e-12)
    np.testing.assert_allclose(found.recall, [0.8, 0.6], atol=1e-12)
    assert found.balanced_accuracy == pytest.approx(0.7, abs=1e-12)


def test_without_noise_it_is_scikit_learns():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 300), rng.normal(size=300)
    score += y
    pred = (score > 0.5).astype(int)
    found = corrected_scores(y, pred, np.eye(2), y_score=score)
    assert found.accuracy == pytest.approx((y == pred).mean())
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, pred))
    assert found.roc_auc == pytest.approx(roc_auc_score(y, score))


def test_area_and_its_error_by_all_pairs():
    rng = np.random.default_rng(1)
    positive = rng.random(60) < 0.4
    score = np.round(rng.normal(size=60) + positive, 1)  # with ties
    wins = (score[positive][:, None] > score[~positive]) + 0.5 * (
        score[positive][:, None] == score[~positive]
    )
    area, error = area_and_error(score, positive)
    assert area == pytest.approx(wins.mean())
    v1, v0 = wins.mean(axis=1), wins.mean(axis=0)
    expected = v1.var(ddof=1) / len(v1) + v0.var(ddof=1) / len(v0)
    assert error == pytest.approx(np.sqrt(expected))


@pytest.mark.parametrize("N", [N2, N3], ids=["two classes", "three"])
def test_intervals_hold_the_true_value_as_often_as_promised(N):
    rng = np.random.default_rng(2)
    K, n, coverage, repeats = len(N), 400, 0.9, 300
    prediction = np.full((K, K), 0.2 / (K - 1))
    np.fill_diagonal(prediction, 0.8)
    shares = np.array([0.7, 0.3]) if K == 2 else np.array([0.5, 0.3, 0.2])
    hits = np.zeros(2)
    for _ in range(repeats):
        z = rng.choice(K, n, p=shares)
        given, pred = draw(rng, z, N), draw(rng, z, prediction)
        found = corrected_scores(
            given,
            pred,
            N,
            labels=range(K),
            coverage=coverage,
            n_draws=400,
            random_state=rng.integers(1 << 30),
        )
        truth = 0.8, 0.8
        intervals = found.accuracy_interval, found.balanced_accuracy_interval
        hits += [low <= t <= high for t, (low, high) in zip(truth, intervals)]
    # four standard errors of 300 draws
    assert (np.abs(hits / repeats - coverage) < 4 * np.sqrt(0.09 / repeats)).all(), hits / repeats


def test_intervals_of_few_rows_allow_for_errors_that_were_not_seen():
    """Recalls of .98 among 20 rows a class: two samples in three have no error of a class."""
    rng, hits, repeats = np.random.default_rng(5), np.zeros(3), 200
    for _ in range(repeats):
        z = rng.integers(0, 3, 60)
        pred = np.where(rng.random(60) < 0.98, z, (z + rng.integers(1, 3, 60)) % 3)
        found = corrected_scores(z, pred, np.eye(3), labels=range(3), n_draws=200)
        low, high = found.recall_interval.T
        assert (low <= found.recall).all()
        assert (found.recall <= high).all()
        hits += (low <= 0.98) & (high >= 0.98)
    assert (hits / repeats > 0.9).all(), hits / repeats  # a third, where no error was allowed for


def test_intervals_of_the_area_hold_as_often_as_promised():
    rng = np.random.default_rng(3)
    hits, repeats = 0, 300
    truth = 0.7602  # of two normal distributions one standard deviation apart: Φ(1/√2)
    for _ in range(repeats):
        z = (rng.random(500) < 0.3).astype(int)
        given, score = draw(rng, z, N2), rng.normal(size=500) + z
        found = corrected_scores(
            given,
            given,
            N2,
            y_score=score,
            coverage=0.9,
            n_draws=400,
            random_state=rng.integers(1 << 30),
        )
        low, high = found.roc_auc_interval
        hits += low <= truth <= high
    assert abs(hits / repeats - 0.9) < 4 * np.sqrt(0.09 / repeats), hits / repeats


def test_a_counted_matrix_widens_the_intervals_and_keeps_the_promise():
    rng = np.random.default_rng(4)
    hits, repeats, n_reviewed = 0, 300, 60
    widths = []
    for _ in range(repeats):
        counted = np.array([rng.multinomial(n_reviewed, row) for row in N2]) / n_reviewed
        z = (rng.random(2000) < 0.4).astype(int)
        given, pred = draw(rng, z, N2), draw(rng, z, np.array([[0.8, 0.2], [0.2, 0.8]]))
        kwargs = {"coverage": 0.9, "n_draws": 400, "random_state": 0}
        low, high = corrected_scores(
            given, pred, counted, n_reviewed=n_reviewed, **kwargs
        ).accuracy_interval
        hits += low <= 0.8 <= high
        exact = corrected_scores(given, pred, counted, **kwargs).accuracy_interval
        widths.append((high - low) / (exact[1] - exact[0]))
    assert abs(hits / repeats - 0.9) < 0.07, hits / repeats
    assert np.median(widths) > 1.1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([0, 1], [0, 1, 1], np.eye(2)), "as many predictions as labels"),
        (([0, 1], [0, 1], np.eye(3)), "for each of the 2 classes"),
        (([0, 1], [0, 1], [[0.5, 0.6], [0.2, 0.8]]), "add up to 1"),
        (([0, 1], [0, 1], [[0.5, 0.5], [0.5, 0.5]]), "tell nothing"),
        (([], [], np.eye(2)), "as many predictions as labels"),
    ],
)
def test_what_cannot_be_corrected_is_said(arguments, said):
    with pytest.raises(ValueError, match=said):
        corrected_scores(*arguments)


def test_scores_and_labels_are_checked():
    with pytest.raises(ValueError, match="it lacks 'b'"):
        corrected_scores(["a", "b"], ["a", "a"], np.eye(2), labels=["a", "c"])
    with pytest.raises(ValueError, match="two classes; there are 3"):
        corrected_scores([0, 1, 2], [0, 1, 2], np.eye(3), y_score=[0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="one finite number"):
        corrected_scores([0, 1], [0, 1], np.eye(2), y_score=[0.1, np.nan])
    with pytest.raises(ValueError, match="between 0 and 1"):
        corrected_scores([0, 1], [0, 1], np.eye(2), coverage=90)
    for missing in (None, np.nan):
        with pytest.raises(ValueError, match="y_given has no label in row 1"):
            corrected_scores([0, missing], [0, 1], np.eye(2))
        with pytest.raises(ValueError, match="y_pred has no label in row 0"):
            corrected_scores([0, 1], [missing, 1], np.eye(2))
    for texts in (["0", "1"], np.array(["0", "1"], object)):
        with pytest.raises(ValueError, match="must be all text or all numbers"):
            corrected_scores([0, 1], texts, np.eye(2))
    with pytest.raises(ValueError, match="n_draws must be at least 1; got 0"):
        corrected_scores([0, 1], [0, 1], np.eye(2), n_draws=0)
    with pytest.raises(ValueError, match="one for each of the 2 classes"):
        corrected_scores([0, 1], [0, 1], np.eye(2), n_reviewed=[5, 5, 5])


@pytest.mark.parametrize("p1", [0.05, 0.3, 0.8])
def test_the_area_of_mixed_classes_is_unmixed(p1):
    """Label 1 holds a share a of true 0, label 0 a share b of true 1: 1 - a - b of it stays."""
    N, area = np.array([[0.9, 0.1], [0.25, 0.75]]), 0.83
    share = p1 * N[1, 1] + (1.0 - p1) * N[0, 1]
    a, b = (1.0 - p1) * N[0, 1] / share, p1 * N[1, 0] / (1.0 - share)
    mixed = 0.5 + (1.0 - a - b) * (area - 0.5)
    assert unmixed_area(np.array(mixed), np.array(share), N) == pytest.approx(area)


def test_corrected_scores_are_shares():
    """Counts of a table may say less than nothing of a cell, and more than all of another."""
    accuracy, recalls = accuracy_and_recalls(np.array([[0.6, -0.1], [-0.05, 0.55]]))
    assert accuracy == 1.0
    np.testing.assert_array_equal(recalls, [1.0, 1.0])
    accuracy, recalls = accuracy_and_recalls(np.array([[-0.2, 0.6], [0.7, -0.1]]))
    assert accuracy == 0.0
    np.testing.assert_array_equal(recalls, [0.0, 0.0])
    N = np.array([[0.6, 0.4], [0.4, 0.6]])
    for area, expected in ((0.99, 1.0), (0.01, 0.0)):
        assert unmixed_area(np.array(area), np.array(0.5), N) == expected


def test_more_of_label_1_than_noise_can_make_is_a_table_of_class_1_alone():
    N = np.array([[0.9, 0.1], [0.25, 0.75]])
    b = 0.25 / (1.0 - 0.9)  # of the rows labelled 0, as far as a share may be more than one
    expected = 0.5 + (0.6 - 0.5) / (1.0 - b)
    assert unmixed_area(np.array(0.6), np.array(0.9), N) == pytest.approx(expected)
