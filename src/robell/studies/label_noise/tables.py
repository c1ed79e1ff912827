"""The tables of the label-noise study, from arrays of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell.report.tables import Table
from robell.studies.engine.score_tables import of_group, stem_of
from robell.studies.engine.scores import DECIMALS, METRICS, noise_name
from robell.studies.label_noise.models import MODELS, OURS

OUR_LABEL = MODELS[OURS].label


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


def margin_tables(found, group=""):
    """Return two tables, noises by metrics: our mean less the best peer's, and our places."""
    columns = ("Noise", "Sets", *METRICS.values())
    differences = Table(
        stem_of(group, "margins"),
        f"{OUR_LABEL} less the best peer{of_group(group)}",
        columns,
        _wide(found, lambda margin: margin.difference),
        caption="Difference of means; each cell has its own best peer.",
        digits=3,
    )
    places = Table(
        stem_of(group, "places"),
        f"Place of {OUR_LABEL} by mean / by average rank{of_group(group)}",
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
    title = f"{OUR_LABEL} beside the best peer{of_group(group)}"
    return Table(stem_of(group, "margins_in_full"), title, columns, tuple(rows), digits=digits)


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
