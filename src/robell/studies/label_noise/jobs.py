"""What one job of the study does: split, make training labels wrong, fit, score."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

from robell.labels.flips import flip_from_class, flip_near_boundary, flip_uniformly
from robell.studies.engine.fit_and_score import fit_and_predict, six_metrics, watched
from robell.studies.engine.jobs import seed_of
from robell.studies.engine.scores import CLEAN
from robell.studies.label_noise.models import build, require_packages

TEST_SHARE = 0.3


def minority_labels(y):
    """Return 1 for rows of the smaller class, 0 for the others; as given where both are alike."""
    y = np.asarray(y)
    return y if 2 * y.sum() <= len(y) else 1 - y


class Split:
    """The rows of one job: the same for all models, and test rows the same for all noises.

    Stratified 70:30; 1 is the smaller class. Wrong labels, marked in ``flipped``, are in
    ``y_train`` only. The seed of the noise is the same for all levels of a kind, so that a level
    adds wrong labels to those of the one below.
    """

    def __init__(self, job, rows):
        y = minority_labels(rows.y)
        self.X_train, self.X_test, clean, self.y_test = train_test_split(
            rows.X, y, test_size=TEST_SHARE, stratify=y, random_state=job.seed
        )
        self.noise_seed = seed_of("robustness", job.dataset, job.seed, job.kind)
        self.y_train, self.flipped = self._spoil(clean, job)

    def _spoil(self, y, job):
        share, seed = job.level / 100, self.noise_seed
        if job.kind == CLEAN:
            return y, np.zeros(len(y), bool)
        if job.kind == "symmetric":
            return flip_uniformly(y, share, seed)
        if job.kind == "asymmetric":
            return flip_from_class(y, 1, share, seed)
        return flip_near_boundary(self.X_train, y, share, seed)


def run_noise_job(job, rows, device="cpu"):
    """Carry out one job; return plain values for a record.

    Where the model fails, the answer has a status, an error and a trace, and still says how many
    rows of each class there were, which scoring it as chance needs.
    """
    if device != "cpu":
        raise ValueError(f"the models of the robustness study run on the cpu; got {device!r}")
    split = Split(job, rows)
    answer = {
        "outcome": {
            "n_train": len(split.y_train),
            "n_test": len(split.y_test),
            "n_test_minority": int(split.y_test.sum()),
            "n_flipped": int(split.flipped.sum()),
        },
        "seeds": {"split": job.seed, "noise": split.noise_seed, "model": job.seed},
        "packages": require_packages([job.model]),
        "seconds": {},
    }
    return watched(answer, lambda answer: _fit_and_score(job, split, answer))


def _fit_and_score(job, split, answer):
    model = build(job.model, job.seed, split.y_train)
    predicted, scores = fit_and_predict(
        model, split.X_train, split.y_train, split.X_test, (0, 1), answer["seconds"]
    )
    answer["outcome"]["metrics"] = six_metrics(split.y_test, predicted, scores)
    if hasattr(model, "sample_quality_"):
        answer["outcome"]["suspects"] = _suspects(model, split.flipped)


def _suspects(model, flipped):
    """Return how well a model that judges labels found the wrong ones."""
    found = {"n": int(model.n_suspects_), "average_precision": None}
    if flipped.any():
        doubt = 1.0 - np.asarray(model.sample_quality_)
        found["average_precision"] = float(average_precision_score(flipped, doubt))
    return found
