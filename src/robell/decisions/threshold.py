"""Where to put the threshold: by costs, by a precision, a recall or a budget, or by the best F1.

All of it is arithmetic on predictions of rows that the model has not seen: their probabilities,
whether each row is positive (or how probably it is), and a weight for each row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RULES = ("f1", "cost", "precision", "recall", "budget")


@dataclass(frozen=True)
class Rule:
    """How a threshold is chosen: the kind, and the number or the two costs that it needs."""

    kind: str = "f1"
    value: float | None = None
    cost_fn: float | None = None
    cost_fp: float | None = None

    def __post_init__(self):
        if self.kind not in RULES:
            raise ValueError(f"kind must be one of {', '.join(RULES)}, got {self.kind!r}")

    def __str__(self):
        if self.kind == "cost":
            return (
                f"where a miss costs {self.cost_fn:g} and a false alarm {self.cost_fp:g}, a row is "
                f"worth a check from {self.cost_fp:g} / ({self.cost_fp:g} + {self.cost_fn:g}) on"
            )
        share = f"{100 * self.value:g} %" if self.value else ""
        return {
            "f1": "the best F1 on held-out rows; name your own aim to get another",
            "precision": f"the most positives found with at least {share} of the flagged positive",
            "recall": f"the fewest rows to check that find at least {share} of the positives",
            "budget": f"the rows with the largest probabilities, {share} of all",
        }[self.kind]


def rule_of(cost_fn=None, cost_fp=None, precision=None, recall=None, budget=None):
    """Return the Rule that the options ask for; raise where they ask for several, or nonsense."""
    wanted = {"precision": precision, "recall": recall, "budget": budget}
    given = [name for name, value in wanted.items() if value is not None]
    costs = [cost for cost in (cost_fn, cost_fp) if cost is not None]
    if len(given) + bool(costs) > 1:
        raise ValueError("a threshold is chosen by costs, precision, recall or budget: give one")
    if costs:
        cost_fn, cost_fp = (1.0 if cost is None else float(cost) for cost in (cost_fn, cost_fp))
        if not (0 < cost_fn < np.inf and 0 < cost_fp < np.inf):
            raise ValueError("costs must be numbers above 0")
        return Rule("cost", None, cost_fn, cost_fp)
    if not given:
        return Rule()
    value = float(wanted[given[0]])
    if not 0 < value <= 1:
        raise ValueError(f"{given[0]} must be a share above 0 and at most 1, got {value:g}")
    return Rule(given[0], value)


def operating_points(probability, positive, weight=None):
    """Return every threshold that makes a difference, and what is flagged and found by each.

    Returns the thresholds, falling, with the flagged weight and the positive weight among it:
    first nothing is flagged, at last everything. ``positive`` may be a probability.
    """
    probability = np.asarray(probability, np.float64)
    weight = np.ones(len(probability)) if weight is None else np.asarray(weight, np.float64)
    order = np.argsort(-probability, kind="stable")
    sorted_ = probability[order]
    last = np.append(sorted_[1:] != sorted_[:-1], True)  # of rows with equal probabilities
    flagged = np.cumsum(weight[order])[last]
    found = np.cumsum((weight * positive)[order])[last]
    levels = sorted_[last]
    below = np.append(levels[1:], 0.0)
    thresholds = (levels + below) / 2.0  # between two rows, as far from either
    thresholds = np.concatenate([[(1.0 + levels[0]) / 2.0], thresholds])
    thresholds[-1] = 0.0
    return (
        thresholds,
        np.concatenate([[0.0], flagged]),
        np.concatenate([[0.0], found]),
    )


def choose_threshold(probability, positive, rule, weight=None):
    """Return the threshold that a Rule asks for; None where no threshold reaches it."""
    if rule.kind == "cost":
        # A check costs (1 - p) cost_fp on average, no check p cost_fn.
        return rule.cost_fp / (rule.cost_fp + rule.cost_fn)
    thresholds, flagged, found = operating_points(probability, positive, weight)
    total = found[-1]
    if rule.kind == "f1":
        return float(thresholds[np.argmax(2.0 * found / (flagged + total))])
    if rule.kind == "budget":
        return float(thresholds[np.flatnonzero(flagged <= rule.value * flagged[-1] + 1e-9)[-1]])
    if rule.kind == "recall":
        return float(thresholds[np.flatnonzero(found >= rule.value * total - 1e-9)[0]])
    precise = np.flatnonzero(found[1:] >= rule.value * flagged[1:] - 1e-9) + 1
    return float(thresholds[precise[np.argmax(found[precise])]]) if len(precise) else None
