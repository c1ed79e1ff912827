"""Columns that only name the rows, such as running numbers, which no model should learn from."""

from __future__ import annotations

import re

import numpy as np

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFYING = {"id", "ids", "uuid", "guid", "key", "pk", "index", "number", "no", "nr"}
DENSE_ROWS = 30  # from so many rows on, different numbers that fill their range are counted ones
DENSE = 2.5  # numbers of the range for each row


def is_identifier(name, values, rows):
    """Say whether numbers identify rows: whole, all different, and counting them or named so.

    Numbers that measure something and all differ are spread over a range many times as wide as
    there are rows; numbers that fill their range were counted, in whatever order they stand.
    """
    if not np.isfinite(values).all() or not (values == np.round(values)).all():
        return False
    if len(values) < 2 or len(np.unique(values)) < len(values):
        return False
    counts_rows = len(np.unique(values - rows)) == 1
    fills_range = len(values) >= DENSE_ROWS and np.ptp(values) < DENSE * len(values)
    words = {word.lower() for word in _WORDS.findall(name)}
    return bool(counts_rows or fills_range or words & _IDENTIFYING)
