"""What ``partial_fit`` and ``merge`` of classifiers and regressors share: rows read once, in parts.

They rest on the mergeable state of :mod:`robell._core.ridge.state`. Fits that may read the rows
several times are in :mod:`robell.scale.out_of_core`.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from robell._core.ridge.state import State, from_plain, merge, to_plain
from robell.models._own import require_own_fit
from robell.models._validation import (
    ARRAY_CHECKS,
    draw_seed,
    one_line_errors,
    uses_device,
)

# What sums already taken depend on
FIXED_PARAMETERS = ("n_hidden", "activation", "bias_scale", "output_bias", "direct_link")
FIXED_PARAMETERS += ("kernel_width", "rho", "views")


@dataclass
class Stream:
    """What an estimator remembers between calls of partial_fit."""

    state: State
    seed: int
    parameters: dict[str, Any]  # values that must not change any more
    told_of_drift: bool = False
    solved: bool = False  # whether the fitted attributes are those of all rows seen


class Streaming:
    """What ``partial_fit`` and ``merge`` of classifiers and regressors share.

    How a part is read (``_rows_of``, ``_outcome_of_part``, ``_joint_outcome``, ``_set_outcome``,
    ``_require_rows``) every classifier of the family knows from ``_parts.py``; regressors say it in
    ``_streaming_targets.py``.
    """

    # -- what the kinds of models decide -----------------------------------------------

    def _begin_outcome(self, y, classes):
        """Set what is predicted, from what the first call was given."""
        raise NotImplementedError

    def _require_same_outcome(self, y, classes):
        """Raise where a later call is given something else to predict."""
        raise NotImplementedError

    def _same_outcome(self, other):
        """Say whether two models predict the same thing."""
        raise NotImplementedError

    def _begin(self, seed):
        """Draw the random layer and return the state before any row."""
        raise NotImplementedError

    def _target_columns(self, outcome):
        """Return what is predicted as targets of the ridge, one column each."""
        raise NotImplementedError

    def _summed(self, state, X, outcome, weight, keys=None):
        """Return the state after more rows of a pass; ``keys`` are theirs in the reservoir."""
        raise NotImplementedError

    def _updated(self, state, X, outcome, weight):
        """Return the state after more rows of a stream."""
        return self._summed(state, X, outcome, weight)

    def _tell_of_drift(self):
        """Warn where later rows differ from those that something was frozen with."""

    # -- partial_fit -------------------------------------------------------------------

    def _take_part(self, X, y, classes, sample_weight):
        """Do what ``partial_fit`` does."""
        if uses_device(X):
            raise TypeError("partial_fit takes arrays, not tensors: give X.cpu()")
        self._require_penalty()
        require_own_fit(self, "partial_fit", called=("_fit_features",))
        model, first = self, "_stream" not in vars(self)
        if first:  # on a copy: rows that cannot be used leave nothing behind
            model = copy(self)
            X = model._begin_stream(X, y, classes)
        else:
            self._require_same_stream(y, classes)
            if not self._is_usable(X):
                with one_line_errors(self, X):
                    X = validate_data(self, X, reset=False, **ARRAY_CHECKS)
        rows = model._rows_of(X, y, sample_weight)
        state = model._updated(model._stream.state, *rows)
        model._stream = replace(model._stream, state=state, solved=False)
        self.__dict__ = vars(model)
        self._tell_of_drift()
        return self

    def _is_usable(self, X):
        """Say whether X is plainly what validation returns, which takes a tenth of a batch."""
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and X.flags.c_contiguous
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and bool(np.isfinite(X).all())
        )

    def _begin_stream(self, X, y, classes):
        """Set what the first rows decide, and return them checked."""
        if "coef_" in vars(self):
            warnings.warn(
                "partial_fit starts anew: the rows given to fit earlier are not part of it",
                UserWarning,
                stacklevel=5,
            )
        self._remember_device(None)
        with one_line_errors(self, X):
            X = validate_data(self, X, **ARRAY_CHECKS)
        self._begin_outcome(y, classes)
        seed = draw_seed(self.random_state)
        fixed = {name: getattr(self, name) for name in FIXED_PARAMETERS if hasattr(self, name)}
        self._stream = Stream(self._begin(seed), seed, fixed)
        return X

    def _require_same_stream(self, y, classes):
        for name, value in self._stream.parameters.items():
            if differ(getattr(self, name), value):
                raise ValueError(
                    f"{name} was changed from {value!r} to {getattr(self, name)!r} between calls "
                    "of partial_fit; start anew with a clone"
                )
        self._require_same_outcome(y, classes)
        self._require_sample(self._stream.state)

    # -- merge -------------------------------------------------------------------------

    def merge(self, other):
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
        if type(self) is not type(other) or not self._same_outcome(other):
            raise ValueError(f"merge needs two models of the same kind and {self._outcome_name}")
        if (
            differ(mine.parameters, theirs.parameters)
            or self.n_features_in_ != other.n_features_in_
        ):
            raise ValueError("merge needs two models of the same parameters and features")
        if mine.seed != theirs.seed:
            raise ValueError(
                "merge needs two models of the same random layer: give both the same int as "
                "random_state"
            )
        state = merge(mine.state, theirs.state, self._features)
        self._stream = replace(mine, state=state, solved=False)
        self._tell_of_drift()
        return self

    # -- files -------------------------------------------------------------------------

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_stream" in state:
            stream = state["_stream"]
            # Dicts, lists and arrays only: files can be read without trusting our classes.
            state["_stream"] = {**vars(stream), "state": to_plain(stream.state)}
        return state

    def __setstate__(self, state):
        if "_stream" in state:
            plain = state["_stream"]
            stream = Stream(**{**plain, "state": from_plain(plain["state"])})
            state = {**state, "_stream": stream}
        super().__setstate__(state)


def differ(a, b):
    """Say whether two values differ; arrays within them are compared as they are written."""
    try:
        return bool(a != b)
    except ValueError:
        return repr(a) != repr(b)
