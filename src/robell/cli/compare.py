"""The command ``robell compare``."""

from __future__ import annotations

import shlex

from robell.cli.options import (
    INCOMPLETE,
    Command,
    checked_study_folder,
    memory_left,
    say_outcome,
)


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


def _values():
    from robell.comparison.evaluate import PROTOCOLS
    from robell.comparison.execute import default_workers
    from robell.comparison.user_models import DEFAULT, NAMES

    found = {"protocols": list(PROTOCOLS), "models": list(NAMES), "default": list(DEFAULT)}
    return found | {"workers": default_workers()}


COMMAND = Command(run, _values, is_study=True)
