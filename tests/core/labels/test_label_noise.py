"""What scores say about wrong labels: literal twins, bounds, and truths that are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.metrics import average_precision_score, roc_auc_score

from robell._core.labels import link as link_module
from robell._core.labels.link import (
    FULL_RIDGE,
    PRIOR,
    class_shares,
    fit_full,
    fit_link,
    fit_slope,
    posterior,
)
from robell._core.labels.noise import (
    ANCHOR_SHARES,
    FEWEST_ANCHORS,
    LARGEST_RATE,
    SMALLEST_REMAINDER,
    anchor_rate,
    areas,
    common_rate,
    even_noise,
    joint_matrix,
    margins,
    noise_matrix,
    noise_rates,
    separations,
    wrong_share,
)

seeds = st.integers(0, 2**32 - 1)


def symmetric_noise(rate, n_classes):
    return even_noise(np.full(n_classes, rate))


def draw_scores(seed, n_rows, n_classes, rate=0.2, separation=1.0):
    """Return scores of rows whose labels are wrong at a rate, and integer weights; all classes."""
    rng = np.random.default_rng(seed)
    true = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]
    scores = separation * np.eye(n_classes)[true] + 0.5 * rng.normal(size=(n_rows, n_classes))
    steps = rng.integers(1, n_classes, n_rows) * (rng.random(n_rows) < rate)
    labels = (true + steps) % n_classes
    labels[:n_classes] = np.arange(n_classes)
    return scores, labels, rng.integers(1, 4, n_rows).astype(float)


problems = st.builds(
    draw_scores,
    seeds,
    n_rows=st.integers(5, 80),
    n_classes=st.integers(2, 5),
    rate=st.floats(0, 0.6),
    separation=st.sampled_from([0.0, 0.5, 2.0]),
)


# -- margins and rates ---------------------------------------------------------------


@given(problems)
def test_margin_is_the_lead_over_the_best_other_class(problem):
    scores, _, _ = problem
    for row, found in zip(scores, margins(scores)):
        for c, margin in enumerate(found):
            assert margin == pytest.approx(row[c] - max(np.delete(row, c)))


def literal_anchor_rate(margin, wrong, copies, sizes):
    """Count wrong labels among the first rows of a list in which every copy stands by itself."""
    rows = []
    for m in sorted(
        set(margin), reverse=True
    ):  # equally certain rows are all as wrong as their mean
        here = margin == m
        mean = np.average(wrong[here], weights=copies[here])
        rows += [(-m, mean)] * int(copies[here].sum())
    smallest = LARGEST_RATE
    for size in sizes:
        size = min(max(size, FEWEST_ANCHORS), len(rows))
        count = 0.0
        for place, (_, bad) in enumerate(rows):
            count += bad * min(1.0, max(0.0, size - place))  # the last row may count in part
        rate = count / size
        error = np.sqrt(max(rate * (1 - rate), 0.25 / size) / size)
        smallest = min(smallest, rate + 0.5 * error)
    return smallest


@given(problems, st.lists(st.floats(0.5, 200), min_size=1, max_size=5), st.booleans())
def test_anchor_rate_is_counted_row_by_row(problem, sizes, ties):
    """Rows that are equally certain, as equal rows are, count as one."""
    scores, labels, copies = problem
    margin, wrong = margins(scores)[:, 0], labels != 0
    margin = np.round(margin) if ties else margin
    found = anchor_rate(margin, wrong, copies, np.array(sizes))
    assert found == pytest.approx(literal_anchor_rate(margin, wrong, copies, sizes))


@given(problems)
def test_weights_of_rates_are_multiplicities(problem):
    scores, labels, copies = problem
    repeated = scores.repeat(copies.astype(int), axis=0), labels.repeat(copies.astype(int))
    ones = np.ones(int(copies.sum()))
    rate = common_rate(scores, labels, copies)
    assert rate == pytest.approx(common_rate(*repeated, ones))
    np.testing.assert_allclose(
        noise_matrix(scores, labels, copies, rate), noise_matrix(*repeated, ones, rate), rtol=1e-9
    )


@given(problems, seeds)
def test_rates_do_not_depend_on_the_order_of_rows_or_classes(problem, seed):
    scores, labels, copies = problem
    rng = np.random.default_rng(seed)
    rows, classes = rng.permutation(len(scores)), rng.permutation(scores.shape[1])
    renamed = np.argsort(classes)[labels]
    rate = common_rate(scores, labels, copies)
    again = common_rate(scores[rows][:, classes], renamed[rows], copies[rows])
    assert rate == pytest.approx(again)
    N = noise_matrix(scores, labels, copies, rate)
    M = noise_matrix(scores[rows][:, classes], renamed[rows], copies[rows], rate)
    np.testing.assert_allclose(M, N[np.ix_(classes, classes)], rtol=1e-9)


@given(problems)
def test_common_rate_leaves_every_class_a_part_of_its_rows(problem):
    scores, labels, weight = problem
    n_classes = scores.shape[1]
    rate = common_rate(scores, labels, weight)
    assert 0 < rate <= LARGEST_RATE
    given_share = np.bincount(labels, weight) / weight.sum()
    each = rate / (n_classes - 1)
    true_share = (given_share - each) / (1 - n_classes * each)
    assert (true_share >= SMALLEST_REMAINDER * given_share - 1e-9).all()


@pytest.mark.parametrize("counts", [(900, 100), (450, 450, 100), (400, 300, 200, 100)])
def test_common_rate_goes_as_far_as_the_smallest_class_keeps_a_tenth(rng, counts):
    """Where scores say nothing, so that any rate could be: the bound itself is the rate."""
    K, labels = len(counts), np.repeat(np.arange(len(counts)), counts)
    rate = common_rate(rng.normal(size=(1000, K)), labels, np.ones(1000))
    each = rate / (K - 1)
    assert (0.1 - each) / (1.0 - K * each) == pytest.approx(SMALLEST_REMAINDER * 0.1)


@pytest.mark.parametrize("n_classes", [10, 11, 20, 40])
@pytest.mark.parametrize("n_large", [60, 500, 4000])
def test_common_rate_of_many_classes_of_which_one_is_large(rng, n_classes, n_large):
    """With more than ten classes, one that has most of the rows bounds nothing."""
    labels = np.r_[np.zeros(n_large, int), np.repeat(np.arange(n_classes), 5)]
    scores = np.eye(n_classes)[labels] + 0.3 * rng.normal(size=(len(labels), n_classes))
    ones = np.ones(len(labels))
    rate = common_rate(scores, labels, ones)
    assert 0 < rate <= LARGEST_RATE
    N = noise_matrix(scores, labels, ones, rate)
    assert (N >= 0).all()
    assert (np.diag(N) > 0.5).all()


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("n_classes", [2, 4, 12])
def test_common_rate_finds_the_rate_where_scores_tell_the_classes_apart(rate, n_classes):
    """The smallest of several groups' rates is low rather than high, by what luck explains."""
    for seed in range(5):
        scores, labels, _ = draw_scores(seed, 6000, n_classes, rate, separation=6.0)
        found = common_rate(scores, labels, np.ones(6000))
        smallest_group = ANCHOR_SHARES[0] * 6000
        luck = 3 * np.sqrt(rate * (1 - rate) / smallest_group)
        assert rate - luck < found < rate + 0.02


@given(problems)
def test_no_more_labels_are_wrong_than_differ_from_the_prediction(problem):
    """Of several classes; but for half a standard error, which is never nothing."""
    scores, labels, weight = problem
    if scores.shape[1] > 2:
        n, differ = weight.sum(), float(np.average(scores.argmax(axis=1) != labels, weights=weight))
        error = np.sqrt(max(differ * (1 - differ), 0.25 / n) / n)
        assert common_rate(scores, labels, weight) <= differ + 0.5 * error + 1e-12


@pytest.mark.parametrize("share", [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
def test_the_groups_of_anchors_have_a_fifth_to_four_fifths_of_the_rows(share):
    """Wrong are the 50 most certain rows, and all that are less certain than such a share."""
    n, predicted = 1000, np.arange(1000) % 3
    wrong = (np.arange(n) < 50) | (np.arange(n) >= round(share * n))
    scores = np.linspace(2.0, 1.0, n)[:, None] * np.eye(3)[predicted]
    labels = np.where(wrong, (predicted + 1) % 3, predicted)
    rate = 0.05 / share
    expected = rate + 0.5 * np.sqrt(rate * (1.0 - rate) / (share * n))
    assert common_rate(scores, labels, np.ones(n)) == pytest.approx(expected)


def test_rows_without_a_wrong_label_still_leave_some_doubt():
    """Half a standard error of a share never seen: 1/4 of a row in the largest group."""
    scores, labels, _ = draw_scores(0, 1000, 2, 0.0, separation=20.0)
    largest_class = np.bincount(labels).max()
    found = common_rate(scores, labels, np.ones(1000))
    assert 0 < found <= 0.5 * 0.5 / (0.4 * largest_class)


@given(problems)
def test_noise_matrix_holds_probabilities(problem):
    scores, labels, weight = problem
    rate = common_rate(scores, labels, weight)
    N = noise_matrix(scores, labels, weight, rate)
    np.testing.assert_allclose(N.sum(axis=1), 1.0)
    assert ((N >= 0) & (N <= 1)).all()
    # More right than wrong, no class less noisy than all are, wrong labels shared equally
    assert (np.diag(N) >= 1 - LARGEST_RATE - 1e-12).all()
    assert (1 - np.diag(N) >= rate - 1e-12).all()
    for c, row in enumerate(N):
        assert np.ptp(np.delete(row, c)) < 1e-15
    counts = np.bincount(labels, weight)
    assert 1 - N[counts.argmax(), counts.argmax()] == pytest.approx(rate)


def test_noise_matrix_sees_a_small_class_that_loses_labels():
    """Clear classes: the rate among the most certain rows is that among many, and believed."""
    rng = np.random.default_rng(0)
    true = np.repeat([0, 1], [2000, 400])
    labels = np.where((true == 1) & (rng.random(2400) < 0.3), 0, true)
    scores = 4.0 * np.eye(2)[true] + 0.3 * rng.normal(size=(2400, 2))
    rate = common_rate(scores, labels, np.ones(2400))
    N = noise_matrix(scores, labels, np.ones(2400), rate)
    assert N[0, 1] < 0.01
    assert N[1, 0] == pytest.approx(0.3, abs=0.08)


def test_luck_of_a_few_anchors_does_not_hide_that_a_small_class_loses_labels():
    """One label in four of 80 to 160 frauds is wrong; a dozen of the surest rows may show none."""
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        frauds = int(rng.integers(80, 160))
        true = np.repeat([0, 1], [2000, frauds])
        labels = np.where((true == 1) & (rng.random(len(true)) < 0.25), 0, true)
        scores = 4.0 * np.eye(2)[true] + 0.3 * rng.normal(size=(len(true), 2))
        ones = np.ones(len(true))
        found.append(noise_matrix(scores, labels, ones, common_rate(scores, labels, ones))[1, 0])
    assert np.mean(np.array(found) < 0.12) <= 0.08  # .21 where the smallest share counted
    assert np.mean(found) == pytest.approx(0.2, abs=0.03)


def test_a_class_that_overlaps_is_not_taken_for_a_noisy_one():
    """Other labels that are rarer among the surest rows come from overlap."""
    rng = np.random.default_rng(0)
    true = np.repeat([0, 1], [2000, 400])
    scores = 0.8 * np.eye(2)[true] + 0.5 * rng.normal(size=(2400, 2))
    surest = np.argsort(scores[:, 0] - scores[:, 1])[:300]
    assert 0.1 < np.mean(true[surest] == 0) < 0.3
    assert noise_matrix(scores, true, np.ones(2400), 0.01)[1, 0] < 0.02


def test_noise_matrix_believes_a_rate_by_how_even_it_is_and_by_the_rows_of_the_class():
    """200 rows carry the label; of the surest 20, 50, 100, 150 there are 4, 5, 7 and 36 wrong."""
    margin = np.r_[np.linspace(2.0, 1.0, 224), -np.linspace(1.0, 2.0, 1000)]  # for class 1
    wrong = np.isin(np.arange(224), [3, 7, 11, 15, 40, 60, 80, *range(110, 139)])
    labels = np.r_[~wrong, np.zeros(1000)].astype(int)
    labels[224:236] = 1  # among the rows that are least of this class
    assert labels.sum() == 200
    N = noise_matrix(np.outer(margin, [-0.5, 0.5]), labels, np.ones(1224), 1e-3)
    o, smaller = 36.5 / 151, [(20, 4.5 / 21), (50, 5.5 / 51), (100, 7.5 / 101)]
    z = max((o - p) / np.sqrt(o * (1 - o) * (1 / n - 1 / 150)) for n, p in smaller)
    t = np.exp(-0.5 * (z - 1) ** 2)
    assert N[1, 0] == pytest.approx(
        1e-3 + 200 / 220 * (t * o + (1 - t) * (7.5 / 101) ** 2 / o - 1e-3)
    )
    assert N[0, 1] == pytest.approx(1e-3)
    even = np.arange(1224) % 7 != 3  # every seventh row wrong: believed but for C/(C + 20)
    labels = np.where(margin > 0, even, 0)
    assert labels.sum() == 192
    N = noise_matrix(np.outer(margin, [-0.5, 0.5]), labels, np.ones(1224), 1e-3)
    o = 21.5 / 145
    assert N[1, 0] == pytest.approx(1e-3 + 192 / 212 * (o - 1e-3))


# -- areas ---------------------------------------------------------------------------


@given(seeds, st.booleans())
def test_areas_are_scikit_learns_for_one_row_of_weights_or_several(seed, ties):
    rng = np.random.default_rng(seed)
    y, score = np.arange(40) % 2, rng.normal(size=40)
    score = np.round(score) if ties else score
    weights = rng.uniform(0.2, 3.0, (3, 40))
    precision, area = areas(score, y)
    assert isinstance(area, float)
    assert precision == pytest.approx(average_precision_score(y, score))
    assert area == pytest.approx(roc_auc_score(y, score))
    several = areas(score, y, weights)
    assert [len(of_weights) for of_weights in several] == [3, 3]
    for k, w in enumerate(weights):
        one = areas(score, y, w)
        assert one == pytest.approx([of_weights[k] for of_weights in several])
        assert one[0] == pytest.approx(average_precision_score(y, score, sample_weight=w))
        assert one[1] == pytest.approx(roc_auc_score(y, score, sample_weight=w))


@pytest.mark.parametrize("n_rows", [None, 25.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_area_by_chance_has_the_error_of_mann_and_whitneys_statistic(rng, weighted, n_rows):
    scores, labels = rng.normal(size=(60, 3)), np.arange(60) % 4 % 3
    weight = rng.uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    area, error = separations(scores, labels, weight if weighted else None, n_rows)
    n = weight.sum() if n_rows is None else n_rows
    for k in range(3):
        mine = n * weight[labels == k].sum() / weight.sum()
        assert area[k] == pytest.approx(
            roc_auc_score(labels == k, scores[:, k], sample_weight=weight)
        )
        assert error[k] == pytest.approx(np.sqrt((n + 1.0) / (12.0 * mine * (n - mine))))


# -- Bayes' rule ---------------------------------------------------------------------


@given(problems, st.floats(0.01, 0.45))
def test_posterior_is_bayes_rule(problem, rate):
    scores, labels, _ = problem
    n_classes = scores.shape[1]
    P, N = softmax(2 * scores, axis=1), symmetric_noise(rate, n_classes)
    found = posterior(P, labels, N)
    for i, given_label in enumerate(labels):
        joint = [P[i, z] * N[z, given_label] for z in range(n_classes)]
        np.testing.assert_allclose(found[i], np.array(joint) / sum(joint), rtol=1e-12)


def test_posterior_at_its_limits():
    P = np.array([[0.9, 0.1], [0.9, 0.1]])
    labels = np.array([0, 1])
    # no noise: the label is right; labels that say nothing: the scores decide alone
    np.testing.assert_array_equal(posterior(P, labels, np.eye(2)), np.eye(2))
    np.testing.assert_allclose(posterior(P, labels, np.full((2, 2), 0.5)), P)


@given(problems, st.floats(0.01, 0.45))
def test_rows_of_each_true_class_and_label_are_counted_row_by_row(problem, rate):
    scores, labels, weight = problem
    n_classes = scores.shape[1]
    Z = posterior(softmax(scores, axis=1), labels, even_noise(np.full(n_classes, rate)))
    joint = np.zeros((n_classes, n_classes))
    for p, y, w in zip(Z, labels, weight):
        joint[:, y] += w * p
    found = joint_matrix(Z, labels, weight, n_classes)
    np.testing.assert_allclose(found, joint, rtol=1e-12)
    for z in range(n_classes):
        np.testing.assert_allclose(noise_rates(found)[z], joint[z] / joint[z].sum(), rtol=1e-12)
    right = sum(w * p[y] for p, y, w in zip(Z, labels, weight))
    assert wrong_share(found) == pytest.approx(1 - right / weight.sum(), abs=1e-12)


def test_a_class_without_rows_has_no_noise_rather_than_nan():
    joint = np.array([[3.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(noise_rates(joint), [[0.75, 0.25], [0.0, 0.0]])


# -- the link ------------------------------------------------------------------------


def penalised_likelihood(theta, scores, labels, weight, N):
    """Of (log slope, offsets of all classes but the first)."""
    P = np.exp(log_softmax(np.exp(theta[0]) * scores + np.r_[0.0, theta[1:]], axis=1))
    of_label = np.array([P[i] @ N[:, y] for i, y in enumerate(labels)])
    prior = 0.5 * PRIOR.precision * (theta[0] - PRIOR.log_slope) ** 2
    return weight @ np.log(of_label) - prior


def parameters(link):
    return np.r_[np.log(link.matrix[0, 0]), link.offsets[1:] - link.offsets[0]]


@given(seeds, st.integers(2, 4), st.sampled_from([0.05, 0.2, 0.35]))
def test_link_climbs_and_continued_reaches_a_maximum(seed, n_classes, rate):
    scores, labels, weight = draw_scores(seed, 150, n_classes, rate, separation=1.5)
    N = symmetric_noise(rate, n_classes)
    data = scores, labels, weight, N
    link = fit_slope(*data)
    reached = penalised_likelihood(parameters(link), *data)
    assert reached > penalised_likelihood(np.r_[PRIOR.log_slope, np.zeros(n_classes - 1)], *data)
    link = fit_slope(*data, 1000)
    top = penalised_likelihood(parameters(link), *data)
    assert reached <= top + 1e-9
    rng = np.random.default_rng(seed)
    for spread in (0.03, 0.1, 0.3):
        for _ in range(10):
            other = parameters(link) + spread * rng.normal(size=n_classes)
            assert penalised_likelihood(other, *data) < top + 1e-4


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_link_is_mostly_at_the_maximum_at_once(rate):
    """With fewer wrong labels than right ones by far; else the steps may end on the way."""
    missing = []
    for seed in range(15):
        data = *draw_scores(seed, 150, 2 + seed % 3, rate), symmetric_noise(rate, 2 + seed % 3)
        reached = penalised_likelihood(parameters(fit_slope(*data)), *data)
        link = fit_slope(*data, 1000)
        missing.append(penalised_likelihood(parameters(link), *data) - reached)
    assert np.median(missing) < 0.01


def test_link_is_the_maximum_that_a_general_optimiser_finds():
    data = *draw_scores(5, 400, 3, 0.2), symmetric_noise(0.2, 3)
    link = fit_slope(*data, 1000)
    best = minimize(lambda theta: -penalised_likelihood(theta, *data), np.r_[1.0, 0, 0])
    np.testing.assert_allclose(parameters(link), best.x, atol=0.01)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(
    ("slope", "offsets"), [(3.0, [0.0, -1.0]), (5.0, [0.0, 1.0, -0.5])], ids=["two", "three"]
)
def test_link_recovers_the_truth_behind_wrong_labels(slope, offsets, rate):
    """Labels are drawn from the model itself; those of a link without noise would be flatter."""
    rng = np.random.default_rng(1)
    n_rows, n_classes = 30_000, len(offsets)
    scores = 0.6 * rng.normal(size=(n_rows, n_classes))
    P = softmax(slope * scores + offsets, axis=1)
    true = (rng.random((n_rows, 1)) > P.cumsum(axis=1)).sum(axis=1)
    steps = rng.integers(1, n_classes, n_rows) * (rng.random(n_rows) < rate)
    labels = (true + steps) % n_classes
    link = fit_slope(scores, labels, np.ones(n_rows), symmetric_noise(rate, n_classes))
    assert link.matrix[0, 0] == pytest.approx(slope, rel=0.08)
    np.testing.assert_allclose(link.offsets - link.offsets[0], offsets, atol=0.12)
    np.testing.assert_allclose(link.probability(scores), P, atol=0.05)


@given(problems, st.floats(0.01, 0.45))
def test_link_has_a_positive_slope_and_finite_offsets(problem, rate):
    scores, labels, weight = problem
    N = symmetric_noise(rate, scores.shape[1])
    for sign in (1.0, -1.0, 0.0, 1e3):
        assert 0 < fit_slope(sign * scores, labels, weight, N).matrix[0, 0] < np.inf
        link = fit_link(sign * scores, labels, weight, N)
        assert np.isfinite(link.offsets).all()
        np.testing.assert_allclose(link.probability(sign * scores).sum(axis=1), 1.0)


@given(problems, st.floats(0.05, 0.4))
def test_weights_of_the_link_are_multiplicities(problem, rate):
    scores, labels, copies = problem
    N = symmetric_noise(rate, scores.shape[1])
    link = fit_link(scores, labels, copies, N)
    n = copies.astype(int)
    again = fit_link(scores.repeat(n, axis=0), labels.repeat(n), np.ones(n.sum()), N)
    for one, other in zip(link, again):
        np.testing.assert_allclose(one, other, atol=1e-6)


def full_loss(theta, scores, Z, weight, slope, spread):
    """Of A and b, classes balanced, with the ridge on what A is beyond one slope."""
    n_classes = Z.shape[1]
    A, b = theta[:-n_classes].reshape(n_classes, n_classes), theta[-n_classes:]
    counts = weight[:, None] * Z / (n_classes * class_shares(Z, weight))
    ridge = 0.5 * FULL_RIDGE * np.square(spread * (A - slope * np.eye(n_classes))).sum()
    return ridge - (counts * log_softmax(scores @ A + b, axis=1)).sum()


def test_the_full_link_continued_is_what_a_general_optimiser_finds(monkeypatch):
    monkeypatch.setattr(link_module, "FULL_STEPS", 5000)
    monkeypatch.setattr(link_module, "FULL_TOLERANCE", 1e-9)
    scores, labels, weight = draw_scores(3, 300, 3, 0.1)
    Z = posterior(softmax(3 * scores, axis=1), labels, symmetric_noise(0.1, 3))
    mean = np.average(scores, axis=0, weights=weight)
    spread = np.sqrt(np.average(np.square(scores - mean).mean(axis=1), weights=weight))
    link = fit_full(scores, Z, weight, 2.0)
    start = np.r_[2.0 * np.eye(3).ravel(), np.zeros(3)]
    best = minimize(full_loss, start, args=(scores, Z, weight, 2.0, spread))
    A, b = best.x[:9].reshape(3, 3), best.x[9:]
    P = softmax(scores @ A + b + np.log(class_shares(Z, weight)), axis=1)
    np.testing.assert_allclose(link.probability(scores), P, atol=0.002)
    np.testing.assert_array_equal(link.shares, class_shares(Z, weight))


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_the_full_link_recovers_what_one_slope_cannot(rate):
    """Labels are drawn from a link in which classes one and two have slopes of their own."""
    rng = np.random.default_rng(2)
    scores = 0.6 * rng.normal(size=(20_000, 3))
    A = np.array([[4.0, -1.0, 0.0], [0.0, 1.0, 2.0], [0.0, 0.0, 6.0]])
    P = softmax(scores @ A, axis=1)
    true = (rng.random((len(P), 1)) > P.cumsum(axis=1)).sum(axis=1)
    labels = (true + rng.integers(1, 3, len(P)) * (rng.random(len(P)) < rate)) % 3
    data = scores, labels, np.ones(len(P)), symmetric_noise(max(rate, 1e-3), 3)
    errors = [np.abs(f(*data).probability(scores) - P).mean() for f in (fit_slope, fit_link)]
    assert errors[1] < 0.05 + 0.2 * rate  # the rounds end on the way
    assert errors[1] < 0.75 * errors[0]


def test_of_many_classes_the_true_ones_are_found_under_wrong_labels():
    """Each class its own score, a fifth of the labels wrong: the link finds the class behind."""
    rng = np.random.default_rng(0)
    n_classes = 60
    true = np.repeat(np.arange(n_classes), 10)
    scores = 0.15 * rng.normal(size=(len(true), n_classes)) + np.eye(n_classes)[true]
    wrong = rng.random(len(true)) < 0.2
    labels = np.where(wrong, rng.integers(0, n_classes, len(true)), true)
    N = np.full((n_classes, n_classes), 0.2 / n_classes) + 0.8 * np.eye(n_classes)
    link = fit_link(scores, labels, np.ones(len(true)), N)
    P = link.probability(scores)
    assert (P.argmax(axis=1) == true).mean() > 0.98
    assert np.allclose(P.sum(axis=1), 1)
    # One slope: what a class gains depends on its own score alone.
    assert np.allclose(link.matrix, link.matrix[0, 0] * np.eye(n_classes))
    assert link.matrix[0, 0] > 0


@pytest.mark.parametrize(("sign", "bound"), [(-1.0, -3.0), (1.0, 5.0)])
def test_the_logarithm_of_the_slope_lies_between_minus_three_and_five(sign, bound):
    """Many rows whose scores say the opposite, or everything, faintly."""
    labels = np.arange(4000) % 2
    scores = sign * 1e-3 * np.eye(2)[labels]
    scores = scores if sign > 0 else 1e3 * scores
    link = fit_slope(scores, labels, np.full(4000, 1e3), symmetric_noise(0.01, 2), 200)
    assert np.log(link.matrix[0, 0]) == pytest.approx(bound)


def test_rows_that_weigh_next_to_nothing_leave_the_slope_of_the_prior():
    scores, labels, _ = draw_scores(1, 30, 3)
    link = fit_link(scores, labels, np.full(30, 1e-7), symmetric_noise(0.1, 3))
    np.testing.assert_allclose(link.matrix, np.exp(PRIOR.log_slope) * np.eye(3), atol=1e-3)
