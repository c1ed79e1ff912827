"""What an audit found: every label judged, the evidence for it, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robell._tools.optional import require
from robell.labels.audit.against import Against
from robell.labels.audit.output import JudgedAudit, label_table
from robell.labels.audit.reasons import Reason
from robell.labels.audit.report import headline, report_page
from robell.labels.audit.summary import summary
from robell.labels.groups import GroupNoise
from robell.labels.judge import Judgement
from robell.labels.trust import Trust
from robell.tables.columns import ColumnNote, Used
from robell.tables.leaks import Leak
from robell.tables.raw import RawTable
from robell.tables.target import Labels


class Groups(NamedTuple):
    """The group of every row, as a place among the names, and how often each group is wrong."""

    column: str
    place: np.ndarray
    noise: GroupNoise


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the report is made of: the table, its columns as numbers, and what was found."""

    table: RawTable
    used: tuple[Used, ...]
    matrix: np.ndarray
    labels: Labels
    judgement: Judgement
    trust: Trust
    leaks: tuple[Leak, ...]
    conflicts: tuple[np.ndarray, ...]
    n_read: int
    random_state: int
    groups: Groups | None = None

    @property
    def codes(self):
        """The class of every row, as a place among the classes."""
        return self.labels.codes

    @property
    def is_sample(self):
        """Whether the source has more rows than were read."""
        return self.n_read < self.table.n_rows


@dataclass(frozen=True, eq=False)
class AuditResult(JudgedAudit):
    """Every label of a table judged, with how far to trust the judgement.

    Attributes
    ----------
    name, target : str
        The file's name (``"table"`` for a data frame), and the column of labels.
    classes : tuple of str
        The labels that were judged.
    n_rows, n_unlabelled : int
        Rows of the file, and those without a label among the rows that were read.
    row : array of shape (n,)
        The audited rows, counted from 1; ``row - 1`` is the position in a data frame.
    line : array of shape (n,) or None
        The line of a text file at which each begins.
    given, suggested : arrays of str of shape (n,)
        The label each row has, and the likeliest one.
    quality : array of shape (n,)
        The probability that the given label is right: for numeric columns the ``sample_quality``
        of :func:`find_label_issues`.
    probability : array of shape (n, n_classes)
        The probability of each class, the given label taken into account.
    suspect : array of bool of shape (n,)
        Rows whose likeliest label is not the given one; none where `trust` is ``"none"``.
    noise_matrix : array of shape (n_classes, n_classes)
        ``[i, j]`` estimates the share of the rows of true class i that are labelled j.
    noise_rate : float
        Estimated share of wrong labels: the mean of ``1 - quality``.
    expected_wrong : float
        Estimated number of suspects that are really wrong. Where the classes overlap, it is less
        than their qualities promise.
    separation : float
        How well the columns predict the labels of hidden rows: the area under the ROC curve, each
        class against the others, their mean. 0.5 is guessing.
    trust : {"good", "fair", "weak", "none"}
        How far to trust the list of suspects, also an empty one; ``"none"``: the columns say too
        little to call any row suspect.
    contradictions : tuple of arrays
        Groups of rows, by number, that agree in every used column and differ in the label.
    leaks : tuple of str
        Columns that repeat the target and were therefore left out.
    set_aside : dict of str to int
        Classes of fewer than five rows, which are not judged, and their sizes.
    columns : tuple of ColumnNote
        What was done to each column.
    reviewed : array of bool of shape (n,)
        Rows whose label a person has confirmed or corrected; they are not suspect.
    fingerprint : array of str of shape (n,)
        By which a review finds the row again.
    reasons : dict of int to tuple of Reason
        For the suspects with the least likely labels, up to a hundred, by their number in `row`:
        the columns that speak against the label, each with `column`, `value`, `weight` (log-odds)
        and `text`, the same in words.
    groups : GroupNoise or None
        How often labels are wrong in each group of rows, if a column named groups.
    group_column : str
        That column.
    against : Against or None
        Whether labels are given differently than in an earlier table, if one was given: its
        ``drift`` is a LabelDrift.
    html, csv : Path or None
        The files that were written.
    evidence : Evidence
        What the report is made of.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import audit
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat(["ham", "spam"], 100)
    >>> size = rng.normal(np.repeat([0.0, 5.0], 100))
    >>> frame = pd.DataFrame({"size": size, "links": rng.normal(size), "label": kind})
    >>> frame.loc[7, "label"] = "spam"
    >>> result = audit(frame, "label")
    >>> int(result.row[result.quality.argmin()])
    8
    """

    name: str
    target: str
    classes: tuple[str, ...]
    n_rows: int
    row: np.ndarray
    line: np.ndarray | None
    given: np.ndarray
    suggested: np.ndarray
    quality: np.ndarray
    probability: np.ndarray
    suspect: np.ndarray
    noise_matrix: np.ndarray
    noise_rate: float
    expected_wrong: float
    separation: float
    trust: str
    contradictions: tuple[np.ndarray, ...]
    leaks: tuple[str, ...]
    set_aside: dict[str, int]
    n_unlabelled: int
    columns: tuple[ColumnNote, ...]
    reviewed: np.ndarray
    fingerprint: np.ndarray
    groups: GroupNoise | None = None
    group_column: str = ""
    against: Against | None = None
    html: Path | None = None
    csv: Path | None = None
    reasons: dict[int, tuple[Reason, ...]] = field(default_factory=dict, repr=False)
    evidence: Evidence | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Say in one line what was found."""
        return f"<AuditResult of {self.name}: {headline(self)} Trust: {self.trust}.>"

    def to_frame(self):
        """Return all audited rows as a pandas frame, the least probable labels first.

        Returns
        -------
        frame : pandas.DataFrame
            The columns of the CSV file: ``row``, ``line``, ``given``, ``suggested``, ``decision``
            (empty, to be filled in), ``quality``, the probability of each class, ``suspect``,
            ``reasons``, ``target`` and ``fingerprint``. Written as CSV, it can be given to
            :func:`apply_review`.
        """
        pandas = require("pandas", "files")
        return pandas.DataFrame(self._table())

    def _table(self, *, as_text=False):
        """Return the table of all rows, which is the same as text."""
        return label_table(self)

    def _page(self, **settings):
        return report_page(self, **settings)

    def summary(self):
        """Return what was found in few numbers: a dictionary that can be written as JSON.

        Returns
        -------
        found : dict
            Rows and classes, how many are suspect, the estimated kinds of mistakes, the trust, and
            the numbers of the suspect rows, the least probable labels first.
        """
        return summary(self)
