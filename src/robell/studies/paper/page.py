"""The page of the paper's study: its records as arrays of scores, words, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from math import sqrt

import numpy as np

from robell.comparison import scores as engine
from robell.comparison import statistics
from robell.comparison import study_page as common
from robell.comparison.family import MODELS, labels
from robell.comparison.scores import ordered
from robell.datasets import info
from robell.report import plots
from robell.report.page import Bullets, Callout, Code, Details, Facts, Paragraph, TableBlock, Words
from robell.report.tables import Compared, Spread
from robell.studies.paper import printed
from robell.studies.paper.printed import DATASETS, accuracy_limits, printed_cells

WORDS = Words("robell.studies.paper")
TITLE = "RoBell-RVFL: the study, measured again"
SCORES = {
    "accuracy": "Accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "precision": "Precision",
    "f_measure": "F-measure",
    "g_mean": "G-mean",
}


def scores_of(confusion):
    """Return the paper's six metrics in percent from counts tp, fn, fp, tn; 0 where undefined."""

    def share(part, whole):
        return 100 * part / whole if whole else 0.0

    tp, fn, fp, tn = (confusion[name] for name in ("tp", "fn", "fp", "tn"))
    sensitivity, specificity = share(tp, tp + fn), share(tn, tn + fp)
    precision = share(tp, tp + fp)
    return {
        "accuracy": share(tp + tn, tp + fn + fp + tn),
        "sensitivity": sensitivity,
        "specificity": specificity,
        "precision": precision,
        "f_measure": share(2 * precision * sensitivity, precision + sensitivity) / 100,
        "g_mean": sqrt(sensitivity * specificity),
    }


@dataclass(frozen=True)
class Scores:
    """Means and standard deviations over repeats, NaN where there are none; sets by models."""

    datasets: tuple
    models: tuple
    mean: np.ndarray
    sd: np.ndarray
    n: np.ndarray  # repeats


class Results(engine.Results):
    """The records of the paper's study; those of jobs that failed are listed, never scored."""

    def of(self, study, protocol=None, **fields):
        """Return the finished records of one study whose jobs have these fields."""
        fields |= {"study": study} | ({} if protocol is None else {"protocol": protocol})
        return [r for r in self.done if all(r["job"][k] == v for k, v in fields.items())]

    def datasets(self, study, protocol):
        """Return the sets of a study: the paper's in its order, then others by name."""
        return ordered({r["job"]["dataset"] for r in self.of(study, protocol)}, DATASETS)

    def models(self, study, protocol):
        """Return the models of a study, in the paper's order."""
        return ordered({r["job"]["model"] for r in self.of(study, protocol)}, MODELS)

    def tuned_by(self, study, protocol):
        """Return the metrics that models were tuned by."""
        metrics = dict.fromkeys(m for r in self.of(study, protocol) for m in r["job"]["tuned_by"])
        return tuple(metrics)

    def scores(self, study, protocol, tuned_by, score, noise=0, datasets=None, models=None):
        """Return one of ``SCORES`` of every set and model over repeats, in percent.

        Of every set the repeats count that all models with any have finished: the same splits.
        """
        datasets = self.datasets(study, protocol) if datasets is None else datasets
        models = self.models(study, protocol) if models is None else models
        values: dict = {}
        for record in self.of(study, protocol, noise=noise):
            job, selected = record["job"], record["outcome"]["selected"]
            if tuned_by in selected:
                found = values.setdefault(job["dataset"], {}).setdefault(job["model"], {})
                found[job["repeat"]] = scores_of(selected[tuned_by]["confusion"])[score]
        cells = []
        for by_model in (values.get(name, {}) for name in datasets):
            # Sorted: the order they finished in is chance.
            common = sorted(set.intersection(*map(set, by_model.values()))) if by_model else ()
            cells += [[by_model[m][k] for k in common] if m in by_model else [] for m in models]

        def each(number, fewest=0):
            numbers = [number(of) if len(of) >= fewest else np.nan for of in cells]
            return np.reshape(numbers, (len(datasets), len(models)))

        deviations = each(partial(np.std, ddof=1), 2)
        return Scores(datasets, models, each(np.mean, 1), deviations, each(len).astype(int))

    def noise_curves(self, protocol):
        """Return the levels, clean labels first, and the mean accuracies: levels, sets, models."""
        levels, names = (0, *printed.NOISE_LEVELS), self.datasets("noise", protocol)
        models, by = self.models("noise", protocol), ("accuracy", "accuracy")
        studies = ("noise" if level else "table1" for level in levels)
        means = [
            self.scores(study, protocol, *by, level, names, models).mean
            for study, level in zip(studies, levels, strict=True)
        ]
        return levels, np.array(means)

    def is_stand_in(self, dataset):
        """Return whether a set is generated in place of one that nobody has."""
        return bool(self.data.get(dataset, {}).get("stand_in"))

    def real(self, datasets):
        """Return the sets that are no stand-ins: averages and tests are over these."""
        return tuple(name for name in datasets if not self.is_stand_in(name))

    def shown(self, dataset):
        """Return a set's name with what must be known of it."""
        if self.is_stand_in(dataset):
            return f"{dataset} (stand-in)"
        others = not self.data.get(dataset, {}).get("paper_rows", True)
        return f"{dataset} *" if others and dataset in printed.TABLE_I else dataset


class Comparison(engine.Ranked):
    """One protocol's cells (``cells``), and those that averages and tests are made of.

    ``datasets`` have a cell for every model and are no stand-ins; ``printed`` is None where Table I
    lacks any of them.
    """

    def __init__(self, results, protocol, tuned_by="accuracy", score="accuracy"):
        self.results, self.protocol, self.tuned_by, self.score = results, protocol, tuned_by, score
        self.cells = results.scores("table1", protocol, tuned_by, score)
        self.models = self.cells.models
        found = {
            name: means
            for name, means in zip(self.cells.datasets, self.cells.mean, strict=True)
            if not results.is_stand_in(name) and np.isfinite(means).all()
        }
        self.datasets = tuple(found)
        super().__init__(np.reshape([*found.values()], (len(found), len(self.models))))
        print_ = printed_cells(self.datasets, self.models)
        self.printed = print_ if np.isfinite(print_).all() else None
        self.own = self.models.index("robell") if "robell" in self.models else None

    @property
    def words(self):
        """The values that tables of one comparison have in their words."""
        return {
            "protocol": self.protocol,
            "tuned_by": self.tuned_by,
            "tuned_label": SCORES.get(self.tuned_by, self.tuned_by),
            "score": self.score,
            "label": SCORES[self.score],
        }

    def averages(self):
        """Yield the rows below a table: average score and rank, measured and printed."""
        if self.datasets:
            print_ = None if self.printed is None else self.printed.mean(axis=0)
            yield "accuracy", self.values.mean(axis=0), print_
            if len(self.models) > 1:
                yield "rank", self.ranks, self.printed_ranks

    @property
    def printed_ranks(self):
        """The average ranks in print, None where it lacks any of the sets or models."""
        return None if self.printed is None else statistics.average_ranks(self.printed)

    def diagram(self, figures, name, title, caption):
        """Return the critical-difference diagram."""
        return figures.diagram(name, labels(self.models), self.nemenyi, title, caption)


def read(records, run):
    """Return the results of records."""
    return Results(records)


def more_files(results, sections):
    """Return no files beside the page, its tables and figures."""
    return {}


# -- tables: what was measured beside what is printed ----------------------------------------


def _compared(measured, print_):
    """Return cells of measured values beside printed ones, None where nothing is printed."""
    return map(Compared, measured, [None] * len(measured) if print_ is None else print_)


def _note(rows):
    return WORDS.text("other_rows") if any(row[0].endswith(" *") for row in rows) else ""


def table_one(comparison):
    """Return Table I: accuracies, averages and ranks, measured and printed."""
    results, cells = comparison.results, comparison.cells
    real = results.real(cells.datasets)
    print_ = printed_cells(cells.datasets, cells.models)
    rows = [
        (results.shown(name), *_compared(mean, there if name in real else None))
        for name, mean, there in zip(cells.datasets, cells.mean, print_, strict=True)
    ]
    note = _note(rows) + WORDS.text("stand_ins") * (len(real) < len(rows))
    footer = [
        (f"Average {what} ({len(comparison.datasets)} sets)", *_compared(measured, there))
        for what, measured, there in comparison.averages()
    ]
    return WORDS.table("table_1", rows, labels(cells.models), footer, note=note.strip())


def all_scores(results, protocol, tuned_by):
    """Return all six metrics of every cell, and the parameters chosen for it."""
    rows = []
    for record in results.of("table1", protocol, noise=0):
        job = record["job"]
        if selected := record["outcome"]["selected"].get(tuned_by):
            parameters = sorted(selected["parameters"].items())
            chosen = ", ".join(f"{name}={_short(value)}" for name, value in parameters)
            numbers = (*scores_of(selected["confusion"]).values(), 100 * selected["cv_score"])
            place = results.shown(job["dataset"]), MODELS[job["model"]].label, job["repeat"]
            rows.append((*place, *numbers, chosen))
    order = labels(MODELS)
    rows = [*dict.fromkeys(rows)]  # a cell tuned by one metric may have been tuned by two before
    rows.sort(key=lambda row: (row[0].lower(), order.index(row[1]), row[2]))
    return WORDS.table("all_scores", rows, protocol=protocol, tuned_by=tuned_by)


def _short(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def table_s4(results):
    """Return Table S.IV: RoBell's metrics and chosen parameters, measured and printed."""

    def setting(parameters):
        names = ("C", "n_hidden", "activation", "kernel_width", "rho")
        return ", ".join(_short(parameters[name]) for name in names)

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
            theirs = setting(printed.s4_parameters(name))
        cells = _compared([scores[metric] for metric in metrics], print_)
        rows.append((results.shown(name), *cells, setting(selected["parameters"]), theirs))
    return WORDS.table("table_s4", rows)


def friedman_table(comparison):
    """Return the Friedman test: as printed, recomputed from the print, and measured."""
    columns, print_ = ["From the printed Table I"], printed.FRIEDMAN
    sources = [statistics.friedman(printed_cells(DATASETS, printed.MODELS))]
    if comparison.testable:
        columns.append("Measured")
        sources.append(comparison.friedman)
    rows = [
        ("Datasets, models", "26, 8", *(f"{s.n_datasets}, {s.n_models}" for s in sources)),
        ("χ² without correction for ties", print_["chi2"], *(s.chi2 for s in sources)),
        ("p of it", None, *(f"{s.p:.2g}" for s in sources)),
        ("F without correction for ties", print_["F"], *(s.f for s in sources)),
        ("F critical at 5 %", print_["critical"], *(s.f_critical for s in sources)),
        ("χ² corrected for ties", None, *(s.chi2_ties for s in sources)),
        ("p of that", None, *(f"{s.p_ties:.2g}" for s in sources)),
        ("F corrected for ties", None, *(s.f_ties for s in sources)),
    ]
    return WORDS.table("friedman", rows, columns)


def win_tie_loss_table(comparison):
    """Return Table S.I: wins, ties and losses of the row's model against the column's."""
    models, print_ = comparison.models, printed.WIN_TIE_LOSS
    print_ = {(b, a): cell[::-1] for (a, b), cell in print_.items()} | print_
    rows = []
    for i, model in enumerate(models[1:], start=1):
        cells = [""] * (len(models) - 1)
        for j, other in enumerate(models[:i]):
            cells[j] = "-".join(map(str, comparison.wins[i, j]))
            if there := print_.get((model, other)):
                cells[j] += f" ({'-'.join(map(str, there))})"
        rows.append((MODELS[model].label, *cells))
    return WORDS.table("table_s1", rows, labels(models[:-1]), n=len(comparison.datasets))


def sign_table(comparison):
    """Return the sign test of RoBell against each other model, and Wilcoxon's by Holm's method."""
    own, rows = comparison.own, []
    wilcoxon = statistics.holm(comparison.wilcoxon[0][own])
    values = comparison.values
    for j, other in enumerate(comparison.models):
        if j != own:
            counts = comparison.wins[own, j].tolist()
            test = statistics.sign_test(*counts)
            side = "better" if test.wins > test.losses else "worse"
            words = "-".join(map(str, counts)), f"{test.wins} of {test.n_datasets}"
            verdict = f"{test.threshold:.2f}", side if test.significant else "no"
            gap = (values[:, own] - values[:, j]).mean()
            rows.append((MODELS[other].label, *words, *verdict, test.p, gap, wilcoxon[j]))
    return WORDS.table("sign_test", rows, **comparison.words)


def repeated_table(comparison):
    """Return mean and standard deviation of every cell over the repeats."""
    cells, shown = comparison.cells, comparison.results.shown
    rows = [
        (shown(name).removesuffix(" *"), *map(Spread, means, deviations))
        for name, means, deviations in zip(cells.datasets, cells.mean, cells.sd, strict=True)
    ]
    n = len(comparison.datasets)
    footer = [
        (f"Average{' rank' * (what == 'rank')} ({n} sets)", *measured)
        for what, measured, _ in comparison.averages()
    ]
    repeats = cells.n[cells.n > 0].tolist()
    words = {"repeats": common.span(repeats) if repeats else "no"} | comparison.words
    return WORDS.table("repeated", rows, labels(cells.models), footer, **words)


def probe_table(results):
    """Return RoBell at the printed parameters over many seeds, and RVFL with the same layers."""
    rows = []
    for name in results.real(results.datasets("probe", "paper")):
        outcome = results.of("probe", dataset=name)[0]["outcome"]
        own, plain = (np.array(outcome["accuracy"][model]) for model in ("robell", "rvfl"))
        print_ = printed.TABLE_I[name][-1]
        reached = 100 * (own >= print_ - 1e-4).mean()
        of_own, of_plain = ((x.mean(), x.std(ddof=1)) for x in (own, plain))
        rows.append((results.shown(name), print_, *of_own, reached, *of_plain))
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
            for row, names in common.tuned_rows(found, scale=100):
                mean = printed_cells(names, [model]).mean() if protocol == "paper" else None
                rows.append((*row, mean))
    return WORDS.table("on_test_rows", rows)


def table_s2(results, protocol="paper"):
    """Return Table S.II: accuracy under label noise, measured and printed."""
    names, there = results.datasets("noise", protocol), results.models("noise", protocol)
    models = [model for model in printed.NOISE_MODELS if model in there]
    kept = [there.index(model) for model in models]
    levels, values = results.noise_curves(protocol)
    rows, print_ = [], np.full((len(names), len(levels) - 1, len(kept)), np.nan)
    measured = values[1:, :, kept].swapaxes(0, 1)
    for i, name in enumerate(names):
        known = protocol == "paper" and name in printed.TABLE_S2 and not results.is_stand_in(name)
        for k, level in enumerate(levels[1:]):
            if known:
                row = dict(zip(printed.NOISE_MODELS, printed.TABLE_S2[name][level], strict=True))
                print_[i, k] = [row[model] for model in models]
            cells = _compared(measured[i, k], print_[i, k] if known else None)
            rows.append((results.shown(name), f"{level} %", *cells))
    footer = []
    if rows and np.isfinite(measured).all():
        means = (found.reshape(-1, len(kept)).mean(axis=0) for found in (measured, print_))
        footer = [("Overall average", f"{len(names)} sets", *_compared(*means))]
    words = {"protocol": protocol, "note": _note(rows)}
    return WORDS.table("table_s2", rows, labels(models), footer, **words)


def sensitivity_claims(results):
    """Return what S.VIII says about ξ and ρ, and what the measured surfaces say to that."""
    rows = [
        (claim.place, results.shown(name), claim.text, measured, verdict)
        for claim, name, measured, verdict in printed.judged(results)
    ]
    words = {"stable": printed.STABLE, "fewest": printed.FEWEST_SEEDS}
    return WORDS.table("sensitivity_claims", rows, **words)


# -- what came out, first: the summary of the page, its subtitle, and the lines for a terminal


def subtitle(results):
    """Return the line below the title."""
    here = results.real([name for name in DATASETS if name in results.data])
    return WORDS.text("subtitle", n=len(here), n_all=len(DATASETS))


def summary_section(results, paper, run):
    """Say what came out, and what a reader must know before trusting a number."""
    here = results.real([name for name in DATASETS if name in results.data])
    own, print_ = paper.own, paper.printed
    facts = [("Datasets", f"{len(here)} of {len(DATASETS)}", "the paper's, not counting stand-ins")]
    if paper.datasets and own is not None:
        theirs = "none" if print_ is None else f"{print_[:, own].mean():.2f}"
        mean = f"{paper.values[:, own].mean():.2f}"
        facts.append(("RoBell-RVFL, mean accuracy", mean, f"printed on these sets: {theirs}"))
    if paper.testable and own is not None:
        theirs = "none" if print_ is None else f"{paper.printed_ranks[own]:.2f}"
        hint = f"place {place_of(paper)} of {len(paper.models)}; printed: {theirs}"
        facts.append(("RoBell-RVFL, average rank", f"{paper.ranks[own]:.2f}", hint))
        test = paper.friedman
        facts.append(("Friedman test", f"p = {test.p:.2g}", f"F = {test.f:.2f}"))
    facts.append(("Jobs", str(len(results.done)), f"{len(results.failed)} failed"))
    blocks = [Facts(tuple(facts)), Bullets(tuple(findings(results, paper)))]
    blocks += common.unavailable_notes(run, "datasets")
    if stand_ins := [name for name in results.data if results.is_stand_in(name)]:
        names = ", ".join(f"`{name}`" for name in stand_ins)
        blocks.append(Callout("caution", WORDS.text("stand_ins_named", names=names)))
    return WORDS.section("summary", *blocks)


def place_of(comparison):
    """Return the place of RoBell by its average rank; models of equal rank share the better one."""
    return 1 + int((comparison.ranks < comparison.ranks[comparison.own] - 1e-9).sum())


def findings(results, paper):
    """Yield what the measurements say, each sentence made from them."""
    own = paper.own
    if paper.datasets:
        means = paper.values.mean(axis=0)
        best = common.leaders(labels(paper.models), means)
        text = f"Highest mean accuracy: **{best}** ({means.max():.2f} %)"
        if own is not None and MODELS["robell"].label not in best.split(", "):
            text += f"; RoBell-RVFL has {means[own]:.2f} %"
        yield f"{text}, over {len(paper.datasets)} sets ([Table I](#table-1))."
        if paper.printed is not None:
            off = np.abs(paper.values - paper.printed)
            near, far = int((off <= 1).sum()), int((off > 5).sum())
            yield WORDS.text("cells", n=off.size, near=near, far=far, median=np.median(off))
        if paper.testable and own is not None:
            sides = zip(("better", "worse"), paper.nemenyi.differing(own), strict=True)
            apart = [
                f"{side} than {MODELS[paper.models[j]].label}" for side, of in sides for j in of
            ]
            verdict = " and ".join(apart) or "not significantly different from any model"
            yield WORDS.text("nemenyi", verdict=verdict)
    probe = probe_table(results)
    if probe.rows:
        reached = sum(row[4] >= 50 for row in probe.rows)
        never = sum(row[4] == 0 for row in probe.rows)
        yield WORDS.text("probe", reached=reached, n=len(probe.rows), never=never)
    if results.datasets("noise", "paper"):
        levels, values = results.noise_curves("paper")
        values = values[1:, np.isfinite(values[1:]).all(axis=(0, 2))]  # that every model has run on
        if values.size:
            means = values.mean(axis=(0, 1))
            named = zip(means, labels(results.models("noise", "paper")), strict=True)
            order = sorted(named, key=lambda one: -one[0])
            ranking = ", ".join(f"{label} {mean:.2f}" for mean, label in order)
            words = {"low": levels[1], "high": levels[-1], "n": values.shape[1]}
            yield WORDS.text("noise", ranking=ranking, **words)
    for metric in _scored(results):
        found = Comparison(results, "repeated", metric, metric)
        if found.testable:
            best, rank = common.leaders(labels(found.models), -found.ranks), found.ranks.min()
            text = WORDS.text("repeated", score=SCORES[metric], best=best, rank=rank)
            if found.own is not None and (place := place_of(found)) > 1:
                text += f"; RoBell-RVFL is number {place} ({found.ranks[found.own]:.2f})"
            yield f"{text} ([repeated splits](#repeated))."


def _scored(results):
    """Return the metrics that models were tuned by over repeated splits and are scored by too."""
    return [metric for metric in results.tuned_by("table1", "repeated") if metric in SCORES]


def headline(results):
    """Return the main result in a few lines of text, for a terminal."""
    found = [Comparison(results, "paper")]
    found += [Comparison(results, "repeated", metric, metric) for metric in _scored(results)]
    parts = [_headline_of(comparison) for comparison in found if comparison.cells.datasets]
    return "\n\n".join(parts) or "No cell of Table I has been measured yet."


def _headline_of(comparison):
    cells, results, protocol = comparison.cells, comparison.results, comparison.protocol
    names = [results.shown(name).removesuffix(" *") for name in cells.datasets]
    width = max(map(len, [*names, "average (measured, 00 sets)"]))
    what = f"{SCORES[comparison.score]} on unseen rows (%), protocol {protocol}"
    if protocol != "paper":
        what += f", tuned by {SCORES[comparison.tuned_by]}"
    heads = labels(cells.models)
    wide = max(13, 2 + max(map(len, heads)))
    lines = [what, " " * width + "".join(f"{name:>{wide}}" for name in heads)]
    rows = [*zip(names, cells.mean, strict=True)]
    for what, measured, there in comparison.averages():
        if what != "rank" or comparison.testable:
            sizes = f", {len(comparison.datasets)} sets" * (what != "rank")
            name = "average rank" if what == "rank" else "average"
            rows.append((f"{name} (measured{sizes})", measured))
            if protocol == "paper" and there is not None:
                rows.append((f"{name} (printed{sizes})", there))
    for label, row in rows:
        texts = [f"{value:.2f}" if np.isfinite(value) else "-" for value in row]
        lines.append(f"{label:{width}}" + "".join(f"{text:>{wide}}" for text in texts))
    if comparison.testable:
        test = comparison.friedman
        lines.append(f"Friedman: chi2 {test.chi2:.2f} (p {test.p:.3g}), F {test.f:.2f}")
    return "\n".join(lines)


# -- the sections of the page --------------------------------------------------------------


def all_sections(results, run, figures):
    """Return the sections; None in place of one that has nothing to say."""
    paper = Comparison(results, "paper")
    return [
        summary_section(results, paper, run),
        table_one_section(paper, figures),
        tests_section(paper, figures),
        common.one_table("table-s4", table_s4(results), WORDS),
        common.one_table("on-test-rows", on_test_rows_table(results), WORDS),
        common.one_table("probe", probe_table(results), WORDS),
        noise_section(results, figures),
        sensitivity_section(results, figures),
        repeated_section(results, figures),
        errata_section(),
        datasets_section(results, run),
        how_section(results, run),
    ]


def table_one_section(paper, figures):
    """Show Table I."""
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
    """Show the Friedman, Nemenyi and sign tests."""
    if not paper.cells.datasets:
        return None
    diagram = figures.diagram(
        "critical_difference_printed",
        labels(printed.MODELS),
        statistics.nemenyi(printed_cells(DATASETS, printed.MODELS)),
        "Printed Table I (26 datasets)",
        WORDS.text("ranks_printed"),
    )
    blocks: list = [TableBlock(friedman_table(paper)), diagram]
    if not paper.testable:
        return WORDS.section("tests", *blocks, Paragraph(WORDS.text("not_testable")))
    title = f"Measured ({len(paper.datasets)} datasets)"
    caption = "Average ranks of the **measured** accuracies."
    blocks.append(paper.diagram(figures, "critical_difference_measured", title, caption))
    blocks.append(TableBlock(win_tie_loss_table(paper)))
    if paper.own is not None:
        blocks.append(TableBlock(sign_table(paper)))
    return WORDS.section("tests", *blocks, Paragraph(WORDS.text("not_independent")))


def noise_section(results, figures):
    """Show Table S.II and its plots; clean labels are not printed."""
    blocks = []
    for protocol in ("paper", "repeated"):
        names, models = results.datasets("noise", protocol), results.models("noise", protocol)
        if not names:
            continue
        levels, values = results.noise_curves(protocol)
        there = {}
        for name in names if protocol == "paper" else ():
            if rows := printed.TABLE_S2.get(name):
                there[name] = {
                    MODELS[model].label: [rows[n][k] if n else float("nan") for n in levels]
                    for k, model in enumerate(printed.NOISE_MODELS)
                    if model in models
                }
        figure = plots.curve_panels(
            levels,
            {
                name: dict(zip(labels(models), lines.T.tolist(), strict=True))
                for name, lines in zip(names, values.swapaxes(0, 1), strict=True)
            },
            "labels flipped in training (%)",
            "accuracy (%)",
            order=labels(MODELS),
            printed=there or None,
        )
        how = " Dashed: printed." if there else " Means over the repeats."
        words = WORDS.figure("noise", how=how)
        blocks.append(TableBlock(table_s2(results, protocol)))
        blocks.append(figures.block(f"noise_{protocol}", figure, *words))
    return WORDS.section("noise", *blocks) if blocks else None


def sensitivity_section(results, figures):
    """Show Figures S.3 and S.4, and the statements of Section S.VIII."""
    found = printed.surfaces(results)
    if not found:
        return None
    found = {name: found[name] for name in results.datasets("sensitivity", "paper")}
    first, row = next(iter(found.values())), max(surface.row for surface in found.values())
    blocks = []
    # The lines of Figure S.3: through the chosen rho, and through the chosen kernel width.
    for name, x, values, label, log2 in (
        ("kernel_width", first.widths, "by_width", "kernel width ξ", True),
        ("rho", first.rhos, "by_rho", "ρ", False),
    ):
        lines = {of: getattr(surface, values).mean(axis=0) for of, surface in found.items()}
        limits = accuracy_limits([*lines.values()], row)
        figure = plots.lines(x, lines, label, "accuracy (%)", log2=log2, limits=limits)
        blocks.append(figures.block(f"sensitivity_{name}", figure, *WORDS.figure(name)))
    tuned = []
    for name, surface in found.items():
        # Figure S.4 as a heat map and as a surface, and what tuning saw.
        values, stem = surface.accuracy.mean(axis=0), name.replace("-", "_")
        axes = (surface.widths, surface.rhos, values)
        looks = {"log2": True, "title": name, "limits": accuracy_limits(values, surface.row)}
        drawn = {
            "heat_map": plots.heat_map(*axes, "kernel width ξ", "ρ", **looks),
            "surface": plots.surface(*axes, "ξ", "ρ", "accuracy (%)", **looks),
        }
        for kind, figure in drawn.items():
            words = WORDS.figure(kind, shown=common.literal(name), name=name)
            blocks.append(figures.block(f"{kind}_{stem}", figure, *words))
        seen = zip(surface.widths, surface.cv_accuracy.mean(axis=0), strict=True)
        rows = [(f"{width:g}", *row) for width, row in seen]
        columns = [f"ρ = {rho:g}" for rho in surface.rhos]
        tuned.append(TableBlock(WORDS.table("sensitivity", rows, columns, set=name, stem=stem)))
    blocks.append(TableBlock(sensitivity_claims(results)))
    blocks.append(Details(WORDS.text("folded_surfaces"), tuple(tuned)))
    seeds = sorted({len(surface.accuracy) for surface in found.values()})
    return WORDS.section("sensitivity", *blocks, seeds=" or ".join(map(str, seeds)))


def repeated_section(results, figures):
    """Show RoBell against the others over repeated splits, by each metric tuned by."""
    blocks: list = []
    for metric in results.tuned_by("table1", "repeated"):
        # Scored by what it was tuned by; the rest is in the table of all metrics.
        for score in (metric,) if metric in ("accuracy", "g_mean") else ("accuracy", "g_mean"):
            found, label = Comparison(results, "repeated", metric, score), SCORES[score]
            blocks.append(TableBlock(repeated_table(found)))
            if found.testable:
                name = f"critical_difference_repeated_{score}_{metric}"
                title = f"{label}, {len(found.datasets)} datasets"
                caption = f"Average ranks by {label}, means over the repeats."
                blocks.append(found.diagram(figures, name, title, caption))
                if found.own is not None:
                    blocks.append(TableBlock(sign_table(found)))
        table = all_scores(results, "repeated", metric)
        blocks.append(Details(f"All metrics, tuned by {metric}", (TableBlock(table),)))
    return WORDS.section("repeated", *blocks) if blocks else None


def errata_section():
    """Tell what is wrong with the printed numbers, each recomputed from the print."""
    test = statistics.friedman(printed_cells(DATASETS, printed.MODELS))
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
        needed=statistics.sign_threshold(len(DATASETS), "printed"),
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
    blocks += [Paragraph((text + common.last_run(run)).strip()), *common.failed_blocks(results)]
    return WORDS.section("how", *blocks)
