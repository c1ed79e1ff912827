"""Probabilities of many candidates: leave-one-out scores of all penalties at once, then a slope."""

from __future__ import annotations

import numpy as np

from robell._core.layers.features import RowBlocks
from robell._core.ridge.loo import decompose, keeps_digits, left_out_residuals
from robell._core.ridge.solve import normal_equations
from robell._core.ridge.twins import find_twins
from robell.search.groups import NotShared

# The share of the largest eigenvalue that the smallest must have, both with the penalty added, so
# that log losses are those of single fits to 1e-9: of 130 random tables, against 50 digits,
# left-out scores erred by at most 3e-10 from there on.
LEAST_SHARE = 1e-7
# The largest penalty, beside the largest eigenvalue: beyond it scores are tiny beside the targets
# whose differences they are taken from.
LARGEST_PENALTY = 1e5


class Calibrations:
    """Slope and offsets of every penalty and network of a group, as a single fit finds them."""

    def __init__(self, model, prepared, penalties, widths):
        if not model.calibrate:
            raise NotShared("there are no probabilities without calibrate=True")
        if not model._leaves_out() or model._penalty_parameter is not None:
            raise NotShared(f"{type(model).__name__} is not calibrated on left-out rows so")
        if model._blocks() is not None:
            raise NotShared("probabilities of several views")
        if getattr(model, "combine", "concat") != "concat":
            raise NotShared("probabilities of layers that have a ridge each")
        self.model, self.prepared = model, prepared
        self.penalties, self.widths = penalties, widths
        X = prepared.rows.X
        self.twins = find_twins(X)
        M = model._design(X if self.twins is None else X[self.twins.first]).whole()
        if len(M) < int(widths.max()):
            raise NotShared("probabilities of networks with more columns than rows")
        self.M = M

    def under(self, total):
        """Return (slope, offsets) of every penalty and width, in that order, for row weights.

        None for those whose left-out scores have too few digits.
        """
        T, weight = self.prepared.T, total
        if self.twins is not None:
            weight, T = self.twins.merge(total, T)
        found = np.empty((len(self.penalties), len(self.widths)), dtype=object)
        for j, width in enumerate(self.widths):
            for i, scores in self._left_out(int(width), T, weight):
                scores = scores if self.twins is None else scores[self.twins.group]
                found[i, j] = self.model._calibration(
                    self.prepared.samples, self.prepared.T, total, scores
                )
        return found.ravel().tolist()

    def _left_out(self, width, T, weight):
        """Return the place of every penalty that keeps enough digits, and the left-out scores."""
        M = self.M[:, :width]
        design = RowBlocks(lambda rows: M[rows], *M.shape, M.dtype)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            spectrum = decompose(*normal_equations(design, T, weight))
            sure = keeps_digits(spectrum, self.penalties, LEAST_SHARE)
            sure &= self.penalties <= LARGEST_PENALTY * spectrum.values.max()
            places = np.flatnonzero(sure)
            scores = np.empty((len(places), len(M), T.shape[1]))
            penalties = self.penalties[places]
            for rows, residual in left_out_residuals(design, T, weight, spectrum, penalties):
                scores[:, rows] = np.moveaxis(T[rows, None, :] - residual, 1, 0)
        return zip(places.tolist(), scores, strict=True)
