"""The page of a comparison: what was measured, in words, tables and figures."""

from __future__ import annotations

from robell._tools.text import counted, literal
from robell.comparison.evaluate import NOISE
from robell.comparison.report import kept, last_run, unavailable_notes
from robell.comparison.score_arrays import HEADLINE, PROTOCOL_TEXTS, cell_title, subtitle
from robell.comparison.score_sections import (
    curves,
    diagrams,
    failures,
    one_by_one,
    one_table,
    remarks,
)
from robell.comparison.score_tables import (
    against_table,
    cell_table,
    dataset_table,
    every_score,
    significance_table,
    time_table,
    win_tie_loss_table,
)
from robell.comparison.scores import METRICS
from robell.report.page import Callout, Code, Details, Facts, Paragraph, Section, TableBlock
from robell.report.tables import Table, to_csv, to_markdown

TITLE = "Models on tables"
# Those with a diagram, pairwise tests and tables of their own.
SHOWN = ("accuracy", "balanced_accuracy", "roc_auc")


def all_sections(results, run, figures):
    """Return the sections there is something to say in."""
    cells = results.complete_cells()
    sections = [
        summary(results, cells, run, figures),
        *[one_noise(cell, figures, results) for cell in cells],
        tests(results, cells),
        *one_table("times", "Fit time", time_table(results, results.reference)),
        each_table(cells),
        data(results, run),
        models(results, run),
        failures(results),
        how(results, run),
    ]
    return [section for section in sections if section is not None]


def summary(results, cells, run, figures):
    """Say what came out, first."""
    facts = [
        ("Tables", str(len(results.datasets)), f"{counted(len(results.seeds), 'split')} of each"),
        ("Models", str(len(results.models)), ""),
        ("Jobs", f"{len(results.records):,}", f"{len(results.failed)} failed"),
    ]
    for cell in cells:
        where = f"{METRICS[HEADLINE]}, {cell.name}"
        means, ranks = cell.means(HEADLINE), cell.ranks(HEADLINE)
        best = cell.labels[means.argmax()]
        facts.append(("Best mean", f"{means.max():.3f}", literal(f"{best}; {where}")))
        if len(cell.models) > 1:
            best = cell.labels[ranks.argmin()]
            hint = literal(f"{best}; {where}; 1 = best")
            facts.append(("Best average rank", f"{ranks.min():.2f}", hint))
    blocks = [Facts(tuple(facts)), *remarks(results), *unavailable_notes(run, "tables")]
    if reused := kept(run.get("summary") or {}):
        blocks.append(
            Callout("note", f"{reused}: tables, parameters and your own code are the same.")
        )
    blocks += [Callout("note", text) for text in not_computed(results)]
    names = {model: results.labels[model] for model in results.models}
    order = list(names.values())
    if order:
        blocks += curves(cells, NOISE, figures, names, order, order[0])
    return Section("summary", "Summary", tuple(blocks))


def not_computed(results):
    """Yield what cannot be computed of so few tables or models."""
    n_tables, n_models = len(results.datasets), len(results.models)
    if n_models < 2:
        yield "One model alone: there is nothing to rank it against, and no test."
    elif n_tables < 2:
        yield (
            "One table alone: ranks are those on this table, and no test over tables can be "
            "computed (Friedman, Nemenyi and Wilcoxon need at least two, and say little below "
            "six)."
        )
    elif n_models < 3:
        yield (
            "Two models: Friedman's test and the diagrams need three; "
            "wins and Wilcoxon's test are there."
        )
    if n_models > 1 and 1 < n_tables < 6:
        yield (
            f"{n_tables} tables: with fewer than six, Wilcoxon's test cannot reach 5 %, "
            "whatever the scores."
        )


def one_noise(cell, figures, results):
    """Means, ranks and diagrams under one noise."""
    blocks = [TableBlock(cell_table(cell)), *diagrams(cell, figures, SHOWN, results.labels)]
    return Section(cell.stem.replace("_", "-"), cell_title(cell), tuple(blocks))


def tests(results, cells):
    """Friedman and Nemenyi, then the first model against each other."""
    own = results.reference
    blocks = []
    found = significance_table(cells, own, results.labels.get(own, ""))
    if found.rows:
        blocks.append(TableBlock(found))
    for cell in cells:
        if len(cell.models) < 2 or len(cell.datasets) < 2:
            continue
        for metric in SHOWN:
            tables = against_table(cell, metric, own), win_tie_loss_table(cell, metric)
            title = f"{METRICS[metric]}, {cell.name}: the first model against each other"
            blocks.append(Details(title, tuple(TableBlock(table) for table in tables)))
    if not blocks:
        return None
    text = (
        "Tests over tables take the tables as independent draws. Tables that share rows are not. "
        "Models under one bar of a diagram, and p-values above 5 %, mean that no difference was "
        "shown, not that there is none."
    )
    return Section("tests", "Statistical tests", (*blocks, Paragraph(text)))


def each_table(cells):
    """Every table by itself, in the metrics that are shown."""
    if not cells:
        return None
    return one_by_one(cells, METRICS, "table")


def data(results, run):
    """Say what every table holds, and what was left out of it."""
    rows = []
    for name in results.datasets:
        about = results.data[name]
        counts = dict(zip(about["classes"], about["class_counts"], strict=True))
        shown = ", ".join(f"{label}: {n:,}" for label, n in list(counts.items())[:5])
        more = ", ..." if len(counts) > 5 else ""
        sizes = (about["n_rows"], about["n_features"], len(counts))
        rows.append((name, *sizes, shown + more, about["source"], about["note"]))
    for name, why in run.get("unavailable", {}).items():
        rows.append((name, None, None, None, "", "left out", why))
    columns = ("Table", "Rows", "Columns", "Classes", "Rows by class", "From", "Note")
    text = (
        "Columns are counted as the models see them: categories spread out, dates as days. Medians "
        "for missing numbers, scales and categories are taken from the whole table without its "
        "labels, before it is split; arrays are taken as they are. Of two classes, F1 and average "
        "precision are those of the smaller; of more, F1, ROC AUC and average precision are means "
        "over classes, and G-mean is the geometric mean of all recalls."
    )
    return Section(
        "tables",
        "Tables",
        (TableBlock(Table("tables", "Tables", columns, tuple(rows))), Paragraph(text)),
    )


def models(results, run):
    """How every model was made, and how often it failed."""
    about = run.get("about", {})
    failed = results.failures_by_model()
    jobs = [record["job"]["model"] for record in results.records]
    rows = tuple(
        (results.labels[model], about.get(model, ""), jobs.count(model), failed[model])
        for model in results.models
    )
    table = Table("models", "Models", ("Model", "Made", "Jobs", "Failed"), rows)
    return Section("models", "Models", (TableBlock(table),)) if rows else None


def how(results, run):
    """How to get these numbers again, and how they were made."""
    texts = [
        f"Protocol {results.protocol}: {PROTOCOL_TEXTS.get(results.protocol, '')}. All seeds come "
        "from the names of tables and the number of the split, so that every model sees the same "
        "rows, and the same wrong labels; a higher level adds wrong labels to those of a lower "
        "one. Test labels are as given. A model with a grid is tuned on stratified folds of the "
        "training rows. The score of a table is the mean over its splits; models with equal "
        "scores share their rank, 1 being the best. Each fit has one thread.",
        last_run(run),
    ]
    blocks = [Code(run.get("command") or "robell.compare(...)")]
    return Section("how", "How to reproduce", (*blocks, *map(Paragraph, filter(None, texts))))


def more_files(results):
    """Return the files beside the page: every score, and the main tables in Markdown."""
    cells = results.complete_cells()
    tables = [cell_table(cell) for cell in cells]
    tables += [dataset_table(cell, HEADLINE) for cell in cells]
    parts = [f"# {TITLE}\n\n{literal(subtitle(results))}\n", *map(to_markdown, tables)]
    return {"tables/every_score.csv": to_csv(every_score(cells)), "summary.md": "\n".join(parts)}
