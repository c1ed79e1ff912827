"""What an audit of numbers found, for programs: the table of all rows, and a summary."""

from __future__ import annotations

import numpy as np

from robell import __version__
from robell.labels.audit.output import judged_table
from robell.labels.target_issues import COVERAGE
from robell.tables.number_target import written


def number_table(result, *, as_text=False):
    """Return the table of an audit of numbers, as its columns by name."""
    how, bounds = result.evidence.target.how, {"lower": result.lower, "upper": result.upper}
    if as_text:
        bounds = {name: _texts(values, how) for name, values in bounds.items()}
    suggested = _texts(result.suggested, how)
    return judged_table(result, result.evidence.cells, suggested, bounds)


def _texts(values, how):
    return np.array(["" if np.isnan(value) else written(value, how) for value in values], object)


def number_summary(result):
    """Return what was found as plain values."""
    n, n_suspects = len(result.row), int(result.suspect.sum())
    places = result.order[result.suspect[result.order]]
    return {
        "audit": result.name,
        "target": result.target,
        "kind": "numbers",
        "rows": result.n_rows,
        "rows_checked": n,
        "rows_reviewed": int(result.reviewed.sum()),
        "rows_without_label": result.n_unlabelled,
        "suspects": n_suspects,
        "suspect_share": n_suspects / n,
        "expected_wrong": result.expected_wrong,
        "noise_rate": result.noise_rate,
        "trust": result.trust,
        "explained": result.explained,
        "usual_error": result.evidence.trust.usual_error,
        "interval_coverage": COVERAGE,
        "columns_that_repeat_the_target": list(result.leaks),
        "suspect_rows": result.row[places].tolist(),
        "suspect_numbers": [
            {
                "row": int(result.row[place]),
                "given": float(result.given[place]),
                "suggested": float(result.suggested[place]),
                "lower": float(result.lower[place]),
                "upper": float(result.upper[place]),
                "quality": float(result.quality[place]),
                "reasons": [
                    reason.text for reason in result.reasons.get(int(result.row[place]), ())
                ],
            }
            for place in places
        ],
        "random_state": result.evidence.random_state,
        "robell": __version__,
    }
