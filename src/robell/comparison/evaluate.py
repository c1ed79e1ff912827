"""What one job of a comparison does: split, perhaps flip training labels, tune, fit, score."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold

from robell._tools.pipelines import last_step
from robell.comparison import jobs as engine
from robell.comparison.scores import CLEAN
from robell.comparison.user_models import make
from robell.labels.flips import flip_uniformly
from robell.search import RVFLGridSearchCV

NOISE = "symmetric"
PROTOCOLS = ("paper", "repeated", "nested", "holdout")


@dataclass(frozen=True)
class OwnJob:
    """One model on one split of one table under one noise; its key says all that matters to it."""

    dataset: str
    digest: str  # of the table's contents
    protocol: str
    kind: str  # "clean" or "symmetric"
    level: int  # percent of the training labels that are wrong
    seed: int  # the number of the split
    model: str
    identity: str  # of the model
    label: str  # of the model, as readers see it
    cost = 1.0

    @property
    def key(self):
        """What tells this job from all others."""
        parts = ["comparison", self.protocol, self.dataset, self.digest[:16], self.kind, self.level]
        return "/".join(str(part) for part in [*parts, self.seed, self.model, self.identity])


def plan_own_jobs(tables, specs, protocol, levels, repeats):
    """Return the jobs of a comparison; the models of one cell stand together."""
    return [
        OwnJob(name, rows.digest, protocol, NOISE if level else CLEAN, level, seed, spec.name,
               spec.identity, spec.label)
        for level in levels
        for seed in range(repeats)
        for name, rows in tables.items()
        for spec in specs.values()
    ]  # fmt: skip


def run_own_job(job, rows, device="cpu", *, specs):
    """Carry out one job; return plain values for a record, also where the model fails."""
    train, test = engine.split_of(job.protocol, job.dataset, rows.y, job.seed)
    seeds = {
        name: engine.seed_of("comparison", job.protocol, job.dataset, job.seed, name)
        for name in ("noise", "model", "folds")
    }
    noisy, flipped = rows.y[train], np.zeros(len(train), bool)
    if job.level:
        noisy, flipped = flip_uniformly(noisy, job.level / 100, seeds["noise"])
    answer = {
        "outcome": {
            "n_train": len(train),
            "n_test": len(test),
            "test_counts": np.bincount(rows.y[test], minlength=len(rows.labels)).tolist(),
            "n_flipped": int(flipped.sum()),
        },
        "seeds": seeds,
        "seconds": {},
    }

    def fit(answer):
        for set_seed in (random.seed, np.random.seed):  # of models that have no seed of their own
            set_seed(seeds["model"])
        spec = specs[job.model]
        classes = rows.labels if spec.known is None else np.arange(len(rows.labels))
        estimator, grid = make(spec, job.protocol, seeds["model"], noisy)
        model, smallest = estimator, np.unique(noisy, return_counts=True)[1].min()
        if grid is not None:
            n_folds = max(2, min(engine.N_FOLDS, smallest))
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=seeds["folds"])
            model = RVFLGridSearchCV(estimator, grid, cv=folds)
        predicted, scores = engine.fit_and_predict(
            model, rows.X[train], classes[noisy], rows.X[test], classes, answer["seconds"]
        )
        codes = codes_of(predicted, classes, np.unique(noisy))
        answer["outcome"]["metrics"] = engine.six_metrics(rows.y[test], codes, scores)
        chosen = getattr(last_step(model), "best_params_", None)
        if chosen is not None:
            answer["outcome"]["chosen"] = {k: str(v) for k, v in chosen.items()}
        if grid is not None:
            start = time.perf_counter()
            y = np.concatenate([classes[noisy], classes[rows.y[test]]])
            found = scores_on_test_rows(estimator, grid, rows.X, y, train, test)["score"]
            answer["outcome"]["on_test_rows"] = {
                "chosen": float(found[model.best_index_]),
                "best": float(np.nanmax(found)),
            }
            answer["seconds"]["on_test_rows"] = time.perf_counter() - start

    return engine.watched(answer, fit)


def scores_on_test_rows(estimator, grid, X, y, train, test, **how):
    """Return by metric what every candidate, fitted to the training rows, scores on the test rows.

    ``y`` are the labels of the training rows, then those of the test rows.
    """
    places = np.arange(len(train)), np.arange(len(train), len(y))
    search = RVFLGridSearchCV(estimator, grid, cv=[places], refit=False, **how)
    results = search.fit(X[np.concatenate([train, test])], y).cv_results_
    scores = [name for name in results if name.startswith("mean_test_")]
    return {name.removeprefix("mean_test_"): results[name] for name in scores}


def codes_of(predicted, classes, seen):
    """Return predictions as places among the classes; refuse what no classifier may answer."""
    values = predicted.tolist()
    if any(value is None or value != value for value in values):
        raise ValueError(f"it predicts NaN for {sum(v is None or v != v for v in values)} rows")
    known = {classes.tolist()[k]: k for k in seen}
    strange = list(dict.fromkeys(value for value in values if value not in known))
    if strange:
        shown = ", ".join(repr(value) for value in strange[:3])
        raise ValueError(f"it predicts labels that it has not seen in training: {shown}")
    return np.array([known[value] for value in values])
