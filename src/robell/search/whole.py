"""Folds of one table whose features are the same in each: made once, and rows held out taken off.

The columns of a row depend on the row and on the drawn layer alone where no step of a pipeline
comes before. With equal weights the Gram matrix of a fold is then that of all rows less that of the
rows held out, MᵀM - M_vᵀM_v, which for k folds takes two passes over the rows instead of k - 1
(Engstrøm and Jensen, Journal of Chemometrics, 2025, doi 10.1002/cem.70008; their package is
cvmatrix).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from robell._core.layers.features import RowBlocks
from robell._core.ridge.lapack import add_gram, aligned
from robell._core.ridge.sweep import NestedRidge, with_targets
from robell.models._family import FamilyRegressor
from robell.models._own import first_foreign
from robell.models._shell import RidgeShell
from robell.search.groups import SLOTS
from robell.search.solutions import reach

KEEP_ELEMENTS = 1 << 25  # numbers in the features of all rows, of all groups together
# A column keeps at least this share of its squares: below it, what is left of a difference of sums
# has lost digits, and the sums are taken over the rows of the fold.
LEFT = 0.25


class _Features(NamedTuple):
    """What folds have in common."""

    layer: tuple
    M: np.ndarray
    G: np.ndarray  # the lower triangle of MᵀM
    T: np.ndarray  # the targets of all rows
    R: np.ndarray  # MᵀT
    reach: float  # how large the sums before the activation may be


class Whole:
    """The features of all rows as one fold sees them: some to be fitted to, the others held out."""

    def __init__(self, features, train, test):
        self.all, self.train, self.held_out = features, train, test
        self.test = features.M[test]

    def design(self):
        """Return the design of the rows to be fitted to."""
        rows, M = self.train, self.all.M
        return RowBlocks(lambda some: M[rows[some]], len(rows), M.shape[1])

    def solve(self, T, penalties, widths):
        """Return β of (P, penalties, widths, K) and the pivots, or None where digits are lost."""
        _, M, G, everyone, R, _ = self.all
        if not np.array_equal(everyone[self.train], T):
            return None  # some class has no row to be fitted to
        products = aligned(G.shape, M.dtype)
        add_gram(self.test, products)()
        np.subtract(G, products, out=products)
        if not (np.diagonal(products) >= LEFT * np.diagonal(G)).all():
            return None
        weight = np.ones(len(M))
        weight[self.held_out] = 0.0
        R = R - self.test.T @ everyone[self.held_out]
        design = RowBlocks(lambda rows: M[rows], *M.shape)
        systems = NestedRidge(design, everyone, penalties, widths)
        return systems.solve(with_targets(products, R), weight)


def whole_table(task, model, prepared, T, group, train, test):
    """Return the features of all rows, or None where folds do not have them in common."""
    if not _only_of_the_layer(task, model, prepared, train):
        return None
    is_test = np.zeros(len(task.X), bool)
    is_test[test] = True
    parted = len(train) + len(test) == len(is_test) and not is_test[train].any()
    if not parted or len(test) > len(train):
        return None
    layer = (model.hidden_weights_, model.hidden_bias_)
    key = int(group.candidate.flat[0])
    if key not in task.features:
        size = len(task.X) * model._n_columns()
        if size + sum(some.M.size for some in task.features.values()) > KEEP_ELEMENTS:
            return None
        task.features[key] = _make(model, task.X, layer, _targets_of_all(T, train, task.y))
    found = task.features[key]
    same = all(np.array_equal(*pair) for pair in zip(found.layer, layer, strict=True))
    return Whole(found, train, test) if same and np.isfinite(np.diagonal(found.G)).all() else None


def _only_of_the_layer(task, model, prepared, train):
    """Say whether features depend on the row and on a layer that every fold draws alike."""
    if isinstance(model, FamilyRegressor):
        return False  # targets are brought to mean 0 in every fold
    own = type(model)._features is RidgeShell._features and not first_foreign(model, SLOTS)
    behind_steps = isinstance(task.base, Pipeline) and len(task.base.steps) > 1
    drawn_alike = model.random_state is not None and not callable(model.activation)
    as_given = type(model)._fit_rows is RidgeShell._fit_rows and len(prepared.T) == len(train)
    return own and drawn_alike and as_given and not behind_steps and task.device is None


def _targets_of_all(T, train, y):
    """Return the targets of all rows, given some: those of a row with the same label."""
    _, first = np.unique(np.asarray(y)[train], return_index=True)
    labels, of_all = np.unique(np.asarray(y), return_inverse=True)
    found = np.zeros((len(labels), T.shape[1]))
    known = np.searchsorted(labels, np.asarray(y)[train][first])
    found[known] = T[first]
    return found[of_all]


def _make(model, X, layer, T):
    """Make the features of all rows, and the sums over them."""
    X = model._validate_new(X)
    design = model._design(X)
    M = np.empty((design.n_rows, design.n_columns))
    for rows, block in design:
        M[rows] = block
    G = aligned((M.shape[1],) * 2, M.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        add_gram(M, G)()
        return _Features(layer, M, G, T, M.T @ T, reach(X))
