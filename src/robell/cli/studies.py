"""The commands of the studies: ``robell reproduce``, ``robustness``, ``report``, ``datasets``."""

from __future__ import annotations

from robell.cli.options import (
    INCOMPLETE,
    OK,
    OptionError,
    checked_study_folder,
    known,
    picked,
    say,
    say_outcome,
)


def set_names(given, groups=None):
    """Return names of sets, groups spelt out; a wrong one is refused, with near names suggested."""
    from robell.datasets import info, keel_names, paper_names

    groups = {"paper": paper_names(), "keel": keel_names()} | (groups or {})
    names: dict[str, None] = {}
    for name in given:
        names |= dict.fromkeys(groups[name] if name in groups else [info(name).name])
    return list(names)


def _settings(options, typed):
    """Return what every study is told, as its keyword arguments."""
    return {
        "n_workers": options.n_jobs,
        "data_dir": options.data_dir,
        "out": checked_study_folder(options),
        "download": not options.offline,
        "progress": not options.quiet,
        "command": typed,
    }


# -- robell reproduce --------------------------------------------------------------------


def run_reproduce(options, typed):
    """Run a part of the paper's study, or an archive, and write the report."""
    from robell.comparison.family import MODELS
    from robell.studies.paper.jobs import SCORERS, reproduce

    if options.part.lower().endswith(".zip"):
        return _run_archive(options, typed)
    if options.run_their_code:
        raise OptionError("--run-their-code is for an archive, study.zip")
    models = list(MODELS) if options.models == ["all"] else known(options.models, MODELS, "model")
    found = reproduce(
        options.part,
        set_names(options.datasets),
        models,
        protocols_for(options.protocol, models),
        repeats=options.repeats,
        tuned_by=options.tune_by and tuple(known(options.tune_by, SCORERS, "metric")),
        device=options.device,
        **_settings(options, typed),
    )
    return say_outcome(found, options.quiet)


def _run_archive(options, typed):
    """Run a comparison again from its archive, and say how the scores compare."""
    from robell.comparison.archive import run_again

    found = run_again(
        options.part,
        out=checked_study_folder(options),
        **picked(options, "data_dir run_their_code n_jobs"),
        progress=not options.quiet,
        command=typed,
    )
    for remark in found.remarks:
        say(remark)
    print(found.headline)
    print(found.report)
    return OK if found.agrees else INCOMPLETE


def protocols_for(asked, models):
    """Return the protocols to run: models that the paper prints nothing of need repeated splits."""
    from robell.studies.paper.jobs import PROTOCOLS
    from robell.studies.paper.printed import MODELS as PRINTED

    others = [model for model in models if model not in PRINTED]
    if others and asked == "paper":
        raise OptionError(
            f"the paper prints nothing of {', '.join(others)}: give --protocol repeated or both"
        )
    if asked == "both" or (asked is None and others):
        return PROTOCOLS
    return (asked or "paper",)


# -- robell robustness -------------------------------------------------------------------


def run_robustness(options, typed):
    """Run the study of wrong labels, and write the report."""
    from robell.studies.label_noise.jobs import GROUPS, LEVELS, measure_robustness
    from robell.studies.label_noise.models import EVERY_MODEL

    models, kinds = options.models, options.kinds
    found = measure_robustness(
        set_names(options.datasets or [options.tables], GROUPS),
        models and known(models, EVERY_MODEL, "model"),
        kinds and known(kinds, LEVELS, "kind of noise"),
        **picked(options, "peers levels first_seed"),
        n_seeds=options.seeds,
        **_settings(options, typed),
    )
    return say_outcome(found, options.quiet)


# -- robell report, robell datasets ------------------------------------------------------


def run_report(options, typed):
    """Write the report of a study again."""
    from robell.comparison.study_page import write_report
    from robell.studies import study_in

    study = study_in(options.folder)
    report, results = write_report(study, options.folder)
    print(study.maker.headline(results), end="\n\n")
    print(report)
    return OK


def run_datasets(options, typed):
    """List sets, their sizes, and where each would come from."""
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
