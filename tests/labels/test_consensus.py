"""Several annotators' labels: known truths, both forms, what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris, load_wine

from robell import find_consensus


def simulate(y, accuracies, coverage, seed):
    """A table of labels, -1 where an annotator gave none."""
    rng = np.random.default_rng(seed)
    K = y.max() + 1
    right = rng.random((len(y), len(accuracies))) < accuracies
    wrong = (y[:, None] + rng.integers(1, K, right.shape)) % K
    return np.where(rng.random(right.shape) < coverage, np.where(right, y[:, None], wrong), -1)


def with_missing(table):
    return np.where(table >= 0, table, np.nan)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize(("n", "coverage"), [(3, 1.0), (8, 0.3)])
def test_it_beats_the_majority_and_knows_the_annotators(load, n, coverage):
    X, y = load(return_X_y=True)
    accuracies = np.linspace(0.5, 0.95, n)
    table = simulate(y, accuracies, coverage, 0)
    found = find_consensus(with_missing(table), X, random_state=0)
    votes = np.stack([(table == k).sum(axis=1) for k in range(3)], axis=1)
    assert (found.label == y).mean() >= (votes.argmax(axis=1) == y).mean() + 0.03
    assert (found.label == y).mean() > 0.9
    assert np.corrcoef(found.annotator_quality, accuracies)[0, 1] > 0.7
    np.testing.assert_allclose(found.probability.sum(axis=1), 1.0)
    given = table[found.given_row, found.given_annotator]
    right = given == y[found.given_row]
    assert found.given_quality[right].mean() > found.given_quality[~right].mean() + 0.4


def test_without_columns_it_is_better_than_the_majority():
    y = np.random.default_rng(0).integers(0, 3, 400)
    table = simulate(y, np.array([0.95, 0.5, 0.5, 0.55]), 1.0, 1)
    found = find_consensus(table)
    votes = np.stack([(table == k).sum(axis=1) for k in range(3)], axis=1)
    assert (found.label == y).mean() > (votes.argmax(axis=1) == y).mean() + 0.05
    assert found.annotator_quality.argmax() == 0


def test_table_list_pandas_and_polars_give_the_same():
    X, y = load_iris(return_X_y=True)
    table = simulate(y, np.array([0.9, 0.7, 0.6]), 0.7, 0)
    names = np.array(["setosa", "versicolor", "virginica"])
    text = np.where(table >= 0, names[table], None)
    found = find_consensus(text, X, random_state=0)
    frame = pd.DataFrame(text, columns=["ann", "bob", "eve"])
    framed = find_consensus(frame, pd.DataFrame(X), random_state=0)
    assert framed.annotator.tolist() == ["ann", "bob", "eve"]
    polared = find_consensus(pl.from_pandas(frame), X, random_state=0)
    row, who = np.nonzero(table >= 0)
    order = np.random.default_rng(0).permutation(len(row))
    listed = find_consensus(
        text[row, who][order],
        X,
        row=row[order],
        annotator=np.array(["ann", "bob", "eve"])[who][order],
        random_state=0,
    )
    for other in (framed, polared, listed):
        np.testing.assert_array_equal(other.label, found.label)
        np.testing.assert_allclose(other.probability, found.probability, atol=1e-12)


def test_rows_nobody_labelled_are_judged_by_their_columns():
    X, y = load_iris(return_X_y=True)
    table = simulate(y, np.array([0.9, 0.9]), 1.0, 0)
    table[::5] = -1
    found = find_consensus(with_missing(table), X, random_state=0)
    assert (found.label[::5] == y[::5]).mean() > 0.9


def test_next_labels_name_doubtful_rows_and_new_annotators():
    table = np.array([["a", "a", "a"], ["b", "b", "b"], ["a", "b", None]] * 10, dtype=object)
    found = find_consensus(table)
    row, annotator, gain = found.next_labels(5)
    assert set(row % 3) == {2}
    assert set(annotator) == {2}
    assert (np.diff(gain) <= 0).all()
    assert (gain > 0.1).all()
    everybody = found.next_labels(30, new_only=False)
    assert len(np.unique(everybody[0])) == 30


def test_frame_repr_and_text():
    table = np.array([["a", "a", "b"], ["b", "b", "b"], ["a", "a", "a"]] * 5, dtype=object)
    found = find_consensus(table)
    frame = found.to_frame()
    assert list(frame.columns) == ["row", "annotator", "label", "quality", "consensus"]
    assert (frame["annotator"][:5] == 2).all()
    assert "3 annotators" in repr(found)
    assert "right (15 labels)" in str(found)


def test_an_annotator_with_one_label_and_one_class_is_taken_for_an_average_one():
    y = np.tile([0, 1], 50)
    table = np.stack([y, y, np.full(100, -1), np.zeros(100, int)], axis=1)
    table[0, 2] = 0
    found = find_consensus(with_missing(table))
    assert (found.label == y).all()
    assert 0.6 < found.annotator_quality[2] <= 1.0
    assert found.annotator_quality[3] < 0.75


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([["a", "a"]],), "at least two classes"),
        (([[None, None]],), "all missing"),
        ((["a", "b"],), "a column for each annotator"),
        (([["a", "b"]], [[1.0], [2.0]]), "1 rows, X has 2"),
        (([["a", 1]],), "all text or all numbers"),
        (([[0.5, 1.25]],), "Unknown label type: continuous"),
        (([["a", "b"]], [["x"]]), "X must be numeric"),
        (([["a", "b"]], [[np.nan]]), "without missing or infinite"),
    ],
)
def test_what_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        find_consensus(*arguments)


def test_the_long_form_is_checked():
    with pytest.raises(ValueError, match="both row and annotator"):
        find_consensus(["a"], row=[0])
    with pytest.raises(ValueError, match="same length"):
        find_consensus(["a", "b"], row=[0], annotator=[0, 1])
    with pytest.raises(ValueError, match="annotator eve gave row 7 two labels, 'a' and 'b'"):
        find_consensus(["a", "b"], row=[7, 7], annotator=["eve", "eve"])
    with pytest.raises(ValueError, match="positions in X"):
        find_consensus(["a", "b"], [[0.0], [1.0]], row=[0, 5], annotator=[0, 0])


def test_annotators_that_share_no_row_are_said_to_be_incomparable():
    with pytest.warns(UserWarning, match="0% of the rows"):
        find_consensus([["a", None], [None, "b"], ["b", None]])


def test_rows_without_a_label_do_not_make_annotators_incomparable():
    labels = np.full((1000, 2), None, dtype=object)
    labels[:40] = np.array(["a", "b"])[np.arange(40) % 2][:, None]  # each labelled twice
    assert find_consensus(labels).label[:2].tolist() == ["a", "b"]  # a warning is an error here


def test_few_kinds_of_rows_do_not_turn_the_consensus_round():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 400)
    votes = np.where(rng.random((400, 3)) < 0.2, 1 - kind[:, None], kind[:, None])
    found = find_consensus(votes, X=kind[:, None].astype(float), random_state=0)
    assert (np.asarray(found.label) == kind).mean() > 0.98


@pytest.mark.parametrize("n", [1, 12])
def test_a_column_that_says_nothing_changes_nothing(n):
    """Of few rows one class must not take all others: chance was taken for knowledge."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, n)
        labels = np.where(rng.random((n, 3)) < 0.75, truth[:, None], 1 - truth[:, None])
        if len(np.unique(labels)) == 2:
            without = find_consensus(labels).probability
            found = find_consensus(labels, np.ones((n, 1)), random_state=0).probability
            np.testing.assert_allclose(found, without, atol=0.02)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, ""])
@pytest.mark.parametrize("what", ["row", "annotator"])
def test_a_label_of_no_row_or_annotator_is_named(what, missing):
    """It would be one more row, or one annotator of all who are not known."""
    given = {"row": np.repeat(np.arange(4), 2), "annotator": np.tile(["ann", "bob"], 4)}
    given[what] = given[what].astype(object)
    given[what][3] = missing
    with pytest.raises(ValueError, match=f"label 3 has no {what}: leave such labels out"):
        find_consensus(list("aabbabab"), **given)


def test_an_arrow_table_names_its_annotators():
    frame = pd.DataFrame({"ann": ["a", "b", "a"], "bob": ["a", "b", "b"]})
    assert find_consensus(pa.table(frame)).annotator.tolist() == ["ann", "bob"]
