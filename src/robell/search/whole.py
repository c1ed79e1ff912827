"""Folds of one table whose features are the same in each: made once, and rows held out taken off.

The columns of a row depend on the row and on the drawn layer alone where no step of a pipeline
comes before. With equal weights the Gram matrix of a fold is then that of all rows less that of the
rows held out, MᵀM - M_vᵀM_v, which for k folds takes two passes over the rows instead of k - 1
(Engstrøm and Jensen, Journal of Chemometrics, 2025, doi 10.1002/cem.70008; their package is
cvmatrix). Where folds hold out every row once, MᵀM is the sum of all M_vᵀM_v: one pass.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from robell._core.array import in_double_precision
from robell._core.layers.features import RowBlocks, design_matrix, hidden_output, rows_per_block
from robell._core.ridge.lapack import add_gram, aligned
from robell._core.ridge.sweep import NestedRidge, with_targets
from robell.models._estimator import BaseRVFLRegressor, FamilyMember, first_foreign
from robell.search.solutions import reach

KEEP_ELEMENTS = 1 << 25  # numbers in the features of all rows, of all groups together
# A column keeps at least this share of its squares: below it, what is left of a difference of sums
# has lost digits, and the sums are taken over the rows of the fold.
LEFT = 0.25


class FoldFeatures:
    """The features of all rows, by group, that folds have in common."""

    def __init__(self, splits):
        self.made = {}
        self.tests = [test for _, test in splits]

    def order(self, n_rows):
        """Return the order in which rows stand, and the ends of parts of them.

        Where folds hold out every row once, the rows of a fold stand together, and are a part.
        """
        if all(isinstance(test, np.ndarray) and test.dtype.kind == "i" for test in self.tests):
            order = np.concatenate(self.tests)
            if len(order) == n_rows and (np.bincount(order, minlength=n_rows) == 1).all():
                return order, np.cumsum([len(test) for test in self.tests]).tolist()
        return np.arange(n_rows), [n_rows]


class _Sums(NamedTuple):
    """Sums over rows."""

    G: np.ndarray  # the lower triangle of MᵀM
    R: np.ndarray  # MᵀT


class _Features(NamedTuple):
    """What folds have in common; rows stand in ``order``."""

    layer: tuple
    order: np.ndarray
    place: np.ndarray  # where each row stands
    M: np.ndarray
    parts: dict  # the sums of parts of the rows, by their first and their end
    sums: _Sums
    T: np.ndarray  # the targets of all rows
    reach: float  # how large the sums before the activation may be

    def rows_of(self, some):
        """Return where some rows stand: a slice where they stand together."""
        first = int(self.place[some[0]]) if len(some) else 0
        together = slice(first, first + len(some))
        return together if np.array_equal(self.order[together], some) else self.place[some]


class Whole:
    """The features of all rows as one fold sees them: some to be fitted to, the others held out."""

    def __init__(self, features, train, test):
        self.all, self.train = features, train
        self.held_out = features.rows_of(test)
        self.test = features.M[self.held_out]

    def design(self):
        """Return the design of the rows to be fitted to."""
        rows, M = self.all.place[self.train], self.all.M
        return RowBlocks(lambda some: M[rows[some]], len(rows), M.shape[1])

    def solve(self, T, penalties, widths):
        """Return β of (P, penalties, widths, K) and the pivots, or None where digits are lost."""
        M, everyone, (G, R) = self.all.M, self.all.T, self.all.sums
        if not np.array_equal(everyone[self.all.place[self.train]], T):
            return None  # some class has no row to be fitted to
        taken_off = self._sums_held_out()
        products = G - taken_off.G
        if not (np.diagonal(products) >= LEFT * np.diagonal(G)).all():
            return None
        design = self.design()
        if isinstance(self.held_out, slice):
            design, T = _without(M, self.held_out), np.delete(everyone, self.held_out, axis=0)
        systems = NestedRidge(design, T, penalties, widths)
        return systems.solve(with_targets(products, R - taken_off.R), np.ones(len(T)))

    def _sums_held_out(self):
        """Return the sums over the rows held out, known where these are a part."""
        rows, found = self.held_out, None
        if isinstance(rows, slice):
            found = self.all.parts.get((rows.start, rows.stop))
        return found or _Sums(_gram(self.test), self.test.T @ self.all.T[rows])


def _without(M, hole):
    """Return the design of all rows but some that stand together, in their order."""
    size = hole.stop - hole.start

    def rows(some):
        if some.stop <= hole.start:
            return M[some]
        after = slice(max(some.start + size, hole.stop), some.stop + size)
        if some.start >= hole.start:
            return M[after]
        return np.concatenate([M[some.start : hole.start], M[after]])

    return RowBlocks(rows, len(M) - size, M.shape[1])


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
    made = task.features.made
    if key not in made:
        size = len(task.X) * model._n_columns()
        if size + sum(some.M.size for some in made.values()) > KEEP_ELEMENTS:
            return None
        made[key] = _make(model, task, layer, _targets_of_all(model, T, train, task.y))
    found = made[key]
    same = all(np.array_equal(*pair) for pair in zip(found.layer, layer, strict=True))
    return (
        Whole(found, train, test) if same and np.isfinite(np.diagonal(found.sums.G)).all() else None
    )


def _only_of_the_layer(task, model, prepared, train):
    """Say whether features depend on the row and on a layer that every fold draws alike."""
    if isinstance(model, BaseRVFLRegressor):
        return False  # targets are brought to mean 0 in every fold
    if task.device is not None or (isinstance(task.base, Pipeline) and len(task.base.steps) > 1):
        return False
    slots = first_foreign(model, "called_by_search")
    own = type(model)._features is FamilyMember._features and not slots
    drawn_alike = model.random_state is not None and not callable(model.activation)
    as_given = type(model)._fit_rows is FamilyMember._fit_rows and len(prepared.T) == len(train)
    return own and drawn_alike and as_given


def _targets_of_all(model, T, train, y):
    """Return the targets of all rows, given some: those of rows with the same label, or 0."""
    y, labels = np.asarray(y), model.classes_
    codes = np.minimum(np.searchsorted(labels, y), len(labels) - 1)
    of_label = np.zeros((len(labels), T.shape[1]))
    of_label[codes[train]] = T
    return np.where((labels[codes] == y)[:, None], of_label[codes], 0.0)


def _make(model, task, layer, T):
    """Make the features of all rows, and the sums over them."""
    X = model._validate_new(task.X)
    order, ends = task.features.order(len(X))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    X, T = in_double_precision(X[order]), T[order]
    M = np.empty((len(X), model._n_columns()))
    if len(ends) * M.shape[1] > len(M):
        ends = [len(M)]  # the sums of so many parts would take more memory than the features
    step, parts, largest = rows_per_block(2 * M.shape[1]), {}, 0.0
    for first, last in pairwise([0, *ends]):
        R = np.zeros((M.shape[1], T.shape[1]))
        for start in range(first, last, step):
            rows = slice(start, min(start + step, last))
            H = hidden_output(X[rows], *layer, model.activation)
            block = design_matrix(X[rows], H, model._direct_link, model.output_bias, out=M[rows])
            with np.errstate(over="ignore", invalid="ignore"):  # sums are looked at as a whole
                R += block.T @ T[rows]
            largest = max(largest, reach(X[rows]))
        parts[first, last] = _Sums(_gram(M[first:last]), R)
    total = _Sums(sum(part.G for part in parts.values()), sum(part.R for part in parts.values()))
    return _Features(layer, order, place, M, parts, total, T, largest)


def _gram(M):
    """Return the lower triangle of MᵀM."""
    G = aligned((M.shape[1],) * 2, M.dtype)
    add_gram(M, G)()
    return G
