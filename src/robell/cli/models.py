"""The commands ``robell fit`` and ``robell predict``."""

from __future__ import annotations

import argparse
import ast
import sys
from contextlib import contextmanager
from pathlib import Path

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell._core.tools.files import FileError
from robell._core.tools.names import did_you_mean
from robell._core.tools.optional import require
from robell._core.tools.progress import Progress
from robell.models.robell import RoBellRVFLClassifier
from robell.models.rvfl import ELMClassifier, RVFLClassifier
from robell.scale.batches import Tables
from robell.scale.files import (
    fit_tables,
    load_model,
    parse_bytes,
    predict_tables,
    save_model,
    tables_for,
)

OK, INTERRUPTED = 0, 130
MODELS = {"rvfl": RVFLClassifier, "elm": ELMClassifier, "robell": RoBellRVFLClassifier}
PROGRAM = 256 << 20  # bytes of the program itself, where they cannot be asked for

FIT_HELP = """\
Fit a model to CSV or Parquet files of any size, and write it to a file.

The files are read a few times over, a batch of rows at a time. All columns but the target must be
numeric; they are standardised unless --no-scale is given, and the scaling is part of the model.
"""
FIT_EXAMPLES = """\
examples:
  robell fit big.parquet --target y --out model.skops
  robell fit part-1.csv part-2.csv --target label --out model.skops --memory 500MB
  robell fit data/ --target y --out model.skops --model robell --param C=10 \\
      --param n_hidden=200 --param kernel_width=scale --seed 1

exit status: 0 done, 1 an error, 2 wrong usage, 130 interrupted (nothing is written)
"""
PREDICT_HELP = """\
Classify the rows of CSV or Parquet files of any size with a model of robell fit.

The columns the model was fitted to are taken by name, in any order; others are ignored, and said.
A row is written for each row read, in their order.
"""
PREDICT_EXAMPLES = """\
examples:
  robell predict model.skops new.csv --out predictions.csv
  robell predict model.skops new-*.parquet --out predictions.parquet --proba

exit status: 0 done, 1 an error, 2 wrong usage, 130 interrupted (nothing is written)
"""


def add_fit(commands):
    """Add ``robell fit`` to the subcommands of a parser."""
    command = commands.add_parser(
        "fit",
        help="fit a model to files of any size",
        description=FIT_HELP,
        epilog=FIT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("data", nargs="+", metavar="FILE", help=".csv, .parquet, or a folder")
    command.add_argument("--target", required=True, metavar="COLUMN", help="the column of labels")
    command.add_argument("--out", required=True, type=Path, metavar="FILE", help="model.skops")
    command.add_argument("--model", choices=list(MODELS), default="rvfl", help="default: rvfl")
    command.add_argument(
        "--param",
        action="append",
        default=[],
        type=_parameter,
        metavar="NAME=VALUE",
        help="a parameter of the model, such as C=10; may be given again",
    )
    command.add_argument("--seed", type=int, default=0, help="of the random layer (default 0)")
    command.add_argument("--no-scale", action="store_true", help="take the columns as they are")
    _add_common(command)
    command.set_defaults(run=_fit)


def add_predict(commands):
    """Add ``robell predict`` to the subcommands of a parser."""
    command = commands.add_parser(
        "predict",
        help="classify the rows of files of any size",
        description=PREDICT_HELP,
        epilog=PREDICT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("model", type=Path, metavar="MODEL", help="a file robell fit has written")
    command.add_argument("data", nargs="+", metavar="FILE", help=".csv, .parquet, or a folder")
    command.add_argument("--out", required=True, type=Path, metavar="FILE", help=".csv or .parquet")
    command.add_argument("--proba", action="store_true", help="write probabilities too")
    _add_common(command)
    command.set_defaults(run=_predict)


def _add_common(command):
    command.add_argument(
        "--memory",
        type=_bytes,
        default=parse_bytes("2GiB"),
        metavar="SIZE",
        help="the most memory the command may take, such as 500MB (default 2GiB)",
    )
    command.add_argument(
        "--quiet", action="store_true", help="print the path of what was written, nothing else"
    )


def _bytes(text):
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parameter(text):
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a text needs no quotes


def _fit(options, arguments):
    with _said_in_one_line(options.quiet):
        _require_folder(options.out)
        estimator = _estimator(options)
        tables = Tables(options.data, options.target)
        model, sizes = fit_tables(estimator, tables, _memory_left(options.memory))
        save_model(model, options.out)
        if not options.quiet:
            counts = ", ".join(f"{label}: {count:,}" for label, count in sizes.items())
            print(
                f"{MODELS[options.model].__name__} of {sum(sizes.values()):,} rows, "
                f"{len(tables.columns)} features; rows of each class: {counts}"
            )
        print(options.out)
        return OK
    return INTERRUPTED


def _predict(options, arguments):
    with _said_in_one_line(options.quiet):
        _require_folder(options.out)
        model = load_model(options.model)
        tables = tables_for(model, options.data)
        if tables.extra and not options.quiet:
            names = ", ".join(tables.extra[:5]) + (", ..." if len(tables.extra) > 5 else "")
            print(f"robell: columns the model does not know are ignored: {names}", file=sys.stderr)
        memory = _memory_left(options.memory)
        n_rows = predict_tables(model, tables, options.out, options.proba, memory)
        if not options.quiet:
            print(f"{n_rows:,} rows predicted")
        print(options.out)
        return OK
    return INTERRUPTED


def _estimator(options):
    kind = MODELS[options.model]
    known = kind().get_params()
    parameters = {"random_state": options.seed}
    for name, value in options.param:
        if name not in known:
            near = did_you_mean(name, known) or f"; there are {', '.join(sorted(known))}"
            raise FileError(f"there is no parameter {name!r}{near}")
        parameters[name] = value
    model = kind(**parameters)
    return model if options.no_scale else make_pipeline(StandardScaler(), model)


def _require_folder(path):
    """Find out before the work, not after it, that there is no place for its result."""
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise FileError(f"{path}: is a folder")


def _memory_left(limit):
    """Return what the limit leaves beside the program itself."""
    for name in ("pyarrow.parquet", "pyarrow.csv", "pandas", "skops.io"):
        require(name, "files")  # part of the program, and the larger part
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        own = pages * 4096
    except (OSError, ValueError, IndexError):
        own = PROGRAM
    left = limit - own
    if left <= 0:
        raise FileError(
            f"--memory is too small: the program alone takes {own / 2**20:.0f} MiB, "
            f"{limit / 2**20:.0f} MiB were allowed"
        )
    return left


@contextmanager
def _said_in_one_line(quiet):
    """Turn errors of the data into FileError, and an interruption into a line."""
    shown = Progress.enabled
    Progress.enabled = shown and not quiet
    try:
        yield
    except FileError:
        raise
    except (ValueError, TypeError) as error:
        raise FileError(" ".join(str(error).split())) from error
    except KeyboardInterrupt:
        print("robell: stopped; nothing was written", file=sys.stderr)
    finally:
        Progress.enabled = shown
