"""The report of any study, from its records alone; and the blocks that every study's page has."""

from __future__ import annotations

import json
from pathlib import Path

from robell._core.tools.files import write_atomically
from robell.report import plots
from robell.report.page import Callout, FigureBlock, TableBlock, literal, render
from robell.report.tables import Table, write
from robell.report.text import counted
from robell.studies.engine.store import StudyError, read_records


def write_report(study, folder):
    """Write page, tables and figures of a study; return the page's path and the results."""
    folder = Path(folder)
    run = _run_of(folder)
    records = read_records(folder).values()
    try:
        results = study.read(records, run)
        sections = study.sections(results, run, FigureFolder(folder / "figures"))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise StudyError(
            f"{folder}: its records are not of the shape this study writes "
            f"({type(error).__name__}: {error})"
        ) from error
    for section in sections:
        for block in _flat(section.blocks):
            if isinstance(block, TableBlock):
                write(block.table, folder / "tables")
    for name, text in study.files(results).items():
        write_atomically(folder / name, text)
    page = render(study.title, study.subtitle(results), sections, footer=results.versions())
    return write_atomically(folder / study.page, page), results


def _run_of(folder):
    """Return what the last run noted about itself; a report can do without."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return run if isinstance(run, dict) else {}


def _flat(blocks):
    for block in blocks:
        yield block
        yield from _flat(getattr(block, "blocks", ()))


class FigureFolder:
    """Writes figures as PNG and SVG files and gives them back for the page."""

    def __init__(self, folder):
        self.folder = folder

    def block(self, name, figure, caption, alt):
        """Write a figure under a name and return its block."""
        plots.write(figure, self.folder, name)
        return FigureBlock(plots.inline_svg(figure), caption, alt)

    def diagram(self, name, models, test, title, caption):
        """Draw the critical-difference diagram of a Nemenyi test."""
        figure = plots.critical_difference(
            models, test.average_ranks, test.critical_difference, test.cliques, title
        )
        return self.block(name, figure, caption, f"Critical-difference diagram: {title}")


def unavailable_notes(run, section):
    """Yield a remark on the sets that could not be had, which a section of the page explains."""
    if run.get("unavailable"):
        names = ", ".join(f"`{literal(name)}`" for name in run["unavailable"])
        yield Callout("note", f"Not available, and left out: {names}. [Why](#{section}).")


def failed_blocks(results, caption=""):
    """Yield the table of the jobs that failed, where there are any."""
    if results.failed:
        rows = tuple((r["key"], r.get("error", "")) for r in results.failed)
        yield TableBlock(Table("failed", "Jobs that failed", ("Job", "Why"), rows, caption))


def last_run(run):
    """Return a sentence on the last run, empty where it had nothing to do."""
    summary = run.get("summary") or {}
    if not summary.get("done"):
        return ""
    text = (
        f"The last run finished {counted(summary['done'], 'job')} in {summary['seconds']:.0f} s "
        f"with {counted(run['workers'], 'worker process', 'worker processes')}"
    )
    if summary.get("worker_seconds"):
        idle = 1 - summary["job_seconds"] / summary["worker_seconds"]
        text += f"; the workers spent {idle:.1%} of the time outside of jobs"
    return text + "."
