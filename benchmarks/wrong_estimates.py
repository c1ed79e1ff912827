"""How many labels are wrong: what audits estimate beside the truth, on tables with known mistakes.

    python benchmarks/wrong_estimates.py                 # the tables that chose the factors
    python benchmarks/wrong_estimates.py --reporting     # the raw tables of tests/raw_tables.py

Prints, for each word of trust, wrong labels over what their probabilities promise, among suspects
and in the whole table: all tables together, and the 5 %, 50 % and 95 % quantiles of single ones.
These are the factors ``WORTH`` and ``NUMBER_WORTH`` of ``robell/labels/trust.py``. With
``--reporting``, how near the estimates come and how often the intervals hold the truth. The
choosing tables are Gaussian classes that overlap little to much, and the columns of numbers of
``wrong_numbers.py --choosing``; the raw tables had a part in
one choice, the factor of weak tables.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import wrong_numbers
from sklearn import datasets as bundled

from robell import audit
from robell.labels.judge import judge_labels, judge_numbers
from robell.labels.trust import measure_number_trust, measure_trust
from robell.noise import flip_from_class, flip_uniformly

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

GAPS = 1.5, 2.0, 2.7  # of two columns a class, each weakened by chance
SHARES = (0.5, 0.5), (0.75, 0.25), (0.4, 0.3, 0.2, 0.1), (0.25, 0.2, 0.15, 0.15, 0.15, 0.1)
LEVELS = 0, 4, 8, 12, 16  # percent of all labels
LAST_CLASS = 15, 35  # percent of the labels of the last class
ROWS = 1_200


def classes(seed):
    """Yield columns, labels and which of them are wrong."""
    for gap in GAPS:
        for shares in SHARES:
            k = len(shares)
            rng = np.random.default_rng([seed, int(10 * gap), k, int(100 * shares[0])])
            y = rng.choice(k, ROWS, p=shares)
            X = rng.normal(size=(ROWS, 2 * k + 4))
            centres = np.repeat(np.eye(k), 2, axis=1) * rng.uniform(0.3, 1, 2 * k)
            X[:, : 2 * k] += gap * centres[y]
            X[:, 0], X[:, -1] = np.exp(X[:, 0]), X[:, -1] > 0
            for level in LEVELS:
                yield X, *flip_uniformly(y, level / 100, seed)
            for level in LAST_CLASS:
                yield X, *flip_from_class(y, y.max(), level / 100, seed)


def numbers(seed):
    """Yield the same for targets of numbers."""
    tables = [table for _, table in wrong_numbers.choosing()]
    rng = np.random.default_rng(seed)
    for noise in (1.0, 2.0, 3.0):
        tables.append(bundled.make_friedman1(1000, noise=noise, random_state=seed))
        X = rng.normal(size=(1000, 6))
        tables.append((X, np.exp(10 + 0.4 * X[:, 0] - 0.3 * X[:, 1] + 0.1 * rng.normal(size=1000))))
        tables.append((X, 2 * X[:, 0] + X[:, 1] + 0.5 * rng.standard_t(3, 1000)))
    for X, y in tables:
        yield X, y, np.zeros(len(y), bool)
        for kind in ("shifted", "decimal slip", "swapped", "any value"):
            for wrong_numbers.SHARE in (0.04, 0.12):
                yield X, *wrong_numbers.corrupt(X, y, kind, np.random.default_rng(seed))


def choose(n_seeds):
    """Print what the factors are made of."""
    for name, tables in (("classes", classes), ("numbers", numbers)):
        found = defaultdict(list)
        for seed in range(n_seeds):
            for X, y, wrong in tables(seed):
                if name == "classes":
                    judgement = judge_labels(X, y, random_state=0)
                    word = measure_trust(judgement, X, y, 0).word
                else:
                    judgement = judge_numbers(X, y, np.ones(len(y)), 0)
                    word = measure_number_trust(judgement, X.shape).word
                doubt, suspect = 1.0 - judgement.quality, judgement.suspect
                found[word].append(
                    (wrong[suspect].sum(), doubt[suspect].sum(), wrong.sum(), doubt.sum())
                )
        for word, rows in found.items():
            values = np.array(rows)
            for where, (true, promised) in (("suspects", values.T[:2]), ("all rows", values.T[2:])):
                ratios = (true / np.maximum(promised, 1e-9))[promised > 5]
                ends = np.quantile(ratios, [0.05, 0.5, 0.95]) if len(ratios) else [np.nan] * 3
                print(
                    f"{name}, trust {word:5} {len(rows):4} tables, {where}: together "
                    f"{true.sum() / max(promised.sum(), 1e-9):.2f}, single "
                    + ", ".join(f"{end:.2f}" for end in ends)
                )


def report(n_seeds):
    """Print how near estimates come to the truth of the raw tables, written plainly."""
    import pandas as pd
    import raw_tables

    for name in ("claims", "six classes", "numbers"):
        rows = []
        for seed in range(n_seeds):
            table = raw_tables.TABLES[name](seed)
            text = io.StringIO(table.plain)
            frame = pd.read_csv(text, sep=table.delimiter, dtype=str, keep_default_na=False)
            result = audit(frame, table.target)
            wrong, n = table.wrong[result.row - 1], len(result.row)
            low, high = result.expected_wrong_range
            among = wrong[result.suspect].sum()
            ends = [end * n for end in result.noise_rate_range]
            rows.append(
                (
                    among,
                    result.expected_wrong,
                    wrong.sum(),
                    result.noise_rate * n,
                    low <= among <= high,
                    ends[0] <= wrong.sum() <= ends[1],
                )
            )
        values = np.array(rows, float)
        print(
            f"{name}: suspects {values[:, 1].mean():.1f} for {values[:, 0].mean():.1f}, held "
            f"{values[:, 4].mean():.0%}; all rows {values[:, 3].mean():.1f} for "
            f"{values[:, 2].mean():.1f}, held {values[:, 5].mean():.0%}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--reporting", action="store_true", help="the raw tables")
    arguments = parser.parse_args()
    (report if arguments.reporting else choose)(arguments.seeds)


if __name__ == "__main__":
    main()
