"""C="loo" beside scikit-learn's RidgeClassifierCV and RidgeCV on the same features.

    python benchmarks/ridge_cv.py [--rows 1000 10000 50000]

Both choose among eleven penalties by leave-one-out errors in closed form; scikit-learn's is given
the features ready made, the constant included, while ours makes them (and fits probabilities where
it has them: the second column is without). One core, one BLAS thread, CPU seconds, the least of
three, the ways taking turns; and the share of rows that both classify alike.
"""

import argparse
import time

import numpy as np
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from threadpoolctl import threadpool_limits

from robell import DeepRVFLClassifier, ELMClassifier, RVFLClassifier, RVFLRegressor

PENALTIES = 10.0 ** np.arange(-5, 6)
MODELS = {
    "RVFLClassifier": RVFLClassifier(100, C="loo", random_state=0),
    "ELMClassifier": ELMClassifier(100, C="loo", random_state=0),
    "DeepRVFLClassifier, concat": DeepRVFLClassifier(50, C="loo", combine="concat", random_state=0),
    "RVFLRegressor": RVFLRegressor(100, C="loo", random_state=0),
}


def table(n_rows, n_columns=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X[:, 0] + np.square(X[:, 1]) / 2 + rng.normal(size=n_rows) / 2


def least(calls):
    spent = {name: [] for name in calls}
    for _ in range(3):
        for name, call in calls.items():
            start = time.process_time()
            call()
            spent[name].append(time.process_time() - start)
    return {name: min(values) for name, values in spent.items()}


def compare(name, model, X, values):
    is_class = "Classifier" in name
    y = (values > np.median(values)).astype(int) if is_class else values
    features = model.fit(X, y)._design(X).whole()
    kind = RidgeClassifierCV if is_class else RidgeCV
    peer = kind(1.0 / PENALTIES, fit_intercept=not is_class)
    calls = {"ours": lambda: model.fit(X, y), "peer": lambda: peer.fit(features, y)}
    plain = model.__class__(**model.get_params())
    if is_class:
        plain.set_params(calibrate=False)
        calls["plain"] = lambda: plain.fit(X, y)
    spent = least(calls)
    ours, theirs = model.predict(X), peer.predict(features)
    if is_class:
        alike = f"{(ours == theirs).mean():8.4f}"
    else:
        alike = f"{np.abs(ours - theirs).max() / np.ptp(values):8.0e}"
    print(
        f"  {name:28}{len(X):8,}{spent['peer']:9.3f}{spent['ours']:9.3f}"
        f"{spent.get('plain', spent['ours']):9.3f}{spent['peer'] / spent['ours']:8.1f}{alike}"
        f"{model.C_:10g}{1.0 / peer.alpha_:10g}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000])
    arguments = parser.parse_args()
    names = f"{'rows':>8}{'theirs':>9}{'ours':>9}{'plain':>9}{'times':>8}{'alike':>8}"
    print(f"  {'model':28}{names}{'C ours':>10}{'theirs':>10}")
    for n_rows in arguments.rows:
        X, values = table(n_rows)
        for name, model in MODELS.items():
            compare(name, model, X, values)


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        main()
