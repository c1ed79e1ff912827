"""
How much noise can a model take?
================================

Breast cancer, one malignant case in four kept, and from none to 40 % of the training labels made
wrong. Test labels are right. Nothing is tuned: with wrong labels there is nothing to tune on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import NoiseRobustRVFLClassifier, RoBellRVFLClassifier
from robell.plots import NoiseCurveDisplay

X, y = load_breast_cancer(return_X_y=True)
y = 1 - y  # 1: malignant
keep = (y == 0) | (np.arange(len(y)) % 4 == 0)
X, y = X[keep], y[keep]

MODELS = {
    "NoiseRobustRVFL": NoiseRobustRVFLClassifier(random_state=0),
    "forest": RandomForestClassifier(60, random_state=0),
    "logistic, balanced": make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000, class_weight="balanced")
    ),
    "RoBell as printed": make_pipeline(StandardScaler(), RoBellRVFLClassifier(random_state=0)),
}

# %%
# Three splits at each level. Bands are standard errors over the splits.

figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
NoiseCurveDisplay.from_estimator(MODELS, X, y, n_splits=3, test_size=0.25, random_state=0, ax=axis)
axis.axhline(0.5, color="#777777", linestyle=":", linewidth=1)
axis.annotate("guessing", (0, 0.505), color="#555555", fontsize=9)
plt.show()

# %%
# One table is an anecdote. The study of 25 tables, 15 peers, and where this model does not lead, is
# the page on robustness under Benchmarks.
