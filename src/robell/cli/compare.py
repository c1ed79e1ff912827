"""The command ``robell compare``."""

from __future__ import annotations

import shlex
from pathlib import Path

from robell.cli.options import (
    COMMON,
    INCOMPLETE,
    Command,
    add_options,
    checked_study_folder,
    memory_left,
    say_outcome,
    whole,
)


def add_arguments(command):
    """Add the command's options."""
    from robell.comparison.evaluate import PROTOCOLS
    from robell.comparison.execute import default_workers
    from robell.comparison.user_models import DEFAULT, NAMES

    command.add_argument("data", nargs="+", metavar="FILE", help=".csv, .parquet, or a folder")
    add_options(command, target={"required": True})
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
    add_options(command, "repeats")
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
    refused = "; tables that would take more, by estimate and in all processes, are refused"
    memory = {"default": "4GiB", "help": COMMON["memory"]["help"] + refused}
    jobs = {"default": default_workers()}
    add_options(command, "ignore", "memory", "encoding", "delimiter", memory=memory, jobs=jobs)
    out = Path("robell-compare")
    command.add_argument("--out", type=Path, default=out, help=f"default: {out}")
    add_options(command, "quiet")


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
        out=checked_study_folder(options),
        progress=not options.quiet,
        command=shlex.join(["robell", *arguments]),
    )
    return say_outcome(found, options.quiet) or (INCOMPLETE if found.unavailable else 0)


COMMAND = Command(
    "compare models on your own tables, and write a report",
    """\
Compare models on tables of your own, and write a report.

Reads CSV (also gzipped) and Parquet files. Text columns, dates and missing cells are taken as they
come. Every model is fitted and scored on the same splits of every table; ranks, tests, diagrams
and times stand on one page, tables also as CSV, Markdown and LaTeX. What has finished is kept:
start the same command again after it was stopped, and it goes on.
""",
    """\
examples:
  robell compare tables/*.csv --target label
  robell compare tables/ --target label --models rvfl robell noise_robust lightgbm --noise 0 20
  robell compare a.csv b.parquet --target y --models mymodule:make_model forest --repeats 20
""",
    add_arguments,
    run,
    is_study=True,
)
