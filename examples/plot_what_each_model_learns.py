"""
What each model learns from the same table
==========================================

Two interleaved half moons, nine to one, with one label in twenty wrong. Each panel is one model:
the paper's eight, their relatives, and the one made for wrong labels. The shaded side is where the
minority is predicted.

The granular-ball models also show the balls they were fitted to. Rows that a model weighs less are
fainter; crosses are rows it does not count at all.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import EllipseCollection
from sklearn.datasets import make_moons
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler

from robell import (
    ComplexRVFLClassifier,
    DeepRVFLClassifier,
    ELMClassifier,
    GranularBallRVFLClassifier,
    HuberRVFLClassifier,
    IntuitionisticFuzzyRVFLClassifier,
    KernelRVFLPlusClassifier,
    MultiViewRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLPlusClassifier,
    VarianceRVFLClassifier,
)

MAJORITY, MINORITY = "#3b6ea5", "#d1495b"
COMMON = {"C": 100.0, "output_bias": True, "random_state": 0}
IF_CIL = {"score_power": 1, "class_weight": "ratio", "graph": "lda"}
PRIVILEGED = "RVFL+"  # is also told which labels are wrong, and how: of the training rows only
MODELS = {
    "RVFL": RVFLClassifier(**COMMON),
    "RVFLwoDL (ELM)": ELMClassifier(**COMMON),
    "NF-RVFL": NeuroFuzzyRVFLClassifier(**COMMON),
    "C-RVFL": ComplexRVFLClassifier(**COMMON),
    "AC-RVFL": ComplexRVFLClassifier(augmented=True, **COMMON),
    "GB-RVFL": GranularBallRVFLClassifier(**COMMON),
    "GE-GB-RVFL": GranularBallRVFLClassifier(graph="lfda", **COMMON),
    "RoBell-RVFL": RoBellRVFLClassifier(**COMMON),
    "IFRVFL": IntuitionisticFuzzyRVFLClassifier(**COMMON),
    "GE-IFRVFL-CIL": IntuitionisticFuzzyRVFLClassifier(**COMMON, **IF_CIL),
    "R2VFL, balanced": HuberRVFLClassifier(**COMMON, class_weight="balanced"),
    "Class-Var-RVFL": VarianceRVFLClassifier(variance_weight=100.0, **COMMON),
    "Total-Var-RVFL": VarianceRVFLClassifier(variance="total", variance_weight=100.0, **COMMON),
    PRIVILEGED: RVFLPlusClassifier(privileged_penalty="loo", **COMMON),
    "KRVFL+, no privileged": KernelRVFLPlusClassifier(C=100.0),
    "MvRVFL, a view a column": MultiViewRVFLClassifier(views=[[0], [1]], **COMMON),
    "edRVFL": DeepRVFLClassifier(**COMMON),
    "NoiseRobustRVFL": NoiseRobustRVFLClassifier(random_state=0),
}


def make_data(rng):
    """Make two moons of 450 and 50 rows, scaled, and wrong labels for one row in twenty."""
    X, y = make_moons((450, 50), noise=0.22, random_state=int(rng.integers(1000)))
    X = StandardScaler().fit_transform(X)
    noisy = y.copy()
    wrong = rng.choice(len(y), len(y) // 20, replace=False)
    noisy[wrong] = 1 - noisy[wrong]
    return X, y, noisy


def draw_balls(axis, balls):
    used = balls["used"]
    diameter = 2 * balls["radius"][used]
    colors = np.where(balls["label"][used] == 1, MINORITY, MAJORITY)
    axis.add_collection(
        EllipseCollection(
            diameter,
            diameter,
            np.zeros_like(diameter),
            units="xy",
            offsets=balls["center"][used],
            offset_transform=axis.transData,
            facecolors="none",
            edgecolors=colors,
            linewidths=1.0,
        )
    )
    axis.scatter(*balls["center"][used].T, c=colors, s=14, marker="x", linewidths=1.0)


def draw_rows(axis, model, X, given):
    """Draw the rows, fainter the less they weigh; a cross for those of weight zero."""
    weight = getattr(model, "score_", getattr(model, "membership_", np.ones(len(X))))
    faint = 0.25 if hasattr(model, "balls_") else 0.8
    for label, color, marker in ((0, MAJORITY, "o"), (1, MINORITY, "^")):
        rows, erased = (given == label) & (weight > 0), (given == label) & (weight == 0)
        opaque = np.clip(faint * (0.15 + 0.85 * weight[rows]), 0, 1)
        axis.scatter(
            *X[rows].T, s=8 + 8 * label, c=color, marker=marker, alpha=opaque, linewidths=0
        )
        axis.scatter(*X[erased].T, s=12, c=color, marker="x", linewidths=0.6)


def draw(axis, name, model, X, truth, given):
    told = {"privileged": (given - truth)[:, None]} if name == PRIVILEGED else {}
    model.fit(X, given, **told)
    (left, bottom), (right, top) = X.min(axis=0) - 0.25, X.max(axis=0) + 0.25
    grid = np.meshgrid(np.linspace(left, right, 220), np.linspace(bottom, top, 220))
    scores = model.decision_function(np.column_stack([g.ravel() for g in grid]))
    scores = scores.reshape(grid[0].shape)
    regions = {"levels": [-np.inf, 0, np.inf], "colors": [MAJORITY, MINORITY], "alpha": 0.14}
    axis.contourf(*grid, scores, **regions)
    axis.contour(*grid, scores, levels=[0], colors="#333333", linewidths=1.2)
    draw_rows(axis, model, X, given)
    if hasattr(model, "balls_"):
        draw_balls(axis, model.balls_)
    accuracy = balanced_accuracy_score(truth, model.predict(X))
    axis.set_title(f"{name}   {accuracy:.2f}", fontsize=10, loc="left")
    axis.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
    return accuracy


# %%
# All models are fitted to the noisy labels; the number in a title is the balanced accuracy against
# the true ones.

X, truth, given = make_data(np.random.default_rng(1))
figure, axes = plt.subplots(3, 6, figsize=(18, 9.4), layout="constrained")
for axis, (name, model) in zip(axes.flat, MODELS.items(), strict=True):
    print(f"{name:26}{draw(axis, name, model, X, truth, given):.3f}")
figure.suptitle(
    "450 rows of one class (blue), 50 of the other (red), one label in twenty wrong; "
    "balanced accuracy against the true labels",
    fontsize=12,
)
plt.show()
