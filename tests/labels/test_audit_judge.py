"""One judge of labels, and how far it trusts itself, on tables whose wrong labels are known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell import RVFLClassifier, find_label_issues, fit_table
from robell.decisions.page import suspects_line
from robell.labels.audit import audit
from robell.labels.judge import judge_labels
from robell.labels.trust import WORTH, clarity_of, estimate_wrong, measure_trust
from robell.noise import flip_uniformly


def blobs(n, gap, noise, seed, shares=(0.5, 0.5), to_majority=False):
    """Gaussian classes, as many as there are shares, and which labels were made wrong."""
    rng = np.random.default_rng(seed)
    n_classes = len(shares)
    true = rng.choice(n_classes, n, p=shares)
    X = rng.normal(size=(n, 5))
    X[:, :n_classes] += gap * np.eye(n_classes)[true]
    wrong = rng.random(n) < noise
    given_ = (true + rng.integers(1, n_classes, n)) % n_classes
    if to_majority:
        wrong &= true == n_classes - 1
        given_[:] = 0
    return X, np.where(wrong, given_, true), wrong


TABLES = {
    "apart": {"gap": 4.0},
    "overlapping": {"gap": 1.0},
    "three": {"gap": 3.0, "shares": (0.6, 0.28, 0.12)},
    "rare": {"gap": 4.0, "shares": (0.95, 0.05)},
}


def judged(X, codes):
    """The judgement of the labels, and how far to trust it."""
    judgement = judge_labels(X, codes, random_state=0)
    return judgement, measure_trust(judgement, X, codes, 0)


def test_good_trust_means_that_most_suspects_are_wrong():
    found = {"good": [], "fair": [], "weak": [], "none": []}
    for options in TABLES.values():
        for noise, to_majority in ((0.0, 0), (0.05, 0), (0.1, 0), (0.2, 0), (0.1, 1), (0.3, 1)):
            X, codes, wrong = blobs(300, noise=noise, seed=1, to_majority=to_majority, **options)
            judgement, trust = judged(X, codes)
            if judgement.suspect.any():
                found[trust.word].append(wrong[judgement.suspect].mean())
    assert len(found["good"]) >= 8
    assert np.mean(found["good"]) > 0.7
    assert np.mean(found["good"]) > np.mean(found["fair"] + found["weak"])


@pytest.mark.parametrize("kind", ["apart", "three", "rare"])
def test_a_tenth_of_wrong_labels_is_estimated_and_found(kind):
    X, codes, wrong = blobs(600, noise=0.1, seed=3, **TABLES[kind])
    judgement, trust = judged(X, codes)
    assert judgement.noise_rate == pytest.approx(wrong.mean(), abs=0.03)
    assert wrong[judgement.suspect].mean() > 0.8
    assert judgement.suspect[wrong].mean() > 0.6
    among, _ = estimate_wrong(judgement, WORTH[trust.word])
    assert among.about == pytest.approx(wrong[judgement.suspect].sum(), rel=0.25)
    assert among.low <= wrong[judgement.suspect].sum() <= among.high


@pytest.mark.parametrize("seed", range(3))
def test_no_label_is_suspect_where_all_are_right_and_plain(seed):
    X, codes, _ = blobs(300, gap=8.0, noise=0.0, seed=seed, shares=(0.6, 0.3, 0.1))
    judgement, trust = judged(X, codes)
    assert not judgement.suspect.any()
    assert trust.word == "good"
    assert judgement.noise_rate < 0.005


@pytest.mark.parametrize("seed", range(3))
def test_overlapping_classes_are_not_trusted(seed):
    X, codes, _ = blobs(300, gap=0.8, noise=0.0, seed=seed)
    _, trust = judged(X, codes)
    assert trust.word in ("weak", "none")
    assert trust.clarity < 0.87


def test_misfits_that_no_wrong_label_explains_are_not_called_clean():
    """Labels of a small class went to the largest one, and hardly any of them stands out."""
    X, codes, wrong = blobs(400, noise=0.4, seed=10, to_majority=True, **TABLES["three"])
    judgement, trust = judged(X, codes)
    assert judgement.suspect.sum() <= 1
    assert wrong.sum() > 15
    assert trust.word == "fair"


@given(hard=st.floats(0, 1), rate=st.floats(0, 0.4), n_classes=st.integers(2, 9))
def test_clarity_undoes_what_wrong_labels_do_to_agreement(hard, rate, n_classes):
    agreement = (1 - hard) * (1 - rate) + hard * rate / (n_classes - 1)
    assert clarity_of(1 - agreement, rate, n_classes) == pytest.approx(1 - hard, abs=1e-9)


@pytest.mark.parametrize(("kind", "noise"), [("apart", 0.1), ("three", 0.2), ("rare", 0.1)])
def test_the_audit_and_find_label_issues_are_one_judge(kind, noise):
    X, codes, _ = blobs(250, noise=noise, seed=2, **TABLES[kind])
    issues = find_label_issues(X, codes, random_state=7)
    result = audit(frame_of(X, codes), "label", random_state=7)
    np.testing.assert_allclose(result.quality, issues.sample_quality, atol=1e-9)
    suspects = [place for place in result.order if result.suspect[place]]
    np.testing.assert_array_equal(suspects, issues.index)
    names = np.array(["a", "b", "c"])
    np.testing.assert_array_equal(result.suggested[suspects], names[issues.suggested_label])
    np.testing.assert_allclose(result.noise_matrix, issues.noise_matrix, atol=1e-9)
    assert result.noise_rate == pytest.approx(1 - issues.sample_quality.mean())


def test_without_any_trust_the_quality_is_the_same_and_nobody_is_suspect():
    X, codes, _ = blobs(250, noise=0.5, seed=2, **TABLES["apart"])
    issues = find_label_issues(X, codes, random_state=0)
    result = audit(frame_of(X, codes), "label")
    assert result.trust == "none"
    assert not result.suspect.any()
    np.testing.assert_array_equal(result.suggested, result.given)
    np.testing.assert_allclose(result.quality, issues.sample_quality, atol=1e-9)


def frame_of(X, codes):
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    return frame.assign(label=np.array(["a", "b", "c"])[codes])


@pytest.mark.parametrize("seed", range(3))
def test_more_columns_than_the_rows_can_bear_are_told(tmp_path, seed):
    rng = np.random.default_rng(seed)
    X, codes, _ = blobs(120, gap=1.5, noise=0.1, seed=seed)
    wide = np.hstack([X, rng.normal(size=(120, 400))])
    result = audit(frame_of(wide, codes), "label", out=tmp_path)
    assert result.trust == "none"
    assert not result.suspect.any()  # half of those it would name are right
    page = result.html.read_text()
    assert "405 columns of numbers, categories spread out, for only 120 rows" in page
    assert "looks wrong." not in result._headline()
    assert "Leave out columns that have nothing to do with it" in page
    assert "no label or hardly any is wrong" not in page
    assert "false alarms" not in page


@pytest.mark.parametrize("seed", range(4))
def test_a_doubtful_table_is_never_called_clean(seed):
    X, codes, _ = blobs(200, gap=1.2, noise=0.0, seed=seed)
    result = audit(frame_of(X, codes), "label")
    assert "looks wrong." not in result._headline()
    assert "probably" not in result._headline()


def test_what_is_expected_is_on_the_first_screen(tmp_path):
    X, codes, _ = blobs(600, gap=4.0, noise=0.1, seed=5)
    result = audit(frame_of(X, codes), "label", out=tmp_path)
    n, wrong = int(result.suspect.sum()), result._really_wrong
    page = result.html.read_text()
    first = page[page.index('id="found"') : page.index('id="suspects"')]
    assert 0 < wrong <= n
    assert f"about {wrong}</dd>" in first
    low, high = (round(end) for end in result.expected_wrong_range)
    assert f"expect about {wrong} ({low} to {high}) to be really wrong" in first
    assert f"about {n - wrong} to be right after all" in first
    total = round(result.noise_rate * len(result.row))
    assert f"By estimate, about {total} of 600 labels" in page
    for jargon in ("ROC", "AUC", "posterior", "quality", "median", "classifier", "random state"):
        assert jargon not in first


@pytest.mark.parametrize("estimator", [None, RVFLClassifier(random_state=0)], ids=["own", "other"])
@pytest.mark.parametrize("gap", [0.0, 1.0, 4.0], ids=["none", "weak", "good"])
def test_fit_and_audit_give_one_count_of_wrong_labels(gap, estimator):
    """Where columns say nothing, a third of the labels looked wrong to a fit, none to an audit."""
    rng = np.random.default_rng(3)
    y = rng.choice(3, 240, p=(0.5, 0.3, 0.2))
    X = rng.normal(size=(240, 4)) + gap * np.eye(3, 4)[y]
    noisy, _ = flip_uniformly(y, 0.1, 0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["u", "v", "w"])[noisy])
    found, fitted = audit(frame, "kind"), fit_table(frame, "kind", estimator=estimator)
    assert fitted.trust == found.trust
    assert fitted.suspects == found.suspect.sum()
    assert fitted.noise_rate == pytest.approx(found.noise_rate, abs=1e-12)
    assert np.allclose(fitted.noise_matrix, found.noise_matrix, atol=1e-12)
    assert (found.trust == "none") == (gap == 0.0)
    line = suspects_line(fitted)
    assert line.startswith("Which labels" if gap == 0.0 else f"{fitted.suspects} labels look wrong")


def test_fit_and_audit_trust_a_column_that_tells_the_target_alike():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    x = y + rng.normal(0, 0.15, 300)
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=300), "kind": np.where(y, "u", "v")})
    found, fitted = audit(frame, "kind"), fit_table(frame, "kind")
    assert found.leak_suspects
    assert fitted.trust == found.trust != "good"
