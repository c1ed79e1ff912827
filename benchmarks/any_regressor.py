"""NoiseRobustRegressor around three regressors, beside each alone, with wrong target numbers.

    python benchmarks/any_regressor.py               # the ten tables of wrong_numbers.py
    python benchmarks/any_regressor.py --choosing    # those behind the choice of the interval

Of the training targets none, 10 % or 30 % are made wrong, in the five ways of wrong_numbers.py.
Prints the root mean squared error on right targets of held-out rows, in standard deviations of
these, and ours as a multiple of the regressor's alone (geometric means over tables, with the
standard error over tables). Needs robell[robustness].
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import wrong_numbers
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from robell import NoiseRobustRegressor

CELLS = [("none", 0.0)] + [(kind, share) for share in (0.1, 0.3) for kind in wrong_numbers.KINDS]
BASES = {
    "LightGBM": LGBMRegressor(n_jobs=1, verbose=-1, random_state=0),
    "forest": RandomForestRegressor(random_state=0),
    "ridge": make_pipeline(StandardScaler(), Ridge()),
}


def measure(X, y, kind, share, seed):
    """Return the errors of every regressor, alone and made robust, (3, 2)."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    if share:
        wrong_numbers.SHARE = share
        y = wrong_numbers.corrupt(X, y, kind, np.random.default_rng(seed))[0]
    errors = [
        [
            root_mean_squared_error(y_test, model.fit(X, y).predict(X_test))
            for model in (clone(base), NoiseRobustRegressor(base, random_state=0))
        ]
        for base in BASES.values()
    ]
    return np.array(errors) / y_test.std()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--choosing", action="store_true", help="the tables of all choices")
    options = parser.parse_args()
    tables = wrong_numbers.choosing if options.choosing else wrong_numbers.reporting
    found = []
    for place, (name, (X, y)) in enumerate(tables()):
        found.append([measure(X, y, *cell, [place, k]) for k, cell in enumerate(CELLS)])
        print(f"{name}: alone {np.round(found[-1], 3)[:, :, 0].mean(0)}", flush=True)
    found = np.array(found)  # (tables, cells, regressors, 2)
    print(f"{'':22}" + "".join(f"{name:>30}" for name in BASES))
    print(f"{'':22}" + f"{'alone':>9}{'robust':>7}{'robust / alone':>14}" * len(BASES))
    groups = [("none", [0])] + [
        (f"{share:.0%} wrong", [k for k, cell in enumerate(CELLS) if cell[1] == share])
        for share in (0.1, 0.3)
    ]
    groups += [
        (f"{share:.0%} {kind}", [k]) for k, (kind, share) in enumerate(CELLS) if kind != "none"
    ]
    for title, cells in groups:
        row = ""
        for b in range(len(BASES)):
            errors = found[:, cells, b]
            ratio = np.log(errors[..., 1] / errors[..., 0]).mean(axis=1)
            error = ratio.std(ddof=1) / np.sqrt(len(ratio))
            alone, robust = errors.mean(axis=(0, 1))
            lead = f"{np.exp(ratio.mean()):.3f} ({error:.3f})"
            row += f"{alone:9.3f}{robust:7.3f}{lead:>14}"
        print(f"{title:22}{row}")


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        main()
