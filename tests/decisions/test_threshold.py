"""Thresholds against every threshold tried by hand; measures against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from robell._core.labels.cuts import operating_points
from robell.decisions.assess import (
    areas,
    calibration_bins,
    calibration_error,
    counts_of,
    resamples,
)
from robell.models._thresholds import Rule, rule_of

ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.99]), st.booleans()),
    min_size=4,
    max_size=30,
).filter(lambda rows: 0 < sum(y for _, y in rows) < len(rows))


def arrays(rows):
    p, y = zip(*rows, strict=True)
    return np.array(p), np.array(y, float)


def choose_threshold(p, y, rule, weight=None):
    """Return the threshold that a rule asks for; None where no precision reaches it."""
    points = operating_points(p, y, np.ones(len(p)) if weight is None else weight)
    place = rule.point(points)
    return points[place, 0] if place or rule.kind != "precision" else None


def every_threshold(p):
    """Return one threshold of every kind: between any two probabilities, above all, below all."""
    levels = np.unique(p)
    return [0.0, *((levels[1:] + levels[:-1]) / 2), (1 + levels[-1]) / 2]


@settings(deadline=None, max_examples=60)
@given(ROWS)
def test_no_other_threshold_is_better(rows):
    p, y = arrays(rows)
    tried = {t: (p >= t) for t in every_threshold(p)}
    f1 = choose_threshold(p, y, Rule("f1"))
    best = max(f1_score(y, flagged, zero_division=0) for flagged in tried.values())
    assert f1_score(y, p >= f1, zero_division=0) == pytest.approx(best)
    for cost_fn, cost_fp in ((5.0, 1.0), (1.0, 1.0), (0.2, 1.0)):
        cut = choose_threshold(p, y, Rule("cost", None, cost_fn, cost_fp))
        costs = {
            t: cost_fn * (y.sum() - f @ y) + cost_fp * (f.sum() - f @ y) for t, f in tried.items()
        }
        cheapest = min(costs.values())
        flagged = p >= cut
        paid = cost_fn * (y.sum() - flagged @ y) + cost_fp * (flagged.sum() - flagged @ y)
        assert paid == pytest.approx(cheapest)
        assert flagged.sum() == min(
            (tried[t].sum() for t, cost in costs.items() if cost <= cheapest + 1e-9)
        )
    for share in (0.3, 0.8):
        recall = choose_threshold(p, y, Rule("recall", share))
        fewest = min(f.sum() for f in tried.values() if f @ y >= share * y.sum() - 1e-9)
        assert (p >= recall).sum() == fewest
        budget = choose_threshold(p, y, Rule("budget", share))
        most = max(f.sum() for f in tried.values() if f.sum() <= share * len(p) + 1e-9)
        assert (p >= budget).sum() == most
        precise = [f for f in tried.values() if f.any() and f @ y >= share * f.sum() - 1e-9]
        precision = choose_threshold(p, y, Rule("precision", share))
        if precise:
            assert (p >= precision) @ y == max(f @ y for f in precise)
        else:
            assert precision is None


@settings(deadline=None, max_examples=40)
@given(ROWS)
def test_a_weight_is_a_number_of_rows(rows):
    p, y = arrays(rows)
    weight = np.arange(len(p)) % 3
    if not (weight @ y and weight @ (1 - y)):
        return
    many_p, many_y = np.repeat(p, weight), np.repeat(y, weight)
    for rule in (Rule("f1"), Rule("recall", 0.5), Rule("budget", 0.5)):
        once = choose_threshold(p[weight > 0], y[weight > 0], rule, weight[weight > 0])
        assert once == pytest.approx(choose_threshold(many_p, many_y, rule))
    assert areas(p, y, weight) == pytest.approx(areas(many_p, many_y))


@pytest.mark.parametrize("unit", [0.1, 1 / 3, 0.7])
def test_the_unit_of_weights_changes_no_threshold(rng, unit):
    rules = [Rule("precision", share) for share in (0.5, 0.6, 0.75, 0.8, 0.9, 1.0)]
    rules += [Rule("recall", 0.5), Rule("budget", 0.25), Rule("cost", None, 5.0, 1.0), Rule("f1")]
    for _ in range(100):
        p = rng.random(40).round(2)
        y = (rng.random(40) < p).astype(float)
        for rule in rules:
            assert choose_threshold(p, y, rule, np.full(40, unit)) == choose_threshold(p, y, rule)


@settings(deadline=None, max_examples=60)
@given(ROWS)
def test_areas_are_those_of_scikit_learn(rows):
    p, y = arrays(rows)
    assert areas(p, y) == pytest.approx((average_precision_score(y, p), roc_auc_score(y, p)))
    draws = resamples(len(p), 0)
    several = areas(p, y, draws)
    assert (several[0][3], several[1][3]) == pytest.approx(areas(p, y, draws[3]), rel=1e-5)


def test_costs_are_weighed_by_probability():
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    y = rng.random(len(p)) < p  # calibrated: the threshold is the cheapest, up to chance
    cut = choose_threshold(p, y, Rule("cost", None, 9.0, 1.0))
    assert cut == pytest.approx(0.1, abs=0.02)


def test_the_rule_asked_for():
    assert rule_of().kind == "f1"
    assert rule_of(cost_fn=5, cost_fp=2) == Rule("cost", None, 5.0, 2.0)
    assert rule_of(budget=0.05).value == 0.05
    for wrong in (
        {"recall": 0.5, "budget": 0.1},
        {"cost_fn": 0, "cost_fp": 1},
        {"precision": 1.5},
        {"cost_fn": 1, "cost_fp": -1},
    ):
        with pytest.raises(ValueError, match=r"or one of|must be a number"):
            rule_of(**wrong)
    for alone, other in (("cost_fn", "cost_fp"), ("cost_fp", "cost_fn")):
        with pytest.raises(ValueError, match=f"^{alone} needs {other} too; both in the same money"):
            rule_of(**{alone: 5})


def test_calibration_of_calibrated_rows_and_of_others():
    rng = np.random.default_rng(0)
    p = rng.random(20_000) ** 2
    y = rng.random(len(p)) < p
    assert calibration_error(calibration_bins(p, y)) < 0.015
    assert calibration_error(calibration_bins(p**2, y)) > 0.1
    flagged, found, share = counts_of(p > 0.5, y)
    assert (flagged[0], found[0], share[0]) == pytest.approx(
        ((p > 0.5).mean(), ((p > 0.5) & y).mean(), y.mean())
    )
