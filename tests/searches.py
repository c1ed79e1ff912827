"""Searches by GridSearchCV and by RVFLGridSearchCV, and what it means that they agree."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from robell import (
    ComplexRVFLClassifier,
    ELMClassifier,
    GranularBallRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
)
from robell._core.ridge.sweep import NestedRidge, with_targets

FAMILY = {
    "rvfl": (RVFLClassifier, {"direct_link": [True, False]}),
    "elm": (ELMClassifier, {"output_bias": [False, True]}),
    "robell": (RoBellRVFLClassifier, {"kernel_width": [0.5, "scale"], "rho": [0.5, 1.0]}),
    "nf": (NeuroFuzzyRVFLClassifier, {"n_rules": [3, 6]}),
    "crvfl": (ComplexRVFLClassifier, {"encoding": ["phase", "pair"]}),
    "acrvfl": (partial(ComplexRVFLClassifier, augmented=True), {}),
    "gb": (GranularBallRVFLClassifier, {"purity": [0.8, 1.0]}),
    "gegb": (partial(GranularBallRVFLClassifier, graph="lfda"), {"graph_weight": [0.0, 1.0]}),
}
# Narrow and wider than a training fold of the table below has rows.
COMMON = {"C": [10.0, 1e-3, 1e5], "n_hidden": [9, 3, 60], "activation": ["sigmoid"]}


def table(n_classes=2, n_rows=66, seed=0):
    X, y = make_classification(
        n_rows,
        6,
        n_informative=4,
        n_classes=n_classes,
        weights=[0.7] if n_classes == 2 else None,
        random_state=seed,
    )
    return StandardScaler().fit_transform(X), y


def both(estimator, grid, X, y, *, params=None, **settings):
    searches = []
    for kind in (GridSearchCV, RVFLGridSearchCV):
        searches.append(kind(estimator, grid, **settings).fit(X, y, **(params or {})))
    return searches


def assert_same(theirs, ours, tolerance=0.0):
    """Compare two searches: everything but the times is equal, to the last bit by default."""
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for key, expected in theirs.cv_results_.items():
        found = ours.cv_results_[key]
        if key == "params":
            assert [*map(repr, found)] == [*map(repr, expected)]
            continue
        assert found.dtype == expected.dtype, key
        if "time" in key:
            assert (found >= 0).all()
        elif key.startswith("param_"):
            np.testing.assert_array_equal(found.mask, expected.mask)
            assert [*map(repr, found)] == [*map(repr, expected)]
        elif key.startswith("rank_"):
            np.testing.assert_array_equal(found, expected, err_msg=key)
        else:
            np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0, err_msg=key)
    for name in ("best_index_", "best_score_", "multimetric_", "n_splits_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        if hasattr(theirs, name):
            expected = pytest.approx(getattr(theirs, name), rel=0, abs=tolerance, nan_ok=True)
            assert getattr(ours, name) == expected, name
    assert hasattr(ours, "best_estimator_") == hasattr(theirs, "best_estimator_")


def nested_ridge(design, G, R, T, w, penalties, widths):
    """Solutions of every penalty and leading block of columns, from one Gram matrix."""
    return NestedRidge(design, T, penalties, widths).solve(with_targets(G, R), w)
