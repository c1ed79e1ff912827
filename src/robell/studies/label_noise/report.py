"""The report of the robustness study, from its records alone."""

from __future__ import annotations

import json
from pathlib import Path

from robell._core.tools.files import write_atomically
from robell.report.page import render
from robell.report.tables import to_csv, to_markdown
from robell.studies.engine.store import read_records
from robell.studies.label_noise.plan import CLEAN, MODELS
from robell.studies.label_noise.results import METRICS, NoiseResults
from robell.studies.label_noise.sections import Pages
from robell.studies.label_noise.tables import (
    cell_table,
    counted,
    every_score,
    margin_details,
    margin_table,
    margins,
    place_table,
    significance_table,
    suspects_table,
    time_table,
)
from robell.studies.paper.report import FigureFolder

STUDY = "robustness"  # how a directory's stamp names it
TITLE = "Wrong labels on imbalanced sets"
HEADLINE = "balanced_accuracy"


def write_noise_report(folder):
    """Write the page, the tables, the figures and the summary of a robustness study.

    Parameters
    ----------
    folder : path-like
        The study's output directory.

    Returns
    -------
    path : Path
        ``index.html``; beside it ``summary.md``, ``tables`` (CSV, LaTeX, Markdown) and ``figures``
        (PNG, SVG).
    results : NoiseResults
        What it was made of.

    Examples
    --------
    >>> import tempfile
    >>> from robell.studies.label_noise.report import write_noise_report
    >>> from robell.studies.engine.store import Store
    >>> folder = tempfile.mkdtemp()
    >>> Store(folder, "robustness").close()
    >>> path, results = write_noise_report(folder)
    >>> path.name, results.models
    ('index.html', ())
    """
    folder = Path(folder)
    run = _run_of(folder)
    results = NoiseResults(read_records(folder).values(), run.get("seeds"), run.get("revisions"))
    pages = Pages(results, run, FigureFolder(folder / "figures"), folder / "tables")
    page = render(TITLE, _subtitle(results), pages.sections(), footer=_versions(results))
    write_atomically(folder / "tables" / "every_score.csv", to_csv(every_score(pages.cells)))
    write_atomically(folder / "summary.md", _summary(pages))
    path = folder / "index.html"
    write_atomically(path, page)
    return path, results


def noise_headline(results):
    """Return the main result in a few lines of text, for a terminal.

    Parameters
    ----------
    results : NoiseResults
        The records.

    Returns
    -------
    text : str
        Balanced accuracy of every model by kind and level of noise.

    Examples
    --------
    >>> from robell.studies.label_noise.report import noise_headline
    >>> from robell.studies.label_noise.results import NoiseResults
    >>> noise_headline(NoiseResults([]))
    'Nothing has been measured yet.'
    """
    cells = {place: results.cell(*place) for place in results.cells}
    parts = []
    for kind in results.kinds or (CLEAN,):
        shown = [cells[p] for p in cells if p[0] in (CLEAN, kind) and cells[p].datasets]
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
            lines.append(f"{MODELS[model]:38}{row}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) or "Nothing has been measured yet."


def _headline_number(cell, model):
    if model not in cell.models:
        return f"{'-':>14}"
    place = cell.models.index(model)
    rank = f"({cell.ranks(HEADLINE)[place]:.1f})"
    return f"{cell.means(HEADLINE)[place]:8.3f}{rank:>6}"


def _summary(pages):
    """Return the main tables in Markdown, to be taken into other pages."""
    found, fresh = margins(pages.cells), margins(pages.fresh)
    tables = [margin_table(found), place_table(found)] if found else []
    tables += [margin_table(fresh, "fresh"), place_table(fresh, "fresh")] if fresh else []
    tables += [cell_table(cell) for cell in pages.cells]
    tables += [time_table(pages.results), suspects_table(pages.results)]
    tables += [margin_details(found)] if found else []
    tests = significance_table(pages.cells)
    tables += [tests] if tests.rows else []
    head = f"# {TITLE}\n\n{_subtitle(pages.results)}\n"
    failed = [f"- `{record['key']}`: {record['error']}" for record in pages.results.failed]
    last = (
        ["## Jobs that failed, scored as chance\n\n" + "\n".join(failed) + "\n"] if failed else []
    )
    return "\n".join([head, *(to_markdown(table) for table in tables if table), *last])


def _run_of(folder):
    try:
        return json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _subtitle(results):
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


def _versions(results):
    """Return the versions that made the records; several of one are joined."""
    found = {}
    for record in results.records:
        both = record.get("versions", {}) | record.get("packages", {})
        for name, version in both.items():
            found.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(found[name]))}" for name in found)
