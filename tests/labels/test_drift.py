"""Labels of two tables compared: the level holds where only the rows differ, changes are found."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from robell import audit, find_label_drift
from robell._core.labels.groups import judge_changes, products
from robell.cli.main import main


def drawn(rng, n, shift=0.0, changed=0.0):
    """Rows whose labels follow a curve of the columns; `changed` of the ones become zeros."""
    X = rng.normal(size=(n, 3))
    X[:, 0] += shift
    p = 1 / (1 + np.exp(-(1.5 * X[:, 0] + 1.5 * np.sin(2 * X[:, 1]) - 0.5)))
    y = (rng.random(n) < p).astype(int)
    y[(rng.random(n) < changed) & (y == 1)] = 0
    return X, y


def alarms(times, n, seed, **new):
    rng = np.random.default_rng(seed)
    found = [
        find_label_drift(*drawn(rng, n), *drawn(rng, n, **new), random_state=0)
        for _ in range(times)
    ]
    return np.mean([one.changed is True for one in found]), found


@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_other_rows_are_not_taken_for_other_labels(shift):
    share, found = alarms(30, 100, 0, shift=shift)
    assert share <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 30)
    covered = [one.low[1] <= 0.0 <= one.high[1] for one in found]
    assert np.mean(covered) > 0.85
    assert all(not one.regions for one in found if not one.changed)


def test_other_labels_are_found_and_measured():
    share, found = alarms(6, 400, 1, shift=0.5, changed=0.3)
    assert share > 0.9
    # a third of the ones are gone; among the rows both tables have, about half were ones
    assert np.mean([one.change[1] for one in found]) == pytest.approx(-0.15, abs=0.05)
    assert all(one.detectable < 0.15 for one in found)
    assert all(one.regions for one in found if one.changed)


def test_few_rows_know_that_they_tell_little():
    rng = np.random.default_rng(2)
    small = find_label_drift(*drawn(rng, 60), *drawn(rng, 60), random_state=0)
    large = find_label_drift(*drawn(rng, 600), *drawn(rng, 600), random_state=0)
    assert small.detectable > 2 * large.detectable
    assert "would be found every other time" in str(large)
    with pytest.raises(ValueError, match="30 labelled rows or more; these have 20 and 60"):
        find_label_drift(*drawn(rng, 20), *drawn(rng, 60), random_state=0)


def test_tables_without_rows_alike_cannot_be_compared():
    rng = np.random.default_rng(3)
    found = find_label_drift(*drawn(rng, 200), *drawn(rng, 200, shift=12.0), random_state=0)
    assert found.changed is None
    assert found.overlap < 0.1
    assert "too few rows alike" in str(found)


def test_sums_are_those_of_the_definition():
    rng = np.random.default_rng(4)
    R, S = rng.normal(size=(50, 2)), rng.normal(size=50)
    regions = np.stack([np.ones(50, bool), rng.random(50) < 0.5])
    found = judge_changes(*products(R, S, regions), rng)
    for g in range(2):
        for k in range(2):
            terms = np.array([R[i, k] * S[i] if regions[g, i] else 0.0 for i in range(50)])
            T = terms.sum() / np.sqrt(((terms - terms.mean()) ** 2).sum())
            assert found.statistic[2 * g + k] == pytest.approx(T)
            theta = terms.sum() / (S[regions[g]] ** 2).sum()
            assert found.change[2 * g + k] == pytest.approx(theta)
    single = judge_changes(*products(R[:, :1], S, regions[:1]), rng)
    expected = 2 * norm.sf(abs(single.statistic[0]))
    assert single.p_value[0] == pytest.approx(expected, abs=0.02)
    assert (found.p_value >= 2 * norm.sf(np.abs(found.statistic)) - 1e-12).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X_new": np.ones((60, 2))}, "X_old has 3 columns, X_new has 2"),
        ({"y_new": np.ones(3)}, "X_new has 60 rows, y_new has 3"),
        ({"X_new": np.full((60, 3), np.nan)}, "without missing or infinite cells"),
        ({"y_old": np.ones(60), "y_new": np.ones(60)}, "at least two classes"),
    ],
)
def test_bad_input_is_one_line(change, message):
    rng = np.random.default_rng(5)
    (X_old, y_old), (X_new, y_new) = drawn(rng, 60), drawn(rng, 60)
    given = {"X_old": X_old, "y_old": y_old, "X_new": X_new, "y_new": y_new} | change
    with pytest.raises(ValueError, match=message):
        find_label_drift(**given)


def fruit(n, seed, green_pears_are_apples=0.0, start="2024-01-01"):
    """A raw table, with a date that only moves on."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["apple", "pear"], n)
    weight = rng.normal(np.where(kind == "apple", 150, 175), 12).round(1)
    colour = np.where(rng.random(n) < np.where(kind == "apple", 0.3, 0.7), "green", "red")
    other = (kind == "pear") & (colour == "green") & (rng.random(n) < green_pears_are_apples)
    label = np.where(other, "apple", kind)
    day = pd.date_range(start, periods=n, freq="D").strftime("%Y-%m-%d")
    return pd.DataFrame({"weight": weight, "colour": colour, "day": day, "fruit": label})


def test_the_audit_says_where_labels_have_changed(tmp_path, capsys):
    old, new = tmp_path / "june.csv", tmp_path / "july.csv"
    fruit(300, 0).to_csv(old, index=False)
    fruit(300, 1, 0.5, start="2026-01-01").to_csv(new, index=False)
    out = tmp_path / "found.json"
    arguments = ["audit", str(new), "--target", "fruit", "--against", str(old), "--json", str(out)]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert "Labels are given differently than in 'june.csv'" in capsys.readouterr().out
    found = json.loads(out.read_text())["against"]
    assert found["changed"] is True
    assert found["columns_left_out"] == ["day"]
    assert found["where"][0]["where"] in ("'colour' = 'green'", "rows that look like 'pear'")
    page = (tmp_path / "july-audit.html").read_text()
    assert 'id="against"' in page
    assert "more than before carry the label" in page


def test_the_audit_sees_no_change_where_there_is_none():
    result = audit(fruit(300, 6), "fruit", against=fruit(300, 7))
    assert result.against.drift.changed is False
    assert result.summary()["against"]["where"] == []
    new = fruit(300, 6)
    new.loc[:20, "fruit"] = "quince"
    result = audit(new, "fruit", against=fruit(300, 7))
    assert result.against.only_new == ("quince",)
    assert result.against.drift.changed


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (fruit(300, 4).drop(columns="fruit"), "there is no column 'fruit'"),
        (fruit(300, 4)[["fruit"]].assign(size=range(300)), "no column in common"),
        (fruit(10, 4), "only 10 labelled rows can be compared; 30 are needed"),
    ],
)
def test_tables_that_cannot_be_compared_are_one_line(old, message):
    with pytest.raises(ValueError, match=message):
        audit(fruit(100, 5), "fruit", against=old)


@pytest.mark.parametrize(
    ("column", "write"),
    [
        ("day", lambda cell: "{2}.{1}.{0}".format(*cell.split("-"))),
        ("day", lambda cell: "{1}/{2}/{0}".format(*cell.split("-"))),
        ("day", lambda cell: f"{cell} 00:00"),
        ("size", lambda cell: f"{float(cell):,.2f}".translate(str.maketrans(",.", ".,"))),
        ("size", lambda cell: cell.replace(".", ",")),
    ],
)
def test_an_earlier_table_may_write_dates_and_numbers_otherwise(column, write):
    def table(first, seed):
        rng = np.random.default_rng(seed)
        days = rng.integers(0, 300, 300)
        size = rng.normal(size=300) * 900 + rng.integers(0, 3000, 300)
        day = pd.Timestamp(first) + pd.to_timedelta(days, unit="D")
        z = (day - pd.Timestamp("2024-06-01")).days / 150 + size / 1500 - 0.5
        y = np.where(z + 0.4 * rng.normal(size=300) > 0, "high", "low")
        sizes = [f"{one:.2f}" for one in size]
        return pd.DataFrame({"day": day.strftime("%Y-%m-%d"), "size": sizes, "y": y})

    new, old = table("2024-03-01", 1), table("2024-01-01", 2)
    alike = audit(new, "y", against=old).against.drift
    otherwise = old.assign(**{column: list(map(write, old[column]))})
    found = audit(new, "y", against=otherwise).against.drift
    assert (found.p_value, found.overlap) == pytest.approx((alike.p_value, alike.overlap))
    assert found.change == pytest.approx(alike.change)
