"""
Pictures in one line each
=========================

:mod:`robell.plots` has displays in the manner of scikit-learn's: ``from_estimator`` or
``from_predictions`` computes and draws, ``ax=`` says where, ``ax_`` and ``figure_`` are there to
change what was drawn. They need the extra ``plot``.

Breast cancer, one label in eight wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import (
    ELMClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    find_label_issues,
)
from robell.noise import flip_uniformly
from robell.plots import (
    BudgetCurveDisplay,
    CriticalDifferenceDisplay,
    LabelQualityDisplay,
    LeftOutCalibrationDisplay,
    MembershipDisplay,
    NoiseCurveDisplay,
    NoiseMatrixDisplay,
    SuspectMapDisplay,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
truth = np.array(["malignant", "benign"])[y]
given, wrong = flip_uniformly(truth, 0.12, random_state=0)
issues = find_label_issues(X, given, random_state=0)

# %%
# For the last display, the score of four models on ten questions: is it this digit, or another?
# (They share their rows, so the test is not to be believed; a study has tables of its own.)

pixels, digit = load_digits(return_X_y=True)
models = [
    RVFLClassifier(class_weight="balanced", random_state=0),
    ELMClassifier(class_weight="balanced", random_state=0),
    RoBellRVFLClassifier(kernel_width="scale", random_state=0),
    NoiseRobustRVFLClassifier(random_state=0),
]
digit_scores = pd.DataFrame(
    {
        type(model).__name__.removesuffix("Classifier"): [
            cross_val_score(
                make_pipeline(StandardScaler(), model),
                pixels[:300],
                digit[:300] == k,
                scoring="balanced_accuracy",
                cv=2,
            ).mean()
            for k in range(10)
        ]
        for model in models
    }
)

# %%
# Four displays take what :func:`robell.find_label_issues` returns: how sure each label is, where
# suspects stand, what is taken for what, and how many of the first rows of the list are wrong.
# Two take models: memberships of a fitted one, and scores of several as more labels are wrong.
# Of the last two, one shows whether probabilities of rows left out are frequencies, the other
# compares models over data sets.

figure, axes = plt.subplots(4, 2, figsize=(12, 17), layout="constrained")
LabelQualityDisplay.from_issues(issues, given, ax=axes[0, 0])
SuspectMapDisplay.from_issues(issues, given, X=X, ax=axes[0, 1])
NoiseMatrixDisplay.from_issues(issues, given, ax=axes[1, 0])
BudgetCurveDisplay.from_issues(issues, given, is_wrong=wrong, ax=axes[1, 1])

robust = NoiseRobustRVFLClassifier(random_state=0)
robell = make_pipeline(StandardScaler(), RoBellRVFLClassifier(kernel_width="scale", random_state=0))
MembershipDisplay.from_estimator(
    robell.fit(X, truth), X, truth, columns=["mean radius", "mean texture"], ax=axes[2, 0]
)
curve = NoiseCurveDisplay.from_estimator(
    {"NoiseRobustRVFL": robust, "RoBell as printed": robell},
    X,
    y,
    n_splits=3,
    random_state=0,
    ax=axes[2, 1],
)
LeftOutCalibrationDisplay.from_estimator(robust, X, truth, random_state=0, ax=axes[3, 0])
CriticalDifferenceDisplay.from_scores(digit_scores, ax=axes[3, 1])
plt.show()

# %%
# A display keeps its numbers.

for name, scores in curve.scores.items():
    means = ", ".join(f"{mean:.2f}" for mean in scores.mean(axis=1))
    print(f"{name}: {means}")
