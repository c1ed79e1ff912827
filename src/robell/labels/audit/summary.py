"""What an audit found, in few numbers: which labels are mixed up, and a summary for programs."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from robell import __version__
from robell.labels.audit.against import against_summary
from robell.labels.audit.groups import groups_summary

LEAST_ROWS = 0.5  # rows below which an estimated kind of mistake is not worth a sentence
LEAST_SHARE = 0.005  # the same for its share of the true class
FAR_MORE = 2.0  # times the share of suspects in the table, from which on a class is hit hardest


@dataclass(frozen=True)
class Direction:
    """One kind of mistake: rows of class `true` that are labelled `given`, as places of classes.

    `share` estimates how many of the rows that really belong to `true` carry the label `given`,
    `rows` their number, and `suspects` counts the rows that were located.
    """

    true: int
    given: int
    share: float
    rows: float
    suspects: int


def directions(result):
    """Return the kinds of mistakes that stand out, those with most suspects and rows first."""
    sizes, evidence = result.probability.sum(axis=0), result.evidence
    count = np.zeros((len(result.classes),) * 2, int)
    found = result.suspect
    np.add.at(count, (evidence.judgement.suggested[found], evidence.codes[found]), 1)
    ways = []
    for true in range(len(sizes)):
        for given in range(len(sizes)):
            share = float(result.noise_matrix[true, given])
            rows = share * float(sizes[true])
            way = Direction(true, given, share, rows, int(count[true, given]))
            if true != given and (stands_out(way) or way.suspects):
                ways.append(way)
    return sorted(ways, key=lambda way: (-way.suspects, -way.rows, way.true, way.given))


def stands_out(way):
    """Say whether an estimated kind of mistake is worth a sentence."""
    return way.rows >= LEAST_ROWS and way.share >= LEAST_SHARE


def hardest_hit(result):
    """Return the kind of mistake that hits one class far more than the table, or None.

    In a table of few positives, 1 % of wrong labels may be a quarter of the positives.
    """
    if result.trust not in ("good", "fair"):
        return None
    ways = [way for way in directions(result) if way.suspects and stands_out(way)]
    worst = max(ways, key=lambda way: way.share, default=None)
    if worst is None or worst.share < FAR_MORE * float(result.suspect.mean()):
        return None
    return worst


def noise_words(result, way, quote):
    """Say how many rows of a class carry another label."""
    share = round(100 * way.share)
    start = f"About {share}" if share >= 1 else "Fewer than 1"
    return (
        f"{start} of 100 rows that are really {quote(result.classes[way.true])} "
        f"{'is' if share == 1 else 'are'} labelled {quote(result.classes[way.given])}"
    )


def summary(result):
    """Return what was found as plain values."""
    n, n_suspects = len(result.row), int(result.suspect.sum())
    codes, n_classes = result.evidence.codes, len(result.classes)
    given = np.bincount(codes, minlength=n_classes)
    suspects = np.bincount(codes[result.suspect], minlength=n_classes)
    return {
        "audit": result.name,
        "target": result.target,
        "kind": "classes",
        "rows": result.n_rows,
        "rows_checked": n,
        "rows_reviewed": int(result.reviewed.sum()),
        "rows_without_label": result.n_unlabelled,
        "classes": {
            label: {"rows": int(given[k]), "suspects": int(suspects[k])}
            for k, label in enumerate(result.classes)
        },
        "suspects": n_suspects,
        "suspect_share": n_suspects / n,
        "expected_wrong": result.expected_wrong,
        "noise_rate": result.noise_rate,
        "mistakes": [
            {
                "true": result.classes[way.true],
                "labelled": result.classes[way.given],
                "share_of_true": way.share,
                "rows": way.rows,
                "suspects": way.suspects,
            }
            for way in (directions(result) if result.trust != "none" else [])
        ],
        **({} if result.groups is None else {"by_group": groups_summary(result)}),
        **({} if result.against is None else {"against": against_summary(result)}),
        "trust": result.trust,
        "separation": result.separation,
        "columns_that_repeat_the_target": list(result.leaks),
        "suspect_rows": result.row[result.order[result.suspect[result.order]]].tolist(),
        "reasons": {
            str(row): [reason.text for reason in reasons] for row, reasons in result.reasons.items()
        },
        "random_state": result.evidence.random_state,
        "robell": __version__,
    }


def as_json(values):
    """Return a summary as JSON."""
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def is_summary(path):
    """Say whether a file looks like the summary of an earlier audit."""
    with open(path, "rb") as file:
        return file.read(12) == b'{\n  "audit": '[:12]
