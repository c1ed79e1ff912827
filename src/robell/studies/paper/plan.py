"""What is to be done, as frozen plain records: one job is one cell of a table or figure."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from robell.comparison.family import MODELS
from robell.comparison.store import StudyError
from robell.studies.paper.printed import (
    DATASETS,
    NOISE_DATASETS,
    NOISE_LEVELS,
    NOISE_MODELS,
    SENSITIVITY_DATASETS,
)
from robell.studies.paper.printed import MODELS as PRINTED

# What the parts of the command mean, in jobs: the tests are made of Table I's cells.
PARTS = {
    "table1": ("table1",),
    "tests": ("table1",),
    "probe": ("probe",),
    "noise": ("noise",),
    "sensitivity": ("sensitivity",),
    "all": ("table1", "probe", "noise", "sensitivity"),
}
PROTOCOLS = ("paper", "repeated")
SENSITIVITY_SEEDS = 3  # random layers and folds, each tuned anew, on the paper's one split
TUNED_BY = {"paper": ("accuracy",), "repeated": ("accuracy", "g_mean")}


@dataclass(frozen=True)
class Job:
    """One unit of work; its key says all that its result depends on."""

    study: str  # "table1", "probe", "noise" or "sensitivity"
    protocol: str
    dataset: str
    model: str
    digest: str  # of the table's contents: other rows are another job
    repeat: int = 0
    noise: int = 0  # percent of the training labels that are flipped
    tuned_by: tuple[str, ...] = ("accuracy",)  # candidates are chosen by each of these metrics

    @property
    def key(self):
        """What tells this job from all others."""
        fields = asdict(self) | {"tuned_by": "+".join(self.tuned_by), "digest": self.digest[:16]}
        return "/".join(str(value) for value in fields.values())

    @property
    def cost(self):
        """About how long it takes, in CPU seconds."""
        return 2 if self.study == "probe" else MODELS[self.model].seconds


def plan_jobs(tables, part, models, protocols, repeats=10, tuned_by=None):
    """Return the jobs of a part of the study, without duplicates, by tables and models.

    What the paper did on some of its sets is done on those of them that are here; where none of
    the paper's 26 is here, on all that are. The probe and the sensitivity are of the protocol
    "paper" only: they hold the print against one split. ``repeats`` and ``tuned_by`` (metrics) are
    those of the protocol "repeated", under which alone the models run that the paper prints nothing
    of.
    """
    known = [name for name in MODELS if name in models]
    jobs: list[Job] = []

    def add(study, names, some_models, protocol, levels=(0,), n_repeats=1):
        criteria = TUNED_BY[protocol]
        if protocol == "repeated":
            criteria, n_repeats = tuple(tuned_by or criteria), repeats
        jobs.extend(
            Job(study, protocol, name, model, tables[name].digest, repeat, noise, criteria)
            for name in names
            for model in some_models
            for noise in levels
            for repeat in range(n_repeats)
        )

    noisy = [model for model in NOISE_MODELS if model in known]
    for protocol in protocols:
        if "table1" in PARTS[part]:
            here = known if protocol == "repeated" else [m for m in known if m in PRINTED]
            add("table1", tables, here, protocol)
        if "noise" in PARTS[part]:
            # The clean cells too: curves start there, and under "table1" they are the same job.
            chosen = _of_the_paper(tables, NOISE_DATASETS)
            add("table1", chosen, noisy, protocol)
            add("noise", chosen, noisy, protocol, NOISE_LEVELS)
    if "paper" in protocols and "robell" in known:
        if "probe" in PARTS[part]:
            add("probe", [name for name in tables if name in DATASETS], ["robell"], "paper")
        if "sensitivity" in PARTS[part]:
            chosen = _of_the_paper(tables, SENSITIVITY_DATASETS)
            add("sensitivity", chosen, ["robell"], "paper", n_repeats=SENSITIVITY_SEEDS)
    if not jobs:
        raise StudyError(
            f"nothing to do: {part} needs a set and a model of its own "
            "(noise: five of the paper's sets; probe and sensitivity: robell, protocol paper; "
            "models that the paper prints nothing of: protocol repeated)"
        )
    return list(dict.fromkeys(jobs))


def _of_the_paper(tables, names):
    """Return which of these names are here; all tables, where none of the paper's is."""
    if not any(name in DATASETS for name in tables):
        return list(tables)
    return [name for name in names if name in tables]
