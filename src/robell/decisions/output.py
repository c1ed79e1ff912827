"""The files of a fit: the page and the JSON beside the model, and how they are recognised."""

from __future__ import annotations

import json
from pathlib import Path

from robell._tools.files import write_together
from robell.decisions.page import fit_page
from robell.decisions.summary import as_json


def report_paths(model, prefix=None):
    """Return the paths of page and JSON: beside the model, or with a prefix of one's own."""
    if prefix is None:
        model = Path(model)
        prefix = model.with_name(model.name.removesuffix(".skops") + "-fit")
    prefix = Path(prefix)
    return prefix.with_name(prefix.name + ".html"), prefix.with_name(prefix.name + ".json")


def is_fit_file(path):
    """Say whether a file looks like a page or JSON of an earlier fit."""
    with Path(path).open("rb") as file:
        beginning = file.read(1 << 13)
    return b"<title>What the model is worth</title>" in beginning or beginning.startswith(
        b'{\n  "robell": '
    )


def write_report(result, html, data, *, command="", source=None):
    """Write page and JSON, both of them whole or neither."""
    page = fit_page(result, command=command, source=source)
    plain = json.dumps(as_json(result, command), indent=2, ensure_ascii=False, allow_nan=False)
    write_together({html: page, data: plain + "\n"})
