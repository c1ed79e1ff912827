"""The statements of Section S.VIII, each held against measured accuracies by a test of its words.

A statement is made of words; each is a number measured in every seed, positive where the word is
right, and holds where the mean exceeds both the standard deviation over the seeds (the noise) and,
where two accuracies are compared, one test row. It does not hold where the mean is as far below
zero, and cannot be told in between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from robell.studies.paper.printed import CLAIMS

HOLDS, FAILS, UNTOLD = "holds", "does not", "cannot be told"
STABLE = 2.0  # points of accuracy: a plateau varies by less, a sharp fall is deeper
FEWEST_SEEDS = 3
SIGNIFICANT = 0.05  # of the rank correlation, one-sided: at least 0.9 over the five values of rho
TINY = 1e-9  # accuracies are shares of rows, and differences of them have rounding errors


@dataclass(frozen=True)
class Surface:
    """The accuracies of one set over kernel widths and rho, one layer of the arrays a seed."""

    widths: np.ndarray
    rhos: np.ndarray
    accuracy: np.ndarray  # on the test rows, in percent: (seeds, widths, rhos)
    cv_accuracy: np.ndarray  # what tuning saw
    chosen: tuple  # (place of the kernel width, place of rho) of every seed
    row: float  # what one test row is worth, in points

    @property
    def by_width(self):
        """Accuracy by kernel width at the chosen rho: (seeds, widths), Figure S.3 (a)."""
        return np.array([a[:, j] for a, (_, j) in zip(self.accuracy, self.chosen, strict=True)])

    @property
    def by_rho(self):
        """Accuracy by rho at the chosen kernel width: (seeds, rhos), Figure S.3 (b)."""
        return np.array(
            [a[width] for a, (width, _) in zip(self.accuracy, self.chosen, strict=True)]
        )

    @property
    def untellable(self):
        """Why nothing can be told from it, or an empty text."""
        if len(self.accuracy) < FEWEST_SEEDS:
            return f"{len(self.accuracy)} of {FEWEST_SEEDS} seeds"
        if np.ptp(self.accuracy, axis=(1, 2)).max() <= self.row + TINY:
            return "nothing varies by more than one test row"
        return ""


def surfaces(results):
    """Return {set: Surface} of the finished sensitivity jobs."""
    found = {}
    for record in results.of("sensitivity"):
        found.setdefault(record["job"]["dataset"], {})[record["job"]["repeat"]] = record["outcome"]
    return {
        name: _surface([outcome for _, outcome in sorted(seeds.items())])
        for name, seeds in found.items()
    }


def _surface(outcomes):
    widths, rhos = outcomes[0]["kernel_width"], outcomes[0]["rho"]
    return Surface(
        np.array(widths),
        np.array(rhos),
        np.array([outcome["test_accuracy"] for outcome in outcomes]),
        np.array([outcome["cv_accuracy"] for outcome in outcomes]),
        tuple(
            (widths.index(chosen["kernel_width"]), rhos.index(chosen["rho"]))
            for chosen in (outcome["parameters"] for outcome in outcomes)
        ),
        100 / outcomes[0]["n_test"],
    )


def accuracy_limits(values, row):
    """Return ends of an axis of accuracies: at most 100 %, and one test row a tenth at most."""
    low, high = np.min(values), np.max(values)
    height = max(10.0, 10 * row, 1.1 * (high - low))
    top = min(100.0, (low + high + height) / 2)
    return top - height, top


def judged(results):
    """Yield (claim, set, what was measured, verdict) of every statement on a measured set."""
    found = surfaces(results)
    for claim in CLAIMS:
        for name in claim.datasets:
            if name in found:
                yield claim, name, *judge(claim, found[name])


def judge(claim, surface):
    """Return what was measured for the words of a claim, and whether it holds."""
    region = Region(claim, surface)
    found = [WORDS[word](region) for word in claim.words]
    text = "; ".join(measured for measured, _ in found)
    if surface.untellable:
        return text, f"{UNTOLD}: {surface.untellable}"
    verdicts = [verdict for _, verdict in found]
    for verdict in (FAILS, UNTOLD):
        if verdict in verdicts:
            return text, verdict
    return text, HOLDS


class Region:
    """The accuracies a claim speaks of, ``values`` of shape (seeds, widths, rhos), and its range.

    A claim about a line of Figure S.3 has one value along the other axis; ``inside`` marks the
    claim's range.
    """

    def __init__(self, claim, surface):
        self.claim, self.row = claim, surface.row
        self.widths, self.values = surface.widths, surface.accuracy
        inside_widths = _within(surface.widths, claim.kernel_width)
        inside_rhos = _within(surface.rhos, claim.rho)
        if claim.line == "kernel_width":
            self.values, inside_rhos = surface.by_width[:, :, None], np.ones(1, bool)
        if claim.line == "rho":
            self.values, inside_widths = surface.by_rho[:, None, :], np.ones(1, bool)
        self.inside = np.outer(inside_widths, inside_rhos)
        self.inside_rhos = inside_rhos

    def compare(self, gaps, least=0.0):
        """Judge numbers, one a seed, that are positive where a word is right."""
        noise = gaps.std(ddof=1) if len(gaps) > 1 else np.inf
        mean, margin = gaps.mean(), max(least, noise) + TINY
        return HOLDS if mean > margin else FAILS if mean < -margin else UNTOLD

    def falls(self):
        """Return by how much the mean beyond the range is below its end: (seeds, rhos)."""
        end = self.claim.kernel_width[1]
        beyond = self.values[:, self.widths > end].mean(axis=1)
        return (self.values[:, self.widths == end][:, 0] - beyond)[:, self.inside_rhos]


def _within(values, limits):
    if limits is None:
        return np.ones(len(values), bool)
    return (values >= limits[0]) & (values <= limits[1])


def _points(numbers):
    spread = f" ± {numbers.std(ddof=1):.2f}" if len(numbers) > 1 else ""
    return f"{numbers.mean():.2f}{spread}"


def _rises(region):
    """Whether accuracy rises along a line: the rank correlation of the mean over the seeds."""
    values = region.values[:, region.inside]
    line = values.mean(axis=0)
    within = values - values.mean(axis=1, keepdims=True)
    noise = np.sqrt(within.var(axis=0, ddof=1).mean()) if len(values) > 1 else np.inf
    if np.ptp(line) <= max(region.row, noise) + TINY:
        return f"varies by {np.ptp(line):.2f}, noise {noise:.2f}", UNTOLD
    found = spearmanr(np.arange(len(line)), line, alternative="greater")
    verdict = HOLDS if found.pvalue <= SIGNIFICANT else FAILS
    return f"varies by {np.ptp(line):.2f}, rank correlation {found.statistic:.2f}", verdict


def _falls_beyond(region):
    """Whether the mean beyond the range is below the accuracy at its end."""
    falls = region.falls().mean(axis=1)
    return f"falls by {_points(falls)}", region.compare(falls, region.row)


def _falls_sharply_beyond(region):
    """Whether it falls by more than ``STABLE``."""
    falls = region.falls().mean(axis=1)
    return f"falls by {_points(falls)}", region.compare(falls - STABLE)


def _falls_sharply_at_every_rho(region):
    """Whether it falls by more than ``STABLE`` at each rho by itself."""
    falls = region.falls()
    found = {region.compare(column - STABLE) for column in falls.T}
    verdict = FAILS if FAILS in found else UNTOLD if UNTOLD in found else HOLDS
    means = falls.mean(axis=0)
    return f"falls by {means.min():.2f} to {means.max():.2f}", verdict


def _is_plateau(region):
    """Whether accuracy varies by less than ``STABLE`` inside the range."""
    ranges = np.ptp(region.values[:, region.inside], axis=1)
    return f"varies by {_points(ranges)}", region.compare(STABLE - ranges)


def _fluctuates_outside(region):
    """Whether accuracy varies by more than ``STABLE`` outside the range."""
    ranges = np.ptp(region.values[:, ~region.inside], axis=1)
    return f"varies by {_points(ranges)} outside", region.compare(ranges - STABLE)


def _best_inside(region):
    """Whether the best accuracy inside the range is above the best outside."""
    values, inside = region.values, region.inside
    gaps = values[:, inside].max(axis=1) - values[:, ~inside].max(axis=1)
    return f"best inside less best outside {_points(gaps)}", region.compare(gaps, region.row)


def _higher_inside(region):
    """Whether the mean accuracy inside the range is above that outside."""
    values, inside = region.values, region.inside
    gaps = values[:, inside].mean(axis=1) - values[:, ~inside].mean(axis=1)
    return f"mean inside less mean outside {_points(gaps)}", region.compare(gaps, region.row)


def _near_the_best(region):
    """Whether the worst accuracy inside the range is within ``STABLE`` of the best anywhere."""
    values = region.values
    lost = values.max(axis=(1, 2)) - values[:, region.inside].min(axis=1)
    return f"worst inside {_points(lost)} below the best", region.compare(STABLE - lost)


WORDS = {
    "rises": _rises,
    "falls beyond": _falls_beyond,
    "falls sharply beyond": _falls_sharply_beyond,
    "falls sharply at every rho": _falls_sharply_at_every_rho,
    "plateau": _is_plateau,
    "fluctuates outside": _fluctuates_outside,
    "best inside": _best_inside,
    "higher inside": _higher_inside,
    "near the best": _near_the_best,
}
