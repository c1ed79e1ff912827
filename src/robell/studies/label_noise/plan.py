"""The robustness study as frozen plain records: sets, models, kinds and levels of label noise."""

from __future__ import annotations

from dataclasses import dataclass

# Keys and names, in the order they are shown.
MODELS = {
    "noise_robust": "NoiseRobustRVFL",
    "logistic": "Logistic regression, balanced",
    "svc": "RBF-SVC, balanced",
    "forest": "Random forest",
    "balanced_forest": "Balanced random forest",
    "easy_ensemble": "EasyEnsemble",
    "lightgbm": "LightGBM",
    "lightgbm_balanced": "LightGBM, balanced",
    "hist_gradient": "Histogram gradient boosting, balanced",
    "smote_logistic": "SMOTE + logistic regression",
    "clean_learning": "CleanLearning (logistic)",
    "rvfl": "RVFL",
    "rvfl_balanced": "RVFL, balanced",
    "robell": "RoBell-RVFL as printed",
}
# The same for figures, where there is little room.
SHORT_NAMES = {
    "noise_robust": "NoiseRobustRVFL",
    "logistic": "Logistic, bal.",
    "svc": "SVC, bal.",
    "forest": "Forest",
    "balanced_forest": "Balanced forest",
    "easy_ensemble": "EasyEnsemble",
    "lightgbm": "LightGBM",
    "lightgbm_balanced": "LightGBM, bal.",
    "hist_gradient": "HistGB, bal.",
    "smote_logistic": "SMOTE + logistic",
    "clean_learning": "CleanLearning",
    "rvfl": "RVFL",
    "rvfl_balanced": "RVFL, bal.",
    "robell": "RoBell as printed",
}
OURS = "noise_robust"
TIME_REFERENCE = "lightgbm"
# What a change of our own model makes another job of; the peers' records stay.
REVISIONS = {OURS: "1"}
# CPU seconds of one job at 600 rows, for the time that is left.
TYPICAL_SECONDS = {
    "noise_robust": 0.15,
    "logistic": 0.03,
    "svc": 0.03,
    "forest": 0.25,
    "balanced_forest": 0.4,
    "easy_ensemble": 1.2,
    "lightgbm": 0.1,
    "lightgbm_balanced": 0.1,
    "hist_gradient": 0.3,
    "smote_logistic": 0.03,
    "clean_learning": 0.1,
    "rvfl": 0.05,
    "rvfl_balanced": 0.05,
    "robell": 0.08,
}

SETS = (
    "abalone9-18",
    "cleveland-0_vs_4",
    "ecoli1",
    "ecoli2",
    "ecoli3",
    "ecoli4",
    "ecoli-0-1_vs_5",
    "glass0",
    "glass1",
    "glass6",
    "glass-0-1-2-3_vs_4-5-6",
    "haberman",
    "led7digit-0-2-4-5-6-7-8-9_vs_1",
    "new-thyroid1",
    "page-blocks-1-3_vs_4",
    "pima",
    "segment0",
    "vehicle0",
    "vehicle1",
    "vehicle2",
    "vehicle3",
    "vowel0",
    "wisconsin",
    "winequality-red-4",
    "yeast1",
    "yeast3",
    "yeast4",
    "yeast5",
    "yeast-0-2-5-7-9_vs_3-6-8",
    "yeast-2_vs_4",
    "flare-F",
    "car-good",
    "dermatology-6",
    "shuttle-c0-vs-c4",
)
# Those of them that share no row with the sets on which variants of our own model were compared.
# Not cleveland-0_vs_4: all its rows are among those of cleve, which is one of these.
FRESH_SETS = (
    "haberman",
    "led7digit-0-2-4-5-6-7-8-9_vs_1",
    "pima",
    "segment0",
    "vehicle0",
    "vehicle1",
    "vehicle2",
    "vehicle3",
    "vowel0",
    "wisconsin",
    "flare-F",
    "dermatology-6",
)

CLEAN = "clean"
# Percent of the labels that are wrong; 0 is the clean cell all kinds share.
LEVELS = {
    "symmetric": (0, 5, 10, 20, 30, 40),
    "asymmetric": (0, 10, 20, 30, 40),
    "boundary": (0, 10, 20, 30, 40),
}
FIRST_SEED, N_SEEDS = 10, 3


@dataclass(frozen=True)
class NoiseJob:
    """One model on one split of one set under one noise; its key says all that matters to it.

    Attributes
    ----------
    dataset : str
    digest : str
        Of the set's contents: other rows are another job.
    kind : {"clean", "symmetric", "asymmetric", "boundary"}
    level : int
        Percent of the labels (asymmetric: of the minority's) that are wrong.
    seed : int
        Of split, noise and model.
    model : str
    revision : str
        Of the model, where it may change while its peers do not.
    """

    dataset: str
    digest: str
    kind: str
    level: int
    seed: int
    model: str
    revision: str = ""

    @property
    def key(self):
        """Return what tells this job from all others."""
        parts = ["robustness", self.dataset, self.digest[:16], self.kind, self.level]
        parts += [self.seed, self.model, *([self.revision] if self.revision else [])]
        return "/".join(str(part) for part in parts)

    @property
    def cost(self):
        """Return about how long it takes, in CPU seconds."""
        return TYPICAL_SECONDS[self.model]


def noise_cells(kinds, levels=None):
    """Return the noises of a study: every kind at every level, the clean one once.

    Parameters
    ----------
    kinds : iterable of {"symmetric", "asymmetric", "boundary"}
        Kinds of noise.
    levels : iterable of int, default=None
        Percent; by default those of each kind.

    Returns
    -------
    cells : list of (str, int)
        Kind and level, without duplicates.

    Examples
    --------
    >>> from robell.studies.label_noise.plan import noise_cells
    >>> noise_cells(["symmetric", "boundary"], [0, 20])
    [('clean', 0), ('symmetric', 20), ('boundary', 20)]
    """
    cells = []
    for kind in kinds:
        for level in LEVELS[kind] if levels is None else levels:
            cells.append((kind, level) if level else (CLEAN, 0))
    return list(dict.fromkeys(cells))


def plan_noise_jobs(tables, models, cells, seeds, revisions=None):
    """Return the jobs of a robustness study.

    Parameters
    ----------
    tables : dict of str -> Rows
        By name.
    models : iterable of str
        Keys of models.
    cells : iterable of (str, int)
        Kinds and levels, as of :func:`noise_cells`.
    seeds : iterable of int
        Every seed is a split, a draw of the noise and a seed of the models.
    revisions : dict of str -> str, default=None
        Of models that have one; ``REVISIONS`` by default.

    Returns
    -------
    jobs : list of NoiseJob
        The models of one cell stand together, so that their times are taken side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.studies.paper.plan import Rows
    >>> from robell.studies.label_noise.plan import plan_noise_jobs
    >>> rows = Rows("pima", np.zeros((4, 1)), np.array([0, 0, 1, 1]), 1, "ab")
    >>> jobs = plan_noise_jobs({"pima": rows}, ["svc", "rvfl"], [("symmetric", 20)], [10])
    >>> [job.key for job in jobs]
    ['robustness/pima/ab/symmetric/20/10/svc', 'robustness/pima/ab/symmetric/20/10/rvfl']
    """
    revisions = REVISIONS if revisions is None else revisions
    return [
        NoiseJob(name, rows.digest, kind, level, seed, model, revisions.get(model, ""))
        for kind, level in cells
        for seed in seeds
        for name, rows in tables.items()
        for model in models
    ]
