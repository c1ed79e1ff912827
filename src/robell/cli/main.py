"""The command ``robell``: options in, one clear line out when something is wrong."""

from __future__ import annotations

import argparse
import os
import sys

from robell import __version__
from robell._core.tools.files import FileError
from robell._core.tools.progress import Progress
from robell.cli import audit, datasets, fit, predict, report, reproduce, robustness
from robell.cli.options import OptionError

OK, FAILED, INTERRUPTED = 0, 1, 130
OPTION_NAMES = {"drop": "ignore"}  # parameters of Python that are options of another name
COMMANDS = {
    "reproduce": reproduce,
    "robustness": robustness,
    "datasets": datasets,
    "report": report,
    "fit": fit,
    "predict": predict,
    "audit": audit,
}


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
    options = _parser(arguments[:1]).parse_args(arguments)
    command = COMMANDS[options.command]
    shown = Progress.enabled
    Progress.enabled = shown and not getattr(options, "quiet", False)
    try:
        return command.run(options, arguments)
    except BrokenPipeError:
        # The reader of our output has gone; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        print(f"robell: stopped; {command.WHEN_STOPPED}", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        text = _explained(error, command)
        if text is None:  # a mistake of the program, not of its user
            raise
        print(f"robell: {text}", file=sys.stderr)
        return FAILED
    finally:
        Progress.enabled = shown


def _parser(given):
    """Return the parser; only the command that is given gets its options, which is quicker."""
    parser = argparse.ArgumentParser(
        prog="robell",
        description="Random vector functional link classifiers: models of files, the study.",
    )
    parser.add_argument("--version", action="version", version=f"robell {__version__}")
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", dest="command"
    )
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.DESCRIPTION,
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in given:
            module.add_arguments(command)
    return parser


def _explained(error, command):
    """Return one line for an error that the user can mend, None for any other."""
    if isinstance(error, OSError):
        return f"{error.filename or 'output'}: {error.strerror}"
    if isinstance(error, FileError):
        error = error.in_options(**OPTION_NAMES)
    if isinstance(error, (OptionError, FileError, ImportError, *command.expected_errors())):
        return " ".join(str(error).split())
    return None


if __name__ == "__main__":
    sys.exit(main())
