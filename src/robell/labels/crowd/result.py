"""What an audit of several annotators found, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robell import __version__
from robell._tools.optional import require
from robell._tools.text import unique
from robell.labels.annotators import Consensus
from robell.labels.audit.output import WrittenAudit
from robell.labels.crowd.page import crowd_page, headline
from robell.report.escape import writable
from robell.tables.columns import ColumnNote

UNSURE = 0.8  # quality of a consensus below which its row is called unsure


@dataclass(frozen=True, eq=False)
class AnnotatorAudit(WrittenAudit):
    """The consensus of several annotators on the rows of a table, and what each is worth.

    Attributes
    ----------
    name : str
        The file's name (``"table"`` for a data frame).
    consensus : Consensus
        Classes, qualities and annotators; its rows are positions in ``row``.
    row : array of shape (n,)
        The rows of the table, counted from 1; in the long form the first line of each.
    line : array of shape (n,) or None
        The line of a text file at which each begins.
    key : tuple of str or None
        In the long form, what the rows are called.
    n_rows, n_read : int
        Rows of the file, and how many were read.
    set_aside : dict of str to int
        Labels given fewer than five times, which were not used.
    columns : tuple of ColumnNote
        What was done to each other column.
    leaks : tuple of str
        Columns that repeat the majority's labels and were therefore left out.
    used : tuple of str
        Columns that had a say.
    how : str
        How the table was read.
    random_state : int
        Seed of the classifier's layers.
    html, csv : Path or None
        The files that were written.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import audit_annotators
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(["no", "yes"], 40)
    >>> frame = pd.DataFrame({"x": rng.normal(truth == "yes", 0.1), "a": truth, "b": truth})
    >>> frame.loc[3, "b"] = "yes"
    >>> audit_annotators(frame, ["a", "b"]).to_frame()["row"].tolist()[0]
    4
    """

    name: str
    consensus: Consensus
    row: np.ndarray
    line: np.ndarray | None
    key: tuple[str, ...] | None
    n_rows: int
    n_read: int
    set_aside: dict[str, int]
    columns: tuple[ColumnNote, ...]
    leaks: tuple[str, ...]
    used: tuple[str, ...]
    how: str
    random_state: int
    html: Path | None = None
    csv: Path | None = None

    def __repr__(self) -> str:
        """Say in one line what was found."""
        return f"<AnnotatorAudit of {self.name}: {headline(self)}>"

    @property
    def votes(self):
        """How many labels each row was given."""
        return np.bincount(self.consensus.given_row, minlength=len(self.row))

    @property
    def known(self):
        """Rows with a consensus: those with a label, or all where columns have a say."""
        return (self.votes > 0) | bool(self.used)

    @property
    def unsure(self):
        """Rows whose consensus is less sure than four in five."""
        return self.known & (self.consensus.quality < UNSURE)

    def to_frame(self):
        """Return all rows as a pandas frame, the least sure first.

        Returns
        -------
        frame : pandas.DataFrame
            The columns of the CSV file: ``row``, ``line``, ``consensus``, ``quality``, ``labels``
            (how many), the probability of each class, ``ask next`` (whom) and ``gain``.
        """
        pandas = require("pandas", "files")
        return pandas.DataFrame(self._table())

    def _page(self, **settings):
        return crowd_page(self, **settings)

    def _table(self, *, as_text=False):
        """Return the columns of the CSV file, which is the same as text; the least sure first."""
        found, known = self.consensus, self.known
        order = np.lexsort((self.row, found.quality))
        ask, gain = self._asked()
        columns = {"row": self.row[order]}
        if self.line is not None:
            columns["line"] = self.line[order]
        if self.key is not None:
            columns["key"] = np.array(self.key, dtype=object)[order]
        columns["consensus"] = np.where(known, found.label, "").astype(object)[order]
        columns["quality"] = np.where(known, found.quality, np.nan)[order]
        columns["labels"] = self.votes[order]
        for k, name in enumerate(unique([f"probability of {writable(c)}" for c in found.classes])):
            columns[name] = np.where(known, found.probability[:, k], np.nan)[order]
        columns["ask next"], columns["gain"] = ask[order], gain[order]
        return columns

    def _asked(self):
        """Return for every row whom to ask next, and what that is expected to gain."""
        found = self.consensus
        ask, gain = np.full(len(self.row), "", dtype=object), np.full(len(self.row), np.nan)
        row, annotator, worth = found.next_labels(len(self.row))
        ask[row], gain[row] = annotator, worth
        return ask, gain

    def summary(self):
        """Return what was found in few numbers: a dictionary that can be written as JSON.

        Returns
        -------
        found : dict
            Rows and labels, what each annotator is worth, and which rows to label next, by whom.
        """
        found = self.consensus
        row, annotator, gain = found.next_labels(100)
        label, known = found.label[self.known], self.known
        return {
            "audit": self.name,
            "rows": self.n_rows,
            "rows_with_labels": int((self.votes > 0).sum()),
            "labels": len(found.given_label),
            "labels_set_aside": self.set_aside,
            "classes": {str(name): int((label == name).sum()) for name in found.classes},
            "mean_quality": float(found.quality[known].mean()),
            "unsure_rows": self.row[self.unsure].tolist(),
            "annotators": {
                str(found.annotator[j]): {
                    "labels": int(found.n_labels[j]),
                    "quality": float(found.annotator_quality[j]),
                    "confusion": found.confusion[j].tolist(),
                }
                for j in np.argsort(-found.annotator_quality, kind="stable")
            },
            "label_next": [
                {"row": int(self.row[r]), "annotator": str(a), "gain": float(g)}
                for r, a, g in zip(row, annotator, gain, strict=True)
            ],
            "columns_used": list(self.used),
            "random_state": self.random_state,
            "robell": __version__,
        }
