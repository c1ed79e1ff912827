"""Left-out scores of the noise-robust classifier's members, for any targets of the same rows."""

from __future__ import annotations

import numpy as np

from robell._core.ensemble.members import (
    WEIGHTS,
    as_network,
    designs_of,
    draw_members,
    fit_members,
    fit_with_equal_classes,
    network_scores,
)
from robell._core.ensemble.standardise import column_scales
from robell._core.layers.features import rows_per_block
from robell._core.ridge.twins import distinct_rows
from robell.models._validation import draw_seed

N_HIDDEN = 100  # of each layer, as in the classifier


class LeftOutScores:
    """The members of :class:`NoiseRobustRVFLClassifier` on some rows, to be fitted again and again.

    Every score is that of members which have not seen the row, nor a row equal to it.
    """

    def __init__(self, X, weight, random_state):
        self._mean, self._scale = column_scales(X, weight)
        X = (X - self._mean) / self._scale
        self._weight, self._distinct = weight, distinct_rows(X)
        self._X = X[self._distinct.first]
        self._drawn = draw_members(self._X, N_HIDDEN, draw_seed(random_state))
        self._designs = designs_of(self._X, self._drawn)

    def of_classes(self, Z):
        """Return the scores of the classes, (n, K), fitted to probabilities Z of the classes."""
        _, scores = fit_with_equal_classes(
            self._X,
            self._designs,
            self._drawn,
            self._distinct,
            self._weight,
            Z,
            WEIGHTS / WEIGHTS.sum(),
        )
        return scores

    def of_numbers(self, values, weight):
        """Return predictions of a number, (n,), fitted with these weights, and the model itself.

        The model is a function that predicts the number of any rows.
        """
        merged, targets = self._distinct.merge(weight, values[:, None])
        members = fit_members(
            self._X, self._designs, self._drawn, targets, merged, float(weight.sum())
        )
        weights = WEIGHTS / WEIGHTS.sum()
        network = as_network(members, self._drawn, weights)
        left_out = members.mean_scores(weights)[self._distinct.group, 0]
        return np.asarray(left_out), lambda X: self._predict(X, network)

    def _predict(self, X, network):
        """Predict the number of rows, a block of them at a time."""
        found = np.empty(len(X))
        step = rows_per_block(len(network.coef) + len(network.landmark_weights))
        for start in range(0, len(X), step):
            block = (X[start : start + step] - self._mean) / self._scale
            found[start : start + step] = network_scores(block, self._drawn, network)[:, 0]
        return found
