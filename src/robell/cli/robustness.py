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
Measure how classifiers bear wrong labels, and write a report.

A share of the training labels is made wrong: symmetric (of all rows), asymmetric (of the minority
only, which then count as majority), boundary (rows near the other class first; near by the distance
to a row of it, to the boundary of a logistic regression, or by the margin of a forest), group (one
of three suppliers errs; which one a row is from is a column or is not known). Test labels are
right. Models are as they are (usual), or peers are tuned too; noise_robust never is. What has
finished is kept: start the same command again after it was stopped, and it goes on.
"""
EXAMPLES = """\
examples:
  robell robustness                                    the usual peers on the reporting tables
  robell robustness --peers all                        peers that are tuned, too
  robell robustness --datasets pima yeast4 --models logistic noise_robust --kinds symmetric
  robell robustness --tables study --levels 0 20 40 --seeds 10 --first-seed 20
"""
WHEN_STOPPED = STUDY_KEPT
expected_errors = study_errors


def add_arguments(command):
    """Add the command's options."""
    _add_tables(command)
    _add_models(command)
    _add_noise(command)
    add_study(command, "robell-robustness")


def _add_tables(command):
    from robell.studies.label_noise.sets import GROUPS

    command.add_argument(
        "--tables",
        choices=list(GROUPS),
        default="reporting",
        help="those that report (default), those on which noise_robust was chosen, all of these, "
        'the 34 sets of the first "study", or the "fresh" ones of them',
    )
    command.add_argument(
        "--datasets",
        nargs="+",
        metavar="NAME",
        help='names of sets, or of groups of them ("keel" for the 100 imbalanced KEEL sets, '
        '"paper" for the 26 of the paper, or what --tables takes), instead of --tables',
    )


def _add_models(command):
    from robell.studies.label_noise.models import EVERY_MODEL
    from robell.studies.label_noise.plan import PEERS

    command.add_argument(
        "--peers",
        choices=PEERS,
        default="usual",
        help="models as they are, the part in which peers are tuned, or both (default usual)",
    )
    command.add_argument("--models", nargs="+", metavar="MODEL", help=", ".join(EVERY_MODEL))


def _add_noise(command):
    from robell.studies.label_noise.plan import FIRST_SEED, LEVELS, N_SEEDS

    command.add_argument("--kinds", nargs="+", metavar="KIND", help=", ".join(LEVELS))
    command.add_argument(
        "--levels",
        nargs="+",
        type=whole(0, 100),
        metavar="PERCENT",
        help="wrong labels in percent (default: symmetric 0 10 20 30 40, others fewer)",
    )
    command.add_argument(
        "--seeds",
        type=whole(1),
        help=f"how many splits (default {N_SEEDS}, and 1 where peers are tuned)",
    )
    command.add_argument(
        "--first-seed",
        type=whole(0),
        default=FIRST_SEED,
        help=f"of consecutive seeds (default {FIRST_SEED})",
    )


def run(options, arguments):
    """Run the study."""
    from robell.studies.label_noise.models import EVERY_MODEL
    from robell.studies.label_noise.plan import LEVELS
    from robell.studies.label_noise.sets import GROUPS
    from robell.studies.label_noise.study import measure_robustness

    models, kinds = options.models, options.kinds
    found = measure_robustness(
        set_names(options.datasets or [options.tables], GROUPS),
        models and known(models, EVERY_MODEL, "model"),
        kinds and known(kinds, LEVELS, "kind of noise"),
        peers=options.peers,
        levels=options.levels,
        n_seeds=options.seeds,
        first_seed=options.first_seed,
        **study_settings(options, arguments),
    )
    return say_outcome(found, options.quiet)
