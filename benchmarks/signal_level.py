"""How often an audit sees a signal in labels that have nothing to do with the columns, or have.

    python benchmarks/signal_level.py                 # shuffled labels: 20 of each kind of table
    python benchmarks/signal_level.py --tables 100
    python benchmarks/signal_level.py --power         # the same tables, labels tied to a column

Tables have 30 to 1,000 rows and 1 to 150 columns: normal, of few levels, or with long tails. Labels
are two or three classes, even or rare, or numbers: normal, of long tails, or rounded. Prints, for
classes and numbers, the share of tables whose p-value is below .05, by size, by columns and by
labels. The test costs no time of its own: it uses predictions that trust is measured by anyway.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

from robell._tools.threads import calm_blas
from robell.labels.judge import judge_labels, judge_numbers
from robell.labels.trust import LEVEL, measure_number_trust, measure_trust

SHAPES = (30, 1), (60, 5), (60, 40), (150, 3), (300, 20), (300, 150), (1000, 8)
COLUMNS = {
    "normal": lambda X: X,
    "few levels": np.floor,
    "long tails": lambda X: np.exp(1.5 * X),
}
CLASSES = {"even": (0.5, 0.5), "rare": (0.9, 0.1), "three": (0.5, 0.3, 0.2)}
NUMBERS = {
    "normal": lambda z: z,
    "long tails": lambda z: np.exp(2.0 * z),
    "rounded": lambda z: np.round(1.5 * z),
}
TIED = 0.5  # of the first column in what labels are made of, for --power


def tables(seed, share):
    """Yield columns, labels, whether they are classes, and what kind of table it is."""
    for place, (n, d) in enumerate(SHAPES):
        for name, form in COLUMNS.items():
            rng = np.random.default_rng([seed, place, len(name)])
            hidden = rng.normal(size=(n, d))
            z = share * hidden[:, 0] + np.sqrt(1 - share**2) * rng.normal(size=n)
            X, size = form(hidden), f"{n:,} x {d}"
            for kind, shares in CLASSES.items():
                cuts = np.quantile(z, np.cumsum(shares)[:-1])
                yield X, np.searchsorted(cuts, z), True, (size, name, kind)
            for kind, made in NUMBERS.items():
                yield X, made(z), False, (size, name, f"{kind} numbers")


@calm_blas
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--power", action="store_true")
    options = parser.parse_args()
    seen = {True: defaultdict(list), False: defaultdict(list)}
    for seed in range(options.tables):
        for X, y, is_classes, names in tables(seed, TIED if options.power else 0.0):
            if is_classes:
                trust = measure_trust(judge_labels(X, y, random_state=0), X, y, 0)
            else:
                trust = measure_number_trust(judge_numbers(X, y, np.ones(len(y)), 0), X.shape)
            for name in ("all", *names):
                seen[is_classes][name].append(trust.p_value < LEVEL)
    what = f"tied to a column ({TIED})" if options.power else "that have nothing to do with it"
    for is_classes, found in seen.items():
        print(f"{'classes' if is_classes else 'numbers'} {what}: share with p < {LEVEL}")
        for name, each in found.items():
            print(f"  {name:20} {np.mean(each):6.3f}  of {len(each):,} tables")


if __name__ == "__main__":
    main()
