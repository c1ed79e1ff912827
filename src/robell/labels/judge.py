"""The judge of labels: how probable it is that each label of a table is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell.models.noise_robust import NoiseRobustRVFLClassifier


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is known about every label.

    `probability` has a column for each of `classes`, given the row and its label; `quality` is the
    one of the label itself. `suggested` is the likeliest class, and a row is suspect where that is
    not its label. `noise_matrix` is what all labels together turned out to say, `assumed_noise` is
    N_zy = P(y | z), which each label was judged by. `model` is the classifier that judged, if there
    is one.
    """

    classes: np.ndarray
    probability: np.ndarray
    quality: np.ndarray
    suggested: np.ndarray
    suspect: np.ndarray
    noise_matrix: np.ndarray
    noise_rate: float
    assumed_noise: np.ndarray
    model: NoiseRobustRVFLClassifier | None = None

    def without_label(self, codes):
        """Return P(z | s), what the columns alone say, as P(z | s, y) / N_zy; (n, K).

        ``codes`` are the labels, as places among the classes.
        """
        P = self.probability / self.assumed_noise.T[codes]
        return P / P.sum(axis=1, keepdims=True)


def judge_labels(X, y, *, sample_weight=None, random_state=None):
    """Judge each label by the row it belongs to and by all other rows.

    Every row is scored by networks fitted without it, in closed form, and the scores are compared
    with how often labels go wrong in this table.
    """
    model = NoiseRobustRVFLClassifier(random_state=random_state)
    model.fit(X, y, sample_weight=sample_weight)
    suggested = model.classes_[model.label_probability_.argmax(axis=1)]
    suspect = suggested != np.asarray(y).ravel()
    if sample_weight is not None:
        suspect &= np.asarray(sample_weight, np.float64) > 0  # weight 0 is as good as absent
    return Judgement(
        model.classes_,
        model.label_probability_,
        model.sample_quality_,
        suggested,
        suspect,
        model.noise_matrix_,
        model.noise_rate_,
        model._assumed_noise,
        model,
    )
