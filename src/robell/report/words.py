"""The fixed words of a page, kept in a TOML file beside its code.

The file has four parts. ``texts`` are sentences, ``tables`` hold all of a table but its rows,
``figures`` a caption and what a picture shows, ``sections`` a title and the paragraphs before
(``text``) and behind (``closing``) the blocks. Values in braces are filled in.
"""

from __future__ import annotations

import tomllib
from typing import Any

from robell._tools.files import read_resource
from robell.report.page import Paragraph, Section
from robell.report.tables import Table

OF_COLUMNS = ("columns", "digits", "column_best", "best_columns")
REST = "*"  # stands for the columns that only the results tell


class Words:
    """The words of one page; ``package`` holds its ``words.toml``."""

    def __init__(self, package: str) -> None:
        self._parts = tomllib.loads(read_resource(package, "words.toml"))

    def text(self, name: str, /, **values: Any) -> Any:
        """Return a text, or a list of them."""
        return _filled(self._parts["texts"][name], values)

    def figure(self, name: str, /, **values: Any) -> tuple[str, str]:
        """Return the caption of a figure, and what it shows."""
        entry = _filled(self._parts["figures"][name], values)
        return entry["caption"], entry["alt"]

    def table(self, name: str, rows, columns=(), footer=(), /, **values: Any) -> Table:
        """Return a table; ``columns`` are those that its entry leaves to the results."""
        entry = _filled(self._parts["tables"][name], values)
        variable = REST in entry["columns"]
        place = entry["columns"].index(REST) if variable else 0
        for field in OF_COLUMNS:
            found = entry.get(field)
            if not isinstance(found, list):
                continue
            if variable:
                at = 0 if field == "best_columns" else place
                many = list(columns) if found[at] == REST else [found[at]] * len(columns)
                found = [*found[:at], *many, *found[at + 1 :]]
            entry[field] = tuple(one if one != "" else None for one in found)
        entry["footer_best"] = tuple(entry.get("footer_best", ())[: len(footer)])
        rows = (*rows, *footer)
        return Table(**{"name": name} | entry, rows=rows, footer=len(footer))

    def section(self, name: str, *blocks, **values: Any) -> Section:
        """Return a section: its title, its paragraphs, and the blocks between them."""
        entry = _filled(self._parts["sections"][name], values)
        before, after = ([Paragraph(entry[k])] if k in entry else [] for k in ("text", "closing"))
        return Section(name, entry["title"], (*before, *blocks, *after))


def _filled(part: Any, values: dict[str, Any]) -> Any:
    """Fill values into every text of a part of the file."""
    if isinstance(part, str):
        return part.format_map(values)
    if isinstance(part, list):
        return [_filled(one, values) for one in part]
    if isinstance(part, dict):
        return {key: _filled(one, values) for key, one in part.items()}
    return part
