"""How far the columns of a table have moved since a model was trained, told and never blocked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from robell._tools.text import did_you_mean, listed, number_text, percent, said
from robell.tables.columns import median, read_cells

BINS = 10  # of equally many training rows
MOST_LEVELS = 20
MOVED, MOVED_FAR = 0.25, 1.0  # population stability index; the usual words for it begin at .25
LEAST_ROWS = 30  # below, nothing is said about distributions
UNREADABLE = 0.2  # share of cells from which on a column is of another kind
FAR_OUTSIDE = 0.5  # share of values from which on a column is far outside its training range
ANOTHER_UNIT = 8.0  # times the usual size, or one part in so many
REORDERED = "the columns stand in another order than in training: they are taken by name"


@dataclass(frozen=True)
class Moved:
    """A column that has moved: how far (population stability index), and how, in words."""

    name: str
    index: float
    how: str


@dataclass(frozen=True)
class Drift:
    """What is different about a table that a model is applied to.

    Attributes
    ----------
    n_rows : int
        Rows that were looked at.
    missing, extra : tuple of str
        Columns that the model was trained with and are not there, and columns it does not know.
    reordered : bool
        Whether the known columns stand in another order; they are taken by name.
    other_kind : tuple of Moved
        Columns whose cells cannot be read as they were in training.
    far_outside : tuple of Moved
        Numbers of which most lie far outside the training range, as in another unit.
    moved : tuple of Moved
        Other columns with another distribution, the one that moved farthest first.
    """

    n_rows: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    reordered: bool
    other_kind: tuple[Moved, ...]
    far_outside: tuple[Moved, ...]
    moved: tuple[Moved, ...]

    @property
    def has_moved(self) -> bool:
        """Whether cells are of another kind, far outside their range or distributed otherwise."""
        return bool(self.other_kind or self.far_outside or self.moved)

    @property
    def lines(self) -> list[str]:
        """Everything in sentences, nothing where nothing is different."""
        found = []
        if self.missing:
            found.append(f"columns of the training are not there: {listed(self.missing)}")
        if self.extra:
            found.append(f"columns the model does not know are ignored: {listed(self.extra)}")
        if self.reordered:
            found.append(REORDERED)
        for one in (*self.other_kind, *self.far_outside):
            found.append(f"column {said(one.name)} {one.how}")
        for one in self.moved[:5]:
            far = "far " if one.index >= MOVED_FAR else ""
            found.append(f"column {said(one.name)} has moved {far}since training: {one.how}")
        if len(self.moved) > 5:
            found.append(f"{len(self.moved) - 5:,} further columns have moved since training")
        return found


def missing_columns(known, names):
    """Return the columns that are not there, each with what may be meant, or "" if all are."""
    there = list(names)
    gone = [name for name in known if name not in set(there)]
    shown = []
    for name in gone[:5]:
        near = did_you_mean(name, there, said, 0.75)
        shown.append(
            said(name, 30) + (f" ({near.removeprefix('; ').rstrip('?')}?)" if near else "")
        )
    return ", ".join(shown) + (", ..." if len(gone) > 5 else "")


def column_profile(plan, column):
    """Return how the values of a training column are distributed, as plain values."""
    found, _ = read_cells(plan, column)
    profile = {"kind": plan["kind"]}
    if plan["kind"] in ("number", "date"):
        profile["how"] = plan["how"]
        known = np.sort(found[np.isfinite(found)])
        profile["missing"] = (len(found) - len(known)) / max(1, len(found))
        if len(known):
            places = np.linspace(0, len(known) - 1, BINS + 1).round().astype(int)
            edges = np.unique(known[places])
            profile["edges"] = edges.tolist()
            profile["shares"] = (_histogram(edges, known) / len(known)).tolist()
            profile["median"] = float(known[len(known) // 2])
            profile["size"] = median(np.abs(known))
        return profile
    counts = Counter(found)
    n_missing = counts.pop(None, 0)
    profile["missing"] = n_missing / max(1, len(found))
    profile["declared"] = plan["declared"]  # whether words such as NA are levels
    profile["spelt"] = plan.get("spelt", {})
    profile["levels"] = {
        level: count / counts.total()
        for level, count in counts.most_common(MOST_LEVELS)
        if count > 1
    }
    return profile


def _histogram(edges, values):
    """Count values below the first edge, at it, up to each further edge, and beyond the last."""
    places = np.searchsorted(edges, values, side="left") + 1
    places[values < edges[0]] = 0
    return np.bincount(places, minlength=len(edges) + 2)


class DriftMeter:
    """Counts, part by part, where the values of a table lie among those of the training.

    Parameters
    ----------
    profiles : list of dict
        Of each training column its name, and what :func:`column_profile` gives.
    """

    def __init__(self, profiles):
        self._counters = {profile["name"]: _Counter(profile) for profile in profiles}
        self._names, self._n_rows = None, 0

    def add(self, columns, weight=1.0):
        """Count cells of rows that stand for ``weight`` rows each; pass over unknown columns."""
        self._names = [column.name for column in columns]
        self._n_rows += len(columns[0]) if columns else 0
        for column in columns:
            if column.name in self._counters:
                self._counters[column.name].add(column, weight)

    def result(self, ignore=()):
        """Return what was found; ``ignore`` are columns whose absence or presence means nothing."""
        names, counters = self._names or [], self._counters
        known = [name for name in counters if name in set(names)]
        judged = [(name, *self._counters[name].judged()) for name in known]

        def of(kind):
            found = [Moved(name, index, how) for name, what, index, how in judged if what == kind]
            return tuple(sorted(found, key=lambda one: (-one.index, one.name)))

        left_out = {name for name, one in counters.items() if one.profile["kind"] == "left out"}
        there, expected = {*names, *ignore, *left_out}, {*counters, *ignore}
        return Drift(
            self._n_rows,
            tuple(name for name in counters if name not in there),
            tuple(name for name in names if name not in expected),
            [name for name in names if name in counters] != known,
            of("other kind"),
            of("far outside"),
            of("moved"),
        )


class _Counter:
    """The counts of one column."""

    def __init__(self, profile):
        self.profile = profile
        self._edges = np.array(profile.get("edges", ()), float)
        self._levels = {level: place for place, level in enumerate(profile.get("levels", ()))}
        size = len(self._edges) + 2 if len(self._edges) else len(self._levels) + 1
        self._counts = np.zeros(size)
        self._n_seen = 0
        self._n = self._missing = self._unreadable = self._far = 0.0  # of the rows they stand for
        self._middles = []  # of each part: median, median size, rows

    def add(self, column, weight):
        """Count the cells of some rows, each of which stands for so many."""
        if self.profile["kind"] not in ("number", "date", "category", "text"):
            return
        found, unreadable = read_cells(self.profile, column)
        self._n_seen += len(found)
        self._n += weight * len(found)
        if not len(self._edges):
            for text, n in Counter(found).items():
                if text is None:
                    self._missing += weight * n
                else:
                    self._counts[self._levels.get(text, -1)] += weight * n
            return
        known = found[np.isfinite(found)]
        self._unreadable += weight * unreadable
        self._missing += weight * (len(found) - len(known) - unreadable)
        if not len(known):
            return
        self._counts += weight * _histogram(self._edges, known)
        with np.errstate(over="ignore"):
            width = self._edges[-1] - self._edges[0]
            outside = np.maximum(known - self._edges[-1], self._edges[0] - known)
        self._far += weight * int((outside > width).sum())
        self._middles.append((median(known), median(np.abs(known)), weight * len(known)))

    def judged(self):
        """Return what is different ("" for nothing), the index, and how, in words."""
        n = self._n
        if not n:
            return "", 0.0, ""
        unreadable = self._unreadable / n
        if unreadable >= UNREADABLE:
            how = self.profile["how"].removeprefix("date, ")
            kind = f"dates ({how})" if self.profile["kind"] == "date" else "numbers"
            how = f"held {kind} in training; here {percent(unreadable)} of the cells are none"
            return "other kind", unreadable, how
        known = n - self._missing - self._unreadable
        if len(self._edges) and known and self._far >= FAR_OUTSIDE * known:
            how = "lies far outside the dates of the training"
            if self.profile["kind"] != "date":
                low, high = number_text(self._edges[0]), number_text(self._edges[-1])
                middle, ratio, size = self._middle()
                how = f"lies far outside its training range ({low} to {high}): its median is "
                how += f"{middle}{f', {size}' if ratio > 0 else ''}; another unit?"
            return "far outside", self._far / known, how
        if self._n_seen < LEAST_ROWS:
            return "", 0.0, ""
        # The population stability index: sum of (q - p) log(q / p) over the bins
        p, q = (np.maximum(shares, 1e-3) for shares in self._shares())
        index = float(np.sum((q - p) * np.log(q / p)))
        by_chance = 3.0 * len(self._counts) / self._n_seen  # among so few rows
        return ("moved", index, self._how()) if index > MOVED + by_chance else ("", index, "")

    def _shares(self):
        """Return the shares of the training and of this table, missing cells last."""
        missing = self.profile["missing"]
        if len(self._edges):
            expected = list(self.profile["shares"])
        else:
            levels = list(self.profile["levels"].values())
            expected = [*levels, max(0.0, 1 - sum(levels))]
        found = np.append(self._counts, self._missing + self._unreadable)
        return np.append(np.array(expected) * (1 - missing), missing), found / max(1.0, found.sum())

    def _middle(self):
        """Return the median as text, and the size as times the usual one (0: unknown), twice."""
        parts = np.array(self._middles)
        middle, size = np.average(parts[:, :2], axis=0, weights=parts[:, 2])
        before = self.profile["size"]
        ratio = float(size) / before if before else 0.0
        return number_text(float(middle)), ratio, f"about {number_text(ratio)} times the usual size"

    def _how(self):
        """Say what has changed most: missing cells, new levels, or the middle of the values."""
        gone, before = (self._missing + self._unreadable) / self._n, self.profile["missing"]
        if abs(gone - before) > 0.1:
            return f"{percent(gone)} of the cells are missing, {percent(before)} were"
        p, q = self._shares()
        if not len(self._edges):
            levels = [*self._levels, "other values"]
            place = int(np.argmax(np.abs(q - p)[:-1]))
            now, earlier = percent(q[place]), percent(p[place])
            return f"{said(levels[place], 30)} in {now} of the rows, {earlier} before"
        if self.profile["kind"] == "date":
            return "later dates" if q[-2] > 0.1 else "other dates"
        now, ratio, size = self._middle()
        is_other = ratio >= ANOTHER_UNIT or 0 < ratio <= 1 / ANOTHER_UNIT
        unit = f", {size}; another unit?" if is_other else ""
        return f"median {now}, {number_text(self.profile['median'])} before{unit}"
