"""The models of the study of wrong labels: untuned ones, tuned ones, and detectors of labels."""

from __future__ import annotations

from functools import partial

import numpy as np

from robell.comparison import peers
from robell.comparison.peers import MODELS, OURS, USUAL, Model
from robell.studies.label_noise import detectors, tuned


def _searched(make, space, seed, y):
    return tuned.searched(make(seed, y), space, seed, y)


def _cut(make, seed, y):
    return tuned.with_tuned_cut(make(seed, y), seed, y)


# Four peers tuned, and every quick peer with its threshold tuned.
TUNED = {
    f"tuned_{name}": Model(
        f"{label}, tuned",
        f"{label}, tuned",
        partial(_searched, MODELS[name].make, space),
        20 * MODELS[name].seconds,
        MODELS[name].package,
        several=False,
    )
    for name, label, space in (
        ("logistic", "Logistic", tuned.LOGISTIC),
        ("svc", "SVC", tuned.SVC),
        ("forest", "Forest", tuned.FOREST),
        ("lightgbm", "LightGBM", tuned.LIGHTGBM),
    )
} | {
    f"cut_{name}": Model(
        f"{MODELS[name].label}, tuned cut",
        f"{MODELS[name].short}, cut",
        partial(_cut, MODELS[name].make),
        6 * MODELS[name].seconds,
        MODELS[name].package,
        extra=MODELS[name].extra,
        several=False,
    )
    for name in USUAL
    if name != OURS
}


def _by_cleanlab(make, X, y, seed):
    return detectors.by_cleanlab(make(seed, y), X, y, seed)


# Peers that look for wrong labels: (rows, labels, seed) -> {name of a score: quality of labels}.
DETECTORS = {
    "cleanlab_logistic": Model(
        "cleanlab, logistic regression",
        "cleanlab logistic",
        partial(_by_cleanlab, peers.plain_logistic),
        0.1,
        "cleanlab",
    ),
    "cleanlab_forest": Model(
        "cleanlab, random forest",
        "cleanlab forest",
        partial(_by_cleanlab, peers.forest),
        1.2,
        "cleanlab",
    ),
    "cleanlab_lightgbm": Model(
        "cleanlab, LightGBM",
        "cleanlab LightGBM",
        partial(_by_cleanlab, peers.lightgbm),
        0.5,
        "cleanlab",
    ),
    "aum_softmax": Model(
        "Area under the margin, softmax regression",
        "AUM softmax",
        detectors.by_softmax_margins,
        0.1,
    ),
    "aum_boosting": Model(
        "Area under the margin, boosting", "AUM boosting", detectors.by_boosting_margins, 0.4
    ),
}
EVERY_MODEL = MODELS | TUNED | DETECTORS


def build(model, seed, y):
    """Return a model of the study, not fitted yet, for the training labels it will see."""
    return EVERY_MODEL[model].make(seed, np.asarray(y))


def require_packages(models):
    """Import every optional package that some models need; return their versions."""
    return peers.require_packages([EVERY_MODEL[model] for model in models])
