"""After a review: what is still wrong is neither forgotten nor made up."""

import csv

import numpy as np
import pytest
import raw_tables
from scipy.special import expit

from robell import apply_review, audit, fit_table
from robell.cli import main
from robell.decisions.page import suspects_line
from robell.labels.judge import Judgement
from robell.labels.reviewed import Reviewed, judge_reviewed


def reviewed(table, path, folder, share=1.0):
    """Audit a table, have somebody who is never wrong look at suspects, and apply what they say."""
    path.write_text(table.text, encoding="utf-8")
    return review_of(audit(path, table.target, out=folder), table, path, folder, share)


def review_of(found, table, path, folder, share):
    """Have somebody who is never wrong look at a share of the suspects, and apply what they say."""
    with found.csv.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    suspects = [row for row in rows if row["suspect"] == "yes"]
    for row in suspects[: round(share * len(suspects))]:
        place = int(row["row"]) - 1
        row["decision"] = "change" if table.wrong[place] else "keep"
        row["suggested"] = table.right_cells[place] if table.wrong[place] else row["suggested"]
    with (folder / "review.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    looked = [int(row["row"]) - 1 for row in rows if row["decision"]]
    left = table.wrong.copy()
    left[looked] = False
    return apply_review(path, folder / "review.csv", folder / "clean.csv"), looked, left


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Tables of claims with their first audits, of which reviews look at more or fewer suspects."""
    found = []
    for seed in (3, 4, 7):
        table, folder = raw_tables.claims(seed), tmp_path_factory.mktemp("claims")
        (folder / "claims.csv").write_text(table.text, encoding="utf-8")
        found.append((table, folder, audit(folder / "claims.csv", table.target, out=folder)))
    return found


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_the_estimate_after_a_review_is_near_what_is_left(audited, share):
    """It fell to a seventh of it where only the conspicuous mistakes were gone."""
    estimates, truth = [], []
    for table, folder, found in audited:
        done, looked, left = review_of(found, table, folder / "claims.csv", folder, share)
        again = audit(done.out, table.target, reviewed=done.log)
        low, high = (end * len(again.row) for end in again.noise_rate_range)
        assert low <= left.sum() <= high
        assert again.n_corrected == table.wrong[looked].sum() == done.changed
        assert not again.suspect[looked].any()
        estimates.append(again.noise_rate * len(again.row))
        truth.append(left.sum())
        if table.noise == "one-sided":  # frauds that are labelled "no"
            way = max(again.summary()["mistakes"], key=lambda way: way["rows"])
            assert (way["true"].lower(), way["labelled"].lower()) == ("yes", "no")
    assert np.sum(estimates) == pytest.approx(np.sum(truth), rel=0.25)


def test_page_terminal_json_and_fit_say_the_same(audited, capsys, tmp_path):
    table, folder, found = audited[0]
    done, looked, _ = review_of(found, table, folder / "claims.csv", folder, 0.5)
    out = str(tmp_path / "second")
    arguments = ["audit", str(done.out), "--target", "fraud", "--out", out, "--json", "-"]
    assert main(arguments) == 0
    again = audit(done.out, "fraud", reviewed=done.log, out=out)
    wrong = round(again.noise_rate * 1500)
    text = f"Reviews have corrected {done.changed} labels and confirmed {done.kept}; of the other "
    text += f"{1500 - len(looked):,} labels, about {wrong} ("
    assert text in "".join(again._terminal_lines())
    assert text in again.html.read_text(encoding="utf-8")
    said = capsys.readouterr().out
    assert f'"rows_corrected": {done.changed}' in said
    assert '"noise_rate_range"' in said
    fitted = fit_table(done.out, "fraud", reviewed=done.log)
    np.testing.assert_allclose(fitted.noise_rate, again.noise_rate, rtol=1e-6)
    assert fitted.suspects == again.suspect.sum()
    line = f"about {wrong} of those that nobody has reviewed are wrong by estimate"
    assert line in suspects_line(fitted)


def test_numbers_that_are_wrong_and_inconspicuous_are_not_forgotten(tmp_path):
    table = raw_tables.flats(1)
    done, looked, left = reviewed(table, tmp_path / "flats.csv", tmp_path)
    again = audit(done.out, table.target, reviewed=done.log)
    assert again.n_corrected == table.wrong[looked].sum()
    assert not again.suspect[looked].any()
    low, high = (end * len(again.row) for end in again.noise_rate_range)
    assert low <= left.sum() <= high
    assert 0.5 * left.sum() < again.noise_rate * len(again.row) < 2 * left.sum()


def judged(rate=0.1, n=4000, seed=0):
    """Return a judgement by exact probabilities, the labels, and the true classes."""
    rng = np.random.default_rng(seed)
    P = expit(3 * rng.normal(size=n))
    true = (rng.random(n) < P).astype(int)
    codes = np.where(rng.random(n) < rate, 1 - true, true)
    P, N = np.column_stack([1 - P, P]), np.array([[1 - rate, rate], [rate, 1 - rate]])
    Z = P * N.T[codes]
    Z /= Z.sum(axis=1, keepdims=True)
    return Judgement.of_posterior(np.array([0, 1]), Z, codes, N), codes, true


def look_at(judgement, codes, true, rows):
    """Judge again after a look at some rows."""
    settled = np.zeros(len(codes), bool)
    settled[rows] = True
    now = np.where(settled, true, codes)
    P = judgement.without_label(codes)
    N = judgement.assumed_noise
    fresh = Judgement.of_posterior(judgement.classes, P * N.T[now], now, N)
    Z = fresh.probability / fresh.probability.sum(axis=1, keepdims=True)
    fresh = Judgement.of_posterior(judgement.classes, Z, now, N)
    return judge_reviewed(fresh, now, Reviewed(settled, codes, settled & (codes != true)))


def test_rows_that_were_looked_at_are_right_and_the_others_keep_their_doubts():
    """Where a review finds what was expected, other labels are as doubtful as before."""
    judgement, codes, true = judged()
    rows = np.flatnonzero(judgement.suspect)[::2]
    again = look_at(judgement, codes, true, rows)
    others = np.ones(len(codes), bool)
    others[rows] = False
    assert (again.quality[rows] == 1).all()
    assert not again.suspect[rows].any()
    expected = (1 - judgement.quality[others]).sum()
    assert (1 - again.quality).sum() == pytest.approx(expected, rel=0.15)
    assert (1 - again.quality).sum() == pytest.approx((codes != true)[others].sum(), rel=0.15)
    np.testing.assert_allclose(again.noise_rate, np.mean(1 - again.quality))


def test_a_review_that_finds_fewer_mistakes_than_expected_lowers_the_estimate():
    judgement, codes, true = judged()
    rows = np.flatnonzero(judgement.suspect)[::2]
    more, fewer = (look_at(judgement, codes, truth, rows) for truth in (1 - codes, codes))
    rates = [one.noise_rate for one in (fewer, look_at(judgement, codes, true, rows), more)]
    assert rates == sorted(rates)
    assert rates[0] < 0.7 * rates[1]
