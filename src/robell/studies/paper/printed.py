"""What the paper prints: tables, claims, and how they compare with what was measured."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

_DATA = tomllib.loads(
    (resources.files("robell.studies.paper") / "printed.toml").read_text(encoding="utf-8")
)


def _floats(row):
    return tuple(float(cell) for cell in row)


# Table I: test accuracy, one column per model in the order of MODELS.
MODELS = tuple(_DATA["models"])
TABLE_I = {name: _floats(row) for name, row in _DATA["table_1"]["rows"].items()}
DATASETS = tuple(TABLE_I)
TABLE_I_AVERAGE = _floats(_DATA["table_1"]["average"])
TABLE_I_RANK = _floats(_DATA["table_1"]["rank"])
FRIEDMAN = _DATA["friedman"]

# Table S.I: wins, ties and losses of the row's model against the column's.
_S1_CELLS = {
    (row, column): tuple(int(count) for count in cell.split("-"))
    for row, cells in _DATA["table_s1"]["rows"].items()
    for column, cell in zip(_DATA["table_s1"]["columns"], cells, strict=False)
}
# One cell sets C-RVFL against itself; the other 28 are every pair of models once.
SELF_CELL = _S1_CELLS[("crvfl", "crvfl")]
WIN_TIE_LOSS = {pair: cell for pair, cell in _S1_CELLS.items() if pair[0] != pair[1]}
SIGN_THRESHOLD = _DATA["sign_threshold"]

# Table S.II: accuracy after label noise by set and level, one column per model of NOISE_MODELS.
NOISE_MODELS = tuple(_DATA["table_s2"]["models"])
NOISE_LEVELS = tuple(_DATA["table_s2"]["levels"])
TABLE_S2 = {
    name: dict(zip(NOISE_LEVELS, map(_floats, rows), strict=True))
    for name, rows in _DATA["table_s2"]["rows"].items()
}
NOISE_DATASETS = tuple(TABLE_S2)
TABLE_S2_AVERAGE = {name: _floats(row) for name, row in _DATA["table_s2"]["average"].items()}
TABLE_S2_OVERALL = _floats(_DATA["table_s2"]["overall"])

# Table S.III: index 1 to 10 of the activation functions, by robell's names.
ACTIVATIONS = tuple(_DATA["activations"])

# The grids of Section S.IV; Table S.IV prints two of their points rounded to four decimals.
GAMMA_GRID = tuple(10.0**power for power in range(-5, 6))
KERNEL_WIDTH_GRID = tuple(2.0**power for power in range(-5, 6))
RHO_GRID = (0.5, 0.625, 0.75, 0.875, 1.0)
N_HIDDEN_GRID = tuple(range(3, 204, 20))

SENSITIVITY_DATASETS = tuple(_DATA["sensitivity"]["datasets"])


class BestSettings(NamedTuple):
    """One row of Table S.IV as printed: RoBell-RVFL's measures and hyper-parameters on a set."""

    sensitivity: float
    specificity: float
    precision: float
    recall: float
    f_measure: float
    g_mean: float
    gamma: float
    n_hidden: int
    activation_index: int
    kernel_width: float
    rho: float

    @property
    def activation(self):
        """Name of the activation function, from Table S.III's index."""
        return ACTIVATIONS[self.activation_index - 1]


_WHOLE = ("n_hidden", "activation_index")
TABLE_S4 = {
    name: BestSettings._make(
        cell if column in _WHOLE else float(cell)
        for column, cell in zip(BestSettings._fields, row, strict=True)
    )
    for name, row in _DATA["table_s4"]["rows"].items()
}


class Claim(NamedTuple):
    """A statement of Section S.VIII: what is said of a range of the grid.

    ``line`` is the parameter that varies in Figure S.3, None for a statement on the whole surface;
    ``kernel_width`` and ``rho`` are closed ranges, None where the statement names none.
    """

    key: str
    place: str
    datasets: list[str]
    text: str
    words: list[str]
    line: str | None = None
    kernel_width: list[float] | None = None
    rho: list[float] | None = None


CLAIMS = tuple(Claim(**claim) for claim in _DATA["claims"])


def _on_grid(printed, grid):
    """Return the one point of the grid that prints so at four decimals."""
    matches = [point for point in grid if abs(point - printed) <= 0.5e-4 * (1 + 1e-9)]
    if len(matches) != 1:
        raise ValueError(f"{printed} is the print of {len(matches)} points of the grid")
    return matches[0]


def s4_parameters(dataset):
    """Return RoBell-RVFL's parameters of Table S.IV; 0 and 0.0313 are rounded (erratum E36)."""
    row = TABLE_S4[dataset]
    return {
        "C": _on_grid(row.gamma, GAMMA_GRID),
        "n_hidden": row.n_hidden,
        "activation": row.activation,
        "kernel_width": _on_grid(row.kernel_width, KERNEL_WIDTH_GRID),
        "rho": row.rho,
    }


def attainable(percentage, n_test):
    """Tell whether a printed percentage is k of n_test, to one unit of the fourth decimal."""
    nearest = 100 * round(percentage * n_test / 100) / n_test
    return abs(nearest - percentage) < 1e-4


class ImpliedCounts(NamedTuple):
    """Confusion counts of RoBell-RVFL's test part that a row of Table S.IV implies."""

    tp: int
    fn: int
    fp: int
    tn: int
    agrees_with_table_i: bool

    @property
    def test_size(self):
        """Number of test rows."""
        return sum(self[:4])

    @property
    def accuracy(self):
        """Share of correct rows in percent."""
        return 100 * (self.tp + self.tn) / self.test_size


_LARGEST_CLASS = 300  # rows of one class in a test part; the largest of the 26 has 274


def _prints_as(value, printed):
    return abs(value - printed) <= 0.5e-4 * (1 + 1e-6)


def _fractions(printed):
    """Return all (part, whole) of up to _LARGEST_CLASS rows that print as this percentage."""
    nearest = ((round(printed * whole / 100), whole) for whole in range(1, _LARGEST_CLASS + 1))
    return [(part, whole) for part, whole in nearest if _prints_as(100 * part / whole, printed)]


@cache
def implied_counts(dataset):
    """Find the confusion counts behind a row of Table S.IV by trying all small ones.

    The row and RoBell-RVFL's accuracy in Table I determine them up to a common multiple: that of
    which the most accuracies of the other models are whole shares, and of these the smallest. Where
    none agree with Table I (``monk3``, erratum E35), the smallest that agree with Table S.IV alone.
    """
    row, accuracy = TABLE_S4[dataset], TABLE_I[dataset][-1]
    # RVFL's and RVFLwoDL's figures are often no share of any size (erratum E37), and a percentage
    # without decimals (87 of 40 rows) may be rounded: neither tells of the size.
    others = [value for value in TABLE_I[dataset][2:-1] if value % 1]
    candidates = []
    for (tp, positives), (tn, negatives) in product(
        _fractions(row.sensitivity), _fractions(row.specificity)
    ):
        fp = negatives - tn
        if _prints_as(100 * tp / (tp + fp) if tp + fp else 0.0, row.precision):
            agrees = _prints_as(100 * (tp + tn) / (positives + negatives), accuracy)
            candidates.append(ImpliedCounts(tp, positives - tp, fp, tn, agrees))

    def disagreement(counts):
        """Whether RoBell's accuracy disagrees, how many of the other models' do, and the size."""
        of_others = [not attainable(value, counts.test_size) for value in others]
        agrees = counts.agrees_with_table_i
        return not agrees, sum(of_others) if agrees else 0, counts.test_size

    return min(candidates, key=disagreement)


def table_i_test_size(dataset):
    """Return the number of test rows behind RoBell-RVFL's accuracy in Table I.

    That of Table S.IV, or where the two disagree (``monk3``) the smallest with such a share.
    """
    counts = implied_counts(dataset)
    if counts.agrees_with_table_i:
        return counts.test_size
    accuracy = TABLE_I[dataset][-1]
    return next(
        n_test
        for n_test in range(1, 2 * _LARGEST_CLASS)
        if _prints_as(100 * round(accuracy * n_test / 100) / n_test, accuracy)
    )


def printed_cells(datasets, models):
    """Return Table I's accuracies, NaN for sets and models it does not have."""
    cells = np.full((len(datasets), len(models)), np.nan)
    for i, name in enumerate(datasets):
        row = dict(zip(MODELS, TABLE_I.get(name, ()), strict=False))
        cells[i] = [row.get(model, np.nan) for model in models]
    return cells


# -- the statements of Section S.VIII, each with a test of measured accuracies
# A statement is made of words; each is a number measured in every seed, positive where the word is
# right. It holds where the mean exceeds both the standard deviation over the seeds (the noise) and,
# where two accuracies are compared, one test row. It does not hold where the mean is as far below
# zero, and cannot be told in between.


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
        return np.array([a[i] for a, (i, _) in zip(self.accuracy, self.chosen, strict=True)])

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
    found: dict = {}
    for record in results.of("sensitivity"):
        found.setdefault(record["job"]["dataset"], {})[record["job"]["repeat"]] = record["outcome"]
    for name, seeds in found.items():
        outcomes = [seeds[k] for k in sorted(seeds)]
        widths, rhos = outcomes[0]["kernel_width"], outcomes[0]["rho"]
        chosen = [outcome["parameters"] for outcome in outcomes]
        found[name] = Surface(
            np.array(widths),
            np.array(rhos),
            np.array([of["test_accuracy"] for of in outcomes]),
            np.array([of["cv_accuracy"] for of in outcomes]),
            tuple((widths.index(of["kernel_width"]), rhos.index(of["rho"])) for of in chosen),
            100 / outcomes[0]["n_test"],
        )
    return found


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


WORDS = (
    *("rises", "plateau", "fluctuates outside", "best inside", "higher inside", "near the best"),
    *("falls beyond", "falls sharply beyond", "falls sharply at every rho"),
)


def judge(claim, surface):
    """Return what was measured for the words of a claim, and whether it holds."""
    values = surface.accuracy  # (seeds, widths, rhos)
    widths, rhos = (
        np.ones(len(of), bool) if ends is None else (of >= ends[0]) & (of <= ends[1])
        for of, ends in ((surface.widths, claim.kernel_width), (surface.rhos, claim.rho))
    )
    # A claim about a line of Figure S.3 has one value along the other axis.
    if claim.line == "kernel_width":
        values, rhos = surface.by_width[:, :, None], np.ones(1, bool)
    if claim.line == "rho":
        values, widths = surface.by_rho[:, None, :], np.ones(1, bool)
    within, outside = values[:, np.outer(widths, rhos)], values[:, ~np.outer(widths, rhos)]

    def measured(word):
        """Return what was measured for one word, and whether it holds."""
        if word == "rises":  # the rank correlation of the mean over the seeds
            return _rises(within, surface.row)
        if word == "plateau":
            ranges = np.ptp(within, axis=1)
            return f"varies by {_points(ranges)}", _compare(STABLE - ranges)
        if word == "fluctuates outside":
            ranges = np.ptp(outside, axis=1)
            return f"varies by {_points(ranges)} outside", _compare(ranges - STABLE)
        if word in ("best inside", "higher inside"):
            of, name = (np.max, "best") if word == "best inside" else (np.mean, "mean")
            gaps = of(within, axis=1) - of(outside, axis=1)
            text = f"{name} inside less {name} outside {_points(gaps)}"
            return text, _compare(gaps, surface.row)
        if word == "near the best":
            lost = values.max(axis=(1, 2)) - within.min(axis=1)
            return f"worst inside {_points(lost)} below the best", _compare(STABLE - lost)
        # By how much the mean beyond the range is below its end, by seeds and rhos.
        end = claim.kernel_width[1]
        beyond = values[:, surface.widths > end].mean(axis=1)
        falls = (values[:, surface.widths == end][:, 0] - beyond)[:, rhos]
        if word == "falls sharply at every rho":
            means = falls.mean(axis=0)
            text = f"falls by {means.min():.2f} to {means.max():.2f}"
            return text, _worst(_compare(one - STABLE) for one in falls.T)
        falls, is_sharp = falls.mean(axis=1), word == "falls sharply beyond"
        verdict = _compare(falls - STABLE) if is_sharp else _compare(falls, surface.row)
        return f"falls by {_points(falls)}", verdict

    texts, verdicts = zip(*map(measured, claim.words), strict=True)
    why = surface.untellable
    return "; ".join(texts), f"{UNTOLD}: {why}" if why else _worst(verdicts)


def _worst(verdicts):
    return max(verdicts, key=(HOLDS, UNTOLD, FAILS).index)


def _compare(gaps, least=0.0):
    """Judge numbers, one a seed, that are positive where a word is right."""
    noise = gaps.std(ddof=1) if len(gaps) > 1 else np.inf
    mean, margin = gaps.mean(), max(least, noise) + TINY
    return HOLDS if mean > margin else FAILS if mean < -margin else UNTOLD


def _points(numbers):
    spread = f" ± {numbers.std(ddof=1):.2f}" if len(numbers) > 1 else ""
    return f"{numbers.mean():.2f}{spread}"


def _rises(values, row):
    line = values.mean(axis=0)
    within = values - values.mean(axis=1, keepdims=True)
    noise = np.sqrt(within.var(axis=0, ddof=1).mean()) if len(values) > 1 else np.inf
    if np.ptp(line) <= max(row, noise) + TINY:
        return f"varies by {np.ptp(line):.2f}, noise {noise:.2f}", UNTOLD
    found = spearmanr(np.arange(len(line)), line, alternative="greater")
    verdict = HOLDS if found.pvalue <= SIGNIFICANT else FAILS
    return f"varies by {np.ptp(line):.2f}, rank correlation {found.statistic:.2f}", verdict
