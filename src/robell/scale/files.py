"""Fits and predictions of CSV and Parquet files, and files that hold models.

Tables are CSV (with a header) or Parquet files, and may be larger than memory: they are read a few
times over, a batch of rows at a time. Models are skops files: data, never code.
"""

from __future__ import annotations

import os
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from robell._core.tools.files import FileError, check_output, parse_bytes, written_whole
from robell._core.tools.optional import require
from robell._core.tools.progress import Progress
from robell.models import CLASSIFIERS
from robell.models._base import FamilyClassifier
from robell.report.text import spreadsheet_safe
from robell.scale.batches import Tables
from robell.scale.out_of_core import OutOfCoreFit

__all__ = ["FileError", "fit_files", "load_model", "predict_files", "save_model"]

FEWEST_ROWS, MOST_ROWS = 1024, 65536  # of a batch
# Of foreign types a model file may hold scikit-learn's own, which skops knows, and these.
OWN_TYPES = [f"{home}.{name}" for name, home in CLASSIFIERS.items()]


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
    n_hidden = int(classifier.n_hidden)
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
    classifier = _classifier_of(estimator)
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
    classifier = _classifier_of(estimator)
    _require_memory(memory_limit, classifier, n_rows, len(tables.columns), len(sizes))
    ((X, y),) = tables.batches(n_rows, labels)
    return clone(estimator).fit(_frame(X, tables.columns), y)


def _classifier_of(model):
    """Return the model, or the last step of a pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) and model.steps else model


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
    names = _names_of(model)
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
    names, written = _names_of(model), 0
    with (
        Progress(tables.count() or 1, "predict") as bar,
        written_whole(out) as temporary,
        _writer(temporary, out, model.classes_, proba) as write,
    ):
        for X, _ in tables.batches(rows):
            named = X if names is None else _frame(X, names)
            write(model.predict(named), model.predict_proba(named) if proba else None)
            written += len(X)
            if tables.count() is not None:  # of CSV files it is not known
                bar.advance(len(X))
    return written


def _names_of(model):
    """Return the columns a model was fitted to, None where they had no names."""
    return getattr(model, "feature_names_in_", None)


def _frame(X, names):
    """Return rows as a model that knows names wants to see them."""
    return require("pandas", "files").DataFrame(X, columns=names, copy=False)


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


# -- models ----------------------------------------------------------------------------


def save_model(estimator, path):
    """Write a fitted model to a skops file.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        One of robell's classifiers, alone or as the last step of a pipeline.
    path : path-like
        The file; an earlier one is replaced once the new one is complete.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import RVFLClassifier
    >>> from robell.files import load_model, save_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RVFLClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "model.skops")
    ...     again = load_model(Path(folder) / "model.skops")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    skops = require("skops.io", "files")
    check_is_fitted(estimator)
    _require_own(estimator, "save_model")
    data = skops.dumps(estimator)
    foreign = _foreign_types(data)
    if foreign:
        raise ValueError(
            f"the model holds {', '.join(foreign)}: model files hold no functions or classes of "
            "others, so use an activation by its name"
        )
    with written_whole(path) as temporary:
        temporary.write_bytes(data)


def load_model(path, memory_limit="2GiB"):
    """Read a model that :func:`save_model` has written.

    Nothing in the file is run: it may hold robell's classifiers, scikit-learn's estimators, and
    numbers and texts, and a file with anything else is refused before it is loaded.

    Parameters
    ----------
    path : path-like
        The file.
    memory_limit : int or str, default="2GiB"
        A file that would unpack to more than half of it is refused before it is unpacked.

    Returns
    -------
    model : fitted estimator or pipeline

    Examples
    --------
    >>> from robell.files import load_model
    >>> load_model("nowhere.skops")
    Traceback (most recent call last):
        ...
    robell._core.tools.files.FileError: nowhere.skops: there is no such file
    """
    skops = require("skops.io", "files")
    path = Path(path)
    if not path.is_file():
        raise FileError(f"{path}: there is no such file")
    _require_size(path, parse_bytes(memory_limit))
    data = path.read_bytes()
    try:
        foreign = _foreign_types(data)
        if foreign:
            raise FileError(
                f"{path}: refused, because it holds types that are not trusted: "
                f"{', '.join(foreign)}"
            )
        model = skops.loads(data, trusted=OWN_TYPES)
        _require_own(model, path)
        _require_answer(model, path)
    except FileError:
        raise
    except Exception as error:  # whatever a damaged or forged file makes the reader stumble over
        raise FileError(f"{path}: not a model file ({type(error).__name__})") from error
    return model


def _require_size(path, limit):
    """Raise, before anything is unpacked, where a file would unpack to more than may be used."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(member.file_size for member in packed.infolist())
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise FileError(f"{path}: not a model file ({type(error).__name__})") from error
    if size > limit // 2:  # it is held twice while it is read
        raise FileError(
            f"{path}: refused, because it unpacks to {size / 2**20:,.0f} MiB, and the memory limit "
            f"is {limit / 2**20:,.0f} MiB"
        )


def _require_answer(model, path):
    """Raise where a model cannot predict one row: its parts were changed and do not fit."""
    row, names = np.zeros((1, model.n_features_in_)), _names_of(model)
    row = row if names is None else _frame(row, names)
    with np.errstate(all="ignore"):
        known = model.predict(row)[0] in model.classes_
    if not known:
        raise FileError(f"{path}: damaged: the parts of the model do not fit together")


def _foreign_types(data):
    from skops.io import get_untrusted_types

    return sorted(set(get_untrusted_types(data=data)) - set(OWN_TYPES))


def _require_own(model, where):
    last = _classifier_of(model)
    if not isinstance(last, FamilyClassifier):
        raise FileError(f"{where}: {type(last).__name__} is none of robell's classifiers")


# -- earlier results -------------------------------------------------------------------


def is_model_file(path):
    """Say whether a file looks like a model that :func:`save_model` has written."""
    try:
        with zipfile.ZipFile(path) as packed:
            return "schema.json" in packed.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


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
