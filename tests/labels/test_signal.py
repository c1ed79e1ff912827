"""Whether the columns say anything about the labels: a test that shuffled labels seldom pass."""

from html import escape

import numpy as np
import pandas as pd
import pytest

from robell import audit
from robell._core.labels.noise import LEVEL, signal
from robell.labels.judge import judge_labels, judge_numbers
from robell.labels.trust import measure_number_trust, measure_trust


def p_value(X, y, numbers):
    if numbers:
        return measure_number_trust(judge_numbers(X, y, np.ones(len(y)), 0), X.shape).p_value
    return measure_trust(judge_labels(X, y, random_state=0), X, y, 0).p_value


def table(seed, share, numbers, n=60):
    """Columns, and labels of which a share is made of the first column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1 + seed % 4))
    z = share * X[:, 0] + np.sqrt(1 - share**2) * rng.normal(size=n)
    return X, z if numbers else (z > 0.5).astype(int)


@pytest.mark.parametrize("numbers", [False, True])
def test_labels_without_a_connection_seldom_pass_and_others_do(numbers):
    without = [p_value(*table(seed, 0.0, numbers), numbers) < LEVEL for seed in range(12)]
    tied = [p_value(*table(seed, 0.9, numbers), numbers) < LEVEL for seed in range(4)]
    assert sum(without) <= 1
    assert all(tied)


def test_what_two_rows_have_in_common_by_chance_counts_twice():
    """Of scores s = K y, each row's by the others' labels alone, Σ y s has twice the variance."""
    rng = np.random.default_rng(0)
    K = np.triu(rng.normal(size=(60, 60)), 1)
    K += K.T
    y = rng.choice([-1.0, 1.0], size=(4000, 60))
    scores = y @ K
    beyond_chance = (y * scores).sum(axis=1) / np.sqrt(np.square(scores).sum(axis=1))
    assert beyond_chance.std() == pytest.approx(np.sqrt(2.0), rel=0.05)
    passed = np.mean([signal(value) < LEVEL for value in beyond_chance])
    assert passed == pytest.approx(LEVEL, abs=0.015)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.97])
def test_page_terminal_json_and_trust_say_the_same(tmp_path, numbers, share):
    X, y = table(3, share, numbers, n=150)
    kind = y.round(2) if numbers else np.where(y, "yes", "no")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=kind)
    result = audit(frame, "kind", out=tmp_path)
    found, line = result.summary(), result._terminal_lines()[0]
    assert found["p_value"] == result.p_value
    assert found["signal"] == (result.p_value < LEVEL) == (share > 0)
    assert line.startswith("The columns say something about 'kind' (p") == found["signal"]
    assert found["signal"] or (result.trust == "none" and not result.suspect.any())
    page = result.html.read_text(encoding="utf-8")
    sentence = escape(line)
    assert page.index(sentence) < page.index(escape(result._headline()[:20]))
