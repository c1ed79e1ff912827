"""Tables of few kinds of rows: how near probabilities and predictions come to the truth.

    python benchmarks/few_kinds.py
    python benchmarks/few_kinds.py --tables 3

Made tables in which many rows are equal in all columns: one column of two values, five categories
as columns of their own, twelve kinds (four values by three), and 24 (four categories by two values
by three). The log-odds of the kinds are half a trend along the columns and half their own. Prints
for each, and for so many rows, how far the mean log loss of the probabilities of all kinds is above
the least possible one, weak and strong classes apart; and of regressors the root mean square error
of their predictions, with noise of .03, .3 and 1 beside targets that spread by about 1. Kinds count
by how frequent they are. Means over eight tables.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from robell import HuberRVFLClassifier, RVFLClassifier, RVFLRegressor

CATEGORIES = np.eye(4)
KINDS = {
    "two values": np.array([[0.0], [1.0]]),
    "five categories": np.eye(5),
    "twelve": np.array(list(itertools.product(range(4), range(3))), float),
    "twenty-four": np.array([[*c, a, b] for c in CATEGORIES for a in (0, 1) for b in (0, 1, 2)]),
}
N_ROWS, N_TABLES = (60, 200, 1000), 8
CLASSIFIERS = {
    "RVFL": RVFLClassifier(random_state=0),
    "RVFL, C=loo": RVFLClassifier(C="loo", random_state=0),
    "R2VFL": HuberRVFLClassifier(random_state=0),
}
REGRESSORS = {
    "RVFL": RVFLRegressor(random_state=0),
    "RVFL, C=loo": RVFLRegressor(C="loo", random_state=0),
}


def made_table(kinds, n_rows, rng):
    """Return the standardised kinds, how frequent each is, its value, and the kind of every row."""
    kinds = (kinds - kinds.mean(axis=0)) / kinds.std(axis=0)
    trend = kinds @ rng.normal(size=kinds.shape[1])
    value = trend / trend.std() + 0.5 * rng.normal(size=len(kinds))
    share = rng.dirichlet(np.full(len(kinds), 3.0))
    return kinds, share, value, rng.choice(len(kinds), n_rows, p=share)


def excess_log_loss(model, kinds, n_rows, strength, seed):
    """Return by how much the log loss exceeds that of the true probabilities."""
    rng = np.random.default_rng(seed)
    kinds, share, value, which = made_table(kinds, n_rows, rng)
    second = 1.0 / (1.0 + np.exp(0.3 - strength * value))
    y = (rng.random(n_rows) < second[which]).astype(int)
    y[:2] = 0, 1
    true = np.column_stack([1.0 - second, second])
    found = clone(model).fit(kinds[which], y).predict_proba(kinds)
    return share @ (true * np.log(true / found)).sum(axis=1)


def error_of_numbers(model, kinds, n_rows, noise, seed):
    """Return the root mean square error of the predictions for all kinds."""
    rng = np.random.default_rng(seed)
    kinds, share, value, which = made_table(kinds, n_rows, rng)
    y = value[which] + noise * rng.normal(size=n_rows)
    found = clone(model).fit(kinds[which], y).predict(kinds)
    return np.sqrt(share @ np.square(found - value))


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=N_TABLES)
    seeds = range(parser.parse_args().tables)
    for measure, models, levels in (
        (excess_log_loss, CLASSIFIERS, (0.3, 1.0, 3.0)),
        (error_of_numbers, REGRESSORS, (0.03, 0.3, 1.0)),
    ):
        level = "strength" if models is CLASSIFIERS else "noise"
        print(f"\n{measure.__doc__}\n{'kinds':>16} rows {level}  {'  '.join(models)}")
        for (name, kinds), n_rows, amount in itertools.product(KINDS.items(), N_ROWS, levels):
            means = [
                np.mean([measure(model, kinds, n_rows, amount, seed) for seed in seeds])
                for model in models.values()
            ]
            numbers = "  ".join(f"{value:.3f}" for value in means)
            print(f"{name:>16} {n_rows:4} {amount:8}  {numbers}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
