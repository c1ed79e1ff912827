"""Records of the label-noise study as arrays of scores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robell.studies.engine.results import Results, ordered
from robell.studies.engine.statistics import average_ranks, nemenyi
from robell.studies.label_noise.models import MODELS
from robell.studies.label_noise.plan import CLEAN, LEVELS, SETS

METRICS = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "g_mean": "G-mean",
    "f1": "F1 (minority)",
    "roc_auc": "ROC AUC",
    "average_precision": "Average precision",
}
# The same for tables of many columns.
SHORT_METRICS = {
    "accuracy": "Acc.",
    "balanced_accuracy": "Bal. acc.",
    "g_mean": "G-mean",
    "f1": "F1",
    "roc_auc": "AUC",
    "average_precision": "AP",
}
# Scores that differ less are the same: means of equal numbers in another order.
DECIMALS = 9


def chance_scores(record):
    """Return the scores of a failed job: those of a model that always predicts the majority."""
    outcome, data = record.get("outcome", {}), record.get("data", {})
    if "n_test" in outcome:
        share = outcome["n_test_minority"] / outcome["n_test"]
    else:  # its process died; the split is stratified, so the whole set's share is near
        share = data["n_minority"] / data["n_rows"]
    return {
        "accuracy": 1.0 - share,
        "balanced_accuracy": 0.5,
        "g_mean": 0.0,
        "f1": 0.0,
        "roc_auc": 0.5,
        "average_precision": share,
    }


@dataclass(frozen=True)
class NoiseCell:
    """All scores under one noise, means over seeds; rows are sets, columns models.

    ``datasets`` are those on which every model has run on at least one common seed; the means are
    over these common seeds, whose numbers are ``n_seeds``. ``left_out`` are the other sets.
    """

    kind: str
    level: int
    models: tuple
    datasets: tuple
    n_seeds: tuple
    left_out: tuple
    values: dict

    @property
    def name(self):
        """The noise in words."""
        return noise_name(self.kind, self.level)

    @property
    def stem(self):
        """The noise as a part of file names."""
        return self.kind if self.kind == CLEAN else f"{self.kind}_{self.level:02}"

    def means(self, metric):
        """Return the mean over sets of every model."""
        return self.values[metric].mean(axis=0)

    def ranks(self, metric):
        """Return the average rank over sets of every model, 1 being the best."""
        if len(self.models) < 2:
            return np.ones(len(self.models))
        return average_ranks(self.values[metric], DECIMALS)

    @property
    def testable(self):
        """Whether there are three models on two sets, which the tests need."""
        return len(self.models) >= 3 and len(self.datasets) >= 2

    def nemenyi(self, metric):
        """Return the Nemenyi test of one metric at 5 %."""
        return nemenyi(self.values[metric], decimals=DECIMALS)

    def on(self, datasets):
        """Return the same over some of the sets only."""
        kept = [place for place, name in enumerate(self.datasets) if name in datasets]
        return replace(
            self,
            datasets=tuple(self.datasets[place] for place in kept),
            n_seeds=tuple(self.n_seeds[place] for place in kept),
            left_out=tuple(name for name in self.left_out if name in datasets),
            values={metric: array[kept] for metric, array in self.values.items()},
        )


def noise_name(kind, level):
    """Return a noise in words, such as "symmetric 20 %"."""
    return kind if kind == CLEAN else f"{kind} {level} %"


class NoiseResults(Results):
    """The records of the label-noise study; jobs that failed are scored as chance.

    Only some seeds count, all by default; and of a model with revisions only one, by default the
    newest, so that no mean is of two. ``cells`` are pairs of kind and level.
    """

    def __init__(self, records, seeds=None, revisions=None):
        records = list(records)
        revision = {r["job"]["model"]: r["job"]["revision"] for r in records} | (revisions or {})

        def counts(job):
            asked_for = seeds is None or job["seed"] in seeds
            return asked_for and job["revision"] == revision[job["model"]]

        super().__init__(records, counts)
        jobs = [r["job"] for r in self.records]
        self.revisions = {job["model"]: job["revision"] for job in jobs if job["revision"]}
        self.datasets = ordered({job["dataset"] for job in jobs}, SETS)
        self.models = ordered({job["model"] for job in jobs}, MODELS)
        self.seeds = tuple(sorted({job["seed"] for job in jobs}))
        kinds = ordered({job["kind"] for job in jobs}, (CLEAN, *LEVELS))
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

    def cell(self, kind, level):
        """Return the scores under one noise."""
        found, here = {}, set()
        for record in self.records:
            job = record["job"]
            if (job["kind"], job["level"]) == (kind, level):
                here.add(job["model"])
                rows = found.setdefault(job["dataset"], {}).setdefault(job["seed"], {})
                rows[job["model"]] = scores_of(record)
        models = ordered(here, MODELS)
        kept, left_out, means = [], [], {metric: [] for metric in METRICS}
        for name in ordered(set(found), SETS):
            seeds = [s for s in sorted(found[name]) if len(found[name][s]) == len(models)]
            if not seeds:
                left_out.append(name)
                continue
            kept.append((name, len(seeds)))
            for metric, rows in means.items():
                scores = [[found[name][seed][m][metric] for m in models] for seed in seeds]
                rows.append(np.mean(scores, axis=0))
        return NoiseCell(
            kind=kind,
            level=level,
            models=models,
            datasets=tuple(name for name, _ in kept),
            n_seeds=tuple(n for _, n in kept),
            left_out=tuple(left_out),
            values={
                metric: np.array(rows).reshape(len(kept), len(models))
                for metric, rows in means.items()
            },
        )

    def fit_seconds(self):
        """Return CPU seconds of fits by model, over the jobs that all models have finished."""
        times = {}
        for record in self.done:
            job = record["job"]
            place = (job["dataset"], job["kind"], job["level"], job["seed"])
            times.setdefault(place, {})[job["model"]] = record["seconds"]["fit_cpu"]
        common = [times[place] for place in sorted(times) if len(times[place]) == len(self.models)]
        return {model: np.array([row[model] for row in common]) for model in self.models}

    def suspects(self):
        """Return how well models that judge labels found the wrong ones.

        By model, kind and level: mean average precision, mean share of flipped rows (what chance
        reaches), number of jobs.
        """
        found = {}
        for record in self.done:
            job, outcome = record["job"], record["outcome"]
            ap = outcome.get("suspects", {}).get("average_precision")
            if ap is not None:
                place = (job["model"], job["kind"], job["level"])
                found.setdefault(place, []).append((ap, outcome["n_flipped"] / outcome["n_train"]))
        return {
            place: (*np.mean(sorted(pairs), axis=0).tolist(), len(pairs))
            for place, pairs in found.items()
        }

    def warnings(self):
        """Return how many jobs gave which warning, by model and text."""
        counts = {}
        for record in self.records:
            for text in record.get("outcome", {}).get("warnings", ()):
                place = (record["job"]["model"], text)
                counts[place] = counts.get(place, 0) + 1
        return counts


def scores_of(record):
    """Return the six scores of a record, those of chance where its job failed."""
    return record["outcome"]["metrics"] if record["status"] == "done" else chance_scores(record)
