"""Labels judged group by group: suppliers, months or sites that label worse or better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robell._core.array import is_no_value
from robell._core.labels.groups import INTERVAL, factors_of, fit_groups, holm, posterior_by_row
from robell._tools.optional import require
from robell.labels.judge import Judgement

LEVEL = 0.05  # of the test whether a group differs, for all groups together
AT_MOST = 2.0  # standard errors beyond what was seen
MISSING_GROUP = "(missing)"


@dataclass(frozen=True, eq=False)
class GroupNoise:
    """How often labels are wrong in each group of rows, and which groups differ from the whole.

    All arrays have one entry for each group.

    Attributes
    ----------
    group : ndarray
        The groups, sorted; rows without one are ``"(missing)"``.
    n_rows, n_suspects : ndarray of int
        How many rows each has, and how many of them are suspect.
    noise_rate : ndarray of float
        Estimated share of wrong labels. Groups of few rows are shrunk to the whole.
    low, high : ndarray of float
        Interval that holds the share with a probability of 90 %, if the share estimated for the
        whole table is right.
    p_value : ndarray of float
        Of no difference from the other groups, corrected for the number of groups (Holm).
    differs : ndarray of bool
        Where ``p_value`` is below .05: more than chance.
    at_most : ndarray of float
        The largest share that the rows of the group do not exclude: the share seen, without
        shrinkage, plus two standard errors.

    Notes
    -----
    Rows are compared with rows that are as hard to predict, so that a group of hard rows is not
    taken for one with wrong labels, as far as the model knows which rows are hard. Where labels go
    wrong equally often, at most one table in twenty has a group that ``differs``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import find_label_issues
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> site = np.array(["north", "south", "west"])[np.arange(len(y)) % 3]
    >>> y[site == "west"] ^= np.random.default_rng(0).random((site == "west").sum()) < 0.3
    >>> issues = find_label_issues(X, y, groups=site, random_state=0)
    >>> issues.groups.group[issues.groups.noise_rate.argmax()].item()
    'west'
    >>> bool(issues.groups.differs[2])
    True
    """

    group: np.ndarray
    n_rows: np.ndarray
    n_suspects: np.ndarray
    noise_rate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray
    differs: np.ndarray
    at_most: np.ndarray

    def __len__(self) -> int:
        return len(self.group)

    def scaled(self, factor: float) -> GroupNoise:
        """Return the same with all shares of wrong labels times a factor."""
        shares = {
            name: factor * getattr(self, name) for name in ("noise_rate", "low", "high", "at_most")
        }
        return replace(self, **shares)

    def __str__(self):
        lines = []
        for g in np.argsort(-self.noise_rate, kind="stable"):
            lines.append(
                f"{self.group[g]}: about {self.noise_rate[g]:.0%} wrong "
                f"({self.low[g]:.0%} to {self.high[g]:.0%}; {self.n_rows[g]:,} rows)"
                f"{', differs from the others' if self.differs[g] else ''}"
            )
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return one row a group as a pandas data frame, the attributes as its columns."""
        pandas = require("pandas", extra="files")
        return pandas.DataFrame(dict(vars(self)))


def read_groups(groups, n_rows):
    """Return the sorted groups and the place of each row's; missing ones are a group too."""
    values = np.asarray(groups, dtype=object)
    if values.shape != (n_rows,):
        raise ValueError(
            f"groups must hold one entry for each of the {n_rows} rows; its shape is {values.shape}"
        )
    gone = np.array([is_no_value(value) or value == "" for value in values.tolist()])
    if gone.any():
        values = np.array([str(value) for value in values.tolist()], dtype=object)
        values[gone] = MISSING_GROUP
    try:
        names, place = np.unique(np.array(values.tolist()), return_inverse=True)
    except (TypeError, ValueError):
        raise ValueError("groups must be all text, or all numbers, or all dates") from None
    if len(names) < 2:
        raise ValueError(f"groups must hold at least two groups; all rows are of {str(names[0])!r}")
    return names, place.reshape(-1)


def judge_by_group(judgement, codes, first, names, place):
    """Judge labels by their groups' rates, and compare the groups by labels before any review."""
    P, N = judgement.without_label(codes), judgement.assumed_noise
    found = fit_groups(P, first, N, place)
    factor = factors_of(N, P.mean(axis=0), found.change)
    Z = posterior_by_row(P, codes, N, factor[place])
    judgement = Judgement.of_posterior(judgement.classes, Z, codes, N, judgement.model)
    n_rows = np.bincount(place, minlength=len(names))
    # Of the group's labels to come too, not of these rows alone: drawn to the whole.
    rate = np.clip(judgement.noise_rate + found.change, 0.0, 1.0)
    half = INTERVAL * found.error
    p_value = holm(found.p_value)
    return judgement, GroupNoise(
        names,
        n_rows,
        np.bincount(place[judgement.suspect], minlength=len(names)),
        rate,
        np.maximum(rate - half, 0.0),
        np.minimum(rate + half, 1.0),
        p_value,
        p_value < LEVEL,
        np.clip(judgement.noise_rate + found.seen + AT_MOST * found.seen_error, rate, 1.0),
    )
