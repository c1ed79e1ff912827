"""Parts of a page that any study of models on sets has: curves, diagrams, remarks, failures."""

from __future__ import annotations

from robell._tools.text import counted, literal
from robell.comparison.report import failed_blocks
from robell.comparison.score_tables import dataset_table
from robell.comparison.scores import CLEAN, METRICS
from robell.report import plots
from robell.report.page import Callout, Details, Paragraph, Section, TableBlock
from robell.report.tables import Table


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
