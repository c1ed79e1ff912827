"""Columns of numbers and dates: gaps filled, standardised, times of day on a circle."""

from __future__ import annotations

import numpy as np

from robell._tools.text import counted, number_text

INDICATED = 0.05  # share of missing cells above which one more column says where they were
LONG_TAIL = 6.0  # standard deviations
LARGEST = 1e100  # standard deviations that a number may be away; beyond, products overflow
CIRCLE = ("sine of the time of day", "cosine of the time of day")


def learn_numbers(name, values, how, is_date):
    """Return the plan for numbers, NaN where missing, and its note; no plan if they say nothing."""
    infinite = np.isinf(values)
    values = np.where(infinite, np.nan, values)
    gone = np.isnan(values)
    known = values[~gone]
    n_missing = int(gone.sum())

    def left_out(why):
        return None, {"name": name, "kind": "left out", "missing": n_missing, "done": why}

    if not len(known) or (known.min() == known.max() and not n_missing):
        return left_out(
            "left out: it holds no finite value" if not len(known) else "left out: constant"
        )
    kind = "date" if is_date else "number"
    plan = {"kind": kind, "name": name, "how": how, "median": _median(known)}
    done = [f"read as a {how}" if not is_date else f"read as a {how}, in days"]
    if infinite.any():
        done.append(f"{counted(int(infinite.sum()), 'infinite value')} taken as missing")
    if n_missing:
        shown = "the middle date" if is_date else f"the median, {number_text(plan['median'])}"
        done.append(f"missing cells filled with {shown}")
    plan["tails"] = None if is_date else _learn_tails(known, plan["median"])
    if plan["tails"]:
        done.append("long tails drawn in")
    plan["value"] = _learn_scale(_drawn_in(np.where(gone, plan["median"], values), plan["tails"]))
    if n_missing > INDICATED * len(values) or known.min() == known.max():
        plan["missing"] = _learn_scale(gone.astype(float))
        if plan["missing"]:
            done.append("one more column says where they were")
    plan["range"] = [float(known.min()), float(known.max())]
    if is_date and np.any(known % 1.0):
        plan["circle"] = True
        done.append("two more columns hold the time of day")
    plan["names"] = _names(plan)
    if not plan["names"]:
        return left_out("left out: its values differ by less than numbers of their size can tell")
    note = {"name": name, "kind": kind, "missing": n_missing, "done": "; ".join(done)}
    return plan, note


def _names(plan):
    """Return the names of the columns that a model gets."""
    names = [plan["name"]] if plan["value"] else []
    if plan.get("missing"):
        names.append(f"{plan['name']} missing")
    if plan.get("circle"):
        names += [f"{plan['name']} {part}" for part in CIRCLE]
    return names


def apply_numbers(plan, values):
    """Return the numbers, NaN where missing, and the matrix that a model gets."""
    values = np.where(np.isinf(values), np.nan, values)
    gone = np.isnan(values)
    filled = np.where(gone, plan["median"], values)
    drawn = _drawn_in(filled, plan["tails"])
    parts = [_standardised(drawn, plan["value"])] if plan["value"] else []
    if plan.get("missing"):
        parts.append(_standardised(gone.astype(float), plan["missing"]))
    if plan.get("circle"):
        angle = 2.0 * np.pi * (filled % 1.0)
        parts += [np.where(gone, 0.0, np.sin(angle)), np.where(gone, 0.0, np.cos(angle))]
    return values, np.column_stack(parts)


def _learn_tails(known, median):
    """Return centre and width of numbers with long tails, None for others.

    Long are tails that reach farther than so many standard deviations from the mean: such a
    deviation is that of a few rows, and leaves next to no room for all others.
    """
    largest = float(np.abs(known).max()) or 1.0
    scaled = known / largest
    deviation = float(scaled.std())
    if np.abs(scaled - scaled.mean()).max() <= LONG_TAIL * deviation or deviation < 1e-12:
        return None
    low, high = np.percentile(scaled, [25, 75])
    width = (high - low) / 2 or float(np.abs(scaled - median / largest).mean())
    return [median, width * largest] if width * largest > 0 else None


def _drawn_in(values, tails):
    """Return asinh((v - centre) / width): nearly linear within the width, logarithmic beyond."""
    if tails is None:
        return values
    centre, width = tails
    with np.errstate(over="ignore"):
        scaled = values / width - centre / width
    return np.arcsinh(np.clip(scaled, -1e300, 1e300))


def _median(known):
    """Return the median, also of numbers so large that the sum of two overflows."""
    scale = 4.0 if np.abs(known).max() > 1e300 else 1.0
    return float(np.median(known / scale)) * scale


def _learn_scale(values):
    """Return what makes mean 0 and standard deviation 1 of values; None where all are equal."""
    shift = 0.0
    for _ in range(2):
        largest = float(np.abs(values - shift).max())
        if largest == 0:
            return None
        scaled = (values - shift) / largest  # squares of very large or small ones would overflow
        mean = float(scaled.mean())
        deviation = float(np.sqrt(np.mean((scaled - mean) ** 2)))
        if deviation > 1e-12:
            return {"shift": shift, "largest": largest, "mean": mean, "deviation": deviation}
        if shift or values.min() == 0 or not (values == np.round(values)).all():
            return None  # the differences are rounding
        shift = float(values.min())  # codes of many digits: exact in whole numbers
    return None


def _standardised(values, scale):
    """Return values as they were scaled by :func:`_learn_scale`."""
    with np.errstate(over="ignore"):
        scaled = ((values - scale["shift"]) / scale["largest"] - scale["mean"]) / scale["deviation"]
    return np.clip(scaled, -LARGEST, LARGEST)
