"""How the cost of fits and memberships grows: rows, columns, nodes and classes, one at a time.

    python benchmarks/growth.py
    python benchmarks/growth.py exact
    python benchmarks/growth.py entries [name ...]

Every measurement runs in a process of its own, one thread: CPU seconds, and by how much the call
raised the most memory the process had taken until then (the table itself is not counted). Usual
sizes: 20,000 rows (10,000 for exact memberships), 20 columns, 100 nodes, 2 classes.

``entries`` takes every public entry point that computes, at one size and with rows, columns, nodes
and classes four times as many: seconds, megabytes of arrays at the peak, and the powers with which
both grow. Powers above what the mathematics asks are marked. A public name that neither is measured
nor stands among those that only carry results is refused.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from importlib import import_module
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
# the largest powers in rows, columns, nodes and classes that the mathematics asks, None where there
# is no such size: products of two columns for every row (one ridge), pairs of rows, passes over the
# cells, spectra of products (scatters, kernels). A row belongs to one class, but has a score for
# each: whatever has scores may grow with the classes.
PRODUCTS, PAIRS, PASSES = (1.0, 2.0, 2.0, 1.0), (2.0, 2.0, 2.0, 1.0), (1.0, 1.0, 1.0, 1.0)
SPECTRA = (1.0, 3.0, 3.0, 1.0)
CELLS, LABELS, JUDGED = (1.0, 1.0, None, None), (1.0, None, None, 1.0), (1.0, 2.0, None, 1.0)
# Of arrays: products of columns, never pairs of rows.
MEMORY, KERNEL = (1.0, 2.0, 2.0, 1.0), (2.0, 1.0, None, 1.0)  # the latter of KRVFL+ alone
MEASURABLE = 0.01, 0.5  # seconds and megabytes below which a power says nothing


def public(name):
    """Return a public name of robell or of one of its modules."""
    home, _, name = f"robell.{name}".rpartition(".")
    return getattr(import_module(home), name)


def framed(X, y):
    """Return a table of numbers and one column of texts, with labels that are text."""
    import pandas

    frame = pandas.DataFrame(X).add_prefix("x")
    return frame.assign(y=[f"class {label}" for label in y])


def targets(X, y):
    return X[:, 0] + y


def made(name, X, y, nodes, **settings):
    """Return an unfitted model, what it learns from, and what else its fit takes."""
    model = public(name)
    if "n_hidden" in signature(model).parameters:
        settings["n_hidden"] = nodes
    if "random_state" in signature(model).parameters:
        settings["random_state"] = 0
    more = {"privileged": X[:, :2] ** 2} if "Plus" in name else {}
    return model(**settings), (X, targets(X, y) if "Regressor" in name else y), more


def fitted(name, **settings):
    """Return what fits a model."""

    def start(X, y, nodes):
        model, data, more = made(name, X, y, nodes, **settings)
        return lambda: model.fit(*data, **more)

    return start


def asked(name, method="predict", **settings):
    """Return what asks a fitted model; a few rows are enough to fit it."""

    def start(X, y, nodes):
        few = slice(0, 500)
        model, data, more = made(name, X[few], y[few], nodes, **settings)
        model.fit(*data, **more)
        return lambda: getattr(model, method)(X)

    return start


def wrapped(name, method=None):
    """Return what fits, or asks, a model around one of scikit-learn's."""

    def start(X, y, nodes):
        from sklearn.linear_model import Ridge
        from sklearn.naive_bayes import GaussianNB

        inner = Ridge() if "Regressor" in name else GaussianNB()
        model, data, _ = made(name, X, y, nodes, estimator=inner)
        if method is None:
            return lambda: model.fit(*data)
        model.fit(X[:1000], data[1][:1000])
        return lambda: getattr(model, method)(X)

    return start


def called(name, regression=False, **settings):
    """Return what calls a function of a table and its labels."""

    def start(X, y, nodes):
        function = public(name)
        if name in ("audit", "fit_table", "certify"):
            frame = framed(X, y)
            frame["y"] = targets(X, y) if regression else frame["y"]
            return lambda: function(frame, "y", **settings)
        y = targets(X, y) if regression else y
        return lambda: function(X, y, **settings)

    return start


def encoded(X, y, nodes):
    from robell import TableEncoder

    frame = framed(X, y).assign(word=[f"w{k % 50}" for k in range(len(X))])
    return lambda: TableEncoder().fit_transform(frame)


def streamed(name):
    """Return what fits a model in parts of 500 rows."""

    def start(X, y, nodes):
        given = {} if "Regressor" in name else {"classes": np.unique(y)}
        settings = {} if "Regressor" in name else {"calibrate": False}

        def run():
            model, (_, labels), _ = made(name, X, y, nodes, **settings)
            for start in range(0, len(X), 500):
                part = slice(start, start + 500)
                model.partial_fit(X[part], labels[part], **given)
            return model.coef_

        return run

    return start


def searched(X, y, nodes):
    from robell import RVFLClassifier, RVFLGridSearchCV

    grid = {"C": [0.01, 1.0, 100.0], "n_hidden": [nodes // 2, nodes]}
    model = RVFLClassifier(random_state=0)
    return lambda: RVFLGridSearchCV(model, grid, cv=3, refit=False).fit(X, y)


def compared(X, y, nodes):
    from robell import compare

    def run():
        with tempfile.TemporaryDirectory() as folder:
            given = {"repeats": 2, "out": folder, "progress": False}
            return compare({"table": (X, y)}, ["rvfl", "elm"], **given)

    return run


def compared_scores(X, y, nodes):
    """Return what compares scores of as many ways as columns on as many tables as rows."""
    import pandas

    from robell import compare_scores

    frame = pandas.DataFrame(X).add_prefix("way").assign(set=[f"t{k}" for k in range(len(X))])

    def run():
        with tempfile.TemporaryDirectory() as folder:
            return compare_scores(frame, metric="accuracy", out=folder)

    return run


def annotated(function):
    """Return what judges labels of three annotators, each wrong in a tenth of the rows."""

    def start(X, y, nodes):
        rng = np.random.default_rng(1)
        drawn = rng.integers(0, y.max() + 1, (len(y), 3))
        labels = np.where(rng.random(drawn.shape) < 0.1, drawn, y[:, None])
        if function == "find_consensus":
            return lambda: public(function)(labels, X, random_state=0)
        names = ["ann", "bob", "cid"]
        frame = framed(X, y).drop(columns="y")
        for name, column in zip(names, labels.T, strict=True):
            frame[name] = [f"class {label}" for label in column]
        return lambda: public(function)(frame, names)

    return start


def drifted(X, y, nodes):
    from robell import find_label_drift

    half = len(X) // 2
    return lambda: find_label_drift(X[:half], y[:half], X[half:], y[half:], random_state=0)


def certified(X, y, nodes):
    """Return what makes a certificate of a sheet that was drawn and filled in beforehand."""
    from robell import certify

    frame = framed(X, y)
    sample = certify(frame, "y")
    sheet = sample.to_frame()
    sheet["true"] = frame["y"].to_numpy()[sheet["row"] - 1]
    return lambda: sample.certificate(sheet)


def reviewed(X, y, nodes):
    """Return what applies a review of a tenth of the rows to a CSV file."""
    from robell import apply_review, audit

    folder = tempfile.mkdtemp()
    table, review = f"{folder}/table.csv", f"{folder}/review.csv"
    framed(X, y).to_csv(table, index=False)
    found = audit(table, "y", all_rows=True).to_frame()
    found.loc[: len(found) // 10, "decision"] = "keep"
    found.to_csv(review, index=False)
    return lambda: apply_review(table, review, f"{folder}/clean.csv")


def bridged(name):
    """Return what turns an audit's result into the form of another tool, or decisions into ours."""

    def start(X, y, nodes):
        from robell import audit

        if name == "write_review":
            path = f"{tempfile.mkdtemp()}/review.csv"
            decisions = audit(framed(X, y), "y", all_rows=True).to_frame().assign(decision="keep")
            return lambda: public(name)(decisions, path, replace=True)
        result = audit(framed(X, y), "y", all_rows=True)
        return lambda: public(name)(result)

    return start


def in_files(name):
    """Return what fits, predicts, saves or loads with a CSV file of the table."""

    def start(X, y, nodes):
        from robell import RVFLClassifier
        from robell.files import fit_files, load_model, predict_files, save_model

        folder = tempfile.mkdtemp()
        table, saved = f"{folder}/table.csv", f"{folder}/model.rvfl"
        framed(X, y).to_csv(table, index=False)
        model = RVFLClassifier(nodes, random_state=0)
        if name == "fit_files":
            return lambda: fit_files(model, table, "y")
        model.fit(X, y)
        if name == "predict_files":
            rows = f"{folder}/rows.csv"
            framed(X, y).drop(columns="y").to_csv(rows, index=False)
            return lambda: predict_files(model, rows, f"{folder}/predicted.csv")
        save_model(model, saved)
        return (lambda: save_model(model, saved)) if name == "save" else lambda: load_model(saved)

    return start


def exported(X, y, nodes):
    from robell import RVFLClassifier
    from robell.export import to_onnx

    model = RVFLClassifier(nodes, random_state=0).fit(X, y)
    return lambda: to_onnx(model)


def measured(name):
    """Return what takes a metric of given and predicted labels."""

    def start(X, y, nodes):
        n_classes = int(y.max()) + 1
        score = np.abs(X[:, :1] + np.eye(n_classes)[y] * 3) + 0.1
        score /= score.sum(axis=1, keepdims=True)
        if name == "metrics.expected_calibration_error":
            return lambda: public(name)(y, score)
        noise = np.full((n_classes, n_classes), 0.1 / (n_classes - 1))
        np.fill_diagonal(noise, 0.9)
        return lambda: public(name)(y, score.argmax(axis=1), noise, n_draws=200)

    return start


def flipped(name):
    """Return what makes labels wrong."""

    def start(X, y, nodes):
        data = (X, y) if name == "noise.flip_near_boundary" else (y,)
        return lambda: public(name)(*data, 0.2, random_state=0)

    return start


def given_probabilities(X, y, nodes):
    from robell import find_label_issues

    score = np.eye(int(y.max()) + 1)[y] + np.random.default_rng(0).random((len(y), y.max() + 1))
    score /= score.sum(axis=1, keepdims=True)
    return lambda: find_label_issues(y=y, pred_proba=score)


ENTRIES = {
    "RVFLClassifier.fit": (fitted("RVFLClassifier"), PRODUCTS),
    "RVFLClassifier.predict": (asked("RVFLClassifier"), PASSES),
    "RVFLClassifier.predict_proba": (asked("RVFLClassifier", "predict_proba"), PASSES),
    "RVFLClassifier.partial_fit": (streamed("RVFLClassifier"), PRODUCTS),
    "RVFLClassifier, C=loo": (fitted("RVFLClassifier", C="loo"), SPECTRA),
    "ELMClassifier.fit": (fitted("ELMClassifier"), PRODUCTS),
    "ComplexRVFLClassifier.fit": (fitted("ComplexRVFLClassifier"), PRODUCTS),
    "ComplexRVFLClassifier.predict": (asked("ComplexRVFLClassifier"), PASSES),
    "DeepRVFLClassifier.fit": (fitted("DeepRVFLClassifier"), PRODUCTS),
    "DeepRVFLClassifier.predict": (asked("DeepRVFLClassifier"), (1.0, 1.0, 2.0, 1.0)),
    "NeuroFuzzyRVFLClassifier.fit": (fitted("NeuroFuzzyRVFLClassifier"), PRODUCTS),
    "NeuroFuzzyRVFLClassifier.predict": (asked("NeuroFuzzyRVFLClassifier"), PASSES),
    "MultiViewRVFLClassifier.fit": (fitted("MultiViewRVFLClassifier"), PRODUCTS),
    "MultiViewRVFLClassifier.predict": (asked("MultiViewRVFLClassifier"), PASSES),
    "VarianceRVFLClassifier.fit": (fitted("VarianceRVFLClassifier"), SPECTRA),
    "GranularBallRVFLClassifier.fit": (fitted("GranularBallRVFLClassifier"), PRODUCTS),
    "RVFLPlusClassifier.fit": (fitted("RVFLPlusClassifier"), PRODUCTS),
    "KernelRVFLPlusClassifier.fit": (fitted("KernelRVFLPlusClassifier"), (3.0, 1.0, None, 1.0)),
    "KernelRVFLPlusClassifier.predict": (
        asked("KernelRVFLPlusClassifier"),
        (1.0, 1.0, None, 1.0),
    ),
    "RoBellRVFLClassifier.fit": (fitted("RoBellRVFLClassifier"), PAIRS),
    "RoBell, approximate memberships": (
        fitted("RoBellRVFLClassifier", membership="approximate"),
        PRODUCTS,
    ),
    "HuberRVFLClassifier.fit": (fitted("HuberRVFLClassifier"), PAIRS),
    "IntuitionisticFuzzyRVFLClassifier.fit": (fitted("IntuitionisticFuzzyRVFLClassifier"), PAIRS),
    "NoiseRobustRVFLClassifier.fit": (fitted("NoiseRobustRVFLClassifier"), PRODUCTS),
    "NoiseRobustRVFLClassifier.predict": (asked("NoiseRobustRVFLClassifier"), PASSES),
    "NoiseRobustClassifier.fit": (wrapped("NoiseRobustClassifier"), JUDGED),
    "NoiseRobustClassifier.predict": (wrapped("NoiseRobustClassifier", "predict"), JUDGED),
    "NoiseRobustRegressor.fit": (wrapped("NoiseRobustRegressor"), JUDGED),
    "ThresholdClassifier.fit": (wrapped("ThresholdClassifier"), JUDGED),
    "RVFLRegressor.fit": (fitted("RVFLRegressor", intervals=True), PRODUCTS),
    "RVFLRegressor.predict": (asked("RVFLRegressor"), PASSES),
    "RVFLRegressor.partial_fit": (streamed("RVFLRegressor"), PRODUCTS),
    "ELMRegressor.fit": (fitted("ELMRegressor"), PRODUCTS),
    "DeepRVFLRegressor.fit": (fitted("DeepRVFLRegressor"), PRODUCTS),
    "RVFLGridSearchCV.fit": (searched, PRODUCTS),
    "pw_gbell_membership": (called("pw_gbell_membership"), (2.0, 1.0, None, 1.0)),
    "TableEncoder.fit_transform": (encoded, CELLS),
    "find_label_issues": (called("find_label_issues", random_state=0), JUDGED),
    "find_label_issues, pred_proba": (given_probabilities, LABELS),
    "find_target_issues": (
        called("find_target_issues", True, random_state=0),
        (1.0, 2.0, None, None),
    ),
    "find_consensus": (annotated("find_consensus"), JUDGED),
    "find_label_drift": (drifted, JUDGED),
    "audit": (called("audit"), JUDGED),
    "audit of numbers": (called("audit", True, kind="numbers"), (1.0, 2.0, None, None)),
    "audit_annotators": (annotated("audit_annotators"), JUDGED),
    "certify, a sheet drawn": (called("certify"), JUDGED),
    "certify, a sheet read": (certified, JUDGED),
    "apply_review": (reviewed, (1.0, 1.0, None, 1.0)),
    "write_review": (bridged("write_review"), (1.0, 1.0, None, 1.0)),
    "to_argilla": (bridged("to_argilla"), (1.0, 1.0, None, 1.0)),
    "to_label_studio": (bridged("to_label_studio"), (1.0, 1.0, None, 1.0)),
    "fit_table": (called("fit_table"), JUDGED),
    "compare": (compared, (1.0, 2.0, None, 1.0)),
    "compare_scores": (compared_scores, (1.0, 2.0, None, None)),
    "files.fit_files": (in_files("fit_files"), PRODUCTS),
    "files.predict_files": (in_files("predict_files"), PASSES),
    "files.save_model": (in_files("save"), (None, 1.0, 1.0, 1.0)),
    "files.load_model": (in_files("load"), (None, 1.0, 1.0, 1.0)),
    "export.to_onnx": (exported, (None, 1.0, 1.0, 1.0)),
    "metrics.corrected_scores": (measured("metrics.corrected_scores"), (1.0, None, None, 2.0)),
    "metrics.expected_calibration_error": (
        measured("metrics.expected_calibration_error"),
        LABELS,
    ),
    "noise.flip_uniformly": (flipped("noise.flip_uniformly"), LABELS),
    "noise.flip_near_boundary": (flipped("noise.flip_near_boundary"), (2.0, 1.0, None, 1.0)),
}
# Not measured, because they only carry results or make no table larger.
CARRIERS = {
    "__version__",
    "AnnotatorAudit",
    "AppliedReview",
    "AuditResult",
    "BaseRVFLClassifier",
    "Certificate",
    "CheckSample",
    "Consensus",
    "FitResult",
    "GroupNoise",
    "LabelDrift",
    "LabelIssues",
    "NumberAuditResult",
    "TargetIssues",
    "check_labels",  # asks a finished audit, or opens a page
    "paper_grid",
}
SIZES = {"rows": (4000, 16000), "columns": (10, 40), "nodes": (50, 200), "classes": (3, 12)}
# Rows where time grows with their cube, of tables of scores, and where more than 4,096 rows of a
# class make memberships approximate.
ROWS = {
    "KernelRVFLPlusClassifier": (500, 2000),
    "compare_scores": (50, 200),
    "RoBell, approximate": (20_000, 80_000),
}


def sizes_of(name):
    """Return the sizes of an entry, with the rows that are its own."""
    rows = next((sizes for start, sizes in ROWS.items() if name.startswith(start)), None)
    return SIZES | ({"rows": rows} if rows else {})


def spent():
    """Return the CPU seconds of this process and of those it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure_entry(name, sizes):
    """Return CPU seconds of a call, and the peak of arrays in megabytes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, sizes["classes"], sizes["rows"])
    X = rng.normal(size=(sizes["classes"], sizes["columns"]))[y] * 10 / sizes["columns"] ** 0.5
    X += 3 * rng.normal(size=X.shape)
    call = ENTRIES[name][0](X, y, sizes["nodes"])

    def seconds(n=1):
        start = spent()
        for _ in range(n):
            call()
        return (spent() - start) / n

    first = seconds()  # what it imports is loaded now
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return min(seconds(1 + min(50, int(0.1 / first))), seconds()), peak


def measure_sizes(name):
    """Return what an entry takes at the usual sizes, and with each four times as large."""
    warnings.simplefilter("ignore")
    sizes = sizes_of(name)
    usual = {what: least for what, (least, _) in sizes.items()}
    larger = zip(sizes.items(), ENTRIES[name][1], strict=True)
    return [measure_entry(name, usual)] + [
        measure_entry(name, usual | {what: most}) if bound is not None else None
        for (what, (_, most)), bound in larger
    ]


def measure_entries(names):
    import robell

    missing = set(robell.__all__) - CARRIERS
    missing = {name for name in missing if not any(entry.startswith(name) for entry in ENTRIES)}
    if missing:
        sys.exit(f"no entry measures {', '.join(sorted(missing))}")
    print("from " + ", ".join(f"{least:,} {what}" for what, (least, _) in SIZES.items()))
    print("powers of seconds / megabytes in " + ", ".join(SIZES))
    for name in names or ENTRIES:
        first, *others = in_own_process("entry " + name, {})
        memory = KERNEL if name == "KernelRVFLPlusClassifier.fit" else MEMORY
        cells = []
        for sizes, found, bound, most in zip(
            sizes_of(name).values(), others, ENTRIES[name][1], memory, strict=True
        ):
            if found is None:
                cells.append("-")
                continue
            powers = np.log(np.divide(found, first)) / np.log(sizes[1] / sizes[0])
            marks = [
                "*" if power > asked + 0.2 and value > least else ""
                for power, asked, value, least in zip(
                    powers, (bound, most), found, MEASURABLE, strict=True
                )
            ]
            cells.append(f"{powers[0]:.1f}{marks[0]} / {powers[1]:.1f}{marks[1]}")
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
