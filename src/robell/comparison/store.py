"""Finished jobs on disk: append-only, one line a record, never half a record.

A record is one line of JSON with a checksum, forced to disk before it counts. What a killed process
may leave is a last line without its end, cut off when the store is opened again.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import zlib
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from robell import __version__
from robell._tools.files import FileError, check_output_folder, lock_alone, write_atomically

FORMAT = 1
CHECK = b', "check": '
UNNAMED = "reproduction"  # the study of directories whose stamp names none: there was only one


class StudyError(Exception):
    """Something the user can mend; its text is one line that says what."""


def versions():
    """Return the versions that numbers may depend on."""
    packages = {
        name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "joblib")
    }
    return {"robell": __version__, "python": platform.python_version(), **packages}


def machine():
    """Return what ran the jobs, in words that name nobody."""
    words = {"system": platform.system(), "architecture": platform.machine()}
    return words | {"cores": os.cpu_count()}


class Store:
    """The records of one output directory, which holds one study; ``records`` has them by key."""

    def __init__(self, folder, study):
        self.folder = Path(folder)
        self.study = study
        self.path = self.folder / "records.jsonl"
        self.records = {}
        self._file = -1  # no file is open
        check_study_folder(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._check_stamp()
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except FileError as error:
            raise StudyError(str(error)) from error
        except OSError as error:
            raise StudyError(f"{self.folder} cannot be written: {error.strerror}") from error
        try:
            if not lock_alone(self._file):
                raise StudyError(f"another process is writing to {self.folder}")
            text = self.path.read_bytes()
            whole = text.rfind(b"\n") + 1
            if whole < len(text):
                os.ftruncate(self._file, whole)
            self.records = parse_records(self.path, text[:whole])
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Let go of the file, and of the lock with it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def is_done(self, key):
        """Return whether a job has finished; one that failed is tried again."""
        return self.records.get(key, {}).get("status") == "done"

    def append(self, record):
        """Write one record and force it to disk."""
        body = json.dumps(record, ensure_ascii=False, allow_nan=False).encode()
        line = body[:-1] + CHECK + b'"%08x"}\n' % zlib.crc32(body)
        end = os.fstat(self._file).st_size
        try:
            rest = line
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, end)
            what = "no space is left" if error.errno == errno.ENOSPC else error.strerror
            n_done = sum(self.is_done(key) for key in self.records)
            raise StudyError(
                f"{self.path} cannot be written: {what}; the {n_done} finished jobs in it are "
                f"safe, and the same command will go on from there"
            ) from error
        self.records[record["key"]] = record

    def _check_stamp(self):
        """Refuse a directory of another version or study: numbers of two must not mix."""
        stamp = self.folder / "study.json"
        found = json_of(stamp)
        own = {"format": FORMAT, "robell": __version__}
        if self.study != UNNAMED:
            own["study"] = self.study
        if not stamp.exists():
            if self.path.exists():
                raise StudyError(
                    f"{self.folder} holds records but no study.json; use another --out"
                )
            write_atomically(stamp, json.dumps(own) + "\n")
        elif found and (there := found.get("study", UNNAMED)) != self.study:
            raise StudyError(f"{self.folder} holds another study ({there}); use another --out")
        elif found != own:
            who = f"robell {found['robell']}" if "robell" in found else "something else"
            raise StudyError(
                f"{self.folder} was written by {who}, this is robell {__version__}: numbers of two "
                "versions do not belong in one study; use another --out"
            )


def check_study_folder(folder):
    """Raise where a folder of results is a file, or holds other things than an earlier study."""
    try:
        check_output_folder(folder, marks=("study.json", "records.jsonl"))
    except FileError as error:
        raise StudyError(str(error)) from error


def json_of(path):
    """Return the dict that a file of JSON holds, an empty one where it holds none."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def study_name(folder):
    """Return the name of the study that an output directory holds, "reproduction" by default."""
    return str(json_of(Path(folder) / "study.json").get("study", UNNAMED))


def read_records(folder):
    """Return the newest record of every key of an output directory, without writing to it."""
    path = Path(folder) / "records.jsonl"
    if not path.is_file():
        raise StudyError(f"{folder} holds no study (no records.jsonl in it)")
    return parse_records(path, path.read_bytes())


def all_have_checksums(folder):
    """Say whether every record ends with a checksum: then nobody else has written it."""
    lines = (Path(folder) / "records.jsonl").read_bytes().split(b"\n")[:-1]
    return all(CHECK in line for line in lines if line.strip())


def parse_records(path, text):
    """Return the newest record of every key; half a line behind the last newline is left out."""
    records = {}
    for number, line in enumerate(text.split(b"\n")[:-1], start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(_checked(line))
            if not _is_record(record):
                raise ValueError("of another shape")
        except (ValueError, RecursionError) as error:
            raise StudyError(
                f"{path}, line {number}: not a record; without the line, its job is run again"
            ) from error
        records[record["key"]] = record
    return records


def _checked(line):
    """Return a line without its checksum, or raise if that is wrong; old lines have none."""
    body, found, check = line.rpartition(CHECK)
    if not found:
        return line
    body += b"}"
    if check != b'"%08x"}' % zlib.crc32(body):
        raise ValueError("the checksum is another")
    return body


def _is_record(record):
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        return False
    parts = [record.get(name, {}) for name in ("job", "outcome", "data", "seconds")]
    return record.get("status") in ("done", "failed") and all(isinstance(p, dict) for p in parts)
