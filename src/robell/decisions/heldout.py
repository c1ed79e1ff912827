"""Every row predicted by a model that has not seen it, and what that says about the model."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

from robell._core.array import one_hot
from robell._core.labels.link import fit_slope
from robell._core.ridge.calibrate import fit_calibration
from robell._tools.progress import Progress
from robell.labels.unseen import fitted_to_other_folds, random_folds, stratified_sample
from robell.models.thresholded import calibrated, class_scores

MOST_ROWS = 20_000  # held out once each; of a larger table, a sample of so many
FOLDS, FOLDED_ROWS = 5, 6_000  # five folds up to so many rows, three beyond
FAR = 1e6  # less than any score: a class that a fold's training rows lack


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of rows by models that have not seen them.

    `places` are the rows' places in the table, `codes` their labels, `folds` who hid them, `scores`
    one a class, divided by `spread`; `models` are the models of the folds, each with `seconds`.
    """

    places: np.ndarray
    codes: np.ndarray
    folds: np.ndarray
    scores: np.ndarray
    spread: float
    models: tuple
    seconds: float


def hold_out(model, X, codes, n_classes, random_state):
    """Hide each row once, equal rows together, and score it by a model fitted to the others."""
    rng = np.random.default_rng(random_state)
    places = stratified_sample(codes, MOST_ROWS, rng)
    X, codes = X[places], codes[places]
    n_folds = FOLDS if len(codes) <= FOLDED_ROWS else 3
    folds = random_folds(X, codes, n_folds, rng)
    scores, models = np.zeros((len(codes), n_classes)), []
    start = time.perf_counter()
    with Progress(n_folds, "held-out rows") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for hidden, rows, fitted in fitted_to_other_folds(model, X, codes, folds, n_folds, 2):
            models.append(fitted)
            if fitted is not None:  # else its rows keep equal scores, which count as guessing
                scores[hidden] = all_scores(fitted, rows, n_classes)
                bar.advance()
    seconds = (time.perf_counter() - start) / n_folds
    spread = float(np.std(scores[scores > -FAR])) or 1.0
    return HeldOut(places, codes, folds, scores / spread, spread, tuple(models), seconds)


def all_scores(model, X, n_classes):
    """Return one score for each class; far below all others for one that the model lacks."""
    found = class_scores(model, X)
    if len(model.classes_) == n_classes:
        return found
    scores = np.full((len(X), n_classes), min(found.min(), 0.0) - 10.0)
    scores[:, model.classes_] = found
    return scores


def calibrate(scores, codes, noise=None):
    """Return slope and offsets that make probabilities of scores.

    Without ``noise`` they are probabilities of the labels as given; with it, N_zy = P(y | z), of
    the true classes behind them.
    """
    weight = np.ones(len(codes))
    if noise is None:
        return fit_calibration(scores, one_hot(codes, scores.shape[1]), weight)
    link = fit_slope(scores, codes, weight, noise)
    return float(link.matrix[0, 0]), link.offsets


def cross_calibrated(held, noise=None):
    """Return probabilities of held-out rows, calibrated by the rows of the other folds."""
    probability = np.empty_like(held.scores)
    for fold in np.unique(held.folds):
        hidden = held.folds == fold
        others = ~hidden if len(np.unique(held.codes[~hidden])) > 1 else np.ones_like(hidden)
        slope, offsets = calibrate(held.scores[others], held.codes[others], noise)
        probability[hidden] = calibrated(held.scores[hidden], slope, offsets)
    return probability
