"""The study of wrong labels: its records as arrays of scores, and its page of words and tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robell.comparison import study_page as common
from robell.comparison.peers import OF_SEVERAL, OURS, TIME_REFERENCE, USUAL, revision_of
from robell.comparison.scores import CLEAN, DECIMALS, METRICS, ScoreResults, cells_of, ordered
from robell.report import plots
from robell.report.page import Bullets, Details, Facts, TableBlock, Words
from robell.report.tables import MINUS, to_markdown
from robell.studies.label_noise import jobs
from robell.studies.label_noise.models import DETECTORS, EVERY_MODEL, TUNED

WORDS = Words("robell.studies.label_noise")
LABELS = {key: model.label for key, model in EVERY_MODEL.items()}
SHORTS = {key: model.short for key, model in EVERY_MODEL.items()}
OUR_LABEL = LABELS[OURS]
ORDER = tuple(dict.fromkeys([*jobs.GROUPS["all"], *jobs.SETS]))
FAR_BELOW = 0.05


class NoiseResults(ScoreResults):
    """The records of the study; jobs that failed are scored as chance.

    Of a model with revisions only one counts, by default the newest, so that no mean is of two. The
    models that only look for wrong labels are apart, in ``detections``.
    """

    def __init__(self, records, seeds=None, revisions=None):
        records = list(records)
        several = {r["job"]["dataset"]: has_several(r) for r in records}
        newest = {}
        for job in (r["job"] for r in records):
            newest[job["model"], several[job["dataset"]]] = job["revision"]

        def counts(job):
            place = job["model"], several[job["dataset"]]
            revision = revision_of(revisions or {}, *place, newest[place])
            return (seeds is None or job["seed"] in seeds) and job["revision"] == revision

        scored = [r for r in records if r["job"]["model"] not in DETECTORS]
        super().__init__(scored, counts, labels=LABELS, sets=ORDER, kinds=jobs.LEVELS)
        found = [r["job"] for r in self.records]
        self.revisions = {
            job["model"] + OF_SEVERAL * several[job["dataset"]]: job["revision"]
            for job in found
            if job["revision"]
        }
        digests = {job["dataset"]: job["digest"] for job in found}
        self.detections = [
            r
            for r in records
            if (job := r["job"])["model"] in DETECTORS
            and counts(job)
            and digests.get(job["dataset"], job["digest"]) == job["digest"]
        ]
        self.failed += [r for r in self.detections if r["status"] != "done"]

    def part(self, keep):
        """Return the results of the records that a function of record and job keeps."""
        return NoiseResults(r for r in self.records if keep(r, r["job"]))

    def two_classes(self):
        """Return what models that are not tuned reach on tables of two classes."""
        return self.part(lambda r, job: job["model"] in USUAL and not has_several(r))

    def several_classes(self):
        """Return what models that are not tuned reach on tables of more classes."""
        return self.part(lambda r, job: job["model"] in USUAL and has_several(r))

    def tuned(self):
        """Return all models in the noises and on the tables on which peers were tuned."""

        def place(job):
            return tuple(job[field] for field in ("dataset", "kind", "level", "seed"))

        places = {place(r["job"]) for r in self.records if is_tuned(r["job"]["model"])}
        return self.part(lambda r, job: place(job) in places)

    def wide(self):
        """Return the names of the tables of forty columns or more."""
        return {name for name, of in self.data.items() if of.get("n_features", 0) >= jobs.WIDE}


def has_several(record):
    """Say whether a record is of a table of more than two classes."""
    return len(record.get("data", {}).get("class_counts", ())) > 2


def is_tuned(model):
    """Say whether a model is a peer that was tuned, by its parameters or by its threshold."""
    return model in TUNED


def read(records, run):
    """Return the results that a run has asked for."""
    return NoiseResults(records, run.get("seeds"), run.get("revisions"))


# -- our model beside its peers ------------------------------------------------------------


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
        self.difference = self.mean - self.peer_mean
        self.verdict = "level"  # where the difference is within one standard error
        if abs(self.difference) > self.error:
            self.verdict = "ahead" if self.difference > 0 else "behind"

    def __str__(self):
        return f"{signed(self.difference, self.error)} ({SHORTS[self.peer]})"


def signed(difference, error):
    """Return a difference with its sign, and its standard error where there is one."""
    spread = "" if np.isnan(error) else f" ± {error:.3f}"
    return f"{MINUS if difference < 0 else '+'}{abs(difference):.3f}{spread}"


def error_of(gap):
    """Return the standard error of a mean difference over tables; NaN of one table."""
    return gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan


def margins(cells, among=lambda model: True):
    """Compare our model with the best of the peers ``among`` says yes to, by cell and metric."""
    found = []
    for cell in cells:
        peers = [k for k, model in enumerate(cell.models) if model != OURS and among(model)]
        if OURS in cell.models and peers:
            found += [Margin(cell, metric, peers) for metric in METRICS]
    return found


def _table(words, name, group, rows, columns=(), **values):
    """Return a table of a group of sets, which its name and its title tell."""
    return WORDS.table(
        words, rows, columns, own=OUR_LABEL, **common.of_group(group, name), **values
    )


def margin_tables(found, group="", peers="the best peer"):
    """Return two tables, noises by metrics: our mean less the best peer's, and our places."""
    noises: dict = {}
    for margin in found:
        noises.setdefault((margin.noise, margin.n_datasets), []).append(margin)
    leads = [(*noise, *map(str, of)) for noise, of in noises.items()]
    places = [(*n, *(f"{m.place} / {m.rank_place}" for m in of)) for n, of in noises.items()]
    return tuple(
        _table(name, name, group, rows, peers=peers)
        for name, rows in (("margins", leads), ("places", places))
    )


def margin_details(found, group=""):
    """Return everything about our model beside the best peer, one row a noise and metric."""
    rows = [
        (
            *(m.noise, METRICS[m.metric], m.mean, LABELS[m.peer], m.peer_mean),
            *(m.difference, m.error, m.verdict, f"{m.n_below} of {m.n_datasets}"),
            *(m.place, m.rank, m.best_peer_rank, m.rank_place),
        )
        for m in found
    ]
    return _table("margins_in_full", "margins_in_full", group, rows)


def noise_means(cells, metric, labels):
    """Return a row a model, its means under every noise, NaN where it has none; and the noises."""
    models = ordered({model for cell in cells for model in cell.models}, labels)
    rows = [(labels[model], *(cell.mean_of(metric, model) for cell in cells)) for model in models]
    return rows, [cell.name for cell in cells]


# -- probabilities, and how well wrong labels are found beside peers that look for nothing else


PROBABILITY_SCORES = {
    "calibration_error": "Expected calibration error",
    "log_loss": "Log loss",
    "brier": "Brier score",
}


def probability_table(results, score, group=""):
    """Return a score of probabilities of every model, noises in columns; None without any."""

    def numbers(record):
        given = record["outcome"].get("probabilities")
        return {record["job"]["model"]: [given[score]]} if given else {}

    sets = dict.fromkeys(record["job"]["dataset"] for record in results.done)
    found = cells_of(results.done, numbers, LABELS, sets, metrics={score: score})
    cells = [found[place] for place in results.cells if place in found and found[place].datasets]
    if not cells:
        return None
    n_tables = common.span([len(cell.datasets) for cell in cells])
    words = {"score": PROBABILITY_SCORES[score], "n_tables": n_tables}
    return _table("probabilities", score, group, *noise_means(cells, score, LABELS), **words)


SCORE_LABELS = {
    "self_confidence": "self-confidence",
    "normalized_margin": "normalised margin",
    "confidence_weighted_entropy": "weighted entropy",
}
# Judges are (model, score); score is "" for our model and for those with one score.
JUDGES = {
    (model, score): f"{label}, {SCORE_LABELS[score]}" if score else label
    for model, label in LABELS.items()
    for score in ("", *sorted(SCORE_LABELS))
}
RIVALS = {
    "all": tuple(DETECTORS),
    "cleanlab": tuple(model for model in DETECTORS if model.startswith("cleanlab")),
}


def detections(results):
    """Return a cell of every noise: what judges of labels reach where all of them have judged."""

    def numbers(record):
        outcome, model = record["outcome"], record["job"]["model"]
        if has_several(record):
            return {}
        share = outcome["n_flipped"] / outcome["n_train"]
        judged = {"": outcome["suspects"]} if "suspects" in outcome else outcome.get("detection")
        return {
            (model, "" if score == "area_under_margin" else score): [precision, of["missed"], share]
            for score, of in (judged or {}).items()
            if (precision := of.get("average_precision")) is not None  # without flips there is none
        }

    done = [r for r in [*results.done, *results.detections] if r["status"] == "done"]
    found = cells_of(done, numbers, JUDGES, metrics=dict.fromkeys(("precision", "missed", "share")))
    return [found[place] for place in dict.fromkeys([*results.cells, *found]) if place in found]


def lead_over(cell, rivals):
    """Return our lead over the best of some judges, in words, and which; None without both."""
    theirs = [place for place, (model, _) in enumerate(cell.models) if model in rivals]
    if (OURS, "") not in cell.models or not theirs:
        return None
    precision = cell.values["precision"]
    best = max(theirs, key=lambda place: precision[:, place].mean())
    gap = precision[:, cell.models.index((OURS, ""))] - precision[:, best]
    return signed(gap.mean(), error_of(gap)), cell.labels[best]


def detection_tables(found):
    """Return average precision and missed share of every judge, and our lead, by noise."""
    found = [cell for cell in found if cell.datasets]
    # Where peers have judged, only those noises in which they have.
    found = [cell for cell in found if len(cell.models) > 1] or found
    if not found:
        return []
    sizes = common.span([len(cell.datasets) for cell in found])
    shares = [float(cell.values["share"][:, 0].mean()) for cell in found]
    tables = []
    for metric, chance in (("precision", shares), ("missed", [1 - share for share in shares])):
        rows, noises = noise_means(found, metric, JUDGES)
        rows.append(("(a random order)", *chance))
        tables.append(WORDS.table(f"found_{metric}", rows, noises, n_tables=sizes))
    leads = [
        (cell.name, rivals, *lead)
        for rivals, models in RIVALS.items()
        for cell in found
        if (lead := lead_over(cell, models))
    ]
    return [*tables, WORDS.table("found_leads", leads, own=OUR_LABEL)] if leads else tables


# -- what came out, in short: the page's subtitle, lines for a terminal, tables to be pasted


TITLE = "Wrong labels on imbalanced sets"
HEADLINE = "balanced_accuracy"


def subtitle(results):
    """Return the line below the title."""
    if not results.models:
        return "Nothing has been measured yet."
    noises = ["clean labels"] if (CLEAN, 0) in results.cells else []
    for kind in results.kinds:
        levels = ", ".join(str(level) for level in results.levels(kind) if level)
        noises.append(f"{kind} noise of {levels} %")
    n_tuned = sum(map(is_tuned, results.models))
    return WORDS.text(
        "subtitle",
        n_models=len(results.models),
        with_tuned=f", {n_tuned} of them tuned," if n_tuned else " without tuning",
        n_tables=len(results.datasets),
        splits=common.counted(len(results.seeds), "split"),
        noises="; ".join(noises),
    )


def noise_in_words(kind):
    """Return a kind of noise as readers see it."""
    return "clean labels" if kind == CLEAN else f"{kind} noise"


def headline(results):
    """Return the balanced accuracy of every model by kind and level of noise, for a terminal."""
    found = []
    for title, part in (
        ("", results.two_classes()),
        ("several classes, ", results.several_classes()),
        ("tuned peers, ", results.tuned()),
    ):
        cells = part.complete_cells()
        for kind in part.kinds or (CLEAN,):
            if shown := [cell for cell in cells if cell.kind in (CLEAN, kind)]:
                sizes = common.span([len(cell.datasets) for cell in shown], "set")
                what = f"{METRICS[HEADLINE]}, {title}{noise_in_words(kind)}"
                labels = {model: LABELS[model] for model in part.models}
                lines = common.headline_lines(shown, labels, HEADLINE, 40, 1)
                found.append("\n".join([f"{what}, mean over {sizes} (average rank)", *lines]))
    return "\n\n".join(found) or "Nothing has been measured yet."


def more_files(results, sections):
    """Return the files beside the page: every score, and the main tables in Markdown."""
    files: dict = {}
    untuned = [results.two_classes(), results.several_classes()]
    for name, parts in (("", untuned), ("tuned_", [results.tuned()])):
        files |= common.score_files(parts, name)
    shown = [section for section in sections if section.id not in ("each-set", "sets")]
    tables = map(to_markdown, common.tables_in(shown))
    return files | {"summary.md": "\n".join([f"# {TITLE}\n\n{subtitle(results)}\n", *tables])}


# -- the sections: what was measured, in words, tables and figures


# Not accuracy: it rewards models that never predict the minority.
COUNTING = tuple(metric for metric in METRICS if metric != "accuracy")
# Those with a diagram and tables of their own.
DIAGRAM_METRICS = ("balanced_accuracy", "roc_auc")
DIAGRAM_LEVELS = (0, 20, 40)


def all_sections(results, run, figures):
    """Return the sections; None in place of one that has nothing to say."""
    two, several = results.two_classes(), results.several_classes()
    cells = two.complete_cells()
    times = common.time_table(two, TIME_REFERENCE)
    # The tables that report by themselves, where there are others.
    reporting = jobs.REPORTING if set(two.datasets) - set(jobs.REPORTING) else ()
    shown = [cell for cell in cells if cell.level in DIAGRAM_LEVELS]
    judged = [*map(TableBlock, detection_tables(detections(results)))]
    probable = [
        TableBlock(table)
        for part, group in ((two, ""), (several, "classes"))
        for score in PROBABILITY_SCORES
        if (table := probability_table(part, score, group))
    ]
    return [
        summary(results, cells, run),
        *clean_and_kinds(two, cells, figures),
        some_sets(two, cells, two.wide(), "wide"),
        tuned(results.tuned()),
        several_classes(several.complete_cells(), figures),
        WORDS.section("detection", *judged, own=OUR_LABEL) if judged else None,
        WORDS.section("probabilities", *probable) if probable else None,
        some_sets(two, cells, reporting, "reporting"),
        common.one_table("tests", common.significance_table(cells, OURS, OUR_LABEL), WORDS),
        WORDS.section("times", TableBlock(times)) if times else None,
        common.one_by_one(shown, DIAGRAM_METRICS, "set") if shown else None,
        data(results, run),
        common.failures(results),
        how(results, run),
    ]


def summary(results, cells, run):
    """Say what came out, first."""
    found = margins(cells)
    n_tuned = sum(map(is_tuned, results.models))
    hint = f"and {n_tuned} tuned ones"
    facts = common.first_facts(results, len(results.models) - n_tuned, hint)
    counting = [margin for margin in found if margin.metric in COUNTING]
    blocks: list = []
    if found:
        for title, n in (
            ("Best mean", sum(margin.place == 1 for margin in counting)),
            ("Ahead by a standard error", sum(margin.verdict == "ahead" for margin in counting)),
        ):
            facts.append((title, f"{n} of {len(counting)}", f"{OUR_LABEL}, without accuracy"))
        blocks = [Bullets(tuple(_findings(counting))), *_margin_blocks(found)]
    blocks += [*common.remarks(results.two_classes()), *common.unavailable_notes(run, "sets")]
    return WORDS.section("summary", Facts(tuple(facts)), *blocks)


def _findings(found):
    """Yield one sentence for each kind of noise."""
    for kind in dict.fromkeys(margin.kind for margin in found):
        own = [margin for margin in found if margin.kind == kind]
        verdicts = [margin.verdict for margin in own]
        spans = ", ".join(
            str(margin) + (f" at {margin.level}\u00a0%" if margin.level else "")
            for margin in own
            if margin.metric == "balanced_accuracy"
        )
        counts = {verdict: verdicts.count(verdict) for verdict in ("ahead", "level", "behind")}
        words = {"noise": noise_in_words(kind).capitalize(), "own": OUR_LABEL, "spans": spans}
        yield WORDS.text("finding", n=len(own), **words, **counts)


def _margin_blocks(found, group="", peers="the best peer"):
    """Return the tables of our model beside the best peer; nothing where it met no peer."""
    if not found:
        return []
    tables = [TableBlock(table) for table in margin_tables(found, group, peers)]
    full = TableBlock(margin_details(found, group))
    return [*tables, Details("The same in full: means, best peers, errors, ranks", (full,))]


def _cell_blocks(cells, group=""):
    """Return the means and ranks of every model in every cell."""
    return [TableBlock(common.cell_table(cell, group)) for cell in cells]


def clean_and_kinds(results, cells, figures):
    """Yield a section of clean labels, and one of each kind of noise at all its levels."""
    for kind in (CLEAN, *results.kinds):
        if own := [cell for cell in cells if cell.kind == kind]:
            blocks = [] if kind == CLEAN else [*_curves(cells, kind, figures)]
            blocks += _cell_blocks(own)
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
    means = Details("Means and average ranks of every model", tuple(_cell_blocks(cells, group)))
    shown = ", ".join(f"`{name}`" for name in results.datasets if name in names)
    blocks = _margin_blocks(margins(cells), group)
    return WORDS.section(group, *blocks, means, own=OUR_LABEL, names=shown)


def tuned(results):
    """Show peers that were tuned beside ours, which never is."""
    cells = results.complete_cells()
    if not cells:
        return None
    blocks = _margin_blocks(margins(cells, is_tuned), "tuned", "the best tuned peer")
    untuned = margins(cells, lambda model: not is_tuned(model))
    blocks += _margin_blocks(untuned, "same", "the best peer that is not tuned")
    blocks += _cell_blocks(cells, "tuned")
    if times := common.time_table(results, TIME_REFERENCE):
        blocks.append(TableBlock(replace(times, name="tuned_fit_time")))
    return WORDS.section("tuned", *blocks, own=OUR_LABEL)


def several_classes(cells, figures):
    """Show tables of more than two classes."""
    if not cells:
        return None
    curves = _curves(cells, "symmetric", figures, "classes_")
    means = _cell_blocks(cells, "classes")
    return WORDS.section("classes", *curves, *_margin_blocks(margins(cells), "classes"), *means)


def data(results, run):
    """Say where every set came from."""
    sides = dict.fromkeys((*jobs.CHOOSING, *jobs.CHOOSING_CLASSES), "choosing")
    sides |= dict.fromkeys((*jobs.REPORTING, *jobs.REPORTING_CLASSES), "reporting")
    rows: list[tuple] = []
    for name in results.datasets:
        about, side = results.data[name], sides.get(name, "neither")
        n_rows, n_features, n_minority = map(about.get, ("n_rows", "n_features", "n_minority"))
        size = n_rows, n_features, len(about.get("class_counts", ())) or None, n_minority
        rows.append((name, *size, side, about.get("source", ""), about.get("note", "")))
    for name, why in run.get("unavailable", {}).items():
        rows.append((name, None, None, None, None, "", "none", why))
    return WORDS.section("sets", TableBlock(WORDS.table("sets", rows)))


def how(results, run):
    """Say how to get these numbers again, and how they were made."""
    records = [*results.records, *results.detections]
    total = sum(r["seconds"].get("total", 0.0) for r in records if "seconds" in r)
    texts = [
        WORDS.text("protocol", seeds=", ".join(map(str, results.seeds))),
        WORDS.text("total", n=len(records), total=total),
    ]
    if results.revisions:
        named = [(*name.partition("/"), r) for name, r in results.revisions.items()]
        revisions = [f"{LABELS[m]} {r}{' for ' * bool(of)}{of}" for m, _, of, r in named]
        texts.append(f"Revisions: {', '.join(revisions)}.")
    texts += [f"{common.literal(text)}." for text in run.get("left_out", ())]
    return common.how_section(run, "robell robustness", *texts)
