"""Numbers on the page are those of the table: shares, evidence, estimates, groups, ends, ties."""

import re

import numpy as np
import pandas as pd
import pytest
import raw_tables

from robell import audit, audit_annotators
from robell.labels.audit.compared import group_verdict
from robell.labels.audit.reasons import in_words, same_value, trusted
from robell.tables.columns import prepare_column
from robell.tables.raw import Column


def used(cells):
    """Return a column that models can use."""
    return prepare_column(Column("note", cells, None), np.arange(len(cells)) + 1)[0]


def test_a_share_is_that_of_the_value_also_where_rare_ones_are_taken_together():
    rng = np.random.default_rng(0)
    cells = ["usual"] * 58 + [f"rare {k}" for k in range(20) for _ in range(2)]
    cells += ["vague about time"] * 2
    cells = [cells[k] for k in rng.permutation(len(cells))]
    column, place = used(cells), cells.index("vague about time")
    assert column.levels[column.values[place]] not in set(cells)  # one level of many values
    assert same_value(column, place).sum() == 2
    assert same_value(column, cells.index("usual")).sum() == 58


def test_a_value_as_rare_for_the_other_label_is_no_evidence():
    cells = ["red"] * 2 + ["blue"] * 98 + ["red"] * 2 + ["blue"] * 98
    column = used(cells)
    own, other = ("'no'", np.arange(100)), ("'yes'", np.arange(100, 200))
    text = in_words(column, 0, own, other)
    assert "rare" not in text
    assert text == "note red speaks against 'no', together with other columns"
    more = used(["red"] * 2 + ["blue"] * 98 + ["red"] * 9 + ["blue"] * 91)
    assert in_words(more, 0, own, other) == "note red is rare for 'no' (2 %), 9 % for 'yes'"
    often = used(["red"] * 30 + ["blue"] * 70 + ["red"] * 80 + ["blue"] * 20)
    told = "note red is less common for 'no' (30 %) than for 'yes' (80 %)"
    assert in_words(often, 0, own, other) == told


def test_a_number_as_unusual_for_the_other_label_is_no_evidence():
    rng = np.random.default_rng(0)
    low, high = rng.normal(0, 1, 100).round(2), rng.normal(4, 1, 100).round(2)
    own, other = ("'no'", np.arange(1, 100)), ("'yes'", np.arange(100, 200))
    fits = used([str(v) for v in [4.0, *low[1:], *high]])
    text = in_words(fits, 0, own, other)
    assert re.fullmatch(r"note 4.0 is high for 'no' \(usual .* to .*, .* to .* for 'yes'\)", text)
    neither = used([str(v) for v in [9.0, *low[1:], *(low - 3)]])
    assert in_words(neither, 0, own, other).endswith("together with other columns")


def test_a_text_different_in_each_row_is_judged_by_its_words():
    rng = np.random.default_rng(0)
    filler = ["photos", "letter", "repair", "shop", "phone", "called", "customer", "sent"]
    cells = [
        " ".join([*rng.permutation(filler)[:4], *(["cash"] if k >= 100 and k % 3 else []), str(k)])
        for k in range(200)
    ]
    cells[0] = "photos letter cash 0"
    column = used(cells)
    assert column.kind == "text"
    own, other = ("'no'", np.arange(1, 100)), ("'yes'", np.arange(100, 200))
    text = in_words(column, 0, own, other)
    assert text == "note has the word 'cash', which is rare for 'no' (0 %), 67 % for 'yes'"


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    table = raw_tables.claims(seed=3, n=900)
    path = tmp_path_factory.mktemp("claims") / "claims.csv"
    path.write_text(table.plain, encoding="utf-8")
    return table, audit(path, table.target, out=path.parent, group=table.group)


def test_every_rare_value_of_an_audit_is_commoner_for_the_label_suggested(claims):
    _, result = claims
    evidence = result.evidence
    examples, columns = trusted(evidence.judgement, evidence.codes), {}
    columns = {column.name: column for column in evidence.used}
    n_checked = 0
    for row, reasons in result.reasons.items():
        place = int(np.searchsorted(result.row, row))
        for reason in reasons:
            found = re.search(r"is rare for '.*' \((.*)\), (.*) for '", reason.text)
            if found is None or "has the word" in reason.text:
                continue
            same = same_value(columns[reason.column], place)
            labels = result.given[place], result.suggested[place]
            shares = [same[examples & (result.given == label)].mean() for label in labels]
            assert shares[1] > shares[0]
            for text, share in zip(found.groups(), shares, strict=True):
                small = text == "less than 1 %" and share < 0.01
                assert small or abs(float(re.match(r"\d+", text)[0]) / 100 - share) <= 0.01
            n_checked += 1
    assert n_checked > 5


def test_estimates_have_intervals_on_the_page_and_in_the_summary(claims):
    table, result = claims
    n, wrong = len(result.row), table.wrong[result.row - 1]
    low, high = result.expected_wrong_range
    assert low <= result.expected_wrong <= high
    assert low <= wrong[result.suspect].sum() <= high
    assert result.noise_rate_range[0] * n <= wrong.sum() <= result.noise_rate_range[1] * n
    summary = result.summary()
    assert summary["expected_wrong_range"] == [low, high]
    page = result.html.read_text(encoding="utf-8")
    assert f"expect about {result._really_wrong} ({round(low)} to {round(high)})" in page
    ends = [round(end * n) for end in result.noise_rate_range]
    assert f", or {ends[0]} to {ends[1]}, are wrong" in page


def test_the_estimate_among_suspects_is_not_low_where_classes_lie_apart():
    true, about = 0, 0.0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        z = np.arange(1000) % 2
        wrong = rng.random(1000) < 0.1
        frame = pd.DataFrame(rng.normal(2.5 * z[:, None], 1, (1000, 3)), columns=list("abc"))
        frame["label"] = np.array(["no", "yes"])[np.where(wrong, 1 - z, z)]
        result = audit(frame, "label")
        true += wrong[result.suspect].sum()
        about += result.expected_wrong
    assert about == pytest.approx(true, rel=0.08)


def grouped(n, rates, seed=0):
    """Return an audit by group of labels that are wrong at these rates."""
    rng = np.random.default_rng(seed)
    z, site = np.arange(n) % 2, rng.integers(len(rates), size=n)
    wrong = rng.random(n) < np.array(rates)[site]
    frame = pd.DataFrame(rng.normal(2.5 * z[:, None], 1, (n, 2)), columns=["a", "b"])
    frame["site"] = np.array(["east", "north", "south", "west"])[site]
    frame["label"] = np.array(["no", "yes"])[np.where(wrong, 1 - z, z)]
    return audit(frame, "label", group="site"), wrong, site


def test_a_group_with_twice_the_wrong_labels_is_never_called_like_the_others():
    told = []
    for seed in range(6):
        result, wrong, site = grouped(240, [0.18, 0.09, 0.09, 0.09], seed)
        verdict = group_verdict(result)
        told.append(verdict)
        if not result.groups.differs.any():
            assert "cannot be told" in verdict
            worst = int(result.groups.at_most.argmax())
            assert result.groups.at_most[worst] >= wrong[site == worst].mean()
    assert any("cannot be told" in verdict for verdict in told)


def test_large_groups_that_are_alike_are_said_to_be_so():
    result, _, _ = grouped(4000, [0.1, 0.1, 0.1, 0.1])
    assert not result.groups.differs.any()
    assert "not wrong twice as often in any group" in group_verdict(result)


def test_a_number_beyond_all_trusted_ones_is_compared_with_what_there_is(tmp_path):
    rng = np.random.default_rng(0)
    size = rng.uniform(30, 150, 300).round(1)
    price = (2000 * size * np.exp(rng.normal(0, 0.1, 300))).round()
    price[7] = 4203382
    frame = pd.DataFrame({"size": size, "rooms": (size / 25).round(), "price": price})
    result = audit(frame, "price", out=tmp_path)
    page = result.html.read_text(encoding="utf-8")
    assert "about 4203382" not in page
    parts = result._card_parts()
    ends = [float(end.replace(",", "")) for end in parts.names[parts.of_given[7]].split(" to ")]
    assert 0 < ends[0] <= ends[1] <= 1.01 * np.delete(price, 7).max()
    texts = " ".join(reason.text for reason in result.reasons[8])
    assert "is above every trusted number" in texts
    assert "this price" not in texts


def test_annotators_that_are_right_equally_often_are_named_together():
    truth = np.repeat(["cat", "dog"], 60)
    frame = pd.DataFrame({"ann": truth, "bob": truth, "cyd": truth})
    frame.loc[::4, "cyd"] = np.where(truth[::4] == "cat", "dog", "cat")
    said = audit_annotators(frame, ["ann", "bob", "cyd"])._headline()
    assert "'ann' and 'bob' are right most often" in said
    assert "'cyd' least often" in said
    same = audit_annotators(frame, ["ann", "bob"])._headline()
    assert "All are right equally often" in same
