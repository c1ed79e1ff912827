"""What several commands have in common: their record, kinds of options, what they say and ask."""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from robell._tools.files import parse_bytes, read_resource
from robell._tools.optional import require
from robell._tools.text import did_you_mean

OK, FAILED, INCOMPLETE, INTERRUPTED = 0, 1, 3, 130  # and 2, wrong usage, which argparse gives
ABOVE_LIMIT, CANNOT_TELL = 4, 5  # of an audit with --fail-above
DRIFTED = 6  # of predictions with --fail-on-drift
EXIT_STATUS = """\
exit status:
  0    done
  1    an error, said in one line
  2    wrong usage
  3    a study is done, but some of its jobs failed or some tables could not be used
  4    an audit found more suspect labels than --fail-above allows
  5    an audit with --fail-above cannot tell: the columns say too little about the labels
  6    predict --fail-on-drift: the rows are predicted, and columns have moved since training
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: nothing is written, a study keeps what had finished
"""
PROGRAM = 256 << 20  # bytes of the program itself, where they cannot be asked for
DESCRIBED = tomllib.loads(read_resource("robell.cli", "commands.toml"))
COMMON = DESCRIBED.pop("common")  # spelled alike in every command that has them
# Names of signs, which a shell likes better than the signs
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": " "}


class OptionError(ValueError):
    """An option that cannot be followed; the text is one line that says which and why."""


@dataclass(frozen=True)
class Command:
    """What runs a command whose help and options stand in ``commands.toml``.

    ``run`` gets the options and the command as it was typed, and returns the exit status. What a
    study had finished is kept when it is stopped; other commands then have written nothing.
    `skipped` are packages that a process of this command never needs, and that scikit-learn and
    PyArrow would import.
    """

    run: Callable[[argparse.Namespace, str], int]
    is_study: bool = False
    skipped: tuple[str, ...] = ()


# -- kinds of options ------------------------------------------------------------------


def whole(least, most=None):
    """Return what makes a whole number of a text, in a range, as argparse wants it."""
    span = f"{least} or more" if most is None else f"from {least} to {most}"

    def parse(text):
        value = int(text) if re.fullmatch(r"[+-]?\d+", text.strip()) else None
        if value is None or value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"must be a whole number, {span}; got {text!r}")
        return value

    return parse


def share(text):
    """Return a share from 0 to 1, also written as a percentage, as argparse wants it."""
    found = re.fullmatch(r"\s*(\d{1,3}(?:\.\d*)?|\.\d+)\s*(%?)\s*", text, re.ASCII)
    value = float(found[1]) / (100 if found[2] else 1) if found else 2.0
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share such as 5% or 0.05")
    return value


def size(text):
    """Return a number of bytes, as argparse wants it."""
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parameter(text):
    """Return name and value of a parameter of a model, as argparse wants it."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    if value == "inf":  # which Python has no literal for
        return name, float(value)
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a text needs no quotes


def model(text):
    """Return the name of a model that fit knows, or module:callable, as argparse wants it."""
    from robell.cli.fit import models
    from robell.comparison.peers import BASES

    names = [*models(), *BASES]
    if ":" not in text and text not in names:
        near = did_you_mean(text, names, cutoff=0.4) or f"; there are {', '.join(names)}"
        raise argparse.ArgumentTypeError(f"there is no model {text!r}{near}")
    return text


def part(text):
    """Return a part of the paper's study, or the path of an archive, as argparse wants it."""
    from robell.studies.paper.jobs import PARTS

    if text not in PARTS and not text.lower().endswith(".zip"):
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(PARTS)}, nor a .zip file")
    return text


KINDS: dict[str, Callable[..., Any]] = {
    "path": Path,
    "number": float,
    "share": share,
    "size": size,
    "parameter": parameter,
    "part": part,
    "model": model,
    "delimiter": lambda text: DELIMITERS.get(text.lower(), text),
}


@cache
def value_at(place):
    """Return the number or the list that ``module:NAME`` names; of a function what it returns."""
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name)
    found = found() if callable(found) else found
    return found if isinstance(found, int) else list(found)


def add_options(parser, described, wants_help):
    """Add the options of a command as they are described, names in braces filled in.

    Where nobody asks for help its names stay: to know them may take a good deal of imports.
    """
    places = described.get("values", {})
    groups = [(parser, described["options"])]
    if "one_of" in described:
        groups.insert(0, (parser.add_mutually_exclusive_group(required=True), described["one_of"]))
    for title, options in described.get("groups", {}).items():
        groups.append((parser.add_argument_group(title), options))
    for group, options in groups:
        for name, changed in options.items():
            how = COMMON.get(name, {}) | changed
            for key, value in how.items():
                if not isinstance(value, str) or "{" not in value:
                    continue
                if key not in ("help", "type"):
                    how[key] = value_at(places[value.strip("{}")])
                elif wants_help or key == "type":
                    shown = {}
                    for filled, place in places.items():
                        found = value_at(place)
                        shown[filled] = ", ".join(found) if isinstance(found, list) else found
                    how[key] = value.format(**shown)
            if "type" in how:
                kind, *limits = how["type"].split()
                how["type"] = whole(*map(int, limits)) if kind == "whole" else KINDS[kind]
            if isinstance(how.get("metavar"), list):  # one for each of several values
                how["metavar"] = tuple(how["metavar"])
            group.add_argument(name, **how)


# -- what commands say and ask -----------------------------------------------------------


def say(text):
    """Print a line on standard error; where that cannot be written, the result still counts."""
    with suppress(OSError):
        print(f"robell: {text}", file=sys.stderr)


def picked(options, names):
    """Return options as arguments of the function that does the work, which calls them the same."""
    chosen = {}
    for name in names.split():
        chosen[name] = getattr(options, name)
    return chosen


def how_judged(options, names):
    """Return how a table is read and its labels judged: with reviews beside it, in what memory."""
    from robell.labels.review.review import beside

    if options.reviewed is None:
        options.reviewed = beside(options.data, options.target)
    how = picked(options, f"{names} drop reviewed encoding delimiter random_state")
    return how | {"memory_limit": memory_left(options.memory, ())}


def known(given, names, what):
    """Return the names given, each once; a wrong one is refused, with near names suggested."""
    for name in given:
        if name not in names:
            near = did_you_mean(name, names, cutoff=0.4) or f"; there are {', '.join(names)}"
            raise OptionError(f"there is no {what} {name!r}{near}")
    return list(dict.fromkeys(given))


@contextmanager
def without(*packages):
    """Let imports do without optional packages, unless they are imported already."""

    def find_spec(name, path=None, target=None):
        if name in packages:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)

    finder: Any = SimpleNamespace(find_spec=find_spec)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def memory_left(limit, packages=("pyarrow.parquet", "pyarrow.csv", "pandas", "skops.io")):
    """Return what the limit leaves beside the program itself and the packages that it takes."""
    # skops asks scikit-learn for all that it has, which would import these for nothing.
    with without("cupy", "dask", "jax", "pytest", "torch"):
        for name in packages:
            require(name, "files")  # part of the program, and the larger part
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        own = pages * 4096
    except (OSError, ValueError, IndexError):
        own = PROGRAM
    left = limit - own
    if left <= 0:
        raise OptionError(
            f"--memory is too small: the program alone takes {own / 2**20:.0f} MiB, "
            f"{limit / 2**20:.0f} MiB were allowed"
        )
    return left


def checked_study_folder(options):
    """Return the folder of a study's results; one that holds something else is refused."""
    from robell.comparison.store import check_study_folder

    check_study_folder(options.out)
    return options.out


def say_outcome(found, quiet):
    """Print what a study found, and return the exit status."""
    from robell.comparison.study_page import kept

    if not quiet:
        for reason in found.unavailable.values():
            say(f"left out: {reason}")
        print(found.headline, end="\n\n")
        if reused := kept(vars(found.summary)):
            print(reused, end="\n\n")
    for record in found.results.failed:
        say(f"{record['key']} failed: {record['error']}")
    print(found.report)
    return INCOMPLETE if found.results.failed else OK
