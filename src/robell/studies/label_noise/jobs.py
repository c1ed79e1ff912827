"""What one job of the study does: split, make training labels wrong, fit, score."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    roc_auc_score,
)
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from robell.labels.flips import flip_from_class, flip_near_boundary, flip_uniformly
from robell.metrics import g_mean_score
from robell.studies.engine.jobs import seed_of
from robell.studies.engine.worker import failure
from robell.studies.label_noise.models import build, require_packages
from robell.studies.label_noise.plan import CLEAN

TEST_SHARE = 0.3
MOST_WARNINGS = 5
# They speak to those who write packages, and come once in a process, whatever the job.
NOT_ABOUT_RESULTS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning)


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
    start, cpu = time.perf_counter(), time.process_time()
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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _fit_and_score(job, split, answer)
        except Exception as error:
            answer |= failure(error)
    answer["outcome"]["warnings"] = _said(caught)
    answer["seconds"]["total"] = time.perf_counter() - start
    answer["seconds"]["cpu"] = time.process_time() - cpu
    return answer


def _fit_and_score(job, split, answer):
    model = build(job.model, job.seed, split.y_train)
    # Again, though the worker has done it: the model's package may have loaded its library since.
    with threadpool_limits(1):
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit(split.X_train, split.y_train)
        answer["seconds"]["fit_cpu"] = time.process_time() - cpu
        answer["seconds"]["fit"] = time.perf_counter() - wall
        wall = time.perf_counter()
        predicted = np.asarray(model.predict(split.X_test))
        answer["seconds"]["predict"] = time.perf_counter() - wall
        scores = minority_scores(model, split.X_test)
    answer["outcome"]["metrics"] = six_metrics(split.y_test, predicted, scores)
    if hasattr(model, "sample_quality_"):
        answer["outcome"]["suspects"] = _suspects(model, split.flipped)


def minority_scores(model, X):
    """Return a score of every row that is larger where class 1 is likelier.

    It is the decision function where the model has one, as in scikit-learn's scorers, and constant
    where the model knows one class only.
    """
    classes = getattr(model, "classes_", np.array([0, 1]))
    if len(classes) < 2:
        return np.full(len(X), float(classes[0] == 1))
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
        return scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]
    return np.asarray(model.predict_proba(X))[:, 1]


def six_metrics(truth, predicted, scores):
    """Return the six metrics of the study, as shares of 1; class 1 is the minority."""
    return {
        "accuracy": float(accuracy_score(truth, predicted)),
        "balanced_accuracy": float(balanced_accuracy_score(truth, predicted)),
        "g_mean": g_mean_score(truth, predicted),
        "f1": float(f1_score(truth, predicted, zero_division=0.0)),
        "roc_auc": float(roc_auc_score(truth, scores)),
        "average_precision": float(average_precision_score(truth, scores)),
    }


def _suspects(model, flipped):
    """Return how well a model that judges labels found the wrong ones."""
    found = {"n": int(model.n_suspects_), "average_precision": None}
    if flipped.any():
        doubt = 1.0 - np.asarray(model.sample_quality_)
        found["average_precision"] = float(average_precision_score(flipped, doubt))
    return found


def _said(caught):
    """Return the distinct warnings about a fit, shortened: whole ones would fill the records."""
    lines = [
        f"{warning.category.__name__}: {' '.join(str(warning.message).split())[:120]}"
        for warning in caught
        if not issubclass(warning.category, NOT_ABOUT_RESULTS)
    ]
    return list(dict.fromkeys(lines))[:MOST_WARNINGS]
