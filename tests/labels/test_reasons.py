"""Why rows are suspect: the columns that speak against a label, in words."""

import numpy as np
import pandas as pd
import pytest

from robell import audit
from robell.models._contributions import contributions


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    ill = np.repeat([False, True], 60)
    frame = pd.DataFrame(
        {
            "glucose": np.where(ill, 180, 95) + rng.normal(0, 8, 120).round(1),
            "smoker": np.where(rng.random(120) < np.where(ill, 0.9, 0.1), "yes", "no"),
            "noise": rng.normal(size=120).round(3),
            "finding": np.where(ill, "ill", "healthy"),
        }
    )
    frame.loc[[100, 110], "finding"] = "healthy"
    frame.loc[[100, 110], "glucose"] = 189.0
    frame.loc[[100, 110], "smoker"] = "yes"
    return audit(frame, "finding")


def test_the_columns_that_speak_against_a_label_are_named_in_words(result):
    assert {101, 111} <= set(result.reasons)
    for row in (101, 111):
        first, *others = result.reasons[row]
        assert first.column == "glucose"
        assert first.text.startswith("glucose 189")
        assert " is high for 'healthy' (usual " in first.text
        assert first.weight > 0
        assert all(0 < reason.weight <= first.weight for reason in others)
        assert "noise" not in [reason.column for reason in others]


def test_reasons_stand_in_the_table_the_summary_and_the_page(result, tmp_path):
    frame = result.to_frame()
    text = frame.loc[frame["row"] == 101, "reasons"].item()
    assert text.startswith("glucose 189")
    assert (frame.loc[~frame["suspect"], "reasons"] == "").all()
    assert result.summary()["reasons"]["101"][0] == result.reasons[101][0].text
    page = result.write(tmp_path / "x").html.read_text(encoding="utf-8")
    assert "is high for &#x27;healthy&#x27; (usual" in page or "is high for 'healthy'" in page


def test_contributions_are_exact_for_sums_and_products_of_columns():
    rng = np.random.default_rng(0)
    X, typical = rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    slopes = np.array([1.0, -2.0, 0.5, 3.0])
    groups = [[0], [1], [2, 3]]
    linear = contributions(lambda rows: rows @ slopes, X, typical, groups)
    moved = (X - typical) * slopes
    np.testing.assert_allclose(linear, np.stack([moved[:, g].sum(axis=1) for g in groups], 1))

    def paired(rows):
        return rows @ slopes + rows[:, 0] * rows[:, 1]

    phi = contributions(paired, X, typical, groups)
    np.testing.assert_allclose(phi.sum(axis=1), paired(X) - paired(typical))
    one = contributions(paired, X, typical[0], groups)
    many = contributions(paired, X, np.repeat(typical[:1], 5, axis=0), groups)
    np.testing.assert_allclose(one, many)


def test_scores_of_values_are_kept_from_one_part_of_a_table_to_the_next():
    rng = np.random.default_rng(0)
    X, typical, scored = rng.integers(-4, 5, (60, 3)).astype(float), np.zeros(3), []

    def score(rows):
        scored.append(len(rows))
        return rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2])

    groups, known = [[0], [1], [2], [0, 1]], {}
    whole = contributions(score, X, typical, groups)
    parts = [contributions(score, X[k : k + 20], typical, groups, known=known) for k in (0, 20, 40)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    scored.clear()
    again = contributions(score, X, typical, groups, known=known)
    np.testing.assert_array_equal(again, whole)
    single = len(np.unique(X[:, :2], axis=0))  # pairs of values are scored again
    assert sum(scored) == single + len(X) * (1 + len(groups)) + 1


def test_a_label_of_which_every_row_is_suspect_has_reasons_too():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 30)
    frame = pd.DataFrame(5.0 * np.eye(6)[y] + 0.7 * rng.normal(size=(180, 6))).add_prefix("x")
    odd = np.isin(np.arange(180), rng.choice(180, 5, replace=False))
    found = audit(frame.assign(y=np.where(odd, "odd", [f"class {k}" for k in y])), "y")
    assert set(found.reasons) == set(np.flatnonzero(odd) + 1)
    for reasons in found.reasons.values():
        assert reasons
        assert "for 'odd' (usual " in reasons[0].text
