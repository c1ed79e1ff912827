"""
Wrong labels of images
======================

Pictures need columns too: what a trained network says before its last layer, or, as here, plain
descriptors of scikit-learn's digits. The labels are then judged by any classifier on them, and the
pictures that look least like their label come first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from robell import find_label_issues
from robell.noise import flip_labels

digits = load_digits()
images, truth = digits.images[:1200] / 16.0, digits.target[:1200]
given, wrong = flip_labels(truth, 0.1, random_state=0)

# %%
# Descriptors: how much ink is in each of sixteen squares, and which way its edges run there.


def descriptors(images):
    """Return ink, and strength of edges in four directions, of each square of 2 x 2 pixels."""
    down, across = np.gradient(images, axis=(1, 2))
    strength, angle = np.hypot(down, across), np.arctan2(down, across) % np.pi
    way = np.minimum((4 * angle / np.pi).astype(int), 3)
    maps = [images, *(strength * (way == k) for k in range(4))]
    squares = [m.reshape(len(m), 4, 2, 4, 2).sum(axis=(2, 4)).reshape(len(m), -1) for m in maps]
    return np.hstack(squares)


X = descriptors(images)
forest = RandomForestClassifier(100, random_state=0)
issues = find_label_issues(X, given, estimator=forest, random_state=0)
found = wrong[issues.index]
print(f"{len(issues)} suspects, {found.mean():.0%} of them wrong; {wrong.sum()} wrong in all")

# %%
# The fifteen pictures that are least likely to be what their label says.

fig, axes = plt.subplots(3, 5, figsize=(7, 5), layout="constrained")
for ax, row, guess in zip(axes.flat, issues.index, issues.suggested_label, strict=False):
    ax.imshow(images[row], cmap="gray_r")
    ax.set_title(f"label {given[row]}, rather {guess}", fontsize=9)
    ax.axis("off")
fig.suptitle("Digits with the least likely labels")
plt.show()
