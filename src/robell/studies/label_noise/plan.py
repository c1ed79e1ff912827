"""The study's plan as frozen plain records: parts, and in them tables, models and label noise."""

from __future__ import annotations

from dataclasses import dataclass

from robell.comparison.peers import MODELS, OURS, REVISIONS, SLOW, USUAL, revision_of
from robell.comparison.scores import CLEAN
from robell.studies.label_noise.models import DETECTORS, EVERY_MODEL, TUNED
from robell.studies.label_noise.sets import REPORTING, TUNED_SETS

# Percent of the labels that are wrong; 0 is the clean cell all kinds share.
LEVELS = {
    "symmetric": (0, 10, 20, 30, 40),
    "asymmetric": (0, 20, 40),
    "boundary": (0, 10, 20, 30),
    "boundary-logistic": (0, 10, 20, 30),
    "boundary-forest": (0, 10, 20, 30),
    "group": (0, 60),
    "group-column": (0, 60),
}
BOUNDARIES = ("boundary", "boundary-logistic", "boundary-forest")
SUPPLIERS = ("group", "group-column")
FIRST_SEED, N_SEEDS = 10, 3
PEERS = ("usual", "tuned", "all")


@dataclass(frozen=True)
class NoiseJob:
    """One model on one split of one set under one noise; its key says all that matters to it."""

    dataset: str
    digest: str  # of the set's contents: other rows are another job
    kind: str  # "clean", or one of LEVELS
    level: int  # percent of the labels (of the minority's, of the supplier's) that are wrong
    seed: int  # of split, noise and model
    model: str
    revision: str = ""  # of the model, where it may change while its peers do not

    @property
    def key(self):
        """What tells this job from all others."""
        parts = ["robustness", self.dataset, self.digest[:16], self.kind, self.level]
        parts += [self.seed, self.model, *([self.revision] if self.revision else [])]
        return "/".join(str(part) for part in parts)

    @property
    def cost(self):
        """About how long it takes, in CPU seconds."""
        return EVERY_MODEL[self.model].seconds


@dataclass(frozen=True)
class Part:
    """A part of the study: which models meet which noise, on which tables and how often."""

    kinds: tuple
    levels: tuple | None  # None: those of each kind
    models: tuple
    n_seeds: int
    several: bool = False  # on tables of several classes, or on those of two
    only: tuple | None = None  # of the reporting tables these alone
    peers: str = "usual"

    def cells(self, kinds=None, levels=None):
        """Return (kind, level) of every noise, the clean one once; by default the part's own."""
        kinds = [kind for kind in self.kinds if kinds is None or kind in kinds]
        return noise_cells(kinds, self.levels if levels is None else levels)


_SEVERAL = tuple(name for name in USUAL if MODELS[name].several)
# What matters most comes first: a study that is stopped has it.
PARTS = {
    "symmetric": Part(("symmetric",), None, USUAL, N_SEEDS),
    "tuned": Part(
        ("symmetric",), (0, 20, 40), (*USUAL, *SLOW, *TUNED), 1, only=TUNED_SETS, peers="tuned"
    ),
    "boundary": Part(BOUNDARIES, (10, 20, 30), USUAL, N_SEEDS),
    "classes": Part(("symmetric",), (0, 20, 40), _SEVERAL, N_SEEDS, several=True),
    "detection": Part(("symmetric",), (10, 20, 30, 40), (OURS, *DETECTORS), N_SEEDS),
    "asymmetric": Part(("asymmetric",), (20, 40), USUAL, N_SEEDS),
    "groups": Part(SUPPLIERS, (60,), USUAL, N_SEEDS),
}


def noise_cells(kinds, levels=None):
    """Return (kind, level) of every noise, the clean one once; by default each kind's levels."""
    cells = []
    for kind in kinds:
        for level in LEVELS[kind] if levels is None else levels:
            cells.append((kind, level) if level else (CLEAN, 0))
    return list(dict.fromkeys(cells))


def plan_noise_jobs(
    tables,
    models=None,
    kinds=None,
    levels=None,
    n_seeds=None,
    first_seed=FIRST_SEED,
    peers="usual",
    revisions=None,
):
    """Return the jobs of the study, each once, in the order of the parts.

    Models, kinds, levels and a number of seeds that are given take the place of the parts' own;
    models that are not in a part are left out of it. The models of one cell stand together, so that
    their times are taken side by side. Every seed is a split, a draw of the noise and a seed of the
    models. All parts have run with the first seed before the second comes.
    """
    revisions = REVISIONS if revisions is None else revisions
    jobs: dict[str, NoiseJob] = {}
    for place in range(N_SEEDS if n_seeds is None else n_seeds):
        for part in PARTS.values():
            if peers not in (part.peers, "all") or (n_seeds is None and place >= part.n_seeds):
                continue
            chosen = [m for m in part.models if models is None or m in models]
            cells, seed = part.cells(kinds, levels), first_seed + place
            for job in _jobs_of(part, tables, chosen, cells, seed, revisions):
                jobs.setdefault(job.key, job)
    return list(jobs.values())


def _jobs_of(part, tables, models, cells, seed, revisions):
    """Yield the jobs of one part and seed."""
    for kind, level in cells:
        for name, rows in tables.items():
            if part.several != (len(rows.about["class_counts"]) > 2):
                continue
            if part.only is not None and name in REPORTING and name not in part.only:
                continue
            for model in models:
                if model not in DETECTORS or level:
                    revision = revision_of(revisions, model, part.several)
                    yield NoiseJob(name, rows.digest, kind, level, seed, model, revision)
