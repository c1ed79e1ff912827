"""The audit of classes: labels read, judged and compared, and what its page says about them."""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.spatial import KDTree

from robell._core.labels.noise import areas
from robell._tools.text import counted, few, in_cell, percent, quoted, said, unique, writable
from robell.labels.audit.cards import CardParts
from robell.labels.audit.compared import (
    Against,
    against_section,
    against_summary,
    against_verdict,
    group_line,
    group_verdict,
    groups_section,
    groups_summary,
)
from robell.labels.audit.figures import class_bars, class_map, drawn_words, quality_histograms
from robell.labels.audit.reasons import reasons_of_classes, trusted, value_text
from robell.labels.audit.result import JudgedAudit, first_of, piece, places
from robell.labels.groups import GroupNoise, judge_by_group
from robell.labels.judge import judge_labels
from robell.labels.reviewed import Reviewed, judge_reviewed, reviewed_classes
from robell.labels.trust import CLEAR, LEAST_SEPARATION, measure_trust
from robell.models.noise_robust import NoSignalWarning
from robell.report.page import Bullets, Callout, FigureBlock, Paragraph, TableBlock, Words
from robell.tables.leaks import find_giveaway, find_leak
from robell.tables.numerals import number
from robell.tables.target import LEAST_OF_CLASS, read_labels

SCORES_A_CLASS = 30  # numbers that are held for every row while it is judged
SHOWN_WAYS = 4  # kinds of mistakes on the first screen
LEAST_ROWS = 0.5  # rows below which an estimated kind of mistake is not worth a sentence
LEAST_SHARE = 0.005  # the same for its share of the true class
FAR_MORE = 2.0  # times the share of suspects in the table, from which on a class is hit hardest
MOST_WORDS = 10  # sentences about the noise
MOST_BARS = 20
MATRIX_CLASSES = 12
SHOWN_CONFLICTS = 15
LEAST_TOLD_APART = 0.75  # area under the ROC curve; below, the map of the rows is a blob
MOST_PLACED = 2_000  # rows by which the map is judged
NEAR = 15  # dots around each of them


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
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
        The probability that the given label is right: the ``sample_quality`` of
        :func:`find_label_issues`, of columns as they were read here (long tails drawn in).
    probability : array of shape (n, n_classes)
        The probability of each class, the given label taken into account.
    suspect : array of bool of shape (n,)
        Rows whose likeliest label is not the given one; none where `trust` is ``"none"``.
    noise_matrix : array of shape (n_classes, n_classes)
        ``[i, j]`` estimates the share of the rows of true class i that are labelled j.
    noise_rate : float
        Estimated share of wrong labels: the mean of ``1 - quality``, and less where the classes
        overlap, since rows that are hard to classify count as wrong in part.
    noise_rate_range : tuple of float
        An interval that held the share in 90 % of tables with known mistakes.
    expected_wrong : float
        Estimated number of suspects that are really wrong.
    expected_wrong_range : tuple of float
        Its interval.
    separation : float
        How well the columns predict the labels of hidden rows: the area under the ROC curve, each
        class against the others, their mean. 0.5 is guessing.
    p_value : float
        Of the columns saying nothing about the labels: how often labels without any connection
        would be predicted as well. From .05 on there is no sign of one.
    trust : {"good", "fair", "weak", "none"}
        How far to trust the list of suspects, also an empty one; ``"none"``: the columns say too
        little to call any row suspect.
    contradictions : tuple of arrays
        Groups of rows, by number, that agree in every used column and differ in the label.
    leaks : tuple of str
        Columns that repeat the target and were therefore left out.
    leak_suspects : tuple of str
        Columns that tell the target nearly by themselves. They are used, and named in a caution;
        `trust` is then not ``"good"``.
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

    _kind: ClassVar[str] = "classes"
    _words: ClassVar[Words] = Words("robell.labels.audit", _kind)
    classes: tuple[str, ...]
    probability: np.ndarray
    noise_matrix: np.ndarray
    separation: float
    contradictions: tuple[np.ndarray, ...]
    set_aside: dict[str, int]
    groups: GroupNoise | None = None
    group_column: str = ""
    against: Against | None = None

    @staticmethod
    def _read(table, place):
        """Read the labels; return codes, cells, what sees leaks of them, and scores of a row."""
        labels, name = read_labels(table, place), table.columns[place].name
        names, n_classes = np.array(labels.classes, dtype=object), len(labels.classes)
        leak_of = partial(find_leak, codes=labels.codes, n_classes=n_classes)
        tells = partial(find_giveaway, codes=labels.codes, classes=labels.classes, target=name)
        return labels, labels.codes, names[labels.codes], leak_of, tells, SCORES_A_CLASS * n_classes

    @staticmethod
    def _judged(evidence, decided, grouping):
        """Judge the labels, and the groups; return the evidence, and what classes only have."""
        labels, codes, seed = evidence.target, evidence.codes, evidence.random_state
        settled, first = decided
        reviewed = Reviewed(settled, codes, settled)  # nothing, unless some are settled
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoSignalWarning)  # the result says it
            judgement = judge_labels(evidence.matrix, codes, random_state=seed)
        if is_reviewed := bool(settled.any()):
            reviewed = reviewed_classes(settled, first, labels.classes, codes)
            judgement = judge_reviewed(judgement, codes, reviewed)
        group_column, groups = "", None
        if grouping is not None:
            group_column, names, place = grouping
            judgement, groups = judge_by_group(judgement, codes, reviewed.first, names, place)
        told = bool(evidence.giveaways)
        trust = measure_trust(judgement, evidence.matrix, codes, seed, is_reviewed, told=told)
        judgement = trust.suspects_of(judgement, suggested=codes)

        # Groups of rows that agree in every used column and differ in the label.
        alike: dict[tuple, list[int]] = {}
        for place, row in enumerate(zip(*(one.cells for one in evidence.used), strict=True)):
            alike.setdefault(row, []).append(place)
        conflicts = []
        for rows in alike.values():
            if len(rows) > 1 and np.ptp(codes[rows]):
                conflicts.append(evidence.table.rows[rows])
        conflicts.sort(key=len, reverse=True)
        of_classes = {
            "classes": labels.classes,
            "given": evidence.given,
            "suggested": np.array(labels.classes, dtype=object)[judgement.suggested],
            "probability": judgement.probability,
            "noise_matrix": trust.scaled(judgement.noise_matrix),
            "separation": trust.separation,
            "contradictions": tuple(conflicts),
            "set_aside": labels.set_aside,
            "groups": groups and groups.scaled(trust.worth[1][0]),
            "group_column": group_column,
        }
        return replace(evidence, judgement=judgement, trust=trust, reviewed=reviewed), of_classes

    _reasons_of = staticmethod(reasons_of_classes)

    def _table(self, *, as_text=False):
        """Return the table of all rows, which is the same as text."""
        names = unique([f"probability of {writable(label)}" for label in self.classes])
        chances = dict(zip(names, self.probability.T, strict=True))
        return self._judged_table(self.given, self.suggested, chances)

    def _summary_parts(self):
        """Return what the summary says of classes only, part by part."""
        codes, n_classes = self.evidence.codes, len(self.classes)
        given = np.bincount(codes, minlength=n_classes)
        suspects = np.bincount(codes[self.suspect], minlength=n_classes)
        sizes, ways = {}, []
        for k, label in enumerate(self.classes):
            sizes[label] = {"rows": int(given[k]), "suspects": int(suspects[k])}
        for way in directions(self) if self.trust != "none" else ():
            true, labelled = self.classes[way.true], self.classes[way.given]
            shares = {"share_of_true": way.share, "rows": way.rows, "suspects": way.suspects}
            ways.append({"true": true, "labelled": labelled, **shares})
        compared = {} if self.groups is None else {"by_group": groups_summary(self)}
        if self.against is not None:
            compared["against"] = against_summary(self.against)
        reasons = {str(row): [one.text for one in some] for row, some in self.reasons.items()}
        return (
            {"classes": sizes},
            {"mistakes": ways, **compared},
            {"separation": self.separation},
            {"reasons": reasons},
        )

    def _headline(self):
        """Return the result in one sentence of plain text, or two where a class is hit hardest."""
        text, hit, known = super()._headline(), None, self.trust in ("good", "fair")
        for way in directions(self) if known and self.suspect.any() else ():
            if way.suspects and way.stands_out and (hit is None or way.share > hit.share):
                hit = way
        if hit is None or hit.share < FAR_MORE * float(self.suspect.mean()):
            return text
        return f"{noise_words(self, hit, said)}. {text}"

    def _how_good(self):
        """Say in plain words what the trust was measured by."""
        misfits = self.evidence.trust.misfits
        share = round(100 * (1 - misfits))
        share = min(share, 99) if misfits else share
        return f"with the label hidden, the other columns predicted it for {share} of 100 rows"

    def _kind_words(self):
        """Name the classes and their sizes."""
        sizes = [f"{said(label, 20)} {(self.given == label).sum():,}" for label in self.classes]
        return f"{counted(len(sizes), 'class', 'classes')}: {few(sizes)}"

    def _compared_lines(self):
        """Return a line on the groups, and one on the earlier table, if there are any."""
        lines = [] if self.groups is None else [group_line(self)]
        return lines if self.against is None else [*lines, against_verdict(self)]

    def _own(self):
        """Return which labels are mixed up, what was compared, and how labels were taken."""
        own: dict[str, list[Any]] = defaultdict(list)
        if self.suspect.any():
            ways = [way for way in directions(self) if way.suspects]
            found = []
            for way in ways[:SHOWN_WAYS]:
                given, true = (quoted(self.classes[k], 30) for k in (way.given, way.true))
                are = "is probably" if way.suspects == 1 else "are probably"
                are = "may be" if self.trust == "weak" else are
                found.append(f"{counted(way.suspects, 'row')} labelled {given} {are} {true}")
            if len(ways) > SHOWN_WAYS:
                left = sum(way.suspects for way in ways[SHOWN_WAYS:])
                found.append(f"{counted(left, 'row')} of {len(ways) - SHOWN_WAYS:,} further kinds")
            own["first"].append(Bullets(tuple(found)))
        verdicts = {} if self.groups is None else {"groups": group_verdict(self)}
        verdicts |= {} if self.against is None else {"against": against_verdict(self, quoted)}
        for section, verdict in verdicts.items():
            own["compared"].append(Callout("finding", f"{verdict} [More](#{section})"))
        for first, second in self.evidence.target.alike[:3]:
            text = self._say("alike", first=quoted(first), second=quoted(second))
            own["labels"].append(Callout("caution", text))
        weak = np.flatnonzero(self.evidence.trust.separations < LEAST_SEPARATION)
        if len(weak) and self.trust != "none":
            names = first_of([quoted(self.classes[k]) for k in weak], more="more classes")
            own["labels"].append(Callout("caution", self._say("guesswork", names=names)))
        if len(self.classes) > 2 and None not in map(number, self.classes):
            text = self._say("taken_as_classes", n=f"{len(self.classes):,}")
            own["labels"].append(Callout("note", text))
        if self.set_aside:
            names = first_of([f"{quoted(label)} ({n})" for label, n in self.set_aside.items()], 8)
            rows = counted(sum(self.set_aside.values()), "row was", "rows were")
            text = self._say("set_aside", least=LEAST_OF_CLASS, rows=rows, names=names)
            own["set_aside"].append(Callout("note", text))
        return own

    def _meaning(self):
        """Say what the word for the trust means, and how many suspects are probably right."""
        n_suspects, right = int(self.suspect.sum()), int(self.suspect.sum()) - self._really_wrong
        if not n_suspects:
            return super()._meaning()
        is_clear = self.trust == "fair" and self.evidence.trust.clarity >= CLEAR
        text = self._say("meaning")["unusual" if is_clear else self.trust]
        if n_suspects == 1:
            return text
        words = {"n": n_suspects, "wrong": self._really_wrong, "range": self._range_wrong}
        return text + self._say("expect" if right else "expect_all", right=right, **words)

    def _sections(self, top, csv_path):
        """Return the sections that show the evidence, None for those that have nothing to show."""
        return [
            self._suspects_section(top, csv_path),
            noise_section(self),
            None if self.groups is None else groups_section(self),
            None if self.against is None else against_section(self),
            classes_section(self),
            quality_section(self),
            map_section(self),
            contradictions_section(self),
        ]

    def _card_parts(self):
        """Return what a suspect is compared by: trusted rows of each class."""
        evidence, codes = self.evidence, self.evidence.codes
        examples = trusted(evidence.judgement, codes)
        members = [np.flatnonzero(examples & (codes == k)) for k in range(len(self.classes))]
        others = np.array(self.probability)
        others[np.arange(len(codes)), codes] = -1.0
        found = others.argmax(axis=1)  # of a suspect the one suggested
        texts = self.given, np.array(self.classes, dtype=object)[found]
        return CardParts(self.classes, self.classes, members, codes, found, examples, *texts)

    def _how(self):
        """Say how the numbers were computed, and how well columns predict each label."""
        evidence = self.evidence
        trust, sizes = evidence.trust, np.bincount(evidence.codes, minlength=len(self.classes))
        agree, clarity = percent(1 - trust.misfits), percent(trust.clarity)
        text = self._say("how", how=evidence.table.how, agree=agree, clarity=clarity)
        rows = zip(map(in_cell, self.classes), sizes, trust.separations, strict=True)
        return Paragraph(text), TableBlock(self._words.table("separation", rows))


class Direction(NamedTuple):
    """Rows of class `true` that are labelled `given`, as places of classes.

    `share` estimates how many of the class carry the label, `rows` their number; `suspects` were
    located. An estimate that `stands_out` is worth a sentence.
    """

    true: int
    given: int
    share: float
    rows: float
    suspects: int
    stands_out: bool


def directions(result):
    """Return the kinds of mistakes that stand out, those with most suspects and rows first."""
    share, evidence, found = result.noise_matrix, result.evidence, result.suspect
    rows = share * result.probability.sum(axis=0)[:, None]
    count = np.zeros(share.shape, int)
    np.add.at(count, (evidence.judgement.suggested[found], evidence.codes[found]), 1)
    stands_out = (rows >= LEAST_ROWS) & (share >= LEAST_SHARE)
    ways = []
    for k, y in np.argwhere((stands_out | (count > 0)) & ~np.eye(len(share), dtype=bool)).tolist():
        n, n_suspects, is_large = float(rows[k, y]), int(count[k, y]), bool(stands_out[k, y])
        ways.append(Direction(k, y, float(share[k, y]), n, n_suspects, is_large))
    return sorted(ways, key=lambda way: (-way.suspects, -way.rows, way.true, way.given))


def noise_words(result, way, quote):
    """Say how many rows of a class carry another label."""
    share = round(100 * way.share)
    start = f"About {share}" if share >= 1 else "Fewer than 1"
    return (
        f"{start} of 100 rows that are really {quote(result.classes[way.true])} "
        f"{'is' if share == 1 else 'are'} labelled {quote(result.classes[way.given])}"
    )


def classes_section(result):
    """Show how many rows each class has."""
    codes = result.evidence.codes
    given = np.bincount(codes, minlength=len(result.classes))
    estimated = result.probability.sum(axis=0) if result._has_estimates else None
    chosen = sorted(np.argsort(-given, kind="stable")[:MOST_BARS].tolist())
    names = [result.classes[k] for k in chosen]
    svg = class_bars(names, given[chosen], None if estimated is None else estimated[chosen])
    small, large = int(given.argmin()), int(given.argmax())
    sizes = result._say(
        "equal_sizes" if given[large] == given[small] else "sizes",
        classes=counted(len(given), "class", "classes"),
        large=quoted(result.classes[large]),
        small=quoted(result.classes[small]),
        times=given[large] / given[small],
    )
    more = "" if estimated is None else result._say("estimated_classes")
    more += f" The {MOST_BARS} largest classes." if len(chosen) < len(given) else ""
    figure = FigureBlock(svg, *result._words.figure("classes", more=more))
    return result._words.section("classes", figure, sizes=sizes)


def noise_section(result):
    """Say which labels are mixed up, in words and as a matrix."""
    if not result._has_estimates:
        return None
    ways = [way for way in directions(result) if way.stands_out]
    ways.sort(key=lambda way: (-way.rows, way.true, way.given))
    words = tuple(
        f"{noise_words(result, way, quoted)} (about {counted(max(1, round(way.rows)), 'row')})."
        for way in ways[:MOST_WORDS]
    )
    common = Bullets(words) if words else Paragraph(result._say("no_mistakes"))
    blocks: list[Any] = [Paragraph(result._share_wrong()), common]
    if len(result.classes) <= MATRIX_CLASSES:
        rows = zip(map(in_cell, result.classes), *100 * result.noise_matrix.T, strict=True)
        names = unique([f"labelled {piece(name)}" for name in result.classes])
        blocks.append(TableBlock(result._words.table("noise", rows, names)))
    return result._words.section("noise", *blocks)


def quality_section(result):
    """Show the quality of the labels, class by class."""
    if not result._has_estimates:
        return None
    svg, shown = quality_histograms(
        result.classes, result.evidence.codes, result.quality, result.suspect
    )
    more = f" The {len(shown)} largest classes." if len(shown) < len(result.classes) else ""
    figure = FigureBlock(svg, *result._words.figure("quality", more=more))
    return result._words.section("quality", figure)


def map_section(result):
    """Show the rows in a plane, suspects marked; nothing where the plane tells no class apart."""
    evidence = result.evidence
    plane, share = project(evidence.view)
    if told_apart(plane, evidence.codes, evidence.random_state) < LEAST_TOLD_APART:
        return None
    svg, drawn = class_map(
        result.classes, evidence.codes, plane, result.suspect, evidence.random_state
    )
    more = result._say("map_suspects") if result.suspect.any() else ""
    more += drawn_words(drawn, len(result.row))
    figure = FigureBlock(svg, *result._words.figure("map", share=percent(share), more=more))
    return result._words.section("map", figure)


def contradictions_section(result):
    """Show rows that agree in every used column and differ in the label."""
    evidence = result.evidence
    if not result.contradictions:
        return result._words.section("contradictions", text=result._say("no_contradictions"))
    groups = [np.searchsorted(result.row, group) for group in result.contradictions]
    n_rows = sum(map(len, groups))
    counts = [np.bincount(evidence.codes[group]) for group in groups]
    least = sum(int(count.sum() - count.max()) for count in counts)
    text = result._say(
        "contradictions",
        rows=f"{n_rows:,}",
        groups=counted(len(groups), "group"),
        least=f"{counted(least, 'of these labels', 'of these labels')}: "
        f"{'it is' if least == 1 else 'they are'}",
    )
    rows = []
    for place, (group, count) in enumerate(zip(groups[:SHOWN_CONFLICTS], counts, strict=False), 1):
        labels = ", ".join(
            f"{piece(result.classes[k])} ({count[k]:,})" for k in np.flatnonzero(count)
        )
        first = ", ".join(
            f"{piece(column.name)} = {piece(value_text(column, group[0])) or '(missing)'}"
            for column in evidence.used[:3]
        )
        rows.append((place, labels, places(result, group), first))
    caption = f"The {len(rows)} largest groups." if len(groups) > len(rows) else ""
    words = {"where": result._where.capitalize(), "caption": caption}
    table = result._words.table("contradictions", rows, **words)
    return result._words.section("contradictions", TableBlock(table), text=text)


def project(view):
    """Return the first two principal components of the rows, and their share of the variance."""
    centred = view - view.mean(axis=0)
    covariance = centred.T @ centred / len(centred)
    values, directions = np.linalg.eigh(covariance)
    first = directions[:, ::-1][:, :2]
    first = first * np.where(first.sum(axis=0) < 0, -1.0, 1.0)  # the same way round every time
    plane = centred @ first
    if plane.shape[1] < 2:
        plane = np.column_stack([plane, np.zeros(len(plane))])
    total = max(float(values.sum()), 1e-300)
    return plane, float(values[::-1][:2].sum() / total)


def told_apart(plane, codes, seed):
    """Return the mean area under the ROC curve of the shares of a class among the nearest dots."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(plane))[:MOST_PLACED]
    codes = codes[chosen]
    n_near = min(NEAR, len(chosen) - 1)
    _, near = KDTree(plane[chosen]).query(plane[chosen], k=n_near + 1)
    near = near[:, 1:]
    names, found = np.unique(codes), []
    if len(names) < 2:
        return 0.5
    for k in names:
        found.append(areas((codes[near] == k).mean(axis=1), codes == k)[1])
    return float(np.mean(found))
