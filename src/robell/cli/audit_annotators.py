"""The part of ``robell audit`` for several annotators: ``--annotators`` and ``--long-form``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from robell.cli.fit import memory_left
from robell.cli.options import OK

ONE_TARGET = {
    "kind": "--kind",
    "group": "--group",
    "against": "--against",
    "reviewed": "--reviewed",
    "fail_above": "--fail-above",
}


def add_arguments(labels):
    """Add the options for several annotators to those that say where labels are."""
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


def run(options, arguments, check_outputs):
    """Find the consensus, and write the page, the table and the summary."""
    from robell._tools.files import FileError, write_together
    from robell._tools.text import counted
    from robell.labels.audit.summary import as_json
    from robell.labels.crowd import audit_annotators
    from robell.labels.crowd.page import cautions, headline

    for key, option in ONE_TARGET.items():
        if getattr(options, key) is not None:
            raise FileError(f"{option} goes with --target, not with several annotators")
    has_report = options.out is not None or options.json is None
    check_outputs(options, has_report)
    result = audit_annotators(
        options.data,
        options.annotators,
        long_form=options.long_form,
        drop=options.ignore,
        max_rows=options.max_rows,
        encoding=options.encoding,
        delimiter=options.delimiter,
        random_state=options.seed,
        memory_limit=memory_left(options.memory, ()),
    )
    text = as_json(result.summary())
    also = {} if options.json in (None, "-") else {Path(options.json): text}
    if has_report:
        command = shlex.join(["robell", *arguments])
        result = result.write(options.out, top=options.top, command=command, also=also)
    else:
        write_together(also)
    prints_json = options.json == "-"
    if prints_json:
        print(text, end="")
    if not options.quiet:
        for caution in cautions(result):
            print(f"robell: {caution}", file=sys.stderr)
        unsure = counted(int(result.unsure.sum()), "row")
        lines = (headline(result), f"{unsure} less than 80 % sure; the table says whom to ask next")
        print("\n".join(lines), file=sys.stderr if prints_json else sys.stdout)
    for path in filter(None, [result.html, result.csv, None if prints_json else options.json]):
        print(path)
    return OK
