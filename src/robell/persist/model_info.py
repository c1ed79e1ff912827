"""What a model file says about its model, as plain values and as a card in words and Markdown.

Versions, training date, columns, classes and threshold are plain JSON beside the model itself: they
can be read without loading the model, and nothing of the model depends on them.
"""

from __future__ import annotations

import datetime
import json
import math
import platform
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from robell import __version__
from robell._tools.pipelines import steps_of
from robell._tools.text import few, number_text, percent, text_print, visible, writable
from robell.report.tables import escape_markdown, to_markdown
from robell.tables.columns import learn_column, missing_cells
from robell.tables.dates import day_text
from robell.tables.drift import Drift, DriftMeter, column_profile
from robell.tables.encoder import TableEncoder
from robell.tables.read import columns_of, evenly

MEMBER = "robell.json"  # the part of a model file that this is
FORMAT = 1
PACKAGES = ("scikit-learn", "numpy", "scipy", "skops")
MOST_ROWS = 20_000  # of the training table that the columns are described by
MOST_CLASSES = 1_000


def describe_model(estimator, X=None, y=None, about=None):
    """Return what is written into the file of a model, all of it plain values."""
    parts = steps_of(estimator)
    classifier = parts[-1]
    classes = getattr(estimator, "classes_", np.empty(0))  # a regressor has none
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    columns = [{"name": name, "kind": "unknown"} for name in names]
    if X is not None:
        table = columns_of(X)
        columns = describe_columns(table, parts[0])
        if y is not None and table and len(table[0]) != len(y):
            raise ValueError(f"X has {len(table[0])} rows, y has {len(y)}")
        given = [column["name"] for column in columns]
        is_encoded = isinstance(parts[0], TableEncoder)
        if is_encoded:  # further columns may stand in its table
            is_other = not {plan["name"] for plan in parts[0].plans_} <= set(given)
        else:
            is_other = len(given) != estimator.n_features_in_
            is_other |= bool(names) and hasattr(X, "columns") and given != names
        if is_other:
            raise ValueError("X must have the columns that the model was fitted to, in their order")
        if not is_encoded:
            columns = [one | {"name": n} for one, n in zip(columns, names or given, strict=True)]
    judge = next((part for part in parts if hasattr(part, "noise_matrix_")), classifier)
    noise: Any = getattr(judge, "noise_matrix_", None)
    is_odd = np.ndim(noise) != 2 or len(noise) > MOST_CLASSES or not np.isfinite(noise).all()
    counted = None if y is None else Counter(np.asarray(y).ravel().tolist())
    if counted and len(classes) and (others := counted.keys() - set(classes.tolist())):
        raise ValueError(f"y has the label {others.pop()!r}, which is none of the model's classes")
    counts = counted and [int(counted.get(label, 0)) for label in classes.tolist()]
    info = {
        "format": FORMAT,
        "robell": __version__,
        "versions": versions(type(classifier).__module__.partition(".")[0]),
        "saved": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "model": [type(part).__name__ for part in parts],
        "parameters": plain_value(classifier.get_params(deep=False)),
        "classes": [plain_value(label) for label in classes.tolist()],
        "class_counts": counts or None,
        "n_rows": None if y is None else len(y),
        "n_features": int(estimator.n_features_in_),
        "columns": columns,
        "columns_fingerprint": text_print(json.dumps([[c["name"], c["kind"]] for c in columns])),
        "threshold": threshold_of(estimator),
        "noise_rate": _number(getattr(judge, "noise_rate_", None)),
        "noise_matrix": None if is_odd else np.asarray(noise, float).tolist(),
        "about": {str(name): plain_value(value) for name, value in (about or {}).items()},
    }
    return json.loads(json.dumps(info, allow_nan=False))


def versions(package="robell"):
    """Return the versions of the packages that a model of a package depends on."""
    found = {"python": platform.python_version()}
    more = () if package in ("robell", "sklearn") else (package,)
    for name in (*PACKAGES, *more):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # skops alone may be missing where a model is described
            found[name] = "none"
    return found


def describe_columns(X, first):
    """Return name, kind and distribution of each column of a training table."""
    columns = columns_of(X)
    some = evenly(len(columns[0]) if columns else 0, MOST_ROWS)
    columns = [column.take(some) for column in columns]
    if isinstance(first, TableEncoder):
        plans = {plan["name"]: plan for plan in first.plans_}
    else:
        plans = {column.name: _plan(column) for column in columns}
    described = []
    for column in columns:
        if plan := plans.get(column.name):
            profile = column_profile(plan, column)
        else:
            share = float(missing_cells(column).mean()) if len(column) else 0.0
            profile = {"kind": "left out", "missing": share}
        described.append({"name": column.name, **profile})
    return described


def _plan(column):
    """Return how a column is read that no encoder has learnt."""
    if column.values is not None:
        return {"kind": "number", "how": "number"}
    return learn_column(column, np.arange(len(column)) + 1)[0]


def describe_drift(info: dict[str, Any], X: Any) -> Drift:
    """Say what is different about a table that a model is to be applied to.

    Parameters
    ----------
    info : dict
        What :func:`model_info` gives; the model must have been saved with its training table.
    X : data frame or array
        The table.

    Returns
    -------
    drift : Drift
        Columns that are missing, unknown, in another order, of another kind, far outside their
        training range, or with another distribution; ``drift.lines`` says it in words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import RVFLClassifier
    >>> from robell.files import describe_drift, model_info, save_model
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.skops"
    ...     save_model(RVFLClassifier(random_state=0).fit(X, y), path, X=X)
    ...     info = model_info(path)
    >>> describe_drift(info, X).lines
    []
    >>> X["mean area"] /= 100
    >>> print(describe_drift(info, X.tail(100)).moved[0].how)
    median 5.11, 551 before, about 0.009 times the usual size; another unit?
    """
    meter = DriftMeter(info.get("columns", []))
    meter.add(columns_of(X))
    return meter.result()


def threshold_of(estimator):
    """Return the threshold on the probability of one class, None where the likeliest counts."""
    for step in steps_of(estimator):
        value = _number(getattr(step, "threshold_", None))
        if value is not None and len(getattr(step, "classes_", ())) == 2:
            positive = getattr(step, "positive_", step.classes_[-1])
            return {"value": value, "positive": plain_value(getattr(positive, "tolist", str)())}
    return None


def _number(value):
    is_finite = isinstance(value, float | int | np.number) and math.isfinite(value)
    return float(value) if is_finite else None


def plain_value(value):
    """Return a value that JSON can hold; of anything else its text, shortened."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, np.generic):
        return plain_value(value.item())
    if isinstance(value, dict):
        return {str(key): plain_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(one) for one in value]
    return str(value)[:200]


# -- the model card, beside the file ---------------------------------------------------

MARK = "<!-- model card written by robell -->"
MOST_COLUMNS = 200


def card_path(path):
    """Return where the card of a model file stands: beside it, ``NAME-card.md``."""
    path = Path(path)
    return path.with_name(f"{path.name.removesuffix('.skops')}-card.md")


def is_card(path):
    """Say whether a file is a model card that was written here."""
    with Path(path).open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()


def model_card(name, info):
    """Return the card as Markdown."""
    from robell.report.page import Words  # a model that is only loaded needs no words

    words = Words("robell.persist")
    head = {
        "name": _text(name),
        "saved": _text(info["saved"]),
        "robell": _text(info["robell"]),
        "versions": ", ".join(f"{_text(of)} {_text(v)}" for of, v in info["versions"].items()),
        "rows": "" if info["n_rows"] is None else f" Trained with {info['n_rows']:,} rows.",
        "steps": " → ".join(map(_text, info["model"])),
        "parameters": ", ".join(f"{_text(k)}={_text(v)}" for k, v in info["parameters"].items()),
    }
    parts = [MARK, *words.text("head", **head), *_classes(info, words)]
    parts += ["## About", _about(info["about"])] if info["about"] else []
    parts += ["## Columns", *_columns(info, words), *words.text("limits")]
    if info["columns"] and all(one["kind"] == "unknown" for one in info["columns"]):
        parts.append(words.text("no_table"))
    file = writable(name).replace("`", "'").replace("\n", " ")
    return "\n\n".join([*parts, *words.text("use", file=file)]) + "\n"


def _text(value):
    return escape_markdown(visible(str(value)))


def _classes(info, words):
    """Yield what the card says about classes, threshold and wrong labels."""
    counts = info["class_counts"]
    if not info["classes"]:
        yield "Predicts a number."
        return
    if counts is None:
        yield "Classes: " + ", ".join(_text(label) for label in info["classes"]) + "."
    else:
        rows = [
            (visible(str(label)), count, percent(count / max(1, sum(counts))))
            for label, count in zip(info["classes"], counts, strict=True)
        ]
        yield to_markdown(words.table("classes", rows)).strip()
    if info["threshold"] is not None:
        value, positive = info["threshold"]["value"], _text(info["threshold"]["positive"])
        yield words.text("threshold", value=value, positive=positive)
    else:
        yield words.text("likeliest")
    if info["noise_rate"] is not None:
        yield words.text("wrong_labels", share=percent(info["noise_rate"]))


def _about(about, depth=0):
    lines = []
    for name, value in about.items():
        if isinstance(value, dict):
            lines += [f"{'  ' * depth}- {_text(name)}:", _about(value, depth + 1)]
        else:
            text = number_text(value) if isinstance(value, float) else _text(value)
            lines.append(f"{'  ' * depth}- {_text(name)}: {text}")
    return "\n".join(lines)


def _columns(info, words):
    if not info["columns"]:
        yield f"{info['n_features']:,} columns without names, taken in their order."
        return
    rows = []
    for one in info["columns"][:MOST_COLUMNS]:
        # Nothing where the training table was not given.
        missing = "" if one["kind"] == "unknown" else percent(one.get("missing", 0.0))
        rows.append((visible(one["name"]), one["kind"], missing, _values_of(one)))
    yield to_markdown(words.table("columns", rows)).strip()
    if len(info["columns"]) > MOST_COLUMNS:
        yield f"And {len(info['columns']) - MOST_COLUMNS:,} more."
    yield f"Fingerprint of names and kinds: `{info['columns_fingerprint']}`."


def _values_of(column):
    """Return the range of numbers, or the commonest levels."""
    if edges := column.get("edges"):
        is_number = column["kind"] == "number"  # otherwise days since 1970; a calendar has few
        texts = [number_text(x) if is_number or abs(x) > 1e6 else day_text(x) for x in edges]
        median = f", median {number_text(column['median'])}" if is_number else ""
        return f"{texts[0]} to {texts[-1]}{median}"
    if column.get("levels"):
        shown = [f"{visible(level)} ({percent(s)})" for level, s in column["levels"].items()]
        return few(shown, 3)
    return ""
