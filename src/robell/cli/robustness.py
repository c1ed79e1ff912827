"""The command ``robell robustness``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from robell.cli.options import known, positive, set_names
from robell.studies.label_noise.plan import FIRST_SEED, FRESH_SETS, LEVELS, MODELS, N_SEEDS, SETS
from robell.studies.label_noise.report import noise_headline
from robell.studies.label_noise.study import measure_robustness
from robell.studies.paper.study import default_workers

OK, INCOMPLETE = 0, 3
HELP = """\
Measure how classifiers bear wrong labels on imbalanced sets, and write a report.

A share of the training labels is made wrong: symmetric (of all rows), asymmetric (of the minority
only, which then count as majority), boundary (rows near the other class first). Test labels are
right. No model is tuned. What has finished is kept: start the same command again after it was
stopped, and it goes on.
"""
EXAMPLES = """\
examples:
  robell robustness                                    everything: 34 sets, 14 models
  robell robustness --datasets pima yeast4 --models logistic noise_robust --kinds symmetric
  robell robustness --datasets fresh --levels 0 20 40 --seeds 10 --first-seed 20

exit status: 0 done, 1 an error, 2 wrong usage, 3 done but some jobs failed (scored as chance),
             130 interrupted (what had finished is kept)
"""


def add_robustness(commands):
    """Add ``robell robustness`` to the subcommands of a parser."""
    command = commands.add_parser(
        "robustness",
        help="measure how classifiers bear wrong labels, and write a report",
        description=HELP,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "--datasets",
        nargs="+",
        metavar="NAME",
        default=["study"],
        help='names of sets, "study" for its 34 (default), "fresh" for those of them that were not '
        'used in making noise_robust, "keel" for the 100 KEEL sets or "paper" for the 26 of the '
        "paper",
    )
    command.add_argument(
        "--models", nargs="+", metavar="MODEL", default=list(MODELS), help=", ".join(MODELS)
    )
    command.add_argument(
        "--kinds", nargs="+", metavar="KIND", default=list(LEVELS), help=", ".join(LEVELS)
    )
    command.add_argument(
        "--levels",
        nargs="+",
        type=_percent,
        metavar="PERCENT",
        help="wrong labels in percent (default 0 10 20 30 40, and 5 for symmetric)",
    )
    command.add_argument(
        "--seeds", type=positive, default=N_SEEDS, help=f"how many splits (default {N_SEEDS})"
    )
    command.add_argument(
        "--first-seed",
        type=_not_negative,
        default=FIRST_SEED,
        help=f"of consecutive seeds (default {FIRST_SEED})",
    )
    command.add_argument(
        "--jobs", type=positive, default=default_workers(), help="processes (default: all cores)"
    )
    command.add_argument(
        "--data-dir", type=Path, help="a folder of NAME.csv files, looked in first"
    )
    command.add_argument(
        "--out", type=Path, default=Path("robell-robustness"), help="default: robell-robustness"
    )
    command.add_argument("--offline", action="store_true", help="never ask the network for a set")
    command.add_argument(
        "--quiet", action="store_true", help="print the report's path, nothing else"
    )
    command.set_defaults(run=_robustness)


def _percent(text):
    value = int(text)
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError("must be a whole number from 0 to 100")
    return value


def _not_negative(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return value


def _robustness(options, arguments):
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    found = measure_robustness(
        set_names(options.datasets, {"study": SETS, "fresh": FRESH_SETS}),
        known(options.models, MODELS, "model"),
        known(options.kinds, LEVELS, "kind of noise"),
        levels=options.levels,
        seeds=seeds,
        n_workers=options.jobs,
        data_dir=options.data_dir,
        out=options.out,
        download=not options.offline,
        progress=not options.quiet,
        command=" ".join(["robell", *arguments]),
    )
    if not options.quiet:
        for reason in found.unavailable.values():
            print(f"robell: left out: {reason}", file=sys.stderr)
        print(noise_headline(found.results))
        print()
    for record in found.results.failed:
        print(f"robell: {record['key']} failed: {record['error']}", file=sys.stderr)
    print(found.report)
    return INCOMPLETE if found.results.failed else OK
