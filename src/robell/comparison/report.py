"""The report of any study, from its records alone; and the blocks that every study's page has."""

from __future__ import annotations

import json
from pathlib import Path

from robell._tools.files import write_atomically
from robell._tools.text import counted, literal
from robell.comparison.store import StudyError, all_have_checksums, read_records
from robell.report import plots
from robell.report.page import Callout, FigureBlock, TableBlock, render
from robell.report.tables import Table, write

OTHER_SHAPE = (KeyError, TypeError, AttributeError, IndexError, ValueError)


def write_report(study, folder, run=None):
    """Write page, tables and figures of a study; return the page's path and the results.

    ``run`` is what a run notes about itself; by default it is what run.json holds.
    """
    folder = Path(folder)
    results, sections, files, page = _composed(study, folder, run)
    for section in sections:
        for block in _flat(section.blocks):
            if isinstance(block, TableBlock):
                write(block.table, folder / "tables")
    for name, text in files.items():
        write_atomically(folder / name, text)
    return write_atomically(folder / study.page, page), results


def _composed(study, folder, run):
    """Return results, sections, more files and page of a study.

    An error is a mistake of ours, and is raised as such, unless it comes of what others may have
    written: records without our checksum, or notes on the run in a file.
    """
    records, notes = list(read_records(folder).values()), _run_of(folder) if run is None else run
    try:
        return _compose(study, folder, records, notes)
    except OTHER_SHAPE as error:
        what = f"({type(error).__name__}: {error})"
        if not all_have_checksums(folder):
            raise StudyError(
                f"{folder}: its records are not of the shape this study writes {what}"
            ) from error
        if run is None and _works_without_notes(study, folder, records):
            raise StudyError(
                f"{folder / 'run.json'}: not what this study writes {what}; without the file, the "
                "report is made of all records"
            ) from error
        raise


def _works_without_notes(study, folder, records):
    try:
        _compose(study, folder, records, {})
    except OTHER_SHAPE:
        return False
    return True


def _compose(study, folder, records, run):
    results = study.read(records, run)
    sections = list(study.sections(results, run, FigureFolder(folder / "figures")))
    page = render(study.title, study.subtitle(results), sections, footer=results.versions())
    return results, sections, study.files(results), page


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


def kept(summary):
    """Say how many results the last run took from an earlier one, empty where it took none."""
    if not summary.get("stored"):
        return ""
    total = sum(summary.get(name, 0) for name in ("stored", "done", "failed"))
    return f"{summary['stored']:,} of {counted(total, 'result')} kept from an earlier run"


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
