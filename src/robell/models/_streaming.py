"""Classifiers of rows that are read once, in parts: ``partial_fit``, and drift in the stream."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import _fit_context

from robell._core.array import one_hot
from robell._core.membership.distances import require_squares
from robell._core.membership.reservoir import empty_reservoir
from robell._core.ridge.state import (
    drift_p_values,
    empty,
    empty_warm_up,
    end_warm_up,
    rows_before_freeze,
    update,
)
from robell.models._solution import SolvedClasses
from robell.models._stream import Streaming
from robell.models._validation import TrainingRows

RESERVOIR = 2048  # distinct rows kept of every class
LANDMARKS = 512  # of every class
WARM_UP = 4096  # distinct rows before memberships are frozen
WARM_UP_OF_EACH_CLASS = 32  # of every class, unless the warm-up becomes too long
LONGEST_WARM_UP = 65536
DRIFT_CHANCE = 1e-6  # warn of what would happen by chance this seldom


class DriftWarning(UserWarning):
    """Later rows differ from those a stream's memberships were frozen with."""


class StreamingMixin(Streaming, SolvedClasses):
    """Adds ``partial_fit`` to a classifier of the family; not for direct use."""

    _outcome_name = "classes"

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
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
        return self._take_part(X, y, classes, sample_weight)

    def _begin_outcome(self, y, classes):
        if classes is None and "coef_" not in vars(self):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        self._set_classes(self.classes_ if classes is None else classes)
        self._check_class_weight()

    def _require_same_outcome(self, y, classes):
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={np.unique(classes).tolist()} is not the same as on the last call of "
                f"partial_fit, {self.classes_.tolist()}"
            )
        self._check_class_weight()

    def _same_outcome(self, other):
        return np.array_equal(self.classes_, other.classes_)

    def _check_class_weight(self):
        if isinstance(self.class_weight, dict):
            self._class_cost_from_dict()

    def _begin(self, seed):
        """Draw the random layer and return the state before any row."""
        n_features = self.n_features_in_
        nothing = TrainingRows(np.empty((0, n_features)), np.empty(0, np.intp), np.empty(0))
        self._fit_features(nothing, seed)
        n_classes, n_columns = len(self.classes_), self._n_columns()
        if self._capabilities.weighs_by_membership:
            return empty_warm_up(n_classes, n_columns, n_features, seed)
        reservoir = None
        if self._needs_sample():
            reservoir = empty_reservoir(n_classes, n_features, seed, RESERVOIR)
        return empty(n_classes, n_columns, reservoir)

    def _target_columns(self, labels):
        return one_hot(labels, len(self.classes_))

    def _summed(self, state, X, labels, weight, keys=None):
        return update(state, X, labels, weight, self._features, keys)

    def _updated(self, state, X, labels, weight):
        if self._capabilities.weighs_by_membership:
            require_squares(X)  # now, not when the memberships are computed
        if not state.warming_up or not len(X):
            return update(state, X, labels, weight, self._features)
        ends = rows_before_freeze(state, X, labels, WARM_UP, WARM_UP_OF_EACH_CLASS, LONGEST_WARM_UP)
        state = update(state, X[:ends], labels[:ends], weight[:ends], self._features)
        if ends is None:
            return state
        width = None if self.kernel_width == "scale" else float(self.kernel_width)
        state = end_warm_up(state, width, float(self.rho), LANDMARKS, RESERVOIR, self._features)
        return update(state, X[ends:], labels[ends:], weight[ends:], self._features)

    # -- drift -------------------------------------------------------------------------

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
            "p_value": drift_p_values(state),
        }

    def _tell_of_drift(self):
        stream = self._stream
        state = stream.state
        if state.frozen is None or stream.told_of_drift:
            return
        message = None
        p_values = drift_p_values(state)
        c = int(p_values.argmin())
        smallest, supposed = int(state.sizes.argmin()), state.frozen.minority
        difference = state.sizes[supposed] - state.sizes[smallest]
        if p_values[c] < DRIFT_CHANCE:
            message = (
                f"{state.beyond[c]:g} of {state.later[c]:g} later rows of class "
                f"{self.classes_[c]!r} are further from its mean than all rows before the freeze"
            )
        elif difference > 5.0 * np.sqrt(state.sizes[supposed] + state.sizes[smallest]):
            message = (
                f"class {self.classes_[supposed]!r} was the smallest at the freeze, and now "
                f"{self.classes_[smallest]!r} is"
            )
        if message is not None:
            stream.told_of_drift = True
            warnings.warn(
                f"the stream has drifted: {message}; memberships of new rows are those of the "
                "past (see drift_), so consider starting anew",
                DriftWarning,
                stacklevel=3,
            )
