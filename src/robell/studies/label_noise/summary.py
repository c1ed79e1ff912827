"""What came out, in short: the page's subtitle, lines for a terminal, tables to be pasted."""

from __future__ import annotations

from robell._tools.text import counted
from robell.comparison.peers import OURS, TIME_REFERENCE
from robell.comparison.score_tables import (
    cell_table,
    every_score,
    significance_table,
    time_table,
)
from robell.comparison.scores import CLEAN, METRICS
from robell.report.tables import to_csv, to_markdown
from robell.studies.label_noise.detection import detection_tables, detections
from robell.studies.label_noise.models import EVERY_MODEL
from robell.studies.label_noise.results import is_tuned
from robell.studies.label_noise.sets import REPORTING
from robell.studies.label_noise.tables import (
    OUR_LABEL,
    PROBABILITY_SCORES,
    margin_details,
    margin_tables,
    margins,
    probability_table,
)

TITLE = "Wrong labels on imbalanced sets"
HEADLINE = "balanced_accuracy"


def cells_on(cells, names):
    """Return the cells over some of the tables alone, where they have any."""
    return [cell for cell in (cell.on(names) for cell in cells) if cell.datasets]


def reporting_cells(results, cells):
    """Return the cells over the reporting tables alone; none where all tables are such."""
    return cells_on(cells, REPORTING) if set(results.datasets) - set(REPORTING) else []


def subtitle(results):
    """Return the line below the title."""
    if not results.models:
        return "Nothing has been measured yet."
    noises = ["clean labels"] if (CLEAN, 0) in results.cells else []
    for kind in results.kinds:
        levels = ", ".join(str(level) for level in results.levels(kind) if level)
        noises.append(f"{kind} noise of {levels} %")
    n_tuned = sum(map(is_tuned, results.models))
    with_tuned = f", {n_tuned} of them tuned," if n_tuned else " without tuning"
    return (
        f"{len(results.models)} models{with_tuned} on {len(results.datasets)} tables, up to "
        f"{counted(len(results.seeds), 'split')} of each: {'; '.join(noises)}."
    )


def headline(results):
    """Return the balanced accuracy of every model by kind and level of noise, for a terminal."""
    parts = []
    for title, part in (
        ("", results.two_classes()),
        ("several classes, ", results.several_classes()),
        ("tuned peers, ", results.tuned()),
    ):
        cells = part.complete_cells()
        for kind in part.kinds or (CLEAN,):
            shown = [cell for cell in cells if cell.kind in (CLEAN, kind)]
            if shown:
                parts.append(_headline_table(title, kind, shown, part.models))
    return "\n\n".join(parts) or "Nothing has been measured yet."


def _headline_table(title, kind, shown, models):
    n_sets = sorted({len(cell.datasets) for cell in shown})
    sizes = counted(n_sets[0], "set")
    if len(n_sets) > 1:
        sizes = f"{n_sets[0]} to {n_sets[-1]} sets"
    noise = "clean labels" if kind == CLEAN else f"{kind} noise"
    lines = [f"{METRICS[HEADLINE]}, {title}{noise}, mean over {sizes} (average rank)"]
    lines.append(" " * 40 + "".join(f"{f'{cell.level} %':>14}" for cell in shown))
    for model in models:
        row = "".join(_headline_number(cell, model) for cell in shown)
        lines.append(f"{EVERY_MODEL[model].label:40}{row}")
    return "\n".join(lines)


def _headline_number(cell, model):
    if model not in cell.models:
        return f"{'-':>14}"
    place = cell.models.index(model)
    rank = f"({cell.ranks(HEADLINE)[place]:.1f})"
    return f"{cell.means(HEADLINE)[place]:8.3f}{rank:>6}"


def more_files(results):
    """Return the files beside the page: every score, and the main tables in Markdown."""
    parts = [results.two_classes(), results.several_classes()]
    cells = [cell for part in parts for cell in part.complete_cells()]
    tuned = results.tuned().complete_cells()
    return {
        "tables/every_score.csv": to_csv(every_score(cells)),
        "tables/every_tuned_score.csv": to_csv(every_score(tuned)),
        "summary.md": _markdown(results),
    }


def _markdown(results):
    two, several, tuned = results.two_classes(), results.several_classes(), results.tuned()
    cells, tuned_cells = two.complete_cells(), tuned.complete_cells()
    tables = _leads(cells)
    tables += _leads(reporting_cells(two, cells), "reporting")
    tables += _leads(cells_on(cells, two.wide()), "wide")
    tables += _leads(tuned_cells, "tuned", is_tuned)
    tables += _leads(tuned_cells, "same", lambda model: not is_tuned(model))
    tables += _leads(several.complete_cells(), "classes")
    tables += detection_tables(detections(results))
    for part, group in ((two, ""), (several, "classes")):
        tables += [probability_table(part, score, group) for score in PROBABILITY_SCORES]
    tables += [cell_table(cell) for cell in cells]
    tables += [cell_table(cell, "tuned") for cell in tuned_cells]
    tables += [cell_table(cell, "classes") for cell in several.complete_cells()]
    tables += [time_table(two, TIME_REFERENCE), time_table(tuned, TIME_REFERENCE)]
    tests = significance_table(cells, OURS, OUR_LABEL)
    tables += [tests] if tests.rows else []
    parts = [f"# {TITLE}\n\n{subtitle(results)}\n"]
    parts += [to_markdown(table) for table in tables if table]
    if results.failed:
        failed = [f"- `{record['key']}`: {record['error']}" for record in results.failed]
        parts.append("## Jobs that failed, scored as chance\n\n" + "\n".join(failed) + "\n")
    return "\n".join(parts)


def _leads(cells, group="", among=None):
    """Return the tables of our model beside the best peer, where there are both."""
    found = margins(cells, among)
    return [*margin_tables(found, group), margin_details(found, group)] if found else []
