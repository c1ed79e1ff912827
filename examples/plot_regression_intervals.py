"""
Numbers with intervals, from one fit
====================================

:class:`robell.RVFLRegressor` predicts numbers. With ``intervals=True`` it also keeps what each
training row would have been missed by, had it been left out. That follows from the one system that
was solved, without refitting, and gives intervals that hold as often as they say.
"""

import matplotlib.pyplot as plt
import numpy as np

from robell import RVFLRegressor

rng = np.random.default_rng(4)


def rows(n):
    """Return n rows of a curve with noise."""
    x = rng.uniform(-3, 3, n)
    return x[:, None], np.sin(2 * x) + 0.4 * x + rng.normal(0, 0.25, n)


X, y = rows(120)
X_test, y_test = rows(5000)
model = RVFLRegressor(80, C="loo", intervals=True, random_state=0).fit(X, y)
inside = {}
for coverage in (0.5, 0.8, 0.95):
    low, high = model.predict_interval(X_test, coverage=coverage).T
    inside[coverage] = np.mean((low <= y_test) & (y_test <= high))
    print(f"asked for {coverage:.0%}, covered {inside[coverage]:.1%} of 5,000 new rows")

# %%
# The band is the 95 % interval, the line the prediction, the dotted line what the rows come
# from. Beyond the rows nothing is promised.

figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
line = np.linspace(-3.6, 3.6, 300)[:, None]
for coverage, shade in ((0.95, 0.15), (0.8, 0.2), (0.5, 0.3)):
    low, high = model.predict_interval(line, coverage=coverage).T
    axis.fill_between(line[:, 0], low, high, color="#3b6ea5", alpha=shade, linewidth=0)
axis.plot(line, model.predict(line), color="#1f4e79", linewidth=2, label="prediction")
axis.plot(line, np.sin(2 * line) + 0.4 * line, ":", color="#333333", label="truth")
axis.scatter(X[:, 0], y, s=14, c="#d1495b", linewidths=0, label="120 rows", zorder=3)
axis.axvspan(3, 3.6, color="#eeeeee", zorder=0)
axis.axvspan(-3.6, -3, color="#eeeeee", zorder=0)
axis.set(xlim=(-3.6, 3.6), xlabel="x", ylabel="y")
axis.legend(frameon=False, loc="upper left")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
