"""Fits of data larger than memory: files, or partitions on a cluster.

:class:`OutOfCoreFit` says which passes over the rows a fit takes, and makes a fitted estimator of
what they find; what runs the maps of a pass, where and in which order, is the caller's business.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from robell._core.membership import frozen as frozen_steps
from robell._core.membership.samples import MOST_SAMPLED, as_count
from robell._core.ridge.solve import REFINE_BELOW, REFINEMENTS, SINGULAR_BELOW
from robell._core.ridge.state import empty
from robell.models._estimator import FamilyMember, require_own_fit
from robell.models._partial_fit import LANDMARKS, RESERVOIR, require_penalty
from robell.models._validation import draw_seed
from robell.scale.passes import (
    Columns,
    ColumnsPass,
    LandmarkPass,
    MomentsPass,
    RadiusPass,
    Reader,
    ResidualPass,
    SamplePass,
    ScalerPass,
    WeightsPass,
    scaled,
    set_moments,
)

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

    Every pass maps each part to a small result and reduces the results in any order and grouping;
    up to rounding, the model does not depend on either, nor on how the rows are cut into parts.

    A plain network takes one pass, two more where its equations are so ill-conditioned that
    ``fit`` would refine their solution. A RoBell network takes four (moments, landmark sums,
    largest radii, weights); only the first where all distinct rows fit in the reservoirs, from
    which the model is then fitted as ``fit`` does it. Every ``StandardScaler`` before the
    classifier takes one more. A model that is declared to be fitted ``by_sample`` takes one pass,
    which keeps a sample of all rows, and is fitted to that in memory. Without ``n_features`` and
    ``classes`` (of a regressor ``n_targets``), the first pass finds them. Memory is that of a
    part, of K Gram matrices and of K reservoirs, or that of the sample, ``sample_rows`` at most.

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
            moments = yield from _result(ScalerPass(model, self._scalers[:place]))
            found = found if found.known else moments.columns
            set_moments(scaler, moments)
        if not found.known:
            found = yield from _result(ColumnsPass(model))
        model._set_outcome(found.outcome)
        model.n_features_in_ = int(found.n_features)
        if model._capabilities.by_sample:
            yield from self._fit_to_sample(model)
            return
        state = model._begin(seed := draw_seed(model.random_state))
        reader, reservoir = Reader(model, self._scalers, seed), None
        if model._capabilities.weighs_by_membership:
            moments = yield from _result(MomentsPass(reader, RESERVOIR))
            model._require_rows(moments.sizes)
            reservoir = moments.reservoir
            if reservoir.complete:
                self._finish(replace(state, sizes=moments.sizes, reservoir=reservoir))
                return
            frozen = yield from self._freeze(reader, moments)
            state = replace(empty(*state.mean.shape), frozen=frozen)
        state = yield from _result(WeightsPass(reader, state))
        model._require_rows(state.sizes)
        if reservoir is not None:
            state = replace(state, reservoir=reservoir)
        yield from self._refine(reader, state)

    def _fit_to_sample(self, model):
        """Draw the sample, and fit the model to it; all rows are in it where they are few."""
        budget = self._sample_rows
        if budget is None:
            budget = sampled_rows(model.n_features_in_, len(model.classes_))
        # Of a copy, so that ``fit`` draws from random_state what it would have drawn.
        seed = draw_seed(deepcopy(model.random_state))
        sample = yield from _result(SamplePass(model, seed, budget))
        model._require_rows(sample.sizes)
        rows, classes = sample.reservoir, model.classes_
        X = scaled(self._scalers, rows.rows)
        model.fit(X, classes[rows.labels], sample_weight=sample.row_weights())
        for name in OF_EVERY_ROW:
            vars(model).pop(name, None)
        model.n_samples_seen_ = as_count(sample.sizes.sum())
        model.n_samples_fitted_ = as_count(sample.kept().sum())
        self._done = True

    def _freeze(self, reader, moments):
        """Find what memberships depend on."""
        width = self.classifier.kernel_width
        width = frozen_steps.scale_width(moments) if width == "scale" else float(width)
        landmarks = frozen_steps.first_rows(moments, width, LANDMARKS)
        sums = yield from _result(LandmarkPass(reader, landmarks))
        means = frozen_steps.class_means(landmarks, sums, moments.sizes)
        r_max = yield from _result(RadiusPass(reader, means))
        rho = float(self.classifier.rho)
        return frozen_steps.freeze(means, r_max, moments.sizes, rho, moments.reservoir)

    def _refine(self, reader, state):
        """Solve, and refine an inaccurate solution with residuals of the rows, as fit does."""
        model, kept = self.classifier, state.reservoir
        found = model._solve_from_sums(state)
        solution = found.solution
        whole = state.frozen is None and kept is not None and kept.complete
        if whole or not SINGULAR_BELOW < solution.factor.rcond < REFINE_BELOW:
            self._finish(state)
            return
        for _ in range(REFINEMENTS):
            residual = yield from _result(ResidualPass(reader, state.frozen, found.cost, solution))
            beta = solution.beta + solution.factor.solve(residual - solution.shrinkage())
            solution = replace(solution, beta=beta)
        model._set_solution(state, found._replace(solution=solution))
        self._done = True

    def _finish(self, state):
        self.classifier._solve(state)
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


def _result(step):
    """Yield a pass, and return what it was finished with."""
    yield step
    return step.take()


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
    if not (isinstance(steps[-1], FamilyMember) and steps[-1]._takes_parts()):
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
