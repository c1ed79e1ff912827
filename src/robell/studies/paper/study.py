"""The paper's study: its record, and the function that runs it."""

from __future__ import annotations

from robell.comparison.study import Study, carry_out, gather
from robell.studies.paper.jobs import plan_jobs, run_job

STUDY = Study(
    name="reproduction",
    page="report.html",
    pages="robell.studies.paper.page",
    plan=plan_jobs,
    run=run_job,
)


def reproduce(
    part,
    names,
    models,
    protocols,
    *,
    repeats=10,
    tuned_by=None,
    data_dir=None,
    download=True,
    out="robell-study",
    **how,
):
    """Run a part of the paper's study, or go on with it, and write its report.

    ``part`` is a key of ``PARTS``, ``protocols`` are "paper" or "repeated"; ``repeats`` splits and
    the metrics ``tuned_by`` are those of "repeated". Sets come from the CSV files in ``data_dir``
    or, with ``download``, from the web. ``how`` goes to :func:`carry_out`.

    Examples
    --------
    >>> import tempfile
    >>> from robell.studies.paper.study import reproduce
    >>> found = reproduce("table1", ["monk1"], ["elm"], ["paper"], out=tempfile.mkdtemp())
    >>> found.summary.done
    1
    """
    settings = {"part": part, "models": models, "protocols": protocols}
    settings |= {"repeats": repeats, "tuned_by": tuned_by}
    tables, unavailable = gather(names, data_dir, download)
    return carry_out(STUDY, tables, unavailable, settings, out, **how)
