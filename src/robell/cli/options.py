"""What the options of several commands have in common: sets by name, near names for wrong ones."""

from __future__ import annotations

import argparse

from robell._core.tools.names import did_you_mean
from robell.datasets import info, keel_names, paper_names
from robell.studies.engine.store import StudyError


def positive(text):
    """Return a whole number of 1 or more, as argparse wants it."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def set_names(given, groups=None):
    """Return names of sets, groups spelt out; one that is none gets near names suggested."""
    groups = {"paper": paper_names(), "keel": keel_names()} | (groups or {})
    names = []
    for name in given:
        if name in groups:
            names.extend(groups[name])
            continue
        names.append(info(name).name)  # raises, with near names, where there is no such set
    return list(dict.fromkeys(names))


def known(given, names, what):
    """Return the names given, each once; one that is not known gets near names suggested."""
    for name in given:
        if name not in names:
            near = did_you_mean(name, names) or f"; there are {', '.join(names)}"
            raise StudyError(f"there is no {what} {name!r}{near}")
    return list(dict.fromkeys(given))
