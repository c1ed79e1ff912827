"""The audit of a target of numbers: numbers read and judged, and what its page says about them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from robell._tools.text import number_text, percent, quoted, said, spreadsheet_plain
from robell.labels.audit.cards import CardParts
from robell.labels.audit.figures import drawn_words, predicted_beside_given
from robell.labels.audit.reasons import ALIKE, LEAST_ALIKE, reasons_of_numbers, trusted
from robell.labels.audit.result import JudgedAudit
from robell.labels.issues import COVERAGE
from robell.labels.judge import judge_numbers
from robell.labels.reviewed import Reviewed, judge_reviewed_numbers
from robell.labels.trust import measure_number_trust
from robell.report.page import Callout, FigureBlock, Paragraph, Words
from robell.tables.columns import numbers_of
from robell.tables.leaks import find_number_giveaway, find_number_leak
from robell.tables.target import find_column, read_number_target, written

SCORES_A_ROW = 60  # numbers that are held for every row while it is judged


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NumberAuditResult(JudgedAudit):
    """Every number of a target column judged, with how far to trust the judgement.

    What is not listed here is as in :class:`AuditResult`.

    Attributes
    ----------
    given, suggested : arrays of shape (n,)
        The number each row has, and the one that is predicted without looking at the row.
    lower, upper : arrays of shape (n,)
        The ends of the interval that holds the right number of the row with 90 % probability.
    quality : array of shape (n,)
        The probability that the given number is right: the ``sample_quality`` of
        :func:`find_target_issues`, of columns as they were read here (long tails drawn in).
    suspect : array of bool of shape (n,)
        Rows whose number is more probably wrong than right; none where `trust` is ``"none"``.
    explained : float
        How well the columns predict the numbers of rows left out: the share of the squared
        differences between them that is predicted. 0 is guessing, 1 is perfect.

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

    _kind: ClassVar[str] = "numbers"
    _words: ClassVar[Words] = Words("robell.labels.audit", _kind)
    lower: np.ndarray
    upper: np.ndarray
    explained: float

    @staticmethod
    def _read(table, place):
        """Read the numbers; return cells, what sees leaks of them, and scores of a row."""
        target, column = read_number_target(table, place), table.columns[place]
        cells = np.array(column.cells, dtype=object)[target.kept]
        leak_of = partial(find_number_leak, values=target.values)
        tells = partial(find_number_giveaway, values=target.values, target=column.name)
        return target, None, cells, leak_of, tells, SCORES_A_ROW

    @staticmethod
    def _judged(evidence, decided, grouping):
        """Judge the numbers; return the evidence, and what numbers only have."""
        matrix, values = evidence.matrix, evidence.target.values
        settled, first = decided
        reviewed = Reviewed(settled, values, settled)  # nothing, unless some are settled
        judgement = judge_numbers(matrix, values, np.ones(len(matrix)), evidence.random_state)
        if is_reviewed := bool(settled.any()):
            kind = evidence.table.columns[find_column(evidence.table, evidence.name)].kind
            texts = [spreadsheet_plain(text) for text in first]
            read, _, _ = numbers_of(texts, evidence.table.delimiter, kind)
            is_read = settled & (np.isfinite(read) if read is not None else False)
            before = np.where(is_read, read, values)
            reviewed = Reviewed(settled, before, settled & (before != values))
            judgement = judge_reviewed_numbers(judgement, reviewed)
        told = bool(evidence.giveaways)
        trust = measure_number_trust(judgement, matrix.shape, is_reviewed, told=told)
        judgement = trust.suspects_of(judgement)
        lower, upper = judgement.intervals(COVERAGE).T
        of_numbers = {
            "given": judgement.given,
            "suggested": judgement.predicted,
            "lower": lower,
            "upper": upper,
            "explained": trust.explained,
        }
        return replace(evidence, judgement=judgement, trust=trust, reviewed=reviewed), of_numbers

    _reasons_of = staticmethod(reasons_of_numbers)

    def _table(self, *, as_text=False):
        """Return the table of all rows."""
        bounds = {"lower": self.lower, "upper": self.upper}
        if as_text:
            bounds = {name: self._written(values) for name, values in bounds.items()}
        return self._judged_table(self.evidence.given, self._written(self.suggested), bounds)

    def _written(self, values):
        """Return numbers as the table writes them."""
        how = self.evidence.target.how
        shown = ["" if np.isnan(value) else written(value, how) for value in values]
        return np.array(shown, object)

    def _summary_parts(self):
        """Return what the summary says of numbers only, part by part."""
        measured = {
            "explained": self.explained,
            "usual_error": self.evidence.trust.usual_error,
            "interval_coverage": COVERAGE,
        }
        names = "given", "suggested", "lower", "upper", "quality"
        suspects = [
            {"row": int(self.row[place])}
            | {name: float(getattr(self, name)[place]) for name in names}
            | {"reasons": [one.text for one in self.reasons.get(int(self.row[place]), ())]}
            for place in self._suspects
        ]
        return {}, {}, measured, {"suspect_numbers": suspects}

    def _how_good(self):
        """Say in plain words what the trust was measured by."""
        trust = self.evidence.trust
        return (
            "with the number hidden, the other columns predicted it to within "
            f"{shown_number(trust.usual_error)} for half of the rows; without them it would be "
            f"{shown_number(trust.without)}"
        )

    def _kind_words(self, quote=said, option="--kind classes"):
        """Say that the target was taken as numbers, and how to say otherwise; "" if asked for."""
        if self.evidence.asked_for:
            return ""
        target = self.evidence.target
        most, n_distinct = target.most_classes, target.n_distinct
        limit = f" (for at most {most} different ones)" if n_distinct > most else ""
        return (
            f"{quote(self.target)} holds {n_distinct:,} different numbers, taken as measured; if "
            f"they are codes of classes, say so with {option}{limit}"
        )

    def _own(self):
        """Return that the target was taken as numbers."""
        kind = self._kind_words(quoted, '`--kind classes` (in Python `kind="classes"`)')
        return defaultdict(list, compared=[Callout("note", f"{kind}.")] if kind else [])

    def _sections(self, top, csv_path):
        """Return the sections that show the evidence, None for those that have nothing to show."""
        return [self._suspects_section(top, csv_path), picture_section(self), noise_section(self)]

    def _card_parts(self):
        """Return what a suspect is compared by: trusted rows of about the same number."""
        evidence = self.evidence
        examples = trusted(evidence.judgement)
        ordered = np.flatnonzero(examples)
        ordered = ordered[np.argsort(self.given[ordered], kind="stable")]
        n_groups = max(1, min(round(1 / ALIKE), len(ordered) // LEAST_ALIKE))
        members = np.array_split(ordered, n_groups)
        lows, highs = (self.given[[group[end] for group in members]] for end in (0, -1))
        of_given, of_suggested = (
            np.clip(np.searchsorted(lows, values, side="right") - 1, 0, None)
            for values in (self.given, self.suggested)
        )
        names, likely = (
            [f"{shown_number(a)} to {shown_number(b)}" for a, b in zip(*ends, strict=True)]
            for ends in ((lows, highs), (self.lower, self.upper))
        )
        texts = evidence.given, self._written(self.suggested)
        return CardParts((), names, members, of_given, of_suggested, examples, *texts, likely)

    def _how(self):
        """Say how the numbers were computed."""
        explained = percent(max(0.0, self.explained))
        return (Paragraph(self._say("how", how=self.evidence.table.how, explained=explained)),)


def shown_number(value):
    """Return a number of the page with four significant digits at the most."""
    return number_text(float(f"{value:.4g}"))


def picture_section(result):
    """Show what was predicted beside what is given; nothing where nothing can be predicted."""
    if result.trust == "none":
        return None
    svg, drawn = predicted_beside_given(result)
    more = result._say("picture_suspects") if result.suspect.any() else ""
    by_factors = np.isfinite(result.evidence.judgement.measure.small)
    more += result._say("picture_factors") if by_factors else ""
    more += drawn_words(drawn, len(result.row))
    figure = FigureBlock(svg, *result._words.figure("picture", more=more))
    return result._words.section("picture", figure)


def noise_section(result):
    """Say how many numbers are wrong by estimate, and how far off right ones usually are."""
    if not result._has_estimates:
        return None
    off = np.abs(result.given - result.suggested)[~result.suspect]
    half, most = (shown_number(value) for value in np.percentile(off, [50, 90]))
    share = Paragraph(result._share_wrong())
    return result._words.section("noise", share, half=half, most=most)
