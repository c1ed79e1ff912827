"""The sections of the robustness report: what was measured, in words, tables and figures."""

from __future__ import annotations

from robell.report import plots
from robell.report.page import (
    Bullets,
    Callout,
    Code,
    Details,
    Facts,
    Paragraph,
    Section,
    TableBlock,
    literal,
)
from robell.report.tables import MINUS, Table, write
from robell.studies.engine.statistics import nemenyi
from robell.studies.label_noise.plan import CLEAN, FRESH_SETS, MODELS, OURS, SHORT_NAMES
from robell.studies.label_noise.results import DECIMALS, METRICS
from robell.studies.label_noise.tables import (
    ALPHA,
    cell_table,
    counted,
    dataset_table,
    is_testable,
    margin_details,
    margin_table,
    margins,
    place_table,
    significance_table,
    suspects_table,
    time_table,
)

# Accuracy rewards those who never say minority.
COUNTING = tuple(metric for metric in METRICS if metric != "accuracy")
# Those with a diagram of their own.
DIAGRAM_METRICS = ("balanced_accuracy", "roc_auc")
DIAGRAM_LEVELS = (0, 20, 40)
KIND_TEXTS = {
    "symmetric": "Labels of all training rows are wrong with the same probability. Where the "
    "minority is small, most of the rows labelled as minority are then majority rows.",
    "asymmetric": "Only rows of the minority are wrong: they are labelled as majority, as frauds "
    "that nobody noticed. The level is a share of the minority.",
    "boundary": "Rows of all classes are wrong, those near the other class more often: with "
    "probabilities that fall as exp(−4 r / n) with the rank r of the distance to the nearest row "
    "of the other class, after scaling.",
}


class Pages:
    """Everything the sections are made of.

    Parameters
    ----------
    results : NoiseResults
        The records.
    run : dict
        What the last run noted about itself.
    figures : FigureFolder
        Takes figures.
    folder : Path
        Where tables are written.

    Attributes
    ----------
    cells : list of NoiseCell
        Those in which all models have run on some set.
    fresh : list of NoiseCell
        The same over the fresh sets alone; empty where all sets are such.
    """

    def __init__(self, results, run, figures, folder):
        self.results, self.run, self.figures, self.folder = results, run, figures, folder
        cells = [results.cell(*place) for place in results.cells]
        self.cells = [cell for cell in cells if cell.datasets]
        self.unfinished = [cell for cell in cells if cell.left_out]
        some = set(results.datasets) - set(FRESH_SETS)
        fresh = [cell.on(FRESH_SETS) for cell in self.cells] if some else []
        self.fresh = [cell for cell in fresh if cell.datasets]

    def table(self, table):
        """Write a table and return its block."""
        write(table, self.folder)
        return TableBlock(table)

    def of(self, kind):
        """Return the cells of one kind, the clean one first."""
        return [cell for cell in self.cells if cell.kind in (CLEAN, kind)]

    def sections(self):
        """Return the sections there is something to say in."""
        makers = [self.summary, self.clean, *(self._maker(kind) for kind in self.results.kinds)]
        makers += [self.fresh_sets, self.tests, self.times, self.suspects, self.each_set]
        makers += [self.data, self.failures, self.how]
        return [section for section in (make() for make in makers) if section is not None]

    def _maker(self, kind):
        return lambda: self.kind(kind)

    # -- the summary -----------------------------------------------------------------------

    def summary(self):
        """Say what came out, first."""
        results = self.results
        found = margins(self.cells)
        facts = [
            ("Sets", str(len(results.datasets)), f"{counted(len(results.seeds), 'split')} of each"),
            ("Models", str(len(results.models)), "none of them tuned"),
            ("Jobs", f"{len(results.records):,}", f"{len(results.failed)} failed"),
        ]
        if found:
            counting = [margin for margin in found if margin.metric in COUNTING]
            where = f"{MODELS[OURS]}, without accuracy"
            first = sum(margin.place == 1 for margin in counting)
            facts.append(("Best mean", f"{first} of {len(counting)}", where))
            first = sum(margin.rank_place == 1 for margin in counting)
            facts.append(("Best average rank", f"{first} of {len(counting)}", where))
        blocks = [Facts(tuple(facts))]
        if found:
            blocks += [Bullets(tuple(_findings(found))), self.table(margin_table(found))]
            blocks += [self.table(place_table(found))]
            full = self.table(margin_details(found))
            blocks.append(Details("The same in full: means, best peers, ranks", (full,)))
        blocks += self._remarks()
        return Section("summary", "Summary", tuple(blocks))

    def _remarks(self):
        """Yield what a reader must know before trusting a number."""
        if self.unfinished:
            names = ", ".join(sorted({name for cell in self.unfinished for name in cell.left_out}))
            yield Callout(
                "caution",
                f"Some models have not run everywhere yet; in {len(self.unfinished)} of "
                f"{len(self.results.cells)} cells sets are left out for all: `{literal(names)}`.",
            )
        n_failed = len(self.results.failed)
        if n_failed:
            yield Callout(
                "caution",
                f"{counted(n_failed, 'job')} failed and {'is' if n_failed == 1 else 'are'} scored "
                "as chance "
                "([which](#failures)).",
            )
        if self.run.get("unavailable"):
            names = ", ".join(f"`{literal(name)}`" for name in self.run["unavailable"])
            yield Callout("note", f"Not available, and left out: {names}. [Why](#sets).")

    # -- one kind of noise -----------------------------------------------------------------

    def clean(self):
        """Right labels everywhere."""
        cells = [cell for cell in self.cells if cell.kind == CLEAN]
        if not cells:
            return None
        blocks = [self.table(cell_table(cells[0])), *self.diagrams(cells[0])]
        return Section("clean", "Clean labels", tuple(blocks))

    def kind(self, kind):
        """One kind of noise at all its levels."""
        cells = [cell for cell in self.cells if cell.kind == kind]
        if not cells:
            return None
        blocks = [Paragraph(KIND_TEXTS[kind]), *self.curves(kind)]
        blocks += [self.table(cell_table(cell)) for cell in cells]
        for cell in cells:
            if cell.level in DIAGRAM_LEVELS:
                blocks += self.diagrams(cell)
        return Section(kind, f"{kind.capitalize()} noise", tuple(blocks))

    def curves(self, kind):
        """Yield the figure of all metrics against the level."""
        cells = self.of(kind)
        if len(cells) < 2:
            return
        values = {
            name: {
                SHORT_NAMES[model]: [
                    float(cell.means(metric)[cell.models.index(model)])
                    if model in cell.models
                    else float("nan")
                    for cell in cells
                ]
                for model in self.results.models
            }
            for metric, name in METRICS.items()
        }
        yield self.figures.block(
            f"curves_{kind}",
            plots.curve_panels(
                [cell.level for cell in cells],
                values,
                f"wrong training labels (%), {kind}",
                order=_colour_order(),
                emphasised=SHORT_NAMES[OURS],
            ),
            "Means over sets, on right test labels.",
            f"Curves of six metrics against the level of {kind} noise, one line a model",
        )

    def diagrams(self, cell):
        """Yield the critical-difference diagrams of one cell."""
        if not is_testable(cell):
            return
        for metric in DIAGRAM_METRICS:
            test = nemenyi(cell.values[metric], ALPHA, DECIMALS)
            title = f"{METRICS[metric]}, {cell.name}, {len(cell.datasets)} sets"
            yield self.figures.block(
                f"critical_difference_{metric}_{cell.stem}",
                plots.critical_difference(
                    [SHORT_NAMES[model] for model in cell.models],
                    test.average_ranks,
                    test.critical_difference,
                    test.cliques,
                    title,
                ),
                "Average ranks. Models under one bar do not differ by the Nemenyi test at 5 %.",
                f"Critical-difference diagram: {title}",
            )

    # -- the rest --------------------------------------------------------------------------

    def fresh_sets(self):
        """Show the sets that were not used in making our model, by themselves."""
        if not self.fresh:
            return None
        names = ", ".join(f"`{name}`" for name in FRESH_SETS if name in self.results.datasets)
        text = (
            "The sets that share no row with those on which variants of "
            f"{MODELS[OURS]} were compared, by themselves: {names}."
        )
        blocks = [Paragraph(text)]
        found = margins(self.fresh)
        if found:
            blocks += [self.table(margin_table(found, "fresh"))]
            blocks += [self.table(place_table(found, "fresh"))]
            full = self.table(margin_details(found, "fresh"))
            blocks.append(Details("The same in full: means, best peers, ranks", (full,)))
        tables = tuple(self.table(cell_table(cell, "fresh")) for cell in self.fresh)
        blocks.append(Details("Means and average ranks of every model", tables))
        return Section("fresh", "Fresh sets", tuple(blocks))

    def tests(self):
        """Friedman and Nemenyi in every cell."""
        table = significance_table(self.cells)
        if not table.rows:
            return None
        text = (
            "Several of the sets are made of the same rows with other classes as the minority, so "
            "the tests assume more independence than there is."
        )
        return Section("tests", "Statistical tests", (self.table(table), Paragraph(text)))

    def times(self):
        """How long a fit takes."""
        table = time_table(self.results)
        if table is None:
            return None
        return Section("times", "Fit time", (self.table(table),))

    def suspects(self):
        """How well the wrong labels were found."""
        table = suspects_table(self.results)
        if table is None:
            return None
        return Section("suspects", "Wrong labels found", (self.table(table),))

    def each_set(self):
        """Every set by itself, in the metrics that have diagrams."""
        groups = []
        for metric in DIAGRAM_METRICS:
            tables = [dataset_table(c, metric) for c in self.cells if c.level in DIAGRAM_LEVELS]
            if tables:
                blocks = tuple(self.table(table) for table in tables)
                groups.append(Details(f"{METRICS[metric]}, set by set", blocks))
        if not groups:
            return None
        text = "All metrics of all sets at all levels are in `tables/every_score.csv`."
        return Section("each-set", "Set by set", (*groups, Paragraph(text)))

    def data(self):
        """Where every set came from."""
        rows = []
        for name in self.results.datasets:
            about = self.results.data[name]
            size = [about.get(field) for field in ("n_rows", "n_features", "n_minority")]
            fresh = "yes" if name in FRESH_SETS else "no"
            rows.append((name, *size, fresh, about.get("source", ""), about.get("note", "")))
        for name, why in self.run.get("unavailable", {}).items():
            rows.append((name, None, None, None, "", "none", why))
        columns = ("Set", "Rows", "Columns", "Minority", "Fresh", "From", "Note")
        return Section("sets", "Sets", (self.table(Table("sets", "Sets", columns, tuple(rows))),))

    def failures(self):
        """Jobs that failed, and what models complained about."""
        blocks = []
        if self.results.failed:
            rows = tuple((r["key"], r.get("error", "")) for r in self.results.failed)
            table = Table(
                "failed",
                "Jobs that failed",
                ("Job", "Why"),
                rows,
                caption="Scored as a model that always says majority: balanced accuracy and area "
                "0.5, G-mean and F1 0, average precision the minority's share.",
            )
            blocks.append(self.table(table))
        counts = self.results.warnings()
        if counts:
            rows = tuple((MODELS[model], text, n) for (model, text), n in sorted(counts.items()))
            table = Table("warnings", "Warnings", ("Model", "Warning", "Jobs"), rows)
            blocks.append(self.table(table))
        if not blocks:
            blocks.append(Paragraph("No job failed, and no model gave a warning."))
        return Section("failures", "Failures and warnings", tuple(blocks))

    def how(self):
        """How to get these numbers again, and how they were made."""
        results, summary = self.results, self.run.get("summary", {})
        seeds = ", ".join(map(str, results.seeds))
        total = sum(r["seconds"].get("total", 0.0) for r in results.records if "seconds" in r)
        blocks = [
            Code(self.run.get("command") or "robell robustness"),
            Paragraph(
                f"Stratified splits of 70:30, seeds {seeds}; the seed is that of the split and of "
                "the model, and with the set's name that of the noise. Wrong labels are in the "
                "training rows only, the same for all models, and those of a lower level are among "
                "those of a higher. Scores of a set are means over seeds; ranks are over sets, "
                "equal scores sharing theirs. No model is tuned; each uses one thread."
            ),
            Paragraph(f"{len(results.records):,} jobs, {total:.0f} s in all."),
        ]
        if results.revisions:
            text = ", ".join(f"{MODELS[m]} {r}" for m, r in results.revisions.items())
            blocks.append(Paragraph(f"Revisions: {text}."))
        if summary.get("done"):
            blocks.append(
                Paragraph(
                    f"The last run did {summary['done']:,} jobs in {summary['seconds']:.0f} s with "
                    f"{counted(self.run['workers'], 'worker')}."
                )
            )
        return Section("how", "How to reproduce", tuple(blocks))


def _colour_order():
    """Return the names of models so that ours has the strongest colour, the last of the eight."""
    names = [SHORT_NAMES[model] for model in MODELS if model != OURS]
    return [*names[:7], SHORT_NAMES[OURS], *names[7:]]


def _findings(found):
    """Yield one sentence for each kind of noise."""
    for kind in dict.fromkeys(margin.kind for margin in found):
        own = [margin for margin in found if margin.kind == kind and margin.metric in COUNTING]
        first = sum(margin.place == 1 for margin in own)
        by_rank = sum(margin.rank_place == 1 for margin in own)
        balanced = [margin for margin in own if margin.metric == "balanced_accuracy"]
        spans = ", ".join(
            f"{margin.difference:+.3f}".replace("-", MINUS)
            + (f" at {margin.level}\u00a0%" if margin.level else "")
            for margin in balanced
        )
        name = "clean labels" if kind == CLEAN else f"{kind} noise"
        yield (
            f"**{name.capitalize()}**: {MODELS[OURS]} has the best mean in {first} and the best "
            f"average rank in {by_rank} of {len(own)} cells (accuracy not counted); balanced "
            f"accuracy against the best peer: {spans}."
        )
