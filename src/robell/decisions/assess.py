"""What a model is worth: every row predicted by a model that has not seen it, and measured."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from robell._core.array import one_hot
from robell._core.labels.cuts import counts_at_cuts, operating_points
from robell._core.labels.link import fit_slope
from robell._core.labels.noise import areas
from robell._core.ridge.calibrate import fit_calibration
from robell._tools.progress import Progress
from robell.labels.unseen import fitted_to_other_folds, random_folds, stratified_sample
from robell.models._thresholds import Rule
from robell.models.noise_robust import NoSignalWarning
from robell.models.thresholded import calibrated, class_scores

MOST_ROWS = 20_000  # held out once each; of a larger table, a sample of so many
FOLDS, FOLDED_ROWS = 5, 6_000  # five folds up to so many rows, three beyond
FAR = 1e6  # less than any score: a class that a fold's training rows lack
CURVE = 200  # points of a curve that are kept
RESAMPLES = 200
COVERED = (2.5, 97.5)  # percentiles of an interval
BINS = 10
REPEATS = 3
REPEATED_ROWS = 6_000  # rows up to which columns are shuffled several times


@dataclass(frozen=True)
class Measured:
    """A value with the interval in which it would fall for 95 of 100 tables of the same kind."""

    value: float
    low: float
    high: float

    def texts(self, form: str, times: float = 1.0) -> list[str]:
        """Return the value and the ends of its interval, so many times, as text."""
        return [form.format(times * one) for one in (self.value, self.low, self.high)]


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
class Costs:
    """What 1,000 rows cost: at the chosen threshold, if every row were flagged, if none were."""

    chosen: Measured
    flag_all: float
    flag_none: float


@dataclass(frozen=True)
class Decision:
    """What the threshold means, of two classes: shares of all rows, precision and recall.

    Measured with thresholds chosen without the rows they are applied to. `probable` are precision
    and recall with each row counted by its probability of being positive, given columns and label.
    `points` are recall, precision and false alarms over all thresholds; `point` at the chosen one.
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
    costs: Costs | None = None


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


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of rows by models that have not seen them.

    `places` are the rows' places in the table, `codes` their labels; `scores`, one a class, are
    divided by `spread`; a model took `seconds`.
    """

    places: np.ndarray
    codes: np.ndarray
    folds: np.ndarray
    scores: np.ndarray
    spread: float
    models: tuple[Any, ...]
    seconds: float


def hold_out(model, X, codes, n_classes, random_state):
    """Hide each row once, with its copies, and score it by a model fitted to the others."""
    rng = np.random.default_rng(random_state)
    places = stratified_sample(codes, MOST_ROWS, rng)
    X, codes = X[places], codes[places]
    n_folds = FOLDS if len(codes) <= FOLDED_ROWS else 3
    folds = random_folds(X, codes, n_folds, rng)
    scores, models = np.zeros((len(codes), n_classes)), []
    start = time.perf_counter()
    with Progress(n_folds, "held-out rows") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", NoSignalWarning)  # what is measured here says it better
        for hidden, rows, fitted in fitted_to_other_folds(model, X, codes, folds, n_folds, 2):
            models.append(fitted)
            if fitted is not None:  # else its rows keep equal scores, which count as guessing
                scores[hidden] = all_scores(fitted, rows, n_classes)
                bar.advance()
    seconds = (time.perf_counter() - start) / n_folds
    spread = float(np.std(scores[scores > -FAR])) or 1.0
    return HeldOut(places, codes, folds, scores / spread, spread, tuple(models), seconds)


def all_scores(model, X, n_classes):
    """Return one score for each class; far below all others for one that the model lacks."""
    found = class_scores(model, X)
    if len(model.classes_) == n_classes:
        return found
    scores = np.full((len(X), n_classes), min(found.min(), 0.0) - 10.0)
    scores[:, model.classes_] = found
    return scores


def calibrate(scores, codes, noise=None):
    """Return slope and offsets of probabilities, of labels as given or by N_zy of true classes."""
    weight = np.ones(len(codes))
    if noise is None:
        return fit_calibration(scores, one_hot(codes, scores.shape[1]), weight)
    link = fit_slope(scores, codes, weight, noise)
    return float(link.matrix[0, 0]), link.offsets


def cross_calibrated(held, noise=None):
    """Return probabilities of held-out rows, calibrated by the rows of the other folds."""
    probability = np.empty_like(held.scores)
    for fold in np.unique(held.folds):
        hidden = held.folds == fold
        others = ~hidden if len(np.unique(held.codes[~hidden])) > 1 else np.ones_like(hidden)
        slope, offsets = calibrate(held.scores[others], held.codes[others], noise)
        probability[hidden] = calibrated(held.scores[hidden], slope, offsets)
    return probability


# -- measures of held-out rows -----------------------------------------------------------


def assess(held, X, names, place, rule, judge, corrected, groups, seed):
    """Return what held-out rows say about a model; of two classes, with the threshold chosen.

    ``place`` is that of the class looked for. ``judge`` has the noise matrix and the probabilities
    of the true classes of the held-out rows, which count instead of the labels where ``corrected``.
    """
    n_classes, codes = len(names), held.codes
    probability = cross_calibrated(held)
    draws = resamples(len(codes), seed)
    decision, predicted = None, probability.argmax(axis=1)
    if n_classes == 2:
        noise = judge.noise_matrix if corrected else None
        p = cross_calibrated(held, noise)[:, place] if corrected else probability[:, place]
        decision, flagged = _decide(held, p, names[place], place, rule, judge, corrected, draws)
        predicted = np.where(flagged, place, 1 - place)
    confusion = np.zeros((n_classes, n_classes), int)
    np.add.at(confusion, (codes, predicted), 1)
    right = (predicted == codes).astype(np.float64)
    recalls, drawn = [], []
    for k in np.unique(codes):
        of_class = draws[:, codes == k]
        recalls.append(right[codes == k].mean())
        drawn.append(of_class @ right[codes == k] / np.maximum(of_class.sum(axis=1), 1))
    scores = []
    for k, area in enumerate(separations(probability, codes)):
        n, n_predicted, n_right = confusion[k].sum(), confusion[:, k].sum(), confusion[k, k]
        precision = float(n_right / n_predicted) if n_predicted else 0.0
        scores.append(ClassScore(names[k], int(n), area, precision, float(n_right / max(n, 1))))
    score, drops, deviations = importances(
        held, X[held.places], codes, n_classes, list(groups.values()), place, seed
    )
    order = np.argsort(-drops, kind="stable")
    columns = np.array(list(groups), object)[order].tolist()
    return Assessment(
        n_held_out=len(codes),
        n_folds=len(held.models),
        accuracy=measured(right.mean(), draws @ right / draws.sum(axis=1)),
        balanced_accuracy=measured(np.mean(recalls), np.mean(drawn, axis=0)),
        scores=tuple(scores),
        confusion=tuple(map(tuple, confusion.tolist())),
        decision=decision,
        importance_score=float(score),
        importances=tuple(
            map(Importance, columns, drops[order].tolist(), deviations[order].tolist())
        ),
    )


def _decide(held, p, name, place, rule, judge, corrected, draws):
    """Return what the threshold means and which held-out rows it flags; raise where none exists."""
    probable = judge.probability[:, place]
    positive = probable if corrected else (held.codes == place).astype(np.float64)
    operating = operating_points(p, positive, np.ones(len(p)))
    at = rule.point(operating)
    if rule.kind == "precision" and at == 0:
        best = float(operating[1:, 3].max())
        raise ValueError(
            f"no threshold has a precision of {rule.value:g} on held-out rows; the largest is "
            f"{best:.3f}"
        )
    threshold = min(operating[at, 0], 1.0)
    chosen = np.zeros(len(p), bool)  # by thresholds of the other folds
    for fold in np.unique(held.folds):
        hidden, others = held.folds == fold, held.folds != fold
        points = operating_points(p[others], positive[others], np.ones(others.sum()))
        best = rule.point(points)
        is_reached = best or rule.kind != "precision"
        chosen[hidden] = p[hidden] >= (points[best, 0] if is_reached else threshold)
    flagged, found, share = counts_of(chosen, positive)
    many = counts_of(chosen, positive, draws)
    other = counts_of(chosen, probable)
    precision, recall = _ratio(found, flagged), _ratio(found, share)
    false_alarms = _ratio(flagged - found, 1.0 - share)
    bins, costs = calibration_bins(p, positive), None
    _, n_flagged, n_found = counts_at_cuts(p, positive, np.ones(len(p)))
    total, n = n_found[-1], n_flagged[-1]
    along = n_found / max(total, 1e-12)  # the recall
    curve = np.column_stack(
        [along, _ratio(n_found, n_flagged), (n_flagged - n_found) / max(n - total, 1e-12)]
    )
    curve[0, 1] = curve[1, 1]
    # Most points where most changes: equally many along the recall and along the rows.
    steps = np.linspace(0, 1, CURVE // 2)
    by_rows = np.searchsorted(n_flagged / n, steps)
    places = np.concatenate([np.searchsorted(along, steps), by_rows, [0, len(curve) - 1]])
    points = curve[np.unique(np.minimum(places, len(curve) - 1))].tolist()
    if rule.kind == "cost":
        # Of 1,000 rows: cost_fn (positives - found) + cost_fp (flagged - found)
        miss, alarm = 1000 * rule.cost_fn, 1000 * rule.cost_fp
        value = miss * (share - found) + alarm * (flagged - found)
        drawn = miss * (many[2] - many[1]) + alarm * (many[0] - many[1])
        cost = measured(value[0], drawn)
        costs = Costs(cost, float(alarm * (1 - share[0])), float(miss * share[0]))
    value, drawn = areas(p, positive), areas(p, positive, draws)
    decision = Decision(
        positive=name,
        rule=rule,
        threshold=float(threshold),
        flagged=measured(flagged[0], many[0]),
        found=measured(found[0], many[1]),
        share=float(share[0]),
        precision=measured(precision[0], _ratio(many[1], many[0])),
        recall=measured(recall[0], _ratio(many[1], many[2])),
        probable=(float(_ratio(other[1], other[0])[0]), float(_ratio(other[1], other[2])[0])),
        average_precision=measured(value[0], drawn[0]),
        roc_area=measured(value[1], drawn[1]),
        points=tuple(map(tuple, points)),
        point=(float(recall[0]), float(precision[0]), float(false_alarms[0])),
        bins=tuple(bins),
        calibration_error=calibration_error(bins),
        costs=costs,
    )
    return decision, chosen


def _ratio(a, b):
    return np.divide(a, b, out=np.zeros_like(np.asarray(a, float)), where=np.asarray(b) > 0)


# -- columns that matter on the whole; for one row see models/_contributions.py ----------


def importances(held, X, codes, n_classes, groups, positive_place, seed):
    """Return the score, and by how much shuffling each group of columns lowers it, with deviation.

    It is the average precision of the positive class, or the mean area under the ROC curves.
    """
    rng = np.random.default_rng(seed)
    repeats = REPEATS if len(X) <= REPEATED_ROWS else 1
    base = _quality(held.scores, codes, n_classes, positive_place)
    drops = np.zeros((len(groups), repeats))
    for j, places in enumerate(groups):
        for repeat in range(repeats):
            scores = held.scores.copy()
            for fold, model in enumerate(held.models):
                if model is None:
                    continue
                hidden = held.folds == fold
                rows = X[hidden].copy()
                rows[:, places] = rows[rng.permutation(len(rows))][:, places]
                scores[hidden] = all_scores(model, rows, n_classes) / held.spread
            drops[j, repeat] = base - _quality(scores, codes, n_classes, positive_place)
    return base, drops.mean(axis=1), drops.std(axis=1)


def _quality(scores, codes, n_classes, positive_place):
    if n_classes > 2:
        return float(np.mean(separations(scores, codes)))
    sign = 1.0 if positive_place else -1.0
    return areas(sign * (scores[:, 1] - scores[:, 0]), codes == positive_place)[0]


# -- measures, with intervals ------------------------------------------------------------


def resamples(n_rows, seed):
    """Return how often each row occurs in each of many samples drawn with replacement."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(n_rows, np.full(n_rows, 1.0 / n_rows), size=RESAMPLES).astype(np.float32)


def measured(value, values):
    """Return a value with the interval of its resamples."""
    low, high = np.percentile(values, COVERED)
    return Measured(float(value), float(low), float(high))


def counts_of(flagged, positive, weight=None):
    """Return flagged, found and positive, as shares of the rows; for every resample of weights."""
    weight = np.ones((1, len(flagged))) if weight is None else weight
    total, flagged = weight.sum(axis=1), np.asarray(flagged, np.float64)
    positive = np.asarray(positive, np.float64)
    found = weight @ (flagged * positive)
    return weight @ flagged / total, found / total, weight @ positive / total


def calibration_bins(probability, positive):
    """Return mean probability, share of positives and rows of bins of equally many rows."""
    positive, bins = np.asarray(positive, np.float64), []
    for places in np.array_split(np.argsort(probability, kind="stable"), BINS):
        if len(places):
            mean = float(probability[places].mean())
            bins.append((mean, float(positive[places].mean()), len(places)))
    return bins


def calibration_error(bins):
    """Return the mean distance between probability and share over the bins."""
    away = n_rows = 0.0
    for probability, share, n in bins:
        away, n_rows = away + abs(probability - share) * n, n_rows + n
    return away / n_rows


def separations(probability, codes):
    """Return the area under the ROC curve of each class against the others."""
    return [areas(probability[:, k], codes == k)[1] for k in range(probability.shape[1])]
