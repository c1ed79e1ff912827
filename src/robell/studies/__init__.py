"""Studies: one engine, and each study as a record of its own."""

from importlib import import_module

# Where the record ``STUDY`` of each study is, by the name its output directories are stamped with.
_HOMES = {
    "reproduction": "robell.studies.paper.jobs",
    "robustness": "robell.studies.label_noise.jobs",
    "comparison": "robell.comparison.compare",
}


def study_in(folder):
    """Return the record of the study that an output directory holds."""
    from robell.comparison.store import StudyError, study_name

    name = study_name(folder)
    if name not in _HOMES:
        raise StudyError(f"{folder} holds a study that this robell does not know ({name})")
    return import_module(_HOMES[name]).STUDY
