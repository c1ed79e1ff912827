"""A user's comparison as arrays of scores, lines for a terminal, and a page."""

from __future__ import annotations

from robell._tools.text import counted, few, literal
from robell.comparison import study_page as common
from robell.comparison.evaluate import NOISE, PROTOCOLS
from robell.comparison.scores import CLEAN, METRICS, ScoreResults, noise_name
from robell.comparison.study_page import WORDS, methods_of
from robell.comparison.user_models import AS_GIVEN, TUNED
from robell.report import plots
from robell.report.page import Callout, Details, Facts, Section, TableBlock
from robell.report.tables import to_markdown

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

        found = {r["job"]["model"]: r["job"]["label"] for r in records} | run.get("labels", {})
        labels = {model: found[model] for model in models if model in found}
        tables = run.get("tables", ())
        super().__init__(records, counts, labels=labels, sets=tables, kinds=(NOISE,))
        self.protocol = protocol

    @property
    def reference(self):
        """The model that the others are held against: the first one named."""
        return next(iter(self.models), None)

    def failures_by_model(self):
        """Return how many jobs of each model failed."""
        jobs = [record["job"]["model"] for record in self.failed]
        return {model: jobs.count(model) for model in self.models}


read = OwnResults  # (records, run)


def subtitle(results):
    """Return the line below the title."""
    if not results.models:
        return "Nothing has been measured yet."
    levels = [level for _, level in results.cells if level]
    noise = f", up to {max(levels)} % of the training labels made wrong" if levels else ""
    splits = protocol_text(results.protocol)
    if results.protocol in ("repeated", "nested"):
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
    tables = counted(len(cells[0].datasets), "table")
    what = f"{METRICS[HEADLINE]}, mean over {tables} (average rank, 1 = best), "
    labels = {model: results.labels[model] for model in results.models}
    width = max(map(len, results.labels.values())) + 2
    lines = common.headline_lines(cells, labels, HEADLINE, width, 2)
    lines.insert(0, what + "by wrong training labels")
    for model, n in results.failures_by_model().items():
        if n:
            lines.append(f"{labels[model]}: {counted(n, 'job')} failed, scored as chance")
    return "\n".join(lines)


def protocol_text(protocol):
    """Say how tables are split under a protocol."""
    return WORDS.text(f"short_split_{protocol}") if protocol in PROTOCOLS else ""


# -- the page of a comparison: what was measured, in words, tables and figures


TITLE = "Models on tables"
# Those with a diagram, pairwise tests and tables of their own.
SHOWN = ("accuracy", "balanced_accuracy", "roc_auc")


def all_sections(results, run, figures):
    """Return the sections; None in place of one that has nothing to say."""
    cells = results.complete_cells()
    times = common.time_table(results, results.reference)
    return [
        summary(results, cells, run, figures),
        *[one_noise(cell, figures, results) for cell in cells],
        tests(results, cells),
        on_test_rows(results),
        WORDS.section("times", TableBlock(times)) if times else None,
        common.one_by_one(cells, METRICS, "table") if cells else None,
        data(results, run),
        models(results, run),
        methods(results)[0] if cells else None,
        common.failures(results),
        how(results, run),
    ]


def summary(results, cells, run, figures):
    """Say what came out, first."""
    facts = common.first_facts(results, len(results.models))
    for cell in cells:
        where = f"{METRICS[HEADLINE]}, {cell.name}"
        means, ranks = cell.means(HEADLINE), cell.ranks(HEADLINE)
        best = common.leaders(cell.labels, means)
        facts.append(("Best mean", f"{means.max():.3f}", literal(f"{best}; {where}")))
        if len(cell.models) > 1:
            hint = literal(f"{common.leaders(cell.labels, -ranks)}; {where}; 1 = best")
            facts.append(("Best average rank", f"{ranks.min():.2f}", hint))
    blocks = [Facts(tuple(facts)), *common.remarks(results)]
    blocks += common.unavailable_notes(run, "tables")
    if reused := common.kept(run.get("summary") or {}):
        blocks.append(Callout("note", WORDS.text("kept", reused=reused)))
    few = common.not_computed(len(results.datasets), len(results.models))
    blocks += [Callout("note", text) for text in few]
    if results.models and len(cells) > 1:
        names = {model: results.labels[model] for model in results.models}
        order = list(names.values())
        figure = plots.curve_panels(
            [cell.level for cell in cells],
            common.curve_values(cells, names),
            f"wrong training labels (%), {NOISE}",
            order=order,
            emphasised=order[0],
        )
        words = WORDS.figure("curves", kind=NOISE)
        blocks.append(figures.block(f"curves_{NOISE}", figure, *words))
    return WORDS.section("summary", *blocks)


def one_noise(cell, figures, results):
    """Means, ranks and diagrams under one noise."""
    title = "Labels as given" if cell.kind == CLEAN else f"{cell.level} % of the labels made wrong"
    diagrams = common.diagrams(cell, figures, SHOWN, results.labels)
    blocks = (TableBlock(common.cell_table(cell)), *diagrams)
    return Section(cell.stem.replace("_", "-"), title, blocks)


def tests(results, cells):
    """Friedman and Nemenyi, then the first model against each other."""
    own = results.reference
    found = common.significance_table(cells, own, results.labels.get(own, ""))
    blocks: list = [TableBlock(found)] if found.rows else []
    for cell in cells:
        for metric in SHOWN if min(len(cell.models), len(cell.datasets)) > 1 else ():
            title = f"{METRICS[metric]}, {cell.name}: models two by two"
            blocks.append(Details(title, tuple(common.pair_blocks(cell, metric, own))))
    return WORDS.section("tests", *blocks) if blocks else None


def on_test_rows(results):
    """Show what models with a grid would seem to reach if they were tuned on the test rows."""
    found = [
        ((noise_name(*place), label), job["dataset"], record["outcome"].get("on_test_rows"))
        for place in results.cells
        for model, label in results.labels.items()
        for record in results.done
        if (job := record["job"])["model"] == model and (job["kind"], job["level"]) == place
    ]
    rows = [row for row, _ in common.tuned_rows(found)]
    return common.one_table("on-test-rows", WORDS.table("on_test_rows", rows))


def data(results, run):
    """Say what every table holds, and what was left out of it."""
    rows: list[tuple] = []
    for name in results.datasets:
        about = results.data[name]
        counts = dict(zip(about["classes"], about["class_counts"], strict=True))
        shown = few([f"{label}: {n:,}" for label, n in counts.items()])
        sizes = (about["n_rows"], about["n_features"], len(counts))
        rows.append((name, *sizes, shown, about["source"], about["note"]))
    for name, why in run.get("unavailable", {}).items():
        rows.append((name, None, None, None, "", "left out", why))
    return WORDS.section("tables", TableBlock(WORDS.table("tables", rows)))


def models(results, run):
    """How every model was made, and how often it failed."""
    # A function may make a search, or a model and its grid: only what was fitted tells.
    tuned = {r["job"]["model"] for r in results.done if "chosen" in r["outcome"]}
    about = {
        model: TUNED if text == AS_GIVEN and model in tuned else text
        for model, text in run.get("about", {}).items()
    }
    failed = results.failures_by_model()
    jobs = [record["job"]["model"] for record in results.records]
    rows = [
        (results.labels[model], about.get(model, ""), jobs.count(model), failed[model])
        for model in results.models
    ]
    return common.one_table("models", WORDS.table("models", rows))


def methods(results):
    """Return the methods in the words of a paper; protocol, tuning and noise as recorded."""
    cell = results.complete_cells()[0]
    splits = len(results.seeds)
    more = [WORDS.text(f"split_{results.protocol}", splits=counted(splits, "time"))]
    tuned: dict = {}
    for record in results.done:
        chosen, label = record["outcome"].get("chosen"), results.labels[record["job"]["model"]]
        if chosen is not None:
            tuned[label] = ", ".join(name.rpartition("__")[2] for name in chosen)
    if tuned:
        named = "; ".join(f"{label} by {names}" for label, names in tuned.items())
        more.append(WORDS.text("methods_tuned", named=named))
    levels = ", ".join(str(level) for _, level in results.cells if level)
    if levels:
        more.append(WORDS.text("methods_noise", levels=levels))
    failed = results.failures_by_model().items()
    if of := [f"{n} of {results.labels[model]}" for model, n in failed if n]:
        jobs = counted(len(results.failed), "job")
        more.append(WORDS.text("methods_failed", jobs=jobs, named=", ".join(of)))
    own = results.labels[results.reference]
    return methods_of(dict.fromkeys(SHOWN, cell), own, *more)


def how(results, run):
    """How to get these numbers again, and how they were made."""
    splits = protocol_text(results.protocol)
    text = WORDS.text("protocol", protocol=results.protocol, splits=splits)
    return common.how_section(run, "robell.compare(...)", text)


def more_files(results, sections):
    """Return the files beside the page: every score, and the main tables in Markdown."""
    cells = results.complete_cells()
    tables = [common.cell_table(cell) for cell in cells]
    tables += [common.dataset_table(cell, HEADLINE) for cell in cells]
    parts = [f"# {TITLE}\n\n{literal(subtitle(results))}\n", *map(to_markdown, tables)]
    words = methods(results)[1] if cells else {}
    return words | common.score_files([results]) | {"summary.md": "\n".join(parts)}
