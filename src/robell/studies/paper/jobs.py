"""What one job does: split, tune by the exact search, fit, and score on unseen rows."""

from __future__ import annotations

import time

import numpy as np
from sklearn.metrics import confusion_matrix, make_scorer

from robell import RVFLGridSearchCV, paper_grid
from robell.comparison.family import study_grid, study_pipeline
from robell.comparison.jobs import N_FOLDS, folds, paper_split, repeated_split, seed_of
from robell.metrics import g_mean_score
from robell.noise import flip_labels
from robell.studies.paper.printed import s4_parameters

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
    seconds = {
        "total": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "search": cell.search_seconds,
    }
    return {
        "outcome": outcome,
        "seeds": cell.seeds,
        "seconds": seconds,
        "device": cell.device,
    }


class Cell:
    """The rows and seeds of one job.

    The split and the folds are the same for all models and noise levels of a set; the random
    layer has a seed of its own for every model. Searches with a graph term run on the host,
    whatever the device.
    """

    def __init__(self, job, rows, device="cpu"):
        self.job, self.rows = job, rows
        self.device = "cpu" if job.model == "gegb" else device
        self.search_seconds = 0.0
        if job.protocol == "paper":
            self.train, self.test = paper_split(len(rows.y))
        else:
            self.train, self.test = repeated_split(rows.y, job.dataset, job.repeat)
        names = (job.protocol, job.dataset, job.repeat)
        self.seeds = {
            "layer": seed_of(*names, job.model, "layer"),
            "noise": seed_of(*names, job.noise),
        }
        self.y_train = rows.y[self.train]
        if job.noise:
            self.y_train, _ = flip_labels(self.y_train, job.noise / 100, self.seeds["noise"])
        _, counts = np.unique(self.y_train, return_counts=True)
        if len(counts) < 2 or counts.min() < N_FOLDS:
            smallest = counts.min() if len(counts) == 2 else 0
            raise ValueError(
                f"the smaller class has {smallest} training rows; {N_FOLDS} folds need {N_FOLDS}"
            )

    def tune(self):
        """Choose by every metric of the job, and count right and wrong on the test rows."""
        search = self._search(self.job.tuned_by)
        results = search.cv_results_
        selected = {}
        for metric in self.job.tuned_by:
            best = int(np.argmin(results[f"rank_test_{metric}"]))
            parameters = results["params"][best]
            selected[metric] = {
                "parameters": _plain(parameters),
                "cv_score": float(results[f"mean_test_{metric}"][best]),
                "confusion": self._test(parameters),
            }
        return {"selected": selected, "n_candidates": len(results["params"])}

    def sensitivity(self):
        """Vary ξ and ρ around the chosen candidate, everything else fixed (Figs. S.3 and S.4).

        The cross-validated surface, which tuning sees, is the best over everything else instead.
        """
        search = self._search(("accuracy",))
        results = search.cv_results_
        best = results["params"][int(np.argmin(results["rank_test_accuracy"]))]
        grid = paper_grid("robell")
        widths, rhos = grid["kernel_width"], grid["rho"]
        surface = np.zeros((len(widths), len(rhos)))
        for i, width in enumerate(widths):
            for j, rho in enumerate(rhos):
                parameters = best | {"model__kernel_width": width, "model__rho": rho}
                surface[i, j] = _accuracy(self._test(parameters))
        tuned = np.zeros_like(surface)
        places = (
            [widths.index(p["model__kernel_width"]) for p in results["params"]],
            [rhos.index(p["model__rho"]) for p in results["params"]],
        )
        np.maximum.at(tuned, places, 100 * results["mean_test_accuracy"])
        return {
            "kernel_width": widths,
            "rho": rhos,
            "test_accuracy": surface.tolist(),
            "cv_accuracy": tuned.tolist(),
            "parameters": _plain(best),
        }

    def probe(self):
        """RoBell, and RVFL with the same layers, at the printed parameters over many seeds."""
        parameters = s4_parameters(self.job.dataset)
        shared = {name: parameters[name] for name in ("C", "n_hidden", "activation")}
        found: dict = {"robell": [], "rvfl": []}
        for k in range(PROBE_SEEDS):
            seed = seed_of("probe", self.job.dataset, k)
            for model, values in (("robell", parameters), ("rvfl", shared)):
                prefixed = {f"model__{name}": value for name, value in values.items()}
                found[model].append(_accuracy(self._test(prefixed, model, seed)))
        return {"accuracy": found, "parameters": _plain(parameters)}

    def _search(self, metrics):
        job = self.job
        search = RVFLGridSearchCV(
            study_pipeline(job.model, self.seeds["layer"]),
            study_grid(job.model),
            scoring={metric: SCORERS[metric] for metric in metrics},
            cv=folds(job.protocol, job.dataset, job.repeat),
            refit=False,
            error_score="raise",
            device=self.device,
        )
        start = time.perf_counter()
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
