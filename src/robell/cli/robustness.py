"""The command ``robell robustness``."""

from __future__ import annotations

from robell.cli.options import (
    STUDY_KEPT,
    add_study,
    known,
    say_outcome,
    set_names,
    study_errors,
    study_settings,
    whole,
)

HELP = "measure how classifiers bear wrong labels, and write a report"
DESCRIPTION = """\
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
"""
WHEN_STOPPED = STUDY_KEPT
expected_errors = study_errors


def add_arguments(command):
    """Add the command's options."""
    from robell.studies.label_noise.models import MODELS
    from robell.studies.label_noise.plan import FIRST_SEED, LEVELS, N_SEEDS

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
        type=whole(0, 100),
        metavar="PERCENT",
        help="wrong labels in percent (default 0 10 20 30 40, and 5 for symmetric)",
    )
    command.add_argument(
        "--seeds", type=whole(1), default=N_SEEDS, help=f"how many splits (default {N_SEEDS})"
    )
    command.add_argument(
        "--first-seed",
        type=whole(0),
        default=FIRST_SEED,
        help=f"of consecutive seeds (default {FIRST_SEED})",
    )
    add_study(command, "robell-robustness")


def run(options, arguments):
    """Run the study."""
    from robell.studies.label_noise.models import MODELS
    from robell.studies.label_noise.plan import FRESH_SETS, LEVELS, SETS
    from robell.studies.label_noise.study import measure_robustness

    found = measure_robustness(
        set_names(options.datasets, {"study": SETS, "fresh": FRESH_SETS}),
        known(options.models, MODELS, "model"),
        known(options.kinds, LEVELS, "kind of noise"),
        levels=options.levels,
        seeds=range(options.first_seed, options.first_seed + options.seeds),
        **study_settings(options, arguments),
    )
    return say_outcome(found, options.quiet)
