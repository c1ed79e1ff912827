"""Suspects handed to tools for labelling, and their decisions taken back as a review.

Label Studio's tasks and Argilla's records are plain JSON, written and read without either package.
Whatever a row needs to be found again, its number, label and fingerprint, travels with it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from robell import __version__
from robell._tools.files import FileError, write_atomically
from robell._tools.text import percent, said, spreadsheet_plain, visible
from robell.labels.audit.result import as_csv
from robell.labels.issues import find_label_issues
from robell.labels.review.review import CHANGE, DROP, KEEP, LOG_START, read_review, same_label
from robell.tables.read import read_table

QUESTION, OBJECT = "label", "row"  # names of the choice, and of what it is about
CHOICE = {"from_name": QUESTION, "to_name": OBJECT, "type": "choices"}
ROW_KEYS = ("row", "target", "given", "fingerprint")
MOST_SHARE = 0.01  # of suspect labels, above which `check_labels` has something to say


def to_label_studio(result: Any) -> list[dict[str, Any]]:
    """Return the suspects of an audit of classes as tasks of Label Studio, for ``json.dump``.

    The data of a task are ``text``, the cells of the row in one text, and what finds the row again;
    the suggested label is its prediction, of the choice ``label`` about the text ``row``. The label
    ``drop`` may be added to the choices of the project.

    Parameters
    ----------
    result : AuditResult
        What :func:`audit` has found.

    Returns
    -------
    tasks : list of dict
        One for each suspect, the least likely label first.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import audit, to_label_studio
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat(["ham", "spam"], 100)
    >>> size = rng.normal(np.repeat([0.0, 5.0], 100))
    >>> frame = pd.DataFrame({"size": size, "links": rng.normal(size), "label": kind})
    >>> frame.loc[7, "label"] = "spam"
    >>> task = to_label_studio(audit(frame, "label"))[0]
    >>> task["data"]["row"], task["predictions"][0]["result"][0]["value"]
    (8, {'choices': ['ham']})
    """
    return [
        {
            "data": {"text": text, **keys},
            "predictions": [
                {
                    "model_version": f"robell {__version__}",
                    "score": score,
                    "result": [CHOICE | {"value": {"choices": [suggested]}}],
                }
            ],
        }
        for keys, text, suggested, score in _suspects(result)
    ]


def to_argilla(result: Any) -> list[dict[str, Any]]:
    """Return the suspects of an audit of classes as records of Argilla, for ``json.dump``.

    A record has the field ``text``, a suggestion for the question ``label``, and in its metadata
    what finds the row again.

    Parameters
    ----------
    result : AuditResult
        What :func:`audit` has found.

    Returns
    -------
    records : list of dict
        One for each suspect, the least likely label first.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import audit, to_argilla
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat(["ham", "spam"], 100)
    >>> size = rng.normal(np.repeat([0.0, 5.0], 100))
    >>> frame = pd.DataFrame({"size": size, "links": rng.normal(size), "label": kind})
    >>> frame.loc[7, "label"] = "spam"
    >>> record = to_argilla(audit(frame, "label"))[0]
    >>> record["metadata"]["row"], record["suggestions"]["label"]["value"]
    (8, 'ham')
    """
    return [
        {
            "id": f"{keys['row']}-{keys['fingerprint']}",  # equal rows have one fingerprint
            "fields": {"text": text},
            "metadata": keys,
            "suggestions": {
                QUESTION: {"value": suggested, "score": score, "agent": f"robell {__version__}"}
            },
            "responses": {},
        }
        for keys, text, suggested, score in _suspects(result)
    ]


def write_review(decisions: Any, out: str | os.PathLike[str], *, replace: bool = False) -> Path:
    """Write decisions of a tool for labelling, or of a data frame, as a review.

    Parameters
    ----------
    decisions : path-like, list of dict, or data frame
        What Label Studio exports as JSON (annotations of the tasks of :func:`to_label_studio`), or
        Argilla's ``records.to_json`` (responses to those of :func:`to_argilla`), as a file or as it
        is read; or a frame of pandas or polars with the columns of an audit's table, its column
        ``decision`` filled in. A label equal to the given one keeps the row, ``drop`` drops it, any
        other one changes it; rows without an answer stay undecided.
    out : path-like
        The CSV file to write, for :func:`apply_review` and the ``reviewed`` of :func:`audit`.
    replace : bool, default=False
        Whether to replace a file that is there.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from robell import write_review
    >>> keys = {"row": 8, "target": "label", "given": "spam"}
    >>> keys["fingerprint"] = "a" * 16 + "-" + "b" * 16
    >>> answer = {"value": "ham", "user_id": "ann"}
    >>> record = {"metadata": keys, "responses": {"label": [answer]}}
    >>> path = write_review([record], Path(tempfile.mkdtemp()) / "reviewed.csv")
    >>> print(path.read_text().splitlines()[1][:24])
    8,label,spam,change,ham,
    """
    path = Path(out)
    if path.exists() and not replace:
        raise FileError(f"{path}: is there already; give another name, or replace=True")
    name = "decisions"
    if isinstance(decisions, str | os.PathLike):
        name = str(decisions)
        try:
            decisions = json.loads(Path(decisions).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FileError(f"{name}: cannot be read as JSON") from error
    rows = _rows_of_frame(decisions) if hasattr(decisions, "columns") else _rows(decisions, name)
    texts = np.array([[str(cell) for cell in row] for row in rows], object).reshape(-1, 6)
    text = as_csv(dict(zip(LOG_START.split(","), texts.T, strict=True)))
    temporary = path.with_name(f".{path.name}.csv")  # read as a review is, before it has its name
    try:
        read_review(write_atomically(temporary, text))
    except FileError as error:
        raise FileError(str(error).replace(str(temporary), name)) from error
    finally:
        temporary.unlink(missing_ok=True)
    return write_atomically(path, text)


def check_labels(report: Any) -> str | None:
    """Return what is suspect about the training labels of a report, None where nothing is.

    A check in the manner of skore's: its ``check_function`` may call it with an
    ``EstimatorReport``. Any object with ``X_train`` and ``y_train``, of numbers and of classes,
    will do.

    Parameters
    ----------
    report : object
        What has ``X_train`` and ``y_train``.

    Returns
    -------
    explanation : str or None
        How many labels are suspect, and which first; None for at most 1 %.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import check_labels
    >>> from robell.noise import flip_uniformly
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> check_labels(SimpleNamespace(X_train=X, y_train=flip_uniformly(y, 0.1, 0)[0]))[-20:]
    'look at these first.'
    """
    X, y = getattr(report, "X_train", None), getattr(report, "y_train", None)
    if X is None or y is None:
        raise ValueError("the report has no training rows: X_train and y_train are needed")
    issues, n_rows = find_label_issues(X, y, random_state=0), len(y)
    if len(issues) <= MOST_SHARE * n_rows:
        return None
    first = ", ".join(str(index) for index in issues.index[:5])
    return (
        f"{len(issues):,} of {n_rows:,} training labels ({percent(len(issues) / n_rows)}) are "
        f"probably wrong, most of all rows {first}: look at these first."
    )


def _suspects(result):
    """Yield what finds a suspect again, its cells as text, its likeliest label and the chance."""
    if getattr(result, "_kind", "") != "classes":
        raise FileError(f"{result.name}: holds no classes, and a choice is between classes")
    if DROP in result.classes:
        raise FileError(
            f"{result.name}: has a label {said(DROP)}, by which these tools leave a row out: give "
            "it another name"
        )
    table = result.evidence.table
    columns = [column for column in table.columns if column.name != result.target]
    for at in result._suspects:
        cells = ((column.name, column.cells[at]) for column in columns)
        text = "\n".join(f"{visible(name)}: {visible(cell or '')}" for name, cell in cells)
        keys = {
            "row": int(result.row[at]),
            "target": result.target,
            "given": str(result.given[at]),
            "fingerprint": str(result.fingerprint[at]),
        }
        yield keys, text, str(result.suggested[at]), float(result.probability[at].max())


def _rows(decisions, name):
    """Return the rows of a review, from tasks or records."""
    if not isinstance(decisions, list) or not decisions:
        raise FileError(f"{name}: holds no list of tasks or records")
    rows = []
    for place, one in enumerate(decisions, 1):
        where = f"{name}: entry {place:,}"
        keys = one.get("data", one.get("metadata")) if isinstance(one, dict) else None
        if not isinstance(keys, dict) or not set(ROW_KEYS) <= set(keys):
            raise FileError(
                f"{where}: is no task or record of an audit, with {', '.join(ROW_KEYS)}"
            )
        try:
            chosen = [
                part["value"]["choices"]  # that people made in a task of Label Studio
                for annotation in one.get("annotations") or []
                if not annotation.get("was_cancelled")
                for part in annotation["result"]
                if part["from_name"] == QUESTION
            ]
            answers = [str(choice) for choices in chosen for choice in choices]
            if "data" not in one:  # a record of Argilla; a draft or a discarded one is no answer
                responses = (one.get("responses") or {}).get(QUESTION, [])
                answers = [
                    str(response["value"])
                    for response in responses
                    if response["value"] is not None
                    and response.get("status", "submitted") == "submitted"
                ]
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise FileError(f"{where}: its answer is not written as a choice is") from error
        if len(set(answers)) > 1:
            both = " and ".join(said(answer, 30) for answer in sorted(set(answers))[:2])
            raise FileError(f"{where}: row {keys['row']} was answered {both}: agree on one")
        answer, given = next(iter(answers), None), str(keys["given"])
        word = "" if answer is None else KEEP if same_label(answer, given) else CHANGE
        word = DROP if answer == DROP else word
        label = answer if word == CHANGE else given if word == KEEP else ""
        rows.append([keys["row"], keys["target"], given, word, label, keys["fingerprint"]])
    return rows


def _rows_of_frame(frame):
    """Return the rows of a review, from a frame with the columns of an audit's table."""
    names = list(frame.columns)
    final = "label" if "label" in names else "suggested"
    for name in (*ROW_KEYS, "decision", final):
        if name not in names:
            raise FileError(f"the frame has no column {said(name)}, which an audit's table has")
    wanted = ("row", "target", "given", "decision", final, "fingerprint")
    table = read_table(frame[list(wanted)], max_rows=max(1, len(frame)))
    cells = {column.name: column.cells for column in table.columns}
    texts = [[spreadsheet_plain(cell or "") for cell in cells[name]] for name in wanted]
    return [list(row) for row in zip(*texts, strict=True)]
