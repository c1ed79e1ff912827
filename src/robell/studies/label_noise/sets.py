"""The tables of the study: on which our model was chosen, and on which it is reported.

Their names are in ``sets.toml``. No origin is on both sides: ``origin_of`` says where a table comes
from, and ``rows_in_common`` compares contents.
"""

from __future__ import annotations

import hashlib
import tomllib
from importlib import resources

import numpy as np

from robell.comparison.study import gather, sampled

_NAMES = tomllib.loads(
    (resources.files("robell.studies.label_noise") / "sets.toml").read_text(encoding="utf-8")
)
SETS, FRESH_SETS = tuple(_NAMES["first"]), tuple(_NAMES["fresh"])
REPORTING = (*FRESH_SETS, *_NAMES["reporting"])
REPORTING_CLASSES = tuple(_NAMES["reporting_classes"])
TUNED_SETS = tuple(name for name in REPORTING if name not in _NAMES["not_tuned"])
CHOOSING, CHOOSING_CLASSES = tuple(_NAMES["choosing"]), tuple(_NAMES["choosing_classes"])
# What the names of tables begin with, and where they come from.
ORIGINS = {name: name for name in _NAMES["origins"]} | _NAMES["origins_by_another_name"]
GROUPS = {
    "reporting": (*REPORTING, *REPORTING_CLASSES),
    "choosing": (*CHOOSING, *CHOOSING_CLASSES),
    "all": (*REPORTING, *REPORTING_CLASSES, *CHOOSING, *CHOOSING_CLASSES),
    "study": SETS,
    "fresh": FRESH_SETS,
}
MOST_ROWS = 2000
WIDE = 40  # columns from which on a table is called wide


def origin_of(name):
    """Return the collection of rows that a table is cut from."""
    known = [start for start in ORIGINS if name.startswith(start)]
    if not known:
        raise ValueError(f"the origin of {name!r} is not declared")
    return ORIGINS[max(known, key=len)]


def study_tables(names, data_dir=None, download=True):
    """Return the tables that can be had, of 2,000 rows at most, and why others cannot."""
    tables, unavailable = gather(names, data_dir, download)
    return {name: sampled(rows, MOST_ROWS) for name, rows in tables.items()}, unavailable


def rows_in_common(X, other):
    """Return the share of the distinct rows of X that also are rows of another table.

    Rows are compared by digests of their values to six digits; tables of different width have
    none in common.
    """
    if X.shape[1] != other.shape[1]:
        return 0.0
    here, there = _row_digests(X), _row_digests(other)
    return len(here & there) / len(here)


def _row_digests(X):
    values = np.ascontiguousarray(np.round(X, 6) + 0.0)
    return {hashlib.sha256(row.tobytes()).digest() for row in values}
