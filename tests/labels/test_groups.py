"""Labels judged by group: the API, the page and the command."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from robell import audit, find_label_issues
from robell.cli.main import main
from robell.labels.audit.compared import read_group_column
from robell.labels.judge import judge_labels
from robell.tables.read import read_table


def grouped_frame(n=600, seed=0, gap=2.0):
    """Two classes; one of four suppliers errs in three labels of ten, the others in one of 20."""
    rng = np.random.default_rng(seed)
    z = rng.integers(2, size=n)
    X = rng.normal(0, 1, (n, 3)) + gap * z[:, None]
    supplier = np.array(["Acme", "Berg", "Coil", "Dom"])[rng.integers(4, size=n)]
    wrong = rng.random(n) < np.where(supplier == "Coil", 0.3, 0.05)
    y = np.where(wrong, 1 - z, z)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["supplier"], frame["kind"] = supplier, np.array(["no", "yes"])[y]
    return frame, wrong


@pytest.fixture(scope="module")
def grouped():
    return grouped_frame()


def test_the_group_that_errs_is_named_and_its_rows_are_ranked_better(grouped):
    frame, _ = grouped
    X, y = frame[["a", "b", "c"]].to_numpy(), frame["kind"].to_numpy()
    plain = find_label_issues(X, y, random_state=0)
    found = find_label_issues(X, y, groups=frame["supplier"], random_state=0)
    assert plain.groups is None
    groups = found.groups
    assert groups.group.tolist() == ["Acme", "Berg", "Coil", "Dom"]
    assert groups.n_rows.sum() == len(y)
    assert groups.n_suspects.sum() == len(found)
    worst = int(groups.noise_rate.argmax())
    assert groups.group[worst] == "Coil"
    assert groups.differs[worst]
    assert groups.low[worst] <= 0.3 <= groups.high[worst] + 0.03
    assert ((groups.low <= groups.noise_rate) & (groups.noise_rate <= groups.high)).all()
    assert "Coil: about" in str(groups)


def test_rows_are_ranked_better_where_classes_overlap():
    gains = []
    for seed in range(4):
        frame, wrong = grouped_frame(seed=seed, gap=1.2)
        X, y = frame[["a", "b", "c"]].to_numpy(), frame["kind"].to_numpy()
        plain = find_label_issues(X, y, random_state=0)
        found = find_label_issues(X, y, groups=frame["supplier"], random_state=0)
        precision = [average_precision_score(wrong, -q.sample_quality) for q in (plain, found)]
        gains.append(precision[1] - precision[0])
    assert np.mean(gains) > 0.02


def test_what_the_columns_say_and_the_noise_give_the_judgement_back(grouped):
    frame, _ = grouped
    X, codes = frame[["a", "b", "c"]].to_numpy(), (frame["kind"] == "yes").to_numpy().astype(int)
    judgement = judge_labels(X, codes, random_state=0)
    joint = judgement.without_label(codes) * judgement.assumed_noise[:, codes].T
    again = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(again, judgement.probability, atol=1e-12)


def test_groups_work_with_probabilities_of_any_model(grouped):
    frame, _ = grouped
    p = 1 / (1 + np.exp(-2 * (frame[["a", "b", "c"]].to_numpy() - 1).sum(axis=1)))
    found = find_label_issues(y=frame["kind"], pred_proba=p, groups=frame["supplier"])
    assert found.groups.differs[2]
    assert found.groups.noise_rate.argmax() == 2


def test_rows_without_a_group_and_groups_of_one_row_are_answered(grouped):
    frame, _ = grouped
    X, y = frame[["a", "b", "c"]].to_numpy(), frame["kind"].to_numpy()
    supplier = frame["supplier"].to_numpy(dtype=object).copy()
    supplier[:3], supplier[7] = [None, np.nan, ""], "alone"
    groups = find_label_issues(X, y, groups=supplier, random_state=0).groups
    assert groups.group.tolist() == ["(missing)", "Acme", "Berg", "Coil", "Dom", "alone"]
    assert groups.n_rows[[0, 5]].tolist() == [3, 1]
    assert not groups.differs[[0, 5]].any()
    assert np.isfinite(groups.noise_rate).all()


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 600, "at least two groups; all rows are of 'a'"),
        (["a", "b"], "one entry for each of the 600 rows"),
        ([1, "a", *range(2, 600)], None),
    ],
)
def test_bad_groups_are_one_line(grouped, groups, message):
    frame, _ = grouped
    X, y = frame[["a", "b", "c"]].to_numpy(), frame["kind"].to_numpy()
    if message is None:  # taken as text
        assert len(find_label_issues(X, y, groups=groups, random_state=0).groups) == 600
        return
    with pytest.raises(ValueError, match=message):
        find_label_issues(X, y, groups=groups, random_state=0)
    with pytest.raises(ValueError, match="sample_weight cannot be used with groups"):
        find_label_issues(X, y, groups=groups, sample_weight=np.ones(600), random_state=0)


def test_the_audit_says_which_group_errs(grouped, tmp_path, capsys):
    frame, _ = grouped
    path = tmp_path / "parts.csv"
    frame.to_csv(path, index=False)
    out = tmp_path / "found.json"
    arguments = ["audit", str(path), "--target", "kind", "--group", "supplier"]
    assert main([*arguments, "--json", str(out), "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "groups of 'supplier' differ" in said or "group of 'supplier' differs" in said
    assert "'Coil', about" in said
    found = json.loads(out.read_text())["by_group"]
    assert found["column"] == "supplier"
    assert found["groups"]["Coil"]["differs"]
    assert sum(one["rows"] for one in found["groups"].values()) == len(frame)
    page = (tmp_path / "parts-audit.html").read_text()
    assert 'id="groups"' in page
    assert "names the groups of rows: labels are not judged by it" in page


def test_many_dates_are_taken_together_by_month(grouped):
    frame, _ = grouped
    days = pd.date_range("2024-01-01", periods=len(frame), freq="D").strftime("%d.%m.%Y")
    result = audit(frame.drop(columns="supplier").assign(day=days), "kind", group="day")
    assert result.groups.group[0] == "2024-01"
    assert len(result.groups) == 20
    assert not any(note.name == "day" and note.kind == "date" for note in result.columns)


@pytest.mark.parametrize(
    ("change", "group", "message"),
    [
        ({}, "kind", "is the target"),
        ({}, "suplier", "did you mean 'supplier'"),
        ({"supplier": "x"}, "supplier", "one group only, 'x'"),
        ({"supplier": np.arange(600) * 7.5}, "supplier", "600 different values in 600 rows"),
    ],
)
def test_columns_that_name_no_groups_are_refused(grouped, change, group, message):
    frame, _ = grouped
    with pytest.raises(ValueError, match=message):
        audit(frame.assign(**change), "kind", group=group)


def test_where_the_columns_say_nothing_groups_are_not_judged(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    frame["kind"], frame["site"] = rng.integers(2, size=200), rng.integers(3, size=200)
    result = audit(frame, "kind", group="site", out=tmp_path)
    assert result.trust == "none"
    assert result.summary()["by_group"] is None
    assert "cannot be told" in result.html.read_text()


def test_reviewed_rows_are_no_suspects_of_their_group(grouped, tmp_path):
    frame, _ = grouped
    path = tmp_path / "parts.csv"
    frame.to_csv(path, index=False)
    first = audit(path, "kind", group="supplier", out=tmp_path)
    review = pd.read_csv(first.csv, dtype=str, keep_default_na=False)
    review.loc[:9, "decision"] = "keep"
    review.to_csv(tmp_path / "review.csv", index=False)
    again = audit(path, "kind", group="supplier", reviewed=tmp_path / "review.csv")
    assert again.reviewed.sum() == 10
    assert not again.suspect[again.reviewed].any()
    assert again.groups.n_suspects.sum() == again.suspect.sum() <= first.suspect.sum() - 10


def test_groups_of_one_number_or_one_name_are_one():
    cells = ["1", "1.0", "1", "caf\u00e9", "cafe\u0301", "01", None, "A", "a"] * 3
    table = read_table(pd.DataFrame({"g": cells, "y": "k"}))
    names, places, _ = read_group_column(table, 0)
    assert names.tolist() == ["(missing)", "01", "1", "A", "a", "caf\u00e9"]
    assert np.bincount(places).tolist() == [3, 3, 9, 3, 3, 6]


def test_groups_are_spelt_as_levels_of_a_category_may_be(tmp_path):
    cells = ["North", "NORTH", "North", "north ", "South  Gate", "south gate", "North", "Nor."] * 9
    frame = pd.DataFrame({"g": cells, "y": "k"})
    names, places, done = read_group_column(read_table(frame), 0)
    assert names.tolist() == ["North", "South  Gate"]
    assert np.bincount(places).tolist() == [54, 18]
    assert "'NORTH' as 'North'" in done
    declared = read_table(frame.astype({"g": "category"}))  # are taken as they are
    assert len(read_group_column(declared, 0)[0]) == 6
