"""The results frame: finished records as arrays of scores. No estimator is seen behind it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

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
    """Return the paper's six metrics in percent; 0 where one is undefined.

    Parameters
    ----------
    confusion : dict
        Counts ``tp``, ``fn``, ``fp``, ``tn``.

    Returns
    -------
    scores : dict of str -> float
        By the names in ``SCORES``.

    Examples
    --------
    >>> from robell.studies.paper.results import scores_of
    >>> found = scores_of({"tp": 83, "fn": 8, "fp": 18, "tn": 99})
    >>> round(found["accuracy"], 4), round(found["g_mean"], 4)
    (87.5, 87.8503)
    """
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

    Attributes
    ----------
    datasets, models : tuple of str
    mean, sd : ndarray of shape (n_datasets, n_models)
        NaN where there is no result; sd also where there are fewer than two repeats.
    n : ndarray of int of shape (n_datasets, n_models)
        Repeats.
    """

    datasets: tuple
    models: tuple
    mean: np.ndarray
    sd: np.ndarray
    n: np.ndarray


class Results:
    """Finished records of a study, by cell.

    Where a set was run on other rows before (another source), the newest rows count for it and
    everything else of that set is left out: one table never mixes two versions of a set.

    Parameters
    ----------
    records : iterable of dict
        As ``read_records`` returns them, in the order they were stored.

    Attributes
    ----------
    records : list of dict
        Those that count.
    failed : list of dict
        Those of jobs that failed and have not been finished since.
    data : dict of str -> dict
        Where each set came from.

    Examples
    --------
    >>> from robell.studies.paper.results import Results
    >>> Results([]).datasets("table1", "paper")
    ()
    """

    def __init__(self, records):
        records = list(records)
        newest = {r["job"]["dataset"]: r["job"]["digest"] for r in records}
        current = [r for r in records if newest[r["job"]["dataset"]] == r["job"]["digest"]]
        self.records = [r for r in current if r["status"] == "done"]
        self.failed = [r for r in current if r["status"] != "done"]
        self.data = {r["job"]["dataset"]: r.get("data", {}) for r in current}

    def of(self, study, protocol=None, **fields):
        """Return the records of one study whose jobs have these fields."""
        fields |= {"study": study} | ({} if protocol is None else {"protocol": protocol})
        return [r for r in self.records if all(r["job"][k] == v for k, v in fields.items())]

    def datasets(self, study, protocol):
        """Return the sets of a study: the paper's in its order, then others by name."""
        names = {r["job"]["dataset"] for r in self.of(study, protocol)}
        return tuple(n for n in DATASETS if n in names) + tuple(sorted(names - set(DATASETS)))

    def models(self, study, protocol):
        """Return the models of a study, in the paper's order."""
        names = {r["job"]["model"] for r in self.of(study, protocol)}
        return tuple(name for name in MODELS if name in names)

    def tuned_by(self, study, protocol):
        """Return the metrics that models were tuned by."""
        metrics = dict.fromkeys(m for r in self.of(study, protocol) for m in r["job"]["tuned_by"])
        return tuple(metrics)

    def scores(self, study, protocol, tuned_by, score, noise=0, datasets=None):
        """Return one score of every set and model, over repeats.

        Parameters
        ----------
        study, protocol, tuned_by, score : str
            Which results, and which of ``SCORES``.
        noise : int, default=0
            Percent of flipped labels.
        datasets : sequence of str, default=None
            Rows; all sets of the study by default.

        Returns
        -------
        scores : Scores
            In percent.
        """
        datasets = self.datasets(study, protocol) if datasets is None else tuple(datasets)
        models = self.models(study, protocol)
        values = {(d, m): [] for d in datasets for m in models}
        for record in self.of(study, protocol, noise=noise):
            job, selected = record["job"], record["outcome"]["selected"]
            cell = (job["dataset"], job["model"])
            if cell in values and tuned_by in selected:
                values[cell].append(scores_of(selected[tuned_by]["confusion"])[score])
        mean, sd = (np.full((len(datasets), len(models)), np.nan) for _ in range(2))
        n = np.zeros(mean.shape, int)
        for i, dataset in enumerate(datasets):
            for j, model in enumerate(models):
                found = np.sort(values[dataset, model])  # the order they finished in is chance
                n[i, j] = len(found)
                if len(found):
                    mean[i, j] = found.mean()
                if len(found) > 1:
                    sd[i, j] = found.std(ddof=1)
        return Scores(datasets, models, mean, sd, n)

    def is_stand_in(self, dataset):
        """Return whether a set is generated in place of one that nobody has."""
        return bool(self.data.get(dataset, {}).get("stand_in"))

    def real(self, datasets):
        """Return the sets that are no stand-ins: averages and tests are over these."""
        return tuple(name for name in datasets if not self.is_stand_in(name))
