"""Downloaded tables on disk: CSV below one line that states their checksum and origin."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

from robell._tools.files import write_atomically
from robell.datasets._dataset import DatasetError
from robell.datasets.sources.table_csv import format_csv, parse_csv

_MARK = b"# robell "


def cache_folder(cache_dir=None):
    """Choose the folder of downloaded sets: as given, ROBELL_CACHE, or the platform's own place."""
    if cache_dir is not None:
        return Path(cache_dir)
    if os.environ.get("ROBELL_CACHE"):
        return Path(os.environ["ROBELL_CACHE"])
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "robell"


def cache_file(name, cache_dir=None):
    """Return the file in which a set is cached, whether or not it is there."""
    return cache_folder(cache_dir) / f"{name}.csv"


def read_cached(path):
    """Read a cached table; returns X, y, feature names and source.

    A file that does not have the checksum it states is refused.
    """
    try:
        first, _, body = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}") from error
    advice = "delete it, and it will be fetched again"
    try:
        if not first.startswith(_MARK):
            raise ValueError
        head = json.loads(first[len(_MARK) :])
        stated, source = head["sha256"], head["source"]
    except (ValueError, KeyError, TypeError):
        raise DatasetError(f"{path} does not begin with its checksum; {advice}") from None
    if hashlib.sha256(body).hexdigest() != stated:
        raise DatasetError(f"{path} does not have the checksum it states; {advice}")
    return *parse_csv(body, str(path), first_line=2), source


def write_cached(path, X, y, feature_names, source):
    """Write a table in one step: a reader sees the whole file or none."""
    body = format_csv(X, y, feature_names).encode()
    head = json.dumps({"sha256": hashlib.sha256(body).hexdigest(), "source": source})
    write_atomically(path, _MARK + head.encode() + b"\n" + body)
