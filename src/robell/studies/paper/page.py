"""The page of the reproduction: its words, tables and figures."""

from __future__ import annotations

from itertools import product

import numpy as np

from robell.comparison.family import MODELS, labels
from robell.comparison.scores import ordered
from robell.comparison.statistics import (
    average_ranks,
    friedman,
    holm,
    nemenyi,
    sign_test,
    sign_threshold,
)
from robell.comparison.study_page import (
    failed_blocks,
    last_run,
    leaders,
    literal,
    one_table,
    tuned_rows,
    unavailable_notes,
)
from robell.datasets import info
from robell.report import plots
from robell.report.page import (
    Bullets,
    Callout,
    Code,
    Details,
    Facts,
    Paragraph,
    TableBlock,
    Words,
)
from robell.report.tables import Compared, Spread
from robell.studies.paper import printed
from robell.studies.paper.printed import DATASETS, accuracy_limits, judged, printed_cells, surfaces
from robell.studies.paper.results import (
    SCORES,
    Comparison,
    Results,
    noise_curves,
    scores_of,
    shown,
)

WORDS = Words("robell.studies.paper")
TITLE = "RoBell-RVFL: the study, measured again"


def read(records, run):
    """Return the results of records."""
    return Results(records)


def more_files(results, sections):
    """Return no files beside the page, its tables and figures."""
    return {}


def _compared(measured, print_):
    """Return cells of measured values beside printed ones, None where nothing is printed."""
    if print_ is None:
        print_ = [None] * len(measured)
    return [Compared(m, p) for m, p in zip(measured, print_, strict=True)]


def _note(rows):
    return WORDS.text("other_rows") if any(row[0].endswith(" *") for row in rows) else ""


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
    note = _note(rows) + (WORDS.text("stand_ins") if any(stand_ins) else "")
    n = len(comparison.datasets)
    footer = [
        (f"Average {what} ({n} sets)", *_compared(measured, there))
        for what, measured, there in _averages(comparison)
    ]
    return WORDS.table("table_1", rows, labels(cells.models), footer, note=note.strip())


def _averages(comparison):
    """Yield the rows below a table: average score and rank of every model, measured and printed."""
    print_, values = comparison.printed, comparison.values
    if comparison.datasets:
        yield "accuracy", values.mean(axis=0), None if print_ is None else print_.mean(axis=0)
        if len(comparison.models) > 1:
            yield "rank", comparison.ranks, None if print_ is None else average_ranks(print_)


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
    rows = [*dict.fromkeys(rows)]  # a cell tuned by one metric may have been tuned by two before
    rows.sort(key=lambda row: (row[0].lower(), order.index(row[1]), row[2]))
    return WORDS.table("all_scores", rows, protocol=protocol, tuned_by=tuned_by)


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
    return WORDS.table("table_s4", rows)


def _setting(parameters):
    names = ("C", "n_hidden", "activation", "kernel_width", "rho")
    return ", ".join(_short(parameters[name]) for name in names)


def friedman_table(comparison):
    """Return the Friedman test: as printed, recomputed from the print, and measured."""
    columns = ["From the printed Table I"]
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
    return WORDS.table("friedman", rows, columns)


def win_tie_loss_table(comparison):
    """Return Table S.I: wins, ties and losses of the row's model against the column's."""
    counts = comparison.wins
    models = comparison.models
    rows = []
    for i, model in enumerate(models[1:], start=1):
        cells = []
        for j, other in enumerate(models[:i]):
            text, there = "-".join(map(str, counts[i, j])), _printed_win_tie_loss(model, other)
            cells.append(f"{text} ({there})" if there else text)
        rows.append((MODELS[model].label, *cells, *[""] * (len(models) - 1 - i)))
    return WORDS.table("table_s1", rows, labels(models[:-1]), n=len(comparison.datasets))


def _printed_win_tie_loss(model, other):
    cell = printed.WIN_TIE_LOSS.get((model, other))
    if cell is None and (turned := printed.WIN_TIE_LOSS.get((other, model))):
        cell = turned[::-1]
    return "-".join(map(str, cell)) if cell else ""


def sign_table(comparison):
    """Return the sign test of RoBell against each other model, and Wilcoxon's by Holm's method."""
    own = comparison.own
    counts = comparison.wins
    wilcoxon = holm(comparison.wilcoxon[0][own])
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
    return WORDS.table("sign_test", rows, **_of_comparison(comparison))


def _of_comparison(comparison):
    """Return the values that tables of one comparison have in their words."""
    return {
        "protocol": comparison.protocol,
        "tuned_by": comparison.tuned_by,
        "tuned_label": SCORES.get(comparison.tuned_by, comparison.tuned_by),
        "score": comparison.score,
        "label": SCORES[comparison.score],
    }


def repeated_table(comparison):
    """Return mean and standard deviation of every cell over the repeats."""
    cells = comparison.cells
    rows = [
        (shown(comparison.results, name).removesuffix(" *"), *map(Spread, means, deviations))
        for name, means, deviations in zip(cells.datasets, cells.mean, cells.sd, strict=True)
    ]
    n = len(comparison.datasets)
    footer = [
        (f"Average{' rank' * (what == 'rank')} ({n} sets)", *measured)
        for what, measured, _ in _averages(comparison)
    ]
    repeats = sorted({int(n) for n in cells.n.ravel() if n})
    words = {"repeats": " to ".join(map(str, dict.fromkeys(repeats[:1] + repeats[-1:]))) or "no"}
    words |= _of_comparison(comparison)
    return WORDS.table("repeated", rows, labels(cells.models), footer, **words)


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
    return WORDS.table("probe", rows, note=_note(rows))


def on_test_rows_table(results):
    """Return what models would seem to reach if they were tuned on the test rows."""
    rows = []
    for protocol in ("paper", "repeated"):
        for metric, model in product(
            results.tuned_by("table1", protocol), results.models("table1", protocol)
        ):
            first = (f"{protocol}, {metric}", MODELS[model].label)
            found = [
                (first, name, r["outcome"]["selected"].get(metric, {}).get("on_test_rows"))
                for r in results.of("table1", protocol, model=model, noise=0)
                if not results.is_stand_in(name := r["job"]["dataset"])
            ]
            for row, names in tuned_rows(found, scale=100):
                mean = printed_cells(names, [model]).mean() if protocol == "paper" else None
                rows.append((*row, mean))
    return WORDS.table("on_test_rows", rows)


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
    return WORDS.table(
        "table_s2", rows, labels(models), footer, protocol=protocol, note=_note(rows)
    )


def sensitivity_claims(results):
    """Return what S.VIII says about ξ and ρ, and what the measured surfaces say to that."""
    rows = [
        (claim.place, shown(results, name), claim.text, measured, verdict)
        for claim, name, measured, verdict in judged(results)
    ]
    return WORDS.table(
        "sensitivity_claims", rows, stable=printed.STABLE, fewest=printed.FEWEST_SEEDS
    )


def surface_table(name, surface):
    """Return the accuracy that tuning saw, over ξ and ρ, means over the seeds."""
    rows = [
        (f"{width:g}", *map(float, row))
        for width, row in zip(surface.widths, surface.cv_accuracy.mean(axis=0), strict=True)
    ]
    columns = [f"ρ = {rho:g}" for rho in surface.rhos]
    return WORDS.table("sensitivity", rows, columns, set=name, stem=name.replace("-", "_"))


# -- what came out, first: the summary of the page, its subtitle, and the lines for a terminal


def subtitle(results):
    """Return the line below the title."""
    here = results.real([name for name in DATASETS if name in results.data])
    return WORDS.text("subtitle", n=len(here), n_all=len(DATASETS))


def summary_section(results, paper, run):
    """Say what came out, and what a reader must know before trusting a number."""
    blocks = [Facts(tuple(_facts(results, paper))), Bullets(tuple(findings(results, paper)))]
    blocks += unavailable_notes(run, "datasets")
    stand_ins = [name for name in results.data if results.is_stand_in(name)]
    if stand_ins:
        names = ", ".join(f"`{name}`" for name in stand_ins)
        blocks.append(Callout("caution", WORDS.text("stand_ins_named", names=names)))
    return WORDS.section("summary", *blocks)


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
        place = place_of(paper)
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
        yield WORDS.text("probe", reached=reached, n=len(probe.rows), never=never)
    if results.datasets("noise", "paper"):
        yield from _noise_finding(results)
    for metric in results.tuned_by("table1", "repeated"):
        if metric in SCORES:
            yield from _repeated_finding(Comparison(results, "repeated", metric, metric))


def place_of(comparison):
    """Return the place of RoBell by its average rank; models of equal rank share the better one."""
    return 1 + int((comparison.ranks < comparison.ranks[comparison.own] - 1e-9).sum())


def _table_findings(paper):
    means, own = paper.values.mean(axis=0), paper.own
    best = leaders(labels(paper.models), means)
    text = f"Highest mean accuracy: **{best}** ({means.max():.2f} %)"
    if own is not None and MODELS["robell"].label not in best.split(", "):
        text += f"; RoBell-RVFL has {means[own]:.2f} %"
    yield f"{text}, over {len(paper.datasets)} sets ([Table I](#table-1))."
    if paper.printed is not None:
        off = np.abs(paper.values - paper.printed)
        near, far = int((off <= 1).sum()), int((off > 5).sum())
        yield WORDS.text("cells", n=off.size, near=near, far=far, median=np.median(off))
    if paper.testable and own is not None:
        better, worse = paper.nemenyi.differing(own)
        apart = [f"better than {name}" for name in labels(paper.models[j] for j in better)]
        apart += [f"worse than {name}" for name in labels(paper.models[j] for j in worse)]
        verdict = " and ".join(apart) if apart else "not significantly different from any model"
        yield WORDS.text("nemenyi", verdict=verdict)


def _noise_finding(results):
    levels, curves = noise_curves(results, "paper")
    models = results.models("noise", "paper")
    values = np.array([[lines[model][1:] for model in models] for lines in curves.values()])
    values = values[np.isfinite(values).all(axis=(1, 2))]  # the sets that every model has run on
    if not len(values):
        return
    means = dict(zip(models, values.mean(axis=(0, 2)), strict=True))
    order = sorted(means, key=lambda model: -means[model])
    ranking = ", ".join(f"{MODELS[model].label} {means[model]:.2f}" for model in order)
    words = {"low": levels[1], "high": levels[-1], "n": len(values), "ranking": ranking}
    yield WORDS.text("noise", **words)


def _repeated_finding(comparison):
    if not comparison.testable:
        return
    ranks, own = comparison.ranks, comparison.own
    best = leaders(labels(comparison.models), -ranks)
    text = WORDS.text("repeated", score=SCORES[comparison.score], best=best, rank=ranks.min())
    if own is not None and (place := place_of(comparison)) > 1:
        text += f"; RoBell-RVFL is number {place} ({ranks[own]:.2f})"
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
    rows = [*zip(names, cells.mean, strict=True)]
    sizes = f", {len(comparison.datasets)} sets"
    for what, measured, there in _averages(comparison):
        if what != "rank" or comparison.testable:
            name, more = ("average rank", "") if what == "rank" else ("average", sizes)
            rows.append((f"{name} (measured{more})", measured))
            if protocol == "paper" and there is not None:
                rows.append((f"{name} (printed{more})", there))
    lines += [
        f"{label:{width}}" + "".join(f"{_number(value):>{wide}}" for value in row)
        for label, row in rows
    ]
    if comparison.testable:
        test = comparison.friedman
        lines.append(f"Friedman: chi2 {test.chi2:.2f} (p {test.p:.3g}), F {test.f:.2f}")
    return "\n".join(lines)


def _number(value):
    return f"{value:.2f}" if np.isfinite(value) else "-"


# -- the sections of the report: what was measured, in words, tables and figures


def all_sections(results, run, figures):
    """Return the sections; None in place of one that has nothing to say."""
    paper = Comparison(results, "paper")
    return [
        summary_section(results, paper, run),
        table_one_section(paper, figures),
        tests_section(paper, figures),
        one_table("table-s4", table_s4(results), WORDS),
        one_table("on-test-rows", on_test_rows_table(results), WORDS),
        one_table("probe", probe_table(results), WORDS),
        noise_section(results, figures),
        sensitivity_section(results, figures),
        repeated_section(results, figures),
        errata_section(),
        datasets_section(results, run),
        how_section(results, run),
    ]


# -- the paper's tables ----------------------------------------------------------------------


def table_one_section(paper, figures):
    """Table I."""
    if not paper.cells.datasets:
        return None
    blocks: list = [TableBlock(table_one(paper))]
    measured, print_ = paper.cells.mean, printed_cells(paper.cells.datasets, paper.models)
    real = [not paper.results.is_stand_in(name) for name in paper.cells.datasets]
    if (np.isfinite(measured) & np.isfinite(print_))[real].any():
        name = "measured_against_printed"
        figure = plots.measured_against_printed(measured[real], print_[real], labels(paper.models))
        blocks.append(figures.block(name, figure, *WORDS.figure(name)))
    table = all_scores(paper.results, "paper", "accuracy")
    blocks.append(Details("All metrics and chosen parameters of every cell", (TableBlock(table),)))
    return WORDS.section("table-1", *blocks)


def tests_section(paper, figures):
    """The Friedman, Nemenyi and sign tests."""
    if not paper.cells.datasets:
        return None
    diagram = figures.diagram(
        "critical_difference_printed",
        labels(printed.MODELS),
        nemenyi(printed_cells(DATASETS, printed.MODELS)),
        "Printed Table I (26 datasets)",
        WORDS.text("ranks_printed"),
    )
    blocks = [TableBlock(friedman_table(paper)), diagram]
    if not paper.testable:
        return WORDS.section("tests", *blocks, Paragraph(WORDS.text("not_testable")))
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
    return WORDS.section("tests", *blocks, Paragraph(WORDS.text("not_independent")))


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
        figure = plots.curve_panels(
            levels,
            named,
            "labels flipped in training (%)",
            "accuracy (%)",
            order=labels(MODELS),
            printed=there,
        )
        blocks.append(figures.block(f"noise_{protocol}", figure, *WORDS.figure("noise", how=how)))
    return WORDS.section("noise", *blocks) if blocks else None


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
    blocks = [*_sensitivity_lines(found, figures)]
    for name, surface in found.items():
        blocks += _sensitivity_surfaces(name, surface, figures)
    blocks.append(TableBlock(sensitivity_claims(results)))
    tuned = tuple(TableBlock(surface_table(*item)) for item in found.items())
    folded = Details(WORDS.text("folded_surfaces"), tuned)
    return WORDS.section("sensitivity", *blocks, folded, seeds=" or ".join(map(str, seeds)))


def _sensitivity_lines(found, figures):
    """Yield the lines of Figure S.3: through the chosen ρ, and through the chosen ξ."""
    first, row = next(iter(found.values())), max(surface.row for surface in found.values())
    by_width = {name: surface.by_width.mean(axis=0) for name, surface in found.items()}
    by_rho = {name: surface.by_rho.mean(axis=0) for name, surface in found.items()}
    for name, x, lines, label, log2 in (
        ("kernel_width", first.widths, by_width, "kernel width ξ", True),
        ("rho", first.rhos, by_rho, "ρ", False),
    ):
        limits = accuracy_limits([*lines.values()], row)
        figure = plots.lines(x, lines, label, "accuracy (%)", log2=log2, limits=limits)
        yield figures.block(f"sensitivity_{name}", figure, *WORDS.figure(name))


def _sensitivity_surfaces(name, surface, figures):
    """Yield Figure S.4 of one set as a heat map and as a surface."""
    values = surface.accuracy.mean(axis=0)
    axes = (surface.widths, surface.rhos, values)
    looks = {"log2": True, "title": name, "limits": accuracy_limits(values, surface.row)}
    drawn = {
        "heat_map": plots.heat_map(*axes, "kernel width ξ", "ρ", **looks),
        "surface": plots.surface(*axes, "ξ", "ρ", "accuracy (%)", **looks),
    }
    for kind, figure in drawn.items():
        words = WORDS.figure(kind, shown=literal(name), name=name)
        yield figures.block(f"{kind}_{name.replace('-', '_')}", figure, *words)


def repeated_section(results, figures):
    """RoBell against the others over repeated splits, by each metric tuned by."""
    blocks = []
    for metric in results.tuned_by("table1", "repeated"):
        # Scored by what it was tuned by; the rest is in the table of all metrics.
        for score in (metric,) if metric in ("accuracy", "g_mean") else ("accuracy", "g_mean"):
            blocks += _repeated_blocks(Comparison(results, "repeated", metric, score), figures)
        table = all_scores(results, "repeated", metric)
        blocks.append(Details(f"All metrics, tuned by {metric}", (TableBlock(table),)))
    return WORDS.section("repeated", *blocks) if blocks else None


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
    items = WORDS.text(
        "errata",
        test=test,
        friedman=printed.FRIEDMAN,
        needed=sign_threshold(len(DATASETS), "printed"),
        n_sets=len(DATASETS),
        sign_threshold=printed.SIGN_THRESHOLD,
        self_cell=list(printed.SELF_CELL),
        means=", ".join(f"{m:.4f}" for m in means),
        printed_means=", ".join(f"{m:.4f}" for m in printed.TABLE_S2_OVERALL),
        monk3=printed.implied_counts("monk3"),
        monk3_printed=printed.TABLE_I["monk3"][-1],
        counts=", ".join(f"{name} {count}" for name, count in names if count),
    )
    return WORDS.section("errata", Bullets(tuple(items)))


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
    return WORDS.section("datasets", TableBlock(WORDS.table("datasets", rows)))


def how_section(results, run):
    """How to get these numbers again, and what they cost."""
    search, total = (sum(r["seconds"][key] for r in results.done) for key in ("search", "total"))
    text = WORDS.text("cost", n=len(results.done), total=total, search=search)
    blocks: list = [Code(run.get("command") or "robell reproduce")]
    blocks += [Paragraph((text + last_run(run)).strip()), *failed_blocks(results)]
    return WORDS.section("how", *blocks)
