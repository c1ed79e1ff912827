"""The command ``robell predict``."""

from __future__ import annotations

import sys

from robell.cli.options import DRIFTED, OK, OptionError, memory_left, picked, say


def run(options, typed):
    """Predict, and write the predictions."""
    from robell._tools.files import check_output
    from robell._tools.threads import calm_blas
    from robell.decisions.data import table_files
    from robell.decisions.predict import ignored_columns, predict_raw, reads_raw_rows
    from robell.persist.model_files import load_model, model_info
    from robell.scale.files import is_prediction_file, predict_tables, tables_for

    is_ours = None if options.force else is_prediction_file
    is_stream = str(options.out) == "-"  # which predictions alone are printed to
    with table_files(options.data) as files:
        if not is_stream:
            check_output(options.out, [options.model, *files], is_ours)
        model = load_model(options.model, memory_left(options.memory, ("skops.io",)))
        if reads_raw_rows(model):
            # What the model's file says about its columns, without which drift cannot be told
            described = model_info(options.model).get("columns", ())
            if options.fail_on_drift and not any("missing" in column for column in described):
                raise OptionError(
                    f"{options.model}: says nothing about the training table: --fail-on-drift "
                    "cannot tell"
                )
            found = predict_raw(
                model,
                files,
                options.out,
                **picked(options, "proba explain keep"),
                text=picked(options, "encoding delimiter"),
                described=described,
            )
            remarks, line = found.remarks(), found.line()
            has_drifted = found.has_drifted
        else:  # a model of plain numbers
            has_drifted = False
            is_raw = options.explain or options.keep is not None or options.fail_on_drift
            if is_raw or options.delimiter or options.encoding != "utf-8":
                raise OptionError(
                    "the model was fitted to plain numbers: --explain, --keep, --fail-on-drift, "
                    "--encoding and --delimiter are for models of raw tables"
                )
            tables = tables_for(model, files)
            memory = memory_left(options.memory)
            with calm_blas:
                n_rows = predict_tables(model, tables, options.out, options.proba, memory)
            remarks, line = ignored_columns(tables.extra), f"{n_rows:,} rows predicted"
    if not options.quiet:
        for text in remarks:
            say(text)
        print(line, file=sys.stderr if is_stream else sys.stdout)
    if not is_stream:
        print(options.out)
    return DRIFTED if options.fail_on_drift and has_drifted else OK
