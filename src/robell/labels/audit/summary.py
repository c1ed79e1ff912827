"""What an audit found, in few numbers: which labels are mixed up, and a summary for programs."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from robell import __version__

LEAST_ROWS = 0.5  # rows below which an estimated kind of mistake is not worth a sentence
LEAST_SHARE = 0.005  # the same for its share of the true class


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
            stands_out = rows >= LEAST_ROWS and share >= LEAST_SHARE
            if true != given and (stands_out or count[true, given]):
                ways.append(Direction(true, given, share, rows, int(count[true, given])))
    return sorted(ways, key=lambda way: (-way.suspects, -way.rows, way.true, way.given))


def summary(result):
    """Return what was found as plain values."""
    n, n_suspects = len(result.row), int(result.suspect.sum())
    codes, n_classes = result.evidence.codes, len(result.classes)
    given = np.bincount(codes, minlength=n_classes)
    suspects = np.bincount(codes[result.suspect], minlength=n_classes)
    return {
        "audit": result.name,
        "target": result.target,
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
        "trust": result.trust,
        "separation": result.separation,
        "columns_that_repeat_the_target": list(result.leaks),
        "suspect_rows": result.row[result.order[result.suspect[result.order]]].tolist(),
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
