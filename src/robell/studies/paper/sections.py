"""The sections of the report: what was measured, in words, tables and figures."""

from __future__ import annotations

import numpy as np

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
    literal,
)
from robell.report.tables import Table
from robell.studies.engine.statistics import average_ranks, friedman
from robell.studies.paper import printed
from robell.studies.paper.comparison import (
    Comparison,
    all_scores,
    friedman_table,
    nemenyi_of,
    noise_cells,
    printed_cells,
    printed_nemenyi,
    probe_table,
    repeated_table,
    sensitivity_claims,
    sign_table,
    table_one,
    table_s2,
    table_s4,
    win_tie_loss_table,
)
from robell.studies.paper.printed import DATASETS, MODELS
from robell.studies.paper.results import SCORES


def all_sections(results, run, figures):
    """Return the sections there is something to say in.

    Parameters
    ----------
    results : Results
        The cells.
    run : dict
        What the last run noted about itself.
    figures : FigureFolder
        Takes figures.

    Returns
    -------
    sections : list of Section
        In the order of the page.
    """
    paper = Comparison(results, "paper")
    makers = [
        lambda: summary(results, paper, run),
        lambda: table_one_section(paper, figures),
        lambda: tests_section(paper, figures),
        lambda: table_s4_section(results),
        lambda: probe_section(results),
        lambda: noise_section(results, figures),
        lambda: sensitivity_section(results, figures),
        lambda: repeated_section(results, figures),
        lambda: errata_section(),
        lambda: datasets_section(results, run),
        lambda: how_section(results, run),
    ]
    return [section for section in (make() for make in makers) if section is not None]


# -- the summary ---------------------------------------------------------------------------


def summary(results, paper, run):
    """Say what came out, first."""
    here = results.real([name for name in DATASETS if name in results.data])
    facts = [("Datasets", f"{len(here)} of {len(DATASETS)}", "the paper's, not counting stand-ins")]
    own = paper.against()
    if paper.datasets and own is not None:
        print_ = printed_cells(paper.datasets, paper.models)
        theirs = f"{print_[:, own].mean():.2f}" if np.isfinite(print_).all() else "none"
        facts.append(
            (
                "RoBell-RVFL, mean accuracy",
                f"{paper.values[:, own].mean():.2f}",
                f"printed on these sets: {theirs}",
            )
        )
    if paper.testable and own is not None:
        place = 1 + int((paper.ranks < paper.ranks[own] - 1e-9).sum())
        facts.append(
            (
                "RoBell-RVFL, average rank",
                f"{paper.ranks[own]:.2f}",
                f"place {place} of {len(paper.models)}; printed: {_printed_rank(paper):.2f}",
            )
        )
        test = friedman(paper.values, decimals=9)
        facts.append(("Friedman test", f"p = {test.p:.2g}", f"F = {test.f:.2f}"))
    facts.append(("Cells", str(len(results.records)), f"{len(results.failed)} failed"))
    blocks = [Facts(tuple(facts)), Bullets(tuple(findings(results, paper)))]
    unavailable = run.get("unavailable", {})
    if unavailable:
        names = ", ".join(f"`{literal(name)}`" for name in unavailable)
        blocks.append(Callout("note", f"Not available, and left out: {names}. [Why](#datasets)."))
    stand_ins = [name for name in results.data if results.is_stand_in(name)]
    if stand_ins:
        blocks.append(
            Callout(
                "caution",
                f"{', '.join(f'`{name}`' for name in stand_ins)}: generated in place of files that "
                "were not found. Their rows are shown, and are in no average, rank or test.",
            )
        )
    return Section("summary", "Summary", tuple(blocks))


def _printed_rank(comparison):
    """Return RoBell's rank in the print over the same sets and models."""
    print_ = printed_cells(comparison.datasets, comparison.models)
    if not np.isfinite(print_).all():
        return float("nan")
    return float(average_ranks(print_)[comparison.against()])


def findings(results, paper):
    """Yield what the measurements say, each sentence made from them."""
    if paper.datasets:
        yield from _table_findings(paper)
    probe = probe_table(results)
    if probe.rows:
        reached = sum(row[4] >= 50 for row in probe.rows)
        never = sum(row[4] == 0 for row in probe.rows)
        yield (
            f"With the parameters the paper itself prints, RoBell-RVFL reaches its printed "
            f"accuracy in at least half of 100 seeds on {reached} of {len(probe.rows)} sets, and "
            f"in none on {never} ([printed parameters](#probe))."
        )
    if results.datasets("noise", "paper"):
        yield _noise_finding(results)
    for metric in results.tuned_by("table1", "repeated"):
        if metric in SCORES:
            yield from _repeated_finding(Comparison(results, "repeated", metric, metric))


def _table_findings(paper):
    means = paper.values.mean(axis=0)
    best = int(np.argmax(means))
    own = paper.against()
    text = f"Highest mean accuracy: **{MODELS[paper.models[best]]}** ({means[best]:.2f} %)"
    if own is not None and own != best:
        text += f"; RoBell-RVFL has {means[own]:.2f} %"
    yield f"{text}, over {len(paper.datasets)} sets ([Table I](#table-1))."
    print_ = printed_cells(paper.datasets, paper.models)
    if np.isfinite(print_).all():
        off = np.abs(paper.values - print_)
        yield (
            f"Of {off.size} cells, {int((off <= 1).sum())} come out within one point of the print "
            f"and {int((off > 5).sum())} are more than five points away; the median difference is "
            f"{np.median(off):.1f} points. The print cannot be reproduced from the printed "
            "equations, and nothing here is tuned towards it ([errata](#errata))."
        )
    if paper.testable and own is not None:
        test = nemenyi_of(paper)
        apart = [
            ("better than" if test.average_ranks[own] < test.average_ranks[j] else "worse than")
            + f" {MODELS[model]}"
            for j, model in enumerate(paper.models)
            if j != own and test.p_values[own, j] < 0.05
        ]
        verdict = " and ".join(apart) if apart else "different from no other model"
        yield f"By the Nemenyi test at 5 %, RoBell-RVFL is {verdict} ([tests](#tests))."


def _noise_finding(results):
    levels, cells = noise_cells(results, "paper")
    models = results.models("noise", "paper")
    means = {model: np.mean([curves[model][1:] for curves in cells.values()]) for model in models}
    order = sorted(means, key=means.get, reverse=True)
    ranking = ", ".join(f"{MODELS[model]} {means[model]:.2f}" for model in order)
    return (
        f"With {levels[1]} to {levels[-1]} % of the training labels flipped, mean accuracy over "
        f"{len(cells)} sets and all levels: {ranking} ([label noise](#noise))."
    )


def _repeated_finding(comparison):
    if not comparison.testable:
        return
    order = np.argsort(comparison.ranks)
    best = comparison.models[int(order[0])]
    own = comparison.against()
    metric = SCORES[comparison.score]
    text = (
        f"Over repeated splits, tuned by and judged by {metric}: best average rank "
        f"**{MODELS[best]}** ({comparison.ranks[order[0]]:.2f})"
    )
    if own is not None and best != "robell":
        place = int(np.flatnonzero(order == own)[0]) + 1
        text += f"; RoBell-RVFL is number {place} ({comparison.ranks[own]:.2f})"
    yield f"{text} ([repeated splits](#repeated))."


# -- the paper's tables -----------------------------------------------------------------------


def table_one_section(paper, figures):
    """Table I."""
    if not paper.cells.datasets:
        return None
    blocks = [
        Paragraph(
            "One split of 70:30, the recovered one; five stratified folds; the paper's grids; the "
            "candidate with the highest mean accuracy, the first of equal ones. Scaling is fitted "
            "to the training rows."
        ),
        TableBlock(table_one(paper)),
    ]
    measured, print_ = paper.cells.mean, printed_cells(paper.cells.datasets, paper.models)
    real = [not paper.results.is_stand_in(name) for name in paper.cells.datasets]
    if (np.isfinite(measured) & np.isfinite(print_))[real].any():
        names = [MODELS[model] for model in paper.models]
        figure = plots.measured_against_printed(measured[real], print_[real], names)
        blocks.append(
            figures.block(
                "measured_against_printed",
                figure,
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
    blocks = [TableBlock(friedman_table(paper))]
    print_ = printed_nemenyi()
    blocks.append(
        figures.block(
            "critical_difference_printed",
            plots.critical_difference(
                list(MODELS.values()),
                print_.average_ranks,
                print_.critical_difference,
                print_.cliques,
                "Printed Table I (26 datasets)",
            ),
            "Average ranks of the **printed** Table I. Models under one bar do not differ by the "
            "Nemenyi test at 5 %.",
            "Critical-difference diagram of the printed table",
        )
    )
    if not paper.testable:
        text = "Tests of the measured cells need three models on two complete sets."
        return Section("tests", "Statistical tests", (*blocks, Paragraph(text)))
    test = nemenyi_of(paper)
    blocks.append(
        figures.block(
            "critical_difference_measured",
            plots.critical_difference(
                [MODELS[model] for model in paper.models],
                test.average_ranks,
                test.critical_difference,
                test.cliques,
                f"Measured ({len(paper.datasets)} datasets)",
            ),
            "Average ranks of the **measured** accuracies.",
            "Critical-difference diagram of the measured table",
        )
    )
    blocks.append(TableBlock(win_tie_loss_table(paper)))
    if paper.against() is not None:
        blocks.append(TableBlock(sign_table(paper)))
    blocks.append(
        Paragraph(
            "Some of the sets are one table under two names (haberman, ionosphere, MONK-3), so the "
            "tests assume more independence than there is, in the print and here."
        )
    )
    return Section("tests", "Statistical tests", tuple(blocks))


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
        "No tuning: RoBell-RVFL with the parameters of Table S.IV on the recovered split, the "
        "random layer drawn anew 100 times. A printed figure that no seed reaches was not made by "
        "these equations with these parameters on these rows. Beside it a plain RVFL with the same "
        "layers and the same γ."
    )
    return Section("probe", "Printed parameters", (Paragraph(text), TableBlock(table)))


def noise_section(results, figures):
    """Table S.II and its plots."""
    blocks = []
    for protocol in ("paper", "repeated"):
        if not results.datasets("noise", protocol):
            continue
        blocks.append(TableBlock(table_s2(results, protocol)))
        levels, cells = noise_cells(results, protocol)
        named = {
            name: {MODELS[model]: values for model, values in curves.items()}
            for name, curves in cells.items()
        }
        there = _printed_curves(named, levels) if protocol == "paper" else None
        how = " Dashed: printed." if there else " Means over the repeats."
        blocks.append(
            figures.block(
                f"noise_{protocol}",
                plots.curve_panels(
                    levels,
                    named,
                    "labels flipped in training (%)",
                    "accuracy (%)",
                    order=list(MODELS.values()),
                    printed=there,
                ),
                f"Accuracy on clean test labels by the share of flipped training labels.{how}",
                "Curves of accuracy against label noise, one panel a dataset",
            )
        )
    if not blocks:
        return None
    first = Paragraph(
        "A share of the training labels is flipped, of every class the same share, which rows by a "
        "seed from the set's name; models are tuned on the noisy folds. The paper does not say how "
        "its noise was made. Its overall averages, 78.41, 76.76 and 76.47, are not the averages of "
        "its own cells, which are 76.26, 72.71 and 70.86."
    )
    return Section("noise", "Label noise (Table S.II)", (first, *blocks))


def _printed_curves(named, levels):
    curves = {}
    for name in named:
        if name in printed.TABLE_S2:
            curves[name] = {
                MODELS[model]: [
                    float("nan") if level == 0 else printed.TABLE_S2[name][level][k]
                    for level in levels
                ]
                for k, model in enumerate(printed.NOISE_MODELS)
                if MODELS[model] in named[name]
            }
    return curves or None


def sensitivity_section(results, figures):
    """Figures S.3 and S.4."""
    records = {r["job"]["dataset"]: r["outcome"] for r in results.of("sensitivity")}
    if not records:
        return None
    names = results.datasets("sensitivity", "paper")
    widths, rhos = (next(iter(records.values()))[key] for key in ("kernel_width", "rho"))
    by_width, by_rho = {}, {}
    for name in names:
        outcome, surface = records[name], np.array(records[name]["test_accuracy"])
        by_width[name] = surface[:, rhos.index(outcome["parameters"]["rho"])]
        by_rho[name] = surface[widths.index(outcome["parameters"]["kernel_width"])]
    held = "everything else held at the chosen parameters"
    blocks = [
        Paragraph(
            "Test accuracy of RoBell-RVFL as the kernel width ξ and ρ vary around the chosen "
            "candidate. The paper does not say what it held fixed, nor prints these as numbers."
        ),
        figures.block(
            "sensitivity_kernel_width",
            plots.lines(widths, by_width, "kernel width ξ", "accuracy (%)", log2=True),
            f"Figure S.3 (a): accuracy by ξ, {held}.",
            "Lines of accuracy against the kernel width",
        ),
        figures.block(
            "sensitivity_rho",
            plots.lines(rhos, by_rho, "ρ", "accuracy (%)"),
            f"Figure S.3 (b): accuracy by ρ, {held}.",
            "Lines of accuracy against rho",
        ),
    ]
    for name in names:
        surface = np.array(records[name]["test_accuracy"])
        stem = name.replace("-", "_")
        blocks.append(
            figures.block(
                f"heat_map_{stem}",
                plots.heat_map(widths, rhos, surface, "kernel width ξ", "ρ", log2=True, title=name),
                f"Figure S.4, {literal(name)}: test accuracy (%) over ξ and ρ.",
                f"Heat map of accuracy over kernel width and rho for {name}",
            )
        )
        blocks.append(
            figures.block(
                f"surface_{stem}",
                plots.surface(
                    widths, rhos, surface, "ξ", "ρ", "accuracy (%)", log2=True, title=name
                ),
                f"The same as a surface, {literal(name)}.",
                f"Surface of accuracy over kernel width and rho for {name}",
            )
        )
    blocks.append(TableBlock(sensitivity_claims(results)))
    tuned = [TableBlock(_surface_table(name, records[name])) for name in names]
    blocks.append(
        Details("What tuning saw: cross-validated accuracy, best over the rest", tuple(tuned))
    )
    return Section("sensitivity", "Sensitivity (S.3, S.4)", tuple(blocks))


def _surface_table(name, outcome):
    rows = [
        (f"{width:g}", *map(float, row))
        for width, row in zip(outcome["kernel_width"], outcome["cv_accuracy"], strict=True)
    ]
    return Table(
        f"sensitivity_{name.replace('-', '_')}",
        f"{name}: cross-validated accuracy (%)",
        ("ξ", *(f"ρ = {rho:g}" for rho in outcome["rho"])),
        tuple(rows),
    )


def repeated_section(results, figures):
    """RoBell against the others over repeated splits, by each metric tuned by."""
    blocks = []
    for metric in results.tuned_by("table1", "repeated"):
        for score in ("accuracy", "g_mean"):
            if metric in SCORES and score != metric:
                continue  # judged by what it was tuned by; the rest is in the table of all metrics
            comparison = Comparison(results, "repeated", metric, score)
            blocks.append(TableBlock(repeated_table(comparison)))
            if not comparison.testable:
                continue
            test = nemenyi_of(comparison)
            blocks.append(
                figures.block(
                    f"critical_difference_repeated_{score}_{metric}",
                    plots.critical_difference(
                        [MODELS[model] for model in comparison.models],
                        test.average_ranks,
                        test.critical_difference,
                        test.cliques,
                        f"{SCORES[score]}, {len(comparison.datasets)} datasets",
                    ),
                    f"Average ranks by {SCORES[score]}, means over the repeats.",
                    f"Critical-difference diagram by {SCORES[score]}",
                )
            )
            if comparison.against() is not None:
                blocks.append(TableBlock(sign_table(comparison)))
        table = all_scores(results, "repeated", metric)
        blocks.append(Details(f"All metrics, tuned by {metric}", (TableBlock(table),)))
    if not blocks:
        return None
    first = Paragraph(
        "Not the paper's protocol: stratified splits of 70:30, several of them, seeds from the "
        "names of set and repeat. This is what the models can be compared by."
    )
    return Section("repeated", "Repeated splits", (first, *blocks))


# -- what stands behind it --------------------------------------------------------------------


def errata_section():
    """Tell what is wrong with the printed numbers, each recomputed from the print."""
    cells = printed_cells(DATASETS, list(MODELS))
    test = friedman(cells)
    means = np.mean([row for s in printed.TABLE_S2.values() for row in s.values()], axis=0)
    off = {
        name: sum(
            not printed.attainable(row[j], printed.table_i_test_size(dataset))
            for dataset, row in printed.TABLE_I.items()
        )
        for j, name in enumerate(MODELS.values())
    }
    impossible = ", ".join(f"{name} {count}" for name, count in off.items() if count)
    monk3 = printed.implied_counts("monk3")
    items = (
        f"χ² is {test.chi2:.4f}, not {printed.FRIEDMAN['chi2']}, and F {test.f:.4f}, not "
        f"{printed.FRIEDMAN['F']}: rounded ranks were used. With ties corrected: "
        f"{test.chi2_ties:.4f} and {test.f_ties:.4f}. The conclusion stands.",
        "The sign test's printed threshold ω/2 + 1.96 √(ω/2) is 20.07 for 26 sets; the 18 that is "
        "used comes from ω/2 + 1.96 √ω/2.",
        f"Table S.I has a cell of C-RVFL against itself, {list(printed.SELF_CELL)}.",
        f"Table S.II's overall averages are {', '.join(f'{m:.4f}' for m in means)}, not "
        f"{', '.join(f'{m:.4f}' for m in printed.TABLE_S2_OVERALL)}.",
        f"Table S.IV's row of monk3 is another file: {monk3.test_size} test rows at "
        f"{monk3.accuracy:.2f} %, where Table I says {printed.TABLE_I['monk3'][-1]:.2f}.",
        f"Cells of Table I that are no share k/n of their test rows: {impossible}. They cannot be "
        "accuracies on one split.",
        "haberman and haberman_survival, iono and ionosphere, monk3 and monks_3 are the same rows; "
        "checkerboard_Data is Australian credit; congressional_voting keeps only which votes are "
        "missing; in monk1 and monk3 the attribute a6 was probably predicted instead of the class.",
    )
    return Section(
        "errata",
        "Errata of the print",
        (
            Bullets(items),
            Paragraph(
                "Computed from the printed tables alone. The full list, with the errata of the "
                "equations and what was decided on each, is `docs/errata.md`."
            ),
        ),
    )


def datasets_section(results, run):
    """Where every set came from."""
    rows = []
    for name in [*DATASETS, *sorted(set(results.data) - set(DATASETS))]:
        about, known = results.data.get(name), info(name)
        if about:
            size = (about.get("n_rows"), about.get("n_features"), about.get("n_minority"))
            note = " ".join(text for text in (known.note, about.get("note")) if text)
            rows.append((name, known.title, *size, about.get("source", ""), note))
        elif name in run.get("unavailable", {}):
            why = run["unavailable"][name]
            rows.append((name, known.title, None, None, None, "none", why))
    table = Table(
        "datasets",
        "Datasets",
        ("Dataset", "What it is", "Rows", "Columns", "Minority", "From", "Note"),
        tuple(rows),
    )
    return Section("datasets", "Datasets", (TableBlock(table),))


def how_section(results, run):
    """How to get these numbers again, and what they cost."""
    blocks = [Code(run.get("command") or "robell reproduce")]
    summary = run.get("summary")
    search = sum(r["seconds"]["search"] for r in results.records)
    total = sum(r["seconds"]["total"] for r in results.records)
    text = (
        f"{len(results.records)} jobs, {total:.0f} s in all, {search:.0f} s of them in searches. "
        "Every seed comes from the names of protocol, set, repeat and model, so the numbers depend "
        "neither on the order of jobs nor on how many run at a time."
    )
    if summary and summary.get("done"):
        idle = summary["worker_seconds"] - summary["job_seconds"]
        text += (
            f" The last run did {summary['done']} jobs in {summary['seconds']:.0f} s with "
            f"{run['workers']} processes; outside of jobs each spent "
            f"{idle / summary['worker_seconds']:.1%} of the time."
        )
    blocks.append(Paragraph(text))
    if results.failed:
        rows = tuple((r["key"], r.get("error", "")) for r in results.failed)
        blocks.append(TableBlock(Table("failed", "Jobs that failed", ("Job", "Why"), rows)))
    return Section("how", "How to reproduce", tuple(blocks))
