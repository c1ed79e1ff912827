"""The page of the study of wrong labels: its words, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robell.comparison import study_page as common
from robell.comparison.peers import OURS, TIME_REFERENCE
from robell.comparison.scores import (
    CLEAN,
    DECIMALS,
    METRICS,
    by_split,
    means_over_splits,
    noise_name,
)
from robell.report import plots
from robell.report.page import Bullets, Details, Facts, TableBlock, Words
from robell.report.tables import MINUS, to_csv, to_markdown
from robell.studies.label_noise.jobs import CHOOSING, CHOOSING_CLASSES, REPORTING, REPORTING_CLASSES
from robell.studies.label_noise.models import DETECTORS, EVERY_MODEL
from robell.studies.label_noise.results import NoiseResults, has_several, is_tuned

WORDS = Words("robell.studies.label_noise")
OUR_LABEL = EVERY_MODEL[OURS].label
FAR_BELOW = 0.05


class Margin:
    """Our model beside the best of some peers, by one metric under one noise; place 1 is first."""

    def __init__(self, cell, metric, peers):
        own, values = cell.models.index(OURS), cell.values[metric]
        means, ranks = cell.means(metric), cell.ranks(metric)
        best = max(peers, key=lambda place: means[place])
        gap = values[:, own] - values[:, best]
        self.kind, self.level, self.noise, self.metric = cell.kind, cell.level, cell.name, metric
        self.mean, self.rank = float(means[own]), float(ranks[own])
        self.place, self.rank_place = (  # by the mean, and by the average rank
            1 + int((by[peers] < by[own]).sum()) for by in np.round([-means, ranks], DECIMALS)
        )
        self.peer, self.peer_mean = cell.models[best], float(means[best])  # of the highest mean
        self.best_peer_rank, self.n_datasets = float(ranks[peers].min()), len(gap)
        self.error = error_of(gap)  # of the difference to that peer, over tables; NaN of one table
        self.n_below = int((gap < -FAR_BELOW).sum())  # tables on which ours is far below that peer

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
        return f"{signed(self.difference, self.error)} ({EVERY_MODEL[self.peer].short})"


def signed(difference, error):
    """Return a difference with its sign, and its standard error where there is one."""
    spread = "" if np.isnan(error) else f" ± {error:.3f}"
    return f"{MINUS if difference < 0 else '+'}{abs(difference):.3f}{spread}"


def error_of(gap):
    """Return the standard error of a mean difference over tables; NaN of one table."""
    return gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan


def margins(cells, among=lambda model: True):
    """Compare our model with the best peer in every metric of the cells that have both.

    ``among`` says of a model whether it is one of the peers to compare with.
    """
    found = []
    for cell in cells:
        peers = [k for k, model in enumerate(cell.models) if model != OURS and among(model)]
        if OURS in cell.models and peers:
            found += [Margin(cell, metric, peers) for metric in METRICS]
    return found


def margin_tables(found, group="", peers="the best peer"):
    """Return two tables, noises by metrics: our mean less the best peer's, and our places."""
    noises: dict = {}
    for margin in found:
        noises.setdefault((margin.noise, margin.n_datasets), []).append(margin)
    leads = [(*noise, *map(str, of)) for noise, of in noises.items()]
    places = [(*n, *(f"{m.place} / {m.rank_place}" for m in of)) for n, of in noises.items()]
    return tuple(
        WORDS.table(name, rows, peers=peers, **_of_group(name, group))
        for name, rows in (("margins", leads), ("places", places))
    )


def _of_group(name, group):
    """Return the values that tables of a group of sets have in their words."""
    return {
        "name": common.stem_of(group, name),
        "group": common.of_group(group),
        "own": OUR_LABEL,
    }


def margin_details(found, group=""):
    """Return everything about our model beside the best peer, one row a noise and metric."""
    rows = [
        (
            *(m.noise, METRICS[m.metric], m.mean, EVERY_MODEL[m.peer].label, m.peer_mean),
            *(m.difference, m.error, m.verdict, f"{m.n_below} of {m.n_datasets}"),
            *(m.place, m.rank, m.best_peer_rank, m.rank_place),
        )
        for m in found
    ]
    return WORDS.table("margins_in_full", rows, **_of_group("margins_in_full", group))


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
    means = [dict(zip(here, v.mean(axis=0), strict=True)) for here, v in found.values()]
    rows = [
        (EVERY_MODEL[model].label, *(of.get(model) for of in means))
        for model in EVERY_MODEL
        if any(model in of for of in means)
    ]
    words = _of_group(score, group) | {"score": PROBABILITY_SCORES[score]}
    words["n_tables"] = common.span([len(values) for _, values in found.values()])
    return WORDS.table("probabilities", rows, [noise_name(*place) for place in found], **words)


# -- how well wrong labels are found: our model beside peers that look for nothing else


SCORE_LABELS = {
    "self_confidence": "self-confidence",
    "normalized_margin": "normalised margin",
    "confidence_weighted_entropy": "weighted entropy",
}
RIVALS = {
    "all": tuple(DETECTORS),
    "cleanlab": tuple(model for model in DETECTORS if model.startswith("cleanlab")),
}


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

    def lead_over(self, rivals):
        """Return our lead over the best of some judges, in words, and which; None without both."""
        theirs = [place for place, (model, _) in enumerate(self.judges) if model in rivals]
        if (OURS, "") not in self.judges or not theirs:
            return None
        best = max(theirs, key=lambda place: self.precision[:, place].mean())
        gap = self.precision[:, self.judges.index((OURS, ""))] - self.precision[:, best]
        return signed(gap.mean(), error_of(gap)), judge_label(self.judges[best])


def judge_label(judge):
    """Return a judge as readers see it."""
    model, score = judge
    label = EVERY_MODEL[model].label
    return f"{label}, {SCORE_LABELS[score]}" if score in SCORE_LABELS else label


def detections(results):
    """Return a Detection of every noise, over the tables and splits that all judges have."""

    def numbers(record):
        outcome, model = record["outcome"], record["job"]["model"]
        if has_several(record):
            return {}
        share = outcome["n_flipped"] / outcome["n_train"]
        return {
            (model, score): [values["average_precision"], values["missed"], share]
            for score, values in _judgements(outcome).items()
        }

    done = [r for r in [*results.done, *results.detections] if r["status"] == "done"]
    found = by_split(done, numbers)
    order = [(model, score) for model in EVERY_MODEL for score in ("", *sorted(SCORE_LABELS))]
    answer = []
    for kind, level in sorted(found, key=lambda p: [*results.cells, p].index(p)):
        judges, _, means, *_ = means_over_splits(found[kind, level], 3, order)
        share = float(means[:, 0, 2].mean()) if len(means) else 0.0
        answer.append(Detection(kind, level, judges, means[:, :, 0], means[:, :, 1], share))
    return answer


def _judgements(outcome):
    """Return what a record says about labels, by the name of the score; nothing without flips."""
    judged = outcome.get("detection") or {}
    if "suspects" in outcome:
        judged = {"": outcome["suspects"]}
    judged = {"" if score == "area_under_margin" else score: v for score, v in judged.items()}
    return {score: v for score, v in judged.items() if v.get("average_precision") is not None}


def detection_tables(found):
    """Return average precision and missed share of every judge, and our lead, by noise."""
    found = [one for one in found if len(one.precision)]
    # Where peers have judged, only those noises in which they have.
    found = [one for one in found if len(one.judges) > 1] or found
    if not found:
        return []
    judges = list(dict.fromkeys(judge for one in found for judge in one.judges))
    sizes = common.span([len(one.precision) for one in found])
    tables = []
    for name, field, chance in (
        ("found_precision", "precision", [one.share for one in found]),
        ("found_missed", "missed", [1 - one.share for one in found]),
    ):
        means = [
            dict(zip(one.judges, getattr(one, field).mean(axis=0), strict=True)) for one in found
        ]
        rows = [(judge_label(judge), *(of.get(judge) for of in means)) for judge in judges]
        rows.append(("(a random order)", *chance))
        tables.append(WORDS.table(name, rows, [one.name for one in found], n_tables=sizes))
    leads = [
        (one.name, rivals, *lead)
        for rivals, models in RIVALS.items()
        for one in found
        if (lead := one.lead_over(models))
    ]
    return [*tables, WORDS.table("found_leads", leads, own=OUR_LABEL)] if leads else tables


# -- what came out, in short: the page's subtitle, lines for a terminal, tables to be pasted


TITLE = "Wrong labels on imbalanced sets"
HEADLINE = "balanced_accuracy"


def read(records, run):
    """Return the results that a run has asked for."""
    return NoiseResults(records, run.get("seeds"), run.get("revisions"))


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
    return WORDS.text(
        "subtitle",
        n_models=len(results.models),
        with_tuned=with_tuned,
        n_tables=len(results.datasets),
        splits=common.counted(len(results.seeds), "split"),
        noises="; ".join(noises),
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
    sizes = common.span([len(cell.datasets) for cell in shown], "set")
    noise = "clean labels" if kind == CLEAN else f"{kind} noise"
    labels = {model: EVERY_MODEL[model].label for model in models}
    first = f"{METRICS[HEADLINE]}, {title}{noise}, mean over {sizes} (average rank)"
    return "\n".join([first, *common.headline_lines(shown, labels, HEADLINE, 40, 1)])


def more_files(results, sections):
    """Return the files beside the page: every score, and the main tables in Markdown."""
    untuned = [results.two_classes(), results.several_classes()]
    files = {}
    for name, parts in (("", untuned), ("tuned_", [results.tuned()])):
        cells = [cell for part in parts for cell in part.complete_cells()]
        files[f"tables/every_{name}score.csv"] = to_csv(common.every_score(parts))
        files[f"tables/mean_{name}scores.csv"] = to_csv(common.mean_scores(cells))
    shown = [section for section in sections if section.id not in ("each-set", "sets")]
    tables = map(to_markdown, common.tables_in(shown))
    return files | {"summary.md": "\n".join([f"# {TITLE}\n\n{subtitle(results)}\n", *tables])}


# -- the sections of the label-noise report: what was measured, in words, tables and figures


SHORTS = {key: model.short for key, model in EVERY_MODEL.items()}
# Not accuracy: it rewards models that never predict the minority.
COUNTING = tuple(metric for metric in METRICS if metric != "accuracy")
# Those with a diagram and tables of their own.
DIAGRAM_METRICS = ("balanced_accuracy", "roc_auc")
DIAGRAM_LEVELS = (0, 20, 40)


def all_sections(results, run, figures):
    """Return the sections; None in place of one that has nothing to say."""
    two = results.two_classes()
    cells = two.complete_cells()
    times = common.time_table(two, TIME_REFERENCE)
    # The tables that report by themselves, where there are others.
    reporting = REPORTING if set(two.datasets) - set(REPORTING) else ()
    shown = [cell for cell in cells if cell.level in DIAGRAM_LEVELS]
    return [
        summary(results, cells, run),
        *clean_and_kinds(two, cells, figures),
        some_sets(two, cells, two.wide(), "wide"),
        tuned(results.tuned()),
        several_classes(results.several_classes(), figures),
        detection(results),
        probabilities(two, results.several_classes()),
        some_sets(two, cells, reporting, "reporting"),
        tests(cells),
        WORDS.section("times", TableBlock(times)) if times else None,
        common.one_by_one(shown, DIAGRAM_METRICS, "set") if shown else None,
        data(results, run),
        common.failures(results),
        how(results, run),
    ]


# -- the summary ---------------------------------------------------------------------------


def summary(results, cells, run):
    """Say what came out, first."""
    found = margins(cells)
    n_models = sum(not is_tuned(model) for model in results.models)
    facts = common.first_facts(
        results, n_models, f"and {len(results.models) - n_models} tuned ones"
    )
    if found:
        counting = [margin for margin in found if margin.metric in COUNTING]
        where = f"{OUR_LABEL}, without accuracy"
        first = sum(margin.place == 1 for margin in counting)
        facts.append(("Best mean", f"{first} of {len(counting)}", where))
        ahead = sum(margin.verdict == "ahead" for margin in counting)
        facts.append(("Ahead by a standard error", f"{ahead} of {len(counting)}", where))
    blocks: list = [Facts(tuple(facts))]
    if found:
        blocks += [Bullets(tuple(_findings(found))), *_margin_blocks(found)]
    blocks += [*common.remarks(results.two_classes()), *common.unavailable_notes(run, "sets")]
    return WORDS.section("summary", *blocks)


def _findings(found):
    """Yield one sentence for each kind of noise."""
    for kind in dict.fromkeys(margin.kind for margin in found):
        own = [margin for margin in found if margin.kind == kind and margin.metric in COUNTING]
        verdicts = [margin.verdict for margin in own]
        spans = ", ".join(
            str(margin) + (f" at {margin.level}\u00a0%" if margin.level else "")
            for margin in own
            if margin.metric == "balanced_accuracy"
        )
        name = "clean labels" if kind == CLEAN else f"{kind} noise"
        counts = {verdict: verdicts.count(verdict) for verdict in ("ahead", "level", "behind")}
        words = {"noise": name.capitalize(), "n": len(own), "own": OUR_LABEL, "spans": spans}
        yield WORDS.text("finding", **words, **counts)


def _margin_blocks(found, group="", peers="the best peer"):
    """Return the tables of our model beside the best peer; nothing where it met no peer."""
    if not found:
        return []
    tables = [TableBlock(table) for table in margin_tables(found, group, peers)]
    full = TableBlock(margin_details(found, group))
    return [*tables, Details("The same in full: means, best peers, errors, ranks", (full,))]


# -- the parts -----------------------------------------------------------------------------


def clean_and_kinds(results, cells, figures):
    """Yield a section of clean labels, and one of each kind of noise at all its levels."""
    for kind in (CLEAN, *results.kinds):
        own = [cell for cell in cells if cell.kind == kind]
        if own:
            blocks = [] if kind == CLEAN else [*_curves(cells, kind, figures)]
            blocks += [TableBlock(common.cell_table(cell)) for cell in own]
            for cell in own:
                if cell.level in DIAGRAM_LEVELS:
                    blocks += common.diagrams(cell, figures, DIAGRAM_METRICS, SHORTS)
            yield WORDS.section(kind, *blocks)


def _curves(cells, kind, figures, group=""):
    """Yield the figure of all metrics against the level: ours and the best peers by name."""
    cells = [cell for cell in cells if cell.kind in (CLEAN, kind)]
    if len(cells) < 2:
        return
    names = {m: SHORTS[m] for m in cells[0].models if all(m in cell.models for cell in cells)}
    figure = plots.named_curves(
        [cell.level for cell in cells],
        common.curve_values(cells, names),
        f"wrong training labels (%), {kind}",
        own=SHORTS[OURS],
    )
    yield figures.block(f"{group}curves_{kind}", figure, *WORDS.figure("curves", kind=kind))


def some_sets(results, cells, names, group):
    """Show some of the tables by themselves; None where there are none of them."""
    cells = [part for cell in cells if (part := cell.on(names)).datasets]
    if not cells:
        return None
    tables = tuple(TableBlock(common.cell_table(cell, group)) for cell in cells)
    blocks = [
        *_margin_blocks(margins(cells), group),
        Details("Means and average ranks of every model", tables),
    ]
    shown = ", ".join(f"`{name}`" for name in results.datasets if name in names)
    return WORDS.section(group, *blocks, own=OUR_LABEL, names=shown)


def tuned(results):
    """Show peers that were tuned beside ours, which never is."""
    cells = results.complete_cells()
    if not cells:
        return None
    blocks = _margin_blocks(margins(cells, is_tuned), "tuned", "the best tuned peer")
    untuned = margins(cells, lambda model: not is_tuned(model))
    blocks += _margin_blocks(untuned, "same", "the best peer that is not tuned")
    blocks += [TableBlock(common.cell_table(cell, "tuned")) for cell in cells]
    if times := common.time_table(results, TIME_REFERENCE):
        blocks.append(TableBlock(replace(times, name="tuned_fit_time")))
    return WORDS.section("tuned", *blocks, own=OUR_LABEL)


def several_classes(results, figures):
    """Show tables of more than two classes."""
    cells = results.complete_cells()
    if not cells:
        return None
    blocks = [*_curves(cells, "symmetric", figures, "classes_")]
    blocks += _margin_blocks(margins(cells), "classes")
    blocks += [TableBlock(common.cell_table(cell, "classes")) for cell in cells]
    return WORDS.section("classes", *blocks)


def detection(results):
    """Show who finds the wrong labels."""
    tables = detection_tables(detections(results))
    return WORDS.section("detection", *map(TableBlock, tables), own=OUR_LABEL) if tables else None


def probabilities(two, several):
    """Show how far probabilities are from frequencies."""
    blocks = [
        TableBlock(table)
        for results, group in ((two, ""), (several, "classes"))
        for score in PROBABILITY_SCORES
        if (table := probability_table(results, score, group))
    ]
    return WORDS.section("probabilities", *blocks) if blocks else None


def tests(cells):
    """Friedman and Nemenyi in every cell."""
    return common.one_table("tests", common.significance_table(cells, OURS, OUR_LABEL), WORDS)


def data(results, run):
    """Where every set came from."""
    sides = dict.fromkeys((*CHOOSING, *CHOOSING_CLASSES), "choosing")
    sides |= dict.fromkeys((*REPORTING, *REPORTING_CLASSES), "reporting")
    rows = []
    for name in results.datasets:
        about, side = results.data[name], sides.get(name, "neither")
        size = [about.get(field) for field in ("n_rows", "n_features", "n_minority")]
        size.insert(2, len(about.get("class_counts", ())) or None)
        rows.append((name, *size, side, about.get("source", ""), about.get("note", "")))
    for name, why in run.get("unavailable", {}).items():
        rows.append((name, None, None, None, None, "", "none", why))
    return WORDS.section("sets", TableBlock(WORDS.table("sets", rows)))


def how(results, run):
    """How to get these numbers again, and how they were made."""
    records = [*results.records, *results.detections]
    total = sum(r["seconds"].get("total", 0.0) for r in records if "seconds" in r)
    texts = [
        WORDS.text("protocol", seeds=", ".join(map(str, results.seeds))),
        WORDS.text("total", n=len(records), total=total),
    ]
    if results.revisions:
        named = [(*name.partition("/"), r) for name, r in results.revisions.items()]
        revisions = [f"{EVERY_MODEL[m].label} {r}{' for ' * bool(of)}{of}" for m, _, of, r in named]
        texts.append(f"Revisions: {', '.join(revisions)}.")
    texts += [f"{common.literal(text)}." for text in run.get("left_out", ())]
    return common.how_section(run, "robell robustness", *texts)
