"""Approximate memberships on tables they were not chosen on, against exact ones.

    python benchmarks/approximate_tables.py
    python benchmarks/approximate_tables.py --keel magic penbased    (needs robell[datasets])

The settings (landmarks, probes, references) were chosen on the Gaussian clusters of ``scale.py``.
Here: made tables of other shapes, and KEEL's standard sets of more than 4,096 rows a class, below
which every class is compared in full. Kernel widths are shares of the usual one, sqrt(B Var X).
Printed: largest and mean error of the memberships of the larger classes, the mean of their bounds,
how many bounds were violated, the share of the table's own predictions that change, and how many
times less CPU time the approximate fit takes.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.preprocessing import StandardScaler

from robell import RoBellRVFLClassifier


def labels_by(score, share, rng):
    """Label the rows of highest score as the minority, with a little noise."""
    noisy = score + 0.5 * score.std() * rng.normal(size=len(score))
    return (noisy > np.quantile(noisy, 1 - share)).astype(int)


def uniform_cube(n, rng):
    X = rng.random((n, 5))
    return X, labels_by(X[:, 0] * X[:, 1], 0.1, rng)


def wide_gaussian(n, rng):
    X = rng.normal(size=(n, 60))
    return X, labels_by(X[:, :5].sum(axis=1), 0.2, rng)


def heavy_tails(n, rng):
    X = rng.standard_t(3, size=(n, 12)) * rng.lognormal(0, 1, 12)
    return X, labels_by(X[:, 0], 0.05, rng)


def rings(n, rng):
    radius, angle = rng.choice([1.0, 2.0, 3.0], n), rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return X + 0.1 * rng.normal(size=X.shape), ((radius == 2) & (rng.random(n) < 0.4)).astype(int)


def low_rank(n, rng):
    Z = rng.normal(size=(n, 4))
    X = Z @ rng.normal(size=(4, 40)) + 0.05 * rng.normal(size=(n, 40))
    return X, labels_by(np.abs(Z[:, 0]), 0.15, rng)


def categories(n, rng):
    codes = rng.integers(0, 4, (n, 6))
    X = np.hstack([np.eye(4)[codes[:, j]] for j in range(6)])
    return X, labels_by(codes.sum(axis=1).astype(float), 0.1, rng)


def four_classes(n, rng):
    y = rng.choice(4, n, p=[0.45, 0.35, 0.15, 0.05])
    return rng.normal(size=(4, 10))[y] + rng.normal(size=(n, 10)), y


MADE = (uniform_cube, wide_gaussian, heavy_tails, rings, low_rank, categories, four_classes)


def keel_table(name):
    from robell.datasets import load

    found = load(name)
    return np.asarray(found.X, float), np.asarray(found.y)


def compare(X, y, share):
    """Fit with exact and with approximate memberships, and compare."""
    X = StandardScaler().fit_transform(X)
    width = share * float(np.sqrt(X.shape[1] * X.var()))
    models, seconds = [], []
    for method in ("exact", "approximate"):
        model = RoBellRVFLClassifier(
            kernel_width=width, membership=method, random_state=0, calibrate=False
        )
        start = time.process_time()
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")  # of bounds that say nothing
            models.append(model.fit(X, y))
        seconds.append(time.process_time() - start)
    true, found = models
    error = np.abs(found.membership_ - true.membership_)
    labels, sizes = np.unique(y, return_counts=True)
    larger = y != labels[np.argmin(sizes)]
    beyond = error > found.membership_error_ + 1e-12  # where both are exact, rounding is left
    changed = np.mean(found.predict(X) != true.predict(X))
    return (
        *(error.max(), error[larger].mean(), found.membership_error_[larger].mean()),
        *(int(beyond.sum()), 100 * changed, seconds[0] / seconds[1]),
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--widths", type=float, nargs="+", default=[0.4, 1.0])
    parser.add_argument("--keel", nargs="*", default=[], help="names of KEEL's standard sets")
    options = parser.parse_args()
    tables = [(make.__name__, make) for make in MADE] if not options.keel else []
    tables += [(name, None) for name in options.keel]
    head = ("largest", "mean", "bound", "violated", "changed %", "faster")
    print(f"{'table':16}{'rows':>8}{'B':>5}{'width':>7}" + "".join(f"{h:>11}" for h in head))
    for name, make in tables:
        rng = np.random.default_rng(1)
        X, y = make(options.rows, rng) if make else keel_table(name)
        for share in options.widths:
            found = compare(X, y, share)
            cells = "".join(f"{value:11.4g}" for value in found)
            print(f"{name:16}{len(X):8}{X.shape[1]:5}{share:7}{cells}", flush=True)


if __name__ == "__main__":
    main()
