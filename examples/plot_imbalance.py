"""
The rarer the class, the more it is forgotten
=============================================

Two overlapping clouds. One of them shrinks from half of the rows to one in a hundred. A plain
network forgets it long before that, and its accuracy only looks better and better.
"""

import matplotlib.pyplot as plt
import numpy as np

from robell import NoiseRobustRVFLClassifier, RoBellRVFLClassifier, RVFLClassifier

SHARES = [0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01]
MODELS = {
    "RVFL": ("#3b6ea5", lambda seed: RVFLClassifier(random_state=seed)),
    "RVFL, balanced": (
        "#2a9d8f",
        lambda seed: RVFLClassifier(class_weight="balanced", random_state=seed),
    ),
    "RoBell": ("#c98a1b", lambda seed: RoBellRVFLClassifier(random_state=seed)),
    "NoiseRobustRVFL": ("#d1495b", lambda seed: NoiseRobustRVFLClassifier(random_state=seed)),
}


def two_clouds(rng, n, share):
    """Return n rows of two overlapping clouds, a share of them of class 1."""
    y = (np.arange(n) < max(8, round(share * n))).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, :2] += 1.4 * y[:, None]
    X[y == 1, 2] *= 0.5
    return X, y


# %%
# 800 training rows, means over three tables; each class is tested on 2,000 rows.

recall, accuracy = ({name: [] for name in MODELS} for _ in range(2))
for share in SHARES:
    for name, (_, make) in MODELS.items():
        found, right = [], []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            X, y = two_clouds(rng, 800, share)
            X_test, y_test = two_clouds(rng, 4000, 0.5)
            predicted = make(seed).fit(X, y).predict(X_test)
            hit = predicted == y_test
            found.append(hit[y_test == 1].mean())
            right.append(share * hit[y_test == 1].mean() + (1 - share) * hit[y_test == 0].mean())
        recall[name].append(np.mean(found))
        accuracy[name].append(np.mean(right))

# %%
# Left: the share of the rare class that is found. Right: accuracy, which rewards forgetting it.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharex=True)
for axis, values, title in (
    (axes[0], recall, "Rare rows found"),
    (axes[1], accuracy, "Accuracy"),
):
    for name, (colour, _) in MODELS.items():
        axis.plot(SHARES, values[name], color=colour, marker="o", markersize=4, label=name)
    axis.set(xscale="log", xlim=(0.6, 0.009), ylim=(0, 1.02), xlabel="share of the rare class")
    axis.set_xticks(SHARES, [f"{s:.0%}" for s in SHARES])
    axis.minorticks_off()
    axis.set_title(title, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False, fontsize=9, loc="lower left")
plt.show()
