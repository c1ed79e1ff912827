"""Files that hold models: skops files, data and never code, which may come from anybody.

What a file would take is found out before it is unpacked, its types are looked at before it is
loaded, and the model has to answer for one row before it is given out.
"""

from __future__ import annotations

import json
import math
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from robell._core.tools.files import FileError, copy_pipe, parse_bytes, written_whole
from robell._core.tools.optional import require
from robell.models import CLASSIFIERS, REGRESSORS
from robell.models._family import FamilyMember, FamilyRegressor

# Of foreign types a model file may hold scikit-learn's own, which skops knows, and these.
OWN_TYPES = [f"{home}.{name}" for name, home in (CLASSIFIERS | REGRESSORS).items()]
OWN_TYPES += ["robell.tables.encoder.TableEncoder"]
SCHEMA = "schema.json"  # the part of a file that describes the model
OBJECTS = 32  # bytes of memory for a byte of it, at most


def save_model(estimator, path):
    """Write a fitted model to a skops file.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        One of robell's classifiers or regressors, alone or as the last step of a pipeline.
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

    Nothing in the file is run: it may hold robell's models, scikit-learn's estimators, and
    numbers and texts, and a file with anything else is refused before it is loaded.

    Parameters
    ----------
    path : path-like
        The file.
    memory_limit : int or str, default="2GiB"
        A file that would take more than that to load is refused before it is unpacked.

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
    if path.is_fifo():
        with tempfile.TemporaryDirectory() as folder:
            return load_model(copy_pipe(path, Path(folder) / path.name), memory_limit)
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    if not path.is_file():
        raise FileError(f"{path}: is a folder or a device, not a file")
    limit = parse_bytes(memory_limit)
    _require_size(path, limit)
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
        _require_answer(model, path, limit)
    except FileError:
        raise
    except Exception as error:  # whatever a damaged or forged file makes the reader stumble over
        raise FileError(f"{path}: not a model file ({type(error).__name__})") from error
    return model


def _require_size(path, limit):
    """Raise, before anything is unpacked, where a file would take more than may be used."""
    try:
        with zipfile.ZipFile(path) as packed:
            sizes = {member.filename: member.file_size for member in packed.infolist()}
            total = sum(member.file_size for member in packed.infolist())
            _require_less(path, total, limit // 2)  # it is held twice while it is read
            _require_less(path, sizes[SCHEMA] * OBJECTS, limit)
            # A forged file may hold an array once and ask for it a thousand times.
            named = _files_named(json.loads(packed.read(SCHEMA)))
            _require_less(path, sum(sizes[name] for name in named), limit // 2)
            for name in {name for name in named if name.endswith(".npy")}:
                _require_array(packed, name, sizes[name])
    except FileError:
        raise
    except Exception as error:  # whatever a damaged or forged file makes the reader stumble over
        raise FileError(f"{path}: not a model file ({type(error).__name__})") from error


def _require_less(path, size, limit):
    if size > limit:
        raise FileError(
            f"{path}: refused, because it unpacks to {size / 2**20:,.0f} MiB, and the memory limit "
            f"leaves {limit / 2**20:,.0f} MiB for that"
        )


def _files_named(schema):
    """Return the names of the arrays that the description of a model asks for, repeats included."""
    names, left = [], [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if isinstance(part.get("file"), str):
                names.append(part["file"])
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)
    return names


def _require_array(packed, name, size):
    """Raise where the shape that an array claims is not that of its bytes."""
    with packed.open(name) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0
        read = read if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        if not dtype.itemsize or math.prod(shape) * dtype.itemsize != size - file.tell():
            raise ValueError(f"{name} claims to be {shape}")


def _require_answer(model, path, limit):
    """Raise where a model cannot predict one row: its parts were changed and do not fit."""
    _require_less(path, 64 * int(model.n_features_in_), limit)
    row, names = np.zeros((1, model.n_features_in_)), names_of(model)
    row = row if names is None else named_rows(row, names)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if isinstance(classifier_of(model), FamilyRegressor):
            fits = np.isfinite(model.predict(row)).all()
        else:
            fits = model.predict(row)[0] in model.classes_
            fits = fits and np.isfinite(model.decision_function(row)).all()
        if fits and hasattr(model, "predict_proba"):
            probability = model.predict_proba(row)
            fits = probability.shape == (1, len(model.classes_)) and np.isfinite(probability).all()
    if not fits:
        raise FileError(f"{path}: damaged: the parts of the model do not fit together")


def _foreign_types(data):
    from skops.io import get_untrusted_types

    return sorted(set(get_untrusted_types(data=data)) - set(OWN_TYPES))


def _require_own(model, where):
    last = classifier_of(model)
    if not isinstance(last, FamilyMember):
        raise FileError(f"{where}: {type(last).__name__} is none of robell's models")


def is_model_file(path):
    """Say whether a file looks like a model that :func:`save_model` has written."""
    try:
        with zipfile.ZipFile(path) as packed:
            return SCHEMA in packed.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


# -- models ----------------------------------------------------------------------------


def classifier_of(model):
    """Return the model, or the last step of a pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) and model.steps else model


def names_of(model):
    """Return the columns a model was fitted to, None where they had no names."""
    return getattr(model, "feature_names_in_", None)


def named_rows(X, names):
    """Return rows as a model that knows names wants to see them."""
    return require("pandas", "files").DataFrame(X, columns=names, copy=False)
