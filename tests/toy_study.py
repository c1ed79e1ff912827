"""A study of trivial jobs, for tests of the engine; workers import it by its name."""

import os
import signal
import time
from dataclasses import dataclass

import numpy as np

from robell.comparison.jobs import Rows, seed_of
from robell.comparison.scores import Results
from robell.comparison.study import Study
from robell.comparison.study_page import failed_blocks, last_run, unavailable_notes
from robell.report.page import Paragraph, Section, TableBlock
from robell.report.tables import Table


@dataclass(frozen=True)
class ToyJob:
    dataset: str
    number: int
    digest: str = "digest"
    does: str = ""  # "fail", "die", "wait", "hang" or "print"
    cost = 1

    @property
    def key(self):
        return f"toy/{self.dataset}/{self.number}"


def run_toy(job, rows, device="cpu"):
    if job.does == "fail":
        raise ValueError(f"{job.number} is not liked")
    if job.does == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if job.does == "wait":
        time.sleep(0.05)
    if job.does == "hang":
        time.sleep(600)
    if job.does == "print":
        print("a model that talks")
    outcome = {"sum": float(rows.X.sum()) * job.number}
    seeds = {"layer": seed_of(job.dataset, job.number)}
    return {"outcome": outcome, "seeds": seeds, "seconds": {"total": 0.001}}


def toy_tables():
    return {
        name: Rows(name, np.full((4, 1), k + 1.0), np.array([0, 0, 1, 1]), 1, "digest", {"n": 4})
        for k, name in enumerate(("one", "two"))
    }


def plan_toy(tables, numbers, does=""):
    return [ToyJob(name, number, does=does) for name in tables for number in range(numbers)]


def all_sections(results, run, figures):
    rows = tuple((r["job"]["dataset"], r["outcome"]["sum"]) for r in results.done)
    table = Table("sums", "Sums", ("Set", "Sum"), rows)
    blocks = [TableBlock(table), Paragraph(last_run(run)), *failed_blocks(results)]
    return [Section("sums", "Sums", (*blocks, *unavailable_notes(run, "sums")))]


def read(records, run):
    return Results(records)


def subtitle(results):
    return f"{len(results.records)} toys"


def headline(results):
    return f"{len(results.done)} toys are done"


def more_files(results, sections):
    return {"more/toys.txt": "toys"}


TITLE = "Toys"
TOY = Study(
    name="toy",
    page="toys.html",
    pages="toy_study",
    plan=plan_toy,
    run=run_toy,
)

if __name__ == "__main__":
    import sys

    # The class of a job must be the same one in every process.
    from toy_study import TOY as STUDY

    from robell.comparison.study import carry_out

    settings = {"numbers": 30, "does": "wait"}
    carry_out(STUDY, toy_tables(), {}, settings, sys.argv[1], n_workers=2)
