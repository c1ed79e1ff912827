"""Fetches files from the web: a few tries, a time limit, a size limit, and checksums."""

from __future__ import annotations

import hashlib
import http.client
import json
import time
import urllib.error
import urllib.request

from robell.datasets._dataset import DatasetError

OPENML = "https://www.openml.org/api/v1/json/data/{}"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/{}"

TIMEOUT_SECONDS = 30.0
TRIES = 3
PAUSE_SECONDS = 1.0  # before the second try; doubled before each further one
MAX_BYTES = 32 * 2**20  # the largest set of the register is below 1 MiB

_WORTH_ANOTHER_TRY = {408, 425, 429, 500, 502, 503, 504}


class FetchError(OSError):
    """A file that could not be fetched, with the reason."""


def get(url):
    """Fetch the bytes behind a web address, trying again where that may help."""
    if not url.startswith(("https://", "http://")):
        raise FetchError(f"{url!r} is not a web address")
    request = urllib.request.Request(url, headers={"User-Agent": "robell"})
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
        cause: Exception
        try:
            return _get_once(request)
        except FetchError:
            raise
        except urllib.error.HTTPError as error:
            error.close()
            cause, reason = error, f"HTTP status {error.code}"
            if error.code not in _WORTH_ANOTHER_TRY:
                raise FetchError(f"{url}: {reason}") from error
        except http.client.IncompleteRead as error:
            cause, reason = error, f"cut off after {len(error.partial)} bytes"
        except (OSError, http.client.HTTPException) as error:
            cause, reason = error, str(getattr(error, "reason", "") or error)
    raise FetchError(f"{url}: {reason or type(cause).__name__} ({TRIES} tries)") from cause


def _get_once(request):
    deadline = time.monotonic() + 4 * TIMEOUT_SECONDS
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        chunks, size = [], 0
        # The timeout above is for one wait; a server that drips must not hold us for ever.
        while chunk := response.read1(2**16):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BYTES:
                raise FetchError(f"{request.full_url}: more than {MAX_BYTES} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError("too slow")
        expected = response.headers.get("Content-Length", "")
    content = b"".join(chunks)
    # Reading in chunks, http.client does not itself complain about a short body.
    if expected.isdigit() and len(content) != int(expected):
        raise http.client.IncompleteRead(content, int(expected) - len(content))
    return content


def uci_rows(path):
    """Fetch a raw file of the UCI repository as lists of cells."""
    lines = map(str.strip, _text(get(UCI.format(path)), path).splitlines())
    return [
        [cell.strip() for cell in line.split(",")] if "," in line else line.split()
        for line in lines
        if line
    ]


def openml_rows(data_id):
    """Fetch a set from OpenML; returns rows with the label last, and the names of the inputs.

    scikit-learn's ``fetch_openml`` waits for ever, takes files of any size and opens any address,
    so only its reader of the format is used, below the limits of `get`.
    """
    address = OPENML.format(data_id)
    try:
        description = json.loads(get(address))["data_set_description"]
        url, checksum = description["url"], description["md5_checksum"]
        target = description["default_target_attribute"]
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"{address}: not a description of a data set") from error
    content = get(url)
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != checksum:
        raise DatasetError(f"{url}: MD5 sum {found}, {checksum} was announced")
    from sklearn.externals import _arff

    try:
        table = _arff.loads(_text(content, url), encode_nominal=False)
    except _arff.ArffException as error:
        raise DatasetError(f"{url}: {error}") from error
    names = [name for name, _ in table["attributes"]]
    rows = [list(map(_cell, row)) for row in table["data"]]
    unused = set()
    for key in ("row_id_attribute", "ignore_attribute"):  # none, one, or several
        value = description.get(key) or []
        unused |= {*(value.split(",") if isinstance(value, str) else value)}
    if target not in names:
        raise DatasetError(f"{url}: no attribute {target!r}")
    inputs = [i for i, name in enumerate(names) if name != target and name not in unused]
    label = names.index(target)
    return [[row[i] for i in inputs] + [row[label]] for row in rows], [names[i] for i in inputs]


def _cell(value):
    if value is None:
        return "?"
    return value if isinstance(value, str) else f"{value:.17g}"


def _text(content, label):
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{label}: not UTF-8 text") from error
