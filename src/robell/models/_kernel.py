"""Rows weighed by what comparing all pairs of them tells: the kernel, its width, the weights."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.array import in_double_precision, is_tensor
from robell._core.membership.equations import kernel_statistics, scale_kernel_width
from robell._core.membership.pairs import Workers, pairs_to_compare
from robell._core.membership.pairs_torch import kernel_statistics as statistics_of_tensors
from robell._tools.progress import Progress
from robell.models._folds import LeftOutInFolds
from robell.models._threads import one_blas_thread

JOBS = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]
KERNEL_CONSTRAINTS = {
    "kernel_width": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale"})],
    "n_jobs": JOBS,
}


def resolve_kernel_width(kernel_width, X, multiplicity):
    """Return the kernel width as a number, ``"scale"`` being that of the rows."""
    if kernel_width == "scale":
        return scale_kernel_width(in_double_precision(X), multiplicity)
    return float(kernel_width)


def exact_statistics(rows, n_classes, width, n_jobs):
    """Compare all pairs of rows."""
    X, labels, multiplicity = rows
    if is_tensor(X):
        return statistics_of_tensors(X, labels, n_classes, width, multiplicity)
    with Progress(pairs_to_compare(np.bincount(labels)), "memberships") as progress:
        workers = Workers(effective_n_jobs(n_jobs), one_blas_thread, progress.advance)
        return kernel_statistics(X, labels, n_classes, width, multiplicity, workers)


class WeighedByKernel(LeftOutInFolds):
    """Adds row weights made of the statistics of all pairs of rows; not for direct use.

    A model has ``kernel_width``, ``n_jobs``, and says in ``_weights_of`` what the statistics and a
    setting of its ``_weight_parameters`` make of every row, and in ``_remember_weights`` what of it
    is kept.
    """

    def _weights_of(self, rows, statistics, width, setting):
        """Return what a setting makes of the rows; the row weights are ``importance`` of it."""
        raise NotImplementedError

    def _remember_weights(self, prepared, found, width):
        """Set the fitted attributes of the training rows."""
        raise NotImplementedError

    def _fit_weights(self, prepared):
        setting = {name: getattr(self, name) for name in self._weight_parameters}
        ((found, width),) = self._weighed(prepared.rows, [setting], {})
        self._remember_weights(prepared, found, width)
        return self._with_cost(prepared, found.importance)

    def _importances(self, prepared, settings, statistics):
        cost = super()._fit_weights(prepared)
        for found, _ in self._weighed(prepared.rows, settings, statistics):
            yield found.importance if cost is None else cost * found.importance

    def _with_cost(self, prepared, importance):
        cost = super()._fit_weights(prepared)
        return importance if cost is None else cost * importance

    def _weighed(self, rows, settings, statistics):
        """Yield what each setting makes of the rows, pairs compared once a width, and the width."""
        for setting in settings:
            width = resolve_kernel_width(setting["kernel_width"], rows.X, rows.multiplicity)
            if width not in statistics:
                n_classes = len(self.classes_)
                statistics[width] = exact_statistics(rows, n_classes, width, self.n_jobs)
            yield self._weights_of(rows, statistics[width], width, setting), width
