"""The paper's tables as data: complete, and consistent with themselves where the paper is."""

import csv
from itertools import combinations, product
from math import isclose, sqrt

import numpy as np
import pytest

from robell import RoBellRVFLClassifier
from robell._core.layers.features import ACTIVATIONS as LIBRARY_ACTIVATIONS
from robell.studies.paper import printed
from robell.studies.paper.printed import (
    CLAIMS,
    DATASETS,
    MODELS,
    NOISE_DATASETS,
    NOISE_LEVELS,
    NOISE_MODELS,
    SENSITIVITY_DATASETS,
    TABLE_I,
    TABLE_S2,
    TABLE_S4,
    WIN_TIE_LOSS,
    WORDS,
    attainable,
    implied_counts,
    s4_parameters,
    table_i_test_size,
)


def prints_as(value, printed_value):
    """Equal at four decimals, a half going either way (81.89265 is printed as 81.8927)."""
    return abs(value - printed_value) <= 0.5e-4 + 1e-9


def test_the_tables_are_complete():
    assert list(MODELS)[-1] == "robell"
    assert len(MODELS) == 8
    assert len(DATASETS) == len(set(DATASETS)) == 26
    assert set(TABLE_S4) == set(DATASETS)
    assert all(len(row) == len(MODELS) for row in TABLE_I.values())
    assert all(0 < value <= 100 for row in TABLE_I.values() for value in row)
    assert tuple(TABLE_S2) == NOISE_DATASETS
    assert set(NOISE_DATASETS) | set(SENSITIVITY_DATASETS) <= set(DATASETS)
    for levels in TABLE_S2.values():
        assert tuple(levels) == NOISE_LEVELS
        assert all(len(row) == len(NOISE_MODELS) for row in levels.values())


def test_the_averages_of_table_i_are_those_of_its_cells():
    averages = np.mean(list(TABLE_I.values()), axis=0)
    for average, printed_average in zip(averages, printed.TABLE_I_AVERAGE):
        assert prints_as(average, printed_average)


def test_the_datasets_averages_of_table_s2_are_those_of_its_cells():
    for dataset, levels in TABLE_S2.items():
        averages = np.mean(list(levels.values()), axis=0)
        for average, printed_average in zip(averages, printed.TABLE_S2_AVERAGE[dataset]):
            assert prints_as(average, printed_average), dataset


def test_table_s1_has_every_pair_of_models_once():
    assert {frozenset(pair) for pair in WIN_TIE_LOSS} == {
        frozenset(pair) for pair in combinations(MODELS, 2)
    }
    assert len(WIN_TIE_LOSS) == 28
    assert all(sum(cell) == len(DATASETS) for cell in WIN_TIE_LOSS.values())


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_measures_of_table_s4_follow_from_the_implied_counts(dataset):
    """Recall, F and G-mean are no part of the search, so they confirm it."""
    row, counts = TABLE_S4[dataset], implied_counts(dataset)
    sensitivity = counts.tp / (counts.tp + counts.fn)
    specificity = counts.tn / (counts.tn + counts.fp)
    f_measure = 2 * counts.tp / (2 * counts.tp + counts.fp + counts.fn)
    assert prints_as(100 * sensitivity, row.sensitivity)
    assert row.recall == row.sensitivity
    assert prints_as(100 * specificity, row.specificity)
    assert prints_as(100 * f_measure, row.f_measure)
    assert prints_as(100 * sqrt(sensitivity * specificity), row.g_mean)


@pytest.mark.parametrize("dataset", DATASETS)
def test_other_counts_that_print_so_are_multiples(dataset):
    """By trying every pair of class sizes with the nearest counts, no candidates left out."""
    row, counts = TABLE_S4[dataset], implied_counts(dataset)
    sizes = range(1, 301)
    positives = [n for n in sizes if prints_as(100 * nearest(row.sensitivity, n) / n, row[0])]
    negatives = [n for n in sizes if prints_as(100 * nearest(row.specificity, n) / n, row[1])]
    ratio = (counts.tp + counts.fn) / (counts.tn + counts.fp)
    found = 0
    for p, m in product(positives, negatives):
        tp, tn = nearest(row.sensitivity, p), nearest(row.specificity, m)
        accuracy, chosen = 100 * (tp + tn) / (p + m), tp + m - tn
        precision = 100 * tp / chosen if chosen else 0.0
        if prints_as(precision, row.precision) and prints_as(accuracy, counts.accuracy):
            found += 1
            assert isclose(p / m, ratio)
    assert found > 0


def nearest(percentage, whole):
    return round(percentage * whole / 100)


def test_implied_counts_are_those_found_apart(data_dir):
    """A file of counts recovered by another program, with the sizes of the sets known."""
    with (data_dir / "paper_implied_counts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["dataset"] for row in rows} == set(DATASETS)
    for row in rows:
        counts = implied_counts(row["dataset"])
        assert counts.test_size == int(row["test_size"])
        assert counts.tp + counts.fn == int(row["P_positives"])
        assert counts.fp + counts.tn == int(row["M_negatives"])
        assert (counts.tp, counts.tn) == (int(row["tp"]), int(row["tn"]))
        assert counts.agrees_with_table_i == (row["agree"] == "True")


def test_the_activations_stand_in_the_librarys_order():
    assert tuple(LIBRARY_ACTIVATIONS) == printed.ACTIVATIONS
    assert TABLE_S4["heart_hungarian"].activation == "sign"


@pytest.mark.parametrize("dataset", DATASETS)
def test_s4_parameters_lie_on_the_grid_and_fit(dataset, imbalanced):
    parameters = s4_parameters(dataset)
    row = TABLE_S4[dataset]
    assert parameters["C"] in printed.GAMMA_GRID
    assert parameters["kernel_width"] in printed.KERNEL_WIDTH_GRID
    assert parameters["rho"] in printed.RHO_GRID
    assert parameters["n_hidden"] in printed.N_HIDDEN_GRID
    assert (parameters["C"], row.gamma) == (1e-5, 0) or parameters["C"] == row.gamma
    model = RoBellRVFLClassifier(**parameters, random_state=0).fit(*imbalanced)
    assert model.get_params().items() >= parameters.items()


def test_a_value_that_is_on_no_grid_is_refused():
    with pytest.raises(ValueError, match="print of 0 points"):
        printed._on_grid(0.3, printed.GAMMA_GRID)


def test_attainable():
    assert attainable(100 * 67 / 81, 81)
    assert attainable(82.716, 81)
    assert attainable(82.7161, 81)
    assert not attainable(82.7162, 81)
    assert not attainable(87.0, 40)


def test_sizes_behind_table_i():
    """70:30 of the public files' row numbers, truncated as the split's expression truncates."""
    rows = {"checkerboard_Data": 690, "haberman": 306, "monk3": 554, "cmc": 1473, "vehicle2": 846}
    for dataset, n_rows in rows.items():
        assert table_i_test_size(dataset) == n_rows - int(n_rows * (1 - 0.30))


def test_claims_name_sets_and_ranges_of_the_grids():
    assert len({claim.key for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert set(claim.datasets) <= set(DATASETS)
        for limits, grid in (
            (claim.kernel_width, printed.KERNEL_WIDTH_GRID),
            (claim.rho, printed.RHO_GRID),
        ):
            assert limits is None or (limits[0] <= limits[1] and set(limits) <= set(grid))
        assert claim.kernel_width is not None or claim.rho is not None
        assert claim.words
        assert set(claim.words) <= set(WORDS)
        assert claim.line in (None, "kernel_width", "rho")
