"""The command ``robell reproduce``."""

from __future__ import annotations

from robell.cli.options import (
    STUDY_KEPT,
    OptionError,
    add_study,
    known,
    say_outcome,
    set_names,
    study_errors,
    study_settings,
    whole,
)

HELP = "run the paper's study and write a report"
DESCRIPTION = """\
Run the paper's study on the sets that can be had, and write a report.

What has finished is kept: start the same command again after it was stopped, and it goes on.
Parts: table1 (accuracy of eight models), tests (Friedman, Nemenyi, win-tie-loss; made of
table1), probe (the printed parameters over 100 seeds), noise (5 to 40 % of the labels
flipped), sensitivity (kernel width and rho), all.
"""
EXAMPLES = """\
examples:
  robell reproduce                                     everything that is available
  robell reproduce table1 --datasets haberman monk1 --models rvfl robell
  robell reproduce all --data-dir data --jobs 4        sets from a folder of CSV files
  robell reproduce tests --protocol repeated --repeats 20 --tune-by g_mean
  robell reproduce table1 --protocol repeated --models all    the relatives too
"""
WHEN_STOPPED = STUDY_KEPT
expected_errors = study_errors


def add_arguments(command):
    """Add the command's options."""
    from robell.comparison.family import MODELS
    from robell.studies.paper.jobs import SCORERS
    from robell.studies.paper.plan import PARTS, PROTOCOLS
    from robell.studies.paper.printed import MODELS as PRINTED

    command.add_argument("part", nargs="?", choices=list(PARTS), default="all", help="default: all")
    command.add_argument(
        "--datasets",
        nargs="+",
        metavar="NAME",
        default=["paper"],
        help='names of sets, "paper" for its 26 (default) or "keel" for the 100 KEEL sets',
    )
    command.add_argument(
        "--models",
        nargs="+",
        metavar="MODEL",
        default=list(PRINTED),
        help=f"{', '.join(MODELS)}; all for all of them (default: the paper's eight; the others "
        "run under the protocol repeated)",
    )
    command.add_argument(
        "--protocol",
        choices=[*PROTOCOLS, "both"],
        help="paper: its one split (default); repeated: stratified 70:30 splits; both (default "
        "where a model is named that the paper prints nothing of)",
    )
    command.add_argument(
        "--repeats", type=whole(1), default=10, help="splits of the protocol repeated (default 10)"
    )
    command.add_argument(
        "--tune-by",
        nargs="+",
        metavar="METRIC",
        help=f"metrics to tune by under repeated: {', '.join(SCORERS)} (default accuracy g_mean)",
    )
    command.add_argument(
        "--device", default="cpu", help="where searches run: cpu (default) or cuda"
    )
    add_study(command, "robell-study")


def run(options, arguments):
    """Run the study."""
    from robell.comparison.family import MODELS
    from robell.studies.paper.jobs import SCORERS
    from robell.studies.paper.study import reproduce

    models = list(MODELS) if options.models == ["all"] else known(options.models, MODELS, "model")
    found = reproduce(
        options.part,
        set_names(options.datasets),
        models,
        _protocols(options.protocol, models),
        repeats=options.repeats,
        tuned_by=options.tune_by and tuple(known(options.tune_by, SCORERS, "metric")),
        device=options.device,
        **study_settings(options, arguments),
    )
    return say_outcome(found, options.quiet)


def _protocols(asked, models):
    """Return the protocols to run: models that the paper prints nothing of need repeated splits."""
    from robell.studies.paper.plan import PROTOCOLS
    from robell.studies.paper.printed import MODELS as PRINTED

    others = [model for model in models if model not in PRINTED]
    if others and asked == "paper":
        raise OptionError(
            f"the paper prints nothing of {', '.join(others)}: give --protocol repeated or both"
        )
    if asked == "both" or (asked is None and others):
        return PROTOCOLS
    return (asked or "paper",)
