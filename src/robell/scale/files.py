"""Fits and predictions of CSV and Parquet files.

Tables are CSV (with a header) or Parquet files, and may be larger than memory: they are read a few
times over, a batch of rows at a time.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from robell._core.tools.files import FileError, check_output, parse_bytes, written_whole
from robell._core.tools.progress import Progress
from robell.models._family import FamilyClassifier
from robell.report.text import spreadsheet_safe
from robell.scale.batches import Tables
from robell.scale.model_files import classifier_of, named_rows, names_of
from robell.scale.out_of_core import OutOfCoreFit

FEWEST_ROWS, MOST_ROWS = 1024, 65536  # of a batch


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


def _require_memory(memory_limit, classifier, n_rows, n_features, n_classes):
    """Raise where a table is too large for a model that takes all of its rows at once."""
    n_hidden = int(getattr(classifier, "n_hidden", n_rows))  # a kernel has a column for each row
    each = 4 * n_features + 4 * n_classes + 16  # numbers of a row: as read, scaled, split by class
    layers = 4 * min(n_rows * (n_features + n_hidden), 1 << 24)  # at most this much is kept
    gram = (n_features + n_hidden) ** 2 * 10
    needed = 8 * (n_rows * each + layers + gram) + (64 << 20)
    limit = parse_bytes(memory_limit)
    if needed > limit:
        raise FileError(
            f"{type(classifier).__name__} takes all rows at once, not in passes: {n_rows:,} rows "
            f"of {n_features} columns need about {needed / 2**20:,.0f} MiB, and the memory limit "
            f"leaves {limit / 2**20:,.0f} MiB"
        )


# -- fit -------------------------------------------------------------------------------


def fit_files(estimator, paths, target, memory_limit="1GiB"):
    """Fit an estimator to CSV or Parquet files of any size.

    Parameters
    ----------
    estimator : classifier of robell, or Pipeline that ends in one
        It is not changed. ``RVFLClassifier``, ``ELMClassifier`` and ``RoBellRVFLClassifier`` are
        fitted in passes, whatever the size of the files; all other steps of a pipeline must be
        ``StandardScaler`` then. The other classifiers take all rows at once, and files that need
        more than the memory limit are refused.
    paths : path-like or list of path-like
        Files, folders of files, or patterns as ``"data/part-*.parquet"``. All files must have the
        same columns, in any order; all but the target must be numeric.
    target : str
        The column of class labels.
    memory_limit : int or str, default="1GiB"
        How much the fit may take in addition to what the process holds already, as bytes or as
        ``"2GiB"``. Too little for one batch of rows is an error.

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
    return fit_tables(estimator, Tables(paths, target), memory_limit)[0]


def fit_tables(estimator, tables, memory_limit):
    """Do what :func:`fit_files` does; return the model and how often each label occurs."""
    classifier = classifier_of(estimator)
    in_passes = not isinstance(classifier, FamilyClassifier) or classifier._capabilities.passes
    if in_passes:
        OutOfCoreFit(estimator)  # raises for what cannot be fitted, before anything is read
    labels, sizes = tables.labels()
    if len(sizes) < 2:
        raise FileError(
            f"column {tables.target!r} holds one class only, {next(iter(sizes))!r}: "
            "at least two are needed"
        )
    fit = _fit_in_passes if in_passes else _fit_in_memory
    return fit(estimator, tables, labels, sizes, memory_limit), sizes


def _fit_in_passes(estimator, tables, labels, sizes, memory_limit):
    n_features = len(tables.columns)
    job = OutOfCoreFit(estimator, list(sizes), n_features)
    n_columns = 1 + n_features + int(job.classifier.n_hidden)
    rows = batch_rows(memory_limit, n_features, len(sizes), n_columns)
    for step in job.passes():
        total = None
        with Progress(sum(sizes.values()), step.name) as bar:
            for X, y in tables.batches(rows, labels):
                part = step.map(X, y)
                total = part if total is None else step.reduce(total, part)
                bar.advance(len(X))
        step.finish(total)
    return job.estimator(tables.columns)


def _fit_in_memory(estimator, tables, labels, sizes, memory_limit):
    n_rows = sum(sizes.values())
    classifier = classifier_of(estimator)
    _require_memory(memory_limit, classifier, n_rows, len(tables.columns), len(sizes))
    ((X, y),) = tables.batches(n_rows, labels)
    return clone(estimator).fit(named_rows(X, tables.columns), y)


# -- predict ---------------------------------------------------------------------------


def predict_files(model, paths, out, proba=False, memory_limit="1GiB"):
    """Predict the rows of CSV or Parquet files of any size, and write the classes to a file.

    Parameters
    ----------
    model : fitted estimator or pipeline
        Columns are taken by the names it knows, in any order, others are ignored; a model that
        knows no names takes all columns as they come.
    paths : path-like or list of path-like
        As :func:`fit_files` takes them.
    out : path-like
        A ``.csv`` or ``.parquet`` file: a column ``prediction``, a row for each row read, in
        their order. It appears when it is complete, and replaces an earlier one.
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
    check_output(out, [file.path for file in tables.files])
    if proba and not hasattr(model, "predict_proba"):
        raise ValueError("the model has no probabilities: it was fitted with calibrate=False")
    n_features, n_classes = len(tables.columns), len(model.classes_)
    rows = batch_rows(memory_limit, n_features, n_classes, n_features)
    names, written = names_of(model), 0
    with (
        Progress(tables.count() or 1, "predict") as bar,
        written_whole(out) as temporary,
        _writer(temporary, out, model.classes_, proba) as write,
    ):
        for X, _ in tables.batches(rows):
            named = X if names is None else named_rows(X, names)
            write(model.predict(named), model.predict_proba(named) if proba else None)
            written += len(X)
            if tables.count() is not None:  # of CSV files it is not known
                bar.advance(len(X))
    return written


@contextmanager
def _writer(path, out, classes, proba):
    """Give a function that appends predictions to a file; the format is that of the name."""
    import pyarrow
    from pyarrow import csv, parquet

    suffix = ".csv" if Path(out) == Path(os.devnull) else Path(out).suffix.lower()
    if suffix not in (".csv", ".parquet", ".pq"):
        raise FileError(f"{out}: predictions are written to .csv or .parquet files")
    names = {label: _spelt(label, suffix == ".csv") for label in classes.tolist()}
    # Beyond 2**63 the kind cannot be told from the values.
    is_unsigned = classes.dtype.kind == "u"
    kind = pyarrow.uint64() if is_unsigned else pyarrow.array(list(names.values())).type
    fields = [("prediction", kind)]
    if proba:
        fields += [(f"probability_{label}", pyarrow.float64()) for label in classes.tolist()]
    schema = pyarrow.schema(fields)
    writing = csv.CSVWriter if suffix == ".csv" else parquet.ParquetWriter
    with writing(str(path), schema) as writer:

        def write(labels, probability):
            spelt = [names[label] for label in labels.tolist()]
            columns = [pyarrow.array(spelt, schema.field(0).type)]
            if probability is not None:
                columns += [pyarrow.array(column) for column in probability.T]
            writer.write_table(pyarrow.table(columns, schema=schema))

        yield write


def _spelt(label, in_text):
    """Return a label as predictions hold it: in text as it was given, but never a formula."""
    if in_text and isinstance(label, float):
        return repr(label)  # Arrow would write 1.0 as 1
    return spreadsheet_safe(label) if in_text and isinstance(label, str) else label


def is_prediction_file(path):
    """Say whether a file looks like predictions that :func:`predict_files` has written."""
    with Path(path).open("rb") as file:
        beginning = file.read(12)
    if not beginning.startswith(b"PAR1"):
        return beginning == b'"prediction"'
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.read_schema(path).names[:1] == ["prediction"]
    except (pyarrow.ArrowException, OSError):
        return False
