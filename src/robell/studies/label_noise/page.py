"""The page of the study of wrong labels: its words, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robell._tools.text import counted
from robell.comparison.peers import OURS, TIME_REFERENCE
from robell.comparison.scores import CLEAN, DECIMALS, METRICS, noise_name
from robell.comparison.study_page import (
    ModelTable,
    cell_table,
    diagrams,
    every_score,
    failures,
    last_run,
    of_group,
    one_by_one,
    one_table,
    remarks,
    significance_table,
    stem_of,
    time_table,
    unavailable_notes,
)
from robell.report import plots
from robell.report.page import (
    Bullets,
    Code,
    Details,
    Facts,
    Paragraph,
    Section,
    TableBlock,
)
from robell.report.tables import MINUS, Table, to_csv, to_markdown
from robell.studies.label_noise.models import EVERY_MODEL
from robell.studies.label_noise.results import has_several, is_tuned
from robell.studies.label_noise.sets import CHOOSING, CHOOSING_CLASSES, REPORTING, REPORTING_CLASSES

OUR_LABEL = EVERY_MODEL[OURS].label
FAR_BELOW = 0.05


@dataclass(frozen=True)
class Margin:
    """Our model beside the best of some peers, by one metric under one noise; place 1 is first."""

    kind: str
    level: int
    metric: str
    mean: float
    rank: float
    place: int  # by the mean
    rank_place: int  # by the average rank
    peer: str  # of the highest mean
    peer_mean: float
    best_peer_rank: float
    n_datasets: int
    error: float  # standard error over tables of the difference to that peer; NaN of one table
    n_below: int  # tables on which ours is more than .05 below that peer

    @property
    def difference(self):
        """Our mean less the best peer's."""
        return self.mean - self.peer_mean

    @property
    def verdict(self):
        """Return "level" where the difference is within one standard error, else which side."""
        if not abs(self.difference) > self.error:
            return "level"
        return "ahead" if self.difference > 0 else "behind"

    def __str__(self):
        sign = MINUS if self.difference < 0 else "+"
        error = "" if np.isnan(self.error) else f" ± {self.error:.3f}"
        return f"{sign}{abs(self.difference):.3f}{error} ({EVERY_MODEL[self.peer].short})"


def margins(cells, among=None):
    """Compare our model with the best peer in every metric of the cells that have both.

    ``among`` says of a model whether it is one of the peers to compare with; by default all are.
    """
    found = []
    for cell in cells:
        peers = [
            place
            for place, model in enumerate(cell.models)
            if model != OURS and (among is None or among(model))
        ]
        if OURS in cell.models and peers:
            found += [_margin(cell, metric, peers) for metric in METRICS]
    return found


def _margin(cell, metric, peers):
    own = cell.models.index(OURS)
    means, ranks, values = cell.means(metric), cell.ranks(metric), cell.values[metric]
    best = max(peers, key=lambda place: means[place])
    gap = values[:, own] - values[:, best]
    error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
    return Margin(
        cell.kind,
        cell.level,
        metric,
        float(means[own]),
        float(ranks[own]),
        _place(-means, own, peers),
        _place(ranks, own, peers),
        cell.models[best],
        float(means[best]),
        float(ranks[peers].min()),
        len(cell.datasets),
        float(error),
        int((gap < -FAR_BELOW).sum()),
    )


def _place(values, own, peers):
    values = np.round(values, DECIMALS)
    return 1 + int((values[peers] < values[own]).sum())


def margin_tables(found, group="", peers="the best peer"):
    """Return two tables, noises by metrics: our mean less the best peer's, and our places."""
    columns = ("Noise", "Sets", *METRICS.values())
    differences = Table(
        stem_of(group, "margins"),
        f"{OUR_LABEL} less {peers}{of_group(group)}",
        columns,
        _wide(found, str),
        caption="Difference of means ± its standard error over tables (which peer); each cell has "
        "its own best peer. Within one standard error the two are level.",
    )
    places = Table(
        stem_of(group, "places"),
        f"Place of {OUR_LABEL} by mean / by average rank{of_group(group)}",
        columns,
        _wide(found, lambda margin: f"{margin.place} / {margin.rank_place}"),
    )
    return differences, places


def _wide(found, show):
    rows = {}
    for margin in found:
        noise = (noise_name(margin.kind, margin.level), margin.n_datasets)
        rows.setdefault(noise, {})[margin.metric] = show(margin)
    return tuple((*noise, *(row[metric] for metric in METRICS)) for noise, row in rows.items())


def margin_details(found, group=""):
    """Return everything about our model beside the best peer, one row a noise and metric."""
    rows = [
        (
            noise_name(margin.kind, margin.level),
            METRICS[margin.metric],
            margin.mean,
            EVERY_MODEL[margin.peer].label,
            margin.peer_mean,
            margin.difference,
            margin.error,
            margin.verdict,
            f"{margin.n_below} of {margin.n_datasets}",
            margin.place,
            margin.rank,
            margin.best_peer_rank,
            margin.rank_place,
        )
        for margin in found
    ]
    columns = ("Noise", "Metric", "Ours", "Best peer", "Its mean", "Difference", "Standard error")
    columns += ("Verdict", "Tables .05 below", "Place")
    columns += ("Our rank", "Best peer's rank", "Place by rank")
    digits = (0, 0, 3, 0, 3, 3, 3, 0, 0, 0, 2, 2, 0)
    title = f"{OUR_LABEL} beside the best peer{of_group(group)}"
    return Table(stem_of(group, "margins_in_full"), title, columns, tuple(rows), digits=digits)


# -- probabilities -------------------------------------------------------------------------

PROBABILITY_SCORES = {
    "calibration_error": "Expected calibration error",
    "log_loss": "Log loss",
    "brier": "Brier score",
}


def probability_table(results, score, group=""):
    """Return a score of probabilities of every model, noises in columns; None without any."""
    found = results.probabilities(score)
    if not found:
        return None
    models = list(dict.fromkeys(model for here, _ in found.values() for model in here))
    rows = []
    for model in [m for m in EVERY_MODEL if m in models]:
        means = [
            float(values.mean(axis=0)[here.index(model)]) if model in here else None
            for here, values in found.values()
        ]
        rows.append((EVERY_MODEL[model].label, *means))
    sizes = sorted({len(values) for _, values in found.values()})
    n_tables = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f"{sizes[0]}"
    return ModelTable(
        stem_of(group, score),
        f"{PROBABILITY_SCORES[score]}{of_group(group)}",
        ("Model", *(noise_name(*place) for place in found)),
        tuple(rows),
        caption=f"Means over {n_tables} tables; smaller is better. Models without probabilities "
        "are left out.",
        digits=(0, *[3] * len(found)),
        column_best=(None, *["min"] * len(found)),
    )


# -- how well wrong labels are found: our model beside peers that look for nothing else


SCORE_LABELS = {
    "self_confidence": "self-confidence",
    "normalized_margin": "normalised margin",
    "confidence_weighted_entropy": "weighted entropy",
}
CLEANLAB = "cleanlab"


@dataclass(frozen=True)
class Detection:
    """One noise: average precision and missed share, tables by judges, means over splits."""

    kind: str
    level: int
    judges: tuple  # (model, score); score is "" for our model and for those with one score
    precision: np.ndarray
    missed: np.ndarray
    share: float  # of wrong labels: what a random order reaches

    @property
    def name(self):
        """The noise in words."""
        return noise_name(self.kind, self.level)

    def against_cleanlab(self):
        """Return (difference to the best cleanlab variant, standard error, which); None without."""
        theirs = [j for j, (model, _) in enumerate(self.judges) if model.startswith(CLEANLAB)]
        if (OURS, "") not in self.judges or not theirs:
            return None
        best = max(theirs, key=lambda j: self.precision[:, j].mean())
        gap = self.precision[:, self.judges.index((OURS, ""))] - self.precision[:, best]
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
        return float(gap.mean()), float(error), judge_label(self.judges[best])


def judge_label(judge):
    """Return a judge as readers see it."""
    model, score = judge
    label = EVERY_MODEL[model].label
    return f"{label}, {SCORE_LABELS[score]}" if score in SCORE_LABELS else label


def detections(results):
    """Return a Detection of every noise, over the tables and splits that all judges have."""
    found = {}
    for record in [*results.done, *results.detections]:
        job, outcome = record["job"], record.get("outcome", {})
        if has_several(record):
            continue
        place = (job["kind"], job["level"])
        row = found.setdefault(place, {}).setdefault((job["dataset"], job["seed"]), {})
        for score, values in _judgements(outcome).items():
            row[job["model"], score] = (values["average_precision"], values["missed"])
            row["share"] = outcome["n_flipped"] / outcome["n_train"]
    answer = []
    for place in sorted(found, key=lambda p: [*results.cells, p].index(p)):
        rows = {where: row for where, row in found[place].items() if row}
        if rows:
            answer.append(_detection(place, rows))
    return answer


def _judgements(outcome):
    """Return what a record says about labels, by the name of the score; nothing without flips."""
    judged = outcome.get("detection") or {}
    if "suspects" in outcome:
        judged = {"": outcome["suspects"]}
    judged = {"" if score == "area_under_margin" else score: v for score, v in judged.items()}
    return {score: v for score, v in judged.items() if v.get("average_precision") is not None}


def _detection(place, rows):
    order = list(EVERY_MODEL)
    judges = sorted(
        {judge for row in rows.values() for judge in row if judge != "share"},
        key=lambda judge: (order.index(judge[0]), judge[1]),
    )
    by_table = {}
    for (dataset, _), row in rows.items():
        if len(row) == len(judges) + 1:
            by_table.setdefault(dataset, []).append([row[judge] for judge in judges])
    means = [np.mean(by_table[name], axis=0) for name in sorted(by_table)]
    means = np.array(means).reshape(len(by_table), len(judges), 2)
    share = float(np.mean([row["share"] for row in rows.values()]))
    return Detection(*place, tuple(judges), means[:, :, 0], means[:, :, 1], share)


def detection_tables(found):
    """Return average precision and missed share of every judge, and our lead, by noise."""
    found = [one for one in found if len(one.precision)]
    # Where peers have judged, only those noises in which they have.
    found = [one for one in found if len(one.judges) > 1] or found
    if not found:
        return []
    tables = [
        _judge_table(
            found,
            [one.precision for one in found],
            [one.share for one in found],
            "max",
            "found_precision",
            "Wrong labels found: average precision",
        ),
        _judge_table(
            found,
            [one.missed for one in found],
            [1 - one.share for one in found],
            "min",
            "found_missed",
            "Wrong labels missed when as many rows are looked at as are wrong",
        ),
    ]
    leads = _lead_table(found)
    return [*tables, leads] if leads.rows else tables


def _judge_table(found, measured, chance, best, name, title):
    """Return a table of one measure: judges in rows, noises in columns, chance in the last row."""
    judges = list(dict.fromkeys(judge for one in found for judge in one.judges))
    rows = [
        (
            judge_label(judge),
            *(_mean_of(judge, one, values) for one, values in zip(found, measured, strict=True)),
        )
        for judge in judges
    ]
    sizes = sorted({len(one.precision) for one in found})
    return ModelTable(
        name,
        title,
        ("Judge", *(one.name for one in found)),
        (*rows, ("(a random order)", *chance)),
        caption=f"Over {' to '.join(map(str, sizes))} tables of two classes; the training rows "
        "are ranked by the quality of their labels, the worst first.",
        digits=(0, *[3] * len(found)),
        column_best=(None, *[best] * len(found)),
    )


def _mean_of(judge, one, values):
    """Return a judge's mean over the tables of one noise; None where it has not judged."""
    if judge not in one.judges:
        return None
    return float(values[:, one.judges.index(judge)].mean())


def _lead_table(found):
    """Return our average precision less that of the best cleanlab variant, noises in rows."""
    rows = []
    for one in found:
        if lead := one.against_cleanlab():
            gap, error, which = lead
            spread = "" if np.isnan(error) else f" ± {error:.3f}"
            rows.append((one.name, f"{MINUS if gap < 0 else '+'}{abs(gap):.3f}{spread}", which))
    title = f"{EVERY_MODEL[OURS].label} less the best cleanlab variant: average precision"
    return Table("found_leads", title, ("Noise", "Difference", "Which"), tuple(rows))


# -- what came out, in short: the page's subtitle, lines for a terminal, tables to be pasted


TITLE = "Wrong labels on imbalanced sets"
HEADLINE = "balanced_accuracy"


def cells_on(cells, names):
    """Return the cells over some of the tables alone, where they have any."""
    return [cell for cell in (cell.on(names) for cell in cells) if cell.datasets]


def reporting_cells(results, cells):
    """Return the cells over the reporting tables alone; none where all tables are such."""
    return cells_on(cells, REPORTING) if set(results.datasets) - set(REPORTING) else []


def subtitle(results):
    """Return the line below the title."""
    if not results.models:
        return "Nothing has been measured yet."
    noises = ["clean labels"] if (CLEAN, 0) in results.cells else []
    for kind in results.kinds:
        levels = ", ".join(str(level) for level in results.levels(kind) if level)
        noises.append(f"{kind} noise of {levels} %")
    n_tuned = sum(map(is_tuned, results.models))
    with_tuned = f", {n_tuned} of them tuned," if n_tuned else " without tuning"
    return (
        f"{len(results.models)} models{with_tuned} on {len(results.datasets)} tables, up to "
        f"{counted(len(results.seeds), 'split')} of each: {'; '.join(noises)}."
    )


def headline(results):
    """Return the balanced accuracy of every model by kind and level of noise, for a terminal."""
    parts = []
    for title, part in (
        ("", results.two_classes()),
        ("several classes, ", results.several_classes()),
        ("tuned peers, ", results.tuned()),
    ):
        cells = part.complete_cells()
        for kind in part.kinds or (CLEAN,):
            shown = [cell for cell in cells if cell.kind in (CLEAN, kind)]
            if shown:
                parts.append(_headline_table(title, kind, shown, part.models))
    return "\n\n".join(parts) or "Nothing has been measured yet."


def _headline_table(title, kind, shown, models):
    n_sets = sorted({len(cell.datasets) for cell in shown})
    sizes = counted(n_sets[0], "set")
    if len(n_sets) > 1:
        sizes = f"{n_sets[0]} to {n_sets[-1]} sets"
    noise = "clean labels" if kind == CLEAN else f"{kind} noise"
    lines = [f"{METRICS[HEADLINE]}, {title}{noise}, mean over {sizes} (average rank)"]
    lines.append(" " * 40 + "".join(f"{f'{cell.level} %':>14}" for cell in shown))
    for model in models:
        row = "".join(_headline_number(cell, model) for cell in shown)
        lines.append(f"{EVERY_MODEL[model].label:40}{row}")
    return "\n".join(lines)


def _headline_number(cell, model):
    if model not in cell.models:
        return f"{'-':>14}"
    place = cell.models.index(model)
    rank = f"({cell.ranks(HEADLINE)[place]:.1f})"
    return f"{cell.means(HEADLINE)[place]:8.3f}{rank:>6}"


def more_files(results):
    """Return the files beside the page: every score, and the main tables in Markdown."""
    parts = [results.two_classes(), results.several_classes()]
    cells = [cell for part in parts for cell in part.complete_cells()]
    tuned = results.tuned().complete_cells()
    return {
        "tables/every_score.csv": to_csv(every_score(cells)),
        "tables/every_tuned_score.csv": to_csv(every_score(tuned)),
        "summary.md": _markdown(results),
    }


def _markdown(results):
    two, several, tuned = results.two_classes(), results.several_classes(), results.tuned()
    cells, tuned_cells = two.complete_cells(), tuned.complete_cells()
    tables = _leads(cells)
    tables += _leads(reporting_cells(two, cells), "reporting")
    tables += _leads(cells_on(cells, two.wide()), "wide")
    tables += _leads(tuned_cells, "tuned", is_tuned)
    tables += _leads(tuned_cells, "same", lambda model: not is_tuned(model))
    tables += _leads(several.complete_cells(), "classes")
    tables += detection_tables(detections(results))
    for part, group in ((two, ""), (several, "classes")):
        tables += [probability_table(part, score, group) for score in PROBABILITY_SCORES]
    tables += [cell_table(cell) for cell in cells]
    tables += [cell_table(cell, "tuned") for cell in tuned_cells]
    tables += [cell_table(cell, "classes") for cell in several.complete_cells()]
    tables += [time_table(two, TIME_REFERENCE), time_table(tuned, TIME_REFERENCE)]
    tests = significance_table(cells, OURS, OUR_LABEL)
    tables += [tests] if tests.rows else []
    parts = [f"# {TITLE}\n\n{subtitle(results)}\n"]
    parts += [to_markdown(table) for table in tables if table]
    if results.failed:
        failed = [f"- `{record['key']}`: {record['error']}" for record in results.failed]
        parts.append("## Jobs that failed, scored as chance\n\n" + "\n".join(failed) + "\n")
    return "\n".join(parts)


def _leads(cells, group="", among=None):
    """Return the tables of our model beside the best peer, where there are both."""
    found = margins(cells, among)
    return [*margin_tables(found, group), margin_details(found, group)] if found else []


# -- the sections of the label-noise report: what was measured, in words, tables and figures


SHORTS = {key: model.short for key, model in EVERY_MODEL.items()}
# Not accuracy: it rewards models that never predict the minority.
COUNTING = tuple(metric for metric in METRICS if metric != "accuracy")
# Those with a diagram and tables of their own.
DIAGRAM_METRICS = ("balanced_accuracy", "roc_auc")
DIAGRAM_LEVELS = (0, 20, 40)
_NEAR = (
    "Rows of all classes have wrong labels, those near the other class more often: the probability "
    "falls as exp(−4 r / n), where r is the rank of a row by "
)
KIND_TEXTS = {
    "symmetric": "All training rows are equally likely to have a wrong label. Where the minority "
    "is small, most of the rows labelled as minority are then majority rows.",
    "asymmetric": "Only rows of the minority have wrong labels: they are labelled as majority, "
    "like frauds that nobody noticed. The level is a share of the minority.",
    "boundary": _NEAR + "its distance, after scaling, to the nearest row of the other class.",
    "boundary-logistic": _NEAR + "its distance to the boundary of a logistic regression of the "
    "right labels, which favours logistic regression.",
    "boundary-forest": _NEAR + "its out-of-bag margin in a forest of the right labels, which "
    "favours forests.",
    "group": "Rows come from three suppliers, whose goods differ but overlap, and one of them "
    "errs. The level is a share of its labels. Which supplier a row is from is not known.",
    "group-column": "The same suppliers, and columns that say which one a row is from, in the "
    "test rows too.",
}


def all_sections(results, run, figures):
    """Return the sections there is something to say in."""
    two = results.two_classes()
    cells = two.complete_cells()
    sections = [
        summary(results, cells, run),
        *clean_and_kinds(two, cells, figures),
        wide_sets(two, cells),
        tuned(results.tuned()),
        several_classes(results.several_classes(), figures),
        detection(results),
        probabilities(two, results.several_classes()),
        reporting_sets(two, cells),
        tests(cells),
        *one_table("times", "Fit time", time_table(two, TIME_REFERENCE)),
        each_set(cells),
        data(results, run),
        failures(results),
        how(results, run),
    ]
    return [section for section in sections if section is not None]


# -- the summary ---------------------------------------------------------------------------


def summary(results, cells, run):
    """Say what came out, first."""
    found = margins(cells)
    n_models = sum(not is_tuned(model) for model in results.models)
    facts = [
        ("Tables", str(len(results.datasets)), f"{counted(len(results.seeds), 'split')} of each"),
        ("Models", str(n_models), f"and {len(results.models) - n_models} tuned ones"),
        ("Jobs", f"{len(results.records):,}", f"{len(results.failed)} failed"),
    ]
    if found:
        counting = [margin for margin in found if margin.metric in COUNTING]
        where = f"{OUR_LABEL}, without accuracy"
        first = sum(margin.place == 1 for margin in counting)
        facts.append(("Best mean", f"{first} of {len(counting)}", where))
        ahead = sum(margin.verdict == "ahead" for margin in counting)
        facts.append(("Ahead by a standard error", f"{ahead} of {len(counting)}", where))
    blocks = [Facts(tuple(facts))]
    if found:
        blocks += [Bullets(tuple(_findings(found))), *_margin_blocks(found)]
    blocks += [*remarks(results.two_classes()), *unavailable_notes(run, "sets")]
    return Section("summary", "Summary", tuple(blocks))


def _findings(found):
    """Yield one sentence for each kind of noise."""
    for kind in dict.fromkeys(margin.kind for margin in found):
        own = [margin for margin in found if margin.kind == kind and margin.metric in COUNTING]
        verdicts = [margin.verdict for margin in own]
        ahead, level, behind = map(verdicts.count, ("ahead", "level", "behind"))
        spans = ", ".join(
            str(margin) + (f" at {margin.level}\u00a0%" if margin.level else "")
            for margin in own
            if margin.metric == "balanced_accuracy"
        )
        name = "clean labels" if kind == CLEAN else f"{kind} noise"
        yield (
            f"**{name.capitalize()}**: of {len(own)} comparisons with the best peer (levels and "
            f"metrics, accuracy not counted), {OUR_LABEL} is ahead in {ahead}, level in {level} "
            f"and behind in {behind}. Balanced accuracy: {spans}."
        )


def _margin_blocks(found, group="", peers="the best peer"):
    tables = [TableBlock(table) for table in margin_tables(found, group, peers)]
    full = TableBlock(margin_details(found, group))
    return [*tables, Details("The same in full: means, best peers, errors, ranks", (full,))]


# -- one kind of noise ---------------------------------------------------------------------


def clean_and_kinds(results, cells, figures):
    """Yield a section of clean labels, and one of each kind of noise at all its levels."""
    for kind in (CLEAN, *results.kinds):
        own = [cell for cell in cells if cell.kind == kind]
        if not own:
            continue
        blocks, title = [], "Clean labels"
        if kind != CLEAN:
            blocks, title = [Paragraph(KIND_TEXTS[kind])], f"{kind.capitalize()} noise"
            blocks += _curves(cells, kind, figures)
        blocks += [TableBlock(cell_table(cell)) for cell in own]
        for cell in own:
            if cell.level in DIAGRAM_LEVELS:
                blocks += diagrams(cell, figures, DIAGRAM_METRICS, SHORTS)
        yield Section(kind, title, tuple(blocks))


def _curves(cells, kind, figures, group=""):
    """Yield the figure of all metrics against the level: ours and the best peers by name."""
    cells = [cell for cell in cells if cell.kind in (CLEAN, kind)]
    if len(cells) < 2:
        return
    models = [m for m in cells[0].models if all(m in cell.models for cell in cells)]
    values = {
        title: {
            SHORTS[model]: [float(cell.means(metric)[cell.models.index(model)]) for cell in cells]
            for model in models
        }
        for metric, title in METRICS.items()
    }
    yield figures.block(
        f"{group}curves_{kind}",
        plots.named_curves(
            [cell.level for cell in cells],
            values,
            f"wrong training labels (%), {kind}",
            own=SHORTS[OURS],
        ),
        "Means over tables; test labels are left as they are. Named are our model and the three "
        "best peers of each panel.",
        f"Curves of six metrics against the level of {kind} noise, one line a model",
    )


# -- parts ---------------------------------------------------------------------------------


def wide_sets(results, cells):
    """Show the tables of many columns by themselves."""
    names = results.wide()
    wide = cells_on(cells, names)
    if not wide:
        return None
    shown = ", ".join(f"`{name}`" for name in results.datasets if name in names)
    blocks = [Paragraph(f"Tables of 40 columns or more, nominal ones as indicators: {shown}.")]
    found = margins(wide)
    blocks += _margin_blocks(found, "wide") if found else []
    tables = tuple(TableBlock(cell_table(cell, "wide")) for cell in wide)
    blocks.append(Details("Means and average ranks of every model", tables))
    return Section("wide", "Wide tables", tuple(blocks))


def tuned(results):
    """Show peers that were tuned beside ours, which never is."""
    cells = results.complete_cells()
    if not cells:
        return None
    text = (
        "Logistic regression, SVC, forest and LightGBM tuned over 12 candidates in three inner "
        "folds, and every quick peer with its threshold tuned in five, by the balanced accuracy of "
        f"the noisy labels; one split. {OUR_LABEL} is not tuned. CatBoost, EasyEnsemble and "
        "explainable boosting (4 bags), too slow for the whole study, are measured here."
    )
    blocks = [Paragraph(text)]
    for among, group, peers in (
        (is_tuned, "tuned", "the best tuned peer"),
        (lambda model: not is_tuned(model), "same", "the best peer that is not tuned"),
    ):
        found = margins(cells, among)
        blocks += _margin_blocks(found, group, peers) if found else []
    blocks += [TableBlock(cell_table(cell, "tuned")) for cell in cells]
    if times := time_table(results, TIME_REFERENCE):
        blocks.append(TableBlock(replace(times, name="tuned_fit_time")))
    return Section("tuned", "Tuned peers", tuple(blocks))


def several_classes(results, figures):
    """Show tables of more than two classes."""
    cells = results.complete_cells()
    if not cells:
        return None
    text = (
        "Tables as they are, of 3 to 15 classes. F1 is the macro F1, ROC AUC and average precision "
        "are means over classes, each against the others."
    )
    blocks = [Paragraph(text), *_curves(cells, "symmetric", figures, "classes_")]
    found = margins(cells)
    blocks += _margin_blocks(found, "classes") if found else []
    blocks += [TableBlock(cell_table(cell, "classes")) for cell in cells]
    return Section("classes", "Several classes", tuple(blocks))


def detection(results):
    """Show who finds the wrong labels."""
    tables = detection_tables(detections(results))
    if not tables:
        return None
    text = (
        f"The noisy training rows are judged as a whole: by {OUR_LABEL} with the fit that the "
        "other sections score, by cleanlab with out-of-fold probabilities (five folds), and by the "
        "area under the margin. Of two classes cleanlab's three scores rank nearly alike."
    )
    return Section("detection", "Wrong labels found", (Paragraph(text), *map(TableBlock, tables)))


def probabilities(two, several):
    """Show how far probabilities are from frequencies."""
    blocks = [
        TableBlock(table)
        for results, group in ((two, ""), (several, "classes"))
        for score in PROBABILITY_SCORES
        if (table := probability_table(results, score, group))
    ]
    if not blocks:
        return None
    text = (
        "Expected calibration error: in ten equal ranges of the probability of the minority (of "
        "several classes: of the predicted one), the distance of its mean from the share of rows, "
        "weighted by rows. Models that balance classes give probabilities as if classes were "
        "equally frequent, and are far off by design."
    )
    return Section("probabilities", "Probabilities", (Paragraph(text), *blocks))


def reporting_sets(results, cells):
    """Show the tables that were not used in making our model, by themselves."""
    reporting = reporting_cells(results, cells)
    if not reporting:
        return None
    names = ", ".join(f"`{name}`" for name in REPORTING if name in results.datasets)
    text = (
        f"Variants of {OUR_LABEL} were compared on some tables while it was made. These come from "
        f"other origins: {names}. Here they are by themselves."
    )
    blocks = [Paragraph(text)]
    found = margins(reporting)
    if found:
        blocks += _margin_blocks(found, "reporting")
    tables = tuple(TableBlock(cell_table(cell, "reporting")) for cell in reporting)
    blocks.append(Details("Means and average ranks of every model", tables))
    return Section("reporting", "Reporting tables", tuple(blocks))


def tests(cells):
    """Friedman and Nemenyi in every cell."""
    table = significance_table(cells, OURS, OUR_LABEL)
    if not table.rows:
        return None
    text = (
        "Several of the sets are made of the same rows with another class as the minority. The "
        "tests treat them as independent, which they are not."
    )
    return Section("tests", "Statistical tests", (TableBlock(table), Paragraph(text)))


def each_set(cells):
    """Every set by itself, in the metrics that have diagrams."""
    shown = [cell for cell in cells if cell.level in DIAGRAM_LEVELS]
    if not shown:
        return None
    return one_by_one(shown, DIAGRAM_METRICS, "set")


def _side(name):
    """Return whether a table reports or chose."""
    if name in (*REPORTING, *REPORTING_CLASSES):
        return "reporting"
    return "choosing" if name in (*CHOOSING, *CHOOSING_CLASSES) else "neither"


def data(results, run):
    """Where every set came from."""
    rows = []
    for name in results.datasets:
        about = results.data[name]
        size = [about.get(field) for field in ("n_rows", "n_features", "n_minority")]
        size.insert(2, len(about.get("class_counts", ())) or None)
        rows.append((name, *size, _side(name), about.get("source", ""), about.get("note", "")))
    for name, why in run.get("unavailable", {}).items():
        rows.append((name, None, None, None, None, "", "none", why))
    columns = ("Set", "Rows", "Columns", "Classes", "Smallest", "Side", "From", "Note")
    return Section("sets", "Sets", (TableBlock(Table("sets", "Sets", columns, tuple(rows))),))


def how(results, run):
    """How to get these numbers again, and how they were made."""
    seeds = ", ".join(map(str, results.seeds))
    records = [*results.records, *results.detections]
    total = sum(r["seconds"].get("total", 0.0) for r in records if "seconds" in r)
    texts = [
        f"Each set (2,000 rows at most) is split 70:30, stratified, with the seeds {seeds}. A seed "
        "decides the split and the model's random state and, together with the set's name, which "
        "labels are wrong. Only training rows get wrong labels, the same ones for all models; a "
        "higher level adds wrong labels to those of a lower one. The score of a set is the mean "
        "over seeds. Ranks are averaged over sets; models with equal scores share their rank. "
        "Each model uses one thread.",
        f"{len(records):,} jobs, {total:.0f} s in all.",
    ]
    if results.revisions:
        named = [(*name.partition("/"), r) for name, r in results.revisions.items()]
        revisions = [f"{EVERY_MODEL[m].label} {r}{' for ' * bool(of)}{of}" for m, _, of, r in named]
        texts.append(f"Revisions: {', '.join(revisions)}.")
    texts += [text for text in [last_run(run)] if text]
    blocks = [Code(run.get("command") or "robell robustness"), *map(Paragraph, texts)]
    return Section("how", "How to reproduce", tuple(blocks))
