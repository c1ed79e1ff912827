"""The study's plan as frozen plain records: sets, models, kinds and levels of label noise."""

from __future__ import annotations

from dataclasses import dataclass

from robell.studies.engine.scores import CLEAN
from robell.studies.label_noise.models import MODELS, REVISIONS

# fmt: off
SETS = (
    "abalone9-18", "cleveland-0_vs_4", "ecoli1", "ecoli2", "ecoli3", "ecoli4", "ecoli-0-1_vs_5",
    "glass0", "glass1", "glass6", "glass-0-1-2-3_vs_4-5-6", "haberman",
    "led7digit-0-2-4-5-6-7-8-9_vs_1", "new-thyroid1", "page-blocks-1-3_vs_4", "pima", "segment0",
    "vehicle0", "vehicle1", "vehicle2", "vehicle3", "vowel0", "wisconsin", "winequality-red-4",
    "yeast1", "yeast3", "yeast4", "yeast5", "yeast-0-2-5-7-9_vs_3-6-8", "yeast-2_vs_4", "flare-F",
    "car-good", "dermatology-6", "shuttle-c0-vs-c4",
)
# Those of them that share no row with the sets on which variants of our own model were compared.
# Not cleveland-0_vs_4: all its rows are among those of cleve, which is one of these.
FRESH_SETS = (
    "haberman", "led7digit-0-2-4-5-6-7-8-9_vs_1", "pima", "segment0", "vehicle0", "vehicle1",
    "vehicle2", "vehicle3", "vowel0", "wisconsin", "flare-F", "dermatology-6",
)
# fmt: on

# Percent of the labels that are wrong; 0 is the clean cell all kinds share.
LEVELS = {
    "symmetric": (0, 5, 10, 20, 30, 40),
    "asymmetric": (0, 10, 20, 30, 40),
    "boundary": (0, 10, 20, 30, 40),
}
FIRST_SEED, N_SEEDS = 10, 3


@dataclass(frozen=True)
class NoiseJob:
    """One model on one split of one set under one noise; its key says all that matters to it."""

    dataset: str
    digest: str  # of the set's contents: other rows are another job
    kind: str  # "clean", "symmetric", "asymmetric" or "boundary"
    level: int  # percent of the labels (asymmetric: of the minority's) that are wrong
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
        return MODELS[self.model].seconds


def noise_cells(kinds, levels=None):
    """Return (kind, level) of every noise, the clean one once; by default each kind's levels."""
    cells = []
    for kind in kinds:
        for level in LEVELS[kind] if levels is None else levels:
            cells.append((kind, level) if level else (CLEAN, 0))
    return list(dict.fromkeys(cells))


def plan_noise_jobs(tables, models, cells, seeds, revisions=None):
    """Return the jobs of the study: every model, cell, set and seed.

    The models of one cell stand together, so that their times are taken side by side. Every seed
    is a split, a draw of the noise and a seed of the models.
    """
    revisions = REVISIONS if revisions is None else revisions
    return [
        NoiseJob(name, rows.digest, kind, level, seed, model, revisions.get(model, ""))
        for kind, level in cells
        for seed in seeds
        for name, rows in tables.items()
        for model in models
    ]
