"""Regressors of rows that are read once, in parts: ``partial_fit`` and ``merge``.

They rest on the sums of :mod:`robell._core.ridge.state`.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from robell._core.membership.reservoir import empty_reservoir, settle
from robell._core.ridge.loo import place_of_smallest
from robell._core.ridge.state import (
    empty_targets,
    left_out_errors_of_targets,
    left_out_scores,
    solve_targets,
    update_targets,
)
from robell.models._parts import weights_of_part
from robell.models._shell import PAPER_C, Prepared
from robell.models._solution import SOLVED, Found, SolvedFromSums, merged_sample, solved_attribute
from robell.models._stream import Streaming
from robell.models._streaming import RESERVOIR
from robell.models._validation import TargetRows, as_columns, one_line_errors


class SolvedTargets(SolvedFromSums):
    """What is found from sums of a regressor; not for direct use."""

    interval_residuals_ = solved_attribute("interval_residuals_")
    interval_weights_ = solved_attribute("interval_weights_")
    _left_out_parameter = "intervals"

    def _solve_from_sums(self, state):
        self._require_penalty()
        C, sample = self.C, None
        if self._needs_sample():
            sample = self._sample(state)
        if C == "loo":
            errors = left_out_errors_of_targets(state, PAPER_C, self._features, sample.merged)
            C = float(PAPER_C[place_of_smallest(errors, 1.0 / PAPER_C)])
        return Found(solve_targets(state, self.n_outputs_, float(C)), C, None, sample)

    def _set_solution(self, state, found):
        beta, shift = found.solution.beta, found.solution.shift
        self.C_ = found.C
        self.intercept_ = beta[0] - shift @ beta
        self.solver_ = found.solution.method
        if self.intervals:
            X, T, weight, _ = found.sample.merged
            scores = left_out_scores(found.solution, self._features, X, T, weight)
            self.interval_residuals_ = np.abs(found.sample.T - scores[found.sample.group])
            self.interval_weights_ = found.sample.counted
        self.coef_ = beta[1:]

    def _sample(self, state):
        """Return the rows kept, their weights in the sums, and what they stand for."""
        self._require_sample(state)
        X, T, weight = self._rows_kept(state.reservoir)
        return merged_sample(X, T, weight, weight * (state.sizes[0] / weight.sum()))

    def _rows_kept(self, reservoir):
        kept, n = settle(reservoir), self.n_features_in_
        return np.ascontiguousarray(kept.rows[:, :n]), kept.rows[:, n:], kept.weight

    def _solve_from_rows(self, reservoir):
        rows = TargetRows(*self._rows_kept(reservoir))
        twin = clone(self)
        vars(twin).update({k: v for k, v in vars(self).items() if k != "_stream"})
        n = len(rows.X)
        twin._fit_weighted(Prepared(rows, rows, rows.targets, np.arange(n), n), None)
        vars(self).update({name: vars(twin)[name] for name in SOLVED if name in vars(twin)})


class StreamingTargetsMixin(Streaming, SolvedTargets):
    """Adds ``partial_fit`` to a regressor of the family; not for direct use."""

    _outcome_name = "number of targets"

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
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
        return self._take_part(X, y, None, sample_weight)

    def _begin_outcome(self, y, classes):
        self._set_outcome(self._outcome_of_part(y, None))

    def _require_same_outcome(self, y, classes):
        self._require_targets(self._outcome_of_part(y, None))

    def _require_targets(self, n_targets):
        if n_targets != self.n_outputs_:
            raise ValueError(
                f"y has {n_targets} targets, and {self.n_outputs_} on the calls before"
            )

    def _same_outcome(self, other):
        return self.n_outputs_ == other.n_outputs_

    def _outcome_of_part(self, y, sample_weight):
        shape = np.shape(y)
        if len(shape) not in (1, 2):
            raise ValueError(f"y must have one or two dimensions; its shape is {shape}")
        if sample_weight is not None and not np.any(np.asarray(sample_weight) != 0):
            return None
        return 1 if len(shape) == 1 else shape[1]

    def _joint_outcome(self, parts):
        if len(set(parts)) > 1:
            raise ValueError(f"parts differ in their number of targets: {sorted(set(parts))}")
        return parts[0]

    def _set_outcome(self, outcome):
        self.n_outputs_ = int(outcome)

    def _require_rows(self, sizes):
        """Raise nothing: any rows of positive weight will do."""

    def _begin(self, seed):
        """Draw the random layer and return the state before any row."""
        n_features, n_targets = self.n_features_in_, self.n_outputs_
        nothing = TargetRows(np.empty((0, n_features)), np.empty((0, n_targets)), np.empty(0))
        self._fit_features(nothing, seed)
        reservoir = None
        if self._needs_sample():
            reservoir = empty_reservoir(1, n_features + n_targets, seed, RESERVOIR)
        return empty_targets(n_targets, self._n_columns(), reservoir)

    def _rows_of(self, X, y, sample_weight):
        """Return the rows of positive weight, their targets and their weights."""
        with one_line_errors(self, X, y=y):
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        T = as_columns(y)
        check_consistent_length(X, T)
        self._require_targets(T.shape[1])
        weight = weights_of_part(sample_weight, len(X))
        present = weight > 0
        if present.all():
            return X, T, weight
        return X[present], T[present], weight[present]

    def _target_columns(self, targets):
        return targets

    def _summed(self, state, X, targets, weight, keys=None):
        return update_targets(state, X, targets, weight, self._features, keys)
