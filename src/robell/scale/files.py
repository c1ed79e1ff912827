"""Fits and predictions of CSV and Parquet files.

Tables are CSV (with a header) or Parquet files, and may be larger than memory: they are read a few
times over, a batch of rows at a time.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from robell._core.ensemble.members import KEPT_NUMBERS, N_LANDMARKS
from robell._core.layers.deep import KEPT_ELEMENTS
from robell._core.ridge.loo import MOST_EXACT
from robell._tools.files import FileError, check_output, parse_bytes, written_whole
from robell._tools.pipelines import last_step
from robell._tools.progress import Progress
from robell._tools.text import did_you_mean, spreadsheet_safe
from robell.models._estimator import BaseRVFLRegressor, FamilyMember
from robell.models.privileged import PrivilegedMixin
from robell.persist.model_files import named_rows, names_of
from robell.scale.batches import Tables
from robell.scale.out_of_core import OutOfCoreFit, sampled_rows, takes_parts

FEWEST_ROWS, MOST_ROWS = 1024, 65536  # of a batch
FEWEST_SAMPLED = 2_000  # rows of a sample, or all there are
READERS = 48 << 20  # bytes that the readers of files keep beside a batch

# -- fit -------------------------------------------------------------------------------


def fit_files(
    estimator: Any,
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    target: str | list[str],
    memory_limit: int | str = "1GiB",
    privileged: list[str] | tuple[str, ...] = (),
) -> Any:
    """Fit an estimator to CSV or Parquet files of any size.

    Parameters
    ----------
    estimator : model of robell, or Pipeline that ends in one
        It is not changed. RVFL and ELM networks, ``RoBellRVFLClassifier``,
        ``VarianceRVFLClassifier`` and ``MultiViewRVFLClassifier`` (without a graph) are fitted in
        passes, whatever the size of the files; all other steps of a pipeline must be
        ``StandardScaler`` then. ``NoiseRobustRVFLClassifier`` is fitted to all rows where they need
        no more than the memory limit, and otherwise to a sample of up to 200,000 of them
        (``n_samples_fitted_`` of ``n_samples_seen_``). The other models take all rows at once, and
        files that need more than the memory limit are refused.
    paths : path-like or list of path-like
        Files, folders of files, or patterns as ``"data/part-*.parquet"``. All files must have the
        same columns, in any order; all but the target must be numeric.
    target : str or list of str
        The column of class labels; of a regressor, the column or columns of its targets.
    memory_limit : int or str, default="1GiB"
        How much the fit may take in addition to what the process holds already, as bytes or as
        ``"2GiB"``. Too little for one batch of rows is an error.
    privileged : sequence of str, default=()
        Columns that prediction will not have, for ``RVFLPlusClassifier`` and
        ``KernelRVFLPlusClassifier``.

    Returns
    -------
    fitted : estimator
        A fitted clone, of the class of ``estimator``. It knows the columns by name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import RVFLClassifier
    >>> from robell.files import fit_files
    >>> table = load_breast_cancer(as_frame=True).frame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_csv(Path(folder) / "table.csv", index=False)
    ...     model = fit_files(RVFLClassifier(random_state=0), folder, "target")
    >>> model.n_features_in_
    30
    """
    if not isinstance(last_step(estimator), BaseRVFLRegressor):
        return fit_tables(estimator, Tables(paths, target), memory_limit, privileged)[0]
    in_passes = _require_fit_in_parts(estimator)
    targets = [target] if isinstance(target, str) else list(target)
    if not targets or len(set(targets)) < len(targets):
        raise FileError(f"target must name different columns; got {targets}")
    first = Tables(paths)
    features = [name for name in first.columns if name not in targets]
    if not features:
        raise FileError(f"{first.files[0].path}: there is no column except the target")
    tables, n_features = Tables(paths, None, [*features, *targets]), len(features)

    def batches(n_rows):
        for X, _ in tables.batches(n_rows):
            T = X[:, n_features] if len(targets) == 1 else X[:, n_features:]
            yield np.ascontiguousarray(X[:, :n_features]), np.ascontiguousarray(T)

    if not in_passes:
        n_rows = tables.count() or sum(len(X) for X, _ in tables.batches(MOST_ROWS))
        require_memory(memory_limit, last_step(estimator), n_rows, n_features, 1)
        ((X, T),) = batches(n_rows)
        return clone(estimator).fit(named_rows(X, features), T)
    job = OutOfCoreFit(estimator, n_features=n_features, n_targets=len(targets))
    n_columns = 1 + n_features + int(job.classifier.n_hidden)
    rows = batch_rows(memory_limit, len(tables.columns), 1, n_columns)
    _run_passes(job, lambda: batches(rows), tables.count())
    return job.estimator(features)


def fit_tables(estimator, tables, memory_limit, privileged=()):
    """Do what :func:`fit_files` does; return the model and how often each label occurs."""
    in_passes = _require_fit_in_parts(estimator)
    model, n_features = last_step(estimator), len(tables.columns)
    if isinstance(privileged, str):
        raise FileError(f"privileged must be a list of columns; got {privileged!r}")
    for name in privileged:
        if name not in tables.columns:
            near = did_you_mean(str(name), tables.columns)
            raise FileError(f"{tables.files[0].path}: no column {name!r} to be privileged{near}")
    if len(privileged) and not isinstance(model, PrivilegedMixin):
        raise FileError(
            f"{type(model).__name__} has no use for privileged columns: give RVFLPlusClassifier or "
            "KernelRVFLPlusClassifier (rvfl_plus, krvfl_plus), or leave them out of the files"
        )
    if len(set(privileged)) == n_features:
        raise FileError("all columns are privileged: none is left to predict from")
    labels, sizes = tables.labels()
    if len(sizes) < 2:
        raise FileError(
            f"column {tables.target!r} holds one class only, {next(iter(sizes))!r}: "
            "at least two are needed"
        )
    n_rows, sampled = sum(sizes.values()), None
    shape = n_rows, n_features, len(sizes)
    if in_passes and model._capabilities.by_sample:
        in_passes = memory_of_fit(model, *shape) > parse_bytes(memory_limit)
        if in_passes:
            sampled, rows = sizes_of_sample(memory_limit, model, *shape)
    elif in_passes:
        n_views = len(getattr(model, "views", None) or [None])
        n_columns = n_views * (1 + n_features + int(model.n_hidden))
        rows = batch_rows(memory_limit, n_features, len(sizes), n_columns)
    if in_passes:
        job = OutOfCoreFit(estimator, list(sizes), n_features, sample_rows=sampled)
        _run_passes(job, lambda: tables.batches(rows, labels), n_rows)
        return job.estimator(tables.columns), sizes
    require_memory(memory_limit, model, *shape)
    ((X, y),) = tables.batches(n_rows, labels)
    own, given = list(tables.columns), {}
    if privileged:
        own = [name for name in own if name not in privileged]
        places = [tables.columns.index(name) for name in dict.fromkeys(privileged)]
        steps = estimator.steps if isinstance(estimator, Pipeline) else []
        given = {f"{steps[-1][0]}__privileged" if steps else "privileged": X[:, places]}
        X = X[:, [tables.columns.index(name) for name in own]]
    return clone(estimator).fit(named_rows(X, own), y, **given), sizes


def _require_fit_in_parts(estimator):
    """Say whether a model may be fitted in passes; raise for what cannot be."""
    model = last_step(estimator)
    if isinstance(model, FamilyMember) and not takes_parts(model):
        return False
    if not (isinstance(model, FamilyMember) and model._capabilities.by_sample):
        OutOfCoreFit(estimator)
    return True


def _run_passes(job, batches, n_rows):
    """Finish all passes of a fit, over the batches of all rows each."""
    for step in job.passes():
        total = None
        with Progress(n_rows or 1, step.name) as bar:
            for X, y in batches():
                part = step.map(X, y)
                total = part if total is None else step.reduce(total, part)
                if n_rows is not None:
                    bar.advance(len(X))
        step.finish(total)


# -- memory ----------------------------------------------------------------------------


def batch_rows(memory_limit, n_features, n_classes, n_columns):
    """Return how many rows may be read at a time, or raise if the limit is too small for any."""
    limit = parse_bytes(memory_limit)
    gram = n_columns**2 * (4 * n_classes + 6)  # of the classes, as they are added; the solution
    sample = n_classes * 2048 * (4 * n_features + 3 * n_columns)  # reservoirs, their features
    landmarks = 3 * n_classes * 512**2
    fixed = 8 * (gram + sample + landmarks) + (64 << 20)  # and blocks, tiles and read buffers
    each = 8 * (6 * n_features + 16)  # the row, scaled, split by class, and its hash
    rows = (limit - fixed) // each
    if rows < FEWEST_ROWS:
        needed = (fixed + FEWEST_ROWS * each) / 2**20
        raise ValueError(
            f"memory limit too small: {n_features} features, {n_classes} classes and "
            f"{n_columns} columns of the design matrix need {needed:.0f} MiB at least"
        )
    return int(min(rows, MOST_ROWS))


def memory_of_fit(classifier, n_rows, n_features, n_classes):
    """Return about how many bytes a model takes that is fitted to all rows at once."""
    n_hidden = int(getattr(classifier, "n_hidden", n_rows))  # a kernel has a column for each row
    if classifier._capabilities.by_sample:  # its members' columns are kept between rounds
        each = 5 * n_features + 16 * n_classes + 24  # as read, standardised, scores of all members
        layers = min(n_rows * (2 * (n_features + n_hidden) + N_LANDMARKS), KEPT_NUMBERS)
        layers *= 0.5 if n_rows > MOST_EXACT else 1  # of many rows in single precision
        gram = max(n_features + n_hidden, N_LANDMARKS) ** 2 * 10
    else:
        each = 4 * n_features + 4 * n_classes + 16  # as read, scaled, split by class
        layers = 4 * min(n_rows * (n_features + n_hidden), 1 << 24)  # at most this much is kept
        if hasattr(classifier, "n_layers"):
            n_hidden *= int(classifier.n_layers)
            layers += min(n_rows * n_hidden, KEPT_ELEMENTS)
        gram = (n_features + n_hidden) ** 2 * 10
    return int(8 * (n_rows * each + layers + gram)) + (64 << 20)


def require_memory(memory_limit, classifier, n_rows, n_features, n_classes):
    """Raise where a table is too large for a model that takes all of its rows at once."""
    needed = memory_of_fit(classifier, n_rows, n_features, n_classes)
    limit = parse_bytes(memory_limit)
    if needed > limit:
        raise FileError(
            f"{type(classifier).__name__} takes all rows at once, not in passes: {n_rows:,} rows "
            f"of {n_features} columns need about {needed / 2**20:,.0f} MiB, and the memory limit "
            f"leaves {limit / 2**20:,.0f} MiB"
        )


def sizes_of_sample(memory_limit, classifier, n_rows, n_features, n_classes):
    """Return how many rows a sample may have, and how many may be read at a time."""
    limit, fewest = parse_bytes(memory_limit), min(FEWEST_SAMPLED, n_rows)
    each = 8 * (6 * n_features + 16)  # of a row read: as in batch_rows
    batch = int(min(max(limit // 16 // each, FEWEST_ROWS), MOST_ROWS))

    def needed(rows):
        # The sample, put together with a batch's and sorted; not all of it is given back in time.
        reading = 2 * 8 * rows * (n_features + 3) + 2 * batch * each + READERS
        return reading + memory_of_fit(classifier, rows, n_features, n_classes)

    rows = bisect_right(range(sampled_rows(n_features, n_classes) + 1), limit, key=needed) - 1
    if rows < fewest:
        raise FileError(
            f"memory limit too small: {type(classifier).__name__} is fitted to {fewest:,} rows at "
            f"least, which with {n_features} features and {n_classes} classes need "
            f"{needed(fewest) / 2**20:,.0f} MiB, and the limit leaves {limit / 2**20:,.0f} MiB"
        )
    return rows, batch


# -- predict ---------------------------------------------------------------------------


def predict_files(
    model: Any,
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    out: str | PathLike[str],
    proba: bool = False,
    memory_limit: int | str = "1GiB",
) -> int:
    """Predict the rows of CSV or Parquet files of any size, and write that to a file.

    Parameters
    ----------
    model : fitted estimator or pipeline
        Columns are taken by the names it knows, in any order, others are ignored; a model that
        knows no names takes all columns as they come.
    paths : path-like or list of path-like
        As :func:`fit_files` takes them.
    out : path-like
        A ``.csv`` or ``.parquet`` file: a column ``prediction`` (of several targets
        ``prediction_1`` and so on), a row for each row read, in their order. It appears when it
        is complete, and replaces an earlier one.
    proba : bool, default=False
        Whether to write ``probability_<class>`` of every class too.
    memory_limit : int or str, default="1GiB"
        As in :func:`fit_files`.

    Returns
    -------
    n_rows : int
        Number of rows written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import RVFLClassifier
    >>> from robell.files import predict_files
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = RVFLClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, out = Path(folder) / "table.csv", Path(folder) / "classes.csv"
    ...     X.to_csv(table, index=False)
    ...     predict_files(model, table, out)
    569
    """
    return predict_tables(model, tables_for(model, paths), out, proba, memory_limit)


def tables_for(model, paths):
    """Return the files as a model sees them."""
    check_is_fitted(model)
    names = names_of(model)
    tables = Tables(paths, None, None if names is None else list(names))
    if len(tables.columns) != model.n_features_in_:
        raise FileError(
            f"{tables.files[0].path}: {len(tables.columns)} columns, and the model was fitted to "
            f"{model.n_features_in_} without names"
        )
    return tables


def predict_tables(model, tables, out, proba, memory_limit):
    """Do what :func:`predict_files` does, given the files as the model sees them."""
    if proba:
        require_probabilities(model)
    n_features = len(tables.columns)
    n_classes = 1 if is_regressor(model) else len(model.classes_)
    rows = batch_rows(memory_limit, n_features, n_classes, n_features)
    names, written = names_of(model), 0
    inputs = [file.path for file in tables.files]
    with (
        Progress(tables.count() or 1, "predict") as bar,
        prediction_file(out, inputs, model, proba) as write,
    ):
        for X, _ in tables.batches(rows):
            named = X if names is None else named_rows(X, names)
            write(model.predict(named), model.predict_proba(named) if proba else None)
            written += len(X)
            if tables.count() is not None:  # of CSV files it is not known
                bar.advance(len(X))
    return written


def require_probabilities(model):
    """Raise where a model has no probabilities, and say why."""
    if not hasattr(model, "predict_proba"):
        why = "predicts numbers" if is_regressor(model) else "was fitted with calibrate=False"
        raise ValueError(f"the model has no probabilities: it {why}")


@contextmanager
def prediction_file(out, inputs, model, proba=False, more=None):
    """Give a function that appends predictions to a file, which appears when it is complete.

    It takes labels, probabilities or None, and a column for each name in ``more``, of "number" or
    "text". ``-`` is standard output, as CSV, row by row.
    """
    is_stream = str(out) == "-"
    suffix = ".csv" if is_stream or Path(out) == Path(os.devnull) else Path(out).suffix.lower()
    if suffix not in (".csv", ".parquet", ".pq"):
        raise FileError(f"{out}: predictions are written to .csv or .parquet files")
    columns_of = _spelling(model, suffix == ".csv")
    kinds = prediction_columns(model, proba) | (more or {})
    if not is_stream:
        check_output(out, inputs)
    writer = _csv_writer if suffix == ".csv" else _parquet_writer
    whole = nullcontext(None) if is_stream else written_whole(out)
    with whole as temporary, writer(temporary, kinds, model) as append:

        def write(predicted, probability, *others):
            likely = () if probability is None else probability.T
            append([*columns_of(predicted), *likely, *others])

        yield write


@contextmanager
def _csv_writer(path, names, model):
    """Give a function that appends columns to a CSV file: arrays of doubles, and lists."""
    with _standard_output() if path is None else path.open("wb") as file:

        def append(columns):
            cells = [
                map(repr, column.tolist()) if hasattr(column, "tolist") else map(_csv_cell, column)
                for column in columns
            ]
            rows = zip(*cells, strict=True)
            file.writelines((",".join(row) + "\n").encode() for row in rows)

        append([[name] for name in names])
        yield append


@contextmanager
def _standard_output():
    """Give standard output as a file of bytes."""
    sys.stdout.flush()  # what was printed before comes before
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _csv_cell(value):
    """Return a label or another text as a CSV file holds it: texts in quotes, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return str(value).lower()  # a whole number, or true and false


@contextmanager
def _parquet_writer(path, names, model):
    """Give a function that appends columns, arrays of doubles and lists, to a Parquet file."""
    import pyarrow
    from pyarrow import parquet

    kind = pyarrow.float64()
    if not is_regressor(model):  # beyond 2**63 the kind cannot be told from the values
        is_unsigned = model.classes_.dtype.kind == "u"
        kind = pyarrow.uint64() if is_unsigned else pyarrow.array(model.classes_.tolist()).type
    types = {"prediction": kind, "number": pyarrow.float64(), "text": pyarrow.string()}
    schema = pyarrow.schema([(name, types[what]) for name, what in names.items()])
    with parquet.ParquetWriter(str(path), schema) as writer:

        def append(columns):
            arrays = [
                pyarrow.array(one, kind) for one, kind in zip(columns, schema.types, strict=True)
            ]
            writer.write_table(pyarrow.table(arrays, schema=schema))

        yield append


def prediction_columns(model, proba):
    """Return the names of the columns of predictions and probabilities, and what each holds."""
    n = last_step(model).n_outputs_ if is_regressor(model) else 1
    names = ["prediction"] if n == 1 else [f"prediction_{k + 1}" for k in range(n)]
    kinds = dict.fromkeys(names, "prediction")
    if proba:
        kinds |= {f"probability_{label}": "number" for label in model.classes_.tolist()}
    return kinds


def _spelling(model, in_text):
    """Return what makes the columns of predictions of predictions."""
    if is_regressor(model):
        return lambda T: T.reshape(len(T), last_step(model).n_outputs_).T
    spelt = {label: label for label in model.classes_.tolist()}
    if in_text:  # as labels were given, but never a formula
        spelling = {float: repr, str: spreadsheet_safe}
        spelt = {one: spelling[type(one)](one) if type(one) in spelling else one for one in spelt}
    return lambda labels: [[spelt[label] for label in labels.tolist()]]


def is_prediction_file(path):
    """Say whether a file looks like predictions that :func:`predict_files` has written."""
    with Path(path).open("rb") as file:
        beginning = file.read(14)
    if not beginning.startswith(b"PAR1"):
        return beginning[:12] == b'"prediction"' or beginning == b'"prediction_1"'
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.read_schema(path).names[0] in ("prediction", "prediction_1")
    except (pyarrow.ArrowException, OSError, IndexError):
        return False
