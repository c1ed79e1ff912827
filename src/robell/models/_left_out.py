"""Left-out scores of the noise-robust classifier's members, for any targets of the same rows."""

from __future__ import annotations

from robell._core.layers.standardise import column_scales
from robell._core.ridge.members import WEIGHTS, designs_of, draw_members
from robell._core.ridge.twins import distinct_rows
from robell.models._validation import draw_seed
from robell.models.noise_robust import _fit_balanced

N_HIDDEN = 100  # of each layer, as in the classifier


class LeftOutScores:
    """The members of :class:`NoiseRobustRVFLClassifier` on some rows, to be fitted again and again.

    Every score is that of members which have not seen the row, nor a row equal to it.
    """

    def __init__(self, X, weight, random_state):
        mean, scale = column_scales(X, weight)
        X = (X - mean) / scale
        self._weight, self._distinct = weight, distinct_rows(X)
        self._X = X[self._distinct.first]
        self._drawn = draw_members(self._X, N_HIDDEN, draw_seed(random_state))
        self._designs = designs_of(self._X, self._drawn)

    def of_classes(self, Z):
        """Return the scores of the classes, (n, K), fitted to probabilities Z of the classes."""
        _, scores = _fit_balanced(
            self._X,
            self._designs,
            self._drawn,
            self._distinct,
            self._weight,
            Z,
            WEIGHTS / WEIGHTS.sum(),
        )
        return scores
