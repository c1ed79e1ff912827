"""The command ``robell compare``."""

from __future__ import annotations

import shlex

from robell.cli.fit import memory_left
from robell.cli.options import (
    INCOMPLETE,
    STUDY_KEPT,
    add_memory,
    add_run,
    add_text,
    say_outcome,
    study_errors,
    study_folder,
    whole,
)

HELP = "compare models on your own tables, and write a report"
DESCRIPTION = """\
Compare models on tables of your own, and write a report.

Reads CSV (also gzipped) and Parquet files. Text columns, dates and missing cells are taken as they
come. Every model is fitted and scored on the same splits of every table; ranks, tests, diagrams
and times stand on one page, tables also as CSV, Markdown and LaTeX. What has finished is kept:
start the same command again after it was stopped, and it goes on.
"""
EXAMPLES = """\
examples:
  robell compare tables/*.csv --target label
  robell compare tables/ --target label --models rvfl robell noise_robust lightgbm --noise 0 20
  robell compare a.csv b.parquet --target y --models mymodule:make_model forest --repeats 20
"""
WHEN_STOPPED = STUDY_KEPT
expected_errors = study_errors


def add_arguments(command):
    """Add the command's options."""
    from robell.comparison.evaluate import PROTOCOLS
    from robell.comparison.user_models import DEFAULT, NAMES

    command.add_argument("data", nargs="+", metavar="FILE", help=".csv, .parquet, or a folder")
    command.add_argument("--target", required=True, metavar="COLUMN", help="the column of labels")
    command.add_argument(
        "--models",
        nargs="+",
        metavar="MODEL",
        default=list(DEFAULT),
        help=f"{', '.join(NAMES)}, or module:callable, a function of a seed that returns a "
        f"classifier or a pair of it and a grid (default {' '.join(DEFAULT)})",
    )
    command.add_argument(
        "--protocol",
        choices=PROTOCOLS,
        default="repeated",
        help="repeated: stratified 70:30 splits (default); holdout: one of them; paper: the "
        "paper's one split, its models tuned over its grids",
    )
    command.add_argument(
        "--repeats", type=whole(1), default=10, help="splits of the protocol repeated (default 10)"
    )
    command.add_argument(
        "--noise",
        nargs="+",
        type=whole(0, 100),
        default=[0],
        metavar="PERCENT",
        help="training labels made wrong, in percent (default 0)",
    )
    command.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="that one fit may take (default: none)"
    )
    command.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="columns not to learn from"
    )
    add_memory(
        command,
        "4GiB",
        "; tables that would take more, by estimate and in all processes, are refused",
    )
    add_text(command)
    add_run(command, "robell-compare")


def run(options, arguments):
    """Run the comparison."""
    from robell.comparison.compare import compare

    found = compare(
        options.data,
        options.models,
        target=options.target,
        drop=options.ignore,
        protocol=options.protocol,
        noise=options.noise,
        repeats=options.repeats,
        n_jobs=options.jobs,
        time_limit=options.time_limit,
        encoding=options.encoding,
        delimiter=options.delimiter,
        memory_limit=memory_left(options.memory, ()),
        out=study_folder(options),
        progress=not options.quiet,
        command=shlex.join(["robell", *arguments]),
    )
    return say_outcome(found, options.quiet) or (INCOMPLETE if found.unavailable else 0)
