"""The command ``robell audit``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from robell.cli.fit import expected_errors
from robell.cli.options import NOTHING_WRITTEN, OK, add_force, add_quiet, add_text, whole

HELP = "find the rows of a table whose labels are probably wrong"
DESCRIPTION = """\
Find the rows of a table whose labels are probably wrong.

Reads one CSV (also gzipped) or Parquet file. Text columns, dates and missing cells are taken as
they come, and the report says what was done to each column. Writes NAME-audit.html, a page to
read, and NAME-audit.csv, all rows with the least likely labels first.
"""
EXAMPLES = """\
examples:
  robell audit customers.csv --target churned
  robell audit claims.csv.gz --target verdict --ignore claim_no clerk --out reports/
  robell audit old.csv --target kind --encoding latin-1 --out july

exit status: 0 done, 1 an error, 2 wrong usage, 130 interrupted (nothing is written)
"""
WHEN_STOPPED = NOTHING_WRITTEN
__all__ = ["add_arguments", "expected_errors", "run"]


def add_arguments(command):
    """Add the command's options."""
    from robell.tables.sample import MAX_ROWS
    from robell.tables.target import LEAST_ROWS

    command.add_argument("data", type=Path, metavar="FILE", help=".csv, .csv.gz or .parquet")
    command.add_argument("--target", required=True, metavar="COLUMN", help="the column of labels")
    command.add_argument(
        "--out",
        metavar="DIR or PREFIX",
        help="a folder, or the beginning of the names of both files (default: this folder)",
    )
    command.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="columns not to judge by"
    )
    command.add_argument(
        "--top", type=whole(0), default=25, help="suspect rows in the report (default 25)"
    )
    command.add_argument(
        "--max-rows",
        type=whole(LEAST_ROWS),
        default=MAX_ROWS,
        metavar="N",
        help=f"of a larger file, audit a random sample of so many rows (default {MAX_ROWS:,})",
    )
    add_text(command)
    command.add_argument("--seed", type=whole(0), default=0, help="of all that is random (0)")
    add_force(command)
    add_quiet(command, "the paths")


def run(options, arguments):
    """Audit, and write the page and the table."""
    from robell.labels.audit import audit
    from robell.labels.audit.output import is_audit_file, output_paths
    from robell.report.text import said

    is_ours = None if options.force else is_audit_file
    output_paths(options.out, options.data.name, options.data, is_ours)
    result = audit(
        options.data,
        options.target,
        drop=options.ignore,
        max_rows=options.max_rows,
        encoding=options.encoding,
        delimiter=options.delimiter,
        random_state=options.seed,
    )
    command = shlex.join(["robell", *arguments])
    result = result.write(options.out, top=options.top, command=command)
    if not options.quiet:
        for name in result.leaks:
            text = f"column {said(name)} repeats the target, and was left out"
            print(f"robell: {text}", file=sys.stderr)
        _say_left_out(result)
        print("\n".join(_summary(result)))
    print(result.html)
    print(result.csv)
    return OK


def _say_left_out(result):
    """Say which columns the labels were not judged by, and why."""
    from robell.report.text import said

    notes = [
        note
        for note in result.columns
        if note.done.startswith("left out: ") and note.name not in result.leaks
    ]
    if notes:
        why = [f"{said(note.name)} {note.done.removeprefix('left out: ')}" for note in notes[:3]]
        more = f"; and {len(notes) - 3:,} more, see the report" if len(notes) > 3 else ""
        print(f"robell: columns left out: {'; '.join(why)}{more}", file=sys.stderr)


def _summary(result):
    """Return what was found in three lines."""
    from robell.labels.audit.report import TRUST, headline, share_predicted
    from robell.report.text import counted, said

    sizes = [int((result.given == label).sum()) for label in result.classes]
    classes = ", ".join(
        f"{said(label, 20)} {size:,}"
        for label, size in list(zip(result.classes, sizes, strict=True))[:5]
    )
    more = ", ..." if len(result.classes) > 5 else ""
    left_out = result.n_rows - len(result.row)
    checked = f"{len(result.row):,} rows checked" + (f", {left_out:,} not" if left_out else "")
    return (
        headline(result),
        f"{checked}; {counted(len(result.classes), 'class', 'classes')}: {classes}{more}",
        f"Trust: {TRUST[result.trust].lower()} ({share_predicted(result)}){_expected(result)}",
    )


def _expected(result):
    from robell.labels.audit.report import really_wrong

    n_suspects = int(result.suspect.sum())
    if n_suspects < 2:
        return ""
    return f"; about {really_wrong(result):,} of the {n_suspects:,} are really wrong by estimate"
