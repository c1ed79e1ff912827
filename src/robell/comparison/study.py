"""A study as one frozen record, and the one way to carry out any of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path

import numpy as np

from robell._tools.files import write_atomically
from robell._tools.optional import require
from robell.comparison.execute import Summary, execute
from robell.comparison.jobs import Rows
from robell.comparison.scores import Results
from robell.comparison.store import Store, StudyError
from robell.comparison.study_page import write_report
from robell.datasets import DatasetUnavailable, info, load
from robell.datasets._dataset import content_digest, other_size


@dataclass(frozen=True)
class Study:
    """All the engine knows of a study."""

    name: str  # as its output directories are stamped
    page: str  # file name of the page
    pages: str  # the module that makes the page
    plan: Callable  # (tables, **settings) -> list of jobs
    run: Callable  # (job, rows, device) -> the record's outcome; workers import it by its name
    extra: str = "bench"  # of this package, which installs what the page needs
    longest_first: bool = True  # whether long jobs start first, or all in the order planned

    @property
    def maker(self):
        """The module of the page, imported when there are records to show.

        It has ``TITLE``, ``read(records, run)``, ``all_sections(results, run, figures)``,
        ``more_files(results, sections)``, ``subtitle(results)`` and ``headline(results)``.
        """
        return import_module(self.pages)


@dataclass(frozen=True)
class Outcome:
    """What a run of a study left behind: its page, what that is made of, what is missing."""

    study: Study
    report: Path
    results: Results
    summary: Summary
    unavailable: dict  # sets that could not be had, and why

    @property
    def headline(self) -> str:
        """The main result in a few lines of text, for a terminal."""
        return self.study.maker.headline(self.results)


def gather(names, data_dir=None, download=True):
    """Return ({name: Rows} of the sets that can be had, {name: why} of those that cannot)."""
    tables, unavailable = {}, {}
    for name in names:
        try:
            found = load(name, data_dir, download=download)
        except DatasetUnavailable as error:
            unavailable[name] = str(error)
            continue
        other = other_size(info(name), found.X, found.y)
        if other and found.source == "data directory":
            unavailable[name] = (
                f"{name}.csv in {data_dir} is not the set {name}: it has {other}; "
                "'robell compare' takes tables of your own"
            )
            continue
        about = {f: getattr(found, f) for f in ("source", "note", "stand_in", "paper_rows")}
        about |= {"n_rows": len(found.y), "n_features": found.X.shape[1], **_counts(found.y)}
        # The label the paper's sensitivity refers to; 1, the minority, in other sets.
        positive = info(name).paper_positive
        positive = 1 if positive is None else positive
        tables[name] = Rows(name, found.X, found.y, positive, found.digest, about)
    return tables, unavailable


def _counts(y):
    counts = np.bincount(y)
    return {"n_minority": int(counts.min()), "class_counts": counts.tolist()}


def sampled(rows, most):
    """Return a table, or a stratified sample of it (always the same) where it is larger."""
    if len(rows.y) <= most:
        return rows
    from sklearn.model_selection import train_test_split

    places = np.arange(len(rows.y))
    chosen = np.sort(train_test_split(places, train_size=most, stratify=rows.y, random_state=0)[0])
    X, y = rows.X[chosen], rows.y[chosen]
    note = f"{rows.about.get('note', '')} {most:,} of its {len(rows.y):,} rows, stratified."
    about = {"note": note.strip(), "n_rows": most, **_counts(y)}
    return replace(rows, X=X, y=y, digest=content_digest(X, y), about=rows.about | about)


def carry_out(study, tables, unavailable, settings, out, *, command="", notes=None, **how):
    """Run the jobs of a study that are still to do, then write its report; return an Outcome.

    ``settings`` go to the study's plan, ``notes`` into run.json, and ``how`` to :func:`execute`.
    """
    require("matplotlib", study.extra)  # now, rather than when everything else is done
    if not tables:
        reasons = "; ".join(dict.fromkeys(unavailable.values()))
        raise StudyError(f"none of the sets asked for is here: {reasons}")
    jobs = study.plan(tables, **settings)
    with Store(out, study.name) as store:
        summary = execute(study, jobs, tables, store, **how)
        run = {
            "command": command,
            "finished": time.strftime("%Y-%m-%d"),
            "workers": how.get("n_workers", 1),
            "unavailable": unavailable,
            "digests": {name: rows.digest for name, rows in tables.items()},
            **(notes or {}),
            "summary": asdict(summary),
        }
        text = json.dumps(run, indent=1)
        write_atomically(Path(out) / "run.json", text + "\n")
        report, results = write_report(study, out, json.loads(text))
    return Outcome(study, report, results, summary, unavailable)
