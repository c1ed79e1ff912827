"""Files that hold models: skops files, data and never code, which may come from anybody.

What compiled code trusts without looking, such as the indices of a sparse matrix, is checked
before it is used.
"""

from __future__ import annotations

import io
import json
import math
import tempfile
import warnings
import zipfile
from collections import Counter
from contextlib import contextmanager
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline
from scipy.sparse import issparse
from sklearn.kernel_approximation import AdditiveChi2Sampler, PolynomialCountSketch
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree._tree import Tree
from sklearn.utils.validation import check_is_fitted

from robell import __version__
from robell._core.ridge.state import OtherSums
from robell._tools.files import FileError, check_output, copy_pipe, parse_bytes, write_together
from robell._tools.optional import require
from robell._tools.pipelines import last_step, steps_of
from robell._tools.text import few, shortened
from robell._tools.threads import calm_blas, n_cores
from robell.models import CLASSIFIERS, REGRESSORS
from robell.models._estimator import BaseRVFLRegressor, FamilyMember
from robell.persist.model_info import (
    MEMBER,
    PACKAGES,
    card_path,
    describe_model,
    is_card,
    model_card,
    versions,
)
from robell.persist.other_classifiers import (
    TYPES,
    check_nodes,
    holds_base,
    packed,
    require_base,
    require_tree,
    unpack,
)
from robell.tables.encoder import TableEncoder
from robell.tables.raw import Column
from robell.tables.read import columns_of

MOST_PARTS = 1_000_000
# What scikit-learn and LightGBM call the number of threads or processes
THREADS = {"n_jobs", "num_threads", "num_thread", "nthread", "nthreads"}
MOST_THREADS = 32  # that a part of another package may start where there are fewer cores
# What the axes of arrays count: f features, c classes or targets, h nodes of a layer, n rows of the
# fit, m landmarks, r rules, t trees, s splits and l leaves of a tree, d columns, p and q privileged
# columns and their nodes; any number is _.
# Axes of one letter are of one length. With "?" it may be a number instead of an array. A test
# holds that every fitted array of every model is here.
_AXES = {
    "c": "calibration_offsets_ class_prior_ intercept_ link_offsets_ offsets offsets_ thresholds_",
    "cc": "_assumed_noise link_matrix_ noise_matrix_",
    "c?": "threshold_",
    "f": "feature_low_ feature_span_ mean_ scale_",
    "n": "class_probability_ distance_ foreign_share_ membership_ membership_error_ radius_ "
    "sample_quality_ score_ interval_weights_",
    "nc": "label_probability_ interval_residuals_",
    "_": "kernel_columns_ member_weights_ view_columns_",
    "_?": "C_",
    "h": "hidden_bias_",
    "_h": "hidden_weights_",
    "dc": "coef_",
    "_f": "circular_ training_rows_",
    "p": "privileged_mean_ privileged_scale_",
    "q": "privileged_bias_",
    "pq": "privileged_weights_",
    "_c": "layer_coef_ privileged_coef_",
    "rf": "centers_",
    "fr": "rule_weights_",
    "mf": "landmarks_",
    "mc": "landmark_weights_",
    "tlc": "leaf_values_",
    "ts": "split_columns_ split_thresholds_",
}
SIZES = {name: letters for letters, names in _AXES.items() for name in names.split()}
KINDS = ("number", "date", "category", "text", "left out", "unknown")


class ModelVersionWarning(UserWarning):
    """A model file was saved with other versions of the packages than are installed.

    Examples
    --------
    >>> import warnings
    >>> from robell.files import ModelVersionWarning
    >>> with warnings.catch_warnings():  # in a service that pins its versions: refuse such files
    ...     warnings.simplefilter("error", ModelVersionWarning)
    """


def other_versions(info):
    """Say which versions a file was saved with, where they are others than those here; else ""."""
    here = versions() | {"robell": __version__}
    saved = dict(info["versions"]) | {"robell": info["robell"]}
    names = ("robell", *PACKAGES[:3])
    other = [name for name in names if name in saved and saved[name] != here[name]]
    return "; ".join(f"{name} {shortened(saved[name])}, here is {here[name]}" for name in other)


def check_parts(model):
    """Raise a ValueError where a part of a loaded model would lead compiled code astray.

    Nor may arrays of our models be of sizes that do not go together, or a part start many more
    threads than there are cores. Return the most columns that a part takes or makes.
    """
    seen, left, most = set(), [model], 0
    while left:
        part = left.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | bool | None):
            continue
        seen.add(id(part))
        if len(seen) > MOST_PARTS:
            raise ValueError("too many parts")
        if issparse(part):
            part.check_format(full_check=True)
        elif isinstance(part, Tree):
            is_inner, children = part.children_left != -1, (part.children_left, part.children_right)
            require_tree(is_inner, children, part.feature, part.n_features)
        elif isinstance(part, BSpline):
            BSpline(part.t, part.c, part.k, extrapolate=part.extrapolate)
        elif isinstance(part, dict):
            left.extend(part.values())
        elif isinstance(part, list | tuple | set):
            left.extend(part)
        elif isinstance(part, np.ndarray):
            if part.dtype == object:
                left.extend(part.ravel().tolist())
        elif hasattr(part, "__dict__"):
            left.extend(vars(part).values())
            _limit_threads(part)
            _require_sizes(part)
            check_nodes(part)
            most = max(most, _columns_made(part))
    return most


def _limit_threads(part):
    """Let a part that would start very many threads or processes have one for each core."""
    # Models of this package start none to predict, whatever their n_jobs.
    most = math.inf if isinstance(part, FamilyMember) else max(n_cores(), MOST_THREADS)
    for options in (vars(part), vars(part).get("_other_params")):  # as LightGBM names further ones
        for name in THREADS & set(options or ()):
            number = options[name]
            if number is not None and not isinstance(number, int | np.integer):
                raise ValueError(f"{name} is no number")
            if number is not None and abs(int(number)) > most:
                options[name] = n_cores()


def _require_sizes(part):
    """Raise where arrays of a model of this package are not as long as they are to each other."""
    if not type(part).__module__.startswith("robell."):
        return
    sizes: dict[str, Any] = {"f": getattr(part, "n_features_in_", None)}
    sizes["c"] = len(getattr(part, "classes_", ())) or getattr(part, "n_outputs_", None)
    for name in SIZES.keys() & vars(part).keys():
        value = vars(part)[name]
        letters = SIZES[name]
        in_layers = isinstance(value, list) and any(map(np.ndim, value))
        for k, one in enumerate(value if in_layers else [value]):
            if one is None or (letters.endswith("?") and np.ndim(one) == 0):
                continue
            for letter, size in zip(letters.rstrip("?"), np.shape(one), strict=True):
                known = sizes.setdefault(letter if letter != "h" else f"h{k}", size)
                if letter != "_" and known not in (size, None):
                    raise ValueError(f"{name} is of another size")
    if "l" in sizes and sizes["l"] != 1 << sizes["s"]:
        raise ValueError("trees with other leaves than their splits have")
    if "l" in sizes and sizes["d"] != sizes["f"] + sizes["h0"]:  # as others find by themselves
        raise ValueError("coefficients of other members")


def _columns_made(part):
    """Return how many columns a fitted step takes, or makes where a number alone decides that."""
    n_features = int(getattr(part, "n_features_in_", 0))
    if isinstance(part, PolynomialFeatures):
        low, high = part.degree if isinstance(part.degree, tuple) else (0, part.degree)
        return _n_monomials(n_features, high, part.interaction_only) if low <= high else 0
    if isinstance(part, AdditiveChi2Sampler):
        return n_features * 2 * int(part.sample_steps)
    if isinstance(part, PolynomialCountSketch):
        return int(part.n_components) * int(part.degree)
    return max(n_features, int(getattr(part, "n_features_out_", 0)))


def _n_monomials(n, degree, of_different):
    """Return the number of monomials of n columns up to a degree, or a larger one beyond 2^64."""
    fewer = min(n, degree)
    if fewer > 64:  # C(n + d, d) ≥ C(130, 65), and at least 2^64 products of different columns
        return 1 << 64
    if of_different:
        return sum(math.comb(n, k) for k in range(fewer + 1))
    return math.comb(n + degree, fewer)


def checked_info(info):
    """Return what a file says about its model; raise a ValueError where it makes no sense."""
    fits = isinstance(info, dict) and isinstance(info.get("versions"), dict)
    if fits:
        texts = [info.get("robell"), info.get("saved"), *info["versions"].values()]
        lists = [info.get("classes"), info.get("columns"), info.get("model")]
        fits = all(isinstance(text, str) and len(text) < 200 for text in texts)
        fits = fits and all(isinstance(one, list) for one in lists)
    if not fits:
        raise ValueError("no description of a model")
    for column in info["columns"]:
        _check_column(column)
    return info


def _check_column(column):
    """Raise where the description of a column would not be one of ours."""
    fits = isinstance(column, dict) and isinstance(column.get("name"), str)
    fits = fits and column.get("kind") in KINDS
    fits = fits and (column["kind"] == "unknown" or _is_share(column.get("missing")))
    if fits and "edges" in column:
        edges, shares = column["edges"], column.get("shares")
        fits = all(map(_is_number, [*edges, column.get("median"), column.get("size")]))
        fits = fits and edges == sorted(set(edges))
        fits = fits and 0 < len(edges) < 1_000 and len(shares) == len(edges) + 2
        fits = fits and all(map(_is_share, shares)) and isinstance(column.get("how"), str)
    elif fits and column["kind"] in ("number", "date"):
        fits = isinstance(column.get("how"), str)
    elif fits and column["kind"] in ("category", "text"):
        levels = column.get("levels")
        fits = isinstance(levels, dict) and len(levels) < 1_000
        fits = fits and all(map(_is_share, levels.values()))
    if not fits:
        raise ValueError("no description of a column")


def _is_number(value):
    return isinstance(value, float | int) and math.isfinite(value)


def _is_share(value):
    return _is_number(value) and 0 <= value <= 1


# -- files -------------------------------------------------------------------------------
# What a file would take is found out before it is unpacked, its types are looked at before it is
# loaded, and the model has to answer for one row before it is given out.

# Of foreign types a model file may hold scikit-learn's own, which skops knows, and these.
OWN_TYPES = [f"{home}.{name}" for name, home in (CLASSIFIERS | REGRESSORS).items()] + [
    "robell.models.thresholded.ThresholdClassifier",
    "robell.tables.encoder.TableEncoder",
    # Functions and types of scikit-learn's transformers that are data, or only compute with data.
    "numpy.dtype",
    "numpy.mean",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "scipy.interpolate._bsplines.BSpline",
    "scipy.interpolate._bsplines._BSpline",  # what one holds from SciPy 1.18 on
    "scipy.sparse._csr.csr_matrix",
    "sklearn.cluster._bisect_k_means._BisectingTree",
    "sklearn.cluster._kmeans._kmeans_single_elkan",
    "sklearn.cluster._kmeans._kmeans_single_lloyd",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.feature_selection._mutual_info.mutual_info_classif",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.impute._iterative.IterativeImputer",  # known only once its experiment is imported
    "sklearn.impute._iterative._ImputerTriplet",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    *TYPES,
]
SCHEMA = "schema.json"  # the part of a file that describes the model
MOST_INFO = 64 << 20  # bytes of what a file says about its model
OBJECTS = 32  # bytes of memory for a byte of it, at most
CELLS = ("1", "two words", "2024-12-31")  # that an encoder reads in any column
NUMBERS_A_COLUMN = 8  # of two rows, their copies and what a step makes of them
MOST_SHOWN = 4  # names of types


def save_model(
    estimator: Any,
    path: str | PathLike[str],
    *,
    X: Any = None,
    y: ArrayLike | None = None,
    about: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model to a skops file, and beside it a model card.

    The file also holds the versions of the packages, the date, the classes and their shares, the
    threshold and the estimated share of wrong labels where the model has them, and name, kind and
    distribution of the columns; :func:`model_info` reads them. ``NAME-card.md`` says the same in
    words.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        One of robell's classifiers or regressors, alone or as the last step of a pipeline of
        scikit-learn's own transformers and robell's.
    path : path-like
        The file; an earlier one is replaced once the new one is complete.
    X : data frame or array, default=None
        The table it was trained with, from which the columns are described. Without it, nothing
        can be said about drift when the model is applied.
    y : array-like, default=None
        Its labels, from which the classes are counted.
    about : dict, default=None
        More to say on the card, such as ``{"purpose": "finds frauds", "average precision": 0.81}``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import RVFLClassifier
    >>> from robell.files import load_model, model_info, save_model
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = RVFLClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "model.skops", X=X, y=y)
    ...     again = load_model(Path(folder) / "model.skops")
    ...     info = model_info(Path(folder) / "model.skops")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    >>> info["class_counts"], info["columns"][0]["name"]
    ([212, 357], 'mean radius')
    """
    from skops import io as skops

    check_is_fitted(estimator)
    _require_own(estimator, "save_model")
    try:
        data = skops.dumps(packed(estimator))
    except Exception as error:  # a type that skops does not know
        raise ValueError(f"the model cannot be saved: {' '.join(str(error).split())}") from error
    if foreign := _foreign_types(data):
        raise ValueError(
            f"the model holds {foreign}: model files hold no functions or classes of "
            "others, and no search trees; use an activation by its name"
        )
    info = describe_model(estimator, X, y, about)
    whole = io.BytesIO(data)
    with zipfile.ZipFile(whole, "a") as file:
        file.writestr(MEMBER, json.dumps(info, allow_nan=False))
    path = Path(path)
    contents: dict[Path, Any] = {path: lambda half: half.write_bytes(whole.getvalue())}
    contents |= dict.fromkeys(written_with(path)[1:], model_card(path.name, info))
    write_together(contents)


def require_savable(estimator):
    """Raise, before it is fitted, where a classifier made robust could not be in a model file."""
    from skops import io as skops

    require_base(estimator)
    if foreign := _foreign_types(skops.dumps(estimator)):
        raise ValueError(f"the model holds {foreign}, which a model file cannot hold")


def written_with(path):
    """Return the files that a model is written to: its own, and its card unless it goes nowhere."""
    path = Path(path)
    return [path, card_path(path)] if path.is_file() or not path.exists() else [path]


def check_model_output(path, inputs=(), force=True):
    """Raise, before any work is done, where a model or its card could not be written."""
    check_output(path, inputs, None if force else is_model_file)
    for card in written_with(path)[1:]:
        check_output(card, [*inputs, path], None if force else is_card)


def model_info(path: str | PathLike[str]) -> dict[str, Any]:
    """Read what a model file says about its model, without loading the model.

    Parameters
    ----------
    path : path-like
        A file of :func:`save_model`.

    Returns
    -------
    info : dict
        Among others ``saved`` (the date), ``versions``, ``classes``, ``class_counts``,
        ``threshold``, ``noise_rate``, ``columns`` and ``columns_fingerprint``. Empty for a file
        that was written without.

    Examples
    --------
    >>> from robell.files import model_info
    >>> model_info("nowhere.skops")
    Traceback (most recent call last):
        ...
    robell._tools.files.FileError: nowhere.skops: there is no such file
    """
    path = Path(path)
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    with _unless_damaged(path), zipfile.ZipFile(path) as packed:
        if MEMBER not in packed.namelist():
            return {}
        _require_less(path, packed.getinfo(MEMBER).file_size, MOST_INFO)
        return checked_info(json.loads(packed.read(MEMBER)))


def load_model(path: str | PathLike[str], memory_limit: int | str = "2GiB") -> Any:
    """Read a model that :func:`save_model` has written.

    Where the file was saved with other versions of the packages, a warning says which. Nothing in
    the file is run: it may hold robell's models, scikit-learn's estimators, and
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
    robell._tools.files.FileError: nowhere.skops: there is no such file
    """
    from skops import io as skops

    path = Path(path)
    if path.is_fifo():
        with tempfile.TemporaryDirectory() as folder:
            return load_model(copy_pipe(path, Path(folder) / path.name), memory_limit)
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    if not path.is_file():
        raise FileError(f"{path}: is a folder or a device, not a file")
    limit = parse_bytes(memory_limit)
    _require_less(path, path.stat().st_size, limit // 2)
    data = path.read_bytes()
    _require_size(path, data, limit)
    with _unless_damaged(path):
        if foreign := _foreign_types(data):
            raise FileError(
                f"{path}: refused, because it holds types that are not trusted: {foreign}"
            )
        model = skops.loads(data, trusted=OWN_TYPES)
        _require_own(model, path)
        _require_less(path, NUMBERS_A_COLUMN * 8 * check_parts(model), limit)
        unpack(model)
        _require_answer(model, path)
    if (info := model_info(path)) and (other := other_versions(info)):
        warnings.warn(f"{path}: saved with {other}", ModelVersionWarning, stacklevel=2)
    return model


@contextmanager
def _unless_damaged(path):
    """Turn whatever a damaged or forged file makes its reader stumble over into one line."""
    try:
        yield
    except FileError:
        raise
    except OtherSums as error:
        raise FileError(f"{path}: {error}") from error
    except Exception as error:
        advice = "give one that robell fit or save_model has written"
        raise FileError(f"{path}: not a model file ({type(error).__name__}); {advice}") from error


def _require_size(path, data, limit):
    """Raise, before anything is unpacked, where a file would take more than may be used."""
    with _unless_damaged(path), zipfile.ZipFile(io.BytesIO(data)) as packed:
        total = sum(member.file_size for member in packed.infolist())
        _require_less(path, total, limit // 2)  # it is held twice while it is read
        _require_less(path, packed.getinfo(SCHEMA).file_size * OBJECTS, limit)
        # A forged file may hold an array once and ask for it a thousand times.
        named = Counter(_files_named(json.loads(packed.read(SCHEMA))))
        sizes = {name: _unpacked_size(packed, name) for name in named}
        _require_less(path, sum(sizes[name] * times for name, times in named.items()), limit // 2)


def _unpacked_size(packed, name, within=False):
    """Return how many bytes a file of an archive becomes, the arrays of one within it included."""
    size, form = packed.getinfo(name).file_size, np.lib.format
    with packed.open(name) as file:
        magic = file.peek(6)
        if magic.startswith(b"PK") and not within:  # a sparse matrix, its parts packed again
            with zipfile.ZipFile(file) as inner:
                return size + sum(_unpacked_size(inner, one, True) for one in inner.namelist())
        if not magic.startswith(form.MAGIC_PREFIX):
            return size
        is_first = form.read_magic(file) == (1, 0)
        read = form.read_array_header_1_0 if is_first else form.read_array_header_2_0
        shape, _, dtype = read(file)  # is it the shape of its bytes?
        if not dtype.itemsize or math.prod(shape) * dtype.itemsize != size - file.tell():
            raise ValueError(f"{name} claims to be {shape}")
    return size


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


@calm_blas
def _require_answer(model, path):
    """Raise where a model cannot predict two rows: its parts were changed and do not fit."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in steps_of(model):
            if isinstance(part, TableEncoder):
                _require_numbers(part)
        if isinstance(model, Pipeline):
            try:
                model[:-1].transform(_made_up(model))
            except (ValueError, TypeError):
                model = last_step(model)
        rows, fits = _made_up(model), True
        answers = [model.predict(rows)]
        if not isinstance(steps_of(model)[-1], BaseRVFLRegressor):
            fits = all(label in model.classes_ for label in answers[0])
            answers = [model.decision_function(rows)]
            if hasattr(model, "predict_proba"):
                answers.append(model.predict_proba(rows))
                fits = fits and answers[1].shape == (2, len(model.classes_))
        fits = fits and all(np.isfinite(answer).all() for answer in answers)
    if not fits:
        raise FileError(f"{path}: damaged: the parts of the model do not fit together")


def _require_numbers(encoder):
    """Raise where a TableEncoder does not make the columns that it names, of cells of any kind."""
    n_columns, plans = encoder.n_features_in_, encoder.plans_
    names = [*getattr(encoder, "feature_names_in_", (f"x{k}" for k in range(n_columns)))]
    texts = [*names, *encoder.get_feature_names_out(), *(note.name for note in encoder.notes_)]
    texts += [level for plan in plans for level in plan.get("levels", ()) if level is not None]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("names that are no texts")
    if len(set(names)) != n_columns or any(names[one["place"]] != one["name"] for one in plans):
        raise ValueError("names of other columns")
    cells = [Column("", [None, *CELLS]) for _ in names]
    for plan in plans:
        level = next(iter(plan.get("levels", ())), None)
        cells[plan["place"]] = Column("", [level, *CELLS])
    for columns in (cells, columns_of(np.zeros((2, n_columns)))):
        made = encoder._transform_columns(columns)
        fits = made.shape[1:] == encoder.centre_.shape == (len(encoder.get_feature_names_out()),)
        if not (fits and np.isfinite(made).all() and np.isfinite(encoder.centre_).all()):
            raise ValueError("an encoder that does not make its columns")


def _made_up(model):
    """Return two rows with the names that a model knows, as far as pandas is there to hold them."""
    rows, names = np.zeros((2, model.n_features_in_)), names_of(model)
    return rows if names is None or find_spec("pandas") is None else named_rows(rows, names)


def _foreign_types(data):
    """Say which types a file holds that are not trusted, as they may be shown; "" for none."""
    from skops.io import get_untrusted_types

    foreign = sorted(set(get_untrusted_types(data=data)) - set(OWN_TYPES))
    return few([*map(shortened, foreign)], MOST_SHOWN)


def _require_own(model, where):
    last = steps_of(model)[-1]
    if not isinstance(last, FamilyMember) and not holds_base(model):
        raise FileError(
            f"{where}: {type(last).__name__} is none of robell's models, nor one that "
            "NoiseRobustClassifier may hold in a file"
        )


def is_model_file(path):
    """Say whether a file looks like a model that :func:`save_model` has written."""
    try:
        with zipfile.ZipFile(path) as packed:
            return SCHEMA in packed.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


# -- models ----------------------------------------------------------------------------


def names_of(model):
    """Return the columns a model was fitted to, None where they had no names."""
    return getattr(model, "feature_names_in_", None)


def named_rows(X, names):
    """Return rows as a model that knows names wants to see them."""
    return require("pandas", "files").DataFrame(X, columns=names, copy=False)
