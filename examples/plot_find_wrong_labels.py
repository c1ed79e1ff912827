"""
Which labels are wrong?
=======================

Two half moons, one label in eight wrong. :func:`robell.find_label_issues` is given the columns and
the noisy labels, and nothing else. It names rows whose label another class explains better:
*suspects*.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from robell import find_label_issues
from robell.noise import flip_uniformly

X, truth = make_moons((420, 180), noise=0.2, random_state=2)
given, wrong = flip_uniformly(truth, 0.12, random_state=0)
issues = find_label_issues(X, given, random_state=0)
suspect = np.zeros(len(X), bool)
suspect[issues.index] = True
print(issues)

# %%
# Dots are coloured by the label they carry. A ring is a suspect: black where the label really is
# wrong, orange where it is right after all. A cross is a wrong label that was not found.

COLOURS = np.array(["#3b6ea5", "#d1495b"])
figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharex=True, sharey=True)
axes[0].scatter(*X.T, c=COLOURS[given], s=16, linewidths=0)
axes[0].set_title("What you are given", loc="left")
axes[1].scatter(*X.T, c=COLOURS[given], s=16, linewidths=0, alpha=0.45)
ring = {"facecolor": "none", "s": 80, "linewidth": 1.3}
axes[1].scatter(*X[suspect & wrong].T, edgecolor="black", label="suspect, really wrong", **ring)
axes[1].scatter(*X[suspect & ~wrong].T, edgecolor="#e07b00", label="suspect, but right", **ring)
axes[1].scatter(*X[wrong & ~suspect].T, c="black", marker="x", s=36, label="wrong, not found")
axes[1].set_title("What is found", loc="left")
axes[1].legend(loc="lower left", fontsize=9, framealpha=0.95)
for axis in axes:
    axis.set(xticks=[], yticks=[])
plt.show()

# %%
# Wrong labels deep inside the other class are all found. Those near the border between the classes
# cannot be told from unusual rows, by any method.

found = (suspect & wrong).sum()
print(f"{found} of the {suspect.sum()} suspects are wrong; {found} of {wrong.sum()} are found")
