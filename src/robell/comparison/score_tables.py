"""Tables of scores that any study of models on sets has: means, ranks, sets, tests, times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell._tools.text import counted
from robell.comparison.scores import DECIMALS, METRICS, SHORT_METRICS
from robell.comparison.statistics import friedman, holm, wilcoxon_p_values, win_tie_loss
from robell.report.tables import Table, is_missing


@dataclass(frozen=True)
class ModelTable(Table):
    """A table whose rows are models: the best of every column is set bold.

    ``column_best`` says of each column whether its largest ("max") or smallest ("min") value is
    the best; None for neither.
    """

    column_best: tuple = ()

    def best_cells(self):
        """Return the places (row, column) of the cells to set bold."""
        found = set()
        for column, direction in enumerate(self.column_best):
            if direction is None:
                continue
            form = self.format_of(column)
            shown = {
                place: float(format(row[column], form))  # what looks alike is treated alike
                for place, row in enumerate(self.body_rows)
                if not is_missing(row[column])
            }
            if shown:
                best = (max if direction == "max" else min)(shown.values())
                found |= {(place, column) for place, value in shown.items() if value == best}
        return found


# A group names some of the sets ("fresh"); tables of all sets have none.


def stem_of(group, name):
    """Return the stem of the files of a table of a group."""
    return f"{group}_{name}" if group else name


def of_group(group):
    """Return what a title adds for a group."""
    return f", {group} sets" if group else ""


def cell_table(cell, group=""):
    """Return mean and average rank of every model in every metric under one noise."""
    names = SHORT_METRICS.values()
    means = np.column_stack([cell.means(metric) for metric in METRICS])
    ranks = np.column_stack([cell.ranks(metric) for metric in METRICS])
    rows = [
        (label, *means[place].tolist(), *ranks[place].tolist())
        for place, label in enumerate(cell.labels)
    ]
    n = len(METRICS)
    low, high = min(cell.n_seeds), max(cell.n_seeds)
    splits = f"{low} to {high} splits" if low < high else counted(low, "split")
    return ModelTable(
        stem_of(group, cell.stem),
        f"{cell.name[0].upper()}{cell.name[1:]}{of_group(group)}: means and average ranks",
        ("Model", *names, *(f"{name} rank" for name in names)),
        tuple(rows),
        caption=f"Over {counted(len(cell.datasets), 'set')}, {splits} of each; 1 is the best rank.",
        digits=(0, *[3] * n, *[2] * n),
        column_best=(None, *["max"] * n, *["min"] * n),
    )


def dataset_table(cell, metric):
    """Return one metric under one noise: sets in rows, models in columns, means and ranks below."""
    values = cell.values[metric]
    rows = [(name, *row.tolist()) for name, row in zip(cell.datasets, values, strict=True)]
    rows += [("Mean", *cell.means(metric).tolist()), ("Average rank", *cell.ranks(metric).tolist())]
    return Table(
        f"sets_{metric}_{cell.stem}",
        f"{METRICS[metric]} of every set, {cell.name}",
        ("Set", *cell.labels),
        tuple(rows),
        digits=3,
        best="max",
        footer=2,
        footer_best=("max", "min"),
    )


def every_score(cells):
    """Return every score there is, one row a set, noise and model: for a file, not for a page."""
    rows = []
    for cell in cells:
        for i, name in enumerate(cell.datasets):
            for j, model in enumerate(cell.models):
                scores = [float(cell.values[metric][i, j]) for metric in METRICS]
                rows.append((name, cell.kind, cell.level, model, cell.n_seeds[i], *scores))
    columns = ("dataset", "kind", "level", "model", "n_seeds", *METRICS)
    return Table("every_score", "Every score", columns, tuple(rows), digits=4)


def time_table(results, reference=None):
    """Return the fit times of every model beside a reference's; None without a common job."""
    seconds = results.fit_seconds()
    n_jobs = min((len(times) for times in seconds.values()), default=0)
    if not n_jobs:
        return None
    theirs = seconds.get(reference)
    rows = []
    for model, times in seconds.items():
        low, median, high = (1000 * np.quantile(times, q) for q in (0.25, 0.5, 0.75))
        ratio = None if theirs is None else float(np.median(times) / np.median(theirs))
        rows.append((results.labels[model], median, low, high, ratio))
    ratio = f"Median / {results.labels.get(reference, 'reference')}'s"
    return ModelTable(
        "fit_time",
        "CPU milliseconds of one fit",
        ("Model", "Median", "Lower quartile", "Upper quartile", ratio),
        tuple(rows),
        caption=f"One thread each; over the {n_jobs:,} jobs that every model has finished.",
        digits=(0, 1, 1, 1, 2),
        column_best=(None, "min", None, None, None),
    )


def significance_table(cells, own, label):
    """Return Friedman's test, Nemenyi's critical difference and whom one model differs from."""
    rows = []
    for cell in cells:
        if not cell.testable:
            continue
        for metric, name in METRICS.items():
            test = friedman(cell.values[metric], decimals=DECIMALS)
            pairs = cell.nemenyi(metric)
            sizes = (test.n_datasets, test.n_models)
            statistics = (test.chi2_ties, test.f_ties, test.f_ties_p, pairs.critical_difference)
            rows.append((cell.name, name, *sizes, *statistics, *_differs_from(cell, pairs, own)))
    columns = ("Noise", "Metric", "Sets", "Models", "χ²", "F", "p of F", "Critical difference")
    columns += (f"{label} better than", f"{label} worse than")
    return Table(
        "tests",
        "Friedman and Nemenyi tests",
        columns,
        tuple(rows),
        caption="Friedman's statistics are corrected for ties, F is Iman and Davenport's; the last "
        "columns name the models whose average rank differs by the critical difference or more, "
        "at 5 %.",
        digits=(0, 0, 0, 0, 1, 1, ".1e", 2, 0, 0),
    )


def _differs_from(cell, pairs, own):
    """Return the models that one is significantly better and worse than, as text."""
    if own not in cell.models:
        return None, None
    return [
        "; ".join(cell.labels[place] for place in places) or "none"
        for places in pairs.differing(cell.models.index(own))
    ]


def against_table(cell, metric, own):
    """Return one model against each other: wins, mean difference, Wilcoxon's test by Holm."""
    values, place = cell.values[metric], cell.models.index(own)
    counts = win_tie_loss(values, DECIMALS)[place]
    p_values = wilcoxon_p_values(values, place)
    rows = [
        (
            other,
            "-".join(map(str, counts[j])),
            float((values[:, place] - values[:, j]).mean()),
            float(p_values[j]),
            float(adjusted),
        )
        for j, (other, adjusted) in enumerate(zip(cell.labels, holm(p_values), strict=True))
        if j != place
    ]
    return Table(
        f"against_{metric}_{cell.stem}",
        f"{cell.labels[place]} against each other model: {METRICS[metric]}, {cell.name}",
        ("Against", "Wins-ties-losses", "Mean difference", "Wilcoxon p", "p by Holm"),
        tuple(rows),
        caption=f"Over {counted(len(cell.datasets), 'set')}; Holm's method corrects for "
        f"{counted(len(rows), 'comparison')}.",
        digits=(0, 0, 3, ".2g", ".2g"),
    )


def win_tie_loss_table(cell, metric):
    """Return on how many sets the row's model wins, ties and loses against the column's."""
    counts = win_tie_loss(cell.values[metric], DECIMALS)
    rows = [
        (label, *("" if i == j else "-".join(map(str, counts[i, j])) for j in range(len(counts))))
        for i, label in enumerate(cell.labels)
    ]
    return Table(
        f"wins_{metric}_{cell.stem}",
        f"Wins-ties-losses of the row against the column: {METRICS[metric]}, {cell.name}",
        ("Model", *cell.labels),
        tuple(rows),
        caption=f"Over {counted(len(cell.datasets), 'set')}.",
    )
