"""Hundreds of small searches of every kind, against GridSearchCV: equal but for the times."""

import warnings

import numpy as np
import pytest
from searches import FAMILY, assert_same, both
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.metrics import f1_score, hinge_loss, make_scorer, matthews_corrcoef, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from robell import NoiseRobustRVFLClassifier, RoBellRVFLClassifier, RVFLClassifier
from robell.metrics import g_mean_score

ROUNDS, PER_ROUND = 15, 21
ACTIVATIONS = ["relu", "sigmoid", "hardlim", "sign", "tribas", "radbas", "sin"]


class CutsLow(RVFLClassifier):
    def predict(self, X):
        return self.classes_[np.asarray(self._scores(X)[:, -1] > 0.3, dtype=int)]


class SquaredInputs(RVFLClassifier):
    def _features(self, X):
        return np.hstack([super()._features(X), X**2]) / self.n_hidden

    def _n_columns(self):
        return super()._n_columns() + self.n_features_in_


class WeighsByNorm(RoBellRVFLClassifier):
    def _fit_weights(self, prepared):
        return 1.0 / (1.0 + np.square(prepared.rows.X).sum(axis=1))


VARIANTS = [CutsLow, SquaredInputs, WeighsByNorm]


def draw_table(rng):
    """Rows of one of several kinds: smooth, with many ties, with duplicates, not scaled."""
    n, d, n_classes = int(rng.integers(30, 55)), int(rng.integers(2, 5)), int(rng.choice([2, 2, 3]))
    y = np.concatenate([np.repeat(np.arange(n_classes), 6), rng.integers(0, n_classes, n)])
    if rng.random() < 0.4:
        y = np.minimum(y, rng.integers(0, n_classes, len(y)) | (y < 1))
        y[: 6 * n_classes] = np.repeat(np.arange(n_classes), 6)
    y = rng.permutation(y)
    X = rng.normal(size=(len(y), d)) + 0.8 * y[:, None]
    kind = rng.choice(["smooth", "ties", "duplicates", "unscaled"])
    if kind == "ties":
        X = np.round(X)
    elif kind == "duplicates":
        X[len(X) // 2 :] = X[: len(X) - len(X) // 2]
    elif kind == "unscaled":
        X = X * 10.0 ** rng.integers(-2, 4, d) + 100.0
    if rng.random() < 0.3:
        y = np.array(["no", "some", "yes"])[y]
    return X, y


def draw_model(rng):
    """A model and values of its own parameters, bare, in a pipeline, or a variant of one."""
    name = str(rng.choice([*FAMILY, "variant", "noise robust"]))
    grid = {"C": [0.1, 100.0], "n_hidden": [3, 20, 60]}
    if name == "noise robust":
        return NoiseRobustRVFLClassifier(random_state=0), {"n_hidden": [5, 9]}
    if name == "variant":
        make, more = VARIANTS[rng.integers(len(VARIANTS))], {}
    else:
        make, more = FAMILY[name]
    if rng.random() < 0.3:
        grid["C"] = [1e-3, 1.0, 1.0, 1e4]  # one of them twice
    activation = str(rng.choice(ACTIVATIONS))
    calibrate = bool(rng.random() < 0.4)
    model = make(activation=activation, calibrate=calibrate, random_state=int(rng.integers(5)))
    kept = {key: value[:2] for key, value in {**grid, **more}.items() if rng.random() < 0.6}
    return model, kept or {"C": grid["C"]}


def in_pipeline(rng, model, grid, weighted):
    """Put a model behind other steps, of scikit-learn's pipeline or of imbalanced-learn's."""
    steps = [("scale", StandardScaler()), ("model", model)]
    grid = {f"model__{name}": values for name, values in grid.items()}
    if rng.random() < 0.3 and not weighted:
        imblearn = pytest.importorskip("imblearn.pipeline")
        from imblearn.under_sampling import RandomUnderSampler

        steps.insert(1, ("sample", RandomUnderSampler(random_state=0)))
        return imblearn.Pipeline(steps), grid
    if rng.random() < 0.3:
        steps.insert(1, ("pca", PCA()))
        grid["pca__n_components"] = [1, 2]
    elif rng.random() < 0.3:
        grid["scale"] = [StandardScaler(), MinMaxScaler(), "passthrough"]
    return Pipeline(steps), grid


def draw_scoring(rng, n_classes):
    """One of the ways to score, and how to refit."""
    single = ["accuracy", "balanced_accuracy", make_scorer(g_mean_score), "f1_macro", None]
    single += [make_scorer(matthews_corrcoef), make_scorer(f1_score, average="micro")]
    single += ["neg_log_loss", "neg_log_loss"]
    if n_classes == 2:
        single += ["roc_auc"] * 4 + ["average_precision"] * 3 + ["neg_brier_score"] * 2
        single += [
            make_scorer(roc_auc_score, response_method="decision_function", max_fpr=0.5),
            make_scorer(hinge_loss, response_method="decision_function", greater_is_better=False),
        ]
    refits = [True, False, lambda results: int(np.argmax(results["rank_test_score"]))]
    if rng.random() < 0.7:
        return single[rng.integers(len(single))], refits[rng.integers(3)]
    if rng.random() < 0.2:
        return _right_and_size, "right"
    several = {"a": "accuracy", "g": make_scorer(g_mean_score), "b": "balanced_accuracy"}
    if n_classes == 2:
        several |= {"u": "roc_auc"}
    return several, [False, "g", "b"][rng.integers(3)]


def _right_and_size(estimator, X, y):
    return {"right": (estimator.predict(X) == y).mean(), "rows": len(X)}


def draw_splitter(rng, y):
    """A splitter, and what fit must be given for it."""
    seed = int(rng.integers(100))
    return [
        (2, {}),
        (3, {}),
        (StratifiedKFold(3, shuffle=True, random_state=seed), {}),
        (RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=seed), {}),
        (ShuffleSplit(2, test_size=0.4, random_state=seed), {}),
        (GroupKFold(2), {"groups": rng.integers(0, 5, len(y))}),
        ([(np.arange(len(y) // 2), np.arange(len(y) // 2, len(y)))], {}),
    ][rng.integers(7)]


@pytest.mark.parametrize("round_number", range(ROUNDS))
def test_random_searches_are_those_of_grid_search(round_number):
    for k in range(PER_ROUND):
        compare_one(PER_ROUND * round_number + k)


def compare_one(seed):
    rng = np.random.default_rng([20260815, seed])
    X, y = draw_table(rng)
    model, grid = draw_model(rng)
    scoring, refit = draw_scoring(rng, len(np.unique(y)))
    cv, params = draw_splitter(rng, y)
    weight = rng.integers(0, 3, len(y)) + (rng.random() < 0.5) if rng.random() < 0.3 else None
    behind = rng.random() < 0.35
    is_routed = weight is not None and not behind and rng.random() < 0.4
    if weight is not None:
        params["model__sample_weight" if behind else "sample_weight"] = weight
    if is_routed:
        with config_context(enable_metadata_routing=True):
            model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    if behind:
        model, grid = in_pipeline(rng, model, grid, weight is not None)
    if is_routed and scoring is not None:
        scoring = None  # scorers would have to say whether they want the weights
        refit = refit if callable(refit) else bool(refit)
    with warnings.catch_warnings(), config_context(enable_metadata_routing=bool(is_routed)):
        warnings.simplefilter("ignore")  # folds that miss a class, candidates fitted one by one
        theirs, ours = both(
            model,
            grid,
            X,
            y,
            params=params,
            scoring=scoring,
            refit=refit,
            cv=cv,
            return_train_score=bool(rng.random() < 0.2),
        )
    try:
        continuous = getattr(scoring, "_score_func", None) is hinge_loss
        continuous |= scoring in ("neg_log_loss", "neg_brier_score")
        assert_same(theirs, ours, tolerance=1e-9 if continuous else 0.0)
    except AssertionError as error:
        error.add_note(f"seed {seed}: {model}, {grid}, {scoring}, {cv}, {ours.not_shared_}")
        raise
