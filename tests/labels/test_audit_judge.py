"""How far the audit trusts itself, held against tables whose wrong labels are known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell.labels.audit import audit
from robell.labels.audit.report import headline, really_wrong
from robell.labels.judge import WORTH, clarity_of, judge, noise_matrix_of
from robell.labels.second_look import second_look
from robell.models.noise_robust import NoiseRobustRVFLClassifier


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


def test_good_trust_means_that_most_suspects_are_wrong():
    found = {"good": [], "fair": [], "weak": []}
    for options in TABLES.values():
        for noise in (0.0, 0.05, 0.1, 0.2, 0.3, 0.4):
            for to_majority in (False, True):
                X, codes, wrong = blobs(
                    400, noise=noise, seed=1, to_majority=to_majority, **options
                )
                judgement = judge(X, codes, int(codes.max()) + 1, 0)
                if judgement.suspect.any():
                    found[judgement.trust].append(wrong[judgement.suspect].mean())
    assert len(found["good"]) >= 8
    assert np.mean(found["good"]) > 0.7
    assert np.mean(found["good"]) > np.mean(found["fair"] + found["weak"])


@pytest.mark.parametrize("kind", ["apart", "three", "rare"])
def test_a_tenth_of_wrong_labels_is_estimated_and_found(kind):
    X, codes, wrong = blobs(600, noise=0.1, seed=3, **TABLES[kind])
    judgement = judge(X, codes, int(codes.max()) + 1, 0)
    assert judgement.noise_rate == pytest.approx(wrong.mean(), abs=0.03)
    assert wrong[judgement.suspect].mean() > 0.8
    assert judgement.suspect[wrong].mean() > 0.6
    assert judgement.expected_wrong == pytest.approx(wrong[judgement.suspect].sum(), rel=0.25)


@pytest.mark.parametrize("seed", range(4))
def test_no_label_is_suspect_where_all_are_right_and_plain(seed):
    X, codes, _ = blobs(300, gap=8.0, noise=0.0, seed=seed, shares=(0.6, 0.3, 0.1))
    judgement = judge(X, codes, 3, 0)
    assert not judgement.suspect.any()
    assert judgement.trust == "good"
    assert judgement.noise_rate < 0.005


@pytest.mark.parametrize("seed", range(3))
def test_overlapping_classes_are_not_trusted(seed):
    X, codes, _ = blobs(500, gap=0.8, noise=0.0, seed=seed)
    judgement = judge(X, codes, 2, 0)
    assert judgement.trust in ("weak", "none")
    assert judgement.clarity < 0.85


def test_a_second_look_finds_what_luck_has_hidden():
    """Too few rows for the classifier's own rate; the second look sees the wrong labels."""
    rescued = 0
    for seed in range(6):
        X, codes, wrong = blobs(250, gap=4.0, noise=0.08, seed=seed)
        alone = NoiseRobustRVFLClassifier(random_state=0).fit(X, codes)
        judgement = judge(X, codes, 2, 0)
        assert judgement.noise_rate >= alone.noise_rate_ - 1e-12
        assert abs(judgement.noise_rate - wrong.mean()) < 0.05
        rescued += judgement.noise_rate > 1.5 * alone.noise_rate_
    assert rescued


def test_the_second_look_agrees_with_known_rates():
    rng = np.random.default_rng(0)
    n = 4000
    true = rng.integers(0, 2, n)
    scores = np.column_stack([1.0 - true, true]) + rng.normal(0, 0.1, (n, 2))
    wrong = rng.random(n) < np.array([0.05, 0.2])[true]
    codes = np.where(wrong, 1 - true, true)
    probability = second_look(scores, codes, np.arange(n))
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(probability.argmax(axis=1), true)
    found = noise_matrix_of(probability, codes)
    np.testing.assert_allclose(found, [[0.95, 0.05], [0.2, 0.8]], atol=0.02)
    part = second_look(scores, codes, np.arange(0, n, 2))
    assert (part.argmax(axis=1) == true).mean() > 0.999
    np.testing.assert_allclose(noise_matrix_of(part, codes), found, atol=0.02)


@given(hard=st.floats(0, 1), rate=st.floats(0, 0.4), n_classes=st.integers(2, 9))
def test_clarity_undoes_what_wrong_labels_do_to_agreement(hard, rate, n_classes):
    agreement = (1 - hard) * (1 - rate) + hard * rate / (n_classes - 1)
    assert clarity_of(1 - agreement, rate, n_classes) == pytest.approx(1 - hard, abs=1e-9)


def test_the_noise_matrix_is_the_classifiers_own():
    X, codes, _ = blobs(800, gap=4.0, noise=0.35, seed=2)
    model = NoiseRobustRVFLClassifier(random_state=0).fit(X, codes)
    found = noise_matrix_of(model.label_probability_, codes)
    np.testing.assert_allclose(found, model.noise_matrix_)
    judgement = judge(X, codes, 2, 0)
    assert judgement.noise_rate == pytest.approx(1 - judgement.quality.mean())
    expected = WORTH[judgement.trust] * (1 - judgement.quality[judgement.suspect]).sum()
    assert judgement.expected_wrong == pytest.approx(expected)


def frame_of(X, codes):
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    return frame.assign(label=np.array(["a", "b", "c"])[codes])


def test_more_columns_than_the_rows_can_bear_are_told(tmp_path):
    rng = np.random.default_rng(0)
    X, codes, _ = blobs(120, gap=3.0, noise=0.1, seed=0)
    wide = np.hstack([X, rng.normal(size=(120, 400))])
    result = audit(frame_of(wide, codes), "label", out=tmp_path)
    assert result.trust != "good"
    page = result.html.read_text()
    assert "405 columns of numbers, categories spread out, for only 120 rows" in page
    assert "looks wrong." not in headline(result)
    assert not result.suspect.any()  # though a tenth of the labels is wrong
    assert "no label or hardly any is wrong" not in page
    assert 'id="noise"' not in page
    assert "really</text>" not in page
    assert "false alarms" not in page


@pytest.mark.parametrize("seed", range(4))
def test_a_doubtful_table_is_never_called_clean(seed):
    X, codes, _ = blobs(200, gap=1.2, noise=0.0, seed=seed)
    result = audit(frame_of(X, codes), "label")
    assert "looks wrong." not in headline(result)
    assert "probably" not in headline(result)


def test_what_is_expected_is_on_the_first_screen(tmp_path):
    X, codes, _ = blobs(600, gap=4.0, noise=0.1, seed=5)
    result = audit(frame_of(X, codes), "label", out=tmp_path)
    n, wrong = int(result.suspect.sum()), really_wrong(result)
    page = result.html.read_text()
    first = page[page.index('id="found"') : page.index('id="suspects"')]
    assert 0 < wrong <= n
    assert f"about {wrong}</dd>" in first
    assert f"expect about {wrong} to be really wrong" in first
    assert f"about {n - wrong} to be right after all" in first
    total = round(result.noise_rate * len(result.row))
    assert f"By estimate, about {total} of 600 labels" in page
    for jargon in ("ROC", "AUC", "posterior", "quality", "median", "classifier", "random state"):
        assert jargon not in first
