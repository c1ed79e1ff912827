"""The sections of the label-noise report: what was measured, in words, tables and figures."""

from __future__ import annotations

from dataclasses import replace

from robell._tools.text import counted
from robell.comparison.peers import OURS, TIME_REFERENCE
from robell.comparison.report import last_run, unavailable_notes
from robell.comparison.score_sections import diagrams, failures, one_by_one, one_table, remarks
from robell.comparison.score_tables import (
    cell_table,
    significance_table,
    time_table,
)
from robell.comparison.scores import CLEAN, METRICS
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
from robell.report.tables import Table
from robell.studies.label_noise.detection import detection_tables, detections
from robell.studies.label_noise.models import EVERY_MODEL
from robell.studies.label_noise.results import is_tuned
from robell.studies.label_noise.sets import CHOOSING, CHOOSING_CLASSES, REPORTING, REPORTING_CLASSES
from robell.studies.label_noise.summary import cells_on, reporting_cells
from robell.studies.label_noise.tables import (
    OUR_LABEL,
    PROBABILITY_SCORES,
    margin_details,
    margin_tables,
    margins,
    probability_table,
)

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
