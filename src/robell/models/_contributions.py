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
SMALLEST_LOG = -700.0


def contributions(score, X, reference, groups, threads=NO_THREADS):
    """Return phi_j, (n, groups), of ``score`` against one reference row, or one for each row."""
    is_common = np.ndim(reference) == 1
    reference = np.broadcast_to(reference, X.shape)
    phi = np.empty((len(X), len(groups)))

    def of_block(start):
        part = slice(start, start + BLOCK)
        rows, typical = X[part], reference[part]
        whole, base = score(rows), score(typical[:1] if is_common else typical)
        step = max(1, BLOCK // len(rows))
        for first in range(0, len(groups), step):
            some = groups[first : first + step]
            without = np.repeat(rows[None], len(some), axis=0)
            alone = np.repeat(typical[None], len(some), axis=0)
            for k, places in enumerate(some):
                without[k][:, places] = typical[:, places]
                alone[k][:, places] = rows[:, places]
            without, alone = (
                score(replaced.reshape(-1, X.shape[1])).reshape(len(some), len(rows))
                for replaced in (without, alone)
            )
            of_groups = 0.5 * (whole - without) + 0.5 * (alone - base)
            phi[part, first : first + step] = of_groups.T

    for _ in threads.map(of_block, range(0, len(X), BLOCK)):
        pass
    return phi


def log_odds(model, place):
    """Return the function that gives the log-odds of one class, as a model sees rows."""

    def score(X):
        logs = _log_probability(model, X)
        others = np.delete(logs, place, axis=1)
        return logs[:, place] - np.logaddexp.reduce(others, axis=1)

    return score


def log_ratio(model, place, other):
    """Return the function that gives the log-odds of one class against one other."""

    def score(X):
        logs = _log_probability(model, X)
        return logs[:, place] - logs[:, other]

    return score


def _log_probability(model, X):
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(model.predict_proba(X)), SMALLEST_LOG)
