"""The command ``robell audit``."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from robell._core.tools.files import FileError
from robell._core.tools.progress import Progress
from robell.labels.audit import audit
from robell.labels.audit.output import output_paths
from robell.labels.audit.report import TRUST, headline, really_wrong, share_predicted
from robell.report.text import counted, said
from robell.tables.sample import MAX_ROWS
from robell.tables.target import LEAST_ROWS

OK, INTERRUPTED = 0, 130
DELIMITER_NAMES = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "bar": "|",
    "space": " ",
}

AUDIT_HELP = """\
Find the rows of a table whose labels are probably wrong.

Reads one CSV (also gzipped) or Parquet file. Text columns, dates and missing cells are taken as
they come, and the report says what was done to each column. Writes NAME-audit.html, a page to
read, and NAME-audit.csv, all rows with the least likely labels first.
"""
AUDIT_EXAMPLES = """\
examples:
  robell audit customers.csv --target churned
  robell audit claims.csv.gz --target verdict --ignore claim_no clerk --out reports/
  robell audit old.csv --target kind --encoding latin-1 --out july

exit status: 0 done, 1 an error, 2 wrong usage, 130 interrupted (nothing is written)
"""


def add_audit(commands):
    """Add ``robell audit`` to the subcommands of a parser."""
    command = commands.add_parser(
        "audit",
        help="find the rows of a table whose labels are probably wrong",
        description=AUDIT_HELP,
        epilog=AUDIT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
        "--top", type=_whole(0), default=25, help="suspect rows in the report (default 25)"
    )
    command.add_argument(
        "--max-rows",
        type=_whole(LEAST_ROWS),
        default=MAX_ROWS,
        metavar="N",
        help=f"of a larger file, audit a random sample of so many rows (default {MAX_ROWS:,})",
    )
    command.add_argument(
        "--encoding", default="utf-8", help="of a text file, such as latin-1 (default utf-8)"
    )
    command.add_argument(
        "--delimiter",
        type=_delimiter,
        metavar="SIGN",
        help="what sets cells of a text file apart: comma, semicolon, tab, bar, or any one sign "
        "(default: found out)",
    )
    command.add_argument("--seed", type=_whole(0), default=0, help="of all that is random (0)")
    command.add_argument("--quiet", action="store_true", help="print the paths, nothing else")
    command.set_defaults(run=_run)


def _delimiter(text):
    """Return the sign, also where it is given by its name, as a shell likes it better."""
    return DELIMITER_NAMES.get(text.lower(), text)


def _whole(least):
    def parse(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be {least} or more")
        return value

    parse.__name__ = "whole number"  # what argparse calls it in a message
    return parse


def _run(options, arguments):
    shown = Progress.enabled
    Progress.enabled = shown and not options.quiet
    try:
        output_paths(options.out, options.data.name, source=options.data)
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
    except FileError as error:
        raise error.in_options(drop="ignore") from error
    except (ValueError, TypeError) as error:
        raise FileError(" ".join(str(error).split())) from error
    except KeyboardInterrupt:
        print("robell: stopped; nothing was written", file=sys.stderr)
        return INTERRUPTED
    finally:
        Progress.enabled = shown
    if not options.quiet:
        for name in result.leaks:
            text = f"column {said(name)} repeats the target, and was left out"
            print(f"robell: {text}", file=sys.stderr)
        print("\n".join(_summary(result)))
    print(result.html)
    print(result.csv)
    return OK


def _summary(result):
    """Return what was found in three lines."""
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
    n_suspects = int(result.suspect.sum())
    if n_suspects < 2:
        return ""
    return f"; about {really_wrong(result):,} of the {n_suspects:,} are really wrong by estimate"
