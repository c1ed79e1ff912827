"""Predictions of raw rows from files: a part at a time, with reasons where they are wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from robell._tools.files import FileError
from robell._tools.pipelines import last_step
from robell._tools.text import few, said, shortened, spreadsheet_safe, unique
from robell._tools.threads import calm_blas, n_cores, one_thread, threads_of
from robell.models._contributions import contributions, log_odds
from robell.models.thresholded import ThresholdClassifier
from robell.scale.files import prediction_columns, prediction_file, require_probabilities
from robell.tables.columns import missing_texts
from robell.tables.drift import REORDERED, DriftMeter, missing_columns
from robell.tables.encoder import TableEncoder
from robell.tables.raw import Column
from robell.tables.read import evenly, table_parts

METERED = 2_048  # rows of a part by which drift is measured, evenly spaced
MOST_THREADS = 4  # that reasons are found in: a part has four blocks of rows
SHOWN_VALUE = 30  # characters of a cell among the reasons
FAR_OUT = 1.0  # standard deviations from the mean, from which on a number is high or low
# By how many times a column changes the odds of the class that was predicted, and the word for it
STRENGTHS = ((4.0, "strong"), (1.5, "moderate"), (1.0, "weak"))
REASONS = ("reasons_for", "reasons_against")
NAMED = 5  # columns or classes that a line names


@dataclass
class Predicted:
    """What was predicted: rows of each class, columns passed over, cells not understood.

    `drift` are lines about columns that are not as they were in training, and `has_drifted` says
    whether cells or their distributions are among them. `threshold` is the class looked for and its
    least probability, where there is one.
    """

    threshold: tuple[str, float] | None = None
    n_rows: int = 0
    classes: Counter = field(default_factory=Counter)
    extra: list = field(default_factory=list)
    unknown: Counter = field(default_factory=Counter)
    drift: list = field(default_factory=list)
    has_drifted: bool = False

    def line(self) -> str:
        """Say how many rows are predicted, and how many of each class where they have one."""
        if not self.classes:
            return f"{self.n_rows:,} rows predicted"
        sizes = [f"{said(str(name), 20)} {n:,}" for name, n in self.classes.most_common(NAMED)]
        line = f"{self.n_rows:,} rows predicted: {', '.join(sizes)}"
        if self.threshold is None:
            return line
        name, value = self.threshold
        return f"{line}; {said(name, 20)} from a probability of {value:.4g} on"

    def remarks(self) -> list[str]:
        """Say what was passed over, what has moved, and which cells were not understood."""
        odd = [f"{said(name, 30)} {n:,}" for name, n in self.unknown.most_common(NAMED) if n]
        text = f"cells that the fit would not have understood, by column: {', '.join(odd)}"
        return [*ignored_columns(self.extra), *self.drift, *([text] if odd else [])]


def ignored_columns(extra):
    """Return a line that names columns the model does not know, none where there are none."""
    names = few([*map(shortened, extra)], NAMED)
    return [f"columns the model does not know are ignored: {names}"] if extra else []


def reads_raw_rows(model):
    """Say whether a model begins with a reader of raw tables."""
    return bool(getattr(model, "steps", None)) and isinstance(model.steps[0][1], TableEncoder)


@calm_blas
def predict_raw(model, files, out, *, proba=False, explain=0, keep=None, text=None, described=()):
    """Predict the rows of files by a pipeline that begins with a TableEncoder; write them.

    ``proba`` adds probabilities and the threshold; ``explain`` is the number of columns named for
    each row; ``keep`` are columns to be copied, all of them if empty, none if None; ``described``
    is what the model's file says about its columns. Returns a Predicted.
    """
    encoder, rest = model.steps[0][1], model[1:]
    names, found, last = encoder.feature_names_in_.tolist(), Predicted(), last_step(rest)
    needed = [plan["name"] for plan in encoder.plans_]  # others were left out by the fit
    has_classes = not is_regressor(last)
    if proba:
        require_probabilities(model)
    if explain and not has_classes:
        raise ValueError("the model predicts numbers: --explain is for classes")
    meter = DriftMeter(list(described))
    more: dict[str, str] = {}
    decides = isinstance(last, ThresholdClassifier)
    if decides and len(last.classes_) == 2:
        found.threshold = str(last.positive_), float(last.threshold_)
        more |= {"threshold": "number"} if proba else {}
    more |= dict.fromkeys(REASONS, "text") if explain else {}
    parts: Iterator[Any] = (part for path in files for part in table_parts(path, **(text or {})))
    first = next(parts, None)
    parts = iter(()) if first is None else chain([first], parts)
    is_typed = Path(out).suffix.lower() in (".parquet", ".pq")  # which no spreadsheet computes
    if keep is not None:
        keep = keep or ([] if first is None else [column.name for column in first.columns])
        own = [*prediction_columns(model, has_classes), *more]
        more |= dict.fromkeys(unique([*own, *keep])[len(own) :], "text")
    n_threads = min(MOST_THREADS, n_cores()) if explain else 1
    scores: dict[int, dict] = {}  # of each class, for the reasons of the next part
    with (
        prediction_file(out, files, model, proba, more) as write,
        threads_of(n_threads, one_thread) as threads,
    ):
        for part in parts:
            of_name = {column.name: column for column in part.columns}
            if gone := missing_columns(needed, of_name):
                raise FileError(f"{part.name}: there is no column {gone}, which the model needs")
            if gone := missing_columns(keep or (), of_name):
                raise FileError(f"{part.name}: there is no column {gone} to be kept")
            known = {*names, *(keep or ()), *found.extra}
            found.extra += [name for name in of_name if name not in known]
            there = [name for name in names if name in of_name]
            if [name for name in of_name if name in set(names)] != there:
                found.drift = [REORDERED]
            some = evenly(len(part.rows), METERED)
            metered = [of_name[name].take(some) for name in names if name in of_name]
            meter.add(metered, len(part.rows) / len(some))
            empty = Column("", [None] * len(part.rows))
            used = encoder._used([of_name.get(name, empty) for name in names])
            for one in used:
                found.unknown[one.name] += one.unknown
            X = np.hstack([np.empty((len(part.rows), 0)), *(one.matrix for one in used)])
            # Rows are scored once for both where labels follow from probabilities.
            likely = rest.predict_proba(X) if proba or decides else None
            labels = last.labels_for(likely) if decides else rest.predict(X)
            others: list[Any] = []
            if "threshold" in more:
                others.append(np.full(len(X), last.threshold_))
            if explain:
                how = labels, explain, threads, scores
                others += _reasons(rest, encoder, X, of_name, *how)
            for name in keep or ():
                cells = of_name[name].cells
                others.append(
                    cells if is_typed else [cell and spreadsheet_safe(cell) for cell in cells]
                )
            write(labels, likely if proba else None, *others)
            found.n_rows += len(labels)
            if has_classes:
                found.classes.update(labels.tolist())
    if described:
        drift = meter.result()
        found.drift, found.has_drifted = found.drift + drift.lines, drift.has_moved
    return found


def _reasons(model, encoder, X, of_name, labels, n_named, threads, known):
    """Return for each row which columns move the log-odds of its class most, for and against it."""
    groups = encoder.groups_
    classes = np.asarray(last_step(model).classes_)
    places = np.searchsorted(classes, labels)
    phi = np.empty((len(X), len(groups)))
    for place in np.unique(places):
        # Of two classes the log-odds of one are those of the other with another sign.
        rows = np.full(len(X), True) if len(classes) == 2 else places == place
        score = log_odds(model, place)
        given = X[rows], encoder.centre_, list(groups.values())
        phi[rows] = contributions(score, *given, threads, known.setdefault(place, {}))
        if len(classes) == 2:
            phi[places != place] *= -1.0
            break
    order = np.argsort(-np.abs(phi), axis=1, kind="stable")[:, :n_named]
    phi = np.take_along_axis(phi, order, axis=1)
    least, words = zip(*STRENGTHS, strict=True)
    strengths = np.array(words)[np.argmax(np.exp(np.abs(phi))[..., None] >= least, axis=2)]
    named = np.empty(order.shape, object)
    for j, plan in enumerate(encoder.plans_):
        rows, at = np.nonzero(order == j)
        values = _values(plan, of_name[plan["name"]], X[:, groups[plan["name"]][0]], rows)
        shown = shortened(plan["name"], SHOWN_VALUE)
        words = strengths[rows, at].tolist()
        named[rows, at] = [f"{shown} = {v} ({w})" for v, w in zip(values, words, strict=True)]
    texts = []
    for is_on_side in (phi > 0, phi < 0):
        chosen = map(compress, named.tolist(), is_on_side.tolist())
        texts.append([spreadsheet_safe("; ".join(some)) for some in chosen])
    return texts


def _values(plan, column, scaled, rows):
    """Return cells, and of numbers and dates where they stand among those of the training."""
    none, shorten = {None, *missing_texts(plan)}, cache(partial(shortened, limit=SHOWN_VALUE))
    cells = column.cells
    found = ["(missing)" if cells[row] in none else shorten(cells[row]) for row in rows.tolist()]
    if plan["kind"] in ("number", "date") and plan["value"]:
        low, high = ("early", "late") if plan["kind"] == "date" else ("low", "high")
        for k in np.flatnonzero(np.abs(scaled[rows]) >= FAR_OUT).tolist():
            if found[k] != "(missing)":
                found[k] += f", {high if scaled[rows[k]] > 0 else low}"
    return found
