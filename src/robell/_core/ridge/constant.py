"""Ridge regression with a free constant, for targets that are numbers.

    β, b = argmin ½|β|² + C/2 Σ_i w_i |m_i β + b - t_i|²

Since b is not penalised, a shift of the targets shifts b and nothing else. The constant stands
first in the design, [1 m_i]. Tall systems are

    ([1 M]ᵀW[1 M] + diag(0, 1/C, ..., 1/C)) [b; β] = [1 M]ᵀWT,

whose Cholesky factorisation takes the means off in its first step. A number c taken off a column
changes b alone, by cβ: the columns' means over the first rows are taken off before all products, so
that a column such as a year or a key keeps its digits. Wide and singular ones are
solved with the weighted means μ and t̄ off, in M̃ = W½(M - 1μ) and T̃ = W½(T - 1t̄):

    β = M̃ᵀ(M̃M̃ᵀ + I/C)⁻¹T̃,      b = t̄ - μβ,

where u = W½1/√Σw is orthogonal to M̃ and T̃: adding s uuᵀ to M̃M̃ᵀ changes no solution. The
constant adds u_i² to the leverage h_i of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._core.array import namespace
from robell._core.layers.features import RowBlocks
from robell._core.ridge.loo import Centre, Spectrum, decompose, squared_errors
from robell._core.ridge.solve import RidgeSolution, Rows, System, require_finite

Array = NDArray[np.float64]


class WithConstant(System):
    """A ridge problem whose first column is a constant without penalty."""

    free = 1

    def __init__(self, design: RowBlocks, T: Any, w: Any | None = None) -> None:
        self.shift = next(iter(design))[1][:, 1:].mean(0)
        self.mean: Any = mean_of_targets(T, w)

        def near_zero(rows: slice) -> Any:
            M = design._make_rows(rows)
            return namespace(M).hstack([M[:, :1], M[:, 1:] - self.shift])

        shape = design.n_rows, design.n_columns
        super().__init__(RowBlocks(near_zero, *shape, tensors=design.tensors), T - self.mean, w)

    def solve(self, C: float, leave_out: bool = False) -> RidgeSolution:
        """Return the solution, the shift of the columns and the mean of the targets put back."""
        solution = super().solve(C, leave_out)
        solution.beta[0] += self.mean - self.shift @ solution.beta[1:]
        if solution.loo_scores is None:
            return solution
        return replace(solution, loo_scores=solution.loo_scores + self.mean)

    def in_units(self) -> System:
        """Return the system with every target in units of its own spread."""
        scaled, w = copy(self), self.w
        w = namespace(self.T).ones_like(self.T[:, 0]) if w is None else w
        scaled.T, scaled.mean = self.T / spread_of_targets(self.T, w), 0.0
        return scaled

    def rows(self, w: Any | None) -> Rows:
        """Return M̃ = W½(M - 1μ) and T̃ = W½T, whose mean is zero."""
        xp = namespace(self.T)
        w = xp.ones_like(self.T[:, 0]) if w is None else w
        total, root = w.sum(), xp.sqrt(w)[:, None]
        M = self.design.whole()[:, 1:]
        mean = w @ M / total
        M = (M - mean) * root
        require_finite(M)
        return Rows(M, self.T * root, root, root[:, 0] / xp.sqrt(total), mean)

    def sweep(self, w: Any) -> tuple[Spectrum, Callable[[Array], Array]]:
        """Return the spectrum about the means, and what maps penalties to left-out errors."""
        G, R = self.equations(w)
        total = G[0, 0]
        mean, target_mean = G[0, 1:] / total, R[0] / total
        centred = G[1:, 1:] - total * mean[:, None] * mean[None, :]
        spectrum = decompose(centred, R[1:] - total * mean[:, None] * target_mean)
        centre = Centre(mean, target_mean, float(total))
        behind = columns_behind_constant(self.design)
        return spectrum, partial(squared_errors, behind, self.T, w, w, spectrum, centre=centre)


def columns_behind_constant(design: RowBlocks) -> RowBlocks:
    """Return a design without its first column."""
    return RowBlocks(
        lambda rows: design._make_rows(rows)[:, 1:],
        design.n_rows,
        design.n_columns - 1,
        tensors=design.tensors,
    )


def mean_of_targets(T: Any, w: Any | None) -> Any:
    """Return t̄, without rounding where all targets of a column are equal."""
    off = T - T[0]
    return T[0] + (off.mean(0) if w is None else w @ off / w.sum())


def spread_of_targets(T: Any, w: Any) -> Any:
    """Return the standard deviation of every target, 1 for a constant one."""
    xp = namespace(T)
    off = abs(T - mean_of_targets(T, w))
    largest = xp.amax(off, 0)
    largest = xp.where(largest > 0.0, largest, xp.ones_like(largest))
    spread = largest * xp.sqrt(w @ xp.square(off / largest) / w.sum())
    return xp.where(spread > 0.0, spread, xp.ones_like(spread))
