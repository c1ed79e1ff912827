"""Scores of models on sets: records read, six metrics, arrays of means with ranks."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from robell.comparison.statistics import (
    average_ranks,
    friedman,
    nemenyi,
    signed_rank_posteriors,
    wilcoxon_pairs,
    win_tie_loss,
)


class Results:
    """The records of a study that count: of every set those of its newest rows only.

    Where a set was run on other rows before (another source), one table must not mix the two.
    ``keep`` may leave out further jobs. ``done`` and ``failed`` are the two kinds of ``records``;
    ``data`` says of every set where it came from.
    """

    def __init__(self, records, keep=None):
        records = list(records)
        newest = {r["job"]["dataset"]: r["job"]["digest"] for r in records}
        self.records = [
            r
            for r in records
            if r["job"]["digest"] == newest[r["job"]["dataset"]]
            and (keep is None or keep(r["job"]))
        ]
        self.done = [r for r in self.records if r["status"] == "done"]
        self.failed = [r for r in self.records if r["status"] != "done"]
        self.data = {r["job"]["dataset"]: r.get("data", {}) for r in self.records}

    def versions(self):
        """Return the versions that made the records as text; several of one package are joined."""
        found: dict = {}
        for record in self.records:
            packages = record.get("versions", {}) | record.get("packages", {})
            for name, version in packages.items():
                found.setdefault(name, set()).add(version)
        return ", ".join(f"{name} {' and '.join(sorted(found[name]))}" for name in found)


def ordered(names, order):
    """Return names in a given order, others behind them by name."""
    return tuple(n for n in order if n in names) + tuple(sorted(set(names) - set(order)))


# -- scores of models on sets: six metrics, what chance reaches, arrays of means with ranks


# F1 is that of the smaller class; of more than two classes, F1, ROC AUC and average precision are
# means over the classes.
METRICS = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "g_mean": "G-mean",
    "f1": "F1",
    "roc_auc": "ROC AUC",
    "average_precision": "Average precision",
}
# Scores that differ less are the same: means of equal numbers in another order.
DECIMALS = 9
CLEAN = "clean"
GIVEN = "given"  # scores that somebody else has measured
TEST_SHARE = 0.3  # of the rows, in every split of ours
ROPE = 0.01  # of shares of 1: the usual limit of what matters in practice


def noise_name(kind, level):
    """Return a noise in words, such as "symmetric 20 %"."""
    named = {CLEAN: CLEAN, GIVEN: "scores as given"}
    return named.get(kind, f"{kind} {level} %")


def chance_scores(counts):
    """Return the scores of always predicting the first class; of two, the second is the smaller."""
    n, k = sum(counts), len(counts)
    largest = counts[0] / n
    several = k > 2
    return {
        "accuracy": largest,
        "balanced_accuracy": 1.0 / k,
        "g_mean": 0.0,
        "f1": 2 * largest / (1 + largest) / k if several else 0.0,
        "roc_auc": 0.5,
        "average_precision": 1.0 / k if several else counts[1] / n,
    }


class Ranked:
    """What ranks and tests are made of: ``values``, sets by models without gaps, larger better.

    Differences up to ``rope`` are of no practical importance. Tests round to so many decimals that
    scores must not be tiny or huge: they are then taken in ``unit``, a power of ten.
    """

    def __init__(self, values, rope=0.0):
        self.values, self.rope = values, rope
        largest = float(np.abs(values).max(initial=0.0))
        usual = largest == 0 or 1e-3 <= largest <= 1e6
        self.unit = 1.0 if usual else 10.0 ** math.floor(math.log10(largest))
        self.scaled = values / self.unit
        self.form = ".3f" if self.unit == 1 else ".3g"  # in which readers see scores

    @property
    def testable(self):
        """Whether there are three models on two sets, which the tests need."""
        n_sets, n_models = self.values.shape
        return n_models >= 3 and n_sets >= 2

    @cached_property
    def ranks(self):
        """The average rank of every model over the sets, 1 being the best."""
        n_models = self.values.shape[1]
        return average_ranks(self.scaled, DECIMALS) if n_models > 1 else np.ones(n_models)

    @cached_property
    def friedman(self):
        """The Friedman test."""
        return friedman(self.scaled, decimals=DECIMALS)

    @cached_property
    def nemenyi(self):
        """The Nemenyi test at 5 %."""
        return nemenyi(self.scaled, decimals=DECIMALS)

    @cached_property
    def wilcoxon(self):
        """P-values of Wilcoxon's test of all pairs, and the same by Holm."""
        return wilcoxon_pairs(self.scaled)

    @cached_property
    def posteriors(self):
        """P(row better than column) and P(both equal) by the Bayesian signed-rank test."""
        return signed_rank_posteriors(self.scaled, self.rope / self.unit)

    @cached_property
    def wins(self):
        """How often the row wins, ties and loses against the column."""
        return win_tie_loss(self.scaled, DECIMALS)


def scores_of(record):
    """Return the six scores of a record, those of chance where its job failed."""
    outcome = record.get("outcome", {})
    if record["status"] == "done":
        return outcome["metrics"]
    # Where a process was ended there is no outcome; the whole table has about the same shares.
    counts = outcome.get("test_counts") or sorted(record["data"]["class_counts"], reverse=True)
    return chance_scores(counts if len(counts) == 2 else sorted(counts, reverse=True))


@dataclass(frozen=True)
class ScoreCell:
    """All scores under one noise, means over splits; rows are sets, columns models.

    ``datasets`` are those on which every model has run on at least one common split; the means are
    over these common splits, whose numbers are ``n_seeds``, and ``deviations`` are the standard
    deviations over them, NaN of one split. ``left_out`` are the other sets.
    """

    kind: str
    level: int
    models: tuple
    labels: tuple  # of the models, as readers see them
    datasets: tuple
    n_seeds: tuple
    left_out: tuple
    values: dict
    deviations: dict
    splits: dict = field(default_factory=dict)  # of a metric: of every set, splits by models
    metrics: dict = field(default_factory=lambda: METRICS)  # names for readers
    stems: dict = field(
        default_factory=lambda: dict(zip(METRICS, METRICS, strict=True))
    )  # of files
    lower: frozenset = frozenset()  # metrics of which less is better
    test_shares: tuple = ()  # of the rows of every set that a split is tested on
    rope: float = ROPE
    _ranked: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self):
        """The noise in words."""
        return noise_name(self.kind, self.level)

    @property
    def stem(self):
        """The noise as a part of file names."""
        return self.kind if self.kind in (CLEAN, GIVEN) else f"{self.kind}_{self.level:02}"

    @property
    def testable(self):
        """Whether there are three models on two sets, which the tests need."""
        return self.by(next(iter(self.values))).testable

    def means(self, metric):
        """Return the mean over sets of every model."""
        return self.values[metric].mean(axis=0)

    def mean_of(self, metric, model):
        """Return the mean over sets of one model; NaN where it is not there."""
        there = model in self.models
        return float(self.means(metric)[self.models.index(model)]) if there else math.nan

    def ranks(self, metric):
        """Return the average rank over sets of every model, 1 being the best."""
        return self.by(metric).ranks

    def by(self, metric):
        """Return what ranks and tests by one metric are made of."""
        if metric not in self._ranked:
            self._ranked[metric] = Ranked(self.sign(metric) * self.values[metric], self.rope)
        return self._ranked[metric]

    def sign(self, metric):
        """Return -1 where less is better, else 1."""
        return -1 if metric in self.lower else 1

    def on(self, datasets):
        """Return the same over some of the sets only."""
        kept = [place for place, name in enumerate(self.datasets) if name in datasets]
        return replace(
            self,
            _ranked={},
            datasets=tuple(self.datasets[place] for place in kept),
            n_seeds=tuple(self.n_seeds[place] for place in kept),
            left_out=tuple(name for name in self.left_out if name in datasets),
            test_shares=tuple(self.test_shares[place] for place in kept),
            values={metric: array[kept] for metric, array in self.values.items()},
            deviations={metric: array[kept] for metric, array in self.deviations.items()},
            splits={m: [rows[place] for place in kept] for m, rows in self.splits.items()},
        )


def by_split(records, numbers):
    """Return {(kind, level): {set: {seed: {model: numbers}}}}, such as means_over_splits takes.

    ``numbers(record)`` gives lists of numbers by model, none for a record that does not count.
    """
    found: dict = {}
    for record in records:
        job = record["job"]
        for model, values in numbers(record).items():
            sets = found.setdefault((job["kind"], job["level"]), {})
            sets.setdefault(job["dataset"], {}).setdefault(job["seed"], {})[model] = values
    return found


def means_over_splits(found, n_numbers, models=(), sets=()):
    """Average ``found[set][seed][model]``, lists of numbers, over the splits that all models have.

    Returns the models and the sets with the number of such splits, both in the orders given, two
    arrays of sets by models by numbers, means and standard deviations (NaN of one split), and the
    numbers of every set, splits by models by numbers. Sets without such a split are left out.
    """
    models = ordered({m for seeds in found.values() for row in seeds.values() for m in row}, models)
    n_seeds, means, deviations, every = {}, [], [], []
    for name in ordered(found, sets):
        rows = [found[name][s] for s in sorted(found[name]) if len(found[name][s]) == len(models)]
        if rows:
            n_seeds[name] = len(rows)
            values = np.array([[row[model] for model in models] for row in rows])
            every.append(values)
            means.append(values.mean(axis=0))
            one = np.full_like(means[-1], np.nan)
            deviations.append(values.std(axis=0, ddof=1) if len(rows) > 1 else one)
    shape = (len(means), len(models), n_numbers)
    return models, n_seeds, np.reshape(means, shape), np.reshape(deviations, shape), every


def score_cell(kind, level, found, labels, sets=(), metrics=METRICS, **more):
    """Return the ScoreCell of ``found[set][seed][model]``, one number for each of the metrics.

    ``labels`` name the models for readers, and give their order; ``sets`` is that of the sets.
    """
    models, n_seeds, means, deviations, every = means_over_splits(found, len(metrics), labels, sets)
    return ScoreCell(
        kind=kind,
        level=level,
        models=models,
        labels=tuple(labels[model] for model in models),
        datasets=tuple(n_seeds),
        n_seeds=tuple(n_seeds.values()),
        left_out=ordered(set(found) - set(n_seeds), sets),
        values={metric: means[:, :, k].copy() for k, metric in enumerate(metrics)},
        deviations={metric: deviations[:, :, k] for k, metric in enumerate(metrics)},
        splits={m: [rows[:, :, k] for rows in every] for k, m in enumerate(metrics)},
        metrics=metrics,
        test_shares=(TEST_SHARE,) * len(n_seeds),
        **more,
    )


class ScoreResults(Results):
    """Records of six scores each, by set, noise, split and model; failed jobs score as chance.

    ``labels`` name the models for readers, and give their order; ``sets`` is that of the sets.
    ``cells`` are pairs of kind and level of noise.
    """

    def __init__(self, records, keep=None, *, labels, sets=(), kinds=()):
        super().__init__(records, keep)
        jobs = [r["job"] for r in self.records]
        self.labels, self._sets = labels, sets
        self.datasets = ordered({job["dataset"] for job in jobs}, sets)
        self.models = ordered({job["model"] for job in jobs}, labels)
        self.seeds = tuple(sorted({job["seed"] for job in jobs}))
        kinds = ordered({job["kind"] for job in jobs}, (CLEAN, *kinds))
        levels = {kind: {job["level"] for job in jobs if job["kind"] == kind} for kind in kinds}
        self.cells = tuple((kind, level) for kind in kinds for level in sorted(levels[kind]))

    @property
    def kinds(self):
        """Return the kinds of noise there are records of, without the clean cell."""
        return tuple(dict.fromkeys(kind for kind, _ in self.cells if kind != CLEAN))

    def levels(self, kind):
        """Return the levels of a kind, with 0 where the clean cell is there."""
        clean = (0,) if (CLEAN, 0) in self.cells else ()
        return clean + tuple(level for name, level in self.cells if name == kind)

    @cached_property
    def _found(self):
        def numbers(record):
            scores = scores_of(record)
            return {record["job"]["model"]: [scores[metric] for metric in METRICS]}

        return by_split(self.records, numbers)

    def cell(self, kind, level):
        """Return the scores under one noise."""
        found = self._found.get((kind, level), {})
        return score_cell(kind, level, found, self.labels, self._sets)

    def complete_cells(self):
        """Return the cells in which all models have run on some set."""
        return [cell for cell in (self.cell(*place) for place in self.cells) if cell.datasets]

    def fit_seconds(self):
        """Return CPU seconds of fits by model, over the jobs that all models have finished.

        Models that have finished none are left out.
        """
        found = by_split(self.done, lambda r: {r["job"]["model"]: r["seconds"]["fit_cpu"]})
        rows = [row for sets in found.values() for seeds in sets.values() for row in seeds.values()]
        models = [model for model in self.models if any(model in row for row in rows)]
        common = [row for row in rows if len(row) == len(models)]
        return {model: np.array([row[model] for row in common]) for model in models}

    def warnings(self):
        """Return how many jobs gave which warning, by model and text."""
        return Counter(
            (record["job"]["model"], text)
            for record in self.records
            for text in record.get("outcome", {}).get("warnings", ())
        )
