"""Dense ARFF files, as OpenML serves them."""

from __future__ import annotations

import re

from robell.datasets._dataset import DatasetError

# A quoted or a bare word at the beginning of a declaration.
_NAME = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S+))""")
# One cell and the comma or end behind it.
_CELL = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"]*))\s*(,|$)""")


def parse_arff(text, label):
    """Parse a dense ARFF file; returns attribute names and rows of cells as text."""
    names, rows, in_data = [], [], False
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        where = f"{label}, line {number}"
        if in_data:
            cells = _cells(line, where)
            if len(cells) != len(names):
                raise DatasetError(f"{where}: {len(cells)} cells for {len(names)} attributes")
            rows.append(cells)
        elif line.lower().startswith("@attribute"):
            names.append(_unquoted(_NAME.match(line[len("@attribute") :]), where))
        elif line.lower().startswith("@data"):
            in_data = True
        elif not line.lower().startswith("@relation"):
            raise DatasetError(f"{where}: not ARFF: {line[:40]!r}")
    if not names or not rows:
        raise DatasetError(f"{label}: no attributes or no rows, perhaps not an ARFF file")
    return names, rows


def _cells(line, where):
    if line.startswith("{"):
        raise DatasetError(f"{where}: sparse ARFF is not supported")
    cells, position = [], 0
    while True:
        match = _CELL.match(line, position)
        cells.append(_unquoted(match, where))
        position = match.end()
        if match[4] == "":
            return cells


def _unquoted(match, where):
    if match is None:
        raise DatasetError(f"{where}: cannot be read as ARFF")
    quoted = match[1] if match[1] is not None else match[2]
    if quoted is None:
        return match[3].strip()
    return re.sub(r"\\(.)", r"\1", quoted)
