"""What several commands have in common: kinds of options, names of sets, the end of a study."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from robell._tools.files import parse_bytes
from robell._tools.names import did_you_mean

OK, FAILED, INCOMPLETE, INTERRUPTED = 0, 1, 3, 130  # and 2, wrong usage, which argparse gives
ABOVE_LIMIT, CANNOT_TELL = 4, 5  # of an audit with --fail-above
EXIT_STATUS = """\
exit status:
  0    done
  1    an error, said in one line
  2    wrong usage
  3    a study is done, but some of its jobs failed or some tables could not be used
  4    an audit found more suspect labels than --fail-above allows
  5    an audit with --fail-above cannot tell: the columns say too little about the labels
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: nothing is written, a study keeps what had finished
"""
STUDY_KEPT = "what had finished is kept, the same command goes on from there"
NOTHING_WRITTEN = "nothing was written"

DELIMITER_NAMES = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "bar": "|",
    "space": " ",
}


class OptionError(ValueError):
    """An option that cannot be followed; the text is one line that says which and why."""


# -- kinds of options ------------------------------------------------------------------


def whole(least, most=None):
    """Return what makes a whole number of a text, in a range, as argparse wants it."""
    span = f"{least} or more" if most is None else f"a whole number from {least} to {most}"

    def parse(text):
        value = int(text)
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"must be {span}")
        return value

    parse.__name__ = "whole number"  # what argparse calls it in a message
    return parse


def share(text):
    """Return a share from 0 to 1, also written as a percentage, as argparse wants it."""
    number = text.strip().removesuffix("%")
    try:
        value = float(number) / (100.0 if number != text.strip() else 1.0)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share, such as 5% or 0.05")
    return value


def size(text):
    """Return a number of bytes, as argparse wants it."""
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def say(text):
    """Print a line on standard error; where that cannot be written, the result still counts."""
    with suppress(OSError):
        print(f"robell: {text}", file=sys.stderr)


def add_quiet(command, what):
    """Add ``--quiet``."""
    command.add_argument("--quiet", action="store_true", help=f"print {what}, nothing else")


def add_force(command):
    """Add ``--force``."""
    command.add_argument(
        "--force", action="store_true", help="replace a file even if it is no earlier result"
    )


def add_memory(command, default, more=""):
    """Add ``--memory``."""
    command.add_argument(
        "--memory",
        type=size,
        default=size(default),
        metavar="SIZE",
        help=f"the most memory the command may take, such as 500MB (default {default}){more}",
    )


def add_files(command):
    """Add what ``fit`` and ``predict`` both need: files to read, and the memory they may take."""
    command.add_argument("data", nargs="+", metavar="FILE", help=".csv, .parquet, or a folder")
    add_memory(command, "2GiB")
    add_quiet(command, "the path of what was written")


def add_text(command):
    """Add what says how text files are to be read."""
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


def _delimiter(text):
    """Return the sign, also where it is given by its name, which a shell likes better."""
    return DELIMITER_NAMES.get(text.lower(), text)


def add_data_dir(command):
    """Add ``--data-dir``."""
    command.add_argument(
        "--data-dir", type=Path, help="a folder of NAME.csv files, looked in first"
    )


def known(given, names, what):
    """Return the names given, each once; a wrong one is refused, with near names suggested."""
    for name in given:
        if name not in names:
            near = did_you_mean(name, names, cutoff=0.4) or f"; there are {', '.join(names)}"
            raise OptionError(f"there is no {what} {name!r}{near}")
    return list(dict.fromkeys(given))


def set_names(given, groups=None):
    """Return names of sets, groups spelt out; a wrong one is refused, with near names suggested."""
    from robell.datasets import info, keel_names, paper_names

    groups = {"paper": paper_names(), "keel": keel_names()} | (groups or {})
    names = []
    for name in given:
        names.extend(groups[name] if name in groups else [info(name).name])
    return list(dict.fromkeys(names))


# -- studies ---------------------------------------------------------------------------


def add_run(command, out):
    """Add what every command needs that runs jobs and writes a report."""
    from robell.comparison.execute import default_workers

    command.add_argument(
        "--jobs", type=whole(1), default=default_workers(), help="processes (default: all cores)"
    )
    command.add_argument("--out", type=Path, default=Path(out), help=f"default: {out}")
    add_quiet(command, "the report's path")


def add_study(command, out):
    """Add what the commands that run a study on named sets have in common."""
    add_run(command, out)
    add_data_dir(command)
    command.add_argument("--offline", action="store_true", help="never ask the network for a set")


def study_folder(options):
    """Return the folder of the results; one that holds something else is refused."""
    from robell.comparison.store import check_study_folder

    check_study_folder(options.out)
    return options.out


def study_settings(options, arguments):
    """Return what every study is told, as its keyword arguments."""
    return {
        "n_workers": options.jobs,
        "data_dir": options.data_dir,
        "out": study_folder(options),
        "download": not options.offline,
        "progress": not options.quiet,
        "command": " ".join(["robell", *arguments]),
    }


def study_errors():
    """Return what may go wrong in a study by the user's doing."""
    from robell.comparison.store import StudyError
    from robell.datasets import DatasetError

    return StudyError, DatasetError


def say_outcome(found, quiet):
    """Print what a study found, and return the exit status."""
    from robell.comparison.study_page import kept

    if not quiet:
        for reason in found.unavailable.values():
            print(f"robell: left out: {reason}", file=sys.stderr)
        print(found.headline, end="\n\n")
        if reused := kept(vars(found.summary)):
            print(reused, end="\n\n")
    for record in found.results.failed:
        print(f"robell: {record['key']} failed: {record['error']}", file=sys.stderr)
    print(found.report)
    return INCOMPLETE if found.results.failed else OK
