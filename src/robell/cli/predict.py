"""The command ``robell predict``."""

from __future__ import annotations

from pathlib import Path

from robell.cli.fit import expected_errors, memory_left
from robell.cli.options import (
    NOTHING_WRITTEN,
    OK,
    OptionError,
    add_files,
    add_force,
    add_text,
    say,
    whole,
)

HELP = "classify the rows of files of any size"
DESCRIPTION = """\
Classify the rows of CSV or Parquet files of any size with a model of robell fit.

The columns the model was fitted to are taken by name, in any order; others are ignored, and said.
A row is written for each row read, in their order. The threshold that fit has chosen is applied.

--explain adds the columns that moved each row most: their values, and by how much each changed the
log-odds of the class looked for, against a typical row (Shapley values, exact where columns act
alone or in pairs, close to them otherwise).
"""
EXAMPLES = """\
examples:
  robell predict model.skops new.csv --out predictions.csv
  robell predict model.skops new.csv --out predictions.csv --proba --explain
  robell predict model.skops new-*.parquet --out predictions.parquet --proba
"""
WHEN_STOPPED = NOTHING_WRITTEN
__all__ = ["add_arguments", "expected_errors", "run"]


def add_arguments(command):
    """Add the command's options."""
    command.add_argument("model", type=Path, metavar="MODEL", help="a file robell fit has written")
    add_files(command)
    command.add_argument("--out", required=True, type=Path, metavar="FILE", help=".csv or .parquet")
    command.add_argument("--proba", action="store_true", help="write probabilities too")
    command.add_argument(
        "--explain",
        type=whole(1),
        nargs="?",
        const=3,
        default=0,
        metavar="N",
        help="name the N columns that moved each row most (default 3)",
    )
    add_text(command)
    add_force(command)


def run(options, arguments):
    """Predict, and write the predictions."""
    from robell._tools.files import check_output
    from robell.decisions.data import table_files
    from robell.decisions.predict import reads_raw_rows
    from robell.persist.model_files import load_model
    from robell.scale.files import is_prediction_file

    is_ours = None if options.force else is_prediction_file
    with table_files(options.data) as files:
        check_output(options.out, [options.model, *files], is_ours)
        model = load_model(options.model, memory_left(options.memory, ("skops.io",)))
        return (_run_raw if reads_raw_rows(model) else _run_plain)(options, model, files)


def _run_raw(options, model, files):
    """Predict raw rows, as fit has read them."""
    from robell._tools.text import said
    from robell.decisions.predict import predict_raw
    from robell.persist.model_files import model_info

    text = {"encoding": options.encoding, "delimiter": options.delimiter}
    described = model_info(options.model).get("columns", ())
    found = predict_raw(
        model,
        files,
        options.out,
        proba=options.proba,
        explain=options.explain,
        text=text,
        described=described,
    )
    if not options.quiet:
        _say_ignored(found.extra)
        for line in found.drift:
            say(line)
        odd = [f"{said(name, 30)} {n:,}" for name, n in found.unknown.most_common(5) if n]
        if odd:
            text = "cells that the fit would not have understood, by column"
            say(f"{text}: {', '.join(odd)}")
        sizes = [f"{said(str(name), 20)} {n:,}" for name, n in found.classes.most_common(5)]
        print(f"{found.n_rows:,} rows predicted: {', '.join(sizes)}")
    print(options.out)
    return OK


def _run_plain(options, model, files):
    """Predict rows of numbers by a model without a reader of its own."""
    from robell.scale.files import predict_tables, tables_for

    if options.explain or options.delimiter or options.encoding != "utf-8":
        raise OptionError(
            "the model was fitted to plain numbers: --explain, --encoding and --delimiter are for "
            "models of raw tables"
        )
    tables = tables_for(model, files)
    if not options.quiet:
        _say_ignored(tables.extra)
    memory = memory_left(options.memory)
    n_rows = predict_tables(model, tables, options.out, options.proba, memory)
    if not options.quiet:
        print(f"{n_rows:,} rows predicted")
    print(options.out)
    return OK


def _say_ignored(extra):
    from robell._tools.text import shortened

    if extra:
        names = ", ".join(shortened(name) for name in extra[:5])
        more = ", ..." if len(extra) > 5 else ""
        say(f"columns the model does not know are ignored: {names}{more}")
