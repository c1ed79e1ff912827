"""The tables of the label-noise study, from arrays of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell.comparison.peers import OURS
from robell.comparison.score_tables import ModelTable, of_group, stem_of
from robell.comparison.scores import DECIMALS, METRICS, noise_name
from robell.report.tables import MINUS, Table
from robell.studies.label_noise.models import EVERY_MODEL

OUR_LABEL = EVERY_MODEL[OURS].label
FAR_BELOW = 0.05


@dataclass(frozen=True)
class Margin:
    """Our model beside the best of some peers, by one metric under one noise; place 1 is first."""

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
    error: float  # standard error over tables of the difference to that peer; NaN of one table
    n_below: int  # tables on which ours is more than .05 below that peer

    @property
    def difference(self):
        """Our mean less the best peer's."""
        return self.mean - self.peer_mean

    @property
    def verdict(self):
        """Return "level" where the difference is within one standard error, else which side."""
        if not abs(self.difference) > self.error:
            return "level"
        return "ahead" if self.difference > 0 else "behind"

    def __str__(self):
        sign = MINUS if self.difference < 0 else "+"
        error = "" if np.isnan(self.error) else f" ± {self.error:.3f}"
        return f"{sign}{abs(self.difference):.3f}{error} ({EVERY_MODEL[self.peer].short})"


def margins(cells, among=None):
    """Compare our model with the best peer in every metric of the cells that have both.

    ``among`` says of a model whether it is one of the peers to compare with; by default all are.
    """
    found = []
    for cell in cells:
        peers = [
            place
            for place, model in enumerate(cell.models)
            if model != OURS and (among is None or among(model))
        ]
        if OURS in cell.models and peers:
            found += [_margin(cell, metric, peers) for metric in METRICS]
    return found


def _margin(cell, metric, peers):
    own = cell.models.index(OURS)
    means, ranks, values = cell.means(metric), cell.ranks(metric), cell.values[metric]
    best = max(peers, key=lambda place: means[place])
    gap = values[:, own] - values[:, best]
    error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
    return Margin(
        cell.kind,
        cell.level,
        metric,
        float(means[own]),
        float(ranks[own]),
        _place(-means, own, peers),
        _place(ranks, own, peers),
        cell.models[best],
        float(means[best]),
        float(ranks[peers].min()),
        len(cell.datasets),
        float(error),
        int((gap < -FAR_BELOW).sum()),
    )


def _place(values, own, peers):
    values = np.round(values, DECIMALS)
    return 1 + int((values[peers] < values[own]).sum())


def margin_tables(found, group="", peers="the best peer"):
    """Return two tables, noises by metrics: our mean less the best peer's, and our places."""
    columns = ("Noise", "Sets", *METRICS.values())
    differences = Table(
        stem_of(group, "margins"),
        f"{OUR_LABEL} less {peers}{of_group(group)}",
        columns,
        _wide(found, str),
        caption="Difference of means ± its standard error over tables (which peer); each cell has "
        "its own best peer. Within one standard error the two are level.",
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
            EVERY_MODEL[margin.peer].label,
            margin.peer_mean,
            margin.difference,
            margin.error,
            margin.verdict,
            f"{margin.n_below} of {margin.n_datasets}",
            margin.place,
            margin.rank,
            margin.best_peer_rank,
            margin.rank_place,
        )
        for margin in found
    ]
    columns = ("Noise", "Metric", "Ours", "Best peer", "Its mean", "Difference", "Standard error")
    columns += ("Verdict", "Tables .05 below", "Place")
    columns += ("Our rank", "Best peer's rank", "Place by rank")
    digits = (0, 0, 3, 0, 3, 3, 3, 0, 0, 0, 2, 2, 0)
    title = f"{OUR_LABEL} beside the best peer{of_group(group)}"
    return Table(stem_of(group, "margins_in_full"), title, columns, tuple(rows), digits=digits)


# -- probabilities -------------------------------------------------------------------------

PROBABILITY_SCORES = {
    "calibration_error": "Expected calibration error",
    "log_loss": "Log loss",
    "brier": "Brier score",
}


def probability_table(results, score, group=""):
    """Return a score of probabilities of every model, noises in columns; None without any."""
    found = results.probabilities(score)
    if not found:
        return None
    models = list(dict.fromkeys(model for here, _ in found.values() for model in here))
    rows = []
    for model in [m for m in EVERY_MODEL if m in models]:
        means = [
            float(values.mean(axis=0)[here.index(model)]) if model in here else None
            for here, values in found.values()
        ]
        rows.append((EVERY_MODEL[model].label, *means))
    sizes = sorted({len(values) for _, values in found.values()})
    n_tables = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f"{sizes[0]}"
    return ModelTable(
        stem_of(group, score),
        f"{PROBABILITY_SCORES[score]}{of_group(group)}",
        ("Model", *(noise_name(*place) for place in found)),
        tuple(rows),
        caption=f"Means over {n_tables} tables; smaller is better. Models without probabilities "
        "are left out.",
        digits=(0, *[3] * len(found)),
        column_best=(None, *["min"] * len(found)),
    )
