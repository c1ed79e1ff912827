"""The tables of the study: every printed table measured again, the print beside it."""

from __future__ import annotations

import numpy as np

from robell.report.tables import Compared, Table
from robell.studies.engine.statistics import (
    average_ranks,
    friedman,
    nemenyi,
    sign_test,
    wilcoxon_holm,
    win_tie_loss,
)
from robell.studies.paper import printed
from robell.studies.paper.printed import MODELS
from robell.studies.paper.results import SCORES, scores_of

# Accuracies that agree to here are ties: they are shares of one number of rows.
DECIMALS = 9


def printed_cells(datasets, models):
    """Return Table I's accuracies, NaN for sets it does not have."""
    columns = [list(MODELS).index(model) for model in models]
    missing = (np.nan,) * len(MODELS)
    rows = [printed.TABLE_I.get(name, missing) for name in datasets]
    return np.array(rows).reshape(len(datasets), len(MODELS))[:, columns]


class Comparison:
    """One protocol's cells, and which of them averages and tests are made of.

    Parameters
    ----------
    results : Results
        The cells.
    protocol, tuned_by, score : str
        Which of them.

    Attributes
    ----------
    cells : Scores
        Every cell.
    datasets : tuple of str
        Sets that have a cell for every model and are no stand-ins.
    values : ndarray of shape (n_datasets, n_models)
        Their scores.
    """

    def __init__(self, results, protocol, tuned_by="accuracy", score="accuracy"):
        self.results, self.protocol, self.tuned_by, self.score = results, protocol, tuned_by, score
        self.cells = results.scores("table1", protocol, tuned_by, score)
        self.models = self.cells.models
        real = np.array([not results.is_stand_in(name) for name in self.cells.datasets], bool)
        mean = self.cells.mean[real]
        kept = np.isfinite(mean).all(axis=1) if mean.size else np.zeros(len(mean), bool)
        names = np.array(self.cells.datasets, dtype=object)[real]
        self.datasets, self.values = tuple(names[kept]), mean[kept]

    @property
    def testable(self):
        """Whether there is enough for ranks and tests."""
        return len(self.datasets) >= 2 and len(self.models) >= 3

    @property
    def ranks(self):
        """Average ranks of the models."""
        return average_ranks(self.values, DECIMALS)

    def against(self, model="robell"):
        """Return the column of a model, or None."""
        return self.models.index(model) if model in self.models else None


def shown(results, dataset):
    """Return a set's name with what must be known of it."""
    if results.is_stand_in(dataset):
        return f"{dataset} (stand-in)"
    about = results.data.get(dataset, {})
    if dataset in printed.TABLE_I and not about.get("paper_rows", True):
        return f"{dataset} *"
    return dataset


OTHER_ROWS = "* rows whose values or order are not the paper's, so its test part is not this one."


def table_one(comparison):
    """Return Table I: accuracies, averages and ranks, measured and printed."""
    results, cells = comparison.results, comparison.cells
    print_ = printed_cells(cells.datasets, cells.models)
    rows = []
    for i, name in enumerate(cells.datasets):
        stand_in = results.is_stand_in(name)
        pairs = zip(cells.mean[i], print_[i], strict=True)
        row = [Compared(m, None if stand_in else p) for m, p in pairs]
        rows.append((shown(results, name), *row))
    footer = _averages(comparison)
    note = OTHER_ROWS if any(row[0].endswith(" *") for row in rows) else ""
    if any(results.is_stand_in(name) for name in cells.datasets):
        note += " Stand-ins are in no average, rank or test."
    return Table(
        "table_1",
        "Table I: test accuracy (%)",
        ("Dataset", *(MODELS[model] for model in cells.models)),
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
    print_ = printed_cells(comparison.datasets, comparison.models)
    both = np.isfinite(print_).all(axis=1)
    has_print = both.all()
    n = len(comparison.datasets)
    mean_print = print_.mean(axis=0) if has_print else [None] * len(comparison.models)
    rows = [
        (
            f"Average accuracy ({n} sets)",
            *(
                Compared(m, p)
                for m, p in zip(comparison.values.mean(axis=0), mean_print, strict=True)
            ),
        )
    ]
    if len(comparison.models) > 1:
        rank_print = average_ranks(print_) if has_print else mean_print
        pairs = zip(comparison.ranks, rank_print, strict=True)
        rows.append((f"Average rank ({n} sets)", *(Compared(m, p) for m, p in pairs)))
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
        row = (
            shown(results, job["dataset"]),
            MODELS[job["model"]],
            job["repeat"],
            *(scores[name] for name in SCORES),
            100 * selected["cv_score"],
            chosen,
        )
        rows.append(row)
    order = {name: i for i, name in enumerate(MODELS.values())}
    rows.sort(key=lambda row: (row[0].lower(), order[row[1]], row[2]))
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
    rows = []
    for name in results.datasets("table1", "paper"):
        found = results.of("table1", "paper", dataset=name, model="robell", noise=0)
        if not found or name not in printed.TABLE_S4:
            continue
        selected = found[0]["outcome"]["selected"]["accuracy"]
        scores, parameters = scores_of(selected["confusion"]), selected["parameters"]
        print_ = printed.TABLE_S4[name]
        no_print = results.is_stand_in(name)
        pairs = [
            Compared(scores[score], None if no_print else getattr(print_, score))
            for score in ("sensitivity", "specificity", "precision", "f_measure", "g_mean")
        ]
        mine = _setting(parameters)
        theirs = "" if no_print else _setting(printed.s4_parameters(name))
        rows.append((shown(results, name), *pairs, mine, theirs))
    return Table(
        "table_s4",
        "Table S.IV: RoBell-RVFL in all metrics (%), and the parameters chosen",
        (
            "Dataset",
            "Sensitivity",
            "Specificity",
            "Precision",
            "F-measure",
            "G-mean",
            "Chosen here",
            "Printed",
        ),
        tuple(rows),
        caption=(
            "Parameters are γ, D, activation, ξ, ρ. The printed recall repeats sensitivity and is "
            "left out; a printed γ of 0 is read as 10⁻⁵ and ξ of 0.0313 as 1/32."
        ),
        note="The printed row of monk3 belongs to another file (181 test rows: MONK-2).",
    )


def _setting(parameters):
    names = ("C", "n_hidden", "activation", "kernel_width", "rho")
    return ", ".join(_short(parameters[name]) for name in names)


def friedman_table(comparison):
    """Return the Friedman test: as printed, recomputed from the print, and measured."""
    print_ = friedman(printed_cells(printed.DATASETS, list(MODELS)))
    columns = ["Statistic", "Printed", "From the printed Table I"]
    sources = [print_]
    if comparison.testable:
        columns.append("Measured")
        sources.append(friedman(comparison.values, decimals=DECIMALS))
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


def nemenyi_of(comparison):
    """Return the Nemenyi test of the measured cells."""
    return nemenyi(comparison.values, decimals=DECIMALS)


def printed_nemenyi():
    """Return the Nemenyi test of the printed Table I."""
    return nemenyi(printed_cells(printed.DATASETS, list(MODELS)))


def win_tie_loss_table(comparison):
    """Return Table S.I: wins, ties and losses of the row's model against the column's."""
    counts = win_tie_loss(comparison.values, DECIMALS)
    order = comparison.models
    rows = []
    for i, model in enumerate(order[1:], start=1):
        cells = []
        for j, other in enumerate(order[:-1]):
            if j >= i:
                cells.append("")
                continue
            text = "-".join(map(str, counts[i, j]))
            there = _printed_win_tie_loss(model, other)
            cells.append(f"{text} ({there})" if there else text)
        rows.append((MODELS[model], *cells))
    return Table(
        "table_s1",
        "Table S.I: wins-ties-losses, measured (printed)",
        ("Model", *(MODELS[model] for model in order[:-1])),
        tuple(rows),
        caption=f"Over {len(comparison.datasets)} sets; the print counts 26.",
    )


def _printed_win_tie_loss(model, other):
    cell = printed.WIN_TIE_LOSS.get((model, other))
    if cell is None and (turned := printed.WIN_TIE_LOSS.get((other, model))):
        cell = turned[::-1]
    return "-".join(map(str, cell)) if cell else ""


def sign_table(comparison, model="robell"):
    """Return the sign test of one model against each other, and Wilcoxon's by Holm's method."""
    own = comparison.against(model)
    counts = win_tie_loss(comparison.values, DECIMALS)
    wilcoxon = wilcoxon_holm(comparison.values, own)
    rows = []
    for j, other in enumerate(comparison.models):
        if j == own:
            continue
        test = sign_test(*counts[own, j].tolist())
        better = comparison.values[:, own] - comparison.values[:, j]
        verdict = "no"
        if test.significant:
            verdict = "better" if test.wins > test.losses else "worse"
        row = (
            MODELS[other],
            "-".join(map(str, counts[own, j])),
            f"{test.wins} of {test.n_datasets}",
            f"{test.threshold:.2f}",
            verdict,
            test.p,
            float(better.mean()),
            float(wilcoxon.p_holm[j]),
        )
        rows.append(row)
    name = f"sign_test_{comparison.protocol}_{comparison.tuned_by}_{comparison.score}"
    return Table(
        name,
        f"{MODELS[model]} against each other model ({SCORES[comparison.score]})",
        (
            "Against",
            "Wins-ties-losses",
            "Wins, ties shared",
            "Needed",
            "Significant",
            "Binomial p",
            "Mean difference",
            "Wilcoxon p (Holm)",
        ),
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
        ("Dataset", *(MODELS[model] for model in cells.models)),
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
    for name in results.datasets("probe", "paper"):
        if results.is_stand_in(name):
            continue
        outcome = results.of("probe", dataset=name)[0]["outcome"]
        own, plain = (np.array(outcome["accuracy"][model]) for model in ("robell", "rvfl"))
        print_ = printed.TABLE_I[name][list(MODELS).index("robell")]
        row = (
            shown(results, name),
            print_,
            float(own.mean()),
            float(own.std(ddof=1)),
            100 * float((own >= print_ - 1e-4).mean()),
            float(plain.mean()),
            float(plain.std(ddof=1)),
        )
        rows.append(row)
    return Table(
        "probe",
        "RoBell-RVFL at the parameters of Table S.IV, 100 seeds (accuracy, %)",
        ("Dataset", "Printed", "Mean", "sd", "Seeds ≥ printed (%)", "RVFL, same layers", "its sd"),
        tuple(rows),
        digits=(2, 2, 2, 2, 0, 2, 2),
        note=OTHER_ROWS if any(row[0].endswith(" *") for row in rows) else "",
    )


def noise_cells(results, protocol, tuned_by="accuracy", score="accuracy"):
    """Return {set: {model: [score by level]}} with the clean labels first."""
    names = results.datasets("noise", protocol)
    models = results.models("noise", protocol)
    levels = (0, *printed.NOISE_LEVELS)
    by_level = [
        results.scores(
            "noise" if level else "table1", protocol, tuned_by, score, level, datasets=names
        )
        for level in levels
    ]
    return levels, {
        name: {model: [_cell(scores, name, model) for scores in by_level] for model in models}
        for name in names
    }


def _cell(scores, dataset, model):
    if model not in scores.models:
        return float("nan")
    return float(scores.mean[scores.datasets.index(dataset), scores.models.index(model)])


def table_s2(results, protocol="paper"):
    """Return Table S.II: accuracy under label noise, measured and printed."""
    _, cells = noise_cells(results, protocol)
    models = [m for m in printed.NOISE_MODELS if m in results.models("noise", protocol)]
    with_print = protocol == "paper"
    rows, measured, print_ = [], [], []
    for name, curves in cells.items():
        for k, level in enumerate(printed.NOISE_LEVELS, start=1):
            values = [curves[model][k] for model in models]
            there = [None] * len(models)
            if with_print and name in printed.TABLE_S2 and not results.is_stand_in(name):
                row = printed.TABLE_S2[name][level]
                there = [row[printed.NOISE_MODELS.index(model)] for model in models]
            measured.append(values)
            print_.append([np.nan if value is None else value for value in there])
            pairs = zip(values, there, strict=True)
            rows.append((shown(results, name), f"{level} %", *(Compared(m, p) for m, p in pairs)))
    footer = []
    if measured and np.isfinite(measured).all():
        means = np.mean(measured, axis=0)
        there = np.mean(print_, axis=0)
        row = (Compared(m, p) for m, p in zip(means, there, strict=True))
        footer = [("Overall average", f"{len(cells)} sets", *row)]
    return Table(
        f"table_s2_{protocol}",
        f"Table S.II: accuracy (%) with flipped training labels (protocol {protocol})",
        ("Dataset", "Noise", *(MODELS[model] for model in models)),
        (*rows, *footer),
        caption="Models are tuned on the noisy folds; test labels are clean.",
        best="max",
        best_columns=tuple(MODELS[model] for model in models),
        footer=len(footer),
        note=OTHER_ROWS if any(row[0].endswith(" *") for row in rows) else "",
    )


def sensitivity_claims(results):
    """Return what S.VIII says about ξ and ρ, held against the measured surfaces."""
    surfaces = {}
    for record in results.of("sensitivity"):
        surfaces[record["job"]["dataset"]] = record["outcome"]
    rows = []
    for claim in printed.CLAIMS:
        for name in claim.datasets:
            if name in surfaces:
                rows.append((claim.place, name, claim.text, *_held(claim, surfaces[name])))
    return Table(
        "sensitivity_claims",
        "What Section S.VIII says, and what was measured",
        ("Place", "Dataset", "Says", "Best inside its range", "Best anywhere", "At", "Holds"),
        tuple(rows),
        caption=(
            "Test accuracy (%) with γ, D and the activation held at the chosen ones. A statement "
            "holds here if the best accuracy anywhere is reached inside the range it names."
        ),
    )


def _held(claim, outcome):
    surface = np.array(outcome["test_accuracy"])
    inside = np.ones(surface.shape, bool)
    if claim.kernel_width:
        widths = np.array(outcome["kernel_width"])[:, None]
        inside &= (widths >= claim.kernel_width[0]) & (widths <= claim.kernel_width[1])
    if claim.rho:
        rhos = np.array(outcome["rho"])[None, :]
        inside &= (rhos >= claim.rho[0]) & (rhos <= claim.rho[1])
    best = surface.max()
    i, j = np.argwhere(surface == best)[0]
    at = f"ξ={outcome['kernel_width'][i]:g}, ρ={outcome['rho'][j]:g}"
    n_best = int((surface == best).sum())
    if n_best > 1:
        at += f" and {n_best - 1} more"
    within = surface[inside].max()
    return float(within), float(best), at, "yes" if within >= best else "no"
