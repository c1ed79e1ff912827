"""The command ``robell predict``."""

from __future__ import annotations

import sys
from pathlib import Path

from robell.cli.fit import expected_errors, memory_left
from robell.cli.options import NOTHING_WRITTEN, OK, add_files, add_force

HELP = "classify the rows of files of any size"
DESCRIPTION = """\
Classify the rows of CSV or Parquet files of any size with a model of robell fit.

The columns the model was fitted to are taken by name, in any order; others are ignored, and said.
A row is written for each row read, in their order.
"""
EXAMPLES = """\
examples:
  robell predict model.skops new.csv --out predictions.csv
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
    add_force(command)


def run(options, arguments):
    """Predict, and write the predictions."""
    from robell._core.tools.files import check_output
    from robell.report.text import shortened
    from robell.scale.batches import find_files
    from robell.scale.files import is_prediction_file, predict_tables, tables_for
    from robell.scale.model_files import load_model

    is_ours = None if options.force else is_prediction_file
    check_output(options.out, [options.model, *find_files(options.data)], is_ours)
    memory = memory_left(options.memory)
    model = load_model(options.model, memory)
    tables = tables_for(model, options.data)
    if tables.extra and not options.quiet:
        names = ", ".join(shortened(name) for name in tables.extra[:5]) + (
            ", ..." if len(tables.extra) > 5 else ""
        )
        print(f"robell: columns the model does not know are ignored: {names}", file=sys.stderr)
    n_rows = predict_tables(model, tables, options.out, options.proba, memory)
    if not options.quiet:
        print(f"{n_rows:,} rows predicted")
    print(options.out)
    return OK
