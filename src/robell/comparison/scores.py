"""Scores of models on sets: records read, six metrics, arrays of means with ranks."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from robell.comparison import statistics


class Results:
    """The records of a study that count: of every set those of its newest rows only.

    ``keep`` may leave out further jobs. ``data`` says of every set where it came from.
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

    Tests round to so many decimals that scores must not be tiny or huge: they are then taken in
    ``unit``, a power of ten; of sets whose scores are tiny beside others in ``units`` of their own.
    """

    def __init__(self, values, rope=0.0):
        self.values, self.rope = values, rope
        largest = float(np.abs(values).max(initial=0.0))
        usual = largest == 0 or 1e-3 <= largest <= 1e6
        self.unit = 1.0 if usual else 10.0 ** math.floor(math.log10(largest))
        sizes = np.abs(values).max(axis=1, initial=0.0)
        powers = 10.0 ** np.floor(np.log10(np.maximum(sizes, 1e-4 * min(1.0, self.unit))))
        self.units = np.where(sizes < 1e-3 * self.unit, powers, self.unit)
        self.scaled = values / self.units[:, None]
        self.form = ".3f" if self.unit == 1 else ".3g"  # in which readers see scores
        n_sets, n_models = values.shape
        self.testable = n_models >= 3 and n_sets >= 2  # what Friedman's test needs

    @cached_property
    def ranks(self):
        """The average rank of every model over the sets, 1 being the best."""
        n_models = self.values.shape[1]
        if n_models < 2:
            return np.ones(n_models)
        return statistics.average_ranks(self.scaled, DECIMALS)

    @cached_property
    def friedman(self):
        """The Friedman test."""
        return statistics.friedman(self.scaled, decimals=DECIMALS)

    @cached_property
    def nemenyi(self):
        """The Nemenyi test at 5 %."""
        return statistics.nemenyi(self.scaled, decimals=DECIMALS)

    @cached_property
    def wilcoxon(self):
        """P-values of Wilcoxon's test of all pairs, and the same by Holm."""
        return statistics.wilcoxon_pairs(self.scaled, units=self.units / self.unit)

    @cached_property
    def posteriors(self):
        """P(row better than column) and P(both equal) by the Bayesian signed-rank test."""
        units = self.units / self.unit
        return statistics.signed_rank_posteriors(self.scaled, self.rope / self.unit, units)

    def effect(self, i, j):
        """Return how large the difference of two models is, in ``unit``."""
        gaps = self.scaled[:, i] - self.scaled[:, j]
        return statistics.effect(gaps, self.units / self.unit)

    @cached_property
    def wins(self):
        """How often the row wins, ties and loses against the column."""
        return statistics.win_tie_loss(self.scaled, DECIMALS)


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
    """All scores under one noise; means over splits are of sets in rows, models in columns.

    ``scores`` has of every set the splits that all models have run on: splits by models by metrics.
    """

    kind: str
    level: int
    models: tuple
    labels: tuple  # of the models, as readers see them
    scores: dict
    left_out: tuple
    metrics: dict = field(default_factory=lambda: METRICS)  # names for readers
    stems: dict = field(default_factory=lambda: {name: name for name in METRICS})  # of files
    lower: frozenset = frozenset()  # metrics of which less is better
    shares: dict = field(default_factory=dict)  # of the rows of a set that a split is tested on
    rope: float = ROPE

    @property
    def datasets(self):
        """The sets that count."""
        return tuple(self.scores)

    @property
    def n_seeds(self):
        """How many splits of every set count."""
        return tuple(map(len, self.scores.values()))

    @property
    def test_shares(self):
        """The share of the rows of every set that a split is tested on."""
        return tuple(self.shares.get(name, TEST_SHARE) for name in self.scores)

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
        return len(self.models) >= 3 and len(self.scores) >= 2

    @cached_property
    def splits(self):
        """Of every metric a list: of every set, splits by models."""
        return {m: [of[:, :, k] for of in self.scores.values()] for k, m in enumerate(self.metrics)}

    @cached_property
    def values(self):
        """Of every metric the means over splits, sets by models."""
        return self._over_splits(lambda rows: rows.mean(axis=0))

    @cached_property
    def deviations(self):
        """Of every metric the standard deviations over splits, NaN of one split."""
        return self._over_splits(
            lambda rows: rows.std(axis=0, ddof=1) if len(rows) > 1 else np.nan * rows[0]
        )

    def _over_splits(self, number):
        shape = len(self.scores), len(self.models), len(self.metrics)
        found = np.reshape(list(map(number, self.scores.values())), shape)
        return {metric: found[:, :, k].copy() for k, metric in enumerate(self.metrics)}

    @cached_property
    def _ranked(self):
        return {m: Ranked(self.sign(m) * found, self.rope) for m, found in self.values.items()}

    def by(self, metric):
        """Return what ranks and tests by one metric are made of."""
        return self._ranked[metric]

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

    def sign(self, metric):
        """Return -1 where less is better, else 1."""
        return -1 if metric in self.lower else 1

    def on(self, datasets):
        """Return the same over some of the sets only."""
        kept = {name: rows for name, rows in self.scores.items() if name in datasets}
        lost = tuple(name for name in self.left_out if name in datasets)
        return replace(self, scores=kept, left_out=lost)


def score_cell(kind, level, found, labels, sets=(), **more):
    """Return the ScoreCell of ``found[set][seed][model]``, in the order of labels and sets."""
    models = ordered({m for seeds in found.values() for row in seeds.values() for m in row}, labels)
    scores = {}
    for name in ordered(found, sets):
        rows = [found[name][s] for s in sorted(found[name]) if len(found[name][s]) == len(models)]
        if rows:
            scores[name] = np.array([[row[model] for model in models] for row in rows])
    left_out = ordered(set(found) - set(scores), sets)
    names = tuple(labels[model] for model in models)
    return ScoreCell(kind, level, models, names, scores, left_out, **more)


def cells_of(records, numbers, labels, sets=(), **more):
    """Return {(kind, level): ScoreCell}; ``numbers(record)`` are lists of numbers by model."""
    found: dict = {}
    for record in records:
        job = record["job"]
        for model, values in numbers(record).items():
            of_kind = found.setdefault((job["kind"], job["level"]), {})
            of_kind.setdefault(job["dataset"], {}).setdefault(job["seed"], {})[model] = values
    return {(k, n): score_cell(k, n, of, labels, sets, **more) for (k, n), of in found.items()}


class ScoreResults(Results):
    """Records of six scores each, by set, noise, split and model; failed jobs score as chance.

    ``labels`` name the models in their order; ``cells`` are pairs of kind and level of noise.
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
    def _cells(self):
        def numbers(record):
            scores = scores_of(record)
            return {record["job"]["model"]: [scores[metric] for metric in METRICS]}

        return cells_of(self.records, numbers, self.labels, self._sets)

    def cell(self, kind, level):
        """Return the scores under one noise."""
        return self._cells[kind, level]

    def complete_cells(self):
        """Return the cells in which all models have run on some set."""
        return [cell for place in self.cells if (cell := self.cell(*place)).datasets]

    def fit_seconds(self):
        """Return CPU seconds of fits by model, of the jobs that all have finished that have any."""
        rows: dict = {}
        for record in self.done:
            place = tuple(record["job"][f] for f in ("kind", "level", "dataset", "seed"))
            rows.setdefault(place, {})[record["job"]["model"]] = record["seconds"]["fit_cpu"]
        models = [model for model in self.models if any(model in row for row in rows.values())]
        common = [row for row in rows.values() if len(row) == len(models)]
        return {model: np.array([row[model] for row in common]) for model in models}

    def warnings(self):
        """Return how many jobs gave which warning, by model and text."""
        return Counter(
            (record["job"]["model"], text)
            for record in self.records
            for text in record.get("outcome", {}).get("warnings", ())
        )
