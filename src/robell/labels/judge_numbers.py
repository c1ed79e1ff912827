"""The judge of numbers: how probable it is that each number of a target column is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robell._core.labels.numbers import NumberNoise, fit_number_noise, spread_of
from robell._core.ridge.calibrate import half_widths
from robell.models.noise_robust import LeftOutScores

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


class Measure(NamedTuple):
    """Numbers as they are judged, z = (T(y) - middle)/spread; T is y or asinh(y/small).

    asinh is the logarithm for large numbers, of either sign, and straight around zero: errors of
    prices and incomes grow with them.
    """

    small: float  # infinite: T(y) = y
    middle: float
    spread: float

    @classmethod
    def of(cls, y, weight, small):
        """Return the measure under which these numbers have median 0 and spread 1."""
        return cls(small, *spread_of(cls(small, 0.0, 1.0).forth(y), weight))

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
    """What is known about every number of a target column.

    `predicted` are predictions by models that have not seen the row. `quality` is the probability
    that the number is right, and a row is suspect where that is less than one half. `residual` and
    `scale`, how far off right numbers usually are, are in the units of `measure`. `model`, if there
    is one, gives predictions and scales of any rows in these units.
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
        """Return bounds that hold the right number of a row with a given probability, (n, 2).

        The prediction, less and plus so many times the scale of the row as hold this share of the
        rows, each counted by how probably its number is right. By default of the rows judged,
        otherwise of others, given as `model` gives them.
        """
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
    """Judge each number by the row it belongs to and by all other rows.

    Rows have positive weights. Every number is predicted by members fitted without its row, in
    closed form; the fit is repeated with suspect rows counting less, so that wrong numbers do not
    draw the predictions to them. How far right numbers are off is predicted for each row too.
    """
    members = LeftOutScores(X, weight, random_state)

    def first(z):
        return members.of_numbers(np.clip(z, -FIRST_CLIP, FIRST_CLIP), weight)

    measure, (predicted, predict), noise = _likeliest_measure(y, weight, first)
    z, even = measure.forth(y), np.ones(len(y))
    for _ in range(ROUNDS):
        residual = z - predicted
        right = weight * np.maximum(noise.right(residual, even), LEAST_WEIGHT)
        targets = predicted + np.clip(residual, -CLIP * noise.sigma, CLIP * noise.sigma)
        predicted, predict = members.of_numbers(targets, right)
        noise = fit_number_noise(z - predicted, even, noise.spread, weight)
    scale, noise, scale_of = _local_scale(members, z - predicted, noise, weight)
    return _judgement(
        y, measure, predicted, scale, weight, noise, lambda rows: (predict(rows), scale_of(rows))
    )


def judge_predictions(y, predictions, weight):
    """Judge each number by the prediction of a model that has not seen the row."""
    measures = [Measure.of(y, weight, small) for small in _smalls(y, weight)]
    of = {id(one): one.forth(predictions) for one in measures}
    found = []
    for one in measures:
        noise = _first_noise(one.forth(y), of[id(one)], weight)
        found.append((_likelihood(y, one, of[id(one)], noise, weight), one, noise))
    _, measure, noise = max(found, key=lambda entry: entry[0])
    predicted = of[id(measure)]
    members = LeftOutScores(predicted[:, None], weight, 0)
    scale, noise, _ = _local_scale(members, measure.forth(y) - predicted, noise, weight)
    return _judgement(y, measure, predicted, scale, weight, noise, None)


def _likeliest_measure(y, weight, fit):
    """Return the measure under which the errors of a first fit are likeliest, fit and noise."""
    best = None
    for small in _smalls(y, weight):
        measure = Measure.of(y, weight, small)
        z = measure.forth(y)
        predicted, predict = fit(z)
        noise = _first_noise(z, predicted, weight)
        likelihood = _likelihood(y, measure, predicted, noise, weight)
        if best is None or likelihood > best[0]:
            best = likelihood, measure, (predicted, predict), noise
    return best[1:]


def _smalls(y, weight):
    """Return where logarithms may begin: nowhere, and where numbers differ by factors, low."""
    size = np.abs(y)
    order = np.argsort(size, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    places = np.searchsorted(reached, [SMALL_SHARE, 1.0 - SMALL_SHARE])
    small, large = size[order[np.minimum(places, len(y) - 1)]]
    return [np.inf, small] if 0.0 < FACTOR * small < large else [np.inf]


def _first_noise(z, predicted, weight):
    drawn_in = np.clip(z, -FIRST_CLIP, FIRST_CLIP)
    wide = WIDE * max(1.0, float(np.sqrt(weight @ np.square(drawn_in) / weight.sum())))
    return fit_number_noise(z - predicted, np.ones(len(z)), wide, weight)


def _likelihood(y, measure, predicted, noise, weight):
    """Return the logarithm of the likelihood of the numbers themselves."""
    of_errors = noise.log_likelihood(measure.forth(y) - predicted, np.ones(len(y)))
    return float(weight @ (of_errors + measure.log_slopes(y)))


def _local_scale(members, residual, noise, weight):
    """Return how far off right numbers are in each row, the noise under it, and the model of it.

    The logarithm of the error is predicted for every row by members that have not seen it.
    """
    right = weight * np.maximum(noise.right(residual, np.ones(len(residual))), LEAST_WEIGHT)
    errors = np.log(np.abs(residual) + SMALLEST_ERROR * noise.sigma)
    size, predict = members.of_numbers(errors, right)
    mean = right @ size / right.sum()
    local = np.exp(LOCAL * (size - mean))
    noise = fit_number_noise(residual, local, noise.spread, weight)
    sigma = noise.sigma
    return (
        sigma * local,
        noise._replace(sigma=1.0),
        lambda rows: sigma * np.exp(LOCAL * (predict(rows) - mean)),
    )


def _judgement(y, measure, predicted, scale, weight, noise, model):
    residual = measure.forth(y) - predicted
    quality = noise.right(residual, scale)
    return NumberJudgement(
        y,
        measure.back(predicted),
        measure,
        residual,
        scale,
        quality,
        quality < 0.5,
        weight,
        noise,
        model,
    )
