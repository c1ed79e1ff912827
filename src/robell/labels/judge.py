"""The judge: how probable it is that each label of a table, class or number, is right."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from robell._core.labels.link import fit_recalibration, posterior
from robell._core.labels.noise import (
    NumberNoise,
    common_rate,
    fit_number_noise,
    joint_matrix,
    noise_matrix,
    noise_rates,
    spread_of,
    wrong_share,
)
from robell._core.ridge.calibrate import half_widths
from robell._tools.text import few
from robell.models._validation import level_of_user
from robell.models.noise_robust import LeftOutScores, NoiseRobustRVFLClassifier

SMALLEST_PROBABILITY = 1e-8
SUM_TOLERANCE = 1e-3
TOO_GOOD = 0.999  # share of labels that are the likeliest class; with so many, in-sample is likely
FEWEST_ROWS = 30  # for such a share to say anything
OTHER_ORDER = 0.2  # share of rows that another order of the columns must gain to be meant
# Of numbers:
ROUNDS = 1  # how often the members are fitted again, suspect rows counting less
FIRST_CLIP = 5.0  # spreads: numbers farther out than this are drawn in for the first fit
CLIP = 2.0  # of the noise's scales: the same for the fits after it
LEAST_WEIGHT = 1e-3
WIDE = 1.5  # spreads of the numbers that wrong ones are spread over
LOCAL = 0.75  # exponent of the scale that is predicted for a row: errors of errors are large
SMALLEST_ERROR = 0.1  # of the noise's scale: smaller errors count as this in logarithms
SMALL_SHARE = 0.1  # of the rows, whose numbers are below the one that logarithms begin at
FACTOR = 3.0  # between small and large numbers, from which on logarithms are tried
LARGEST = 700.0  # whose exponential is a number


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is known about every label: `quality` is the probability that it is right.

    `probability` has a column for each of `classes`, given the row and its label. `noise_matrix` is
    what all labels together turned out to say, `assumed_noise` is N_zy = P(y | z), which each label
    was judged by.
    """

    classes: np.ndarray
    probability: np.ndarray
    quality: np.ndarray
    suggested: np.ndarray
    suspect: np.ndarray
    noise_matrix: np.ndarray
    noise_rate: float
    assumed_noise: np.ndarray
    model: NoiseRobustRVFLClassifier | None = None

    @classmethod
    def of_posterior(cls, classes, Z, codes, N, model=None):
        """Return the judgement that P(z | s, y) says, with N_zy assumed and labels at ``codes``."""
        best = Z.argmax(axis=1)
        joint = joint_matrix(Z, codes, np.ones(len(Z)), len(classes))
        return cls(
            classes,
            Z,
            Z[np.arange(len(Z)), codes],
            classes[best],
            best != codes,
            noise_rates(joint),
            wrong_share(joint),
            N,
            model,
        )

    def without_label(self, codes):
        """Return P(z | s) ∝ P(z | s, y) / N_zy, what the columns alone say, of labels y."""
        P = self.probability / self.assumed_noise.T[codes]
        return P / P.sum(axis=1, keepdims=True)


def judge_labels(X, y, *, sample_weight=None, random_state=None):
    """Judge each label by networks fitted without its row, and by how often labels go wrong."""
    model = NoiseRobustRVFLClassifier(random_state=random_state)
    return judgement_of(model.fit(X, y, sample_weight=sample_weight), y, sample_weight)


def judgement_of(model, y, sample_weight=None):
    """Return what a classifier that was fitted to these labels says about them."""
    suggested = model.classes_[model.label_probability_.argmax(axis=1)]
    suspect = suggested != np.asarray(y).ravel()
    if sample_weight is not None:
        suspect &= np.asarray(sample_weight, np.float64) > 0  # weight 0 is as good as absent
    return Judgement(
        model.classes_,
        model.label_probability_,
        model.sample_quality_,
        suggested,
        suspect,
        model.noise_matrix_,
        model.noise_rate_,
        model._assumed_noise,
        model,
    )


def judge_probabilities(y, pred_proba, classes=None, *, from_outside=True):
    """Judge each label by the recalibrated probabilities of a model that has not seen the row."""
    y, classes, labels = check_labels(y, classes)
    given = check_probabilities(pred_proba, len(y), classes)
    P, N = recalibrated(given, labels)
    if from_outside:
        _warn_of_odd(given, labels, classes)
    return Judgement.of_posterior(classes, posterior(P, labels, N), labels, N)


def recalibrated(P, labels):
    """Return P(z | s) from probabilities of any classifier, and N_zy by which labels go wrong."""
    weight = np.ones(len(labels))
    # A model may know classes that no row is labelled as: labels do not go wrong towards these.
    carried, codes = np.unique(labels, return_inverse=True)
    own = P[:, carried]
    rate = common_rate(own, codes, weight)
    N = (1.0 - rate) * np.eye(P.shape[1])
    N[:, carried] += rate / len(carried)
    N[np.ix_(carried, carried)] = noise_matrix(own, codes, weight, rate)
    scores = np.log(np.maximum(P, SMALLEST_PROBABILITY))
    return fit_recalibration(scores, labels, N).probability(scores), N


def check_labels(y, classes):
    """Return the labels, the classes and the labels' places among them."""
    y = np.asarray(y).ravel()
    if len(y) < 2:
        raise ValueError(f"labels of at least two rows are needed; got {len(y)}")
    found = np.unique(y)
    if len(found) < 2:
        raise ValueError(
            f"labels of at least two classes are needed; all are {found.tolist()[0]!r}"
        )
    if classes is None:
        return y, found, np.searchsorted(found, y)
    classes = np.asarray(classes)
    if len(np.unique(classes)) != len(classes):
        raise ValueError("classes must hold every class once")
    place = {label: k for k, label in enumerate(classes.tolist())}
    foreign = [label for label in found.tolist() if label not in place]
    if foreign:
        raise ValueError(f"classes must hold every label; it lacks {foreign[0]!r}")
    return y, classes, np.array([place[label] for label in y.tolist()])


def check_probabilities(pred_proba, n_rows, classes):
    """Return probabilities, rows of which add up to 1; of two classes the second's may do."""
    names, taken = [str(n) for n in getattr(pred_proba, "columns", ())], [str(c) for c in classes]
    unnamed = [str(place) for place in range(len(taken))]  # a frame's own names are no classes
    if names not in (taken, unnamed) and sorted(names) == sorted(taken):
        raise ValueError(
            f"the columns of pred_proba are named {few(names)} and would be taken as {few(taken)}: "
            "say their order with classes=, or put them in order"
        )
    P = np.asarray(pred_proba, dtype=np.float64)
    if P.ndim == 1 and len(classes) == 2:
        P = np.column_stack([1.0 - P, P])
    if P.shape != (n_rows, len(classes)):
        raise ValueError(
            f"pred_proba must have {n_rows} rows and a column for each of the {len(classes)} "
            f"classes; its shape is {P.shape}"
        )
    if not (np.isfinite(P).all() and (P >= -1e-9).all()):
        raise ValueError("pred_proba must hold finite numbers, none negative")
    total = P.sum(axis=1)
    if np.abs(total - 1.0).max() > SUM_TOLERANCE:
        worst = int(np.abs(total - 1.0).argmax())
        raise ValueError(
            f"every row of pred_proba must add up to 1; row {worst} adds up to {total[worst]:.4g}"
        )
    return np.clip(P, 0.0, None) / total[:, None]


def _warn_of_odd(P, labels, classes):
    """Warn of probabilities that were made in-sample, or whose columns are in another order."""
    if len(labels) < FEWEST_ROWS:
        return
    agreement = float((P.argmax(axis=1) == labels).mean())
    if agreement >= TOO_GOOD:
        warnings.warn(
            f"the likeliest class is the label in {agreement:.1%} of the rows: were these rows in "
            "the training set of the model? Probabilities must come from models that have not "
            "seen the row, such as those of cross_val_predict",
            UserWarning,
            stacklevel=level_of_user(),
        )
    table = np.zeros((len(classes), len(classes)))
    np.add.at(table, (labels, P.argmax(axis=1)), 1.0)
    order = linear_sum_assignment(table, maximize=True)[1]
    reordered = float(table[np.arange(len(order)), order].sum() / len(labels))
    if reordered > agreement + OTHER_ORDER:
        # column order[k] seems to hold the probability of classes[k]
        taken = [str(label) for label in classes.tolist()]
        likely = [taken[k] for k in np.argsort(order)]
        warnings.warn(
            f"the likeliest class is the label in only {agreement:.1%} of the rows, and would be "
            f"in {reordered:.1%} were the columns of pred_proba in the order {few(likely)}; "
            f"they are taken in the order {few(taken)}: say otherwise with classes=",
            UserWarning,
            stacklevel=level_of_user(),
        )


class Measure(NamedTuple):
    """Numbers as they are judged, z = (T(y) - middle)/spread; T is y or asinh(y/small)."""

    small: float  # infinite: T(y) = y
    middle: float
    spread: float

    def forth(self, y):
        """Return z of numbers."""
        with np.errstate(over="ignore"):
            moved = y if np.isinf(self.small) else np.arcsinh(y / self.small)
        return (moved - self.middle) / self.spread

    def back(self, z):
        """Return the numbers of z."""
        moved = self.middle + self.spread * z
        if np.isinf(self.small):
            return moved
        return self.small * np.sinh(np.clip(moved, -LARGEST, LARGEST))

    def log_slopes(self, y):
        """Return log dz/dy."""
        steep = 0.0 if np.isinf(self.small) else -np.log(np.hypot(y, self.small))
        return steep - np.log(self.spread) + np.zeros(len(y))


@dataclass(frozen=True, eq=False)
class NumberJudgement:
    """What is known about every number of a target column, by models that have not seen the row.

    `residual` and `scale`, how far off right numbers usually are, are in the units of `measure`.
    `model`, if there is one, gives predictions and scales of any rows in these units.
    """

    given: np.ndarray
    predicted: np.ndarray
    measure: Measure
    residual: np.ndarray
    scale: np.ndarray
    quality: np.ndarray
    suspect: np.ndarray
    weight: np.ndarray
    noise: NumberNoise
    model: Callable | None = None

    @property
    def noise_rate(self):
        """The estimated share of wrong numbers."""
        return float(self.weight @ (1.0 - self.quality) / self.weight.sum())

    @property
    def explained(self):
        """The share of the squared differences between right numbers that predictions explain."""
        right, z = self.weight * self.quality, self.measure.forth(self.given)
        total = float(right @ np.square(z - right @ z / right.sum()))
        return 1.0 - float(right @ np.square(self.residual)) / total if total else 0.0

    def intervals(self, coverage, predicted=None, scale=None):
        """Return bounds that hold the right number with a given probability, also of other rows."""
        off = np.abs(self.residual) / self.scale
        half = float(half_widths(off[:, None], self.weight * self.quality, coverage)[0])
        if predicted is None:
            predicted, scale = self.measure.forth(self.predicted), self.scale
        ends = predicted - half * scale, predicted + half * scale
        return np.column_stack([self.measure.back(end) for end in ends])

    def right(self, y, predicted, scale):
        """Return the probability that numbers of other rows are right, `model` having seen them."""
        return self.noise.right(self.measure.forth(y) - predicted, scale)


def judge_numbers(X, y, weight, random_state):
    """Judge each number by members fitted without its row; in a second fit suspects count less."""
    codes = np.unique(y, return_inverse=True)[1]
    members = LeftOutScores(X, weight, random_state, codes)

    def first(measure, z):
        return members.of_numbers(np.clip(z, -FIRST_CLIP, FIRST_CLIP), weight)

    measure, predicted, predict, noise = _likeliest_measure(y, weight, first)
    z, even = measure.forth(y), np.ones(len(y))
    for _ in range(ROUNDS):
        residual = z - predicted
        right = weight * np.maximum(noise.right(residual, even), LEAST_WEIGHT)
        targets = predicted + np.clip(residual, -CLIP * noise.sigma, CLIP * noise.sigma)
        predicted, predict = members.of_numbers(targets, right)
        noise = fit_number_noise(z - predicted, even, noise.spread, weight)
    return _judged_locally(members, y, measure, predicted, noise, weight, predict)


def judge_predictions(y, predictions, weight):
    """Judge each number by the prediction of a model that has not seen the row."""
    measure, predicted, _, noise = _likeliest_measure(
        y, weight, lambda measure, z: (measure.forth(predictions), None)
    )
    codes = np.unique(y, return_inverse=True)[1]
    members = LeftOutScores(predicted[:, None], weight, 0, codes)
    return _judged_locally(members, y, measure, predicted, noise, weight)


def _likeliest_measure(y, weight, fit):
    """Return the measure under which the numbers are likeliest, with its first fit."""
    # ``fit(measure, z)`` returns the predictions of the rows, and a model of any rows.
    ends = [SMALL_SHARE, 1.0 - SMALL_SHARE]
    small, large = np.quantile(np.abs(y), ends, weights=weight, method="inverted_cdf")
    candidates = []
    for start in [np.inf, small] if 0.0 < FACTOR * small < large else [np.inf]:
        # Under which these numbers have median 0 and spread 1
        measure = Measure(start, *spread_of(Measure(start, 0.0, 1.0).forth(y), weight))
        z, even = measure.forth(y), np.ones(len(y))
        predicted, predict = fit(measure, z)
        drawn_in = np.clip(z, -FIRST_CLIP, FIRST_CLIP)
        wide = WIDE * max(1.0, float(np.sqrt(weight @ np.square(drawn_in) / weight.sum())))
        noise = fit_number_noise(z - predicted, even, wide, weight)
        of_errors = noise.log_likelihood(z - predicted, even)
        likelihood = float(weight @ (of_errors + measure.log_slopes(y)))
        candidates.append((likelihood, (measure, predicted, predict, noise)))
    return max(candidates, key=lambda candidate: candidate[0])[1]


def _judged_locally(members, y, measure, predicted, noise, weight, predict=None):
    """Judge numbers by how far right ones are off in their row, whose logarithm is predicted."""
    residual = measure.forth(y) - predicted
    right = weight * np.maximum(noise.right(residual, np.ones(len(residual))), LEAST_WEIGHT)
    errors = np.log(np.abs(residual) + SMALLEST_ERROR * noise.sigma)
    size, predict_size = members.of_numbers(errors, right)
    mean = right @ size / right.sum()
    local = np.exp(LOCAL * (size - mean))
    noise = fit_number_noise(residual, local, noise.spread, weight)
    sigma, noise = noise.sigma, noise._replace(sigma=1.0)
    scale = sigma * local
    quality = noise.right(residual, scale)

    def model(rows):
        return predict(rows), sigma * np.exp(LOCAL * (predict_size(rows) - mean))

    return NumberJudgement(
        given=y,
        predicted=measure.back(predicted),
        measure=measure,
        residual=residual,
        scale=scale,
        quality=quality,
        suspect=quality < 0.5,
        weight=weight,
        noise=noise,
        model=model if predict else None,
    )
