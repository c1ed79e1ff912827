"""Jobs: tables of rows, seeds that come from names, splits of rows, one model fitted and scored.

A job is a frozen record of its study's own with ``dataset``, ``key`` (text that says all its result
depends on) and ``cost`` (CPU seconds it takes at 600 rows).
"""

from __future__ import annotations

import hashlib
import time
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Rows:
    """A table as jobs see it; ``y`` is 0 or 1, and sensitivity refers to the label ``positive``."""

    name: str
    X: np.ndarray
    y: np.ndarray
    positive: int
    digest: str  # of the contents
    about: dict = field(default_factory=dict)  # where it comes from, for the record
    labels: Any = None  # of a user's table: what y are places among, as models see them


def seed_of(*names):
    """Return a seed in [0, 2**32) that depends on names alone, never on the order of execution."""
    text = "/".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def expected_seconds(job, tables):
    """Return about how long a job takes, in CPU seconds."""
    return job.cost * (0.7 + 0.3 * len(tables[job.dataset].y) / 600)


# -- how rows are split: the paper's one split, repeated stratified ones, and folds for tuning


N_FOLDS = 5


def paper_split(n_rows):
    """Return row numbers (train, test): the first 70 % of a permutation of the legacy seed 0 train.

    The authors' published recipe: it gives the class counts that Table S.IV implies (erratum E23).
    """
    # The legacy generator, as the recipe has it.
    order = np.random.RandomState(0).permutation(n_rows)
    n_train = int(n_rows * (1 - 0.30))
    return order[:n_train], order[n_train:]


def repeated_split(y, dataset, repeat):
    """Split 70:30, stratified, seeded by the names of the set and the repeat: (train, test)."""
    from sklearn.model_selection import StratifiedShuffleSplit  # reports need no scikit-learn

    seed = seed_of("repeated", dataset, repeat, "split")
    splitter = StratifiedShuffleSplit(1, test_size=0.30, random_state=seed)
    return next(splitter.split(np.zeros((len(y), 1)), y))


def split_of(protocol, dataset, y, repeat):
    """Return the numbers of the training and test rows: 70:30, stratified except in the paper's."""
    return paper_split(len(y)) if protocol == "paper" else repeated_split(y, dataset, repeat)


def folds(protocol, dataset, repeat):
    """Return the five stratified shuffled folds every model of a cell is tuned on (erratum E24)."""
    from sklearn.model_selection import StratifiedKFold

    seed = seed_of(protocol, dataset, repeat, "folds")
    return StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)


MOST_WARNINGS = 5
# They speak to those who write packages, and come once in a process, whatever the job.
NOT_ABOUT_RESULTS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning)


def failure(error):
    """Return an exception as part of a record."""
    lines = traceback.format_exception(error)
    return {"status": "failed", "error": str(error) or repr(error), "trace": "".join(lines)}


def watched(answer, work):
    """Let ``work`` fill in an answer; note its times, its warnings, and why it failed if it did."""
    start, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            work(answer)
        except Exception as error:
            answer |= failure(error)
    # Distinct and shortened: whole ones would fill the records.
    lines = [
        f"{warning.category.__name__}: {' '.join(str(warning.message).split())[:120]}"
        for warning in caught
        if not issubclass(warning.category, NOT_ABOUT_RESULTS)
    ]
    answer["outcome"]["warnings"] = list(dict.fromkeys(lines))[:MOST_WARNINGS]
    answer["seconds"]["total"] = time.perf_counter() - start
    answer["seconds"]["cpu"] = time.process_time() - cpu
    return answer


def fit_and_predict(model, X, y, X_test, classes, seconds):
    """Fit with one thread; return predictions and scores of the test rows, times in ``seconds``."""
    # Again, though the worker has done it: the model's package may have loaded its library since.
    with threadpool_limits(1):
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit(X, y)
        seconds["fit_cpu"] = time.process_time() - cpu
        seconds["fit"] = time.perf_counter() - wall
        wall = time.perf_counter()
        predicted = np.asarray(model.predict(X_test))
        seconds["predict"] = time.perf_counter() - wall
        if predicted.shape == (len(X_test), 1):  # CatBoost, of several classes
            predicted = predicted[:, 0]
        if predicted.shape != (len(X_test),):
            raise ValueError(f"predictions of shape {predicted.shape} for {len(X_test)} rows")
        return predicted, class_scores(model, X_test, classes, predicted)


def class_scores(model, X, classes, predicted=None):
    """Return scores that are larger where a class is likelier.

    For two classes one of every row, that of the second. As in scikit-learn's scorers they are the
    decision function of two classes and the probabilities of more; else the other, or the
    predictions.
    """
    from robell._tools.pipelines import last_step, steps_of  # reports need no scikit-learn

    known = np.asarray(model.classes_ if hasattr(model, "classes_") else np.unique(classes))
    columns = np.full((len(X), len(known)), 1.0)
    fitted = steps_of(getattr(last_step(model), "best_estimator_", model))[-1]
    by_pairs = getattr(fitted, "decision_function_shape", "") == "ovo"  # a score a pair of classes
    probable = len(known) > 2 and (by_pairs or hasattr(model, "predict_proba"))
    if len(known) > 1 and hasattr(model, "decision_function") and not probable:
        columns = np.asarray(model.decision_function(X))
        if columns.ndim == 2 and len(known) == 2:
            columns = columns[:, 1] - columns[:, 0]
        if columns.ndim == 1:
            columns = np.column_stack([-columns, columns])
    elif len(known) > 1 and hasattr(model, "predict_proba"):
        columns = np.asarray(model.predict_proba(X))
    elif len(known) > 1:
        columns = (np.asarray(predicted)[:, None] == known).astype(float)
    if columns.shape != (len(X), len(known)):
        raise ValueError(
            f"scores of shape {columns.shape} for {len(X)} rows and {len(known)} classes"
        )
    if not np.isfinite(columns).all():
        raise ValueError("the scores it gives are not all finite")
    places = {label: place for place, label in enumerate(known.tolist())}
    scores = np.zeros((len(X), len(classes)))
    for place, label in enumerate(np.asarray(classes).tolist()):
        if label in places:
            scores[:, place] = columns[:, places[label]]
    return scores[:, 1] if len(classes) == 2 else scores


def six_metrics(truth, predicted, scores):
    """Return the six metrics as shares of 1; classes are numbered from 0.

    Those of single classes are of class 1 of two; of more, means over the classes of the test rows.
    """
    from sklearn import metrics

    from robell.metrics import g_mean_score

    ranked, average = [(truth, scores)], "binary"
    if np.ndim(scores) == 2:
        ranked, average = [(truth == k, scores[:, k]) for k in np.unique(truth)], "macro"
    with warnings.catch_warnings():
        # A class that is predicted and not among the test rows has no recall to be averaged.
        warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true")
        balanced = metrics.balanced_accuracy_score(truth, predicted)
    return {
        "accuracy": float(metrics.accuracy_score(truth, predicted)),
        "balanced_accuracy": float(balanced),
        "g_mean": g_mean_score(truth, predicted),
        "f1": float(metrics.f1_score(truth, predicted, average=average, zero_division=0.0)),
        "roc_auc": float(np.mean([metrics.roc_auc_score(*one) for one in ranked])),
        "average_precision": float(
            np.mean([metrics.average_precision_score(*one) for one in ranked])
        ),
    }
