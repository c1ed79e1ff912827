"""The whole study: tables gathered, jobs planned and executed, the report written."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from robell._core.tools.files import write_atomically
from robell._core.tools.optional import require
from robell.datasets import DatasetUnavailable, info, load
from robell.studies.engine.execute import execute
from robell.studies.engine.store import Store, StudyError
from robell.studies.paper.plan import Rows, plan_jobs
from robell.studies.paper.report import write_report

# What the parts of the command mean, in jobs: the tests are made of Table I's cells.
PARTS = {
    "table1": ("table1",),
    "tests": ("table1",),
    "probe": ("probe",),
    "noise": ("noise",),
    "sensitivity": ("sensitivity",),
    "all": ("table1", "probe", "noise", "sensitivity"),
}


@dataclass(frozen=True)
class Outcome:
    """What a study left behind.

    Attributes
    ----------
    report : Path
        The page.
    results : Results
        The cells.
    summary : Summary
        What the run did.
    unavailable : dict of str -> str
        Sets that could not be had, and why.
    """

    report: Path
    results: object
    summary: object
    unavailable: dict


def gather(names, data_dir=None, download=True):
    """Load sets; one that cannot be had is an answer, not an end.

    Parameters
    ----------
    names : iterable of str
        Sets.
    data_dir : path-like, default=None
        A folder of CSV files.
    download : bool, default=True
        Whether the network may be asked for what is nowhere else.

    Returns
    -------
    tables : dict of str -> Rows
        What is here.
    unavailable : dict of str -> str
        What is not, and why.

    Examples
    --------
    >>> from robell.studies.paper.study import gather
    >>> tables, unavailable = gather(["monk1"], download=False)
    >>> tables["monk1"].X.shape
    (556, 6)
    """
    tables, unavailable = {}, {}
    for name in names:
        try:
            found = load(name, data_dir, download=download)
        except DatasetUnavailable as error:
            unavailable[name] = str(error)
            continue
        about = {
            "source": found.source,
            "note": found.note,
            "stand_in": found.stand_in,
            "paper_rows": found.paper_rows,
            "n_rows": len(found.y),
            "n_features": found.X.shape[1],
            "n_minority": int(min(found.y.sum(), len(found.y) - found.y.sum())),
        }
        tables[name] = Rows(name, found.X, found.y, positive_of(name), found.digest, about)
    return tables, unavailable


def positive_of(name):
    """Return which label the paper's sensitivity refers to; 1, the minority, for other sets."""
    positive = info(name).paper_positive
    return 1 if positive is None else positive


def reproduce(
    part,
    names,
    models,
    protocols,
    *,
    repeats=10,
    tuned_by=None,
    n_workers=1,
    data_dir=None,
    out="robell-study",
    download=True,
    progress=True,
    device="cpu",
    command="",
):
    """Run a part of the study, or go on with it, and write its report.

    Parameters
    ----------
    part : {"table1", "tests", "probe", "noise", "sensitivity", "all"}
        Which part.
    names, models, protocols : sequence of str
        Sets, keys of models, and "paper" or "repeated".
    repeats : int, default=10
        Splits of the protocol "repeated".
    tuned_by : tuple of str, default=None
        Metrics to tune by under "repeated".
    n_workers : int, default=1
        Processes.
    data_dir : path-like, default=None
        A folder of CSV files.
    out : path-like, default="robell-study"
        Where records, tables, figures and the report go.
    download : bool, default=True
        Whether the network may be asked for sets.
    progress : bool, default=True
        Whether a bar is shown on a terminal.
    device : str, default="cpu"
        Where searches run: "cpu" or "cuda".
    command : str, default=""
        How this was called, for the report.

    Returns
    -------
    outcome : Outcome
        The report and what it was made of.

    Examples
    --------
    >>> import tempfile
    >>> from robell.studies.paper.study import reproduce
    >>> found = reproduce("table1", ["monk1"], ["elm"], ["paper"], out=tempfile.mkdtemp())
    >>> found.summary.done
    1
    """
    require("matplotlib", extra="bench")  # now, rather than when everything else is done
    tables, unavailable = gather(names, data_dir, download)
    if not tables:
        reasons = "; ".join(dict.fromkeys(unavailable.values()))
        raise StudyError(f"none of the sets asked for is here: {reasons}")
    jobs = plan_jobs(PARTS[part], tables, models, protocols, repeats, tuned_by)
    if not jobs:
        raise StudyError(
            f"nothing to do: {part} needs a set and a model of its own "
            f"(noise: five of the paper's sets; probe and sensitivity: robell, protocol paper)"
        )
    with Store(out) as store:
        summary = execute(jobs, tables, store, n_workers, progress, device)
        run = {
            "command": command,
            "finished": time.strftime("%Y-%m-%d"),
            "workers": n_workers,
            "unavailable": unavailable,
            "summary": asdict(summary),
        }
        write_atomically(Path(out) / "run.json", json.dumps(run, indent=1) + "\n")
        report, results = write_report(out)
    return Outcome(report, results, summary, unavailable)


def default_workers():
    """Return how many processes this machine has cores for."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
