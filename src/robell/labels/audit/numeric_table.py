"""What an audit of numbers found, for programs: the table of all rows, and a summary."""

from __future__ import annotations

import numpy as np

from robell import __version__
from robell.labels.audit.reasons import reasons_text
from robell.labels.review.decisions import KEEP
from robell.labels.target_issues import COVERAGE
from robell.tables.number_target import written


def number_table(result, *, as_text=False):
    """Return the names and the columns of the table of all rows, the least probable numbers first.

    Without any trust, there are neither suggestions nor probabilities.
    """
    order, known = result.order, result.trust != "none"
    n, how = len(order), result.evidence.target.how
    columns = {"row": result.row[order]}
    if result.line is not None:
        columns["line"] = result.line[order]
    columns["given"] = result.evidence.cells[order]
    columns["suggested"] = _texts(result.suggested[order], how) if known else np.full(n, "", object)
    columns["decision"] = np.where(result.reviewed[order], KEEP, "").astype(object)
    columns["quality"] = result.quality[order] if known else np.full(n, np.nan)
    for name in ("lower", "upper"):
        bound = getattr(result, name)[order] if known else np.full(n, np.nan)
        columns[name] = _texts(bound, how) if as_text else bound
    columns["suspect"] = result.suspect[order] if known else np.full(n, "cannot tell", object)
    columns["reasons"] = np.array([reasons_text(result, place) for place in order], object)
    columns["target"] = np.full(n, result.target, object)
    columns["fingerprint"] = result.fingerprint[order]
    return list(columns), list(columns.values())


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
