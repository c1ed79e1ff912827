r"""
Three models of the field, in short
===================================

Papers change one part of an RVFL network at a time. Three of them, each from its formula.

**CAWI** (Akhtar, Tanveer and Arshad 2026, arXiv 2605.12580) draws the hidden weights from a copula
of the columns: ranks of a column become shares in (0, 1), a copula is fitted to them, each weight
vector is a draw from it, mapped to the usual scale. It fills the slot of the features.

**HawkEye** (Akhtar, Tanveer and Arshad 2024, arXiv 2410.00510) and **Wave** (Sajid, Quadir and
Tanveer 2024, arXiv 2408.02824) replace the squared error u² / 2 by bounded losses,

.. math::

   L(u) &= \lambda \left[1 - (a (|u| - \varepsilon) + 1) \exp(-a (|u| - \varepsilon))\right]
   \text{ where } |u| > \varepsilon \text{, else } 0, \\
   L(u) &= \frac{1}{\lambda} \left[1 - \frac{1}{1 + \lambda u^2 \exp(a u)}\right].

The papers minimise them by gradients. Here they are reweighted ridges: a row of residual u has the
weight L'(u) / u, and the ridge is solved again until weights settle.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.preprocessing import StandardScaler

from robell import RVFLClassifier, RVFLRegressor


class CopulaRVFLClassifier(RVFLClassifier):
    """An RVFL network whose hidden weights depend on each other as the columns do.

    The copula is Gaussian; its margins are uniform in (-1, 1), as those of the usual weights.
    """

    def _fit_features(self, rows, seed):
        super()._fit_features(rows, seed)
        Z = ndtri(np.column_stack([shares(column, rows.multiplicity) for column in rows.X.T]))
        R = np.atleast_2d(np.cov(Z.T, aweights=rows.multiplicity))
        scale = np.sqrt(np.diag(R))
        R = R / np.outer(np.where(scale > 0, scale, 1), np.where(scale > 0, scale, 1))
        np.fill_diagonal(R, 1.0)
        values, vectors = np.linalg.eigh(R)
        root = vectors * np.sqrt(np.clip(values, 0, None)) @ vectors.T
        draws = np.random.default_rng(seed).normal(size=(self.n_hidden, len(R))).T
        self.hidden_weights_ = 2 * ndtr(root @ draws) - 1


def shares(column, multiplicity):
    """Return the share of rows below each row, in (0, 1); equal values share theirs."""
    _, place = np.unique(column, return_inverse=True)
    mass = np.bincount(place, multiplicity)
    return ((np.cumsum(mass) - mass / 2) / mass.sum())[place]


# %%
# The losses and their weights. HawkEye's weight is 0 near the label and far from it. Wave's would
# be negative where u < -2 / a: there the loss falls again, no ridge has such a weight, and it is
# taken as 0. So reweighting ends at a stationary point of HawkEye's loss, and of Wave's only where
# no residual is beyond -2 / a.


def hawkeye(u, a=2.0, eps=0.05, lam=1.0):
    beyond = np.maximum(np.abs(u) - eps, 0.0)
    return lam * (1 - (a * beyond + 1) * np.exp(-a * beyond))


def hawkeye_weight(u, a=2.0, eps=0.05, lam=1.0):
    beyond = np.maximum(np.abs(u) - eps, 0.0)
    return lam * a**2 * beyond * np.exp(-a * beyond) / np.maximum(np.abs(u), eps)


def wave(u, a=0.5, lam=1.0):
    return (1 - 1 / (1 + lam * u**2 * np.exp(a * u))) / lam


def wave_weight(u, a=0.5, lam=1.0):
    grown = np.exp(a * u)
    return np.maximum(grown * (2 + a * u), 0.0) / (1 + lam * u**2 * grown) ** 2


def reweighted(weight, X, target, rounds=60, **parameters):
    """Return a network fitted by reweighting, from the squared error on."""
    model = RVFLRegressor(**parameters).fit(X, target)
    for _ in range(rounds):
        weights = weight(target - model.predict(X))
        model = RVFLRegressor(**parameters).fit(X, target, sample_weight=weights)
    return model


# %%
# Numbers along a step, a tenth of them far off: the bounded losses leave these nearly alone.

random = np.random.default_rng(0)
X = np.sort(random.uniform(-3, 3, (300, 1)), axis=0)
truth = np.tanh(2 * X[:, 0])
target = truth + random.normal(0, 0.1, 300)
wrong = random.random(300) < 0.1
target[wrong] += random.uniform(2, 4, wrong.sum())
how = {"C": 1000.0, "random_state": 0}
found = {
    "squared": RVFLRegressor(**how).fit(X, target),
    "HawkEye": reweighted(hawkeye_weight, X, target, **how),
    "Wave": reweighted(wave_weight, X, target, **how),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
u = np.linspace(-4, 4, 400)
for name, loss in {"squared": u**2 / 2, "HawkEye": hawkeye(u), "Wave": wave(u)}.items():
    axes[0].plot(u, loss, label=name)
axes[0].set(ylim=(0, 2), xlabel="residual", ylabel="loss")
axes[0].legend()
axes[1].plot(X[:, 0], target, ".", color="#999999", markersize=3)
for name, model in found.items():
    error = np.abs(model.predict(X) - truth).mean()
    print(f"{name:8} mean distance to the truth {error:.3f}")
    axes[1].plot(X[:, 0], model.predict(X), label=name)
axes[1].set(xlabel="x", ylabel="target")
plt.show()

# %%
# Copula weights beside the usual ones, on columns that depend on each other.
Z = random.normal(size=(400, 1)) + 0.4 * random.normal(size=(400, 6))
labels = (np.sin(2 * Z[:, 0]) + 0.5 * Z[:, 1] > 0).astype(int)
Z = StandardScaler().fit_transform(Z)
for model in (RVFLClassifier(random_state=0), CopulaRVFLClassifier(random_state=0)):
    score = model.fit(Z[:200], labels[:200]).score(Z[200:], labels[200:])
    print(f"{type(model).__name__:22} accuracy {score:.3f}")
