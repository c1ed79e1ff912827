"""What an audit takes from earlier reviews: labels that a person has confirmed are right."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from robell._tools.files import FileError
from robell._tools.text import said
from robell.labels.review.apply import is_log, log_path
from robell.labels.review.decisions import read_review, same_label
from robell.labels.review.fingerprint import read_print
from robell.labels.trust import WORTH


def beside(data):
    """Return the log of the review that a table came from, if it stands beside it."""
    log = log_path(data)
    return [log] if log.is_file() and is_log(log) else []


def read_reviewed(paths, target):
    """Return the labels that were decided upon, by the fingerprint of their row."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    decided = {}
    for path in paths:
        review = read_review(Path(path))
        if review.target != target:
            raise FileError(
                f"{path}: is a review of the column {said(review.target)}, not of {said(target)}"
            )
        for one in review.made:
            if one.label is not None:
                decided.setdefault(one.print, set()).add(one.label)
    return decided


def confirmed_rows(decided, prints, given):
    """Return which rows, known by their fingerprints, have the label that was decided upon."""
    if not decided:
        return np.zeros(len(given), bool)
    return np.array(
        [
            any(same_label(label, cell) for label in decided.get(read_print(text, "")[1], ()))
            for text, cell in zip(prints, given, strict=True)
        ]
    )


def with_review(result, decided):
    """Return the result with confirmed labels taken as right: sure, and never suspect.

    A row counts as reviewed if it is found by its fingerprint, with the label decided upon. Rows
    that are equal in every column are one in this.
    """
    confirmed = confirmed_rows(decided, result.fingerprint, result.given)
    if not confirmed.any():
        return result
    evidence = result.evidence
    judgement, codes = evidence.judgement, evidence.codes
    probability = judgement.probability.copy()
    probability[confirmed] = np.eye(len(result.classes))[codes[confirmed]]
    judgement = replace(
        judgement,
        probability=probability,
        quality=np.where(confirmed, 1.0, judgement.quality),
        suggested=np.where(confirmed, codes, judgement.suggested),
        suspect=judgement.suspect & ~confirmed,
        noise_matrix=_noise_matrix(probability, codes),
    )
    judgement = replace(judgement, noise_rate=float(np.mean(1.0 - judgement.quality)))
    wrong = WORTH[result.trust] * float((1.0 - judgement.quality[judgement.suspect]).sum())
    names = np.array(result.classes, dtype=object)
    groups = result.groups
    if groups is not None:
        place = evidence.groups.place[judgement.suspect]
        groups = replace(groups, n_suspects=np.bincount(place, minlength=len(groups)))
    return replace(
        result,
        groups=groups,
        suggested=names[judgement.suggested],
        quality=judgement.quality,
        probability=probability,
        suspect=judgement.suspect,
        noise_matrix=judgement.noise_matrix,
        noise_rate=judgement.noise_rate,
        expected_wrong=wrong,
        reviewed=confirmed,
        evidence=replace(evidence, judgement=judgement),
    )


def _noise_matrix(probability, codes):
    """Return which share of the rows of each class carries which label."""
    n_classes = probability.shape[1]
    joint = np.zeros((n_classes, n_classes))
    np.add.at(joint.T, codes, probability)
    return joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
