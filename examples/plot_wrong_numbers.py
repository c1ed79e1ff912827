"""
Which numbers are wrong?
========================

Prices of flats, typed by hand: in some a decimal point has slipped, some stand in the line of
another flat. :func:`robell.find_target_issues` predicts every price by models that have not seen
the row, estimates how far right prices usually are from that, and names those that are more
probably wrong than right, each with what it expects instead and a range.
"""

import matplotlib.pyplot as plt
import numpy as np

from robell import find_target_issues

rng = np.random.default_rng(3)
n = 400
size = rng.uniform(25, 160, n)
year = rng.integers(1900, 2024, n)
old_town = rng.random(n) < 0.25
truth = 3000 * size * (1 + 0.5 * old_town) * (1 + 0.003 * (year - 1960))
truth *= np.exp(rng.normal(0, 0.1, n))  # flats differ in more than these columns

given = truth.copy()
slipped, swapped = rng.choice(n, 24, replace=False).reshape(2, 12)
given[slipped] *= rng.choice([0.1, 10], 12)
given[swapped] = truth[np.roll(swapped, 1)]
wrong = given != truth

X = np.column_stack([size, year, old_town])
issues = find_target_issues(X, given, random_state=0)
print(issues)

# %%
# Errors of prices grow with the price. That was found out as well: the ranges are wider for large
# flats, and the same mistake of 50,000 stands out among small ones only.

suspect = np.zeros(n, bool)
suspect[issues.index] = True
inside = (issues.interval[:, 0] <= truth) & (truth <= issues.interval[:, 1])
print(
    f"{(suspect & wrong).sum()} of the {suspect.sum()} suspects are wrong, of {wrong.sum()} in all"
)
print(f"estimated share of wrong prices: {issues.noise_rate:.1%}, really {wrong.mean():.1%}")
print(f"the ranges of 90 % hold {inside.mean():.1%} of the right prices")

# %%
# A dot on the line is a price as predicted. Black rings are suspects that really are wrong, orange
# ones suspects that are right after all, crosses wrong prices that were not found: most of those
# were swapped with the price of a similar flat, and nothing in the table gives them away.

figure, axis = plt.subplots(figsize=(9, 6), layout="constrained")
axis.scatter(given, issues.predicted, s=14, c="#3b6ea5", alpha=0.5, linewidths=0)
ring = {"facecolor": "none", "s": 80, "linewidth": 1.3}
for rows, colour, name in (
    (suspect & wrong, "black", "suspect, really wrong"),
    (suspect & ~wrong, "#e07b00", "suspect, but right"),
):
    axis.scatter(given[rows], issues.predicted[rows], edgecolor=colour, label=name, **ring)
missed = wrong & ~suspect
axis.scatter(given[missed], issues.predicted[missed], c="black", marker="x", label="wrong, missed")
low, high = issues.interval[suspect].T
axis.vlines(given[suspect], low, high, color="#999999", linewidth=1, zorder=0)
ends = np.array([truth.min(), truth.max()])
axis.plot(ends, ends, color="#444444", linewidth=1)
axis.set(xscale="log", yscale="log", xlabel="price as given", ylabel="price as predicted")
axis.legend(frameon=False, loc="upper left")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
