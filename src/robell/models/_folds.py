"""Models that no row can be left out of in closed form: folds of the rows are refitted instead."""

from __future__ import annotations

from copy import copy

import numpy as np

from robell._core.ridge.loo import place_of_smallest
from robell.models._shell import PAPER_C


class LeftOutInFolds:
    """Makes a model refit folds where others leave rows out; not for direct use.

    For weights, or rows, made of the labels of all rows: what they are without one of them has no
    closed form, and held fixed they know its label.
    """

    def _leaves_out(self):
        return False

    def _fit_weighted(self, prepared, importance):
        """Solve; C is chosen by the errors of samples in folds that the fit has not seen."""
        if self.C != "loo":
            return super()._fit_weighted(prepared, importance)
        folds, chosen = list(self._folds(prepared)), copy(self)
        chosen._folds = lambda prepared: folds  # made once, for C and for the probabilities
        rows = prepared.rows
        total = rows.multiplicity if importance is None else rows.multiplicity * importance
        T, weight = self._counted(prepared.samples, prepared.T, total)
        errors = np.empty(len(PAPER_C))
        for k, C in enumerate(PAPER_C.tolist()):
            chosen.C = C
            misses = np.square(T - chosen._scores_of_folds(prepared)).sum(axis=1)
            errors[k] = weight @ misses
        chosen.C = float(PAPER_C[place_of_smallest(errors, 1.0 / PAPER_C)])
        found = vars(chosen._fit_weighted(prepared, importance))
        del found["_folds"]
        vars(self).update(found | {"C": "loo"})
        return self
