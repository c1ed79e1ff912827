"""``partial_fit`` and ``merge`` of classifiers and regressors: rows read once, in parts.

They rest on the mergeable sums of :mod:`robell._core.ridge.state`. Fits that may read the rows
several times are in :mod:`robell.scale.out_of_core`.
"""

from __future__ import annotations

import sys
import warnings
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgWarning
from sklearn.base import _fit_context, is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, validate_data

from robell._core.array import one_hot
from robell._core.membership.frozen import frozen_membership
from robell._core.membership.pairs import require_squares
from robell._core.membership.samples import UNBOUNDED, empty_reservoir, settle
from robell._core.ridge import state as sums
from robell._core.ridge.calibrate import even_within_classes, fit_calibration
from robell._core.ridge.loo import place_of_smallest
from robell._core.ridge.solve import REFINE_BELOW
from robell._core.ridge.twins import Twins, left_out_together
from robell.models import _validation as gate
from robell.models._estimator import (
    OF_EARLIER_FIT,
    OF_LEFT_OUT,
    PAPER_C,
    FamilyMember,
    column_name,
    cost_from_dict,
    of_classes,
    prepared_of,
    require_own_fit,
    twin_of,
)

# What sums already taken depend on
FIXED_PARAMETERS = (
    *("n_hidden", "activation", "bias_scale", "output_bias", "direct_link"),
    *("kernel_width", "rho", "views"),
)
RESERVOIR = 2048  # distinct rows kept of every class
LANDMARKS = 512  # of every class
WARM_UP = 4096  # distinct rows before memberships are frozen
WARM_UP_OF_EACH_CLASS = 32  # of every class, unless the warm-up becomes too long
LONGEST_WARM_UP = 65536
DRIFT_CHANCE = 1e-6  # warn of what would happen by chance this seldom
INACCURATE_BELOW = 1e-12  # rcond at which output weights keep about six digits
SOLVED = ("coef_", "intercept_", "solver_", "C_", "kernel_width_", *OF_LEFT_OUT)


class DriftWarning(UserWarning):
    """Later rows differ from those a stream's memberships were frozen with."""


@dataclass
class Stream:
    """What an estimator remembers between calls of partial_fit."""

    state: sums.State
    seed: int
    parameters: dict[str, Any]  # values that must not change any more
    told_of_drift: bool = False
    solved: bool = False  # whether the fitted attributes are those of all rows seen


class Sample(NamedTuple):
    """The rows kept of a stream; equal ones, which are left out together, also merged."""

    T: np.ndarray  # targets: one-hot of classes
    counted: np.ndarray  # how many rows seen each stands for, with its weight
    merged: tuple[np.ndarray, ...]  # rows, targets, weights and counts of the merged rows
    twins: Twins | None  # how they were merged
    seen: np.ndarray | None = None  # how many rows seen each stands for; of classes

    def of_rows(self, scores):
        """Return the scores of all rows, from those of the merged ones."""
        return scores if self.twins is None else scores[self.twins.group]


class Found(NamedTuple):
    """A solution, and what it was found with."""

    solution: sums.GramSolution
    C: float
    cost: np.ndarray | None
    sample: Any  # a Sample; None where none is needed


def take_part(model, X, y, classes, sample_weight):
    """Do what ``partial_fit`` does: check a part of the rows, and add it to the sums."""
    given = model
    if gate.uses_device(X):
        raise TypeError("partial_fit takes arrays, not tensors: give X.cpu()")
    require_penalty(model)
    require_own_fit(model, "partial_fit", called=("_fit_features",))
    if "_stream" not in vars(model):
        model = copy(model)  # rows that cannot be used leave nothing behind
        if "coef_" in vars(model):
            warnings.warn(
                "partial_fit starts anew: the rows given to fit earlier are not part of it",
                UserWarning,
                stacklevel=gate.level_of_user(),
            )
        for name in OF_EARLIER_FIT:
            model.__dict__.pop(name, None)
        with gate.one_line_errors(model, X):
            X = validate_data(model, X, **gate.ARRAY_CHECKS)
        expect(model, y, classes, first=True)
        seed = gate.draw_seed(model.random_state)
        fixed = {name: getattr(model, name) for name in FIXED_PARAMETERS if hasattr(model, name)}
        model._stream = Stream(model._begin(seed), seed, fixed)
    else:
        for name, value in model._stream.parameters.items():
            if differ(getattr(model, name), value):
                raise ValueError(
                    f"{name} was changed from {value!r} to {getattr(model, name)!r} between calls "
                    "of partial_fit; start anew with a clone"
                )
        expect(model, y, classes, first=False)
        require_sample(model, model._stream.state)
        with gate.one_line_errors(model, X):
            X = model._validate_new(X)
    rows = model._rows_of(X, y, sample_weight)
    remember(model, model._summed(model._stream.state, *rows))
    given.__dict__ = vars(model)
    tell_of_drift(given)
    return given


def expect(model, y, classes, first):
    """Set what is predicted on the first call of partial_fit; raise where it is another later."""
    if not is_classifier(model):
        n_targets = number_of_targets(y)
        if first:
            model._set_outcome(n_targets)
        require_targets(model, n_targets)
        return
    if first:
        if classes is None and "coef_" not in vars(model):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        model._set_outcome(model.classes_ if classes is None else classes)
    elif classes is not None and not np.array_equal(np.unique(classes), model.classes_):
        raise ValueError(
            f"classes={np.unique(classes).tolist()} is not the same as on the last call of "
            f"partial_fit, {model.classes_.tolist()}"
        )
    if isinstance(model.class_weight, dict):
        cost_from_dict(model.class_weight, model.classes_)


def number_of_targets(y):
    """Return how many targets are given, or raise one line."""
    shape = np.shape(y)
    if len(shape) not in (1, 2):
        raise ValueError(f"y must have one or two dimensions; its shape is {shape}")
    return 1 if len(shape) == 1 else shape[1]


def remember(model, state):
    """Store the rows seen so far, and forget what earlier ones were solved for."""
    forget_solution(model)
    model._stream = replace(model._stream, state=state, solved=False)


def forget_solution(model):
    """Forget the fitted attributes that are found from sums."""
    for name in SOLVED:
        model.__dict__.pop(name, None)


def solve_seen(model, state):
    """Set the attributes named in SOLVED to those of the rows seen."""
    if not state.sizes.any():
        raise ValueError(f"this {type(model).__name__} has seen no row of positive weight yet")
    if state.warming_up:
        model._solve_from_rows(state.reservoir)
        return
    found = solve_from_sums(model, state)
    rcond, kept = found.solution.factor.rcond, state.reservoir
    if rcond < REFINE_BELOW and state.frozen is None and kept is not None and kept.complete:
        model._solve_from_rows(kept)
        return
    if rcond < INACCURATE_BELOW:
        column = column_name(model, found.solution.worst)
        warnings.warn(
            f"the normal equations are ill-conditioned (rcond {rcond:.0e}, most of all by "
            f"{column}), and the rows that could refine their solution are gone: scale the "
            "columns, or choose a smaller C or fewer nodes",
            LinAlgWarning,
            stacklevel=gate.level_of_user(),
        )
    model._set_solution(state, found)


def ensure_solved(model):
    """Find the output weights of the rows seen, where there are rows they do not know yet."""
    stream = vars(model).get("_stream")
    if stream is not None and not stream.solved:
        try:
            solve_seen(model, stream.state)
        except BaseException:
            forget_solution(model)  # a part of it may be set
            raise
        stream.solved = True


def tell_of_drift(model):
    """Warn where later rows differ from those that memberships were frozen with."""
    stream = model._stream
    state = stream.state
    if state.frozen is None or stream.told_of_drift:
        return
    message = None
    p_values = sums.drift_p_values(state)
    c = int(p_values.argmin())
    smallest, supposed = int(state.sizes.argmin()), state.frozen.minority
    difference = state.sizes[supposed] - state.sizes[smallest]
    if p_values[c] < DRIFT_CHANCE:
        message = (
            f"{state.beyond[c]:g} of {state.later[c]:g} later rows of class "
            f"{model.classes_[c]!r} are further from its mean than all rows before the freeze"
        )
    elif difference > 5.0 * np.sqrt(state.sizes[supposed] + state.sizes[smallest]):
        message = (
            f"class {model.classes_[supposed]!r} was the smallest at the freeze, and now "
            f"{model.classes_[smallest]!r} is"
        )
    if message is not None:
        stream.told_of_drift = True
        warnings.warn(
            f"the stream has drifted: {message}; memberships of new rows are those of the "
            "past (see drift_), so consider starting anew",
            DriftWarning,
            stacklevel=gate.level_of_user(),
        )


def needs_sample(model):
    """Say whether a sample of the rows is needed, for rows to be left out."""
    return model._leaves_out() or model.C == "loo"


def require_penalty(model):
    """Raise where C is infinite: sums of products do not hold the solution of smallest norm."""
    if model.C != "loo" and np.isinf(model.C):
        raise ValueError(
            "C=inf needs all rows at once: sums of their products do not hold the solution of "
            "smallest norm; call fit, or give a large C"
        )


def require_sample(model, state):
    """Raise where a sample of the rows is needed and none was kept."""
    if state.reservoir is None and needs_sample(model):
        parameter = "calibrate" if is_classifier(model) else "intervals"
        raise ValueError(
            f'{parameter}=True and C="loo" need a sample of the rows, and none '
            "was kept: set them before the first call of partial_fit"
        )


def solve_from_sums(model, state):
    """Return the solution that follows from the sums, and what it was found with."""
    require_penalty(model)
    cost = model._class_cost(state.sizes) if is_classifier(model) else None
    sample, C = None, model.C
    if needs_sample(model):
        require_sample(model, state)
        sample = model._sample(state, cost)
    if C == "loo":
        C = PAPER_C[model._chosen(state, cost, sample)]
    return Found(model._solved(state, float(C), cost), float(C), cost, sample)


class Streaming(FamilyMember):
    """What ``partial_fit`` and ``merge`` of all models share; not for direct use."""

    # An ordinary ``fit`` sets plain attributes. A stream forgets those in ``SOLVED`` with every
    # part, and finds them from its sums when one is first read: solving at every batch would cost
    # more than the batch, since probabilities alone need the scores of thousands of rows left out.

    def __getattr__(self, name):
        """Find what a stream has not been solved for; asked only where an attribute is missing."""
        if name in SOLVED:
            try:
                ensure_solved(self)
            except ValueError as error:  # hasattr knows AttributeError only
                raise AttributeError(f"{type(self).__name__} has no {name} yet: {error}") from error
        return object.__getattribute__(self, name)

    def _scores(self, X):
        ensure_solved(self)
        return super()._scores(X)

    def _begin(self, seed):
        """Draw the random layer and return the state before any row."""
        n_features, waits = self.n_features_in_, self._capabilities.weighs_by_membership
        nothing = gate.TrainingRows(np.empty((0, n_features)), np.empty(0, np.intp), np.empty(0))
        self._fit_features(nothing, seed)
        n_classes, n_targets, n_columns = 1, 0, self._n_columns()
        if is_classifier(self):
            n_classes = len(self.classes_)
        else:  # targets are columns too, and the constant is none
            n_targets = self.n_outputs_
            n_columns += n_targets - 1
        reservoir = None
        if waits or needs_sample(self):
            kept = UNBOUNDED if waits else RESERVOIR
            reservoir = empty_reservoir(n_classes, n_features + n_targets, seed, kept)
        return sums.empty(n_classes, n_columns, reservoir, waits)

    def _scores_of_sample(self, state, found):
        """Return the scores of the merged rows kept by the model fitted without each."""
        X, T, weight, _ = found.sample.merged
        return sums.left_out_scores(found.solution, self._features, X, T, weight, self._blocks())

    # -- merge -------------------------------------------------------------------------

    def merge(self, other: Any) -> Self:
        """Add the rows that another model has seen in its own calls of partial_fit.

        Parameters
        ----------
        other : estimator
            Of the same kind, parameters, classes or targets, and ``random_state`` (an int); it is
            not changed.

        Returns
        -------
        self : object
            The model of the rows of both.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from robell import RVFLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> here, there = (RVFLClassifier(random_state=0) for _ in range(2))
        >>> here = here.partial_fit(X[::2], y[::2], classes=[0, 1, 2])
        >>> there = there.partial_fit(X[1::2], y[1::2], classes=[0, 1, 2])
        >>> here.merge(there).score(X, y) > 0.9
        True
        """
        for model in (self, other):
            if "_stream" not in vars(model):
                raise ValueError("merge needs two models fitted by partial_fit")
        mine, theirs = self._stream, other._stream
        outcome, name = "n_outputs_", "number of targets"
        if is_classifier(self):
            outcome, name = "classes_", "classes"
        if type(self) is not type(other) or not np.array_equal(
            getattr(self, outcome), getattr(other, outcome)
        ):
            raise ValueError(f"merge needs two models of the same kind and {name}")
        if (
            differ(mine.parameters, theirs.parameters)
            or self.n_features_in_ != other.n_features_in_
        ):
            raise ValueError("merge needs two models of the same parameters and features")
        names = [m.feature_names_in_ for m in (self, other) if hasattr(m, "feature_names_in_")]
        if len(names) == 2 and not np.array_equal(names[0], names[1]):
            raise ValueError("merge needs two models of the same columns in the same order")
        if mine.seed != theirs.seed:
            raise ValueError(
                "merge needs two models of the same random layer: give both the same int as "
                "random_state"
            )
        remember(self, sums.merge(mine.state, theirs.state, self._features))
        tell_of_drift(self)
        return self

    # -- files -------------------------------------------------------------------------

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_stream" in state:
            stream = state["_stream"]
            # Dicts, lists and arrays only: files can be read without trusting our classes.
            state["_stream"] = {**vars(stream), "state": sums.to_plain(stream.state)}
        return state

    def __setstate__(self, state):
        if "_stream" in state:
            plain = state["_stream"]
            stream = Stream(**{**plain, "state": sums.from_plain(plain["state"])})
            # Files of earlier versions keep what an earlier solution was.
            outdated = () if stream.solved else SOLVED
            state = {name: state[name] for name in state if name not in outdated}
            state["_stream"] = stream
        super().__setstate__(state)


class StreamingMixin(Streaming):
    """Adds ``partial_fit`` to a classifier of the family; not for direct use."""

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to some more rows.

        After any number of calls the model is that of all rows given so far. The output weights
        are found when they are first needed, so a call costs little more than its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Some rows.
        y : array-like of shape (n_samples,)
            Their class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may ever occur. Needed at the first call, optional later.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row, as in ``fit``.

        Returns
        -------
        self : object
            The estimator.

        Notes
        -----
        ``C``, ``class_weight`` and ``calibrate`` may change between calls; they are applied when
        the output weights are found. Probabilities, and ``C="loo"``, come from exact
        leave-one-out scores of a sample of the rows: all of them up to 2,048 distinct rows a
        class, a uniform sample beyond. Models of the same ``random_state`` can be merged. Files
        of such a model hold that sample. See ``docs/guide/streaming.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from robell import RVFLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RVFLClassifier(random_state=0)
        >>> for start in range(0, 150, 50):
        ...     batch = slice(start, start + 50)
        ...     model = model.partial_fit(X[batch], y[batch], classes=[0, 1, 2])
        >>> whole = RVFLClassifier(random_state=0).fit(X, y)
        >>> bool(np.allclose(model.coef_, whole.coef_, rtol=0, atol=1e-10))
        True
        """
        return take_part(self, X, y, classes, sample_weight)

    def _summed(self, state, X, labels, weight, keys=None):
        if self._capabilities.weighs_by_membership:
            require_squares(X)  # now, not when the memberships are computed
        if not state.warming_up or not len(X):
            return sums.update(state, X, labels, weight, self._features, keys)
        ends = sums.rows_before_freeze(
            state, X, labels, WARM_UP, WARM_UP_OF_EACH_CLASS, LONGEST_WARM_UP
        )
        state = sums.update(state, X[:ends], labels[:ends], weight[:ends], self._features)
        if ends is None:
            return state
        width = None if self.kernel_width == "scale" else float(self.kernel_width)
        state = sums.end_warm_up(
            state, width, float(self.rho), LANDMARKS, RESERVOIR, self._features
        )
        return sums.update(state, X[ends:], labels[ends:], weight[ends:], self._features)

    # -- the solution of the rows seen --------------------------------------------------

    def _sample(self, state, cost):
        """Return the rows kept, their weights in the sums, and what they stand for."""
        kept = settle(state.reservoir)
        T, weight = one_hot(kept.labels, len(self.classes_)), kept.weight.copy()
        if state.frozen is not None:
            found = frozen_membership(state.frozen, kept.rows, kept.labels, kept.keys)
            weight *= found.membership
        if cost is not None:
            weight *= cost[kept.labels]
        known = np.bincount(kept.labels, weights=kept.weight, minlength=len(self.classes_))
        stands_for = (state.sizes / np.where(known > 0, known, 1.0))[kept.labels]
        twins = left_out_together(kept.rows, kept.labels, kept.weight)
        sample = merged_sample(twins, kept.rows, T, weight, weight * stands_for)
        return sample._replace(seen=kept.weight * stands_for)

    def _chosen(self, state, cost, sample):
        """Return the place of the C of smallest error on the rows kept."""
        blocks = self._blocks()
        errors = sums.left_out_errors(state, cost, PAPER_C, self._features, sample.merged, blocks)
        return place_of_smallest(errors, 1.0 / PAPER_C)

    def _solved(self, state, C, cost):
        return sums.solve(state, C, cost, self._blocks())

    def _set_solution(self, state, found):
        self.C_ = found.C
        self.solver_ = found.solution.method
        if state.frozen is not None:
            self.kernel_width_ = state.frozen.means.landmarks.width
        if self.calibrate:
            scores = self._scores_of_sample(state, found)
            T, counted = found.sample.T, found.sample.counted
            self.calibration_slope_, self.calibration_offsets_ = fit_calibration(
                found.sample.of_rows(scores), T, even_within_classes(counted, T, found.sample.seen)
            )
        self._set_output_weights(found.solution.beta)

    def _solve_from_rows(self, reservoir):
        """Do what ``fit`` does with the rows kept, which are all rows seen."""
        kept = settle(reservoir)
        seen = np.unique(kept.labels)
        twin = of_classes(self, seen)  # memberships and costs are those of the classes seen
        places = np.searchsorted(seen, kept.labels)
        rows = gate.TrainingRows(kept.rows, places, kept.weight)
        importance = twin._fit_weights(prepared_of(rows, one_hot(places, len(seen))))
        twin.classes_ = self.classes_
        rows = rows._replace(labels=kept.labels)
        twin._fit_weighted(prepared_of(rows, self._targets(kept.labels)), importance)
        self.__dict__.update({name: vars(twin)[name] for name in SOLVED if name in vars(twin)})

    @property
    def drift_(self):
        """What later rows say about the memberships frozen after the warm-up, class by class.

        A dict of arrays: ``n_later`` (rows since the freeze), ``n_beyond`` (those of them whose
        radius exceeds the frozen largest one), ``largest_radius``, ``frozen_radius``, and
        ``p_value``, the chance of at least as many of them had nothing changed.
        """
        stream = vars(self).get("_stream")
        if stream is None or stream.state.frozen is None:
            raise AttributeError("drift_ exists once partial_fit has frozen memberships")
        state = stream.state
        return {
            "n_later": state.later.copy(),
            "n_beyond": state.beyond.copy(),
            "largest_radius": state.largest_radius.copy(),
            "frozen_radius": state.frozen.r_max.copy(),
            "p_value": sums.drift_p_values(state),
        }


class StreamingTargetsMixin(Streaming):
    """Adds ``partial_fit`` to a regressor of the family; not for direct use."""

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to some more rows.

        After any number of calls the model is that of all rows given so far. The output weights
        are found when they are first needed, so a call costs little more than its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Some rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row, as in ``fit``.

        Returns
        -------
        self : object
            The estimator.

        Notes
        -----
        ``C`` may change between calls; it is applied when the output weights are found. Intervals,
        and ``C="loo"``, come from exact leave-one-out residuals of a sample of the rows: all of
        them up to 2,048 distinct rows, a uniform sample beyond. Models of the same
        ``random_state`` can be merged. Files of such a model hold that sample.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from robell import RVFLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = RVFLRegressor(random_state=0)
        >>> for start in range(0, 442, 100):
        ...     batch = slice(start, start + 100)
        ...     model = model.partial_fit(X[batch], y[batch])
        >>> whole = RVFLRegressor(random_state=0).fit(X, y)
        >>> bool(np.allclose(model.predict(X), whole.predict(X)))
        True
        """
        return take_part(self, X, y, None, sample_weight)

    def _set_outcome(self, outcome):
        self.n_outputs_ = int(outcome)

    def _rows_of(self, X, y, sample_weight):
        """Return the rows of positive weight, their targets and their weights."""
        with gate.one_line_errors(self, X, y=y):
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        T = gate.as_columns(y)
        check_consistent_length(X, T)
        require_targets(self, T.shape[1])
        return gate.present_rows(X, T, gate.weights_of_part(sample_weight, len(X)))

    def _summed(self, state, X, targets, weight, keys=None):
        return sums.update_targets(state, X, targets, weight, self._features, keys)

    # -- the solution of the rows seen --------------------------------------------------

    def _sample(self, state, cost):
        X, T, weight = self._rows_kept(state.reservoir)
        twins = left_out_together(X, T, weight)
        return merged_sample(twins, X, T, weight, weight * (state.sizes[0] / weight.sum()))

    def _chosen(self, state, cost, sample):
        errors = sums.left_out_errors_of_targets(state, PAPER_C, self._features, sample.merged)
        return place_of_smallest(errors, 1.0 / PAPER_C)

    def _solved(self, state, C, cost):
        return sums.solve_targets(state, self.n_outputs_, C)

    def _set_solution(self, state, found):
        beta, shift = found.solution.beta, found.solution.shift
        self.C_ = found.C
        self.intercept_ = beta[0] - shift @ beta
        self.solver_ = found.solution.method
        if self.intervals:
            scores = found.sample.of_rows(self._scores_of_sample(state, found))
            self.interval_residuals_ = np.abs(found.sample.T - scores)
            self.interval_weights_ = found.sample.counted
        self.coef_ = beta[1:]

    def _rows_kept(self, reservoir):
        kept, n = settle(reservoir), self.n_features_in_
        return np.ascontiguousarray(kept.rows[:, :n]), kept.rows[:, n:], kept.weight

    def _solve_from_rows(self, reservoir):
        rows = gate.TargetRows(*self._rows_kept(reservoir))
        twin = twin_of(self)
        twin._fit_weighted(prepared_of(rows, rows.targets), None)
        self.__dict__.update({name: vars(twin)[name] for name in SOLVED if name in vars(twin)})


def require_targets(model, n_targets):
    """Raise where rows have another number of targets than those before."""
    if n_targets != model.n_outputs_:
        raise ValueError(f"y has {n_targets} targets, and {model.n_outputs_} on the calls before")


def merged_sample(twins, X, T, weight, counted):
    """Return rows kept of a stream, those that are left out together merged."""
    if twins is None:
        return Sample(T, counted, (X, T, weight, counted), None)
    merged_weight, merged_T = twins.merge(weight, T)
    merged_counts, _ = twins.merge(counted, T)
    return Sample(T, counted, (X[twins.first], merged_T, merged_weight, merged_counts), twins)


def differ(a, b):
    """Say whether two values differ; arrays within them are compared as they are written."""
    try:
        return bool(a != b)
    except ValueError:
        with np.printoptions(threshold=sys.maxsize):  # whole
            return repr(a) != repr(b)
