"""Finished records of the paper's study as arrays of scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import compress, product
from math import sqrt

import numpy as np

from robell.comparison import scores as engine
from robell.comparison.scores import ordered
from robell.studies.paper import printed
from robell.studies.paper.printed import DATASETS, MODELS

SCORES = {
    "accuracy": "Accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "precision": "Precision",
    "f_measure": "F-measure",
    "g_mean": "G-mean",
}


def scores_of(confusion):
    """Return the paper's six metrics in percent from counts tp, fn, fp, tn; 0 where undefined."""
    tp, fn, fp, tn = (confusion[name] for name in ("tp", "fn", "fp", "tn"))
    sensitivity, specificity = _share(tp, tp + fn), _share(tn, tn + fp)
    precision = _share(tp, tp + fp)
    return {
        "accuracy": _share(tp + tn, tp + fn + fp + tn),
        "sensitivity": sensitivity,
        "specificity": specificity,
        "precision": precision,
        "f_measure": _share(2 * precision * sensitivity, precision + sensitivity) / 100,
        "g_mean": sqrt(sensitivity * specificity),
    }


def _share(part, whole):
    return 100 * part / whole if whole else 0.0


@dataclass(frozen=True)
class Scores:
    """Means and standard deviations over repeats; rows are sets, columns models.

    NaN where there is no result, and a standard deviation of less than two repeats is NaN too.
    """

    datasets: tuple
    models: tuple
    mean: np.ndarray
    sd: np.ndarray
    n: np.ndarray  # repeats


class Results(engine.Results):
    """The records of the paper's study; those of jobs that failed are listed, never scored."""

    def of(self, study, protocol=None, **fields):
        """Return the finished records of one study whose jobs have these fields."""
        fields |= {"study": study} | ({} if protocol is None else {"protocol": protocol})
        return [r for r in self.done if all(r["job"][k] == v for k, v in fields.items())]

    def datasets(self, study, protocol):
        """Return the sets of a study: the paper's in its order, then others by name."""
        return ordered({r["job"]["dataset"] for r in self.of(study, protocol)}, DATASETS)

    def models(self, study, protocol):
        """Return the models of a study, in the paper's order."""
        return ordered({r["job"]["model"] for r in self.of(study, protocol)}, MODELS)

    def tuned_by(self, study, protocol):
        """Return the metrics that models were tuned by."""
        metrics = dict.fromkeys(m for r in self.of(study, protocol) for m in r["job"]["tuned_by"])
        return tuple(metrics)

    def scores(self, study, protocol, tuned_by, score, noise=0, datasets=None):
        """Return one of ``SCORES`` of every set and model over repeats, in percent.

        Of every set the repeats count that all models with any have finished: the same splits.
        """
        datasets = self.datasets(study, protocol) if datasets is None else tuple(datasets)
        models = self.models(study, protocol)
        values: dict = {}
        for record in self.of(study, protocol, noise=noise):
            job, selected = record["job"], record["outcome"]["selected"]
            if tuned_by in selected:
                found = values.setdefault(job["dataset"], {}).setdefault(job["model"], {})
                found[job["repeat"]] = scores_of(selected[tuned_by]["confusion"])[score]
        cells = []
        for by_model in (values.get(name, {}) for name in datasets):
            # Sorted: the order they finished in is chance.
            common = sorted(set.intersection(*map(set, by_model.values()))) if by_model else ()
            cells += [[by_model[m][k] for k in common] if m in by_model else [] for m in models]

        def each(number, fewest=0):
            numbers = [number(of) if len(of) >= fewest else np.nan for of in cells]
            return np.reshape(numbers, (len(datasets), len(models)))

        deviations = each(partial(np.std, ddof=1), 2)
        return Scores(datasets, models, each(np.mean, 1), deviations, each(len).astype(int))

    def is_stand_in(self, dataset):
        """Return whether a set is generated in place of one that nobody has."""
        return bool(self.data.get(dataset, {}).get("stand_in"))

    def real(self, datasets):
        """Return the sets that are no stand-ins: averages and tests are over these."""
        return tuple(name for name in datasets if not self.is_stand_in(name))


# -- measured cells beside printed ones, and which of them averages and tests are made of


class Comparison(engine.Ranked):
    """One protocol's cells (``cells``), and those that averages and tests are made of.

    ``datasets`` are the sets that have a cell for every model and are no stand-ins; ``values``
    are their scores, and ``printed`` what Table I prints for them, None where it lacks any.
    """

    def __init__(self, results, protocol, tuned_by="accuracy", score="accuracy"):
        self.results, self.protocol, self.tuned_by, self.score = results, protocol, tuned_by, score
        self.cells = results.scores("table1", protocol, tuned_by, score)
        self.models = self.cells.models
        kept = [
            not results.is_stand_in(name) and bool(np.isfinite(means).all())
            for name, means in zip(self.cells.datasets, self.cells.mean, strict=True)
        ]
        self.datasets = tuple(compress(self.cells.datasets, kept))
        super().__init__(self.cells.mean[kept])
        print_ = printed.printed_cells(self.datasets, self.models)
        self.printed = print_ if np.isfinite(print_).all() else None
        self.own = self.models.index("robell") if "robell" in self.models else None


def shown(results, dataset):
    """Return a set's name with what must be known of it."""
    if results.is_stand_in(dataset):
        return f"{dataset} (stand-in)"
    about = results.data.get(dataset, {})
    if dataset in printed.TABLE_I and not about.get("paper_rows", True):
        return f"{dataset} *"
    return dataset


def noise_curves(results, protocol):
    """Return levels, clean labels first, and {set: {model: [accuracy by level]}}."""
    names = results.datasets("noise", protocol)
    models = results.models("noise", protocol)
    levels = (0, *printed.NOISE_LEVELS)
    curves: dict = {name: {model: [] for model in models} for name in names}
    for level in levels:
        study = "noise" if level else "table1"
        scores = results.scores(study, protocol, "accuracy", "accuracy", level, names)
        found = dict(zip(product(scores.datasets, scores.models), scores.mean.ravel(), strict=True))
        for name, model in product(names, models):
            curves[name][model].append(float(found.get((name, model), np.nan)))
    return levels, curves
