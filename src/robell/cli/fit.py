"""The command ``robell fit``."""

from __future__ import annotations

import argparse
import ast
import shlex
from functools import partial
from pathlib import Path

from robell.cli.options import (
    OK,
    Command,
    OptionError,
    add_options,
    known,
    memory_left,
    say,
    share,
)

AIMS = ("cost_fn", "cost_fp", "precision", "recall", "budget")
# Options of a raw fit, and what each is where it is not given
RAW_ONLY = dict.fromkeys((*AIMS, "positive", "report", "reviewed", "delimiter")) | {
    "ignore": [],
    "classes": False,
    "keep_spelling": False,
    "no_report": False,
    "labels": "given",
    "encoding": "utf-8",
}


def models():
    """Return what makes each of the models that can be fitted, by the name that a user types."""
    import robell
    from robell.comparison.family import MODELS

    return {name: model.classifier for name, model in MODELS.items()} | {
        "noise_robust": robell.NoiseRobustRVFLClassifier,
        "rvfl_plus": robell.RVFLPlusClassifier,
        "multiview": robell.MultiViewRVFLClassifier,
        "grvfl_mv": partial(robell.MultiViewRVFLClassifier, graph="lfda"),
    }


def add_arguments(command):
    """Add the command's options."""
    command.add_argument("data", nargs="+", metavar="FILE", help=".csv, .parquet, or a folder")
    add_options(command, target={"required": True})
    command.add_argument("--out", required=True, type=Path, metavar="FILE", help="model.skops")
    command.add_argument(
        "--model", choices=list(models()), help="default: noise_robust; with --plain: rvfl"
    )
    command.add_argument(
        "--param",
        action="append",
        default=[],
        type=_parameter,
        metavar="NAME=VALUE",
        help="a parameter of the model, such as C=10; may be given again",
    )
    command.add_argument(
        "--privileged",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column that prediction will not have, for rvfl_plus and krvfl_plus; may be given "
        "again",
    )
    command.add_argument("--no-scale", action="store_true", help="take the columns as they are")
    command.add_argument(
        "--plain", action="store_true", help="numbers only, files of any size, no report"
    )
    add_options(command, "seed", "memory", "force", "quiet")
    group = command.add_argument_group("threshold (of two classes; default: the best F1)")
    miss, alarm = "of a positive that is missed; needs --cost-fp", "of a false alarm"
    group.add_argument("--cost-fn", type=float, metavar="COST", help=miss)
    group.add_argument("--cost-fp", type=float, metavar="COST", help=f"{alarm}, in the same money")
    group.add_argument("--precision", type=share, metavar="SHARE", help="the least, such as 80%%")
    group.add_argument("--recall", type=share, metavar="SHARE", help="the least")
    group.add_argument(
        "--budget", type=share, metavar="SHARE", help="of rows that can be checked, such as 5%%"
    )
    group.add_argument(
        "--positive", metavar="LABEL", help="the class looked for (default: the smaller one)"
    )
    group.add_argument(
        "--labels",
        choices=["given", "corrected"],
        default="given",
        help="what counts as positive: labels as given, or how probable each class is (default "
        "given)",
    )
    group = command.add_argument_group("table and report")
    add_options(group, "ignore", "reviewed", "encoding", "delimiter")
    group.add_argument(
        "--classes", action="store_true", help="a target of several numbers holds classes"
    )
    group.add_argument(
        "--keep-spelling",
        action="store_true",
        help="labels that differ only in capitals or spaces are different classes",
    )
    group.add_argument(
        "--report", metavar="PREFIX", help="the beginning of the names of page and JSON"
    )
    group.add_argument("--no-report", action="store_true", help="write the model only")


def _parameter(text):
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    if value == "inf":  # which Python has no literal for
        return name, float(value)
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a text needs no quotes


def run(options, arguments):
    """Fit, and write the model and its report."""
    if options.plain:
        return _run_plain(options)
    if options.privileged:
        raise OptionError("--privileged is for columns of numbers: it needs --plain")
    from robell.decisions.data import table_files
    from robell.decisions.page import check_report_output, lines, remarks, write_report
    from robell.decisions.run import fit_table
    from robell.labels.review.review import beside
    from robell.models._thresholds import rule_of
    from robell.persist.model_files import check_model_output
    from robell.tables.read import is_parquet, readable

    aim = {name: getattr(options, name) for name in AIMS}
    rule_of(**aim, spelled=lambda name: f"--{name.replace('_', '-')}")  # before files are read
    packages = {"skops.io"}
    with table_files(options.data) as files:
        check_model_output(options.out, files, options.force)
        paths = ()
        if not options.no_report:
            paths = check_report_output(options.out, options.report, files, options.force)
        for path in files:
            with readable(path):
                if is_parquet(path, options.encoding, options.delimiter):
                    packages.add("pyarrow.parquet")
        if options.reviewed is None:
            options.reviewed = [log for file in files for log in beside(file, options.target)]
        result = fit_table(
            files,
            options.target,
            estimator=_estimator(options, "noise_robust"),
            positive=options.positive,
            **aim,
            labels=options.labels,
            drop=options.ignore,
            classes=options.classes,
            keep_spelling=options.keep_spelling,
            reviewed=options.reviewed,
            encoding=options.encoding,
            delimiter=options.delimiter,
            memory=memory_left(options.memory, packages),
            random_state=options.seed,
        )
    result.save(options.out)
    source = str(options.data[0]) if len(options.data) == 1 else None
    if paths:
        command = shlex.join(["robell", *arguments])
        write_report(result, *paths, command=command, source=source)
    if not options.quiet:
        for text in remarks(result):
            say(text)
        print("\n".join(lines(result, source)))
    for path in (options.out, *paths):
        print(path)
    return OK


def _run_plain(options):
    """Fit columns of numbers as they are, in passes where the model can, and write the model."""
    from robell._tools.files import check_output
    from robell._tools.pipelines import last_step
    from robell._tools.text import shortened
    from robell.persist.model_files import is_model_file, save_model
    from robell.scale.batches import Tables, find_files
    from robell.scale.files import fit_tables

    for name, default in RAW_ONLY.items():
        if getattr(options, name) != default:
            name = name.replace("_", "-")
            raise OptionError(f"--plain fits numbers as they are: it takes no --{name}")
    check_output(options.out, find_files(options.data), None if options.force else is_model_file)
    estimator = _estimator(options, "rvfl")
    tables = Tables(options.data, options.target)
    model, sizes = fit_tables(estimator, tables, memory_left(options.memory), options.privileged)
    save_model(model, options.out)
    if not options.quiet:
        fitted = vars(last_step(model)).get("n_samples_fitted_")  # where not to all rows
        sampled = "" if fitted is None else f" (fitted to a sample of {fitted:,} of them)"
        counts = ", ".join(f"{shortened(str(k))}: {count:,}" for k, count in sizes.items())
        kind = "text" if any(isinstance(label, str) for label in sizes) else "numbers"
        print(
            f"{type(last_step(model)).__name__} of {sum(sizes.values()):,} rows{sampled}, "
            f"{model.n_features_in_} features; rows of each class: {counts}; labels read as {kind}"
        )
    print(options.out)
    return OK


def _estimator(options, default):
    """Return the model asked for, behind a scaler where it needs one."""
    maker = models()[options.model or default]
    parameters = maker().get_params()
    known([given for given, _ in options.param], parameters, "parameter")
    seed = {"random_state": options.seed} if "random_state" in parameters else {}
    model = maker(**seed | dict(options.param))
    if options.no_scale or model._capabilities.scales_inputs:
        return model
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


COMMAND = Command(
    "fit a model to a raw table, and say what it is worth",
    """\
Fit a model to CSV or Parquet files, and write it to a file.

Text, dates, missing cells and numbers as people write them are taken as they come. Every row is
predicted once by a model that has not seen it: by these predictions the threshold is chosen, and
two files beside the model, NAME-fit.html and NAME-fit.json, say what a decision by it means.

With --plain all columns except the target must be numbers, and there is no report; rvfl (the
default then), elm, robell, classvar, totalvar and multiview read files of any size a few times
over, a batch of rows at a time; noise_robust is fitted to a sample of the rows where not all fit in
the memory given; the other models take files that fit.
""",
    """\
examples:
  robell fit claims.csv --target fraud --out model.skops
  robell fit claims.csv --target fraud --out model.skops --cost-fn 500 --cost-fp 20
  robell fit claims.csv --target fraud --out model.skops --budget 5% --ignore claim_no
  robell fit big.parquet --target y --out model.skops --plain --memory 500MB
  robell fit past.csv --target y --out model.skops --plain --model rvfl_plus --privileged cost
  robell fit data/ --target y --out model.skops --plain --model robell --param C=10 \\
      --param n_hidden=200 --param kernel_width=scale --seed 1
""",
    add_arguments,
    run,
)
