"""
Rows that come in parts
=======================

``partial_fit`` takes rows as they come, a batch at a time, and forgets them. At any moment the
model is the one that ``fit`` would make of all rows so far: a ridge regression needs only sums of
its rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from robell import RVFLClassifier

X, y = make_circles(3000, noise=0.18, factor=0.45, random_state=0)
X, y = 1.6 * X, y.astype(int)
SNAPSHOTS = [20, 60, 250, 3000]

stream = RVFLClassifier(100, C=100.0, class_weight="balanced", random_state=0)
across, along = np.meshgrid(np.linspace(-2.6, 2.6, 160), np.linspace(-2.6, 2.6, 160))
points = np.column_stack([across.ravel(), along.ravel()])

# %%
# Four looks at one stream. Colours are probabilities.

figure, axes = plt.subplots(1, 4, figsize=(13, 3.7), layout="constrained")
seen = 0
for axis, stop in zip(axes, SNAPSHOTS, strict=True):
    for start in range(seen, stop, 10):
        batch = slice(start, start + 10)
        stream.partial_fit(X[batch], y[batch], classes=[0, 1])
    seen = stop
    chance = stream.predict_proba(points)[:, 1].reshape(across.shape)
    axis.contourf(across, along, chance, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
    axis.contour(across, along, chance, levels=[0.5], colors="#222222", linewidths=1.3)
    shown = slice(max(0, stop - 400), stop)
    axis.scatter(*X[shown].T, c=np.array(["#3b6ea5", "#d1495b"])[y[shown]], s=6, linewidths=0)
    axis.set(xticks=[], yticks=[], xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal")
    axis.set_title(f"{stop:,} rows", loc="left")

    whole = RVFLClassifier(100, C=100.0, class_weight="balanced", random_state=0)
    whole.fit(X[:stop], y[:stop])
    difference = np.abs(stream.coef_ - whole.coef_).max() / np.abs(whole.coef_).max()
    print(f"{stop:5} rows: largest relative difference from one fit of all rows {difference:.0e}")
plt.show()
