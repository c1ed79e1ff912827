"""Records of the label-noise study as arrays of scores."""

from __future__ import annotations

from robell.comparison import scores
from robell.comparison.peers import OF_SEVERAL, USUAL, revision_of
from robell.studies.label_noise.jobs import GROUPS, LEVELS, SETS, WIDE
from robell.studies.label_noise.models import DETECTORS, EVERY_MODEL, TUNED

LABELS = {key: model.label for key, model in EVERY_MODEL.items()}
ORDER = tuple(dict.fromkeys([*GROUPS["all"], *SETS]))


class NoiseResults(scores.ScoreResults):
    """The records of the label-noise study; jobs that failed are scored as chance.

    Only some seeds count, all by default; and of a model with revisions only one, by default the
    newest, so that no mean is of two. The models that only look for wrong labels are apart, in
    ``detections``. The methods below give parts of the results, as results again.
    """

    def __init__(self, records, seeds=None, revisions=None):
        records = list(records)
        several = {r["job"]["dataset"]: has_several(r) for r in records}
        newest = {}
        for job in (r["job"] for r in records):
            newest[job["model"], several[job["dataset"]]] = job["revision"]

        def counts(job):
            place = job["model"], several[job["dataset"]]
            asked_for = seeds is None or job["seed"] in seeds
            return asked_for and job["revision"] == revision_of(
                revisions or {}, *place, newest[place]
            )

        scored = [r for r in records if r["job"]["model"] not in DETECTORS]
        super().__init__(scored, counts, labels=LABELS, sets=ORDER, kinds=LEVELS)
        jobs = [r["job"] for r in self.records]
        self.revisions = {
            job["model"] + OF_SEVERAL * several[job["dataset"]]: job["revision"]
            for job in jobs
            if job["revision"]
        }
        digests = {job["dataset"]: job["digest"] for job in jobs}
        self.detections = [
            r
            for r in records
            if r["job"]["model"] in DETECTORS
            and counts(r["job"])
            and digests.get(r["job"]["dataset"], r["job"]["digest"]) == r["job"]["digest"]
        ]
        self.failed += [r for r in self.detections if r["status"] != "done"]

    def part(self, keep):
        """Return the results of the records that a function of record and job keeps."""
        return NoiseResults(r for r in self.records if keep(r, r["job"]))

    def two_classes(self):
        """Return what models that are not tuned reach on tables of two classes."""
        return self.part(lambda r, job: job["model"] in USUAL and not has_several(r))

    def several_classes(self):
        """Return what models that are not tuned reach on tables of more classes."""
        return self.part(lambda r, job: job["model"] in USUAL and has_several(r))

    def tuned(self):
        """Return all models in the noises and on the tables on which peers were tuned."""
        places = {
            (r["job"]["dataset"], r["job"]["kind"], r["job"]["level"], r["job"]["seed"])
            for r in self.records
            if r["job"]["model"] in TUNED
        }
        return self.part(
            lambda r, job: (job["dataset"], job["kind"], job["level"], job["seed"]) in places
        )

    def wide(self):
        """Return the names of the tables of forty columns or more."""
        return {name for name, about in self.data.items() if about.get("n_features", 0) >= WIDE}

    def probabilities(self, score):
        """Return a score of probabilities by noise: {(kind, level): (models, tables by models)}.

        Models that give probabilities, means over splits; over the tables and splits of which all
        of them have records.
        """

        def numbers(record):
            given = record["outcome"].get("probabilities")
            return {record["job"]["model"]: [given[score]]} if given else {}

        found, answer = scores.by_split(self.done, numbers), {}
        for place in self.cells:
            if tables := found.get(place):
                models, _, means, *_ = scores.means_over_splits(tables, 1, EVERY_MODEL, tables)
                if len(means):
                    answer[place] = (models, means[:, :, 0].copy())
        return answer


def has_several(record):
    """Say whether a record is of a table of more than two classes."""
    counts = record.get("data", {}).get("class_counts", ())
    return len(counts) > 2


def is_tuned(model):
    """Say whether a model is a peer that was tuned, by its parameters or by its threshold."""
    return model in TUNED
