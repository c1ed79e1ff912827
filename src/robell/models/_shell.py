"""The estimator shell, for arrays and tensors alike: check, fill the slots, solve; predict.

A model of the family is one weighted ridge regression on a design matrix,

    β = argmin ½|β|² + ½ tr(βᵀQβ) + C/2 Σ_i w_i |m_i β - t_i|²,

and a subclass fills the slots it differs in:

    rows          ``_fit_rows``                      the samples, or what stands for them
    features m_i  ``_fit_features``, ``_features``,  drawn or fitted once; the same at fit and
                  ``_n_columns``                     predict, a block of rows at a time
    weights w_i   ``_fit_weights``, ``_importances`` class costs, memberships
    penalty Q     ``_fit_penalty``                   None, or a graph's matrix
    the ridge     ``_fit_ridge``                     how β, C and left-out scores are found

What the targets t_i are is decided by a root (classes: ``_base.py``), which fills
``_remember_outcome``, ``_targets``, ``_leaves_out`` and ``_use_left_out``.

Tensors stay on their device: products are taken there, and only the system of the output weights
and a few numbers a row come to the host.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.array import EPS, beside, in_double_precision, is_tensor, namespace, to_host
from robell._core.layers.activations import ACTIVATIONS
from robell._core.layers.features import (
    RowBlocks,
    design_matrix,
    draw_random_layer,
    hidden_output,
)
from robell._core.ridge.solve import System, choose_C
from robell._core.ridge.twins import find_twins
from robell.models._capabilities import Capabilities
from robell.models._validation import TrainingRows, draw_seed

PAPER_C = np.array([10.0**k for k in range(-5, 6)])  # the range C="loo" chooses from


class Prepared(NamedTuple):
    """A fit up to its row weights and its C."""

    samples: TrainingRows  # those of positive weight
    rows: TrainingRows  # what the ridge is fitted to
    T: np.ndarray  # targets of the rows: one-hot of classes
    present: np.ndarray  # places of the samples among the rows given to fit
    n_given: int

    def in_order_given(self, values, absent):
        """Return values of the samples in the order of the rows given; ``absent`` for the rest."""
        found = np.full(self.n_given, absent)
        found[self.present] = values
        return beside(found, self.samples.X)


class RidgeShell:
    """One random layer and one ridge regression, whatever the targets; not for direct use."""

    _capabilities = Capabilities(exact_search=True)

    _parameter_constraints = {
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS)), callable],
        "C": [Interval(Real, 0, np.inf, closed="right"), StrOptions({"loo"})],
        "bias_scale": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    _direct_link = True  # whether [x] is among the features
    _dtype = np.float64  # of the design matrix
    _C_factor = 1.0  # what C is multiplied by in the ridge
    _is_nested = True  # whether networks that differ in the next can share their work
    _nested_parameter = "n_hidden"  # smaller networks are the first columns of larger ones
    _columns_per_node = 1  # columns that one more of these adds to the design matrix
    _weight_parameters = ()  # parameters that only the row weights depend on
    _penalty_parameter = None  # parameter that only multiplies the penalty's matrix

    # -- what the roots decide ---------------------------------------------------------

    def _remember_outcome(self, given, y):
        """Set the attributes that say what is predicted."""
        raise NotImplementedError

    def _targets(self, rows):
        """Return the targets of the rows, one column each."""
        raise NotImplementedError

    def _leaves_out(self):
        """Say whether leave-one-out scores are needed after the solution."""
        raise NotImplementedError

    def _use_left_out(self, prepared, total, scores):
        """Take the samples' leave-one-out scores; None where they were not needed."""
        raise NotImplementedError

    # -- fit --------------------------------------------------------------------------

    def _fit(self, X, y, sample_weight):
        self.__dict__.pop("_stream", None)  # what partial_fit remembers: fit starts anew
        return self._fit_prepared(self._prepare(X, y, sample_weight))

    def _prepare(self, X, y, sample_weight=None, privileged=None):
        """Validate, and fit all that does not depend on C or on row weights."""
        prepared = self._prepare_rows(X, y, sample_weight, privileged)
        self._fit_features(prepared.rows, draw_seed(self.random_state))
        return prepared

    def _prepare_rows(self, X, y, sample_weight=None, privileged=None):
        """Validate, and fit what depends on the rows alone."""
        given = self._check_training(X, y, sample_weight)
        samples = given.rows()
        if is_tensor(given.X) and callable(self.activation):
            raise ValueError("on a device, activation must be one of the ten by name")
        self._remember_outcome(given, y)
        self._remember_device(samples.X)
        rows = self._fit_rows(samples)
        if privileged is not None:
            rows = self._with_privileged(rows, privileged, given)
        return Prepared(samples, rows, self._targets(rows), given.present, len(given.X))

    def _fit_prepared(self, prepared):
        return self._fit_weighted(prepared, self._fit_weights(prepared))

    def _fit_weighted(self, prepared, importance):
        """Solve, given the importance of every row, and use what leaving rows out tells."""
        _, rows, T, *_ = prepared
        total = rows.multiplicity if importance is None else rows.multiplicity * importance
        further_penalty = self._fit_penalty(self._design(rows.X), rows)
        leave_out = self._leaves_out()
        # Copies of a row must be left out with it.
        twins = find_twins(rows.X) if leave_out or self._chooses_left_out() else None
        X, weights, targets = rows.X, total, T
        if twins is not None:
            X = X[twins.first]
            weights, targets = twins.merge(total, T)
        elif importance is None and bool((rows.multiplicity == 1.0).all()):
            weights = None
        solution = self._fit_weighty(X, targets, weights, further_penalty, leave_out)
        self._set_output_weights(solution.beta)
        self.solver_ = solution.method
        scores = solution.loo_scores
        if twins is not None and scores is not None:
            scores = scores[twins.group]
        self._use_left_out(prepared, total, scores)
        return self

    def _fit_weighty(self, X, T, weights, further_penalty, leave_out):
        """Fit the ridge to the rows of positive weight; the others' scores are the model's."""
        some = None if weights is None else weights > 0.0
        if some is None or bool(some.all()):
            return self._fit_ridge(X, T, weights, further_penalty, leave_out)
        found = self._fit_ridge(X[some], T[some], weights[some], further_penalty, leave_out)
        if found.loo_scores is None:
            return found
        scores = self._linear_scores(X, found.beta)
        scores[some] = found.loo_scores
        return replace(found, loo_scores=scores)

    def _design(self, X):
        """Return the design matrix of some rows, a block at a time."""
        return RowBlocks(
            lambda block: self._features(X[block]),
            len(X),
            self._n_columns(),
            self._dtype,
            tensors=is_tensor(X),
        )

    # -- slots -------------------------------------------------------------------------

    def _fit_rows(self, rows):
        """Return what the ridge is fitted to: the samples given (slot: rows)."""
        return rows

    def _fit_features(self, rows, seed):
        """Draw the random layer (slot: features)."""
        U, b = draw_random_layer(rows.X.shape[1], int(self.n_hidden), float(self.bias_scale), seed)
        self.hidden_weights_, self.hidden_bias_ = beside(U, rows.X), beside(b, rows.X)

    def _features(self, X):
        """Make rows of the design matrix [1 x h] (slot: features)."""
        X = in_double_precision(X)
        H = hidden_output(X, self.hidden_weights_, self.hidden_bias_, self.activation)
        return design_matrix(X, H, self._direct_link, self.output_bias)

    def _n_columns(self):
        """Return the width of the design matrix (slot: features)."""
        return int(self.output_bias) + self._direct_link * self.n_features_in_ + int(self.n_hidden)

    def _blocks(self):
        """Return how blocks of columns are fitted together, or None for one (slot: ridge)."""
        return

    def _fit_weights(self, prepared):
        """Return the importance of every training row, or None for ones (slot: weights)."""
        return

    def _importances(self, prepared, settings, statistics):
        """Yield the importance of every training row for each of several settings.

        A setting holds values of the parameters that ``_fit_weights`` reads: none here.
        ``statistics`` keeps what may be used again for the same rows.
        """
        for _ in settings:
            yield self._fit_weights(prepared)

    def _fit_penalty(self, design, rows):
        """Return the matrix added to the identity in the penalty, or None (slot: penalty)."""
        return

    def _fit_ridge(self, X, T, weights, further_penalty, leave_out):
        """Choose C where that is asked for, and solve (slot: ridge).

        Of rows without twins; weights None for ones. With ``leave_out``, scores of left-out rows
        too.
        """
        return self._solve_system(self._design(X), T, weights, further_penalty, leave_out)

    def _solve_system(self, design, T, weights, further_penalty, leave_out):
        """Choose C where that is asked for, and solve the ridge on a design matrix."""
        system, self.C_ = System(design, T, weights, further_penalty), self.C
        if self.C == "loo":
            self.C_ = float(PAPER_C[choose_C(system, self._C_factor * PAPER_C)])
        found = system.solve(float(self.C_) * self._C_factor, leave_out)
        if found.method == "svd":
            self._warn_of_lost_columns(design)
        return found

    def _warn_of_lost_columns(self, design):
        """Warn where columns are too small beside the largest one to have a singular value left."""
        norms = np.zeros(design.n_columns)
        with np.errstate(over="ignore"):
            for _, M in design:
                norms = np.maximum(norms, np.abs(to_host(M)).max(axis=0))
        least = max(design.n_rows, design.n_columns) * EPS * norms.max()
        if not ((norms > 0.0) & (norms <= least)).any():
            return
        place = int(norms.argmax())
        warnings.warn(
            f"{self._column_name(place)} reaches {norms[place]:.0e}: smaller columns and nodes are "
            "lost to rounding beside it; scale X first, for instance with StandardScaler",
            LinAlgWarning,
            stacklevel=9,
        )

    def _column_name(self, place):
        """Return what a column of the design is called in a message."""
        place -= int(self.output_bias)
        if self._direct_link and 0 <= place < self.n_features_in_ and self._blocks() is None:
            names = getattr(self, "feature_names_in_", None)
            return f"column {place if names is None else repr(str(names[place]))}"
        return "a hidden node" if place >= 0 else "the constant"

    def _chooses_left_out(self):
        """Say whether a parameter is chosen by leaving rows out."""
        return self.C == "loo"

    # -- predict ----------------------------------------------------------------------

    def _set_output_weights(self, beta):
        """Set coef_ and intercept_: the constant is the first column where there is one."""
        n_bias = int(self.output_bias)
        self.coef_ = beta[n_bias:]
        self.intercept_ = beta[:n_bias].sum(axis=0)

    def _output_weights(self):
        """Return the output weights, the constant's first where there is one."""
        if not self.output_bias:
            return self.coef_
        return namespace(self.coef_).vstack([self.intercept_[None, :], self.coef_])

    def _linear_scores(self, X, beta):
        """Return validated rows times output weights, a block at a time."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return namespace(X).concatenate([(M @ beta).real for _, M in self._design(X)])
