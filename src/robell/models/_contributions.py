"""What each column of a row contributes to a model's score, measured by replacing the column.

The contribution of column j to the score f of a row x is measured against another row r:

    phi_j = 1/2 [ f(x) - f(x with j from r) ] + 1/2 [ f(r with j from x) - f(r) ].

This is Shapley's value, exactly, where columns act alone or in pairs, and then Σ_j phi_j =
f(x) - f(r). Where more columns act together, it is the mean of the first and the last term of
Shapley's sum, and the phi_j add up to the difference nearly.
"""

from __future__ import annotations

import numpy as np

from robell._tools.threads import NO_THREADS

BLOCK = 1 << 13  # rows at a time
MOST_KNOWN = 1 << 17  # values of a column whose scores are kept from one part to the next
SMALLEST_LOG = -700.0


def contributions(score, X, reference, groups, threads=NO_THREADS, known=None):
    """Return phi_j, (n, groups), of ``score`` against one reference row, or one for each row.

    ``known``, a dict, keeps scores of single values against one row for the next rows.
    """
    is_common, of_values = np.ndim(reference) == 1, None
    if is_common:
        known = {} if known is None else known
        of_values = _scores_of_values(score, X, reference, groups, threads, known)
    reference = np.broadcast_to(reference, X.shape)
    phi = np.empty((len(X), len(groups)))

    def of_block(start):
        part = slice(start, start + BLOCK)
        rows, typical = X[part], reference[part]
        whole, base = score(rows), score(typical[:1] if is_common else typical)
        step = max(1, BLOCK // len(rows))
        for first in range(0, len(groups), step):
            some = groups[first : first + step]
            without = _replaced(score, rows, typical, some)
            if of_values is None:
                alone = _replaced(score, typical, rows, some)
            else:
                alone = of_values[part, first : first + step].T
            of_groups = 0.5 * (whole - without) + 0.5 * (alone - base)
            phi[part, first : first + step] = of_groups.T

    for _ in threads.map(of_block, range(0, len(X), BLOCK)):
        pass
    return phi


def _replaced(score, rows, others, groups):
    """Return the scores of rows in which one group of columns is that of others, (groups, n)."""
    replaced = np.repeat(rows[None], len(groups), axis=0)
    for k, places in enumerate(groups):
        replaced[k][:, places] = others[:, places]
    return score(replaced.reshape(-1, rows.shape[1])).reshape(len(groups), len(rows))


def _scores_of_values(score, X, typical, groups, threads, known):
    """Return f(r with j from x), (n, groups), of one row r: of equal x_j one is scored."""
    found = np.empty((len(X), len(groups)))
    nothing = np.array([np.inf]), np.zeros(1)  # values in order, and their scores

    def of_group(k):
        places = groups[k]
        first, group = _equal_values(X[:, places])
        values, scores = X[first][:, places], np.empty(len(first))
        before, of_before = known.get(k, nothing)
        new = np.arange(len(first))
        if len(places) == 1:
            at = np.searchsorted(before, values[:, 0])
            scores, new = of_before[at], np.flatnonzero(before[at] != values[:, 0])
        for some in (new[start : start + BLOCK] for start in range(0, len(new), BLOCK)):
            rows = np.repeat(typical[None], len(some), axis=0)
            rows[:, places] = values[some]
            scores[some] = score(rows)
        if len(places) == 1 and len(before) + len(new) <= MOST_KNOWN:
            at = np.searchsorted(before, values[new, 0])
            known[k] = np.insert(before, at, values[new, 0]), np.insert(of_before, at, scores[new])
        found[:, k] = scores[group]

    for _ in threads.map(of_group, range(len(groups))):
        pass
    return found


def _equal_values(columns):
    """Return the first row of each group of equal ones, in order of one column, and all groups."""
    direction = np.random.default_rng(0).uniform(1.0, 2.0, columns.shape[1])
    sums = columns @ direction if columns.shape[1] > 1 else columns[:, 0]
    _, first, group = np.unique(sums, return_index=True, return_inverse=True)
    if (columns[first][group] == columns).all():
        return first, group
    return np.arange(len(columns)), np.arange(len(columns))  # sums alike by chance


def log_odds(model, place, other=None):
    """Return the function that gives the log-odds of one class against one other, or all."""

    def score(X):
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(model.predict_proba(X)), SMALLEST_LOG)
        others = np.delete(logs, place, axis=1) if other is None else logs[:, [other]]
        return logs[:, place] - np.logaddexp.reduce(others, axis=1)

    return score
