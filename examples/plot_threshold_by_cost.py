"""
A threshold that comes from costs
=================================

A missed case costs more than a false alarm. How much more decides where to cut, and 0.5 is hardly
ever the place. The curves below are what every threshold would cost on unseen rows; the dots are
where ``choose_threshold`` cuts, without having seen those rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from robell import NoiseRobustRVFLClassifier
from robell.noise import flip_uniformly

X, y = make_classification(
    6000, 12, n_informative=6, weights=[0.88], class_sep=0.8, flip_y=0, random_state=3
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.6, stratify=y, random_state=0)
noisy, _ = flip_uniformly(y, 0.1, random_state=0)  # and one training label in ten is wrong
model = NoiseRobustRVFLClassifier(random_state=0).fit(X, noisy)
probability = model.predict_proba(X_test)[:, 1]


def cost_of(threshold, cost_fn):
    """Return what a threshold costs per 1,000 unseen rows; a false alarm costs 1."""
    flagged = probability >= threshold
    return 1000 * np.mean(np.where(y_test == 1, cost_fn * ~flagged, flagged))


# %%
# One curve for each price of a missed case.

figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
cuts = np.linspace(0.005, 0.995, 250)
for cost_fn, colour in ((1, "#2a9d8f"), (3, "#3b6ea5"), (10, "#c98a1b"), (30, "#d1495b")):
    costs = [cost_of(cut, cost_fn) for cut in cuts]
    model.choose_threshold(cost_fn=cost_fn, cost_fp=1)
    chosen = cost_of(model.threshold_, cost_fn)
    axis.plot(cuts, costs, color=colour, linewidth=2)
    axis.plot(model.threshold_, chosen, "o", color=colour, markersize=9, markeredgecolor="white")
    axis.annotate(f"a miss costs {cost_fn}", (1.0, costs[-1]), color=colour, va="center")
    best, half = min(costs), cost_of(0.5, cost_fn)
    print(f"a miss costs {cost_fn:2}: cut at {model.threshold_:.3f}, cost {chosen:6.0f}", end="")
    print(f" (best possible {best:.0f}, at 0.5 {half:.0f})")
axis.axvline(0.5, color="#999999", linestyle=":")
axis.set(xlim=(0, 1.18), yscale="log", xlabel="threshold", ylabel="cost per 1,000 rows")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
