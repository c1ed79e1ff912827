"""Where on the web the paper's sets are, and how each file becomes the table of the register.

UCI's raw files come first: they are in the order in which the paper's split was recovered.
No file is taken on trust: a table that has not the size and class counts of the register is
refused, and whether it is the paper's table to the last digit is found by its digest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robell.datasets._dataset import DatasetError, DatasetUnavailable
from robell.datasets.sources.fetch import FetchError, openml_rows, uci_rows


def _number(cell):
    return float(cell)


def _vote(cell):
    """Code as the collection the paper used did: any vote is -1, none is 0."""
    return {"y": -1.0, "n": -1.0, "?": 0.0}[cell]


def _base(cell):
    return {"a": 1.0, "c": 2.0, "g": 3.0, "t": 4.0}[cell.lower()]


@dataclass(frozen=True)
class Origin:
    """One file on the web and how to read it.

    Positions count from 0 in a row as fetched; OpenML's rows have the label last.
    """

    address: str | int  # a path below UCI's folder, or the number of a set of OpenML
    positive: frozenset[str]
    left_out: frozenset[str] = frozenset()  # classes whose rows are not used
    label: int = -1
    unused: tuple[int | str, ...] = ()  # columns not used, by position or (OpenML) by name
    missing: str = "refuse"  # or "drop" the row, or "zero"
    width: int | None = None  # rows of another length are skipped
    sequence: bool = False  # the last cell is a string of single-letter columns
    code: Callable[[str], float] = _number

    @property
    def title(self):
        """Name the origin in short."""
        if isinstance(self.address, int):
            return f"OpenML {self.address}"
        return f"UCI {self.address.rpartition('/')[2]}"

    def fetch(self):
        """Fetch and decode; returns X and y in the order of the file."""
        if isinstance(self.address, int):
            rows, names = openml_rows(self.address)
        else:
            rows, names = uci_rows(self.address), []
        unused = {names.index(u) if isinstance(u, str) else u for u in self.unused if u in names}
        unused |= {u for u in self.unused if isinstance(u, int)}
        X, y = [], []
        for number, row in enumerate(rows, start=1):
            if self.width is not None and len(row) != self.width:
                continue
            label = row[self.label]
            cells = self._inputs(row, unused)
            if label in self.left_out or (self.missing == "drop" and "?" in cells):
                continue
            X.append([self._value(cell, number) for cell in cells])
            y.append(label in self.positive)
        if len({len(row) for row in X}) != 1:
            raise DatasetError(f"{self.title}: no rows, or rows of different lengths")
        return np.array(X, dtype=float), np.array(y, dtype=np.int64)

    def _inputs(self, row, unused):
        label = self.label % len(row)
        cells = [cell for i, cell in enumerate(row) if i != label and i not in unused]
        return list(cells[-1]) if self.sequence else cells

    def _value(self, cell, number):
        if cell == "?" and self.missing == "zero":
            return 0.0
        try:
            value = self.code(cell)
        except (ValueError, KeyError):
            value = float("nan")
        if not np.isfinite(value):
            raise DatasetError(f"{self.title}, row {number}: {cell!r} was not expected")
        return value


def _of(*labels):
    return frozenset(labels)


_HABERMAN = (Origin("haberman/haberman.data", _of("2")), Origin(43, _of("2")))
_IONOSPHERE = (
    Origin("ionosphere/ionosphere.data", _of("b"), unused=(1,)),
    Origin(59, _of("b"), unused=(1,)),
)
_YEAST = {"positive": _of("ME1", "EXC", "POX"), "left_out": _of("NUC", "ME2")}
_ECOLI = {"positive": _of("pp", "imL"), "left_out": _of("om", "omL")}

ORIGINS: dict[str, tuple[Origin, ...]] = {
    "checkerboard_Data": (
        Origin("statlog/australian/australian.dat", _of("1")),
        Origin(40981, _of("1")),
    ),
    "cleve": (
        Origin("heart-disease/processed.cleveland.data", _of("1", "2", "3", "4"), missing="drop"),
    ),
    "cmc": (Origin("cmc/cmc.data", _of("1")), Origin(23, _of("1"))),
    "congressional_voting": (
        Origin("voting-records/house-votes-84.data", _of("republican"), label=0, code=_vote),
        Origin(56, _of("republican"), code=_vote),
    ),
    "conn_bench_sonar_mines_rocks": (
        Origin("undocumented/connectionist-bench/sonar/sonar.all-data", _of("R")),
        Origin(40, _of("Rock")),
    ),
    "echocardiogram": (
        # survival time and the anonymous name are no inputs; one line of the file is broken
        Origin(
            "echocardiogram/echocardiogram.data",
            _of("1"),
            label=1,
            unused=(0, 10),
            missing="zero",
            width=13,
        ),
    ),
    "ecoli0137vs26": (Origin("ecoli/ecoli.data", unused=(0,), **_ECOLI), Origin(39, **_ECOLI)),
    "ecoli2": (Origin("ecoli/ecoli.data", _of("pp"), unused=(0,)), Origin(39, _of("pp"))),
    "fertility": (Origin("00244/fertility_Diagnosis.txt", _of("O")), Origin(1473, _of("2"))),
    "haberman": _HABERMAN,
    "haberman_survival": _HABERMAN,
    "heart_hungarian": (
        Origin("heart-disease/processed.hungarian.data", _of("1"), unused=(11,), missing="zero"),
    ),
    "heart-stat": (Origin("statlog/heart/heart.dat", _of("2")), Origin(53, _of("present"))),
    "iono": _IONOSPHERE,
    "ionosphere": _IONOSPHERE,
    # Two ways of numbering ten digits; the class counts tell which is meant.
    "led7digit-0-2-4-5-6-7-8-9_vs_1": (
        Origin(40496, _of("1"), left_out=_of("3")),
        Origin(40496, _of("2"), left_out=_of("4")),
    ),
    "molec_biol_promoter": (
        Origin(
            "molecular-biology/promoter-gene-sequences/promoters.data",
            _of("-"),
            label=0,
            sequence=True,
            code=_base,
        ),
        Origin(164, _of("-"), unused=("instance",), code=_base),
    ),
    "vehicle1": (Origin(54, _of("saab")),),
    "vehicle2": (Origin(54, _of("bus")),),
    "yeast-0-2-5-7-9_vs_3-6-8": (
        Origin("yeast/yeast.data", unused=(0,), **_YEAST),
        Origin(181, **_YEAST),
    ),
}


def fetch_table(record):
    """Get a set from the first of its origins that answers and agrees with the register."""
    name, reasons = record.info.name, []
    for origin in ORIGINS.get(name, ()):
        try:
            X, y = origin.fetch()
            _require_agreement(record.info, X, y)
        except (FetchError, DatasetError) as error:
            reasons.append(f"{origin.title}: {error}")
            continue
        if record.positives_first:
            order = np.argsort(-y, kind="stable")
            X, y = X[order], y[order]
        return X, y, origin.title
    what = "; ".join(reasons) or "no place on the web is known that has it"
    raise DatasetUnavailable(
        f"{name} could not be downloaded: {what}; give a data directory with {name}.csv"
    )


def _require_agreement(info, X, y):
    found = (*X.shape, int(y.sum()))
    expected = (info.n_rows, info.n_features, info.n_minority)
    if found != expected:
        raise DatasetError(
            "{} rows, {} features and {} rows of class 1 where {}, {} and {} are expected".format(
                *found, *expected
            )
        )
