"""The page of any study from its records alone, and what a paper says of a comparison's methods."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from robell._tools.files import read_resource, write_atomically
from robell._tools.text import counted, literal
from robell.comparison import statistics
from robell.comparison.scores import DECIMALS, METRICS, scores_of
from robell.comparison.store import StudyError, all_have_checksums, json_of, read_records
from robell.report import plots
from robell.report.page import (
    Callout,
    Code,
    Details,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    Words,
    render,
)
from robell.report.tables import EN_DASH, MINUS, Spread, escape_latex, number_text, to_csv, write

WORDS = Words("robell.comparison")
SURE = 0.95  # of a posterior probability

# A group names some of the sets ("fresh"); tables of all sets have none.


def of_group(group, name):
    """Return the stem of the files of a table of a group, and what its title adds."""
    stem, title = (f"{group}_{name}", f", {group} sets") if group else (name, "")
    return {"name": stem, "group": title}


def span(numbers, what=""):
    """Return "3 splits", or "2 to 3 splits" where they differ; the numbers alone without a noun."""
    ends = " to ".join(f"{n:,}" for n in sorted({min(numbers), max(numbers)}))
    return f"{ends} {what}{'s' * (ends != '1')}" if what else ends


def sizes_of(cells):
    """Return how many sets, and how many models, each of some cells has."""
    return [len(cell.datasets) for cell in cells], [len(cell.models) for cell in cells]


def leaders(labels, values):
    """Return the names of the largest value, several where they are equal up to rounding."""
    best = max(values)
    named = zip(labels, values, strict=True)
    return ", ".join(label for label, value in named if round(best - value, DECIMALS) <= 0)


def cell_table(cell, group=""):
    """Return mean and average rank of every model in every metric under one noise."""
    columns = [of(metric) for of in (cell.means, cell.ranks) for metric in METRICS]
    return WORDS.table(
        "means",
        [*zip(cell.labels, *columns, strict=True)],
        noise=f"{cell.name[0].upper()}{cell.name[1:]}",
        **of_group(group, cell.stem),
        sets=counted(len(cell.datasets), "set"),
        splits=span(cell.n_seeds, "split"),
    )


def _of_metric(cell, metric):
    """Return the values that tables of one metric under one noise have in their words."""
    sets = counted(len(cell.datasets), "set")
    names = {"metric": cell.stems[metric], "label": cell.metrics[metric], "noise": cell.name}
    return names | {"stem": cell.stem, "sets": sets, "form": cell.by(metric).form}


def mean_table(cell, metric):
    """Return mean, median, worst and average rank of every model by one metric."""
    values, best = cell.values[metric], "min" if metric in cell.lower else "max"
    worst = values.max(axis=0) if metric in cell.lower else values.min(axis=0)
    medians, ranks = np.median(values, axis=0), cell.ranks(metric)
    columns = (cell.labels, cell.means(metric), medians, worst, ranks)
    words = _of_metric(cell, metric) | {"better": "less" if best == "min" else "more"}
    table = WORDS.table("given_means", [*zip(*columns, strict=True)], **words)
    return replace(table, column_best=(None, best, best, best, "min"))


def dataset_table(cell, metric):
    """Return one metric under one noise: sets in rows, models in columns, means and ranks below."""
    values, caption = cell.values[metric], ""
    rows = [(name, *row) for name, row in zip(cell.datasets, values, strict=True)]
    if max(cell.n_seeds) > 1:
        spreads = zip(cell.datasets, values, cell.deviations[metric], strict=True)
        rows = [(name, *map(Spread, *both)) for name, *both in spreads]
        caption = WORDS.text("spread", splits=span(cell.n_seeds, "split"))
    footer = [("Mean", *cell.means(metric)), ("Average rank", *cell.ranks(metric))]
    caption = f"{caption} {WORDS.text('bold' if caption else 'bold_one')}".strip()
    words = _of_metric(cell, metric) | {"caption": caption}
    table = WORDS.table("sets", rows, cell.labels, footer, **words)
    best = ("min" if metric in cell.lower else "max", "min")
    return replace(table, bold=bold_cells(cell, metric), footer_best=best)


def bold_cells(cell, metric):
    """Return the places of scores to set bold: the best of a set, and those not surely worse."""
    found, ranked = set(), cell.by(metric)
    for place, values in enumerate(ranked.scaled):
        best = int(np.argmax(values))
        rows = cell.sign(metric) * cell.splits[metric][place] / ranked.units[place]
        gaps = rows - rows[:, [best]]
        for model, value in enumerate(values):
            is_best = round(values[best] - value, DECIMALS) <= 0
            gap = gaps[:, model], cell.test_shares[place]
            if is_best or (len(rows) > 1 and statistics.correlated_t(*gap)[2] < SURE):
                found.add((place, model + 1))
    return frozenset(found)


def tuned_rows(found, scale=1):
    """Return a row on each model tuned on folds and on test rows, and the names of its sets.

    ``found`` are (first cells of the row, set, scores of the chosen and of the best candidate).
    """
    models: dict = {}
    for first, name, scores in found:
        if scores:
            pairs = models.setdefault(first, {}).setdefault(name, [])
            pairs.append((scale * scores["chosen"], scale * scores["best"]))
    rows = []
    for first, sets in models.items():
        chosen, best = np.array([np.mean(pairs, axis=0) for pairs in sets.values()]).T
        gaps, names = best - chosen, list(sets)
        most = gaps.argmax()
        numbers = (chosen.mean(), best.mean(), gaps.mean(), gaps[most])
        rows.append(((*first, len(gaps), *numbers, names[most]), names))
    return rows


def every_score(parts):
    """Return the scores of every job of some results: for a file, not for a page."""
    rows = []
    for results in parts:

        def place(record, results=results):
            job = record["job"]
            cell = results.cells.index((job["kind"], job["level"]))
            model = results.models.index(job["model"])
            return cell, results.datasets.index(job["dataset"]), job["seed"], model

        for record in sorted(results.records, key=place):
            job, scores = record["job"], scores_of(record)
            what = [job[field] for field in ("dataset", "kind", "level", "seed", "model")]
            rows.append((*what, record["status"], *(float(scores[m]) for m in METRICS)))
    return WORDS.table("every_score", rows)


def mean_scores(cells):
    """Return means and standard deviations over the splits of every set: for a file."""
    rows = [
        (
            *(name, cell.kind, cell.level, model, cell.n_seeds[i]),
            *(Spread(cell.values[m][i, j], cell.deviations[m][i, j]) for m in METRICS),
        )
        for cell in cells
        for i, name in enumerate(cell.datasets)
        for j, model in enumerate(cell.models)
    ]
    return WORDS.table("mean_scores", rows)


def score_files(parts, name=""):
    """Return the files of every score of some results, and of their means over splits."""
    cells = [cell for part in parts for cell in part.complete_cells()]
    return {
        f"tables/every_{name}score.csv": to_csv(every_score(parts)),
        f"tables/mean_{name}scores.csv": to_csv(mean_scores(cells)),
    }


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
    label = results.labels.get(reference, "reference")
    return WORDS.table("fit_time", rows, reference=label, n_jobs=n_jobs)


def significance_table(cells, own, label):
    """Return Friedman's test, Nemenyi's critical difference and whom one model differs from."""
    rows = []
    for cell in cells:
        for metric, name in cell.metrics.items() if cell.testable else ():
            test, pairs = cell.by(metric).friedman, cell.by(metric).nemenyi
            differing: list = [None, None]
            if own in cell.models:
                places = pairs.differing(cell.models.index(own))
                differing = ["; ".join(cell.labels[k] for k in side) or "none" for side in places]
            numbers = (test.chi2_ties, test.f_ties, test.f_ties_p, pairs.critical_difference)
            rows.append((cell.name, name, test.n_datasets, test.n_models, *numbers, *differing))
    return WORDS.table("tests", rows, label=label)


# -- pairs of models: how they differ, how sure that is, what could have been seen


def _pair(found, i, j):
    """Return mean difference, wins-ties-losses and the three posterior probabilities of a pair."""
    better, equal = found.posteriors
    gap = (found.values[:, i] - found.values[:, j]).mean()
    return gap, "-".join(map(str, found.wins[i, j])), better[i, j], equal[i, j], better[j, i]


def against_table(cell, metric, own):
    """Return one model against each other: wins, size of the difference, tests, posterior."""
    found, place = cell.by(metric), cell.models.index(own)
    p_values = found.wilcoxon[0][place]
    adjusted, rows = statistics.holm(p_values), []
    for j, other in enumerate(cell.labels):
        if j == place:
            continue
        gap, wins, *posterior = _pair(found, place, j)
        size = found.effect(place, j)
        ends = [number_text(found.unit * end, found.form) for end in (size.low, size.high)]
        interval = " to ".join(ends) if np.isfinite(size.low) else EN_DASH
        tests = statistics.sign_test(*found.wins[place, j].tolist()).p, p_values[j], adjusted[j]
        typical = found.unit * size.shift, interval, size.rank_biserial
        rows.append((other, wins, gap, *typical, *tests, *posterior))
    words = _of_metric(cell, metric) | {"comparisons": counted(len(rows), "comparison")}
    return WORDS.table("against", rows, own=cell.labels[place], rope=found.rope, **words)


def pairs_table(cell, metric):
    """Return all pairs of models, from the best rank to the worst."""
    found, rows = cell.by(metric), []
    for i, j in combinations(np.argsort(found.ranks, kind="stable"), 2):
        gap, wins, *posterior = _pair(found, i, j)
        tests = (p_values[i, j] for p_values in found.wilcoxon)
        rows.append((cell.labels[i], cell.labels[j], gap, wins, *tests, *posterior))
    words = _of_metric(cell, metric) | {"comparisons": counted(len(rows), "comparison")}
    return WORDS.table("pairs", rows, rope=found.rope, **words)


def verdict_table(cell, metric):
    """Return a sign for each pair of models: a matrix that can be read with many of them."""
    found = cell.by(metric)
    (_, adjusted), (_, equal) = found.wilcoxon, found.posteriors
    order = np.argsort(found.ranks, kind="stable")

    def sign(i, j):
        if adjusted[i, j] < 0.05:  # the side that the test speaks for, whatever the means
            return "+" if found.effect(i, j).rank_biserial > 0 else MINUS
        return "" if i == j else "=" if equal[i, j] >= SURE else "\u00b7"

    rows = [
        (f"{number} {cell.labels[i]}", f"{found.ranks[i]:.2f}", *(sign(i, j) for j in order))
        for number, i in enumerate(order, start=1)
    ]
    columns = [str(number) for number in range(1, len(order) + 1)]
    return WORDS.table("verdicts", rows, columns, rope=found.rope, **_of_metric(cell, metric))


def split_table(cell, metric, own):
    """Return on how many sets a model is surely better, equal or worse by its splits alone."""
    place, sets = cell.models.index(own), []
    of_sets = cell.splits[metric], cell.test_shares, cell.by(metric).units
    for scores, share, unit in zip(*of_sets, strict=True):
        if len(scores) > 1:
            sets.append((cell.sign(metric) * scores / unit, share, cell.rope / unit))
    rows = []
    for j, other in enumerate(cell.labels):
        if j != place and sets:
            gaps = [(scores[:, place] - scores[:, j], *more) for scores, *more in sets]
            found = np.array([statistics.correlated_t(*gap) for gap in gaps])
            sure = (found >= SURE).sum(axis=0).tolist()
            rows.append((other, *sure, len(sets) - sum(sure), *found.mean(axis=0).tolist()))
    share = f"{span([round(100 * share) for _, share, _ in sets] or [0])}%"
    words = _of_metric(cell, metric) | {"own": cell.labels[place], "share": share}
    return WORDS.table("by_splits", rows, rope=cell.rope, **words)


def power_text(cell, metric, own):
    """Say which difference a study of this size can see at all."""
    found, place = cell.by(metric), cell.models.index(own)
    n, k = found.values.shape
    gaps = np.delete(found.values[:, [place]] - found.values, place, axis=1)
    deviation = np.median(gaps.std(axis=0, ddof=1))

    def seen(power=0.5, alpha=0.05):
        return format(statistics.detectable_difference(deviation, n, power, alpha), found.form)

    words = {"n": counted(n, "table"), "own": literal(cell.labels[place])}
    words |= {"deviation": format(deviation, found.form), "half": seen(), "most": seen(0.8)}
    if words["half"] == "inf":
        return WORDS.text("no_power", **words)
    text = WORDS.text("power", **words)
    if k > 2:
        corrected = seen(alpha=0.05 / (k - 1))
        name = "no_power_holm" if corrected == "inf" else "power_holm"
        text += WORDS.text(name, corrected=corrected, comparisons=counted(k - 1, "comparison"))
    return text


def pair_blocks(cell, metric, own):
    """Return the blocks that compare models two by two, where there are two sets and models."""
    if len(cell.models) < 2 or len(cell.datasets) < 2:
        return []
    tables = [against_table(cell, metric, own), split_table(cell, metric, own)]
    if len(cell.models) > 2:
        tables += [verdict_table(cell, metric), pairs_table(cell, metric)]
    blocks = [TableBlock(table) for table in tables if table.rows]
    return [*blocks, Paragraph(power_text(cell, metric, own))]


# -- parts of a page that any study of models on sets has: curves, diagrams, remarks, failures


def remarks(results):
    """Yield what a reader must know before trusting a number."""
    left_out = [out for place in results.cells if (out := results.cell(*place).left_out)]
    if left_out:
        names = literal(", ".join(sorted(set().union(*left_out))))
        words = {"n": len(left_out), "n_cells": len(results.cells), "names": names}
        yield Callout("caution", WORDS.text("unfinished", **words))
    if n := len(results.failed):
        verb = "is" if n == 1 else "are"
        yield Callout("caution", WORDS.text("failed", jobs=counted(n, "job"), verb=verb))


def headline_lines(cells, labels, metric, width, digits):
    """Return the mean and average rank of every model by level of noise, lines for a terminal."""
    lines = [" " * width + "".join(f"{f'{cell.level} %':>{13 + digits}}" for cell in cells)]
    for model, label in labels.items():
        row = ""
        for cell in cells:
            text = "-"
            if model in cell.models:
                place = cell.models.index(model)
                rank = f"({cell.ranks(metric)[place]:.{digits}f})"
                text = f"{cell.means(metric)[place]:.3f}{rank:>{5 + digits}}"
            row += f"{text:>{13 + digits}}"
        lines.append(f"{label:{width}}{row}")
    return lines


def first_facts(results, n_models, hint=""):
    """Return the tiles that every page begins with: tables, models, jobs."""
    return [
        ("Tables", str(len(results.datasets)), f"{counted(len(results.seeds), 'split')} of each"),
        ("Models", str(n_models), hint),
        ("Jobs", f"{len(results.records):,}", f"{len(results.failed)} failed"),
    ]


def curve_values(cells, names):
    """Return the means of every metric by level, {metric: {name: [one a cell]}}; NaN for gaps."""
    return {
        title: {
            name: [cell.mean_of(metric, model) for cell in cells] for model, name in names.items()
        }
        for metric, title in METRICS.items()
    }


def diagrams(cell, figures, metrics, names=None):
    """Yield the critical-difference diagrams of one cell, where it can be tested."""
    for metric in metrics if cell.testable else ():
        yield figures.diagram(
            f"critical_difference_{cell.stems[metric]}_{cell.stem}",
            [names[model] for model in cell.models] if names else cell.labels,
            cell.by(metric).nemenyi,
            f"{cell.metrics[metric]}, {cell.name}, {len(cell.datasets)} sets",
        )


def one_table(name, table, words=WORDS):
    """Return a section of one table; None where it has no rows."""
    return words.section(name, TableBlock(table)) if table.rows else None


def one_by_one(cells, metrics, what):
    """Show every set by itself, a closed list for each metric; ``what`` a set is called."""
    groups = [
        Details(
            f"{cells[0].metrics[metric]}, {what} by {what}",
            tuple(TableBlock(dataset_table(cell, metric)) for cell in cells),
        )
        for metric in metrics
    ]
    title, text = f"{what.capitalize()} by {what}", WORDS.text("each", what=what)
    return Section(f"each-{what}", title, (*groups, Paragraph(text)))


def failures(results):
    """Jobs that failed, and what models complained about."""
    blocks = [*failed_blocks(results, WORDS.text("scored_as_chance"))]
    if counts := results.warnings():
        rows = [(results.labels[model], text, n) for (model, text), n in sorted(counts.items())]
        blocks.append(TableBlock(WORDS.table("warnings", rows)))
    none = Paragraph("No job failed, and no model gave a warning.")
    return WORDS.section("failures", *(blocks or [none]))


# -- the report of any study, from its records alone; and the blocks that every study's page has


OTHER_SHAPE = (KeyError, TypeError, AttributeError, IndexError, ValueError)


def write_report(study, folder, run=None):
    """Write page, tables and figures of a study; return the page's path and the results.

    An error is raised as a mistake of ours, unless it comes of notes or records that others may
    have written. A report of no record tells which: it has mistakes too.
    """
    folder = Path(folder)
    records = list(read_records(folder).values())
    notes = json_of(folder / "run.json") if run is None else run  # a report can do without
    try:
        results, sections, files, page = _compose(study, folder, records, notes)
    except OTHER_SHAPE as error:
        what, are_ours = f"({type(error).__name__}: {error})", all_have_checksums(folder)
        if run is None and are_ours and _can_compose(study, records):
            raise StudyError(
                f"{folder / 'run.json'}: not what this study writes {what}; without the file, the "
                "report is made of all records"
            ) from error
        if not are_ours or _can_compose(study, []):
            raise StudyError(
                f"{folder}: its records are not of the shape this study writes {what}"
            ) from error
        raise
    return write_page(folder, study.page, sections, files, page), results


def write_page(folder, name, sections, files, page):
    """Write a page, the tables in its sections and more files beside it; return its path."""
    for table in tables_in(sections):
        write(table, folder / "tables")
    for file, text in files.items():
        write_atomically(folder / file, text)
    return write_atomically(folder / name, page)


def _can_compose(study, records):
    """Say whether records alone make a report."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            _compose(study, Path(folder), records, {})
        except StudyError:  # such as that there is nothing to report
            return True
        except OTHER_SHAPE:
            return False
    return True


def _compose(study, folder, records, run):
    maker, rows = study.maker, run.get("digests", {})
    jobs = ((record, record["job"]) for record in records)
    asked_for = [r for r, job in jobs if rows.get(job["dataset"], job["digest"]) == job["digest"]]
    results = maker.read(asked_for, run)
    sections = maker.all_sections(results, run, FigureFolder(folder / "figures"))
    sections = [section for section in sections if section is not None]
    page = render(maker.TITLE, maker.subtitle(results), sections, footer=results.versions())
    return results, sections, maker.more_files(results, sections), page


def tables_in(parts):
    """Yield the tables of sections or blocks, and of the blocks within them."""
    for part in parts:
        if isinstance(part, TableBlock):
            yield part.table
        yield from tables_in(getattr(part, "blocks", ()))


class FigureFolder:
    """Writes figures as PNG and SVG files and gives them back for the page."""

    def __init__(self, folder):
        self.folder = folder

    def block(self, name, figure, caption, alt):
        """Write a figure under a name and return its block."""
        plots.write(figure, self.folder, name)
        return FigureBlock(plots.inline_svg(figure), caption, alt)

    def diagram(self, name, models, test, title, caption=None):
        """Draw the critical-difference diagram of a Nemenyi test."""
        figure = plots.critical_difference(
            models, test.average_ranks, test.critical_difference, test.cliques, title
        )
        usual, alt = WORDS.figure("diagram", title=title)
        return self.block(name, figure, caption or usual, alt)


def not_computed(n_tables, n_models):
    """Yield what cannot be computed of so few tables or models."""
    if n_models < 2:
        yield WORDS.text("one_model")
    elif n_tables < 2:
        yield WORDS.text("one_table")
    elif n_models < 3:
        yield WORDS.text("two_models")
    if n_models > 1 and 1 < n_tables < 6:
        yield WORDS.text("few_tables", n=n_tables)


def unavailable_notes(run, section):
    """Yield a remark on the sets that could not be had, which a section of the page explains."""
    if run.get("unavailable"):
        names = ", ".join(f"`{literal(name)}`" for name in run["unavailable"])
        yield Callout("note", WORDS.text("unavailable", names=names, section=section))


def failed_blocks(results, caption=""):
    """Yield the table of the jobs that failed, where there are any."""
    if results.failed:
        rows = [(r["key"], r.get("error", "")) for r in results.failed]
        yield TableBlock(WORDS.table("failed", rows, caption=caption))


def kept(summary):
    """Say how many results the last run took from an earlier one, if any."""
    if not summary.get("stored"):
        return ""
    total = sum(summary.get(name, 0) for name in ("stored", "done", "failed"))
    return f"{summary['stored']:,} of {counted(total, 'result')} kept from an earlier run"


def last_run(run):
    """Return a sentence on the last run, empty where it had nothing to do."""
    summary = run.get("summary") or {}
    if not summary.get("done"):
        return ""
    words = {"jobs": counted(summary["done"], "job"), "seconds": summary["seconds"]}
    words["workers"] = counted(run["workers"], "worker process", "worker processes")
    text = WORDS.text("last_run", **words)
    if summary.get("worker_seconds"):
        text += WORDS.text("idle", idle=1 - summary["job_seconds"] / summary["worker_seconds"])
    return text + "."


def how_section(run, command, *texts):
    """Return the section on how to get the numbers again: the command, and how they were made."""
    blocks = [Code(run.get("command") or command)]
    return WORDS.section("how", *blocks, *map(Paragraph, filter(None, [*texts, last_run(run)])))


def methods_of(cells, reference, *more):
    """Return the methods of {metric: ScoreCell} in words: a section, and files for a paper."""
    found = cells.values()
    n_sets, n_models = sizes_of(found)
    names = ", ".join(dict.fromkeys(cell.metrics[name] for name, cell in cells.items()))
    values = {"sets": span(n_sets, "table"), "models": span(n_models, "model")}
    ropes: dict = {}
    for name, cell in cells.items():
        ropes.setdefault(cell.rope, []).append(cell.metrics[name])
    several = len(ropes) > 1
    limits = [f"{rope:g}" + f" ({', '.join(of)})" * several for rope, of in ropes.items() if rope]
    splits = (zip(cell.n_seeds, cell.test_shares, strict=True) for cell in found)
    shares = [round(100 * share) for each in splits for n, share in each if n > 1]
    values["share"] = span(shares or [0])
    parts = ["methods"]
    if any(cell.testable for cell in found):
        parts.append("methods_ranks")
    if max(n_sets) > 1 and max(n_models) > 1:
        parts += ["methods_pairs", "methods_bayes" if limits else "methods_no_rope"]
    if max(n for cell in found for n in cell.n_seeds) > 1 and max(n_models) > 1:
        parts.append("methods_splits")

    def written(escape):
        known = values | {"own": escape(reference), "names": escape(names)}
        known["rope"] = escape(" and ".join(limits))
        sentences = [WORDS.text(part, **known) for part in [*parts, "methods_assume"]]
        return " ".join([sentences[0], *map(escape, filter(None, more)), *sentences[1:]])

    tex, page = written(escape_latex), written(literal)
    cited = set(re.findall(r"\\citep\{(\w+)\}", tex))
    library = read_resource("robell.comparison", "references.bib").strip().split("\n\n")
    entries = [entry for entry in library if entry.partition("{")[2].partition(",")[0] in cited]
    page = re.sub(r"~\\citep\{(\w+)\}", r" (\1)", page).replace("\\,\\%", " %")
    bibliography = "\n\n".join(entries) + "\n"
    section = WORDS.section("paper", Paragraph(page), Code(bibliography))
    return section, {"methods.tex": tex + "\n", "references.bib": bibliography}
