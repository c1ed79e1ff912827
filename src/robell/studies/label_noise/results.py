"""Records of the label-noise study as arrays of scores."""

from __future__ import annotations

import numpy as np

from robell.studies.engine import scores
from robell.studies.label_noise.models import MODELS
from robell.studies.label_noise.plan import LEVELS, SETS

LABELS = {key: model.label for key, model in MODELS.items()}


def chance_scores(record):
    """Return the scores of a failed job: those of a model that always predicts the majority."""
    outcome, data = record.get("outcome", {}), record.get("data", {})
    if "n_test" in outcome:
        n, minority = outcome["n_test"], outcome["n_test_minority"]
    else:  # its process died; the split is stratified, so the whole set's share is near
        n, minority = data["n_rows"], data["n_minority"]
    return scores.chance_scores((n - minority, minority))


def scores_of(record):
    """Return the six scores of a record, those of chance where its job failed."""
    return record["outcome"]["metrics"] if record["status"] == "done" else chance_scores(record)


class NoiseResults(scores.ScoreResults):
    """The records of the label-noise study; jobs that failed are scored as chance.

    Only some seeds count, all by default; and of a model with revisions only one, by default the
    newest, so that no mean is of two.
    """

    def __init__(self, records, seeds=None, revisions=None):
        records = list(records)
        revision = {r["job"]["model"]: r["job"]["revision"] for r in records} | (revisions or {})

        def counts(job):
            asked_for = seeds is None or job["seed"] in seeds
            return asked_for and job["revision"] == revision[job["model"]]

        super().__init__(records, counts, labels=LABELS, sets=SETS, kinds=LEVELS)
        jobs = [r["job"] for r in self.records]
        self.revisions = {job["model"]: job["revision"] for job in jobs if job["revision"]}

    def scores_of(self, record):
        """Return the six scores of a record, those of chance where its job failed."""
        return scores_of(record)

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
