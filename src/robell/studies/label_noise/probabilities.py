"""How far probabilities are from frequencies: log loss, calibration error, Brier score."""

from __future__ import annotations

import numpy as np

from robell.metrics import expected_calibration_error

LEAST = 1e-15  # of a probability, in the log loss


def probability_scores(truth, P, classes, n_classes):
    """Return log loss, expected calibration error and Brier score as plain values.

    The calibration error is that of class 1; of several classes, that of the predicted one. A class
    the model does not know has probability 0.
    """
    full = np.zeros((len(truth), n_classes))
    full[:, np.asarray(classes).astype(int)] = np.clip(np.asarray(P, dtype=float), 0.0, 1.0)
    own = full[np.arange(len(truth)), truth]
    return {
        "log_loss": float(-np.log(np.clip(own, LEAST, 1.0)).mean()),
        "calibration_error": expected_calibration_error(truth, full, labels=np.arange(n_classes)),
        "brier": float(((full - np.eye(n_classes)[truth]) ** 2).sum(axis=1).mean() / 2),
    }
