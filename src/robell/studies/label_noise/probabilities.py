"""How far probabilities are from frequencies: log loss, calibration error, Brier score."""

from __future__ import annotations

import numpy as np

N_BINS = 10
LEAST = 1e-15  # of a probability, in the log loss


def probability_scores(truth, P, classes, n_classes):
    """Return log loss, expected calibration error and Brier score as plain values.

    A class the model does not know has probability 0.
    """
    full = np.zeros((len(truth), n_classes))
    full[:, np.asarray(classes).astype(int)] = np.asarray(P, dtype=float)
    own = full[np.arange(len(truth)), truth]
    return {
        "log_loss": float(-np.log(np.clip(own, LEAST, 1.0)).mean()),
        "calibration_error": calibration_error(truth, full),
        "brier": float(((full - np.eye(n_classes)[truth]) ** 2).sum(axis=1).mean() / 2),
    }


def calibration_error(truth, P, n_bins=N_BINS):
    """Return the expected calibration error.

    In each of ten equal ranges of the probability, the distance between its mean and the share of
    rows that are right, weighted by the rows in the range. The probability is that of class 1; of
    several classes, that of the predicted one.
    """
    if P.shape[1] == 2:
        probability, right = P[:, 1], truth == 1
    else:
        probability, right = P.max(axis=1), truth == P.argmax(axis=1)
    place = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(place, probability - right, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(truth))
