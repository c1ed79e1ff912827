"""How probable each label is, and whether the columns say enough to judge any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell.labels.second_look import second_look
from robell.labels.unseen import foretell
from robell.models.noise_robust import NoiseRobustRVFLClassifier

# The area under the ROC curve for unseen rows, measured by the labels as they are given, is about
# 1/2 + (1 - 2 e)/2 for two balanced classes that the columns tell apart perfectly, when a share e
# of the labels is wrong: .57 is noise of 43 %. Below it, and within three standard errors of
# chance, which label is the wrong one is guesswork.
LEAST_SEPARATION = 0.57
STANDARD_ERRORS = 3.0
MOST_SUSPECTS = 0.45  # share of the rows; as many suspects are no suspects
# Trust is good where hardly a row is hard, and most misfits are explained by wrong labels.
CLEAR, RATHER_CLEAR = 0.9, 0.85
VERY_CLEAR = 0.93  # from here on a second look may count
EXPLAINED = 0.4
GOOD_SEPARATION = 0.7
MOST_COLUMNS_A_ROW = 0.5  # with more, chance alone makes labels look right or wrong
FEW_MISFITS = 0.1  # share of the rows; where there are more, "none is wrong" is not known well
# What the suspects' own probabilities of being wrong are worth: the share that was wrong over the
# share they promised, measured on simulated and real tables with known mistakes.
WORTH = {"good": 0.9, "fair": 0.85, "weak": 0.7, "none": 0.0}


@dataclass(frozen=True)
class Judgement:
    """What the model says about the labels.

    `separation` is the mean over the classes of the area under the ROC curve on rows the model
    has not seen, each class against the others; `separations` has it class by class. `misfits` is
    the share of rows whose label is not the one foretold, `clarity` the estimated share whose
    true class would be, and `expected_wrong` how many of the suspects are wrong by estimate.
    """

    probability: np.ndarray
    quality: np.ndarray
    suggested: np.ndarray
    suspect: np.ndarray
    noise_matrix: np.ndarray
    noise_rate: float
    separation: float
    separations: np.ndarray
    misfits: float
    clarity: float
    trust: str
    expected_wrong: float


def judge(X, codes, n_classes, random_state):
    """Fit the classifier that expects wrong labels, and ask it about each label.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    codes : array of shape (n_rows,)
        Given classes from 0 on.
    n_classes : int
        Their number.
    random_state : int
        Of the classifier's random layers and of the folds.

    Returns
    -------
    judgement : Judgement
        Where the columns say too little, no row of it is suspect.
    """
    model = NoiseRobustRVFLClassifier(random_state=random_state).fit(X, codes)
    unseen = foretell(X, codes, n_classes, random_state)
    probability = _larger_estimate(model, unseen, codes)
    quality = probability[np.arange(len(codes)), codes]
    rate = float(1.0 - quality.mean())
    clarity = clarity_of(unseen.misfits, rate, n_classes)
    suggested = probability.argmax(axis=1)
    suspect = suggested != codes
    mean = float(unseen.separations.mean())
    if _is_guesswork(mean, float(unseen.errors.mean()), suspect.mean()):
        trust, suggested, suspect = "none", codes.copy(), np.zeros(len(codes), bool)
    else:
        trust = _trust(mean, unseen.misfits, clarity, rate, bool(suspect.any()), X.shape)
    return Judgement(
        probability,
        quality,
        suggested,
        suspect,
        noise_matrix_of(probability, codes),
        rate,
        mean,
        unseen.separations,
        unseen.misfits,
        clarity,
        trust,
        WORTH[trust] * float((1.0 - quality[suspect]).sum()),
    )


def _larger_estimate(model, unseen, codes):
    """Return the classifier's probabilities, or those of a second look that finds more.

    Both err on the low side: the classifier counts the smallest share of other labels among the
    rows it is most certain of, which in a small table may be small by luck; the second look gives
    up where a third of the labels is wrong. Where classes overlap it takes hard rows for wrong
    ones, and is not asked.
    """
    first = model.label_probability_
    second = second_look(unseen.scores, codes, unseen.checked)
    rows = np.arange(len(codes))
    rate = float(1.0 - second[rows, codes].mean())
    is_clear = clarity_of(unseen.misfits, rate, first.shape[1]) >= VERY_CLEAR
    return second if is_clear and rate > model.noise_rate_ else first


def clarity_of(misfits, rate, n_classes):
    """Return the share of rows whose true class is foretold, from how many labels are not.

    With a share h of hard rows and a rate r of wrong labels, spread evenly over the K - 1 others,
    labels agree with what is foretold for (1 - h)(1 - r) + h r / (K - 1) of the rows.
    """
    rate = min(rate, 0.9 * (n_classes - 1) / n_classes)
    by_luck = rate / (n_classes - 1)
    return float(np.clip((1.0 - misfits - by_luck) / (1.0 - rate - by_luck), 0.0, 1.0))


def noise_matrix_of(probability, codes):
    """Return [i, j], the share of the rows of true class i that are labelled j."""
    n_classes = probability.shape[1]
    joint = np.stack([probability[codes == k].sum(axis=0) for k in range(n_classes)], axis=1)
    return joint / np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)


def _is_guesswork(separation, error, share):
    near_chance = separation - 0.5 < STANDARD_ERRORS * error
    return near_chance or separation < LEAST_SEPARATION or share > MOST_SUSPECTS


def _trust(separation, misfits, clarity, rate, has_suspects, shape):
    n_rows, n_columns = shape
    if has_suspects:
        is_explained = rate >= EXPLAINED * misfits and separation >= GOOD_SEPARATION
    else:
        is_explained = misfits <= FEW_MISFITS
    is_narrow = n_columns <= MOST_COLUMNS_A_ROW * n_rows
    if clarity >= CLEAR and is_explained and is_narrow:
        return "good"
    return "fair" if clarity >= RATHER_CLEAR else "weak"
