"""Work is shared only where the search goes round nothing but this package's own code."""

from functools import partialmethod
from inspect import isfunction

import numpy as np
import pytest
from searches import FAMILY, assert_same, both, table
from sklearn.base import RegressorMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from robell import (
    DeepRVFLClassifier,
    GranularBallRVFLClassifier,
    HuberRVFLClassifier,
    MultiViewRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
    RVFLPlusClassifier,
    RVFLRegressor,
)
from robell.models._estimator import first_foreign, marked
from robell.search.groups import group_candidates

# -- pipelines -------------------------------------------------------------------------


def test_a_pipeline_that_drops_rows_is_fitted_one_by_one(rng):
    imblearn = pytest.importorskip("imblearn.pipeline")
    from imblearn.under_sampling import RandomUnderSampler

    y = np.repeat([0, 1], 54)
    X = rng.normal(size=(108, 6)) + 2.0 * y[:, None]
    pipeline = imblearn.Pipeline(
        [
            ("sample", RandomUnderSampler(random_state=0)),
            ("scale", StandardScaler()),
            ("model", RVFLClassifier(random_state=0)),
        ]
    )
    with pytest.warns(UserWarning, match="the pipeline is imblearn's") as caught:
        theirs, ours = both(pipeline, {"model__C": [0.1, 10]}, X, y, cv=3)
    assert len(caught) == 1
    assert_same(theirs, ours)
    assert ours.best_score_ > 0.9
    assert ours.n_shared_ == 0


class OwnPipeline(Pipeline):
    def predict(self, X, **params):
        return 1 - super().predict(X, **params)


def test_a_subclass_of_pipeline_is_fitted_one_by_one():
    X, y = table()
    pipeline = OwnPipeline([("model", RVFLClassifier(random_state=0))])
    with pytest.warns(UserWarning, match="not scikit-learn's own"):
        theirs, ours = both(pipeline, {"model__C": [0.1, 10]}, X, y, cv=3)
    assert_same(theirs, ours)


def test_transformers_of_any_kind_are_shared():
    X, y = table()
    pipeline = make_pipeline(
        FunctionTransformer(np.square), "passthrough", RVFLClassifier(random_state=0)
    )
    theirs, ours = both(pipeline, {"rvflclassifier__C": [0.1, 10]}, X, y, cv=3)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 6


# -- subclasses that override more than slots ------------------------------------------


class CutAtThree(RVFLClassifier):
    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0.3).astype(int)]


class FitsHalf(RVFLClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X[::2], y[::2])


class ScoresLess(RVFLClassifier):
    def score(self, X, y, sample_weight=None):
        return super().score(X, y) - 1.0


class ScoresAsRegressor(RegressorMixin, RVFLClassifier):
    pass


class Reversed(RVFLClassifier):
    def decision_function(self, X):
        return -super().decision_function(X)


class OwnPenalty(RVFLClassifier):
    def _fit_penalty(self, design, rows):
        return 100.0 * np.eye(design.n_columns)


@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (CutAtThree, "predict"),
        (FitsHalf, "fit"),
        (ScoresLess, "score"),
        (ScoresAsRegressor, "score"),
        (Reversed, "decision_function"),
        (OwnPenalty, "_fit_penalty"),
    ],
)
def test_what_overrides_more_is_fitted_one_by_one(estimator, method):
    X, y = table()
    grid = {"C": [0.1, 10], "n_hidden": [3, 9]}
    with pytest.warns(UserWarning, match=f"{estimator.__name__} has a {method} of its own"):
        theirs, ours = both(estimator(random_state=0), grid, X, y, cv=3)
    assert_same(theirs, ours)
    assert ours.not_shared_ == {f"{estimator.__name__} has a {method} of its own": 12}


@pytest.mark.parametrize("name", FAMILY)
def test_the_family_is_its_own(name):
    model = FAMILY[name][0](random_state=0)
    for mark in ("bypassed_by_search", "called_by_search", "bypassed_in_parts"):
        assert first_foreign(model, mark) is None
    grid = {"C": [1, 2, 3], "n_hidden": [4, 5], **FAMILY[name][1]}
    groups, unshared = group_candidates(model, grid, {})
    looped = {"direct_link", "output_bias", "n_rules", "encoding", "purity"} & set(grid)
    assert len(groups) == (2 if looped else 1)
    assert not unshared


def test_a_method_put_in_afterwards_is_seen(monkeypatch):
    model = RVFLClassifier(random_state=0)
    assert first_foreign(model, ("fit", "predict", "predict_proba", "score")) is None
    model.predict = lambda X: X
    assert first_foreign(model, ("fit", "predict")) == "predict"
    monkeypatch.setattr(RVFLClassifier, "fit", lambda self, X, y: self, raising=False)
    assert first_foreign(RVFLClassifier(), ("predict", "fit")) == "fit"


# -- marks ------------------------------------------------------------------------------


def overriding(kind, name):
    """Return a subclass that overrides one method or value, and changes nothing else."""
    held = next(vars(one)[name] for one in kind.__mro__ if name in vars(one))
    if isfunction(held):
        held = partialmethod(held)
    return type(f"Own{kind.__name__}", (kind,), {name: held, "__module__": __name__})


KINDS = [RVFLClassifier, RoBellRVFLClassifier, HuberRVFLClassifier, GranularBallRVFLClassifier]
KINDS += [RVFLRegressor]
GRID = {"C": [1, 2], "n_hidden": [4, 5]}


def names_and_groups(kind, mark):
    """Yield what bears a mark, and the groups of candidates of a subclass that overrides it."""
    (group,), _ = group_candidates(kind(random_state=0), GRID, {})
    assert group.candidate.shape == (1, 2, 2)
    for name in marked(kind, mark):
        yield name, *group_candidates(overriding(kind, name)(random_state=0), GRID, {})


@pytest.mark.parametrize("kind", KINDS)
def test_an_override_of_what_is_gone_round_is_fitted_one_by_one(kind):
    for name, groups, unshared in names_and_groups(kind, "bypassed_by_search"):
        assert not groups, name
        assert {one.reason for one in unshared} == {f"Own{kind.__name__} has a {name} of its own"}


@pytest.mark.parametrize("kind", KINDS)
def test_of_an_override_of_a_slot_only_C_is_shared(kind):
    for name, groups, unshared in names_and_groups(kind, "called_by_search"):
        assert not unshared, name
        assert [group.candidate.shape for group in groups] == [(1, 2, 1), (1, 2, 1)], name
        assert [group.rows_key for group in groups] == [None, None], name


@pytest.mark.parametrize("kind", [RVFLClassifier, RoBellRVFLClassifier, RVFLRegressor])
def test_an_override_of_what_fits_in_parts_pass_over_is_refused(kind):
    X, y = table()
    names = set(marked(kind, "bypassed_in_parts"))
    assert {"fit", "_fit_weights", "_fit_ridge", "_fit_penalty", "_use_left_out"} < names
    for name in names - {"_fit_features"}:  # which partial_fit calls
        model = overriding(kind, name)()
        with pytest.raises(TypeError, match=f"has a {name} of its own, which partial_fit"):
            model.partial_fit(X, y)


def test_every_mark_is_on_something_there_is():
    for kind in KINDS:
        for mark in ("bypassed_by_search", "called_by_search", "bypassed_in_parts"):
            names = marked(kind, mark)
            assert len(names) >= 12
            assert not [name for name in names if not hasattr(kind, name)]


# -- variants that fill slots ----------------------------------------------------------


class SquaredInputs(RVFLClassifier):
    """Squares at the end: networks are not nested here."""

    def _features(self, X):
        return np.hstack([super()._features(X), X**2]) / np.sqrt(self.n_hidden)

    def _n_columns(self):
        return super()._n_columns() + self.n_features_in_


class WeighsByNorm(RVFLClassifier):
    def _fit_weights(self, prepared):
        return 1.0 / (1.0 + np.square(prepared.rows.X).sum(axis=1))


class WeighsByWidth(RoBellRVFLClassifier):
    def _fit_weights(self, prepared):
        return super()._fit_weights(prepared) ** self.kernel_width


class FewerRows(GranularBallRVFLClassifier):
    def _fit_rows(self, rows):
        found = super()._fit_rows(rows)
        return type(found)(found.X * self.n_hidden, found.labels, found.multiplicity)


@pytest.mark.parametrize(
    ("estimator", "more"),
    [
        (SquaredInputs, {}),
        (WeighsByNorm, {}),
        (WeighsByWidth, {"kernel_width": [0.5, 2.0], "rho": [1.0, 0.5]}),
        (FewerRows, {"graph": [None, "lda"], "graph_weight": [0.1, 10.0]}),
    ],
)
def test_variants_that_fill_slots_are_shared(estimator, more):
    X, y = table()
    grid = {"C": [0.1, 10], "n_hidden": [3, 9], **more}
    theirs, ours = both(estimator(random_state=0), grid, X, y, cv=3)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 3 * len(theirs.cv_results_["params"])


class ViewsByNorm(MultiViewRVFLClassifier):
    _fit_weights = WeighsByNorm._fit_weights


class PlusByNorm(RVFLPlusClassifier):
    _fit_weights = WeighsByNorm._fit_weights


class DeepSquares(DeepRVFLClassifier):
    def _features(self, X):
        return super()._features(X) ** 2


@pytest.mark.parametrize("coupling", [0.0, 0.7])
def test_variants_of_several_views_are_shared(coupling):
    X, y = table()
    model = ViewsByNorm([[0, 1], [2, 3, 4, 5]], coupling=coupling, random_state=0)
    theirs, ours = both(model, {"C": [0.1, 10], "n_hidden": [3, 9]}, X, y, cv=3)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 12


@pytest.mark.parametrize("penalty", [0.5, 100.0, "loo"])
def test_variants_with_privileged_columns_are_searched(penalty):
    X, y = table()
    model = PlusByNorm(privileged_penalty=penalty, random_state=0)
    params = {"privileged": X[:, :2] ** 2}
    grid = {"C": [0.1, 10], "n_hidden": [3, 9]}
    theirs, ours = both(model, grid, X[:, 2:], y, params=params, cv=3)
    assert_same(theirs, ours)
    assert ours.n_shared_ == (0 if penalty == "loo" else 12)


def test_variants_of_a_deep_network_are_fitted_one_by_one():
    X, y = table()
    with pytest.warns(UserWarning, match="DeepSquares has a _features of its own"):
        theirs, ours = both(DeepSquares(random_state=0), {"C": [0.1, 10]}, X, y, cv=3)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 0


class ReadsC(RVFLClassifier):
    def _fit_weights(self, prepared):
        return np.where(prepared.rows.labels == 1, float(self.C), 1.0)


def test_a_slot_that_reads_C_is_not_shared():
    X, y = table()
    theirs, ours = both(ReadsC(random_state=0), {"C": [0.01, 10]}, X, y, cv=3)
    assert_same(theirs, ours)
    assert ours.not_shared_ == {"ReadsC reads C in its slots": 6}


def test_foreign_estimators_are_searched_in_silence(imbalanced):
    from sklearn.linear_model import LogisticRegression

    search = RVFLGridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=3).fit(*imbalanced)
    assert search.n_shared_ == 0
