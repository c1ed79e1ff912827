"""Output weights from the sums a model remembers of rows it has seen: streams and passes."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgWarning

from robell._core.array import one_hot, sum_by_group
from robell._core.membership.frozen import frozen_membership
from robell._core.membership.reservoir import settle
from robell._core.ridge.calibrate import even_within_classes, fit_calibration
from robell._core.ridge.loo import place_of_smallest
from robell._core.ridge.solve import REFINE_BELOW
from robell._core.ridge.state import GramSolution, left_out_errors, left_out_scores, solve
from robell._core.ridge.twins import find_twins
from robell.models._base import one_hot_rows
from robell.models._shell import PAPER_C

INACCURATE_BELOW = 1e-12  # rcond at which output weights keep about six digits
SOLVED = ("coef_", "intercept_", "solver_", "C_", "kernel_width_")
SOLVED += ("calibration_slope_", "calibration_offsets_")
SOLVED += ("interval_residuals_", "interval_weights_")


class Sample(NamedTuple):
    """The rows kept of a stream; equal ones, which are left out together, also merged."""

    T: np.ndarray  # targets: one-hot of classes
    counted: np.ndarray  # how many rows seen each stands for, with its weight
    merged: tuple[np.ndarray, ...]  # rows, targets, weights and counts of the merged rows
    group: np.ndarray | slice  # the merged row of every row
    seen: np.ndarray | None = None  # how many rows seen each stands for; of classes


class Found(NamedTuple):
    """A solution, and what it was found with."""

    solution: GramSolution
    C: float
    cost: np.ndarray | None
    sample: Sample | None


def solved_attribute(name):
    """Return a property for a fitted attribute that a stream finds when it is first read.

    Solving at every batch would cost more than the batch: probabilities alone need the scores of
    thousands of rows left out. The value is kept under its own name, as ``fit`` keeps it.
    """

    def read(model):
        try:
            model._ensure_solved()
        except ValueError as error:  # hasattr knows AttributeError only
            raise AttributeError(f"{type(model).__name__} has no {name} yet: {error}") from error
        if name not in vars(model):
            raise AttributeError(f"{type(model).__name__!r} object has no attribute {name!r}")
        return vars(model)[name]

    def write(model, value):
        vars(model)[name] = value

    return property(read, write)


class SolvedFromSums:
    """Fitted attributes that are found from sums when they are first read; not for direct use."""

    coef_ = solved_attribute("coef_")
    intercept_ = solved_attribute("intercept_")
    solver_ = solved_attribute("solver_")
    C_ = solved_attribute("C_")

    def _scores(self, X):
        self._ensure_solved()
        return super()._scores(X)

    def _ensure_solved(self):
        """Find the output weights of the rows seen, where there are rows they do not know yet."""
        stream = vars(self).get("_stream")
        if stream is None or stream.solved:
            return
        for name in SOLVED:
            vars(self).pop(name, None)
        self._solve(stream.state)
        stream.solved = True

    def _solve(self, state):
        """Set the attributes named in SOLVED to those of the rows seen."""
        if not state.sizes.any():
            raise ValueError(f"this {type(self).__name__} has seen no row of positive weight yet")
        if state.warming_up:
            self._solve_from_rows(state.reservoir)
            return
        found = self._solve_from_sums(state)
        rcond, kept = found.solution.factor.rcond, state.reservoir
        if rcond < REFINE_BELOW and state.frozen is None and kept is not None and kept.complete:
            self._solve_from_rows(kept)
            return
        if rcond < INACCURATE_BELOW:
            column = self._column_name(found.solution.worst)
            warnings.warn(
                f"the normal equations are ill-conditioned (rcond {rcond:.0e}, most of all by "
                f"{column}), and the rows that could refine their solution are gone: scale the "
                "columns, or choose a smaller C or fewer nodes",
                LinAlgWarning,
                stacklevel=4,
            )
        self._set_solution(state, found)

    def _solve_from_sums(self, state):
        """Return what the sums say: see ``Found``."""
        raise NotImplementedError

    def _set_solution(self, state, found):
        """Set the fitted attributes to what was found."""
        raise NotImplementedError

    def _solve_from_rows(self, reservoir):
        """Do what ``fit`` does with the rows kept, which are all rows seen."""
        raise NotImplementedError

    def _needs_sample(self):
        """Say whether a sample of the rows is needed, for rows to be left out."""
        return self._leaves_out() or self.C == "loo"

    def _require_penalty(self):
        if self.C != "loo" and np.isinf(self.C):
            raise ValueError(
                "C=inf needs all rows at once: sums of their products do not hold the solution of "
                "smallest norm; call fit, or give a large C"
            )

    def _require_sample(self, state):
        if state.reservoir is None and self._needs_sample():
            raise ValueError(
                f'{self._left_out_parameter}=True and C="loo" need a sample of the rows, and none '
                "was kept: set them before the first call of partial_fit"
            )


class SolvedClasses(SolvedFromSums):
    """What is found from sums of a classifier; not for direct use."""

    kernel_width_ = solved_attribute("kernel_width_")
    calibration_slope_ = solved_attribute("calibration_slope_")
    calibration_offsets_ = solved_attribute("calibration_offsets_")
    _left_out_parameter = "calibrate"

    def _solve_from_sums(self, state):
        self._require_penalty()
        cost, sample = self._class_cost_of(state.sizes), None
        if self._needs_sample():
            sample = self._sample(state, cost)
        C = self.C
        if C == "loo":
            errors = left_out_errors(
                state, cost, PAPER_C, self._features, sample.merged, self._blocks()
            )
            C = float(PAPER_C[place_of_smallest(errors, 1.0 / PAPER_C)])
        return Found(solve(state, float(C), cost, self._blocks()), C, cost, sample)

    def _set_solution(self, state, found):
        self.C_ = found.C
        self.solver_ = found.solution.method
        if state.frozen is not None:
            self.kernel_width_ = state.frozen.means.landmarks.width
        if self.calibrate:
            scores = self._scores_of_sample(state, found)
            T, counted = found.sample.T, found.sample.counted
            self.calibration_slope_, self.calibration_offsets_ = fit_calibration(
                scores[found.sample.group], T, even_within_classes(counted, T, found.sample.seen)
            )
        self._set_output_weights(found.solution.beta)

    def _scores_of_sample(self, state, found):
        """Return the scores of the merged rows kept by the model fitted without each."""
        X, T, weight, _ = found.sample.merged
        return left_out_scores(found.solution, self._features, X, T, weight, self._blocks())

    def _sample(self, state, cost):
        """Return the rows kept, their weights in the sums, and what they stand for."""
        self._require_sample(state)
        kept = settle(state.reservoir)
        T, weight = one_hot(kept.labels, len(self.classes_)), kept.weight.copy()
        if state.frozen is not None:
            found = frozen_membership(state.frozen, kept.rows, kept.labels, kept.keys)
            weight *= found.membership
        if cost is not None:
            weight *= cost[kept.labels]
        known = np.bincount(kept.labels, weights=kept.weight, minlength=len(self.classes_))
        stands_for = (state.sizes / np.where(known > 0, known, 1.0))[kept.labels]
        sample = merged_sample(kept.rows, T, weight, weight * stands_for)
        return sample._replace(seen=kept.weight * stands_for)

    def _solve_from_rows(self, reservoir):
        """Do what ``fit`` does with the rows kept, which are all rows seen."""
        kept = settle(reservoir)
        seen = np.unique(kept.labels)
        twin = self._of_classes(seen)  # memberships and costs are those of the classes seen
        places = np.searchsorted(seen, kept.labels)
        importance = twin._fit_weights(one_hot_rows(kept.rows, places, kept.weight, len(seen)))
        twin.classes_ = self.classes_
        twin._fit_weighted(
            one_hot_rows(kept.rows, kept.labels, kept.weight, len(self.classes_)), importance
        )
        vars(self).update({name: vars(twin)[name] for name in SOLVED if name in vars(twin)})


def merged_sample(X, T, weight, counted):
    """Return rows kept of a stream, equal ones merged."""
    twins = find_twins(X)
    if twins is None:
        return Sample(T, counted, (X, T, weight, counted), slice(None))
    merged_weight, merged_T = twins.merge(weight, T)
    merged_counts = sum_by_group(counted, twins.group, len(twins.first))
    return Sample(T, counted, (X[twins.first], merged_T, merged_weight, merged_counts), twins.group)
