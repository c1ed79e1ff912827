"""Columns of text: common levels as columns of 0 and 1, and words as a few columns of numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np

from robell._tools.text import counted, percent
from robell.tables.words import apply_words, learn_words

MOST_LEVELS = 20
LEAST_SHARE = 0.01  # of the rows; rarer levels of a category are taken together
LEAST_COUNT = 3  # rows; the same
POOLED_SHARE = 0.1  # of the rows with a value: where more have a rare level, words are looked at
OTHER, NO_VALUE = "(other)", "(missing)"


def learn_categories(name, missing, present, odd, text_columns):
    """Return the plan for a category and its note; None and the reason if it says nothing."""
    counts = Counter(present)
    least = max(LEAST_COUNT, LEAST_SHARE * len(missing))
    common = [level for level, count in counts.most_common(MOST_LEVELS) if count >= least]
    pooled = len(counts) - len(common)
    n_other = len(present) - sum(counts[level] for level in common)
    words = None
    if pooled > MOST_LEVELS and n_other > POOLED_SHARE * len(present):
        words = learn_words(counts, len(missing), text_columns)
    levels = [*common, *([OTHER] if n_other else []), *([NO_VALUE] if missing.any() else [])]
    plan = {"kind": "category", "name": name, "levels": levels, "has_other": bool(n_other)}
    plan["has_missing"] = bool(missing.any())
    sizes = [*(counts[level] for level in common), *([n_other] if n_other else [])]
    plan["second"] = (len(missing) - sizes[0]) / len(missing) if len(levels) == 2 else 0.0
    if words is not None:
        plan |= {"kind": "text", "words": words}
    plan["names"] = _names(plan)
    if not plan["names"]:
        return None, (
            f"{odd}text of {counted(len(counts), 'value')}, none of which is in "
            f"{percent(LEAST_SHARE)} of the rows"
        )
    done = f"{odd}read as a category of {counted(len(counts), 'level')}"
    if pooled:
        done += f"; the {pooled:,} rarest taken together"
    if words is not None:
        done += f", {_say_words(words)}"
    if missing.any():
        done += "; missing as a level of its own"
    return plan, _note(plan, missing, done)


def learn_text(name, missing, present, text_columns):
    """Return the plan for free text, different in each row, and its note; None and the reason."""
    spaced = sum(any(sign.isspace() for sign in cell) for cell in present)
    words = None
    if 2 * spaced > len(present):  # codes without spaces name the rows, whatever they are made of
        words = learn_words(Counter(present), len(missing), text_columns)
    if words is None:
        return None, "looks like an identifier or free text, different in each row"
    levels = [OTHER, *([NO_VALUE] if missing.any() else [])]
    plan = {"kind": "text", "name": name, "levels": levels, "has_other": True, "words": words}
    plan |= {"has_missing": bool(missing.any()), "second": float(missing.mean())}
    plan["names"] = _names(plan)
    done = f"read as text, different in each row: {_say_words(words)}"
    if missing.any():
        done += "; one more column says where it is missing"
    return plan, _note(plan, missing, done)


def _say_words(words):
    columns = counted(len(words["names"]), "column")
    if not len(words["tokens"]):
        return f"{columns} for how often each occurs"
    often = ", how often each occurs among them" if words["hashes"] is not None else ""
    return f"{columns} for its {counted(len(words['tokens']), 'common word')}{often}"


def _note(plan, missing, done):
    n_missing = int(missing.sum())
    return {"name": plan["name"], "kind": plan["kind"], "missing": n_missing, "done": done}


def _names(plan):
    """Return the names of the columns that a model gets; one is enough for two levels."""
    levels = plan["levels"]
    shown = levels[1:] if len(levels) == 2 else levels if len(levels) > 2 else []
    names = [f"{plan['name']}={level}" for level in shown]
    if "words" in plan:
        names += [f"{plan['name']} {name}" for name in plan["words"]["names"]]
    return names


def apply_categories(plan, cells, missing):
    """Return places among the levels with the matrix that a model gets, and count new levels."""
    levels, n_common = plan["levels"], len(plan["levels"])
    n_common -= plan["has_other"] + plan["has_missing"]
    places = {level: place for place, level in enumerate(levels[:n_common])}
    other = n_common if plan["has_other"] else -1
    none = n_common + plan["has_other"] if plan["has_missing"] else -1
    values = np.fromiter(
        (
            none if gone else places.get(cell, other)
            for cell, gone in zip(cells, missing, strict=True)
        ),
        np.intp,
        len(cells),
    )
    n = len(levels)
    parts = []
    if n == 2:
        # A level that the fit has not seen is between the two, as near to each as it is common.
        parts.append(np.where(values < 0, plan["second"], values == 1)[:, None].astype(float))
    elif n > 2:
        parts.append((values[:, None] == np.arange(n)).astype(float))
    if "words" in plan:
        parts.append(apply_words(plan["words"], cells, missing))
    unknown = int((values[~missing] < 0).sum()) if other < 0 else 0
    return (values, np.hstack(parts)), unknown
