"""
RoBell trusts the minority, right or wrong
==========================================

RoBell weighs every training row by how typical it is of its class, its *membership*. Rows of the
smallest class always weigh 1. That helps while labels are right. When one label in ten is wrong, a
mislabelled majority row becomes a minority row of full weight, and the border gives way.

A 2-D table of two classes, nine to one. The colour of a round dot is its membership; the line is
where the decision changes.
"""

import matplotlib.pyplot as plt
import numpy as np

from robell import RoBellRVFLClassifier

MAJORITY, MINORITY = "#3b6ea5", "#d1495b"


def make_data(rng):
    """Make a crescent of majority rows around a cluster of minority rows, and noisy labels."""
    angle = rng.uniform(-0.2, np.pi + 0.2, 360)
    radius = rng.normal(2.0, 0.45, 360)
    majority = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    minority = rng.normal([0.0, 0.35], [0.45, 0.4], (40, 2))
    X = np.vstack([majority, minority])
    y = np.repeat([0, 1], [360, 40])
    wrong = rng.choice(len(y), len(y) // 10, replace=False)
    noisy = y.copy()
    noisy[wrong] = 1 - noisy[wrong]
    return X, y, noisy


def draw(axis, X, y, title):
    model = RoBellRVFLClassifier(kernel_width=1.0, C=10.0, random_state=0).fit(X, y)
    axis.set_title(title, fontsize=11, loc="left")
    grid = np.meshgrid(np.linspace(-3.6, 3.6, 300), np.linspace(-1.8, 3.8, 240))
    scores = model.decision_function(np.column_stack([g.ravel() for g in grid]))
    axis.contourf(
        *grid,
        scores.reshape(grid[0].shape),
        levels=[-np.inf, 0, np.inf],
        colors=[MAJORITY, MINORITY],
        alpha=0.10,
    )
    axis.contour(*grid, scores.reshape(grid[0].shape), levels=[0], colors="#444444", linewidths=1.2)
    majority = y == 0
    shown = axis.scatter(
        *X[majority].T,
        c=model.membership_[majority],
        s=22,
        cmap="viridis",
        vmin=0.15,
        vmax=0.65,
        linewidths=0,
    )
    axis.scatter(*X[~majority].T, c=MINORITY, s=34, marker="^", edgecolor="white", linewidth=0.5)
    axis.set(xlim=(-3.6, 3.6), ylim=(-1.8, 3.8), aspect="equal", xticks=[], yticks=[])
    return shown, model


# %%
# On the left all labels are right. On the right one in ten is wrong (circled): the red region,
# where the minority is predicted, has grown over the majority.

X, y, noisy = make_data(np.random.default_rng(3))
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
_, clean = draw(axes[0], X, y, "Labels right")
shown, model = draw(axes[1], X, noisy, "One label in ten wrong")
axes[1].scatter(
    *X[noisy != y].T, s=90, facecolor="none", edgecolor="black", linewidth=0.8, label="wrong label"
)
axes[1].plot([], [], "^", color=MINORITY, label="labelled minority: always 1")
axes[1].legend(loc="lower right", fontsize=9, framealpha=0.9)
figure.colorbar(shown, ax=axes, label="membership of a row labelled majority", shrink=0.85)
plt.show()

# %%
# The same in numbers.

print("mean membership by label given, with one label in ten wrong:")
for label, name in ((0, "majority"), (1, "minority")):
    for right, word in ((True, "right"), (False, "wrong")):
        rows = (noisy == label) & ((noisy == y) == right)
        print(f"  {name}, {word:5} {rows.sum():4} rows  {model.membership_[rows].mean():.2f}")
for name, fitted in (("right labels", clean), ("noisy labels", model)):
    caught = fitted.predict(X)[y == 1].mean()
    false = fitted.predict(X)[y == 0].mean()
    print(f"fitted to {name}: finds {caught:.0%} of the minority, {false:.0%} false alarms")

# %%
# Where labels may be wrong, use :class:`robell.NoiseRobustRVFLClassifier` instead.
