"""Several annotators: what each of them confuses, and the true classes, from all their labels.

Row i has a true class z_i that nobody knows; annotator j gives it the label l with probability
π_j[z, l]. With P(z | x_i) from a classifier that has not seen the row, the true class has

    P(z | x_i, labels) ∝ P(z | x_i) Π_j π_j[z, l_ij]                       (the labels of row i)

and, the other way round, with Z_iz = P(z | x_i, labels), shares of what each annotator said give

    π_j[z, l] = (Σ_i Z_iz [l_ij = l] + α ρ_j[z, l]) / (Σ_i Z_iz [j labelled i] + α).

ρ_j is an annotator who errs equally often in all classes and towards all of them, as often as j
does on the whole; how often that is, is drawn to the mean of all annotators in turn. Annotators
with few labels are therefore taken for average ones, classes with few rows for average classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from robell._core.array import Array, Places

# Both chosen on simulated annotators of 31 tables: labels that a class of an annotator, and an
# annotator on the whole, are believed to have given before they gave any.
CLASS_STRENGTH = 10.0
ANNOTATOR_STRENGTH = 20.0
FIRST_ACCURACY = 0.7  # of all annotators, worth two labels
SMALLEST_PROBABILITY = 1e-6
EM_STEPS = 50
EM_TOLERANCE = 1e-3
LARGEST_BLOCK = 1 << 22  # numbers


class Votes(NamedTuple):
    """All labels given, one entry a label; places of its row, its annotator and its class."""

    row: Places
    annotator: Places
    label: Places
    n_rows: int
    n_annotators: int
    n_classes: int


def count_votes(votes: Votes) -> Array:
    """Return how many annotators gave each row each label, (A, K)."""
    size = votes.n_rows * votes.n_classes
    counts = np.bincount(votes.row * votes.n_classes + votes.label, minlength=size)
    return counts.reshape(votes.n_rows, votes.n_classes).astype(np.float64)


def shares_of_votes(votes: Votes, weight: Array) -> Array:
    """Return each row's shares of votes, with one vote added that is spread like all the votes."""
    counts = count_votes(votes)
    all_votes = weight @ counts
    common = (all_votes + 1.0) / (all_votes.sum() + votes.n_classes)
    return np.asarray((counts + common) / (counts.sum(axis=1, keepdims=True) + 1.0))


def confusion_matrices(votes: Votes, Z: Array, weight: Array) -> Array:
    """Return π_j[z, l] of every annotator, (J, K, K), from probabilities Z of the true classes."""
    n_annotators, K = votes.n_annotators, votes.n_classes
    place = votes.annotator * K + votes.label
    mass = weight[votes.row]
    counts = np.stack(
        [
            np.bincount(place, mass * Z[votes.row, z], n_annotators * K).reshape(n_annotators, K)
            for z in range(K)
        ],
        axis=1,
    )
    right = np.trace(counts, axis1=1, axis2=2)
    given = counts.sum(axis=(1, 2))
    common = (right.sum() + 2.0 * FIRST_ACCURACY) / (given.sum() + 2.0)
    accuracy = (right + ANNOTATOR_STRENGTH * common) / (given + ANNOTATOR_STRENGTH)
    # Somebody worse than chance would be read backwards, which few labels cannot justify.
    accuracy = np.maximum(accuracy, 1.0 / K)
    even = np.repeat(((1.0 - accuracy) / (K - 1))[:, None, None], K, axis=1).repeat(K, axis=2)
    even[:, np.arange(K), np.arange(K)] = accuracy[:, None]
    shrunk = counts + CLASS_STRENGTH * even
    return np.asarray(shrunk / shrunk.sum(axis=2, keepdims=True))


def log_likelihood(votes: Votes, confusions: Array) -> Array:
    """Return Σ_j log π_j[z, l_ij] for every row and true class, (A, K); 0 for rows without."""
    logs = np.log(np.maximum(confusions, SMALLEST_PROBABILITY))
    columns = [
        np.bincount(votes.row, logs[votes.annotator, z, votes.label], votes.n_rows)
        for z in range(votes.n_classes)
    ]
    return np.stack(columns, axis=1)


def true_classes(prior: Array, likelihood: Array) -> Array:
    """Return P(z | x, labels) from P(z | x) and the logarithms of the labels' likelihood."""
    logs = np.log(np.maximum(prior, SMALLEST_PROBABILITY))
    return np.asarray(softmax(logs + likelihood, axis=1))


def fit_annotators(votes: Votes, weight: Array) -> tuple[Array, Array]:
    """Return P(z | labels) and confusions by Dawid and Skene's model (1979), confusions shrunk."""
    Z = shares_of_votes(votes, weight)
    confusions = confusion_matrices(votes, Z, weight)
    for _ in range(EM_STEPS):
        prior = (weight @ Z + 1.0) / (weight.sum() + votes.n_classes)
        before, Z = Z, true_classes(prior[None, :], log_likelihood(votes, confusions))
        confusions = confusion_matrices(votes, Z, weight)
        if np.abs(Z - before).max() < EM_TOLERANCE:
            break
    return Z, confusions


def label_quality(votes: Votes, Z: Array) -> Array:
    """Return the probability that each label given is right."""
    return np.asarray(Z[votes.row, votes.label])


def expected_gain(Z: Array, confusions: Array) -> Array:
    """Return how much surer of a row's class one more label of each annotator makes, (A, J)."""
    # A label l of annotator j turns Z_iz into one proportional to Z_iz π_j[z, l], and is expected
    # with probability Σ_z Z_iz π_j[z, l]. Sureness is the probability of the likeliest class:
    #     Σ_l max_z Z_iz π_j[z, l] - max_z Z_iz
    n_rows, K = Z.shape
    n_annotators = len(confusions)
    gain = np.empty((n_rows, n_annotators))
    step = max(1, LARGEST_BLOCK // (n_annotators * K * K))
    for start in range(0, n_rows, step):
        block = Z[start : start + step, None, :, None] * confusions[None]  # (n, J, K, K)
        gain[start : start + step] = block.max(axis=2).sum(axis=2)
    return np.asarray(np.maximum(gain - Z.max(axis=1, keepdims=True), 0.0))


def best_to_ask(Z: Array, confusions: Array, votes: Votes | None) -> tuple[Places, Array]:
    """Return each row's annotator of the largest gain who has not labelled it; the gain, or -1."""
    n_rows, n_annotators = len(Z), len(confusions)
    best, gain = np.zeros(n_rows, np.intp), np.full(n_rows, -1.0)
    order = np.empty(0, np.intp) if votes is None else np.argsort(votes.row, kind="stable")
    rows = order if votes is None else votes.row[order]
    step = max(1, LARGEST_BLOCK // n_annotators)
    for start in range(0, n_rows, step):
        block = expected_gain(Z[start : start + step], confusions)
        if votes is not None:
            first, last = np.searchsorted(rows, [start, start + step])
            taken = order[first:last]
            block[votes.row[taken] - start, votes.annotator[taken]] = -1.0
        chosen = block.argmax(axis=1)
        best[start : start + step] = chosen
        gain[start : start + step] = block[np.arange(len(block)), chosen]
    return best, gain
