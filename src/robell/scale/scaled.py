"""Fits in passes of a model and of the scalers before it.

:class:`ScaledFit` is :class:`robell.scale.passes.OutOfCoreFit` for pipelines: one more pass finds
mean and variance for a ``StandardScaler``, and later passes see the scaled rows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array

from robell.models._base import ARRAY_CHECKS
from robell.models._streaming import StreamingMixin
from robell.models._validation import check_multiplicity, one_line_errors
from robell.scale.passes import Columns, ColumnsPass, OutOfCoreFit, Pass

BLOCK_ROWS = 4096  # summed at a time, small enough to stay in cache


class ScaledFit:
    """A fit in passes of an estimator, or of a pipeline of scalers that ends in one.

    Used as :class:`robell.scale.passes.OutOfCoreFit` is; parts are arrays.

    Parameters
    ----------
    estimator : RVFLClassifier, ELMClassifier, RoBellRVFLClassifier or Pipeline of one
        All other steps of a pipeline must be ``StandardScaler``. It is not changed.
    classes : array-like, default=None
        All labels. Without, the first pass finds them.
    n_features : int, default=None
        Number of features. Without, the first pass finds it.
    """

    def __init__(self, estimator, classes=None, n_features=None):
        self._model = clone(estimator)
        *before, self.classifier = _steps(self._model)
        for scaler in before:
            scaler._validate_params()
        self._scalers = before
        self._known = Columns(None if classes is None else np.unique(classes), n_features, None)
        OutOfCoreFit(self.classifier)  # raises for parameters out of their range
        self._fitted = None

    def passes(self):
        """Yield the passes, each of which must be finished before the next is asked for."""
        known, fitted = self._known, []
        for scaler in self._scalers:
            step = ScalerPass(self.classifier, fitted)
            yield step
            found = step.take()
            if known.classes is None or known.n_features is None:
                known = found.columns
            _set_moments(scaler, found)
            fitted = [*fitted, scaler]
        fit = OutOfCoreFit(self.classifier, known.classes, known.n_features)
        for step in fit.passes():
            yield OnScaledRows(step, fitted) if fitted else step
        self._fitted = fit.estimator()

    def estimator(self, feature_names=None):
        """Return the fitted estimator or pipeline, its first step knowing the names given."""
        if self._fitted is None:
            raise RuntimeError("the fit has passes left: finish them all first")
        if isinstance(self._model, Pipeline):
            self._model.steps[-1] = (self._model.steps[-1][0], self._fitted)
        else:
            self._model = self._fitted
        if feature_names is not None:
            self._set_names(np.asarray(feature_names, dtype=object))
        return self._model

    def _set_names(self, names):
        for step in [*self._scalers, self._fitted]:
            step.feature_names_in_ = names
            # Later steps see names only where the scaler before was told to hand frames on.
            output = getattr(step, "_sklearn_output_config", {}).get("transform", "default")
            if output == "default":
                break


def _steps(model):
    """Return scalers and classifier, or raise one line saying what cannot be fitted so."""
    steps = [model]
    if isinstance(model, Pipeline):
        *before, last = [step for _, step in model.steps]
        steps = [step for step in before if step is not None and step != "passthrough"] + [last]
    if not isinstance(steps[-1], StreamingMixin):
        raise TypeError(
            f"{type(steps[-1]).__name__} cannot be fitted in parts: give RVFLClassifier, "
            "ELMClassifier or RoBellRVFLClassifier, alone or as the last step of a pipeline"
        )
    for step in steps[:-1]:
        if type(step) is not StandardScaler:
            raise TypeError(
                f"{type(step).__name__} cannot be fitted in parts: StandardScaler is the only "
                "step a pipeline may have before the classifier"
            )
    return steps


class Sum(NamedTuple):
    """A sum kept to about 30 digits, as the unevaluated sum of two numbers.

    Which rows a reservoir keeps depends on every bit of them, and so on every bit of a scaler. Sums
    that differed with the partition in their last digit would not do. (They may still where a mean
    is a million times its standard deviation: the variance is a difference of such sums.)
    """

    high: np.ndarray
    low: np.ndarray

    def __add__(self, other):
        high, error = _two_sum(self.high, other.high)
        low = self.low + other.low + error
        return Sum(*_two_sum(high, low))

    def exactly(self):
        """Return the sums as fractions."""
        pairs = zip(self.high.tolist(), self.low.tolist(), strict=True)
        return [Fraction(high) + Fraction(low) for high, low in pairs]


def _two_sum(a, b):
    """Return a + b, rounded, and what rounding took away (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a, b):
    """Return a b, rounded, and what rounding took away (Dekker, Veltkamp)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(a):
    """Return two numbers of 26 bits each with the sum a."""
    big = a * 134217729.0  # 2²⁷ + 1
    high = big - (big - a)
    return high, a - high


def _sum_rows(high, low):
    """Return the sum of the rows of high + low."""
    while len(high) > 1:
        half, odd = divmod(len(high), 2)
        total, error = _two_sum(high[:half], high[half : 2 * half])
        error += low[:half]
        error += low[half : 2 * half]
        if odd:
            total, error = np.vstack([total, high[-1:]]), np.vstack([error, low[-1:]])
        high, low = total, error
    return Sum(*_two_sum(high[0], low[0]))


class Moments(NamedTuple):
    """Σ w, Σ w x and Σ w x² of some rows, and their columns."""

    columns: Columns
    size: Sum | None  # None of no rows
    first: Sum | None
    second: Sum | None


class ScalerPass(Pass):
    """Finds labels, means and variances of the rows, scaled by the scalers before."""

    name = "scaling"

    def __init__(self, model, before):
        super().__init__(model)
        self._before = before
        self._labels = ColumnsPass(model)

    def map(self, X, y, sample_weight=None):
        """Return labels and moments of a part."""
        columns = self._labels.map(X, y, sample_weight)
        if not len(X):
            return Moments(columns, None, None, None)
        with one_line_errors(self._model, X):
            X = check_array(X, input_name="X", **ARRAY_CHECKS)
        weight = np.ones(len(X))
        if sample_weight is not None:
            if not np.any(np.asarray(sample_weight) != 0):  # a part may be all absent
                return Moments(columns, None, None, None)
            weight = check_multiplicity(sample_weight, len(X))
            X, weight = X[weight > 0], weight[weight > 0]
        total = None
        for start in range(0, len(X), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            found = _moments(columns, scaled(self._before, X[block]), weight[block])
            total = found if total is None else _add_moments(total, found)
        return total

    def reduce(self, a, b):
        """Return labels and moments of both."""
        columns = self._labels.reduce(a.columns, b.columns)
        if a.size is None or b.size is None:
            return (b if a.size is None else a)._replace(columns=columns)
        return _add_moments(a, b)._replace(columns=columns)

    def take(self):
        """Return what was found, or raise when it is not enough."""
        total = super().take()
        self._labels.finish(total.columns)
        self._labels.take()
        return total


def _moments(columns, X, weight):
    square, error = _two_product(X, X)
    first, second = (X, np.zeros_like(X)), (square, error)
    if not np.all(weight == 1.0):
        times, rest = _two_product(weight[:, None], X)
        first = (times, rest)
        times, rest = _two_product(weight[:, None], square)
        second = (times, rest + weight[:, None] * error)
    size = _sum_rows(weight[:, None], np.zeros((len(weight), 1)))
    return Moments(columns, size, _sum_rows(*first), _sum_rows(*second))


def _add_moments(a, b):
    return Moments(a.columns, a.size + b.size, a.first + b.first, a.second + b.second)


class OnScaledRows:
    """A pass over rows that scalers have scaled."""

    def __init__(self, step, scalers):
        self._step, self._scalers = step, scalers

    @property
    def name(self):
        """Name of the pass."""
        return self._step.name

    def map(self, X, y, sample_weight=None):
        """Return the result of a part."""
        return self._step.map(scaled(self._scalers, X), y, sample_weight)

    def reduce(self, a, b):
        """Return the result of both."""
        return self._step.reduce(a, b)

    def finish(self, total):
        """Take the result of all parts."""
        self._step.finish(total)


def scaled(scalers, X):
    """Return rows as fitted scalers make them."""
    if not len(X):
        return X
    X = np.asarray(X, dtype=np.float64)
    for scaler in scalers:
        # By hand: transform would validate again, and hand on a frame where told to.
        if scaler.with_mean:
            X = X - scaler.mean_
        if scaler.with_std:
            X = X / scaler.scale_
    return X


def _set_moments(scaler, total):
    """Set what ``StandardScaler.fit`` would have set from the same rows.

    The mean is Σwx / Σw, the variance (Σw Σwx² - (Σwx)²) / (Σw)².
    """
    (size,) = total.size.exactly()
    first, second = total.first.exactly(), total.second.exactly()
    mean = np.array([float(a / size) for a in first])
    pairs = zip(first, second, strict=True)
    variance = np.array([float(max(b / size - (a / size) ** 2, Fraction(0))) for a, b in pairs])
    scaler.n_features_in_ = len(mean)
    scaler.n_samples_seen_ = np.int64(size) if size.denominator == 1 else np.float64(size)
    scaler.mean_ = mean if scaler.with_mean or scaler.with_std else None
    scaler.var_ = scaler.scale_ = None
    if scaler.with_std:
        # A variance within rounding of zero is that of a constant column, which is not scaled.
        rounding = max(float(size), 8.0) * np.finfo(float).eps
        constant = variance <= rounding * variance + np.square(mean * rounding)
        scaler.var_ = np.where(constant, 0.0, variance)
        scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance))
