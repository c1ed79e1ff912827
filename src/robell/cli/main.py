"""The command ``robell``: options in, one clear line out when something is wrong."""

from __future__ import annotations

import argparse
import gc
import io
import os
import shlex
import signal
import sys
import threading
import warnings
from contextlib import ExitStack, contextmanager
from typing import Any

from robell import __version__
from robell._tools.files import FileError
from robell._tools.progress import Progress
from robell._tools.text import visible
from robell.cli import audit, certify, compare, export, fit, predict, review, studies
from robell.cli.options import (
    DESCRIBED,
    EXIT_STATUS,
    FAILED,
    INTERRUPTED,
    OK,
    Command,
    OptionError,
    add_options,
    say,
    without,
)

# Parameters of Python that are options of another name
OPTION_NAMES = {"drop": "ignore", "memory_limit": "memory"}
COMMANDS = {
    "audit": Command(audit.run, skipped=("pandas",)),
    "review": Command(review.run, skipped=("pandas",)),
    "fit": Command(fit.run),
    "predict": Command(predict.run),
    "apply": Command(review.run_apply, skipped=("pandas",)),
    "certify": Command(certify.run, skipped=("pandas",)),
    "compare": Command(compare.run, is_study=True),
    "export": Command(export.run),
    "reproduce": Command(studies.run_reproduce, is_study=True),
    "robustness": Command(studies.run_robustness, is_study=True),
    "report": Command(studies.run_report, is_study=True),
    "datasets": Command(studies.run_datasets),
}
# So many new objects, instead of 700, before Python looks for cycles among them: imports and cells
# of tables are many objects without any, and looking took up to a tenth of a command's time.
NEW_OBJECTS = 100_000


def main(arguments: list[str] | None = None) -> int:
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
    is_process = arguments is None
    arguments = sys.argv[1:] if arguments is None else arguments
    _prepare_streams()
    shown, collected = Progress.enabled, gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *collected[1:])
    command = None  # until the options are read
    try:
        with _signals_as_interrupt(is_process), ExitStack() as skipping, warnings.catch_warnings():
            # One line for a warning, as for everything else that a command says beside its result
            warnings.showwarning = lambda message, *_: say(visible(" ".join(str(message).split())))
            # Of single numbers; what they come to is checked where it matters.
            warnings.simplefilter("ignore", RuntimeWarning)
            options = _parser(arguments).parse_args(arguments)
            command = COMMANDS[options.command]
            if is_process:
                skipping.enter_context(without(*command.skipped))
            Progress.enabled = shown and not getattr(options, "quiet", False)
            status = command.run(options, shlex.join(["robell", *arguments]))
            sys.stdout.flush()  # what cannot be written is noticed here, not when Python ends
            return status
    except KeyboardInterrupt:
        # Python notes an interrupt of code made from text (imports make some), and would end
        # ``python -m`` by the signal although it is caught here; other such code clears the note.
        exec("")
        is_kept = command is not None and command.is_study
        kept = "what had finished is kept, the same command goes on from there"
        say(f"stopped; {kept if is_kept else 'nothing was written'}")
        return INTERRUPTED
    except BrokenPipeError:
        _end_output()
        return OK
    except Exception as error:
        text = _explained(error, command)
        if text is None:  # a mistake of the program, not of its user
            raise
        say(visible(text))
        try:
            sys.stdout.flush()
        except OSError:  # which may be what went wrong
            _end_output()
        return FAILED
    finally:
        Progress.enabled = shown
        gc.set_threshold(*collected)


def _end_output():
    """Let what cannot be written, since its reader has gone, go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _prepare_streams():
    """Make output that can always be written: any character, and streams that were closed."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # a file opened later would take the number, and be written to
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _signals_as_interrupt(is_process):
    """Let SIGTERM and SIGHUP end a command as Ctrl-C does, so that nothing half-written stays."""

    def stop(number, frame):
        raise KeyboardInterrupt

    earlier = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                earlier[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, signal.SIG_IGN if is_process else handler)


def _parser(arguments):
    """Return the parser; the command that is given alone gets its options, which is quicker."""
    wants_help = any(one.startswith(("-h", "--h")) for one in arguments)
    how: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(
        prog="robell",
        description="Audit the labels of tables, and fit, apply and compare classifiers on them.",
        epilog=EXIT_STATUS,
        **how,
    )
    parser.add_argument("--version", action="version", version=f"robell {__version__}")
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", dest="command"
    )
    for name in COMMANDS:
        described = DESCRIBED[name]
        text = {"help": described["help"], "description": described["description"]}
        text["epilog"] = f"{described['examples']}\n{EXIT_STATUS}"
        added = commands.add_parser(name, **text | how)
        if name in arguments[:1]:
            add_options(added, described, wants_help)
    return parser


def _explained(error, command):
    """Return one line for an error that the user can mend, None for any other."""
    if isinstance(error, MemoryError):
        return ": ".join(filter(None, ["there is not enough memory", str(error)]))
    if isinstance(error, OSError):
        return f"{error.filename or 'output'}: {error.strerror}"
    if isinstance(error, FileError):
        error = error.in_options(**OPTION_NAMES)
    elif not isinstance(error, OptionError | ImportError):
        if command is None:  # options were not read yet, and argparse says itself what is wrong
            return None
        users: tuple[type[Exception], ...] = ValueError, TypeError
        if command.is_study:
            from robell.comparison.store import StudyError
            from robell.datasets import DatasetError

            users = StudyError, DatasetError
        if not isinstance(error, users):
            return None
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
