"""Models with a penalty of their own: a weight times a matrix made of the design matrix."""

from __future__ import annotations

from robell._core.balls.graphs import graph_term
from robell._core.membership.distances import require_squares
from robell._core.ridge.solve import require_finite


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


class WithGraph(OwnPenalty):
    """Adds a graph term to a model; not for direct use."""

    @property
    def _penalty_parameter(self):
        return None if self.graph is None else "graph_weight"

    def _penalty_term(self, M, rows):
        require_finite(M)
        require_squares(M)
        return graph_term(M, rows.labels, self.graph, rows.multiplicity)

    def _leaves_out(self):
        # The graph has seen the label left out: without leave-one-out scores, folds are refitted.
        return super()._leaves_out() and self.graph is None

    def _fit_penalty(self, design, rows):
        if self.graph is not None and self.C == "loo":
            raise ValueError(
                "C='loo' does not go with a graph, which has seen the label of the row left out; "
                "choose C by cross-validation, for instance with RVFLGridSearchCV"
            )
        return super()._fit_penalty(design, rows)
