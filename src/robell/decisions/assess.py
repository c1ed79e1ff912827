"""What a fitted model is worth, measured on held-out rows: everything that the report shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell._core.labels.cuts import counts_at_cuts, operating_points
from robell._core.labels.link import posterior
from robell.decisions.heldout import calibrate, cross_calibrated
from robell.decisions.measures import (
    Measured,
    average_precision,
    calibration_bins,
    calibration_error,
    counts_of,
    cross_flagged,
    measured,
    resamples,
    roc_area,
    separations,
)
from robell.decisions.reasons import importances
from robell.models._thresholds import Rule

CURVE = 200  # points of a curve that are kept
OFTEN = 3.0  # times as many predicted as labelled, from which on it is said


@dataclass(frozen=True)
class ClassScore:
    """How one class is told from the others: rows, area under the ROC curve, precision, recall."""

    name: str
    rows: int
    separation: float
    precision: float
    recall: float


@dataclass(frozen=True)
class Importance:
    """By how much the score falls where the values of a column are shuffled."""

    name: str
    drop: float
    deviation: float


@dataclass(frozen=True)
class Decision:
    """What the threshold means, of two classes: shares of all rows, precision and recall.

    Measured with thresholds chosen without the rows they are applied to. `probable` holds precision
    and recall with each row counted by the probability that it is positive, given its columns and
    its label. `points` are recall, precision and false alarms over all thresholds; `point` those
    at the chosen one.
    """

    positive: str
    rule: Rule
    threshold: float
    flagged: Measured
    found: Measured
    share: float
    precision: Measured
    recall: Measured
    probable: tuple[float, float]
    average_precision: Measured
    roc_area: Measured
    points: tuple[tuple[float, float, float], ...]
    point: tuple[float, float, float]
    bins: tuple[tuple[float, float, int], ...]
    calibration_error: float


@dataclass(frozen=True)
class Assessment:
    """What is known about a model from rows that it has not seen."""

    n_held_out: int
    n_folds: int
    accuracy: Measured
    balanced_accuracy: Measured
    scores: tuple[ClassScore, ...]
    confusion: tuple[tuple[int, ...], ...]
    decision: Decision | None
    importance_score: float
    importances: tuple[Importance, ...]


def calibration_of(held, noise):
    """Return slope and offsets for the scores of the final model, by all held-out rows."""
    slope, offsets = calibrate(held.scores, held.codes, noise)
    return slope / held.spread, offsets


def decide(held, names, place, rule, noise, probability_of_label, corrected, seed):
    """Return what the threshold for the class at a place means; raise where none can be had.

    ``probability_of_label`` are the probabilities of the true classes of the held-out rows, given
    their labels; they count instead of the labels where ``corrected``.
    """
    probability = cross_calibrated(held, noise if corrected else None)
    given = (held.codes == place).astype(np.float64)
    probable = probability_of_label[:, place]
    positive = probable if corrected else given
    p = probability[:, place]
    operating = operating_points(p, positive, np.ones(len(p)))
    at = rule.point(operating)
    if rule.kind == "precision" and at == 0:
        best = float(operating[1:, 3].max())
        raise ValueError(
            f"no threshold has a precision of {rule.value:g} on held-out rows; the largest is "
            f"{best:.3f}"
        )
    threshold = min(operating[at, 0], 1.0)
    chosen = cross_flagged(held, p, positive, rule, threshold)
    draws = resamples(len(p), seed)
    flagged, found, share = counts_of(chosen, positive)
    many = counts_of(chosen, positive, draws)
    precision, recall = _ratio(found, flagged), _ratio(found, share)
    other = counts_of(chosen, probable)
    bins = calibration_bins(p, positive)
    return Decision(
        positive=names[place],
        rule=rule,
        threshold=float(threshold),
        flagged=measured(flagged[0], many[0]),
        found=measured(found[0], many[1]),
        share=float(share[0]),
        precision=measured(precision[0], _ratio(many[1], many[0])),
        recall=measured(recall[0], _ratio(many[1], many[2])),
        probable=(float(_ratio(other[1], other[0])[0]), float(_ratio(other[1], other[2])[0])),
        average_precision=measured(
            average_precision(p, positive), average_precision(p, positive, draws)
        ),
        roc_area=measured(roc_area(p, positive), roc_area(p, positive, draws)),
        points=_points(p, positive),
        point=(float(recall[0]), float(precision[0]), _false_alarms(flagged, found, share)),
        bins=tuple(bins),
        calibration_error=float(calibration_error(bins)),
    )


def _ratio(a, b):
    return np.divide(a, b, out=np.zeros_like(np.asarray(a, float)), where=np.asarray(b) > 0)


def _false_alarms(flagged, found, share):
    return float((flagged[0] - found[0]) / max(1.0 - share[0], 1e-12))


def _points(p, positive):
    """Return recall, precision and false alarms along the thresholds, thinned."""
    _, flagged, found = counts_at_cuts(p, positive, np.ones(len(p)))
    total, n = found[-1], flagged[-1]
    recall, precision = found / max(total, 1e-12), _ratio(found, flagged)
    precision[0] = precision[1]
    false = (flagged - found) / max(n - total, 1e-12)
    # Most points where most changes: equally many along the recall and along the rows.
    steps = np.linspace(0, 1, CURVE // 2)
    places = np.concatenate(
        [np.searchsorted(recall, steps), np.searchsorted(flagged / n, steps), [0, len(recall) - 1]]
    )
    places = np.unique(np.minimum(places, len(recall) - 1))
    return tuple((float(recall[k]), float(precision[k]), float(false[k])) for k in places)


def assess(held, X, names, decision, place, groups, seed):
    """Return what held-out rows say about a model of any number of classes.

    ``X`` are all rows of the table; ``groups`` the places of each column among the encoded ones.
    """
    n_classes = len(names)
    probability = cross_calibrated(held)
    if decision is None:
        predicted = probability.argmax(axis=1)
    else:
        p = probability[:, place]
        predicted = np.where(p >= decision.threshold, place, 1 - place)
    confusion = np.zeros((n_classes, n_classes), int)
    np.add.at(confusion, (held.codes, predicted), 1)
    draws = resamples(len(held.codes), seed)
    right = (predicted == held.codes).astype(np.float64)
    areas = separations(probability, held.codes)
    score, drops, deviations = importances(
        held, X[held.places], held.codes, n_classes, list(groups.values()), place, seed
    )
    order = np.argsort(-drops, kind="stable")
    columns = list(groups)
    return Assessment(
        n_held_out=len(held.codes),
        n_folds=len(held.models),
        accuracy=measured(right.mean(), draws @ right / draws.sum(axis=1)),
        balanced_accuracy=_balanced(right, held.codes, draws),
        scores=tuple(_class_scores(names, confusion, areas)),
        confusion=tuple(tuple(int(n) for n in row) for row in confusion),
        decision=decision,
        importance_score=float(score),
        importances=tuple(
            Importance(columns[j], float(drops[j]), float(deviations[j])) for j in order
        ),
    )


def _balanced(right, codes, draws):
    classes = np.unique(codes)
    plain = np.mean([right[codes == k].mean() for k in classes])
    rates = [
        draws[:, codes == k] @ right[codes == k] / np.maximum(draws[:, codes == k].sum(axis=1), 1)
        for k in classes
    ]
    return measured(plain, np.mean(rates, axis=0))


def _class_scores(names, confusion, areas):
    for k, name in enumerate(names):
        n, predicted, right = confusion[k].sum(), confusion[:, k].sum(), confusion[k, k]
        precision = right / predicted if predicted else 0.0
        yield ClassScore(name, int(n), areas[k], float(precision), float(right / max(n, 1)))


def probable_labels(label_probability, noise, held, probability):
    """Return P(true class | row, label) of held-out rows; from the noise where it is not known."""
    if label_probability is not None:
        return label_probability[held.places]
    return posterior(probability, held.codes, noise)
