"""Any classifier made robust: fitted to probabilities of the classes instead of labels."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from robell import (
    NoiseRobustClassifier,
    NoiseRobustRVFLClassifier,
    RVFLClassifier,
    TableEncoder,
    ThresholdClassifier,
)
from robell.noise import flip_uniformly

NAMES = np.array(["benign", "sick"])


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


@pytest.fixture(scope="module")
def table():
    """Return training rows with 30 % wrong labels in words, and test rows with right ones."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    noisy, wrong = flip_uniformly(y, 0.3, 0)
    return X, NAMES[noisy], wrong, X_test, NAMES[y_test]


@parametrize_with_checks(
    [
        NoiseRobustClassifier(GaussianNB(), random_state=0),
        NoiseRobustClassifier(LogisticRegression(), random_state=0),
        NoiseRobustClassifier(RVFLClassifier(random_state=0), probability="balanced"),
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "base",
    [
        logistic(),
        RandomForestClassifier(50, random_state=0),
        DecisionTreeClassifier(random_state=0),
        KNeighborsClassifier(),  # takes no weights
        make_pipeline(DecisionTreeClassifier(random_state=0)),  # a pipeline of one step
        make_pipeline(StandardScaler(), LinearSVC()),  # gives no probabilities
    ],
    ids=lambda base: type(base[-1] if hasattr(base, "steps") else base).__name__,
)
def test_it_bears_wrong_labels_better_than_the_classifier_alone(table, base):
    X, noisy, _, X_test, y_test = table
    robust = NoiseRobustClassifier(base, random_state=0).fit(X, noisy)
    plain = clone(base).fit(X, noisy)
    ours, theirs = (
        balanced_accuracy_score(y_test, model.predict(X_test)) for model in (robust, plain)
    )
    assert ours > theirs
    assert ours > 0.85
    assert 0.2 < robust.noise_rate_ < 0.4


def test_it_is_the_classifier_fitted_to_one_weighted_copy_a_class(table):
    X, noisy, *_ = table
    robust = NoiseRobustClassifier(LogisticRegression(max_iter=5000), random_state=0)
    robust.fit(X[:, :3], noisy)
    judge = NoiseRobustRVFLClassifier(random_state=np.random.RandomState(0).randint(2**31 - 1))
    Z = judge.fit(X[:, :3], noisy).label_probability_
    np.testing.assert_array_equal(robust.label_probability_, Z)
    twice, classes = np.vstack([X[:, :3], X[:, :3]]), np.repeat([0, 1], len(X))
    weight = np.concatenate([Z[:, 0] / Z[:, 0].sum(), Z[:, 1] / Z[:, 1].sum()]) * len(X) / 2
    literal = LogisticRegression(max_iter=5000).fit(twice, classes, sample_weight=weight)
    np.testing.assert_allclose(robust.estimator_.coef_, literal.coef_, rtol=1e-3)
    np.testing.assert_array_equal(
        robust.predict(X[:, :3]), NAMES[literal.predict_proba(X[:, :3]).argmax(axis=1)]
    )


def test_steps_before_the_last_see_every_row_once(table):
    X, noisy, *_ = table
    model = NoiseRobustClassifier(logistic(), random_state=0).fit(X, noisy)
    np.testing.assert_allclose(model.estimator_[0].mean_, X.mean(axis=0))
    chosen = make_pipeline(SelectKBest(k=3), LogisticRegression(max_iter=5000))
    model = NoiseRobustClassifier(chosen, random_state=0).fit(X, noisy)
    expected = SelectKBest(k=3).fit(X, noisy).get_support()
    np.testing.assert_array_equal(model.estimator_[0].get_support(), expected)


def test_probabilities_are_frequencies_of_the_true_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    truth = (X[:, 0] + X[:, 1] + rng.normal(size=4000) > 2.0).astype(int)
    noisy = flip_uniformly(truth[:2000], 0.2, 0)[0]
    model = NoiseRobustClassifier(LogisticRegression(), random_state=0).fit(X[:2000], noisy)
    P = model.predict_proba(X[2000:])[:, 1]
    assert abs(P.mean() - truth[2000:].mean()) < 0.04
    flagship = NoiseRobustRVFLClassifier(random_state=0).fit(X[:2000], noisy)
    brier = [
        np.square(p - truth[2000:]).mean() for p in (P, flagship.predict_proba(X[2000:])[:, 1])
    ]
    assert brier[0] < brier[1] + 0.003
    plain = LogisticRegression().fit(X[:2000], noisy).predict_proba(X[2000:])[:, 1]
    assert brier[0] < np.square(plain - truth[2000:]).mean() - 0.01


def test_several_classes_of_words_and_thresholds():
    X, y = load_wine(return_X_y=True)
    words = np.array(["red", "rosé", "white"])
    noisy = words[flip_uniformly(y, 0.2, 0)[0]]
    model = NoiseRobustClassifier(RandomForestClassifier(random_state=0), random_state=0)
    model.fit(X, noisy)
    assert (model.predict(X) == words[y]).mean() > 0.9
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[(P / model.thresholds_).argmax(axis=1)]
    )
    with pytest.raises(ValueError, match="for two classes"):
        model.choose_threshold(recall=0.9)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_votes_that_tie_are_predicted_alike(n_classes):
    """Neighbours tie in many rows: probabilities and their calibration must not decide there."""
    rng = np.random.default_rng(n_classes)
    y = np.arange(40 * n_classes) % n_classes
    X = np.round(rng.normal(size=(n_classes, 2))[y] + rng.normal(size=(len(y), 2)), 1)
    y[: 10 * n_classes] = 0
    new = rng.normal(size=(2000, 2))
    predicted = []
    for probability, calibrate in product(["frequency", "balanced"], [True, False]):
        model = NoiseRobustClassifier(
            KNeighborsClassifier(4),
            probability=probability,
            calibrate=calibrate,
            random_state=0,
        ).fit(X, y)
        predicted.append(model.predict(new))
        votes = model.estimator_.predict_proba(new)
        tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
        assert tied.sum() > 10
        first = votes.argmax(axis=1) if n_classes > 2 else np.where(tied, 1, votes.argmax(axis=1))
        np.testing.assert_array_equal(predicted[-1], first)
    assert all(np.array_equal(other, predicted[0]) for other in predicted)


def test_thresholds_are_chosen_as_the_flagship_does(table):
    X, noisy, _, X_test, _ = table
    model = NoiseRobustClassifier(logistic(), random_state=0).fit(X, noisy)
    few = model.choose_threshold(budget=0.1).predict(X_test)
    many = model.choose_threshold(recall=0.99).predict(X_test)
    assert (few == "sick").mean() < 0.25 < (many == "sick").mean()
    assert ((model.decision_function(X_test) > 0) == (many == "sick")).all()
    small = NoiseRobustClassifier(logistic(), calibrate=False, random_state=0).fit(X, noisy)
    with pytest.raises(ValueError, match="needs calibrate=True"):
        small.choose_threshold(budget=0.1)


def test_the_order_of_the_rows_of_a_raw_frame_changes_nothing(rng):
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    y = (X["a"] + X["b"] + 0.3 * rng.normal(size=200) > 0).to_numpy()
    X["d"] = np.where(rng.random(200) < 0.1, np.nan, X["a"])
    pipeline = make_pipeline(SimpleImputer(), LogisticRegression())
    model = NoiseRobustClassifier(pipeline, random_state=0).fit(X, y)
    for _ in range(3):
        order = rng.permutation(200)
        again = clone(model).fit(X.iloc[order], y[order])
        np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-5)


def test_raw_frames_with_gaps_and_words_are_judged(table):
    X, noisy, *_ = table
    frame = pd.DataFrame({"size": X[:, 0], "shape": np.where(X[:, 7] > 0.05, "odd", "round")})
    frame.loc[::9, "size"] = np.nan
    model = NoiseRobustClassifier(make_pipeline(TableEncoder(), LogisticRegression()))
    assert balanced_accuracy_score(noisy, model.fit(frame, noisy).predict(frame)) > 0.6
    assert model.feature_names_in_.tolist() == ["size", "shape"]


def test_weights_are_repetitions(table):
    X, noisy, *_ = table
    X, noisy = X[:120, :4], noisy[:120]
    weight = np.arange(120) % 3
    weighted = NoiseRobustClassifier(GaussianNB(), random_state=0)
    weighted.fit(X, noisy, sample_weight=weight)
    repeated = clone(weighted).fit(np.repeat(X, weight, axis=0), np.repeat(noisy, weight))
    # GaussianNB smooths by the variance of rows, each counted once whatever its weight.
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        NoiseRobustClassifier(KNeighborsClassifier()).fit(X, noisy, sample_weight=weight)


def test_class_weights_are_named_by_the_labels_given(table):
    X, noisy, _, X_test, _ = table
    share = [
        (
            NoiseRobustClassifier(
                DecisionTreeClassifier(max_depth=3, class_weight={"benign": w, "sick": 1}),
                random_state=0,
            )
            .fit(X, noisy)
            .predict(X_test)
            == "benign"
        ).mean()
        for w in (1, 20)
    ]
    assert share[1] > share[0]


@pytest.mark.parametrize("n_classes", [3, 10])
def test_classes_of_one_row_are_known_to_classifiers_without_weights(n_classes):
    y = np.arange(n_classes + 1) % n_classes
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(len(y), 2)).round()
        model = NoiseRobustClassifier(KNeighborsClassifier(1), random_state=seed).fit(X, y)
        np.testing.assert_array_equal(model.estimator_.classes_, np.arange(n_classes))
        assert model.predict_proba(X).shape == (len(y), n_classes)


def test_class_weights_of_classifiers_within_are_named_by_the_labels_given(table):
    X, noisy, _, X_test, _ = table
    codes, found = np.searchsorted(NAMES, noisy), []
    for labels in (NAMES, np.array([0, 1]), np.array([1, 2])):
        tree = DecisionTreeClassifier(max_depth=3, class_weight={labels[0]: 20, labels[1]: 1})
        inside = make_pipeline(StandardScaler(), BaggingClassifier(tree, 3, random_state=0))
        model = NoiseRobustClassifier(inside, random_state=0).fit(X, labels[codes])
        found.append(model.predict(X_test) == labels[0])
    np.testing.assert_array_equal(found[1:], found[:1] * 2)


def test_parameters_of_fit_are_passed_on_with_their_rows(table):
    X, noisy, *_ = table

    class Needs(GaussianNB):
        def fit(self, X, y, sample_weight=None, marks=None):
            self.marks_ = marks
            assert len(marks) == len(X)
            return super().fit(X, y, sample_weight)

    marks = X[:, 0]
    model = NoiseRobustClassifier(Needs(), random_state=0).fit(X, noisy, marks=marks)
    assert set(model.estimator_.marks_) == set(marks)
    with sklearn.config_context(enable_metadata_routing=True):
        requested = NoiseRobustClassifier(Needs().set_fit_request(marks=True), random_state=0)
        requested.fit(X, noisy, marks=marks)
        with pytest.raises(TypeError, match="other"):
            requested.fit(X, noisy, other=marks)


def test_a_search_reaches_the_estimator_inside(table):
    X, noisy, *_ = table
    search = GridSearchCV(
        NoiseRobustClassifier(logistic(), calibrate=False, random_state=0),
        {"estimator__logisticregression__C": [0.01, 1.0]},
        cv=2,
    ).fit(X, noisy)
    assert search.best_estimator_.estimator_[-1].C in (0.01, 1.0)


def test_refusals_are_one_line(table):
    X, noisy, *_ = table
    with pytest.raises(ValueError, match="estimator") as caught:
        NoiseRobustClassifier(StandardScaler()).fit(X, noisy)
    assert "\n" not in str(caught.value)
    for make in NoiseRobustClassifier, partial(ThresholdClassifier, slope=1.0):
        with pytest.raises(ValueError, match=r"with predict_proba or .*; Ridge has neither"):
            make(Ridge()).fit(X, noisy == "sick")
    with pytest.raises(ValueError, match="a classifier; it is 'passthrough'"):
        NoiseRobustClassifier(make_pipeline(StandardScaler(), "passthrough")).fit(X, noisy)
    with pytest.raises(ValueError, match=r"LinearSVC has no predict_proba: .* slope="):
        ThresholdClassifier(LinearSVC()).fit(X, noisy)
    with pytest.raises(ValueError, match=r"y has one class, 1$"):
        NoiseRobustClassifier(GaussianNB()).fit(X, np.ones(len(X), int))


def test_a_stack_of_classifiers_is_one_before_it_is_fitted(table):
    """It has no method predict then."""
    X, noisy, _, X_test, _ = table
    stack = StackingClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier())], cv=2)
    robust = NoiseRobustClassifier(stack, random_state=0).fit(X, noisy)
    assert robust.predict(X_test).shape == (len(X_test),)
    assert ThresholdClassifier(stack).fit(X, noisy).predict(X_test).shape == (len(X_test),)


def test_a_pipeline_of_imbalanced_learn_works_unless_it_changes_the_rows(table):
    X, noisy, _, X_test, _ = table
    imblearn = pytest.importorskip("imblearn")
    steps = StandardScaler(), LogisticRegression(max_iter=1000)
    theirs, ours = (
        NoiseRobustClassifier(make(*steps), random_state=0).fit(X, noisy).predict_proba(X_test)
        for make in (imblearn.pipeline.make_pipeline, make_pipeline)
    )
    np.testing.assert_array_equal(theirs, ours)
    sampled = imblearn.pipeline.make_pipeline(
        imblearn.over_sampling.RandomOverSampler(random_state=0), GaussianNB()
    )
    with pytest.raises(ValueError, match="step 'randomoversampler' of the pipeline changes"):
        NoiseRobustClassifier(sampled).fit(X, noisy)
    sampled.steps[-1] = ("robust", NoiseRobustClassifier(GaussianNB(), random_state=0))
    assert set(sampled.fit(X, noisy).predict(X_test)) == set(NAMES)
