"""The paper's printed tables, read from printed.toml, and what follows from them by arithmetic."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from itertools import product
from typing import NamedTuple

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


def _best_settings(row):
    cells = dict(zip(_DATA["table_s4"]["columns"], row, strict=True))
    whole = {"n_hidden", "activation_index"}
    return BestSettings(**{k: v if k in whole else float(v) for k, v in cells.items()})


TABLE_S4 = {name: _best_settings(row) for name, row in _DATA["table_s4"]["rows"].items()}


class Claim(NamedTuple):
    """A statement of Section S.VIII: what is said of a range of the grid.

    ``words`` are those of ``claims.WORDS``; ``line`` is the parameter that varies in Figure S.3,
    None for a statement on the whole surface; ``kernel_width`` and ``rho`` are closed ranges, None
    where the statement names none.
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
    """Return RoBell-RVFL's hyper-parameters of Table S.IV as parameters of the estimator.

    A gamma printed as 0 is 1e-5 and a kernel width printed as 0.0313 is 1/32: the only points of
    the search grid that print so at four decimals (erratum E36).
    """
    row = TABLE_S4[dataset]
    return {
        "C": _on_grid(row.gamma, GAMMA_GRID),
        "n_hidden": row.n_hidden,
        "activation": row.activation,
        "kernel_width": _on_grid(row.kernel_width, KERNEL_WIDTH_GRID),
        "rho": row.rho,
    }


def attainable(percentage, n_test):
    """Tell whether a printed percentage is k of n_test for a whole number k.

    One unit of the fourth decimal is allowed, since 67 of 81 is printed both as 82.716 and as
    82.7161.
    """
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
        return self.tp + self.fn + self.fp + self.tn

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


def _disagreement(dataset, counts):
    """Return (RoBell's accuracy disagrees, how many of the other models' do)."""
    if not counts.agrees_with_table_i:
        return True, 0
    # RVFL's and RVFLwoDL's figures are often no share of any size (erratum E37), and a percentage
    # without decimals (87 of 40 rows) may be rounded: neither tells of the size.
    others = [value for value in TABLE_I[dataset][2:-1] if value % 1]
    return False, sum(not attainable(value, counts.test_size) for value in others)


@cache
def implied_counts(dataset):
    """Find the confusion counts behind a row of Table S.IV by trying all small ones.

    Sensitivity, specificity and precision at four decimals, with RoBell-RVFL's accuracy in Table
    I, determine the counts up to a common multiple. Returned is the multiple of which the most
    accuracies of the other models are whole shares, and of these the smallest; only the two
    haberman sets need this (92 test rows, not 46). Where no counts agree with Table I (``monk3``,
    erratum E35), the smallest that agree with Table S.IV alone are returned and marked so.
    """
    row = TABLE_S4[dataset]
    accuracy = TABLE_I[dataset][-1]
    candidates = []
    for (tp, positives), (tn, negatives) in product(
        _fractions(row.sensitivity), _fractions(row.specificity)
    ):
        fp = negatives - tn
        precision = 100 * tp / (tp + fp) if tp + fp else 0.0
        if _prints_as(precision, row.precision):
            agrees = _prints_as(100 * (tp + tn) / (positives + negatives), accuracy)
            candidates.append(ImpliedCounts(tp, positives - tp, fp, tn, agrees))
    return min(candidates, key=lambda counts: (*_disagreement(dataset, counts), counts.test_size))


def table_i_test_size(dataset):
    """Return the number of test rows behind RoBell-RVFL's accuracy in Table I.

    It is the size Table S.IV implies where the two tables agree, else (``monk3``) the smallest
    of which the accuracy is a whole share.
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
