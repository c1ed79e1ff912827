"""Predictions of raw rows from files: a part at a time, with reasons where they are wanted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from robell._tools.files import FileError
from robell._tools.pipelines import last_step
from robell._tools.text import said, shortened, spreadsheet_safe
from robell.models._contributions import contributions, log_odds
from robell.models.thresholded import ThresholdClassifier
from robell.scale.files import prediction_file
from robell.tables.drift import REORDERED, DriftMeter, missing_columns
from robell.tables.encoder import TableEncoder
from robell.tables.raw import number_cell
from robell.tables.read import table_parts

METERED = 2_048  # rows of a part by which drift is measured, evenly spaced
SHOWN_VALUE = 30  # characters of a cell among the reasons
NAMED = 5  # columns or classes that a line names


@dataclass
class Predicted:
    """What was predicted: rows, rows of each class, columns passed over, cells not understood.

    `drift` are lines about columns that are not as they were in training.
    """

    n_rows: int = 0
    classes: Counter = field(default_factory=Counter)
    extra: list = field(default_factory=list)
    unknown: Counter = field(default_factory=Counter)
    drift: list = field(default_factory=list)

    def line(self) -> str:
        """Say how many rows are predicted to be of each class."""
        sizes = [f"{said(str(name), 20)} {n:,}" for name, n in self.classes.most_common(NAMED)]
        return f"{self.n_rows:,} rows predicted: {', '.join(sizes)}"

    def remarks(self) -> list[str]:
        """Say what was passed over, what has moved, and which cells were not understood."""
        odd = [f"{said(name, 30)} {n:,}" for name, n in self.unknown.most_common(NAMED) if n]
        text = f"cells that the fit would not have understood, by column: {', '.join(odd)}"
        return [*ignored_columns(self.extra), *self.drift, *([text] if odd else [])]


def ignored_columns(extra):
    """Return a line that names columns the model does not know, none where there are none."""
    names = ", ".join(map(shortened, extra[:NAMED])) + (", ..." if len(extra) > NAMED else "")
    return [f"columns the model does not know are ignored: {names}"] if extra else []


def reads_raw_rows(model):
    """Say whether a model begins with a reader of raw tables."""
    return bool(getattr(model, "steps", None)) and isinstance(model.steps[0][1], TableEncoder)


def predict_raw(model, files, out, *, proba=False, explain=0, text=None, described=()):
    """Predict the rows of files by a pipeline that begins with a TableEncoder; write them.

    ``explain`` is the number of columns named for each row; ``text`` are the encoding and the
    delimiter of text files; ``described`` what the model's file says about its columns. Returns a
    Predicted.
    """
    encoder, rest = model.steps[0][1], model[1:]
    if proba and not hasattr(rest, "predict_proba"):
        raise ValueError("the model has no probabilities: it was fitted with calibrate=False")
    names, found, last = encoder.feature_names_in_.tolist(), Predicted(), last_step(rest)
    more, meter = ("reasons",) if explain else (), DriftMeter(list(described))
    parts = (part for path in files for part in table_parts(path, **(text or {})))
    with prediction_file(out, files, model, proba, more) as write:
        for part in parts:
            of_name = {column.name: column for column in part.columns}
            if gone := missing_columns(names, of_name):
                raise FileError(f"{part.name}: there is no column {gone}, which the model needs")
            if not found.n_rows:
                found.extra = [name for name in of_name if name not in set(names)]
                if [name for name in of_name if name in set(names)] != names:
                    found.drift = [REORDERED]
            columns = [of_name[name] for name in names]
            some = np.linspace(0, len(part.rows) - 1, min(len(part.rows), METERED)).astype(int)
            meter.add([column.take(some) for column in columns])
            used = encoder._used(columns)
            for one in used:
                found.unknown[one.name] += one.unknown
            X = np.hstack([np.empty((len(part.rows), 0)), *(one.matrix for one in used)])
            if isinstance(last, ThresholdClassifier):  # rows are scored once for both
                likely = rest.predict_proba(X)
                labels = last.labels_for(likely)
            else:
                labels, likely = rest.predict(X), rest.predict_proba(X) if proba else None
            why = [_reasons(rest, encoder, X, of_name, labels, explain)] if explain else []
            write(labels, likely if proba else None, *why)
            found.n_rows += len(labels)
            found.classes.update(labels.tolist())
    found.drift += meter.result().lines if described else []
    return found


def _reasons(model, encoder, X, of_name, labels, n_named):
    """Return for each row the columns that moved it most, with their values and by how much.

    Of two classes, the log-odds of the positive one; of more, those of the class predicted.
    """
    groups = encoder.groups_
    last = last_step(model)
    classes = np.asarray(last.classes_)
    if len(classes) == 2:
        place = int(getattr(last, "positive_", classes[-1]) == classes[-1])
        places = np.full(len(X), place)
    else:
        places = np.searchsorted(classes, labels)
    phi = np.empty((len(X), len(groups)))
    for place in np.unique(places):
        rows = places == place
        score = log_odds(model, place)
        phi[rows] = contributions(score, X[rows], encoder.centre_, list(groups.values()))
    order = np.argsort(-np.abs(phi), axis=1, kind="stable")[:, :n_named]
    names, texts = list(groups), []
    for row, best in enumerate(order):
        parts = [
            f"{shortened(names[j], SHOWN_VALUE)} = {_value(of_name[names[j]], row)} "
            f"({phi[row, j]:+.2f})"
            for j in best
            if phi[row, j]
        ]
        texts.append(spreadsheet_safe("; ".join(parts)))
    return texts


def _value(column, row):
    cell = number_cell(column.values[row]) if column.cells is None else column.cells[row]
    return shortened("(missing)" if cell in (None, "", "nan") else cell, SHOWN_VALUE)
