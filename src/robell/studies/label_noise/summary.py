"""What came out, in short: the page's subtitle, lines for a terminal, tables to be pasted."""

from __future__ import annotations

from robell.report.tables import to_csv, to_markdown
from robell.report.text import counted
from robell.studies.engine.score_tables import (
    cell_table,
    every_score,
    significance_table,
    time_table,
)
from robell.studies.engine.scores import CLEAN, METRICS
from robell.studies.label_noise.models import MODELS, OURS, TIME_REFERENCE
from robell.studies.label_noise.plan import FRESH_SETS
from robell.studies.label_noise.tables import (
    OUR_LABEL,
    margin_details,
    margin_tables,
    margins,
    suspects_table,
)

TITLE = "Wrong labels on imbalanced sets"
HEADLINE = "balanced_accuracy"


def fresh_cells(results, cells):
    """Return the cells over the fresh sets alone; none where all sets are fresh."""
    if not set(results.datasets) - set(FRESH_SETS):
        return []
    return [cell for cell in (cell.on(FRESH_SETS) for cell in cells) if cell.datasets]


def subtitle(results):
    """Return the line below the title."""
    if not results.models:
        return "Nothing has been measured yet."
    noises = ["clean labels"] if (CLEAN, 0) in results.cells else []
    for kind in results.kinds:
        levels = ", ".join(str(level) for level in results.levels(kind) if level)
        noises.append(f"{kind} noise of {levels} %")
    return (
        f"{len(results.models)} models without tuning on {len(results.datasets)} imbalanced sets, "
        f"{counted(len(results.seeds), 'split')} of each: "
        f"{'; '.join(noises)}."
    )


def headline(results):
    """Return the balanced accuracy of every model by kind and level of noise, for a terminal."""
    cells = results.complete_cells()
    parts = []
    for kind in results.kinds or (CLEAN,):
        shown = [cell for cell in cells if cell.kind in (CLEAN, kind)]
        if not shown:
            continue
        n_sets = sorted({len(cell.datasets) for cell in shown})
        sizes = counted(n_sets[0], "set")
        if len(n_sets) > 1:
            sizes = f"{n_sets[0]} to {n_sets[-1]} sets"
        noise = "clean labels" if kind == CLEAN else f"{kind} noise"
        lines = [f"{METRICS[HEADLINE]}, {noise}, mean over {sizes} (average rank)"]
        lines.append(" " * 38 + "".join(f"{f'{cell.level} %':>14}" for cell in shown))
        for model in results.models:
            row = "".join(_headline_number(cell, model) for cell in shown)
            lines.append(f"{MODELS[model].label:38}{row}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) or "Nothing has been measured yet."


def _headline_number(cell, model):
    if model not in cell.models:
        return f"{'-':>14}"
    place = cell.models.index(model)
    rank = f"({cell.ranks(HEADLINE)[place]:.1f})"
    return f"{cell.means(HEADLINE)[place]:8.3f}{rank:>6}"


def more_files(results):
    """Return the files beside the page: every score, and the main tables in Markdown."""
    cells = results.complete_cells()
    scores = to_csv(every_score(cells))
    return {"tables/every_score.csv": scores, "summary.md": _markdown(results, cells)}


def _markdown(results, cells):
    found, fresh = margins(cells), margins(fresh_cells(results, cells))
    tables = [*margin_tables(found)] if found else []
    tables += margin_tables(fresh, "fresh") if fresh else []
    tables += [cell_table(cell) for cell in cells]
    tables += [time_table(results, TIME_REFERENCE), suspects_table(results)]
    tables += [margin_details(found)] if found else []
    tests = significance_table(cells, OURS, OUR_LABEL)
    tables += [tests] if tests.rows else []
    parts = [f"# {TITLE}\n\n{subtitle(results)}\n"]
    parts += [to_markdown(table) for table in tables if table]
    if results.failed:
        failed = [f"- `{record['key']}`: {record['error']}" for record in results.failed]
        parts.append("## Jobs that failed, scored as chance\n\n" + "\n".join(failed) + "\n")
    return "\n".join(parts)
