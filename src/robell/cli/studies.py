"""The commands of the studies: ``robell reproduce``, ``robustness``, ``report``, ``datasets``."""

from __future__ import annotations

from pathlib import Path

from robell.cli.options import (
    OK,
    Command,
    OptionError,
    add_options,
    checked_study_folder,
    known,
    say_outcome,
    whole,
)


def set_names(given, groups=None):
    """Return names of sets, groups spelt out; a wrong one is refused, with near names suggested."""
    from robell.datasets import info, keel_names, paper_names

    groups = {"paper": paper_names(), "keel": keel_names()} | (groups or {})
    names: dict[str, None] = {}
    for name in given:
        names |= dict.fromkeys(groups[name] if name in groups else [info(name).name])
    return list(names)


def _add_study(command, out):
    """Add what the commands that run a study on named sets have in common."""
    from robell.comparison.execute import default_workers

    folder = {"type": Path, "default": Path(out), "help": f"default: {out}"}
    add_options(command, jobs={"default": default_workers()})
    command.add_argument("--out", **folder)
    add_options(command, "data-dir", "quiet")
    command.add_argument("--offline", action="store_true", help="never ask the network for a set")


def _settings(options, arguments):
    """Return what every study is told, as its keyword arguments."""
    return {
        "n_workers": options.jobs,
        "data_dir": options.data_dir,
        "out": checked_study_folder(options),
        "download": not options.offline,
        "progress": not options.quiet,
        "command": " ".join(["robell", *arguments]),
    }


# -- robell reproduce --------------------------------------------------------------------


def _add_reproduce(command):
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
    add_options(command, "repeats")
    command.add_argument(
        "--tune-by",
        nargs="+",
        metavar="METRIC",
        help=f"metrics to tune by under repeated: {', '.join(SCORERS)} (default accuracy g_mean)",
    )
    command.add_argument(
        "--device", default="cpu", help="where searches run: cpu (default) or cuda"
    )
    _add_study(command, "robell-study")


def _run_reproduce(options, arguments):
    from robell.comparison.family import MODELS
    from robell.studies.paper.jobs import SCORERS
    from robell.studies.paper.study import reproduce

    models = list(MODELS) if options.models == ["all"] else known(options.models, MODELS, "model")
    found = reproduce(
        options.part,
        set_names(options.datasets),
        models,
        protocols_for(options.protocol, models),
        repeats=options.repeats,
        tuned_by=options.tune_by and tuple(known(options.tune_by, SCORERS, "metric")),
        device=options.device,
        **_settings(options, arguments),
    )
    return say_outcome(found, options.quiet)


def protocols_for(asked, models):
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


REPRODUCE = Command(
    "run the paper's study and write a report",
    """\
Run the paper's study on the sets that can be had, and write a report.

What has finished is kept: start the same command again after it was stopped, and it goes on.
Parts: table1 (accuracy of eight models), tests (Friedman, Nemenyi, win-tie-loss; made of
table1), probe (the printed parameters over 100 seeds), noise (5 to 40 % of the labels
flipped), sensitivity (kernel width and rho), all.
""",
    """\
examples:
  robell reproduce                                     everything that is available
  robell reproduce table1 --datasets haberman monk1 --models rvfl robell
  robell reproduce all --data-dir data --jobs 4        sets from a folder of CSV files
  robell reproduce tests --protocol repeated --repeats 20 --tune-by g_mean
  robell reproduce table1 --protocol repeated --models all    the relatives too
""",
    _add_reproduce,
    _run_reproduce,
    is_study=True,
)


# -- robell robustness -------------------------------------------------------------------


def _add_robustness(command):
    from robell.studies.label_noise.models import EVERY_MODEL
    from robell.studies.label_noise.plan import FIRST_SEED, LEVELS, N_SEEDS, PEERS
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
    command.add_argument(
        "--peers",
        choices=PEERS,
        default="usual",
        help="models as they are, the part in which peers are tuned, or both (default usual)",
    )
    command.add_argument("--models", nargs="+", metavar="MODEL", help=", ".join(EVERY_MODEL))
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
    _add_study(command, "robell-robustness")


def _run_robustness(options, arguments):
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
        **_settings(options, arguments),
    )
    return say_outcome(found, options.quiet)


ROBUSTNESS = Command(
    "measure how classifiers bear wrong labels, and write a report",
    """\
Measure how classifiers bear wrong labels, and write a report.

A share of the training labels is made wrong: symmetric (of all rows), asymmetric (of the minority
only, which then count as majority), boundary (rows near the other class first; near by the distance
to a row of it, to the boundary of a logistic regression, or by the margin of a forest), group (one
of three suppliers errs; which one a row is from is a column or is not known). Test labels are
right. Models are as they are (usual), or peers are tuned too; noise_robust never is. What has
finished is kept: start the same command again after it was stopped, and it goes on.
""",
    """\
examples:
  robell robustness                                    the usual peers on the reporting tables
  robell robustness --peers all                        peers that are tuned, too
  robell robustness --datasets pima yeast4 --models logistic noise_robust --kinds symmetric
  robell robustness --tables study --levels 0 20 40 --seeds 10 --first-seed 20
""",
    _add_robustness,
    _run_robustness,
    is_study=True,
)


# -- robell report, robell datasets ------------------------------------------------------


def _add_report(command):
    command.add_argument("folder", type=Path, metavar="DIR", help="where the study was written")


def _run_report(options, arguments):
    from robell.comparison.study_page import write_report
    from robell.studies import study_in

    study = study_in(options.folder)
    report, results = write_report(study, options.folder)
    print(study.headline(results), end="\n\n")
    print(report)
    return OK


REPORT = Command(
    "write the report of a study again, from its records",
    "Write report, tables and figures of a study again, from its records alone.",
    "example:\n  robell report robell-study",
    _add_report,
    _run_report,
    is_study=True,
)


def _add_datasets(command):
    command.add_argument("names", nargs="*", metavar="NAME", help='default: "paper"')
    add_options(command, "data-dir")


def _run_datasets(options, arguments):
    from robell.datasets import available, info

    names = set_names(options.names or ["paper"])
    where = available(options.data_dir, names=names)
    width = max(len(name) for name in names)
    print(f"{'name':{width}}  {'rows':>5}  {'columns':>7}  {'minority':>8}  from")
    for name in names:
        about = info(name)
        sizes = [about.n_rows, about.n_features, about.n_minority]
        cells = ["-" if value is None else str(value) for value in sizes]
        print(f"{name:{width}}  {cells[0]:>5}  {cells[1]:>7}  {cells[2]:>8}  {where[name]}")
    return OK


DATASETS = Command(
    "list the sets and where each would come from",
    "List the paper's sets, what each really is, and where it would come from.",
    """\
examples:
  robell datasets
  robell datasets haberman --data-dir data
  robell datasets keel""",
    _add_datasets,
    _run_datasets,
)
