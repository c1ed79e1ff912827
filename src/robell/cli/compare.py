"""The command ``robell compare``."""

from __future__ import annotations

from pathlib import Path

from robell.cli.options import (
    INCOMPLETE,
    OptionError,
    checked_study_folder,
    memory_left,
    picked,
    say,
    say_outcome,
)

OF_SCORES = ("--metric", "--better", "--reference", "--rope", "--test-share")


def run(options, typed):
    """Run the comparison, or compare scores that exist: tables of rows have a target."""
    if options.target is None:
        return _run_scores(options, typed)
    given = [name for name in OF_SCORES if getattr(options, name[2:].replace("-", "_")) is not None]
    if given:
        raise OptionError(f"{given[0]} is for a table of scores, which has no --target")
    from robell.comparison.compare import compare

    options.out = options.out or Path("robell-compare")
    found = compare(
        options.data,
        options.models,
        **picked(options, "target drop protocol noise repeats n_jobs time_limit"),
        **picked(options, "encoding delimiter archive archive_copies"),
        memory_limit=memory_left(options.memory, ()),
        out=checked_study_folder(options),
        progress=not options.quiet,
        command=typed,
    )
    return say_outcome(found, options.quiet) or (INCOMPLETE if found.unavailable else 0)


def _run_scores(options, typed):
    """Compare the models of a table of scores."""
    from robell.comparison.given_scores import compare_scores

    if len(options.data) > 1:
        raise OptionError("--target names the column of labels; a table of scores is one file")
    found = compare_scores(
        options.data[0],
        **picked(options, "metric better reference rope test_share encoding delimiter"),
        out=options.out or "robell-scores",
        command=typed,
    )
    for remark in found.remarks:
        say(remark)
    if not options.quiet:
        print(found.headline, end="\n\n")
    print(found.report)
    return INCOMPLETE if any(cell.left_out for cell in found.cells.values()) else 0
