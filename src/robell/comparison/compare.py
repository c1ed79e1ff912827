"""The comparison of one's own models on one's own tables: its record, and ``robell.compare``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from robell._tools.files import check_output, parse_bytes
from robell._tools.text import counted
from robell.comparison.archive import COPIES as ARCHIVED
from robell.comparison.archive import is_archive, write_archive
from robell.comparison.evaluate import PROTOCOLS, plan_own_jobs, run_own_job
from robell.comparison.jobs import split_of
from robell.comparison.store import StudyError, check_study_folder
from robell.comparison.study import Outcome, Study, carry_out
from robell.comparison.user_models import read_models
from robell.comparison.user_tables import read_all

PROCESS = 200 << 20  # bytes of a process with its packages
COPIES = 6  # of a table within a fit of this family: rows, split, scaled, their features
STUDY = Study(
    name="comparison",
    page="index.html",
    pages="robell.comparison.compare_page",
    plan=plan_own_jobs,
    run=run_own_job,
    longest_first=False,  # the models of a cell side by side, for the sake of their times
)


def compare(
    data: Any,
    models: Any = None,
    *,
    target: str | None = None,
    drop: str | Iterable[str] = (),
    protocol: str = "repeated",
    noise: int | Iterable[int] = (0,),
    repeats: int = 10,
    n_jobs: int = 1,
    time_limit: float | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    memory_limit: int | str | None = None,
    out: str | PathLike[str] = "robell-compare",
    progress: bool = True,
    archive: str | PathLike[str] | None = None,
    archive_copies: Iterable[str] = (),
    command: str = "",
) -> Outcome:
    """Compare models on tables, or go on with a comparison that was stopped, and write its report.

    Every model is fitted and scored on the same splits of every table, read as :func:`audit` reads
    it. What has finished is kept in ``out``: the same call goes on from there.

    Parameters
    ----------
    data : dict or list of tables, or one table
        A table is a path (CSV, gzipped CSV, Parquet, or a folder of them), a data frame of pandas
        or polars, or a pair ``(X, y)``. A dict names them; files have their own names.
    models : dict or list of models, default=None
        A model is a name (``"rvfl"``, ``"robell"``, ``"lightgbm"``, ...), ``"module:callable"``, a
        classifier or pipeline, a function that makes one of a seed, or a pair of one of the last
        three and a grid. By default seven that need no further package.
    target : str, default=None
        The column of labels, of files and data frames.
    drop : iterable of str, default=()
        Columns not to learn from.
    protocol : {"repeated", "nested", "holdout", "paper"}, default="repeated"
        Stratified 70:30 splits; the same, with the models of the family tuned over their grids on
        folds of the training rows, as models with a grid of their own always are; one such split;
        or the paper's one split, where the paper's models are tuned.
    noise : iterable of int, default=(0,)
        Percent of the training labels that are made wrong.
    repeats : int, default=10
        Splits of the protocols "repeated" and "nested".
    n_jobs : int, default=1
        Processes. Numbers do not depend on it, unless code of your own keeps state between fits;
        the random states of NumPy and Python are set before every fit.
    time_limit : float, default=None
        Seconds that one fit with all its predictions may take; a model that takes longer fails.
    encoding, delimiter : str, default="utf-8", None
        Of text files, as :func:`audit` takes them.
    memory_limit : int or str, default=None
        How much all processes together may take in addition, as bytes or as ``"2GiB"``: tables
        that would take more, by estimate, are refused. What other packages take is not known.
    out : path-like, default="robell-compare"
        Where everything goes: a folder that is new, empty or of the same comparison.
    progress : bool, default=True
        Whether a bar is shown on a terminal; ``progress.log`` in ``out`` is always written.
    archive : path-like, default=None
        A zip file to write, with which ``robell reproduce`` runs the comparison again: records,
        seeds, versions, fingerprints of tables and models.
    archive_copies : iterable of {"tables", "code"}, default=()
        What else the archive holds: the tables as models see them, and the models that your own
        code makes. Without them, whoever runs it must have them.
    command : str, default=""
        How this was called, for the page.

    Returns
    -------
    outcome : Outcome
        ``report``, the page's path; ``headline``, the main result as text; ``results`` with
        ``complete_cells()``, arrays of scores with ``means`` and ``ranks``, and ``failed``;
        ``unavailable``, the tables that could not be used, and why.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris, load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from robell import compare
    >>> tables = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    >>> found = compare(tables, ["rvfl", GaussianNB()], repeats=2, out=tempfile.mkdtemp())
    >>> (clean,) = found.results.complete_cells()
    >>> clean.labels, clean.means("accuracy").round(1).tolist()
    (('RVFL', 'GaussianNB'), [1.0, 1.0])
    """
    check_study_folder(out)
    copies = _copies(archive, archive_copies)
    levels = [noise] if isinstance(noise, int | float) else list(noise)
    if not levels or any(level != int(level) or not 0 <= level <= 100 for level in levels):
        raise StudyError(f"noise must be whole percents from 0 to 100; got {levels}")
    levels = sorted({int(level) for level in levels})  # in their order, each once
    if protocol not in PROTOCOLS:
        raise StudyError(f"protocol must be one of {', '.join(PROTOCOLS)}; got {protocol!r}")
    if not isinstance(repeats, int) or repeats < 1:
        raise StudyError(f"repeats must be a whole number from 1 on; got {repeats!r}")
    repeats = repeats if protocol in ("repeated", "nested") else 1
    if time_limit is not None and not time_limit > 0:
        raise StudyError(f"time_limit must be more than 0 seconds; got {time_limit}")
    specs = read_models(models, protocol)
    text = {"encoding": encoding, "delimiter": delimiter}
    tables, unavailable = read_all(data, target, drop, memory_limit, **text)
    if not tables:
        raise StudyError("; ".join(unavailable.values()))
    if memory_limit is not None:
        sizes, limit = [rows.X.nbytes for rows in tables.values()], parse_bytes(memory_limit)
        # of any number of processes, however many digits it has
        needed = sum(sizes) + min(n_jobs, 1 << 40) * (PROCESS + COPIES * max(sizes))
        if needed > limit:
            raise StudyError(
                f"the tables and {counted(n_jobs, 'process', 'processes')} need about "
                f"{needed / 2**20:,.0f} MiB, and the memory limit leaves {limit / 2**20:,.0f} MiB: "
                "run fewer processes, compare fewer tables, or allow more"
            )
    if protocol == "paper":
        tables, lost = _whole_classes(tables)
        unavailable |= lost
    settings = {"specs": specs, "protocol": protocol, "levels": levels, "repeats": repeats}
    how = {"n_workers": n_jobs, "time_limit": time_limit, "progress": progress, "command": command}
    done = run_comparison(tables, unavailable, settings, out, **how)
    if archive is not None:
        dropped = [drop] if isinstance(drop, str) else list(drop)
        reading = {"target": target, "drop": dropped, **text}
        write_archive(archive, out, tables, settings, reading, copies, time_limit)
    return done


def run_comparison(tables, unavailable, settings, out, **how):
    """Carry out the jobs of a comparison that are still to do, and write its report."""
    specs = settings["specs"].values()
    # What the report must know: which of the records in the folder this run asked for.
    notes = {
        "protocol": settings["protocol"],
        "noise": settings["levels"],
        "repeats": settings["repeats"],
        "tables": list(tables),
        "models": {spec.name: spec.identity for spec in specs},
        "about": {spec.name: spec.about for spec in specs},
        "labels": {spec.name: spec.label for spec in specs},
    }
    study = replace(STUDY, run=partial(run_own_job, specs=settings["specs"]))
    return carry_out(study, tables, unavailable, settings, out, notes=notes, **how)


def _copies(archive, copies):
    """Return what an archive holds copies of, checked before anything runs."""
    copies = [copies] if isinstance(copies, str) else list(copies)
    if wrong := [name for name in copies if name not in ARCHIVED]:
        raise StudyError(f"archive_copies may be {' and '.join(ARCHIVED)}; got {wrong[0]!r}")
    if copies and archive is None:
        raise StudyError("archive_copies says what an archive holds: give archive, its file")
    if archive is not None:
        check_output(archive)
        if Path(archive).is_file() and os.path.getsize(archive) and not is_archive(archive):
            raise StudyError(f"{archive}: is there already and is no archive; give another name")
    return copies


def _whole_classes(tables):
    """Leave out the tables of which the paper's split, not stratified, misses a class somewhere."""
    kept, lost = {}, {}
    for name, rows in tables.items():
        parts = split_of("paper", name, rows.y, 0)
        if all(len(np.unique(rows.y[part])) == len(rows.labels) for part in parts):
            kept[name] = rows
        else:
            lost[name] = (
                f"{name}: the paper's split, which is not stratified, leaves a class out of the "
                "training or test rows; use the protocol repeated or holdout"
            )
    return kept, lost
