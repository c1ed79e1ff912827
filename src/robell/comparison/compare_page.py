"""A user's comparison as arrays of scores, lines for a terminal, and a page."""

from __future__ import annotations

from robell._tools.text import counted, literal
from robell.comparison.evaluate import NOISE
from robell.comparison.scores import (
    CLEAN,
    METRICS,
    ScoreResults,
    chance_scores,
)
from robell.comparison.study_page import (
    against_table,
    cell_table,
    curves,
    dataset_table,
    diagrams,
    every_score,
    failures,
    kept,
    last_run,
    one_by_one,
    one_table,
    remarks,
    significance_table,
    time_table,
    unavailable_notes,
    win_tie_loss_table,
)
from robell.report.page import Callout, Code, Details, Facts, Paragraph, Section, TableBlock
from robell.report.tables import Table, to_csv, to_markdown

HEADLINE = "balanced_accuracy"


class OwnResults(ScoreResults):
    """The records that the last run asked for; without its note, the newest of every model."""

    def __init__(self, records, run):
        records = list(records)
        newest = {r["job"]["model"]: r["job"]["identity"] for r in records}
        models = run.get("models") or newest
        protocol = run.get("protocol") or (records[-1]["job"]["protocol"] if records else "")

        def counts(job):
            return (
                job["protocol"] == protocol
                and models.get(job["model"]) == job["identity"]
                and job["dataset"] in run.get("tables", [job["dataset"]])
                and job["level"] in run.get("noise", [job["level"]])
                and job["seed"] < run.get("repeats", job["seed"] + 1)
            )

        found = {r["job"]["model"]: r["job"]["label"] for r in records}
        labels = {model: found[model] for model in models if model in found}
        tables = run.get("tables", ())
        super().__init__(records, counts, labels=labels, sets=tables, kinds=(NOISE,))
        self.protocol = protocol

    @property
    def reference(self):
        """The model that the others are held against: the first one named."""
        return next(iter(self.models), None)

    def scores_of(self, record):
        """Return the six scores of a record, those of chance where its job failed."""
        if record["status"] == "done":
            return record["outcome"]["metrics"]
        # Where a process was ended there is no outcome; the whole table has about the same shares.
        counts = record.get("outcome", {}).get("test_counts") or record["data"]["class_counts"]
        return chance_scores(counts if len(counts) == 2 else sorted(counts, reverse=True))

    def failures_by_model(self):
        """Return how many jobs of each model failed."""
        jobs = [record["job"]["model"] for record in self.failed]
        return {model: jobs.count(model) for model in self.models}


PROTOCOL_TEXTS = {
    "paper": "one 70:30 split, as the paper's (a permutation of seed 0, not stratified)",
    "repeated": "stratified 70:30 splits",
    "holdout": "one stratified 70:30 split",
}


def subtitle(results):
    """Return the line below the title."""
    if not results.models:
        return "Nothing has been measured yet."
    levels = [level for _, level in results.cells if level]
    noise = f", up to {max(levels)} % of the training labels made wrong" if levels else ""
    splits = PROTOCOL_TEXTS[results.protocol]
    if results.protocol == "repeated":
        splits = counted(len(results.seeds), "stratified 70:30 split")
    return (
        f"{counted(len(results.models), 'model')} on {counted(len(results.datasets), 'table')}, "
        f"{splits} of each{noise}."
    )


def headline(results):
    """Return the mean balanced accuracy and average rank of every model, for a terminal."""
    cells = results.complete_cells()
    if not cells:
        return "Nothing has been measured yet."
    width = max(len(label) for label in results.labels.values()) + 2
    lines = [
        f"{METRICS[HEADLINE]}, mean over {counted(len(cells[0].datasets), 'table')} (average rank, "
        "1 = best), by wrong training labels",
        " " * width + "".join(f"{f'{cell.level} %':>15}" for cell in cells),
    ]
    for model in results.models:
        row = ""
        for cell in cells:
            place = cell.models.index(model)
            rank = f"({cell.ranks(HEADLINE)[place]:.2f})"
            row += f"{cell.means(HEADLINE)[place]:8.3f}{rank:>7}"
        lines.append(f"{results.labels[model]:{width}}{row}")
    failed = {results.labels[m]: n for m, n in results.failures_by_model().items() if n}
    for label, n in failed.items():
        lines.append(f"{label}: {counted(n, 'job')} failed, scored as chance")
    return "\n".join(lines)


def cell_title(cell):
    """Return the title of the section of a noise."""
    return "Labels as given" if cell.kind == CLEAN else f"{cell.level} % of the labels made wrong"


# -- the page of a comparison: what was measured, in words, tables and figures


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
