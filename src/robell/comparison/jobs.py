"""What jobs are made of: tables of rows, and seeds that come from names.

A job is a frozen plain record of its study's own with ``dataset`` (the table it needs), ``key``
(text that says all its result depends on) and ``cost`` (CPU seconds it takes at 600 rows).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Rows:
    """A table as jobs see it; ``y`` is 0 or 1, and sensitivity refers to the label ``positive``."""

    name: str
    X: np.ndarray
    y: np.ndarray
    positive: int
    digest: str  # of the contents
    about: dict = field(default_factory=dict)  # where it comes from, for the record


def seed_of(*names):
    """Return a seed in [0, 2**32) that depends on names alone, never on the order of execution."""
    text = "/".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def expected_seconds(job, tables):
    """Return about how long a job takes, in CPU seconds."""
    return job.cost * (0.7 + 0.3 * len(tables[job.dataset].y) / 600)
