"""What the page of a review holds of each suspect: a card, as plain values packed into a text.

A card has the cells of the row, identifiers first, what is usual in each column among trusted rows
of the label given and of the one suggested, the three most similar trusted rows, and the reasons.
Texts are written once and referred to by number; all of it is deflated and written in base64, so
that no text of a table is ever markup.
"""

from __future__ import annotations

import base64
import json
import shlex
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robell._tools.text import percent, shortened, spreadsheet_safe, visible, writable
from robell.labels.audit.reasons import nearest, usual_text, value_text
from robell.labels.review.review import stem_of
from robell.tables.columns import OTHER
from robell.tables.raw import Column
from robell.tables.read_csv import DELIMITERS

MOST_CARDS = 5_000
MOST_CHARACTERS = 2_500_000  # of different cells on a page; of wider tables the last columns go
CELL = 120  # characters of a cell that are shown
MOST_LISTED = 100  # different values of a category, up to which each gets its share


class CardParts(NamedTuple):
    """What suspects are compared by: `names` of groups of trusted rows, their `members`, and texts.

    `of_given` and `of_suggested` are the group of every row by its label and by the one suggested,
    `likely` the range of the right number.
    """

    classes: Sequence[str]
    names: Sequence[str]
    members: list[np.ndarray]
    of_given: np.ndarray
    of_suggested: np.ndarray
    examples: np.ndarray
    given: np.ndarray
    suggested: np.ndarray
    likely: Sequence[str] = ()


def review_of(result, parts, shown, path):
    """Return what the page of a review, kept at ``path``, shows of some rows, ready to pack."""
    near = nearest(result.evidence.view, shown, parts.examples)
    pool, places = np.unique(near.ravel(), return_inverse=True)
    rows = np.concatenate([shown, pool])
    columns, n_left_out = _columns(result, rows, parts)
    wrong = 1.0 - result.quality[shown]
    promised = float((1.0 - result.quality[result.suspect]).sum())
    factor = result.expected_wrong / promised if promised else 1.0
    prints = [str(text).rpartition("-")[::2] for text in result.fingerprint[shown]]
    return {
        "kind": result._kind,
        "apply": _apply_command(result),
        "target": {"shown": _shown(result.target), "written": _written(result.target)},
        "where": result._where,
        "table": prints[0][0],
        "classes": [{"shown": _shown(c), "written": _written(c)} for c in parts.classes],
        "groups": [_shown(name) for name in parts.names],
        "columns": columns,
        "left_out": n_left_out,
        "certified": _certified(result, path),
        "cards": len(shown),
        "number": result._number[rows].tolist(),
        "row": result.row[shown].tolist(),
        "given": _coded([_shown(parts.given[row]) for row in rows]),
        "given_written": _coded([_written(parts.given[row]) for row in shown]),
        "suggested": _coded([_shown(parts.suggested[row]) for row in shown]),
        "suggested_written": _coded([_written(parts.suggested[row]) for row in shown]),
        "range": _coded([parts.likely[row] for row in shown]) if len(parts.likely) else None,
        "from": parts.of_given[shown].tolist(),
        "to": parts.of_suggested[shown].tolist(),
        "chance": _coded([percent(float(value)) for value in result.quality[shown]]),
        "doubt": np.clip(factor * wrong, 0.0, 0.999).round(4).tolist(),
        "near": (len(shown) + places.reshape(near.shape)).tolist(),
        "print": [row for _, row in prints],
        "reasons": {
            str(k): [[_shown(one.column), writable(one.text)] for one in result.reasons[row]]
            for k, row in enumerate(result.row[shown].tolist())
            if result.reasons.get(row)
        },
    }


def _apply_command(result):
    """Return what stands before and behind the saved review in the command that applies it."""
    name, table = result.name, result.evidence.table
    ending = name[len(stem_of(name)) :] or ".csv"  # a table is written as the kind that it is
    words = ["--out", f"clean{ending}"]
    if table.encoding not in ("utf-8", "utf-8-sig"):
        words += ["--encoding", table.encoding]
    if table.delimiter not in DELIMITERS:
        words += ["--delimiter", table.delimiter]
    return [visible(shlex.join(part)) for part in (["robell", "apply", name], words)]


def _certified(result, path):
    """Return the fewest and most wrong labels by a certificate of this table beside the review."""
    stem = path.stem.removesuffix("-audit").removesuffix("-decisions")
    try:
        text = path.with_name(f"{stem}-certificate.json").read_text(encoding="utf-8")
        found = json.loads(text)
        whole = result.fingerprint[0].partition("-")[0]
        if found["fingerprint"] != f"{whole}-{result.evidence.labels}":
            return None
        return [int(found["wrong"]["low"]), int(found["wrong"]["high"])]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def packed(review):
    """Return plain values as text without any sign of markup."""
    text = json.dumps(review, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = zlib.compress(text.encode("utf-8", "replace"), 9)
    return base64.b64encode(data).decode("ascii")


def unpacked(text):
    """Return the plain values that were packed."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def _columns(result, rows, parts):
    """Return the columns of the cards, identifiers first, and how many there was no room for."""
    evidence = result.evidence
    used = {column.name: column for column in evidence.used}
    named: dict[str, float] = {}  # by how much each column speaks against the suspects
    for reasons in result.reasons.values():
        for one in reasons:
            named[one.column] = named.get(one.column, 0.0) + one.weight
    keys = result._keys()
    ranked: list[tuple[int, float, Column]] = []
    for column in evidence.table.columns:
        if column.name == result.target:
            continue
        rank = 0 if column.name in keys else 1 if column.name in used else 2
        ranked.append((rank, -named.get(column.name, 0.0), column))
    found: list[dict[str, Any]] = []
    characters = 0
    ranked.sort(key=lambda one: one[:2])
    for rank, _, column in ranked:
        one = used.get(column.name)
        cells = [
            shortened(value_text(one, row) if one else column.cells[row] or "", CELL)
            for row in rows
        ]
        coded = _coded(cells)
        characters += sum(map(len, coded["texts"])) + 2 * len(cells)
        if characters > MOST_CHARACTERS and found:
            break
        about = {"name": _shown(column.name), "what": ("key", "used", "other")[rank]}
        found.append(about | coded | (_usual(one, rows, coded, parts) if one else {}))
    return found, len(ranked) - len(found)


def _usual(column, rows, coded, parts):
    """Return what is usual in a column in each group: a range, or the share of every value."""
    if column.is_number:
        usual = []
        for members in parts.members:
            known = column.values[members]
            known = known[np.isfinite(known)]
            # Values that occur: nothing is computed, so nothing can overflow.
            ends = np.percentile(known, [25, 75], method="lower") if len(known) else None
            usual.append("no value" if ends is None else usual_text(column, *ends))
        return {"usual": usual}
    if len(coded["texts"]) > MOST_LISTED:
        return {}
    cells = {cell: k for k, cell in enumerate(dict.fromkeys(column.cells))}
    # Rare levels are taken together by the model, and told apart here.
    is_level = np.array((*column.levels, OTHER), object)[column.values] != OTHER
    own = np.array([cells[cell] for cell in column.cells])
    key = np.where(is_level, column.values, len(column.levels) + own)
    n_keys = len(column.levels) + len(cells)
    counts = [np.bincount(key[some], minlength=n_keys) for some in parts.members]
    shares = [count / max(count.sum(), 1) for count in counts]
    first = dict(zip(reversed(coded["codes"]), reversed(rows.tolist()), strict=True))
    each = [first[k] for k in range(len(coded["texts"]))]  # a row that has each of the texts
    return {"shares": [[percent(float(share[key[row]])) for share in shares] for row in each]}


def _coded(texts):
    """Return texts, each once in the order in which they come, and the place of each."""
    place = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    return {"texts": list(place), "codes": [place[text] for text in texts]}


def _shown(text):
    return shortened(str(text), CELL)


def _written(text):
    """Return a label as the table of the audit has it."""
    return spreadsheet_safe(writable(str(text)))
