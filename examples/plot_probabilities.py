"""
Probabilities one can read
==========================

Of the rows given a probability of 0.3, three in ten should be of the class. With one training
label in five wrong, most models say something else: the rare class seems far more frequent than it
is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from robell import NoiseRobustRVFLClassifier
from robell.metrics import expected_calibration_error
from robell.noise import flip_uniformly

X, y = make_classification(
    9000, 10, n_informative=5, weights=[0.85], class_sep=0.9, flip_y=0, random_state=5
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.75, stratify=y, random_state=0)
noisy, _ = flip_uniformly(y, 0.2, random_state=0)

MODELS = {
    "NoiseRobustRVFL": ("#d1495b", NoiseRobustRVFLClassifier(random_state=0)),
    "logistic": ("#3b6ea5", LogisticRegression(max_iter=1000)),
    "forest": ("#2a9d8f", RandomForestClassifier(100, random_state=0)),
    "logistic, balanced": (
        "#c98a1b",
        LogisticRegression(max_iter=1000, class_weight="balanced"),
    ),
}

# %%
# Test rows in ten groups of equal size by their probability; on the diagonal, probabilities come
# true. Below: how often each probability is given.

figure, axes = plt.subplots(
    2, 1, figsize=(7, 7), layout="constrained", sharex=True, height_ratios=[3, 1]
)
axes[0].plot([0, 1], [0, 1], color="#999999", linestyle=":")
for name, (colour, model) in MODELS.items():
    probability = model.fit(X, noisy).predict_proba(X_test)[:, 1]
    groups = np.array_split(np.argsort(probability), 10)
    said = [probability[g].mean() for g in groups]
    came = [y_test[g].mean() for g in groups]
    error = expected_calibration_error(y_test, probability)
    axes[0].plot(said, came, "o-", color=colour, markersize=5, label=f"{name}: off by {error:.2f}")
    axes[1].hist(probability, np.linspace(0, 1, 41), histtype="step", color=colour, linewidth=1.4)
axes[0].legend(frameon=False, title="expected calibration error")
axes[0].set(ylabel="share that is of the class", aspect="equal", xlim=(0, 1), ylim=(0, 1))
axes[1].set(xlabel="probability given", ylabel="rows", yscale="log")
for axis in axes:
    axis.spines[["top", "right"]].set_visible(False)
plt.show()
