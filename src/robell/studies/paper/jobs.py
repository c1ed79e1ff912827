"""The paper's study: which jobs there are, what one does, and how all are run."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np
from sklearn.metrics import confusion_matrix, make_scorer

from robell import RVFLGridSearchCV, paper_grid
from robell.comparison.evaluate import scores_on_test_rows
from robell.comparison.family import MODELS, study_grid, study_pipeline
from robell.comparison.jobs import N_FOLDS, folds, seed_of, split_of
from robell.comparison.store import StudyError
from robell.comparison.study import Study, carry_out, gather
from robell.metrics import g_mean_score
from robell.noise import flip_labels
from robell.studies.paper import printed

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

    What the paper did on some of its sets is done on those of them that are here; where none of the
    26 is, on all. ``repeats`` and ``tuned_by`` (metrics) are those of the protocol "repeated".
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

    noisy = [model for model in printed.NOISE_MODELS if model in known]
    for protocol in protocols:
        if "table1" in PARTS[part]:
            here = known if protocol == "repeated" else [m for m in known if m in printed.MODELS]
            add("table1", tables, here, protocol)
        if "noise" in PARTS[part]:
            # The clean cells too: curves start there, and under "table1" they are the same job.
            chosen = _of_the_paper(tables, printed.NOISE_DATASETS)
            add("table1", chosen, noisy, protocol)
            add("noise", chosen, noisy, protocol, printed.NOISE_LEVELS)
    if "paper" in protocols and "robell" in known:
        if "probe" in PARTS[part]:
            add("probe", [name for name in tables if name in printed.DATASETS], ["robell"], "paper")
        if "sensitivity" in PARTS[part]:
            chosen = _of_the_paper(tables, printed.SENSITIVITY_DATASETS)
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
    if not any(name in printed.DATASETS for name in tables):
        return list(tables)
    return [name for name in names if name in tables]


# -- what one job does


SCORERS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "g_mean": make_scorer(g_mean_score),
    "f1": "f1",
}
PROBE_SEEDS = 100


def run_job(job, rows, device="cpu"):
    """Carry out one job; return outcome, seeds, seconds and device as plain values for a record."""
    start, cpu = time.perf_counter(), time.process_time()
    cell = Cell(job, rows, device)
    outcome = {"probe": cell.probe, "sensitivity": cell.sensitivity}.get(job.study, cell.tune)()
    outcome |= {"n_train": len(cell.train), "n_test": len(cell.test)}
    seconds = {"total": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    seconds["search"] = cell.search_seconds
    return {"outcome": outcome, "seeds": cell.seeds, "seconds": seconds, "device": cell.device}


class Cell:
    """The rows and seeds of one job.

    The split and the folds are the same for all models and noise levels of a set; the random layer
    has a seed of its own for every model.
    """

    def __init__(self, job, rows, device="cpu"):
        self.job, self.rows = job, rows
        self.device = "cpu" if job.model == "gegb" else device
        self.search_seconds = 0.0
        self.train, self.test = split_of(job.protocol, job.dataset, rows.y, job.repeat)
        self.names = (job.protocol, job.dataset, job.repeat)
        self.seeds = {
            "layer": seed_of(*self.names, job.model, "layer"),
            "noise": seed_of(*self.names, job.noise),
        }
        self.candidates = study_pipeline(job.model, self.seeds["layer"]), study_grid(job.model)
        scoring = {metric: SCORERS[metric] for metric in job.tuned_by}
        self.how: dict = {"scoring": scoring, "error_score": "raise", "device": self.device}
        self.y_train = rows.y[self.train]
        if job.noise:
            self.y_train, _ = flip_labels(self.y_train, job.noise / 100, self.seeds["noise"])
        smallest = np.bincount(self.y_train, minlength=2).min()
        if smallest < N_FOLDS:
            raise ValueError(
                f"the smaller class has {smallest} training rows; {N_FOLDS} folds need {N_FOLDS}"
            )

    def tune(self):
        """Choose by every metric of the job, and count right and wrong on the test rows."""
        results, selected = self._search().cv_results_, {}
        y = np.concatenate([self.y_train, self.rows.y[self.test]])
        # What a choice by test scores would see, of every candidate by metric.
        on_test = scores_on_test_rows(
            *self.candidates, self.rows.X, y, self.train, self.test, **self.how
        )
        for metric, scores in on_test.items():
            best = int(np.argmin(results[f"rank_test_{metric}"]))
            parameters = results["params"][best]
            selected[metric] = {
                "parameters": _plain(parameters),
                "cv_score": float(results[f"mean_test_{metric}"][best]),
                "confusion": self._test(parameters),
                "on_test_rows": {"chosen": float(scores[best]), "best": float(scores.max())},
            }
        return {"selected": selected, "n_candidates": len(results["params"])}

    def sensitivity(self):
        """Vary ξ and ρ around the chosen candidate, everything else fixed (Figs. S.3 and S.4)."""
        results = self._search().cv_results_
        best = results["params"][int(np.argmin(results["rank_test_accuracy"]))]
        grid = paper_grid("robell")
        widths, rhos = grid["kernel_width"], grid["rho"]
        surface = np.zeros((len(widths), len(rhos)))
        for (i, width), (j, rho) in product(enumerate(widths), enumerate(rhos)):
            parameters = best | {"model__kernel_width": width, "model__rho": rho}
            surface[i, j] = _accuracy(self._test(parameters))
        tuned = np.zeros_like(surface)
        for p, score in zip(results["params"], results["mean_test_accuracy"], strict=True):
            place = widths.index(p["model__kernel_width"]), rhos.index(p["model__rho"])
            tuned[place] = max(tuned[place], 100 * score)
        return {
            "kernel_width": widths,
            "rho": rhos,
            "test_accuracy": surface.tolist(),
            "cv_accuracy": tuned.tolist(),
            "parameters": _plain(best),
        }

    def probe(self):
        """RoBell, and RVFL with the same layers, at the printed parameters over many seeds."""
        parameters = printed.s4_parameters(self.job.dataset)
        shared = {name: parameters[name] for name in ("C", "n_hidden", "activation")}
        found: dict = {"robell": [], "rvfl": []}
        for k in range(PROBE_SEEDS):
            seed = seed_of("probe", self.job.dataset, k)
            for model, values in (("robell", parameters), ("rvfl", shared)):
                prefixed = {f"model__{name}": value for name, value in values.items()}
                found[model].append(_accuracy(self._test(prefixed, model, seed)))
        return {"accuracy": found, "parameters": _plain(parameters)}

    def _search(self):
        """Return the search of the job, fitted to the training rows."""
        cv, start = folds(*self.names), time.perf_counter()
        search = RVFLGridSearchCV(*self.candidates, cv=cv, refit=False, **self.how)
        search.fit(self.rows.X[self.train], self.y_train)
        self.search_seconds += time.perf_counter() - start
        return search

    def _test(self, parameters, model=None, seed=None):
        """Fit to the training rows; return the confusion counts on the test rows."""
        seed = self.seeds["layer"] if seed is None else seed
        pipeline = study_pipeline(model or self.job.model, seed).set_params(**parameters)
        pipeline.fit(self.rows.X[self.train], self.y_train)
        predicted = pipeline.predict(self.rows.X[self.test])
        labels = [self.rows.positive, 1 - self.rows.positive]
        counts = confusion_matrix(self.rows.y[self.test], predicted, labels=labels)
        return dict(zip(("tp", "fn", "fp", "tn"), counts.ravel().tolist(), strict=True))


def _accuracy(confusion):
    return 100 * (confusion["tp"] + confusion["tn"]) / sum(confusion.values())


def _plain(parameters):
    """Return parameters by their own names, as JSON has them."""
    return {
        name.removeprefix("model__"): value.item() if isinstance(value, np.generic) else value
        for name, value in parameters.items()
    }


# -- how the study is run


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
    >>> from robell.studies.paper.jobs import reproduce
    >>> found = reproduce("table1", ["monk1"], ["elm"], ["paper"], out=tempfile.mkdtemp())
    >>> found.summary.done
    1
    """
    settings = {"part": part, "models": models, "protocols": protocols}
    settings |= {"repeats": repeats, "tuned_by": tuned_by}
    tables, unavailable = gather(names, data_dir, download)
    return carry_out(STUDY, tables, unavailable, settings, out, **how)
