"""Networks of several views in a search: one Gram matrix for all couplings and penalties."""

from __future__ import annotations

import numpy as np

from robell._core.ridge.solve import normal_equations
from robell._core.ridge.sweep import digits_left, solve_penalties
from robell.search.groups import NotShared


def view_solutions(model, total, design, T, group):
    """Yield β of (P, C, 1, K), and how far to trust it, for every coupling of the views."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        try:
            G, R = normal_equations(design, T, total)
        except ValueError as error:  # as every single fit will say
            raise NotShared("the hidden layer or the inputs overflow") from error
        squares = total @ np.square(T).sum(axis=1)
        left = digits_left(np.abs(R).max(), np.diagonal(G).max(), squares)
        for setting in group.settings:
            blocks = model._blocks()._replace(coupling=float(setting["coupling"]))
            found = blocks.coupled(G.copy()), blocks.pull * R
            theta, trust = solve_penalties(*found, 1.0 / group.C)
            yield theta[:, :, None, :], left * trust[:, None]
