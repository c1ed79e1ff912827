"""The command ``robell apply``."""

from __future__ import annotations

from robell.cli.options import OK, Command, picked


def run(options, arguments):
    """Apply the review, and write the table and the log."""
    from robell._tools.text import counted
    from robell.labels.review import apply_review

    text = picked(options, "encoding delimiter")
    done = apply_review(options.table, options.reviewed, options.out, **text, replace=options.force)
    if not options.quiet:
        before = "; the table held all of this already" if done.was_applied else ""
        print(
            f"{counted(done.changed, 'label')} changed, {counted(done.dropped, 'row')} dropped, "
            f"{done.kept:,} kept, {done.undecided:,} without a decision{before}"
        )
    print(done.out)
    print(done.log)
    return OK


COMMAND = Command(run)
