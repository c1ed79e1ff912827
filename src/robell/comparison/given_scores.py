"""Scores that somebody has measured already: read, put in order, and compared on a page."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from robell._tools.files import FileError, check_output_folder, write_atomically
from robell._tools.optional import require
from robell._tools.text import NAME, counted, listed, literal, said, unique
from robell.comparison import study_page as common
from robell.comparison.scores import GIVEN, METRICS, ROPE, score_cell
from robell.comparison.store import StudyError
from robell.comparison.study_page import WORDS, methods_of
from robell.report.page import Callout, Code, Facts, Paragraph, Section, TableBlock, render
from robell.report.tables import to_markdown
from robell.tables.read import read_table

# Names of columns in a table of one score a line, without their capitals and signs.
ROLES = {
    "table": ("table", "dataset", "set", "data", "task"),
    "model": ("model", "classifier", "method", "algorithm", "estimator"),
    "split": ("split", "fold", "repeat", "run", "seed"),
    "metric": ("metric", "measure"),
    "value": ("value", "score"),
}
HIGHER = {
    *("accuracy", "acc", "balancedaccuracy", "gmean", "f1", "f1score", "fmeasure", "fscore"),
    *("rocauc", "auc", "auroc", "aucroc", "averageprecision", "ap", "auprc", "prauc", "mcc"),
    *("precision", "recall", "sensitivity", "specificity", "kappa", "r2", "jaccard", "ndcg"),
}
WITHOUT_END = {
    *("loss", "logloss", "crossentropy", "mae", "mse", "rmse", "mape", "medae"),
    *("time", "seconds", "fittime"),
}
LOWER = WITHOUT_END | {
    *("error", "errorrate", "brier", "brierscore", "hammingloss"),
    *("calibrationerror", "expectedcalibrationerror", "ece"),
}
SHORT = {"ap", "auc", "auprc", "auroc", "ece", "mae", "mape", "mcc", "mse", "rmse"}
# Rows of a paper's table that are no tables: they sum up the others.
SUMMARIES = re.compile(
    r"(overall )?(average|avg|mean|median|std|sd|rank|total)"
    r"( (acc|accuracy|auc|error|f1|ranks?|scores?))?",
    re.I,
)
# Names of columns that count the rows, as pandas writes them and others.
COUNTING = {"column1", "unnamed0", "level0", "index", "id", "row", "nr", "no"}
GAPS = {"", "na", "n/a", "nan", "none", "null", "-", "\u2013"}
LARGEST = 1e100  # of a score: squares of larger ones are no numbers any more
TITLE = "Models by their scores"


@dataclass(frozen=True)
class ComparedScores:
    """What :func:`compare_scores` gives: its page, the scores by metric, and what was left out."""

    report: Path
    cells: dict  # {metric: ScoreCell}
    remarks: tuple  # sentences on what could not be used

    @property
    def headline(self):
        """The mean and average rank of every model in every metric, for a terminal."""
        parts = []
        for metric, cell in self.cells.items():
            better = "less is better" if metric in cell.lower else "more is better"
            what = f"{cell.metrics[metric]}, mean over {counted(len(cell.datasets), 'table')}"
            lines = [f"{what} (average rank, 1 = best; {better})"]
            width = max(map(len, cell.labels)) + 2
            rows = zip(cell.labels, cell.means(metric), cell.ranks(metric), strict=True)
            lines += [f"{a:{width}}{mean:>9.4g}{f'({rank:.2f})':>9}" for a, mean, rank in rows]
            parts.append("\n".join(lines))
        return "\n\n".join(parts)


def compare_scores(
    data: Any,
    *,
    metric: str | None = None,
    better: str | None = None,
    reference: str | None = None,
    rope: float | None = None,
    test_share: float | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    out: str | PathLike[str] = "robell-scores",
    command: str = "",
) -> ComparedScores:
    """Compare models by scores that exist, from any source, and write the page.

    A wide table has a column of names of tables first, or as the index of a data frame of pandas,
    and one column of scores for each model. A long one has the columns table (or dataset), model,
    value (or score) or columns named as metrics, and perhaps split (or fold, repeat, or several of
    these) and metric.
    Columns that count the rows are left out. Cells may be empty: ranks and tests are over the
    tables of which every model has a score, and the page says which are not.

    Parameters
    ----------
    data : path or data frame
        A CSV, Parquet or Excel file, or a data frame of pandas or polars.
    metric : str, default=None
        What the scores are, where the table does not say; of several, the one to compare by.
    better : {"higher", "lower"}, default=None
        Which scores are better, of a metric whose name does not tell.
    reference : str, default=None
        The model that the others are held against; the first one by default.
    rope : float, default=None
        Differences up to this are of no practical importance. By default 0.01 where all scores are
        from 0 to 1 and the metric does not go on beyond 1 as MSE, log loss and seconds do; else 0:
        then no two models are called practically equal.
    test_share : float, default=None
        Share of the rows that each split was tested on; by default that of cross-validation with as
        many folds as the table has splits, or different ones in its column split or fold.
    encoding, delimiter : str, default="utf-8", None
        Of a text file.
    out : path-like, default="robell-scores"
        Where the page, tables and figures go: a folder that is new, empty or of an earlier call.
    command : str, default=""
        How this was called, for the page.

    Returns
    -------
    found : ComparedScores
        ``report``, the page's path; ``headline``, the main result as text; ``cells``, by metric,
        arrays with ``means``, ``ranks`` and ``by``; ``remarks``, what could not be used.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from robell import compare_scores
    >>> scores = {"set": ["a", "b", "c"], "tree": [0.7, 0.8, 0.6], "net": [0.9, 0.8, 0.7]}
    >>> found = compare_scores(pd.DataFrame(scores), metric="accuracy", out=tempfile.mkdtemp())
    >>> found.cells["accuracy"].ranks("accuracy").tolist()
    [1.8333333333333333, 1.1666666666666667]
    """
    require("matplotlib", "bench")
    if better not in (None, "higher", "lower"):
        raise StudyError(f"better must be higher or lower; got {better!r}")
    if rope is not None and not 0 <= rope < math.inf:
        raise StudyError(f"rope must be a number from 0 on; got {rope!r}")
    if test_share is not None and not 0 < test_share < 1:
        raise StudyError(f"test_share must lie between 0 and 1; got {test_share!r}")
    check_output_folder(out, marks=("methods.tex",))
    scores, order, remarks = _read(data, metric, encoding, delimiter)
    lower, cells = _lower(scores, better), {}
    stems: dict = {}
    for metric in scores:  # what stands for each in names of files: plain signs, no two alike
        stem = re.sub(r"[^\w-]+", "_", metric, flags=re.ASCII).strip("_-")[:40] or "score"
        while stem in stems.values():
            stem += "_"
        stems[metric] = stem
    for name, found in scores.items():
        named = {"lower": lower & {name}, "stems": {name: stems[name]}}
        cells[name], gaps = _cell(name, found, order, rope, test_share, named)
        remarks += gaps
    models = list(dict.fromkeys(model for cell in cells.values() for model in cell.models))
    if reference is not None and reference not in models:
        raise StudyError(f"there is no model {said(reference)}; there are {', '.join(models)}")
    (methods, texts), folder = methods_of(cells, reference or models[0]), Path(out)
    for name, text in texts.items():  # first: a folder that holds them may be written again
        write_atomically(folder / name, text)
    figures = common.FigureFolder(folder / "figures")
    sections = [*_sections(cells, reference, remarks, figures, command)]
    tables = [common.dataset_table(cell, name) for name, cell in cells.items()]
    files = {"summary.md": "\n".join([f"# {TITLE}\n", *map(to_markdown, tables)])}
    sections.insert(-1, methods)
    names = ", ".join(cell.metrics[name] for name, cell in cells.items())
    n_tables, n_models = common.sizes_of(cells.values())
    sizes = f"{common.span(n_models, 'model')} on {common.span(n_tables, 'table')}"
    page = render(TITLE, literal(f"{sizes}: {names}."), sections)
    report = common.write_page(folder, "index.html", sections, files, page)
    return ComparedScores(report, cells, tuple(remarks))


# -- reading -----------------------------------------------------------------------------


def _key(name):
    return re.sub(r"[\W_]", "", name.lower())


def _lower(metrics, better):
    """Return the metrics of which less is better, by their names and else by the option."""
    of_key = dict.fromkeys(HIGHER, "higher") | dict.fromkeys(LOWER, "lower")
    known = {metric: of_key[_key(metric)] for metric in metrics if _key(metric) in of_key}
    if unknown := [metric for metric in metrics if metric not in known]:
        if better is None:
            raise FileError(
                f"whether higher or lower is better is not known of {said(unknown[0])}: give",
                "better",
            )
    elif better is not None and better not in known.values():
        metric, other = next(iter(known.items()))
        raise StudyError(f"of {said(metric)} {other} is better, by its name; better says {better}")
    return frozenset(metric for metric in metrics if known.get(metric, better) == "lower")


def _read(data, metric, encoding, delimiter):
    """Return {metric: {table: {split: {model: [score]}}}}, models in their order, and remarks."""
    table = read_table(_with_names(data), encoding=encoding, delimiter=delimiter)
    if len(table.rows) < table.n_rows:
        raise FileError(f"{table.name}: {table.n_rows:,} rows are too many for a table of scores")
    columns = {column.name: column.cells for column in table.columns}
    remarks, counts = [], [[str(k + first) for k in range(table.n_rows)] for first in (0, 1)]
    for name in [*columns][not _has_role(columns, "table") :]:  # the first one may name tables
        if _key(name) in COUNTING and [*columns[name]] in counts:
            remarks.append(f"left out, as it counts the rows: {said(name)}")
            del columns[name]
    scores: dict = {}
    models: dict = {}
    summaries: dict = {}
    for line, name, where, split, model, cell in _rows(table.name, columns, metric):
        place = f"{table.name}: the score of {said(model)} on {said(where)}"
        if not where or not model:
            raise FileError(f"{table.name}: row {line} names no table or no model")
        models[model] = None
        if SUMMARIES.fullmatch(re.sub(r"[\W_]+", " ", where).strip()):
            summaries[where] = None
            continue
        splits = scores.setdefault(name, {}).setdefault(where, {})
        value = _number(place, cell, table.delimiter) if metric in (None, name) else None
        if value is None:
            continue
        row = splits.setdefault(split, {})
        if model in row:
            what = f", split {said(' '.join(split))}" if split else ""
            raise FileError(f"{place}{what} stands there twice; a column split tells them apart")
        row[model] = [value]
    if not scores:
        raise FileError(f"{table.name}: there are no scores in it")
    if metric is not None and metric not in scores:
        raise StudyError(f"there is no metric {said(metric)}; there are {', '.join(scores)}")
    if summaries:
        names = listed(summaries, len(summaries), NAME)
        remarks.append(f"left out, as rows that sum up the others: {names}")
    scores = {name: scores[name] for name in scores if metric in (None, name)}
    return scores, tuple(models), remarks


def _has_role(names, *roles):
    return any(_key(str(name)) in ROLES[role] for name in names for role in roles)


def _with_names(data):
    """Return a data frame whose index names tables, models or splits with that as columns."""
    if not (hasattr(data, "reset_index") and hasattr(data, "columns")):
        return data
    names = [name for name in data.index.names if name is not None]
    if set(names) & set(data.columns):
        return data
    is_text = data.index.dtype.kind not in "iuf" and not _has_role(data.columns, "table")
    return data.reset_index() if is_text or _has_role(names, *ROLES) else data


def _rows(name, columns, metric):
    """Yield (row, metric, table, split, model, cell) of every cell of a wide or a long table."""
    roles: dict = {}
    for one in columns:
        for role, names in ROLES.items():
            if _key(one) in names:
                roles.setdefault(role, one)
    is_long = "model" in roles
    if not is_long:
        first = next(iter(columns))
        cells = [cell or "" for cell in columns[first]]
        are_numbers = all(re.fullmatch(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", cell) for cell in cells)
        if "table" not in roles and are_numbers and any("." in cell for cell in cells):
            raise FileError(
                f"{name}: its first column, {said(first)}, should name tables, and holds numbers; "
                "if these are their names, call it 'table'"
            )
        roles = {"table": first, **roles}
    elif "table" not in roles:
        raise FileError(f"{name}: no column says which table a score is of; name one 'table'")
    splits = [one for of in ROLES["split"] for one in columns if _key(one) == of]  # folds first
    taken = roles.values() if is_long else (roles["table"], *splits)
    values = [one for one in columns if one not in taken]
    if "value" in roles and is_long:
        values = [roles["value"]]
    elif is_long:
        values = [one for one in values if _key(one) in HIGHER | LOWER]
        if not values:
            raise FileError(f"{name}: no column holds scores; name it 'value', or as its metric")
    elif not values:
        raise FileError(f"{name}: it has one column; a table of scores names tables and models")
    for k in range(len(columns[roles["table"]])):
        row = {role: columns[one][k] or "" for role, one in roles.items()}
        for value in values:
            what = "" if not is_long else row.get("metric", "") if "value" in roles else value
            split = tuple(columns[one][k] or "" for one in splits)
            place = row["table"], split, row["model"] if is_long else value
            yield k + 1, what or metric or "score", *place, columns[value][k]


def _number(place, cell, delimiter):
    """Return a score, None for a gap; refuse what is no finite number."""
    text = "" if cell is None else str(cell).strip()
    if delimiter == ";":  # then a comma may stand for the decimal point
        text = text.replace(",", ".")
    if text.lower() in GAPS:
        return None
    try:
        value = float(text.replace("_", "?"))  # Python takes 0_9 for 9
    except ValueError:
        advice = "if these are rows to fit models to, name their target"
        raise FileError(f"{place} is no number: {said(text, 20)}; {advice}") from None
    if not math.isfinite(value):
        raise FileError(f"{place} is infinite; leave the cell empty, or mend it")
    if abs(value) > LARGEST:
        raise FileError(f"{place} is too large: {said(text, 20)}")
    return value


def _cell(metric, found, models, rope, test_share, named):
    """Return the scores of one metric as arrays, and remarks on what could not be used."""
    counts = {
        model: sum(any(model in row for row in splits.values()) for splits in found.values())
        for model in models
    }
    here = [model for model, n in counts.items() if n]
    if not here:
        raise StudyError(f"{metric}: all cells are empty")
    title = METRICS.get(metric, f"{metric[0].upper()}{metric[1:]}".replace("_", " "))
    title = title.upper() if metric in SHORT else title
    # The first two head columns of tables, which must all differ.
    labels = dict(zip(here, unique(["Set", "Model", *here])[2:], strict=True))
    cell = score_cell(GIVEN, 0, found, labels, [*found], metrics={metric: title}, **named)
    if not cell.datasets:
        least = min(here, key=counts.__getitem__)
        raise StudyError(
            f"{metric}: no table has a score of all {len(here)} models; {said(least)} has scores "
            f"of {counts[least]} of {counted(len(found), 'table')}: leave it out"
        )
    values = cell.values[metric]
    if rope is None:
        are_shares = np.min(values) >= 0 and np.max(values) <= 1 and _key(metric) not in WITHOUT_END
        rope = ROPE if are_shares else 0.0
    folds = {table: len({split[:1] for split in splits}) for table, splits in found.items()}
    shares = {table: test_share or 1 / max(2, n) for table, n in folds.items()}
    cell = replace(cell, rope=rope, shares=shares)
    remarks = []
    if gaps := cell.left_out:
        remarks.append(
            f"{metric}: {counted(len(gaps), 'table')} of {len(found)} left out of ranks and tests, "
            f"where a model has no score: {listed(gaps, 8, NAME)}"
        )
    lost = sum(len(found[table]) for table in cell.datasets) - sum(cell.n_seeds)
    if lost:
        remarks.append(f"{metric}: {counted(lost, 'split')} left out, where a model has no score")
    if len(here) > 1 and np.ptp(values, axis=1).max() == 0:
        remarks.append(f"{metric}: on every table all models have the same score")
    return cell, remarks


# -- the page ----------------------------------------------------------------------------


def _sections(cells, reference, remarks, figures, command):
    """Yield the sections of the page: a summary, one a metric, table by table, how it was made."""
    n_tables, n_models = common.sizes_of(cells.values())
    facts = [
        ("Tables", common.span(n_tables), "that every model has a score of"),
        ("Models", common.span(n_models), ""),
    ]
    for name, cell in cells.items():
        ranks = cell.ranks(name)
        hint = literal(f"{common.leaders(cell.labels, -ranks)}; {cell.metrics[name]}, 1 = best")
        facts.append(("Best average rank", f"{ranks.min():.2f}", hint))
    notes = [literal(text) + "." for text in remarks]
    notes += common.not_computed(max(n_tables), max(n_models))
    yield WORDS.section("summary", Facts(tuple(facts)), *(Callout("note", t) for t in notes))
    for name, cell in cells.items():
        own = reference if reference in cell.models else cell.models[0]
        label = cell.labels[cell.models.index(own)]
        blocks = [TableBlock(common.mean_table(cell, name))]
        blocks += common.diagrams(cell, figures, (name,))
        tests = common.significance_table([cell], own, label)
        blocks += [TableBlock(tests)] if tests.rows else []
        blocks += common.pair_blocks(cell, name, own)
        yield Section(f"by-{cell.stems[name]}", cell.metrics[name], tuple(blocks))
    tables = [common.dataset_table(cell, name) for name, cell in cells.items()]
    yield Section("each-table", "Table by table", tuple(TableBlock(table) for table in tables))
    text = WORDS.text("scores_given")
    yield WORDS.section("how", Code(command or "robell.compare_scores(...)"), Paragraph(text))
