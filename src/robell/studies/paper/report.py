"""The report of a study, from its records alone: a page, tables and figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from robell._core.tools.files import write_atomically
from robell.report import plots
from robell.report.page import FigureBlock, TableBlock, render
from robell.report.tables import write
from robell.studies.engine.statistics import average_ranks, friedman
from robell.studies.engine.store import read_records
from robell.studies.paper.comparison import Comparison, printed_cells
from robell.studies.paper.printed import DATASETS, MODELS
from robell.studies.paper.results import SCORES, Results
from robell.studies.paper.sections import all_sections

TITLE = "RoBell-RVFL: the study, measured again"


def write_report(folder):
    """Write the page, the tables and the figures of a study.

    Parameters
    ----------
    folder : path-like
        The study's output directory.

    Returns
    -------
    path : Path
        ``report.html``; beside it ``tables`` (CSV, LaTeX, Markdown) and ``figures`` (PNG, SVG).
    results : Results
        What it was made of.

    Examples
    --------
    >>> import tempfile
    >>> from robell.studies.paper.report import write_report
    >>> from robell.studies.paper.study import reproduce
    >>> folder = tempfile.mkdtemp()
    >>> _ = reproduce("table1", ["monk1"], ["elm"], ["paper"], out=folder)
    >>> path, results = write_report(folder)
    >>> path.name
    'report.html'
    """
    folder = Path(folder)
    results = Results(read_records(folder).values())
    run = _run_of(folder)
    figures = FigureFolder(folder / "figures")
    sections = all_sections(results, run, figures)
    for section in sections:
        for block in _flat(section.blocks):
            if isinstance(block, TableBlock):
                write(block.table, folder / "tables")
    names = ", ".join(f"{name} {version}" for name, version in _versions(results).items())
    page = render(TITLE, _subtitle(results), sections, footer=names)
    path = folder / "report.html"
    write_atomically(path, page)
    return path, results


class FigureFolder:
    """Writes figures as files and gives them back for the page.

    Parameters
    ----------
    folder : Path
        Where PNG and SVG files go.
    """

    def __init__(self, folder):
        self.folder = folder

    def block(self, name, figure, caption, alt):
        """Write a figure under a name and return its block."""
        plots.write(figure, self.folder, name)
        return FigureBlock(plots.inline_svg(figure), caption, alt)


def headline(results):
    """Return the main result in a few lines of text, for a terminal.

    Parameters
    ----------
    results : Results
        The cells.

    Returns
    -------
    text : str
        Lines.

    Examples
    --------
    >>> from robell.studies.paper.report import headline
    >>> from robell.studies.paper.results import Results
    >>> headline(Results([]))
    'No cell of Table I has been measured yet.'
    """
    parts = [_headline_of(results, "paper", "accuracy", "accuracy")]
    for metric in results.tuned_by("table1", "repeated"):
        if metric in SCORES:
            parts.append(_headline_of(results, "repeated", metric, metric))
    text = "\n\n".join(part for part in parts if part)
    return text or "No cell of Table I has been measured yet."


def _headline_of(results, protocol, tuned_by, score):
    comparison = Comparison(results, protocol, tuned_by, score)
    cells = comparison.cells
    if not cells.datasets:
        return ""
    names = [f"{name} (stand-in)" if results.is_stand_in(name) else name for name in cells.datasets]
    width = max(map(len, [*names, "average (measured, 00 sets)"]))
    head = [MODELS[model] for model in cells.models]
    what = f"{SCORES[score]} on unseen rows (%), protocol {protocol}"
    lines = [what + ("" if protocol == "paper" else f", tuned by {SCORES[tuned_by]}")]
    lines.append(" " * width + "".join(f"{name:>13}" for name in head))
    for name, row in zip(names, cells.mean, strict=True):
        lines.append(f"{name:{width}}" + "".join(_number(value) for value in row))
    n = len(comparison.datasets)
    if n:
        rows = [(f"average (measured, {n} sets)", comparison.values.mean(axis=0))]
        print_ = printed_cells(comparison.datasets, comparison.models)
        with_print = protocol == "paper" and np.isfinite(print_).all()
        if with_print:
            rows.append((f"average (printed, {n} sets)", print_.mean(axis=0)))
        if comparison.testable:
            rows.append(("average rank (measured)", comparison.ranks))
        if comparison.testable and with_print:
            rows.append(("average rank (printed)", average_ranks(print_)))
        lines += [f"{label:{width}}" + "".join(map(_number, row)) for label, row in rows]
    if comparison.testable:
        test = friedman(comparison.values, decimals=9)
        lines.append(f"Friedman: chi2 {test.chi2:.2f} (p {test.p:.3g}), F {test.f:.2f}")
    return "\n".join(lines)


def _number(value):
    return f"{value:13.2f}" if np.isfinite(value) else f"{'-':>13}"


def _run_of(folder):
    try:
        return json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _subtitle(results):
    here = [name for name in DATASETS if name in results.data and not results.is_stand_in(name)]
    return (
        f"Every table, test and figure of the paper, computed again on {len(here)} of its "
        f"{len(DATASETS)} datasets, beside what is printed."
    )


def _versions(results):
    """Return the versions that made the records; several of one are joined."""
    found = {}
    for record in results.records:
        for name, version in record.get("versions", {}).items():
            found.setdefault(name, set()).add(version)
    return {name: " and ".join(sorted(versions)) for name, versions in found.items()}


def _flat(blocks):
    for block in blocks:
        yield block
        yield from _flat(getattr(block, "blocks", ()))
