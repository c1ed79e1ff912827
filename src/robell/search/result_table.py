"""The result table of a search."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection._search import _yield_masked_array_for_each_param

TIE = 1e-9  # scores that depend on more than labels and order are known to this, relatively


class ResultTable:
    """Scores and times of every candidate and fold, and cv_results_ made from them."""

    def __init__(self, n_candidates, n_splits, with_train):
        self.shape = (n_candidates, n_splits)
        self.missing = np.ones(self.shape, bool)
        self.fitted = np.zeros(self.shape, bool)  # one by one, by scikit-learn
        self.reason = np.full(self.shape, "", dtype=object)  # why a score is not shared
        self.times = {name: np.zeros(self.shape) for name in ("fit_time", "score_time")}
        self.scores = {}  # "test_score", "train_score", or one of each a metric
        self.with_train = with_train
        self.multimetric = False

    def _column(self, kind, name):
        key = f"{kind}_{name}"
        if key not in self.scores:
            self.scores[key] = np.full(self.shape, np.nan)
        return self.scores[key]

    def store(self, split, found):
        """Take in what a fold found for some candidates."""
        self.multimetric = set(found.test) != {"score"}
        for kind, values in (("test", found.test), ("train", found.train or {})):
            for name, value in values.items():
                self._column(kind, name)[found.candidates, split] = value
        self.times["fit_time"][found.candidates, split] = found.fit_time
        self.times["score_time"][found.candidates, split] = found.score_time
        self.missing[found.candidates, split] = False

    def leave(self, splits, unshared):
        """Take in why some candidates are to be fitted one by one in some folds."""
        self.reason[unshared.candidates, splits] = unshared.reason

    def leave_ties(self, names):
        """Leave candidates to scikit-learn whose mean is another's within rounding."""
        is_whole = ~self.missing.any(axis=1)
        for name in names:
            means = np.where(is_whole, self._column("test", name).mean(axis=1), np.nan)
            order = np.argsort(means)  # NaN last, which is near nothing
            near = np.diff(means[order]) <= TIE * np.abs(means[order][1:])
            tied = np.zeros(self.shape, bool)
            tied[order[1:][near]] = tied[order[:-1][near]] = True
            tied &= ~self.fitted & is_whole[:, None]
            self.reason[tied] = "the mean score is another's within rounding"
            self.missing |= tied

    def not_shared(self):
        """Return reason -> number of scores that it concerns."""
        return dict(Counter(self.reason[self.fitted].tolist()))

    def store_record(self, candidate, split, record):
        """Take in one of scikit-learn's records."""
        self.missing[candidate, split], self.fitted[candidate, split] = False, True
        for kind in ("test", "train")[: 1 + self.with_train]:
            values = record[f"{kind}_scores"]
            for name, value in (values if self.multimetric else {"score": values}).items():
                self._column(kind, name)[candidate, split] = value
        for name, values in self.times.items():
            values[candidate, split] = record[name]

    def first(self):
        """Return the first candidate's test scores as scikit-learn records them."""
        names = [name.removeprefix("test_") for name in self.scores if name.startswith("test_")]
        values = {name: float(self.scores[f"test_{name}"][0, 0]) for name in names}
        return values if self.multimetric else values["score"]

    def results(self, candidates, param_grid):
        """Return cv_results_, in scikit-learn's order and types."""
        results = {}
        for name, values in self.times.items():
            results[f"mean_{name}"] = values.mean(axis=1)
            results[f"std_{name}"] = values.std(axis=1)
        results |= _parameter_columns(candidates, param_grid)
        results["params"] = candidates
        tests = [name for name in self.scores if name.startswith("test_")]
        for name in tests:
            results |= self._statistics(name, rank=True)
            if self.with_train:
                results |= self._statistics(name.replace("test_", "train_", 1), rank=False)
        return results

    def _statistics(self, name, rank):
        values = self.scores[name]
        found = {f"split{k}_{name}": values[:, k] for k in range(values.shape[1])}
        means = np.average(values, axis=1)
        if not np.isfinite(means).all():
            kind = name.split("_")[0]
            warnings.warn(
                f"One or more of the {kind} scores are non-finite: {means}",
                category=UserWarning,
                stacklevel=2,
            )
        found[f"mean_{name}"] = means
        found[f"std_{name}"] = np.sqrt(np.average((values - means[:, None]) ** 2, axis=1))
        if rank:
            # Failed candidates count as tied with the worst.
            worst = 0.0 if np.isnan(means).all() else np.nanmin(means) - 1
            ranked = rankdata(-np.where(np.isnan(means), worst, means), method="min")
            found[f"rank_{name}"] = ranked.astype(np.int32, copy=False)
        return found


def _parameter_columns(candidates, param_grid):
    """Return the masked arrays ``param_*`` of cv_results_."""
    if not isinstance(param_grid, Mapping):
        return dict(_yield_masked_array_for_each_param(candidates))
    # One dict: every column repeats its short list of values, so its types are found on that.
    names = sorted(param_grid)
    shape = tuple(len(param_grid[name]) for name in names)
    places = np.indices(shape).reshape(len(shape), len(candidates))
    columns = {}
    for name, place in zip(names, places, strict=True):
        values = [{name: value} for value in param_grid[name]]
        ((key, column),) = _yield_masked_array_for_each_param(values)
        columns[key] = column[place]
    return columns
