"""The command ``robell fit``."""

from __future__ import annotations

import argparse
import ast
from pathlib import Path

from robell._core.tools.optional import require
from robell.cli.options import NOTHING_WRITTEN, OK, OptionError, add_files, add_force, known

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

HELP = "fit a model to files of any size"
DESCRIPTION = """\
Fit a model to CSV or Parquet files, and write it to a file.

rvfl, elm, robell, classvar, totalvar and multiview read files of any size a few times over, a batch
of rows at a time; the other models take files that fit in the memory given. All columns except the
target must be numeric; they are standardised unless --no-scale is given, and the scaling is part of
the model.
"""
EXAMPLES = """\
examples:
  robell fit big.parquet --target y --out model.skops
  robell fit table.csv --target y --out model.skops --model noise_robust
  robell fit past.csv --target y --out model.skops --model rvfl_plus --privileged outcome_cost
  robell fit part-1.csv part-2.csv --target label --out model.skops --memory 500MB
  robell fit data/ --target y --out model.skops --model robell --param C=10 \\
      --param n_hidden=200 --param kernel_width=scale --seed 1
"""
WHEN_STOPPED = NOTHING_WRITTEN


def expected_errors():
    """Return what data and parameters may cause."""
    return ValueError, TypeError


def add_arguments(command):
    """Add the command's options."""
    add_files(command)
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
    command.add_argument(
        "--privileged",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column that prediction will not have, for rvfl_plus and krvfl_plus; may be given "
        "again",
    )
    command.add_argument("--seed", type=int, default=0, help="of the random layer (default 0)")
    command.add_argument("--no-scale", action="store_true", help="take the columns as they are")
    add_force(command)


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
    """Fit, and write the model."""
    from robell._core.tools.files import check_output
    from robell.report.text import shortened
    from robell.scale.batches import Tables, find_files
    from robell.scale.files import fit_tables
    from robell.scale.model_files import is_model_file, save_model

    check_output(options.out, find_files(options.data), None if options.force else is_model_file)
    estimator = _estimator(options)
    tables = Tables(options.data, options.target)
    model, sizes = fit_tables(estimator, tables, memory_left(options.memory), options.privileged)
    save_model(model, options.out)
    if not options.quiet:
        counts = ", ".join(f"{shortened(str(k))}: {count:,}" for k, count in sizes.items())
        kind = "text" if any(isinstance(label, str) for label in sizes) else "numbers"
        print(
            f"{MODELS[options.model][0]} of {sum(sizes.values()):,} rows, "
            f"{model.n_features_in_} features; rows of each class: {counts}; labels read as {kind}"
        )
    print(options.out)
    return OK


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


def memory_left(limit, packages=("pyarrow.parquet", "pyarrow.csv", "pandas", "skops.io")):
    """Return what the limit leaves beside the program itself and the packages of ``files``."""
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
