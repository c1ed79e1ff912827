"""The command ``robell audit``."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from robell.cli import audit_annotators
from robell.cli.fit import expected_errors, memory_left
from robell.cli.options import (
    ABOVE_LIMIT,
    CANNOT_TELL,
    NOTHING_WRITTEN,
    OK,
    add_force,
    add_memory,
    add_quiet,
    add_text,
    whole,
)

HELP = "find the rows of a table whose labels, classes or numbers, are probably wrong"
DESCRIPTION = """\
Find the rows of a table whose labels are probably wrong: classes, or numbers such as prices.

Reads one CSV (also gzipped) or Parquet file. Text columns, dates and missing cells are taken as
they come, and the report says what was done to each column. Writes NAME-audit.html, a page to
read, and NAME-audit.csv, all rows with the least likely labels first; somebody who has looked at
rows fills in its column "decision", for robell apply.

With --annotators or --long-form the labels are those of several people: the table then holds the
likeliest label of each row, and the page says whom to trust, and what to label next.

With --fail-above or --json it is a gate for pipelines: page and table are written only where --out
says, so that it runs in a folder that cannot be written to.
"""
EXAMPLES = """\
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
"""
WHEN_STOPPED = NOTHING_WRITTEN
__all__ = ["add_arguments", "expected_errors", "run"]


def add_arguments(command):
    """Add the command's options."""
    from robell.tables.sample import MAX_ROWS
    from robell.tables.target import LEAST_ROWS

    command.add_argument("data", type=Path, metavar="FILE", help=".csv, .csv.gz or .parquet")
    labels = command.add_mutually_exclusive_group(required=True)
    labels.add_argument("--target", metavar="COLUMN", help="the column of labels")
    audit_annotators.add_arguments(labels)
    command.add_argument(
        "--out",
        metavar="DIR or PREFIX",
        help="a folder, or the beginning of the names of both files (default: this folder)",
    )
    _add_columns(command)
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
        "--reviewed",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="reviews of rows of this table, whose labels are then right (default: the "
        "NAME-review.csv that robell apply has written beside the table)",
    )
    _add_gate(command)
    add_memory(command, "4GiB", "; a table that would take more, by estimate, is refused")
    add_text(command)
    command.add_argument("--seed", type=whole(0), default=0, help="of all that is random (0)")
    add_force(command)
    add_quiet(command, "the paths")


def _add_columns(command):
    """Add the options that say what columns are for."""
    command.add_argument(
        "--kind",
        choices=["auto", "classes", "numbers"],
        help="what the target holds; by default few different values, or codes without a gap, are "
        "classes, and other numbers are measured",
    )
    command.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="columns not to judge by"
    )
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


def _add_gate(command):
    """Add the options of a gate for pipelines."""
    command.add_argument(
        "--fail-above",
        type=_share,
        metavar="SHARE",
        help="end with status 4 if more than this share of the labels checked is suspect, "
        "such as 5%% or 0.05; rows reviewed before are not suspect",
    )
    command.add_argument(
        "--json", metavar="FILE", help="write a summary for programs there; - prints it"
    )


def _share(text):
    """Return a share from 0 to 1, as argparse wants it."""
    found = re.fullmatch(r"\s*(\d{1,3}(?:\.\d*)?|\.\d+)\s*(%?)\s*", text, re.ASCII)
    share = float(found[1]) / (100 if found[2] else 1) if found else 2.0
    if share > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share such as 5% or 0.05")
    return share


def run(options, arguments):
    """Audit, and write the page and the table; as a gate, answer by the exit status."""
    from robell._tools.text import said
    from robell.labels.audit import audit
    from robell.labels.audit.numeric_page import terminal_lines
    from robell.labels.audit.reviewed import beside

    if options.target is None:
        return audit_annotators.run(options, arguments, _check_outputs)
    is_gate = options.fail_above is not None or options.json is not None
    has_report = options.out is not None or not is_gate
    _check_outputs(options, has_report)
    result = audit(
        options.data,
        options.target,
        kind=options.kind or "auto",
        drop=options.ignore,
        group=options.group,
        against=options.against,
        max_rows=options.max_rows,
        encoding=options.encoding,
        delimiter=options.delimiter,
        reviewed=beside(options.data) if options.reviewed is None else options.reviewed,
        random_state=options.seed,
        memory_limit=memory_left(options.memory, ()),
    )
    status, verdict = _judged(result, options.fail_above)
    prints_json = options.json == "-"
    result = _write(options, result, status, has_report, shlex.join(["robell", *arguments]))
    if not options.quiet:
        for name in result.leaks:
            text = f"column {said(name)} repeats the target, and was left out"
            print(f"robell: {text}", file=sys.stderr)
        _say_left_out(result)
        found = _summary(result) if hasattr(result, "classes") else terminal_lines(result)
        lines = [*found, *([verdict] if verdict else [])]
        print("\n".join(lines), file=sys.stderr if prints_json else sys.stdout)
    written = [result.html, result.csv, None if prints_json else options.json]
    for path in filter(None, written):
        print(path)
    return status


def _check_outputs(options, has_report):
    """Raise, before any work is done, where an output cannot be written or would do harm."""
    from robell._tools.files import check_output
    from robell.labels.audit.output import is_audit_file, output_paths
    from robell.labels.audit.summary import is_summary

    if has_report:
        is_ours = None if options.force else is_audit_file
        output_paths(options.out, options.data.name, options.data, is_ours)
    if options.json not in (None, "-"):
        check_output(options.json, [options.data], None if options.force else is_summary)


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


def _write(options, result, status, has_report, command):
    """Write what was asked for, all of it or nothing."""
    from robell._tools.files import write_together
    from robell.labels.audit.summary import as_json

    gate = {"fail_above": options.fail_above, "passed": status == OK, "exit_status": status}
    text = as_json(result.summary() | gate)
    also = {} if options.json in (None, "-") else {Path(options.json): text}
    if has_report:
        result = result.write(options.out, top=options.top, command=command, also=also)
    else:
        write_together(also)
    if options.json == "-":
        print(text, end="")
    return result


def _say_left_out(result):
    """Say which columns the labels were not judged by, and why."""
    from robell._tools.text import said

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
    from robell._tools.text import counted, said
    from robell.labels.audit.against import against_verdict
    from robell.labels.audit.common import checked_words, trust_words
    from robell.labels.audit.report import headline, share_predicted

    sizes = [int((result.given == label).sum()) for label in result.classes]
    classes = ", ".join(
        f"{said(label, 20)} {size:,}"
        for label, size in list(zip(result.classes, sizes, strict=True))[:5]
    )
    more = ", ..." if len(result.classes) > 5 else ""
    n_classes = counted(len(result.classes), "class", "classes")
    compared = [] if result.against is None else [against_verdict(result.against)]
    by_group = [] if result.groups is None else [_by_group(result)]
    return (
        headline(result),
        *by_group,
        *compared,
        f"{checked_words(result)}; {n_classes}: {classes}{more}",
        trust_words(result, share_predicted(result)),
    )


def _by_group(result):
    """Return one line on the groups, with the worst of them."""
    from robell._tools.text import percent, said
    from robell.labels.audit.groups import verdict

    groups, line = result.groups, verdict(result, said)
    if result.trust == "none" or not groups.differs.any():
        return line
    worst = max(groups.differs.nonzero()[0], key=lambda g: groups.noise_rate[g])
    name, rate = said(str(groups.group[worst]), 30), float(groups.noise_rate[worst])
    return f"{line} Most wrong among these: {name}, about {percent(rate)} wrong."
