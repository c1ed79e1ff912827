"""The exact search against GridSearchCV itself: same scores, same choice, same shape of results."""

import io
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from searches import COMMON, FAMILY, assert_same, both, table
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, get_scorer, make_scorer, matthews_corrcoef
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ParameterGrid,
    RepeatedStratifiedKFold,
    StratifiedKFold,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from robell import (
    ELMClassifier,
    IntuitionisticFuzzyRVFLClassifier,
    MultiViewRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
    RVFLPlusClassifier,
    RVFLRegressor,
    paper_grid,
)
from robell._tools.progress import Progress
from robell.metrics import g_mean_score
from robell.search import solutions

# -- every model -----------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FAMILY)
def test_every_model_gives_the_scores_of_grid_search(name, n_classes):
    estimator, more = FAMILY[name]
    X, y = table(n_classes)
    theirs, ours = both(
        estimator(calibrate=False, random_state=0),
        {**COMMON, **more},
        X,
        y,
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
        return_train_score=True,
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ == 3 * len(ParameterGrid({**COMMON, **more}))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("output_bias", [False, True])
def test_networks_of_several_views_share_a_factor(n_classes, output_bias):
    X, y = table(n_classes, n_rows=120)
    views = [[0, 1], [2, 3, 4, 5], [0, 5]]
    model = MultiViewRVFLClassifier(views=views, output_bias=output_bias, random_state=0)
    grid = {"C": [1e-2, 1.0], "n_hidden": [7, 2, 12], "coupling": [0.0, 0.5, 1.0]}
    theirs, ours = both(model, grid, X, y, cv=3, return_train_score=True)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 3 * len(ParameterGrid(grid))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("privileged_hidden", [None, 4])
def test_privileged_columns_are_shared(n_classes, privileged_hidden, rng):
    X, y = table(n_classes, n_rows=120)
    Z, weight = X[:, :2] + rng.normal(size=(120, 2)), rng.integers(0, 3, 120).astype(float)
    model = RVFLPlusClassifier(
        privileged_hidden=privileged_hidden, output_bias=True, calibrate=False, random_state=0
    )
    grid = {"C": [1e-2, 1.0], "n_hidden": [9, 3], "privileged_penalty": [1e-2, 1.0, 1e4]}
    for params in ({"privileged": Z}, {"privileged": Z, "sample_weight": weight}):
        theirs, ours = both(model, grid, X, y, cv=3, params=params)
        assert_same(theirs, ours)
        assert ours.n_shared_ == 3 * len(ParameterGrid(grid))
    last = {f"rvflplusclassifier__{name}": value for name, value in grid.items()}
    theirs, ours = both(
        make_pipeline(StandardScaler(), model),
        last,
        X,
        y,
        cv=3,
        params={"rvflplusclassifier__privileged": Z},
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ == 3 * len(ParameterGrid(grid))


def test_a_privileged_penalty_chosen_in_every_fit_is_not_shared(rng):
    X, y = table()
    grid = {"C": [1.0], "privileged_penalty": ["loo", 1.0]}
    params = {"privileged": rng.normal(size=(len(y), 2))}
    theirs, ours = both(
        RVFLPlusClassifier(5, calibrate=False, random_state=0), grid, X, y, cv=3, params=params
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ == 3
    assert "privileged_penalty='loo' is chosen in every fit" in ours.not_shared_


SCORERS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "f1": "f1",
    "roc_auc": "roc_auc",
    "average_precision": "average_precision",
    "g_mean": make_scorer(g_mean_score),
    "mcc": make_scorer(matthews_corrcoef),
    "minus": make_scorer(matthews_corrcoef, greater_is_better=False),
    "f1_of_zero": make_scorer(f1_score, pos_label=0),
}


@pytest.mark.parametrize("name", ["rvfl", "robell", "crvfl"])
def test_many_metrics_at_once(name):
    estimator, more = FAMILY[name]
    X, y = table()
    theirs, ours = both(
        estimator(random_state=0),
        {"C": [10.0, 1e5], "n_hidden": [9, 60], **more},
        X,
        y,
        scoring=SCORERS,
        refit="roc_auc",
        cv=2,
        return_train_score=name == "rvfl",
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ > 0


@pytest.mark.parametrize("scoring", ["f1_macro", "balanced_accuracy", "roc_auc_ovr"])
def test_multiclass_scorers(scoring):
    X, y = table(3)
    estimator = RVFLClassifier(random_state=0)
    theirs, ours = both(
        estimator, {"C": [0.1, 10], "n_hidden": [5, 20]}, X, y, scoring=scoring, cv=3
    )
    assert_same(theirs, ours)
    # the order of probabilities is not shared, everything else is
    assert ours.n_shared_ == (0 if scoring == "roc_auc_ovr" else 12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["rvfl", "robell", "crvfl", "nf"])
def test_scorers_of_probabilities_are_shared(name, n_classes):
    """Equal rows, weights and ill-conditioned corners included."""
    X, y = table(n_classes, n_rows=90)
    X, y = np.vstack([X, X[:30]]), np.r_[y, np.roll(y[:30], 1)]
    make, more = FAMILY[name]
    grid = {"C": [1e-3, 1.0, 1e5], "n_hidden": [4, 12], **{key: v[:2] for key, v in more.items()}}
    scoring = ["neg_log_loss", "neg_brier_score"] if n_classes == 2 else ["neg_log_loss"]
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    theirs, ours = both(
        make(class_weight="balanced", random_state=0),
        grid,
        X,
        y,
        params={"sample_weight": weight},
        cv=3,
        scoring=scoring,
        refit="neg_log_loss",
        return_train_score=True,
    )
    assert_same(theirs, ours, tolerance=1e-9)
    assert ours.n_shared_ > len(theirs.cv_results_["params"])


def test_without_calibration_there_are_no_probabilities_to_share():
    X, y = table()
    with pytest.warns(UserWarning, match="Scoring failed|non-finite"):
        search = RVFLGridSearchCV(
            RVFLClassifier(calibrate=False), {"C": [1.0, 2.0]}, cv=2, scoring="neg_log_loss"
        ).fit(X, y)
    assert search.n_shared_ == 0


def test_a_paper_sized_corner_with_ill_conditioned_systems():
    """Collinear columns and C to 1e12: refined, or fitted one by one."""
    X, y = table(n_rows=80)
    X = np.hstack([X, X[:, :2] + 1e-9])
    grid = {
        "C": [1e-5, 1.0, 1e5, 1e9, 1e12],
        "n_hidden": [3, 43, 103],
        "activation": ["relu", "sign"],
    }
    theirs, ours = both(
        RoBellRVFLClassifier(random_state=0),
        grid | {"kernel_width": [2.0]},
        X,
        y,
        cv=4,
        scoring=["accuracy", "roc_auc"],
        refit="accuracy",
    )
    assert ours.n_shared_ > 4 * 15
    assert "the system is singular to working precision" in ours.not_shared_
    assert_same(theirs, ours)


# -- grids of every shape --------------------------------------------------------------


def test_odd_grids(imbalanced):
    X, y = imbalanced
    estimator = RoBellRVFLClassifier(n_hidden=7, random_state=0)

    def squared(z):
        return z**2

    for grid in (
        {"C": [1.0]},
        {"rho": [1.0, 0.5]},
        {"C": [5, 1, 3]},
        {"n_hidden": [9, 2, 4, 2]},
        {"activation": ["sin", squared, np.tanh], "C": [1, 0.1]},
        {"bias_scale": [0.0, 1.0], "class_weight": [None, "ratio", {0: 1.0, 1: 7.0}]},
        {"C": np.logspace(-2, 2, 3), "kernel_width": np.array([1.0, 2.0])},
        [{"C": [1.0, 10.0]}, {"n_hidden": [3, 4], "activation": ["relu"]}],
        [{"C": [1.0], "rho": [0.5]}, {"C": [1.0], "rho": [0.5]}],
        {"random_state": [0, 1], "C": [1, 10]},
        {},
    ):
        theirs, ours = both(estimator, grid, X, y, cv=3)
        assert_same(theirs, ours)
        assert ours.n_shared_ == 3 * len(theirs.cv_results_["params"])


def test_settings_that_weigh_rows_alike_are_solved_once(monkeypatch, imbalanced):
    solved = []
    solve = solutions.NestedRidge.solve

    def counted(self, products, w, out=None):
        solved.append(w)
        return solve(self, products, w, out)

    monkeypatch.setattr(solutions.NestedRidge, "solve", counted)
    # No row has a neighbour within the first three widths.
    grid = {"kernel_width": [1e-4, 1e-3, 1e-2, 3.0], "rho": [0.5, 1.0], "C": [0.1, 10.0]}
    arguments = (RoBellRVFLClassifier(n_hidden=5, random_state=0), grid)
    shared = RVFLGridSearchCV(*arguments, cv=2, refit=False).fit(*imbalanced)
    assert len(solved) == 2 * 4
    assert_same(GridSearchCV(*arguments, cv=2, refit=False).fit(*imbalanced), shared)


def test_equal_scores_keep_the_first_candidate(imbalanced):
    X, y = imbalanced
    theirs, ours = both(
        RVFLClassifier(random_state=0), {"C": [3.0, 1.0, 1.0, 2.0], "n_hidden": [5, 5]}, X, y, cv=2
    )
    assert ours.best_index_ == theirs.best_index_


def test_leave_one_out_penalties_in_a_grid(imbalanced):
    X, y = imbalanced
    theirs, ours = both(
        RVFLClassifier(random_state=0), {"C": [0.1, "loo", 10.0], "n_hidden": [5, 9]}, X, y, cv=3
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ == 12


# -- pipelines, weights, routing -------------------------------------------------------


def test_pipelines_are_refitted_in_every_fold(rng):
    X, y = table()
    X = X * [1, 10, 100, 1, 1, 1] + 5
    pipeline = Pipeline(
        [
            ("scale", StandardScaler()),
            ("pca", PCA()),
            ("model", RoBellRVFLClassifier(random_state=0)),
        ]
    )
    grid = {
        "scale": [StandardScaler(), MinMaxScaler(), "passthrough"],
        "pca__n_components": [2, 4],
        "model__C": [0.1, 10],
        "model__n_hidden": [5, 20],
        "model__kernel_width": [1.0, 3.0],
    }
    theirs, ours = both(pipeline, grid, X, y, cv=3)
    assert [p["scale"].__class__ for p in ours.cv_results_["params"]] == [
        p["scale"].__class__ for p in theirs.cv_results_["params"]
    ]
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12
    )
    assert ours.n_shared_ == 3 * 48
    assert ours.best_index_ == theirs.best_index_


class KeepColumns(TransformerMixin, BaseEstimator):
    """An int is a number of columns, a float a share of them: 1 and 1.0 are not the same."""

    def __init__(self, keep=1):
        self.keep = keep

    def fit(self, X, y=None):
        self.n_ = self.keep if isinstance(self.keep, int) else round(self.keep * X.shape[1])
        return self

    def transform(self, X):
        return X[:, : self.n_]


def test_penalties_in_single_precision_are_no_cause_for_a_warning(imbalanced):
    grid = {"C": np.logspace(-2, 2, 3, dtype=np.float32)}
    theirs, ours = both(RVFLClassifier(random_state=0), grid, *imbalanced, cv=3)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 9


def test_equal_values_of_other_types_are_other_candidates():
    X, y = table()
    pipeline = make_pipeline(KeepColumns(), RVFLClassifier(random_state=0))
    grid = {"keepcolumns__keep": [1, 1.0], "rvflclassifier__C": [0.1, 10]}
    theirs, ours = both(pipeline, grid, X, y, cv=3)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 12
    assert len(set(ours.cv_results_["mean_test_score"])) > 1


def test_a_search_over_estimators(imbalanced):
    """The last step itself varies: our own are shared, the others fitted one by one."""
    X, y = imbalanced
    pipeline = Pipeline([("scale", StandardScaler()), ("model", RVFLClassifier(random_state=0))])
    grid = [
        {
            "model": [RVFLClassifier(random_state=0), ELMClassifier(random_state=1)],
            "model__C": [1, 9],
        },
        {"model": [LogisticRegression()], "model__C": [1, 9]},
    ]
    theirs, ours = both(pipeline, grid, X, y, cv=3)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12
    )
    assert ours.n_shared_ == 3 * 4


def test_a_last_step_of_another_name_has_no_such_parameters(imbalanced):
    model = RVFLClassifier(random_state=0)
    pipeline = Pipeline([("scale", StandardScaler()), ("model", model)])
    grid = {"steps": [pipeline.steps, [("net", model)]], "model__C": [0.1, 10]}
    for kind in (GridSearchCV, RVFLGridSearchCV):
        with pytest.raises(ValueError, match="Invalid parameter 'model' for estimator Pipeline"):
            kind(pipeline, grid, cv=3).fit(*imbalanced)


def test_any_other_estimator_is_searched_too(imbalanced):
    X, y = imbalanced
    theirs, ours = both(LogisticRegression(), {"C": [0.1, 1, 10]}, X, y, cv=3)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 0


@pytest.mark.parametrize("name", FAMILY)
def test_sample_weights(name, rng):
    estimator, more = FAMILY[name]
    X, y = table()
    weight = rng.integers(0, 3, len(y)).astype(float)
    grid = {"C": [0.1, 10], "n_hidden": [3, 60], **more}
    theirs, ours = both(
        estimator(random_state=0), grid, X, y, cv=3, params={"sample_weight": weight}
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ > 0
    pipeline = make_pipeline(StandardScaler(), estimator(random_state=0))
    last = pipeline.steps[-1][0]
    theirs, ours = both(
        pipeline,
        {f"{last}__C": [0.1, 10]},
        X,
        y,
        cv=3,
        params={f"{last}__sample_weight": weight},
    )
    assert_same(theirs, ours)


def test_metadata_routing(rng):
    X, y = table()
    weight = rng.uniform(0.5, 2, len(y))
    groups = rng.integers(0, 6, len(y))
    with config_context(enable_metadata_routing=True):
        estimator = RVFLClassifier(random_state=0).set_fit_request(sample_weight=True)
        estimator.set_score_request(sample_weight=False)
        theirs, ours = both(
            estimator,
            {"C": [0.1, 10]},
            X,
            y,
            cv=GroupKFold(3),
            params={"sample_weight": weight, "groups": groups},
        )
        assert_same(theirs, ours)
        weighted = make_scorer(matthews_corrcoef).set_score_request(sample_weight=True)
        theirs, ours = both(
            estimator,
            {"C": [0.1, 10]},
            X,
            y,
            cv=3,
            scoring=weighted,
            params={"sample_weight": weight},
        )
        assert_same(theirs, ours)
        assert ours.n_shared_ == 6


def test_splitters_groups_and_frames(rng):
    X, y = table()
    names = list("abcdef")
    frame = pd.DataFrame(X, columns=names)
    labels = pd.Series(np.array(["no", "yes"])[y])
    estimator = RVFLClassifier(random_state=0)
    for cv, params in (
        (RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), {}),
        (GroupKFold(3), {"groups": rng.integers(0, 7, len(y))}),
        ([(np.arange(40), np.arange(40, 66))], {}),
        (None, {}),
    ):
        theirs, ours = both(estimator, {"C": [0.1, 10]}, frame, labels, cv=cv, params=params)
        assert_same(theirs, ours)
        np.testing.assert_array_equal(ours.feature_names_in_, names)
        np.testing.assert_array_equal(ours.classes_, ["no", "yes"])
        assert ours.predict(frame).dtype.kind in "OU"


def test_splits_are_any_sequences_of_places(imbalanced):
    X, y = imbalanced
    every, half = range(len(y)), len(y) // 2
    late = pd.Series(every[half:], index=every[:half])
    splits = [(range(half), every[half:]), (tuple(every[half:]), tuple(range(half)))]
    splits += [(pd.Index(every[:half]), late), (late, np.arange(half))]
    theirs, ours = both(RVFLClassifier(random_state=0), {"C": [0.1, 10]}, X, y, cv=splits)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 8


# -- refit and results -----------------------------------------------------------------


def test_refit_choices(imbalanced):
    X, y = imbalanced
    grid = {"C": [0.1, 10], "n_hidden": [3, 9]}
    estimator = RVFLClassifier(random_state=0)

    def smallest(results):
        return int(np.argmin(results["param_n_hidden"]))

    for refit in (False, True, smallest):
        theirs, ours = both(estimator, grid, X, y, cv=3, refit=refit)
        assert hasattr(ours, "best_estimator_") == hasattr(theirs, "best_estimator_")
        assert ours.best_index_ == theirs.best_index_
    theirs, ours = both(estimator, grid, X, y, cv=3, scoring=["accuracy", "f1"], refit=False)
    assert_same(theirs, ours)
    with pytest.raises(ValueError, match="For multi-metric scoring"):
        RVFLGridSearchCV(estimator, grid, scoring=["accuracy", "f1"]).fit(X, y)


def test_custom_scoring_callables(imbalanced):
    X, y = imbalanced

    def report(estimator, X, y):
        return {"size": np.abs(estimator.coef_).sum(), "right": (estimator.predict(X) == y).mean()}

    theirs, ours = both(
        RVFLClassifier(random_state=0), {"C": [0.1, 10]}, X, y, cv=3, scoring=report, refit="right"
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ == 0


def test_scores_are_numbers_or_refused(imbalanced):
    X, y = imbalanced
    model, grid = RVFLClassifier(random_state=0), {"C": [0.1, 10], "n_hidden": [3, 9]}
    right = make_scorer(lambda true, predicted: np.array([(true == predicted).mean()]))
    theirs, ours = both(model, grid, X, y, cv=3, scoring=right)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 12
    for score in ("0.5", np.arange(4.0)):
        scoring = make_scorer(lambda true, predicted, score=score: score)
        for kind in (GridSearchCV, RVFLGridSearchCV):
            with pytest.raises(ValueError, match="scoring must return a number"):
                kind(model, grid, cv=3, scoring=scoring).fit(X, y)


def test_scorers_of_ones_own_kind_are_asked_themselves(imbalanced):
    class SizeOfWeights(type(get_scorer("accuracy"))):
        def _score(self, method_caller, estimator, X, y_true, **params):
            return float(np.abs(estimator.coef_).sum())

    scoring = SizeOfWeights(accuracy_score, 1, {}, "predict")
    grid = {"C": [0.1, 10], "n_hidden": [3, 9]}
    theirs, ours = both(RVFLClassifier(random_state=0), grid, *imbalanced, cv=3, scoring=scoring)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 0


def test_metrics_stand_in_the_order_given_where_nothing_is_shared(imbalanced):
    scoring = ["accuracy", "neg_log_loss", "f1"]
    grid = {"C": ["loo"], "n_hidden": [3, 9]}
    theirs, ours = both(
        RVFLClassifier(random_state=0), grid, *imbalanced, cv=3, scoring=scoring, refit=False
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ == 0


def test_minus_infinity_ranks_before_what_has_no_score(imbalanced):
    def score(true, predicted):
        return np.nan if len(set(predicted)) == 1 else -np.inf

    X, y = imbalanced
    grid = {"C": [1e-9, 1.0], "n_hidden": [3]}
    found = []
    for kind in (GridSearchCV, RVFLGridSearchCV):
        search = kind(RVFLClassifier(random_state=0), grid, cv=3, scoring=make_scorer(score))
        with pytest.warns(UserWarning, match="non-finite"), np.errstate(invalid="ignore"):
            search.fit(X, y)
        found.append(search.cv_results_["rank_test_score"].tolist())
    assert found == [[1, 2], [1, 2]]


# -- failures --------------------------------------------------------------------------


def test_failing_candidates_follow_error_score(imbalanced):
    X, y = imbalanced
    grid = {"C": [-1.0, 1.0], "n_hidden": [3, 0], "activation": ["relu", "nonsense"]}
    searches = []
    for kind in (GridSearchCV, RVFLGridSearchCV):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            searches.append(kind(RVFLClassifier(random_state=0), grid, cv=3).fit(X, y))
        messages = [str(w.message) for w in caught if w.category is FitFailedWarning]
        assert len(messages) == 1
        assert "21 fits failed out of a total of 24" in messages[0]
    assert_same(*searches)
    with pytest.warns(FitFailedWarning):
        search = RVFLGridSearchCV(RVFLClassifier(random_state=0), grid, cv=3, error_score=-7.0).fit(
            X, y
        )
    assert (search.cv_results_["mean_test_score"] == -7).sum() == 7
    with pytest.raises(ValueError, match=r"'activation' parameter|'C' parameter|'n_hidden'"):
        RVFLGridSearchCV(RVFLClassifier(), grid, cv=3, error_score="raise").fit(X, y)


def test_what_is_not_shared_says_why(imbalanced):
    X, y = imbalanced
    grid = [{"C": ["loo", 1.0], "n_hidden": [3, 4]}, {"C": [-1.0, 1.0]}]
    with pytest.warns((FitFailedWarning, UserWarning)):
        search = RVFLGridSearchCV(RVFLClassifier(random_state=0), grid, cv=3).fit(X, y)
    assert search.n_shared_ == 9
    assert search.not_shared_ == {
        "C='loo' is chosen in every fit": 6,
        "fit refuses the parameters": 3,
    }
    search = RVFLGridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=3).fit(X, y)
    assert search.not_shared_ == {"LogisticRegression is not a network of this package": 6}


def test_a_mistake_in_the_search_itself_is_not_hidden(monkeypatch, imbalanced):
    def mistaken(*_):
        raise ValueError("a mistake of ours")

    monkeypatch.setattr(solutions.NestedRidge, "solve", mistaken)
    with pytest.raises(ValueError, match="a mistake of ours"):
        RVFLGridSearchCV(RVFLClassifier(random_state=0), {"C": [1, 2]}, cv=3).fit(*imbalanced)


def test_a_failing_activation_fails_its_own_candidates_only(imbalanced):
    X, y = imbalanced

    def of_another_shape(z):
        return z[:, :1]

    def raising(z):
        raise TypeError("of any kind")

    for broken in (of_another_shape, raising):
        with pytest.warns((FitFailedWarning, UserWarning)):
            search = RVFLGridSearchCV(
                RVFLClassifier(random_state=0), {"activation": [broken, "relu"], "C": [1, 2]}, cv=3
            ).fit(X, y)
        np.testing.assert_array_equal(
            np.isnan(search.cv_results_["mean_test_score"]), [True, False, True, False]
        )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_folds_without_a_class_and_scorers_that_refuse():
    X, y = table(n_rows=40)
    labels = np.array(["a", "b"])[y]
    splits = [(np.arange(30), np.flatnonzero(y[30:] == 0) + 30), (np.arange(10, 40), np.arange(10))]
    for scoring in ("roc_auc", "f1", "average_precision", "accuracy"):
        theirs, ours = both(
            RVFLClassifier(random_state=0), {"C": [1, 2]}, X, labels, cv=splits, scoring=scoring
        )
        np.testing.assert_allclose(
            ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12
        )


def test_a_fold_of_a_regressor_without_test_rows(rng):
    X = rng.normal(size=(40, 3))
    splits = [(np.arange(30), np.arange(0)), (np.arange(30), np.arange(30, 40))]
    grid, settings = {"C": [0.1, 1.0]}, {"cv": splits, "error_score": 0.0}
    with pytest.warns(UserWarning, match="Scoring failed"):
        theirs, ours = both(RVFLRegressor(random_state=0), grid, X, X[:, 0], **settings)
    assert_same(theirs, ours, 1e-9)
    assert ours.n_shared_ == 2


def test_a_class_whose_rows_all_weigh_nothing_is_named():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) % 10 == 0  # surrounded by the other class
    model = IntuitionisticFuzzyRVFLClassifier(kernel_width=2.0, calibrate=False, random_state=0)
    for kind in (GridSearchCV, RVFLGridSearchCV):
        search = kind(model, {"C": [0.1, 10.0]}, cv=3, refit=False)
        with pytest.warns(UserWarning, match="all rows of class True have the intuition"):
            search.fit(X, y)
    assert search.n_shared_ == 6


def test_unseen_classes_in_a_test_fold():
    X, y = table(3, n_rows=60)
    splits = [(np.flatnonzero(y < 2), np.arange(60)), (np.arange(60), np.arange(60))]
    for scoring in ("accuracy", "balanced_accuracy"):
        theirs, ours = both(
            RVFLClassifier(random_state=0), {"C": [1, 2]}, X, y, cv=splits, scoring=scoring
        )
        assert_same(theirs, ours)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("label", [np.nan, 0.5, None, 7])
@np.errstate(invalid="ignore")
def test_labels_to_score_that_are_none(imbalanced, label, scoring):
    X, y = imbalanced
    y = y.astype(float) if isinstance(label, float) else np.array(["a", "b"], dtype=object)[y]
    y[-1] = label
    half = len(y) // 2
    splits = [(np.arange(half), np.arange(half, len(y))), (np.arange(9, half), np.arange(9))]
    settings = {"cv": splits, "refit": False, "scoring": scoring, "error_score": -1.0}
    with pytest.warns(UserWarning, match="Scoring failed"):
        theirs, ours = both(RVFLClassifier(random_state=0), {"C": [1, 2]}, X, y, **settings)
    assert_same(theirs, ours)
    assert (theirs.cv_results_["split0_test_score"] == -1.0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"param_grid": {"nonsense": [1]}}, "Invalid parameter 'nonsense'"),
        ({"param_grid": {"C": []}}, "non-empty"),
        ({"cv": 1}, "'cv' parameter"),
        ({"cv": 190}, "n_splits=190"),
        ({"scoring": "nonsense"}, "nonsense"),
    ],
)
def test_bad_settings_raise_what_grid_search_raises(imbalanced, settings, message):
    X, y = imbalanced
    arguments = {"param_grid": {"C": [1]}} | settings
    messages = []
    for kind in (GridSearchCV, RVFLGridSearchCV):
        with pytest.raises(ValueError, match=message) as error:
            kind(RVFLClassifier(), **arguments).fit(X, y)
        messages.append(type(error.value))
    assert messages[0] is messages[1]


# -- processes -------------------------------------------------------------------------


def test_threads_and_processes_change_nothing(imbalanced):
    X, y = imbalanced
    grid = {**COMMON, "rho": [0.5, 1.0]}
    estimator = make_pipeline(StandardScaler(), RoBellRVFLClassifier(random_state=0))
    grid = {f"robellrvflclassifier__{name}": values for name, values in grid.items()}
    one, two, many = (
        RVFLGridSearchCV(estimator, grid, cv=2, n_jobs=n).fit(X, y) for n in (None, 2, 4)
    )
    with parallel_config(backend="loky"):  # processes instead of threads
        processes = RVFLGridSearchCV(estimator, grid, cv=2, n_jobs=2).fit(X, y)
    for other in (two, many, processes):
        np.testing.assert_array_equal(
            one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
        )
        assert other.n_shared_ == one.n_shared_


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_stops_at_once_and_leaves_no_process(n_jobs):
    script = textwrap.dedent(f"""
        import numpy as np
        from robell import RoBellRVFLClassifier, RVFLGridSearchCV, paper_grid
        rng = np.random.default_rng(0)
        X = rng.normal(size=(2000, 20)); y = (rng.uniform(size=2000) < 0.3).astype(int)
        print("ready", flush=True)
        RVFLGridSearchCV(RoBellRVFLClassifier(), paper_grid("robell"), n_jobs={n_jobs}).fit(X, y)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where the tests run in the background, SIGINT is ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline().strip() == "ready"
    time.sleep(2.5)
    assert process.poll() is None
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - start < 10  # about one second; the machine may be busy
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _group_alive(process.pid):
        time.sleep(0.1)
    assert not _group_alive(process.pid)


def _group_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_progress_is_shown_on_terminals_only():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        with Progress(4, "search", stream, patience=0.0) as progress:
            for _ in range(4):
                progress.shown -= 1.0
                progress.advance()
        assert ("50%" in stream.getvalue()) == shown
        assert (" left" in stream.getvalue()) == shown


def test_the_best_score_is_the_one_brute_force_gives():
    """RidgeClassifierCV(cv=None) reports 1.0 here, whatever the data (scikit-learn's 34942)."""
    X, y = table(n_rows=60, seed=1)
    alphas = [0.1, 1.0, 10.0]
    search = RVFLGridSearchCV(
        RVFLClassifier(1, random_state=0, bias_scale=0.0),
        {"C": [1 / a for a in alphas]},
        cv=[(np.flatnonzero(np.arange(60) != i), [i]) for i in range(60)],
        scoring="accuracy",
    ).fit(X, y)
    right = []
    for i in range(60):
        keep = np.arange(60) != i
        model = RVFLClassifier(1, C=search.best_params_["C"], random_state=0, bias_scale=0.0)
        right.append(model.fit(X[keep], y[keep]).predict(X[i : i + 1])[0] == y[i])
    assert search.best_score_ == pytest.approx(np.mean(right))
    assert search.best_score_ < 0.99


# -- the paper's grids -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("rvfl", 1210),
        ("elm", 1210),
        ("robell", 66_550),
        ("nf", 12_100),
        ("crvfl", 1210),
        ("acrvfl", 1210),
        ("gb", 7260),
        ("gegb", 79_860),
    ],
)
def test_paper_grids(model, size):
    grid = paper_grid(model)
    assert len(ParameterGrid(grid)) == size
    assert grid["C"] == [10.0**k for k in range(-5, 6)]
    assert grid["n_hidden"] == list(range(3, 204, 20))
    estimator = FAMILY[model][0]()
    for name, values in grid.items():
        estimator.set_params(**{name: values[0]})._validate_params()
    assert all(name.startswith("m__") for name in paper_grid(model, prefix="m__"))


def test_unknown_model():
    with pytest.raises(ValueError, match="model must be one of rvfl, elm, robell"):
        paper_grid("forest")


@parametrize_with_checks(
    [RVFLGridSearchCV(RVFLClassifier(5, calibrate=False, random_state=0), {"C": [0.1, 10.0]}, cv=2)]
)
@pytest.mark.filterwarnings("ignore")  # failed fits are announced by warnings here
def test_scikit_learn_check(estimator, check):
    check(estimator)
