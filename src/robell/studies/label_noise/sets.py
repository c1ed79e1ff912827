"""The tables of the study: on which our model was chosen, and on which it is reported.

Their names are in ``sets.toml``. No origin is on both sides: the tests of this file declare where
tables come from, and compare contents.
"""

from __future__ import annotations

import tomllib
from importlib import resources

from robell.comparison.study import gather, sampled

_NAMES = tomllib.loads(
    (resources.files("robell.studies.label_noise") / "sets.toml").read_text(encoding="utf-8")
)
SETS, FRESH_SETS = tuple(_NAMES["first"]), tuple(_NAMES["fresh"])
REPORTING = (*FRESH_SETS, *_NAMES["reporting"])
REPORTING_CLASSES = tuple(_NAMES["reporting_classes"])
TUNED_SETS = tuple(name for name in REPORTING if name not in _NAMES["not_tuned"])
CHOOSING, CHOOSING_CLASSES = tuple(_NAMES["choosing"]), tuple(_NAMES["choosing_classes"])
GROUPS = {
    "reporting": (*REPORTING, *REPORTING_CLASSES),
    "choosing": (*CHOOSING, *CHOOSING_CLASSES),
    "all": (*REPORTING, *REPORTING_CLASSES, *CHOOSING, *CHOOSING_CLASSES),
    "study": SETS,
    "fresh": FRESH_SETS,
}
MOST_ROWS = 2000
WIDE = 40  # columns from which on a table is called wide


def study_tables(names, data_dir=None, download=True):
    """Return the tables that can be had, of 2,000 rows at most, and why others cannot."""
    tables, unavailable = gather(names, data_dir, download)
    return {name: sampled(rows, MOST_ROWS) for name, rows in tables.items()}, unavailable
