"""The command ``robell predict``."""

from __future__ import annotations

from pathlib import Path

from robell.cli.options import OK, Command, OptionError, add_options, memory_left, say, whole


def add_arguments(command):
    """Add the command's options."""
    command.add_argument("model", type=Path, metavar="MODEL", help="a file robell fit has written")
    command.add_argument("data", nargs="+", metavar="FILE", help=".csv, .parquet, or a folder")
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
    add_options(command, "memory", "encoding", "delimiter", "force", "quiet")


def run(options, arguments):
    """Predict, and write the predictions."""
    from robell._tools.files import check_output
    from robell.decisions.data import table_files
    from robell.decisions.predict import ignored_columns, predict_raw, reads_raw_rows
    from robell.persist.model_files import load_model, model_info
    from robell.scale.files import is_prediction_file, predict_tables, tables_for

    is_ours = None if options.force else is_prediction_file
    with table_files(options.data) as files:
        check_output(options.out, [options.model, *files], is_ours)
        model = load_model(options.model, memory_left(options.memory, ("skops.io",)))
        if reads_raw_rows(model):
            found = predict_raw(
                model,
                files,
                options.out,
                proba=options.proba,
                explain=options.explain,
                text={"encoding": options.encoding, "delimiter": options.delimiter},
                described=model_info(options.model).get("columns", ()),
            )
            remarks, line = found.remarks(), found.line()
        else:  # a model of plain numbers
            if options.explain or options.delimiter or options.encoding != "utf-8":
                raise OptionError(
                    "the model was fitted to plain numbers: --explain, --encoding and --delimiter "
                    "are for models of raw tables"
                )
            tables = tables_for(model, files)
            memory = memory_left(options.memory)
            n_rows = predict_tables(model, tables, options.out, options.proba, memory)
            remarks, line = ignored_columns(tables.extra), f"{n_rows:,} rows predicted"
    if not options.quiet:
        for text in remarks:
            say(text)
        print(line)
    print(options.out)
    return OK


COMMAND = Command(
    "classify the rows of files of any size",
    """\
Classify the rows of CSV or Parquet files of any size with a model of robell fit.

The columns the model was fitted to are taken by name, in any order; others are ignored, and said.
A row is written for each row read, in their order. The threshold that fit has chosen is applied.

--explain adds the columns that moved each row most: their values, and by how much each changed the
log-odds of the class looked for, against a typical row (Shapley values, exact where columns act
alone or in pairs, close to them otherwise).
""",
    """\
examples:
  robell predict model.skops new.csv --out predictions.csv
  robell predict model.skops new.csv --out predictions.csv --proba --explain
  robell predict model.skops new-*.parquet --out predictions.parquet --proba
""",
    add_arguments,
    run,
)
