"""What came out, first: the summary of the page, its subtitle, and the lines for a terminal."""

from __future__ import annotations

import numpy as np

from robell.comparison.family import MODELS, labels
from robell.comparison.report import unavailable_notes
from robell.comparison.statistics import average_ranks
from robell.report.page import Bullets, Callout, Facts, Section
from robell.studies.paper.comparison import Comparison, noise_curves
from robell.studies.paper.printed import DATASETS
from robell.studies.paper.results import SCORES
from robell.studies.paper.tables import probe_table


def subtitle(results):
    """Return the line below the title."""
    here = results.real([name for name in DATASETS if name in results.data])
    return (
        f"Every table, test and figure of the paper, computed again on {len(here)} of its "
        f"{len(DATASETS)} datasets, beside what is printed."
    )


def summary_section(results, paper, run):
    """Say what came out, and what a reader must know before trusting a number."""
    blocks = [Facts(tuple(_facts(results, paper))), Bullets(tuple(findings(results, paper)))]
    blocks += unavailable_notes(run, "datasets")
    stand_ins = [name for name in results.data if results.is_stand_in(name)]
    if stand_ins:
        names = ", ".join(f"`{name}`" for name in stand_ins)
        text = f"{names}: generated in place of files that were not found. Their rows are shown, "
        blocks.append(Callout("caution", text + "but are in no average, rank or test."))
    return Section("summary", "Summary", tuple(blocks))


def _facts(results, paper):
    """Yield the tiles: a label, a value and a hint each."""
    here = results.real([name for name in DATASETS if name in results.data])
    yield "Datasets", f"{len(here)} of {len(DATASETS)}", "the paper's, not counting stand-ins"
    own, print_ = paper.own, paper.printed
    if paper.datasets and own is not None:
        theirs = "none" if print_ is None else f"{print_[:, own].mean():.2f}"
        mean = f"{paper.values[:, own].mean():.2f}"
        yield "RoBell-RVFL, mean accuracy", mean, f"printed on these sets: {theirs}"
    if paper.testable and own is not None:
        place = 1 + int((paper.ranks < paper.ranks[own] - 1e-9).sum())
        theirs = "none" if print_ is None else f"{average_ranks(print_)[own]:.2f}"
        hint = f"place {place} of {len(paper.models)}; printed: {theirs}"
        yield "RoBell-RVFL, average rank", f"{paper.ranks[own]:.2f}", hint
        yield "Friedman test", f"p = {paper.friedman.p:.2g}", f"F = {paper.friedman.f:.2f}"
    yield "Jobs", str(len(results.done)), f"{len(results.failed)} failed"


def findings(results, paper):
    """Yield what the measurements say, each sentence made from them."""
    if paper.datasets:
        yield from _table_findings(paper)
    probe = probe_table(results)
    if probe.rows:
        reached = sum(row[4] >= 50 for row in probe.rows)
        never = sum(row[4] == 0 for row in probe.rows)
        yield (
            f"With the parameters that the paper prints, RoBell-RVFL reaches its printed accuracy "
            f"with at least half of 100 random layers on {reached} of {len(probe.rows)} sets, and "
            f"with none of them on {never} ([printed parameters](#probe))."
        )
    if results.datasets("noise", "paper"):
        yield _noise_finding(results)
    for metric in results.tuned_by("table1", "repeated"):
        if metric in SCORES:
            yield from _repeated_finding(Comparison(results, "repeated", metric, metric))


def _table_findings(paper):
    means = paper.values.mean(axis=0)
    best, own = int(np.argmax(means)), paper.own
    text = f"Highest mean accuracy: **{MODELS[paper.models[best]].label}** ({means[best]:.2f} %)"
    if own is not None and own != best:
        text += f"; RoBell-RVFL has {means[own]:.2f} %"
    yield f"{text}, over {len(paper.datasets)} sets ([Table I](#table-1))."
    if paper.printed is not None:
        off = np.abs(paper.values - paper.printed)
        yield (
            f"Of {off.size} cells, {int((off <= 1).sum())} come out within one point of the print "
            f"and {int((off > 5).sum())} are more than five points away; the median difference is "
            f"{np.median(off):.1f} points. The printed numbers do not follow from the printed "
            "equations, and nothing here is tuned towards them ([errata](#errata))."
        )
    if paper.testable and own is not None:
        better, worse = paper.nemenyi.differing(own)
        apart = [f"better than {name}" for name in labels(paper.models[j] for j in better)]
        apart += [f"worse than {name}" for name in labels(paper.models[j] for j in worse)]
        verdict = " and ".join(apart) if apart else "not significantly different from any model"
        yield f"By the Nemenyi test at 5 %, RoBell-RVFL is {verdict} ([tests](#tests))."


def _noise_finding(results):
    levels, curves = noise_curves(results, "paper")
    models = results.models("noise", "paper")
    means = {model: np.mean([lines[model][1:] for lines in curves.values()]) for model in models}
    order = sorted(means, key=means.get, reverse=True)
    ranking = ", ".join(f"{MODELS[model].label} {means[model]:.2f}" for model in order)
    return (
        f"With {levels[1]} to {levels[-1]} % of the training labels flipped, mean accuracy over "
        f"{len(curves)} sets and all levels: {ranking} ([label noise](#noise))."
    )


def _repeated_finding(comparison):
    if not comparison.testable:
        return
    order = np.argsort(comparison.ranks)
    best, own = comparison.models[int(order[0])], comparison.own
    text = (
        f"Over repeated splits, tuned and scored by {SCORES[comparison.score]}, the best average "
        f"rank has **{MODELS[best].label}** ({comparison.ranks[order[0]]:.2f})"
    )
    if own is not None and best != "robell":
        place = int(np.flatnonzero(order == own)[0]) + 1
        text += f"; RoBell-RVFL is number {place} ({comparison.ranks[own]:.2f})"
    yield f"{text} ([repeated splits](#repeated))."


# -- for a terminal ------------------------------------------------------------------------


def headline(results):
    """Return the main result in a few lines of text."""
    parts = [_headline_of(Comparison(results, "paper"))]
    for metric in results.tuned_by("table1", "repeated"):
        if metric in SCORES:
            parts.append(_headline_of(Comparison(results, "repeated", metric, metric)))
    text = "\n\n".join(part for part in parts if part)
    return text or "No cell of Table I has been measured yet."


def _headline_of(comparison):
    cells, results, protocol = comparison.cells, comparison.results, comparison.protocol
    if not cells.datasets:
        return ""
    names = [f"{name} (stand-in)" if results.is_stand_in(name) else name for name in cells.datasets]
    width = max(map(len, [*names, "average (measured, 00 sets)"]))
    what = f"{SCORES[comparison.score]} on unseen rows (%), protocol {protocol}"
    if protocol != "paper":
        what += f", tuned by {SCORES[comparison.tuned_by]}"
    heads = labels(cells.models)
    wide = max(13, 2 + max(map(len, heads)))
    lines = [what, " " * width + "".join(f"{name:>{wide}}" for name in heads)]
    rows = [*zip(names, cells.mean, strict=True), *_headline_averages(comparison)]
    lines += [
        f"{label:{width}}" + "".join(f"{_number(value):>{wide}}" for value in row)
        for label, row in rows
    ]
    if comparison.testable:
        test = comparison.friedman
        lines.append(f"Friedman: chi2 {test.chi2:.2f} (p {test.p:.3g}), F {test.f:.2f}")
    return "\n".join(lines)


def _headline_averages(comparison):
    n = len(comparison.datasets)
    if not n:
        return
    print_ = comparison.printed if comparison.protocol == "paper" else None
    yield f"average (measured, {n} sets)", comparison.values.mean(axis=0)
    if print_ is not None:
        yield f"average (printed, {n} sets)", print_.mean(axis=0)
    if comparison.testable:
        yield "average rank (measured)", comparison.ranks
        if print_ is not None:
            yield "average rank (printed)", average_ranks(print_)


def _number(value):
    return f"{value:.2f}" if np.isfinite(value) else "-"
