"""A comparison in one file that another person can run again: written, read as data, run, held up.

Reading one runs no code of its writer's; models made by code are pickles that only
``run_their_code`` opens.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robell import __version__
from robell._tools.files import check_output, write_atomically, written_whole
from robell._tools.text import counted, said
from robell.comparison.evaluate import PROTOCOLS, plan_own_jobs
from robell.comparison.identity import sources_of
from robell.comparison.jobs import Rows
from robell.comparison.store import StudyError, parse_records, versions
from robell.comparison.user_models import Spec, cloudpickle, read_models
from robell.comparison.user_tables import digest_of, read_all

FORMAT = 1
COPIES = ("tables", "code")
SETTINGS = {"protocol", "levels", "repeats"}
OF_A_MODEL = ("name", "label", "identity", "about", "known")
MOST = 4 << 30  # bytes of an archive, unpacked
NAMES = re.compile(
    r"archive\.json|records\.jsonl|tables/\d{1,5}\.npz|code/\d{1,5}\.pkl|sources/[\w.]{1,200}\.py",
    re.ASCII,
)
ROUNDING = 1e-9
EQUAL, ROUNDED, OTHER = "equal to the bit", "within rounding", "not equal"
NOT_RUN = "not run again"


# -- writing -----------------------------------------------------------------------------


def write_archive(path, folder, tables, settings, reading, copies=(), time_limit=None):
    """Write a comparison as an archive; ``reading`` says how its tables were read."""
    specs = settings["specs"]
    keys = {job.key for job in plan_own_jobs(tables, **settings)}
    lines = (Path(folder) / "records.jsonl").read_bytes().splitlines(keepends=True)
    records = b"".join(line for line in lines if json.loads(line)["key"] in keys)
    about = {
        "format": FORMAT,
        "robell": __version__,
        "versions": versions(),
        "settings": {name: value for name, value in settings.items() if name != "specs"},
        "reading": reading,
        "time_limit": time_limit,
        "records": hashlib.sha256(records).hexdigest(),
        "tables": [{"name": name, "digest": rows.digest} for name, rows in tables.items()],
        "models": [
            {field: getattr(spec, field) for field in OF_A_MODEL} for spec in specs.values()
        ],
    }
    parts = {"archive.json": json.dumps(about, indent=1).encode(), "records.jsonl": records}
    for number, rows in enumerate(tables.values()) if "tables" in copies else ():
        if rows.labels.dtype == object:
            raise StudyError(f"{rows.name}: labels of mixed kinds cannot be copied to an archive")
        stream = io.BytesIO()
        told = json.dumps(rows.about)
        np.savez_compressed(stream, X=rows.X, y=rows.y, labels=rows.labels, about=told)
        parts[f"tables/{number}.npz"] = stream.getvalue()
    for number, spec in enumerate(specs.values()) if "code" in copies else ():
        if spec.known is None:
            maker = cloudpickle.loads(spec.payload)
            found = sources_of(maker)
            # A pickle that needs none of the user's modules where it is opened.
            loaded = [sys.modules[name] for name in found if name in sys.modules]
            for module in loaded:
                cloudpickle.register_pickle_by_value(module)
            try:
                parts[f"code/{number}.pkl"] = cloudpickle.dumps(maker)
            finally:
                for module in loaded:
                    cloudpickle.unregister_pickle_by_value(module)
            parts |= {f"sources/{name}.py": path.read_bytes() for name, path in found.items()}
    check_output(path)
    with written_whole(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, content in parts.items():
            # Without the time of day: the same study is the same file.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def is_archive(path):
    """Say whether a file is a zip file that has an archive's description."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "archive.json" in archive.namelist()


# -- reading, as data --------------------------------------------------------------------


@dataclass(frozen=True)
class Archive:
    """What an archive holds, checked: its description, its records by key, its other parts."""

    path: Path
    about: dict
    records: dict
    parts: dict


def read_archive(path, most=MOST):
    """Return the Archive of a file; sizes are checked before anything is unpacked."""
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            parts = _parts(path, archive, most)
    except FileNotFoundError:
        raise StudyError(f"{path}: there is no such file") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError) as error:
        raise StudyError(f"{path}: not an archive of a study, or damaged ({error})") from None
    try:
        about = json.loads(parts["archive.json"])
        _check_description(about)
        records = parts["records.jsonl"]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise StudyError(f"{path}: not an archive of a comparison ({error})") from None
    if about["format"] != FORMAT:
        raise StudyError(
            f"{path}: of archive format {about['format']}, which robell {__version__} does not "
            f"know; it was written by robell {about['robell']}"
        )
    if hashlib.sha256(records).hexdigest() != about["records"]:
        raise StudyError(f"{path}: its records have been changed since it was written")
    found = parse_records(path / "records.jsonl", records)
    scores = [record.get("outcome", {}).get("metrics", {}) for record in found.values()]
    if not all(isinstance(of, dict) and {*map(type, of.values())} <= {float} for of in scores):
        raise StudyError(f"{path}: not an archive of a comparison (a score is no number)")
    settings = about["settings"]
    n_jobs = len(about["tables"]) * len(about["models"])
    if len(settings["levels"]) * settings["repeats"] * n_jobs > len(found):
        raise StudyError(f"{path}: it has fewer records than its description asks for")
    return Archive(path, about, found, parts)


def _parts(path, archive, most):
    """Return the contents of an archive by name."""
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if strange := [name for name in names if not NAMES.fullmatch(name)]:
        raise StudyError(f"{path}: holds {said(strange[0])}, which no archive of a study holds")
    if len(set(names)) < len(names):
        raise StudyError(f"{path}: holds two files of one name")
    total = sum(info.file_size for info in infos)
    if total > most:
        raise StudyError(
            f"{path}: would take {total / 2**20:,.0f} MiB unpacked, more than the "
            f"{most / 2**20:,.0f} MiB that are allowed"
        )
    parts = {}
    for info in infos:
        with archive.open(info) as file:
            parts[info.filename] = file.read(info.file_size + 1)
        if len(parts[info.filename]) != info.file_size:
            raise StudyError(f"{path}: {said(info.filename)} is not of the size it says")
    return parts


def _check_description(about):
    """Raise where a description is not of the shape that is written here."""
    settings, reading, limit = about["settings"], about["reading"], about["time_limit"]
    levels, repeats = settings["levels"], settings["repeats"]
    texts = [about["robell"], about["records"], settings["protocol"], *about["versions"].values()]
    texts += [one[k] for one in about["tables"] for k in ("name", "digest")]
    texts += [one[k] for one in about["models"] for k in ("name", "label", "identity", "about")]
    optional = [one["known"] for one in about["models"]]
    optional += [reading.get(name) for name in ("target", "encoding", "delimiter")]
    texts += [*reading.get("drop", ()), *(text for text in optional if text is not None)]
    right = all(isinstance(text, str) for text in texts) and set(settings) == SETTINGS
    right = right and settings["protocol"] in PROTOCOLS and max(levels, default=0) <= 100
    right = right and (limit is None or (isinstance(limit, int | float) and limit > 0))
    numbers = [about["format"], repeats, *levels]
    if not right or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("its description has another shape")


# -- running again -----------------------------------------------------------------------


@dataclass(frozen=True)
class RunAgain:
    """What came of running an archive again: how every score compares, and what was not run."""

    report: Path
    agreement: dict  # {key of a job: EQUAL, ROUNDED, OTHER or NOT_RUN}
    remarks: tuple
    results: object  # of the new run

    @property
    def headline(self):
        """How many jobs' scores are equal, for a terminal."""
        counts = Counter(self.agreement.values())
        told = ", ".join(f"{counts[name]:,} {name}" for name in (EQUAL, ROUNDED, OTHER, NOT_RUN))
        return f"Scores of {counted(len(self.agreement), 'job')} of the archive: {told}."

    @property
    def agrees(self):
        """Whether every score was run again and came out the same, or within rounding."""
        return set(self.agreement.values()) <= {EQUAL, ROUNDED}


def run_again(
    path, *, out, data_dir=None, run_their_code=False, n_jobs=1, progress=True, command=""
):
    """Run the comparison of an archive again, and hold every score against the archive's.

    Tables are its copies, or files of ``data_dir`` of the same fingerprints. With
    ``run_their_code`` its writer's code runs, and can do what you can.
    """
    from robell.comparison.compare import run_comparison

    archive = read_archive(path)
    specs, lost_models = _specs(archive, run_their_code)
    tables, lost_tables = _tables(archive, data_dir)
    here = {"robell": __version__} | versions()
    there = {"robell": archive.about["robell"]} | archive.about["versions"]
    differ = [
        f"{name} {version} (here {here.get(name)})"
        for name, version in there.items()
        if version != here.get(name)
    ]
    remarks = [f"the archive was written with {', '.join(differ)}"] * bool(differ)
    remarks += [*lost_models.values(), *lost_tables.values()]
    if not specs or not tables:
        raise StudyError("; ".join(remarks) or f"{path}: there is nothing in it to run")
    settings = {"specs": specs, **archive.about["settings"]}
    how = {"n_workers": n_jobs, "progress": progress, "command": command}
    how["time_limit"] = archive.about["time_limit"]
    done = run_comparison(tables, lost_tables, settings, out, **how)
    new = {record["key"]: record for record in done.results.records}
    agreement = {key: _verdict(old, new.get(key)) for key, old in archive.records.items()}
    lines = [f"{verdict},{json.dumps(key)}" for key, verdict in sorted(agreement.items())]
    write_atomically(Path(out) / "agreement.csv", "\n".join(["verdict,job", *lines]) + "\n")
    return RunAgain(done.report, agreement, tuple(remarks), done.results)


def _specs(archive, run_their_code):
    """Return the models that can be run, and why others cannot."""
    specs, lost, protocol = {}, {}, archive.about["settings"]["protocol"]
    for number, one in enumerate(archive.about["models"]):
        name, code = one["name"], archive.parts.get(f"code/{number}.pkl")
        if one["known"] is not None:
            (spec,) = read_models({name: one["known"]}, protocol).values()
            if spec.identity != one["identity"]:
                lost[name] = f"{name}: this robell has another revision of it"
        elif code is None:
            lost[name] = f"{name}: made by code that is not in the archive"
        elif not run_their_code:
            lost[name] = f"{name}: made by code of the archive; --run-their-code runs it"
        if name not in lost:
            described = {field: one[field] for field in OF_A_MODEL}
            specs[name] = Spec(**described, payload=code if one["known"] is None else b"")
    return specs, lost


def _tables(archive, data_dir):
    """Return the tables that can be had, and why others cannot."""
    wanted = {one["name"]: (k, one["digest"]) for k, one in enumerate(archive.about["tables"])}
    tables, lost, found = {}, {}, {}
    all_copied = all(f"tables/{number}.npz" in archive.parts for number, _ in wanted.values())
    if data_dir is not None and not all_copied:
        reading = archive.about["reading"]
        text = {"encoding": reading.get("encoding", "utf-8"), "delimiter": reading.get("delimiter")}
        found, lost = read_all(data_dir, reading.get("target"), reading.get("drop", ()), **text)
    for name, (number, digest) in wanted.items():
        copy = archive.parts.get(f"tables/{number}.npz")
        rows = found.get(name) if copy is None else _copied(archive.path, name, copy)
        if rows is None:
            lost[name] = f"{name}: no copy is in the archive; --data-dir names a folder that has it"
        elif rows.digest != digest:
            lost[name] = f"{name}: other rows than the archive's, by their fingerprint"
        else:
            tables[name] = rows
    return tables, {name: why for name, why in lost.items() if name in wanted}


def _copied(path, name, content):
    """Return a table of an archive; its fingerprint is computed, not believed."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as inner:
            if sum(info.file_size for info in inner.infolist()) > MOST:
                raise ValueError("it is too large unpacked")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            X, y, labels = arrays["X"], arrays["y"], arrays["labels"]
            about = json.loads(str(arrays["about"]))
        if X.ndim != 2 or y.shape != (len(X),) or X.dtype != np.float64 or y.dtype.kind != "i":
            raise ValueError("other shapes")
        if y.min() < 0 or y.max() >= len(labels) or not isinstance(about, dict):
            raise ValueError("other labels")
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise StudyError(f"{path}: its copy of {said(name)} cannot be read ({error})") from None
    return Rows(name, X, y, 1, digest_of(X, y, labels), about, labels)


def _verdict(old, new):
    """Say how the scores of a job compare."""
    if new is None:
        return NOT_RUN
    first, other = (
        record.get("outcome", {}).get("metrics", {}) if record["status"] == "done" else {}
        for record in (old, new)
    )
    if first == other:
        return EQUAL
    try:  # the archive's may be anything; with NaN nothing is within rounding
        is_near = first.keys() == other.keys() and all(
            abs(first[k] - other[k]) <= ROUNDING for k in first
        )
    except (TypeError, AttributeError):
        return OTHER
    return ROUNDED if is_near else OTHER
