"""Searches as users write them, drawn at random, each to be compared with GridSearchCV.

Penalties come in any order, repeated, alone, tiny, huge and infinite; columns on scales from 1e-6
to 1e6, offset by 1e8, doubled, nearly doubled or constant; tables short, long and wide; every
scorer that is shared, several at once; every estimator, also behind scaling, PCA and a
ColumnTransformer; all kinds of splitters.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.metrics import hinge_loss, make_scorer, mean_pinball_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from robell import (
    ComplexRVFLClassifier,
    DeepRVFLClassifier,
    DeepRVFLRegressor,
    ELMClassifier,
    ELMRegressor,
    GranularBallRVFLClassifier,
    HuberRVFLClassifier,
    IntuitionisticFuzzyRVFLClassifier,
    MultiViewRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLGridSearchCV,
    RVFLPlusClassifier,
    RVFLRegressor,
    VarianceRVFLClassifier,
)
from robell.metrics import g_mean_score

CLASSIFIERS: dict[str, tuple[Any, dict[str, list]]] = {
    "rvfl": (RVFLClassifier, {"direct_link": [True, False], "class_weight": [None, "balanced"]}),
    "elm": (ELMClassifier, {"output_bias": [True, False]}),
    "robell": (RoBellRVFLClassifier, {"kernel_width": ["scale", 0.5, 8.0], "rho": [1.0, 0.25]}),
    "nf": (NeuroFuzzyRVFLClassifier, {"n_rules": [3, 2]}),
    "complex": (ComplexRVFLClassifier, {"augmented": [True, False], "encoding": ["pair", "phase"]}),
    "gb": (GranularBallRVFLClassifier, {"purity": [1.0, 0.8]}),
    "gegb": (GranularBallRVFLClassifier, {"graph": ["lda", "lfda"], "graph_weight": [1.0, 0.0]}),
    "if": (IntuitionisticFuzzyRVFLClassifier, {"kernel_width": [2.0, "scale"]}),
    "huber": (HuberRVFLClassifier, {"threshold": [0.5, 0.9]}),
    "deep": (DeepRVFLClassifier, {"n_layers": [3, 1, 2], "combine": ["concat", "mean"]}),
    "variance": (VarianceRVFLClassifier, {"variance_weight": [1.0, 0.01]}),
    "views": (MultiViewRVFLClassifier, {"coupling": [1.0, 0.0]}),
    "plus": (RVFLPlusClassifier, {"privileged_penalty": [1.0, 1e4, 1e-3]}),
}
REGRESSORS: dict[str, tuple[Any, dict[str, list]]] = {
    "rvfl": (RVFLRegressor, {"direct_link": [True, False]}),
    "elm": (ELMRegressor, {}),
    "deep": (DeepRVFLRegressor, {"n_layers": [2, 1], "combine": ["concat", "mean"]}),
}
# Those drawn more often: what most users search.
USUAL = ("rvfl", "robell", "elm")
ACTIVATIONS = ["sigmoid", "relu", "sign", "hardlim", "sin", "radbas", "tribas", "tansig", "selu"]
LABEL_SCORERS = ["accuracy", "balanced_accuracy", "f1_macro", make_scorer(g_mean_score), None]
RANK_SCORERS = ["roc_auc", "average_precision", "f1"]
SMOOTH_SCORERS = ["neg_log_loss", "neg_brier_score"]
HINGE = make_scorer(hinge_loss, response_method="decision_function", greater_is_better=False)
TARGET_SCORERS = [
    "r2",
    "neg_mean_squared_error",
    "neg_root_mean_squared_error",
    "neg_mean_absolute_error",
    "neg_median_absolute_error",
    "max_error",
    "explained_variance",
    make_scorer(mean_pinball_loss, alpha=0.8, greater_is_better=False),
]


class Case(NamedTuple):
    """One search."""

    estimator: Any
    grid: Any
    X: Any
    y: Any
    params: dict[str, Any]  # of fit
    settings: dict[str, Any]  # of the search
    smooth: bool  # whether scores depend on more than labels and order: known within rounding
    kind: str  # of the table


def _pick(rng, values):
    return values[int(rng.integers(len(values)))]


def draw_columns(rng, n, d):
    """Return columns of every kind that users bring, and what was done to them."""
    X = rng.normal(size=(n, d))
    kinds = []
    if rng.random() < 0.3:
        X, kinds = np.round(X, int(rng.integers(0, 2))), ["rounded"]
    for kind in rng.permutation(["scaled", "offset", "doubled", "near", "constant", "twins"]):
        if rng.random() > 0.22:
            continue
        kinds.append(str(kind))
        j, k = rng.integers(0, X.shape[1], 2)
        if kind == "scaled":
            X = X * 10.0 ** rng.integers(-6, 7, X.shape[1])
        elif kind == "offset":
            X[:, j] += _pick(rng, [1e2, 1e5, -1e8])
        elif kind == "doubled":
            X = np.column_stack([X, X[:, j]])
        elif kind == "near":
            X = np.column_stack([X, X[:, j] * (1.0 + 1e-9 * rng.normal(size=n))])
        elif kind == "constant":
            X[:, k] = _pick(rng, [0.0, 3.0, 1e8])
        else:
            X[n // 2 :] = X[: n - n // 2]
    rare = rng.random()
    if rare < 0.03:
        X, kinds = np.tile(X[:1], (n, 1)), ["all rows equal"]
    elif rare < 0.06:
        X, kinds = rng.integers(0, 2, (n, d)).astype(float), ["zeros and ones"]
    return X, kinds


def draw_size(rng):
    """Return rows, columns and the largest number of nodes: short, long, very long or wide."""
    shape = _pick(rng, ["short", "short", "long", "longer", "wide"])
    if shape == "short":
        return shape, int(rng.integers(24, 80)), int(rng.integers(1, 5)), 20
    if shape == "long":
        return shape, int(rng.integers(250, 400)), int(rng.integers(1, 4)), 12
    if shape == "longer":
        return shape, int(rng.integers(700, 1000)), int(rng.integers(1, 3)), 3
    return shape, int(rng.integers(16, 30)), int(rng.integers(2, 40)), 60


def draw_penalties(rng):
    """Return values of C: one to four, in any order, of any size, sometimes repeated."""
    n = int(rng.integers(1, 5))
    C = [float(10.0 ** rng.uniform(-5, 5)) for _ in range(n)]
    if rng.random() < 0.35:
        odd = [1e-300, 1e-30, 1e8, 1e12, 1e30, 1e300, np.inf, 1, np.float32(2.0), 1e5, 1e-5]
        C[int(rng.integers(n))] = _pick(rng, odd)
    if rng.random() < 0.2:
        C.append(C[0])
    if rng.random() < 0.03:
        C.append("loo")
    return C


def _labels(rng, X, n_classes, kinds):
    n = len(X)
    signal = np.zeros(n)
    for column in X.T:
        spread = np.std(column)
        if spread > 1e-12 * np.abs(column).max(initial=0.0):
            signal += (column - column.mean()) / spread
    signal += rng.normal(size=n)
    y = (signal > np.quantile(signal, rng.uniform(0.4, 0.8))).astype(int)
    if n_classes == 3:
        y[signal < np.quantile(signal, 0.2)] = 2
    y[: 5 * n_classes] = np.tile(np.arange(n_classes), 5)  # every class in most folds
    return y, signal


def draw_case(seed, left_out=24):
    """Return the search of a seed; where every row is left out once, there are so many rows."""
    rng = np.random.default_rng([20261118, seed])
    shape, n, d, most = draw_size(rng)
    X, kinds = draw_columns(rng, n, d)
    regression = rng.random() < 0.2
    n_classes = _pick(rng, [2, 2, 2, 3])
    y, signal = _labels(rng, X, n_classes, kinds)
    models = REGRESSORS if regression else CLASSIFIERS
    name = _pick(rng, [*models, *(USUAL if rng.random() < 0.5 else ())])
    name = name if name in models else "rvfl"
    make, own = models[name]
    seedling = int(rng.integers(99))
    nodes = [int(value) for value in rng.permutation([1, most // 2 or 1, most])]
    settings: dict[str, Any] = {"n_hidden": nodes[0], "random_state": seedling}
    activation = _pick(rng, ACTIVATIONS)
    settings["activation"] = activation
    if not regression and rng.random() < 0.5:
        settings["calibrate"] = False
    if name == "gegb":
        settings["graph"] = _pick(rng, own["graph"])
    if name == "views":
        if X.shape[1] < 2:
            X = np.column_stack([X, X[:, :1] ** 2])
        half = X.shape[1] // 2
        settings["views"] = [list(range(half)), list(range(half, X.shape[1]))]
    model = make(**settings)
    grid: dict[str, list] = {"C": draw_penalties(rng)}
    if rng.random() < 0.5 and name != "deep":
        grid["n_hidden"] = nodes[: int(rng.integers(1, 4))]
    for key, values in own.items():
        if rng.random() < 0.4:
            kept = values[: int(rng.integers(1, len(values) + 1))]
            grid[key] = [kept[k] for k in rng.permutation(len(kept))]
    if rng.random() < 0.1:
        grid["activation"] = [activation, _pick(rng, ACTIVATIONS)]
    smooth, scoring, refit = draw_scoring(rng, regression, n_classes, model)
    if regression:
        y = (signal + 0.1 * rng.normal(size=n)) * 10.0 ** rng.integers(-6, 7)
        y = y + _pick(rng, [0.0, 0.0, 1e6])
        if rng.random() < 0.2:
            y = np.column_stack([y, rng.normal(size=n)])
    elif rng.random() < 0.2:
        y = np.array(["bad", "good", "worse"])[y]
        if scoring in ("f1", "average_precision") or isinstance(scoring, dict):
            smooth, scoring, refit = False, "balanced_accuracy", True
    cv, params = draw_splitter(rng, y, regression)
    if isinstance(cv, LeaveOneOut):
        keep = rng.permutation(n)[:left_out]
        X, y = X[keep], y[keep]
        if regression:
            smooth, scoring, refit = True, "neg_mean_squared_error", True
        else:
            smooth, scoring, refit = False, "accuracy", True
    estimator, behind = model, ""
    if name != "views" and rng.random() < 0.25:
        estimator = _behind_steps(rng, model, X)
        behind = estimator.steps[-1][0] + "__"
        grid = {behind + key: values for key, values in grid.items()}
        if "pca" in estimator.named_steps and X.shape[1] > 1:
            grid["pca__n_components"] = [X.shape[1], 1]
    if name == "plus" and rng.random() < 0.8:
        Z = X[:, : 1 + X.shape[1] // 2] + rng.normal(size=(len(X), 1))
        params[behind + "privileged"] = Z * _pick(rng, [1.0, 1e-6, 1e6])
    if rng.random() < 0.15:
        params[behind + "sample_weight"] = rng.integers(0, 4, len(X)).astype(float)
    if rng.random() < 0.1:
        grid = [grid, {behind + "C": [10.0, 0.1]}]
    search = {"scoring": scoring, "refit": refit, "cv": cv}
    search["return_train_score"] = bool(rng.random() < 0.15)
    return Case(estimator, grid, X, y, params, search, smooth, f"{shape} {' '.join(kinds)}")


def draw_scoring(rng, regression, n_classes, model):
    """Return whether a scorer is known within rounding only, the scoring and the refit."""
    if regression:
        if rng.random() < 0.2:
            return True, ["r2", "neg_mean_absolute_error"], "r2"
        return True, _pick(rng, TARGET_SCORERS), bool(rng.random() < 0.5)
    names = list(LABEL_SCORERS)
    if n_classes == 2:
        names += RANK_SCORERS * 2
    if getattr(model, "calibrate", False):
        names += SMOOTH_SCORERS[: 2 if n_classes == 2 else 1] * 3
    if rng.random() < 0.15:
        several = {"a": "accuracy", "b": "balanced_accuracy"}
        if n_classes == 2:
            several |= {"u": "roc_auc", "p": "average_precision"}
        smooth = getattr(model, "calibrate", False)
        if smooth:
            several["l"] = "neg_log_loss"
        return smooth, several, _pick(rng, ["a", "b", False])
    if n_classes == 2 and rng.random() < 0.05:
        return True, HINGE, False
    scoring = _pick(rng, names)
    return scoring in SMOOTH_SCORERS, scoring, bool(rng.random() < 0.3)


def draw_splitter(rng, y, regression):
    """Return a splitter, and what fit must be given for it."""
    n, seed = len(y), int(rng.integers(100))
    kinds: list[tuple[Any, dict[str, Any]]] = [
        (2, {}),
        (3, {}),
        (KFold(2, shuffle=True, random_state=seed), {}),
        (ShuffleSplit(2, test_size=0.3, random_state=seed), {}),
        (GroupKFold(2), {"groups": rng.integers(0, 6, n)}),
        (TimeSeriesSplit(2), {}),
        (PredefinedSplit(rng.integers(-1, 2, n)), {}),
        (LeaveOneOut(), {}),
    ]
    if not regression:
        kinds.append((StratifiedKFold(3, shuffle=True, random_state=seed), {}))
        kinds.append((RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=seed), {}))
    return _pick(rng, kinds)


def _behind_steps(rng, model, X):
    scaler = _pick(rng, [StandardScaler(), MinMaxScaler(), RobustScaler()])
    kind = _pick(rng, ["scaled", "pca", "columns"])
    if kind == "scaled":
        return make_pipeline(scaler, model)
    if kind == "pca":
        return make_pipeline(scaler, PCA(random_state=0), model)
    some = list(range(0, X.shape[1], 2))
    return make_pipeline(ColumnTransformer([("s", scaler, some)], remainder="passthrough"), model)


def run_both(case):
    """Return the search of scikit-learn and ours, each None with its error where it raises."""
    found = []
    for kind in (GridSearchCV, RVFLGridSearchCV):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                search = kind(case.estimator, case.grid, **case.settings)
                found.append((search.fit(case.X, case.y, **case.params), ""))
            except ValueError as error:
                found.append((None, str(error)))
    return found


def differences(case, theirs, ours):
    """Return what differs between two searches beyond the rounding of the metric, in words.

    Scores that depend on labels and order alone are equal to the last bit, but for the last digit
    of sums; others are equal to 1e-9 of the largest one, or of 1 where they have no unit.
    """
    (theirs, their_error), (ours, our_error) = theirs, ours
    if theirs is None or ours is None:
        return [] if (theirs is None) == (ours is None) else [f"{their_error!r}; {our_error!r}"]
    found = []
    for key, expected in theirs.cv_results_.items():
        value = ours.cv_results_[key]
        if "time" in key or key.startswith("param"):
            continue
        if key.startswith("rank_"):
            if not np.array_equal(value, expected):
                found.append(f"{key}: {value.tolist()}, not {expected.tolist()}")
            continue
        size = np.nanmax(np.abs(theirs.cv_results_[key.replace("std_", "mean_")]), initial=0.0)
        if not any(word in key for word in ("squared", "absolute", "max_error")):
            size = max(1.0, size)  # numbers without a unit
        gap = np.abs(value - expected)
        gap[np.isnan(value) & np.isnan(expected)] = 0.0
        gap[value == expected] = 0.0
        if not (gap <= (1e-9 * size if case.smooth else 2e-15)).all():
            found.append(f"{key}: {value.tolist()}, not {expected.tolist()}")
    if getattr(theirs, "best_index_", 0) != getattr(ours, "best_index_", 0):
        found.append(f"chose {ours.best_index_}, not {theirs.best_index_}")
    return found
