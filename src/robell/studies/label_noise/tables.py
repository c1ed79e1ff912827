"""The tables of the robustness study, from arrays of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell.report.tables import Table, is_missing
from robell.studies.engine.statistics import friedman, nemenyi
from robell.studies.label_noise.plan import MODELS, OURS, TIME_REFERENCE
from robell.studies.label_noise.results import DECIMALS, METRICS, SHORT_METRICS, noise_name

ALPHA = 0.05


@dataclass(frozen=True)
class ModelTable(Table):
    """A table whose rows are models: the best of every column is set bold.

    Parameters
    ----------
    column_best : tuple of {None, "max", "min"}, default=()
        For each column, whether its largest or its smallest value is the best.

    Examples
    --------
    >>> from robell.studies.label_noise.tables import ModelTable
    >>> rows = (("a", 0.91, 1.5), ("b", 0.87, 1.5))
    >>> best = (None, "max", "min")
    >>> table = ModelTable("t", "T", ("Model", "F1", "Rank"), rows, column_best=best)
    >>> sorted(table.best_cells())
    [(0, 1), (0, 2), (1, 2)]
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
    """Our model beside the best of its peers, by one metric under one noise.

    Attributes
    ----------
    kind, level, metric : str, int, str
    mean, rank : float
        Ours.
    place, rank_place : int
        By the mean and by the average rank; 1 is the best.
    peer : str
        The peer of the highest mean.
    peer_mean, best_peer_rank : float
        The highest mean and the best average rank of a peer.
    n_datasets : int
    """

    kind: str
    level: int
    metric: str
    mean: float
    rank: float
    place: int
    rank_place: int
    peer: str
    peer_mean: float
    best_peer_rank: float
    n_datasets: int

    @property
    def difference(self):
        """Return our mean less the best peer's."""
        return self.mean - self.peer_mean


def margins(cells):
    """Hold our model against the best peer, in every cell and metric.

    Parameters
    ----------
    cells : iterable of NoiseCell
        Those without our model, or without another, are passed over.

    Returns
    -------
    margins : list of Margin
        In the order of cells and metrics.

    Examples
    --------
    >>> from robell.studies.label_noise.tables import margins
    >>> margins([])
    []
    """
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


def cell_table(cell, group=""):
    """Return mean and average rank of every model in every metric under one noise.

    Parameters
    ----------
    cell : NoiseCell
        The scores.
    group : str, default=""
        Which sets they are of, where it is not all.

    Returns
    -------
    table : ModelTable
        One row a model.
    """
    names = SHORT_METRICS.values()
    means = np.column_stack([cell.means(metric) for metric in METRICS])
    ranks = np.column_stack([cell.ranks(metric) for metric in METRICS])
    rows = [
        (MODELS[model], *means[place].tolist(), *ranks[place].tolist())
        for place, model in enumerate(cell.models)
    ]
    n = len(METRICS)
    low, high = min(cell.n_seeds), max(cell.n_seeds)
    splits = f"{low} to {high} splits" if low < high else counted(low, "split")
    return ModelTable(
        f"{group + '_' if group else ''}{cell.stem}",
        f"{_title(cell)}{', ' + group + ' sets' if group else ''}: means and average ranks",
        ("Model", *names, *(f"{name} rank" for name in names)),
        tuple(rows),
        caption=f"Over {counted(len(cell.datasets), 'set')}, {splits} of each; 1 is the best rank.",
        digits=(0, *[3] * n, *[2] * n),
        column_best=(None, *["max"] * n, *["min"] * n),
    )


def counted(number, thing):
    """Return a number and what it counts, in the plural where it is one.

    Parameters
    ----------
    number : int
        How many.
    thing : str
        In the singular.

    Returns
    -------
    text : str
        For a sentence.

    Examples
    --------
    >>> from robell.studies.label_noise.tables import counted
    >>> counted(1, "split"), counted(3, "split")
    ('1 split', '3 splits')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def _title(cell):
    return cell.name[0].upper() + cell.name[1:]


def margin_table(found, group=""):
    """Return our mean less the best peer's: noises in rows, metrics in columns.

    Parameters
    ----------
    found : list of Margin
        As of :func:`margins`.
    group : str, default=""
        Which sets they are of, where it is not all.

    Returns
    -------
    table : Table
        Positive where our model has the best mean.
    """
    return Table(
        f"{group + '_' if group else ''}margins",
        f"{MODELS[OURS]} less the best peer{_on(group)}",
        ("Noise", "Sets", *METRICS.values()),
        _wide(found, lambda margin: margin.difference),
        caption="Difference of means; the best peer may be another one in every cell.",
        digits=3,
    )


def place_table(found, group=""):
    """Return our place by mean and by average rank: noises in rows, metrics in columns.

    Parameters
    ----------
    found : list of Margin
        As of :func:`margins`.
    group : str, default=""
        Which sets they are of, where it is not all.

    Returns
    -------
    table : Table
        Cells such as "1 / 2": first by mean, second by average rank.
    """
    return Table(
        f"{group + '_' if group else ''}places",
        f"Place of {MODELS[OURS]} by mean / by average rank{_on(group)}",
        ("Noise", "Sets", *METRICS.values()),
        _wide(found, lambda margin: f"{margin.place} / {margin.rank_place}"),
    )


def _on(group):
    return f", {group} sets" if group else ""


def _wide(found, show):
    rows = {}
    for margin in found:
        noise = (noise_name(margin.kind, margin.level), margin.n_datasets)
        rows.setdefault(noise, {})[margin.metric] = show(margin)
    return tuple((*noise, *(row[metric] for metric in METRICS)) for noise, row in rows.items())


def margin_details(found, group=""):
    """Return everything about our model beside the best peer, one row a noise and metric.

    Parameters
    ----------
    found : list of Margin
        As of :func:`margins`.
    group : str, default=""
        Which sets they are of, where it is not all.

    Returns
    -------
    table : Table
        For looking things up.
    """
    rows = [
        (
            noise_name(margin.kind, margin.level),
            METRICS[margin.metric],
            margin.mean,
            MODELS[margin.peer],
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
    title = f"{MODELS[OURS]} beside the best peer{_on(group)}"
    name = f"{group + '_' if group else ''}margins_in_full"
    return Table(name, title, columns, tuple(rows), digits=digits)


def is_testable(cell):
    """Say whether a cell has three models on two sets, which the tests need.

    Parameters
    ----------
    cell : NoiseCell
        The scores.

    Returns
    -------
    testable : bool
        True where it has.
    """
    return len(cell.models) >= 3 and len(cell.datasets) >= 2


def significance_table(cells):
    """Return Friedman's test, Nemenyi's critical difference and whom our model differs from.

    Parameters
    ----------
    cells : iterable of NoiseCell
        Those too small for the tests are passed over.

    Returns
    -------
    table : Table
        One row a noise and metric.
    """
    rows = []
    for cell in cells:
        if not is_testable(cell):
            continue
        for metric, name in METRICS.items():
            test = friedman(cell.values[metric], ALPHA, DECIMALS)
            pairs = nemenyi(cell.values[metric], ALPHA, DECIMALS)
            better, worse = _differs_from(cell, pairs)
            rows.append(
                (
                    cell.name,
                    name,
                    test.n_datasets,
                    test.n_models,
                    test.chi2_ties,
                    test.f_ties,
                    test.f_ties_p,
                    pairs.critical_difference,
                    better,
                    worse,
                )
            )
    columns = ("Noise", "Metric", "Sets", "Models", "χ²", "F", "p of F", "Critical difference")
    columns += (f"{MODELS[OURS]} better than", f"{MODELS[OURS]} worse than")
    return Table(
        "tests",
        "Friedman and Nemenyi tests",
        columns,
        tuple(rows),
        caption="Friedman's statistics are corrected for ties, F is Iman and Davenport's; the last "
        "columns name the models whose average rank is a critical difference away, at 5 %.",
        digits=(0, 0, 0, 0, 1, 1, ".1e", 2, 0, 0),
    )


def _differs_from(cell, pairs):
    """Return the models that ours is significantly better and worse than, as text."""
    if OURS not in cell.models:
        return None, None
    gap = pairs.average_ranks - pairs.average_ranks[cell.models.index(OURS)]
    better = [MODELS[m] for m, g in zip(cell.models, gap, strict=True) if _beyond(g, pairs)]
    worse = [MODELS[m] for m, g in zip(cell.models, gap, strict=True) if _beyond(-g, pairs)]
    return "; ".join(better) or "none", "; ".join(worse) or "none"


def _beyond(gap, pairs):
    return gap >= pairs.critical_difference


def time_table(results):
    """Return the fit times of every model, and how they compare with LightGBM's.

    Parameters
    ----------
    results : NoiseResults
        The records.

    Returns
    -------
    table : ModelTable or None
        None where no job has been finished by all models.
    """
    seconds = results.fit_seconds()
    n_jobs = min((len(times) for times in seconds.values()), default=0)
    if not n_jobs:
        return None
    reference = seconds.get(TIME_REFERENCE)
    rows = []
    for model, times in seconds.items():
        low, median, high = (1000 * np.quantile(times, q) for q in (0.25, 0.5, 0.75))
        ratio = None if reference is None else float(np.median(times) / np.median(reference))
        rows.append((MODELS[model], median, low, high, ratio))
    columns = ("Model", "Median", "Lower quartile", "Upper quartile", "Median / LightGBM's")
    return ModelTable(
        "fit_time",
        "CPU milliseconds of one fit",
        columns,
        tuple(rows),
        caption=f"One thread each; over the {n_jobs:,} jobs that every model has finished.",
        digits=(0, 1, 1, 1, 2),
        column_best=(None, "min", None, None, None),
    )


def suspects_table(results):
    """Return how well wrong labels were found by models that judge labels.

    Parameters
    ----------
    results : NoiseResults
        The records.

    Returns
    -------
    table : Table or None
        None where no such model has met a wrong label.
    """
    found = results.suspects()
    rows = [
        (MODELS[model], noise_name(kind, level), *found[model, kind, level])
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
        caption="Training rows ranked by one less the quality of their label; the share of wrong "
        "labels is what chance would reach.",
        digits=(0, 0, 3, 3, 0),
    )


def dataset_table(cell, metric):
    """Return one metric of every set and model under one noise.

    Parameters
    ----------
    cell : NoiseCell
        The scores.
    metric : str
        Which of ``METRICS``.

    Returns
    -------
    table : Table
        Sets in rows, models in columns, means and ranks below.
    """
    values = cell.values[metric]
    rows = [(name, *row.tolist()) for name, row in zip(cell.datasets, values, strict=True)]
    rows += [("Mean", *cell.means(metric).tolist()), ("Average rank", *cell.ranks(metric).tolist())]
    return Table(
        f"sets_{metric}_{cell.stem}",
        f"{METRICS[metric]} of every set, {cell.name}",
        ("Set", *(MODELS[model] for model in cell.models)),
        tuple(rows),
        digits=3,
        best="max",
        footer=2,
        footer_best=("max", "min"),
    )


def every_score(cells):
    """Return every score there is, one row a set, noise and model.

    Parameters
    ----------
    cells : iterable of NoiseCell
        The scores.

    Returns
    -------
    table : Table
        For a file; too long for a page.
    """
    rows = []
    for cell in cells:
        for i, name in enumerate(cell.datasets):
            for j, model in enumerate(cell.models):
                scores = [float(cell.values[metric][i, j]) for metric in METRICS]
                rows.append((name, cell.kind, cell.level, model, cell.n_seeds[i], *scores))
    columns = ("dataset", "kind", "level", "model", "n_seeds", *METRICS)
    return Table("every_score", "Every score", columns, tuple(rows), digits=4)
