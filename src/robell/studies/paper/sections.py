"""The sections of the report: what was measured, in words, tables and figures."""

from __future__ import annotations

import numpy as np

from robell._tools.text import literal
from robell.comparison.family import MODELS, labels
from robell.comparison.report import failed_blocks, last_run
from robell.comparison.results import ordered
from robell.comparison.statistics import friedman, nemenyi, sign_threshold
from robell.datasets import info
from robell.report import plots
from robell.report.page import Bullets, Code, Details, Paragraph, Section, TableBlock
from robell.report.tables import Table
from robell.studies.paper import printed, tables
from robell.studies.paper.claims import accuracy_limits, surfaces
from robell.studies.paper.comparison import Comparison, noise_curves, printed_cells
from robell.studies.paper.printed import DATASETS
from robell.studies.paper.results import SCORES
from robell.studies.paper.summary import summary_section


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
    blocks = [Paragraph(text), TableBlock(tables.table_one(paper))]
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
    table = tables.all_scores(paper.results, "paper", "accuracy")
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
    blocks = [TableBlock(tables.friedman_table(paper)), diagram]
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
    blocks.append(TableBlock(tables.win_tie_loss_table(paper)))
    if paper.own is not None:
        blocks.append(TableBlock(tables.sign_table(paper)))
    text = (
        "Three tables stand twice among the sets, under two names each (haberman, ionosphere, "
        "MONK-3). The tests, in the print and here, treat them as independent, which they are not."
    )
    return Section("tests", "Statistical tests", (*blocks, Paragraph(text)))


def table_s4_section(results):
    """Table S.IV."""
    table = tables.table_s4(results)
    if not table.rows:
        return None
    return Section("table-s4", "Table S.IV: all metrics", (TableBlock(table),))


def probe_section(results):
    """Show what the printed parameters give, over seeds."""
    table = tables.probe_table(results)
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
        blocks.append(TableBlock(tables.table_s2(results, protocol)))
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
    blocks.append(TableBlock(tables.sensitivity_claims(results)))
    tuned = tuple(TableBlock(tables.surface_table(*item)) for item in found.items())
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
        table = tables.all_scores(results, "repeated", metric)
        blocks.append(Details(f"All metrics, tuned by {metric}", (TableBlock(table),)))
    if not blocks:
        return None
    text = (
        "Not the paper's protocol: several stratified splits of 70:30 in place of one, with seeds "
        "from the names of set and repeat. This is the fairer comparison of the models."
    )
    return Section("repeated", "Repeated splits", (Paragraph(text), *blocks))


def _repeated_blocks(comparison, figures):
    yield TableBlock(tables.repeated_table(comparison))
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
        yield TableBlock(tables.sign_table(comparison))


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
