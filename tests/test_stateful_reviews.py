"""Audits, reviews and applied reviews in any order: rows decided upon change, and no others."""

import csv
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from robell import apply_review, audit
from robell._tools.files import FileError

LABELS = ("fern", "moss")


def plants():
    """Two kinds of plants, told by two columns, seven labels of ninety wrong; rows by cells."""
    rng = np.random.default_rng(1)
    lines = {}
    for k in range(90):
        label = LABELS[(k % 2) ^ (k in (7, 20, 33, 46, 59, 71, 88))]
        cells = f"{3 + 6 * (k % 2) + rng.normal():.3f},{rng.normal() + 2 * (k % 2):.3f}"
        lines[cells] = label
    return lines


class Reviews(RuleBasedStateMachine):
    """A table on disk, its newest audit and review, and what each row's label has to be."""

    @initialize()
    def begin(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = Path(self.kept.name)
        self.expected = plants()
        self.table = self.folder / "plants-0.csv"
        text = "height,spread,plant\n" + "".join(f"{c},{v}\n" for c, v in self.expected.items())
        self.table.write_text(text, encoding="utf-8")
        self.review, self.old = None, []  # of the newest audit; of earlier ones
        self.decided, self.number = set(), 0

    @invariant()
    def the_table_is_as_decided(self):
        if not hasattr(self, "expected"):
            return
        lines = self.table.read_text(encoding="utf-8").splitlines()
        assert lines[0] == "height,spread,plant"
        assert [tuple(line.rsplit(",", 1)) for line in lines[1:]] == list(self.expected.items())
        assert not [one for one in self.folder.iterdir() if one.name.startswith(".")]

    @rule(every=st.booleans())
    def judge(self, every):
        log = self.table.with_name(f"{self.table.stem}-review.csv")
        reviewed = [log] if log.exists() else []  # as the command finds it
        result = audit(self.table, "plant", out=self.folder, all_rows=every, reviewed=reviewed)
        if not self.decided:
            assert result.suspect.sum() >= 5
        cells = list(self.expected)
        again = {cells[row - 1] for row in np.flatnonzero(result.suspect) + 1}
        assert not again & self.decided  # a row that somebody has looked at is not asked for again
        if self.review:
            self.old.append(self.review)
        self.review = self.folder / f"review-{self.number}-{len(self.old)}.csv"
        os.replace(result.csv, self.review)
        self.words = {}

    @precondition(lambda self: self.review and not self.words)
    @rule(choices=st.lists(st.sampled_from(["keep", "change", "drop", ""]), min_size=1, max_size=6))
    def decide(self, choices):
        with self.review.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row, word in zip(rows, choices):
            row["decision"] = word
            if word == "change" and row["suggested"] == row["given"]:
                row["suggested"] = LABELS[row["given"] == LABELS[0]]
            if word:
                label = row["suggested"] if word == "change" else row["given"]
                self.words[int(row["row"])] = (word, label)
        if not rows:
            return
        with self.review.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)

    @precondition(lambda self: self.review and self.words)
    @rule()
    def apply(self):
        self.number += 1
        before, out = self.table.read_bytes(), self.folder / f"plants-{self.number}.csv"
        applied = apply_review(self.table, self.review, out)
        assert not applied.was_applied
        assert self.table.read_bytes() == before
        cells = list(self.expected)
        for row, (word, label) in self.words.items():
            if word == "drop":
                del self.expected[cells[row - 1]]
            else:
                self.expected[cells[row - 1]] = label
                self.decided.add(cells[row - 1])
        again = self.folder / "again.csv"
        apply_review(out, self.review, again)
        assert again.read_bytes() == out.read_bytes()
        self.table = out
        self.old.append(self.review)
        self.review = None

    @precondition(lambda self: self.old)
    @rule(which=st.integers(0, 9))
    def apply_an_old_review(self, which):
        """It is refused, or asks for what the table is already, or for rows of its own alone."""
        review = self.old[which % len(self.old)]
        out, before = self.folder / "old.csv", self.table.read_bytes()
        out.unlink(missing_ok=True)
        try:
            apply_review(self.table, review, out)
        except FileError:
            assert not out.exists()
        else:
            decided = set()
            with review.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    if row["decision"]:
                        decided.add(f"{row['height']},{row['spread']}")
            found = [tuple(one.rsplit(",", 1)) for one in out.read_text("utf-8").splitlines()[1:]]
            for cells, label in found:
                assert label == self.expected[cells] or cells in decided
            assert set(self.expected) - {cells for cells, _ in found} <= decided
        assert self.table.read_bytes() == before

    @precondition(lambda self: self.review and self.words)
    @rule(row=st.integers(0, 30))
    def a_table_that_has_changed_is_refused(self, row):
        lines = self.table.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[1 + row] = f"9{lines[1 + row]}"
        other, out = self.folder / "other.csv", self.folder / "refused.csv"
        other.write_text("".join(lines), encoding="utf-8")
        with pytest.raises(FileError, match="has changed since the audit"):
            apply_review(other, self.review, out)
        assert not out.exists()

    def teardown(self):
        if hasattr(self, "kept"):
            self.kept.cleanup()


def test_audits_and_reviews_in_any_order():
    run_state_machine_as_test(Reviews, settings=settings(max_examples=5, stateful_step_count=9))
