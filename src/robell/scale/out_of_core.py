"""Fits of data larger than memory: files, or partitions on a cluster.

:class:`OutOfCoreFit` says which passes over the rows a fit takes, and makes a fitted estimator of
what they find; what runs the maps of a pass, where and in which order, is the caller's business.

Each pass maps parts of the rows to small results, and reduces these in any order and grouping. Rows
reach a pass as they are in the data; scalers are applied here, and a sample of the rows is drawn by
keys of the rows before scaling, so the rows sampled do not depend on the last digits of a scaler.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from robell._core.array import mean_and_scatter
from robell._core.membership import frozen as frozen_steps
from robell._core.membership.frozen import pool_moments
from robell._core.membership.pairs import require_squares
from robell._core.membership.samples import (
    MOST_SAMPLED,
    as_count,
    merge_samples,
    row_keys,
    sample_of,
)
from robell._core.ridge.solve import REFINE_BELOW, REFINEMENTS, SINGULAR_BELOW, system_of
from robell._core.ridge.state import empty, merge, sample_design
from robell.models._estimator import FamilyMember, require_own_fit
from robell.models._partial_fit import (
    LANDMARKS,
    RESERVOIR,
    number_of_targets,
    require_penalty,
    solve_from_sums,
    solve_seen,
)
from robell.models._validation import ARRAY_CHECKS, draw_seed, one_line_errors, weights_of_part

MOST_NUMBERS = 1 << 23  # in its columns, 64 MiB: parts of it travel between workers
FEWEST_OF_A_CLASS = 100  # however many columns there are
# What ``fit`` says about each of its rows; rows of a sample have no place the user knows.
OF_EVERY_ROW = ("sample_quality_", "label_probability_", "n_suspects_")


def sampled_rows(n_features, n_classes):
    """Return how many rows a sample may have where nothing else limits it."""
    rows = min(MOST_SAMPLED, MOST_NUMBERS // n_features)
    return max(rows, FEWEST_OF_A_CLASS * n_classes)


class OutOfCoreFit:
    """A fit in passes over parts of the rows, of an estimator or of scalers that end in one.

    Up to rounding, the model does not depend on how the rows are cut into parts, nor on the order
    in which these come. A plain network takes one pass, two more where ``fit`` would refine the
    solution. A RoBell network takes four (moments, landmark sums, largest radii, weights), or the
    first alone where the reservoirs hold all distinct rows. Every ``StandardScaler`` takes one
    more. A model fitted ``by_sample`` takes one, which keeps a sample of ``sample_rows`` at most.
    Without ``n_features`` and ``classes`` (of a regressor ``n_targets``), the first pass finds
    them.

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

    def __init__(self, estimator, classes=None, n_features=None, n_targets=None, sample_rows=None):
        self._model = clone(estimator)
        *self._scalers, self.classifier = _steps(self._model)
        for step in [*self._scalers, self.classifier]:
            step._validate_params()
        if not self.classifier._capabilities.by_sample:
            require_penalty(self.classifier)
        self._sample_rows = sample_rows
        outcome = n_targets if classes is None else np.unique(classes)
        self._known = Columns(outcome, n_features)
        self._done = False

    def passes(self):
        """Yield the passes, each of which must be finished before the next is asked for.

        A pass has a ``name``, ``map(X, y, sample_weight=None)``, which returns a result of
        bounded size that can be pickled, ``reduce(a, b)``, which is associative and commutative
        and changes neither, and ``finish(total)``. A pass can be pickled, and its copies map
        and reduce as well. A part is an array; it may be empty, or hold rows of one class only.
        """
        model, found = self.classifier, self._known
        for place, scaler in enumerate(self._scalers):
            before = self._scalers[:place]
            moments = yield from Pass(
                "scaling", partial(_scaler_moments, model, before), partial(_both_moments, model)
            ).result()
            _require_rows(moments.columns)
            found = found if found.known else moments.columns
            set_moments(scaler, moments)
        if not found.known:
            found = yield from Pass(
                "labels", partial(_columns_of, model), partial(_both_columns, model)
            ).result()
            _require_rows(found)
        model._set_outcome(found.outcome)
        model.n_features_in_ = found.n_features
        if model._capabilities.by_sample:
            yield from self._fit_to_sample(model)
            return
        state = model._begin(seed := draw_seed(model.random_state))
        rows, reservoir = Rows(model, self._scalers, seed), None
        if model._capabilities.weighs_by_membership:
            moments = yield from Pass(
                "moments", partial(_class_moments, rows, RESERVOIR), frozen_steps.merge_moments
            ).result()
            _require_classes(model, moments.sizes)
            reservoir = moments.reservoir
            if reservoir.complete:
                solve_seen(model, replace(state, sizes=moments.sizes, reservoir=reservoir))
                self._done = True
                return
            frozen = yield from self._freeze(rows, moments)
            state = replace(empty(*state.mean.shape), frozen=frozen)
        state = yield from Pass(
            "weights", partial(_summed, rows, state), partial(merge, features=model._features)
        ).result()
        _require_classes(model, state.sizes)
        if reservoir is not None:
            state = replace(state, reservoir=reservoir)
        yield from self._refine(rows, state)

    def _fit_to_sample(self, model):
        """Draw the sample, and fit the model to it; all rows are in it where they are few."""
        budget = self._sample_rows
        if budget is None:
            budget = sampled_rows(model.n_features_in_, len(model.classes_))
        # Of a copy, so that ``fit`` draws from random_state what it would have drawn.
        before_scaling = Rows(model, [], draw_seed(deepcopy(model.random_state)))
        sample = yield from Pass(
            "sample", partial(_sampled, before_scaling, budget), merge_samples
        ).result()
        _require_classes(model, sample.sizes)
        kept, classes = sample.reservoir, model.classes_
        X = scaled(self._scalers, kept.rows)
        model.fit(X, classes[kept.labels], sample_weight=sample.row_weights())
        for name in OF_EVERY_ROW:
            vars(model).pop(name, None)
        model.n_samples_seen_ = as_count(sample.sizes.sum())
        model.n_samples_fitted_ = as_count(sample.kept().sum())
        self._done = True

    def _freeze(self, rows, moments):
        """Find what memberships depend on."""
        width = self.classifier.kernel_width
        width = frozen_steps.scale_width(moments) if width == "scale" else float(width)
        landmarks = frozen_steps.first_rows(moments, width, LANDMARKS)
        sums = yield from Pass(
            "landmark sums", partial(_landmark_sums, rows, landmarks), _both_sums
        ).result()
        means = frozen_steps.class_means(landmarks, sums, moments.sizes)
        r_max = yield from Pass(
            "largest radii", partial(_largest_radii, rows, means), np.maximum
        ).result()
        rho = float(self.classifier.rho)
        return frozen_steps.freeze(means, r_max, moments.sizes, rho, moments.reservoir)

    def _refine(self, rows, state):
        """Solve, and refine an inaccurate solution with residuals of the rows, as fit does."""
        model, kept = self.classifier, state.reservoir
        found = solve_from_sums(model, state)
        solution = found.solution
        whole = state.frozen is None and kept is not None and kept.complete
        if whole or not SINGULAR_BELOW < solution.factor.rcond < REFINE_BELOW:
            solve_seen(model, state)
        else:
            for _ in range(REFINEMENTS):
                of_rows = partial(_residuals, rows, state.frozen, found.cost, solution)
                residual = yield from Pass("residuals", of_rows, operator.add).result()
                beta = solution.beta + solution.factor.solve(residual - solution.shrinkage())
                solution = replace(solution, beta=beta)
            model._set_solution(state, found._replace(solution=solution))
        self._done = True

    def estimator(self, feature_names=None):
        """Return the fitted estimator or pipeline, its first step knowing the names given."""
        if not self._done:
            raise RuntimeError("the fit has passes left: finish them all first")
        if feature_names is not None:
            for step in [*self._scalers, self.classifier]:
                step.feature_names_in_ = np.asarray(feature_names, dtype=object)
                # Later steps see names only where the scaler before was told to hand frames on.
                output = getattr(step, "_sklearn_output_config", {}).get("transform", "default")
                if output == "default":
                    break
        return self._model


def takes_parts(model):
    """Say whether a model, with its parameters, can be fitted in passes: a graph takes all rows."""
    return model._capabilities.passes and getattr(model, "graph", None) is None


def _steps(model):
    """Return scalers and classifier, or raise one line saying what cannot be fitted so."""
    steps = [model]
    if isinstance(model, Pipeline):
        if type(model) is not Pipeline:
            raise TypeError(
                f"{type(model).__module__}.{type(model).__name__} cannot be fitted in parts: "
                "give scikit-learn's own Pipeline"
            )
        *before, last = [step for _, step in model.steps]
        steps = [step for step in before if step is not None and step != "passthrough"] + [last]
    if not (isinstance(steps[-1], FamilyMember) and takes_parts(steps[-1])):
        raise TypeError(
            f"{type(steps[-1]).__name__} cannot be fitted in parts: give RVFLClassifier, "
            "ELMClassifier, RoBellRVFLClassifier, VarianceRVFLClassifier, "
            "NoiseRobustRVFLClassifier, "
            "MultiViewRVFLClassifier without a graph, RVFLRegressor or ELMRegressor, alone or as "
            "the last step of a pipeline"
        )
    require_own_fit(steps[-1], "a fit in parts")
    for step in steps[:-1]:
        if type(step) is not StandardScaler:
            raise TypeError(
                f"{type(step).__name__} cannot be fitted in parts: StandardScaler is the only "
                "step a pipeline may have before the classifier"
            )
    return steps


# -- passes ------------------------------------------------------------------------------


@dataclass
class Pass:
    """One pass over all rows: what a part gives, and what two parts give together."""

    # It can be pickled, and its copies map and reduce as well.
    name: str
    map: Callable[..., Any]  # of X, y and sample_weight of a part, which may be empty
    reduce: Callable[[Any, Any], Any]  # of two results, in any order; changes neither
    total: Any = None

    def finish(self, total):
        """Take the result of all parts."""
        self.total = total

    def result(self):
        """Yield the pass, and return what it was finished with."""
        yield self
        if self.total is None:
            raise RuntimeError(f"the pass {self.name!r} was not finished")
        return self.total


class Columns(NamedTuple):
    """What is predicted, and the number of features, of some rows; None where not known."""

    outcome: Any  # labels of a classifier, number of targets of a regressor
    n_features: int | None

    @property
    def known(self):
        """Whether nothing is missing."""
        return self.outcome is not None and self.n_features is not None


def _columns_of(model, X, y, sample_weight=None):
    if not len(X):
        return Columns(None, None)
    weighs = slice(None) if sample_weight is None else np.asarray(sample_weight) != 0
    if is_classifier(model):
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        outcome = np.unique(y[weighs])
    else:
        y, outcome = np.asarray(y), number_of_targets(y)
    return Columns(outcome if len(y[weighs]) else None, X.shape[1])


def _both_columns(model, a, b):
    if a.n_features is None or b.n_features is None:
        return b if a.n_features is None else a
    if a.n_features != b.n_features:
        raise ValueError(
            f"parts differ in their number of columns: {a.n_features} in one, "
            f"{b.n_features} in another"
        )
    if a.outcome is None or b.outcome is None:
        return b if a.outcome is None else a
    if not is_classifier(model):
        if a.outcome != b.outcome:
            differing = sorted({a.outcome, b.outcome})
            raise ValueError(f"parts differ in their number of targets: {differing}")
        return a
    if isinstance(a.outcome[0], str) != isinstance(b.outcome[0], str):  # NumPy would spell numbers
        raise ValueError("labels are texts in one part and numbers in another")
    return a._replace(outcome=np.union1d(a.outcome, b.outcome))


def _require_rows(columns):
    if columns.outcome is None:
        raise ValueError("there is no row of positive weight in any part")


def _require_classes(model, sizes):
    """Raise where a class has no row."""
    if is_classifier(model) and not (sizes > 0).all():
        missing = model.classes_[int(np.argmin(sizes))]
        raise ValueError(f"no row has the label {missing!r}: leave it out of classes")


class ScalerMoments(NamedTuple):
    """Labels of some rows, their total weight, their mean and their scatter."""

    columns: Columns
    size: float
    mean: np.ndarray | None  # None of no rows
    scatter: np.ndarray | None


def _scaler_moments(model, before, X, y, sample_weight=None):
    """Return labels and moments of a part, scaled by the scalers before."""
    columns = _columns_of(model, X, y, sample_weight)
    weight = weights_of_part(sample_weight, len(X))
    if not weight.any():
        return ScalerMoments(columns, 0.0, None, None)
    with one_line_errors(model, X):
        X = check_array(X, input_name="X", **ARRAY_CHECKS)
    moments = mean_and_scatter(scaled(before, X[weight > 0]), weight[weight > 0])
    return ScalerMoments(columns, float(weight.sum()), *moments)


def _both_moments(model, a, b):
    columns = _both_columns(model, a.columns, b.columns)
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


class Rows(NamedTuple):
    """How parts become rows: checked for a model, scaled, with keys of the rows before scaling."""

    model: Any
    scalers: list
    seed: int

    def read(self, X, y, sample_weight):
        """Return rows, labels and weights of a part, and the rows before scaling."""
        if not len(X):
            nothing = np.empty((0, self.model.n_features_in_))
            is_numbers = is_regressor(self.model)
            targets = np.empty((0, self.model.n_outputs_)) if is_numbers else np.empty(0, np.intp)
            return nothing, targets, np.empty(0), nothing
        with one_line_errors(self.model, X):
            X = self.model._validate_new(X)
        X, labels, weight = self.model._rows_of(X, y, sample_weight)
        return scaled(self.scalers, X), labels, weight, X

    def read_keyed(self, X, y, sample_weight):
        """Return rows, labels, weights and keys of a part."""
        rows, labels, weight, raw = self.read(X, y, sample_weight)
        return rows, labels, weight, row_keys(raw, self.seed)


def _class_moments(rows, capacity, X, y, sample_weight=None):
    """Return sizes, moments and reservoirs of the classes."""
    points, labels, weight, keys = rows.read_keyed(X, y, sample_weight)
    require_squares(points)  # here, where it is known which part it is
    n_classes = len(rows.model.classes_)
    return frozen_steps.moments_of(points, labels, weight, keys, n_classes, rows.seed, capacity)


def _sampled(rows, budget, X, y, sample_weight=None):
    """Return a sample of the rows, as many as all classes together may keep."""
    points, labels, weight, keys = rows.read_keyed(X, y, sample_weight)
    n_classes = len(rows.model.classes_)
    return sample_of(points, labels, weight, keys, n_classes, rows.seed, budget)


def _landmark_sums(rows, landmarks, X, y, sample_weight=None):
    """Return kernel sums of every class at its landmarks."""
    return frozen_steps.dissimilarity_sums(landmarks, *rows.read(X, y, sample_weight)[:3])


def _both_sums(a, b):
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _largest_radii(rows, means, X, y, sample_weight=None):
    """Return the largest radius of every class."""
    points, labels, *_ = rows.read(X, y, sample_weight)
    return frozen_steps.largest_class_radii(means, points, labels)


def _summed(rows, begun, X, y, sample_weight=None):
    """Return weights and Gram matrices of the classes."""
    return rows.model._summed(begun, *rows.read_keyed(X, y, sample_weight))


def _residuals(rows, frozen, cost, solution, X, y, sample_weight=None):
    """Return what is left of the right-hand side under a solution: Σ_i w_i m_iᵀ(t_i - m_i β)."""
    points, labels, weight, keys = rows.read_keyed(X, y, sample_weight)
    if frozen is not None:
        weight = weight * frozen_steps.frozen_membership(frozen, points, labels, keys).membership
    if cost is not None:
        weight = weight * cost[labels]
    weight, model = weight * solution.weight_factor, rows.model
    design = sample_design(model._features, points, len(solution.beta), solution.shift)
    system = system_of(design, model._targets(labels), weight, model._blocks())
    return system.residual_products(solution.beta, weight)
