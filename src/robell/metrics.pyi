"""Types of robell.metrics, made by tests/typed_stubs.py."""

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

class CorrectedScores:
    accuracy: float
    accuracy_interval: tuple[float, float]
    balanced_accuracy: float
    balanced_accuracy_interval: tuple[float, float]
    classes: Any
    recall: Any
    recall_interval: Any
    roc_auc: float | None
    roc_auc_interval: tuple[float, float] | None
    def __init__(self, accuracy: float, accuracy_interval: tuple[float, float], balanced_accuracy: float, balanced_accuracy_interval: tuple[float, float], recall: Any, recall_interval: Any, roc_auc: float | None, roc_auc_interval: tuple[float, float] | None, classes: Any) -> None: ...

def corrected_scores(y_given: ArrayLike, y_pred: ArrayLike, noise_matrix: ArrayLike, *, y_score: ArrayLike | None = ..., labels: ArrayLike | None = ..., n_reviewed: int | ArrayLike | None = ..., coverage: float = ..., n_draws: int = ..., random_state: int | np.random.RandomState | None = ...) -> CorrectedScores: ...

def expected_calibration_error(y_true: ArrayLike, y_proba: ArrayLike, *, labels: ArrayLike | None = ..., n_bins: int = ..., sample_weight: ArrayLike | None = ...) -> float: ...

def g_mean_score(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = ...) -> float: ...

def sensitivity_score(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = ..., sample_weight: ArrayLike | None = ...) -> float: ...

def specificity_score(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = ..., sample_weight: ArrayLike | None = ...) -> float: ...
