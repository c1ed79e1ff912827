"""Labels judged by the probabilities of any classifier, made on rows it has not seen."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment

from robell._core.labels.link import fit_recalibration, posterior
from robell._core.labels.noise import (
    common_rate,
    joint_matrix,
    noise_matrix,
    noise_rates,
    wrong_share,
)
from robell.labels.judge import Judgement
from robell.labels.unseen import fitted_to_other_folds, random_folds

SMALLEST_PROBABILITY = 1e-8
SUM_TOLERANCE = 1e-3
N_FOLDS = 5
TOO_GOOD = 0.999  # share of labels that are the likeliest class; with so many, in-sample is likely
FEWEST_ROWS = 30  # for such a share to say anything
OTHER_ORDER = 0.2  # share of rows that another order of the columns must gain to be meant


def judge_probabilities(y, pred_proba, classes=None):
    """Judge each label by probabilities of a classifier that has not seen the row.

    The same noise rates, posterior and ranking as with the classifier of this package: the
    logarithms of the probabilities take the place of its left-out scores, and a slope and offsets
    mend probabilities that are too sure of themselves or tilted to one class.
    """
    y, classes, labels = _check_labels(y, classes)
    P = _check_probabilities(pred_proba, len(y), classes)
    weight = np.ones(len(y))
    rate = common_rate(P, labels, weight)
    N = noise_matrix(P, labels, weight, rate)
    scores = np.log(np.maximum(P, SMALLEST_PROBABILITY))
    link = fit_recalibration(scores, labels, N)
    Z = posterior(link.probability(scores), labels, N)
    _warn_of_odd(P, labels, classes)
    joint = joint_matrix(Z, labels, weight, len(classes))
    best = Z.argmax(axis=1)
    return Judgement(
        classes,
        Z,
        Z[np.arange(len(y)), labels],
        classes[best],
        best != labels,
        noise_rates(joint),
        wrong_share(joint),
        N,
    )


def unseen_probabilities(estimator, X, y, random_state):
    """Return the probabilities of rows by clones fitted to the other folds, and the classes."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(f"{type(estimator).__name__} has no predict_proba")
    y, classes, labels = _check_labels(y, None)
    counts = np.bincount(labels)
    if counts.min() < 2:
        raise ValueError(
            f"folds need two rows of every class; {classes[counts.argmin()]!r} has one"
        )
    P = np.zeros((len(y), len(classes)))
    folds = random_folds(X, labels, N_FOLDS, np.random.default_rng(random_state))
    for hidden, rows, model in fitted_to_other_folds(estimator, X, y, folds, N_FOLDS):
        if model is not None:
            place = np.searchsorted(classes, model.classes_)
            P[np.ix_(hidden, place)] = model.predict_proba(rows)
    return P, classes


def _check_labels(y, classes):
    """Return the labels, the classes and the labels' places among them."""
    y = np.asarray(y).ravel()
    if len(y) < 2:
        raise ValueError(f"labels of at least two rows are needed; got {len(y)}")
    found = np.unique(y)
    if len(found) < 2:
        raise ValueError(f"labels of at least two classes are needed; all are {found[0]!r}")
    if classes is None:
        return y, found, np.searchsorted(found, y)
    classes = np.asarray(classes)
    if len(np.unique(classes)) != len(classes):
        raise ValueError("classes must hold every class once")
    place = {label: k for k, label in enumerate(classes.tolist())}
    foreign = [label for label in found.tolist() if label not in place]
    if foreign:
        raise ValueError(f"classes must hold every label; it lacks {foreign[0]!r}")
    return y, classes, np.array([place[label] for label in y.tolist()])


def _check_probabilities(pred_proba, n_rows, classes):
    P = np.asarray(pred_proba, dtype=np.float64)
    if P.ndim == 1 and len(classes) == 2:
        P = np.column_stack([1.0 - P, P])
    if P.shape != (n_rows, len(classes)):
        raise ValueError(
            f"pred_proba must have {n_rows} rows and a column for each of the {len(classes)} "
            f"classes; its shape is {P.shape}"
        )
    if not (np.isfinite(P).all() and (P >= -1e-9).all()):
        raise ValueError("pred_proba must hold finite numbers, none negative")
    total = P.sum(axis=1)
    if np.abs(total - 1.0).max() > SUM_TOLERANCE:
        worst = int(np.abs(total - 1.0).argmax())
        raise ValueError(
            f"every row of pred_proba must add up to 1; row {worst} adds up to {total[worst]:.4g}"
        )
    return np.clip(P, 0.0, None) / total[:, None]


def _warn_of_odd(P, labels, classes):
    """Warn of probabilities that were made in-sample, or whose columns are in another order."""
    if len(labels) < FEWEST_ROWS:
        return
    agreement = float((P.argmax(axis=1) == labels).mean())
    if agreement >= TOO_GOOD:
        warnings.warn(
            f"the likeliest class is the label in {agreement:.1%} of the rows: were these rows in "
            "the training set of the model? Probabilities must come from models that have not "
            "seen the row, such as those of cross_val_predict",
            UserWarning,
            stacklevel=4,
        )
    table = np.zeros((len(classes), len(classes)))
    np.add.at(table, (labels, P.argmax(axis=1)), 1.0)
    order = linear_sum_assignment(table, maximize=True)[1]
    reordered = float(table[np.arange(len(order)), order].sum() / len(labels))
    if reordered > agreement + OTHER_ORDER:
        # column order[k] seems to hold the probability of classes[k]
        meant = classes[np.argsort(order)]
        likely = ", ".join(str(label) for label in meant[:5].tolist())
        taken = ", ".join(str(label) for label in classes[:5].tolist())
        more = ", ..." if len(classes) > 5 else ""
        warnings.warn(
            f"the likeliest class is the label in only {agreement:.1%} of the rows, and would be "
            f"in {reordered:.1%} were the columns of pred_proba in the order {likely}{more}; "
            f"they are taken in the order {taken}{more}: say otherwise with classes=",
            UserWarning,
            stacklevel=4,
        )
