"""Five raw tables with known truth: what audits say of them, before and after a review.

For each table of ``tests/raw_tables.py`` and each seed: how many labels are wrong by estimate, and
how many are; how many suspects are really wrong; the same after a reviewer who is never wrong has
looked at all suspects, or at the worse half of them. Also whether the direction of mistakes that
stands first is the most frequent one, whether each leak is named and each column's type is right,
and the area under the ROC curve of the probabilities of hidden rows, measured by right labels.
``--plain`` takes the same tables with numbers, dates and categories written plainly.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from robell import apply_review, audit, audit_annotators
from robell._tools.files import FileError
from robell.cli import main as command

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import raw_tables

SHARES = {"half": 0.5, "all": 1.0}  # of the suspects that the reviewer looks at
READ_AS = {
    "number": {"number"},
    "date": {"date"},
    "time": {"time", "date", "number"},
    "category": {"category"},
    "text": {"text"},
    "many": {"category", "text"},
    "identifier": {"left out"},
    "constant": {"left out"},
}


def types_right(kinds, columns):
    """Return how many columns are of the right type, and the names of the others."""
    read = {note.name: note.kind for note in columns}
    wrong = [name for name, kind in kinds.items() if read.get(name) not in READ_AS[kind]]
    return len(kinds) - len(wrong), wrong


def leak_named(path, table, folder):
    """Say whether the first screen of an audit warns of the leak."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        command(["audit", str(path), "--target", table.target, "--out", f"{folder}/"])
    lines = [line for line in said.getvalue().splitlines() if table.leaks[0] in line]
    return any("--ignore" in line or "repeats" in line for line in lines)


def review(path, table, result, share, right, folder):
    """Have somebody look at a share of the suspects; return the corrected table and the log."""
    text = result.evidence.table  # the review is written as the table is
    with result.csv.open(newline="", encoding=text.encoding) as file:
        rows = list(csv.DictReader(file, delimiter=text.delimiter))
    suspects = [row for row in rows if row["suspect"] == "yes"]
    for row in suspects[: round(share * len(suspects))]:
        place = int(row["row"]) - 1
        row["decision"] = "change" if table.wrong[place] else "keep"
        if table.wrong[place]:
            row["suggested"] = right[place]
    reviewed = folder / f"reviewed-{share}.csv"
    with reviewed.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return apply_review(path, reviewed, folder / f"clean-{share}.csv")


def direction_right(table, result, wrong):
    """Say whether the mistake named first is the most frequent one; None without a clear one."""
    codes = {label: k for k, label in enumerate(table.classes)}
    truth = np.zeros((len(codes), len(codes)))
    for right, given in zip(table.right[wrong], result.given[wrong], strict=True):
        truth[codes[right], codes[given.strip().lower()]] += 1
    ways = sorted(result.summary()["mistakes"], key=lambda way: -way["rows"])
    first, second = np.sort(truth, axis=None)[::-1][:2]
    if first < 1.5 * second + 5 or not ways:
        return None
    named = codes[ways[0]["true"].lower()], codes[ways[0]["labelled"].lower()]
    return bool(truth[named] == first)


def measure(table, plain, folder):
    """Return what one table gives, by name."""
    path = folder / "table.csv"
    path.write_text(table.plain if plain else table.text, encoding="utf-8")
    right, found = table.right_plain if plain else table.right_cells, {}
    if table.annotators:
        result = audit_annotators(path, table.annotators)
        found["true before"] = float(table.wrong.sum())
        found["estimate before"] = float((1.0 - result.consensus.given_quality).sum())
        found["types"], found["wrong types"] = types_right(table.kinds, result.columns)
        return found
    if table.leaks:
        found["leak named"] = leak_named(path, table, folder)
    result = audit(path, table.target, out=folder, drop=table.leaks)
    notes = [note for note in result.columns if note.name not in table.leaks]
    kinds = {name: kind for name, kind in table.kinds.items() if name not in table.leaks}
    found["types"], found["wrong types"] = types_right(kinds, notes)
    found["trust"] = result.trust
    found["true before"] = float(table.wrong.sum())
    found["estimate before"] = result.noise_rate * len(result.row)
    found["true among suspects"] = float(table.wrong[result.row - 1][result.suspect].sum())
    found["suspects"] = float(result.suspect.sum())
    found["estimate among suspects"] = float(result.expected_wrong)
    if table.classes:
        found["direction before"] = direction_right(table, result, table.wrong)
        P = result.evidence.judgement.without_label(result.evidence.codes)
        names = [label.lower() for label in result.classes]
        areas = [roc_auc_score(table.right == name, P[:, k]) for k, name in enumerate(names)]
        found["area"] = float(np.mean(areas))
    if not result.suspect.any():
        return found
    for when, share in SHARES.items():
        done = review(path, table, result, share, right, folder)
        after = audit(done.out, table.target, drop=table.leaks, reviewed=done.log)
        wrong = table.wrong.copy()
        looked = result.row[result.order[result.suspect[result.order]]] - 1
        wrong[looked[: round(share * len(looked))]] = False
        found[f"true {when}"] = float(wrong.sum())
        found[f"estimate {when}"] = after.noise_rate * len(after.row)
        if table.classes:
            found[f"direction {when}"] = direction_right(table, after, wrong)
    return found


def report(name, measured):
    """Print the means of one kind of table."""
    print(f"\n{name}: {len(measured)} tables")
    values = defaultdict(list)
    for one in measured:
        for key, value in one.items():
            values[key].append(value)
    refused = values.pop("refused", [])
    if refused:
        print(f"  refused: {len(refused)}, such as: {refused[0]}")
    for when in ("before", "among suspects", *SHARES):
        true, estimate = values.get(f"true {when}"), values.get(f"estimate {when}")
        if true:
            true, estimate = np.array(true), np.array(estimate)
            ratio = estimate.mean() / max(true.mean(), 1e-9)
            error = np.abs(estimate - true).mean() / max(true.mean(), 1e-9)
            print(
                f"  wrong, {when}: estimate {estimate.mean():.1f}, truth {true.mean():.1f}, "
                f"ratio {ratio:.2f}, mean error of one table {error:.0%}"
            )
    for when in ("before", *SHARES):
        known = [value for value in values.get(f"direction {when}", []) if value is not None]
        if known:
            print(f"  direction named first, {when}: right {sum(known)} of {len(known)}")
    if "suspects" in values:
        print(f"  suspects {np.mean(values['suspects']):.1f}; trust: {' '.join(values['trust'])}")
    if "leak named" in values:
        print(f"  leaks named: {sum(values['leak named'])} of {len(values['leak named'])}")
    if "types" in values:
        right = sum(values["types"])
        wrong = [column for some in values["wrong types"] for column in some]
        names = ", ".join(f"{c} {wrong.count(c)}" for c in sorted(set(wrong)))
        print(
            f"  types right: {right} of {right + len(wrong)}" + (f"; not: {names}" if names else "")
        )
    if "area" in values:
        print(f"  area under the ROC curve, right labels: {np.mean(values['area']):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tables", nargs="+", choices=raw_tables.TABLES, default=raw_tables.TABLES)
    parser.add_argument("--plain", action="store_true", help="numbers and dates written plainly")
    parser.add_argument("--each", action="store_true", help="print every table")
    arguments = parser.parse_args()
    for name in arguments.tables:
        measured = []
        for seed in range(arguments.seeds):
            table = raw_tables.TABLES[name](seed)
            with tempfile.TemporaryDirectory() as folder:
                try:
                    measured.append(measure(table, arguments.plain, Path(folder)))
                except FileError as error:
                    measured.append({"refused": str(error)})
            if arguments.each:
                print(name, seed, table.noise, table.rate, measured[-1], flush=True)
        report(name, measured)


if __name__ == "__main__":
    main()
