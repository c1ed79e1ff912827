"""Peers that look for wrong labels: cleanlab's scores, and areas under the margin.

Every one gives the rows a quality of their label, larger where it is likelier right, from the rows
and the noisy labels alone.

Cleanlab ranks by out-of-fold probabilities of a classifier, in three ways (self-confidence,
normalised margin, confidence-weighted entropy).

The area under the margin (Pleiss et al. 2020, arXiv 2001.10528): while a model is trained by
gradients, the margin of a row at step t is the score of its given label less the largest of the
other classes, and its area the mean over the steps,

    AUM(x, y) = 1/T Σ_t [ z_y^t(x) - max_{k != y} z_k^t(x) ].

Wrong labels are learned late, against the pull of rows like them, so their area is small. Two
models: softmax regression by stochastic gradients on standardised columns, one step a row and
epoch in batches, margins taken after each epoch; and boosting, margins of its raw scores after
each stage.
"""

from __future__ import annotations

import warnings

import numpy as np

from robell._tools.optional import require

EXTRA = "robustness"
FOLDS = 5
SCORES = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
AREA = "area_under_margin"
EPOCHS, BATCH, RATE, PENALTY = 30, 32, 0.1, 1e-3


def by_cleanlab(classifier, X, y, seed):
    """Return cleanlab's three qualities of every label; classes are numbered from 0."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Noise may leave a class with fewer rows than folds; the peers do what they can.
        warnings.filterwarnings("ignore", message="The least populated class")
        P = cross_val_predict(classifier, X, y, cv=folds, method="predict_proba", n_jobs=1)
    rank = require("cleanlab.rank", EXTRA).get_label_quality_scores
    return {
        # cleanlab refuses to shift probabilities for its entropy score
        score: rank(y, P, method=score, adjust_pred_probs=False)
        for score in SCORES
    }


def by_softmax_margins(X, y, seed):
    """Return the areas under the margins of softmax regression trained by stochastic gradients."""
    from sklearn.preprocessing import StandardScaler

    X = StandardScaler().fit_transform(X)
    X = np.column_stack([np.ones(len(X)), X])
    targets = np.eye(y.max() + 1)[y]
    W = np.zeros((X.shape[1], targets.shape[1]))
    random = np.random.default_rng(seed)
    total = np.zeros(len(y))
    for _ in range(EPOCHS):
        order = random.permutation(len(y))
        for start in range(0, len(y), BATCH):
            rows = order[start : start + BATCH]
            W -= RATE * (_gradient(X[rows], targets[rows], W) + PENALTY * W)
        total += margin_of_label(X @ W, y)
    return {AREA: total / EPOCHS}


def _gradient(X, targets, W):
    """Return the gradient of the mean log loss of some rows."""
    from scipy.special import softmax

    return X.T @ (softmax(X @ W, axis=1) - targets) / len(X)


def by_boosting_margins(X, y, seed):
    """Return the areas under the margins of the raw scores after every stage of boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(early_stopping=False, random_state=seed).fit(X, y)
    total, n_stages = np.zeros(len(y)), 0
    for scores in model.staged_decision_function(X):
        if scores.ndim == 1 or scores.shape[1] == 1:
            scores = np.column_stack([-scores.ravel(), scores.ravel()]) / 2
        total += margin_of_label(scores, y)
        n_stages += 1
    return {AREA: total / n_stages}


def margin_of_label(scores, y):
    """Return the score of every row's label less the largest of the other classes."""
    rows = np.arange(len(y))
    others = scores.copy()
    others[rows, y] = -np.inf
    return scores[rows, y] - others.max(axis=1)
