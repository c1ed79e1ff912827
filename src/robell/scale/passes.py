"""Passes over all rows: each maps parts of the rows to small results, and reduces the results.

Results are reduced in any order and grouping. Rows reach a pass as they are in the data; scalers
are applied here, and a sample of the rows is drawn by keys of the rows before scaling, so the rows
sampled do not depend on the last digits of a scaler.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from robell._core.membership import frozen as frozen_steps
from robell._core.membership.frozen import mean_and_scatter, pool_moments
from robell._core.membership.pairs import require_squares
from robell._core.membership.samples import merge_samples, row_keys, sample_of
from robell._core.ridge.solve import system_of
from robell._core.ridge.state import merge, sample_design
from robell.models._validation import ARRAY_CHECKS, one_line_errors, weights_of_part


class Pass:
    """One pass over all rows; ``name``, ``map`` and ``reduce`` are those of the kinds below."""

    _total = None

    def finish(self, total):
        """Take the result of all parts."""
        self._total = total

    def take(self):
        """Return what finish was given."""
        if self._total is None:
            raise RuntimeError(f"the pass {self.name!r} was not finished")
        return self._total


class Columns(NamedTuple):
    """What is predicted, and the number of features, of some rows; None where not known."""

    outcome: object  # labels of a classifier, number of targets of a regressor
    n_features: int | None

    @property
    def known(self):
        """Whether nothing is missing."""
        return self.outcome is not None and self.n_features is not None


class ColumnsPass(Pass):
    """Finds labels, or the number of targets, and the number of features."""

    name = "labels"

    def __init__(self, model):
        self._model = model

    def map(self, X, y, sample_weight=None):
        """Return labels and number of features of a part."""
        if not len(X):
            return Columns(None, None)
        return Columns(self._model._outcome_of_part(y, sample_weight), X.shape[1])

    def reduce(self, a, b):
        """Return labels and number of features of both."""
        if a.n_features is None or b.n_features is None:
            return b if a.n_features is None else a
        if a.n_features != b.n_features:
            raise ValueError(
                f"parts differ in their number of columns: {a.n_features} in one, "
                f"{b.n_features} in another"
            )
        known = [x.outcome for x in (a, b) if x.outcome is not None]
        return a._replace(outcome=self._model._joint_outcome(known) if known else None)

    def finish(self, total):
        """Take the result of all parts, or raise when there is no row in any."""
        columns = total.columns if isinstance(total, ScalerMoments) else total
        if columns.outcome is None:
            raise ValueError("there is no row of positive weight in any part")
        super().finish(total)


# -- scalers -----------------------------------------------------------------------------


class ScalerMoments(NamedTuple):
    """Labels of some rows, their total weight, their mean and their scatter."""

    columns: Columns
    size: float
    mean: np.ndarray | None  # None of no rows
    scatter: np.ndarray | None


class ScalerPass(ColumnsPass):
    """Finds labels, means and variances of the rows, scaled by the scalers before."""

    name = "scaling"

    def __init__(self, model, before):
        super().__init__(model)
        self._before = before

    def map(self, X, y, sample_weight=None):
        """Return labels and moments of a part."""
        columns = super().map(X, y, sample_weight)
        weight = weights_of_part(sample_weight, len(X))
        if not weight.any():
            return ScalerMoments(columns, 0.0, None, None)
        with one_line_errors(self._model, X):
            X = check_array(X, input_name="X", **ARRAY_CHECKS)
        moments = mean_and_scatter(scaled(self._before, X[weight > 0]), weight[weight > 0])
        return ScalerMoments(columns, float(weight.sum()), *moments)

    def reduce(self, a, b):
        """Return labels and moments of both."""
        columns = super().reduce(a.columns, b.columns)
        if not a.size or not b.size:
            return (a if a.size else b)._replace(columns=columns)
        sizes = np.array([a.size, b.size])
        means, scatters = np.stack([a.mean, b.mean]), np.stack([a.scatter, b.scatter])
        return ScalerMoments(columns, a.size + b.size, *pool_moments(sizes, means, scatters))


def scaled(scalers, X):
    """Return rows as fitted scalers make them."""
    for scaler in scalers:
        # By hand: transform would validate again, and hand on a frame where told to.
        if scaler.with_mean:
            X = X - scaler.mean_
        if scaler.with_std:
            X = X / scaler.scale_
    return X


def set_moments(scaler, moments):
    """Set what ``StandardScaler.fit`` would have set from the same rows."""
    size, mean, variance = moments.size, moments.mean, moments.scatter / moments.size
    scaler.n_features_in_ = len(mean)
    scaler.n_samples_seen_ = np.int64(size) if size.is_integer() else np.float64(size)
    scaler.mean_ = mean if scaler.with_mean or scaler.with_std else None
    scaler.var_ = scaler.scale_ = None
    if scaler.with_std:
        # A variance within rounding of zero is that of a constant column, which is not scaled.
        rounding = max(size, 8.0) * np.finfo(float).eps
        constant = variance <= rounding * variance + np.square(mean * rounding)
        scaler.var_ = np.where(constant, 0.0, variance)
        scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance))


# -- the classifier ------------------------------------------------------------------------


class Reader(NamedTuple):
    """How parts become rows: checked for a model, scaled, with keys of the rows before scaling."""

    model: object
    scalers: list
    seed: int

    def read(self, X, y, sample_weight):
        """Return rows, labels and weights of a part, and the rows before scaling."""
        if not len(X):
            nothing = np.empty((0, self.model.n_features_in_))
            return nothing, np.empty(0, np.intp), np.empty(0), nothing
        with one_line_errors(self.model, X):
            X = validate_data(self.model, X, reset=False, **ARRAY_CHECKS)
        X, labels, weight = self.model._rows_of(X, y, sample_weight)
        return scaled(self.scalers, X), labels, weight, X

    def read_keyed(self, X, y, sample_weight):
        """Return rows, labels, weights and keys of a part."""
        *rows, raw = self.read(X, y, sample_weight)
        return *rows, row_keys(raw, self.seed)


class MomentsPass(Pass):
    """Sizes, moments and reservoirs of the classes."""

    name = "moments"

    def __init__(self, reader, capacity):
        self._reader, self._capacity = reader, capacity

    def map(self, X, y, sample_weight=None):
        """Return the moments of a part."""
        rows = self._reader.read_keyed(X, y, sample_weight)
        require_squares(rows[0])  # here, where it is known which part it is
        n_classes = len(self._reader.model.classes_)
        return frozen_steps.moments_of(*rows, n_classes, self._reader.seed, self._capacity)

    def reduce(self, a, b):
        """Return the moments of both."""
        return frozen_steps.merge_moments(a, b)


class SamplePass(Pass):
    """A sample of the rows before scaling, as many as all classes together may keep."""

    name = "sample"

    def __init__(self, model, seed, budget):
        self._reader, self._budget = Reader(model, [], seed), budget

    def map(self, X, y, sample_weight=None):
        """Return the sample of a part."""
        rows = self._reader.read_keyed(X, y, sample_weight)
        n_classes = len(self._reader.model.classes_)
        return sample_of(*rows, n_classes, self._reader.seed, self._budget)

    def reduce(self, a, b):
        """Return the sample of both."""
        return merge_samples(a, b)


class LandmarkPass(Pass):
    """Kernel sums of every class at its landmarks."""

    name = "landmark sums"

    def __init__(self, reader, landmarks):
        self._reader, self._landmarks = reader, landmarks

    def map(self, X, y, sample_weight=None):
        """Return the sums of a part."""
        rows = self._reader.read(X, y, sample_weight)[:3]
        return frozen_steps.dissimilarity_sums(self._landmarks, *rows)

    def reduce(self, a, b):
        """Return the sums of both."""
        return tuple(x + y for x, y in zip(a, b, strict=True))


class RadiusPass(Pass):
    """The largest radius of every class."""

    name = "largest radii"

    def __init__(self, reader, means):
        self._reader, self._means = reader, means

    def map(self, X, y, sample_weight=None):
        """Return the largest radii of a part."""
        rows, labels, *_ = self._reader.read(X, y, sample_weight)
        return frozen_steps.largest_class_radii(self._means, rows, labels)

    def reduce(self, a, b):
        """Return the larger radii."""
        return np.maximum(a, b)


class WeightsPass(Pass):
    """Weights and Gram matrices of the classes."""

    name = "weights"

    def __init__(self, reader, begun):
        self._reader, self._begun = reader, begun

    def map(self, X, y, sample_weight=None):
        """Return the state of a part."""
        rows, labels, weight, keys = self._reader.read_keyed(X, y, sample_weight)
        return self._reader.model._summed(self._begun, rows, labels, weight, keys)

    def reduce(self, a, b):
        """Return the state of both."""
        return merge(a, b, self._reader.model._features)


class ResidualPass(Pass):
    """What is left of the right-hand side under a solution: Σ_i w_i m_iᵀ(t_i - m_i β)."""

    name = "residuals"

    def __init__(self, reader, frozen, cost, solution):
        self._reader, self._frozen = reader, frozen
        self._cost, self._solution = cost, solution

    def map(self, X, y, sample_weight=None):
        """Return the residuals of a part, times its features."""
        rows, labels, weight, keys = self._reader.read_keyed(X, y, sample_weight)
        if self._frozen is not None:
            found = frozen_steps.frozen_membership(self._frozen, rows, labels, keys)
            weight = weight * found.membership
        if self._cost is not None:
            weight = weight * self._cost[labels]
        weight = weight * self._solution.weight_factor
        model, beta = self._reader.model, self._solution.beta
        design = sample_design(model._features, rows, len(beta), self._solution.shift)
        system = system_of(design, model._targets(labels), weight, model._blocks())
        return system.residual_products(beta, weight)

    def reduce(self, a, b):
        """Return the sum of both."""
        return a + b
