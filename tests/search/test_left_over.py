"""What groups of a search have in common, and what it does with the few scores left over."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from searches import assert_same, both, table
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.parallel import Parallel

from robell import RoBellRVFLClassifier, RVFLClassifier, RVFLGridSearchCV
from robell.search import grid_search
from robell.search.groups import group_candidates

GRID = st.fixed_dictionaries(
    {},
    optional={
        "C": st.lists(st.sampled_from([0.1, 1.0, 1, 10.0]), min_size=1, max_size=3),
        "n_hidden": st.lists(st.integers(1, 9), min_size=1, max_size=3),
        "rho": st.lists(st.sampled_from([0.5, 1.0]), min_size=1, max_size=2),
        "kernel_width": st.lists(st.sampled_from([1.0, 2.0, "scale"]), min_size=1, max_size=2),
        "activation": st.lists(st.sampled_from(["sin", "relu"]), min_size=1, max_size=2),
        "output_bias": st.lists(st.booleans(), min_size=1, max_size=2),
    },
)


@given(st.one_of(GRID, st.lists(GRID, min_size=1, max_size=3)))
def test_candidates_are_those_of_a_parameter_grid(grid):
    model, candidates = RoBellRVFLClassifier(random_state=0), list(ParameterGrid(grid))
    groups, unshared = group_candidates(model, grid, {})
    assert not unshared
    numbers = np.concatenate([group.candidate.ravel() for group in groups])
    assert sorted(numbers) == list(range(len(candidates)))
    for group in groups:
        for (i, j, k), number in np.ndenumerate(group.candidate):
            ours = group.others | group.settings[i]
            ours |= {"C": group.C[j], "n_hidden": group.nested[k]}
            assert model.get_params() | ours == model.get_params() | candidates[number]


def test_rows_are_checked_and_compared_once_for_all_activations(monkeypatch, imbalanced):
    checked, compared = [], []
    check, compare = RoBellRVFLClassifier._check_training, RoBellRVFLClassifier._weighed

    def checking(self, *rows):
        checked.append(self.activation)
        return check(self, *rows)

    def comparing(self, *rows):
        compared.append(self.activation)
        return compare(self, *rows)

    monkeypatch.setattr(RoBellRVFLClassifier, "_check_training", checking)
    monkeypatch.setattr(RoBellRVFLClassifier, "_weighed", comparing)
    for function in (checking, comparing):  # or the search would not trust them
        function.__module__ = "robell"
    grid = {"activation": ["sin", "relu", "sigmoid"], "rho": [0.5, 2.0], "n_hidden": [3, 5]}
    search = RVFLGridSearchCV(RoBellRVFLClassifier(random_state=0), grid, cv=2, refit=False)
    search.fit(*imbalanced)
    assert search.n_shared_ == 24
    assert (len(checked), len(compared)) == (2, 2)


@pytest.mark.parametrize("random_state", [0, np.random.RandomState(3)])
def test_what_weights_depend_on_is_not_mixed_up(random_state):
    """Groups that differ in more than their features have rows and weights of their own."""
    X, y = table()
    theirs, ours = both(
        RoBellRVFLClassifier(n_hidden=7, random_state=random_state, calibrate=False),
        [
            {
                "activation": ["sin", "relu"],
                "class_weight": [None, "balanced", {0: 1.0, 1: 5.0}],
                "kernel_width": [0.5, 2.0],
                "output_bias": [True, False],
            },
            {"activation": ["sin"], "class_weight": [None], "kernel_width": [4.0]},
        ],
        X,
        y,
        cv=3,
        scoring="roc_auc",
    )
    assert_same(theirs, ours)
    assert ours.n_shared_ > 0


def _search_with_some_left_over(**settings):
    """Return both searches, of which a third is fitted one by one."""
    X, y = table(n_rows=60)
    grid = {"C": [0.1, "loo", 10.0], "n_hidden": [3, 9]}
    arguments = (RVFLClassifier(random_state=0, calibrate=False), grid)
    theirs = GridSearchCV(*arguments, cv=3, refit=False).fit(X, y)
    ours = RVFLGridSearchCV(*arguments, cv=3, refit=False, **settings).fit(X, y)
    assert ours.not_shared_ == {"C='loo' is chosen in every fit": 6}
    return theirs, ours


def test_a_few_scores_left_over_start_no_processes(monkeypatch):
    def only_threads(*arguments, **settings):
        assert settings.get("prefer") == "threads", "workers were started for a few fits"
        return Parallel(*arguments, **settings)

    monkeypatch.setattr(grid_search, "Parallel", only_threads)
    assert_same(*_search_with_some_left_over(n_jobs=2))


def test_many_scores_left_over_are_given_to_workers(monkeypatch):
    started = []

    def noted(*arguments, **settings):
        started.append(settings.get("prefer"))
        return Parallel(*arguments, **settings)

    monkeypatch.setattr(grid_search, "Parallel", noted)
    monkeypatch.setattr(grid_search, "ALONE_SECONDS", 1e-9)  # one fit takes longer than that
    with parallel_config(backend="threading"):
        assert_same(*_search_with_some_left_over(n_jobs=2))
    assert started == ["threads", None]


def test_workers_get_the_settings_of_scikit_learn():
    """Metadata is routed where candidates are fitted one by one in other processes too."""
    X, y = table()
    weight = np.arange(len(y)) % 3
    with config_context(enable_metadata_routing=True):
        model = RVFLClassifier(n_hidden=3, random_state=0).set_fit_request(sample_weight=True)
        model = make_pipeline(MinMaxScaler(), model.set_score_request(sample_weight=True))
        settings = {"cv": 2, "n_jobs": 2, "params": {"sample_weight": weight}}
        theirs, ours = both(model, {"rvflclassifier__C": ["loo"]}, X, y, **settings)
    assert_same(theirs, ours)
    assert ours.n_shared_ == 0


class _CountedScaler(MinMaxScaler):
    """A first step that counts how often it is fitted."""

    n_fits = 0

    def fit(self, X, y=None):
        _CountedScaler.n_fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", ["f1", "roc_auc"]])
def test_single_fits_of_a_group_have_their_fold_s_first_steps_in_common(scoring):
    """Columns that stand twice make systems singular: these candidates are fitted one by one."""
    X, y = table()
    X = np.hstack([X, X[:, :2]])
    model = make_pipeline(_CountedScaler(), RVFLClassifier(n_hidden=4, random_state=0))
    grid = {"rvflclassifier__C": [1e14, 1.0, 1e13, 1e12], "rvflclassifier__n_hidden": [9, 3]}
    settings = {"cv": 3, "refit": False, "scoring": scoring, "return_train_score": True}
    theirs = GridSearchCV(model, grid, **settings).fit(X, y)
    _CountedScaler.n_fits = 0
    ours = RVFLGridSearchCV(model, grid, **settings).fit(X, y)
    assert _CountedScaler.n_fits <= 6
    assert 0 < ours.n_shared_ <= 18
    assert_same(theirs, ours, 1e-12 if scoring == "neg_log_loss" else 0.0)


def test_a_metric_may_be_named_score():
    X, y = table()
    grid = {"C": [0.1, np.inf], "n_hidden": [3, 9]}
    settings = {"scoring": {"score": "accuracy"}, "refit": "score", "cv": 3}
    theirs, ours = both(RVFLClassifier(random_state=0), grid, X, y, **settings)
    assert_same(theirs, ours)
    assert ours.multimetric_ is theirs.multimetric_ is True


@pytest.mark.parametrize("seed", [6, 8])
def test_single_fits_merge_rows_that_are_equal_up_to_rounding(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(60, 2)) / 3.0
    X[30:] = X[:30] * (1 + 1e-15 * rng.integers(-3, 4, size=(30, 2)))
    y = rng.integers(0, 2, 60)
    others = {"C": [0.1, 100.0, 1e4], "n_hidden": [3, 20], "activation": ["relu", "sigmoid"]}
    grid = [{"calibrate": [False], "C": [1.0]}, others]  # the first is shared
    theirs, ours = both(RVFLClassifier(random_state=0), grid, X, y, cv=3, scoring="roc_auc")
    assert_same(theirs, ours)
    assert ours.not_shared_["rows that are equal up to rounding are merged in every fit"] == 36


def test_values_of_another_array_are_checked_by_themselves():
    X, y = table()
    grid = [{"n_hidden": np.array([5 + k, 9])} for k in range(3)]
    grid.append({"n_hidden": np.array([0, -1])})
    search = RVFLGridSearchCV(RVFLClassifier(random_state=0), grid, cv=3, error_score=np.nan)
    with pytest.warns():
        search.fit(X, y)
    assert search.not_shared_ == {"fit refuses the parameters": 6}
