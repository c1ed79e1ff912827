"""Measured cells beside printed ones, and which of them averages and tests are made of."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from robell.comparison.statistics import average_ranks, friedman, nemenyi
from robell.studies.paper import printed

# Accuracies that agree to here are ties: they are shares of one number of rows.
DECIMALS = 9


def printed_cells(datasets, models):
    """Return Table I's accuracies, NaN for sets and models it does not have."""
    cells = np.full((len(datasets), len(models)), np.nan)
    for i, name in enumerate(datasets):
        row = dict(zip(printed.MODELS, printed.TABLE_I.get(name, ()), strict=False))
        cells[i] = [row.get(model, np.nan) for model in models]
    return cells


class Comparison:
    """One protocol's cells (``cells``), and those that averages and tests are made of.

    ``datasets`` are the sets that have a cell for every model and are no stand-ins; ``values``
    are their scores, and ``printed`` what Table I prints for them, None where it lacks any.
    """

    def __init__(self, results, protocol, tuned_by="accuracy", score="accuracy"):
        self.results, self.protocol, self.tuned_by, self.score = results, protocol, tuned_by, score
        self.cells = results.scores("table1", protocol, tuned_by, score)
        self.models = self.cells.models
        kept = [
            place
            for place, name in enumerate(self.cells.datasets)
            if not results.is_stand_in(name) and np.isfinite(self.cells.mean[place]).all()
        ]
        self.datasets = tuple(self.cells.datasets[place] for place in kept)
        self.values = self.cells.mean[kept]
        print_ = printed_cells(self.datasets, self.models)
        self.printed = print_ if np.isfinite(print_).all() else None
        self.own = self.models.index("robell") if "robell" in self.models else None

    @property
    def testable(self):
        """Whether there is enough for ranks and tests."""
        return len(self.datasets) >= 2 and len(self.models) >= 3

    @cached_property
    def ranks(self):
        """Average ranks of the models."""
        return average_ranks(self.values, DECIMALS)

    @cached_property
    def friedman(self):
        """The Friedman test of the measured cells."""
        return friedman(self.values, decimals=DECIMALS)

    @cached_property
    def nemenyi(self):
        """The Nemenyi test of the measured cells."""
        return nemenyi(self.values, decimals=DECIMALS)


def shown(results, dataset):
    """Return a set's name with what must be known of it."""
    if results.is_stand_in(dataset):
        return f"{dataset} (stand-in)"
    about = results.data.get(dataset, {})
    if dataset in printed.TABLE_I and not about.get("paper_rows", True):
        return f"{dataset} *"
    return dataset


def noise_curves(results, protocol):
    """Return levels, clean labels first, and {set: {model: [accuracy by level]}}."""
    names = results.datasets("noise", protocol)
    models = results.models("noise", protocol)
    levels = (0, *printed.NOISE_LEVELS)
    by_level = [
        results.scores(
            "noise" if level else "table1", protocol, "accuracy", "accuracy", level, names
        )
        for level in levels
    ]
    return levels, {
        name: {model: [_cell(scores, name, model) for scores in by_level] for model in models}
        for name in names
    }


def _cell(scores, dataset, model):
    if model not in scores.models:
        return float("nan")
    return float(scores.mean[scores.datasets.index(dataset), scores.models.index(model)])
