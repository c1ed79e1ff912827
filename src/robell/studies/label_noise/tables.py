"""The tables of the label-noise study, from arrays of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell.report.tables import Table, is_missing
from robell.report.text import counted
from robell.studies.engine.statistics import friedman
from robell.studies.label_noise.models import MODELS, OURS, TIME_REFERENCE
from robell.studies.label_noise.results import DECIMALS, METRICS, SHORT_METRICS, noise_name

OUR_LABEL = MODELS[OURS].label


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


@dataclass(frozen=True)
class Margin:
    """Our model beside the best of its peers, by one metric under one noise; place 1 is first."""

    kind: str
    level: int
    metric: str
    mean: float
    rank: float
    place: int  # by the mean
    rank_place: int  # by the average rank
    peer: str  # of the highest mean
    peer_mean: float
    best_peer_rank: float
    n_datasets: int

    @property
    def difference(self):
        """Our mean less the best peer's."""
        return self.mean - self.peer_mean


def margins(cells):
    """Compare our model with the best peer in every metric of the cells that have both."""
    found = []
    for cell in cells:
        if OURS not in cell.models or len(cell.models) < 2:
            continue
        own = cell.models.index(OURS)
        peers = [place for place in range(len(cell.models)) if place != own]
        for metric in METRICS:
            means, ranks = cell.means(metric), cell.ranks(metric)
            best = max(peers, key=lambda place: means[place])
            found.append(
                Margin(
                    cell.kind,
                    cell.level,
                    metric,
                    float(means[own]),
                    float(ranks[own]),
                    _place(-means, own),
                    _place(ranks, own),
                    cell.models[best],
                    float(means[best]),
                    float(ranks[peers].min()),
                    len(cell.datasets),
                )
            )
    return found


def _place(values, own):
    values = np.round(values, DECIMALS)
    return 1 + int((values < values[own]).sum())


# A group names some of the sets ("fresh"); tables of all sets have none.


def _stem(group, name):
    return f"{group}_{name}" if group else name


def _on(group):
    return f", {group} sets" if group else ""


def cell_table(cell, group=""):
    """Return mean and average rank of every model in every metric under one noise."""
    names = SHORT_METRICS.values()
    means = np.column_stack([cell.means(metric) for metric in METRICS])
    ranks = np.column_stack([cell.ranks(metric) for metric in METRICS])
    rows = [
        (MODELS[model].label, *means[place].tolist(), *ranks[place].tolist())
        for place, model in enumerate(cell.models)
    ]
    n = len(METRICS)
    low, high = min(cell.n_seeds), max(cell.n_seeds)
    splits = f"{low} to {high} splits" if low < high else counted(low, "split")
    return ModelTable(
        _stem(group, cell.stem),
        f"{cell.name[0].upper()}{cell.name[1:]}{_on(group)}: means and average ranks",
        ("Model", *names, *(f"{name} rank" for name in names)),
        tuple(rows),
        caption=f"Over {counted(len(cell.datasets), 'set')}, {splits} of each; 1 is the best rank.",
        digits=(0, *[3] * n, *[2] * n),
        column_best=(None, *["max"] * n, *["min"] * n),
    )


def margin_tables(found, group=""):
    """Return two tables, noises by metrics: our mean less the best peer's, and our places."""
    columns = ("Noise", "Sets", *METRICS.values())
    differences = Table(
        _stem(group, "margins"),
        f"{OUR_LABEL} less the best peer{_on(group)}",
        columns,
        _wide(found, lambda margin: margin.difference),
        caption="Difference of means; each cell has its own best peer.",
        digits=3,
    )
    places = Table(
        _stem(group, "places"),
        f"Place of {OUR_LABEL} by mean / by average rank{_on(group)}",
        columns,
        _wide(found, lambda margin: f"{margin.place} / {margin.rank_place}"),
    )
    return differences, places


def _wide(found, show):
    rows = {}
    for margin in found:
        noise = (noise_name(margin.kind, margin.level), margin.n_datasets)
        rows.setdefault(noise, {})[margin.metric] = show(margin)
    return tuple((*noise, *(row[metric] for metric in METRICS)) for noise, row in rows.items())


def margin_details(found, group=""):
    """Return everything about our model beside the best peer, one row a noise and metric."""
    rows = [
        (
            noise_name(margin.kind, margin.level),
            METRICS[margin.metric],
            margin.mean,
            MODELS[margin.peer].label,
            margin.peer_mean,
            margin.difference,
            margin.place,
            margin.rank,
            margin.best_peer_rank,
            margin.rank_place,
        )
        for margin in found
    ]
    columns = ("Noise", "Metric", "Ours", "Best peer", "Its mean", "Difference", "Place")
    columns += ("Our rank", "Best peer's rank", "Place by rank")
    digits = (0, 0, 3, 0, 3, 3, 0, 2, 2, 0)
    title = f"{OUR_LABEL} beside the best peer{_on(group)}"
    return Table(_stem(group, "margins_in_full"), title, columns, tuple(rows), digits=digits)


def significance_table(cells):
    """Return Friedman's test, Nemenyi's critical difference and whom our model differs from."""
    rows = []
    for cell in cells:
        if not cell.testable:
            continue
        for metric, name in METRICS.items():
            test = friedman(cell.values[metric], decimals=DECIMALS)
            pairs = cell.nemenyi(metric)
            sizes = (test.n_datasets, test.n_models)
            statistics = (test.chi2_ties, test.f_ties, test.f_ties_p, pairs.critical_difference)
            rows.append((cell.name, name, *sizes, *statistics, *_differs_from(cell, pairs)))
    columns = ("Noise", "Metric", "Sets", "Models", "χ²", "F", "p of F", "Critical difference")
    columns += (f"{OUR_LABEL} better than", f"{OUR_LABEL} worse than")
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


def _differs_from(cell, pairs):
    """Return the models that ours is significantly better and worse than, as text."""
    if OURS not in cell.models:
        return None, None
    return [
        "; ".join(MODELS[cell.models[place]].label for place in places) or "none"
        for places in pairs.differing(cell.models.index(OURS))
    ]


def time_table(results):
    """Return the fit times of every model beside LightGBM's; None without a common job."""
    seconds = results.fit_seconds()
    n_jobs = min((len(times) for times in seconds.values()), default=0)
    if not n_jobs:
        return None
    reference = seconds.get(TIME_REFERENCE)
    rows = []
    for model, times in seconds.items():
        low, median, high = (1000 * np.quantile(times, q) for q in (0.25, 0.5, 0.75))
        ratio = None if reference is None else float(np.median(times) / np.median(reference))
        rows.append((MODELS[model].label, median, low, high, ratio))
    return ModelTable(
        "fit_time",
        "CPU milliseconds of one fit",
        ("Model", "Median", "Lower quartile", "Upper quartile", "Median / LightGBM's"),
        tuple(rows),
        caption=f"One thread each; over the {n_jobs:,} jobs that every model has finished.",
        digits=(0, 1, 1, 1, 2),
        column_best=(None, "min", None, None, None),
    )


def suspects_table(results):
    """Return how well models that judge labels found the wrong ones; None where none did."""
    found = results.suspects()
    rows = [
        (MODELS[model].label, noise_name(kind, level), *found[model, kind, level])
        for model in results.models
        for kind, level in results.cells
        if (model, kind, level) in found
    ]
    if not rows:
        return None
    return Table(
        "suspects",
        "Wrong labels found",
        ("Model", "Noise", "Mean average precision", "Share of wrong labels", "Jobs"),
        tuple(rows),
        caption="The training rows are ranked by the quality of their labels, the worst first. "
        "A random order would reach the share of wrong labels.",
        digits=(0, 0, 3, 3, 0),
    )


def dataset_table(cell, metric):
    """Return one metric under one noise: sets in rows, models in columns, means and ranks below."""
    values = cell.values[metric]
    rows = [(name, *row.tolist()) for name, row in zip(cell.datasets, values, strict=True)]
    rows += [("Mean", *cell.means(metric).tolist()), ("Average rank", *cell.ranks(metric).tolist())]
    return Table(
        f"sets_{metric}_{cell.stem}",
        f"{METRICS[metric]} of every set, {cell.name}",
        ("Set", *(MODELS[model].label for model in cell.models)),
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
