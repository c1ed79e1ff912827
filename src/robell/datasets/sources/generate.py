"""Sets made from their definition: the MONK's problems exactly, the cross planes as a stand-in."""

from __future__ import annotations

import itertools
import json
import zlib

import numpy as np

from robell._tools.files import read_resource
from robell.datasets._dataset import DatasetError

ATTRIBUTES = ("a1", "a2", "a3", "a4", "a5", "a6")

# Name: the problem, and what the labels are.
_MONKS = {
    "monk1": (1, "class"),
    "monks_2": (2, "class"),
    "monk3": (3, "other class"),
    "monks_3": (3, "other class"),
    "monk1__a6_as_target": (1, "a6"),
    "monk3__a6_as_target": (3, "a6"),
}
# Rows of the first and of the second line, from majority accuracies printed by the same authors.
_CROSS_PLANES = {"crossplane130": (75, 55), "crossplane150": (93, 57)}

GENERATED = frozenset(_MONKS) | frozenset(_CROSS_PLANES)


def generate(name):
    """Make one of `GENERATED`; returns X, y, feature names."""
    if name in _MONKS:
        return _monk(*_MONKS[name])
    if name in _CROSS_PLANES:
        return _cross_planes(name, *_CROSS_PLANES[name])
    raise DatasetError(f"{name!r} cannot be generated")


def _monk(problem, labels):
    """Make a MONK's problem: UCI's training rows in file order, then the whole grid."""
    levels = [(1, 2, 3), (1, 2, 3), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2)]
    grid = np.array(list(itertools.product(*levels)))
    a1, a2, _, a4, a5, _ = grid.T
    truth = {
        1: (a1 == a2) | (a5 == 1),
        2: (grid == 1).sum(axis=1) == 2,
        3: ((a5 == 3) & (a4 == 1)) | ((a5 != 4) & (a2 != 3)),
    }[problem]
    # The grid positions of UCI's training files, and which rows have a flipped label.
    train = json.loads(read_resource("robell.datasets", "monks_train.json"))[f"monks-{problem}"]
    rows = np.array(train["rows"])
    flipped = np.isin(rows, train["flipped"])
    X = np.vstack([grid[rows], grid]).astype(float)
    y = np.concatenate([truth[rows] ^ flipped, truth]).astype(np.int64)
    if labels == "a6":
        names = ("class", *ATTRIBUTES[:5])
        return np.column_stack([y, X[:, :5]]), (X[:, 5] == 1).astype(np.int64), names
    return X, 1 - y if labels == "other class" else y, ATTRIBUTES


def _cross_planes(name, n_majority, n_minority):
    """Scatter points about the lines x2 = x1 (the larger class) and x2 = -x1."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    y = np.repeat([0, 1], [n_majority, n_minority])
    position = rng.uniform(-1, 1, len(y))
    height = np.where(y == 0, position, -position) + rng.normal(0, 0.1, len(y))
    order = rng.permutation(len(y))
    return np.column_stack([position, height])[order], y[order].astype(np.int64), ("x1", "x2")
