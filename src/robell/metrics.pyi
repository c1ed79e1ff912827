"""Types of robell.metrics, made by tests/typed_stubs.py."""

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

def expected_calibration_error(y_true: ArrayLike, y_proba: ArrayLike, *, labels: ArrayLike | None = ..., n_bins: int = ..., sample_weight: ArrayLike | None = ...) -> float: ...

def g_mean_score(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = ...) -> float: ...

def recall_score(y_true: Any, y_pred: Any, *, labels: ArrayLike | None = ..., pos_label: int | float | bool | str = ..., average: str | None = ..., sample_weight: ArrayLike | None = ..., zero_division: Any = ...) -> Any: ...

def sensitivity_score(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = ..., sample_weight: ArrayLike | None = ...) -> float: ...

def specificity_score(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = ..., sample_weight: ArrayLike | None = ...) -> float: ...
