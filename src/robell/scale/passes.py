"""Fits of data larger than memory: files, or partitions on a cluster.

:class:`OutOfCoreFit` reads the rows in passes. A pass is a map over parts of the rows and an
associative, commutative reduction of the small results; what runs the maps, where and in which
order, is the caller's business.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _get_feature_names, column_or_1d, validate_data

from robell._core.membership import frozen as frozen_steps
from robell._core.ridge.solve import REFINE_BELOW, REFINEMENTS
from robell._core.ridge.state import empty, merge, update
from robell.models._base import ARRAY_CHECKS
from robell.models._streaming import LANDMARKS, RESERVOIR, StreamingMixin, one_hot_rows
from robell.models._validation import draw_seed, one_line_errors


class OutOfCoreFit:
    """A fit in passes over parts of the rows: files, or partitions on a cluster.

    Every pass maps each part to a small result and reduces the results in any order and grouping;
    the model does not depend on either, nor on how the rows are cut into parts.

    A plain network takes one pass, two more where its equations are so ill-conditioned that
    ``fit`` would refine their solution. A RoBell network takes four (moments, landmark sums,
    largest radii, weights); only the first where all distinct rows fit in the reservoirs, from
    which the model is then fitted as ``fit`` does it. Memory is that of a part, of K Gram matrices
    and of K reservoirs.

    Parameters
    ----------
    estimator : RVFLClassifier, ELMClassifier or RoBellRVFLClassifier
        Its parameters are used; it is not changed.
    classes : array-like, default=None
        All labels. Without, a first pass finds labels, number and names of features.
    n_features : int, default=None
        Number of features; may be left out where ``feature_names`` are given.
    feature_names : sequence of str, default=None
        Columns of the parts, where these are data frames.

    Examples
    --------
    >>> from functools import reduce
    >>> from sklearn.datasets import load_iris
    >>> from robell import RVFLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> parts = [(X[i::5], y[i::5]) for i in range(5)]
    >>> fit = OutOfCoreFit(RVFLClassifier(random_state=0), classes=[0, 1, 2], n_features=4)
    >>> for step in fit.passes():
    ...     step.finish(reduce(step.reduce, (step.map(*part) for part in parts)))
    >>> fit.estimator().score(X, y) > 0.9
    True
    """

    def __init__(self, estimator, classes=None, n_features=None, feature_names=None):
        if not isinstance(estimator, StreamingMixin):
            raise TypeError(f"{type(estimator).__name__} cannot be fitted in parts")
        self._model = clone(estimator)
        self._model._validate_params()
        self._done = False
        self._found = Columns(
            None if classes is None else np.unique(classes),
            n_features if feature_names is None else len(feature_names),
            None if feature_names is None else np.asarray(feature_names, dtype=object),
        )

    def passes(self):
        """Yield the passes, each of which must be finished before the next is asked for.

        A pass has a ``name``, ``map(X, y, sample_weight=None)``, which returns a result of
        bounded size that can be pickled, ``reduce(a, b)``, which is associative and commutative
        and changes neither, and ``finish(total)``. A pass can be pickled, and its copies map
        and reduce as well. A part may be empty, or hold rows of one class only.
        """
        model, found = self._model, self._found
        if found.classes is None or found.n_features is None:
            step = ColumnsPass(model)
            yield step
            found = step.take()
        model._set_classes(found.classes)
        model.n_features_in_ = int(found.n_features)
        if found.names is not None:
            model.feature_names_in_ = found.names
        state = model._begin(seed := draw_seed(model.random_state))
        if model._capabilities.weighs_by_membership:
            step = MomentsPass(model, seed)
            yield step
            moments = step.take()
            self._require_all_classes(moments.sizes)
            if moments.reservoir.complete:
                self._finish(replace(state, sizes=moments.sizes, reservoir=moments.reservoir))
                return
            frozen = yield from self._frozen(moments)
            state = replace(empty(*state.right.shape), frozen=frozen)
        step = WeightsPass(model, state)
        yield step
        state = step.take()
        self._require_all_classes(state.sizes)
        if model._capabilities.weighs_by_membership:
            state = replace(state, reservoir=moments.reservoir)
        yield from self._refined(state)

    def _frozen(self, moments):
        model = self._model
        scale = model.kernel_width == "scale"
        width = frozen_steps.scale_width(moments) if scale else float(model.kernel_width)
        landmarks = frozen_steps.first_rows(moments, width, LANDMARKS)
        step = LandmarkPass(model, landmarks)
        yield step
        means = frozen_steps.class_means(landmarks, step.take(), moments.sizes)
        step = RadiusPass(model, means)
        yield step
        return frozen_steps.freeze(
            means, step.take(), moments.sizes, float(model.rho), moments.reservoir
        )

    def _refined(self, state):
        """Refine an inaccurate solution with residuals of the rows, as fit does."""
        kept = state.reservoir
        found = self._model._solve_from_sums(state)
        solution = found.solution
        whole = state.frozen is None and kept is not None and kept.complete
        if 0.0 < solution.factor.rcond < REFINE_BELOW and not whole:
            for _ in range(REFINEMENTS):
                step = ResidualPass(self._model, state.frozen, found.cost, solution)
                yield step
                gradient = step.take() - solution.penalty * solution.beta
                beta = solution.beta + solution.factor.solve(gradient)
                solution = replace(solution, beta=beta)
            self._model._set_solution(state, found._replace(solution=solution))
            self._done = True
            return
        self._finish(state)

    def _finish(self, state):
        self._model._solve(state)
        self._done = True

    def _require_all_classes(self, sizes):
        if not (sizes > 0).all():
            missing = self._model.classes_[int(np.argmin(sizes))]
            raise ValueError(f"no row has the label {missing!r}: leave it out of classes")

    def estimator(self):
        """Return the fitted estimator, of the class of the one given."""
        if not self._done:
            raise RuntimeError("the fit has passes left: finish them all first")
        return self._model


class Columns(NamedTuple):
    """Labels, number and names of features of some rows; None where not known."""

    classes: np.ndarray | None
    n_features: int | None
    names: np.ndarray | None


class Pass:
    """One pass over all rows."""

    def __init__(self, model):
        self._model = model
        self._total = None

    def _part(self, X, y, sample_weight):
        """Return rows, labels and weights of a part; none of an empty one."""
        if not len(X):
            nothing = np.empty((0, self._model.n_features_in_))
            return nothing, np.empty(0, np.intp), np.empty(0)
        with one_line_errors(self._model, X):
            X = validate_data(self._model, X, reset=False, **ARRAY_CHECKS)
        return self._model._rows_of(X, y, sample_weight)

    def finish(self, total):
        """Take the result of all parts."""
        self._total = total

    def take(self):
        """Return what finish was given."""
        if self._total is None:
            raise RuntimeError(f"the pass {self.name!r} was not finished")
        return self._total


class ColumnsPass(Pass):
    """Finds labels and columns."""

    name = "labels"

    def map(self, X, y, sample_weight=None):
        """Return labels and columns of a part."""
        if not len(X):
            return Columns(None, None, None)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if sample_weight is not None:
            y = y[np.asarray(sample_weight) != 0]
        return Columns(np.unique(y) if len(y) else None, X.shape[1], _get_feature_names(X))

    def reduce(self, a, b):
        """Return labels and columns of both."""
        for x in (a, b):
            if x.n_features is None:
                return b if x is a else a
        if a.n_features != b.n_features or not np.array_equal(a.names, b.names):
            raise ValueError(
                f"parts differ in their columns: {_describe(a)} in one, {_describe(b)} in another"
            )
        known = [x.classes for x in (a, b) if x.classes is not None]
        return a._replace(classes=np.unique(np.concatenate(known)) if known else None)

    def take(self):
        """Return what was found, or raise when it is not enough."""
        found = super().take()
        if found.classes is None:
            raise ValueError("there is no row of positive weight in any part")
        return found


def _describe(columns):
    if columns.names is None:
        return f"{columns.n_features} without names"
    return f"{columns.names.tolist()}"


class MomentsPass(Pass):
    """Sizes, moments and reservoirs of the classes."""

    name = "moments"

    def __init__(self, model, seed):
        super().__init__(model)
        self._seed = seed

    def map(self, X, y, sample_weight=None):
        """Return the moments of a part."""
        rows = self._part(X, y, sample_weight)
        n_classes = len(self._model.classes_)
        return frozen_steps.moments_of(*rows, n_classes, self._seed, RESERVOIR)

    def reduce(self, a, b):
        """Return the moments of both."""
        return frozen_steps.merge_moments(a, b)


class LandmarkPass(Pass):
    """Kernel sums of every class at its landmarks."""

    name = "landmark sums"

    def __init__(self, model, landmarks):
        super().__init__(model)
        self._landmarks = landmarks

    def map(self, X, y, sample_weight=None):
        """Return the sums of a part."""
        return frozen_steps.dissimilarity_sums(self._landmarks, *self._part(X, y, sample_weight))

    def reduce(self, a, b):
        """Return the sums of both."""
        return tuple(x + y for x, y in zip(a, b, strict=True))


class RadiusPass(Pass):
    """The largest radius of every class."""

    name = "largest radii"

    def __init__(self, model, means):
        super().__init__(model)
        self._means = means

    def map(self, X, y, sample_weight=None):
        """Return the largest radii of a part."""
        X, labels, _ = self._part(X, y, sample_weight)
        return frozen_steps.largest_class_radii(self._means, X, labels)

    def reduce(self, a, b):
        """Return the larger radii."""
        return np.maximum(a, b)


class WeightsPass(Pass):
    """Weights and Gram matrices of the classes."""

    name = "weights"

    def __init__(self, model, begun):
        super().__init__(model)
        self._begun = begun

    def map(self, X, y, sample_weight=None):
        """Return the state of a part."""
        return update(self._begun, *self._part(X, y, sample_weight), self._model._features)

    def reduce(self, a, b):
        """Return the state of both."""
        return merge(a, b, self._model._features)


class ResidualPass(Pass):
    """What is left of the right-hand side under a solution: Σ_i w_i m_iᵀ(t_i - m_i β)."""

    name = "residuals"

    def __init__(self, model, frozen, cost, solution):
        super().__init__(model)
        self._frozen, self._cost, self._solution = frozen, cost, solution

    def map(self, X, y, sample_weight=None):
        """Return the residuals of a part, times its features."""
        X, labels, weight = self._part(X, y, sample_weight)
        if self._frozen is not None:
            weight = weight * frozen_steps.frozen_membership(self._frozen, X, labels).membership
        if self._cost is not None:
            weight = weight * self._cost[labels]
        weight = weight * self._solution.weight_factor
        prepared = one_hot_rows(X, labels, weight, len(self._model.classes_))
        gradient = np.zeros_like(self._solution.beta)
        for rows, M in self._model._design(prepared.rows.X):
            residual = prepared.T[rows] - M @ self._solution.beta
            gradient += M.T @ (weight[rows, None] * residual)
        return gradient

    def reduce(self, a, b):
        """Return the sum of both."""
        return a + b
