"""The paper's study: its record, and the function that runs it."""

from __future__ import annotations

from robell.comparison.study import Study, carry_out, gather
from robell.studies.paper.jobs import run_job
from robell.studies.paper.page import all_sections, headline, subtitle
from robell.studies.paper.plan import plan_jobs
from robell.studies.paper.results import Results

STUDY = Study(
    name="reproduction",
    title="RoBell-RVFL: the study, measured again",
    page="report.html",
    plan=plan_jobs,
    run=run_job,
    read=lambda records, run: Results(records),
    sections=all_sections,
    subtitle=subtitle,
    headline=headline,
)


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
    """Run a part of the paper's study, or go on with it, and write its report.

    Parameters
    ----------
    part : {"table1", "tests", "probe", "noise", "sensitivity", "all"}
        Which part.
    names, models, protocols : sequence of str
        Sets, keys of models, and "paper" or "repeated".
    repeats : int, default=10
        Splits of the protocol "repeated".
    tuned_by : tuple of str, default=None
        Metrics to tune by under "repeated"; accuracy and G-mean by default.
    n_workers : int, default=1
        Processes.
    data_dir : path-like, default=None
        A folder of CSV files.
    out : path-like, default="robell-study"
        Where records, tables, figures and the report go.
    download : bool, default=True
        Whether sets may be downloaded.
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
    settings = {"part": part, "models": models, "protocols": protocols}
    tables, unavailable = gather(names, data_dir, download)
    return carry_out(
        STUDY,
        tables,
        unavailable,
        settings | {"repeats": repeats, "tuned_by": tuned_by},
        out,
        command=command,
        n_workers=n_workers,
        progress=progress,
        device=device,
    )
