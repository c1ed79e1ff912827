"""The paper's printed tables as data, and what follows from them by arithmetic alone.

Source of every figure: A. Rahaman, A. Quadir, M. Tanveer, *RoBell-RVFL: A Robust Generalized Bell
Random Vector Functional Link Network*, arXiv 2608.16965 (2026): Table I and the text of its
statistical tests, Tables S.I to S.IV and Sections S.VI to S.VIII of its supplement. Figures stand
as printed, misprints included; what is wrong with them is told in ``docs/errata.md``. Accuracies
and the like are percentages.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

MODELS = {
    "rvfl": "RVFL",
    "elm": "RVFLwoDL",
    "nf": "NF-RVFL",
    "crvfl": "C-RVFL",
    "acrvfl": "AC-RVFL",
    "gb": "GB-RVFL",
    "gegb": "GE-GB-RVFL",
    "robell": "RoBell-RVFL",
}


def _rows(table):
    """Return {first word: the other words} of a table written as text."""
    lines = [line.split() for line in table.strip().splitlines()]
    return {name: cells for name, *cells in lines}


# Test accuracy, one column per model in the order of MODELS.
TABLE_I = {
    name: tuple(float(cell) for cell in cells)
    for name, cells in _rows("""
checkerboard_Data              85.9423 85.9808 85.5769 83.1731 85.5769 87.0192 87.0192    87.5
cleve                          81.1111      80 82.2222 73.3333 81.1111 75.5556 82.2222 83.3333
cmc                             68.552  68.552 67.6471  60.181 57.6923 68.0996  68.552 66.9683
congressional_voting           61.0687 61.0687 51.9084 61.0687 64.1221 61.0687 61.0687 60.3053
conn_bench_sonar_mines_rocks   74.6032 71.4286 74.6032 65.0794 66.6667 74.6032  68.254 82.5397
crossplane130                  97.4359 97.4359     100 79.4872 89.7436     100 97.4359 97.4359
crossplane150                  81.1111 81.1111 88.8889 88.8889 73.3333 86.6667 73.3333 93.3333
echocardiogram                      85    87.5      80      85    87.5    87.5      87    82.5
ecoli0137vs26                  85.7447 86.8085 94.6809 82.9787  87.234  87.234 88.2979 94.6809
ecoli2                         82.0792 81.0891 88.1188 89.1089 89.1089 87.1287 87.1287 88.1188
fertility                           90      80 73.3333      90      90 86.6667      90 86.6667
haberman                        76.087  76.087 77.1739 82.6087 82.6087 78.2609 77.1739  76.087
haberman_survival               76.087 78.2609 71.7391 82.6087 82.6087 78.2609 77.1739  76.087
heart_hungarian                72.7753 72.6517 79.7753 75.2809 76.4045 74.1573 74.1573 75.2809
heart-stat                     81.8889 81.8889 87.6543 77.7778  82.716 82.7161 81.4815 87.6543
iono                           88.6792  80.566 83.9623 86.7925 88.6792 83.9623 84.9057  90.566
ionosphere                     82.7925 82.4528 87.7358 85.8491 83.9623 83.9623 83.0189 85.8491
led7digit-0-2-4-5-6-7-8-9_vs_1 94.7368 94.7368 92.4812 93.2331 93.2331  93.985 94.7368 96.2406
molec_biol_promoter                 71  71.875    62.5    62.5  71.875  71.875      75  65.625
monk1                           42.515 52.0958 44.3114 43.1138 44.3114 44.3114 47.9042 53.8922
monk3                          43.1138 43.1138 76.0884 43.7126  45.509 44.9102  45.509  45.509
monks_3                        90.4072 90.4072 90.6347 74.8503 85.0299 85.6287  91.018  97.006
oocytes_merluccius_nucleus_4d  80.7134 82.7362 75.1792 67.4267 77.1987 80.7818 78.5016 78.1759
vehicle1                       81.6772 81.8583 83.8583 77.5591 77.9528 81.1024 79.9213 83.8583
vehicle2                       90.8504 90.0315 97.6378  88.189 86.6142 91.7323 92.5197 97.6378
yeast-0-2-5-7-9_vs_3-6-8        95.351 89.7086 95.6954 91.0596 91.3907 98.0133  97.351 96.3576
""").items()
}
DATASETS = tuple(TABLE_I)
TABLE_I_AVERAGE = (79.2817, 78.8248, 80.5156, 76.5716, 78.5455, 79.8155, 79.6417, 81.8927)
TABLE_I_RANK = (5.0385, 5.0769, 4.2692, 5.7308, 4.5962, 4.0577, 4.0, 3.2308)

# The Friedman test of the text, and the critical value of F(7, 175) at 5 %.
FRIEDMAN = {"chi2": 18.4495, "F": 2.8202, "critical": 2.0622}

# Table S.I: wins-ties-losses of the row's model against the column's, in the printed order.
_S1_COLUMNS = ("elm", "rvfl", "nf", "crvfl", "acrvfl", "gb", "gegb")
_S1_CELLS = {
    (row, column): tuple(int(count) for count in cell.split("-"))
    for row, cells in _rows("""
rvfl     9-9-8
nf     16-0-10 15-1-10
crvfl  10-1-15  8-3-15  8-2-16  9-2-17
acrvfl 13-2-11 12-3-11 10-2-14  17-5-4
gb      15-4-7  17-2-7 11-4-11  17-1-8  12-5-9
gegb    14-4-8  15-5-6 13-2-11  17-2-7  14-3-9 11-4-11
robell  18-2-6  17-3-6  15-5-6  18-2-6  17-1-8  16-1-9  15-2-9
""").items()
    for column, cell in zip(_S1_COLUMNS, cells, strict=False)
}
# One cell sets C-RVFL against itself; the other 28 are every pair of models once.
SELF_CELL = _S1_CELLS[("crvfl", "crvfl")]
WIN_TIE_LOSS = {pair: cell for pair, cell in _S1_CELLS.items() if pair[0] != pair[1]}
SIGN_THRESHOLD = 18

# Table S.II: accuracy after label noise, one column per model of NOISE_MODELS.
NOISE_MODELS = ("robell", "rvfl", "gb")
NOISE_LEVELS = (5, 10, 20, 30, 40)
_LED7 = "led7digit-0-2-4-5-6-7-8-9_vs_1"
NOISE_DATASETS = ("heart-stat", "heart_hungarian", _LED7, "monk1", "vehicle2")
_S2_CELLS = """
85.1852 85.1235  54.321
90.1235 82.7161 86.4198
81.4815 83.9506 82.7161
81.4815 56.7901 82.7161
49.3827 50.6173 77.7778

78.6517 74.1573 75.2809
77.5281 71.9101 74.1573
82.0225 76.4045 80.8989
66.2921 61.7978 67.4157
64.0449 64.0449 55.0562

95.4887 91.7368 83.4587
 93.985 94.7368 94.7368
93.2331  83.985 73.6842
87.9699 84.2105 61.6541
88.7218 70.4511  43.609

53.8922 46.7066 43.7126
 48.503  48.503 50.2994
 48.503 47.9042  51.497
 45.509 52.0958 47.3054
52.0958 48.8982 49.7006

94.8819 97.2441 92.9134
95.2756 95.2756  96.063
90.5512 93.7008 93.3071
85.4331 94.0945 92.5197
 76.378 60.7087 60.2362
"""
TABLE_S2 = {
    name: {
        level: tuple(float(cell) for cell in line.split())
        for level, line in zip(NOISE_LEVELS, block.splitlines(), strict=True)
    }
    for name, block in zip(NOISE_DATASETS, _S2_CELLS.strip("\n").split("\n\n"), strict=True)
}
TABLE_S2_AVERAGE = {
    "heart-stat": (77.5309, 71.8395, 76.7902),
    "heart_hungarian": (73.7079, 69.6629, 70.5618),
    _LED7: (91.8797, 85.024, 71.4286),
    "monk1": (49.7006, 48.8216, 48.503),
    "vehicle2": (88.504, 88.2047, 87.0079),
}
TABLE_S2_OVERALL = (78.4137, 76.761, 76.4659)

# Table S.III: index 1 to 10 of the activation functions, by robell's names.
ACTIVATIONS = (
    "selu",
    "relu",
    "sigmoid",
    "sin",
    "hardlim",
    "tribas",
    "radbas",
    "sign",
    "leaky_relu",
    "tansig",
)


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


def _best_settings(cells):
    integers = ("n_hidden", "activation_index")
    return BestSettings(
        *(
            int(cell) if field in integers else float(cell)
            for field, cell in zip(BestSettings._fields, cells, strict=True)
        )
    )


TABLE_S4 = {
    name: _best_settings(cells)
    for name, cells in _rows("""
checkerboard_Data               91.2088 84.6154 82.1782 91.2088 86.4583 87.8503   0.01 163  6      2     1
cleve                           85.3659 81.6327 79.5455 85.3659 82.3529 83.4784      0 143  8     16     1
cmc                              94.332 32.3077 63.8356  94.332 76.1438 55.2055 100000 183  9      2 0.625
congressional_voting                  2 96.2963      25       2  3.7037 13.8778      0  63  1     16 0.625
conn_bench_sonar_mines_rocks    79.3103 85.2941 82.1429 79.3103 80.7018 82.2478    0.1 203  9  0.125  0.75
crossplane130                       100 94.7368 95.2381     100  97.561 97.3329      0  63  4 0.0625   0.5
crossplane150                   88.2353 96.4286   93.75 88.2353 90.9091  92.241  10000 103  9      8   0.5
echocardiogram                  53.3333     100     100 53.3333 69.5652 73.0297  0.001  43  4      8     1
ecoli0137vs26                   86.6667 96.2025   81.25 86.6667  83.871 91.3102     10 163  2     16  0.75
ecoli2                          54.5455 92.2222 46.1538 54.5455      50 70.9246      1  43  7      2  0.75
fertility                       33.3333 92.5926 33.3333 33.3333 33.3333 55.5556      1 143  5      8  0.75
haberman                        86.8421      25 84.6154 86.8421 85.7143 46.5946   1000 163  7     32 0.875
haberman_survival                    25 86.8421 28.5714      25 26.6667 46.5946   1000 163  7     32 0.875
heart_hungarian                  83.871 70.6897 60.4651  83.871 70.2703 76.9988      0  43  8 0.0313 0.625
heart-stat                      89.1304 85.7143 89.1304 89.1304 89.1304 87.4057      0  83  8     32     1
iono                            95.6522 81.0811  90.411 95.6522 92.9577 88.0658   0.01 123  1      2 0.625
ionosphere                        91.25 69.2308 90.1235   91.25 90.6832 79.4815    0.1  43  7      2   0.5
led7digit-0-2-4-5-6-7-8-9_vs_1  77.7778 97.5806      70 77.7778 73.6842 87.1183 0.0001 163  2    0.5     1
molec_biol_promoter             55.5556 78.5714 76.9231 55.5556 64.5161 66.0687      1 143  2      1     1
monk1                                 0     100       0       0       0       0     10   3  6  0.125 0.875
monk3                           82.0896 85.0877 76.3889 82.0896 79.1367 83.5752  10000 203  3      2 0.875
monks_3                         93.5065     100     100 93.5065 96.6443 96.6988    0.1 163  2      1     1
oocytes_merluccius_nucleus_4d   84.9246 65.7407 82.0388 84.9246 83.4568 74.7195      1 183  9      2  0.75
vehicle1                        81.6667 84.5361 62.0253 81.6667 70.5036  83.089  10000 123  9      2 0.875
vehicle2                        94.3662 98.9071 97.1014 94.3662 95.7143   96.61      1 123  3      2     1
yeast-0-2-5-7-9_vs_3-6-8        71.4286 98.9051 86.9565 71.4286 78.4314 84.0515 100000  63  7      2   0.5
""").items()  # noqa: E501 - a row of the table is a line
}

# The grids of Section S.IV; Table S.IV prints two of their points rounded to four decimals.
GAMMA_GRID = tuple(10.0**power for power in range(-5, 6))
KERNEL_WIDTH_GRID = tuple(2.0**power for power in range(-5, 6))
RHO_GRID = (0.5, 0.625, 0.75, 0.875, 1.0)
N_HIDDEN_GRID = tuple(range(3, 204, 20))


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

    Parameters
    ----------
    dataset : str
        One of ``DATASETS``.

    Returns
    -------
    parameters : dict
        ``C`` (the paper's gamma), ``n_hidden``, ``activation``, ``kernel_width``, ``rho``.

    Examples
    --------
    >>> from robell.studies.paper.printed import s4_parameters
    >>> s4_parameters("heart_hungarian")
    {'C': 1e-05, 'n_hidden': 43, 'activation': 'sign', 'kernel_width': 0.03125, 'rho': 0.625}
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

    Parameters
    ----------
    percentage : float
        As printed, to four decimals.
    n_test : int
        Number of rows it is a share of.

    Returns
    -------
    attainable : bool
        Whether some whole k gives it.

    Examples
    --------
    >>> from robell.studies.paper.printed import attainable
    >>> attainable(87.5, 208), attainable(85.9423, 208)
    (True, False)
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

    Parameters
    ----------
    dataset : str
        One of ``DATASETS``.

    Returns
    -------
    counts : ImpliedCounts
        ``tp, fn, fp, tn, agrees_with_table_i`` with the properties ``test_size`` and ``accuracy``.

    Examples
    --------
    >>> from robell.studies.paper.printed import implied_counts
    >>> counts = implied_counts("haberman")
    >>> counts.tp, counts.fn, counts.fp, counts.tn
    (66, 10, 12, 4)
    >>> counts.test_size
    92
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

    Parameters
    ----------
    dataset : str
        One of ``DATASETS``.

    Returns
    -------
    n_test : int
        Number of rows.

    Examples
    --------
    >>> from robell.studies.paper.printed import table_i_test_size
    >>> table_i_test_size("vehicle2"), table_i_test_size("monk3")
    (254, 167)
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


SENSITIVITY_DATASETS = ("heart_hungarian", "vehicle2", _LED7)


class Claim(NamedTuple):
    """A statement of the paper in short paraphrase, to be held against measurements.

    ``kernel_width`` and ``rho`` are the closed ranges in which the statement places the best
    results, where it names any; ``None`` says that it does not.
    """

    key: str
    place: str
    datasets: tuple[str, ...]
    text: str
    kernel_width: tuple[float, float] | None = None
    rho: tuple[float, float] | None = None


_S8 = "Section S.VIII"
CLAIMS = (
    Claim(
        "width-hungarian",
        f"{_S8} (i)",
        ("heart_hungarian",),
        "accuracy rises with the kernel width up to 4 and falls beyond",
        kernel_width=(4.0, 4.0),
    ),
    Claim(
        "width-vehicle2",
        f"{_S8} (i)",
        ("vehicle2",),
        "accuracy falls noticeably once the kernel width exceeds 2",
        kernel_width=(2.0**-5, 2.0),
    ),
    Claim(
        "width-led7digit",
        f"{_S8} (i)",
        (_LED7,),
        "accuracy hardly depends on the kernel width and peaks at 1/32",
        kernel_width=(2.0**-5, 2.0**-5),
    ),
    Claim(
        "width-all",
        f"{_S8} (i)",
        SENSITIVITY_DATASETS,
        "the best kernel width is at most 4 on every set, so the search may stop there",
        kernel_width=(2.0**-5, 4.0),
    ),
    Claim(
        "rho-vehicle2",
        f"{_S8} (ii)",
        ("vehicle2",),
        "accuracy improves gradually as rho grows",
        rho=(1.0, 1.0),
    ),
    Claim(
        "rho-others",
        f"{_S8} (ii)",
        ("heart_hungarian", _LED7),
        "accuracy is highest for rho of 0.625 and more",
        rho=(0.625, 1.0),
    ),
    Claim(
        "joint-hungarian",
        f"{_S8} (iii)",
        ("heart_hungarian",),
        "accuracy is high and stable for rho near 1 and kernel widths from 1 to 32",
        kernel_width=(1.0, 32.0),
        rho=(0.875, 1.0),
    ),
    Claim(
        "joint-vehicle2",
        f"{_S8} (iii)",
        ("vehicle2",),
        "best for kernel widths from 1/8 to 2 and rho near 1; larger widths cost much accuracy",
        kernel_width=(0.125, 2.0),
        rho=(0.875, 1.0),
    ),
    Claim(
        "joint-led7digit",
        f"{_S8} (iii)",
        (_LED7,),
        "robust for every rho and kernel widths of 1/4 and more",
        kernel_width=(0.25, 32.0),
        rho=(0.5, 1.0),
    ),
    Claim(
        "joint-advice",
        f"{_S8} (iii)",
        SENSITIVITY_DATASETS,
        "rho near 1 with a kernel width from 1/4 to 2 is a reliable default on every set",
        kernel_width=(0.25, 2.0),
        rho=(0.875, 1.0),
    ),
)
