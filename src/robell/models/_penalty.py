"""Models with a penalty of their own: a weight times a matrix made of the design matrix."""

from __future__ import annotations

import numpy as np

from robell._core.balls.graphs import graph_term
from robell._core.membership.distances import require_squares
from robell._core.ridge.folds import deal_out
from robell._core.ridge.solve import require_finite
from robell.models._validation import TrainingRows

FOLDS = 5  # of the scores that probabilities are calibrated on, where no row can be left out


class OwnPenalty:
    """Adds a penalty ``weight * term`` to a model; not for direct use.

    ``_penalty_parameter`` names the parameter that is the weight; None where there is no term.
    """

    def _penalty_term(self, M, rows):
        """Return the matrix of the penalty for a design matrix."""
        raise NotImplementedError

    def _fit_penalty(self, design, rows):
        if self._penalty_parameter is None:
            return None
        weight = float(getattr(self, self._penalty_parameter))
        return weight * self._penalty_term(design.whole(), rows)

    def _scores_of_folds(self, prepared, total):
        """Return the scores of the rows by models fitted, penalty and all, without their fold."""
        rows, T = prepared.rows, prepared.T
        fold = deal_out(*rows, FOLDS)
        scores = np.zeros_like(T)
        for k in range(FOLDS):
            held, kept = fold == k, fold != k
            fitted = kept & (total > 0.0)
            if not held.any() or not fitted.any():
                continue
            part = TrainingRows(*(values[kept] for values in rows))
            penalty = self._fit_penalty(self._design(part.X), part)
            found = self._fit_ridge(rows.X[fitted], T[fitted], total[fitted], penalty, False)
            scores[held] = self._linear_scores(rows.X[held], found.beta)
        return scores


class WithGraph(OwnPenalty):
    """Adds a graph term to a model; not for direct use."""

    @property
    def _penalty_parameter(self):
        return None if self.graph is None else "graph_weight"

    def _penalty_term(self, M, rows):
        require_finite(M)
        require_squares(M)
        return graph_term(M, rows.labels, self.graph, rows.multiplicity)

    def _fit_penalty(self, design, rows):
        if self.graph is not None and self.C == "loo":
            raise ValueError(
                "C='loo' does not go with a graph, which has seen the label of the row left out; "
                "choose C by cross-validation, for instance with RVFLGridSearchCV"
            )
        return super()._fit_penalty(design, rows)
