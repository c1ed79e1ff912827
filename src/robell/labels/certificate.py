"""The certificate of a table: how many of its labels are wrong, from a sample that was checked."""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from robell import __version__
from robell._core.labels.sampling import CONFIDENCE, Interval
from robell._tools.files import write_together
from robell._tools.text import counted, in_cell, literal, quoted, visible
from robell.labels.audit.result import as_json, result_paths
from robell.report.page import Callout, Facts, TableBlock, Words, render

SURE = f"{100 * CONFIDENCE:.0f} %"
WORDS = Words("robell.labels")


class Part(NamedTuple):
    """Wrong labels of a part of a table, such as a class: rows, rows checked, and the share."""

    name: str
    rows: int
    checked: int
    found: int
    share: Interval


@dataclass(frozen=True, eq=False)
class Certificate:
    """How many labels of a table are wrong, by a sample that a person has checked.

    An interval has `about`, the estimate, `low` and `high`; it holds the true value with 95 %
    confidence, whatever the audit thought of the rows.

    Attributes
    ----------
    name, target, kind : str
        The table, its column of labels, and whether these are ``"classes"`` or ``"numbers"``.
    n_rows, n_covered, n_checked, n_untold : int
        Rows of the table, those with a label that could be drawn, those that were drawn, and those
        of them whose right label could not be told.
    n_found : int
        How many of the labels checked are wrong.
    wrong, share : Interval
        The number of wrong labels among the rows covered, and their share.
    n_suspects : int
        How many rows the audit called suspect.
    recall : Interval or None
        Which share of the wrong labels is among them; None where no wrong label was found, or no
        row was suspect.
    by_class, by_direction, by_group : tuple of Part
        Shares of wrong labels of each class as it is given, of each kind of mistake that was found
        (of the rows labelled so), and of each group: `name`, `rows`, `checked`, `found`, `share`.
        Of numbers, the kinds of mistakes are too small and too large.
    fingerprint, sample : str
        Of the table with its labels, and the name of the sample.
    group, tolerance : str or None
        What named the groups, and from which difference on a number is wrong.
    random_state : int
        The seed of the sample.
    drawn, dated : str
        The days on which the sample was drawn and the certificate made.
    html, json : Path or None
        The files that were written.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import certify
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat(["ham", "spam"], 150)
    >>> size = rng.normal(np.repeat([0.0, 5.0], 150))
    >>> frame = pd.DataFrame({"size": size, "links": rng.normal(size), "label": kind})
    >>> frame.loc[:9, "label"] = "spam"
    >>> sample = certify(frame, "label", rows=60)
    >>> sheet = sample.to_frame()
    >>> sheet["true"] = kind[sheet["row"] - 1]  # what a person would write
    >>> certificate = sample.certificate(sheet)
    >>> certificate.wrong.low <= 10 <= certificate.wrong.high
    True
    """

    name: str
    target: str
    kind: str
    n_rows: int
    n_covered: int
    n_checked: int
    n_untold: int
    n_found: int
    wrong: Interval
    share: Interval
    n_suspects: int
    recall: Interval | None
    by_class: tuple[Part, ...]
    by_direction: tuple[Part, ...]
    by_group: tuple[Part, ...]
    fingerprint: str
    sample: str
    group: str | None
    tolerance: str | None
    random_state: int
    drawn: str
    dated: str
    html: Path | None = None
    json: Path | None = None

    def headline(self) -> str:
        """Return the upper end of the share of wrong labels, and what the list of suspects held."""
        words = {"upper": _upper(self.share.high), "n": self.n_covered, "things": self._things}
        if self.recall is None:
            return str(WORDS.text("headline", sure=SURE, **words))
        words |= {"held": _about(self.recall, 0), "span": _range(self.recall, 0)}
        return str(WORDS.text("headline_with_list", sure=SURE, **words))

    @property
    def _things(self) -> str:
        return "numbers" if self.kind == "numbers" else "labels"

    def lines(self) -> list[str]:
        """Return the headline, the estimate, the kinds of mistakes found, and remarks."""
        estimate = f"{_about(self.share)} by estimate, {_range(self.share)}"
        found = f"{self.n_found:,} of {counted(self.n_checked, 'row')} checked were wrong"
        ways = [
            f"{visible(one.name)}: {_range(one.share)} of {one.rows:,} rows"
            for one in self.by_direction[:5]
        ]
        return [self.headline(), f"{found}; {estimate}", *ways, *map(visible, self._notes())]

    def still_wrong(self, corrected: int) -> tuple[int, int]:
        """Return the fewest and the most labels still wrong after so many of them were corrected.

        The interval is that of the sample less the labels corrected. It is as valid after every
        decision of a review, as it was made before the first.

        Parameters
        ----------
        corrected : int
            Wrong labels of the rows covered that were found and corrected since.

        Returns
        -------
        low, high : int
            The fewest and the most labels that are still wrong.
        """
        low, high = self.wrong.low - corrected, self.wrong.high - corrected
        return max(0, round(low)), max(0, round(high))

    def summary(self) -> dict[str, Any]:
        """Return all that the page says as a dictionary that can be written as JSON."""
        names = [name for name in self.__dataclass_fields__ if name not in ("html", "json")]
        return {
            "certificate": self.headline(),
            **{name: _plain(getattr(self, name)) for name in names},
            "confidence": CONFIDENCE,
            "method": WORDS.text("method"),
            "robell": __version__,
        }

    def write(
        self, out: str | os.PathLike[str] | None = None, *, replace: bool = True, command: str = ""
    ) -> Certificate:
        """Write ``<name>-certificate.html`` and ``<name>-certificate.json``, or neither.

        Parameters
        ----------
        out : path-like, default=None
            A folder, or the beginning of the files' names; the current folder when None.
        replace : bool, default=True
            Whether to replace files that are no earlier certificate.
        command : str, default=""
            The command that the page says it was made by.

        Returns
        -------
        certificate : Certificate
            The same with `html` and `json`.
        """
        html, json = certificate_paths(out, self.name, replace)
        write_together({html: self._page(command), json: as_json(self.summary())})
        return dataclasses.replace(self, html=html, json=json)

    def _page(self, command: str) -> str:
        """Return the page."""
        facts = [
            ("wrong at most", _upper(self.share.high), f"with {SURE} confidence"),
            ("by estimate", _about(self.share), _range(self.share)),
            ("rows checked", f"{self.n_checked:,}", f"of {self.n_covered:,}"),
        ]
        if self.recall is not None:
            held = _about(self.recall, 0), _range(self.recall, 0)
            facts.append(("held by the list of suspects", *held))
        counts = "; ".join(f"{n:,}" for n in (self.n_checked, self.n_found, self.n_untold))
        rows = (
            ("table", in_cell(self.name)),
            ("fingerprint of the table and its labels", self.fingerprint),
            ("rows; with a label", f"{self.n_rows:,}; {self.n_covered:,}"),
            ("sample", self.sample),
            ("seed", str(self.random_state)),
            ("sample drawn on", self.drawn),
            ("certificate made on", self.dated),
            ("rows checked; found wrong; not told", counts),
            ("suspects of the audit", f"{self.n_suspects:,}"),
        )
        notes, headline = (
            [Callout("note", text) for text in self._notes()],
            literal(self.headline()),
        )
        sections = [WORDS.section("found", Facts(tuple(facts)), *notes, headline=headline)]
        group = in_cell(self.group or "")
        for name in ("class", "direction", "group"):
            parts = [
                (in_cell(one.name), *one[1:4], _about(one.share), _range(one.share))
                for one in getattr(self, f"by_{name}")
            ]
            if parts:
                table = WORDS.table(name, parts, group=group, sure=SURE)
                sections.append(WORDS.section(f"by-{name}", TableBlock(table)))
        proof = TableBlock(WORDS.table("proof", rows))
        sections.append(WORDS.section("how", proof))
        made = f"Made by robell {__version__} on {self.dated}"
        return render(
            WORDS.text("title", things=self._things, name=in_cell(self.name)),
            WORDS.text("subtitle", things=self._things, target=quoted(self.target)),
            sections,
            f"{made} by `{literal(command)}`." if command else f"{made}.",
        )

    def _notes(self):
        """Yield what a reader must know of the rows that were not counted."""
        if self.n_covered < self.n_rows:
            yield WORDS.text("not_covered", rows=counted(self.n_rows - self.n_covered, "row"))
        if self.n_untold:
            yield WORDS.text("not_told", rows=counted(self.n_untold, "row"))
        if self.tolerance is not None:
            yield WORDS.text("tolerance", tolerance=literal(self.tolerance))
        if self.recall is None and self.n_suspects:
            yield WORDS.text("none_found")


def certificate_paths(out, name, replace=True):
    """Return the paths of the page and of the JSON file; other files stay, unless asked."""

    def is_certificate(path):
        beginning = path.read_bytes()[:2000]
        is_page = b"<title>Certificate of " in beginning and b"Content-Security-Policy" in beginning
        return is_page or beginning.startswith(b'{\n  "certificate": ')

    is_ours = None if replace else is_certificate
    return result_paths(out, name, "certificate", ("html", "json"), is_ours=is_ours)


def _plain(value):
    """Return named values as dictionaries, and tuples of them as lists, for JSON."""
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _about(interval, digits=1):
    """Return the estimate of a share as a percentage."""
    return f"{100 * interval.about:.{digits}f} %"


def _upper(share):
    """Return a share as a percentage, rounded up."""
    return f"{math.ceil(1000 * share - 1e-6) / 10:.1f} %"


def _range(interval, digits=1):
    """Return an interval of a share as percentages, rounded outwards."""
    scale = 10.0 ** (2 + digits)
    low = math.floor(scale * interval.low + 1e-6) / 10.0**digits
    high = math.ceil(scale * interval.high - 1e-6) / 10.0**digits
    return f"{low:.{digits}f} to {high:.{digits}f} %"
