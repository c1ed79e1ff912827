"""Labels that are missing: NaT, None, NaN and NA."""

from __future__ import annotations

from typing import Any

import numpy as np


def require_labels(y: Any) -> None:
    """Raise where a label is missing, and say in which row; complex numbers are no labels."""
    try:
        values = np.asarray(y)
    except (TypeError, ValueError):  # lists of different lengths: the check of shapes says so
        return
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported in y: it must hold class labels")
    if values.ndim != 1 or values.dtype.kind not in "mMO":
        return
    if values.dtype.kind == "O":
        missing = np.fromiter((is_no_value(label) for label in values), bool, len(values))
    else:
        missing = np.isnat(values)
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"y has no label in row {row} ({values[row]}): drop such rows first")


def is_no_value(value: Any) -> bool:
    """Say whether a value stands for none: None, NaN, NaT and NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # nor has an array, which is a value
        return False
