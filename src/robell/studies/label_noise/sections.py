"""The sections of the label-noise report: what was measured, in words, tables and figures."""

from __future__ import annotations

from robell.report.page import (
    Bullets,
    Code,
    Details,
    Facts,
    Paragraph,
    Section,
    TableBlock,
)
from robell.report.tables import MINUS, Table
from robell.report.text import counted
from robell.studies.engine.report import last_run, unavailable_notes
from robell.studies.engine.score_sections import curves, diagrams, failures, one_table, remarks
from robell.studies.engine.score_tables import (
    cell_table,
    dataset_table,
    significance_table,
    time_table,
)
from robell.studies.engine.scores import CLEAN, METRICS
from robell.studies.label_noise.models import MODELS, OURS, TIME_REFERENCE
from robell.studies.label_noise.plan import FRESH_SETS
from robell.studies.label_noise.summary import fresh_cells
from robell.studies.label_noise.tables import (
    OUR_LABEL,
    margin_details,
    margin_tables,
    margins,
    suspects_table,
)

SHORTS = {key: model.short for key, model in MODELS.items()}
# Not accuracy: it rewards models that never predict the minority.
COUNTING = tuple(metric for metric in METRICS if metric != "accuracy")
# Those with a diagram and tables of their own.
DIAGRAM_METRICS = ("balanced_accuracy", "roc_auc")
DIAGRAM_LEVELS = (0, 20, 40)
KIND_TEXTS = {
    "symmetric": "All training rows are equally likely to have a wrong label. Where the minority "
    "is small, most of the rows labelled as minority are then majority rows.",
    "asymmetric": "Only rows of the minority have wrong labels: they are labelled as majority, "
    "like frauds that nobody noticed. The level is a share of the minority.",
    "boundary": "Rows of all classes have wrong labels, those near the other class more often: the "
    "probability falls as exp(−4 r / n), where r is the rank of a row by its distance, after "
    "scaling, to the nearest row of the other class.",
}


def all_sections(results, run, figures):
    """Return the sections there is something to say in."""
    cells = results.complete_cells()
    sections = [
        summary(results, cells, run),
        *clean_and_kinds(results, cells, figures),
        fresh_sets(results, cells),
        tests(cells),
        *one_table("times", "Fit time", time_table(results, TIME_REFERENCE)),
        *one_table("suspects", "Wrong labels found", suspects_table(results)),
        each_set(cells),
        data(results, run),
        failures(results),
        how(results, run),
    ]
    return [section for section in sections if section is not None]


# -- the summary ---------------------------------------------------------------------------


def summary(results, cells, run):
    """Say what came out, first."""
    found = margins(cells)
    facts = [
        ("Sets", str(len(results.datasets)), f"{counted(len(results.seeds), 'split')} of each"),
        ("Models", str(len(results.models)), "none of them tuned"),
        ("Jobs", f"{len(results.records):,}", f"{len(results.failed)} failed"),
    ]
    if found:
        counting = [margin for margin in found if margin.metric in COUNTING]
        where = f"{OUR_LABEL}, without accuracy"
        first = sum(margin.place == 1 for margin in counting)
        facts.append(("Best mean", f"{first} of {len(counting)}", where))
        first = sum(margin.rank_place == 1 for margin in counting)
        facts.append(("Best average rank", f"{first} of {len(counting)}", where))
    blocks = [Facts(tuple(facts))]
    if found:
        blocks += [Bullets(tuple(_findings(found))), *_margin_blocks(found)]
    blocks += [*remarks(results), *unavailable_notes(run, "sets")]
    return Section("summary", "Summary", tuple(blocks))


def _findings(found):
    """Yield one sentence for each kind of noise."""
    for kind in dict.fromkeys(margin.kind for margin in found):
        own = [margin for margin in found if margin.kind == kind and margin.metric in COUNTING]
        first = sum(margin.place == 1 for margin in own)
        by_rank = sum(margin.rank_place == 1 for margin in own)
        spans = ", ".join(
            f"{margin.difference:+.3f}".replace("-", MINUS)
            + (f" at {margin.level}\u00a0%" if margin.level else "")
            for margin in own
            if margin.metric == "balanced_accuracy"
        )
        name = "clean labels" if kind == CLEAN else f"{kind} noise"
        yield (
            f"**{name.capitalize()}**: of {len(own)} comparisons (levels and metrics, accuracy not "
            f"counted), {OUR_LABEL} has the best mean in {first} and the best average rank in "
            f"{by_rank}. Its balanced accuracy less the best peer's: {spans}."
        )


def _margin_blocks(found, group=""):
    tables = [TableBlock(table) for table in margin_tables(found, group)]
    full = TableBlock(margin_details(found, group))
    return [*tables, Details("The same in full: means, best peers, ranks", (full,))]


# -- one kind of noise ---------------------------------------------------------------------


def clean_and_kinds(results, cells, figures):
    """Yield a section of clean labels, and one of each kind of noise at all its levels."""
    for kind in (CLEAN, *results.kinds):
        own = [cell for cell in cells if cell.kind == kind]
        if not own:
            continue
        blocks, title = [], "Clean labels"
        if kind != CLEAN:
            blocks, title = [Paragraph(KIND_TEXTS[kind])], f"{kind.capitalize()} noise"
            blocks += _curves(results, cells, kind, figures)
        blocks += [TableBlock(cell_table(cell)) for cell in own]
        for cell in own:
            if cell.level in DIAGRAM_LEVELS:
                blocks += diagrams(cell, figures, DIAGRAM_METRICS, SHORTS)
        yield Section(kind, title, tuple(blocks))


def _curves(results, cells, kind, figures):
    """Return the figure of all metrics against the level."""
    # Ours has the strongest colour, the last of the eight.
    names = [model.short for key, model in MODELS.items() if key != OURS]
    order = [*names[:7], SHORTS[OURS], *names[7:]]
    shown = {model: SHORTS[model] for model in results.models}
    return curves(cells, kind, figures, shown, order, SHORTS[OURS])


# -- the rest ------------------------------------------------------------------------------


def fresh_sets(results, cells):
    """Show the sets that were not used in making our model, by themselves."""
    fresh = fresh_cells(results, cells)
    if not fresh:
        return None
    names = ", ".join(f"`{name}`" for name in FRESH_SETS if name in results.datasets)
    text = (
        f"Variants of {OUR_LABEL} were compared on some sets while it was made. These sets share "
        f"no row with them: {names}. Here they are by themselves."
    )
    blocks = [Paragraph(text)]
    found = margins(fresh)
    if found:
        blocks += _margin_blocks(found, "fresh")
    tables = tuple(TableBlock(cell_table(cell, "fresh")) for cell in fresh)
    blocks.append(Details("Means and average ranks of every model", tables))
    return Section("fresh", "Fresh sets", tuple(blocks))


def tests(cells):
    """Friedman and Nemenyi in every cell."""
    table = significance_table(cells, OURS, OUR_LABEL)
    if not table.rows:
        return None
    text = (
        "Several of the sets are made of the same rows with another class as the minority. The "
        "tests treat them as independent, which they are not."
    )
    return Section("tests", "Statistical tests", (TableBlock(table), Paragraph(text)))


def each_set(cells):
    """Every set by itself, in the metrics that have diagrams."""
    shown = [cell for cell in cells if cell.level in DIAGRAM_LEVELS]
    if not shown:
        return None
    groups = [
        Details(
            f"{METRICS[metric]}, set by set",
            tuple(TableBlock(dataset_table(cell, metric)) for cell in shown),
        )
        for metric in DIAGRAM_METRICS
    ]
    text = "All metrics of all sets at all levels are in `tables/every_score.csv`."
    return Section("each-set", "Set by set", (*groups, Paragraph(text)))


def data(results, run):
    """Where every set came from."""
    rows = []
    for name in results.datasets:
        about = results.data[name]
        size = [about.get(field) for field in ("n_rows", "n_features", "n_minority")]
        fresh = "yes" if name in FRESH_SETS else "no"
        rows.append((name, *size, fresh, about.get("source", ""), about.get("note", "")))
    for name, why in run.get("unavailable", {}).items():
        rows.append((name, None, None, None, "", "none", why))
    columns = ("Set", "Rows", "Columns", "Minority", "Fresh", "From", "Note")
    return Section("sets", "Sets", (TableBlock(Table("sets", "Sets", columns, tuple(rows))),))


def how(results, run):
    """How to get these numbers again, and how they were made."""
    seeds = ", ".join(map(str, results.seeds))
    total = sum(r["seconds"].get("total", 0.0) for r in results.records if "seconds" in r)
    texts = [
        f"Each set is split 70:30, stratified, with the seeds {seeds}. A seed decides the split "
        "and the model's random state and, together with the set's name, which labels are wrong. "
        "Only training rows get wrong labels, the same ones for all models; a higher level adds "
        "wrong labels to those of a lower one. The score of a set is the mean over seeds. Ranks "
        "are averaged over sets; models with equal scores share their rank. No model is tuned; "
        "each uses one thread.",
        f"{len(results.records):,} jobs, {total:.0f} s in all.",
    ]
    if results.revisions:
        revisions = ", ".join(f"{MODELS[m].label} {r}" for m, r in results.revisions.items())
        texts.append(f"Revisions: {revisions}.")
    texts += [text for text in [last_run(run)] if text]
    blocks = [Code(run.get("command") or "robell robustness"), *map(Paragraph, texts)]
    return Section("how", "How to reproduce", tuple(blocks))
