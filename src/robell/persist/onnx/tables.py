"""The table encoder as a graph: numbers, dates as days, categories, and the words of texts.

How often a text occurred in the training table is known by digests, which a graph cannot compute:
a column that needs it is held at its usual value, or the model is not converted.
"""

from __future__ import annotations

import functools
import operator
import sys

import numpy as np

from robell._tools.text import NAME, listed
from robell.persist.onnx.nodes import NotConvertible, Value
from robell.tables.columns import LARGEST, MOST_READ, _standardised, missing_texts

FAR_OUT = 1e100  # from where on asinh is a logarithm to the last digit, and squares may overflow


def encoder_inputs(encoder):
    """Return name, kind ("number" or "text") and how it is fed of each column that is needed."""
    held = getattr(encoder, "held_", ())
    plans = [plan for plan in encoder.plans_ if plan["name"] not in held]
    counting = [plan for plan in plans if plan.get("words", {}).get("hashes") is not None]
    digests = [plan["name"] for plan in counting if plan["words"].get("texts") is None]
    if digests:
        raise NotConvertible(
            f"column{'s' * (len(digests) > 1)} {listed(digests, limit=NAME)}: how often a text "
            "occurred in training has no ONNX form; fit the model without, or export it with such "
            "columns held at their usual values:",
            digests,
        )
    if not plans:
        raise NotConvertible("no column is left to feed")
    return [(plan["name"], _kind(plan), _fed(plan)) for plan in plans]


def _kind(plan):
    return "number" if plan["kind"] in ("number", "date") else "text"


def _fed(plan):
    """Say how a column is fed to the graph."""
    if plan["kind"] == "date":
        return "days since 1970-01-01, with fractions for the time of day; NaN where missing"
    if plan["kind"] == "number":
        return f"a number of double precision; NaN where missing (in training: {plan['how']})"
    if "words" in plan:
        return f"text, its first {MOST_READ} characters, no spaces around it; empty where missing"
    return "text as it stands in a file; empty where missing"


def encoded_columns(graph, encoder, columns):
    """Return the encoded columns; ``columns`` gives the cells of each plan, (n, 1), or None."""
    encoder_inputs(encoder)
    held = getattr(encoder, "held_", ())
    starts = np.cumsum([0, *(len(plan["names"]) for plan in encoder.plans_)])
    parts: list[Value] = []
    order: list[int] = []
    numeric: list[int] = []
    for place, plan in enumerate(encoder.plans_):
        if plan["name"] not in held and _kind(plan) == "number":
            numeric.append(place)
            continue
        order += range(starts[place], starts[place + 1])
        if plan["name"] in held:
            fed = next(cells for cells in columns if cells is not None)
            usual = encoder.centre_[None, starts[place] : starts[place + 1]]
            parts.append(graph.node("Expand", usual, graph.node("Shape", fed)))
        else:
            parts += _categories(graph, plan, columns[place])
    if numeric:
        plans = [encoder.plans_[place] for place in numeric]
        cells = [graph.to_double(columns[place]) for place in numeric]
        found, places = _numbers(graph, plans, graph.beside(*cells), starts[numeric])
        parts, order = parts + found, order + places
    whole = graph.beside(*parts)
    return whole if order == sorted(order) else graph.columns(whole, np.argsort(order))


def _numbers(graph, plans, values, starts):
    """Return standardised values, where they are missing, times of day; and their places."""
    gone = graph.node("IsNaN", values) | graph.node("IsInf", values)
    medians = np.array([[plan["median"] for plan in plans]])
    filled = graph.node("Where", gone, medians, values)
    parts: list[Value] = []
    places: list[int] = []
    ends = starts.copy()  # where the next column of each plan stands

    def some(values, having):
        return values if len(having) == len(plans) else graph.columns(values, having)

    def take(having, part):
        parts.append(part)
        places.extend(int(ends[k]) for k in having)
        ends[having] += 1

    for is_long in (False, True):
        having = [k for k, plan in enumerate(plans) if plan["value"]]
        having = [k for k in having if bool(plans[k].get("tails")) == is_long]
        if having:
            known = some(filled, having)
            known = _drawn_in(graph, known, plans, having) if is_long else known
            take(having, _scaled(graph, known, plans, having))
    having = [k for k, plan in enumerate(plans) if plan.get("missing")]
    if having:
        words = [_standardised(np.array([0.0, 1.0]), plans[k]["missing"]) for k in having]
        is_there, is_gone = np.array(words).T[:, None, :]
        take(having, graph.node("Where", some(gone, having), is_gone, is_there))
    having = [k for k, plan in enumerate(plans) if plan.get("circle")]
    if having:
        days, absent = some(filled, having), some(gone, having)
        lengths = np.array([[float(plans[k]["circle"]) for k in having]])
        if (lengths != 1.0).any():  # times of day are in hours
            days = days / lengths
        angle = (days - graph.node("Floor", days)) * np.full((1, len(having)), 2.0 * np.pi)
        for found in (graph.node("Sin", angle), graph.cos(angle)):
            take(having, graph.node("Where", absent, 0.0, found))
    return parts, places


def _drawn_in(graph, values, plans, having):
    """Return asinh((v - centre) / width): log(|x| + √(x² + 1)) of its size, log 2|x| far out."""
    centre, width = np.array([plans[k]["tails"] for k in having]).T[:, None, :]
    scaled = values / width - centre / width
    size = graph.node("Min", graph.node("Abs", scaled), 1e300)
    near = graph.node("Min", size, FAR_OUT)
    inner = graph.node("Log", near + graph.node("Sqrt", near * near + 1.0))
    outer = graph.node("Log", size) + float(np.log(2.0))
    return graph.node("Where", size > FAR_OUT, outer, inner) * graph.node("Sign", scaled)


def _scaled(graph, values, plans, having):
    """Return values as ``tables/columns.py`` scales them, operation by operation."""
    names = ("shift", "largest", "mean", "deviation")
    constants = [[[plans[k]["value"][name] for k in having]] for name in names]
    shift, largest, mean, deviation = np.array(constants, np.float64)
    values = ((values - shift) / largest - mean) / deviation
    return graph.node("Min", graph.node("Max", values, -LARGEST), LARGEST)


def _categories(graph, plan, cells):
    """Yield the columns of the levels, each matched by a pattern of its own, and of the words."""
    levels = list(plan["levels"])
    n_common = len(levels) - plan["has_other"] - plan["has_missing"]
    is_gone = _is_one_of(graph, cells, missing_texts(plan))
    if len(levels) > 1:
        spellings = {level: [level] for level in levels[:n_common]}
        for cell, level in plan.get("spelt", {}).items():
            spellings.get(level, []).append(cell)
        found = [_is_one_of(graph, cells, texts) for texts in spellings.values()]
        is_other = graph.node("Not", functools.reduce(operator.or_, [is_gone, *found]))
        found += [is_other] * plan["has_other"] + [is_gone] * plan["has_missing"]
        if len(levels) > 2:
            yield graph.to_double(graph.beside(*found))
        else:
            between = np.full((1, 1), float(plan["second"]))  # for a level the fit has not seen
            second = graph.to_double(found[1])
            yield graph.node("Where", functools.reduce(operator.or_, found), second, between)
    if "words" in plan:
        variants: dict[str, list[str]] = {}
        for cell, level in plan.get("spelt", {}).items():
            variants.setdefault(level, []).append(cell)
        for level, texts in variants.items():  # spelt as the level is
            cells = graph.node("Where", _is_one_of(graph, cells, texts), np.array([[level]]), cells)
        for columns in _words(graph, plan["words"], cells):
            yield graph.node("Where", is_gone, 0.0, columns)


def _words(graph, plan, cells):
    """Yield (v / |v|) A - c, v the rarities of the common words, and how often the text occurs."""
    if plan["axes"] is not None:
        patterns = map(word_pattern, plan["tokens"].tolist())
        found = [graph.node("RegexFullMatch", cells, pattern=pattern) for pattern in patterns]
        weighted = graph.to_double(graph.beside(*found)) * plan["rarity"][None, :]
        norm = graph.node("Sqrt", graph.over("ReduceSum", weighted * weighted))
        yield (weighted / graph.node("Max", norm, 1e-300)) @ plan["axes"] - plan["centre"]
    if plan["hashes"] is not None:
        mean, deviation = plan["often"]
        scaled = (np.append(plan["logs"], 0.0) - mean) / deviation  # the last: of other texts
        n_known = len(plan["texts"])
        place = graph.node(
            "LabelEncoder",
            cells,
            domain="ai.onnx.ml",
            version=2,
            keys_strings=list(plan["texts"]),
            values_int64s=list(range(n_known)),
            default_int64=n_known,
        )
        yield graph.node("Gather", scaled, place, axis=0)


def word_pattern(token):
    """Return a pattern for texts that hold a word or a number, in capitals or not."""
    # A word is a run of letters, as ``tables/columns.py`` finds them in the text in small letters,
    # by which one sign may become several (``str.casefold``: ß is ss); a number is a run of digits.
    before, after, spellings = _folding()
    if token.isdecimal():
        before = after = r"[^\p{Nd}]"

    def spelt(rest):
        if not rest:
            return ""
        longer = [n for n in (2, 3) if rest[:n] in spellings and len(rest) >= n]
        first = f"[{_spelt(spellings.get(rest[0], rest[0]))}]{spelt(rest[1:])}"
        others = [f"[{_spelt(spellings[rest[:n]])}]{spelt(rest[n:])}" for n in longer]
        return f"(?:{'|'.join([first, *others])})" if others else first

    return f"(?s)(?:.*{before})?{spelt(token)}(?:{after}.*)?"


@functools.lru_cache(maxsize=1)
def _folding():
    """Return patterns for what stands before and after a word, and all spellings of its signs."""
    spellings: dict[str, str] = {}
    letters_before, letters_after, breaks_before, breaks_after = "", "", "", ""
    for sign in map(chr, range(sys.maxunicode + 1)):
        folded = sign.casefold()
        if folded != sign:
            spellings[folded] = spellings.get(folded, folded if len(folded) == 1 else "") + sign
            is_letter = _is_letter(sign)
            if is_letter != _is_letter(folded[-1]):
                letters_before += "" if is_letter else sign
                breaks_before += sign if is_letter else ""
            if is_letter != _is_letter(folded[0]):
                letters_after += "" if is_letter else sign
                breaks_after += sign if is_letter else ""

    def outside(letters, breaks):
        pattern = rf"[^\p{{L}}\p{{Nl}}\p{{No}}{_spelt(letters)}]"
        return f"(?:{pattern}|[{_spelt(breaks)}])" if breaks else pattern

    return outside(letters_before, breaks_before), outside(letters_after, breaks_after), spellings


def _is_letter(sign):
    return sign.isalnum() and not sign.isdecimal()


def _is_one_of(graph, cells, texts):
    """Say which cells are one of some texts, spaces around them aside as ``str.strip`` sees it."""
    within = "|".join(map(_spelt, texts))
    return graph.node("RegexFullMatch", cells, pattern=f"{SPACES}(?:{within}){SPACES}")


def _spelt(text):
    """Return a pattern for a text, every sign by its number: none has another meaning then."""
    return "".join(f"\\x{{{ord(sign):x}}}" for sign in text)


# Every sign that Python takes as a space; that of a pattern, \s, knows those of ASCII alone.
SPACES = f"[{_spelt(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))}]*"
