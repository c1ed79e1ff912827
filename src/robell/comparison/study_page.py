"""The page of any study from its records alone: tables of scores, curves, remarks, failures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robell._tools.files import write_atomically
from robell._tools.text import counted, literal
from robell.comparison.scores import CLEAN, DECIMALS, METRICS, SHORT_METRICS
from robell.comparison.statistics import friedman, holm, wilcoxon_p_values, win_tie_loss
from robell.comparison.store import StudyError, all_have_checksums, read_records
from robell.report import plots
from robell.report.page import Callout, Details, FigureBlock, Paragraph, Section, TableBlock, render
from robell.report.tables import Table, is_missing, write


@dataclass(frozen=True)
class ModelTable(Table):
    """A table whose rows are models: the best of every column is set bold.

    ``column_best`` says of each column whether its largest ("max") or smallest ("min") value is
    the best; None for neither.
    """

    column_best: tuple = ()

    def best_cells(self):
        """Return the places (row, column) of the cells to set bold."""
        found = set()
        for column, direction in enumerate(self.column_best):
            if direction is None:
                continue
            form = self.format_of(column)
            shown = {
                place: float(format(row[column], form))  # what looks alike is treated alike
                for place, row in enumerate(self.body_rows)
                if not is_missing(row[column])
            }
            if shown:
                best = (max if direction == "max" else min)(shown.values())
                found |= {(place, column) for place, value in shown.items() if value == best}
        return found


# A group names some of the sets ("fresh"); tables of all sets have none.


def stem_of(group, name):
    """Return the stem of the files of a table of a group."""
    return f"{group}_{name}" if group else name


def of_group(group):
    """Return what a title adds for a group."""
    return f", {group} sets" if group else ""


def cell_table(cell, group=""):
    """Return mean and average rank of every model in every metric under one noise."""
    names = SHORT_METRICS.values()
    means = np.column_stack([cell.means(metric) for metric in METRICS])
    ranks = np.column_stack([cell.ranks(metric) for metric in METRICS])
    rows = [
        (label, *means[place].tolist(), *ranks[place].tolist())
        for place, label in enumerate(cell.labels)
    ]
    n = len(METRICS)
    low, high = min(cell.n_seeds), max(cell.n_seeds)
    splits = f"{low} to {high} splits" if low < high else counted(low, "split")
    return ModelTable(
        stem_of(group, cell.stem),
        f"{cell.name[0].upper()}{cell.name[1:]}{of_group(group)}: means and average ranks",
        ("Model", *names, *(f"{name} rank" for name in names)),
        tuple(rows),
        caption=f"Over {counted(len(cell.datasets), 'set')}, {splits} of each; 1 is the best rank.",
        digits=(0, *[3] * n, *[2] * n),
        column_best=(None, *["max"] * n, *["min"] * n),
    )


def dataset_table(cell, metric):
    """Return one metric under one noise: sets in rows, models in columns, means and ranks below."""
    values = cell.values[metric]
    rows = [(name, *row.tolist()) for name, row in zip(cell.datasets, values, strict=True)]
    rows += [("Mean", *cell.means(metric).tolist()), ("Average rank", *cell.ranks(metric).tolist())]
    return Table(
        f"sets_{metric}_{cell.stem}",
        f"{METRICS[metric]} of every set, {cell.name}",
        ("Set", *cell.labels),
        tuple(rows),
        digits=3,
        best="max",
        footer=2,
        footer_best=("max", "min"),
    )


def every_score(cells):
    """Return every score there is, one row a set, noise and model: for a file, not for a page."""
    rows = []
    for cell in cells:
        for i, name in enumerate(cell.datasets):
            for j, model in enumerate(cell.models):
                scores = [float(cell.values[metric][i, j]) for metric in METRICS]
                rows.append((name, cell.kind, cell.level, model, cell.n_seeds[i], *scores))
    columns = ("dataset", "kind", "level", "model", "n_seeds", *METRICS)
    return Table("every_score", "Every score", columns, tuple(rows), digits=4)


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
    ratio = f"Median / {results.labels.get(reference, 'reference')}'s"
    return ModelTable(
        "fit_time",
        "CPU milliseconds of one fit",
        ("Model", "Median", "Lower quartile", "Upper quartile", ratio),
        tuple(rows),
        caption=f"One thread each; over the {n_jobs:,} jobs that every model has finished.",
        digits=(0, 1, 1, 1, 2),
        column_best=(None, "min", None, None, None),
    )


def significance_table(cells, own, label):
    """Return Friedman's test, Nemenyi's critical difference and whom one model differs from."""
    rows = []
    for cell in cells:
        if not cell.testable:
            continue
        for metric, name in METRICS.items():
            test = friedman(cell.values[metric], decimals=DECIMALS)
            pairs = cell.nemenyi(metric)
            sizes = (test.n_datasets, test.n_models)
            statistics = (test.chi2_ties, test.f_ties, test.f_ties_p, pairs.critical_difference)
            rows.append((cell.name, name, *sizes, *statistics, *_differs_from(cell, pairs, own)))
    columns = ("Noise", "Metric", "Sets", "Models", "χ²", "F", "p of F", "Critical difference")
    columns += (f"{label} better than", f"{label} worse than")
    return Table(
        "tests",
        "Friedman and Nemenyi tests",
        columns,
        tuple(rows),
        caption="Friedman's statistics are corrected for ties, F is Iman and Davenport's; the last "
        "columns name the models whose average rank differs by the critical difference or more, "
        "at 5 %.",
        digits=(0, 0, 0, 0, 1, 1, ".1e", 2, 0, 0),
    )


def _differs_from(cell, pairs, own):
    """Return the models that one is significantly better and worse than, as text."""
    if own not in cell.models:
        return None, None
    return [
        "; ".join(cell.labels[place] for place in places) or "none"
        for places in pairs.differing(cell.models.index(own))
    ]


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
    return Table(
        f"against_{metric}_{cell.stem}",
        f"{cell.labels[place]} against each other model: {METRICS[metric]}, {cell.name}",
        ("Against", "Wins-ties-losses", "Mean difference", "Wilcoxon p", "p by Holm"),
        tuple(rows),
        caption=f"Over {counted(len(cell.datasets), 'set')}; Holm's method corrects for "
        f"{counted(len(rows), 'comparison')}.",
        digits=(0, 0, 3, ".2g", ".2g"),
    )


def win_tie_loss_table(cell, metric):
    """Return on how many sets the row's model wins, ties and loses against the column's."""
    counts = win_tie_loss(cell.values[metric], DECIMALS)
    rows = [
        (label, *("" if i == j else "-".join(map(str, counts[i, j])) for j in range(len(counts))))
        for i, label in enumerate(cell.labels)
    ]
    return Table(
        f"wins_{metric}_{cell.stem}",
        f"Wins-ties-losses of the row against the column: {METRICS[metric]}, {cell.name}",
        ("Model", *cell.labels),
        tuple(rows),
        caption=f"Over {counted(len(cell.datasets), 'set')}.",
    )


# -- parts of a page that any study of models on sets has: curves, diagrams, remarks, failures


def one_table(name, title, table):
    """Yield a section of one table, where there is such a table."""
    if table is not None:
        yield Section(name, title, (TableBlock(table),))


def remarks(results):
    """Yield what a reader must know before trusting a number."""
    cells = [results.cell(*place) for place in results.cells]
    unfinished = [cell for cell in cells if cell.left_out]
    if unfinished:
        names = ", ".join(sorted({name for cell in unfinished for name in cell.left_out}))
        yield Callout(
            "caution",
            f"Some models have not run on all sets yet. In {len(unfinished)} of "
            f"{len(cells)} noises these sets are left out for all models: "
            f"`{literal(names)}`.",
        )
    n_failed = len(results.failed)
    if n_failed:
        verb = "is" if n_failed == 1 else "are"
        text = (
            f"{counted(n_failed, 'job')} failed and {verb} scored as chance ([which](#failures))."
        )
        yield Callout("caution", text)


def curves(cells, kind, figures, names, order, emphasised):
    """Yield the figure of all metrics against the level; ``names`` are the models' in it."""
    cells = [cell for cell in cells if cell.kind in (CLEAN, kind)]
    if len(cells) < 2:
        return

    def line(metric, model):
        return [
            float(cell.means(metric)[cell.models.index(model)])
            if model in cell.models
            else float("nan")
            for cell in cells
        ]

    values = {
        title: {name: line(metric, model) for model, name in names.items()}
        for metric, title in METRICS.items()
    }
    yield figures.block(
        f"curves_{kind}",
        plots.curve_panels(
            [cell.level for cell in cells],
            values,
            f"wrong training labels (%), {kind}",
            order=order,
            emphasised=emphasised,
        ),
        "Means over sets; test labels are left as they are.",
        f"Curves of six metrics against the level of {kind} noise, one line a model",
    )


def diagrams(cell, figures, metrics, names):
    """Yield the critical-difference diagrams of one cell, where it can be tested."""
    if not cell.testable:
        return
    for metric in metrics:
        yield figures.diagram(
            f"critical_difference_{metric}_{cell.stem}",
            [names[model] for model in cell.models],
            cell.nemenyi(metric),
            f"{METRICS[metric]}, {cell.name}, {len(cell.datasets)} sets",
            "Average ranks, 1 = best. Models under one bar do not differ by the Nemenyi test at "
            "5 %.",
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
    text = f"All metrics of all {what}s at all levels are in `tables/every_score.csv`."
    title = f"{what.capitalize()} by {what}"
    return Section(f"each-{what}", title, (*groups, Paragraph(text)))


def failures(results):
    """Jobs that failed, and what models complained about."""
    caption = (
        "Scored as a model that always predicts the largest class: of two classes, balanced "
        "accuracy and area 0.5, G-mean and F1 0, average precision the share of the smaller."
    )
    blocks = [*failed_blocks(results, caption)]
    counts = results.warnings()
    if counts:
        rows = tuple(
            (results.labels[model], text, n) for (model, text), n in sorted(counts.items())
        )
        columns = ("Model", "Warning", "Jobs")
        blocks.append(TableBlock(Table("warnings", "Warnings", columns, rows)))
    if not blocks:
        blocks.append(Paragraph("No job failed, and no model gave a warning."))
    return Section("failures", "Failures and warnings", tuple(blocks))


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
