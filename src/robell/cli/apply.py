"""The command ``robell apply``."""

from __future__ import annotations

from pathlib import Path

from robell.cli.options import OK, Command, add_options


def add_arguments(command):
    """Add the command's options."""
    command.add_argument("table", type=Path, metavar="TABLE", help="the table that was audited")
    command.add_argument(
        "reviewed", type=Path, metavar="REVIEWED", help="NAME-audit.csv with its decisions"
    )
    command.add_argument(
        "--out", required=True, type=Path, metavar="FILE", help="the table to write"
    )
    add_options(command, "encoding", "delimiter", "force", "quiet")


def run(options, arguments):
    """Apply the review, and write the table and the log."""
    from robell._tools.text import counted
    from robell.labels.review import apply_review

    text = {"encoding": options.encoding, "delimiter": options.delimiter}
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


COMMAND = Command(
    "apply the decisions of a reviewed audit to its table",
    """\
Apply the decisions of a reviewed audit to the table that was audited.

The review is the NAME-audit.csv of robell audit, in whose column "decision" somebody has written
keep, change (to the label in the column "suggested", which may be replaced by another one) or
drop. Rows without a decision stay as they are. Writes the table, all lines that no decision
touches as they were, and beside it NAME-review.csv, a list of all decisions, which the next
audit of the table takes into account. A table that has changed since the audit is refused.
""",
    """\
examples:
  robell audit orders.csv --target returned
  robell apply orders.csv orders-audit.csv --out clean.csv
  robell audit clean.csv --target returned
""",
    add_arguments,
    run,
)
