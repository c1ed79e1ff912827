"""
Columns that prediction will not have, and columns in groups
============================================================

On the left, RVFL+ learns with *privileged* columns: known of the training rows only. A column that
causes label noise helps a little, at the best penalty. Copies and cleaner versions of the inputs
never do; where they may explain much, nothing is learned.

On the right, two devices measure one signal. Their columns are two *views*; the coupling goes from
separate networks (0) to one network (1).
"""

import matplotlib.pyplot as plt
import numpy as np

from robell import MultiViewRVFLClassifier, RVFLClassifier, RVFLPlusClassifier

COLOURS = ["#3b6ea5", "#d1495b", "#2a9d8f"]
PENALTIES = 10.0 ** np.arange(-2, 6)
COUPLINGS = np.linspace(0.0, 1.0, 6)
N_TEST = 3000


def with_an_unseen_cause(rng, n):
    """Return rows, labels that an unseen cause disturbs, and three kinds of privileged columns."""
    true = rng.normal(size=(n, 6))
    X = true + 0.3 * rng.normal(size=true.shape)
    cause = rng.normal(size=n)
    y = (true.sum(axis=1) / 2 + 3.0 * cause > 0).astype(int)
    later = cause[:, None] + 0.1 * rng.normal(size=(n, 1))
    return X, y, {"the cause of label noise": later, "X itself": X, "X without its noise": true}


def of_two_devices(rng, n):
    """Return rows of two devices that measure one signal, each with noise of its own."""
    signal = rng.normal(size=(n, 3))
    X = np.hstack([signal + 1.5 * rng.normal(size=(n, 3)) for _ in range(2)])
    return X, (signal.prod(axis=1) + signal[:, 0] > 0).astype(int)


def draw_privileged(axis, n_repeats):
    found, plain = {}, []
    for seed in range(n_repeats):
        rng = np.random.default_rng(seed)
        X, y, kinds = with_an_unseen_cause(rng, 100)
        X_test, y_test, _ = with_an_unseen_cause(rng, N_TEST)
        settings = {"C": 1.0, "output_bias": True, "calibrate": False, "random_state": seed}
        plain.append(RVFLClassifier(30, **settings).fit(X, y).score(X_test, y_test))
        for kind, Z in kinds.items():
            for penalty in PENALTIES:
                model = RVFLPlusClassifier(30, privileged_penalty=penalty, **settings)
                score = model.fit(X, y, privileged=Z).score(X_test, y_test)
                found.setdefault((kind, penalty), []).append(score)
    axis.axhline(np.mean(plain), color="#444444", linewidth=1, linestyle=":", label="RVFL")
    for colour, kind in zip(COLOURS, kinds, strict=True):
        means = [np.mean(found[kind, penalty]) for penalty in PENALTIES]
        axis.plot(PENALTIES, means, color=colour, marker="o", markersize=3.5, label=kind)
    axis.set(xscale="log", xlabel="privileged_penalty", ylabel="accuracy on new rows")
    axis.set_title("RVFL+, privileged columns:", fontsize=11, loc="left")
    axis.legend(frameon=False, fontsize=9)


def draw_views(axis, n_repeats):
    views = [slice(0, 3), slice(3, 6)]
    for colour, n in zip(COLOURS, (40, 100, 400), strict=False):
        scores = np.empty((n_repeats, len(COUPLINGS)))
        for seed in range(n_repeats):
            rng = np.random.default_rng(seed)
            X, y = of_two_devices(rng, n)
            X_test, y_test = of_two_devices(rng, N_TEST)
            for k, coupling in enumerate(COUPLINGS):
                model = MultiViewRVFLClassifier(
                    20, C=1.0, views=views, coupling=coupling, calibrate=False, random_state=seed
                )
                scores[seed, k] = model.fit(X, y).score(X_test, y_test)
        mean = scores.mean(axis=0)
        axis.plot(COUPLINGS, mean, color=colour, marker="o", markersize=3.5, label=f"{n} rows")
    axis.set(xlabel="coupling", ylabel="accuracy on new rows")
    axis.set_title("Two views of one signal, fitted to", fontsize=11, loc="left")
    axis.legend(frameon=False, fontsize=9)


# %%
# Means over ten tables each.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
draw_privileged(left, n_repeats=10)
draw_views(right, n_repeats=10)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()
