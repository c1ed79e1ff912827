"""The noise-robust classifier: a literal twin, what changes nothing, known truths, bad input."""

import copy
import pickle
import re
import warnings
from io import BytesIO

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import (
    NoiseRobustClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    audit,
    find_label_issues,
    fit_table,
)
from robell._core.ensemble import members
from robell._core.ensemble.members import (
    ACTIVATIONS,
    INPUTS_PER_NODE,
    PENALTIES,
    SMALLEST_EIGENVALUE,
    WEIGHT_SCALE,
    WEIGHTS,
)
from robell._core.ensemble.trees import forest_scores, grow_forest, plant_forest
from robell._core.labels.cuts import CLEAN_PRIOR_SHARE, PRIOR_SHARE
from robell._core.labels.link import EM_STEPS, EM_TOLERANCE, LAST_EM_STEPS, PRIOR
from robell._core.labels.noise import (
    ANCHOR_SHARES,
    DOUBTED_ROWS,
    FEWEST_ANCHORS,
    LARGEST_OWN_RATE,
    LARGEST_RATE,
    OWN_SHARES,
    SMALLEST_REMAINDER,
)
from robell._core.layers import features
from robell._core.layers.features import ACTIVATIONS as FUNCTIONS
from robell._core.ridge.twins import distinct_rows
from robell.metrics import expected_calibration_error
from robell.models import noise_robust as module
from robell.models._validation import draw_seed
from robell.models.noise_robust import NoSignalWarning
from robell.noise import flip_from_class, flip_uniformly

seeds = st.integers(0, 2**32 - 1)
FITTED = (
    "coef_",
    "intercept_",
    "landmarks_",
    "landmark_weights_",
    "split_columns_",
    "leaf_values_",
    "link_matrix_",
    "link_offsets_",
    "C_",
    "mean_",
    "scale_",
)
JUDGED = ("noise_matrix_", "noise_rate_", "class_prior_")


def clusters(n_rows, n_classes=2, separation=3.0, seed=0, shares=None):
    """Gaussian clusters in five columns, every class with a row at least."""
    rng = np.random.default_rng(seed)
    others = rng.choice(n_classes, n_rows - n_classes, p=shares)
    y = rng.permutation(np.r_[np.arange(n_classes), others])
    return separation * np.eye(n_classes, 5)[y] + rng.normal(size=(n_rows, 5)), y


def fit(X, y, seed=0, sample_weight=None, **parameters):
    return NoiseRobustRVFLClassifier(random_state=seed, **parameters).fit(X, y, sample_weight)


@pytest.fixture(scope="module")
def noisy():
    """Two classes, 3:1, a fifth of the labels wrong."""
    X, y = clusters(240, shares=[0.75, 0.25])
    return X, flip_uniformly(y, 0.2, 1)[0]


def assert_same(first, second, names=FITTED + JUDGED, atol=1e-7):
    for name in names:
        np.testing.assert_allclose(
            getattr(first, name), getattr(second, name), rtol=1e-7, atol=atol, err_msg=name
        )


# -- a slow literal twin -------------------------------------------------------------


def twin_designs(X, model):
    """Return the columns of the four ridges, a row and a node at a time."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    designs = []
    for k, name in enumerate(ACTIVATIONS):
        rows = []
        for x in Z:
            nodes = range(k * model.n_hidden, (k + 1) * model.n_hidden)
            hidden = [
                FUNCTIONS[name](np.array([x @ model.hidden_weights_[:, d] + model.hidden_bias_[d]]))
                for d in nodes
            ]
            rows.append(np.r_[x, np.concatenate(hidden)])
        designs.append(np.array(rows))
    landmarks, columns = model.landmarks_, model.kernel_columns_

    def kernel(a, b):
        return np.exp(-np.square(a - b)[columns].sum() / len(columns))

    K = np.array([[kernel(a, b) for b in landmarks] for a in landmarks])
    values, Q = np.linalg.eigh(K)
    kept = values > SMALLEST_EIGENVALUE * values[-1]
    whitening = Q[:, kept] / np.sqrt(values[kept])
    designs.append(np.array([[kernel(z, b) for b in landmarks] for z in Z]) @ whitening)
    return [*designs, Z]


def twin_ridge(M, t, w, penalty):
    design = np.column_stack([np.ones(len(M)), M])
    penalties = penalty * np.diag(np.r_[0.0, np.ones(M.shape[1])])
    return np.linalg.solve(design.T @ np.diag(w) @ design + penalties, design.T @ (w * t))


def twin_fit(designs, t, weights, tree_seed):
    """Fit each ridge to the second class's target at its best penalty, by refits alone.

    Return the mean of the members for the rows themselves, and for the rows left out. The trees
    have a twin of their own.
    """
    n, share = len(t), t.mean()
    w = t / (2 * share) + (1 - t) / (2 * (1 - share))
    fitted, left_out_mean = np.zeros(n), np.zeros(n)
    for M, weight in zip(designs, weights[[0, 1, 2, 4]]):
        best = None
        for penalty in PENALTIES * n:
            left_out = np.empty(n)
            for i in range(n):
                others = np.arange(n) != i
                solution = twin_ridge(M[others], t[others], w[others], penalty)
                left_out[i] = solution[0] + M[i] @ solution[1:]
            error = w @ (t - left_out) ** 2
            if best is None or error <= best[0]:
                best = error, penalty, left_out
        solution = twin_ridge(M, t, w, best[1])
        fitted += weight * (solution[0] + M @ solution[1:])
        left_out_mean += weight * best[2]
    order = distinct_rows(designs[-1]).first
    X = designs[-1][order]
    forest, scores = grow_forest(X, t[order, None], w[order], plant_forest(X, tree_seed))
    left_out_mean[order] += weights[3] * scores[:, 0]
    return fitted + weights[3] * forest_scores(designs[-1], forest)[:, 0], left_out_mean


def twin_other_shares(certainty, wrong, sizes):
    """Return the size of each group of the most certain rows, and its share of other labels."""
    order = sorted(range(len(certainty)), key=lambda i: -certainty[i])
    found = []
    for size in sizes:
        size = min(max(size, FEWEST_ANCHORS), len(order))
        whole = int(size)
        count = sum(wrong[i] for i in order[:whole])
        if whole < size:
            count += (size - whole) * wrong[order[whole]]
        found.append((size, count / size))
    return found


def twin_anchor_rate(certainty, wrong, sizes):
    rates = [LARGEST_RATE]
    for size, rate in twin_other_shares(certainty, wrong, sizes):
        rates.append(rate + 0.5 * np.sqrt(max(rate * (1 - rate), 0.25 / size) / size))
    return min(rates)


def twin_noise(scores, labels):
    """Return the common rate, and P(label | class) of both classes."""
    n = len(labels)
    lead = {1: 2 * scores - 1, 0: 1 - 2 * scores}  # the second class's score less the first's
    rates = [twin_anchor_rate(lead[c], labels != c, [s * n for s in ANCHOR_SHARES]) for c in (0, 1)]
    for c in (0, 1):
        p = (labels == c).mean()
        rates.append(p * (1 - SMALLEST_REMAINDER) / (1 - 2 * SMALLEST_REMAINDER * p))
    rate = min(rates)
    own = [rate, rate]
    for c in (0, 1):
        if (labels == c).sum() < (labels != c).sum():
            rows = (labels == c).sum()
            groups = [
                (size, (size * share + 0.5) / (size + 1))
                for size, share in twin_other_shares(
                    lead[c], labels != c, [s * rows for s in OWN_SHARES]
                )
            ]
            most, o = groups[-1]
            z = [0.0]
            for size, p in groups[:-1]:
                if size < most:
                    z.append((o - p) / np.sqrt(o * (1 - o) * (1 / size - 1 / most)))
            even = np.exp(-0.5 * max(max(z) - 1, 0) ** 2)
            smallest = min(p for _, p in groups)
            seen = min(even * o + (1 - even) * smallest**2 / o, LARGEST_OWN_RATE)
            own[c] = max(rate, rate + rows / (rows + DOUBTED_ROWS) * (seen - rate))
    return rate, np.array([[1 - own[0], own[0]], [own[1], 1 - own[1]]])


def twin_posterior(slope, offset, scores, labels, N):
    """Return P(second class | row, label) by Bayes' rule."""
    p = 1 / (1 + np.exp(-(slope * (2 * scores - 1) + offset)))
    joint = np.array([(1 - p) * N[0, labels], p * N[1, labels]])
    return p, joint[1] / joint.sum(axis=0)


def twin_link(scores, labels, N, n_steps=LAST_EM_STEPS):
    """Take Newton steps on the expected log-likelihood of one slope and one offset."""
    log_slope, offset = PRIOR.log_slope, 0.0
    for _ in range(n_steps):
        p, z = twin_posterior(np.exp(log_slope), offset, scores, labels, N)
        s = np.exp(log_slope) * (2 * scores - 1)
        v = p * (1 - p)
        prior = log_slope - PRIOR.log_slope
        along_slope = np.sum((p - z) * s)
        gradient = np.array([along_slope + prior, np.sum(p - z)])
        hessian = np.array([[np.sum(v * s * s), np.sum(v * s)], [np.sum(v * s), np.sum(v) + 1e-6]])
        hessian[0, 0] += max(along_slope, 0.0) + 1.0
        step = np.clip(np.linalg.solve(hessian, gradient), -1, 1)
        log_slope, offset = log_slope - step[0], offset - step[1]
        if np.abs(step).max() < EM_TOLERANCE:
            break
    return np.exp(log_slope), offset


def twin_cut(scores, z, prior_share):
    """Return the difference of scores that the share of rows asked for lies above."""
    means = [np.average(scores, weights=1 - z), np.average(scores, weights=z)]
    nearer = np.abs(scores - means[1]) < np.abs(scores - means[0])
    share = (1 - prior_share) * nearer.mean() + prior_share * z.mean()
    ordered = np.sort(2 * scores - 1)[::-1]
    place = int(share * len(scores))
    return (ordered[place - 1] + ordered[place]) / 2


@pytest.mark.parametrize(
    ("n_rows", "rate", "n_rounds"), [(50, 0.2, 1), (60, 0.0, 1), (50, 0.3, 0), (44, 0.1, 2)]
)
def test_fit_is_that_of_a_literal_twin(n_rows, rate, n_rounds):
    X, y = clusters(n_rows, separation=2.0, seed=n_rows, shares=[0.65, 0.35])
    y, _ = flip_uniformly(y, rate, 0)
    model = fit(X, y, n_hidden=4, n_rounds=n_rounds)
    designs = twin_designs(X, model)
    tree_seed = int(np.random.SeedSequence(draw_seed(0)).generate_state(4)[3])
    weights = WEIGHTS / WEIGHTS.sum()
    output, scores = twin_fit(designs, y.astype(float), weights, tree_seed)
    common, N = twin_noise(scores, y)
    cleaning = min(1.0, common / module.FULL_CLEANING_RATE)
    slope, offset = twin_link(scores, y, N, EM_STEPS)
    for _ in range(n_rounds):
        _, z = twin_posterior(slope, offset, scores, y, N)
        weights = WEIGHTS * [1, 1, 1, 1, cleaning]
        weights /= weights.sum()
        output, scores = twin_fit(designs, y + cleaning * (z - y), weights, tree_seed)
        slope, offset = twin_link(scores, y, N)
    _, z = twin_posterior(slope, offset, scores, y, N)
    np.testing.assert_allclose(model.label_probability_[:, 1], z, atol=1e-6)
    np.testing.assert_allclose(model.sample_quality_, np.where(y == 1, z, 1 - z), atol=1e-6)
    for c in (0, 1):
        of_class = np.column_stack([1 - z, z])[:, c]
        row = [of_class[y == label].sum() / of_class.sum() for label in (0, 1)]
        np.testing.assert_allclose(model.noise_matrix_[c], row, atol=1e-6)
    # Probabilities are fitted under the common rate alone; the cut is that of the ranks.
    even = np.array([[1 - common, common], [common, 1 - common]])
    slope, offset = twin_link(scores, y, even)
    odds = slope * (2 * output - 1) + offset
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)), atol=1e-6)
    prior_share = CLEAN_PRIOR_SHARE + cleaning * (PRIOR_SHARE - CLEAN_PRIOR_SHARE)
    cut = slope * twin_cut(scores, z, prior_share) + offset
    assert model.threshold_ == pytest.approx(1 / (1 + np.exp(-cut)), abs=1e-6)
    np.testing.assert_allclose(model.decision_function(X), odds - cut, rtol=1e-6, atol=1e-5)


def test_every_node_looks_at_two_inputs_of_its_own():
    X, y = clusters(60)
    model = fit(X, y, n_hidden=30)
    used = model.hidden_weights_ != 0
    assert used.shape == (5, 60)
    assert (used.sum(axis=0) == INPUTS_PER_NODE).all()
    assert (used.sum(axis=1) > 0).all()
    bound = WEIGHT_SCALE / np.sqrt(INPUTS_PER_NODE)
    assert np.abs(model.hidden_weights_).max() <= bound
    assert -1 <= model.hidden_bias_.min() < -0.8 < 0.8 < model.hidden_bias_.max() <= 1
    assert model.hidden_weights_.min() < -0.8 * bound < 0.8 * bound < model.hidden_weights_.max()
    # The same nodes come first in a larger network.
    small = fit(X, y, n_hidden=10)
    np.testing.assert_array_equal(small.hidden_weights_[:, :10], model.hidden_weights_[:, :10])
    np.testing.assert_array_equal(small.hidden_bias_[10:20], model.hidden_bias_[30:40])


# -- what the fitted attributes are --------------------------------------------------


@given(
    seeds,
    st.integers(8, 70),
    st.integers(2, 4),
    st.floats(0, 0.5),
    st.sampled_from([0.0, 1.0, 4.0]),
)
def test_attributes_are_what_they_say(seed, n_rows, n_classes, rate, separation):
    X, y = clusters(n_rows, n_classes, separation, seed)
    y[n_classes:] = flip_uniformly(y, rate, seed % 1000)[0][n_classes:]
    if len(np.unique(y)) < 2:
        return
    model = fit(X, y, n_hidden=6)
    place = np.searchsorted(model.classes_, y)
    Z = model.label_probability_
    assert ((Z >= 0) & (Z <= 1)).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.sample_quality_, Z[np.arange(n_rows), place])
    assert model.n_suspects_ == (Z.argmax(axis=1) != place).sum()
    np.testing.assert_allclose(model.noise_matrix_.sum(axis=1), 1.0)
    assert (model.noise_matrix_ >= 0).all()
    np.testing.assert_allclose(model.class_prior_, Z.mean(axis=0))
    assert model.noise_rate_ == pytest.approx(1 - model.sample_quality_.mean(), abs=1e-12)
    # Shares of the labels, from those of the true classes and the noise
    shares = np.bincount(place) / n_rows
    np.testing.assert_allclose(model.class_prior_ @ model.noise_matrix_, shares, atol=1e-9)
    assert np.isfinite(model.link_matrix_).all()
    if n_classes == 2:
        assert model.link_matrix_[0, 0] > 0
    assert np.isin(np.round(np.log10(n_rows * model.C_)), -np.log10(PENALTIES)).all()


@given(seeds, st.integers(2, 4), st.sampled_from(["frequency", "balanced"]))
def test_predictions_agree_with_scores_and_probabilities(seed, n_classes, probability):
    X, y = clusters(60, n_classes, 1.5, seed)
    model = fit(X, y, n_hidden=5, probability=probability)
    P, scores = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    if len(model.classes_) == 2:
        assert scores.shape == (60,)
        np.testing.assert_array_equal(model.predict(X), model.classes_[(scores >= 0).astype(int)])
        np.testing.assert_array_equal(P[:, 1] >= model.threshold_, scores >= 0)
        np.testing.assert_allclose(logit(P[:, 1]), scores + logit(model.threshold_), atol=1e-6)
    else:
        np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
        np.testing.assert_allclose(P, softmax(scores + np.log(model.thresholds_), axis=1))
    if probability == "balanced":
        likeliest = model.classes_[P.argmax(axis=1)]
        np.testing.assert_array_equal(model.predict(X), likeliest)


def test_predictions_do_not_depend_on_the_rows_beside_them(noisy, monkeypatch):
    X, y = noisy
    model = fit(X, y)
    scores = model.decision_function(X)
    alone = np.concatenate([model.decision_function(X[i : i + 1]) for i in range(len(X))])
    np.testing.assert_allclose(alone, scores, atol=1e-9)
    monkeypatch.setattr(features, "BLOCK_ELEMENTS", 1)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)


@pytest.mark.parametrize("kept_numbers", [0, 1 << 30])
def test_blocks_and_what_is_kept_of_them_change_nothing(noisy, monkeypatch, kept_numbers):
    reference = fit(*noisy)
    monkeypatch.setattr(features, "BLOCK_ELEMENTS", 1)
    monkeypatch.setattr(members, "KEPT_NUMBERS", kept_numbers)
    assert_same(fit(*noisy), reference)


# -- what must change nothing --------------------------------------------------------


@settings(max_examples=15)
@given(seeds, st.integers(2, 3), st.integers(0, 2))
def test_weight_is_repetition_and_weight_zero_absence(seed, n_classes, lowest):
    X, y = clusters(60, n_classes, 2.0, seed)
    weight = np.random.default_rng(seed).integers(lowest, 4, 60)
    weight[[np.flatnonzero(y == c)[0] for c in range(n_classes)]] = 1
    weighted = fit(X, y, n_hidden=8, sample_weight=weight)
    repeated = fit(X.repeat(weight, axis=0), y.repeat(weight), n_hidden=8)
    assert_same(weighted, repeated)
    np.testing.assert_allclose(
        weighted.label_probability_.repeat(weight, axis=0), repeated.label_probability_, atol=1e-7
    )


def test_rows_of_weight_zero_are_judged_but_teach_nothing(noisy):
    X, y = noisy
    weight = np.ones(len(X))
    weight[:40] = 0
    reference = fit(X[40:], y[40:])
    for labels in (y, np.r_[1 - y[:40], y[40:]]):
        model = fit(X, labels, sample_weight=weight)
        assert_same(model, reference)
        np.testing.assert_allclose(model.sample_quality_[40:], reference.sample_quality_, atol=1e-9)
        assert model.n_suspects_ == reference.n_suspects_
        assert ((model.sample_quality_[:40] > 0) & (model.sample_quality_[:40] < 1)).all()


def test_a_label_that_only_rows_of_weight_zero_carry_is_no_class(noisy):
    X, y = noisy
    weight = np.r_[0, 0, np.ones(len(X) - 2)]
    model = fit(X, np.r_[-7, 7, y[2:]], sample_weight=weight)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    np.testing.assert_array_equal(model.sample_quality_[:2], 0.0)
    assert_same(model, fit(X[2:], y[2:]))


@settings(max_examples=15)
@given(seeds, st.integers(2, 4))
def test_order_of_rows_only_orders_the_qualities(seed, n_classes):
    X, y = clusters(70, n_classes, 2.0, seed)
    order = np.random.default_rng(seed).permutation(70)
    model, shuffled = fit(X, y, n_hidden=8), fit(X[order], y[order], n_hidden=8)
    assert_same(model, shuffled)
    np.testing.assert_allclose(shuffled.sample_quality_, model.sample_quality_[order], atol=1e-8)


def test_swapped_classes_mirror_the_fit(noisy):
    """The threshold is between two rows; counted from the other side it may be one row further."""
    X, y = noisy
    model, mirrored = fit(X, y), fit(X, 1 - y)
    assert_same(model, mirrored, ("link_matrix_", "C_", "noise_rate_"))
    np.testing.assert_allclose(mirrored.coef_, model.coef_[:, ::-1], atol=1e-9)
    np.testing.assert_allclose(mirrored.intercept_, model.intercept_[::-1], atol=1e-9)
    np.testing.assert_allclose(mirrored.noise_matrix_, model.noise_matrix_[::-1, ::-1], atol=1e-9)
    np.testing.assert_allclose(mirrored.class_prior_, model.class_prior_[::-1], atol=1e-9)
    np.testing.assert_allclose(mirrored.sample_quality_, model.sample_quality_, atol=1e-9)
    assert (mirrored.predict(X) == model.predict(X)).sum() <= 2
    total = model.decision_function(X) + mirrored.decision_function(X)
    np.testing.assert_allclose(total, total[0], atol=1e-8)


@settings(max_examples=15)
@given(
    seeds,
    st.lists(st.floats(-6, 6), min_size=5, max_size=5),
    st.lists(st.floats(-100, 100), min_size=5, max_size=5),
)
def test_scaling_and_shifting_columns_changes_nothing(seed, exponents, shifts):
    X, y = clusters(60, 2, 2.0, seed)
    scale = 10.0 ** np.array(exponents)
    moved = scale * (X + shifts)
    model, other = fit(X, y, n_hidden=8), fit(moved, y, n_hidden=8)
    np.testing.assert_allclose(
        other.decision_function(moved), model.decision_function(X), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(other.sample_quality_, model.sample_quality_, atol=1e-6)


@pytest.mark.parametrize("value", [-4.0, 1.1, 1e-300, 1e12, 1e200])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_value_of_a_constant_column_does_not_matter(noisy, value, weighted):
    """Not even that of 1e200, of which the last digit is larger than anything else."""
    X, y = noisy
    weight = np.random.default_rng(0).uniform(0.1, 3, len(X)) if weighted else None
    tables = [np.insert(X, 2, constant, axis=1) for constant in (0.0, value)]
    zero, other = (fit(table, y, sample_weight=weight) for table in tables)
    np.testing.assert_allclose(
        other.decision_function(tables[1]), zero.decision_function(tables[0]), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(other.coef_[2], 0.0, atol=1e-5)


@pytest.mark.parametrize("value", [1e12, 1e17, 1e200])
@pytest.mark.parametrize("seed", range(3))
def test_the_last_digits_of_a_large_constant_do_not_matter(noisy, value, seed):
    """Neither those in the table nor those of its weighted mean."""
    X, y = noisy
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.1, 3, len(X))
    rounding = 1 + np.finfo(float).eps * rng.integers(0, 2, len(X))
    tables = [np.column_stack([X, column]) for column in (np.zeros(len(X)), value * rounding)]
    zero, other = (fit(table, y, sample_weight=weight) for table in tables)
    np.testing.assert_allclose(
        other.decision_function(tables[1]), zero.decision_function(tables[0]), rtol=1e-4, atol=1e-4
    )


def test_same_seed_same_model_and_no_seed_another(noisy):
    first, second = fit(*noisy, seed=3), fit(*noisy, seed=3)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.sample_quality_, second.sample_quality_)
    drawn = [fit(*noisy, seed=None).hidden_weights_ for _ in range(2)]
    assert not np.array_equal(*drawn)
    generator = np.random.RandomState(0)
    drawn = [fit(*noisy, seed=generator).hidden_weights_ for _ in range(2)]
    assert not np.array_equal(*drawn)


# -- truths that are known -----------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.2, 0.3, 0.4])
def test_noise_of_classes_far_apart_is_found(n_classes, rate):
    """How much of it, in which rows, and the classes behind it."""
    X, y = clusters(2000, n_classes, 8.0, seed=1)
    X, X_test, y, y_test = X[:1500], X[1500:], y[:1500], y[1500:]
    labels, flipped = flip_uniformly(y, rate, 0)
    model = fit(X, labels)
    assert model.noise_rate_ == pytest.approx(rate, abs=0.05)
    np.testing.assert_allclose(np.diag(model.noise_matrix_), 1 - rate, atol=0.08)
    assert model.score(X_test, y_test) > 0.98
    if rate == 0:
        assert model.n_suspects_ <= 3
        assert model.sample_quality_.min() > 0.5
    else:
        assert roc_auc_score(flipped, -model.sample_quality_) > 0.95
        suspect = model.label_probability_.argmax(axis=1) != labels
        assert flipped[suspect].mean() > 0.95
        right = model.classes_[model.label_probability_[flipped].argmax(axis=1)]
        assert (right == y[flipped]).mean() > 0.75


def test_ten_classes_are_not_taken_for_noise():
    """Every class has fewer rows than the smallest group of anchors."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=600, stratify=y, random_state=0)
    model = fit(X, y)
    assert model.noise_rate_ < 0.01
    assert log_loss(y_test, model.predict_proba(X_test)) < 0.2
    noisy, _ = flip_uniformly(y, 0.2, 0)
    assert fit(X, noisy).noise_rate_ == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("source", [0, 1, 2])
def test_noise_of_one_class_shows_in_its_row_of_the_matrix(source):
    """Less of it than there is: the rate of a class is believed in part, so as not to overdo it."""
    to = (source + 1) % 3
    X, y = clusters(1500, 3, 8.0, seed=2)
    labels, flipped = flip_from_class(y, source, 0.3, 0, to=to)
    model = fit(X, labels)
    wrong = model.noise_matrix_ - np.diag(np.diag(model.noise_matrix_))
    assert np.unravel_index(wrong.argmax(), wrong.shape) == (source, to)
    assert 0.05 < wrong[source, to] < 0.35
    assert np.sort(wrong, axis=None)[-2] < wrong[source, to] / 4
    assert roc_auc_score(flipped, -model.sample_quality_) > 0.95


@pytest.mark.filterwarnings("ignore::robell.models.noise_robust.NoSignalWarning")
def test_imbalanced_and_noisy_it_beats_the_plain_network_and_robell():
    scores = {"ours": [], "RVFL": [], "RoBell": []}
    for seed in range(8):
        X, y = clusters(700, 2, 2.2, seed, shares=[0.88, 0.12])
        labels, _ = flip_uniformly(y[:400], 0.25, seed)
        models = {
            "ours": NoiseRobustRVFLClassifier(random_state=seed),
            "RVFL": make_pipeline(StandardScaler(), RVFLClassifier(random_state=seed)),
            "RoBell": make_pipeline(StandardScaler(), RoBellRVFLClassifier(random_state=seed)),
        }
        for name, model in models.items():
            predicted = model.fit(X[:400], labels).predict(X[400:])
            scores[name].append(balanced_accuracy_score(y[400:], predicted))
    mean = {name: np.mean(values) for name, values in scores.items()}
    assert mean["ours"] > mean["RVFL"] + 0.05
    assert mean["ours"] > mean["RoBell"] + 0.05


def test_three_real_classes():
    X, y = load_wine(return_X_y=True)
    model = NoiseRobustRVFLClassifier(random_state=0)
    assert cross_val_score(model, X, y, cv=5).mean() > 0.95
    assert fit(X, flip_uniformly(y, 0.3, 0)[0]).score(X, y) > 0.9


def test_cleaning_does_something_and_no_rounds_do_not_clean(noisy):
    X, y = noisy
    raw, once = fit(X, y, n_rounds=0), fit(X, y)
    assert np.abs(raw.coef_ - once.coef_).max() > 1e-3
    assert raw.sample_quality_.min() < 0.5  # judged all the same


# -- labels, frames, files, other tools ----------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [False, True], [-1, 1], [2.0, 7.0], np.array(["a", "b"], object)],
    ids=str,
)
def test_labels_of_any_kind(noisy, labels):
    X, y = noisy
    reference, model = fit(X, y), fit(X, np.asarray(labels)[y])
    np.testing.assert_array_equal(model.classes_, np.asarray(labels))
    np.testing.assert_array_equal(model.predict(X), np.asarray(labels)[reference.predict(X)])
    np.testing.assert_array_equal(model.sample_quality_, reference.sample_quality_)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_give_what_arrays_give_and_keep_their_names(noisy, frame):
    X, y = noisy
    names = ["age", "height", "weight", "pulse", "dose"]
    table = frame(dict(zip(names, X.T)))
    series = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    model, reference = fit(table, series), fit(X, y)
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    np.testing.assert_array_equal(model.feature_names_in_, names)
    np.testing.assert_array_equal(model.predict_proba(table), reference.predict_proba(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(dict(zip([*names[1:], "age"], X.T))))


def test_round_trips_through_files(noisy):
    X, y = noisy
    model = fit(X, y)
    stored = BytesIO()
    joblib.dump(model, stored)
    stored.seek(0)
    for restored in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(stored),
        # Nothing but our own class has to be trusted.
        skops.io.loads(
            skops.io.dumps(model), trusted=["robell.models.noise_robust.NoiseRobustRVFLClassifier"]
        ),
    ):
        np.testing.assert_array_equal(restored.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(restored.sample_quality_, model.sample_quality_)


def test_clone_pipeline_and_search(noisy):
    X, y = noisy
    pipeline = make_pipeline(StandardScaler(), NoiseRobustRVFLClassifier(random_state=0))
    plain = fit(X, y)
    scaled = clone(pipeline).fit(X, y)
    np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), atol=1e-7)
    grid = {
        "noiserobustrvflclassifier__n_hidden": [5, 20],
        "noiserobustrvflclassifier__n_rounds": [0, 1],
    }
    search = GridSearchCV(pipeline, grid, cv=3, scoring="balanced_accuracy").fit(X, y)
    assert search.best_params_.keys() == grid.keys()
    assert search.best_score_ > 0.6
    copy = clone(plain)
    assert copy.get_params() == plain.get_params()
    assert not hasattr(copy, "coef_")


# -- hard tables ---------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e307])
def test_huge_and_tiny_values(scale):
    X, y = clusters(100, separation=4.0)
    model = fit(X * scale, y)
    assert model.score(X * scale, y) > 0.95
    assert np.isfinite(model.sample_quality_).all()


def hard_tables():
    rng = np.random.default_rng(0)
    X, y = clusters(80)
    return {
        "one column": (X[:, :1], y),
        "one constant column": (np.full((80, 1), 3.3), y),
        "all columns constant, fewer rows than nodes": (
            np.full((6, 3), 3.3),
            y[:6] * 0 + [0, 1] * 3,
        ),
        "all columns constant, more rows than nodes": (np.zeros((200, 2)), np.arange(200) % 2),
        "two rows": (X[:2], [0, 1]),
        "two equal rows": (X[[0, 0]], [0, 1]),
        "a row a class": (X[:3], [0, 1, 2]),
        "a class of one row": (X, np.r_[1, np.zeros(79)]),
        "a class of one row of three": (X, np.r_[2, y[1:]]),
        "fewer rows than columns": (rng.normal(size=(12, 300)), np.arange(12) % 2),
        "random labels": (rng.normal(size=(300, 4)), rng.integers(0, 2, 300)),
        "every row twice, both labels": (np.repeat(X, 2, axis=0), np.tile([0, 1], 80)),
        "half of the labels wrong": (X, flip_uniformly(y, 0.5, 0)[0]),
        "all labels wrong": (X, 1 - y),
        "mostly zeros": (np.where(rng.random((80, 5)) < 0.97, 0.0, X), y),
        "integers": (rng.integers(0, 3, (80, 3)), y),
        "twenty classes, one with most rows": (
            np.vstack([X, X, X, X]),
            np.r_[np.zeros(300, int), np.arange(20)],
        ),
        "rounding in a large constant": (
            np.column_stack([X, 1e17 * (1 + np.finfo(float).eps * rng.integers(0, 2, 80))]),
            y,
        ),
    }


@pytest.mark.filterwarnings("ignore::robell.models.noise_robust.NoSignalWarning")
@pytest.mark.parametrize("name", list(hard_tables()))
def test_hard_tables_give_finite_probabilities(name):
    X, y = hard_tables()[name]
    model = fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    Z = model.label_probability_
    np.testing.assert_allclose(Z.sum(axis=1), 1.0)
    assert (Z >= 0).all()
    np.testing.assert_allclose(model.noise_matrix_.sum(axis=1), 1.0)
    assert ((model.noise_matrix_ >= 0) & (model.noise_matrix_ <= 1)).all()
    assert 0 <= model.noise_rate_ <= 0.75
    assert np.isfinite(model.coef_).all()


# -- a model that may be lost says so ------------------------------------------------


def test_a_row_left_out_moves_the_constant_away_from_its_label():
    """Literally: the mean target of balanced classes, with and without the row and its copies."""
    rng = np.random.default_rng(0)
    X, Z = rng.integers(0, 4, (30, 2)) / 1.0, rng.dirichlet([1.0, 1.0, 1.0], 30)
    multiplicity = rng.integers(1, 4, 30) / 1.0
    moves = members.moves_of_constant(distinct_rows(X), multiplicity, Z)
    shares = multiplicity @ Z / multiplicity.sum()
    w = multiplicity * (Z / shares / 3).sum(axis=1)
    for i in range(30):
        rest = (X[i] != X).any(axis=1)
        moved = np.average(Z[rest], axis=0, weights=w[rest]) - np.average(Z, axis=0, weights=w)
        np.testing.assert_allclose(moves[i], moved, atol=1e-12)


def random_labels(seed, n=160, share=0.5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1 + seed % 6)), (rng.random(n) < share).astype(int)


def told(X, y, **weights):
    """Return the p-value that a fit warns of, None where it does not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        NoiseRobustRVFLClassifier(random_state=0).fit(X, y, **weights)
    assert all(warning.category is NoSignalWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return float(re.search(r"p = ([.\d]+)\)", str(caught[0].message))[1]) if caught else None


@pytest.mark.parametrize("share", [0.5, 0.15])
def test_fits_to_random_labels_say_that_nothing_shows_they_know_more_than_chance(share):
    p_values = [told(*random_labels(seed, share=share)) for seed in range(20)]
    assert p_values.count(None) <= 4  # one in twenty is expected
    known = [p for p in p_values if p is not None]
    assert 0.3 < np.mean(known) < 0.7  # neither better nor worse than chance


def test_fits_that_know_something_and_those_to_few_rows_say_nothing():
    X, y = clusters(150, separation=2.0)
    assert told(X, y) is None
    assert told(X, flip_uniformly(y, 0.3, 0)[0]) is None
    assert told(*random_labels(1, n=100)) is None
    assert told(*random_labels(1, n=101)) is not None
    assert told(np.zeros((300, 2)), np.arange(300) % 2) is None  # one distinct row


def test_a_weight_of_two_is_the_row_twice_in_the_warning_too():
    X, y = random_labels(2)
    twice = np.r_[np.arange(160), np.arange(50)]
    weights = np.bincount(twice)
    assert told(X, y, sample_weight=weights) == told(X[twice], y[twice]) is not None
    thousandths = told(X, y, sample_weight=np.full(160, 1e-3))
    assert thousandths == pytest.approx(told(X, y), abs=0.1)  # not as of 0.16 rows


def test_the_judge_speaks_up_inside_others_and_audits_say_it_themselves():
    X, y = random_labels(4, n=200)
    with pytest.warns(NoSignalWarning, match="better than guessing"):
        find_label_issues(X, y, random_state=0)
    with pytest.warns(NoSignalWarning, match="better than guessing"):
        NoiseRobustClassifier(LogisticRegression(), random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])]).assign(y=y)
    assert audit(frame, "y").trust == "none"  # without a warning
    assert fit_table(frame, "y").trust == "none"


def test_equal_rows_with_either_label_are_a_coin_toss():
    model = fit(np.full((40, 2), 5.0), np.arange(40) % 2)
    np.testing.assert_allclose(model.predict_proba([[5.0, 5.0]]), 0.5, atol=1e-6)


def test_a_column_constant_in_training_but_not_later(noisy):
    X, y = noisy
    model = fit(np.column_stack([X, np.full(len(X), 2.0)]), y)
    for value in (2.0, 3.0, -1e6):
        P = model.predict_proba(np.column_stack([X, np.full(len(X), value)]))
        np.testing.assert_allclose(P.sum(axis=1), 1.0)


@settings(max_examples=20)
@given(st.floats(1e100, 1e308))
def test_rows_too_far_away_are_refused_rather_than_guessed(distance):
    X, y = clusters(60)
    model = fit(X, y, n_hidden=5)
    far = np.full((1, 5), distance)
    with np.errstate(over="ignore"):
        overflows = not np.isfinite(model._class_scores(far) @ model.link_matrix_).all()
    if overflows:
        with pytest.raises(ValueError, match="overflow"):
            model.predict_proba(far)
    else:
        np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1.0)


# -- clear errors --------------------------------------------------------------------


def refusal(call, *arguments, **options):
    with pytest.raises((ValueError, NotFittedError)) as error:
        call(*arguments, **options)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_bad_input_is_refused_in_one_line(noisy):
    X, y = noisy
    new = NoiseRobustRVFLClassifier(random_state=0)
    assert "one class" in refusal(new.fit, X, np.ones(len(X), int))
    only_first = (y == 0).astype(float)
    assert "one class" in refusal(new.fit, X, y, sample_weight=only_first)
    broken = X.copy()
    broken[3, 1] = np.nan
    assert "NaN (column 1, row 3)" in refusal(new.fit, broken, y)
    broken[3, 1] = np.inf
    assert "column 1, row 3" in refusal(new.fit, broken, y)
    assert "X must be numeric" in refusal(new.fit, [["a"], ["b"]], [0, 1])
    assert "continuous" in refusal(new.fit, X, X[:, 0])
    assert "negative" in refusal(new.fit, X, y, sample_weight=-np.ones(len(X)))
    assert "finite" in refusal(new.fit, X, y, sample_weight=np.full(len(X), np.nan))
    assert "all are zero" in refusal(new.fit, X, y, sample_weight=np.zeros(len(X)))
    assert "shape" in refusal(new.fit, X, y, sample_weight=np.ones(3))
    assert "not fitted" in refusal(NoiseRobustRVFLClassifier().predict, X)
    model = fit(X, y)
    assert "expecting 5 features" in refusal(model.predict, X[:, :2])
    assert "NaN (column 0, row 0)" in refusal(model.predict_proba, np.full((1, 5), np.nan))


@pytest.mark.parametrize(
    "parameters", [{"n_hidden": 0}, {"n_hidden": 2.5}, {"n_rounds": -1}, {"random_state": "seed"}]
)
def test_bad_parameters_are_refused_by_name(noisy, parameters):
    message = refusal(NoiseRobustRVFLClassifier(**parameters).fit, *noisy)
    assert next(iter(parameters)) in message


# -- probabilities and thresholds ----------------------------------------------------


@pytest.fixture(scope="module")
def rare():
    """Training rows with a fifth of the labels wrong, true labels, and 3,000 rows unseen."""
    X, y = clusters(4000, separation=2.0, seed=5, shares=[0.92, 0.08])
    noisy, _ = flip_uniformly(y[:1000], 0.2, 1)
    return X[:1000], noisy, y[:1000], X[1000:], y[1000:]


def test_probabilities_are_frequencies_of_the_true_classes(rare):
    X, noisy, _, X_test, y_test = rare
    model = fit(X, noisy)
    P = model.predict_proba(X_test)[:, 1]
    assert P.mean() == pytest.approx(y_test.mean(), abs=0.03)
    assert expected_calibration_error(y_test, P) < 0.04
    balanced = fit(X, noisy, probability="balanced")
    assert expected_calibration_error(y_test, balanced.predict_proba(X_test)) > 0.06
    np.testing.assert_array_equal(model.predict(X_test), balanced.predict(X_test))
    assert balanced.threshold_ == 0.5
    assert balanced_accuracy_score(y_test, model.predict(X_test)) > 0.8


def test_predict_is_scikit_learns_own_cut_at_that_threshold(rare):
    X, noisy, _, X_test, _ = rare
    model = fit(X, noisy)
    fixed = FixedThresholdClassifier(
        FrozenEstimator(model), threshold=model.threshold_, response_method="predict_proba"
    )
    np.testing.assert_array_equal(fixed.fit(X, noisy).predict(X_test), model.predict(X_test))


def test_thresholds_asked_for_hold_on_unseen_rows(rare):
    X, noisy, _, X_test, y_test = rare
    model = fit(X, noisy)
    default = model.threshold_

    def outcome(**asked):
        predicted = model.choose_threshold(**asked).predict(X_test)
        precision = precision_score(y_test, predicted, zero_division=1.0)
        return recall_score(y_test, predicted), precision, predicted.mean()

    assert outcome(recall=0.9)[0] > 0.8
    assert outcome(precision=0.8)[1] > 0.65
    assert outcome(budget=0.05)[2] == pytest.approx(0.05, abs=0.02)
    assert outcome(cost_fn=50, cost_fp=1)[0] > outcome(cost_fn=1, cost_fp=50)[0] + 0.2
    assert outcome(precision=1.0)[2] < 0.05
    assert fit(X, noisy).threshold_ == default


def test_costs_cut_where_a_probability_of_their_ratio_would(rare):
    """Expected costs are equal where P = cost_fp / (cost_fn + cost_fp), if P are frequencies."""
    X, noisy, *_ = rare
    for ratio in (1 / 3, 1 / 11):
        model = fit(X, noisy).choose_threshold(cost_fn=1 / ratio - 1, cost_fp=1)
        assert model.threshold_ == pytest.approx(ratio, abs=0.15)


def test_thresholds_are_refused_in_one_line(noisy):
    model = fit(*noisy, n_hidden=5)
    assert "give cost_fn and cost_fp, or one of" in refusal(model.choose_threshold)
    assert "cost_fn needs cost_fp too" in refusal(model.choose_threshold, cost_fn=1.0)
    assert "or one of" in refusal(model.choose_threshold, recall=0.5, budget=0.5)
    assert "or one of" in refusal(model.choose_threshold, recall=0.5, cost_fn=1, cost_fp=1)
    for bad in (0, -0.5, 1.5, np.nan, "half", True):
        assert "recall must be a number, in (0, 1]" in refusal(model.choose_threshold, recall=bad)
    assert "cost_fp must be" in refusal(model.choose_threshold, cost_fn=1, cost_fp=0)
    assert "not fitted" in refusal(NoiseRobustRVFLClassifier().choose_threshold, recall=0.5)
    X, y = clusters(60, 3)
    assert "set thresholds_" in refusal(fit(X, y, n_hidden=5).choose_threshold, recall=0.5)


@pytest.mark.parametrize("probability", ["frequency", "balanced"])
@pytest.mark.parametrize("counts", [(90, 10), (20, 80), (55, 45), (50, 30, 20), (20, 25, 30)])
def test_of_equal_rows_the_most_frequent_class_is_predicted(probability, counts):
    y = np.repeat(np.arange(len(counts)), counts)
    for X in (np.ones((len(y), 3)), np.full((len(y), 1), 1e9), np.zeros((len(y), 1))):
        model = fit(X, y, n_hidden=5, probability=probability)
        scores = model.decision_function(X)
        place = (scores > 0).astype(int) if len(counts) == 2 else scores.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), model.classes_[place])
        assert (model.predict(X) == np.argmax(counts)).all()


def test_scores_are_above_zero_just_where_a_threshold_is_reached(rare):
    X, noisy, _, X_test, _ = rare
    model = fit(X, noisy, n_hidden=20)
    P = model.predict_proba(X_test)[:, 1]
    order = np.argsort(model.decision_function(X_test), kind="stable")
    at_rows = [float(P[row]) for row in (0, 1, P.argmin(), P.argmax())]  # reached exactly
    for threshold in [0.0, 1e-300, 1e-15, 0.5, 1.0 - 1e-16, 1.0, np.inf, *at_rows]:
        model.threshold_ = threshold
        scores = model.decision_function(X_test)
        np.testing.assert_array_equal(scores > 0, threshold <= P)
        np.testing.assert_array_equal(scores < 0, threshold > P)
        np.testing.assert_array_equal(model.predict(X_test) == model.classes_[1], scores > 0)
        assert (np.diff(scores[order]) >= 0).all()


def test_thresholds_of_several_classes_may_be_set():
    X, y = clusters(300, 3, 1.0)
    model = fit(X, y, n_hidden=5)
    before = np.bincount(model.predict(X), minlength=3)
    model.thresholds_ = model.thresholds_ * [1.0, 5.0, 1.0]
    after = np.bincount(model.predict(X), minlength=3)
    assert after[1] < before[1]


# -- stated limits -------------------------------------------------------------------


def test_sixty_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 10)
    X = rng.normal(size=(60, 8))[y] * 3 + 0.3 * rng.normal(size=(600, 8))
    model = fit(X, flip_uniformly(y, 0.1, 0)[0])
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_ten_thousand_columns_more_than_rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 10_000))
    X[:, :50] += 2.0 * y[:, None]
    model = fit(X[:40], y[:40])
    assert model.score(X[40:], y[40:]) > 0.7


def test_beyond_one_half_the_model_is_mirrored():
    X, y = clusters(400, separation=5.0)
    labels, _ = flip_uniformly(y, 0.8, 0)
    model = fit(X, labels)
    assert model.score(X, y) < 0.1
    assert model.noise_rate_ < 0.5


def test_one_that_was_saved_before_columns_were_chosen_sees_all_of_them(imbalanced):
    X, y = imbalanced
    model = NoiseRobustRVFLClassifier(random_state=0).fit(X, y)
    before = copy.deepcopy(model)
    before.kernel_columns_ = np.arange(X.shape[1])
    state = {name: value for name, value in vars(before).items() if name != "kernel_columns_"}
    loaded = clone(model)
    loaded.__setstate__(state)
    np.testing.assert_array_equal(loaded.predict_proba(X), before.predict_proba(X))


@pytest.mark.parametrize("share", [[0.1, 0.9], [0.1, 0.85, 0.15], [0.9, 0.1, 0.8, 0.05, 0.2]])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_few_kinds_of_rows_are_judged_by_their_own_labels(share, noise):
    # With all its copies left out a kind of row would be told by the other kinds alone.
    wrong = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        kind = rng.integers(0, len(share), 600)
        X = kind[:, None].astype(float) if len(share) < 4 else np.eye(len(share))[kind]
        y = (rng.random(600) < np.array(share)[kind]).astype(int)
        y = np.where(rng.random(600) < noise, 1 - y, y)
        model = NoiseRobustRVFLClassifier(random_state=seed).fit(X, y)
        likely = np.array(share)[kind] > 0.5
        wrong += len(np.unique(kind[model.predict(X) != likely]))
        P = model.predict_proba(X)[:, 1]
        assert P[likely].min() > P[~likely].max()
    assert wrong <= 1  # of 6 to 15 kinds


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8])
def test_a_new_value_in_a_column_that_was_constant_changes_nothing(constant):
    """It went through random nodes that had learnt nothing of it: probabilities moved by .15."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
    X[:, 2] = constant
    model = NoiseRobustRVFLClassifier(random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    X[:, 2] = constant - 7.0
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_the_kernel_looks_at_no_constant_column_where_none_says_anything():
    """A new value in it moved probabilities by .11: all columns counted in distances."""
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.normal(size=(200, 3)), np.zeros(200)]), rng.integers(0, 2, 200)
    with pytest.warns(NoSignalWarning):
        model = NoiseRobustRVFLClassifier(random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    assert model.kernel_columns_.tolist() == [0, 1, 2]
    X[:, 3] = 5.0
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)
