"""The command ``robell fit``."""

from __future__ import annotations

import argparse
import ast
import shlex
from pathlib import Path

from robell._tools.optional import require
from robell.cli.options import (
    NOTHING_WRITTEN,
    OK,
    OptionError,
    add_files,
    add_force,
    add_text,
    known,
    say,
    share,
    whole,
)

# Each model as its class and what of its parameters is different.
MODELS = {
    "rvfl": ("RVFLClassifier", {}),
    "elm": ("ELMClassifier", {}),
    "robell": ("RoBellRVFLClassifier", {}),
    "noise_robust": ("NoiseRobustRVFLClassifier", {}),
    "nf": ("NeuroFuzzyRVFLClassifier", {}),
    "crvfl": ("ComplexRVFLClassifier", {}),
    "acrvfl": ("ComplexRVFLClassifier", {"augmented": True}),
    "gb": ("GranularBallRVFLClassifier", {}),
    "gegb": ("GranularBallRVFLClassifier", {"graph": "lfda"}),
    "ifrvfl": ("IntuitionisticFuzzyRVFLClassifier", {}),
    "geifrvfl": (
        "IntuitionisticFuzzyRVFLClassifier",
        {"score_power": 1, "class_weight": "ratio", "graph": "lda"},
    ),
    "r2vfl": ("HuberRVFLClassifier", {}),
    "classvar": ("VarianceRVFLClassifier", {}),
    "totalvar": ("VarianceRVFLClassifier", {"variance": "total"}),
    "edrvfl": ("DeepRVFLClassifier", {}),
    "drvfl": ("DeepRVFLClassifier", {"combine": "concat"}),
    "rvfl_plus": ("RVFLPlusClassifier", {}),
    "krvfl_plus": ("KernelRVFLPlusClassifier", {}),
    "multiview": ("MultiViewRVFLClassifier", {}),
    "grvfl_mv": ("MultiViewRVFLClassifier", {"graph": "lfda"}),
}
PROGRAM = 256 << 20  # bytes of the program itself, where they cannot be asked for
SEEDS = (1 << 32) - 1  # the largest

HELP = "fit a model to a raw table, and say what it is worth"
DESCRIPTION = """\
Fit a model to CSV or Parquet files, and write it to a file.

Text, dates, missing cells and numbers as people write them are taken as they come. Every row is
predicted once by a model that has not seen it: by these predictions the threshold is chosen, and
two files beside the model, NAME-fit.html and NAME-fit.json, say what a decision by it means.

With --plain all columns except the target must be numbers, and there is no report; rvfl (the
default then), elm, robell, classvar, totalvar and multiview read files of any size a few times
over, a batch of rows at a time; noise_robust is fitted to a sample of the rows where not all fit in
the memory given; the other models take files that fit.
"""
EXAMPLES = """\
examples:
  robell fit claims.csv --target fraud --out model.skops
  robell fit claims.csv --target fraud --out model.skops --cost-fn 500 --cost-fp 20
  robell fit claims.csv --target fraud --out model.skops --budget 5% --ignore claim_no
  robell fit big.parquet --target y --out model.skops --plain --memory 500MB
  robell fit past.csv --target y --out model.skops --plain --model rvfl_plus --privileged cost
  robell fit data/ --target y --out model.skops --plain --model robell --param C=10 \\
      --param n_hidden=200 --param kernel_width=scale --seed 1
"""
WHEN_STOPPED = NOTHING_WRITTEN
AIMS = ("cost_fn", "cost_fp", "precision", "recall", "budget")
RAW_ONLY = (*AIMS, "positive", "report", "reviewed")


def expected_errors():
    """Return what data and parameters may cause."""
    return ValueError, TypeError


def add_arguments(command):
    """Add the command's options."""
    add_files(command)
    command.add_argument("--target", required=True, metavar="COLUMN", help="the column of labels")
    command.add_argument("--out", required=True, type=Path, metavar="FILE", help="model.skops")
    command.add_argument(
        "--model", choices=list(MODELS), help="default: noise_robust; with --plain: rvfl"
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
    seed = whole(0, SEEDS)
    command.add_argument("--seed", type=seed, default=0, help="of all that is random (default 0)")
    command.add_argument("--no-scale", action="store_true", help="take the columns as they are")
    command.add_argument(
        "--plain", action="store_true", help="numbers only, files of any size, no report"
    )
    _add_threshold(command)
    _add_table(command)
    add_force(command)


def _add_threshold(command):
    group = command.add_argument_group("threshold (of two classes; default: the best F1)")
    group.add_argument(
        "--cost-fn",
        type=float,
        metavar="COST",
        help="of a positive that is missed; needs --cost-fp",
    )
    group.add_argument(
        "--cost-fp", type=float, metavar="COST", help="of a false alarm, in the same money"
    )
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


def _add_table(command):
    group = command.add_argument_group("table and report")
    group.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="columns not to learn from"
    )
    group.add_argument(
        "--classes", action="store_true", help="a target of several numbers holds classes"
    )
    group.add_argument(
        "--keep-spelling",
        action="store_true",
        help="labels that differ only in capitals or spaces are different classes",
    )
    group.add_argument(
        "--reviewed",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="reviews of rows of this table, whose labels are then right where labels are judged "
        "(default: the NAME-review.csv that robell apply has written beside the table)",
    )
    add_text(group)
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
    options.model = options.model or ("rvfl" if options.plain else "noise_robust")
    if options.plain:
        return _run_plain(options)
    if options.privileged:
        raise OptionError("--privileged is for columns of numbers: it needs --plain")
    from robell.decisions.data import table_files
    from robell.decisions.page import write_report
    from robell.decisions.run import fit_table
    from robell.labels.review.review import beside
    from robell.models._thresholds import rule_of

    aim = {name: getattr(options, name) for name in AIMS}
    rule_of(**aim, spelled=lambda name: f"--{name.replace('_', '-')}")  # before files are read
    with table_files(options.data) as files:
        paths = _checked_outputs(options, files)
        if options.reviewed is None:
            options.reviewed = [log for file in files for log in beside(file, options.target)]
        result = fit_table(
            files,
            options.target,
            estimator=_estimator(options),
            positive=options.positive,
            **aim,
            labels=options.labels,
            drop=options.ignore,
            classes=options.classes,
            keep_spelling=options.keep_spelling,
            reviewed=options.reviewed,
            encoding=options.encoding,
            delimiter=options.delimiter,
            memory=memory_left(options.memory, _packages_for(files, options)),
            random_state=options.seed,
        )
    result.save(options.out)
    source = str(options.data[0]) if len(options.data) == 1 else None
    if paths:
        command = shlex.join(["robell", *arguments])
        write_report(result, *paths, command=command, source=source)
    if not options.quiet:
        _say(result, source)
    for path in (options.out, *paths):
        print(path)
    return OK


def _checked_outputs(options, files):
    """Return where page and JSON go, if they are wanted; raise if an output may not be written."""
    from robell._tools.files import check_output
    from robell.decisions.page import is_fit_file, report_paths
    from robell.persist.model_files import check_model_output

    check_model_output(options.out, files, options.force)
    nowhere = options.out.exists() and not options.out.is_file()  # the null device
    is_wanted = not options.no_report and (options.report or not nowhere)
    paths = report_paths(options.out, options.report) if is_wanted else ()
    for path in paths:
        check_output(path, files, None if options.force else is_fit_file)
    return paths


def _say(result, source):
    """Print what was found; what was left out, and what to beware of, on standard error."""
    from robell._tools.text import said
    from robell.decisions.summary import cautions, lines

    left_out = [note for note in result.encoder.notes_ if note.kind == "left out"]
    if left_out:
        why = [f"{said(note.name)} {note.done.removeprefix('left out: ')}" for note in left_out[:3]]
        more = f"; and {len(left_out) - 3:,} more, see the report" if len(left_out) > 3 else ""
        say(f"columns left out: {'; '.join(why)}{more}")
    for text in (*result.notes, *cautions(result)):
        say(text)
    print("\n".join(lines(result, source)))


def _run_plain(options):
    """Fit columns of numbers as they are, in passes where the model can, and write the model."""
    from robell._tools.files import check_output
    from robell._tools.text import shortened
    from robell.persist.model_files import is_model_file, save_model
    from robell.scale.batches import Tables, find_files
    from robell.scale.files import fit_tables

    _require_plain(options)
    check_output(options.out, find_files(options.data), None if options.force else is_model_file)
    estimator = _estimator(options)
    tables = Tables(options.data, options.target)
    model, sizes = fit_tables(estimator, tables, memory_left(options.memory), options.privileged)
    save_model(model, options.out)
    if not options.quiet:
        counts = ", ".join(f"{shortened(str(k))}: {count:,}" for k, count in sizes.items())
        kind = "text" if any(isinstance(label, str) for label in sizes) else "numbers"
        print(
            f"{MODELS[options.model][0]} of {sum(sizes.values()):,} rows{_sampled(model)}, "
            f"{model.n_features_in_} features; rows of each class: {counts}; labels read as {kind}"
        )
    print(options.out)
    return OK


def _require_plain(options):
    """Refuse options that a plain fit would pass over."""
    given = [name for name in RAW_ONLY if getattr(options, name) is not None]
    given += [name for name in ("ignore", "classes", "keep_spelling", "no_report", "delimiter")
              if getattr(options, name)]  # fmt: skip
    given += ["labels"] if options.labels != "given" else []
    given += ["encoding"] if options.encoding != "utf-8" else []
    if given:
        name = given[0].replace("_", "-")
        raise OptionError(f"--plain fits numbers as they are: it takes no --{name}")


def _sampled(model):
    """Say how many rows a model was fitted to, where not to all."""
    from robell._tools.pipelines import last_step

    fitted = vars(last_step(model)).get("n_samples_fitted_")
    return "" if fitted is None else f" (fitted to a sample of {fitted:,} of them)"


def _estimator(options):
    """Return the model asked for, behind a scaler where it needs one."""
    import robell

    name, different = MODELS[options.model]
    kind = getattr(robell, name)
    parameters = kind().get_params()
    known([given for given, _ in options.param], parameters, "parameter")
    seed = {"random_state": options.seed} if "random_state" in parameters else {}
    model = kind(**{**seed, **different, **dict(options.param)})
    if options.no_scale or model._capabilities.scales_inputs:
        return model
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def _packages_for(files, options):
    """Return the packages that a fit of these files takes."""
    from robell.tables.read import is_parquet, readable

    for path in files:
        with readable(path):
            if is_parquet(path, options.encoding, options.delimiter):
                return "skops.io", "pyarrow.parquet"
    return ("skops.io",)


def memory_left(limit, packages=("pyarrow.parquet", "pyarrow.csv", "pandas", "skops.io")):
    """Return what the limit leaves beside the program itself and the packages that it takes."""
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
