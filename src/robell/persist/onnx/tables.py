"""The table encoder as a graph: numbers, dates as days, and categories; words have no ONNX form."""

from __future__ import annotations

import functools
import sys

import numpy as np

from robell._tools.text import said
from robell.persist.onnx.nodes import NotConvertible
from robell.tables.columns import LARGEST, _standardised, missing_texts

FAR_OUT = 1e100  # from where on asinh is a logarithm to the last digit, and squares may overflow


def encoder_inputs(encoder):
    """Return name and kind ("number" or "text") of the columns that an encoder needs."""
    for plan in encoder.plans_:
        if "words" in plan:
            raise NotConvertible(
                f"column {said(plan['name'])} is read as text, and its words have no ONNX form: "
                "fit the model without it to export it"
            )
    return [
        (plan["name"], "number" if plan["kind"] in ("number", "date") else "text")
        for plan in encoder.plans_
    ]


def encoded_columns(graph, encoder, columns):
    """Return the encoded columns; ``columns`` gives the cells of each plan, (n, 1).

    All numbers go through the graph side by side; at the end the columns are put in order.
    """
    encoder_inputs(encoder)
    if not encoder.plans_:
        raise NotConvertible("the encoder uses no column")
    starts = np.cumsum([0, *(len(plan["names"]) for plan in encoder.plans_)])
    parts: list[str] = []
    order: list[int] = []
    numeric: list[int] = []
    for place, plan in enumerate(encoder.plans_):
        if plan["kind"] in ("number", "date"):
            numeric.append(place)
        else:
            parts += _categories(graph, plan, columns[place])
            order += range(starts[place], starts[place + 1])
    if numeric:
        plans = [encoder.plans_[place] for place in numeric]
        cells = [graph.to_double(columns[place]) for place in numeric]
        found, places = _numbers(graph, plans, graph.beside(*cells), starts[numeric])
        parts, order = parts + found, order + places
    whole = graph.beside(*parts)
    if order == sorted(order):
        return whole
    return graph.columns(whole, np.argsort(order))


def _numbers(graph, plans, values, starts):
    """Return standardised values, where they are missing, times of day; and their places."""
    gone = graph.node("Or", graph.node("IsNaN", values), graph.node("IsInf", values))
    medians = np.array([[plan["median"] for plan in plans]])
    filled = graph.node("Where", gone, medians, values)
    parts: list[str] = []
    places: list[int] = []
    ends = starts.copy()  # where the next column of each plan stands

    def take(having, part):
        parts.append(part)
        places.extend(int(ends[k]) for k in having)
        ends[having] += 1

    for is_long in (False, True):
        having = [k for k, plan in enumerate(plans) if plan["value"]]
        having = [k for k in having if bool(plans[k].get("tails")) == is_long]
        if having:
            known = _some(graph, filled, having, plans)
            known = _drawn_in(graph, known, plans, having) if is_long else known
            take(having, _scaled(graph, known, plans, having))
    having = [k for k, plan in enumerate(plans) if plan.get("missing")]
    if having:
        words = [_standardised(np.array([0.0, 1.0]), plans[k]["missing"]) for k in having]
        is_there, is_gone = np.array(words).T[:, None, :]
        take(having, graph.node("Where", _some(graph, gone, having, plans), is_gone, is_there))
    having = [k for k, plan in enumerate(plans) if plan.get("circle")]
    if having:
        days, absent = (_some(graph, one, having, plans) for one in (filled, gone))
        lengths = np.array([[float(plans[k]["circle"]) for k in having]])
        if (lengths != 1.0).any():  # times of day are in hours
            days = graph.node("Div", days, lengths)
        part = graph.node("Sub", days, graph.node("Floor", days))
        angle = graph.node("Mul", part, np.full((1, len(having)), 2.0 * np.pi))
        for found in (graph.node("Sin", angle), graph.cos(angle)):
            take(having, graph.node("Where", absent, 0.0, found))
    return parts, places


def _some(graph, values, having, plans):
    """Return some of the columns."""
    return values if len(having) == len(plans) else graph.columns(values, having)


def _drawn_in(graph, values, plans, having):
    """Return asinh((v - centre) / width): log(|x| + √(x² + 1)) of its size, log 2|x| far out."""
    centre, width = np.array([plans[k]["tails"] for k in having]).T[:, None, :]
    scaled = graph.node("Sub", graph.node("Div", values, width), centre / width)
    size = graph.node("Min", graph.node("Abs", scaled), 1e300)
    near = graph.node("Min", size, FAR_OUT)
    root = graph.node("Mul", near, near)
    root = graph.node("Sqrt", graph.node("Add", root, 1.0))
    inner = graph.node("Log", graph.node("Add", near, root))
    outer = graph.node("Add", graph.node("Log", size), float(np.log(2.0)))
    is_far = graph.node("Greater", size, FAR_OUT)
    found = graph.node("Where", is_far, outer, inner)
    return graph.node("Mul", found, graph.node("Sign", scaled))


def _scaled(graph, values, plans, having):
    """Return values as ``tables/columns.py`` scales them, operation by operation."""
    for kind, name in (("Sub", "shift"), ("Div", "largest"), ("Sub", "mean"), ("Div", "deviation")):
        constants = np.array([[plans[k]["value"][name] for k in having]])
        values = graph.node(kind, values, constants)
    values = graph.node("Max", values, -LARGEST)
    return graph.node("Min", values, LARGEST)


def _categories(graph, plan, cells):
    """Yield the columns of the levels, each matched by a pattern of its own."""
    levels = list(plan["levels"])
    if len(levels) < 2:
        return
    n_common = len(levels) - plan["has_other"] - plan["has_missing"]
    is_gone = _is_one_of(graph, cells, missing_texts(plan))
    spellings = {level: [level] for level in levels[:n_common]}
    for cell, level in plan.get("spelt", {}).items():
        spellings.get(level, []).append(cell)
    found = [_is_one_of(graph, cells, texts) for texts in spellings.values()]
    is_other = graph.node("Not", _any(graph, [is_gone, *found]))
    found += [is_other] * plan["has_other"] + [is_gone] * plan["has_missing"]
    if len(levels) > 2:
        yield graph.to_double(graph.beside(*found))
    else:
        between = np.full((1, 1), float(plan["second"]))  # for a level that the fit has not seen
        second = graph.to_double(found[1])
        yield graph.node("Where", _any(graph, found), second, between)


def _is_one_of(graph, cells, texts):
    """Say which cells are one of some texts, spaces around them aside as ``str.strip`` sees it."""
    within = "|".join(map(_spelt, texts))
    return graph.node("RegexFullMatch", cells, pattern=f"{SPACES}(?:{within}){SPACES}")


def _any(graph, truths):
    return functools.reduce(functools.partial(graph.node, "Or"), truths)


def _spelt(text):
    """Return a pattern for a text, every sign by its number: none has another meaning then."""
    return "".join(f"\\x{{{ord(sign):x}}}" for sign in text)


# Every sign that Python takes as a space; that of a pattern, \s, knows those of ASCII alone.
SPACES = f"[{_spelt(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))}]*"
