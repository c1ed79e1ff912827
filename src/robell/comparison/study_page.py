"""The page of any study from its records alone: tables of scores, curves, remarks, failures."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from robell._tools.files import write_atomically
from robell._tools.text import counted, literal
from robell.comparison.scores import DECIMALS, METRICS, scores_of
from robell.comparison.statistics import holm, wilcoxon_p_values, win_tie_loss
from robell.comparison.store import StudyError, all_have_checksums, read_records
from robell.report import plots
from robell.report.page import (
    Callout,
    Code,
    Details,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    render,
)
from robell.report.tables import Spread, write
from robell.report.words import Words

WORDS = Words("robell.comparison")

# A group names some of the sets ("fresh"); tables of all sets have none.


def stem_of(group, name):
    """Return the stem of the files of a table of a group."""
    return f"{group}_{name}" if group else name


def of_group(group):
    """Return what a title adds for a group."""
    return f", {group} sets" if group else ""


def span(numbers, what):
    """Return "3 splits", or "2 to 3 splits" where they differ."""
    low, high = min(numbers), max(numbers)
    return f"{low} to {high} {what}s" if low < high else counted(low, what)


def cell_table(cell, group=""):
    """Return mean and average rank of every model in every metric under one noise."""
    columns = [cell.means(metric) for metric in METRICS] + [cell.ranks(m) for m in METRICS]
    rows = [
        (label, *row.tolist())
        for label, row in zip(cell.labels, np.column_stack(columns), strict=True)
    ]
    return WORDS.table(
        "means",
        rows,
        name=stem_of(group, cell.stem),
        noise=f"{cell.name[0].upper()}{cell.name[1:]}",
        group=of_group(group),
        sets=counted(len(cell.datasets), "set"),
        splits=span(cell.n_seeds, "split"),
    )


def _of_metric(cell, metric):
    """Return the values that tables of one metric under one noise have in their words."""
    sets = counted(len(cell.datasets), "set")
    names = {"metric": metric, "label": METRICS[metric], "noise": cell.name}
    return names | {"stem": cell.stem, "sets": sets}


def dataset_table(cell, metric):
    """Return one metric under one noise: sets in rows, models in columns, means and ranks below."""
    values, caption = cell.values[metric], ""
    rows = [(name, *row) for name, row in zip(cell.datasets, values, strict=True)]
    if max(cell.n_seeds) > 1:
        spreads = zip(cell.datasets, values, cell.deviations[metric], strict=True)
        rows = [(name, *map(Spread, *both)) for name, *both in spreads]
        caption = WORDS.text("spread", splits=span(cell.n_seeds, "split"))
    footer = [("Mean", *cell.means(metric)), ("Average rank", *cell.ranks(metric))]
    words = _of_metric(cell, metric) | {"caption": caption}
    return WORDS.table("sets", rows, cell.labels, footer, **words)


def every_score(parts):
    """Return the scores of every job of some results: for a file, not for a page."""
    rows = []
    for results in parts:

        def place(record, results=results):
            job = record["job"]
            cell = results.cells.index((job["kind"], job["level"]))
            model = results.models.index(job["model"])
            return cell, results.datasets.index(job["dataset"]), job["seed"], model

        for record in sorted(results.records, key=place):
            job, scores = record["job"], scores_of(record)
            what = [job[field] for field in ("dataset", "kind", "level", "seed", "model")]
            rows.append((*what, record["status"], *(float(scores[m]) for m in METRICS)))
    return WORDS.table("every_score", rows)


def mean_scores(cells):
    """Return means and standard deviations over the splits of every set: for a file."""
    rows = [
        (
            *(name, cell.kind, cell.level, model, cell.n_seeds[i]),
            *(Spread(cell.values[m][i, j], cell.deviations[m][i, j]) for m in METRICS),
        )
        for cell in cells
        for i, name in enumerate(cell.datasets)
        for j, model in enumerate(cell.models)
    ]
    return WORDS.table("mean_scores", rows)


def time_table(results, reference=None):
    """Return the fit times of every model beside a reference's; None without a common job."""
    seconds = results.fit_seconds()
    n_jobs = min((len(times) for times in seconds.values()), default=0)
    if not n_jobs:
        return None
    theirs = seconds.get(reference)
    rows = []
    for model, times in seconds.items():
        low, median, high = (1000 * np.quantile(times, q) for q in (0.25, 0.5, 0.75))
        ratio = None if theirs is None else float(np.median(times) / np.median(theirs))
        rows.append((results.labels[model], median, low, high, ratio))
    label = results.labels.get(reference, "reference")
    return WORDS.table("fit_time", rows, reference=label, n_jobs=n_jobs)


def significance_table(cells, own, label):
    """Return Friedman's test, Nemenyi's critical difference and whom one model differs from."""
    rows = []
    for cell in cells:
        for metric, name in METRICS.items() if cell.testable else ():
            test = cell.by(metric).friedman
            pairs = cell.by(metric).nemenyi
            differing: list = [None, None]
            if own in cell.models:
                differing = [
                    "; ".join(cell.labels[place] for place in places) or "none"
                    for places in pairs.differing(cell.models.index(own))
                ]
            statistics = (test.chi2_ties, test.f_ties, test.f_ties_p, pairs.critical_difference)
            rows.append((cell.name, name, test.n_datasets, test.n_models, *statistics, *differing))
    return WORDS.table("tests", rows, label=label)


def against_table(cell, metric, own):
    """Return one model against each other: wins, mean difference, Wilcoxon's test by Holm."""
    values, place = cell.values[metric], cell.models.index(own)
    counts = win_tie_loss(values, DECIMALS)[place]
    p_values = wilcoxon_p_values(values, place)
    rows = [
        (
            other,
            "-".join(map(str, counts[j])),
            float((values[:, place] - values[:, j]).mean()),
            float(p_values[j]),
            float(adjusted),
        )
        for j, (other, adjusted) in enumerate(zip(cell.labels, holm(p_values), strict=True))
        if j != place
    ]
    words = _of_metric(cell, metric) | {"comparisons": counted(len(rows), "comparison")}
    return WORDS.table("against", rows, own=cell.labels[place], **words)


def win_tie_loss_table(cell, metric):
    """Return on how many sets the row's model wins, ties and loses against the column's."""
    counts = win_tie_loss(cell.values[metric], DECIMALS)
    rows = [
        (label, *("" if i == j else "-".join(map(str, counts[i, j])) for j in range(len(counts))))
        for i, label in enumerate(cell.labels)
    ]
    return WORDS.table("wins", rows, cell.labels, **_of_metric(cell, metric))


# -- parts of a page that any study of models on sets has: curves, diagrams, remarks, failures


def remarks(results):
    """Yield what a reader must know before trusting a number."""
    cells = [results.cell(*place) for place in results.cells]
    unfinished = [cell for cell in cells if cell.left_out]
    if unfinished:
        names = ", ".join(sorted({name for cell in unfinished for name in cell.left_out}))
        words = {"n": len(unfinished), "n_cells": len(cells), "names": literal(names)}
        yield Callout("caution", WORDS.text("unfinished", **words))
    if n := len(results.failed):
        verb = "is" if n == 1 else "are"
        yield Callout("caution", WORDS.text("failed", jobs=counted(n, "job"), verb=verb))


def headline_lines(cells, labels, metric, width, digits):
    """Return the mean and average rank of every model by level of noise, lines for a terminal."""
    lines = [" " * width + "".join(f"{f'{cell.level} %':>{13 + digits}}" for cell in cells)]
    for model, label in labels.items():
        row = ""
        for cell in cells:
            text = "-"
            if model in cell.models:
                place = cell.models.index(model)
                rank = f"({cell.ranks(metric)[place]:.{digits}f})"
                text = f"{cell.means(metric)[place]:.3f}{rank:>{5 + digits}}"
            row += f"{text:>{13 + digits}}"
        lines.append(f"{label:{width}}{row}")
    return lines


def first_facts(results, n_models, hint=""):
    """Return the tiles that every page begins with: tables, models, jobs."""
    return [
        ("Tables", str(len(results.datasets)), f"{counted(len(results.seeds), 'split')} of each"),
        ("Models", str(n_models), hint),
        ("Jobs", f"{len(results.records):,}", f"{len(results.failed)} failed"),
    ]


def curve_values(cells, names):
    """Return the means of every metric by level, {metric: {name: [one a cell]}}; NaN for gaps."""
    return {
        title: {
            name: [
                float(cell.means(metric)[cell.models.index(model)])
                if model in cell.models
                else float("nan")
                for cell in cells
            ]
            for model, name in names.items()
        }
        for metric, title in METRICS.items()
    }


def diagrams(cell, figures, metrics, names):
    """Yield the critical-difference diagrams of one cell, where it can be tested."""
    for metric in metrics if cell.testable else ():
        yield figures.diagram(
            f"critical_difference_{metric}_{cell.stem}",
            [names[model] for model in cell.models],
            cell.by(metric).nemenyi,
            f"{METRICS[metric]}, {cell.name}, {len(cell.datasets)} sets",
        )


def one_by_one(cells, metrics, what):
    """Show every set by itself, a closed list for each metric; ``what`` a set is called."""
    groups = [
        Details(
            f"{METRICS[metric]}, {what} by {what}",
            tuple(TableBlock(dataset_table(cell, metric)) for cell in cells),
        )
        for metric in metrics
    ]
    title, text = f"{what.capitalize()} by {what}", WORDS.text("each", what=what)
    return Section(f"each-{what}", title, (*groups, Paragraph(text)))


def failures(results):
    """Jobs that failed, and what models complained about."""
    blocks = [*failed_blocks(results, WORDS.text("scored_as_chance"))]
    if counts := results.warnings():
        rows = [(results.labels[model], text, n) for (model, text), n in sorted(counts.items())]
        blocks.append(TableBlock(WORDS.table("warnings", rows)))
    if not blocks:
        blocks.append(Paragraph("No job failed, and no model gave a warning."))
    return WORDS.section("failures", *blocks)


# -- the report of any study, from its records alone; and the blocks that every study's page has


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
    written: notes on the run, or records. A report of no record tells which: it has mistakes too.
    """
    records, notes = list(read_records(folder).values()), _run_of(folder) if run is None else run
    try:
        return _compose(study, folder, records, notes)
    except OTHER_SHAPE as error:
        what = f"({type(error).__name__}: {error})"
        if run is None and all_have_checksums(folder) and _can_compose(study, records):
            raise StudyError(
                f"{folder / 'run.json'}: not what this study writes {what}; without the file, the "
                "report is made of all records"
            ) from error
        if not all_have_checksums(folder) or _can_compose(study, []):
            raise StudyError(
                f"{folder}: its records are not of the shape this study writes {what}"
            ) from error
        raise


def _can_compose(study, records):
    """Say whether records alone make a report."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            _compose(study, Path(folder), records, {})
        except StudyError:  # such as that there is nothing to report
            return True
        except OTHER_SHAPE:
            return False
    return True


def _compose(study, folder, records, run):
    maker = study.maker
    results = maker.read(records, run)
    sections = list(maker.all_sections(results, run, FigureFolder(folder / "figures")))
    page = render(maker.TITLE, maker.subtitle(results), sections, footer=results.versions())
    return results, sections, maker.more_files(results), page


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

    def diagram(self, name, models, test, title, caption=None):
        """Draw the critical-difference diagram of a Nemenyi test."""
        figure = plots.critical_difference(
            models, test.average_ranks, test.critical_difference, test.cliques, title
        )
        usual, alt = WORDS.figure("diagram", title=title)
        return self.block(name, figure, caption or usual, alt)


def unavailable_notes(run, section):
    """Yield a remark on the sets that could not be had, which a section of the page explains."""
    if run.get("unavailable"):
        names = ", ".join(f"`{literal(name)}`" for name in run["unavailable"])
        yield Callout("note", WORDS.text("unavailable", names=names, section=section))


def failed_blocks(results, caption=""):
    """Yield the table of the jobs that failed, where there are any."""
    if results.failed:
        rows = [(r["key"], r.get("error", "")) for r in results.failed]
        yield TableBlock(WORDS.table("failed", rows, caption=caption))


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
    jobs = counted(summary["done"], "job")
    workers = counted(run["workers"], "worker process", "worker processes")
    text = WORDS.text("last_run", jobs=jobs, seconds=summary["seconds"], workers=workers)
    if summary.get("worker_seconds"):
        idle = 1 - summary["job_seconds"] / summary["worker_seconds"]
        text += WORDS.text("idle", idle=idle)
    return text + "."


def how_section(run, command, *texts):
    """Return the section on how to get the numbers again: the command, and how they were made."""
    blocks = [Code(run.get("command") or command)]
    return WORDS.section("how", *blocks, *map(Paragraph, filter(None, [*texts, last_run(run)])))
