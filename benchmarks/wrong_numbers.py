"""Wrong numbers in a target column: how well they are found, beside cleanlab's regression module.

    python benchmarks/wrong_numbers.py                # ten tables, five kinds of mistakes
    python benchmarks/wrong_numbers.py --forest       # with a forest for cleanlab too, slow
    python benchmarks/wrong_numbers.py --choosing     # most of the tables behind all choices

Average precision of the rows whose target was changed, one in ten, ranked by find_target_issues
and by cleanlab: CleanLearning with linear regression (its default), LightGBM and, if asked for, a
forest; and the better of its two scores with the same left-out predictions as ours. Then how many
of the suspects are wrong, what share of wrong targets is estimated, and how often the intervals of
suggested values hold the targets as they were. Tables: scikit-learn's and KEEL's, where a measured
column is predicted from the others, and two made ones (Friedman's). Needs robell[robustness].
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn import datasets as bundled
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from robell import find_target_issues
from robell._tools.optional import require
from robell.datasets import load

MOST_ROWS = 500
SHARE = 0.1
KINDS = ("shifted", "decimal slip", "swapped", "any value", "one group")
REGISTERED = {  # a column of a classification table, predicted from the others
    "vehicle, scatter ratio": ("vehicle", 6),
    "segment, hue": ("segment", 18),
    "winequality, alcohol": ("winequality-red-8_vs_6", 10),
}
CHOOSING = {
    "bupa, gamma-GT": ("bupa", 4),
    "bupa, drinks": ("bupa", 5),
    "saheart, adiposity": ("saheart", 3),
    "magic, length": ("magic", 0),
    "magic, concentration": ("magic", 3),
    "phoneme, second": ("phoneme", 1),
}


def column_of(name, place):
    X = np.asarray(load(name).X, float)
    return sample(np.delete(X, place, axis=1), X[:, place])


def sample(X, y):
    places = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return X[places], np.asarray(y, float)[places]


def reporting():
    """Yield ten tables by name."""
    yield "diabetes", bundled.load_diabetes(return_X_y=True)
    X = bundled.load_wine().data
    yield "wine, alcohol", (np.delete(X, 0, 1), X[:, 0])
    yield "wine, proline", (np.delete(X, 12, 1), X[:, 12])
    X = bundled.load_breast_cancer().data[:, :10]
    yield "cancer, concavity", (np.delete(X, 6, 1), X[:, 6])
    X = bundled.load_iris().data
    yield "iris, petal length", (np.delete(X, 2, 1), X[:, 2])
    for name, place in REGISTERED.items():
        yield name, column_of(*place)
    yield "Friedman 1 (made)", bundled.make_friedman1(500, noise=0.5, random_state=0)
    yield "Friedman 2 (made)", bundled.make_friedman2(500, noise=50, random_state=0)


def choosing():
    """Yield the tables on which constants were chosen."""
    for name, place in CHOOSING.items():
        yield name, column_of(*place)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 5))
    uneven = np.exp(X[:, 2]) * 0.3 * rng.normal(size=400)
    yield "uneven noise (made)", (X, X[:, 0] ** 2 + X[:, 1] + uneven)
    yield "Friedman 1, noisy (made)", bundled.make_friedman1(400, noise=1.0, random_state=9)
    yield "linear (made)", bundled.make_regression(300, 10, noise=20.0, random_state=3)


def corrupt(X, y, kind, rng):
    """Return targets of which a tenth is wrong, and which."""
    n, spread, wrong = len(y), y.std(), y.copy()
    k = max(5, round(SHARE * n))
    rows = rng.choice(n, k, replace=False)
    if kind == "shifted":
        wrong[rows] += spread * rng.choice([-1, 1], k) * rng.uniform(1, 3, k)
    elif kind == "decimal slip":
        wrong[rows] *= rng.choice([0.1, 10.0], k)
    elif kind == "swapped":
        wrong[rows] = np.roll(y[rows], 1)
    elif kind == "any value":
        wrong[rows] = rng.uniform(y.min(), y.max(), k)
    else:  # a third of the rows with near values of one column is off by the same amount
        column = X[:, rng.integers(X.shape[1])] + 1e-9 * rng.normal(size=n)
        near = np.argsort(np.abs(column - rng.choice(column)))[: 3 * k]
        rows = rng.choice(near, k, replace=False)
        wrong[rows] += 1.5 * spread * rng.choice([-1, 1])
    return wrong, wrong != y


def models(with_forest):
    """Return the models given to cleanlab."""
    lightgbm = require("lightgbm", "robustness")
    found = {
        "linear": LinearRegression(),
        "LightGBM": lightgbm.LGBMRegressor(n_jobs=1, verbose=-1, random_state=0),
    }
    if with_forest:
        found["forest"] = RandomForestRegressor(50, min_samples_leaf=2, random_state=0)
    return found


def theirs(X, y, model):
    """Return cleanlab's qualities with a model."""
    learn = require("cleanlab.regression.learn", "robustness").CleanLearning
    return learn(model, seed=0).find_label_issues(X, y)["label_quality"].to_numpy()


def measure(X, y, noisy, wrong, peers):
    """Return the average precisions, and what is said of ours."""
    rank = require("cleanlab.regression.rank", "robustness").get_label_quality_scores
    ours = find_target_issues(X, noisy, random_state=0)
    same = max(
        average_precision_score(wrong, -rank(noisy, ours.predicted, method=method))
        for method in ("residual", "outre")
    )
    scores = [average_precision_score(wrong, -ours.sample_quality)]
    scores += [average_precision_score(wrong, -theirs(X, noisy, peer)) for peer in peers.values()]
    held = (ours.interval[:, 0] <= y) & (y <= ours.interval[:, 1])
    rest = [len(ours), wrong[ours.index].sum(), (1 - ours.quality).sum(), wrong.sum()]
    return [*scores, same], [*rest, ours.noise_rate, held.mean(), held[wrong].mean()]


def report(title, rows):
    means = np.mean([scores for scores, _ in rows], axis=0)
    print(f"{title:26}" + "".join(f"{value:10.3f}" for value in means), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--choosing", action="store_true", help="the tables of all choices")
    parser.add_argument("--forest", action="store_true", help="a forest for cleanlab too")
    options = parser.parse_args()
    tables, peers = choosing if options.choosing else reporting, models(options.forest)
    names = ("ours", *peers, "same pred.")
    print(f"{'average precision':26}" + "".join(f"{name:>10}" for name in names))
    by_kind = {kind: [] for kind in KINDS}
    for place, (name, (X, y)) in enumerate(tables()):
        rows = []
        for kind in KINDS:
            rng = np.random.default_rng([place, KINDS.index(kind)])
            rows.append(measure(X, y, *corrupt(X, y, kind, rng), peers))
            by_kind[kind].append(rows[-1])
        report(name, rows)
    for kind, rows in by_kind.items():
        report(kind, rows)
    every = [row for rows in by_kind.values() for row in rows]
    report("all", every)
    scores = np.array([scores for scores, _ in every])
    gap = scores[:, 0] - scores[:, 1:-1].max(axis=1)
    by_table = gap.reshape(len(KINDS), -1).mean(axis=0)
    error = by_table.std(ddof=1) / np.sqrt(len(by_table))
    print(f"over cleanlab with the best model each time: {gap.mean():+.3f} (error {error:.3f})")
    n, hit, promised, wrong, *_ = np.sum([rest for _, rest in every], axis=0)
    rate, held, held_wrong = np.mean([rest for _, rest in every], axis=0)[4:]
    print(
        f"suspects {n:.0f}, wrong {hit:.0f}, promised {promised:.0f} of {wrong:.0f}; estimated "
        f"share {rate:.3f}; intervals of 90 % hold {held:.3f} of all, {held_wrong:.3f} of the wrong"
    )


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        main()
