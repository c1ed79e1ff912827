"""
A model of your own
===================

An RVFL model is a few slots: which rows, which features, which weights, which penalty. A variant
fills the slot it differs in. Checks, weights, probabilities, the exact search and cloning come
from the base class.

Two variants on one table. The first fills the slot of the features: cosines in random directions
in place of sigmoids, which approximates a Gaussian kernel. The second fills the slot of the
weights: rows far from the centre of their class count less.
"""

from numbers import Real

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import Interval

from robell import BaseRVFLClassifier, RVFLClassifier, RVFLGridSearchCV

COLOURS = "#3b6ea5", "#d1495b"


class CosineRVFLClassifier(BaseRVFLClassifier):
    """An RVFL network of random cosines, cos(x·u + b), beside the inputs."""

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        "width": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_hidden=103,
        C=1.0,
        *,
        width=1.0,
        output_bias=True,  # cosines have a mean of zero, so the constant is missed
        class_weight=None,
        calibrate=True,
        random_state=None,
    ):
        super().__init__(
            n_hidden,
            C=C,
            output_bias=output_bias,
            class_weight=class_weight,
            calibrate=calibrate,
            random_state=random_state,
        )
        self.width = width

    def _fit_features(self, rows, seed):
        rng = np.random.default_rng(seed)
        self.directions_ = rng.normal(size=(rows.X.shape[1], self.n_hidden)) / self.width
        self.phases_ = rng.uniform(0.0, 2 * np.pi, self.n_hidden)

    def _features(self, X):
        constant = np.ones((len(X), int(self.output_bias)))  # first, where there is one
        return np.hstack([constant, X, np.cos(X @ self.directions_ + self.phases_)])


class CentralRVFLClassifier(BaseRVFLClassifier):
    """An RVFL network to which rows far from the mean of their class matter less."""

    def _fit_weights(self, prepared):
        rows = prepared.rows
        importance = np.ones(len(rows.X))
        for label in range(len(self.classes_)):
            own = rows.labels == label
            count = rows.multiplicity[own]  # weight 2 is the row given twice, in a mean too
            centre = np.average(rows.X[own], axis=0, weights=count)
            distance = ((rows.X[own] - centre) ** 2).sum(axis=1)
            mean = np.average(distance, weights=count)
            if mean > 0:
                importance[own] = np.exp(-distance / mean)
        cost = super()._fit_weights(prepared)  # of the classes; None for ones
        return importance if cost is None else importance * cost


# %%
# Two moons of 300 and 100 rows.


def make_data():
    """Make two moons of 300 and 100 rows, scaled, for training and for testing."""
    tables = [make_moons((300, 100), noise=0.3, random_state=seed) for seed in (0, 1)]
    scaler = StandardScaler().fit(tables[0][0])
    return [(scaler.transform(X), y) for X, y in tables]


def draw(axis, model, X, y, title):
    across, along = np.meshgrid(np.linspace(-2.8, 2.8, 160), np.linspace(-2.8, 2.8, 160))
    grid = np.column_stack([across.ravel(), along.ravel()])
    chance = model.predict_proba(grid)[:, 1].reshape(across.shape)
    axis.contourf(across, along, chance, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.55)
    axis.contour(across, along, chance, levels=[0.5], colors="#333333", linewidths=1.2)
    axis.scatter(*X.T, c=np.array(COLOURS)[y], s=9, linewidths=0)
    axis.set(xlim=(-2.8, 2.8), ylim=(-2.8, 2.8), xticks=[], yticks=[])
    axis.set_title(title, fontsize=10, loc="left")


# %%
# Each is searched over C like any model of the package; colours are probabilities.

(X, y), (X_test, y_test) = make_data()
models = {
    "RVFL": RVFLClassifier(random_state=0),
    "cosines": CosineRVFLClassifier(random_state=0),
    "central rows": CentralRVFLClassifier(random_state=0),
}
grid = {"C": [10.0**k for k in range(-3, 4)]}
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.8), layout="constrained")
print(f"{'':14}{'C':>8}{'accuracy':>10}{'log loss':>10}")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    search = RVFLGridSearchCV(model, grid, cv=5).fit(X, y)
    accuracy = search.score(X_test, y_test)
    loss = log_loss(y_test, search.predict_proba(X_test))
    print(f"{name:14}{search.best_params_['C']:8g}{accuracy:10.3f}{loss:10.3f}")
    draw(axis, search, X, y, f"{name}: log loss {loss:.3f}")
plt.show()
