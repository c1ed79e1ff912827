"""
Five annotators, one of them asleep
===================================

Five people label wine, each about half of the bottles. Two are good, two are so-so, one guesses.
:func:`robell.find_consensus` estimates how good each is and what each bottle really is, from their
labels and the columns of the table. Nobody tells it the truth.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from robell import find_consensus

X, truth = load_wine(return_X_y=True)
NAMES = ["Ada", "Ben", "Cleo", "Dov", "Eva"]
SKILL = np.array([0.92, 0.85, 0.65, 0.6, 0.34])

rng = np.random.default_rng(1)
right = rng.random((len(X), 5)) < SKILL
labels = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, right.shape)) % 3)
labels = labels.astype(float)
labels[rng.random(labels.shape) < 0.5] = np.nan  # not asked
asked = ~np.isnan(labels).all(axis=1)  # a few bottles nobody saw
answers = pd.DataFrame(labels[asked], columns=NAMES)
found = find_consensus(answers, X[asked], random_state=0)
print(found)

# %%
# Majority vote, for comparison; ties go to the first class.

votes = np.stack([(labels[asked] == c).sum(axis=1) for c in range(3)], axis=1)
majority = votes.argmax(axis=1)
print(f"majority is right for {np.mean(majority == truth[asked]):.0%} of the bottles")
print(f"consensus is right for {np.mean(found.label == truth[asked]):.0%}")

# %%
# On the left: estimated and true skill. On the right: how sure the consensus is of each bottle, and
# where it is wrong.

given = ~np.isnan(labels[asked])
true_skill = [np.mean(labels[asked][given[:, j], j] == truth[asked][given[:, j]]) for j in range(5)]
figure, (left, middle) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
place = np.arange(5)
left.bar(place - 0.2, true_skill, 0.38, color="#9aa7b5", label="true")
left.bar(place + 0.2, found.annotator_quality, 0.38, color="#d1495b", label="estimated")
left.axhline(1 / 3, color="#555555", linestyle=":", linewidth=1)
left.set(xticks=place, xticklabels=NAMES, ylim=(0, 1), ylabel="share of right labels")
left.legend(frameon=False)

order = np.argsort(found.quality)
wrong = found.label[order] != truth[asked][order]
middle.scatter(np.flatnonzero(~wrong), found.quality[order][~wrong], s=14, c="#3b6ea5")
middle.scatter(np.flatnonzero(wrong), found.quality[order][wrong], s=60, c="#d1495b", marker="x")
middle.set(xlabel="bottles, the least certain first", ylabel="quality of the consensus")
middle.annotate(f"{wrong.sum()} wrong", (0.05, 0.9), xycoords="axes fraction", color="#d1495b")
for axis in (left, middle):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Whom to ask next about which bottle, so that the answer says most:

row, annotator, gain = found.next_labels(5)
for r, a in zip(row, annotator, strict=True):
    print(f"bottle {r}: ask {a}")
