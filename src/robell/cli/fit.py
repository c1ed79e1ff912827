"""The command ``robell fit``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import robell
from robell.cli.options import OK, OptionError, known, memory_left, picked, say

AIMS = "cost_fn cost_fp precision recall budget"
# Options of a raw fit, and what each is where it is not given
RAW_ONLY = dict.fromkeys((*AIMS.split(), "positive", "report", "reviewed", "delimiter")) | {
    "drop": [],
    "classes": False,
    "keep_spelling": False,
    "no_report": False,
    "labels": "given",
    "encoding": "utf-8",
}


def models():
    """Return what makes each of robell's models, by the name that a user types."""
    from robell.comparison.family import MODELS

    return {name: model.classifier for name, model in MODELS.items()} | {
        "noise_robust": robell.NoiseRobustRVFLClassifier,
        "rvfl_plus": robell.RVFLPlusClassifier,
        "multiview": robell.MultiViewRVFLClassifier,
        "grvfl_mv": partial(robell.MultiViewRVFLClassifier, graph="lfda"),
    }


def run(options, typed):
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
    from robell.persist.model_files import check_model_output, require_savable, written_with
    from robell.tables.read import kind_of, readable

    aim = picked(options, AIMS)
    rule_of(**aim, spelled=lambda name: f"--{name.replace('_', '-')}")  # before files are read
    packages = {"skops.io"}
    if options.model is None or options.model in models():
        estimator = _estimator(options, "NoiseRobustRVFLClassifier")
    else:
        from robell.comparison.user_models import made_robust

        if options.no_scale:
            raise OptionError(f"--no-scale is for robell's own models, not for {options.model}")
        estimator = made_robust(options.model, options.random_state, dict(options.param))
        require_savable(estimator.estimator)
    with table_files(options.data) as files:
        check_model_output(options.out, files, options.force)
        paths = ()
        if not options.no_report:
            paths = check_report_output(options.out, options.report, files, options.force)
        for path in files:
            with readable(path):
                if kind_of(path, options.encoding, options.delimiter) == "Parquet":
                    packages.add("pyarrow.parquet")
        audit = _audit_of(options, files)
        if options.reviewed is None:
            options.reviewed = []
            for file in files:
                options.reviewed += beside(file, options.target)
        result = fit_table(
            files,
            options.target,
            estimator=estimator,
            **aim,
            **picked(options, "positive labels drop classes keep_spelling reviewed"),
            **picked(options, "encoding delimiter random_state"),
            memory=memory_left(options.memory, packages),
        )
    result.save(options.out)
    if paths:
        write_report(result, *paths, command=typed, audit=audit)
    if not options.quiet:
        for text in remarks(result):
            say(text)
        print("\n".join(lines(result, audit)))
    for path in (*written_with(options.out), *paths):
        print(path)
    return OK


def _audit_of(options, files):
    """Return what lets ``robell audit`` judge the same labels; nothing for several files."""
    from robell.labels.review.review import log_path

    if len(files) > 1:
        return []
    given = Path(options.data[0])
    words = [given if given.is_fifo() else files[0], "--target", options.target]
    words += ["--ignore", *options.drop] if options.drop else []
    if options.reviewed not in (None, [log_path(files[0])]):  # which it finds by itself
        words += ["--reviewed", *options.reviewed]
    words += ["--kind", "classes"] if options.classes else []
    words += ["--encoding", options.encoding] if options.encoding != "utf-8" else []
    words += ["--delimiter", {"\t": "tab"}.get(sign, sign)] if (sign := options.delimiter) else []
    words += ["--seed", options.random_state] if options.random_state else []
    return [str(word) for word in words]


def _run_plain(options):
    """Fit columns of numbers as they are, in passes where the model can, and write the model."""
    from robell._tools.pipelines import last_step
    from robell._tools.text import shortened
    from robell._tools.threads import calm_blas
    from robell.persist.model_files import check_model_output, save_model, written_with
    from robell.scale.batches import Tables, find_files
    from robell.scale.files import fit_tables

    for name, default in RAW_ONLY.items():
        if getattr(options, name) != default:
            name = {"drop": "ignore"}.get(name, name).replace("_", "-")
            raise OptionError(f"--plain fits numbers as they are: it takes no --{name}")
    if options.model is not None and options.model not in models():
        raise OptionError(
            f"--plain fits robell's own models, {', '.join(models())}; got {options.model!r}"
        )
    check_model_output(options.out, find_files(options.data), options.force)
    estimator = _estimator(options, "RVFLClassifier")
    tables = Tables(options.data, options.target)
    memory = memory_left(options.memory)
    with calm_blas:
        model, sizes = fit_tables(estimator, tables, memory, options.privileged)
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
    for path in written_with(options.out):
        print(path)
    return OK


def _estimator(options, default):
    """Return the model asked for, behind a scaler where it needs one."""
    maker = getattr(robell, default) if options.model is None else models()[options.model]
    parameters = maker().get_params()
    known(dict(options.param), parameters, "parameter")
    seed = picked(options, "random_state") if "random_state" in parameters else {}
    model = maker(**seed | dict(options.param))
    if options.no_scale or model._capabilities.scales_inputs:
        return model
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)
