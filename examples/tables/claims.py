"""Make the table of the tutorial: insurance claims as an office would export them.

    python examples/tables/claims.py FOLDER

writes ``claims.csv`` (2,500 claims of a year, with text, dates, gaps and wrong labels),
``truth.csv`` (what a careful investigator would have written, which a real office does not have),
and the claims of two later months, without labels: ``january.csv``, and ``february.csv``, in which
one branch has begun to enter amounts in cents.
"""

import csv
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np

BRANCHES = ["Oslo", "Rome", "Kyiv", "Lima"]
KINDS = ["collision", "theft", "hail", "glass", "fire"]
COLUMNS = [
    *["claim", "received", "branch", "kind", "amount", "deductible", "car_age"],
    *["earlier_claims", "days_to_report", "police_report", "note"],
]


def write(path, header, rows):
    """Write one CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def claims(rng, n, first_day, days, start):
    """Return n claims of so many days as rows of text, and which of them are frauds."""
    fraud = rng.random(n) < 0.1
    kind = rng.choice(5, n, p=[0.45, 0.15, 0.15, 0.2, 0.05])
    kind[fraud & (rng.random(n) < 0.6)] = 1  # most frauds are thefts
    amount = np.exp(rng.normal(7.2, 0.7, n) + 0.9 * fraud + 0.5 * (kind == 1))
    delay = rng.poisson(3 + 5 * fraud)
    earlier = rng.poisson(0.4 + 1.4 * fraud)
    age = rng.integers(0, 18, n)
    police = np.where(rng.random(n) < np.where(fraud, 0.2, 0.7), "yes", "no")
    police[rng.random(n) < 0.06] = ""
    notes = np.where(
        fraud & (rng.random(n) < 0.7),
        rng.choice(["no witness, car not found", "cash offer wanted", "receipts missing"], n),
        rng.choice(["photos attached", "repair shop called", "witness named", "photos later"], n),
    )
    day = [date.fromisoformat(first_day) + timedelta(int(d)) for d in rng.integers(0, days, n)]
    rows = []
    for i in range(n):
        branch, share = BRANCHES[rng.integers(4)], rng.choice(["0 %", "10 %", "20 %"])
        years = rng.choice([str(age[i]), "n.a."], p=[0.97, 0.03])
        first = [f"C-{start + i:05d}", f"{day[i]:%d.%m.%Y}", branch, KINDS[kind[i]]]
        numbers = [f"{amount[i]:,.2f}", share, years, earlier[i], delay[i]]
        rows.append([*first, *numbers, police[i], notes[i]])
    return rows, fraud


def main(folder):
    """Write the four files."""
    rng = np.random.default_rng(7)
    folder.mkdir(parents=True, exist_ok=True)
    rows, fraud = claims(rng, 2500, "2025-01-01", 365, 1)
    missed, accused = rng.random(2500) < 0.25, rng.random(2500) < 0.015
    label = np.where(fraud, ~missed, accused)
    spelt = [rng.choice(["yes", "Yes"] if one else ["no", "no", "No "]) for one in label]
    labelled = [[*row, one] for row, one in zip(rows, spelt, strict=True)]
    write(folder / "claims.csv", [*COLUMNS, "fraud"], labelled)
    truth = [[row[0], "yes" if one else "no"] for row, one in zip(rows, fraud, strict=True)]
    write(folder / "truth.csv", ["claim", "fraud"], truth)
    january, _ = claims(rng, 400, "2026-01-01", 31, 2501)
    write(folder / "january.csv", COLUMNS, january)
    february, _ = claims(rng, 400, "2026-02-01", 28, 2901)
    for row in february:
        if row[2] in ("Rome", "Lima"):
            row[4] = str(round(100 * float(row[4].replace(",", ""))))
    write(folder / "february.csv", COLUMNS, february)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
