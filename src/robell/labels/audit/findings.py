"""What the page shows about rows: contradictions, neighbours, values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree
from scipy.stats import rankdata

from robell._tools.text import number_text, percent
from robell.report.tables import MINUS

NEIGHBOURS = 3
LONG_NUMBER = 10  # characters; longer numbers are shown rounded
MOST_PLACED = 2_000  # rows by which the map is judged
NEAR = 15  # dots around each of them
FAR = 3.0  # standard deviations; larger distances count as this one


@dataclass(frozen=True)
class Telling:
    """A value of a suspect row beside what is usual in the class given and in that suggested."""

    name: str
    value: str
    usual_given: str
    usual_suggested: str
    weight: float


def contradictions(used, codes):
    """Return groups of places whose rows agree in every used column and differ in the label."""
    groups = {}
    for place, row in enumerate(zip(*(column.cells for column in used), strict=True)):
        groups.setdefault(row, []).append(place)
    found = [
        np.array(places)
        for places in groups.values()
        if len(places) > 1 and len(set(codes[places].tolist())) > 1
    ]
    return tuple(sorted(found, key=lambda places: (-len(places), int(places[0]))))


def near_view(X):
    """Return the rows for neighbours and the map: numbers cut off at three standard deviations.

    Two rows with different levels of a category are as far apart in it as two typical rows are
    in a number: the squared distance is 2 in either.
    """
    return np.clip(X, -FAR, FAR)


def trusted(judgement, codes):
    """Return which rows may serve as examples: not suspect, in the better half of their class."""
    quality = judgement.quality
    middle = np.array([np.median(quality[codes == k]) for k in range(len(judgement.classes))])
    return ~judgement.suspect & (quality >= middle[codes])


def nearest(view, place, among):
    """Return the places of the nearest trusted rows, the nearest first."""
    candidates = np.flatnonzero(among)
    candidates = candidates[candidates != place]
    squared = np.zeros(len(candidates))
    for start in range(0, len(candidates), 1 << 14):
        part = slice(start, start + (1 << 14))
        squared[part] = ((view[candidates[part]] - view[place]) ** 2).sum(axis=1)
    order = np.argsort(squared, kind="stable")[:NEIGHBOURS]
    return candidates[order]


class Usual:
    """What is usual for each class among the trusted rows, column by column."""

    def __init__(self, used, codes, among, n_classes):
        self.used, self.n_classes = used, n_classes
        self._of = [self._profile(column, codes[among], among) for column in used]

    def _profile(self, column, codes, among):
        values = column.values[among]
        if not column.is_number:
            counts = np.zeros((self.n_classes, len(column.levels)))
            np.add.at(counts, (codes, values), 1.0)
            return (counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)
        quartiles = np.full((self.n_classes, 3), np.nan)
        for k in range(self.n_classes):
            known = values[codes == k]
            known = known[np.isfinite(known)]
            if len(known):
                # Values that occur: nothing is computed, so nothing can overflow.
                quartiles[k] = np.percentile(known, [25, 50, 75], method="lower")
        return quartiles

    def telling(self, place, given, suggested):
        """Return the values of a row, the best arguments for the suggested class first."""
        found = []
        for column, profile in zip(self.used, self._of, strict=True):
            weight = self._weight(column, profile, place, given, suggested)
            usual = [self._text(column, profile, k, place) for k in (given, suggested)]
            found.append(Telling(column.name, value_text(column, place), *usual, weight))
        return sorted(found, key=lambda one: -one.weight)

    def _weight(self, column, profile, place, given, suggested):
        """Return how much likelier the value is in the suggested class, as a logarithm."""
        value = column.values[place]
        if not column.is_number:
            return float(np.log(profile[suggested, value] / profile[given, value]))
        if not np.isfinite(value) or not np.isfinite(profile[[given, suggested]]).all():
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # numbers may be as large as they get
            scale = np.nanmean(profile[:, 2] - profile[:, 0]) or np.nanstd(profile[:, 1]) or 1.0
            off = np.abs(value - profile[[given, suggested], 1]) / scale
        off = np.minimum(np.nan_to_num(off), FAR)
        return float(off[0] ** 2 - off[1] ** 2)

    def _text(self, column, profile, k, place):
        if not column.is_number:
            value = column.values[place]
            return f"{percent(profile[k, value])} have this value"
        low, _, high = profile[k]
        if not np.isfinite(low):
            return "no value"
        if column.kind == "date":
            return f"{date_text(low)} to {date_text(high)}"
        return f"{number_text(low)} to {number_text(high)}"


def value_text(column, place):
    """Return a cell as it is in the file; of a number six digits at most, and a true minus."""
    cell, value = column.cells[place] or "", column.values[place]
    if column.kind != "number" or not np.isfinite(value):
        return cell
    text = f"{value:.6g}" if len(cell) > LONG_NUMBER else cell
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def date_text(days):
    """Return the day, given as days since 1970, that no line is broken in."""
    day = str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(days)), "D"))
    return day.replace("-", "\u2011")  # hyphens at which no line is broken


def project(view):
    """Return the first two principal components of the rows, and their share of the variance."""
    centred = view - view.mean(axis=0)
    covariance = centred.T @ centred / len(centred)
    values, directions = np.linalg.eigh(covariance)
    first = directions[:, ::-1][:, :2]
    first = first * np.where(first.sum(axis=0) < 0, -1.0, 1.0)  # the same way round every time
    plane = centred @ first
    if plane.shape[1] < 2:
        plane = np.column_stack([plane, np.zeros(len(plane))])
    total = max(float(values.sum()), 1e-300)
    return plane, float(values[::-1][:2].sum() / total)


def told_apart(plane, codes, seed):
    """Return how well neighbours in the plane tell the classes apart: 0.5 is not at all.

    It is the area under the ROC curve, the mean over the classes, of the share of a class among
    the nearest dots.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(plane))[:MOST_PLACED]
    codes = codes[chosen]
    n_near = min(NEAR, len(chosen) - 1)
    _, near = KDTree(plane[chosen]).query(plane[chosen], k=n_near + 1)
    near = near[:, 1:]
    areas = []
    for k in np.unique(codes):
        share, is_k = (codes[near] == k).mean(axis=1), codes == k
        ranks = rankdata(share)
        n_k = int(is_k.sum())
        if n_k < len(codes):
            above = ranks[is_k].sum() - n_k * (n_k + 1) / 2
            areas.append(above / (n_k * (len(codes) - n_k)))
    return float(np.mean(areas)) if areas else 0.5
