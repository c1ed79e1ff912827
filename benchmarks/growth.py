"""How the cost of fits and memberships grows: rows, columns, nodes and classes, one at a time.

    python benchmarks/growth.py
    python benchmarks/growth.py exact
    python benchmarks/growth.py entries [name ...]

Every measurement runs in a process of its own, one thread: CPU seconds, and by how much the call
raised the most memory the process had taken until then (the table itself is not counted). Usual
sizes: 20,000 rows (10,000 for exact memberships), 20 columns, 100 nodes, 2 classes.

``entries`` takes every public entry point that computes, at one size and with rows, columns, nodes
and classes four times as many: seconds, megabytes of arrays at the peak, and the powers with which
both grow. Powers above what the mathematics asks are marked.
"""

import json
import os
import resource
import subprocess
import sys
import time
import tracemalloc
import warnings
from inspect import signature

import numpy as np

USUAL = {"rows": 10_000, "columns": 20, "nodes": 100, "classes": 2}
FITS = {
    "RVFL": {
        "rows": [100_000, 400_000],
        "columns": [40, 160],
        "nodes": [200, 800],
        "classes": [2, 8],
    },
    "exact memberships": {"rows": [10_000, 20_000], "columns": [40, 160], "classes": [2, 8]},
    "approximate memberships": {"rows": [50_000, 100_000], "columns": [40, 160], "classes": [2, 8]},
}


def call_of(work, X, y, nodes):
    from robell import RVFLClassifier, pw_gbell_membership

    width = float(np.sqrt(X.shape[1]))
    if work == "RVFL":
        model = RVFLClassifier(nodes, random_state=0)
        return lambda n: model.fit(X[:n], y[:n])
    method = work.split()[0]
    return lambda n: pw_gbell_membership(
        X[:n], y[:n], width, membership=method, random_state=0, n_jobs=1
    )


def measure(work, size):
    rng = np.random.default_rng(0)
    y = rng.integers(0, size["classes"], size["rows"])
    X = rng.normal(size=(size["classes"], size["columns"]))[y]
    X += rng.normal(size=X.shape)
    call = call_of(work, X, y, size["nodes"])
    call(1000)  # loads and warms everything
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    call(len(X))
    cpu = time.process_time() - start
    return cpu, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def in_own_process(work, size):
    command = [sys.executable, __file__, "--measure", work, json.dumps(size)]
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | threads
    )
    return json.loads(done.stdout)


# Every entry point: what is called, of the table, its labels, and the number of nodes. Behind it,
# the largest powers in rows, columns, nodes and classes that the mathematics asks: products of two
# columns for every row, or pairs of rows; None where there is no such size.
PRODUCTS, PAIRS = (1.0, 2.0, 2.0, 1.0), (2.0, 2.0, 2.0, 1.0)


def fitted(name, **settings):
    """Return what fits a model."""

    def start(X, y, nodes):
        import robell

        if "n_hidden" in signature(getattr(robell, name)).parameters:
            settings["n_hidden"] = nodes
        model = getattr(robell, name)(**settings)
        if "Regressor" in name:
            return lambda: model.fit(X, X[:, 0] + y)
        if "Plus" in name:
            return lambda: model.fit(X, y, privileged=X[:, :2] ** 2)
        return lambda: model.fit(X, y)

    return start


def asked(name, method, **settings):
    """Return what asks a fitted model."""

    def start(X, y, nodes):
        model = fitted(name, **settings)(X, y, nodes)()
        return lambda: getattr(model, method)(X)

    return start


def called(name, regression=False, **settings):
    """Return what calls a function of a table and its labels."""

    def start(X, y, nodes):
        import pandas

        import robell

        y = X[:, 0] + y if regression else y
        function = getattr(robell, name)
        if name in ("audit", "fit_table"):
            frame = pandas.DataFrame(X).add_prefix("x").assign(y=y)
            frame["y"] = [f"class {label}" for label in y]
            return lambda: function(frame, "y", **settings)
        return lambda: function(X, y, **settings)

    return start


def encoded(X, y, nodes):
    import pandas

    from robell import TableEncoder

    frame = pandas.DataFrame(X).add_prefix("x").assign(word=[f"w{k % 50}" for k in range(len(X))])
    return lambda: TableEncoder().fit_transform(frame)


def streamed(X, y, nodes):
    from robell import RVFLClassifier

    def run():
        model = RVFLClassifier(nodes, calibrate=False, random_state=0)
        for start in range(0, len(X), 500):
            part = slice(start, start + 500)
            model.partial_fit(X[part], y[part], classes=np.unique(y))
        return model.coef_

    return run


def searched(X, y, nodes):
    from robell import RVFLClassifier, RVFLGridSearchCV

    grid = {"C": [0.01, 1.0, 100.0], "n_hidden": [nodes // 2, nodes]}
    model = RVFLClassifier(random_state=0)
    return lambda: RVFLGridSearchCV(model, grid, cv=3, refit=False).fit(X, y)


SEED = {"random_state": 0}
ENTRIES = {
    "RVFLClassifier.fit": (fitted("RVFLClassifier", **SEED), PRODUCTS),
    "RVFLClassifier.predict": (asked("RVFLClassifier", "predict", **SEED), (1.0, 1.0, 1.0, 1.0)),
    "RVFLClassifier.partial_fit": (streamed, PRODUCTS),
    "RVFLClassifier, C=loo": (fitted("RVFLClassifier", C="loo", **SEED), (1.0, 3.0, 3.0, 1.0)),
    "ComplexRVFLClassifier.fit": (fitted("ComplexRVFLClassifier", **SEED), PRODUCTS),
    "DeepRVFLClassifier.fit": (fitted("DeepRVFLClassifier", **SEED), PRODUCTS),
    "NeuroFuzzyRVFLClassifier.fit": (fitted("NeuroFuzzyRVFLClassifier", **SEED), PRODUCTS),
    "MultiViewRVFLClassifier.fit": (fitted("MultiViewRVFLClassifier", **SEED), PRODUCTS),
    "VarianceRVFLClassifier.fit": (fitted("VarianceRVFLClassifier", **SEED), (1.0, 3.0, 3.0, 1.0)),
    "GranularBallRVFLClassifier.fit": (fitted("GranularBallRVFLClassifier", **SEED), PRODUCTS),
    "RVFLPlusClassifier.fit": (fitted("RVFLPlusClassifier", **SEED), PRODUCTS),
    "KernelRVFLPlusClassifier.fit": (fitted("KernelRVFLPlusClassifier"), (3.0, 1.0, None, 1.0)),
    "RoBellRVFLClassifier.fit": (fitted("RoBellRVFLClassifier", **SEED), PAIRS),
    "HuberRVFLClassifier.fit": (fitted("HuberRVFLClassifier", **SEED), PAIRS),
    "IntuitionisticFuzzyRVFLClassifier.fit": (
        fitted("IntuitionisticFuzzyRVFLClassifier", **SEED),
        PAIRS,
    ),
    "RVFLRegressor.fit": (fitted("RVFLRegressor", intervals=True, **SEED), PRODUCTS),
    "DeepRVFLRegressor.fit": (fitted("DeepRVFLRegressor", **SEED), PRODUCTS),
    "RVFLGridSearchCV.fit": (searched, PRODUCTS),
    "NoiseRobustRVFLClassifier.fit": (fitted("NoiseRobustRVFLClassifier", **SEED), PRODUCTS),
    "NoiseRobustRVFLClassifier.predict": (
        asked("NoiseRobustRVFLClassifier", "predict", **SEED),
        (1.0, 1.0, 1.0, 1.0),
    ),
    "pw_gbell_membership": (called("pw_gbell_membership"), (2.0, 1.0, None, 1.0)),
    "TableEncoder.fit_transform": (encoded, (1.0, 1.0, None, None)),
    "find_label_issues": (called("find_label_issues", random_state=0), (1.0, 2.0, None, 1.0)),
    "find_target_issues": (
        called("find_target_issues", True, random_state=0),
        (1.0, 2.0, None, None),
    ),
    "audit": (called("audit"), (1.0, 2.0, None, 1.0)),
    "fit_table": (called("fit_table"), (1.0, 2.0, None, 1.0)),
}
SIZES = {"rows": (2000, 8000), "columns": (10, 40), "nodes": (50, 200), "classes": (2, 8)}


def measure_entry(name, sizes):
    """Return CPU seconds, the least of two, and the peak of arrays in megabytes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, sizes["classes"], sizes["rows"])
    X = rng.normal(size=(sizes["classes"], sizes["columns"]))[y]
    X += rng.normal(size=X.shape)
    call = ENTRIES[name][0](X, y, sizes["nodes"])
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    spent = []
    for _ in range(2):
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return min(spent), peak


def measure_sizes(name):
    """Return what an entry takes at the usual sizes, and with each four times as large."""
    warnings.simplefilter("ignore")
    usual = {what: least for what, (least, _) in SIZES.items()}
    larger = zip(SIZES.items(), ENTRIES[name][1], strict=True)
    return [measure_entry(name, usual)] + [
        measure_entry(name, usual | {what: most}) if bound is not None else None
        for (what, (_, most)), bound in larger
    ]


def measure_entries(names):
    print("from " + ", ".join(f"{least:,} {what}" for what, (least, _) in SIZES.items()))
    print("powers of seconds / megabytes in " + ", ".join(SIZES))
    for name in names or ENTRIES:
        first, *others = in_own_process("entry " + name, {})
        cells = []
        for (least, most), found, bound in zip(
            SIZES.values(), others, ENTRIES[name][1], strict=True
        ):
            if found is None:
                cells.append("-")
                continue
            powers = np.log(np.divide(found, first)) / np.log(most / least)
            mark = "*" if powers[0] > bound + 0.2 else ""
            cells.append(f"{powers[0]:.1f}{mark} / {powers[1]:.1f}")
        print(f"{name:40}{first[0]:7.3f} s{first[1]:6.0f} MB  {'  '.join(cells)}", flush=True)


def main():
    if sys.argv[1:2] == ["entries"]:
        measure_entries(sys.argv[2:])
        return
    if sys.argv[1:2] == ["--measure"] and sys.argv[2].startswith("entry "):
        print(json.dumps(measure_sizes(sys.argv[2][len("entry ") :])))
        return
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], json.loads(sys.argv[3]))))
        return
    for work, varied in FITS.items():
        if sys.argv[1:] and work.split()[0] not in sys.argv[1:]:
            continue
        for what, values in varied.items():
            usual = USUAL | {"rows": 20_000 if work != "exact memberships" else 10_000}
            found = [in_own_process(work, usual | {what: value}) for value in values]
            power = np.log(found[-1][0] / found[-2][0]) / np.log(values[-1] / values[-2])
            cells = ", ".join(
                f"{value:,}: {cpu:.2f} s {memory:.0f} MB"
                for value, (cpu, memory) in zip(values, found, strict=True)
            )
            print(f"{work:24}{what:9}{cells}; power {power:.2f}", flush=True)


if __name__ == "__main__":
    main()
