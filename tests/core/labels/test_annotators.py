"""Annotators: the equations against loops, and known annotators recovered."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robell._core.labels.annotators as core
from robell._core.labels.annotators import (
    ANNOTATOR_STRENGTH,
    CLASS_STRENGTH,
    FIRST_ACCURACY,
    Votes,
    confusion_matrices,
    expected_gain,
    fit_annotators,
    log_likelihood,
    shares_of_votes,
    true_classes,
)


def some_votes(seed, n=30, J=4, K=3, coverage=0.6):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, K, (n, J))
    row, annotator = np.nonzero(rng.random((n, J)) < coverage)
    Z = rng.dirichlet(np.ones(K), n)
    return Votes(row, annotator, table[row, annotator], n, J, K), Z, rng.integers(1, 4, n) * 1.0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.6, 1.0]))
def test_equations_equal_loops(seed, coverage):
    votes, Z, weight = some_votes(seed, coverage=coverage)
    n, J, K = votes.n_rows, votes.n_annotators, votes.n_classes
    counts = np.zeros((J, K, K))
    for i, j, label in zip(votes.row, votes.annotator, votes.label):
        for z in range(K):
            counts[j, z, label] += weight[i] * Z[i, z]
    right, total = sum(np.trace(c) for c in counts), counts.sum()
    common = (right + 2 * FIRST_ACCURACY) / (total + 2)
    expected = np.empty((J, K, K))
    for j in range(J):
        accuracy = np.trace(counts[j]) + ANNOTATOR_STRENGTH * common
        accuracy = max(accuracy / (counts[j].sum() + ANNOTATOR_STRENGTH), 1 / K)
        for z in range(K):
            for label in range(K):
                even = accuracy if label == z else (1 - accuracy) / (K - 1)
                expected[j, z, label] = (counts[j, z, label] + CLASS_STRENGTH * even) / (
                    counts[j, z].sum() + CLASS_STRENGTH
                )
    found = confusion_matrices(votes, Z, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    logs = np.zeros((n, K))
    for i, j, label in zip(votes.row, votes.annotator, votes.label):
        logs[i] += np.log(expected[j, :, label])
    np.testing.assert_allclose(log_likelihood(votes, found), logs, atol=1e-12)
    joint = Z * np.exp(logs)
    np.testing.assert_allclose(
        true_classes(Z, logs), joint / joint.sum(axis=1, keepdims=True), rtol=1e-3, atol=1e-5
    )


def test_expected_gain_equals_its_definition():
    votes, Z, weight = some_votes(3)
    confusions = confusion_matrices(votes, Z, weight)
    found = expected_gain(Z, confusions)
    for i in range(5):
        for j in range(votes.n_annotators):
            surer = 0.0
            for label in range(votes.n_classes):
                joint = Z[i] * confusions[j, :, label]
                surer += joint.sum() * (joint / joint.sum()).max()
            assert found[i, j] == pytest.approx(surer - Z[i].max(), abs=1e-12)


def test_weights_are_repetitions():
    votes, _, weight = some_votes(5)
    Z, confusions = fit_annotators(votes, weight)
    copies = np.repeat(np.arange(votes.n_rows), weight.astype(int))
    parts = [np.flatnonzero(votes.row == i) for i in copies]
    every = np.concatenate(parts)
    again = Votes(
        np.repeat(np.arange(len(copies)), [len(part) for part in parts]),
        votes.annotator[every],
        votes.label[every],
        len(copies),
        votes.n_annotators,
        votes.n_classes,
    )
    Z_again, confusions_again = fit_annotators(again, np.ones(len(copies)))
    np.testing.assert_allclose(confusions, confusions_again, atol=1e-9)
    np.testing.assert_allclose(Z[copies], Z_again, atol=1e-9)


@pytest.mark.parametrize("each", [0.5, 1.0, 1e9])
def test_a_row_without_labels_has_the_shares_of_the_classes(each):
    """One row more of each class is counted, and no class is rarer than one in a million."""
    labels = np.array([0, 0, 0, 1, 0, 0, 0, 1])  # of four rows by two annotators; none of class 2
    votes = Votes(np.repeat(np.arange(4), 2), np.tile([0, 1], 4), labels, 5, 2, 3)
    weight = np.full(5, each)
    Z, _ = fit_annotators(votes, weight)
    expected = np.maximum((weight @ Z + 1.0) / (weight.sum() + 3.0), 1e-6)
    np.testing.assert_allclose(Z[4], expected / expected.sum(), rtol=1e-2)


def test_known_annotators_are_recovered():
    rng = np.random.default_rng(0)
    n, truth = 3000, np.array([[[0.95, 0.05], [0.1, 0.9]], [[0.7, 0.3], [0.3, 0.7]]] * 2)
    z = (rng.random(n) < 0.3).astype(int)
    table = np.stack([(rng.random(n) > confusion[z, 0]).astype(int) for confusion in truth], axis=1)
    row, annotator = np.nonzero(np.ones_like(table))
    votes = Votes(row, annotator, table[row, annotator], n, 4, 2)
    Z, found = fit_annotators(votes, np.ones(n))
    np.testing.assert_allclose(found, truth, atol=0.06)
    known = confusion_matrices(votes, np.eye(2)[z], np.ones(n))
    np.testing.assert_allclose(known, truth, atol=0.04)
    assert (Z.argmax(axis=1) == z).mean() > 0.95


def test_whom_to_ask_is_the_same_block_by_block(monkeypatch):
    rng = np.random.default_rng(0)
    Z, confusions = rng.dirichlet(np.ones(3), 40), rng.dirichlet(np.ones(3), (5, 3))
    labelled = rng.random((40, 5)) < 0.5
    labelled[7] = True  # all have labelled it
    row, annotator = np.nonzero(labelled)
    shuffled = rng.permutation(len(row))
    votes = core.Votes(row[shuffled], annotator[shuffled], row * 0, 40, 5, 3)
    gain = core.expected_gain(Z, confusions)
    monkeypatch.setattr(core, "LARGEST_BLOCK", 60)
    best, most = core.best_to_ask(Z, confusions, None)
    np.testing.assert_array_equal(best, gain.argmax(axis=1))
    np.testing.assert_array_equal(most, gain.max(axis=1))
    gain[labelled] = -1.0
    best, most = core.best_to_ask(Z, confusions, votes)
    np.testing.assert_array_equal(most, gain.max(axis=1))
    assert most[7] == -1.0
    assert not labelled[np.arange(40), best][most >= 0].any()


def test_shares_of_votes_add_one_vote_that_is_spread_like_all():
    votes = Votes(np.array([0, 0, 1, 3]), np.array([0, 1, 0, 1]), np.array([2, 2, 0, 1]), 4, 2, 3)
    weight = np.array([1.0, 2.0, 1.0, 3.0])
    common = np.array([2.0 + 1.0, 3.0 + 1.0, 2.0 + 1.0]) / (7.0 + 3.0)  # one vote more for each
    found = shares_of_votes(votes, weight)
    np.testing.assert_allclose(found[0], (np.array([0.0, 0.0, 2.0]) + common) / 3.0)
    np.testing.assert_allclose(found[1], (np.array([1.0, 0.0, 0.0]) + common) / 2.0)
    np.testing.assert_allclose(found[2], common)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_a_class_that_is_ruled_out_counts_as_one_in_a_million():
    likelihood = np.log([[1e-3, 2.0]])
    expected = np.array([1e-3, 2e-6]) / (1e-3 + 2e-6)
    np.testing.assert_allclose(true_classes(np.array([[1.0, 0.0]]), likelihood)[0], expected)
