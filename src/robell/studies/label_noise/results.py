"""Records of the robustness study as arrays of scores. No estimator is seen behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robell.studies.engine.statistics import average_ranks
from robell.studies.label_noise.plan import CLEAN, LEVELS, MODELS, SETS

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
    """Return what a job that failed is scored as: a model that always says "majority".

    Parameters
    ----------
    record : dict
        Of a job that failed.

    Returns
    -------
    scores : dict of str -> float
        By the names in ``METRICS``.

    Examples
    --------
    >>> from robell.studies.label_noise.results import chance_scores
    >>> scores = chance_scores({"outcome": {"n_test": 20, "n_test_minority": 5}})
    >>> scores["accuracy"], scores["average_precision"], scores["g_mean"]
    (0.75, 0.25, 0.0)
    """
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

    Attributes
    ----------
    kind, level : str, int
    models, datasets : tuple of str
        Sets on which every model has run on at least one common seed.
    n_seeds : tuple of int
        Common seeds of every set; the means are over these.
    left_out : tuple of str
        Sets on which some model has not run yet.
    values : dict of str -> ndarray of shape (n_datasets, n_models)
        By metric.
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
        """Return the noise in words."""
        return noise_name(self.kind, self.level)

    @property
    def stem(self):
        """Return the noise as a part of file names."""
        return self.kind if self.kind == CLEAN else f"{self.kind}_{self.level:02}"

    def means(self, metric):
        """Return the mean over sets of every model."""
        return self.values[metric].mean(axis=0)

    def ranks(self, metric):
        """Return the average rank over sets of every model, 1 being the best."""
        if len(self.models) < 2:
            return np.ones(len(self.models))
        return average_ranks(self.values[metric], DECIMALS)

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
    """Return a noise in words.

    Parameters
    ----------
    kind : str
        Its kind.
    level : int
        In percent.

    Returns
    -------
    name : str
        For titles.

    Examples
    --------
    >>> from robell.studies.label_noise.results import noise_name
    >>> noise_name("symmetric", 20), noise_name("clean", 0)
    ('symmetric 20 %', 'clean')
    """
    return kind if kind == CLEAN else f"{kind} {level} %"


class NoiseResults:
    """Records of a robustness study.

    Of every set only the newest rows count, and of a model with revisions only one of them: no
    mean is of two.

    Parameters
    ----------
    records : iterable of dict
        In the order they were stored.
    seeds : iterable of int, default=None
        Only these count; by default all.
    revisions : dict of str -> str, default=None
        Of models; by default the newest there is.

    Attributes
    ----------
    records : list of dict
        Those that count, jobs that failed among them.
    failed : list of dict
        Those of jobs that failed.
    data : dict of str -> dict
        Where each set came from.
    datasets, models, seeds, cells : tuple
        What there is, in the order it is shown; cells are pairs of kind and level.

    Examples
    --------
    >>> from robell.studies.label_noise.results import NoiseResults
    >>> NoiseResults([]).cells
    ()
    """

    def __init__(self, records, seeds=None, revisions=None):
        records = list(records)
        digest = {r["job"]["dataset"]: r["job"]["digest"] for r in records}
        revision = {r["job"]["model"]: r["job"]["revision"] for r in records} | (revisions or {})
        self.records = [
            r
            for r in records
            if r["job"]["digest"] == digest[r["job"]["dataset"]]
            and r["job"]["revision"] == revision[r["job"]["model"]]
            and (seeds is None or r["job"]["seed"] in seeds)
        ]
        jobs = [r["job"] for r in self.records]
        self.failed = [r for r in self.records if r["status"] != "done"]
        self.data = {r["job"]["dataset"]: r.get("data", {}) for r in self.records}
        self.revisions = {job["model"]: job["revision"] for job in jobs if job["revision"]}
        self.datasets = _ordered({job["dataset"] for job in jobs}, SETS)
        self.models = _ordered({job["model"] for job in jobs}, MODELS)
        self.seeds = tuple(sorted({job["seed"] for job in jobs}))
        kinds = _ordered({job["kind"] for job in jobs}, (CLEAN, *LEVELS))
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
        """Return the scores under one noise.

        Parameters
        ----------
        kind : str
            Its kind; "clean" for level 0.
        level : int
            In percent.

        Returns
        -------
        cell : NoiseCell
            Jobs that failed are scored as chance.
        """
        found, here = {}, set()
        for record in self.records:
            job = record["job"]
            if (job["kind"], job["level"]) == (kind, level):
                here.add(job["model"])
                rows = found.setdefault(job["dataset"], {}).setdefault(job["seed"], {})
                rows[job["model"]] = scores_of(record)
        models = _ordered(here, MODELS)
        kept, left_out, means = [], [], {metric: [] for metric in METRICS}
        for name in _ordered(set(found), SETS):
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
        """Return the CPU seconds of fits by model, over the jobs that all models have finished.

        Returns
        -------
        seconds : dict of str -> ndarray
            In the same order of jobs for every model.
        """
        times = {}
        for record in self.records:
            if record["status"] == "done":
                job = record["job"]
                place = (job["dataset"], job["kind"], job["level"], job["seed"])
                times.setdefault(place, {})[job["model"]] = record["seconds"]["fit_cpu"]
        common = [times[place] for place in sorted(times) if len(times[place]) == len(self.models)]
        return {model: np.array([row[model] for row in common]) for model in self.models}

    def suspects(self):
        """Return how well flipped rows were found, of models that judge labels.

        Returns
        -------
        found : dict of (str, str, int) -> (float, float, int)
            By model, kind and level: mean average precision, mean share of flipped rows (what
            chance reaches), number of jobs.
        """
        found = {}
        for record in self.records:
            outcome = record.get("outcome", {})
            ap = outcome.get("suspects", {}).get("average_precision")
            if record["status"] == "done" and ap is not None:
                job = record["job"]
                place = (job["model"], job["kind"], job["level"])
                found.setdefault(place, []).append((ap, outcome["n_flipped"] / outcome["n_train"]))
        return {
            place: (*np.mean(sorted(pairs), axis=0).tolist(), len(pairs))
            for place, pairs in found.items()
        }

    def warnings(self):
        """Return how many jobs gave which warning: a dict by model and text."""
        counts = {}
        for record in self.records:
            for text in record.get("outcome", {}).get("warnings", ()):
                place = (record["job"]["model"], text)
                counts[place] = counts.get(place, 0) + 1
        return counts


def scores_of(record):
    """Return the six scores of a record, those of chance where its job failed.

    Parameters
    ----------
    record : dict
        Of one job.

    Returns
    -------
    scores : dict of str -> float
        By the names in ``METRICS``.

    Examples
    --------
    >>> from robell.studies.label_noise.results import scores_of
    >>> scores_of({"status": "done", "outcome": {"metrics": {"f1": 0.5}}})
    {'f1': 0.5}
    """
    return record["outcome"]["metrics"] if record["status"] == "done" else chance_scores(record)


def _ordered(names, order):
    """Return names in a given order, others behind them by name."""
    return tuple(n for n in order if n in names) + tuple(sorted(names - set(order)))
