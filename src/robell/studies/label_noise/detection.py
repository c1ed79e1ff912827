"""How well wrong labels are found: our model beside peers that look for nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell.comparison.peers import OURS
from robell.comparison.score_tables import ModelTable
from robell.comparison.scores import noise_name
from robell.report.tables import MINUS, Table
from robell.studies.label_noise.models import EVERY_MODEL
from robell.studies.label_noise.results import has_several

SCORE_LABELS = {
    "self_confidence": "self-confidence",
    "normalized_margin": "normalised margin",
    "confidence_weighted_entropy": "weighted entropy",
}
CLEANLAB = "cleanlab"


@dataclass(frozen=True)
class Detection:
    """One noise: average precision and missed share, tables by judges, means over splits."""

    kind: str
    level: int
    judges: tuple  # (model, score); score is "" for our model and for those with one score
    precision: np.ndarray
    missed: np.ndarray
    share: float  # of wrong labels: what a random order reaches

    @property
    def name(self):
        """The noise in words."""
        return noise_name(self.kind, self.level)

    def against_cleanlab(self):
        """Return (difference to the best cleanlab variant, standard error, which); None without."""
        theirs = [j for j, (model, _) in enumerate(self.judges) if model.startswith(CLEANLAB)]
        if (OURS, "") not in self.judges or not theirs:
            return None
        best = max(theirs, key=lambda j: self.precision[:, j].mean())
        gap = self.precision[:, self.judges.index((OURS, ""))] - self.precision[:, best]
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
        return float(gap.mean()), float(error), judge_label(self.judges[best])


def judge_label(judge):
    """Return a judge as readers see it."""
    model, score = judge
    label = EVERY_MODEL[model].label
    return f"{label}, {SCORE_LABELS[score]}" if score in SCORE_LABELS else label


def detections(results):
    """Return a Detection of every noise, over the tables and splits that all judges have."""
    found = {}
    for record in [*results.done, *results.detections]:
        job, outcome = record["job"], record.get("outcome", {})
        if has_several(record):
            continue
        place = (job["kind"], job["level"])
        row = found.setdefault(place, {}).setdefault((job["dataset"], job["seed"]), {})
        for score, values in _judgements(outcome).items():
            row[job["model"], score] = (values["average_precision"], values["missed"])
            row["share"] = outcome["n_flipped"] / outcome["n_train"]
    answer = []
    for place in sorted(found, key=lambda p: [*results.cells, p].index(p)):
        rows = {where: row for where, row in found[place].items() if row}
        if rows:
            answer.append(_detection(place, rows))
    return answer


def _judgements(outcome):
    """Return what a record says about labels, by the name of the score; nothing without flips."""
    judged = outcome.get("detection") or {}
    if "suspects" in outcome:
        judged = {"": outcome["suspects"]}
    judged = {"" if score == "area_under_margin" else score: v for score, v in judged.items()}
    return {score: v for score, v in judged.items() if v.get("average_precision") is not None}


def _detection(place, rows):
    order = list(EVERY_MODEL)
    judges = sorted(
        {judge for row in rows.values() for judge in row if judge != "share"},
        key=lambda judge: (order.index(judge[0]), judge[1]),
    )
    by_table = {}
    for (dataset, _), row in rows.items():
        if len(row) == len(judges) + 1:
            by_table.setdefault(dataset, []).append([row[judge] for judge in judges])
    means = [np.mean(by_table[name], axis=0) for name in sorted(by_table)]
    means = np.array(means).reshape(len(by_table), len(judges), 2)
    share = float(np.mean([row["share"] for row in rows.values()]))
    return Detection(*place, tuple(judges), means[:, :, 0], means[:, :, 1], share)


def detection_tables(found):
    """Return average precision and missed share of every judge, and our lead, by noise."""
    found = [one for one in found if len(one.precision)]
    # Where peers have judged, only those noises in which they have.
    found = [one for one in found if len(one.judges) > 1] or found
    if not found:
        return []
    tables = [
        _judge_table(
            found,
            [one.precision for one in found],
            [one.share for one in found],
            "max",
            "found_precision",
            "Wrong labels found: average precision",
        ),
        _judge_table(
            found,
            [one.missed for one in found],
            [1 - one.share for one in found],
            "min",
            "found_missed",
            "Wrong labels missed when as many rows are looked at as are wrong",
        ),
    ]
    leads = _lead_table(found)
    return [*tables, leads] if leads.rows else tables


def _judge_table(found, measured, chance, best, name, title):
    """Return a table of one measure: judges in rows, noises in columns, chance in the last row."""
    judges = list(dict.fromkeys(judge for one in found for judge in one.judges))
    rows = [
        (
            judge_label(judge),
            *(_mean_of(judge, one, values) for one, values in zip(found, measured, strict=True)),
        )
        for judge in judges
    ]
    sizes = sorted({len(one.precision) for one in found})
    return ModelTable(
        name,
        title,
        ("Judge", *(one.name for one in found)),
        (*rows, ("(a random order)", *chance)),
        caption=f"Over {' to '.join(map(str, sizes))} tables of two classes; the training rows "
        "are ranked by the quality of their labels, the worst first.",
        digits=(0, *[3] * len(found)),
        column_best=(None, *[best] * len(found)),
    )


def _mean_of(judge, one, values):
    """Return a judge's mean over the tables of one noise; None where it has not judged."""
    if judge not in one.judges:
        return None
    return float(values[:, one.judges.index(judge)].mean())


def _lead_table(found):
    """Return our average precision less that of the best cleanlab variant, noises in rows."""
    rows = []
    for one in found:
        if lead := one.against_cleanlab():
            gap, error, which = lead
            spread = "" if np.isnan(error) else f" ± {error:.3f}"
            rows.append((one.name, f"{MINUS if gap < 0 else '+'}{abs(gap):.3f}{spread}", which))
    title = f"{EVERY_MODEL[OURS].label} less the best cleanlab variant: average precision"
    return Table("found_leads", title, ("Noise", "Difference", "Which"), tuple(rows))
