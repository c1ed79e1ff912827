"""Odd inputs to estimators: each is a small plain record drawn from its seed.

A record names what is odd (rows, labels, weights, parameters, what is called), so that it can be
read, printed and built again: ``draw_call(17)`` is the same call on every machine. Most of a call
is ordinary and one to three things are odd, so that a failure points at its cause.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np

TINY, SMALL, LARGE, HUGE, LARGEST = 5e-324, 1e-200, 1e154, 1e200, 1e308
SIZES = (0, 1, 2, 3, 5, 24, 40, 60)


@dataclass(frozen=True)
class Call:
    """One call of the library; equal seeds give equal calls."""

    seed: int
    model: str
    action: str
    n_rows: int
    rows: str = "gaussian"
    labels: str = "two"
    weights: str = "none"
    new_rows: str = "same"
    parameters: tuple[tuple[str, str], ...] = ()

    def reproduction(self):
        """Return a line that says what is odd, and how to run it again."""
        odd = {
            "rows": (self.rows, "gaussian"),
            "labels": (self.labels, "two"),
            "weights": (self.weights, "none"),
            "new rows": (self.new_rows, "same"),
        }
        said = [f"{name}: {value}" for name, (value, plain) in odd.items() if value != plain]
        said += [f"{name}={value}" for name, value in self.parameters]
        what = "; ".join(said) or "nothing odd"
        return (
            f"{self.model}.{self.action}, {self.n_rows} rows; {what}"
            f"   [python fuzz/fuzz.py --call {self.seed}]"
        )


# -- rows ------------------------------------------------------------------------------


def _gaussian(rng, n):
    X = rng.normal(size=(n, 3))
    X[::2] += 1.5  # so that labels that alternate can be learnt
    return X


def _with(value, where="cell"):
    """Return a table with one cell, one column or everything replaced by a value."""

    def build(rng, n):
        X = _gaussian(rng, n)
        if not n:
            return X
        if where == "cell":
            X[rng.integers(n), 1] = value
        elif where == "column":
            X[:, 1] = value
        elif where == "mixed":
            X[:, 1] = np.where(rng.random(n) < 0.5, value, -value)
        else:
            X[:] = value
        return X

    return build


def _scaled(factor):
    return lambda rng, n: _gaussian(rng, n) * factor


def _frame(change):
    def build(rng, n):
        import pandas

        return change(pandas.DataFrame(_gaussian(rng, n), columns=["a", "b", "c"]), rng)

    return build


def _sparse(rng, n):
    from scipy import sparse

    return sparse.csr_matrix(_gaussian(rng, n))


ROWS = {
    "gaussian": _gaussian,
    "list of lists": lambda rng, n: _gaussian(rng, n).tolist(),
    "float32": lambda rng, n: _gaussian(rng, n).astype(np.float32),
    "float16": lambda rng, n: _gaussian(rng, n).astype(np.float16),
    "longdouble": lambda rng, n: _gaussian(rng, n).astype(np.longdouble),
    "int8": lambda rng, n: rng.integers(-128, 127, (n, 3)).astype(np.int8),
    "uint64": lambda rng, n: rng.integers(0, 2**64 - 1, (n, 3), dtype=np.uint64),
    "bool": lambda rng, n: rng.random((n, 3)) < 0.5,
    "complex": lambda rng, n: _gaussian(rng, n) + 1j,
    "object of floats": lambda rng, n: _gaussian(rng, n).astype(object),
    "object with None": lambda rng, n: np.where(
        rng.random((n, 3)) < 0.1, None, _gaussian(rng, n).astype(object)
    ),
    "big ints": lambda rng, n: np.array([[2**63 + k, 10**30, k] for k in range(n)], dtype=object),
    "text": lambda rng, n: _gaussian(rng, n).astype(str),
    "words": lambda rng, n: np.array([["x", "y", "z"]] * n, dtype=object),
    "bytes": lambda rng, n: _gaussian(rng, n).astype("S8"),
    "dates": lambda rng, n: np.array([["2020-01-01"] * 3] * n, dtype="datetime64[D]"),
    "structured": lambda rng, n: np.zeros(n, dtype=[("a", float), ("b", float)]),
    "masked": lambda rng, n: np.ma.masked_greater(_gaussian(rng, n), 1.0),
    "one dimension": lambda rng, n: rng.normal(size=n),
    "three dimensions": lambda rng, n: rng.normal(size=(n, 2, 2)),
    "no column": lambda rng, n: np.empty((n, 0)),
    "one column": lambda rng, n: rng.normal(size=(n, 1)),
    "300 columns": lambda rng, n: rng.normal(size=(n, 300)),
    "column order": lambda rng, n: np.asfortranarray(_gaussian(rng, n)),
    "negative strides": lambda rng, n: _gaussian(rng, n)[::-1],
    "read-only": lambda rng, n: _read_only(_gaussian(rng, n)),
    "sparse": _sparse,
    "frame": _frame(lambda frame, rng: frame),
    "frame, two columns of one name": _frame(
        lambda frame, rng: frame.set_axis(["a", "a", "b"], axis=1)
    ),
    "frame, names of two kinds": _frame(lambda frame, rng: frame.set_axis(["a", 1, "b"], axis=1)),
    "frame with NA": _frame(lambda frame, rng: frame.astype("Float64").mask(frame > 1)),
    "frame of categories": _frame(lambda frame, rng: frame.round().astype("category")),
    "frame of texts": _frame(lambda frame, rng: frame.assign(b="-")),
    "frame of dates": _frame(lambda frame, rng: frame.assign(b=np.datetime64("2020-01-01", "ns"))),
    "NaN": _with(np.nan),
    "all NaN": _with(np.nan, "all"),
    "infinity": _with(np.inf),
    "one value of 5e-324": _with(TINY),
    "one value of 1e154": _with(LARGE),
    "one value of 1e200": _with(HUGE),
    "one value of 1e308": _with(LARGEST),
    "a column of 1e200": _with(HUGE, "column"),
    "a column of 1e308": _with(LARGEST, "column"),
    "a column of ±1e308": _with(LARGEST, "mixed"),
    "a column of 5e-324": _with(TINY, "column"),
    "a constant column": _with(7.0, "column"),
    "constant": _with(3.0, "all"),
    "zeros": _with(0.0, "all"),
    "all 1e308": _with(LARGEST, "all"),
    "times 5e-324": _scaled(TINY),
    "times 1e-200": _scaled(SMALL),
    "times 1e-8": _scaled(1e-8),
    "times 1e8": _scaled(1e8),
    "times 1e154": _scaled(LARGE),
    "times 1e200": _scaled(HUGE),
    "times 1e307": _scaled(1e307),
    "far from zero": lambda rng, n: _gaussian(rng, n) + 1e15,
    "duplicates": lambda rng, n: np.repeat(_gaussian(rng, max(1, n // 4)), 4, axis=0)[:n],
    "two distinct rows": lambda rng, n: np.arange(n)[:, None] % 2 * np.ones(3),
    "columns equal": lambda rng, n: np.repeat(rng.normal(size=(n, 1)), 3, axis=1),
    "a text": lambda rng, n: "rows",
    "None": lambda rng, n: None,
    "a number": lambda rng, n: 3.0,
    "a dict": lambda rng, n: {"a": [1.0] * n},
    "an iterator": lambda rng, n: iter(_gaussian(rng, n)),
    "ragged": lambda rng, n: [[1.0, 2.0, 3.0]] * max(0, n - 1) + [[1.0]] * min(1, n),
}


def _read_only(X):
    X.setflags(write=False)
    return X


# -- labels ----------------------------------------------------------------------------


def _cycle(*values, dtype=None):
    def build(rng, n):
        if dtype is not None:
            return np.array([values[k % len(values)] for k in range(n)], dtype=dtype)
        return [values[k % len(values)] for k in range(n)]

    return build


def _objects(*values):
    def build(rng, n):
        y = np.empty(n, dtype=object)
        y[:] = [values[k % len(values)] for k in range(n)]
        return y

    return build


def _series(kind, *values):
    def build(rng, n):
        import pandas

        return pandas.Series([values[k % len(values)] for k in range(n)], dtype=kind)

    return build


def _pandas_missing(name):
    def build(rng, n):
        import pandas

        y = np.empty(n, dtype=object)
        y[:] = [getattr(pandas, name) if k % 7 == 3 else "ab"[k % 2] for k in range(n)]
        return y

    return build


LABELS = {
    "two": _cycle(0, 1),
    "three": _cycle(0, 1, 2),
    "rare": lambda rng, n: np.arange(n) == 1,
    "one class": _cycle(1),
    "all different": lambda rng, n: np.arange(n),
    "words": _cycle("no", "yes"),
    "bytes": _cycle(b"no", b"yes", dtype="S3"),
    "objects": _objects("no", "yes"),
    "empty words": _objects("", "yes"),
    "bools": _cycle(False, True),
    "floats": _cycle(0.0, 1.0),
    "fractions": _cycle(0.5, 1.5),
    "infinite": _cycle(0.0, np.inf),
    "NaN": _cycle(0.0, 1.0, np.nan),
    "None and words": _objects("no", "yes", None),
    "None alone": _objects(None),
    "NaN and words": _objects("no", "yes", np.nan),
    "NaT objects": _pandas_missing("NaT"),
    "NA objects": _pandas_missing("NA"),
    "NaT": _cycle("2020-01-01", "2020-01-02", "NaT", dtype="datetime64[D]"),
    "dates": _cycle("2020-01-01", "2020-01-02", dtype="datetime64[D]"),
    "durations": _cycle(1, 2, dtype="timedelta64[s]"),
    "words and numbers": _objects("no", 1),
    "tuples": _objects((0, 1), (1, 0)),
    "complex": _cycle(1 + 1j, 2 + 0j),
    "uint64 beyond 2**63": _cycle(2**63, 2**63 + 1, dtype=np.uint64),
    "objects of 2**63": _objects(2**63, 2**63 + 1),
    "objects of 2**70": _objects(2**70, 2**70 + 1),
    "ints beyond 2**53": _cycle(2**53, 2**53 + 1),
    "int64 extremes": _cycle(-(2**63), 2**63 - 1),
    "long words": _cycle("a" * 20_000, "b" * 20_000),
    "long object words": _objects("a" * 20_000, "b" * 20_000),
    "words that differ in space": _cycle("a", "a "),
    "words with newlines": _objects("a\nb", "a\x1b[31m"),
    "not writable as UTF-8": _objects("\ud800", "a"),
    "categories": _series("category", "no", "yes"),
    "category with NA": _series("category", "no", "yes", None),
    "Int64": _series("Int64", 1, 2),
    "Int64 with NA": _series("Int64", 1, 2, None),
    "string with NA": _series("string", "no", "yes", None),
    "boolean with NA": _series("boolean", True, False, None),
    "one column": lambda rng, n: (np.arange(n) % 2).reshape(-1, 1),
    "two columns": lambda rng, n: np.eye(2)[np.arange(n) % 2],
    "too few": lambda rng, n: np.arange(max(0, n - 1)) % 2,
    "none": lambda rng, n: [],
    "None": lambda rng, n: None,
    "a text": lambda rng, n: "yes",
    "lists": lambda rng, n: [[k % 2] for k in range(n)],
    "ragged": lambda rng, n: [[0]] + [[0, 1]] * max(0, n - 1),
}

# -- weights ---------------------------------------------------------------------------


def _one_weight(value):
    def build(rng, n):
        weight = np.ones(n)
        weight[: min(1, n)] = value
        return weight

    return build


WEIGHTS = {
    "none": lambda rng, n: None,
    "random": lambda rng, n: rng.random(n),
    "whole numbers": lambda rng, n: rng.integers(0, 4, n),
    "zeros": lambda rng, n: np.zeros(n),
    "one class absent": lambda rng, n: (np.arange(n) % 2).astype(float),
    "one row": lambda rng, n: np.eye(1, n)[0] if n else np.empty(0),
    "negative": _one_weight(-1.0),
    "NaN": _one_weight(np.nan),
    "infinite": _one_weight(np.inf),
    "all 5e-324": lambda rng, n: np.full(n, TINY),
    "all 1e-200": lambda rng, n: np.full(n, SMALL),
    "all 1e154": lambda rng, n: np.full(n, LARGE),
    "all 1e200": lambda rng, n: np.full(n, HUGE),
    "all 1e308": lambda rng, n: np.full(n, LARGEST),
    "one of 5e-324": _one_weight(TINY),
    "one of 1e-200": _one_weight(SMALL),
    "one of 1e200": _one_weight(HUGE),
    "one of 1e308": _one_weight(LARGEST),
    "from 1e-300 to 1e300": lambda rng, n: np.logspace(-300, 300, n),
    "text": lambda rng, n: ["1"] * n,
    "words": lambda rng, n: ["x"] * n,
    "objects": lambda rng, n: np.array([1, None] * n, dtype=object)[:n],
    "complex": lambda rng, n: np.ones(n) + 1j,
    "too many": lambda rng, n: np.ones(n + 1),
    "one number": lambda rng, n: 2.0,
    "two dimensions": lambda rng, n: np.ones((n, 1)),
}

# -- parameters ------------------------------------------------------------------------

# Values are texts: a record stays plain and short, and 10**400 stays 10**400.
NUMBERS = (
    "0", "-1", "1", "1e-300", "5e-324", "1e308", "10**400", "2**63", "float('nan')",
    "float('inf')", "None", "'x'", "True", "[]", "np.float32(1)", "np.int8(1)", "1+1j",
)  # fmt: skip
PARAMETERS = {
    "n_hidden": ("0", "1", "-1", "2.5", "None", "'x'", "True", "np.int8(7)", "np.uint64(5)"),
    "C": (*NUMBERS, "'loo'"),
    "activation": ("'relu'", "'radbas'", "'sin'", "'no such'", "None", "np.exp", "lambda z: z / 0"),
    "output_bias": ("True", "'yes'", "None"),
    "bias_scale": NUMBERS,
    "class_weight": (
        "'balanced'", "'ratio'", "{0: 1.0, 1: 5.0}", "{'absent': 2.0}", "{0: 1.0, 9: 2.0}", "{}",
        "{0: 0.0}", "{0: -1.0}", "{0: float('nan')}", "{0: 1e308, 1: 1e308}", "{0: 5e-324}",
        "{0: 10**400}", "{0: 'x'}", "{0: None}", "[1, 2]", "'no such'",
    ),
    "calibrate": ("False", "1", "None"),
    "random_state": (
        "1", "-1", "2**32", "10**400", "'x'", "np.random.default_rng(0)",
        "np.random.RandomState(0)", "1.5", "None",
    ),
    "kernel_width": (*NUMBERS, "'scale'", "1e-200", "1e200"),
    "rho": (*NUMBERS, "1e-200", "1e200"),
    "membership": ("'exact'", "'nystrom'", "'approximate'", "None"),
    "n_jobs": ("1", "0", "-1", "2**31", "10**400", "1.5", "'x'"),
    "n_rules": ("1", "0", "1000", "10**400", "'x'", "2.5"),
    "centers": ("'random'", "'kmeans'", "'no such'"),
    "encoding": ("'phase'", "'no such'"),
    "augmented": ("True", "'x'"),
    "purity": ("0", "1", "0.5", "float('nan')", "10**400", "'x'"),
    "min_ball_size": ("1", "10**400", "0", "'x'"),
    "graph": ("'no such'", "'knn'", "True"),
    "graph_weight": NUMBERS,
    "direct_link": ("False", "None"),
    "n_rounds": ("0", "3", "-1", "10**400 * 0 + 2", "'x'"),
}  # fmt: skip

MODELS = {
    "RVFLClassifier": 5,
    "ELMClassifier": 2,
    "RoBellRVFLClassifier": 5,
    "NeuroFuzzyRVFLClassifier": 2,
    "ComplexRVFLClassifier": 2,
    "GranularBallRVFLClassifier": 2,
    "NoiseRobustRVFLClassifier": 5,
}
STREAMS = ("RVFLClassifier", "ELMClassifier", "RoBellRVFLClassifier")
ACTIONS = {"fit and predict": 8, "partial_fit": 3, "cross-validation": 1, "search": 1}
FUNCTIONS = ("find_label_issues", "pw_gbell_membership", "audit a frame", "flip labels", "g-mean")
CLASSES_GIVEN = ("[]", "None", "[0]", "[0, 0]", "[0, 1, 2]", "'ab'", "[0, None]", "[[0, 1]]")


def draw_call(seed):
    """Draw one call from its seed."""
    r = random.Random(seed)
    if r.random() < 0.25:
        model, action = "robell", r.choice(FUNCTIONS)
    else:
        model = r.choices(list(MODELS), MODELS.values())[0]
        action = r.choices(list(ACTIONS), ACTIONS.values())[0]
        if action == "partial_fit" and model not in STREAMS:
            action = "fit and predict"
    n_rows = r.choice(SIZES) if r.random() < 0.25 else 40
    odd = {}
    for what in r.sample(
        ("rows", "labels", "weights", "new_rows", "parameters"), r.choice((1, 1, 2))
    ):
        if what == "parameters":
            odd[what] = _draw_parameters(r, model, action)
        else:
            table = {"labels": LABELS, "weights": WEIGHTS}.get(what, ROWS)
            odd[what] = r.choice(list(table))
    return Call(seed, model, action, n_rows, **odd)


def _draw_parameters(r, model, action):
    if model == "robell":
        names = {
            "find_label_issues": ("random_state",),
            "pw_gbell_membership": ("kernel_width", "rho", "membership", "n_jobs", "random_state"),
            "audit a frame": ("random_state",),
        }.get(action, ())
    else:
        import robell

        names = sorted(getattr(robell, model)().get_params())
    names = r.sample(names, min(len(names), r.choice((1, 1, 2))))
    chosen = [(name, r.choice(PARAMETERS[name])) for name in names if name in PARAMETERS]
    if action == "partial_fit" and r.random() < 0.4:
        chosen.append(("classes", r.choice(CLASSES_GIVEN)))
    return tuple(chosen)


def value_of(text):
    """Return the value that the text of a parameter stands for."""
    return eval(text, {"np": np, "math": math})


def inputs_of(call):
    """Build X, y, weights and new rows of a call."""
    rng = np.random.default_rng(call.seed)
    n = call.n_rows
    X = ROWS[call.rows](rng, n)
    y = LABELS[call.labels](rng, n)
    weight = WEIGHTS[call.weights](rng, n)
    again = np.random.default_rng(call.seed) if call.new_rows == "same" else rng
    new = ROWS[call.rows if call.new_rows == "same" else call.new_rows](again, n)
    return X, y, weight, new
