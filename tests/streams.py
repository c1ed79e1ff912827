"""Rows in batches, models compared, states made: what the tests of streams share."""

import functools
import itertools
from dataclasses import fields, is_dataclass, replace

import numpy as np
from hypothesis import strategies as st

import robell.models._partial_fit as streaming
import robell.scale.out_of_core as out_of_core
from robell import ELMClassifier, RoBellRVFLClassifier, RVFLClassifier
from robell._core.membership.samples import UNBOUNDED, empty_reservoir
from robell._core.ridge.state import (
    empty,
    end_warm_up,
    from_plain,
    merge,
    to_plain,
    update,
)
from robell.scale.out_of_core import OutOfCoreFit

RoBell = RoBellRVFLClassifier
seeds = st.integers(0, 2**31 - 1)


def batches(X, y, sizes, weight=None):
    """Cut rows into batches of the sizes given, over and over."""
    start = 0
    for size in itertools.cycle(sizes):
        if start >= len(X):
            return
        part = slice(start, start + size)
        yield X[part], y[part], None if weight is None else weight[part]
        start += size


def stream(model, X, y, sizes=(37,), weight=None, classes=None):
    """Give rows to partial_fit a batch at a time."""
    classes = np.unique(y) if classes is None else classes
    for rows, labels, w in batches(X, y, sizes, weight):
        model.partial_fit(rows, labels, classes=classes, sample_weight=w)
    return model


def in_passes(estimator, parts, **known):
    """Fit out of core, parts reduced from the left."""
    fit = OutOfCoreFit(estimator, **known)
    for step in fit.passes():
        step.finish(functools.reduce(step.reduce, [step.map(*part) for part in parts]))
    return fit.estimator()


def assert_same_model(model, reference, X, tol=1e-10):
    np.testing.assert_array_equal(model.hidden_weights_, reference.hidden_weights_)
    np.testing.assert_array_equal(model.hidden_bias_, reference.hidden_bias_)
    size = np.abs(reference.coef_).max()
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=0, atol=tol * size)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=0, atol=tol * size)
    assert model.C_ == reference.C_
    scores = reference.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=tol * np.abs(scores).max())
    if reference.calibrate:
        np.testing.assert_allclose(
            model.predict_proba(X), reference.predict_proba(X), rtol=0, atol=100 * tol
        )


def assert_same_state(a, b, rtol=1e-12):
    """Compare field by field: keys, labels, rows and flags exactly, sums to rounding."""
    if is_dataclass(a):
        for field in fields(a):
            assert_same_state(getattr(a, field.name), getattr(b, field.name), rtol)
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same_state(x, y, rtol)
    elif isinstance(a, np.ndarray) and a.dtype == np.float64:
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(a).max(initial=0.0))
    elif isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


def make_small(monkeypatch):
    """Set reservoirs, landmarks and warm-up small enough for a few hundred rows."""
    monkeypatch.setattr(streaming, "WARM_UP", 120)
    monkeypatch.setattr(streaming, "WARM_UP_OF_EACH_CLASS", 5)
    monkeypatch.setattr(streaming, "LONGEST_WARM_UP", 300)
    for module in (streaming, out_of_core):
        monkeypatch.setattr(module, "RESERVOIR", 64)
        monkeypatch.setattr(module, "LANDMARKS", 24)


def two_classes(rng):
    """Return 700 rows of two overlapping classes, 80:20."""
    X = np.vstack([rng.normal(0, 1, (560, 4)), rng.normal(1.0, 1, (140, 4))])
    y = np.repeat([0, 1], [560, 140])
    order = rng.permutation(len(y))
    return X[order], y[order]


NETWORKS = [
    RVFLClassifier(20),
    RVFLClassifier(20, direct_link=False, output_bias=True),
    RVFLClassifier(30, activation="relu", C=10.0, output_bias=True),
    ELMClassifier(25, C=0.01),
    ELMClassifier(25, activation="sin", calibrate=False),
]


def features_of(n_columns, n_features):
    """Some features that are no linear map of the rows."""
    U = np.random.default_rng(0).normal(size=(n_features, n_columns))
    return lambda X: np.tanh(X @ U)


def some_states(rng, kind, n_parts):
    """States of parts of rows that may be merged, and what makes their features."""
    make, n = features_of(3, 2), 25
    X = np.round(rng.normal(size=(n_parts, n, 2)), 1)  # with copies, within and across parts
    labels, weight = rng.integers(0, 2, (n_parts, n)), rng.uniform(0.2, 3, (n_parts, n))
    rows = list(zip(X, labels, weight))
    begun = [empty(2, 3, empty_reservoir(2, 2, 4, 10))] * n_parts
    warm = empty(2, 3, empty_reservoir(2, 2, 4, UNBOUNDED), warming_up=True)
    if kind == "warming up":
        begun = [warm] * n_parts
    elif kind in ("frozen", "mixed"):
        first = update(warm, rng.normal(size=(30, 2)), np.arange(30) % 2, np.ones(30), make)
        frozen = end_warm_up(first, None, 1.0, 8, 10, make).frozen
        kept = frozen.references
        begun = empty(2, 3, empty_reservoir(2, 2, kept.seed, kept.capacity))
        begun = [replace(begun, frozen=frozen)] * n_parts
        if kind == "mixed":
            begun[1:] = [warm] * (n_parts - 1)
    states = [update(state, *part, make) for state, part in zip(begun, rows)]
    return states, lambda a, b: merge(a, b, make)


def normal(state):
    """A state whose reservoir is sorted in."""
    return from_plain(to_plain(state))
