"""Test whether P(y given x), the labels of rows of the same values, changed between two tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from robell._core.array import one_hot, require_labels
from robell._core.labels.groups import judge_changes, products
from robell._core.labels.link import fit_link
from robell._tools.threads import calm_blas
from robell.labels.unseen import numeric_columns
from robell.models.noise_robust import LeftOutScores

LEVEL = 0.05  # of all tests together: half for classes, half for regions of the columns
LEAST_ROWS = 30  # of each table
LEAST_IN_REGION = 30  # of each table
LEAST_OF_CLASS = 5  # rows with and without the label, in a region
LEAST_OVERLAP = 0.1  # of the variance of the table, after the columns have explained theirs
MOST_REGIONS = 40
HALF = float(norm.ppf(0.975))


class RegionChange(NamedTuple):
    """Rows, in words, among which the share of a label has changed, with an interval of 95 %."""

    where: str
    label: str
    change: float
    low: float
    high: float
    p_value: float
    n_old: int
    n_new: int


@dataclass(frozen=True, eq=False)
class LabelDrift:
    """Whether labels are given differently in a new table, for rows of the same values.

    Attributes
    ----------
    changed : bool or None
        Whether ``p_value`` is below .05; None where the tables have too few rows alike to tell.
    p_value : float
        Of no change, corrected for all classes and regions that were looked at.
    classes : ndarray of shape (n_classes,)
        The labels.
    change, low, high : ndarray of shape (n_classes,)
        By how much the share of each label has changed among rows of the same values, and its
        interval of 95 %.
    class_p_value : ndarray of shape (n_classes,)
        Of no change of each label's share, corrected for all of them.
    regions : tuple of RegionChange
        Where labels have changed, the surest first; empty where ``changed`` is not true.
    n_old, n_new : int
        Rows of the two tables.
    overlap : float
        How far the two tables have rows alike, from 0 (every row shows its table) to 1.
    detectable : float
        The change of a label's share that a test of this size finds every other time.

    Examples
    --------
    >>> import numpy as np
    >>> from robell import find_label_drift
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(800, 2))
    >>> y = np.where(X[:, 0] > 0, "high", "low")
    >>> y[600:][X[600:, 0] > 1] = "low"  # other labels from row 600 on
    >>> found = find_label_drift(X[:400], y[:400], X[400:], y[400:], random_state=0)
    >>> found.changed
    True
    >>> found.regions[0].label
    'high'
    """

    changed: bool | None
    p_value: float
    classes: np.ndarray
    change: np.ndarray
    low: np.ndarray
    high: np.ndarray
    class_p_value: np.ndarray
    regions: tuple[RegionChange, ...]
    n_old: int
    n_new: int
    overlap: float
    detectable: float

    def __str__(self):
        if self.changed is None:
            return "The two tables have too few rows alike to compare their labels."
        if not self.changed:
            return (
                f"No change of the labels is seen (p = {self.p_value:.2g}); a change in "
                f"{self.detectable:.0%} of the rows would be found every other time."
            )
        lines = [f"Labels are given differently (p = {self.p_value:.2g})."]
        lines += [
            f"{one.where}: {one.label} {one.change:+.0%} ({one.low:+.0%} to {one.high:+.0%})"
            for one in self.regions[:10]
        ]
        return "\n".join(lines)


@calm_blas
def find_label_drift(
    X_old: ArrayLike,
    y_old: ArrayLike,
    X_new: ArrayLike,
    y_new: ArrayLike,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> LabelDrift:
    """Find out whether labels are given differently in a new table than in an old one.

    Rows of the same values are compared: where only the mix of the rows has changed, the labelling
    has not. The test holds its level of 5 % as long as the columns describe what labels depend on.

    Parameters
    ----------
    X_old, X_new : array-like of shape (n_old, n_features) and (n_new, n_features)
        Numeric columns, the same in both tables; they need no scaling.
    y_old, y_new : array-like of shape (n_old,) and (n_new,)
        The labels.
    random_state : int, RandomState instance or None, default=None
        Seed of the classifier's layers.

    Returns
    -------
    drift : LabelDrift
        Whether labels have changed, by class, and in which regions of the columns.

    See Also
    --------
    audit : The same for raw tables, with ``against``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from robell import find_label_drift
    >>> X, y = load_wine(return_X_y=True)
    >>> find_label_drift(X[::2], y[::2], X[1::2], y[1::2], random_state=0).changed
    False
    """
    old, new = numeric_columns(X_old, "X_old"), numeric_columns(X_new, "X_new")
    if old.shape[1] != new.shape[1]:
        raise ValueError(f"X_old has {old.shape[1]} columns, X_new has {new.shape[1]}")
    labels = []
    for y, X, name in ((y_old, old, "old"), (y_new, new, "new")):
        require_labels(y)
        labels.append(np.asarray(y).ravel())
        if len(labels[-1]) != len(X):
            raise ValueError(f"X_{name} has {len(X)} rows, y_{name} has {len(labels[-1])}")
    try:
        classes, codes = np.unique(np.concatenate(labels), return_inverse=True)
    except TypeError:
        raise ValueError("the labels of both tables must be all text or all numbers") from None
    if len(classes) < 2:
        raise ValueError(f"labels of at least two classes are needed; all are {classes[0]!s}")
    is_new = np.repeat([False, True], [len(old), len(new)])
    X = np.concatenate([old, new])
    regions = [
        region
        for j in range(min(X.shape[1], MOST_REGIONS // 2))
        for region in number_regions(f"column {j}", X[:, j])
    ]
    return compare_labels(X, codes.reshape(-1), classes, is_new, regions, random_state)


def number_regions(name, values, text="{:.4g}".format):
    """Return rows with small and with large values of a column of numbers, as words and masks."""
    known = values[np.isfinite(values)]
    if len(known) < 2 * LEAST_IN_REGION:
        return []
    low, high = np.quantile(known, [1 / 3, 2 / 3])
    if low == high:
        return []
    with np.errstate(invalid="ignore"):
        return [
            (f"{name} of {text(low)} or less", values <= low),
            (f"{name} above {text(high)}", values > high),
        ]


def compare_labels(X, codes, classes, is_new, regions, random_state):
    """Compare the labels of old and new rows; ``regions`` are pairs of words and rows."""
    n_new, n_old = int(is_new.sum()), int((~is_new).sum())
    if min(n_old, n_new) < LEAST_ROWS:
        raise ValueError(
            f"each table must have {LEAST_ROWS} labelled rows or more; these have {n_old} and "
            f"{n_new}"
        )
    n_classes, weight = len(classes), np.ones(len(codes))
    scores = LeftOutScores(X, weight, random_state, codes)

    def probability(codes, n_classes):
        left_out = scores.of_classes(one_hot(codes, n_classes))
        return fit_link(left_out, codes, weight, np.eye(n_classes)).probability(left_out)

    P, e = probability(codes, n_classes), probability(is_new.astype(np.intp), 2)[:, 1]
    S, R = is_new - e, one_hot(codes, n_classes) - P
    overlap = float(np.mean(S**2) / (is_new.mean() * (1.0 - is_new.mean())))
    rng = np.random.default_rng(0)
    likely = P.argmax(axis=1)
    by_class = [("all rows", np.ones(len(codes), bool))]
    by_class += [(f"rows that look like '{classes[k]}'", likely == k) for k in range(n_classes)]
    families = [by_class, list(regions)[:MOST_REGIONS]]
    found = [_family(family, R, S, codes, is_new, classes, rng) for family in families]
    p_value = min([1.0, *(2.0 * one.p_value for one in found[0] + found[1])])
    changed = None if overlap < LEAST_OVERLAP else bool(p_value < LEVEL)
    # Two classes change alike: p-values that differ by rounding are equal, and the class that lost
    # rows comes first.
    surest = sorted(found[0] + found[1], key=lambda one: (float(f"{one.p_value:.9e}"), one.change))
    corrected = [one._replace(p_value=min(1.0, 2.0 * one.p_value)) for one in surest]
    values = {one.label: one for one in corrected if one.where == "all rows"}
    of_class = [values[str(name)] for name in classes]
    change, low, high, p_values = np.array([one[2:6] for one in of_class]).T
    critical = norm.isf(LEVEL / 2 / max(len(found[0]), 1) / 2)
    return LabelDrift(
        changed=changed,
        p_value=float(p_value),
        classes=classes,
        change=change,
        low=low,
        high=high,
        class_p_value=p_values,
        regions=tuple(one for one in corrected if changed and one.p_value < LEVEL),
        n_old=n_old,
        n_new=n_new,
        overlap=overlap,
        detectable=float(min(1.0, critical * ((high - low) / (2 * HALF)).max())),
    )


def _family(regions, R, S, codes, is_new, classes, rng):
    """Test every class in every region that has rows enough, as one family."""
    kept = [
        (where, rows)
        for where, rows in regions
        if min((rows & is_new).sum(), (rows & ~is_new).sum()) >= LEAST_IN_REGION
        or where == "all rows"
    ]
    if not kept:
        return []
    columns, sizes = products(R, S, np.array([rows for _, rows in kept]))
    found = judge_changes(columns, sizes, rng)
    result = []
    for place, (where, rows) in enumerate(kept):
        n_old, n_new = int((rows & ~is_new).sum()), int((rows & is_new).sum())
        for k, label in enumerate(classes):
            at = place * len(classes) + k
            count = int((codes[rows] == k).sum())
            if where != "all rows" and min(count, n_old + n_new - count) < LEAST_OF_CLASS:
                continue
            change, half = float(found.change[at]), HALF * float(found.error[at])
            p_value = float(found.p_value[at])
            one = (change, change - half, change + half, p_value, n_old, n_new)
            result.append(RegionChange(where, str(label), *one))
    return result
