"""Scores that somebody has measured already: read, put in order, and compared on a page."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from robell._tools.files import FileError, check_output_folder
from robell._tools.optional import require
from robell._tools.text import counted, literal, said
from robell.comparison import study_page as common
from robell.comparison.methods import methods_of
from robell.comparison.scores import GIVEN, METRICS, ROPE, ScoreCell, means_over_splits
from robell.comparison.store import StudyError
from robell.comparison.study_page import WORDS
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
LOWER = {
    *("error", "errorrate", "loss", "logloss", "crossentropy", "brier", "brierscore", "mae"),
    *("mse", "rmse", "mape", "medae", "calibrationerror", "expectedcalibrationerror", "ece"),
    *("time", "seconds", "fittime", "hammingloss"),
}
# Rows of a paper's table that are no tables: they sum up the others.
SUMMARIES = re.compile(
    r"(overall )?(average|avg|mean|median|std|sd|rank|total)"
    r"( (accuracy|auc|error|f1|ranks?|scores?))?",
    re.I,
)
GAPS = {"", "na", "n/a", "nan", "none", "null", "-", "\u2013"}
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
        return "\n\n".join(_headline(metric, cell) for metric, cell in self.cells.items())


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

    A wide table has a column of names of tables first and one column of scores for each model. A
    long one has the columns table (or dataset), model, value (or score), and perhaps split (or
    fold, repeat) and metric; in place of value it may have columns that are named as metrics. Cells
    may be empty: ranks and tests are over the tables of which every model has a score, and the page
    says which are not.

    Parameters
    ----------
    data : path or data frame
        A CSV, Parquet or Excel file, or a data frame of pandas or polars.
    metric : str, default=None
        What the scores are, where the table does not say; of a long table of several metrics, the
        one to compare by.
    better : {"higher", "lower"}, default=None
        Which scores are better, of a metric whose name does not tell.
    reference : str, default=None
        The model that the others are held against; the first one by default.
    rope : float, default=None
        Differences up to this are of no practical importance. By default 0.01 where all scores are
        from 0 to 1, and else 0: then no two models are called practically equal.
    test_share : float, default=None
        Share of the rows that each split was tested on, for tests within a table; by default that
        of cross-validation with as many folds as there are splits.
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
    _check_options(better, rope, test_share)
    check_output_folder(out, marks=("methods.tex",))
    scores, order, remarks = _read(data, metric, encoding, delimiter)
    lower, cells = _lower(scores, better), {}
    for name, found in scores.items():
        cells[name], gaps = _cell(name, found, order, name in lower, rope, test_share)
        remarks += gaps
    models = next(iter(cells.values())).models
    if reference is not None and reference not in models:
        raise StudyError(f"there is no model {said(reference)}; there are {', '.join(models)}")
    folder = Path(out)
    figures = common.FigureFolder(folder / "figures")
    sections = [*_sections(cells, reference, remarks, figures, command)]
    words = methods_of(cells, reference or models[0])
    tables = [common.dataset_table(cell, name) for name, cell in cells.items()]
    files = {"summary.md": "\n".join([f"# {TITLE}\n", *map(to_markdown, tables)]), **words.files}
    sections.insert(-1, words.section)
    page = render(TITLE, _subtitle(cells), sections)
    report = common.write_page(folder, "index.html", sections, files, page)
    return ComparedScores(report, cells, tuple(remarks))


def _check_options(better, rope, test_share):
    if better not in (None, "higher", "lower"):
        raise StudyError(f"better must be higher or lower; got {better!r}")
    if rope is not None and not 0 <= rope < math.inf:
        raise StudyError(f"rope must be a number from 0 on; got {rope!r}")
    if test_share is not None and not 0 < test_share < 1:
        raise StudyError(f"test_share must lie between 0 and 1; got {test_share!r}")


# -- reading -----------------------------------------------------------------------------


def _key(name):
    return re.sub(r"[\W_]", "", name.lower())


def _lower(metrics, better):
    """Return the metrics of which less is better, by their names and else by the option."""
    known = {
        metric: "higher" if _key(metric) in HIGHER else "lower"
        for metric in metrics
        if _key(metric) in HIGHER | LOWER
    }
    if unknown := [metric for metric in metrics if metric not in known]:
        if better is None:
            raise FileError(
                f"whether higher or lower is better is not known of {said(unknown[0])}: give",
                "better",
            )
    elif better is not None and better not in known.values():
        metric, other = next(iter(known.items()))
        raise StudyError(f"of {said(metric)} {other} is better, by its name; better says {better}")
    return {metric for metric in metrics if known.get(metric, better) == "lower"}


def _read(data, metric, encoding, delimiter):
    """Return {metric: {table: {split: {model: [score]}}}}, models in their order, and remarks."""
    how = {"encoding": encoding, "delimiter": delimiter} if _is_text(data) else {}
    table = read_table(data, **how)
    if len(table.rows) < table.n_rows:
        raise FileError(f"{table.name}: {table.n_rows:,} rows are too many for a table of scores")
    columns = {column.name: column.cells for column in table.columns}
    roles: dict = {}
    for name in columns:
        for role, names in ROLES.items():
            if _key(name) in names:
                roles.setdefault(role, name)
    if "model" in roles:
        rows = _long_rows(table.name, columns, roles, metric)
    else:
        rows = _wide_rows(table.name, columns, roles, metric)
    scores: dict = {}
    models: dict = {}
    summaries: dict = {}
    for line, (name, where, split, model, cell) in enumerate(rows):
        place = f"{table.name}: the score of {said(model)} on {said(where)}"
        if not where or not model:
            raise FileError(f"{table.name}: row {line + 1} names no table or no model")
        models[model] = None
        if SUMMARIES.fullmatch(re.sub(r"[\W_]+", " ", where).strip()):
            summaries[where] = None
            continue
        splits = scores.setdefault(name, {}).setdefault(where, {})
        value = _number(place, cell, table.delimiter)
        if value is None:
            continue
        row = splits.setdefault(split, {})
        if model in row:
            what = f", split {said(split)}" if split else ""
            raise FileError(f"{place}{what} stands there twice; a column split tells them apart")
        row[model] = [value]
    if not scores or not models:
        raise FileError(f"{table.name}: there are no scores in it")
    if metric is not None and "metric" in roles and metric not in scores:
        raise StudyError(f"there is no metric {said(metric)}; there are {', '.join(scores)}")
    shown = ", ".join(map(said, summaries))
    remarks = [f"left out, as rows that sum up the others: {shown}"] if summaries else []
    scores = {name: scores[name] for name in scores if metric in (None, name)}
    return scores, tuple(models), remarks


def _is_text(data):
    named = isinstance(data, str | PathLike)
    return named and not str(data).lower().endswith((".parquet", ".pq", ".xlsx"))


def _number(place, cell, delimiter):
    """Return a score, None for a gap; refuse what is no finite number."""
    text = "" if cell is None else str(cell).strip()
    if delimiter == ";":  # then a comma may stand for the decimal point
        text = text.replace(",", ".")
    if text.lower() in GAPS:
        return None
    try:
        value = float(text)
    except ValueError:
        raise FileError(f"{place} is no number: {said(text, 20)}") from None
    if not math.isfinite(value):
        raise FileError(f"{place} is infinite; leave the cell empty, or mend it")
    return value


def _long_rows(name, columns, roles, metric):
    """Yield (metric, table, split, model, cell) of a table of one score a line."""
    if "table" not in roles:
        raise FileError(f"{name}: no column says which table a score is of; name one 'table'")
    values = [roles["value"]] if "value" in roles else []
    if not values:
        taken = set(roles.values())
        values = [one for one in columns if one not in taken and _key(one) in HIGHER | LOWER]
    if not values:
        raise FileError(f"{name}: no column holds scores; name it 'value', or as its metric")
    n_rows = len(columns[roles["model"]])
    splits = columns[roles["split"]] if "split" in roles else [""] * n_rows
    for value in values:
        named = [None if "value" in roles else value] * n_rows
        if "metric" in roles and "value" in roles:
            named = columns[roles["metric"]]
        elif metric is not None and named[0] not in (None, metric):
            continue
        for what, *row in zip(
            named, columns[roles["table"]], splits, columns[roles["model"]], columns[value],
            strict=True,
        ):  # fmt: skip
            yield what or metric or "score", row[0] or "", row[1] or "", row[2] or "", row[3]


def _wide_rows(name, columns, roles, metric):
    """Yield the same of a table of one column a model."""
    first = roles.get("table", next(iter(columns), ""))
    split = columns[roles["split"]] if "split" in roles else None
    models = [one for one in columns if one not in (first, roles.get("split"))]
    if not models:
        raise FileError(f"{name}: it has one column; a table of scores names tables and models")
    for k, table in enumerate(columns[first]):
        for model in models:
            part = "" if split is None else split[k] or ""
            yield metric or "score", table or "", part, model, columns[model][k]


def _has(splits, model):
    """Say whether a model has a score in any split of a table."""
    return any(model in row for row in splits.values())


def _cell(metric, found, models, is_lower, rope, test_share):
    """Return the scores of one metric as arrays, and remarks on what could not be used."""
    counts = {model: sum(_has(splits, model) for splits in found.values()) for model in models}
    here = [model for model, n in counts.items() if n]
    named, n_seeds, means, deviations, every = means_over_splits(found, 1, here, [*found])
    gaps = [table for table in found if table not in n_seeds]
    if not here:
        raise StudyError(f"{metric}: all cells are empty")
    if not n_seeds:
        least = min(here, key=counts.__getitem__)
        raise StudyError(
            f"{metric}: no table has a score of all {len(here)} models; {said(least)} has scores "
            f"of {counts[least]} of {counted(len(found), 'table')}: leave it out"
        )
    values = means[:, :, 0]
    most = max(n_seeds.values())
    shares = np.min(values) >= 0 and np.max(values) <= 1
    cell = ScoreCell(
        kind=GIVEN,
        level=0,
        models=named,
        labels=named,
        datasets=tuple(n_seeds),
        n_seeds=tuple(n_seeds.values()),
        left_out=tuple(gaps),
        values={metric: values},
        deviations={metric: deviations[:, :, 0]},
        splits={metric: [rows[:, :, 0] for rows in every]},
        metrics={metric: METRICS.get(metric, f"{metric[0].upper()}{metric[1:]}".replace("_", " "))},
        lower=frozenset({metric} if is_lower else ()),
        test_share=test_share or 1 / max(2, most),
        rope=(ROPE if shares else 0.0) if rope is None else rope,
    )
    remarks = []
    if gaps:
        shown = ", ".join(map(said, gaps[:8])) + (", ..." if len(gaps) > 8 else "")
        remarks.append(
            f"{metric}: {counted(len(gaps), 'table')} of {len(found)} left out of ranks and tests, "
            f"where a model has no score: {shown}"
        )
    lost = sum(len(found[table]) for table in n_seeds) - sum(n_seeds.values())
    if lost:
        remarks.append(f"{metric}: {counted(lost, 'split')} left out, where a model has no score")
    if len(named) > 1 and np.ptp(values, axis=1).max() == 0:
        remarks.append(f"{metric}: on every table all models have the same score")
    return cell, remarks


# -- the page ----------------------------------------------------------------------------


def _subtitle(cells):
    first = next(iter(cells.values()))
    names = ", ".join(cell.metrics[name] for name, cell in cells.items())
    n_models, n_tables = counted(len(first.models), "model"), counted(len(first.datasets), "table")
    return literal(f"{n_models} on {n_tables}: {names}.")


def _headline(metric, cell):
    tables = counted(len(cell.datasets), "table")
    better = "less is better" if metric in cell.lower else "more is better"
    width = max(map(len, cell.labels)) + 2
    lines = [f"{cell.metrics[metric]}, mean over {tables} (average rank, 1 = best; {better})"]
    for label, mean, rank in zip(cell.labels, cell.means(metric), cell.ranks(metric), strict=True):
        lines.append(f"{label:{width}}{mean:>9.4g}{f'({rank:.2f})':>9}")
    return "\n".join(lines)


def _sections(cells, reference, remarks, figures, command):
    """Yield the sections of the page: a summary, one a metric, table by table, how it was made."""
    facts = []
    for name, cell in cells.items():
        best = int(np.argmin(cell.ranks(name)))
        hint = literal(f"{cell.labels[best]}; {cell.metrics[name]}, 1 = best")
        facts.append(("Best average rank", f"{cell.ranks(name)[best]:.2f}", hint))
    first = next(iter(cells.values()))
    facts = [
        ("Tables", str(len(first.datasets)), "that every model has a score of"),
        ("Models", str(len(first.models)), ""),
        *facts,
    ]
    notes = [Callout("note", literal(text) + ".") for text in remarks]
    few = [*common.not_computed(len(first.datasets), len(first.models))]
    yield WORDS.section("summary", Facts(tuple(facts)), *notes, *(Callout("note", t) for t in few))
    for name, cell in cells.items():
        own = reference or cell.models[0]
        blocks = [TableBlock(common.mean_table(cell, name))]
        labels = dict(zip(cell.models, cell.labels, strict=True))
        blocks += common.diagrams(cell, figures, (name,), labels)
        tests = common.significance_table([cell], own, own)
        blocks += [TableBlock(tests)] if tests.rows else []
        blocks += common.pair_blocks(cell, name, own)
        yield Section(f"by-{common.file_part(name)}", cell.metrics[name], tuple(blocks))
    tables = [common.dataset_table(cell, name) for name, cell in cells.items()]
    yield Section("each-table", "Table by table", tuple(TableBlock(table) for table in tables))
    text = WORDS.text("scores_given")
    yield WORDS.section("how", Code(command or "robell.compare_scores(...)"), Paragraph(text))
