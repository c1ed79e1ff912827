"""Time beside gfdl, graforvfl, scikit-elm and scikit-learn's ridge, where they do the same work.

    python benchmarks/peer_speed.py [--rounds 5] [--rows 20000]

One BLAS thread, CPU seconds of a fit and of predictions for the same rows, runs interleaved in one
process, medians. All networks have the same number of sigmoid nodes, links from the inputs to the
output where the first line of a part says so, and the same penalty. Ridge gets the features of our
network ready made. The last column says that they do the same work: the share of 5,000 unseen rows
whose class is right (R² for numbers), up to the random layers, which differ.

gfdl needs Python 3.12 and graforvfl an older NumPy than robell asks for, so each may run in an
environment of its own, with robell on the path. Peers that cannot be imported are left out.
"""

import argparse
import platform
import time
import warnings
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import numpy as np
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from threadpoolctl import threadpool_limits

from robell import (
    DeepRVFLClassifier,
    DeepRVFLRegressor,
    ELMClassifier,
    ELMRegressor,
    RVFLClassifier,
    RVFLRegressor,
)

N_NODES, N_PARTS, N_UNSEEN = 100, 20, 5000
PENALTIES = 10.0 ** np.arange(-5, 6)


def table(n_rows, n_classes):
    """Return rows to fit and rows unseen, with classes, or numbers where there are no classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + N_UNSEEN, 50))
    y = X[:, 0] * X[:, 1] + X @ rng.normal(size=50) / 4 + rng.normal(size=len(X))
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


class OnFeatures:
    """A linear model of scikit-learn on the features of a network of ours, which are ready made."""

    def __init__(self, model, network, tables):
        self.model = model
        X, y, unseen, _ = tables
        network = network.fit(X, y)
        self.features = {len(rows): network._design(rows).whole() for rows in (X, unseen)}

    def fit(self, X, y):
        self.model.fit(self.features[len(X)], y)
        return self

    def predict(self, X):
        return self.model.predict(self.features[len(X)])


class InParts:
    """A model that reads its rows in parts."""

    def __init__(self, make, first=None):
        self.make, self.first = make, first or {}

    def fit(self, X, y):
        model = self.make()
        for k, rows in enumerate(np.array_split(np.arange(len(X)), N_PARTS)):
            model.partial_fit(X[rows], y[rows], **({} if k else self.first))
        self.model = model
        return self

    def predict(self, X):
        return self.model.predict(X)


def gfdl(kind, layers=1, **settings):
    from gfdl import model

    common = {"activation": "sigmoid", "seed": 0, "reg_alpha": 1.0}
    return getattr(model, kind)(hidden_layer_sizes=(N_NODES,) * layers, **common | settings)


def graforvfl(kind, **settings):
    import graforvfl

    common = {"act_name": "sigmoid", "weight_initializer": "random_uniform"}
    model = getattr(graforvfl, kind)
    return model(N_NODES, **{"seed": 0, "reg_alpha": 1.0} | common | settings)


def skelm(kind, **settings):
    import skelm

    common = {"ufunc": "sigm", "alpha": 1.0, "random_state": 0, "include_original_features": True}
    return getattr(skelm, kind)(n_neurons=N_NODES, **common | settings)


def classifiers(tables):
    ours = partial(RVFLClassifier, N_NODES, random_state=0)
    yield "RVFLClassifier, scores alone", ours(calibrate=False)
    yield "RVFLClassifier, probabilities", ours()
    if find_spec("gfdl"):
        yield "gfdl, ridge", gfdl("GFDLClassifier")
        yield "gfdl, its defaults", gfdl("GFDLClassifier", reg_alpha=None)
    if find_spec("graforvfl"):
        yield "graforvfl, ridge", graforvfl("RvflClassifier")
        yield "graforvfl, its defaults", graforvfl("RvflClassifier", reg_alpha=None)
    if find_spec("skelm"):
        yield "scikit-elm", skelm("ELMClassifier")
    yield "RidgeClassifier on our features", OnFeatures(RidgeClassifier(), ours(), tables)


def without_links(tables):
    yield "ELMClassifier, scores alone", ELMClassifier(N_NODES, calibrate=False, random_state=0)
    yield "ELMClassifier, probabilities", ELMClassifier(N_NODES, random_state=0)
    if find_spec("gfdl"):
        yield "gfdl, ridge", gfdl("GFDLClassifier", direct_links=False)
    if find_spec("skelm"):
        yield "scikit-elm", skelm("ELMClassifier", include_original_features=False)


def deep(tables):
    ours = partial(DeepRVFLClassifier, N_NODES, n_layers=3, random_state=0)
    for combine in ("concat", "vote"):
        model = ours(combine=combine, calibrate=False)
        yield f"DeepRVFLClassifier, {combine}, scores alone", model
        yield f"DeepRVFLClassifier, {combine}, probabilities", ours(combine=combine)
    if find_spec("gfdl"):
        yield "gfdl, three layers", gfdl("GFDLClassifier", 3)
        yield "gfdl, ensemble of three", gfdl("EnsembleGFDLClassifier", 3)


def in_parts(tables):
    classes = np.unique(tables[1])
    ours = partial(RVFLClassifier, N_NODES, calibrate=False, random_state=0)
    yield "RVFLClassifier", InParts(ours, {"classes": classes})
    if find_spec("gfdl"):
        yield "gfdl", InParts(partial(gfdl, "GFDLClassifier"), {"classes": classes})
    if find_spec("graforvfl"):
        yield "graforvfl", InParts(partial(graforvfl, "RvflClassifier"), {"classes": classes})
    if find_spec("skelm"):
        yield "scikit-elm", InParts(partial(skelm, "ELMClassifier"))


def penalties(tables):
    ours = partial(RVFLClassifier, N_NODES, C="loo", random_state=0)
    yield "RVFLClassifier, scores alone", ours(calibrate=False)
    yield "RVFLClassifier, probabilities", ours()
    theirs = RidgeClassifierCV(1 / PENALTIES)
    yield "RidgeClassifierCV on our features", OnFeatures(theirs, ours(), tables)


def regressors(tables):
    yield "RVFLRegressor", RVFLRegressor(N_NODES, random_state=0)
    if find_spec("gfdl"):
        yield "gfdl, ridge", gfdl("GFDLRegressor")
        yield "gfdl, its defaults", gfdl("GFDLRegressor", reg_alpha=None)
    if find_spec("graforvfl"):
        yield "graforvfl, ridge", graforvfl("RvflRegressor")
        yield "graforvfl, its defaults", graforvfl("RvflRegressor", reg_alpha=None)
    if find_spec("skelm"):
        yield "scikit-elm", skelm("ELMRegressor")
    ours = RVFLRegressor(N_NODES, random_state=0)
    yield "Ridge on our features", OnFeatures(Ridge(), ours, tables)


def regressors_without_links(tables):
    yield "ELMRegressor", ELMRegressor(N_NODES, random_state=0)
    if find_spec("gfdl"):
        yield "gfdl, ridge", gfdl("GFDLRegressor", direct_links=False)
    if find_spec("skelm"):
        yield "scikit-elm", skelm("ELMRegressor", include_original_features=False)


def deep_regressors(tables):
    yield "DeepRVFLRegressor", DeepRVFLRegressor(N_NODES, n_layers=3, random_state=0)
    if find_spec("gfdl"):
        yield "gfdl, ridge", gfdl("GFDLRegressor", 3)


def penalties_of_numbers(tables):
    ours = RVFLRegressor(N_NODES, C="loo", random_state=0)
    yield "RVFLRegressor", ours
    yield "RidgeCV on our features", OnFeatures(RidgeCV(1 / PENALTIES), ours, tables)


# What is compared, the models, and how many classes there are.
PARTS = {
    "two classes, links from inputs to output": (classifiers, 2),
    "ten classes, links from inputs to output": (classifiers, 10),
    "two classes, no links": (without_links, 2),
    "three layers, two classes": (deep, 2),
    f"the rows in {N_PARTS} parts, two classes": (in_parts, 2),
    "one of eleven penalties chosen by rows left out, two classes": (penalties, 2),
    "numbers, links from inputs to output": (regressors, 0),
    "numbers, no links": (regressors_without_links, 0),
    "numbers, three layers": (deep_regressors, 0),
    "numbers, one of eleven penalties chosen by rows left out": (penalties_of_numbers, 0),
}


def right(tables, predicted):
    """Return the share of right classes, or R²."""
    y = tables[3]
    predicted = np.ravel(predicted)
    if y.dtype.kind == "i":
        return (predicted == y).mean()
    return 1 - np.square(predicted - y).mean() / y.var()


def spent(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def measure(models, tables, rounds):
    """Print medians of interleaved rounds, and those that a peer refuses."""
    X, y, unseen, _ = tables
    times = {}
    for name, model in list(models.items()):
        try:
            model.fit(X, y).predict(X)
        except Exception as error:
            print(f"  {name:44}{type(error).__name__}: {str(error).splitlines()[0][:80]}")
            del models[name]
    for _ in range(rounds):
        for name, model in models.items():
            parts = spent(lambda model=model: model.fit(X, y))
            parts = parts, spent(lambda model=model: model.predict(X))
            times.setdefault(name, []).append(parts)
    first = None
    for name, model in models.items():
        fit, predict = np.median(times[name], axis=0)
        first = first or fit + predict
        share = right(tables, model.predict(unseen))
        print(f"  {name:44}{fit:8.3f}{predict:9.3f}{(fit + predict) / first:9.2f}{share:9.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    said = [f"Python {platform.python_version()}"]
    for package in ("numpy", "scikit-learn", "gfdl", "graforvfl", "scikit-elm"):
        try:
            said.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    print(", ".join(said))
    for title, (make, n_classes) in PARTS.items():
        tables = table(options.rows, n_classes)
        models = dict(make(tables))
        if all("RVFL" in name or name.startswith("ELM") for name in models):
            continue  # no peer of this kind is here
        print(f"\n{title}: {options.rows:,} x 50, {N_NODES} nodes")
        quality = "right" if n_classes else "R²"
        print(f"  {'':44}{'fit, s':>8}{'predict':>9}{'x first':>9}{quality:>9}")
        measure(models, tables, options.rounds)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
