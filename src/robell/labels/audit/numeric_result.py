"""What an audit of numbers found: every number judged, the evidence, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from robell._tools.optional import require
from robell.labels.audit.numeric_page import number_headline, number_page
from robell.labels.audit.numeric_table import number_summary, number_table
from robell.labels.audit.output import JudgedAudit
from robell.labels.audit.reasons import Reason
from robell.labels.judge_numbers import NumberJudgement
from robell.labels.trust_numbers import NumberTrust
from robell.tables.columns import ColumnNote, Used
from robell.tables.leaks import Leak
from robell.tables.number_target import NumberTarget
from robell.tables.raw import RawTable


@dataclass(frozen=True, eq=False)
class NumberEvidence:
    """What the report is made of: the table, its columns as numbers, and what was found.

    `name` is that of the target, `cells` what stands there in the audited rows, and `asked_for`
    whether somebody said that it holds numbers.
    """

    name: str
    table: RawTable
    used: tuple[Used, ...]
    matrix: np.ndarray
    target: NumberTarget
    cells: np.ndarray
    judgement: NumberJudgement
    trust: NumberTrust
    leaks: tuple[Leak, ...]
    n_read: int
    random_state: int
    asked_for: bool

    @property
    def is_sample(self):
        """Whether the source has more rows than were read."""
        return self.n_read < self.table.n_rows


@dataclass(frozen=True, eq=False)
class NumberAuditResult(JudgedAudit):
    """Every number of a target column judged, with how far to trust the judgement.

    Attributes
    ----------
    name, target : str
        The file's name (``"table"`` for a data frame), and the column of numbers.
    n_rows, n_unlabelled : int
        Rows of the file, and those without a usable number among the rows that were read.
    row : array of shape (n,)
        The audited rows, counted from 1; ``row - 1`` is the position in a data frame.
    line : array of shape (n,) or None
        The line of a text file at which each begins.
    given, suggested : arrays of shape (n,)
        The number each row has, and the one that is predicted without looking at the row.
    lower, upper : arrays of shape (n,)
        The ends of the interval that holds the right number of the row with 90 % probability.
    quality : array of shape (n,)
        The probability that the given number is right: for numeric columns the
        ``sample_quality`` of :func:`find_target_issues`.
    suspect : array of bool of shape (n,)
        Rows whose number is more probably wrong than right; none where `trust` is ``"none"``.
    noise_rate : float
        Estimated share of wrong numbers: the mean of ``1 - quality``.
    expected_wrong : float
        Estimated number of suspects that are really wrong.
    explained : float
        How well the columns predict the numbers of rows left out: the share of the squared
        differences between them that is predicted. 0 is guessing, 1 is perfect.
    trust : {"good", "fair", "weak", "none"}
        How far to trust the list of suspects, also an empty one; ``"none"``: the columns say too
        little to call any row suspect.
    leaks : tuple of str
        Columns that repeat the target and were therefore left out.
    columns : tuple of ColumnNote
        What was done to each column.
    reviewed : array of bool of shape (n,)
        Rows whose number a person has confirmed or corrected; they are not suspect.
    fingerprint : array of str of shape (n,)
        By which a review finds the row again.
    html, csv : Path or None
        The files that were written.
    reasons : dict of int to tuple of Reason
        For up to a hundred suspects, by their number in `row`: the columns that speak against the
        number, each with `column`, `value`, `weight` and `text`, the same in words.
    evidence : NumberEvidence
        What the report is made of.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import audit
    >>> rng = np.random.default_rng(0)
    >>> size = rng.uniform(30, 150, 200).round()
    >>> price = (2000 * size + rng.normal(0, 5000, 200)).round()
    >>> frame = pd.DataFrame({"size": size, "rooms": (size / 25).round(), "price": price})
    >>> frame.loc[7, "price"] *= 10
    >>> result = audit(frame, "price")
    >>> int(result.row[result.order[0]])
    8
    """

    name: str
    target: str
    n_rows: int
    row: np.ndarray
    line: np.ndarray | None
    given: np.ndarray
    suggested: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    quality: np.ndarray
    suspect: np.ndarray
    noise_rate: float
    expected_wrong: float
    explained: float
    trust: str
    leaks: tuple[str, ...]
    n_unlabelled: int
    columns: tuple[ColumnNote, ...]
    reviewed: np.ndarray
    fingerprint: np.ndarray
    html: Path | None = None
    csv: Path | None = None
    reasons: dict[int, tuple[Reason, ...]] = field(default_factory=dict, repr=False)
    evidence: NumberEvidence | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Say in one line what was found."""
        return f"<NumberAuditResult of {self.name}: {number_headline(self)} Trust: {self.trust}.>"

    def to_frame(self):
        """Return all audited rows as a pandas frame, the least probable numbers first.

        Returns
        -------
        frame : pandas.DataFrame
            The columns of the CSV file: ``row``, ``line``, ``given``, ``suggested`` (both as the
            table writes numbers), ``decision`` (empty, to be filled in), ``quality``, ``lower``,
            ``upper``, ``suspect``, ``reasons``, ``target`` and ``fingerprint``. Written as CSV, it
            can be given to :func:`apply_review`.
        """
        pandas = require("pandas", "files")
        return pandas.DataFrame(self._table())

    def _table(self, *, as_text=False):
        """Return the table of all rows."""
        return number_table(self, as_text=as_text)

    def _page(self, **settings):
        return number_page(self, **settings)

    def summary(self):
        """Return what was found in few numbers: a dictionary that can be written as JSON.

        Returns
        -------
        found : dict
            Rows, how many are suspect, the trust, and every suspect with its number, the suggested
            one and its interval, the least probable numbers first.
        """
        return number_summary(self)
