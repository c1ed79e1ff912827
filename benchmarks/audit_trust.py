"""How often an audit is right when it says how far to trust it, on tables with known mistakes.

    python benchmarks/audit_trust.py --records found.jsonl

Simulated and bundled tables with 0 to 40 % of the labels wrong in every class, or 10 and 30 % in
the last alone. Half of the seeds choose the limits of ``robell/labels/trust.py``, the other half
reports: both are printed, and for the choosing half what other limits would give. Tables that the
file of records holds are not judged again.
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from sklearn import datasets as bundled

from robell.labels import trust as limits
from robell.labels.judge import judge_labels
from robell.noise import flip_from_class, flip_uniformly

# Gaussian classes: distance of their centres, shares of the classes, columns without meaning.
SIMULATED = {
    "two apart": (4.0, (0.5, 0.5), 3),
    "two overlapping": (1.0, (0.5, 0.5), 3),
    "three apart": (3.0, (0.6, 0.28, 0.12), 2),
    "95:5 apart": (4.0, (0.95, 0.05), 3),
    "90:10 overlapping": (1.5, (0.9, 0.1), 3),
    "ten apart": (5.0, (0.1,) * 10, 2),
    "more columns than rows": (3.0, (0.5, 0.5), 403),
}
BUNDLED = ("iris", "wine", "breast_cancer", "digits")
SIZES = (150, 400)
EVERY_CLASS, LAST_CLASS = (0, 5, 10, 20, 40), (10, 30)
WORDS = ("good", "fair", "weak", "none")


def table(kind, n, seed):
    """Return rows and true classes."""
    if kind in BUNDLED:
        X, y = getattr(bundled, f"load_{kind}")(return_X_y=True)
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(y))[:n]
        return X[rows], y[rows]
    gap, shares, n_idle = SIMULATED[kind]
    rng = np.random.default_rng([seed, n, zlib.crc32(kind.encode())])
    y = rng.choice(len(shares), n, p=shares)
    X = rng.normal(size=(n, len(shares) + n_idle))
    X[:, : len(shares)] += gap * np.eye(len(shares))[y]
    return X, y


def planned(n_seeds):
    """Yield (half, kind, rows, which classes, percent, seed) of every table."""
    for place in range(n_seeds):
        for half, first in (("choosing", 0), ("reporting", 1000)):
            for kind in (*SIMULATED, *BUNDLED):
                for n in SIZES if kind in SIMULATED else SIZES[-1:]:
                    for level in EVERY_CLASS:
                        yield half, kind, n, "every", level, first + place
                    for level in LAST_CLASS:
                        yield half, kind, n, "last", level, first + place


def judge(half, kind, n, which, level, seed):
    """Judge one table; return what the words of trust are made of, and what was true."""
    X, y = table(kind, n, seed)
    if which == "last":
        noisy, wrong = flip_from_class(y, y.max(), level / 100, seed)
    else:
        noisy, wrong = flip_uniformly(y, level / 100, seed)
    codes = np.unique(noisy, return_inverse=True)[1]
    judgement = judge_labels(X, codes, random_state=0)
    found = limits.measure_trust(judgement, X, codes, 0)
    suspect = judgement.suspect
    return {
        "place": [half, kind, n, which, level, seed],
        "shape": list(X.shape),
        "wrong": float(wrong.mean()),
        "suspects": int(suspect.sum()),
        "right": int(wrong[suspect].sum()),
        "promised": float((1.0 - judgement.quality[suspect]).sum()),
        "rate": judgement.noise_rate,
        "separation": found.separation,
        "misfits": found.misfits,
        "clarity": found.clarity,
        "nothing": found.word == "none",
    }


def word_of(record):
    """Return the word of trust under the limits as they are now."""
    if record["nothing"]:
        return "none"
    rows = np.broadcast_to(0.0, record["shape"])
    suspect = np.arange(len(rows)) < record["suspects"]
    judgement = SimpleNamespace(classes=(), suspect=suspect, noise_rate=record["rate"])
    unseen = SimpleNamespace(
        separations=np.array([record["separation"]]),
        errors=np.array([1e-9]),  # there was a signal
        misfits=record["misfits"],
    )
    with patch.object(limits, "clarity_of", return_value=record["clarity"]):
        return limits.measure_trust(judgement, rows, None, 0, unseen=unseen).word


def show(title, records):
    """Print, word by word, how many tables there are and how many suspects are wrong."""
    print(f"\n{title}: {len(records)} tables")
    print(
        f"{'':6}{'tables':>8}{'named':>8}{'wrong':>8}{'worst':>8}{'mostly':>8}{'expect.':>8}",
        end="",
    )
    print(f"{'rate off':>10}{'silent':>8}{'left':>7}")
    for word in WORDS:
        here = [r for r in records if word_of(r) == word]
        named = [r for r in here if r["suspects"]]
        silent = [r["wrong"] for r in here if not r["suspects"]]
        shares = [r["right"] / r["suspects"] for r in named]
        expected = [limits.WORTH[word][0][0] * r["promised"] / r["suspects"] for r in named] or [
            np.nan
        ]
        off = np.mean([abs(r["rate"] - r["wrong"]) for r in here]) if here else np.nan
        print(f"{word:6}{len(here):8}{len(named):8}", end="")
        print(f"{np.mean(shares):8.2f}{min(shares):8.2f}" if shares else " " * 16, end="")
        print(f"{sum(s < 0.5 for s in shares):8}{np.mean(expected):8.2f}{100 * off:10.1f}", end="")
        print(f"{len(silent):8}{100 * np.mean(silent):7.1f}" if silent else "")


def show_limits(records):
    """Print what other limits of clarity give: tables, share of suspects wrong, mostly mistaken."""
    for name, word in (("CLEAR", "good"), ("RATHER_CLEAR", "fair")):
        for value in (0.8, 0.83, 0.85, 0.87, 0.9, 0.92, 0.94):
            with patch.object(limits, name, value):
                named = [r for r in records if word_of(r) == word and r["suspects"]]
            shares = [r["right"] / r["suspects"] for r in named] or [np.nan]
            bad = sum(s < 0.5 for s in shares)
            print(
                f"{name} {value:.2f}: {word} {len(named):4}, {np.mean(shares):.2f} wrong, {bad} bad"
            )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", required=True, help="a file that keeps what was found")
    parser.add_argument("--seeds", type=int, default=1, help="of each half")
    options = parser.parse_args()
    path = Path(options.records)
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {tuple(r["place"]) for r in records}
    with path.open("a") as file:
        for place in planned(options.seeds):
            if place not in done:
                records.append(judge(*place))
                file.write(json.dumps(records[-1]) + "\n")
                file.flush()
    halves = {h: [r for r in records if r["place"][0] == h] for h in ("choosing", "reporting")}
    for half, found in halves.items():
        show(half, found)
        for kind in (*SIMULATED, *BUNDLED):
            show(f"{half}, {kind}", [r for r in found if r["place"][1] == kind])
    show_limits(halves["choosing"])


if __name__ == "__main__":
    main()
