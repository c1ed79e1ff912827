"""The command ``robell audit``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from robell.cli.options import (
    ABOVE_LIMIT,
    CANNOT_TELL,
    COMMON,
    OK,
    Command,
    OptionError,
    add_options,
    memory_left,
    say,
    share,
    whole,
)


def add_arguments(command):
    """Add the command's options."""
    from robell.tables.sample import MAX_ROWS
    from robell.tables.target import LEAST_ROWS

    command.add_argument("data", type=Path, metavar="FILE", help=".csv, .csv.gz or .parquet")
    labels = command.add_mutually_exclusive_group(required=True)
    add_options(labels, "target")
    labels.add_argument(
        "--annotators",
        nargs="+",
        metavar="COLUMN",
        help="instead of --target: a column of labels for each annotator, empty where they gave "
        "none; finds the likeliest label of each row, and whom to trust",
    )
    labels.add_argument(
        "--long-form",
        nargs=3,
        metavar=("ROW", "ANNOTATOR", "LABEL"),
        help="the same for a file in which each line is one label: its three columns",
    )
    command.add_argument(
        "--out",
        metavar="DIR or PREFIX",
        help="a folder, or the beginning of the names of both files (default: this folder)",
    )
    command.add_argument(
        "--kind",
        choices=["auto", "classes", "numbers"],
        help="what the target holds; by default few different values, or codes without a gap, are "
        "classes, and other numbers are measured",
    )
    add_options(command, ignore={"help": "columns not to judge by"})
    command.add_argument(
        "--group",
        metavar="COLUMN",
        help="names the supplier, month or site of each row: says which of them label worse or "
        "better than others; not judged by",
    )
    command.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="an earlier table with the same columns: says whether labels are given differently "
        "now, among rows of the same values",
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
    command.add_argument(
        "--fail-above",
        type=share,
        metavar="SHARE",
        help="end with status 4 if more than this share of the labels checked is suspect, "
        "such as 5%% or 0.05; rows reviewed before are not suspect",
    )
    refused = "; a table that would take more, by estimate, is refused"
    memory = {"default": "4GiB", "help": COMMON["memory"]["help"] + refused}
    add_options(command, "reviewed", "json", "memory", "encoding", "delimiter", memory=memory)
    add_options(command, "seed", "force", "quiet")


def run(options, arguments):
    """Audit, and write the page and the table; as a gate, answer by the exit status."""
    from robell._tools.files import check_output, write_together
    from robell.labels.audit import audit, audit_annotators
    from robell.labels.audit.result import as_json, is_audit_file, is_summary, output_paths
    from robell.labels.review.review import beside

    if options.target is None:
        for name in ("kind", "group", "against", "reviewed", "fail_above"):
            if getattr(options, name) is not None:
                name = name.replace("_", "-")
                raise OptionError(f"--{name} goes with --target, not with several annotators")
    is_gate = options.fail_above is not None or options.json is not None
    has_report = options.out is not None or not is_gate
    if has_report:  # checked before any work is done
        is_ours = None if options.force else is_audit_file
        output_paths(options.out, options.data.name, options.data, is_ours)
    if options.json not in (None, "-"):
        check_output(options.json, [options.data], None if options.force else is_summary)
    how = {
        "drop": options.ignore,
        "max_rows": options.max_rows,
        "encoding": options.encoding,
        "delimiter": options.delimiter,
        "random_state": options.seed,
        "memory_limit": memory_left(options.memory, ()),
    }
    if options.target is None:
        result = audit_annotators(
            options.data, options.annotators, long_form=options.long_form, **how
        )
        found, status, verdict = result.summary(), OK, ""
    else:
        if options.reviewed is None:
            options.reviewed = beside(options.data, options.target)
        result = audit(
            options.data,
            options.target,
            kind=options.kind or "auto",
            group=options.group,
            against=options.against,
            reviewed=options.reviewed,
            **how,
        )
        status, verdict = _judged(result, options.fail_above)
        gate = {"fail_above": options.fail_above, "passed": status == OK, "exit_status": status}
        found = result.summary() | gate
    text, prints_json = as_json(found), options.json == "-"
    also = {} if options.json is None or prints_json else {Path(options.json): text}
    if has_report:
        command = shlex.join(["robell", *arguments])
        result = result.write(options.out, top=options.top, command=command, also=also)
    else:
        write_together(also)
    if prints_json:
        print(text, end="")
    if not options.quiet:
        for remark in result._remarks():
            say(remark)
        lines = [*result._terminal_lines(), *([verdict] if verdict else [])]
        print("\n".join(lines), file=sys.stderr if prints_json else sys.stdout)
    for path in filter(None, [result.html, result.csv, None if prints_json else options.json]):
        print(path)
    return status


def _judged(result, limit):
    """Return the exit status of a gate, and the line that explains it."""
    from robell._tools.text import percent

    if limit is None:
        return OK, ""
    if result.trust == "none":
        return CANNOT_TELL, "Failed: the columns say too little to tell whether the limit is kept."
    share = float(result.suspect.mean())
    found = f"{percent(share)} of the labels checked are suspect, {percent(limit)} are allowed."
    if share > limit:
        return ABOVE_LIMIT, f"Failed: {found}"
    return OK, f"Passed: {found}"


COMMAND = Command(
    "find the rows of a table whose labels, classes or numbers, are probably wrong",
    """\
Find the rows of a table whose labels are probably wrong: classes, or numbers such as prices.

Reads one CSV (also gzipped) or Parquet file. Text columns, dates and missing cells are taken as
they come, and the report says what was done to each column. Writes NAME-audit.html, a page to
read, and NAME-audit.csv, all rows with the least likely labels first; somebody who has looked at
rows fills in its column "decision", for robell apply.

With --annotators or --long-form the labels are those of several people: the table then holds the
likeliest label of each row, and the page says whom to trust, and what to label next.

With --fail-above or --json it is a gate for pipelines: page and table are written only where --out
says, so that it runs in a folder that cannot be written to.
""",
    """\
examples:
  robell audit customers.csv --target churned
  robell audit claims.csv.gz --target verdict --ignore claim_no clerk --out reports/
  robell audit old.csv --target kind --encoding latin-1 --out july
  robell audit flats.csv --target price
  robell audit parts.csv --target defect --group supplier
  robell audit july.csv --target defect --against june.csv
  robell audit photos.csv --annotators ann bob cyd
  robell audit crowd.csv --long-form photo worker answer
  robell audit train.csv --target label --fail-above 5% --json found.json
""",
    add_arguments,
    run,
)
