"""
When the test labels are wrong, too
===================================

Score a model on rows of which 15 % carry a wrong label, and the score is too low; the better the
model, the more so. If it is known how often labels go wrong,
:func:`robell.metrics.corrected_scores` gives the accuracy that right labels would have shown, with
an interval.
"""

import matplotlib.pyplot as plt
import numpy as np

from robell.metrics import corrected_scores

NOISE = np.array([[0.95, 0.05], [0.25, 0.75]])  # a quarter of class 1 is labelled 0
rng = np.random.default_rng(0)
truth = (rng.random(1500) < 0.4).astype(int)
given = np.where(rng.random(1500) < np.where(truth == 1, 0.25, 0.05), 1 - truth, truth)

# %%
# Twelve models, from poor to perfect: each is right for a share of the rows of both classes.

skill = np.linspace(0.55, 1.0, 12)
naive, corrected, low, high = [], [], [], []
for s in skill:
    predicted = np.where(rng.random(1500) < s, truth, 1 - truth)
    scores = corrected_scores(given, predicted, NOISE, random_state=0)
    naive.append(np.mean(predicted == given))
    corrected.append(scores.accuracy)
    low.append(scores.accuracy_interval[0])
    high.append(scores.accuracy_interval[1])

# %%
# The grey dots are what one would report. The red ones are corrected, with 95 % intervals; they
# stand on the diagonal.

figure, axis = plt.subplots(figsize=(7, 5.6), layout="constrained")
axis.plot([0.5, 1], [0.5, 1], color="#999999", linestyle=":")
spread = [np.subtract(corrected, low), np.subtract(high, corrected)]
axis.errorbar(skill, corrected, spread, fmt="o", color="#d1495b", capsize=3, label="corrected")
axis.plot(skill, naive, "o", color="#6b7785", label="by the labels as given")
axis.set(xlabel="true accuracy", ylabel="accuracy reported", xlim=(0.52, 1.03), ylim=(0.5, 1.03))
axis.legend(frameon=False, loc="upper left")
axis.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
print(f"a perfect model: {naive[-1]:.2f} by the given labels, {corrected[-1]:.2f} corrected")
