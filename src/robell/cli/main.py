"""The command ``robell``: options in, one clear line out when something is wrong."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from robell import __version__
from robell._core.tools.files import FileError
from robell.cli.audit import add_audit
from robell.cli.models import add_fit, add_predict
from robell.cli.options import known, positive, set_names
from robell.cli.robustness import add_robustness
from robell.datasets import DatasetError, available, info
from robell.studies.engine.store import StudyError, study_in
from robell.studies.label_noise.report import STUDY as ROBUSTNESS
from robell.studies.label_noise.report import noise_headline, write_noise_report
from robell.studies.paper.jobs import SCORERS
from robell.studies.paper.plan import PROTOCOLS
from robell.studies.paper.printed import MODELS
from robell.studies.paper.report import headline, write_report
from robell.studies.paper.study import PARTS, default_workers, reproduce

OK, FAILED, USAGE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 130

REPRODUCE_HELP = """\
Run the paper's study on the sets that can be had, and write a report.

What has finished is kept: start the same command again after it was stopped, and it goes on.
Parts: table1 (accuracy of eight models), tests (Friedman, Nemenyi, win-tie-loss; made of
table1), probe (the printed parameters over 100 seeds), noise (5 to 40 % of the labels
flipped), sensitivity (kernel width and rho), all.
"""
REPRODUCE_EXAMPLES = """\
examples:
  robell reproduce                                     everything that is available
  robell reproduce table1 --datasets haberman monk1 --models rvfl robell
  robell reproduce all --data-dir data --jobs 4        sets from a folder of CSV files
  robell reproduce tests --protocol repeated --repeats 20 --tune-by g_mean

exit status: 0 done, 1 an error, 2 wrong usage, 3 done but some jobs failed,
             130 interrupted (what had finished is kept)
"""


def main(arguments=None):
    """Run the command.

    Parameters
    ----------
    arguments : list of str, default=None
        What follows ``robell`` on the command line; that of the process by default.

    Returns
    -------
    status : int
        The exit status.

    Examples
    --------
    >>> from robell.cli.main import main
    >>> main(["datasets", "monk1"])  # doctest: +ELLIPSIS
    name ...
    0
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(arguments)
    try:
        return options.run(options, arguments)
    except (StudyError, DatasetError, FileError, ImportError) as error:
        print(f"robell: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader of our output has gone; nothing more can be said to it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return OK
        print(f"robell: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(
            "robell: stopped; what had finished is kept, the same command goes on from there",
            file=sys.stderr,
        )
        return INTERRUPTED


def _parser():
    parser = argparse.ArgumentParser(
        prog="robell",
        description="Random vector functional link classifiers: models of files, the study.",
    )
    parser.add_argument("--version", action="version", version=f"robell {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_reproduce(commands)
    add_robustness(commands)
    _add_datasets(commands)
    _add_report(commands)
    add_fit(commands)
    add_predict(commands)
    add_audit(commands)
    return parser


def _add_reproduce(commands):
    command = commands.add_parser(
        "reproduce",
        help="run the paper's study and write a report",
        description=REPRODUCE_HELP,
        epilog=REPRODUCE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("part", nargs="?", choices=list(PARTS), default="all", help="default: all")
    command.add_argument(
        "--datasets",
        nargs="+",
        metavar="NAME",
        default=["paper"],
        help='names of sets, "paper" for its 26 (default) or "keel" for the 100 KEEL sets',
    )
    command.add_argument(
        "--models", nargs="+", metavar="MODEL", default=list(MODELS), help=", ".join(MODELS)
    )
    command.add_argument(
        "--protocol",
        choices=[*PROTOCOLS, "both"],
        default="paper",
        help="paper: its one split (default); repeated: stratified 70:30 splits",
    )
    command.add_argument(
        "--repeats", type=positive, default=10, help="splits of the protocol repeated (default 10)"
    )
    command.add_argument(
        "--tune-by",
        nargs="+",
        metavar="METRIC",
        default=None,
        help=f"metrics to tune by under repeated: {', '.join(SCORERS)} (default accuracy g_mean)",
    )
    command.add_argument(
        "--jobs", type=positive, default=default_workers(), help="processes (default: all cores)"
    )
    command.add_argument(
        "--data-dir", type=Path, help="a folder of NAME.csv files, looked in first"
    )
    command.add_argument(
        "--device", default="cpu", help="where searches run: cpu (default) or cuda"
    )
    command.add_argument(
        "--out", type=Path, default=Path("robell-study"), help="default: robell-study"
    )
    command.add_argument("--offline", action="store_true", help="never ask the network for a set")
    command.add_argument(
        "--quiet", action="store_true", help="print the report's path, nothing else"
    )
    command.set_defaults(run=_reproduce)


def _add_datasets(commands):
    command = commands.add_parser(
        "datasets",
        help="list the sets and where each would come from",
        description="List the paper's sets, what each really is, and where it would come from.",
        epilog="examples:\n  robell datasets\n  robell datasets haberman --data-dir data\n"
        "  robell datasets keel",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("names", nargs="*", metavar="NAME", help='default: "paper"')
    command.add_argument(
        "--data-dir", type=Path, help="a folder of NAME.csv files, looked in first"
    )
    command.set_defaults(run=_datasets)


def _add_report(commands):
    command = commands.add_parser(
        "report",
        help="write the report of a study again, from its records",
        description="Write report, tables and figures of a study again, from its records alone.",
        epilog="example:\n  robell report robell-study",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("folder", type=Path, metavar="DIR", help="where the study was written")
    command.set_defaults(run=_report)


def _reproduce(options, arguments):
    models = known(options.models, MODELS, "model")
    metrics = options.tune_by and tuple(known(options.tune_by, SCORERS, "metric"))
    protocols = PROTOCOLS if options.protocol == "both" else (options.protocol,)
    found = reproduce(
        options.part,
        set_names(options.datasets),
        models,
        protocols,
        repeats=options.repeats,
        tuned_by=metrics,
        n_workers=options.jobs,
        data_dir=options.data_dir,
        out=options.out,
        download=not options.offline,
        progress=not options.quiet,
        device=options.device,
        command=" ".join(["robell", *arguments]),
    )
    if not options.quiet:
        for reason in found.unavailable.values():
            print(f"robell: left out: {reason}", file=sys.stderr)
        print(headline(found.results))
        print()
    for record in found.results.failed:
        print(f"robell: {record['key']} failed: {record['error']}", file=sys.stderr)
    print(found.report)
    return INCOMPLETE if found.results.failed else OK


def _datasets(options, arguments):
    names = set_names(options.names or ["paper"])
    where = available(options.data_dir, names=names)
    width = max(len(name) for name in names)
    print(f"{'name':{width}}  {'rows':>5}  {'columns':>7}  {'minority':>8}  from")
    for name in names:
        about = info(name)
        size = [about.n_rows, about.n_features, about.n_minority]
        cells = ["-" if value is None else str(value) for value in size]
        print(f"{name:{width}}  {cells[0]:>5}  {cells[1]:>7}  {cells[2]:>8}  {where[name]}")
    return OK


def _report(options, arguments):
    if study_in(options.folder) == ROBUSTNESS:
        report, results = write_noise_report(options.folder)
        print(noise_headline(results))
    else:
        report, results = write_report(options.folder)
        print(headline(results))
    print()
    print(report)
    return OK


if __name__ == "__main__":
    sys.exit(main())
