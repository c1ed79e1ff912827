"""The page of the reproduction: its words, tables and figures."""

from __future__ import annotations

import numpy as np

from robell._tools.text import literal
from robell.comparison.family import MODELS, labels
from robell.comparison.scores import ordered
from robell.comparison.statistics import (
    average_ranks,
    friedman,
    holm,
    nemenyi,
    sign_test,
    sign_threshold,
    wilcoxon_p_values,
    win_tie_loss,
)
from robell.comparison.study_page import failed_blocks, last_run, unavailable_notes
from robell.datasets import info
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
)
from robell.report.tables import Compared, Table
from robell.studies.paper import printed
from robell.studies.paper.printed import (
    DATASETS,
    DECIMALS,
    FEWEST_SEEDS,
    STABLE,
    Comparison,
    accuracy_limits,
    judged,
    noise_curves,
    printed_cells,
    shown,
    surfaces,
)
from robell.studies.paper.results import SCORES, scores_of

OTHER_ROWS = (
    "* These rows differ from the paper's in values or order, so the test rows are not the paper's."
)
FLAWED_PRINT = "The printed row of monk3 belongs to another file (181 test rows: MONK-2)."


def _compared(measured, print_):
    """Return cells of measured values beside printed ones, None where nothing is printed."""
    if print_ is None:
        print_ = [None] * len(measured)
    return [Compared(m, p) for m, p in zip(measured, print_, strict=True)]


def _note(rows):
    return OTHER_ROWS if any(row[0].endswith(" *") for row in rows) else ""


def table_one(comparison):
    """Return Table I: accuracies, averages and ranks, measured and printed."""
    results, cells = comparison.results, comparison.cells
    stand_ins = [results.is_stand_in(name) for name in cells.datasets]
    print_ = printed_cells(cells.datasets, cells.models)
    rows = [
        (shown(results, name), *_compared(mean, None if stand_in else there))
        for name, stand_in, mean, there in zip(
            cells.datasets, stand_ins, cells.mean, print_, strict=True
        )
    ]
    footer = _averages(comparison)
    note = _note(rows) + (" Stand-ins are in no average, rank or test." if any(stand_ins) else "")
    return Table(
        "table_1",
        "Table I: test accuracy (%)",
        ("Dataset", *labels(cells.models)),
        (*rows, *footer),
        caption="Measured; beside it the printed value and the difference.",
        best="max",
        footer=len(footer),
        footer_best=("max", "min")[: len(footer)],
        note=note.strip(),
    )


def _averages(comparison):
    """Return the rows of averages and ranks over the sets that count, print over the same sets."""
    if not comparison.datasets:
        return []
    n, print_ = len(comparison.datasets), comparison.printed
    means = _compared(
        comparison.values.mean(axis=0), None if print_ is None else print_.mean(axis=0)
    )
    rows = [(f"Average accuracy ({n} sets)", *means)]
    if len(comparison.models) > 1:
        ranks = _compared(comparison.ranks, None if print_ is None else average_ranks(print_))
        rows.append((f"Average rank ({n} sets)", *ranks))
    return rows


def all_scores(results, protocol, tuned_by):
    """Return all six metrics of every cell, and the parameters chosen for it."""
    rows = []
    for record in results.of("table1", protocol, noise=0):
        job = record["job"]
        selected = record["outcome"]["selected"].get(tuned_by)
        if selected is None:
            continue
        scores = scores_of(selected["confusion"])
        chosen = ", ".join(f"{k}={_short(v)}" for k, v in sorted(selected["parameters"].items()))
        name, label = shown(results, job["dataset"]), MODELS[job["model"]].label
        numbers = (*(scores[name] for name in SCORES), 100 * selected["cv_score"])
        rows.append((name, label, job["repeat"], *numbers, chosen))
    order = labels(MODELS)
    rows.sort(key=lambda row: (row[0].lower(), order.index(row[1]), row[2]))
    return Table(
        f"all_scores_{protocol}_tuned_by_{tuned_by}",
        f"All metrics and chosen parameters (protocol {protocol}, tuned by {tuned_by})",
        ("Dataset", "Model", "Repeat", *SCORES.values(), "Cross-validated", "Chosen parameters"),
        tuple(rows),
        caption="In percent. Sensitivity refers to the class the paper calls positive.",
    )


def _short(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def table_s4(results):
    """Return Table S.IV: RoBell's metrics and chosen parameters, measured and printed."""
    metrics = ("sensitivity", "specificity", "precision", "f_measure", "g_mean")
    rows = []
    for name in results.datasets("table1", "paper"):
        found = results.of("table1", "paper", dataset=name, model="robell", noise=0)
        if not found or name not in printed.TABLE_S4:
            continue
        selected = found[0]["outcome"]["selected"]["accuracy"]
        scores, print_, theirs = scores_of(selected["confusion"]), None, ""
        if not results.is_stand_in(name):
            print_ = [getattr(printed.TABLE_S4[name], metric) for metric in metrics]
            theirs = _setting(printed.s4_parameters(name))
        cells = _compared([scores[metric] for metric in metrics], print_)
        rows.append((shown(results, name), *cells, _setting(selected["parameters"]), theirs))
    return Table(
        "table_s4",
        "Table S.IV: RoBell-RVFL in all metrics (%), and the parameters chosen",
        ("Dataset", *(SCORES[metric] for metric in metrics), "Chosen here", "Printed"),
        tuple(rows),
        caption=(
            "Parameters are γ, D, activation, ξ, ρ. The printed recall repeats sensitivity and is "
            "left out; a printed γ of 0 is read as 10⁻⁵ and ξ of 0.0313 as 1/32."
        ),
        note=FLAWED_PRINT,
    )


def _setting(parameters):
    names = ("C", "n_hidden", "activation", "kernel_width", "rho")
    return ", ".join(_short(parameters[name]) for name in names)


def friedman_table(comparison):
    """Return the Friedman test: as printed, recomputed from the print, and measured."""
    columns = ["Statistic", "Printed", "From the printed Table I"]
    sources = [friedman(printed_cells(printed.DATASETS, printed.MODELS))]
    if comparison.testable:
        columns.append("Measured")
        sources.append(comparison.friedman)
    rows = [
        ("Datasets, models", "26, 8", *(f"{s.n_datasets}, {s.n_models}" for s in sources)),
        ("χ² without correction for ties", printed.FRIEDMAN["chi2"], *(s.chi2 for s in sources)),
        ("p of it", None, *(f"{s.p:.2g}" for s in sources)),
        ("F without correction for ties", printed.FRIEDMAN["F"], *(s.f for s in sources)),
        ("F critical at 5 %", printed.FRIEDMAN["critical"], *(s.f_critical for s in sources)),
        ("χ² corrected for ties", None, *(s.chi2_ties for s in sources)),
        ("p of that", None, *(f"{s.p_ties:.2g}" for s in sources)),
        ("F corrected for ties", None, *(s.f_ties for s in sources)),
    ]
    return Table("friedman", "Friedman test", tuple(columns), tuple(rows), digits=4)


def win_tie_loss_table(comparison):
    """Return Table S.I: wins, ties and losses of the row's model against the column's."""
    counts = win_tie_loss(comparison.values, DECIMALS)
    models = comparison.models
    rows = []
    for i, model in enumerate(models[1:], start=1):
        cells = []
        for j, other in enumerate(models[:i]):
            text, there = "-".join(map(str, counts[i, j])), _printed_win_tie_loss(model, other)
            cells.append(f"{text} ({there})" if there else text)
        rows.append((MODELS[model].label, *cells, *[""] * (len(models) - 1 - i)))
    return Table(
        "table_s1",
        "Table S.I: wins-ties-losses, measured (printed)",
        ("Model", *labels(models[:-1])),
        tuple(rows),
        caption=f"Over {len(comparison.datasets)} sets; the print counts 26.",
    )


def _printed_win_tie_loss(model, other):
    cell = printed.WIN_TIE_LOSS.get((model, other))
    if cell is None and (turned := printed.WIN_TIE_LOSS.get((other, model))):
        cell = turned[::-1]
    return "-".join(map(str, cell)) if cell else ""


def sign_table(comparison):
    """Return the sign test of RoBell against each other model, and Wilcoxon's by Holm's method."""
    own = comparison.own
    counts = win_tie_loss(comparison.values, DECIMALS)
    wilcoxon = holm(wilcoxon_p_values(comparison.values, own))
    rows = []
    for j, other in enumerate(comparison.models):
        if j == own:
            continue
        test = sign_test(*counts[own, j].tolist())
        verdict = "no"
        if test.significant:
            verdict = "better" if test.wins > test.losses else "worse"
        row = (
            MODELS[other].label,
            "-".join(map(str, counts[own, j])),
            f"{test.wins} of {test.n_datasets}",
            f"{test.threshold:.2f}",
            verdict,
            test.p,
            float((comparison.values[:, own] - comparison.values[:, j]).mean()),
            float(wilcoxon[j]),
        )
        rows.append(row)
    columns = ("Against", "Wins-ties-losses", "Wins, ties shared", "Needed", "Significant")
    columns += ("Binomial p", "Mean difference", "Wilcoxon p (Holm)")
    return Table(
        f"sign_test_{comparison.protocol}_{comparison.tuned_by}_{comparison.score}",
        f"{MODELS['robell'].label} against each other model ({SCORES[comparison.score]})",
        columns,
        tuple(rows),
        digits=(2, 2, 2, 2, 2, ".2g", 2, ".2g"),
        caption="Needed at 5 %: ω/2 + 1.96 √ω/2 of ω sets; the printed formula has √(ω/2).",
    )


def repeated_table(comparison):
    """Return mean and standard deviation of every cell over the repeats."""
    cells = comparison.cells
    rows = []
    for i, name in enumerate(cells.datasets):
        texts = [_mean_sd(m, s) for m, s in zip(cells.mean[i], cells.sd[i], strict=True)]
        rows.append((shown(comparison.results, name).removesuffix(" *"), *texts))
    footer = []
    if comparison.datasets:
        n = len(comparison.datasets)
        means = comparison.values.mean(axis=0)
        footer.append((f"Average ({n} sets)", *(f"{value:.2f}" for value in means)))
        if len(comparison.models) > 1:
            footer.append((f"Average rank ({n} sets)", *(f"{v:.2f}" for v in comparison.ranks)))
    repeats = sorted({int(n) for n in cells.n.ravel() if n})
    return Table(
        f"repeated_{comparison.score}_tuned_by_{comparison.tuned_by}",
        f"{SCORES[comparison.score]} (%) over repeated splits, tuned by "
        f"{SCORES.get(comparison.tuned_by, comparison.tuned_by)}",
        ("Dataset", *labels(cells.models)),
        (*rows, *footer),
        caption=f"Mean ± standard deviation over {_range(repeats)} stratified 70:30 splits.",
        footer=len(footer),
    )


def _mean_sd(mean, sd):
    if not np.isfinite(mean):
        return None
    return f"{mean:.2f} ± {sd:.2f}" if np.isfinite(sd) else f"{mean:.2f}"


def _range(values):
    if not values:
        return "no"
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def probe_table(results):
    """Return RoBell at the printed parameters over many seeds, and RVFL with the same layers."""
    rows = []
    for name in results.real(results.datasets("probe", "paper")):
        outcome = results.of("probe", dataset=name)[0]["outcome"]
        own, plain = (np.array(outcome["accuracy"][model]) for model in ("robell", "rvfl"))
        print_ = printed.TABLE_I[name][-1]
        reached = 100 * float((own >= print_ - 1e-4).mean())
        spread = [float(value) for x in (own, plain) for value in (x.mean(), x.std(ddof=1))]
        rows.append((shown(results, name), print_, *spread[:2], reached, *spread[2:]))
    return Table(
        "probe",
        "RoBell-RVFL at the parameters of Table S.IV, 100 seeds (accuracy, %)",
        ("Dataset", "Printed", "Mean", "sd", "Seeds ≥ printed (%)", "RVFL, same layers", "its sd"),
        tuple(rows),
        digits=(2, 2, 2, 2, 0, 2, 2),
        note=_note(rows),
    )


def table_s2(results, protocol="paper"):
    """Return Table S.II: accuracy under label noise, measured and printed."""
    levels, curves = noise_curves(results, protocol)
    models = [m for m in printed.NOISE_MODELS if m in results.models("noise", protocol)]
    columns = [printed.NOISE_MODELS.index(model) for model in models]
    rows, measured, print_ = [], [], []
    for name, lines in curves.items():
        known = protocol == "paper" and name in printed.TABLE_S2 and not results.is_stand_in(name)
        for k, level in enumerate(levels[1:], start=1):
            values = [lines[model][k] for model in models]
            there = [printed.TABLE_S2[name][level][j] for j in columns] if known else None
            measured.append(values)
            print_.append([np.nan] * len(models) if there is None else there)
            rows.append((shown(results, name), f"{level} %", *_compared(values, there)))
    footer = []
    if measured and np.isfinite(measured).all():
        row = _compared(np.mean(measured, axis=0), np.mean(print_, axis=0))
        footer = [("Overall average", f"{len(curves)} sets", *row)]
    return Table(
        f"table_s2_{protocol}",
        f"Table S.II: accuracy (%) with flipped training labels (protocol {protocol})",
        ("Dataset", "Noise", *labels(models)),
        (*rows, *footer),
        caption="Models are tuned on the noisy folds; test labels are clean.",
        best="max",
        best_columns=tuple(labels(models)),
        footer=len(footer),
        note=_note(rows),
    )


def sensitivity_claims(results):
    """Return what S.VIII says about ξ and ρ, and what the measured surfaces say to that."""
    rows = [
        (claim.place, shown(results, name), claim.text, measured, verdict)
        for claim, name, measured, verdict in judged(results)
    ]
    return Table(
        "sensitivity_claims",
        "What Section S.VIII says, and what was measured",
        ("Place", "Dataset", "Says", "Measured", "Verdict"),
        tuple(rows),
        caption=(
            "Points of test accuracy, mean ± standard deviation over the seeds, with γ, D and the "
            "activation fixed at the chosen ones. A difference counts if it exceeds both that "
            f"deviation and one test row; a plateau varies by less than {STABLE:g} points, a sharp "
            f"fall is deeper. With fewer than {FEWEST_SEEDS} seeds, and where nothing varies by "
            "more than one test row, nothing can be told."
        ),
    )


def surface_table(name, surface):
    """Return the accuracy that tuning saw, over ξ and ρ, means over the seeds."""
    rows = [
        (f"{width:g}", *map(float, row))
        for width, row in zip(surface.widths, surface.cv_accuracy.mean(axis=0), strict=True)
    ]
    return Table(
        f"sensitivity_{name.replace('-', '_')}",
        f"{name}: cross-validated accuracy (%)",
        ("ξ", *(f"ρ = {rho:g}" for rho in surface.rhos)),
        tuple(rows),
    )


# -- what came out, first: the summary of the page, its subtitle, and the lines for a terminal


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


# -- the sections of the report: what was measured, in words, tables and figures


def all_sections(results, run, figures):
    """Return the sections there is something to say in."""
    paper = Comparison(results, "paper")
    sections = [
        summary_section(results, paper, run),
        table_one_section(paper, figures),
        tests_section(paper, figures),
        table_s4_section(results),
        probe_section(results),
        noise_section(results, figures),
        sensitivity_section(results, figures),
        repeated_section(results, figures),
        errata_section(),
        datasets_section(results, run),
        how_section(results, run),
    ]
    return [section for section in sections if section is not None]


# -- the paper's tables ----------------------------------------------------------------------


def table_one_section(paper, figures):
    """Table I."""
    if not paper.cells.datasets:
        return None
    text = (
        "The paper's one split of 70:30 (recovered from its printed counts) and its grids. By five "
        "stratified folds of the training rows, the candidate with the highest mean accuracy is "
        "chosen, the first of equal ones. Scaling is fitted to the training rows."
    )
    blocks = [Paragraph(text), TableBlock(table_one(paper))]
    measured, print_ = paper.cells.mean, printed_cells(paper.cells.datasets, paper.models)
    real = [not paper.results.is_stand_in(name) for name in paper.cells.datasets]
    if (np.isfinite(measured) & np.isfinite(print_))[real].any():
        blocks.append(
            figures.block(
                "measured_against_printed",
                plots.measured_against_printed(measured[real], print_[real], labels(paper.models)),
                "Every cell of Table I: measured against printed accuracy. On the line they agree.",
                "Scatter plot of measured against printed accuracies, one mark a cell",
            )
        )
    table = all_scores(paper.results, "paper", "accuracy")
    blocks.append(Details("All metrics and chosen parameters of every cell", (TableBlock(table),)))
    return Section("table-1", "Table I: accuracy", tuple(blocks))


def tests_section(paper, figures):
    """The Friedman, Nemenyi and sign tests."""
    if not paper.cells.datasets:
        return None
    diagram = figures.diagram(
        "critical_difference_printed",
        labels(printed.MODELS),
        nemenyi(printed_cells(DATASETS, printed.MODELS)),
        "Printed Table I (26 datasets)",
        "Average ranks of the **printed** Table I. Models under one bar do not differ by the "
        "Nemenyi test at 5 %.",
    )
    blocks = [TableBlock(friedman_table(paper)), diagram]
    if not paper.testable:
        text = "Tests of the measured accuracies need at least three models on two sets."
        return Section("tests", "Statistical tests", (*blocks, Paragraph(text)))
    blocks.append(
        figures.diagram(
            "critical_difference_measured",
            labels(paper.models),
            paper.nemenyi,
            f"Measured ({len(paper.datasets)} datasets)",
            "Average ranks of the **measured** accuracies.",
        )
    )
    blocks.append(TableBlock(win_tie_loss_table(paper)))
    if paper.own is not None:
        blocks.append(TableBlock(sign_table(paper)))
    text = (
        "Three tables stand twice among the sets, under two names each (haberman, ionosphere, "
        "MONK-3). The tests, in the print and here, treat them as independent, which they are not."
    )
    return Section("tests", "Statistical tests", (*blocks, Paragraph(text)))


def table_s4_section(results):
    """Table S.IV."""
    table = table_s4(results)
    if not table.rows:
        return None
    return Section("table-s4", "Table S.IV: all metrics", (TableBlock(table),))


def probe_section(results):
    """Show what the printed parameters give, over seeds."""
    table = probe_table(results)
    if not table.rows:
        return None
    text = (
        "No tuning: RoBell-RVFL with the parameters of Table S.IV on the paper's split, with 100 "
        "different random layers. If none of them reaches the printed accuracy, it was not made by "
        "these equations with these parameters on these rows. Beside it stands a plain RVFL with "
        "the same random layers and the same γ."
    )
    return Section("probe", "Printed parameters", (Paragraph(text), TableBlock(table)))


def noise_section(results, figures):
    """Table S.II and its plots."""
    blocks = []
    for protocol in ("paper", "repeated"):
        if not results.datasets("noise", protocol):
            continue
        blocks.append(TableBlock(table_s2(results, protocol)))
        levels, curves = noise_curves(results, protocol)
        named = {
            name: {MODELS[model].label: values for model, values in lines.items()}
            for name, lines in curves.items()
        }
        there = _printed_curves(curves, levels) if protocol == "paper" else None
        how = " Dashed: printed." if there else " Means over the repeats."
        blocks.append(
            figures.block(
                f"noise_{protocol}",
                plots.curve_panels(
                    levels,
                    named,
                    "labels flipped in training (%)",
                    "accuracy (%)",
                    order=labels(MODELS),
                    printed=there,
                ),
                f"Accuracy on clean test labels by the share of flipped training labels.{how}",
                "Curves of accuracy against label noise, one panel a dataset",
            )
        )
    if not blocks:
        return None
    text = (
        "The same share of the training labels of each class is flipped; a seed made from the "
        "set's name decides which rows. Models are tuned on the noisy labels. The paper does not "
        "say how its noise was made. Its overall averages, 78.41, 76.76 and 76.47, are not the "
        "averages of its own cells, which are 76.26, 72.71 and 70.86."
    )
    return Section("noise", "Label noise (Table S.II)", (Paragraph(text), *blocks))


def _printed_curves(curves, levels):
    """Return the printed accuracies of the same sets and models; clean labels are not printed."""
    found = {}
    for name in curves:
        if name in printed.TABLE_S2:
            rows = printed.TABLE_S2[name]
            found[name] = {
                MODELS[model].label: [rows[n][k] if n else float("nan") for n in levels]
                for k, model in enumerate(printed.NOISE_MODELS)
                if model in curves[name]
            }
    return found or None


def sensitivity_section(results, figures):
    """Figures S.3 and S.4, and the statements of Section S.VIII."""
    found = surfaces(results)
    if not found:
        return None
    found = {name: found[name] for name in results.datasets("sensitivity", "paper")}
    seeds = sorted({len(surface.accuracy) for surface in found.values()})
    text = (
        "Test accuracy of RoBell-RVFL on the paper's split when the kernel width ξ and ρ vary and "
        "all other parameters stay at the chosen ones: means over "
        f"{' or '.join(map(str, seeds))} random layers, each tuned anew. The paper does not say "
        "what it kept fixed, and shows these results as pictures only, without numbers."
    )
    blocks = [Paragraph(text), *_sensitivity_lines(found, figures)]
    for name, surface in found.items():
        blocks += _sensitivity_surfaces(name, surface, figures)
    blocks.append(TableBlock(sensitivity_claims(results)))
    tuned = tuple(TableBlock(surface_table(*item)) for item in found.items())
    title = "What tuning saw: cross-validated accuracy, the best over all other parameters"
    return Section("sensitivity", "Sensitivity (S.3, S.4)", (*blocks, Details(title, tuned)))


def _sensitivity_lines(found, figures):
    """Yield the lines of Figure S.3: through the chosen ρ, and through the chosen ξ."""
    first, row = next(iter(found.values())), max(surface.row for surface in found.values())
    by_width = {name: surface.by_width.mean(axis=0) for name, surface in found.items()}
    by_rho = {name: surface.by_rho.mean(axis=0) for name, surface in found.items()}
    limits = accuracy_limits([*by_width.values()], row)
    yield figures.block(
        "sensitivity_kernel_width",
        plots.lines(
            first.widths, by_width, "kernel width ξ", "accuracy (%)", log2=True, limits=limits
        ),
        "Figure S.3 (a): accuracy by ξ, all other parameters fixed at the chosen ones.",
        "Lines of accuracy against the kernel width",
    )
    limits = accuracy_limits([*by_rho.values()], row)
    yield figures.block(
        "sensitivity_rho",
        plots.lines(first.rhos, by_rho, "ρ", "accuracy (%)", limits=limits),
        "Figure S.3 (b): accuracy by ρ, all other parameters fixed at the chosen ones.",
        "Lines of accuracy against rho",
    )


def _sensitivity_surfaces(name, surface, figures):
    """Yield Figure S.4 of one set as a heat map and as a surface."""
    values = surface.accuracy.mean(axis=0)
    shown = (surface.widths, surface.rhos, values)
    looks = {"log2": True, "title": name, "limits": accuracy_limits(values, surface.row)}
    stem = name.replace("-", "_")
    yield figures.block(
        f"heat_map_{stem}",
        plots.heat_map(*shown, "kernel width ξ", "ρ", **looks),
        f"Figure S.4, {literal(name)}: test accuracy (%) over ξ and ρ.",
        f"Heat map of accuracy over kernel width and rho for {name}",
    )
    yield figures.block(
        f"surface_{stem}",
        plots.surface(*shown, "ξ", "ρ", "accuracy (%)", **looks),
        f"The same as a surface, {literal(name)}.",
        f"Surface of accuracy over kernel width and rho for {name}",
    )


def repeated_section(results, figures):
    """RoBell against the others over repeated splits, by each metric tuned by."""
    blocks = []
    for metric in results.tuned_by("table1", "repeated"):
        # Scored by what it was tuned by; the rest is in the table of all metrics.
        for score in (metric,) if metric in ("accuracy", "g_mean") else ("accuracy", "g_mean"):
            blocks += _repeated_blocks(Comparison(results, "repeated", metric, score), figures)
        table = all_scores(results, "repeated", metric)
        blocks.append(Details(f"All metrics, tuned by {metric}", (TableBlock(table),)))
    if not blocks:
        return None
    text = (
        "Not the paper's protocol: several stratified splits of 70:30 in place of one, with seeds "
        "from the names of set and repeat. This is the fairer comparison of the models."
    )
    return Section("repeated", "Repeated splits", (Paragraph(text), *blocks))


def _repeated_blocks(comparison, figures):
    yield TableBlock(repeated_table(comparison))
    if not comparison.testable:
        return
    score = SCORES[comparison.score]
    yield figures.diagram(
        f"critical_difference_repeated_{comparison.score}_{comparison.tuned_by}",
        labels(comparison.models),
        comparison.nemenyi,
        f"{score}, {len(comparison.datasets)} datasets",
        f"Average ranks by {score}, means over the repeats.",
    )
    if comparison.own is not None:
        yield TableBlock(sign_table(comparison))


# -- what stands behind it --------------------------------------------------------------------


def errata_section():
    """Tell what is wrong with the printed numbers, each recomputed from the print."""
    test = friedman(printed_cells(DATASETS, printed.MODELS))
    means = np.mean([row for s in printed.TABLE_S2.values() for row in s.values()], axis=0)
    impossible = [
        sum(
            not printed.attainable(row[j], printed.table_i_test_size(dataset))
            for dataset, row in printed.TABLE_I.items()
        )
        for j in range(len(printed.MODELS))
    ]
    names = zip(labels(printed.MODELS), impossible, strict=True)
    counts = ", ".join(f"{name} {count}" for name, count in names if count)
    monk3 = printed.implied_counts("monk3")
    needed = sign_threshold(len(DATASETS), "printed")
    items = (
        f"χ² is {test.chi2:.4f}, not {printed.FRIEDMAN['chi2']}, and F {test.f:.4f}, not "
        f"{printed.FRIEDMAN['F']}: the paper computed them from rounded ranks. With ties "
        f"corrected they are {test.chi2_ties:.4f} and {test.f_ties:.4f}. The conclusion stands.",
        f"The printed threshold of the sign test, ω/2 + 1.96 √(ω/2), is {needed:.2f} for "
        f"{len(DATASETS)} sets; the {printed.SIGN_THRESHOLD} that the paper uses comes from "
        "ω/2 + 1.96 √ω/2.",
        f"Table S.I has a cell of C-RVFL against itself, {list(printed.SELF_CELL)}.",
        f"The overall averages of Table S.II are {', '.join(f'{m:.4f}' for m in means)}, not "
        f"{', '.join(f'{m:.4f}' for m in printed.TABLE_S2_OVERALL)}.",
        f"The row monk3 of Table S.IV belongs to another file: it implies {monk3.test_size} test "
        f"rows and an accuracy of {monk3.accuracy:.2f} %, where Table I prints "
        f"{printed.TABLE_I['monk3'][-1]:.2f} %.",
        "These numbers of cells in Table I are not k/n for any whole k, n being the number of test "
        f"rows, so they cannot be accuracies on one split: {counts}.",
        "haberman and haberman_survival, iono and ionosphere, monk3 and monks_3 are the same rows. "
        "checkerboard_Data is Australian credit. congressional_voting keeps only which votes are "
        "missing. In monk1 and monk3 the attribute a6 was probably predicted in place of the "
        "class.",
    )
    text = (
        "Computed from the printed tables alone. The full list, with the errata of the equations "
        "and what was decided on each, is `docs/paper/errata.md`."
    )
    return Section("errata", "Errata of the print", (Bullets(items), Paragraph(text)))


def datasets_section(results, run):
    """Where every set came from."""
    unavailable = run.get("unavailable", {})
    rows = []
    for name in ordered({*DATASETS, *results.data}, DATASETS):
        about, known = results.data.get(name), info(name)
        if about:
            size = (about.get("n_rows"), about.get("n_features"), about.get("n_minority"))
            note = " ".join(text for text in (known.note, about.get("note")) if text)
            rows.append((name, known.title, *size, about.get("source", ""), note))
        elif name in unavailable:
            rows.append((name, known.title, None, None, None, "none", unavailable[name]))
    columns = ("Dataset", "What it is", "Rows", "Columns", "Minority", "From", "Note")
    table = Table("datasets", "Datasets", columns, tuple(rows))
    return Section("datasets", "Datasets", (TableBlock(table),))


def how_section(results, run):
    """How to get these numbers again, and what they cost."""
    search, total = (sum(r["seconds"][key] for r in results.done) for key in ("search", "total"))
    text = (
        f"{len(results.done)} jobs, {total:.0f} s in all, {search:.0f} s of them in searches. "
        "Every seed comes from the names of protocol, set, repeat and model, so the numbers depend "
        "neither on the order of jobs nor on how many run at a time. "
    )
    blocks = [Code(run.get("command") or "robell reproduce")]
    blocks += [Paragraph((text + last_run(run)).strip()), *failed_blocks(results)]
    return Section("how", "How to reproduce", tuple(blocks))
