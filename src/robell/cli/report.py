"""The command ``robell report``."""

from __future__ import annotations

from pathlib import Path

from robell.cli.options import OK, STUDY_KEPT, study_errors

HELP = "write the report of a study again, from its records"
DESCRIPTION = "Write report, tables and figures of a study again, from its records alone."
EXAMPLES = "example:\n  robell report robell-study"
WHEN_STOPPED = STUDY_KEPT
expected_errors = study_errors


def add_arguments(command):
    """Add the command's options."""
    command.add_argument("folder", type=Path, metavar="DIR", help="where the study was written")


def run(options, arguments):
    """Write the report of whichever study the folder holds."""
    from robell.comparison.study_page import write_report
    from robell.studies import study_in

    study = study_in(options.folder)
    report, results = write_report(study, options.folder)
    print(study.headline(results), end="\n\n")
    print(report)
    return OK
