"""The five raw tables with known truth: what they say about themselves is so."""

import csv

import numpy as np
import pytest
import raw_tables
from sklearn.metrics import roc_auc_score

CLASSES = ["claims with a leak", "claims", "six classes"]


def cells_of(text):
    header, *rows = csv.reader(text.splitlines())
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


@pytest.mark.parametrize("name", raw_tables.TABLES)
def test_a_table_is_the_same_for_the_same_seed_and_another_for_another(name):
    make = raw_tables.TABLES[name]
    assert make(3).text == make(3).text != make(4).text


@pytest.mark.parametrize("name", raw_tables.TABLES)
def test_numbers_are_the_plain_cells_and_written_otherwise(name):
    table = raw_tables.TABLES[name](1)
    raw, plain = cells_of(table.text), cells_of(table.plain)
    written_otherwise = 0
    for column, values in table.numbers.items():
        read = [float(cell) if cell else np.nan for cell in plain[column]]
        np.testing.assert_allclose(read, values, rtol=0, atol=1e-9)
        written_otherwise += raw[column] != plain[column]
    assert written_otherwise >= 4


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("seed", range(3))
def test_wrong_labels_are_those_that_differ_from_the_truth(name, seed):
    table = raw_tables.TABLES[name](seed)
    given = np.array([cell.lower() for cell in cells_of(table.text)[table.target]])
    assert ((given != table.right) == table.wrong).all()
    assert 0.6 * table.rate < table.wrong.mean() < 1.4 * table.rate
    if table.noise == "one-sided":
        assert len(set(table.right[table.wrong])) == 1
    if table.noise == "by group":
        first = table.groups == np.unique(table.groups)[0]
        assert table.wrong[first].mean() > 2 * table.wrong[~first].mean()


def test_wrong_prices_are_far_from_the_right_ones():
    table = raw_tables.flats(1)
    given = np.array([float(cell) for cell in cells_of(table.plain)["price"]])
    assert (given[~table.wrong] == table.right[~table.wrong]).all()
    assert (np.abs(np.log(given / table.right))[table.wrong] > 0.05).all()


@pytest.mark.parametrize("name", [*CLASSES, "annotators"])
def test_the_posterior_is_calibrated_and_the_classes_overlap(name):
    """Of the rows to which the posterior gives p, a share p is of the class."""
    tables = [raw_tables.TABLES[name](seed) for seed in range(6)]
    P = np.concatenate([table.posterior for table in tables])
    right = np.concatenate([table.right for table in tables])
    areas = []
    for k, label in enumerate(tables[0].classes):
        for low in np.arange(0.0, 1.0, 0.2):
            some = (P[:, k] >= low) & (P[:, k] < low + 0.2)
            n, p = some.sum(), P[some, k]
            error = (right[some] == label).mean() - p.mean()
            assert abs(error) < 4 * np.sqrt((p * (1 - p)).sum()) / n + 1e-9
        areas.append(roc_auc_score(right == label, P[:, k]))
    assert 0.85 < np.mean(areas) < (0.98 if len(areas) > 3 else 0.95)


@pytest.mark.parametrize("kind", raw_tables.KINDS_OF_LEAK)
def test_a_leak_tells_the_label_nearly_by_itself(kind):
    table = raw_tables.claims(2, leak=kind)
    (name,) = table.leaks
    cells = cells_of(table.text)
    yes = np.array([cell.lower() == "yes" for cell in cells[table.target]])
    values = np.array(cells[name])
    tells = {
        "filled": values != "",
        "zero": values == "€ 0,00",
        "copy": values == "rejected",
    }[kind]
    assert (tells == yes).mean() > 0.96
