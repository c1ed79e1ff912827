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
    from robell.studies.engine.store import study_in
    from robell.studies.label_noise.report import STUDY, noise_headline, write_noise_report
    from robell.studies.paper.report import headline, write_report

    if study_in(options.folder) == STUDY:
        write_report, headline = write_noise_report, noise_headline
    report, results = write_report(options.folder)
    print(headline(results), end="\n\n")
    print(report)
    return OK
